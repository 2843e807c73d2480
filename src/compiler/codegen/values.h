/* values.h: values and their uniformity. Reads operands as scalars or vectors, writes registers,
 * and has the masks and small IR idioms that all of code generation uses. */
#ifndef WEIR_COMPILER_VALUES_H
#define WEIR_COMPILER_VALUES_H

#include "compiler/codegen/codegen.h"

/* Segments of 2^seg lanes in a warp. */
static inline int nsegs(unsigned seg) { return 1 << (SEG_WARP - seg); }

/* ---- constants, types, conversions ---- */

/* An i32 and an i64 constant. */
LLVMValueRef c32(struct codegen *cg, uint64_t v);
LLVMValueRef c64(struct codegen *cg, uint64_t v);
/* Scalar LLVM type of a PTX type; its 32-lane vector. */
LLVMTypeRef scalar_type(struct codegen *cg, unsigned ptx_type);
LLVMTypeRef vector_type(struct codegen *cg, unsigned ptx_type);
/* Value as PTX type `want`: bits reinterpreted, wider integers cut, narrower ones extended. */
LLVMValueRef coerce(struct codegen *cg, LLVMValueRef v, unsigned want, bool is_signed);
/* A vector of `lanes` equal elements. */
LLVMValueRef splat(struct codegen *cg, LLVMValueRef scalar, unsigned lanes);
/* <32 x elem> whose lane l is stride * (l mod 2^period_log2). */
LLVMValueRef lane_constants(struct codegen *cg, LLVMTypeRef elem, int64_t stride,
                            unsigned period_log2);
/* <32 x T> from per-segment scalars plus a stride within segments. */
LLVMValueRef from_segments(struct codegen *cg, const LLVMValueRef *v, unsigned seg, int64_t stride);
/* The n elements idx[] of vectors a and b in a row; b may be NULL. */
LLVMValueRef shuffle(struct codegen *cg, LLVMValueRef a, LLVMValueRef b, const unsigned *idx,
                     unsigned n);
/* n vectors of equal length in a row, n a power of two. Overwrites v[]. */
LLVMValueRef join_vectors(struct codegen *cg, LLVMValueRef *v, unsigned n);

/* ---- operands and registers ---- */

/* An operand for segment `s` of 2^seg lanes: its first lane's value, as PTX type `want`. */
LLVMValueRef operand_scalar(struct codegen *cg, const struct ptx_operand *o, unsigned want,
                            unsigned seg, int s);
/* An operand in all lanes, as a vector of PTX type `want`. */
LLVMValueRef operand_vector(struct codegen *cg, const struct ptx_operand *o, unsigned want);
/* Writes a register: with one value a segment of uniformity `s`, or a whole vector. Values are of
 * PTX type `type` and extended to the register's width by its signedness. */
void write_segments(struct codegen *cg, int32_t reg, struct uniformity s, const LLVMValueRef *v,
                    unsigned type);
void write_vector(struct codegen *cg, int32_t reg, LLVMValueRef v, unsigned type);
/* Writes a register with one value for all lanes. */
void write_uniform(struct codegen *cg, int32_t reg, LLVMValueRef v, unsigned type);
/* write_segments for values with a break; before[s] is the number of lanes of segment s before it.
 */
void write_broken(struct codegen *cg, int32_t reg, struct uniformity s, const LLVMValueRef *v,
                  const LLVMValueRef *before, unsigned type);
/* Lanes before the break of a register operand's segment, i32: 2^seg when there is none in it. */
LLVMValueRef operand_break(struct codegen *cg, const struct ptx_operand *o, unsigned seg, int s);
/* The same for a 32-bit index about to be widened: how many lanes do not wrap. */
LLVMValueRef lanes_before_wrap(struct codegen *cg, LLVMValueRef first, int64_t stride, unsigned seg,
                               bool is_signed);
/* The value in slot s of a register. */
LLVMValueRef read_slot(struct codegen *cg, int32_t reg, int s);

/* ---- masks ---- */

/* <32 x i1> of active lanes, or NULL for all. */
LLVMValueRef mask_vector(struct codegen *cg);
/* i32 of active lanes, a constant when all. */
LLVMValueRef mask_bits(struct codegen *cg);
/* <32 x i1> as an i32, and back. */
LLVMValueRef bits_of(struct codegen *cg, LLVMValueRef v32i1);
LLVMValueRef lanes_of(struct codegen *cg, LLVMValueRef bits);
/* <count x i1> of the bits from `first` on. */
LLVMValueRef some_lanes_of(struct codegen *cg, LLVMValueRef bits, unsigned first, unsigned count);
/* i32: the lowest lane of a set that is not empty. */
LLVMValueRef lowest_lane(struct codegen *cg, LLVMValueRef bits);
/* A vector's value in the first active lane. */
LLVMValueRef first_active(struct codegen *cg, LLVMValueRef v);

/* ---- memory ---- */

/* A field of the block that runs; `invariant`: it does not change while the function runs. */
LLVMValueRef block_field(struct codegen *cg, size_t offset, LLVMTypeRef type, bool invariant);
/* A new variable on the stack. */
LLVMValueRef new_slot(struct codegen *cg, LLVMTypeRef type, const char *name);
/* The variable `which`, made when first asked for. */
LLVMValueRef shared_slot(struct codegen *cg, enum shared_slot which, LLVMTypeRef type,
                         unsigned align, const char *name);
/* Stores a vector of 32 lanes into a variable of which nobody reads lanes that have no thread. */
LLVMValueRef store_threads(struct codegen *cg, LLVMValueRef v, LLVMValueRef slot);
/* The pointer `offset` bytes (i64) after `base`. */
LLVMValueRef byte_offset(struct codegen *cg, LLVMValueRef base, LLVMValueRef offset);
/* Tells LLVM what an access does not alias: it is to a frame, or to a state space. */
void tag_frame(struct codegen *cg, LLVMValueRef access);
void tag_memory(struct codegen *cg, LLVMValueRef access, unsigned space);

/* ---- control flow within an instruction ---- */

/* A new basic block of the function. */
LLVMBasicBlockRef new_bb(struct codegen *cg, const char *name);
/* A branch that is expected to be taken to `yes`; cold_sinking.c relies on it. */
void branch_likely(struct codegen *cg, LLVMValueRef cond, LLVMBasicBlockRef yes,
                   LLVMBasicBlockRef no);
/* A call of an LLVM intrinsic. */
LLVMValueRef intrinsic(struct codegen *cg, const char *name, LLVMTypeRef *types, int ntypes,
                       LLVMValueRef *args, int nargs);
/* The same integer or pointer, of which LLVM knows nothing. Costs no instruction. */
LLVMValueRef opaque(struct codegen *cg, LLVMValueRef v);

/* The lanes of a strip of a vector of 32. */
enum { STRIP_LANES = 8 };
LLVMValueRef strip_lanes(struct codegen *cg, LLVMValueRef v, int strip);

#endif
