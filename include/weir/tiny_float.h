/* The floating-point formats of 8, 6 and 4 bits: rounding to them and back, on any machine. One
 * description (weir::tiny_format) serves e5m2, e4m3 (OCP "FP8"), e3m2, e2m3 and e2m1 (OCP "MX");
 * cuda_fp8.h, cuda_fp6.h and cuda_fp4.h build on it ("CUDA Math API", FP8, FP6 and FP4
 * Intrinsics). Arithmetic in these formats does not exist; they are converted. */
#ifndef WEIR_TINY_FLOAT_H
#define WEIR_TINY_FLOAT_H

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "device_types.h"
#include "vector_functions.h"

namespace weir
{

/* One format. Codes are without the sign, which is the highest of the format's bits. */
struct tiny_format {
    int mantissa, exponent; /* bits of each */
    unsigned largest;       /* code of the largest finite value */
    unsigned infinity;      /* what is beyond it: infinity, or NaN where there is none */
    unsigned nan;           /* what NaN becomes; the largest value where the format has no NaN */
};

constexpr tiny_format tiny_e4m3 = {3, 4, 0x7e, 0x7f, 0x7f};
constexpr tiny_format tiny_e5m2 = {2, 5, 0x7b, 0x7c, 0x7f};
constexpr tiny_format tiny_e2m3 = {3, 2, 0x1f, 0x1f, 0x1f};
constexpr tiny_format tiny_e3m2 = {2, 3, 0x1f, 0x1f, 0x1f};
constexpr tiny_format tiny_e2m1 = {1, 2, 0x07, 0x07, 0x07};

/* x rounded to format f, as its code. `saturate`: beyond the largest value comes the largest value,
 * for infinity, too. */
WEIR_SF unsigned char round_to_tiny(double x, tiny_format f, bool saturate, rounding mode)
{
    const int bias = (1 << (f.exponent - 1)) - 1, smallest = 1 - bias;
    unsigned long long b = bits_as<unsigned long long>(x), m = b & ((1ull << 52) - 1);
    bool negative = b >> 63;
    unsigned sign = negative ? 1u << (f.mantissa + f.exponent) : 0u;
    int e = (int)(b >> 52 & 0x7ff) - 1023;
    if (e == 1024 && m)
        return (unsigned char)f.nan;
    bool toward_zero = mode == rounding::zero || (mode == rounding::up && negative) ||
                       (mode == rounding::down && !negative);
    unsigned beyond = saturate || (toward_zero && e != 1024) ? f.largest : f.infinity;
    if (e > bias + 1)
        return (unsigned char)(sign | beyond);
    if (e == -1023) /* zero, and what is far below half of the smallest value, but not nothing */
        m = m != 0;
    else
        m |= 1ull << 52;

    int shift = 52 - f.mantissa + (e < smallest ? smallest - e : 0);
    if (shift > 55)
        shift = 55; /* all of it below half of the last place */
    unsigned long long kept = m >> shift, rest = m & ((1ull << shift) - 1);
    unsigned long long half = 1ull << (shift - 1);
    bool up = mode == rounding::nearest ? rest > half || (rest == half && (kept & 1))
                                        : !toward_zero && rest;
    kept += up;
    /* the leading bit of `kept` counts as one step of the exponent, also after a carry */
    unsigned r =
        (unsigned)(e < smallest ? kept : ((unsigned long long)(e + bias - 1) << f.mantissa) + kept);
    return (unsigned char)(sign | (r > f.largest ? beyond : r));
}

/* The same of what a float holds. A kernel rounds to nearest in some ten operations on 32 bits and
 * without a branch: normal values by adding half of what is cut, subnormal ones by adding a power
 * of two whose last place is theirs. (A host program may have set another rounding of sums.) */
WEIR_SF unsigned char round_to_tiny(float x, tiny_format f, bool saturate, rounding mode)
{
#if defined(__CUDA_ARCH__)
    if (mode == rounding::nearest) {
        const int sign_at = f.mantissa + f.exponent, bias = (1 << (f.exponent - 1)) - 1;
        const int cut = 23 - f.mantissa;
        const unsigned anchor = (unsigned)(127 + 1 - bias + cut) << 23;
        unsigned b = bits_as<unsigned>(x), sign = b >> (31 - sign_at) & 1u << sign_at;
        unsigned size = b & 0x7fffffff, odd = size >> cut & 1;
        unsigned normal = (size + (1u << (cut - 1)) - 1 + odd) >> cut;
        normal -= (unsigned)(127 - bias) << f.mantissa;
        unsigned subnormal = bits_as<unsigned>(bits_as<float>(size) + bits_as<float>(anchor));
        unsigned r = size < (unsigned)(128 - bias) << 23 ? subnormal - anchor : normal;
        r = r > f.largest ? (saturate ? f.largest : f.infinity) : r;
        return (unsigned char)(size > 0x7f800000 ? f.nan : r | sign);
    }
#endif
    return round_to_tiny((double)x, f, saturate, mode);
}

/* The value of a code; exact. `has_nan`: code 0x7f (e4m3) or all above infinity (e5m2) are NaN. */
WEIR_SF float widen_tiny(unsigned char code, tiny_format f)
{
    const int bias = (1 << (f.exponent - 1)) - 1;
    const float last = bits_as<float>((unsigned)(127 + 1 - bias - f.mantissa) << 23);
    unsigned sign = (unsigned)(code >> (f.mantissa + f.exponent) & 1) << 31;
    unsigned r = code & ((1u << (f.mantissa + f.exponent)) - 1);
    /* both at once, without a branch */
    unsigned normal = (r << (23 - f.mantissa)) + ((unsigned)(127 - bias) << 23);
    unsigned subnormal = bits_as<unsigned>((float)(int)r * last);
    unsigned v = sign | (r >> f.mantissa ? normal : subnormal);
    unsigned beyond = r == f.infinity && f.infinity != f.nan ? sign | 0x7f800000u : 0x7fffffffu;
    return bits_as<float>(r > f.largest ? beyond : v);
}
WEIR_SF __half_raw tiny_to_half(unsigned char code, tiny_format f)
{
    return __float2half(widen_tiny(code, f)); /* every value of these formats is one of half */
}

WEIR_SF rounding tiny_rounding(enum cudaRoundMode mode)
{
    return mode == cudaRoundZero     ? rounding::zero
           : mode == cudaRoundPosInf ? rounding::up
           : mode == cudaRoundMinInf ? rounding::down
                                     : rounding::nearest;
}

/* ---- e8m0: powers of two, from 2^-127 (code 0) to 2^127; 255 is NaN. No sign, no zero. ---- */

/* The magnitude of x as a power of two, rounded up (cudaRoundPosInf) or toward zero. */
WEIR_SF unsigned char round_to_e8m0(double x, bool saturate, rounding mode)
{
    unsigned long long b = bits_as<unsigned long long>(x) & ~(1ull << 63);
    unsigned long long m = b & ((1ull << 52) - 1);
    int e = (int)(b >> 52) - 1023;
    if (e == 1024 && m)
        return 0xff;
    if (mode == rounding::up && m)
        e++;
    if (e < -127)
        return 0;
    bool clamp = saturate || (mode != rounding::up && e != 1024);
    return (unsigned char)(e > 127 ? (clamp ? 0xfe : 0xff) : e + 127);
}
WEIR_SF float widen_e8m0(unsigned char code)
{
    return bits_as<float>(code == 0xff ? 0x7fff0000u : code ? (unsigned)code << 23 : 1u << 22);
}

WEIR_SF float raw_value(__half_raw x) { return __half2float(__half(x)); }
WEIR_SF float raw_value(__nv_bfloat16_raw x) { return __bfloat162float(__nv_bfloat16(x)); }
template <typename Raw> WEIR_SF Raw raw_of(unsigned short bits)
{
    Raw r;
    r.x = bits;
    return r;
}

} // namespace weir

#endif
