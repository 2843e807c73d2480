/* joined_blocks: neighbouring blocks whose rows of threads are rows of warps.
 *
 * Blocks are often 16 or 8 threads wide. A warp is two or four of their rows then, and what it
 * reads lies in as many rows of memory. Nothing tells threads of a kernel that has no barriers, no
 * shared memory and no warp operations to which block they belong, but %ctaid and %tid; so the
 * threads of two or four blocks that follow each other in x may be the lanes of one row. Such a
 * kernel is compiled for blocks that are as many times as wide (options: joined), and here reads
 * what the program is to see:
 *
 *   %tid.x = tid.x mod width,  %ctaid.x = ctaid.x * joined + tid.x / width
 *
 * The index along x that nearly all make of them, %ctaid.x * %ntid.x + %tid.x, is one row of
 * neighbours again, and is written so. */
#include <stdlib.h>

#include "compiler/front/flatten.h"

/* What a register is known to be: that and nothing else is written to it. */
enum meaning { NOTHING, THREAD, BLOCK, WIDTH, FIRST /* BLOCK * WIDTH */ };

struct joining {
    struct jkernel *k;
    uint32_t width;
    uint8_t *means;
    int32_t *ndefs;
    int32_t thread, block, index; /* registers of what the program is to see */
};

static bool is_special(const struct ptx_operand *o, unsigned sreg)
{
    return o->kind == PTX_OPR_SREG && o->sreg == sreg && o->component == 0;
}

static enum meaning meaning_of(const struct joining *j, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPR_IMM)
        return (uint32_t)o->imm == j->width ? WIDTH : NOTHING;
    if (o->kind == PTX_OPR_REG && !o->neg)
        return (enum meaning)j->means[o->reg];
    return is_special(o, PTX_SR_tid)     ? THREAD
           : is_special(o, PTX_SR_ctaid) ? BLOCK
           : is_special(o, PTX_SR_ntid)  ? WIDTH
                                         : NOTHING;
}

static bool are(const struct joining *j, const struct ptx_instr *i, int at, enum meaning a,
                enum meaning b)
{
    enum meaning x = meaning_of(j, &i->operands[at]), y = meaning_of(j, &i->operands[at + 1]);
    return (x == a && y == b) || (x == b && y == a);
}

static bool is_shift_by_width(const struct joining *j, const struct ptx_instr *i)
{
    return meaning_of(j, &i->operands[1]) == BLOCK && i->operands[2].kind == PTX_OPR_IMM &&
           i->operands[2].imm < 32 && 1u << i->operands[2].imm == j->width;
}

/* An instruction on words of 32 bits with one result and so many operands in all. */
static bool is_plain(const struct ptx_instr *i, int noperands)
{
    return i->guard < 0 && i->noperands == noperands && i->ntypes == 1 &&
           i->operands[0].kind == PTX_OPR_REG &&
           (i->types[0] == PTX_U32 || i->types[0] == PTX_S32 || i->types[0] == PTX_B32);
}

static enum meaning result_of(const struct joining *j, const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_mov: return is_plain(i, 2) ? meaning_of(j, &i->operands[1]) : NOTHING;
    case PTX_OP_mul:
        return is_plain(i, 3) && ptx_has(i, PTX_M_lo) && are(j, i, 1, BLOCK, WIDTH) ? FIRST
                                                                                    : NOTHING;
    case PTX_OP_shl: return is_plain(i, 3) && is_shift_by_width(j, i) ? FIRST : NOTHING;
    default: return NOTHING;
    }
}

/* Is it the thread's index along x in the grid? */
static bool makes_index(const struct joining *j, const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_mad:
        return is_plain(i, 4) && ptx_has(i, PTX_M_lo) && !ptx_has(i, PTX_M_cc) &&
               are(j, i, 1, BLOCK, WIDTH) && meaning_of(j, &i->operands[3]) == THREAD;
    case PTX_OP_add: return is_plain(i, 3) && i->nmods == 0 && are(j, i, 1, FIRST, THREAD);
    case PTX_OP_or: return is_plain(i, 3) && are(j, i, 1, FIRST, THREAD); /* no bit is in both */
    default: return false;
    }
}

static void find_meanings(struct joining *j)
{
    struct jkernel *k = j->k;
    for (size_t n = 0; n < k->ninstrs; n++) {
        struct jroles r;
        jit_roles(&k->instrs[n], &r);
        for (int d = 0; d < r.ndef; d++)
            j->ndefs[r.def[d]]++;
    }
    for (size_t n = 0; n < k->ninstrs; n++) {
        const struct ptx_instr *i = &k->instrs[n];
        enum meaning m = result_of(j, i);
        if (m != NOTHING && j->ndefs[i->operands[0].reg] == 1)
            j->means[i->operands[0].reg] = (uint8_t)m;
    }
}

