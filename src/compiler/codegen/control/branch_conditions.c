/* branch_conditions.c: branch conditions that need not be computed for all lanes.
 *
 * Most branch conditions are comparisons of an index that is affine in the lane with a uniform
 * bound: `i < n`, `x < 1 || y < 1`, `max(x, y) >= n - 1`. Such a condition changes at most once
 * from the first lane to the last, so all lanes agree when these two do, and those are scalars. In
 * blocks of 16 or 8 columns a warp is two or four rows, and that holds for each of these segments.
 * An index may wrap around within one; where that cannot be ruled out at compile time the code
 * tests for it, which is another comparison. */
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/values.h"

/* How many instructions deep conditions are followed. */
enum { DEPTH = 6 };

/* A condition that is analysed, or computed for one lane. */
struct bound_condition {
    struct codegen *cg;
    unsigned seg;             /* lanes are looked at by segments of 2^seg */
    const struct jblock *blk; /* every instruction of it that is followed is in this block, or in
                                 OTHER_BLOCK */
    LLVMValueRef no_wrap;     /* i1: no index wraps around; NULL: none can */
    bool failed;
};

static bool orders(const struct ptx_instr *i, bool *less)
{
    static const unsigned lt[] = {PTX_M_lt, PTX_M_le, PTX_M_lo, PTX_M_ls};
    static const unsigned gt[] = {PTX_M_gt, PTX_M_ge, PTX_M_hi, PTX_M_hs};
    for (size_t n = 0; n < WEIR_COUNT(lt); n++) {
        *less = ptx_has(i, lt[n]);
        if (*less || ptx_has(i, gt[n]))
            return true;
    }
    return false;
}

static bool is_index(unsigned type)
{
    return type == PTX_S32 || type == PTX_U32 || type == PTX_S64 || type == PTX_U64;
}

/* Does an operand of the instruction at `at` have the same value at the end of the block? */
static bool unchanged(const struct bound_condition *c, int32_t at, const struct ptx_operand *o)
{
    return o->kind != PTX_OPR_REG ||
           last_write(c->cg->k, c->blk, c->blk->first + c->blk->count, o->reg) < at;
}

/* Instead of the number of an instruction: the value was computed in another block. It can be
 * rematerialized if all that it is computed from can (struct jreg, remat). */
enum { OTHER_BLOCK = -1 };

/* Rematerializes a register that never changes while the block runs, after those that it is
 * computed from. */
static void rematerialize(struct bound_condition *c, int32_t reg)
{
    const struct ptx_instr *i = &c->cg->k->instrs[c->cg->k->regs[reg].def];
    struct jroles r;
    jit_roles(i, &r);
    for (int u = 0; u < r.nuse; u++)
        rematerialize(c, r.use[u]);
    c->failed |= !emit_instr(c->cg, i);
}

static bool can_rematerialize(const struct jkernel *k, int32_t reg)
{
    const struct jreg *r = &k->regs[reg];
    struct jroles roles;
    if (r->remat == 0 || r->uniformity.brk != 0)
        return false;
    jit_roles(&k->instrs[r->def], &roles);
    for (int u = 0; u < roles.nuse; u++)
        if (!can_rematerialize(k, roles.use[u]))
            return false;
    return true;
}

/* The instruction that computes a value which is neither uniform nor affine, and its number in *at;
 * NULL: it cannot be followed. */
static const struct ptx_instr *defining_instr(const struct bound_condition *c, int32_t before,
                                              int32_t reg, int32_t *at)
{
    const struct jreg *r = &c->cg->k->regs[reg];
    *at = before == OTHER_BLOCK ? OTHER_BLOCK : last_write(c->cg->k, c->blk, before, reg);
    if (*at < 0 && (r->ndefs != 1 || r->def < 0))
        return NULL;
    const struct ptx_instr *i = &c->cg->k->instrs[*at < 0 ? r->def : *at];
    if (jit_ndst(i) != 1 || i->ntypes != 1)
        return NULL;
    for (int n = 1; n < i->noperands; n++) /* what it reads must be available at the block's end */
        if (i->operands[n].kind == PTX_OPR_VEC || (*at >= 0 && !unchanged(c, *at, &i->operands[n])))
            return NULL;
    unsigned type = i->types[0];
    switch (i->op) {
    case PTX_OP_setp: return i->noperands == 3 ? i : NULL;
    case PTX_OP_min:
    case PTX_OP_max: return i->noperands == 3 && is_index(type) ? i : NULL;
    case PTX_OP_and:
    case PTX_OP_or:
    case PTX_OP_not: return type == PTX_PRED ? i : NULL;
    default: return NULL;
    }
}

