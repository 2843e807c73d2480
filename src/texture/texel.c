/* texel: elements in memory to results and back: integers as they are or as fractions, halves,
 * floats, sRGB. */
#include <math.h>
#include <string.h>

#include "texture/clones.h"
#include "texture/convert.h"
#include "texture/texture.h"

enum { LANES = TEXTURE_LANES };

static bool is_small(const struct texture *t) { return t->type <= TEXEL_S16; }

bool texel_is_float(const struct texture *t)
{
    return t->type >= TEXEL_F16 || (t->as_float && is_small(t));
}

/* ---- halves ---- */

uint16_t texel_half(uint32_t bits)
{
    uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest > 0x7f800000)
        return (uint16_t)(sign | 0x7fff);
    if (rest >= 0x477ff000) /* rounds to 65536 or more */
        return (uint16_t)(sign | 0x7c00);
    if (rest < 0x38800000) { /* below 2^-14: units of 2^-24; adding 0.5 rounds to them */
        float f;
        memcpy(&f, &rest, 4);
        f += 0.5f;
        memcpy(&rest, &f, 4);
        return (uint16_t)(sign | (rest - 0x3f000000));
    }
    rest += 0xfff + (rest >> 13 & 1);
    return (uint16_t)(sign | ((rest - 0x38000000) >> 13));
}

/* ---- sRGB ---- */

/* The linear value of each of the 256 levels, as a GPU has it: halves without their last three
 * bits, which are zero. */
static const uint16_t texel_srgb[256] = {
#include "texture/srgb.inc"
};

/* ---- loading ---- */

#define LOAD(name, type, value)                                                                    \
    WARP_INLINE void name(const uint8_t *from, const uint64_t *at, uint32_t *out)                  \
    {                                                                                              \
        for (int l = 0; l < LANES; l++) {                                                          \
            type v;                                                                                \
            memcpy(&v, texel_at(from, at[l]), sizeof v);                                           \
            out[l] = (uint32_t)(value);                                                            \
        }                                                                                          \
    }
LOAD(load_u8, uint8_t, v)
LOAD(load_s8, int8_t, (int32_t)v)
LOAD(load_u16, uint16_t, v)
LOAD(load_s16, int16_t, (int32_t)v)
LOAD(load_32, uint32_t, v)
LOAD(load_f16, uint16_t, texel_from_half(v))
#undef LOAD

WARP_INLINE void load_channel(enum texel_type type, const uint8_t *from, const uint64_t *at,
                              uint32_t *out)
{
    switch (type) {
    case TEXEL_U8: load_u8(from, at, out); break;
    case TEXEL_S8: load_s8(from, at, out); break;
    case TEXEL_U16: load_u16(from, at, out); break;
    case TEXEL_S16: load_s16(from, at, out); break;
    case TEXEL_F16: load_f16(from, at, out); break;
    default: load_32(from, at, out); break;
    }
}

/* All channels of four bytes each, which are one word. */
WARP_INLINE void load_bytes(enum texel_type type, const uint8_t *from, const uint64_t *at,
                            uint32_t (*out)[LANES])
{
    load_32(from, at, out[3]);
    for (int l = 0; l < LANES; l++) {
        uint32_t v = out[3][l];
        out[0][l] = v & 255;
        out[1][l] = v >> 8 & 255;
        out[2][l] = v >> 16 & 255;
        out[3][l] = v >> 24;
    }
    for (int c = 0; type == TEXEL_S8 && c < 4; c++)
        for (int l = 0; l < LANES; l++)
            out[c][l] = (uint32_t)(int8_t)out[c][l];
}

/* Integers to 0..1 or -1..1; the lowest two signed ones are both -1. */
WARP_INLINE void to_fractions(enum texel_type type, uint32_t *row)
{
    for (int l = 0; l < LANES; l++) {
        float f = texel_fraction(type, (int32_t)row[l]);
        f = f < -1.0f ? -1.0f : f;
        memcpy(&row[l], &f, 4);
    }
}

WARP_INLINE uint32_t texel_linear(uint32_t level)
{
    return texel_from_half((uint32_t)texel_srgb[level & 255] << 3);
}

WARP_INLINE void to_linear(uint32_t *row)
{
    for (int l = 0; l < LANES; l++)
        row[l] = texel_linear(row[l]);
}

