#!/bin/sh
# usage: sanitizer.sh COMPUTE-SANITIZER POOLS LEAKS: runs compute-sanitizer as scripts do, on programs of
# this directory; checks exit status and words of the output.
sanitizer=$1
pools=$2
leaks=$3
failed=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# check STATUS TEXT COMMAND...: runs it; wants that exit status and TEXT in its output.
check() {
    status=$1
    text=$2
    shift 2
    "$@" >"$work/out" 2>&1
    got=$?
    if [ $got -ne "$status" ] || ! grep -qF -- "$text" "$work/out"; then
        echo "failed: $*: status $got instead of $status, or no '$text' in:"
        cat "$work/out"
        failed=$((failed + 1))
    fi
}

check 0 "usage: compute-sanitizer" "$sanitizer" --help
check 0 "compute-sanitizer of Weir" "$sanitizer" --version
check 1 "no program given" "$sanitizer"
check 1 "option --save is not known, or not supported" "$sanitizer" --save file true
check 1 "the tools are memcheck" "$sanitizer" --tool valgrind true
check 1 "must be full or no" "$sanitizer" --leak-check some true
check 3 "ERROR SUMMARY: 0 errors" "$sanitizer" sh -c 'exit 3'
check 0 "ERROR SUMMARY: 0 errors" "$sanitizer" --error-exitcode 9 "$pools" right
check 9 "========= illegal address in kernel fill" "$sanitizer" --error-exitcode 9 "$pools" overrun
check 9 "ERROR SUMMARY: 1 error" "$sanitizer" --tool=memcheck --error-exitcode=9 "$pools" overrun
check 0 "ERROR SUMMARY: 1 error" "$sanitizer" "$pools" overrun
check 9 "WEIR_POOLS=own: the driver's pools serve, since WEIR_CHECK sees no others" \
    env WEIR_POOLS=own "$sanitizer" --error-exitcode 9 "$pools" overrun
check 0 "ERROR SUMMARY: 0 errors" "$sanitizer" "$leaks" memory
check 0 "4096 bytes of device memory" "$sanitizer" --leak-check full "$leaks" memory
check 0 "ERROR SUMMARY: 5 errors" "$sanitizer" --leak-check full --print-limit 2 "$leaks" memory
check 0 "after the first 2" "$sanitizer" --leak-check full --print-limit 2 "$leaks" memory
check 0 "ERROR SUMMARY: 0 errors" "$sanitizer" --kernel-name kne=other "$pools" overrun
check 0 "ERROR SUMMARY: 1 error" "$sanitizer" --kernel-name kns=fil "$pools" overrun
check 0 "ERROR SUMMARY: 1 error" "$sanitizer" --kernel-name kernel_name=_Z4fillPci "$pools" overrun
check 0 "ERROR SUMMARY: 0 errors" "$sanitizer" --kernel-name-exclude kne=fill "$pools" overrun
check 0 "ERROR SUMMARY: 1 error" "$sanitizer" sh -c "'$pools' overrun; true"
check 0 "ERROR SUMMARY: 0 errors" "$sanitizer" --target-processes application-only sh -c "'$pools' overrun; true"
printf '# known\nmemory:kernel fill(char*, int)*pools.cu\n' >"$work/known"
check 0 "ERROR SUMMARY: 0 errors" env WEIR_SUPPRESS="$work/known" "$sanitizer" --error-exitcode 9 "$pools" overrun
printf 'leaks:kernel fill\nmemory:kernel file\n' >"$work/known"
check 9 "ERROR SUMMARY: 1 error" env WEIR_SUPPRESS="$work/known" "$sanitizer" --error-exitcode 9 "$pools" overrun
"$sanitizer" --log-file "$work/log.%p.txt" "$pools" overrun >"$work/out" 2>&1
if grep -q "=====" "$work/out" || ! grep -q "ERROR SUMMARY: 1 error" "$work"/log.[0-9]*.txt; then
    echo "failed: --log-file"
    failed=$((failed + 1))
fi
echo "$failed failed"
[ $failed -eq 0 ]