/* Is a value affine in each of the segments? */
static bool in_segments(const struct bound_condition *c, const struct uniformity *s)
{
    return s->seg != SEG_NONE && s->seg >= c->seg && s->brk == 0;
}

/* Is an affine operand available at the block's end? */
static bool readable(const struct bound_condition *c, int32_t before, const struct ptx_operand *o)
{
    return before != OTHER_BLOCK || o->kind != PTX_OPR_REG || can_rematerialize(c->cg->k, o->reg);
}

/* Its value in the first lane of a segment. */
static LLVMValueRef first_lane_value(struct bound_condition *c, int32_t before,
                                     const struct ptx_operand *o, unsigned type, int segment)
{
    if (before == OTHER_BLOCK && o->kind == PTX_OPR_REG)
        rematerialize(c, o->reg);
    return operand_scalar(c->cg, o, type, c->seg, segment);
}

/* Adds to c->no_wrap what must hold for an affine value of type `type` not to wrap around. */
static void require_no_wrap(struct bound_condition *c, int32_t before, const struct ptx_operand *o,
                            const struct uniformity *s, unsigned type)
{
    LLVMBuilderRef b = c->cg->alu.b;
    bool is_signed = type == PTX_S32 || type == PTX_S64;
    unsigned bits = ptx_type_bits((enum ptx_type)type), lanes = 1u << c->seg;
    uint64_t step = (uint64_t)(s->stride > 0 ? s->stride : -s->stride);
    uint64_t span = step * (lanes - 1),
             top = is_signed ? ~0ull >> (65 - bits) : ~0ull >> (64 - bits);
    if (s->ranged && (is_signed || s->lo >= 0))
        return;
    if (step > top / JIT_WARP) {
        c->failed = true;
        return;
    }
    uint64_t end = s->stride > 0 ? top - span : is_signed ? ~top + span : span;
    LLVMIntPredicate p = s->stride > 0 ? (is_signed ? LLVMIntSLE : LLVMIntULE)
                                       : (is_signed ? LLVMIntSGE : LLVMIntUGE);
    for (int n = 0; n < nsegs(c->seg); n++) {
        LLVMValueRef v = first_lane_value(c, before, o, type, n);
        LLVMValueRef ok = LLVMBuildICmp(b, p, v, LLVMConstInt(LLVMTypeOf(v), end, false), "");
        c->no_wrap = c->no_wrap != NULL ? LLVMBuildAnd(b, c->no_wrap, ok, "") : ok;
    }
}

/* The common direction of two; they must not be opposite. */
static int join_directions(struct bound_condition *c, int a, int b)
{
    c->failed |= a * b < 0;
    return a != 0 ? a : b;
}

/* How an operand of type `type`, read by the instruction at `before`, changes from lane to lane of
 * a segment: up (1), down (-1) or not at all; false is less than true. */
