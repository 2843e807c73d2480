/* mask_logic: masks of lanes as integers, where a machine takes long to make vectors of them.
 *
 * A mask is an i32 with a bit for each lane, or a vector of i1. LLVM's optimizer mixes the two:
 * `not mask | bits of a comparison` becomes an `or` of vectors of which one is the mask, and what a
 * few scalars say of half-warps becomes a shuffle of them. CPUs without AVX-512 have no registers
 * for vectors of i1, and LLVM brings an integer's bits there one by one, 32 times three
 * instructions; with AVX-512 it makes vectors of words of the scalars and permutes these.
 *
 * So logic whose result is wanted as an integer is done on integers here. Where a vector is wanted
 * of an integer, without AVX-512, it is made of a comparison of bytes; or, in front of what LLVM
 * has a short sequence for, by LLVM. */
#include "base/base.h"
#include "compiler/llvm/llvm_passes.h"
#include "compiler/llvm/llvm_values.h"

enum {
    MAX_LANES = 32,
    MAX_SCALARS = 4, /* of which a mask is made */
    MAX_DEPTH = 40   /* of shuffles and insertions */
};

struct mask_logic {
    LLVMContextRef ctx;
    LLVMBuilderRef b;
    bool registers; /* the machine has some for masks */
    bool changed;
};

static unsigned lanes_of(LLVMValueRef v)
{
    unsigned n = integer_lanes(v, 1);
    return n == 8 || n == 16 || n == MAX_LANES ? n : 0;
}

static bool is_logic(LLVMValueRef v)
{
    return is_op(v, LLVMAnd) || is_op(v, LLVMOr) || is_op(v, LLVMXor);
}

/* A bitcast of an integer to a mask, or back. */
static bool is_from_integer(LLVMValueRef v)
{
    return is_op(v, LLVMBitCast) && lanes_of(v) != 0 &&
           LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(v, 0))) == LLVMIntegerTypeKind;
}

static bool is_to_integer(LLVMValueRef v)
{
    return is_op(v, LLVMBitCast) && lanes_of(LLVMGetOperand(v, 0)) != 0 &&
           LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMIntegerTypeKind;
}

/* ---- masks made of scalars ---- */

struct scalars {
    LLVMValueRef of[MAX_SCALARS];
    uint32_t lanes[MAX_SCALARS], always; /* which have it; which are set */
    unsigned n;
};

/* The scalar that a lane has; NULL: it is not plain to see, or is any. */
static LLVMValueRef lane_source(LLVMValueRef v, unsigned lane, bool *any)
{
    for (int depth = 0; depth < MAX_DEPTH; depth++) {
        if (LLVMIsAUndefValue(v) != NULL || LLVMIsAPoisonValue(v) != NULL) {
            *any = true;
            return NULL;
        }
        if (LLVMIsAConstant(v) != NULL)
            return LLVMGetAggregateElement(v, lane);
        if (is_op(v, LLVMInsertElement)) {
            LLVMValueRef at = LLVMGetOperand(v, 2);
            if (LLVMIsAConstantInt(at) == NULL)
                return NULL;
            if (LLVMConstIntGetZExtValue(at) == lane)
                return LLVMGetOperand(v, 1);
            v = LLVMGetOperand(v, 0);
        } else if (is_op(v, LLVMShuffleVector)) {
            int from = LLVMGetMaskValue(v, lane);
            unsigned n = LLVMGetVectorSize(LLVMTypeOf(LLVMGetOperand(v, 0)));
            *any = from < 0;
            if (from < 0)
                return NULL;
            lane = (unsigned)from < n ? (unsigned)from : (unsigned)from - n;
            v = LLVMGetOperand(v, (unsigned)from < n ? 0 : 1);
        } else {
            return NULL;
        }
    }
    return NULL;
}

static bool scalars_of(LLVMValueRef v, struct scalars *s)
{
    *s = (struct scalars){.n = 0};
    if (!is_op(v, LLVMShuffleVector) && !is_op(v, LLVMInsertElement))
        return false;
    for (unsigned l = 0; l < lanes_of(v); l++) {
        bool any = false;
        LLVMValueRef x = lane_source(v, l, &any);
        if (any)
            continue;
        if (x == NULL)
            return false;
        if (LLVMIsAConstantInt(x) != NULL) {
            s->always |= (uint32_t)LLVMConstIntGetZExtValue(x) << l;
            continue;
        }
        unsigned n = 0;
        while (n < s->n && s->of[n] != x)
            n++;
        if (n == MAX_SCALARS || LLVMIsAConstant(x) != NULL)
            return false;
        s->of[n] = x;
        s->lanes[n] |= 1u << l;
        s->n = n == s->n ? n + 1 : s->n;
    }
    return s->n > 0;
}

static LLVMTypeRef integer_like(const struct mask_logic *m, LLVMValueRef v)
{
    return LLVMIntTypeInContext(m->ctx, lanes_of(v));
}

