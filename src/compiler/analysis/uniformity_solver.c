/* uniformity_solver: uniformity, divergence and frontiers together.
 *
 * uniformity.c says what an instruction makes of its sources. Here that is done for all registers,
 * along with what depends on it: which branches diverge, where lanes may be pending meanwhile, and
 * which writes are therefore partial; round after round until nothing changes. */
#include "compiler/passes.h"

#include <stdlib.h>
#include <string.h>

static const struct uniformity divergent = {.seg = SEG_NONE, .known = 1},
                               uniform = {.seg = SEG_WARP, .known = 1};

static bool integer_type(unsigned t) { return t >= PTX_B8 && t <= PTX_S64 && t != PTX_B128; }

/* ---- divergence and frontiers ---- */

/* After block b, lanes may be pending at its successors and all over its frontier; each of these
 * may run next, with the later ones pending. */
static bool spread(struct jkernel *k, int32_t b)
{
    int32_t n = k->nblocks;
    struct jblock *blk = &k->blocks[b];
    uint64_t *cand = xmalloc(bit_bytes(n));
    bool changed = false;
    bool together = blk->diverges || blk->term == TERM_EXIT;
    for (int s = 0; s < (together ? 1 : blk->nsucc); s++) {
        bit_copy(cand, blk->frontier, n);
        if (together)
            for (int t = 0; t < blk->nsucc; t++)
                bit_set(cand, blk->succ[t]);
        else
            bit_set(cand, blk->succ[s]);
        EACH_BIT (c, cand, n)
            changed |= bit_union_above(k->blocks[c].frontier, cand, n, c + 1);
    }
    if (blk->spin_yields != NULL) {
        /* Its lanes wait on, back at the loop, while those of another block go first. */
        bit_copy(cand, blk->frontier, n);
        bit_set(cand, blk->succ[0]);
        EACH_BIT (c, blk->frontier, n)
            if (bit_get(blk->spin_yields, c)) {
                bit_clear(cand, c);
                changed |= bit_union(k->blocks[c].frontier, cand, n);
                bit_set(cand, c);
            }
    }
    free(cand);
    return changed;
}

/* What the rounds look up, and none of them changes. */
struct facts {
    uint64_t *constants; /* registers that are the same whenever a lane reads them */
    uint64_t *live_at;   /* per register: the blocks that it is live into; `words` each */
    size_t words;
    int32_t *outermost; /* per block: the loop around it that no other is around, -1: none */
    uint64_t *pending;  /* blocks at which lanes may be pending, while one block is looked at */
};

/* Does block b begin with a warp operation that has a gate at which all lanes of the warp wait for
 * each other? */
static bool gathers_warp(const struct jkernel *k, int32_t b)
{
    for (int32_t p = 0; p < k->blocks[b].npred && !k->fibers; p++) {
        const struct jblock *gate = &k->blocks[k->blocks[b].pred[p]];
        const struct ptx_operand *members = gate->members;
        if (gate->term == TERM_GATE && gate->succ[0] == b && members != NULL &&
            members->kind == PTX_OPR_IMM && (uint32_t)members->imm == UINT32_MAX)
            return true;
    }
    return false;
}

/* The blocks at which lanes that matter may be pending while block b runs. Where the whole warp has
 * gathered, no other lane of the loop is on its way (gates.c). */
static void find_pending(const struct jkernel *k, int32_t b, struct facts *f)
{
    bit_copy(f->pending, k->blocks[b].frontier, k->nblocks);
    if (f->outermost[b] >= 0 && gathers_warp(k, b))
        EACH_BIT (c, k->blocks[b].frontier, k->nblocks)
            if (f->outermost[c] == f->outermost[b])
                bit_clear(f->pending, c);
}

/* May lanes that are pending elsewhere still read the register? */
static bool is_awaited(const struct jkernel *k, int32_t reg, const struct facts *f)
{
    return !bit_get(f->constants, reg) &&
           bit_intersects(f->pending, f->live_at + (size_t)reg * f->words, k->nblocks);
}

/* Does the instruction give the same whenever a lane executes it, if its sources do? */
static bool is_constant(const struct ptx_instr *i, const struct jroles *r)
{
    switch (i->op) {
    case PTX_OP_mov:
        if (i->operands[1].kind == PTX_OPR_SREG)
            return i->operands[1].sreg < PTX_SR_clock;
        return i->operands[0].kind == PTX_OPR_REG && i->operands[1].kind != PTX_OPR_VEC;
    case PTX_OP_ld: return i->nspaces > 0 && i->spaces[0] == PTX_SPACE_PARAM && r->nuse == 0;
    default: return jit_cheap(i) & CHEAP_SCALAR && i->ntypes > 0 && integer_type(i->types[0]);
    }
}

/* Registers that have one value in each lane for as long as the block runs, since one instruction
 * writes them, from such values and from constants, parameters and indices. Which lanes have
 * written one, and when, makes no difference. */
static uint64_t *find_constants(const struct jkernel *k)
{
    uint64_t *constants = xmalloc(bit_bytes((int32_t)k->nregs));
    bit_clear_all(constants, (int32_t)k->nregs);
    for (int32_t b = 0; b < k->nblocks; b++)
        for (int32_t n = 0; n < k->blocks[b].count; n++) {
            const struct ptx_instr *i = &k->instrs[k->blocks[b].first + n];
            struct jroles r;
            jit_roles(i, &r);
            bool same = r.ndef == 1 && k->regs[r.def[0]].ndefs == 1 && is_constant(i, &r);
            for (int u = 0; u < r.nuse; u++)
                same &= bit_get(constants, r.use[u]);
            if (same)
                bit_set(constants, r.def[0]);
        }
    return constants;
}

