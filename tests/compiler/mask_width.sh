#!/bin/sh
# usage: mask_width.sh WEIR: on machines with AVX2 masks have elements as wide as what takes them. Bytes
# of shared memory are loaded without a call under a mask, words of parts of a warp without bringing its
# mask to bytes; one lane's condition, and that of a sum that carries, are scalars; all lanes' differences are tested at
# once.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat > "$dir/masks.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n)
{
.shared .b8 s[256]; .shared .align 4 .b8 w[4096];
.reg .b32 %x, %y, %t, %n, %r, %f, %s, %a, %u, %w, %b, %d, %c, %i, %j, %k, %l, %g; .reg .b64 %o, %z, %v;
.reg .pred %p, %q, %e, %m;
mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; mad.lo.u32 %t, %y, 16, %x; ld.param.u32 %n, [n];
mov.u32 %s, s; add.u32 %a, %s, %t; mov.u32 %r, 0;
ld.shared.u8 %f, [%a];
setp.eq.u32 %p, %f, 0;
@%p bra A;
ld.shared.u8 %r, [%a+1];
A:
bar.sync 0;
setp.eq.s32 %e, %x, %n;
and.pred %q, %e, %p;
@!%q bra B;
st.shared.u8 [%a], 7;
B:
bar.sync 0;
mad.lo.u32 %i, %y, 33, %x; shl.b32 %j, %i, 2; mov.u32 %w, w; add.u32 %b, %w, %j; setp.eq.u32 %q, %y, 3;
sub.s32 %c, %x, %n;
LOOP:
ld.shared.u32 %k, [%b];
add.u32 %l, %k, 1;
st.shared.u32 [%b], %l;
add.s32 %d, %c, 16;
setp.lt.u32 %m, %d, %c;
add.u32 %b, %b, 64;
mov.u32 %c, %d;
@%m bra LOOP;
ld.param.u64 %o, [out]; mul.wide.u32 %z, %t, 4; add.u64 %v, %o, %z; selp.b32 %g, %r, 5, %p; st.global.u32 [%v], %g;
ret;
}
PTX
WEIR_VECTORS=256 "$weir" dump --ir --block 16,16 "$dir/masks.ptx" > "$dir/ir"
status=0
none()
{
    ! grep -E "$1" "$dir/ir" >&2 || {
        echo "there should be no $2" >&2
        status=1
    }
}
none '@weir_masked_load' "call for bytes of shared memory"
none 'shufflevector <32 x i1>' "part of a mask"
none 'load <32 x i1>' "vector of bits from a warp's frame"
none 'icmp (eq|ne) <32 x i32>' "comparison of all lanes for one of them"
none 'icmp u[lg][te] <32 x i32> %[^,]+, %' "comparison of a sum with its operand"
# Whether lanes are neighbours is asked of all of them at once, not of packed comparisons.
WEIR_VECTORS=256 "$weir" dump --ir --block 16,16 "$(dirname "$0")/rows.ptx" | grep -q 'call i32 @llvm.x86.avx.ptestz' || {
    echo "no test of all lanes at once" >&2
    status=1
}

# Shared memory that neighbours access at addresses which follow from the thread's index. No such
# access can fault: the index of the warp is not stored for it, and an address is not replaced where no lane may be
# active. Without AVX-512, what bytes in memory decide is loaded whole and selected, also where the bytes come from
# several blocks. An index that a loop counts with later is made anew after a barrier as if it did not.
cat > "$dir/inside.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry flags()
{
.shared .align 4 .b8 s[1024]; .shared .b8 h[256];
.reg .b32 %t; .reg .b64 %a, %b, %c, %d, %w, %z; .reg .b16 %u; .reg .f32 %x, %y, %v; .reg .pred %p, %q;
mov.u32 %t, %tid.x; cvt.u64.u32 %w, %t; mov.u64 %c, h; add.u64 %a, %c, %w;
mul.wide.u32 %z, %t, 4; mov.u64 %d, s; add.u64 %b, %d, %z;
bar.sync 0;
setp.eq.s32 %q, %t, 0; mov.pred %p, 0;
@%q bra A;
ld.shared.u8 %u, [%a]; setp.eq.s16 %p, %u, 0;
A:
mov.f32 %x, 0f00000000;
@!%p bra B;
ld.shared.f32 %x, [%b+-4];
B:
bar.sync 0;
ld.shared.f32 %y, [%b]; add.f32 %v, %y, %x; st.shared.f32 [%b], %v;
bar.sync 0;
ret;
}
.visible .entry rows(.param .u64 out)
{
.shared .align 4 .b8 s[8192];
.reg .b32 %r, %x; .reg .b64 %a, %b, %c, %o, %w, %z; .reg .f32 %v, %u; .reg .pred %p;
mov.u32 %r, %tid.y; mov.u32 %x, %tid.x; mul.wide.u32 %w, %r, 132; mul.wide.u32 %z, %x, 4;
mov.u64 %a, s; add.u64 %b, %a, %w; add.u64 %c, %b, %z;
st.shared.f32 [%c], 0f00000000;
bar.sync 0;
ld.shared.f32 %v, [%c]; add.f32 %u, %v, %v; st.shared.f32 [%c], %u;
bar.sync 0;
ld.param.u64 %o, [out];
LOOP:
st.global.u32 [%o], %r; add.u64 %o, %o, 4; add.s32 %r, %r, 16; setp.lt.u32 %p, %r, 64;
@%p bra LOOP;
ret;
}
PTX
for vectors in 256 512; do
    WEIR_VECTORS=$vectors "$weir" dump --ir --kernel flags --block 256 "$dir/inside.ptx" > "$dir/ir"
    none 'store volatile i32 %' "index of a warp stored with $vectors bits"
    none 'select i1 [^,]*, ptr' "address replaced with $vectors bits"
done
WEIR_VECTORS=256 "$weir" dump --ir --kernel flags --block 256 "$dir/inside.ptx" > "$dir/ir"
none 'call .*llvm.masked.load' "load under a mask of bytes"
none 'phi <32 x i1>' "mask from several blocks as bits"
"$weir" dump --uniformity --kernel rows --block 16,16 "$dir/inside.ptx" > "$dir/ir"
grep -q '%c: .*remat' "$dir/ir" || {
    echo "what is made of an index is not made anew" >&2
    status=1
}
exit $status
