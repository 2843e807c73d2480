/* sum_chains.c: sums of floats that a thread makes one after the other, as a loop over its elements
 * does that is unrolled.
 *
 * Where a thread's elements follow each other, their keys mostly are the same. Lanes whose sums all
 * go to one address then make one operation of them, together with lanes that have that address,
 * too (atomic_groups.c), and only the others make them one by one. Nobody can tell: `red` without
 * .release orders nothing, and between the first and the last of them there is nothing but
 * arithmetic. They are emitted where the last is. */
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/memory/atomics.h"
#include "compiler/codegen/memory/deferred_state.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/values.h"

/* Those that have been met and not emitted. */
struct sum_chain {
    unsigned count;
    bool collects;                     /* a call may collect all of them (float_sums.c) */
    LLVMValueRef at[ATOMIC_TERMS];     /* <32 x i64> */
    LLVMValueRef values[ATOMIC_TERMS]; /* <32 x i32>: bits of floats */
};

/* Is it a sum of floats in global memory whose old value nobody reads and that orders nothing? */
static bool may_wait(const struct jkernel *k, const struct ptx_instr *i)
{
    if ((i->op != PTX_OP_red && i->op != PTX_OP_atom) || !ptx_has(i, PTX_M_add) || i->vec > 1 ||
        i->types[i->ntypes - 1] != PTX_F32 || mem_space(i) != PTX_SPACE_GLOBAL || mem_orders(i))
        return false;
    const struct ptx_operand *d = &i->operands[0];
    if (i->op == PTX_OP_atom && d->kind == PTX_OPR_REG && k->regs[d->reg].read)
        return false;
    struct uniformity s = address_uniformity(k, &i->operands[i->op == PTX_OP_atom ? 1 : 0]);
    return s.seg == SEG_NONE || s.stride == 0; /* else lanes have addresses of their own */
}

/* May it stand between two of them? Not what may leave the block's converged copy, either. */
static bool only_computes(const struct jkernel *k, const struct ptx_instr *i)
{
    struct diag ignored = {0};
    if (i->op != PTX_OP_mov && i->op != PTX_OP_cvta && !alu_supported(i, &ignored))
        return false;
    return jit_ndst(i) != 1 || uniformity_of(k, i, 0).brk == 0;
}

/* Does another one follow in the block? */
static bool another_follows(const struct codegen *cg, const struct ptx_instr *i)
{
    const struct jkernel *k = cg->k;
    const struct ptx_instr *end = &k->instrs[cg->cur->first + cg->cur->count];
    for (i++; i < end; i++) {
        if (may_wait(k, i))
            return true;
        if (!only_computes(k, i))
            return false;
    }
    return false;
}

/* Bits of the active lanes whose sums all go to one address. */
static LLVMValueRef lanes_with_one(struct codegen *cg, const struct sum_chain *c)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef lanes = mask_bits(cg);
    for (unsigned n = 1; n < c->count; n++) {
        LLVMValueRef same = LLVMBuildICmp(b, LLVMIntEQ, c->at[0], c->at[n], "");
        lanes = LLVMBuildAnd(b, lanes, bits_of(cg, same), "");
    }
    return lanes;
}

static LLVMValueRef count_of(struct codegen *cg, LLVMValueRef lanes)
{
    return intrinsic(cg, "llvm.ctpop", &cg->i32, 1, &lanes, 1);
}

/* All of them, of which there are at least two. Where less than half of the lanes have one address
 * for theirs, each is made by itself. */
static void emit_chain(struct codegen *cg, const struct atomic *what, struct sum_chain *c)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef at[ATOMIC_TERMS];
    LLVMTypeRef row = LLVMTypeOf(c->values[0]);
    LLVMBasicBlockRef done = new_bb(cg, "chain_done");
    if (c->collects) {
        struct sum_places places[ATOMIC_TERMS];
        for (unsigned n = 0; n < c->count; n++)
            places[n] = (struct sum_places){.addr = c->at[n]};
        float_sums_collect(cg, places, c->values, c->count, done);
    }
    LLVMValueRef values = new_slot(cg, LLVMArrayType2(row, c->count), "terms");
    for (unsigned n = 0; n < c->count; n++) {
        at[n] = atomic_array(cg, c->at[n]);
        LLVMBuildStore(b, c->values[n], atomic_element(cg, values, row, c32(cg, n)));
    }
    LLVMBasicBlockRef before, one = new_bb(cg, "one_address"), each = new_bb(cg, "addresses");
    LLVMValueRef all = mask_bits(cg), lanes = lanes_with_one(cg, c);
    LLVMValueRef twice = LLVMBuildShl(b, count_of(cg, lanes), c32(cg, 1), "");
    before = LLVMGetInsertBlock(b);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntUGT, twice, count_of(cg, all), ""), one, each);
    LLVMPositionBuilderAtEnd(b, one);
    struct atomic a = *what;
    a.at = at[0];
    a.b = values;
    a.terms = c->count;
    atomic_update_lanes(cg, &a, lanes, row, false);
    LLVMValueRef rest = LLVMBuildAnd(b, all, LLVMBuildNot(b, lanes, ""), "");
    one = LLVMGetInsertBlock(b);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, rest, c32(cg, 0), ""), each, done);
    LLVMPositionBuilderAtEnd(b, each);
    LLVMValueRef left = LLVMBuildPhi(b, cg->i32, "");
    LLVMAddIncoming(left, (LLVMValueRef[]){all, rest}, (LLVMBasicBlockRef[]){before, one}, 2);
    for (unsigned n = 0; n < c->count; n++) {
        struct atomic single = *what;
        single.at = at[n];
        single.b = atomic_element(cg, values, row, c32(cg, n));
        atomic_update_lanes(cg, &single, left, row, false);
    }
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
}

bool sum_chain_add(struct codegen *cg, const struct ptx_instr *i, const struct atomic *a,
                   LLVMValueRef v, LLVMValueRef addr)
{
    if (cg->k->opt->checked != 0 || cg->cur == NULL || cg->cur->serial_end != 0 ||
        !may_wait(cg->k, i))
        return false;
    struct sum_chain *c = cg->sums;
    bool more = (c == NULL || c->count < ATOMIC_TERMS - 1) && another_follows(cg, i);
    if ((c == NULL || c->count == 0) && !more)
        return false;
    if (c == NULL)
        c = cg->sums = arena_alloc(&cg->k->arena, sizeof *c);
    c->collects = (c->count == 0 || c->collects) && deferred_may(cg, i);
    c->at[c->count] = addr;
    c->values[c->count++] = v;
    if (more)
        return true;
    emit_chain(cg, a, c);
    c->count = 0;
    return true;
}
