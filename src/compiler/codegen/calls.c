/* calls.c: the call instruction.
 *
 * The callee is one of four: a math function, computed inline like an elementwise instruction; a
 * function that the exec module supplies, which is passed rows of 32 lanes; a function of the
 * module that was not inlined, called once for all active lanes; or a pointer to one, for which
 * lanes with the same target are called together. */
#include <stdio.h>

#include "compiler/codegen/instructions.h"
#include "compiler/codegen/scalar_functions.h"
#include "compiler/codegen/values.h"

static bool emit_math(struct codegen *cg, const struct ptx_instr *i, const struct alu_sig *sig)
{
    struct uniformity sh = uniformity_of(cg->k, i, 0);
    LLVMValueRef src[ALU_MAX_SRC], dst[MAX_SEGS][ALU_MAX_DST];
    if (i->call->nargs != sig->nsrc + sig->ndst - sig->pointer_first ||
        i->call->nrets != (sig->pointer_first > 0))
        return diag_set(cg->k->diag, i->line, i->column, "call of %s with wrong arguments",
                        i->call->func->name);
    bool pointers = sig->pointer_first < sig->ndst;
    bool vec = sh.seg == SEG_NONE || pointers;
    int parts = vec ? 1 : nsegs(sh.seg);
    cg->alu.lanes = vec ? JIT_WARP : 1;
    for (int p = 0; p < parts; p++) {
        for (int n = 0; n < sig->nsrc; n++) {
            const struct ptx_operand *o = &i->call->args[n];
            src[n] = vec ? operand_vector(cg, o, sig->src[n])
                         : operand_scalar(cg, o, sig->src[n], sh.seg, p);
        }
        cg->alu.mask = vec ? mask_vector(cg) : NULL;
        if (!alu_math_emit(&cg->alu, i->call->func->name, src, dst[p]))
            return diag_set(cg->k->diag, i->line, i->column, "call of %s is not supported",
                            i->call->func->name);
    }
    if (sig->pointer_first > 0) {
        if (pointers)
            sh.seg = SEG_NONE;
        const struct ptx_operand *d = &i->call->rets[0];
        if (d->kind == PTX_OPR_REG && sh.seg == SEG_NONE &&
            cg->k->regs[d->reg].uniformity.seg != SEG_NONE)
            write_uniform(cg, d->reg, LLVMBuildExtractElement(cg->alu.b, dst[0][0], c32(cg, 0), ""),
                          sig->dst[0]);
        else
            write_results(cg, d, 0, sh, dst, sig->dst[0]);
    }
    for (int n = sig->pointer_first; n < sig->ndst; n++) {
        /* results through pointers: scattered to generic addresses */
        const struct ptx_operand *o = &i->call->args[sig->nsrc + n - sig->pointer_first];
        LLVMValueRef at = operand_vector(cg, o, PTX_U64);
        LLVMTypeRef t = LLVMTypeOf(dst[0][n]);
        LLVMTypeRef pv = LLVMVectorType(cg->ptr, JIT_WARP);
        LLVMValueRef m = mask_vector(cg);
        LLVMValueRef args[4] = {dst[0][n], LLVMBuildIntToPtr(cg->alu.b, at, pv, ""),
                                c32(cg, ptx_type_bits((enum ptx_type)sig->dst[n]) / 8),
                                m != NULL ? m : LLVMConstAllOnes(cg->v32i1)};
        intrinsic(cg, "llvm.masked.scatter", (LLVMTypeRef[]){t, pv}, 2, args, 4);
    }
    return true;
}

/* An argument of a helper: 32 lanes, extended to 64 bits. */
static LLVMValueRef argument_row(struct codegen *cg, const struct ptx_operand *o)
{
    unsigned type = o->kind == PTX_OPR_REG ? cg->k->regs[o->reg].type : PTX_B64;
    return coerce(cg, operand_vector(cg, o, type), PTX_U64, false);
}

