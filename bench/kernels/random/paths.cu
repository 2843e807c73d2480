// Monte Carlo with curand: the area of a circle by XORWOW, the price of an option on a mean by
// Philox and normal numbers. Sums differ from native ones by chance.
#include <curand_kernel.h>

#include "harness.h"

enum { DRAWS = 256, STEPS = 16, PATHS = 8 };
template <class State> __global__ void circle(int *inside, int seed)
{
    State state;
    int t = blockIdx.x * blockDim.x + threadIdx.x, mine = 0;
    curand_init(seed, t, 0, &state);
    for (int i = 0; i < DRAWS; i++) {
        float x = curand_uniform(&state), y = curand_uniform(&state);
        mine += x * x + y * y <= 1;
    }
    for (int distance = 16; distance > 0; distance /= 2)
        mine += __shfl_xor_sync(~0u, mine, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(inside, mine);
}
BENCH_SPELLING(circle, 0, circle<curandStatePhilox4_32_10_t>);
BENCH_SPELLING(circle, 1, circle<curandStateXORWOW_t>);
static __global__ void circle_four(int *inside, int seed)
{
    curandStatePhilox4_32_10_t state;
    int mine = 0;
    curand_init(seed, blockIdx.x * blockDim.x + threadIdx.x, 0, &state);
    for (int i = 0; i < DRAWS / 2; i++) {
        float4 four = curand_uniform4(&state);
        mine += four.x * four.x + four.y * four.y <= 1;
        mine += four.z * four.z + four.w * four.w <= 1;
    }
    for (int distance = 16; distance > 0; distance /= 2)
        mine += __shfl_xor_sync(~0u, mine, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(inside, mine);
}
BENCH_SPELLING(circle, 2, circle_four);

template <class State> __global__ void asian(float *total, float drift, float noise, float strike)
{
    State state;
    float sum = 0;
    curand_init(11, blockIdx.x * blockDim.x + threadIdx.x, 0, &state);
    for (int p = 0; p < PATHS; p++) {
        float price = 100, mean = 0;
        for (int step = 0; step < STEPS; step++) {
            price *= __expf(drift + noise * curand_normal(&state));
            mean += price;
        }
        sum += fmaxf(mean / STEPS - strike, 0.0f);
    }
    __shared__ float part[256];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(total, part[0] / (gridDim.x * blockDim.x * PATHS));
}
BENCH_SPELLING(asian, 0, asian<curandStatePhilox4_32_10_t>);
BENCH_SPELLING(asian, 1, asian<curandStateXORWOW_t>);
BENCH_SPELLING(asian, 2, asian<curandStateMRG32k3a_t>);
