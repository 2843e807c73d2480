/* fetch: tex and tld4. Coordinates become, axis by axis, the elements that count (axis.h); then
 * one to eight elements per lane are loaded and weighed (filter.h).
 *
 * The rules are those of the CUDA C++ Programming Guide's appendix on texture fetching and, where
 * it leaves bits open, a GPU's. */
#include <string.h>

#include "texture/axis.h"
#include "texture/filter.h"

/* ---- all axes ---- */

/* A fetch of 32 lanes. */
struct fetch {
    const struct texture *t;
    struct axis axis[3];
    unsigned axes; /* that are filtered: 1, 2, 3 */
    bool linear;
    bool bordered;         /* some axis may meet the border */
    bool indices;          /* coordinates are indices: zeros are outside */
    uint64_t start[LANES]; /* of the layer, bytes */
};

/* Up to eight elements, the first `corners` of them. `axes` is a constant where this is inlined, so
 * that each lane's offsets are made in registers. */
WARP_INLINE void inner_corners(const struct fetch *f, unsigned axes, unsigned corners,
                               struct texel_addresses *p)
{
    const struct texture *t = f->t;
    const uint32_t element = t->element, pitch = (uint32_t)t->pitch;
    for (int l = 0; l < LANES; l++)
        for (unsigned k = 0; k < corners; k++) {
            const struct axis *a = f->axis;
            uint64_t at = f->start[l];
            at += (uint32_t)(k & 1 ? a[0].far[l] : a[0].near[l]) * element;
            if (axes > 1)
                at += (uint64_t)(uint32_t)(k & 2 ? a[1].far[l] : a[1].near[l]) * pitch;
            if (axes > 2)
                at += (uint64_t)(uint32_t)(k & 4 ? a[2].far[l] : a[2].near[l]) * t->slice;
            p[k].at[l] = at;
        }
}

/* What lies outside on some axis is the border instead. */
WARP_INLINE void border_corner(const struct fetch *f, unsigned axes, unsigned corner,
                               struct texel_addresses *p)
{
    const struct texture *t = f->t;
    static const uint8_t nothing[sizeof t->border];
    const uint8_t *outside = f->indices ? nothing : t->border;
    const uint64_t border = (uint64_t)((uintptr_t)outside - (uintptr_t)t->base);
    for (int l = 0; l < LANES; l++) {
        uint32_t inside = ~0u;
        for (unsigned k = 0; k < axes; k++) {
            const struct axis *a = &f->axis[k];
            inside &= corner >> k & 1 ? a->far_in[l] : a->near_in[l];
        }
        p->at[l] = inside ? p->at[l] : border;
    }
}

WARP_INLINE void fetch_corners(const struct fetch *f, unsigned axes, unsigned corners,
                               struct texel_addresses *p)
{
    inner_corners(f, axes, corners, p);
    for (unsigned k = 0; f->bordered && k < corners; k++)
        border_corner(f, axes, k, &p[k]);
}

WARP_INLINE void filter_type(const struct fetch *f, unsigned axes, enum texel_type type,
                             uint32_t (*out)[LANES])
{
    uint32_t channels = f->t->channels, count = LANES * channels;
    int32_t lane_weight[CORNERS][LANES];
    struct texel_values texel[CORNERS], weight[CORNERS], sum, alpha;
    corner_weights(f->axis, axes, lane_weight);
    struct texel_addresses p[CORNERS];
    fetch_corners(f, axes, 1u << axes, p);
    for (unsigned corner = 0; corner < 1u << axes; corner++) {
        texel_gather(f->t, &p[corner], &texel[corner]);
        spread_weights(channels, lane_weight[corner], weight[corner].of);
    }
    bool srgb = type == TEXEL_U8 && f->t->srgb;
    if (srgb)
        add_values(type, true, axes, count, texel, weight, &sum);
    if (!srgb || channels == 4)
        add_values(type, false, axes, count, texel, weight, srgb ? &alpha : &sum);
    for (int l = 0; srgb && channels == 4 && l < LANES; l++)
        sum.of[4 * l + 3] = alpha.of[4 * l + 3];
    split_channels(channels, sum.of, out);
}

/* Floats take no other form between memory and sum, unless there are infinities or NaN. */
WARP_INLINE void filter_floats(const struct fetch *f, unsigned axes, uint32_t channels,
                               uint32_t (*out)[LANES])
{
    int32_t weight[CORNERS + 1][LANES];
    struct texel_addresses p[CORNERS];
    corner_weights(f->axis, axes, weight);
    fetch_corners(f, axes, 1u << axes, p);
    if (add_float_texels(f->t->base, channels, axes, p, (const int32_t(*)[LANES])weight, out))
        filter_type(f, axes, TEXEL_F32, out);
}

