/* instructions.c: emits one instruction, by a table of opcodes.
 *
 * Elementwise instructions are emitted here, by arithmetic.h, at the narrowest uniformity that
 * their operands allow, as are moves and address conversions. All others have files of their own.
 */
#include <string.h>

#include "compiler/codegen/control/control.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/matrix/matrix.h"
#include "compiler/codegen/memory/defined.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/thread_values.h"
#include "compiler/codegen/values.h"
#include "compiler/codegen/warp/warp.h"

/* ---- special registers ---- */

/* Linear thread index of the first lane of a segment. */
static LLVMValueRef linear_index(struct codegen *cg, unsigned seg, int s)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef t = LLVMBuildShl(b, cg->w, c32(cg, SEG_WARP), "");
    int first = s << seg;
    return first ? LLVMBuildAdd(b, t, c32(cg, (uint64_t)first), "") : t;
}

/* tid component from a linear thread index (scalar or vector). */
static LLVMValueRef tid_component(struct codegen *cg, LLVMValueRef linear, int component)
{
    LLVMBuilderRef b = cg->alu.b;
    const uint32_t *n = cg->k->opt->ntid;
    bool vec = LLVMGetTypeKind(LLVMTypeOf(linear)) == LLVMVectorTypeKind;
#define CONST(x) (vec ? splat(cg, c32(cg, x), JIT_WARP) : c32(cg, x))
    if (component == 0)
        return n[1] == 1 && n[2] == 1 ? linear : LLVMBuildURem(b, linear, CONST(n[0]), "");
    if (component == 1) {
        LLVMValueRef row = LLVMBuildUDiv(b, linear, CONST(n[0]), "");
        return n[2] == 1 ? row : LLVMBuildURem(b, row, CONST(n[1]), "");
    }
    return LLVMBuildUDiv(b, linear, CONST(n[0] * n[1]), "");
#undef CONST
}

static LLVMValueRef read_clock(struct codegen *cg)
{
    return intrinsic(cg, "llvm.readcyclecounter", NULL, 0, NULL, 0);
}

static LLVMValueRef helper_u64(struct codegen *cg, const char *name)
{
    LLVMTypeRef t = LLVMFunctionType(cg->i64, NULL, 0, false);
    LLVMValueRef f = LLVMGetNamedFunction(cg->alu.module, name);
    if (f == NULL)
        f = LLVMAddFunction(cg->alu.module, name, t);
    return LLVMBuildCall2(cg->alu.b, t, f, NULL, 0, "");
}

