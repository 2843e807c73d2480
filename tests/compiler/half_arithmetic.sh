#!/bin/sh
# usage: half_arithmetic.sh WEIR: comparisons, roundings and conversions to integers of a warp's halves are
# operations of vectors, not of 32 lanes one by one, which takes thousands of instructions; and where the CPU
# has AVX-512's instructions for halves, sums and products are those.
set -eu
weir=$1
grep -qw f16c /proc/cpuinfo || exit 0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat > "$dir/halves.ptx" <<'PTX'
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
.reg .b32 %t, %w; .reg .b64 %i, %o, %z, %a, %b; .reg .b16 %x, %y, %m, %f; .reg .pred %p;
mov.u32 %t, %tid.x; mul.wide.u32 %z, %t, 4;
ld.param.u64 %i, [in]; add.u64 %a, %i, %z; ld.param.u64 %o, [out]; add.u64 %b, %o, %z;
ld.global.b16 %x, [%a]; ld.global.b16 %y, [%a+2];
max.f16 %m, %x, %y;
cvt.rmi.f16.f16 %f, %m;
setp.lt.f16 %p, %x, %f; selp.b16 %m, %m, %f, %p;
add.sat.f16 %m, %m, %y;
cvt.rzi.s32.f16 %w, %m;
st.global.b32 [%b], %w;
ret;
}
.visible .entry sums(.param .u64 in, .param .u64 out)
{
.reg .b32 %t, %x, %y, %s, %d, %m; .reg .b64 %i, %o, %z, %a, %b;
mov.u32 %t, %tid.x; mul.wide.u32 %z, %t, 4;
ld.param.u64 %i, [in]; add.u64 %a, %i, %z; ld.param.u64 %o, [out]; add.u64 %b, %o, %z;
ld.global.b32 %x, [%a]; ld.global.b32 %y, [%a+4096];
add.f16x2 %s, %x, %y; sub.f16x2 %d, %s, %x; mul.f16x2 %m, %d, %s; fma.rn.f16x2 %m, %m, %d, %x;
st.global.b32 [%b], %m;
ret;
}
PTX
status=0
for vectors in 512 256; do
    n=$(WEIR_VECTORS=$vectors "$weir" dump --asm --kernel k --block 32 "$dir/halves.ptx" | grep -c '^	[a-z]')
    [ "$n" -lt 700 ] || {
        echo "$n instructions with $vectors bits: lanes one by one?" >&2
        status=1
    }
done
grep -qw avx512_fp16 /proc/cpuinfo || exit $status
WEIR_VECTORS=512 "$weir" dump --asm --kernel sums --block 32 "$dir/halves.ptx" > "$dir/asm"
for instruction in vaddph vsubph vmulph vfmadd213ph; do
    grep -q "$instruction.*zmm" "$dir/asm" || {
        echo "no $instruction" >&2
        status=1
    }
done
exit $status
