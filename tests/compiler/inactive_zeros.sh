#!/bin/sh
# usage: inactive_zeros.sh WEIR: where no lane of half a warp is active, its load is one of zeros: what is on the stack
# may be subnormal as a float, and arithmetic on that takes many times as long.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat > "$dir/rows.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 limits, .param .u64 out)
{
.reg .b32 %x, %y, %i, %l; .reg .f32 %v, %w; .reg .b64 %p<7>, %o<3>; .reg .pred %more;
mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; mad.lo.u32 %i, %y, 16, %x;
ld.param.u64 %p1, [in]; ld.param.u64 %p2, [limits]; ld.param.u64 %p3, [out];
mul.wide.u32 %o1, %i, 4; add.s64 %p5, %p2, %o1; add.s64 %p6, %p3, %o1;
mul.wide.u32 %o2, %y, 4; add.s64 %p4, %p1, %o2;
ld.global.u32 %l, [%p5]; setp.lt.s32 %more, %x, %l; mov.f32 %v, 0f00000000;
@!%more bra done;
ld.global.f32 %v, [%p4]; mul.f32 %v, %v, %v; div.rn.f32 %w, %v, %v; mul.f32 %v, %v, %w;
st.global.f32 [%p6+4096], %v;
done:
st.global.f32 [%p6], %v;
ret;
}
PTX

"$weir" dump --ir --block 16,2 "$dir/rows.ptx" >"$dir/ir"
grep -q 'select i1 .*ptr %safe' "$dir/ir" || {
    echo "no load of inactive lanes, so this tests nothing" >&2
    exit 1
}
grep -q 'store <[0-9]* x i[0-9]*> zeroinitializer, ptr %safe' "$dir/ir" || {
    echo "inactive lanes read what is on the stack" >&2
    exit 1
}
