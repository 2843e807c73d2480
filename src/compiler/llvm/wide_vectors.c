/* wide_vectors: vectors in elements that are wider than what is read of them.
 *
 * Compilers make counters 64 bits wide, since they index memory, and cut them to 32 where a program
 * compares what is left of them after the loop. Where lanes leave a loop in different iterations
 * such a value is a vector, chosen lane by lane in each iteration. It takes twice the registers and
 * selections, whose masks must be extended on AVX2. And bytes are made 16 bits wide to be compared
 * with a byte that all lanes have, which is extended as a scalar. LLVM narrows neither: it does not
 * look through the shuffle that makes a vector of a scalar. Addresses of shared memory, too, are
 * counted up in 64 bits, and cut to 32 for each access.
 *
 * So selections, phis and what arithmetic makes of them, of which nothing but low bits is read, are
 * made in elements of that width; and comparisons of what is extended in elements of what is not.
 */
#include "base/base.h"
#include "compiler/llvm/llvm_passes.h"
#include "compiler/llvm/llvm_values.h"

enum { MAX_MEMBERS = 64 };

/* Phis, selections and arithmetic that are read by each other and cut to `type`, and what takes
 * their place. */
struct web {
    LLVMBuilderRef b;
    LLVMTypeRef type;
    LLVMValueRef wide[MAX_MEMBERS], narrow[MAX_MEMBERS];
    int n;
};

static unsigned element_bits(LLVMTypeRef t)
{
    if (LLVMGetTypeKind(t) != LLVMVectorTypeKind)
        return 0;
    t = LLVMGetElementType(t);
    return LLVMGetTypeKind(t) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(t) : 0;
}

static int member(const struct web *w, LLVMValueRef v)
{
    for (int n = 0; n < w->n; n++)
        if (w->wide[n] == v)
            return n;
    return -1;
}

static bool is_choice(LLVMValueRef v) { return is_op(v, LLVMPHI) || is_op(v, LLVMSelect); }

/* Arithmetic whose low bits are made of the low bits of its operands. */
static bool is_arithmetic(LLVMValueRef v)
{
    bool is = is_op(v, LLVMAdd) || is_op(v, LLVMSub) || is_op(v, LLVMMul) || is_op(v, LLVMAnd) ||
              is_op(v, LLVMOr) || is_op(v, LLVMXor);
    return is && (LLVMIsAConstant(LLVMGetOperand(v, 0)) == NULL ||
                  LLVMIsAConstant(LLVMGetOperand(v, 1)) == NULL);
}

static bool may_be_member(LLVMValueRef v) { return is_choice(v) || is_arithmetic(v); }

static bool is_cut(const struct web *w, LLVMValueRef user)
{
    return is_op(user, LLVMTrunc) && LLVMTypeOf(user) == w->type;
}

/* A phi's incoming values, those that a selection chooses from, or operands. */
static unsigned inputs(LLVMValueRef v) { return is_op(v, LLVMPHI) ? LLVMCountIncoming(v) : 2; }

static LLVMValueRef input(LLVMValueRef v, unsigned n)
{
    return is_op(v, LLVMPHI) ? LLVMGetIncomingValue(v, n)
                             : LLVMGetOperand(v, is_op(v, LLVMSelect) ? n + 1 : n);
}

/* Does nothing read a value but members, and cuts? */
static bool is_read_within(const struct web *w, LLVMValueRef v)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u != NULL; u = LLVMGetNextUse(u))
        if (member(w, LLVMGetUser(u)) < 0 && !is_cut(w, LLVMGetUser(u)))
            return false;
    return true;
}

/* Takes out arithmetic that others read, too: its results are cut. False: others read a choice. */
static bool leave_out(struct web *w)
{
    for (int n = 0; n < w->n;) {
        if (is_read_within(w, w->wide[n])) {
            n++;
            continue;
        }
        if (is_choice(w->wide[n]))
            return false;
        w->wide[n] = w->wide[--w->n];
        n = 0; /* what it is made of is read by another now */
    }
    return true;
}

