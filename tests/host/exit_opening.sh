#!/bin/sh
# exit_opening.sh PROGRAM: see exit_compiling.cu. What the kernel's first launch needs is in the cache, so
# that the compiler is loaded in the background; the process ends at several moments of that.
bad=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset WEIR_JIT
export WEIR_CACHE_DIR=$work/cache
# expect STATUS ARGUMENT...
expect() {
    wanted=$1
    shift
    out=$(timeout -s KILL 60 "$@" 2>&1)
    status=$?
    [ $status = "$wanted" ] || {
        echo "$*: status $status instead of $wanted: $out"
        bad=1
    }
}
expect 3 "$1" fill
for ms in 0 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60; do
    expect 3 "$1" opening ${ms}000
    mv "$work/cache.away" "$work/cache"
done
[ $bad -eq 0 ] && echo "all passed"
exit $bad
