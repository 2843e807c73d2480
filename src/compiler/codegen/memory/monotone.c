/* monotone.c: whether lanes are neighbours, by a segment's first and last lane alone.
 *
 * Indices that programs bound (`min(max(x, 0), w - 1)`, and a row's start added) do not fall from
 * lane to lane, and rise by one at most. If the last lane's is as many further as there are lanes
 * between, each has risen by one. So two scalars tell what takes a comparison of a whole vector
 * otherwise, and the vector of indices is needed only where lanes are no neighbours. */
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/values.h"

enum {
    MOST_DEPTH = 8,     /* instructions that an index is followed through, one after the other */
    MOST_STEP = 1 << 20 /* so that a segment spans less than 2^31 */
};

struct monotone {
    struct codegen *cg;
    int32_t here; /* the instruction that accesses memory */
    unsigned seg;
    LLVMValueRef lane[MAX_SEGS]; /* i32: the last lane of each segment, from its first on */
    LLVMValueRef ok;             /* i1: nothing that was followed wraps around */
};

/* A value in the first and in the last lane of each segment. From lane to lane it rises by 0 to
 * `step`, as numbers of 32 bits that may wrap around. */
struct ends {
    LLVMValueRef first[MAX_SEGS], last[MAX_SEGS];
    int64_t step;
};

static bool is_plain(const struct ptx_instr *i)
{
    unsigned t = i->types[0];
    return i->guard < 0 && i->ntypes == 1 && (t == PTX_S32 || t == PTX_U32 || t == PTX_B32) &&
           !ptx_has(i, PTX_M_sat) && !ptx_has(i, PTX_M_cc) && !ptx_has(i, PTX_M_hi) &&
           !ptx_has(i, PTX_M_wide) && !ptx_has(i, PTX_M_relu);
}

/* An operand that is affine in each segment. */
static bool affine_ends(struct monotone *m, const struct ptx_operand *o, int32_t at, struct ends *e)
{
    struct codegen *cg = m->cg;
    struct uniformity u = operand_uniformity(cg->k, o);
    if (u.seg < m->seg || u.brk != 0 || u.stride < 0 || u.stride > MOST_STEP ||
        (o->kind == PTX_OPR_REG && last_write(cg->k, cg->cur, m->here, o->reg) >= at))
        return false;
    e->step = u.stride;
    for (int s = 0; s < nsegs(m->seg); s++) {
        LLVMValueRef step = c32(cg, (uint64_t)u.stride);
        e->first[s] = operand_scalar(cg, o, PTX_U32, m->seg, s);
        e->last[s] =
            LLVMBuildAdd(cg->alu.b, e->first[s], LLVMBuildMul(cg->alu.b, m->lane[s], step, ""), "");
    }
    return true;
}

/* A bound keeps what is monotone so, if it is in the order in which the bound compares. */
static void is_in_order(struct monotone *m, const struct ends *e, bool is_signed)
{
    LLVMBuilderRef b = m->cg->alu.b;
    for (int s = 0; e->step != 0 && s < nsegs(m->seg); s++)
        m->ok = LLVMBuildAnd(
            b, m->ok,
            LLVMBuildICmp(b, is_signed ? LLVMIntSLE : LLVMIntULE, e->first[s], e->last[s], ""), "");
}

static LLVMValueRef bounded(struct codegen *cg, const struct ptx_instr *i, LLVMValueRef x,
                            LLVMValueRef y)
{
    bool is_signed = i->types[0] == PTX_S32;
    const char *name = i->op == PTX_OP_min ? (is_signed ? "llvm.smin" : "llvm.umin")
                                           : (is_signed ? "llvm.smax" : "llvm.umax");
    return intrinsic(cg, name, &cg->i32, 1, (LLVMValueRef[]){x, y}, 2);
}

static LLVMValueRef combined(struct codegen *cg, const struct ptx_instr *i, const LLVMValueRef *v)
{
    LLVMBuilderRef b = cg->alu.b;
    switch (i->op) {
    case PTX_OP_add: return LLVMBuildAdd(b, v[0], v[1], "");
    case PTX_OP_sub: return LLVMBuildSub(b, v[0], v[1], "");
    case PTX_OP_mul: return LLVMBuildMul(b, v[0], v[1], "");
    case PTX_OP_mad: return LLVMBuildAdd(b, LLVMBuildMul(b, v[0], v[1], ""), v[2], "");
    default: return bounded(cg, i, v[0], v[1]);
    }
}

