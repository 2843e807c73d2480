/* grid_stride_loops: warps of a block that go through a loop side by side (grid_stride.c).
 *
 * A warp that reaches the loop is saved as at a barrier, records in its frame that it waits here,
 * and the next warp runs. When all have run, those that wait continue, in a region of their own,
 * which alone has the loop: each for a few iterations until it yields, and until no warp waits any
 * more. Then all have come to the same barrier, or to the end. Where there are no barriers, a warp
 * first runs one iteration at once, and the warps that interleave are those of all blocks of a call
 * (block_batch.c). */
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/frame.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/values.h"
#include "compiler/passes.h"

/* Iterations of a loop before the warp yields. What is loaded and prefetched meanwhile must stay in
 * the first-level cache, and strides of the grid often are such that all of it shares one set,
 * which has eight ways. */
enum { ITERATIONS = 4, LINE = 64 };

/* The same where the warps of many blocks do so, which together go through memory in the order of
 * addresses; and where they do that alone, in as many places at a time. */
enum { BATCH_ITERATIONS = 1, STREAM_ITERATIONS = 4 };

/* The same where blocks take turns, each of which is entered and left for that. */
enum { TURN_ITERATIONS = 8 };

/* How many iterations ahead a loop prefetches that does not yield. */
enum { LOCKED_AHEAD = 2 };

/* The same where only the last step of an address is known. */
enum { LAST_AHEAD = 4 };

/* The same of rows that all warps read one after the other. */
enum { ROWS_AHEAD = 16 };

struct warp_interleave {
    uint32_t offset;        /* in a frame: the resume point where the warp has yielded, or 0 */
    LLVMValueRef left_slot; /* i32: iterations left before it does */
    LLVMValueRef next_slot; /* i32: where one of the warps has, 0: none */
};

bool interleave_point(const struct codegen *cg, int32_t r)
{
    if (!cg->k->lockstep || r == 0)
        return false;
    unsigned kind = cg->k->blocks[cg->k->resume_block[r]].suspend;
    return kind == SUSPEND_YIELD || kind == SUSPEND_COUNT;
}

/* Do warps that yield suspend, as those that wait for memory do, and so leave the thread to other
 * blocks? */
static bool takes_turns(const struct jkernel *k)
{
    return k->has_poll && !k->lockstep && k->yield_loop != 0;
}

static LLVMValueRef resume_word(struct codegen *cg)
{
    return byte_offset(cg, cg->frame_w, c64(cg, cg->interleave->offset));
}

void interleave_init(struct codegen *cg)
{
    bool any = takes_turns(cg->k);
    for (int32_t r = 1; r < cg->k->nresume; r++)
        any |= interleave_point(cg, r);
    if (!any)
        return;
    cg->interleave = arena_alloc(&cg->k->arena, sizeof *cg->interleave);
    cg->interleave->offset = cg->frame->bytes;
    cg->frame->bytes += 4;
    cg->interleave->left_slot = new_slot(cg, cg->i32, "iterations");
    cg->interleave->next_slot = new_slot(cg, cg->i32, "yielded");
    LLVMBuildStore(cg->alu.b, c32(cg, 0), cg->interleave->next_slot);
}

bool interleave_needs(const struct codegen *cg, int32_t reg)
{
    for (int32_t r = 1; r < cg->k->nresume; r++)
        if (interleave_point(cg, r) && bit_get(cg->frame->resume_live[r], reg))
            return true;
    return false;
}

LLVMValueRef interleave_waits(struct codegen *cg, int32_t r)
{
    LLVMValueRef at = LLVMBuildLoad2(cg->alu.b, cg->i32, resume_word(cg), "");
    tag_frame(cg, at);
    return LLVMBuildICmp(cg->alu.b, LLVMIntEQ, at, c32(cg, (uint64_t)r), "");
}

void interleave_begin(struct codegen *cg)
{
    if (cg->interleave == NULL)
        return;
    bool always = cg->k->entry->pragmas & PTX_PRAGMA_INTERLEAVE;
    uint64_t batch = jit_yield_loop_streams(cg->k) ? STREAM_ITERATIONS : BATCH_ITERATIONS;
    uint64_t left = always               ? 1
                    : cg->batch != NULL  ? batch
                    : takes_turns(cg->k) ? TURN_ITERATIONS
                                         : ITERATIONS;
    if (cg->batch != NULL && cg->regions->current == 0)
        left++; /* the loop is come to before its first iteration, too */
    LLVMBuildStore(cg->alu.b, c32(cg, left), cg->interleave->left_slot);
    if (takes_turns(cg->k))
        return;
    tag_frame(cg, LLVMBuildStore(cg->alu.b, c32(cg, 0), resume_word(cg)));
}

