/* integer_narrowing: arithmetic on vectors of 32 bits of which only 8 or 16 are stored is done in
 * elements of 8 or 16 bits.
 *
 * C's promotions make an `int` of each byte of an image, and what is computed of it is cut to a
 * byte again in the end. A register of the CPU holds two to four times as many of the narrow ones.
 * So from each truncation of a vector its operands are followed back. The low bits of sums,
 * products and logic follow from the low bits of their operands; for minima, comparisons of that
 * kind and shifts to the right whole values count, which must be known to fit (intervals, from the
 * widths of what was loaded and from constants). What cannot be followed is truncated where it is
 * made. Values that are needed at 32 bits, too, stay as they are. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "compiler/llvm/llvm_passes.h"
#include "compiler/llvm/strip_mining.h"

enum {
    MOST_DEPTH = 200,   /* of an expression */
    LEAF_DEPTH = 6,     /* to which the interval of what is not narrowed is looked for */
    LEAF_COST = 2,      /* operations that a truncation costs */
    MOST_LANES = 64,    /* of a constant that is looked at */
    LEAST_ELEMENTS = 8, /* of vectors that are narrowed */
};

/* What a value of 32 bits may be, as a signed number. */
struct interval {
    int64_t lo, hi;
};
static const struct interval ANY = {INT32_MIN, INT32_MAX};

enum how { LEAF, EXTENSION, SPLAT, OPERATION };

/* A value that truncated ones are made of. */
struct node {
    LLVMValueRef v, made;
    struct interval range;
    enum how how;
    bool open;      /* what it is made of is being collected */
    bool reached;   /* from a truncation, by operations that are narrowed */
    int32_t leader; /* of the nodes that hang together; of itself: it is the leader, and has .. */
    int32_t gain;   /* .. what narrowing all of them saves, in operations */
};

/* The expressions of a function. */
struct narrowing {
    LLVMModuleRef m;
    LLVMContextRef ctx;
    LLVMBuilderRef b;
    LLVMValueRef *roots; /* the truncations */
    size_t nroots;
    unsigned width; /* to which is narrowed: 8 or 16 */
    struct node *nodes;
    int32_t n;
    int32_t *order; /* nodes, users after what they are made of */
    int32_t closed; /* how many have their place there */
    int32_t *table; /* 1 + node, by value; 0: free */
    size_t slots;   /* a power of two */
};

/* ---- operations ---- */

enum operation {
    NO_OPERATION,
    OP_LOW,  /* sums, differences, logic: low bits of low bits */
    OP_MUL,  /* the same where there are such instructions */
    OP_SHL,  /* likewise, by a constant */
    OP_LSHR, /* by a constant */
    OP_ASHR,
    OP_SMIN,
    OP_SMAX,
    OP_UMIN,
    OP_UMAX,
    OP_ABS,
    OP_SELECT,
    OP_PHI,
};

static bool is_intrinsic(LLVMValueRef v, const char *name)
{
    return !strncmp(strip_callee(v), name, strlen(name));
}

static enum operation operation_of(LLVMValueRef v)
{
    if (LLVMIsAInstruction(v) == NULL)
        return NO_OPERATION;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor: return OP_LOW;
    case LLVMMul: return OP_MUL;
    case LLVMShl: return OP_SHL;
    case LLVMLShr: return OP_LSHR;
    case LLVMAShr: return OP_ASHR;
    case LLVMSelect: return OP_SELECT;
    case LLVMPHI: return OP_PHI;
    case LLVMCall:
        return is_intrinsic(v, "llvm.smin.")   ? OP_SMIN
               : is_intrinsic(v, "llvm.smax.") ? OP_SMAX
               : is_intrinsic(v, "llvm.umin.") ? OP_UMIN
               : is_intrinsic(v, "llvm.umax.") ? OP_UMAX
               : is_intrinsic(v, "llvm.abs.")  ? OP_ABS
                                               : NO_OPERATION;
    default: return NO_OPERATION;
    }
}

/* The operands that are vectors of 32 bits: [first, first + count). */
static void operands_of(LLVMValueRef v, unsigned *first, unsigned *count)
{
    enum operation op = operation_of(v);
    *first = op == OP_SELECT ? 1 : 0;
    *count = op == OP_PHI                                                     ? LLVMCountIncoming(v)
             : op == OP_ABS || op == OP_SHL || op == OP_LSHR || op == OP_ASHR ? 1
                                                                              : 2;
}

