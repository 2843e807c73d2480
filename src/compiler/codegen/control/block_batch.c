/* block_batch.c: blocks that follow each other in x, in one call.
 *
 * A block of a light kernel ends after some hundred instructions, and many of them are the same for
 * its neighbours: parameters, bounds, what depends on ctaid.y alone. So the code of kernels without
 * barriers continues with the blocks that follow (jit_block.more), and LLVM hoists what is
 * invariant out of that loop.
 *
 * The order of warps is free, and the warps of one row of threads have more in common with those of
 * the same row in the next block than with those of the row below: they read on where it has ended,
 * as a loop over an array does. Where a kernel only streams (every access in the order of lanes,
 * none in a loop), a row therefore goes through all blocks before the next row begins. Other
 * kernels, which may reuse what they have just read, take block after block.
 *
 * In loops whose warps yield to each other (grid_stride.c) all warps of up to 32 blocks take turns,
 * and those that share a counter (shared_counters.c) wait for each other there. Their frames are on
 * the call's stack then: the block's own are for one block. */
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/frame.h"
#include "compiler/codegen/memory/deferred.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/values.h"
#include "compiler/llvm/llvm_passes.h"
#include "compiler/passes.h"

struct block_batch {
    bool streams;        /* memory is gone through in the order of lanes alone */
    bool reads_few;      /* few loads go through it, so that each has lines of its own */
    int32_t warps;       /* after which the next block goes on */
    LLVMValueRef frames; /* where warps interleave: the frames of a group's warps, else NULL */
    uint32_t stride;     /* ... from one of them to the next */
    uint32_t group;      /* ... and the blocks that run side by side */
};

enum { FEW_LOADS = 4 };

/* Blocks whose warps interleave, and bytes of their frames; and of the frames of those that share a
 * counter, which are not to drive out of the first cache what their warps have read. */
enum { GROUP_BLOCKS = 32, MAX_FRAME_BYTES = 1 << 16, COUNTER_FRAME_BYTES = 1 << 14 };

/* ---- which kernels ---- */

/* False for special registers that the loop does not update. */
static bool updated_register(const struct ptx_operand *o)
{
    if (o->kind == PTX_OPR_SREG && o->sreg == PTX_SR_clusterid)
        return false;
    for (int n = 0; n < o->nitems; n++)
        if (!updated_register(&o->items[n]))
            return false;
    return true;
}

/* May blocks that contain this follow each other in one call? Not where the exec module keeps
 * something for each block: what it has launched, its rank in a cluster. */
static bool may_batch(const struct ptx_instr *i)
{
    for (int n = 0; n < i->noperands; n++)
        if (!updated_register(&i->operands[n]))
            return false;
    switch (i->op) {
    case PTX_OP_call: return i->call->func != NULL && alu_math_known(i->call->func->name, NULL);
    case PTX_OP_bar:
    case PTX_OP_barrier:
    case PTX_OP_mbarrier:
    case PTX_OP_mapa:
    case PTX_OP_getctarank:
    case PTX_OP_cp:
    case PTX_OP_tensormap:
    case PTX_OP_clusterlaunchcontrol: /* which must know the blocks that have not begun */
    case PTX_OP_alloca:
    case PTX_OP_stacksave:
    case PTX_OP_stackrestore:
    case PTX_OP_griddepcontrol: return false;
    default: return true;
    }
}

static const struct ptx_operand *address_of(const struct ptx_instr *i)
{
    return &i->operands[i->op == PTX_OP_ld ? jit_ndst(i) : 0];
}

/* Does the load or store go through global memory in the order of lanes? */
static bool goes_through(const struct jkernel *k, const struct jblock *blk,
                         const struct ptx_instr *i)
{
    unsigned space = mem_space(i);
    struct uniformity s = address_uniformity(k, address_of(i));
    unsigned bytes =
        ptx_type_bits((enum ptx_type)i->types[i->ntypes - 1]) / 8 * (i->vec ? i->vec : 1u);
    return (space == PTX_SPACE_GLOBAL || space == PTX_SPACE_GENERIC) && blk->depth == 0 &&
           s.seg != SEG_NONE && s.stride >= 0 && s.stride <= (int64_t)bytes;
}

