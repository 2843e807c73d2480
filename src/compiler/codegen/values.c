/* emit_value: values and their shapes: reading operands as scalars or vectors, writing registers,
 * masks, and the small IR idioms that every other emitter uses. */
#include <stdio.h>
#include <string.h>

#include "compiler/codegen/codegen.h"

/* How often what is expected happens for each time that it does not. */
enum { LIKELY = 15 };

LLVMValueRef c32(struct emit *e, uint64_t v)
{
    return LLVMConstInt(e->i32, v & 0xffffffffu, false);
}
LLVMValueRef c64(struct emit *e, uint64_t v) { return LLVMConstInt(e->i64, v, false); }

static bool is_vector(LLVMTypeRef t) { return LLVMGetTypeKind(t) == LLVMVectorTypeKind; }

static LLVMTypeRef values_elem(LLVMTypeRef t) { return is_vector(t) ? LLVMGetElementType(t) : t; }

/* `t`, with as many lanes as `like` has. */
static LLVMTypeRef values_like(LLVMTypeRef like, LLVMTypeRef t)
{
    return is_vector(like) ? LLVMVectorType(t, LLVMGetVectorSize(like)) : t;
}

static unsigned values_bits(struct emit *e, LLVMTypeRef t)
{
    t = values_elem(t);
    switch (LLVMGetTypeKind(t)) {
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind: return 16;
    case LLVMFloatTypeKind: return 32;
    case LLVMDoubleTypeKind: return 64;
    case LLVMIntegerTypeKind: return LLVMGetIntTypeWidth(t);
    default: return 0;
    }
}

LLVMTypeRef scalar_type(struct emit *e, unsigned ptx_type)
{
    unsigned lanes = e->alu.lanes;
    e->alu.lanes = 1;
    LLVMTypeRef t = alu_type(&e->alu, (enum ptx_type)ptx_type);
    e->alu.lanes = lanes;
    return t;
}

LLVMTypeRef vector_type(struct emit *e, unsigned ptx_type)
{
    return LLVMVectorType(scalar_type(e, ptx_type), JIT_WARP);
}

LLVMValueRef coerce(struct emit *e, LLVMValueRef v, unsigned want, bool is_signed)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMTypeRef from = LLVMTypeOf(v), to = values_like(from, scalar_type(e, want));
    if (from == to)
        return v;
    unsigned fb = values_bits(e, from), tb = values_bits(e, to);
    if (LLVMGetTypeKind(values_elem(from)) != LLVMIntegerTypeKind) {
        from = values_like(from, LLVMIntTypeInContext(e->alu.ctx, fb));
        v = LLVMBuildBitCast(b, v, from, "");
    }
    LLVMTypeRef mid = values_like(from, LLVMIntTypeInContext(e->alu.ctx, tb));
    if (tb < fb)
        v = LLVMBuildTrunc(b, v, mid, "");
    else if (tb > fb)
        v = is_signed ? LLVMBuildSExt(b, v, mid, "") : LLVMBuildZExt(b, v, mid, "");
    return mid == to ? v : LLVMBuildBitCast(b, v, to, "");
}

LLVMValueRef splat(struct emit *e, LLVMValueRef scalar, unsigned lanes)
{
    LLVMTypeRef t = LLVMVectorType(LLVMTypeOf(scalar), lanes);
    LLVMValueRef one = LLVMBuildInsertElement(e->alu.b, LLVMGetPoison(t), scalar, c32(e, 0), "");
    return LLVMBuildShuffleVector(e->alu.b, one, LLVMGetPoison(t),
                                  LLVMConstNull(LLVMVectorType(e->i32, lanes)), "");
}

LLVMValueRef lane_constants(struct emit *e, LLVMTypeRef elem, int64_t stride, unsigned period_log2)
{
    LLVMValueRef c[JIT_WARP];
    for (int l = 0; l < JIT_WARP; l++)
        c[l] = LLVMConstInt(elem, (uint64_t)(stride * (l & ((1 << period_log2) - 1))), true);
    return LLVMConstVector(c, JIT_WARP);
}

