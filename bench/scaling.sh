#!/bin/sh
# How work grows faster with workers: matrix product, nbody and Black-Scholes with 1, 2, 4 ... workers up
# to the machine's cores, what an empty launch costs then, and 1 to 16 streams of small kernels.
# A column "1of16" is the mean of 16 processes of one worker each, side by side: what one worker does
# where all others are as busy and the clock is as low. With ROUNDS=n in the environment all columns are
# measured n times in turn, and the best of each counts. Prints one table. Needs of a build only lib/ and
# bench/weir-bench-scaling, so that it can be taken to another machine: what libweir-jit.so needs and
# the machine lacks may be in lib/more.
# --launches: only rows of launches, of host threads that launch and wait, and of streams.
#   [ROUNDS=n] bench/scaling.sh BUILD [--launches] [WORKERS...]
set -eu
build=${1:?"usage: bench/scaling.sh BUILD [--launches] [WORKERS...]"}
shift
only=""
if [ "${1:-}" = --launches ]; then
    only=$1
    shift
fi
cores=$(nproc)
if [ $# -eq 0 ]; then
    for workers in 1 2 4 8 16 32 64; do
        [ "$workers" -gt "$cores" ] || set -- "$@" "$workers"
    done
    set -- "$@" "1of$cores"
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM
export LD_LIBRARY_PATH="$build/lib:$build/lib/more" WEIR_CACHE_DIR="$scratch/cache"

# measure COLUMN WORKERS: as many CPUs as workers, since the thread that waits helps as one.
measure() {
    WEIR_WORKERS=$2 "$build/bench/weir-bench-scaling" $only | sed "s/^/$1|/"
}

# measure_all COLUMN...: each column once.
measure_all() {
    for column; do
        case $column in
        1of*)
            copies=${column#1of}
            while [ "$copies" -gt 0 ]; do
                measure "$column" 1 >"$scratch/copy$copies" &
                copies=$((copies - 1))
            done
            wait
            cat "$scratch"/copy*
            rm "$scratch"/copy*
            ;;
        *) measure "$column" "$column" ;;
        esac
    done
}

round=1
while [ "$round" -le "${ROUNDS:-1}" ]; do
    measure_all "$@" | sed "s/^/$round|/"
    round=$((round + 1))
done >"$scratch/rows"
awk -F'|' '
    # Of a round the mean of its copies, of the rounds the best.
    function best(w, c, r, v, b) {
        for (r = 1; r <= rounds; r++) {
            v = value[r, w, c] / copies[r, w, c]
            if (r == 1 || (unit[w] == "k/s" ? v > b : v < b)) b = v
        }
        return b
    }
    function gain(w, from, to) {
        from = best(w, from)
        to = best(w, to)
        printf " %8.2f× |", unit[w] == "k/s" ? to / from : from / to
    }
    { if (!($2 in known)) {
          known[$2] = 1; columns[++last] = $2
          if ($2 ~ /of/) { busy = $2; all = substr($2, 4) } else { most = $2 }
      }
      if (!($3 in seen)) { seen[$3] = 1; what[++rows] = $3; unit[$3] = $5 }
      rounds = $1; value[$1, $3, $2] += $4; copies[$1, $3, $2]++ }
    END {
        printf "| %-36s | unit |", "workers"
        for (c = 1; c <= last; c++) printf " %9s |", columns[c]
        printf " %d over %d |", most, columns[1]
        if (all in known) printf " %d over %s |", all, busy
        printf "\n| --- | --- |"
        for (c = 0; c <= last + (all in known); c++) printf " ---: |"
        printf "\n"
        for (r = 1; r <= rows; r++) {
            w = what[r]
            printf "| %-36s | %-4s |", w, unit[w]
            for (c = 1; c <= last; c++) printf " %9.2f |", best(w, columns[c])
            gain(w, columns[1], most)
            if (all in known) gain(w, busy, all)
            printf "\n"
        }
    }' "$scratch/rows"
