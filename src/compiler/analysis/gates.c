/* gates: instructions that need other lanes wait for them, whatever the control flow.
 *
 * A warp operation (shuffle, vote, match, reduction, __syncwarp) is for the lanes that its member
 * mask names, and a barrier for all lanes of the warp that have not exited. The order of blocks
 * (cfg.c) makes most of them run when all who can reach them have come. It cannot in general: lanes
 * that turn in a loop at different speeds, by `continue`, `goto` or an irreducible loop, reach such
 * an instruction in different iterations, and a GPU waits for them all the same.
 *
 * Such an instruction gets a *gate*: a block of its own in front of it, which looks at its lanes
 * when the code runs. Those that have all they wait for go on to the instruction. The others are
 * pending in the gate's *wait block*, until more lanes come to the gate, which takes them along and
 * looks again. A wait block leads to the instruction, but comes late in the order of blocks: at the
 * end of the outermost loop that has the instruction, or, if that is a barrier, after all blocks.
 * So it runs when the lanes that are missing cannot come any more.
 *
 * What holds by construction, in any graph:
 *
 * - A warp operation with a gate is executed by lanes all of whose members, as far as they are
 *   alive, execute it with them; or no lane outside of wait blocks can reach it any more. For these
 *   were pending outside of the outermost loop L around the operation. L is a strongly connected
 *   component, contiguous in the order, so that lanes in blocks before it would have run, and
 *   blocks after it do not lead back. If the lanes that wait then wait for each other, no GPU would
 *   go on: CUDA leaves such programs undefined. (Here they go on without those who are missing.)
 * - A warp operation without a gate runs while no lane is pending in L, by the frontiers of the
 *   solved graph (uniformity_solver.c). Lanes that are pending outside of L cannot reach it: blocks
 *   before it are empty, as they come first in the order, and blocks after L do not lead back.
 * - A barrier with a gate is executed when all lanes that are alive have come to it or wait at
 *   other gates. A barrier without one runs while lanes are pending only where they cannot reach
 *   it, and do nothing that others see before they exit or reach another barrier.
 *
 * Lanes go on from a wait block only if nothing else can, and each gate lets lanes pass that nobody
 * holds back, so a warp always makes progress.
 *
 * Operations without a member mask (activemask, and votes and shuffles of PTX before 6.0) are for
 * the lanes that are together, whichever these are: they get no gates. */
#include "compiler/analysis/cfg.h"
#include "compiler/arithmetic/arithmetic.h"
#include "compiler/passes.h"

#include <stdlib.h>
#include <string.h>

/* After so many rounds in which some instructions turned out to need gates, all get them. */
enum { MAX_ROUNDS = 4 };

enum needs {
    NEEDS_NONE,
    NEEDS_LANES, /* those of its mask */
    NEEDS_WARP   /* all of the warp's: a barrier of the block */
};

/* Which lanes an instruction needs; *members gets its mask, NULL: all lanes. */
static enum needs needs_of(const struct jkernel *k, const struct ptx_instr *i,
                           const struct ptx_operand **members)
{
    *members = NULL;
    switch (i->op) {
    case PTX_OP_bar:
    case PTX_OP_barrier:
        if (ptx_has(i, PTX_M_cluster))
            return NEEDS_NONE;
        if (!ptx_has(i, PTX_M_warp)) /* on fibers lanes arrive when they come */
            return k->fibers ? NEEDS_NONE : NEEDS_WARP;
        *members = &i->operands[0];
        return NEEDS_LANES;
    case PTX_OP_shfl:
    case PTX_OP_vote:
        if (!ptx_has(i, PTX_M_sync))
            return NEEDS_NONE;
        *members = &i->operands[i->noperands - 1];
        return NEEDS_LANES;
    case PTX_OP_match:
    case PTX_OP_redux:
    case PTX_OP_elect: *members = &i->operands[i->noperands - 1]; return NEEDS_LANES;
    case PTX_OP_mma:
    case PTX_OP_wmma:
    case PTX_OP_wgmma:
    case PTX_OP_ldmatrix:
    case PTX_OP_stmatrix:
    case PTX_OP_movmatrix: return NEEDS_LANES;
    default: return NEEDS_NONE;
    }
}

/* ---- which instructions ---- */

struct search {
    struct jkernel *k;
    int32_t *loop;  /* per block: the head of the outermost loop that has it, -1: none */
    uint64_t *acts; /* blocks from which lanes get to an effect before a barrier; NULL: not
                       known yet */
    bool all;       /* gates for all that might need one */
};

static void find_outermost_loops(struct search *s)
{
    const struct jkernel *k = s->k;
    int32_t loop = -1;
    s->loop = xmalloc(sizeof *s->loop * (size_t)k->nblocks);
    for (int32_t b = 0; b < k->nblocks; b++) {
        if (k->blocks[b].depth == 0)
            loop = -1;
        else if (k->blocks[b].depth == 1 && k->blocks[b].loop == b)
            loop = b;
        s->loop[b] = loop;
    }
}

