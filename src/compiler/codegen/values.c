/* values.c: values and their uniformity: reading operands as scalars or vectors, writing registers,
 * masks, and the small IR idioms that all of code generation uses. */
#include <stdio.h>
#include <string.h>

#include "compiler/codegen/control/control.h"
#include "compiler/codegen/frame.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/values.h"
#include "compiler/llvm/llvm_passes.h"

/* How often the expected happens for each time that it does not. */
enum { LIKELY = 15 };

LLVMValueRef c32(struct codegen *cg, uint64_t v)
{
    return LLVMConstInt(cg->i32, v & 0xffffffffu, false);
}
LLVMValueRef c64(struct codegen *cg, uint64_t v) { return LLVMConstInt(cg->i64, v, false); }

static bool is_vector(LLVMTypeRef t) { return LLVMGetTypeKind(t) == LLVMVectorTypeKind; }

static LLVMTypeRef element_type(LLVMTypeRef t) { return is_vector(t) ? LLVMGetElementType(t) : t; }

/* `t`, with as many lanes as `like` has. */
static LLVMTypeRef with_lanes_of(LLVMTypeRef like, LLVMTypeRef t)
{
    return is_vector(like) ? LLVMVectorType(t, LLVMGetVectorSize(like)) : t;
}

static unsigned element_bits(struct codegen *cg, LLVMTypeRef t)
{
    t = element_type(t);
    switch (LLVMGetTypeKind(t)) {
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind: return 16;
    case LLVMFloatTypeKind: return 32;
    case LLVMDoubleTypeKind: return 64;
    case LLVMIntegerTypeKind: return LLVMGetIntTypeWidth(t);
    default: return 0;
    }
}

LLVMValueRef shuffle(struct codegen *cg, LLVMValueRef a, LLVMValueRef b, const unsigned *idx,
                     unsigned n)
{
    LLVMValueRef c[512];
    for (unsigned l = 0; l < n; l++)
        c[l] = c32(cg, idx[l]);
    return LLVMBuildShuffleVector(cg->alu.b, a, b != NULL ? b : LLVMGetPoison(LLVMTypeOf(a)),
                                  LLVMConstVector(c, n), "");
}

LLVMValueRef join_vectors(struct codegen *cg, LLVMValueRef *v, unsigned n)
{
    unsigned idx[512];
    for (; n > 1; n /= 2)
        for (unsigned k = 0; k < n / 2; k++) {
            unsigned len = LLVMGetVectorSize(LLVMTypeOf(v[2 * k]));
            for (unsigned l = 0; l < 2 * len; l++)
                idx[l] = l;
            v[k] = shuffle(cg, v[2 * k], v[2 * k + 1], idx, 2 * len);
        }
    return v[0];
}

LLVMTypeRef scalar_type(struct codegen *cg, unsigned ptx_type)
{
    unsigned lanes = cg->alu.lanes;
    cg->alu.lanes = 1;
    LLVMTypeRef t = alu_type(&cg->alu, (enum ptx_type)ptx_type);
    cg->alu.lanes = lanes;
    return t;
}

LLVMTypeRef vector_type(struct codegen *cg, unsigned ptx_type)
{
    return LLVMVectorType(scalar_type(cg, ptx_type), JIT_WARP);
}

LLVMValueRef coerce(struct codegen *cg, LLVMValueRef v, unsigned want, bool is_signed)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef from = LLVMTypeOf(v), to = with_lanes_of(from, scalar_type(cg, want));
    if (from == to)
        return v;
    unsigned fb = element_bits(cg, from), tb = element_bits(cg, to);
    if (LLVMGetTypeKind(element_type(from)) != LLVMIntegerTypeKind) {
        from = with_lanes_of(from, LLVMIntTypeInContext(cg->alu.ctx, fb));
        v = LLVMBuildBitCast(b, v, from, "");
    }
    LLVMTypeRef mid = with_lanes_of(from, LLVMIntTypeInContext(cg->alu.ctx, tb));
    if (tb < fb)
        v = LLVMBuildTrunc(b, v, mid, "");
    else if (tb > fb)
        v = is_signed ? LLVMBuildSExt(b, v, mid, "") : LLVMBuildZExt(b, v, mid, "");
    return mid == to ? v : LLVMBuildBitCast(b, v, to, "");
}

