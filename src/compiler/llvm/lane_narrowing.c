/* lane_narrowing: blocks of few threads compute for as many lanes as they have threads.
 *
 * A value of a warp is 32 lanes. A block of at most 16 threads has one warp of which half or more
 * is never active, and all that it computes there is for nothing: a CPU does not skip an
 * instruction whose mask is empty. LLVM drops lanes that nobody reads within straight code, but
 * does not look through phis and masks.
 *
 * Two analyses go through the function. The first one finds words and vectors of predicates whose
 * high bits are 0: masks that are made of the block's threads. The second one finds whose high
 * lanes are read: by a store, say, or by a call; not by an access under a mask whose high bits
 * are 0. Where nobody reads them an instruction is made for the low lanes alone. So nothing has to
 * be known here of what lanes mean. */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/DebugInfo.h>

#include "abi/plugin.h"
#include "base/base.h"
#include "compiler/llvm/llvm_passes.h"
#include "compiler/llvm/llvm_values.h"

/* An instruction. */
struct known {
    LLVMValueRef v;
    LLVMValueRef narrow; /* the same for the low lanes, NULL: there is none */
    bool tracked;        /* a row, or a word */
    bool high_zero;      /* bits of high lanes are 0: of words and of rows of predicates */
    bool high_read;      /* somebody reads high lanes, or these bits of a word */
};

struct narrowing {
    LLVMModuleRef m;
    LLVMContextRef ctx;
    LLVMBuilderRef b;
    LLVMValueRef fn;
    unsigned lanes; /* that may be active: the low ones */
    struct known *known;
    size_t count;
    struct known **sorted; /* by address */
};

/* ---- values ---- */

static bool is_vector(LLVMTypeRef t) { return LLVMGetTypeKind(t) == LLVMVectorTypeKind; }

static bool is_row(LLVMTypeRef t) { return is_vector(t) && LLVMGetVectorSize(t) == JIT_WARP; }

static bool is_integer(LLVMTypeRef t, unsigned bits)
{
    return LLVMGetTypeKind(t) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(t) == bits;
}

static bool is_word(LLVMTypeRef t) { return is_integer(t, JIT_WARP); }

static bool is_predicates(LLVMTypeRef t)
{
    return is_row(t) && is_integer(LLVMGetElementType(t), 1);
}

static int by_address(const void *a, const void *b)
{
    const struct known *const *l = a, *const *r = b;
    return ((uintptr_t)(*l)->v > (uintptr_t)(*r)->v) - ((uintptr_t)(*l)->v < (uintptr_t)(*r)->v);
}

static struct known *find(const struct narrowing *s, LLVMValueRef v)
{
    struct known key = {.v = v}, *at = &key;
    if (LLVMIsAInstruction(v) == NULL)
        return NULL;
    struct known **found = bsearch(&at, s->sorted, s->count, sizeof *s->sorted, by_address);
    return found != NULL ? *found : NULL;
}

static bool low_mask_constant(const struct narrowing *s, LLVMValueRef v)
{
    if (LLVMIsAConstantInt(v) != NULL)
        return LLVMConstIntGetZExtValue(v) >> s->lanes == 0;
    if (LLVMIsNull(v))
        return true;
    for (unsigned lane = s->lanes; lane < JIT_WARP; lane++) {
        LLVMValueRef e = LLVMGetAggregateElement(v, lane);
        if (e == NULL || !LLVMIsNull(e))
            return false;
    }
    return true;
}

/* Are the high bits of a word or a row of predicates 0? */
static bool high_zero(const struct narrowing *s, LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    if (!is_word(t) && !is_predicates(t))
        return false;
    if (LLVMIsAConstant(v) != NULL)
        return low_mask_constant(s, v);
    const struct known *k = find(s, v);
    return k != NULL && k->high_zero;
}

/* ---- the first analysis ---- */

static bool phi_high_zero(const struct narrowing *s, LLVMValueRef v)
{
    for (unsigned n = 0; n < LLVMCountIncoming(v); n++)
        if (!high_zero(s, LLVMGetIncomingValue(v, n)))
            return false;
    return true;
}

/* The word whose bits the predicates are, where CPUs have no registers for masks: of each lane,
 * that bit is shifted to the sign. NULL: they are something else. */
