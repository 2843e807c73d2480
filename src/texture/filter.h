/* filter: the weighed sums of up to eight elements, as a texture unit makes them.
 *
 * Weights are whole numbers of 1/256 that add up to 1: the axes share them out one after the other,
 * and each rounding goes to the far element or, opposite to the first axis's far side, to the near
 * one. Integers are added as such and come out with 16 bits. Floats are cut off below the largest
 * of the plane (z near, z far) that counts, 28 bits of it, halves 15 bits, sRGB 8 bits; the sum is
 * exact then and rounded once, ties away from zero. */
#ifndef WEIR_TEXTURE_FILTER_H
#define WEIR_TEXTURE_FILTER_H

#include "texture/axis.h"
#include "texture/convert.h"

/* Bit k of a corner says far on axis k. */
enum { CORNERS = 8 };

WARP_INLINE void weigh_(const struct axis *axis, unsigned axes, int32_t (*w)[LANES])
{
    for (unsigned z = 0; z < (axes > 2 ? 2 : 1); z++)
        for (int l = 0; l < LANES; l++) {
            int32_t a = axis[0].weight[l], b = axes > 1 ? axis[1].weight[l] : 0;
            int32_t c = axes > 2 ? axis[2].weight[l] : 0;
            int32_t plane = z ? c : 256 - c;
            int32_t far = (plane * a + 128) >> 8, near = plane - far;
            int32_t far_far = (far * b + 128) >> 8, near_near = (near * (256 - b) + 128) >> 8;
            w[4 * z][l] = near_near;
            w[4 * z + 1][l] = far - far_far;
            if (axes > 1) {
                w[4 * z + 2][l] = near - near_near;
                w[4 * z + 3][l] = far_far;
            }
        }
}

/* All functions with these are inlined: how vectors would be passed does not matter. */
#pragma GCC diagnostic ignored "-Wpsabi"

/* Eight sums are made at once, whatever lanes and channels they belong to. */
enum { SUMS = 8 };
typedef int32_t ints __attribute__((vector_size(4 * SUMS)));
typedef uint32_t words __attribute__((vector_size(4 * SUMS)));
typedef float floats __attribute__((vector_size(4 * SUMS)));
typedef double doubles __attribute__((vector_size(8 * SUMS)));
typedef int64_t longs __attribute__((vector_size(8 * SUMS)));

/* `yes` where the mask is all ones. */
WARP_INLINE ints choose_(ints mask, ints yes, ints no) { return (mask & yes) | (~mask & no); }

/* ---- integers ------------------------------------------------------------------------------ */

/* As fractions. */
WARP_INLINE words add_integers_(enum texel_type type, unsigned corners, const words *texel,
                                const ints *w)
{
    bool has_sign = type == TEXEL_S8 || type == TEXEL_S16;
    ints sum = {0};
    for (unsigned k = 0; k < corners; k++)
        sum += w[k] * (ints)texel[k];
    ints wide = type == TEXEL_U8   ? sum * 257
                : type == TEXEL_S8 ? (sum * 129 + (sum >> 12) * 16) * 2
                                   : sum;
    wide = (wide + 128) >> 8;
    if (has_sign)
        wide = choose_(wide > -32767, wide, (ints){0} - 32767);
    enum texel_type as = has_sign ? TEXEL_S16 : TEXEL_U16;
    floats n = __builtin_convertvector(wide, floats);
    return (words)(n * texel_inverse[as] + n * texel_inverse_rest[as]);
}

/* ---- floats -------------------------------------------------------------------------------- */

/* One plane's sum, exact but for what is cut off (see above; and below 2^-99, where no scale is
 * large enough, somewhat more). Marks in `wild` where infinities and NaN count, and the sum does
 * not. */
WARP_INLINE doubles add_plane_(unsigned corners, unsigned bits, const words *texel, const ints *w,
                               ints *wild)
{
    ints least = (ints){0} + (int32_t)(bits << 23), most = least, counts[CORNERS];
    doubles exact = {0};
    for (unsigned k = 0; k < corners; k++) {
        counts[k] = (ints)texel[k] & (w[k] != 0);
        most = __builtin_elementwise_max(most, counts[k] & INT32_MAX);
    }
    most >>= 23;
    *wild |= most == 255;
    floats up = (floats)((253 + (int32_t)bits - most) << 23);
    for (unsigned k = 0; k < corners; k++) {
        floats whole = (floats)counts[k] * up;
        exact += __builtin_convertvector(__builtin_convertvector(whole, ints), doubles) *
                 __builtin_convertvector(w[k], doubles);
    }
    longs down = __builtin_convertvector(1023 - 126 - 8 - (int32_t)bits + most, longs) << 52;
    return exact * (doubles)down;
}

