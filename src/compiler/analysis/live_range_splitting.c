/* live_range_splitting: gives a register that lanes read after they have left a loop another name
 * inside of it.
 *
 * `while (k < n && text[i + k] == word[k]) k++;` keeps k the same in all lanes of an iteration. But
 * lanes that have left the loop still need the k that they left with (temporal divergence), so that
 * each increment is a partial write, k is a vector, and what it indexes is gathered. Compilers that
 * keep programs in loop-closed SSA form have two values there: the one in the loop, and the one
 * that lanes leave with. So has this pass: inside the loop the register is renamed; before each
 * branch that leaves the loop the old one is given the new one's value, in those lanes that are at
 * the branch; and what the register holds when the loop begins, the new one is given, too, by the
 * same instruction: a copy would be of a register that is a vector.
 *
 * It is done where it pays: where an address or a condition in the loop is affine or uniform then.
 * The analyses begin anew with the instructions changed. */
#include "compiler/arithmetic/arithmetic.h"
#include "compiler/front/flatten.h"
#include "compiler/passes.h"

#include <stdlib.h>
#include <string.h>

/* Larger kernels take long as it is. */
enum { MAX_INSTRS = 20000 };

enum edit_kind {
    EDIT_RENAME, /* the instruction is in the loop */
    EDIT_BEGIN,  /* it gives the register a value outside of the loop: the new one gets it, too */
    EDIT_LEAVE,  /* it branches out of the loop: the register gets the new one's value before */
};

/* One loop, and the registers that are to be split. */
struct loop {
    struct jkernel *k;
    int32_t first, last;   /* its blocks */
    uint64_t *split;       /* registers */
    uint64_t *inner;       /* registers that are written in the loop and nowhere else */
    uint64_t *visited;     /* blocks, for searches */
    struct uniformity *as; /* what registers would be */
};

static bool in_loop(const struct loop *l, int32_t b) { return b >= l->first && b <= l->last; }

/* Do lanes leave the loop at the end of the block for one that needs the register? */
static bool leaves(const struct loop *l, const struct jblock *blk, int32_t reg)
{
    for (int s = 0; s < blk->nsucc; s++)
        if (!in_loop(l, blk->succ[s]) && bit_get(l->k->blocks[blk->succ[s]].live_in, reg))
            return true;
    return false;
}

/* Is there a block at which lanes may be pending that need the register, while block b runs? Only
 * of the loop's, or of all. */
static bool is_awaited(const struct loop *l, int32_t b, int32_t reg, bool of_loop)
{
    const struct jkernel *k = l->k;
    EACH_BIT (c, k->blocks[b].frontier, k->nblocks)
        if ((!of_loop || in_loop(l, c)) && bit_get(k->blocks[c].live_in, reg))
            return true;
    return false;
}

static bool is_integer(const struct jreg *r)
{
    unsigned bits = ptx_type_bits((enum ptx_type)r->type);
    return r->type != PTX_PRED && !ptx_type_is_float((enum ptx_type)r->type) && bits >= 16 &&
           bits <= 64;
}

/* ---- what may be split ---- */

/* May an instruction be done twice, for two registers? */
static bool can_repeat(const struct ptx_instr *i)
{
    struct diag ignored = {0};
    if (i->noperands == 0 || i->operands[0].kind != PTX_OPR_REG || jit_ndst(i) != 1 || i->pair)
        return false;
    switch (i->op) {
    case PTX_OP_ld: return i->nspaces > 0 && i->spaces[0] == PTX_SPACE_PARAM && i->vec <= 1;
    case PTX_OP_mov: return i->operands[1].kind != PTX_OPR_VEC;
    case PTX_OP_call: return false;
    default: return jit_cheap(i) != 0 && alu_supported(i, &ignored);
    }
}

/* Does block b write the register? */
static bool writes(const struct loop *l, int32_t b, int32_t reg)
{
    return bit_get(l->k->blocks[b].written, reg);
}

/* Does a path lead from block b back to the loop on which the register is not written? */
static bool comes_back(struct loop *l, int32_t b, int32_t reg)
{
    const struct jkernel *k = l->k;
    if (in_loop(l, b))
        return true;
    if (bit_get(l->visited, b))
        return false;
    bit_set(l->visited, b);
    if (!bit_get(k->blocks[b].live_out, reg) || writes(l, b, reg))
        return false;
    for (int s = 0; s < k->blocks[b].nsucc; s++)
        if (comes_back(l, k->blocks[b].succ[s], reg))
            return true;
    return false;
}

