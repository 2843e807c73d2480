/* grid_stride: finds the grid-stride loops that the warps of a block run interleaved.
 *
 * `for (i = ...; i < n; i += gridDim.x * blockDim.x)` goes through memory in steps of the whole
 * grid. A warp that runs such a loop to its end touches a page, often a set of the caches, once in
 * each iteration. When the next warp comes to read the other half of a line, all of it is long
 * gone: a histogram of bytes spent more time on translating addresses than on counting. On a GPU
 * the warps of a block are in such a loop at the same time. So each warp runs a few iterations and
 * then yields to the next (codegen/control/grid_stride_loops.c), which is legal, as nothing orders
 * warps. Unlike a loop with a barrier inserted (warp_interleaving.c) this one may write, and warps
 * may leave it whenever they like.
 *
 * What later iterations will read is known in such loops: the address grows in each by the same
 * amount. It is prefetched when a warp yields.
 *
 * Where blocks may wait for each other, as cooperative grids do at the grid's barrier, they take
 * turns in such loops, too: after some iterations of all warps the block gives way to the others
 * that the thread keeps (src/exec/resident.c). There, what is read may be addressed by quotients of
 * the counter as well: a grid of several dimensions that is walked by one index.
 *
 * Without barriers the warps of all blocks of a call do so (codegen/control/block_batch.c), after
 * each iteration: together they go through memory in long pieces, which a CPU prefetches. Loops
 * that do nothing else go through a few such pieces at a time, for each turn costs as much as a
 * short iteration. Not where a block has memory of its own, which those of a call share, nor where
 * a warp keeps vectors from one iteration to the next: sums would be stored and loaded with each. A
 * loop that ends after one iteration, as most do that are launched with a thread for each element,
 * never yields. */
#include "compiler/arithmetic/arithmetic.h"
#include "compiler/passes.h"

enum {
    MAX_INSTRUCTIONS = 400, /* a kernel is copied for each resume point */
    MIN_WARPS = 2,
    MAX_DEPTH = 24, /* of an address's expression */
    MAX_STEPS = 100 /* through one */
};

/* ---- what grows ---- */

static bool in_loop(const struct jkernel *k, int32_t h, int32_t instr)
{
    for (int32_t b = h; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        if (blk->loop == h && instr >= blk->first && instr < blk->first + blk->count)
            return true;
    }
    return false;
}

enum { NOBODY = -1, SEVERAL = -2 };

/* Is it one instruction of the program, in versions of its block (row_versions.c)? */
static bool same_instruction(const struct ptx_instr *a, const struct ptx_instr *b)
{
    return a->op == b->op && a->line == b->line && a->column == b->column;
}

/* The only instruction of the loop of header h that writes the register, NOBODY or SEVERAL. */
static int32_t writer(const struct jkernel *k, int32_t h, int32_t reg)
{
    int32_t found = NOBODY;
    if (k->regs[reg].ndefs == 1)
        return in_loop(k, h, k->regs[reg].def) ? k->regs[reg].def : NOBODY;
    for (int32_t b = h; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        for (int32_t n = blk->first; blk->loop == h && n < blk->first + blk->count; n++)
            if (jit_writes(&k->instrs[n], reg)) {
                if (found != NOBODY && !same_instruction(&k->instrs[n], &k->instrs[found]))
                    return SEVERAL;
                found = n;
            }
    }
    return found;
}

/* Of two operands of a sum or product the register that the loop writes, if the other is something
 * that it does not write; -1: it is not so. `other` is set to the other one. */
static int32_t moving(const struct jkernel *k, int32_t h, const struct ptx_instr *i,
                      const struct ptx_operand **other)
{
    const struct ptx_operand *x = &i->operands[1], *y = &i->operands[2];
    if (x->kind != PTX_OPR_REG || writer(k, h, x->reg) == NOBODY) {
        const struct ptx_operand *t = x;
        x = y;
        y = t;
    }
    *other = y;
    bool fixed = y->kind != PTX_OPR_REG || writer(k, h, y->reg) == NOBODY;
    return x->kind == PTX_OPR_REG && fixed ? x->reg : -1;
}

/* The counter itself: from its value at the end of an iteration back to that at its beginning there
 * are only sums, with one register or with numbers. */
static bool counts(const struct jkernel *k, int32_t h, int32_t counter, struct jgrowth *g)
{
    int32_t at = counter;
    *g = (struct jgrowth){.step = -1, .factor = -1};
    for (int n = 0; n < MAX_DEPTH; n++) {
        int32_t w = writer(k, h, at);
        if (w < 0)
            return false;
        const struct ptx_instr *i = &k->instrs[w];
        if ((i->op == PTX_OP_mov || i->op == PTX_OP_cvt) && i->operands[1].kind == PTX_OPR_REG) {
            at = i->operands[1].reg; /* counters of the grid's size are widened and cut */
            if (g->times == 0 && k->regs[at].ndefs > 1) { /* what it is a copy of counts */
                counter = at;
                continue;
            }
        } else if (i->op == PTX_OP_add) {
            const struct ptx_operand *by;
            at = moving(k, h, i, &by);
            int32_t step = by->kind == PTX_OPR_REG ? by->reg : -1;
            if (at < 0 || (step < 0 && by->kind != PTX_OPR_IMM) ||
                (g->times != 0 && g->step != step))
                return false;
            g->step = step;
            g->times += step < 0 ? (int64_t)by->imm : 1;
        } else {
            return false;
        }
        if (at == counter)
            return g->times != 0;
    }
    return false;
}

