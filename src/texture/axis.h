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

WARP_INLINE float float_from_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

/* Largest integer not above x, for |x| < 2^31. */
WARP_INLINE int32_t floor_to_int(float x)
{
    int32_t i = (int32_t)x;
    return i - (x < (float)i);
}

/* The same as a float; from 2^23 on there are no fractions. */
WARP_INLINE float floor_to_float(float x)
{
    float size = x < 0 ? -x : x;
    float small = size < 8388608.0f ? x : 0.0f;
    return size < 8388608.0f ? (float)floor_to_int(small) : x;
}

/* A coordinate without its odd cases. */
WARP_INLINE float flush_coordinate(uint32_t bits)
{
    float x = float_from_bits(bits), size = x < 0 ? -x : x;
    return size >= 0x1p-126f ? x : 0.0f; /* NaN compares as false */
}

/* lo..hi */
WARP_INLINE float clamp_float(float x, float lo, float hi)
{
    x = x > lo ? x : lo;
    return x < hi ? x : hi;
}

WARP_INLINE int32_t clamp_index(int32_t i, int32_t last)
{
    i = i > 0 ? i : 0;
    return i < last ? i : last;
}

/* Which address mode really counts: without normalized coordinates there is nothing to repeat. */
WARP_INLINE unsigned effective_mode(const struct texture *t, int axis, bool normalized)
{
    unsigned m = t->address[axis];
    return !normalized && (m == ADDRESS_WRAP || m == ADDRESS_MIRROR) ? ADDRESS_CLAMP : m;
}

/* Positions are indices, or for filters those of the elements before, in 1/256. */

WARP_INLINE int32_t locate_element(uint32_t in, bool linear)
{
    float x = clamp_float(flush_coordinate(in), -0x1p22f, 0x1p22f) * (linear ? 256.0f : 1.0f);
    int32_t below = floor_to_int(x);
    return linear ? below - 128 + (x - (float)below >= 0.5f) : below;
}

/* How many bits of a normalized coordinate count. */
WARP_INLINE unsigned coordinate_bits(uint32_t n)
{
    return n <= 32768 ? 21 : 38 - (unsigned)__builtin_clz(n - 1);
}

WARP_INLINE float power_of_two(int exponent)
{
    uint32_t bits = (uint32_t)(127 + exponent) << 23;
    return float_from_bits(bits);
}

/* Where a number of `bits` of a texture's length is. */
WARP_INLINE int32_t locate_part(uint32_t part, unsigned bits, bool linear, uint32_t n)
{
    uint64_t at = (uint64_t)part * n;
    return linear ? (int32_t)((at + (1u << (bits - 9))) >> (bits - 8)) - 128
                  : (int32_t)(at >> bits);
}

/* Normalized, in 0..1 or not far outside: up to `reach` lengths of the texture. */
WARP_INLINE int32_t locate_once(uint32_t in, bool linear, unsigned bits, uint32_t n, int32_t reach)
{
    float x = clamp_float(flush_coordinate(in), (float)-reach, (float)(reach + 1));
    uint32_t part = (uint32_t)(floor_to_int(x * power_of_two((int)bits)) + (reach << bits));
    return locate_part(part, bits, linear, n) - reach * (int32_t)n * (linear ? 256 : 1);
}

/* Normalized, where the texture is repeated; every second one is `turned` around if `mirror`, which
 * is done with the elements once they are known. */
WARP_INLINE int32_t locate_repeated(uint32_t in, bool linear, unsigned bits, uint32_t n,
                                    bool mirror, bool *turned)
{
    float one = power_of_two((int)bits), unit = power_of_two(-(int)bits);
    float x = flush_coordinate(in), size = x < 0 ? -x : x;
    float units = floor_to_float((size < 0x1p24f ? x : 0.0f) * one);
    float turn = floor_to_float(units * unit);
    *turned = mirror && turn - 2.0f * floor_to_float(turn * 0.5f) != 0;
    return locate_part((uint32_t)(int32_t)(units - turn * one), bits, linear, n);
}

/* An index from -1..n or so into the texture. */
WARP_INLINE int32_t bring_inside(unsigned mode, int32_t n, int32_t i, uint32_t *in)
{
    if (mode == ADDRESS_WRAP) {
        i = i < 0 ? i + n : i;
        i = i >= n ? i - n : i;
    }
    *in = mode == ADDRESS_BORDER && (uint32_t)i >= (uint32_t)n ? 0 : ~0u;
    return clamp_index(i, n - 1);
}

/* What is asked about the texture is a constant where this is inlined, so that the loop has no
 * branches and is made of vectors. */
WARP_INLINE void locate_lanes(bool normalized, unsigned mode, bool linear, uint32_t size,
                              const uint32_t *in, struct axis *a)
{
    int32_t n = (int32_t)size;
    unsigned bits = coordinate_bits(size);
    bool repeated = normalized && (mode == ADDRESS_WRAP || mode == ADDRESS_MIRROR);
    for (int l = 0; l < LANES; l++) {
        bool turned = false;
        int32_t at =
            repeated ? locate_repeated(in[l], linear, bits, size, mode == ADDRESS_MIRROR, &turned)
            : normalized ? locate_once(in[l], linear, bits, size, 1)
                         : locate_element(in[l], linear);
        int32_t near = linear ? at >> 8 : at, far = (at >> 8) + 1, weight = at & 255;
        near = bring_inside(mode, n, turned ? n - 1 - near : near, &a->near_in[l]);
        a->near[l] = near;
        if (!linear)
            continue;
        far = bring_inside(mode, n, turned ? n - 1 - far : far, &a->far_in[l]);
        a->far[l] = far;
        a->weight[l] = mode == ADDRESS_CLAMP && near == far ? 0 : weight; /* nothing to weigh */
    }
}