/* Do lanes leave the loop with the register, by branches alone, and never come back with it? */
static bool leaves_for_good(struct loop *l, int32_t reg)
{
    const struct jkernel *k = l->k;
    bool left = false;
    bit_clear_all(l->visited, k->nblocks);
    for (int32_t b = l->first; b <= l->last; b++)
        for (int s = 0; s < k->blocks[b].nsucc; s++) {
            int32_t to = k->blocks[b].succ[s];
            if (in_loop(l, to) || !bit_get(k->blocks[to].live_in, reg))
                continue;
            if (k->blocks[b].term_instr == NULL || k->blocks[b].term == TERM_SUSPEND ||
                comes_back(l, to, reg))
                return false;
            left = true;
        }
    return left;
}

/* In the loop, is the register always written for all lanes that are there? */
static bool is_whole_inside(const struct loop *l, int32_t reg)
{
    for (int32_t b = l->first; b <= l->last; b++)
        if (writes(l, b, reg) && is_awaited(l, b, reg, true))
            return false;
    return true;
}

/* Can the values with which the loop begins be given to another register, too? What that one would
 * be then is joined to *as. */
static bool begins_alike(const struct loop *l, int32_t reg, struct uniformity *as)
{
    const struct jkernel *k = l->k;
    for (int32_t b = 0; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        if (in_loop(l, b) || !writes(l, b, reg))
            continue;
        if (is_awaited(l, b, reg, true) || (blk->term == TERM_SUSPEND && blk->term_instr != NULL &&
                                            jit_writes(blk->term_instr, reg)))
            return false;
        for (int32_t n = 0; n < blk->count; n++) {
            const struct ptx_instr *i = &k->instrs[blk->first + n];
            if (!jit_writes(i, reg))
                continue;
            if (!can_repeat(i))
                return false;
            *as = uniformity_join(*as, uniformity_of(k, i, 0));
        }
    }
    return as->known == 0 || as->seg != SEG_NONE;
}

/* Marks the registers that the loop reads, and those that it writes. */
static void find_roles(const struct loop *l, uint64_t *read, uint64_t *written)
{
    const struct jkernel *k = l->k;
    for (int32_t b = l->first; b <= l->last; b++) {
        const struct jblock *blk = &k->blocks[b];
        for (int32_t n = 0; n <= blk->count; n++) {
            const struct ptx_instr *i =
                n < blk->count ? &k->instrs[blk->first + n] : blk->term_instr;
            struct jroles r;
            if (i == NULL)
                continue;
            jit_roles(i, &r);
            for (int u = 0; u < r.nuse; u++)
                bit_set(read, r.use[u]);
            for (int d = 0; d < r.ndef; d++)
                bit_set(written, r.def[d]);
        }
    }
}

/* Finds the registers that can be split, and what they are before the loop. */
static bool find_candidates(struct loop *l, const uint64_t *taken)
{
    struct jkernel *k = l->k;
    int32_t nregs = (int32_t)k->nregs;
    uint64_t *read = xcalloc(bit_bytes(nregs), 1), *written = xcalloc(bit_bytes(nregs), 1);
    bool found = false;
    find_roles(l, read, written);
    EACH_BIT (r, written, nregs) {
        bool elsewhere = false;
        l->as[r] = (struct uniformity){0};
        for (int32_t b = 0; b < k->nblocks && !elsewhere; b++)
            elsewhere = !in_loop(l, b) && writes(l, b, r);
        if (!elsewhere)
            bit_set(l->inner, r);
        if (k->regs[r].uniformity.seg != SEG_NONE || !is_integer(&k->regs[r]) ||
            !bit_get(read, r) || bit_get(taken, r) || !leaves_for_good(l, r) ||
            !is_whole_inside(l, r) || !begins_alike(l, r, &l->as[r]))
            continue;
        bit_set(l->split, r);
        found = true;
    }
    free(read);
    free(written);
    return found;
}

/* ---- what it would be worth ---- */

