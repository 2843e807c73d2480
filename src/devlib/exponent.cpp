/* Functions on the parts of a floating-point number: frexp, ldexp, modf, logb, nextafter, nan. */
#include "devlib.h"

/* ---- double ---- */

HELPER int exponent_of(double a) { return (int)(bits(a) >> 52 & 0x7ff); }

/* 2^n for -1022 <= n <= 1023 */
HELPER double power_of_two(int n) { return from_bits((u64)(n + 1023) << 52); }

/* Three factors reach from the largest number to the smallest subnormal; only the last rounds,
 * because the first two never leave the normal range by more than the last brings back. */
FN double __nv_ldexp(double a, int n)
{
    n = n < -2200 ? -2200 : n > 2200 ? 2200 : n;
    if (n > 1023) {
        a = mul_rn(a, power_of_two(1023));
        n -= 1023;
        if (n > 1023) {
            a = mul_rn(a, power_of_two(1023));
            n -= 1023;
            n = n > 1023 ? 1023 : n;
        }
    } else if (n < -1022) {
        /* 2^-969 = 2^-1022 * 2^53: stay normal, so that only the last product rounds */
        a = mul_rn(a, power_of_two(-969));
        n += 969;
        if (n < -1022) {
            a = mul_rn(a, power_of_two(-969));
            n += 969;
            n = n < -1022 ? -1022 : n;
        }
    }
    return mul_rn(a, power_of_two(n));
}
FN double __nv_scalbn(double a, int n) { return __nv_ldexp(a, n); }

FN double __nv_frexp(double a, int *e)
{
    int biased = exponent_of(a);
    if (biased == 0x7ff || a == 0.0) {
        *e = 0;
        return a + a; /* quiets a NaN, keeps zeros and infinities */
    }
    int shift = 0;
    if (biased == 0) {
        a = a * 0x1p54;
        biased = exponent_of(a);
        shift = 54;
    }
    *e = biased - 1022 - shift;
    return from_bits((bits(a) & 0x800fffffffffffffull) | 0x3fe0000000000000ull);
}

FN int __nv_ilogb(double a)
{
    u64 m = bits(a) & ~(1ull << 63);
    if (m == 0)
        return -2147483647 - 1;
    int biased = (int)(m >> 52);
    if (biased == 0x7ff)
        return m == 0x7ff0000000000000ull ? 2147483647 : -2147483647 - 1;
    return biased ? biased - 1023 : -1011 - __builtin_clzll(m);
}

FN double __nv_logb(double a)
{
    u64 m = bits(a) & ~(1ull << 63);
    if (m == 0)
        return -INFD;
    if (m >= 0x7ff0000000000000ull)
        return a * a;
    return (double)__nv_ilogb(a);
}

FN double __nv_modf(double a, double *integral)
{
    double t = __builtin_trunc(a);
    *integral = t;
    double rest = (bits(a) & ~(1ull << 63)) == 0x7ff0000000000000ull ? 0.0 : a - t;
    return __builtin_copysign(rest, a);
}

FN double __nv_nextafter(double a, double b)
{
    if (a != a || b != b)
        return a + b;
    if (a == b)
        return b;
    u64 i = bits(a);
    if (a == 0.0)
        return from_bits((bits(b) & 1ull << 63) | 1);
    return from_bits((a < b) == (a > 0.0) ? i + 1 : i - 1);
}

/* The tag's digits may set the payload in C; CUDA gives the default quiet NaN. */
FN double __nv_nan(const signed char *) { return from_bits(0x7ff8000000000000ull); }

/* ---- float ---- */

HELPER int exponent_of(float a) { return (int)(bits(a) >> 23 & 0xff); }

/* The double product is exact, so that the only rounding is the one to float. */
FN float __nv_ldexpf(float a, int n)
{
    n = n < -320 ? -320 : n > 320 ? 320 : n;
    return (float)mul_rn((double)a, power_of_two(n));
}
FN float __nv_scalbnf(float a, int n) { return __nv_ldexpf(a, n); }

FN float __nv_frexpf(float a, int *e)
{
    int biased = exponent_of(a);
    if (biased == 0xff || a == 0.0f) {
        *e = 0;
        return a + a;
    }
    int shift = 0;
    if (biased == 0) {
        a = a * 0x1p25f;
        biased = exponent_of(a);
        shift = 25;
    }
    *e = biased - 126 - shift;
    return from_bits((bits(a) & 0x807fffffu) | 0x3f000000u);
}

FN int __nv_ilogbf(float a)
{
    u32 m = bits(a) & 0x7fffffffu;
    if (m == 0)
        return -2147483647 - 1;
    int biased = (int)(m >> 23);
    if (biased == 0xff)
        return m == 0x7f800000u ? 2147483647 : -2147483647 - 1;
    return biased ? biased - 127 : -118 - __builtin_clz(m);
}

FN float __nv_logbf(float a)
{
    u32 m = bits(a) & 0x7fffffffu;
    if (m == 0)
        return -__builtin_inff();
    if (m >= 0x7f800000u)
        return a * a;
    return (float)__nv_ilogbf(a);
}

FN float __nv_modff(float a, float *integral)
{
    float t = __builtin_truncf(a);
    *integral = t;
    float rest = (bits(a) & 0x7fffffffu) == 0x7f800000u ? 0.0f : a - t;
    return __builtin_copysignf(rest, a);
}

FN float __nv_nextafterf(float a, float b)
{
    if (a != a || b != b)
        return a + b;
    if (a == b)
        return b;
    u32 i = bits(a);
    if (a == 0.0f)
        return from_bits((bits(b) & 0x80000000u) | 1);
    return from_bits((a < b) == (a > 0.0f) ? i + 1 : i - 1);
}

FN float __nv_nanf(const signed char *) { return from_bits(0x7fffffffu); }
