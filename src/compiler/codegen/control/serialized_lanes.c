/* serialized_lanes.c: sections of code that the lanes of a warp run one after the other;
 * lane_serialization.c chooses them and says why.
 *
 * Before the loop over lanes, their live-in values are stored in arrays. An iteration loads its
 * lane's values, runs scalar code, and stores what is live out in arrays again. During the section
 * every register that differs between lanes is a uniform one with a slot of its own, so the
 * ordinary emitters make the scalar code; the mask is the lane's bit, by which faults name it.
 *
 * Where groups of lanes branch alike (lane_groups.c), an iteration is for a group: each instruction
 * is emitted for one lane of it after the other, with slots of their own, but once where all have
 * the same result, or one that grows from lane to lane. Groups of which only some lanes are active
 * leave these to a second loop, of single lanes. */
#include <stdlib.h>

#include "compiler/codegen/control/control.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/values.h"

enum { MAX_GROUP = 1 << (SEG_KEPT - 1) };

/* What a group of lanes has of a register: one value, one that grows by its stride, or others. */
enum lane_kind { LANES_SAME, LANES_STEP, LANES_DIFFER };

/* One register during the section. */
struct lane_reg {
    int32_t reg;
    enum lane_kind kind;
    bool live_in, live_out;       /* live into the section; written in it and live out */
    LLVMValueRef in;              /* the live-in value: the first lane's, bits, or an array of 32 */
    LLVMValueRef slot[MAX_GROUP]; /* the value in each lane that runs; [0] alone where it is the
                                     same, or grows: then the others are made when they are read */
    LLVMValueRef ahead[MAX_GROUP]; /* what the first block leaves for the next lane; NULL: it does
                                      not write the register, or does not run ahead */
    LLVMValueRef out; /* the live-out value: a slot for one value, for bits, or for 32 values */
    struct uniformity uniformity; /* outside of the section */
    struct storage outside;
};

struct lane_section {
    const struct jblock *first;
    uint64_t *inside;      /* the section's blocks, as a bit set */
    LLVMBasicBlockRef *bb; /* the copy of each for one lane */
    struct lane_reg *items;
    size_t count, cap;
    unsigned lanes;            /* how many run at a time */
    LLVMValueRef mask0, lane0; /* of the first of them */
    bool ahead;                /* the first block is run for a lane while the one before runs */
    bool ok;
};

static bool is_predicate(const struct codegen *cg, const struct lane_reg *t)
{
    return cg->k->regs[t->reg].type == PTX_PRED && t->uniformity.seg == SEG_NONE;
}

/* Is one scalar enough for all lanes? They are affine. */
static bool is_affine(const struct lane_reg *t)
{
    return t->uniformity.seg == SEG_WARP && t->uniformity.brk == 0;
}

/* The first instruction of a block that belongs to the section, or that is left of it. */
static int32_t first_instr(const struct lane_section *s, const struct jblock *blk)
{
    if (blk == s->first && s->ahead)
        return blk->count;
    return blk == s->first && blk->serial_from != 0 ? blk->serial_from - 1 : 0;
}

/* ---- which registers ---- */

/* What groups have of registers. */
static void find_kinds(const struct jkernel *k, struct lane_section *s)
{
    unsigned group = s->first->serial_group;
    uint64_t *same = xcalloc(bit_bytes((int32_t)k->nregs), 1);
    jit_find_same_in_groups(k, s->inside, (int32_t)(s->first - k->blocks), group, same);
    for (size_t n = 0; n < s->count; n++) {
        const struct uniformity *u = &s->items[n].uniformity;
        bool steps = u->seg != SEG_NONE && u->seg >= group && u->brk == 0;
        s->items[n].kind = bit_get(same, s->items[n].reg) ? LANES_SAME
                           : steps                        ? LANES_STEP
                                                          : LANES_DIFFER;
    }
    free(same);
}

