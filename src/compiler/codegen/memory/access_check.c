/* emit_check: in checked mode (jit_options.checked) every access to global memory asks the grid
 * room first whether all active lanes may make it, so that an access one byte past an allocation,
 * or to freed memory, is found where it happens, with its thread. Slow, and only for finding
 * faults. */
#include "compiler/codegen/codegen.h"

void check_access(struct emit *e, const struct ptx_operand *at, unsigned space, unsigned bytes,
                  bool writes)
{
    if (!e->k->opt->checked ||
        (space != PTX_SPACE_GLOBAL && space != PTX_SPACE_GENERIC && space != PTX_SPACE_CONST))
        return;
    emit_row_store(e, 0, address_vector(e, at, space));
    LLVMValueRef args[4] = {e->blk, mask_bits(e), emit_rows(e, 0),
                            c32(e, bytes | (writes ? JIT_CHECK_WRITES : 0))};
    emit_helper(e, "weir_rt_check", LLVMVoidTypeInContext(e->alu.ctx), args, 4);
}

void check_lines(struct emit *e, unsigned space, LLVMValueRef start, LLVMValueRef pitch,
                 unsigned lines, unsigned bytes, bool writes)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef number[JIT_WARP];
    if (!e->k->opt->checked || (space != PTX_SPACE_GLOBAL && space != PTX_SPACE_GENERIC))
        return;
    for (unsigned n = 0; n < JIT_WARP; n++)
        number[n] = c64(e, n);
    LLVMValueRef at =
        LLVMBuildMul(b, LLVMConstVector(number, JIT_WARP), splat(e, pitch, JIT_WARP), "");
    at = LLVMBuildAdd(b, at, splat(e, LLVMBuildPtrToInt(b, start, e->i64, ""), JIT_WARP), "");
    emit_row_store(e, 0, at);
    LLVMValueRef args[4] = {e->blk, c32(e, lines >= JIT_WARP ? 0xffffffffu : (1u << lines) - 1),
                            emit_rows(e, 0),
                            c32(e, bytes | JIT_CHECK_WARP | (writes ? JIT_CHECK_WRITES : 0))};
    emit_helper(e, "weir_rt_check", LLVMVoidTypeInContext(e->alu.ctx), args, 4);
}