LLVMValueRef from_segments(struct emit *e, const LLVMValueRef *v, unsigned seg, int64_t stride)
{
    LLVMBuilderRef b = e->alu.b;
    int n = nsegs(seg);
    LLVMTypeRef t = LLVMTypeOf(v[0]), small = LLVMVectorType(t, (unsigned)n);
    LLVMValueRef out;
    if (n == 1) {
        out = splat(e, v[0], JIT_WARP);
    } else {
        LLVMValueRef base = LLVMGetPoison(small), idx[JIT_WARP];
        for (int s = 0; s < n; s++)
            base = LLVMBuildInsertElement(b, base, v[s], c32(e, (uint64_t)s), "");
        for (int l = 0; l < JIT_WARP; l++)
            idx[l] = c32(e, (uint64_t)l >> seg);
        out = LLVMBuildShuffleVector(b, base, LLVMGetPoison(small), LLVMConstVector(idx, JIT_WARP),
                                     "");
    }
    if (stride != 0)
        out = LLVMBuildAdd(b, out, lane_constants(e, t, stride, seg), "");
    return out;
}

LLVMValueRef new_slot(struct emit *e, LLVMTypeRef type, const char *name)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(e->alu.ctx);
    LLVMValueRef first = LLVMGetFirstInstruction(e->entry);
    if (first != NULL)
        LLVMPositionBuilderBefore(b, first);
    else
        LLVMPositionBuilderAtEnd(b, e->entry);
    LLVMValueRef slot = LLVMBuildAlloca(b, type, name);
    LLVMDisposeBuilder(b);
    return slot;
}

LLVMBasicBlockRef new_bb(struct emit *e, const char *name)
{
    return LLVMAppendBasicBlockInContext(e->alu.ctx, e->fn, name);
}

LLVMValueRef intrinsic(struct emit *e, const char *name, LLVMTypeRef *types, int ntypes,
                       LLVMValueRef *args, int nargs)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->alu.module, id, types, (size_t)ntypes);
    return LLVMBuildCall2(e->alu.b, LLVMGlobalGetValueType(f), f, args, (unsigned)nargs, "");
}

LLVMValueRef byte_offset(struct emit *e, LLVMValueRef base, LLVMValueRef offset)
{
    return LLVMBuildGEP2(e->alu.b, e->i8, base, &offset, 1, "");
}

LLVMValueRef block_field(struct emit *e, size_t offset, LLVMTypeRef type, bool invariant)
{
    LLVMValueRef v = LLVMBuildLoad2(e->alu.b, type, byte_offset(e, e->blk, c64(e, offset)), "");
    if (invariant)
        LLVMSetMetadata(v, e->md_invariant, e->md_empty);
    return v;
}

void branch_likely(struct emit *e, LLVMValueRef cond, LLVMBasicBlockRef yes, LLVMBasicBlockRef no)
{
    LLVMContextRef c = e->alu.ctx;
    LLVMValueRef br = LLVMBuildCondBr(e->alu.b, cond, yes, no);
    LLVMMetadataRef weights[3] = {LLVMMDStringInContext2(c, "branch_weights", 14),
                                  LLVMValueAsMetadata(c32(e, LIKELY)),
                                  LLVMValueAsMetadata(c32(e, 1))};
    LLVMMetadataRef node = LLVMMDNodeInContext2(c, weights, 3);
    LLVMSetMetadata(br, LLVMGetMDKindIDInContext(c, "prof", 4), LLVMMetadataAsValue(c, node));
}

LLVMValueRef opaque(struct emit *e, LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v), fn = LLVMFunctionType(t, &t, 1, false);
    LLVMValueRef nothing =
        LLVMGetInlineAsm(fn, "", 0, "=r,0", 4, false, false, LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(e->alu.b, fn, nothing, &v, 1, "");
}

