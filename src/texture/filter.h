/* filter: the weighed sums of up to eight elements, as a texture unit makes them.
 *
 * Weights are whole numbers of 1/256 that add up to 1: the axes share them out one after the other,
 * and each rounding goes to the far element or, opposite to the first axis's far side, to the near
 * one. Integers are added as such and come out with 16 bits, or as integers. Floats are cut off
 * below the largest of the plane (z near, z far) that counts, 28 bits of it, halves 15 bits, sRGB 8
 * bits; the sum is exact then and rounded once, ties away from zero. Two levels of a mipmapped
 * texture are planes of one sum, too. */
#ifndef WEIR_TEXTURE_FILTER_H
#define WEIR_TEXTURE_FILTER_H

#include "texture/axis.h"
#include "texture/convert.h"

/* Bit k of a corner says far on axis k; those of a second level come after the first one's. */
enum { CORNERS = 16, LEVEL_CORNERS = 8, PLANE_CORNERS = 4, PLANES = 4 };

/* Shares a plane's weight out to its corners: `a` is the first axis's, `b` the second's. */
WARP_INLINE void plane_weights(int32_t plane, int32_t a, int32_t b, int32_t *w)
{
    int32_t far = (plane * a + 128) >> 8, near = plane - far;
    int32_t far_far = (far * b + 128) >> 8, near_near = (near * (256 - b) + 128) >> 8;
    w[0] = near_near;
    w[1] = far - far_far;
    w[2] = near - near_near;
    w[3] = far_far;
}

WARP_INLINE void corner_weights(const struct axis *axis, unsigned axes, int32_t (*w)[LANES])
{
    for (unsigned z = 0; z < (axes > 2 ? 2 : 1); z++)
        for (int l = 0; l < LANES; l++) {
            int32_t a = axis[0].weight[l], b = axes > 1 ? axis[1].weight[l] : 0;
            int32_t c = axes > 2 ? axis[2].weight[l] : 0, of[PLANE_CORNERS];
            plane_weights(z ? c : 256 - c, a, b, of);
            for (unsigned k = 0; k < (axes > 1 ? 4 : 2); k++)
                w[4 * z + k][l] = of[k];
        }
}

/* All functions with these are inlined: how vectors would be passed does not matter. */
#pragma GCC diagnostic ignored "-Wpsabi"

/* Eight sums are made at once, whatever lanes and channels they belong to; what needs 64 bits for
 * the even four of them and for the odd four. */
enum { SUMS = 8 };
typedef int32_t ints __attribute__((vector_size(4 * SUMS)));
typedef uint32_t words __attribute__((vector_size(4 * SUMS)));
typedef float floats __attribute__((vector_size(4 * SUMS)));
typedef double doubles __attribute__((vector_size(4 * SUMS)));
typedef int64_t longs __attribute__((vector_size(4 * SUMS)));
typedef float four_floats __attribute__((vector_size(2 * SUMS)));
typedef int32_t four_ints __attribute__((vector_size(2 * SUMS)));
typedef uint32_t fours __attribute__((vector_size(2 * SUMS)));

/* Sums of an even and an odd number, and results. */
struct sums {
    doubles even, odd;
};
struct results {
    fours even, odd;
};

/* `yes` where the mask is all ones. */
WARP_INLINE ints select_ints(ints mask, ints yes, ints no) { return (mask & yes) | (~mask & no); }

/* ---- integers ---- */

/* Sums of weighed integers as fractions. */
WARP_INLINE words round_fractions(enum texel_type type, ints sum)
{
    bool has_sign = type == TEXEL_S8 || type == TEXEL_S16;
    ints wide = type == TEXEL_U8   ? sum * 257
                : type == TEXEL_S8 ? (sum * 129 + (sum >> 12) * 16) * 2
                                   : sum;
    wide = (wide + 128) >> 8;
    if (has_sign)
        wide = select_ints(wide > -32767, wide, (ints){0} - 32767);
    enum texel_type as = has_sign ? TEXEL_S16 : TEXEL_U16;
    floats n = __builtin_convertvector(wide, floats);
    return (words)(n * texel_inverse[as] + n * texel_inverse_rest[as]);
}

