# Kernels that launch kernels: what compiles, what the PTX and the object hold, and what the user is
# told, with the lines of the source.
. "$(dirname "$0")/lib.sh"

cat >forms.cu <<'END'
#include <cstdio>
#define LAUNCH(kernel, ...) kernel<<<__VA_ARGS__>>>
struct pair { int a; double b; };
__global__ void plain(int *p) { *p += 1; }
__global__ void empty() {}
static __global__ void own(pair s, int *p) { *p += s.a; }
namespace { __global__ void hidden(int *p) { *p = 4; } }
namespace outer { namespace inner { __global__ void far(int *p) { *p = 5; } } }
template <class T> __global__ void __launch_bounds__(128, 2) typed(T *p, T v) { *p += v; }
template <int N, class T> __global__ void sized(T *p) { *p += N; }
__global__ void overloaded(int *p) { *p = 1; }
__global__ void overloaded(float *p) { *p = 2; }
template <class F> __global__ void run(F f) { f(); }
extern __global__ void elsewhere(int *p, pair s);
extern "C" __global__ void unmangled(int *p) { *p = 6; }
__device__ void (*pointer)(int *) = plain;
__device__ void helper(int *p) { plain<<<1, 2>>>(p); typed<<<1, 3>>>(p, 4); pointer<<<5, 6>>>(p); }
__host__ __device__ void both(int *p) { plain<<<1, 1>>>(p); typed<<<1, 2>>>(p, 3); }
struct object {
    int *p;
    __device__ void launch() const { int *q = p; run<<<1, 1>>>([q] { *q = 7; }); }
};
__global__ void recursive(int depth, int *p)
{
    *p = depth;
    if (depth > 0)
        recursive<<<1, 1>>>(depth - 1, p);
}
__global__ void parent(int *p)
{
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    void (*k)(int *) = threadIdx.x ? plain : hidden;
    LAUNCH(empty, {1, 2}, {3}, 3)();
    own<<<dim3(2, 2), 3, 0, s>>>({1, 2}, p);
    outer::inner::far<<<1, 1, 0, cudaStreamTailLaunch>>>(p);
    sized<3><<<(4 + 4) >> 3, 1 << 5, 0, cudaStreamFireAndForget>>>(p);
    overloaded<<<1, 1>>>((float *)p);
    elsewhere<<<1, 1>>>(p, {1, 2});
    k<<<1, 1>>>(p);
    object{p}.launch();
    unmangled
        <<<1,
           1>>>(
            p);
    cudaStreamDestroy(s);
}
int main()
{
    int *p;
    cudaMalloc(&p, 4);
    parent<<<1, 2>>>(p);
    own<<<1, 1>>>(pair{1, 2}, p);
    run<<<1, 1>>>([=] __device__ { helper(p); });
    both(p);
    recursive<<<1, 1>>>(3, p);
    return cudaDeviceSynchronize();
}
END
run weircc -ptx -rdc=true forms.cu -Xcompiler -Wall,-Wextra -Werror all-warnings
ok
says_not warning
# Each launch sets a configuration, and its kernel is an entry that is called.
configurations=$(grep -c '^[[:space:]]*__weir_launch_configure,' forms.ptx)
[ "$configurations" -ge 15 ]
note $? "$configurations configurations"
tr -d '\n\t ' <forms.ptx >flat
for kernel in _Z5plainPi _Z5emptyv _ZN5outer5inner3farEPi _Z5typedIiEvPT_S0_ _Z5sizedILi3EiEvPT0_ \
    _Z10overloadedPf _Z9elsewherePi4pair _Z9recursiveiPi unmangled; do
    contains flat "call.uni$kernel,"
done
contains forms.ptx '.extern .func _Z9elsewherePi4pair'
contains forms.ptx '.callprototype'
grep -q '\.loc[[:space:]]\|__weir_static_kernel\|debug_loc' forms.ptx
[ $? = 1 ]
note $? "forms.ptx holds what was only for weircc"
run weircc -lineinfo -ptx -rdc=true forms.cu -o lines.ptx
ok
contains lines.ptx '.loc'

# Static kernels have the names by which the host side registers them.
run weircc -c -rdc=true forms.cu -o forms.o -Xcompiler -Wall -Werror all-warnings
ok
says_not warning
# In the form for GPUs a kernel of another file is declared as one: their linker takes no function for it.
contains forms.o '.extern .entry _Z9elsewherePi4pair'
run weircc -ptx -rdc=true forms.cu -o forms.o
run mv forms.o names.ptx
run weircc -c -rdc=true forms.cu -o forms.o
ok
names=$(sed -n 's/^\.visible \.entry \(_Z[A-Za-z0-9_]*__intern__[0-9a-f]*\)(.*/\1/p' names.ptx)
contains names.ptx '.visible .entry _ZL3own4pairPi__intern__'
contains names.ptx '.visible .entry _ZN12_GLOBAL__N_16hiddenEPi__intern__'
contains names.ptx '.visible .entry _Z3runIZ4mainEUlvE_EvT___intern__'
for name in $(strings forms.o | grep '^_Z.*__intern__'); do
    echo "$names" | grep -qx "$name"
    note $? "the PTX has no $name"
