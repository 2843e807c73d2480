/* Every mathematical function of CUDA, called once: single and double precision, under its C name,
 * its C++ overload and in namespace std. Compiled only. */
#include <algorithm>
#include <cmath>

__global__ void float_functions(float *p, int *q, const float *v)
{
    float x = p[0], y = p[1], z = p[2], w = p[3], s, c;
    float r = acosf(x) + acoshf(x) + asinf(x) + asinhf(x) + atan2f(x, y) + atanf(x) + atanhf(x) +
              cbrtf(x) + ceilf(x) + copysignf(x, y) + cosf(x) + coshf(x) + cospif(x) +
              cyl_bessel_i0f(x) + cyl_bessel_i1f(x) + erfcf(x) + erfcinvf(x) + erfcxf(x) + erff(x) +
              erfinvf(x) + exp10f(x) + exp2f(x) + expf(x) + expm1f(x) + fabsf(x) + fdimf(x, y) +
              fdividef(x, y) + floorf(x) + fmaf(x, y, z) + fmaxf(x, y) + fminf(x, y) + fmodf(x, y) +
              frexpf(x, q) + hypotf(x, y) + j0f(x) + j1f(x) + jnf(2, x) + ldexpf(x, 3) +
              lgammaf(x) + log10f(x) + log1pf(x) + log2f(x) + logbf(x) + logf(x) + modff(x, &s) +
              nearbyintf(x) + nextafterf(x, y) + norm3df(x, y, z) + norm4df(x, y, z, w) +
              normcdff(x) + normcdfinvf(x) + normf(3, v) + powf(x, y) + rcbrtf(x) +
              remainderf(x, y) + remquof(x, y, q) + rhypotf(x, y) + rintf(x) + rnorm3df(x, y, z) +
              rnorm4df(x, y, z, w) + rnormf(3, v) + roundf(x) + rsqrtf(x) + scalblnf(x, 3) +
              scalbnf(x, 3) + sinf(x) + sinhf(x) + sinpif(x) + sqrtf(x) + tanf(x) + tanhf(x) +
              tgammaf(x) + truncf(x) + y0f(x) + y1f(x) + ynf(2, x) + nanf("");
    sincosf(x, &s, &c);
    r += s + c;
    sincospif(x, &s, &c);
    r += s + c;
    p[4] = r;
    q[1] = ilogbf(x) + (int)llrintf(x) + (int)llroundf(x) + (int)lrintf(x) + (int)lroundf(x) +
           isfinite(x) + isinf(x) + isnan(x) + signbit(x);
}

__global__ void double_functions(double *p, int *q, const double *v)
{
    double x = p[0], y = p[1], z = p[2], w = p[3], s, c;
    double r = acos(x) + acosh(x) + asin(x) + asinh(x) + atan2(x, y) + atan(x) + atanh(x) +
               cbrt(x) + ceil(x) + copysign(x, y) + cos(x) + cosh(x) + cospi(x) + cyl_bessel_i0(x) +
               cyl_bessel_i1(x) + erfc(x) + erfcinv(x) + erfcx(x) + erf(x) + erfinv(x) + exp10(x) +
               exp2(x) + exp(x) + expm1(x) + fabs(x) + fdim(x, y) + fdivide(x, y) + floor(x) +
               fma(x, y, z) + fmax(x, y) + fmin(x, y) + fmod(x, y) + frexp(x, q) + hypot(x, y) +
               j0(x) + j1(x) + jn(2, x) + ldexp(x, 3) + lgamma(x) + log10(x) + log1p(x) + log2(x) +
               logb(x) + log(x) + modf(x, &s) + nearbyint(x) + nextafter(x, y) + norm3d(x, y, z) +
               norm4d(x, y, z, w) + normcdf(x) + normcdfinv(x) + norm(3, v) + pow(x, y) + rcbrt(x) +
               remainder(x, y) + remquo(x, y, q) + rhypot(x, y) + rint(x) + rnorm3d(x, y, z) +
               rnorm4d(x, y, z, w) + rnorm(3, v) + round(x) + rsqrt(x) + scalbln(x, 3) +
               scalbn(x, 3) + sin(x) + sinh(x) + sinpi(x) + sqrt(x) + tan(x) + tanh(x) + tgamma(x) +
               trunc(x) + y0(x) + y1(x) + yn(2, x) + nan("");
    sincos(x, &s, &c);
    r += s + c;
    sincospi(x, &s, &c);
    r += s + c;
    p[4] = r;
    q[1] = ilogb(x) + (int)llrint(x) + (int)llround(x) + (int)lrint(x) + (int)lround(x) +
           isfinite(x) + isinf(x) + isnan(x) + signbit(x);
}