/* Of what instruction i makes of operands that are monotone: by how much it rises at most. False:
 * it may fall, or nothing is known. */
static bool step_of(const struct ptx_instr *i, const struct ends *e, int64_t *step)
{
    switch (i->op) {
    case PTX_OP_add: *step = e[0].step + e[1].step; return true;
    case PTX_OP_sub: *step = e[0].step; return e[1].step == 0;
    case PTX_OP_mul: *step = 0; return e[0].step == 0 && e[1].step == 0;
    case PTX_OP_mad: *step = e[2].step; return e[0].step == 0 && e[1].step == 0;
    case PTX_OP_min:
    case PTX_OP_max:
        *step = e[0].step > e[1].step ? e[0].step : e[1].step;
        return i->types[0] != PTX_B32;
    default: return false;
    }
}

/* The ends of an operand of the instruction at `at`. */
static bool find_ends(struct monotone *m, const struct ptx_operand *o, int32_t at, int depth,
                      struct ends *e)
{
    const struct jkernel *k = m->cg->k;
    if (operand_uniformity(k, o).seg != SEG_NONE)
        return affine_ends(m, o, at, e);
    int32_t from = o->kind == PTX_OPR_REG ? last_write(k, m->cg->cur, at, o->reg) : -1;
    if (from < 0 || depth == 0 || !is_plain(&k->instrs[from]))
        return false;
    const struct ptx_instr *i = &k->instrs[from];
    struct ends of[3] = {{.step = 0}};
    int n = i->noperands - 1;
    if (n < 2 || n > 3 || (n == 3) != (i->op == PTX_OP_mad))
        return false;
    for (int x = 0; x < n; x++)
        if (!find_ends(m, &i->operands[x + 1], from, depth - 1, &of[x]))
            return false;
    if (!step_of(i, of, &e->step) || e->step > MOST_STEP)
        return false;
    for (int x = 0; x < n && (i->op == PTX_OP_min || i->op == PTX_OP_max); x++)
        is_in_order(m, &of[x], i->types[0] == PTX_S32);
    for (int s = 0; s < nsegs(m->seg); s++) {
        LLVMValueRef first[3], last[3];
        for (int x = 0; x < n; x++)
            first[x] = of[x].first[s], last[x] = of[x].last[s];
        e->first[s] = combined(m->cg, i, first);
        e->last[s] = combined(m->cg, i, last);
    }
    return true;
}

/* The last active lane of segment s, or its first one if there is none. */
static LLVMValueRef last_lane(struct codegen *cg, unsigned seg, int s)
{
    LLVMBuilderRef b = cg->alu.b;
    uint64_t all = (1ull << (1u << seg)) - 1;
    if (cg->mask == NULL)
        return c32(cg, (1u << seg) - 1);
    LLVMValueRef active = LLVMBuildLShr(b, cg->mask, c32(cg, (uint64_t)(s << seg)), "");
    active = LLVMBuildOr(b, LLVMBuildAnd(b, active, c32(cg, all), ""), c32(cg, 1), "");
    LLVMValueRef args[2] = {active, LLVMConstInt(cg->i1, 1, false)};
    return LLVMBuildSub(b, c32(cg, JIT_WARP - 1), intrinsic(cg, "llvm.ctlz", &cg->i32, 1, args, 2),
                        "");
}

LLVMValueRef monotone_adjacent(struct codegen *cg, const struct access *a,
                               const struct lane_addresses *w, unsigned seg, LLVMValueRef *first)
{
    LLVMBuilderRef b = cg->alu.b;
    struct monotone m = {.cg = cg,
                         .here = (int32_t)(a->i - cg->k->instrs),
                         .seg = seg,
                         .ok = LLVMConstInt(cg->i1, 1, false)};
    struct ends e;
    /* comparisons of vectors that give masks are as short as this */
    if (cg->alu.has_avx512 || w->of == NULL || cg->serialized->active)
        return NULL;
    for (int s = 0; s < nsegs(seg); s++)
        m.lane[s] = last_lane(cg, seg, s);
    if (!find_ends(&m, w->of, w->read, MOST_DEPTH, &e) || e.step != 1)
        return NULL;
    for (int s = 0; s < nsegs(seg); s++) {
        LLVMValueRef rise = LLVMBuildSub(b, e.last[s], e.first[s], "");
        m.ok = LLVMBuildAnd(b, m.ok, LLVMBuildICmp(b, LLVMIntEQ, rise, m.lane[s], ""), "");
        first[s] = e.first[s];
    }
    return m.ok;
}
