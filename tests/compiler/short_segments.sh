#!/bin/sh
# usage: short_segments.sh WEIR: baseline code of a sorting network, whose values are affine in
# segments of 2 and 4 lanes: masks of so few lanes are integers there, too, and what takes them are
# calls. As instructions they took LLVM most of the time. And loops: rows of four that share a list of blocks are run by
# groups of four lanes, not rows of eight, which are strips of vectors, nor where lanes of a group branch by what each has
# read.
set -eu
weir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# A step of the network: threads compare and exchange two elements of shared memory at distance STRIDE.
step()
{
    echo "and.b32 %m$2, %thread, $(($1 - 1)); sub.u32 %n$2, %twice, %m$2;"
    echo "mul.wide.u32 %x$2, %n$2, 4; add.s64 %y$2, %start, %x$2; bar.sync 0;"
    echo "ld.shared.u32 %a, [%y$2]; ld.shared.u32 %b, [%y$2+$((4 * $1))]; setp.gt.u32 %p, %a, %b;"
    echo "@!%p bra KEPT$2; st.shared.u32 [%y$2], %b; st.shared.u32 [%y$2+$((4 * $1))], %a; KEPT$2:"
}

{
    echo ".version 8.0
.target sm_80
.address_size 64
.visible .entry sort(.param .u64 p)
.reqntid 512, 1, 1
{
.reg .b64 %d<3>, %start, %own, %x<20>, %y<20>; .reg .b32 %m<20>, %n<20>, %a, %b, %thread, %twice; .reg .pred %p;
.shared .align 16 .b8 s[4096];
ld.param.u64 %d1, [p]; mov.u32 %thread, %tid.x; shl.b32 %twice, %thread, 1; mov.u64 %start, s;
mul.wide.u32 %d2, %thread, 4; add.s64 %d1, %d1, %d2; add.s64 %own, %start, %d2;
ld.global.u32 %a, [%d1]; ld.global.u32 %b, [%d1+2048]; st.shared.u32 [%own], %a; st.shared.u32 [%own+2048], %b;"
    n=0
    for stride in 1 2 1 4 2 1 8 4 2 1 16 8 4 2 1; do
        n=$((n + 1))
        step $stride $n
    done
    echo "bar.sync 0; ld.shared.u32 %a, [%own]; ld.shared.u32 %b, [%own+2048];
st.global.u32 [%d1], %a; st.global.u32 [%d1+2048], %b;
ret;
}"
} > "$dir/sort.ptx"

"$weir" dump --ir --tier baseline "$dir/sort.ptx" > "$dir/ir"
awk '/^define/ { kernel = /@weir_block/ }
kernel && /^ / { all++; if (/<[24] x i1>/) masks++ }
END { printf "%d instructions, %d with masks of 2 or 4 lanes\n", all, masks
      exit all < 1000 || masks * 40 > all }' "$dir/ir"

# kernel NAME LOG SKIP: 2^LOG rows share a list; SKIP may go on to the next element
kernel()
{
    cat <<PTX
.visible .entry $1(.param .u64 start, .param .u64 item, .param .u64 value, .param .u64 out, .param .u32 n)
.reqntid 128, 1, 1
{
.reg .b32 %row, %n, %t, %c, %g, %r, %i, %end, %d, %e, %f; .reg .pred %p, %q, %b; .reg .b64 %start, %item, %value, %out, %x<6>, %y<6>; .reg .f32 %v, %w, %sum;
mov.u32 %c, %ctaid.x; mov.u32 %t, %tid.x; mad.lo.s32 %row, %c, 128, %t; ld.param.u32 %n, [n];
setp.ge.s32 %p, %row, %n; @%p bra OUT;
ld.param.u64 %start, [start]; ld.param.u64 %item, [item]; ld.param.u64 %value, [value]; ld.param.u64 %out, [out];
shr.u32 %g, %row, $2; and.b32 %r, %row, $(((1 << $2) - 1)); mul.wide.s32 %x1, %g, 4; add.s64 %y1, %start, %x1;
ld.global.u32 %i, [%y1]; ld.global.u32 %end, [%y1+4]; mov.f32 %sum, 0f00000000;
setp.ge.s32 %q, %i, %end; @%q bra DONE;
LOOP:
mul.wide.s32 %x2, %i, 4; add.s64 %y2, %item, %x2; ld.global.f32 %w, [%y2];
shl.b32 %d, %i, 6; shl.b32 %e, %r, 3; add.s32 %f, %d, %e; mul.wide.s32 %x3, %f, 4; add.s64 %y3, %value, %x3; ld.global.f32 %v, [%y3];
$3
fma.rn.f32 %sum, %v, %w, %sum;
NEXT:
add.s32 %i, %i, 1; setp.lt.s32 %q, %i, %end; @%q bra LOOP;
DONE:
mul.wide.s32 %x4, %row, 4; add.s64 %y4, %out, %x4; st.global.f32 [%y4], %sum;
OUT:
ret;
}
PTX
}
{
    printf '.version 8.0\n.target sm_80\n.address_size 64\n'
    kernel fours 2 ''
    kernel eights 3 ''
    kernel branches 2 'setp.lt.f32 %b, %v, 0f00000000; @%b bra NEXT; div.rn.f32 %v, %w, %v;'
} > "$dir/lists.ptx"

. "$(dirname "$0")/expect.sh"
look()
{
    expect --uniformity "$dir/lists.ptx" 'groups of 4 lanes' 'loops that groups of four lanes run' "$@"
}
look fours some
look eights no
look branches no
exit $status
