/* wgmma.h: the word that describes a wgmma.mma_async to the helper that makes it, and descriptors
 * of matrices in shared memory.
 *
 * A group of four warps multiplies a matrix A of 64 rows with B; each warp has 16 rows of D in its
 * registers, which it can make by itself, since nobody writes what is read. So the helper works for
 * one warp:
 * void weir_rt_wgmma(struct jit_block *block, uint32_t kind, uint32_t columns, uint32_t adds,
 *                    uint64_t a, uint64_t b, uint8_t *const *registers);
 *     D = A B + (adds ? D : 0). registers: where the registers of D lie, then, for
 *     WGMMA_A_REGISTERS, the four of A, then, for WGMMA_SPARSE, that of the metadata; each is a
 *     vector of 32 words.
 *
 * Of a sparse A two of every four elements along k are present (of TF32 one of two), and A is half
 * as wide as B is high. Four bits of metadata say which: two indices of two bits. Rows g and g + 8
 * of the warp share the four lanes from 4 g on. Elements of 8 bits: lane h + 2 (q / 8) has the bits
 * of row g + 8 h and group q, at 4 (q % 8). Others: lane 2 * selector + q / 4, at 16 h + 4 (q % 4).
 */
#ifndef WEIR_ABI_WGMMA_H
#define WEIR_ABI_WGMMA_H

#include <stdint.h>

enum wgmma_type {
    WGMMA_F16,
    WGMMA_BF16,
    WGMMA_TF32,
    WGMMA_E4M3,
    WGMMA_E5M2,
    WGMMA_S8,
    WGMMA_U8,
    WGMMA_B1,
};
enum wgmma_result { WGMMA_TO_F32, WGMMA_TO_F16, WGMMA_TO_S32 };

/* The parts of `kind`. */
enum {
    WGMMA_A_TYPE = 0, /* bit at which enum wgmma_type stands */
    WGMMA_B_TYPE = 4,
    WGMMA_D_TYPE = 8, /* enum wgmma_result */
    WGMMA_NEGATES = 1 << 12,
    WGMMA_SATURATES = 1 << 13,
    WGMMA_A_ROWS = 1 << 14, /* A is M-major: its columns are contiguous */
    WGMMA_B_ROWS = 1 << 15, /* B is N-major */
    WGMMA_A_REGISTERS = 1 << 16,
    WGMMA_SPARSE = 1 << 17,
    WGMMA_SELECTOR = 1 << 18, /* 1: the other two lanes of four have the metadata */
};

enum { WGMMA_ROWS = 16, WGMMA_COLUMNS = 256, WGMMA_MAX_D = 128, WGMMA_MAX_A = 4 };

#endif
