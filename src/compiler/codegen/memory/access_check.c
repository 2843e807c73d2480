/* access_check: questions before accesses to memory (jit_options.checked).
 *
 * Where races are looked for, every access to global memory tells the exec module which bytes it
 * touches; where they are looked for within a grid, every access to global and shared memory tells
 * of itself once more, with what it writes, and so does what orders threads.
 *
 * In checked mode every access asks the exec module first whether all active lanes may make it, so
 * that an access one byte past an allocation, or to freed memory, is found where it happens, with
 * its thread. Slow, and only for finding faults.
 *
 * Where there are several devices and the CPU has no protection keys, code distinguishes devices:
 * two comparisons of each address, of one for neighbouring lanes, and the question only if it may
 * be another device's. */
#include <stddef.h>

#include "compiler/codegen/frame.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/memory/access_told.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/values.h"

#define NOT_ASKED (JIT_CHECK_ATOMIC | JIT_CHECK_SYSTEM)

enum {
    SEG_FEW = 3,    /* lanes of a segment, as a power of two: fewer are many segments */
    MANY_LOOKS = 32 /* at every lane's address; a function with more leaves them to the helper, as
                       each is many instructions, which take long to compile */
};

struct access_check {
    LLVMValueRef others;    /* what weir_rt_others gives, */
    LLVMValueRef touched;   /* and weir_rt_touched; NULL: accesses have no slots */
    LLVMValueRef tier_slot; /* i32: the first slot of the tier */
    uint32_t slots;         /* that accesses have got */
    uint32_t inline_checks; /* so far, of all lanes' addresses */
    bool async;             /* accesses are an asynchronous copy's */
};

enum { OTHER_CHECKS = JIT_CHECKS_MEMORY | JIT_CHECKS_DEVICES | JIT_CHECKS_TOUCHED };

/* Variables that are named are the kernel's own module's. */
static bool is_looked_at(const struct codegen *cg, unsigned space, bool named)
{
    return (cg->k->opt->checked & OTHER_CHECKS) != 0 &&
           !(named && cg->k->opt->checked == JIT_CHECKS_DEVICES) &&
           (space == PTX_SPACE_GLOBAL || space == PTX_SPACE_GENERIC || space == PTX_SPACE_CONST);
}

