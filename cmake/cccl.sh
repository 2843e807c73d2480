#!/bin/sh
# cccl.sh BUILD [once]: puts NVIDIA's open CCCL (Thrust, CUB, libcu++) where weircc looks first,
# BUILD/lib/weir/cccl, if the machine has none. `once`: as a part of `make`, which goes on without and
# tries no second time.
set -u
build=$1
once=${2:-}
version=13.0.85
tried=$build/cccl-tried

has_any() {
    printf '#include <cub/version.cuh>\n' >"$build/cccl-probe.cu"
    "$build/bin/weircc" -E "$build/cccl-probe.cu" >/dev/null 2>&1
}

if [ "$once" = once ] && [ -e "$tried" ]; then exit 0; fi
: >"$tried"
if has_any; then
    sh "$(dirname "$0")/cccl_link.sh" "$build"
    exit 0
fi
wheel=$(mktemp -d)
trap 'rm -rf "$wheel"' EXIT
if python3 -m pip download -q --no-deps --timeout 5 --retries 0 --disable-pip-version-check \
    -d "$wheel" "nvidia-cuda-cccl==$version" >"$wheel/log" 2>&1 &&
    python3 -m zipfile -e "$wheel"/*.whl "$wheel" &&
    mkdir -p "$build/lib/weir" && rm -rf "$build/lib/weir/cccl" &&
    cp -r "$wheel/nvidia/cu13/include/cccl" "$build/lib/weir/cccl" &&
    # its CMake packages, which look for the headers in the directory include above lib/cmake
    mkdir -p "$build/lib/weir/cccl/lib" && cp -r "$wheel/nvidia/cu13/lib/cmake" "$build/lib/weir/cccl/lib" &&
    ln -sfn . "$build/lib/weir/cccl/include"; then
    sh "$(dirname "$0")/cccl_link.sh" "$build"
    echo "weir: CCCL $version (Thrust, CUB, libcu++) is in $build/lib/weir/cccl"
    exit 0
fi
echo "weir: no CCCL (Thrust, CUB, libcu++) on this machine; \`make cccl\` or \`pip install nvidia-cuda-cccl\`" \
    "brings it, when there is a network and pip"
[ "$once" = once ] && exit 0
tail -2 "$wheel/log"
exit 1
