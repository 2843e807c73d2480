# Inputs of every kind: standard input, names that meet, what is empty or no text.
. "$(dirname "$0")/lib.sh"
export WEIR_CACHE_DIR="$scratch/cache"

from_stdin() { # from_stdin TEXT ARGS...
    command="echo '...' | weircc $*"
    text=$1
    shift
    command="echo '$text' | weircc $*"
    printf '%s' "$text" | weircc "$@" >out 2>&1
    status=$?
}
answer='#include "a.h"
int main() { return 40 + SCALE; }'
kernel='#include "a.h"
__global__ void k(int *p) { *p = SCALE; }
'
for language in cu c++ c; do
    rm -f stdin.o named.o
    from_stdin "$answer" -x $language -c - -o named.o
    ok
    exists named.o
    from_stdin "$answer" -x $language -c -
    ok
    exists stdin.o
    from_stdin "$answer" -x $language - -o program
    ok
    run ./program
    [ "$status" = 42 ]
    note $? "status $status, wanted 42"
    from_stdin "$answer" -x $language -E - -DSCALE=77
    ok
    says 'return 40 + 77;'
    from_stdin "$answer" -x $language -M -
    ok
    says 'stdin.o :'
    says 'a.h'
    says_not "$TMPDIR"
done
from_stdin "$kernel" -x cu -ptx - -o k.ptx
ok
contains k.ptx '.visible .entry _Z1kPi'
from_stdin "$kernel" -x cu -ptx -
ok
exists stdin.ptx
from_stdin "$kernel" -x cu -rdc=true -c - -o one.o
ok
cp one.o two.o
from_stdin "$kernel" -x cu -rdc=true -c - -o one.o
cmp -s one.o two.o
note $? "two builds from standard input differ"
# Messages speak of standard input and count its lines.
from_stdin 'int main()
{ return no_such_name; }' -x cu -c - -o wrong.o
fails
says '<stdin>:2:10: error'
says_not "$TMPDIR"
missing wrong.o
from_stdin '' -x cu -c - -o empty.o
ok
exists empty.o
from_stdin "$answer" -
fails
says "needs an option that says its language: -x cu"
from_stdin "$answer" -x cu - -
fails
says 'named twice'
command='weircc -x cu - <&-'
weircc -x cu -c - <&- >out 2>&1
status=$?
fails
says 'Cannot read standard input'
printf '%s' "$answer" | weircc --dryrun -x cu - -o listed 2>&1 | sh >out 2>&1
run ./listed
[ "$status" = 42 ]
note $? "status $status, wanted 42"

# Outputs are named after inputs without their directories.
mkdir one two out1
cp a.cu a.h one
sed s/_a/_2/g a.cu >two/a.cu
cp a.h two
for phase in -c -dc -ptx -fatbin; do
    run weircc $phase one/a.cu two/a.cu
    fails
    says "'one/a.cu' and 'two/a.cu' would both be written to 'a."
done
run weircc -c one/a.cu two/a.cu -odir out1
fails
says "written to 'out1/a.o'"
missing a.o a.ptx a.fatbin out1/a.o
run weircc -lib one/a.cu two/a.cu -o liba.a
ok

# What is empty, no text, or not there.
: >empty.cu
run weircc -c empty.cu -o empty.o
ok
exists empty.o
head -c 4096 /dev/urandom >noise.cu
run weircc -c noise.cu
fails
says 'error'
missing noise.o
printf 'int main() { return 0; }\n' >no_include.cu
sed -i '1i #include "not/there.h"' no_include.cu
run weircc -c no_include.cu
fails
says "no_include.cu:1:10: fatal error: 'not/there.h' file not found"
[ "$(grep -c 'not found' out)" = 1 ]
note $? "the message comes twice"
for file in noise.o noise.a noise.so noise.ptx noise.fatbin; do
    head -c 4096 /dev/urandom >$file
    run weircc -dlink $file -o linked.o
    [ $file = noise.a ] || [ $file = noise.so ] || [ $file = noise.o ] || fails
    run weircc $file -o linked
    fails
    missing linked
done