static void find_registers(struct codegen *cg, struct lane_section *s)
{
    const struct jkernel *k = cg->k;
    size_t bytes = bit_bytes((int32_t)k->nregs);
    uint64_t *used = xcalloc(bytes, 1), *written = xcalloc(bytes, 1), *made = xcalloc(bytes, 1);
    struct jroles r;
    EACH_BIT (b, s->inside, k->nblocks) {
        const struct jblock *blk = &k->blocks[b];
        for (int32_t n = 0; n < blk->count; n++) {
            jit_roles(&k->instrs[blk->first + n], &r);
            bool before = n < first_instr(s, blk); /* all lanes have run it together */
            for (int d = 0; d < r.ndef; d++)
                bit_set(before ? made : written, r.def[d]);
            if (before)
                continue;
            for (int u = 0; u < r.nuse; u++)
                bit_set(used, r.use[u]);
        }
        if (blk->cond >= 0)
            bit_set(used, blk->cond);
    }
    for (int32_t n = 0; n < (int32_t)k->nregs; n++) {
        const struct jreg *reg = &k->regs[n];
        bool w = bit_get(written, n);
        if (!w && (!bit_get(used, n) || is_uniform(&reg->uniformity)))
            continue;
        struct lane_reg t = {
            .reg = n, .kind = LANES_DIFFER, .uniformity = reg->uniformity, .outside = cg->regs[n]};
        t.live_in = bit_get(s->first->live_in, n) || bit_get(made, n);
        t.live_out = w && bit_get(k->blocks[s->first->serial_end].live_in, n);
        vec_push(s, t);
    }
    if (s->first->serial_group != 0)
        find_kinds(k, s);
    free(used);
    free(written);
    free(made);
}

/* ---- live-in and live-out values ---- */

static LLVMValueRef array_element(struct codegen *cg, const struct lane_reg *t, LLVMValueRef array,
                                  LLVMValueRef lane)
{
    LLVMTypeRef type = scalar_type(cg, cg->k->regs[t->reg].type);
    return LLVMBuildGEP2(cg->alu.b, type, array, &lane, 1, "");
}

/* An array of 32 values. Sections share arrays, as only one runs at a time; kernels with very many
 * would need more memory than the first-level cache holds. */
static LLVMValueRef lane_array(struct codegen *cg, LLVMTypeRef type)
{
    int n = cg->serialized->arrays.used, most = (int)WEIR_COUNT(cg->serialized->arrays.items);
    while (n < cg->serialized->arrays.count &&
           LLVMGetAllocatedType(cg->serialized->arrays.items[n]) != type)
        n++;
    if (n == most)
        return new_slot(cg, type, "lane_array");
    if (n == cg->serialized->arrays.count)
        cg->serialized->arrays.items[cg->serialized->arrays.count++] =
            new_slot(cg, type, "lane_array");
    LLVMValueRef found = cg->serialized->arrays.items[n];
    cg->serialized->arrays.items[n] = cg->serialized->arrays.items[cg->serialized->arrays.used];
    cg->serialized->arrays.items[cg->serialized->arrays.used++] = found;
    return found;
}

/* Before the section: stores live-in values, and makes slots, of so many lanes, and for live-out
 * ones. */
static void prepare_register(struct codegen *cg, struct lane_reg *t, unsigned lanes)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned type = cg->k->regs[t->reg].type;
    LLVMTypeRef scalar = scalar_type(cg, type), vector = vector_type(cg, type);
    struct ptx_operand o = {.kind = PTX_OPR_REG, .reg = t->reg};
    if (t->live_in && is_affine(t)) {
        t->in = read_slot(cg, t->reg, 0);
    } else if (t->live_in && is_predicate(cg, t)) {
        t->in = bits_of(cg, operand_vector(cg, &o, PTX_PRED));
    } else if (t->live_in) {
        t->in = lane_array(cg, vector);
        LLVMBuildStore(b, operand_vector(cg, &o, type), t->in);
    }
    for (unsigned n = 0; n < lanes && (n == 0 || t->kind != LANES_SAME); n++)
        t->slot[n] = new_slot(cg, scalar, cg->k->regs[t->reg].name);
    if (t->live_out && is_predicate(cg, t)) {
        t->out = new_slot(cg, cg->i32, "live_out");
        LLVMBuildStore(b, c32(cg, 0), t->out);
    } else if (t->live_out) {
        t->out = t->uniformity.seg == SEG_NONE ? lane_array(cg, vector)
                                               : new_slot(cg, scalar, "live_out");
    }
}

/* Is a lane's live-in value in an array? */
static bool in_array(const struct codegen *cg, const struct lane_reg *t)
{
    return t->live_in && !is_affine(t) && !is_predicate(cg, t);
}

