/* mask_width: vectors of masks in elements as wide as what takes them, on machines with AVX2.
 *
 * There a mask is a vector whose elements are as wide as those that it selects: bytes for bytes,
 * words for words. Where code generation needs lanes of an i32, it makes the test of a sign: each
 * lane's bit is shifted to the sign of a word (some_lanes_of). That is what accesses and selections
 * of words take as it is. But LLVM brings such a vector to bytes, by seven instructions and as many
 * back, wherever it is cut into parts, is used in another block than its own, or meets a mask of
 * bytes. Here each part and each block gets a test of its own, which is a broadcast and a shift a
 * register; and what is of bytes gets a test of bytes, or the vector of bytes that the integer was
 * made of. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/base.h"
#include "compiler/llvm/llvm_passes.h"
#include "compiler/llvm/llvm_values.h"

enum {
    MAX_LANES = 32,
    WORD = 32,    /* bits of a word */
    MAX_DEPTH = 4 /* of logic that is followed */
};

struct mask_width {
    LLVMContextRef ctx;
    LLVMBuilderRef b;
    LLVMTypeRef i8, i32;
    bool changed;
};

/* A vector of i1, whose lane l is bit `bit[l]` of an i32. */
struct lane_test {
    LLVMValueRef bits;
    unsigned n, bit[MAX_LANES];
};

