/* warp_ops.c: operations among the lanes of a warp. A warp is one vector, so a vote is a test of a
 * mask, a reduction is a vector reduction, and a shuffle is a permutation. */
#include "compiler/codegen/memory/defined.h"
#include "compiler/codegen/module_function.h"
#include "compiler/codegen/values.h"
#include "compiler/codegen/warp/warp.h"

/* Lane indices 0..31 as <32 x i32>. */
static LLVMValueRef lane_indices(struct codegen *cg)
{
    return lane_constants(cg, cg->i32, 1, SEG_WARP);
}

/* Lanes that take part: those active and named by the instruction's member mask. */
static LLVMValueRef member_lanes(struct codegen *cg, const struct ptx_operand *mask)
{
    struct uniformity s = operand_uniformity(cg->k, mask);
    LLVMValueRef active = mask_bits(cg);
    if (mask->kind == PTX_OPR_IMM && (uint32_t)mask->imm == 0xffffffffu)
        return active;
    LLVMValueRef m;
    if (is_uniform(&s)) {
        m = operand_scalar(cg, mask, PTX_B32, SEG_WARP, 0);
    } else {
        /* each lane names its own set; a lane takes part if it is in its own */
        LLVMValueRef v = operand_vector(cg, mask, PTX_B32);
        v = LLVMBuildLShr(cg->alu.b, v, lane_indices(cg), "");
        m = bits_of(cg, LLVMBuildTrunc(cg->alu.b, v, cg->v32i1, ""));
    }
    return LLVMBuildAnd(cg->alu.b, m, active, "");
}

/* a[idx[l]] for every lane; idx within 0..31. */
static LLVMValueRef permute(struct codegen *cg, LLVMValueRef a, LLVMValueRef idx)
{
    LLVMBuilderRef b = cg->alu.b;
    if (LLVMIsConstant(idx))
        return LLVMBuildShuffleVector(b, a, LLVMGetPoison(LLVMTypeOf(a)), idx, "");
    if (cg->alu.has_avx512) {
        /* two-source permutation: 32 words as two vectors of 16 */
        LLVMValueRef lo[16], hi[16], all[32];
        for (unsigned l = 0; l < 16; l++) {
            lo[l] = c32(cg, l);
            hi[l] = c32(cg, l + 16);
        }
        for (unsigned l = 0; l < 32; l++)
            all[l] = c32(cg, l);
        LLVMValueRef clo = LLVMConstVector(lo, 16), chi = LLVMConstVector(hi, 16);
        LLVMValueRef none = LLVMGetPoison(LLVMTypeOf(a)), r[2];
        LLVMValueRef a0 = LLVMBuildShuffleVector(b, a, none, clo, "");
        LLVMValueRef a1 = LLVMBuildShuffleVector(b, a, none, chi, "");
        for (int h = 0; h < 2; h++) {
            LLVMValueRef i = LLVMBuildShuffleVector(b, idx, none, h ? chi : clo, "");
            LLVMValueRef args[3] = {a0, i, a1};
            r[h] = intrinsic(cg, "llvm.x86.avx512.vpermi2var.d.512", NULL, 0, args, 3);
        }
        return LLVMBuildShuffleVector(b, r[0], r[1], LLVMConstVector(all, 32), "");
    }
    LLVMValueRef slot = new_slot(cg, LLVMTypeOf(a), "shfl");
    LLVMBuildStore(b, a, slot);
    LLVMTypeRef pv = LLVMVectorType(cg->ptr, JIT_WARP);
    LLVMValueRef p = LLVMBuildGEP2(b, cg->i32, slot, &idx, 1, "");
    LLVMValueRef args[4] = {p, c32(cg, 4), LLVMConstAllOnes(cg->v32i1), LLVMConstNull(cg->v32i32)};
    return intrinsic(cg, "llvm.masked.gather", (LLVMTypeRef[]){cg->v32i32, pv}, 2, args, 4);
}

static LLVMValueRef vec32(struct codegen *cg, uint32_t v)
{
    return splat(cg, c32(cg, v), JIT_WARP);
}

