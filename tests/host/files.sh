#!/bin/sh
# files.sh PROGRAM RUNTIME (E2.6): settings that name files. Whatever such a file is, the program neither
# waits for it nor reads it for ever; that it cannot be used is said; and the program's own work is done.
bad=0
program=$1
export LD_LIBRARY_PATH=$2
directory=$(mktemp -d)
cd "$directory" || exit 2
mkfifo fifo
mkdir directory
truncate -s 100G large
: > empty

# What the program does: memory pools are used for their settings.
mode_for() {
    case $1 in
        POOLS_*) echo pool ;;
        *) echo plain ;;
    esac
}

# try WANTED VARIABLE FILE: the program prints WANTED (a part of its message; none: nothing of ours).
try() {
    out=$(env WEIR_CHECK=leaks "WEIR_$2=$3" timeout -s KILL 20 "$program" "$(mode_for "$2")" 2>&1)
    status=$?
    case $out in
        *"$1"*) said=yes ;;
        *) said=no ;;
    esac
    if [ $status -gt 100 ] || [ $said = no ]; then
        echo "WEIR_$2=$3: status $status: $out"
        bad=1
    fi
}
for file in "$directory/fifo" /dev/zero "$directory/directory" /dev/full "$directory/large" /nowhere/x; do
    try "weir: cannot read $file" SUPPRESS "$file"
done
for file in "$directory/fifo" "$directory/directory" /dev/full /nowhere/x; do
    for variable in CHECK_LOG TRACE REPORT POOLS_FILE POOLS_TRACE; do
        try "weir: WEIR_$variable" $variable "$file"
    done
    try "weir: WEIR_DRIVER=$file" DRIVER "$file"
done
try "weir: WEIR_DRIVER=/dev/zero" DRIVER /dev/zero
try "cannot be used" CACHE_DIR "$directory/fifo"
# A reader that has gone, and a limit on the size of files.
for variable in CHECK_LOG TRACE POOLS_FILE POOLS_TRACE; do
    out=$( (
        ulimit -f 0
        env WEIR_CHECK=leaks "WEIR_$variable=$directory/empty" WEIR_CACHE_DIR=off timeout -s KILL 20 \
            "$program" "$(mode_for $variable)" 2>&1
    ) | cat)
    case $out in
        *"weir: WEIR_$variable"*"File too large"*exit* | *exit*"weir: WEIR_$variable"*"File too large"*) ;;
        *)
            echo "WEIR_$variable beyond a limit: $out"
            bad=1
            ;;
    esac
done
# A FIFO whose reader does not read, and a file that another process keeps locked: it is waited for some
# seconds, here by all of them at once.
exec 3<>fifo
head -c 65536 /dev/zero > fifo
exec 4> locked
flock 4
for variable in CHECK_LOG TRACE POOLS_FILE POOLS_TRACE; do
    (try "nobody has read from it for five seconds" $variable "$directory/fifo"; exit $bad) &
    waiting="$waiting $!"
done
for variable in REPORT TRACE; do
    (try "locked for five seconds" $variable "$directory/locked"; exit $bad) &
    waiting="$waiting $!"
done
for one in $waiting; do
    wait "$one" || bad=1
done
exec 3>&- 4>&-
# Settings that would not be heard.
for setting in CHECK_KERNELS=foo CHECK_KERNELS=+=, CHECK_LIMIT=-1 ERROR_EXITCODE=300; do
    try "weir: WEIR_$setting: must be" "${setting%%=*}" "${setting#*=}"
done
for variable in CHECK_LOG REPORT SUPPRESS CHECK_LIMIT CHECK_KERNELS CHECK_PROCESS ERROR_EXITCODE; do
    out=$(env "WEIR_$variable=1" timeout -s KILL 20 "$program" plain 2>&1)
    case $out in
        *"weir: WEIR_$variable means nothing without WEIR_CHECK"*) ;;
        *)
            echo "WEIR_$variable without WEIR_CHECK: $out"
            bad=1
            ;;
    esac
done
cd / && rm -rf "$directory"
exit $bad