/* Does the instruction not access memory, or go through it in the order of lanes? */
static bool instr_streams(const struct jkernel *k, const struct jblock *blk,
                          const struct ptx_instr *i)
{
    struct diag ignored = {0};
    if (i->op == PTX_OP_call || i->op == PTX_OP_mov || i->op == PTX_OP_cvta ||
        alu_supported(i, &ignored))
        return true;
    if (i->op != PTX_OP_ld && i->op != PTX_OP_st)
        return false;
    struct uniformity s = address_uniformity(k, address_of(i));
    unsigned space = mem_space(i);
    return space == PTX_SPACE_PARAM || (space == PTX_SPACE_CONST && is_uniform(&s)) ||
           goes_through(k, blk, i);
}

/* Warps of a row of threads, or of as many rows as one warp holds; 0: neither is a whole number. */
static int32_t warps_per_row(const struct jkernel *k)
{
    uint32_t x = k->opt->ntid[0];
    return x == 0 ? 0 : x % JIT_WARP == 0 ? (int32_t)(x / JIT_WARP) : JIT_WARP % x == 0 ? 1 : 0;
}

/* Where warps yield to each other: those of several blocks of a call do, if that needs nothing that
 * a block has by itself. Makes their frames; false: a block a call. */
static bool frames_of_blocks(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    uint32_t stride = cg->frame->scalars != 0 ? cg->frame->scalars : cg->frame->bytes;
    uint32_t block = stride * (uint32_t)k->nwarps, group = GROUP_BLOCKS;
    if (k->nresume != 2 || !interleave_point(cg, 1) || !jit_blocks_interleave(k))
        return false;
    if (cg->counter != NULL) {
        group = COUNTER_FRAME_BYTES / block;
        group = group < 1 ? 1 : group > GROUP_BLOCKS ? GROUP_BLOCKS : group;
    }
    uint64_t bytes = (uint64_t)block * group;
    if (bytes > MAX_FRAME_BYTES)
        return false;
    cg->batch->group = group;
    cg->batch->stride = stride;
    cg->batch->frames = new_slot(cg, LLVMArrayType2(cg->i8, bytes), "frames");
    LLVMSetAlignment(cg->batch->frames, 64);
    return true;
}

void batch_init(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    bool streams = true;
    int loads = 0;
    if ((k->opt->checked & (JIT_CHECKS_THREADS | JIT_CHECKS_DEFINED)) !=
        0) /* a block's are told of by themselves */
        return;
    if ((k->opt->order & (JIT_ORDER_WARPS | JIT_ORDER_TURNED)) != 0) /* its warps go as they are */
        return;
    if (k->is_function || k->has_calls || k->has_poll || k->has_partial || k->nwarps == 0)
        return;
    for (int32_t b = 0; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        for (int32_t n = 0; n < blk->count; n++) {
            if (!may_batch(&k->instrs[blk->first + n]))
                return;
            const struct ptx_instr *i = &k->instrs[blk->first + n];
            streams = streams && instr_streams(k, blk, i);
            loads += i->op == PTX_OP_ld && goes_through(k, blk, i);
        }
    }
    int32_t row = warps_per_row(k);
    cg->batch = arena_alloc(&k->arena, sizeof *cg->batch);
    cg->batch->streams = streams;
    cg->batch->reads_few = loads <= FEW_LOADS;
    cg->batch->warps = streams && row > 0 && row < k->nwarps ? row : k->nwarps;
    if (k->nresume == 1)
        return;
    cg->batch->warps = k->nwarps;
    if (frames_of_blocks(cg))
        cg->osr = NULL; /* it has no barriers */
    else
        cg->batch = NULL;
}

bool batch_streams(const struct codegen *cg)
{
    return cg->batch != NULL && cg->batch->warps < cg->k->nwarps;
}

bool batch_only_streams(const struct codegen *cg)
{
    return cg->batch != NULL && cg->batch->streams;
}

bool batch_reads_few(const struct codegen *cg) { return cg->batch != NULL && cg->batch->reads_few; }

bool batch_abreast(const struct codegen *cg)
{
    return cg->batch != NULL && cg->batch->frames != NULL;
}

/* ---- the loops ---- */

/* A counter in a loop whose body is run at least once. */
struct counted_loop {
    LLVMBasicBlockRef head;
    LLVMValueRef i; /* the counter */
};

