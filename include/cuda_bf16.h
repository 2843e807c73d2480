/* cuda_bf16.h: bfloat16, the upper half of a float, on host and device ("CUDA Math API", Bfloat16
 * Precision Intrinsics). The device uses the instructions for it, the host computes in float and
 * rounds. */
#ifndef __CUDA_BF16_H__
#define __CUDA_BF16_H__

#ifdef __cplusplus

#include "cuda_fp16.h"
#include "weir/small_float.h"

#define WEIR_H            __nv_bfloat16
#define WEIR_H2           __nv_bfloat162
#define WEIR_RAW          __nv_bfloat16_raw
#define WEIR_OTHER        __half
#define WEIR_RAW2         __nv_bfloat162_raw
#define WEIR_N            bfloat16
#define WEIR_NATIVE       WEIR_SF_BFLOAT
#define WEIR_MANTISSA     7
#define WEIR_EXPONENT     8
#define WEIR_PTX_TYPE     "bf16"
#define WEIR_ATOMIC_ARCH  900
#define WEIR_ATOMIC2_ARCH 900
#ifdef __CUDA_NO_BFLOAT16_OPERATORS__
#define WEIR_NO_OPERATORS
#endif

#include "weir/small_float_types.h"

#include "weir/small_float_ops.h"

#include "weir/small_float_math.h"

#undef WEIR_H
#undef WEIR_H2
#undef WEIR_RAW
#undef WEIR_RAW2
#undef WEIR_OTHER
#undef WEIR_N
#undef WEIR_NATIVE
#undef WEIR_MANTISSA
#undef WEIR_EXPONENT
#undef WEIR_PTX_TYPE
#undef WEIR_ATOMIC_ARCH
#undef WEIR_ATOMIC2_ARCH
#undef WEIR_NO_OPERATORS

WEIR_SF_MEMBER __half::__half(__nv_bfloat16 v) : __half((float)v) {}
WEIR_SF_MEMBER __nv_bfloat16::__nv_bfloat16(__half v) : __nv_bfloat16((float)v) {}

#ifndef CUDA_NO_BFLOAT16
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
#endif

#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7FU)
#define CUDART_NEG_ZERO_BF16   __ushort_as_bfloat16((unsigned short)0x8000U)
#define CUDART_ZERO_BF16       __ushort_as_bfloat16((unsigned short)0x0000U)
#define CUDART_ONE_BF16        __ushort_as_bfloat16((unsigned short)0x3F80U)
#define CUDART_INF_BF16        __ushort_as_bfloat16((unsigned short)0x7F80U)
#define CUDART_NAN_BF16        __ushort_as_bfloat16((unsigned short)0x7FFFU)

#else /* C: the layout alone */

typedef struct __attribute__((aligned(2))) {
    unsigned short x;
} __nv_bfloat16_raw;
typedef struct __attribute__((aligned(4))) {
    unsigned short x, y;
} __nv_bfloat162_raw;
typedef __nv_bfloat16_raw __nv_bfloat16;
typedef __nv_bfloat162_raw __nv_bfloat162;

#endif
#endif
