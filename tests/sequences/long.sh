#!/bin/sh
# API calls at random for long, from seeds of the time, several threads a process and a process for
# each second CPU: sh tests/sequences/long.sh BUILD SECONDS {PROCESSES}. Each has one to four devices,
# another number in turn, and in the next call. What fails prints its seed and stays in BUILD/fuzz-api.
set -eu
build=$1 seconds=$2 processes=${3:-$((($(nproc) + 1) / 2))}
keep=$build/fuzz-api first=$(date +%s)
mkdir -p "$keep"
pids= k=0
while [ "$k" -lt "$processes" ]; do
  WEIR_DEVICES=$((1 + (first + k) % 4)) "$build/bin/api_sequences" seed=$((first * 1000 + k * 1000000)) threads=$((2 + 2 * (k % 3))) steps=4000 \
    seconds="$seconds" >"$keep/$first.$k" 2>&1 &
  pids="$pids $!"
  k=$((k + 1))
done
status=0
for pid in $pids; do
  wait "$pid" || status=1
done
tail -n 40 "$keep/$first".*
exit $status
