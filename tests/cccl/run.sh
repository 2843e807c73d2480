#!/bin/sh
# run.sh BUILD short|long: Thrust and CUB, where the machine has them (tests/cccl/algorithms.cu). `short`
# is one algorithm for one type, `long` each algorithm for elements of all sizes.
build=$1
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
WEIR_CACHE_DIR=${WEIR_CACHE_DIR:-$scratch/cache}
export WEIR_CACHE_DIR
printf '#include <cub/version.cuh>\n#include <thrust/version.h>\n' >"$scratch/there.cu"
"$build/bin/weircc" -E "$scratch/there.cu" >"$scratch/out" 2>&1 || {
    echo "skipped: no CCCL on this machine (pip install nvidia-cuda-cccl)"
    exit 77
}
bad=0
# check ARCH TYPE ALGORITHM SIZES...
check() {
    arch=$1 type=$2 algorithm=$3
    shift 3
    if "$build/bin/weircc" -w -arch="$arch" -std=c++17 -I "$here/.." "-DTEST_ELEMENT=$type" \
        "-DTEST_WHICH=$algorithm" "$here/algorithms.cu" -o "$scratch/algorithms" >"$scratch/out" 2>&1 &&
        "$scratch/algorithms" "$@" >"$scratch/out" 2>&1; then
        echo "$arch, $type, $algorithm: $(tail -1 "$scratch/out")"
    else
        echo "$arch, $type, $algorithm: failed"
        head -20 "$scratch/out"
        bad=1
    fi
}
# CCCL's assertions, with and without NDEBUG, which every release build by CMake defines.
printf '#include <cuda/std/version>\n#include <cassert>\n__global__ void k(int *p) { assert(p); %s }\nint main() { %s }\n' \
    '_CCCL_VERIFY(p != nullptr, "p");' '_CCCL_VERIFY(k != nullptr, "k");' >"$scratch/assertions.cu"
for option in -DNDEBUG -UNDEBUG; do
    "$build/bin/weircc" -arch=sm_80 -std=c++17 $option -c "$scratch/assertions.cu" -o "$scratch/assertions.o" \
        >"$scratch/out" 2>&1 || {
        echo "assertions with $option: failed"
        head -20 "$scratch/out"
        bad=1
    }
done
if [ "$2" = short ]; then
    check sm_90 int TEST_SCAN 0 1 31 9001
else
    for algorithm in TEST_SORT TEST_PAIRS TEST_SCAN TEST_REDUCE TEST_SELECT TEST_HISTOGRAM TEST_THRUST; do
        for type in "unsigned char" short int "long long" wide; do
            check sm_90 "$type" $algorithm 0 1 2 31 1000 65537 1000003
        done
        check sm_80 int $algorithm 0 10000000
    done
fi
exit $bad
