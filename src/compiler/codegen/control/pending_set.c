/* pending_set.c: the blocks at which lanes are pending, as a set in memory with one shared search.
 *
 * As a rule each block that ends tests the masks of the blocks at which lanes may be pending, one
 * after the other, and masks are variables, which LLVM promotes to values. Where control flow is
 * irreducible, lanes may be pending nearly anywhere while nearly any block runs, so that tests and
 * phis grow with the square of the blocks. Kernels in which that is so keep a set with a bit for
 * each block, and a mask for each block, in one piece of memory. A block that ends adds its
 * successors and branches to the search, of which each region has one: it takes the first block out
 * of the set and goes there.
 *
 * In a kernel that suspends, that memory is a part of the warp's frame: lanes that are pending
 * while others wait at a barrier need not be saved and restored there, which would take code for
 * each block at each barrier.
 *
 * On fibers, where every barrier is a loop with a poll after which lanes that are pending nearly
 * anywhere may go first (flow_offer), the tests for that are shared, too: each region has one more
 * search, of which a poll says where it begins and which blocks it may find.
 *
 * A mask is 0 while no lane is pending at its block: a block clears its own when it ends. Such
 * kernels have no converged copies. */
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/values.h"

#include <stdlib.h>
#include <string.h>

struct pending_set {
    LLVMValueRef slot;     /* words of the set, then masks; NULL: in the frame */
    uint32_t frame_offset; /* ... where */
    int32_t words;
    uint64_t bytes;
    uint64_t *targets;        /* blocks that the current region's search may find */
    LLVMBasicBlockRef search; /* NULL: the region has none yet */
    LLVMValueRef from;        /* phi: the word at which the search begins */
    LLVMBasicBlockRef offer; /* the search for lanes that may go before a poll's loop; NULL: none */
    LLVMValueRef may, after; /* phis: the set of blocks at which they are, and the loop's block */
};

/* Tests that a kernel may have, as they are emitted as a rule: in all, and for each instruction. */
enum { MAX_TESTS = 1500, MAX_TESTS_EACH = 3 };

static bool has_too_many_tests(const struct jkernel *k)
{
    int64_t tests = 0;
    for (int32_t b = 0; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        if (blk->spin_yields != NULL && !k->fibers)
            return false; /* a small kernel, whose search may begin anywhere */
        int64_t times = blk->nsucc + 1 + (blk->spin_yields != NULL);
        tests += times * bit_count(blk->frontier, k->nblocks);
    }
    return (tests > MAX_TESTS && tests > MAX_TESTS_EACH * (int64_t)k->ninstrs) ||
           (k->entry->pragmas & PTX_PRAGMA_LARGE) != 0;
}

void pending_set_plan(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    if (!has_too_many_tests(k))
        return;
    struct pending_set *p = cg->flow->pending_set = arena_alloc(&k->arena, sizeof *p);
    p->words = bit_words(k->nblocks);
    p->bytes = (uint64_t)p->words * 8 + (uint64_t)k->nblocks * 4;
    p->targets = arena_alloc(&k->arena, (size_t)p->words * 8);
}

uint32_t pending_set_allocate(struct codegen *cg, uint32_t at)
{
    struct pending_set *p = cg->flow->pending_set;
    if (p == NULL)
        return at;
    if (cg->k->nresume > 1) {
        p->frame_offset = (at + 7) & ~7u;
        return p->frame_offset + (uint32_t)p->bytes;
    }
    p->slot = new_slot(cg, LLVMArrayType2(cg->i8, p->bytes), "pending");
    LLVMSetAlignment(p->slot, 16);
    return at;
}

/* What lies `at` bytes into the memory of the set. */
static LLVMValueRef set_pointer(struct codegen *cg, uint64_t at)
{
    const struct pending_set *p = cg->flow->pending_set;
    return p->slot != NULL ? byte_offset(cg, p->slot, c64(cg, at))
                           : byte_offset(cg, cg->frame_w, c64(cg, p->frame_offset + at));
}

static LLVMValueRef word_pointer(struct codegen *cg, int32_t b)
{
    return set_pointer(cg, (uint64_t)(b >> 6) * 8);
}

LLVMValueRef pending_pointer(struct codegen *cg, int32_t b)
{
    const struct pending_set *p = cg->flow->pending_set;
    return p == NULL ? cg->flow->pending_slot[b]
                     : set_pointer(cg, (uint64_t)p->words * 8 + (uint64_t)b * 4);
}

void pending_set_open(struct codegen *cg)
{
    struct pending_set *p = cg->flow->pending_set;
    if (p == NULL)
        return;
    p->search = p->offer = NULL;
    memset(p->targets, 0, (size_t)p->words * 8);
}

