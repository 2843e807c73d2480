/* lane_serialization: finds the loops that run one lane after the other.
 *
 * Where each lane loops as often as it likes over addresses of its own (a sparse row, a list of
 * neighbours, a walk through a tree), a warp in step gains nothing: gathers cost as much as so many
 * loads, and lanes that are done wait for the longest. Run one after the other, lanes are plain
 * scalar loops, and the CPU's own reordering makes the end of one overlap with the next. It is
 * legal because lanes of a warp need not be in step between warp operations; code with any of
 * these, with a barrier, a poll, or accesses that order memory is never serialized.
 *
 * The code that is serialized is the blocks on the paths from one block to another that all of
 * them lead to, entered at the first only. It holds a loop that lanes leave at different times. The
 * cost of both is estimated; accesses of neighbours speak for lanes in step. Where these are rows
 * of eight lanes, strips of eight may run one after the other instead. */
#include "compiler/arithmetic/arithmetic.h"
#include "compiler/passes.h"

#include <stdlib.h>
#include <string.h>

/* The longest stretch, in blocks. */
enum { MAX_STRETCH = 32 };

/* From an address to what is there, in the first cache. */
enum { LOAD_CYCLES = 5 };

/* ---- stretches ---- */

bool jit_between(const struct jkernel *k, int32_t from, int32_t until, uint64_t *set)
{
    bit_set(set, from);
    return graph_reach(&k->graph, from, (struct graph_limits){NULL, until, MAX_STRETCH - 1}, set);
}

struct search {
    struct jkernel *k;
    uint8_t *fit;  /* per block: may one lane run it? */
    uint64_t *set; /* the stretch being looked at */
};

static bool orders_memory(const struct ptx_instr *i)
{
    return ptx_has(i, PTX_M_volatile) || ptx_has(i, PTX_M_relaxed) || ptx_has(i, PTX_M_acquire) ||
           ptx_has(i, PTX_M_release) || ptx_has(i, PTX_M_mmio);
}

static bool operands_fit(const struct jkernel *k, const struct ptx_instr *i)
{
    for (int n = 0; n < i->noperands; n++) {
        const struct ptx_operand *o = &i->operands[n];
        if (o->kind != PTX_OPR_SREG)
            continue;
        struct uniformity s = operand_uniformity(k, o);
        if (!is_uniform(&s) || o->sreg >= PTX_SR_clock)
            return false;
    }
    return true;
}

bool jit_lane_may_run(const struct jkernel *k, const struct ptx_instr *i)
{
    struct diag ignored = {0};
    unsigned space = i->nspaces > 0 ? i->spaces[0] : PTX_SPACE_GENERIC;
    switch (i->op) {
    case PTX_OP_ld:
    case PTX_OP_ldu:
    case PTX_OP_st: return space != PTX_SPACE_SHARED_CLUSTER && !orders_memory(i);
    case PTX_OP_atom:
    case PTX_OP_red:
        return !ptx_has(i, PTX_M_acquire) && !ptx_has(i, PTX_M_release) &&
               !ptx_has(i, PTX_M_acq_rel) && space != PTX_SPACE_SHARED_CLUSTER;
    case PTX_OP_cvta: return space != PTX_SPACE_LOCAL && space != PTX_SPACE_SHARED_CLUSTER;
    case PTX_OP_mov: return operands_fit(k, i);
    case PTX_OP_call: return false;
    default: return operands_fit(k, i) && alu_supported(i, &ignored);
    }
}

static bool block_fits(const struct jkernel *k, const struct jblock *b)
{
    if (b->suspend != 0 ||
        (b->term != TERM_JUMP && b->term != TERM_BRANCH && b->term != TERM_SWITCH))
        return false;
    for (int32_t n = 0; n < b->count; n++)
        if (!jit_lane_may_run(k, &k->instrs[b->first + n]))
            return false;
    return true;
}

/* Is the set entered at its first block only, and does it hold a loop that lanes leave at different
 * times? */