/* The live-in value of a lane. */
static LLVMValueRef lane_value(struct codegen *cg, const struct lane_reg *t, LLVMValueRef lane)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef type = scalar_type(cg, cg->k->regs[t->reg].type);
    if (in_array(cg, t))
        return LLVMBuildLoad2(b, type, array_element(cg, t, t->in, lane), "");
    if (!is_affine(t))
        return LLVMBuildTrunc(b, LLVMBuildLShr(b, t->in, LLVMBuildTrunc(b, lane, cg->i32, ""), ""),
                              cg->i1, "");
    if (t->uniformity.stride == 0) /* also where the type is no integer */
        return t->in;
    LLVMValueRef step = LLVMConstInt(type, (uint64_t)t->uniformity.stride, true);
    LLVMValueRef n = LLVMBuildIntCast2(b, lane, type, false, "");
    return LLVMBuildAdd(b, t->in, LLVMBuildMul(b, n, step, ""), "");
}

/* Stores a lane's live-out value, which is in a slot. */
static void store_lane_result(struct codegen *cg, const struct lane_reg *t, LLVMValueRef slot,
                              LLVMValueRef lane)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef v = LLVMBuildLoad2(b, scalar_type(cg, cg->k->regs[t->reg].type), slot, "");
    LLVMValueRef to = t->out;
    if (is_predicate(cg, t)) {
        lane = LLVMBuildTrunc(b, lane, cg->i32, "");
        v = LLVMBuildShl(b, LLVMBuildZExt(b, v, cg->i32, ""), lane, "");
        v = LLVMBuildOr(b, v, LLVMBuildLoad2(b, cg->i32, to, ""), "");
    } else if (t->uniformity.seg == SEG_NONE) {
        to = array_element(cg, t, to, lane);
    }
    LLVMBuildStore(b, v, to);
}

/* After the section: writes the registers. */
static void read_back(struct codegen *cg, const struct lane_reg *t)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned type = cg->k->regs[t->reg].type;
    if (!t->live_out)
        return;
    if (is_predicate(cg, t))
        write_vector(cg, t->reg, lanes_of(cg, LLVMBuildLoad2(b, cg->i32, t->out, "")), type);
    else if (t->uniformity.seg == SEG_NONE)
        write_vector(cg, t->reg, LLVMBuildLoad2(b, vector_type(cg, type), t->out, ""), type);
    else
        write_uniform(cg, t->reg, LLVMBuildLoad2(b, scalar_type(cg, type), t->out, ""), type);
}

/* ---- one lane ---- */

/* In one lane every value is uniform. What is known of all lanes' values still holds. */
static struct uniformity uniformity_in_lane(const struct uniformity *s)
{
    struct uniformity one = {
        .seg = SEG_WARP, .known = 1, .lo = s->lo, .hi = s->hi, .ranged = s->ranged};
    if (s->seg != SEG_NONE) {
        unsigned step = s->stride ? (unsigned)__builtin_ctzll((uint64_t)s->stride) : 63;
        one.align = (uint8_t)(s->align < step ? s->align : step);
    }
    return one;
}

static void swap_registers(struct codegen *cg, struct lane_section *s, bool in)
{
    for (size_t n = 0; n < s->count; n++) {
        struct lane_reg *t = &s->items[n];
        cg->k->regs[t->reg].uniformity = in ? uniformity_in_lane(&t->uniformity) : t->uniformity;
        cg->regs[t->reg] =
            in ? (struct storage){.slot = {t->slot[0]}, .frame_offset = UINT32_MAX} : t->outside;
    }
}

/* ---- groups ---- */

static LLVMValueRef lane_of_group(struct codegen *cg, const struct lane_section *s, unsigned n)
{
    return n == 0 ? s->lane0 : LLVMBuildAdd(cg->alu.b, s->lane0, c64(cg, n), "");
}

/* What the lane n after the first has of a register that grows. */
static LLVMValueRef stepped(struct codegen *cg, const struct lane_reg *t, unsigned n)
{
    LLVMTypeRef type = scalar_type(cg, cg->k->regs[t->reg].type);
    LLVMValueRef v = LLVMBuildLoad2(cg->alu.b, type, t->slot[0], "");
    int64_t by = t->uniformity.stride * (int64_t)n;
    return LLVMBuildAdd(cg->alu.b, v, LLVMConstInt(type, (uint64_t)by, true), "");
}

/* From here on instructions are emitted for the lane n after the group's first; `r` says which
 * registers they read. */