/* Multiplies what grows by an operand: a number, or one register that the loop does not write. */
static bool scale(const struct jkernel *k, int32_t h, const struct ptx_operand *by,
                  struct jgrowth *g)
{
    if (by->kind == PTX_OPR_IMM) {
        g->times *= (int64_t)by->imm;
        return true;
    }
    if (by->kind != PTX_OPR_REG || g->factor >= 0 || writer(k, h, by->reg) != NOBODY)
        return false;
    g->factor = by->reg;
    return true;
}

static bool grows(const struct jkernel *k, int32_t h, int32_t reg, int depth, struct jgrowth *g)
{
    int32_t w = writer(k, h, reg);
    if (depth == 0 || w < 0)
        return false;
    if (k->regs[reg].ndefs > 1)
        return counts(k, h, reg, g);
    const struct ptx_instr *i = &k->instrs[w];
    const struct ptx_operand *x = &i->operands[1], *y = &i->operands[2];
    int32_t from;
    switch (i->op) {
    case PTX_OP_mov:
    case PTX_OP_cvt:
    case PTX_OP_cvta: return x->kind == PTX_OPR_REG && grows(k, h, x->reg, depth - 1, g);
    case PTX_OP_add:
        from = moving(k, h, i, &y);
        return from >= 0 && grows(k, h, from, depth - 1, g);
    case PTX_OP_mul:
    case PTX_OP_mad:
        from = moving(k, h, i, &y);
        return from >= 0 && grows(k, h, from, depth - 1, g) && scale(k, h, y, g);
    case PTX_OP_shl:
        if (x->kind != PTX_OPR_REG || y->kind != PTX_OPR_IMM || !grows(k, h, x->reg, depth - 1, g))
            return false;
        g->times *= (int64_t)1 << (y->imm & 31);
        return true;
    default: return false;
    }
}

static bool uniform_or_none(const struct jkernel *k, int32_t reg)
{
    return reg < 0 || is_uniform(&k->regs[reg].uniformity);
}

bool jit_loop_growth(const struct jkernel *k, int32_t h, int32_t reg, struct jgrowth *g)
{
    return grows(k, h, reg, MAX_DEPTH, g) && uniform_or_none(k, g->step) &&
           uniform_or_none(k, g->factor);
}

/* Does a value follow from the size of the grid? */
static bool from_grid(const struct jkernel *k, int32_t reg, int depth)
{
    if (depth == 0 || k->regs[reg].ndefs != 1 || !is_uniform(&k->regs[reg].uniformity))
        return false;
    const struct ptx_instr *i = &k->instrs[k->regs[reg].def];
    if (i->op != PTX_OP_mov && i->op != PTX_OP_mul && i->op != PTX_OP_mad && i->op != PTX_OP_shl &&
        i->op != PTX_OP_cvt && i->op != PTX_OP_add)
        return false;
    for (int n = jit_ndst(i); n < i->noperands; n++) {
        const struct ptx_operand *o = &i->operands[n];
        if (o->kind == PTX_OPR_SREG && o->sreg == PTX_SR_nctaid)
            return true;
        if (o->kind == PTX_OPR_REG && from_grid(k, o->reg, depth - 1))
            return true;
    }
    return false;
}

bool jit_grid_growth(const struct jkernel *k, int32_t h, int32_t reg, struct jgrowth *g)
{
    return jit_loop_growth(k, h, reg, g) && g->step >= 0 && g->factor < 0 &&
           from_grid(k, g->step, MAX_DEPTH);
}

/* Is the register made of a counter that grows so, by way of quotients, say? */
static bool made_of_grid(const struct jkernel *k, int32_t h, int32_t reg, int *steps)
{
    struct jgrowth g;
    int32_t w = writer(k, h, reg);
    if (w < 0 || (*steps)-- <= 0)
        return false;
    if (jit_grid_growth(k, h, reg, &g))
        return true;
    if (k->instrs[w].op == PTX_OP_ld)
        return false;
    struct jroles r;
    jit_roles(&k->instrs[w], &r);
    for (int u = 0; u < r.nuse; u++)
        if (made_of_grid(k, h, r.use[u], steps))
            return true;
    return false;
}

bool jit_moves_with_grid(const struct jkernel *k, int32_t h, int32_t reg)
{
    int steps = MAX_STEPS;
    return made_of_grid(k, h, reg, &steps);
}

