/* emit_op: one instruction: elementwise ones through alu.h at the narrowest shape their operands
 * allow, moves and address conversions here, calls (emit_call.c), memory and warp operations in
 * their own files. */
#include <stddef.h>
#include <string.h>

#include "compiler/codegen/codegen.h"

#define FIELD(name) offsetof(struct jit_block, name)

/* ---- special registers ---- */

/* Linear thread index of the first lane of a segment. */
static LLVMValueRef instructions_linear(struct emit *e, unsigned seg, int s)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef t = LLVMBuildShl(b, e->w, c32(e, SEG_WARP), "");
    int first = s << seg;
    return first ? LLVMBuildAdd(b, t, c32(e, (uint64_t)first), "") : t;
}

/* tid component from a linear thread index (scalar or vector). */
static LLVMValueRef instructions_tid(struct emit *e, LLVMValueRef linear, int component)
{
    LLVMBuilderRef b = e->alu.b;
    const uint32_t *n = e->k->opt->ntid;
    bool vec = LLVMGetTypeKind(LLVMTypeOf(linear)) == LLVMVectorTypeKind;
#define CONST(x) (vec ? splat(e, c32(e, x), JIT_WARP) : c32(e, x))
    if (component == 0)
        return n[1] == 1 && n[2] == 1 ? linear : LLVMBuildURem(b, linear, CONST(n[0]), "");
    if (component == 1) {
        LLVMValueRef row = LLVMBuildUDiv(b, linear, CONST(n[0]), "");
        return n[2] == 1 ? row : LLVMBuildURem(b, row, CONST(n[1]), "");
    }
    return LLVMBuildUDiv(b, linear, CONST(n[0] * n[1]), "");
#undef CONST
}

static LLVMValueRef instructions_clock(struct emit *e)
{
    return intrinsic(e, "llvm.readcyclecounter", NULL, 0, NULL, 0);
}

static LLVMValueRef helper_u64(struct emit *e, const char *name)
{
    LLVMTypeRef t = LLVMFunctionType(e->i64, NULL, 0, false);
    LLVMValueRef f = LLVMGetNamedFunction(e->alu.module, name);
    if (f == NULL)
        f = LLVMAddFunction(e->alu.module, name, t);
    return LLVMBuildCall2(e->alu.b, t, f, NULL, 0, "");
}

