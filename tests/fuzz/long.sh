#!/bin/sh
# Kernels at random for long (fuzz.c), a process for each CPU, each from seeds of its own, and
# one each for the kernels of all instructions in all forms and for those of grids:
# sh tests/fuzz/long.sh BUILD SECONDS {PROCESSES}. Kernels that differ stay in BUILD/fuzz-kernels;
# `fuzz_kernels minimise=FILE` makes one of them small.
set -eu
build=$1 seconds=$2 processes=${3:-$(nproc)}
keep=$build/fuzz-kernels first=$(date +%s)
mkdir -p "$keep"
export WEIR_CACHE_DIR=off WEIR_FAULTS=off WEIR_WORKERS="${WEIR_WORKERS:-1}"
"$build/bin/fuzz_kernels" forms every seconds="$seconds" keep="$keep" &
pids=$!
"$build/bin/fuzz_kernels" grids first=$((first * 1000)) seconds="$seconds" keep="$keep" &
pids="$pids $!"
k=0
while [ "$k" -lt "$processes" ]; do
  "$build/bin/fuzz_kernels" first=$((first * 1000 + k * 10000000)) seconds="$seconds" keep="$keep" &
  pids="$pids $!"
  k=$((k + 1))
done
status=0
for pid in $pids; do
  wait "$pid" || status=1
done
exit $status