/* A function that the exec module supplies: arguments and results are rows of 32 lanes
 * (abi/kernel_abi.h). */
static bool emit_extern(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    const struct ptx_call *c = i->call;
    char name[256];
    snprintf(name, sizeof name, "weir_rt_%s", c->func->name);
    int rows = c->nargs > 0 ? c->nargs : 1, rets = c->nrets > 0 ? c->nrets : 1;
    LLVMTypeRef row = cg->v32i64;
    LLVMValueRef args = new_slot(cg, LLVMArrayType2(row, (uint64_t)rows), "args");
    LLVMValueRef out = new_slot(cg, LLVMArrayType2(row, (uint64_t)rets), "rets");
    for (int n = 0; n < c->nargs; n++) {
        LLVMValueRef v = argument_row(cg, &c->args[n]);
        LLVMBuildStore(b, v, byte_offset(cg, args, c64(cg, (uint64_t)n * 256)));
    }
    LLVMValueRef call[4] = {cg->block.ptr, mask_bits(cg), args, out};
    call_helper(cg, name, LLVMVoidTypeInContext(cg->alu.ctx), call, 4);
    for (int n = 0; n < c->nrets; n++) {
        LLVMValueRef v =
            LLVMBuildLoad2(b, row, byte_offset(cg, out, c64(cg, (uint64_t)n * 256)), "");
        if (c->rets[n].kind == PTX_OPR_REG)
            write_vector(cg, c->rets[n].reg, v, PTX_U64);
    }
    return true;
}

/* ---- calls of the module's own functions ---- */

LLVMValueRef callee_function(struct codegen *cg, const struct ptx_func *f)
{
    size_t n = 0;
    while (n < cg->callees->count && cg->callees->items[n] != f)
        n++;
    if (n == cg->callees->count)
        vec_push(cg->callees, f);
    char name[32];
    snprintf(name, sizeof name, "weir_call_%zu", n);
    LLVMValueRef fn = LLVMGetNamedFunction(cg->alu.module, name);
    if (fn == NULL) {
        LLVMTypeRef params[4] = {cg->ptr, cg->i32, cg->i32, cg->i64};
        fn = LLVMAddFunction(cg->alu.module, name, LLVMFunctionType(cg->i32, params, 4, false));
        LLVMSetLinkage(fn, LLVMInternalLinkage);
    }
    return fn;
}

/* On fibers: do all lanes come back from the call together? */
static bool comes_back_whole(const struct codegen *cg, const struct ptx_call *c)
{
    return cg->k->fibers && c->unfinished != 0 &&
           is_uniform(&cg->k->regs[c->unfinished - 1].uniformity);
}

/* Where the frame of a function that is called starts. */
static LLVMValueRef frame_end(struct codegen *cg)
{
    LLVMValueRef at = c64(cg, cg->k->local_bytes);
    return cg->sp != NULL ? LLVMBuildAdd(cg->alu.b, cg->sp, at, "") : at;
}

/* Returns the lanes whose threads it has ended, in the lower half of 64 bits, and those for which
 * the function is not over in the upper one. */
static LLVMValueRef call_function(struct codegen *cg, const struct ptx_call *c,
                                  const struct ptx_func *f, LLVMValueRef mask)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef fn = callee_function(cg, f), at = frame_end(cg);
    if (c->unfinished != 0) {
        LLVMValueRef args[7] = {cg->block.ptr, fn, cg->w, mask, at};
        if (!cg->k->fibers)
            return call_helper(cg, "weir_rt_call", cg->i64, args, 5);
        args[5] = LLVMBuildLoad2(b, cg->i32, cg->live_slot, "");
        args[6] = c32(cg, comes_back_whole(cg, c));
        return call_helper(cg, "weir_rt_call_lanes", cg->i64, args, 7);
    }
    LLVMValueRef args[4] = {cg->block.ptr, cg->w, mask, at};
    LLVMValueRef ended = LLVMBuildCall2(b, LLVMGlobalGetValueType(fn), fn, args, 4, "");
    return LLVMBuildZExt(b, ended, cg->i64, "");
}

