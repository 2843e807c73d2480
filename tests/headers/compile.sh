#!/bin/sh
# Compiles one CUDA source for the device with our headers and device library, for each architecture
# given, and for the host; then checks what the PTX leaves open and which files were read.
#   compile.sh SOURCE INCLUDE DEVLIB EXTERNS ARCH...
set -eu
source=$1 include=$2 devlib=$3 externs=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
common="-x cuda --cuda-path=/nonexistent -nocudainc -nocudalib -Xclang -target-sdk-version=12.5
    -Xclang -fcuda-allow-variadic-functions -I $include -isystem $include/weir/cccl -include weir/prelude.h -std=c++17 -Wall -Wno-unused -Wno-unknown-cuda-version -Wno-invalid-constexpr"

for arch in "$@"; do
    clang++-19 $common --cuda-gpu-arch="$arch" --cuda-feature=+ptx85 --cuda-device-only -O2 \
        -Xclang -mlink-builtin-bitcode -Xclang "$devlib" -MD -MF "$work/deps" \
        -S "$source" -o "$work/$arch.ptx"

    # Functions left to the JIT and to the driver, and no others.
    {
        sed -n 's/.*\(__nv_[a-z0-9_]*\)(.*/\1/p' "$externs"
        printf '%s\n' vprintf malloc free __assertfail
    } | sort -u >"$work/known"
    grep -A1 '^\.extern \.func' "$work/$arch.ptx" | grep -oE '[A-Za-z_][A-Za-z0-9_]*$' |
        grep -vE '^func$' | sort -u >"$work/open" || true
    unknown=$(comm -23 "$work/open" "$work/known")
    if [ -n "$unknown" ]; then
        echo "$source for $arch calls what nobody defines:" $unknown
        exit 1
    fi
    # No SDK: our headers, the compiler's, the system's.
    if tr ' \\' '\n\n' <"$work/deps" | grep -v "^$include/" |
        grep -E 'cuda-[0-9]|/cuda/|/usr/local/include/'; then
        echo "$source: another SDK's headers were read"
        exit 1
    fi
done

arch=sm_90
clang++-19 $common --cuda-gpu-arch=$arch --cuda-host-only -O1 -Xclang -fcuda-include-gpubinary \
    -Xclang "$work/$1.ptx" -c "$source" -o "$work/host.o"
echo "compiled $source for the host and for $*"
