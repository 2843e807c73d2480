/* frame_remat.c: rematerialization at resume points, and vectors with equal lanes.
 *
 * A register that is one arithmetic instruction away from another that is kept anyway and from
 * values that all lanes share (an element minus the mean of a row) is not saved. It is computed
 * again after the barrier: an instruction costs less than writing 32 values and reading them back.
 *
 * After a butterfly of shuffles lanes have equal values: a sum whose partners were 16, 8, 4 and 2
 * lanes away has one value for each two lanes. Of such a register only the lanes that differ are
 * saved. */
#include <string.h>

#include "compiler/codegen/frame.h"

enum { ALL_BITS = JIT_WARP - 1, UNKNOWN = 0xff };
enum { MOST_INSTRUCTIONS = 2000 };

/* What is known of a kernel: for each instruction its block, -1 where it is in none. */
struct remat_analysis {
    struct codegen *cg;
    int32_t *block_of;
    uint8_t *bits; /* per register: what ignored_bits found; UNKNOWN: not computed yet */
};

/* The only instruction that writes a register, where all of the warp's live lanes run it at once;
 * NULL: there is none. */
static const struct ptx_instr *defining_instr(const struct remat_analysis *c, int32_t reg)
{
    const struct jkernel *k = c->cg->k;
    const struct jreg *r = &k->regs[reg];
    if (r->ndefs != 1 || r->def < 0 || c->block_of[r->def] < 0)
        return NULL;
    const struct jblock *b = &k->blocks[c->block_of[r->def]];
    return b->converged && !b->serialized && b->serial_end == 0 ? &k->instrs[r->def] : NULL;
}

/* ---- vectors with equal lanes ---- */

static bool is_imm(const struct ptx_operand *o, uint32_t v)
{
    return o->kind == PTX_OPR_IMM && (uint32_t)o->imm == v;
}

/* The distance of a shuffle in which each lane of the warp has a partner; 0: it is none. */
static unsigned butterfly(const struct ptx_instr *i)
{
    if (i == NULL || i->op != PTX_OP_shfl || !ptx_has(i, PTX_M_bfly) || jit_ndst(i) != 1 ||
        i->noperands < 4 || i->operands[2].kind != PTX_OPR_IMM || !is_imm(&i->operands[3], 31) ||
        (i->noperands > 4 && !is_imm(&i->operands[4], 0xffffffffu)))
        return 0;
    return (unsigned)i->operands[2].imm & ALL_BITS;
}

static unsigned ignored_bits(struct remat_analysis *c, int32_t reg);

static unsigned operand_ignored_bits(struct remat_analysis *c, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPR_REG)
        return ignored_bits(c, o->reg);
    return o->kind == PTX_OPR_IMM || o->kind == PTX_OPR_FIMM ? ALL_BITS : 0;
}

/* Is the operation commutative, on two registers? */
static bool commutes(const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_add:
    case PTX_OP_mul:
    case PTX_OP_min:
    case PTX_OP_max:
    case PTX_OP_and:
    case PTX_OP_or:
    case PTX_OP_xor:
        return i->noperands == 3 && i->operands[1].kind == PTX_OPR_REG &&
               i->operands[2].kind == PTX_OPR_REG && !ptx_has(i, PTX_M_cc);
    default: return false;
    }
}

/* The bit of the lane's number that is ignored after i, if i joins each lane's value, which does
 * not depend on `bits`, with a partner's; else 0. */
static unsigned butterfly_bit(const struct remat_analysis *c, const struct ptx_instr *i,
                              unsigned bits)
{
    if (!commutes(i))
        return 0;
    for (int n = 1; n <= 2; n++) {
        const struct ptx_instr *s = defining_instr(c, i->operands[n].reg);
        const struct ptx_operand *own = &i->operands[3 - n];
        unsigned distance = butterfly(s) & ~bits;
        if (distance != 0 && (distance & (distance - 1)) == 0 &&
            s->operands[1].kind == PTX_OPR_REG && s->operands[1].reg == own->reg &&
            defining_instr(c, own->reg) != NULL)
            return distance;
    }
    return 0;
}

/* Bits of the lane's number on which a register's value does not depend. */
static unsigned ignored_bits(struct remat_analysis *c, int32_t reg)
{
    const struct jreg *r = &c->cg->k->regs[reg];
    if (c->bits[reg] != UNKNOWN)
        return c->bits[reg];
    c->bits[reg] = is_uniform(&r->uniformity) && r->uniformity.brk == 0 ? ALL_BITS : 0;
    const struct ptx_instr *i = r->uniformity.seg == SEG_NONE ? defining_instr(c, reg) : NULL;
    struct diag ignored = {0};
    if (i == NULL || i->op == PTX_OP_call || jit_ndst(i) != 1 || i->operands[0].kind != PTX_OPR_REG)
        return c->bits[reg];
    unsigned bits = i->op == PTX_OP_mov || alu_supported(i, &ignored) ? ALL_BITS : 0;
    if (i->op == PTX_OP_shfl)
        bits = butterfly(i) != 0 ? operand_ignored_bits(c, &i->operands[1]) : 0;
    else
        for (int n = 1; n < i->noperands; n++)
            bits &= operand_ignored_bits(c, &i->operands[n]);
    c->bits[reg] = (uint8_t)(bits | butterfly_bit(c, i, bits));
    return c->bits[reg];
}

/* Bits of a lane's number that no thread of a small block has set: frames need not have what lies
 * in such lanes, which are never active. */
