#!/bin/sh
# Runs programs of random kernels (generate.py) on the machine's own CUDA device, compiled by nvcc for it:
# sh tests/programs/gpu.sh {FIRST {COUNT {OPTION...}}}. What differs from the host is printed. Options are
# nvcc's, -O3 when none is given; -G makes code without optimisation. With LAUNCHES=launches in the environment
# the kernels launch kernels.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
first=${1:-1} count=${2:-100} batch=20
[ $# -lt 2 ] || shift 2
[ $# -gt 0 ] || set -- -O3
[ -z "${LAUNCHES:-}" ] || set -- "$@" -rdc=true -lcudadevrt
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
one() { # one FIRST OPTION...
  seed=$1
  shift
  python3 "$here/generate.py" "$seed" "$batch" ${LAUNCHES:-} >"$directory/$seed.cu"
  nvcc -w -std=c++17 -DDEFINITE -arch="${ARCH:-native}" -fmad=false "$@" -I "$here" "$directory/$seed.cu" -o "$directory/$seed" -lcuda \
    || { echo "fails: compiling the program of seed $seed"; return; }
  timeout 120 "$directory/$seed" >"$directory/$seed.txt" 2>&1 || echo "status $? of the program of seed $seed"
  cat "$directory/$seed.txt"
}
running=0
seed=$first
while [ "$seed" -lt $((first + count)) ]; do
  one "$seed" "$@" &
  running=$((running + 1))
  if [ "$running" -ge "$(nproc)" ]; then
    wait
    running=0
  fi
  seed=$((seed + batch))
done >"$directory/all.txt"
wait
grep -v ', 0 wrong' "$directory/all.txt" | cut -c1-300 || true
awk '/ runs, / {n += $1; w += $3} END {print n + 0, "kernels,", w + 0, "wrong"}' "$directory/all.txt"
