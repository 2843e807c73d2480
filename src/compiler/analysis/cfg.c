/* cfg: instructions become basic blocks, in an order that keeps every loop together.
 *
 * The order decides which lanes wait for which: among blocks with lanes pending, the first in the
 * order runs. So a loop's exits come after all of its blocks (lanes that have left wait until the
 * last one leaves), and the point where two branches meet comes after both. Correct code comes out
 * of any order; this one reconverges early.
 *
 * Loops that wait for memory that others write, or for a clock, get a poll on their back edges, so
 * that no kernel can hold a worker for ever (spec S8). */
#include "compiler/arithmetic/arithmetic.h"
#include "compiler/front/flatten.h"

#include <stdlib.h>
#include <string.h>

struct cfg {
    struct jkernel *k;
    struct jblock *blocks;
    int32_t n;
    int32_t *rpo; /* position -> block */
    int32_t *pos; /* block -> position, -1: unreachable */
    int32_t *idom;
    int32_t nreach;
    int32_t *header; /* block -> innermost loop header, -1 */
};

static bool is_barrier(const struct ptx_instr *i)
{
    return (i->op == PTX_OP_bar || i->op == PTX_OP_barrier) && !ptx_has(i, PTX_M_warp) &&
           !ptx_has(i, PTX_M_cluster) && !ptx_has(i, PTX_M_arrive);
}

/* A call at which the block may have to wait for the grids it has launched. */
static bool is_sync(const struct ptx_instr *i)
{
    return i->op == PTX_OP_call && i->call->func != NULL && !i->call->func->has_body &&
           jit_is_device_sync(i->call->func->name);
}

static bool ends_block(const struct ptx_instr *i)
{
    return i->op == PTX_OP_bra || i->op == PTX_OP_brx || i->op == PTX_OP_exit || is_barrier(i);
}

/* Asks whether others have arrived, in a loop as a rule. */
static bool is_wait(const struct ptx_instr *i)
{
    if (i->op == PTX_OP_mbarrier)
        return ptx_has(i, PTX_M_test_wait) || ptx_has(i, PTX_M_try_wait);
    return i->op == PTX_OP_barrier && ptx_has(i, PTX_M_cluster) && ptx_has(i, PTX_M_wait);
}

/* Looks at a clock: a loop until some time has passed waits, too, and need not keep its thread from
 * others that do (32 kernels that each wait for 10 ms are over in 10 ms, as on a GPU). */
static bool shows_time(const struct ptx_instr *i)
{
    return i->op == PTX_OP_mov && i->operands[1].kind == PTX_OPR_SREG &&
           i->operands[1].sreg >= PTX_SR_clock && i->operands[1].sreg <= PTX_SR_globaltimer_hi;
}

bool jit_is_polling_load(const struct ptx_instr *i)
{
    if (i->op == PTX_OP_atom || is_wait(i) || shows_time(i))
        return true;
    return i->op == PTX_OP_ld && (ptx_has(i, PTX_M_volatile) || ptx_has(i, PTX_M_relaxed) ||
                                  ptx_has(i, PTX_M_acquire) || ptx_has(i, PTX_M_mmio));
}

static void set_succ(struct jkernel *k, struct jblock *b, int n, const int32_t *succ)
{
    b->succ = arena_alloc(&k->arena, sizeof *succ * (size_t)n);
    memcpy(b->succ, succ, sizeof *succ * (size_t)n);
    b->nsucc = n;
}

