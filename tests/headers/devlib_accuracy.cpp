/* K2.1, device library: accuracy of the device library's rare functions against CUDA's published
 * bounds.
 *
 * The sources are compiled for the host, with the few instructions they name mapped to C; the
 * functions left to the JIT are the C library's. References are computed in long double (64 bits of
 * mantissa), inverse functions by the error of what they are put back into. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

#define __nvvm_mul_rn_d(a, b) ((double)(a) * (double)(b))
#define __nvvm_add_rn_d(a, b) ((double)(a) + (double)(b))
#define fma                   devlib_fma /* its helper, not libm's function */
#include "devlib/devlib.h"
#include "devlib/power.cpp"
#include "devlib/remainder.cpp"
#include "devlib/special.cpp"
/* Its helpers' names are taken. */
namespace exponent_source
{
#include "devlib/exponent.cpp"
}
using namespace exponent_source;
#undef fma

extern "C" {
double __nv_exp(double x) noexcept { return exp(x); }
double __nv_log(double x) noexcept { return log(x); }
double __nv_erf(double x) noexcept { return erf(x); }
double __nv_erfc(double x) noexcept { return erfc(x); }
double __nv_cbrt(double x) noexcept { return cbrt(x); }
float __nv_cbrtf(float x) noexcept { return cbrtf(x); }
double __nv_pow(double x, double y) noexcept { return pow(x, y); }
double __nv_fmod(double x, double y) noexcept { return fmod(x, y); }
float __nv_fmodf(float x, float y) noexcept { return fmodf(x, y); }
}

/* ---- measuring ---- */

static unsigned long long seed = 1;
static double uniform(void)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(seed >> 11) * 0x1p-53;
}
static double between(double a, double b) { return a + (b - a) * uniform(); }

/* One place of a double or a float of the size of x. */
static long double ulp(long double x, int mantissa, int smallest)
{
    int e;
    if (x == 0)
        return ldexpl(1, smallest);
    frexpl(x, &e);
    e -= mantissa;
    return ldexpl(1, e < smallest ? smallest : e);
}
static long double double_ulp(long double x) { return ulp(x, 53, -1074); }
static long double float_ulp(long double x) { return ulp(x, 24, -149); }

struct worst {
    const char *name;
    long double error;
    double at;
};
static void note(struct worst *w, long double error, double at)
{
    error = fabsl(error);
    if (!(error <= w->error)) { /* also a NaN */
        w->error = error;
        w->at = at;
    }
}
static void judge(const struct worst *w, double bound)
{
    if (!(w->error <= bound))
        printf("%s: %.3Lf ulp at %.17g, bound %g\n", w->name, w->error, w->at, bound);
    else if (getenv("VERBOSE"))
        printf("%-16s %.3Lf ulp (bound %g)\n", w->name, w->error, bound);
    CHECK(w->error <= bound);
}

enum { SAMPLES = 200000 };

