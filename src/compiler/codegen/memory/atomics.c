/* atomics.c: atom and red.
 *
 * Lanes are updated one after the other, in lane order, those at one address at once where no old
 * value is read. One thread of the machine runs all warps of
 * a block, so atomics on shared memory are plain reads and writes; the others are the machine's
 * own, or a compare-and-swap loop where it has none. */
#include "compiler/codegen/memory/atomics.h"
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/memory/deferred.h"
#include "compiler/codegen/memory/defined.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/module_function.h"
#include "compiler/codegen/values.h"

/* The smaller or larger of halves: of a number and a NaN the number, of two NaNs the canonical one.
 */
static LLVMValueRef half_bound(struct codegen *cg, const struct atomic *a, LLVMValueRef old,
                               LLVMValueRef x)
{
    LLVMBuilderRef b = cg->alu.b;
    bool pair = LLVMGetTypeKind(a->packed) == LLVMVectorTypeKind;
    LLVMTypeRef wide = pair ? LLVMVectorType(cg->f32, 2) : cg->f32;
    LLVMTypeRef bits = pair ? LLVMVectorType(cg->i16, 2) : cg->i16;
    LLVMValueRef args[2] = {LLVMBuildFPExt(b, LLVMBuildBitCast(b, old, a->packed, ""), wide, ""),
                            LLVMBuildFPExt(b, LLVMBuildBitCast(b, x, a->packed, ""), wide, "")};
    LLVMValueRef lt =
        LLVMBuildFCmp(b, a->op == PTX_M_min ? LLVMRealOLT : LLVMRealOGT, args[0], args[1], "");
    LLVMValueRef eq = LLVMBuildFCmp(b, LLVMRealOEQ, args[0], args[1], "");
    LLVMValueRef old_nan = LLVMBuildFCmp(b, LLVMRealUNO, args[0], args[0], "");
    LLVMValueRef x_nan = LLVMBuildFCmp(b, LLVMRealUNO, args[1], args[1], "");
    LLVMValueRef o = LLVMBuildBitCast(b, old, bits, ""), y = LLVMBuildBitCast(b, x, bits, "");
    LLVMValueRef both = a->op == PTX_M_min ? LLVMBuildOr(b, o, y, "") : LLVMBuildAnd(b, o, y, "");
    LLVMValueRef r = LLVMBuildSelect(b, LLVMBuildOr(b, lt, x_nan, ""), o, y, "");
    r = LLVMBuildSelect(b, eq, both, r, "");
    LLVMValueRef nan = LLVMConstInt(cg->i16, 0x7fff, false);
    r = LLVMBuildSelect(b, LLVMBuildAnd(b, old_nan, x_nan, ""), pair ? splat(cg, nan, 2) : nan, r,
                        "");
    return LLVMBuildBitCast(b, r, a->elem, "");
}

/* A scalar in all elements of a vector, if v is one. */
static LLVMValueRef spread(struct codegen *cg, LLVMValueRef scalar, LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? splat(cg, scalar, LLVMGetVectorSize(t))
                                                    : scalar;
}

/* Subnormals among the bits of floats become zeros where a->flush says so. */
static LLVMValueRef flushed(struct codegen *cg, const struct atomic *a, LLVMValueRef v)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef exponent = LLVMBuildAnd(b, v, spread(cg, c32(cg, 0x7f800000), v), "");
    LLVMValueRef small = LLVMBuildICmp(b, LLVMIntEQ, exponent, spread(cg, c32(cg, 0), v), "");
    return LLVMBuildSelect(b, LLVMBuildAnd(b, small, spread(cg, a->flush, v), ""),
                           LLVMBuildAnd(b, v, spread(cg, c32(cg, 0x80000000), v), ""), v, "");
}

