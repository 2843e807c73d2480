/* levels: fetches from mipmapped textures. Each lane has a level of detail, in 256ths: what the
 * instruction says or its gradients lead to, with the sampler's bias and inside its clamps. It
 * picks the nearest level, or two whose elements are weighed as two planes of a volume are.
 *
 * Lanes that read the same levels are served together: a fetch from one level is the same as from a
 * texture of that size. */
#include <string.h>

#include "texture/corners.h"
#include "texture/filter.h"

enum { ONE_LEVEL = 256, NO_DETAIL = 64 * ONE_LEVEL };

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

/* A number of levels in 256ths, rounded; what is no number is 0. */
static int32_t detail_of(double levels)
{
    double most = NO_DETAIL, x = levels * ONE_LEVEL;
    x = x == x ? x : 0;
    x = x < -most ? -most : x > most ? most : x;
    return (int32_t)(x + most + 0.5) - NO_DETAIL;
}

/* log2(x) / 2 of a positive number: by a series, which is the same on every CPU. */
static double half_log2(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffff) | 0x3ff0000000000000;
    memcpy(&x, &bits, 8);
    double s = (x - 1) / (x + 1), square = s * s, sum = 0;
    for (int n = 17; n > 0; n -= 2)
        sum = sum * square + 1.0 / n;
    return 0.5 * exponent + s * sum * 1.4426950408889634; /* 1 / log(2) */
}

/* How far neighbours are from each other, in elements of the first level. */
struct gradients {
    double x[3], y[3];
};

static double squared(const double v[3]) { return v[0] * v[0] + v[1] * v[1] + v[2] * v[2]; }

/* Gradients of a direction become those of the place where it meets a face: the quotient's rule. */
static void meet_gradients(const double at[3], double g[3])
{
    double size[3];
    for (int k = 0; k < 3; k++)
        size[k] = at[k] < 0 ? -at[k] : at[k];
    int major = size[2] >= size[0] && size[2] >= size[1] ? 2 : size[1] >= size[0] ? 1 : 0;
    int s = major == 0 ? 2 : 0, v = major == 1 ? 2 : 1;
    double m = at[major], by = 2 * m * m;
    double ds = (g[s] * m - at[s] * g[major]) / by, dv = (g[v] * m - at[v] * g[major]) / by;
    g[0] = ds;
    g[1] = dv;
    g[2] = 0;
}

static struct gradients gradients_of(const struct texture *t, enum texture_geometry g,
                                     const uint32_t (*in)[LANES], int l)
{
    struct gradients d = {{0}, {0}};
    bool cube = g == GEOMETRY_CUBE || g == GEOMETRY_ACUBE;
    for (unsigned k = 0; k < geometry_gradients(g); k++) {
        d.x[k] = float_from_bits(in[GEOMETRY_GRADIENT_X + k][l]);
        d.y[k] = float_from_bits(in[GEOMETRY_GRADIENT_Y + k][l]);
    }
    if (cube) {
        unsigned first = g == GEOMETRY_ACUBE ? 1 : 0;
        double at[3];
        for (unsigned k = 0; k < 3; k++)
            at[k] = float_from_bits(in[first + k][l]);
        meet_gradients(at, d.x);
        meet_gradients(at, d.y);
    }
    const double size[3] = {t->width, t->height, g == GEOMETRY_3D ? t->depth : 1};
    for (int k = 0; k < 3; k++) {
        d.x[k] *= size[k];
        d.y[k] *= size[k];
    }
    return d;
}

/* What a lane's gradients ask for: `count` fetches along the longer of them, each of a level of
 * detail that covers its part of it. */
struct footprint {
    double detail;
    unsigned count;
    bool along_y;
};

