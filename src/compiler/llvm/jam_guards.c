/* jam_guards: where a jammed loop tests the guards of its usual path (warp_jamming.c).
 *
 * A guard that does not hold has the original loop do for these warps what the jammed one has
 * begun, so it may be tested earlier than it stands. What a loop within the path does not change,
 * such as whether a row is aligned, is tested once, in front of it. And blocks that guards alone
 * separate are one stretch (jammed_loops.c), of which all is tested at its start that is known
 * there: the accesses of all warps then stand next to each other. */
#include <stdlib.h>
#include <string.h>

#include "compiler/llvm/warp_jamming.h"

enum { MAX_LOOPS = 16, WORDS = (JAM_BLOCKS + 64) / 64 };

/* A loop of the path. */
struct inner_loop {
    int32_t header, before; /* the block before it; -1: not one alone */
    uint64_t blocks[WORDS];
};

static bool has(const uint64_t *set, int32_t b) { return (set[b / 64] >> (b % 64) & 1) != 0; }

int jam_successors(const struct jam *j, int32_t b, int32_t to[2])
{
    const struct jam_block *at = &j->blocks[b];
    LLVMValueRef last = LLVMGetBasicBlockTerminator(at->bb);
    int n = 0;
    for (unsigned s = 0; s < LLVMGetNumSuccessors(last) && at->bb != j->latch; s++)
        if (at->guard < 0 || (unsigned)at->guard == s)
            to[n++] = jam_number(j, LLVMGetSuccessor(last, s));
    return n;
}

/* ---- stretches ---- */

static void find_stretches(struct jam *j)
{
    int32_t *entries = xcalloc((size_t)j->nblocks, sizeof *entries), to[2];
    for (int32_t n = 0; n < j->npath; n++)
        for (int s = jam_successors(j, j->path[n], to); s > 0; s--)
            entries[to[s - 1]]++;
    for (int32_t n = 0; n < j->npath; n++) {
        int32_t b = j->path[n];
        j->blocks[b].next = -1;
        j->blocks[b].tested = b;
        if (jam_successors(j, b, to) == 1 && to[0] != 0 && entries[to[0]] == 1) {
            j->blocks[b].next = to[0];
            j->blocks[to[0]].follows = true;
        }
    }
    free(entries);
}

/* ---- loops ---- */

/* Adds the blocks of the loop that come to its header without leaving it. */
static void find_body(const struct jam *j, struct inner_loop *l)
{
    int32_t to[2];
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t n = j->npath - 1; n > j->blocks[l->header].order; n--) {
            int32_t b = j->path[n];
            for (int s = jam_successors(j, b, to); s > 0 && !has(l->blocks, b); s--)
                if (has(l->blocks, to[s - 1])) {
                    l->blocks[b / 64] |= UINT64_C(1) << (b % 64);
                    changed = true;
                }
        }
    }
}

/* The only block of the path from which the loop is entered, if it goes nowhere else; -1: none. */
static int32_t block_before(const struct jam *j, const struct inner_loop *l)
{
    int32_t found = -1, to[2];
    for (int32_t n = 0; n < j->npath; n++) {
        int32_t b = j->path[n];
        for (int s = jam_successors(j, b, to); s > 0; s--) {
            if (to[s - 1] != l->header || has(l->blocks, b))
                continue;
            if (found >= 0 ||
                LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(j->blocks[b].bb)) != 1)
                return -1;
            found = b;
        }
    }
    return found;
}

static int find_loops(const struct jam *j, struct inner_loop *loops)
{
    int count = 0;
    int32_t to[2];
    for (int32_t n = 0; n < j->npath; n++)
        for (int s = jam_successors(j, j->path[n], to); s > 0; s--) {
            int32_t h = to[s - 1];
            bool known = j->blocks[h].order > n || h == 0;
            for (int l = 0; l < count; l++)
                known |= loops[l].header == h;
            if (known || count == MAX_LOOPS)
                continue;
            struct inner_loop *l = &loops[count++];
            *l = (struct inner_loop){.header = h};
            l->blocks[h / 64] |= UINT64_C(1) << (h % 64);
            find_body(j, l);
            l->before = block_before(j, l);
        }
    return count;
}

void jam_place_guards(struct jam *j)
{
    struct inner_loop loops[MAX_LOOPS];
    find_stretches(j);
    int count = find_loops(j, loops);
    for (int32_t n = 0; n < j->npath; n++) {
        struct jam_block *at = &j->blocks[j->path[n]];
        if (at->guard < 0)
            continue;
        LLVMValueRef test = LLVMGetCondition(LLVMGetBasicBlockTerminator(at->bb));
        const struct jam_instr *from = jam_instr_of(j, test);
        int32_t outermost = INT32_MAX;
        for (int l = 0; l < count; l++) {
            int32_t order = j->blocks[loops[l].header].order;
            if (loops[l].before < 0 || !has(loops[l].blocks, j->path[n]) || order > outermost ||
                (from != NULL && has(loops[l].blocks, from->block)))
                continue;
            outermost = order;
            at->tested = loops[l].before;
        }
    }
}