/* The overloads: float by argument type, integers as double, and CUDA's own functions. */
__global__ void overloads(float *p, double *d, int *q)
{
    float x = p[0], y = p[1], s, c;
    p[2] = acos(x) + atan2(x, y) + ceil(x) + cos(x) + exp(x) + fabs(x) + floor(x) + fmod(x, y) +
           log(x) + log10(x) + pow(x, y) + pow(x, 3) + sin(x) + sqrt(x) + tan(x) + cbrt(x) +
           copysign(x, y) + erf(x) + erfc(x) + exp2(x) + expm1(x) + fdim(x, y) + fma(x, y, x) +
           fmax(x, y) + fmin(x, y) + hypot(x, y) + lgamma(x) + log1p(x) + log2(x) + logb(x) +
           nearbyint(x) + nextafter(x, y) + remainder(x, y) + rint(x) + round(x) + scalbn(x, 2) +
           tgamma(x) + trunc(x) + abs(x) + frexp(x, q) + ldexp(x, 2) + modf(x, &s);
    p[3] = rsqrt(x) + rcbrt(x) + sinpi(x) + cospi(x) + erfinv(x) + erfcinv(x) + erfcx(x) +
           normcdf(x) + normcdfinv(x) + exp10(x) + cyl_bessel_i0(x) + cyl_bessel_i1(x) + j0(x) +
           j1(x) + jn(2, x) + y0(x) + y1(x) + yn(2, x) + fdivide(x, y);
    sincos(x, &s, &c);
    p[4] = s + c;
    sincospi(x, &s, &c);
    p[4] += s + c;
    p[5] = std::sin(x) + std::pow(x, y) + std::sqrt(x) + std::abs(x) + std::fma(x, y, x) +
           std::exp(x) + std::log2(x) + std::hypot(x, y) + std::tgamma(x) + std::cbrt(x) +
           std::min(x, y) + std::max(x, y) + std::round(x) + std::fmax(x, y) + std::copysign(x, y);
    d[1] = std::sin(d[0]) + std::pow(d[0], 2) + std::abs(d[0]) + std::floor(d[0]) + sin(q[2]) +
           sqrt(q[3]) + std::sqrt(q[4]) + pow(q[5], q[6]) + log(q[7]) + ceil(q[8]);
    q[9] = std::isnan(x) + std::isinf(d[0]) + std::isfinite(x) + std::signbit(d[0]) +
           std::abs(q[3]) + (int)std::abs((long)q[4]) + (int)llabs(q[3]) + (int)labs(q[3]);
}

__global__ void extrema(float *p, double *d, int *q, unsigned *u, long long *l,
                        unsigned long long *ul, long *n, unsigned long *un)
{
    p[0] = min(p[1], p[2]) + max(p[3], p[4]);
    d[0] = min(d[1], d[2]) + max(d[3], p[4]) + min(p[5], d[4]);
    q[0] = min(q[1], q[2]) + max(q[3], 7);
    u[0] = min(u[1], u[2]) + max(q[3], u[4]) + min(u[5], q[6]);
    l[0] = min(l[1], l[2]) + max(l[3], l[4]);
    ul[0] = min(ul[1], ul[2]) + max(l[3], ul[4]);
    n[0] = min(n[1], n[2]);
    un[0] = max(un[1], un[2]) + min(n[3], un[4]);
    l[5] = llmax(l[1], l[2]) + llmin(l[1], l[2]);
    ul[5] = ullmax(ul[1], ul[2]) + ullmin(ul[1], ul[2]) + umax(u[1], u[2]) + umin(u[1], u[2]);
}

int main()
{
    return min(1, 2) + (int)max(1.0f, 2.0f) + (int)min(1u, 2) + (int)max(3ll, 4ll) +
           (int)max(1.0, 2.0f) + (int)min(1ul, 2ul);
}
