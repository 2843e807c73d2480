#!/bin/sh
# What calls cost on this machine's GPU through Weir's runtime and through NVIDIA's: gpu.sh BUILD [ROUNDS].
# Processes differ by a tenth with either runtime, by where their memory and their threads come to lie, and one
# second from the next. So what a call costs is measured with both runtimes in one process, batch by batch in turn
# (bench/both.cpp), in many processes; what needs a process of its own, as its start, in pairs of processes on
# the same CPUs, each first in turn (bench/api.cu). A row's ratio is the median of the processes' or pairs'. Its
# interval leaves out the three least and the three greatest of 20: where the runtimes are equal, all of it is
# above 1 in one row of 770, so in one table of 27. A row is called dearer where it is.
# Then come pools under the allocations of data frames (bench/frames.cu). Without a GPU or NVIDIA's runtime it
# says so and ends well. `gpu.sh BUILD --compile-only` compiles the programs, GPU or not.
set -eu
build=$(cd "$1" && pwd)
rounds=${2:-20}
here=$(cd "$(dirname "$0")" && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {
    compiler=nvcc
    [ ! -x "$build/bin/weircc" ] || compiler="$build/bin/weircc -arch=sm_80"
    cc -O3 -march=native -c "$here/texture_loops.c" -o "$work/texture_loops.o"
    $compiler -std=c++17 -O2 -cudart shared "$here/api.cu" "$work/texture_loops.o" -o "$work/api"
    $compiler -std=c++17 -O2 -cudart shared "$here/frames.cu" -o "$work/frames"
    $compiler -std=c++17 -O2 -cudart none "$here/both.cpp" -o "$work/both" -ldl
}
if [ "$rounds" = --compile-only ]; then
    compile
    exit 0
fi

. "$here/../tests/gpu/find_driver.sh"
find_runtime() {
    for home in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /usr/local/cuda-13.* /opt/cuda; do
        [ -r "$home/lib64/libcudart.so.13" ] && echo "$home/lib64/libcudart.so.13" && return
    done
}
driver=$(find_driver || true)
if [ -z "$driver" ] || ! has_gpu; then
    echo "bench-gpu: skipped: this machine has no GPU with a driver"
    exit 0
fi
runtime=$(find_runtime || true)
if [ -z "$runtime" ]; then
    echo "bench-gpu: skipped: there is no libcudart.so.13 of NVIDIA's to compare with (CUDA_HOME)"
    exit 0
fi

mkdir "$work/ours" "$work/theirs"
ln -s "$build/lib/libcudart.so.13" "$work/ours/"
ln -s "$runtime" "$work/theirs/"
compile
# Two CPUs that share a cache, as a rule: where a process runs differs by more than the runtimes do.
pin=
command -v taskset >/dev/null 2>&1 && taskset -c 2,3 true 2>/dev/null && pin='taskset -c 2,3'
round=0
while [ $round -lt "$rounds" ]; do
    WEIR_DRIVER=$driver LD_PRELOAD=$driver $pin "$work/both" "$work/ours/libcudart.so.13" \
        "$work/theirs/libcudart.so.13" "$work/ours.rows" "$work/theirs.rows"
    order='ours theirs'
    [ $((round % 2)) = 1 ] && order='theirs ours'
    for which in $order; do
        LD_LIBRARY_PATH=$work/$which WEIR_DRIVER=$driver LD_PRELOAD=$driver $pin "$work/api" --process \
            >>"$work/$which.rows"
    done
    round=$((round + 1))
done

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -1
awk -f "$here/pairs.awk" "$work/ours.rows" "$work/theirs.rows"

echo
echo "| data frames: pools of | threshold | threads | µs a pair | with kernels | taken over used | with kernels |"
echo "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
frames() {
    LD_LIBRARY_PATH=$work/$2 WEIR_POOLS=$3 WEIR_DRIVER=$driver LD_PRELOAD=$driver "$work/frames" "$1"
}
frames Weir ours own
frames "the driver" ours driver
frames "NVIDIA's" theirs driver
