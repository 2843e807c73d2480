/* cfg: instructions become basic blocks, in a weak topological order.
 *
 * The order decides which lanes wait for which: a warp that has diverged runs, of the blocks at
 * which lanes are pending, the first in the order. Any order gives code that follows the program;
 * this one reconverges, so that a block whose lanes act together (a barrier, a shuffle, a vote) is
 * not run by a part of the warp while the rest is on its way there. It is Bourdoncle's weak
 * topological order, which exists for every graph, be it irreducible:
 *
 * - The blocks are nested in loops (graph_find_loops): a loop is a strongly connected component,
 *   its head is one of the blocks at which it is entered, and the loops inside are those of the
 *   component without the edges to that head.
 * - Each loop is contiguous and begins with its head.
 * - Every edge leads forwards, or back to the head of a loop that its source is in.
 *
 * From this follows what the rest of the compiler relies on: *when block B runs, a lane that is
 * pending at another block C can reach B only by way of the head of a loop that has both, that is
 * in a later iteration.* For C comes after B, as B was the first. Take the first edge on the path
 * from C to B that leads from after B to B or before it. It leads backwards, hence to the head of
 * a loop L that its source is in. L is contiguous, begins at or before B and reaches beyond it, so
 * B is in L. Were C not in L, C would come after all of L, and the path would have entered L before
 * that edge, from after L to a block after B: that is an edge backwards to a block that is not
 * the head of a loop around its source, and there is none. In particular a lane pending anywhere
 * while a block that is in no loop runs never gets to that block.
 *
 * In a loop with warp operations lanes meet in each iteration. For that, one block, the *latch*, is
 * the source of all edges back to the head, and leads nowhere else in the loop; where the program
 * has no such block, one is inserted. As every path through the loop ends there, it is the loop's
 * last in the order. It runs when no lane is pending at any other block of the loop, so that all
 * lanes in the loop are in the same iteration: block B of the loop runs when all lanes that can get
 * there in this iteration have come.
 *
 * Two loops may share a head: compilers make one block of `for (;;) { while (p) ...; barrier; }`'s
 * two heads. An iteration of that loop would be a turn of either. So the inner loop gets a head of
 * its own: that of the edges back before which there are fewer joints (shared_heads.c).
 *
 * What an iteration of an irreducible loop is depends on the head. loop_heads_choose prefers a head
 * such that lanes get to the loop's warp operations from wherever they have entered it, by every
 * path, and once in an iteration. If there is one warp operation that all cycles pass, what follows
 * it is such a head, and the operation is then the last of the loop: it runs when no lane that can
 * still reach it is pending elsewhere.
 *
 * Each of these choices takes a search of the loop, so that they would take the square of a
 * kernel's size where loops are nested as deeply as it is large. They are made to a depth of
 * MAX_DEPTH; loops further inside have their first entries for heads, and no latches.
 *
 * All this makes lanes meet early, and often enough that few instructions need more. Which do, and
 * how they wait for lanes that come in a later iteration, is in gates.c. Its wait blocks are placed
 * by other rules: their edges lead backwards to blocks that are no heads.
 *
 * Loops that wait for memory that others write, or for a clock, get a poll on their back edges, so
 * that no kernel can hold a worker for ever (spec S8). */
#include "compiler/analysis/cfg.h"
#include "compiler/analysis/loop_heads.h"
#include "compiler/arithmetic/arithmetic.h"
#include "compiler/front/flatten.h"
#include "compiler/passes.h"

#include <stdlib.h>
#include <string.h>

/* How deep in others a loop may be for what is done to make lanes meet in each iteration, which
 * takes a search of the loop (compilers do not write such; jumps to anywhere make thousands). */
enum { MAX_DEPTH = 64 };

static bool is_barrier(const struct ptx_instr *i)
{
    return (i->op == PTX_OP_bar || i->op == PTX_OP_barrier) && !ptx_has(i, PTX_M_warp) &&
           !ptx_has(i, PTX_M_cluster) && !ptx_has(i, PTX_M_arrive) && !ptx_has(i, PTX_M_wait);
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
    return i->op == PTX_OP_barrier && ptx_has(i, PTX_M_wait) && !ptx_has(i, PTX_M_red);
}

