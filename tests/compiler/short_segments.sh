#!/bin/sh
# usage: short_segments.sh WEIR: baseline code of a sorting network, whose values are affine in
# segments of 2 and 4 lanes: masks of so few lanes are integers there, too, and what takes them are
# calls. As instructions they took LLVM most of the time.
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