/* Special registers that are the same for the whole warp, or per segment. */
LLVMValueRef sreg_scalar(struct emit *e, const struct ptx_operand *o, unsigned seg, int s)
{
    LLVMBuilderRef b = e->alu.b;
    unsigned c = o->component;
    size_t at = c < 3 ? c * 4u : 0;
    switch (o->sreg) {
    case PTX_SR_tid:
        return c < 3 ? instructions_tid(e, instructions_linear(e, seg, s), (int)c) : c32(e, 0);
    case PTX_SR_ntid: return c < 3 ? c32(e, e->k->opt->ntid[c]) : c32(e, 0);
    case PTX_SR_laneid: return c32(e, (uint64_t)(s << seg));
    case PTX_SR_warpid: return e->w;
    case PTX_SR_nwarpid: return c32(e, 64);
    case PTX_SR_ctaid: return c < 3 ? e->ctaid[c] : c32(e, 0);
    case PTX_SR_nctaid: return c < 3 ? e->nctaid[c] : c32(e, 0);
    case PTX_SR_smid: return block_field(e, FIELD(smid), e->i32, false);
    case PTX_SR_nsmid: return block_field(e, FIELD(nsmid), e->i32, false);
    case PTX_SR_gridid: return block_field(e, FIELD(gridid), e->i64, false);
    case PTX_SR_clusterid: return block_field(e, FIELD(clusterid) + at, e->i32, false);
    case PTX_SR_nclusterid: return block_field(e, FIELD(nclusterid) + at, e->i32, false);
    case PTX_SR_cluster_ctaid: return block_field(e, FIELD(cluster_ctaid) + at, e->i32, false);
    case PTX_SR_cluster_nctaid: return block_field(e, FIELD(cluster_nctaid) + at, e->i32, false);
    case PTX_SR_envreg: return block_field(e, FIELD(envreg) + (c & 3) * 4u, e->i32, false);
    case PTX_SR_clock:
    case PTX_SR_clock64: return instructions_clock(e);
    case PTX_SR_clock_hi:
        return LLVMBuildTrunc(b, LLVMBuildLShr(b, instructions_clock(e), c64(e, 32), ""), e->i32,
                              "");
    case PTX_SR_globaltimer:
    case PTX_SR_globaltimer_lo: return helper_u64(e, "weir_rt_globaltimer");
    case PTX_SR_current_graph_exec: return helper_u64(e, "weir_rt_current_graph_exec");
    case PTX_SR_globaltimer_hi:
        return LLVMBuildTrunc(
            b, LLVMBuildLShr(b, helper_u64(e, "weir_rt_globaltimer"), c64(e, 32), ""), e->i32, "");
    case PTX_SR_total_smem_size: return block_field(e, FIELD(total_shared), e->i32, false);
    case PTX_SR_dynamic_smem_size: return block_field(e, FIELD(dynamic_shared), e->i32, false);
    case PTX_SR_WARP_SZ: return c32(e, JIT_WARP);
    case PTX_SR_aggr_smem_size: return block_field(e, FIELD(total_shared), e->i32, false);
    case PTX_SR_cluster_ctarank: return block_field(e, FIELD(cluster_rank), e->i32, false);
    case PTX_SR_cluster_nctarank: return block_field(e, FIELD(cluster_size), e->i32, false);
    case PTX_SR_is_explicit_cluster:
        return LLVMBuildTrunc(b, block_field(e, FIELD(explicit_cluster), e->i32, false), e->i1, "");
    default: return c32(e, 0);
    }
}

static LLVMValueRef lanemask(struct emit *e, unsigned sreg)
{
    LLVMValueRef c[JIT_WARP];
    for (int l = 0; l < JIT_WARP; l++) {
        uint32_t eq = 1u << l, lt = eq - 1;
        uint32_t v = sreg == PTX_SR_lanemask_eq   ? eq
                     : sreg == PTX_SR_lanemask_lt ? lt
                     : sreg == PTX_SR_lanemask_le ? lt | eq
                     : sreg == PTX_SR_lanemask_gt ? ~(lt | eq)
                                                  : ~lt;
        c[l] = c32(e, v);
    }
    return LLVMConstVector(c, JIT_WARP);
}

LLVMValueRef sreg_vector(struct emit *e, const struct ptx_operand *o)
{
    struct shape s = shape_operand(e->k, o);
    LLVMValueRef v[MAX_SEGS];
    if (s.seg != SEG_NONE) {
        for (int n = 0; n < nsegs(s.seg); n++)
            v[n] = sreg_scalar(e, o, s.seg, n);
        return from_segments(e, v, s.seg, s.stride);
    }
    if (o->sreg == PTX_SR_tid) {
        LLVMValueRef first = instructions_linear(e, SEG_WARP, 0);
        return instructions_tid(e, from_segments(e, &first, SEG_WARP, 1), o->component);
    }
    return lanemask(e, o->sreg);
}

/* ---- moves ---- */