static void values_tag(struct emit *e, LLVMValueRef access, int scope)
{
    LLVMSetMetadata(access, e->md_scope, e->scope_of[scope]);
    LLVMSetMetadata(access, e->md_noalias, e->scope_not[scope]);
}

void tag_frame(struct emit *e, LLVMValueRef access) { values_tag(e, access, SCOPE_FRAME); }

void tag_memory(struct emit *e, LLVMValueRef access, unsigned space)
{
    ahead_mark(e, access, space);
    switch (space) {
    case PTX_SPACE_SHARED: values_tag(e, access, SCOPE_SHARED); break;
    case PTX_SPACE_GLOBAL:
    case PTX_SPACE_CONST: values_tag(e, access, SCOPE_GLOBAL); break;
    case PTX_SPACE_LOCAL: values_tag(e, access, SCOPE_LOCAL); break;
    default: values_tag(e, access, SCOPE_ANY); break;
    }
}

/* ---- masks ---- */

LLVMValueRef bits_of(struct emit *e, LLVMValueRef v32i1)
{
    return LLVMBuildBitCast(e->alu.b, v32i1, e->i32, "");
}

/* Where masks are no registers of their own, LLVM would take a number's bits out one by one. With
 * AVX2 each lane's bit is moved to its sign, which is where masked accesses and selections look. */
LLVMValueRef some_lanes_of(struct emit *e, LLVMValueRef bits, unsigned first, unsigned count)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef own[JIT_WARP], each;
    bool signs = e->alu.has_avx2;
    for (unsigned l = 0; l < count; l++)
        own[l] = c32(e, signs ? 31 - first - l : 1ull << (first + l));
    each = LLVMConstVector(own, count);
    bits = splat(e, bits, count);
    if (signs)
        return LLVMBuildICmp(b, LLVMIntSLT, LLVMBuildShl(b, bits, each, ""),
                             LLVMConstNull(LLVMTypeOf(each)), "");
    return LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, bits, each, ""), each, "");
}

LLVMValueRef lanes_of(struct emit *e, LLVMValueRef bits)
{
    if (e->alu.has_avx512)
        return LLVMBuildBitCast(e->alu.b, bits, e->v32i1, "");
    return some_lanes_of(e, bits, 0, JIT_WARP);
}

LLVMValueRef mask_vector(struct emit *e)
{
    if (e->mask == NULL)
        return NULL;
    if (e->mask_vec == NULL)
        e->mask_vec = lanes_of(e, e->mask);
    return e->mask_vec;
}

LLVMValueRef mask_bits(struct emit *e) { return e->mask ? e->mask : c32(e, 0xffffffffu); }

LLVMValueRef first_active(struct emit *e, LLVMValueRef v)
{
    LLVMValueRef args[2] = {mask_bits(e), LLVMConstInt(e->i1, 1, false)};
    return LLVMBuildExtractElement(e->alu.b, v, intrinsic(e, "llvm.cttz", &e->i32, 1, args, 2), "");
}

/* ---- operands ---- */

LLVMValueRef read_slot(struct emit *e, int32_t reg, int s)
{
    LLVMTypeRef t = scalar_type(e, e->k->regs[reg].type);
    if (e->k->regs[reg].shape.seg == SEG_NONE)
        t = LLVMVectorType(t, JIT_WARP);
    LLVMValueRef at = s == 0 ? place_of(e, reg) : e->regs[reg].slot[s];
    LLVMValueRef v = LLVMBuildLoad2(e->alu.b, t, at, "");
    if (e->regs[reg].framed)
        LLVMSetAlignment(v, 64);
    if (e->regs[reg].crowd)
        tag_frame(e, v);
    return v;
}

