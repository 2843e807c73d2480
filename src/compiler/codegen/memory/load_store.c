/* load_store.c: loads and stores, each as what is cheapest for the uniformity of its address: one
 * scalar access, one vector access a segment, or gathers and scatters. */
#include <string.h>

#include "compiler/codegen/control/control.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/memory/deferred.h"
#include "compiler/codegen/memory/defined.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/scalar_functions.h"
#include "compiler/codegen/values.h"

static struct access describe_access(struct codegen *cg, const struct ptx_instr *i,
                                     const struct ptx_operand *at)
{
    struct access a = {.i = i, .at = at, .space = mem_space(i), .type = i->types[i->ntypes - 1]};
    a.vec = i->vec ? i->vec : 1;
    a.bytes = ptx_type_bits((enum ptx_type)a.type) / 8;
    a.is_volatile = ptx_has(i, PTX_M_volatile) || ptx_has(i, PTX_M_relaxed) ||
                    ptx_has(i, PTX_M_acquire) || ptx_has(i, PTX_M_release) ||
                    ptx_has(i, PTX_M_mmio);
    a.uniformity = address_uniformity(cg->k, at);
    a.elem = scalar_type(cg, a.type);
    if (a.space == PTX_SPACE_LOCAL) {
        /* offsets may be affine, addresses are not: every lane has a window of its own */
        a.windowed = is_uniform(&a.uniformity);
        if (cg->serialized->active)
            return a;
        a.uniformity =
            (struct uniformity){.known = 1, .align = a.windowed ? a.uniformity.align : 0};
    }
    return a;
}

/* Other threads may access the same memory: then the elements of a lane's vector are accessed at
 * once, as GPUs do. PTX does not promise that, but programs rely on it: a value and its state are
 * written as a pair, and one that is read is not half of another. */
static bool is_atomic_vector(const struct access *a)
{
    return a->vec > 1 && a->is_volatile && mem_natural(a) <= 16;
}

/* The type of such a vector, which the machine loads and stores by one instruction. */
static LLVMTypeRef atomic_vector_type(struct codegen *cg, const struct access *a)
{
    unsigned bits = mem_natural(a) * 8;
    return bits == 128 ? LLVMVectorType(cg->i64, 2) : LLVMIntTypeInContext(cg->alu.ctx, bits);
}

LLVMValueRef speculative_select(struct codegen *cg, LLVMValueRef yes, LLVMValueRef no)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef type = LLVMTypeOf(yes);
    bool f32 = type == cg->f32, f64 = type == cg->f64;
    if (f32 || f64) { /* x86 has conditional moves of integers only */
        yes = LLVMBuildBitCast(b, yes, f32 ? cg->i32 : cg->i64, "");
        no = LLVMBuildBitCast(b, no, f32 ? cg->i32 : cg->i64, "");
    }
    LLVMValueRef v = LLVMBuildSelect(b, cg->serialized->executes, yes, no, "");
    if (LLVMIsASelectInst(v) != NULL) /* not to become the branch again that it replaces */
        LLVMSetMetadata(v, cg->md.unpredictable, cg->md.empty);
    if (f32 || f64)
        v = opaque(cg, v);
    return LLVMBuildBitCast(b, v, type, "");
}

/* Speculated code whose effects are not wanted accesses `instead`. */
static LLVMValueRef speculative_pointer(struct codegen *cg, const struct access *a, LLVMValueRef p,
                                        LLVMValueRef instead)
{
    if (cg->serialized->executes == NULL || (a->space == PTX_SPACE_PARAM && a->at->reg < 0))
        return p;
    return speculative_select(cg, p, instead);
}

/* ---- shuffles for vector elements ---- */

/* Every vec-th element from `first` of a vector of lanes * vec. */
static LLVMValueRef deinterleave(struct codegen *cg, LLVMValueRef v, int lanes, int vec, int first)
{
    LLVMValueRef idx[JIT_WARP];
    for (int l = 0; l < lanes; l++)
        idx[l] = c32(cg, (uint64_t)(l * vec + first));
    return LLVMBuildShuffleVector(cg->alu.b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(idx, (unsigned)lanes), "");
}

