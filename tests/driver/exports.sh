#!/bin/sh
# exports.sh LIBRARY INCLUDE CC NAMES: the library exports every call that cuda.h declares, for both
# meanings of the default stream, every name in the file NAMES (all that the driver of CUDA 13.0
# exports, older versions of calls included), and nothing but the driver API, Weir's own names and
# what the NVTX headers look for.
library=$1 include=$2 cc=$3 names=$4
dir=$(mktemp -d)
export LC_ALL=C
trap 'rm -rf "$dir"' EXIT
for flag in -DNOTHING -DCUDA_API_PER_THREAD_DEFAULT_STREAM; do
    printf '#include <cuda.h>\n#include <cudaProfiler.h>\n' |
        "$cc" -E -P $flag -I"$include" -xc - | grep -oE '\bcu[A-Z][A-Za-z0-9_]* *\(' | tr -d ' ('
done | sort -u > "$dir/declared"
nm -D --defined-only "$library" | awk '{print $3}' | sort -u > "$dir/exported"
missing=$(comm -23 "$dir/declared" "$dir/exported"; comm -23 "$names" "$dir/exported")
foreign=$(grep -vE '^(cu[A-Z]|weir_|InitializeInjectionNvtx2$)' "$dir/exported")
[ "$(wc -l < "$dir/declared")" -gt 400 ] || { echo "cuda.h declares too little"; exit 1; }
[ -z "$missing" ] || { echo "not exported:"; echo "$missing"; }
[ -z "$foreign" ] || { echo "exported, but nobody's:"; echo "$foreign"; }
# the file says what the stub library of that toolkit says, where there is one
stub=${CUDA_HOME:-/usr/local/cuda}/lib64/stubs/libcuda.so
if [ -f "$stub" ] && grep -q 'define CUDA_VERSION 13000' "${stub%/lib64/*}/include/cuda.h"; then
    nm -D --defined-only "$stub" | awk '$2 == "T" {print $3}' | sort | diff - "$names" || exit 1
fi
[ -z "$missing$foreign" ]