LLVMValueRef splat(struct codegen *cg, LLVMValueRef scalar, unsigned lanes)
{
    LLVMTypeRef t = LLVMVectorType(LLVMTypeOf(scalar), lanes);
    LLVMValueRef one = LLVMBuildInsertElement(cg->alu.b, LLVMGetPoison(t), scalar, c32(cg, 0), "");
    return LLVMBuildShuffleVector(cg->alu.b, one, LLVMGetPoison(t),
                                  LLVMConstNull(LLVMVectorType(cg->i32, lanes)), "");
}

LLVMValueRef lane_constants(struct codegen *cg, LLVMTypeRef elem, int64_t stride,
                            unsigned period_log2)
{
    LLVMValueRef c[JIT_WARP];
    for (int l = 0; l < JIT_WARP; l++)
        c[l] = LLVMConstInt(elem, (uint64_t)(stride * (l & ((1 << period_log2) - 1))), true);
    return LLVMConstVector(c, JIT_WARP);
}

LLVMValueRef from_segments(struct codegen *cg, const LLVMValueRef *v, unsigned seg, int64_t stride)
{
    LLVMBuilderRef b = cg->alu.b;
    int n = nsegs(seg);
    LLVMTypeRef t = LLVMTypeOf(v[0]), small = LLVMVectorType(t, (unsigned)n);
    LLVMValueRef out;
    if (n == 1) {
        out = splat(cg, v[0], JIT_WARP);
    } else {
        LLVMValueRef base = LLVMGetPoison(small), idx[JIT_WARP];
        for (int s = 0; s < n; s++)
            base = LLVMBuildInsertElement(b, base, v[s], c32(cg, (uint64_t)s), "");
        for (int l = 0; l < JIT_WARP; l++)
            idx[l] = c32(cg, (uint64_t)l >> seg);
        out = LLVMBuildShuffleVector(b, base, LLVMGetPoison(small), LLVMConstVector(idx, JIT_WARP),
                                     "");
    }
    if (stride != 0)
        out = LLVMBuildAdd(b, out, lane_constants(cg, t, stride, seg), "");
    return out;
}

LLVMValueRef new_slot(struct codegen *cg, LLVMTypeRef type, const char *name)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(cg->alu.ctx);
    LLVMValueRef first = LLVMGetFirstInstruction(cg->entry);
    if (first != NULL)
        LLVMPositionBuilderBefore(b, first);
    else
        LLVMPositionBuilderAtEnd(b, cg->entry);
    LLVMValueRef slot = LLVMBuildAlloca(b, type, name);
    LLVMDisposeBuilder(b);
    return slot;
}

LLVMValueRef shared_slot(struct codegen *cg, enum shared_slot which, LLVMTypeRef type,
                         unsigned align, const char *name)
{
    if (cg->slots[which] == NULL) {
        cg->slots[which] = new_slot(cg, type, name);
        LLVMSetAlignment(cg->slots[which], align);
    }
    return cg->slots[which];
}

LLVMValueRef store_threads(struct codegen *cg, LLVMValueRef v, LLVMValueRef slot)
{
    unsigned lanes = jit_lanes_used(cg->k);
    LLVMValueRef at[JIT_WARP];
    for (unsigned n = 0; n < lanes; n++)
        at[n] = c32(cg, n);
    if (lanes < JIT_WARP)
        v = LLVMBuildShuffleVector(cg->alu.b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                   LLVMConstVector(at, lanes), "");
    return LLVMBuildStore(cg->alu.b, v, slot);
}

LLVMBasicBlockRef new_bb(struct codegen *cg, const char *name)
{
    return LLVMAppendBasicBlockInContext(cg->alu.ctx, cg->fn, name);
}