static LLVMValueRef flushed_sum(struct codegen *cg, const struct atomic *a, LLVMValueRef old,
                                LLVMValueRef x)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef bits = LLVMTypeOf(old), f32 = cg->f32;
    if (LLVMGetTypeKind(bits) == LLVMVectorTypeKind)
        f32 = LLVMVectorType(cg->f32, LLVMGetVectorSize(bits));
    LLVMValueRef s = LLVMBuildFAdd(b, LLVMBuildBitCast(b, flushed(cg, a, old), f32, ""),
                                   LLVMBuildBitCast(b, flushed(cg, a, x), f32, ""), "");
    return flushed(cg, a, LLVMBuildBitCast(b, s, bits, ""));
}

LLVMValueRef atomic_apply(struct codegen *cg, const struct atomic *a, LLVMValueRef old,
                          LLVMValueRef x, LLVMValueRef c)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef t = a->elem;
    LLVMValueRef one, cmp;
    switch (a->op) {
    case PTX_M_add:
        if (a->flushes)
            return flushed_sum(cg, a, old, x);
        if (a->packed != NULL) {
            LLVMValueRef s = LLVMBuildFAdd(b, LLVMBuildBitCast(b, old, a->packed, ""),
                                           LLVMBuildBitCast(b, x, a->packed, ""), "");
            return LLVMBuildBitCast(b, s, t, "");
        }
        return LLVMGetTypeKind(t) == LLVMIntegerTypeKind ? LLVMBuildAdd(b, old, x, "")
                                                         : LLVMBuildFAdd(b, old, x, "");
    case PTX_M_and: return LLVMBuildAnd(b, old, x, "");
    case PTX_M_or: return LLVMBuildOr(b, old, x, "");
    case PTX_M_xor: return LLVMBuildXor(b, old, x, "");
    case PTX_M_exch: return x;
    case PTX_M_cas: return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntEQ, old, x, ""), c, old, "");
    case PTX_M_min:
    case PTX_M_max: {
        if (a->packed != NULL)
            return half_bound(cg, a, old, x);
        LLVMIntPredicate p = a->op == PTX_M_min ? (a->is_signed ? LLVMIntSLT : LLVMIntULT)
                                                : (a->is_signed ? LLVMIntSGT : LLVMIntUGT);
        return LLVMBuildSelect(b, LLVMBuildICmp(b, p, old, x, ""), old, x, "");
    }
    case PTX_M_inc: /* old >= x ? 0 : old + 1 */
        one = LLVMConstInt(t, 1, false);
        cmp = LLVMBuildICmp(b, LLVMIntUGE, old, x, "");
        return LLVMBuildSelect(b, cmp, LLVMConstNull(t), LLVMBuildAdd(b, old, one, ""), "");
    default: /* dec: old == 0 || old > x ? x : old - 1 */
        one = LLVMConstInt(t, 1, false);
        cmp = LLVMBuildOr(b, LLVMBuildICmp(b, LLVMIntEQ, old, LLVMConstNull(t), ""),
                          LLVMBuildICmp(b, LLVMIntUGT, old, x, ""), "");
        return LLVMBuildSelect(b, cmp, x, LLVMBuildSub(b, old, one, ""), "");
    }
}

static int machine_op(const struct atomic *a)
{
    if (a->packed != NULL || a->bytes > 8 || a->flushes)
        return -1;
    bool is_int = LLVMGetTypeKind(a->elem) == LLVMIntegerTypeKind;
    switch (a->op) {
    case PTX_M_add: return is_int ? LLVMAtomicRMWBinOpAdd : LLVMAtomicRMWBinOpFAdd;
    case PTX_M_and: return LLVMAtomicRMWBinOpAnd;
    case PTX_M_or: return LLVMAtomicRMWBinOpOr;
    case PTX_M_xor: return LLVMAtomicRMWBinOpXor;
    case PTX_M_exch: return LLVMAtomicRMWBinOpXchg;
    case PTX_M_min: return a->is_signed ? LLVMAtomicRMWBinOpMin : LLVMAtomicRMWBinOpUMin;
    case PTX_M_max: return a->is_signed ? LLVMAtomicRMWBinOpMax : LLVMAtomicRMWBinOpUMax;
    case PTX_M_inc: return LLVMAtomicRMWBinOpUIncWrap;
    case PTX_M_dec: return LLVMAtomicRMWBinOpUDecWrap;
    default: return -1;
    }
}

