/* Everything a kernel may call that is not an ordinary function: device math, intrinsics, atomics,
 * warp functions, printf and malloc on the device. cuda_runtime.h includes this when clang compiles
 * CUDA, after the vector types and texture object types.
 *
 * The bulk comes from the headers clang ships, which are written over __nv_* functions and compiler
 * builtins; they expect some names to exist before them and leave gaps, which the files beside this
 * one fill. A compiler that knows no CUDA gets weir/host_device.h instead. */
#ifndef WEIR_DEVICE_H
#define WEIR_DEVICE_H

#if defined(WEIR_HOST_FRONTEND)
#include "weir/host_device.h"
#elif defined(__CUDA__) && defined(__clang__)

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "weir/keywords.h"
#include "weir/version.h"

#ifndef CUDA_VERSION
#define CUDA_VERSION 13000
#endif
typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;

#include "weir/device_system.h"

#define WEIR_DEVICE static __inline__ __attribute__((always_inline, nodebug, device))

#include "weir/device_libm.h"

/* clang's headers use the word for what they define: their lines are their callers', too. */
#pragma push_macro("__forceinline__")
#undef __forceinline__
#define __forceinline__ WEIR_FORCEINLINE
#include <__clang_cuda_libdevice_declares.h>

#include <__clang_cuda_device_functions.h>

/* Powers by a constant that are a product or two: __nv_pow stays a call in the PTX, where nothing
 * else would fold it. */
#define WEIR_POW(type, name, powi, pow)                                                            \
    WEIR_DEVICE type name(type x, type y)                                                          \
    {                                                                                              \
        if (__builtin_constant_p(y) && y >= 0 && y <= 3 && y == (int)y)                            \
            return powi(x, (int)y);                                                                \
        return pow(x, y);                                                                          \
    }
WEIR_POW(double, __weir_pow, __nv_powi, __nv_pow)
WEIR_POW(float, __weir_powf, __nv_powif, __nv_powf)
#undef WEIR_POW

#define __nv_pow  __weir_pow
#define __nv_powf __weir_powf
/* -use_fast_math: clang's math header takes the fast forms of sin, cos, log and log2; the names
 * under which it would call the others lead to their fast forms too. */
#ifdef __CLANG_GPU_APPROX_TRANSCENDENTALS__
#define __nv_expf   __nv_fast_expf
#define __nv_exp10f __nv_fast_exp10f
#define __nv_log10f __nv_fast_log10f
#undef __nv_powf
#define __nv_powf   __nv_fast_powf
#define __nv_tanf   __nv_fast_tanf
#endif
#include <__clang_cuda_math.h>
#ifdef __CLANG_GPU_APPROX_TRANSCENDENTALS__
#undef __nv_expf
#undef __nv_exp10f
#undef __nv_log10f
#undef __nv_tanf
#endif
#undef __nv_pow
#undef __nv_powf

#include "weir/address_space.h"
#include "weir/math_overloads.h"

#include "weir/host_math.h"

#include <__clang_cuda_cmath.h>
#include <__clang_cuda_complex_builtins.h>
/* clang 19's header passes the mask where the value belongs. */
#define __nvvm_redux_sync_add(mask, value) __nvvm_redux_sync_add(value, mask)
#define __nvvm_redux_sync_umin(mask, value) __nvvm_redux_sync_umin(value, mask)
#define __nvvm_redux_sync_umax(mask, value) __nvvm_redux_sync_umax(value, mask)
#define __nvvm_redux_sync_min(mask, value) __nvvm_redux_sync_min(value, mask)
#define __nvvm_redux_sync_max(mask, value) __nvvm_redux_sync_max(value, mask)
#define __nvvm_redux_sync_or(mask, value) __nvvm_redux_sync_or(value, mask)
#define __nvvm_redux_sync_and(mask, value) __nvvm_redux_sync_and(value, mask)
#define __nvvm_redux_sync_xor(mask, value) __nvvm_redux_sync_xor(value, mask)
/* Shuffles without a mask, whose instructions sm_70 and later lack, are not these. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
#define __shfl __weir_shfl
#define __shfl_up __weir_shfl_up
#define __shfl_down __weir_shfl_down
#define __shfl_xor __weir_shfl_xor
#endif
/* Its functions of warps do not use that word. */
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)
#pragma clang attribute push(__attribute__((nodebug)), apply_to = hasType(functionType))
#include <__clang_cuda_intrinsics.h>
#pragma clang attribute pop
#pragma clang attribute pop
#undef __nvvm_redux_sync_add
#undef __nvvm_redux_sync_umin
#undef __nvvm_redux_sync_umax
#undef __nvvm_redux_sync_min
#undef __nvvm_redux_sync_max
#undef __nvvm_redux_sync_or
#undef __nvvm_redux_sync_and
#undef __nvvm_redux_sync_xor
#undef __shfl
#undef __shfl_up
#undef __shfl_down
#undef __shfl_xor
#pragma pop_macro("__forceinline__")

__device__ inline __cuda_builtin_threadIdx_t::operator dim3() const { return dim3(x, y, z); }
__device__ inline __cuda_builtin_threadIdx_t::operator uint3() const { return {x, y, z}; }
__device__ inline __cuda_builtin_blockIdx_t::operator dim3() const { return dim3(x, y, z); }
__device__ inline __cuda_builtin_blockIdx_t::operator uint3() const { return {x, y, z}; }
__device__ inline __cuda_builtin_blockDim_t::operator dim3() const { return dim3(x, y, z); }
__device__ inline __cuda_builtin_blockDim_t::operator uint3() const { return {x, y, z}; }
__device__ inline __cuda_builtin_gridDim_t::operator dim3() const { return dim3(x, y, z); }
__device__ inline __cuda_builtin_gridDim_t::operator uint3() const { return {x, y, z}; }

#include "weir/atomics.h"
#include "weir/nv_atomics.h"

#include "weir/dpx.h"

#include "weir/late_intrinsics.h"

#include "weir/memory_access.h"
#include "weir/older_intrinsics.h"
#include "weir/warp.h"

#include "weir/texture.h"

#include "weir/surface.h"

#undef WEIR_DEVICE

#if defined(WEIR_LEGACY_API)
#include "weir/legacy/device.h"
#endif

#endif /* clang compiling CUDA */
#endif
