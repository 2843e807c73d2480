/* search_loops: unrolls loops that lanes leave one by one, as what they read decides.
 *
 *   while (k < n && text[i + k] == word[k]) k++;
 *
 * In each turn it is asked whether any lane is left, which no predictor knows. Where the body is
 * short, the code generator asks once for several blocks in a row (codegen/control/idle_blocks.c),
 * and turns that are written one after the other are such blocks. A turn is a chain of blocks of
 * which each leads to the next or out of the loop; it loads neighbours or single addresses and does
 * cheap arithmetic, as otherwise it could not be executed without lanes. Registers whose values do
 * not outlive a turn have names of their own in each: the analyses know one uniformity for each,
 * and more of those that are written once.
 *
 * The analyses begin anew with the instructions changed. */
#include "compiler/front/flatten.h"
#include "compiler/passes.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_INSTRS = 400, /* of a kernel */
    MAX_LOOPS = 4,
    TURNS = 4,      /* that one of the unrolled loop has */
    MOST_COST = 10, /* of a turn, in the terms of jit_masked_block_cost */
    MOST_BODY = 40  /* its instructions */
};

/* Is the block one of a turn, but for its loads and arithmetic? */
static bool is_plain(const struct jblock *blk)
{
    return (blk->term == TERM_JUMP || blk->term == TERM_BRANCH) && blk->suspend == 0 && !blk->waits;
}

/* Can the block be named as one that a branch goes to: is there something in the list? */
static bool has_place(const struct jblock *blk)
{
    return blk->count > 0 || blk->term_instr != NULL;
}

/* Which of the block's successors is not `next`; -1: it has no other. */
static int other_successor(const struct jblock *blk, int32_t next)
{
    if (blk->nsucc == 1)
        return blk->succ[0] == next ? -1 : 0;
    return blk->succ[0] == next ? 1 : 0;
}

/* Do the blocks from h to end form a turn? `left` becomes the registers that lanes read when they
 * have left, or in the next turn. */
static bool is_turn(const struct jkernel *k, int32_t h, int32_t end, uint64_t *left)
{
    int32_t words = (int32_t)k->nregs, instrs = 0;
    int cost = 0;
    bool decides = false, reads = false;
    bit_copy(left, k->blocks[h].live_in, words);
    for (int32_t b = h; b <= end; b++) {
        const struct jblock *blk = &k->blocks[b];
        int32_t next = b < end ? b + 1 : h;
        bool leads = blk->succ[0] == next || (blk->nsucc == 2 && blk->succ[1] == next);
        if (!is_plain(blk) || !leads || (b > h && blk->npred != 1))
            return false;
        int other = other_successor(blk, next);
        if (other >= 0) {
            const struct jblock *out = &k->blocks[blk->succ[other]];
            if ((blk->succ[other] >= h && blk->succ[other] <= end) || !has_place(out))
                return false;
            bit_union(left, out->live_in, words);
        }
        for (int32_t n = 0; n < blk->count; n++)
            reads |= k->instrs[blk->first + n].op == PTX_OP_ld;
        decides |= jit_data_decides(k, blk);
        cost += jit_masked_block_cost(k, blk);
        instrs += blk->count;
    }
    const struct ptx_instr *back = k->blocks[end].term_instr;
    return decides && reads && cost <= MOST_COST && instrs <= MOST_BODY && back != NULL &&
           back->op == PTX_OP_bra && back->operands[0].target == k->blocks[h].first;
}

static struct jsearch_turn *add_turn(struct jkernel *k, int32_t h, int32_t end,
                                     const uint64_t *left)
{
    struct jsearch_loops *s = &k->search_loops;
    if (s->count == s->cap) {
        s->cap = s->cap * 2 + 4;
        s->items = xrealloc(s->items, sizeof *s->items * s->cap);
    }
    struct jsearch_turn *t = &s->items[s->count++];
    memset(t, 0, sizeof *t);
    t->head = k->blocks[h].first;
    t->back = (int32_t)(k->blocks[end].term_instr - k->instrs);
    for (int32_t b = h; b <= end; b++) {
        const struct jblock *blk = &k->blocks[b];
        struct jsearch_part *part = &t->parts[t->nparts++];
        int other = other_successor(blk, b < end ? b + 1 : h);
        *part = (struct jsearch_part){.first = blk->first, .count = blk->count, .out = -1};
        if (other >= 0) {
            part->out = k->blocks[blk->succ[other]].first;
            part->cond = blk->cond;
            part->neg = other == 0 ? blk->cond_neg : !blk->cond_neg;
        }
    }
    t->left = xmalloc(bit_bytes((int32_t)k->nregs));
    bit_copy(t->left, left, (int32_t)k->nregs);
    return t;
}