static bool is_vector(LLVMValueRef v)
{
    return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

static unsigned lanes_of(LLVMValueRef v)
{
    unsigned n = is_vector(v) ? LLVMGetVectorSize(LLVMTypeOf(v)) : 0;
    return n <= MAX_LANES ? n : 0;
}

static unsigned element_bits(const struct mask_width *m, LLVMTypeRef t)
{
    if (LLVMGetTypeKind(t) == LLVMVectorTypeKind)
        t = LLVMGetElementType(t);
    switch (LLVMGetTypeKind(t)) {
    case LLVMIntegerTypeKind: return LLVMGetIntTypeWidth(t);
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind: return 16;
    case LLVMFloatTypeKind: return 32;
    default: return 64;
    }
}

static bool is_mask(const struct mask_width *m, LLVMValueRef v)
{
    return lanes_of(v) != 0 &&
           LLVMGetTypeKind(LLVMGetElementType(LLVMTypeOf(v))) == LLVMIntegerTypeKind &&
           element_bits(m, LLVMTypeOf(v)) == 1;
}

/* Is a value such a test of signs? */
static bool is_lane_test(const struct mask_width *m, LLVMValueRef v, struct lane_test *t)
{
    if (!is_mask(m, v) || !is_op(v, LLVMICmp) || LLVMGetICmpPredicate(v) != LLVMIntSLT ||
        LLVMIsNull(LLVMGetOperand(v, 1)) == 0)
        return false;
    LLVMValueRef shifted = LLVMGetOperand(v, 0);
    if (!is_op(shifted, LLVMShl) || LLVMIsAConstant(LLVMGetOperand(shifted, 1)) == NULL)
        return false;
    *t = (struct lane_test){.bits = splatted(LLVMGetOperand(shifted, 0)), .n = lanes_of(v)};
    if (t->bits == NULL || LLVMTypeOf(t->bits) != m->i32)
        return false;
    for (unsigned l = 0; l < t->n; l++) {
        LLVMValueRef by = LLVMGetAggregateElement(LLVMGetOperand(shifted, 1), l);
        if (by == NULL || LLVMIsAConstantInt(by) == NULL || LLVMConstIntGetZExtValue(by) >= WORD)
            return false;
        t->bit[l] = WORD - 1 - (unsigned)LLVMConstIntGetZExtValue(by);
    }
    return true;
}

/* ---- vectors, where the builder is ---- */

static LLVMValueRef test_of_words(const struct mask_width *m, const struct lane_test *t)
{
    LLVMValueRef by[MAX_LANES];
    for (unsigned l = 0; l < t->n; l++)
        by[l] = LLVMConstInt(m->i32, WORD - 1 - t->bit[l], false);
    LLVMTypeRef type = LLVMVectorType(m->i32, t->n);
    LLVMValueRef v = splat_to(m->b, t->bits, type);
    v = LLVMBuildShl(m->b, v, LLVMConstVector(by, t->n), "");
    return LLVMBuildICmp(m->b, LLVMIntSLT, v, LLVMConstNull(type), "");
}

static LLVMValueRef test_of_bytes(const struct mask_width *m, const struct lane_test *t)
{
    LLVMValueRef from[MAX_LANES], bit[MAX_LANES];
    for (unsigned l = 0; l < t->n; l++) {
        from[l] = LLVMConstInt(m->i32, t->bit[l] / 8, false);
        bit[l] = LLVMConstInt(m->i8, 1u << t->bit[l] % 8, false);
    }
    LLVMTypeRef four = LLVMVectorType(m->i8, WORD / 8);
    LLVMValueRef v = LLVMBuildBitCast(m->b, t->bits, four, "");
    LLVMValueRef each = LLVMConstVector(bit, t->n);
    v = LLVMBuildShuffleVector(m->b, v, LLVMGetPoison(four), LLVMConstVector(from, t->n), "");
    return LLVMBuildICmp(m->b, LLVMIntEQ, LLVMBuildAnd(m->b, v, each, ""), each, "");
}

/* Is an i32 logic on the bits of vectors of 32 lanes? */
static bool is_of_vectors(const struct mask_width *m, LLVMValueRef bits, int depth)
{
    if (LLVMIsAConstantInt(bits) != NULL)
        return true;
    if (is_op(bits, LLVMBitCast))
        return is_mask(m, LLVMGetOperand(bits, 0));
    bool logic = is_op(bits, LLVMAnd) || is_op(bits, LLVMOr) || is_op(bits, LLVMXor);
    return logic && depth > 0 && is_of_vectors(m, LLVMGetOperand(bits, 0), depth - 1) &&
           is_of_vectors(m, LLVMGetOperand(bits, 1), depth - 1);
}

/* The same logic on those vectors. */
static LLVMValueRef vector_logic(const struct mask_width *m, LLVMValueRef bits)
{
    if (LLVMIsAConstantInt(bits) != NULL) {
        LLVMValueRef lane[MAX_LANES];
        LLVMTypeRef i1 = LLVMInt1TypeInContext(m->ctx);
        for (unsigned l = 0; l < MAX_LANES; l++)
            lane[l] = LLVMConstInt(i1, LLVMConstIntGetZExtValue(bits) >> l & 1, false);
        return LLVMConstVector(lane, MAX_LANES);
    }
    if (is_op(bits, LLVMBitCast))
        return LLVMGetOperand(bits, 0);
    LLVMValueRef x = vector_logic(m, LLVMGetOperand(bits, 0)),
                 y = vector_logic(m, LLVMGetOperand(bits, 1));
    return LLVMBuildBinOp(m->b, LLVMGetInstructionOpcode(bits), x, y, "");
}

static bool is_in_order(const struct lane_test *t)
{
    for (unsigned l = 0; l < t->n; l++)
        if (t->bit[l] != l)
            return false;
    return t->n == MAX_LANES;
}

static LLVMValueRef vector_of_bytes(const struct mask_width *m, const struct lane_test *t)
{
    if (is_in_order(t) && LLVMIsAConstantInt(t->bits) == NULL &&
        is_of_vectors(m, t->bits, MAX_DEPTH))
        return vector_logic(m, t->bits);
    return test_of_bytes(m, t);
}

/* ---- what users take ---- */

/* Is it a shuffle that takes each lane from the same lane of either operand? */
static bool is_blend(LLVMValueRef v)
{
    unsigned n = lanes_of(v);
    if (!is_op(v, LLVMShuffleVector) || lanes_of(LLVMGetOperand(v, 0)) != n)
        return false;
    for (unsigned l = 0; l < n; l++)
        if (LLVMGetMaskValue(v, l) >= 0 && (unsigned)LLVMGetMaskValue(v, l) % n != l)
            return false;
    return n != 0;
}

/* How many bits wide the elements are by which a mask is made; 0: any. */
static unsigned made_of(const struct mask_width *m, LLVMValueRef v, int depth)
{
    struct lane_test t;
    if (LLVMIsAConstant(v) != NULL || is_lane_test(m, v, &t))
        return 0;
    if (is_op(v, LLVMICmp) || is_op(v, LLVMFCmp))
        return element_bits(m, LLVMTypeOf(LLVMGetOperand(v, 0)));
    if (is_op(v, LLVMPHI) || is_op(v, LLVMLoad) || depth == 0)
        return 8; /* LLVM keeps it so */
    if (is_op(v, LLVMInsertElement))
        return made_of(m, LLVMGetOperand(v, 0), depth - 1);
    if (!is_op(v, LLVMAnd) && !is_op(v, LLVMOr) && !is_op(v, LLVMXor) && !is_op(v, LLVMSelect) &&
        !is_blend(v))
        return 0;
    unsigned bits = 0;
    for (int n = 0; n < LLVMGetNumOperands(v) && bits == 0; n++)
        bits = made_of(m, LLVMGetOperand(v, (unsigned)n), depth - 1);
    return bits;
}

/* How many bits wide the elements are that a user of a mask selects; 0: any, or it is not known. */
static unsigned width_taken(const struct mask_width *m, LLVMValueRef user, LLVMValueRef mask)
{
    if (is_op(user, LLVMZExt) || is_op(user, LLVMSExt))
        return element_bits(m, LLVMTypeOf(user));
    if (is_op(user, LLVMCall)) {
        if (calls_intrinsic(user, "llvm.masked.load") ||
            calls_intrinsic(user, "llvm.masked.gather"))
            return element_bits(m, LLVMTypeOf(user));
        if (calls_intrinsic(user, "llvm.masked.store") ||
            calls_intrinsic(user, "llvm.masked.scatter"))
            return element_bits(m, LLVMTypeOf(LLVMGetOperand(user, 0)));
        return 0;
    }
    if (is_op(user, LLVMSelect) && !is_mask(m, user))
        return element_bits(m, LLVMTypeOf(user));
    if (is_op(user, LLVMAnd) || is_op(user, LLVMOr) || is_op(user, LLVMXor) ||
        is_op(user, LLVMSelect)) {
        unsigned bits = 0;
        for (int n = 0; n < LLVMGetNumOperands(user) && bits == 0; n++)
            if (LLVMGetOperand(user, (unsigned)n) != mask)
                bits = made_of(m, LLVMGetOperand(user, (unsigned)n), MAX_DEPTH);
        return bits;
    }
    return 0;
}

/* In front of the block's first instruction that is no phi. */
static void position_first(const struct mask_width *m, LLVMBasicBlockRef block)
{
    LLVMValueRef i = LLVMGetFirstInstruction(block);
    while (is_op(i, LLVMPHI))
        i = LLVMGetNextInstruction(i);
    LLVMPositionBuilderBefore(m->b, i);
}

/* What a user takes in place of a test; NULL: the test itself. `last` is what the one before it
 * took. */
static LLVMValueRef vector_for(struct mask_width *m, LLVMValueRef user, LLVMValueRef test,
                               const struct lane_test *t, LLVMValueRef *last)
{
    if (is_op(user, LLVMBitCast) && LLVMTypeOf(user) == m->i32)
        return NULL; /* visit() has replaced it */
    unsigned bits = width_taken(m, user, test);
    LLVMBasicBlockRef block = LLVMGetInstructionParent(user);
    if (bits == 0 || is_op(user, LLVMPHI))
        return NULL;
    if (bits < WORD) {
        LLVMPositionBuilderBefore(m->b, user);
        return vector_of_bytes(m, t);
    }
    if (block == LLVMGetInstructionParent(test))
        return NULL;
    if (*last == NULL || LLVMGetInstructionParent(*last) != block) {
        position_first(m, block);
        *last = test_of_words(m, t);
    }
    return *last;
}

struct users {
    LLVMValueRef *of;
    size_t n;
};

static struct users users_of(LLVMValueRef v)
{
    struct users u = {.of = NULL};
    for (LLVMUseRef use = LLVMGetFirstUse(v); use != NULL; use = LLVMGetNextUse(use)) {
        u.of = xrealloc(u.of, (u.n + 1) * sizeof *u.of);
        u.of[u.n++] = LLVMGetUser(use);
    }
    return u;
}

static void give_users(struct mask_width *m, LLVMValueRef test, const struct lane_test *t)
{
    struct users u = users_of(test);
    LLVMValueRef last = NULL;
    for (size_t n = 0; n < u.n; n++) {
        LLVMValueRef v = vector_for(m, u.of[n], test, t, &last);
        for (int o = 0; v != NULL && o < LLVMGetNumOperands(u.of[n]); o++)
            if (LLVMGetOperand(u.of[n], (unsigned)o) == test) {
                LLVMSetOperand(u.of[n], (unsigned)o, v);
                m->changed = true;
            }
    }
    free(u.of);
}

/* ---- loads under masks of bytes ---- */

/* Is an i32 logic on the bits of vectors of 32 lanes that are comparisons of bytes? */
static bool is_of_bytes(const struct mask_width *m, LLVMValueRef bits, int depth)
{
    if (LLVMIsAConstantInt(bits) != NULL)
        return true;
    if (is_op(bits, LLVMBitCast))
        return is_mask(m, LLVMGetOperand(bits, 0)) &&
               made_of(m, LLVMGetOperand(bits, 0), MAX_DEPTH) == 8;
    bool logic = is_op(bits, LLVMAnd) || is_op(bits, LLVMOr) || is_op(bits, LLVMXor);
    return logic && depth > 0 && is_of_bytes(m, LLVMGetOperand(bits, 0), depth - 1) &&
           is_of_bytes(m, LLVMGetOperand(bits, 1), depth - 1);
}

/* The vector of bytes that a mask of 32 lanes is made of; NULL: it is made of something else. */
static LLVMValueRef bytes_of(const struct mask_width *m, LLVMValueRef mask)
{
    struct lane_test t;
    if (lanes_of(mask) != MAX_LANES || LLVMIsAConstant(mask) != NULL)
        return NULL;
    if (!is_lane_test(m, mask, &t))
        return made_of(m, mask, MAX_DEPTH) == 8 ? mask : NULL;
    bool bytes =
        is_in_order(&t) && LLVMIsAConstantInt(t.bits) == NULL && is_of_bytes(m, t.bits, MAX_DEPTH);
    return bytes ? vector_logic(m, t.bits) : NULL;
}

/* Bytes become words that select by one instruction a register. A load under a mask of them takes
 * as many more, and waits for the mask; one of all elements does not, where these are accessible.
 */
static void load_all_elements(struct mask_width *m, LLVMValueRef i)
{
    if (!calls_intrinsic(i, "llvm.masked.load") || !inside_marked(i) ||
        element_bits(m, LLVMTypeOf(i)) != WORD)
        return;
    LLVMPositionBuilderBefore(m->b, i);
    LLVMValueRef mask = bytes_of(m, LLVMGetOperand(i, 2));
    if (mask == NULL)
        return;
    LLVMValueRef v = LLVMBuildLoad2(m->b, LLVMTypeOf(i), LLVMGetOperand(i, 0), "");
    LLVMSetAlignment(v, WORD / 8);
    copy_all_metadata(i, v);
    LLVMReplaceAllUsesWith(i, LLVMBuildSelect(m->b, mask, v, LLVMGetOperand(i, 3), ""));
    LLVMInstructionEraseFromParent(i);
    m->changed = true;
}

/* Is a mask made of comparisons of bytes, constants and tests of lanes, which may be of bytes? */
static bool is_of_comparisons(const struct mask_width *m, LLVMValueRef v, int depth)
{
    struct lane_test t;
    if (LLVMIsAConstant(v) != NULL || is_lane_test(m, v, &t))
        return true;
    if (is_op(v, LLVMICmp))
        return element_bits(m, LLVMTypeOf(LLVMGetOperand(v, 0))) == 8;
    bool two = is_op(v, LLVMAnd) || is_op(v, LLVMOr) || is_op(v, LLVMXor) || is_blend(v);
    int masks = is_op(v, LLVMInsertElement) ? 1 : two ? 2 : 0;
    for (int n = 0; n < masks; n++)
        if (depth == 0 || !is_of_comparisons(m, LLVMGetOperand(v, (unsigned)n), depth - 1))
            return false;
    return masks > 0;
}

/* A mask of bytes that comes from several blocks comes as bytes: of bits LLVM does not know what
 * the rest of each byte is. */
static void bring_as_bytes(struct mask_width *m, LLVMValueRef phi)
{
    LLVMTypeRef bytes = LLVMVectorType(m->i8, MAX_LANES);
    if (!is_mask(m, phi) || lanes_of(phi) != MAX_LANES)
        return;
    unsigned n = LLVMCountIncoming(phi), of_bytes = 0;
    for (unsigned k = 0; k < n; k++) {
        LLVMValueRef v = LLVMGetIncomingValue(phi, k);
        if (!is_of_comparisons(m, v, MAX_DEPTH))
            return;
        of_bytes += made_of(m, v, MAX_DEPTH) == 8;
    }
    if (of_bytes == 0)
        return;
    LLVMPositionBuilderBefore(m->b, phi);
    LLVMValueRef to = LLVMBuildPhi(m->b, bytes, "");
    position_first(m, LLVMGetInstructionParent(phi));
    LLVMValueRef mask = LLVMBuildICmp(m->b, LLVMIntSLT, to, LLVMConstNull(bytes), "");
    for (unsigned k = 0; k < n; k++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, k);
        LLVMPositionBuilderBefore(m->b, LLVMGetBasicBlockTerminator(from));
        LLVMValueRef v = LLVMBuildSExt(m->b, LLVMGetIncomingValue(phi, k), bytes, "");
        LLVMAddIncoming(to, &v, &from, 1);
    }
    LLVMReplaceAllUsesWith(phi, mask);
    LLVMInstructionEraseFromParent(phi);
    m->changed = true;
}

