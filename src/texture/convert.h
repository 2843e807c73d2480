/* convert: the numbers of elements as floats, one by one, and all four channels of an element at
 * once for the filters. */
#ifndef WEIR_TEXTURE_CONVERT_H
#define WEIR_TEXTURE_CONVERT_H

#include <string.h>

#include "texture/clones.h"
#include "texture/texture.h"

/* Exact: a half's exponent and fraction moved to a float's place are the value times 2^-112. */
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

typedef float texel_four __attribute__((vector_size(16)));

/* An element of floats, halves, or unsigned integers that count as fractions. */
WARP_INLINE texel_four texel_four_load(enum texel_type type, const uint8_t *from)
{
    typedef uint8_t bytes_four __attribute__((vector_size(4)));
    typedef uint16_t shorts_four __attribute__((vector_size(8)));
    texel_four v;
    bytes_four b;
    shorts_four s;
    switch (type) {
    case TEXEL_U8:
        memcpy(&b, from, sizeof b);
        v = __builtin_convertvector(b, texel_four);
        return v * texel_inverse[type] + v * texel_inverse_rest[type];
    case TEXEL_U16:
        memcpy(&s, from, sizeof s);
        v = __builtin_convertvector(s, texel_four);
        return v * texel_inverse[type] + v * texel_inverse_rest[type];
    case TEXEL_F16: {
        uint32_t bits[4];
        memcpy(&s, from, sizeof s);
        for (int c = 0; c < 4; c++)
            bits[c] = texel_from_half(s[c]);
        memcpy(&v, bits, sizeof v);
        return v;
    }
    default: memcpy(&v, from, sizeof v); return v;
    }
}

/* Four elements of four channels become four channels of four elements. */
WARP_INLINE void texel_four_turn(texel_four v[4])
{
    texel_four a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5);
    texel_four b = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
    texel_four c = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
    texel_four d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
    v[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
    v[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    v[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    v[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

#endif
