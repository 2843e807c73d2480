/* exit_tests: lanes that leave a loop early skip a test whose outcome follows from that.
 *
 *   while (k < n && a[k] == b[k]) k++;
 *   if (k == n) found();
 *
 * Lanes that leave since a[k] differs have k < n, but compilers let them come to the test, too.
 * What they have left with is a vector then, chosen lane by lane in each turn, for a comparison
 * that says what was known. They go to where the test would have sent them. That k differs from n
 * is shown for each turn's begin: n is not what k is at first, or another branch would have been
 * taken before the loop, and not what k becomes, or the loop would have ended.
 *
 * The analyses begin anew with the branch changed. */
#include "compiler/front/flatten.h"
#include "compiler/passes.h"

#include <stdlib.h>

enum { MAX_INSTRS = 4000, MOST_ABOVE = 4 };

/* A comparison of two integers as it is written. */
struct comparison {
    const struct ptx_operand *x, *y;
    unsigned type;
    enum { LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, NOT_EQUAL } op;
};

static const struct {
    uint16_t mod;
    uint8_t op;
    bool without_sign;
} comparisons[] = {{PTX_M_lt, LESS, false},    {PTX_M_le, LESS_EQUAL, false},
                   {PTX_M_gt, GREATER, false}, {PTX_M_ge, GREATER_EQUAL, false},
                   {PTX_M_eq, EQUAL, false},   {PTX_M_ne, NOT_EQUAL, false},
                   {PTX_M_lo, LESS, true},     {PTX_M_ls, LESS_EQUAL, true},
                   {PTX_M_hi, GREATER, true},  {PTX_M_hs, GREATER_EQUAL, true}};

static bool is_integer(unsigned type)
{
    return !ptx_type_is_float((enum ptx_type)type) && type != PTX_PRED &&
           (ptx_type_bits((enum ptx_type)type) == 32 || ptx_type_bits((enum ptx_type)type) == 64);
}

/* The comparison of integers that decides the branch at the end of a block. */
static bool branch_comparison(const struct jkernel *k, const struct jblock *blk,
                              struct comparison *c, int32_t *at)
{
    *at = blk->term == TERM_BRANCH ? last_write(k, blk, blk->first + blk->count, blk->cond) : -1;
    if (*at < 0)
        return false;
    const struct ptx_instr *i = &k->instrs[*at];
    if (i->op != PTX_OP_setp || i->guard >= 0 || i->pair || i->noperands != 3 || i->ntypes != 1 ||
        i->nmods != 1 || !is_integer(i->types[0]))
        return false;
    *c = (struct comparison){&i->operands[1], &i->operands[2], i->types[0], EQUAL};
    for (size_t n = 0; n < WEIR_COUNT(comparisons); n++)
        if (ptx_has(i, comparisons[n].mod)) {
            c->op = comparisons[n].op;
            if (comparisons[n].without_sign)
                c->type = ptx_type_bits((enum ptx_type)c->type) == 32 ? PTX_U32 : PTX_U64;
            return !c->x->neg && !c->y->neg;
        }
    return false;
}

static int64_t as_type(uint64_t v, unsigned type)
{
    if (ptx_type_bits((enum ptx_type)type) == 64)
        return (int64_t)v;
    return ptx_type_is_signed((enum ptx_type)type) ? (int32_t)(uint32_t)v : (int64_t)(uint32_t)v;
}

static bool compare(const struct comparison *c, uint64_t a, uint64_t b)
{
    int64_t x = as_type(a, c->type), y = as_type(b, c->type);
    bool wide =
        ptx_type_bits((enum ptx_type)c->type) == 64 && !ptx_type_is_signed((enum ptx_type)c->type);
    bool less = wide ? (uint64_t)x < (uint64_t)y : x < y;
    switch (c->op) {
    case LESS: return less;
    case LESS_EQUAL: return less || x == y;
    case GREATER: return !less && x != y;
    case GREATER_EQUAL: return !less;
    case EQUAL: return x == y;
    default: return x != y;
    }
}

static bool same_operand(const struct ptx_operand *a, const struct ptx_operand *b)
{
    if (a->kind != b->kind || a->neg || b->neg || a->select != b->select)
        return false;
    return a->kind == PTX_OPR_REG   ? a->reg == b->reg
           : a->kind == PTX_OPR_IMM ? a->imm == b->imm
                                    : false;
}

/* Is the branch taken, on the way from block p to block to? -1: it may be either. */
static int taken_towards(const struct jblock *p, int32_t to)
{
    if (p->term != TERM_BRANCH || p->succ[0] == p->succ[1])
        return -1;
    bool first = p->succ[0] == to;
    return first != p->cond_neg;
}

/* ---- the loop ---- */