/* Lanes first .. first + count - 1 of a vector, each repeated `times`. */
static LLVMValueRef repeat_lanes(struct codegen *cg, LLVMValueRef v, int first, int count,
                                 int times)
{
    LLVMValueRef idx[JIT_WARP * 8];
    for (int l = 0; l < count * times; l++)
        idx[l] = c32(cg, (uint64_t)(first + l / times));
    return LLVMBuildShuffleVector(cg->alu.b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(idx, (unsigned)(count * times)), "");
}

/* out[l * vec + k] = v[k][l]; vec is 1, 2, 4 or 8. */
static LLVMValueRef interleave(struct codegen *cg, LLVMValueRef *v, int lanes, int vec)
{
    if (vec == 1)
        return v[0];
    LLVMValueRef all = join_vectors(cg, v, (unsigned)vec), idx[JIT_WARP * 8];
    for (int l = 0; l < lanes; l++)
        for (int k = 0; k < vec; k++)
            idx[l * vec + k] = c32(cg, (uint64_t)(k * lanes + l));
    return LLVMBuildShuffleVector(cg->alu.b, all, LLVMGetPoison(LLVMTypeOf(all)),
                                  LLVMConstVector(idx, (unsigned)(lanes * vec)), "");
}

/* ---- contiguous, gathered ---- */

/* May inactive lanes of an access to shared memory be accessed, too? */
static bool blends(const struct codegen *cg, const struct access *a)
{
    return a->space == PTX_SPACE_SHARED && !cg->alu.has_avx512 && !a->is_volatile;
}

/* A pointer to `lanes` lanes of shared memory, of which one is active or the address is known:
 * there is memory on both sides then. Else it may be any, and another one is taken. */
static LLVMValueRef known_or_own(struct codegen *cg, const struct access *a, LLVMValueRef p,
                                 int first, int lanes)
{
    LLVMBuilderRef b = cg->alu.b;
    uint64_t all = lanes == JIT_WARP ? UINT32_MAX : ((1ull << lanes) - 1) << first;
    if (a->inside)
        return p;
    LLVMValueRef own = LLVMBuildAnd(b, mask_bits(cg), c32(cg, all), "");
    LLVMValueRef any = LLVMBuildICmp(b, LLVMIntNE, own, c32(cg, 0), "");
    return LLVMBuildSelect(b, any, p, cg->block.shared, "");
}

/* Of shared memory inactive lanes' elements are loaded, too; they are anything. */
static LLVMValueRef load_with_others(struct codegen *cg, const struct access *a, LLVMValueRef p,
                                     int first, int lanes)
{
    LLVMTypeRef t = LLVMVectorType(a->elem, (unsigned)(lanes * a->vec));
    p = known_or_own(cg, a, p, first, lanes);
    LLVMValueRef v = LLVMBuildLoad2(cg->alu.b, t, p, "");
    LLVMSetAlignment(v, a->bytes);
    tag_access(cg, a, v);
    return v;
}

static LLVMValueRef load_wide(struct codegen *cg, const struct access *a, LLVMValueRef p, int first,
                              int lanes)
{
    LLVMTypeRef t = LLVMVectorType(a->elem, (unsigned)(lanes * a->vec));
    LLVMValueRef v, m = mask_vector(cg);
    unsigned align = a->bytes * (unsigned)a->vec;
    if (m == NULL) {
        v = LLVMBuildLoad2(cg->alu.b, t, p, "");
        LLVMSetAlignment(v, align);
        LLVMSetVolatile(v, a->is_volatile);
    } else if (!masked_native(cg, a->bytes) && blends(cg, a)) {
        return load_with_others(cg, a, p, first, lanes);
    } else if (!masked_native(cg, a->bytes)) {
        return masked_load(cg, a, p, first, lanes);
    } else {
        LLVMValueRef args[4] = {p, c32(cg, align), repeat_lanes(cg, m, first, lanes, a->vec),
                                LLVMConstNull(t)};
        v = intrinsic(cg, "llvm.masked.load", (LLVMTypeRef[]){t, cg->ptr}, 2, args, 4);
    }
    tag_access(cg, a, v);
    return v;
}

static LLVMValueRef reversed(struct codegen *cg, LLVMValueRef v)
{
    unsigned idx[JIT_WARP];
    for (unsigned l = 0; l < JIT_WARP; l++)
        idx[l] = JIT_WARP - 1 - l;
    return shuffle(cg, v, NULL, idx, JIT_WARP);
}