bool jit_awaits_arrivals(const struct ptx_instr *i) { return is_barrier(i) || is_wait(i); }

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

void cfg_set_succ(struct jkernel *k, struct jblock *b, int n, const int32_t *succ)
{
    b->succ = arena_alloc(&k->arena, sizeof *succ * (size_t)n);
    memcpy(b->succ, succ, sizeof *succ * (size_t)n);
    b->nsucc = n;
}

int32_t cfg_add(struct cfg *c, struct jblock block)
{
    if (c->n >= c->cap) {
        c->cap = c->n + c->n / 2 + 16;
        struct jblock *grown = arena_alloc(&c->k->arena, sizeof *grown * (size_t)c->cap);
        memcpy(grown, c->blocks, sizeof *grown * (size_t)c->n);
        c->blocks = grown;
    }
    c->blocks[c->n] = block;
    return c->n++;
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
        if (k->is_function && !k->fibers && jit_awaits_arrivals(&k->instrs[n])) {
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
            cfg_set_succ(k, blk, blk->term == TERM_BRANCH ? 2 : 1, (int32_t[]){to, next});
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
            cfg_set_succ(k, blk, i->targets->count, to);
            free(to);
        } else if (i->op == PTX_OP_exit) {
            blk->term = TERM_EXIT;
        } else if (is_barrier(i)) {
            blk->term = TERM_SUSPEND;
            blk->suspend = SUSPEND_BARRIER;
            cfg_set_succ(k, blk, 1, &next);
        } else if (is_sync(i)) {
            /* a function that is called cannot suspend: its thread does what it waits for */
            blk->term = k->is_function ? TERM_JUMP : TERM_SUSPEND;
            blk->suspend = SUSPEND_SYNC;
            k->has_poll = !k->is_function;
            cfg_set_succ(k, blk, 1, &next);
        } else {
            cfg_set_succ(k, blk, 1, &next);
        }
    }
    free(block_at);
    free(leader);
    return ok;
}

/* ---- loops ---- */

static void make_graph(const struct jblock *blocks, int32_t n, struct graph *g)
{
    graph_init(g, n);
    for (int32_t b = 0; b < n; b++)
        for (int s = 0; s < blocks[b].nsucc; s++)
            graph_edge(g, b, blocks[b].succ[s]);
    graph_close(g);
}

/* Does it show what a function saw that polls, or whether one is still at it? Results of calls are
 * read from where the callee has left them (front/arguments.c). */
static bool polls_by_call(const struct jkernel *k, const struct ptx_instr *i)
{
    if (i->op == PTX_OP_call)
        return i->call->unfinished != 0;
    return k->polls_by_calls && i->op == PTX_OP_ld && i->operands[jit_ndst(i)].var == &k->outgoing;
}

static bool is_polling(const struct jkernel *k, const struct jblock *b)
{
    for (int32_t n = 0; n < b->count; n++) {
        const struct ptx_instr *i = &k->instrs[b->first + n];
        if (jit_is_polling_load(i) || polls_by_call(k, i))
            return true;
    }
    return false;
}

/* What each loop has: looked up once a block, and summed over the loops from the inside outwards.
 * Parents come before their children. */