/* Special registers that are uniform, or affine in each segment. */
LLVMValueRef sreg_scalar(struct codegen *cg, const struct ptx_operand *o, unsigned seg, int s)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned c = o->component;
    size_t at = c < 3 ? c * 4u : 0;
    switch (o->sreg) {
    case PTX_SR_tid:
        return c < 3 ? tid_component(cg, linear_index(cg, seg, s), (int)c) : c32(cg, 0);
    case PTX_SR_ntid: return c < 3 ? c32(cg, cg->k->opt->ntid[c]) : c32(cg, 0);
    case PTX_SR_laneid: return c32(cg, (uint64_t)(s << seg));
    case PTX_SR_warpid: return cg->w;
    case PTX_SR_nwarpid: return c32(cg, 64);
    case PTX_SR_ctaid: return c < 3 ? cg->block.ctaid[c] : c32(cg, 0);
    case PTX_SR_nctaid: return c < 3 ? cg->block.nctaid[c] : c32(cg, 0);
    case PTX_SR_smid: return block_field(cg, BLOCK_FIELD(smid), cg->i32, false);
    case PTX_SR_nsmid: return block_field(cg, BLOCK_FIELD(nsmid), cg->i32, false);
    case PTX_SR_gridid: return block_field(cg, BLOCK_FIELD(gridid), cg->i64, false);
    case PTX_SR_clusterid: return block_field(cg, BLOCK_FIELD(clusterid) + at, cg->i32, false);
    case PTX_SR_nclusterid: return block_field(cg, BLOCK_FIELD(nclusterid) + at, cg->i32, false);
    case PTX_SR_cluster_ctaid:
        return block_field(cg, BLOCK_FIELD(cluster_ctaid) + at, cg->i32, false);
    case PTX_SR_cluster_nctaid:
        return block_field(cg, BLOCK_FIELD(cluster_nctaid) + at, cg->i32, false);
    case PTX_SR_envreg: return block_field(cg, BLOCK_FIELD(envreg) + (c & 3) * 4u, cg->i32, false);
    case PTX_SR_clock:
    case PTX_SR_clock64: return read_clock(cg);
    case PTX_SR_clock_hi:
        return LLVMBuildTrunc(b, LLVMBuildLShr(b, read_clock(cg), c64(cg, 32), ""), cg->i32, "");
    case PTX_SR_globaltimer:
    case PTX_SR_globaltimer_lo: return helper_u64(cg, "weir_rt_globaltimer");
    case PTX_SR_current_graph_exec: return helper_u64(cg, "weir_rt_current_graph_exec");
    case PTX_SR_globaltimer_hi:
        return LLVMBuildTrunc(
            b, LLVMBuildLShr(b, helper_u64(cg, "weir_rt_globaltimer"), c64(cg, 32), ""), cg->i32,
            "");
    case PTX_SR_total_smem_size: return block_field(cg, BLOCK_FIELD(total_shared), cg->i32, false);
    case PTX_SR_dynamic_smem_size:
        return block_field(cg, BLOCK_FIELD(dynamic_shared), cg->i32, false);
    case PTX_SR_WARP_SZ: return c32(cg, JIT_WARP);
    case PTX_SR_aggr_smem_size: return block_field(cg, BLOCK_FIELD(total_shared), cg->i32, false);
    case PTX_SR_cluster_ctarank: return block_field(cg, BLOCK_FIELD(cluster_rank), cg->i32, false);
    case PTX_SR_cluster_nctarank: return block_field(cg, BLOCK_FIELD(cluster_size), cg->i32, false);
    case PTX_SR_is_explicit_cluster:
        return LLVMBuildTrunc(b, block_field(cg, BLOCK_FIELD(explicit_cluster), cg->i32, false),
                              cg->i1, "");
    default: return c32(cg, 0);
    }
}

static LLVMValueRef lanemask(struct codegen *cg, unsigned sreg)
{
    LLVMValueRef c[JIT_WARP];
    for (int l = 0; l < JIT_WARP; l++) {
        uint32_t eq = 1u << l, lt = eq - 1;
        uint32_t v = sreg == PTX_SR_lanemask_eq   ? eq
                     : sreg == PTX_SR_lanemask_lt ? lt
                     : sreg == PTX_SR_lanemask_le ? lt | eq
                     : sreg == PTX_SR_lanemask_gt ? ~(lt | eq)
                                                  : ~lt;
        c[l] = c32(cg, v);
    }
    return LLVMConstVector(c, JIT_WARP);
}

LLVMValueRef sreg_vector(struct codegen *cg, const struct ptx_operand *o)
{
    struct uniformity s = operand_uniformity(cg->k, o);
    LLVMValueRef v[MAX_SEGS];
    if (s.seg != SEG_NONE) {
        for (int n = 0; n < nsegs(s.seg); n++)
            v[n] = sreg_scalar(cg, o, s.seg, n);
        return from_segments(cg, v, s.seg, s.stride);
    }
    if (o->sreg == PTX_SR_tid) {
        LLVMValueRef first = linear_index(cg, SEG_WARP, 0);
        return tid_component(cg, from_segments(cg, &first, SEG_WARP, 1), o->component);
    }
    return lanemask(cg, o->sreg);
}

/* ---- moves ---- */