/* Is a channel stored as sRGB? */
static bool is_srgb(const struct texture *t, uint32_t channel)
{
    return t->srgb && t->type == TEXEL_U8 && t->as_float && channel < 3;
}

WARP_INLINE void load_of_texel(const struct texture *t, const struct texel_addresses *p,
                               uint32_t channels, uint32_t (*out)[LANES])
{
    enum texel_type type = (enum texel_type)t->type;
    uint32_t bytes = texel_type_bytes(type);
    bool whole = bytes == 1 && t->channels == 4 && channels == 4;
    if (whole)
        load_bytes(type, t->base, p->at, out);
    for (uint32_t c = 0; c < channels; c++) {
        if (c >= t->channels)
            memset(out[c], 0, sizeof out[c]);
        else if (!whole)
            load_channel(type, t->base + (size_t)c * bytes, p->at, out[c]);
        if (is_srgb(t, c) && c < t->channels)
            to_linear(out[c]);
    }
}

WARP_CLONES void texel_load(const struct texture *t, const struct texel_addresses *p,
                            uint32_t channels, uint32_t (*out)[LANES])
{
    load_of_texel(t, p, channels, out);
    if (!t->as_float || !is_small(t))
        return;
    for (uint32_t c = 0; c < t->channels && c < channels; c++)
        if (!is_srgb(t, c))
            to_fractions((enum texel_type)t->type, out[c]);
}

/* ---- loading for filters ---- */

/* Elements of 32 lanes side by side. They are put together in registers: a vector that is read back
 * in a larger piece than it was written in waits for the writes. */
#define PACK(name, type, at_once)                                                                  \
    WARP_INLINE void name(const uint8_t *from, const uint64_t *at, uint8_t *out)                   \
    {                                                                                              \
        typedef type some __attribute__((vector_size(sizeof(type) * (at_once))));                  \
        for (int l = 0; l < LANES; l += (at_once)) {                                               \
            some v;                                                                                \
            for (int n = 0; n < (at_once); n++) {                                                  \
                type element;                                                                      \
                memcpy(&element, texel_at(from, at[l + n]), sizeof element);                       \
                v[n] = element;                                                                    \
            }                                                                                      \
            memcpy(out + (size_t)l * sizeof(type), &v, sizeof v);                                  \
        }                                                                                          \
    }
PACK(pack_1, uint8_t, 16)
PACK(pack_2, uint16_t, 8)
PACK(pack_4, uint32_t, 8)
PACK(pack_8, uint64_t, 4)
#undef PACK

WARP_INLINE void pack_16(const uint8_t *from, const uint64_t *at, uint8_t *out)
{
    typedef uint32_t element __attribute__((vector_size(16)));
    typedef uint32_t two __attribute__((vector_size(32)));
    for (int l = 0; l < LANES; l += 2) {
        element a, b;
        memcpy(&a, texel_at(from, at[l]), sizeof a);
        memcpy(&b, texel_at(from, at[l + 1]), sizeof b);
        two both = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
        memcpy(out + (size_t)l * sizeof a, &both, sizeof both);
    }
}

#define WIDEN(name, type, value)                                                                   \
    WARP_INLINE void name(const uint8_t *from, uint32_t count, uint32_t *out)                      \
    {                                                                                              \
        for (uint32_t n = 0; n < count; n++) {                                                     \
            type v;                                                                                \
            memcpy(&v, from + n * sizeof v, sizeof v);                                             \
            out[n] = (uint32_t)(value);                                                            \
        }                                                                                          \
    }
WIDEN(widen_u8, uint8_t, v)
WIDEN(widen_s8, int8_t, (int32_t)v)
WIDEN(widen_u16, uint16_t, v)
WIDEN(widen_s16, int16_t, (int32_t)v)
WIDEN(widen_f16, uint16_t, texel_from_half(v))
#undef WIDEN