/* A shuffle that gives one lane's value to all of them: a scalar. */
static void emit_broadcast(struct codegen *cg, const struct ptx_instr *i, LLVMValueRef from)
{
    LLVMBuilderRef b = cg->alu.b;
    const struct ptx_operand *d = i->operands;
    LLVMValueRef lane = operand_scalar(cg, &d[jit_ndst(i) + 1], PTX_B32, SEG_WARP, 0);
    lane = LLVMBuildAnd(b, lane, c32(cg, 31), "");
    if (d[0].kind == PTX_OPR_REG)
        write_uniform(cg, d[0].reg, LLVMBuildExtractElement(b, from, lane, ""), i->types[0]);
    if (jit_ndst(i) > 1 && d[1].kind == PTX_OPR_REG)
        write_uniform(cg, d[1].reg, LLVMConstInt(cg->i1, 1, false), PTX_PRED);
}

/* PTX ISA, shfl: segments of lanes by the mask in c's bits 8..12, a bound in its bits 0..4. A lane
 * that does not execute the instruction (it diverged, has exited, or the block is smaller than the
 * warp) gives 0: PTX leaves that open, GPUs do so and programs rely on it. */
static bool emit_shfl(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    int nd = jit_ndst(i);
    const struct ptx_operand *o = &i->operands[nd];
    LLVMValueRef a = operand_vector(cg, &o[0], PTX_B32);
    LLVMValueRef active = mask_vector(cg);
    if (active != NULL)
        a = LLVMBuildSelect(b, active, a, LLVMConstNull(cg->v32i32), "");
    struct uniformity result = uniformity_of(cg->k, i, 0);
    if (is_uniform(&result)) {
        emit_broadcast(cg, i, a);
        return true;
    }
    LLVMValueRef bv = LLVMBuildAnd(b, operand_vector(cg, &o[1], PTX_B32), vec32(cg, 31), "");
    LLVMValueRef c = operand_vector(cg, &o[2], PTX_B32);
    LLVMValueRef lane = lane_indices(cg);
    LLVMValueRef bound = LLVMBuildAnd(b, c, vec32(cg, 31), "");
    LLVMValueRef segmask = LLVMBuildLShr(b, c, vec32(cg, 8), "");
    segmask = LLVMBuildAnd(b, segmask, vec32(cg, 31), "");
    LLVMValueRef inv = LLVMBuildXor(b, segmask, vec32(cg, 31), "");
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
    j = LLVMBuildAnd(b, j, vec32(cg, 31), "");
    if (i->operands[0].kind == PTX_OPR_REG)
        write_vector(cg, i->operands[0].reg, permute(cg, a, j), i->types[0]);
    if (nd > 1 && i->operands[1].kind == PTX_OPR_REG)
        write_vector(cg, i->operands[1].reg, in, PTX_PRED);
    return true;
}

/* Active lanes for which a predicate operand holds, among `members`. */
static LLVMValueRef voting_lanes(struct codegen *cg, const struct ptx_operand *p,
                                 LLVMValueRef members)
{
    LLVMBuilderRef b = cg->alu.b;
    struct uniformity s = operand_uniformity(cg->k, p);
    if (is_uniform(&s)) {
        LLVMValueRef v = operand_scalar(cg, p, PTX_PRED, SEG_WARP, 0);
        return LLVMBuildSelect(b, v, members, c32(cg, 0), "");
    }
    return LLVMBuildAnd(b, bits_of(cg, operand_vector(cg, p, PTX_PRED)), members, "");
}