/* mov.b64 {a, b}, d and mov.b64 d, {a, b}: pieces of a wider register, lowest first. */
static bool emit_pack(struct emit *e, const struct ptx_instr *i)
{
    LLVMBuilderRef b = e->alu.b;
    const struct ptx_operand *d = &i->operands[0], *s = &i->operands[1];
    unsigned type = i->types[0], bits = ptx_type_bits((enum ptx_type)type);
    struct shape sh = shape_of(e->k, i, 0);
    bool vec = sh.seg == SEG_NONE;
    unsigned seg = vec ? SEG_WARP : sh.seg;
    int parts = vec ? 1 : nsegs(seg);
    const struct ptx_operand *list = d->kind == PTX_OPR_VEC ? d : s;
    int n = list->nitems;
    unsigned piece = bits / (unsigned)n;
    LLVMTypeRef wide = LLVMIntTypeInContext(e->alu.ctx, bits);
    LLVMTypeRef narrow = LLVMIntTypeInContext(e->alu.ctx, piece);
    if (vec) {
        wide = LLVMVectorType(wide, JIT_WARP);
        narrow = LLVMVectorType(narrow, JIT_WARP);
    }
    unsigned ptype = piece == 8 ? PTX_B8 : piece == 16 ? PTX_B16 : piece == 32 ? PTX_B32 : PTX_B64;
    LLVMValueRef out[4][MAX_SEGS];
    for (int p = 0; p < parts; p++) {
        if (list == s) {
            LLVMValueRef acc = LLVMConstNull(wide);
            for (int m = 0; m < n; m++) {
                const struct ptx_operand *o = &s->items[m];
                LLVMValueRef v =
                    vec ? operand_vector(e, o, ptype) : operand_scalar(e, o, ptype, seg, p);
                LLVMValueRef by = LLVMConstInt(LLVMIntTypeInContext(e->alu.ctx, bits),
                                               (uint64_t)m * piece, false);
                v = LLVMBuildZExt(b, v, wide, "");
                v = LLVMBuildShl(b, v, vec ? splat(e, by, JIT_WARP) : by, "");
                acc = LLVMBuildOr(b, acc, v, "");
            }
            out[0][p] = acc;
        } else {
            unsigned want = bits == 128 ? PTX_B128 : type;
            LLVMValueRef v = vec ? operand_vector(e, s, want) : operand_scalar(e, s, want, seg, p);
            v = LLVMBuildBitCast(b, v, wide, "");
            for (int m = 0; m < n; m++) {
                LLVMValueRef by = LLVMConstInt(LLVMIntTypeInContext(e->alu.ctx, bits),
                                               (uint64_t)m * piece, false);
                LLVMValueRef x = LLVMBuildLShr(b, v, vec ? splat(e, by, JIT_WARP) : by, "");
                out[m][p] = LLVMBuildTrunc(b, x, narrow, "");
            }
        }
    }
    for (int m = 0; m < (list == s ? 1 : n); m++) {
        const struct ptx_operand *to = list == s ? d : &d->items[m];
        if (to->kind != PTX_OPR_REG)
            continue;
        if (vec)
            write_vector(e, to->reg, out[m][0], list == s ? type : ptype);
        else
            write_segments(e, to->reg, sh, out[m], list == s ? type : ptype);
    }
    return true;
}

static bool emit_mov(struct emit *e, const struct ptx_instr *i)
{
    const struct ptx_operand *d = &i->operands[0], *s = &i->operands[1];
    if (d->kind == PTX_OPR_VEC || s->kind == PTX_OPR_VEC)
        return emit_pack(e, i);
    struct shape sh = shape_of(e->k, i, 0);
    unsigned type = i->types[0];
    if (sh.seg == SEG_NONE) {
        write_vector(e, d->reg, operand_vector(e, s, type), type);
        return true;
    }
    LLVMValueRef v[MAX_SEGS], before[MAX_SEGS];
    for (int n = 0; n < nsegs(sh.seg); n++) {
        v[n] = operand_scalar(e, s, type, sh.seg, n);
        if (sh.brk != 0)
            before[n] = operand_break(e, s, sh.seg, n);
    }
    write_broken(e, d->reg, sh, v, before, type);
    return true;
}

/* ---- address spaces ---- */

