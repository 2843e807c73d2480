/* emit_warp: operations among the lanes of a warp. A warp is one vector, so a vote is a look at a
 * mask, a reduction is one, and a shuffle is a permutation. */
#include <string.h>

#include "compiler/codegen/codegen.h"

/* Lane indices 0..31 as <32 x i32>. */
static LLVMValueRef warp_ops_lanes(struct emit *e)
{
    return lane_constants(e, e->i32, 1, SEG_WARP);
}

/* Lanes that take part: those active and named by the instruction's member mask. */
static LLVMValueRef warp_ops_members(struct emit *e, const struct ptx_operand *mask)
{
    struct shape s = shape_operand(e->k, mask);
    LLVMValueRef active = mask_bits(e);
    if (mask->kind == PTX_OPR_IMM && (uint32_t)mask->imm == 0xffffffffu)
        return active;
    LLVMValueRef m;
    if (shape_uniform(&s)) {
        m = operand_scalar(e, mask, PTX_B32, SEG_WARP, 0);
    } else {
        /* each lane names its own set; a lane takes part if it is in its own */
        LLVMValueRef v = operand_vector(e, mask, PTX_B32);
        v = LLVMBuildLShr(e->alu.b, v, warp_ops_lanes(e), "");
        m = bits_of(e, LLVMBuildTrunc(e->alu.b, v, e->v32i1, ""));
    }
    return LLVMBuildAnd(e->alu.b, m, active, "");
}

/* a[idx[l]] for every lane; idx within 0..31. */
static LLVMValueRef permute(struct emit *e, LLVMValueRef a, LLVMValueRef idx)
{
    LLVMBuilderRef b = e->alu.b;
    if (LLVMIsConstant(idx))
        return LLVMBuildShuffleVector(b, a, LLVMGetPoison(LLVMTypeOf(a)), idx, "");
    if (e->alu.has_avx512) {
        /* two-source permutation: 32 words as two vectors of 16 */
        LLVMValueRef lo[16], hi[16], all[32];
        for (unsigned l = 0; l < 16; l++) {
            lo[l] = c32(e, l);
            hi[l] = c32(e, l + 16);
        }
        for (unsigned l = 0; l < 32; l++)
            all[l] = c32(e, l);
        LLVMValueRef clo = LLVMConstVector(lo, 16), chi = LLVMConstVector(hi, 16);
        LLVMValueRef none = LLVMGetPoison(LLVMTypeOf(a)), r[2];
        LLVMValueRef a0 = LLVMBuildShuffleVector(b, a, none, clo, "");
        LLVMValueRef a1 = LLVMBuildShuffleVector(b, a, none, chi, "");
        for (int h = 0; h < 2; h++) {
            LLVMValueRef i = LLVMBuildShuffleVector(b, idx, none, h ? chi : clo, "");
            LLVMValueRef args[3] = {a0, i, a1};
            r[h] = intrinsic(e, "llvm.x86.avx512.vpermi2var.d.512", NULL, 0, args, 3);
        }
        return LLVMBuildShuffleVector(b, r[0], r[1], LLVMConstVector(all, 32), "");
    }
    LLVMValueRef slot = new_slot(e, LLVMTypeOf(a), "shfl");
    LLVMBuildStore(b, a, slot);
    LLVMTypeRef pv = LLVMVectorType(e->ptr, JIT_WARP);
    LLVMValueRef p = LLVMBuildGEP2(b, e->i32, slot, &idx, 1, "");
    LLVMValueRef args[4] = {p, c32(e, 4), LLVMConstAllOnes(e->v32i1), LLVMConstNull(e->v32i32)};
    return intrinsic(e, "llvm.masked.gather", (LLVMTypeRef[]){e->v32i32, pv}, 2, args, 4);
}

static LLVMValueRef vec32(struct emit *e, uint32_t v) { return splat(e, c32(e, v), JIT_WARP); }

