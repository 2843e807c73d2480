/* What device code may call, declared for a compiler that knows no CUDA and compiles the host half
 * of a source file (weir/host_prelude.h): weircc takes the bodies of device functions away. Their
 * names show in what is left: lambdas, types that are asked of calls, functions of both sides.
 *
 * What the host's libraries have under the same name is theirs: the C and C++ math functions. */
#ifndef WEIR_HOST_DEVICE_H
#define WEIR_HOST_DEVICE_H

#include <stdint.h>

#ifndef CUDA_VERSION
#define CUDA_VERSION 13000
#endif
typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;

#define WEIR_DEVICE static __inline__ __attribute__((device))

extern "C" {
extern const uint3 threadIdx, blockIdx;
extern const dim3 blockDim, gridDim;
extern const int warpSize;
}
#define __DEVICE_LAUNCH_PARAMETERS_H__

/* Names that the C library declares, too: the host's are known, whatever they mean. */
#define __cosf     __weir_device_cosf
#define __exp10f   __weir_device_exp10f
#define __expf     __weir_device_expf
#define __finite   __weir_device_finite
#define __finitef  __weir_device_finitef
#define __isinf    __weir_device_isinf
#define __isinff   __weir_device_isinff
#define __isnan    __weir_device_isnan
#define __isnanf   __weir_device_isnanf
#define __log10f   __weir_device_log10f
#define __log2f    __weir_device_log2f
#define __logf     __weir_device_logf
#define __powf     __weir_device_powf
#define __signbitf __weir_device_signbitf
#define __sincosf  __weir_device_sincosf
#define __sinf     __weir_device_sinf
#define __tanf     __weir_device_tanf
#define __tanhf    __weir_device_tanhf
#define clock      __weir_device_clock
#define memcpy     __weir_device_memcpy
#define memset     __weir_device_memset
#include <__clang_cuda_libdevice_declares.h>

#include <__clang_cuda_device_functions.h>

#include "weir/late_intrinsics.h"
#undef __cosf
#undef __exp10f
#undef __expf
#undef __finite
#undef __finitef
#undef __isinf
#undef __isinff
#undef __isnan
#undef __isnanf
#undef __log10f
#undef __log2f
#undef __logf
#undef __powf
#undef __signbitf
#undef __sincosf
#undef __sinf
#undef __tanf
#undef __tanhf
#undef clock
#undef memcpy
#undef memset

#include "weir/address_space.h"
#include "weir/math_overloads.h"

#include "weir/host_math.h"

#include <__clang_cuda_intrinsics.h>

#include "weir/atomics.h"
#include "weir/nv_atomics.h"

#include "weir/dpx.h"

#include "weir/memory_access.h"
#include "weir/warp.h"

#include "weir/texture.h"

#include "weir/surface.h"

#undef WEIR_DEVICE

#if defined(WEIR_LEGACY_API)
#include "weir/legacy/device.h"
#endif

#endif
