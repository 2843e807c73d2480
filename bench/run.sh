#!/bin/sh
# Measures Weir against native code and PoCL, and prints one table.
#   bench/run.sh BUILD [--quick | --vectors=256 | --api | --counts | --pools | --nested]
#                      [--write] [--kernel ROW] [--without weir|PoCL]
# --quick compares results on small sizes only; --vectors=256 is for a CPU with AVX-512: Weir's vectors
# have 256 bits, and native code is compiled for AVX2; --api measures what calls cost, in time and, if there
# is valgrind, in instructions (which repeat nearly exactly), --counts the latter alone, --pools the
# stream-ordered allocator (beside mimalloc and jemalloc, and on traces), --nested launches from
# kernels; --write also puts the table and what was measured on into docs/performance.md. The table of
# kernels is drawn, too: BUILD/performance.svg, with --write docs/figures/performance.svg.
set -eu

build=${1:?"usage: bench/run.sh BUILD [--quick | --vectors=256 | --api | --counts | --pools | --nested] [--write] [--kernel ROW]"}
shift
root=$(cd "$(dirname "$0")/.." && pwd)
program=weir-bench section=kernels write="" arguments=""
for argument; do
    case $argument in
    --write) write=1 ;;
    --vectors=256) program=weir-bench-256 section=kernels-256 ;;
    --api) program=weir-bench-api section=calls ;;
    --counts) program="" section="" ;;
    --pools) program=weir-bench-pools section=pools ;;
    --nested) program=weir-bench-nested section=nested ;;
    *) arguments="$arguments $argument" ;;
    esac
done

# --quick is a test, and needs one program of all.
target=weir_bench
case "$section$arguments" in
kernels-256*) target=weir_bench_kernels_256 ;;
kernels*--quick*) target=weir_bench_kernels ;;
esac
cmake --build "$build" --target $target >/dev/null || {
    echo "bench: does not build; see cmake --build $build --target $target" >&2
    exit 1
}
# shellcheck disable=SC2086 # says nothing of PoCL when only results or calls are measured
case "$section$arguments" in
calls* | "" | pools* | nested* | *--quick*) ;;
*) ls /etc/OpenCL/vendors/pocl.icd >/dev/null 2>&1 ||
    echo "bench: PoCL is not installed; for its column: make bench-deps" >&2 ;;
esac

# Kernels compiled for an earlier version of either side must not be measured.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM
mkdir "$scratch/weir" "$scratch/pocl"
# What is measured is optimised code, not what may run until that is there.
case $section in
kernels*) export WEIR_JIT=optimizing ;;
esac
# OpenBLAS would take AVX-512 beside Weir's 256 bits.
native="-O3 -march=native"
[ "$section" != kernels-256 ] || {
    export WEIR_VECTORS=256 OPENBLAS_CORETYPE=Haswell
    native="-O3 -march=x86-64-v3, Weir with WEIR_VECTORS=256"
}
export WEIR_CACHE_DIR="$scratch/weir" POCL_CACHE_DIR="$scratch/pocl"

sh "$root/bench/machine.sh" "$build" "$native" >"$scratch/machine"
: >"$scratch/table" # the reader below may be first
status=0
measure() {
    # shellcheck disable=SC2086
    [ -z "$program" ] || "$build/bench/$program" $arguments || return
    case $section in
    calls) command -v valgrind >/dev/null || return 0 ;;
    "") ;;
    *) return 0 ;;
    esac
    echo
    sh "$root/bench/counts.sh" "$build"
}
measure >"$scratch/table" &
running=$!
tail -f --pid="$running" "$scratch/table"
wait "$running" || status=$?

if [ -n "$write" ] && [ -n "$section" ] && [ "$status" = 0 ]; then
    {
        echo
        cat "$scratch/machine"
        echo
        cat "$scratch/table"
        echo
    } >"$scratch/section"
    # Between <!-- section --> and <!-- /section -->.
    awk -v section="$section" -v from="$scratch/section" '
        $0 == "<!-- /" section " -->" { while ((getline line < from) > 0) print line; inside = 0 }
        !inside { print }
        $0 == "<!-- " section " -->" { inside = 1 }
    ' "$root/docs/performance.md" >"$scratch/page"
    cp "$scratch/page" "$root/docs/performance.md"
fi
case "$section$arguments" in
kernels*--quick*) ;;
kernels*)
    table=$scratch/section figure=$build/performance.svg
    { echo "<!-- $section -->" && cat "$scratch/table" && echo "<!-- /$section -->"; } >"$table"
    [ -z "$write" ] || table=$root/docs/performance.md figure=$root/docs/figures/performance.svg
    if [ "$status" = 0 ] && python3 "$root/bench/plot.py" "$table" "$figure"; then
        echo "bench: drawn in $figure"
    fi
    ;;
esac
exit $status
