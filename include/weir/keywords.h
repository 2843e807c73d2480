/* The words that CUDA C++ adds to the language, as attributes clang understands.
 *
 * Included by everything that declares a CUDA function or type, also from C and from plain host
 * C++, where the execution-space words mean nothing and vanish. */
#ifndef WEIR_KEYWORDS_H
#define WEIR_KEYWORDS_H

#if defined(__CUDA__) && defined(__clang__)
#define WEIR_SPACE(attribute) __attribute__((attribute))
#else
#define WEIR_SPACE(attribute)
#endif

#ifndef __host__
#define __host__ WEIR_SPACE(host)
#endif
#ifndef __device__
#define __device__ WEIR_SPACE(device)
#endif
#ifndef __global__
#define __global__ WEIR_SPACE(global)
#endif
#ifndef __shared__
#define __shared__ WEIR_SPACE(shared)
#endif
#ifndef __constant__
#define __constant__ WEIR_SPACE(constant)
#endif

/* A managed variable is an ordinary device variable for the device. On the host its shadow lies in
 * a section of its own, by which the runtime tells it from other variables and gives it memory
 * that both sides reach (weir/managed.h). */
#ifndef __managed__
#if defined(__CUDA__) && !defined(__CUDA_ARCH__)
#define __managed__ __attribute__((device, section("weir_managed")))
#else
#define __managed__ WEIR_SPACE(device)
#endif
#endif

#if defined(__CUDA__) && defined(__clang__)
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#else
#define __launch_bounds__(...)
#endif

/* A parameter so marked is read where it lies; that is how all our kernels read theirs. */
#define __grid_constant__

/* A hint for the register allocator of a GPU. */
#define __maxnreg__(...)

#ifndef __forceinline__
#define __forceinline__ __inline__ __attribute__((always_inline))
#endif
/* clang knows the word itself when it compiles CUDA, and libstdc++ uses it as an attribute's name. */
#if !defined(__CUDA__) && !defined(__noinline__) && !defined(__cplusplus)
#define __noinline__ __attribute__((noinline))
#endif

#define __align__(n)         __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __thread__           __thread
#define __specialization_static static
#define __no_return__        __attribute__((noreturn))
#define __inline_hint__      __attribute__((nv_inline_hint))
#define __import__
#define __export__
#define __cdecl
#define __annotate__(a)
#define __location__(a) __annotate__(a)
#define __cudart_builtin__
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __nv_pure__ __attribute__((pure))

#ifndef CUDARTAPI
#define CUDARTAPI
#endif
#ifndef CUDARTAPI_CDECL
#define CUDARTAPI_CDECL
#endif
#ifndef CUDART_CB
#define CUDART_CB
#endif
#ifndef CUDA_CB
#define CUDA_CB
#endif
#ifndef __dv
#ifdef __cplusplus
#define __dv(v) = v
#else
#define __dv(v)
#endif
#endif
#define CUDART_DEVICE __device__

#define __HOST_DEFINES_H__
#define __CUDA_HOST_DEFINES_H__

#endif