/* All lanes' elements where the last lane's come first; p points to the first lane's. */
static LLVMValueRef load_backwards(struct codegen *cg, const struct access *a, LLVMValueRef p)
{
    LLVMValueRef mask = cg->mask, mask_vec = cg->mask_vec;
    p = byte_offset(cg, p, c64(cg, -(uint64_t)a->bytes * (JIT_WARP - 1)));
    if (mask != NULL && blends(cg, a))
        return reversed(cg, load_with_others(cg, a, p, 0, JIT_WARP));
    if (mask != NULL)
        cg->mask = intrinsic(cg, "llvm.bitreverse", &cg->i32, 1, &mask, 1);
    cg->mask_vec = NULL;
    LLVMValueRef v = load_wide(cg, a, p, 0, JIT_WARP);
    cg->mask = mask;
    cg->mask_vec = mask_vec;
    return reversed(cg, v);
}

/* The mask of segment s's elements. Part of a warp's comes from the bits anew: without registers
 * for masks that is shorter than to take it out of the whole one. */
static LLVMValueRef segment_mask(struct codegen *cg, unsigned seg, int s, int vec)
{
    unsigned lanes = 1u << seg;
    if (seg == SEG_WARP)
        return repeat_lanes(cg, mask_vector(cg), 0, JIT_WARP, vec);
    return repeat_lanes(cg, some_lanes_of(cg, cg->mask, (unsigned)s * lanes, lanes), 0, (int)lanes,
                        vec);
}

/* The elements of each segment of 2^seg lanes, to which p[s] points. */
static void load_segments(struct codegen *cg, const struct access *a, unsigned seg,
                          const LLVMValueRef *p, LLVMValueRef *out)
{
    if (!a->backwards && masked_load_pays_whole(cg, a)) {
        LLVMValueRef masks[MAX_SEGS];
        for (int s = 0; s < nsegs(seg); s++)
            masks[s] = segment_mask(cg, seg, s, a->vec);
        masked_load_whole(cg, a, seg, p, masks, out);
        return;
    }
    for (int s = 0; s < nsegs(seg); s++)
        out[s] =
            a->backwards ? load_backwards(cg, a, p[s]) : load_wide(cg, a, p[s], s << seg, 1 << seg);
}

/* All lanes' elements when segments of 2^seg lanes are contiguous; p[s] points to each. */
static void load_contiguous(struct codegen *cg, const struct access *a, unsigned seg,
                            const LLVMValueRef *p, LLVMValueRef *out)
{
    LLVMValueRef parts[8][MAX_SEGS], v[MAX_SEGS];
    int lanes = 1 << seg;
    interleave_prefetch(cg, a->at, a->space, p, nsegs(seg), (uint64_t)mem_natural(a) << seg);
    for (int s = 0; s < nsegs(seg); s++)
        mem_check_pointer(cg, a, p[s], seg, s);
    load_segments(cg, a, seg, p, v);
    for (int s = 0; s < nsegs(seg); s++)
        for (int k = 0; k < a->vec; k++)
            parts[k][s] = a->vec == 1 ? v[s] : deinterleave(cg, v[s], lanes, a->vec, k);
    for (int k = 0; k < a->vec; k++)
        out[k] = join_vectors(cg, parts[k], (unsigned)nsegs(seg));
}

/* Are segments known to be contiguous? p[s] points to each. */
static bool contiguous(struct codegen *cg, struct access *a, LLVMValueRef *p)
{
    if (a->uniformity.seg == SEG_NONE ||
        (a->uniformity.stride != (int64_t)a->bytes * a->vec && !a->backwards) ||
        (a->uniformity.brk != 0 && !cg->in_converged_copy))
        return false;
    shared_inside_find(cg, a);
    for (int s = 0; s < nsegs(a->uniformity.seg); s++)
        p[s] = a->inside && cg->mask != NULL ? shared_inside_pointer(cg, a, s)
                                             : mem_pointer(cg, a, a->uniformity.seg, s);
    return true;
}

