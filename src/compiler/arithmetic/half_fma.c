/* half_fma: the fused multiply-add of f16 and bf16, rounded once.
 *
 * The product of two f16 is exact in f32, their sum with a third is not, and rounding it to f32 and
 * then to f16 is not what one rounding gives: the sum must be rounded to odd in between. With
 * AVX-512 that takes two instructions more, and with its FP16 f16 are multiplied and added as such
 * (llvm/half_arithmetic.c). With conversions of f16 but without AVX-512 the error
 * of the sum is computed, in a dozen instructions for a vector. Elsewhere, and with bf16, it
 * matters only where the f32 is just between two of the smaller type, which is rare, and code looks
 * whether it is so. Kernels that compute in f16 have hundreds of these in a row, so a warp's are a
 * function of the module, which exists once. So it is with bf16, in which programs for GPUs
 * before 9.0 also add and multiply by this instruction. Functions without a branch are inlined
 * where kernels are optimized (alu_fma_inline). */
#include <stdio.h>
#include <string.h>

#include "compiler/arithmetic/build.h"

enum { FEWEST = 16 /* lanes that are worth a call */ };
#define FMA_PREFIX "weir_fma_"

/* x * y + z, rounded to nearest; x * y is exact in f32. */
static val plus_product(struct alu *a, val x, val y, val z)
{
    return a->has_fma ? ir_fma(a, x, y, z) : ir_fadd(a, ir_fmul(a, x, y), z);
}

/* The f32 to be rounded to f16: x * y + z rounded to odd. */
static val to_odd(struct alu *a, val x, val y, val z)
{
    val sum = plus_product(a, x, y, z), c = plus_product(a, ir_fneg(a, x), y, sum);
    val product = plus_product(a, x, y, ir_fsub(a, c, sum)); /* what the sum lacks of it */
    val err = ir_fadd(a, product, ir_fsub(a, z, c));
    /* what is not exact: the neighbour toward zero, and with its last bit set */
    val bits = ir_as_int(a, sum), one = ir_k(bits, 1);
    val inexact = ir_sext(a, ir_fcmp(a, LLVMRealONE, err, ir_kf(err, 0)), 32);
    val beyond = ir_ashr(a, ir_xor(a, bits, ir_as_int(a, err)), ir_k(bits, 31));
    val toward = ir_add(a, bits, ir_and(a, beyond, inexact));
    return ir_as_float(a, ir_or(a, toward, ir_and(a, inexact, one)));
}

/* The same where instructions name their rounding: of the values downwards and upwards, which are
 * neighbours or equal, the odd one. (Zeros are even: of -0 and +0 the latter, as to nearest.) */
static val to_odd_directed(struct alu *a, const val *s)
{
    val down = alu_float_op(a, OP_FMA, s, ROUND_RM), up = alu_float_op(a, OP_FMA, s, ROUND_RP);
    val bits = ir_as_int(a, down), last = ir_and(a, bits, ir_k(bits, 1));
    return ir_select(a, ir_icmp(a, LLVMIntNE, last, ir_k(last, 0)), down, up);
}

val alu_fma_f16_odd(struct alu *a, const val *s) { return to_odd(a, s[0], s[1], s[2]); }

/* How lanes are computed. */
struct way {
    bool bf16;
    enum { APPROXIMATE, IS_EXACT, EXACT, DIRECTED } what;
};

/* i1: may a second rounding of this f32 differ? Just between two of the smaller type are zeros
 * after a one. Subnormal f16, which have fewer bits, are looked at closely, all but zero; bf16 has
 * f32's exponents. */
static val doubtful(struct alu *a, val sum, bool bf16)
{
    val bits = ir_as_int(a, sum), rest = ir_k(bits, bf16 ? 0xffff : 0x1fff);
    val between = ir_icmp(a, LLVMIntEQ, ir_and(a, bits, rest), ir_k(bits, bf16 ? 0x8000 : 0x1000));
    if (bf16)
        return between;
    val size = ir_and(a, bits, ir_k(bits, 0x7fffffff));
    val below = ir_icmp(a, LLVMIntULT, ir_sub(a, size, ir_k(size, 1)), ir_k(size, 0x387fffff));
    return ir_or(a, between, below);
}

static val rounded(struct alu *a, val sum, bool bf16)
{
    return bf16 ? alu_f32_to_bf16(a, sum, ROUND_RN) : alu_f32_to_f16_nearest(a, sum);
}

static val piece(struct alu *a, const val *bits, void *arg)
{
    const struct way *w = arg;
    val s[3];
    for (int k = 0; k < 3; k++)
        s[k] = w->bf16 ? alu_bf16_to_f32(a, bits[k]) : alu_f16_to_f32(a, bits[k]);
    if (w->what == DIRECTED)
        return rounded(a, to_odd_directed(a, s), w->bf16);
    if (w->what == EXACT)
        return rounded(
            a, w->bf16 ? alu_float_op(a, OP_FMA, s, ROUND_ODD) : to_odd(a, s[0], s[1], s[2]),
            w->bf16);
    val sum = plus_product(a, s[0], s[1], s[2]);
    return w->what == APPROXIMATE ? rounded(a, sum, w->bf16)
                                  : ir_sext(a, doubtful(a, sum, w->bf16), 32);
}