/* Writes which lanes' threads a call has ended, and for which it goes on, where that is asked for.
 */
static void write_outcome(struct codegen *cg, const struct ptx_call *c, LLVMValueRef outcome)
{
    LLVMBuilderRef b = cg->alu.b;
    if (c->ended != 0)
        write_vector(cg, c->ended - 1, lanes_of(cg, LLVMBuildTrunc(b, outcome, cg->i32, "")),
                     PTX_PRED);
    if (c->unfinished == 0)
        return;
    outcome = LLVMBuildLShr(b, outcome, c64(cg, JIT_WARP), "");
    if (comes_back_whole(cg, c)) {
        LLVMValueRef args[2] = {cg->block.ptr, LLVMBuildTrunc(b, outcome, cg->i32, "")};
        call_helper(cg, "weir_rt_calls_over", LLVMVoidTypeInContext(cg->alu.ctx), args, 2);
        write_uniform(cg, c->unfinished - 1, LLVMBuildICmp(b, LLVMIntNE, args[1], c32(cg, 0), ""),
                      PTX_PRED);
        return;
    }
    write_vector(cg, c->unfinished - 1, lanes_of(cg, LLVMBuildTrunc(b, outcome, cg->i32, "")),
                 PTX_PRED);
}

/* The lanes of `same` launch the kernel at address `to`: as a direct launch, but the arguments are
 * where those of a function would be (front/cdp_launch.c). */
static void call_launch(struct codegen *cg, const struct ptx_call *c, LLVMValueRef to,
                        LLVMValueRef same)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef offset = c64(cg, cg->k->local_bytes);
    if (cg->sp != NULL)
        offset = LLVMBuildAdd(b, cg->sp, offset, "");
    LLVMValueRef args = new_slot(cg, LLVMArrayType2(cg->v32i64, (uint64_t)c->nargs + 2), "args");
    LLVMValueRef out = new_slot(cg, cg->v32i64, "rets");
    LLVMBuildStore(b, splat(cg, to, JIT_WARP), args);
    for (int n = 0; n < c->nargs; n++)
        LLVMBuildStore(b, argument_row(cg, &c->args[n]),
                       byte_offset(cg, args, c64(cg, (uint64_t)(n + 1) * 256)));
    LLVMBuildStore(b, splat(cg, offset, JIT_WARP),
                   byte_offset(cg, args, c64(cg, (uint64_t)(c->nargs + 1) * 256)));
    LLVMValueRef call[4] = {cg->block.ptr, same, args, out};
    call_helper(cg, "weir_rt_launch", LLVMVoidTypeInContext(cg->alu.ctx), call, 4);
}