/* Lanes that are no neighbours: as two runs if they are that, else each by itself. */
static void load_scattered(struct codegen *cg, const struct access *a, struct lane_addresses *at,
                           LLVMValueRef *out)
{
    LLVMBuilderRef b = cg->alu.b;
    struct two_runs r;
    if (!two_runs_begin(cg, a, at, &r)) {
        gather_lanes(cg, a, at, out);
        return;
    }
    LLVMValueRef v[2], both[2];
    LLVMBasicBlockRef from[2];
    for (int n = 0; n < 2; n++) {
        two_runs_activate(cg, &r, n);
        v[n] = load_wide(cg, a, r.first[n], 0, JIT_WARP);
    }
    both[0] = LLVMBuildSelect(b, mask_vector(cg), v[1], v[0], "");
    from[0] = two_runs_else(cg, &r);
    gather_lanes(cg, a, at, &both[1]);
    from[1] = two_runs_end(cg, &r);
    out[0] = LLVMBuildPhi(b, LLVMTypeOf(both[0]), "");
    LLVMAddIncoming(out[0], both, from, 2);
}

static void load_divergent(struct codegen *cg, const struct access *a, LLVMValueRef *out)
{
    LLVMBuilderRef b = cg->alu.b;
    struct likely l = {0};
    bool many = vector_gather_probes(cg, a);
    if (many && !scattered_by_data(cg, a)) {
        vector_gather_probing(cg, a, out);
        return;
    }
    if (many || !probe_adjacent(cg, a, &l)) {
        gather_lanes(cg, a, &l.at, out);
        return;
    }
    LLVMValueRef fast[8], slow[8];
    LLVMBasicBlockRef yes = new_bb(cg, "adjacent"), no = new_bb(cg, "divergent"),
                      join = new_bb(cg, "loaded");
    branch_likely(cg, l.near, yes, no);
    LLVMPositionBuilderAtEnd(b, yes);
    load_contiguous(cg, a, l.seg, l.first, fast);
    yes = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, no);
    load_scattered(cg, a, &l.at, slow);
    no = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, join);
    for (int k = 0; k < a->vec; k++) {
        out[k] = LLVMBuildPhi(b, LLVMTypeOf(fast[k]), "");
        LLVMAddIncoming(out[k], (LLVMValueRef[]){fast[k], slow[k]}, (LLVMBasicBlockRef[]){yes, no},
                        2);
    }
}

static const struct ptx_operand *vector_element(const struct ptx_operand *o, int k)
{
    return o->kind == PTX_OPR_VEC ? &o->items[k] : o;
}

/* LLVM has no volatile vector accesses: a fence that costs no instruction keeps them in place. */
static void keep_in_place(struct codegen *cg, const struct access *a)
{
    if (a->is_volatile)
        LLVMBuildFence(cg->alu.b, LLVMAtomicOrderingSequentiallyConsistent, true, "");
}

/* Elements that lie in words of 4 or 8 bytes, which follow each other: a member of a small
 * structure, a channel of a pixel, the real parts of complex numbers. The words are loaded as a
 * vector, which reads what is on the same page, and the elements are cut out of them. */