/* Splits the instruction list at leaders. */
static bool make_blocks(struct cfg *c)
{
    struct jkernel *k = c->k;
    int32_t ni = (int32_t)k->ninstrs;
    int32_t *block_at = xcalloc((size_t)ni + 1, sizeof *block_at);
    uint8_t *leader = xcalloc((size_t)ni + 1, 1);
    leader[0] = 1;
    for (int32_t n = 0; n < ni; n++) {
        const struct ptx_instr *i = &k->instrs[n];
        if (ends_block(i) || is_sync(i))
            leader[n + 1] = 1;
        if (i->op == PTX_OP_bra)
            leader[i->operands[0].target] = 1;
        for (int t = 0; i->op == PTX_OP_brx && i->targets != NULL && t < i->targets->count; t++)
            leader[i->targets->index[t]] = 1;
    }
    for (int32_t n = 0; n < ni; n++) {
        c->n += leader[n];
        block_at[n] = c->n - 1;
    }
    block_at[ni] = c->n - 1; /* a label at the very end: flatten's last exit stands before it */
    c->blocks = arena_alloc(&k->arena, sizeof *c->blocks * (size_t)c->n);
    bool ok = true;
    for (int32_t n = 0, b = -1; ok && n < ni; n++) {
        if (k->is_function && (is_barrier(&k->instrs[n]) || is_wait(&k->instrs[n]))) {
            ok = diag_set(k->diag, k->instrs[n].line, k->instrs[n].column,
                          "a barrier in %s, which is recursive or called through a pointer, is not "
                          "supported",
                          k->entry->name);
            break;
        }
        if (leader[n]) {
            c->blocks[++b] = (struct jblock){.first = n, .cond = -1, .loop = -1};
            c->blocks[b].term = TERM_JUMP;
        }
        struct jblock *blk = &c->blocks[b];
        const struct ptx_instr *i = &k->instrs[n];
        bool last = n + 1 == ni || leader[n + 1];
        if (!ends_block(i))
            blk->count++;
        if (!last)
            continue;
        blk->term_instr = ends_block(i) ? i : NULL;
        int32_t next = n + 1 < ni ? block_at[n + 1] : b;
        if (i->op == PTX_OP_bra) {
            int32_t to = block_at[i->operands[0].target];
            blk->term = i->guard >= 0 && to != next ? TERM_BRANCH : TERM_JUMP;
            blk->cond = i->guard;
            blk->cond_neg = i->guard_neg;
            set_succ(k, blk, blk->term == TERM_BRANCH ? 2 : 1, (int32_t[]){to, next});
        } else if (i->op == PTX_OP_brx) {
            if (i->targets == NULL || i->targets->count == 0 ||
                i->operands[0].kind != PTX_OPR_REG) {
                ok = diag_set(k->diag, i->line, i->column, "brx.idx without a list of targets");
                break;
            }
            blk->term = TERM_SWITCH;
            blk->cond = i->operands[0].reg;
            int32_t *to = xmalloc(sizeof *to * (size_t)i->targets->count);
            for (int t = 0; t < i->targets->count; t++)
                to[t] = block_at[i->targets->index[t]];
            set_succ(k, blk, i->targets->count, to);
            free(to);
        } else if (i->op == PTX_OP_exit) {
            blk->term = TERM_EXIT;
        } else if (is_barrier(i)) {
            blk->term = TERM_SUSPEND;
            blk->suspend = SUSPEND_BARRIER;
            set_succ(k, blk, 1, &next);
        } else if (is_sync(i)) {
            /* a function that is called cannot suspend: its thread does what it waits for */
            blk->term = k->is_function ? TERM_JUMP : TERM_SUSPEND;
            blk->suspend = SUSPEND_SYNC;
            k->has_poll = !k->is_function;
            set_succ(k, blk, 1, &next);
        } else {
            set_succ(k, blk, 1, &next);
        }
    }
    free(block_at);
    free(leader);
    return ok;
}

/* ---- orders, dominators, loops ---- */

/* Reverse post-order. With `header` known, every loop header visits its loop's exits first, which
 * puts them behind the whole loop. */
