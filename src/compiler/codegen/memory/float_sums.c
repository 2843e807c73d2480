/* float_sums.c: sums of floats that many threads add to few places; deferred_sums.c has the
 * argument why they may be collected.
 *
 * Their order matters, so numbers are not added to each other before they are added to memory: a
 * call keeps a record of what each warp adds, and where, and adds them when it ends
 * (src/exec/float_sums.c). That takes a few instructions a warp in place of a locked one for each
 * address, and the lines of the sums do not go from core to core for each warp. */
#include <stddef.h>

#include "abi/kernel_abi.h"
#include "base/base.h"
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/memory/deferred_state.h"
#include "compiler/codegen/values.h"

enum {
    MOST_ADMITTED = 16, /* warps of a call that have pages admitted or find that they cannot */
    FIRST_WARPS = 64,   /* of a call: their sums are made at once, as shorter calls gain nothing; */
    MANY_WARPS = 64,    /* and it is not short that runs so many warps */
};

#define STATE_FIELD(name) offsetof(struct jit_float_sums, name)

_Static_assert(STATE_FIELD(start) == STATE_START && STATE_FIELD(size) == STATE_SIZE &&
                   STATE_FIELD(tries) == STATE_TRIES,
               "as deferred_sums.c has it");

static LLVMValueRef field(struct codegen *cg, uint64_t offset)
{
    return byte_offset(cg, cg->deferred->state, c64(cg, offset));
}

static LLVMValueRef load32(struct codegen *cg, uint64_t offset)
{
    return LLVMBuildLoad2(cg->alu.b, cg->i32, field(cg, offset), "");
}

void float_sums_open(struct codegen *cg, LLVMValueRef blocks)
{
    LLVMBuilderRef b = cg->alu.b;
    uint64_t many = (MANY_WARPS + (uint64_t)cg->k->nwarps - 1) / (uint64_t)cg->k->nwarps;
    LLVMValueRef is_long = LLVMBuildICmp(b, LLVMIntUGE, blocks, c32(cg, many), "");
    LLVMValueRef tries = LLVMBuildSelect(b, is_long, c32(cg, MOST_ADMITTED),
                                         c32(cg, FIRST_WARPS + MOST_ADMITTED), "");
    LLVMBuildStore(b, c64(cg, 0), field(cg, STATE_FIELD(start)));
    LLVMBuildStore(b, c64(cg, 0), field(cg, STATE_FIELD(size)));
    LLVMBuildStore(b, tries, field(cg, STATE_FIELD(tries)));
    LLVMBuildStore(b, c32(cg, 0), field(cg, STATE_FIELD(count)));
}

void float_sums_flush(struct codegen *cg, bool keep)
{
    LLVMValueRef args[3] = {cg->block.ptr, cg->deferred->state, c32(cg, keep)};
    call_helper(cg, "weir_rt_sums_add", LLVMVoidTypeInContext(cg->alu.ctx), args, 3);
}

/* i1: have all active lanes' elements a copy? */
static LLVMValueRef all_inside(struct codegen *cg, const struct sum_places *places, unsigned count)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef inside = NULL, offsets;
    for (unsigned n = 0; n < count; n++) {
        LLVMValueRef here = deferred_lanes(cg, &places[n], &offsets);
        inside = inside == NULL ? here : LLVMBuildAnd(b, inside, here, "");
    }
    inside = LLVMBuildOr(b, inside, LLVMBuildNot(b, mask_bits(cg), ""), "");
    return LLVMBuildICmp(b, LLVMIntEQ, inside, c32(cg, 0xffffffff), "");
}

/* Has the lanes' pages admitted, and goes on at `again`, unless too many have been. */
static void admit(struct codegen *cg, const struct sum_places *places, unsigned count,
                  LLVMBasicBlockRef again, LLVMBasicBlockRef far)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef tries = load32(cg, STATE_FIELD(tries));
    LLVMBasicBlockRef some = new_bb(cg, "may_admit"), ask = new_bb(cg, "admit");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, tries, c32(cg, 0), ""), some, far);
    LLVMPositionBuilderAtEnd(b, some);
    LLVMBuildStore(b, LLVMBuildSub(b, tries, c32(cg, 1), ""), field(cg, STATE_FIELD(tries)));
    LLVMValueRef now = LLVMBuildICmp(b, LLVMIntULE, tries, c32(cg, MOST_ADMITTED), "");
    LLVMBuildCondBr(b, now, ask, far);
    LLVMPositionBuilderAtEnd(b, ask);
    for (unsigned n = 0; n < count; n++) {
        LLVMValueRef args[4] = {cg->block.ptr, cg->deferred->state, mask_bits(cg),
                                atomic_array(cg, places[n].addr)};
        call_helper(cg, "weir_rt_sums_admit", LLVMVoidTypeInContext(cg->alu.ctx), args, 4);
    }
    LLVMBuildBr(b, again);
}

