/* async_copy.c: cp.async, copies of 4, 8 or 16 bytes a lane from global to shared memory, and
 * cp.async.bulk, copies and reductions of ranges, which a helper of the exec module makes.
 *
 * The copy is made where it is issued, which the ISA allows. A group that is waited for has ended
 * then, so commits and waits are no operations, and an mbarrier counts a copy's end at once. */
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/values.h"
#include "compiler/codegen/warp/warp.h"

static bool is_copy(const struct ptx_instr *i)
{
    return !ptx_has(i, PTX_M_commit_group) && !ptx_has(i, PTX_M_wait_group) &&
           !ptx_has(i, PTX_M_wait_all);
}

bool async_copy_supported(const struct ptx_instr *i, struct diag *d)
{
    if (ptx_has(i, PTX_M_tensor))
        return tensor_copy_supported(i, d);
    if (ptx_has(i, PTX_M_bulk) || ptx_has(i, PTX_M_mbarrier) || !is_copy(i))
        return true;
    uint64_t n = i->operands[2].imm;
    if (i->operands[2].kind != PTX_OPR_IMM || (n != 16 && (n != 4 && n != 8)) ||
        (ptx_has(i, PTX_M_cg) && n != 16))
        return diag_set(d, i->line, i->column, "cp.async cannot copy %llu bytes",
                        (unsigned long long)n);
    return true;
}

static LLVMValueRef lane_constant(struct codegen *cg, uint64_t v)
{
    return splat(cg, c32(cg, v), JIT_WARP);
}

/* Bytes that each lane reads, as <32 x i32>; NULL: all of them. */
static LLVMValueRef bytes_read(struct codegen *cg, const struct ptx_instr *i, unsigned bytes)
{
    int last = i->noperands - (ptx_has(i, PTX_M_L2__cache_hint) ? 1 : 0);
    if (last < 4)
        return NULL;
    const struct ptx_operand *o = &i->operands[3];
    if (o->kind == PTX_OPR_REG && cg->k->regs[o->reg].type == PTX_PRED) /* ignore-src */
        return LLVMBuildSelect(cg->alu.b, operand_vector(cg, o, PTX_PRED), lane_constant(cg, 0),
                               lane_constant(cg, bytes), "");
    struct uniformity s = operand_uniformity(cg->k, o);
    if (is_uniform(&s) && s.ranged && s.lo == s.hi && s.lo >= bytes)
        return NULL;
    return operand_vector(cg, o, PTX_U32);
}

/* The source's words, with zeros after the bytes that are read. A word of which some bytes are read
 * is loaded in full: it is aligned, so the rest of it exists. */
static void load_partial(struct codegen *cg, const struct ptx_instr *ld,
                         const struct ptx_operand *from, LLVMValueRef count, LLVMValueRef *v)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef all = mask_bits(cg), mask = cg->mask, vec = cg->mask_vec;
    struct ptx_instr one = *ld;
    struct ptx_operand at = *from;
    one.vec = 1;
    for (unsigned w = 0; w < ld->vec; w++, at.offset += 4) {
        LLVMValueRef more = LLVMBuildICmp(b, LLVMIntUGT, count, lane_constant(cg, 4 * w), "");
        cg->mask = LLVMBuildAnd(b, bits_of(cg, more), all, "");
        cg->mask_vec = NULL;
        LLVMValueRef x;
        load_lanes(cg, &one, &at, &x);
        LLVMValueRef rest = LLVMBuildSub(b, count, lane_constant(cg, 4 * w), "");
        LLVMValueRef shift = LLVMBuildShl(b, rest, lane_constant(cg, 3), "");
        shift = LLVMBuildAnd(b, shift, lane_constant(cg, 31), "");
        LLVMValueRef keep = LLVMBuildShl(b, LLVMConstAllOnes(cg->v32i32), shift, "");
        keep = LLVMBuildNot(b, keep, "");
        LLVMValueRef complete = LLVMBuildICmp(b, LLVMIntUGE, rest, lane_constant(cg, 4), "");
        x = LLVMBuildSelect(b, complete, x, LLVMBuildAnd(b, x, keep, ""), "");
        v[w] = LLVMBuildSelect(b, more, x, lane_constant(cg, 0), "");
    }
    cg->mask = mask;
    cg->mask_vec = vec;
}