/* Address of each lane's local window, as <32 x i64>. */
static LLVMValueRef local_bases(struct emit *e)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef first = LLVMBuildZExt(b, instructions_linear(e, SEG_WARP, 0), e->i64, "");
    LLVMValueRef lane = from_segments(e, &first, SEG_WARP, 1);
    LLVMValueRef base = LLVMBuildPtrToInt(b, e->local, e->i64, "");
    lane = LLVMBuildMul(b, lane, splat(e, e->local_stride, JIT_WARP), "");
    return LLVMBuildAdd(b, lane, splat(e, base, JIT_WARP), "");
}

/* Start of the window of a space: NULL for spaces whose addresses are the process's. */
static LLVMValueRef instructions_window(struct emit *e, unsigned space)
{
    if (space == PTX_SPACE_SHARED)
        return LLVMBuildPtrToInt(e->alu.b, e->shared, e->i64, "");
    return NULL;
}

static bool emit_cvta(struct emit *e, const struct ptx_instr *i)
{
    if (i->spaces[0] == PTX_SPACE_SHARED_CLUSTER)
        return emit_cluster_cvta(e, i);
    LLVMBuilderRef b = e->alu.b;
    struct shape sh = shape_of(e->k, i, 0);
    unsigned type = i->types[0], space = i->spaces[0];
    bool to = ptx_has(i, PTX_M_to);
    const struct ptx_operand *s = &i->operands[1];
    LLVMValueRef v[MAX_SEGS];
    if (sh.seg == SEG_NONE) {
        v[0] = operand_vector(e, s, PTX_U64);
        LLVMValueRef base = instructions_window(e, space);
        base = space == PTX_SPACE_LOCAL ? local_bases(e) : base ? splat(e, base, JIT_WARP) : NULL;
        if (base != NULL)
            v[0] = to ? LLVMBuildSub(b, v[0], base, "") : LLVMBuildAdd(b, v[0], base, "");
        write_vector(e, i->operands[0].reg, v[0], type);
        return true;
    }
    LLVMValueRef base = instructions_window(e, space), before[MAX_SEGS];
    for (int n = 0; n < nsegs(sh.seg); n++) {
        if (sh.brk != 0)
            before[n] = operand_break(e, s, sh.seg, n);
        v[n] = operand_scalar(e, s, PTX_U64, sh.seg, n);
        if (base != NULL)
            v[n] = to ? LLVMBuildSub(b, v[n], base, "") : LLVMBuildAdd(b, v[n], base, "");
    }
    write_broken(e, i->operands[0].reg, sh, v, before, type);
    return true;
}

/* Which lanes' addresses lie in a constant? They are variables of the module: each is asked. */
static LLVMValueRef in_constants(struct emit *e, LLVMValueRef address)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef r = LLVMConstNull(e->v32i1);
    for (int n = 0; n < e->k->entry->module->nvars; n++) {
        const struct ptx_var *v = e->k->entry->module->vars[n];
        if (v->space != PTX_SPACE_CONST)
            continue;
        struct ptx_operand o = {.kind = PTX_OPR_SYM, .reg = -1, .var = (struct ptx_var *)v};
        LLVMValueRef off = LLVMBuildSub(b, address, operand_vector(e, &o, PTX_U64), "");
        LLVMValueRef in =
            LLVMBuildICmp(b, LLVMIntULT, off, splat(e, c64(e, v->size), JIT_WARP), "");
        r = LLVMBuildOr(b, r, in, "");
    }
    return r;
}

