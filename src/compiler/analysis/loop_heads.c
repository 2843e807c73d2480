/* loop_heads.c: which block of a loop is its head.
 *
 * A loop's head decides what a round through it is: lanes that have come back to the head wait
 * there for those that are still in the loop. The head of a loop with one entry is that entry,
 * unless lanes can get from it back to it without a joint (a block with a warp operation) that the
 * loop has elsewhere: such lanes would be thought a round ahead of those that wait for them at the
 * joint. */
#include "compiler/analysis/loop_heads.h"

#include <stdlib.h>

/* Of how many blocks of each kind the choice of a head takes notice, and in large loops. */
enum { MAX_CHOICE = 8, MAX_CHOICE_LARGE = 2, LARGE_LOOP = 500 };

struct choice {
    const struct graph *g;
    const uint64_t *nodes;
    int32_t joint[MAX_CHOICE], njoint, entries[MAX_CHOICE], nentries;
};

/* Can lanes at node `from` of the loop get to `to`, which may be the same, without passing
 * `around`? */
static bool leads(const struct choice *c, int32_t from, int32_t to, int32_t around)
{
    uint64_t *seen = xcalloc(bit_bytes(c->g->n), 1);
    graph_reach(c->g, from, (struct graph_limits){c->nodes, around, 0}, seen);
    bool found = bit_get(seen, to);
    free(seen);
    return found;
}

/* How good a head is: for each block with a warp operation, whether lanes that begin at an entry or
 * at the head get there before they pass the head again, whether they must, and whether none comes
 * there twice in between. */
static int32_t rate_head(const struct choice *c, int32_t head)
{
    int32_t rate = 0;
    for (int32_t j = 0; j < c->njoint; j++) {
        int32_t joint = c->joint[j];
        if (joint == head)
            continue;
        for (int32_t e = -1; e < c->nentries; e++) {
            int32_t from = e < 0 ? head : c->entries[e];
            if (from != joint && !leads(c, from, joint, head))
                continue;
            rate += from == joint || !leads(c, from, head, joint) ? 2 : 1;
        }
        if (!leads(c, joint, joint, head))
            rate += c->nentries + 1;
    }
    return rate;
}

/* In a loop that has joints, do lanes get from the head back to it without one? */
static bool turns_without_joint(const struct loop_heads *l, const struct graph *g,
                                const uint64_t *nodes, int32_t head)
{
    if (!l->by_joints || bit_get(l->joints, head))
        return false;
    uint64_t any = 0, *seen = xmalloc(bit_bytes(g->n));
    for (int32_t w = 0; w < bit_words(g->n); w++) {
        any |= nodes[w] & l->joints[w];
        seen[w] = ~nodes[w] | l->joints[w];
    }
    if (any != 0)
        graph_reach(g, head, GRAPH_ALL, seen);
    bool turns = any != 0 && bit_get(seen, head);
    free(seen);
    return turns;
}

int32_t loop_heads_choose(void *self, const struct graph *g, const uint64_t *nodes,
                          const int32_t *entries, int32_t nentries)
{
    const struct loop_heads *l = self;
    int32_t most = bit_count(nodes, g->n) > LARGE_LOOP ? MAX_CHOICE_LARGE : MAX_CHOICE;
    int32_t best = entries[0], known = -1, highest = -1;
    struct choice choice = {.g = g, .nodes = nodes};
    EACH_BIT (b, nodes, g->n) {
        if (b < l->nknown && l->known[b] != 0 && (known < 0 || l->known[b] < l->known[known]))
            known = b;
        if (choice.njoint < most && bit_get(l->joints, b))
            choice.joint[choice.njoint++] = b;
    }
    if (nentries == 1 && !turns_without_joint(l, g, nodes, best))
        return best;
    if (nentries > 1 && known >= 0)
        return known;
    if (choice.njoint == 0 || best == 0)
        return best; /* (the first block of all stays the first) */
    int32_t heads[2 * MAX_CHOICE], nheads = 0;
    for (int32_t e = 0; e < nentries && e < most; e++)
        heads[nheads++] = choice.entries[choice.nentries++] = entries[e];
    for (int32_t j = 0; j < choice.njoint; j++) {
        int32_t joint = choice.joint[j], after = -1;
        for (int32_t n = g->succ_at[joint]; n < g->succ_at[joint + 1] && after < 0; n++)
            if (bit_get(nodes, g->succ[n]))
                after = g->succ[n];
        if (after >= 0)
            heads[nheads++] = after;
    }
    for (int32_t h = 0; h < nheads; h++) {
        int32_t rate = rate_head(&choice, heads[h]);
        if (rate > highest) {
            highest = rate;
            best = heads[h];
        }
    }
    return best;
}
