#!/bin/sh
# main_ends.sh PROGRAM: see main_ends.cu
bad=0
# expect MODE STATUS OUTPUT
expect() {
    out=$(timeout -s KILL 20 "$1" "$2")
    status=$?
    [ "$status" = "$3" ] && [ "$out" = "$4" ] || {
        echo "$2: status $status, \"$out\" instead of $3, \"$4\""
        bad=1
    }
}
expect "$1" alone 0 exit
expect "$1" thread 0 "thread exit"
expect "$1" only-thread 0 "thread exit"
expect "$1" term 143 ""
expect "$1" sigwait 0 "signal 1 exit"
[ $bad -eq 0 ] && echo "all passed"
exit $bad