/* mov.b64 {a, b}, d and mov.b64 d, {a, b}: parts of a wider register, lowest first. */
static bool emit_pack(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    const struct ptx_operand *d = &i->operands[0], *s = &i->operands[1];
    unsigned type = i->types[0], bits = ptx_type_bits((enum ptx_type)type);
    struct uniformity sh = uniformity_of(cg->k, i, 0);
    bool vec = sh.seg == SEG_NONE;
    unsigned seg = vec ? SEG_WARP : sh.seg;
    int parts = vec ? 1 : nsegs(seg);
    const struct ptx_operand *list = d->kind == PTX_OPR_VEC ? d : s;
    int n = list->nitems;
    unsigned element_bits = bits / (unsigned)n;
    LLVMTypeRef wide = LLVMIntTypeInContext(cg->alu.ctx, bits);
    LLVMTypeRef narrow = LLVMIntTypeInContext(cg->alu.ctx, element_bits);
    if (vec) {
        wide = LLVMVectorType(wide, JIT_WARP);
        narrow = LLVMVectorType(narrow, JIT_WARP);
    }
    unsigned ptype = jit_bits_type(element_bits);
    LLVMValueRef out[4][MAX_SEGS];
    for (int p = 0; p < parts; p++) {
        if (list == s) {
            LLVMValueRef acc = LLVMConstNull(wide);
            for (int m = 0; m < n; m++) {
                const struct ptx_operand *o = &s->items[m];
                LLVMValueRef v =
                    vec ? operand_vector(cg, o, ptype) : operand_scalar(cg, o, ptype, seg, p);
                LLVMValueRef by = LLVMConstInt(LLVMIntTypeInContext(cg->alu.ctx, bits),
                                               (uint64_t)m * element_bits, false);
                v = LLVMBuildZExt(b, v, wide, "");
                v = LLVMBuildShl(b, v, vec ? splat(cg, by, JIT_WARP) : by, "");
                acc = LLVMBuildOr(b, acc, v, "");
            }
            out[0][p] = acc;
        } else {
            unsigned want = bits == 128 ? PTX_B128 : type;
            LLVMValueRef v =
                vec ? operand_vector(cg, s, want) : operand_scalar(cg, s, want, seg, p);
            v = LLVMBuildBitCast(b, v, wide, "");
            for (int m = 0; m < n; m++) {
                LLVMValueRef by = LLVMConstInt(LLVMIntTypeInContext(cg->alu.ctx, bits),
                                               (uint64_t)m * element_bits, false);
                LLVMValueRef x = LLVMBuildLShr(b, v, vec ? splat(cg, by, JIT_WARP) : by, "");
                out[m][p] = LLVMBuildTrunc(b, x, narrow, "");
            }
        }
    }
    for (int m = 0; m < (list == s ? 1 : n); m++) {
        const struct ptx_operand *to = list == s ? d : &d->items[m];
        if (to->kind != PTX_OPR_REG)
            continue;
        if (vec)
            write_vector(cg, to->reg, out[m][0], list == s ? type : ptype);
        else
            write_segments(cg, to->reg, sh, out[m], list == s ? type : ptype);
    }
    return true;
}

static bool emit_mov(struct codegen *cg, const struct ptx_instr *i)
{
    const struct ptx_operand *d = &i->operands[0], *s = &i->operands[1];
    if (d->kind == PTX_OPR_VEC || s->kind == PTX_OPR_VEC)
        return emit_pack(cg, i);
    struct uniformity sh = uniformity_of(cg->k, i, 0);
    unsigned type = i->types[0];
    if (sh.seg == SEG_NONE) {
        write_vector(cg, d->reg, operand_vector(cg, s, type), type);
        return true;
    }
    LLVMValueRef v[MAX_SEGS], before[MAX_SEGS];
    for (int n = 0; n < nsegs(sh.seg); n++) {
        v[n] = operand_scalar(cg, s, type, sh.seg, n);
        if (sh.brk != 0)
            before[n] = operand_break(cg, s, sh.seg, n);
    }
    write_broken(cg, d->reg, sh, v, before, type);
    return true;
}

/* ---- address spaces ---- */