void interleave_yield(struct codegen *cg, const struct jblock *blk)
{
    LLVMBuilderRef b = cg->alu.b;
    if (!cg->k->lockstep && !takes_turns(cg->k)) {
        flow_goto(cg, blk->succ[0]);
        return;
    }
    if (takes_turns(cg->k) || cg->regions->current == blk->resume || cg->batch != NULL) {
        LLVMBasicBlockRef out = new_bb(cg, "yield"), on = new_bb(cg, "iterate");
        LLVMValueRef left = LLVMBuildLoad2(b, cg->i32, cg->interleave->left_slot, "");
        left = LLVMBuildSub(b, left, c32(cg, 1), "");
        LLVMBuildStore(b, left, cg->interleave->left_slot);
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, left, c32(cg, 0), ""), out, on);
        LLVMPositionBuilderAtEnd(b, on);
        flow_goto(cg, blk->succ[0]);
        LLVMPositionBuilderAtEnd(b, out);
    }
    interleave_wait(cg, blk);
}

/* Where the thread keeps other blocks, a warp's turn counts as if it had spun in vain: when all
 * warps have done either, the block returns. */
static void give_way(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef at = byte_offset(cg, cg->block.ptr, c64(cg, BLOCK_FIELD(abreast)));
    LLVMValueRef abreast = LLVMBuildLoad2(b, cg->i32, at, "");
    LLVMValueRef spun = LLVMBuildLoad2(b, cg->i32, cg->regions->spun_slot, "");
    LLVMBuildStore(b, LLVMBuildAdd(b, spun, abreast, ""), cg->regions->spun_slot);
    LLVMBuildStore(b, abreast, byte_offset(cg, cg->block.ptr, c64(cg, BLOCK_FIELD(gave_way))));
}

void interleave_wait(struct codegen *cg, const struct jblock *blk)
{
    LLVMBuilderRef b = cg->alu.b;
    if (takes_turns(cg->k)) {
        give_way(cg);
        suspend_warp(cg, blk, false);
        return;
    }
    flow_wait(cg, blk);
    frame_transfer(cg, blk->resume, true);
    LLVMValueRef r = c32(cg, (uint64_t)blk->resume);
    tag_frame(cg, LLVMBuildStore(b, r, resume_word(cg)));
    LLVMBuildStore(b, r, cg->interleave->next_slot);
    LLVMBuildBr(b, cg->regions->suspend);
}

void interleave_resume(struct codegen *cg, LLVMBasicBlockRef *regions)
{
    LLVMBuilderRef b = cg->alu.b;
    if (cg->interleave == NULL || takes_turns(cg->k))
        return;
    LLVMBasicBlockRef none = new_bb(cg, "none_yielded");
    LLVMValueRef next = LLVMBuildLoad2(b, cg->i32, cg->interleave->next_slot, "");
    LLVMBuildStore(b, c32(cg, 0), cg->interleave->next_slot);
    LLVMValueRef sw = LLVMBuildSwitch(b, next, none, 1);
    for (int32_t r = 1; r < cg->k->nresume; r++)
        if (interleave_point(cg, r))
            LLVMAddCase(sw, c32(cg, (uint64_t)r), regions[r]);
    LLVMPositionBuilderAtEnd(b, none);
}

static bool yields_in(const struct jkernel *k, int32_t h)
{
    return k->blocks[h].first == k->yield_loop - 1;
}

/* Does the loop of header h have atomics in global memory? A CPU begins no load after a locked
 * instruction before that is done, so that each iteration waits for memory anew. */
static bool locks(const struct jkernel *k, int32_t h)
{
    int32_t last = jit_innermost_end(k, h);
    for (int32_t b = h; b <= last; b++)
        for (int32_t n = 0; n < k->blocks[b].count; n++) {
            const struct ptx_instr *i = &k->instrs[k->blocks[b].first + n];
            if ((i->op == PTX_OP_atom || i->op == PTX_OP_red) && mem_space(i) != PTX_SPACE_SHARED)
                return true;
        }
    return false;
}

/* For how many iterations the loop that is being emitted is to prefetch; 0: for none. */
static int64_t iterations_ahead(const struct codegen *cg)
{
    const struct jkernel *k = cg->k;
    if (!cg->in_converged_copy || cg->cur == NULL || cg->cur->loop < 0)
        return 0;
    if (cg->batch != NULL && cg->interleave != NULL)
        return 0; /* a CPU sees what is next */
    if (cg->interleave != NULL && yields_in(k, cg->cur->loop))
        return ITERATIONS;
    return locks(k, cg->cur->loop) ? LOCKED_AHEAD : 0;
}

/* Is it in a loop over barriers that is being emitted, such as one that fills tiles of shared
 * memory and then works on them? While it works, memory is idle. */
static bool loops_over_barrier(const struct codegen *cg)
{
    const struct jkernel *k = cg->k;
    if (!cg->in_converged_copy || cg->cur == NULL || cg->cur->loop < 0 || !k->lockstep ||
        k->barrier_loop != 0 || k->opt->checked)
        return false;
    for (int32_t b = cg->cur->loop; b < k->nblocks; b++)
        if (k->blocks[b].loop == cg->cur->loop && k->blocks[b].term == TERM_SUSPEND &&
            k->blocks[b].suspend == SUSPEND_BARRIER)
            return true;
    return false;
}

