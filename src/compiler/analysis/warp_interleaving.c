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
 * the same for all warps.
 *
 * Or it marches, as stencils of three dimensions do along z: it writes rows, reads many more, and
 * is elsewhere in each iteration. Rows that a warp reads above and below its own are those that its
 * neighbours read, while it has long left those it has read itself. A warp that marches to the end
 * alone fetches each row anew, from another page each time. */
#include "compiler/arithmetic/arithmetic.h"
#include "compiler/passes.h"

/* A kernel is copied for each resume point: not for large ones. */
enum { MAX_INSTRUCTIONS = 400, MIN_WARPS = 4 };

/* Rows that a warp reads from barrier to barrier. The next warps find them in the first cache, or,
 * as rows of a matrix often share a set of it, which has eight to twelve ways, in the second. */
enum { ROWS = 16 };

/* Of a loop that marches: the same, which its neighbours read soon after; how far it is elsewhere,
 * in bytes; and how many rows it reads at least. With fewer, of a small radius, it did not pay. */
enum { FAR_ROWS = 32, FAR = 1024, LEAST_FAR = 6 };

/* Bytes of memory that the lanes of a warp have in common, at least. */
enum { ROW = 128 };

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

/* ---- loops that march ---- */

static const struct ptx_operand *accessed(const struct ptx_instr *i)
{
    bool access = i->op == PTX_OP_ld || i->op == PTX_OP_st;
    return access ? &i->operands[i->op == PTX_OP_ld ? jit_ndst(i) : 0] : NULL;
}

/* Does it access a row of memory that lies far from the one of the iteration before? */
static bool far_row(const struct jkernel *k, const struct ptx_instr *i, int32_t h)
{
    const struct ptx_operand *at = accessed(i);
    struct jgrowth g;
    if (at == NULL || at->kind != PTX_OPR_MEM || at->reg < 0)
        return false;
    if (i->nspaces > 0 && i->spaces[0] != PTX_SPACE_GLOBAL && i->spaces[0] != PTX_SPACE_GENERIC)
        return false;
    const struct uniformity *u = &k->regs[at->reg].uniformity;
    return !is_uniform(u) && u->seg == SEG_WARP && jit_loop_growth(k, h, at->reg, &g) &&
           (g.step >= 0 || g.factor >= 0 || g.times >= FAR || g.times <= -FAR);
}

struct rows {
    bool writes;
    int32_t count; /* of those that are read, */
    struct row {
        int32_t reg;
        int64_t offset;
    } at[FAR_ROWS]; /* and these */
};

static void count_row(struct rows *rows, const struct ptx_operand *at)
{
    for (int32_t r = 0; r < rows->count; r++) {
        int64_t between = at->offset - rows->at[r].offset;
        if (rows->at[r].reg == at->reg && between < ROW && between > -ROW)
            return;
    }
    if (rows->count < FAR_ROWS)
        rows->at[rows->count++] = (struct row){at->reg, at->offset};
}

/* How many rows does an iteration of the loop of header h read; 0: it does not march. */
static int32_t far_rows(const struct jkernel *k, int32_t h, const uint64_t *partial)
{
    struct rows rows = {0};
    int32_t last = jit_innermost_end(k, h);
    for (int32_t b = h; b <= last; b++) {
        const struct jblock *blk = &k->blocks[b];
        if (!blk->converged || bit_get(partial, b))
            return 0;
        for (int32_t n = 0; n < blk->count; n++) {
            const struct ptx_instr *i = &k->instrs[blk->first + n];
            if (i->op != PTX_OP_st && !only_reads(i))
                return 0;
            if (!far_row(k, i, h))
                continue;
            if (i->op == PTX_OP_st)
                rows.writes = true;
            else
                count_row(&rows, accessed(i));
        }
    }
    return last >= h && rows.writes && rows.count >= LEAST_FAR ? rows.count : 0;
}

/* ---- which loop ---- */

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

/* The iterations from barrier to barrier. */
static int32_t iterations(int32_t rows, int32_t most)
{
    int32_t n = ROWS;
    while (n > 1 && n * rows > most)
        n /= 2;
    return n;
}

/* Finds a loop in which all warps of a column read the same rows, or that marches; 0: none. */
static int32_t find_loop(struct jkernel *k, bool columns)
{
    const uint64_t *partial = jit_same_by_lane(k, columns);
    int32_t found = 0;
    for (int32_t h = 0; h < k->nblocks && found == 0; h++) {
        if (k->blocks[h].loop != h)
            continue;
        int32_t rows = rows_of(k, h, partial);
        int32_t far = rows == 0 && k->opt->checked == 0 ? far_rows(k, h, partial) : 0;
        if (rows + far == 0)
            continue;
        found = k->blocks[h].first + 1;
        k->barrier_iterations = rows > 0 ? iterations(rows, ROWS) : iterations(far, FAR_ROWS);
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
