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
