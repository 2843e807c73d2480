#!/bin/sh
# Timelines: of a program of everything, of one that is killed, of two processes, of many launches;
# and statistics.
#   trace.sh WEIR PROGRAM CHECK
set -u
weir=$1 program=$2 check=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WEIR_CACHE_DIR="$work/cache"
status=0
instead=$(printf '\357\277\275') # U+FFFD, for bytes that are no UTF-8
accented=$(printf 'caf\303\251')
fail() {
    echo "trace.sh: $*" >&2
    status=1
}

"$weir" run --trace="$work/all" "$program" >/dev/null || fail "the program fails"
python3 "$check" "$work/all" kernel:scale:8 kernel:parent:1 "kernel:child<int>:2" \
    "memcpy:host to device:1" "memcpy:device to host:1" memset:memset:1 "host:host function:1" \
    event:record:2 "wait:wait event:1" "wait:wait for event:1" call:cudaMallocAsync:1 \
    call:cudaLaunchKernel:2 call:cuInit:1 graph:graph:3 "nvtx:all \"of\" it:1" nvtx:half:1 \
    "nvtx:caf$instead $accented $instead$instead$instead:1" compile:scale:1 \
    part:scale:2 ph:C:3 arrows::2 || fail "the trace of everything"
grep -q '"returns":1' "$work/all" || fail "no call that failed"
grep -q '"registers":[1-9]' "$work/all" || fail "no registers"

"$weir" run --trace="$work/two" "$program" two >/dev/null || fail "two processes fail"
python3 "$check" "$work/two" kernel:scale:16 || fail "the trace of two processes"

for _ in 1 2 3; do
    "$weir" run --trace="$work/killed" "$program" kill >/dev/null 2>&1
    python3 "$check" "$work/killed" kernel:scale:8 || fail "the trace of a killed process"
done

"$weir" run --trace="$work/storm" "$program" storm 20000 >/dev/null || fail "the storm fails"
python3 "$check" "$work/storm" kernel:empty:20000 call:cudaLaunchKernel:20000 ||
    fail "the trace of a storm"

grep -q '"name":"cuDriverGetVersion"' "$work/all" && fail "a call of the runtime's own"

WEIR_TRACE="$work/appended" LD_LIBRARY_PATH="$(dirname "$weir")/../lib" "$program" >/dev/null ||
    fail "with WEIR_TRACE"
WEIR_TRACE="$work/appended" LD_LIBRARY_PATH="$(dirname "$weir")/../lib" "$program" >/dev/null
python3 "$check" "$work/appended" kernel:scale:16 || fail "the appended trace"

"$weir" timeline "$work/all" --svg "$work/all.svg" || fail "the trace is not drawn"
python3 - "$work/all.svg" <<'EOF' || fail "what is drawn is not as it should be"
import sys
import xml.dom.minidom
picture = xml.dom.minidom.parse(sys.argv[1])
titles = [t.firstChild.data for t in picture.getElementsByTagName("title")]
texts = [t.firstChild.data for t in picture.getElementsByTagName("text")]
for name in "scale", "memcpy host to device", "host function", "cudaEventSynchronize", "child<int>":
    assert any(t.startswith(name + ":") for t in titles), name
assert any("device 0" in t for t in texts) and any(t.startswith("main thread") for t in texts)
assert any(p.getAttribute("marker-end") for p in picture.getElementsByTagName("path"))
EOF
"$weir" timeline "$work/all" --svg "$work/part.svg" --from 0 --to 1 --devices ||
    fail "a part of the trace is not drawn"
"$weir" timeline "$check" --svg "$work/no.svg" 2>"$work/said" && fail "a file that is no trace"
grep -q "not a trace" "$work/said" || fail "no reason"

"$weir" run --stats "$program" >/dev/null 2>"$work/stats" || fail "with --stats"
for words in "scale(float\*, int)" "memcpy page-locked to device" cudaLaunchKernel \
    "default stream of device 0" "cudaEventSynchronize: event" "1 calls did not return success"; do
    grep -q "$words" "$work/stats" || fail "no $words in the statistics"
done

"$weir" run --trace=/nothing/there "$program" 2>"$work/said" && fail "a trace that cannot be written"
grep -q "No such file" "$work/said" || fail "no reason"
exit $status