/* The commonest of formats: colours of four bytes. */
WARP_INLINE void filter_bytes(const struct fetch *f, unsigned axes, uint32_t (*out)[LANES])
{
    int32_t weight[CORNERS][LANES];
    struct texel_addresses p[CORNERS];
    corner_weights(f->axis, axes, weight);
    fetch_corners(f, axes, 1u << axes, p);
    add_bytes(f->t->base, axes, p, (const int32_t(*)[LANES])weight, out);
}

WARP_INLINE void filter_axes(const struct fetch *f, unsigned axes, uint32_t (*out)[LANES])
{
    switch (f->t->type) {
    case TEXEL_U8:
        if (f->t->channels == 4 && !f->t->srgb)
            filter_bytes(f, axes, out);
        else
            filter_type(f, axes, TEXEL_U8, out);
        break;
    case TEXEL_S8: filter_type(f, axes, TEXEL_S8, out); break;
    case TEXEL_U16: filter_type(f, axes, TEXEL_U16, out); break;
    case TEXEL_S16: filter_type(f, axes, TEXEL_S16, out); break;
    case TEXEL_F16: filter_type(f, axes, TEXEL_F16, out); break;
    default:
        if (f->t->channels == 4)
            filter_floats(f, axes, 4, out);
        else if (f->t->channels == 2)
            filter_floats(f, axes, 2, out);
        else
            filter_floats(f, axes, 1, out);
    }
}

WARP_INLINE void filter(const struct fetch *f, uint32_t (*out)[LANES])
{
    memset(out[f->t->channels], 0, sizeof out[0] * (4 - f->t->channels));
    if (f->axes == 1)
        filter_axes(f, 1, out);
    else if (f->axes == 2)
        filter_axes(f, 2, out);
    else
        filter_axes(f, 3, out);
}

/* Without a filter. */
WARP_INLINE void nearest_only(const struct fetch *f, uint32_t (*out)[LANES])
{
    struct texel_addresses p;
    if (f->axes == 1)
        fetch_corners(f, 1, 1, &p);
    else if (f->axes == 2)
        fetch_corners(f, 2, 1, &p);
    else
        fetch_corners(f, 3, 1, &p);
    texel_load(f->t, &p, 4, out);
}

/* The same component of four elements, counter-clockwise from the lower left. */
WARP_INLINE void fetch_gather(const struct fetch *f, unsigned component, uint32_t (*out)[LANES])
{
    static const uint8_t corners[4] = {2, 3, 1, 0};
    struct texel_addresses p[4];
    fetch_corners(f, 2, 4, p);
    for (int n = 0; n < 4; n++) {
        uint32_t texel[4][LANES];
        texel_load(f->t, &p[corners[n]], component + 1, texel);
        memcpy(out[n], texel[component], sizeof out[n]);
    }
}

/* ---- cube maps ---- */

/* The face that each direction meets, and where on it, 0..1. Of equal coordinates z counts before
 * y before x; a direction that is none meets the middle of a face. */
WARP_INLINE void meet(const uint32_t (*in)[LANES], uint32_t *face, uint32_t (*where)[LANES])
{
    for (int l = 0; l < LANES; l++) {
        float x = float_from_bits(in[0][l]), y = float_from_bits(in[1][l]),
              z = float_from_bits(in[2][l]);
        float ax = x < 0 ? -x : x, ay = y < 0 ? -y : y, az = z < 0 ? -z : z;
        bool is_z = az >= ax && az >= ay, is_y = !is_z && ay >= ax;
        float m = is_z ? az : is_y ? ay : ax;
        float s = is_z ? (z < 0 ? -x : x) : is_y ? x : (x < 0 ? z : -z);
        float v = is_y ? (y < 0 ? -z : z) : -y;
        face[l] = is_z ? 4 + (z < 0) : is_y ? 2 + (y < 0) : x < 0;
        s = (s / m + 1.0f) * 0.5f;
        v = (v / m + 1.0f) * 0.5f;
        s = s == s ? s : 0.5f;
        v = v == v ? v : 0.5f;
        memcpy(&where[0][l], &s, 4);
        memcpy(&where[1][l], &v, 4);
    }
}