/* Compare-and-swap loop around atomics_apply; the element is an integer. */
static LLVMValueRef swap_loop(struct codegen *cg, const struct atomic *a, LLVMValueRef p,
                              LLVMValueRef x)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef first = LLVMBuildLoad2(b, a->elem, p, "");
    LLVMSetAlignment(first, a->bytes);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), loop = new_bb(cg, "cas"),
                      done = new_bb(cg, "casd");
    LLVMBuildBr(b, loop);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef old = LLVMBuildPhi(b, a->elem, "");
    LLVMValueRef r = LLVMBuildAtomicCmpXchg(b, p, old, atomic_apply(cg, a, old, x, NULL),
                                            LLVMAtomicOrderingSequentiallyConsistent,
                                            LLVMAtomicOrderingSequentiallyConsistent, false);
    LLVMValueRef seen = LLVMBuildExtractValue(b, r, 0, "");
    LLVMAddIncoming(old, (LLVMValueRef[]){first, seen}, (LLVMBasicBlockRef[]){before, loop}, 2);
    LLVMBuildCondBr(b, LLVMBuildExtractValue(b, r, 1, ""), done, loop);
    LLVMPositionBuilderAtEnd(b, done);
    return old;
}

LLVMValueRef atomic_flushes_at(struct codegen *cg, const struct atomic *a, LLVMValueRef p)
{
    LLVMBuilderRef b = cg->alu.b;
    if (!a->generic)
        return LLVMConstInt(cg->i1, 1, false);
    LLVMValueRef size =
        LLVMBuildZExt(b, block_field(cg, BLOCK_FIELD(total_shared), cg->i32, false), cg->i64, "");
    LLVMValueRef off = LLVMBuildSub(b, LLVMBuildPtrToInt(b, p, cg->i64, ""),
                                    LLVMBuildPtrToInt(b, cg->block.shared, cg->i64, ""), "");
    return LLVMBuildICmp(b, LLVMIntUGE, off, size, "");
}

LLVMValueRef atomic_update(struct codegen *cg, const struct atomic *what, LLVMValueRef p,
                           LLVMValueRef x, LLVMValueRef c)
{
    LLVMBuilderRef b = cg->alu.b;
    struct atomic here = *what, *a = &here;
    if (a->flushes)
        a->flush = atomic_flushes_at(cg, a, p);
    if (a->shared) {
        LLVMValueRef old = LLVMBuildLoad2(b, a->elem, p, "");
        LLVMSetAlignment(old, a->bytes);
        LLVMSetAlignment(LLVMBuildStore(b, atomic_apply(cg, a, old, x, c), p), a->bytes);
        return old;
    }
    if (a->op == PTX_M_cas) {
        LLVMValueRef r =
            LLVMBuildAtomicCmpXchg(b, p, x, c, LLVMAtomicOrderingSequentiallyConsistent,
                                   LLVMAtomicOrderingSequentiallyConsistent, false);
        return LLVMBuildExtractValue(b, r, 0, "");
    }
    if (a->arrives) {
        LLVMValueRef args[3] = {cg->block.ptr, p, x};
        return call_helper(cg, "weir_rt_grid_arrive", cg->i32, args, 3);
    }
    int op = machine_op(a);
    if (op < 0)
        return swap_loop(cg, a, p, x);
    return LLVMBuildAtomicRMW(b, (LLVMAtomicRMWBinOp)op, p, x,
                              LLVMAtomicOrderingSequentiallyConsistent, false);
}

/* Bounds and flags mostly stay as they are: then the element is only read, and its line stays in
 * the caches of all cores. */