/* What is tested after the loop: a counter, or its lower half, and a value that does not change. */
struct exit_test {
    const struct jkernel *k;
    int32_t head, end; /* blocks of the loop, a chain */
    int32_t counter;
    bool half;
    const struct ptx_operand *bound;
};

static unsigned bits_of(unsigned type) { return ptx_type_bits((enum ptx_type)type); }

static unsigned counted_bits(const struct exit_test *t)
{
    return t->half ? 32 : bits_of(t->k->regs[t->counter].type);
}

/* The lower half of a 64-bit register, as 32 bits. */
static bool is_half_of(const struct ptx_instr *i, int32_t reg)
{
    return i->op == PTX_OP_cvt && i->guard < 0 && i->ntypes == 2 && i->nmods == 0 &&
           ptx_type_bits((enum ptx_type)i->types[0]) == 32 && is_integer(i->types[0]) &&
           ptx_type_bits((enum ptx_type)i->types[1]) == 64 && is_integer(i->types[1]) &&
           i->operands[1].kind == PTX_OPR_REG && !i->operands[1].neg && i->operands[1].reg == reg;
}

/* Is the operand, at instruction `at` of the block, what is tested of the counter after `since`? */
static bool is_count(const struct exit_test *t, const struct jblock *blk, int32_t at,
                     const struct ptx_operand *o, int32_t since)
{
    if (o->kind != PTX_OPR_REG || o->neg || o->select != 0)
        return false;
    if (!t->half)
        return o->reg == t->counter;
    int32_t from = last_write(t->k, blk, at, o->reg);
    return from > since && is_half_of(&t->k->instrs[from], t->counter) &&
           last_write(t->k, blk, blk->first + blk->count, t->counter) < from;
}

/* Does the block, which adds to the counter, lead back only if it has not become the bound? */
static bool goes_on_below(const struct exit_test *t, int32_t b)
{
    const struct jblock *blk = &t->k->blocks[b];
    int32_t at, added = last_write(t->k, blk, blk->first + blk->count, t->counter);
    struct comparison c;
    if (added < 0 || !branch_comparison(t->k, blk, &c, &at) || at < added)
        return false;
    bool right = is_count(t, blk, at, c.x, added) && same_operand(c.y, t->bound);
    right |= is_count(t, blk, at, c.y, added) && same_operand(c.x, t->bound);
    int taken = taken_towards(blk, b < t->end ? b + 1 : t->head);
    if (!right || taken < 0 || bits_of(c.type) != counted_bits(t))
        return false;
    return taken ? c.op == LESS || c.op == GREATER || c.op == NOT_EQUAL
                 : c.op == LESS_EQUAL || c.op == GREATER_EQUAL || c.op == EQUAL;
}

/* Does block b leave the bound as it is, from instruction `since` on? */
static bool keeps_bound(const struct exit_test *t, int32_t b, int32_t since)
{
    const struct jblock *blk = &t->k->blocks[b];
    return last_write(t->k, blk, blk->first + blk->count, t->bound->reg) < since;
}

/* Would a branch above block `from` have led elsewhere, had the bound been this number? */
static bool differs_at_first(const struct exit_test *t, int32_t from, uint64_t first)
{
    const struct jkernel *k = t->k;
    if (t->bound->kind == PTX_OPR_IMM) {
        unsigned type = counted_bits(t) == 32 ? PTX_U32 : PTX_U64;
        return as_type(t->bound->imm, type) != as_type(first, type);
    }
    for (int step = 0; step < MOST_ABOVE; step++) {
        if (k->blocks[from].npred != 1 || !keeps_bound(t, from, 0))
            return false;
        int32_t to = from, at;
        from = k->blocks[from].pred[0];
        struct comparison c;
        int taken = taken_towards(&k->blocks[from], to);
        if (taken < 0 || !branch_comparison(k, &k->blocks[from], &c, &at) ||
            bits_of(c.type) != counted_bits(t) || !keeps_bound(t, from, at))
            continue;
        bool left = same_operand(c.x, t->bound) && c.y->kind == PTX_OPR_IMM;
        bool right = same_operand(c.y, t->bound) && c.x->kind == PTX_OPR_IMM;
        if (left ? compare(&c, first, c.y->imm) != taken
                 : right && compare(&c, c.x->imm, first) != taken)
            return true;
    }
    return false;
}

/* A chain of blocks, each of which leads to the next. */
static bool is_chain(const struct jkernel *k, int32_t h, int32_t end)
{
    for (int32_t b = h + 1; b <= end; b++)
        if (k->blocks[b].npred != 1 || k->blocks[b].pred[0] != b - 1)
            return false;
    return true;
}

