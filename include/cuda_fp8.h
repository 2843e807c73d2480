/* cuda_fp8.h: the formats e4m3 and e5m2 of 8 bits and the scale factor e8m0 ("CUDA Math API", FP8
 * Intrinsics): storage types, classes and conversions, on host and device. */
#ifndef __CUDA_FP8_H__
#define __CUDA_FP8_H__

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short int __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;

/* What becomes of values beyond the largest. */
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
/* Which format the bits are meant in. */
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

#ifdef __cplusplus

#include "weir/tiny_float.h"

namespace weir
{
WEIR_SF tiny_format fp8_format(__nv_fp8_interpretation_t kind)
{
    return kind == __NV_E4M3 ? tiny_e4m3 : tiny_e5m2;
}
template <typename Real> /* float or double */
WEIR_SF __nv_fp8_storage_t fp8(Real x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind)
{
    return round_to_tiny(x, fp8_format(kind), saturate == __NV_SATFINITE, rounding::nearest);
}
} // namespace weir

/* ---- to fp8: round to nearest, ties to even ---- */

WEIR_SF __nv_fp8_storage_t __nv_cvt_double_to_fp8(const double x, const __nv_saturation_t saturate,
                                                  const __nv_fp8_interpretation_t kind)
{
    /* The NaN of a double, other than that of a float, keeps its sign, and what e5m2 has of its
     * bits. */
    if (x != x) {
        unsigned long long b = weir::bits_as<unsigned long long>(x);
        return (__nv_fp8_storage_t)((kind == __NV_E4M3 ? 0x7f : 0x7e | (b >> 50 & 1)) |
                                    b >> 63 << 7);
    }
    return weir::fp8(x, saturate, kind);
}
WEIR_SF __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(const double2 x,
                                                       const __nv_saturation_t saturate,
                                                       const __nv_fp8_interpretation_t kind)
{
    return (__nv_fp8x2_storage_t)(__nv_cvt_double_to_fp8(x.x, saturate, kind) |
                                  __nv_cvt_double_to_fp8(x.y, saturate, kind) << 8);
}
/* The instruction that rounds two floats serves all that a float holds, if it may saturate. */
WEIR_SF __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(const float2 x,
                                                      const __nv_saturation_t saturate,
                                                      const __nv_fp8_interpretation_t kind)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    if (saturate == __NV_SATFINITE) {
        unsigned short r;
        if (kind == __NV_E4M3)
            asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(x.y), "f"(x.x));
        else
            asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(r) : "f"(x.y), "f"(x.x));
        return r;
    }
#endif
    return (__nv_fp8x2_storage_t)(weir::fp8(x.x, saturate, kind) | weir::fp8(x.y, saturate, kind)
                                                                       << 8);
}
WEIR_SF __nv_fp8_storage_t __nv_cvt_float_to_fp8(const float x, const __nv_saturation_t saturate,
                                                 const __nv_fp8_interpretation_t kind)
{
    return (__nv_fp8_storage_t)__nv_cvt_float2_to_fp8x2(make_float2(x, 0.0f), saturate, kind);
}
WEIR_SF __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(const __half_raw x,
                                                   const __nv_saturation_t saturate,
                                                   const __nv_fp8_interpretation_t kind)
{
    return __nv_cvt_float_to_fp8(__half2float(__half(x)), saturate, kind);
}
WEIR_SF __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(const __half2_raw x,
                                                        const __nv_saturation_t saturate,
                                                        const __nv_fp8_interpretation_t kind)
{
    return __nv_cvt_float2_to_fp8x2(__half22float2(__half2(x)), saturate, kind);
}
WEIR_SF __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(const __nv_bfloat16_raw x,
                                                       const __nv_saturation_t saturate,
                                                       const __nv_fp8_interpretation_t kind)
{
    return __nv_cvt_float_to_fp8(__bfloat162float(__nv_bfloat16(x)), saturate, kind);
}
WEIR_SF __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(const __nv_bfloat162_raw x,
                                                            const __nv_saturation_t saturate,
                                                            const __nv_fp8_interpretation_t kind)
{
    return __nv_cvt_float2_to_fp8x2(__bfloat1622float2(__nv_bfloat162(x)), saturate, kind);
}

/* ---- from fp8: exact ---- */

WEIR_SF __half_raw __nv_cvt_fp8_to_halfraw(const __nv_fp8_storage_t x,
                                           const __nv_fp8_interpretation_t kind)
{
    return weir::tiny_to_half(x, weir::fp8_format(kind));
}
WEIR_SF __half2_raw __nv_cvt_fp8x2_to_halfraw2(const __nv_fp8x2_storage_t x,
                                               const __nv_fp8_interpretation_t kind)
{
    __half2_raw r;
    r.x = __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)x, kind).x;
    r.y = __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)(x >> 8), kind).x;
    return r;
}

