/* addresses.c: addresses of accesses: of segments of lanes and of each lane, in the spaces that
 * there are, and the faults of those that are not aligned. */
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/scalar_functions.h"
#include "compiler/codegen/values.h"

unsigned mem_space(const struct ptx_instr *i)
{
    return i->nspaces > 0 && i->spaces[0] != PTX_SPACE_NONE ? i->spaces[0] : PTX_SPACE_GENERIC;
}

bool mem_orders(const struct ptx_instr *i)
{
    return ptx_has(i, PTX_M_acquire) || ptx_has(i, PTX_M_release) || ptx_has(i, PTX_M_acq_rel) ||
           ptx_has(i, PTX_M_sc);
}

/* Is the alignment known at compile time? */
static bool known_aligned(const struct access *a)
{
    return mem_alignment(a) == 1 || (a->space == PTX_SPACE_PARAM && a->at->reg < 0) ||
           (a->uniformity.seg != SEG_NONE &&
            (1ull << (a->uniformity.align & 63)) >= mem_alignment(a));
}

/* Faults when `bad` (i1) holds; the builder is left where it does not. */
static void fault_if(struct codegen *cg, LLVMValueRef bad, LLVMValueRef mask, LLVMValueRef address)
{
    LLVMBasicBlockRef yes = new_bb(cg, "misaligned"), no = new_bb(cg, "aligned");
    LLVMBuildCondBr(cg->alu.b, bad, yes, no);
    LLVMPositionBuilderAtEnd(cg->alu.b, yes);
    emit_fault(cg, JIT_FAULT_MISALIGNED, mask, address);
    LLVMBuildUnreachable(cg->alu.b);
    LLVMPositionBuilderAtEnd(cg->alu.b, no);
}

void mem_fault_if_misaligned(struct codegen *cg, unsigned space, LLVMValueRef address, unsigned due)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef low = LLVMBuildAnd(b, address, c64(cg, due - 1), "");
    LLVMValueRef bad = LLVMBuildICmp(b, LLVMIntNE, low, c64(cg, 0), "");
    if (space == PTX_SPACE_SHARED)
        address = LLVMBuildAdd(b, address, LLVMBuildPtrToInt(b, cg->block.shared, cg->i64, ""), "");
    fault_if(cg, bad, mask_bits(cg), address);
}

void fault_misaligned_lanes(struct codegen *cg, LLVMValueRef lanes, LLVMValueRef at)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef yes = new_bb(cg, "misaligned"), no = new_bb(cg, "aligned");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, lanes, c32(cg, 0), ""), yes, no);
    LLVMPositionBuilderAtEnd(b, yes);
    LLVMValueRef lane = lowest_lane(cg, lanes);
    LLVMValueRef address = LLVMBuildExtractElement(b, at, lane, "");
    if (LLVMTypeOf(address) != cg->i64) /* an offset into shared memory */
        address = LLVMBuildPtrToInt(
            b, byte_offset(cg, cg->block.shared, LLVMBuildZExt(b, address, cg->i64, "")), cg->i64,
            "");
    emit_fault(cg, JIT_FAULT_MISALIGNED, lanes, address);
    LLVMBuildUnreachable(b);
    LLVMPositionBuilderAtEnd(b, no);
}

LLVMValueRef mem_segment_active(struct codegen *cg, unsigned seg, int s)
{
    uint32_t lanes = seg == SEG_WARP ? 0xffffffffu : ((1u << (1 << seg)) - 1) << (s << seg);
    LLVMValueRef m = LLVMBuildAnd(cg->alu.b, cg->mask, c32(cg, lanes), "");
    return LLVMBuildICmp(cg->alu.b, LLVMIntNE, m, c32(cg, 0), "");
}

void mem_check_pointer(struct codegen *cg, const struct access *a, LLVMValueRef p, unsigned seg,
                       int s)
{
    if (known_aligned(a))
        return;
    LLVMValueRef v = LLVMBuildPtrToInt(cg->alu.b, p, cg->i64, "");
    LLVMValueRef low = LLVMBuildAnd(cg->alu.b, v, c64(cg, mem_alignment(a) - 1), "");
    LLVMValueRef bad = LLVMBuildICmp(cg->alu.b, LLVMIntNE, low, c64(cg, 0), "");
    if (seg != SEG_WARP && cg->mask != NULL) /* the pointer of an inactive segment may be
                                                anything */
        bad = LLVMBuildAnd(cg->alu.b, bad, mem_segment_active(cg, seg, s), "");
    if (cg->serialized->executes != NULL)
        bad = LLVMBuildAnd(cg->alu.b, bad, cg->serialized->executes, "");
    fault_if(cg, bad, mask_bits(cg), v);
}