# What cannot be written.
mkdir closed directory.o
run weircc -c a.cu -o directory.o
fails
says 'directory.o'
run weircc a.cu b.cpp -o closed
fails
says 'closed'
run weircc -ptx a.cu -o nowhere/a.ptx
fails
says 'nowhere/a.ptx'
run weircc -fatbin a.cu -o nowhere/a.fatbin
fails
says 'nowhere/a.fatbin'
run weircc -E a.cu -o nowhere/a.ii
fails
says 'nowhere/a.ii'
run weircc -c a.cu -odir nowhere
fails
says 'nowhere'
run weircc -lib b.cpp -o nowhere/b.a
fails
says 'nowhere'
if [ -c /dev/full ]; then
    for phase in -ptx -fatbin -E; do
        run weircc $phase a.cu -o /dev/full
        fails
    done
    [ -c /dev/full ]
    note $? "the device is replaced by a file"
fi

# Misspelt options.
misspelt() {
    run weircc a.cu "$1"
    fails
    says "Unknown option '$1'"
    [ -z "$2" ] || says "$2"
}
misspelt -Xcompilr "did you mean '-Xcompiler'?"
misspelt --dryrn "did you mean '--dryrun'?"
misspelt --dry-run "did you mean '--dryrun'?"
misspelt -use_fast_mth "did you mean '--use_fast_math'?"
misspelt -gencod=arch=compute_80,code=sm_80 "did you mean '-gencode'?"
misspelt --use-fast-math "did you mean '--use_fast_math'?"
misspelt --expt-relaxed-constxpr "did you mean '--expt-relaxed-constexpr'?"
misspelt -fPIC "follow -Xcompiler"
misspelt -Wall "follow -Xcompiler"
misspelt -q ''
says_not 'did you mean'
run weircc a.cu -std=c++18
fails
says 'c++03|c++11|c++14|c++17|c++20'

