#!/bin/sh
# limits.sh PROGRAM: under any limit of address space the program works, or ends with a code and a
# message; no signal ends it. What a process needs for compiling is not little: from 2 GiB on it
# works.
bad=0
for kib in 200000 300000 500000 700000 1000000 1500000 2000000 4000000 8000000 16000000 32000000 64000000; do
    out=$( (
        ulimit -v $kib
        timeout -s KILL 60 "$1" plain
    ) 2>&1)
    status=$?
    if [ $status -gt 100 ] || { [ $kib -ge 2000000 ] && [ $status -ne 0 ]; }; then
        echo "ulimit -v $kib: status $status: $out"
        bad=1
    fi
done
[ $bad -eq 0 ] && echo "all passed"
exit $bad
