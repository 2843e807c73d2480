#!/bin/sh
# exit.sh PROGRAM: however a process ends, it ends at once, with its own status, and with the printed
# text that a GPU would have shown.
program=$1
bad=0

# expect MODE TEXT [ERRORS]: status 0, this on stdout, on stderr something like ERRORS or nothing
expect() {
    out=$(timeout 20 "$program" "$1" 2>"$errors")
    status=$?
    if [ $status -ne 0 ] || [ "$out" != "$2" ]; then
        echo "$1: status $status, \"$out\" instead of \"$2\""
        bad=1
    fi
    if [ -n "$3" ]; then
        grep -q "$3" "$errors" || { echo "$1: no \"$3\" in: $(cat "$errors")"; bad=1; }
    elif [ -s "$errors" ]; then
        echo "$1: on stderr: $(cat "$errors")"
        bad=1
    fi
}

errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
expect none ""
expect busy ""
expect quick ""
expect waiting ""
expect call_late "late: CUDA_SUCCESS"
expect sync_late "late: CUDA_SUCCESS"
expect lost ""
expect sync "hello"
expect reset "hello"
expect release "hello"
# The child has none of the threads that own things: in it, what is theirs would count as leaked.
options=$ASAN_OPTIONS
export ASAN_OPTIONS="$options:detect_leaks=0"
expect fork "child: CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED
child ended: 0
parent: CUDA_SUCCESS"
export ASAN_OPTIONS="$options"
expect fault "" "weir: .*trap.* in kernel stop"
[ $bad -eq 0 ] && echo "all passed"
exit $bad