static uint8_t bits_of_no_thread(const struct jkernel *k)
{
    /* in large kernels registers stay in the frame */
    return k->ninstrs > MOST_INSTRUCTIONS ? 0 : (uint8_t)(JIT_WARP - jit_lanes_used(k));
}

static void find_ignored_bits(struct remat_analysis *c)
{
    struct jkernel *k = c->cg->k;
    uint8_t none = bits_of_no_thread(k);
    memset(c->bits, UNKNOWN, k->nregs);
    for (int32_t r = 0; (c->cg->always_full || none != 0) && r < (int32_t)k->nregs; r++)
        if (k->regs[r].uniformity.seg == SEG_NONE && k->regs[r].type != PTX_PRED)
            c->cg->regs[r].ignored_bits = none != 0 ? none : (uint8_t)ignored_bits(c, r);
}

/* ---- rematerialized registers ---- */

/* Does `reg` still have the value from which `result` was computed wherever that is read? */
static bool unchanged(const struct remat_analysis *c, int32_t reg, int32_t result)
{
    const struct jkernel *k = c->cg->k;
    return defining_instr(c, reg) != NULL &&
           !bit_get(k->blocks[c->block_of[k->regs[reg].def]].live_in, result);
}

/* The register from which `reg` is rematerialized; -1: it is to be kept. `kept` are those that are
 * in the frame anyway. */
static int32_t remat_source(const struct remat_analysis *c, int32_t reg, const uint64_t *kept)
{
    const struct jkernel *k = c->cg->k;
    const struct jreg *r = &k->regs[reg];
    const struct ptx_instr *i = r->uniformity.seg == SEG_NONE && r->type != PTX_PRED && !r->remat
                                    ? defining_instr(c, reg)
                                    : NULL;
    struct jroles roles;
    int32_t source = -1;
    if (i == NULL || !(jit_cheap(i) & CHEAP_STEP) || jit_ndst(i) != 1 || !jit_roles(i, &roles) ||
        roles.ndef != 1)
        return -1;
    for (int u = 0; u < roles.nuse; u++) {
        const struct jreg *from = &k->regs[roles.use[u]];
        bool shared = is_uniform(&from->uniformity) && from->uniformity.brk == 0;
        if (from->remat && from->uniformity.brk == 0)
            continue;
        if (roles.use[u] == reg || !unchanged(c, roles.use[u], reg) ||
            (!shared && source >= 0 && source != roles.use[u]))
            return -1;
        source = shared ? source : roles.use[u];
    }
    if (source < 0 || !bit_get(kept, source) || k->regs[source].uniformity.seg != SEG_NONE ||
        k->regs[source].type == PTX_PRED ||
        c->cg->regs[source].ignored_bits > c->cg->regs[reg].ignored_bits ||
        ptx_type_bits((enum ptx_type)k->regs[source].type) > ptx_type_bits((enum ptx_type)r->type))
        return -1;
    return source;
}

/* Rematerializes `reg` wherever it was to be restored, and keeps what it is computed from. */
static void replace_register(struct codegen *cg, int32_t reg)
{
    struct jkernel *k = cg->k;
    struct jroles roles;
    jit_roles(&k->instrs[k->regs[reg].def], &roles);
    for (int32_t r = 1; r < k->nresume; r++) {
        if (!bit_get(cg->frame->resume_live[r], reg))
            continue;
        bit_clear(cg->frame->resume_live[r], reg);
        bit_set(cg->frame->resume_remat[r], reg);
        for (int u = 0; u < roles.nuse; u++)
            bit_set(cg->frame->resume_live[r], roles.use[u]);
    }
}

static void find_remat(struct remat_analysis *c)
{
    struct codegen *cg = c->cg;
    struct jkernel *k = cg->k;
    size_t bytes = bit_bytes((int32_t)k->nregs);
    uint64_t *kept = arena_alloc(&k->arena, bytes), *fixed = arena_alloc(&k->arena, bytes);
    for (int32_t r = 1; r < k->nresume; r++)
        bit_union(kept, cg->frame->resume_live[r], (int32_t)k->nregs);
    EACH_BIT (r, kept, (int32_t)k->nregs) {
        int32_t source = bit_get(fixed, r) ? -1 : remat_source(c, r, kept);
        if (source < 0)
            continue;
        bit_set(fixed, source); /* nothing is rematerialized from what is rematerialized itself */
        bit_clear(kept, r);
        replace_register(cg, r);
    }
}

void remat_choose(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    struct remat_analysis c = {.cg = cg};
    cg->frame->resume_remat = arena_alloc(&k->arena, sizeof(uint64_t *) * (size_t)k->nresume);
    for (int32_t r = 1; r < k->nresume; r++)
        cg->frame->resume_remat[r] = arena_alloc(&k->arena, bit_bytes((int32_t)k->nregs));
    if (k->nresume < 2)
        return;
    c.block_of = arena_alloc(&k->arena, sizeof(int32_t) * (k->ninstrs + 1));
    c.bits = arena_alloc(&k->arena, k->nregs + 1);
    for (size_t n = 0; n < k->ninstrs; n++)
        c.block_of[n] = -1;
    for (int32_t b = 0; b < k->nblocks; b++)
        for (int32_t n = 0; n < k->blocks[b].count; n++)
            c.block_of[k->blocks[b].first + n] = b;
    find_ignored_bits(&c);
    find_remat(&c);
}