/* ---- parts ---- */

/* Parts of a test become tests of their own, its bits the integer. */
static void visit(struct mask_width *m, LLVMValueRef i)
{
    struct lane_test t, part;
    LLVMValueRef v = NULL;
    if (is_op(i, LLVMBitCast) && LLVMTypeOf(i) == m->i32 &&
        is_lane_test(m, LLVMGetOperand(i, 0), &t) && is_in_order(&t)) {
        v = t.bits;
    } else if (is_mask(m, i) && is_op(i, LLVMShuffleVector) &&
               is_lane_test(m, LLVMGetOperand(i, 0), &t)) {
        part = (struct lane_test){.bits = t.bits, .n = lanes_of(i)};
        for (unsigned l = 0; l < part.n; l++) {
            int from = LLVMGetMaskValue(i, l);
            if (from < 0 || (unsigned)from >= t.n)
                return;
            part.bit[l] = t.bit[from];
        }
        LLVMPositionBuilderBefore(m->b, i);
        v = test_of_words(m, &part);
    }
    if (v == NULL)
        return;
    LLVMReplaceAllUsesWith(i, v);
    m->changed = true;
}

/* ---- tests of all lanes ---- */

enum { REGISTER = 256 };

static bool is_used_once(LLVMValueRef v)
{
    LLVMUseRef use = LLVMGetFirstUse(v);
    return use != NULL && LLVMGetNextUse(use) == NULL;
}

