#!/bin/sh
# exit_compiling.sh PROGRAM: see exit_compiling.cu. Each time with an empty cache, so that everything is
# compiled, in the background too.
bad=0
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
# expect MODE STATUS
expect() {
    rm -rf "$cache/c"
    out=$(WEIR_JIT=both WEIR_CACHE_DIR=$cache/c timeout -s KILL 60 "$1" "$2" 2>&1)
    status=$?
    [ "$status" = "$3" ] || {
        echo "$2: status $status instead of $3: $out"
        bad=1
    }
}
for mode in return at-once exit _exit quick_exit thread; do
    expect "$1" $mode 3
done
# What the thread that compiles had allocated, nobody refers to in a child, which has no such thread.
(
    export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
    expect "$1" fork 3
    exit $bad
) || bad=1
expect "$1" signal 143
[ $bad -eq 0 ] && echo "all passed"
exit $bad