/* Does what is tested differ from the bound whenever a turn begins? */
static bool always_differs(const struct exit_test *t, int32_t leaves)
{
    const struct jkernel *k = t->k;
    const struct jreg *counter = &k->regs[t->counter];
    bool goes_on = false, begins = false;
    if (counter->ndefs != 2 || (t->bound->kind == PTX_OPR_REG && k->regs[t->bound->reg].ndefs != 1))
        return false;
    for (int32_t b = 0; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        int32_t at = last_write(k, blk, blk->first + blk->count, t->counter);
        if (b >= t->head && b <= t->end && t->bound->kind == PTX_OPR_REG &&
            last_write(k, blk, blk->first + blk->count, t->bound->reg) >= 0)
            return false;
        if (at < 0)
            continue;
        const struct ptx_instr *i = &k->instrs[at];
        if (b >= t->head && b <= t->end) {
            goes_on = b > leaves && goes_on_below(t, b);
        } else {
            begins = i->op == PTX_OP_mov && i->guard < 0 && i->operands[1].kind == PTX_OPR_IMM &&
                     blk->nsucc == 1 && blk->succ[0] == t->head &&
                     differs_at_first(t, b, i->operands[1].imm);
        }
    }
    return goes_on && begins && k->blocks[t->head].npred == 2;
}

/* ---- the test ---- */

/* Where the lanes of block b, which leave their loop for `out`, go by the test that follows; -1: it
 * is not known. */
static int32_t known_outcome(const struct jkernel *k, int32_t b, int32_t out)
{
    const struct jblock *from = &k->blocks[b], *e = &k->blocks[out];
    int32_t h = from->loop, at, half = -1;
    struct comparison c;
    if (e->npred != 1 || e->term != TERM_JUMP || e->count > 1 || e->suspend != 0 || e->waits)
        return -1;
    const struct jblock *test = &k->blocks[e->succ[0]];
    if (test->count != 1 || !branch_comparison(k, test, &c, &at) ||
        (c.op != EQUAL && c.op != NOT_EQUAL) || bit_get(test->live_out, test->cond))
        return -1;
    struct exit_test t = {.k = k, .head = h, .end = jit_innermost_end(k, h)};
    if (t.end < 0 || !is_chain(k, h, t.end))
        return -1;
    for (int side = 0; side < 2; side++) {
        const struct ptx_operand *count = side == 0 ? c.x : c.y;
        t.bound = side == 0 ? c.y : c.x;
        if (count->kind != PTX_OPR_REG || same_operand(count, t.bound) ||
            (t.bound->kind != PTX_OPR_REG && t.bound->kind != PTX_OPR_IMM))
            continue;
        t.counter = count->reg;
        half = e->count == 1 && jit_writes(&k->instrs[e->first], count->reg) ? e->first : -1;
        t.half = half >= 0;
        if (e->count == 1 && half < 0)
            continue;
        if (t.half) {
            const struct ptx_operand *o = &k->instrs[half].operands[1];
            if (k->instrs[half].noperands != 2 || o->kind != PTX_OPR_REG || o->reg < 0 ||
                !is_half_of(&k->instrs[half], o->reg))
                continue;
            t.counter = o->reg;
        }
        int32_t to = test->succ[(c.op == NOT_EQUAL) != test->cond_neg ? 0 : 1];
        if (t.half && bit_get(k->blocks[to].live_in, count->reg))
            continue;
        if (always_differs(&t, b))
            return to;
    }
    return -1;
}

bool jit_find_exit_tests(struct jkernel *k)
{
    struct jexit_tests *e = &k->exit_tests;
    if (e->searched)
        return false;
    e->searched = true;
    if (k->fibers || k->opt->checked != 0 || k->ninstrs > MAX_INSTRS)
        return false;
    for (int32_t b = 0; b < k->nblocks && e->count < JEXIT_TESTS; b++) {
        const struct jblock *blk = &k->blocks[b];
        const struct ptx_instr *i = blk->term_instr;
        if (blk->loop < 0 || blk->term != TERM_BRANCH || i == NULL || i->op != PTX_OP_bra)
            continue;
        for (int s = 0; s < 2; s++) {
            int32_t out = blk->succ[s];
            bool is_target = k->blocks[out].first == i->operands[0].target &&
                             blk->succ[1 - s] != out && k->blocks[out].loop != blk->loop;
            int32_t to = is_target ? known_outcome(k, b, out) : -1;
            if (to < 0 || (k->blocks[to].count == 0 && k->blocks[to].term_instr == NULL))
                continue;
            e->items[e->count].branch = (int32_t)(i - k->instrs);
            e->items[e->count++].to = k->blocks[to].first;
            break;
        }
    }
    return e->count > 0;
}

void jit_apply_exit_tests(struct jkernel *k)
{
    for (int n = 0; n < k->exit_tests.count; n++) {
        struct ptx_instr *i = &k->instrs[k->exit_tests.items[n].branch];
        i->operands = flat_renamed(k, i->operands, i->noperands, NULL);
        i->operands[0].target = k->exit_tests.items[n].to;
    }
}