/* The number by which all lanes are shifted, if it is a constant; else 32. */
static unsigned shift_of(LLVMValueRef v)
{
    LLVMValueRef by = LLVMGetOperand(v, 1);
    LLVMValueRef first = LLVMIsAConstant(by) != NULL ? LLVMGetAggregateElement(by, 0) : NULL;
    if (first == NULL || LLVMIsAConstantInt(first) == NULL)
        return 32;
    for (unsigned k = 1; k < LLVMGetVectorSize(LLVMTypeOf(by)); k++)
        if (LLVMGetAggregateElement(by, k) != first)
            return 32;
    uint64_t n = LLVMConstIntGetZExtValue(first);
    return n < 32 ? (unsigned)n : 32;
}

/* ---- intervals ---- */

static struct interval checked(int64_t lo, int64_t hi)
{
    return lo < INT32_MIN || hi > INT32_MAX ? ANY : (struct interval){lo, hi};
}

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

static struct interval products(struct interval a, struct interval b)
{
    int64_t p[4] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
    return checked(min64(min64(p[0], p[1]), min64(p[2], p[3])),
                   max64(max64(p[0], p[1]), max64(p[2], p[3])));
}

/* Of `a & b`, `a | b`, `a ^ b`. */
static struct interval logic(LLVMOpcode op, struct interval a, struct interval b)
{
    if (op == LLVMAnd) {
        if (a.lo < 0 && b.lo < 0)
            return ANY;
        int64_t most = a.lo < 0 ? b.hi : b.lo < 0 ? a.hi : min64(a.hi, b.hi);
        return (struct interval){0, most};
    }
    if (a.lo < 0 || b.lo < 0)
        return ANY;
    int64_t most = max64(a.hi, b.hi), bound = 1;
    while (bound <= most)
        bound *= 2;
    return (struct interval){0, bound - 1};
}

static struct interval shifted(LLVMValueRef v, struct interval a)
{
    unsigned by = shift_of(v);
    if (by == 32)
        return ANY;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMShl: return checked(a.lo * ((int64_t)1 << by), a.hi * ((int64_t)1 << by));
    case LLVMAShr: return (struct interval){a.lo >> by, a.hi >> by};
    default:
        if (a.lo >= 0 || by == 0)
            return (struct interval){a.lo >> by, a.hi >> by};
        return (struct interval){0, UINT32_MAX >> by};
    }
}

static struct interval unsigned_bound(enum operation op, struct interval a, struct interval b)
{
    if (a.lo >= 0 && b.lo >= 0)
        return op == OP_UMIN ? (struct interval){min64(a.lo, b.lo), min64(a.hi, b.hi)}
                             : (struct interval){max64(a.lo, b.lo), max64(a.hi, b.hi)};
    if (op == OP_UMIN && (a.lo >= 0 || b.lo >= 0))
        return (struct interval){0, a.lo >= 0 ? a.hi : b.hi};
    return ANY;
}

static struct interval result_of(LLVMValueRef v, enum operation op, struct interval a,
                                 struct interval b)
{
    switch (op) {
    case OP_LOW: {
        LLVMOpcode code = LLVMGetInstructionOpcode(v);
        return code == LLVMAdd   ? checked(a.lo + b.lo, a.hi + b.hi)
               : code == LLVMSub ? checked(a.lo - b.hi, a.hi - b.lo)
                                 : logic(code, a, b);
    }
    case OP_MUL: return products(a, b);
    case OP_SHL:
    case OP_LSHR:
    case OP_ASHR: return shifted(v, a);
    case OP_SMIN: return (struct interval){min64(a.lo, b.lo), min64(a.hi, b.hi)};
    case OP_SMAX: return (struct interval){max64(a.lo, b.lo), max64(a.hi, b.hi)};
    case OP_UMIN:
    case OP_UMAX: return unsigned_bound(op, a, b);
    case OP_ABS:
        if (a.lo >= 0)
            return a;
        return a.lo > INT32_MIN ? (struct interval){0, max64(-a.lo, a.hi)} : ANY;
    case OP_SELECT:
    case OP_PHI: return (struct interval){min64(a.lo, b.lo), max64(a.hi, b.hi)};
    default: return ANY;
    }
}

/* Bits of the elements of a vector of integers; 0: it is none. */
static unsigned element_bits(LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    if (!strip_is_vector(t) || LLVMGetTypeKind(LLVMGetElementType(t)) != LLVMIntegerTypeKind)
        return 0;
    return LLVMGetIntTypeWidth(LLVMGetElementType(t));
}