LLVMValueRef intrinsic(struct codegen *cg, const char *name, LLVMTypeRef *types, int ntypes,
                       LLVMValueRef *args, int nargs)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(cg->alu.module, id, types, (size_t)ntypes);
    return LLVMBuildCall2(cg->alu.b, LLVMGlobalGetValueType(f), f, args, (unsigned)nargs, "");
}

LLVMValueRef byte_offset(struct codegen *cg, LLVMValueRef base, LLVMValueRef offset)
{
    return LLVMBuildGEP2(cg->alu.b, cg->i8, base, &offset, 1, "");
}

LLVMValueRef block_field(struct codegen *cg, size_t offset, LLVMTypeRef type, bool invariant)
{
    LLVMValueRef v =
        LLVMBuildLoad2(cg->alu.b, type, byte_offset(cg, cg->block.ptr, c64(cg, offset)), "");
    if (invariant)
        LLVMSetMetadata(v, cg->md.invariant, cg->md.empty);
    return v;
}

void branch_likely(struct codegen *cg, LLVMValueRef cond, LLVMBasicBlockRef yes,
                   LLVMBasicBlockRef no)
{
    LLVMContextRef c = cg->alu.ctx;
    LLVMValueRef br = LLVMBuildCondBr(cg->alu.b, cond, yes, no);
    LLVMMetadataRef weights[3] = {LLVMMDStringInContext2(c, "branch_weights", 14),
                                  LLVMValueAsMetadata(c32(cg, LIKELY)),
                                  LLVMValueAsMetadata(c32(cg, 1))};
    LLVMMetadataRef node = LLVMMDNodeInContext2(c, weights, 3);
    LLVMSetMetadata(br, LLVMGetMDKindIDInContext(c, "prof", 4), LLVMMetadataAsValue(c, node));
}

LLVMValueRef opaque(struct codegen *cg, LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v), fn = LLVMFunctionType(t, &t, 1, false);
    LLVMValueRef nothing =
        LLVMGetInlineAsm(fn, "", 0, "=r,0", 4, false, false, LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(cg->alu.b, fn, nothing, &v, 1, "");
}

static void tag_scope(struct codegen *cg, LLVMValueRef access, int scope)
{
    LLVMSetMetadata(access, cg->md.scope, cg->md.scope_of[scope]);
    LLVMSetMetadata(access, cg->md.noalias, cg->md.scope_not[scope]);
}

void tag_frame(struct codegen *cg, LLVMValueRef access) { tag_scope(cg, access, SCOPE_FRAME); }

void tag_memory(struct codegen *cg, LLVMValueRef access, unsigned space)
{
    prefetch_mark(cg, access, space);
    switch (space) {
    case PTX_SPACE_SHARED: tag_scope(cg, access, SCOPE_SHARED); break;
    case PTX_SPACE_GLOBAL:
    case PTX_SPACE_CONST: tag_scope(cg, access, SCOPE_GLOBAL); break;
    case PTX_SPACE_LOCAL: tag_scope(cg, access, SCOPE_LOCAL); break;
    default: tag_scope(cg, access, SCOPE_ANY); break;
    }
}

/* ---- masks ---- */

LLVMValueRef bits_of(struct codegen *cg, LLVMValueRef v32i1)
{
    return LLVMBuildBitCast(cg->alu.b, v32i1, cg->i32, "");
}

/* Where masks are not registers of their own, LLVM would extract the bits of a number one by one.
 * With AVX2 each lane's bit is shifted to its sign, which is what masked accesses and selections
 * test. */
LLVMValueRef some_lanes_of(struct codegen *cg, LLVMValueRef bits, unsigned first, unsigned count)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef own[JIT_WARP], each;
    bool signs = cg->alu.has_avx2;
    for (unsigned l = 0; l < count; l++)
        own[l] = c32(cg, signs ? 31 - first - l : 1ull << (first + l));
    each = LLVMConstVector(own, count);
    bits = splat(cg, bits, count);
    if (signs)
        return LLVMBuildICmp(b, LLVMIntSLT, LLVMBuildShl(b, bits, each, ""),
                             LLVMConstNull(LLVMTypeOf(each)), "");
    return LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, bits, each, ""), each, "");
}

