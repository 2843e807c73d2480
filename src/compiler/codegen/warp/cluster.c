/* emit_cluster: addresses in the shared memory of a cluster's blocks. An address of
 * .shared::cluster is an offset and, above it, which block's window (abi.h); its generic form is
 * the process's address, so only the ways between the two are here. */
#include <stddef.h>

#include "compiler/codegen/codegen.h"

enum { OFFSET_MASK = (1 << JIT_CLUSTER_SHIFT) - 1 };

static LLVMValueRef cluster_windows(struct codegen *cg)
{
    return block_field(cg, offsetof(struct jit_block, windows), cg->ptr, true);
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

static LLVMValueRef map_of_cluster(struct codegen *cg, enum jit_cluster_map op,
                                   LLVMValueRef address, LLVMValueRef rank)
{
    emit_row_store(cg, 0, address);
    if (rank != NULL)
        emit_row_store(cg, 1, rank);
    LLVMValueRef args[6] = {cg->blk,          c32(cg, op),      mask_bits(cg),
                            emit_rows(cg, 0), emit_rows(cg, 1), emit_rows(cg, 2)};
    emit_helper(cg, "weir_rt_cluster_map", LLVMVoidTypeInContext(cg->alu.ctx), args, 6);
    return emit_row_load(cg, 2);
}

static void cluster_write(struct codegen *cg, const struct ptx_operand *d, LLVMValueRef v,
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
        cluster_write(cg, d,
                      map_of_cluster(cg, JIT_MAP_OFFSET, operand_vector(cg, s, PTX_U64), NULL),
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
        map_of_cluster(cg, JIT_MAP_INSIDE, operand_vector(cg, &i->operands[1], PTX_U64), NULL);
    v = LLVMBuildICmp(cg->alu.b, LLVMIntNE, v, LLVMConstNull(cg->v32i64), "");
    cluster_write(cg, &i->operands[0], v, PTX_PRED);
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
        cluster_write(cg, &i->operands[0], map_of_cluster(cg, JIT_MAP_GENERIC, a, rank), PTX_B64);
        return;
    }
    rank = LLVMBuildAdd(b, rank, splat(cg, c64(cg, 1), JIT_WARP), "");
    rank = LLVMBuildShl(b, rank, splat(cg, c64(cg, JIT_CLUSTER_SHIFT), JIT_WARP), "");
    a = LLVMBuildAnd(b, a, splat(cg, c64(cg, OFFSET_MASK), JIT_WARP), "");
    cluster_write(cg, &i->operands[0], LLVMBuildOr(b, a, rank, ""), PTX_B64);
}

/* getctarank d, address */
static void rank_of_cluster(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef a = operand_vector(cg, &i->operands[1], PTX_U64);
    if (i->nspaces == 0) {
        cluster_write(cg, &i->operands[0], map_of_cluster(cg, JIT_MAP_RANK, a, NULL), PTX_B64);
        return;
    }
    LLVMValueRef which = LLVMBuildLShr(b, a, splat(cg, c64(cg, JIT_CLUSTER_SHIFT), JIT_WARP), "");
    which = LLVMBuildAnd(b, which, splat(cg, c64(cg, 0xff), JIT_WARP), "");
    LLVMValueRef own = block_field(cg, offsetof(struct jit_block, cluster_rank), cg->i32, false);
    own = splat(cg, LLVMBuildZExt(b, own, cg->i64, ""), JIT_WARP);
    LLVMValueRef other = LLVMBuildSub(b, which, splat(cg, c64(cg, 1), JIT_WARP), "");
    LLVMValueRef is_own = LLVMBuildICmp(b, LLVMIntEQ, which, LLVMConstNull(cg->v32i64), "");
    cluster_write(cg, &i->operands[0], LLVMBuildSelect(b, is_own, own, other, ""), PTX_B64);
}

bool emit_cluster_address(struct codegen *cg, const struct ptx_instr *i)
{
    if (i->op == PTX_OP_mapa)
        cluster_mapa(cg, i);
    else
        rank_of_cluster(cg, i);
    return true;
}
