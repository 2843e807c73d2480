# What device code must not have is said when a program is built, not when it is launched.
. "$(dirname "$0")/lib.sh"

# Instructions that PTX does not have, by the line of the asm statement, in headers and macros too.
cat >asm.h <<'END'
#define FROB(x) asm("frobnicate.u32 %0, 1;" : "=r"(x))
template <class T>
__device__ T twice(T x)
{
    asm("add.f32 %0, %0;" : "+r"(x));
    return x;
}
END
cat >asm.cu <<'END'
#include "asm.h"
__global__ void fine(unsigned *p) { *p = 1; }
__global__ void k(unsigned *p)
{
    unsigned x;
    FROB(x);
    *p = x;
}
END
cat >header.cu <<'END'
#include "asm.h"
__global__ void k(int *p) { *p = twice(*p); }
END
run weircc -c asm.cu
fails
says "asm.cu:6:"
says "error: in the PTX of 'k(unsigned int*)': unknown instruction 'frobnicate' (line "
says '1 error detected in the compilation of "asm.cu"'
missing asm.o
for options in -G -lineinfo -rdc=true -fatbin; do
    run weircc $options -c asm.cu
    fails
    says "asm.cu:6:"
done
run weircc -c header.cu
fails
says "asm.h:5:"
# -ptx writes what there is, as nvcc's does.
run weircc -ptx asm.cu -o asm.ptx
ok
contains asm.ptx frobnicate
# What PTX has and the device has not is refused when it is loaded.
sed 's/frobnicate.u32 %0, 1;/tcgen05.fence::before_thread_sync; mov.u32 %0, 1;/' asm.h >later.h
sed 's/asm.h/later.h/' asm.cu >later.cu
run weircc -arch=sm_90 -c later.cu
ok

# Names that nothing declares, in a template of the device alone that is never instantiated, and in one that is.
cat >template.cu <<'END'
#ifdef __CUDA_ARCH__
template <class T> struct R {
    __device__ static int f(int x) { lor = x; return lor; }
};
#endif
__global__ void k(int *p)
{
#if defined(__CUDA_ARCH__) && defined(USE)
    *p = R<int>::f(*p);
#endif
}
END
run weircc -c template.cu
ok
run weircc -DUSE -c template.cu
fails
says "template.cu:3:38: error: use of undeclared identifier 'lor'"
# So it is with a slip of syntax.
sed 's/lor = x; return lor;/static_assert(sizeof(T) == 4 "four"); return x;/' template.cu >slip.cu
run weircc -c slip.cu
ok
run weircc -DUSE -c slip.cu
fails
says "slip.cu:3:"

# Functions and variables that are defined nowhere.
cat >undefined.cu <<'END'
__device__ int elsewhere(int);
__device__ int not_called(int);
extern __device__ int variable;
__device__ __noinline__ int by_way_of(int n) { return elsewhere(n); }
#ifdef VARIABLE
__global__ void reader(int *p) { *p = variable; }
#else
__global__ void k(int *p) { *p = by_way_of(3); }
__global__ void another(int *p) { *p = elsewhere(4); }
#endif
END
run weircc -c undefined.cu
fails
says "undefined.cu: error: the device function 'elsewhere(int)', which kernel 'k(int*)' uses, is not defined"
says_not not_called
says '1 error detected'
run weircc -DVARIABLE -c undefined.cu
ok
says "undefined.cu: warning: the device variable 'variable', which kernel 'reader(int*)' uses, is extern: without -rdc=true that is taken for its definition"
run weircc -rdc=true -c undefined.cu
ok
says_not error
says_not warning