/* A record of what the active lanes add. */
static void keep_record(struct codegen *cg, const struct sum_places *p, LLVMValueRef value)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef offsets, count = load32(cg, STATE_FIELD(count));
    deferred_lanes(cg, p, &offsets);
    if (cg->mask != NULL) {
        LLVMValueRef none = LLVMConstInt(cg->i16, JIT_SUM_WINDOW, false);
        offsets = LLVMBuildSelect(b, mask_vector(cg), offsets, splat(cg, none, JIT_WARP), "");
    }
    LLVMValueRef at = LLVMBuildMul(b, LLVMBuildZExt(b, count, cg->i64, ""),
                                   c64(cg, sizeof(struct jit_sum_record)), "");
    LLVMValueRef records = LLVMBuildLoad2(b, cg->ptr, field(cg, STATE_FIELD(records)), "");
    LLVMValueRef record = byte_offset(cg, records, at);
    LLVMValueRef in = byte_offset(cg, record, c64(cg, offsetof(struct jit_sum_record, value)));
    LLVMSetAlignment(LLVMBuildStore(b, value, in), 8);
    in = byte_offset(cg, record, c64(cg, offsetof(struct jit_sum_record, place)));
    LLVMSetAlignment(LLVMBuildStore(b, offsets, in), 8);
    count = LLVMBuildAdd(b, count, c32(cg, 1), "");
    LLVMBuildStore(b, count, field(cg, STATE_FIELD(count)));
    LLVMBasicBlockRef full = new_bb(cg, "records_full"), kept = new_bb(cg, "record_kept");
    LLVMValueRef most = load32(cg, STATE_FIELD(capacity));
    branch_likely(cg, LLVMBuildICmp(b, LLVMIntNE, count, most, ""), kept, full);
    LLVMPositionBuilderAtEnd(b, full);
    float_sums_flush(cg, true);
    LLVMBuildBr(b, kept);
    LLVMPositionBuilderAtEnd(b, kept);
}

void float_sums_collect(struct codegen *cg, const struct sum_places *places, LLVMValueRef *values,
                        unsigned count, LLVMBasicBlockRef done)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef may = new_bb(cg, "may_collect"), look = new_bb(cg, "sums_inside"),
                      inside = new_bb(cg, "inside"), outside = new_bb(cg, "outside"),
                      keep = new_bb(cg, "keep_sums"), far = new_bb(cg, "not_collected");
    mask_vector(cg); /* computed here, so that all branches may use it */
    LLVMValueRef some =
        LLVMBuildOr(b, load32(cg, STATE_FIELD(size)), load32(cg, STATE_FIELD(tries)), "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, some, c32(cg, 0), ""), may, far);
    LLVMPositionBuilderAtEnd(b, may);
    LLVMValueRef small = NULL;
    for (unsigned n = 0; n < count; n++) {
        LLVMValueRef here = atomic_is_small(cg, values[n]);
        small = small == NULL ? here : LLVMBuildOr(b, small, here, "");
    }
    small = LLVMBuildAnd(b, bits_of(cg, small), mask_bits(cg), "");
    branch_likely(cg, LLVMBuildICmp(b, LLVMIntEQ, small, c32(cg, 0), ""), look, far);
    LLVMPositionBuilderAtEnd(b, look);
    branch_likely(cg, all_inside(cg, places, count), inside, outside);
    LLVMPositionBuilderAtEnd(b, outside);
    admit(cg, places, count, keep, far);
    LLVMPositionBuilderAtEnd(b, keep);
    LLVMBuildCondBr(b, all_inside(cg, places, count), inside, far);
    LLVMPositionBuilderAtEnd(b, inside);
    for (unsigned n = 0; n < count; n++)
        keep_record(cg, &places[n], values[n]);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, far);
}