/* isspacep: does a generic address lie in this block's (or thread's) window? */
static bool emit_isspacep(struct emit *e, const struct ptx_instr *i)
{
    if (i->spaces[0] == PTX_SPACE_SHARED_CLUSTER)
        return emit_cluster_isspacep(e, i);
    LLVMBuilderRef b = e->alu.b;
    unsigned space = i->spaces[0];
    LLVMValueRef a = operand_vector(e, &i->operands[1], PTX_U64);
    LLVMValueRef shared = LLVMBuildPtrToInt(b, e->shared, e->i64, "");
    LLVMValueRef size =
        LLVMBuildZExt(b, block_field(e, FIELD(total_shared), e->i32, false), e->i64, "");
    LLVMValueRef off = LLVMBuildSub(b, a, splat(e, shared, JIT_WARP), "");
    LLVMValueRef in_shared = LLVMBuildICmp(b, LLVMIntULT, off, splat(e, size, JIT_WARP), "");
    off = LLVMBuildSub(b, a, local_bases(e), "");
    LLVMValueRef in_local =
        LLVMBuildICmp(b, LLVMIntULT, off, splat(e, e->local_stride, JIT_WARP), "");
    uint64_t param_bytes = 4096;
    LLVMValueRef params = LLVMBuildPtrToInt(b, e->params, e->i64, "");
    off = LLVMBuildSub(b, a, splat(e, params, JIT_WARP), "");
    LLVMValueRef in_param =
        LLVMBuildICmp(b, LLVMIntULT, off, splat(e, c64(e, param_bytes), JIT_WARP), "");
    LLVMValueRef r;
    switch (space) {
    case PTX_SPACE_SHARED: r = in_shared; break;
    case PTX_SPACE_LOCAL: r = in_local; break;
    case PTX_SPACE_PARAM: r = in_param; break;
    case PTX_SPACE_CONST: r = in_constants(e, a); break;
    default: /* global memory is all that is in no window */
        r = LLVMBuildOr(b, LLVMBuildOr(b, in_shared, in_local, ""), in_constants(e, a), "");
        r = LLVMBuildNot(b, r, "");
        break;
    }
    const struct jreg *d = &e->k->regs[i->operands[0].reg];
    if (d->shape.seg == SEG_NONE)
        write_vector(e, i->operands[0].reg, r, PTX_PRED);
    else
        write_uniform(e, i->operands[0].reg, LLVMBuildExtractElement(b, r, c32(e, 0), ""),
                      PTX_PRED);
    return true;
}

/* ---- elementwise ---- */

void write_results(struct emit *e, const struct ptx_operand *d, int which, struct shape sh,
                   LLVMValueRef dst[MAX_SEGS][ALU_MAX_DST], unsigned type)
{
    if (d->kind != PTX_OPR_REG)
        return; /* _ */
    LLVMValueRef v[MAX_SEGS];
    if (sh.seg == SEG_NONE) {
        write_vector(e, d->reg, dst[0][which], type);
        return;
    }
    for (int s = 0; s < nsegs(sh.seg); s++)
        v[s] = dst[s][which];
    write_segments(e, d->reg, sh, v, type);
}

/* Lanes before the break of a result: its source's, or, where a 32-bit index is widened, those that
 * do not wrap. `src` are the instruction's sources. */
static LLVMValueRef result_break(struct emit *e, const struct ptx_instr *i,
                                 const struct ptx_operand *src, int nsrc, unsigned seg, int s)
{
    LLVMValueRef before = NULL, side[2] = {c32(e, 1u << seg), c32(e, 1u << seg)};
    for (int n = 0; n < nsrc; n++) {
        if (shape_operand(e->k, &src[n]).brk == 0)
            continue;
        before = operand_break(e, &src[n], seg, s);
        side[n & 1] = before;
    }
    if (before != NULL && i->op == PTX_OP_selp) { /* with a uniform predicate */
        LLVMValueRef c = operand_scalar(e, &src[2], PTX_PRED, SEG_WARP, 0);
        before = LLVMBuildSelect(e->alu.b, c, side[0], side[1], "");
    }
    for (int n = 0; n < nsrc && before == NULL; n++) {
        struct shape a = shape_operand(e->k, &src[n]);
        if (a.stride != 0)
            before =
                lanes_before_wrap(e, operand_scalar(e, &src[n], PTX_U32, seg, s), a.stride, seg,
                                  ptx_type_is_signed((enum ptx_type)i->types[i->ntypes - 1]));
    }
    return before;
}

