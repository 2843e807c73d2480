#!/bin/sh
# Runs the conformance programs and the examples that weircc built on the driver of this machine's GPU, over
# Weir's runtime, which they hold: run.sh [NAME...]; without names, every way to choose the device, too
# (choose.sh). Ends with a table of what passed, failed and was left out, and why. Needs no compiler. Without a
# GPU it says so and ends well.
#
# TIMEOUT (seconds, 120) bounds each program, DRIVER names the driver's library where it is not found.
set -u
cd "$(dirname "$0")" || exit 1
limit=${TIMEOUT:-120}

. ./find_driver.sh

driver=${DRIVER:-$(find_driver)}
if [ -z "$driver" ]; then
    echo "check-gpu: skipped: this machine has no libcuda.so.1 of a GPU's driver"
    exit 0
fi
if [ -z "${DRIVER:-}" ] && ! has_gpu; then
    echo "check-gpu: skipped: there is a driver, $driver, but no GPU"
    exit 0
fi
echo "check-gpu: $driver"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null

results=$(mktemp -d) || exit 1
trap 'rm -rf "$results"' EXIT
tab=$(printf '\t')
while IFS="$tab" read -r name reason; do
    if [ $# -gt 0 ]; then
        case " $* " in *" $name "*) ;; *) continue ;; esac
    fi
    if [ -n "$reason" ]; then
        printf 'left out\t%s\t%s\n' "$name" "$reason" >>"$results/table"
        continue
    fi
    # first of all libraries: a program that is linked with libcuda.so.1 may find Weir's by its search path
    LD_PRELOAD=$driver WEIR_DRIVER=$driver timeout "$limit" "programs/$name" >"$results/log" 2>&1 </dev/null
    status=$?
    case $status in
    0) printf 'passed\t%s\t\n' "$name" ;;
    77) printf 'left out\t%s\t%s\n' "$name" "$(tail -1 "$results/log")" ;;
    124) printf 'failed\t%s\tdid not end within %s s\n' "$name" "$limit" ;;
    *) printf 'failed\t%s\tstatus %d\n' "$name" "$status" ;;
    esac >>"$results/table"
    case $status in
    0 | 77) ;;
    *)
        echo "---- $name: status $status"
        grep -v '^$' "$results/log" | tail -"${LINES_OF_FAILED:-12}" | cut -c1-300
        ;;
    esac
done <list
# The tool is there if this is the directory of a build.
[ $# -gt 0 ] || ./choose.sh "$driver" programs/examples/vector_add ../bin/weir >>"$results/table"

echo
for kind in failed "left out"; do
    grep "^$kind$tab" "$results/table" | while IFS="$tab" read -r what name reason; do
        printf '%-9s %-36s %s\n' "$what" "$name" "$reason"
    done
done
count() { grep -c "^$1$tab" "$results/table"; }
failed=$(count failed)
printf '\n%d passed, %d failed, %d left out\n' "$(count passed)" "$failed" "$(count 'left out')"
[ "$failed" -eq 0 ]