void atomic_update_unread(struct codegen *cg, const struct atomic *a, LLVMValueRef p,
                          LLVMValueRef x)
{
    LLVMBuilderRef b = cg->alu.b;
    if (!a->may_skip) {
        atomic_update(cg, a, p, x, NULL);
        return;
    }
    LLVMValueRef old = LLVMBuildLoad2(b, a->elem, p, "");
    LLVMSetAlignment(old, a->bytes);
    LLVMSetOrdering(old, LLVMAtomicOrderingMonotonic);
    LLVMValueRef changes = LLVMBuildICmp(b, LLVMIntNE, atomic_apply(cg, a, old, x, NULL), old, "");
    LLVMBasicBlockRef yes = new_bb(cg, "changes"), done = new_bb(cg, "changed");
    LLVMBuildCondBr(b, changes, yes, done);
    LLVMPositionBuilderAtEnd(b, yes);
    atomic_update(cg, a, p, x, NULL);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
}

LLVMValueRef atomic_element(struct codegen *cg, LLVMValueRef array, LLVMTypeRef t,
                            LLVMValueRef lane)
{
    return LLVMBuildGEP2(cg->alu.b, t, array, &lane, 1, "");
}

LLVMValueRef atomic_term(struct codegen *cg, const struct atomic *a, LLVMValueRef lane,
                         unsigned term)
{
    LLVMValueRef at = LLVMBuildAdd(cg->alu.b, lane, c32(cg, (uint64_t)term * JIT_WARP), "");
    return LLVMBuildLoad2(cg->alu.b, a->elem, atomic_element(cg, a->b, a->elem, at), "");
}

LLVMValueRef atomic_terms(struct codegen *cg, const struct atomic *a, LLVMTypeRef row,
                          unsigned term)
{
    return LLVMBuildLoad2(cg->alu.b, row, atomic_element(cg, a->b, row, c32(cg, term)), "");
}

void atomic_lane(struct codegen *cg, LLVMValueRef lane, void *arg)
{
    const struct atomic *a = arg;
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef t = a->base != NULL ? cg->i32 : cg->i64;
    LLVMValueRef at = LLVMBuildLoad2(b, t, atomic_element(cg, a->at, t, lane), "");
    LLVMValueRef p = a->base != NULL ? byte_offset(cg, a->base, LLVMBuildSExt(b, at, cg->i64, ""))
                                     : LLVMBuildIntToPtr(b, at, cg->ptr, "");
    LLVMValueRef x = atomic_term(cg, a, lane, 0);
    LLVMValueRef c = a->c != NULL
                         ? LLVMBuildLoad2(b, a->elem, atomic_element(cg, a->c, a->elem, lane), "")
                         : NULL;
    if (a->out == NULL && a->op != PTX_M_cas) {
        atomic_update_unread(cg, a, p, x);
        for (unsigned term = 1; term < a->terms; term++)
            atomic_update_unread(cg, a, p, atomic_term(cg, a, lane, term));
        return;
    }
    LLVMValueRef old = atomic_update(cg, a, p, x, c);
    if (a->out != NULL)
        LLVMBuildStore(b, old, atomic_element(cg, a->out, a->elem, lane));
}

LLVMValueRef atomic_array(struct codegen *cg, LLVMValueRef v)
{
    LLVMValueRef slot = new_slot(cg, LLVMTypeOf(v), "lanes");
    store_threads(cg, v, slot);
    return slot;
}

/* Bits of a vector of any type, as the atomic's element type. */
static LLVMValueRef as_elem(struct codegen *cg, LLVMValueRef v, LLVMTypeRef elem)
{
    return LLVMBuildBitCast(cg->alu.b, v, LLVMVectorType(elem, JIT_WARP), "");
}

static unsigned operation_of(const struct ptx_instr *i)
{
    static const enum ptx_mod ops[] = {PTX_M_add, PTX_M_and, PTX_M_or,  PTX_M_xor, PTX_M_exch,
                                       PTX_M_cas, PTX_M_min, PTX_M_max, PTX_M_inc, PTX_M_dec};
    for (size_t n = 0; n < WEIR_COUNT(ops); n++)
        if (ptx_has(i, ops[n]))
            return ops[n];
    return PTX_M_NONE;
}

/* Faults where an active lane's address is not a multiple of `bytes`. Shared memory starts at a
 * multiple of 128: `at` may be offsets, which say it all. */