static void cfg_rpo(struct cfg *c, uint64_t *const *loop_body)
{
    struct frame {
        int32_t block, next;
    } *stack = xmalloc(sizeof *stack * (size_t)(c->n + 1));
    uint8_t *seen = xcalloc((size_t)c->n, 1);
    int32_t *post = xmalloc(sizeof *post * (size_t)c->n), npost = 0;
    /* extra successors of loop headers: the exits of the loop */
    int32_t **extra = xcalloc((size_t)c->n, sizeof *extra), *nextra = xcalloc((size_t)c->n, 4);
    for (int32_t h = 0; loop_body != NULL && h < c->n; h++) {
        if (loop_body[h] == NULL)
            continue;
        size_t cap = 0;
        for (int32_t b = bit_next(loop_body[h], c->n, 0); b >= 0;
             b = bit_next(loop_body[h], c->n, b + 1))
            for (int s = 0; s < c->blocks[b].nsucc; s++)
                if (!bit_get(loop_body[h], c->blocks[b].succ[s])) {
                    if ((size_t)nextra[h] == cap)
                        extra[h] = vec_grow_(extra[h], &cap, sizeof(int32_t));
                    extra[h][nextra[h]++] = c->blocks[b].succ[s];
                }
    }
    int32_t sp = 0;
    stack[sp++] = (struct frame){0, 0};
    seen[0] = 1;
    while (sp > 0) {
        struct frame *f = &stack[sp - 1];
        const struct jblock *b = &c->blocks[f->block];
        int32_t total = nextra[f->block] + b->nsucc;
        if (f->next == total) {
            post[npost++] = f->block;
            sp--;
            continue;
        }
        /* later successors first: the fall-through path ends up right behind its branch */
        int32_t n = f->next++;
        int32_t to = n < nextra[f->block] ? extra[f->block][n] : b->succ[n - nextra[f->block]];
        if (!seen[to]) {
            seen[to] = 1;
            stack[sp++] = (struct frame){to, 0};
        }
    }
    for (int32_t b = 0; b < c->n; b++)
        c->pos[b] = -1;
    c->nreach = npost;
    for (int32_t n = 0; n < npost; n++) {
        c->rpo[n] = post[npost - 1 - n];
        c->pos[c->rpo[n]] = n;
    }
    for (int32_t b = 0; b < c->n; b++)
        free(extra[b]);
    free(extra);
    free(nextra);
    free(stack);
    free(seen);
    free(post);
}

static int32_t meet(const struct cfg *c, int32_t a, int32_t b)
{
    while (a != b) {
        while (c->pos[a] > c->pos[b])
            a = c->idom[a];
        while (c->pos[b] > c->pos[a])
            b = c->idom[b];
    }
    return a;
}

static void find_preds(struct cfg *c)
{
    for (int32_t b = 0; b < c->n; b++)
        c->blocks[b].npred = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t n = 0; n < c->nreach; n++) {
            int32_t from = c->rpo[n];
            for (int s = 0; s < c->blocks[from].nsucc; s++) {
                struct jblock *to = &c->blocks[c->blocks[from].succ[s]];
                if (pass == 1)
                    to->pred[to->npred] = from;
                to->npred++;
            }
            if (n + 1 == c->nreach && pass == 0)
                for (int32_t b = 0; b < c->n; b++) {
                    c->blocks[b].pred =
                        arena_alloc(&c->k->arena, sizeof(int32_t) * (size_t)c->blocks[b].npred + 4);
                    c->blocks[b].npred = 0;
                }
        }
}

static void dominators(struct cfg *c)
{
    for (int32_t b = 0; b < c->n; b++)
        c->idom[b] = -1;
    c->idom[0] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t n = 1; n < c->nreach; n++) {
            int32_t b = c->rpo[n], d = -1;
            for (int p = 0; p < c->blocks[b].npred; p++) {
                int32_t from = c->blocks[b].pred[p];
                if (c->idom[from] >= 0)
                    d = d < 0 ? from : meet(c, d, from);
            }
            changed |= d != c->idom[b];
            c->idom[b] = d;
        }
    }
}