/* The comparison of words of which an integer has the bits, for one user; NULL: there is none. */
static LLVMValueRef compared_words(const struct mask_width *m, LLVMValueRef bits)
{
    LLVMValueRef mask = is_op(bits, LLVMBitCast) ? LLVMGetOperand(bits, 0) : NULL;
    if (mask == NULL || !is_mask(m, mask) || !is_op(mask, LLVMICmp) || !is_used_once(bits) ||
        !is_used_once(mask))
        return NULL;
    unsigned width = element_bits(m, LLVMTypeOf(LLVMGetOperand(mask, 0)));
    return width >= WORD && lanes_of(mask) * width > REGISTER ? mask : NULL;
}

/* i32: 1 where a register is zero, else 0. */
static LLVMValueRef is_zero(const struct mask_width *m, LLVMValueRef v)
{
    LLVMTypeRef words = LLVMVectorType(LLVMInt64TypeInContext(m->ctx), REGISTER / 64);
    v = LLVMBuildBitCast(m->b, v, words, "");
    return machine_call(m->b, "llvm.x86.avx.ptestz.256", (LLVMValueRef[]){v, v}, 2);
}

/* Whether all lanes of two vectors are equal is asked of the bits of a comparison, which LLVM packs
 * from words to bytes. The bits in which the vectors differ need no more than an `or`. */