/* ---- instructions ---- */

/* Layers are indices, never filtered: what is beyond is the last. */
WARP_INLINE void add_layers(const uint32_t *layer, uint32_t count, uint64_t stride, uint64_t *start)
{
    for (int l = 0; l < LANES; l++)
        start[l] += (uint64_t)(layer[l] < count ? layer[l] : count - 1) * stride;
}

WARP_INLINE void fetch_cube(struct fetch *f, const uint32_t (*in)[LANES])
{
    const struct texture *t = f->t;
    uint32_t face[LANES], where[2][LANES];
    meet(in, face, where);
    add_layers(face, t->depth < 6 ? t->depth : 6, t->slice, f->start);
    for (int k = 0; k < 2; k++)
        locate_floats(true, ADDRESS_CLAMP, f->linear, k == 0 ? t->width : t->height, where[k],
                      &f->axis[k]);
    f->axes = 2;
}

/* A row is read as a plane of height 1, at 0: between itself and the border, if there is one. */
WARP_INLINE void beside_rows(struct fetch *f)
{
    static const uint32_t zero[LANES];
    locate_floats(false, ADDRESS_BORDER, true, 1, zero, &f->axis[1]);
    f->bordered = true;
    f->axes = 2;
}

WARP_INLINE void locate(struct fetch *f, struct texture_instr i, const uint32_t (*in)[LANES])
{
    const struct texture *t = f->t;
    uint32_t size[3] = {t->width, t->height, t->depth};
    enum texture_geometry g = (enum texture_geometry)i.geometry;
    const uint32_t(*offset)[LANES] = i.moved ? in + GEOMETRY_OFFSETS : NULL;
    memset(f->start, 0, sizeof f->start);
    if (geometry_layered(g)) {
        uint32_t of = g == GEOMETRY_ACUBE ? 6 : 1;
        add_layers(in[0], t->depth / of ? t->depth / of : 1, t->slice * of, f->start);
        in++;
    }
    if (g == GEOMETRY_CUBE || g == GEOMETRY_ACUBE) {
        fetch_cube(f, in);
        return;
    }
    unsigned axes = geometry_axes(g);
    f->axes = axes;
    for (unsigned k = 0; k < axes; k++)
        f->bordered |= locate_axis(t, i, (int)k, f->linear, size[k], in[k],
                                   offset != NULL ? offset[k] : NULL, &f->axis[k]);
    if (axes == 1 && f->linear && t->address[1] == ADDRESS_BORDER)
        beside_rows(f);
}

/* Linear memory: elements by number, zeros outside, no filter, address mode or offset. */
WARP_INLINE void fetch_buffer(const struct texture *t, struct texture_instr i,
                              const uint32_t (*in)[LANES], uint32_t (*out)[LANES])
{
    struct texel_addresses p;
    uint32_t inside[LANES];
    for (int l = 0; l < LANES; l++) {
        float x = clamp_float(float_from_bits(in[0][l]), -1.0f, 0x1p30f);
        uint32_t n = i.integer ? in[0][l] : (uint32_t)floor_to_int(x);
        inside[l] = n < t->width ? ~0u : 0;
        p.at[l] = (uint64_t)(n & inside[l]) * t->element;
    }
    texel_load(t, &p, 4, out);
    for (int c = 0; c < 4; c++)
        for (int l = 0; l < LANES; l++)
            out[c][l] &= inside[l];
}

static void pack_halves(uint32_t (*out)[LANES])
{
    for (int r = 0; r < 2; r++)
        for (int l = 0; l < LANES; l++)
            out[r][l] = texel_half(out[2 * r][l]) | (uint32_t)texel_half(out[2 * r + 1][l]) << 16;
}

WARP_CLONES void texture_fetch(const struct texture *t, struct texture_instr i,
                               const uint32_t (*coordinates)[LANES], uint32_t (*out)[LANES])
{
    if (t->buffer) {
        fetch_buffer(t, i, coordinates, out);
    } else {
        struct fetch f; /* large: only what is used gets a value */
        f.t = t;
        f.bordered = false;
        f.indices = i.integer;
        f.linear = i.gather != 0 || (t->linear && !i.integer && texel_is_float(t));
        locate(&f, i, coordinates);
        if (i.gather != 0) {
            fetch_gather(&f, i.gather - 1, out);
        } else if (f.linear) {
            filter(&f, out);
        } else {
            nearest_only(&f, out);
        }
    }
    if (i.halves)
        pack_halves(out);
}