static void check_aligned(struct codegen *cg, LLVMValueRef at, LLVMValueRef addresses,
                          unsigned bytes)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef low = LLVMBuildAnd(b, at, splat(cg, c64(cg, bytes - 1), JIT_WARP), "");
    LLVMValueRef misaligned =
        bits_of(cg, LLVMBuildICmp(b, LLVMIntNE, low, LLVMConstNull(cg->v32i64), ""));
    fault_misaligned_lanes(cg, LLVMBuildAnd(b, misaligned, mask_bits(cg), ""), addresses);
}

/* Does a value follow from where the grid's barrier is (environment registers) and constants? */
static bool from_environment(const struct jkernel *k, const struct ptx_operand *o, int depth)
{
    if (o->kind == PTX_OPR_IMM)
        return true;
    if (o->kind == PTX_OPR_SREG)
        return o->sreg == PTX_SR_envreg;
    if (depth == 0 || (o->kind != PTX_OPR_REG && o->kind != PTX_OPR_MEM) || o->reg < 0 ||
        k->regs[o->reg].ndefs != 1)
        return false;
    const struct ptx_instr *i = &k->instrs[k->regs[o->reg].def];
    switch (i->op) {
    case PTX_OP_mov:
    case PTX_OP_cvt:
    case PTX_OP_cvta:
    case PTX_OP_add:
    case PTX_OP_shl:
    case PTX_OP_or:
    case PTX_OP_bfi:
    case PTX_OP_selp: break;
    default: return false;
    }
    int last = i->op == PTX_OP_selp ? 2 : i->noperands - 1; /* not its predicate */
    for (int n = 1; n <= last; n++)
        if (!from_environment(k, &i->operands[n], depth - 1))
            return false;
    return true;
}

/* Does it count a block that has come to the barrier of its grid? Only cooperative groups know of
 * the words there. */
static bool arrives(const struct jkernel *k, const struct ptx_instr *i, const struct atomic *a)
{
    enum { MAX_DEPTH = 10 };
    const struct ptx_operand *at = &i->operands[i->op == PTX_OP_atom ? 1 : 0];
    return a->op == PTX_M_add && a->type == PTX_U32 && !a->shared && i->vec <= 1 &&
           at->kind == PTX_OPR_MEM && from_environment(k, at, MAX_DEPTH);
}

/* What the instruction does to one element, as far as that is the same for all of a vector. */
static bool describe(struct codegen *cg, const struct ptx_instr *i, struct atomic *a)
{
    *a = (struct atomic){.op = operation_of(i), .type = i->types[i->ntypes - 1], .terms = 1};
    bool is_half =
        a->type == PTX_F16 || a->type == PTX_BF16 || a->type == PTX_F16X2 || a->type == PTX_BF16X2;
    bool is_float = a->type == PTX_F32 || a->type == PTX_F64;
    if (a->op == PTX_M_NONE || (is_float && a->op != PTX_M_add))
        return diag_set(cg->k->diag, i->line, i->column, "this form of %s is not supported",
                        ptx_op_name(i->op));
    unsigned bits = ptx_type_bits((enum ptx_type)a->type);
    a->bytes = bits / 8;
    a->shared = mem_space(i) == PTX_SPACE_SHARED;
    a->generic = mem_space(i) == PTX_SPACE_GENERIC;
    a->flushes = a->type == PTX_F32 && !a->shared && a->op == PTX_M_add;
    a->elem = is_float && !a->flushes ? scalar_type(cg, a->type)
                                      : LLVMIntTypeInContext(cg->alu.ctx, bits);
    if (is_half) {
        LLVMTypeRef h = a->type == PTX_F16 || a->type == PTX_F16X2
                            ? LLVMHalfTypeInContext(cg->alu.ctx)
                            : LLVMBFloatTypeInContext(cg->alu.ctx);
        a->packed = bits == 32 ? LLVMVectorType(h, 2) : h;
    }
    a->is_signed = ptx_type_is_signed((enum ptx_type)a->type);
    a->may_skip = !mem_orders(i) && !a->shared && !is_float && !is_half && a->bytes <= 8 &&
                  (a->op == PTX_M_min || a->op == PTX_M_max || a->op == PTX_M_and ||
                   a->op == PTX_M_or || a->op == PTX_M_cas);
    a->arrives = arrives(cg->k, i, a);
    return true;
}

