/* early_values: computes before a barrier what is made after it of several values that nothing else
 * needs.
 *
 * Compilers move instructions down to where their results are used:
 *
 *   same = digit == 0 ? mask0 : digit == 1 ? mask1 : ...;  __syncthreads();  if (i < n) use(same);
 *
 * becomes a barrier, a branch and then all selections. A thread keeps registers across a barrier
 * for nothing; here what is live there is stored to each warp's frame and loaded again (frame.c):
 * all conditions and masks in place of one register. So instructions that follow a barrier, by
 * branches that only lead away, are moved in front of it where the frame becomes smaller. They are
 * arithmetic, which may be done by threads that do not need it. A result is dead at the barrier, as
 * nothing may read what the register held before, and operands have the same values there.
 *
 * The analyses begin anew with the instructions changed. */
#include "compiler/arithmetic/arithmetic.h"
#include "compiler/front/flatten.h"
#include "compiler/passes.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_INSTRS = 4000, /* of a kernel */
    MAX_STRETCH = 256, /* instructions after a barrier that are looked at */
    MAX_SEARCHES = 64, /* each looks at the whole kernel */
    LEAST_GAIN = 4     /* in the terms of frame_cost */
};

/* What follows one barrier. */
struct stretch {
    struct jkernel *k;
    const struct jblock *from; /* the barrier's block */
    const struct jblock *to;   /* the first one after it */
    int32_t instr[MAX_STRETCH], count;
    uint8_t *may;           /* per instruction of the kernel: it can be moved */
    int32_t *maker;         /* per register: 1 + that of these which makes it */
    uint64_t *made;         /* registers that are written after the barrier by what cannot */
    uint64_t *moved;        /* instructions of the kernel that are moved, or would be */
    int32_t *after;         /* per instruction that is moved: known_after */
    int32_t *number, *idom; /* per block: in reverse postorder, immediate dominator */
    int searches;
};

/* About how many registers of the CPU a register is in a frame. What is computed anew is in none.
 */
static int frame_cost(const struct jkernel *k, int32_t reg)
{
    const struct jreg *r = &k->regs[reg];
    unsigned bits = ptx_type_bits((enum ptx_type)r->type);
    if (r->remat)
        return 0;
    if (r->uniformity.seg != SEG_NONE)
        return 1 << (SEG_WARP - r->uniformity.seg);
    return r->type == PTX_PRED ? 2 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
}

/* Is it arithmetic that any thread may do, at any place? */
static bool is_plain(const struct ptx_instr *i)
{
    struct diag ignored = {0};
    if (i->guard >= 0 || i->pair || i->noperands < 2 || i->operands[0].kind != PTX_OPR_REG ||
        jit_ndst(i) != 1 || jit_is_long(i))
        return false;
    for (int o = 1; o < i->noperands; o++) {
        uint8_t kind = i->operands[o].kind;
        if (kind != PTX_OPR_REG && kind != PTX_OPR_IMM && kind != PTX_OPR_FIMM)
            return false;
    }
    return i->op == PTX_OP_mov || (i->op != PTX_OP_call && alu_supported(i, &ignored));
}

/* ---- what follows a barrier ---- */

/* The block that is run after this one and after no other: of two, the longer one. -1: none. */
static int32_t next_block(const struct jkernel *k, const struct jblock *b)
{
    int32_t next = -1;
    for (int s = 0; s < b->nsucc && b->term != TERM_SUSPEND && b->term != TERM_GATE; s++) {
        const struct jblock *to = &k->blocks[b->succ[s]];
        if (to->npred == 1 && !to->waits && (next < 0 || to->count > k->blocks[next].count))
            next = b->succ[s];
    }
    return next;
}

/* Can instruction n be moved before the barrier, if those can that make its operands? */
static bool may_move(const struct stretch *s, int32_t n)
{
    const struct ptx_instr *i = &s->k->instrs[n];
    struct jroles r;
    if (!is_plain(i))
        return false;
    jit_roles(i, &r);
    int32_t to = r.def[0];
    if (s->k->regs[to].ndefs != 1 || bit_get(s->to->live_in, to))
        return false;
    for (int u = 0; u < r.nuse; u++)
        if (bit_get(s->made, r.use[u]))
            return false;
    return true;
}

