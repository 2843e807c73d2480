/* warp_interleaving: finds loops in which the warps of a block read the same memory.
 *
 * Warps run one after the other up to a barrier. In a matrix product without tiles each of them
 * reads the same columns of B from end to end, more than the cache next to the core holds, so that
 * every warp waits for all of it again. On a GPU the warps of a block go through such a loop side
 * by side. Here barriers that the program did not write do the same: one after every few
 * iterations of the loop. They are legal, as nothing orders warps, and in a kernel in lockstep
 * (lockstep.c) they cost little: sums go to the frame and back.
 *
 * Where a row of the block is several warps, those that have the same part of each row, a column of
 * warps, read the same memory.
 *
 * Chosen is an innermost loop of a kernel without barriers of its own if all warps take the same
 * path, if the loop only reads, and if it reads rows, different ones in each iteration, that are
 * the same for all warps. */
#include "compiler/arithmetic/arithmetic.h"
#include "compiler/passes.h"

/* A kernel is copied for each resume point: not for large ones. */
enum { MAX_INSTRUCTIONS = 400, MIN_WARPS = 4 };

/* Rows that a warp reads from barrier to barrier. The next warps find them in the first cache, or,
 * as rows of a matrix often share a set of it, which has eight to twelve ways, in the second. */
enum { ROWS = 16 };

/* Do all warps load from the same addresses, a row of memory for the lanes of a warp? */
static bool shared_row(const struct jkernel *k, const struct ptx_instr *i)
{
    const struct ptx_operand *at = &i->operands[jit_ndst(i)];
    if (i->op != PTX_OP_ld || at->kind != PTX_OPR_MEM || at->reg < 0)
        return false;
    if (i->nspaces > 0 && i->spaces[0] != PTX_SPACE_GLOBAL && i->spaces[0] != PTX_SPACE_GENERIC)
        return false;
    const struct jreg *r = &k->regs[at->reg];
    return r->same && !is_uniform(&r->uniformity);
}

static bool only_reads(const struct ptx_instr *i)
{
    struct diag ignored = {0};
    if (i->op == PTX_OP_ld)
        return !jit_is_polling_load(i);
    return i->op != PTX_OP_call && (i->op == PTX_OP_mov || alu_supported(i, &ignored));
}

bool jit_only_loads_and_stores(const struct jkernel *k, const uint64_t *blocks)
{
    struct diag ignored = {0};
    EACH_BIT (b, blocks, k->nblocks) {
        const struct jblock *blk = &k->blocks[b];
        if (blk->term_instr != NULL && ptx_has(blk->term_instr, PTX_M_red)) /* counts votes */
            return false;
        for (int32_t n = 0; n < blk->count; n++) {
            const struct ptx_instr *i = &k->instrs[blk->first + n];
            bool math = i->op == PTX_OP_call && i->call->func != NULL &&
                        alu_math_known(i->call->func->name, NULL);
            if (i->op != PTX_OP_ld && i->op != PTX_OP_st && i->op != PTX_OP_mov &&
                i->op != PTX_OP_cvta && i->op != PTX_OP_shfl && !math &&
                !alu_supported(i, &ignored))
                return false;
        }
    }
    return true;
}

/* Does the loop write the register of this load's address? */
static bool address_moves(const struct jkernel *k, const struct ptx_instr *load, int32_t first,
                          int32_t last)
{
    int32_t reg = load->operands[jit_ndst(load)].reg;
    for (int32_t b = first; b <= last; b++)
        for (int32_t n = 0; n < k->blocks[b].count; n++)
            if (jit_writes(&k->instrs[k->blocks[b].first + n], reg))
                return true;
    return false;
}

/* How many rows does an iteration of the loop of header h read; 0: it is not worth it. */
static int32_t rows_of(const struct jkernel *k, int32_t h, const uint64_t *partial)
{
    int32_t last = jit_innermost_end(k, h);
    int32_t rows = 0;
    for (int32_t b = h; b <= last; b++) {
        const struct jblock *blk = &k->blocks[b];
        if (!blk->converged || bit_get(partial, b))
            return 0;
        for (int32_t n = 0; n < blk->count; n++) {
            const struct ptx_instr *i = &k->instrs[blk->first + n];
            if (!only_reads(i))
                return 0;
            rows += shared_row(k, i) && address_moves(k, i, h, last);
        }
    }
    return last >= h ? rows : 0;
}

/* Finds a loop in which all warps of a column read the same rows; 0: there is none. */
static int32_t find_loop(struct jkernel *k, bool columns)
{
    const uint64_t *partial = jit_same_by_lane(k, columns);
    int32_t found = 0;
    for (int32_t h = 0; h < k->nblocks && found == 0; h++) {
        int32_t rows = k->blocks[h].loop == h ? rows_of(k, h, partial) : 0;
        if (rows == 0)
            continue;
        found = k->blocks[h].first + 1;
        for (k->barrier_iterations = ROWS; k->barrier_iterations * rows > ROWS;)
            k->barrier_iterations /= 2;
        k->barrier_iterations = k->barrier_iterations > 1 ? k->barrier_iterations : 1;
    }
    for (size_t r = 0; r < k->nregs; r++)
        k->regs[r].same = false;
    return found;
}

/* Is a row of the block several warps, and a column of them enough? */
static bool has_columns(const struct jkernel *k)
{
    uint32_t columns = k->opt->ntid[0] / JIT_WARP;
    return columns > 1 && k->opt->ntid[0] % JIT_WARP == 0 &&
           (uint32_t)k->nwarps / columns >= MIN_WARPS;
}

int32_t jit_find_barrier_loop(struct jkernel *k)
{
    if (k->barrier_loop != 0 || k->is_function || k->has_poll || k->has_partial || k->has_calls ||
        k->nwarps < MIN_WARPS || k->ninstrs > MAX_INSTRUCTIONS)
        return 0;
    bool loops = false;
    for (int32_t b = 0; b < k->nblocks; b++) {
        if (k->blocks[b].term == TERM_SUSPEND)
            return 0;
        loops |= k->blocks[b].loop >= 0;
    }
    if (!loops)
        return 0;
    int32_t found = find_loop(k, false);
    return found == 0 && has_columns(k) ? find_loop(k, true) : found;
}
