/* compare_swap.c: atom.cas outside of shared memory.
 *
 * Programs make atomics that there are not by a loop around one: minima of floats, products. Its
 * new value often is the one that it compares with. Such an operation changes nothing whether it
 * succeeds or not, and unless it orders other accesses it is a load. That needs no locked
 * instruction, after which a CPU begins nothing, and leaves the line in the caches of all cores. */
#include <stdio.h>

#include "compiler/codegen/control/control.h"
#include "compiler/codegen/memory/atomics.h"
#include "compiler/codegen/module_function.h"
#include "compiler/codegen/values.h"

LLVMValueRef atomic_swap(struct codegen *cg, const struct atomic *a, LLVMValueRef p, LLVMValueRef x,
                         LLVMValueRef c)
{
    LLVMBuilderRef b = cg->alu.b;
    if (!a->may_skip)
        return atomic_update(cg, a, p, x, c);
    LLVMBasicBlockRef read = new_bb(cg, "swap_read"), swap = new_bb(cg, "swap"),
                      done = new_bb(cg, "swapped");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, x, c, ""), read, swap);
    LLVMPositionBuilderAtEnd(b, read);
    LLVMValueRef seen = LLVMBuildLoad2(b, a->elem, p, "");
    LLVMSetAlignment(seen, a->bytes);
    LLVMSetOrdering(seen, LLVMAtomicOrderingMonotonic);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, swap);
    LLVMValueRef old = atomic_update(cg, a, p, x, c);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
    LLVMValueRef r = LLVMBuildPhi(b, a->elem, "");
    LLVMAddIncoming(r, (LLVMValueRef[]){seen, old}, (LLVMBasicBlockRef[]){read, swap}, 2);
    return r;
}

/* void (i32 lanes, ptr addresses, ptr old values): puts what the lanes' elements are there. */
static void read_body(struct codegen *cg, LLVMValueRef fn, const void *arg)
{
    const struct atomic *a = arg;
    LLVMValueRef caller = cg->fn, mask = cg->mask, mask_vec = cg->mask_vec;
    LLVMBasicBlockRef entry = cg->entry;
    cg->fn = fn;
    cg->entry = LLVMGetInsertBlock(cg->alu.b);
    cg->mask = LLVMGetParam(fn, 0);
    cg->mask_vec = NULL;
    LLVMValueRef addr = LLVMBuildLoad2(cg->alu.b, cg->v32i64, LLVMGetParam(fn, 1), "");
    LLVMValueRef seen = atomic_gather(cg, a, addr), out = LLVMGetParam(fn, 2);
    LLVMValueRef others = LLVMBuildLoad2(cg->alu.b, LLVMTypeOf(seen), out, "");
    LLVMBuildStore(cg->alu.b, LLVMBuildSelect(cg->alu.b, mask_vector(cg), seen, others, ""), out);
    cg->fn = caller;
    cg->entry = entry;
    cg->mask = mask;
    cg->mask_vec = mask_vec;
}

/* Reads for the lanes `lanes` (i32), if any. */
static void read_lanes(struct codegen *cg, const struct atomic *a, LLVMValueRef lanes)
{
    LLVMBuilderRef b = cg->alu.b;
    char name[64];
    snprintf(name, sizeof name, "weir_atomic_read_%u", a->bytes);
    LLVMTypeRef params[3] = {cg->i32, cg->ptr, cg->ptr};
    LLVMValueRef fn = module_function(cg, name, params, 3, read_body, a);
    LLVMBasicBlockRef read = new_bb(cg, "swap_read"), swap = new_bb(cg, "swap");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, lanes, c32(cg, 0), ""), read, swap);
    LLVMPositionBuilderAtEnd(b, read);
    LLVMValueRef args[3] = {lanes, a->at, a->out};
    LLVMBuildCall2(b, LLVMGlobalGetValueType(fn), fn, args, 3, "");
    LLVMBuildBr(b, swap);
    LLVMPositionBuilderAtEnd(b, swap);
}

/* A body for for_active_lanes, with the values that are compared in a->out: puts the old one there
 * if it is another. A locked instruction waits for the stores before it, and there is none this
 * way. */
static void swap_lane(struct codegen *cg, LLVMValueRef lane, void *arg)
{
    const struct atomic *a = arg;
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef at = LLVMBuildLoad2(b, cg->i64, atomic_element(cg, a->at, cg->i64, lane), "");
    LLVMValueRef p = LLVMBuildIntToPtr(b, at, cg->ptr, ""), x = atomic_term(cg, a, lane, 0);
    LLVMValueRef c = LLVMBuildLoad2(b, a->elem, atomic_element(cg, a->c, a->elem, lane), "");
    LLVMValueRef r = LLVMBuildAtomicCmpXchg(b, p, x, c, LLVMAtomicOrderingSequentiallyConsistent,
                                            LLVMAtomicOrderingSequentiallyConsistent, false);
    LLVMBasicBlockRef failed = new_bb(cg, "not_swapped"), done = new_bb(cg, "swapped");
    branch_likely(cg, LLVMBuildExtractValue(b, r, 1, ""), done, failed);
    LLVMPositionBuilderAtEnd(b, failed);
    LLVMBuildStore(b, LLVMBuildExtractValue(b, r, 0, ""),
                   atomic_element(cg, a->out, a->elem, lane));
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
}

bool atomic_swapped(struct codegen *cg, struct atomic *a, const struct ptx_operand *compared,
                    LLVMValueRef v, LLVMValueRef c, LLVMValueRef addr, LLVMValueRef *old)
{
    if (a->op != PTX_M_cas || !a->may_skip || (a->bytes != 4 && a->bytes != 8))
        return false;
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef lanes = mask_bits(cg);
    LLVMValueRef same = bits_of(cg, LLVMBuildICmp(b, LLVMIntEQ, v, c, ""));
    a->at = atomic_array(cg, addr);
    a->b = atomic_array(cg, v);
    a->c = atomic_array(cg, c);
    a->out = atomic_array(cg, v);
    read_lanes(cg, a, LLVMBuildAnd(b, lanes, same, ""));
    LLVMValueRef others = LLVMBuildAnd(b, lanes, LLVMBuildNot(b, same, ""), "");
    /* One value for all lanes is that of a place which is free, and may not be found. */
    struct uniformity u = operand_uniformity(cg->k, compared);
    for_active_lanes(cg, others, is_uniform(&u) ? atomic_lane : swap_lane, a);
    if (old != NULL)
        *old = LLVMBuildLoad2(b, LLVMTypeOf(v), a->out, "");
    return true;
}