static void add_block(struct stretch *s, const struct jblock *b)
{
    for (int32_t n = b->first; n < b->first + b->count && s->count < MAX_STRETCH; n++) {
        struct jroles r;
        s->may[n] = may_move(s, n);
        jit_roles(&s->k->instrs[n], &r);
        if (s->may[n])
            s->maker[r.def[0]] = 1 + n;
        for (int d = 0; d < r.ndef && !s->may[n]; d++)
            bit_set(s->made, r.def[d]);
        s->instr[s->count++] = n;
    }
}

static void find_stretch(struct stretch *s)
{
    enum { MAX_BLOCKS = 16 };
    struct jkernel *k = s->k;
    struct jroles r;
    bit_clear_all(s->made, (int32_t)k->nregs);
    memset(s->maker, 0, sizeof *s->maker * k->nregs);
    s->count = 0;
    jit_roles(s->from->term_instr, &r);
    for (int d = 0; d < r.ndef; d++)
        bit_set(s->made, r.def[d]);
    int32_t b = s->from->succ[0];
    s->to = &k->blocks[b];
    if (s->to->npred != 1)
        return;
    for (int blocks = 0; b >= 0 && blocks < MAX_BLOCKS && s->count < MAX_STRETCH; blocks++) {
        add_block(s, &k->blocks[b]);
        b = next_block(k, &k->blocks[b]);
    }
}

/* ---- what moving is worth ---- */

/* Of the registers that are read after the barrier: those that would be if the moved instructions
 * were not there. The caller frees it. */
static uint64_t *live_without(const struct stretch *s)
{
    const struct jkernel *k = s->k;
    int32_t nregs = (int32_t)k->nregs;
    size_t words = (size_t)bit_words(nregs), to = (size_t)(s->to - k->blocks);
    uint64_t *in = xcalloc(words * (size_t)k->nblocks, 8);
    uint64_t *out = xcalloc(words, 8), *written = xcalloc(words * (size_t)k->nblocks, 8);
    for (int32_t b = 0; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        uint64_t *read = in + words * (size_t)b, *wrote = written + words * (size_t)b;
        for (int32_t n = 0; n <= blk->count; n++) {
            struct jroles r = {.nuse = 0};
            if (n < blk->count && !bit_get(s->moved, blk->first + n))
                jit_roles(&k->instrs[blk->first + n], &r);
            else if (n == blk->count && blk->term == TERM_SUSPEND && blk->term_instr != NULL)
                jit_roles(blk->term_instr, &r);
            for (int u = 0; u < r.nuse; u++)
                if (!bit_get(wrote, r.use[u]))
                    bit_set(read, r.use[u]);
            for (int d = 0; d < r.ndef; d++)
                bit_set(wrote, r.def[d]);
        }
        if (blk->cond >= 0 && !bit_get(wrote, blk->cond))
            bit_set(read, blk->cond);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t b = k->nblocks - 1; b >= 0; b--) {
            const struct jblock *blk = &k->blocks[b];
            bit_clear_all(out, nregs);
            for (int n = 0; n < blk->nsucc; n++)
                bit_union(out, in + words * (size_t)blk->succ[n], nregs);
            changed |=
                bit_union_except(in + words * (size_t)b, out, written + words * (size_t)b, nregs);
        }
    }
    memcpy(out, in + words * to, words * 8);
    free(in);
    free(written);
    return out;
}

/* Adds instruction n, and those that make its operands, to what would be moved. */
static void add_with_makers(struct stretch *s, int32_t n)
{
    struct jroles r;
    if (bit_get(s->moved, n))
        return;
    bit_set(s->moved, n);
    jit_roles(&s->k->instrs[n], &r);
    for (int u = 0; u < r.nuse; u++)
        if (s->maker[r.use[u]] != 0 && s->maker[r.use[u]] - 1 < n)
            add_with_makers(s, s->maker[r.use[u]] - 1);
}

