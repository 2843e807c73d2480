#!/bin/sh
# What calls cost in instructions, counted by callgrind in the calling thread; run by bench/run.sh.
#   bench/counts.sh BUILD
# The last rows: how much of a launch are looks whether something is so that usually is not. The
# instructions of the functions that look, wherever they are inlined, are found by debug information.
set -eu
build=$1
command -v valgrind >/dev/null || {
    echo "bench: valgrind is not installed; apt-get install valgrind" >&2
    exit 1
}
symbolizer=$(llvm-config-19 --bindir)/llvm-symbolizer
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM

# valgrind cannot read the newest debug information; names are enough.
mkdir -p "$scratch/lib/weir" "$scratch/bin"
for file in lib/libcuda.so.1 lib/weir/libweir-jit.so; do
    strip -g -o "$scratch/$file" "$build/$file"
done
strip -g -o "$scratch/bin/counts" "$build/bench/weir-bench-counts"

# One worker: others would only compete with the thread that is looked at.
LD_LIBRARY_PATH=$scratch/lib WEIR_WORKERS=1 WEIR_CACHE_DIR=$scratch/cache valgrind --tool=callgrind \
    --collect-atstart=no "--toggle-collect=count_*" --dump-instr=yes --compress-pos=no \
    --compress-strings=no --callgrind-out-file="$scratch/out" "$scratch/bin/counts" \
    >"$scratch/calls" 2>"$scratch/log" || {
    cat "$scratch/log" >&2
    exit 1
}
read -r calls <"$scratch/calls"

# In the file, a function's lines are "address line cost" for itself; after "calls=" one line is what
# a callee cost.
awk -v calls="$calls" '
    /^fn=/ { name = substr($0, 4); wanted = name ~ /^count_/; next }
    /^calls=/ { callee = 1; next }
    /^0x/ && wanted { cost[name] += $3 }
    END {
        row("launch", "launch of an empty kernel", 1)
        row("launch_with_four", "launch with four arguments", 1)
        row("launch_and_synchronize", "launch and cudaStreamSynchronize", 1)
        row("record", "cudaEventRecord", 1)
        row("record_and_synchronize", "cudaEventRecord and cudaEventSynchronize", 1)
        row("query", "cudaStreamQuery", 1)
        row("malloc_and_free", "cudaMalloc and cudaFree of 1 MiB", 1)
        row("pool_pair", "cudaMallocAsync and cudaFreeAsync of 1 MiB", 1)
        row("record_with_pools", "cudaEventRecord where pools are used", 1)
        row("copy_and_synchronize", "copy of 4 KiB to the device and synchronize", 1)
    }
    function row(name, what, per) {
        printf "| %-50s | %9.0f |\n", what, cost["count_" name] / calls / per
    }' "$scratch/out" >"$scratch/rows"

# Counted by the CPU (see counts.cu), where it may be.
node=$(WEIR_WORKERS=1 WEIR_CACHE_DIR=$scratch/cache "$build/bench/weir-bench-counts" --graph)
[ -z "$node" ] ||
    printf '| %-50s | %9.0f |\n' "a node of a graph of 100 empty kernels" "$node" >>"$scratch/rows"

# The instructions of libcuda within launches alone.
LD_LIBRARY_PATH=$scratch/lib WEIR_WORKERS=1 WEIR_CACHE_DIR=$scratch/cache valgrind --tool=callgrind \
    --collect-atstart=no --toggle-collect=count_launch --dump-instr=yes --compress-pos=no \
    --compress-strings=no --callgrind-out-file="$scratch/out" "$scratch/bin/counts" \
    >/dev/null 2>"$scratch/log"
awk '
    /^ob=/ { ours = $0 ~ /libcuda/; next }
    /^calls=/ { skip = 1; next }
    /^0x/ && skip { skip = 0; next }
    /^0x/ { all += $3; if (ours) cost[$1] += $3 }
    END { for (at in cost) print at, cost[at] >"'"$scratch/at"'"; print all }' "$scratch/out" >"$scratch/all"
cut -d" " -f1 "$scratch/at" | "$symbolizer" --obj="$build/lib/libcuda.so.1" --inlines >"$scratch/names"
# looks FUNCTIONS WHAT: adds a row.
looks() {
    awk -v looks="^($1)\$" -v what="$2" -v all="$(cat "$scratch/all")" '
        FILENAME == ARGV[1] { cost[++n] = $2; next }
        FNR == 1 { at = 1 }
        /^$/ { if (look) sum += cost[at]; look = 0; at++; next }
        $0 ~ looks { look = 1 }
        END { printf "| %-50s | %8.2f%% |\n", what, 100 * sum / all }
    ' "$scratch/at" "$scratch/names" >>"$scratch/rows"
}
looks 'capture_running|mem_checked' "of a launch: whether it is captured or checked"
looks 'slow_path|fast_path|fast_path_launch|device_forked|device_context_status|device_in_host_function|grid_flush' \
    "of a launch: after a fault, a fork, printf?"

printf '| %-50s | %9s |\n| --- | ---: |\n' "call" "instructions"
cat "$scratch/rows"
