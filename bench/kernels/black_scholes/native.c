/* Black-Scholes: the logarithm and exponentials from glibc's vector library where there is one. */
#include "harness.h"

#include <math.h>

enum { BLOCK = 256 };
static const float rate = 0.02f, volatility = 0.3f;

static void make(struct bench_problem *p)
{
    static const float range[3][2] = {{5, 30}, {1, 100}, {0.25f, 10}};
    uint32_t seed = 5;
    for (int i = 0; i < 3; i++) {
        float *values = bench_add(p, BENCH_FLOAT, (size_t)p->n, 0);
        for (int j = 0; j < p->n; j++)
            values[j] = bench_random(&seed, range[i][0], range[i][1]);
    }
    bench_add(p, BENCH_FLOAT, (size_t)p->n, 1);
    bench_add(p, BENCH_FLOAT, (size_t)p->n, 1);
}

static void device(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "black_scholes", (p->n + BLOCK - 1) / BLOCK, 1, BLOCK, 1, BENCH_ARRAY(0),
                 BENCH_ARRAY(1), BENCH_ARRAY(2), BENCH_ARRAY(3), BENCH_ARRAY(4),
                 BENCH_FLOAT_ARG(rate), BENCH_FLOAT_ARG(volatility), BENCH_INT_ARG(p->n));
}

/* The normal distribution's integral, by the polynomial of Abramowitz and Stegun 26.2.17. */
static inline float normal(float x)
{
    float k = 1 / (1 + 0.2316419f * fabsf(x));
    float tail =
        0.39894228f * expf(-0.5f * x * x) *
        (k * (0.31938153f +
              k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return x > 0 ? 1 - tail : tail;
}

static void native(const struct bench_problem *p)
{
    const float *restrict price = p->array[0].data, *restrict strike = p->array[1].data;
    const float *restrict years = p->array[2].data;
    float *restrict call = p->array[3].data, *restrict put = p->array[4].data;
#pragma omp parallel for simd schedule(static)
    for (int i = 0; i < p->n; i++) {
        float s = price[i], x = strike[i], t = years[i], root = sqrtf(t);
        float d1 =
            (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
        float d2 = d1 - volatility * root, n1 = normal(d1), n2 = normal(d2);
        float discounted = x * expf(-rate * t);
        call[i] = s * n1 - discounted * n2;
        put[i] = discounted * (1 - n2) - s * (1 - n1);
    }
}

const struct bench bench_black_scholes = {
    .name = "black_scholes",
    .title = "Black-Scholes, 4 Mi options",
    .cl = "black_scholes/kernel",
    .n = 1 << 22,
    .quick_n = 50001,
    .tolerance = 2e-6,
    .make = make,
    .device = device,
    .native = native,
};
