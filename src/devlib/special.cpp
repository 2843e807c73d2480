/* The special functions, lengths and reciprocal roots under the names clang calls: their source is
 * the one that the host side uses, include/weir/special_functions.h. */
#include "devlib.h"

#define WEIR_SPECIAL      HELPER
#define WEIR_LIBM(name)   __nv_##name
#define WEIR_MUL_RN(a, b) __nvvm_mul_rn_d(a, b)
#define WEIR_ADD_RN(a, b) __nvvm_add_rn_d(a, b)
#include "../../include/weir/special_functions.h"

using namespace weir;

FN double __nv_erfcx(double x) { return special::erfcx(x); }
FN float __nv_erfcxf(float x) { return special::erfcxf(x); }
FN double __nv_erfinv(double x) { return special::erfinv(x); }
FN double __nv_erfcinv(double x) { return special::erfcinv(x); }
FN float __nv_erfinvf(float x) { return special::erfinvf(x); }
FN float __nv_erfcinvf(float x) { return special::erfcinvf(x); }
FN double __nv_normcdf(double x) { return special::normcdf(x); }
FN double __nv_normcdfinv(double p) { return special::normcdfinv(p); }
FN float __nv_normcdff(float x) { return special::normcdff(x); }
FN float __nv_normcdfinvf(float p) { return special::normcdfinvf(p); }
FN double __nv_cyl_bessel_i0(double x) { return special::cyl_bessel_i0(x); }
FN double __nv_cyl_bessel_i1(double x) { return special::cyl_bessel_i1(x); }
FN float __nv_cyl_bessel_i0f(float x) { return special::cyl_bessel_i0f(x); }
FN float __nv_cyl_bessel_i1f(float x) { return special::cyl_bessel_i1f(x); }

FN double __nv_norm3d(double a, double b, double c) { return special::norm3d(a, b, c); }
FN double __nv_rnorm3d(double a, double b, double c) { return special::rnorm3d(a, b, c); }
FN double __nv_norm4d(double a, double b, double c, double d)
{
    return special::norm4d(a, b, c, d);
}
FN double __nv_rnorm4d(double a, double b, double c, double d)
{
    return special::rnorm4d(a, b, c, d);
}
FN double __nv_rhypot(double a, double b) { return special::rhypot(a, b); }
FN double __nv_norm(int n, const double *v) { return special::norm(n, v); }
FN double __nv_rnorm(int n, const double *v) { return special::rnorm(n, v); }
FN float __nv_norm3df(float a, float b, float c) { return special::norm3df(a, b, c); }
FN float __nv_norm4df(float a, float b, float c, float d) { return special::norm4df(a, b, c, d); }
FN float __nv_normf(int n, const float *v) { return special::normf(n, v); }
FN float __nv_rnorm3df(float a, float b, float c) { return special::rnorm3df(a, b, c); }
FN float __nv_rnorm4df(float a, float b, float c, float d) { return special::rnorm4df(a, b, c, d); }
FN float __nv_rnormf(int n, const float *v) { return special::rnormf(n, v); }
FN float __nv_rhypotf(float a, float b) { return special::rhypotf(a, b); }
FN double __nv_rsqrt(double a) { return special::rsqrt(a); }
FN double __nv_rcbrt(double a) { return special::rcbrt(a); }
FN float __nv_rcbrtf(float a) { return special::rcbrtf(a); }