static int direction(struct bound_condition *c, int32_t before, const struct ptx_operand *o,
                     unsigned type, int depth)
{
    struct uniformity s = operand_uniformity(c->cg->k, o);
    bool less = false;
    c->failed |= s.seg != SEG_NONE && s.seg >= c->seg && !readable(c, before, o);
    if (c->failed || is_uniform(&s) || (in_segments(c, &s) && s.stride == 0))
        return 0;
    if (in_segments(c, &s) && is_index(type) &&
        (o->kind != PTX_OPR_REG || ptx_type_bits((enum ptx_type)c->cg->k->regs[o->reg].type) ==
                                       ptx_type_bits((enum ptx_type)type))) {
        require_no_wrap(c, before, o, &s, type);
        return s.stride > 0 ? 1 : -1;
    }
    int32_t at;
    const struct ptx_instr *i =
        o->kind == PTX_OPR_REG && depth < DEPTH ? defining_instr(c, before, o->reg, &at) : NULL;
    bool compares = i != NULL && i->op == PTX_OP_setp;
    bool ordered = compares && is_index(i->types[0]) && orders(i, &less);
    if (i == NULL || (!compares && i->types[0] != type)) {
        c->failed = true;
        return 0;
    }
    int sign = direction(c, at, &i->operands[1], i->types[0], depth + 1);
    if (compares && less)
        sign = -sign;
    if (i->noperands > 2) {
        int right = direction(c, at, &i->operands[2], i->types[0], depth + 1);
        sign = join_directions(c, sign, compares && !less ? -right : right);
    }
    c->failed |= compares && !ordered && sign != 0; /* as where it is an equality */
    if (i->op == PTX_OP_not)
        sign = -sign;
    return o->neg && type == PTX_PRED ? -sign : sign;
}

/* The operand's value in one lane. */
static LLVMValueRef value_in_lane(struct bound_condition *c, int32_t before,
                                  const struct ptx_operand *o, unsigned type, int lane)
{
    struct codegen *cg = c->cg;
    struct uniformity s = operand_uniformity(cg->k, o);
    if (s.seg != SEG_NONE && s.seg >= c->seg) {
        int segment = lane >> c->seg, in = lane - (segment << c->seg);
        LLVMValueRef v = first_lane_value(c, before, o, type, segment);
        if (s.stride == 0 || in == 0)
            return v;
        LLVMValueRef far = LLVMConstInt(LLVMTypeOf(v), (uint64_t)(s.stride * in), true);
        return LLVMBuildAdd(cg->alu.b, v, far, "");
    }
    int32_t at;
    const struct ptx_instr *i = defining_instr(c, before, o->reg, &at);
    LLVMValueRef v[2], out[ALU_MAX_DST];
    for (int n = 1; n < i->noperands; n++)
        v[n - 1] = value_in_lane(c, at, &i->operands[n], i->types[0], lane);
    cg->alu.lanes = 1;
    cg->alu.mask = NULL;
    if (!alu_emit(&cg->alu, i, v, out)) {
        c->failed = true;
        return LLVMConstInt(cg->i1, 0, false);
    }
    return o->neg && type == PTX_PRED ? LLVMBuildNot(cg->alu.b, out[0], "") : out[0];
}

/* The longest step from lane to lane of an index that is compared for equality. */
enum { MOST_STEP = 1 << 16 };

static bool is_step(int64_t step) { return step != 0 && step >= -MOST_STEP && step <= MOST_STEP; }

/* How many steps of so much lead over a distance, however both wrap; at least 2^(bits - 16) where
 * none do. An odd step is multiplied by its inverse; what else divides the distance is shifted out,
 * and is at the top where it is not zeros. */
static LLVMValueRef steps_over(struct bound_condition *c, LLVMValueRef distance, int64_t step)
{
    LLVMTypeRef type = LLVMTypeOf(distance);
    uint64_t odd = (uint64_t)(step < 0 ? -step : step), inverse = 1;
    unsigned shift = 0;
    for (; odd % 2 == 0; odd /= 2)
        shift++;
    for (int n = 0; n < 6; n++) /* each doubles the bits that are right */
        inverse *= 2 - odd * inverse;
    if (odd != 1)
        distance = LLVMBuildMul(c->cg->alu.b, distance, LLVMConstInt(type, inverse, false), "");
    LLVMValueRef args[3] = {distance, distance, LLVMConstInt(type, shift, false)};
    return shift == 0 ? distance : intrinsic(c->cg, "llvm.fshr", &type, 1, args, 3);
}

/* `i == n` with an index whose lanes differ by one step: no lane has it when the distance from the
 * first is more steps than the warp is long, however indices wrap. */
