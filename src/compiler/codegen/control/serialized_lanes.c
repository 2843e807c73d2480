/* serialized_lanes.c: sections of code that the lanes of a warp run one after the other;
 * lane_serialization.c chooses them and says why.
 *
 * Before the loop over lanes, their live-in values are stored in arrays. An iteration loads its
 * lane's values, runs scalar code, and stores what is live out in arrays again. During the section
 * every register that differs between lanes is a uniform one with a slot of its own, so the
 * ordinary emitters make the scalar code; the mask is the lane's bit, by which faults name it. */
#include <stdlib.h>

#include "compiler/codegen/control/control.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/values.h"

/* One register during the turns. */
struct lane_reg {
    int32_t reg;
    bool comes, stays; /* live into the stretch; written in it and live behind */
    LLVMValueRef in;   /* what lanes bring: the first lane's value, their bits, or an array of 32 */
    LLVMValueRef slot; /* the lane's own */
    LLVMValueRef out;  /* what lanes leave: a slot for a value, for bits, or for 32 values */
    struct uniformity uniformity; /* as it is otherwise */
    struct storage home;
};

struct lane_section {
    const struct jblock *first;
    uint64_t *inside;      /* the stretch's blocks */
    LLVMBasicBlockRef *bb; /* the turn's copy of each */
    struct lane_reg *items;
    size_t count, cap;
    bool ok;
};

static bool is_bit(const struct codegen *cg, const struct lane_reg *t)
{
    return cg->k->regs[t->reg].type == PTX_PRED && t->uniformity.seg == SEG_NONE;
}

/* One scalar says it all: the warp's lanes lie in one row. */
static bool is_affine(const struct lane_reg *t)
{
    return t->uniformity.seg == SEG_WARP && t->uniformity.brk == 0;
}

/* The first instruction of a block that belongs to the turns. */
static int32_t first_instr(const struct lane_section *s, const struct jblock *blk)
{
    return blk == s->first && blk->serial_from != 0 ? blk->serial_from - 1 : 0;
}

/* ---- which registers ---- */

static void find_registers(struct codegen *cg, struct lane_section *s)
{
    const struct jkernel *k = cg->k;
    size_t words = (size_t)bit_words((int32_t)k->nregs);
    uint64_t *used = xcalloc(words, 8), *written = xcalloc(words, 8), *made = xcalloc(words, 8);
    struct jroles r;
    for (int32_t b = bit_next(s->inside, k->nblocks, 0); b >= 0;
         b = bit_next(s->inside, k->nblocks, b + 1)) {
        const struct jblock *blk = &k->blocks[b];
        for (int32_t n = 0; n < blk->count; n++) {
            jit_roles(&k->instrs[blk->first + n], &r);
            bool before = n < first_instr(s, blk); /* all lanes have done it together */
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
        struct lane_reg t = {.reg = n, .uniformity = reg->uniformity, .home = cg->regs[n]};
        t.comes = bit_get(s->first->live_in, n) || bit_get(made, n);
        t.stays = w && bit_get(k->blocks[s->first->serial_end].live_in, n);
        vec_push(s, t);
    }
    free(used);
    free(written);
    free(made);
}

/* ---- what goes in and out ---- */

static LLVMValueRef array_element(struct codegen *cg, const struct lane_reg *t, LLVMValueRef array,
                                  LLVMValueRef lane)
{
    LLVMTypeRef type = scalar_type(cg, cg->k->regs[t->reg].type);
    return LLVMBuildGEP2(cg->alu.b, type, array, &lane, 1, "");
}

/* Room for 32 values. Stretches share it, as only one is run at a time; kernels with very many
 * would need more memory than the first cache holds. */
static LLVMValueRef lane_array(struct codegen *cg, LLVMTypeRef type)
{
    int n = cg->serialized->arrays.used, most = (int)WEIR_COUNT(cg->serialized->arrays.items);
    while (n < cg->serialized->arrays.count &&
           LLVMGetAllocatedType(cg->serialized->arrays.items[n]) != type)
        n++;
    if (n == most)
        return new_slot(cg, type, "turns");
    if (n == cg->serialized->arrays.count)
        cg->serialized->arrays.items[cg->serialized->arrays.count++] = new_slot(cg, type, "turns");
    LLVMValueRef found = cg->serialized->arrays.items[n];
    cg->serialized->arrays.items[n] = cg->serialized->arrays.items[cg->serialized->arrays.used];
    cg->serialized->arrays.items[cg->serialized->arrays.used++] = found;
    return found;
}

/* In front of the turns: what lanes bring, and room for what they leave. */
static void prepare_register(struct codegen *cg, struct lane_reg *t)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned type = cg->k->regs[t->reg].type;
    LLVMTypeRef scalar = scalar_type(cg, type), vector = vector_type(cg, type);
    struct ptx_operand o = {.kind = PTX_OPR_REG, .reg = t->reg};
    if (t->comes && is_affine(t)) {
        t->in = read_slot(cg, t->reg, 0);
    } else if (t->comes && is_bit(cg, t)) {
        t->in = bits_of(cg, operand_vector(cg, &o, PTX_PRED));
    } else if (t->comes) {
        t->in = lane_array(cg, vector);
        LLVMBuildStore(b, operand_vector(cg, &o, type), t->in);
    }
    t->slot = new_slot(cg, scalar, cg->k->regs[t->reg].name);
    if (t->stays && is_bit(cg, t)) {
        t->out = new_slot(cg, cg->i32, "leave");
        LLVMBuildStore(b, c32(cg, 0), t->out);
    } else if (t->stays) {
        t->out =
            t->uniformity.seg == SEG_NONE ? lane_array(cg, vector) : new_slot(cg, scalar, "leave");
    }
}