void check_begin(struct codegen *cg)
{
    cg->check = arena_alloc(&cg->k->arena, sizeof *cg->check);
    *cg->check = (struct access_check){0};
    if ((cg->k->opt->checked & JIT_CHECKS_DEVICES) != 0)
        cg->check->others = call_helper(cg, "weir_rt_others", cg->ptr, &cg->block.ptr, 1);
    /* What is on a stack of its own may go on with another thread, whose slots are others. */
    if ((cg->k->opt->checked & JIT_CHECKS_TOUCHED) != 0 && !cg->k->is_function && !cg->k->fibers) {
        cg->check->tier_slot = LLVMBuildSelect(cg->alu.b, osr_is_baseline(cg),
                                               c32(cg, JIT_TOUCH_SLOTS / 2), c32(cg, 0), "");
        LLVMValueRef args[2] = {cg->block.ptr, cg->check->tier_slot};
        cg->check->touched = call_helper(cg, "weir_rt_touched", cg->ptr, args, 2);
    }
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

/* The addresses are in the first row already, in that shape. */
static void call_check(struct codegen *cg, const char *helper, LLVMValueRef mask, uint32_t what,
                       LLVMValueRef shape)
{
    LLVMValueRef args[5] = {cg->block.ptr, mask, helper_rows(cg, 0), c32(cg, what), shape};
    call_helper(cg, helper, LLVMVoidTypeInContext(cg->alu.ctx), args, 5);
}

static void call_touch(struct codegen *cg, LLVMValueRef mask, uint32_t what, LLVMValueRef shape,
                       uint32_t slot)
{
    LLVMValueRef number = c32(cg, slot);
    if (slot != JIT_TOUCH_NO_SLOT)
        number = LLVMBuildAdd(cg->alu.b, number, cg->check->tier_slot, "");
    LLVMValueRef args[6] = {cg->block.ptr, mask, helper_rows(cg, 0), c32(cg, what), shape, number};
    call_helper(cg, "weir_rt_touch", LLVMVoidTypeInContext(cg->alu.ctx), args, 6);
}

static bool asks(const struct codegen *cg, uint32_t checks)
{
    return (cg->k->opt->checked & checks) != 0;
}

static void ask_helper(struct codegen *cg, LLVMValueRef mask, LLVMValueRef at, uint32_t what)
{
    helper_row_store(cg, 0, at);
    if (asks(cg, JIT_CHECKS_TOUCHED))
        call_touch(cg, mask, what, c32(cg, 0), JIT_TOUCH_NO_SLOT);
    if (asks(cg, JIT_CHECKS_MEMORY | JIT_CHECKS_DEVICES))
        call_check(cg, "weir_rt_check", mask, what & ~NOT_ASKED, c32(cg, 0));
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

/* ---- within a grid ---- */

static bool is_strong(const struct ptx_instr *i)
{
    return i->op == PTX_OP_atom || i->op == PTX_OP_red || ptx_has(i, PTX_M_volatile) ||
           ptx_has(i, PTX_M_relaxed) || ptx_has(i, PTX_M_acquire) || ptx_has(i, PTX_M_release) ||
           ptx_has(i, PTX_M_acq_rel);
}

/* Whether the host's threads may know by it what the thread has done, or the thread what they have.
 */
static bool is_of_system(const struct ptx_instr *i)
{
    return ptx_has(i, PTX_M_volatile) || (is_strong(i) && ptx_has(i, PTX_M_sys));
}

enum jit_scope check_scope(const struct ptx_instr *i)
{
    return ptx_has(i, PTX_M_cta)       ? JIT_SCOPE_BLOCK
           : ptx_has(i, PTX_M_cluster) ? JIT_SCOPE_CLUSTER
                                       : JIT_SCOPE_GRID;
}

static bool is_compared(const struct codegen *cg, unsigned space)
{
    return (cg->k->opt->checked & JIT_CHECKS_THREADS) != 0 &&
           (space == PTX_SPACE_GLOBAL || space == PTX_SPACE_GENERIC || space == PTX_SPACE_SHARED);
}

static uint32_t compared_how(const struct codegen *cg, const struct ptx_instr *i, unsigned space,
                             bool writes)
{
    bool both = ptx_has(i, PTX_M_acq_rel);
    uint32_t how = writes ? JIT_ACCESS_WRITE : 0;
    how |= is_strong(i) ? JIT_ACCESS_STRONG : 0;
    how |= both || ptx_has(i, PTX_M_acquire) ? JIT_ACCESS_ACQUIRE : 0;
    how |= writes && (both || ptx_has(i, PTX_M_release)) ? JIT_ACCESS_RELEASE : 0;
    how |= space == PTX_SPACE_SHARED ? JIT_ACCESS_SHARED : 0;
    how |= space == PTX_SPACE_GENERIC ? JIT_ACCESS_GENERIC : 0;
    how |= cg->check->async || ptx_has(i, PTX_M_async) ? JIT_ACCESS_ASYNC : 0;
    return how | (uint32_t)check_scope(i) << JIT_ACCESS_SCOPE_SHIFT;
}

/* What lanes write, as numbers of 64 bits: NULL where it is no single number. */
static LLVMValueRef as_numbers(struct codegen *cg, LLVMValueRef v)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef element = LLVMGetElementType(LLVMTypeOf(v));
    unsigned bits = 0;
    switch (LLVMGetTypeKind(element)) {
    case LLVMIntegerTypeKind: bits = LLVMGetIntTypeWidth(element); break;
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind: bits = 16; break;
    case LLVMFloatTypeKind: bits = 32; break;
    case LLVMDoubleTypeKind: bits = 64; break;
    default: return NULL;
    }
    if (bits > 64)
        return NULL;
    LLVMTypeRef number = LLVMVectorType(LLVMIntTypeInContext(cg->alu.ctx, bits), JIT_WARP);
    return LLVMBuildZExt(b, LLVMBuildBitCast(b, v, number, ""), cg->v32i64, "");
}

static void compare_access(struct codegen *cg, const struct told *t, uint32_t how,
                           LLVMValueRef stored)
{
    LLVMValueRef values = LLVMConstNull(cg->ptr), shape = told_addresses(cg, t);
    LLVMValueRef numbers = stored != NULL ? as_numbers(cg, stored) : NULL;
    if (numbers != NULL) {
        helper_row_store(cg, 1, LLVMBuildFreeze(cg->alu.b, numbers, ""));
        values = helper_rows(cg, 1);
    }
    LLVMValueRef args[6] = {cg->block.ptr,           mask_bits(cg), helper_rows(cg, 0),
                            c32(cg, t->bytes | how), values,        shape};
    call_helper(cg, "weir_rt_thread_access", LLVMVoidTypeInContext(cg->alu.ctx), args, 6);
}

void check_order(struct codegen *cg, enum jit_thread_order op, LLVMValueRef mask, LLVMValueRef arg,
                 LLVMValueRef row)
{
    if ((cg->k->opt->checked & JIT_CHECKS_THREADS) == 0)
        return;
    if (row != NULL)
        helper_row_store(cg, 0, LLVMBuildFreeze(cg->alu.b, row, ""));
    LLVMValueRef args[5] = {cg->block.ptr, c32(cg, op), mask, arg, helper_rows(cg, 0)};
    call_helper(cg, "weir_rt_thread_order", LLVMVoidTypeInContext(cg->alu.ctx), args, 5);
}

void check_async(struct codegen *cg, bool async) { cg->check->async = async; }

LLVMValueRef check_strong_address(struct codegen *cg, const struct ptx_instr *i,
                                  const struct ptx_operand *at, unsigned space)
{
    return is_compared(cg, space) && is_strong(i) ? address_vector(cg, at, space) : NULL;
}

void check_acquired(struct codegen *cg, const struct ptx_instr *i, LLVMValueRef address,
                    unsigned space, unsigned exchanged)
{
    uint32_t how = exchanged > 0 ? JIT_ACCESS_EXCHANGE | exchanged : 0;
    if (address != NULL)
        check_order(cg, JIT_ORDER_ACQUIRED, mask_bits(cg),
                    c32(cg, how | compared_how(cg, i, space, exchanged > 0)), address);
}

/* ---- what a grid touches ---- */

/* JIT_TOUCH_NO_SLOT: none is left. */
static uint32_t take_slot(struct codegen *cg)
{
    struct access_check *c = cg->check;
    if (c->touched == NULL || c->slots >= JIT_TOUCH_SLOTS / 2)
        return JIT_TOUCH_NO_SLOT;
    return c->slots++;
}

/* A range that a segment touches. */
struct noted {
    LLVMValueRef first; /* i64 */
    LLVMValueRef lanes; /* i32: those of the segment that are active, from bit 0 on */
    LLVMValueRef at;    /* i64: offset in the range that has bits */
};

static LLVMValueRef touched_field(struct codegen *cg, uint64_t at, LLVMTypeRef type)
{
    LLVMValueRef v =
        LLVMBuildLoad2(cg->alu.b, type, byte_offset(cg, cg->check->touched, c64(cg, at)), "");
    LLVMSetMetadata(v, cg->md.invariant, cg->md.empty);
    return v;
}

static uint32_t words_of(const struct told *t, uint32_t shape)
{
    uint32_t bytes = (shape & JIT_SHAPE_NEXT) != 0 ? t->bytes << (shape & JIT_SHAPE_SEG) : t->bytes;
    return bytes % 4 == 0 ? bytes / 4 : 0;
}

/* Whether accesses of that shape are recorded by the code itself: a few, of some whole words. */
static bool notes_itself(const struct told *t, uint32_t shape)
{
    enum { PIECES = 8, WORDS = 32 };
    uint32_t words = words_of(t, shape);
    return shape != 0 && words > 0 && words <= WORDS && t->count <= PIECES && t->step % 4 == 0;
}

/* i1: the code may record it. */
static LLVMValueRef can_note(struct codegen *cg, const struct told *t, uint32_t shape,
                             struct noted *n)
{
    LLVMBuilderRef b = cg->alu.b;
    uint32_t lanes = 1u << (shape & JIT_SHAPE_SEG);
    uint32_t all = lanes >= JIT_WARP ? UINT32_MAX : (1u << lanes) - 1;
    LLVMValueRef base = touched_field(cg, offsetof(struct jit_touched, base), cg->i64);
    LLVMValueRef last = touched_field(cg, offsetof(struct jit_touched, last), cg->i64);
    LLVMValueRef regions = touched_field(cg, offsetof(struct jit_touched, regions), cg->ptr);
    n->at = LLVMBuildSub(b, n->first, base, "");
    LLVMValueRef region = LLVMBuildLShr(b, n->at, c64(cg, JIT_TOUCH_REGION_SHIFT), "");
    LLVMValueRef in = LLVMBuildICmp(b, LLVMIntULT, region, last, "");
    region = LLVMBuildSelect(b, in, region, last, "");
    LLVMTypeRef byte = LLVMInt8TypeInContext(cg->alu.ctx);
    LLVMValueRef mark = LLVMBuildLoad2(b, byte, byte_offset(cg, regions, region), "");
    mark = LLVMBuildAnd(b, mark, LLVMConstInt(byte, JIT_TOUCH_MARKED, false), "");
    LLVMValueRef can = LLVMBuildICmp(b, LLVMIntNE, mark, LLVMConstInt(byte, 0, false), "");
    if ((shape & JIT_SHAPE_NEXT) != 0 && t->bytes != 4) /* lanes are not words */
        can = LLVMBuildAnd(b, can, LLVMBuildICmp(b, LLVMIntEQ, n->lanes, c32(cg, all), ""), "");
    if (t->count > 1) { /* the last piece begins in the same region */
        LLVMValueRef end = LLVMBuildAdd(b, n->at, c64(cg, (uint64_t)(t->count - 1) * t->step), "");
        end = LLVMBuildLShr(b, end, c64(cg, JIT_TOUCH_REGION_SHIFT), "");
        can = LLVMBuildAnd(b, can, LLVMBuildICmp(b, LLVMIntEQ, end, region, ""), "");
    }
    if (t->bytes < 4)
        can = LLVMBuildAnd(
            b, can,
            LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, n->at, c64(cg, 3), ""), c64(cg, 0), ""),
            "");
    return can;
}