/* PTX ISA, shfl: segments of lanes by the mask in c's bits 8..12, a bound in its bits 0..4. */
static bool emit_shfl(struct emit *e, const struct ptx_instr *i)
{
    LLVMBuilderRef b = e->alu.b;
    int nd = jit_ndst(i);
    const struct ptx_operand *o = &i->operands[nd];
    LLVMValueRef a = operand_vector(e, &o[0], PTX_B32);
    LLVMValueRef bv = LLVMBuildAnd(b, operand_vector(e, &o[1], PTX_B32), vec32(e, 31), "");
    LLVMValueRef c = operand_vector(e, &o[2], PTX_B32);
    LLVMValueRef lane = warp_ops_lanes(e);
    LLVMValueRef bound = LLVMBuildAnd(b, c, vec32(e, 31), "");
    LLVMValueRef segmask = LLVMBuildLShr(b, c, vec32(e, 8), "");
    segmask = LLVMBuildAnd(b, segmask, vec32(e, 31), "");
    LLVMValueRef inv = LLVMBuildXor(b, segmask, vec32(e, 31), "");
    LLVMValueRef low = LLVMBuildAnd(b, lane, segmask, "");
    LLVMValueRef max = LLVMBuildOr(b, low, LLVMBuildAnd(b, bound, inv, ""), "");
    LLVMValueRef j, in;
    if (ptx_has(i, PTX_M_up)) {
        j = LLVMBuildSub(b, lane, bv, "");
        in = LLVMBuildICmp(b, LLVMIntSGE, j, max, "");
    } else if (ptx_has(i, PTX_M_down)) {
        j = LLVMBuildAdd(b, lane, bv, "");
        in = LLVMBuildICmp(b, LLVMIntSLE, j, max, "");
    } else if (ptx_has(i, PTX_M_bfly)) {
        j = LLVMBuildXor(b, lane, bv, "");
        in = LLVMBuildICmp(b, LLVMIntSLE, j, max, "");
    } else {
        j = LLVMBuildOr(b, low, LLVMBuildAnd(b, bv, inv, ""), "");
        in = LLVMBuildICmp(b, LLVMIntSLE, j, max, "");
    }
    j = LLVMBuildSelect(b, in, j, lane, "");
    j = LLVMBuildAnd(b, j, vec32(e, 31), "");
    if (i->operands[0].kind == PTX_OPR_REG)
        write_vector(e, i->operands[0].reg, permute(e, a, j), i->types[0]);
    if (nd > 1 && i->operands[1].kind == PTX_OPR_REG)
        write_vector(e, i->operands[1].reg, in, PTX_PRED);
    return true;
}

/* Active lanes for which a predicate operand holds, among `members`. */
static LLVMValueRef voters(struct emit *e, const struct ptx_operand *p, LLVMValueRef members)
{
    LLVMBuilderRef b = e->alu.b;
    struct shape s = shape_operand(e->k, p);
    if (shape_uniform(&s)) {
        LLVMValueRef v = operand_scalar(e, p, PTX_PRED, SEG_WARP, 0);
        return LLVMBuildSelect(b, v, members, c32(e, 0), "");
    }
    return LLVMBuildAnd(b, bits_of(e, operand_vector(e, p, PTX_PRED)), members, "");
}

/* A vote in which lanes name different member sets: every lane looks at its own. */
static bool emit_group_vote(struct emit *e, const struct ptx_instr *i)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef own = operand_vector(e, &i->operands[i->noperands - 1], PTX_B32);
    own = LLVMBuildAnd(b, own, splat(e, mask_bits(e), JIT_WARP), "");
    LLVMValueRef yes = splat(e, voters(e, &i->operands[1], mask_bits(e)), JIT_WARP);
    yes = LLVMBuildAnd(b, yes, own, "");
    LLVMValueRef none = LLVMConstNull(e->v32i32);
    LLVMValueRef all = LLVMBuildICmp(b, LLVMIntEQ, yes, own, "");
    if (ptx_has(i, PTX_M_ballot))
        write_vector(e, i->operands[0].reg, yes, PTX_B32);
    else if (ptx_has(i, PTX_M_all))
        write_vector(e, i->operands[0].reg, all, PTX_PRED);
    else if (ptx_has(i, PTX_M_any))
        write_vector(e, i->operands[0].reg, LLVMBuildICmp(b, LLVMIntNE, yes, none, ""), PTX_PRED);
    else
        write_vector(e, i->operands[0].reg,
                     LLVMBuildOr(b, all, LLVMBuildICmp(b, LLVMIntEQ, yes, none, ""), ""), PTX_PRED);
    return true;
}

