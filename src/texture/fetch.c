/* fetch: tex and tld4. Coordinates become, axis by axis, the two elements that count and the
 * weight of the second; then up to eight elements per lane are loaded and weighed.
 *
 * The rules are those of the CUDA C++ Programming Guide's appendix on texture fetching: linear
 * weights have 8 fractional bits. */
#include <string.h>

#include "texture/clones.h"
#include "texture/convert.h"
#include "texture/texture.h"

enum { LANES = TEXTURE_LANES };

/* One axis of 32 fetches. */
struct axis {
    int32_t near[LANES],
        far[LANES]; /* indices inside the texture; far: the next one, linear only */
    uint32_t near_in[LANES], far_in[LANES]; /* all ones, or zero where the border is meant */
    float weight[LANES];                    /* of far */
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

/* lo..hi; NaN gives lo. */
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

/* ---- one axis ------------------------------------------------------------------------------ */

/* Which address mode really counts: without normalized coordinates there is nothing to repeat. */
WARP_INLINE unsigned mode_(const struct texture *t, int axis, bool normalized)
{
    unsigned m = t->address[axis];
    return !normalized && (m == ADDRESS_WRAP || m == ADDRESS_MIRROR) ? ADDRESS_CLAMP : m;
}

/* Coordinates in elements: within 0..n where they repeat, else not far outside. */
WARP_INLINE void scale_(const uint32_t *in, unsigned mode, bool normalized, float n, float *x)
{
    const float whole = 8388608.0f; /* from 2^23 on there are no fractions */
    const float below_one = 0x1.fffffep-1f;
    if (mode == ADDRESS_WRAP || mode == ADDRESS_MIRROR) {
        for (int l = 0; l < LANES; l++) {
            float c = limit_(as_float_(in[l]), -whole, whole);
            int32_t i = floor_(c);
            float part = c - (float)i;
            part = mode == ADDRESS_MIRROR && (i & 1) ? 1.0f - part : part;
            x[l] = (part < below_one ? part : below_one) * n;
        }
    } else {
        for (int l = 0; l < LANES; l++) {
            float c = as_float_(in[l]);
            x[l] = limit_(normalized ? c * n : c, -2.0f, n + 2.0f);
        }
    }
}

/* The element under each coordinate. */
WARP_INLINE void nearest_(const float *x, int32_t *index)
{
    for (int l = 0; l < LANES; l++)
        index[l] = floor_(x[l]);
}

/* The two elements around each coordinate. */
WARP_INLINE void around_(const float *x, struct axis *a)
{
    for (int l = 0; l < LANES; l++) {
        int32_t fixed = floor_((x[l] - 0.5f) * 256.0f + 0.5f);
        a->near[l] = fixed >> 8;
        a->far[l] = (fixed >> 8) + 1;
        a->weight[l] = (float)(fixed & 255) * (1.0f / 256.0f);
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
    float x[LANES];
    scale_(in, mode, normalized, (float)size, x);
    if (linear) {
        around_(x, a);
        bring_inside_(mode, (int32_t)size, a->far, a->far_in);
    } else {
        nearest_(x, a->near);
    }
    bring_inside_(mode, (int32_t)size, a->near, a->near_in);
}

WARP_INLINE void place_indices_(unsigned mode, uint32_t size, const uint32_t *in, struct axis *a)
{
    memcpy(a->near, in, sizeof a->near);
    bring_inside_(mode == ADDRESS_BORDER ? ADDRESS_BORDER : ADDRESS_CLAMP, (int32_t)size, a->near,
                  a->near_in);
}

/* Whether lanes may meet the border. */
WARP_INLINE bool place_(const struct texture *t, struct texture_instr i, int axis, bool linear,
                        uint32_t size, const uint32_t *in, struct axis *a)
{
    bool normalized = t->normalized;
    unsigned mode = mode_(t, axis, normalized && !i.integer);
    if (i.integer)
        place_indices_(mode, size, in, a);
    else
        place_floats_(normalized, mode, linear, size, in, a);
    return mode == ADDRESS_BORDER;
}

/* ---- all axes ------------------------------------------------------------------------------ */

/* A fetch of 32 lanes. */
struct fetch {
    const struct texture *t;
    struct axis axis[3];
    unsigned axes; /* that are filtered: 1, 2, 3 */
    bool linear;
    bool bordered;         /* some axis may meet the border */
    uint64_t start[LANES]; /* of the layer, bytes */
};

/* One of the up to eight elements: bit k of `corner` says far on axis k. `axes` is a constant where
 * this is inlined, so that each lane's place is made in registers. */
WARP_INLINE void corner_(const struct fetch *f, unsigned axes, unsigned corner,
                         struct texel_places *p)
{
    const struct texture *t = f->t;
    const uint64_t stride[3] = {t->element, t->pitch, t->slice};
    for (int l = 0; l < LANES; l++) {
        uint64_t at = f->start[l];
        for (unsigned k = 0; k < axes; k++) {
            const struct axis *a = &f->axis[k];
            at += (uint64_t)(uint32_t)(corner >> k & 1 ? a->far[l] : a->near[l]) * stride[k];
        }
        p->at[l] = at;
    }
    p->bordered = f->bordered;
    if (!f->bordered)
        return;
    for (int l = 0; l < LANES; l++) {
        uint32_t inside = ~0u;
        for (unsigned k = 0; k < axes; k++) {
            const struct axis *a = &f->axis[k];
            inside &= corner >> k & 1 ? a->far_in[l] : a->near_in[l];
        }
        p->inside[l] = inside;
    }
}

/* The weight of one of the elements; all steps are exact. */
WARP_INLINE void weigh_(const struct fetch *f, unsigned axes, unsigned corner, float *w)
{
    for (int l = 0; l < LANES; l++) {
        float product = 1.0f;
        for (unsigned k = 0; k < axes; k++) {
            float far = f->axis[k].weight[l];
            product *= corner >> k & 1 ? far : 1.0f - far;
        }
        w[l] = product;
    }
}

WARP_INLINE void filter_axes_(const struct fetch *f, unsigned axes, uint32_t channels,
                              uint32_t (*out)[LANES])
{
    float sum[4][LANES];
    for (unsigned corner = 0; corner < 1u << axes; corner++) {
        struct texel_places p;
        uint32_t texel[4][LANES];
        float w[LANES];
        corner_(f, axes, corner, &p);
        texel_load(f->t, &p, channels, texel);
        weigh_(f, axes, corner, w);
        for (uint32_t c = 0; c < channels; c++)
            for (int l = 0; l < LANES; l++) {
                float part = w[l] * as_float_(texel[c][l]);
                sum[c][l] = corner == 0 ? part : sum[c][l] + part;
            }
    }
    memcpy(out, sum, sizeof sum[0] * channels);
}

/* Whether elements are four channels that are filtered side by side, see filter_whole_. */
WARP_INLINE bool is_whole_(const struct fetch *f)
{
    const struct texture *t = f->t;
    return t->channels == 4 && !f->bordered && !t->srgb && texel_is_float(t);
}

/* The same sums as filter_axes_ for elements of four channels: lane by lane, but all channels at
 * once, which lie side by side in memory. `type` is a constant where this is inlined. */
WARP_INLINE void filter_whole_(const struct fetch *f, unsigned axes, enum texel_type type,
                               uint32_t (*out)[LANES])
{
    struct texel_places p[8];
    float w[8][LANES];
    for (unsigned corner = 0; corner < 1u << axes; corner++) {
        corner_(f, axes, corner, &p[corner]);
        weigh_(f, axes, corner, w[corner]);
    }
    for (int l = 0; l < LANES; l += 4) {
        texel_four sum[4];
        for (int n = 0; n < 4; n++) {
            sum[n] = w[0][l + n] * texel_four_load(type, f->t->base + p[0].at[l + n]);
            for (unsigned corner = 1; corner < 1u << axes; corner++)
                sum[n] +=
                    w[corner][l + n] * texel_four_load(type, f->t->base + p[corner].at[l + n]);
        }
        texel_four_turn(sum);
        for (int c = 0; c < 4; c++)
            memcpy(&out[c][l], &sum[c], sizeof sum[c]);
    }
}

WARP_INLINE void filter_type_(const struct fetch *f, unsigned axes, uint32_t channels,
                              uint32_t (*out)[LANES])
{
    if (is_whole_(f) && f->t->type == TEXEL_F32)
        filter_whole_(f, axes, TEXEL_F32, out);
    else if (is_whole_(f) && f->t->type == TEXEL_F16)
        filter_whole_(f, axes, TEXEL_F16, out);
    else if (is_whole_(f) && f->t->type == TEXEL_U8)
        filter_whole_(f, axes, TEXEL_U8, out);
    else if (is_whole_(f) && f->t->type == TEXEL_U16)
        filter_whole_(f, axes, TEXEL_U16, out);
    else
        filter_axes_(f, axes, channels, out);
}

WARP_INLINE void filter_(const struct fetch *f, uint32_t (*out)[LANES])
{
    const float one = 1.0f;
    uint32_t channels = f->bordered ? 4 : f->t->channels; /* a border has all four */
    if (f->axes == 1)
        filter_type_(f, 1, channels, out);
    else if (f->axes == 2)
        filter_type_(f, 2, channels, out);
    else
        filter_type_(f, 3, channels, out);
    memset(out[channels], 0, sizeof out[0] * (4 - channels));
    for (int l = 0; channels < 4 && l < LANES; l++)
        memcpy(&out[3][l], &one, 4);
}

/* Without a filter. */
WARP_INLINE void nearest_only_(const struct fetch *f, uint32_t (*out)[LANES])
{
    struct texel_places p;
    if (f->axes == 1)
        corner_(f, 1, 0, &p);
    else if (f->axes == 2)
        corner_(f, 2, 0, &p);
    else
        corner_(f, 3, 0, &p);
    texel_load(f->t, &p, 4, out);
}

/* The same component of four elements, counter-clockwise from the lower left. */
WARP_INLINE void gather_(const struct fetch *f, unsigned component, uint32_t (*out)[LANES])
{
    static const uint8_t corners[4] = {2, 3, 1, 0};
    for (int n = 0; n < 4; n++) {
        struct texel_places p;
        uint32_t texel[4][LANES];
        corner_(f, 2, corners[n], &p);
        texel_load(f->t, &p, component + 1, texel);
        memcpy(out[n], texel[component], sizeof out[n]);
    }
}

/* ---- cube maps ----------------------------------------------------------------------------- */

/* The face that each direction meets, and where on it, 0..1. */
WARP_INLINE void meet_(const uint32_t (*in)[LANES], uint32_t *face, uint32_t (*where)[LANES])
{
    for (int l = 0; l < LANES; l++) {
        float x = as_float_(in[0][l]), y = as_float_(in[1][l]), z = as_float_(in[2][l]);
        float ax = x < 0 ? -x : x, ay = y < 0 ? -y : y, az = z < 0 ? -z : z;
        bool is_x = ax >= ay && ax >= az, is_y = !is_x && ay >= az;
        float m = is_x ? ax : is_y ? ay : az;
        float s = is_x ? (x < 0 ? z : -z) : is_y ? x : (z < 0 ? -x : x);
        float v = is_y ? (y < 0 ? -z : z) : -y;
        face[l] = is_x ? x < 0 : is_y ? 2 + (y < 0) : 4 + (z < 0);
        s = (s / m + 1.0f) * 0.5f;
        v = (v / m + 1.0f) * 0.5f;
        memcpy(&where[0][l], &s, 4);
        memcpy(&where[1][l], &v, 4);
    }
}

/* ---- instructions -------------------------------------------------------------------------- */

/* Layers are indices, never filtered: what is beyond is the last. */
WARP_INLINE void add_layers_(const uint32_t *layer, uint32_t count, uint64_t stride,
                             uint64_t *start)
{
    for (int l = 0; l < LANES; l++)
        start[l] += (uint64_t)(layer[l] < count ? layer[l] : count - 1) * stride;
}

WARP_INLINE void cube_(struct fetch *f, const uint32_t (*in)[LANES])
{
    const struct texture *t = f->t;
    uint32_t face[LANES], where[2][LANES];
    meet_(in, face, where);
    add_layers_(face, t->depth < 6 ? t->depth : 6, t->slice, f->start);
    for (int k = 0; k < 2; k++)
        place_floats_(true, ADDRESS_CLAMP, f->linear, k == 0 ? t->width : t->height, where[k],
                      &f->axis[k]);
    f->axes = 2;
}

WARP_INLINE void locate_(struct fetch *f, struct texture_instr i, const uint32_t (*in)[LANES])
{
    const struct texture *t = f->t;
    uint32_t size[3] = {t->width, t->height, t->depth};
    enum texture_geometry g = (enum texture_geometry)i.geometry;
    memset(f->start, 0, sizeof f->start);
    if (geometry_layered(g)) {
        uint32_t of = g == GEOMETRY_ACUBE ? 6 : 1;
        add_layers_(in[0], t->depth / of ? t->depth / of : 1, t->slice * of, f->start);
        in++;
    }
    if (g == GEOMETRY_CUBE || g == GEOMETRY_ACUBE) {
        cube_(f, in);
        return;
    }
    unsigned axes = g == GEOMETRY_3D ? 3 : g == GEOMETRY_2D || g == GEOMETRY_A2D ? 2 : 1;
    f->axes = axes;
    for (unsigned k = 0; k < axes; k++)
        f->bordered |= place_(t, i, (int)k, f->linear, size[k], in[k], &f->axis[k]);
}

/* Linear memory: elements by number, zeros outside, no filter and no address mode. */
WARP_INLINE void buffer_(const struct texture *t, struct texture_instr i,
                         const uint32_t (*in)[LANES], uint32_t (*out)[LANES])
{
    struct texel_places p;
    p.bordered = false;
    uint32_t inside[LANES];
    for (int l = 0; l < LANES; l++) {
        float x = limit_(as_float_(in[0][l]), -1.0f, 0x1p30f);
        uint32_t n = i.integer ? in[0][l] : (uint32_t)floor_(x);
        inside[l] = n < t->width ? ~0u : 0;
        p.at[l] = (uint64_t)(n & inside[l]) * t->element;
    }
    texel_load(t, &p, 4, out);
    for (int c = 0; c < 4; c++)
        for (int l = 0; l < LANES; l++)
            out[c][l] &= inside[l];
}

static void pack_halves_(uint32_t (*out)[LANES])
{
    for (int r = 0; r < 2; r++)
        for (int l = 0; l < LANES; l++)
            out[r][l] = texel_half(out[2 * r][l]) | (uint32_t)texel_half(out[2 * r + 1][l]) << 16;
}

WARP_CLONES void texture_fetch(const struct texture *t, struct texture_instr i,
                               const uint32_t (*coordinates)[LANES], uint32_t (*out)[LANES])
{
    if (t->buffer) {
        buffer_(t, i, coordinates, out);
    } else {
        struct fetch f; /* large: only what is used gets a value */
        f.t = t;
        f.bordered = false;
        f.linear = i.gather != 0 || (t->linear && !i.integer && texel_is_float(t));
        locate_(&f, i, coordinates);
        if (i.gather != 0) {
            gather_(&f, i.gather - 1, out);
        } else if (f.linear) {
            filter_(&f, out);
        } else {
            nearest_only_(&f, out);
        }
    }
    if (i.halves)
        pack_halves_(out);
}
