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

/* The loop's edges, reversed. */
static void reverse_loop(struct graph *reversed, const struct graph *g, const uint64_t *body)
{
    graph_init(reversed, g->n);
    for (int32_t b = bit_next(body, g->n, 0); b >= 0; b = bit_next(body, g->n, b + 1))
        for (int32_t e = g->pred_at[b]; e < g->pred_at[b + 1]; e++)
            if (bit_get(body, g->pred[e]))
                graph_edge(reversed, b, g->pred[e]);
    graph_close(reversed);
}

/* The joints from which a block is reached without passing the head. */
static uint64_t *joints_before(const struct graph *reversed, int32_t from, int32_t head,
                               const uint64_t *joints)
{
    int32_t n = reversed->n;
    uint64_t *set = xcalloc((size_t)bit_words(n), 8);
    if (from == head)
        return set;
    graph_reach(reversed, from, (struct graph_limits){.without = head}, set);
    bit_set(set, from);
    for (int32_t b = bit_next(set, n, 0); b >= 0; b = bit_next(set, n, b + 1))
        if (!bit_get(joints, b))
            bit_clear(set, b);
    return set;
}

uint64_t *graph_inner_sources(const struct graph *g, const uint64_t *body, int32_t head,
                              const uint64_t *joints)
{
    int32_t count = 0, largest = 0, most = g->pred_at[head + 1] - g->pred_at[head];
    int32_t *sources = xmalloc(sizeof *sources * (size_t)(most + 1));
    for (int32_t e = g->pred_at[head]; e < g->pred_at[head + 1]; e++)
        if (bit_get(body, g->pred[e]))
            sources[count++] = g->pred[e];
    if (count < 2) {
        free(sources);
        return NULL;
    }
    struct graph reversed;
    reverse_loop(&reversed, g, body);
    uint64_t **before = xcalloc((size_t)count, sizeof *before), *inner = NULL;
    for (int32_t i = 0; i < count; i++) {
        before[i] = joints_before(&reversed, sources[i], head, joints);
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
    free(before);
    free(sources);
    graph_free(&reversed);
    return inner;
}