static void select_lane(struct codegen *cg, const struct lane_section *s, unsigned n,
                        const struct jroles *r)
{
    LLVMBuilderRef b = cg->alu.b;
    cg->mask = n == 0 ? s->mask0 : LLVMBuildShl(b, s->mask0, c32(cg, n), "");
    cg->mask_vec = NULL;
    cg->serialized->lane = lane_of_group(cg, s, n);
    for (size_t m = 0; m < s->count; m++) {
        const struct lane_reg *t = &s->items[m];
        bool read = false;
        if (t->kind == LANES_SAME)
            continue;
        for (int u = 0; u < r->nuse; u++)
            read |= r->use[u] == t->reg;
        if (t->kind == LANES_STEP && read && n > 0)
            LLVMBuildStore(b, stepped(cg, t, n), t->slot[n]);
        cg->regs[t->reg].slot[0] = t->slot[n];
    }
}

/* Is the instruction one for all lanes of a group: does it give them results, all of which are the
 * same or grow? */
static bool is_once(const struct lane_section *s, const struct jroles *r)
{
    for (size_t m = 0; m < s->count; m++)
        for (int d = 0; d < r->ndef && s->items[m].kind == LANES_DIFFER; d++)
            if (r->def[d] == s->items[m].reg)
                return false;
    return r->ndef > 0;
}

static bool emit_for_lanes(struct codegen *cg, const struct lane_section *s,
                           const struct ptx_instr *i)
{
    struct jroles r;
    if (s->lanes == 1)
        return emit_instr(cg, i);
    jit_roles(i, &r);
    bool ok = emit_instr(cg, i), once = is_once(s, &r);
    for (unsigned n = 1; ok && !once && n < s->lanes; n++) {
        select_lane(cg, s, n, &r);
        ok = emit_instr(cg, i);
    }
    if (!once)
        select_lane(cg, s, 0, &r);
    return ok;
}

static bool emit_instrs(struct codegen *cg, const struct lane_section *s, const struct jblock *blk,
                        int32_t from)
{
    cg->cur = blk;
    for (int32_t n = from; n < blk->count; n++)
        if (!emit_for_lanes(cg, s, &cg->k->instrs[blk->first + n]))
            return false;
    return true;
}

/* ---- speculation ---- */

/* Is a block cheap enough to be run speculatively: a few loads that can be redirected, and
 * arithmetic? Stores in a fork only: in a loop, where the condition may be late, later loads would
 * wait for the store's address. */
static bool can_speculate(const struct jkernel *k, const struct jblock *blk, bool fork)
{
    struct diag ignored = {0};
    int accesses = 0;
    for (int32_t n = 0; n < blk->count; n++) {
        const struct ptx_instr *i = &k->instrs[blk->first + n];
        bool memory = i->op == PTX_OP_ld || i->op == PTX_OP_st;
        unsigned type = i->ntypes > 0 ? i->types[i->ntypes - 1] : PTX_NONE;
        accesses += memory;
        if (i->op == PTX_OP_st && !fork)
            return false;
        if (memory && (i->vec > 1 || ptx_type_bits((enum ptx_type)type) > 64))
            return false;
        if (!memory && i->op != PTX_OP_mov && i->op != PTX_OP_add && i->op != PTX_OP_sub &&
            i->op != PTX_OP_mul && i->op != PTX_OP_mad && i->op != PTX_OP_fma &&
            i->op != PTX_OP_shl && i->op != PTX_OP_shr && i->op != PTX_OP_and &&
            i->op != PTX_OP_or && i->op != PTX_OP_cvt && i->op != PTX_OP_cvta)
            return false;
        if (!memory && i->op != PTX_OP_mov && i->op != PTX_OP_cvta && !alu_supported(i, &ignored))
            return false;
    }
    return blk->count <= 12 && accesses <= 3;
}

/* The block that a branch skips or not, if predicting the branch costs more than running the block
 * in any case; -1: none. *when: the outcome of the branch that leads there. */
static int32_t side_block(const struct codegen *cg, const struct lane_section *s,
                          const struct jblock *blk, bool *when)
{
    for (int n = 0; n < 2 && blk->term == TERM_BRANCH; n++) {
        int32_t to = blk->succ[n];
        const struct jblock *t = &cg->k->blocks[to];
        *when = n == 0;
        if (bit_get(s->inside, to) && t->npred == 1 && t->term == TERM_JUMP &&
            t->succ[0] == blk->succ[1 - n] && t != s->first &&
            can_speculate(cg->k, t, s->first->serial_from != 0))
            return to;
    }
    return -1;
}