/* Does a lane find its own value in an array? */
static bool in_array(const struct codegen *cg, const struct lane_reg *t)
{
    return t->comes && !is_affine(t) && !is_bit(cg, t);
}

/* What a lane brings. */
static LLVMValueRef lane_value(struct codegen *cg, const struct lane_reg *t, LLVMValueRef lane)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef type = scalar_type(cg, cg->k->regs[t->reg].type);
    if (in_array(cg, t))
        return LLVMBuildLoad2(b, type, array_element(cg, t, t->in, lane), "");
    if (!is_affine(t))
        return LLVMBuildTrunc(b, LLVMBuildLShr(b, t->in, LLVMBuildTrunc(b, lane, cg->i32, ""), ""),
                              cg->i1, "");
    if (t->uniformity.stride == 0) /* also what is no integer */
        return t->in;
    LLVMValueRef step = LLVMConstInt(type, (uint64_t)t->uniformity.stride, true);
    LLVMValueRef n = LLVMBuildIntCast2(b, lane, type, false, "");
    return LLVMBuildAdd(b, t->in, LLVMBuildMul(b, n, step, ""), "");
}

/* A turn ends. */
static void store_lane_result(struct codegen *cg, const struct lane_reg *t, LLVMValueRef lane)
{
    LLVMBuilderRef b = cg->alu.b;
    if (!t->stays)
        return;
    LLVMValueRef v = LLVMBuildLoad2(b, scalar_type(cg, cg->k->regs[t->reg].type), t->slot, "");
    LLVMValueRef to = t->out;
    if (is_bit(cg, t)) {
        lane = LLVMBuildTrunc(b, lane, cg->i32, "");
        v = LLVMBuildShl(b, LLVMBuildZExt(b, v, cg->i32, ""), lane, "");
        v = LLVMBuildOr(b, v, LLVMBuildLoad2(b, cg->i32, to, ""), "");
    } else if (t->uniformity.seg == SEG_NONE) {
        to = array_element(cg, t, to, lane);
    }
    LLVMBuildStore(b, v, to);
}

/* Behind the turns: the registers get what lanes have left. */
static void read_back(struct codegen *cg, const struct lane_reg *t)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned type = cg->k->regs[t->reg].type;
    if (!t->stays)
        return;
    if (is_bit(cg, t))
        write_vector(cg, t->reg, lanes_of(cg, LLVMBuildLoad2(b, cg->i32, t->out, "")), type);
    else if (t->uniformity.seg == SEG_NONE)
        write_vector(cg, t->reg, LLVMBuildLoad2(b, vector_type(cg, type), t->out, ""), type);
    else
        write_uniform(cg, t->reg, LLVMBuildLoad2(b, scalar_type(cg, type), t->out, ""), type);
}

/* ---- a turn ---- */

