# Bad input: each mistake gets a message that names it, and no output.
. "$(dirname "$0")/lib.sh"

bad() { # bad TEXT ARGS...: an error that says TEXT
    text=$1
    shift
    run weircc "$@"
    fails
    says "$text"
}

bad "No input files"
bad "Unknown option '--foo'" --foo a.cu
bad "Unknown option '-fPIC'" -fPIC a.cu
bad "Cannot read 'missing.cu': No such file" missing.cu
bad "Cannot read 'missing.o': No such file" a.cu missing.o
mkdir directory.cu
bad "it is a directory" -c directory.cu
bad "Don't know what to do with 'a.foo'" a.foo
bad "argument expected after '-o'" a.cu -o
bad "no argument expected after '--keep'" a.cu --keep=true
bad "expected true or false" -rdc=maybe a.cu
bad "expected a number" -O=fast a.cu
bad "Value 'c++33' is not defined for option 'std'" -std=c++33 a.cu
bad "Value 'foo' is not defined for option 'Werror'" -Werror=foo a.cu
bad "Unsupported gpu architecture 'sm_1000'" -arch=sm_1000 a.cu
bad "-arch option not specified" -code=sm_80 a.cu
bad "not supported" -sanitize=memcheck a.cu
bad "A single input file is required" -c a.cu b.cpp -o x.o
bad "is the input file" -c a.cu -o a.cu
exists a.cu
: >m.cubin
bad "machine code of a GPU" m.cubin
echo '.version 8.5' >a.ptx
bad ".ptx files are only allowed with" -c a.ptx
bad "a.ptx:2: error: the module has no .target" -fatbin a.ptx
missing a.fatbin
echo '"open' >opts
bad "is not closed" -optf opts
bad "missing.opt" -optf missing.opt
bad "'no-such-compiler' not found (-ccbin)" -ccbin no-such-compiler a.cu
bad "no directory for intermediate files" -c a.cu --keep-dir nowhere
bad "nowhere/x.o" -c a.cu -o nowhere/x.o
bad "nowhere/x.d" -c b.cpp -MD -MF nowhere/x.d
run env TMPDIR=/nonexistent weircc -c a.cu
fails
says "/nonexistent"

# Messages point at the user's own lines, each once, and say nothing of intermediate files.
cat >wrong.cu <<'END'
__global__ void k(int *p)
{
    int unused_here;
    *p = not_declared;
}
int main() { return 0; }
END
run weircc -c wrong.cu
fails
says "wrong.cu:4:10: error: use of undeclared identifier 'not_declared'"
says '1 error detected in the compilation of "wrong.cu"'
says_not "$TMPDIR"
missing wrong.o
sed -i 's/not_declared/1/' wrong.cu
run weircc -c wrong.cu -Xcompiler -Wall
ok
says "wrong.cu:3:9: warning: unused variable"
[ "$(grep -c 'unused variable' out)" = 1 ]
note $? "the warning comes twice"
run weircc -c wrong.cu -Xcompiler -Wall -w
ok
says_not warning
run weircc -c wrong.cu -Xcompiler -Wall -Werror all-warnings
fails
# What is meant for gcc does not make errors of what clang warns of, in device code, too.
run weircc -c wrong.cu -Xcompiler -Wall,-Werror,-Werror=unused-variable
ok
says "wrong.cu:3:9: warning: unused variable"
printf '__device__ int f(int x) { if (x) return 1; }\n' >falls.cu
run weircc -c falls.cu -Xcompiler=-Werror=return-type,-Wall
ok
says 'warning: non-void function does not return'
printf 'int main() { int unused = 1; }\n' >wrong.cpp
run weircc -c wrong.cpp -Xcompiler -Wall,-Werror
fails

# -D and -U hold in the order given; what both passes warn of is told once.
printf '#ifdef FOO\nint foo[FOO];\n#else\nint none;\n#endif\nint main() {}\n' >macros.cu
for options in '-UFOO -DFOO=3' '-DFOO=2 -UFOO -DFOO=3'; do
    # shellcheck disable=SC2086
    run weircc $options -E macros.cu
    says 'foo[3]'
    says_not warning
done
run weircc -DFOO=3 -UFOO -E macros.cu
says 'int none'
run weircc -DFOO=2 -DFOO=3 -c macros.cu
ok
[ "$(grep -c "'FOO' macro redefined" out)" = 1 ]
note $? "the warning comes twice"

