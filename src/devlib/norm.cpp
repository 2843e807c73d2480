/* Lengths of vectors and reciprocal roots: norm, norm3d, norm4d, their reciprocals, rhypot, rsqrt,
 * rcbrt, and powi. No intermediate result over- or underflows, and an infinite component makes the
 * length infinite even beside a NaN. */
#include "devlib.h"

HELPER int exponent_of(double a) { return (int)(bits(a) >> 52 & 0x7ff); }
HELPER double power_of_two(int n) { return from_bits((u64)(n + 1023) << 52); }
HELPER double larger(double a, double b) { return a > b ? a : b; }

/* 1 / sqrt(t.hi + t.lo) for a normal, positive t: a first value and one Newton step. */
HELPER double reciprocal_root(dd t)
{
    double r = 1.0 / __builtin_sqrt(t.hi);
    dd s = two_product(r, r);
    double rest = fma(-t.hi, s.hi, 1.0);
    rest = fma(-t.hi, s.lo, rest);
    rest = fma(-t.lo, s.hi, rest);
    return fma(0.5 * r, rest, r);
}

HELPER double root(dd t)
{
    double s = __builtin_sqrt(t.hi);
    return s > 0.0 ? s + add_rn(fma(-s, s, t.hi), t.lo) / (2.0 * s) : s;
}

/* Sum of squares of components scaled by a power of two. */
struct squares {
    double scale;
    dd sum;
};
HELPER squares start_squares(double largest)
{
    int e = exponent_of(largest) - 1023;
    e = e > 1022 ? 1022 : e < -1022 ? -1022 : e;
    return {power_of_two(-e), {0.0, 0.0}};
}
HELPER void add_square(squares &q, double a)
{
    a = mul_rn(a, q.scale);
    dd p = two_product(a, a), s = two_sum(q.sum.hi, p.hi);
    q.sum = fast_two_sum(s.hi, add_rn(q.sum.lo, add_rn(s.lo, p.lo)));
}
HELPER double length(const squares &q) { return root(q.sum) / q.scale; }
HELPER double reciprocal_length(const squares &q)
{
    return mul_rn(reciprocal_root(q.sum), q.scale);
}

/* The results that no arithmetic gives; `largest` is the largest |component|. */
#define SPECIAL(largest, nan_sum, infinite, zero)                                                  \
    if ((largest) == INFD)                                                                         \
        return infinite;                                                                           \
    if ((nan_sum) != (nan_sum))                                                                    \
        return (nan_sum);                                                                          \
    if ((largest) == 0.0)                                                                          \
        return zero;

#define ABS __builtin_fabs

HELPER double length_of(double a, double b, double c, double d, bool reciprocal)
{
    double m = larger(larger(ABS(a), ABS(b)), larger(ABS(c), ABS(d)));
    if (ABS(a) == INFD || ABS(b) == INFD || ABS(c) == INFD || ABS(d) == INFD)
        m = INFD;
    double sum = a + b + c + d;
    SPECIAL(m, sum, reciprocal ? 0.0 : INFD, reciprocal ? INFD : 0.0)
    squares q = start_squares(m);
    add_square(q, a);
    add_square(q, b);
    add_square(q, c);
    add_square(q, d);
    return reciprocal ? reciprocal_length(q) : length(q);
}

HELPER double length_of(int n, const double *v, bool reciprocal)
{
    double m = 0.0, nan = 0.0;
    for (int i = 0; i < n; i++) {
        m = larger(m, ABS(v[i]));
        nan = v[i] != v[i] ? v[i] : nan;
    }
    SPECIAL(m, nan, reciprocal ? 0.0 : INFD, reciprocal ? INFD : 0.0)
    squares q = start_squares(m);
    for (int i = 0; i < n; i++)
        add_square(q, v[i]);
    return reciprocal ? reciprocal_length(q) : length(q);
}