static bool load_from_words(struct codegen *cg, const struct access *a, LLVMValueRef *out)
{
    LLVMBuilderRef b = cg->alu.b;
    const struct uniformity *u = &a->uniformity;
    unsigned bytes = a->bytes * (unsigned)a->vec, seg = u->seg;
    if (seg == SEG_NONE || (u->stride != 4 && u->stride != 8) || bytes >= u->stride ||
        u->brk != 0 || a->is_volatile || a->windowed || mem_alignment(a) < bytes ||
        (a->space != PTX_SPACE_GLOBAL && a->space != PTX_SPACE_GENERIC &&
         a->space != PTX_SPACE_SHARED && a->space != PTX_SPACE_CONST))
        return false;
    struct access words = *a;
    words.bytes = (unsigned)u->stride;
    words.vec = 1;
    words.type = words.bytes == 4 ? PTX_U32 : PTX_U64;
    words.elem = words.bytes == 4 ? cg->i32 : cg->i64;
    unsigned lanes = 1u << seg;
    LLVMTypeRef small = LLVMVectorType(LLVMIntTypeInContext(cg->alu.ctx, a->bytes * 8), lanes);
    LLVMValueRef parts[8][MAX_SEGS];
    for (int s = 0; s < nsegs(seg); s++) {
        LLVMValueRef p = mem_pointer(cg, a, seg, s);
        mem_check_pointer(cg, a, p, seg, s);
        LLVMValueRef within =
            LLVMBuildAnd(b, LLVMBuildPtrToInt(b, p, cg->i64, ""), c64(cg, words.bytes - 1), "");
        LLVMValueRef start = byte_offset(cg, p, LLVMBuildNeg(b, within, ""));
        LLVMValueRef v = load_wide(cg, &words, start, s << seg, (int)lanes);
        LLVMValueRef by = LLVMBuildShl(b, within, c64(cg, 3), "");
        by = words.bytes == 4 ? LLVMBuildTrunc(b, by, cg->i32, "") : by;
        v = LLVMBuildLShr(b, v, splat(cg, by, lanes), "");
        for (int k = 0; k < a->vec; k++) {
            LLVMValueRef further =
                splat(cg, LLVMConstInt(words.elem, (uint64_t)k * a->bytes * 8, false), lanes);
            LLVMValueRef x = LLVMBuildTrunc(b, LLVMBuildLShr(b, v, further, ""), small, "");
            parts[k][s] = LLVMBuildBitCast(b, x, LLVMVectorType(a->elem, lanes), "");
        }
    }
    for (int k = 0; k < a->vec; k++)
        out[k] = join_vectors(cg, parts[k], (unsigned)nsegs(seg));
    return true;
}

/* Lanes' elements as vectors, from an address that differs between lanes. */
static void load_vectors(struct codegen *cg, struct access *a, LLVMValueRef *out)
{
    LLVMValueRef p[MAX_SEGS];
    a->backwards = a->uniformity.seg == SEG_WARP && a->vec == 1 && !a->windowed &&
                   a->uniformity.stride == -(int64_t)a->bytes;
    if (contiguous(cg, a, p)) {
        load_contiguous(cg, a, a->uniformity.seg, p, out);
    } else if (!permutation_load(cg, a, out) && !load_from_words(cg, a, out)) {
        struct small_table table;
        bool small = small_table_begin(cg, a, &table);
        load_divergent(cg, a, out);
        if (small)
            out[0] = small_table_end(cg, &table, out[0]);
    }
}

void load_lanes(struct codegen *cg, const struct ptx_instr *i, const struct ptx_operand *at,
                LLVMValueRef *out)
{
    struct access a = describe_access(cg, i, at);
    check_access(cg, i, a.at, a.space, mem_natural(&a), false, NULL);
    deferred_before(cg, i, a.at, mem_natural(&a));
    defined_load(cg, NULL, a.at, a.space, a.bytes, a.vec, NULL);
    load_vectors(cg, &a, out);
}

bool mem_permutes(struct codegen *cg, const struct ptx_instr *i)
{
    struct access a = describe_access(cg, i, &i->operands[i->op == PTX_OP_st ? 0 : 1]);
    return permutation_fits(cg, &a);
}

LLVMValueRef likely_adjacent(struct codegen *cg, const struct ptx_instr *load)
{
    LLVMBuilderRef b = cg->alu.b;
    struct access a = describe_access(cg, load, &load->operands[1]);
    LLVMValueRef at = address_vector(cg, a.at, PTX_SPACE_GENERIC), first, far, d[2];
    static const int lanes[2] = {1, JIT_WARP - 1};
    first = LLVMBuildExtractElement(b, at, c32(cg, 0), "");
    for (int n = 0; n < 2; n++) {
        far = LLVMBuildExtractElement(b, at, c32(cg, (uint64_t)lanes[n]), "");
        far = LLVMBuildSub(b, far, first, "");
        d[n] = LLVMBuildICmp(b, LLVMIntEQ, far, c64(cg, (uint64_t)lanes[n] * mem_natural(&a)), "");
    }
    return LLVMBuildAnd(b, d[0], d[1], "");
}

static LLVMValueRef load_atomic_vector(struct codegen *cg, const struct access *a, LLVMValueRef p)
{
    LLVMValueRef v = LLVMBuildLoad2(cg->alu.b, atomic_vector_type(cg, a), p, "");
    LLVMSetAlignment(v, mem_alignment(a) < mem_natural(a) ? 1 : mem_natural(a));
    LLVMSetVolatile(v, true);
    tag_access(cg, a, v);
    return LLVMBuildBitCast(cg->alu.b, v, LLVMVectorType(a->elem, (unsigned)a->vec), "");
}

