/* shared_heads: distinguishes loops that have been given one head.
 *
 * A loop nesting forest has one loop a head. Where compilers have merged the heads of two loops,
 * one inside the other, the edges back to the head still tell which loop they are of: an iteration
 * of the outer loop passes joints (barriers, warp operations) that one of the inner loop does not.
 * So an edge back is the inner loop's if the joints from which its source is reached, without the
 * head between, are a part of those of another edge, and not all of them. Lanes stay in the inner
 * loop until they leave it, and then pass the joint together; as one loop, each turn of either
 * would be an iteration, and the joint would be passed by those lanes that come to it in that turn.
 */
#include "compiler/analysis/graph.h"

#include <stdlib.h>

/* Is a set a part of another, and smaller? */
static bool is_smaller_part(const uint64_t *part, const uint64_t *whole, int32_t n)
{
    for (int32_t b = bit_next(part, n, 0); b >= 0; b = bit_next(part, n, b + 1))
        if (!bit_get(whole, b))
            return false;
    return bit_count(part, n) < bit_count(whole, n);
}

/* How many edges back to a head are compared: each takes a search of the loop. A head with more
 * stays one. */
enum { MAX_SOURCES = 256 };

/* The joints from which a block of the loop is reached without passing the head, `from` itself
 * among them. `stack` has space for the loop's blocks. */
static uint64_t *joints_before(const struct graph *g, const uint64_t *body, int32_t from,
                               int32_t head, const uint64_t *joints, int32_t *stack)
{
    uint64_t *set = xcalloc((size_t)bit_words(g->n), 8);
    int32_t depth = 0;
    if (from == head)
        return set;
    bit_set(set, from);
    stack[depth++] = from;
    while (depth > 0) {
        int32_t b = stack[--depth];
        for (int32_t e = g->pred_at[b]; e < g->pred_at[b + 1]; e++) {
            int32_t p = g->pred[e];
            if (p == head || bit_get(set, p) || !bit_get(body, p))
                continue;
            bit_set(set, p);
            stack[depth++] = p;
        }
    }
    for (int32_t w = 0; w < bit_words(g->n); w++)
        set[w] &= joints[w];
    return set;
}

uint64_t *graph_inner_sources(const struct graph *g, const uint64_t *body, int32_t head,
                              const uint64_t *joints)
{
    int32_t count = 0, largest = 0, sources[MAX_SOURCES];
    for (int32_t e = g->pred_at[head]; e < g->pred_at[head + 1]; e++) {
        if (!bit_get(body, g->pred[e]))
            continue;
        if (count == MAX_SOURCES)
            return NULL;
        sources[count++] = g->pred[e];
    }
    if (count < 2)
        return NULL;
    int32_t *stack = xmalloc(sizeof *stack * (size_t)(bit_count(body, g->n) + 1));
    uint64_t *before[MAX_SOURCES], *inner = NULL;
    for (int32_t i = 0; i < count; i++) {
        before[i] = joints_before(g, body, sources[i], head, joints, stack);
        if (bit_count(before[i], g->n) > bit_count(before[largest], g->n))
            largest = i;
    }
    for (int32_t i = 0; i < count; i++) {
        if (!is_smaller_part(before[i], before[largest], g->n))
            continue;
        if (inner == NULL)
            inner = xcalloc((size_t)bit_words(g->n), 8);
        bit_set(inner, sources[i]);
    }
    for (int32_t i = 0; i < count; i++)
        free(before[i]);
    free(stack);
    return inner;
}