static void describe_loops(struct cfg *c)
{
    const struct graph_loops *l = &c->loops;
    struct cfg_loop *info = c->info = xcalloc((size_t)l->count + 1, sizeof *info);
    int32_t *free_at = xcalloc((size_t)l->count + 1, sizeof *free_at), outermost = 0;
    for (int32_t b = 0; b < c->n; b++)
        if (l->loop_of[b] >= 0) {
            struct cfg_loop *of = &info[l->loop_of[b]];
            of->count++;
            of->joint |= bit_get(c->joints, b);
            of->polling = of->polling || is_polling(c->k, &c->blocks[b]);
        }
    for (int32_t i = l->count - 1; i >= 0; i--)
        if (l->loops[i].parent >= 0) {
            struct cfg_loop *around = &info[l->loops[i].parent];
            around->count += info[i].count;
            around->joint |= info[i].joint;
            around->polling |= info[i].polling;
        }
    for (int32_t i = 0; i < l->count; i++) {
        int32_t parent = l->loops[i].parent, *at = parent >= 0 ? &free_at[parent] : &outermost;
        info[i].irreducible = l->loops[i].irreducible || (parent >= 0 && info[parent].irreducible);
        info[i].first = free_at[i] = *at;
        *at += info[i].count;
    }
    c->members = xmalloc(sizeof *c->members * ((size_t)c->n + 1));
    for (int32_t b = 0; b < c->n; b++)
        if (l->loop_of[b] >= 0)
            c->members[free_at[l->loop_of[b]]++] = b;
    free(free_at);
}

/* Finds the loops of the blocks as they are now. */
static void find_loops(struct cfg *c)
{
    make_graph(c->blocks, c->n, &c->graph);
    c->joints = xcalloc(bit_bytes(c->n), 1);
    for (int32_t b = 0; b < c->n; b++)
        if (jit_is_joint(c->k, &c->blocks[b]))
            bit_set(c->joints, b);
    struct loop_heads by = {
        .joints = c->joints, .known = c->heads, .nknown = c->nheads, .by_joints = c->by_joints};
    struct graph_heads heads = {
        .choose = loop_heads_choose, .self = &by, .at = c->joints, .depth = MAX_DEPTH};
    graph_find_loops(&c->graph, 0, &heads, &c->loops);
    describe_loops(c);
}

/* The loop whose head a block is, -1: it is none. */
static int32_t loop_headed_by(const struct cfg *c, int32_t b)
{
    int32_t loop = c->loops.loop_of[b];
    return loop >= 0 && c->loops.loops[loop].head == b ? loop : -1;
}

/* The blocks of a loop as a set over those that the loops were found in, which the caller frees. */
static uint64_t *loop_body(const struct cfg *c, int32_t loop)
{
    uint64_t *body = xcalloc(bit_bytes(c->graph.n), 1);
    const struct cfg_loop *info = &c->info[loop];
    for (int32_t i = info->first; i < info->first + info->count; i++)
        bit_set(body, c->members[i]);
    return body;
}

/* Keeps the heads that have been chosen, for when the loops are found again. */
static void keep_heads(struct cfg *c)
{
    free(c->heads);
    c->nheads = c->n;
    c->heads = xcalloc((size_t)c->n, sizeof *c->heads);
    for (int32_t l = 0; l < c->loops.count; l++)
        if (c->loops.loops[l].irreducible)
            c->heads[c->loops.loops[l].head] = c->loops.loops[l].depth;
}

static void free_loops(struct cfg *c)
{
    free(c->joints);
    free(c->info);
    free(c->members);
    graph_free(&c->graph);
    graph_loops_free(&c->loops);
}

/* ---- rounds ---- */

int32_t cfg_split(struct cfg *c, int32_t b, int32_t at)
{
    struct jblock rest = c->blocks[b];
    rest.first += at;
    rest.count -= at;
    int32_t tail = cfg_add(c, rest);
    struct jblock *head = &c->blocks[b];
    *head = (struct jblock){
        .first = head->first, .count = at, .term = TERM_JUMP, .cond = -1, .loop = -1};
    cfg_set_succ(c->k, head, 1, &tail);
    return tail;
}

/* In irreducible loops, ends each block that has a warp operation after that operation, so that a
 * round can begin where its lanes go on. True: some were split. */
static bool split_after_joint(struct cfg *c)
{
    int32_t n = c->n;
    for (int32_t b = 0; b < n; b++) {
        int32_t l = c->loops.loop_of[b];
        if (l >= 0 && c->info[l].irreducible && c->blocks[b].nsucc > 1 && bit_get(c->joints, b))
            cfg_split(c, b, c->blocks[b].count);
    }
    return c->n > n;
}