WARP_CLONES void texel_gather(const struct texture *t, const struct texel_addresses *p,
                              struct texel_values *out)
{
    _Alignas(32) uint8_t packed[sizeof out->of];
    enum texel_type type = (enum texel_type)t->type;
    bool whole = texel_type_bytes(type) == 4;
    uint8_t *to = whole ? (uint8_t *)out->of : packed;
    uint32_t count = LANES * t->channels;
    switch (t->element) {
    case 1: pack_1(t->base, p->at, to); break;
    case 2: pack_2(t->base, p->at, to); break;
    case 4: pack_4(t->base, p->at, to); break;
    case 8: pack_8(t->base, p->at, to); break;
    default: pack_16(t->base, p->at, to); break;
    }
    switch (type) {
    case TEXEL_U8: widen_u8(packed, count, out->of); break;
    case TEXEL_S8: widen_s8(packed, count, out->of); break;
    case TEXEL_U16: widen_u16(packed, count, out->of); break;
    case TEXEL_S16: widen_s16(packed, count, out->of); break;
    case TEXEL_F16: widen_f16(packed, count, out->of); break;
    default: break;
    }
    for (uint32_t n = 0; t->srgb && n < count; n++)
        if (is_srgb(t, n % t->channels))
            out->of[n] = texel_linear(out->of[n]);
}

/* ---- borders ---- */

/* As a fraction of the largest integer of `bits` (without a sign): four more bits of it count, and
 * halves round down. */
static uint32_t part_of(float x, float least, unsigned bits)
{
    double v = x > least ? x < 1.0f ? x : 1.0f : x <= least ? least : 0.0f;
    double size = v < 0 ? -v : v, steps = (double)(16u << bits);
    size = (double)(uint32_t)(size * steps) / steps;
    size *= (1u << bits) - 1;
    uint32_t n = (uint32_t)size;
    n += size - n > 0.5;
    return v < 0 ? 0u - n : n;
}

/* The level of sRGB nearest to a linear value. */
static uint32_t level_of(float x)
{
    double v = x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f;
    v = v <= 0.0031308 ? v * 12.92 : 1.055 * pow(v, 1 / 2.4) - 0.055;
    return (uint32_t)(v * 255 + 0.5);
}

/* Cut off; what is too large is the largest. */
static uint16_t half_below(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest > 0x7f800000)
        return (uint16_t)(sign | 0x7fff);
    if (rest >= 0x47800000)
        return (uint16_t)(sign | 0x7bff);
    float size;
    memcpy(&size, &rest, 4);
    if (rest < 0x38800000)
        return (uint16_t)(sign | (uint32_t)(size * 0x1p24f));
    return (uint16_t)(sign | (rest - 0x38000000) >> 13);
}

void texture_set_border(struct texture *t, const float colour[4])
{
    uint32_t bytes = texel_type_bytes((enum texel_type)t->type);
    bool fraction = t->as_float && is_small(t);
    for (uint32_t c = 0; c < t->channels; c++) {
        uint32_t v;
        memcpy(&v, &colour[c], 4);
        if (t->type == TEXEL_F16)
            v = half_below(colour[c]);
        else if (fraction && (t->type == TEXEL_U8 || t->type == TEXEL_U16))
            v = is_srgb(t, c) ? level_of(colour[c]) : part_of(colour[c], 0, 8 * bytes);
        else if (fraction)
            v = part_of(colour[c], -1.0f, 8 * bytes - 1);
        memcpy(t->border + (size_t)c * bytes, &v, bytes); /* the low bytes */
    }
}

/* ---- storing ---- */

static uint32_t clamp_unsigned(uint32_t v, uint32_t most) { return v < most ? v : most; }

static uint32_t clamp_signed(uint32_t v, int32_t most)
{
    int32_t s = (int32_t)v;
    return (uint32_t)(s > most ? most : s < -most - 1 ? -most - 1 : s);
}

static uint32_t to_type(enum texel_type type, uint32_t v)
{
    switch (type) {
    case TEXEL_U8: return clamp_unsigned(v, UINT8_MAX);
    case TEXEL_S8: return clamp_signed(v, INT8_MAX);
    case TEXEL_U16: return clamp_unsigned(v, UINT16_MAX);
    case TEXEL_S16: return clamp_signed(v, INT16_MAX);
    case TEXEL_F16: return texel_half(v);
    default: return v;
    }
}

void texel_store(const struct texture *t, uint8_t *to, const uint32_t value[4])
{
    uint32_t bytes = texel_type_bytes((enum texel_type)t->type);
    for (uint32_t c = 0; c < t->channels; c++) {
        uint32_t v = to_type((enum texel_type)t->type, value[c]);
        memcpy(to + (size_t)c * bytes, &v, bytes); /* the low bytes */
    }
}
