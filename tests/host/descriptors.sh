#!/bin/sh
# descriptors.sh PROGRAM: see descriptors.cu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
say() {
    echo "$1"
    bad=1
}
timeout 100 "$1" closed || say "closed: status $?"
WEIR_TRACE=$work/trace timeout 100 "$1" closed || say "closed, with a trace: status $?"
grep -q "words for nobody" "$work/trace" && say "the program's words are in the trace"
WEIR_TRACE=$work/trace2 timeout 100 "$1" reopened "$work/own" || say "reopened: status $?"
[ -s "$work/own" ] && say "the trace is in the program's file: $(wc -c <"$work/own") bytes"
[ "$(grep -c '"fill(int\*)"' "$work/trace2")" -gt 100 ] || say "the trace ends where its descriptor was closed"
[ $bad -eq 0 ] && echo "all passed"
exit $bad