/* What a vector of smaller integers is extended from; NULL: it is no such extension. */
static LLVMValueRef extended(LLVMValueRef v)
{
    if (LLVMIsAZExtInst(v) == NULL && LLVMIsASExtInst(v) == NULL)
        return NULL;
    unsigned bits = element_bits(LLVMGetOperand(v, 0));
    return bits == 1 || bits == 8 || bits == 16 ? LLVMGetOperand(v, 0) : NULL;
}

static struct interval extension_range(LLVMValueRef v)
{
    unsigned bits = element_bits(LLVMGetOperand(v, 0));
    int64_t all = (int64_t)1 << bits;
    return LLVMIsAZExtInst(v) != NULL ? (struct interval){0, all - 1}
                                      : (struct interval){-all / 2, all / 2 - 1};
}

/* Is it a constant of which each lane is known? */
static bool known_lanes(LLVMValueRef v)
{
    if (LLVMIsAConstant(v) == NULL)
        return false;
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(v));
    for (unsigned k = 0; k < n; k++) {
        LLVMValueRef lane = n <= MOST_LANES ? LLVMGetAggregateElement(v, k) : NULL;
        if (lane == NULL || LLVMIsAConstantInt(lane) == NULL)
            return false;
    }
    return true;
}

static struct interval constant_range(LLVMValueRef v)
{
    struct interval r = {INT32_MAX, INT32_MIN};
    for (unsigned k = 0; k < LLVMGetVectorSize(LLVMTypeOf(v)); k++) {
        int64_t x = LLVMConstIntGetSExtValue(LLVMGetAggregateElement(v, k));
        r = (struct interval){min64(r.lo, x), max64(r.hi, x)};
    }
    return r;
}

/* Of a value outside of the expression. */
static struct interval range_of(LLVMValueRef v, int depth)
{
    if (known_lanes(v))
        return constant_range(v);
    if (extended(v) != NULL)
        return extension_range(v);
    enum operation op = operation_of(v);
    if (op == NO_OPERATION || op == OP_PHI || depth == 0)
        return ANY;
    unsigned first, count;
    operands_of(v, &first, &count);
    struct interval r[2] = {ANY, ANY};
    for (unsigned k = 0; k < count; k++)
        r[k] = range_of(LLVMGetOperand(v, first + k), depth - 1);
    return result_of(v, op, r[0], r[1]);
}

/* ---- the expression ---- */

/* Where the table has, or would have, the number of a value's node. */
static int32_t *slot(struct narrowing *e, LLVMValueRef v)
{
    size_t at = (size_t)((uintptr_t)v >> 4) * 0x9e3779b97f4a7c15u >> 20 & (e->slots - 1);
    while (e->table[at] != 0 && e->nodes[e->table[at] - 1].v != v)
        at = (at + 1) & (e->slots - 1);
    return &e->table[at];
}

static struct node *node_of(struct narrowing *e, LLVMValueRef v)
{
    int32_t at = *slot(e, v);
    return at != 0 ? &e->nodes[at - 1] : NULL;
}

static struct interval known_range(struct narrowing *e, LLVMValueRef v)
{
    const struct node *n = node_of(e, v);
    return n != NULL ? n->range : constant_range(v);
}

static bool fits_unsigned(struct interval r, unsigned width)
{
    return r.lo >= 0 && r.hi < (int64_t)1 << width;
}

static bool fits_signed(struct interval r, unsigned width)
{
    return r.lo >= -((int64_t)1 << (width - 1)) && r.hi < (int64_t)1 << (width - 1);
}

/* Can the operation be done in the narrow type, on narrow operands of these intervals? */
static bool narrows(LLVMValueRef v, enum operation op, unsigned width, struct interval a,
                    struct interval b)
{
    switch (op) {
    case OP_LOW:
    case OP_SELECT:
    case OP_PHI: return true;
    case OP_MUL: return width == 16; /* x86 has no products, no shifts of bytes */
    case OP_SHL: return width == 16 && shift_of(v) < width;
    case OP_LSHR: return width == 16 && shift_of(v) < width && fits_unsigned(a, width);
    case OP_ASHR:
        return width == 16 && shift_of(v) < width &&
               (fits_unsigned(a, width) || fits_signed(a, width));
    case OP_SMIN:
    case OP_SMAX:
        return (fits_unsigned(a, width) && fits_unsigned(b, width)) ||
               (fits_signed(a, width) && fits_signed(b, width));
    case OP_UMIN:
    case OP_UMAX: return fits_unsigned(a, width) && fits_unsigned(b, width);
    case OP_ABS: return fits_signed(a, width) && a.lo > -((int64_t)1 << (width - 1));
    default: return false;
    }
}

