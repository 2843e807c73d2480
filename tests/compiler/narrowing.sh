#!/bin/sh
# usage: narrowing.sh WEIR: in which elements sums of bytes are computed that are stored as bytes: 16
# bits where all that counts fits, 32 where a value is needed whole; minima of bytes in bytes;
# and addresses of shared memory that a loop counts up in words.
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

cat > "$dir/steps.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry steps(.param .u64 in, .param .u64 out, .param .u32 n)
{
.shared .align 4 .b8 s[8192];
.reg .b32 %t, %x, %n, %v, %r; .reg .b64 %p, %w, %q, %o, %s, %a, %b; .reg .pred %e;
mov.u32 %t, %tid.x; mul.wide.u32 %w, %t, 4; ld.param.u64 %p, [in]; add.u64 %q, %p, %w; ld.global.u32 %x, [%q];
mov.u64 %s, s; add.u64 %q, %s, %w; st.shared.u32 [%q], %x; bar.sync 0;
and.b32 %x, %x, 63; cvt.u64.u32 %o, %x; shl.b64 %a, %o, 5; add.u64 %b, %a, %s; mov.u32 %r, 0; ld.param.u32 %n, [n];
LOOP:
ld.shared.u32 %v, [%b]; add.u32 %r, %r, %v; add.u64 %b, %b, 4;
sub.u32 %n, %n, 1; setp.ne.u32 %e, %n, 0;
@%e bra LOOP;
ld.param.u64 %p, [out]; add.u64 %q, %p, %w; st.global.u32 [%q], %r;
ret;
}
PTX
! WEIR_VECTORS=256 "$weir" dump --ir --block 64 "$dir/steps.ptx" | grep 'phi <32 x i64>' || {
    echo "steps: addresses of shared memory of 64 bits" >&2
    status=1
}
exit $status
