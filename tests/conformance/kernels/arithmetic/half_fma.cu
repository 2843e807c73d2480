/* K2: the fused multiply-add of f16 and f16x2 is rounded once. Where a product and a third value
 * are just between two f16, or a little beside that, computing in f32 and rounding twice goes
 * wrong; the operands here are mostly such ones, also with results that are subnormal, very large,
 * or zero. Whole warps, and warps of which some lanes compute. The expected values are exact sums
 * of doubles (those of f16 are wherever it matters) that are rounded here. */
// RUN 256: WEIR_VECTORS=256
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include <cuda_fp16.h>

#include "check.h"

static double value(uint16_t h)
{
    int e = h >> 10 & 31, f = h & 1023;
    double v = e == 0 ? ldexp(f, -24) : e == 31 ? (f ? NAN : INFINITY) : ldexp(f + 1024, e - 25);
    return h & 0x8000 ? -v : v;
}

/* To nearest, ties to even. */
static uint16_t rounded(double v)
{
    uint16_t sign = std::signbit(v) ? 0x8000 : 0;
    double size = fabs(v);
    if (std::isnan(v))
        return 0x7fff;
    if (size >= 65520)
        return sign | 0x7c00;
    int e = size < 0x1p-14 ? -14 : ilogb(size);
    double places =
        nearbyint(ldexp(size, 10 - e)); /* up to 2048, which carries into the exponent */
    return sign | (uint16_t)((e + 14) * 1024 + (int)places);
}

static double bf16_value(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

static uint16_t bf16_rounded(double v)
{
    uint16_t sign = std::signbit(v) ? 0x8000 : 0;
    double size = fabs(v);
    if (std::isnan(v))
        return 0x7fff;
    if (size >= 0x1.ffp127)
        return sign | 0x7f80;
    int e = size < 0x1p-126 ? -126 : ilogb(size);
    double places = nearbyint(ldexp(size, 7 - e));
    return sign | (uint16_t)((e + 126) * 128 + (int)places);
}

/* p + z, to odd: so that another rounding gives what one would. */
static double sum(double p, double z)
{
    double s = p + z, b = s - p, rest = (p - (s - b)) + (z - b);
    uint64_t bits;
    memcpy(&bits, &s, 8);
    bool odd = bits & 1;
    return std::isfinite(s) && rest != 0 && !odd ? nextafter(s, rest > 0 ? INFINITY : -INFINITY)
                                                 : s;
}

static bool bf16_same(uint16_t a, uint16_t b)
{
    return a == b || ((a & 0x7fff) > 0x7f80 && (b & 0x7fff) > 0x7f80);
}

static bool same(uint16_t a, uint16_t b)
{
    return a == b || ((a & 0x7fff) > 0x7c00 && (b & 0x7fff) > 0x7c00);
}

__global__ void one(const uint16_t *x, const uint16_t *y, const uint16_t *z, uint16_t *r, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(r[i]) : "h"(x[i]), "h"(y[i]), "h"(z[i]));
}

__global__ void two(const uint32_t *x, const uint32_t *y, const uint32_t *z, uint32_t *r, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uint32_t v;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(v) : "r"(x[i]), "r"(y[i]), "r"(z[i]));
    if (v & 0x10000) /* and again, by some lanes */
        asm volatile("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(v) : "r"(x[i]), "r"(y[i]), "r"(z[i]));
    r[i] = v;
}

/* To what another has given, which is z: 1 * z - 0. */
__global__ void sums(const uint32_t *x, const uint32_t *y, const uint32_t *z, uint32_t *r, int n,
                     uint32_t ones)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uint32_t v;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(v) : "r"(ones), "r"(z[i]), "r"(0x80008000));
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r[i]) : "r"(x[i]), "r"(y[i]), "r"(v));
}

__global__ void two_bf16(const uint32_t *x, const uint32_t *y, const uint32_t *z, uint32_t *r,
                         int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r[i]) : "r"(x[i]), "r"(y[i]), "r"(z[i]));
}

/* The same factors in all threads. */
__global__ void equal(uint16_t x, uint16_t y, const uint16_t *z, uint16_t *r, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(r[i]) : "h"(x), "h"(y), "h"(z[i]));
}

static uint32_t next()
{
    static uint64_t state = 1;
    state = state * 6364136223846793005 + 1442695040888963407;
    return state >> 33;
}