static bool collect(struct narrowing *e, LLVMValueRef v, int depth);

/* Is it an operation whose operands, collected, allow it to be narrowed? */
static bool collect_operation(struct narrowing *e, LLVMValueRef v, int depth,
                              struct interval *range)
{
    enum operation op = operation_of(v);
    if (op == NO_OPERATION || depth == 0)
        return false;
    unsigned first, count;
    operands_of(v, &first, &count);
    struct interval r[2] = {ANY, ANY};
    for (unsigned k = 0; k < count; k++) {
        LLVMValueRef o = LLVMGetOperand(v, first + k);
        if (!collect(e, o, depth - 1))
            return false;
        struct interval of = known_range(e, o);
        if (op == OP_PHI) /* of any number of values */
            r[0] = k == 0 ? of : result_of(v, op, r[0], of);
        else
            r[k] = of;
    }
    if (op == OP_PHI)
        r[1] = r[0];
    *range = result_of(v, op, r[0], r[1]);
    return narrows(v, op, e->width, r[0], r[1]);
}

/* False: it is nothing of which a narrow one can be made, or needs itself. */
static bool collect(struct narrowing *e, LLVMValueRef v, int depth)
{
    if (known_lanes(v))
        return true;
    if (LLVMIsAInstruction(v) == NULL)
        return false;
    struct node *n = node_of(e, v);
    if (n != NULL)
        return !n->open;
    int32_t at = e->n++;
    n = &e->nodes[at];
    int32_t *entry = slot(e, v);
    *entry = at + 1;
    *n = (struct node){.v = v, .range = ANY, .how = LEAF, .open = true, .leader = at};
    LLVMValueRef from = extended(v);
    if (from != NULL && element_bits(from) <= e->width) {
        n->how = EXTENSION;
        n->range = extension_range(v);
    } else if (LLVMIsAShuffleVectorInst(v) != NULL && strip_splat(v) != NULL) {
        n->how = SPLAT;
    } else if (collect_operation(e, v, depth, &n->range)) {
        n->how = OPERATION;
    } else {
        n->range = range_of(v, LEAF_DEPTH);
    }
    n->open = false;
    e->order[e->closed++] = at;
    return true;
}

/* A truncation that may be of a narrow value. */
static bool is_root(LLVMValueRef v, unsigned width)
{
    return LLVMIsATruncInst(v) != NULL && element_bits(LLVMGetOperand(v, 0)) == 32 &&
           (element_bits(v) == 8 || element_bits(v) == 16) && element_bits(v) <= width &&
           LLVMGetVectorSize(LLVMTypeOf(v)) >= LEAST_ELEMENTS;
}

/* Is each user one that is narrowed, too? */
static bool only_narrow_users(struct narrowing *e, LLVMValueRef v)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u != NULL; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        const struct node *n = node_of(e, user);
        if (!is_root(user, e->width) && (n == NULL || !n->reached || n->how != OPERATION))
            return false;
    }
    return true;
}

static int32_t leader_of(struct narrowing *e, int32_t k)
{
    while (e->nodes[k].leader != k)
        k = e->nodes[k].leader = e->nodes[e->nodes[k].leader].leader;
    return k;
}

static void reach_operands(struct narrowing *e, int32_t k)
{
    LLVMValueRef v = e->nodes[k].v;
    unsigned first, count;
    operands_of(v, &first, &count);
    for (unsigned o = 0; o < count; o++) {
        struct node *n = node_of(e, LLVMGetOperand(v, first + o));
        if (n == NULL)
            continue;
        n->reached = true;
        e->nodes[leader_of(e, k)].leader = leader_of(e, (int32_t)(n - e->nodes));
    }
}

/* What the truncation is of, if that is narrowed. */
static struct node *narrowed(struct narrowing *e, LLVMValueRef root)
{
    struct node *n = node_of(e, LLVMGetOperand(root, 0));
    return n != NULL && n->how == OPERATION ? n : NULL;
}

static bool pays(struct narrowing *e, const struct node *n)
{
    return e->nodes[leader_of(e, (int32_t)(n - e->nodes))].gain > 0;
}