/* Sets the bits of a piece. */
static void set_bits(struct codegen *cg, const struct told *t, uint32_t shape,
                     const struct noted *n, uint32_t piece, uint32_t how)
{
    LLVMBuilderRef b = cg->alu.b;
    uint32_t kind = (how & JIT_CHECK_ATOMIC) != 0 ? 2 : (how & JIT_CHECK_WRITES) != 0 ? 1 : 0;
    uint64_t words = ((uint64_t)1 << words_of(t, shape)) - 1;
    LLVMValueRef at = LLVMBuildAdd(b, n->at, c64(cg, (uint64_t)piece * t->step), "");
    LLVMValueRef bits =
        touched_field(cg, offsetof(struct jit_touched, bits) + kind * sizeof(uint8_t *), cg->ptr);
    LLVMValueRef place = LLVMBuildAnd(b, LLVMBuildLShr(b, at, c64(cg, 5), ""), c64(cg, ~3ull), "");
    LLVMValueRef shift =
        LLVMBuildAnd(b, LLVMBuildLShr(b, at, c64(cg, JIT_TOUCH_WORD_SHIFT), ""), c64(cg, 31), "");
    LLVMValueRef set = c64(cg, words);
    if ((shape & JIT_SHAPE_NEXT) != 0 && t->bytes == 4)
        set = LLVMBuildZExt(b, n->lanes, cg->i64, "");
    else if ((shape & JIT_SHAPE_NEXT) == 0)
        set = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntNE, n->lanes, c32(cg, 0), ""), set,
                              c64(cg, 0), "");
    place = byte_offset(cg, bits, place);
    LLVMValueRef v = LLVMBuildLoad2(b, cg->i64, place, "");
    LLVMSetAlignment(v, 4);
    v = LLVMBuildStore(b, LLVMBuildOr(b, v, LLVMBuildShl(b, set, shift, ""), ""), place);
    LLVMSetAlignment(v, 4);
}