static bool equality_from_bounds(struct bound_condition *c, const struct ptx_operand *cond,
                                 LLVMValueRef *all, LLVMValueRef *none)
{
    LLVMBuilderRef b = c->cg->alu.b;
    int32_t at;
    const struct ptx_instr *i = defining_instr(c, c->blk->first + c->blk->count, cond->reg, &at);
    if (i == NULL || i->op != PTX_OP_setp || i->noperands != 3 ||
        (!ptx_has(i, PTX_M_eq) && !ptx_has(i, PTX_M_ne)))
        return false;
    unsigned bits = ptx_type_bits((enum ptx_type)i->types[0]),
             type = bits == 32 ? PTX_U32 : PTX_U64;
    if ((bits != 32 && bits != 64) || i->types[0] == PTX_F32 || i->types[0] == PTX_F64)
        return false;
    struct uniformity s[2];
    for (int n = 0; n < 2; n++) {
        const struct ptx_operand *o = &i->operands[n + 1];
        s[n] = operand_uniformity(c->cg->k, o);
        if (s[n].seg != SEG_WARP || s[n].brk != 0 || !readable(c, at, o) ||
            (o->kind == PTX_OPR_REG &&
             ptx_type_bits((enum ptx_type)c->cg->k->regs[o->reg].type) != bits))
            return false;
    }
    int64_t step = s[0].stride - s[1].stride;
    if (!is_step(step))
        return false;
    LLVMValueRef v[2];
    for (int n = 0; n < 2; n++)
        v[n] = first_lane_value(c, at, &i->operands[n + 1], type, 0);
    LLVMValueRef far = step > 0 ? LLVMBuildSub(b, v[1], v[0], "") : LLVMBuildSub(b, v[0], v[1], "");
    far = steps_over(c, far, step);
    far = LLVMBuildICmp(b, LLVMIntUGE, far, LLVMConstInt(LLVMTypeOf(far), JIT_WARP, false), "");
    bool differ = ptx_has(i, PTX_M_ne) != cond->neg;
    *all = differ ? far : LLVMConstInt(c->cg->i1, 0, false);
    *none = differ ? LLVMConstInt(c->cg->i1, 0, false) : far;
    return !c->failed;
}

/* ---- all lanes at once ---- */

/* `index < bound` with an index of stride 1 or -1 in each segment, or `index == bound`. */
struct row {
    const struct ptx_instr *i;
    int32_t at; /* its number (maker) */
    int index;  /* which source is the index; the other is uniform in each segment */
    unsigned type;
    bool up;    /* the index grows */
    bool less;  /* it is index < bound or index <= bound, else > or >= */
    bool equal; /* <= or >= */
    bool same;  /* none of these: == or != */
    int64_t step;
};

static bool is_index_compare(struct bound_condition *c, int32_t before,
                             const struct ptx_operand *cond, struct row *r)
{
    const struct jkernel *k = c->cg->k;
    r->i = defining_instr(c, before, cond->reg, &r->at);
    if (r->i == NULL || r->i->op != PTX_OP_setp || !is_index(r->i->types[0]))
        return false;
    r->type = r->i->types[0];
    r->same = ptx_has(r->i, PTX_M_eq) || ptx_has(r->i, PTX_M_ne);
    r->less = false;
    if (!r->same && !orders(r->i, &r->less))
        return false;
    r->equal = ptx_has(r->i, PTX_M_le) || ptx_has(r->i, PTX_M_ge) || ptx_has(r->i, PTX_M_ls) ||
               ptx_has(r->i, PTX_M_hs);
    struct uniformity s[2];
    for (int n = 0; n < 2; n++) {
        const struct ptx_operand *o = &r->i->operands[n + 1];
        s[n] = operand_uniformity(k, o);
        if (!in_segments(c, &s[n]) || !readable(c, r->at, o) ||
            (o->kind == PTX_OPR_REG && ptx_type_bits((enum ptx_type)k->regs[o->reg].type) !=
                                           ptx_type_bits((enum ptx_type)r->type)))
            return false;
    }
    r->index = s[0].stride != 0 ? 0 : 1;
    int64_t step = s[r->index].stride;
    if (s[1 - r->index].stride != 0 || !is_step(step) || (!r->same && step != 1 && step != -1))
        return false;
    r->step = step;
    r->up = step > 0;
    r->less ^= r->index == 1; /* bound > index */
    if (!r->same)
        require_no_wrap(c, r->at, &r->i->operands[r->index + 1], &s[r->index], r->type);
    return !c->failed;
}