LLVMValueRef lanes_of(struct codegen *cg, LLVMValueRef bits)
{
    if (cg->alu.has_avx512)
        return LLVMBuildBitCast(cg->alu.b, bits, cg->v32i1, "");
    return some_lanes_of(cg, bits, 0, JIT_WARP);
}

LLVMValueRef mask_vector(struct codegen *cg)
{
    if (cg->mask == NULL)
        return NULL;
    if (cg->mask_vec == NULL)
        cg->mask_vec = lanes_of(cg, cg->mask);
    return cg->mask_vec;
}

LLVMValueRef mask_bits(struct codegen *cg)
{
    return cg->mask != NULL ? cg->mask : c32(cg, 0xffffffffu);
}

LLVMValueRef lowest_lane(struct codegen *cg, LLVMValueRef bits)
{
    LLVMValueRef args[2] = {bits, LLVMConstInt(cg->i1, 1, false)};
    return intrinsic(cg, "llvm.cttz", &cg->i32, 1, args, 2);
}

LLVMValueRef first_active(struct codegen *cg, LLVMValueRef v)
{
    return LLVMBuildExtractElement(cg->alu.b, v, lowest_lane(cg, mask_bits(cg)), "");
}

/* ---- operands ---- */

LLVMValueRef strip_lanes(struct codegen *cg, LLVMValueRef v, int strip)
{
    unsigned idx[STRIP_LANES];
    for (unsigned l = 0; l < STRIP_LANES; l++)
        idx[l] = (unsigned)strip * STRIP_LANES + l;
    return shuffle(cg, v, NULL, idx, STRIP_LANES);
}

/* A register of which only a strip has a value here: other lanes, which are not active, get the
 * strip's. */
static LLVMValueRef read_strip(struct codegen *cg, int32_t reg)
{
    LLVMTypeRef t = LLVMVectorType(scalar_type(cg, cg->k->regs[reg].type), STRIP_LANES);
    unsigned idx[JIT_WARP];
    for (unsigned l = 0; l < JIT_WARP; l++)
        idx[l] = l % STRIP_LANES;
    LLVMValueRef v = LLVMBuildLoad2(cg->alu.b, t, cg->regs[reg].slot[0], "");
    return shuffle(cg, v, NULL, idx, JIT_WARP);
}

LLVMValueRef read_slot(struct codegen *cg, int32_t reg, int s)
{
    LLVMTypeRef t = scalar_type(cg, cg->k->regs[reg].type);
    if (cg->regs[reg].strip != 0)
        return read_strip(cg, reg);
    if (cg->regs[reg].framed)
        return read_framed(cg, reg);
    if (cg->k->regs[reg].uniformity.seg == SEG_NONE)
        t = LLVMVectorType(t, JIT_WARP);
    LLVMValueRef at = s == 0 ? register_pointer(cg, reg) : cg->regs[reg].slot[s];
    return LLVMBuildLoad2(cg->alu.b, t, at, "");
}

static LLVMValueRef constant(struct codegen *cg, const struct ptx_operand *o, unsigned want)
{
    LLVMTypeRef t = scalar_type(cg, want);
    if (o->kind == PTX_OPR_IMM) {
        if (LLVMGetTypeKind(t) == LLVMIntegerTypeKind)
            return LLVMConstInt(t, o->imm, false);
        return LLVMConstReal(t, (double)(int64_t)o->imm);
    }
    if (LLVMGetTypeKind(t) != LLVMIntegerTypeKind && LLVMGetTypeKind(t) != LLVMHalfTypeKind) {
        /* exact bits, NaN payloads included */
        if (LLVMGetTypeKind(t) == LLVMFloatTypeKind) {
            return LLVMConstBitCast(c32(cg, ptx_f32_bits(o->fimm)), t);
        }
        uint64_t bits;
        memcpy(&bits, &o->fimm, 8);
        return LLVMConstBitCast(c64(cg, bits), t);
    }
    if (LLVMGetTypeKind(t) == LLVMHalfTypeKind)
        return LLVMConstReal(t, o->fimm);
    uint64_t bits = 0;
    if (o->is_f32 || LLVMGetIntTypeWidth(t) <= 32) {
        bits = ptx_f32_bits(o->fimm);
    } else {
        memcpy(&bits, &o->fimm, 8);
    }
    return LLVMConstInt(t, bits, false);
}