static void test_differences(struct mask_width *m, LLVMValueRef i)
{
    bool equality = is_op(i, LLVMICmp) &&
                    (LLVMGetICmpPredicate(i) == LLVMIntEQ || LLVMGetICmpPredicate(i) == LLVMIntNE);
    LLVMValueRef with = equality ? LLVMGetOperand(i, 1) : NULL;
    LLVMValueRef compared = equality ? compared_words(m, LLVMGetOperand(i, 0)) : NULL;
    if (compared == NULL || LLVMIsAConstantInt(with) == NULL)
        return;
    LLVMIntPredicate p = LLVMGetICmpPredicate(compared);
    bool all = (p == LLVMIntNE && LLVMIsNull(with)) ||
               (p == LLVMIntEQ && with == LLVMConstAllOnes(LLVMTypeOf(with)));
    if (!all)
        return;
    LLVMValueRef x = LLVMGetOperand(compared, 0), any = NULL;
    unsigned width = element_bits(m, LLVMTypeOf(x)), each = REGISTER / width;
    if (LLVMGetTypeKind(LLVMGetElementType(LLVMTypeOf(x))) != LLVMIntegerTypeKind)
        return;
    LLVMPositionBuilderBefore(m->b, i);
    x = LLVMBuildXor(m->b, x, LLVMGetOperand(compared, 1), "");
    for (unsigned from = 0; from < lanes_of(compared); from += each) {
        LLVMValueRef part = part_of(m->b, x, from, each);
        any = any == NULL ? part : LLVMBuildOr(m->b, any, part, "");
    }
    LLVMValueRef zero = is_zero(m, any), none = LLVMConstNull(m->i32);
    p = LLVMGetICmpPredicate(i) == LLVMIntEQ ? LLVMIntNE : LLVMIntEQ;
    LLVMReplaceAllUsesWith(i, LLVMBuildICmp(m->b, p, zero, none, ""));
    m->changed = true;
}

