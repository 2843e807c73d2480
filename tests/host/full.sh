#!/bin/sh
# full.sh BUILD PROGRAM SOURCE (E2.6, C2): a disk that is full beneath what Weir and its tools write. The
# program's work is done, what cannot be written is said, and no half of a file is left that somebody would
# take for a whole one.
build=$1 program=$2 source=$3
if [ -z "$WEIR_TEST_NAMESPACE" ]; then
    if ! unshare -rm sh -c 'd=$(mktemp -d) && mount -t tmpfs -o size=64k none "$d"' 2> /dev/null; then
        echo "skipped: a full disk (this machine lets nobody mount one)"
        exit 0
    fi
    WEIR_TEST_NAMESPACE=1 exec unshare -rm sh "$0" "$@"
fi
bad=0
export LD_LIBRARY_PATH="$build/lib" PATH="$build/bin:$PATH" LC_ALL=C
directory=$(mktemp -d)
mkdir "$directory/full" "$directory/tmp"
export TMPDIR="$directory/tmp"
mount -t tmpfs -o size=64k none "$directory/full" || exit 2
cd "$directory/full" || exit 2

complain() {
    echo "$1"
    sed 's/^/  | /' "$directory/out" | head -8
    bad=1
}
# full KIB: all but so many are taken.
full() {
    rm -rf ./* && head -c $(((64 - $1) * 1024)) /dev/zero > taken
}
# on STATUS COMMAND...: runs it; STATUS: works or fails. Either way it says that there is no space.
on() {
    want=$1
    shift
    timeout -s KILL 60 "$@" > "$directory/out" 2>&1
    status=$?
    [ $status -lt 100 ] || complain "$*: status $status"
    case $want,$status in
        works,0 | fails,[1-9]*) ;;
        *) complain "$*: status $status, wanted: it $want" ;;
    esac
    grep -q "No space left on device" "$directory/out" || complain "$*: says nothing of the disk"
}
# Nothing but what took the space, and directories.
nothing_left() {
    left=$(find . -type f ! -name taken)
    [ -z "$left" ] || complain "left: $left"
}

# The cache: whole records or none.
for free in 0 8; do
    full $free
    export WEIR_CACHE_DIR="$directory/full/cache"
    on works "$program" plain
    [ -z "$(find cache -name 'tmp*' -o -name '*.tmp*')" ] || complain "a temporary file in the cache"
    if timeout 60 "$program" plain 2>&1 | grep -q damaged; then
        complain "a damaged record"
    fi
done
full 0
on fails weir cache --fill "$program"
nothing_left
export WEIR_CACHE_DIR="$directory/cache"

# What a run writes: the program works on. A trace may end where the disk did; a report is whole JSON.
full 0
for variable in TRACE POOLS_FILE POOLS_TRACE CHECK_LOG; do
    mode=plain
    [ "${variable%_*}" = POOLS ] && mode=pool
    on works env "WEIR_$variable=$directory/full/file" WEIR_CHECK=leaks "$program" $mode
done
for free in 0 4; do
    full $free
    if [ $free -eq 0 ]; then
        on fails weir run --check=leaks --report=report.json "$program" plain
    else # for the first findings
        timeout -s KILL 60 weir run --check=leaks,calls --report=report.json sh -c \
            'for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "$0" leak; done' "$program" \
            > "$directory/out" 2>&1
        grep -q "No space left on device" "$directory/out" || complain "a report that does not fit: not said"
        python3 -c 'import json; assert len(json.load(open("report.json"))) > 1' 2>> "$directory/out" ||
            complain "a report that does not fit: no JSON"
    fi
done

# The tools.
WEIR_TRACE="$directory/trace.json" "$program" plain > /dev/null 2>&1
full 0
on fails weir timeline "$directory/trace.json" --svg picture.svg
nothing_left
for phase in -c -cuda -M -lib; do
    full 0
    on fails weircc $phase "$source" -o output
    nothing_left
done
for phase in -c ""; do # where weircc keeps what is between
    full 0
    rm -f "$directory/output"
    on fails env "TMPDIR=$directory/full" weircc $phase "$source" -o "$directory/output"
    nothing_left
    [ ! -e "$directory/output" ] || complain "weircc $phase: an output of a failed compilation"
done
[ -z "$(ls -A "$TMPDIR")" ] || complain "left in TMPDIR: $(ls -A "$TMPDIR")"
cd / && umount "$directory/full" && rm -rf "$directory"
exit $bad
