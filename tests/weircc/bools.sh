# Bytes of bool other than 0 and 1 in device code behave as with nvcc, at every optimization level.
. "$(dirname "$0")/lib.sh"
export WEIR_CACHE_DIR="$scratch/cache"

cat >expected <<'EOF'
00: 2 1 2 1 2 0 0 0 0 2 2 2 2 0 0 0 0 0 0 0 0 0 1 0 0 0 5 5 5 16 30 | 00 00 00 01
01: 1 0 1 0 1 1 1 15 15 1 1 1 1 7 1 3 1 32 1 1 2 1 1 0 2 2 11 11 11 16 30 | 01 01 01 00
02: 1 0 1 0 1 1 1 15 15 1 1 1 1 7 1 3 1 32 2 2 4 0 1 0 4 4 12 12 12 16 30 | 02 02 02 00
80: 1 0 1 0 1 1 1 15 15 1 1 1 1 7 1 3 1 32 -128 -128 -256 0 1 0 -256 -256 -118 -118 -118 16 30 | 80 80 80 00
fe: 1 0 1 0 1 1 1 15 15 1 1 1 1 7 1 3 1 32 -2 -2 -4 0 1 0 -4 -4 8 8 8 16 30 | fe fe fe 00
ff: 1 0 1 0 1 1 1 15 15 1 1 1 1 7 1 3 1 32 -1 -1 -2 0 1 1 -2 -2 9 9 9 16 30 | ff ff ff 00
EOF
for flags in -O0 -O3 -G '-arch=sm_90a -use_fast_math' '-rdc=true -lineinfo'; do
    # shellcheck disable=SC2086
    run weircc -w $flags "$source/tests/weircc/bools.cu" -o bools
    ok
    run sh -c './bools 2>/dev/null' # it may say how long a compilation takes
    ok
    cmp -s expected out
    note $? "bools differ with $flags"
done
done_
