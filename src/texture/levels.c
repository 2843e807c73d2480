/* levels: fetches from mipmapped textures. Each lane has a level of detail, in 256ths: what the
 * instruction says or its gradients lead to, with the sampler's bias and inside its clamps. It
 * picks the nearest level, or two whose elements are weighed as two planes of a volume are.
 *
 * Lanes that read the same levels are served together: a fetch from one level is the same as from a
 * texture of that size. How gradients are measured, and what is cut off, was found by asking an
 * H100. */
#include <string.h>

#include "texture/corners.h"
#include "texture/filter.h"

enum { ONE_LEVEL = 256, MOST_DETAIL = 64 * ONE_LEVEL };

struct texture texture_level(const struct texture *t, unsigned n)
{
    struct texture l = *t;
    for (unsigned k = 0; k < n; k++) {
        l.base += l.slice * l.slices;
        l.width = texture_half(l.width);
        l.height = texture_half(l.height);
        if (!t->layered && !t->cube)
            l.depth = l.slices = texture_half(l.slices);
        l.pitch = texture_array_pitch((uint64_t)l.width * l.element);
        l.slice = l.pitch * l.height;
    }
    l.base += (uint64_t)t->layer * l.slice;
    l.mipmapped = false;
    return l;
}

/* ---- levels of detail ---- */

/* A number of levels in 256ths, cut off; what is no number is 0. */
static int32_t detail_of(float levels)
{
    float most = MOST_DETAIL, x = levels * ONE_LEVEL;
    x = x == x ? x : 0;
    return floor_to_int(clamp_float(x, -most, most));
}

/* log2(x) of a number from 1 to below 2: by a series, which is the same on every CPU. */
static double log2_of_fraction(double x)
{
    double s = (x - 1) / (x + 1), square = s * s, sum = 0;
    for (int n = 21; n > 0; n -= 2)
        sum = sum * square + 1.0 / n;
    return 2 * s * sum * 1.4426950408889634; /* 1 / log(2) */
}

/* log2 of a positive number in 256ths: of the middle of a 256th of its power of two, but for the
 * first; below the next power. */
static int32_t detail_of_length(float length)
{
    uint32_t bits;
    memcpy(&bits, &length, 4);
    int32_t exponent = (int32_t)(bits >> 23) - 127, part = (int32_t)(bits >> 15 & 255);
    int32_t rest = (int32_t)(ONE_LEVEL * log2_of_fraction(1 + (part + 0.5) / 256) + 0.5);
    rest = part == 0 ? 0 : rest < 255 ? rest : 255;
    return clamp_index(exponent * ONE_LEVEL + rest + MOST_DETAIL, 2 * MOST_DETAIL) - MOST_DETAIL;
}

/* Directions in elements of the first level. */
struct direction {
    float of[3];
};

static struct direction combined(struct direction a, struct direction b, float sign)
{
    for (int k = 0; k < 3; k++)
        a.of[k] += sign * b.of[k];
    return a;
}

/* Nearly: of the largest component all, of the next 11/32, of the last a quarter. */
static float length_of(struct direction d)
{
    float size[3];
    for (int k = 0; k < 3; k++)
        size[k] = d.of[k] < 0 ? -d.of[k] : d.of[k];
    float a = size[0] < size[1] ? size[1] : size[0], b = size[0] < size[1] ? size[0] : size[1];
    float most = a < size[2] ? size[2] : a, rest = a < size[2] ? a : size[2];
    float next = rest < b ? b : rest, least = rest < b ? rest : b;
    return most + next * (11.0f / 32) + least * 0.25f;
}

/* Gradients of a direction become those of the place where it meets a face: the quotient's rule. */
static void meet_gradients(const float at[3], float g[3])
{
    float size[3];
    for (int k = 0; k < 3; k++)
        size[k] = at[k] < 0 ? -at[k] : at[k];
    int major = size[2] >= size[0] && size[2] >= size[1] ? 2 : size[1] >= size[0] ? 1 : 0;
    int s = major == 0 ? 2 : 0, v = major == 1 ? 2 : 1;
    float m = at[major], by = 2 * m * m;
    float ds = (g[s] * m - at[s] * g[major]) / by, dv = (g[v] * m - at[v] * g[major]) / by;
    g[0] = ds;
    g[1] = dv;
    g[2] = 0;
}