static struct counted_loop loop_open(struct codegen *cg, LLVMValueRef from, const char *name)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
    struct counted_loop l = {.head = new_bb(cg, name)};
    LLVMBuildBr(b, l.head);
    LLVMPositionBuilderAtEnd(b, l.head);
    l.i = LLVMBuildPhi(b, cg->i32, name);
    LLVMAddIncoming(l.i, &from, &before, 1);
    return l;
}

/* Iterates with the counter raised by `step` unless that makes it `end`. Returns the branch. */
static LLVMValueRef loop_close(struct codegen *cg, struct counted_loop *l, uint64_t step,
                               LLVMValueRef end)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(b), out = new_bb(cg, "out");
    LLVMValueRef next = LLVMBuildAdd(b, l->i, c32(cg, step), "");
    LLVMAddIncoming(l->i, &next, &here, 1);
    LLVMValueRef branch =
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, next, end, ""), out, l->head);
    LLVMPositionBuilderAtEnd(b, out);
    return branch;
}

/* Stores, for helpers and faults, which block runs; see store_warp_index. */
static void store_block_index(struct codegen *cg, LLVMValueRef at)
{
    LLVMValueRef store = LLVMBuildStore(cg->alu.b, cg->block.ctaid[0], at);
    LLVMSetVolatile(store, true);
    LLVMSetMetadata(store, cg->md.noalias, cg->md.scope_all);
}

/* The blocks of a call. */
struct call_blocks {
    LLVMValueRef here;       /* where the index of the one that runs is stored */
    LLVMValueRef first, end; /* the first one's index, and that after the last */
};

/* At the start of the function. */
static struct call_blocks read_blocks(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    struct call_blocks c = {.here = byte_offset(cg, cg->block.ptr, c64(cg, BLOCK_FIELD(ctaid)))};
    LLVMValueRef more_ptr = byte_offset(cg, cg->block.ptr, c64(cg, BLOCK_FIELD(more)));
    c.first = LLVMBuildLoad2(b, cg->i32, c.here, "");
    LLVMValueRef more = LLVMBuildLoad2(b, cg->i32, more_ptr, "");
    LLVMBuildStore(b, c32(cg, 0), more_ptr);
    LLVMValueRef count = LLVMBuildAdd(b, more, c32(cg, 1), "");
    c.end = LLVMBuildAdd(b, c.first, count, "");
    deferred_open(cg, count);
    return c;
}

/* Where warps interleave: all warps of these blocks run region r, 0 or 1, until they yield or end;
 * the builder is left where none has yielded. */
static bool emit_turn(struct codegen *cg, const struct call_blocks *c, int32_t r,
                      LLVMBasicBlockRef *regions)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef nwarps = c32(cg, (uint64_t)cg->k->nwarps);
    LLVMBasicBlockRef done = new_bb(cg, "warp_done"), step = new_bb(cg, "step");
    cg->regions->current = r;
    cg->frame->reads = r > 0 ? frame_reads(cg, r) : NULL;
    flow_open(cg);
    bit_clear_all(cg->regions->next_set, cg->k->nresume);
    cg->flow->next_warp = done;
    cg->regions->suspend = step;
    struct counted_loop blocks = loop_open(cg, c->first, "blocks");
    cg->block.ctaid[0] = blocks.i;
    store_block_index(cg, c->here);
    LLVMValueRef rank = LLVMBuildMul(b, LLVMBuildSub(b, blocks.i, c->first, ""), nwarps, "");
    struct counted_loop warps = loop_open(cg, c32(cg, 0), "warps");
    cg->w = warps.i;
    LLVMValueRef off = LLVMBuildZExt(b, LLVMBuildAdd(b, rank, cg->w, ""), cg->i64, "");
    off = LLVMBuildMul(b, off, c64(cg, cg->batch->stride), "");
    cg->frame_w = byte_offset(cg, cg->batch->frames, off);
    memory_registers_region(cg);
    if (r > 0) {
        LLVMBasicBlockRef run = new_bb(cg, "run");
        LLVMBuildCondBr(b, interleave_waits(cg, r), run, step);
        LLVMPositionBuilderAtEnd(b, run);
    }
    store_warp_index(cg);
    interleave_begin(cg);
    enter_region(cg, r);
    bool ok = flow_emit(cg);
    LLVMPositionBuilderAtEnd(b, done);
    LLVMBuildBr(b, step);
    LLVMPositionBuilderAtEnd(b, step);
    loop_close(cg, &warps, 1, nwarps);
    loop_close(cg, &blocks, 1, c->end);
    counter_turn(cg);
    interleave_resume(cg, regions);
    return ok;
}

