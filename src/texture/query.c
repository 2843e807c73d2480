/* query: txq and suq: facts about a texture or surface, as kernels ask for them. PTX gives channel
 * types and orders by OpenCL's numbers. */
#include "texture/texture.h"

static uint32_t data_type(const struct texture *t)
{
    static const uint16_t plain[] = {0x10da, 0x10d7, 0x10db, 0x10d8,
                                     0x10dc, 0x10d9, 0x10dd, 0x10de};
    static const uint16_t fractions[] = {0x10d2, 0x10d0, 0x10d3, 0x10d1};
    return t->as_float && t->type <= TEXEL_S16 ? fractions[t->type] : plain[t->type];
}

static uint32_t query_order(const struct texture *t)
{
    return t->channels == 1 ? 0x10b0 : t->channels == 2 ? 0x10b2 : 0x10b5; /* R, RG, RGBA */
}

/* Sizes that an object does not have are 0. */
static uint32_t query_size(const struct texture *t, unsigned axis)
{
    uint32_t size[3] = {t->width, t->height, t->depth};
    return axis < t->dimensions ? size[axis] : 0;
}

/* Textures count layers as the size after their own: an H100 does. */
static uint32_t query_height(const struct texture *t)
{
    bool row = t->dimensions == 1 && !t->buffer;
    return !row ? query_size(t, 1) : t->layered ? t->depth : 1;
}

static uint32_t query_depth(const struct texture *t)
{
    if (!t->layered)
        return query_size(t, 2);
    return t->dimensions == 1 ? 0 : t->cube ? t->depth / 6 : t->depth;
}

uint32_t texture_query(const struct texture *t, struct texture_instr i)
{
    switch ((enum texture_question)i.question) {
    case QUERY_WIDTH: return t->width;
    case QUERY_HEIGHT: return i.surface ? query_size(t, 1) : query_height(t);
    case QUERY_DEPTH: return i.surface ? query_size(t, 2) : query_depth(t);
    case QUERY_DATA_TYPE: return data_type(t);
    case QUERY_ORDER: return query_order(t);
    case QUERY_NORMALIZED: return t->normalized;
    case QUERY_LAYERS: return t->layered ? t->depth : 0;
    case QUERY_LEVELS: return t->mipmapped ? t->levels : 1;
    case QUERY_SAMPLES: return 1;
    case QUERY_FILTER: return t->linear;
    case QUERY_ADDRESS_0: return t->address[0];
    case QUERY_ADDRESS_1: return t->address[1];
    case QUERY_ADDRESS_2: return t->address[2];
    case QUERY_MEMORY_LAYOUT: return t->buffer || t->pitched;
    default: return 0;
    }
}

/* Of levels that are not there a GPU says 0. */
uint32_t texture_query_level(const struct texture *t, struct texture_instr i, uint32_t level)
{
    if (level >= (t->mipmapped ? t->levels : 1u))
        return 0;
    if (!t->mipmapped)
        return texture_query(t, i);
    struct texture l = texture_level(t, level);
    return texture_query(&l, i);
}
