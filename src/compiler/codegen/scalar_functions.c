/* scalar_functions.c: scalar versions of functions that call themselves, for where few lanes do.
 *
 * Where lanes call differently (a search with backtracking, a walk through a tree), most are
 * inactive after some levels, and code for 32 lanes costs the same for one: masks, and arguments
 * that each lane has in memory. A function that one lane may run (analysis/lane_serialization.c
 * says which instructions these are) is compiled twice: for a warp, and for a lane, where each
 * value is a scalar and arguments and results are those of an LLVM function. A call for few lanes
 * runs the scalar version for one after the other; calls within that are scalar, too. Lanes need
 * not be in step outside of operations among them, of which such a function has none.
 *
 * The frame of either version has the same size, so that the same depth is too deep for both. */
#include <stdio.h>

#include "compiler/codegen/control/control.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/module_function.h"
#include "compiler/codegen/scalar_functions.h"
#include "compiler/codegen/values.h"

enum {
    /* Lanes; a call for more of them runs them together. Calls of 32 lanes cost more than scalar
     * ones of each, but vectors gain in loops. */
    FEW = JIT_WARP,
    FEW_FOR_LOOPS = 8,
    MOST_PARAMS = 12
};

struct scalar_function {
    LLVMValueRef thread;            /* i32: the lane's thread in the block */
    LLVMValueRef formals, outgoing; /* its arguments and results, and those of calls: registers */
};

/* ---- which functions ---- */

static bool passes_in_register(const struct ptx_var *v)
{
    return v->size == 1 || v->size == 2 || v->size == 4 || v->size == 8;
}

static bool has_simple_prototype(const struct ptx_func *f)
{
    bool simple = f->nparams <= MOST_PARAMS && f->nrets <= 1;
    for (int n = 0; simple && n < f->nparams; n++)
        simple = passes_in_register(f->params[n]);
    return simple && (f->nrets == 0 || passes_in_register(f->rets[0]));
}

/* Is the variable an argument or a result, of the function or of its calls? */
static bool is_area(const struct jkernel *k, const struct ptx_var *v)
{
    int formals = k->entry->nparams + k->entry->nrets;
    bool found = v == &k->outgoing;
    for (int n = 0; n < formals && !found; n++)
        found = k->locals[n].var == v;
    return found;
}

/* Are areas named by plain accesses only? */
static bool names_areas_plainly(const struct jkernel *k, const struct ptx_instr *i)
{
    bool access = i->op == PTX_OP_ld || i->op == PTX_OP_st;
    for (int o = 0; o < i->noperands; o++) {
        const struct ptx_operand *at = &i->operands[o];
        if (at->var != NULL && is_area(k, at->var) &&
            (!access || at->kind != PTX_OPR_MEM || at->reg >= 0))
            return false;
    }
    return true;
}

static bool call_fits(const struct jkernel *k, const struct ptx_call *c)
{
    struct alu_sig sig;
    if (c->func == NULL || c->ended != 0 || c->unfinished != 0)
        return false;
    if (c->func->has_body)
        return c->func == k->entry;
    return alu_math_known(c->func->name, &sig) && sig.pointer_first >= sig.ndst;
}

static bool block_fits(const struct jkernel *k, const struct jblock *b)
{
    bool returns = b->term == TERM_EXIT && b->term_instr != NULL && b->term_instr->noperands != 0;
    if (b->suspend != 0 || (b->term != TERM_JUMP && b->term != TERM_BRANCH && !returns))
        return false;
    for (int32_t n = 0; n < b->count; n++) {
        const struct ptx_instr *i = &k->instrs[b->first + n];
        bool fits = i->op == PTX_OP_call ? call_fits(k, i->call) : jit_lane_may_run(k, i);
        if (!fits || !names_areas_plainly(k, i))
            return false;
    }
    return true;
}

static bool one_lane_may_run(const struct jkernel *k)
{
    bool fits = !k->has_poll;
    for (int32_t b = 0; b < k->nblocks && fits; b++)
        fits = block_fits(k, &k->blocks[b]);
    return fits;
}