/* Where the one element is that the lanes of segment s load, or zeros if none of them does. */
static LLVMValueRef row_pointer(struct codegen *cg, const struct access *a, int s)
{
    if (a->inside && cg->mask != NULL)
        return shared_inside_pointer(cg, a, s);
    LLVMValueRef p = mem_pointer(cg, a, a->uniformity.seg, s);
    mem_check_pointer(cg, a, p, a->uniformity.seg, s);
    p = speculative_pointer(cg, a, p, cg->safe_opaque);
    if (a->uniformity.seg == SEG_WARP || cg->mask == NULL)
        return p;
    LLVMValueRef active = mem_segment_active(cg, a->uniformity.seg, s);
    return LLVMBuildSelect(cg->alu.b, active, p, cg->safe, "");
}

bool emit_load(struct codegen *cg, const struct ptx_instr *i)
{
    struct access a = describe_access(cg, i, &i->operands[1]);
    check_access(cg, i, a.at, a.space, mem_natural(&a), false, NULL);
    deferred_before(cg, i, a.at, mem_natural(&a));
    defined_load(cg, i, a.at, a.space, a.bytes, a.vec, &i->operands[0]);
    LLVMValueRef strong = check_strong_address(cg, i, a.at, a.space);
    keep_in_place(cg, &a);
    const struct ptx_operand *d = &i->operands[0];
    LLVMValueRef out[8];
    if (a.uniformity.seg != SEG_NONE && a.uniformity.stride == 0) {
        LLVMValueRef v[8][MAX_SEGS];
        shared_inside_find(cg, &a);
        for (int s = 0; s < nsegs(a.uniformity.seg); s++) {
            LLVMValueRef p = row_pointer(cg, &a, s);
            LLVMValueRef all = is_atomic_vector(&a) ? load_atomic_vector(cg, &a, p) : NULL;
            for (int k = 0; all != NULL && k < a.vec; k++)
                v[k][s] = LLVMBuildExtractElement(cg->alu.b, all, c32(cg, (uint64_t)k), "");
            for (int k = 0; all == NULL && k < a.vec; k++) {
                LLVMValueRef x = LLVMBuildLoad2(
                    cg->alu.b, a.elem, byte_offset(cg, p, c64(cg, (uint64_t)k * a.bytes)), "");
                LLVMSetAlignment(x, a.bytes);
                LLVMSetVolatile(x, a.is_volatile);
                if (a.space == PTX_SPACE_PARAM && a.at->reg < 0)
                    LLVMSetMetadata(x, cg->md.invariant, cg->md.empty);
                else
                    tag_access(cg, &a, x);
                v[k][s] = x;
            }
        }
        struct uniformity sh = {.seg = a.uniformity.seg, .known = 1};
        for (int k = 0; k < a.vec; k++)
            if (vector_element(d, k)->kind == PTX_OPR_REG)
                write_segments(cg, vector_element(d, k)->reg, sh, v[k], a.type);
    } else {
        load_vectors(cg, &a, out);
        for (int k = 0; k < a.vec; k++)
            if (vector_element(d, k)->kind == PTX_OPR_REG)
                write_vector(cg, vector_element(d, k)->reg, out[k], a.type);
    }
    if (ptx_has(i, PTX_M_acquire))
        LLVMBuildFence(cg->alu.b, LLVMAtomicOrderingAcquire, false, "");
    check_acquired(cg, i, strong, a.space, 0);
    return true;
}

/* ---- stores ---- */

static void store_masked(struct codegen *cg, const struct access *a, LLVMValueRef x, LLVMValueRef p,
                         int first, int lanes)
{
    if (!masked_native(cg, a->bytes)) {
        masked_store(cg, a, x, p, first, lanes);
        return;
    }
    LLVMValueRef mask = repeat_lanes(cg, mask_vector(cg), first, lanes, a->vec);
    LLVMValueRef args[4] = {x, p, c32(cg, a->bytes * (unsigned)a->vec), mask};
    LLVMValueRef st =
        intrinsic(cg, "llvm.masked.store", (LLVMTypeRef[]){LLVMTypeOf(x), cg->ptr}, 2, args, 4);
    tag_access(cg, a, st);
}