WARP_INLINE words add_integers(enum texel_type type, unsigned corners, const words *texel,
                               const ints *w)
{
    ints sum = {0};
    for (unsigned k = 0; k < corners; k++)
        sum += w[k] * (ints)texel[k];
    return round_fractions(type, sum);
}

/* Integers that are read as such: of 8 and 16 bits the nearest, halves upwards; of 32 bits the next
 * one below. */
WARP_INLINE int64_t whole_value(enum texel_type type, uint32_t bits)
{
    return type == TEXEL_U32 ? (int64_t)bits : (int32_t)bits;
}

WARP_INLINE uint32_t round_whole(enum texel_type type, int64_t sum)
{
    bool wide = type == TEXEL_U32 || type == TEXEL_S32;
    return (uint32_t)((sum + (wide ? 0 : 128)) >> 8);
}

/* ---- floats ---- */

/* The products of the even elements, which are 32 bits wide, and of the odd ones. */
WARP_INLINE longs times_even(ints x, ints y)
{
    return ((longs)x << 32 >> 32) * ((longs)y << 32 >> 32);
}

WARP_INLINE longs times_odd(ints x, ints y) { return ((longs)x >> 32) * ((longs)y >> 32); }

/* Whole numbers below 2^51: beside 1.5 * 2^52 a double's last bits count ones. */
WARP_INLINE doubles doubles_from_longs(longs n)
{
    const double magic = 0x1.8p52;
    return (doubles)(n + (longs)((doubles){0} + magic)) - magic;
}

/* One plane's sum, exact but for what is cut off (see above; and below 2^-99, where no scale is
 * large enough, somewhat more). Marks in `wild` where infinities and NaN count, and the sum does
 * not. `paired`: the weights of an even and the next odd sum are the same. */
WARP_INLINE struct sums add_plane(unsigned corners, unsigned bits, bool paired, const words *texel,
                                  const ints *w, ints *wild)
{
    ints least = (ints){0} + (int32_t)(bits << 23), most = least, counts[PLANE_CORNERS];
    longs even = {0}, odd = {0};
    for (unsigned k = 0; k < corners; k++) {
        counts[k] = (ints)texel[k] & (w[k] != 0);
        most = __builtin_elementwise_max(most, counts[k] & INT32_MAX);
    }
    most >>= 23;
    *wild |= most == 255;
    floats up = (floats)((253 + (int32_t)bits - most) << 23);
    for (unsigned k = 0; k < corners; k++) {
        ints whole = __builtin_convertvector((floats)counts[k] * up, ints);
        even += times_even(whole, w[k]);
        odd += paired ? times_even((ints)((longs)whole >> 32), w[k]) : times_odd(whole, w[k]);
    }
    longs down = (longs)(1023 - 126 - 8 - (int32_t)bits + most);
    return (struct sums){doubles_from_longs(even) * (doubles)(down << 52),
                         doubles_from_longs(odd) * (doubles)(down >> 32 << 52)};
}

/* To a float's 24 bits, ties away from zero. */
WARP_INLINE fours round_floats(doubles x)
{
    longs bits = ((longs)x + (1ll << 28)) & ~((1ll << 29) - 1);
    return (fours) __builtin_convertvector((doubles)bits, four_floats);
}

/* To a half's 11 bits, or its smallest step, ties away from zero. */
WARP_INLINE fours round_halves(doubles x)
{
    longs sign = (longs)x & INT64_MIN, size = (longs)x & INT64_MAX;
    longs coarse = (size + (1ll << 41)) & ~((1ll << 42) - 1);
    longs is_fine = (doubles)size < 0x1p-14;
    doubles counted = (doubles)(size & is_fine) * 0x1p24 + 0.5;
    doubles fine =
        __builtin_convertvector(__builtin_convertvector(counted, four_ints), doubles) * 0x1p-24;
    longs rounded = (is_fine & (longs)fine) | (~is_fine & coarse);
    return (fours) __builtin_convertvector((doubles)(rounded | sign), four_floats);
}

