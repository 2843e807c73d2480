/* What a C++ compiler that knows no CUDA is told before the first line of a CUDA source file, whose
 * host half it compiles (weircc --host-frontend=ccbin): as weir/prelude.h tells clang, which
 * toolkit we are, and the declarations of all that the file may use. weircc then rewrites what is
 * CUDA's (tools/weircc/ccbin). */
#ifndef WEIR_HOST_PRELUDE_H
#define WEIR_HOST_PRELUDE_H

#include <stddef.h>

#define __CUDA__ 1 /* in these headers: kernels are declared here */
#include "weir/keywords.h"
#include "weir/lambda_traits.h"
#include "weir/nvcc_macros.h"

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
