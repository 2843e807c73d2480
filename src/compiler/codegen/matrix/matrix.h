/* matrix.h: matrix instructions. */
#ifndef WEIR_COMPILER_MATRIX_H
#define WEIR_COMPILER_MATRIX_H

#include "compiler/codegen/codegen.h"

/* mma, wmma. */
bool emit_mma(struct codegen *cg, const struct ptx_instr *i);
bool mma_supported(const struct ptx_instr *i, struct diag *d);
/* wgmma. */
bool emit_wgmma(struct codegen *cg, const struct ptx_instr *i);
bool wgmma_supported(const struct ptx_instr *i, struct diag *d);
/* ldmatrix, stmatrix, movmatrix. */
bool emit_matrix_move(struct codegen *cg, const struct ptx_instr *i);
/* Has it as many registers as its shape of bytes asks for? */
bool matrix_of_bytes_supported(const struct ptx_instr *i, struct diag *d);

#endif