/* The address of a segment's first lane in a register. In one of 32 bits, which shared addresses
 * may have, it may lie below 0 while those of the lanes that take part do not (`if (t >= n) x = s[t
 * - n]`): these come right when it has its sign. */
static LLVMValueRef register_base(struct codegen *cg, const struct ptx_operand *o, unsigned seg,
                                  int s)
{
    const struct jreg *r = &cg->k->regs[o->reg];
    bool moves = r->uniformity.stride != 0 || r->uniformity.brk != 0;
    if (!moves || ptx_type_bits((enum ptx_type)r->type) != 32)
        return operand_scalar(cg, o, PTX_U64, seg, s);
    return LLVMBuildSExt(cg->alu.b, operand_scalar(cg, o, PTX_U32, seg, s), cg->i64, "");
}

LLVMValueRef mem_base(struct codegen *cg, const struct ptx_operand *o, unsigned seg, int s)
{
    struct ptx_operand p = *o;
    LLVMValueRef v;
    if (o->reg >= 0) {
        p.kind = PTX_OPR_REG;
        v = register_base(cg, &p, seg, s);
    } else if (o->var != NULL) {
        p.kind = PTX_OPR_SYM;
        return operand_scalar(cg, &p, PTX_U64, seg, s);
    } else {
        return c64(cg, (uint64_t)o->offset);
    }
    return o->offset ? LLVMBuildAdd(cg->alu.b, v, c64(cg, (uint64_t)o->offset), "") : v;
}

/* Where the window of the warp's lane 0 starts, or that of the one lane which runs. */
static LLVMValueRef local_window(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef lane =
        LLVMBuildZExt(b, LLVMBuildShl(b, cg->w, c32(cg, SEG_WARP), ""), cg->i64, "");
    if (cg->serialized->active)
        lane = LLVMBuildOr(b, lane, cg->serialized->lane, "");
    return byte_offset(cg, cg->block.local, LLVMBuildMul(b, lane, cg->block.local_stride, ""));
}

LLVMValueRef mem_pointer(struct codegen *cg, const struct access *a, unsigned seg, int s)
{
    LLVMValueRef v = cg->k->one_lane ? scalar_area(cg, a->at) : NULL;
    if (v != NULL)
        return v;
    v = mem_base(cg, a->at, seg, s);
    if (a->windowed && cg->k->one_lane)
        return byte_offset(cg, scalar_window(cg), v);
    if (a->windowed)
        return byte_offset(cg, local_window(cg), v);
    if (a->space == PTX_SPACE_SHARED)
        return byte_offset(cg, cg->block.shared, v);
    if (a->space == PTX_SPACE_PARAM && a->at->reg < 0 && a->at->var != NULL) {
        /* stay based on the parameter pointer, which LLVM can follow */
        LLVMValueRef off = LLVMBuildSub(
            cg->alu.b, v, LLVMBuildPtrToInt(cg->alu.b, cg->block.params, cg->i64, ""), "");
        return byte_offset(cg, cg->block.params, off);
    }
    return LLVMBuildIntToPtr(cg->alu.b, v, cg->ptr, "");
}

LLVMValueRef address_vector(struct codegen *cg, const struct ptx_operand *o, unsigned space)
{
    LLVMBuilderRef b = cg->alu.b;
    struct ptx_operand p = *o;
    LLVMValueRef v;
    if (o->reg >= 0) {
        p.kind = PTX_OPR_REG;
        v = operand_vector(cg, &p, PTX_U64);
        if (o->offset)
            v = LLVMBuildAdd(b, v, splat(cg, c64(cg, (uint64_t)o->offset), JIT_WARP), "");
    } else {
        v = splat(cg, mem_base(cg, o, SEG_WARP, 0), JIT_WARP);
    }
    if (space == PTX_SPACE_SHARED)
        v = LLVMBuildAdd(
            b, v, splat(cg, LLVMBuildPtrToInt(b, cg->block.shared, cg->i64, ""), JIT_WARP), "");
    if (space == PTX_SPACE_LOCAL) {
        LLVMValueRef first =
            LLVMBuildZExt(b, LLVMBuildShl(b, cg->w, c32(cg, SEG_WARP), ""), cg->i64, "");
        LLVMValueRef lane = from_segments(cg, &first, SEG_WARP, 1);
        LLVMValueRef base = LLVMBuildPtrToInt(b, cg->block.local, cg->i64, "");
        v = LLVMBuildAdd(
            b, v, LLVMBuildMul(b, lane, splat(cg, cg->block.local_stride, JIT_WARP), ""), "");
        v = LLVMBuildAdd(b, v, splat(cg, base, JIT_WARP), "");
    }
    return v;
}