/* A vote in which lanes name different member sets: every lane tests its own. */
static bool emit_group_vote(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef own = operand_vector(cg, &i->operands[i->noperands - 1], PTX_B32);
    own = LLVMBuildAnd(b, own, splat(cg, mask_bits(cg), JIT_WARP), "");
    LLVMValueRef yes = splat(cg, voting_lanes(cg, &i->operands[1], mask_bits(cg)), JIT_WARP);
    yes = LLVMBuildAnd(b, yes, own, "");
    LLVMValueRef none = LLVMConstNull(cg->v32i32);
    LLVMValueRef all = LLVMBuildICmp(b, LLVMIntEQ, yes, own, "");
    if (ptx_has(i, PTX_M_ballot))
        write_vector(cg, i->operands[0].reg, yes, PTX_B32);
    else if (ptx_has(i, PTX_M_all))
        write_vector(cg, i->operands[0].reg, all, PTX_PRED);
    else if (ptx_has(i, PTX_M_any))
        write_vector(cg, i->operands[0].reg, LLVMBuildICmp(b, LLVMIntNE, yes, none, ""), PTX_PRED);
    else
        write_vector(cg, i->operands[0].reg,
                     LLVMBuildOr(b, all, LLVMBuildICmp(b, LLVMIntEQ, yes, none, ""), ""), PTX_PRED);
    return true;
}

static bool emit_vote(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    struct uniformity sh = uniformity_of(cg->k, i, 0);
    if (sh.seg == SEG_NONE)
        return emit_group_vote(cg, i);
    LLVMValueRef members = mask_bits(cg);
    if (ptx_has(i, PTX_M_sync))
        members = member_lanes(cg, &i->operands[i->noperands - 1]);
    LLVMValueRef yes = voting_lanes(cg, &i->operands[1], members), r;
    unsigned type = PTX_PRED;
    if (ptx_has(i, PTX_M_ballot)) {
        r = yes;
        type = PTX_B32;
    } else if (ptx_has(i, PTX_M_all)) {
        r = LLVMBuildICmp(b, LLVMIntEQ, yes, members, "");
    } else if (ptx_has(i, PTX_M_any)) {
        r = LLVMBuildICmp(b, LLVMIntNE, yes, c32(cg, 0), "");
    } else {
        LLVMValueRef all = LLVMBuildICmp(b, LLVMIntEQ, yes, members, "");
        r = LLVMBuildOr(b, all, LLVMBuildICmp(b, LLVMIntEQ, yes, c32(cg, 0), ""), "");
    }
    write_uniform(cg, i->operands[0].reg, r, type);
    return true;
}

/* redux over groups: each lane's result is the reduction over the members that it names. */
struct redux {
    const char *name;
    uint32_t identity;
    LLVMValueRef v, own, out;
};

static void redux_body(struct codegen *cg, LLVMValueRef lane, void *arg)
{
    const struct redux *r = arg;
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef set = LLVMBuildExtractElement(b, r->own, lane, "");
    LLVMValueRef v = LLVMBuildSelect(b, lanes_of(cg, set), r->v, vec32(cg, r->identity), "");
    v = intrinsic(cg, r->name, &cg->v32i32, 1, &v, 1);
    LLVMBuildStore(b, v, LLVMBuildGEP2(b, cg->i32, r->out, &lane, 1, ""));
}

/* Floats are reduced as integers of the same order: bits of negative ones are inverted but for the
 * sign. It is its own inverse. */
static LLVMValueRef ordered_bits(struct codegen *cg, LLVMValueRef v)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef flip = LLVMBuildAShr(b, v, vec32(cg, 31), "");
    return LLVMBuildXor(b, v, LLVMBuildAnd(b, flip, vec32(cg, 0x7fffffff), ""), "");
}

static LLVMValueRef is_nan_bits(struct codegen *cg, LLVMValueRef v)
{
    LLVMValueRef size = LLVMBuildAnd(cg->alu.b, v, vec32(cg, 0x7fffffff), "");
    return LLVMBuildICmp(cg->alu.b, LLVMIntUGT, size, vec32(cg, 0x7f800000), "");
}

/* A NaN stands at the end of the order where it is lost, or with .NaN at the one where it wins. */
static LLVMValueRef redux_float_source(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef v =
        LLVMBuildBitCast(b, operand_vector(cg, &i->operands[1], PTX_F32), cg->v32i32, "");
    LLVMValueRef nan = is_nan_bits(cg, v);
    if (ptx_has(i, PTX_M_abs))
        v = LLVMBuildAnd(b, v, vec32(cg, 0x7fffffff), "");
    bool high = ptx_has(i, PTX_M_min) != ptx_has(i, PTX_M_NaN);
    return LLVMBuildSelect(b, nan, vec32(cg, high ? 0x7fffffff : 0x80000000), ordered_bits(cg, v),
                           "");
}