static bool is_stretch(const struct search *s, int32_t from, int32_t until)
{
    const struct jkernel *k = s->k;
    bool diverges = false;
    EACH_BIT (b, s->set, k->nblocks) {
        const struct jblock *blk = &k->blocks[b];
        if (!s->fit[b])
            return false;
        for (int p = 0; b != from && p < blk->npred; p++)
            if (!bit_get(s->set, blk->pred[p]))
                return false;
        diverges |= blk->diverges && (blk->depth > k->blocks[until].depth ||
                                      (k->entry->pragmas & PTX_PRAGMA_SERIALIZE) != 0);
    }
    return diverges;
}

/* Can what block b writes from instruction `from` on, and block `until` reads, be collected from
 * the lanes? */
static bool collects_block(const struct jkernel *k, int32_t b, int32_t from, int32_t until)
{
    const struct jblock *blk = &k->blocks[b];
    for (int32_t n = from; n < blk->count; n++) {
        struct jroles r;
        jit_roles(&k->instrs[blk->first + n], &r);
        for (int d = 0; d < r.ndef; d++) {
            const struct uniformity *sh = &k->regs[r.def[d]].uniformity;
            if (bit_get(k->blocks[until].live_in, r.def[d]) && sh->seg != SEG_NONE &&
                !is_uniform(sh))
                return false;
        }
    }
    return true;
}

static bool collects(const struct search *s, int32_t until)
{
    EACH_BIT (b, s->set, s->k->nblocks)
        if (!collects_block(s->k, b, 0, until))
            return false;
    return true;
}

/* ---- cost ---- */

/* Tenths of cycles of a CPU with vectors of 256 bits, in step and serialized. */
struct cost {
    int64_t step, serial;    /* all lanes together; one after the other */
    int64_t near, scattered; /* how often neighbours' memory is accessed, and others' */
    unsigned group;          /* 2^group lanes go together, 0: each by itself; */
    const uint64_t *same;    /* then the registers that are the same in a group */
};

/* A lane's own memory, in which lanes are never neighbours. */
static bool is_local(const struct ptx_instr *i)
{
    return i->nspaces > 0 && i->spaces[0] == PTX_SPACE_LOCAL;
}

/* Is the instruction one for a group of lanes? */
static bool is_once(const struct cost *c, const struct jroles *r)
{
    for (int d = 0; c->same != NULL && d < r->ndef; d++)
        if (!bit_get(c->same, r->def[d]))
            return false;
    return c->same != NULL && r->ndef > 0;
}

static void add_access(const struct jkernel *k, const struct ptx_instr *i, int64_t often,
                       struct cost *c)
{
    struct jroles r;
    jit_roles(i, &r);
    int64_t runs = is_once(c, &r) ? JIT_WARP >> c->group : JIT_WARP;
    bool load = i->op != PTX_OP_st;
    struct uniformity a = address_uniformity(k, &i->operands[load ? 1 : 0]);
    unsigned type = i->types[i->ntypes - 1];
    int vec = i->vec ? i->vec : 1;
    int64_t bytes = ptx_type_bits((enum ptx_type)type) / 8 * (int64_t)vec;
    bool row = a.seg != SEG_NONE || a.hint_seg != SEG_NONE;
    bool words = load && a.seg != SEG_NONE && (a.stride == 4 || a.stride == 8) && bytes < a.stride;
    if (a.seg != SEG_NONE && a.stride == 0 && !is_local(i)) {
        c->step += often * (c->group != 0 ? vec * 10 : 10) << (SEG_WARP - a.seg);
        c->serial += often * runs * 5;
    } else if (row && (a.stride == bytes || words) && !is_local(i)) {
        bool parts = c->group != 0 && a.seg != SEG_NONE && a.seg < SEG_KEPT;
        c->step += often * (parts ? vec * 15 << (SEG_WARP - a.seg) : 60);
        c->serial += often * runs * (c->group != 0 ? vec * 5 : 7);
        c->near += often;
    } else {
        c->step += often * vec * (load ? 800 : 1000);
        c->serial += often * vec * runs * 7;
        c->scattered += often;
    }
}