/* ---- masks of bytes as words ---- */

/* A mask of bytes that becomes words of 1 and 0 is widened twice by LLVM and then cut to one bit,
 * register by register. As bytes of 1 and 0 it is widened once. A minimum of the mask and 1 is what
 * makes these: LLVM does not see through it. */
static void count_in_bytes(struct mask_width *m, LLVMValueRef i)
{
    static const char name[] = "llvm.umin";
    LLVMValueRef mask = is_op(i, LLVMZExt) ? LLVMGetOperand(i, 0) : NULL;
    unsigned lanes = mask != NULL && is_mask(m, mask) ? lanes_of(mask) : 0;
    if (lanes < MAX_LANES / 2 || element_bits(m, LLVMTypeOf(i)) < WORD ||
        made_of(m, mask, MAX_DEPTH) != 8)
        return;
    LLVMTypeRef bytes = LLVMVectorType(m->i8, lanes);
    LLVMModuleRef module =
        LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInstructionParent(i)));
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(
        module, LLVMLookupIntrinsicID(name, sizeof name - 1), &bytes, 1);
    LLVMPositionBuilderBefore(m->b, i);
    LLVMValueRef each[MAX_LANES], args[2];
    for (unsigned l = 0; l < lanes; l++)
        each[l] = LLVMConstInt(m->i8, 1, false);
    args[0] = is_op(mask, LLVMICmp) && LLVMGetICmpPredicate(mask) == LLVMIntNE
                  ? LLVMBuildXor(m->b, LLVMGetOperand(mask, 0), LLVMGetOperand(mask, 1), "")
                  : LLVMBuildSExt(m->b, mask, bytes, "");
    args[1] = LLVMConstVector(each, lanes);
    LLVMValueRef v = LLVMBuildCall2(m->b, LLVMGlobalGetValueType(f), f, args, 2, "");
    LLVMReplaceAllUsesWith(i, LLVMBuildZExt(m->b, v, LLVMTypeOf(i), ""));
    m->changed = true;
}

/* ---- comparisons of words as integers ---- */