void pending_set_clear(struct codegen *cg)
{
    const struct pending_set *p = cg->flow->pending_set;
    if (p != NULL)
        LLVMBuildMemSet(cg->alu.b, set_pointer(cg, 0), LLVMConstInt(cg->i8, 0, false),
                        c64(cg, p->bytes), 8);
}

/* The current region's search may find block b. */
static void add_target(struct codegen *cg, int32_t b)
{
    bit_set(cg->flow->pending_set->targets, b);
    flow_block(cg, b);
}

void pending_set_mark(struct codegen *cg, int32_t b, LLVMValueRef lanes)
{
    LLVMBuilderRef ir = cg->alu.b;
    LLVMValueRef at = word_pointer(cg, b);
    LLVMValueRef any = LLVMBuildICmp(ir, LLVMIntNE, lanes, c32(cg, 0), "");
    any = LLVMBuildShl(ir, LLVMBuildZExt(ir, any, cg->i64, ""), c64(cg, (uint64_t)b & 63), "");
    any = LLVMBuildOr(ir, LLVMBuildLoad2(ir, cg->i64, at, ""), any, "");
    LLVMBuildStore(ir, any, at);
}

void pending_set_add(struct codegen *cg, int32_t b, LLVMValueRef lanes)
{
    pending_set_mark(cg, b, lanes);
    add_target(cg, b);
}

void pending_set_resume(struct codegen *cg, const uint64_t *blocks)
{
    const struct jkernel *k = cg->k;
    if (cg->flow->pending_set == NULL)
        return;
    EACH_BIT (c, blocks, k->nblocks)
        if (!k->blocks[c].serialized)
            add_target(cg, c);
}

void pending_set_remove(struct codegen *cg, int32_t b)
{
    LLVMBuilderRef ir = cg->alu.b;
    LLVMValueRef at = word_pointer(cg, b), word = LLVMBuildLoad2(ir, cg->i64, at, "");
    LLVMBuildStore(ir, LLVMBuildAnd(ir, word, c64(cg, ~(1ull << (b & 63))), ""), at);
}

void pending_set_leave(struct codegen *cg)
{
    if (cg->flow->pending_set != NULL && !cg->cur->converged)
        LLVMBuildStore(cg->alu.b, c32(cg, 0),
                       pending_pointer(cg, (int32_t)(cg->cur - cg->k->blocks)));
}

void pending_set_search(struct codegen *cg, int32_t first)
{
    LLVMBuilderRef b = cg->alu.b;
    struct pending_set *p = cg->flow->pending_set;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(b);
    LLVMValueRef word = c32(cg, (uint64_t)(first >> 6));
    if (p->search == NULL) {
        p->search = new_bb(cg, "search");
        LLVMPositionBuilderAtEnd(b, p->search);
        p->from = LLVMBuildPhi(b, cg->i32, "");
        LLVMPositionBuilderAtEnd(b, here);
    }
    LLVMAddIncoming(p->from, &word, &here, 1);
    LLVMBuildBr(b, p->search);
}

