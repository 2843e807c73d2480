// One step of heat in a square plate: each inner point and its four neighbours.
#include "harness.h"

extern "C" __global__ void stencil(const float *in, float *out, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
        return;
    int i = y * n + x;
    out[i] = 0.6f * in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
}

BENCH_KERNEL(stencil);

template <class I, int N>
static __device__ void heat(const float *__restrict__ in, float *__restrict__ out, I given)
{
    const I n = N ? N : given;
    I x = blockIdx.x * (I)blockDim.x + threadIdx.x, y = blockIdx.y * (I)blockDim.y + threadIdx.y;
    if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
        out[y * n + x] = 0.6f * in[y * n + x] + 0.1f * (in[y * n + x - 1] + in[y * n + x + 1] +
                                                        in[(y - 1) * n + x] + in[(y + 1) * n + x]);
}
// The table's size as a constant: indices are made by shifts. The small size is a parameter.
static __global__ void stencil_constant(const float *in, float *out, int n)
{
    if (n == 2048)
        heat<int, 2048>(in, out, n);
    else
        heat<int, 0>(in, out, n);
}
static __global__ void stencil_long(const float *in, float *out, long long n)
{
    heat<long long, 0>(in, out, n);
}
BENCH_SPELLING(stencil, 1, stencil_constant);
BENCH_SPELLING(stencil, 2, stencil_long);