/* A lane's gradient, which stands in the rows from `row` on. */
static struct direction gradient_of(const struct texture *t, enum texture_geometry g,
                                    const uint32_t (*in)[LANES], unsigned row, int l)
{
    const float size[3] = {(float)t->width, (float)t->height,
                           g == GEOMETRY_3D ? (float)t->depth : 1};
    struct direction d = {{0}};
    for (unsigned k = 0; k < geometry_gradients(g); k++)
        d.of[k] = float_from_bits(in[row + k][l]);
    if (g == GEOMETRY_CUBE || g == GEOMETRY_ACUBE) {
        unsigned first = g == GEOMETRY_ACUBE ? 1 : 0;
        float at[3];
        for (unsigned k = 0; k < 3; k++)
            at[k] = float_from_bits(in[first + k][l]);
        meet_gradients(at, d.of);
    }
    for (int k = 0; k < 3; k++)
        d.of[k] *= size[k];
    return d;
}

/* What a lane's gradients ask for: a level of detail, and fetches along the longer direction, each
 * an element of that level from the next. */
struct footprint {
    int32_t detail;
    float ratio; /* of the directions, 1 to the sampler's most */
    struct direction along;
    float length;
};

/* Gradients that point the same way add up; the sum of two has 11/16 of its length. */
static struct footprint footprint_of(struct direction x, struct direction y, float most)
{
    struct direction all[4] = {x, y, combined(x, y, 1), combined(x, y, -1)};
    struct footprint f = {.ratio = 1};
    float area = x.of[0] * y.of[1] - x.of[1] * y.of[0];
    for (int n = 0; n < 4; n++) {
        float length = length_of(all[n]) * (n < 2 ? 1 : 11.0f / 16);
        if (n == 0 || length > f.length) {
            f.length = length;
            f.along = all[n];
        }
    }
    f.detail = -MOST_DETAIL;
    if (!(f.length > 0)) /* nothing, or no number */
        return f;
    float shorter = (area < 0 ? -area : area) / f.length; /* across it */
    shorter = shorter > f.length / most ? shorter : f.length / most;
    f.ratio = f.length <= 0x1p100f ? f.length / shorter : 1;
    f.detail = detail_of_length(f.length / f.ratio);
    return f;
}

/* Inside the sampler's clamps and the levels there are. */
static int32_t clamped_detail(const struct texture *t, int32_t detail)
{
    detail = detail < t->most ? detail : t->most;
    detail = detail > t->least ? detail : t->least;
    return clamp_index(detail, (t->levels - 1) * ONE_LEVEL);
}

/* ---- two levels ---- */

/* Elements and weights of both levels. */
struct both_levels {
    struct planes planes;
    struct texel_values texel[CORNERS], weight[CORNERS];
};

static void load_level(const struct texture *t, struct texture_instr i, const uint32_t (*in)[LANES],
                       const int32_t *share, unsigned level, struct both_levels *out)
{
    struct fetch f;
    f.t = t;
    f.bordered = false;
    f.indices = i.integer;
    f.linear = t->linear && !i.integer;
    locate(&f, i, in);
    unsigned corners = !f.linear ? 1 : f.axes > 1 ? 4 : 2;
    unsigned planes = f.linear && f.axes > 2 ? 2 : 1, first = level * corners * planes;
    struct texel_addresses p[LEVEL_CORNERS];
    fetch_corners(&f, f.axes, corners * planes, p);
    for (unsigned z = 0; z < planes; z++) {
        int32_t w[PLANE_CORNERS][LANES];
        for (int l = 0; l < LANES; l++) {
            int32_t a = f.linear ? f.axis[0].weight[l] : 0;
            int32_t b = f.linear && f.axes > 1 ? f.axis[1].weight[l] : 0;
            int32_t far = planes > 1 ? (share[l] * f.axis[2].weight[l] + 128) >> 8 : 0;
            int32_t of[PLANE_CORNERS];
            plane_weights(z != 0 ? far : share[l] - far, a, b, of);
            for (unsigned k = 0; k < corners; k++)
                w[k][l] = of[k];
        }
        for (unsigned k = 0; k < corners; k++) {
            unsigned n = first + z * corners + k;
            texel_gather(t, &p[z * corners + k], &out->texel[n]);
            spread_weights(t->channels, w[k], out->weight[n].of);
        }
    }
    out->planes = (struct planes){corners, 2 * planes};
}