/* Solves the loop as if the registers were split; the registers' uniformity is that. */
static void solve_loop(struct loop *l)
{
    struct jkernel *k = l->k;
    int32_t nregs = (int32_t)k->nregs;
    EACH_BIT (r, l->inner, nregs)
        k->regs[r].uniformity = l->as[r];
    EACH_BIT (r, l->split, nregs)
        k->regs[r].uniformity = l->as[r];
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t b = l->first; b <= l->last; b++)
            for (int32_t n = 0; n < k->blocks[b].count; n++) {
                const struct ptx_instr *i = &k->instrs[k->blocks[b].first + n];
                struct jroles r;
                jit_roles(i, &r);
                for (int d = 0; d < r.ndef; d++) {
                    struct jreg *reg = &k->regs[r.def[d]];
                    bool split = bit_get(l->split, r.def[d]);
                    if (!split && !bit_get(l->inner, r.def[d]))
                        continue;
                    struct uniformity s = uniformity_of(k, i, d);
                    if (s.known && ((!split && is_awaited(l, b, r.def[d], false)) ||
                                    (reg->type == PTX_PRED && !is_uniform(&s))))
                        s = (struct uniformity){.seg = SEG_NONE, .known = 1};
                    s = uniformity_join(reg->uniformity, s);
                    changed |= memcmp(&s, &reg->uniformity, sizeof s) != 0;
                    reg->uniformity = s;
                }
            }
    }
}

static bool improves(const struct jkernel *k, const struct uniformity *was, int32_t reg)
{
    const struct uniformity *s = &k->regs[reg].uniformity;
    return s->known && s->seg != SEG_NONE && was[reg].seg == SEG_NONE;
}

/* Is an address or a condition better than it was? */
static bool pays(const struct loop *l, const struct uniformity *was)
{
    const struct jkernel *k = l->k;
    for (int32_t b = l->first; b <= l->last; b++) {
        const struct jblock *blk = &k->blocks[b];
        if (blk->cond >= 0 && improves(k, was, blk->cond))
            return true;
        for (int32_t n = 0; n < blk->count; n++) {
            const struct ptx_instr *i = &k->instrs[blk->first + n];
            for (int o = 0; o < i->noperands; o++)
                if (i->operands[o].kind == PTX_OPR_MEM && i->operands[o].reg >= 0 &&
                    improves(k, was, i->operands[o].reg))
                    return true;
        }
    }
    return false;
}

/* Keeps those registers which it makes uniform or affine, if that pays. */
static bool choose(struct loop *l)
{
    struct jkernel *k = l->k;
    int32_t nregs = (int32_t)k->nregs;
    struct uniformity *was = xmalloc(sizeof *was * k->nregs);
    bool some = false;
    for (size_t r = 0; r < k->nregs; r++)
        was[r] = k->regs[r].uniformity;
    solve_loop(l);
    EACH_BIT (r, l->split, nregs) {
        if (!improves(k, was, r))
            bit_clear(l->split, r);
        some |= bit_get(l->split, r);
    }
    some = some && pays(l, was);
    for (size_t r = 0; r < k->nregs; r++)
        k->regs[r].uniformity = was[r];
    free(was);
    return some;
}

/* ---- the edits ---- */

static void add_edit(struct jkernel *k, const struct ptx_instr *i, enum edit_kind kind, int32_t reg,
                     int32_t to)
{
    struct jedits *e = &k->edits;
    if (e->count == e->cap) {
        e->cap = e->cap * 2 + 16;
        e->items = xrealloc(e->items, sizeof *e->items * e->cap);
    }
    e->items[e->count++] = (struct jedit){(int32_t)(i - k->instrs), (uint8_t)kind, reg, to};
}

static bool mentions(const struct ptx_instr *i, int32_t reg)
{
    struct jroles r;
    jit_roles(i, &r);
    for (int u = 0; u < r.nuse; u++)
        if (r.use[u] == reg)
            return true;
    return jit_writes(i, reg);
}

static void plan_split(const struct loop *l, int32_t reg)
{
    struct jkernel *k = l->k;
    int32_t to = (int32_t)k->nregs + k->edits.nregs++;
    for (int32_t b = 0; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        for (int32_t n = 0; n < blk->count; n++) {
            const struct ptx_instr *i = &k->instrs[blk->first + n];
            if (in_loop(l, b) && mentions(i, reg))
                add_edit(k, i, EDIT_RENAME, reg, to);
            else if (!in_loop(l, b) && jit_writes(i, reg))
                add_edit(k, i, EDIT_BEGIN, reg, to);
        }
        if (in_loop(l, b) && blk->term_instr != NULL) {
            if (mentions(blk->term_instr, reg))
                add_edit(k, blk->term_instr, EDIT_RENAME, reg, to);
            if (leaves(l, blk, reg) && blk->term != TERM_SUSPEND)
                add_edit(k, blk->term_instr, EDIT_LEAVE, reg, to);
        }
    }
}

