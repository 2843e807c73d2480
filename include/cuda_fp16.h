/* cuda_fp16.h: half precision, IEEE binary16, on host and device ("CUDA Math API", Half Precision
 * Intrinsics). The device uses the instructions for it, the host computes in float and rounds. */
#ifndef __CUDA_FP16_H__
#define __CUDA_FP16_H__

#ifdef __cplusplus

#include "weir/small_float.h"

#define WEIR_H            __half
#define WEIR_H2           __half2
#define WEIR_RAW          __half_raw
#define WEIR_OTHER        __nv_bfloat16
#define WEIR_RAW2         __half2_raw
#define WEIR_N            half
#define WEIR_NATIVE       WEIR_SF_HALF
#define WEIR_MANTISSA     10
#define WEIR_EXPONENT     5
#define WEIR_PTX_TYPE     "f16"
#define WEIR_ATOMIC_ARCH  700
#define WEIR_ATOMIC2_ARCH 600
#ifdef __CUDA_NO_HALF_OPERATORS__
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

#ifndef CUDA_NO_HALF
typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
typedef __half_raw __nv_half_raw;
typedef __half2_raw __nv_half2_raw;
typedef __half nv_half;
typedef __half2 nv_half2;
#endif

#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFU)
#define CUDART_NEG_ZERO_FP16   __ushort_as_half((unsigned short)0x8000U)
#define CUDART_ZERO_FP16       __ushort_as_half((unsigned short)0x0000U)
#define CUDART_ONE_FP16        __ushort_as_half((unsigned short)0x3C00U)
#define CUDART_INF_FP16        __ushort_as_half((unsigned short)0x7C00U)
#define CUDART_NAN_FP16        __ushort_as_half((unsigned short)0x7FFFU)

#else /* C: the layout alone */

typedef struct __attribute__((aligned(2))) {
    unsigned short x;
} __half_raw;
typedef struct __attribute__((aligned(4))) {
    unsigned short x, y;
} __half2_raw;
typedef __half_raw __half;
typedef __half2_raw __half2;

#endif
#endif