bool jit_is_long(const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_div:
    case PTX_OP_rem:
    case PTX_OP_sqrt:
    case PTX_OP_rsqrt:
    case PTX_OP_rcp:
    case PTX_OP_sin:
    case PTX_OP_cos:
    case PTX_OP_ex2:
    case PTX_OP_lg2:
    case PTX_OP_tanh: return true;
    default: return false;
    }
}

static void add_instr(const struct jkernel *k, const struct ptx_instr *i, int64_t often,
                      struct cost *c)
{
    struct jroles r;
    if (i->op == PTX_OP_ld || i->op == PTX_OP_ldu || i->op == PTX_OP_st) {
        add_access(k, i, often, c);
        return;
    }
    if (i->op == PTX_OP_atom || i->op == PTX_OP_red) {
        c->step += often * JIT_WARP * (i->spaces[0] == PTX_SPACE_SHARED ? 25 : 200);
        c->serial += often * JIT_WARP * (i->spaces[0] == PTX_SPACE_SHARED ? 20 : 190);
        return;
    }
    jit_roles(i, &r);
    bool varies = r.ndef > 0 && k->regs[r.def[0]].uniformity.seg == SEG_NONE;
    bool wide = r.ndef > 0 && ptx_type_bits((enum ptx_type)k->regs[r.def[0]].type) > 32;
    int64_t one = jit_is_long(i) ? 60 : 10, scalars = 10, runs = JIT_WARP;
    if (c->group != 0 && r.ndef > 0) {
        unsigned seg = k->regs[r.def[0]].uniformity.seg;
        runs >>= seg >= c->group || is_once(c, &r) ? c->group : 0;
        scalars = 4 << (SEG_WARP - seg);
    }
    c->step += often * (varies ? one * (wide ? 8 : 4) : scalars);
    c->serial += often * runs * (jit_is_long(i) ? 80 : 4);
}

/* A branch: masks in one case, in the other what the CPU mispredicts, which is seldom
 * whether a loop goes on. */
static void add_branch(const struct search *s, const struct jblock *b, int64_t often,
                       struct cost *c)
{
    bool leaves = false;
    for (int n = 0; n < b->nsucc; n++)
        leaves |= s->k->blocks[b->succ[n]].depth != b->depth || b->succ[n] <= b->order;
    c->step += often * (b->diverges ? 150 : 20);
    c->serial += often * (JIT_WARP >> c->group) * (b->diverges && !leaves ? 50 : 5);
}

static bool loops_to_itself(const struct jblock *b, int32_t number)
{
    for (int n = 0; n < b->nsucc; n++)
        if (b->succ[n] == number)
            return true;
    return false;
}

static bool is_load(const struct ptx_instr *i) { return i->op == PTX_OP_ld || i->op == PTX_OP_ldu; }

/* The registers that turns of block b hand on and of which addresses are made that it loads from.
 */
static void find_address_registers(const struct jkernel *k, const struct jblock *b, uint64_t *set)
{
    for (int32_t n = b->count - 1; n >= 0; n--) {
        const struct ptx_instr *i = &k->instrs[b->first + n];
        bool needed = is_load(i);
        struct jroles r;
        jit_roles(i, &r);
        for (int d = 0; d < r.ndef; d++) {
            needed |= bit_get(set, r.def[d]);
            bit_clear(set, r.def[d]);
        }
        for (int u = 0; needed && u < r.nuse; u++)
            bit_set(set, r.use[u]);
    }
}

/* Cycles from one turn of a loop of one block to the next, where what the next turn loads, and
 * from where, follows from what this one has loaded (a binary search): the longest chain of
 * operations through a load between values that turns hand on. One lane waits for all of it, since
 * nothing else is to be done; lanes in step wait together. 0: there is no such chain. */
