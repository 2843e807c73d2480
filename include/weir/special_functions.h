/* The functions of CUDA that no C library has, one source for host and device: scaled and inverse
 * error functions, the normal distribution, modified Bessel functions, lengths of vectors and
 * reciprocal roots. Each is computed in double precision from the definition, with steps whose
 * errors are known; the float forms round the result.
 *
 * Bounds to keep (CUDA C++ Programming Guide, mathematical functions), in ulp, double / float:
 *   erfinv 5/2  erfcinv 6/4  erfcx 4/4  normcdf 5/5  normcdfinv 8/5  cyl_bessel_i0, i1 6/6
 *   rsqrt 1/2  rcbrt 1/1  norm3d, norm4d, rhypot and their kin 2/3
 *
 * Who includes this says how the functions are declared (WEIR_SPECIAL) and what the C library's
 * functions are called (WEIR_LIBM(name)); the compiler may fuse multiplications and additions it
 * sees, so where a rounding matters WEIR_MUL_RN and WEIR_ADD_RN stand. */
#ifndef WEIR_SPECIAL_FUNCTIONS_H
#define WEIR_SPECIAL_FUNCTIONS_H

namespace weir
{
namespace special
{

typedef unsigned int u32;
typedef unsigned long long u64;

WEIR_SPECIAL u64 bits(double x) { return __builtin_bit_cast(u64, x); }
WEIR_SPECIAL u32 bits(float x) { return __builtin_bit_cast(u32, x); }
WEIR_SPECIAL double from_bits(u64 b) { return __builtin_bit_cast(double, b); }
WEIR_SPECIAL double mul_rn(double a, double b) { return WEIR_MUL_RN(a, b); }
WEIR_SPECIAL double add_rn(double a, double b) { return WEIR_ADD_RN(a, b); }
WEIR_SPECIAL double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

/* An unevaluated sum hi + lo with |lo| <= ulp(hi) / 2. */
struct dd {
    double hi, lo;
};
WEIR_SPECIAL dd two_product(double a, double b)
{
    double p = mul_rn(a, b);
    return {p, fma(a, b, -p)};
}
WEIR_SPECIAL dd fast_two_sum(double a, double b) /* |a| >= |b| */
{
    double s = add_rn(a, b);
    return {s, add_rn(b, add_rn(a, -s))};
}
WEIR_SPECIAL dd two_sum(double a, double b)
{
    double s = add_rn(a, b), t = add_rn(s, -a);
    return {s, add_rn(add_rn(a, -add_rn(s, -t)), add_rn(b, -t))};
}

constexpr double sqrt_2 = 1.4142135623730951, sqrt_half = 0.70710678118654757,
                 sqrt_half_low = -4.8336466567264567e-17, rootpi_half = 0.88622692545275805,
                 one_over_rootpi = 0.56418958354775628, two_over_rootpi = 1.1283791670955126,
                 pi = 3.1415926535897931;
constexpr double infinity = __builtin_inf(), not_a_number = __builtin_nan("");

/* ---- erfcx(x) = exp(x^2) erfc(x) ---- */

/* Asymptotic series 1 / (x sqrt(pi)) * (1 - 1/(2x^2) + 1*3/(2x^2)^2 - ...), for x >= 10, where the
 * twelfth term is below 1e-16. */
WEIR_SPECIAL double erfcx_large(double x)
{
    double z = 0.5 / (x * x); /* x^2 may overflow: then z is 0 and the sum 1, as it should be */
    double sum = 1.0;
    for (int k = 12; k >= 1; k--)
        sum = fma(-(2 * k - 1) * z, sum, 1.0);
    return one_over_rootpi / x * sum;
}

/* exp(x^2), with the part of x^2 that rounding cuts off put back. */
WEIR_SPECIAL double exp_square(double x)
{
    dd s = two_product(x, x);
    double e = WEIR_LIBM(exp)(s.hi);
    return e < infinity ? fma(e, s.lo, e) : e;
}

WEIR_SPECIAL double erfcx(double x)
{
    if (x >= 10.0)
        return erfcx_large(x);
    if (x < -26.7)
        return infinity;
    return exp_square(x) * WEIR_LIBM(erfc)(x);
}
WEIR_SPECIAL float erfcxf(float x) { return (float)erfcx((double)x); }

/* ---- inverse error functions ---- */

/* |x| <= 1/2: the power series of erfinv to x^7, then two Halley steps on erf(y) = x. */
WEIR_SPECIAL double erfinv_centre(double x)
{
    double z = x * x * pi;
    double y =
        rootpi_half * x * fma(z, fma(z, fma(z, 127.0 / 40320.0, 7.0 / 480.0), 1.0 / 12.0), 1.0);
    for (int i = 0; i < 2; i++) {
        double u = (WEIR_LIBM(erf)(y) - x) * rootpi_half * WEIR_LIBM(exp)(y * y);
        y -= u / fma(y, u, 1.0);
    }
    return y;
}

/* erfcinv for 0 < q <= 1/2. Newton's method on h(y) = ln erfc(y) - ln q = ln erfcx(y) - y^2 - ln q,
 * which is nearly a parabola, so that three steps suffice from 3 digits (Winitzki's closed form);
 * nothing in it underflows, however small q is. */
WEIR_SPECIAL double erfcinv_tail(double q)
{
    const double a = 0.147;
    double l = WEIR_LIBM(log)(q * (2.0 - q));
    double c = 2.0 / (pi * a) + 0.5 * l;
    double y = __builtin_sqrt(__builtin_sqrt(fma(c, c, -l / a)) - c);
    double ln_q = WEIR_LIBM(log)(q);
    for (int i = 0; i < 3; i++) {
        double scaled = erfcx(y);
        dd s = two_product(y, y);
        double h = WEIR_LIBM(log)(scaled) - add_rn(add_rn(s.hi, ln_q), s.lo);
        y += h * scaled * rootpi_half;
    }
    return y;
}

WEIR_SPECIAL double erfinv(double x)
{
    double m = __builtin_fabs(x);
    if (!(m <= 1.0))
        return not_a_number;
    if (m == 1.0)
        return __builtin_copysign(infinity, x);
    if (m <= 0.5)
        return m < 1e-9 ? rootpi_half * x : erfinv_centre(x);
    return __builtin_copysign(erfcinv_tail(1.0 - m), x);
}
WEIR_SPECIAL double erfcinv(double x)
{
    if (!(x >= 0.0 && x <= 2.0))
        return not_a_number;
    if (x == 0.0)
        return infinity;
    if (x == 2.0)
        return -infinity;
    if (x <= 0.5)
        return erfcinv_tail(x);
    if (x >= 1.5)
        return -erfcinv_tail(2.0 - x);
    return erfinv(1.0 - x);
}
WEIR_SPECIAL float erfinvf(float x) { return (float)erfinv((double)x); }
WEIR_SPECIAL float erfcinvf(float x) { return (float)erfcinv((double)x); }

/* ---- normal distribution ---- */

/* erfc(-x / sqrt(2)) / 2. The argument's rounding error counts 2 z^2 times, so it is put back by
 * the derivative, -2/sqrt(pi) exp(-z^2). */
WEIR_SPECIAL double normcdf(double x)
{
    if (x > 40.0)
        return 1.0;
    if (x < -40.0)
        return 0.0;
    double z = -x * sqrt_half;
    double z_low = fma(-x, sqrt_half, -z) - x * sqrt_half_low;
    return 0.5 * fma(-two_over_rootpi * z_low, WEIR_LIBM(exp)(-z * z), WEIR_LIBM(erfc)(z));
}
WEIR_SPECIAL double normcdfinv(double p)
{
    /* 2p is exact, also where p is subnormal */
    return -sqrt_2 * erfcinv(2.0 * p);
}
WEIR_SPECIAL float normcdff(float x) { return (float)normcdf((double)x); }
WEIR_SPECIAL float normcdfinvf(float p) { return (float)normcdfinv((double)p); }

/* ---- modified Bessel functions of the first kind ---- */

/* sum over k of z^k / (k! (k + order)!), z = x^2 / 4, from the smallest term on; all terms are
 * positive, and enough for |x| <= 20. The value's relative error is up to x / 2 times that of z, so
 * z, each factor and the sum carry their rounding errors along. */
WEIR_SPECIAL double bessel_series(double x, int order)
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
WEIR_SPECIAL double bessel_large(double x, int order)
{
    const double exp_32 = 78962960182680.695;
    double sum = 1.0, n2 = 4.0 * order * order;
    for (int k = 28; k >= 1; k--)
        sum = fma(((2 * k - 1) * (2 * k - 1) - n2) / (k * 8.0 * x), sum, 1.0);
    return WEIR_LIBM(exp)(x - 32.0) * (exp_32 / __builtin_sqrt(2.0 * pi * x) * sum);
}

WEIR_SPECIAL double cyl_bessel_i0(double x)
{
    x = __builtin_fabs(x);
    if (x > 20.0)
        return x < 720.0 ? bessel_large(x, 0) : infinity;
    return bessel_series(x, 0);
}
WEIR_SPECIAL double cyl_bessel_i1(double x)
{
    double m = __builtin_fabs(x);
    if (m > 20.0)
        return __builtin_copysign(m < 720.0 ? bessel_large(m, 1) : infinity, x);
    return 0.5 * x * bessel_series(x, 1);
}
WEIR_SPECIAL float cyl_bessel_i0f(float x) { return (float)cyl_bessel_i0((double)x); }
WEIR_SPECIAL float cyl_bessel_i1f(float x) { return (float)cyl_bessel_i1((double)x); }

/* ---- lengths of vectors, reciprocal roots ----
 *
 * No intermediate result over- or underflows, and an infinite component makes the length infinite
 * even beside a NaN. */

WEIR_SPECIAL int exponent_of(double a) { return (int)(bits(a) >> 52 & 0x7ff); }
WEIR_SPECIAL double power_of_two(int n) { return from_bits((u64)(n + 1023) << 52); }
WEIR_SPECIAL double larger(double a, double b) { return a > b ? a : b; }

/* 1 / sqrt(t.hi + t.lo) for a normal, positive t: a first value and one Newton step. */
WEIR_SPECIAL double reciprocal_root(dd t)
{
    double r = 1.0 / __builtin_sqrt(t.hi);
    dd s = two_product(r, r);
    double rest = fma(-t.hi, s.hi, 1.0);
    rest = fma(-t.hi, s.lo, rest);
    rest = fma(-t.lo, s.hi, rest);
    return fma(0.5 * r, rest, r);
}

WEIR_SPECIAL double root(dd t)
{
    double s = __builtin_sqrt(t.hi);
    return s > 0.0 ? s + add_rn(fma(-s, s, t.hi), t.lo) / (2.0 * s) : s;
}

/* Sum of squares of components scaled by a power of two. */
struct squares {
    double scale;
    dd sum;
};
WEIR_SPECIAL squares start_squares(double largest)
{
    int e = exponent_of(largest) - 1023;
    e = e > 1022 ? 1022 : e < -1022 ? -1022 : e;
    return {power_of_two(-e), {0.0, 0.0}};
}
WEIR_SPECIAL void add_square(squares &q, double a)
{
    a = mul_rn(a, q.scale);
    dd p = two_product(a, a), s = two_sum(q.sum.hi, p.hi);
    q.sum = fast_two_sum(s.hi, add_rn(q.sum.lo, add_rn(s.lo, p.lo)));
}
WEIR_SPECIAL double length(const squares &q) { return root(q.sum) / q.scale; }
WEIR_SPECIAL double reciprocal_length(const squares &q)
{
    return mul_rn(reciprocal_root(q.sum), q.scale);
}

/* The results that no arithmetic gives; `largest` is the largest |component|. */
#define WEIR_LENGTH_EDGES(largest, nan_sum, infinite, zero)                                        \
    if ((largest) == infinity)                                                                     \
        return infinite;                                                                           \
    if ((nan_sum) != (nan_sum))                                                                    \
        return (nan_sum);                                                                          \
    if ((largest) == 0.0)                                                                          \
        return zero;

WEIR_SPECIAL double length_of(double a, double b, double c, double d, bool reciprocal)
{
    double m = larger(larger(__builtin_fabs(a), __builtin_fabs(b)),
                      larger(__builtin_fabs(c), __builtin_fabs(d)));
    if (__builtin_fabs(a) == infinity || __builtin_fabs(b) == infinity ||
        __builtin_fabs(c) == infinity || __builtin_fabs(d) == infinity)
        m = infinity;
    double sum = a + b + c + d;
    WEIR_LENGTH_EDGES(m, sum, reciprocal ? 0.0 : infinity, reciprocal ? infinity : 0.0)
    squares q = start_squares(m);
    add_square(q, a);
    add_square(q, b);
    add_square(q, c);
    add_square(q, d);
    return reciprocal ? reciprocal_length(q) : length(q);
}

WEIR_SPECIAL double length_of(int n, const double *v, bool reciprocal)
{
    double m = 0.0, nan = 0.0;
    for (int i = 0; i < n; i++) {
        m = larger(m, __builtin_fabs(v[i]));
        nan = v[i] != v[i] ? v[i] : nan;
    }
    WEIR_LENGTH_EDGES(m, nan, reciprocal ? 0.0 : infinity, reciprocal ? infinity : 0.0)
    squares q = start_squares(m);
    for (int i = 0; i < n; i++)
        add_square(q, v[i]);
    return reciprocal ? reciprocal_length(q) : length(q);
}

WEIR_SPECIAL double norm3d(double a, double b, double c) { return length_of(a, b, c, 0.0, false); }
WEIR_SPECIAL double rnorm3d(double a, double b, double c) { return length_of(a, b, c, 0.0, true); }
WEIR_SPECIAL double norm4d(double a, double b, double c, double d)
{
    return length_of(a, b, c, d, false);
}
WEIR_SPECIAL double rnorm4d(double a, double b, double c, double d)
{
    return length_of(a, b, c, d, true);
}
WEIR_SPECIAL double rhypot(double a, double b) { return length_of(a, b, 0.0, 0.0, true); }
WEIR_SPECIAL double norm(int n, const double *v) { return length_of(n, v, false); }
WEIR_SPECIAL double rnorm(int n, const double *v) { return length_of(n, v, true); }

/* Squares of floats and their sums fit a double's range and, but for the last bits, its precision.
 */
WEIR_SPECIAL bool infinite(float a) { return (bits(a) & 0x7fffffffu) == 0x7f800000u; }
WEIR_SPECIAL double square(float a) { return (double)a * (double)a; }

WEIR_SPECIAL double square_sum(float a, float b, float c, float d)
{
    double sum = square(a) + square(b) + square(c) + square(d);
    return infinite(a) || infinite(b) || infinite(c) || infinite(d) ? infinity : sum;
}
WEIR_SPECIAL double square_sum(int n, const float *v)
{
    double sum = 0.0;
    bool inf = false;
    for (int i = 0; i < n; i++) {
        sum += square(v[i]);
        inf = inf || infinite(v[i]);
    }
    return inf ? infinity : sum;
}
WEIR_SPECIAL float rootf(double t) { return (float)__builtin_sqrt(t); }
WEIR_SPECIAL float reciprocal_rootf(double t) { return (float)(1.0 / __builtin_sqrt(t)); }

WEIR_SPECIAL float norm3df(float a, float b, float c) { return rootf(square_sum(a, b, c, 0.0f)); }
WEIR_SPECIAL float norm4df(float a, float b, float c, float d)
{
    return rootf(square_sum(a, b, c, d));
}
WEIR_SPECIAL float normf(int n, const float *v) { return rootf(square_sum(n, v)); }
WEIR_SPECIAL float rnorm3df(float a, float b, float c)
{
    return reciprocal_rootf(square_sum(a, b, c, 0.0f));
}
WEIR_SPECIAL float rnorm4df(float a, float b, float c, float d)
{
    return reciprocal_rootf(square_sum(a, b, c, d));
}
WEIR_SPECIAL float rnormf(int n, const float *v) { return reciprocal_rootf(square_sum(n, v)); }
WEIR_SPECIAL float rhypotf(float a, float b)
{
    return reciprocal_rootf(square_sum(a, b, 0.0f, 0.0f));
}

WEIR_SPECIAL double rsqrt(double a)
{
    double r = 1.0 / __builtin_sqrt(a);
    return a > 0.0 && a < infinity ? reciprocal_root({a, 0.0}) : r;
}

/* One Newton step on r^-3 = a: r += r * (1 - a r^3) / 3. */
WEIR_SPECIAL double rcbrt(double a)
{
    double r = 1.0 / WEIR_LIBM(cbrt)(a);
    if (r == 0.0 || __builtin_fabs(r) == infinity || r != r)
        return r;
    dd s = two_product(r, r);
    double t = mul_rn(s.hi, r), t_low = fma(s.hi, r, -t) + s.lo * r;
    double rest = fma(-a, t_low, fma(-a, t, 1.0));
    return fma(r * (1.0 / 3.0), rest, r);
}
WEIR_SPECIAL float rcbrtf(float a)
{
    double r = 1.0 / (double)WEIR_LIBM(cbrtf)(a);
    if (r == 0.0 || __builtin_fabs(r) == infinity || r != r)
        return (float)r;
    double rest = 1.0 - (double)a * r * r * r;
    return (float)(r + r * rest * (1.0 / 3.0));
}

#undef WEIR_LENGTH_EDGES

} // namespace special
} // namespace weir

#endif