static LLVMValueRef word_of(LLVMValueRef v)
{
    LLVMValueRef shift = LLVMGetOperand(v, 0);
    if (LLVMGetICmpPredicate(v) != LLVMIntSLT || !LLVMIsNull(LLVMGetOperand(v, 1)) ||
        !is_op(shift, LLVMShl) || LLVMIsAConstant(LLVMGetOperand(shift, 1)) == NULL ||
        !is_word(LLVMGetElementType(LLVMTypeOf(shift))))
        return NULL;
    for (unsigned lane = 0; lane < JIT_WARP; lane++) {
        LLVMValueRef by = LLVMGetAggregateElement(LLVMGetOperand(shift, 1), lane);
        if (by == NULL || LLVMIsAConstantInt(by) == NULL ||
            LLVMConstIntGetZExtValue(by) != JIT_WARP - 1 - lane)
            return NULL;
    }
    return splatted(LLVMGetOperand(shift, 0));
}

/* Are they 0 if those of its operands are that are thought to be? */
static bool makes_high_zero(const struct narrowing *s, LLVMValueRef v)
{
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMPHI: return phi_high_zero(s, v);
    case LLVMAnd: return high_zero(s, LLVMGetOperand(v, 0)) || high_zero(s, LLVMGetOperand(v, 1));
    case LLVMOr:
    case LLVMXor: return high_zero(s, LLVMGetOperand(v, 0)) && high_zero(s, LLVMGetOperand(v, 1));
    case LLVMSelect:
        return (high_zero(s, LLVMGetOperand(v, 1)) || high_zero(s, LLVMGetOperand(v, 0))) &&
               high_zero(s, LLVMGetOperand(v, 2));
    case LLVMICmp: {
        LLVMValueRef word = is_predicates(LLVMTypeOf(v)) ? word_of(v) : NULL;
        return word != NULL && high_zero(s, word);
    }
    case LLVMLShr:
    case LLVMFreeze:
    case LLVMBitCast: return high_zero(s, LLVMGetOperand(v, 0));
    case LLVMZExt: {
        LLVMTypeRef from = LLVMTypeOf(LLVMGetOperand(v, 0));
        return is_word(LLVMTypeOf(v)) && LLVMGetIntTypeWidth(from) <= s->lanes;
    }
    default: return false;
    }
}

static void find_high_zero(struct narrowing *s)
{
    for (size_t n = 0; n < s->count; n++) {
        LLVMTypeRef t = LLVMTypeOf(s->known[n].v);
        s->known[n].high_zero = is_word(t) || is_predicates(t);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t n = 0; n < s->count; n++)
            if (s->known[n].high_zero && !makes_high_zero(s, s->known[n].v)) {
                s->known[n].high_zero = false;
                changed = true;
            }
    }
}

/* ---- what follows from it alone ---- */

/* Does a shuffle of predicates take nothing but lanes that are 0? */
static bool takes_zeros(const struct narrowing *s, LLVMValueRef v)
{
    LLVMValueRef from = LLVMGetOperand(v, 0);
    if (!is_predicates(LLVMTypeOf(from)) || !high_zero(s, from))
        return false;
    for (unsigned n = 0; n < LLVMGetNumMaskElements(v); n++) {
        int at = LLVMGetMaskValue(v, n);
        if (at < (int)s->lanes || at >= JIT_WARP)
            return false;
    }
    return true;
}

/* Is every bit of a constant that of a high lane? */
static bool high_alone(const struct narrowing *s, LLVMValueRef v)
{
    return LLVMIsAConstantInt(v) != NULL && is_word(LLVMTypeOf(v)) &&
           (LLVMConstIntGetZExtValue(v) & ((1ull << s->lanes) - 1)) == 0;
}

/* Where a word whose high bits are 0 is compared with one of these: the outcome, -1: not known. */
static int outcome(const struct narrowing *s, LLVMValueRef v)
{
    LLVMValueRef c = LLVMGetOperand(v, 1);
    if (LLVMIsAConstantInt(c) == NULL || !high_zero(s, LLVMGetOperand(v, 0)))
        return -1;
    uint64_t limit = 1ull << s->lanes, with = LLVMConstIntGetZExtValue(c);
    switch (LLVMGetICmpPredicate(v)) {
    case LLVMIntULT: return with >= limit ? 1 : -1;
    case LLVMIntUGT: return with >= limit - 1 ? 0 : -1;
    case LLVMIntEQ: return with >= limit ? 0 : -1;
    case LLVMIntNE: return with >= limit ? 1 : -1;
    default: return -1;
    }
}

