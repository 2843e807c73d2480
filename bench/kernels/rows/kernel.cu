// Softmax and layer norm of the rows of a matrix: one block of 256 a row, sums by shuffles and
// shared memory.
#include "harness.h"

enum { THREADS = 256, WARPS = THREADS / 32, EACH = 4 };

template <class Op> static __device__ float over_block(float v, float *part, Op op)
{
    for (int distance = 16; distance > 0; distance /= 2)
        v = op(v, __shfl_xor_sync(0xffffffff, v, distance));
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    v = part[0];
    for (int w = 1; w < WARPS; w++)
        v = op(v, part[w]);
    return v;
}

struct most {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};

extern "C" __global__ void softmax(const float *in, float *out, int columns)
{
    __shared__ float part[WARPS];
    const float *row = in + (size_t)blockIdx.x * columns;
    float *to = out + (size_t)blockIdx.x * columns;
    float v[EACH], high = -1e30f, total = 0;
    for (int k = 0; k < EACH; k++) {
        v[k] = row[threadIdx.x + k * THREADS];
        high = fmaxf(high, v[k]);
    }
    high = over_block(high, part, most());
    for (int k = 0; k < EACH; k++) {
        v[k] = expf(v[k] - high);
        total += v[k];
    }
    total = over_block(total, part, sum());
    for (int k = 0; k < EACH; k++)
        to[threadIdx.x + k * THREADS] = v[k] / total;
}

extern "C" __global__ void layer_norm(const float *in, const float *scale, const float *shift,
                                      float *out, int columns)
{
    __shared__ float part[WARPS];
    const float *row = in + (size_t)blockIdx.x * columns;
    float *to = out + (size_t)blockIdx.x * columns;
    float v[EACH], total = 0, squares = 0;
    for (int k = 0; k < EACH; k++) {
        v[k] = row[threadIdx.x + k * THREADS];
        total += v[k];
    }
    float mean = over_block(total, part, sum()) / columns;
    for (int k = 0; k < EACH; k++)
        squares += (v[k] - mean) * (v[k] - mean);
    float inverse = rsqrtf(over_block(squares, part, sum()) / columns + 1e-5f);
    for (int k = 0; k < EACH; k++) {
        int at = threadIdx.x + k * THREADS;
        to[at] = (v[k] - mean) * inverse * scale[at] + shift[at];
    }
}

BENCH_KERNEL(softmax);
BENCH_KERNEL(layer_norm);