/* Masked stores are slow on some CPUs, and of small elements on all without AVX-512. One thread of
 * the machine runs all of the block, so inactive lanes' shared memory may be written back
 * unchanged, and what lies beside it (src/exec/worker.c), where a row begins before or ends past
 * it. */
static void store_blended(struct codegen *cg, const struct access *a, LLVMValueRef x,
                          LLVMValueRef p, int first, int lanes)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef mask = masked_native(cg, a->bytes)
                            ? repeat_lanes(cg, mask_vector(cg), first, lanes, a->vec)
                            : masked_elements(cg, a, first, lanes);
    p = known_or_own(cg, a, p, first, lanes);
    LLVMValueRef old = LLVMBuildLoad2(b, LLVMTypeOf(x), p, "");
    LLVMSetAlignment(old, a->bytes);
    tag_access(cg, a, old);
    LLVMValueRef st = LLVMBuildStore(b, LLVMBuildSelect(b, mask, x, old, ""), p);
    LLVMSetAlignment(st, a->bytes);
    tag_access(cg, a, st);
}

static void store_contiguous(struct codegen *cg, const struct access *a, unsigned seg,
                             const LLVMValueRef *p, LLVMValueRef *v)
{
    int lanes = 1 << seg;
    unsigned align = a->bytes * (unsigned)a->vec;
    LLVMValueRef m = mask_vector(cg);
    for (int s = 0; s < nsegs(seg); s++) {
        mem_check_pointer(cg, a, p[s], seg, s);
        LLVMValueRef part[8];
        for (int k = 0; k < a->vec; k++)
            part[k] = seg == SEG_WARP ? v[k] : repeat_lanes(cg, v[k], s << seg, lanes, 1);
        LLVMValueRef x = interleave(cg, part, lanes, a->vec);
        if (m == NULL) {
            LLVMValueRef st = LLVMBuildStore(cg->alu.b, x, p[s]);
            LLVMSetAlignment(st, align);
            LLVMSetVolatile(st, a->is_volatile);
            tag_access(cg, a, st);
        } else if (blends(cg, a)) {
            store_blended(cg, a, x, p[s], s << seg, lanes);
        } else {
            store_masked(cg, a, x, p[s], s << seg, lanes);
        }
    }
}

/* As load_scattered. */
static void store_scattered(struct codegen *cg, const struct access *a, struct lane_addresses *at,
                            LLVMValueRef *v)
{
    struct two_runs r;
    if (!two_runs_begin(cg, a, at, &r)) {
        scatter_lanes(cg, a, at, v);
        return;
    }
    for (int n = 0; n < 2; n++) {
        two_runs_activate(cg, &r, n);
        if (blends(cg, a))
            store_blended(cg, a, v[0], r.first[n], 0, JIT_WARP);
        else
            store_masked(cg, a, v[0], r.first[n], 0, JIT_WARP);
    }
    two_runs_else(cg, &r);
    scatter_lanes(cg, a, at, v);
    two_runs_end(cg, &r);
}

static void store_divergent(struct codegen *cg, const struct access *a, LLVMValueRef *v)
{
    LLVMBuilderRef b = cg->alu.b;
    struct likely l;
    if (vector_gather_probes(cg, a)) {
        vector_scatter_probing(cg, a, v);
        return;
    }
    if (!probe_adjacent(cg, a, &l)) {
        scatter_lanes(cg, a, &l.at, v);
        return;
    }
    LLVMBasicBlockRef yes = new_bb(cg, "adjacent"), no = new_bb(cg, "divergent"),
                      join = new_bb(cg, "stored");
    branch_likely(cg, l.near, yes, no);
    LLVMPositionBuilderAtEnd(b, yes);
    LLVMValueRef copy[8];
    memcpy(copy, v, sizeof(LLVMValueRef) * (size_t)a->vec);
    store_contiguous(cg, a, l.seg, l.first, copy);
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, no);
    store_scattered(cg, a, &l.at, v);
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, join);
}