static LLVMValueRef from_scalars(const struct mask_logic *m, LLVMValueRef v,
                                 const struct scalars *s)
{
    LLVMTypeRef t = integer_like(m, v);
    LLVMValueRef bits = LLVMConstInt(t, s->always, false);
    for (unsigned n = 0; n < s->n; n++) {
        LLVMValueRef lanes = LLVMConstInt(t, s->lanes[n], false);
        /* in one integer, a scalar without a value would take it from the other lanes, too */
        LLVMValueRef scalar = LLVMBuildFreeze(m->b, s->of[n], "");
        LLVMValueRef x = LLVMBuildAnd(m->b, LLVMBuildSExt(m->b, scalar, t, ""), lanes, "");
        bits = n == 0 && s->always == 0 ? x : LLVMBuildOr(m->b, bits, x, "");
    }
    return bits;
}

/* ---- integers ---- */

/* Is some of a mask an integer already? */
static bool has_integers(LLVMValueRef v, int depth)
{
    struct scalars s;
    if (is_from_integer(v) || scalars_of(v, &s))
        return true;
    return is_logic(v) && depth > 0 &&
           (has_integers(LLVMGetOperand(v, 0), depth - 1) ||
            has_integers(LLVMGetOperand(v, 1), depth - 1));
}

/* The mask's bits, built where the builder is. */
static LLVMValueRef bits(const struct mask_logic *m, LLVMValueRef v, int depth)
{
    struct scalars s;
    if (is_from_integer(v))
        return LLVMGetOperand(v, 0);
    if (scalars_of(v, &s))
        return from_scalars(m, v, &s);
    if (!is_logic(v) || depth == 0 || !has_integers(v, depth))
        return LLVMBuildBitCast(m->b, v, integer_like(m, v), "");
    LLVMValueRef x = bits(m, LLVMGetOperand(v, 0), depth - 1);
    LLVMValueRef y = bits(m, LLVMGetOperand(v, 1), depth - 1);
    return LLVMBuildBinOp(m->b, LLVMGetInstructionOpcode(v), x, y, "");
}

enum { LOGIC_DEPTH = 4 };

/* ---- vectors ---- */

/* What LLVM makes of an integer's bits by a few instructions where it stands beside it. */
static bool takes_bits(LLVMValueRef user, LLVMValueRef mask)
{
    if (is_op(user, LLVMSelect))
        return LLVMGetOperand(user, 0) == mask && LLVMGetOperand(user, 1) != mask &&
               LLVMGetOperand(user, 2) != mask;
    return is_op(user, LLVMSExt) || is_op(user, LLVMZExt) || is_op(user, LLVMCall);
}

/* The vector by a comparison, after the bitcast: of 8 lanes of words, else of bytes. */
static LLVMValueRef compared(const struct mask_logic *m, LLVMValueRef cast)
{
    unsigned n = lanes_of(cast);
    LLVMTypeRef i8 = LLVMInt8TypeInContext(m->ctx), i32 = LLVMInt32TypeInContext(m->ctx);
    LLVMTypeRef element = n == 8 ? i32 : i8;
    LLVMValueRef bit[MAX_LANES], from[MAX_LANES], x = LLVMGetOperand(cast, 0);
    for (unsigned l = 0; l < n; l++) {
        bit[l] = LLVMConstInt(element, 1u << l % 8, false);
        from[l] = LLVMConstInt(i32, l / 8, false);
    }
    LLVMPositionBuilderBefore(m->b, LLVMGetNextInstruction(cast));
    x = n == 8 ? LLVMBuildInsertElement(m->b, LLVMGetPoison(LLVMVectorType(i32, 8)),
                                        LLVMBuildZExt(m->b, x, i32, ""), from[0], "")
               : LLVMBuildBitCast(m->b, x, LLVMVectorType(i8, n / 8), "");
    x = LLVMBuildShuffleVector(m->b, x, LLVMGetPoison(LLVMTypeOf(x)), LLVMConstVector(from, n), "");
    LLVMValueRef each = LLVMConstVector(bit, n);
    return LLVMBuildICmp(m->b, LLVMIntEQ, LLVMBuildAnd(m->b, x, each, ""), each, "");
}

/* Gives each user of a bitcast from an integer what it takes. */
static void spread(struct mask_logic *m, LLVMValueRef cast)
{
    LLVMValueRef vector = NULL;
    LLVMUseRef next;
    for (LLVMUseRef u = LLVMGetFirstUse(cast); u != NULL; u = next) {
        LLVMValueRef user = LLVMGetUser(u), mine;
        next = LLVMGetNextUse(u);
        if (takes_bits(user, cast)) {
            if (LLVMGetInstructionParent(user) == LLVMGetInstructionParent(cast))
                continue;
            LLVMPositionBuilderBefore(m->b, user);
            mine = LLVMBuildBitCast(m->b, LLVMGetOperand(cast, 0), LLVMTypeOf(cast), "");
        } else {
            vector = vector != NULL ? vector : compared(m, cast);
            mine = vector;
        }
        for (int n = 0; n < LLVMGetNumOperands(user); n++)
            if (LLVMGetOperand(user, (unsigned)n) == cast) {
                LLVMSetOperand(user, (unsigned)n, mine);
                m->changed = true;
            }
        next = LLVMGetFirstUse(cast);
        while (next != NULL && takes_bits(LLVMGetUser(next), cast) &&
               LLVMGetInstructionParent(LLVMGetUser(next)) == LLVMGetInstructionParent(cast))
            next = LLVMGetNextUse(next);
    }
}

