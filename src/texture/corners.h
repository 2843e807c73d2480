/* corners: which elements of a texture a fetch of 32 lanes reads: coordinates become, axis by axis,
 * elements and weights (axis.h), and these the addresses of one to eight elements for each lane. */
#ifndef WEIR_TEXTURE_CORNERS_H
#define WEIR_TEXTURE_CORNERS_H

#include <string.h>

#include "texture/axis.h"

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

#endif