/* How much smaller the frame would be: what is not live at the barrier any more, less what is
 * instead. `before` has the instructions that were moved already. */
static int gain(const struct stretch *s, const uint64_t *before)
{
    const struct jkernel *k = s->k;
    uint64_t *live = live_without(s);
    int saved = 0;
    EACH_BIT (r, s->to->live_in, (int32_t)k->nregs)
        saved += bit_get(live, r) ? 0 : frame_cost(k, r);
    for (int n = 0; n < s->count; n++) {
        struct jroles r;
        if (!bit_get(s->moved, s->instr[n]) || bit_get(before, s->instr[n]))
            continue;
        jit_roles(&k->instrs[s->instr[n]], &r);
        saved -= bit_get(live, r.def[0]) ? frame_cost(k, r.def[0]) : 0;
    }
    free(live);
    return saved;
}

/* At most how much: all operands that are live at the barrier would be no more. */
static int most_gain(const struct stretch *s, const uint64_t *before)
{
    const struct jkernel *k = s->k;
    int most = 0;
    for (int n = 0; n < s->count; n++) {
        struct jroles r;
        if (!bit_get(s->moved, s->instr[n]) || bit_get(before, s->instr[n]))
            continue;
        jit_roles(&k->instrs[s->instr[n]], &r);
        for (int u = 0; u < r.nuse; u++)
            most += bit_get(s->to->live_in, r.use[u]) ? frame_cost(k, r.use[u]) : 0;
    }
    return most;
}

/* ---- the moves ---- */

/* Does block d come before the barrier on every path, with no other barrier between them and as
 * often? */
static bool comes_before(const struct stretch *s, int32_t d)
{
    const struct jkernel *k = s->k;
    int32_t b = (int32_t)(s->from - k->blocks);
    if (k->blocks[d].loop != s->from->loop || s->number[d] < 0 ||
        !graph_dominates(s->idom, s->number, d, b))
        return false;
    for (; b != d; b = s->idom[b])
        if (k->blocks[s->idom[b]].term == TERM_SUSPEND)
            return false;
    return true;
}

/* The block that has instruction n; -1: none. */
static int32_t block_of(const struct jkernel *k, int32_t n)
{
    for (int32_t b = 0; b < k->nblocks; b++)
        if (n >= k->blocks[b].first && n < k->blocks[b].first + k->blocks[b].count)
            return b;
    return -1;
}

/* The instruction after which the value that n makes is known; -1: before the barrier. Sooner is
 * better, as conditions of lanes are in few registers. Each operand is written by one instruction,
 * which comes before the barrier on every path: when the last of these is done, all have the values
 * that they have after the barrier. */
static int32_t known_after(const struct stretch *s, int32_t n)
{
    const struct jkernel *k = s->k;
    struct jroles r;
    int32_t after = -1, block = -1;
    jit_roles(&k->instrs[n], &r);
    int32_t to = r.def[0];
    for (int u = 0; u < r.nuse; u++) {
        const struct jreg *reg = &k->regs[r.use[u]];
        if (reg->ndefs != 1 || reg->def < 0)
            return -1;
        int32_t def = s->maker[r.use[u]] != 0 ? s->after[reg->def] : reg->def;
        int32_t in = def < 0 ? -1 : block_of(k, def);
        if (in < 0 || !comes_before(s, in) || bit_get(k->blocks[in].live_in, to) ||
            bit_get(k->blocks[in].live_out, to))
            return -1;
        bool later = block < 0 ||
                     (in == block ? def > after : graph_dominates(s->idom, s->number, block, in));
        after = later ? def : after;
        block = later ? in : block;
    }
    return after;
}

static void add_move(struct stretch *s, int32_t instr)
{
    struct jmoves *m = &s->k->moves;
    if (m->count == m->cap) {
        m->cap = m->cap * 2 + 16;
        m->items = xrealloc(m->items, sizeof *m->items * m->cap);
    }
    int32_t after = s->after[instr] = known_after(s, instr);
    m->items[m->count++] =
        after >= 0
            ? (struct jmove){.instr = instr, .at = after, .after = true}
            : (struct jmove){.instr = instr, .at = (int32_t)(s->from->term_instr - s->k->instrs)};
}