/* i32: the lane of a segment that has the bound; others: all lanes but that. However indices wrap.
 */
static LLVMValueRef index_equal_bits(struct bound_condition *c, LLVMValueRef low, LLVMValueRef high,
                                     int64_t step, bool others)
{
    struct codegen *cg = c->cg;
    LLVMBuilderRef b = cg->alu.b;
    uint64_t lanes = 1u << c->seg;
    LLVMValueRef far = steps_over(c, LLVMBuildSub(b, high, low, ""), step);
    LLVMValueRef in =
        LLVMBuildICmp(b, LLVMIntULT, far, LLVMConstInt(LLVMTypeOf(far), lanes, false), "");
    LLVMValueRef bit = LLVMBuildShl(b, c32(cg, 1), LLVMBuildIntCast2(b, far, cg->i32, false, ""),
                                    ""); /* poison: not chosen */
    LLVMValueRef bits = LLVMBuildSelect(b, in, bit, c32(cg, 0), "");
    return others ? LLVMBuildXor(b, bits, c32(cg, (1ull << lanes) - 1), "") : bits;
}

/* i32: the lanes of a segment for which such a comparison is true, if no index wraps around. */
static LLVMValueRef index_compare_bits(struct bound_condition *c, const struct row *r, int segment)
{
    struct codegen *cg = c->cg;
    LLVMBuilderRef b = cg->alu.b;
    bool is_signed = r->type == PTX_S32 || r->type == PTX_S64;
    const struct ptx_operand *o = &r->i->operands[1];
    LLVMValueRef low = first_lane_value(c, r->at, &o[r->index], r->type, segment);
    LLVMValueRef high = first_lane_value(c, r->at, &o[1 - r->index], r->type, segment);
    if (!r->up) {
        LLVMValueRef t = low;
        low = high;
        high = t;
    }
    if (r->same)
        return index_equal_bits(c, low, high, r->step, ptx_has(r->i, PTX_M_ne));
    /* The lanes up to high - low after the first. Up: those of index < bound, or <=; down: those of
     * index > bound, or >=. Else it is the others. */
    bool others = r->less != r->up, with = r->equal != others;
    uint64_t lanes = 1u << c->seg;
    LLVMIntPredicate p =
        with ? (is_signed ? LLVMIntSLE : LLVMIntULE) : (is_signed ? LLVMIntSLT : LLVMIntULT);
    LLVMTypeRef type = LLVMTypeOf(low);
    LLVMValueRef some = LLVMBuildICmp(b, p, low, high, "");
    LLVMValueRef args[2] = {LLVMBuildSub(b, high, low, ""),
                            LLVMConstInt(type, with ? lanes - 1 : lanes, false)};
    LLVMValueRef count = intrinsic(cg, "llvm.umin", &type, 1, args, 2);
    count = LLVMBuildIntCast2(b, count, cg->i64, false, "");
    LLVMValueRef end = LLVMBuildShl(b, c64(cg, with ? 2 : 1), count, "");
    LLVMValueRef bits = LLVMBuildTrunc(b, LLVMBuildSub(b, end, c64(cg, 1), ""), cg->i32, "");
    bits = LLVMBuildSelect(b, some, bits, c32(cg, 0), "");
    return others ? LLVMBuildXor(b, bits, c32(cg, (1ull << lanes) - 1), "") : bits;
}

/* i32: the lanes of all segments, each with its own bits. */
static LLVMValueRef join_segment_bits(struct bound_condition *c, LLVMValueRef *bits)
{
    LLVMBuilderRef b = c->cg->alu.b;
    for (int n = 1; n < nsegs(c->seg); n++) {
        LLVMValueRef moved = LLVMBuildShl(b, bits[n], c32(c->cg, (uint64_t)(n << c->seg)), "");
        bits[0] = LLVMBuildOr(b, bits[0], moved, "");
    }
    return bits[0];
}

/* Segments, from the longest on: those of four and two lanes are as well compared as vectors. */
static const unsigned segments[] = {SEG_WARP, 4, 3};

/* i32: the lanes for which the condition holds, where it is one scalar for each segment; NULL: it
 * is not. */