static LLVMValueRef constant(struct emit *e, const struct ptx_operand *o, unsigned want)
{
    LLVMTypeRef t = scalar_type(e, want);
    if (o->kind == PTX_OPR_IMM) {
        if (LLVMGetTypeKind(t) == LLVMIntegerTypeKind)
            return LLVMConstInt(t, o->imm, false);
        return LLVMConstReal(t, (double)(int64_t)o->imm);
    }
    if (LLVMGetTypeKind(t) != LLVMIntegerTypeKind && LLVMGetTypeKind(t) != LLVMHalfTypeKind) {
        /* exact bits, NaN payloads included */
        if (LLVMGetTypeKind(t) == LLVMFloatTypeKind) {
            return LLVMConstBitCast(c32(e, ptx_f32_bits(o->fimm)), t);
        }
        uint64_t bits;
        memcpy(&bits, &o->fimm, 8);
        return LLVMConstBitCast(c64(e, bits), t);
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
static LLVMValueRef values_symbol(struct emit *e, const struct ptx_operand *o)
{
    char name[48];
    LLVMValueRef at;
    if (o->func != NULL) {
        const struct ptx_module *m = e->k->entry->module;
        int index = 0;
        while (index < m->nfuncs && m->funcs[index] != o->func)
            index++;
        snprintf(name, sizeof name, "weir_func_%d", index);
    } else if (o->var->space == PTX_SPACE_SHARED) {
        return c64(e, (uint64_t)(jkernel_shared_offset(e->k, o->var) + o->offset));
    } else if (o->var->space == PTX_SPACE_LOCAL) {
        at = c64(e, (uint64_t)(jkernel_local_offset(e->k, o->var) + o->offset));
        return e->sp ? LLVMBuildAdd(e->alu.b, e->sp, at, "") : at;
    } else if (o->var->space == PTX_SPACE_PARAM) {
        uint64_t at_param = 0;
        for (int n = 0; n < e->k->entry->nparams; n++) {
            const struct ptx_var *p = e->k->entry->params[n];
            uint64_t align = p->align ? p->align : 1;
            at_param = (at_param + align - 1) / align * align;
            if (p == o->var)
                break;
            at_param += p->size;
        }
        LLVMValueRef base = LLVMBuildPtrToInt(e->alu.b, e->params, e->i64, "");
        return LLVMBuildAdd(e->alu.b, base, c64(e, at_param + (uint64_t)o->offset), "");
    } else {
        snprintf(name, sizeof name, "weir_var_%d", o->var->index);
    }
    at = LLVMGetNamedGlobal(e->alu.module, name);
    if (at == NULL)
        at = LLVMAddGlobal(e->alu.module, e->i8, name);
    at = LLVMBuildPtrToInt(e->alu.b, at, e->i64, "");
    return o->offset ? LLVMBuildAdd(e->alu.b, at, c64(e, (uint64_t)o->offset), "") : at;
}

static LLVMValueRef not_if(struct emit *e, const struct ptx_operand *o, LLVMValueRef v)
{
    if (!o->neg || e->k->regs[o->reg].type != PTX_PRED)
        return v;
    return LLVMBuildNot(e->alu.b, v, "");
}

/* ---- breaks ---- */

static LLVMValueRef umin(struct emit *e, LLVMValueRef a, LLVMValueRef b)
{
    return intrinsic(e, "llvm.umin", &e->i32, 1, (LLVMValueRef[]){a, b}, 2);
}

/* The value `lanes` behind the first lane of a segment, whose value is v. */
static LLVMValueRef advance(struct emit *e, const struct shape *sh, LLVMValueRef v,
                            LLVMValueRef before, int64_t lanes)
{
    LLVMBuilderRef b = e->alu.b;
    if (sh->stride == 0 || lanes == 0)
        return v;
    v = LLVMBuildAdd(b, v, LLVMConstInt(LLVMTypeOf(v), (uint64_t)(sh->stride * lanes), true), "");
    if (sh->brk == 0)
        return v;
    LLVMValueRef behind = LLVMBuildICmp(b, LLVMIntUGE, c32(e, (uint64_t)lanes), before, "");
    LLVMValueRef drop = LLVMBuildSelect(b, behind, c64(e, (uint64_t)sh->brk << 32), c64(e, 0), "");
    return LLVMBuildSub(b, v, drop, "");
}

/* Lanes before the break for the 2^seg lanes that start `lanes` behind a segment's first. */
static LLVMValueRef rest_before(struct emit *e, LLVMValueRef before, unsigned seg, int64_t lanes)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef all = c32(e, 1u << seg), k = c32(e, (uint64_t)lanes);
    LLVMValueRef rest = umin(e, LLVMBuildSub(b, before, k, ""), all);
    return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntUGE, k, before, ""), all, rest, "");
}

