/* cfg: the blocks of a kernel while they are being made (cfg.c, block_order.c, gates.c). */
#ifndef WEIR_COMPILER_ANALYSIS_CFG_H
#define WEIR_COMPILER_ANALYSIS_CFG_H

#include "compiler/analysis/graph.h"
#include "compiler/kernel.h"

struct cfg {
    struct jkernel *k;
    struct jblock *blocks;
    int32_t n;
    int32_t cap;
    struct graph_loops loops;
    struct graph graph; /* that the loops were found in */
    uint64_t *joints;   /* its blocks in which lanes act together */
    struct cfg_loop {
        int32_t first, count; /* members[first..]: its blocks, those of inner loops among them */
        bool joint, polling;  /* some act together; some have polling loads */
        bool irreducible;     /* it, or a loop around it */
    } *info;                  /* per loop */
    int32_t *members;         /* blocks, in the order of the loops that have them */
    bool by_joints;           /* heads of reducible loops are chosen, too */
    int32_t *heads, nheads;   /* per block, of so many: the depth of the irreducible loop whose head
                                 it has been chosen as, 0: it has not */
};

/* ---- cfg.c ---- */

int32_t cfg_add(struct cfg *c, struct jblock block);
void cfg_set_succ(struct jkernel *k, struct jblock *b, int n, const int32_t *succ);
/* Makes what follows instruction `at` of a block a block of its own, which is returned. */
int32_t cfg_split(struct cfg *c, int32_t b, int32_t at);

/* ---- block_order.c ---- */

/* The weak topological order: order[] gets the blocks that are reached, position[] where each block
 * is in it, -1: nowhere. Returns how many are reached. */
int32_t cfg_find_order(const struct cfg *c, int32_t *order, int32_t *position);

/* ---- gates.c ---- */

/* Puts a gate before each instruction of k->gates: a block of its own, whose wait block is yet to
 * be made. True: there are some. */
bool gates_insert(struct cfg *c);
/* Makes the wait blocks, once the order of the others is known, and gives them their places in it:
 * order[] has space for two entries a block; `loop` of a wait block is one of c->loops. Returns how
 * many blocks are in the order now. */
int32_t gates_place(struct cfg *c, int32_t *order, int32_t count);

#endif