static LLVMValueRef bits_by_segment(struct codegen *cg, const struct jblock *blk,
                                    const struct ptx_operand *cond)
{
    for (size_t n = 1; n < WEIR_COUNT(segments); n++) {
        struct bound_condition c = {.cg = cg, .seg = segments[n], .blk = blk};
        int32_t end = blk->first + blk->count;
        LLVMValueRef bits[MAX_SEGS];
        if (direction(&c, end, cond, PTX_PRED, 0) != 0 || c.failed)
            continue;
        for (int s = 0; s < nsegs(c.seg); s++)
            bits[s] = LLVMBuildSelect(cg->alu.b, value_in_lane(&c, end, cond, PTX_PRED, s << c.seg),
                                      c32(cg, (1ull << (1 << c.seg)) - 1), c32(cg, 0), "");
        return c.failed ? NULL : join_segment_bits(&c, bits);
    }
    return NULL;
}

/* Is the condition such a comparison, in segments that are worth it? Without AVX-512 a mask of 32
 * lanes takes many instructions. */
static bool find_index_compare(struct codegen *cg, const struct jblock *blk, int32_t before,
                               const struct ptx_operand *cond, struct bound_condition *c,
                               struct row *r)
{
    for (size_t n = 0; n < (cg->alu.has_avx512 ? 1 : WEIR_COUNT(segments)); n++) {
        *c = (struct bound_condition){.cg = cg, .seg = segments[n], .blk = blk};
        if (is_index_compare(c, before, cond, r))
            return true;
    }
    return false;
}

/* i32: the lanes for which it holds, if no index wraps around. */
static LLVMValueRef index_compare(struct bound_condition *c, const struct row *r, bool neg)
{
    LLVMValueRef segment[MAX_SEGS];
    for (int n = 0; n < nsegs(c->seg); n++)
        segment[n] = index_compare_bits(c, r, n);
    LLVMValueRef bits = join_segment_bits(c, segment);
    return neg ? LLVMBuildNot(c->cg->alu.b, bits, "") : bits;
}

/* ---- logic ---- */

/* i32: the lanes for which an operand holds that the instruction at `before` reads, by logic on
 * such masks; NULL: it is not available. *gains: some of it needs no vector. */
static LLVMValueRef logic_bits(struct codegen *cg, const struct jblock *blk, int32_t before,
                               const struct ptx_operand *o, int depth, bool *gains)
{
    LLVMBuilderRef b = cg->alu.b;
    struct bound_condition c = {.cg = cg, .seg = SEG_WARP, .blk = blk};
    struct row r;
    struct uniformity u = operand_uniformity(cg->k, o);
    if (before == OTHER_BLOCK || o->kind != PTX_OPR_REG)
        return NULL;
    if (is_uniform(&u))
        return LLVMBuildSExt(b, operand_scalar(cg, o, PTX_PRED, SEG_WARP, 0), cg->i32, "");
    int32_t at;
    const struct ptx_instr *i = depth < DEPTH ? defining_instr(&c, before, o->reg, &at) : NULL;
    LLVMValueRef x[2] = {NULL, NULL};
    bool logic = i != NULL && at != OTHER_BLOCK && i->types[0] == PTX_PRED && i->op != PTX_OP_setp;
    for (int n = 1; logic && n < i->noperands; n++) {
        x[n - 1] = logic_bits(cg, blk, at, &i->operands[n], depth + 1, gains);
        logic = x[n - 1] != NULL;
    }
    if (logic) {
        LLVMValueRef v = i->op == PTX_OP_not   ? LLVMBuildNot(b, x[0], "")
                         : i->op == PTX_OP_and ? LLVMBuildAnd(b, x[0], x[1], "")
                                               : LLVMBuildOr(b, x[0], x[1], "");
        return o->neg ? LLVMBuildNot(b, v, "") : v;
    }
    if (find_index_compare(cg, blk, before, o, &c, &r) && c.no_wrap == NULL) {
        *gains = true;
        return index_compare(&c, &r, o->neg);
    }
    return bits_of(cg, operand_vector(cg, o, PTX_PRED));
}