/* The constant that an instruction is; NULL: it is none. */
static LLVMValueRef known_constant(const struct narrowing *s, LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMShuffleVector: return takes_zeros(s, v) ? LLVMConstNull(t) : NULL;
    case LLVMAnd:
        return is_word(t) && high_zero(s, LLVMGetOperand(v, 0)) &&
                       high_alone(s, LLVMGetOperand(v, 1))
                   ? LLVMConstNull(t)
                   : NULL;
    case LLVMLShr: {
        LLVMValueRef by = LLVMGetOperand(v, 1);
        return is_word(t) && high_zero(s, LLVMGetOperand(v, 0)) && LLVMIsAConstantInt(by) != NULL &&
                       LLVMConstIntGetZExtValue(by) >= s->lanes
                   ? LLVMConstNull(t)
                   : NULL;
    }
    case LLVMICmp: {
        int known = is_word(LLVMTypeOf(LLVMGetOperand(v, 0))) ? outcome(s, v) : -1;
        return known >= 0 ? LLVMConstInt(t, (unsigned)known, false) : NULL;
    }
    default: return NULL;
    }
}

static bool replace_constants(struct narrowing *s)
{
    bool changed = false;
    for (size_t n = 0; n < s->count; n++) {
        LLVMValueRef c = known_constant(s, s->known[n].v);
        if (c != NULL && LLVMGetFirstUse(s->known[n].v) != NULL) {
            LLVMReplaceAllUsesWith(s->known[n].v, c);
            changed = true;
        }
    }
    return changed;
}

/* ---- the second analysis ---- */

/* Intrinsics of which each lane is that of the operands, by the number of types in their names. */
static const struct {
    const char *name;
    unsigned types;
} lanewise[] = {
    {"llvm.abs", 1},        {"llvm.bitreverse", 1}, {"llvm.bswap", 1},     {"llvm.ceil", 1},
    {"llvm.copysign", 1},   {"llvm.ctlz", 1},       {"llvm.ctpop", 1},     {"llvm.cttz", 1},
    {"llvm.fabs", 1},       {"llvm.floor", 1},      {"llvm.fma", 1},       {"llvm.fptosi.sat", 2},
    {"llvm.fptoui.sat", 2}, {"llvm.fshl", 1},       {"llvm.fshr", 1},      {"llvm.maximum", 1},
    {"llvm.maxnum", 1},     {"llvm.minimum", 1},    {"llvm.minnum", 1},    {"llvm.nearbyint", 1},
    {"llvm.rint", 1},       {"llvm.round", 1},      {"llvm.roundeven", 1}, {"llvm.sadd.sat", 1},
    {"llvm.smax", 1},       {"llvm.smin", 1},       {"llvm.sqrt", 1},      {"llvm.ssub.sat", 1},
    {"llvm.trunc", 1},      {"llvm.uadd.sat", 1},   {"llvm.umax", 1},      {"llvm.umin", 1},
    {"llvm.usub.sat", 1},
};
enum { MAX_ARGUMENTS = 4 };

/* The number of types in the name of a lanewise intrinsic; 0: it is none. */
static unsigned lanewise_types(LLVMValueRef call)
{
    for (size_t n = 0; n < WEIR_COUNT(lanewise); n++)
        if (calls_intrinsic(call, lanewise[n].name))
            return lanewise[n].types;
    return 0;
}

/* Accesses under a mask, and which argument that is. */
static const struct {
    const char *name;
    unsigned mask, address;
} masked[] = {{"llvm.masked.load", 2, 0},
              {"llvm.masked.gather", 2, 0},
              {"llvm.masked.store", 3, 1},
              {"llvm.masked.scatter", 3, 1}};

/* Which one a call is, -1: none. */
static int masked_access(LLVMValueRef call)
{
    for (size_t n = 0; n < WEIR_COUNT(masked); n++)
        if (calls_intrinsic(call, masked[n].name))
            return (int)n;
    return -1;
}