/* Runs block `aside` speculatively: if the branch does not lead there, its accesses are redirected
 * to safe memory and its results dropped. */
static bool emit_speculated(struct codegen *cg, const struct lane_section *s,
                            const struct jblock *side, LLVMValueRef happens)
{
    LLVMBuilderRef b = cg->alu.b;
    struct jroles r;
    size_t count = 0;
    struct {
        int32_t reg;
        LLVMValueRef old;
    } *regs = xcalloc((size_t)side->count * 20 + 1, sizeof *regs);
    for (int32_t n = 0; n < side->count; n++) {
        jit_roles(&cg->k->instrs[side->first + n], &r);
        for (int d = 0; d < r.ndef; d++) {
            bool known = !bit_get(side->live_out, r.def[d]);
            for (size_t m = 0; m < count; m++)
                known |= regs[m].reg == r.def[d];
            if (known)
                continue;
            regs[count].reg = r.def[d];
            regs[count++].old = read_slot(cg, r.def[d], 0);
        }
    }
    cg->serialized->executes = happens;
    bool ok = emit_instrs(cg, s, side, 0);
    for (size_t m = 0; m < count; m++) {
        LLVMValueRef v = read_slot(cg, regs[m].reg, 0);
        v = speculative_select(cg, v, regs[m].old);
        LLVMBuildStore(b, v, cg->regs[regs[m].reg].slot[0]);
    }
    cg->serialized->executes = NULL;
    free(regs);
    return ok;
}

static bool emit_lane_block(struct codegen *cg, const struct lane_section *s,
                            const struct jblock *blk)
{
    LLVMBuilderRef b = cg->alu.b;
    bool when;
    LLVMPositionBuilderAtEnd(b, s->bb[blk - cg->k->blocks]);
    if (!emit_instrs(cg, s, blk, first_instr(s, blk)))
        return false;
    struct ptx_operand cond = {.kind = PTX_OPR_REG, .reg = blk->cond, .neg = blk->cond_neg};
    int32_t side = s->lanes == 1 ? side_block(cg, s, blk, &when) : -1;
    if (side >= 0) {
        LLVMValueRef c = operand_scalar(cg, &cond, PTX_PRED, SEG_WARP, 0);
        bool ok = emit_speculated(cg, s, &cg->k->blocks[side], when ? c : LLVMBuildNot(b, c, ""));
        LLVMBuildBr(b, s->bb[blk->succ[when]]);
        return ok;
    }
    if (blk->term == TERM_JUMP) {
        LLVMBuildBr(b, s->bb[blk->succ[0]]);
    } else if (blk->term == TERM_BRANCH) {
        LLVMValueRef c = operand_scalar(cg, &cond, PTX_PRED, SEG_WARP, 0);
        LLVMBuildCondBr(b, c, s->bb[blk->succ[0]], s->bb[blk->succ[1]]);
    } else {
        LLVMValueRef v = operand_scalar(cg, &cond, PTX_B32, SEG_WARP, 0);
        LLVMBasicBlockRef other = s->bb[blk->succ[blk->nsucc - 1]];
        LLVMValueRef sw = LLVMBuildSwitch(b, v, other, (unsigned)blk->nsucc);
        for (int n = 0; n + 1 < blk->nsucc; n++)
            LLVMAddCase(sw, c32(cg, (uint64_t)n), s->bb[blk->succ[n]]);
    }
    return true;
}

/* ---- all lanes ---- */

/* Stores what the lanes that have run leave with. */
static void store_results(struct codegen *cg, const struct lane_section *s)
{
    for (size_t m = 0; m < s->count; m++) {
        const struct lane_reg *t = &s->items[m];
        bool single = t->uniformity.seg != SEG_NONE; /* one value for the warp */
        for (unsigned n = 0; t->live_out && n < (single ? 1 : s->lanes); n++)
            store_lane_result(cg, t, t->slot[t->kind == LANES_DIFFER ? n : 0],
                              lane_of_group(cg, s, n));
    }
}