/* Can others see what the instruction does? */
static bool has_effect(const struct ptx_instr *i)
{
    struct diag ignored = {0};
    return i->op != PTX_OP_mov && i->op != PTX_OP_ld && i->op != PTX_OP_cvta &&
           i->op != PTX_OP_selp && i->op != PTX_OP_setp && !alu_supported(i, &ignored);
}

static void find_acting_blocks(struct search *s)
{
    const struct jkernel *k = s->k;
    int32_t n = k->nblocks;
    struct graph g; /* reversed; node n leads to the blocks that have effects */
    graph_init(&g, n + 1);
    for (int32_t b = 0; b < n; b++) {
        const struct jblock *blk = &k->blocks[b];
        bool acts = false;
        for (int32_t i = 0; i < blk->count && !acts; i++)
            acts = has_effect(&k->instrs[blk->first + i]);
        if (acts)
            graph_edge(&g, n, b);
        for (int t = 0; t < blk->nsucc && blk->term != TERM_SUSPEND; t++)
            graph_edge(&g, blk->succ[t], b);
    }
    graph_close(&g);
    s->acts = xcalloc(bit_bytes(n + 1), 1);
    graph_reach(&g, n, GRAPH_ALL, s->acts);
    graph_free(&g);
}

/* May block b run while lanes are elsewhere that an instruction in it needs? */
static bool may_lack_lanes(struct search *s, int32_t b, enum needs needs)
{
    const struct jkernel *k = s->k;
    const uint64_t *frontier = k->blocks[b].frontier;
    if (bit_empty(frontier, k->nblocks))
        return false;
    if (s->all)
        return true;
    EACH_BIT (c, frontier, k->nblocks)
        if (s->loop[b] >= 0 && s->loop[c] == s->loop[b])
            return true;
    if (needs != NEEDS_WARP)
        return false;
    if (s->acts == NULL)
        find_acting_blocks(s);
    return bit_intersects(frontier, s->acts, k->nblocks);
}

static bool same_members(const struct ptx_operand *a, const struct ptx_operand *b)
{
    if (a->kind != b->kind)
        return false;
    return a->kind == PTX_OPR_REG ? a->reg == b->reg : a->kind == PTX_OPR_IMM && a->imm == b->imm;
}

/* Does the instruction write a set of lanes that execute it? Such a set stays complete to the end
 * of the block. */
static bool names_lanes(const struct ptx_instr *i)
{
    return i->op == PTX_OP_activemask || i->op == PTX_OP_match ||
           (i->op == PTX_OP_vote && ptx_has(i, PTX_M_ballot));
}

/* Masks whose lanes are known to be together, at an instruction of a block. */
struct known_masks {
    const struct ptx_operand *masks[4]; /* registers or constants; NULL: none */
    size_t next;
};

static bool is_known(const struct known_masks *m, const struct ptx_operand *mask)
{
    for (size_t n = 0; n < WEIR_COUNT(m->masks); n++)
        if (m->masks[n] != NULL && same_members(m->masks[n], mask))
            return true;
    return false;
}

static void add_known(struct known_masks *m, const struct ptx_operand *mask)
{
    m->masks[m->next++ % WEIR_COUNT(m->masks)] = mask;
}

/* What follows instruction i: registers that it writes have other values. */
static void update_known(struct known_masks *m, const struct ptx_instr *i)
{
    for (size_t n = 0; n < WEIR_COUNT(m->masks); n++)
        if (m->masks[n] != NULL && m->masks[n]->kind == PTX_OPR_REG &&
            jit_writes(i, m->masks[n]->reg))
            m->masks[n] = NULL;
    if (names_lanes(i) && i->operands[0].kind == PTX_OPR_REG)
        add_known(m, &i->operands[0]);
}

/* Adds the instructions of a block that need gates. One gate serves operations that follow each
 * other for the same lanes. */
static bool find_in_block(struct search *s, int32_t b)
{
    struct jkernel *k = s->k;
    const struct jblock *blk = &k->blocks[b];
    const struct ptx_operand *members;
    struct known_masks known = {0};
    bool found = false;
    for (int32_t n = 0; n <= blk->count; n++) {
        const struct ptx_instr *i = n < blk->count              ? &k->instrs[blk->first + n]
                                    : blk->term == TERM_SUSPEND ? blk->term_instr
                                                                : NULL;
        if (i == NULL)
            continue;
        enum needs needs = needs_of(k, i, &members);
        int32_t index = (int32_t)(i - k->instrs);
        bool served = members != NULL && is_known(&known, members);
        if (needs != NEEDS_NONE && !served) {
            if (!bit_get(k->gates, index) && may_lack_lanes(s, b, needs)) {
                bit_set(k->gates, index);
                found = true;
            }
            if (members != NULL && bit_get(k->gates, index))
                add_known(&known, members);
        }
        update_known(&known, i);
    }
    return found;
}