static void find_facts(const struct jkernel *k, struct facts *f)
{
    f->constants = find_constants(k);
    f->words = (size_t)bit_words(k->nblocks);
    f->live_at = xcalloc(k->nregs * f->words + 1, sizeof *f->live_at);
    f->pending = xcalloc(bit_bytes(k->nblocks), 1);
    f->outermost = xmalloc(sizeof *f->outermost * ((size_t)k->nblocks + 1));
    int32_t loop = -1;
    for (int32_t b = 0; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        /* a loop's blocks follow each other in the order */
        loop = blk->depth == 0 ? -1 : blk->depth == 1 && blk->loop == b ? b : loop;
        f->outermost[b] = loop;
        EACH_BIT (r, blk->live_in, (int32_t)k->nregs)
            bit_set(f->live_at + (size_t)r * f->words, b);
    }
}

static void free_facts(struct facts *f)
{
    free(f->constants);
    free(f->live_at);
    free(f->pending);
    free(f->outermost);
}

/* One round over all instructions; true when the uniformity of a register has changed. */
static bool solve_round(struct jkernel *k, struct facts *f)
{
    bool changed = false;
    for (int32_t b = 0; b < k->nblocks; b++) {
        struct jblock *blk = &k->blocks[b];
        find_pending(k, b, f);
        for (int32_t n = 0; n <= blk->count; n++) {
            const struct ptx_instr *i = n < blk->count              ? &k->instrs[blk->first + n]
                                        : blk->term == TERM_SUSPEND ? blk->term_instr
                                                                    : NULL;
            struct jroles r;
            if (i == NULL)
                continue;
            jit_roles(i, &r);
            for (int d = 0; d < r.ndef; d++) {
                struct jreg *reg = &k->regs[r.def[d]];
                struct uniformity s = uniformity_of(k, i, d);
                if (s.known && k->entry->pragmas & PTX_PRAGMA_DIVERGENT)
                    s = divergent;
                if (s.known && k->fibers && jit_depends_on_arrival(i) &&
                    !bit_empty(blk->frontier, k->nblocks))
                    s = divergent; /* the others may come later */
                if (s.known && is_awaited(k, r.def[d], f)) {
                    struct uniformity v = divergent;
                    v.hint_seg = s.seg ? s.seg : s.hint_seg;
                    v.stride = s.stride;
                    s = v;
                }
                if (reg->type == PTX_PRED && s.known && !is_uniform(&s))
                    s = divergent;
                struct uniformity j = uniformity_join(reg->uniformity, s);
                if (memcmp(&j, &reg->uniformity, sizeof j) != 0) {
                    reg->uniformity = j;
                    changed = true;
                }
            }
        }
    }
    return changed;
}

/* Registers cheap enough to compute again: chains of scalar integer work on values that never
 * change while the block runs. */
static void find_remat(struct jkernel *k)
{
    for (int32_t b = 0; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        for (int32_t n = 0; n < blk->count; n++) {
            const struct ptx_instr *i = &k->instrs[blk->first + n];
            struct jroles r;
            jit_roles(i, &r);
            if (r.ndef != 1 || k->regs[r.def[0]].ndefs != 1 ||
                k->regs[r.def[0]].uniformity.seg == SEG_NONE)
                continue;
            int cost = 1;
            for (int u = 0; u < r.nuse; u++) {
                const struct jreg *src = &k->regs[r.use[u]];
                cost = src->remat == 0 ? 1000 : cost + src->remat;
            }
            if (is_constant(i, &r) && cost < 24)
                k->regs[r.def[0]].remat = (uint8_t)cost;
        }
    }
}

/* Uniformity, diverging branches and frontiers, until none of them changes any more. */
static void solve(struct jkernel *k, struct facts *f)
{
    for (bool changed = true; changed;) {
        changed = solve_round(k, f);
        for (int32_t b = 0; b < k->nblocks; b++) {
            struct jblock *blk = &k->blocks[b];
            if (blk->cond < 0 || blk->diverges)
                continue;
            const struct uniformity *s = &k->regs[blk->cond].uniformity;
            if (s->known && !is_uniform(s)) {
                blk->diverges = true;
                changed = true;
            }
        }
        for (bool spreading = true; spreading;) {
            spreading = false;
            for (int32_t b = 0; b < k->nblocks; b++)
                spreading |= spread(k, b);
            changed |= spreading;
        }
    }
}

/* Registers that the kernel may read before it writes them hold any value: where nothing is known
 * of one yet, it is uniform. (A loop may mix such a register with real values: x = first ? y : x.
 * What these flow into is then solved again.) */
static void settle_unwritten(struct jkernel *k)
{
    for (size_t r = 0; r < k->nregs; r++)
        if (!k->regs[r].uniformity.known && bit_get(k->blocks[0].live_in, (int32_t)r))
            k->regs[r].uniformity = uniform;
}

bool pass_uniformity(struct jkernel *k)
{
    for (int32_t b = 0; b < k->nblocks; b++)
        k->blocks[b].frontier = arena_alloc(&k->arena, bit_bytes(k->nblocks));
    jit_find_spin_yields(k);
    struct facts f;
    find_facts(k, &f);
    solve(k, &f);
    settle_unwritten(k);
    solve(k, &f);
    free_facts(&f);
    for (size_t r = 0; r < k->nregs; r++)
        if (!k->regs[r].uniformity.known) /* in code that is never reached */
            k->regs[r].uniformity = uniform;
    for (int32_t b = 0; b < k->nblocks; b++) {
        struct jblock *blk = &k->blocks[b];
        blk->converged = bit_empty(blk->frontier, k->nblocks) && !blk->waits;
    }
    find_remat(k);
    return true;
}