/* Address of each lane's local window, as <32 x i64>. */
static LLVMValueRef local_bases(struct codegen *cg)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef first = LLVMBuildZExt(b, linear_index(cg, SEG_WARP, 0), cg->i64, "");
    LLVMValueRef lane = from_segments(cg, &first, SEG_WARP, 1);
    LLVMValueRef base = LLVMBuildPtrToInt(b, cg->block.local, cg->i64, "");
    lane = LLVMBuildMul(b, lane, splat(cg, cg->block.local_stride, JIT_WARP), "");
    return LLVMBuildAdd(b, lane, splat(cg, base, JIT_WARP), "");
}

/* Start of the window of a space: NULL for spaces whose addresses are the process's. */
static LLVMValueRef window_base(struct codegen *cg, unsigned space)
{
    if (space == PTX_SPACE_SHARED)
        return LLVMBuildPtrToInt(cg->alu.b, cg->block.shared, cg->i64, "");
    return NULL;
}

static bool emit_cvta(struct codegen *cg, const struct ptx_instr *i)
{
    if (i->spaces[0] == PTX_SPACE_SHARED_CLUSTER)
        return emit_cluster_cvta(cg, i);
    LLVMBuilderRef b = cg->alu.b;
    struct uniformity sh = uniformity_of(cg->k, i, 0);
    unsigned type = i->types[0], space = i->spaces[0];
    bool to = ptx_has(i, PTX_M_to);
    const struct ptx_operand *s = &i->operands[1];
    LLVMValueRef v[MAX_SEGS];
    if (sh.seg == SEG_NONE) {
        v[0] = operand_vector(cg, s, PTX_U64);
        LLVMValueRef base = window_base(cg, space);
        base = space == PTX_SPACE_LOCAL ? local_bases(cg)
               : base != NULL           ? splat(cg, base, JIT_WARP)
                                        : NULL;
        if (base != NULL)
            v[0] = to ? LLVMBuildSub(b, v[0], base, "") : LLVMBuildAdd(b, v[0], base, "");
        write_vector(cg, i->operands[0].reg, v[0], type);
        return true;
    }
    LLVMValueRef base = window_base(cg, space), before[MAX_SEGS];
    for (int n = 0; n < nsegs(sh.seg); n++) {
        if (sh.brk != 0)
            before[n] = operand_break(cg, s, sh.seg, n);
        v[n] = operand_scalar(cg, s, PTX_U64, sh.seg, n);
        if (base != NULL)
            v[n] = to ? LLVMBuildSub(b, v[n], base, "") : LLVMBuildAdd(b, v[n], base, "");
    }
    write_broken(cg, i->operands[0].reg, sh, v, before, type);
    return true;
}

/* The lanes whose addresses lie in a constant. Constants are variables of the module, so each is
 * compared with. */
static LLVMValueRef in_constants(struct codegen *cg, LLVMValueRef address)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef r = LLVMConstNull(cg->v32i1);
    for (int n = 0; n < cg->k->entry->module->nvars; n++) {
        const struct ptx_var *v = cg->k->entry->module->vars[n];
        if (v->space != PTX_SPACE_CONST)
            continue;
        struct ptx_operand o = {.kind = PTX_OPR_SYM, .reg = -1, .var = (struct ptx_var *)v};
        LLVMValueRef off = LLVMBuildSub(b, address, operand_vector(cg, &o, PTX_U64), "");
        LLVMValueRef in =
            LLVMBuildICmp(b, LLVMIntULT, off, splat(cg, c64(cg, v->size), JIT_WARP), "");
        r = LLVMBuildOr(b, r, in, "");
    }
    return r;
}

