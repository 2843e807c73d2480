#!/bin/sh
# run.sh BUILD short|long|wide: Thrust and CUB, where the machine has them. `short` is one algorithm for
# one type, `long` each of algorithms.cu for elements of all sizes, `wide` each device-wide algorithm of
# CUB (device_wide.cu), a family at a time.
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
algorithms=0
# check SOURCE ARCH TYPE ALGORITHM SIZES...
check() {
    source=$1 arch=$2 type=$3 algorithm=$4
    shift 4
    if "$build/bin/weircc" -w -arch="$arch" -std=c++17 -I "$here/.." "-DTEST_ELEMENT=$type" \
        "-DTEST_WHICH=$algorithm" "$here/$source.cu" -o "$scratch/algorithms" >"$scratch/out" 2>&1 &&
        "$scratch/algorithms" "$@" >"$scratch/out" 2>&1; then
        echo "$arch, $type, $algorithm: $(grep passed "$scratch/out")"
        algorithms=$((algorithms + $(sed -n 's/ algorithms$//p' "$scratch/out" | grep . || echo 0)))
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
# Votes and shuffles without a mask have the names of classes of CCCL's.
printf '#include <cuda/std/functional>\n__global__ void k(int *p) { %s }\nint main() {}\n' \
    '*p = __any(p[1]) + __all(p[2]) + __ballot(p[3]) + __shfl(p[4], 1) + (int)__shfl_down(0.5f, 1);' >"$scratch/votes.cu"
"$build/bin/weircc" --legacy-api -w -arch=sm_80 -std=c++17 -c "$scratch/votes.cu" -o "$scratch/votes.o" >"$scratch/out" 2>&1 || {
    echo "votes without a mask: failed"
    head -20 "$scratch/out"
    bad=1
}
if [ "$2" = short ]; then
    check algorithms sm_90 int TEST_SCAN 0 1 31 9001
elif [ "$2" = wide ]; then
    families="DIFFERENCES COPIES EACH HISTOGRAMS MERGES MERGE_SORTS PARTITIONS RADIX_SORTS REDUCTIONS RUNS
        SCANS SCANS_BY_KEY SEGMENTED_RADIX SEGMENTED_SUMS SEGMENTED_SORTS SELECTIONS TRANSFORMS"
    for family in $families; do
        case $family in # sorts of many segments, on the host as well
        SEGMENTED_RADIX | SEGMENTED_SORTS) most= ;;
        *) most=10000000 ;;
        esac
        # shellcheck disable=SC2086
        check device_wide sm_90 int TEST_$family 0 1 2 31 1000 65537 $most
    done
    echo "device-wide algorithms: $algorithms"
    for type in "unsigned char" short "long long" __int128; do
        for family in $families; do
            check device_wide sm_90 "$type" TEST_$family 0 1 2 31 1000 65537
        done
    done
else
    for algorithm in TEST_SORT TEST_PAIRS TEST_SCAN TEST_REDUCE TEST_SELECT TEST_HISTOGRAM TEST_THRUST; do
        for type in "unsigned char" short int "long long" wide; do
            check algorithms sm_90 "$type" $algorithm 0 1 2 31 1000 65537 1000003
        done
        check algorithms sm_80 int $algorithm 0 10000000
    done
fi
exit $bad
