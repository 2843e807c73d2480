/* What a C++ compiler that knows no CUDA is told before the first line of a CUDA source file, whose
 * host half it compiles (weircc --host-frontend=ccbin): as weir/prelude.h tells clang, which
 * toolkit we are, and the declarations of all that the file may use. weircc then rewrites what is
 * CUDA's (tools/weircc/ccbin). */
#ifndef WEIR_HOST_PRELUDE_H
#define WEIR_HOST_PRELUDE_H

#include <stddef.h>

#define __CUDA__ 1 /* in these headers: kernels are declared here */
#include "weir/keywords.h"
#include "weir/version.h"

#define __CUDACC__                   1
#define __NVCC__                     1
#define __CUDACC_VER_MAJOR__         WEIR_CUDA_MAJOR
#define __CUDACC_VER_MINOR__         WEIR_CUDA_MINOR
#define __CUDACC_VER_BUILD__         0
#define __CUDA_API_VER_MAJOR__       WEIR_CUDA_MAJOR
#define __CUDA_API_VER_MINOR__       WEIR_CUDA_MINOR
#define __NVCC_DIAG_PRAGMA_SUPPORT__ 1
#define __CUDACC_RELAXED_CONSTEXPR__ 1
#define __CUDACC_EXTENDED_LAMBDA__   1

#define __nv_is_extended_device_lambda_closure_type(...)                            false
#define __nv_is_extended_host_device_lambda_closure_type(...)                       false
#define __nv_is_extended_device_lambda_with_preserved_return_type_closure_type(...) false
#define __nv_is_extended_device_lambda_with_preserved_return_type(...)              false

#include <assert.h>
#include <cmath>
#include <cstdlib>
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda_runtime.h>

#endif