done
run weircc -rdc=true -MD -c forms.cu -o forms.o
ok
contains forms.d 'forms.cu'

# Two files, in the guide's two stages and in one; both name a static kernel alike.
cat >other.cu <<'END'
struct pair { int a; double b; };
static __global__ void own(pair s, int *p) { *p = s.a; }
__global__ void elsewhere(int *p, pair s) { own<<<1, 1>>>(s, p); }
void launch(int *p) { own<<<1, 1>>>(pair{1, 2}, p); }
END
run weircc -arch=sm_35 -Wno-deprecated-gpu-targets -dc forms.cu other.cu
ok
run weircc -arch=sm_35 -Wno-deprecated-gpu-targets -dlink forms.o other.o -o dlink.o -lcudadevrt
ok
if [ -e "$build/lib/libcudart_static.a" ]; then
    run g++ dlink.o forms.o other.o -L"$build/lib" -lcudadevrt -lcudart_static -ldl -lrt -lpthread -o staged
    ok
    run weircc -arch=sm_35 -rdc=true forms.cu other.cu -o direct -lcudadevrt
    ok
fi

# A header with kernels and launches, in two files, one of which includes it twice; a kernel that one
# file only declares, static ones of the same name, and the same instance of a template in both.
cat >both.cuh <<'END'
#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)
#ifndef PART
#define PART first
#endif
static __global__ void PART(int *p) { atomicAdd(p, 1); }
static __device__ void CAT(launch_, PART)(int *p)
{
    PART
    <<<1,
       1>>>(p);
}
#ifndef BOTH_CUH
#define BOTH_CUH
template <class T> __global__ void shared_one(T *p, int depth)
{
    atomicAdd(p, 10);
    if (depth > 0)
        shared_one<<<1, 1>>>(p, depth - 1);
}
inline __device__ void launch_inline(int *p) { shared_one<int><<<1, 2>>>(p, 1); }
__global__ void away(int *p, char c, double d);
#endif
#undef PART
#undef CAT
#undef CAT2
END
cat >one.cu <<'END'
#include <cstdio>
#include "both.cuh"
#define PART second
#include "both.cuh"
extern __global__ void of_two(int *p);
__global__ void of_one(int *p)
{
    launch_first(p);
    launch_second(p);
    launch_inline(p);
    away<<<1, 1>>>(p, 'c', 0.5);
    of_two<<<1, 1>>>(p);
}
int main()
{
    int *p, got = 0;
    cudaMalloc(&p, 4);
    cudaMemset(p, 0, 4);
    of_one<<<1, 1>>>(p);
    cudaError_t code = cudaMemcpy(&got, p, 4, cudaMemcpyDefault);
    printf("%s %d\n", cudaGetErrorName(code), got);
    return code;
}
END
cat >two.cu <<'END'
#include "both.cuh"
__global__ void away(int *p, char c, double d) { atomicAdd(p, c == 'c' && d == 0.5 ? 100 : 5000); }
__global__ void of_two(int *p)
{
    launch_first(p);
    launch_inline(p);
    shared_one<<<1, 1>>>(p, 2);
    away<<<1, 2>>>(p, 'c', 0.5);
}
END
run weircc -rdc=true one.cu two.cu -o headers -lcudadevrt
ok
unset LD_LIBRARY_PATH
WEIR_CACHE_DIR=$PWD/cache
export WEIR_CACHE_DIR
run ./headers
ok
says "cudaSuccess 413"

# Without -rdc=true a launch from device code is an error, at its location in the source.
cat >cdp.cu <<'END'
__global__ void child() {}
__global__ void parent() { child<<<1, 1>>>(); }
__device__ void (*pointer)();
__global__ void other() { pointer<<<1, 1>>>(); }
END
run weircc -c cdp.cu
fails
says "cdp.cu:2:28: error: kernel 'child' is launched from device code, which requires separate compilation (-rdc=true)"
says "error: kernel launches from device code require separate compilation (-rdc=true)"
run weircc -c cdp.cu -rdc=true
ok