/* Does one block end each round of the loop: do its edges alone lead back to the head, and lead
 * nowhere else in the loop? */
static bool has_latch(const struct cfg *c, int32_t loop, const uint64_t *body, int32_t nblocks)
{
    int32_t head = c->loops.loops[loop].head, latch = -1;
    EACH_BIT (b, body, nblocks)
        for (int s = 0; s < c->blocks[b].nsucc; s++)
            if (c->blocks[b].succ[s] == head) {
                if (latch >= 0 && latch != b)
                    return false;
                latch = b;
            }
    for (int s = 0; s < c->blocks[latch].nsucc; s++)
        if (c->blocks[latch].succ[s] != head && bit_get(body, c->blocks[latch].succ[s]))
            return false;
    return c->loops.loop_of[latch] == loop;
}

/* Is it seen to that lanes meet in each iteration of the loop? */
static bool meets_in_rounds(const struct cfg *c, int32_t loop)
{
    return c->info[loop].joint && c->loops.loops[loop].depth <= MAX_DEPTH;
}

/* Gives the loops in which lanes act together a block that all edges back to the head come from. */
static bool insert_latches(struct cfg *c)
{
    int32_t n = c->n;
    for (int32_t l = 0; l < c->loops.count; l++) {
        int32_t head = c->loops.loops[l].head;
        if (!meets_in_rounds(c, l))
            continue;
        uint64_t *body = loop_body(c, l);
        if (has_latch(c, l, body, n)) {
            free(body);
            continue;
        }
        int32_t latch = cfg_add(
            c, (struct jblock){
                   .first = c->blocks[head].first, .term = TERM_JUMP, .cond = -1, .loop = -1});
        cfg_set_succ(c->k, &c->blocks[latch], 1, &head);
        EACH_BIT (b, body, n)
            for (int s = 0; s < c->blocks[b].nsucc; s++)
                if (c->blocks[b].succ[s] == head)
                    c->blocks[b].succ[s] = latch;
        free(body);
    }
    return c->n > n;
}

static void find_loops_again(struct cfg *c)
{
    free_loops(c);
    find_loops(c);
}

/* ---- loops that share a head ---- */

/* Gives the inner one of two loops that share a head a head of its own (shared_heads.c): what the
 * head does moves to a new block, to which the inner loop's edges lead. True: some were split. */
static bool split_heads(struct cfg *c)
{
    int32_t n = c->n, count = c->loops.count;
    uint64_t **inner = xcalloc((size_t)count + 1, sizeof *inner);
    for (int32_t l = 0; l < count; l++) /* all are found before any is split */
        if (meets_in_rounds(c, l)) {
            uint64_t *body = loop_body(c, l);
            inner[l] = graph_inner_sources(&c->graph, body, c->loops.loops[l].head, c->joints);
            free(body);
        }
    for (int32_t l = 0; l < count; l++) {
        int32_t head = c->loops.loops[l].head;
        if (inner[l] == NULL)
            continue;
        int32_t moved = cfg_add(c, c->blocks[head]);
        EACH_BIT (b, inner[l], n) {
            struct jblock *from = &c->blocks[b == head ? moved : b];
            for (int s = 0; s < from->nsucc; s++)
                if (from->succ[s] == head)
                    from->succ[s] = moved;
        }
        c->blocks[head] = (struct jblock){
            .first = c->blocks[moved].first, .term = TERM_JUMP, .cond = -1, .loop = -1};
        cfg_set_succ(c->k, &c->blocks[head], 1, &moved);
        free(inner[l]);
    }
    free(inner);
    return c->n > n;
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
        EACH_BIT (b, body, nblocks) {
            const struct jblock *blk = &c->blocks[b];
            for (int32_t n = 0; n < blk->count; n++) {
                const struct ptx_instr *i = &k->instrs[blk->first + n];
                bool source = jit_is_polling_load(i) || polls_by_call(k, i);
                if (!source && taint == NULL)
                    continue;
                struct jroles r;
                jit_roles(i, &r);
                for (int u = 0; u < r.nuse && !source; u++)
                    source = bit_get(taint, r.use[u]);
                if (!source)
                    continue;
                if (taint == NULL)
                    taint = xcalloc(bit_bytes((int32_t)k->nregs), 1);
                for (int d = 0; d < r.ndef; d++)
                    if (!bit_get(taint, r.def[d])) {
                        bit_set(taint, r.def[d]);
                        changed = true;
                    }
            }
            bool exits = blk->term == TERM_BRANCH || blk->term == TERM_SWITCH;
            polls = exits && taint != NULL && bit_get(taint, blk->cond);
            if (polls)
                break;
        }
    }
    free(taint);
    return polls;
}