/* In a whole copy no value is broken: where that is not known, the general copies go on. */
static void stay_whole(struct emit *e, const struct ptx_instr *i, unsigned seg,
                       LLVMValueRef *before)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef all = NULL, whole = c32(e, 1u << seg);
    bool known = false;
    for (int n = jit_ndst(i); n < i->noperands; n++)
        if (shape_operand(e->k, &i->operands[n]).brk != 0)
            known = true; /* was looked at when that was written */
    for (int p = 0; !known && p < nsegs(seg); p++) {
        LLVMValueRef ok = LLVMBuildICmp(b, LLVMIntEQ, before[p], whole, "");
        all = all ? LLVMBuildAnd(b, all, ok, "") : ok;
    }
    if (!known)
        flow_keep_whole(e, i, all);
    for (int p = 0; p < nsegs(seg); p++)
        before[p] = whole;
}

static bool emit_alu(struct emit *e, const struct ptx_instr *i)
{
    struct alu_sig sig;
    if (!alu_signature(i, &sig))
        return diag_set(e->k->diag, i->line, i->column, "%s is not supported", ptx_op_name(i->op));
    struct shape sh = shape_of(e->k, i, 0);
    LLVMValueRef src[ALU_MAX_SRC], dst[MAX_SEGS][ALU_MAX_DST], before[MAX_SEGS];
    bool vec = sh.seg == SEG_NONE;
    int parts = vec ? 1 : nsegs(sh.seg);
    e->alu.lanes = vec ? JIT_WARP : 1;
    e->alu.mask = NULL;
    for (int p = 0; p < parts; p++) {
        if (sh.brk != 0)
            before[p] = result_break(e, i, &i->operands[sig.ndst], sig.nsrc, sh.seg, p);
        for (int n = 0; n < sig.nsrc; n++) {
            const struct ptx_operand *o = &i->operands[sig.ndst + n];
            src[n] = vec ? operand_vector(e, o, sig.src[n])
                         : operand_scalar(e, o, sig.src[n], sh.seg, p);
        }
        if (!alu_emit(&e->alu, i, src, dst[p]))
            return diag_set(e->k->diag, i->line, i->column, "%s is not supported",
                            ptx_op_name(i->op));
    }
    if (sh.brk != 0) {
        LLVMValueRef v[MAX_SEGS];
        for (int p = 0; p < parts; p++)
            v[p] = dst[p][0];
        if (e->in_whole)
            stay_whole(e, i, sh.seg, before);
        write_broken(e, i->operands[0].reg, sh, v, before, sig.dst[0]);
        return true;
    }
    for (int d = 0; d < sig.ndst; d++)
        write_results(e, &i->operands[d], d, sh, dst, sig.dst[d]);
    return true;
}

/* ---- the rest ---- */

static void cold(struct emit *e, LLVMValueRef f, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(e->alu.ctx, kind, 0));
}

void emit_fault(struct emit *e, unsigned kind, LLVMValueRef mask, LLVMValueRef address)
{
    LLVMTypeRef params[4] = {e->ptr, e->i32, e->i32, e->i64};
    LLVMTypeRef t = LLVMFunctionType(LLVMVoidTypeInContext(e->alu.ctx), params, 4, false);
    LLVMValueRef f = LLVMGetNamedFunction(e->alu.module, "weir_rt_fault");
    if (f == NULL) {
        f = LLVMAddFunction(e->alu.module, "weir_rt_fault", t);
        cold(e, f, "cold");
    }
    LLVMValueRef args[4] = {e->blk, c32(e, kind), mask, address ? address : c64(e, 0)};
    LLVMBuildCall2(e->alu.b, t, f, args, 4, "");
}

/* alloca d, sp, size, align, sp (flatten_lower.c): addresses of the local window, behind the
 * kernel's variables. */