/* Moves what pays, each value with all that it is made of, later ones first. */
static void choose(struct stretch *s)
{
    struct jkernel *k = s->k;
    int32_t n = (int32_t)k->ninstrs;
    uint64_t *before = xcalloc(bit_bytes(n), 1);
    for (int at = s->count; at-- > 0 && s->searches < MAX_SEARCHES;) {
        if (!s->may[s->instr[at]] || bit_get(s->moved, s->instr[at]))
            continue;
        memcpy(before, s->moved, bit_bytes(n));
        add_with_makers(s, s->instr[at]);
        bool pays = most_gain(s, before) >= LEAST_GAIN;
        s->searches += pays;
        if (!pays || gain(s, before) < LEAST_GAIN)
            memcpy(s->moved, before, bit_bytes(n));
    }
    free(before);
    for (int at = 0; at < s->count; at++)
        if (bit_get(s->moved, s->instr[at]))
            add_move(s, s->instr[at]);
}

bool jit_find_early_values(struct jkernel *k)
{
    if (k->moves.searched || k->nregs == 0 || k->fibers || k->is_function || k->nwarps == 1 ||
        k->opt->checked != 0 || k->ninstrs > MAX_INSTRS ||
        (k->entry->pragmas & PTX_PRAGMA_DIVERGENT) != 0)
        return false;
    k->moves.searched = true;
    struct stretch s = {.k = k};
    int32_t n = (int32_t)k->ninstrs;
    s.may = xcalloc(k->ninstrs, 1);
    s.maker = xcalloc(k->nregs, sizeof *s.maker);
    s.made = xcalloc(bit_bytes((int32_t)k->nregs), 1);
    s.moved = xcalloc(bit_bytes(n), 1);
    s.after = xcalloc(k->ninstrs, sizeof *s.after);
    s.number = xcalloc((size_t)k->nblocks, sizeof *s.number);
    s.idom = xcalloc((size_t)k->nblocks, sizeof *s.idom);
    int32_t *order = xcalloc((size_t)k->nblocks, sizeof *order);
    int32_t reached = graph_reverse_postorder(&k->graph, 0, order, s.number);
    graph_dominators(&k->graph, order, s.number, reached, s.idom);
    free(order);
    for (int32_t b = 0; b < k->nblocks; b++) {
        s.from = &k->blocks[b];
        if (s.from->term != TERM_SUSPEND || s.from->suspend != SUSPEND_BARRIER ||
            s.from->term_instr == NULL)
            continue;
        find_stretch(&s);
        choose(&s);
    }
    free(s.may);
    free(s.maker);
    free(s.made);
    free(s.moved);
    free(s.after);
    free(s.number);
    free(s.idom);
    return k->moves.count > 0;
}

static void push_moved(struct jkernel *k, const struct ptx_instr *old, int32_t at, bool after)
{
    const struct jmoves *m = &k->moves;
    for (size_t n = 0; n < m->count; n++)
        if (m->items[n].at == at && m->items[n].after == after)
            *flat_push(k) = old[m->items[n].instr];
}

void jit_apply_moves(struct jkernel *k)
{
    const struct jmoves *m = &k->moves;
    if (m->count == 0)
        return;
    struct rebuilt list = flat_rebuild(k);
    uint8_t *moves = xcalloc(list.count, 1);
    for (size_t n = 0; n < m->count; n++)
        moves[m->items[n].instr] = 1;
    for (size_t n = 0; n < list.count; n++) {
        list.moved[n] = (int32_t)k->ninstrs;
        push_moved(k, list.old, (int32_t)n, false);
        if (!moves[n])
            *flat_push(k) = list.old[n];
        push_moved(k, list.old, (int32_t)n, true);
    }
    free(moves);
    flat_rebuilt(k, &list);
}