static struct footprint footprint_of(const struct gradients *d, unsigned most)
{
    double x = squared(d->x), y = squared(d->y);
    double longer = x > y ? x : y, shorter = x > y ? y : x;
    struct footprint f = {.detail = -(double)NO_DETAIL, .count = 1, .along_y = y > x};
    while (f.count < most && shorter * f.count * f.count < longer)
        f.count++;
    double of_one = longer / ((double)f.count * f.count);
    if (of_one >= 0x1p-1000) /* not so: 0, or no number */
        f.detail = of_one <= 0x1p1000 ? half_log2(of_one) : NO_DETAIL;
    return f;
}

/* With the sampler's bias, inside its clamps and the levels there are. */
static int32_t clamped_detail(const struct texture *t, int32_t detail)
{
    detail += t->bias;
    detail = detail > t->least ? detail : t->least;
    detail = detail < t->most ? detail : t->most;
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

/* Lanes that ask for more than one: the mean of fetches at equal distances along the longer
 * gradient. */
static void fetch_along(const struct texture *t, struct texture_instr i, uint32_t mask,
                        const int32_t *detail, const struct footprint *of,
                        const uint32_t (*in)[LANES], uint32_t (*out)[LANES])
{
    unsigned first = geometry_layered((enum texture_geometry)i.geometry) ? 1 : 0, most = 1;
    uint32_t at[GEOMETRY_ROWS][LANES], result[4][LANES];
    float sum[4][LANES] = {{0}};
    for (int l = 0; l < LANES; l++)
        most = mask >> l & 1 && of[l].count > most ? of[l].count : most;
    memcpy(at, in, sizeof at);
    for (unsigned n = 1; n <= most; n++) {
        uint32_t some = 0;
        for (int l = 0; l < LANES; l++) {
            if (!(mask >> l & 1) || n > of[l].count)
                continue;
            some |= 1u << l;
            float part = (float)n / (float)(of[l].count + 1) - 0.5f;
            for (unsigned k = 0; k < 2; k++) {
                unsigned row = (of[l].along_y ? GEOMETRY_GRADIENT_Y : GEOMETRY_GRADIENT_X) + k;
                float x = float_from_bits(in[first + k][l]) + part * float_from_bits(in[row][l]);
                memcpy(&at[first + k][l], &x, 4);
            }
        }
        fetch_details(t, i, some, detail, (const uint32_t(*)[LANES])at, result);
        for (int c = 0; c < 4; c++)
            for (int l = 0; l < LANES; l++)
                if (some >> l & 1)
                    sum[c][l] += float_from_bits(result[c][l]) / (float)of[l].count;
    }
    for (int c = 0; c < 4; c++)
        memcpy(result[c], sum[c], sizeof result[c]);
    merge_lanes(mask, (const uint32_t(*)[LANES])result, out);
}

void texture_fetch_levels(const struct texture *t, struct texture_instr i, uint32_t mask,
                          const uint32_t (*in)[LANES], uint32_t (*out)[LANES])
{
    enum texture_geometry g = (enum texture_geometry)i.geometry;
    bool flat = (g == GEOMETRY_2D || g == GEOMETRY_A2D) && texel_is_float(t);
    int32_t detail[LANES];
    struct footprint of[LANES];
    struct texture_instr one = i;
    uint32_t several = 0;
    one.halves = 0;
    one.mip = MIP_BASE;
    for (int l = 0; l < LANES; l++) {
        double asked = 0;
        of[l].count = 1;
        if (i.mip == MIP_LEVEL) {
            asked =
                i.integer ? (int32_t)in[GEOMETRY_LEVEL][l] : float_from_bits(in[GEOMETRY_LEVEL][l]);
        } else if (i.mip == MIP_GRADIENTS) {
            struct gradients d = gradients_of(t, g, in, l);
            of[l] = footprint_of(&d, flat ? t->anisotropy : 1);
            asked = of[l].detail;
        }
        detail[l] = clamped_detail(t, detail_of(asked));
        several |= (uint32_t)(of[l].count > 1) << l;
    }
    fetch_details(t, one, mask & ~several, detail, in, out);
    if ((several & mask) != 0)
        fetch_along(t, one, several & mask, detail, of, in, out);
    if (i.halves)
        texture_pack_halves(out);
}
