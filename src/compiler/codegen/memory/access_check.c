/* access_check: questions before accesses to global memory (jit_options.checked).
 *
 * Where races are looked for, every access tells the exec module which bytes it touches.
 *
 * In checked mode every access asks the exec module first whether all active lanes may make it, so
 * that an access one byte past an allocation, or to freed memory, is found where it happens, with
 * its thread. Slow, and only for finding faults.
 *
 * Where there are several devices and the CPU has no protection keys, code distinguishes devices:
 * two comparisons of each address, of one for neighbouring lanes, and the question only if it may
 * be another device's. */
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/values.h"

enum {
    SEG_FEW = 3,    /* lanes of a segment, as a power of two: fewer are many segments */
    MANY_LOOKS = 32 /* at every lane's address; a function with more leaves them to the helper, as
                       each is many instructions, which take long to compile */
};

struct access_check {
    LLVMValueRef others;    /* what weir_rt_others gives */
    uint32_t inline_checks; /* so far, of all lanes' addresses */
};

/* Variables that are named are the kernel's own module's. */
static bool is_looked_at(const struct codegen *cg, unsigned space, bool named)
{
    return cg->k->opt->checked != JIT_CHECKS_NONE &&
           !(named && cg->k->opt->checked == JIT_CHECKS_DEVICES) &&
           (space == PTX_SPACE_GLOBAL || space == PTX_SPACE_GENERIC || space == PTX_SPACE_CONST);
}

void check_begin(struct codegen *cg)
{
    if (cg->k->opt->checked != JIT_CHECKS_DEVICES)
        return;
    cg->check = arena_alloc(&cg->k->arena, sizeof *cg->check);
    cg->check->others = call_helper(cg, "weir_rt_others", cg->ptr, &cg->block.ptr, 1);
}

/* For an address, or a vector of them: is it in the range that begins with number `which`? */
static LLVMValueRef inside(struct codegen *cg, LLVMValueRef at, unsigned which)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef v[2];
    for (unsigned n = 0; n < 2; n++) {
        LLVMValueRef from =
            byte_offset(cg, cg->check->others, c64(cg, (which + n) * sizeof(uint64_t)));
        v[n] = LLVMBuildLoad2(b, cg->i64, from, "");
        LLVMSetMetadata(v[n], cg->md.invariant, cg->md.empty);
        if (LLVMTypeOf(at) != cg->i64)
            v[n] = splat(cg, v[n], JIT_WARP);
    }
    return LLVMBuildICmp(b, LLVMIntULT, LLVMBuildSub(b, at, v[0], ""), v[1], "");
}

/* i1, or <32 x i1>: may it be another device's memory? */
static LLVMValueRef maybe_others(struct codegen *cg, LLVMValueRef at)
{
    LLVMBuilderRef b = cg->alu.b;
    at = LLVMBuildFreeze(b, at, ""); /* inactive lanes' may be anything */
    LLVMValueRef own = inside(cg, at, JIT_OTHERS_OWN_BASE);
    return LLVMBuildAnd(b, inside(cg, at, JIT_OTHERS_BASE), LLVMBuildNot(b, own, ""), "");
}

/* Lanes' addresses that are affine with few segments and within reach of the lowest, which says
 * enough: i1, NULL when they are not. */
static LLVMValueRef segments_maybe_others(struct codegen *cg, const struct ptx_operand *at,
                                          unsigned bytes)
{
    LLVMBuilderRef b = cg->alu.b;
    struct uniformity s = address_uniformity(cg->k, at);
    LLVMValueRef any = NULL;
    if (s.seg < SEG_FEW || (s.brk != 0 && !cg->in_converged_copy) ||
        s.stride > JIT_OTHERS_REACH / 64 || s.stride < -JIT_OTHERS_REACH / 64 ||
        bytes > JIT_OTHERS_REACH / 2)
        return NULL;
    for (int n = 0; n < nsegs(s.seg); n++) {
        LLVMValueRef lowest = mem_base(cg, at, s.seg, n);
        int64_t below = s.stride < 0 ? s.stride * ((1 << s.seg) - 1) : 0;
        lowest = maybe_others(cg, LLVMBuildAdd(b, lowest, c64(cg, (uint64_t)below), ""));
        any = any == NULL ? lowest : LLVMBuildOr(b, any, lowest, "");
    }
    return any;
}