/* One element of what a store to one address writes. */
static LLVMValueRef stored_element(struct codegen *cg, const struct access *a,
                                   const struct ptx_operand *o)
{
    LLVMBuilderRef b = cg->alu.b;
    struct uniformity sh = operand_uniformity(cg->k, o);
    if (is_uniform(&sh))
        return operand_scalar(cg, o, a->type, SEG_WARP, 0);
    LLVMValueRef lane = c32(cg, 31);
    if (cg->mask != NULL) {
        LLVMValueRef args[2] = {cg->mask, LLVMConstInt(cg->i1, 1, false)};
        LLVMValueRef lz = intrinsic(cg, "llvm.ctlz", &cg->i32, 1, args, 2);
        lane = LLVMBuildSub(b, c32(cg, 31), lz, "");
    }
    return LLVMBuildExtractElement(b, operand_vector(cg, o, a->type), lane, "");
}

/* Lanes that store to one address: the highest active one wins (PTX leaves open which). */
static void store_uniform(struct codegen *cg, const struct access *a,
                          const struct ptx_operand *data)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef p = mem_pointer(cg, a, SEG_WARP, 0);
    mem_check_pointer(cg, a, p, SEG_WARP, 0);
    p = speculative_pointer(cg, a, p, cg->sink);
    if (is_atomic_vector(a)) {
        LLVMValueRef all = LLVMGetPoison(LLVMVectorType(a->elem, (unsigned)a->vec));
        for (int k = 0; k < a->vec; k++)
            all = LLVMBuildInsertElement(b, all, stored_element(cg, a, vector_element(data, k)),
                                         c32(cg, (uint64_t)k), "");
        LLVMValueRef st =
            LLVMBuildStore(b, LLVMBuildBitCast(b, all, atomic_vector_type(cg, a), ""), p);
        LLVMSetAlignment(st, mem_alignment(a) < mem_natural(a) ? 1 : mem_natural(a));
        LLVMSetVolatile(st, true);
        tag_access(cg, a, st);
        return;
    }
    for (int k = 0; k < a->vec; k++) {
        LLVMValueRef v = stored_element(cg, a, vector_element(data, k));
        LLVMValueRef st = LLVMBuildStore(b, v, byte_offset(cg, p, c64(cg, (uint64_t)k * a->bytes)));
        LLVMSetAlignment(st, a->bytes);
        LLVMSetVolatile(st, a->is_volatile);
        tag_access(cg, a, st);
    }
}

static void store_vectors(struct codegen *cg, struct access *a, LLVMValueRef *v)
{
    LLVMValueRef p[MAX_SEGS];
    if (contiguous(cg, a, p))
        store_contiguous(cg, a, a->uniformity.seg, p, v);
    else if (!permutation_store(cg, a, v[0]))
        store_divergent(cg, a, v);
}

void store_lanes(struct codegen *cg, const struct ptx_instr *i, const struct ptx_operand *at,
                 LLVMValueRef *v)
{
    struct access a = describe_access(cg, i, at);
    check_access(cg, i, a.at, a.space, mem_natural(&a), true, a.vec == 1 ? v[0] : NULL);
    deferred_before(cg, i, a.at, mem_natural(&a));
    defined_store(cg, a.at, a.space, a.bytes, a.vec, NULL);
    store_vectors(cg, &a, v);
}

bool emit_store(struct codegen *cg, const struct ptx_instr *i)
{
    struct access a = describe_access(cg, i, &i->operands[0]);
    const struct ptx_operand *data = &i->operands[1];
    bool known = a.vec == 1 && (cg->k->opt->checked & JIT_CHECKS_THREADS) != 0;
    check_access(cg, i, a.at, a.space, mem_natural(&a), true,
                 known ? operand_vector(cg, vector_element(data, 0), a.type) : NULL);
    deferred_before(cg, i, a.at, mem_natural(&a));
    defined_store(cg, a.at, a.space, a.bytes, a.vec, data);
    if (ptx_has(i, PTX_M_release))
        LLVMBuildFence(cg->alu.b, LLVMAtomicOrderingRelease, false, "");
    keep_in_place(cg, &a);
    if (is_uniform(&a.uniformity)) {
        store_uniform(cg, &a, data);
        return true;
    }
    LLVMValueRef v[8];
    for (int k = 0; k < a.vec; k++)
        v[k] = operand_vector(cg, vector_element(data, k), a.type);
    store_vectors(cg, &a, v);
    return true;
}