/* Do lanes act together in the loop? They wait for each other there, which is not known yet. */
static bool acts_together(const struct loop *l)
{
    for (int32_t b = l->first; b <= l->last; b++)
        if (jit_is_joint(l->k, &l->k->blocks[b]))
            return true;
    return false;
}

static int by_instr(const void *a, const void *b)
{
    const struct jedit *x = a, *y = b;
    if (x->instr != y->instr)
        return x->instr < y->instr ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

bool jit_find_splits(struct jkernel *k)
{
    if (k->edits.searched || k->fibers || k->opt->checked != 0 || k->ninstrs > MAX_INSTRS ||
        (k->entry->pragmas & PTX_PRAGMA_DIVERGENT) != 0)
        return false;
    k->edits.searched = true;
    int32_t nregs = (int32_t)k->nregs;
    uint64_t *taken = xcalloc(bit_bytes(nregs), 1);
    for (int32_t h = k->nblocks - 1; h >= 0; h--) { /* inner loops first */
        if (k->blocks[h].depth == 0 || k->blocks[h].loop != h || k->blocks[h].irreducible)
            continue;
        struct loop l = {.k = k, .first = h, .last = jit_loop_end(k, h)};
        l.split = xcalloc(bit_bytes(nregs), 1);
        l.inner = xcalloc(bit_bytes(nregs), 1);
        l.visited = xcalloc(bit_bytes(k->nblocks), 1);
        l.as = xcalloc(k->nregs, sizeof *l.as);
        if (!acts_together(&l) && find_candidates(&l, taken) && choose(&l))
            EACH_BIT (r, l.split, nregs) {
                bit_set(taken, r);
                plan_split(&l, r);
            }
        free(l.split);
        free(l.inner);
        free(l.visited);
        free(l.as);
    }
    free(taken);
    if (k->edits.count > 0)
        qsort(k->edits.items, k->edits.count, sizeof *k->edits.items, by_instr);
    return k->edits.count > 0;
}

/* ---- the instructions ---- */

/* What edit `e`, of the instruction i as it is by now, puts before it. */
static void push_edit(struct jkernel *k, const struct jedit *e, const struct ptx_instr *i)
{
    if (e->kind == EDIT_LEAVE)
        flat_push_mov(k, i, e->reg, flat_reg_operand(e->to), k->regs[e->reg].type);
    if (e->kind != EDIT_BEGIN)
        return;
    struct ptx_instr twice = *i;
    twice.operands = arena_alloc(&k->arena, sizeof *twice.operands * (size_t)(i->noperands + 1));
    memcpy(twice.operands, i->operands, sizeof *twice.operands * (size_t)i->noperands);
    twice.operands[0].reg = e->to;
    *flat_push(k) = twice;
}

void jit_apply_splits(struct jkernel *k)
{
    const struct jedits *e = &k->edits;
    if (e->count == 0)
        return;
    struct ptx_instr *old = k->instrs;
    int32_t nold = (int32_t)k->ninstrs;
    int32_t *moved = xmalloc(sizeof *moved * ((size_t)nold + 1));
    for (int32_t r = 0; r < e->nregs; r++)
        flat_reg(k, "", PTX_B32);
    for (size_t n = 0; n < e->count; n++) {
        k->regs[e->items[n].to].name = k->regs[e->items[n].reg].name;
        k->regs[e->items[n].to].type = k->regs[e->items[n].reg].type;
    }
    k->instrs = NULL;
    k->ninstrs = k->instrs_cap = 0;
    size_t at = 0;
    for (int32_t n = 0; n < nold; n++) {
        struct ptx_instr i = old[n];
        size_t from = at;
        moved[n] = (int32_t)k->ninstrs;
        for (; at < e->count && e->items[at].instr == n && e->items[at].kind == EDIT_RENAME; at++)
            flat_rename(k, &i, e->items[at].reg, e->items[at].to);
        for (at = from; at < e->count && e->items[at].instr == n; at++)
            push_edit(k, &e->items[at], &i);
        *flat_push(k) = i;
    }
    moved[nold] = (int32_t)k->ninstrs;
    flat_retarget(k, moved);
    free(moved);
}
