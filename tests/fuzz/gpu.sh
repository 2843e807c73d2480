#!/bin/sh
# Runs random kernels (fuzz.c) on the machine's own CUDA device, with nothing but a C compiler and
# libcuda: sh tests/fuzz/gpu.sh {SECONDS {PROCESSES {FIRST}}}. What differs from the interpreter is
# printed; the kernel of a seed is what `fuzz_kernels print=SEED` says.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60} processes=${2:-$(nproc)} first=${3:-1000000}
out=$(mktemp -d)
program=$(mktemp -d)/fuzz_kernels
${CC:-cc} -O2 -std=gnu17 -w -Isrc -Itests -Iinclude -o "$program" \
  tests/fuzz/fuzz.c tests/fuzz/gen*.c tests/fuzz/interp*.c \
  tests/arithmetic/text.c tests/arithmetic/values.c tests/arithmetic/ref.c tests/arithmetic/ref_cvt.c tests/arithmetic/ref_video.c \
  src/ptx/*.c src/base/base.c \
  -L/usr/local/cuda/lib64/stubs -L/usr/lib/x86_64-linux-gnu ${LIBS:--lcuda} -lm -lpthread
"$program" forms first=0 2>&1 | head -n 60
k=0
while [ "$k" -lt "$processes" ]; do
  "$program" twice first=$((first + k * 1000000)) seconds="$seconds" batch=400 >"$out/$k.txt" 2>&1 &
  k=$((k + 1))
done
wait || true
cat "$out"/*.txt | grep -v '0 wrong' | cut -c1-200 | sort -k3 | head -n 60 || true
cat "$out"/*.txt | awk '/kernels from seed/ {n += $1; w += $6; s += $8} END {print n, "kernels,", w, "wrong,", s, "million steps"}'