# Mistakes in files with launches are told with the lines of the source.
cat >mistakes.cu <<'END'
__global__ void child(int *p) {}
__global__ void parent(int *p)
{
    child
        <<<1,
           1>>>(
            p);
    child<<<1, 1>>>(p, 2);
    child<<<1, missing>>>(p);
    child<<<1>>>(p);
    cudaStreamSynchronize(0);
    cudaSetDevice(0);
}
END
run weircc -c mistakes.cu -rdc=true
fails
says "mistakes.cu:8:"
says "no matching function for call to 'child'"
says "mistakes.cu:9:"
says "undeclared identifier 'missing'"
says "mistakes.cu:10:"
says "mistakes.cu:11:5: error: reference to __host__ function 'cudaStreamSynchronize'"
says "mistakes.cu:12:5: error: reference to __host__ function 'cudaSetDevice'"
says_not "__global__ function from"
# ... and as the user wrote them, at the columns there, in colours, too.
says "mistakes.cu:8:5: error: no matching function"
says "    8 |     child<<<1, 1>>>(p, 2);"
says "mistakes.cu:9:16: error: use of undeclared identifier 'missing'"
says "mistakes.cu:10:10: error: the configuration of the launch does not fit: <<<dim3 grid, "
says "mistakes.cu:1:17: note: candidate function not viable"
says_not "__asm__"
says_not "nvptx_kernel"
# On a terminal, messages are coloured.
if command -v script >/dev/null; then
    run script -qec 'weircc -c cdp.cu -rdc=true' /dev/null
    ok
    run script -qec 'weircc -c mistakes.cu -rdc=true' /dev/null
    fails
    says "    8 |     child<<<1, 1>>>(p, 2);"
fi
# Launches written in macros are told at their use, however many there are in the lines below.
cat >macros.cu <<'END'
#define ONE(k, c, ...) k<<<c>>>(__VA_ARGS__)
#define BOTH dim3(2, 1), dim3(3)
__global__ void child(int at, int *value) {}
__global__ void parent(int *p)
{
    ONE(child, (2), 51, p);
    child<<<BOTH>>>(52, p);
    ONE(child, BOTH, 53, p, 1);
    child<<<"2", 1>>>(54, p);
    ONE(childish, BOTH, 55, p);
    child<<<BOTH>>>(p, 56);
    child<<<BOTH>>>(57, p);
}
END
run weircc -c macros.cu -rdc=true
fails
says "macros.cu:6:5: error: the configuration of the launch does not fit"
says "    6 |     ONE(child, (2), 51, p);"
says_not "macros.cu:7:"
says "macros.cu:8:9: error: no matching function for call to 'child'"
says "macros.cu:9:10: error: the configuration of the launch does not fit"
says "macros.cu:10:9: error: use of undeclared identifier 'childish'"
says "macros.cu:11:5: error: no matching function for call to 'child'"
says_not "macros.cu:12:"
says_not "__weir_launch"
# A call without a configuration is not taken for a launch.
cat >unconfigured.cu <<'END'
__global__ void child() {}
__global__ void parent() { child<<<1, 1>>>(); child(); }
END
run weircc -c unconfigured.cu -rdc=true
fails
says "unconfigured.cu:2:"
says "call to __global__ function from __global__ function"

# Waiting for children in device code: where the field still has it.
cat >wait.cu <<'END'
__global__ void child() {}
__global__ void parent()
{
    child<<<1, 1>>>();
    cudaDeviceSynchronize();
}
END
run weircc -c wait.cu -rdc=true
fails
says "wait.cu:5:5: error: cudaDeviceSynchronize() in device code requires -DCUDA_FORCE_CDP1_IF_SUPPORTED"
run weircc -c wait.cu -rdc=true -DCUDA_FORCE_CDP1_IF_SUPPORTED
ok
run weircc -c wait.cu -rdc=true -DCUDA_FORCE_CDP1_IF_SUPPORTED -gencode arch=compute_80,code=sm_80 \
    -gencode arch=compute_90,code=sm_90
fails
says "architecture below sm_90"
printf '__global__ void kernel() { cudaDeviceSynchronize(); }\n' >alone.cu
run weircc -c alone.cu
fails
says "alone.cu:1:28: error: cudaDeviceSynchronize() in device code requires"
run weircc -c wait.cu -rdc=true -arch=sm_35 -Wno-deprecated-gpu-targets
ok
says_not warning

# Pointers that a child grid cannot use.
cat >private.cu <<'END'
__global__ void child(int *p) { *p += 1; }
__device__ int global_value;
__global__ void parent(int *p)
{
    __shared__ int tile[32];
    int local[4] = {*p, 1, 2, 3};
    child<<<1, 1>>>(p);
    child<<<1, 1>>>(&global_value);
    child<<<1, 1>>>(tile + threadIdx.x);
    child<<<1, 1>>>(local);
    *p = local[1];
}
END
run weircc -c private.cu -rdc=true
ok
says "private.cu:9:"
says "warning: a pointer to shared memory is passed to the launch of a kernel, 'child' (argument 1)"
says "private.cu:10:"
says "warning: a pointer to local memory is passed to the launch of a kernel, 'child' (argument 1)"
says_not "private.cu:7:"
says_not "private.cu:8:"
run weircc -c private.cu -rdc=true -w
ok
says_not warning
run weircc -c private.cu -rdc=true -Werror all-warnings
fails
says "private.cu:9:"
says "error: a pointer to shared memory"
done_
