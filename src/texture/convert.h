/* convert: the numbers of elements as floats. */
#ifndef WEIR_TEXTURE_CONVERT_H
#define WEIR_TEXTURE_CONVERT_H

#include <string.h>

#include "texture/clones.h"
#include "texture/texture.h"

/* Exact: a half's exponent and fraction moved to a float's bits are the value times 2^-112. */
WARP_INLINE uint32_t texel_from_half(uint32_t h)
{
    uint32_t sign = (h & 0x8000) << 16, rest = (h & 0x7fff) << 13;
    float scaled, two_to_112 = 5192296858534827628530496329220096.0f;
    memcpy(&scaled, &rest, 4);
    scaled *= two_to_112;
    uint32_t bits;
    memcpy(&bits, &scaled, 4);
    bits = rest >= 0x0f800000 ? rest | 0x7f800000 : bits; /* infinity, NaN */
    return bits | sign;
}

/* An integer divided by the largest of its type (TEXEL_U8 to TEXEL_S16) is the rounded sum of two
 * products: with few enough bits of the inverse that the first is exact, and with the rest of it
 * (tests/texture tries all integers). */
static const float texel_inverse[] = {0x1.0102p-8f, 0x1.0204p-7f, 0x1p-16f, 0x1p-15f};
static const float texel_inverse_rest[] = {-0x1.fdfdfep-25f, 0x1.020408p-28f, 0x1.0001p-32f,
                                           0x1.0002p-30f};

WARP_INLINE float texel_fraction(enum texel_type type, int32_t n)
{
    return (float)n * texel_inverse[type] + (float)n * texel_inverse_rest[type];
}

#endif
