/* texture: how a texture or a surface is described, and what fetching from it gives.
 *
 * Plain C that knows elements in memory, coordinates and filters, and neither API nor streams. The
 * functions work on a whole warp at a time: rows of 32 values, one per lane. Coordinates of any
 * bits are safe for tex: whatever the address mode, an index ends inside the texture, so lanes that
 * are not active may be computed along.
 *
 * Results agree on every CPU, and with a GPU's texture unit: how that reads coordinates,
 * makes weights, adds and rounds was found by asking an H100 (tests/texture/reference.h has it as
 * plain arithmetic, and runs there, too). */
#ifndef WEIR_TEXTURE_TEXTURE_H
#define WEIR_TEXTURE_TEXTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/texture_instr.h"

enum { TEXTURE_LANES = 32 };

/* The type of an element's channels. */
enum texel_type {
    TEXEL_U8,
    TEXEL_S8,
    TEXEL_U16,
    TEXEL_S16,
    TEXEL_U32,
    TEXEL_S32,
    TEXEL_F16,
    TEXEL_F32,
};

static inline uint32_t texel_type_bytes(enum texel_type t)
{
    static const uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 2, 4};
    return bytes[t];
}

/* What lies outside; the numbers are those of the APIs. */
enum texture_address { ADDRESS_WRAP, ADDRESS_CLAMP, ADDRESS_MIRROR, ADDRESS_BORDER };

/* A texture or surface object: elements in memory and how to look at them. What has fewer
 * dimensions has sizes of 1 in the others. Its address is the handle that kernels hold. */
struct texture {
    uint32_t tag;        /* TEXTURE_TAG, SURFACE_TAG; 0: destroyed */
    uint8_t type;        /* enum texel_type */
    uint8_t channels;    /* 1, 2, 4 */
    uint8_t element;     /* bytes */
    bool buffer;         /* linear memory: integer coordinates, zeros outside */
    const uint8_t *base; /* first element */
    uint32_t width, height;
    uint32_t depth;        /* slices, or layers; 6 faces each of a cube map */
    uint32_t dimensions;   /* without the layers: what queries distinguish */
    bool layered;          /* queries: depth counts layers */
    bool cube;             /* queries: six layers are one cube map */
    bool pitched;          /* queries: rows of linear memory */
    bool normalized;       /* coordinates 0..1 */
    bool linear;           /* filter */
    bool as_float;         /* integers of 8 and 16 bits are read as fractions */
    bool srgb;             /* red, green and blue of 8 bits are sRGB */
    uint8_t address[3];    /* enum texture_address per axis */
    uint64_t pitch, slice; /* bytes from row to row (below 2^32), from slice to slice */
    uint8_t border[16];    /* an element of its colour, see texture_set_border */

    /* Of mipmapped arrays. What stands above describes the first level; the others lie after it,
     * see texture_level. Levels of detail count 256ths. */
    bool mipmapped;
    bool between_levels;       /* filter: linear between two levels, else the nearest one */
    uint8_t levels;            /* that can be read */
    uint8_t anisotropy;        /* 2 to 16: at most so many fetches along a gradient; else one */
    uint32_t slices;           /* of the first level in memory, where depth may be some layers */
    uint32_t layer;            /* the first one that can be read, of layered textures */
    int32_t bias, least, most; /* added to the level of detail; the range it is brought into */
};

/* Rows of a CUDA array begin at multiples of 64 bytes. */
static inline uint64_t texture_array_pitch(uint64_t row) { return (row + 63) / 64 * 64; }

/* What the level has of each size: half of the level before. */
static inline uint32_t texture_half(uint32_t size) { return size > 1 ? size / 2 : 1; }

/* The n-th level of a mipmapped texture, from 0, as a texture of its own. */
struct texture texture_level(const struct texture *t, unsigned n);

/* tex and tld4: `coordinates` are rows of floats or indices, with .moved also of offsets, `out`
 * gets four rows (two with .halves). */
void texture_fetch(const struct texture *t, struct texture_instr i,
                   const uint32_t (*coordinates)[TEXTURE_LANES], uint32_t (*out)[TEXTURE_LANES]);

/* The same of a mipmapped texture, for the lanes in `mask`; of the others nothing is said. */
void texture_fetch_levels(const struct texture *t, struct texture_instr i, uint32_t mask,
                          const uint32_t (*coordinates)[TEXTURE_LANES],
                          uint32_t (*out)[TEXTURE_LANES]);

/* suld, sust, sured for the lanes in `mask`: rows of 64 bits, `i.count` of them, read or written.
 * Returns the lanes that are outside and asked for a trap, or are not aligned; nothing is done for
 * them, and all others are done. */
uint32_t surface_access(const struct texture *t, struct texture_instr i, uint32_t mask,
                        const uint32_t (*coordinates)[TEXTURE_LANES],
                        uint64_t (*data)[TEXTURE_LANES]);

/* The colour that stands outside, as an element of the texture's type: fractions are clamped and
 * rounded, halves cut off, integers' low bits taken. The type must be known already. */
void texture_set_border(struct texture *t, const float colour[4]);

/* txq and suq. */
uint32_t texture_query(const struct texture *t, struct texture_instr i);
/* txq.level: of one level, which may be any number. */
uint32_t texture_query_level(const struct texture *t, struct texture_instr i, uint32_t level);

/* At most vectors of so many bits for filtered reads; 0: none of plane.h's. Before the first
 * fetch. */
void texture_use_vectors(unsigned bits);

/* ---- between the files of this layer ---- */

/* Where 32 elements lie. */
struct texel_addresses {
    uint64_t at[TEXTURE_LANES]; /* bytes from the base; of a border's elements, any distance */
};

static inline const uint8_t *texel_at(const uint8_t *base, uint64_t at)
{
    return (const uint8_t *)((uintptr_t)base + at);
}

/* The first `channels` of their channels as results: bits of floats or integers, missing ones 0. */
void texel_load(const struct texture *t, const struct texel_addresses *p, uint32_t channels,
                uint32_t (*out)[TEXTURE_LANES]);

/* The channels of 32 elements in the order in which elements hold them: channel c of lane l is
 * number l * channels + c. */
struct texel_values {
    _Alignas(32) uint32_t of[4 * TEXTURE_LANES];
};

/* For filters, all channels: integers as they are, halves and sRGB as bits of floats. */
void texel_gather(const struct texture *t, const struct texel_addresses *p,
                  struct texel_values *out);

/* Writes one element of integers or bits of floats, each brought into the type's range. */
void texel_store(const struct texture *t, uint8_t *to, const uint32_t value[4]);
/* Whether results of the texture are floats. */
bool texel_is_float(const struct texture *t);

uint16_t texel_half(uint32_t float_bits); /* rounded to nearest even */

/* Four rows of floats to two rows of two halves each. */
void texture_pack_halves(uint32_t (*out)[TEXTURE_LANES]);

#endif