static bool emit_alloca(struct emit *e, const struct ptx_instr *i)
{
    LLVMBuilderRef b = e->alu.b;
    const struct ptx_operand *o = i->operands;
    uint64_t align = o[3].imm != 0 ? o[3].imm : 1;
    LLVMValueRef sp = operand_vector(e, &o[4], PTX_U64);
    sp = LLVMBuildAdd(b, sp, splat(e, c64(e, e->k->local_bytes + align - 1), JIT_WARP), "");
    sp = LLVMBuildAnd(b, sp, splat(e, c64(e, ~(align - 1)), JIT_WARP), "");
    LLVMValueRef size = operand_vector(e, &o[2], PTX_U64);
    if (ptx_type_bits((enum ptx_type)i->types[0]) == 32)
        size = LLVMBuildAnd(b, size, splat(e, c64(e, 0xffffffff), JIT_WARP), "");
    LLVMValueRef end = LLVMBuildAdd(b, sp, size, "");
    LLVMValueRef over = LLVMBuildICmp(b, LLVMIntUGT, end, splat(e, e->local_stride, JIT_WARP), "");
    over = LLVMBuildOr(b, over, LLVMBuildICmp(b, LLVMIntULT, end, sp, ""), "");
    LLVMValueRef lanes = LLVMBuildAnd(b, bits_of(e, over), mask_bits(e), "");
    LLVMBasicBlockRef bad = new_bb(e, "overflow"), fits = new_bb(e, "fits");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, lanes, c32(e, 0), ""), bad, fits);
    LLVMPositionBuilderAtEnd(b, bad);
    emit_fault(e, JIT_FAULT_STACK, lanes, NULL);
    LLVMBuildUnreachable(b);
    LLVMPositionBuilderAtEnd(b, fits);
    end = LLVMBuildSub(b, end, splat(e, c64(e, e->k->local_bytes), JIT_WARP), "");
    write_vector(e, o[0].reg, sp, PTX_B64);
    write_vector(e, o[1].reg, end, PTX_B64);
    return true;
}

static void emit_fence(struct emit *e, const struct ptx_instr *i)
{
    bool strong = i->op == PTX_OP_membar ? !ptx_has(i, PTX_M_cta)
                                         : ptx_has(i, PTX_M_sc) && !ptx_has(i, PTX_M_cta);
    LLVMBuildFence(e->alu.b,
                   strong ? LLVMAtomicOrderingSequentiallyConsistent
                          : LLVMAtomicOrderingAcquireRelease,
                   false, "");
}