static bool dominates(const struct cfg *c, int32_t a, int32_t b)
{
    while (c->pos[b] > c->pos[a])
        b = c->idom[b];
    return a == b;
}

/* Natural loops: bodies as bit sets by header; NULL where a block heads none. */
static uint64_t **find_loops(struct cfg *c)
{
    uint64_t **body = xcalloc((size_t)c->n, sizeof *body);
    int32_t *work = xmalloc(sizeof *work * (size_t)c->n);
    for (int32_t n = 0; n < c->nreach; n++) {
        int32_t latch = c->rpo[n];
        for (int s = 0; s < c->blocks[latch].nsucc; s++) {
            int32_t h = c->blocks[latch].succ[s];
            if (!dominates(c, h, latch))
                continue;
            if (body[h] == NULL)
                body[h] = xcalloc((size_t)bit_words(c->n), 8);
            bit_set(body[h], h);
            int32_t sp = 0;
            if (!bit_get(body[h], latch)) {
                bit_set(body[h], latch);
                work[sp++] = latch;
            }
            while (sp > 0) {
                int32_t b = work[--sp];
                for (int p = 0; p < c->blocks[b].npred; p++) {
                    int32_t from = c->blocks[b].pred[p];
                    if (!bit_get(body[h], from)) {
                        bit_set(body[h], from);
                        work[sp++] = from;
                    }
                }
            }
        }
    }
    free(work);
    return body;
}

static void free_loops(struct cfg *c, uint64_t **body)
{
    for (int32_t b = 0; b < c->n; b++)
        free(body[b]);
    free(body);
}

/* ---- polls ---- */

/* `nblocks`: blocks when the loops were found, which is what `body` is a set over.
 * Does leaving the loop depend on a polling load inside it? Taint flows through registers. */
static bool loop_polls(const struct cfg *c, const uint64_t *body, int32_t nblocks)
{
    struct jkernel *k = c->k;
    uint64_t *taint = NULL;
    bool polls = false;
    for (bool changed = true; changed && !polls;) {
        changed = false;
        for (int32_t b = bit_next(body, nblocks, 0); b >= 0 && !polls;
             b = bit_next(body, nblocks, b + 1)) {
            const struct jblock *blk = &c->blocks[b];
            for (int32_t n = 0; n < blk->count; n++) {
                const struct ptx_instr *i = &k->instrs[blk->first + n];
                bool source = jit_is_polling_load(i);
                if (!source && taint == NULL)
                    continue;
                struct jroles r;
                jit_roles(i, &r);
                for (int u = 0; u < r.nuse && !source; u++)
                    source = bit_get(taint, r.use[u]);
                if (!source)
                    continue;
                if (taint == NULL)
                    taint = xcalloc((size_t)bit_words((int32_t)k->nregs), 8);
                for (int d = 0; d < r.ndef; d++)
                    if (!bit_get(taint, r.def[d])) {
                        bit_set(taint, r.def[d]);
                        changed = true;
                    }
            }
            bool exits = blk->term == TERM_BRANCH || blk->term == TERM_SWITCH;
            polls = exits && taint != NULL && bit_get(taint, blk->cond);
        }
    }
    free(taint);
    return polls;
}

/* Puts a block that polls on every back edge of loop `h`. A function that is called cannot suspend:
 * there the block stays a jump, behind which the thread gives way to others (weir_rt_spin). */
