/* mma.h: what the files of the matrix instructions share.
 *
 * All of them see matrices as tiles of eight rows, the way the ISA lays mma's fragments out: lane
 * l = 4 g + t holds of row g (of a factor: along k; of the right factor g is a column) the elements
 * that fall to t. wmma's fragments are opaque; here they are those of mma, tile after tile, so one
 * multiplication serves both. A register of a warp is a vector of 32, so a tile is one or two
 * vectors. */
#ifndef WEIR_COMPILER_MATRIX_MMA_H
#define WEIR_COMPILER_MATRIX_MMA_H

#include "compiler/codegen/codegen.h"

/* How elements of one type lie in a tile's registers. */
struct tile {
    unsigned unit_bits;  /* what is moved at once: an element, or a register of smaller ones */
    unsigned unit_elems; /* elements in that */
    unsigned per_reg;    /* units a lane holds in a register */
    unsigned regs;       /* registers of a tile */
    unsigned reg_type;   /* PTX type to read registers as */
};

/* Units of one row of a tile. */
static inline unsigned tile_width(const struct tile *t) { return 4 * t->per_reg * t->regs; }

/* One multiplication, D = A B + C. */
struct mma {
    unsigned m, n, k;
    unsigned a, b, c, d; /* element types */
    bool saturate;       /* integers: clamped, not wrapped */
    bool bit_and;        /* single bits: and instead of xor */
    unsigned rounding;   /* of doubles: the modifier, PTX_M_rz and so on; 0: to nearest */
    bool quads;          /* four products at once (mma_quads.c), and the factors' layouts there */
    bool a_column, b_row;
    bool sparse;       /* A has half of its elements, which ones is in the metadata */
    unsigned selector; /* sparse: which lanes of a quad have the metadata */
};

/* The most registers that A, B, C and D have together (wmma on halves and floats: 4 + 4 + 8 + 8).
 */
enum { MAX_MMA_REGS = 32, MMA_SCRATCH = 8192 };

/* How many registers each operand has, without repetitions, and how their tiles lie. */
struct mma_layout {
    struct tile ta, tb, tc, td;
    unsigned groups, columns; /* of eight rows of A, of eight columns of B */
    unsigned steps, a_steps;  /* tiles along k, of B and of A (half as many where it is sparse) */
    unsigned na, nb, nc, nd;  /* registers */
};
struct mma_layout mma_layout_of(const struct mma *m);

struct tile mma_tile(unsigned type, bool accumulator);
/* The mMnNkK among an instruction's modifiers. */
bool mma_shape(const struct ptx_instr *i, struct mma *m);
/* Tiles of each operand, and where the tile (row group or column group, step along k) is. */
static inline unsigned mma_steps(const struct mma *m, const struct tile *t)
{
    return m->k / (tile_width(t) * t->unit_elems);
}
static inline unsigned mma_a_index(const struct mma *m, unsigned steps, unsigned group,
                                   unsigned step)
{
    unsigned pair = m->m > 8 ? 2 : 1;
    return group / pair * pair * steps + step * pair + group % pair;
}

/* Element n of a vector operand, or the operand itself; how many there are. */
const struct ptx_operand *mma_item(const struct ptx_operand *o, unsigned n);
static inline unsigned mma_items(const struct ptx_operand *o)
{
    return o->kind == PTX_OPR_VEC ? (unsigned)o->nitems : 1;
}
/* A register as <32 x iN>, and back. */
LLVMValueRef mma_read(struct codegen *cg, const struct ptx_operand *o, const struct tile *t);
void mma_write(struct codegen *cg, const struct ptx_operand *o, LLVMValueRef v,
               const struct tile *t);

/* Does a register of the kernel lie in memory as a fragment's does? And may it be written there? */
bool mma_in_memory(struct codegen *cg, const struct ptx_operand *o, const struct tile *t);
bool mma_in_place(struct codegen *cg, const struct ptx_operand *o, const struct tile *t);
/* Where operand o is in memory, as a register of a fragment: its own location if that can be used,
 * else spare register n, to which the value is copied. mma_target is the same for a result;
 * mma_written then copies it to where it belongs. */
LLVMValueRef mma_source(struct codegen *cg, const struct ptx_operand *o, unsigned n,
                        const struct tile *t);
LLVMValueRef mma_target(struct codegen *cg, const struct ptx_operand *o, unsigned n,
                        const struct tile *t);
void mma_written(struct codegen *cg, const struct ptx_operand *o, LLVMValueRef at,
                 const struct tile *t);

/* The memory that functions work in, MMA_SCRATCH bytes, and spare registers after it. */
LLVMValueRef mma_memory(struct codegen *cg);
/* A value that is the same in every lane: the first active one's. */
LLVMValueRef mma_uniform(struct codegen *cg, const struct ptx_operand *o, unsigned type);

/* small_mma.c: elements of four and six bits, and scales of blocks. */
bool is_small_mma(const struct ptx_instr *i);
bool emit_small_mma(struct codegen *cg, const struct ptx_instr *i);
bool small_mma_supported(const struct ptx_instr *i, struct diag *d);

/* mma_kernel.c: the body of void (ptr scratch, ptr to each register of A, B, C, D {, ptr to
 * the metadata}); `arg` is the
 * struct mma. */
void mma_body(struct codegen *cg, LLVMValueRef fn, const void *arg);
/* Elements of a row of a register, as they are multiplied, their type, and that row (at p). */
unsigned mma_row_elements(unsigned type);
LLVMTypeRef mma_element(struct codegen *cg, unsigned type);
LLVMValueRef mma_row(struct codegen *cg, unsigned type, LLVMValueRef p);

/* mma_quads.c: the same for m8n8k4 of halves. */
void mma_quads_body(struct codegen *cg, LLVMValueRef fn, const void *arg);

/* mma_sparse.c: a sparse A as whole rows of `steps_k` elements each, in the buffer;
 * `metadata`: pointer to that register. How many selectors there are for a kind; 0: it does not
 * exist. */
void mma_sparse_rows(struct codegen *cg, LLVMValueRef fn, const struct mma *m,
                     const struct mma_layout *p, const LLVMValueRef *regs, LLVMValueRef metadata,
                     LLVMValueRef buffer, unsigned steps_k);
unsigned mma_sparse_selectors(const struct mma *m);

/* matrix_bytes.c: ldmatrix and stmatrix of elements of eight bits and fewer. */
bool is_matrix_of_bytes(const struct ptx_instr *i);
bool emit_matrix_of_bytes(struct codegen *cg, const struct ptx_instr *i);

/* matrix_move.c: the address of a row in each of the first `rows` lanes, for ldmatrix and stmatrix;
 * those of lanes that are not active lead to scratch. Faults where one that is used is not a
 * multiple of 16. Then one of them as a pointer. */
LLVMValueRef matrix_row_addresses(struct codegen *cg, const struct ptx_instr *i,
                                  const struct ptx_operand *at, unsigned rows,
                                  LLVMValueRef scratch);
LLVMValueRef matrix_row_pointer(struct codegen *cg, LLVMValueRef rows, unsigned lane);

/* matrix_move.c: wmma.load, wmma.store. */
bool emit_wmma_load(struct codegen *cg, const struct ptx_instr *i);
bool emit_wmma_store(struct codegen *cg, const struct ptx_instr *i);
bool wmma_move_supported(const struct ptx_instr *i, struct diag *d);

#endif
