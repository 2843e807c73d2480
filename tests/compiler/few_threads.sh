#!/bin/sh
# usage: few_threads.sh WEIR: blocks of 8 and 16 threads compute for as many lanes, across loops, masks and
# barriers, and not for the 32 of a warp.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat > "$dir/near.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry near(.param .u64 in, .param .u64 out, .param .u32 n)
{
.shared .align 4 .b8 part[64];
.reg .b32 %t, %s, %o, %n, %k; .reg .b64 %a, %z; .reg .f32 %x, %y, %d, %f; .reg .pred %p;
mov.u32 %t, %tid.x; mov.u32 %s, part; shl.b32 %o, %t, 2; add.u32 %o, %o, %s;
ld.param.u32 %n, [n];
ld.param.u64 %a, [in]; mul.wide.u32 %z, %t, 4; add.u64 %a, %a, %z;
mov.f32 %f, 0f00000000;
AGAIN:
ld.global.f32 %x, [%a]; add.u64 %a, %a, 64;
bar.sync 0;
st.shared.f32 [%o], %x;
bar.sync 0;
mov.u32 %k, 0;
NEXT:
add.u32 %o, %s, %k; ld.shared.f32 %y, [%o]; sub.f32 %d, %y, %x; mul.f32 %d, %d, %d;
setp.gt.f32 %p, %d, 0f3f800000;
@%p bra FAR;
div.rn.f32 %y, %x, %d; fma.rn.f32 %f, %y, %d, %f;
FAR:
add.u32 %k, %k, 4; setp.lt.u32 %p, %k, 32;
@%p bra NEXT;
shl.b32 %o, %t, 2; add.u32 %o, %o, %s;
sub.u32 %n, %n, 1; setp.ne.u32 %p, %n, 0;
@%p bra AGAIN;
ld.param.u64 %a, [out]; add.u64 %a, %a, %z; st.global.f32 [%a], %f;
ret;
}
PTX
status=0
for vectors in 256 512; do
    for threads in 8 16; do
        WEIR_VECTORS=$vectors "$weir" dump --ir --block $threads "$dir/near.ptx" > "$dir/ir"
        grep -q "fdiv <$threads x float>" "$dir/ir" || {
            echo "$vectors bits: no quotients of $threads lanes" >&2
            status=1
        }
        ! grep -E '(fdiv|fmul|phi) <32 x float>' "$dir/ir" >&2 || {
            echo "$vectors bits: values of 32 lanes in a block of $threads threads" >&2
            status=1
        }
    done
    WEIR_VECTORS=$vectors "$weir" dump --ir --block 32 "$dir/near.ptx" | grep -q 'fdiv <32 x float>' || {
        echo "$vectors bits: no quotients of 32 lanes in a block of as many threads" >&2
        status=1
    }
done
exit $status
