#!/bin/sh
# make check-nvcc: programs that NVIDIA's nvcc 13 built run on Weir. The programs are conformance
# programs (tests/conformance), which nvcc compiles unchanged (programs.txt). Each is built
# in two ways: linked by nvcc with -cudart shared and run by `weir run`, and of nvcc's objects linked
# with Weir's static runtime. Every line of the list that fails is told; without nvcc nothing is done.
#   check.sh SOURCES BUILD [PATTERN]
set -eu
sources=$1 build=$2 pattern=${3:-.}
here=$(cd "$(dirname "$0")" && pwd)
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
unset NVCC_APPEND_FLAGS NVCC_PREPEND_FLAGS
if ! "$nvcc" --version 2>/dev/null | grep -q 'NVIDIA (R) Cuda compiler'; then
    echo "check-nvcc: skipped, NVIDIA's nvcc is not installed (NVCC names one)"
    exit 0
fi
case $("$nvcc" --version) in
*'release 13.'*) ;;
*)
    echo "check-nvcc: skipped, $nvcc is not of CUDA 13"
    exit 0
    ;;
esac
toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
passed=0 failed=0

# told WAY NAME STATUS: counts, and shows what was said when it failed.
told() {
    if [ "$3" = 0 ]; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "FAILED: $2 ($1)"
    tail -n "${LINES_SHOWN:-6}" "$work/out" | sed 's/^/    /'
}

# shared NAME FLAGS SOURCE: all by nvcc.
shared() {
    status=0
    # shellcheck disable=SC2086
    "$nvcc" $2 -cudart shared "$3" -o "$work/shared" -lcuda >"$work/out" 2>&1 &&
        timeout 300 "$build/bin/weir" run "$work/shared" $arguments >"$work/out" 2>&1 || status=$?
    told '-cudart shared' "$1" "$status"
}

# relinked NAME FLAGS SOURCE: nvcc's objects with Weir's static runtime.
relinked() {
    status=0 device=
    # shellcheck disable=SC2086
    "$nvcc" $2 -c "$3" -o "$work/a.o" >"$work/out" 2>&1 || status=$?
    case $2 in
    *-rdc=true*)
        device=$work/link.o
        # shellcheck disable=SC2086
        [ "$status" != 0 ] || "$nvcc" $2 -dlink "$work/a.o" -o "$device" >"$work/out" 2>&1 || status=$?
        device="$device $toolkit/lib64/libcudadevrt.a"
        ;;
    esac
    # shellcheck disable=SC2086
    [ "$status" != 0 ] ||
        { g++ "$work/a.o" $device -L"$build/lib" -lcudart_static -lcuda -lpthread -ldl \
            -Wl,-rpath,"$build/lib" -o "$work/relinked" >"$work/out" 2>&1 &&
            timeout 300 "$work/relinked" $arguments >"$work/out" 2>&1; } || status=$?
    told 'relinked' "$1" "$status"
}

# What the program asks for in its first lines, and code of nvcc's that is PTX.
flags_of() {
    asked=$(sed -n 's|^// FLAGS: ||p' "$1" | tr '\n' ' ')
    case $asked in
    *-arch=*) target=$(echo "$asked" | sed 's/.*-arch=sm_\([0-9a-z]*\).*/\1/') ;;
    *) target=90 ;;
    esac
    asked=$(echo "$asked" | sed 's/-arch=sm_[0-9a-z]*//')
    echo "-std=c++17 -w -I$sources/tests -gencode arch=compute_$target,code=compute_$target $asked"
}

while read -r name arguments; do
    case $name in
    '' | '#'*) continue ;;
    esac
    echo "$name" | grep -q -- "$pattern" || continue
    source=$sources/$name.cu
    flags=$(flags_of "$source")
    shared "$name" "$flags" "$source"
    relinked "$name" "$flags" "$source"
done <"$here/programs.txt"
echo "check-nvcc: $passed passed, $failed failed"
[ "$failed" = 0 ]