/* Does the access take rows, under a mask that no high lane is in? */
static bool masked_low(const struct narrowing *s, LLVMValueRef call, int access)
{
    LLVMValueRef mask = LLVMGetOperand(call, masked[access].mask);
    return is_predicates(LLVMTypeOf(mask)) && high_zero(s, mask);
}

/* Has the instruction rows for all operands that are vectors, and one as its result? */
static bool of_rows(LLVMValueRef v, unsigned operands)
{
    for (unsigned n = 0; n < operands; n++) {
        LLVMTypeRef t = LLVMTypeOf(LLVMGetOperand(v, n));
        if (is_vector(t) && !is_row(t))
            return false;
    }
    return is_row(LLVMTypeOf(v));
}

static bool constant_index(LLVMValueRef v)
{
    return LLVMIsAConstantInt(v) != NULL && LLVMConstIntGetZExtValue(v) < JIT_WARP;
}

/* May a row be made for the low lanes alone, if nobody reads the others? */
static bool can_narrow(const struct narrowing *s, LLVMValueRef v)
{
    if (!is_row(LLVMTypeOf(v)))
        return false;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMPHI:
    case LLVMShuffleVector: return true;
    case LLVMInsertElement: return constant_index(LLVMGetOperand(v, 2));
    case LLVMLoad:
        return !LLVMGetVolatile(v) && LLVMGetOrdering(v) == LLVMAtomicOrderingNotAtomic &&
               !is_predicates(LLVMTypeOf(v));
    case LLVMBitCast:
        return is_word(LLVMTypeOf(LLVMGetOperand(v, 0))) ||
               is_row(LLVMTypeOf(LLVMGetOperand(v, 0)));
    case LLVMGetElementPtr:
        return LLVMGetNumOperands(v) <= 3 && of_rows(v, (unsigned)LLVMGetNumOperands(v));
    case LLVMSelect:
    case LLVMICmp:
    case LLVMFCmp:
    case LLVMFNeg:
    case LLVMFreeze: return of_rows(v, (unsigned)LLVMGetNumOperands(v));
    case LLVMCall: {
        int access = masked_access(v);
        if (access >= 0)
            return masked_low(s, v, access);
        return lanewise_types(v) > 0 && of_rows(v, LLVMGetNumArgOperands(v));
    }
    default:
        return (LLVMIsABinaryOperator(v) != NULL || LLVMIsACastInst(v) != NULL) &&
               of_rows(v, (unsigned)LLVMGetNumOperands(v));
    }
}

/* Does a shuffle take a high lane of the operand? */
static bool shuffle_reads(const struct narrowing *s, const struct known *user, unsigned operand)
{
    bool low = is_row(LLVMTypeOf(user->v)) && !user->high_read;
    unsigned n = low ? s->lanes : LLVMGetNumMaskElements(user->v);
    for (unsigned k = 0; k < n; k++) {
        int at = LLVMGetMaskValue(user->v, k) - (int)operand * JIT_WARP;
        if (at >= (int)s->lanes && at < JIT_WARP)
            return true;
    }
    return false;
}

static bool call_reads(const struct narrowing *s, const struct known *user, unsigned operand)
{
    int access = masked_access(user->v);
    if (access < 0)
        return lanewise_types(user->v) == 0 || user->high_read || !can_narrow(s, user->v);
    bool result = is_row(LLVMTypeOf(user->v)), passed = result && operand == 3;
    if (passed || (result && user->high_read))
        return user->high_read;
    return !masked_low(s, user->v, access);
}

/* Does the user of a word read its high bits? */
static bool word_reads(const struct narrowing *s, const struct known *user, unsigned operand)
{
    switch (LLVMGetInstructionOpcode(user->v)) {
    case LLVMAnd: return user->high_read && !high_zero(s, LLVMGetOperand(user->v, 1 - operand));
    case LLVMOr:
    case LLVMXor:
    case LLVMSelect:
    case LLVMFreeze:
    case LLVMPHI: return user->high_read;
    case LLVMBitCast: return user->high_read || !is_predicates(LLVMTypeOf(user->v));
    case LLVMTrunc: return LLVMGetIntTypeWidth(LLVMTypeOf(user->v)) > s->lanes;
    default: return true;
    }
}

