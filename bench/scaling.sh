#!/bin/sh
# How work grows faster with workers: matrix product, nbody and Black-Scholes with 1, 2, 4 ... workers up
# to the machine's cores, what an empty launch costs then, and 1 to 16 streams of small kernels.
# Prints one table. Needs of a build only lib/ and bench/weir-bench-scaling, so that it can be taken to
# another machine: what libweir-jit.so needs and the machine lacks may lie in lib/more.
#   bench/scaling.sh BUILD [WORKERS...]
set -eu
build=${1:?"usage: bench/scaling.sh BUILD [WORKERS...]"}
shift
cores=$(nproc)
if [ $# -eq 0 ]; then
    for workers in 1 2 4 8 16 32 64; do
        [ "$workers" -gt "$cores" ] || set -- "$@" "$workers"
    done
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM
export LD_LIBRARY_PATH="$build/lib:$build/lib/more" WEIR_CACHE_DIR="$scratch/cache"
for workers; do
    # As many processors as workers: the thread that waits helps in the place of one.
    WEIR_WORKERS=$workers "$build/bench/weir-bench-scaling" | sed "s/^/$workers|/"
done >"$scratch/rows"
awk -F'|' '
    { if (!($1 in known)) { known[$1] = 1; workers[++columns] = $1 }
      if (!($2 in seen)) { seen[$2] = 1; what[++rows] = $2; unit[$2] = $4 }
      value[$2, $1] = $3 }
    END {
        printf "| %-36s | unit |", "workers"
        for (c = 1; c <= columns; c++) printf " %9s |", workers[c]
        printf " first to last |\n| --- | --- |"
        for (c = 0; c <= columns; c++) printf " ---: |"
        printf "\n"
        for (r = 1; r <= rows; r++) {
            w = what[r]
            printf "| %-36s | %-4s |", w, unit[w]
            for (c = 1; c <= columns; c++) printf " %9.2f |", value[w, workers[c]]
            a = value[w, workers[1]]; z = value[w, workers[columns]]
            printf " %12.2f× |\n", unit[w] == "k/s" ? z / a : a / z
        }
    }' "$scratch/rows"
