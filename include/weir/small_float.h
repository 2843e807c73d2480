/* What half and bfloat16 have in common: rounding to them on any machine, and the way from other
 * types with a single rounding. cuda_fp16.h and cuda_bf16.h build on it. */
#ifndef WEIR_SMALL_FLOAT_H
#define WEIR_SMALL_FLOAT_H

#ifndef __CUDACC_RTC__ /* NVRTC knows all these without a header */
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#ifdef __cplusplus
#include <cstring>
#endif

#include "host_defines.h"
#include "vector_types.h"
#endif

#include "cooperative_groups/details/rtc.h"

#define WEIR_SF        static __inline__ __attribute__((always_inline)) __host__ __device__
#define WEIR_SF_MEMBER __inline__ __attribute__((always_inline)) __host__ __device__
#define WEIR_SF_DEVICE static __inline__ __attribute__((always_inline)) __device__

namespace weir
{
/* A type, where the two are the same. */
template <class A, class B> struct same {
};
template <class A> struct same<A, A> {
    using type = A;
};

enum class rounding { nearest, zero, down, up };

template <typename To, typename From> WEIR_SF To bits_as(const From &from)
{
    static_assert(sizeof(To) == sizeof(From), "a type's bits as another's of the same size");
    To to;
    WEIR_MEMCPY((void *)&to, &from, sizeof(to)); /* void: the class is made of these bits */
    return to;
}

/* x rounded to a format with `mantissa` stored bits and `exponent` exponent bits; returns the bits.
 * NaN becomes 0x7fff, as on the device. */
WEIR_SF unsigned short round_to_small(double x, int mantissa, int exponent, rounding mode)
{
    const int bias = (1 << (exponent - 1)) - 1, smallest = 1 - bias;
    const unsigned infinity = ((1u << exponent) - 1) << mantissa;
    unsigned long long b = bits_as<unsigned long long>(x), m = b & ((1ull << 52) - 1);
    bool negative = b >> 63;
    unsigned sign = negative ? 0x8000u : 0u;
    int e = (int)(b >> 52 & 0x7ff);
    if (e == 0x7ff)
        return (unsigned short)(m ? 0x7fff : sign | infinity);
    if (e == 0 && m == 0)
        return (unsigned short)sign;
    if (e)
        m |= 1ull << 52;
    else
        e = 1;
    e -= 1023;

    int shift = 52 - mantissa + (e < smallest ? smallest - e : 0);
    if (shift > 55)
        shift = 55; /* all of it below half of the last place */
    unsigned long long kept = m >> shift, rest = m & ((1ull << shift) - 1);
    unsigned long long half = 1ull << (shift - 1);
    bool up = mode == rounding::nearest ? rest > half || (rest == half && (kept & 1))
              : mode == rounding::up    ? !negative && rest
              : mode == rounding::down  ? negative && rest
                                        : false;
    kept += up;
    /* the leading bit of `kept` counts as one step of the exponent, also after a carry */
    unsigned long long r =
        e < smallest ? kept : ((unsigned long long)(e + bias - 1) << mantissa) + kept;
    if (r >= infinity) {
        bool largest = mode == rounding::zero || (mode == rounding::up && negative) ||
                       (mode == rounding::down && !negative);
        r = largest ? infinity - 1 : infinity;
    }
    return (unsigned short)(sign | r);
}

/* The value of a format's bits; exact. */
WEIR_SF float widen_small(unsigned short b, int mantissa, int exponent)
{
    unsigned sign = (b & 0x8000u) << 16, e = b >> mantissa & ((1u << exponent) - 1);
    unsigned m = b & ((1u << mantissa) - 1);
    int bias = (1 << (exponent - 1)) - 1;
    if (e == (1u << exponent) - 1)
        return bits_as<float>(sign | 0x7f800000u | m << (23 - mantissa));
    if (e == 0) {
        /* a subnormal: of bfloat16 it is float's own, of half a product that a float can hold */
        if (exponent == 8)
            return bits_as<float>(sign | m << (23 - mantissa));
        float v = (float)m * bits_as<float>((unsigned)(127 + 1 - bias - mantissa) << 23);
        return bits_as<float>(bits_as<unsigned>(v) | sign);
    }
    return bits_as<float>(sign | (e + 127 - bias) << 23 | m << (23 - mantissa));
}

/* 64-bit integers as doubles rounded to odd: rounding that to fewer bits rounds the integer itself
 * only once. */
WEIR_SF double odd_double(unsigned long long magnitude, bool negative)
{
    int shift = 0;
    unsigned long long m = magnitude;
    while (m >> 53) {
        m = m >> 1 | (m & 1);
        shift++;
    }
    double d = (double)m * bits_as<double>((unsigned long long)(1023 + shift) << 52);
    return negative ? -d : d;
}
WEIR_SF double odd_double(long long i)
{
    return odd_double(i < 0 ? 0ull - (unsigned long long)i : (unsigned long long)i, i < 0);
}
WEIR_SF double odd_double(unsigned long long i) { return odd_double(i, false); }

/* a * b + c rounded to odd; a * b must be exact in double, as products of small floats are. */
WEIR_SF double odd_fma(double a, double b, double c)
{
    double p = a * b, s = p + c;
    double t = s - p, error = (p - (s - t)) + (c - t);
    unsigned long long i = bits_as<unsigned long long>(s);
    if (error != 0 && !(i & 1) && s - s == 0)
        s = bits_as<double>((error > 0) == (s > 0) ? i + 1 : i - 1);
    return s;
}

/* Floating point to integer with a rounding; saturates, NaN gives 0 (64 bits: the smallest, or for
 * unsigned the largest bit alone), as the device's instructions do. */
template <typename Integer> WEIR_SF Integer small_to_integer(float x, rounding mode)
{
    const bool is_signed = (Integer)-1 < (Integer)0;
    const int width = 8 * (int)sizeof(Integer);
    if (x != x)
        return width == 64 ? (Integer)(1ull << 63) : (Integer)0;
    double r = mode == rounding::nearest ? rint((double)x)
               : mode == rounding::zero  ? trunc((double)x)
               : mode == rounding::down  ? floor((double)x)
                                         : ceil((double)x);
    const double limit =
        is_signed ? (double)(1ull << (width - 1)) : 2.0 * (double)(1ull << (width - 1));
    const Integer largest = is_signed ? (Integer)((1ull << (width - 1)) - 1) : (Integer)-1;
    const Integer least = is_signed ? (Integer)(1ull << (width - 1)) : (Integer)0;
    if (r >= limit)
        return largest;
    if (r <= (is_signed ? -limit : 0.0))
        return least;
    return (Integer)r;
}

} // namespace weir

#ifdef __CUDACC_RTC__
#include "weir/small_float_rtc.h"
#define WEIR_SF_HALF    weir::rtc_half
#define WEIR_SF_BFLOAT  weir::rtc_bfloat
#define WEIR_SF_FMA     weir::rtc_fma
#define WEIR_SF_PAIR(T) typedef T##_pair pair
#define WEIR_SF_FMAX    fmaxf
#define WEIR_SF_FMIN    fminf
#else
#define WEIR_SF_HALF    _Float16
#define WEIR_SF_BFLOAT  __bf16
#define WEIR_SF_FMA     __builtin_elementwise_fma
#define WEIR_SF_PAIR(T) typedef T pair __attribute__((ext_vector_type(2)))
#define WEIR_SF_FMAX    __nvvm_fmax_f
#define WEIR_SF_FMIN    __nvvm_fmin_f
#endif

#endif
