/* small_mma.h: products of matrices whose elements have four, six or eight bits, with a scale for
 * each block of elements or without: how code that is compiled asks the helper that makes them.
 *
 * void weir_rt_small_mma(uint32_t kind, uint32_t selectors, uint8_t *const *registers);
 *     D = A B + C of a warp, A of 16 rows, B of 8 columns. registers: where those of D lie, then of
 *     A, B, C, for SMALL_MMA_SPARSE that of the metadata, and, where there are scales, that of A's
 *     and of B's; each is a vector of 32 words.
 *
 * Lane 4 g + t has, in register r of A, elements of row g (r even) or g + 8: of every 4 n along k
 * the n-th that fall to t, where n is how many a register has: four elements of a byte each, or
 * eight of four bits. Of B likewise the column g. Elements of six bits are the lower bits of their
 * byte; of four bits, the middle ones. */
#ifndef WEIR_ABI_SMALL_MMA_H
#define WEIR_ABI_SMALL_MMA_H

#include <stdint.h>

enum small_type {
    SMALL_E4M3,
    SMALL_E5M2,
    SMALL_E3M2,
    SMALL_E2M3,
    SMALL_E2M1,
    SMALL_UE8M0, /* of scales: an exponent alone */
    SMALL_UE4M3, /* of scales: without a sign */
    SMALL_TYPES
};

/* The parts of `kind`. */
enum {
    SMALL_MMA_A = 0, /* bit at which enum small_type stands */
    SMALL_MMA_B = 4,
    SMALL_MMA_SCALE = 8,
    SMALL_MMA_BLOCKS = 12,      /* scales along k: 0, 1, 2, 4 */
    SMALL_MMA_PACKED = 1 << 16, /* elements of four bits, eight in a register */
    SMALL_MMA_SPARSE = 1 << 17, /* A has half of the elements; see wgmma.h for the metadata */
    SMALL_MMA_HALVES = 1 << 18, /* C and D are halves */
};

/* The parts of `selectors`: of the word with scales the first byte that counts, and which lanes of
 * four have it: for A 2 thread and 2 thread + 1, rows g and g + 8; for B the one. */
enum {
    SMALL_MMA_BYTE_A = 0,
    SMALL_MMA_THREAD_A = 8,
    SMALL_MMA_BYTE_B = 16,
    SMALL_MMA_THREAD_B = 24,
};

enum { SMALL_MMA_REGISTERS = 24 };

#endif