/* The address of a variable in its own space: symbol or offset. */
static LLVMValueRef symbol_address(struct codegen *cg, const struct ptx_operand *o)
{
    char name[48];
    LLVMValueRef at;
    if (o->func != NULL) {
        const struct ptx_module *m = cg->k->entry->module;
        int index = 0;
        while (index < m->nfuncs && m->funcs[index] != o->func)
            index++;
        snprintf(name, sizeof name, "weir_func_%d", index);
    } else if (o->var->space == PTX_SPACE_SHARED) {
        return c64(cg, (uint64_t)(jkernel_shared_offset(cg->k, o->var) + o->offset));
    } else if (o->var->space == PTX_SPACE_LOCAL) {
        at = c64(cg, (uint64_t)(jkernel_local_offset(cg->k, o->var) + o->offset));
        return cg->sp != NULL ? LLVMBuildAdd(cg->alu.b, cg->sp, at, "") : at;
    } else if (o->var->space == PTX_SPACE_PARAM) {
        uint64_t at_param = 0;
        for (int n = 0; n < cg->k->entry->nparams; n++) {
            const struct ptx_var *p = cg->k->entry->params[n];
            uint64_t align = p->align ? p->align : 1;
            at_param = (at_param + align - 1) / align * align;
            if (p == o->var)
                break;
            at_param += p->size;
        }
        LLVMValueRef base = LLVMBuildPtrToInt(cg->alu.b, cg->block.params, cg->i64, "");
        return LLVMBuildAdd(cg->alu.b, base, c64(cg, at_param + (uint64_t)o->offset), "");
    } else {
        snprintf(name, sizeof name, "weir_var_%d", o->var->index);
    }
    at = LLVMGetNamedGlobal(cg->alu.module, name);
    if (at == NULL)
        at = LLVMAddGlobal(cg->alu.module, cg->i8, name);
    at = LLVMBuildPtrToInt(cg->alu.b, at, cg->i64, "");
    return o->offset ? LLVMBuildAdd(cg->alu.b, at, c64(cg, (uint64_t)o->offset), "") : at;
}

static LLVMValueRef not_if(struct codegen *cg, const struct ptx_operand *o, LLVMValueRef v)
{
    if (!o->neg || cg->k->regs[o->reg].type != PTX_PRED)
        return v;
    return LLVMBuildNot(cg->alu.b, v, "");
}

/* ---- breaks ---- */

static LLVMValueRef umin(struct codegen *cg, LLVMValueRef a, LLVMValueRef b)
{
    return intrinsic(cg, "llvm.umin", &cg->i32, 1, (LLVMValueRef[]){a, b}, 2);
}

/* The value `lanes` after the first lane of a segment, whose value is v. */
static LLVMValueRef advance(struct codegen *cg, const struct uniformity *sh, LLVMValueRef v,
                            LLVMValueRef before, int64_t lanes)
{
    LLVMBuilderRef b = cg->alu.b;
    if (sh->stride == 0 || lanes == 0)
        return v;
    v = LLVMBuildAdd(b, v, LLVMConstInt(LLVMTypeOf(v), (uint64_t)(sh->stride * lanes), true), "");
    if (sh->brk == 0)
        return v;
    LLVMValueRef after_break = LLVMBuildICmp(b, LLVMIntUGE, c32(cg, (uint64_t)lanes), before, "");
    LLVMValueRef drop =
        LLVMBuildSelect(b, after_break, c64(cg, (uint64_t)sh->brk << 32), c64(cg, 0), "");
    return LLVMBuildSub(b, v, drop, "");
}

