/* axis: where coordinates lie on one axis of a texture, for 32 lanes: the two elements that count
 * and the weight of the second.
 *
 * Coordinates that count elements are used as they are, normalized ones in units of 2^-21, for
 * large textures of an element's 64th at least, rounded down. Positions between elements are
 * rounded to 1/256. What is no number, and what is too far out to have a fraction, is 0; so are
 * numbers below the least normal one. */
#ifndef WEIR_TEXTURE_AXIS_H
#define WEIR_TEXTURE_AXIS_H

#include "texture/clones.h"
#include "texture/texture.h"

enum { LANES = TEXTURE_LANES };

/* One axis of 32 fetches. */
struct axis {
    int32_t near[LANES];                    /* indices inside the texture */
    int32_t far[LANES];                     /* the next; of filters only, like the weight */
    uint32_t near_in[LANES], far_in[LANES]; /* all ones, or zero where the border is meant */
    int32_t weight[LANES];                  /* of far, in 1/256 */
};

WARP_INLINE float as_float_(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

/* Largest integer not above x, for |x| < 2^31. */
WARP_INLINE int32_t floor_(float x)
{
    int32_t i = (int32_t)x;
    return i - (x < (float)i);
}

/* The same as a float; from 2^23 on there are no fractions. */
WARP_INLINE float floor_float_(float x)
{
    float size = x < 0 ? -x : x;
    float small = size < 8388608.0f ? x : 0.0f;
    return size < 8388608.0f ? (float)floor_(small) : x;
}

/* A coordinate without its odd cases. */
WARP_INLINE float coordinate_(uint32_t bits)
{
    float x = as_float_(bits), size = x < 0 ? -x : x;
    return size >= 0x1p-126f ? x : 0.0f; /* NaN compares as false */
}

/* lo..hi */
WARP_INLINE float limit_(float x, float lo, float hi)
{
    x = x > lo ? x : lo;
    return x < hi ? x : hi;
}

WARP_INLINE int32_t limit_index_(int32_t i, int32_t last)
{
    i = i > 0 ? i : 0;
    return i < last ? i : last;
}

/* Which address mode really counts: without normalized coordinates there is nothing to repeat. */
WARP_INLINE unsigned mode_(const struct texture *t, int axis, bool normalized)
{
    unsigned m = t->address[axis];
    return !normalized && (m == ADDRESS_WRAP || m == ADDRESS_MIRROR) ? ADDRESS_CLAMP : m;
}

/* Positions are indices, or for filters those of the elements before, in 1/256. */

WARP_INLINE void place_elements_(const uint32_t *in, bool linear, int32_t *position)
{
    for (int l = 0; l < LANES; l++) {
        float x = limit_(coordinate_(in[l]), -0x1p22f, 0x1p22f) * (linear ? 256.0f : 1.0f);
        int32_t below = floor_(x);
        position[l] = linear ? below - 128 + (x - (float)below >= 0.5f) : below;
    }
}

/* How many bits of a normalized coordinate count. */
WARP_INLINE unsigned coordinate_bits_(uint32_t n)
{
    return n <= 32768 ? 21 : 38 - (unsigned)__builtin_clz(n - 1);
}

WARP_INLINE float power_of_two_(int exponent)
{
    uint32_t bits = (uint32_t)(127 + exponent) << 23;
    return as_float_(bits);
}

/* Where a number of `bits` of a texture's length is. */
WARP_INLINE int32_t place_part_(uint32_t part, unsigned bits, bool linear, uint32_t n)
{
    uint64_t at = (uint64_t)part * n;
    return linear ? (int32_t)((at + (1u << (bits - 9))) >> (bits - 8)) - 128
                  : (int32_t)(at >> bits);
}

/* Normalized, in 0..1 or not far outside. */
WARP_INLINE void place_once_(const uint32_t *in, bool linear, uint32_t n, int32_t *position)
{
    unsigned bits = coordinate_bits_(n);
    float one = power_of_two_((int)bits);
    int32_t before = (int32_t)n * (linear ? 256 : 1);
    for (int l = 0; l < LANES; l++) {
        float x = limit_(coordinate_(in[l]), -1.0f, 2.0f);
        uint32_t part = (uint32_t)(floor_(x * one) + (1 << bits));
        position[l] = place_part_(part, bits, linear, n) - before;
    }
}

/* Normalized, where the texture is repeated; every second one is `turned` around if `mirror`, which
 * is done with the elements once they are known. */
WARP_INLINE void place_again_(const uint32_t *in, bool linear, bool mirror, uint32_t n,
                              int32_t *position, uint32_t *turned)
{
    unsigned bits = coordinate_bits_(n);
    float one = power_of_two_((int)bits), unit = power_of_two_(-(int)bits);
    for (int l = 0; l < LANES; l++) {
        float x = coordinate_(in[l]), size = x < 0 ? -x : x;
        float units = floor_float_((size < 0x1p24f ? x : 0.0f) * one);
        float turn = floor_float_(units * unit);
        bool odd = mirror && turn - 2.0f * floor_float_(turn * 0.5f) != 0;
        position[l] = place_part_((uint32_t)(int32_t)(units - turn * one), bits, linear, n);
        turned[l] = odd ? ~0u : 0;
    }
}

/* Indices from -1..n or so into the texture. */
WARP_INLINE void bring_inside_(unsigned mode, int32_t n, int32_t *index, uint32_t *in)
{
    for (int l = 0; l < LANES; l++) {
        int32_t i = index[l];
        if (mode == ADDRESS_WRAP) {
            i = i < 0 ? i + n : i;
            i = i >= n ? i - n : i;
        }
        in[l] = mode == ADDRESS_BORDER && (uint32_t)i >= (uint32_t)n ? 0 : ~0u;
        index[l] = limit_index_(i, n - 1);
    }
}

WARP_INLINE void place_floats_(bool normalized, unsigned mode, bool linear, uint32_t size,
                               const uint32_t *in, struct axis *a)
{
    int32_t position[LANES], last = (int32_t)size - 1;
    uint32_t turned[LANES];
    bool mirror = normalized && mode == ADDRESS_MIRROR;
    if (!normalized)
        place_elements_(in, linear, position);
    else if (mode == ADDRESS_WRAP || mode == ADDRESS_MIRROR)
        place_again_(in, linear, mirror, size, position, turned);
    else
        place_once_(in, linear, size, position);
    for (int l = 0; l < LANES; l++) {
        a->near[l] = linear ? position[l] >> 8 : position[l];
        a->far[l] = (position[l] >> 8) + 1;
        a->weight[l] = position[l] & 255;
    }
    for (int l = 0; mirror && l < LANES; l++) {
        a->near[l] = turned[l] ? last - a->near[l] : a->near[l];
        a->far[l] = turned[l] ? last - a->far[l] : a->far[l];
    }
    bring_inside_(mode, (int32_t)size, a->near, a->near_in);
    if (linear)
        bring_inside_(mode, (int32_t)size, a->far, a->far_in);
    for (int l = 0; linear && mode == ADDRESS_CLAMP && l < LANES; l++)
        a->weight[l] = a->near[l] == a->far[l] ? 0 : a->weight[l]; /* nothing to weigh */
}

/* Outside is nothing, zeros. */
WARP_INLINE void place_indices_(uint32_t size, const uint32_t *in, struct axis *a)
{
    memcpy(a->near, in, sizeof a->near);
    bring_inside_(ADDRESS_BORDER, (int32_t)size, a->near, a->near_in);
}

/* Whether lanes may meet the border. */
WARP_INLINE bool place_(const struct texture *t, struct texture_instr i, int axis, bool linear,
                        uint32_t size, const uint32_t *in, struct axis *a)
{
    bool normalized = t->normalized;
    unsigned mode = mode_(t, axis, normalized && !i.integer);
    if (i.integer)
        place_indices_(size, in, a);
    else
        place_floats_(normalized, mode, linear, size, in, a);
    return mode == ADDRESS_BORDER || i.integer;
}

#endif
