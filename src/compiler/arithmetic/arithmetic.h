/* arithmetic: one PTX elementwise instruction into LLVM IR.
 *
 * "Elementwise" means that lane l of every result depends on lane l of the sources alone: all of
 * PTX's integer, float, half, logic, comparison, conversion and video arithmetic. The same code
 * emits scalars (uniform values) and vectors of 32 (a warp), because LLVM's operations are
 * polymorphic over both, and either form gives the same bits for the same sources: whether a value
 * was found to be uniform can never be seen in a result. (The payload of a NaN that comes from two
 * NaNs is the one exception: PTX leaves it open, and so does LLVM.)
 *
 * Nothing here traps or has side effects, so an instruction may be emitted under any mask and for
 * lanes that are not active: their results are unspecified but harmless. (Calls of C functions for
 * the rarest operations also run for inactive lanes, unless `mask` says which are active.)
 *
 * Canonical LLVM types of PTX types, as one lane holds them:
 *   PRED i1; b/u/s 8..128 iN; F16 half; BF16 i16; F32, F64 float, double; TF32 i32; everything
 *   packed (F16X2, BF16X2, U16X2, E4M3X2, F32X2 ...) iN of its width.
 * With lanes > 1 the type is <lanes x T>.
 *
 * Operands. A source is each operand that is not a destination, in the order written, immediates
 * included (the caller makes a constant of the signature's type). The caller applies
 * ptx_operand.neg to predicates; ptx_operand.select and the minus signs of vmad's operands are
 * applied here. A destination wider than the signature's type is extended by the caller, by that
 * type's signedness; a source wider than it is truncated by the caller. */
#ifndef WEIR_COMPILER_ARITHMETIC_ARITHMETIC_H
#define WEIR_COMPILER_ARITHMETIC_ARITHMETIC_H

#include <llvm-c/Core.h>

#include "ptx/ptx.h"

/* Where code is emitted and for which machine. The caller fills it (alu_host for the machine) and
 * may change lanes, mask and b between calls. The builder must stand inside a function. */
struct alu {
    LLVMContextRef ctx;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    unsigned lanes;     /* 1: plain scalars; 32: vectors of 32 */
    LLVMValueRef mask;  /* lanes > 1: <32 x i1> of active lanes (NULL: all) */
    unsigned simd_bits; /* 512, 256 or 128: the host's vector width */
    bool has_avx512;    /* F, CD, BW, DQ and VL together */
    bool has_avx2;
    bool has_fma; /* FMA3 */
    bool has_f16c;
    bool has_fp16; /* AVX-512's arithmetic of halves, with has_avx512 */
};

/* Fills simd_bits and the has_ fields from LLVM's feature string ("+avx2,-avx512f,..."), as
 * LLVMGetHostCPUFeatures gives it. */
void alu_host(struct alu *a, const char *features);

enum { ALU_MAX_DST = 3, ALU_MAX_SRC = 6 };

/* What an instruction (or a math function) reads and writes. */
struct alu_sig {
    uint8_t ndst, nsrc;
    uint8_t dst[ALU_MAX_DST], src[ALU_MAX_SRC]; /* enum ptx_type */
    bool carry_in;  /* the last source (PRED) is the carry flag CC.CF, not an operand */
    bool carry_out; /* the last result (PRED) is the carry flag, not an operand: source operands
                       then begin at operand ndst - 1. (An instruction whose carry has been made
                       an operand where these say it belongs is taken, too.) */
    /* Math functions with pointer parameters (sincos, frexp, modf, remquo): results pointer_first
     * .. ndst-1 are stored through the call's pointer arguments, which are those that follow the
     * nsrc value arguments, in order. Equal to ndst when there are none. A function that returns
     * nothing has pointer_first == 0. */
    uint8_t pointer_first;
};

/* True when alu_emit can do this instruction, all modifiers and types considered. False and the
 * reason (with line and column) when it cannot, or when it is no elementwise instruction. */
bool alu_supported(const struct ptx_instr *i, struct diag *d);

/* Number and types of results and sources. False exactly when alu_supported is false. */
bool alu_signature(const struct ptx_instr *i, struct alu_sig *sig);

/* Emits the instruction: src and dst are as the signature says. False only when the instruction
 * is not supported. May end the builder's block and leave it in a new one (64-bit division does):
 * take LLVMGetInsertBlock afterwards. */
bool alu_emit(struct alu *a, const struct ptx_instr *i, const LLVMValueRef *src, LLVMValueRef *dst);

/* Device math functions that PTX calls and nobody defines (`__nv_sinf`, ...). Emitting one may end
 * the builder's block, too. The object then refers to functions of SLEEF, of the C library and of
 * lane_math.h. */
bool alu_math_known(const char *name, struct alu_sig *sig); /* sig may be NULL */
bool alu_math_emit(struct alu *a, const char *name, const LLVMValueRef *src, LLVMValueRef *dst);
/* Is the function one PTX instruction (`__nv_max` is max.s32)? Then *i is that instruction, which
 * writes operands[0] and reads the others; they are left to the caller to fill. */
struct ptx_operand;
bool alu_math_instruction(const char *name, struct ptx_operand operands[4], struct ptx_instr *i);

/* Halves alone: bits (vectors of i16, of any length) to floats, and back to nearest. */
LLVMValueRef alu_f16_to_f32(struct alu *a, LLVMValueRef bits);
LLVMValueRef alu_bf16_to_f32(struct alu *a, LLVMValueRef bits);
LLVMValueRef alu_f32_to_f16_nearest(struct alu *a, LLVMValueRef x);

/* The fused multiply-add of floats or doubles (vectors of any length up to 32) in the rounding of a
 * modifier: rn, rz, rm, rp. */
LLVMValueRef alu_fma_rounded(struct alu *a, const LLVMValueRef s[3], enum ptx_mod mode);

/* Canonical type of a PTX type, vectorised by a->lanes. */
LLVMTypeRef alu_type(struct alu *a, enum ptx_type t);

/* Has a module fused multiply-adds of f16 that take many instructions? Then alu_fma_sums, when there
 * are no variables any more, makes those that add to what another gave, as products of matrices do,
 * look whether they must be exact. */
bool alu_fma_slow(struct alu *a);
void alu_fma_sums(struct alu *a);
/* Has LLVM's inliner inline those fused multiply-adds of halves that are short (half_fma.c). False:
 * there are none. */
bool alu_fma_inline(struct alu *a);
/* The same of what they rarely need, when nothing looks for values in common any more. */
bool alu_fma_inline_rare(struct alu *a);

#endif
