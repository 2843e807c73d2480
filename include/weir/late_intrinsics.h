/* Intrinsics of the Math API that are younger than clang's headers: the fast hyperbolic tangent,
 * the order of bytes, and arithmetic on pairs of floats. */
#ifndef WEIR_LATE_INTRINSICS_H
#define WEIR_LATE_INTRINSICS_H

WEIR_DEVICE float __tanhf(float x)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 750
    float r;
    asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
#else
    return tanhf(x);
#endif
}

static __inline__ __attribute__((always_inline, host, device)) unsigned short
__nv_bswap16(unsigned short x)
{
    return __builtin_bswap16(x);
}
static __inline__ __attribute__((always_inline, host, device)) unsigned __nv_bswap32(unsigned x)
{
    return __builtin_bswap32(x);
}
static __inline__ __attribute__((always_inline, host, device)) unsigned long long
__nv_bswap64(unsigned long long x)
{
    return __builtin_bswap64(x);
}

#define WEIR_PAIR_OF_FLOATS(mode)                                                                  \
    WEIR_DEVICE float2 __fadd2_##mode(float2 a, float2 b)                                          \
    {                                                                                              \
        return make_float2(__fadd_##mode(a.x, b.x), __fadd_##mode(a.y, b.y));                      \
    }                                                                                              \
    WEIR_DEVICE float2 __fmul2_##mode(float2 a, float2 b)                                          \
    {                                                                                              \
        return make_float2(__fmul_##mode(a.x, b.x), __fmul_##mode(a.y, b.y));                      \
    }                                                                                              \
    WEIR_DEVICE float2 __ffma2_##mode(float2 a, float2 b, float2 c)                                \
    {                                                                                              \
        return make_float2(__fmaf_##mode(a.x, b.x, c.x), __fmaf_##mode(a.y, b.y, c.y));            \
    }
WEIR_PAIR_OF_FLOATS(rn)
WEIR_PAIR_OF_FLOATS(rz)
WEIR_PAIR_OF_FLOATS(rd)
WEIR_PAIR_OF_FLOATS(ru)
#undef WEIR_PAIR_OF_FLOATS

#endif