/* Does the loop wait? Of one that is very deep inside others it is taken for granted, if it can. */
static bool loop_waits(const struct cfg *c, int32_t loop)
{
    if (!c->info[loop].polling || c->loops.loops[loop].depth > MAX_DEPTH)
        return c->info[loop].polling;
    uint64_t *body = loop_body(c, loop);
    bool waits = loop_polls(c, body, c->graph.n);
    free(body);
    return waits;
}

/* Puts a block that polls on every back edge of a loop. A function that is called cannot suspend:
 * there the block stays a jump, after which the thread yields (weir_rt_spin). */
static void insert_polls(struct cfg *c, int32_t loop)
{
    struct jkernel *k = c->k;
    int32_t h = c->loops.loops[loop].head;
    for (int32_t e = c->graph.pred_at[h]; e < c->graph.pred_at[h + 1]; e++) {
        int32_t b = c->graph.pred[e];
        if (!graph_in_loop(&c->loops, loop, b))
            continue;
        for (int s = 0; s < c->blocks[b].nsucc; s++) {
            if (c->blocks[b].succ[s] != h)
                continue;
            int32_t poll =
                cfg_add(c, (struct jblock){.first = c->blocks[b].first,
                                           .term = k->is_function ? TERM_JUMP : TERM_SUSPEND,
                                           .suspend = SUSPEND_POLL,
                                           .cond = -1,
                                           .loop = -1});
            cfg_set_succ(k, &c->blocks[poll], 1, &h);
            c->blocks[b].succ[s] = poll;
            k->has_poll = !k->is_function;
        }
    }
}

/* ---- loops in which warps interleave ---- */

/* An instruction after all others, which only the block that is given it runs. */
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
    int32_t reg = flat_reg(k, "iterations", PTX_U32), at = (int32_t)k->ninstrs;
    struct ptx_instr *zero = cfg_extra(k, PTX_OP_mov, PTX_U32, 2);
    zero->operands[0] = flat_reg_operand(reg);
    zero->operands[1] = cfg_number(0);
    int32_t first = cfg_add(c, c->blocks[0]);
    for (int32_t b = 0; b < c->n; b++)
        for (int s = 0; s < c->blocks[b].nsucc; s++)
            if (c->blocks[b].succ[s] == 0)
                c->blocks[b].succ[s] = first;
    c->blocks[0] =
        (struct jblock){.first = at, .count = 1, .term = TERM_JUMP, .cond = -1, .loop = -1};
    cfg_set_succ(k, &c->blocks[0], 1, &first);
    return reg;
}

/* Puts on every back edge to header h a count of iterations, and a barrier in each
 * barrier_iterations-th (warp_interleaving.c). */
