# --dryrun writes a script for sh that does what the command would have done: to standard output, and
# line by line, as nvcc does, to standard error.
. "$(dirname "$0")/lib.sh"
export WEIR_CACHE_DIR="$scratch/cache"

cat >part.cu <<'END'
#include "a.h"
__device__ int part(int x) { return x + SCALE; }
END
cat >'the "main" $file.cu' <<'END'
#include <cstdio>
#ifdef PARTS
extern __device__ int part(int);
#else
__device__ int part(int x) { return x + 2; }
#endif
__managed__ int counter = 5;
__global__ void kernel(int *p) { *p = part(40); counter++; }
int main()
{
    int *p, value = 0;
    cudaMalloc(&p, sizeof value);
    kernel<<<1, 1>>>(p);
    cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost);
    printf("%s %d %d\n", TEXT, value, counter);
    return 0;
}
END
# shellcheck disable=SC2016
main='the "main" $file.cu'
# shellcheck disable=SC2016
text='-DTEXT="it'\''s \"so\" & $5 `x` \\ 100%%"'
# shellcheck disable=SC2016
expected='it'\''s "so" & $5 `x` \ 100%% 42 6'

# The forms in which the listing is given to a shell.
by_sh() { # by_sh OUTPUT ARGS...
    made=$1
    shift
    command="weircc --dryrun $* 2>&1 | sh"
    rm -f "$made"
    weircc --dryrun "$@" 2>&1 | sh >out 2>&1
    status=$?
    ok
    exists "$made"
}
both() { # both OUTPUT ARGS...
    by_sh "$@"
    made=$1
    shift
    command="weircc --dryrun $* | sed | sh"
    rm -f "$made"
    weircc --dryrun "$@" 2>listing >/dev/null
    sed 's/^#\$ //' listing | sh -e >out 2>&1
    status=$?
    ok
    exists "$made"
    [ -z "$(ls -A "$TMPDIR")" ]
    note $? "the script leaves intermediate files: $(ls -A "$TMPDIR")"
}
runs() {
    run "./$1"
    ok
    says "$expected"
}

both 'a program' "$text" "$main" -o 'a program'
runs 'a program'
both parts -rdc=true -DPARTS "$text" "$main" part.cu -o parts
runs parts
run weircc -rdc=true -DPARTS "$text" "$main" part.cu -o parts
ok
runs parts
by_sh m.o -dc -DPARTS "$text" "$main" -o m.o
by_sh p.o -dc part.cu -o p.o
by_sh d.o -dlink m.o p.o -o d.o
run g++ d.o m.o p.o -L"$build/lib" -lcudart_static -ldl -lpthread -lrt -o staged
ok
runs staged
both 'the object.o' -c "$text" "$main" -o 'the object.o'
run weircc 'the object.o' -o from_object
ok
runs from_object
by_sh a.ptx -ptx a.cu
by_sh a.fatbin -fatbin a.cu
both libparts.a -lib a.cu b.cpp -o libparts.a
by_sh b.o -c b.cpp -DSCALE='3 + 4' -MMD
mkdir kept
by_sh a.o -c a.cu --keep-dir kept
exists kept/a.ptx

# What a warning says is no command for the shell.
by_sh a.o -c a.cu -arch=sm_35
# Every run has intermediate files of its own, and nothing is written by the listing itself.
rm -f a.o
weircc --dryrun -c a.cu >one 2>/dev/null
weircc --dryrun -c a.cu >two 2>/dev/null
! cmp -s one two
note $? "two runs have the same intermediate files"
missing a.o
# What fails in a run fails in the shell.
weircc --dryrun -c a.cu -DSCALE=undeclared 2>&1 | sh >out 2>&1
status=$?
fails
says 'undeclared'
missing a.o

# What -v lists is what was run: no step is hidden.
run weircc -v -c a.cu
ok
says '--step=fatbin'
says '--step=bools'
run weircc --step=fatbin missing.ptx x.fatbin
fails
says 'missing.ptx'
run weircc --step=nonsense a b
fails
says 'no such step'
done_