/* isspacep: does a generic address lie in this block's (or thread's) window? */
static bool emit_isspacep(struct codegen *cg, const struct ptx_instr *i)
{
    if (i->spaces[0] == PTX_SPACE_SHARED_CLUSTER)
        return emit_cluster_isspacep(cg, i);
    LLVMBuilderRef b = cg->alu.b;
    unsigned space = i->spaces[0];
    LLVMValueRef a = operand_vector(cg, &i->operands[1], PTX_U64);
    LLVMValueRef shared = LLVMBuildPtrToInt(b, cg->block.shared, cg->i64, "");
    LLVMValueRef size =
        LLVMBuildZExt(b, block_field(cg, BLOCK_FIELD(total_shared), cg->i32, false), cg->i64, "");
    LLVMValueRef off = LLVMBuildSub(b, a, splat(cg, shared, JIT_WARP), "");
    LLVMValueRef in_shared = LLVMBuildICmp(b, LLVMIntULT, off, splat(cg, size, JIT_WARP), "");
    off = LLVMBuildSub(b, a, local_bases(cg), "");
    LLVMValueRef in_local =
        LLVMBuildICmp(b, LLVMIntULT, off, splat(cg, cg->block.local_stride, JIT_WARP), "");
    uint64_t param_bytes = 4096;
    LLVMValueRef params = LLVMBuildPtrToInt(b, cg->block.params, cg->i64, "");
    off = LLVMBuildSub(b, a, splat(cg, params, JIT_WARP), "");
    LLVMValueRef in_param =
        LLVMBuildICmp(b, LLVMIntULT, off, splat(cg, c64(cg, param_bytes), JIT_WARP), "");
    LLVMValueRef r;
    switch (space) {
    case PTX_SPACE_SHARED: r = in_shared; break;
    case PTX_SPACE_LOCAL: r = in_local; break;
    case PTX_SPACE_PARAM: r = in_param; break;
    case PTX_SPACE_CONST: r = in_constants(cg, a); break;
    default: /* global memory is all that is in no window */
        r = LLVMBuildOr(b, LLVMBuildOr(b, in_shared, in_local, ""), in_constants(cg, a), "");
        r = LLVMBuildNot(b, r, "");
        break;
    }
    const struct jreg *d = &cg->k->regs[i->operands[0].reg];
    if (d->uniformity.seg == SEG_NONE)
        write_vector(cg, i->operands[0].reg, r, PTX_PRED);
    else
        write_uniform(cg, i->operands[0].reg, LLVMBuildExtractElement(b, r, c32(cg, 0), ""),
                      PTX_PRED);
    return true;
}

/* ---- elementwise ---- */

void write_results(struct codegen *cg, const struct ptx_operand *d, int which, struct uniformity sh,
                   LLVMValueRef dst[MAX_SEGS][ALU_MAX_DST], unsigned type)
{
    if (d->kind != PTX_OPR_REG)
        return; /* _ */
    LLVMValueRef v[MAX_SEGS];
    if (sh.seg == SEG_NONE) {
        write_vector(cg, d->reg, dst[0][which], type);
        return;
    }
    for (int s = 0; s < nsegs(sh.seg); s++)
        v[s] = dst[s][which];
    write_segments(cg, d->reg, sh, v, type);
}

/* Lanes before the break of a result: its source's, or, where a 32-bit index is widened, those that
 * do not wrap. `src` are the instruction's sources. */
static LLVMValueRef result_break(struct codegen *cg, const struct ptx_instr *i,
                                 const struct ptx_operand *src, int nsrc, unsigned seg, int s)
{
    LLVMValueRef before = NULL, side[2] = {c32(cg, 1u << seg), c32(cg, 1u << seg)};
    for (int n = 0; n < nsrc; n++) {
        if (operand_uniformity(cg->k, &src[n]).brk == 0)
            continue;
        before = operand_break(cg, &src[n], seg, s);
        side[n & 1] = before;
    }
    if (before != NULL && i->op == PTX_OP_selp) { /* with a uniform predicate */
        LLVMValueRef c = operand_scalar(cg, &src[2], PTX_PRED, SEG_WARP, 0);
        before = LLVMBuildSelect(cg->alu.b, c, side[0], side[1], "");
    }
    for (int n = 0; n < nsrc && before == NULL; n++) {
        struct uniformity a = operand_uniformity(cg->k, &src[n]);
        if (a.stride != 0)
            before =
                lanes_before_wrap(cg, operand_scalar(cg, &src[n], PTX_U32, seg, s), a.stride, seg,
                                  ptx_type_is_signed((enum ptx_type)i->types[i->ntypes - 1]));
    }
    return before;
}

