# What nvcc's front ends for the host and for the device take each in its own half, and names that they find: the
# program is built, and computes what nvcc's would.
. "$(dirname "$0")/lib.sh"
export WEIR_CACHE_DIR="$scratch/cache"
unset LD_LIBRARY_PATH

. "$(dirname "$0")/computes.sh"

# Builtin variables as values: copied, deduced, returned, chosen among overloads.
cat >a.cu <<'END'
#include "main.h"
#include <type_traits>
struct Size { unsigned x; __device__ Size(dim3 d) : x(d.x + d.y) {} };
struct Point { unsigned x; __device__ Point(uint3 d) : x(d.x + d.y) {} };
struct Shape { dim3 gridDim, blockDim; __host__ __device__ dim3 grid() const { return gridDim; } };
template <typename T> __device__ unsigned sum(T t) { return t.x + 10 * t.y; }
template <typename T> __device__ unsigned copied(const T &t) { T u = t; u.x++; return u.x; }
template <typename T> __device__ bool is_uint3(T) { return std::is_same<T, uint3>::value; }
__device__ int over(uint3) { return 1; }
__device__ int over(dim3) { return 2; }
__device__ Size grid() { return gridDim; }
__device__ Point thread() { return threadIdx; }
__device__ dim3 larger(bool b) { return b ? gridDim : blockDim; }
#define INDEX auto index = threadIdx
__global__ void k(int *p)
{
    INDEX;
    auto t = threadIdx; auto b = ::blockIdx;
    t.x += 5;
    Shape s = {gridDim, blockDim};
    atomicAdd(p, t.x == threadIdx.x + 5 && index.y == threadIdx.y && b.x == blockIdx.x ? 1 : 100);
    atomicAdd(p, sum(
        threadIdx) == threadIdx.x + 10 * threadIdx.y && sum(blockDim) == 43 && sum(gridDim) == 12 ? 1 : 100);
    atomicAdd(p, copied(gridDim) == 3 && copied(blockIdx) == blockIdx.x + 1 ? 1 : 100);
    atomicAdd(p, is_uint3(threadIdx) && is_uint3(blockIdx) && !is_uint3(blockDim) ? 1 : 100);
    atomicAdd(p, over(threadIdx) == 1 && over(gridDim) == 2 ? 1 : 100);
    atomicAdd(p, grid().x == 3 && thread().x == threadIdx.x + threadIdx.y ? 1 : 100);
    atomicAdd(p, larger(true).x == 2 && larger(false).y == 4 && s.grid().x + s.blockDim.y == 6 ? 1 : 100);
}
int main()
{
    int *p;
    cudaMallocManaged(&p, 4);
    dim3 gridDim(2, 1), blockDim(3, 4);
    k<<<gridDim, blockDim>>>(p);
    cudaDeviceSynchronize();
    printf("is %d, %s\n", *p, cudaGetErrorName(cudaGetLastError()));
    return 0;
}
END
computes 168 -std=c++17
computes 168 -std=c++17 --host-frontend=ccbin -ccbin g++

# Members of base classes that depend on parameters; a specialization for the device alone; host code that names what
# the device has where __CUDA_ARCH__ is defined.
cat >a.cu <<'END'
#include "main.h"
#include <cmath>
#include <math_constants.h>
template <int n> struct Base { int e = n; __host__ __device__ int plus(int x) const { return x + e; } };
template <int n> struct Middle : Base<n> { using Base<n>::plus; };
template <int n> struct Last : Middle<n> { int x[n]; __device__ int get() const; };
template <int n> __device__ int Last<n>::get() const { return plus(x[0]) + plus(x[1]); }
template <typename T> inline __host__ __device__ float as_float(T t);
template <> inline __host__ __device__ float as_float(float f) { return f; }
#ifdef __CUDA_ARCH__
template <> inline __device__ float as_float(int i) { return __int2float_rz(i); }
#define INFINITE CUDART_INF_F
#else
#define INFINITE HUGE_VALF
#endif
inline float below(float f) { return nextafterf(f, -INFINITE); }
__global__ void k(int *p)
{
    Last<3> l;
    l.x[0] = *p;
    l.x[1] = -6;
    *p = l.get() + (int)as_float(1) + (int)as_float(.5f) + (INFINITE > 1e30f);
}
MAIN(k)
END
computes 43 -std=c++17
run weircc -std=c++17 -c a.cu
ok
says_not warning
# The same where the host's half has no specifiers at all.
cat >a.cu <<'END'
#include "main.h"
#ifdef __CUDA_ARCH__
#define BOTH __host__ __device__
#else
#define BOTH
#endif
template <typename T> inline BOTH float as_float(T t);
template <> inline BOTH float as_float(float t) { return t; }
#ifdef __CUDA_ARCH__
template <> inline __device__ float as_float(int t) { return __int2float_rz(t); }
#endif
BOTH int twice(int x) { return 2 * x; }
__device__ int thrice(int x) { return 3 * twice(x) / 2; }
__global__ void k(int *p) { *p = twice(*p) - 2 * thrice(14) + (int)as_float(2) + (int)as_float(3.f); }
MAIN(k)
END
computes 3
# A kernel may write to what a constant of its grid has: each thread to its own.
cat >a.cu <<'END'
#include <cstdio>
struct P { mutable int hits; int v[4]; };
__global__ void k(const __grid_constant__ P p, int *out, bool b)
{
    const P *q = &p;
    if (b) q->hits = 3;
    for (int i = 0; i < 4; i++) {
        atomicAdd(out, q->v[(i + threadIdx.x) & 3] + q->hits);
        if (b) ((P *)q)->v[i] = i;
    }
}
int main()
{
    int *p;
    cudaMallocManaged(&p, 4);
    k<<<2, 32>>>({1, {1, 2, 3, 4}}, p, false);
    cudaDeviceSynchronize();
    printf("is %d, %s\n", *p, cudaGetErrorName(cudaGetLastError()));
    return 0;
}
END
computes 896
computes 896 -G

# Kernels use what is declared for the device alone.
cat >a.cu <<'END'
#include "main.h"
#ifdef __CUDA_ARCH__
__device__ float atomicMin(float *p, float v) { float old = *p; *p = v < old ? v : old; return old; }
__device__ int own() { return 2; }
template <typename T> struct Only { using type = T; static const int size = sizeof(T); };
#endif
template <typename T> __global__ void k(T *p)
{
    float least = 40;
    atomicMin(&least, 7.5f);
    typename Only<T>::type more = own();
    *p += (T)least + more + Only<T>::size;
}
MAIN(k)
END
computes 54
# A mistake in code of the host or of the device stays one.
cat >a.cu <<'END'
#include "main.h"
#ifdef __CUDA_ARCH__
__device__ int own() { return 2; }
#endif
__global__ void k(int *p) { *p = own(); }
int f() { return own(); }
MAIN(k)
END
run weircc -c a.cu
fails
says "a.cu:6:18: error: use of undeclared identifier 'own'"
cat >a.cu <<'END'
__device__ int f(int x) { return x; }
inline int g() { return f(3); }
END
run weircc -c a.cu
fails
says "no matching function for call to 'f'"
cat >a.cu <<'END'
void f(int);
template <class T> __device__ T g(T x) { f(x); return x; }
__global__ void k(int *p) { *p = g(3); }
END
run weircc -c a.cu
fails
says "call to __host__ function from __device__ function"
done_
