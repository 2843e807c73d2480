/* gates.c: which of the lanes at a gate may go on (analysis/gates.c). */
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/values.h"

void gate_collect(struct codegen *cg, const struct jblock *gate)
{
    LLVMBuilderRef b = cg->alu.b;
    int32_t wait = gate->succ[1];
    if (gate->converged || !bit_get(gate->frontier, wait))
        return; /* none wait */
    LLVMValueRef here = pending_pointer(cg, (int32_t)(gate - cg->k->blocks));
    LLVMValueRef there = pending_pointer(cg, wait);
    LLVMValueRef lanes = LLVMBuildOr(b, LLVMBuildLoad2(b, cg->i32, here, ""),
                                     LLVMBuildLoad2(b, cg->i32, there, ""), "");
    LLVMBuildStore(b, lanes, here);
    LLVMBuildStore(b, c32(cg, 0), there);
    if (cg->flow->pending_set != NULL)
        pending_set_remove(cg, wait);
}

/* i32: the lanes that are alive and not active. */
static LLVMValueRef absent_lanes(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef live =
        cg->always_full ? c32(cg, 0xffffffffu) : LLVMBuildLoad2(b, cg->i32, cg->live_slot, "");
    return LLVMBuildAnd(b, live, LLVMBuildNot(b, mask_bits(cg), ""), "");
}

LLVMValueRef gate_ready_lanes(struct codegen *cg, const struct jblock *gate)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef absent = absent_lanes(cg), active = mask_bits(cg);
    if (gate->members != NULL) {
        struct uniformity s = operand_uniformity(cg->k, gate->members);
        if (!is_uniform(&s)) {
            LLVMValueRef needed = operand_vector(cg, gate->members, PTX_B32);
            needed = LLVMBuildAnd(b, needed, splat(cg, absent, JIT_WARP), "");
            needed = LLVMBuildICmp(b, LLVMIntEQ, needed, LLVMConstNull(cg->v32i32), "");
            return LLVMBuildAnd(b, bits_of(cg, needed), active, "");
        }
        absent =
            LLVMBuildAnd(b, absent, operand_scalar(cg, gate->members, PTX_B32, SEG_WARP, 0), "");
    }
    LLVMValueRef complete = LLVMBuildICmp(b, LLVMIntEQ, absent, c32(cg, 0), "");
    return LLVMBuildSelect(b, complete, active, c32(cg, 0), "");
}