/* Is it a row of memory that all warps read, in the loop in which they therefore take turns
 * (warp_interleaving.c)? */
static bool shared_by_warps(const struct codegen *cg, int32_t reg)
{
    const struct jkernel *k = cg->k;
    return k->barrier_loop != 0 && cg->in_converged_copy && cg->cur != NULL && cg->cur->loop >= 0 &&
           k->blocks[cg->cur->loop].first == k->barrier_loop - 1 && !k->opt->checked &&
           k->regs[reg].alike && !is_uniform(&k->regs[reg].uniformity);
}

/* i64: the value of a register that all lanes have in common, 1 for none. */
static LLVMValueRef factor_of(struct codegen *cg, int32_t reg)
{
    if (reg < 0)
        return c64(cg, 1);
    struct ptx_operand o = {.kind = PTX_OPR_REG, .reg = reg};
    bool wide = ptx_type_bits((enum ptx_type)cg->k->regs[reg].type) == 64;
    LLVMValueRef v = operand_scalar(cg, &o, wide ? PTX_S64 : PTX_S32, SEG_WARP, 0);
    return wide ? v : LLVMBuildSExt(cg->alu.b, v, cg->i64, "");
}

/* Prefetches `bytes` at p, for reading, into the first, second or third cache. */
static void prefetch(struct codegen *cg, LLVMValueRef p, uint64_t bytes, uint64_t cache)
{
    for (uint64_t line = 0; line < bytes; line += LINE) {
        LLVMValueRef args[4] = {byte_offset(cg, p, c64(cg, line)), c32(cg, 0) /* to be read */,
                                c32(cg, 4 - cache), c32(cg, 1) /* data */};
        intrinsic(cg, "llvm.prefetch", &cg->ptr, 1, args, 4);
    }
}

/* Is it a loop that is being emitted whose iterations go through memory in steps of the grid, of a
 * kernel that stays in it for long: blocks that meet barriers are few? */
static bool in_long_stride(const struct codegen *cg, int32_t reg)
{
    const struct jkernel *k = cg->k;
    return cg->in_converged_copy && cg->cur != NULL && cg->cur->loop >= 0 && !k->opt->checked &&
           !(takes_turns(k) && yields_in(k, cg->cur->loop)) && (k->has_poll || k->nresume > 1) &&
           jit_moves_with_grid(k, cg->cur->loop, reg);
}

/* Where what an address grows by is not known, as a quotient is in it, it is taken for what it has
 * grown by in the last iteration. */
static void prefetch_along(struct codegen *cg, LLVMValueRef p, uint64_t bytes)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef slot = new_slot(cg, cg->i64, "last_address");
    LLVMValueRef now = LLVMBuildPtrToInt(b, p, cg->i64, "");
    LLVMValueRef last = LLVMBuildLoad2(b, cg->i64, slot, "");
    LLVMBuildStore(b, now, slot);
    LLVMValueRef by = LLVMBuildMul(b, LLVMBuildSub(b, now, last, ""), c64(cg, LAST_AHEAD), "");
    prefetch(cg, byte_offset(cg, p, by), bytes + LINE / 2, 2); /* rows begin amid lines */
}

/* What is read in the next iteration over barriers comes into the second cache: rows of a power of
 * two of bytes share one set of the first one, which has fewer ways than a tile has rows. */
void interleave_prefetch(struct codegen *cg, const struct ptx_operand *at, unsigned space,
                         const LLVMValueRef *p, int n, uint64_t bytes)
{
    const struct jkernel *k = cg->k;
    LLVMBuilderRef b = cg->alu.b;
    struct jgrowth g;
    int64_t ahead = iterations_ahead(cg);
    uint64_t cache = 1;
    if ((space != PTX_SPACE_GLOBAL && space != PTX_SPACE_GENERIC) || at->reg < 0)
        return;
    if (ahead == 0 || !jit_grid_growth(k, cg->cur->loop, at->reg, &g)) {
        if (n == 1 && in_long_stride(cg, at->reg))
            prefetch_along(cg, p[0], bytes);
        bool shared = shared_by_warps(cg, at->reg);
        if ((!shared && !loops_over_barrier(cg)) ||
            !jit_loop_growth(k, cg->cur->loop, at->reg, &g) ||
            (g.step < 0 && g.factor < 0 && g.times < LINE && g.times > -LINE))
            return;
        ahead = shared ? ROWS_AHEAD : 1;
        cache = 2;
        n = k->regs[at->reg].repeats ? 1 : n;
    }
    LLVMValueRef step = c64(cg, (uint64_t)(g.times * ahead));
    step = LLVMBuildMul(b, step, factor_of(cg, g.step), "");
    step = LLVMBuildMul(b, step, factor_of(cg, g.factor), "");
    for (int s = 0; s < n; s++)
        prefetch(cg, byte_offset(cg, p[s], step), bytes, cache);
}