/* Finds what is really narrowed, users first, and whether it pays. */
static void settle(struct narrowing *e)
{
    for (size_t r = 0; r < e->nroots; r++)
        if (narrowed(e, e->roots[r]) != NULL)
            narrowed(e, e->roots[r])->reached = true;
    for (int32_t o = e->closed - 1; o >= 0; o--) {
        struct node *n = &e->nodes[e->order[o]];
        if (!n->reached || n->how != OPERATION)
            continue;
        if (only_narrow_users(e, n->v))
            reach_operands(e, e->order[o]);
        else
            n->how = LEAF;
    }
    for (int32_t k = 0; k < e->n; k++) {
        const struct node *n = &e->nodes[k];
        if (n->reached)
            e->nodes[leader_of(e, k)].gain += n->how == OPERATION ? 1
                                              : n->how == LEAF    ? -LEAF_COST
                                                                  : 0;
    }
}

/* ---- the narrow expression ---- */

/* Of what is made of `v`. */
static LLVMTypeRef narrow_type(const struct narrowing *e, LLVMValueRef v)
{
    return LLVMVectorType(LLVMIntTypeInContext(e->ctx, e->width), LLVMGetVectorSize(LLVMTypeOf(v)));
}

static LLVMValueRef narrow_operand(struct narrowing *e, LLVMValueRef v)
{
    struct node *n = node_of(e, v);
    return n != NULL ? n->made : LLVMConstTrunc(v, narrow_type(e, v));
}

static LLVMValueRef build_leaf(struct narrowing *e, LLVMValueRef v)
{
    LLVMValueRef at = LLVMGetNextInstruction(v);
    while (LLVMIsAPHINode(at) != NULL)
        at = LLVMGetNextInstruction(at);
    LLVMPositionBuilderBefore(e->b, at);
    return LLVMBuildTrunc(e->b, v, narrow_type(e, v), "");
}

static LLVMValueRef build_splat(struct narrowing *e, LLVMValueRef v)
{
    LLVMTypeRef t = narrow_type(e, v), i32 = LLVMInt32TypeInContext(e->ctx);
    LLVMValueRef x = LLVMBuildTrunc(e->b, strip_splat(v), LLVMGetElementType(t), "");
    x = LLVMBuildInsertElement(e->b, LLVMGetPoison(t), x, LLVMConstInt(i32, 0, false), "");
    return LLVMBuildShuffleVector(e->b, x, LLVMGetPoison(t),
                                  LLVMConstNull(LLVMVectorType(i32, LLVMGetVectorSize(t))), "");
}

static LLVMValueRef build_extension(struct narrowing *e, LLVMValueRef v)
{
    LLVMValueRef from = LLVMGetOperand(v, 0);
    if (element_bits(from) == e->width)
        return from;
    return LLVMIsAZExtInst(v) != NULL ? LLVMBuildZExt(e->b, from, narrow_type(e, v), "")
                                      : LLVMBuildSExt(e->b, from, narrow_type(e, v), "");
}

static LLVMValueRef build_intrinsic(struct narrowing *e, const char *name, LLVMValueRef a,
                                    LLVMValueRef b)
{
    LLVMTypeRef t = LLVMTypeOf(a);
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->m, id, &t, 1);
    return LLVMBuildCall2(e->b, LLVMGlobalGetValueType(f), f, (LLVMValueRef[]){a, b}, 2, "");
}

static LLVMValueRef build_phi(struct narrowing *e, LLVMValueRef v)
{
    LLVMValueRef phi = LLVMBuildPhi(e->b, narrow_type(e, v), "");
    for (unsigned k = 0; k < LLVMCountIncoming(v); k++) {
        LLVMValueRef of = narrow_operand(e, LLVMGetIncomingValue(v, k));
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(v, k);
        LLVMAddIncoming(phi, &of, &from, 1);
    }
    return phi;
}