/* The float of an ordered integer (a scalar or a vector), every NaN being the canonical one. */
static LLVMValueRef redux_float_result(struct codegen *cg, LLVMValueRef v)
{
    LLVMBuilderRef b = cg->alu.b;
    bool vector = LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
    LLVMValueRef all = ordered_bits(cg, vector ? v : splat(cg, v, JIT_WARP));
    all = LLVMBuildSelect(b, is_nan_bits(cg, all), vec32(cg, 0x7fffffff), all, "");
    if (vector)
        return LLVMBuildBitCast(b, all, LLVMVectorType(cg->f32, JIT_WARP), "");
    return LLVMBuildBitCast(b, LLVMBuildExtractElement(b, all, c32(cg, 0), ""), cg->f32, "");
}

static bool emit_redux(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned t = i->types[0];
    bool is_float = t == PTX_F32, is_signed = t == PTX_S32 || is_float;
    LLVMValueRef v = is_float ? redux_float_source(cg, i) : operand_vector(cg, &i->operands[1], t);
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
    struct uniformity sh = uniformity_of(cg->k, i, 0);
    if (sh.seg == SEG_NONE) {
        LLVMValueRef own = operand_vector(cg, &i->operands[2], PTX_B32);
        own = LLVMBuildAnd(b, own, splat(cg, mask_bits(cg), JIT_WARP), "");
        struct redux r = {name, id, v, own, new_slot(cg, cg->v32i32, "redux")};
        for_active_lanes(cg, mask_bits(cg), redux_body, &r);
        v = LLVMBuildLoad2(b, cg->v32i32, r.out, "");
        write_vector(cg, i->operands[0].reg, is_float ? redux_float_result(cg, v) : v, t);
        return true;
    }
    LLVMValueRef members = member_lanes(cg, &i->operands[2]);
    v = LLVMBuildSelect(b, lanes_of(cg, members), v, vec32(cg, id), "");
    v = intrinsic(cg, name, &cg->v32i32, 1, &v, 1);
    write_uniform(cg, i->operands[0].reg, is_float ? redux_float_result(cg, v) : v, t);
    return true;
}

static bool emit_elect(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    int nd = jit_ndst(i);
    LLVMValueRef members = member_lanes(cg, &i->operands[nd]);
    LLVMValueRef args[2] = {members, LLVMConstInt(cg->i1, 0, false)};
    LLVMValueRef leader = intrinsic(cg, "llvm.cttz", &cg->i32, 1, args, 2);
    if (i->operands[0].kind == PTX_OPR_REG)
        write_uniform(cg, i->operands[0].reg, leader, PTX_B32);
    if (nd > 1 && i->operands[1].kind == PTX_OPR_REG) {
        LLVMValueRef me =
            LLVMBuildICmp(b, LLVMIntEQ, lane_indices(cg), splat(cg, leader, JIT_WARP), "");
        write_vector(cg, i->operands[1].reg, me, PTX_PRED);
    }
    return true;
}

bool emit_warp_op(struct codegen *cg, const struct ptx_instr *i)
{
    if (ptx_has(i, PTX_M_sync) && i->noperands > 0) /* the members come last */
        sync_warp(cg, &i->operands[i->noperands - 1]);
    switch (i->op) {
    case PTX_OP_shfl: return emit_shfl(cg, i);
    case PTX_OP_vote: return emit_vote(cg, i);
    case PTX_OP_match: return emit_match(cg, i);
    case PTX_OP_redux: return emit_redux(cg, i);
    case PTX_OP_elect: return emit_elect(cg, i);
    default: /* activemask */
        write_uniform(cg, i->operands[0].reg, mask_bits(cg), PTX_B32);
        return true;
    }
}