/* Moves the ends of the slot. */
static void widen_slot(struct codegen *cg, const struct told *t, uint32_t shape,
                       const struct noted *n, LLVMValueRef slots, uint32_t slot)
{
    LLVMBuilderRef b = cg->alu.b;
    uint64_t extent = (uint64_t)words_of(t, shape) * 4 + (uint64_t)(t->count - 1) * t->step;
    LLVMValueRef active = LLVMBuildICmp(b, LLVMIntNE, n->lanes, c32(cg, 0), "");
    LLVMValueRef end[2] = {n->first, LLVMBuildAdd(b, n->first, c64(cg, extent), "")};
    for (uint32_t k = 0; k < 2; k++) {
        LLVMValueRef place = byte_offset(
            cg, slots, c64(cg, slot * sizeof(struct jit_touched_slot) + k * sizeof(uint64_t)));
        LLVMValueRef old = LLVMBuildLoad2(b, cg->i64, place, "");
        LLVMValueRef moves = LLVMBuildICmp(b, k == 0 ? LLVMIntULT : LLVMIntUGT, end[k], old, "");
        moves = LLVMBuildAnd(b, moves, active, "");
        LLVMBuildStore(b, LLVMBuildSelect(b, moves, end[k], old, ""), place);
    }
}

static LLVMValueRef slot_used(struct codegen *cg, LLVMValueRef slots, uint32_t slot)
{
    uint64_t at = slot * sizeof(struct jit_touched_slot) + offsetof(struct jit_touched_slot, high);
    LLVMValueRef high = LLVMBuildLoad2(cg->alu.b, cg->i64, byte_offset(cg, slots, c64(cg, at)), "");
    return LLVMBuildICmp(cg->alu.b, LLVMIntNE, high, c64(cg, 0), "");
}

