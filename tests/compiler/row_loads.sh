#!/bin/sh
# usage: row_loads.sh WEIR: how lanes are loaded of which some are inactive, or which read from places of their
# own. Without AVX-512, neighbours under a mask are one load of all of them where they lie in one page: what
# CPUs prefetch by masked loads is little, and where parts of eight lanes read rows and what these point to, one part
# after the other goes through its loop. Where a load for each lane is wanted in place of a gather, indices
# leave their vector by two.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
grep -q avx2 /proc/cpuinfo || exit 0

cat > "$dir/rows.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry rows(.param .u64 start, .param .u64 value, .param .u64 out)
{
.reg .b32 %t, %r, %l, %first, %e, %end; .reg .f32 %s, %v; .reg .b64 %p<4>, %o<4>, %x<3>, %a, %b, %c; .reg .pred %q, %more;
ld.param.u64 %p1, [start]; ld.param.u64 %p2, [value]; ld.param.u64 %p3, [out];
mov.u32 %t, %tid.x; shr.u32 %r, %t, 3; and.b32 %l, %t, 7;
mul.wide.u32 %o0, %r, 4; add.s64 %a, %p1, %o0;
ld.global.u32 %first, [%a]; ld.global.u32 %end, [%a+4];
add.s32 %e, %first, %l; mov.f32 %s, 0f00000000;
cvt.s64.s32 %o2, %first; cvt.u64.u32 %o3, %l; add.s64 %x1, %o2, %o3; shl.b64 %x2, %x1, 2; add.s64 %b, %p2, %x2;
setp.ge.s32 %q, %e, %end; @%q bra DONE;
LOOP:
ld.global.f32 %v, [%b]; add.f32 %s, %s, %v; add.s64 %b, %b, 32;
add.s32 %e, %e, 8; setp.lt.s32 %more, %e, %end; @%more bra LOOP;
DONE:
mul.wide.u32 %o1, %t, 4; add.s64 %c, %p3, %o1; st.global.f32 [%c], %s; ret;
}
.visible .entry sums(.param .u64 start, .param .u64 value, .param .u64 place, .param .u64 x, .param .u64 out)
{
.reg .b32 %t, %r, %l, %first, %e, %end; .reg .b32 %i; .reg .f32 %s, %v, %y; .reg .b64 %p<4>, %o<4>, %x<3>, %a, %b, %c, %d, %k, %p4, %p5, %o4, %at; .reg .pred %q, %more;
ld.param.u64 %p1, [start]; ld.param.u64 %p2, [value]; ld.param.u64 %p3, [out]; ld.param.u64 %p4, [place]; ld.param.u64 %p5, [x];
mov.u32 %t, %tid.x; shr.u32 %r, %t, 3; and.b32 %l, %t, 7;
mul.wide.u32 %o0, %r, 4; add.s64 %a, %p1, %o0;
ld.global.u32 %first, [%a]; ld.global.u32 %end, [%a+4];
add.s32 %e, %first, %l; mov.f32 %s, 0f00000000;
cvt.s64.s32 %o2, %first; cvt.u64.u32 %o3, %l; add.s64 %x1, %o2, %o3; shl.b64 %x2, %x1, 2; add.s64 %b, %p2, %x2; add.s64 %k, %p4, %x2;
setp.ge.s32 %q, %e, %end; @%q bra DONE;
LOOP:
ld.global.f32 %v, [%b]; ld.global.u32 %i, [%k]; mul.wide.s32 %o4, %i, 4; add.s64 %at, %p5, %o4;
ld.global.f32 %y, [%at]; fma.rn.f32 %s, %v, %y, %s; add.s64 %b, %b, 32; add.s64 %k, %k, 32;
add.s32 %e, %e, 8; setp.lt.s32 %more, %e, %end; @%more bra LOOP;
DONE:
mul.wide.u32 %o1, %t, 4; add.s64 %c, %p3, %o1; st.global.f32 [%c], %s; ret;
}
.visible .entry places(.param .u64 place, .param .u64 value, .param .u64 out)
{
.reg .b32 %t, %i; .reg .f32 %v; .reg .b64 %p<4>, %o<3>, %a, %b, %c;
ld.param.u64 %p1, [place]; ld.param.u64 %p2, [value]; ld.param.u64 %p3, [out];
mov.u32 %t, %tid.x; mul.wide.u32 %o1, %t, 4; add.s64 %a, %p1, %o1; add.s64 %c, %p3, %o1;
ld.global.u32 %i, [%a]; mul.wide.s32 %o2, %i, 4; add.s64 %b, %p2, %o2;
ld.global.f32 %v, [%b]; st.global.f32 [%c], %v; ret;
}
PTX

status=0
# expect VECTORS KERNEL MANY PATTERN: how many lines of its optimized code have it: "some" or "no"
expect()
{
    WEIR_VECTORS=$1 "$weir" dump --ir --kernel "$2" "$dir/rows.ptx" > "$dir/ir"
    found=no
    grep -q "$4" "$dir/ir" && found=some
    if [ "$found" != "$3" ]; then
        echo "failed: $2 with WEIR_VECTORS=$1 has $found \"$4\", not $3"
        status=1
    fi
}
expect 256 rows some '^in_page.*:'
expect 256 sums some '^strip_loop.*:'
expect 256 rows no '^strip_loop.*:'
expect 256,loads places some 'extractelement <[0-9]* x i64>'
expect 256,gathers places no 'extractelement <[0-9]* x i64>'
expect 256,gathers places some '= call .*@llvm.masked.gather'
expect 256,loads places no '= call .*@llvm.masked.gather'
if grep -q avx512f /proc/cpuinfo; then
    expect 512 rows no '^in_page.*:'
    expect 512 sums no '^strip_loop.*:'
fi
exit $status
