/* lane_math: C functions that emitted code calls for what is too rare or too long for inline
 * vector code, one lane after the other. They belong to the loading half: no LLVM here.
 *
 * f(mask, x, y, z, r0, r1): sources and results are arrays with an element per lane; only lanes in
 * the mask are read and written, and unused pointers are null. */
#include "loader/lane_math.h"

#include <fenv.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/base.h"

static const long double half_sqrt2 = 0.70710678118654752440084436210485L;
static const long double two_over_sqrt_pi = 1.12837916709551257389615890312155L;

/* ---- integers ---- */

/* PTX fns: the |n|-th set bit at or after (before, for n < 0) bit `base`; n == 0: base itself. */
static uint32_t find_nth_set(uint32_t mask, uint32_t base, int32_t n)
{
    if (n == 0)
        return base < 32 && mask >> base & 1 ? base : 0xffffffffu;
    int64_t count = n < 0 ? -(int64_t)n : n, step = n < 0 ? -1 : 1;
    for (int64_t pos = base; pos >= 0 && pos < 32; pos += step)
        if (mask >> pos & 1 && --count == 0)
            return (uint32_t)pos;
    return 0xffffffffu;
}

/* ---- directed rounding ---- */

/* volatile keeps the operation between the changes of mode. */
#define ROUNDED(mode, expression)                                                                  \
    int old = fegetround();                                                                        \
    fesetround(mode);                                                                              \
    volatile double r = (expression);                                                              \
    fesetround(old);                                                                               \
    return r

static double round_mul(double x, double y, int mode)
{
    volatile double vx = x, vy = y;
    ROUNDED(mode, vx * vy);
}

static double round_div(double x, double y, int mode)
{
    volatile double vx = x, vy = y;
    ROUNDED(mode, vx / vy);
}

static double round_fma(double x, double y, double z, int mode)
{
    volatile double vx = x, vy = y, vz = z;
    ROUNDED(mode, fma(vx, vy, vz));
}

static double round_sqrt(double x, int mode)
{
    volatile double vx = x;
    ROUNDED(mode, sqrt(vx));
}

/* ---- error function's relatives ---- */

/* Solves erf(y) = x for |x| <= 1/2: Newton's steps from the series' first terms. */
static long double inverse_erf_middle(long double x)
{
    long double y = x / two_over_sqrt_pi;
    y += y * y * y / 3;
    for (int k = 0; k < 5; k++)
        y -= (erfl(y) - x) / (two_over_sqrt_pi * expl(-y * y));
    return y;
}

/* Solves erfc(y) = p for 0 < p < 1/2 or so, by Newton's steps on the logarithm, which is nearly a
 * parabola there. */
static long double inverse_erfc_tail(long double p)
{
    long double t = sqrtl(-2 * logl(p / 2));
    long double y = half_sqrt2 * (t - (2.515517L + t * (0.802853L + t * 0.010328L)) /
                                          (1 + t * (1.432788L + t * (0.189269L + t * 0.001308L))));
    for (int k = 0; k < 4; k++) {
        long double e = erfcl(y);
        y += (logl(e) - logl(p)) * e / (two_over_sqrt_pi * expl(-y * y));
    }
    return y;
}

static long double inverse_erf(long double x)
{
    if (!(fabsl(x) < 1))
        return fabsl(x) == 1 ? x * INFINITY : NAN;
    return fabsl(x) <= 0.5L ? inverse_erf_middle(x) : copysignl(inverse_erfc_tail(1 - fabsl(x)), x);
}

static long double inverse_erfc(long double x)
{
    if (!(x > 0 && x < 2))
        return x == 0 ? INFINITY : x == 2 ? -INFINITY : NAN;
    if (x >= 0.5L && x <= 1.5L)
        return inverse_erf_middle(1 - x);
    return x < 1 ? inverse_erfc_tail(x) : -inverse_erfc_tail(2 - x);
}

/* exp(x^2) erfc(x); far out by its asymptotic series. */
static long double scaled_erfc(long double x)
{
    if (!(x > 12))
        return expl(x * x) * erfcl(x);
    long double term = 1, sum = 1, inverse = 1 / (2 * x * x);
    for (int k = 1; k < 20; k++) {
        term *= -(2 * k - 1) * inverse;
        sum += term;
    }
    return sum * two_over_sqrt_pi / (2 * x);
}

/* ---- others ---- */