/* Lanes that read everything or nothing, which is nearly always all of them, load at once. */
static void load_counted(struct codegen *cg, const struct ptx_instr *ld,
                         const struct ptx_operand *from, LLVMValueRef count, unsigned bytes,
                         LLVMValueRef *v)
{
    LLVMBuilderRef b = cg->alu.b;
    mask_vector(cg); /* made here: it is used after the branches */
    LLVMValueRef mask = cg->mask, vec = cg->mask_vec, part[4];
    LLVMValueRef full = LLVMBuildICmp(b, LLVMIntUGE, count, lane_constant(cg, bytes), "");
    LLVMValueRef none = LLVMBuildICmp(b, LLVMIntEQ, count, lane_constant(cg, 0), "");
    LLVMValueRef clear =
        LLVMBuildAnd(b, bits_of(cg, LLVMBuildOr(b, full, none, "")), mask_bits(cg), "");
    LLVMValueRef complete = LLVMBuildAnd(b, bits_of(cg, full), mask_bits(cg), "");
    LLVMBasicBlockRef fast = new_bb(cg, "full"), slow = new_bb(cg, "partial"),
                      join = new_bb(cg, "read");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, clear, mask_bits(cg), ""), fast, slow);
    LLVMPositionBuilderAtEnd(b, fast);
    cg->mask = complete;
    cg->mask_vec = NULL;
    load_lanes(cg, ld, from, v);
    for (unsigned w = 0; w < ld->vec; w++)
        v[w] = LLVMBuildSelect(b, full, v[w], lane_constant(cg, 0), "");
    cg->mask = mask;
    cg->mask_vec = vec;
    fast = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, slow);
    load_partial(cg, ld, from, count, part);
    slow = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, join);
    for (unsigned w = 0; w < ld->vec; w++) {
        LLVMValueRef x = LLVMBuildPhi(b, cg->v32i32, "");
        LLVMAddIncoming(x, (LLVMValueRef[]){v[w], part[w]}, (LLVMBasicBlockRef[]){fast, slow}, 2);
        v[w] = x;
    }
}

static enum jit_element bulk_element(unsigned type)
{
    switch (type) {
    case PTX_S32: return JIT_S32;
    case PTX_U64:
    case PTX_B64: return JIT_U64;
    case PTX_S64: return JIT_S64;
    case PTX_F16: return JIT_F16;
    case PTX_BF16: return JIT_BF16;
    case PTX_F32: return JIT_F32;
    case PTX_F64: return JIT_F64;
    default: return JIT_U32;
    }
}

uint32_t bulk_reduction(const struct ptx_instr *i)
{
    static const struct {
        enum ptx_mod mod;
        enum jit_reduce reduce;
    } ops[] = {{PTX_M_add, JIT_REDUCE_ADD}, {PTX_M_min, JIT_REDUCE_MIN},
               {PTX_M_max, JIT_REDUCE_MAX}, {PTX_M_inc, JIT_REDUCE_INC},
               {PTX_M_dec, JIT_REDUCE_DEC}, {PTX_M_and, JIT_REDUCE_AND},
               {PTX_M_or, JIT_REDUCE_OR},   {PTX_M_xor, JIT_REDUCE_XOR}};
    for (size_t n = 0; ptx_has(i, PTX_M_reduce) && n < WEIR_COUNT(ops); n++)
        if (ptx_has(i, ops[n].mod))
            return (uint32_t)(ops[n].reduce + 1);
    return 0;
}

/* As weir_rt_bulk takes it. */
static uint32_t bulk_operation(const struct ptx_instr *i)
{
    uint32_t reduction = bulk_reduction(i);
    return reduction != 0 ? reduction | (uint32_t)bulk_element(i->types[0]) << 8 : 0;
}

/* A group is committed or waited for. */
static void tell_group(struct codegen *cg, const struct ptx_instr *i)
{
    if (ptx_has(i, PTX_M_commit_group)) {
        check_order(cg, JIT_ORDER_COMMIT, mask_bits(cg), c32(cg, 0), NULL);
        return;
    }
    uint64_t but = ptx_has(i, PTX_M_wait_all) ? UINT32_MAX : i->operands[0].imm;
    check_order(cg, JIT_ORDER_AWAIT, mask_bits(cg), c32(cg, but), NULL);
}

/* st.bulk, as lowering leaves it: to, bytes, 0. */
static void emit_zeros(struct codegen *cg, const struct ptx_instr *i)
{
    helper_row_store(cg, 0, address_vector(cg, &i->operands[0], PTX_SPACE_GENERIC));
    helper_row_store(cg, 1, operand_vector(cg, &i->operands[1], PTX_U64));
    LLVMValueRef args[4] = {cg->block.ptr, mask_bits(cg), helper_rows(cg, 0), helper_rows(cg, 1)};
    call_helper(cg, "weir_rt_bulk_zero", LLVMVoidTypeInContext(cg->alu.ctx), args, 4);
}