# Signals take the intermediate files away, at any time.
cat >slow.cu <<'EOF'
template <int N> struct T { static const int v = T<N - 1>::v + T<N - 2>::v; };
template <int A, int B> __global__ void many(int *p) { *p += A * B; }
template <int A, int B> struct All {
    static void go(int *p) { many<A, B><<<1, 1>>>(p); All<A - 1, B>::go(p); }
};
template <int B> struct All<0, B> { static void go(int *p) { All<200, B - 1>::go(p); } };
template <> struct All<0, 0> { static void go(int *) {} };
void all(int *p) { All<200, 30>::go(p); }
EOF
begins() { # begins COMMAND...: in the background, with signals as a terminal's commands have them
    python3 -c 'import os, signal, sys
for s in signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE: signal.signal(s, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])' "$@" >out 2>&1 &
    pid=$!
    i=0
    while [ "$(ps -o comm= -p $pid)" != weircc ] && [ $i -lt 200 ]; do
        sleep 0.05
        i=$((i + 1))
    done
}
for case in INT,0.3 TERM,0 TERM,1 QUIT,0.1 ALRM,0.3 USR1,0.3 HUP,0.1 PIPE,0 XCPU,0; do
    signal=${case%,*}
    delay=${case#*,}
    command="kill -$signal weircc after $delay s"
    begins weircc -c slow.cu -ftemplate-depth=9000
    i=0
    while [ -z "$(ls -A "$TMPDIR")" ] && [ $i -lt 100 ]; do
        sleep 0.05
        i=$((i + 1))
    done
    sleep "$delay"
    kill -"$signal" $pid
    wait $pid
    [ $? -gt 128 ]
    note $? "is not ended by the signal"
    [ -z "$(ls -A "$TMPDIR")" ]
    note $? "intermediate files are left"
    missing slow.o
done
# What a killed process leaves a later one removes, when it is a day old.
command="kill -KILL weircc"
begins weircc -c slow.cu -ftemplate-depth=9000
until [ "$(ls -A "$TMPDIR")" ]; do sleep 0.1; done
sleep 0.5
kill -KILL $pid
wait $pid
left=$(ls -A "$TMPDIR")
exists "$TMPDIR/$left"
run weircc -c a.cu -o new.o
ok
exists "$TMPDIR/$left"
mkdir "$TMPDIR/weircc-mine"
touch -d '2 days ago' "$TMPDIR/$left/.weircc-lock" "$TMPDIR/$left" "$TMPDIR/weircc-mine"
run weircc -c a.cu -o new.o
ok
[ "$(ls -A "$TMPDIR")" = weircc-mine ]
note $? "there is: $(ls -A "$TMPDIR")"
rmdir "$TMPDIR/weircc-mine"

# FIFOs can be read but once. A signal ends who waits for one, or for standard input.
mkdir fifos
mkfifo fifos/one.cu fifos/two.o fifos/three.ptx
echo '#define SCALE 40' >fifos/a.h
echo "$answer" >fifos/text
fifo() { # fifo FILE NAME ARGS...
    file=$1
    name=fifos/$2
    shift 2
    command="cat $file >$name & weircc $*"
    cat "$file" >"$name" &
    pid=$!
    timeout 60 weircc "$@" >out 2>&1
    status=$?
    kill $pid 2>out2
    wait $pid
}
fifo fifos/text one.cu fifos/one.cu -DMINE -o program
ok
run ./program
[ "$status" = 80 ]
note $? "status $status, wanted 80"
fifo a.cu one.cu -rdc=true -dc fifos/one.cu
ok
exists one.o
echo 'int main() { return no_such_name; }' >wrong.txt
fifo wrong.txt one.cu -c fifos/one.cu
fails
says 'fifos/one.cu:1:21: error'
says_not "$TMPDIR"
run weircc -c a.cu -o part.o
run weircc -c -x cu fifos/text -I. -o main.o
fifo part.o two.o main.o fifos/two.o -o program
ok
run weircc -ptx a.cu -o part.ptx
fifo part.ptx three.ptx -fatbin fifos/three.ptx
ok
exists three.fatbin
weircc --dryrun fifos/one.cu -o listed >script 2>out
cat fifos/text >fifos/one.cu &
rm -f listed
timeout 60 sh script >out 2>&1
run ./listed
[ "$status" = 80 ]
note $? "status $status, wanted 80"
for input in fifos/one.cu -; do
    command="kill -INT weircc, which reads $input"
    exec 9<>fifos/one.cu
    begins weircc -x cu -c "$input" -o never.o <fifos/one.cu
    sleep 0.5
    kill -INT $pid
    (sleep 10; kill -KILL $pid 2>out2) &
    watch=$!
    wait $pid
    [ $? = 130 ]
    note $? "is not ended by the signal"
    kill $watch
    exec 9>&-
done
# What build files ask the host compiler, of a file that is not there: it answers, once.
for question in --version -dumpversion "-dumpfullversion -dumpversion"; do
    run weircc .c -Xcompiler "$question"
    [ "$status" = 1 ]
    note $? "status $status, wanted 1"
    says "The host compiler made no object of '.c'"
    weircc .c -Xcompiler "$question" >answer 2>errors
    gcc ${question} >wanted
    cmp -s answer wanted
    note $? "$question is answered by: $(cat answer)"
done
# A program's own headers by names that CUDA's have: found by -I. A toolkit's are not taken.
mkdir -p own other
echo '#define MINE 42' | tee own/math_functions.h own/mma.h >own/device_functions.h
echo '/* NVIDIA Corporation */ #error taken' | tee other/math_functions.h >other/cuda_runtime.h
cat >own.cu <<'END'
#include <math_functions.h>
#include "mma.h"
__global__ void k(int *p) { *p = MINE; }
int main()
{
    int *p, n;
    cudaMalloc(&p, 4);
    k<<<1, 1>>>(p);
    cudaMemcpy(&n, p, 4, cudaMemcpyDeviceToHost);
    return n;
}
END
sed 's/MINE/42/' own.cu >theirs.cu
for options in "-I other -I own" "-I own -I other -ccbin g++ --host-frontend=ccbin"; do
    run weircc $options own.cu -o program
    ok
    run ./program
    [ "$status" = 42 ]
    note $? "status $status, wanted 42"
done
sed -i 's/"mma.h"/<mma.h>/' theirs.cu
run weircc -I other -c theirs.cu
ok
done_