/* For one lane every value is uniform. What is known of all lanes' values still holds. */
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
            in ? (struct storage){.slot = {t->slot}, .frame_offset = UINT32_MAX} : t->home;
    }
}

static bool emit_instrs(struct codegen *cg, const struct jblock *blk, int32_t from)
{
    cg->cur = blk;
    for (int32_t n = from; n < blk->count; n++)
        if (!emit_instr(cg, &cg->k->instrs[blk->first + n]))
            return false;
    return true;
}

/* ---- what only may happen ---- */

/* Small enough to be done for nothing: a few loads that can go elsewhere, and arithmetic. Stores in
 * a fork only: in a loop, where what decides may come from far away, what is loaded later would
 * wait for the store's place to be known. */
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

/* The block that a branch goes round or not, if the processor's guess would be worth less than
 * doing it in any case; -1: none. *when: the branch's outcome that leads there. */
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

/* Block `aside` is run whether or not: its accesses go elsewhere and its results are dropped if the
 * branch does not lead there. */
static bool emit_speculated(struct codegen *cg, const struct jblock *aside, LLVMValueRef happens)
{
    LLVMBuilderRef b = cg->alu.b;
    struct jroles r;
    size_t count = 0;
    struct {
        int32_t reg;
        LLVMValueRef old;
    } *regs = xcalloc((size_t)aside->count * 20 + 1, sizeof *regs);
    for (int32_t n = 0; n < aside->count; n++) {
        jit_roles(&cg->k->instrs[aside->first + n], &r);
        for (int d = 0; d < r.ndef; d++) {
            bool known = !bit_get(aside->live_out, r.def[d]);
            for (size_t m = 0; m < count; m++)
                known |= regs[m].reg == r.def[d];
            if (known)
                continue;
            regs[count].reg = r.def[d];
            regs[count++].old = read_slot(cg, r.def[d], 0);
        }
    }
    cg->serialized->executes = happens;
    bool ok = emit_instrs(cg, aside, 0);
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
    if (!emit_instrs(cg, blk, first_instr(s, blk)))
        return false;
    struct ptx_operand cond = {.kind = PTX_OPR_REG, .reg = blk->cond, .neg = blk->cond_neg};
    int32_t aside = side_block(cg, s, blk, &when);
    if (aside >= 0) {
        LLVMValueRef c = operand_scalar(cg, &cond, PTX_PRED, SEG_WARP, 0);
        bool ok = emit_speculated(cg, &cg->k->blocks[aside], when ? c : LLVMBuildNot(b, c, ""));
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

/* ---- all turns ---- */

/* A lane's turn, which has all it brings; what it leaves is stored in block `over`. */
static void emit_lane(struct codegen *cg, struct lane_section *s, LLVMValueRef lane,
                      LLVMBasicBlockRef over)
{
    LLVMBuilderRef b = cg->alu.b;
    const struct jkernel *k = cg->k;
    cg->mask = LLVMBuildShl(b, c32(cg, 1), LLVMBuildTrunc(b, lane, cg->i32, ""), "");
    cg->mask_vec = NULL;
    swap_registers(cg, s, true);
    s->bb[s->first->serial_end] = over;
    for (int32_t n = bit_next(s->inside, k->nblocks, 0); n >= 0;
         n = bit_next(s->inside, k->nblocks, n + 1))
        s->bb[n] = new_bb(cg, "turn");
    LLVMBuildBr(b, s->bb[s->first - k->blocks]);
    for (int32_t n = bit_next(s->inside, k->nblocks, 0); s->ok && n >= 0;
         n = bit_next(s->inside, k->nblocks, n + 1))
        s->ok = emit_lane_block(cg, s, &k->blocks[n]);
    LLVMPositionBuilderAtEnd(b, over);
    for (size_t n = 0; n < s->count; n++)
        store_lane_result(cg, &s->items[n], lane);
    swap_registers(cg, s, false);
}

/* The first lane of a set, any lane if it is empty; i64, as addresses are. */
static LLVMValueRef first_lane(struct codegen *cg, LLVMValueRef bits)
{
    bits = LLVMBuildOr(cg->alu.b, bits, c32(cg, 1u << (JIT_WARP - 1)), "");
    LLVMValueRef lane = lowest_lane(cg, bits);
    return LLVMBuildZExt(cg->alu.b, lane, cg->i64, "");
}

/* A phi with the first of its values. */
static LLVMValueRef loop_phi(struct codegen *cg, LLVMValueRef v, LLVMBasicBlockRef from)
{
    LLVMValueRef phi = LLVMBuildPhi(cg->alu.b, LLVMTypeOf(v), "");
    LLVMAddIncoming(phi, &v, &from, 1);
    return phi;
}

/* More values than these would not stay in registers for the length of a turn. */
enum { MAX_PRELOADED = 4 };

/* The lanes one after the other. Where a loop ends is mostly a surprise to the processor, which
 * then waits for what the next turn needs to find its own end: that is fetched a turn ahead. */
static void emit_lane_loop(struct codegen *cg, struct lane_section *s)
{
    LLVMBuilderRef b = cg->alu.b;
    size_t ahead = 0;
    LLVMValueRef bits = mask_bits(cg), now[MAX_PRELOADED], next[MAX_PRELOADED];
    const struct lane_reg *which[MAX_PRELOADED];
    LLVMBasicBlockRef some = new_bb(cg, "lanes"), loop = new_bb(cg, "lane"),
                      over = new_bb(cg, "turn_over"), done = new_bb(cg, "lanes_done");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, bits, c32(cg, 0), ""), some, done);
    LLVMPositionBuilderAtEnd(b, some);
    LLVMValueRef first = first_lane(cg, bits);
    for (size_t n = 0; n < s->count && ahead < MAX_PRELOADED; n++)
        if (in_array(cg, &s->items[n])) {
            which[ahead] = &s->items[n];
            next[ahead++] = lane_value(cg, &s->items[n], first);
        }
    LLVMBuildBr(b, loop);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef left = loop_phi(cg, bits, some), lane = loop_phi(cg, first, some);
    for (size_t n = 0; n < ahead; n++)
        now[n] = loop_phi(cg, next[n], some);
    LLVMValueRef rest = LLVMBuildAnd(b, left, LLVMBuildSub(b, left, c32(cg, 1), ""), "");
    LLVMValueRef coming = first_lane(cg, rest);
    for (size_t n = 0; n < ahead; n++) {
        next[n] = lane_value(cg, which[n], coming);
        LLVMBuildStore(b, now[n], which[n]->slot);
    }
    for (size_t n = 0; n < s->count; n++) {
        const struct lane_reg *t = &s->items[n];
        bool has = !t->comes;
        for (size_t m = 0; m < ahead; m++)
            has |= which[m] == t;
        if (!has)
            LLVMBuildStore(b, lane_value(cg, t, lane), t->slot);
    }
    emit_lane(cg, s, lane, over);
    LLVMAddIncoming(left, &rest, &over, 1);
    LLVMAddIncoming(lane, &coming, &over, 1);
    for (size_t n = 0; n < ahead; n++)
        LLVMAddIncoming(now[n], &next[n], &over, 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, rest, c32(cg, 0), ""), loop, done);
    LLVMPositionBuilderAtEnd(b, done);
}