/* In a converged copy no value is broken: where that is not known, the divergent copies go on. */
static void stay_converged(struct codegen *cg, const struct ptx_instr *i, unsigned seg,
                           LLVMValueRef *before)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef all = NULL, unbroken = c32(cg, 1u << seg);
    bool known = false;
    for (int n = jit_ndst(i); n < i->noperands; n++)
        if (operand_uniformity(cg->k, &i->operands[n]).brk != 0)
            known = true; /* was tested when that was written */
    for (int p = 0; !known && p < nsegs(seg); p++) {
        LLVMValueRef ok = LLVMBuildICmp(b, LLVMIntEQ, before[p], unbroken, "");
        all = all != NULL ? LLVMBuildAnd(b, all, ok, "") : ok;
    }
    if (!known)
        flow_stay_converged(cg, i, all);
    for (int p = 0; p < nsegs(seg); p++)
        before[p] = unbroken;
}

static bool emit_alu(struct codegen *cg, const struct ptx_instr *i)
{
    struct alu_sig sig;
    if (!alu_signature(i, &sig))
        return diag_set(cg->k->diag, i->line, i->column, "%s is not supported", ptx_op_name(i->op));
    struct uniformity sh = uniformity_of(cg->k, i, 0);
    LLVMValueRef src[ALU_MAX_SRC], dst[MAX_SEGS][ALU_MAX_DST], before[MAX_SEGS];
    bool vec = sh.seg == SEG_NONE;
    if (vec && thread_table_fits(cg, i))
        return emit_thread_table(cg, i);
    if (vec && affine_division_fits(cg, i))
        return emit_affine_division(cg, i);
    int parts = vec ? 1 : nsegs(sh.seg);
    cg->alu.lanes = vec ? JIT_WARP : 1;
    cg->alu.mask = NULL;
    for (int p = 0; p < parts; p++) {
        if (sh.brk != 0)
            before[p] = result_break(cg, i, &i->operands[sig.ndst], sig.nsrc, sh.seg, p);
        for (int n = 0; n < sig.nsrc; n++) {
            const struct ptx_operand *o = &i->operands[sig.ndst + n];
            src[n] = vec ? operand_vector(cg, o, sig.src[n])
                         : operand_scalar(cg, o, sig.src[n], sh.seg, p);
        }
        if (!alu_emit(&cg->alu, i, src, dst[p]))
            return diag_set(cg->k->diag, i->line, i->column, "%s is not supported",
                            ptx_op_name(i->op));
    }
    if (sh.brk != 0) {
        LLVMValueRef v[MAX_SEGS];
        for (int p = 0; p < parts; p++)
            v[p] = dst[p][0];
        if (cg->in_converged_copy)
            stay_converged(cg, i, sh.seg, before);
        write_broken(cg, i->operands[0].reg, sh, v, before, sig.dst[0]);
        return true;
    }
    for (int d = 0; d < sig.ndst; d++)
        write_results(cg, &i->operands[d], d, sh, dst, sig.dst[d]);
    return true;
}

/* ---- the rest ---- */

static void add_attribute(struct codegen *cg, LLVMValueRef f, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(cg->alu.ctx, kind, 0));
}

void emit_fault(struct codegen *cg, unsigned kind, LLVMValueRef mask, LLVMValueRef address)
{
    LLVMTypeRef params[4] = {cg->ptr, cg->i32, cg->i32, cg->i64};
    LLVMTypeRef t = LLVMFunctionType(LLVMVoidTypeInContext(cg->alu.ctx), params, 4, false);
    LLVMValueRef f = LLVMGetNamedFunction(cg->alu.module, "weir_rt_fault");
    if (f == NULL) {
        f = LLVMAddFunction(cg->alu.module, "weir_rt_fault", t);
        add_attribute(cg, f, "cold");
    }
    LLVMValueRef args[4] = {cg->block.ptr, c32(cg, kind), mask,
                            address != NULL ? address : c64(cg, 0)};
    LLVMBuildCall2(cg->alu.b, t, f, args, 4, "");
}

