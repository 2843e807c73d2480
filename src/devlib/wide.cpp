/* Casts between floating point and integers of 128 bits, which PTX has no instructions for. weircc
 * calls these where a program casts (tools/weircc/device/llvm/casts.h). Out of range they give the
 * nearest integer, and for NaN the one whose highest bit alone is set, as nvcc's code does; towards
 * floating point they round to nearest, ties to even. */
#include "devlib.h"

typedef __int128 i128;
typedef unsigned __int128 u128;

#define HIGHEST_BIT ((u128)1 << 127)

/* The size of a number below 2^128, without what is after the point. */
HELPER u128 magnitude(double x)
{
    int exponent = (int)(bits(x) >> 52 & 0x7ff) - 1075;
    u128 mantissa = (bits(x) & 0xfffffffffffffull) | 1ull << 52;
    if (exponent >= 0)
        return mantissa << exponent;
    return exponent > -53 ? mantissa >> -exponent : 0;
}

FN u128 __weir_double_to_u128(double x)
{
    if (x != x)
        return HIGHEST_BIT;
    if (x < 1)
        return 0;
    return x < 0x1p128 ? magnitude(x) : ~(u128)0;
}

FN i128 __weir_double_to_i128(double x)
{
    double size = from_bits(bits(x) & ~0ull >> 1);
    if (size < 0x1p127)
        return x < 0 ? -(i128)magnitude(x) : (i128)magnitude(x);
    return (i128)(x > 0 ? HIGHEST_BIT - 1 : HIGHEST_BIT);
}

/* A number that is not 0 as its 64 highest bits, of which the last says whether lower ones are set,
 * and the power of two that these are to be multiplied by. The one rounding is that of the caller,
 * who keeps fewer bits. */
HELPER u64 highest(u128 a, int *power)
{
    u64 high = (u64)(a >> 64), low = (u64)a;
    int zeros = high != 0 ? __builtin_clzll(high) : 64 + __builtin_clzll(low);
    a <<= zeros;
    *power = 64 - zeros;
    return (u64)(a >> 64) | ((u64)a != 0);
}

FN float __weir_u128_to_float(u128 a)
{
    int power;
    if (a == 0)
        return 0;
    u64 high = highest(a, &power);
    return (float)high * from_bits((u32)(127 + power) << 23);
}

FN double __weir_u128_to_double(u128 a)
{
    int power;
    if (a == 0)
        return 0;
    u64 high = highest(a, &power);
    return (double)high * from_bits((u64)(1023 + power) << 52);
}

FN float __weir_i128_to_float(i128 a)
{
    return a < 0 ? -__weir_u128_to_float(-(u128)a) : __weir_u128_to_float((u128)a);
}

FN double __weir_i128_to_double(i128 a)
{
    return a < 0 ? -__weir_u128_to_double(-(u128)a) : __weir_u128_to_double((u128)a);
}