/* From here on what is emitted is for one lane, or a group from that lane on. */
static void begin_lane(struct codegen *cg, struct lane_section *s, LLVMValueRef lane)
{
    LLVMBuilderRef b = cg->alu.b;
    cg->mask = LLVMBuildShl(b, c32(cg, 1), LLVMBuildTrunc(b, lane, cg->i32, ""), "");
    cg->mask_vec = NULL;
    cg->serialized->lane = lane;
    s->mask0 = cg->mask;
    s->lane0 = lane;
    swap_registers(cg, s, true);
}

/* Runs the section for a lane or a group, whose live-in values are in their slots; its live-out
 * values are stored in block `over`. */
static void emit_lane(struct codegen *cg, struct lane_section *s, LLVMValueRef lane,
                      LLVMBasicBlockRef over)
{
    LLVMBuilderRef b = cg->alu.b;
    const struct jkernel *k = cg->k;
    begin_lane(cg, s, lane);
    s->bb[s->first->serial_end] = over;
    EACH_BIT (n, s->inside, k->nblocks)
        s->bb[n] = new_bb(cg, "lane_block");
    LLVMBuildBr(b, s->bb[s->first - k->blocks]);
    EACH_BIT (n, s->inside, k->nblocks)
        s->ok = s->ok && emit_lane_block(cg, s, &k->blocks[n]);
    LLVMPositionBuilderAtEnd(b, over);
    store_results(cg, s);
    swap_registers(cg, s, false);
}

/* The first lane of a set, any lane if it is empty; i64, as addresses are. */
static LLVMValueRef first_lane(struct codegen *cg, LLVMValueRef bits)
{
    bits = LLVMBuildOr(cg->alu.b, bits, c32(cg, 1u << (JIT_WARP - 1)), "");
    LLVMValueRef lane = lowest_lane(cg, bits);
    return LLVMBuildZExt(cg->alu.b, lane, cg->i64, "");
}

/* A phi with its first incoming value. */
static LLVMValueRef loop_phi(struct codegen *cg, LLVMValueRef v, LLVMBasicBlockRef from)
{
    LLVMValueRef phi = LLVMBuildPhi(cg->alu.b, LLVMTypeOf(v), "");
    LLVMAddIncoming(phi, &v, &from, 1);
    return phi;
}

/* More values than these would not stay in registers for an iteration. */
enum { MAX_PRELOADED = 4 };

/* Stores what a lane, or a group, begins with. */
static void store_live_in(struct codegen *cg, const struct lane_section *s,
                          const struct lane_reg *t, LLVMValueRef lane)
{
    LLVMBuilderRef b = cg->alu.b;
    for (unsigned n = 0; n < (t->kind == LANES_DIFFER ? s->lanes : 1); n++) {
        LLVMValueRef at = n == 0 ? lane : LLVMBuildAdd(b, lane, c64(cg, n), "");
        LLVMBuildStore(b, lane_value(cg, t, at), t->slot[n]);
    }
}

/* ---- the first block, a lane ahead ---- */

/* The most instructions of a block that runs ahead. */
enum { MAX_AHEAD = 16 };

/* May the first block be run for the next lane before this one goes on? It reads memory, but lanes
 * are in no order. What it loads tells where the next lane's loop ends, and the end of this one's
 * is mostly mispredicted: the CPU would wait for those loads as well. */
static bool may_run_ahead(const struct jkernel *k, const struct lane_section *s)
{
    const struct jblock *blk = s->first;
    int loads = 0;
    for (int p = 0; p < blk->npred; p++)
        if (bit_get(s->inside, blk->pred[p]))
            return false;
    for (int32_t n = 0; n < blk->count; n++) {
        const struct ptx_instr *i = &k->instrs[blk->first + n];
        if (i->op == PTX_OP_st || i->op == PTX_OP_atom || i->op == PTX_OP_red)
            return false;
        loads += i->op == PTX_OP_ld && i->spaces[0] != PTX_SPACE_PARAM;
    }
    return s->lanes > 1 && blk->serial_from == 0 && blk->count <= MAX_AHEAD && loads > 0;
}

/* Makes slots for what the first block writes. */
static void prepare_ahead(struct codegen *cg, struct lane_section *s)
{
    struct jroles r;
    for (int32_t n = 0; n < s->first->count; n++) {
        jit_roles(&cg->k->instrs[s->first->first + n], &r);
        for (size_t m = 0; m < s->count; m++)
            for (int d = 0; d < r.ndef; d++) {
                struct lane_reg *t = &s->items[m];
                LLVMTypeRef type = scalar_type(cg, cg->k->regs[t->reg].type);
                for (unsigned l = 0; l < s->lanes && t->reg == r.def[d]; l++)
                    if (t->slot[l] != NULL && t->ahead[l] == NULL)
                        t->ahead[l] = new_slot(cg, type, "ahead");
            }
    }
}