/* A set that does not change, in the module. */
static LLVMValueRef constant_set(struct codegen *cg, const uint64_t *set)
{
    int32_t words = cg->flow->pending_set->words;
    LLVMValueRef *items = xmalloc(sizeof *items * (size_t)words);
    for (int32_t w = 0; w < words; w++)
        items[w] = c64(cg, set[w]);
    LLVMValueRef v = LLVMConstArray2(cg->i64, items, (uint64_t)words);
    free(items);
    LLVMValueRef at = LLVMAddGlobal(cg->alu.module, LLVMTypeOf(v), "blocks");
    LLVMSetInitializer(at, v);
    LLVMSetGlobalConstant(at, true);
    LLVMSetLinkage(at, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(at, LLVMGlobalUnnamedAddr);
    return at;
}

/* Where lanes may be pending while the poll runs, of the blocks in a set. */
static LLVMValueRef constant_pending(struct codegen *cg, const struct jblock *poll,
                                     const uint64_t *set)
{
    const struct jkernel *k = cg->k;
    uint64_t *may = xcalloc(bit_bytes(k->nblocks), 1);
    EACH_BIT (c, poll->frontier, k->nblocks)
        if (bit_get(set, c) && !k->blocks[c].serialized)
            bit_set(may, c);
    LLVMValueRef at = constant_set(cg, may);
    free(may);
    return at;
}

void pending_set_offer(struct codegen *cg, const struct jblock *poll, LLVMValueRef may)
{
    LLVMBuilderRef b = cg->alu.b;
    struct pending_set *p = cg->flow->pending_set;
    LLVMValueRef all = LLVMBuildICmp(b, LLVMIntUGE, may, c32(cg, 2), "");
    LLVMValueRef set = LLVMBuildSelect(b, all, constant_pending(cg, poll, poll->spin_yields),
                                       constant_pending(cg, poll, poll->spin_early), "");
    LLVMValueRef loop = c32(cg, (uint64_t)poll->succ[0]);
    LLVMBasicBlockRef here = LLVMGetInsertBlock(b);
    if (p->offer == NULL) {
        p->offer = new_bb(cg, "offer");
        LLVMPositionBuilderAtEnd(b, p->offer);
        p->may = LLVMBuildPhi(b, cg->ptr, "");
        p->after = LLVMBuildPhi(b, cg->i32, "");
        LLVMPositionBuilderAtEnd(b, here);
    }
    LLVMAddIncoming(p->may, &set, &here, 1);
    LLVMAddIncoming(p->after, &loop, &here, 1);
    LLVMBuildBr(b, p->offer);
}

/* What polls branch to; where no lanes may go first, the first block in the set goes on. */
static void emit_offer(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    struct pending_set *p = cg->flow->pending_set;
    if (p->offer == NULL)
        return;
    LLVMPositionBuilderAtEnd(b, p->offer);
    LLVMValueRef args[4] = {set_pointer(cg, 0), p->may, c32(cg, (uint64_t)cg->k->nblocks),
                            p->after};
    LLVMValueRef block = call_helper(cg, "weir_rt_take_pending", cg->i32, args, 4);
    LLVMBasicBlockRef none = new_bb(cg, "none_goes_first");
    LLVMValueRef sw =
        LLVMBuildSwitch(b, block, none, (unsigned)bit_count(p->targets, cg->k->nblocks));
    EACH_BIT (c, p->targets, cg->k->nblocks)
        if (!cg->k->blocks[c].converged)
            LLVMAddCase(sw, c32(cg, (uint64_t)c), flow_block(cg, c));
    LLVMPositionBuilderAtEnd(b, none);
    pending_set_search(cg, 0);
}

/* A block at which all live lanes are, unless all have ended. */
static LLVMBasicBlockRef if_any_lives(struct codegen *cg, int32_t c)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(b), test = new_bb(cg, "any_lives");
    LLVMPositionBuilderAtEnd(b, test);
    LLVMValueRef live = LLVMBuildLoad2(b, cg->i32, cg->live_slot, "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, live, c32(cg, 0), ""), flow_block(cg, c),
                    cg->flow->next_warp);
    LLVMPositionBuilderAtEnd(b, here);
    return test;
}

void pending_set_emit_search(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    struct pending_set *p = cg->flow->pending_set;
    if (p != NULL)
        emit_offer(cg);
    if (p == NULL || p->search == NULL)
        return;
    LLVMBasicBlockRef look = new_bb(cg, "look"), next = new_bb(cg, "next_word"),
                      found = new_bb(cg, "found"), never = new_bb(cg, "never");
    LLVMPositionBuilderAtEnd(b, p->search);
    LLVMBuildBr(b, look);
    LLVMPositionBuilderAtEnd(b, look);
    LLVMValueRef n = LLVMBuildPhi(b, cg->i32, "");
    LLVMValueRef at = LLVMBuildShl(b, LLVMBuildZExt(b, n, cg->i64, ""), c64(cg, 3), "");
    at = byte_offset(cg, set_pointer(cg, 0), at);
    LLVMValueRef word = LLVMBuildLoad2(b, cg->i64, at, "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, word, c64(cg, 0), ""), found, next);
    LLVMPositionBuilderAtEnd(b, next);
    LLVMValueRef n2 = LLVMBuildAdd(b, n, c32(cg, 1), "");
    LLVMAddIncoming(n, (LLVMValueRef[]){p->from, n2}, (LLVMBasicBlockRef[]){p->search, next}, 2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, n2, c32(cg, (uint64_t)p->words), ""), look,
                    cg->flow->next_warp);
    LLVMPositionBuilderAtEnd(b, found);
    LLVMValueRef rest = LLVMBuildAnd(b, word, LLVMBuildSub(b, word, c64(cg, 1), ""), "");
    LLVMBuildStore(b, rest, at);
    LLVMValueRef bit = intrinsic(cg, "llvm.cttz", &cg->i64, 1,
                                 (LLVMValueRef[]){word, LLVMConstInt(cg->i1, 1, false)}, 2);
    LLVMValueRef block =
        LLVMBuildOr(b, LLVMBuildShl(b, n, c32(cg, 6), ""), LLVMBuildTrunc(b, bit, cg->i32, ""), "");
    LLVMValueRef sw =
        LLVMBuildSwitch(b, block, never, (unsigned)bit_count(p->targets, cg->k->nblocks));
    EACH_BIT (c, p->targets, cg->k->nblocks)
        LLVMAddCase(sw, c32(cg, (uint64_t)c),
                    cg->k->blocks[c].converged ? if_any_lives(cg, c) : flow_block(cg, c));
    LLVMPositionBuilderAtEnd(b, never);
    LLVMBuildUnreachable(b);
}