static void insert_polls(struct cfg *c, int32_t h, const uint64_t *body, int32_t nblocks)
{
    struct jkernel *k = c->k;
    for (int32_t b = bit_next(body, nblocks, 0); b >= 0; b = bit_next(body, nblocks, b + 1)) {
        for (int s = 0; s < c->blocks[b].nsucc; s++) {
            if (c->blocks[b].succ[s] != h)
                continue;
            struct jblock *grown = arena_alloc(&k->arena, sizeof *grown * (size_t)(c->n + 1));
            memcpy(grown, c->blocks, sizeof *grown * (size_t)c->n);
            c->blocks = grown;
            c->blocks[c->n] = (struct jblock){.first = c->blocks[b].first,
                                              .term = k->is_function ? TERM_JUMP : TERM_SUSPEND,
                                              .suspend = SUSPEND_POLL,
                                              .cond = -1,
                                              .loop = -1};
            set_succ(k, &c->blocks[c->n], 1, &h);
            c->blocks[b].succ[s] = c->n++;
            k->has_poll = !k->is_function;
        }
    }
}

/* ---- pace ---- */

/* Turns of a loop from barrier to barrier. What is read meanwhile must stay in the first cache, and
 * rows of a matrix often share a set of it, which has eight places. */
enum { PACE = 4 };

/* An instruction behind all others, which no way leads to but that of the block that is given it.
 */
static struct ptx_instr *cfg_extra(struct jkernel *k, enum ptx_op op, unsigned type, int noperands)
{
    struct ptx_instr *i = &k->instrs[k->ninstrs++];
    *i = (struct ptx_instr){.op = (uint16_t)op, .guard = -1, .vec = 1};
    if (type != 0)
        i->types[i->ntypes++] = (uint8_t)type;
    i->noperands = (uint16_t)noperands;
    i->operands = arena_alloc(&k->arena, sizeof *i->operands * (size_t)noperands);
    return i;
}

static struct ptx_operand cfg_number(uint64_t v)
{
    return (struct ptx_operand){.kind = PTX_OPR_IMM, .reg = -1, .imm = v};
}

static int32_t add_block(struct cfg *c, struct jblock block)
{
    struct jblock *grown = arena_alloc(&c->k->arena, sizeof *grown * (size_t)(c->n + 1));
    memcpy(grown, c->blocks, sizeof *grown * (size_t)c->n);
    c->blocks = grown;
    c->blocks[c->n] = block;
    return c->n++;
}

/* The instructions' array must not move any more once blocks point into it. */
static void reserve_extra(struct jkernel *k)
{
    for (int n = 0; n < 5; n++)
        flat_push(k);
    k->ninstrs -= 5;
}

/* A counter that starts at zero before the kernel's first block. */
static int32_t start_counter(struct cfg *c)
{
    struct jkernel *k = c->k;
    int32_t reg = flat_reg(k, "pace", PTX_U32), at = (int32_t)k->ninstrs;
    struct ptx_instr *zero = cfg_extra(k, PTX_OP_mov, PTX_U32, 2);
    zero->operands[0] = flat_reg_operand(reg);
    zero->operands[1] = cfg_number(0);
    int32_t first = add_block(c, c->blocks[0]);
    for (int32_t b = 0; b < c->n; b++)
        for (int s = 0; s < c->blocks[b].nsucc; s++)
            if (c->blocks[b].succ[s] == 0)
                c->blocks[b].succ[s] = first;
    c->blocks[0] =
        (struct jblock){.first = at, .count = 1, .term = TERM_JUMP, .cond = -1, .loop = -1};
    set_succ(k, &c->blocks[0], 1, &first);
    return reg;
}