static int64_t recurrence(const struct jkernel *k, int32_t number)
{
    const struct jblock *b = &k->blocks[number];
    if (!loops_to_itself(b, number))
        return 0;
    int32_t *ready = xcalloc(k->nregs, sizeof *ready), longest = 0; /* 0: handed on by no chain */
    uint64_t *loaded = xcalloc(bit_bytes((int32_t)k->nregs), 1);
    uint64_t *addresses = xcalloc(bit_bytes((int32_t)k->nregs), 1);
    find_address_registers(k, b, addresses);
    for (int32_t n = 0; n < b->count; n++) {
        const struct ptx_instr *i = &k->instrs[b->first + n];
        bool load = is_load(i), from_load = load;
        int32_t latest = 0;
        struct jroles r;
        jit_roles(i, &r);
        for (int u = 0; u < r.nuse; u++) {
            int32_t reg = r.use[u];
            int32_t at = ready[reg] != 0 ? ready[reg] : bit_get(b->live_in, reg) ? 1 : 0;
            latest = at > latest ? at : latest;
            from_load |= bit_get(loaded, reg);
        }
        for (int d = 0; d < r.ndef; d++) {
            int32_t reg = r.def[d];
            ready[reg] = latest != 0 ? latest + (load ? LOAD_CYCLES : 1) : 0;
            if (from_load && latest != 0)
                bit_set(loaded, reg);
            else
                bit_clear(loaded, reg);
        }
    }
    EACH_BIT (reg, b->live_in, (int32_t)k->nregs)
        if (bit_get(addresses, reg) && bit_get(loaded, reg) && ready[reg] > longest)
            longest = ready[reg];
    free(ready);
    free(loaded);
    free(addresses);
    return longest;
}

/* How often a lane runs block b, `depth` loops within a stretch: eight times a loop, or half of
 * what it runs a short one at most. */
static int64_t turns(const struct jkernel *k, int32_t b, int depth)
{
    int64_t most = depth > 0 ? jit_trip_bound(k, b) : 0;
    if (depth > 4)
        depth = 4;
    return most > 0 && most < 15 ? (most + 1) / 2 << 3 * (depth - 1) : 1ll << 3 * depth;
}

static bool pays(const struct search *s, int32_t from, int32_t until, unsigned group,
                 const uint64_t *same)
{
    const struct jkernel *k = s->k;
    if (k->entry->pragmas & PTX_PRAGMA_SERIALIZE)
        return true;
    int32_t deepest = 0;
    EACH_BIT (b, s->set, k->nblocks)
        deepest = k->blocks[b].depth > deepest ? k->blocks[b].depth : deepest;
    /* the end of a loop is mispredicted */
    struct cost c = {.serial = (JIT_WARP >> group) * 250, .group = group, .same = same};
    EACH_BIT (b, s->set, k->nblocks) {
        const struct jblock *blk = &k->blocks[b];
        int depth = blk->depth - k->blocks[until].depth;
        int64_t often = turns(k, b, depth), near = c.near, before = c.serial;
        for (int32_t n = 0; n < blk->count; n++)
            add_instr(k, &k->instrs[blk->first + n], often, &c);
        if (blk->nsucc > 1)
            add_branch(s, blk, often, &c);
        int64_t wait = before + often * (JIT_WARP >> group) * 10 * recurrence(k, b);
        c.serial = wait > c.serial ? wait : c.serial;
        if (group == 0 && (depth == 0 || blk->depth < deepest) && c.near > near)
            return false; /* better done before the lanes diverge, in a loop around others, too */
    }
    /* in step, a third of the lanes wait for others, or half where they have diverged before */
    return (group != 0 || c.scattered > c.near) &&
           c.serial < c.step * (k->blocks[from].converged ? 3 : 4) / 2;
}

/* ---- forks ---- */

static bool is_scattered(const struct jkernel *k, const struct ptx_instr *i)
{
    struct uniformity a = address_uniformity(k, &i->operands[i->op == PTX_OP_st ? 0 : 1]);
    return a.seg == SEG_NONE && a.hint_seg == SEG_NONE && i->vec <= 1 && !is_local(i);
}

