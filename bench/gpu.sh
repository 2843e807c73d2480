#!/bin/sh
# What calls cost on this machine's GPU through Weir's runtime and through NVIDIA's: gpu.sh BUILD [ROUNDS].
# Both run bench/api.cu on the same CPUs, alternating, each first in every other round, and the best of all
# rounds counts. Then come pools under the allocations of data frames (bench/frames.cu). Without a GPU or
# NVIDIA's runtime it says so and ends well.
set -eu
build=$(cd "$1" && pwd)
rounds=${2:-9}
here=$(cd "$(dirname "$0")" && pwd)

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

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/ours" "$work/theirs"
ln -s "$build/lib/libcudart.so.13" "$work/ours/"
ln -s "$runtime" "$work/theirs/"
compiler=nvcc
[ ! -x "$build/bin/weircc" ] || compiler="$build/bin/weircc -arch=sm_80"
for program in api frames; do
    $compiler -std=c++17 -O2 -cudart shared "$here/$program.cu" -o "$work/$program"
done
# Two CPUs that share a cache, as a rule: where a process runs differs by more than the runtimes do.
pin=
command -v taskset >/dev/null 2>&1 && taskset -c 2,3 true 2>/dev/null && pin='taskset -c 2,3'
round=0
while [ $round -lt "$rounds" ]; do
    order='ours theirs'
    [ $((round % 2)) = 1 ] && order='theirs ours'
    for which in $order; do
        LD_LIBRARY_PATH=$work/$which WEIR_DRIVER=$driver LD_PRELOAD=$driver $pin "$work/api" >>"$work/$which.rows"
    done
    round=$((round + 1))
done

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -1
awk -F'|' '
function trim(s) { gsub(/^ +| +$/, "", s); return s }
$3 !~ /[0-9]/ { next }
{
    name = trim($2); split(trim($3), value, / +/)
    side = FILENAME ~ /ours[.]rows$/ ? 1 : 2
    if (!(name in unit)) { order[++n] = name; unit[name] = value[2] }
    rate = value[2] ~ /B\/s/ # more is better
    now = rate ? -value[1] : value[1] + 0
    if (!((name, side) in least) || now < least[name, side]) least[name, side] = now
}
END {
    printf "| %-50s | %12s | %12s | %6s |\n| --- | ---: | ---: | ---: |\n", "call", "Weir'"'"'s", "NVIDIA'"'"'s", "ratio"
    for (i = 1; i <= n; i++) {
        name = order[i]; a = least[name, 1]; b = least[name, 2]
        ratio = a < 0 ? b / a : b > 0 ? a / b : 0; a = a < 0 ? -a : a; b = b < 0 ? -b : b
        if (ratio > 0) { sum += log(ratio); count++; dearer += (ratio > 1) }
        printf "| %-50s | %7.2f %-4s | %7.2f %-4s | %6s |\n", name, a, unit[name], b, unit[name], (ratio > 0 ? sprintf("%.2f", ratio) : "")
    }
    if (count) printf "geometric mean %.2f; dearer: %d of %d\n", exp(sum / count), dearer, count
}' "$work/ours.rows" "$work/theirs.rows"

echo
echo "| data frames: pools of | threshold | threads | µs a pair | with kernels | taken over used | with kernels |"
echo "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
frames() {
    LD_LIBRARY_PATH=$work/$2 WEIR_POOLS=$3 WEIR_DRIVER=$driver LD_PRELOAD=$driver "$work/frames" "$1"
}
frames Weir ours own
frames "the driver" ours driver
frames "NVIDIA's" theirs driver
