/* emit_call: calls. What a call instruction names is one of four things: a math function, computed
 * in place like an elementwise instruction; a function that the grid room supplies, which is given
 * rows of 32 lanes; a function of the module that was not inlined, called once for all active
 * lanes; or a pointer to one, whose lanes go target by target. */
#include <stdio.h>

#include "compiler/codegen/codegen.h"

static bool emit_math(struct emit *e, const struct ptx_instr *i, const struct alu_sig *sig)
{
    struct shape sh = shape_of(e->k, i, 0);
    LLVMValueRef src[ALU_MAX_SRC], dst[MAX_SEGS][ALU_MAX_DST];
    if (i->call->nargs != sig->nsrc + sig->ndst - sig->pointer_first ||
        i->call->nrets != (sig->pointer_first > 0))
        return diag_set(e->k->diag, i->line, i->column, "call of %s with wrong arguments",
                        i->call->func->name);
    bool pointers = sig->pointer_first < sig->ndst;
    bool vec = sh.seg == SEG_NONE || pointers;
    int parts = vec ? 1 : nsegs(sh.seg);
    e->alu.lanes = vec ? JIT_WARP : 1;
    for (int p = 0; p < parts; p++) {
        for (int n = 0; n < sig->nsrc; n++) {
            const struct ptx_operand *o = &i->call->args[n];
            src[n] = vec ? operand_vector(e, o, sig->src[n])
                         : operand_scalar(e, o, sig->src[n], sh.seg, p);
        }
        e->alu.mask = vec ? mask_vector(e) : NULL;
        if (!alu_math_emit(&e->alu, i->call->func->name, src, dst[p]))
            return diag_set(e->k->diag, i->line, i->column, "call of %s is not supported",
                            i->call->func->name);
    }
    if (sig->pointer_first > 0) {
        if (pointers)
            sh.seg = SEG_NONE;
        const struct ptx_operand *d = &i->call->rets[0];
        if (d->kind == PTX_OPR_REG && sh.seg == SEG_NONE &&
            e->k->regs[d->reg].shape.seg != SEG_NONE)
            write_uniform(e, d->reg, LLVMBuildExtractElement(e->alu.b, dst[0][0], c32(e, 0), ""),
                          sig->dst[0]);
        else
            write_results(e, d, 0, sh, dst, sig->dst[0]);
    }
    for (int n = sig->pointer_first; n < sig->ndst; n++) {
        /* results through pointers: scattered to generic addresses */
        const struct ptx_operand *o = &i->call->args[sig->nsrc + n - sig->pointer_first];
        LLVMValueRef at = operand_vector(e, o, PTX_U64);
        LLVMTypeRef t = LLVMTypeOf(dst[0][n]);
        LLVMTypeRef pv = LLVMVectorType(e->ptr, JIT_WARP);
        LLVMValueRef m = mask_vector(e);
        LLVMValueRef args[4] = {dst[0][n], LLVMBuildIntToPtr(e->alu.b, at, pv, ""),
                                c32(e, ptx_type_bits((enum ptx_type)sig->dst[n]) / 8),
                                m ? m : LLVMConstAllOnes(e->v32i1)};
        intrinsic(e, "llvm.masked.scatter", (LLVMTypeRef[]){t, pv}, 2, args, 4);
    }
    return true;
}

/* An argument of a helper: 32 lanes, extended to 64 bits. */
static LLVMValueRef calls_row(struct emit *e, const struct ptx_operand *o)
{
    unsigned type = o->kind == PTX_OPR_REG ? e->k->regs[o->reg].type : PTX_B64;
    return coerce(e, operand_vector(e, o, type), PTX_U64, false);
}

static void call_helper(struct emit *e, const char *name, LLVMValueRef args[4])
{
    LLVMTypeRef params[4] = {e->ptr, e->i32, e->ptr, e->ptr};
    LLVMTypeRef t = LLVMFunctionType(LLVMVoidTypeInContext(e->alu.ctx), params, 4, false);
    LLVMValueRef f = LLVMGetNamedFunction(e->alu.module, name);
    if (f == NULL)
        f = LLVMAddFunction(e->alu.module, name, t);
    LLVMBuildCall2(e->alu.b, t, f, args, 4, "");
}

