# The host half is compiled beside the device half: the same object, rules and messages as one after the other.
. "$(dirname "$0")/lib.sh"

[ "$(nproc)" -gt 1 ] || { echo "skipped: one CPU"; exit 77; }
one() { # one COMMAND...: on one CPU, where nothing is begun early
    python3 -c 'import os, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}
both() { # both NAME ARGS...: what each says and makes, in NAME.1 and NAME.2
    name=$1
    shift
    command="weircc $*"
    rm -f "$name.o" "$name.d"
    weircc "$@" >out 2>&1
    status=$?
    cp out "$name.out.2"
    for file in "$name.o" "$name.d"; do [ ! -e "$file" ] || mv "$file" "$file.2"; done
    one weircc "$@" >"$name.out.1" 2>&1
    [ $? = "$status" ]
    note $? "another status than one after the other"
    cmp -s "$name.out.1" "$name.out.2"
    note $? "other messages than one after the other"
    for file in "$name.o" "$name.d"; do
        [ -e "$file" ] || [ -e "$file.2" ] || continue
        cmp -s "$file" "$file.2"
        note $? "another $file than one after the other"
    done
}
both a -g -MD -c a.cu -o a.o
ok
exists a.o a.d
# Messages of both halves, and errors of either.
cat >warn.cu <<'END'
__device__ int d(int x) { int unused_on_device; return x; }
#ifndef __CUDA_ARCH__
int h(int x) { int unused_on_host; return x; }
#endif
END
both warn -Xcompiler -Wall -c warn.cu -o warn.o
ok
says unused_on_device
says unused_on_host
echo '__device__ int d() { return no_such_name; }' >device.cu
both device -c device.cu -o device.o
fails
missing device.o
cat >host.cu <<'END'
__global__ void k(int *p) { *p = 1; }
#ifndef __CUDA_ARCH__
int h() { return no_such_name; }
#endif
END
both host -c host.cu -o host.o
fails
says 'host.cu:3:18: error'
missing host.o
# A host half that is done first: it asks for no device code.
printf '#pragma nv_diag_error 174\nvoid g(int x) { x + 1; }\n' >plain.cu
both plain -c plain.cu -o plain.o
fails
missing plain.o
# Device code that the second tool refuses, and what is compiled from text that is rewritten, or once more.
echo '__device__ int d() { asm("frobnicate;"); return 1; } __global__ void k(int *p) { *p = d(); }' >refused.cu
both refused -c refused.cu -o refused.o
fails
cat >mended.cu <<'END'
__global__ void k(int *p) { auto i = threadIdx; asm("mov.u32 %0, %smid;" : "=r"(*p)); }
__device__ const int limit = 3;
int h(int *p) { k << <1, 1>> >(p); return cudaMemcpyFromSymbol(p, limit, 4); }
END
both mended -c mended.cu -o mended.o
ok
# Device code of more than a pipe holds.
{
    echo '__device__ int table[] = {'
    i=0
    while [ $i -lt 20000 ]; do
        echo "$i,"
        i=$((i + 1))
    done
    echo '}; __global__ void k(int *p) { *p = table[*p]; }'
} >large.cu
both large -c large.cu -o large.o
ok
# Both do run at once.
command="weircc -c a.cu"
weircc -keep -keep-dir . -c a.cu -o kept.o >out 2>&1
[ -z "$(find . -type p)" ]
note $? "a FIFO is left"
weircc -v -c a.cu -o a.o >out 2>&1 &
pid=$!
seen=1
for i in $(seq 400); do
    [ "$(ps -o args= --ppid $pid | grep -c clang)" -lt 2 ] || seen=0
    [ $seen = 1 ] || break
    sleep 0.02
done
wait $pid
note $seen "no two compilers at once"
done_