bool emit_instr(struct emit *e, const struct ptx_instr *i)
{
    debug_at(e, i);
    switch (i->op) {
    case PTX_OP_mov: return emit_mov(e, i);
    case PTX_OP_cvta: return emit_cvta(e, i);
    case PTX_OP_isspacep: return emit_isspacep(e, i);
    case PTX_OP_ld:
    case PTX_OP_ldu: return emit_load(e, i);
    case PTX_OP_st: return emit_store(e, i);
    case PTX_OP_atom:
    case PTX_OP_red: return emit_atomic(e, i);
    case PTX_OP_shfl:
    case PTX_OP_vote:
    case PTX_OP_match:
    case PTX_OP_activemask:
    case PTX_OP_elect:
    case PTX_OP_redux: return emit_warp_op(e, i);
    case PTX_OP_bar:
    case PTX_OP_barrier: /* what is not a warp's business ends its block (cfg.c) or is an arrival */
        if (ptx_has(i, PTX_M_cluster))
            emit_cluster_barrier(e, i);
        else if (ptx_has(i, PTX_M_arrive))
            emit_arrive(e, i);
        else
            emit_fence(e, i); /* .warp: lanes of a warp run in step */
        return true;
    case PTX_OP_membar:
    case PTX_OP_fence: emit_fence(e, i); return true;
    case PTX_OP_prefetch: /* hints: leaving them out changes nothing */
    case PTX_OP_prefetchu:
    case PTX_OP_applypriority:
    case PTX_OP_discard:
    case PTX_OP_setmaxnreg:
    case PTX_OP_nanosleep:
    case PTX_OP_pmevent:
    case PTX_OP_griddepcontrol: return true;
    case PTX_OP_createpolicy: /* what is made is only ever a hint */
        write_uniform(e, i->operands[0].reg, c64(e, 0), PTX_B64);
        return true;
    case PTX_OP_mbarrier: return emit_mbarrier(e, i);
    case PTX_OP_mapa:
    case PTX_OP_getctarank: return emit_cluster_address(e, i);
    case PTX_OP_alloca: return emit_alloca(e, i);
    case PTX_OP_trap:
    case PTX_OP_brkpt: emit_fault(e, JIT_FAULT_TRAP, mask_bits(e), NULL); return true;
    case PTX_OP_call: return emit_call(e, i);
    case PTX_OP_tex:
    case PTX_OP_tld4:
    case PTX_OP_txq:
    case PTX_OP_suld:
    case PTX_OP_sust:
    case PTX_OP_sured:
    case PTX_OP_suq: return emit_texture(e, i);
    case PTX_OP_mma:
    case PTX_OP_wmma: return emit_mma(e, i);
    case PTX_OP_ldmatrix:
    case PTX_OP_stmatrix:
    case PTX_OP_movmatrix: return emit_matrix_move(e, i);
    case PTX_OP_cp: return mem_space(i) == PTX_SPACE_LOCAL ? emit_copy(e, i) : emit_async(e, i);
    default: return emit_alu(e, i);
    }
}

bool emit_supported(const struct ptx_instr *i, struct diag *d)
{
    switch (i->op) {
    case PTX_OP_bra:
    case PTX_OP_brx:
    case PTX_OP_ret:
    case PTX_OP_exit:
    case PTX_OP_trap:
    case PTX_OP_brkpt:
    case PTX_OP_call:
    case PTX_OP_prefetch:
    case PTX_OP_prefetchu:
    case PTX_OP_applypriority:
    case PTX_OP_discard:
    case PTX_OP_createpolicy:
    case PTX_OP_setmaxnreg:
    case PTX_OP_nanosleep:
    case PTX_OP_pmevent:
    case PTX_OP_griddepcontrol:
    case PTX_OP_mbarrier:
    case PTX_OP_mapa:
    case PTX_OP_getctarank:
    case PTX_OP_alloca:
    case PTX_OP_stacksave:
    case PTX_OP_stackrestore:
    case PTX_OP_fence:
    case PTX_OP_cvta:
    case PTX_OP_isspacep:
    case PTX_OP_istypep:
    case PTX_OP_membar:
    case PTX_OP_shfl:
    case PTX_OP_vote:
    case PTX_OP_match:
    case PTX_OP_activemask:
    case PTX_OP_elect:
    case PTX_OP_redux: return true;
    case PTX_OP_mov: return true;
    case PTX_OP_ld:
    case PTX_OP_ldu:
    case PTX_OP_st:
    case PTX_OP_atom:
    case PTX_OP_red: return true;
    case PTX_OP_bar:
    case PTX_OP_barrier:
        if (ptx_has(i, PTX_M_warp))
            return true;
        if (ptx_has(i, PTX_M_cluster))
            return true;
        return true;
    case PTX_OP_tex:
    case PTX_OP_tld4:
    case PTX_OP_txq:
    case PTX_OP_suld:
    case PTX_OP_sust:
    case PTX_OP_sured:
    case PTX_OP_suq: return texture_supported(i, d);
    case PTX_OP_mma:
    case PTX_OP_wmma: return mma_supported(i, d);
    case PTX_OP_ldmatrix:
    case PTX_OP_stmatrix:
    case PTX_OP_movmatrix: return true;
    case PTX_OP_cp: return async_supported(i, d);
    default: return alu_supported(i, d);
    }
}