static bool emit_fence(struct codegen *cg, const struct ptx_instr *i)
{
    bool strong = i->op == PTX_OP_membar ? !ptx_has(i, PTX_M_cta)
                                         : ptx_has(i, PTX_M_sc) && !ptx_has(i, PTX_M_cta);
    LLVMBuildFence(cg->alu.b,
                   strong ? LLVMAtomicOrderingSequentiallyConsistent
                          : LLVMAtomicOrderingAcquireRelease,
                   false, "");
    return true;
}

static bool is_proxy_fence(const struct ptx_instr *i)
{
    return i->op == PTX_OP_fence && !ptx_has(i, PTX_M_sc) && !ptx_has(i, PTX_M_acq_rel) &&
           !ptx_has(i, PTX_M_acquire) && !ptx_has(i, PTX_M_release) &&
           !ptx_has(i, PTX_M_mbarrier_init);
}

static bool emit_fence_of_threads(struct codegen *cg, const struct ptx_instr *i)
{
    if (!is_proxy_fence(i))
        check_order(cg, JIT_ORDER_FENCE, mask_bits(cg), c32(cg, check_scope(i)), NULL);
    return emit_fence(cg, i);
}

static bool emit_warp_barrier(struct codegen *cg, const struct ptx_instr *i)
{
    sync_warp(cg, &i->operands[0]);
    if ((cg->k->opt->checked & JIT_CHECKS_THREADS) != 0)
        check_order(
            cg, JIT_ORDER_WARP, mask_bits(cg), c32(cg, 0),
            LLVMBuildZExt(cg->alu.b, operand_vector(cg, &i->operands[0], PTX_U32), cg->v32i64, ""));
    return emit_fence(cg, i); /* lanes of a warp run in step */
}

/* A barrier of a block ends its basic block (cfg.c), unless it is an arrival only. */
static bool emit_barrier(struct codegen *cg, const struct ptx_instr *i)
{
    if (ptx_has(i, PTX_M_cluster))
        emit_cluster_barrier(cg, i);
    else if (cg->k->fibers && !ptx_has(i, PTX_M_warp))
        emit_lane_barrier(cg, i);
    else if (ptx_has(i, PTX_M_arrive))
        emit_arrive(cg, i);
    else
        emit_warp_barrier(cg, i);
    return true;
}

static bool emit_trap(struct codegen *cg, const struct ptx_instr *i)
{
    (void)i;
    emit_fault(cg, JIT_FAULT_TRAP, mask_bits(cg), NULL);
    return true;
}

/* A hint: leaving it out changes nothing. */
static bool emit_hint(struct codegen *cg, const struct ptx_instr *i)
{
    (void)cg, (void)i;
    return true;
}

/* What is made is only ever a hint. */
static bool emit_policy(struct codegen *cg, const struct ptx_instr *i)
{
    write_uniform(cg, i->operands[0].reg, c64(cg, 0), PTX_B64);
    return true;
}

static bool emit_copy(struct codegen *cg, const struct ptx_instr *i)
{
    return mem_space(i) == PTX_SPACE_LOCAL ? emit_struct_copy(cg, i) : emit_async_copy(cg, i);
}

static bool always(const struct ptx_instr *i, struct diag *d)
{
    (void)i, (void)d;
    return true;
}

/* st.bulk stores zeros and nothing else. */
static bool store_supported(const struct ptx_instr *i, struct diag *d)
{
    return !ptx_has(i, PTX_M_bulk) || i->operands[2].imm == 0 ||
           diag_set(d, i->line, i->column, "st.bulk stores the value 0 only");
}

/* How the instructions of each opcode are emitted, and which of them are supported. What is not
 * listed is arithmetic. Where `emit` is NULL the instruction ends a block (function.c), or lowering
 * replaces it (front/lower.c). */
