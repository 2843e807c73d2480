/* surface: suld, sust, sured: elements of a surface by their coordinates, without filters.
 * Coordinates are signed integers; x counts bytes except in the forms that convert (.p). */
#include <string.h>

#include "texture/texture.h"

enum { LANES = TEXTURE_LANES };

/* Where one lane's access goes. */
enum outcome { INSIDE, DROPPED, TRAPPED };

static int64_t surface_clamp(int64_t v, int64_t most) { return v < 0 ? 0 : v > most ? most : v; }

/* Finds the address of an access of `bytes` bytes; *at is valid when it is INSIDE. */
static enum outcome surface_address(const struct texture *t, struct texture_instr i,
                                    const int64_t xyz[3], uint64_t bytes, uint64_t *at)
{
    int64_t row = (int64_t)t->width * t->element;
    int64_t most[3] = {row - (int64_t)bytes, (int64_t)t->height - 1, (int64_t)t->depth - 1};
    int64_t c[3];
    for (int k = 0; k < 3; k++) {
        c[k] = surface_clamp(xyz[k], most[k]);
        if (c[k] != xyz[k] && i.mode != SURFACE_CLAMP)
            return i.mode == SURFACE_ZERO ? DROPPED : TRAPPED;
        if (most[k] < 0)
            return TRAPPED; /* wider than the surface */
    }
    *at = (uint64_t)c[2] * t->slice + (uint64_t)c[1] * t->pitch + (uint64_t)c[0];
    return (uint64_t)c[0] % bytes != 0 ? TRAPPED : INSIDE;
}

/* A lane's coordinates as x in bytes, y, z; a layer is z. */
static void surface_coordinates(const struct texture *t, struct texture_instr i,
                                const uint32_t (*in)[LANES], uint32_t l, int64_t xyz[3])
{
    enum texture_geometry g = (enum texture_geometry)i.geometry;
    unsigned n = geometry_coordinates(g), first = geometry_layered(g) ? 1 : 0;
    xyz[0] = xyz[1] = xyz[2] = 0;
    for (unsigned k = first; k < n; k++)
        xyz[k - first] = (int32_t)in[k][l];
    if (first != 0)
        xyz[2] = in[0][l];
    if (i.action == SURFACE_STORE_TEXELS || i.texels)
        xyz[0] *= t->element;
}

/* ---- reductions ---- */

static uint64_t reduced(struct texture_instr i, uint64_t old, uint64_t v)
{
    unsigned unused = 64 - (8u << i.size);
    int64_t a = (int64_t)(old << unused) >> unused, b = (int64_t)(v << unused) >> unused;
    bool less = i.is_signed ? a < b : old < v;
    switch (i.action) {
    case SURFACE_ADD: return old + v;
    case SURFACE_MIN: return less ? old : v;
    case SURFACE_MAX: return less ? v : old;
    case SURFACE_AND: return old & v;
    default: return old | v;
    }
}

static void surface_reduce(struct texture_instr i, uint8_t *at, uint64_t v)
{
    if (i.size == 3) {
        uint64_t *p = (uint64_t *)at, old = __atomic_load_n(p, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(p, &old, reduced(i, old, v), true, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED))
            ;
    } else {
        uint32_t *p = (uint32_t *)at, old = __atomic_load_n(p, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(p, &old, (uint32_t)reduced(i, old, (uint32_t)v), true,
                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            ;
    }
}

/* ---- one lane ---- */

static void surface_load(struct texture_instr i, const uint8_t *at, uint64_t (*data)[LANES],
                         uint32_t l)
{
    size_t size = (size_t)1 << i.size;
    for (unsigned n = 0; n < i.count; n++) {
        uint64_t v = 0;
        memcpy(&v, at + n * size, size);
        data[n][l] = v;
    }
}

static void surface_store(struct texture_instr i, uint8_t *at, uint64_t (*data)[LANES], uint32_t l)
{
    size_t size = (size_t)1 << i.size;
    for (unsigned n = 0; n < i.count; n++)
        memcpy(at + n * size, &data[n][l], size);
}

static void store_texel(const struct texture *t, struct texture_instr i, uint8_t *at,
                        uint64_t (*data)[LANES], uint32_t l)
{
    uint32_t value[4] = {0};
    for (unsigned n = 0; n < i.count; n++)
        value[n] = (uint32_t)data[n][l];
    texel_store(t, at, value);
}

static void surface_act(const struct texture *t, struct texture_instr i, uint8_t *at,
                        uint64_t (*data)[LANES], uint32_t l)
{
    switch (i.action) {
    case SURFACE_LOAD: surface_load(i, at, data, l); break;
    case SURFACE_STORE: surface_store(i, at, data, l); break;
    case SURFACE_STORE_TEXELS: store_texel(t, i, at, data, l); break;
    default: surface_reduce(i, at, data[0][l]); break;
    }
}

uint32_t surface_access(const struct texture *t, struct texture_instr i, uint32_t mask,
                        const uint32_t (*coordinates)[LANES], uint64_t (*data)[LANES])
{
    uint64_t bytes = i.action == SURFACE_STORE_TEXELS ? t->element : (uint64_t)i.count << i.size;
    uint32_t trapped = 0;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        int64_t xyz[3];
        uint64_t at;
        surface_coordinates(t, i, coordinates, l, xyz);
        enum outcome p = surface_address(t, i, xyz, bytes, &at);
        if (p == INSIDE)
            surface_act(t, i, (uint8_t *)t->base + at, data, l);
        else if (p == TRAPPED)
            trapped |= 1u << l;
        else if (i.action == SURFACE_LOAD)
            for (unsigned n = 0; n < i.count; n++)
                data[n][l] = 0;
    }
    return trapped;
}