/* A function that the grid room supplies: arguments and results by rows of 32 lanes (abi.h). */
static bool emit_extern(struct emit *e, const struct ptx_instr *i)
{
    LLVMBuilderRef b = e->alu.b;
    const struct ptx_call *c = i->call;
    char name[256];
    snprintf(name, sizeof name, "weir_rt_%s", c->func->name);
    int rows = c->nargs > 0 ? c->nargs : 1, rets = c->nrets > 0 ? c->nrets : 1;
    LLVMTypeRef row = e->v32i64;
    LLVMValueRef args = new_slot(e, LLVMArrayType2(row, (uint64_t)rows), "args");
    LLVMValueRef out = new_slot(e, LLVMArrayType2(row, (uint64_t)rets), "rets");
    for (int n = 0; n < c->nargs; n++) {
        LLVMValueRef v = calls_row(e, &c->args[n]);
        LLVMBuildStore(b, v, byte_offset(e, args, c64(e, (uint64_t)n * 256)));
    }
    LLVMValueRef call[4] = {e->blk, mask_bits(e), args, out};
    call_helper(e, name, call);
    for (int n = 0; n < c->nrets; n++) {
        LLVMValueRef v = LLVMBuildLoad2(b, row, byte_offset(e, out, c64(e, (uint64_t)n * 256)), "");
        if (c->rets[n].kind == PTX_OPR_REG)
            write_vector(e, c->rets[n].reg, v, PTX_U64);
    }
    return true;
}

/* ---- calls of the module's own functions ---- */

LLVMValueRef callee_function(struct emit *e, const struct ptx_func *f)
{
    size_t n = 0;
    while (n < e->callees->count && e->callees->items[n] != f)
        n++;
    if (n == e->callees->count)
        vec_push(e->callees, f);
    char name[32];
    snprintf(name, sizeof name, "weir_call_%zu", n);
    LLVMValueRef fn = LLVMGetNamedFunction(e->alu.module, name);
    if (fn == NULL) {
        LLVMTypeRef params[4] = {e->ptr, e->i32, e->i32, e->i64};
        fn = LLVMAddFunction(e->alu.module, name,
                             LLVMFunctionType(LLVMVoidTypeInContext(e->alu.ctx), params, 4, false));
        LLVMSetLinkage(fn, LLVMInternalLinkage);
    }
    return fn;
}

static void calls_call(struct emit *e, const struct ptx_func *f, LLVMValueRef mask)
{
    LLVMValueRef fn = callee_function(e, f);
    LLVMValueRef at = c64(e, e->k->local_bytes);
    if (e->sp != NULL)
        at = LLVMBuildAdd(e->alu.b, e->sp, at, "");
    LLVMValueRef args[4] = {e->blk, e->w, mask, at};
    LLVMBuildCall2(e->alu.b, LLVMGlobalGetValueType(fn), fn, args, 4, "");
}

/* The lanes of `same` launch the kernel at address `to`: as a direct launch, but the arguments lie
 * where a function's would (flatten_launch.c). */
static void calls_launch(struct emit *e, const struct ptx_call *c, LLVMValueRef to,
                         LLVMValueRef same)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef offset = c64(e, e->k->local_bytes);
    if (e->sp != NULL)
        offset = LLVMBuildAdd(b, e->sp, offset, "");
    LLVMValueRef args = new_slot(e, LLVMArrayType2(e->v32i64, (uint64_t)c->nargs + 2), "args");
    LLVMValueRef out = new_slot(e, e->v32i64, "rets");
    LLVMBuildStore(b, splat(e, to, JIT_WARP), args);
    for (int n = 0; n < c->nargs; n++)
        LLVMBuildStore(b, calls_row(e, &c->args[n]),
                       byte_offset(e, args, c64(e, (uint64_t)(n + 1) * 256)));
    LLVMBuildStore(b, splat(e, offset, JIT_WARP),
                   byte_offset(e, args, c64(e, (uint64_t)(c->nargs + 1) * 256)));
    LLVMValueRef call[4] = {e->blk, same, args, out};
    call_helper(e, "weir_rt_launch", call);
}

