#!/bin/sh
# `make demo`: compiles the examples with weircc, runs them, and says what is to be seen.
# Usage: demo.sh [build directory]
set -eu
examples=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-build}" && pwd)
out=$build/demo
mkdir -p "$out"

title() { printf '\n── %s\n\n' "$1"; }
build_one() {
    echo "\$ weircc -O2 $1.cu -o $1"
    "$build/bin/weircc" -O2 "$examples/$1.cu" -o "$out/$1"
}

title "A CUDA program, compiled and run on this machine's $(nproc) CPU cores"
build_one vector_add
"$out/vector_add"

title "Three streams: what ran when"
build_one streams
"$out/streams"

title "A picture, one thread for each point"
build_one mandelbrot
"$out/mandelbrot" "$out/mandelbrot.ppm"