/* From the first load whose lanes may be scattered, is there nothing else in block b, or only
 * stores of that kind in block `aside`, that reaches memory? How many there are; 0: there is other.
 */
static int count_scattered(const struct jkernel *k, const struct jblock *b, int32_t from)
{
    int count = 0;
    for (int32_t n = from; n < b->count; n++) {
        const struct ptx_instr *i = &k->instrs[b->first + n];
        bool memory = i->op == PTX_OP_ld || i->op == PTX_OP_ldu || i->op == PTX_OP_st;
        if (!jit_lane_may_run(k, i) || i->op == PTX_OP_atom || i->op == PTX_OP_red ||
            jit_is_long(i) || (memory && !is_scattered(k, i)))
            return 0;
        count += memory;
    }
    return count;
}

/* Conditional stores to scattered addresses (an exchange in a sort): lane after lane is faster
 * where the machine has no scatter, but not if lanes turn out to be neighbours. */
static void find_fork(struct jkernel *k, int32_t b)
{
    struct jblock *blk = &k->blocks[b];
    if (blk->term != TERM_BRANCH || !blk->diverges || blk->serial_end != 0 || blk->serialized)
        return;
    for (int s = 0; s < 2; s++) {
        int32_t aside = blk->succ[s], on = blk->succ[1 - s], from = 0;
        const struct jblock *t = &k->blocks[aside];
        if (t->npred != 1 || t->term != TERM_JUMP || t->suspend != 0 || t->succ[0] != on ||
            t->serial_end != 0 || t->serialized || on <= b)
            continue;
        while (from < blk->count && (k->instrs[blk->first + from].op != PTX_OP_ld ||
                                     !is_scattered(k, &k->instrs[blk->first + from])))
            from++;
        if (from == 0 || from == blk->count || blk->count - from > 16 || t->count > 8)
            continue;
        int loads = count_scattered(k, blk, from), stores = count_scattered(k, t, 0);
        if (loads < 2 || stores < 2 || !collects_block(k, b, from, on) ||
            !collects_block(k, aside, 0, on))
            continue;
        blk->serial_end = on;
        blk->serial_from = from + 1;
    }
}

/* ---- strips ---- */

/* The longest loop, in instructions: it is emitted for each strip. */
enum { MAX_STRIP_LOOP = 24, MAX_STRIP_KERNEL = 1000, SEG_STRIP = 3 };

/* Is block b a loop that parts of eight lanes leave by themselves, over rows that each has in a
 * row, and does it read scattered memory by them? In step, all parts wait for the one with the
 * longest row, and four vectors of everything do not fit into registers; one part after the other
 * is a loop over registers, and the end of one overlaps with the next. */
static void find_strips(struct jkernel *k, int32_t b)
{
    struct jblock *blk = &k->blocks[b];
    int rows = 0, scattered = 0;
    bool always = (k->entry->pragmas & PTX_PRAGMA_STRIPS) != 0;
    if (blk->serial_end != 0 || blk->serialized || blk->converged || !blk->diverges ||
        blk->term != TERM_BRANCH || blk->nsucc != 2 || !loops_to_itself(blk, b) ||
        blk->succ[0] == blk->succ[1] || blk->count > MAX_STRIP_LOOP ||
        k->ninstrs > MAX_STRIP_KERNEL || k->fibers)
        return;
    int32_t on = blk->succ[blk->succ[0] == b];
    if (!block_fits(k, blk) || !collects_block(k, b, 0, on))
        return;
    for (int32_t n = 0; n < blk->count; n++) {
        const struct ptx_instr *i = &k->instrs[blk->first + n];
        struct jroles r;
        jit_roles(i, &r);
        for (int d = 0; d < r.ndef; d++) {
            const struct uniformity *u = &k->regs[r.def[d]].uniformity;
            if ((bit_get(k->blocks[on].live_in, r.def[d]) && is_uniform(u)) ||
                (u->seg != SEG_NONE && u->seg < SEG_STRIP)) /* a strip has one scalar of each */
                return;
        }
        if (i->op == PTX_OP_atom || i->op == PTX_OP_red || (i->op == PTX_OP_st && !always))
            return;
        if (!is_load(i))
            continue;
        struct uniformity a = address_uniformity(k, &i->operands[1]);
        unsigned bytes = ptx_type_bits((enum ptx_type)i->types[i->ntypes - 1]) / 8;
        rows += a.seg == SEG_STRIP && a.stride == (int64_t)bytes * (i->vec ? i->vec : 1);
        scattered += a.seg == SEG_NONE && a.hint_seg == SEG_NONE && bytes >= 4;
    }
    blk->strips_end = always || (rows > 0 && scattered > 0) ? on : 0;
}

