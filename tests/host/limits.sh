#!/bin/sh
# limits.sh PROGRAM (E2.5): under any limit that a system or a user sets the program works, or ends with
# a code and a message; no signal ends it, and it does not hang.
bad=0
directory=$(mktemp -d)
# The cache, new for each program: compiling needs the most.
export WEIR_CACHE_DIR="$directory/cache"

# under WANTED COMMAND: runs the program in a shell that has done COMMAND before. WANTED: works, or
# any (it may end with a code).
under() {
    rm -rf "$directory/cache"
    out=$( (
        eval "$2" && timeout 5 true || exit 77 # the system's own programs may not start any more
        timeout -s KILL 60 "$program" plain
    ) 2>&1)
    status=$?
    [ $status -eq 77 ] && {
        echo "not to be had here: $2"
        return
    }
    if [ $status -gt 100 ] || { [ "$1" = works ] && [ $status -ne 0 ]; }; then
        echo "$2: status $status: $out"
        bad=1
    fi
}
program=$1

# Address space, in KiB. What a process needs for compiling is not little: from 2 GiB on it works.
for kib in 100000 200000 300000 500000 700000 1000000 1500000; do
    under any "ulimit -v $kib"
done
for kib in 2000000 4000000 8000000 16000000 32000000 64000000; do
    under works "ulimit -v $kib"
done
# Data: what is private and can be written.
for kib in 1000 10000 50000 100000 200000 400000; do
    under any "ulimit -d $kib"
done
under works "ulimit -d 4000000"
# Descriptors: none but those that are open, some, as many as a process needs.
for n in 4 5 6 7 8 10 12 16; do
    under any "ulimit -n $n"
done
under works "ulimit -n 64"
# The size of files, in blocks of 512 bytes: of the cache, and of those in memory that pools are.
for n in 0 1 8 64 1000; do
    under works "ulimit -f $n"
done
# Stacks, in KiB; locked memory; core files: what the program is started with is the least.
for kib in 64 128 256 1024 unlimited; do
    under works "ulimit -s $kib"
done
under works "ulimit -l 0"
under works "ulimit -c 0"
# Processes and threads, where the user is one that is limited; another one's are not to be counted.
if [ "$(id -u)" -ne 0 ]; then
    for n in 1 2 4; do
        under any "ulimit -u $n"
    done
fi
# Directories that cannot be written or are full: the cache is none then.
under works 'WEIR_CACHE_DIR=/proc/nothing'
under works 'WEIR_CACHE_DIR=/dev/full/cache'
under works 'unset WEIR_CACHE_DIR; export HOME=/proc XDG_CACHE_HOME='
under works 'unset WEIR_CACHE_DIR HOME XDG_CACHE_HOME; export TMPDIR=/nowhere'

# In a mount namespace of its own, as root: without /proc, without /dev/shm, with full directories.
# isolated WANTED COMMAND
isolated() {
    unshare -m true 2>/dev/null || {
        echo "not to be had here: $2"
        return
    }
    rm -rf "$directory/cache"
    out=$(unshare -m sh -c "$2; timeout -s KILL 60 \"$program\" plain" 2>&1)
    status=$?
    if [ $status -gt 100 ] || { [ "$1" = works ] && [ $status -ne 0 ]; }; then
        echo "$2: status $status: $out"
        bad=1
    fi
}
isolated works 'mount -t tmpfs none /proc'
isolated works 'mount -t tmpfs -o size=4k none /dev/shm'
isolated works 'mount -t tmpfs -o size=4k none /tmp; export WEIR_CACHE_DIR=/tmp/cache'
isolated works 'mount -t tmpfs -o ro none /mnt; export HOME=/mnt; unset WEIR_CACHE_DIR XDG_CACHE_HOME'

rm -rf "$directory"
[ $bad -eq 0 ] && echo "all passed"
exit $bad