/* What the first block has left for the next lane: from a register's slots, or into `kept`. */
static void copy_ahead(struct codegen *cg, const struct lane_section *s, const struct lane_reg *t,
                       LLVMValueRef *kept)
{
    LLVMTypeRef type = scalar_type(cg, cg->k->regs[t->reg].type);
    for (unsigned l = 0; l < s->lanes && t->ahead[l] != NULL; l++)
        if (kept != NULL)
            kept[l] = LLVMBuildLoad2(cg->alu.b, type, t->ahead[l], "");
        else
            LLVMBuildStore(cg->alu.b, LLVMBuildLoad2(cg->alu.b, type, t->slot[l], ""), t->ahead[l]);
}

/* Runs the first block for a lane. */
static void emit_ahead(struct codegen *cg, struct lane_section *s, LLVMValueRef lane)
{
    for (size_t n = 0; n < s->count; n++)
        if (s->items[n].live_in)
            store_live_in(cg, s, &s->items[n], lane);
    begin_lane(cg, s, lane);
    s->ok = s->ok && emit_instrs(cg, s, s->first, 0);
    swap_registers(cg, s, false);
    for (size_t n = 0; n < s->count; n++)
        copy_ahead(cg, s, &s->items[n], NULL);
}

/* The loop over lanes where the first block runs ahead. */
static void emit_loop_ahead(struct codegen *cg, struct lane_section *s, LLVMValueRef bits)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef some = new_bb(cg, "lanes"), loop = new_bb(cg, "lane"),
                      over = new_bb(cg, "lane_end"), done = new_bb(cg, "lanes_done");
    LLVMValueRef(*kept)[MAX_GROUP] = xcalloc(s->count + 1, sizeof *kept);
    prepare_ahead(cg, s);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, bits, c32(cg, 0), ""), some, done);
    LLVMPositionBuilderAtEnd(b, some);
    LLVMValueRef first = first_lane(cg, bits);
    emit_ahead(cg, s, first);
    some = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, loop);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef left = loop_phi(cg, bits, some), lane = loop_phi(cg, first, some);
    LLVMValueRef rest = LLVMBuildAnd(b, left, LLVMBuildSub(b, left, c32(cg, 1), ""), "");
    LLVMValueRef more = LLVMBuildICmp(b, LLVMIntNE, rest, c32(cg, 0), "");
    LLVMValueRef following = LLVMBuildSelect(b, more, first_lane(cg, rest), lane, "");
    for (size_t n = 0; n < s->count; n++)
        copy_ahead(cg, s, &s->items[n], kept[n]);
    emit_ahead(cg, s, following);
    for (size_t n = 0; n < s->count; n++) {
        const struct lane_reg *t = &s->items[n];
        if (t->live_in && t->ahead[0] == NULL)
            store_live_in(cg, s, t, lane);
        for (unsigned l = 0; l < s->lanes && t->ahead[l] != NULL; l++)
            LLVMBuildStore(b, kept[n][l], t->slot[l]);
    }
    s->ahead = true;
    emit_lane(cg, s, lane, over);
    s->ahead = false;
    LLVMAddIncoming(left, &rest, &over, 1);
    LLVMAddIncoming(lane, &following, &over, 1);
    LLVMBuildCondBr(b, more, loop, done);
    LLVMPositionBuilderAtEnd(b, done);
    free(kept);
}

/* The loop over lanes, or groups, of which `bits` has the first lanes. The exit of a loop in the
 * section is mostly mispredicted, and the CPU then waits for what the next lane needs to find its
 * own: that is loaded an iteration early. */