LLVMValueRef operand_break(struct emit *e, const struct ptx_operand *o, unsigned seg, int s)
{
    const struct shape *sh = &e->k->regs[o->reg].shape;
    int in = (s << seg) >> sh->seg;
    LLVMValueRef before = LLVMBuildLoad2(e->alu.b, e->i32, e->regs[o->reg].brk[in], "");
    return sh->seg == seg ? before : rest_before(e, before, seg, (s << seg) - (in << sh->seg));
}

LLVMValueRef lanes_before_wrap(struct emit *e, LLVMValueRef first, int64_t stride, unsigned seg,
                               bool is_signed)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef room; /* how far the first lane is from the end it moves to */
    if (stride > 0)
        room = LLVMBuildSub(b, c32(e, is_signed ? 0x7fffffffu : 0xffffffffu), first, "");
    else
        room = LLVMBuildSub(b, first, c32(e, is_signed ? 0x80000000u : 0), "");
    uint64_t step = (uint64_t)(stride > 0 ? stride : -stride);
    LLVMValueRef steps = step == 1 ? room : LLVMBuildUDiv(b, room, c32(e, step), "");
    return LLVMBuildAdd(b, umin(e, steps, c32(e, (1u << seg) - 1)), c32(e, 1), "");
}

/* <32 x i64> of a value with breaks. */
static LLVMValueRef from_broken(struct emit *e, const LLVMValueRef *v, const LLVMValueRef *before,
                                const struct shape *sh)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef out = from_segments(e, v, sh->seg, sh->stride);
    LLVMValueRef behind = LLVMBuildICmp(b, LLVMIntUGE, lane_constants(e, e->i32, 1, sh->seg),
                                        from_segments(e, before, sh->seg, 0), "");
    LLVMValueRef drop = splat(e, c64(e, (uint64_t)sh->brk << 32), JIT_WARP);
    drop = LLVMBuildSelect(b, behind, drop, LLVMConstNull(e->v32i64), "");
    return LLVMBuildSub(b, out, drop, "");
}

LLVMValueRef operand_scalar(struct emit *e, const struct ptx_operand *o, unsigned want,
                            unsigned seg, int s)
{
    switch (o->kind) {
    case PTX_OPR_REG: {
        const struct shape *sh = &e->k->regs[o->reg].shape;
        int in = (s << seg) >> sh->seg;
        int64_t lanes = (s << seg) - (in << sh->seg);
        LLVMValueRef before = NULL;
        if (sh->brk != 0 && lanes != 0)
            before = LLVMBuildLoad2(e->alu.b, e->i32, e->regs[o->reg].brk[in], "");
        LLVMValueRef v = advance(e, sh, read_slot(e, o->reg, in), before, lanes);
        return coerce(e, not_if(e, o, v), want, false);
    }
    case PTX_OPR_SREG: return coerce(e, sreg_scalar(e, o, seg, s), want, false);
    case PTX_OPR_SYM: return coerce(e, values_symbol(e, o), want, false);
    default: return constant(e, o, want);
    }
}

