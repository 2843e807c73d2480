/* Special functions of CUDA that no C library has: scaled and inverse error functions, the normal
 * distribution, modified Bessel functions. Each is computed in double precision, from the
 * definition and with steps whose errors are known; the float forms round the result.
 *
 * Bounds to keep (CUDA C++ Programming Guide, mathematical functions), in ulp, double / float:
 *   erfinv 5/2  erfcinv 6/4  erfcx 4/4  normcdf 5/5  normcdfinv 8/5  cyl_bessel_i0, i1 6/6 */
#include "devlib.h"

#define SQRT_2          1.4142135623730951
#define SQRT_HALF_HI    0.70710678118654757
#define SQRT_HALF_LO    (-4.8336466567264567e-17)
#define TWO_OVER_ROOTPI 1.1283791670955126
#define ROOTPI_HALF     0.88622692545275805
#define ONE_OVER_ROOTPI 0.56418958354775628
#define PI              3.1415926535897931

#define ABS __builtin_fabs

/* ---- erfcx(x) = exp(x^2) erfc(x) ---- */

/* Asymptotic series 1 / (x sqrt(pi)) * (1 - 1/(2x^2) + 1*3/(2x^2)^2 - ...), for x >= 10, where the
 * twelfth term is below 1e-16. */
HELPER double erfcx_large(double x)
{
    double z = 0.5 / (x * x); /* x^2 may overflow: then z is 0 and the sum 1, as it should be */
    double sum = 1.0;
    for (int k = 12; k >= 1; k--)
        sum = fma(-(2 * k - 1) * z, sum, 1.0);
    return ONE_OVER_ROOTPI / x * sum;
}

/* exp(x^2), with the part of x^2 that rounding cuts off put back. */
HELPER double exp_square(double x)
{
    dd s = two_product(x, x);
    double e = __nv_exp(s.hi);
    return e < INFD ? fma(e, s.lo, e) : e;
}

FN double __nv_erfcx(double x)
{
    if (x >= 10.0)
        return erfcx_large(x);
    if (x < -26.7)
        return INFD;
    return exp_square(x) * __nv_erfc(x);
}
FN float __nv_erfcxf(float x) { return (float)__nv_erfcx((double)x); }

/* ---- inverse error functions ---- */

/* |x| <= 1/2: the power series of erfinv to x^7, then two Halley steps on erf(y) = x. */
HELPER double erfinv_centre(double x)
{
    double z = x * x * PI;
    double y =
        ROOTPI_HALF * x * fma(z, fma(z, fma(z, 127.0 / 40320.0, 7.0 / 480.0), 1.0 / 12.0), 1.0);
    for (int i = 0; i < 2; i++) {
        double u = (__nv_erf(y) - x) * ROOTPI_HALF * __nv_exp(y * y);
        y -= u / fma(y, u, 1.0);
    }
    return y;
}

/* erfcinv for 0 < q <= 1/2. Newton's method on h(y) = ln erfc(y) - ln q = ln erfcx(y) - y^2 - ln q,
 * which is nearly a parabola, so that three steps suffice from 3 digits (Winitzki's closed form);
 * nothing in it underflows, however small q is. */
HELPER double erfcinv_tail(double q)
{
    const double a = 0.147;
    double l = __nv_log(q * (2.0 - q));
    double c = 2.0 / (PI * a) + 0.5 * l;
    double y = __builtin_sqrt(__builtin_sqrt(fma(c, c, -l / a)) - c);
    double ln_q = __nv_log(q);
    for (int i = 0; i < 3; i++) {
        double scaled = __nv_erfcx(y);
        dd s = two_product(y, y);
        double h = __nv_log(scaled) - add_rn(add_rn(s.hi, ln_q), s.lo);
        y += h * scaled * ROOTPI_HALF;
    }
    return y;
}