#define ADD(type) add_channels(t, type, b->planes, b->texel, b->weight, out)

static WARP_CLONES void add_levels(const struct texture *t, const struct both_levels *b,
                                   uint32_t (*out)[LANES])
{
    memset(out[t->channels], 0, sizeof out[0] * (4 - t->channels));
    switch (t->type) {
    case TEXEL_U8: ADD(TEXEL_U8); break;
    case TEXEL_S8: ADD(TEXEL_S8); break;
    case TEXEL_U16: ADD(TEXEL_U16); break;
    case TEXEL_S16: ADD(TEXEL_S16); break;
    case TEXEL_F16: ADD(TEXEL_F16); break;
    default: ADD(TEXEL_F32);
    }
}

#undef ADD

/* `far` is the second level's share, in 256ths. */
static void fetch_between(const struct texture *t, struct texture_instr i, unsigned level,
                          const int32_t *far, const uint32_t (*in)[LANES], uint32_t (*out)[LANES])
{
    struct both_levels b;
    struct texture of[2] = {texture_level(t, level), texture_level(t, level + 1)};
    int32_t near[LANES];
    for (int l = 0; l < LANES; l++)
        near[l] = ONE_LEVEL - far[l];
    load_level(&of[0], i, in, near, 0, &b);
    load_level(&of[1], i, in, far, 1, &b);
    add_levels(&of[0], &b, out);
}

/* ---- all lanes ---- */

static void merge_lanes(uint32_t mask, const uint32_t (*from)[LANES], uint32_t (*to)[LANES])
{
    for (int r = 0; r < 4; r++)
        for (uint32_t l = 0; l < LANES; l++)
            to[r][l] = mask >> l & 1 ? from[r][l] : to[r][l];
}

/* Lanes with the same levels together. */
static void fetch_details(const struct texture *t, struct texture_instr i, uint32_t mask,
                          const int32_t *detail, const uint32_t (*in)[LANES],
                          uint32_t (*out)[LANES])
{
    bool blend = t->between_levels && texel_is_float(t) && i.gather == 0;
    int32_t level[LANES], far[LANES];
    for (int l = 0; l < LANES; l++) {
        int32_t d = detail[l] + (blend ? 0 : ONE_LEVEL / 2);
        level[l] = d / ONE_LEVEL;
        far[l] = blend ? d % ONE_LEVEL : 0;
    }
    for (uint32_t left = mask, same; left != 0; left &= ~same) {
        int32_t n = level[__builtin_ctz(left)], some_far = 0;
        uint32_t result[4][LANES];
        same = 0;
        for (uint32_t l = 0; l < LANES; l++)
            if (left >> l & 1 && level[l] == n) {
                same |= 1u << l;
                some_far |= far[l];
            }
        if (some_far != 0) {
            fetch_between(t, i, (unsigned)n, far, in, result);
        } else {
            struct texture of = texture_level(t, (unsigned)n);
            texture_fetch(&of, i, in, result);
        }
        merge_lanes(same, (const uint32_t(*)[LANES])result, out);
    }
}

/* ---- several fetches along a gradient ---- */

/* Of an even number of fetches, each is an element of the level away from the next, and has its
 * part of the footprint's length: the outermost two what is left. */
static unsigned fetches_of(const struct footprint *f)
{
    return f->ratio > 1 ? 2 * (unsigned)((f->ratio + 1.999f) / 2) : 1;
}

/* The n-th one's place, in elements from the middle, and weight. */
static float place_of(const struct footprint *f, unsigned n, float *weight)
{
    unsigned count = fetches_of(f);
    bool outer = n == 0 || n + 1 == count;
    float left = (f->ratio - (float)(count - 2)) / 2;
    *weight = (outer ? left : 1) / f->ratio;
    float nearest = f->ratio < 2 ? (f->ratio - 1) / f->ratio : 0.5f;
    return ((float)n - (float)(count - 1) / 2) * 2 * nearest;
}

