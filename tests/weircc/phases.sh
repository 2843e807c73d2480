# The phases: what is written, under which name, and what it holds.
. "$(dirname "$0")/lib.sh"

run weircc -ptx a.cu
ok
exists a.ptx
contains a.ptx '.visible .entry _Z8kernel_aPfi'
run weircc -ptx a.cu -o other.ptx -DSCALE=4
ok
exists other.ptx
run weircc -ptx a.cu -o -
ok
says '.visible .entry _Z8kernel_aPfi'
missing ./-
run weircc -fatbin a.cu
ok
exists a.fatbin
contains a.fatbin '.visible .entry _Z8kernel_aPfi'
run weircc -fatbin other.ptx
ok
exists other.fatbin
contains other.fatbin '.version'

# Macros of one letter that nvcc's headers leave free are the program's, and do not reach into ours.
echo 'int sum = F + W + k + m; __global__ void kernel(int *p) { *p = i + u; }' >letters.cu
letters=
for letter in A B C D E F G H I J K L M N O P Q R S U V W X Y Z g i j k l m o q r u; do
    letters="$letters -D$letter=7"
done
# shellcheck disable=SC2086
run weircc -c letters.cu $letters
ok

# What PTX says for debuggers is of what the program uses, not of the headers that come before it. The
# name of the parameter's type, as bytes, is in it.
cat >debugged.cu <<'END'
struct zyx { int n; float x; int twice() const { return 2 * n; } };
__global__ void kernel(zyx *p, int n)
{
    __shared__ float tile[32];
    tile[threadIdx.x] = sqrtf(p[n].x);
    __syncthreads();
    p[threadIdx.x + blockIdx.x * blockDim.x].x = tile[n];
}
END
run weircc -G -ptx debugged.cu
ok
[ "$(wc -c <debugged.ptx)" -lt 20000 ]
note $? "PTX of $(wc -c <debugged.ptx) bytes"
tr '\n' ' ' <debugged.ptx >line
contains line '.b8 122 .b8 121 .b8 120 .b8 0'

run weircc -E a.cu
ok
says 'kernel_a'
says 'cudaMalloc'
run weircc -E a.cu -o a.ii
ok
exists a.ii
run weircc -E b.cpp -DSCALE=77
ok
says 'return 77;'

mkdir objs
run weircc -c a.cu b.cpp c.c -odir objs
ok
exists objs/a.o objs/b.o objs/c.o
cp a.cu "with space.cu"
run weircc -c "with space.cu" -o "an object.o"
ok
exists "an object.o"
run weircc -c "with space.cu"
ok
exists "with space.o"
cp a.cu 'quote"dollar$.cu'
run weircc -c 'quote"dollar$.cu' -o q.o
ok
exists q.o

# The device code of an object is a fat binary that holds the PTX, ended by a NUL.
run weircc -c a.cu
ok
readelf -SW a.o >out
says '.nv_fatbin'
says '.nvFatBinSegment'
contains a.o '.visible .entry _Z8kernel_aPfi'

# Powers by a small constant are products in the PTX already; others are calls.
cat >powers.cu <<'END'
__global__ void squares(double *x, float *y) { *x = pow(*x, 2.0), *y = powf(*y, 3.0f) + pow(*y, 2); }
#ifdef OTHERS
__global__ void powers(double *x, float *y, double by) { *x = pow(*x, by), *y = powf(*y, 2.5f); }
#endif
END
run weircc -ptx powers.cu
ok
! grep -q __nv_pow powers.ptx
note $? 'powers.ptx calls __nv_pow'
run weircc -DOTHERS -ptx powers.cu
ok
contains powers.ptx '__nv_pow,'
contains powers.ptx '__nv_powf,'

# -x takes any suffix; several files of one name do not get in each other's way.
cp a.cu kernel.txt
run weircc -x cu -c kernel.txt
ok
exists kernel.o
run weircc -x c -c kernel.txt
fails
mkdir one two
cp a.cu one/same.cu
sed s/_a/_2/g a.cu >two/same.cu
cp a.h one
cp a.h two
run weircc -lib one/same.cu two/same.cu c.c -o libsame.a
ok
ar t libsame.a >out
says 'same.o'
says 'c.o'
nm libsame.a >out
says 'launch_a'
says 'launch_2'
says 'value_c'

# --keep keeps what is between.
mkdir kept
run weircc -c a.cu --keep --keep-dir kept
ok
exists kept/a.ptx kept/a.fatbin
run weircc -c a.cu -v
ok
says '--cuda-device-only'
run weircc -c a.cu -time times.csv
ok
contains times.csv 'clang (device)'
run weircc -c a.cu -o gone.o
run weircc -clean -c a.cu -o gone.o
ok
missing gone.o

run weircc -fdevice-syntax-only a.cu
ok

# Options from a file and from the environment.
echo '-c "with space.cu" -o from_file.o' >opts
run weircc -optf opts
ok
exists from_file.o
run env NVCC_APPEND_FLAGS='-o appended.o' weircc -c a.cu
ok
exists appended.o

# A signal takes the intermediate files away and is passed on.
cat >slow.cu <<'END'
template <int N> struct T { static const int v = T<N - 1>::v + T<N - 2>::v; };
template <> struct T<0> { static const int v = 0; };
template <> struct T<1> { static const int v = 1; };
template <int A, int B> __global__ void many(int *p) { *p += A * B; }
template <int A, int B> struct All {
    static void go(int *p) { many<A, B><<<1, 1>>>(p); All<A - 1, B>::go(p); }
};
template <int B> struct All<0, B> { static void go(int *p) { All<200, B - 1>::go(p); } };
template <> struct All<0, 0> { static void go(int *) {} };
void all(int *p) { All<200, 30>::go(p); }
END
weircc -c slow.cu -ftemplate-depth=9000 >out 2>&1 &
pid=$!
i=0
while [ -z "$(ls -A "$TMPDIR")" ] && [ $i -lt 50 ]; do
    sleep 0.1
    i=$((i + 1))
done
sleep 0.3
command="kill -TERM weircc"
kill -TERM $pid
wait $pid
status=$?
[ "$status" = 143 ]
note $? "ended by status $status, wanted 143 (SIGTERM)"
missing slow.o

# Many at once in one directory.
for i in 1 2 3 4; do
    weircc -c a.cu -o "at_once_$i.o" >"out$i" 2>&1 &
done
wait
exists at_once_1.o at_once_2.o at_once_3.o at_once_4.o
# What clang spends its time on.
run weircc -fdevice-time-trace spent -c a.cu -o traced.o
ok
contains spent.json traceEvents
done_
