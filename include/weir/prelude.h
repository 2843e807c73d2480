/* What clang is told before the first line of a CUDA source file (clang -include weir/prelude.h).
 *
 * clang knows the language but takes everything else from an SDK. This file stands for it: it says
 * which toolkit we are (the macros that programs test), brings in the standard headers in the one
 * order in which clang's own device headers can overload them, and then includes cuda_runtime.h, as
 * nvcc does. cuda_runtime.h in turn includes weir/device.h, which holds all device functions.
 *
 * Works for the host and the device pass alike:
 *
 *   C="--cuda-path=/nonexistent -nocudainc -nocudalib --cuda-gpu-arch=sm_90
 *      -Xclang -target-sdk-version=12.5 -Xclang -fcuda-allow-variadic-functions
 *      -I include -include weir/prelude.h -O2"
 *   clang++-19 -x cuda $C --cuda-feature=+ptx85 --cuda-device-only -S a.cu -o a.ptx
 *   clang++-19 -x cuda $C --cuda-host-only -Xclang -fcuda-include-gpubinary -Xclang a.ptx -c a.cu -o a.o
 *
 * For the device add -Xclang -mlink-builtin-bitcode -Xclang lib/weir/weir-device.bc, which holds the
 * cheap functions of device libm; without it they stay calls to functions that the JIT knows. */
#ifndef WEIR_PRELUDE_H
#define WEIR_PRELUDE_H

#if !defined(__CUDA__) || !defined(__clang__)
#error "weir/prelude.h is for clang compiling CUDA (-x cuda)"
#endif

/* Macros of one letter that a program defines on the command line (-DW=16), and that nvcc's headers
 * have no name like, are set aside while ours are read. */
#pragma push_macro("F")
#pragma push_macro("W")
#pragma push_macro("g")
#pragma push_macro("i")
#pragma push_macro("k")
#pragma push_macro("l")
#pragma push_macro("m")
#pragma push_macro("o")
#pragma push_macro("q")
#pragma push_macro("r")
#pragma push_macro("u")
#undef F
#undef W
#undef g
#undef i
#undef k
#undef l
#undef m
#undef o
#undef q
#undef r
#undef u

#include <__clang_cuda_math_forward_declares.h>

#include <stddef.h>

/* Traits ask what a call gives in functions of their own, which clang takes for the host's, where
 * what is __device__ cannot be called: std::invoke_result of a functor of the device. nvcc does not
 * look at that. <cstddef> before it declares functions of the host; <bits/move.h> defines one that
 * <type_traits> declares, std::swap, which newer dialects give the device anyhow. */
#include <cstddef>
#if __has_include(<bits/move.h>)
#pragma clang force_cuda_host_device begin
#include <type_traits>
#include <bits/move.h>
#pragma clang force_cuda_host_device end
#endif

#include "weir/keywords.h"
#include "weir/version.h"

/* Before <new> and <cwchar>, whose functions call these. */
#include "weir/device_system.h"
#include "weir/wide_characters.h"

#include "weir/lambda_traits.h"
#include "weir/nvcc_macros.h"
#ifdef __CLANG_RDC__
#define __CUDACC_RDC__ 1
#endif
#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_LIST__)
#define __CUDA_ARCH_LIST__ __CUDA_ARCH__
#endif

/* What nvcc's own headers bring in. */
#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmath>
#include <cstdlib>
#include <new>

#include <__clang_cuda_builtin_vars.h>
#define __DEVICE_LAUNCH_PARAMETERS_H__

#include <cuda_runtime.h>

#pragma pop_macro("F")
#pragma pop_macro("W")
#pragma pop_macro("g")
#pragma pop_macro("i")
#pragma pop_macro("k")
#pragma pop_macro("l")
#pragma pop_macro("m")
#pragma pop_macro("o")
#pragma pop_macro("q")
#pragma pop_macro("r")
#pragma pop_macro("u")

#endif
