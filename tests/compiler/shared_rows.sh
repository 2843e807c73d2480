#!/bin/sh
# usage: shared_rows.sh WEIR: warps that read the same rows in a loop take turns there, also those of one column where a
# row of the block is several warps, and those that march through memory, reading many rows and writing one. Where several
# warps side by side load more than there are registers, each one's sums are made before the next one's loads. A guard may
# compare an index with a number added.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# kernel NAME WIDTH HEIGHT STEPS: a product of matrices, so many steps of k an iteration
kernel()
{
    cat <<PTX
.visible .entry $1(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
.reqntid $2, $3, 1
{
.reg .b32 %r<12>, %x, %y, %z, %i, %n; .reg .f32 %v, %u, %s; .reg .b64 %a, %b, %c, %d, %e, %o, %p, %q; .reg .pred %more;
ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u64 %c, [c]; ld.param.u32 %n, [n];
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %x, %r1, %r2, %r3;
mov.u32 %r4, %ctaid.y; mov.u32 %r5, %ntid.y; mov.u32 %r6, %tid.y; mad.lo.s32 %r7, %r4, %r5, %r6;
mul.lo.s32 %y, %r7, %n; mul.wide.s32 %d, %y, 4; add.s64 %e, %a, %d; add.s32 %z, %y, %x;
mov.f32 %s, 0f00000000; mov.u32 %i, 0;
LOOP:
PTX
    step=0
    while [ $step -lt "$4" ]; do
        echo "ld.global.f32 %v, [%e+$((step * 4))]; mul.wide.s32 %o, %x, 4; add.s64 %p, %b, %o;"
        echo "ld.global.f32 %u, [%p]; fma.rn.f32 %s, %v, %u, %s; add.s32 %x, %x, %n;"
        step=$((step + 1))
    done
    cat <<PTX
add.s64 %e, %e, $((step * 4)); add.s32 %i, %i, $step; setp.lt.u32 %more, %i, %n; @%more bra LOOP;
mul.wide.s32 %q, %z, 4; add.s64 %q, %c, %q; st.global.f32 [%q], %s; ret;
}
PTX
}
# march NAME ROWS BY GUARD: a loop over rows at a distance of BY bytes, so many above each other, of threads of which
# x+4 is less than n
march()
{
    cat <<PTX
.visible .entry $1(.param .u64 a, .param .u64 b, .param .u32 n)
.reqntid 32, 8, 1
{
.reg .b32 %r<12>, %x, %y, %z, %i, %n; .reg .f32 %v, %s; .reg .b64 %a, %b, %d, %p, %q; .reg .pred %more, %out;
ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u32 %n, [n];
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %x, %r1, %r2, %r3;
add.s32 %r8, %x, 4; setp.ge.s32 %out, %r8, %n; $4
mov.u32 %r4, %ctaid.y; mov.u32 %r5, %ntid.y; mov.u32 %r6, %tid.y; mad.lo.s32 %y, %r4, %r5, %r6;
mad.lo.s32 %z, %y, 512, %r8; mul.wide.s32 %d, %z, 4; add.s64 %p, %a, %d; add.s64 %q, %b, %d; mov.u32 %i, 0;
LOOP:
mov.f32 %s, 0f00000000;
PTX
    row=0
    while [ $row -lt "$2" ]; do
        echo "ld.global.f32 %v, [%p+$((row * 2048))]; add.f32 %s, %s, %v;"
        row=$((row + 1))
    done
    cat <<PTX
st.global.f32 [%q], %s; add.s64 %p, %p, $3; add.s64 %q, %q, $3;
add.s32 %i, %i, 1; setp.lt.u32 %more, %i, %n; @%more bra LOOP;
END: ret;
}
PTX
}
{
    printf '.version 8.0\n.target sm_80\n.address_size 64\n'
    kernel row 32 8 1
    kernel columns 64 8 1
    kernel single 256 1 1
    kernel many 32 16 8
    march marches 8 262144 ''
    march guarded 8 262144 '@%out bra END;'
    march few 4 262144 ''
    march near 8 128 ''
} > "$dir/rows.ptx"

. "$(dirname "$0")/expect.sh"
turns()
{
    expect --ir-raw "$dir/rows.ptx" '^over' 'turns of warps' "$@"
}
turns row some
turns columns some
turns single no
turns marches some
turns guarded some
turns few no
turns near no
# without AVX-512 warps are not side by side here
"$weir" dump --ir --kernel many "$dir/rows.ptx" | grep -q '^jammed' &&
    expect --ir "$dir/rows.ptx" 'asm sideeffect ""' 'warps that end before the next' many some
expect --ir "$dir/rows.ptx" 'asm sideeffect ""' 'warps that end before the next' row no
exit $status
