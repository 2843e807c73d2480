/* cluster.c: the barrier of a cluster, and addresses in the shared memory of its blocks. An address
 * of .shared::cluster is an offset and, above it, the number of a block's window
 * (abi/kernel_abi.h); its generic address is the process's address, so only the conversions are
 * here.
 */
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/memory/defined.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/values.h"
#include "compiler/codegen/warp/warp.h"

enum { OFFSET_MASK = (1 << JIT_CLUSTER_SHIFT) - 1 };

static LLVMValueRef cluster_windows(struct codegen *cg)
{
    return block_field(cg, BLOCK_FIELD(windows), cg->ptr, true);
}

static LLVMValueRef cluster_to_generic(struct codegen *cg, LLVMValueRef v)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef t = LLVMTypeOf(v);
    bool vec = LLVMGetTypeKind(t) == LLVMVectorTypeKind;
#define NUMBER(n) (vec ? splat(cg, c64(cg, n), JIT_WARP) : c64(cg, n))
    LLVMValueRef which = LLVMBuildLShr(b, v, NUMBER(JIT_CLUSTER_SHIFT), "");
    which = LLVMBuildAnd(b, which, NUMBER(0xff), "");
    LLVMValueRef args[2] = {which, NUMBER(JIT_CLUSTER_MAX)};
    which = intrinsic(cg, "llvm.umin", &t, 1, args, 2);
    LLVMValueRef at = LLVMBuildGEP2(b, cg->i64, cluster_windows(cg), &which, 1, ""), base;
    if (vec) {
        LLVMTypeRef pv = LLVMVectorType(cg->ptr, JIT_WARP);
        LLVMValueRef load[4] = {at, c32(cg, 8), LLVMConstAllOnes(cg->v32i1),
                                LLVMConstNull(cg->v32i64)};
        base = intrinsic(cg, "llvm.masked.gather", (LLVMTypeRef[]){cg->v32i64, pv}, 2, load, 4);
    } else {
        base = LLVMBuildLoad2(b, cg->i64, at, "");
    }
    return LLVMBuildAdd(b, base, LLVMBuildAnd(b, v, NUMBER(OFFSET_MASK), ""), "");
#undef NUMBER
}

static LLVMValueRef call_cluster_map(struct codegen *cg, enum jit_cluster_map op,
                                     LLVMValueRef address, LLVMValueRef rank)
{
    helper_row_store(cg, 0, address);
    if (rank != NULL)
        helper_row_store(cg, 1, rank);
    LLVMValueRef args[6] = {cg->block.ptr,      c32(cg, op),        mask_bits(cg),
                            helper_rows(cg, 0), helper_rows(cg, 1), helper_rows(cg, 2)};
    call_helper(cg, "weir_rt_cluster_map", LLVMVoidTypeInContext(cg->alu.ctx), args, 6);
    return helper_row_load(cg, 2);
}

static void write_result(struct codegen *cg, const struct ptx_operand *d, LLVMValueRef v,
                         unsigned type)
{
    if (d->kind != PTX_OPR_REG)
        return;
    if (cg->k->regs[d->reg].uniformity.seg == SEG_NONE)
        write_vector(cg, d->reg, v, type);
    else
        write_uniform(cg, d->reg, first_active(cg, v), type);
}

bool emit_cluster_cvta(struct codegen *cg, const struct ptx_instr *i)
{
    const struct ptx_operand *d = &i->operands[0], *s = &i->operands[1];
    struct uniformity sh = uniformity_of(cg->k, i, 0);
    if (ptx_has(i, PTX_M_to))
        write_result(cg, d,
                     call_cluster_map(cg, JIT_MAP_OFFSET, operand_vector(cg, s, PTX_U64), NULL),
                     PTX_B64);
    else if (sh.seg == SEG_NONE)
        write_vector(cg, d->reg, cluster_to_generic(cg, operand_vector(cg, s, PTX_U64)), PTX_B64);
    else
        write_uniform(cg, d->reg,
                      cluster_to_generic(cg, operand_scalar(cg, s, PTX_U64, SEG_WARP, 0)), PTX_B64);
    return true;
}

bool emit_cluster_isspacep(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMValueRef v =
        call_cluster_map(cg, JIT_MAP_INSIDE, operand_vector(cg, &i->operands[1], PTX_U64), NULL);
    v = LLVMBuildICmp(cg->alu.b, LLVMIntNE, v, LLVMConstNull(cg->v32i64), "");
    write_result(cg, &i->operands[0], v, PTX_PRED);
    return true;
}

