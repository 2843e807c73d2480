/* fetch: tex and tld4. Coordinates become, axis by axis, the elements that count (axis.h); then
 * one to eight elements per lane are loaded and weighed (filter.h).
 *
 * The rules are those of the CUDA C++ Programming Guide's appendix on texture fetching and, where
 * it leaves bits open, a GPU's. */
#include <string.h>

#include "texture/corners.h"
#include "texture/filter.h"
#include "texture/plane.h"

WARP_INLINE void filter_type(const struct fetch *f, unsigned axes, enum texel_type type,
                             uint32_t (*out)[LANES])
{
    int32_t lane_weight[LEVEL_CORNERS][LANES];
    struct texel_values texel[LEVEL_CORNERS], weight[LEVEL_CORNERS];
    struct texel_addresses p[LEVEL_CORNERS];
    corner_weights(f->axis, axes, lane_weight);
    fetch_corners(f, axes, 1u << axes, p);
    for (unsigned corner = 0; corner < 1u << axes; corner++) {
        texel_gather(f->t, &p[corner], &texel[corner]);
        spread_weights(f->t->channels, lane_weight[corner], weight[corner].of);
    }
    add_channels(f->t, type, planes_of(axes), texel, weight, out);
}

/* Floats take no other form between memory and sum, unless there are infinities or NaN. */
WARP_INLINE void filter_floats(const struct fetch *f, unsigned axes, uint32_t channels,
                               uint32_t (*out)[LANES])
{
    int32_t weight[LEVEL_CORNERS + 1][LANES];
    struct texel_addresses p[LEVEL_CORNERS];
    corner_weights(f->axis, axes, weight);
    fetch_corners(f, axes, 1u << axes, p);
    if (add_float_texels(f->t->base, channels, axes, p, (const int32_t(*)[LANES])weight, out))
        filter_type(f, axes, TEXEL_F32, out);
}

/* The commonest of formats: colours of four bytes. */
WARP_INLINE void filter_bytes(const struct fetch *f, unsigned axes, uint32_t (*out)[LANES])
{
    int32_t weight[LEVEL_CORNERS][LANES];
    struct texel_addresses p[LEVEL_CORNERS];
    corner_weights(f->axis, axes, weight);
    fetch_corners(f, axes, 1u << axes, p);
    add_bytes(f->t->base, axes, p, (const int32_t(*)[LANES])weight, out);
}

/* Integers that stay integers: rare, and one channel after the other. */
static void filter_whole(const struct fetch *f, unsigned axes, uint32_t (*out)[LANES])
{
    int32_t weight[LEVEL_CORNERS][LANES];
    uint32_t texel[LEVEL_CORNERS][4][LANES];
    struct texel_addresses p[LEVEL_CORNERS];
    enum texel_type type = (enum texel_type)f->t->type;
    corner_weights(f->axis, axes, weight);
    fetch_corners(f, axes, 1u << axes, p);
    for (unsigned k = 0; k < 1u << axes; k++)
        texel_load(f->t, &p[k], f->t->channels, texel[k]);
    for (uint32_t c = 0; c < f->t->channels; c++)
        for (int l = 0; l < LANES; l++) {
            int64_t sum = 0;
            for (unsigned k = 0; k < 1u << axes; k++)
                sum += weight[k][l] * whole_value(type, texel[k][c][l]);
            out[c][l] = round_whole(type, sum);
        }
}

WARP_INLINE void filter_axes(const struct fetch *f, unsigned axes, uint32_t (*out)[LANES])
{
    if (!texel_is_float(f->t)) {
        filter_whole(f, axes, out);
        return;
    }
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

/* Linear memory: elements by number, zeros outside, no filter, address mode or offset. */
static WARP_CLONES void fetch_buffer(const struct texture *t, struct texture_instr i,
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

void texture_pack_halves(uint32_t (*out)[LANES])
{
    for (int r = 0; r < 2; r++)
        for (int l = 0; l < LANES; l++)
            out[r][l] = texel_half(out[2 * r][l]) | (uint32_t)texel_half(out[2 * r + 1][l]) << 16;
}

static WARP_CLONES void fetch_any(const struct texture *t, struct texture_instr i,
                                  const uint32_t (*coordinates)[LANES], uint32_t (*out)[LANES])
{
    struct fetch f; /* large: only what is used gets a value */
    f.t = t;
    f.bordered = false;
    f.indices = i.integer;
    f.linear = i.gather != 0 || (t->linear && !i.integer);
    locate(&f, i, coordinates);
    if (i.gather != 0) {
        fetch_gather(&f, i.gather - 1, out);
    } else if (f.linear) {
        filter(&f, out);
    } else {
        nearest_only(&f, out);
    }
}

/* A filtered read of a plane, by the CPU's vectors. */
static bool fetch_plane(const struct texture *t, struct texture_instr i,
                        const uint32_t (*coordinates)[LANES], uint32_t (*out)[LANES])
{
    enum texture_geometry g = (enum texture_geometry)i.geometry;
    bool cube = g == GEOMETRY_CUBE || g == GEOMETRY_ACUBE;
    if (!t->linear || cube || i.integer || i.gather != 0 || i.moved)
        return false;
    plane_function *here = plane_fetch_here();
    return here != NULL && here(t, g, coordinates, out);
}

void texture_fetch(const struct texture *t, struct texture_instr i,
                   const uint32_t (*coordinates)[LANES], uint32_t (*out)[LANES])
{
    if (t->buffer)
        fetch_buffer(t, i, coordinates, out);
    else if (!fetch_plane(t, i, coordinates, out))
        fetch_any(t, i, coordinates, out);
    if (i.halves)
        texture_pack_halves(out);
}