bool jit_find_gates(struct jkernel *k)
{
    struct search s = {.k = k, .all = k->gate_rounds >= MAX_ROUNDS};
    bool found = false;
    int32_t ninstrs = (int32_t)k->ninstrs;
    if (bit_words(ninstrs) > bit_words(k->ngates)) {
        k->gates = xrealloc(k->gates, bit_bytes(ninstrs));
        memset(k->gates + bit_words(k->ngates), 0, bit_bytes(ninstrs) - bit_bytes(k->ngates));
    }
    k->ngates = ninstrs > k->ngates ? ninstrs : k->ngates;
    find_outermost_loops(&s);
    for (int32_t b = 0; b < k->nblocks; b++)
        found |= find_in_block(&s, b);
    free(s.loop);
    free(s.acts);
    k->gate_rounds++;
    return found;
}

/* ---- the blocks ---- */

/* Puts a gate before instruction `at` of a block, or before its barrier. Returns the block that
 * begins with it then. */
static int32_t insert_gate(struct cfg *c, int32_t b, int32_t at, const struct ptx_operand *members)
{
    int32_t gate = at > 0 ? cfg_split(c, b, at) : b, op = cfg_split(c, gate, 0);
    struct jblock *blk = &c->blocks[gate];
    blk->term = TERM_GATE;
    blk->diverges = true;
    blk->members = members;
    if (members != NULL && members->kind == PTX_OPR_REG)
        blk->cond = members->reg;
    return op;
}

bool gates_insert(struct cfg *c)
{
    struct jkernel *k = c->k;
    int32_t n = c->n;
    const struct ptx_operand *members;
    for (int32_t b = 0; b < n && k->gates != NULL; b++)
        for (int32_t in = b, at = 0; at <= c->blocks[in].count; at++) {
            const struct jblock *blk = &c->blocks[in];
            const struct ptx_instr *i = at < blk->count             ? &k->instrs[blk->first + at]
                                        : blk->term == TERM_SUSPEND ? blk->term_instr
                                                                    : NULL;
            if (i == NULL || i - k->instrs >= k->ngates ||
                !bit_get(k->gates, (int32_t)(i - k->instrs)))
                continue;
            needs_of(k, i, &members);
            in = insert_gate(c, in, at, members);
            at = 0;
        }
    return c->n > n;
}

/* The outermost loop that has a block, -1: none. */
static int32_t outermost_loop(const struct cfg *c, int32_t b)
{
    int32_t loop = c->loops.loop_of[b];
    return loop >= 0 ? graph_loop_around(&c->loops, loop, 1) : -1;
}

/* The loop at whose end a gate has its wait block, -1: at the end of the kernel. */
static int32_t wait_loop(const struct cfg *c, int32_t gate)
{
    const struct jblock *op = &c->blocks[c->blocks[gate].succ[0]];
    const struct ptx_operand *members;
    enum needs needs =
        needs_of(c->k, op->count > 0 ? &c->k->instrs[op->first] : op->term_instr, &members);
    return needs == NEEDS_WARP ? -1 : outermost_loop(c, gate);
}

/* Makes the wait block of a gate, in a loop. It enters all loops that it is not in, and has the
 * gate, other than at their heads. */
static int32_t add_wait_block(struct cfg *c, int32_t gate, int32_t loop)
{
    int32_t op = c->blocks[gate].succ[0];
    int32_t wait = cfg_add(c, (struct jblock){.first = c->blocks[gate].first,
                                              .term = TERM_JUMP,
                                              .waits = true,
                                              .cond = -1,
                                              .loop = loop});
    cfg_set_succ(c->k, &c->blocks[wait], 2, (int32_t[]){op, gate});
    cfg_set_succ(c->k, &c->blocks[gate], 2, (int32_t[]){op, wait});
    for (int32_t l = c->loops.loop_of[gate]; l >= 0; l = c->loops.loops[l].parent)
        c->loops.loops[l].irreducible = true;
    return wait;
}

/* Appends the wait blocks of those gates, among so many blocks, that have them at the end of the
 * loop. */
static int32_t append_waits(struct cfg *c, const int32_t *blocks, int32_t count, int32_t loop,
                            int32_t *out)
{
    int32_t n = 0;
    for (int32_t i = 0; i < count; i++)
        if (c->blocks[blocks[i]].term == TERM_GATE && wait_loop(c, blocks[i]) == loop)
            out[n++] = add_wait_block(c, blocks[i], loop);
    return n;
}

int32_t gates_place(struct cfg *c, int32_t *order, int32_t count)
{
    int32_t *out = xmalloc(sizeof *out * (size_t)(2 * count + 1)), n = 0, start = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t loop = outermost_loop(c, order[i]);
        out[n++] = order[i];
        if (i + 1 < count && outermost_loop(c, order[i + 1]) == loop)
            continue;
        if (loop >= 0)
            n += append_waits(c, &order[start], i + 1 - start, loop, &out[n]);
        start = i + 1;
    }
    n += append_waits(c, order, count, -1, &out[n]);
    memcpy(order, out, sizeof *out * (size_t)n);
    free(out);
    return n;
}