static const struct ptx_operand *vector_element(const struct ptx_operand *o, unsigned k)
{
    return o->kind == PTX_OPR_VEC ? &o->items[k] : o;
}

/* ---- one lane, and all of them unrolled ---- */

/* While lanes are serialized: the same for the lane that runs. wants: its old value is read. */
static void emit_one_lane(struct codegen *cg, const struct ptx_instr *i, const struct atomic *a,
                          const struct ptx_operand *at, bool wants)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned vec = i->vec > 1 ? i->vec : 1;
    LLVMValueRef address = mem_base(cg, at, SEG_WARP, 0);
    mem_fault_if_misaligned(cg, mem_space(i), address, a->bytes * vec);
    LLVMValueRef p = a->shared ? byte_offset(cg, cg->block.shared, address)
                               : LLVMBuildIntToPtr(b, address, cg->ptr, "");
    for (unsigned k = 0; k < vec; k++) {
        LLVMValueRef v[2] = {NULL, NULL};
        for (int n = 0; n < (a->op == PTX_M_cas ? 2 : 1); n++) {
            v[n] = operand_scalar(cg, vector_element(at + 1 + n, k), a->type, SEG_WARP, 0);
            v[n] = LLVMBuildBitCast(b, v[n], a->elem, "");
        }
        LLVMValueRef here = byte_offset(cg, p, c64(cg, (uint64_t)k * a->bytes));
        if (!wants && a->op != PTX_M_cas) {
            atomic_update_unread(cg, a, here, v[0]);
            continue;
        }
        LLVMValueRef old = a->op == PTX_M_cas ? atomic_swap(cg, a, here, v[0], v[1])
                                              : atomic_update(cg, a, here, v[0], NULL);
        if (i->op == PTX_OP_atom && vector_element(&i->operands[0], k)->kind == PTX_OPR_REG)
            write_uniform(cg, vector_element(&i->operands[0], k)->reg, old, a->type);
    }
}

/* Extracting takes LLVM an instruction or two for each; with elements stored and loaded again it
 * takes CPUs longer, since what is loaded is a part of what has just been stored. */
void atomic_extract(struct codegen *cg, LLVMValueRef v, bool wide, LLVMValueRef *out)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef elem = LLVMGetElementType(LLVMTypeOf(v));
    unsigned bits = LLVMGetIntTypeWidth(elem), each = 64 / bits;
    LLVMValueRef words = LLVMBuildBitCast(b, v, LLVMVectorType(cg->i64, JIT_WARP / each), "");
    for (unsigned p = 0; p < JIT_WARP / each; p++) {
        LLVMValueRef x = opaque(cg, LLVMBuildExtractElement(b, words, c32(cg, p), ""));
        for (unsigned n = 0; n < each; n++) {
            LLVMValueRef y = n > 0 ? LLVMBuildLShr(b, x, c64(cg, (uint64_t)n * bits), "") : x;
            y = LLVMBuildTrunc(b, y, elem, "");
            if (wide)
                y = bits == 32 ? LLVMBuildSExt(b, y, cg->i64, "")
                               : LLVMBuildZExt(b, y, cg->i64, "");
            out[p * each + n] = y;
        }
    }
}

/* Where in shared memory each lane's element of 2^shift bytes lies, as an offset from what is
 * returned. Offsets that are known to be few are numbered, so that they take few bits. */
