/* curand_kernel.h: random numbers in device code ("cuRAND Library", Device API): XORWOW,
 * Philox4x32-10, MRG32k3a, Sobol sequences of 32 and 64 bits and the scrambled ones, and the
 * distributions over them. The same seeds give the numbers that NVIDIA's library gives.
 *
 * The generators are published (see their files); how seeds, sequences and offsets become states,
 * and bits numbers, was found by looking at what a GPU computes. Two things differ: normal numbers
 * in single precision are as exact as the fast sine and cosine are, as on a GPU, but not the same
 * to the last bit; and curand_poisson between a mean of 64 and of 4000 gives other numbers of the
 * same distribution.
 *
 * Not here: MTGP32 and discrete distributions, whose tables come from the host library. */
#ifndef CURAND_KERNEL_H_
#define CURAND_KERNEL_H_

#ifndef __CUDACC_RTC__ /* not for this file: programs count on their being included */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#endif

#include "curand.h"

#if defined(__CUDA__)

#include "cuda_runtime.h"

#define WEIR_CURAND static __inline__ __host__ __device__

/* The order matters: distributions are written over the generators. */
#include "weir/curand/xorwow.h"

#include "weir/curand/philox.h"

#include "weir/curand/mrg32k3a.h"

#include "weir/curand/sobol.h"

#include "weir/curand/uniform.h"

#include "weir/curand/normal.h"

#include "weir/curand/poisson.h"

#undef WEIR_CURAND

#endif
#endif