static val pieces(struct alu *a, const val *s, struct way w)
{
    return ir_pieces(a, a->simd_bits / 32, s, 3, piece, &w);
}

static void body(struct alu *a, val fn, bool bf16)
{
    val s[3] = {LLVMGetParam(fn, 0), LLVMGetParam(fn, 1), LLVMGetParam(fn, 2)};
    if (!bf16 && a->has_fp16) {
        for (unsigned k = 0; k < 3; k++)
            s[k] = ir_as_float(a, s[k]);
        LLVMBuildRet(a->b, ir_as_int(a, ir_fma(a, s[0], s[1], s[2])));
        return;
    }
    if (a->has_avx512) {
        LLVMBuildRet(a->b, pieces(a, s, (struct way){bf16, DIRECTED}));
        return;
    }
    if (!bf16 && a->has_f16c) { /* not in pieces: strip mining chooses them */
        LLVMBuildRet(a->b, piece(a, s, &(struct way){bf16, EXACT}));
        return;
    }
    LLVMBasicBlockRef exactly = LLVMAppendBasicBlockInContext(a->ctx, fn, "exactly");
    LLVMBasicBlockRef common = LLVMAppendBasicBlockInContext(a->ctx, fn, "common");
    val r = pieces(a, s, (struct way){bf16, APPROXIMATE});
    val any = ir_intr1(a, "llvm.vector.reduce.or", pieces(a, s, (struct way){bf16, IS_EXACT}));
    LLVMBuildCondBr(a->b, ir_icmp(a, LLVMIntNE, any, ir_k(any, 0)), exactly, common);
    LLVMPositionBuilderAtEnd(a->b, common);
    LLVMBuildRet(a->b, r);
    LLVMPositionBuilderAtEnd(a->b, exactly);
    LLVMBuildRet(a->b, pieces(a, s, (struct way){bf16, EXACT}));
}

/* Attributes of the function at hand that say which registers arguments come in. */
static void same_vectors(val fn, val as)
{
    static const char *const names[] = {"prefer-vector-width", "min-legal-vector-width"};
    for (unsigned k = 0; k < 2; k++) {
        LLVMAttributeRef at = LLVMGetStringAttributeAtIndex(as, LLVMAttributeFunctionIndex,
                                                            names[k], (unsigned)strlen(names[k]));
        if (at != NULL)
            LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex, at);
    }
}

/* The function for so many lanes, made when it is first asked for. */
static val function(struct alu *a, LLVMTypeRef type, unsigned lanes, bool bf16)
{
    char name[32];
    snprintf(name, sizeof name, "%s%s_x%u", FMA_PREFIX, bf16 ? "bf16" : "f16", lanes);
    val fn = LLVMGetNamedFunction(a->module, name);
    if (fn != NULL)
        return fn;
    LLVMBasicBlockRef back = LLVMGetInsertBlock(a->b);
    LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(a->b);
    LLVMTypeRef types[3] = {type, type, type};
    fn = LLVMAddFunction(a->module, name, LLVMFunctionType(type, types, 3, false));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    same_vectors(fn, LLVMGetBasicBlockParent(back));
    static const char *const flags[] = {"noinline", "nounwind"};
    for (unsigned k = 0; k < 2; k++) {
        unsigned kind = LLVMGetEnumAttributeKindForName(flags[k], strlen(flags[k]));
        LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(a->ctx, kind, 0));
    }
    LLVMSetCurrentDebugLocation2(a->b, NULL);
    LLVMPositionBuilderAtEnd(a->b, LLVMAppendBasicBlockInContext(a->ctx, fn, ""));
    body(a, fn, bf16);
    LLVMPositionBuilderAtEnd(a->b, back);
    LLVMSetCurrentDebugLocation2(a->b, line);
    return fn;
}

val alu_fma_small(struct alu *a, const val *s, bool bf16)
{
    unsigned lanes = ir_lanes(s[0]);
    if (lanes < FEWEST || (bf16 && !a->has_fma)) /* products of bf16 may not be exact in f32 */
        return NULL;
    val fn = function(a, LLVMTypeOf(s[0]), lanes, bf16);
    return LLVMBuildCall2(a->b, LLVMGlobalGetValueType(fn), fn, (val *)s, 3, "");
}

bool alu_fma_inline(LLVMModuleRef m)
{
    bool any = false;
    unsigned never = LLVMGetEnumAttributeKindForName("noinline", 8);
    unsigned always = LLVMGetEnumAttributeKindForName("alwaysinline", 12);
    LLVMContextRef ctx = LLVMGetModuleContext(m);
    for (val fn = LLVMGetFirstFunction(m); fn != NULL; fn = LLVMGetNextFunction(fn)) {
        size_t length;
        if (strncmp(LLVMGetValueName2(fn, &length), FMA_PREFIX, sizeof FMA_PREFIX - 1) != 0 ||
            LLVMCountBasicBlocks(fn) != 1)
            continue;
        LLVMRemoveEnumAttributeAtIndex(fn, LLVMAttributeFunctionIndex, never);
        LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(ctx, always, 0));
        any = true;
    }
    return any;
}
