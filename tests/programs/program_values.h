/* Arithmetic of generated programs without undefined behaviour, and with one result on every
 * machine: NaNs are one NaN when their bits are looked at, conversions to integers have a range,
 * divisors are not 0. */
#ifndef PROGRAM_VALUES_H
#define PROGRAM_VALUES_H

#include <cuda_fp16.h>

HD static inline u32 bits32(f32 f)
{
    union {
        f32 f;
        u32 u;
    } v;
    v.f = f;
    return f != f ? 0x7fc00000u : v.u;
}

HD static inline u64 bits64(f64 f)
{
    union {
        f64 f;
        u64 u;
    } v;
    v.f = f;
    return f != f ? 0x7ff8000000000000ull : v.u;
}

HD static inline f32 float_of(u32 u)
{
    union {
        f32 f;
        u32 u;
    } v;
    v.u = u;
    return v.f;
}

HD static inline f64 double_of(u64 u)
{
    union {
        f64 f;
        u64 u;
    } v;
    v.u = u;
    return v.f;
}

HD static inline s32 to_s32(f64 f) { return f > -2147483000.0 && f < 2147483000.0 ? (s32)f : -7; }
HD static inline u32 to_u32(f32 f) { return f >= 0.0f && f < 4294960000.0f ? (u32)f : 9u; }
HD static inline s64 to_s64(f64 f) { return f > -9.2e18 && f < 9.2e18 ? (s64)f : -11; }
HD static inline u64 to_u64(f32 f) { return f >= 0.0f && f < 1.8e19f ? (u64)f : 13u; }
HD static inline u8 to_u8(f32 f) { return f >= 0.0f && f < 256.0f ? (u8)f : (u8)17; }
HD static inline s16 to_s16(f32 f) { return f > -32768.0f && f < 32768.0f ? (s16)f : (s16)-19; }

HD static inline s32 quotient(s32 a, s32 b)
{
    return b == 0 || (a == INT32_MIN && b == -1) ? a : a / b;
}
HD static inline s32 remainder_of(s32 a, s32 b)
{
    return b == 0 || (a == INT32_MIN && b == -1) ? b : a % b;
}
HD static inline s64 quotient(s64 a, s64 b)
{
    return b == 0 || (a == INT64_MIN && b == -1) ? a : a / b;
}
HD static inline s64 remainder_of(s64 a, s64 b)
{
    return b == 0 || (a == INT64_MIN && b == -1) ? b : a % b;
}

/* Halves are kept as their bits. Sums and products of halves in single precision are exact enough
 * that rounding them once more is rounding once. */
HD static inline u16 half_bits(__half h)
{
    __half_raw raw = h;
    return (raw.x & 0x7fff) > 0x7c00 ? 0x7fff : raw.x;
}

HD static inline __half half_of(u16 bits)
{
    __half_raw raw;
    raw.x = bits;
    return __half(raw);
}

HD static inline u16 half_from(f32 f) { return half_bits(__float2half_rn(f)); }
HD static inline f32 half_value(u16 h) { return __half2float(half_of(h)); }

HD static inline u16 half_add(u16 a, u16 b)
{
#ifdef __CUDA_ARCH__
    return half_bits(__hadd(half_of(a), half_of(b)));
#else
    return half_from(half_value(a) + half_value(b));
#endif
}

HD static inline u16 half_mul(u16 a, u16 b)
{
#ifdef __CUDA_ARCH__
    return half_bits(__hmul(half_of(a), half_of(b)));
#else
    return half_from(half_value(a) * half_value(b));
#endif
}

HD static inline u32 popcount(u32 v)
{
#ifdef __CUDA_ARCH__
    return (u32)__popc((int)v);
#else
    return (u32)__builtin_popcount(v);
#endif
}

HD static inline u32 leading_zeros(u32 v)
{
#ifdef __CUDA_ARCH__
    return (u32)__clz((int)v);
#else
    return v ? (u32)__builtin_clz(v) : 32u;
#endif
}

HD static inline u32 first_set(u32 v)
{
#ifdef __CUDA_ARCH__
    return (u32)__ffs((int)v);
#else
    return (u32)__builtin_ffs((int)v);
#endif
}

HD static inline u32 reversed(u32 v)
{
#ifdef __CUDA_ARCH__
    return __brev(v);
#else
    u32 r = 0;
    for (u32 i = 0; i < 32; i++)
        r |= (v >> i & 1u) << (31 - i);
    return r;
#endif
}

HD static inline u32 product_high(u32 a, u32 b)
{
#ifdef __CUDA_ARCH__
    return __umulhi(a, b);
#else
    return (u32)(((u64)a * b) >> 32);
#endif
}

HD static inline u32 bytes_of(u32 a, u32 b, u32 selector)
{
    selector &= 0x7777u;
#ifdef __CUDA_ARCH__
    return __byte_perm(a, b, selector);
#else
    u64 both = (u64)b << 32 | a;
    u32 r = 0;
    for (u32 i = 0; i < 4; i++)
        r |= (u32)(both >> (8 * (selector >> (4 * i) & 7u)) & 0xff) << (8 * i);
    return r;
#endif
}

HD static inline f32 fused(f32 a, f32 b, f32 c)
{
#ifdef __CUDA_ARCH__
    return __fmaf_rn(a, b, c);
#else
    return __builtin_fmaf(a, b, c);
#endif
}

HD static inline f64 fused(f64 a, f64 b, f64 c)
{
#ifdef __CUDA_ARCH__
    return __fma_rn(a, b, c);
#else
    return __builtin_fma(a, b, c);
#endif
}

HD static inline f32 root(f32 a)
{
#ifdef __CUDA_ARCH__
    return __fsqrt_rn(a);
#else
    return __builtin_sqrtf(a);
#endif
}

HD static inline f64 root(f64 a)
{
#ifdef __CUDA_ARCH__
    return __dsqrt_rn(a);
#else
    return __builtin_sqrt(a);
#endif
}

/* Of zeros, the negative one is less; a NaN gives the other operand. */
HD static inline f32 least(f32 a, f32 b)
{
#ifdef __CUDA_ARCH__
    return fminf(a, b);
#else
    return a != a ? b : b != b ? a : a < b || (a == b && __builtin_signbit(a)) ? a : b;
#endif
}

HD static inline f32 greatest(f32 a, f32 b)
{
#ifdef __CUDA_ARCH__
    return fmaxf(a, b);
#else
    return a != a ? b : b != b ? a : a > b || (a == b && !__builtin_signbit(a)) ? a : b;
#endif
}

/* The lane of a mask that a number chooses. The mask is not empty. */
HD static inline u32 lane_of(u32 mask, u32 number)
{
    for (number %= popcount(mask); number; number--)
        mask &= mask - 1;
    return first_set(mask) - 1;
}
#endif