/* to, from, bytes {, barrier {, set of blocks}}, all addresses generic (front/lower.c). */
static void emit_bulk(struct codegen *cg, const struct ptx_instr *i)
{
    const struct ptx_operand *o = i->operands;
    bool tells = ptx_has(i, PTX_M_mbarrier__complete_tx__bytes);
    bool many = ptx_has(i, PTX_M_multicast__cluster), masked = ptx_has(i, PTX_M_cp_mask);
    if (ptx_has(i, PTX_M_prefetch))
        return;
    if (!is_copy(i)) {
        tell_group(cg, i);
        return;
    }
    helper_row_store(cg, 0, address_vector(cg, &o[0], PTX_SPACE_GENERIC));
    helper_row_store(cg, 1, address_vector(cg, &o[1], PTX_SPACE_GENERIC));
    helper_row_store(cg, 2,
                     LLVMBuildZExt(cg->alu.b, operand_vector(cg, &o[2], PTX_U32), cg->v32i64, ""));
    if (tells)
        helper_row_store(cg, 3, address_vector(cg, &o[3], PTX_SPACE_GENERIC));
    if (many || masked)
        helper_row_store(cg, 4,
                         LLVMBuildZExt(cg->alu.b,
                                       operand_vector(cg, &o[many ? 4 : i->noperands - 1], PTX_U16),
                                       cg->v32i64, ""));
    LLVMValueRef none = LLVMConstNull(cg->ptr);
    LLVMValueRef args[8] = {cg->block.ptr,
                            c32(cg, bulk_operation(i) | (masked ? JIT_BULK_MASKED : 0)),
                            mask_bits(cg),
                            helper_rows(cg, 0),
                            helper_rows(cg, 1),
                            helper_rows(cg, 2),
                            tells ? helper_rows(cg, 3) : none,
                            many || masked ? helper_rows(cg, 4) : none};
    call_helper(cg, "weir_rt_bulk", LLVMVoidTypeInContext(cg->alu.ctx), args, 8);
}

/* cp.async.mbarrier.arrive: all copies so far have ended. Without .noinc the arrival expected is
 * one more, and that one comes at once: nothing changes. */
static bool emit_arrival(struct codegen *cg, const struct ptx_instr *i)
{
    if ((cg->k->opt->checked & JIT_CHECKS_THREADS) != 0)
        check_order(cg, JIT_ORDER_COPIES_ARRIVE, mask_bits(cg), c32(cg, 0),
                    address_vector(cg, &i->operands[0], mem_space(i)));
    if (!ptx_has(i, PTX_M_noinc))
        return true;
    struct ptx_operand ops[2] = {{.kind = PTX_OPR_SINK, .reg = -1}, i->operands[0]};
    struct ptx_instr arrive = *i;
    arrive.op = PTX_OP_mbarrier;
    arrive.nmods = 1;
    arrive.mods[0] = PTX_M_arrive;
    arrive.operands = ops;
    arrive.noperands = 2;
    return emit_mbarrier(cg, &arrive);
}

bool emit_async_copy(struct codegen *cg, const struct ptx_instr *i)
{
    if (ptx_has(i, PTX_M_tensor))
        return emit_tensor_copy(cg, i);
    if (ptx_has(i, PTX_M_bulk)) {
        if (ptx_has(i, PTX_M_async))
            emit_bulk(cg, i);
        else
            emit_zeros(cg, i);
        return true;
    }
    if (ptx_has(i, PTX_M_mbarrier))
        return emit_arrival(cg, i);
    if (!is_copy(i)) {
        tell_group(cg, i);
        return true;
    }
    unsigned bytes = (unsigned)i->operands[2].imm;
    struct ptx_instr access = {.op = PTX_OP_ld,
                               .ntypes = 1,
                               .nspaces = 1,
                               .types = {PTX_B32},
                               .spaces = {PTX_SPACE_GLOBAL},
                               .vec = (uint8_t)(bytes / 4),
                               .line = i->line,
                               .column = i->column};
    LLVMValueRef v[4], count = bytes_read(cg, i, bytes);
    check_async(cg, true);
    if (count == NULL)
        load_lanes(cg, &access, &i->operands[1], v);
    else
        load_counted(cg, &access, &i->operands[1], count, bytes, v);
    access.op = PTX_OP_st;
    access.spaces[0] = PTX_SPACE_SHARED;
    store_lanes(cg, &access, &i->operands[0], v);
    check_async(cg, false);
    return true;
}
