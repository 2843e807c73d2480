/* emit_cluster: addresses in the shared memory of a cluster's blocks. An address of
 * .shared::cluster is an offset and, above it, which block's window (abi.h); its generic form is
 * the process's address, so only the ways between the two are here. */
#include <stddef.h>

#include "compiler/codegen/codegen.h"

enum { OFFSET_MASK = (1 << JIT_CLUSTER_SHIFT) - 1 };

static LLVMValueRef cluster_windows(struct emit *e)
{
    return block_field(e, offsetof(struct jit_block, windows), e->ptr, true);
}

static LLVMValueRef cluster_to_generic(struct emit *e, LLVMValueRef v)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMTypeRef t = LLVMTypeOf(v);
    bool vec = LLVMGetTypeKind(t) == LLVMVectorTypeKind;
#define NUMBER(n) (vec ? splat(e, c64(e, n), JIT_WARP) : c64(e, n))
    LLVMValueRef which = LLVMBuildLShr(b, v, NUMBER(JIT_CLUSTER_SHIFT), "");
    which = LLVMBuildAnd(b, which, NUMBER(0xff), "");
    LLVMValueRef args[2] = {which, NUMBER(JIT_CLUSTER_MAX)};
    which = intrinsic(e, "llvm.umin", &t, 1, args, 2);
    LLVMValueRef at = LLVMBuildGEP2(b, e->i64, cluster_windows(e), &which, 1, ""), base;
    if (vec) {
        LLVMTypeRef pv = LLVMVectorType(e->ptr, JIT_WARP);
        LLVMValueRef load[4] = {at, c32(e, 8), LLVMConstAllOnes(e->v32i1),
                                LLVMConstNull(e->v32i64)};
        base = intrinsic(e, "llvm.masked.gather", (LLVMTypeRef[]){e->v32i64, pv}, 2, load, 4);
    } else {
        base = LLVMBuildLoad2(b, e->i64, at, "");
    }
    return LLVMBuildAdd(b, base, LLVMBuildAnd(b, v, NUMBER(OFFSET_MASK), ""), "");
#undef NUMBER
}

static LLVMValueRef map_of_cluster(struct emit *e, enum jit_cluster_map op, LLVMValueRef address,
                                   LLVMValueRef rank)
{
    emit_row_store(e, 0, address);
    if (rank != NULL)
        emit_row_store(e, 1, rank);
    LLVMValueRef args[6] = {e->blk,          c32(e, op),      mask_bits(e),
                            emit_rows(e, 0), emit_rows(e, 1), emit_rows(e, 2)};
    emit_helper(e, "weir_rt_cluster_map", LLVMVoidTypeInContext(e->alu.ctx), args, 6);
    return emit_row_load(e, 2);
}

static void cluster_write(struct emit *e, const struct ptx_operand *d, LLVMValueRef v,
                          unsigned type)
{
    if (d->kind != PTX_OPR_REG)
        return;
    if (e->k->regs[d->reg].shape.seg == SEG_NONE)
        write_vector(e, d->reg, v, type);
    else
        write_uniform(e, d->reg, first_active(e, v), type);
}

bool emit_cluster_cvta(struct emit *e, const struct ptx_instr *i)
{
    const struct ptx_operand *d = &i->operands[0], *s = &i->operands[1];
    struct shape sh = shape_of(e->k, i, 0);
    if (ptx_has(i, PTX_M_to))
        cluster_write(e, d, map_of_cluster(e, JIT_MAP_OFFSET, operand_vector(e, s, PTX_U64), NULL),
                      PTX_B64);
    else if (sh.seg == SEG_NONE)
        write_vector(e, d->reg, cluster_to_generic(e, operand_vector(e, s, PTX_U64)), PTX_B64);
    else
        write_uniform(e, d->reg, cluster_to_generic(e, operand_scalar(e, s, PTX_U64, SEG_WARP, 0)),
                      PTX_B64);
    return true;
}

bool emit_cluster_isspacep(struct emit *e, const struct ptx_instr *i)
{
    LLVMValueRef v =
        map_of_cluster(e, JIT_MAP_INSIDE, operand_vector(e, &i->operands[1], PTX_U64), NULL);
    v = LLVMBuildICmp(e->alu.b, LLVMIntNE, v, LLVMConstNull(e->v32i64), "");
    cluster_write(e, &i->operands[0], v, PTX_PRED);
    return true;
}

/* mapa d, address, rank */
static void cluster_mapa(struct emit *e, const struct ptx_instr *i)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef a = operand_vector(e, &i->operands[1], PTX_U64);
    LLVMValueRef rank =
        LLVMBuildZExt(b, operand_vector(e, &i->operands[2], PTX_U32), e->v32i64, "");
    if (i->nspaces == 0) {
        cluster_write(e, &i->operands[0], map_of_cluster(e, JIT_MAP_GENERIC, a, rank), PTX_B64);
        return;
    }
    rank = LLVMBuildAdd(b, rank, splat(e, c64(e, 1), JIT_WARP), "");
    rank = LLVMBuildShl(b, rank, splat(e, c64(e, JIT_CLUSTER_SHIFT), JIT_WARP), "");
    a = LLVMBuildAnd(b, a, splat(e, c64(e, OFFSET_MASK), JIT_WARP), "");
    cluster_write(e, &i->operands[0], LLVMBuildOr(b, a, rank, ""), PTX_B64);
}

/* getctarank d, address */
static void rank_of_cluster(struct emit *e, const struct ptx_instr *i)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef a = operand_vector(e, &i->operands[1], PTX_U64);
    if (i->nspaces == 0) {
        cluster_write(e, &i->operands[0], map_of_cluster(e, JIT_MAP_RANK, a, NULL), PTX_B64);
        return;
    }
    LLVMValueRef which = LLVMBuildLShr(b, a, splat(e, c64(e, JIT_CLUSTER_SHIFT), JIT_WARP), "");
    which = LLVMBuildAnd(b, which, splat(e, c64(e, 0xff), JIT_WARP), "");
    LLVMValueRef own = block_field(e, offsetof(struct jit_block, cluster_rank), e->i32, false);
    own = splat(e, LLVMBuildZExt(b, own, e->i64, ""), JIT_WARP);
    LLVMValueRef other = LLVMBuildSub(b, which, splat(e, c64(e, 1), JIT_WARP), "");
    LLVMValueRef is_own = LLVMBuildICmp(b, LLVMIntEQ, which, LLVMConstNull(e->v32i64), "");
    cluster_write(e, &i->operands[0], LLVMBuildSelect(b, is_own, own, other, ""), PTX_B64);
}

bool emit_cluster_address(struct emit *e, const struct ptx_instr *i)
{
    if (i->op == PTX_OP_mapa)
        cluster_mapa(e, i);
    else
        rank_of_cluster(e, i);
    return true;
}
