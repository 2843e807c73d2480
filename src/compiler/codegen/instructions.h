/* instructions.h: one instruction, and the kinds that need no header of their own: elementwise
 * ones, moves, calls, textures. Also source positions. */
#ifndef WEIR_COMPILER_INSTRUCTIONS_H
#define WEIR_COMPILER_INSTRUCTIONS_H

#include "compiler/codegen/codegen.h"

/* ---- instructions.c ---- */

/* Emits one instruction that is no terminator. */
bool emit_instr(struct codegen *cg, const struct ptx_instr *i);
/* Is an instruction supported by code generation? The reason when it is not. */
bool emit_supported(const struct ptx_instr *i, struct diag *d);
/* Writes result `which` of an elementwise operation to `d`: where `sh` has segments, dst[s][which]
 * to segment s, else the vector dst[0][which]. Nothing where `d` is no register. */
void write_results(struct codegen *cg, const struct ptx_operand *d, int which, struct uniformity sh,
                   LLVMValueRef dst[MAX_SEGS][ALU_MAX_DST], unsigned type);
/* A special register's value in segment s, and in all lanes. */
LLVMValueRef sreg_scalar(struct codegen *cg, const struct ptx_operand *o, unsigned seg, int s);
LLVMValueRef sreg_vector(struct codegen *cg, const struct ptx_operand *o);
/* The active lanes of `mask` fault; what follows is not reached. */
void emit_fault(struct codegen *cg, unsigned kind, LLVMValueRef mask, LLVMValueRef address);

/* ---- thread_stack.c ---- */

bool emit_alloca(struct codegen *cg, const struct ptx_instr *i);
bool emit_stacksave(struct codegen *cg, const struct ptx_instr *i);
bool emit_stackrestore(struct codegen *cg, const struct ptx_instr *i);

/* ---- calls.c ---- */

/* Functions that are called and not inlined, each to be emitted once. */
struct callees {
    const struct ptx_func **items;
    size_t count, cap;
};
/* The LLVM function of one: i32 (block, i32 warp, i32 mask, i64 frame start), which returns the
 * lanes whose threads it has ended. */
LLVMValueRef callee_function(struct codegen *cg, const struct ptx_func *f);
/* The call instruction. */
bool emit_call(struct codegen *cg, const struct ptx_instr *i);

/* ---- affine_division.c ---- */

/* Is this a quotient or a remainder of an affine value by a uniform one? */
bool affine_division_fits(const struct codegen *cg, const struct ptx_instr *i);
bool emit_affine_division(struct codegen *cg, const struct ptx_instr *i);

/* ---- helpers.c ---- */

/* Calls a helper of the exec module by its full name; its parameters have the arguments' types. */
LLVMValueRef call_helper(struct codegen *cg, const char *name, LLVMTypeRef result,
                         LLVMValueRef *args, unsigned n);
/* Rows of 32 numbers of 64 bits that helpers are given and give back. */
enum { HELPER_ROWS = 9 };
LLVMValueRef helper_rows(struct codegen *cg, unsigned first);
void helper_row_store(struct codegen *cg, unsigned row, LLVMValueRef v32i64);
LLVMValueRef helper_row_load(struct codegen *cg, unsigned row);
/* Writes a register from a row; a predicate is what is not zero. */
void helper_row_result(struct codegen *cg, const struct ptx_operand *d, unsigned row,
                       unsigned type);

/* ---- texture.c ---- */

/* tex, tld4, txq, suld, sust, sured, suq. */
bool emit_texture(struct codegen *cg, const struct ptx_instr *i);
bool texture_supported(const struct ptx_instr *i, struct diag *d);

/* ---- debug_lines.c ---- */

/* Begins the module's line table. */
struct debug_lines *debug_open(struct codegen *cg);
/* cg->fn gets a scope of its own. */
void debug_function(struct codegen *cg);
/* What follows belongs to instruction i. */
void debug_at(struct codegen *cg, const struct ptx_instr *i);
/* Ends the line table; `lines` may be NULL. True: debuggers are told where variables of the source
 * are in memory. */
bool debug_close(struct debug_lines *lines);

#endif
