/* emit_check: in checked mode (jit_options.checked) every access to global memory asks the grid
 * room first whether all active lanes may make it, so that an access one byte past an allocation,
 * or to freed memory, is found where it happens, with its thread. Slow, and only for finding
 * faults. */
#include "compiler/codegen/codegen.h"

void check_access(struct codegen *cg, const struct ptx_operand *at, unsigned space, unsigned bytes,
                  bool writes)
{
    if (!cg->k->opt->checked ||
        (space != PTX_SPACE_GLOBAL && space != PTX_SPACE_GENERIC && space != PTX_SPACE_CONST))
        return;
    emit_row_store(cg, 0, address_vector(cg, at, space));
    LLVMValueRef args[4] = {cg->blk, mask_bits(cg), emit_rows(cg, 0),
                            c32(cg, bytes | (writes ? JIT_CHECK_WRITES : 0))};
    emit_helper(cg, "weir_rt_check", LLVMVoidTypeInContext(cg->alu.ctx), args, 4);
}

void check_lines(struct codegen *cg, unsigned space, LLVMValueRef start, LLVMValueRef pitch,
                 unsigned lines, unsigned bytes, bool writes)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef number[JIT_WARP];
    if (!cg->k->opt->checked || (space != PTX_SPACE_GLOBAL && space != PTX_SPACE_GENERIC))
        return;
    for (unsigned n = 0; n < JIT_WARP; n++)
        number[n] = c64(cg, n);
    LLVMValueRef at =
        LLVMBuildMul(b, LLVMConstVector(number, JIT_WARP), splat(cg, pitch, JIT_WARP), "");
    at = LLVMBuildAdd(b, at, splat(cg, LLVMBuildPtrToInt(b, start, cg->i64, ""), JIT_WARP), "");
    emit_row_store(cg, 0, at);
    LLVMValueRef args[4] = {cg->blk, c32(cg, lines >= JIT_WARP ? 0xffffffffu : (1u << lines) - 1),
                            emit_rows(cg, 0),
                            c32(cg, bytes | JIT_CHECK_WARP | (writes ? JIT_CHECK_WRITES : 0))};
    emit_helper(cg, "weir_rt_check", LLVMVoidTypeInContext(cg->alu.ctx), args, 4);
}
