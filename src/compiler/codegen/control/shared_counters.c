/* shared_counters: one addition takes the places of all warps that have come to the atomic
 * (analysis/shared_counters.c).
 *
 * A warp that comes there notes how many places the warps before it want, adds what its own lanes
 * do, and waits. When all have run, the first that goes on adds the sum to memory; what was there
 * is where the places of all begin. */
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/frame.h"
#include "compiler/codegen/memory/atomics.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/values.h"

struct shared_counter {
    uint32_t offset;            /* in a frame: i64, places of the warps before */
    LLVMValueRef wanted, total; /* i64: places of this turn, and of the one before */
    LLVMValueRef taken, base;   /* i1: have those been taken? i64: where they begin */
};

void counter_init(struct codegen *cg)
{
    if (cg->k->counter == 0)
        return;
    struct shared_counter *c = arena_alloc(&cg->k->arena, sizeof *c);
    cg->frame->bytes = (cg->frame->bytes + 7) & ~7u;
    c->offset = cg->frame->bytes;
    cg->frame->bytes += 8;
    c->wanted = new_slot(cg, cg->i64, "wanted");
    c->total = new_slot(cg, cg->i64, "total");
    c->taken = new_slot(cg, cg->i1, "taken");
    c->base = new_slot(cg, cg->i64, "base");
    LLVMBuildStore(cg->alu.b, c64(cg, 0), c->wanted);
    LLVMBuildStore(cg->alu.b, c64(cg, 0), c->total);
    LLVMBuildStore(cg->alu.b, c64(cg, 0), c->base);
    LLVMBuildStore(cg->alu.b, LLVMConstInt(cg->i1, 0, false), c->taken);
    cg->counter = c;
}

static LLVMValueRef places_before(struct codegen *cg)
{
    return byte_offset(cg, cg->frame_w, c64(cg, cg->counter->offset));
}

void counter_wait(struct codegen *cg, const struct jblock *blk)
{
    LLVMBuilderRef b = cg->alu.b;
    const struct ptx_instr *i = &cg->k->instrs[cg->k->counter - 1];
    LLVMValueRef wanted = LLVMBuildLoad2(b, cg->i64, cg->counter->wanted, "");
    tag_frame(cg, LLVMBuildStore(b, wanted, places_before(cg)));
    LLVMValueRef own = atomic_wanted(cg, i);
    LLVMBuildStore(b, LLVMBuildAdd(b, wanted, own, ""), cg->counter->wanted);
    interleave_wait(cg, blk);
}

void counter_turn(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    if (cg->counter == NULL)
        return;
    LLVMBuildStore(b, LLVMBuildLoad2(b, cg->i64, cg->counter->wanted, ""), cg->counter->total);
    LLVMBuildStore(b, c64(cg, 0), cg->counter->wanted);
    LLVMBuildStore(b, LLVMConstInt(cg->i1, 0, false), cg->counter->taken);
}

bool counter_shared(const struct codegen *cg, const struct ptx_instr *i)
{
    return cg->counter != NULL && batch_abreast(cg) && i == &cg->k->instrs[cg->k->counter - 1];
}

LLVMValueRef counter_place(struct codegen *cg, const struct atomic *a, LLVMValueRef p)
{
    LLVMBuilderRef b = cg->alu.b;
    struct shared_counter *c = cg->counter;
    LLVMBasicBlockRef take = new_bb(cg, "take_places"), have = new_bb(cg, "places");
    LLVMBuildCondBr(b, LLVMBuildLoad2(b, cg->i1, c->taken, ""), have, take);
    LLVMPositionBuilderAtEnd(b, take);
    LLVMValueRef total = LLVMBuildLoad2(b, cg->i64, c->total, "");
    LLVMValueRef old =
        atomic_update(cg, a, p, LLVMBuildIntCast2(b, total, a->elem, false, ""), NULL);
    LLVMBuildStore(b, LLVMBuildIntCast2(b, old, cg->i64, false, ""), c->base);
    LLVMBuildStore(b, LLVMConstInt(cg->i1, 1, false), c->taken);
    LLVMBuildBr(b, have);
    LLVMPositionBuilderAtEnd(b, have);
    LLVMValueRef before = LLVMBuildLoad2(b, cg->i64, places_before(cg), "");
    tag_frame(cg, before);
    LLVMValueRef at = LLVMBuildAdd(b, LLVMBuildLoad2(b, cg->i64, c->base, ""), before, "");
    return LLVMBuildIntCast2(b, at, a->elem, false, "");
}