static struct ptx_operand number(uint64_t n)
{
    return (struct ptx_operand){.kind = PTX_OPR_IMM, .reg = -1, .imm = n};
}

static struct ptx_operand special(unsigned sreg)
{
    return (struct ptx_operand){.kind = PTX_OPR_SREG, .reg = -1, .sreg = (uint16_t)sreg};
}

/* A new register with the result of an operation, `c` where there is a third operand. */
static int32_t push_made(struct jkernel *k, enum ptx_op op, const char *name, struct ptx_operand a,
                         struct ptx_operand b, const struct ptx_operand *c)
{
    int32_t reg = flat_reg(k, name, PTX_B32);
    struct ptx_instr *i = flat_push(k);
    i->op = (uint16_t)op;
    i->types[i->ntypes++] = op == PTX_OP_and ? PTX_B32 : PTX_U32;
    if (op == PTX_OP_mul || op == PTX_OP_mad)
        i->mods[i->nmods++] = PTX_M_lo;
    i->noperands = c != NULL ? 4 : 3;
    i->operands = arena_alloc(&k->arena, sizeof *i->operands * i->noperands);
    i->operands[0] = flat_reg_operand(reg);
    i->operands[1] = a;
    i->operands[2] = b;
    if (c != NULL)
        i->operands[3] = *c;
    return reg;
}

/* In front of all else: the registers that the program's instructions read. */
static void push_seen(struct joining *j)
{
    struct jkernel *k = j->k;
    const struct ptx_instr at = {0};
    uint32_t joined = k->opt->joined;
    int32_t tid = flat_reg(k, "row.tid", PTX_B32), ctaid = flat_reg(k, "row.ctaid", PTX_B32);
    flat_push_mov(k, &at, tid, special(PTX_SR_tid), PTX_B32);
    flat_push_mov(k, &at, ctaid, special(PTX_SR_ctaid), PTX_B32);
    struct ptx_operand t = flat_reg_operand(tid), c = flat_reg_operand(ctaid);
    j->thread = push_made(k, PTX_OP_and, "tid", t, number(j->width - 1), NULL);
    struct ptx_operand part = flat_reg_operand(
        push_made(k, PTX_OP_shr, "part", t, number((uint64_t)__builtin_ctz(j->width)), NULL));
    j->block = push_made(k, PTX_OP_mad, "ctaid", c, number(joined), &part);
    j->index = push_made(k, PTX_OP_mad, "index", c, number((uint64_t)joined * j->width), &t);
}

/* The instruction as the program means it. */
static void push_joined(struct joining *j, const struct ptx_instr *i)
{
    struct jkernel *k = j->k;
    if (makes_index(j, i)) {
        flat_push_mov(k, i, i->operands[0].reg, flat_reg_operand(j->index), PTX_B32);
        return;
    }
    if (i->op != PTX_OP_mov) {
        *flat_push(k) = *i;
        return;
    }
    const struct ptx_operand *from = &i->operands[1];
    if (is_special(from, PTX_SR_nctaid)) {
        struct ptx_operand n = flat_reg_operand(flat_reg(k, "row.nctaid", PTX_B32));
        flat_push_mov(k, i, n.reg, *from, PTX_B32);
        int32_t seen = push_made(k, PTX_OP_mul, "nctaid", n, number(k->opt->joined), NULL);
        flat_push_mov(k, i, i->operands[0].reg, flat_reg_operand(seen), PTX_B32);
        return;
    }
    if (from->kind == PTX_OPR_SREG) {
        switch (meaning_of(j, from)) {
        case THREAD:
            flat_push_mov(k, i, i->operands[0].reg, flat_reg_operand(j->thread), PTX_B32);
            return;
        case BLOCK:
            flat_push_mov(k, i, i->operands[0].reg, flat_reg_operand(j->block), PTX_B32);
            return;
        case WIDTH: flat_push_mov(k, i, i->operands[0].reg, number(j->width), PTX_B32); return;
        default: break;
        }
    }
    *flat_push(k) = *i;
}

void flat_join_blocks(struct jkernel *k)
{
    if (k->opt->joined <= 1)
        return;
    struct joining j = {.k = k,
                        .width = k->opt->ntid[0] / k->opt->joined,
                        .means = xcalloc(k->nregs + 1, sizeof *j.means),
                        .ndefs = xcalloc(k->nregs + 1, sizeof *j.ndefs)};
    find_meanings(&j);
    struct rebuilt list = flat_rebuild(k);
    push_seen(&j);
    for (size_t n = 0; n < list.count; n++) {
        list.moved[n] = (int32_t)k->ninstrs;
        push_joined(&j, &list.old[n]);
    }
    flat_rebuilt(k, &list);
    free(j.means);
    free(j.ndefs);
}
