#!/bin/sh
# Two libraries with kernels and device variables of the same names in one process, however they are
# compiled: each has its own, and its own runtime where that is the static one.
#
#   same_names.sh BUILD SOURCES HOST
set -eu
build=$1 source=$2/same_names.cu host=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# check NAME OPTION...: builds both and runs them
check() {
    name=$1
    shift
    for value in 1 2; do
        "$build/bin/weircc" "$@" -arch=sm_80 -shared -Xcompiler -fPIC -DVALUE=$value "$source" \
            -o "$work/$value.so"
    done
    if ! timeout 60 "$host" "$work/1.so" "$work/2.so"; then
        echo "$name: wrong"
        failures=$((failures + 1))
    fi
}

check "static runtime"
exported=$(nm -D --defined-only "$work/1.so" | grep -c ' T _*cuda' || true)
if [ "$exported" -ne 0 ]; then
    echo "static runtime: $exported functions of the runtime are exported"
    failures=$((failures + 1))
fi
check "relocatable code" -cudart shared -rdc=true
check "host compiler" -cudart shared --host-frontend=ccbin

# C++ of -cuda
for value in 1 2; do
    "$build/bin/weircc" -arch=sm_80 -cuda -Xcompiler -fPIC -DVALUE=$value "$source" -o "$work/$value.ii"
    "$build/bin/weircc" -cudart shared -shared -Xcompiler -fPIC "$work/$value.ii" -o "$work/$value.so"
done
if ! timeout 60 "$host" "$work/1.so" "$work/2.so"; then
    echo "-cuda: wrong"
    failures=$((failures + 1))
fi
exit $((failures > 0))