static LLVMValueRef build_operation(struct narrowing *e, LLVMValueRef v)
{
    enum operation op = operation_of(v);
    unsigned first, count;
    operands_of(v, &first, &count);
    LLVMValueRef o[2] = {NULL, NULL};
    bool positive = true; /* as whole values, all operands */
    for (unsigned k = 0; k < count && k < 2; k++) {
        LLVMValueRef wide = LLVMGetOperand(v, first + k);
        o[k] = narrow_operand(e, wide);
        positive = positive && fits_unsigned(known_range(e, wide), e->width);
    }
    LLVMOpcode code = LLVMGetInstructionOpcode(v);
    switch (op) {
    case OP_LOW:
    case OP_MUL: return LLVMBuildBinOp(e->b, code, o[0], o[1], "");
    case OP_SHL:
    case OP_LSHR:
    case OP_ASHR:
        o[1] = LLVMConstTrunc(LLVMGetOperand(v, 1), narrow_type(e, v));
        return LLVMBuildBinOp(e->b, op == OP_ASHR && positive ? LLVMLShr : code, o[0], o[1], "");
    case OP_SMIN: return build_intrinsic(e, positive ? "llvm.umin" : "llvm.smin", o[0], o[1]);
    case OP_SMAX: return build_intrinsic(e, positive ? "llvm.umax" : "llvm.smax", o[0], o[1]);
    case OP_UMIN: return build_intrinsic(e, "llvm.umin", o[0], o[1]);
    case OP_UMAX: return build_intrinsic(e, "llvm.umax", o[0], o[1]);
    case OP_ABS:
        o[1] = LLVMConstInt(LLVMInt1TypeInContext(e->ctx), 0, false);
        return build_intrinsic(e, "llvm.abs", o[0], o[1]);
    case OP_PHI: return build_phi(e, v);
    default: return LLVMBuildSelect(e->b, LLVMGetOperand(v, 0), o[0], o[1], "");
    }
}

static void build_node(struct narrowing *e, struct node *n)
{
    LLVMPositionBuilderBefore(e->b, n->v);
    switch (n->how) {
    case LEAF: n->made = build_leaf(e, n->v); break;
    case EXTENSION: n->made = build_extension(e, n->v); break;
    case SPLAT: n->made = build_splat(e, n->v); break;
    default: n->made = build_operation(e, n->v); break;
    }
}

static void replace_root(struct narrowing *e, LLVMValueRef root)
{
    const struct node *n = narrowed(e, root);
    if (n == NULL || !pays(e, n))
        return;
    LLVMValueRef made = n->made;
    LLVMPositionBuilderBefore(e->b, root);
    if (element_bits(root) < e->width)
        made = LLVMBuildTrunc(e->b, made, LLVMTypeOf(root), "");
    LLVMReplaceAllUsesWith(root, made);
    LLVMInstructionEraseFromParent(root);
}

static void build(struct narrowing *e)
{
    for (int32_t o = 0; o < e->closed; o++)
        if (e->nodes[e->order[o]].reached && pays(e, &e->nodes[e->order[o]]))
            build_node(e, &e->nodes[e->order[o]]);
    for (size_t r = 0; r < e->nroots; r++)
        replace_root(e, e->roots[r]);
    for (int32_t o = e->closed - 1; o >= 0; o--) {
        const struct node *n = &e->nodes[e->order[o]];
        if (n->made != NULL && n->how != LEAF && LLVMGetFirstUse(n->v) == NULL)
            LLVMInstructionEraseFromParent(n->v);
    }
}

/* ---- a function ---- */

static void find_roots(struct narrowing *e, LLVMValueRef f)
{
    e->nroots = 0;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i))
            if (is_root(i, e->width))
                e->roots[e->nroots++] = i;
}

static size_t count_instructions(LLVMValueRef f)
{
    size_t n = 0;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i))
            n++;
    return n;
}

static void narrow_to(struct narrowing *e, LLVMValueRef f, unsigned width)
{
    size_t n = count_instructions(f) + 1;
    e->width = width;
    e->n = e->closed = 0;
    for (e->slots = 16; e->slots < n * 2; e->slots *= 2)
        ;
    e->roots = xcalloc(n, sizeof(LLVMValueRef));
    find_roots(e, f);
    if (e->nroots > 0) {
        e->nodes = xcalloc(n, sizeof *e->nodes);
        e->order = xcalloc(n, sizeof *e->order);
        e->table = xcalloc(e->slots, sizeof *e->table);
        for (size_t r = 0; r < e->nroots; r++)
            collect(e, LLVMGetOperand(e->roots[r], 0), MOST_DEPTH);
        settle(e);
        build(e);
        free(e->nodes);
        free(e->order);
        free(e->table);
    }
    free(e->roots);
}

void narrow_integers(LLVMModuleRef m)
{
    LLVMContextRef ctx = LLVMGetModuleContext(m);
    struct narrowing e = {.m = m, .ctx = ctx, .b = LLVMCreateBuilderInContext(ctx)};
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f != NULL; f = LLVMGetNextFunction(f)) {
        narrow_to(&e, f, 8);
        narrow_to(&e, f, 16);
    }
    LLVMDisposeBuilder(e.b);
}