/* Does the user read high lanes, or bits, of its operand? */
static bool reads_high(const struct narrowing *s, const struct known *user, unsigned operand)
{
    LLVMValueRef v = user->v;
    LLVMTypeRef t = LLVMTypeOf(LLVMGetOperand(v, operand));
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMCall: return operand >= LLVMGetNumArgOperands(v) || call_reads(s, user, operand);
    case LLVMShuffleVector: return !is_row(t) || shuffle_reads(s, user, operand);
    case LLVMExtractElement: {
        LLVMValueRef at = LLVMGetOperand(v, 1);
        return operand != 0 || !constant_index(at) || LLVMConstIntGetZExtValue(at) >= s->lanes;
    }
    case LLVMInsertElement: return operand != 0 || user->high_read || !can_narrow(s, v);
    default: break;
    }
    if (is_word(t))
        return word_reads(s, user, operand);
    if (LLVMGetInstructionOpcode(v) == LLVMAnd && is_predicates(t))
        return user->high_read && !high_zero(s, LLVMGetOperand(v, 1 - operand));
    if (LLVMGetInstructionOpcode(v) == LLVMSelect && operand == 1)
        return user->high_read && !high_zero(s, LLVMGetOperand(v, 0));
    bool word = LLVMGetInstructionOpcode(v) == LLVMBitCast && is_word(LLVMTypeOf(v));
    return user->high_read || !(word || can_narrow(s, v));
}

static void find_high_read(struct narrowing *s)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t n = s->count; n-- > 0;) {
            const struct known *user = &s->known[n];
            for (unsigned o = 0; o < (unsigned)LLVMGetNumOperands(user->v); o++) {
                struct known *k = find(s, LLVMGetOperand(user->v, o));
                if (k != NULL && k->tracked && !k->high_read && reads_high(s, user, o)) {
                    k->high_read = true;
                    changed = true;
                }
            }
        }
    }
}

/* ---- making them ---- */

static LLVMTypeRef narrow_type(const struct narrowing *s, LLVMTypeRef t)
{
    return is_row(t) ? LLVMVectorType(LLVMGetElementType(t), s->lanes) : t;
}

/* Indices of a shuffle: `n` from 0 on, and then up to `all` the first lane of the other operand. */
static LLVMValueRef indices(const struct narrowing *s, unsigned n, unsigned all)
{
    LLVMValueRef at[JIT_WARP];
    for (unsigned k = 0; k < all; k++)
        at[k] = LLVMConstInt(LLVMInt32TypeInContext(s->ctx), k < n ? k : n, false);
    return LLVMConstVector(at, all);
}

/* The low lanes of a value, where the builder is. */
static LLVMValueRef low_lanes(const struct narrowing *s, LLVMValueRef v)
{
    if (!is_row(LLVMTypeOf(v)))
        return v;
    const struct known *k = find(s, v);
    if (k != NULL && k->narrow != NULL)
        return k->narrow;
    return LLVMBuildShuffleVector(s->b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  indices(s, s->lanes, s->lanes), "");
}

static LLVMValueRef narrow_call(const struct narrowing *s, LLVMValueRef v)
{
    LLVMValueRef args[MAX_ARGUMENTS];
    LLVMTypeRef types[2];
    unsigned n = LLVMGetNumArgOperands(v), ntypes = lanewise_types(v);
    int access = masked_access(v);
    for (unsigned k = 0; k < n; k++)
        args[k] = low_lanes(s, LLVMGetOperand(v, k));
    bool stores = access >= 0 && !is_row(LLVMTypeOf(v));
    types[0] = stores ? LLVMTypeOf(args[0]) : narrow_type(s, LLVMTypeOf(v));
    types[1] = LLVMTypeOf(args[access >= 0 ? masked[access].address : 0]);
    unsigned id = LLVMGetIntrinsicID(LLVMGetCalledValue(v));
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(s->m, id, types, access >= 0 ? 2 : ntypes);
    return LLVMBuildCall2(s->b, LLVMGlobalGetValueType(f), f, args, n, "");
}

