#!/bin/sh
# usage: tile_prefetch.sh WEIR: a loop over barriers that fills tiles prefetches what its next iteration reads, where an
# address grows by lines or by rows in each; not what grows by less than a line. A grid-stride loop over a grid of two
# dimensions, in a kernel with barriers, prefetches by the last step of its addresses, which have quotients in them.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# kernel NAME STEP: a sum over tiles of a vector, whose address grows by an operand in each iteration
kernel()
{
    cat <<PTX
.visible .entry $1(.param .u64 in, .param .u64 out, .param .u32 pitch, .param .u32 n)
.reqntid 256, 1, 1
{
.reg .b32 %t, %i, %n, %pitch, %at; .reg .f32 %v, %s; .reg .b64 %p, %q, %o, %step, %a, %b; .reg .pred %more;
.shared .align 4 .b8 tile_$1[1024];
ld.param.u64 %p, [in]; ld.param.u64 %q, [out]; ld.param.u32 %pitch, [pitch]; ld.param.u32 %n, [n];
mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.s64 %a, %p, %o; add.s64 %b, %q, %o; shl.b32 %at, %t, 2;
mul.wide.u32 %step, %pitch, 4;
mov.u32 %i, tile_$1; add.s32 %at, %at, %i; mov.f32 %s, 0f00000000; mov.u32 %i, 0;
LOOP:
ld.global.f32 %v, [%a]; st.shared.f32 [%at], %v; bar.sync 0;
ld.shared.f32 %v, [tile_$1]; add.f32 %s, %s, %v; bar.sync 0;
add.s64 %a, %a, $2; add.s32 %i, %i, 1; setp.lt.u32 %more, %i, %n; @%more bra LOOP;
st.global.f32 [%b], %s; ret;
}
PTX
}
{
    printf '.version 8.0\n.target sm_80\n.address_size 64\n'
    kernel lines 1024
    kernel rows %step
    kernel close 4
    cat <<'PTX'
.visible .entry quotients(.param .u64 in, .param .u64 out, .param .u32 n, .param .u32 width)
.reqntid 256, 1, 1
{
.reg .b32 %t, %i, %n, %w, %q, %m, %r, %x, %c, %d, %g, %step; .reg .f32 %v, %s; .reg .b64 %p, %o, %a, %b; .reg .pred %more;
.shared .align 4 .f32 first;
ld.param.u64 %p, [in]; ld.param.u64 %b, [out]; ld.param.u32 %n, [n]; ld.param.u32 %w, [width];
mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %d, %ntid.x; mad.lo.u32 %i, %c, %d, %t;
mov.u32 %g, %nctaid.x; mul.lo.u32 %step, %g, %d; mov.f32 %s, 0f00000000;
setp.ge.s32 %more, %i, %n; @%more bra DONE;
LOOP:
div.s32 %q, %i, %w; mul.lo.s32 %m, %q, %w; sub.s32 %r, %i, %m; mad.lo.s32 %x, %q, 1024, %r;
mul.wide.s32 %o, %x, 4; add.s64 %a, %p, %o; ld.global.f32 %v, [%a]; add.f32 %s, %s, %v;
add.s32 %i, %i, %step; setp.lt.s32 %more, %i, %n; @%more bra LOOP;
DONE:
st.shared.f32 [first], %s; bar.sync 0; ld.shared.f32 %s, [first]; st.global.f32 [%b], %s; ret;
}
PTX
} > "$dir/tiles.ptx"

. "$(dirname "$0")/expect.sh"
look()
{
    expect --ir "$dir/tiles.ptx" '@llvm.prefetch.p0(ptr [^,]*, i32 0, i32 2,' 'prefetches into the second cache, for reading' "$@"
}
look lines some
look rows some
look close no
look quotients some
exit $status