/* f against a long double reference over [a, b], both precisions. */
#define MEASURE(name, reference, a, b, bound, boundf)                                              \
    do {                                                                                           \
        struct worst w = {#name, 0, 0}, wf = {#name "f", 0, 0};                                    \
        for (int i = 0; i < SAMPLES; i++) {                                                        \
            double x = between(a, b);                                                              \
            long double r = reference((long double)x);                                             \
            note(&w, ((long double)__nv_##name(x) - r) / double_ulp(r), x);                        \
            float xf = (float)x;                                                                   \
            r = reference((long double)xf);                                                        \
            if (fabsl(r) < FLT_MAX)                                                                \
                note(&wf, ((long double)__nv_##name##f(xf) - r) / float_ulp(r), xf);               \
        }                                                                                          \
        judge(&w, bound);                                                                          \
        judge(&wf, boundf);                                                                        \
    } while (0)

/* ---- references ---- */

static const long double pi = 3.14159265358979323846264338327950288L;

static long double rcbrt_l(long double x) { return 1 / cbrtl(x); }
static long double normcdf_l(long double x) { return 0.5L * erfcl(-x * sqrtl(0.5L)); }
static long double erfcx_l(long double x)
{
    if (x < 8)
        return expl(x * x) * erfcl(x);
    long double f = 0; /* continued fraction x + (1/2)/(x + 1/(x + (3/2)/(x + ... */
    for (int k = 200; k >= 1; k--)
        f = k / 2.0L / (x + f);
    return 1 / (sqrtl(pi) * (x + f));
}
static long double bessel(long double x, int n)
{
    long double z = x * x / 4, term = n ? x / 2 : 1, sum = term;
    for (int k = 1; k < 2000; k++) {
        term *= z / ((long double)k * (k + n));
        sum += term;
        if (fabsl(term) < fabsl(sum) * 1e-22L)
            break;
    }
    return sum;
}
static long double i0_l(long double x) { return bessel(x, 0); }
static long double i1_l(long double x) { return bessel(x, 1); }

/* The error of y = f^-1(x) in places of y: how far f(y) is from x, over the slope. */
static long double inverse_error(long double miss, long double slope, long double y)
{
    return miss / slope / double_ulp(y);
}
static long double erf_slope(long double y) { return 2 / sqrtl(pi) * expl(-y * y); }

static void inverses(void)
{
    struct worst e = {"erfinv", 0, 0}, c = {"erfcinv", 0, 0}, n = {"normcdfinv", 0, 0};
    struct worst ef = {"erfinvf", 0, 0}, cf = {"erfcinvf", 0, 0}, nf = {"normcdfinvf", 0, 0};
    for (int i = 0; i < SAMPLES; i++) {
        double x = between(-1, 1);
        if (i % 3 == 0)
            x = copysign(1 - ldexp(uniform(), -(i % 50)), x);
        if (i % 3 == 1)
            x = ldexp(x, -(i % 40));
        if (fabs(x) < 1) {
            long double y = __nv_erfinv(x),
                        miss = fabs(x) < 0.5 ? erfl(y) - x
                                             : copysignl(1, x) *
                                                   ((1 - fabsl((long double)x)) - erfcl(fabsl(y)));
            note(&e, inverse_error(miss, erf_slope(y), y), x);
            float xf = (float)x;
            if (fabsf(xf) < 1) {
                long double yf = __nv_erfinvf(xf);
                miss = fabsf(xf) < 0.5f
                           ? erfl(yf) - xf
                           : copysignl(1, xf) * ((1 - fabsl((long double)xf)) - erfcl(fabsl(yf)));
                note(&ef, miss / erf_slope(yf) / float_ulp(yf), xf);
            }
        }

        double q = i % 2 ? between(0, 2) : ldexp(uniform(), -(i % 1070));
        if (q > 0 && q < 2) {
            long double y = __nv_erfcinv(q);
            note(&c, inverse_error(erfcl(y) - q, erf_slope(y), y), q);
            float qf = (float)q;
            if (qf > 0 && qf < 2) {
                y = __nv_erfcinvf(qf);
                note(&cf, (erfcl(y) - qf) / erf_slope(y) / float_ulp(y), qf);
            }
        }
        double p = q / 2;
        if (p > 0 && p < 1) {
            long double y = __nv_normcdfinv(p);
            long double slope = expl(-y * y / 2) / sqrtl(2 * pi);
            note(&n, inverse_error(normcdf_l(y) - p, slope, y), p);
            float pf = (float)p;
            if (pf > 0 && pf < 1) {
                y = __nv_normcdfinvf(pf);
                slope = expl(-y * y / 2) / sqrtl(2 * pi);
                note(&nf, (normcdf_l(y) - pf) / slope / float_ulp(y), pf);
            }
        }
    }
    judge(&e, 5);
    judge(&ef, 2);
    judge(&c, 6);
    judge(&cf, 4);
    judge(&n, 8);
    judge(&nf, 5);
}

static void roots(void)
{
    struct worst w = {"rsqrt", 0, 0};
    for (int i = 0; i < SAMPLES; i++) {
        double x = ldexp(uniform(), (int)between(-1070, 1020));
        long double r = 1 / sqrtl((long double)x);
        note(&w, (__nv_rsqrt(x) - r) / double_ulp(r), x);
    }
    judge(&w, 1);
}

static void norms(void)
{
    struct worst a = {"norm3d", 0, 0}, b = {"rnorm3d", 0, 0}, c = {"norm4d", 0, 0};
    struct worst d = {"rhypot", 0, 0}, e = {"norm", 0, 0}, af = {"norm3df", 0, 0};
    for (int i = 0; i < SAMPLES; i++) {
        int scale = i % 2 ? 0 : (int)between(-1000, 1000);
        double v[4];
        long double sum = 0;
        for (int k = 0; k < 4; k++) {
            v[k] = ldexp(between(-1, 1), scale + (int)between(-20, 3));
            sum += (long double)v[k] * v[k];
            if (k == 1)
                note(&d, __nv_rhypot(v[0], v[1]) * sqrtl(sum) * 0x1p53L - 0x1p53L, v[0]);
            if (k == 2) {
                note(&a, (__nv_norm3d(v[0], v[1], v[2]) - sqrtl(sum)) / double_ulp(sqrtl(sum)),
                     v[0]);
                note(&b, __nv_rnorm3d(v[0], v[1], v[2]) * sqrtl(sum) * 0x1p53L - 0x1p53L, v[0]);
            }
        }
        note(&c, (__nv_norm4d(v[0], v[1], v[2], v[3]) - sqrtl(sum)) / double_ulp(sqrtl(sum)), v[0]);
        note(&e, (__nv_norm(4, v) - sqrtl(sum)) / double_ulp(sqrtl(sum)), v[0]);
        float f[3] = {(float)uniform(), (float)uniform(), (float)uniform()};
        long double t =
            sqrtl((long double)f[0] * f[0] + (long double)f[1] * f[1] + (long double)f[2] * f[2]);
        note(&af, (__nv_norm3df(f[0], f[1], f[2]) - t) / float_ulp(t), f[0]);
    }
    judge(&a, 1);
    judge(&b, 2); /* measured in places of 1: twice the ulp at worst */
    judge(&c, 1);
    judge(&d, 2);
    judge(&e, 1);
    judge(&af, 1);
    double inf = INFINITY, nan = NAN;
    CHECK(__nv_norm3d(inf, nan, 1) == inf);
    CHECK(__nv_rnorm3d(inf, nan, 1) == 0);
    CHECK(isnan(__nv_norm3d(1, nan, 1)));
    CHECK(__nv_norm4d(0, 0, 0, 0) == 0);
    CHECK(__nv_rhypot(0, 0) == inf);
    CHECK(__nv_norm3d(DBL_MAX, 0, 0) == DBL_MAX);
    CHECK(__nv_norm3d(0x1p-1074, 0, 0) == 0x1p-1074);
}

/* ---- exact functions against the C library ---- */

static bool same(double a, double b)
{
    return (a != a && b != b) || (a == b && signbit(a) == signbit(b));
}

static void exact(void)
{
    static const double special[] = {0,        -0.0,     1,         -1,         0.5,       1.5,
                                     2.5,      -2.5,     INFINITY,  -INFINITY,  NAN,       DBL_MAX,
                                     -DBL_MAX, DBL_MIN,  0x1p-1074, -0x1p-1074, 0x1p-1040, FLT_MAX,
                                     FLT_MIN,  0x1p-149, 3,         8,          1e10};
    const int count = (int)(sizeof special / sizeof *special);
    for (int i = 0; i < count + 20000; i++)
        for (int j = 0; j < (i < count ? count : 1); j++) {
            double a = i < count ? special[i] : ldexp(between(-1, 1), (int)between(-1074, 1024));
            double b = i < count ? special[j] : ldexp(between(-1, 1), (int)between(-1074, 1024));
            if (i > count && i % 2)
                b = a / between(1, 50);
            float af = (float)a, bf = (float)b, mf, nf;
            int n = (int)between(-2200, 2200), e, e2, q, q2;
            double m, m2;
            CHECK(same(__nv_ldexp(a, n), ldexp(a, n)));
            CHECK(same(__nv_ldexpf(af, n / 8), ldexpf(af, n / 8)));
            CHECK(same(__nv_nextafter(a, b), nextafter(a, b)));
            CHECK(same(__nv_nextafterf(af, bf), nextafterf(af, bf)));
            CHECK(same(__nv_logb(a), logb(a)));
            CHECK(same(__nv_logbf(af), logbf(af)));
            CHECK(same(__nv_modf(a, &m), modf(a, &m2)) && same(m, m2));
            CHECK(same(__nv_modff(af, &mf), modff(af, &nf)) && same(mf, nf));
            CHECK(same(__nv_remainder(a, b), remainder(a, b)));
            CHECK(same(__nv_remainderf(af, bf), remainderf(af, bf)));
            CHECK(same(__nv_remquo(a, b, &q), remquo(a, b, &q2)));
            if (isfinite(a) && b != 0 && !isnan(b))
                CHECK_EQ_INT(q % 8, q2 % 8); /* C asks for three bits */
            CHECK(same(__nv_remquof(af, bf, &q), remquof(af, bf, &q2)));
            if (isfinite(af) && bf != 0 && !isnan(bf))
                CHECK_EQ_INT(q % 8, q2 % 8); /* C asks for three bits */
            if (isfinite(a)) {
                CHECK(same(__nv_frexp(a, &e), frexp(a, &e2)));
                CHECK_EQ_INT(e, e2);
                if (a != 0)
                    CHECK_EQ_INT(__nv_ilogb(a), ilogb(a));
            }
            if (isfinite(af)) {
                CHECK(same(__nv_frexpf(af, &e), frexpf(af, &e2)));
                CHECK_EQ_INT(e, e2);
                if (af != 0)
                    CHECK_EQ_INT(__nv_ilogbf(af), ilogbf(af));
            }
        }
}

static void edges(void)
{
    double inf = INFINITY;
    CHECK(__nv_erfinv(1) == inf && __nv_erfinv(-1) == -inf && isnan(__nv_erfinv(1.5)));
    CHECK(__nv_erfcinv(0) == inf && __nv_erfcinv(2) == -inf && isnan(__nv_erfcinv(-1)));
    CHECK(__nv_normcdfinv(0) == -inf && __nv_normcdfinv(1) == inf && isnan(__nv_normcdfinv(2)));
    CHECK(same(__nv_erfinv(0.0), 0.0) && same(__nv_erfinv(-0.0), -0.0));
    CHECK(__nv_normcdf(inf) == 1 && __nv_normcdf(-inf) == 0 && isnan(__nv_normcdf(NAN)));
    CHECK(__nv_erfcx(inf) == 0 && __nv_erfcx(-inf) == inf && isnan(__nv_erfcx(NAN)));
    CHECK(__nv_cyl_bessel_i0(inf) == inf && __nv_cyl_bessel_i1(-inf) == -inf);
    CHECK(isnan(__nv_cyl_bessel_i0(NAN)) && isnan(__nv_cyl_bessel_i1(NAN)));
    CHECK(__nv_rsqrt(0) == inf && same(__nv_rsqrt(-0.0), -inf) && __nv_rsqrt(inf) == 0);
    CHECK(isnan(__nv_rsqrt(-1)) && __nv_rcbrt(0) == inf && __nv_rcbrt(-8) == -0.5);
    CHECK(__nv_powif(2, 10) == 1024 && __nv_powif(2, -149) == 0x1p-149f && __nv_powif(3, 0) == 1);
}

int main(void)
{
    roots();
    MEASURE(rcbrt, rcbrt_l, 1e-3, 1e3, 1, 1);
    MEASURE(erfcx, erfcx_l, -5, 30, 4, 4);
    MEASURE(normcdf, normcdf_l, -37, 9, 5, 5);
    MEASURE(cyl_bessel_i0, i0_l, -60, 60, 6, 6);
    MEASURE(cyl_bessel_i1, i1_l, -60, 60, 6, 6);
    MEASURE(cyl_bessel_i0, i0_l, 60, 700, 6, 6);
    inverses();
    norms();
    exact();
    edges();
    return check_done();
}