static LLVMValueRef shared_offsets(struct codegen *cg, const struct ptx_operand *at, unsigned shift,
                                   LLVMValueRef *out)
{
    LLVMBuilderRef b = cg->alu.b;
    struct ptx_operand reg = {.kind = PTX_OPR_REG, .reg = at->reg};
    LLVMValueRef v = operand_vector(cg, &reg, PTX_U32);
    int64_t lo, hi, size = (int64_t)1 << shift;
    uint64_t most = 0;
    bool known = at->offset % size == 0 && jit_range(cg->k, at->reg, &lo, &hi);
    if (known) {
        lo &= -size;
        most = (uint64_t)(hi - lo) >> shift;
    }
    if (!known || most > UINT16_MAX) {
        atomic_extract(cg, v, true, out);
        return byte_offset(cg, cg->block.shared, c64(cg, (uint64_t)at->offset));
    }
    LLVMTypeRef small = most > UINT8_MAX ? cg->i16 : cg->i8;
    v = LLVMBuildSub(b, v, splat(cg, c32(cg, (uint64_t)lo), JIT_WARP), "");
    v = LLVMBuildLShr(b, v, splat(cg, c32(cg, shift), JIT_WARP), "");
    atomic_extract(cg, LLVMBuildTrunc(b, v, LLVMVectorType(small, JIT_WARP), ""), true, out);
    for (int l = 0; l < JIT_WARP; l++)
        out[l] = LLVMBuildShl(b, out[l], c64(cg, shift), "");
    return byte_offset(cg, cg->block.shared, c64(cg, (uint64_t)(at->offset + lo)));
}

/* All 32 lanes update shared memory and the old values are not needed: what counts then is the
 * number of instructions a lane takes, and a lane needs no more than its offset and the update. */
static bool unrolled(struct codegen *cg, const struct atomic *a, const struct ptx_operand *at,
                     const struct ptx_operand *data)
{
    LLVMBuilderRef b = cg->alu.b;
    if (cg->mask != NULL || !a->shared || at->reg < 0)
        return false;
    struct uniformity s = operand_uniformity(cg->k, data);
    LLVMValueRef offset[JIT_WARP], values[JIT_WARP];
    if (is_uniform(&s)) {
        values[0] =
            LLVMBuildBitCast(b, operand_scalar(cg, data, a->type, SEG_WARP, 0), a->elem, "");
        for (int l = 1; l < JIT_WARP; l++)
            values[l] = values[0];
    } else {
        LLVMValueRef v = as_elem(cg, operand_vector(cg, data, a->type), a->elem);
        if (LLVMGetTypeKind(a->elem) == LLVMIntegerTypeKind && a->bytes < 8)
            atomic_extract(cg, v, false, values);
        else
            for (uint64_t l = 0; l < JIT_WARP; l++)
                values[l] = LLVMBuildExtractElement(b, v, c32(cg, l), "");
    }
    LLVMValueRef base = shared_offsets(cg, at, (unsigned)__builtin_ctz(a->bytes), offset);
    for (int l = 0; l < JIT_WARP; l++)
        atomic_update(cg, a, byte_offset(cg, base, offset[l]), values[l], NULL);
    return true;
}

/* ---- the instruction ---- */

/* Is the old value read? */
static bool wants_old(const struct codegen *cg, const struct ptx_instr *i, unsigned vec)
{
    for (unsigned k = 0; i->op == PTX_OP_atom && k < vec; k++) {
        const struct ptx_operand *d = vector_element(&i->operands[0], k);
        if (d->kind == PTX_OPR_REG && cg->k->regs[d->reg].read)
            return true;
    }
    return false;
}

LLVMValueRef atomic_wanted(struct codegen *cg, const struct ptx_instr *i)
{
    struct atomic a;
    struct uniformity data = operand_uniformity(cg->k, &i->operands[2]);
    if (!describe(cg, i, &a))
        return c64(cg, 0);
    LLVMValueRef v = as_elem(cg, operand_vector(cg, &i->operands[2], a.type), a.elem);
    return atomic_wanted_of(cg, &a, v, is_uniform(&data));
}

/* Where each lane's element lies, as the atomic's arrays say: in shared memory by offsets, which
 * are half of what addresses are. */
