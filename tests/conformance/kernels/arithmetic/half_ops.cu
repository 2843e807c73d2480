/* K2: sums, products, minima, comparisons and roundings of f16 by whole warps, alone and in pairs.
 * The compiler does them with floats or with AVX-512's instructions for halves; every result is
 * what exact arithmetic gives, rounded once. Operands are all kinds: subnormal, infinite, NaN, of
 * any size, and sums that are about between two halves. */
// RUN 256: WEIR_VECTORS=256
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

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

static bool is_nan(uint16_t h) { return (h & 0x7fff) > 0x7c00; }

enum { SUM, DIFFERENCE, PRODUCT, SATURATED, LARGER, SMALLER, DOWN, EVEN, BOTH, COUNT };

__global__ void one(const uint16_t *x, const uint16_t *y, uint16_t *r, int *whole, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uint16_t a = x[i], b = y[i], v[COUNT];
    asm("add.f16 %0, %1, %2;" : "=h"(v[SUM]) : "h"(a), "h"(b));
    asm("sub.f16 %0, %1, %2;" : "=h"(v[DIFFERENCE]) : "h"(a), "h"(b));
    asm("mul.f16 %0, %1, %2;" : "=h"(v[PRODUCT]) : "h"(a), "h"(b));
    asm("add.sat.f16 %0, %1, %2;" : "=h"(v[SATURATED]) : "h"(a), "h"(b));
    asm("max.f16 %0, %1, %2;" : "=h"(v[LARGER]) : "h"(a), "h"(b));
    asm("min.f16 %0, %1, %2;" : "=h"(v[SMALLER]) : "h"(a), "h"(b));
    asm("cvt.rmi.f16.f16 %0, %1;" : "=h"(v[DOWN]) : "h"(a));
    asm("cvt.rni.f16.f16 %0, %1;" : "=h"(v[EVEN]) : "h"(a));
    asm("{.reg .pred p; setp.lt.f16 p, %1, %2; selp.b16 %0, 1, 0, p;}"
        : "=h"(v[BOTH])
        : "h"(a), "h"(b));
    for (int k = 0; k < COUNT; k++)
        r[k * n + i] = v[k];
    asm("cvt.rzi.s32.f16 %0, %1;" : "=r"(whole[i]) : "h"(a));
}

__global__ void two(const uint32_t *x, const uint32_t *y, uint32_t *r, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uint32_t a = x[i], b = y[i], v[COUNT] = {};
    asm("add.f16x2 %0, %1, %2;" : "=r"(v[SUM]) : "r"(a), "r"(b));
    asm("sub.f16x2 %0, %1, %2;" : "=r"(v[DIFFERENCE]) : "r"(a), "r"(b));
    asm("mul.f16x2 %0, %1, %2;" : "=r"(v[PRODUCT]) : "r"(a), "r"(b));
    if (v[SUM] & 0x10000) /* by some lanes */
        asm volatile("add.f16x2 %0, %1, %2;" : "=r"(v[SUM]) : "r"(a), "r"(b));
    asm("add.sat.f16x2 %0, %1, %2;" : "=r"(v[SATURATED]) : "r"(a), "r"(b));
    asm("max.f16x2 %0, %1, %2;" : "=r"(v[LARGER]) : "r"(a), "r"(b));
    asm("min.f16x2 %0, %1, %2;" : "=r"(v[SMALLER]) : "r"(a), "r"(b));
    for (int k = 0; k < DOWN; k++)
        r[k * n + i] = v[k];
}

static uint32_t next()
{
    static uint64_t state = 7;
    state = state * 6364136223846793005 + 1442695040888963407;
    return state >> 33;
}

static uint16_t expected(int op, uint16_t a, uint16_t b)
{
    double x = value(a), y = value(b);
    switch (op) {
    case SUM: return rounded(x + y);
    case DIFFERENCE: return rounded(x - y);
    case PRODUCT: return rounded(x * y);
    case SATURATED: {
        double s = x + y;
        return std::isnan(s) || s <= 0 ? 0 : s >= 1 ? 0x3c00 : rounded(s);
    }
    case LARGER:
    case SMALLER:
        if (is_nan(a) || is_nan(b))
            return is_nan(a) ? b : a;
        if (x == y) /* -0 is below +0 */
            return (op == LARGER) == (a >> 15 == 0) ? a : b;
        return (op == LARGER) == (x > y) ? a : b;
    case DOWN: return rounded(floor(x));
    case EVEN: return rounded(nearbyint(x));
    default: return x < y;
    }
}

static bool same(uint16_t a, uint16_t b) { return a == b || (is_nan(a) && is_nan(b)); }

int main()
{
    const int n = 1 << 17;
    static const uint16_t edges[] = {0,      0x8000, 1,      0x8001, 0x3ff,  0x400,
                                     0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e01, 0xfe01,
                                     0x3c00, 0xbc00, 0x3800, 0x3801};
    const int m = sizeof edges / sizeof *edges;
    std::vector<uint16_t> x(n), y(n), got(COUNT * n);
    for (int i = 0; i < n; i++) {
        x[i] = i < m * m ? edges[i / m] : next();
        y[i] = i < m * m ? edges[i % m] : next();
        if (i >= m * m && i % 2) /* of about the same size: sums that round */
            y[i] = (y[i] & 0x83ff) | ((x[i] & 0x7c00) - (next() % 12 << 10) & 0x7c00);
    }
    std::vector<int> whole(n);
    uint16_t *dx, *dy, *dr;
    int *dw;
    cudaMalloc(&dx, n * 2);
    cudaMalloc(&dy, n * 2);
    cudaMalloc(&dr, COUNT * n * 2);
    cudaMalloc(&dw, n * 4);
    cudaMemcpy(dx, x.data(), n * 2, cudaMemcpyDefault);
    cudaMemcpy(dy, y.data(), n * 2, cudaMemcpyDefault);

    int wrong = 0;
    one<<<n / 128, 128>>>(dx, dy, dr, dw, n);
    cudaMemcpy(got.data(), dr, COUNT * n * 2, cudaMemcpyDefault);
    cudaMemcpy(whole.data(), dw, n * 4, cudaMemcpyDefault);
    for (int op = 0; op < COUNT; op++)
        for (int i = 0; i < n; i++) {
            uint16_t want = expected(op, x[i], y[i]);
            if (!same(got[op * n + i], want) && wrong++ < 9)
                printf("%d of %04x, %04x: %04x, not %04x\n", op, x[i], y[i], got[op * n + i], want);
        }
    for (int i = 0; i < n; i++) {
        double v = value(x[i]);
        int want = std::isnan(v) ? 0 : std::isinf(v) ? (v > 0 ? INT32_MAX : INT32_MIN) : (int)v;
        if (whole[i] != want && wrong++ < 9)
            printf("whole of %04x: %d, not %d\n", x[i], whole[i], want);
    }
    CHECK_EQ_INT(wrong, 0);

    two<<<n / 2 / 128, 128>>>((uint32_t *)dx, (uint32_t *)dy, (uint32_t *)dr, n / 2);
    cudaMemcpy(got.data(), dr, COUNT * n * 2, cudaMemcpyDefault);
    for (int op = 0; op < DOWN; op++)
        for (int i = 0; i < n; i++) {
            uint16_t want = expected(op, x[i], y[i]);
            if (!same(got[op * n + i], want) && wrong++ < 9)
                printf("x2, %d of %04x, %04x: %04x, not %04x\n", op, x[i], y[i], got[op * n + i],
                       want);
        }
    CHECK_EQ_INT(wrong, 0);
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    return check_done();
}
