#!/bin/sh
# usage: narrowing.sh WEIR: in which elements sums of bytes are computed that are stored as bytes: 16
# bits where all that counts fits, 32 where a value is needed whole; minima of bytes in bytes.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# kernel NAME, what is done with %a and %b, two bytes, and what is stored of %r
kernel()
{
    cat <<PTX
.visible .entry $1(.param .u64 in, .param .u64 out)
{
.reg .b32 %t, %a, %b, %c, %d, %r; .reg .b64 %in, %from, %out, %to, %word, %x, %y;
ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
mov.u32 %t, %tid.x; cvt.u64.u32 %x, %t; shl.b64 %y, %x, 2;
add.u64 %from, %in, %x; ld.global.u8 %a, [%from]; ld.global.u8 %b, [%from+999];
add.u64 %word, %out, %y; add.u64 %to, %out, %x;
$2
$3
ret;
}
PTX
}
{
    printf '.version 8.0\n.target sm_80\n.address_size 64\n'
    kernel means "mad.lo.s32 %c, %a, 77, %b; shr.u32 %r, %c, 7;" "st.global.u8 [%to], %r;"
    kernel least "min.s32 %c, %a, %b; max.s32 %d, %a, %b; xor.b32 %r, %c, %d;" "st.global.u8 [%to], %r;"
    kernel large "mul.lo.s32 %c, %a, %b; mad.lo.s32 %d, %c, 3, %b; shr.u32 %r, %d, 9;" "st.global.u8 [%to], %r;"
    kernel whole "mad.lo.s32 %r, %a, 77, %b;" "st.global.u32 [%word], %r; st.global.u8 [%to], %r;"
} > "$dir/sums.ptx"

status=0
# expect KERNEL WIDTH: of its arithmetic
expect()
{
    got=$(WEIR_VECTORS=256 "$weir" dump --ir --kernel "$1" --block 32 "$dir/sums.ptx" |
        sed -nE 's/^.* = (mul|xor|.*@llvm.[us]min.v32i[0-9]+\().*<32 x i([0-9]+)>.*$/\2/p' |
        sort -u | tr '\n' ' ')
    [ "$got" = "$2 " ] || {
        echo "$1: elements of '$got'bits instead of $2" >&2
        status=1
    }
}
expect means 16
expect least 8
expect large 32
expect whole 32
exit $status