static void place_lanes(struct codegen *cg, struct atomic *a, const struct ptx_operand *at,
                        LLVMValueRef addr, unsigned further)
{
    LLVMBuilderRef b = cg->alu.b;
    a->base = NULL;
    if (a->shared && at->reg >= 0) {
        struct ptx_operand reg = {.kind = PTX_OPR_REG, .reg = at->reg};
        a->at = atomic_array(cg, operand_vector(cg, &reg, PTX_U32));
        a->base = byte_offset(cg, cg->block.shared, c64(cg, (uint64_t)at->offset + further));
        return;
    }
    if (further > 0)
        addr = LLVMBuildAdd(b, addr, splat(cg, c64(cg, further), JIT_WARP), "");
    a->at = atomic_array(cg, addr);
}

/* The elements of a vector are atomics of their own, one after the other. */
bool emit_atomic(struct codegen *cg, const struct ptx_instr *i)
{
    struct atomic a;
    const struct ptx_operand *at = &i->operands[i->op == PTX_OP_atom ? 1 : 0], *data = at + 1;
    unsigned vec = i->vec > 1 ? i->vec : 1;
    LLVMValueRef v[8], c = NULL, out[8] = {NULL};
    bool wants = wants_old(cg, i, vec);
    if (!describe(cg, i, &a))
        return false;
    if (!deferred_may(cg, i))
        deferred_before(cg, i, at, a.bytes * vec);
    if (cg->serialized->active) {
        emit_one_lane(cg, i, &a, at, wants);
        return true;
    }
    for (unsigned k = 0; k < vec; k++)
        v[k] = as_elem(cg, operand_vector(cg, vector_element(data, k), a.type), a.elem);
    if (a.op == PTX_M_cas)
        c = as_elem(cg, operand_vector(cg, data + 1, a.type), a.elem);
    LLVMValueRef addr = address_vector(cg, at, mem_space(i));
    check_access(cg, i, at, mem_space(i), a.bytes * vec, true, NULL);
    defined_load(cg, NULL, at, mem_space(i), a.bytes, (int)vec, NULL);
    defined_store(cg, at, mem_space(i), a.bytes, (int)vec, NULL);
    LLVMValueRef strong = check_strong_address(cg, i, at, mem_space(i));
    check_aligned(cg, a.shared ? address_vector(cg, at, PTX_SPACE_GENERIC) : addr, addr,
                  a.bytes * vec);
    LLVMValueRef old = NULL, *olds = wants ? &old : NULL;
    if (counter_shared(cg, i)) {
        old = atomic_at_counter(cg, &a, at, v[0], addr);
        write_vector(cg, i->operands[0].reg, old, a.type);
        return true;
    }
    if (vec == 1 &&
        ((!wants && sum_chain_add(cg, i, &a, v[0], addr)) ||
         deferred_add(cg, i, &a, at, v[0], addr) || atomic_combined(cg, &a, at, v[0], addr, olds) ||
         (!wants && a.op != PTX_M_cas && unrolled(cg, &a, at, data)) ||
         atomic_grouped(cg, &a, at, v[0], addr, olds) ||
         atomic_swapped(cg, &a, data, v[0], c, addr, olds))) {
        if (wants)
            write_vector(cg, i->operands[0].reg, old, a.type);
        check_acquired(cg, i, strong, mem_space(i), wants ? a.bytes : 0);
        return true;
    }
    for (unsigned k = 0; k < vec; k++) {
        place_lanes(cg, &a, at, addr, k * a.bytes);
        a.b = atomic_array(cg, v[k]);
        a.c = c != NULL ? atomic_array(cg, c) : NULL;
        if (wants && vector_element(&i->operands[0], k)->kind == PTX_OPR_REG)
            a.out = out[k] = new_slot(cg, LLVMVectorType(a.elem, JIT_WARP), "old");
        else
            a.out = NULL;
        for_active_lanes(cg, mask_bits(cg), atomic_lane, &a);
    }
    for (unsigned k = 0; k < vec; k++) {
        if (out[k] == NULL)
            continue;
        LLVMTypeRef t = LLVMVectorType(a.elem, JIT_WARP);
        write_vector(cg, vector_element(&i->operands[0], k)->reg,
                     LLVMBuildLoad2(cg->alu.b, t, out[k], ""), a.type);
    }
    check_acquired(cg, i, strong, mem_space(i), wants ? a.bytes * vec : 0);
    return true;
}