/* Is there a loop in which the function does not call itself? */
static bool loops_alone(const struct jkernel *k)
{
    bool found = false;
    for (int32_t h = 0; h < k->nblocks && !found; h++) {
        int32_t end = k->blocks[h].loop == h ? jit_innermost_end(k, h) : -1;
        bool calls = false;
        for (int32_t b = h; b <= end; b++)
            for (int32_t n = 0; n < k->blocks[b].count; n++)
                calls |= k->instrs[k->blocks[b].first + n].op == PTX_OP_call;
        found = end >= 0 && !calls;
    }
    return found;
}

/* For how many lanes at most a call runs one after the other; 0: not at all. */
static int find(struct codegen *cg, const struct ptx_func *f)
{
    const struct jkernel *caller = cg->k;
    struct diag ignored = {0};
    if (caller->fibers || caller->opt->checked != 0 || !has_simple_prototype(f))
        return 0;
    struct jkernel k = {.is_function = true,
                        .one_lane = true,
                        .layout = caller->layout != NULL ? caller->layout : caller};
    int few = 0;
    if (jkernel_build(&k, f, caller->opt, &ignored) && one_lane_may_run(&k))
        few = loops_alone(&k) ? FEW_FOR_LOOPS : FEW;
    jkernel_free(&k);
    return few;
}

/* What is known of the function, found when it is first asked for; its place in the list. */
static size_t candidate(struct codegen *cg, const struct ptx_func *f)
{
    size_t n = 0;
    while (n < cg->scalars->count && cg->scalars->items[n].func != f)
        n++;
    if (n == cg->scalars->count) {
        struct scalar_candidate c = {f, find(cg, f)};
        vec_push(cg->scalars, c);
    }
    return n;
}

int scalar_function_lanes(struct codegen *cg, const struct ptx_func *f)
{
    size_t n = candidate(cg, f);
    return cg->scalars->items[n].lanes;
}

/* ---- the function ---- */

static LLVMTypeRef type_of(struct codegen *cg, const struct ptx_var *v)
{
    return LLVMIntTypeInContext(cg->alu.ctx, (unsigned)v->size * 8);
}

LLVMValueRef scalar_function(struct codegen *cg, const struct ptx_func *f)
{
    char name[64];
    snprintf(name, sizeof name, "weir_scalar_%zu", candidate(cg, f));
    LLVMValueRef fn = LLVMGetNamedFunction(cg->alu.module, name);
    if (fn != NULL)
        return fn;
    LLVMTypeRef params[3 + MOST_PARAMS] = {cg->ptr, cg->i32, cg->i64};
    for (int n = 0; n < f->nparams; n++)
        params[3 + n] = type_of(cg, f->params[n]);
    LLVMTypeRef result =
        f->nrets > 0 ? type_of(cg, f->rets[0]) : LLVMVoidTypeInContext(cg->alu.ctx);
    fn = LLVMAddFunction(cg->alu.module, name,
                         LLVMFunctionType(result, params, 3 + (unsigned)f->nparams, false));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    return fn;
}

/* Calls it with arguments that lie at `area`, and stores the result there. */
static void call_with_area(struct codegen *cg, const struct ptx_func *f, LLVMValueRef thread,
                           LLVMValueRef at, LLVMValueRef area)
{
    LLVMBuilderRef b = cg->alu.b;
    uint64_t offsets[MOST_PARAMS + 1];
    LLVMValueRef fn = scalar_function(cg, f), args[3 + MOST_PARAMS] = {cg->block.ptr, thread, at};
    jit_frame_layout(f, offsets);
    for (int n = 0; n < f->nparams; n++) {
        args[3 + n] = LLVMBuildLoad2(b, type_of(cg, f->params[n]),
                                     byte_offset(cg, area, c64(cg, offsets[n])), "");
        LLVMSetAlignment(args[3 + n], 1);
    }
    LLVMValueRef result =
        LLVMBuildCall2(b, LLVMGlobalGetValueType(fn), fn, args, 3 + (unsigned)f->nparams, "");
    if (f->nrets > 0)
        LLVMSetAlignment(
            LLVMBuildStore(b, result, byte_offset(cg, area, c64(cg, offsets[f->nparams]))), 1);
}

static LLVMValueRef frame_end(struct codegen *cg)
{
    return LLVMBuildAdd(cg->alu.b, cg->sp, c64(cg, cg->k->local_bytes), "");
}

void call_scalar(struct codegen *cg, const struct ptx_func *f)
{
    call_with_area(cg, f, cg->scalar->thread, frame_end(cg), cg->scalar->outgoing);
}

