# What the shell tests of weircc share. Usage: . lib.sh, with the build directory as $1.
#
# run CMD...     runs, keeps the exit status in $status and all output in the file `out`
# ok / fails     the last run ended well / with an error
# says TEXT      its output holds the text;  says_not TEXT
# exists F...    files that must be there;   missing F...

build=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
PATH=$build/bin:$PATH
unset NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS NVCC_CCBIN
WEIR_CCCL=off # whatever this machine has
export WEIR_CCCL
LC_ALL=C
export PATH LC_ALL
passed=0
failed=0
command=
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
TMPDIR=$scratch/tmp
export TMPDIR
mkdir "$scratch/tmp" "$scratch/work"
cd "$scratch/work" || exit 1

note() { # note STATUS TEXT
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $2"
        echo "  after: $command"
        sed 's/^/  | /' out | head -20
    fi
}
run() {
    command="$*"
    "$@" >out 2>&1
    status=$?
}
ok() { note "$status" "exit status $status"; }
fails() {
    [ "$status" != 0 ] && { [ "$status" -lt 125 ] || [ "$status" = 255 ]; }
    note $? "exit status $status, wanted an error"
}
says() {
    grep -qF -e "$1" out
    note $? "does not say: $1"
}
says_not() {
    ! grep -qF -e "$1" out
    note $? "says: $1"
}
exists() { for f in "$@"; do [ -s "$f" ]; note $? "$f is not there"; done; }
missing() { for f in "$@"; do [ ! -e "$f" ]; note $? "$f is there"; done; }
contains() { # contains FILE TEXT
    grep -qF -e "$2" "$1"
    note $? "$1 does not contain: $2"
}
done_() {
    [ -z "$(ls -A "$TMPDIR")" ]
    note $? "intermediate files are left in TMPDIR: $(ls -A "$TMPDIR")"
    echo "$passed passed, $failed failed"
    exit $((failed != 0))
}

cat >a.cu <<'END'
#include "a.h"
__global__ void kernel_a(float *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = p[i] / 3.0f + sqrtf(p[i]) * SCALE;
}
void launch_a(float *p, int n) { kernel_a<<<1, 32>>>(p, n); }
END
cat >a.h <<'END'
#ifndef SCALE
#define SCALE 2
#endif
END
cat >b.cpp <<'END'
#include "a.h"
#include <cuda_runtime.h>
int value_b() { return SCALE; }
END
cat >c.c <<'END'
int value_c(void) { int new = 3; return new; }
END