static bool emit_vote(struct emit *e, const struct ptx_instr *i)
{
    LLVMBuilderRef b = e->alu.b;
    struct shape sh = shape_of(e->k, i, 0);
    if (sh.seg == SEG_NONE)
        return emit_group_vote(e, i);
    LLVMValueRef members = mask_bits(e);
    if (ptx_has(i, PTX_M_sync))
        members = warp_ops_members(e, &i->operands[i->noperands - 1]);
    LLVMValueRef yes = voters(e, &i->operands[1], members), r;
    unsigned type = PTX_PRED;
    if (ptx_has(i, PTX_M_ballot)) {
        r = yes;
        type = PTX_B32;
    } else if (ptx_has(i, PTX_M_all)) {
        r = LLVMBuildICmp(b, LLVMIntEQ, yes, members, "");
    } else if (ptx_has(i, PTX_M_any)) {
        r = LLVMBuildICmp(b, LLVMIntNE, yes, c32(e, 0), "");
    } else {
        LLVMValueRef all = LLVMBuildICmp(b, LLVMIntEQ, yes, members, "");
        r = LLVMBuildOr(b, all, LLVMBuildICmp(b, LLVMIntEQ, yes, c32(e, 0), ""), "");
    }
    write_uniform(e, i->operands[0].reg, r, type);
    return true;
}

/* match: lanes with equal values find each other, each among the members that it names. */
struct match {
    LLVMValueRef v, out; /* values, array of 32 results */
};

static void match_body(struct emit *e, LLVMValueRef lane, void *arg)
{
    const struct match *m = arg;
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef x = splat(e, LLVMBuildExtractElement(b, m->v, lane, ""), JIT_WARP);
    LLVMValueRef same = bits_of(e, LLVMBuildICmp(b, LLVMIntEQ, m->v, x, ""));
    LLVMBuildStore(b, same, LLVMBuildGEP2(b, e->i32, m->out, &lane, 1, ""));
}

static bool emit_match(struct emit *e, const struct ptx_instr *i)
{
    LLVMBuilderRef b = e->alu.b;
    int nd = jit_ndst(i);
    struct match m = {.v = operand_vector(e, &i->operands[nd], i->types[0]),
                      .out = new_slot(e, e->v32i32, "match")};
    LLVMValueRef own = operand_vector(e, &i->operands[nd + 1], PTX_B32);
    own = LLVMBuildAnd(b, own, splat(e, mask_bits(e), JIT_WARP), "");
    LLVMBuildStore(b, LLVMConstNull(e->v32i32), m.out);
    for_active_lanes(e, mask_bits(e), match_body, &m);
    LLVMValueRef r = LLVMBuildLoad2(b, e->v32i32, m.out, "");
    r = LLVMBuildAnd(b, r, own, "");
    if (ptx_has(i, PTX_M_all)) {
        LLVMValueRef eq = LLVMBuildICmp(b, LLVMIntEQ, r, own, "");
        r = LLVMBuildSelect(b, eq, r, LLVMConstNull(e->v32i32), "");
        if (nd > 1 && i->operands[1].kind == PTX_OPR_REG)
            write_vector(e, i->operands[1].reg, eq, PTX_PRED);
    }
    if (i->operands[0].kind == PTX_OPR_REG)
        write_vector(e, i->operands[0].reg, r, PTX_B32);
    return true;
}

/* redux over groups: each lane's result is the reduction over the members that it names. */
struct redux {
    const char *name;
    uint32_t identity;
    LLVMValueRef v, own, out;
};

