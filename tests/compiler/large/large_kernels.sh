#!/bin/sh
# usage: large_kernels.sh WEIR GENERATOR: baseline code of large kernels is compiled in time that is
# linear in their size. Where it grew with the square, three times the size took ten times as long;
# what is counted is CPU time, so that a busy machine does not matter. Nor do kernels grow with the
# square of irreducible branches, or of the barriers between them: there, LLVM's instructions are counted. What loading a module does
# with each kernel, before anything is compiled, took minutes for branches to anywhere by the thousand
# (it grew with the cube): it gets a minute of CPU time, of which it needs a second.
set -eu
weir=$1 generator=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# ms SHAPE SIZE: milliseconds of CPU time for the baseline tier.
ms()
{
    "$generator" "$1" "$2" > "$dir/kernel.ptx"
    "$weir" dump --times --tier baseline "$dir/kernel.ptx" > "$dir/out"
    sed -n 's/.*ms:.* all \([0-9]*\).*/\1/p' "$dir/out"
}

for shape in loops divergent; do
    small=$(ms $shape 12000)
    large=$(ms $shape 36000)
    echo "$shape: 12000 instructions in $small ms, 36000 in $large ms"
    [ "$large" -lt $((small * 6 + 500)) ] || { echo "compile time is not linear"; exit 1; }
done

# instructions TIER BRANCHES SHAPE: LLVM's, as they are given to the code generator.
instructions()
{
    "$generator" "$3" "$2" > "$dir/kernel.ptx"
    "$weir" dump --times --tier "$1" "$dir/kernel.ptx" > "$dir/out"
    sed -n 's/.* of LLVM, \([0-9]*\) optimized.*/\1/p' "$dir/out"
}

small=$(instructions baseline 40 tangled)
large=$(instructions baseline 120 tangled)
echo "40 branches: $small instructions, 120: $large"
[ "$large" -lt $((small * 5)) ] || { echo "code grows with the square of irreducible branches"; exit 1; }

# A barrier ends a region: what follows is emitted once, not again in every region before it.
small=$(instructions baseline 80 phases)
large=$(instructions baseline 240 phases)
echo "80 branches between barriers: $small instructions, 240: $large"
[ "$large" -lt $((small * 4)) ] || { echo "code grows with the square of barriers"; exit 1; }

# Nor is what waits at a barrier saved and restored there by code for each block and register.
small=$(instructions baseline 40 cases)
large=$(instructions baseline 120 cases)
echo "40 blocks with barriers: $small instructions, 120: $large"
[ "$large" -lt $((small * 4)) ] || { echo "code for what waits at barriers grows with their square"; exit 1; }

"$generator" tangled 20000 > "$dir/kernel.ptx"
(ulimit -t 60 && "$weir" dump "$dir/kernel.ptx" > "$dir/out") ||
    { echo "20000 irreducible branches are not loaded in a minute of CPU time"; exit 1; }
grep 'kernel: ' "$dir/out"