/* Is a mask made in a block of nothing but comparisons of words there, and tests of bits? */
static bool is_of_words(const struct mask_width *m, LLVMValueRef v, LLVMBasicBlockRef block,
                        int depth)
{
    struct lane_test t;
    if (LLVMIsAConstant(v) != NULL)
        return true;
    if (LLVMIsAInstruction(v) == NULL || LLVMGetInstructionParent(v) != block)
        return false;
    if (is_lane_test(m, v, &t))
        return true;
    if (is_op(v, LLVMICmp) || is_op(v, LLVMFCmp))
        return element_bits(m, LLVMTypeOf(LLVMGetOperand(v, 0))) == WORD;
    if (depth == 0 || (!is_op(v, LLVMAnd) && !is_op(v, LLVMOr) && !is_op(v, LLVMXor)))
        return false;
    return is_of_words(m, LLVMGetOperand(v, 0), block, depth - 1) &&
           is_of_words(m, LLVMGetOperand(v, 1), block, depth - 1);
}

/* Such a mask as words. Logic is done on these: LLVM may do logic on vectors of bits as on bytes,
 * and make words of the result. */
static LLVMValueRef as_words(const struct mask_width *m, LLVMValueRef v)
{
    if (!is_op(v, LLVMAnd) && !is_op(v, LLVMOr) && !is_op(v, LLVMXor))
        return LLVMBuildSExt(m->b, v, LLVMVectorType(m->i32, MAX_LANES), "");
    LLVMValueRef x = as_words(m, LLVMGetOperand(v, 0)), y = as_words(m, LLVMGetOperand(v, 1));
    return LLVMBuildBinOp(m->b, LLVMGetInstructionOpcode(v), x, y, "");
}

/* Is all that is asked of the bits of a mask whether they all are `what`? */
static bool is_only_compared(LLVMValueRef bits, LLVMValueRef what)
{
    for (LLVMUseRef use = LLVMGetFirstUse(bits); use != NULL; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (!is_op(user, LLVMICmp) || LLVMGetOperand(user, 1) != what ||
            (LLVMGetICmpPredicate(user) != LLVMIntEQ && LLVMGetICmpPredicate(user) != LLVMIntNE))
            return false;
    }
    return true;
}

/* An integer of a mask of words. LLVM brings comparisons to bytes register by register, and each
 * time in order. */
static void pack_words(struct mask_width *m, LLVMValueRef i)
{
    LLVMValueRef mask = is_op(i, LLVMBitCast) ? LLVMGetOperand(i, 0) : NULL;
    if (mask == NULL || LLVMTypeOf(i) != m->i32 || !is_mask(m, mask) ||
        LLVMIsAConstant(mask) != NULL || LLVMGetFirstUse(i) == NULL ||
        !is_of_words(m, mask, LLVMGetInstructionParent(i), MAX_DEPTH))
        return;
    LLVMValueRef none = LLVMConstNull(m->i32), all = LLVMConstAllOnes(m->i32);
    if (is_only_compared(i, none) || is_only_compared(i, all))
        return;
    LLVMPositionBuilderBefore(m->b, i);
    LLVMValueRef bytes = packed_words(m->b, as_words(m, mask), true);
    LLVMReplaceAllUsesWith(i, machine_call(m->b, "llvm.x86.avx2.pmovmskb", &bytes, 1));
    m->changed = true;
}

bool mask_width(LLVMModuleRef module)
{
    LLVMContextRef ctx = LLVMGetModuleContext(module);
    struct mask_width m = {.ctx = ctx,
                           .b = LLVMCreateBuilderInContext(ctx),
                           .i8 = LLVMInt8TypeInContext(ctx),
                           .i32 = LLVMInt32TypeInContext(ctx)};
    struct lane_test t;
    for (int pass = 0; pass < 3; pass++)
        for (LLVMValueRef f = LLVMGetFirstFunction(module); f != NULL; f = LLVMGetNextFunction(f))
            for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b != NULL;
                 b = LLVMGetNextBasicBlock(b))
                for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i != NULL; i = next) {
                    next = LLVMGetNextInstruction(i);
                    if (pass == 0 && is_op(i, LLVMPHI)) {
                        bring_as_bytes(&m, i);
                    } else if (pass == 0) {
                        visit(&m, i);
                        test_differences(&m, i);
                        count_in_bytes(&m, i);
                    } else if (pass == 1 && is_lane_test(&m, i, &t)) {
                        give_users(&m, i, &t);
                    } else if (pass == 1) {
                        load_all_elements(&m, i);
                    } else {
                        pack_words(&m, i);
                    }
                }
    LLVMDisposeBuilder(m.b);
    return m.changed;
}
