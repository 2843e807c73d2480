/* tensor_map.h: what is in the 128 bytes of a CUtensorMap, which programs treat as opaque: the
 * driver writes them, kernels pass them on, copy them and change fields by tensormap.replace, and
 * the exec module reads them at each copy.
 *
 * A map describes a tensor of up to five dimensions, the fastest first, and the box that one copy
 * moves. In im2col mode dimension 0 is the channels, the last one the images, and those between
 * span pixels: a copy moves `columns` pixels of `channels` channels, in the order of the pixels of
 * all images as far as they lie in the bounding box. In the wide modes a copy's pixels lie in one
 * row of each image.
 *
 * An interleaved tensor has its channels in slices of 16 or 32 bytes: dimension 0 counts slices
 * that lie side by side (pixels of a row), the last but one those of the channels, the last the
 * images. A box has one slice of the channels. */
#ifndef WEIR_ABI_TENSOR_MAP_H
#define WEIR_ABI_TENSOR_MAP_H

#include <stdint.h>

enum { TENSOR_DIMS = 5, TENSOR_MAP_TAG = 0x57544d50, TENSOR_MAP_BYTES = 128 };

/* Elements; the numbers are those of tensormap.replace.elemtype. */
enum tensor_type {
    TENSOR_U8,
    TENSOR_U16,
    TENSOR_U32,
    TENSOR_S32,
    TENSOR_U64,
    TENSOR_S64,
    TENSOR_F16,
    TENSOR_F32,
    TENSOR_F32_FTZ, /* subnormal numbers are kept in copies, and are zeros in reductions */
    TENSOR_F64,
    TENSOR_BF16,
    TENSOR_TF32, /* floats that are rounded on their way into shared memory */
    TENSOR_TF32_FTZ,
    TENSOR_TYPES
};

static inline uint32_t tensor_element_bytes(uint32_t type)
{
    static const uint8_t bytes[TENSOR_TYPES] = {1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4};
    return type < TENSOR_TYPES ? bytes[type] : 0;
}

/* Within every 32 << (swizzle - 1) bytes of shared memory, pieces of 16 bytes change places. */
enum tensor_swizzle {
    TENSOR_SWIZZLE_NONE,
    TENSOR_SWIZZLE_32,
    TENSOR_SWIZZLE_64,
    TENSOR_SWIZZLE_128
};

/* What stays together in a swizzle of 128 bytes; the numbers are those of
 * tensormap.replace.swizzle_atomicity. With the flip, the halves of 16 bytes change places in every
 * other 128 bytes. */
enum tensor_atomicity {
    TENSOR_ATOM_16,
    TENSOR_ATOM_32,
    TENSOR_ATOM_32_FLIP,
    TENSOR_ATOM_64,
    TENSOR_ATOMS
};

enum tensor_interleave { TENSOR_INTERLEAVE_NONE, TENSOR_INTERLEAVE_16, TENSOR_INTERLEAVE_32 };

static inline uint32_t tensor_slice_bytes(uint32_t interleave)
{
    return interleave == TENSOR_INTERLEAVE_32 ? 32 : 16;
}

enum tensor_mode { TENSOR_TILE, TENSOR_IM2COL, TENSOR_WIDE, TENSOR_WIDE_128 };

struct tensor_map {
    uint32_t tag;
    uint8_t type;   /* enum tensor_type */
    uint8_t rank_1; /* dimensions less one */
    uint8_t swizzle;
    uint8_t fills_nan; /* outside the tensor: 1 NaN, 0 zero */
    uint64_t address;
    uint64_t stride[TENSOR_DIMS - 1]; /* bytes, of dimensions 1 and up */
    uint32_t size_1[TENSOR_DIMS];     /* elements less one */
    uint16_t box[TENSOR_DIMS];        /* elements that a box spans */
    uint8_t step[TENSOR_DIMS]; /* every how many of them are taken; the first counts only where
                                  the tensor is interleaved */
    uint8_t im2col;            /* enum tensor_mode */
    uint16_t channels, columns;
    int16_t lower[3],
        upper[3];       /* corners of the bounding box: of the tensor's lowest and highest */
    uint8_t interleave; /* enum tensor_interleave */
    uint8_t atomicity;  /* enum tensor_atomicity */
    uint8_t unused[26];
};
_Static_assert(sizeof(struct tensor_map) == TENSOR_MAP_BYTES, "a tensor map's size");

#endif