static void emit_lane_loop(struct codegen *cg, struct lane_section *s, LLVMValueRef bits)
{
    LLVMBuilderRef b = cg->alu.b;
    size_t early = 0;
    LLVMValueRef now[MAX_PRELOADED], next[MAX_PRELOADED];
    const struct lane_reg *which[MAX_PRELOADED];
    LLVMBasicBlockRef some = new_bb(cg, "lanes"), loop = new_bb(cg, "lane"),
                      over = new_bb(cg, "lane_end"), done = new_bb(cg, "lanes_done");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, bits, c32(cg, 0), ""), some, done);
    LLVMPositionBuilderAtEnd(b, some);
    LLVMValueRef first = first_lane(cg, bits);
    for (size_t n = 0; n < s->count && early < MAX_PRELOADED; n++)
        if (in_array(cg, &s->items[n]) && (s->lanes == 1 || s->items[n].kind != LANES_DIFFER)) {
            which[early] = &s->items[n];
            next[early++] = lane_value(cg, &s->items[n], first);
        }
    LLVMBuildBr(b, loop);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef left = loop_phi(cg, bits, some), lane = loop_phi(cg, first, some);
    for (size_t n = 0; n < early; n++)
        now[n] = loop_phi(cg, next[n], some);
    LLVMValueRef rest = LLVMBuildAnd(b, left, LLVMBuildSub(b, left, c32(cg, 1), ""), "");
    LLVMValueRef following = first_lane(cg, rest);
    for (size_t n = 0; n < early; n++) {
        next[n] = lane_value(cg, which[n], following);
        LLVMBuildStore(b, now[n], which[n]->slot[0]);
    }
    for (size_t n = 0; n < s->count; n++) {
        const struct lane_reg *t = &s->items[n];
        bool has = !t->live_in;
        for (size_t m = 0; m < early; m++)
            has |= which[m] == t;
        if (!has)
            store_live_in(cg, s, t, lane);
    }
    emit_lane(cg, s, lane, over);
    LLVMAddIncoming(left, &rest, &over, 1);
    LLVMAddIncoming(lane, &following, &over, 1);
    for (size_t n = 0; n < early; n++)
        LLVMAddIncoming(now[n], &next[n], &over, 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, rest, c32(cg, 0), ""), loop, done);
    LLVMPositionBuilderAtEnd(b, done);
}

/* Runs the section for the lanes of `bits`: groups of which all are active, then the others. */
static void emit_lane_loops(struct codegen *cg, struct lane_section *s, LLVMValueRef bits)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned group = s->first->serial_group;
    if (group != 0) {
        uint32_t firsts = group == 1 ? 0x55555555u : 0x11111111u;
        LLVMValueRef all = bits;
        for (unsigned n = 0; n < group; n++)
            all = LLVMBuildAnd(b, all, LLVMBuildLShr(b, all, c32(cg, 1u << n), ""), "");
        all = LLVMBuildAnd(b, all, c32(cg, firsts), "");
        s->lanes = 1u << group;
        if (may_run_ahead(cg->k, s))
            emit_loop_ahead(cg, s, all);
        else
            emit_lane_loop(cg, s, all);
        all = LLVMBuildMul(b, all, c32(cg, (1u << s->lanes) - 1), "");
        bits = LLVMBuildAnd(b, bits, LLVMBuildNot(b, all, ""), "");
    }
    s->lanes = 1;
    emit_lane_loop(cg, s, bits);
}

bool serialize_lanes(struct codegen *cg, const struct jblock *first)
{
    struct jkernel *k = cg->k;
    struct lane_section s = {.first = first, .ok = true};
    s.inside = xcalloc(bit_bytes(k->nblocks), 1);
    s.bb = xcalloc((size_t)k->nblocks, sizeof(LLVMBasicBlockRef));
    s.ok = jit_between(k, (int32_t)(first - k->blocks), first->serial_end, s.inside);
    find_registers(cg, &s);
    cg->serialized->arrays.used = 0;
    for (size_t n = 0; n < s.count; n++)
        prepare_register(cg, &s.items[n], 1u << first->serial_group);
    LLVMValueRef mask = cg->mask, mask_vec = cg->mask_vec, active = mask_bits(cg);
    const uint64_t *waiting = cg->waiting;
    bool converged = cg->in_converged_copy;
    cg->waiting = NULL;
    cg->in_converged_copy = false;
    cg->serialized->active = true;
    emit_lane_loops(cg, &s, active);
    cg->mask = mask;
    cg->mask_vec = mask_vec;
    cg->waiting = waiting;
    cg->in_converged_copy = converged;
    cg->serialized->active = false;
    cg->cur = first;
    for (size_t n = 0; n < s.count; n++)
        read_back(cg, &s.items[n]);
    free(s.inside);
    free(s.bb);
    free(s.items);
    return s.ok;
}