/* Adds what members are made of, while it is of such a kind. */
static bool collect(struct web *w, LLVMValueRef first)
{
    w->wide[0] = first;
    w->n = 1;
    for (int n = 0; n < w->n; n++)
        for (unsigned i = 0; i < inputs(w->wide[n]); i++) {
            LLVMValueRef v = input(w->wide[n], i);
            if (!may_be_member(v) || member(w, v) >= 0)
                continue;
            if (w->n == MAX_MEMBERS)
                return false;
            w->wide[w->n++] = v;
        }
    return leave_out(w);
}

/* In front of the instruction after `v`, and after phis. */
static void position_after(LLVMBuilderRef b, LLVMValueRef v)
{
    LLVMValueRef next = LLVMGetNextInstruction(v);
    while (is_op(next, LLVMPHI))
        next = LLVMGetNextInstruction(next);
    LLVMPositionBuilderBefore(b, next);
}

/* Where each input of members can be cut: constants, and instructions that are followed by others.
 */
static bool can_cut(const struct web *w)
{
    for (int n = 0; n < w->n; n++)
        for (unsigned i = 0; i < inputs(w->wide[n]); i++) {
            LLVMValueRef v = input(w->wide[n], i);
            if (member(w, v) < 0 && LLVMIsAConstant(v) == NULL &&
                (LLVMIsAInstruction(v) == NULL || LLVMIsATerminatorInst(v) != NULL))
                return false;
        }
    return true;
}

static LLVMValueRef cut(const struct web *w, LLVMValueRef v)
{
    int at = member(w, v);
    if (at >= 0)
        return w->narrow[at];
    if (LLVMIsAConstant(v) != NULL)
        return LLVMConstTrunc(v, w->type);
    position_after(w->b, v);
    LLVMValueRef scalar = splatted(v);
    if (scalar == NULL)
        return LLVMBuildTrunc(w->b, v, w->type, "");
    return splat_to(w->b, LLVMBuildTrunc(w->b, scalar, LLVMGetElementType(w->type), ""), w->type);
}

static void replace_cuts(const struct web *w)
{
    for (int n = 0; n < w->n; n++) {
        LLVMUseRef next;
        for (LLVMUseRef u = LLVMGetFirstUse(w->wide[n]); u != NULL; u = next) {
            next = LLVMGetNextUse(u);
            if (is_cut(w, LLVMGetUser(u)))
                LLVMReplaceAllUsesWith(LLVMGetUser(u), w->narrow[n]);
        }
    }
}

/* Incoming value i of member n, a phi. From a block of which several branches come it is one value:
 * LLVM wants it so. */
static void add_incoming(const struct web *w, int n, unsigned i)
{
    LLVMBasicBlockRef from = LLVMGetIncomingBlock(w->wide[n], i);
    LLVMValueRef v = NULL;
    for (unsigned k = 0; k < i && v == NULL; k++)
        if (LLVMGetIncomingBlock(w->wide[n], k) == from)
            v = LLVMGetIncomingValue(w->narrow[n], k);
    if (v == NULL)
        v = cut(w, LLVMGetIncomingValue(w->wide[n], i));
    LLVMAddIncoming(w->narrow[n], &v, &from, 1);
}

/* What takes a member's place, in front of it, of anything yet. */
static LLVMValueRef narrow_member(const struct web *w, LLVMValueRef v)
{
    LLVMValueRef none = LLVMGetPoison(w->type);
    if (is_op(v, LLVMPHI))
        return LLVMBuildPhi(w->b, w->type, "");
    if (is_op(v, LLVMSelect))
        return LLVMBuildSelect(w->b, LLVMGetOperand(v, 0), none, none, "");
    LLVMValueRef x = LLVMGetOperand(v, LLVMIsAConstant(LLVMGetOperand(v, 0)) != NULL);
    x = LLVMBuildTrunc(w->b, x, w->type, "");
    return LLVMBuildBinOp(w->b, LLVMGetInstructionOpcode(v), x, x, "");
}