int main()
{
    const int n = 1 << 18;
    std::vector<uint16_t> x(n), y(n), z(n), want(n), got(n);
    for (int i = 0; i < n; i++) {
        x[i] = next();
        y[i] = next();
        z[i] = next();
        if (i % 4 == 0)
            continue;
        /* a third value that leaves a sum about between two f16: half a place of the product's */
        x[i] = (x[i] & 0x83ff) | (8 + next() % 14) << 10;
        y[i] = (y[i] & 0x83ff) | (8 + next() % 14) << 10;
        double p = value(x[i]) * value(y[i]);
        double near = value(rounded(p)), place = ldexp(1, ilogb(p) - 11);
        z[i] = i % 4 == 1   ? rounded(near + place - p)
               : i % 4 == 2 ? (uint16_t)(next() % 3 | (next() & 0x8000))
                            : rounded(ldexp(1, ilogb(p) + 11) * (next() % 2 ? 1 : -1));
    }
    for (int i = 0; i < n; i++)
        want[i] = rounded(sum(value(x[i]) * value(y[i]), value(z[i])));

    uint16_t *dx, *dy, *dz, *dr;
    cudaMalloc(&dx, n * 2);
    cudaMalloc(&dy, n * 2);
    cudaMalloc(&dz, n * 2);
    cudaMalloc(&dr, n * 2);
    cudaMemcpy(dx, x.data(), n * 2, cudaMemcpyDefault);
    cudaMemcpy(dy, y.data(), n * 2, cudaMemcpyDefault);
    cudaMemcpy(dz, z.data(), n * 2, cudaMemcpyDefault);

    int wrong = 0;
    one<<<n / 256, 256>>>(dx, dy, dz, dr, n - 5);
    cudaMemcpy(got.data(), dr, n * 2, cudaMemcpyDefault);
    for (int i = 0; i < n - 5; i++)
        if (!same(got[i], want[i]) && wrong++ < 5)
            printf("%04x * %04x + %04x: %04x, not %04x\n", x[i], y[i], z[i], got[i], want[i]);
    CHECK_EQ_INT(wrong, 0);

    two<<<n / 512, 256>>>((uint32_t *)dx, (uint32_t *)dy, (uint32_t *)dz, (uint32_t *)dr, n / 2);
    cudaMemcpy(got.data(), dr, n * 2, cudaMemcpyDefault);
    for (int i = 0; i < n; i++)
        if (!same(got[i], want[i]) && wrong++ < 5)
            printf("x2: %04x * %04x + %04x: %04x, not %04x\n", x[i], y[i], z[i], got[i], want[i]);
    CHECK_EQ_INT(wrong, 0);

    sums<<<n / 512, 256>>>((uint32_t *)dx, (uint32_t *)dy, (uint32_t *)dz, (uint32_t *)dr, n / 2,
                           0x3c003c00);
    cudaMemcpy(got.data(), dr, n * 2, cudaMemcpyDefault);
    for (int i = 0; i < n; i++)
        if (!same(got[i], want[i]) && wrong++ < 5)
            printf("sum: %04x * %04x + %04x: %04x, not %04x\n", x[i], y[i], z[i], got[i], want[i]);
    CHECK_EQ_INT(wrong, 0);

    for (int k = 1; k < 40; k++) {
        equal<<<4, 64>>>(x[k], y[k], dz, dr, 250);
        cudaMemcpy(got.data(), dr, 500, cudaMemcpyDefault);
        for (int i = 0; i < 250; i++)
            wrong += !same(got[i], rounded(sum(value(x[k]) * value(y[k]), value(z[i]))));
    }
    CHECK_EQ_INT(wrong, 0);

    for (int i = 0; i < n; i++) {
        x[i] = next();
        y[i] = next();
        z[i] = next();
        if (i % 4 == 0) /* of any size; and neither too small nor too large */
            continue;
        x[i] = (x[i] & 0x807f) | (i % 4 == 3 ? 62 + next() % 3 : 100 + next() % 50) << 7;
        y[i] = (y[i] & 0x807f) | (i % 4 == 3 ? 62 + next() % 3 : 100 + next() % 50) << 7;
        double p = bf16_value(x[i]) * bf16_value(y[i]);
        double near = bf16_value(bf16_rounded(p)), place = ldexp(1, ilogb(p) - 8);
        z[i] = i % 4 == 1   ? bf16_rounded(near + place - p)
               : i % 4 == 2 ? bf16_rounded(ldexp(1, ilogb(p) - 20 - next() % 30))
                            : z[i] & 0x81ff; /* with a product that is about subnormal */
    }
    cudaMemcpy(dx, x.data(), n * 2, cudaMemcpyDefault);
    cudaMemcpy(dy, y.data(), n * 2, cudaMemcpyDefault);
    cudaMemcpy(dz, z.data(), n * 2, cudaMemcpyDefault);
    two_bf16<<<n / 512, 256>>>((uint32_t *)dx, (uint32_t *)dy, (uint32_t *)dz, (uint32_t *)dr,
                               n / 2);
    cudaMemcpy(got.data(), dr, n * 2, cudaMemcpyDefault);
    for (int i = 0; i < n; i++) {
        want[i] = bf16_rounded(sum(bf16_value(x[i]) * bf16_value(y[i]), bf16_value(z[i])));
        if (!bf16_same(got[i], want[i]) && wrong++ < 5)
            printf("bf16: %04x * %04x + %04x: %04x, not %04x\n", x[i], y[i], z[i], got[i], want[i]);
    }
    CHECK_EQ_INT(wrong, 0);
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    return check_done();
}
