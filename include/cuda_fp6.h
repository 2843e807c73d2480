/* cuda_fp6.h: the formats e2m3 and e3m2 of 6 bits, each in a byte's lower bits ("CUDA Math API",
 * FP6 Intrinsics): storage types, classes and conversions, on host and device. There are no
 * infinities and no NaN: what is beyond the largest value becomes that, NaN the positive one. */
#ifndef __CUDA_FP6_H__
#define __CUDA_FP6_H__

typedef unsigned char __nv_fp6_storage_t;
typedef unsigned short int __nv_fp6x2_storage_t;
typedef unsigned int __nv_fp6x4_storage_t;

/* Which format the bits are meant in. */
typedef enum __nv_fp6_interpretation_t { __NV_E2M3, __NV_E3M2 } __nv_fp6_interpretation_t;

#ifdef __cplusplus

#include "cuda_fp8.h" /* as CUDA's does */
#include "weir/tiny_float.h"

namespace weir
{
WEIR_SF tiny_format fp6_format(__nv_fp6_interpretation_t kind)
{
    return kind == __NV_E2M3 ? tiny_e2m3 : tiny_e3m2;
}
template <typename Real> /* float or double */
WEIR_SF __nv_fp6_storage_t fp6(Real x, __nv_fp6_interpretation_t kind, cudaRoundMode mode)
{
    return round_to_tiny(x, fp6_format(kind), true, tiny_rounding(mode));
}
} // namespace weir

/* ---- to fp6 ---- */

WEIR_SF __nv_fp6_storage_t __nv_cvt_double_to_fp6(const double x,
                                                  const __nv_fp6_interpretation_t kind,
                                                  const enum cudaRoundMode mode)
{
    return weir::fp6(x, kind, mode);
}
WEIR_SF __nv_fp6x2_storage_t __nv_cvt_double2_to_fp6x2(const double2 x,
                                                       const __nv_fp6_interpretation_t kind,
                                                       const enum cudaRoundMode mode)
{
    return (__nv_fp6x2_storage_t)(__nv_cvt_double_to_fp6(x.x, kind, mode) |
                                  __nv_cvt_double_to_fp6(x.y, kind, mode) << 8);
}
WEIR_SF __nv_fp6_storage_t __nv_cvt_float_to_fp6(const float x,
                                                 const __nv_fp6_interpretation_t kind,
                                                 const enum cudaRoundMode mode)
{
    return weir::fp6(x, kind, mode);
}
WEIR_SF __nv_fp6x2_storage_t __nv_cvt_float2_to_fp6x2(const float2 x,
                                                      const __nv_fp6_interpretation_t kind,
                                                      const enum cudaRoundMode mode)
{
    return (__nv_fp6x2_storage_t)(weir::fp6(x.x, kind, mode) | weir::fp6(x.y, kind, mode) << 8);
}
WEIR_SF __nv_fp6_storage_t __nv_cvt_halfraw_to_fp6(const __half_raw x,
                                                   const __nv_fp6_interpretation_t kind,
                                                   const enum cudaRoundMode mode)
{
    return weir::fp6(weir::raw_value(x), kind, mode);
}
WEIR_SF __nv_fp6x2_storage_t __nv_cvt_halfraw2_to_fp6x2(const __half2_raw x,
                                                        const __nv_fp6_interpretation_t kind,
                                                        const enum cudaRoundMode mode)
{
    return __nv_cvt_float2_to_fp6x2(__half22float2(__half2(x)), kind, mode);
}
WEIR_SF __nv_fp6_storage_t __nv_cvt_bfloat16raw_to_fp6(const __nv_bfloat16_raw x,
                                                       const __nv_fp6_interpretation_t kind,
                                                       const enum cudaRoundMode mode)
{
    return weir::fp6(weir::raw_value(x), kind, mode);
}
WEIR_SF __nv_fp6x2_storage_t __nv_cvt_bfloat16raw2_to_fp6x2(const __nv_bfloat162_raw x,
                                                            const __nv_fp6_interpretation_t kind,
                                                            const enum cudaRoundMode mode)
{
    return __nv_cvt_float2_to_fp6x2(__bfloat1622float2(__nv_bfloat162(x)), kind, mode);
}

/* ---- from fp6: exact ---- */

WEIR_SF __half_raw __nv_cvt_fp6_to_halfraw(const __nv_fp6_storage_t x,
                                           const __nv_fp6_interpretation_t kind)
{
    return weir::tiny_to_half(x, weir::fp6_format(kind));
}
WEIR_SF __half2_raw __nv_cvt_fp6x2_to_halfraw2(const __nv_fp6x2_storage_t x,
                                               const __nv_fp6_interpretation_t kind)
{
    __half2_raw r;
    r.x = __nv_cvt_fp6_to_halfraw((__nv_fp6_storage_t)x, kind).x;
    r.y = __nv_cvt_fp6_to_halfraw((__nv_fp6_storage_t)(x >> 8), kind).x;
    return r;
}

/* ---- classes ---- */

#define WEIR_S    __nv_fp6_storage_t
#define WEIR_S2   __nv_fp6x2_storage_t
#define WEIR_S4   __nv_fp6x4_storage_t
#define WEIR_BITS 8

#define WEIR_T             __nv_fp6_e3m2
#define WEIR_T2            __nv_fp6x2_e3m2
#define WEIR_T4            __nv_fp6x4_e3m2
#define WEIR_ENCODE(value) weir::fp6(value, __NV_E3M2, cudaRoundNearest)
#define WEIR_DECODE(code)  weir::widen_tiny(code, weir::tiny_e3m2)
#include "weir/tiny_float_types.h"

#define WEIR_T             __nv_fp6_e2m3
#define WEIR_T2            __nv_fp6x2_e2m3
#define WEIR_T4            __nv_fp6x4_e2m3
#define WEIR_ENCODE(value) weir::fp6(value, __NV_E2M3, cudaRoundNearest)
#define WEIR_DECODE(code)  weir::widen_tiny(code, weir::tiny_e2m3)
#include "weir/tiny_float_types.h"

#undef WEIR_S
#undef WEIR_S2
#undef WEIR_S4
#undef WEIR_BITS

#endif
#endif