/* Puts before every way back to header h: one turn more; at each PACE-th a barrier (pace.c). */
static void insert_pace(struct cfg *c, int32_t h, const uint64_t *body, int32_t nblocks,
                        int32_t counter)
{
    struct jkernel *k = c->k;
    int32_t pred = flat_reg(k, "paced", PTX_PRED), rest = flat_reg(k, "turn", PTX_U32);
    int32_t at = (int32_t)k->ninstrs;
    struct ptx_instr *add = cfg_extra(k, PTX_OP_add, PTX_U32, 3);
    add->operands[0] = add->operands[1] = flat_reg_operand(counter);
    add->operands[2] = cfg_number(1);
    struct ptx_instr *low = cfg_extra(k, PTX_OP_and, PTX_B32, 3);
    low->operands[0] = flat_reg_operand(rest);
    low->operands[1] = flat_reg_operand(counter);
    low->operands[2] = cfg_number(PACE - 1);
    struct ptx_instr *is = cfg_extra(k, PTX_OP_setp, PTX_U32, 3);
    is->mods[is->nmods++] = PTX_M_ne;
    is->operands[0] = flat_reg_operand(pred);
    is->operands[1] = flat_reg_operand(rest);
    is->operands[2] = cfg_number(0);
    struct ptx_instr *bar = cfg_extra(k, PTX_OP_bar, 0, 1);
    bar->mods[bar->nmods++] = PTX_M_sync;
    bar->operands[0] = cfg_number(0);
    int32_t wait = add_block(c, (struct jblock){.first = at,
                                                .term = TERM_SUSPEND,
                                                .suspend = SUSPEND_BARRIER,
                                                .term_instr = bar,
                                                .cond = -1,
                                                .loop = -1});
    set_succ(k, &c->blocks[wait], 1, &h);
    int32_t turn = add_block(
        c, (struct jblock){.first = at, .count = 3, .term = TERM_BRANCH, .cond = pred, .loop = -1});
    set_succ(k, &c->blocks[turn], 2, (int32_t[]){h, wait});
    for (int32_t b = bit_next(body, nblocks, 0); b >= 0; b = bit_next(body, nblocks, b + 1))
        for (int s = 0; s < c->blocks[b].nsucc; s++)
            if (c->blocks[b].succ[s] == h)
                c->blocks[b].succ[s] = turn;
}

/* Puts before header h, on all ways to it, the place where warps hand over (relay.c): so only what
 * follows it has the loop. */
static void insert_relay(struct cfg *c, int32_t h)
{
    int32_t at = add_block(c, (struct jblock){.first = c->blocks[h].first,
                                              .term = TERM_SUSPEND,
                                              .suspend = SUSPEND_YIELD,
                                              .cond = -1,
                                              .loop = -1});
    for (int32_t b = 0; b < at; b++)
        for (int s = 0; s < c->blocks[b].nsucc; s++)
            if (c->blocks[b].succ[s] == h)
                c->blocks[b].succ[s] = at;
    set_succ(c->k, &c->blocks[at], 1, &h);
}

/* A block of its own for what lanes do together, so that lanes can do what is before it while
 * others spin (yield.c). */
static void cfg_split(struct cfg *c, int32_t b, int32_t at)
{
    struct jkernel *k = c->k;
    struct jblock *grown = arena_alloc(&k->arena, sizeof *grown * (size_t)(c->n + 1));
    memcpy(grown, c->blocks, sizeof *grown * (size_t)c->n);
    c->blocks = grown;
    struct jblock *head = &c->blocks[b], *tail = &c->blocks[c->n];
    *tail = *head;
    tail->first += at;
    tail->count -= at;
    *head = (struct jblock){
        .first = head->first, .count = at, .term = TERM_JUMP, .cond = -1, .loop = -1};
    set_succ(k, head, 1, &c->n);
    c->n++;
}

static void split_joint(struct cfg *c)
{
    for (int32_t b = 0; b < c->n; b++) {
        const struct jblock *blk = &c->blocks[b];
        int32_t at = 0;
        while (at < blk->count && !jit_is_warp_operation(&c->k->instrs[blk->first + at]))
            at++;
        bool joint = at < blk->count || (blk->term == TERM_SUSPEND && blk->suspend != SUSPEND_POLL);
        if (joint && at > 0)
            cfg_split(c, b, at);
    }
}

static void alloc_orders(struct cfg *c)
{
    size_t bytes = sizeof(int32_t) * (size_t)(c->n + 1);
    c->rpo = arena_alloc(&c->k->arena, bytes);
    c->pos = arena_alloc(&c->k->arena, bytes);
    c->idom = arena_alloc(&c->k->arena, bytes);
}