LLVMValueRef scalar_window(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef thread = LLVMBuildZExt(b, cg->scalar->thread, cg->i64, "");
    return byte_offset(cg, cg->block.local, LLVMBuildMul(b, thread, cg->block.local_stride, ""));
}

LLVMValueRef scalar_area(struct codegen *cg, const struct ptx_operand *o)
{
    if (o->var == NULL || o->reg >= 0 || !is_area(cg->k, o->var))
        return NULL;
    bool outgoing = o->var == &cg->k->outgoing;
    int64_t at = outgoing ? 0 : jkernel_local_offset(cg->k, o->var);
    return byte_offset(cg, outgoing ? cg->scalar->outgoing : cg->scalar->formals,
                       c64(cg, (uint64_t)(at + o->offset)));
}

/* Memory that becomes registers. */
static LLVMValueRef area_slot(struct codegen *cg, const char *name)
{
    uint64_t bytes = jit_frame_layout(cg->k->entry, NULL);
    LLVMValueRef slot = new_slot(cg, LLVMArrayType2(cg->i8, bytes > 0 ? bytes : 1), name);
    LLVMSetAlignment(slot, 16);
    return slot;
}

LLVMValueRef scalar_function_begin(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    const struct ptx_func *f = cg->k->entry;
    uint64_t offsets[MOST_PARAMS + 1];
    LLVMValueRef thread = LLVMGetParam(cg->fn, 1);
    cg->scalar = arena_alloc(&cg->k->arena, sizeof *cg->scalar);
    *cg->scalar = (struct scalar_function){.thread = thread,
                                           .formals = area_slot(cg, "formals"),
                                           .outgoing = area_slot(cg, "outgoing")};
    cg->serialized->active = true;
    jit_frame_layout(f, offsets);
    for (int n = 0; n < f->nparams + f->nrets; n++) {
        LLVMValueRef v = n < f->nparams ? LLVMGetParam(cg->fn, 3 + (unsigned)n)
                                        : LLVMConstNull(type_of(cg, f->rets[n - f->nparams]));
        LLVMValueRef to = byte_offset(cg, cg->scalar->formals, c64(cg, offsets[n]));
        LLVMSetAlignment(LLVMBuildStore(b, v, to), 1);
    }
    cg->w = LLVMBuildLShr(b, thread, c32(cg, SEG_WARP), "");
    LLVMValueRef lane = LLVMBuildAnd(b, thread, c32(cg, JIT_WARP - 1), "");
    return LLVMBuildShl(b, c32(cg, 1), lane, "");
}

void scalar_function_return(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    const struct ptx_func *f = cg->k->entry;
    uint64_t offsets[MOST_PARAMS + 1];
    if (f->nrets == 0) {
        LLVMBuildRetVoid(b);
        return;
    }
    jit_frame_layout(f, offsets);
    LLVMValueRef from = byte_offset(cg, cg->scalar->formals, c64(cg, offsets[f->nparams]));
    LLVMValueRef v = LLVMBuildLoad2(b, type_of(cg, f->rets[0]), from, "");
    LLVMSetAlignment(v, 1);
    LLVMBuildRet(b, v);
}

/* ---- calls by warps ---- */

struct call_of_lanes {
    const struct ptx_func *func;
    LLVMValueRef at;
};

static void call_for_lane(struct codegen *cg, LLVMValueRef lane, void *arg)
{
    LLVMBuilderRef b = cg->alu.b;
    const struct call_of_lanes *c = arg;
    LLVMValueRef thread = LLVMBuildShl(b, cg->w, c32(cg, SEG_WARP), "");
    thread = LLVMBuildOr(b, thread, lane, "");
    LLVMValueRef window =
        LLVMBuildMul(b, LLVMBuildZExt(b, thread, cg->i64, ""), cg->block.local_stride, "");
    LLVMValueRef area = byte_offset(cg, cg->block.local, LLVMBuildAdd(b, window, c->at, ""));
    call_with_area(cg, c->func, thread, c->at, area);
}

void call_scalars(struct codegen *cg, const struct ptx_func *f, LLVMValueRef mask, LLVMValueRef at)
{
    struct call_of_lanes c = {f, at};
    for_active_lanes(cg, mask, call_for_lane, &c);
}