# Static shared memory: of a kernel and of the functions that it calls, and none that it does not.
cat >shared.cu <<'END'
__device__ __noinline__ float use(int n)
{
    __shared__ float a[SIZE];
    a[n] = n;
    __syncthreads();
    return a[n ^ 1];
}
__global__ void large(float *p)
{
    __shared__ float b[4096];
    b[threadIdx.x] = p[0];
    __syncthreads();
    p[0] = use(threadIdx.x) + b[threadIdx.x ^ 1];
}
__global__ void small(float *p)
{
    __shared__ float c[4096];
    c[threadIdx.x] = p[0];
    __syncthreads();
    p[0] = c[threadIdx.x ^ 1];
}
END
run weircc -DSIZE=8193 -c shared.cu
fails
says "shared.cu: error: kernel 'large(float*)' has 49156 bytes (0xc004) of static shared memory, and there may be 49152 (0xc000)"
says_not small
run weircc -DSIZE=8192 -c shared.cu
ok

# Constant memory: 64 KiB of what is marked __constant__. What is only const is in global memory.
cat >constant.cu <<'END'
static const __device__ int plain[20000] = {1, 2};
namespace { const __device__ int hidden[2] = {1, 2}; }
extern const __device__ int outside[2];
extern const __device__ int outside[2] = {1, 2};
static const __constant__ int marked[2] = {1, 2};
__constant__ float words[SIZE];
__global__ void k(int *p, int i)
{
    static const int local[3] = {1, 2, 3};
    *p = plain[i] + hidden[i] + outside[i] + marked[i] + local[i] + __ldg(&plain[i]);
}
__global__ void another(float *p, int i) { p[i] = words[i]; }
END
for options in -O3 -G -rdc=true; do
    run weircc $options -DSIZE=16382 -ptx constant.cu -o constant.ptx
    ok
    for name in plain hidden outside local; do
        run grep "\.global .*$name[^ ]*\[" constant.ptx
        ok
        run grep "\.const .*$name[^ ]*\[" constant.ptx
        fails
    done
    for name in marked words; do
        run grep "\.const .*$name[^ ]*\[" constant.ptx
        ok
    done
    run weircc $options -DSIZE=16382 -c constant.cu
    ok
    run weircc $options -DSIZE=16383 -c constant.cu
    fails
    says "constant.cu: error: the __constant__ variables of this file have 65540 bytes (0x10004), and there may be 65536 (0x10000)"
done

# Constant expressions and templates that are members, as gcc and nvcc read them in templates.
cat >constexprs.cu <<'END'
#include <vector>
template <class T> struct box {
    static constexpr bool wide = sizeof(T) > 4;
    template <class U> struct rebind { U value; };
    template <int n> __device__ T operator()(T x) const { return x * n; }
    constexpr int count(int n) const
    {
        std::vector<int> v(n);
        return (int)v.size();
    }
    __host__ __device__ auto first(T x) const
    {
        if constexpr (this->wide)
            return x;
        else
            return 1.5f;
    }
};
template <class B, class T> __global__ void both(B b, T *p)
{
    using other = typename B::rebind<short>;
    *p = sizeof(other) + b.first(*p) + b.operator()<3>(*p);
}
void launch(int *p, double *q)
{
    both<<<box<int>().count(1), 1>>>(box<int>(), p);
    both<<<1, 1>>>(box<double>(), q);
}
END
run weircc -std=c++17 -c constexprs.cu
ok
says_not error

# alloca's bytes have the default alignment: clang writes 0, which NVIDIA's assembler and driver refuse.
cat >taken.cu <<'END'
#include <alloca.h>
__global__ void k(int *p, int n)
{
    int *taken = (int *)alloca(n * sizeof(int));
    for (int i = 0; i < n; i++)
        taken[i] = p[i] * i;
    for (int i = 0; i < n; i++)
        p[i] = taken[n - 1 - i];
}
END
for flushes in true false; do
    run weircc -ftz=$flushes -arch=sm_80 -ptx taken.cu -o taken.ptx
    ok
    contains taken.ptx alloca.u64
    run grep -E 'alloca[^,]*,[^,]*,' taken.ptx
    fails
done

done_
