/* The word that describes a texture or surface instruction to the functions of src/texture. The
 * compiler makes it once per instruction; every call of a helper brings it along. */
#ifndef WEIR_ABI_TEXTURE_INSTR_H
#define WEIR_ABI_TEXTURE_INSTR_H

#include <stdint.h>

/* What the first word of a description says, which istypep looks at. There are no samplers that
 * are separate from textures. */
enum { TEXTURE_TAG = 0x57544558, SURFACE_TAG = 0x57535552, SAMPLER_TAG = 0x5753414d };

/* What the coordinates mean. The rows of coordinates come in the order written in PTX: a layer (an
 * unsigned index) first where there are layers, then x, y, z. */
enum texture_geometry {
    GEOMETRY_1D,
    GEOMETRY_2D,
    GEOMETRY_3D,
    GEOMETRY_A1D, /* layers of rows */
    GEOMETRY_A2D, /* layers of planes */
    GEOMETRY_CUBE,
    GEOMETRY_ACUBE,
};

/* How many rows of coordinates a geometry has. */
static inline unsigned geometry_coordinates(enum texture_geometry g)
{
    static const uint8_t count[] = {1, 2, 3, 2, 3, 3, 4};
    return count[g];
}

/* How many axes it has, which offsets go along. */
static inline unsigned geometry_axes(enum texture_geometry g)
{
    static const uint8_t count[] = {1, 2, 3, 1, 2, 2, 2};
    return count[g];
}

/* From this row on there are offsets in elements, a row for each axis; four bits of each count.
 * After them comes what picks a level of a mipmapped texture: the level, or two gradients. */
enum {
    GEOMETRY_OFFSETS = 4,
    GEOMETRY_LEVEL = 7,
    GEOMETRY_GRADIENT_X = 7,
    GEOMETRY_GRADIENT_Y = 10,
    GEOMETRY_ROWS = 13,
};

/* Which level of a mipmapped texture: the first, the one that the instruction says, the one that
 * gradients lead to. */
enum texture_mip { MIP_BASE, MIP_LEVEL, MIP_GRADIENTS };

/* How many components a gradient has. */
static inline unsigned geometry_gradients(enum texture_geometry g)
{
    static const uint8_t count[] = {1, 2, 3, 1, 2, 3, 3};
    return count[g];
}

static inline int geometry_layered(enum texture_geometry g)
{
    return g == GEOMETRY_A1D || g == GEOMETRY_A2D || g == GEOMETRY_ACUBE;
}

/* What stands outside a surface: nothing that may be touched, the nearest element, zeros. */
enum surface_mode { SURFACE_TRAP, SURFACE_CLAMP, SURFACE_ZERO };

enum surface_action {
    SURFACE_LOAD,         /* suld.b */
    SURFACE_STORE,        /* sust.b */
    SURFACE_STORE_TEXELS, /* sust.p: x counts elements, values are converted */
    SURFACE_ADD,          /* sured */
    SURFACE_MIN,
    SURFACE_MAX,
    SURFACE_AND,
    SURFACE_OR,
};

/* What txq and suq ask for. */
enum texture_question {
    QUERY_WIDTH,
    QUERY_HEIGHT,
    QUERY_DEPTH,
    QUERY_DATA_TYPE, /* numbers of OpenCL's cl_channel_type, */
    QUERY_ORDER,     /* of its cl_channel_order */
    QUERY_NORMALIZED,
    QUERY_LAYERS,
    QUERY_LEVELS,
    QUERY_SAMPLES,
    QUERY_FORCED_UNNORMALIZED,
    QUERY_FILTER,
    QUERY_ADDRESS_0,
    QUERY_ADDRESS_1,
    QUERY_ADDRESS_2,
    QUERY_MEMORY_LAYOUT,
};

/* One struct for all of them: small enough to be passed as a word. */
struct texture_instr {
    unsigned geometry : 3;  /* enum texture_geometry */
    unsigned integer : 1;   /* tex: coordinates are indices (.s32), not floats */
    unsigned halves : 1;    /* tex: results are two rows of two halves each (.v2.f16x2) */
    unsigned gather : 3;    /* tld4: 1 + the component that is wanted; tex: 0 */
    unsigned mode : 2;      /* enum surface_mode */
    unsigned action : 3;    /* enum surface_action */
    unsigned texels : 1;    /* sured.p: x counts elements */
    unsigned is_signed : 1; /* sured: minimum and maximum of signed integers */
    unsigned size : 2;      /* surfaces: log2 of an access's element in bytes */
    unsigned count : 3;     /* surfaces: elements of an access */
    unsigned question : 4;  /* enum texture_question */
    unsigned surface : 1;   /* queries: suq */
    unsigned moved : 1;     /* tex, tld4: rows of offsets follow the coordinates, see below */
    unsigned mip : 2;       /* tex: enum texture_mip; queries: MIP_LEVEL: of the level in `out` */
    unsigned unused : 4;
};

static inline uint32_t texture_instr_word(struct texture_instr i)
{
    union {
        struct texture_instr i;
        uint32_t word;
    } u = {.i = i};
    return u.word;
}

static inline struct texture_instr texture_instr_of(uint32_t word)
{
    union {
        uint32_t word;
        struct texture_instr i;
    } u = {.word = word};
    return u.i;
}

#endif