# Names that PTX does not allow are refused with their lines, as by nvcc; host code may have them.
cat >names.cu <<'END'
__device__ int zähler = 3;
__global__ void größe(int *p) { *p = 40 + zähler; }
template <typename T> __global__ void größer(T *p) { *p += 1; }
int größe_des_wirts(int *p) { größe<<<1, 1>>>(p); größer<<<1, 1>>>(p); return 0; }
END
run weircc -c names.cu
fails
says "names.cu:1:16: error: the name 'zähler' has a character that is not ASCII"
says "names.cu:2:17: error: the name 'größe' has"
says "names.cu:3:39: error: the name 'größer' has"
says '3 errors detected'
says_not 'stack'
sed 's/zähler/counter/g; s/größe\([(r<]\)/size\1/g' names.cu >host_names.cu
run weircc -c host_names.cu
ok

# What is only there from some architecture on is missed by its name, which says too little.
cat >later.cu <<'END'
__global__ void k(double *p, int *q)
{
    atomicAdd(p, 1.0);
    q[0] = __dp4a(q[1], q[2], q[3]);
    q[1] = __reduce_add_sync(~0u, q[2]);
    __nanosleep(3);
    q[2] = not_anywhere;
}
END
run weircc -arch=sm_52 -c later.cu
fails
says "later.cu:3:5: error: no matching function for call to 'atomicAdd' (of double it needs -arch=sm_60 or newer; this is for sm_52)"
says "later.cu:4:12: error: use of undeclared identifier '__dp4a' (it needs -arch=sm_61 or newer; this is for sm_52)"
says "'__reduce_add_sync' (it needs -arch=sm_80 or newer"
says "'__nanosleep' (it needs -arch=sm_70 or newer"
run weircc -arch=sm_75 -c later.cu
fails
says "'__reduce_add_sync' (it needs -arch=sm_80 or newer; this is for sm_75)"
says "undeclared identifier 'not_anywhere'"
says_not "sm_60"
says_not "'not_anywhere' ("

# cuRAND's host API is declared, for compiling; the library is not here, which linking says by name.
cat >random.c <<'END'
#include <curand.h>
int main(void)
{
    curandGenerator_t g;
    return curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT) != CURAND_STATUS_SUCCESS;
}
END
run weircc -c random.c
ok
run weircc random.o -o random
fails
says "curandCreateGenerator"

# Only host code is wrong.
printf '__global__ void k() {}\nint main() { return missing_name; }\n' >host.cu
run weircc -c host.cu
fails
says "host.cu:2:21: error"

# Slips in asm statements that nvcc overlooks are mended, in whatever macro they stand.
cat >slips.cu <<'END'
#include "a.h"
#define REG "%clock"
__global__ void k(unsigned *p, unsigned long long *q)
{
    unsigned s;
    asm volatile("mov.u32 %0, %smid;" : "=r"(s));
    asm volatile("mov.u32 %0, " REG ";" : "=r"(p[1]));
    asm volatile("mov.u32 %0, %" /* in the next string */
                 "nsmid" ";" : "=r"(p[2]));
    asm volatile("st.global.u32 [%1], %0;" ::"r"(s) "l"(p) : "memory");
    int unused_here;
}
int main() { return SCALE - 2; }
END
run weircc -c slips.cu -DSCALE=2 -Xcompiler -Wall -MMD
ok
says "slips.cu:11:9: warning: unused variable"
says_not error
contains slips.d 'a.h'
run weircc -ptx slips.cu -o slips.ptx
contains slips.ptx '%smid'
contains slips.ptx '%clock'
contains slips.ptx '%nsmid'
# The number of an operand that there is not is a mistake only where it is compiled.
cat >operands.cu <<'END'
template <int N> __device__ void f(int *p) { asm("add.s32 %0, %0, %8;" : "+r"(*p) : "r"(N)); }
__global__ void k(int *p)
{
    asm("mov.b32 %0, %1;" : "=r"(p[0]) : "r"(p[1]) : "memory");
#ifdef USED
    f<1>(p);
#endif
}
END
run weircc -c operands.cu
ok
run weircc -c operands.cu -DUSED
fails
says "operands.cu:1:"
says "no_operand_8"
# A mistake that is none of these is shown as it stands in the source.
sed 's/unsigned s;/unsigned s = (SCALE;/' slips.cu >paren.cu
run weircc -c paren.cu
fails
says "paren.cu:5:"
says "unsigned s = (SCALE;"
# With other mistakes beside them, those alone are told, at the user's own lines and columns.
cat >beside.cu <<'END'
#define ADD(a, b) ((a) + (b))
__device__ unsigned f()
{
    unsigned r;
    asm("{.reg .u32 %t; mov.u32 %t, 7; mov.u32 %0, %t;}" : "=r"(r));
	asm("mov.u32 %0, %smid;" : "=r"(r)); r = typo;
    return ADD(r, 1);
}
__global__ void k(unsigned *p) { *p = f(); }
int main()
{
    unsigned *p;
    k << <1, 1>> >(p, lost); k << <1, 1>> >(p); return ADD(1, absent);
}
END
run weircc -c beside.cu
fails
says "beside.cu:6:43: error: use of undeclared identifier 'typo'"
says "beside.cu:13:23: error: use of undeclared identifier 'lost'"
says "    k << <1, 1>> >(p, lost); k << <1, 1>> >(p); return ADD(1, absent);"
says "beside.cu:13:63: error: use of undeclared identifier 'absent'"
says '3 errors detected'

