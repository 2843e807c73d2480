/* CUDA's own mathematical functions on the host: what nvcc gives host code in a CUDA source and the
 * C library has not. */
#ifndef WEIR_HOST_MATH_H
#define WEIR_HOST_MATH_H

#define WEIR_HOST static __inline__ __attribute__((host, unused))

#define WEIR_SPECIAL      WEIR_HOST
#define WEIR_LIBM(name)   ::name
#define WEIR_MUL_RN(a, b) ((a) * (b))
#define WEIR_ADD_RN(a, b) ((a) + (b))
#include "weir/special_functions.h"
#undef WEIR_SPECIAL
#undef WEIR_LIBM
#undef WEIR_MUL_RN
#undef WEIR_ADD_RN

/* Under its name and, with an f or by overloading, for float. */
#define WEIR_HOST1(name)                                                                           \
    WEIR_HOST double name(double x) { return weir::special::name(x); }                             \
    WEIR_HOST float name##f(float x) { return weir::special::name##f(x); }                         \
    WEIR_HOST float name(float x) { return weir::special::name##f(x); }
WEIR_HOST1(erfinv)
WEIR_HOST1(erfcinv)
WEIR_HOST1(erfcx)
WEIR_HOST1(normcdf)
WEIR_HOST1(normcdfinv)
WEIR_HOST1(cyl_bessel_i0)
WEIR_HOST1(cyl_bessel_i1)
WEIR_HOST1(rcbrt)
#undef WEIR_HOST1

WEIR_HOST double rsqrt(double x) { return weir::special::rsqrt(x); }
WEIR_HOST float rsqrtf(float x) { return (float)(1.0 / ::sqrt((double)x)); }
WEIR_HOST float rsqrt(float x) { return rsqrtf(x); }

WEIR_HOST double rhypot(double x, double y) { return weir::special::rhypot(x, y); }
WEIR_HOST float rhypotf(float x, float y) { return weir::special::rhypotf(x, y); }
WEIR_HOST double norm3d(double x, double y, double z) { return weir::special::norm3d(x, y, z); }
WEIR_HOST float norm3df(float x, float y, float z) { return weir::special::norm3df(x, y, z); }
WEIR_HOST double rnorm3d(double x, double y, double z) { return weir::special::rnorm3d(x, y, z); }
WEIR_HOST float rnorm3df(float x, float y, float z) { return weir::special::rnorm3df(x, y, z); }
WEIR_HOST double norm4d(double x, double y, double z, double w)
{
    return weir::special::norm4d(x, y, z, w);
}
WEIR_HOST float norm4df(float x, float y, float z, float w)
{
    return weir::special::norm4df(x, y, z, w);
}
WEIR_HOST double rnorm4d(double x, double y, double z, double w)
{
    return weir::special::rnorm4d(x, y, z, w);
}
WEIR_HOST float rnorm4df(float x, float y, float z, float w)
{
    return weir::special::rnorm4df(x, y, z, w);
}
WEIR_HOST double norm(int n, const double *v) { return weir::special::norm(n, v); }
WEIR_HOST float normf(int n, const float *v) { return weir::special::normf(n, v); }
WEIR_HOST double rnorm(int n, const double *v) { return weir::special::rnorm(n, v); }
WEIR_HOST float rnormf(int n, const float *v) { return weir::special::rnormf(n, v); }

WEIR_HOST double fdivide(double x, double y) { return x / y; }
WEIR_HOST float fdividef(float x, float y) { return x / y; }
WEIR_HOST float fdivide(float x, float y) { return x / y; }

/* sin and cos of pi x. x is brought within 1/4 of a multiple of 1/2, exactly; which multiple it is
 * says which function is left, and its sign. */
WEIR_HOST void sincospi(double x, double *s, double *c)
{
    const double pi = 3.1415926535897931;
    double n = ::rint(2.0 * x), r = pi * (x - 0.5 * n);
    double sr = ::sin(r), cr = ::cos(r);
    /* from 2^53 on every x is even, where n would not fit an integer */
    switch (::fabs(x) < 0x1p53 ? (int)((long long)n & 3) : 0) {
    case 0: *s = sr, *c = cr; break;
    case 1: *s = cr, *c = -sr; break;
    case 2: *s = -sr, *c = -cr; break;
    default: *s = -cr, *c = sr; break;
    }
    if (x == ::rint(x))
        *s = ::copysign(0.0, x);
    if (x - x != 0.0)
        *s = *c = x - x; /* infinities and NaN */
}
WEIR_HOST double sinpi(double x)
{
    double s, c;
    sincospi(x, &s, &c);
    return s;
}
WEIR_HOST double cospi(double x)
{
    double s, c;
    sincospi(x, &s, &c);
    return c + 0.0;
}
WEIR_HOST float sinpif(float x) { return (float)sinpi((double)x); }
WEIR_HOST float cospif(float x) { return (float)cospi((double)x); }
WEIR_HOST float sinpi(float x) { return sinpif(x); }
WEIR_HOST float cospi(float x) { return cospif(x); }
WEIR_HOST void sincospif(float x, float *s, float *c) { *s = sinpif(x), *c = cospif(x); }
WEIR_HOST void sincospi(float x, float *s, float *c) { sincospif(x, s, c); }
WEIR_HOST void sincos(float x, float *s, float *c) { *s = ::sinf(x), *c = ::cosf(x); }
WEIR_HOST float exp10(float x) { return ::exp10f(x); }

WEIR_HOST unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
WEIR_HOST unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }
WEIR_HOST long long llmin(long long a, long long b) { return a < b ? a : b; }
WEIR_HOST long long llmax(long long a, long long b) { return a > b ? a : b; }
WEIR_HOST unsigned long long ullmin(unsigned long long a, unsigned long long b)
{
    return a < b ? a : b;
}
WEIR_HOST unsigned long long ullmax(unsigned long long a, unsigned long long b)
{
    return a > b ? a : b;
}

#undef WEIR_HOST

#endif
