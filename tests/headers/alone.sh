#!/bin/sh
# Every public header by itself and all of them together: as host C++, as CUDA in both passes, and
# as C where that is promised.
#   alone.sh INCLUDE
set -eu
include=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cuda="-x cuda --cuda-path=/nonexistent -nocudainc -nocudalib --cuda-gpu-arch=sm_90
    -Xclang -target-sdk-version=12.5 -I $include -isystem $include/cccl -include weir/prelude.h -fsyntax-only -Wall -Werror
    -Wno-unknown-cuda-version"
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

headers=$(cd "$include" && ls -d ./*.h ./*.hpp cooperative_groups/*.h crt/*.h cccl/cuda/* cccl/cuda/std/* cccl/nv/* cccl/nvtx3/*.h |
    grep -v '^cccl/cuda/std$' | sed 's|^\./||')
# C++ by nature.
only_cpp='^(cooperative_groups|cccl/|mma\.h|crt/mma\.h|cuda_pipeline|.*\.hpp)'

: >"$work/all.cu"
: >"$work/all.c"
for header in $headers; do
    printf '#include <%s>\n' "$header" >"$work/one.cu"
    cat "$work/one.cu" >>"$work/all.cu"
    try "$header as C++" clang++-19 -x c++ -std=c++11 -I "$include" -isystem "$include/cccl" -fsyntax-only -Wall -Werror \
        "$work/one.cu"
    # What does nothing but include cuda_runtime.h adds nothing to the prelude, which has done so.
    if [ "$(grep -c . "$include/$header")" -gt 10 ]; then
        try "$header as CUDA, device" clang++-19 $cuda --cuda-feature=+ptx85 --cuda-device-only \
            "$work/one.cu"
        try "$header as CUDA, host" clang++-19 $cuda --cuda-host-only "$work/one.cu"
    fi
    if ! echo "$header" | grep -qE "$only_cpp"; then
        try "$header as C" clang-19 -x c -std=c99 -I "$include" -fsyntax-only -Wall -Werror \
            "$work/one.cu"
        cat "$work/one.cu" >>"$work/all.c"
    fi
done

tac "$work/all.cu" >"$work/reverse.cu"
for all in all reverse; do
    for std in c++11 c++14 c++17 c++20; do
        try "$all headers, device, $std" clang++-19 $cuda -std=$std --cuda-feature=+ptx85 \
            --cuda-device-only "$work/$all.cu"
    done
    try "$all headers, host" clang++-19 $cuda --cuda-host-only "$work/$all.cu"
    try "$all headers, C++" clang++-19 -x c++ -I "$include" -isystem "$include/cccl" -fsyntax-only "$work/$all.cu"
    if command -v g++ >/dev/null; then
        try "$all headers, g++" g++ -x c++ -std=c++17 -Wall -Wextra -Werror -I "$include" \
            -isystem "$include/cccl" -fsyntax-only "$work/$all.cu"
    fi
done
try "all headers, C" clang-19 -x c -std=c99 -I "$include" -fsyntax-only "$work/all.c"

echo "$failed failed"
[ "$failed" = 0 ]
