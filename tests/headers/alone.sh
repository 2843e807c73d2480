#!/bin/sh
# Every public header by itself, or all of them together: as host C++, as CUDA in both passes, and as
# C where that is promised.
#   alone.sh INCLUDE PART PARTS    every PARTS-th header from the PART-th on (0 is the first), by itself
#   alone.sh INCLUDE together      all in one file, in order and in reverse
set -eu
include=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cuda="-x cuda --cuda-path=/nonexistent -nocudainc -nocudalib --cuda-gpu-arch=sm_90
    -Xclang -target-sdk-version=12.5 -Xclang -fcuda-allow-variadic-functions -I $include -isystem $include/weir/cccl -fsyntax-only -Wall -Werror
    -Wno-unknown-cuda-version"
device="--cuda-feature=+ptx85 --cuda-device-only" host=--cuda-host-only
cpp="-x c++ -I $include -isystem $include/weir/cccl -fsyntax-only"
failed=0

# try WHAT COMMAND...
try() {
    what=$1
    shift
    if ! "$@" >"$work/out" 2>&1; then
        echo "FAILED: $what"
        head -n 40 "$work/out"
        failed=$((failed + 1))
    fi
}

headers=$(cd "$include" && ls -d ./*.h ./*.hpp cooperative_groups/*.h crt/*.h nvtx3/*.h nvtx3/*.hpp cccl/cuda/* cccl/cuda/std/* cccl/nv/* cccl/nvtx3/*.h |
    grep -v '^cccl/cuda/std$' | sed 's|^\./||')
# C++ by nature.
only_cpp='^(cooperative_groups|cccl/|mma\.h|crt/mma\.h|cuda_pipeline|.*\.hpp)'

# What weircc includes before every program is most of the work: it is parsed once for each pass.
precompile() {
    : >"$work/empty.cu"
    for side in device host; do
        eval "pass=\$$side"
        try "weir/prelude.h, $side" clang++-19 $cuda $pass -include weir/prelude.h \
            -Xclang -emit-pch -Xclang -o -Xclang "$work/$side.pch" "$work/empty.cu"
    done
}

# alone HEADER
alone() {
    header=$1
    printf '#include <%s>\n' "$header" >"$work/one.cu"
    try "$header as C++" clang++-19 $cpp -std=c++11 -Wall -Werror "$work/one.cu"
    # What does nothing but include cuda_runtime.h adds nothing to the prelude, which has done so.
    if [ "$(grep -c . "$include/$header")" -gt 10 ]; then
        try "$header as CUDA, device" clang++-19 $cuda $device -Xclang -include-pch \
            -Xclang "$work/device.pch" "$work/one.cu"
        try "$header as CUDA, host" clang++-19 $cuda $host -Xclang -include-pch \
            -Xclang "$work/host.pch" "$work/one.cu"
    fi
    if ! echo "$header" | grep -qE "$only_cpp"; then
        try "$header as C" clang-19 -x c -std=c99 -I "$include" -fsyntax-only -Wall -Werror \
            "$work/one.cu"
    fi
}

together() {
    for header in $headers; do
        printf '#include <%s>\n' "$header" >>"$work/all.cu"
        echo "$header" | grep -qE "$only_cpp" || printf '#include <%s>\n' "$header" >>"$work/all.c"
    done
    tac "$work/all.cu" >"$work/reverse.cu"
    for std in c++11 c++14 c++17 c++20; do
        try "all headers, device, $std" clang++-19 $cuda $device -include weir/prelude.h -std=$std \
            "$work/all.cu"
    done
    try "reverse headers, device" clang++-19 $cuda $device -include weir/prelude.h "$work/reverse.cu"
    for all in all reverse; do
        try "$all headers, host" clang++-19 $cuda $host -include weir/prelude.h "$work/$all.cu"
        try "$all headers, C++" clang++-19 $cpp "$work/$all.cu"
        if command -v g++ >/dev/null; then
            try "$all headers, g++" g++ $cpp -std=c++17 -Wall -Wextra -Werror "$work/$all.cu"
        fi
    done
    try "all headers, C" clang-19 -x c -std=c99 -I "$include" -fsyntax-only "$work/all.c"
    legacy
}

# What CUDA dropped, in every language that includes the runtime's headers.
legacy() {
    cat >"$work/legacy.c" <<'END'
#include <cuda_runtime.h>
int main(void)
{
    struct cudaDeviceProp prop;
    void *p = 0;
    cudaGetDeviceProperties(&prop, 0);
    cudaMemAdvise(p, prop.clockRate, cudaMemAdviseSetReadMostly, 0);
    cudaMemPrefetchAsync(p, prop.deviceOverlap, cudaCpuDeviceId, 0);
    return cudaThreadSynchronize() + cudaUnbindTexture(0);
}
END
    old="-DWEIR_LEGACY_API=1 -Wall -Wextra -Werror"
    try "what CUDA dropped, C" clang-19 -x c -std=c99 -I "$include" -fsyntax-only $old "$work/legacy.c"
    try "what CUDA dropped, C++" clang++-19 $cpp -std=c++11 $old "$work/legacy.c"
    for std in c++11 c++20; do
        try "all headers with what CUDA dropped, device, $std" clang++-19 $cuda $device \
            -DWEIR_LEGACY_API=1 -include weir/prelude.h -std=$std "$work/all.cu"
    done
}

if [ "$2" = together ]; then
    together
else
    precompile
    tried=0
    for header in $headers; do
        [ $((tried % $3)) != "$2" ] || alone "$header"
        tried=$((tried + 1))
    done
fi
echo "$failed failed"
[ "$failed" = 0 ]
