#!/bin/sh
# usage: debugger.sh TOOL PROGRAM SCRIPT [EVERYDAY]: gdb stops at a kernel's line, names kernel, line and variables,
# and has the commands of SCRIPT; perf's map names kernels and lines; valgrind runs both programs. A tool
# that is not here is left out.
tool=$1 program=$2 script=$3 everyday=${4:-}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
WEIR_CACHE_DIR=$work/cache WEIR_WORKERS=1
export WEIR_CACHE_DIR WEIR_WORKERS

has() { # WHAT PATTERN FILE
    if grep -Eq -e "$2" "$3"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $1: no '$2' in:"
        cat "$3"
    fi
}

check_gdb() {
    cat >"$work/commands" <<'GDB'
set pagination off
set debuginfod enabled off
set breakpoint pending on
break debugged.cu:14
run
bt
info locals
weir where
weir blocks
weir lane 5
info locals
print sum + 1000
weir warp 1
weir where
weir block 2
weir where
python
def refused():
    try:
        gdb.execute("weir block 9,9,9")
    except gdb.error as e:
        print("refused: %s" % e)
end
python refused()
delete
continue
python refused()
GDB
    WEIR_SCHEDULE=fixed timeout 200 gdb -nx -q -batch -ex "source $script" -x "$work/commands" \
        "$program" >"$work/gdb" 2>&1
    if grep -q "ptrace: Operation not permitted\|Could not trace" "$work/gdb"; then
        echo "gdb may not trace here: left out"
        return
    fi
    has "stops at the line" "hit Breakpoint 1.*work" "$work/gdb"
    has "bt names kernel and line" "^#0 .*work .*debugged.cu:14" "$work/gdb"
    has "bt leads to the program" "main \(\) at .*debugged.cu:24" "$work/gdb"
    has "locals: the block" "^blockIdx = \{x = 0, y = 0, z = 0\}" "$work/gdb"
    has "locals: its shape" "^blockDim = \{x = 64, y = 1, z = 1\}" "$work/gdb"
    has "locals: a parameter" "^n = 10$" "$work/gdb"
    has "locals: another" "^scale = 1.5$" "$work/gdb"
    has "locals: a pointer" "^out = 0x[0-9a-f]+$" "$work/gdb"
    has "locals: the first lane's" "^i = 0$" "$work/gdb"
    has "locals: another lane's" "^i = 5$" "$work/gdb"
    has "locals: a structure" "^at = \{x = 2.5, tags = \{5, 6\}, next = 0x0\}$" "$work/gdb"
    has "locals: shared memory" "^tile = \{0, 1, 2, 3, " "$work/gdb"
    has "a variable in an expression" '= 1000$' "$work/gdb"
    has "weir where" "^work block \(0,0,0\) of \(4,1,1\), warp 0, at .*debugged.cu:14" "$work/gdb"
    has "weir where: threads" "^threads \(0,0,0\) to \(31,0,0\)" "$work/gdb"
    has "weir blocks" "^\* thread [0-9]+: work block \(0,0,0\)" "$work/gdb"
    has "weir lane" "^lane 5 is thread \(5,0,0\) of block \(0,0,0\)" "$work/gdb"
    has "weir warp" "^work block \(0,0,0\) of \(4,1,1\), warp 1" "$work/gdb"
    has "weir warp: threads" "^threads \(32,0,0\) to \(63,0,0\)" "$work/gdb"
    has "weir block" "^work block \(2,0,0\) of \(4,1,1\)" "$work/gdb"
    has "no such block" "^refused: the grid has \(4,1,1\) blocks" "$work/gdb"
    has "the program ends as it would" "^180$" "$work/gdb"
    has "no block after the end" "^refused: no program runs" "$work/gdb"
    check_library
}

# Kernels of libraries are compiled as fast code: they have parameters, and no variables.
check_library() {
    cat >"$work/commands" <<'GDB'
set pagination off
set debuginfod enabled off
set breakpoint pending on
break library.cu:9
run
info locals
info scope library.h:5
delete
continue
GDB
    WEIR_SCHEDULE=fixed timeout 200 gdb -nx -q -batch -ex "source $script" -x "$work/commands" \
        "$(dirname "$program")/library" >"$work/gdb" 2>&1
    has "variables of the program's" "^inner = 30$" "$work/gdb"
    has "parameters of the library's" "^Symbol param_1 is" "$work/gdb"
    has "the program ends as it would" "^53$" "$work/gdb"
    if grep -q '^Symbol inner' "$work/gdb"; then
        failed=$((failed + 1))
        echo "failed: variables of a library's kernel"
        cat "$work/gdb"
    fi
}

# The map is there whether or not there is a perf.
check_map() {
    WEIR_PERF=lines sh -c 'echo $$ >"$1"; exec "$2"' sh "$work/pid" "$program" >"$work/out" 2>&1
    map=/tmp/perf-$(cat "$work/pid").map
    cp "$map" "$work/map" 2>/dev/null
    has "perf's map names kernel and line" "^[0-9a-f]+ [0-9a-f]+ work\(int\*, int, float\) \(debugged.cu:14\)$" "$work/map"
    rm -f "$map"
    WEIR_PERF=on sh -c 'echo $$ >"$1"; exec "$2"' sh "$work/pid" "$program" >"$work/out" 2>&1
    map=/tmp/perf-$(cat "$work/pid").map
    cp "$map" "$work/map" 2>/dev/null
    has "perf's map names the kernel" "^[0-9a-f]+ [0-9a-f]+ work\\(int" "$work/map"
    rm -f "$map"
    WEIR_PERF=yes "$program" >"$work/out" 2>&1
    has "another word is refused" 'WEIR_PERF=yes: must be "on", "lines" or "off"' "$work/out"
}

under_valgrind() { # PROGRAM PATTERN
    WEIR_JIT=baseline timeout 1500 valgrind "$1" >"$work/out" 2>&1
    echo "status $?" >>"$work/out"
    has "the program runs" "$2" "$work/out"
    has "and ends as it would" "^status 0$" "$work/out"
    # The loader of glibc reads names by words, which valgrind 3.19 reports: not what we write.
    if grep -q "Invalid write" "$work/out"; then
        failed=$((failed + 1))
        cat "$work/out"
    fi
}

check_valgrind() {
    under_valgrind "$program" '^180$'
    under_valgrind "$everyday" '^4032 3 20 3 no error$'
}

case $tool in
map) check_map ;;
gdb | valgrind)
    if ! command -v "$tool" >/dev/null; then
        echo "there is no $tool here: left out"
        exit 0
    fi
    check_$tool
    ;;
esac
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
