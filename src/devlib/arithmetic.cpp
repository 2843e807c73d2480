/* Arithmetic in each rounding, and the functions that are one or a few instructions: rounding to
 * integers, minimum, classification, exponents, fast approximations. */
#include "devlib.h"

#define ROUNDINGS(make) make(rn, rn) make(rz, rz) make(rd, rm) make(ru, rp)

#define ARITHMETIC(r, p)                                                                           \
    FN float __nv_fadd_##r(float a, float b)                                                       \
    {                                                                                              \
        return FTZ(__nvvm_add_##p##_ftz_f(a, b), __nvvm_add_##p##_f(a, b));                        \
    }                                                                                              \
    FN float __nv_fsub_##r(float a, float b)                                                       \
    {                                                                                              \
        return FTZ(__nvvm_add_##p##_ftz_f(a, -b), __nvvm_add_##p##_f(a, -b));                      \
    }                                                                                              \
    FN float __nv_fmul_##r(float a, float b)                                                       \
    {                                                                                              \
        return FTZ(__nvvm_mul_##p##_ftz_f(a, b), __nvvm_mul_##p##_f(a, b));                        \
    }                                                                                              \
    FN float __nv_fdiv_##r(float a, float b)                                                       \
    {                                                                                              \
        return FTZ(__nvvm_div_##p##_ftz_f(a, b), __nvvm_div_##p##_f(a, b));                        \
    }                                                                                              \
    FN float __nv_frcp_##r(float a)                                                                \
    {                                                                                              \
        return FTZ(__nvvm_rcp_##p##_ftz_f(a), __nvvm_rcp_##p##_f(a));                              \
    }                                                                                              \
    FN float __nv_fsqrt_##r(float a)                                                               \
    {                                                                                              \
        return FTZ(__nvvm_sqrt_##p##_ftz_f(a), __nvvm_sqrt_##p##_f(a));                            \
    }                                                                                              \
    FN float __nv_fmaf_##r(float a, float b, float c)                                              \
    {                                                                                              \
        return FTZ(__nvvm_fma_##p##_ftz_f(a, b, c), __nvvm_fma_##p##_f(a, b, c));                  \
    }                                                                                              \
    FN float __nv_fmaf_ieee_##r(float a, float b, float c) { return __nvvm_fma_##p##_f(a, b, c); } \
    FN double __nv_dadd_##r(double a, double b) { return __nvvm_add_##p##_d(a, b); }               \
    FN double __nv_dsub_##r(double a, double b) { return __nvvm_add_##p##_d(a, -b); }              \
    FN double __nv_dmul_##r(double a, double b) { return __nvvm_mul_##p##_d(a, b); }               \
    FN double __nv_ddiv_##r(double a, double b) { return __nvvm_div_##p##_d(a, b); }               \
    FN double __nv_drcp_##r(double a) { return __nvvm_rcp_##p##_d(a); }                            \
    FN double __nv_dsqrt_##r(double a) { return __nvvm_sqrt_##p##_d(a); }                          \
    FN double __nv_fma_##r(double a, double b, double c) { return __nvvm_fma_##p##_d(a, b, c); }
ROUNDINGS(ARITHMETIC)

/* One rounding is enough: 53 bits of 1 / sqrt(a) decide 24, but for cases that do not exist. */
FN float __nv_frsqrt_rn(float a) { return (float)(1.0 / __builtin_sqrt((double)a)); }
FN double __nv_rcp64h(double a) { return __nvvm_rcp_approx_ftz_d(a); }
FN float __nv_saturatef(float a) { return FTZ(__nvvm_saturate_ftz_f(a), __nvvm_saturate_f(a)); }

FN float __nv_fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
FN double __nv_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
FN float __nv_sqrtf(float a) { return __builtin_sqrtf(a); }
FN double __nv_sqrt(double a) { return __builtin_sqrt(a); }
FN float __nv_rsqrtf(float a)
{
    return FTZ(__nvvm_rsqrt_approx_ftz_f(a), __nvvm_rsqrt_approx_f(a));
}

/* ---- rounding to integers, sign, minimum ---- */

#define BOTH1(name)                                                                                \
    FN float __nv_##name##f(float a) { return __builtin_##name##f(a); }                            \
    FN double __nv_##name(double a) { return __builtin_##name(a); }
#define BOTH2(name)                                                                                \
    FN float __nv_##name##f(float a, float b) { return __builtin_##name##f(a, b); }                \
    FN double __nv_##name(double a, double b) { return __builtin_##name(a, b); }
BOTH1(fabs)
BOTH1(ceil)
BOTH1(floor)
BOTH1(trunc)
BOTH1(round)
BOTH1(rint)
BOTH1(nearbyint)
BOTH2(fmin)
BOTH2(fmax)
BOTH2(copysign)

FN long long __nv_llrintf(float a) { return __nvvm_f2ll_rn(a); }
FN long long __nv_llrint(double a) { return __nvvm_d2ll_rn(a); }
FN long long __nv_llroundf(float a) { return __nvvm_f2ll_rz(__builtin_roundf(a)); }
FN long long __nv_llround(double a) { return __nvvm_d2ll_rz(__builtin_round(a)); }

FN float __nv_fdimf(float a, float b) { return a <= b ? 0.0f : a - b; } /* NaN: the difference */
FN double __nv_fdim(double a, double b) { return a <= b ? 0.0 : a - b; }

/* ---- classification: by the bits, which no fast-math option can fool ---- */

FN int __nv_isnanf(float a) { return (bits(a) & 0x7fffffffu) > 0x7f800000u; }
FN int __nv_isnand(double a) { return (bits(a) & ~(1ull << 63)) > 0x7ff0000000000000ull; }
FN int __nv_isinff(float a) { return (bits(a) & 0x7fffffffu) == 0x7f800000u; }
FN int __nv_isinfd(double a) { return (bits(a) & ~(1ull << 63)) == 0x7ff0000000000000ull; }
FN int __nv_finitef(float a) { return (bits(a) & 0x7fffffffu) < 0x7f800000u; }
FN int __nv_isfinited(double a) { return (bits(a) & ~(1ull << 63)) < 0x7ff0000000000000ull; }
FN int __nv_signbitf(float a) { return bits(a) >> 31; }
FN int __nv_signbitd(double a) { return (int)(bits(a) >> 63); }

/* ---- approximations (the instructions that -use_fast_math asks for) ---- */

#define LOG2_E  1.4426950408889634f
#define LOG2_10 3.3219280948873624f
#define LN_2    0.6931471805599453f
#define LOG10_2 0.3010299956639812f

HELPER float ex2(float a) { return FTZ(__nvvm_ex2_approx_ftz_f(a), __nvvm_ex2_approx_f(a)); }
HELPER float lg2(float a) { return FTZ(__nvvm_lg2_approx_ftz_f(a), __nvvm_lg2_approx_f(a)); }
HELPER float divide(float a, float b)
{
    return FTZ(__nvvm_div_approx_ftz_f(a, b), __nvvm_div_approx_f(a, b));
}
FN float __nv_fast_sinf(float a) { return FTZ(__nvvm_sin_approx_ftz_f(a), __nvvm_sin_approx_f(a)); }
FN float __nv_fast_cosf(float a) { return FTZ(__nvvm_cos_approx_ftz_f(a), __nvvm_cos_approx_f(a)); }
FN void __nv_fast_sincosf(float a, float *s, float *c)
{
    *s = __nv_fast_sinf(a);
    *c = __nv_fast_cosf(a);
}
FN float __nv_fast_tanf(float a) { return divide(__nv_fast_sinf(a), __nv_fast_cosf(a)); }
FN float __nv_fast_expf(float a) { return ex2(a * LOG2_E); }
FN float __nv_fast_exp10f(float a) { return ex2(a * LOG2_10); }
FN float __nv_fast_log2f(float a) { return lg2(a); }
FN float __nv_fast_logf(float a) { return lg2(a) * LN_2; }
FN float __nv_fast_log10f(float a) { return lg2(a) * LOG10_2; }
FN float __nv_fast_powf(float a, float b) { return ex2(b * lg2(a)); }
FN float __nv_fast_fdividef(float a, float b) { return divide(a, b); }