# A list of doubles for integers is a warning, as with nvcc.
printf '__global__ void k(int *p) { int x[2] = {0.0, 3.0}; *p = x[*p]; }\nint main() { int y[1] = {2.0}; return y[0]; }\n' \
    >narrow.cu
run weircc -c narrow.cu
ok
says "narrow.cu:1:41: warning: type 'double' cannot be narrowed to 'int'"

# What CUDA 13 calls with other arguments names the option that has the earlier ones.
cat >earlier.cu <<'END'
int main()
{
    int *p;
    cudaMallocManaged(&p, 4);
    cudaMemAdvise(p, 4, cudaMemAdviseSetReadMostly, 0);
    cudaMemPrefetchAsync(p, 4, 0, 0);
    cudaDeviceProp q;
    return q.clockRate;
}
END
run weircc -c earlier.cu
fails
says "earlier.cu:5:5: error: no matching function for call to 'cudaMemAdvise' (with the parameters of CUDA 12 it is there by --legacy-api)"
says "'cudaMemPrefetchAsync' (with the parameters"
says "'clockRate' in 'cudaDeviceProp' (CUDA 13 has it no more; it is there by --legacy-api)"
run weircc --legacy-api -c earlier.cu
ok

# Static functions may have names that clang has for its own.
cat >own_names.cu <<'END'
static unsigned long inline __rdtsc() { return 7; }
__global__ void k() {}
int main() { return __rdtsc() == 7 ? 0 : 1; }
END
run weircc -cudart none -c own_names.cu
ok

# Shuffles without a mask, of which newer targets have no instruction, are refused by line and name.
cat >shuffles.cu <<'END'
template <class T> __device__ T sum(T x)
{
    x += __shfl_down(x, 1);
    return x + __shfl_xor(x, 2) + __shfl_up(x, 3) + __shfl(x, 4);
}
__global__ void k(int *p) { *p = sum(*p); }
int main() {}
END
run weircc -arch=sm_70 -c shuffles.cu
fails
says "shuffles.cu:3:10: error: '__shfl_down<int>' is unavailable"
for name in __shfl_xor __shfl_up __shfl; do
    says "error: '$name<int>' is unavailable: sm_70 and later have no shuffle without a mask: call ${name}_sync"
done
says_not 'Cannot select'
run weircc -arch=sm_60 -c shuffles.cu
ok
run weircc -arch=sm_90 --legacy-api -c shuffles.cu
ok

# Functions whose declaration and definition do not both have a specifier (conformance.kernels.specifiers
# runs such). What no specifier cures is shown as it stands in the source.
cat >specifiers.cu <<'END'
struct box {
    int get(int) const;
    void set(int);
};
__device__ int box::get(int n) const { return n; }
__device__ void box::set(float n) {}
__global__ void k(int *p) { *p = box().get(1); }
END
run weircc -c specifiers.cu
fails
says "specifiers.cu:6:22: error: out-of-line definition of 'set' does not match"
says "__device__ void box::set(float n) {}"
sed 's/float n/int n/' specifiers.cu >cured.cu
run weircc -c cured.cu
ok
says_not error

# The word template left out, which nvcc misses in device code only when it cannot do without.
cat >templates.cu <<'END'
template <class D, class S> struct convert {
    template <int n> __device__ static void all(D *to, const S *from) { to[n] = (D)from[n]; }
    template <int n> __device__ D one(S from) const { return (D)from; }
};
template <> struct convert<float, int> {
    template <unsigned long n> __device__ static void all(float *to, const int *from)
    {
        for (unsigned long i = 0; i < n; i++)
            to[i] = (float)from[i];
    }
    template <int n> __device__ float one(int from) const { return (float)from; }
};
template <class D, class S, unsigned long n> __device__ void run(D *to, const S *from)
{
    convert<D, S> c;
    convert<D, S>::all<n>(to, from);
    to[n] = c.one<n>(from[0]);
}
__global__ void k(float *to, const int *from) { run<float, int, 4>(to, from); }
int main() { return 0; }
END
run weircc -c templates.cu
ok
says_not error