/* ---- the pass ---- */

/* Does the stretch pay where groups of lanes go together through it? Makes *group; 0: none do. */
static bool pays_in_groups(const struct search *s, int32_t from, int32_t until, unsigned *group)
{
    *group = jit_lane_group(s->k, s->set, from, until);
    if (*group == 0)
        return false;
    uint64_t *same = xcalloc(bit_bytes((int32_t)s->k->nregs), 1);
    jit_find_same_in_groups(s->k, s->set, from, *group, same);
    bool yes = pays(s, from, until, *group, same);
    free(same);
    *group = yes ? *group : 0;
    return yes;
}

/* The nearest end of a stretch that starts at block `from` and pays; 0: none. */
static int32_t find_end(struct search *s, int32_t from, unsigned *group)
{
    const struct jkernel *k = s->k;
    *group = 0;
    for (int32_t to = from + 1; to < k->nblocks && to <= from + MAX_STRETCH; to++) {
        bit_clear_all(s->set, k->nblocks);
        if (jit_between(k, from, to, s->set) && is_stretch(s, from, to)) {
            bool yes = collects(s, to) &&
                       (pays_in_groups(s, from, to, group) || pays(s, from, to, 0, NULL));
            return yes ? to : 0;
        }
    }
    return 0;
}

/* Makes serial_end, serial_group and serialized of the blocks. */
static void find_stretches(struct jkernel *k)
{
    struct search s = {.k = k};
    s.fit = xcalloc((size_t)k->nblocks, 1);
    s.set = xcalloc(bit_bytes(k->nblocks), 1);
    for (int32_t b = 0; b < k->nblocks; b++)
        s.fit[b] = block_fits(k, &k->blocks[b]);
    for (int32_t b = 0; b < k->nblocks; b++) {
        unsigned group = 0;
        int32_t to = s.fit[b] && !k->blocks[b].serialized ? find_end(&s, b, &group) : 0;
        k->blocks[b].serial_end = to;
        if (to == 0)
            continue;
        k->blocks[b].serial_group = (uint8_t)group;
        EACH_BIT (n, s.set, k->nblocks)
            k->blocks[n].serialized = n != b;
    }
    free(s.fit);
    free(s.set);
}

void jit_find_grouped_blocks(struct jkernel *k, uint64_t *blocks)
{
    if (k->opt->checked)
        return;
    find_stretches(k);
    for (int32_t b = 0; b < k->nblocks; b++)
        if (k->blocks[b].serial_group != 0)
            jit_between(k, b, k->blocks[b].serial_end, blocks);
    for (int32_t b = 0; b < k->nblocks; b++) {
        k->blocks[b].serial_end = 0;
        k->blocks[b].serial_group = 0;
        k->blocks[b].serialized = false;
    }
}

bool pass_lane_serialization(struct jkernel *k)
{
    if (k->opt->checked)
        return true; /* each access is a question about all lanes at once */
    find_stretches(k);
    for (int32_t b = 0; b < k->nblocks; b++)
        find_fork(k, b);
    for (int32_t b = 0; b < k->nblocks; b++)
        find_strips(k, b);
    return true;
}