/* mapa d, address, rank */
static void cluster_mapa(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef a = operand_vector(cg, &i->operands[1], PTX_U64);
    LLVMValueRef rank =
        LLVMBuildZExt(b, operand_vector(cg, &i->operands[2], PTX_U32), cg->v32i64, "");
    if (i->nspaces == 0) {
        write_result(cg, &i->operands[0], call_cluster_map(cg, JIT_MAP_GENERIC, a, rank), PTX_B64);
        return;
    }
    rank = LLVMBuildAdd(b, rank, splat(cg, c64(cg, 1), JIT_WARP), "");
    rank = LLVMBuildShl(b, rank, splat(cg, c64(cg, JIT_CLUSTER_SHIFT), JIT_WARP), "");
    a = LLVMBuildAnd(b, a, splat(cg, c64(cg, OFFSET_MASK), JIT_WARP), "");
    write_result(cg, &i->operands[0], LLVMBuildOr(b, a, rank, ""), PTX_B64);
}

/* getctarank d, address */
static void cluster_getctarank(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef a = operand_vector(cg, &i->operands[1], PTX_U64);
    if (i->nspaces == 0) {
        write_result(cg, &i->operands[0], call_cluster_map(cg, JIT_MAP_RANK, a, NULL), PTX_B64);
        return;
    }
    LLVMValueRef which = LLVMBuildLShr(b, a, splat(cg, c64(cg, JIT_CLUSTER_SHIFT), JIT_WARP), "");
    which = LLVMBuildAnd(b, which, splat(cg, c64(cg, 0xff), JIT_WARP), "");
    LLVMValueRef own = block_field(cg, BLOCK_FIELD(cluster_rank), cg->i32, false);
    own = splat(cg, LLVMBuildZExt(b, own, cg->i64, ""), JIT_WARP);
    LLVMValueRef other = LLVMBuildSub(b, which, splat(cg, c64(cg, 1), JIT_WARP), "");
    LLVMValueRef is_own = LLVMBuildICmp(b, LLVMIntEQ, which, LLVMConstNull(cg->v32i64), "");
    write_result(cg, &i->operands[0], LLVMBuildSelect(b, is_own, own, other, ""), PTX_B64);
}

bool emit_cluster_address(struct codegen *cg, const struct ptx_instr *i)
{
    if (i->op == PTX_OP_mapa)
        cluster_mapa(cg, i);
    else
        cluster_getctarank(cg, i);
    return true;
}

bool emit_try_cancel(struct codegen *cg, const struct ptx_instr *i)
{
    helper_row_store(cg, 0, address_vector(cg, &i->operands[0], PTX_SPACE_GENERIC));
    helper_row_store(cg, 1, address_vector(cg, &i->operands[1], PTX_SPACE_GENERIC));
    LLVMValueRef args[5] = {cg->block.ptr, c32(cg, ptx_has(i, PTX_M_multicast__cluster__all)),
                            mask_bits(cg), helper_rows(cg, 0), helper_rows(cg, 1)};
    call_helper(cg, "weir_rt_try_cancel", LLVMVoidTypeInContext(cg->alu.ctx), args, 5);
    return true;
}

/* ---- the cluster's barrier ---- */

LLVMValueRef live_lanes(struct codegen *cg)
{
    LLVMValueRef args[2] = {cg->block.ptr, cg->w};
    if (cg->k->fibers) /* others than those of the function that runs */
        return call_helper(cg, "weir_rt_lanes_live", cg->i32, args, 2);
    return cg->always_full ? c32(cg, 0xffffffffu)
                           : LLVMBuildLoad2(cg->alu.b, cg->i32, cg->live_slot, "");
}

void emit_cluster_barrier(struct codegen *cg, const struct ptx_instr *i)
{
    if (ptx_has(i, PTX_M_arrive)) {
        LLVMValueRef args[3] = {cg->block.ptr, mask_bits(cg), live_lanes(cg)};
        call_helper(cg, "weir_rt_cluster_arrive", cg->i32, args, 3);
        return;
    }
    LLVMValueRef args[2] = {cg->block.ptr, live_lanes(cg)};
    LLVMValueRef r = call_helper(cg, "weir_rt_cluster_wait", cg->i32, args, 2);
    write_uniform(cg, i->operands[0].reg, LLVMBuildICmp(cg->alu.b, LLVMIntNE, r, c32(cg, 0), ""),
                  PTX_PRED);
}