LLVMValueRef operand_vector(struct emit *e, const struct ptx_operand *o, unsigned want)
{
    if (o->kind == PTX_OPR_REG) {
        const struct shape *sh = &e->k->regs[o->reg].shape;
        LLVMValueRef v;
        if (sh->seg == SEG_NONE) {
            v = read_slot(e, o->reg, 0);
        } else {
            LLVMValueRef seg[MAX_SEGS];
            LLVMValueRef before[MAX_SEGS];
            for (int s = 0; s < nsegs(sh->seg); s++) {
                seg[s] = read_slot(e, o->reg, s);
                if (sh->brk != 0)
                    before[s] = operand_break(e, o, sh->seg, s);
            }
            v = sh->brk != 0 ? from_broken(e, seg, before, sh)
                             : from_segments(e, seg, sh->seg, sh->stride);
        }
        return coerce(e, not_if(e, o, v), want, false);
    }
    if (o->kind == PTX_OPR_SREG)
        return coerce(e, sreg_vector(e, o), want, false);
    return splat(e, operand_scalar(e, o, want, SEG_WARP, 0), JIT_WARP);
}

/* ---- writing ---- */

void write_vector(struct emit *e, int32_t reg, LLVMValueRef v, unsigned type)
{
    if (e->one_lane) { /* made of what is uniform for the time: all elements are alike */
        write_uniform(e, reg, LLVMBuildExtractElement(e->alu.b, v, c32(e, 0), ""), type);
        return;
    }
    v = coerce(e, v, e->k->regs[reg].type, ptx_type_is_signed((enum ptx_type)type));
    if (e->mask != NULL && e->waiting != NULL && bit_get(e->waiting, reg))
        v = LLVMBuildSelect(e->alu.b, mask_vector(e), v, read_slot(e, reg, 0), "");
    v = LLVMBuildStore(e->alu.b, v, place_of(e, reg));
    if (e->regs[reg].framed)
        LLVMSetAlignment(v, 64);
    if (e->regs[reg].crowd)
        tag_frame(e, v);
}

void write_broken(struct emit *e, int32_t reg, struct shape s, const LLVMValueRef *v,
                  const LLVMValueRef *before, unsigned type)
{
    const struct jreg *r = &e->k->regs[reg];
    LLVMValueRef wide[MAX_SEGS];
    bool sext = ptx_type_is_signed((enum ptx_type)type);
    for (int n = 0; n < nsegs(s.seg); n++)
        wide[n] = coerce(e, v[n], r->type, sext);
    if (r->shape.seg == SEG_NONE) {
        LLVMValueRef x =
            s.brk != 0 ? from_broken(e, wide, before, &s) : from_segments(e, wide, s.seg, s.stride);
        write_vector(e, reg, x, r->type);
        return;
    }
    for (int n = 0; n < nsegs(r->shape.seg); n++) {
        int in = (n << r->shape.seg) >> s.seg;
        int64_t lanes = (n << r->shape.seg) - (in << s.seg);
        LLVMValueRef at = s.brk != 0 ? before[in] : NULL;
        LLVMBuildStore(e->alu.b, advance(e, &s, wide[in], at, lanes), e->regs[reg].slot[n]);
        LLVMValueRef rest = c32(e, 1u << r->shape.seg); /* no break: behind all lanes */
        if (s.brk != 0)
            rest = s.seg == r->shape.seg ? at : rest_before(e, at, r->shape.seg, lanes);
        if (r->shape.brk != 0)
            LLVMBuildStore(e->alu.b, rest, e->regs[reg].brk[n]);
    }
}

void write_segments(struct emit *e, int32_t reg, struct shape s, const LLVMValueRef *v,
                    unsigned type)
{
    write_broken(e, reg, s, v, NULL, type);
}

void write_uniform(struct emit *e, int32_t reg, LLVMValueRef v, unsigned type)
{
    struct shape s = {.seg = SEG_WARP, .known = 1};
    write_segments(e, reg, s, &v, type);
}