static LLVMValueRef narrow_shuffle(const struct narrowing *s, LLVMValueRef v)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(s->ctx);
    LLVMValueRef a = LLVMGetOperand(v, 0), b = LLVMGetOperand(v, 1), at[JIT_WARP];
    bool low = is_row(LLVMTypeOf(a)); /* does it take low lanes alone? */
    for (unsigned k = 0; k < s->lanes; k++)
        low = low && LLVMGetMaskValue(v, k) % JIT_WARP < (int)s->lanes;
    for (unsigned k = 0; k < s->lanes; k++) {
        int from = LLVMGetMaskValue(v, k);
        if (low && from >= JIT_WARP)
            from += (int)s->lanes - JIT_WARP;
        at[k] = from >= 0 ? LLVMConstInt(i32, (unsigned)from, false) : LLVMGetUndef(i32);
    }
    return LLVMBuildShuffleVector(s->b, low ? low_lanes(s, a) : a, low ? low_lanes(s, b) : b,
                                  LLVMConstVector(at, s->lanes), "");
}

static LLVMValueRef narrow_load(const struct narrowing *s, LLVMValueRef v)
{
    LLVMValueRef load =
        LLVMBuildLoad2(s->b, narrow_type(s, LLVMTypeOf(v)), LLVMGetOperand(v, 0), "");
    LLVMSetAlignment(load, LLVMGetAlignment(v));
    return load;
}

/* Of a word that is a mask. */
static LLVMValueRef narrow_bits(const struct narrowing *s, LLVMValueRef v)
{
    LLVMTypeRef bits = LLVMIntTypeInContext(s->ctx, s->lanes);
    LLVMValueRef low = LLVMBuildTrunc(s->b, LLVMGetOperand(v, 0), bits, "");
    return LLVMBuildBitCast(s->b, low, narrow_type(s, LLVMTypeOf(v)), "");
}

static LLVMValueRef narrow_insert(const struct narrowing *s, LLVMValueRef v)
{
    LLVMValueRef into = low_lanes(s, LLVMGetOperand(v, 0)), at = LLVMGetOperand(v, 2);
    return LLVMConstIntGetZExtValue(at) >= s->lanes
               ? into
               : LLVMBuildInsertElement(s->b, into, LLVMGetOperand(v, 1), at, "");
}

/* An instruction each of whose lanes is made of those of its operands. */
static LLVMValueRef narrow_lanewise(const struct narrowing *s, LLVMValueRef v)
{
    LLVMValueRef o[3] = {0};
    unsigned n = (unsigned)LLVMGetNumOperands(v);
    for (unsigned k = 0; k < n && k < 3; k++)
        o[k] = low_lanes(s, LLVMGetOperand(v, k));
    return lanewise_again(s->b, v, o, narrow_type(s, LLVMTypeOf(v)));
}

static LLVMValueRef make_narrow(const struct narrowing *s, LLVMValueRef v)
{
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMPHI: return LLVMBuildPhi(s->b, narrow_type(s, LLVMTypeOf(v)), "");
    case LLVMShuffleVector: return narrow_shuffle(s, v);
    case LLVMInsertElement: return narrow_insert(s, v);
    case LLVMLoad: return narrow_load(s, v);
    case LLVMCall: return narrow_call(s, v);
    case LLVMBitCast:
        return is_word(LLVMTypeOf(LLVMGetOperand(v, 0))) ? narrow_bits(s, v)
                                                         : narrow_lanewise(s, v);
    default: return narrow_lanewise(s, v);
    }
}

static void fill_phi(const struct narrowing *s, const struct known *k)
{
    for (unsigned n = 0; n < LLVMCountIncoming(k->v); n++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(k->v, n);
        LLVMPositionBuilderBefore(s->b, LLVMGetBasicBlockTerminator(from));
        LLVMValueRef in = low_lanes(s, LLVMGetIncomingValue(k->v, n));
        LLVMAddIncoming(k->narrow, &in, &from, 1);
    }
}

/* For who takes all lanes and reads none of the high ones: these are 0. So what the first analysis
 * found of masks stays true. */
static void replace_wide(const struct narrowing *s, const struct known *k)
{
    LLVMValueRef next = LLVMGetNextInstruction(k->v);
    while (is_op(next, LLVMPHI))
        next = LLVMGetNextInstruction(next);
    LLVMPositionBuilderBefore(s->b, next);
    LLVMValueRef wide = LLVMBuildShuffleVector(
        s->b, k->narrow, LLVMConstNull(LLVMTypeOf(k->narrow)), indices(s, s->lanes, JIT_WARP), "");
    LLVMReplaceAllUsesWith(k->v, wide);
}