/* ---- scale factors: rounding is cudaRoundZero or cudaRoundPosInf ---- */

WEIR_SF __nv_fp8_storage_t __nv_cvt_double_to_e8m0(const double x, const __nv_saturation_t saturate,
                                                   const enum cudaRoundMode mode)
{
    return weir::round_to_e8m0(x, saturate == __NV_SATFINITE, weir::tiny_rounding(mode));
}
WEIR_SF __nv_fp8x2_storage_t __nv_cvt_double2_to_e8m0x2(const double2 x,
                                                        const __nv_saturation_t saturate,
                                                        const enum cudaRoundMode mode)
{
    return (__nv_fp8x2_storage_t)(__nv_cvt_double_to_e8m0(x.x, saturate, mode) |
                                  __nv_cvt_double_to_e8m0(x.y, saturate, mode) << 8);
}
WEIR_SF __nv_fp8_storage_t __nv_cvt_float_to_e8m0(const float x, const __nv_saturation_t saturate,
                                                  const enum cudaRoundMode mode)
{
    return __nv_cvt_double_to_e8m0((double)x, saturate, mode);
}
WEIR_SF __nv_fp8x2_storage_t __nv_cvt_float2_to_e8m0x2(const float2 x,
                                                       const __nv_saturation_t saturate,
                                                       const enum cudaRoundMode mode)
{
    return __nv_cvt_double2_to_e8m0x2(make_double2(x.x, x.y), saturate, mode);
}
WEIR_SF __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_e8m0(const __nv_bfloat16_raw x,
                                                        const __nv_saturation_t saturate,
                                                        const enum cudaRoundMode mode)
{
    return __nv_cvt_double_to_e8m0(weir::raw_value(x), saturate, mode);
}
WEIR_SF __nv_fp8x2_storage_t __nv_cvt_bfloat162raw_to_e8m0x2(const __nv_bfloat162_raw x,
                                                             const __nv_saturation_t saturate,
                                                             const enum cudaRoundMode mode)
{
    float2 v = __bfloat1622float2(__nv_bfloat162(x));
    return __nv_cvt_float2_to_e8m0x2(v, saturate, mode);
}
WEIR_SF __nv_bfloat16_raw __nv_cvt_e8m0_to_bf16raw(const __nv_fp8_storage_t x)
{
    return __float2bfloat16(weir::widen_e8m0(x));
}
WEIR_SF __nv_bfloat162_raw __nv_cvt_e8m0x2_to_bf162raw(const __nv_fp8x2_storage_t x)
{
    __nv_bfloat162_raw r;
    r.x = __nv_cvt_e8m0_to_bf16raw((__nv_fp8_storage_t)x).x;
    r.y = __nv_cvt_e8m0_to_bf16raw((__nv_fp8_storage_t)(x >> 8)).x;
    return r;
}

/* ---- classes ---- */

#define WEIR_S    __nv_fp8_storage_t
#define WEIR_S2   __nv_fp8x2_storage_t
#define WEIR_S4   __nv_fp8x4_storage_t
#define WEIR_BITS 8

#define WEIR_T             __nv_fp8_e5m2
#define WEIR_T2            __nv_fp8x2_e5m2
#define WEIR_T4            __nv_fp8x4_e5m2
#define WEIR_ENCODE(value) weir::fp8(value, __NV_SATFINITE, __NV_E5M2)
#define WEIR_DECODE(code)  weir::widen_tiny(code, weir::tiny_e5m2)
#include "weir/tiny_float_types.h"

#define WEIR_T             __nv_fp8_e4m3
#define WEIR_T2            __nv_fp8x2_e4m3
#define WEIR_T4            __nv_fp8x4_e4m3
#define WEIR_ENCODE(value) weir::fp8(value, __NV_SATFINITE, __NV_E4M3)
#define WEIR_DECODE(code)  weir::widen_tiny(code, weir::tiny_e4m3)
#include "weir/tiny_float_types.h"

#define WEIR_T             __nv_fp8_e8m0
#define WEIR_T2            __nv_fp8x2_e8m0
#define WEIR_T4            __nv_fp8x4_e8m0
#define WEIR_ENCODE(value) __nv_cvt_double_to_e8m0(value, __NV_SATFINITE, cudaRoundPosInf)
#define WEIR_DECODE(code)  weir::widen_e8m0(code)
#include "weir/tiny_float_types.h"

#undef WEIR_S
#undef WEIR_S2
#undef WEIR_S4
#undef WEIR_BITS

#endif
#endif
