#!/bin/sh
# What a measurement runs on, in one paragraph; called before it, for the load is that of others.
#   machine.sh BUILD ["options of native code"]
set -eu
build=$1
native=${2:-"-O3 -march=native"}
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1 | sed 's/ Process[o]r//')
cores=$(nproc)
simd=SSE2
for flag in avx2:AVX2 avx512f:AVX-512 asimd:NEON sve:SVE; do
    grep -qw "${flag%%:*}" /proc/cpuinfo && simd=${flag#*:}
done
compiler=$(sed -n 's/^CMAKE_C_COMPILER:[^=]*=//p' "$build/CMakeCache.txt")
pocl=$(dpkg-query -W -f='${Version}' libpocl2 2>/dev/null || echo "not installed")
memory=$(awk '/MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)
echo "$(date +%Y-%m-%d): $cpu, $cores cores, $simd, $memory; Linux $(uname -r);" \
    "native: $("$compiler" --version | head -n 1), $native, OpenMP; PoCL $pocl;" \
    "load of other programs $(cut -d" " -f1 /proc/loadavg) at the start."