/* ---- which loop ---- */

/* Does the instruction access global memory, in rows that move with the grid? */
static bool strides(const struct jkernel *k, int32_t h, const struct ptx_instr *i, bool quotients)
{
    if (i->op != PTX_OP_ld && i->op != PTX_OP_st)
        return false;
    const struct ptx_operand *at = &i->operands[i->op == PTX_OP_ld ? jit_ndst(i) : 0];
    unsigned space = i->nspaces > 0 ? i->spaces[0] : PTX_SPACE_GENERIC;
    struct jgrowth g;
    return (space == PTX_SPACE_GLOBAL || space == PTX_SPACE_GENERIC) && at->kind == PTX_OPR_MEM &&
           at->reg >= 0 &&
           (k->has_poll && quotients ? jit_moves_with_grid(k, h, at->reg)
                                     : jit_grid_growth(k, h, at->reg, &g));
}

static bool suits(const struct jkernel *k, int32_t h, bool quotients)
{
    int32_t last = jit_innermost_end(k, h);
    bool moves = k->entry->pragmas & PTX_PRAGMA_INTERLEAVE;
    for (int32_t b = h; b <= last; b++) {
        const struct jblock *blk = &k->blocks[b];
        if (blk->term == TERM_SUSPEND)
            return false;
        for (int32_t n = 0; n < blk->count; n++)
            moves |= strides(k, h, &k->instrs[blk->first + n], quotients);
    }
    return last >= h && moves;
}

/* Resume points are numbered when code is generated. */
static bool suspends(const struct jkernel *k)
{
    for (int32_t b = 0; b < k->nblocks; b++)
        if (k->blocks[b].term == TERM_SUSPEND)
            return true;
    return false;
}

static bool of_block(unsigned space)
{
    return space == PTX_SPACE_SHARED || space == PTX_SPACE_SHARED_CLUSTER ||
           space == PTX_SPACE_LOCAL;
}

bool jit_blocks_interleave(const struct jkernel *k)
{
    if (k->nshared > 0 || k->local_bytes > 0 || k->opt->checked != 0 || k->opt->order != 0)
        return false;
    for (size_t n = 0; n < k->ninstrs; n++)
        for (unsigned s = 0; s < k->instrs[n].nspaces; s++)
            if (of_block(k->instrs[n].spaces[s]))
                return false;
    return true;
}

/* Does a warp in the loop of header h keep a vector from one iteration to the next? */
static bool keeps_vectors(const struct jkernel *k, int32_t h)
{
    EACH_BIT (r, k->blocks[h].live_in, (int32_t)k->nregs)
        if (!k->regs[r].remat && k->regs[r].uniformity.seg == SEG_NONE)
            return true;
    return false;
}

int32_t jit_find_yield_loop(const struct jkernel *k, bool quotients)
{
    bool always = k->entry->pragmas & PTX_PRAGMA_INTERLEAVE, barriers = suspends(k);
    if (k->barrier_loop != 0 || k->is_function || k->fibers || k->has_partial || k->has_calls ||
        (k->has_poll && k->opt->checked != 0))
        return 0;
    if (!always && (k->nwarps < (barriers ? MIN_WARPS : 1) || k->ninstrs > MAX_INSTRUCTIONS ||
                    (!barriers && !jit_blocks_interleave(k))))
        return 0;
    for (int32_t h = 0; h < k->nblocks; h++)
        if (k->blocks[h].loop == h && k->blocks[h].count > 0 && suits(k, h, quotients) &&
            (always || barriers || !keeps_vectors(k, h)))
            return k->blocks[h].first + 1;
    return 0;
}

/* Does the instruction not access memory, or read and write rows that move with the grid? */
static bool only_strides(const struct jkernel *k, int32_t h, const struct ptx_instr *i)
{
    struct diag ignored = {0};
    if (i->op == PTX_OP_ld && i->nspaces > 0 && i->spaces[0] == PTX_SPACE_PARAM)
        return true;
    if (i->op == PTX_OP_ld || i->op == PTX_OP_st)
        return strides(k, h, i, false);
    return i->op == PTX_OP_mov || i->op == PTX_OP_cvta || alu_supported(i, &ignored);
}

bool jit_yield_loop_streams(const struct jkernel *k)
{
    int32_t at = 0;
    while (at < k->nblocks &&
           (k->blocks[at].first != k->yield_loop - 1 || k->blocks[at].count == 0))
        at++;
    int32_t h = at < k->nblocks ? k->blocks[at].loop : -1;
    int32_t last = h >= 0 ? jit_innermost_end(k, h) : -1;
    if (last < 0)
        return false;
    for (int32_t b = h; b <= last; b++)
        for (int32_t n = 0; n < k->blocks[b].count; n++)
            if (!only_strides(k, h, &k->instrs[k->blocks[b].first + n]))
                return false;
    return true;
}