/* Through a pointer: lanes with the same target go together, the targets take turns. */
static bool emit_indirect(struct emit *e, const struct ptx_instr *i)
{
    LLVMBuilderRef b = e->alu.b;
    const struct ptx_module *m = e->k->entry->module;
    const struct ptx_call *c = i->call;
    struct ptx_operand target = {.kind = PTX_OPR_REG, .reg = c->reg};
    LLVMValueRef v = operand_vector(e, &target, PTX_U64);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), loop = new_bb(e, "targets");
    LLVMBasicBlockRef done = new_bb(e, "called"), next = new_bb(e, "next_target");
    LLVMValueRef all = mask_bits(e);
    LLVMBuildBr(b, loop);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef left = LLVMBuildPhi(b, e->i32, "");
    LLVMValueRef args[2] = {left, LLVMConstInt(e->i1, 1, false)};
    LLVMValueRef lane = intrinsic(e, "llvm.cttz", &e->i32, 1, args, 2);
    LLVMValueRef to = LLVMBuildExtractElement(b, v, lane, "");
    LLVMValueRef same = bits_of(e, LLVMBuildICmp(b, LLVMIntEQ, v, splat(e, to, JIT_WARP), ""));
    same = LLVMBuildAnd(b, same, left, "");
    for (int n = 0; n < (c->proto ? m->nfuncs : c->ncandidates); n++) {
        struct ptx_func *f = c->proto ? m->funcs[n] : c->candidates[n];
        if (!f->has_body || (f->is_entry && c->nargs == 0) ||
            (c->proto && (!jit_same_prototype(f, c->proto) || !jit_address_taken(m, f))))
            continue;
        struct ptx_operand sym = {.kind = PTX_OPR_SYM, .reg = -1, .func = f};
        LLVMValueRef hit =
            LLVMBuildICmp(b, LLVMIntEQ, to, operand_scalar(e, &sym, PTX_U64, SEG_WARP, 0), "");
        LLVMBasicBlockRef yes = new_bb(e, "target"), no = new_bb(e, "other");
        LLVMBuildCondBr(b, hit, yes, no);
        LLVMPositionBuilderAtEnd(b, yes);
        if (f->is_entry)
            calls_launch(e, c, to, same);
        else
            calls_call(e, f, same);
        LLVMBuildBr(b, next);
        LLVMPositionBuilderAtEnd(b, no);
    }
    if (c->configured) { /* launching no kernel is an error of the thread's, not a fault */
        LLVMBasicBlockRef null = new_bb(e, "no_kernel"), no = new_bb(e, "no_function");
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, to, c64(e, 0), ""), null, no);
        LLVMPositionBuilderAtEnd(b, null);
        calls_launch(e, c, to, same);
        LLVMBuildBr(b, next);
        LLVMPositionBuilderAtEnd(b, no);
    }
    emit_fault(e, JIT_FAULT_PC, same, NULL);
    LLVMBuildBr(b, next);
    LLVMPositionBuilderAtEnd(b, next);
    LLVMValueRef rest = LLVMBuildXor(b, left, same, "");
    LLVMAddIncoming(left, (LLVMValueRef[]){all, rest}, (LLVMBasicBlockRef[]){before, next}, 2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, rest, c32(e, 0), ""), loop, done);
    LLVMPositionBuilderAtEnd(b, done);
    return true;
}

bool emit_call(struct emit *e, const struct ptx_instr *i)
{
    struct alu_sig sig;
    if (i->call->func == NULL)
        return emit_indirect(e, i);
    if (i->call->func->has_body) {
        calls_call(e, i->call->func, mask_bits(e));
        return true;
    }
    if (alu_math_known(i->call->func->name, &sig))
        return emit_math(e, i, &sig);
    return emit_extern(e, i);
}