FN double __nv_norm3d(double a, double b, double c) { return length_of(a, b, c, 0.0, false); }
FN double __nv_rnorm3d(double a, double b, double c) { return length_of(a, b, c, 0.0, true); }
FN double __nv_norm4d(double a, double b, double c, double d)
{
    return length_of(a, b, c, d, false);
}
FN double __nv_rnorm4d(double a, double b, double c, double d)
{
    return length_of(a, b, c, d, true);
}
FN double __nv_rhypot(double a, double b) { return length_of(a, b, 0.0, 0.0, true); }
FN double __nv_norm(int n, const double *v) { return length_of(n, v, false); }
FN double __nv_rnorm(int n, const double *v) { return length_of(n, v, true); }

/* Squares of floats and their sums fit a double's range and, but for the last bits, its precision.
 */
HELPER bool infinite(float a) { return (bits(a) & 0x7fffffffu) == 0x7f800000u; }
HELPER double square(float a) { return (double)a * (double)a; }

HELPER double square_sum(float a, float b, float c, float d)
{
    double sum = square(a) + square(b) + square(c) + square(d);
    return infinite(a) || infinite(b) || infinite(c) || infinite(d) ? INFD : sum;
}
HELPER double square_sum(int n, const float *v)
{
    double sum = 0.0;
    bool inf = false;
    for (int i = 0; i < n; i++) {
        sum += square(v[i]);
        inf = inf || infinite(v[i]);
    }
    return inf ? INFD : sum;
}
HELPER float rootf(double t) { return (float)__builtin_sqrt(t); }
HELPER float reciprocal_rootf(double t) { return (float)(1.0 / __builtin_sqrt(t)); }

FN float __nv_norm3df(float a, float b, float c) { return rootf(square_sum(a, b, c, 0.0f)); }
FN float __nv_norm4df(float a, float b, float c, float d) { return rootf(square_sum(a, b, c, d)); }
FN float __nv_normf(int n, const float *v) { return rootf(square_sum(n, v)); }
FN float __nv_rnorm3df(float a, float b, float c)
{
    return reciprocal_rootf(square_sum(a, b, c, 0.0f));
}
FN float __nv_rnorm4df(float a, float b, float c, float d)
{
    return reciprocal_rootf(square_sum(a, b, c, d));
}
FN float __nv_rnormf(int n, const float *v) { return reciprocal_rootf(square_sum(n, v)); }
FN float __nv_rhypotf(float a, float b) { return reciprocal_rootf(square_sum(a, b, 0.0f, 0.0f)); }

FN double __nv_rsqrt(double a)
{
    double r = 1.0 / __builtin_sqrt(a);
    return a > 0.0 && a < INFD ? reciprocal_root({a, 0.0}) : r;
}

/* One Newton step on r^-3 = a: r += r * (1 - a r^3) / 3. */
FN double __nv_rcbrt(double a)
{
    double r = 1.0 / __nv_cbrt(a);
    if (r == 0.0 || ABS(r) == INFD || r != r)
        return r;
    dd s = two_product(r, r);
    double t = mul_rn(s.hi, r), t_low = fma(s.hi, r, -t) + s.lo * r;
    double rest = fma(-a, t_low, fma(-a, t, 1.0));
    return fma(r * (1.0 / 3.0), rest, r);
}
FN float __nv_rcbrtf(float a)
{
    double r = 1.0 / (double)__nv_cbrtf(a);
    if (r == 0.0 || ABS(r) == INFD || r != r)
        return (float)r;
    double rest = 1.0 - (double)a * r * r * r;
    return (float)(r + r * rest * (1.0 / 3.0));
}

/* ---- powers by an integer ---- */

HELPER double power_by_squaring(double a, u32 n)
{
    double r = 1.0;
    for (; n; n >>= 1) {
        if (n & 1)
            r *= a;
        if (n > 1)
            a *= a;
    }
    return r;
}
/* A double's 29 spare bits hold what up to 2^28 products lose. The negative power is taken of the
 * reciprocal's power, so that nothing overflows on the way to a subnormal result. */
FN float __nv_powif(float a, int n)
{
    double r = power_by_squaring((double)a, n < 0 ? 0u - (u32)n : (u32)n);
    return (float)(n < 0 ? 1.0 / r : r);
}
FN double __nv_powi(double a, int n)
{
    if (__builtin_constant_p(n) && n >= 0 && n <= 3)
        return power_by_squaring(a, (u32)n);
    return __nv_pow(a, (double)n);
}