/* A word of predicates whose high bits nobody reads. */
static void replace_word(const struct narrowing *s, const struct known *k)
{
    const struct known *of = find(s, LLVMGetOperand(k->v, 0));
    if (of == NULL || of->narrow == NULL)
        return;
    LLVMPositionBuilderBefore(s->b, k->v);
    LLVMTypeRef bits = LLVMIntTypeInContext(s->ctx, s->lanes);
    LLVMValueRef low = LLVMBuildBitCast(s->b, of->narrow, bits, "");
    LLVMReplaceAllUsesWith(k->v, LLVMBuildZExt(s->b, low, LLVMTypeOf(k->v), ""));
}

/* Is it a store that is to be made for the low lanes? */
static bool is_low_store(const struct narrowing *s, LLVMValueRef v)
{
    int access = is_op(v, LLVMCall) ? masked_access(v) : -1;
    return access >= 0 && !is_row(LLVMTypeOf(v)) && masked_low(s, v, access);
}

static bool make_all(struct narrowing *s)
{
    bool changed = false;
    for (size_t n = 0; n < s->count; n++) {
        struct known *k = &s->known[n];
        bool row = k->tracked && !k->high_read && can_narrow(s, k->v);
        if (!row && !is_low_store(s, k->v))
            continue;
        LLVMPositionBuilderBefore(s->b, k->v);
        k->narrow = make_narrow(s, k->v);
        if (!is_op(k->v, LLVMInsertElement)) /* what is narrow may be its vector then */
            copy_access_metadata(k->v, k->narrow);
        changed = true;
    }
    for (size_t n = 0; n < s->count; n++)
        if (s->known[n].narrow != NULL && is_op(s->known[n].v, LLVMPHI))
            fill_phi(s, &s->known[n]);
    for (size_t n = 0; n < s->count; n++)
        if (!s->known[n].high_read && is_op(s->known[n].v, LLVMBitCast) &&
            is_word(LLVMTypeOf(s->known[n].v)))
            replace_word(s, &s->known[n]);
    for (size_t n = 0; n < s->count; n++)
        if (s->known[n].narrow != NULL && s->known[n].tracked)
            replace_wide(s, &s->known[n]);
    for (size_t n = 0; n < s->count; n++)
        if (s->known[n].narrow != NULL)
            LLVMInstructionEraseFromParent(s->known[n].v);
    return changed;
}

/* ---- a function ---- */

static void open_function(struct narrowing *s)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(s->fn); b != NULL;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef v = LLVMGetFirstInstruction(b); v != NULL; v = LLVMGetNextInstruction(v))
            s->count++;
    s->known = xcalloc(s->count, sizeof *s->known);
    s->sorted = xcalloc(s->count, sizeof(struct known *));
    size_t n = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(s->fn); b != NULL;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef v = LLVMGetFirstInstruction(b); v != NULL;
             v = LLVMGetNextInstruction(v)) {
            LLVMTypeRef t = LLVMTypeOf(v);
            s->known[n] = (struct known){.v = v, .tracked = is_row(t) || is_word(t)};
            s->sorted[n] = &s->known[n];
            n++;
        }
    qsort(s->sorted, s->count, sizeof(struct known *), by_address);
    find_high_zero(s);
}

static void close_function(struct narrowing *s)
{
    free(s->known);
    free(s->sorted);
}

bool fold_lane_masks(LLVMModuleRef m, LLVMValueRef fn, unsigned lanes)
{
    struct narrowing s = {.m = m, .ctx = LLVMGetModuleContext(m), .fn = fn, .lanes = lanes};
    open_function(&s);
    bool changed = replace_constants(&s);
    close_function(&s);
    return changed;
}

bool narrow_lanes(LLVMModuleRef m, LLVMValueRef fn, unsigned lanes)
{
    struct narrowing s = {.m = m, .ctx = LLVMGetModuleContext(m), .fn = fn, .lanes = lanes};
    s.b = LLVMCreateBuilderInContext(s.ctx);
    open_function(&s);
    find_high_read(&s);
    bool changed = make_all(&s);
    close_function(&s);
    LLVMDisposeBuilder(s.b);
    return changed;
}
