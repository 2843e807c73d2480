#!/bin/sh
# usage: perf.sh PROGRAM: whether perf would be told the names of the program's kernels.
WEIR_PERF=on sh -c 'echo $$; exec "$0" written >/dev/null' "$1" >"${TMPDIR:-/tmp}/weir-perf.$$" || exit 1
map=/tmp/perf-$(cat "${TMPDIR:-/tmp}/weir-perf.$$").map
rm -f "${TMPDIR:-/tmp}/weir-perf.$$"
grep -Eq '^[0-9a-f]+ [0-9a-f]+ add\(int const\*, int\*\)$' "$map"
found=$?
rm -f "$map"
exit $found
