# The exit status says what has refused the input, as nvcc's does; an interrupted compilation says nothing.
. "$(dirname "$0")/lib.sh"

is() { # is STATUS COMMAND...
    wanted=$1
    shift
    run "$@"
    [ "$status" = "$wanted" ]
    note $? "exit status $status, wanted $wanted"
}

echo '__global__ void k(int *p) { *p = undefined; } int main() {}' >front.cu
echo '__global__ void k(int *p) {} int main() { int x = "a"; }' >host.cu
printf '#error no\nint main( {}\n' >directive.cu
printf 'int main( {}\n#include "nothere.h"\n' >include.cu
echo '__global__ void k(int *p) { asm volatile("bogus.u32 %0, 3;" : "=r"(*p)); } int main() {}' >assembler.cu
echo '__device__ int f(); __global__ void k(int *p) { *p = f(); } int main() {}' >undefined.cu
echo '__global__ void k(int *p) { __shared__ int s[20000]; s[threadIdx.x] = *p; __syncthreads(); *p = s[3]; } int main() {}' >shared.cu
echo 'extern int f(); int main() { return f(); }' >link.cu
echo 'int main() { return undefined; }' >host.cpp
echo 'int main() { return 7; }' >seven.cu
printf '.version 9.0\n.target sm_75\nbogus\n' >bad.ptx

for f in front host; do
    for phase in "-o program" -c -cuda -lib "-rdc=true -c" --fdevice-syntax-only; do
        [ "$f$phase" = host--fdevice-syntax-only ] || is 2 weircc $phase $f.cu
    done
    for phase in -ptx -cubin -fatbin; do
        is 1 weircc $phase $f.cu
    done
done
for f in directive include; do
    for phase in "-o program" -c -ptx -E -M; do
        is 1 weircc $phase $f.cu
    done
done
is 255 weircc assembler.cu
is 255 weircc -c assembler.cu front.cu
is 2 weircc -c front.cu assembler.cu
is 255 weircc undefined.cu
is 255 weircc -fatbin shared.cu
is 255 weircc -rdc=true -dlink -cubin undefined.cu -o linked.cubin
is 1 weircc link.cu
is 1 weircc host.cpp
is 1 weircc nothere.cu
is 1 weircc -c seven.cu -o nowhere/seven.o
is 1 weircc -bogus seven.cu
is 7 weircc -run seven.cu
# A file of PTX is looked at, too.
for phase in -cubin -fatbin; do
    is 255 weircc $phase bad.ptx
    says "bad.ptx:3: error: expected a directive before 'bogus'"
    missing bad.cubin bad.fatbin
done

# What a first try of clang's says, and a second would not, is not said when that is interrupted.
cat >launches.cu <<'END'
#include <cooperative_groups.h>
__global__ void child(int *p) { *p = 1; }
__global__ void parent(int *p) { child<<<1, 1>>>(p); }
int main() { return 0; }
END
command="weircc, ended while it compiles a file again"
weircc -rdc=true -c launches.cu >out 2>&1 &
compiler=$!
waited=0
until ls "$TMPDIR"/*/*.rewritten.cu >/dev/null 2>&1 || [ $waited = 200 ]; do
    sleep 0.05
    waited=$((waited + 1))
done
kill -TERM $compiler
wait $compiler
[ $? = 143 ]
note $? "it ended before it was interrupted"
says_not "error"
done_
