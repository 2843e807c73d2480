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
# With the code in a cache there is less to do; where it fails, memory is said to be what lacks.
WEIR_CACHE_DIR="$directory/warm" "$program" plain > /dev/null 2>&1
for kib in 200000 250000 300000 330000 360000 400000; do
    out=$( (ulimit -v $kib && timeout 5 true || exit 77
        WEIR_CACHE_DIR="$directory/warm" timeout -s KILL 60 "$program" plain) 2>&1)
    case $?,$out in
    0,* | 77,*) ;;
    *,*memory* | *,*Memory*) ;;
    *) echo "ulimit -v $kib with a cache: $out"; bad=1 ;;
    esac
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
# judge WANTED WHAT: of what ran last, $status and $out.
judge() {
    if [ $status -gt 100 ] || { [ "$1" = works ] && [ $status -ne 0 ]; }; then
        echo "$2: status $status: $out"
        bad=1
    fi
}

# Processes and threads: root is not limited, so as a user who has no others. With one thread for the
# program, one for a worker and one for a compilation at a time there are enough.
# threads WANTED N
user=$((60000 + $$ % 5000))
as_user=
[ "$(id -u)" -eq 0 ] && as_user="setpriv --reuid=$user --regid=$user --clear-groups"
threads() {
    rm -rf "$directory/cache"
    mkdir -m 777 "$directory/cache"
    out=$(timeout -s KILL 60 $as_user prlimit --nproc="$2" "$program" plain 2>&1)
    status=$?
    judge "$1" "$2 threads"
}
chmod 755 "$directory"
if $as_user prlimit --nproc=100 test -x "$program" 2>/dev/null; then
    for n in 1 2 3; do
        threads any $n
    done
    # only where no other process counts
    [ "$(id -u)" -eq 0 ] && threads works 16
else
    echo "not to be had here: another user's limit of threads"
fi

# Memory of a control group, of either version: what is used of the device's memory counts, not
# its size.
group=/sys/fs/cgroup/memory limit=memory.limit_in_bytes
[ -d $group ] || { group=/sys/fs/cgroup limit=memory.max; }
group=$group/weir-limits-$$
if mkdir $group 2>/dev/null && echo 400M 2>/dev/null > $group/$limit; then
    rm -rf "$directory/cache"
    out=$( (sh -c "echo \$\$ > $group/cgroup.procs && exec timeout -s KILL 60 '$program' plain") 2>&1)
    status=$?
    judge works "400 MiB of a control group"
else
    echo "not to be had here: a control group's limit of memory"
fi
rmdir $group 2>/dev/null

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
    judge "$1" "$2"
}
isolated works 'mount -t tmpfs none /proc'
isolated works 'mount -t tmpfs -o size=4k none /dev/shm'
isolated works 'mount -t tmpfs -o size=4k none /tmp; export WEIR_CACHE_DIR=/tmp/cache'
isolated works 'mount -t tmpfs -o ro none /mnt; export HOME=/mnt; unset WEIR_CACHE_DIR XDG_CACHE_HOME'

rm -rf "$directory"
[ $bad -eq 0 ] && echo "all passed"
exit $bad