static void analyse(struct cfg *c)
{
    alloc_orders(c);
    cfg_rpo(c, NULL);
    find_preds(c);
    dominators(c);
}

/* Renumbers the blocks into the order and drops unreachable ones. */
static void cfg_place(struct cfg *c, uint64_t *const *body)
{
    struct jkernel *k = c->k;
    struct jblock *out = arena_alloc(&k->arena, sizeof *out * (size_t)c->nreach);
    for (int32_t n = 0; n < c->nreach; n++) {
        int32_t from = c->rpo[n];
        out[n] = c->blocks[from];
        out[n].order = n;
        for (int s = 0; s < out[n].nsucc; s++)
            out[n].succ[s] = c->pos[out[n].succ[s]];
        for (int32_t h = 0, best = 0; h < c->n; h++) {
            if (body[h] == NULL || c->pos[h] < 0 || !bit_get(body[h], from))
                continue;
            out[n].depth++;
            int32_t size = 0;
            for (int32_t w = 0; w < bit_words(c->n); w++)
                size += __builtin_popcountll(body[h][w]);
            if (out[n].loop < 0 || size < best) {
                best = size;
                out[n].loop = c->pos[h];
            }
        }
    }
    c->blocks = out;
    c->n = c->nreach;
    for (int32_t n = 0; n < c->n; n++)
        c->rpo[n] = c->pos[n] = n;
    find_preds(c);
    k->blocks = out;
    k->nblocks = c->n;
}

/* Does the kernel have barriers that not every warp of the block takes part in? Then all of its
 * barriers are kept by number. */
static bool find_partial(struct jkernel *k)
{
    for (size_t n = 0; n < k->ninstrs; n++) {
        const struct ptx_instr *i = &k->instrs[n];
        bool reduces = ptx_has(i, PTX_M_red);
        if ((i->op != PTX_OP_bar && i->op != PTX_OP_barrier) || ptx_has(i, PTX_M_warp) ||
            ptx_has(i, PTX_M_cluster))
            continue;
        k->has_partial |= ptx_has(i, PTX_M_arrive) || i->noperands > (reduces ? 3 : 1);
        if (k->has_partial && k->is_function)
            return diag_set(k->diag, i->line, i->column,
                            "barriers with a thread count in a function that is not inlined are "
                            "not supported");
    }
    return true;
}

bool pass_cfg(struct jkernel *k)
{
    if (!find_partial(k))
        return false;
    struct cfg c = {.k = k};
    if (k->barrier_loop != 0)
        reserve_extra(k);
    if (!make_blocks(&c))
        return false;
    int32_t counter = k->barrier_loop != 0 ? start_counter(&c) : -1;
    analyse(&c);
    uint64_t **body = find_loops(&c);
    int32_t before = c.n;
    for (int32_t h = 0; h < before; h++)
        if (body[h] != NULL && loop_polls(&c, body[h], before))
            insert_polls(&c, h, body[h], before);
    for (int32_t h = 0; h < before && k->barrier_loop != 0; h++)
        if (body[h] != NULL && c.blocks[h].first == k->barrier_loop - 1)
            insert_pace(&c, h, body[h], before, counter);
    for (int32_t h = 0; h < before && k->yield_loop != 0; h++)
        if (body[h] != NULL && c.blocks[h].first == k->yield_loop - 1)
            insert_relay(&c, h);
    if (k->has_poll && c.n <= JIT_SPIN_YIELD_BLOCKS)
        split_joint(&c);
    if (c.n != before) {
        struct cfg old = {.n = before};
        free_loops(&old, body);
        analyse(&c);
        body = find_loops(&c);
    }
    struct cfg whole = {.n = c.n}; /* cfg_place drops unreachable blocks from the count */
    cfg_rpo(&c, body);
    cfg_place(&c, body);
    free_loops(&whole, body);
    return true;
}
