/* The overloads that CUDA adds to the C and C++ math functions: min and max of mixed types on both
 * sides, and float forms of CUDA's own functions. */
#ifndef WEIR_MATH_OVERLOADS_H
#define WEIR_MATH_OVERLOADS_H

#define WEIR_BOTH static __inline__ __attribute__((always_inline, host, device))
#define WEIR_HOST static __inline__ __attribute__((always_inline, host))

/* clang's headers define max(int, int) for the device only. */
WEIR_HOST int max(int a, int b) { return a > b ? a : b; }
WEIR_HOST int min(int a, int b) { return a < b ? a : b; }

#define WEIR_MIN_MAX(result, left, right)                                                          \
    WEIR_BOTH result max(left a, right b)                                                          \
    {                                                                                              \
        result x = (result)a, y = (result)b;                                                       \
        return x > y ? x : y;                                                                      \
    }                                                                                              \
    WEIR_BOTH result min(left a, right b)                                                          \
    {                                                                                              \
        result x = (result)a, y = (result)b;                                                       \
        return x < y ? x : y;                                                                      \
    }
WEIR_MIN_MAX(unsigned, unsigned, unsigned)
WEIR_MIN_MAX(unsigned, int, unsigned)
WEIR_MIN_MAX(unsigned, unsigned, int)
WEIR_MIN_MAX(long, long, long)
WEIR_MIN_MAX(unsigned long, unsigned long, unsigned long)
WEIR_MIN_MAX(unsigned long, long, unsigned long)
WEIR_MIN_MAX(unsigned long, unsigned long, long)
WEIR_MIN_MAX(long long, long long, long long)
WEIR_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
WEIR_MIN_MAX(unsigned long long, long long, unsigned long long)
WEIR_MIN_MAX(unsigned long long, unsigned long long, long long)
#undef WEIR_MIN_MAX

/* A NaN argument gives the other argument, as fmin and fmax do. */
WEIR_BOTH float max(float a, float b) { return ::fmaxf(a, b); }
WEIR_BOTH float min(float a, float b) { return ::fminf(a, b); }
WEIR_BOTH double max(double a, double b) { return ::fmax(a, b); }
WEIR_BOTH double min(double a, double b) { return ::fmin(a, b); }
WEIR_BOTH double max(float a, double b) { return ::fmax((double)a, b); }
WEIR_BOTH double min(float a, double b) { return ::fmin((double)a, b); }
WEIR_BOTH double max(double a, float b) { return ::fmax(a, (double)b); }
WEIR_BOTH double min(double a, float b) { return ::fmin(a, (double)b); }

/* ---- the device's; the host has its own (and a compiler that knows no CUDA cannot have both) ---- */

#if !defined(WEIR_HOST_FRONTEND)

/* ---- float forms of the C functions: clang declares them all and defines but a part ---- */

#define WEIR_FLOAT1(result, name)                                                                  \
    WEIR_DEVICE result name(float x) { return name##f(x); }
#define WEIR_FLOAT2(name)                                                                          \
    WEIR_DEVICE float name(float x, float y) { return name##f(x, y); }
WEIR_FLOAT1(float, acosh)
WEIR_FLOAT1(float, asinh)
WEIR_FLOAT1(float, atanh)
WEIR_FLOAT1(float, cbrt)
WEIR_FLOAT1(float, erf)
WEIR_FLOAT1(float, erfc)
WEIR_FLOAT1(float, exp2)
WEIR_FLOAT1(float, expm1)
WEIR_FLOAT1(int, ilogb)
WEIR_FLOAT1(float, lgamma)
WEIR_FLOAT1(long long, llrint)
WEIR_FLOAT1(long long, llround)
WEIR_FLOAT1(float, log1p)
WEIR_FLOAT1(float, log2)
WEIR_FLOAT1(float, logb)
WEIR_FLOAT1(long, lrint)
WEIR_FLOAT1(long, lround)
WEIR_FLOAT1(float, nearbyint)
WEIR_FLOAT1(float, rint)
WEIR_FLOAT1(float, round)
WEIR_FLOAT1(float, tgamma)
WEIR_FLOAT1(float, trunc)
WEIR_FLOAT2(copysign)
WEIR_FLOAT2(fdim)
WEIR_FLOAT2(fmax)
WEIR_FLOAT2(fmin)
WEIR_FLOAT2(hypot)
WEIR_FLOAT2(nextafter)
WEIR_FLOAT2(remainder)
#undef WEIR_FLOAT1
#undef WEIR_FLOAT2
WEIR_DEVICE float fma(float x, float y, float z) { return fmaf(x, y, z); }
WEIR_DEVICE float remquo(float x, float y, int *quotient) { return remquof(x, y, quotient); }
WEIR_DEVICE float scalbn(float x, int n) { return scalbnf(x, n); }
WEIR_DEVICE float scalbln(float x, long n) { return scalblnf(x, n); }
WEIR_DEVICE double nan(const char *) { return __builtin_nan(""); }
WEIR_DEVICE float nanf(const char *) { return __builtin_nanf("0x3fffff"); }

/* ---- float forms of functions that only CUDA has, by overloading ---- */

#define WEIR_FLOAT_FORM(name)                                                                      \
    WEIR_DEVICE float name(float x) { return name##f(x); }
WEIR_FLOAT_FORM(rsqrt)
WEIR_FLOAT_FORM(rcbrt)
WEIR_FLOAT_FORM(sinpi)
WEIR_FLOAT_FORM(cospi)
WEIR_FLOAT_FORM(erfinv)
WEIR_FLOAT_FORM(erfcinv)
WEIR_FLOAT_FORM(erfcx)
WEIR_FLOAT_FORM(normcdf)
WEIR_FLOAT_FORM(normcdfinv)
WEIR_FLOAT_FORM(exp10)
WEIR_FLOAT_FORM(cyl_bessel_i0)
WEIR_FLOAT_FORM(cyl_bessel_i1)
WEIR_FLOAT_FORM(j0)
WEIR_FLOAT_FORM(j1)
WEIR_FLOAT_FORM(y0)
WEIR_FLOAT_FORM(y1)
#undef WEIR_FLOAT_FORM
WEIR_DEVICE float jn(int n, float x) { return jnf(n, x); }
WEIR_DEVICE float yn(int n, float x) { return ynf(n, x); }
WEIR_DEVICE float fdivide(float x, float y) { return fdividef(x, y); }
WEIR_DEVICE void sincos(float x, float *s, float *c) { sincosf(x, s, c); }
WEIR_DEVICE void sincospi(float x, float *s, float *c) { sincospif(x, s, c); }

#endif

#undef WEIR_BOTH
#undef WEIR_HOST

#endif