WARP_INLINE void locate_filtered(bool normalized, unsigned mode, bool linear, uint32_t size,
                                 const uint32_t *in, struct axis *a)
{
    if (linear)
        locate_lanes(normalized, mode, true, size, in, a);
    else
        locate_lanes(normalized, mode, false, size, in, a);
}

static WARP_CLONES void locate_floats(bool normalized, unsigned mode, bool linear, uint32_t size,
                                      const uint32_t *in, struct axis *a)
{
    if (!normalized && mode != ADDRESS_BORDER)
        locate_filtered(false, ADDRESS_CLAMP, linear, size, in, a);
    else if (!normalized)
        locate_filtered(false, ADDRESS_BORDER, linear, size, in, a);
    else if (mode == ADDRESS_WRAP)
        locate_filtered(true, ADDRESS_WRAP, linear, size, in, a);
    else if (mode == ADDRESS_MIRROR)
        locate_filtered(true, ADDRESS_MIRROR, linear, size, in, a);
    else if (mode == ADDRESS_CLAMP)
        locate_filtered(true, ADDRESS_CLAMP, linear, size, in, a);
    else
        locate_filtered(true, ADDRESS_BORDER, linear, size, in, a);
}

/* ---- with offsets ---- */

/* Four bits of an offset count: -8 to 7. */
WARP_INLINE int32_t offset_value(uint32_t in) { return (int32_t)(in << 28) >> 28; }

/* An index that an offset has moved, into the texture; `turned`: it was counted in a length that is
 * mirrored. */
WARP_INLINE int32_t fold_index(unsigned mode, bool repeated, bool turned, int32_t n, int32_t i,
                               uint32_t *in)
{
    *in = ~0u;
    if (repeated) {
        int32_t period = mode == ADDRESS_MIRROR ? 2 * n : n;
        i = (i + (turned ? n : 0)) % period;
        i += i < 0 ? period : 0;
        return i < n ? i : 2 * n - 1 - i;
    }
    return bring_inside(mode, n, i, in);
}

/* locate_floats with offsets: an offset counts before the address mode does. */
static void locate_floats_offset(bool normalized, unsigned mode, bool linear, uint32_t size,
                                 const uint32_t *in, const uint32_t *offset, struct axis *a)
{
    int32_t n = (int32_t)size, reach = n < 16 ? 17 : 1; /* from where offsets lead back inside */
    unsigned bits = coordinate_bits(size);
    bool repeated = normalized && (mode == ADDRESS_WRAP || mode == ADDRESS_MIRROR);
    for (int l = 0; l < LANES; l++) {
        bool turned = false;
        int32_t at =
            repeated ? locate_repeated(in[l], linear, bits, size, mode == ADDRESS_MIRROR, &turned)
            : normalized ? locate_once(in[l], linear, bits, size, reach)
                         : locate_element(in[l], linear);
        int32_t near = (linear ? at >> 8 : at) + offset_value(offset[l]);
        a->near[l] = fold_index(mode, repeated, turned, n, near, &a->near_in[l]);
        a->far[l] = fold_index(mode, repeated, turned, n, near + 1, &a->far_in[l]);
        a->weight[l] = mode == ADDRESS_CLAMP && a->near[l] == a->far[l] ? 0 : at & 255;
    }
}

/* Outside is nothing, zeros. */
WARP_INLINE void locate_indices(uint32_t size, const uint32_t *in, struct axis *a)
{
    for (int l = 0; l < LANES; l++)
        a->near[l] = bring_inside(ADDRESS_BORDER, (int32_t)size, (int32_t)in[l], &a->near_in[l]);
}

static void locate_indices_offset(uint32_t size, const uint32_t *in, const uint32_t *offset,
                                  struct axis *a)
{
    uint32_t at[LANES];
    for (int l = 0; l < LANES; l++)
        at[l] = in[l] + (uint32_t)offset_value(offset[l]);
    locate_indices(size, at, a);
}

/* Whether lanes may meet the border. `offset` is NULL where there is none. */
WARP_INLINE bool locate_axis(const struct texture *t, struct texture_instr i, int axis, bool linear,
                             uint32_t size, const uint32_t *in, const uint32_t *offset,
                             struct axis *a)
{
    bool normalized = t->normalized;
    unsigned mode = effective_mode(t, axis, normalized && !i.integer);
    if (offset != NULL && i.integer)
        locate_indices_offset(size, in, offset, a);
    else if (offset != NULL)
        locate_floats_offset(normalized, mode, linear, size, in, offset, a);
    else if (i.integer)
        locate_indices(size, in, a);
    else
        locate_floats(normalized, mode, linear, size, in, a);
    return mode == ADDRESS_BORDER || i.integer;
}

#endif