/* Calls only where it must. */
static void note_touched(struct codegen *cg, const struct told *t, uint32_t how)
{
    LLVMBuilderRef b = cg->alu.b;
    struct noted noted[MAX_SEGS];
    uint32_t shape = told_shape(cg, t), seg = shape & JIT_SHAPE_SEG;
    uint32_t slot = notes_itself(t, shape) ? take_slot(cg) : JIT_TOUCH_NO_SLOT;
    if (slot == JIT_TOUCH_NO_SLOT) {
        call_touch(cg, mask_bits(cg), t->bytes | how, told_addresses(cg, t), slot);
        return;
    }
    LLVMValueRef slots = touched_field(cg, offsetof(struct jit_touched, slots), cg->ptr);
    LLVMValueRef can = slot_used(cg, slots, slot);
    for (int n = 0; n < nsegs(seg); n++) {
        noted[n].first = LLVMBuildFreeze(b, mem_base(cg, &t->at, seg, n), "");
        noted[n].lanes = mask_bits(cg);
        if (seg < SEG_WARP)
            noted[n].lanes =
                LLVMBuildAnd(b, LLVMBuildLShr(b, noted[n].lanes, c32(cg, (uint64_t)n << seg), ""),
                             c32(cg, (1u << (1u << seg)) - 1), "");
        can = LLVMBuildAnd(b, can, can_note(cg, t, shape, &noted[n]), "");
    }
    LLVMBasicBlockRef ask = new_bb(cg, "touch"), note = new_bb(cg, "note"),
                      on = new_bb(cg, "noted");
    branch_likely(cg, can, note, ask);
    LLVMPositionBuilderAtEnd(b, ask);
    call_touch(cg, mask_bits(cg), t->bytes | how, told_addresses(cg, t), slot);
    LLVMBuildBr(b, on);
    LLVMPositionBuilderAtEnd(b, note);
    for (int n = 0; n < nsegs(seg); n++) {
        for (uint32_t piece = 0; piece < t->count; piece++)
            set_bits(cg, t, shape, &noted[n], piece, how);
        widen_slot(cg, t, shape, &noted[n], slots, slot);
    }
    LLVMBuildBr(b, on);
    LLVMPositionBuilderAtEnd(b, on);
}