static const struct {
    bool (*emit)(struct codegen *cg, const struct ptx_instr *i);
    bool (*supported)(const struct ptx_instr *i, struct diag *d);
} families[PTX_OP_COUNT] = {
    [PTX_OP_bra] = {NULL, always},
    [PTX_OP_brx] = {NULL, always},
    [PTX_OP_ret] = {NULL, always},
    [PTX_OP_exit] = {NULL, always},
    [PTX_OP_istypep] = {NULL, always},

    [PTX_OP_mov] = {emit_mov, always},
    [PTX_OP_cvta] = {emit_cvta, always},
    [PTX_OP_isspacep] = {emit_isspacep, always},
    [PTX_OP_mapa] = {emit_cluster_address, always},
    [PTX_OP_getctarank] = {emit_cluster_address, always},
    [PTX_OP_alloca] = {emit_alloca, always},
    [PTX_OP_stacksave] = {emit_stacksave, always},
    [PTX_OP_stackrestore] = {emit_stackrestore, always},

    [PTX_OP_ld] = {emit_load, always},
    [PTX_OP_ldu] = {emit_load, always},
    [PTX_OP_st] = {emit_store, store_supported},
    [PTX_OP_atom] = {emit_atomic, always},
    [PTX_OP_red] = {emit_atomic, always},
    [PTX_OP_cp] = {emit_copy, async_copy_supported},
    [PTX_OP_tensormap] = {emit_tensormap, tensormap_supported},
    [PTX_OP_membar] = {emit_fence_of_threads, always},
    [PTX_OP_fence] = {emit_fence_of_threads, always},

    [PTX_OP_prefetch] = {emit_hint, always},
    [PTX_OP_prefetchu] = {emit_hint, always},
    [PTX_OP_applypriority] = {emit_hint, always},
    [PTX_OP_discard] = {emit_hint, always},
    [PTX_OP_setmaxnreg] = {emit_hint, always},
    [PTX_OP_nanosleep] = {emit_hint, always},
    [PTX_OP_pmevent] = {emit_hint, always},
    [PTX_OP_griddepcontrol] = {emit_hint, always},
    [PTX_OP_createpolicy] = {emit_policy, always},

    [PTX_OP_shfl] = {emit_warp_op, always},
    [PTX_OP_vote] = {emit_warp_op, always},
    [PTX_OP_match] = {emit_warp_op, always},
    [PTX_OP_activemask] = {emit_warp_op, always},
    [PTX_OP_elect] = {emit_warp_op, always},
    [PTX_OP_redux] = {emit_warp_op, always},
    [PTX_OP_bar] = {emit_barrier, always},
    [PTX_OP_barrier] = {emit_barrier, always},
    [PTX_OP_mbarrier] = {emit_mbarrier, always},
    [PTX_OP_clusterlaunchcontrol] = {emit_try_cancel, always},

    [PTX_OP_trap] = {emit_trap, always},
    [PTX_OP_brkpt] = {emit_trap, always},
    [PTX_OP_call] = {emit_call, always},

    [PTX_OP_tex] = {emit_texture, texture_supported},
    [PTX_OP_tld4] = {emit_texture, texture_supported},
    [PTX_OP_txq] = {emit_texture, texture_supported},
    [PTX_OP_suld] = {emit_texture, texture_supported},
    [PTX_OP_sust] = {emit_texture, texture_supported},
    [PTX_OP_sured] = {emit_texture, texture_supported},
    [PTX_OP_suq] = {emit_texture, texture_supported},

    [PTX_OP_mma] = {emit_mma, mma_supported},
    [PTX_OP_wmma] = {emit_mma, mma_supported},
    [PTX_OP_wgmma] = {emit_wgmma, wgmma_supported},
    [PTX_OP_ldmatrix] = {emit_matrix_move, matrix_of_bytes_supported},
    [PTX_OP_stmatrix] = {emit_matrix_move, matrix_of_bytes_supported},
    [PTX_OP_movmatrix] = {emit_matrix_move, always},
};

bool emit_instr(struct codegen *cg, const struct ptx_instr *i)
{
    debug_at(cg, i);
    return families[i->op].emit != NULL ? families[i->op].emit(cg, i) : emit_alu(cg, i);
}

bool emit_supported(const struct ptx_instr *i, struct diag *d)
{
    return families[i->op].supported != NULL ? families[i->op].supported(i, d)
                                             : alu_supported(i, d);
}