WARP_INLINE words interleaved(struct results r)
{
    return __builtin_shufflevector(r.even, r.odd, 0, 4, 1, 5, 2, 6, 3, 7);
}

/* Infinities and NaN among what counts: as they fall. */
WARP_INLINE words add_special(unsigned corners, const words *texel, const ints *w, ints wild,
                              words tame)
{
    for (int n = 0; n < SUMS; n++) {
        float sum = 0;
        for (unsigned k = 0; k < corners; k++)
            if (w[k][n] != 0 && (texel[k][n] >> 23 & 255) == 255)
                sum += float_from_bits(texel[k][n]);
        uint32_t bits;
        memcpy(&bits, &sum, 4);
        if (wild[n])
            tame[n] = sum == sum ? bits : 0x7fffffff;
    }
    return tame;
}

/* How the corners of a sum come: `corners` in each plane, side by side. */
struct planes {
    unsigned corners, planes;
};

/* Those of a fetch from one level. */
WARP_INLINE struct planes planes_of(unsigned axes)
{
    return (struct planes){axes > 1 ? 4 : 2, axes > 2 ? 2 : 1};
}

/* All but what is wild. */
WARP_INLINE struct results add_finite(unsigned bits, bool half, bool paired, struct planes p,
                                      const words *texel, const ints *w, ints *wild)
{
    struct sums sum = add_plane(p.corners, bits, paired, texel, w, wild);
    for (unsigned n = 1; n < p.planes; n++) {
        unsigned first = n * p.corners;
        struct sums next = add_plane(p.corners, bits, paired, texel + first, w + first, wild);
        sum.even += next.even;
        sum.odd += next.odd;
    }
    return (struct results){half ? round_halves(sum.even) : round_floats(sum.even),
                            half ? round_halves(sum.odd) : round_floats(sum.odd)};
}

WARP_INLINE words add_floats(unsigned bits, bool half, struct planes p, const words *texel,
                             const ints *w)
{
    ints wild = {0};
    words out = interleaved(add_finite(bits, half, false, p, texel, w, &wild));
    if (__builtin_reduce_or(wild) != 0)
        out = add_special(p.corners * p.planes, texel, w, wild, out);
    return out;
}

WARP_INLINE words add_texels(enum texel_type type, bool srgb, struct planes p, const words *texel,
                             const ints *w)
{
    switch (type) {
    case TEXEL_F32: return add_floats(28, false, p, texel, w);
    case TEXEL_F16: return add_floats(15, true, p, texel, w);
    default:
        return srgb ? add_floats(8, true, p, texel, w)
                    : add_integers(type, p.corners * p.planes, texel, w);
    }
}

/* ---- all ---- */

/* Every lane's weight, once for each of its channels. */
WARP_INLINE void spread_weights(uint32_t channels, const int32_t *w, uint32_t *out)
{
    for (int l = 0; channels == 1 && l < LANES; l++)
        out[l] = (uint32_t)w[l];
    for (int l = 0; channels == 2 && l < LANES; l++)
        out[2 * l] = out[2 * l + 1] = (uint32_t)w[l];
    for (int l = 0; channels == 4 && l < LANES; l++)
        out[4 * l] = out[4 * l + 1] = out[4 * l + 2] = out[4 * l + 3] = (uint32_t)w[l];
}