/* Lanes before the break for the 2^seg lanes that start `lanes` after a segment's first. */
static LLVMValueRef lanes_before(struct codegen *cg, LLVMValueRef before, unsigned seg,
                                 int64_t lanes)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef all = c32(cg, 1u << seg), k = c32(cg, (uint64_t)lanes);
    LLVMValueRef rest = umin(cg, LLVMBuildSub(b, before, k, ""), all);
    return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntUGE, k, before, ""), all, rest, "");
}

LLVMValueRef operand_break(struct codegen *cg, const struct ptx_operand *o, unsigned seg, int s)
{
    const struct uniformity *sh = &cg->k->regs[o->reg].uniformity;
    int in = (s << seg) >> sh->seg;
    LLVMValueRef before = LLVMBuildLoad2(cg->alu.b, cg->i32, cg->regs[o->reg].brk[in], "");
    return sh->seg == seg ? before : lanes_before(cg, before, seg, (s << seg) - (in << sh->seg));
}

LLVMValueRef lanes_before_wrap(struct codegen *cg, LLVMValueRef first, int64_t stride, unsigned seg,
                               bool is_signed)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef distance; /* of the first lane from the end that it approaches */
    if (stride > 0)
        distance = LLVMBuildSub(b, c32(cg, is_signed ? 0x7fffffffu : 0xffffffffu), first, "");
    else
        distance = LLVMBuildSub(b, first, c32(cg, is_signed ? 0x80000000u : 0), "");
    uint64_t step = (uint64_t)(stride > 0 ? stride : -stride);
    LLVMValueRef steps = step == 1 ? distance : LLVMBuildUDiv(b, distance, c32(cg, step), "");
    return LLVMBuildAdd(b, umin(cg, steps, c32(cg, (1u << seg) - 1)), c32(cg, 1), "");
}

/* <32 x i64> of a value with breaks. */
static LLVMValueRef from_broken(struct codegen *cg, const LLVMValueRef *v,
                                const LLVMValueRef *before, const struct uniformity *sh)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef out = from_segments(cg, v, sh->seg, sh->stride);
    LLVMValueRef after_break = LLVMBuildICmp(b, LLVMIntUGE, lane_constants(cg, cg->i32, 1, sh->seg),
                                             from_segments(cg, before, sh->seg, 0), "");
    LLVMValueRef drop = splat(cg, c64(cg, (uint64_t)sh->brk << 32), JIT_WARP);
    drop = LLVMBuildSelect(b, after_break, drop, LLVMConstNull(cg->v32i64), "");
    return LLVMBuildSub(b, out, drop, "");
}

LLVMValueRef operand_scalar(struct codegen *cg, const struct ptx_operand *o, unsigned want,
                            unsigned seg, int s)
{
    switch (o->kind) {
    case PTX_OPR_REG: {
        const struct uniformity *sh = &cg->k->regs[o->reg].uniformity;
        int in = (s << seg) >> sh->seg;
        int64_t lanes = (s << seg) - (in << sh->seg);
        LLVMValueRef before = NULL;
        if (sh->brk != 0 && lanes != 0)
            before = LLVMBuildLoad2(cg->alu.b, cg->i32, cg->regs[o->reg].brk[in], "");
        LLVMValueRef v = advance(cg, sh, read_slot(cg, o->reg, in), before, lanes);
        return coerce(cg, not_if(cg, o, v), want, false);
    }
    case PTX_OPR_SREG: return coerce(cg, sreg_scalar(cg, o, seg, s), want, false);
    case PTX_OPR_SYM: return coerce(cg, symbol_address(cg, o), want, false);
    default: return constant(cg, o, want);
    }
}