/* Through a pointer: lanes with the same target are called together, one target after the other. */
static bool emit_indirect(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    const struct ptx_module *m = cg->k->entry->module;
    const struct ptx_call *c = i->call;
    struct ptx_operand target = {.kind = PTX_OPR_REG, .reg = c->reg};
    LLVMValueRef v = operand_vector(cg, &target, PTX_U64);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), loop = new_bb(cg, "targets");
    LLVMBasicBlockRef done = new_bb(cg, "called"), next = new_bb(cg, "next_target");
    LLVMValueRef all = mask_bits(cg), outcome = new_slot(cg, cg->i64, "outcome");
    LLVMBuildStore(b, c64(cg, 0), outcome);
    LLVMBuildBr(b, loop);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef left = LLVMBuildPhi(b, cg->i32, "");
    LLVMValueRef lane = lowest_lane(cg, left);
    LLVMValueRef to = LLVMBuildExtractElement(b, v, lane, "");
    LLVMValueRef same = bits_of(cg, LLVMBuildICmp(b, LLVMIntEQ, v, splat(cg, to, JIT_WARP), ""));
    same = LLVMBuildAnd(b, same, left, "");
    for (int n = 0; n < (c->proto != NULL ? m->nfuncs : c->ncandidates); n++) {
        struct ptx_func *f = c->proto != NULL ? m->funcs[n] : c->candidates[n];
        if (!f->has_body || (f->is_entry && c->nargs == 0) ||
            (c->proto != NULL && (!jit_same_prototype(f, c->proto) || !jit_address_taken(m, f))))
            continue;
        struct ptx_operand sym = {.kind = PTX_OPR_SYM, .reg = -1, .func = f};
        LLVMValueRef hit =
            LLVMBuildICmp(b, LLVMIntEQ, to, operand_scalar(cg, &sym, PTX_U64, SEG_WARP, 0), "");
        LLVMBasicBlockRef yes = new_bb(cg, "target"), no = new_bb(cg, "other");
        LLVMBuildCondBr(b, hit, yes, no);
        LLVMPositionBuilderAtEnd(b, yes);
        if (f->is_entry)
            call_launch(cg, c, to, same);
        else
            LLVMBuildStore(b,
                           LLVMBuildOr(b, LLVMBuildLoad2(b, cg->i64, outcome, ""),
                                       call_function(cg, c, f, same), ""),
                           outcome);
        LLVMBuildBr(b, next);
        LLVMPositionBuilderAtEnd(b, no);
    }
    if (c->configured) { /* launching no kernel is an error of the thread, not a fault */
        LLVMBasicBlockRef null = new_bb(cg, "no_kernel"), no = new_bb(cg, "no_function");
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, to, c64(cg, 0), ""), null, no);
        LLVMPositionBuilderAtEnd(b, null);
        call_launch(cg, c, to, same);
        LLVMBuildBr(b, next);
        LLVMPositionBuilderAtEnd(b, no);
    }
    emit_fault(cg, JIT_FAULT_PC, same, NULL);
    LLVMBuildBr(b, next);
    LLVMPositionBuilderAtEnd(b, next);
    LLVMValueRef rest = LLVMBuildXor(b, left, same, "");
    LLVMAddIncoming(left, (LLVMValueRef[]){all, rest}, (LLVMBasicBlockRef[]){before, next}, 2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, rest, c32(cg, 0), ""), loop, done);
    LLVMPositionBuilderAtEnd(b, done);
    write_outcome(cg, c, LLVMBuildLoad2(b, cg->i64, outcome, ""));
    return true;
}

/* By name. Few lanes may run a scalar version of the function, which ends no threads. */
static void emit_direct(struct codegen *cg, const struct ptx_call *c)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef mask = mask_bits(cg);
    if (cg->k->one_lane) {
        call_scalar(cg, c->func);
        return;
    }
    bool plain = c->ended == 0 && c->unfinished == 0;
    int few = plain ? scalar_function_lanes(cg, c->func) : 0;
    if (few == JIT_WARP) {
        call_scalars(cg, c->func, mask, frame_end(cg));
        return;
    }
    if (few == 0) {
        write_outcome(cg, c, call_function(cg, c, c->func, mask));
        return;
    }
    LLVMBasicBlockRef yes = new_bb(cg, "few"), no = new_bb(cg, "many"), done = new_bb(cg, "called");
    LLVMValueRef count = intrinsic(cg, "llvm.ctpop", &cg->i32, 1, &mask, 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULE, count, c32(cg, (uint64_t)few), ""), yes, no);
    LLVMPositionBuilderAtEnd(b, yes);
    call_scalars(cg, c->func, mask, frame_end(cg));
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, no);
    call_function(cg, c, c->func, mask);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
}

bool emit_call(struct codegen *cg, const struct ptx_instr *i)
{
    struct alu_sig sig;
    if (i->call->func == NULL)
        return emit_indirect(cg, i);
    if (i->call->func->has_body) {
        emit_direct(cg, i->call);
        return true;
    }
    if (alu_math_known(i->call->func->name, &sig))
        return emit_math(cg, i, &sig);
    return emit_extern(cg, i);
}
