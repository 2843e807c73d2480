/* half_fma: the fused multiply-add of f16 and bf16, rounded once.
 *
 * The product of two f16 is exact in f32, their sum with a third is not, and rounding it to f32 and
 * then to f16 is not what one rounding gives: the sum must be rounded to odd in between. With
 * AVX-512 that takes two instructions more, and with its FP16 f16 are multiplied and added as such
 * (llvm/half_arithmetic.c). With conversions of f16 but without AVX-512 the error of the sum is
 * computed, in a dozen instructions for a vector.
 *
 * It matters only where the f32 is just between two of the smaller type, and code may look whether
 * it is so, which takes less than half of that. Sums of many products are seldom that. Where small
 * numbers of few digits are added, halves of others say, most warps have some. So f16 are looked at
 * where they are added to what another multiply-add gave. bf16 always are, for which exact sums
 * take dozens of instructions; in these, programs for GPUs before 9.0 also add and multiply by this
 * instruction.
 *
 * Kernels that compute in f16 have hundreds of these in a row, so a warp's are a function of the
 * module, which exists once. Where kernels are optimized they are inlined if there are few; what
 * these rarely need is inlined last, so that nothing of it is computed before. */
#include <stdio.h>
#include <string.h>

#include "compiler/arithmetic/build.h"

enum {
    FEWEST = 16,     /* lanes that are worth a call */
    MOST = 64,       /* uses of a function with a branch that is inlined */
    MOST_LONG = 128, /* and of a long one without, since LLVM's time grows with their square */
    FOLLOWED = 40    /* values from a call to an earlier one */
};

/* Names of functions: which are called, those of sums of many, and what these rarely call. */
#define FMA_PREFIX    "weir_fma_"
#define TESTED_PREFIX "weir_sum_fma_"
#define EXACT_PREFIX  "weir_exact_fma_"

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
    enum { SUM, EXACT, DIRECTED } what;
};

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
    return plus_product(a, s[0], s[1], s[2]); /* f32, to be rounded */
}

static val rounded_piece(struct alu *a, const val *sum, void *bf16)
{
    return rounded(a, sum[0], *(bool *)bf16);
}

