// European options by the Black-Scholes formula, one per thread.
#include "harness.h"

// The normal distribution's integral, by the polynomial of Abramowitz and Stegun 26.2.17.
static __device__ float normal(float x)
{
    float k = 1 / (1 + 0.2316419f * fabsf(x));
    float tail =
        0.39894228f * expf(-0.5f * x * x) *
        (k * (0.31938153f +
              k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return x > 0 ? 1 - tail : tail;
}

extern "C" __global__ void black_scholes(const float *price, const float *strike,
                                         const float *years, float *call, float *put, float rate,
                                         float volatility, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float s = price[i], x = strike[i], t = years[i], root = sqrtf(t);
    float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
    float d2 = d1 - volatility * root, n1 = normal(d1), n2 = normal(d2);
    float discounted = x * expf(-rate * t);
    call[i] = s * n1 - discounted * n2;
    put[i] = discounted * (1 - n2) - s * (1 - n1);
}

BENCH_KERNEL(black_scholes);
