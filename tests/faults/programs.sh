#!/bin/sh
# programs.sh BUILD INJECT PROGRAM (E2.5): one call to the system fails in what runs above the driver: the tool that
# fills the cache, and the runtime's own pools over a driver. No signal ends either, neither hangs, and the
# next run finds everything in order.
build=$1 inject=$2 program=$3
bad=0
directory=$(mktemp -d)
export LD_LIBRARY_PATH="$build/lib" WEIR_FAULTS=off

# failing WANTED KIND AT COMMAND...: the call of that number, of a kind of inject.h, fails.
failing() {
    kind=$1 at=$2
    shift 2
    out=$(LD_PRELOAD=$inject WEIR_INJECT=$kind,$at,0,0 timeout -s KILL 60 "$@" 2>&1)
    status=$?
    if [ $status -gt 100 ]; then
        echo "call $at of kind $kind, $*: status $status: $out"
        bad=1
    fi
}
for kind in 1 2 4 8; do
    for at in 1 5 40 300 1500; do
        [ $kind -gt 1 ] && [ $at -gt 40 ] && continue
        export WEIR_CACHE_DIR="$directory/$kind-$at"
        failing $kind $at "$build/bin/weir" cache --fill "$program"
        out=$("$build/bin/weir" cache --fill "$program" 2>&1) || {
            echo "after call $at of kind $kind: $out"
            bad=1
        }
    done
done
export WEIR_POOLS=own WEIR_CACHE_DIR="$directory/1-1"
"$program" pool > /dev/null 2>&1 # its kernels are there
for kind in 1 2 4 8; do
    for at in 1 9 77 600; do
        failing $kind $at "$program" pool
    done
done
rm -rf "$directory"
exit $bad