static val pieces(struct alu *a, const val *s, struct way w)
{
    return ir_pieces(a, a->simd_bits / 32, s, 3, piece, &w);
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

/* What a function does: all there is to do; the same with a test for what is rarely needed; that.
 */
enum part { WHOLE, TESTED, EXACTLY };

static void unlikely(struct alu *a, val cond, LLVMBasicBlockRef yes, LLVMBasicBlockRef no)
{
    val one = LLVMConstInt(ir_int(a, 32), 1, false),
        most = LLVMConstInt(ir_int(a, 32), 2000, false);
    LLVMMetadataRef weights[3] = {LLVMMDStringInContext2(a->ctx, "branch_weights", 14),
                                  LLVMValueAsMetadata(one), LLVMValueAsMetadata(most)};
    LLVMMetadataRef node = LLVMMDNodeInContext2(a->ctx, weights, 3);
    LLVMSetMetadata(LLVMBuildCondBr(a->b, cond, yes, no),
                    LLVMGetMDKindIDInContext(a->ctx, "prof", 4), LLVMMetadataAsValue(a->ctx, node));
}

/* Halves of a vector, combined again and again by an intrinsic until `lanes` are left. */
static val fold(struct alu *a, const char *intrinsic, val v, unsigned lanes)
{
    for (unsigned n = ir_lanes(v) / 2; n >= lanes; n /= 2)
        v = ir_intr2(a, intrinsic, ir_extract(a, v, 0, n), ir_extract(a, v, n, n));
    return v;
}

/* i1: may a second rounding of some of these f32 differ, of which r is the bits of the smaller
 * type? Just between two of that are zeros after a one. Subnormal f16, which have fewer bits, are
 * looked at closely, all but zero (and the least f16 that is not subnormal, to which some are
 * rounded); bf16 has f32's exponents. Few operations for each lane: what is looked for is the least
 * of all, when it is brought to where an integer is least. */
static val any_doubtful(struct alu *a, val sums, val r, bool bf16)
{
    enum { LEAST_NORMAL = 0x400 };
    val bits = ir_as_int(a, sums);
    val rest = ir_shl(a, bits, ir_k(bits, bf16 ? 16 : 19));
    rest = fold(a, "llvm.smin", rest, 8);
    val doubt = ir_sext(a, ir_icmp(a, LLVMIntEQ, rest, ir_k(rest, 0x80000000)), 32);
    if (!bf16) {
        val size = ir_sub(a, ir_shl(a, r, ir_k(r, 1)), ir_k(r, 1)); /* and zero the largest */
        size = fold(a, "llvm.umin", size, 16);
        val small = ir_icmp(a, LLVMIntULT, size, ir_k(size, 2 * LEAST_NORMAL));
        doubt = ir_or(a, doubt, ir_join(a, ir_sext(a, small, 16), 32));
    }
    val any = ir_intr1(a, "llvm.vector.reduce.or", doubt);
    return ir_icmp(a, LLVMIntNE, any, ir_k(any, 0));
}

static val function(struct alu *a, LLVMTypeRef type, unsigned lanes, bool bf16, enum part part);

static val function(struct alu *a, LLVMTypeRef type, unsigned lanes, bool bf16, enum part part);

/* To nearest once, and where that may be wrong, which is rare, exactly. */
static void tested_body(struct alu *a, val fn, const val *s, bool bf16)
{
    LLVMBasicBlockRef exactly = LLVMAppendBasicBlockInContext(a->ctx, fn, "exactly");
    LLVMBasicBlockRef common = LLVMAppendBasicBlockInContext(a->ctx, fn, "common");
    val sums = pieces(a, s, (struct way){bf16, SUM});
    val r = ir_pieces(a, a->simd_bits / 32, &sums, 1, rounded_piece, &bf16);
    unlikely(a, any_doubtful(a, sums, r, bf16), exactly, common);
    LLVMPositionBuilderAtEnd(a->b, common);
    LLVMBuildRet(a->b, r);
    LLVMPositionBuilderAtEnd(a->b, exactly);
    val other = function(a, LLVMTypeOf(s[0]), ir_lanes(s[0]), bf16, EXACTLY);
    LLVMBuildRet(a->b, LLVMBuildCall2(a->b, LLVMGlobalGetValueType(other), other, (val *)s, 3, ""));
}

static void body(struct alu *a, val fn, bool bf16, enum part part)
{
    val s[3] = {LLVMGetParam(fn, 0), LLVMGetParam(fn, 1), LLVMGetParam(fn, 2)};
    if (!bf16 && a->has_fp16) {
        for (unsigned k = 0; k < 3; k++)
            s[k] = ir_as_float(a, s[k]);
        LLVMBuildRet(a->b, ir_as_int(a, ir_fma(a, s[0], s[1], s[2])));
    } else if (a->has_avx512)
        LLVMBuildRet(a->b, pieces(a, s, (struct way){bf16, DIRECTED}));
    else if (part == EXACTLY)
        LLVMBuildRet(a->b, pieces(a, s, (struct way){bf16, EXACT}));
    else if (part == WHOLE && !bf16 && a->has_f16c) /* not in pieces: strip mining chooses them */
        LLVMBuildRet(a->b, piece(a, s, &(struct way){bf16, EXACT}));
    else
        tested_body(a, fn, s, bf16);
}

/* The function for so many lanes, made when it is first asked for. */
static val function(struct alu *a, LLVMTypeRef type, unsigned lanes, bool bf16, enum part part)
{
    static const char *const prefixes[] = {
        [WHOLE] = FMA_PREFIX, [TESTED] = TESTED_PREFIX, [EXACTLY] = EXACT_PREFIX};
    char name[40];
    snprintf(name, sizeof name, "%s%s_x%u", prefixes[part], bf16 ? "bf16" : "f16", lanes);
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
    body(a, fn, bf16, part);
    LLVMPositionBuilderAtEnd(a->b, back);
    LLVMSetCurrentDebugLocation2(a->b, line);
    return fn;
}

val alu_fma_small(struct alu *a, const val *s, bool bf16)
{
    unsigned lanes = ir_lanes(s[0]);
    if (lanes < FEWEST || (bf16 && !a->has_fma)) /* products of bf16 may not be exact in f32 */
        return NULL;
    val fn = function(a, LLVMTypeOf(s[0]), lanes, bf16, WHOLE);
    return LLVMBuildCall2(a->b, LLVMGlobalGetValueType(fn), fn, (val *)s, 3, "");
}

/* ---- calls, when a kernel has been emitted ---- */

static bool is_named(val fn, const char *prefix)
{
    size_t length;
    return strncmp(LLVMGetValueName2(fn, &length), prefix, strlen(prefix)) == 0;
}

/* Is a value what such a multiply-add gave, in this round of a loop or an earlier one? */
static bool is_sum(val v, unsigned *left)
{
    if (LLVMIsAInstruction(v) == NULL || *left == 0)
        return false;
    --*left;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMBitCast: return is_sum(LLVMGetOperand(v, 0), left);
    case LLVMSelect:
        return is_sum(LLVMGetOperand(v, 1), left) || is_sum(LLVMGetOperand(v, 2), left);
    case LLVMPHI:
        for (unsigned k = 0; k < LLVMCountIncoming(v); k++)
            if (is_sum(LLVMGetIncomingValue(v, k), left))
                return true;
        return false;
    case LLVMCall:
        return is_named(LLVMGetCalledValue(v), FMA_PREFIX) ||
               is_named(LLVMGetCalledValue(v), TESTED_PREFIX);
    default: return false;
    }
}

