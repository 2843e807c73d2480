#!/bin/sh
# usage: broadcasts.sh WEIR: a shuffle that gives all lanes what one of them has is uniform in the
# warp, in a loop too whose lanes come together only for it; one by segments is not.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat > "$dir/shuffles.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 next, .param .u32 n, .param .u32 from)
{
.reg .b32 %x, %n, %from, %row, %i<9>; .reg .b64 %p; .reg .pred %first, %over;
mov.u32 %x, %tid.x;
ld.param.u64 %p, [next]; ld.param.u32 %n, [n]; ld.param.u32 %from, [from];
setp.ne.s32 %first, %x, 0;
shfl.sync.idx.b32 %i1, %x, %from, 31, -1;
shfl.sync.idx.b32 %i2, %x, 3, 0x101f, -1;
shfl.sync.idx.b32 %i3, %x, %x, 31, -1;
shfl.sync.bfly.b32 %i4, %x, 1, 31, -1;
again:
mov.u32 %row, 0;
@%first bra taken;
atom.global.add.u32 %row, [%p], 1;
taken:
shfl.sync.idx.b32 %i5, %row, 0, 31, -1;
setp.ge.s32 %over, %i5, %n;
@%over bra done;
add.s32 %i6, %i5, %x;
@%first bra taken;
st.global.u32 [%p+4], %i5;
bra again;
done:
ret;
}
PTX

status=0
# expect REGISTER WORDS
expect()
{
    got=$("$weir" dump --uniformity --block 256 "$dir/shuffles.ptx" | sed -n "s/^.*(line [0-9]*)  %$1: //p" | tail -n 1)
    got=${got% remat}
    [ "$got" = "$2" ] || {
        echo "%$1: '$got' instead of '$2'" >&2
        status=1
    }
}
expect i1 uniform
expect i2 divergent
expect i3 divergent
expect i4 divergent
expect i5 uniform
expect i6 "seg 32 stride 1"
exit $status