static void fetch_along(const struct texture *t, struct texture_instr i, uint32_t mask,
                        const int32_t *detail, const struct footprint *of,
                        const uint32_t (*in)[LANES], uint32_t (*out)[LANES])
{
    unsigned first = geometry_layered((enum texture_geometry)i.geometry) ? 1 : 0, most = 0;
    const float size[2] = {(float)t->width, (float)t->height};
    uint32_t at[GEOMETRY_ROWS][LANES], result[4][LANES];
    double sum[4][LANES] = {{0}};
    float weight[LANES];
    for (int l = 0; l < LANES; l++)
        if (mask >> l & 1 && fetches_of(&of[l]) > most)
            most = fetches_of(&of[l]);
    memcpy(at, in, sizeof at);
    for (unsigned n = 0; n < most; n++) {
        uint32_t some = 0;
        for (int l = 0; l < LANES; l++) {
            if (!(mask >> l & 1) || n >= fetches_of(&of[l]))
                continue;
            some |= 1u << l;
            float step = place_of(&of[l], n, &weight[l]) / of[l].length *
                         power_of_two(detail[l] / ONE_LEVEL);
            for (unsigned k = 0; k < 2; k++) {
                float x = float_from_bits(in[first + k][l]) + step * of[l].along.of[k] / size[k];
                memcpy(&at[first + k][l], &x, 4);
            }
        }
        fetch_details(t, i, some, detail, (const uint32_t(*)[LANES])at, result);
        for (int c = 0; c < 4; c++)
            for (int l = 0; l < LANES; l++)
                if (some >> l & 1)
                    sum[c][l] += (double)float_from_bits(result[c][l]) * weight[l];
    }
    for (int c = 0; c < 4; c++)
        for (int l = 0; l < LANES; l++) {
            float v = (float)sum[c][l];
            memcpy(&result[c][l], &v, 4);
        }
    merge_lanes(mask, (const uint32_t(*)[LANES])result, out);
}

/* ---- instructions ---- */

/* Coordinates that are indices come with the number of a level, which nothing is added to and
 * nothing clamps; of one that is not there nothing is read. tld4 reads the first. */
static void fetch_numbered(const struct texture *t, struct texture_instr i, uint32_t mask,
                           const uint32_t (*in)[LANES], uint32_t (*out)[LANES])
{
    int32_t detail[LANES] = {0};
    uint32_t there = mask;
    for (int l = 0; l < LANES && i.mip == MIP_LEVEL; l++) {
        uint32_t n = in[GEOMETRY_LEVEL][l];
        detail[l] = n < t->levels ? (int32_t)n * ONE_LEVEL : 0;
        there &= n < t->levels ? ~0u : ~(1u << l);
    }
    i.mip = MIP_BASE;
    static const uint32_t nothing[4][LANES];
    merge_lanes(mask & ~there, nothing, out);
    fetch_details(t, i, there, detail, in, out);
}

static void fetch_sampled(const struct texture *t, struct texture_instr i, uint32_t mask,
                          const uint32_t (*in)[LANES], uint32_t (*out)[LANES])
{
    enum texture_geometry g = (enum texture_geometry)i.geometry;
    bool several = (g == GEOMETRY_2D || g == GEOMETRY_A2D) && texel_is_float(t);
    int32_t detail[LANES];
    struct footprint of[LANES];
    uint32_t along = 0;
    for (int l = 0; l < LANES; l++) {
        int32_t asked = 0;
        if (i.mip == MIP_LEVEL) {
            asked = detail_of(float_from_bits(in[GEOMETRY_LEVEL][l])) + t->bias;
        } else if (i.mip == MIP_GRADIENTS) {
            of[l] = footprint_of(gradient_of(t, g, in, GEOMETRY_GRADIENT_X, l),
                                 gradient_of(t, g, in, GEOMETRY_GRADIENT_Y, l),
                                 several ? t->anisotropy : 1);
            asked = of[l].detail + t->bias;
            along |= (uint32_t)(of[l].ratio > 1) << l;
        }
        detail[l] = clamped_detail(t, asked);
    }
    i.mip = MIP_BASE;
    fetch_details(t, i, mask & ~along, detail, in, out);
    if ((along & mask) != 0)
        fetch_along(t, i, along & mask, detail, of, in, out);
}

void texture_fetch_levels(const struct texture *t, struct texture_instr i, uint32_t mask,
                          const uint32_t (*in)[LANES], uint32_t (*out)[LANES])
{
    struct texture_instr one = i;
    one.halves = 0;
    if (i.integer || i.gather != 0)
        fetch_numbered(t, one, mask, in, out);
    else
        fetch_sampled(t, one, mask, in, out);
    if (i.halves)
        texture_pack_halves(out);
}
