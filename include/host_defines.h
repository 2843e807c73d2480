/* host_defines.h: the words that mark where CUDA code runs and how data is placed.
 *
 * In a CUDA translation unit they are clang's attributes; in plain C and C++ they vanish, so that
 * one header serves a kernel file and the host file that talks to it. */
#ifndef __HOST_DEFINES_H__
#define __HOST_DEFINES_H__

#if !defined(__CUDACC__) && defined(__CUDA__)
#define __CUDACC__ 1
#endif

#if defined(__CUDACC__)
#ifndef __host__
#define __host__ __attribute__((host))
#endif
#ifndef __device__
#define __device__ __attribute__((device))
#endif
#ifndef __global__
#define __global__ __attribute__((global))
#endif
#ifndef __shared__
#define __shared__ __attribute__((shared))
#endif
#ifndef __constant__
#if defined(__CUDA_ARCH__) && defined(__clang__)
/* see tools/weircc/device/llvm/constant_memory.h */
#define __constant__ __attribute__((constant, annotate("weir.constant")))
#else
#define __constant__ __attribute__((constant))
#endif
#endif
#ifndef __managed__
#define __managed__ __attribute__((device))
#endif
#ifndef __launch_bounds__
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#endif
#ifndef __grid_constant__
/* see tools/weircc/device/llvm/grid_constants.h */
#define __grid_constant__ __attribute__((annotate("weir.grid_constant")))
#endif
#else
#ifndef __host__
#define __host__
#endif
#ifndef __device__
#define __device__
#endif
#ifndef __global__
#define __global__
#endif
#ifndef __shared__
#define __shared__
#endif
#ifndef __constant__
#define __constant__
#endif
#ifndef __managed__
#define __managed__
#endif
#endif

#ifndef __align__
#define __align__(n) __attribute__((aligned(n)))
#endif
#ifndef __builtin_align__
#define __builtin_align__(n) __align__(n)
#endif
#ifndef __forceinline__
#define __forceinline__ __inline__ __attribute__((always_inline))
#endif
#ifndef __no_return__
#define __no_return__ __attribute__((noreturn))
#endif
/* clang knows __noinline__ as a keyword in CUDA; plain C++ must not see a macro of that name
 * (libstdc++ writes __attribute__((__noinline__))). */

#ifndef CUDARTAPI
#define CUDARTAPI
#endif
#ifndef CUDARTAPI_CDECL
#define CUDARTAPI_CDECL
#endif
#ifndef CUDART_DEVICE
#define CUDART_DEVICE __device__
#endif
#ifndef CUDART_CB
#define CUDART_CB
#endif

/* Words of old sources, for compilers of other systems. */
#ifndef __thread__
#define __thread__ __thread
#endif
#ifndef __import__
#define __import__
#endif
#ifndef __export__
#define __export__
#endif
#ifndef __cdecl
#define __cdecl
#endif
#ifndef __annotate__
#define __annotate__(a) __attribute__((a))
#endif
#ifndef __location__
#define __location__(a) __annotate__(a)
#endif

/* Marks that only NVIDIA's front end reads. */
#ifndef __device_builtin__
#define __device_builtin__
#endif
#ifndef __cudart_builtin__
#define __cudart_builtin__
#endif
#ifndef __inline_hint__
#define __inline_hint__
#endif

#endif