LLVMValueRef operand_vector(struct codegen *cg, const struct ptx_operand *o, unsigned want)
{
    if (o->kind == PTX_OPR_REG) {
        const struct uniformity *sh = &cg->k->regs[o->reg].uniformity;
        LLVMValueRef v;
        if (sh->seg == SEG_NONE) {
            v = read_slot(cg, o->reg, 0);
        } else {
            LLVMValueRef seg[MAX_SEGS];
            LLVMValueRef before[MAX_SEGS];
            for (int s = 0; s < nsegs(sh->seg); s++) {
                seg[s] = read_slot(cg, o->reg, s);
                if (sh->brk != 0)
                    before[s] = operand_break(cg, o, sh->seg, s);
            }
            v = sh->brk != 0 ? from_broken(cg, seg, before, sh)
                             : from_segments(cg, seg, sh->seg, sh->stride);
        }
        return coerce(cg, not_if(cg, o, v), want, false);
    }
    if (o->kind == PTX_OPR_SREG)
        return coerce(cg, sreg_vector(cg, o), want, false);
    return splat(cg, operand_scalar(cg, o, want, SEG_WARP, 0), JIT_WARP);
}

/* ---- writing ---- */

void write_vector(struct codegen *cg, int32_t reg, LLVMValueRef v, unsigned type)
{
    if (cg->serialized->active) { /* made of what is uniform in this section: all elements are
                                     equal */
        write_uniform(cg, reg, LLVMBuildExtractElement(cg->alu.b, v, c32(cg, 0), ""), type);
        return;
    }
    v = coerce(cg, v, cg->k->regs[reg].type, ptx_type_is_signed((enum ptx_type)type));
    if (cg->mask != NULL && cg->waiting != NULL && bit_get(cg->waiting, reg))
        v = LLVMBuildSelect(cg->alu.b, mask_vector(cg), v, read_slot(cg, reg, 0), "");
    if (cg->regs[reg].strip != 0)
        v = strip_lanes(cg, v, cg->regs[reg].strip - 1);
    if (cg->regs[reg].framed)
        write_framed(cg, reg, v);
    else
        LLVMBuildStore(cg->alu.b, v, register_pointer(cg, reg));
}

void write_broken(struct codegen *cg, int32_t reg, struct uniformity s, const LLVMValueRef *v,
                  const LLVMValueRef *before, unsigned type)
{
    const struct jreg *r = &cg->k->regs[reg];
    LLVMValueRef wide[MAX_SEGS];
    bool sext = ptx_type_is_signed((enum ptx_type)type);
    for (int n = 0; n < nsegs(s.seg); n++)
        wide[n] = coerce(cg, v[n], r->type, sext);
    if (r->uniformity.seg == SEG_NONE) {
        LLVMValueRef x = s.brk != 0 ? from_broken(cg, wide, before, &s)
                                    : from_segments(cg, wide, s.seg, s.stride);
        write_vector(cg, reg, x, r->type);
        return;
    }
    uint8_t only = cg->regs[reg].segment;
    for (int n = 0; n < nsegs(r->uniformity.seg); n++) {
        if (only != 0 && n != only - 1)
            continue;
        int in = (n << r->uniformity.seg) >> s.seg;
        int64_t lanes = (n << r->uniformity.seg) - (in << s.seg);
        LLVMValueRef at = s.brk != 0 ? before[in] : NULL;
        LLVMBuildStore(cg->alu.b, advance(cg, &s, wide[in], at, lanes), cg->regs[reg].slot[n]);
        LLVMValueRef rest = c32(cg, 1u << r->uniformity.seg); /* no break: after all lanes */
        if (s.brk != 0)
            rest = s.seg == r->uniformity.seg ? at : lanes_before(cg, at, r->uniformity.seg, lanes);
        if (r->uniformity.brk != 0)
            LLVMBuildStore(cg->alu.b, rest, cg->regs[reg].brk[n]);
    }
}

void write_segments(struct codegen *cg, int32_t reg, struct uniformity s, const LLVMValueRef *v,
                    unsigned type)
{
    write_broken(cg, reg, s, v, NULL, type);
}

void write_uniform(struct codegen *cg, int32_t reg, LLVMValueRef v, unsigned type)
{
    struct uniformity s = {.seg = SEG_WARP, .known = 1};
    write_segments(cg, reg, s, &v, type);
}