FN double __nv_erfinv(double x)
{
    double m = ABS(x);
    if (!(m <= 1.0))
        return NAND;
    if (m == 1.0)
        return __builtin_copysign(INFD, x);
    if (m <= 0.5)
        return m < 1e-9 ? ROOTPI_HALF * x : erfinv_centre(x);
    return __builtin_copysign(erfcinv_tail(1.0 - m), x);
}
FN double __nv_erfcinv(double x)
{
    if (!(x >= 0.0 && x <= 2.0))
        return NAND;
    if (x == 0.0)
        return INFD;
    if (x == 2.0)
        return -INFD;
    if (x <= 0.5)
        return erfcinv_tail(x);
    if (x >= 1.5)
        return -erfcinv_tail(2.0 - x);
    return __nv_erfinv(1.0 - x);
}
FN float __nv_erfinvf(float x) { return (float)__nv_erfinv((double)x); }
FN float __nv_erfcinvf(float x) { return (float)__nv_erfcinv((double)x); }

/* ---- normal distribution ---- */

/* erfc(-x / sqrt(2)) / 2. The argument's rounding error counts 2 z^2 times, so it is put back by
 * the derivative, -2/sqrt(pi) exp(-z^2). */
FN double __nv_normcdf(double x)
{
    if (x > 40.0)
        return 1.0;
    if (x < -40.0)
        return 0.0;
    double z = -x * SQRT_HALF_HI;
    double z_low = fma(-x, SQRT_HALF_HI, -z) - x * SQRT_HALF_LO;
    return 0.5 * fma(-TWO_OVER_ROOTPI * z_low, __nv_exp(-z * z), __nv_erfc(z));
}
FN double __nv_normcdfinv(double p)
{
    /* 2p is exact, also where p is subnormal */
    return -SQRT_2 * __nv_erfcinv(2.0 * p);
}
FN float __nv_normcdff(float x) { return (float)__nv_normcdf((double)x); }
FN float __nv_normcdfinvf(float p) { return (float)__nv_normcdfinv((double)p); }

/* ---- modified Bessel functions of the first kind ---- */

/* sum over k of z^k / (k! (k + order)!), z = x^2 / 4, from the smallest term on; all terms are
 * positive, and enough for |x| <= 20. The value's relative error is up to x / 2 times that of z, so
 * z, each factor and the sum carry their rounding errors along. */
HELPER double bessel_series(double x, int order)
{
    const int terms = 38;
    dd z = two_product(0.5 * x, 0.5 * x), sum = {1.0, 0.0};
    for (int k = terms; k >= 1; k--) {
        double divisor = k * (k + order);
        double factor = z.hi / divisor;
        double factor_low = (fma(-factor, divisor, z.hi) + z.lo) / divisor;
        dd p = two_product(factor, sum.hi), s = two_sum(1.0, p.hi);
        double low = fma(factor, sum.lo, fma(factor_low, sum.hi, p.lo));
        sum = fast_two_sum(s.hi, add_rn(s.lo, low));
    }
    return sum.hi;
}

/* I_n(x) ~ e^x / sqrt(2 pi x) * (1 - (4n^2 - 1)/(8x) + (4n^2 - 1)(4n^2 - 9)/(2! (8x)^2) - ...),
 * for x > 20. A factor of e^32 is split off, because e^x overflows before the function does. */
HELPER double bessel_large(double x, int order)
{
    const double exp_32 = 78962960182680.695;
    double sum = 1.0, n2 = 4.0 * order * order;
    for (int k = 28; k >= 1; k--)
        sum = fma(((2 * k - 1) * (2 * k - 1) - n2) / (k * 8.0 * x), sum, 1.0);
    return __nv_exp(x - 32.0) * (exp_32 / __builtin_sqrt(2.0 * PI * x) * sum);
}

FN double __nv_cyl_bessel_i0(double x)
{
    x = ABS(x);
    if (x > 20.0)
        return x < 720.0 ? bessel_large(x, 0) : INFD;
    return bessel_series(x, 0);
}
FN double __nv_cyl_bessel_i1(double x)
{
    double m = ABS(x);
    if (m > 20.0)
        return __builtin_copysign(m < 720.0 ? bessel_large(m, 1) : INFD, x);
    return 0.5 * x * bessel_series(x, 1);
}
FN float __nv_cyl_bessel_i0f(float x) { return (float)__nv_cyl_bessel_i0((double)x); }
FN float __nv_cyl_bessel_i1f(float x) { return (float)__nv_cyl_bessel_i1((double)x); }