/* A mask that is loaded, from a warp's frame: as the integer that it is in memory. */
static LLVMValueRef loaded_mask(struct mask_logic *m, LLVMValueRef load)
{
    LLVMPositionBuilderBefore(m->b, load);
    LLVMValueRef v = LLVMBuildLoad2(m->b, integer_like(m, load), LLVMGetOperand(load, 0), "");
    LLVMSetAlignment(v, LLVMGetAlignment(load));
    LLVMSetVolatile(v, LLVMGetVolatile(load));
    return LLVMBuildBitCast(m->b, v, LLVMTypeOf(load), "");
}

/* ---- votes in vectors ---- */

/* Is a vote's i32 put into the first lane of a vector, from where all others get it? */
static bool is_first_lane(LLVMValueRef i)
{
    if (!is_op(i, LLVMInsertElement) || !is_to_integer(LLVMGetOperand(i, 1)))
        return false;
    LLVMValueRef of = LLVMGetOperand(i, 0), at = LLVMGetOperand(i, 2);
    bool empty = LLVMIsAUndefValue(of) != NULL || LLVMIsAPoisonValue(of) != NULL;
    return empty && lanes_of(LLVMGetOperand(LLVMGetOperand(i, 1), 0)) == MAX_LANES &&
           LLVMGetVectorSize(LLVMTypeOf(i)) % 2 == 0 && LLVMIsAConstantInt(at) != NULL &&
           LLVMConstIntGetZExtValue(at) == 0;
}

/* LLVM makes one mask of 64 lanes of two copies, brings that to a scalar, its halves to a vector
 * and these to all lanes, in seven instructions. Of 64-bit lanes it makes no such thing: one
 * instruction brings the mask to a scalar and one that to all lanes. */
static LLVMValueRef wide_first_lane(const struct mask_logic *m, LLVMValueRef i)
{
    LLVMTypeRef i64 = LLVMInt64TypeInContext(m->ctx), type = LLVMTypeOf(i);
    LLVMTypeRef wide = LLVMVectorType(i64, LLVMGetVectorSize(type) / 2);
    LLVMPositionBuilderBefore(m->b, i);
    LLVMValueRef v = LLVMBuildZExt(m->b, LLVMGetOperand(i, 1), i64, "");
    v = LLVMBuildInsertElement(m->b, LLVMGetPoison(wide), v, LLVMConstInt(i64, 0, false), "");
    return LLVMBuildBitCast(m->b, v, type, "");
}

static void visit(struct mask_logic *m, LLVMValueRef i)
{
    struct scalars s;
    if (m->registers && is_first_lane(i)) {
        LLVMReplaceAllUsesWith(i, wide_first_lane(m, i));
        m->changed = true;
        return;
    }
    if (!m->registers && is_op(i, LLVMLoad) && lanes_of(i) != 0) {
        LLVMReplaceAllUsesWith(i, loaded_mask(m, i));
        m->changed = true;
    } else if (is_to_integer(i)) {
        LLVMValueRef v = LLVMGetOperand(i, 0);
        if (!has_integers(v, LOGIC_DEPTH))
            return;
        LLVMPositionBuilderBefore(m->b, i);
        LLVMReplaceAllUsesWith(i, bits(m, v, LOGIC_DEPTH));
        m->changed = true;
    } else if (m->registers && lanes_of(i) != 0 && scalars_of(i, &s) && s.n > 1) {
        LLVMPositionBuilderBefore(m->b, LLVMGetNextInstruction(i));
        LLVMValueRef v = LLVMBuildBitCast(m->b, from_scalars(m, i, &s), LLVMTypeOf(i), "");
        LLVMReplaceAllUsesWith(i, v);
        m->changed = true;
    }
}

bool mask_logic(LLVMModuleRef module, bool mask_registers)
{
    LLVMContextRef ctx = LLVMGetModuleContext(module);
    struct mask_logic m = {
        .ctx = ctx, .b = LLVMCreateBuilderInContext(ctx), .registers = mask_registers};
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f != NULL; f = LLVMGetNextFunction(f)) {
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b != NULL;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i != NULL;
                 i = LLVMGetNextInstruction(i))
                visit(&m, i);
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b != NULL && !mask_registers;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i != NULL;
                 i = LLVMGetNextInstruction(i))
                if (is_from_integer(i))
                    spread(&m, i);
    }
    LLVMDisposeBuilder(m.b);
    return m.changed;
}