/* A function of f16 that are not fused by one instruction, after fn (NULL: the first). */
static val next_slow(struct alu *a, val fn)
{
    if (a->has_avx512 || !a->has_f16c)
        return NULL;
    fn = fn == NULL ? LLVMGetFirstFunction(a->module) : LLVMGetNextFunction(fn);
    while (fn != NULL && !is_named(fn, FMA_PREFIX "f16"))
        fn = LLVMGetNextFunction(fn);
    return fn;
}

bool alu_fma_slow(struct alu *a) { return next_slow(a, NULL) != NULL; }

void alu_fma_sums(struct alu *a)
{
    for (val fn = next_slow(a, NULL); fn != NULL; fn = next_slow(a, fn)) {
        LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(fn, 0));
        for (LLVMUseRef u = LLVMGetFirstUse(fn), next; u != NULL; u = next) {
            next = LLVMGetNextUse(u);
            val call = LLVMGetUser(u);
            unsigned left = FOLLOWED;
            if (!is_sum(LLVMGetOperand(call, 2), &left))
                continue;
            LLVMPositionBuilderBefore(a->b, call);
            LLVMSetOperand(call, 3, function(a, type, LLVMGetVectorSize(type), false, TESTED));
        }
    }
}

static bool used_little(val fn, unsigned most)
{
    unsigned n = 0;
    for (LLVMUseRef u = LLVMGetFirstUse(fn); u != NULL && n <= most; u = LLVMGetNextUse(u))
        n++;
    return n <= most;
}

/* Those of AVX-512 are, however many: they are short. */
static bool may_inline(struct alu *a, val fn)
{
    if (LLVMCountBasicBlocks(fn) != 1)
        return used_little(fn, MOST);
    return a->has_avx512 || used_little(fn, MOST_LONG);
}

static bool inline_all(struct alu *a, const char *prefix)
{
    bool any = false;
    unsigned never = LLVMGetEnumAttributeKindForName("noinline", 8);
    unsigned always = LLVMGetEnumAttributeKindForName("alwaysinline", 12);
    for (val fn = LLVMGetFirstFunction(a->module); fn != NULL; fn = LLVMGetNextFunction(fn)) {
        if (!is_named(fn, prefix) || !may_inline(a, fn))
            continue;
        LLVMRemoveEnumAttributeAtIndex(fn, LLVMAttributeFunctionIndex, never);
        LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(a->ctx, always, 0));
        any = true;
    }
    return any;
}

bool alu_fma_inline(struct alu *a)
{
    bool any = inline_all(a, FMA_PREFIX);
    return inline_all(a, TESTED_PREFIX) || any;
}

bool alu_fma_inline_rare(struct alu *a) { return inline_all(a, EXACT_PREFIX); }