/* The same for a condition that is logic on others; NULL: it is none, or all of it is vectors. */
static LLVMValueRef bits_by_logic(struct codegen *cg, const struct jblock *blk,
                                  const struct ptx_operand *cond)
{
    struct bound_condition c = {.cg = cg, .seg = SEG_WARP, .blk = blk};
    int32_t end = blk->first + blk->count, at;
    const struct ptx_instr *i = defining_instr(&c, end, cond->reg, &at);
    bool gains = false;
    if (i == NULL || i->op == PTX_OP_setp)
        return NULL;
    LLVMValueRef bits = logic_bits(cg, blk, end, cond, 0, &gains);
    return gains ? bits : NULL;
}

LLVMValueRef branch_condition_bits(struct codegen *cg, const struct jblock *blk)
{
    LLVMBuilderRef b = cg->alu.b;
    struct bound_condition c;
    struct ptx_operand cond = {.kind = PTX_OPR_REG, .reg = blk->cond, .neg = blk->cond_neg};
    struct row r;
    LLVMValueRef bits = bits_by_segment(cg, blk, &cond);
    if (bits == NULL)
        bits = bits_by_logic(cg, blk, &cond);
    if (bits != NULL)
        return bits;
    if (!find_index_compare(cg, blk, blk->first + blk->count, &cond, &c, &r))
        return bits_of(cg, operand_vector(cg, &cond, PTX_PRED));
    if (c.no_wrap == NULL)
        return index_compare(&c, &r, cond.neg);
    LLVMBasicBlockRef wrap = new_bb(cg, "wrap"), row = new_bb(cg, "affine"),
                      join = new_bb(cg, "compared");
    LLVMBuildCondBr(b, c.no_wrap, row, wrap);
    LLVMPositionBuilderAtEnd(b, wrap);
    LLVMValueRef wrapped = bits_of(cg, operand_vector(cg, &cond, PTX_PRED));
    wrap = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, row);
    bits = index_compare(&c, &r, cond.neg);
    row = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, join);
    LLVMValueRef v = LLVMBuildPhi(b, cg->i32, "");
    LLVMAddIncoming(v, (LLVMValueRef[]){wrapped, bits}, (LLVMBasicBlockRef[]){wrap, row}, 2);
    return v;
}

/* The same by segments of one length. */
static bool from_bounds(struct bound_condition *c, const struct ptx_operand *cond,
                        LLVMValueRef *all, LLVMValueRef *none)
{
    LLVMBuilderRef b = c->cg->alu.b;
    int32_t end = c->blk->first + c->blk->count;
    int sign = direction(c, end, cond, PTX_PRED, 0);
    LLVMValueRef every = NULL, some = NULL;
    for (int n = 0; n < nsegs(c->seg) && !c->failed; n++)
        for (int last = 0; last < (sign != 0 ? 2 : 1); last++) {
            int lane = (n << c->seg) + (last ? (1 << c->seg) - 1 : 0);
            LLVMValueRef v = value_in_lane(c, end, cond, PTX_PRED, lane);
            every = every == NULL ? v : LLVMBuildAnd(b, every, v, "");
            some = some == NULL ? v : LLVMBuildOr(b, some, v, "");
        }
    if (c->failed)
        return false;
    *all = every;
    *none = LLVMBuildNot(b, some, "");
    if (c->no_wrap != NULL) {
        *all = LLVMBuildAnd(b, *all, c->no_wrap, "");
        *none = LLVMBuildAnd(b, *none, c->no_wrap, "");
    }
    return true;
}

bool branch_from_bounds(struct codegen *cg, const struct jblock *blk, LLVMValueRef *all,
                        LLVMValueRef *none)
{
    struct ptx_operand cond = {.kind = PTX_OPR_REG, .reg = blk->cond, .neg = blk->cond_neg};
    struct bound_condition c = {.cg = cg, .seg = SEG_WARP, .blk = blk};
    if (equality_from_bounds(&c, &cond, all, none))
        return true;
    for (size_t n = 0; n < WEIR_COUNT(segments); n++) {
        c = (struct bound_condition){.cg = cg, .seg = segments[n], .blk = blk};
        if (from_bounds(&c, &cond, all, none))
            return true;
    }
    return false;
}
