/* The language around kernels: attributes, managed and constant variables, lambdas, constexpr
 * functions, virtual functions, printf, assert, new and malloc on the device, built-in variables as
 * values, and the programs' tests of compiler macros. Compiled only. */
#include <algorithm>
#include <array>
#include <cassert>
#include <complex>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#ifndef __CUDACC__
#error "__CUDACC__"
#endif
#if __CUDACC_VER_MAJOR__ < 13 || !defined(__NVCC__) || CUDART_VERSION < 13000
#error "versions"
#endif

__managed__ int managed = 3;
__managed__ float managed_array[16];
__constant__ float table[4] = {1, 2, 3, 4};
__device__ int counter;
extern __shared__ int dynamic_shared[];

constexpr int square(int x) { return x * x; }
/* gcc, whose word nvcc takes, knows logarithms as constants; in kernels they are computed. */
__device__ constexpr float per_decade() { return 1.f / ::log(10.f); }
__global__ void decades(float *x) { *x *= per_decade(); }

struct shape {
    __host__ __device__ virtual ~shape() {}
    __host__ __device__ virtual float area() const = 0;
};
struct box : shape {
    float a, b;
    __host__ __device__ box(float x, float y) : a(x), b(y) {}
    __host__ __device__ float area() const override { return a * b; }
};

__host__ __device__ float both(float x)
{
#ifdef __CUDA_ARCH__
    return __fdividef(x, 2.0f);
#else
    return x / 2;
#endif
}

struct big {
    int v[256];
};

__global__ void __launch_bounds__(256, 2) bounded(int *p) { p[threadIdx.x] = square(blockIdx.x); }
__global__ void limited(int *p) __launch_bounds__(128);
__global__ void limited(int *p) { p[0] = dynamic_shared[threadIdx.x]; }
__global__ void by_value(const __grid_constant__ big b, int *p) { *p = b.v[threadIdx.x]; }

template <typename F> __global__ void apply(F f, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        f(i);
}
template <typename... T> __global__ void variadic(int *p, T... v) { *p = (0 + ... + (int)v); }

__global__ void system_calls(int *p, char *text)
{
    printf("thread %d of %u: %s %f\n", (int)threadIdx.x, blockDim.x, text, 1.5);
    assert(p != nullptr);
    int *m = (int *)malloc(64);
    m[0] = 1;
    free(m);
    int *n = new int[4];
    delete[] n;
    shape *s = new box(1, 2);
    p[0] = (int)s->area();
    delete s;
    memset(p, 0, 16);
    memcpy(p, text, 16);
    box placed = box(1, 2);
    new (&placed) box(3, 4);
}

__global__ void variables(int *p, uint3 *out, dim3 *extents)
{
    uint3 i = threadIdx, b = blockIdx;
    dim3 d = blockDim, g = gridDim;
    out[0] = i;
    out[1] = b;
    extents[0] = d;
    extents[1] = g;
    p[0] = warpSize + managed + (int)table[threadIdx.x] + counter + (int)managed_array[0];
    managed = 4;
    float4 v = make_float4(1, 2, 3, 4);
    int2 w = make_int2(p[1], p[2]);
    p[3] = (int)v.x + w.y + (int)both(v.z);
}

__global__ void standard_library(float *p, int *q)
{
    p[0] = std::numeric_limits<float>::max() + std::min(p[1], p[2]);
    std::pair<int, int> pair(1, 2);
    std::array<int, 4> a = {1, 2, 3, 4};
    std::tuple<int, float> t(1, 2.0f);
    int x = 1, y = q[3];
    q[0] = pair.first + a[2] + std::get<0>(t) + std::max({1, 2, 3}) + x + std::clamp(y, 1, 3);
    std::complex<float> c(1, 2), e = c * std::complex<float>(p[3], 1);
    p[4] = e.real() + std::abs(e);
    auto f = [=](int n) { return n + q[1]; };
    q[2] = f(3);
}

typedef float (*operation)(float);
__device__ float twice(float x) { return 2 * x; }
__device__ operation chosen = twice;
__global__ void pointers(float *p, operation f) { *p = f(chosen(*p)); }

/* Declared with an ellipsis, as the last of overloads to choose from. */
template <class T> __device__ constexpr std::true_type has_size(decltype(sizeof(T)) *);
template <class T> __device__ constexpr std::false_type has_size(...) { return {}; }
__global__ void overloads(int *p) { *p = has_size<void>(nullptr) ? 1 : 2; }

int main()
{
    int *p = nullptr;
    cudaStream_t stream = nullptr;
    bounded<<<1, 2>>>(p);
    limited<<<dim3(1, 2), dim3(3), 256, stream>>>(p);
    by_value<<<1, 1>>>(big(), p);
    apply<<<1, 32>>>([=] __device__(int i) { p[i] = i; }, 32);
    apply<<<1, 32>>>([=] __host__ __device__(int i) { p[i] = square(i); }, 32);
    variadic<<<1, 1>>>(p, 1, 2.0f, 3.0);
    managed = 5;
    return managed_array[0] > 0 ? square(2) : (int)both(1);
}