/* To a float's 24 bits, ties away from zero. */
WARP_INLINE words round_floats_(doubles x)
{
    longs bits = ((longs)x + (1ll << 28)) & ~((1ll << 29) - 1);
    return (words) __builtin_convertvector((doubles)bits, floats);
}

/* To a half's 11 bits, or its smallest step, ties away from zero. */
WARP_INLINE words round_halves_(doubles x)
{
    longs sign = (longs)x & INT64_MIN, size = (longs)x & INT64_MAX;
    longs coarse = (size + (1ll << 41)) & ~((1ll << 42) - 1);
    longs is_fine = (doubles)size < 0x1p-14;
    doubles counted = (doubles)(size & is_fine) * 0x1p24 + 0.5;
    doubles fine =
        __builtin_convertvector(__builtin_convertvector(counted, ints), doubles) * 0x1p-24;
    longs rounded = (is_fine & (longs)fine) | (~is_fine & coarse);
    return (words) __builtin_convertvector((doubles)(rounded | sign), floats);
}

/* Infinities and NaN among what counts: as they fall. */
WARP_INLINE words add_wild_(unsigned corners, const words *texel, const ints *w, ints wild,
                            words tame)
{
    for (int n = 0; n < SUMS; n++) {
        float sum = 0;
        for (unsigned k = 0; k < corners; k++)
            if (w[k][n] != 0 && (texel[k][n] >> 23 & 255) == 255)
                sum += as_float_(texel[k][n]);
        uint32_t bits;
        memcpy(&bits, &sum, 4);
        if (wild[n])
            tame[n] = sum == sum ? bits : 0x7fffffff;
    }
    return tame;
}

WARP_INLINE words add_floats_(unsigned bits, bool half, unsigned axes, const words *texel,
                              const ints *w)
{
    unsigned corners = axes > 1 ? 4 : 2;
    ints wild = {0};
    doubles sum = add_plane_(corners, bits, texel, w, &wild);
    if (axes > 2)
        sum += add_plane_(corners, bits, texel + 4, w + 4, &wild);
    words out = half ? round_halves_(sum) : round_floats_(sum);
    if (__builtin_reduce_or(wild) != 0)
        out = add_wild_(1u << axes, texel, w, wild, out);
    return out;
}

WARP_INLINE words add_(enum texel_type type, bool srgb, unsigned axes, const words *texel,
                       const ints *w)
{
    switch (type) {
    case TEXEL_F32: return add_floats_(28, false, axes, texel, w);
    case TEXEL_F16: return add_floats_(15, true, axes, texel, w);
    default:
        return srgb ? add_floats_(8, true, axes, texel, w)
                    : add_integers_(type, 1u << axes, texel, w);
    }
}

/* ---- all ----------------------------------------------------------------------------------- */

/* Every lane's weight, once for each of its channels. */
WARP_INLINE void spread_(uint32_t channels, const int32_t *w, uint32_t *out)
{
    for (int l = 0; channels == 1 && l < LANES; l++)
        out[l] = (uint32_t)w[l];
    for (int l = 0; channels == 2 && l < LANES; l++)
        out[2 * l] = out[2 * l + 1] = (uint32_t)w[l];
    for (int l = 0; channels == 4 && l < LANES; l++)
        out[4 * l] = out[4 * l + 1] = out[4 * l + 2] = out[4 * l + 3] = (uint32_t)w[l];
}

/* Back to a row for each channel. */
WARP_INLINE void part_(uint32_t channels, const uint32_t *in, uint32_t (*out)[LANES])
{
    for (int l = 0; channels == 1 && l < LANES; l++)
        out[0][l] = in[l];
    for (uint32_t c = 0; channels == 2 && c < 2; c++)
        for (uint32_t l = 0; l < LANES; l++)
            out[c][l] = in[2 * l + c];
    typedef uint32_t fours __attribute__((vector_size(16)));
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

WARP_INLINE void add_values_(enum texel_type type, bool srgb, unsigned axes, uint32_t count,
                             const struct texel_values *texels, const struct texel_values *weights,
                             struct texel_values *out)
{
    for (uint32_t n = 0; n < count; n += SUMS) {
        words texel[CORNERS];
        ints w[CORNERS];
        for (unsigned k = 0; k < 1u << axes; k++) {
            memcpy(&texel[k], &texels[k].of[n], sizeof texel[k]);
            memcpy(&w[k], &weights[k].of[n], sizeof w[k]);
        }
        words sum = add_(type, srgb, axes, texel, w);
        memcpy(&out->of[n], &sum, sizeof sum);
    }
}

#endif
