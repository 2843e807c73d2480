/* The device functions that stay calls in the PTX, for the JIT to bind to vector math: declared
 * here, before clang's own header does, as functions that depend on nothing but their arguments, so
 * that clang may drop, merge and hoist their calls. src/devlib/externs.txt is the same list. */
#ifndef WEIR_DEVICE_LIBM_H
#define WEIR_DEVICE_LIBM_H

#define WEIR_PURE extern "C" __attribute__((device, const, nothrow))

WEIR_PURE double __nv_acos(double);
WEIR_PURE float __nv_acosf(float);
WEIR_PURE double __nv_acosh(double);
WEIR_PURE float __nv_acoshf(float);
WEIR_PURE double __nv_asin(double);
WEIR_PURE float __nv_asinf(float);
WEIR_PURE double __nv_asinh(double);
WEIR_PURE float __nv_asinhf(float);
WEIR_PURE double __nv_atan(double);
WEIR_PURE float __nv_atanf(float);
WEIR_PURE double __nv_atan2(double, double);
WEIR_PURE float __nv_atan2f(float, float);
WEIR_PURE double __nv_atanh(double);
WEIR_PURE float __nv_atanhf(float);
WEIR_PURE double __nv_cbrt(double);
WEIR_PURE float __nv_cbrtf(float);
WEIR_PURE double __nv_cos(double);
WEIR_PURE float __nv_cosf(float);
WEIR_PURE double __nv_cosh(double);
WEIR_PURE float __nv_coshf(float);
WEIR_PURE double __nv_cospi(double);
WEIR_PURE float __nv_cospif(float);
WEIR_PURE double __nv_erf(double);
WEIR_PURE float __nv_erff(float);
WEIR_PURE double __nv_erfc(double);
WEIR_PURE float __nv_erfcf(float);
WEIR_PURE double __nv_exp(double);
WEIR_PURE float __nv_expf(float);
WEIR_PURE double __nv_exp10(double);
WEIR_PURE float __nv_exp10f(float);
WEIR_PURE double __nv_exp2(double);
WEIR_PURE float __nv_exp2f(float);
WEIR_PURE double __nv_expm1(double);
WEIR_PURE float __nv_expm1f(float);
WEIR_PURE double __nv_fmod(double, double);
WEIR_PURE float __nv_fmodf(float, float);
WEIR_PURE double __nv_hypot(double, double);
WEIR_PURE float __nv_hypotf(float, float);
WEIR_PURE double __nv_j0(double);
WEIR_PURE float __nv_j0f(float);
WEIR_PURE double __nv_j1(double);
WEIR_PURE float __nv_j1f(float);
WEIR_PURE double __nv_jn(int, double);
WEIR_PURE float __nv_jnf(int, float);
WEIR_PURE double __nv_lgamma(double);
WEIR_PURE float __nv_lgammaf(float);
WEIR_PURE double __nv_log(double);
WEIR_PURE float __nv_logf(float);
WEIR_PURE double __nv_log10(double);
WEIR_PURE float __nv_log10f(float);
WEIR_PURE double __nv_log1p(double);
WEIR_PURE float __nv_log1pf(float);
WEIR_PURE double __nv_log2(double);
WEIR_PURE float __nv_log2f(float);
WEIR_PURE double __nv_pow(double, double);
WEIR_PURE float __nv_powf(float, float);
WEIR_PURE double __nv_sin(double);
WEIR_PURE float __nv_sinf(float);
WEIR_PURE double __nv_sinh(double);
WEIR_PURE float __nv_sinhf(float);
WEIR_PURE double __nv_sinpi(double);
WEIR_PURE float __nv_sinpif(float);
WEIR_PURE double __nv_tan(double);
WEIR_PURE float __nv_tanf(float);
WEIR_PURE double __nv_tanh(double);
WEIR_PURE float __nv_tanhf(float);
WEIR_PURE double __nv_tgamma(double);
WEIR_PURE float __nv_tgammaf(float);
WEIR_PURE double __nv_y0(double);
WEIR_PURE float __nv_y0f(float);
WEIR_PURE double __nv_y1(double);
WEIR_PURE float __nv_y1f(float);
WEIR_PURE double __nv_yn(int, double);
WEIR_PURE float __nv_ynf(int, float);

#undef WEIR_PURE

#endif