bool jit_find_search_loops(struct jkernel *k)
{
    if (k->search_loops.searched)
        return false;
    k->search_loops.searched = true;
    if (k->fibers || k->one_lane || k->opt->checked != 0 || k->ninstrs > MAX_INSTRS || k->has_poll)
        return false;
    uint64_t *left = xcalloc(bit_bytes((int32_t)k->nregs), 1);
    for (int32_t h = 0; h < k->nblocks && k->search_loops.count < MAX_LOOPS; h++) {
        if (k->blocks[h].loop != h)
            continue;
        int32_t end = jit_innermost_end(k, h);
        if (end >= h && end - h < JSEARCH_PARTS && is_turn(k, h, end, left))
            add_turn(k, h, end, left);
    }
    free(left);
    return k->search_loops.count > 0;
}

void jit_free_search_loops(struct jsearch_loops *s)
{
    for (size_t n = 0; n < s->count; n++)
        free(s->items[n].left);
    free(s->items);
    *s = (struct jsearch_loops){0};
}

/* ---- the instructions ---- */

/* The list that is being made, and the names of registers in the turn that is being written. */
struct rewriter {
    struct jkernel *k;
    const struct ptx_instr *old;
    int32_t nregs;
    int32_t *name;
};

/* What the turn writes and nobody reads after it gets new names. */
static void rename_own(struct rewriter *w, const struct jsearch_turn *t)
{
    for (int32_t r = 0; r < w->nregs; r++)
        w->name[r] = r;
    for (int p = 0; p < t->nparts; p++)
        for (int32_t n = 0; n < t->parts[p].count; n++) {
            struct jroles r;
            jit_roles(&w->old[t->parts[p].first + n], &r);
            for (int d = 0; d < r.ndef; d++) {
                int32_t reg = r.def[d];
                if (bit_get(t->left, reg) || w->name[reg] != reg)
                    continue;
                const struct jreg from = w->k->regs[reg];
                w->name[reg] = flat_reg(w->k, from.name, from.type);
            }
        }
}

static void push_turn(struct rewriter *w, const struct jsearch_turn *t, bool last)
{
    struct jkernel *k = w->k;
    const struct ptx_instr *at = &w->old[t->back];
    rename_own(w, t);
    for (int p = 0; p < t->nparts; p++) {
        const struct jsearch_part *part = &t->parts[p];
        for (int32_t n = 0; n < part->count; n++) {
            struct ptx_instr i = w->old[part->first + n];
            i.operands = flat_renamed(k, i.operands, i.noperands, w->name);
            i.guard = i.guard >= 0 ? w->name[i.guard] : -1;
            *flat_push(k) = i;
        }
        if (part->out >= 0)
            flat_push_branch(k, at, w->name[part->cond], part->neg, part->out);
    }
    if (last)
        flat_push_branch(k, at, -1, false, t->head);
}

void jit_apply_search_loops(struct jkernel *k)
{
    const struct jsearch_loops *s = &k->search_loops;
    if (s->count == 0)
        return;
    struct rewriter w = {.k = k, .old = k->instrs, .nregs = (int32_t)k->nregs};
    int32_t nold = (int32_t)k->ninstrs;
    /* turns of loop n begin at number nold + 1 + n */
    int32_t *moved = xcalloc((size_t)nold + 1 + s->count, sizeof *moved);
    w.name = xmalloc(sizeof *w.name * ((size_t)w.nregs + 1));
    k->instrs = NULL;
    k->ninstrs = k->instrs_cap = 0;
    for (int32_t n = 0; n < nold; n++) {
        struct ptx_instr i = w.old[n];
        for (size_t l = 0; l < s->count; l++)
            if (s->items[l].back == n) {
                i.operands = flat_renamed(k, i.operands, i.noperands, NULL);
                i.operands[0].target = nold + 1 + (int32_t)l;
            }
        moved[n] = (int32_t)k->ninstrs;
        *flat_push(k) = i;
    }
    moved[nold] = (int32_t)k->ninstrs - 1; /* the last is an exit */
    for (size_t l = 0; l < s->count; l++) {
        moved[nold + 1 + (int32_t)l] = (int32_t)k->ninstrs;
        for (int turn = 1; turn < TURNS; turn++)
            push_turn(&w, &s->items[l], turn + 1 == TURNS);
    }
    struct ptx_instr last = w.old[nold - 1];
    *flat_push(k) = last;
    flat_retarget(k, moved);
    free(moved);
    free(w.name);
}
