#!/bin/sh
# usage: schedules.sh WEIR ORDERS: orders of work on purpose (docs/schedules.md): wrong programs differ
# under some of a few seeds, and a seed gives the same each time; repaired ones never differ; the
# fixed order gives the same sum of floats on any number of workers.
weir=$1 orders=$2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
WEIR_CACHE_DIR=$work/cache
export WEIR_CACHE_DIR

check() { # WHAT CONDITION...
    what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $what"
        cat "$work/out" "$work/err" 2>/dev/null
    fi
}

# The output of a program in the order of a seed.
in_order() { WEIR_SCHEDULE=$1 timeout 120 "$weir" run "$orders" "$2" 2>&1; }

for program in event copy callback shared warps lanes blocks graph; do
    timeout 300 "$weir" run --schedules=12 "$orders" $program >"$work/out" 2>"$work/err"
    check "$program: some order of 12 differs" [ $? -eq 1 ]
    seed=$(sed -n 's/.*again: WEIR_SCHEDULE=\([0-9]*\) .*/\1/p' "$work/err" | head -1)
    check "$program: a seed is named" [ -n "$seed" ]
    fixed=$(in_order fixed $program)
    once=$(in_order "${seed:-1}" $program)
    check "$program: seed $seed differs from the fixed order again" [ "$once" != "$fixed" ]
    for again in 1 2 3; do
        check "$program: seed $seed gives the same again" \
            [ "$(in_order "${seed:-1}" $program)" = "$once" ]
    done
    timeout 300 "$weir" run --schedules=8 "$orders" $program repaired >"$work/out" 2>"$work/err"
    check "$program, repaired: no order differs" [ $? -eq 0 ]
    check "$program, repaired: says so" grep -q "0 of 8 orders differ" "$work/err"
done

timeout 300 "$weir" run --schedules=12 --error-exitcode 9 "$orders" event >"$work/out" 2>"$work/err"
check "the exit status is the one asked for" [ $? -eq 9 ]
check "and is no setting of a check" [ "$(grep -c 'means nothing' "$work/err")" = 0 ]
timeout 120 "$weir" run --schedules=4 "$orders" flag >"$work/out" 2>"$work/err"
check "a program that waits without a call goes on" [ $? -eq 0 ]
timeout 120 "$weir" run --schedules=6 "$orders" fault >"$work/out" 2>"$work/err"
check "a fault report differs by its numbers only" [ $? -eq 0 ]
check "the fault is told of" grep -q "illegal address\|wild" "$work/err"
timeout 60 "$weir" run --schedules=2 /nonexistent >"$work/out" 2>"$work/err"
check "a program that is not there: the status" [ $? -eq 127 ]
check "a program that is not there: a message" grep -q "/nonexistent: No such file" "$work/err"
timeout 60 "$weir" run --schedules=2 "$orders" nothing >"$work/out" 2>"$work/err"
check "the exit status is the program's" [ $? -eq 2 ]

sum=$(WEIR_WORKERS=1 in_order fixed sum)
for workers in 1 2 7; do
    for seed in fixed 5; do
        once=$(WEIR_WORKERS=1 in_order $seed sum)
        got=$(WEIR_WORKERS=$workers in_order $seed sum)
        check "order $seed: the sum on $workers workers is $got, on one $once" [ "$got" = "$once" ]
    done
    got=$(WEIR_WORKERS=$workers WEIR_JIT=baseline in_order fixed sum)
    check "the sum of the baseline tier is $got, not $sum" [ "$got" = "$sum" ]
done

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