static void ask_helper(struct codegen *cg, LLVMValueRef mask, LLVMValueRef at, uint32_t what)
{
    helper_row_store(cg, 0, at);
    LLVMValueRef args[4] = {cg->block.ptr, mask, helper_rows(cg, 0), c32(cg, what)};
    const char *helper =
        cg->k->opt->checked == JIT_CHECKS_TOUCHED ? "weir_rt_touch" : "weir_rt_check";
    call_helper(cg, helper, LLVMVoidTypeInContext(cg->alu.ctx), args, 4);
}

/* Only where a lane's address is suspect. */
static void ask_if(struct codegen *cg, LLVMValueRef suspect, LLVMValueRef mask, LLVMValueRef at,
                   uint32_t what)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef ask = new_bb(cg, "suspect"), on = new_bb(cg, "allowed");
    if (LLVMTypeOf(suspect) != cg->i1) {
        mask = LLVMBuildAnd(b, bits_of(cg, suspect), mask, "");
        suspect = LLVMBuildICmp(b, LLVMIntNE, mask, c32(cg, 0), "");
    }
    branch_likely(cg, LLVMBuildNot(b, suspect, ""), on, ask);
    LLVMPositionBuilderAtEnd(b, ask);
    ask_helper(cg, mask, at, what | JIT_CHECK_OTHERS);
    LLVMBuildBr(b, on);
    LLVMPositionBuilderAtEnd(b, on);
}

uint32_t check_how(const struct ptx_instr *i, bool writes)
{
    bool atomic = i->op == PTX_OP_atom || i->op == PTX_OP_red || ptx_has(i, PTX_M_volatile) ||
                  ptx_has(i, PTX_M_relaxed) || ptx_has(i, PTX_M_acquire) ||
                  ptx_has(i, PTX_M_release);
    return (writes ? JIT_CHECK_WRITES : 0) | (atomic ? JIT_CHECK_ATOMIC : 0);
}

void check_access(struct codegen *cg, const struct ptx_operand *at, unsigned space, unsigned bytes,
                  uint32_t how)
{
    uint32_t what =
        bytes | (cg->k->opt->checked == JIT_CHECKS_TOUCHED ? how : how & JIT_CHECK_WRITES);
    bool named = at->var != NULL && at->reg < 0 && (uint64_t)at->offset < JIT_OTHERS_REACH;
    if (!is_looked_at(cg, space, named))
        return;
    LLVMValueRef all = address_vector(cg, at, space), suspect;
    if (cg->k->opt->checked != JIT_CHECKS_DEVICES) {
        ask_helper(cg, mask_bits(cg), all, what);
        return;
    }
    suspect = segments_maybe_others(cg, at, bytes);
    if (suspect == NULL && cg->check->inline_checks++ >= MANY_LOOKS)
        ask_helper(cg, mask_bits(cg), all, what | JIT_CHECK_OTHERS);
    else
        ask_if(cg, suspect != NULL ? suspect : maybe_others(cg, all), mask_bits(cg), all, what);
}

void check_lines(struct codegen *cg, unsigned space, LLVMValueRef start, LLVMValueRef pitch,
                 unsigned lines, unsigned bytes, bool writes)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef number[JIT_WARP];
    uint32_t what = bytes | JIT_CHECK_WARP | (writes ? JIT_CHECK_WRITES : 0);
    if (space == PTX_SPACE_CONST || !is_looked_at(cg, space, false))
        return;
    for (unsigned n = 0; n < JIT_WARP; n++)
        number[n] = c64(cg, n);
    LLVMValueRef at =
        LLVMBuildMul(b, LLVMConstVector(number, JIT_WARP), splat(cg, pitch, JIT_WARP), "");
    at = LLVMBuildAdd(b, at, splat(cg, LLVMBuildPtrToInt(b, start, cg->i64, ""), JIT_WARP), "");
    LLVMValueRef mask = c32(cg, lines >= JIT_WARP ? 0xffffffffu : (1u << lines) - 1);
    if (cg->k->opt->checked != JIT_CHECKS_DEVICES)
        ask_helper(cg, mask, at, what);
    else
        ask_if(cg, maybe_others(cg, at), mask, at, what);
}