bool serialize_lanes(struct codegen *cg, const struct jblock *first)
{
    struct jkernel *k = cg->k;
    struct lane_section s = {.first = first, .ok = true};
    s.inside = xcalloc((size_t)bit_words(k->nblocks), 8);
    s.bb = xcalloc((size_t)k->nblocks, sizeof(LLVMBasicBlockRef));
    s.ok = jit_between(k, (int32_t)(first - k->blocks), first->serial_end, s.inside);
    find_registers(cg, &s);
    cg->serialized->arrays.used = 0;
    for (size_t n = 0; n < s.count; n++)
        prepare_register(cg, &s.items[n]);
    LLVMValueRef mask = cg->mask, mask_vec = cg->mask_vec;
    const uint64_t *waiting = cg->waiting;
    bool whole = cg->converged;
    cg->waiting = NULL;
    cg->converged = false;
    cg->serialized->active = true;
    emit_lane_loop(cg, &s);
    cg->mask = mask;
    cg->mask_vec = mask_vec;
    cg->waiting = waiting;
    cg->converged = whole;
    cg->serialized->active = false;
    cg->cur = first;
    for (size_t n = 0; n < s.count; n++)
        read_back(cg, &s.items[n]);
    free(s.inside);
    free(s.bb);
    free(s.items);
    return s.ok;
}