static void insert_barriers(struct cfg *c, int32_t h, const uint64_t *body, int32_t nblocks,
                            int32_t counter)
{
    struct jkernel *k = c->k;
    int32_t pred = flat_reg(k, "not_yet", PTX_PRED), rest = flat_reg(k, "iteration", PTX_U32);
    int32_t at = (int32_t)k->ninstrs;
    struct ptx_instr *add = cfg_extra(k, PTX_OP_add, PTX_U32, 3);
    add->operands[0] = add->operands[1] = flat_reg_operand(counter);
    add->operands[2] = cfg_number(1);
    struct ptx_instr *low = cfg_extra(k, PTX_OP_and, PTX_B32, 3);
    low->operands[0] = flat_reg_operand(rest);
    low->operands[1] = flat_reg_operand(counter);
    low->operands[2] = cfg_number((uint64_t)k->barrier_iterations - 1);
    struct ptx_instr *is = cfg_extra(k, PTX_OP_setp, PTX_U32, 3);
    is->mods[is->nmods++] = PTX_M_ne;
    is->operands[0] = flat_reg_operand(pred);
    is->operands[1] = flat_reg_operand(rest);
    is->operands[2] = cfg_number(0);
    struct ptx_instr *bar = cfg_extra(k, PTX_OP_bar, 0, 1);
    bar->mods[bar->nmods++] = PTX_M_sync;
    bar->operands[0] = cfg_number(0);
    int32_t wait = cfg_add(c, (struct jblock){.first = at,
                                              .term = TERM_SUSPEND,
                                              .suspend = SUSPEND_BARRIER,
                                              .term_instr = bar,
                                              .cond = -1,
                                              .loop = -1});
    cfg_set_succ(k, &c->blocks[wait], 1, &h);
    int32_t count = cfg_add(
        c, (struct jblock){.first = at, .count = 3, .term = TERM_BRANCH, .cond = pred, .loop = -1});
    cfg_set_succ(k, &c->blocks[count], 2, (int32_t[]){h, wait});
    EACH_BIT (b, body, nblocks)
        for (int s = 0; s < c->blocks[b].nsucc; s++)
            if (c->blocks[b].succ[s] == h)
                c->blocks[b].succ[s] = count;
}

/* Puts the yield point before header h, on all edges to it (grid_stride.c): so only what follows it
 * has the loop. */
static void insert_wait(struct cfg *c, int32_t h, enum jsuspend kind)
{
    int32_t at = cfg_add(c, (struct jblock){.first = c->blocks[h].first,
                                            .term = TERM_SUSPEND,
                                            .suspend = (uint8_t)kind,
                                            .cond = -1,
                                            .loop = -1});
    for (int32_t b = 0; b < at; b++)
        for (int s = 0; s < c->blocks[b].nsucc; s++)
            if (c->blocks[b].succ[s] == h)
                c->blocks[b].succ[s] = at;
    cfg_set_succ(c->k, &c->blocks[at], 1, &h);
}

/* The same in front of an instruction. */
static void insert_count(struct cfg *c, int32_t instr)
{
    for (int32_t b = 0; b < c->n; b++) {
        int32_t at = instr - c->blocks[b].first;
        if (at < 0 || at >= c->blocks[b].count)
            continue;
        insert_wait(c, at > 0 ? cfg_split(c, b, at) : b, SUSPEND_COUNT);
        return;
    }
}

/* A block of its own for what lanes do together, so that lanes can do what is before it while
 * others spin (spin_yield.c). */
static void split_joint(struct cfg *c)
{
    for (int32_t b = 0; b < c->n; b++) {
        const struct jblock *blk = &c->blocks[b];
        int32_t at = 0;
        while (at < blk->count && !jit_is_warp_operation(&c->k->instrs[blk->first + at]))
            at++;
        if (at > 0 && jit_is_joint(c->k, blk))
            cfg_split(c, b, at);
    }
}

/* ---- the order ---- */

