/* cuComplex.h: complex numbers in C: float2 and double2 with their arithmetic, on host and device.
 *
 * Division and absolute value scale their arguments, so that no intermediate result overflows while
 * the final one is in range. */
#ifndef CU_COMPLEX_H_
#define CU_COMPLEX_H_

#ifndef __CUDACC_RTC__ /* NVRTC knows these without a header */
#include <math.h>

#include "vector_types.h"
#endif

#if defined(__cplusplus)
extern "C" {
#endif

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

/* The two precisions differ in names and types alone: S is the C type, C the complex type, FABS and
 * HYPOT the functions of that precision. */
#define WEIR_COMPLEX(S, C, make, real, imag, conj, add, sub, mul, div, abs, FABS, HYPOT)           \
    static __inline__ __host__ __device__ S real(C x) { return x.x; }                              \
    static __inline__ __host__ __device__ S imag(C x) { return x.y; }                              \
    static __inline__ __host__ __device__ C make(S r, S i)                                         \
    {                                                                                              \
        C t;                                                                                       \
        t.x = r;                                                                                   \
        t.y = i;                                                                                   \
        return t;                                                                                  \
    }                                                                                              \
    static __inline__ __host__ __device__ C conj(C x) { return make(x.x, -x.y); }                  \
    static __inline__ __host__ __device__ C add(C x, C y) { return make(x.x + y.x, x.y + y.y); }   \
    static __inline__ __host__ __device__ C sub(C x, C y) { return make(x.x - y.x, x.y - y.y); }   \
    static __inline__ __host__ __device__ C mul(C x, C y)                                          \
    {                                                                                              \
        return make(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);                                 \
    }                                                                                              \
    static __inline__ __host__ __device__ C div(C x, C y)                                          \
    {                                                                                              \
        S scale = 1 / (FABS(y.x) + FABS(y.y));                                                     \
        S ar = x.x * scale, ai = x.y * scale, br = y.x * scale, bi = y.y * scale;                  \
        S inverse = 1 / (br * br + bi * bi);                                                       \
        return make((ar * br + ai * bi) * inverse, (ai * br - ar * bi) * inverse);                 \
    }                                                                                              \
    static __inline__ __host__ __device__ S abs(C x) { return HYPOT(x.x, x.y); }

WEIR_COMPLEX(float, cuFloatComplex, make_cuFloatComplex, cuCrealf, cuCimagf, cuConjf, cuCaddf,
             cuCsubf, cuCmulf, cuCdivf, cuCabsf, fabsf, hypotf)
WEIR_COMPLEX(double, cuDoubleComplex, make_cuDoubleComplex, cuCreal, cuCimag, cuConj, cuCadd,
             cuCsub, cuCmul, cuCdiv, cuCabs, fabs, hypot)

#undef WEIR_COMPLEX

static __inline__ __host__ __device__ cuComplex make_cuComplex(float x, float y)
{
    return make_cuFloatComplex(x, y);
}

static __inline__ __host__ __device__ cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex c)
{
    return make_cuDoubleComplex((double)c.x, (double)c.y);
}

static __inline__ __host__ __device__ cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex c)
{
    return make_cuFloatComplex((float)c.x, (float)c.y);
}

/* x * y + d */
static __inline__ __host__ __device__ cuComplex cuCfmaf(cuComplex x, cuComplex y, cuComplex d)
{
    float r = x.x * y.x + d.x, i = x.x * y.y + d.y;

    return make_cuComplex(r - x.y * y.y, i + x.y * y.x);
}

static __inline__ __host__ __device__ cuDoubleComplex cuCfma(cuDoubleComplex x, cuDoubleComplex y,
                                                             cuDoubleComplex d)
{
    double r = x.x * y.x + d.x, i = x.x * y.y + d.y;

    return make_cuDoubleComplex(r - x.y * y.y, i + x.y * y.x);
}

#if defined(__cplusplus)
}
#endif

#endif