/* ---- all checks ---- */

/* Each access by itself: a fault is one instruction's. */
static void ask_about(struct codegen *cg, const struct ptx_operand *at, unsigned space,
                      uint32_t what)
{
    struct told t = told_one(at, space, what & JIT_CHECK_BYTES);
    if (asks(cg, JIT_CHECKS_MEMORY | JIT_CHECKS_DEVICES))
        call_check(cg, "weir_rt_check", mask_bits(cg), what & ~NOT_ASKED, told_addresses(cg, &t));
}

static void check_global(struct codegen *cg, const struct ptx_operand *at, unsigned space,
                         unsigned bytes, uint32_t how)
{
    uint32_t what = bytes | how;
    bool named = at->var != NULL && at->reg < 0 && (uint64_t)at->offset < JIT_OTHERS_REACH;
    if (!is_looked_at(cg, space, named))
        return;
    if (cg->k->opt->checked != JIT_CHECKS_DEVICES) {
        ask_about(cg, at, space, what);
        return;
    }
    LLVMValueRef all = address_vector(cg, at, space), suspect;
    suspect = segments_maybe_others(cg, at, bytes);
    if (suspect == NULL && cg->check->inline_checks++ >= MANY_LOOKS)
        ask_helper(cg, mask_bits(cg), all, what | JIT_CHECK_OTHERS);
    else
        ask_if(cg, suspect != NULL ? suspect : maybe_others(cg, all), mask_bits(cg), all, what);
}

/* Shared memory is compared with its bounds here; who is outside, the helper tells: another block
 * of the cluster may be meant. */
static void check_shared(struct codegen *cg, const struct ptx_operand *at, unsigned bytes,
                         bool writes)
{
    LLVMBuilderRef b = cg->alu.b;
    bool variable = at->var != NULL && at->reg < 0 && at->offset >= 0 &&
                    (uint64_t)at->offset + bytes <= at->var->size;
    if ((cg->k->opt->checked & JIT_CHECKS_MEMORY) == 0 || variable)
        return;
    LLVMValueRef all = LLVMBuildFreeze(b, address_vector(cg, at, PTX_SPACE_SHARED), "");
    LLVMValueRef base = LLVMBuildPtrToInt(b, cg->block.shared, cg->i64, "");
    LLVMValueRef size = block_field(cg, BLOCK_FIELD(total_shared), cg->i32, false);
    LLVMValueRef last =
        LLVMBuildSub(b, LLVMBuildZExt(b, size, cg->i64, ""), c64(cg, bytes), "last");
    LLVMValueRef offset = LLVMBuildSub(b, all, splat(cg, base, JIT_WARP), "");
    LLVMValueRef few = LLVMBuildICmp(b, LLVMIntSLT, last, c64(cg, 0), "");
    LLVMValueRef suspect =
        LLVMBuildOr(b, splat(cg, few, JIT_WARP),
                    LLVMBuildICmp(b, LLVMIntUGT, offset, splat(cg, last, JIT_WARP), ""), "");
    LLVMValueRef mask = LLVMBuildAnd(b, bits_of(cg, suspect), mask_bits(cg), "");
    LLVMBasicBlockRef ask = new_bb(cg, "outside"), on = new_bb(cg, "inside");
    branch_likely(cg, LLVMBuildICmp(b, LLVMIntEQ, mask, c32(cg, 0), ""), on, ask);
    LLVMPositionBuilderAtEnd(b, ask);
    helper_row_store(cg, 0, all);
    LLVMValueRef args[4] = {cg->block.ptr, mask, helper_rows(cg, 0),
                            c32(cg, bytes | (writes ? JIT_CHECK_WRITES : 0))};
    call_helper(cg, "weir_rt_check_shared", LLVMVoidTypeInContext(cg->alu.ctx), args, 4);
    LLVMBuildBr(b, on);
    LLVMPositionBuilderAtEnd(b, on);
}