static void redux_body(struct emit *e, LLVMValueRef lane, void *arg)
{
    const struct redux *r = arg;
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef set = LLVMBuildExtractElement(b, r->own, lane, "");
    LLVMValueRef v = LLVMBuildSelect(b, lanes_of(e, set), r->v, vec32(e, r->identity), "");
    v = intrinsic(e, r->name, &e->v32i32, 1, &v, 1);
    LLVMBuildStore(b, v, LLVMBuildGEP2(b, e->i32, r->out, &lane, 1, ""));
}

static bool emit_redux(struct emit *e, const struct ptx_instr *i)
{
    LLVMBuilderRef b = e->alu.b;
    unsigned t = i->types[0];
    bool is_signed = t == PTX_S32;
    if (ptx_type_is_float((enum ptx_type)t))
        return diag_set(e->k->diag, i->line, i->column, "redux.f32 is not supported");
    LLVMValueRef v = operand_vector(e, &i->operands[1], t);
    const char *name;
    uint32_t id = 0;
    if (ptx_has(i, PTX_M_add)) {
        name = "llvm.vector.reduce.add";
    } else if (ptx_has(i, PTX_M_min)) {
        name = is_signed ? "llvm.vector.reduce.smin" : "llvm.vector.reduce.umin";
        id = is_signed ? 0x7fffffffu : 0xffffffffu;
    } else if (ptx_has(i, PTX_M_max)) {
        name = is_signed ? "llvm.vector.reduce.smax" : "llvm.vector.reduce.umax";
        id = is_signed ? 0x80000000u : 0;
    } else if (ptx_has(i, PTX_M_and)) {
        name = "llvm.vector.reduce.and";
        id = 0xffffffffu;
    } else {
        name = ptx_has(i, PTX_M_or) ? "llvm.vector.reduce.or" : "llvm.vector.reduce.xor";
    }
    struct shape sh = shape_of(e->k, i, 0);
    if (sh.seg == SEG_NONE) {
        LLVMValueRef own = operand_vector(e, &i->operands[2], PTX_B32);
        own = LLVMBuildAnd(b, own, splat(e, mask_bits(e), JIT_WARP), "");
        struct redux r = {name, id, v, own, new_slot(e, e->v32i32, "redux")};
        for_active_lanes(e, mask_bits(e), redux_body, &r);
        write_vector(e, i->operands[0].reg, LLVMBuildLoad2(b, e->v32i32, r.out, ""), t);
        return true;
    }
    LLVMValueRef members = warp_ops_members(e, &i->operands[2]);
    v = LLVMBuildSelect(b, lanes_of(e, members), v, vec32(e, id), "");
    write_uniform(e, i->operands[0].reg, intrinsic(e, name, &e->v32i32, 1, &v, 1), t);
    return true;
}

static bool emit_elect(struct emit *e, const struct ptx_instr *i)
{
    LLVMBuilderRef b = e->alu.b;
    int nd = jit_ndst(i);
    LLVMValueRef members = warp_ops_members(e, &i->operands[nd]);
    LLVMValueRef args[2] = {members, LLVMConstInt(e->i1, 0, false)};
    LLVMValueRef leader = intrinsic(e, "llvm.cttz", &e->i32, 1, args, 2);
    if (i->operands[0].kind == PTX_OPR_REG)
        write_uniform(e, i->operands[0].reg, leader, PTX_B32);
    if (nd > 1 && i->operands[1].kind == PTX_OPR_REG) {
        LLVMValueRef me =
            LLVMBuildICmp(b, LLVMIntEQ, warp_ops_lanes(e), splat(e, leader, JIT_WARP), "");
        write_vector(e, i->operands[1].reg, me, PTX_PRED);
    }
    return true;
}

bool emit_warp_op(struct emit *e, const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_shfl: return emit_shfl(e, i);
    case PTX_OP_vote: return emit_vote(e, i);
    case PTX_OP_match: return emit_match(e, i);
    case PTX_OP_redux: return emit_redux(e, i);
    case PTX_OP_elect: return emit_elect(e, i);
    default: /* activemask */
        write_uniform(e, i->operands[0].reg, mask_bits(e), PTX_B32);
        return true;
    }
}
