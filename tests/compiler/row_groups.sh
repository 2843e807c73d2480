#!/bin/sh
# usage: row_groups.sh WEIR: where an index is divided by a constant of less than a warp, of which groups of eight lanes
# are in one row each, and the quotient is in an address, there is a copy in which it is one value for each group, not for a
# length that is no multiple of eight, nor where the quotient is in no address.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# kernel NAME LOG FROM: the quotient by 2^LOG of an index with a sign, as compilers write it, is %q; FROM makes %a of it.
# The index begins anywhere, so that it may be negative.
kernel()
{
    cat <<PTX
.visible .entry $1(.param .u64 in, .param .u64 out, .param .u32 n, .param .u32 from)
.reqntid 256, 1, 1
{
.reg .b32 %t, %i, %j, %k, %c, %d, %s, %u, %b, %q, %l, %r, %n; .reg .f32 %v, %w; .reg .b64 %p, %o, %f, %a, %e, %m; .reg .pred %x;
ld.param.u64 %p, [in]; ld.param.u64 %o, [out]; ld.param.u32 %n, [n];
mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %d, %ntid.x; mad.lo.s32 %j, %c, %d, %t;
ld.param.u32 %k, [from]; add.s32 %i, %j, %k;
setp.ge.s32 %x, %i, %n; @%x bra DONE;
shr.s32 %s, %i, 31; shr.u32 %u, %s, $((32 - $2)); add.s32 %b, %i, %u; shr.s32 %q, %b, $2;
and.b32 %l, %b, $((-(1 << $2))); sub.s32 %r, %i, %l;
$3
ld.global.f32 %v, [%a]; cvt.rn.f32.s32 %w, %q; add.f32 %v, %v, %w;
mul.wide.s32 %f, %i, 4; add.s64 %e, %o, %f; st.global.f32 [%e], %v;
DONE:
ret;
}
PTX
}
row='mul.wide.s32 %m, %q, 192; add.s64 %a, %p, %m; mul.wide.s32 %m, %r, 4; add.s64 %a, %a, %m;'
index='mul.wide.s32 %m, %i, 4; add.s64 %a, %p, %m;'
{
    printf '.version 8.0\n.target sm_80\n.address_size 64\n'
    kernel eights 3 "$row"
    kernel sixteens 4 "$row"
    kernel fours 2 "$row"
    kernel unused 3 "$index"
} > "$dir/rows.ptx"

. "$(dirname "$0")/expect.sh"
look()
{
    expect --uniformity "$dir/rows.ptx" '%q: seg 8 stride 0' 'copies where %q is one value for groups of eight lanes' "$@"
}
look eights some
look sixteens some
look fours no
look unused no
exit $status