# Shared variables whose type has a constructor or a destructor: nvcc runs neither.
cat >shared.cu <<'END'
struct phase {
    int n;
    __device__ phase() : n(7) {}
    __device__ ~phase() { n = 0; }
};
template <typename T> __global__ void k(int *out)
{
    __shared__ phase one;
    static __shared__ T several[2];
    if (threadIdx.x == 0)
        one.n = several[1].n = 1;
    __syncthreads();
    out[threadIdx.x] = one.n + several[1].n + sizeof several / sizeof *several;
}
template __global__ void k<phase>(int *);
int main() {}
END
run weircc -c shared.cu
ok
says_not error

# alignas after other attributes, of types with and without members, in templates and classes' heads.
cat >alignas.cu <<'END'
struct __align__(8) alignas(16) plain { int n; };
template <typename T> struct pair { T first, second; };
extern __shared__ alignas(16) float4 rest[];
static __shared__ alignas(32) pair<float> pairs[4];
template <typename T> __global__ void k(T *out, float4 *from)
{
    __shared__ alignas(16) float4 tile[256];
    __shared__ alignas(16) unsigned char bytes[16];
    __shared__ static alignas(64) volatile T several[2];
    __shared__ alignas(8) alignas(16) plain one;
    tile[threadIdx.x] = from[threadIdx.x];
    rest[threadIdx.x] = tile[threadIdx.x ^ 1];
    bytes[threadIdx.x] = pairs[1].second;
    out[threadIdx.x] = several[1] + one.n + bytes[1] + rest[0].x;
}
template __global__ void k<int>(int *, float4 *);
int main() { return sizeof(plain) - 16; }
END
run weircc -arch=sm_80 -c alignas.cu
ok
says_not error
run weircc -arch=sm_80 -ptx alignas.cu -o alignas.ptx
ok
for variable in '.extern .shared .align 16 .b8 rest[]' \
    '.shared .align 16 .b8 _ZZ1kIiEvPT_P6float4E4tile' 'align 64 .b8 _ZZ1kIiEvPT_P6float4E7several'; do
    contains alignas.ptx "$variable"
done

# Launches with blanks in their brackets.
cat >blanks.cu <<'END'
#define LAUNCH(k) k << < 1, 1 >> > (p)
__global__ void other(int *p) { *p = 4 >> 1; }
__global__ void k(int *p) { *p = 3; }
void f(int *p)
{
    k << < 1, 1 >> > (p);
    LAUNCH(other);
    k<<< dim3(1), 1 >> >(p);
}
__global__ void parent(int *p)
{
#ifdef NESTED
    k << < 1, 1 >> > (p);
#endif
}
END
run weircc -c blanks.cu -Xcompiler -Wall
ok
run weircc -rdc=true -DNESTED -c blanks.cu
ok

# A macro may stand for a line of #pragma.
cat >pragmas.cu <<'END'
#define UNROLL #pragma unroll
__global__ void fill(int *out)
{
    UNROLL
    for (int i = 0; i < 4; i++)
        out[i] = i;
}
END
run weircc -c pragmas.cu
ok

# Device code may use deduction guides, which name no side.
cat >guides.cu <<'END'
template <class T> struct box {
    T *p;
    template <class U> __host__ __device__ box(U *q, int n) : p((T *)q + n) {}
};
template <class U> box(U *, int) -> box<U>;
__global__ void fill(int *out)
{
    box b(out, 1);
    *b.p = 3;
}
END
run weircc -std=c++17 -c guides.cu
ok

# The exit status of what failed comes through, and warnings of our own can be switched off.
run weircc -c a.cu -arch=sm_35
ok
says "clang generates no code for 'sm_35'"
run weircc -c a.cu -arch=sm_35 -Wno-deprecated-gpu-targets
ok
says_not "sm_35"
printf 'int main() { return 7; }\n' >seven.cpp
run weircc -cudart none -run seven.cpp -o seven
[ "$status" = 7 ]
note $? "status $status, wanted the program's 7"
run weircc -run seven
[ "$status" = 7 ]
note $? "status $status, wanted the program's 7"
printf 'int other();\nint main() { return other(); }\n' >undefined.cpp
run weircc -cudart none undefined.cpp
fails
says "undefined reference to"
done_
