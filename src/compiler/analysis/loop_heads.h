/* loop_heads: which block of a loop is its head (loop_heads.c). */
#ifndef WEIR_COMPILER_ANALYSIS_LOOP_HEADS_H
#define WEIR_COMPILER_ANALYSIS_LOOP_HEADS_H

#include "compiler/analysis/graph.h"

struct loop_heads {
    uint64_t *joints;     /* set of nodes: those in which lanes act together */
    const int32_t *known; /* per node, of so many: the depth of the loop whose head it has been
                             chosen as, 0: it has not */
    int32_t nknown;
    bool by_joints; /* choose heads of loops with one entry, too */
};

/* A graph_choose_head; `self` is a struct loop_heads. The head of a loop: the only entry, unless
 * lanes turn there without a joint that the loop has elsewhere. Else the same as when loops were
 * found before, or one at which a round through the loop begins such that lanes meet at its joints
 * in each round. Entries and what follows a joint are considered. */
int32_t loop_heads_choose(void *self, const struct graph *g, const uint64_t *nodes,
                          const int32_t *entries, int32_t nentries);

#endif