/* The blocks of a call, by groups whose warps interleave. */
static bool emit_turns(struct codegen *cg, const struct call_blocks *c, LLVMBasicBlockRef *regions)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef over = new_bb(cg, "over"), next = new_bb(cg, "group"),
                      done = new_bb(cg, "groups_done"), before = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, next);
    LLVMPositionBuilderAtEnd(b, next);
    struct call_blocks g = {.here = c->here, .first = LLVMBuildPhi(b, cg->i32, "group")};
    LLVMValueRef left = LLVMBuildSub(b, c->end, g.first, ""), most = c32(cg, cg->batch->group);
    LLVMValueRef few = LLVMBuildICmp(b, LLVMIntULT, left, most, "");
    g.end = LLVMBuildAdd(b, g.first, LLVMBuildSelect(b, few, left, most, ""), "");
    bool ok = emit_turn(cg, &g, 0, regions);
    LLVMBuildBr(b, over);
    LLVMPositionBuilderAtEnd(b, regions[1]);
    ok = ok && emit_turn(cg, &g, 1, regions);
    LLVMBuildBr(b, over);
    LLVMPositionBuilderAtEnd(b, over);
    LLVMAddIncoming(g.first, (LLVMValueRef[]){c->first, g.end}, (LLVMBasicBlockRef[]){before, over},
                    2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, g.end, c->end, ""), next, done);
    LLVMPositionBuilderAtEnd(b, done);
    deferred_close(cg);
    LLVMBuildRet(b, c32(cg, JIT_DONE));
    return ok;
}

bool emit_batch(struct codegen *cg, LLVMBasicBlockRef *regions)
{
    LLVMBuilderRef b = cg->alu.b;
    const struct jkernel *k = cg->k;
    int32_t row = cg->batch->warps;
    struct counted_loop rows, blocks, warps;
    bool one = row == 1;
    LLVMPositionBuilderAtEnd(b, regions[0]);
    struct call_blocks c = read_blocks(cg);
    if (cg->batch->frames != NULL)
        return emit_turns(cg, &c, regions);
    flow_open(cg);
    cg->regions->current = 0;
    cg->flow->next_warp = new_bb(cg, "warp_done");
    rows = loop_open(cg, c32(cg, 0), "rows");
    cg->w = rows.i;
    if (one)
        store_warp_index(cg);
    blocks = loop_open(cg, c.first, "blocks");
    cg->block.ctaid[0] = blocks.i;
    store_block_index(cg, c.here);
    if (!one) {
        warps = loop_open(cg, rows.i, "warps");
        cg->w = warps.i;
        store_warp_index(cg);
    }
    LLVMValueRef off = LLVMBuildZExt(b, cg->w, cg->i64, "");
    cg->frame_w =
        byte_offset(cg, cg->block.frames, LLVMBuildMul(b, off, c64(cg, cg->frame->bytes), ""));
    memory_registers_region(cg);
    enter_region(cg, 0);
    bool ok = flow_emit(cg);
    LLVMPositionBuilderAtEnd(b, cg->flow->next_warp);
    LLVMValueRef end_warp = row == k->nwarps ? c32(cg, (uint64_t)row)
                                             : LLVMBuildAdd(b, rows.i, c32(cg, (uint64_t)row), "");
    LLVMValueRef again = one ? NULL : loop_close(cg, &warps, 1, end_warp);
    if (again != NULL && jit_only_loads_and_stores(k, cg->regions->blocks[0]))
        warp_jam_mark(again);
    loop_close(cg, &blocks, 1, c.end);
    loop_close(cg, &rows, (uint64_t)row, c32(cg, (uint64_t)(k->nwarps + row - 1) / row * row));
    deferred_close(cg);
    LLVMBuildRet(b, c32(cg, JIT_DONE));
    return ok;
}