/* Back to a row for each channel. */
WARP_INLINE void split_channels(uint32_t channels, const uint32_t *in, uint32_t (*out)[LANES])
{
    for (int l = 0; channels == 1 && l < LANES; l++)
        out[0][l] = in[l];
    for (uint32_t c = 0; channels == 2 && c < 2; c++)
        for (uint32_t l = 0; l < LANES; l++)
            out[c][l] = in[2 * l + c];
    for (int l = 0; channels == 4 && l < LANES; l += 4) {
        fours v[4];
        memcpy(v, in + (size_t)4 * (size_t)l, sizeof v);
        fours a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5);
        fours b = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
        fours c = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
        fours d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
        v[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
        v[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
        v[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
        v[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
        for (int n = 0; n < 4; n++)
            memcpy(&out[n][l], &v[n], sizeof v[n]);
    }
}

WARP_INLINE void add_values(enum texel_type type, bool srgb, struct planes p, uint32_t count,
                            const struct texel_values *texels, const struct texel_values *weights,
                            struct texel_values *out)
{
    for (uint32_t n = 0; n < count; n += SUMS) {
        words texel[CORNERS];
        ints w[CORNERS];
        for (unsigned k = 0; k < p.corners * p.planes; k++) {
            memcpy(&texel[k], &texels[k].of[n], sizeof texel[k]);
            memcpy(&w[k], &weights[k].of[n], sizeof w[k]);
        }
        words sum = add_texels(type, srgb, p, texel, w);
        memcpy(&out->of[n], &sum, sizeof sum);
    }
}

/* All channels of 32 sums; alpha is no sRGB. */
WARP_INLINE void add_channels(const struct texture *t, enum texel_type type, struct planes p,
                              const struct texel_values *texels, const struct texel_values *weights,
                              uint32_t (*out)[LANES])
{
    uint32_t channels = t->channels, count = LANES * channels;
    struct texel_values sum, alpha;
    bool srgb = type == TEXEL_U8 && t->srgb;
    if (srgb)
        add_values(type, true, p, count, texels, weights, &sum);
    if (!srgb || channels == 4)
        add_values(type, false, p, count, texels, weights, srgb ? &alpha : &sum);
    for (int l = 0; srgb && channels == 4 && l < LANES; l++)
        sum.of[4 * l + 3] = alpha.of[4 * l + 3];
    split_channels(channels, sum.of, out);
}

/* ---- four bytes, straight from where they lie ---- */

/* Eight elements are eight words; weights below 2^15 and bytes in halves of a word are multiplied
 * and added for two channels at once: 256 * 255 fits in 16 bits, and the weights add up to 256. */
WARP_INLINE void add_bytes(const uint8_t *base, unsigned axes,
                           const struct texel_addresses *addresses, const int32_t (*weight)[LANES],
                           uint32_t (*out)[LANES])
{
    for (uint32_t l = 0; l < LANES; l += SUMS) {
        words even = {0}, odd = {0}; /* channels 0 and 2, 1 and 3 */
        for (unsigned k = 0; k < 1u << axes; k++) {
            words texel, w;
            for (uint32_t n = 0; n < SUMS; n++) {
                uint32_t v;
                memcpy(&v, texel_at(base, addresses[k].at[l + n]), sizeof v);
                texel[n] = v;
            }
            memcpy(&w, &weight[k][l], sizeof w);
            even += (texel & 0x00ff00ff) * w;
            odd += (texel >> 8 & 0x00ff00ff) * w;
        }
        words sum[4] = {even & 0xffff, odd & 0xffff, even >> 16, odd >> 16};
        for (int c = 0; c < 4; c++) {
            words row = round_fractions(TEXEL_U8, (ints)sum[c]);
            memcpy(&out[c][l], &row, sizeof row);
        }
    }
}

/* ---- floats, straight from where they lie ---- */

/* Channels of the elements of eight, four or two lanes side by side. */
WARP_INLINE words load_floats(const uint8_t *base, const uint64_t *at, uint32_t channels)
{
    typedef uint32_t twos __attribute__((vector_size(8)));
    words out;
    if (channels == 4) {
        fours v[2];
        for (int n = 0; n < 2; n++)
            memcpy(&v[n], texel_at(base, at[n]), sizeof v[n]);
        return __builtin_shufflevector(v[0], v[1], 0, 1, 2, 3, 4, 5, 6, 7);
    }
    if (channels == 2) {
        twos v[4];
        for (int n = 0; n < 4; n++)
            memcpy(&v[n], texel_at(base, at[n]), sizeof v[n]);
        fours low = __builtin_shufflevector(v[0], v[1], 0, 1, 2, 3);
        fours high = __builtin_shufflevector(v[2], v[3], 0, 1, 2, 3);
        return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
    }
    for (int n = 0; n < SUMS; n++) {
        uint32_t v;
        memcpy(&v, texel_at(base, at[n]), sizeof v);
        out[n] = v;
    }
    return out;
}

/* A lane's weight for each of its channels; eight weights are read. */
WARP_INLINE ints repeat_weights(const int32_t *w, uint32_t channels)
{
    ints all;
    memcpy(&all, w, sizeof all);
    return channels == 4   ? __builtin_shufflevector(all, all, 0, 0, 0, 0, 1, 1, 1, 1)
           : channels == 2 ? __builtin_shufflevector(all, all, 0, 0, 1, 1, 2, 2, 3, 3)
                           : all;
}

/* Eight sums of the lanes from `lane` on. */
WARP_INLINE struct results add_loaded_floats(const uint8_t *base, uint32_t channels, unsigned axes,
                                             const struct texel_addresses *addresses,
                                             const int32_t (*weight)[LANES], uint32_t lane,
                                             ints *wild)
{
    words texel[LEVEL_CORNERS];
    ints w[LEVEL_CORNERS];
    for (unsigned k = 0; k < 1u << axes; k++) {
        texel[k] = load_floats(base, &addresses[k].at[lane], channels);
        w[k] = repeat_weights(&weight[k][lane], channels);
    }
    return add_finite(28, false, channels > 1, planes_of(axes), texel, w, wild);
}

WARP_INLINE void store_four(fours v, uint32_t *to) { memcpy(to, &v, sizeof v); }

/* `channels` is a constant where this is inlined. Results of two channels are even and odd ones as
 * they come. Returns whether there is anything wild, whose results are wrong then. The weights'
 * rows are followed by another. */
WARP_INLINE bool add_float_texels(const uint8_t *base, uint32_t channels, unsigned axes,
                                  const struct texel_addresses *addresses,
                                  const int32_t (*weight)[LANES], uint32_t (*out)[LANES])
{
    ints wild = {0};
    for (uint32_t l = 0; channels == 1 && l < LANES; l += 8) {
        words row = interleaved(add_loaded_floats(base, 1, axes, addresses, weight, l, &wild));
        memcpy(&out[0][l], &row, sizeof row);
    }
    for (uint32_t l = 0; channels == 2 && l < LANES; l += 4) {
        struct results r = add_loaded_floats(base, 2, axes, addresses, weight, l, &wild);
        store_four(r.even, &out[0][l]);
        store_four(r.odd, &out[1][l]);
    }
    for (uint32_t l = 0; channels == 4 && l < LANES; l += 4) {
        struct results a = add_loaded_floats(base, 4, axes, addresses, weight, l, &wild);
        struct results b = add_loaded_floats(base, 4, axes, addresses, weight, l + 2, &wild);
        store_four(__builtin_shufflevector(a.even, b.even, 0, 2, 4, 6), &out[0][l]);
        store_four(__builtin_shufflevector(a.odd, b.odd, 0, 2, 4, 6), &out[1][l]);
        store_four(__builtin_shufflevector(a.even, b.even, 1, 3, 5, 7), &out[2][l]);
        store_four(__builtin_shufflevector(a.odd, b.odd, 1, 3, 5, 7), &out[3][l]);
    }
    return __builtin_reduce_or(wild) != 0;
}

#endif