void check_access(struct codegen *cg, const struct ptx_instr *i, const struct ptx_operand *at,
                  unsigned space, unsigned bytes, bool writes, LLVMValueRef stored)
{
    if (space == PTX_SPACE_SHARED)
        check_shared(cg, at, bytes, writes);
    uint32_t how = (writes ? JIT_CHECK_WRITES : 0) | (is_strong(i) ? JIT_CHECK_ATOMIC : 0) |
                   (is_of_system(i) ? JIT_CHECK_SYSTEM : 0) |
                   (space == PTX_SPACE_GENERIC ? JIT_CHECK_GENERIC : 0);
    struct told t = told_one(at, space, bytes);
    bool compared = is_compared(cg, space);
    bool touched = asks(cg, JIT_CHECKS_TOUCHED) && is_looked_at(cg, space, false);
    if ((compared || touched) && (writes || told_loads(cg, i, &t, TOLD_ACCESSES))) {
        if (compared)
            compare_access(cg, &t, compared_how(cg, i, space, writes), stored);
        if (touched)
            note_touched(cg, &t, how);
    }
    check_global(cg, at, space, bytes, how);
}

/* Lines of a matrix are given by generic addresses. */
static void compare_lines(struct codegen *cg, LLVMValueRef mask, LLVMValueRef at, unsigned bytes,
                          bool writes)
{
    uint32_t how = bytes | (writes ? JIT_ACCESS_WRITE : 0) | JIT_ACCESS_GENERIC | JIT_ACCESS_MATRIX;
    helper_row_store(cg, 0, at);
    LLVMValueRef args[6] = {cg->block.ptr,          mask,      helper_rows(cg, 0), c32(cg, how),
                            LLVMConstNull(cg->ptr), c32(cg, 0)};
    call_helper(cg, "weir_rt_thread_access", LLVMVoidTypeInContext(cg->alu.ctx), args, 6);
}

void check_lines(struct codegen *cg, unsigned space, LLVMValueRef start, LLVMValueRef pitch,
                 unsigned lines, unsigned bytes, bool writes)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef number[JIT_WARP];
    uint32_t what = bytes | JIT_CHECK_WARP | JIT_CHECK_GENERIC | (writes ? JIT_CHECK_WRITES : 0);
    bool looks = space != PTX_SPACE_CONST && is_looked_at(cg, space, false);
    if (!looks && !is_compared(cg, space))
        return;
    for (unsigned n = 0; n < JIT_WARP; n++)
        number[n] = c64(cg, n);
    LLVMValueRef at =
        LLVMBuildMul(b, LLVMConstVector(number, JIT_WARP), splat(cg, pitch, JIT_WARP), "");
    at = LLVMBuildAdd(b, at, splat(cg, LLVMBuildPtrToInt(b, start, cg->i64, ""), JIT_WARP), "");
    LLVMValueRef mask = c32(cg, lines >= JIT_WARP ? 0xffffffffu : (1u << lines) - 1);
    if (is_compared(cg, space))
        compare_lines(cg, mask, at, bytes, writes);
    if (!looks)
        return;
    if (cg->k->opt->checked != JIT_CHECKS_DEVICES)
        ask_helper(cg, mask, at, what);
    else
        ask_if(cg, maybe_others(cg, at), mask, at, what);
}
