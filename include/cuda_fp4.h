/* cuda_fp4.h: the format e2m1 of 4 bits, two in a byte ("CUDA Math API", FP4 Intrinsics): storage
 * types, classes and conversions, on host and device. There are no infinities and no NaN: what is
 * beyond the largest value becomes that, NaN the positive one. */
#ifndef __CUDA_FP4_H__
#define __CUDA_FP4_H__

typedef unsigned char __nv_fp4_storage_t;
typedef unsigned char __nv_fp4x2_storage_t;
typedef unsigned short int __nv_fp4x4_storage_t;

/* Which format the bits are meant in. */
typedef enum __nv_fp4_interpretation_t { __NV_E2M1 } __nv_fp4_interpretation_t;

#ifdef __cplusplus

#include "cuda_fp6.h" /* as CUDA's does */
#include "weir/tiny_float.h"

namespace weir
{
WEIR_SF tiny_format fp4_format(__nv_fp4_interpretation_t) { return tiny_e2m1; }
template <typename Real> /* float or double */
WEIR_SF __nv_fp4_storage_t fp4(Real x, __nv_fp4_interpretation_t kind, cudaRoundMode mode)
{
    return round_to_tiny(x, fp4_format(kind), true, tiny_rounding(mode));
}
} // namespace weir

/* ---- to fp4 ---- */

WEIR_SF __nv_fp4_storage_t __nv_cvt_double_to_fp4(const double x,
                                                  const __nv_fp4_interpretation_t kind,
                                                  const enum cudaRoundMode mode)
{
    return weir::fp4(x, kind, mode);
}
WEIR_SF __nv_fp4x2_storage_t __nv_cvt_double2_to_fp4x2(const double2 x,
                                                       const __nv_fp4_interpretation_t kind,
                                                       const enum cudaRoundMode mode)
{
    return (__nv_fp4x2_storage_t)(__nv_cvt_double_to_fp4(x.x, kind, mode) |
                                  __nv_cvt_double_to_fp4(x.y, kind, mode) << 4);
}
WEIR_SF __nv_fp4_storage_t __nv_cvt_float_to_fp4(const float x,
                                                 const __nv_fp4_interpretation_t kind,
                                                 const enum cudaRoundMode mode)
{
    return weir::fp4(x, kind, mode);
}
WEIR_SF __nv_fp4x2_storage_t __nv_cvt_float2_to_fp4x2(const float2 x,
                                                      const __nv_fp4_interpretation_t kind,
                                                      const enum cudaRoundMode mode)
{
    return (__nv_fp4x2_storage_t)(weir::fp4(x.x, kind, mode) | weir::fp4(x.y, kind, mode) << 4);
}
WEIR_SF __nv_fp4_storage_t __nv_cvt_halfraw_to_fp4(const __half_raw x,
                                                   const __nv_fp4_interpretation_t kind,
                                                   const enum cudaRoundMode mode)
{
    return weir::fp4(weir::raw_value(x), kind, mode);
}
WEIR_SF __nv_fp4x2_storage_t __nv_cvt_halfraw2_to_fp4x2(const __half2_raw x,
                                                        const __nv_fp4_interpretation_t kind,
                                                        const enum cudaRoundMode mode)
{
    return __nv_cvt_float2_to_fp4x2(__half22float2(__half2(x)), kind, mode);
}
WEIR_SF __nv_fp4_storage_t __nv_cvt_bfloat16raw_to_fp4(const __nv_bfloat16_raw x,
                                                       const __nv_fp4_interpretation_t kind,
                                                       const enum cudaRoundMode mode)
{
    return weir::fp4(weir::raw_value(x), kind, mode);
}
WEIR_SF __nv_fp4x2_storage_t __nv_cvt_bfloat16raw2_to_fp4x2(const __nv_bfloat162_raw x,
                                                            const __nv_fp4_interpretation_t kind,
                                                            const enum cudaRoundMode mode)
{
    return __nv_cvt_float2_to_fp4x2(__bfloat1622float2(__nv_bfloat162(x)), kind, mode);
}

/* ---- from fp4: exact ---- */

WEIR_SF __half_raw __nv_cvt_fp4_to_halfraw(const __nv_fp4_storage_t x,
                                           const __nv_fp4_interpretation_t kind)
{
    return weir::tiny_to_half(x & 0xf, weir::fp4_format(kind));
}
WEIR_SF __half2_raw __nv_cvt_fp4x2_to_halfraw2(const __nv_fp4x2_storage_t x,
                                               const __nv_fp4_interpretation_t kind)
{
    __half2_raw r;
    r.x = __nv_cvt_fp4_to_halfraw((__nv_fp4_storage_t)x, kind).x;
    r.y = __nv_cvt_fp4_to_halfraw((__nv_fp4_storage_t)(x >> 4), kind).x;
    return r;
}

/* ---- classes ---- */

#define WEIR_S    __nv_fp4_storage_t
#define WEIR_S2   __nv_fp4x2_storage_t
#define WEIR_S4   __nv_fp4x4_storage_t
#define WEIR_BITS 4

#define WEIR_T             __nv_fp4_e2m1
#define WEIR_T2            __nv_fp4x2_e2m1
#define WEIR_T4            __nv_fp4x4_e2m1
#define WEIR_ENCODE(value) weir::fp4(value, __NV_E2M1, cudaRoundNearest)
#define WEIR_DECODE(code)  weir::widen_tiny(code, weir::tiny_e2m1)
#include "weir/tiny_float_types.h"

#undef WEIR_S
#undef WEIR_S2
#undef WEIR_S4
#undef WEIR_BITS

#endif
#endif