/* Renumbers the blocks into the order and drops unreachable ones. */
static void cfg_place(struct cfg *c, bool gates)
{
    struct jkernel *k = c->k;
    size_t most = 2 * (size_t)c->n + 1; /* each block may be a gate, and have a wait block */
    int32_t *order = xmalloc(sizeof *order * most), *position = xmalloc(sizeof *position * most);
    k->nblocks = cfg_find_order(c, order, position);
    if (gates) {
        k->nblocks = gates_place(c, order, k->nblocks);
        for (int32_t n = 0; n < k->nblocks; n++)
            position[order[n]] = n;
    }
    k->blocks = arena_alloc(&k->arena, sizeof *k->blocks * (size_t)k->nblocks);
    for (int32_t n = 0; n < k->nblocks; n++) {
        struct jblock *out = &k->blocks[n];
        *out = c->blocks[order[n]];
        int32_t loop = out->waits ? out->loop : c->loops.loop_of[order[n]];
        out->order = n;
        for (int s = 0; s < out->nsucc; s++)
            out->succ[s] = position[out->succ[s]];
        out->loop = loop < 0 ? -1 : position[c->loops.loops[loop].head];
        out->depth = loop < 0 ? 0 : c->loops.loops[loop].depth;
        out->irreducible = loop >= 0 && c->loops.loops[loop].irreducible;
    }
    free(order);
    free(position);
    make_graph(k->blocks, k->nblocks, &k->graph);
    for (int32_t b = 0; b < k->nblocks; b++) {
        k->blocks[b].pred = &k->graph.pred[k->graph.pred_at[b]];
        k->blocks[b].npred = k->graph.pred_at[b + 1] - k->graph.pred_at[b];
    }
}

/* Does the kernel have barriers that not every warp of the block takes part in? Then all of its
 * barriers are kept by number. */
static bool find_partial(struct jkernel *k)
{
    for (size_t n = 0; n < k->ninstrs && !k->fibers; n++) {
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

int32_t jit_innermost_end(const struct jkernel *k, int32_t h)
{
    int32_t last = h;
    for (int32_t b = h; b < k->nblocks; b++)
        if (k->blocks[b].loop == h)
            last = b;
    for (int32_t b = h; b <= last; b++)
        if (k->blocks[b].loop != h || k->blocks[b].irreducible)
            return -1;
    return last;
}

int32_t jit_loop_end(const struct jkernel *k, int32_t h)
{
    int32_t depth = k->blocks[h].depth, b = h;
    while (b + 1 < k->nblocks && (k->blocks[b + 1].depth > depth ||
                                  (k->blocks[b + 1].depth == depth && k->blocks[b + 1].loop == h)))
        b++;
    return b;
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
    find_loops(&c);
    if (split_after_joint(&c))
        find_loops_again(&c);
    keep_heads(&c);
    while (split_heads(&c)) {
        find_loops_again(&c);
        keep_heads(&c);
    }
    c.by_joints = true;
    find_loops_again(&c);
    if (split_after_joint(&c))
        find_loops_again(&c);
    keep_heads(&c);
    if (insert_latches(&c))
        find_loops_again(&c);
    int32_t before = c.n;
    for (int32_t h = 0; h < before; h++)
        if (loop_headed_by(&c, h) >= 0 && loop_waits(&c, loop_headed_by(&c, h)))
            insert_polls(&c, loop_headed_by(&c, h));
    for (int32_t h = 0; h < before && k->barrier_loop != 0; h++)
        if (loop_headed_by(&c, h) >= 0 && c.blocks[h].first == k->barrier_loop - 1) {
            uint64_t *body = loop_body(&c, loop_headed_by(&c, h));
            insert_barriers(&c, h, body, before, counter);
            free(body);
            break;
        }
    for (int32_t h = 0; h < before && k->yield_loop != 0; h++)
        if (loop_headed_by(&c, h) >= 0 && c.blocks[h].first == k->yield_loop - 1) {
            insert_wait(&c, h, SUSPEND_YIELD);
            break;
        }
    if (k->counter != 0)
        insert_count(&c, k->counter - 1);
    if ((k->has_poll || k->fibers) && c.n <= JIT_SPIN_YIELD_BLOCKS)
        split_joint(&c);
    bool gates = gates_insert(&c);
    if (c.n != before)
        find_loops_again(&c);
    cfg_place(&c, gates);
    free_loops(&c);
    free(c.heads);
    return true;
}