/* Modified Bessel function of order 0 or 1: its power series, far out its asymptotic one. */
static long double bessel_i(int order, long double x)
{
    long double m = fabsl(x), sum = 1, term = 1;
    if (isnan(x))
        return x;
    if (m > 40) {
        if (m > 11000)
            return order && x < 0 ? -INFINITY : INFINITY;
        long double mu = 4.0L * order * order;
        for (int k = 1; k < 40; k++) {
            term *= -(mu - (2.0L * k - 1) * (2.0L * k - 1)) / (k * 8 * m);
            sum += term;
        }
        sum *= expl(m) / sqrtl(6.28318530717958647692528676655901L * m);
    } else {
        long double q = m * m / 4;
        for (int k = 1; k < 200 && term > sum * 1e-22L; k++) {
            term *= q / ((long double)k * (k + order));
            sum += term;
        }
        if (order)
            sum *= m / 2;
    }
    return order && x < 0 ? -sum : sum;
}

/* Orders far beyond the argument: the C library would count up to them to find 0 or -infinity. */
static bool far_below(int n, double x) { return n > 10000 && fabs(x) < 0.5 * n; }

static double bessel_j(int n, double x) { return n < 0 ? NAN : far_below(n, x) ? 0 * x : jn(n, x); }

static double bessel_y(int n, double x)
{
    return n < 0 ? NAN : far_below(n, x) ? (x >= 0 ? -INFINITY : NAN) : yn(n, x);
}

static long double norm3(long double x, long double y, long double z)
{
    if (isinf(x) || isinf(y) || isinf(z))
        return INFINITY;
    return sqrtl(x * x + y * y + z * z);
}

/* ---- the loops ---- */

#define FOR_LANES(l)                                                                               \
    for (uint32_t lane_math_m = mask, l;                                                           \
         lane_math_m && ((l) = (uint32_t)__builtin_ctz(lane_math_m), 1);                           \
         lane_math_m &= lane_math_m - 1) /* NOLINT */
#define PARAMETERS        uint32_t mask, const void *xs, const void *ys, const void *zs, void *rs, void *qs
#define UNUSED_PARAMETERS (void)ys, (void)zs, (void)qs

#define LANE1(name, R, T, expression)                                                              \
    static void weir_alu##name(PARAMETERS)                                                         \
    {                                                                                              \
        UNUSED_PARAMETERS;                                                                         \
        FOR_LANES(l)                                                                               \
        {                                                                                          \
            const T x = ((const T *)xs)[l];                                                        \
            ((R *)rs)[l] = (R)(expression);                                                        \
        }                                                                                          \
    }
#define LANE2(name, R, T, U, expression)                                                           \
    static void weir_alu##name(PARAMETERS)                                                         \
    {                                                                                              \
        UNUSED_PARAMETERS;                                                                         \
        FOR_LANES(l)                                                                               \
        {                                                                                          \
            const T x = ((const T *)xs)[l];                                                        \
            const U y = ((const U *)ys)[l];                                                        \
            ((R *)rs)[l] = (R)(expression);                                                        \
        }                                                                                          \
    }
#define LANE3(name, R, T, expression)                                                              \
    static void weir_alu##name(PARAMETERS)                                                         \
    {                                                                                              \
        UNUSED_PARAMETERS;                                                                         \
        FOR_LANES(l)                                                                               \
        {                                                                                          \
            const T x = ((const T *)xs)[l], y = ((const T *)ys)[l], z = ((const T *)zs)[l];        \
            ((R *)rs)[l] = (R)(expression);                                                        \
        }                                                                                          \
    }
/* A missing second source reads as the first. */
#define LANE2R(name, R, S, T, U, call)                                                             \
    static void weir_alu##name(PARAMETERS)                                                         \
    {                                                                                              \
        UNUSED_PARAMETERS;                                                                         \
        FOR_LANES(l)                                                                               \
        {                                                                                          \
            const T x = ((const T *)xs)[l];                                                        \
            const U y = ys ? ((const U *)ys)[l] : x;                                               \
            R r = 0;                                                                               \
            S q = 0;                                                                               \
            (void)y;                                                                               \
            call;                                                                                  \
            ((R *)rs)[l] = r;                                                                      \
            ((S *)qs)[l] = q;                                                                      \
        }                                                                                          \
    }
#include "abi/lane_math.def"
#undef LANE1
#undef LANE2
#undef LANE3
#undef LANE2R

static const struct {
    const char *name;
    void (*function)(PARAMETERS);
} functions[] = {
#define LANE1(name, ...) {"weir_alu_" #name, weir_alu##name},
#define LANE2            LANE1
#define LANE3            LANE1
#define LANE2R           LANE1
#include "abi/lane_math.def"
};

void *alu_symbol(const char *symbol)
{
    for (size_t k = 0; k < WEIR_COUNT(functions); k++)
        if (!strcmp(functions[k].name, symbol))
            return (void *)functions[k].function;
    return NULL;
}