static bool narrow_web(LLVMBuilderRef b, LLVMValueRef trunc)
{
    struct web w = {.b = b, .type = LLVMTypeOf(trunc)};
    if (!is_choice(LLVMGetOperand(trunc, 0)) || !collect(&w, LLVMGetOperand(trunc, 0)) ||
        !can_cut(&w))
        return false;
    for (int n = 0; n < w.n; n++) { /* of poison, until all are there */
        LLVMPositionBuilderBefore(b, w.wide[n]);
        w.narrow[n] = narrow_member(&w, w.wide[n]);
    }
    for (int n = 0; n < w.n; n++)
        for (unsigned i = 0; i < inputs(w.wide[n]); i++) {
            if (is_op(w.wide[n], LLVMPHI))
                add_incoming(&w, n, i);
            else
                LLVMSetOperand(w.narrow[n], is_op(w.wide[n], LLVMSelect) ? i + 1 : i,
                               cut(&w, input(w.wide[n], i)));
        }
    replace_cuts(&w);
    return true;
}

/* ---- comparisons ---- */

/* Of what type a vector is extended without sign, if it is. */
static LLVMTypeRef extended_from(LLVMValueRef v)
{
    return is_op(v, LLVMZExt) ? LLVMTypeOf(LLVMGetOperand(v, 0)) : NULL;
}

/* A scalar that all lanes are and that is extended from no more than `bits` bits, cut to `type`. */
static LLVMValueRef cut_splat(LLVMBuilderRef b, LLVMValueRef v, LLVMTypeRef type)
{
    LLVMValueRef scalar = splatted(v);
    if (scalar == NULL || !is_op(scalar, LLVMZExt))
        return NULL;
    LLVMValueRef from = LLVMGetOperand(scalar, 0);
    LLVMTypeRef element = LLVMGetElementType(type);
    if (LLVMGetIntTypeWidth(LLVMTypeOf(from)) > LLVMGetIntTypeWidth(element))
        return NULL;
    return splat_to(b, LLVMBuildZExt(b, from, element, ""), type);
}

/* Both sides are less than a power of two: they compare without sign as they did. */
static bool narrow_compare(LLVMBuilderRef b, LLVMValueRef i)
{
    for (unsigned n = 0; n < 2; n++) {
        LLVMValueRef x = LLVMGetOperand(i, n), other = LLVMGetOperand(i, 1 - n);
        LLVMTypeRef type = extended_from(x);
        if (type == NULL || element_bits(type) < 8)
            continue;
        LLVMPositionBuilderBefore(b, i);
        LLVMValueRef y = cut_splat(b, other, type);
        if (y == NULL)
            continue;
        LLVMIntPredicate p = LLVMGetICmpPredicate(i);
        p = p >= LLVMIntSGT ? p - LLVMIntSGT + LLVMIntUGT : p;
        x = LLVMGetOperand(x, 0);
        LLVMReplaceAllUsesWith(i, LLVMBuildICmp(b, p, n == 0 ? x : y, n == 0 ? y : x, ""));
        return true;
    }
    return false;
}

bool narrow_wide_vectors(LLVMModuleRef module)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    bool changed = false;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f != NULL; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block != NULL;
             block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef i = LLVMGetFirstInstruction(block); i != NULL;
                 i = LLVMGetNextInstruction(i)) {
                if (LLVMGetFirstUse(i) == NULL)
                    continue; /* another of its web has been cut, or it was replaced */
                if (is_op(i, LLVMTrunc) && element_bits(LLVMTypeOf(i)) >= 8)
                    changed |= narrow_web(b, i);
                else if (is_op(i, LLVMICmp) && element_bits(LLVMTypeOf(LLVMGetOperand(i, 0))) > 8)
                    changed |= narrow_compare(b, i);
            }
    LLVMDisposeBuilder(b);
    return changed;
}
