/* emit_mem: loads, stores and atomics, each in the cheapest form that the address's shape allows:
 * one scalar access, one vector access a segment, or gathers and scatters. */
#include <stddef.h>
#include <string.h>

#include "compiler/codegen/memory/memory.h"

unsigned mem_space(const struct ptx_instr *i)
{
    return i->nspaces > 0 && i->spaces[0] != PTX_SPACE_NONE ? i->spaces[0] : PTX_SPACE_GENERIC;
}

static struct access load_store_access(struct emit *e, const struct ptx_instr *i,
                                       const struct ptx_operand *at)
{
    struct access a = {.i = i, .at = at, .space = mem_space(i), .type = i->types[i->ntypes - 1]};
    a.vec = i->vec ? i->vec : 1;
    a.bytes = ptx_type_bits((enum ptx_type)a.type) / 8;
    a.is_volatile = ptx_has(i, PTX_M_volatile) || ptx_has(i, PTX_M_relaxed) ||
                    ptx_has(i, PTX_M_acquire) || ptx_has(i, PTX_M_release) ||
                    ptx_has(i, PTX_M_mmio);
    a.shape = shape_address(e->k, at);
    a.elem = scalar_type(e, a.type);
    if (a.space == PTX_SPACE_LOCAL) {
        /* offsets are shaped, addresses are not: every lane has a window of its own */
        a.windowed = shape_uniform(&a.shape);
        a.shape = (struct shape){.known = 1, .align = a.windowed ? a.shape.align : 0};
    }
    return a;
}

/* Other threads may look: then the elements of a lane's vector are to be moved in one go, as GPUs
 * do. PTX does not promise that, but programs rely on it: a value and its state are written as a
 * pair, and one that is read is not half of another. */
static bool load_store_together(const struct access *a)
{
    return a->vec > 1 && a->is_volatile && mem_natural(a) <= 16;
}

/* What such a vector is moved as: a type that the machine loads and stores by one instruction. */
static LLVMTypeRef whole_type(struct emit *e, const struct access *a)
{
    unsigned bits = mem_natural(a) * 8;
    return bits == 128 ? LLVMVectorType(e->i64, 2) : LLVMIntTypeInContext(e->alu.ctx, bits);
}

/* Is the alignment known without looking? */
static bool known_aligned(const struct access *a)
{
    return mem_due(a) == 1 || (a->space == PTX_SPACE_PARAM && a->at->reg < 0) ||
           (a->shape.seg != SEG_NONE && (1ull << (a->shape.align & 63)) >= mem_due(a));
}

/* Faults when `bad` (i1) holds; code goes on behind. */
static void fault_if(struct emit *e, LLVMValueRef bad, LLVMValueRef mask, LLVMValueRef address)
{
    LLVMBasicBlockRef yes = new_bb(e, "misaligned"), no = new_bb(e, "aligned");
    LLVMBuildCondBr(e->alu.b, bad, yes, no);
    LLVMPositionBuilderAtEnd(e->alu.b, yes);
    emit_fault(e, JIT_FAULT_MISALIGNED, mask, address);
    LLVMBuildUnreachable(e->alu.b);
    LLVMPositionBuilderAtEnd(e->alu.b, no);
}

void mem_fault_if_odd(struct emit *e, unsigned space, LLVMValueRef address, unsigned due)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef low = LLVMBuildAnd(b, address, c64(e, due - 1), "");
    LLVMValueRef bad = LLVMBuildICmp(b, LLVMIntNE, low, c64(e, 0), "");
    if (space == PTX_SPACE_SHARED)
        address = LLVMBuildAdd(b, address, LLVMBuildPtrToInt(b, e->shared, e->i64, ""), "");
    fault_if(e, bad, mask_bits(e), address);
}

void fault_odd_lanes(struct emit *e, LLVMValueRef lanes, LLVMValueRef at)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMBasicBlockRef yes = new_bb(e, "misaligned"), no = new_bb(e, "aligned");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, lanes, c32(e, 0), ""), yes, no);
    LLVMPositionBuilderAtEnd(b, yes);
    LLVMValueRef args[2] = {lanes, LLVMConstInt(e->i1, 1, false)};
    LLVMValueRef lane = intrinsic(e, "llvm.cttz", &e->i32, 1, args, 2);
    LLVMValueRef address = LLVMBuildExtractElement(b, at, lane, "");
    if (LLVMTypeOf(address) != e->i64) /* an offset into shared memory */
        address = LLVMBuildPtrToInt(
            b, byte_offset(e, e->shared, LLVMBuildZExt(b, address, e->i64, "")), e->i64, "");
    emit_fault(e, JIT_FAULT_MISALIGNED, lanes, address);
    LLVMBuildUnreachable(b);
    LLVMPositionBuilderAtEnd(b, no);
}

/* i1: is any lane of segment s active? */
LLVMValueRef mem_segment_active(struct emit *e, unsigned seg, int s)
{
    uint32_t lanes = seg == SEG_WARP ? 0xffffffffu : ((1u << (1 << seg)) - 1) << (s << seg);
    LLVMValueRef m = LLVMBuildAnd(e->alu.b, e->mask, c32(e, lanes), "");
    return LLVMBuildICmp(e->alu.b, LLVMIntNE, m, c32(e, 0), "");
}

/* The processor takes any address, a GPU does not: one look at each pointer that is not known to be
 * aligned (E2). */
static void check_pointer(struct emit *e, const struct access *a, LLVMValueRef p, unsigned seg,
                          int s)
{
    if (known_aligned(a))
        return;
    LLVMValueRef v = LLVMBuildPtrToInt(e->alu.b, p, e->i64, "");
    LLVMValueRef low = LLVMBuildAnd(e->alu.b, v, c64(e, mem_due(a) - 1), "");
    LLVMValueRef bad = LLVMBuildICmp(e->alu.b, LLVMIntNE, low, c64(e, 0), "");
    if (seg != SEG_WARP && e->mask != NULL) /* the pointer of a segment at rest says nothing */
        bad = LLVMBuildAnd(e->alu.b, bad, mem_segment_active(e, seg, s), "");
    if (e->guess != NULL)
        bad = LLVMBuildAnd(e->alu.b, bad, e->guess, "");
    fault_if(e, bad, mask_bits(e), v);
}

/* Base of an address operand for one segment, as an i64 in its own space. */
LLVMValueRef mem_base(struct emit *e, const struct ptx_operand *o, unsigned seg, int s)
{
    struct ptx_operand p = *o;
    LLVMValueRef v;
    if (o->reg >= 0) {
        p.kind = PTX_OPR_REG;
        v = operand_scalar(e, &p, PTX_U64, seg, s);
    } else if (o->var != NULL) {
        p.kind = PTX_OPR_SYM;
        return operand_scalar(e, &p, PTX_U64, seg, s);
    } else {
        return c64(e, (uint64_t)o->offset);
    }
    return o->offset ? LLVMBuildAdd(e->alu.b, v, c64(e, (uint64_t)o->offset), "") : v;
}

/* Where the window of the warp's lane 0 starts. */
static LLVMValueRef load_store_window(struct emit *e)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef lane = LLVMBuildZExt(b, LLVMBuildShl(b, e->w, c32(e, SEG_WARP), ""), e->i64, "");
    return byte_offset(e, e->local, LLVMBuildMul(b, lane, e->local_stride, ""));
}

LLVMValueRef mem_pointer(struct emit *e, const struct access *a, unsigned seg, int s)
{
    LLVMValueRef v = mem_base(e, a->at, seg, s);
    if (a->windowed)
        return byte_offset(e, load_store_window(e), v);
    if (a->space == PTX_SPACE_SHARED)
        return byte_offset(e, e->shared, v);
    if (a->space == PTX_SPACE_PARAM && a->at->reg < 0 && a->at->var != NULL) {
        /* stay based on the parameter pointer, which LLVM can follow */
        LLVMValueRef off =
            LLVMBuildSub(e->alu.b, v, LLVMBuildPtrToInt(e->alu.b, e->params, e->i64, ""), "");
        return byte_offset(e, e->params, off);
    }
    return LLVMBuildIntToPtr(e->alu.b, v, e->ptr, "");
}

LLVMValueRef guess_select(struct emit *e, LLVMValueRef yes, LLVMValueRef no)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMTypeRef type = LLVMTypeOf(yes);
    bool f32 = type == e->f32, f64 = type == e->f64;
    if (f32 || f64) { /* x86 selects among integers only */
        yes = LLVMBuildBitCast(b, yes, f32 ? e->i32 : e->i64, "");
        no = LLVMBuildBitCast(b, no, f32 ? e->i32 : e->i64, "");
    }
    LLVMValueRef v = LLVMBuildSelect(b, e->guess, yes, no, "");
    if (LLVMIsASelectInst(v)) /* not to become the branch again that it is in place of */
        LLVMSetMetadata(v, e->md_unpredictable, e->md_empty);
    if (f32 || f64)
        v = opaque(e, v);
    return LLVMBuildBitCast(b, v, type, "");
}

/* What only may happen goes elsewhere if it does not. */
static LLVMValueRef guessed(struct emit *e, const struct access *a, LLVMValueRef p)
{
    if (e->guess == NULL || (a->space == PTX_SPACE_PARAM && a->at->reg < 0))
        return p;
    return guess_select(e, p, e->elsewhere);
}

LLVMValueRef address_vector(struct emit *e, const struct ptx_operand *o, unsigned space)
{
    LLVMBuilderRef b = e->alu.b;
    struct ptx_operand p = *o;
    LLVMValueRef v;
    if (o->reg >= 0) {
        p.kind = PTX_OPR_REG;
        v = operand_vector(e, &p, PTX_U64);
        if (o->offset)
            v = LLVMBuildAdd(b, v, splat(e, c64(e, (uint64_t)o->offset), JIT_WARP), "");
    } else {
        v = splat(e, mem_base(e, o, SEG_WARP, 0), JIT_WARP);
    }
    if (space == PTX_SPACE_SHARED)
        v = LLVMBuildAdd(b, v, splat(e, LLVMBuildPtrToInt(b, e->shared, e->i64, ""), JIT_WARP), "");
    if (space == PTX_SPACE_LOCAL) {
        LLVMValueRef first =
            LLVMBuildZExt(b, LLVMBuildShl(b, e->w, c32(e, SEG_WARP), ""), e->i64, "");
        LLVMValueRef lane = from_segments(e, &first, SEG_WARP, 1);
        LLVMValueRef base = LLVMBuildPtrToInt(b, e->local, e->i64, "");
        v = LLVMBuildAdd(b, v, LLVMBuildMul(b, lane, splat(e, e->local_stride, JIT_WARP), ""), "");
        v = LLVMBuildAdd(b, v, splat(e, base, JIT_WARP), "");
    }
    return v;
}

/* ---- shuffles for vector elements ---- */

/* Every vec-th element from `first` of a vector of lanes * vec. */
static LLVMValueRef take(struct emit *e, LLVMValueRef v, int lanes, int vec, int first)
{
    LLVMValueRef idx[JIT_WARP];
    for (int l = 0; l < lanes; l++)
        idx[l] = c32(e, (uint64_t)(l * vec + first));
    return LLVMBuildShuffleVector(e->alu.b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(idx, (unsigned)lanes), "");
}

/* Lanes first .. first + count - 1 of a vector, each repeated `times`. */
static LLVMValueRef load_store_part(struct emit *e, LLVMValueRef v, int first, int count, int times)
{
    LLVMValueRef idx[JIT_WARP * 8];
    for (int l = 0; l < count * times; l++)
        idx[l] = c32(e, (uint64_t)(first + l / times));
    return LLVMBuildShuffleVector(e->alu.b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(idx, (unsigned)(count * times)), "");
}

/* Joins n vectors of equal length, in order; n is a power of two. */
static LLVMValueRef load_store_join(struct emit *e, LLVMValueRef *v, int n)
{
    for (; n > 1; n /= 2) {
        for (int k = 0; k < n / 2; k++) {
            LLVMValueRef idx[JIT_WARP * 8];
            unsigned len = LLVMGetVectorSize(LLVMTypeOf(v[2 * k]));
            for (unsigned l = 0; l < 2 * len; l++)
                idx[l] = c32(e, l);
            v[k] = LLVMBuildShuffleVector(e->alu.b, v[2 * k], v[2 * k + 1],
                                          LLVMConstVector(idx, 2 * len), "");
        }
    }
    return v[0];
}

/* out[l * vec + k] = v[k][l]; vec is 1, 2, 4 or 8. */
static LLVMValueRef interleave(struct emit *e, LLVMValueRef *v, int lanes, int vec)
{
    if (vec == 1)
        return v[0];
    LLVMValueRef all = load_store_join(e, v, vec), idx[JIT_WARP * 8];
    for (int l = 0; l < lanes; l++)
        for (int k = 0; k < vec; k++)
            idx[l * vec + k] = c32(e, (uint64_t)(k * lanes + l));
    return LLVMBuildShuffleVector(e->alu.b, all, LLVMGetPoison(LLVMTypeOf(all)),
                                  LLVMConstVector(idx, (unsigned)(lanes * vec)), "");
}

/* ---- contiguous, gathered ---- */

static LLVMValueRef load_wide(struct emit *e, const struct access *a, LLVMValueRef p, int first,
                              int lanes)
{
    LLVMTypeRef t = LLVMVectorType(a->elem, (unsigned)(lanes * a->vec));
    LLVMValueRef v, m = mask_vector(e);
    unsigned align = a->bytes * (unsigned)a->vec;
    if (m == NULL) {
        v = LLVMBuildLoad2(e->alu.b, t, p, "");
        LLVMSetAlignment(v, align);
        LLVMSetVolatile(v, a->is_volatile);
    } else if (!masked_native(e, a->bytes)) {
        return masked_load(e, a, p, first, lanes);
    } else {
        LLVMValueRef args[4] = {p, c32(e, align), load_store_part(e, m, first, lanes, a->vec),
                                LLVMConstNull(t)};
        v = intrinsic(e, "llvm.masked.load", (LLVMTypeRef[]){t, e->ptr}, 2, args, 4);
    }
    tag_memory(e, v, a->space);
    return v;
}

/* All lanes' elements when segments of 2^seg lanes are contiguous; p[s] points to each. */
static void load_contiguous(struct emit *e, const struct access *a, unsigned seg,
                            const LLVMValueRef *p, LLVMValueRef *out)
{
    LLVMValueRef parts[8][MAX_SEGS];
    int lanes = 1 << seg;
    relay_ahead(e, a->at, a->space, p, nsegs(seg), (uint64_t)mem_natural(a) << seg);
    for (int s = 0; s < nsegs(seg); s++) {
        check_pointer(e, a, p[s], seg, s);
        LLVMValueRef v = load_wide(e, a, p[s], s << seg, lanes);
        for (int k = 0; k < a->vec; k++)
            parts[k][s] = a->vec == 1 ? v : take(e, v, lanes, a->vec, k);
    }
    for (int k = 0; k < a->vec; k++)
        out[k] = load_store_join(e, parts[k], nsegs(seg));
}

/* Segments are known to be contiguous; p[s] points to each. */
static bool contiguous(struct emit *e, const struct access *a, LLVMValueRef *p)
{
    if (a->shape.seg == SEG_NONE || a->shape.stride != (int64_t)a->bytes * a->vec ||
        (a->shape.brk != 0 && !e->in_whole))
        return false;
    for (int s = 0; s < nsegs(a->shape.seg); s++)
        p[s] = mem_pointer(e, a, a->shape.seg, s);
    return true;
}

static void load_varying(struct emit *e, const struct access *a, LLVMValueRef *out)
{
    LLVMBuilderRef b = e->alu.b;
    struct likely l;
    if (piece_looked(e, a)) {
        piece_load_looking(e, a, out);
        return;
    }
    if (!apart_likely(e, a, &l)) {
        apart_gather(e, a, &l.at, out);
        return;
    }
    LLVMValueRef fast[8], slow[8];
    LLVMBasicBlockRef yes = new_bb(e, "near"), no = new_bb(e, "far"), join = new_bb(e, "loaded");
    branch_likely(e, l.near, yes, no);
    LLVMPositionBuilderAtEnd(b, yes);
    load_contiguous(e, a, l.seg, l.first, fast);
    yes = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, no);
    apart_gather(e, a, &l.at, slow);
    no = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, join);
    for (int k = 0; k < a->vec; k++) {
        out[k] = LLVMBuildPhi(b, LLVMTypeOf(fast[k]), "");
        LLVMAddIncoming(out[k], (LLVMValueRef[]){fast[k], slow[k]}, (LLVMBasicBlockRef[]){yes, no},
                        2);
    }
}

static const struct ptx_operand *load_store_element(const struct ptx_operand *o, int k)
{
    return o->kind == PTX_OPR_VEC ? &o->items[k] : o;
}

/* Vector accesses cannot be volatile in LLVM: what may change behind the compiler's back is kept in
 * place by a fence that costs no instruction. */
static void keep_in_place(struct emit *e, const struct access *a)
{
    if (a->is_volatile)
        LLVMBuildFence(e->alu.b, LLVMAtomicOrderingSequentiallyConsistent, true, "");
}

/* Lanes' elements as vectors, from an address that differs between lanes. */
static void load_vectors(struct emit *e, const struct access *a, LLVMValueRef *out)
{
    LLVMValueRef p[MAX_SEGS];
    if (contiguous(e, a, p))
        load_contiguous(e, a, a->shape.seg, p, out);
    else if (!window_load(e, a, out))
        load_varying(e, a, out);
}

void load_lanes(struct emit *e, const struct ptx_instr *i, const struct ptx_operand *at,
                LLVMValueRef *out)
{
    struct access a = load_store_access(e, i, at);
    check_access(e, a.at, a.space, mem_natural(&a), false);
    load_vectors(e, &a, out);
}

bool mem_in_window(struct emit *e, const struct ptx_instr *i)
{
    struct access a = load_store_access(e, i, &i->operands[i->op == PTX_OP_st ? 0 : 1]);
    return window_fits(e, &a);
}

LLVMValueRef likely_near(struct emit *e, const struct ptx_instr *load)
{
    LLVMBuilderRef b = e->alu.b;
    struct access a = load_store_access(e, load, &load->operands[1]);
    LLVMValueRef at = address_vector(e, a.at, PTX_SPACE_GENERIC), first, far, d[2];
    static const int lanes[2] = {1, JIT_WARP - 1};
    first = LLVMBuildExtractElement(b, at, c32(e, 0), "");
    for (int n = 0; n < 2; n++) {
        far = LLVMBuildExtractElement(b, at, c32(e, (uint64_t)lanes[n]), "");
        far = LLVMBuildSub(b, far, first, "");
        d[n] = LLVMBuildICmp(b, LLVMIntEQ, far, c64(e, (uint64_t)lanes[n] * mem_natural(&a)), "");
    }
    return LLVMBuildAnd(b, d[0], d[1], "");
}

static LLVMValueRef load_together(struct emit *e, const struct access *a, LLVMValueRef p)
{
    LLVMValueRef v = LLVMBuildLoad2(e->alu.b, whole_type(e, a), p, "");
    LLVMSetAlignment(v, mem_due(a) < mem_natural(a) ? 1 : mem_natural(a));
    LLVMSetVolatile(v, true);
    tag_memory(e, v, a->space);
    return LLVMBuildBitCast(e->alu.b, v, LLVMVectorType(a->elem, (unsigned)a->vec), "");
}

bool emit_load(struct emit *e, const struct ptx_instr *i)
{
    struct access a = load_store_access(e, i, &i->operands[1]);
    check_access(e, a.at, a.space, mem_natural(&a), false);
    keep_in_place(e, &a);
    const struct ptx_operand *d = &i->operands[0];
    LLVMValueRef out[8];
    if (a.shape.seg != SEG_NONE && a.shape.stride == 0) {
        LLVMValueRef v[8][MAX_SEGS];
        for (int s = 0; s < nsegs(a.shape.seg); s++) {
            LLVMValueRef p = mem_pointer(e, &a, a.shape.seg, s);
            check_pointer(e, &a, p, a.shape.seg, s);
            p = guessed(e, &a, p);
            if (a.shape.seg != SEG_WARP && e->mask != NULL)
                p = LLVMBuildSelect(e->alu.b, mem_segment_active(e, a.shape.seg, s), p, e->safe,
                                    "");
            LLVMValueRef all = load_store_together(&a) ? load_together(e, &a, p) : NULL;
            for (int k = 0; all != NULL && k < a.vec; k++)
                v[k][s] = LLVMBuildExtractElement(e->alu.b, all, c32(e, (uint64_t)k), "");
            for (int k = 0; all == NULL && k < a.vec; k++) {
                LLVMValueRef x = LLVMBuildLoad2(
                    e->alu.b, a.elem, byte_offset(e, p, c64(e, (uint64_t)k * a.bytes)), "");
                LLVMSetAlignment(x, a.bytes);
                LLVMSetVolatile(x, a.is_volatile);
                if (a.space == PTX_SPACE_PARAM && a.at->reg < 0)
                    LLVMSetMetadata(x, e->md_invariant, e->md_empty);
                else
                    tag_memory(e, x, a.space);
                v[k][s] = x;
            }
        }
        struct shape sh = {.seg = a.shape.seg, .known = 1};
        for (int k = 0; k < a.vec; k++)
            if (load_store_element(d, k)->kind == PTX_OPR_REG)
                write_segments(e, load_store_element(d, k)->reg, sh, v[k], a.type);
    } else {
        load_vectors(e, &a, out);
        for (int k = 0; k < a.vec; k++)
            if (load_store_element(d, k)->kind == PTX_OPR_REG)
                write_vector(e, load_store_element(d, k)->reg, out[k], a.type);
    }
    if (ptx_has(i, PTX_M_acquire))
        LLVMBuildFence(e->alu.b, LLVMAtomicOrderingAcquire, false, "");
    return true;
}

/* ---- stores ---- */

static void store_masked(struct emit *e, const struct access *a, LLVMValueRef x, LLVMValueRef p,
                         int first, int lanes)
{
    if (!masked_native(e, a->bytes)) {
        masked_store(e, a, x, p, first, lanes);
        return;
    }
    LLVMValueRef mask = load_store_part(e, mask_vector(e), first, lanes, a->vec);
    LLVMValueRef args[4] = {x, p, c32(e, a->bytes * (unsigned)a->vec), mask};
    LLVMValueRef st =
        intrinsic(e, "llvm.masked.store", (LLVMTypeRef[]){LLVMTypeOf(x), e->ptr}, 2, args, 4);
    tag_memory(e, st, a->space);
}

/* Masked stores are slow on some processors, and of small elements on all without AVX-512. Shared
 * memory is this thread's alone, so inactive lanes' may be written back as it is, if it is there.
 */
static void store_blended(struct emit *e, const struct access *a, LLVMValueRef x, LLVMValueRef p,
                          int first, int lanes)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef mask = load_store_part(e, mask_vector(e), first, lanes, a->vec);
    LLVMBasicBlockRef in = new_bb(e, "inside"), out = new_bb(e, "beyond"),
                      done = new_bb(e, "blended");
    LLVMValueRef total = LLVMBuildZExt(
        b, block_field(e, offsetof(struct jit_block, total_shared), e->i32, true), e->i64, "");
    LLVMValueRef from = LLVMBuildSub(b, LLVMBuildPtrToInt(b, p, e->i64, ""),
                                     LLVMBuildPtrToInt(b, e->shared, e->i64, ""), "");
    unsigned elements = LLVMGetVectorSize(LLVMTypeOf(x));
    LLVMValueRef room[2] = {LLVMBuildAdd(b, total, c64(e, 1), ""),
                            c64(e, (uint64_t)elements * a->bytes)};
    LLVMValueRef end = intrinsic(e, "llvm.usub.sat", &e->i64, 1, room, 2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, from, end, ""), in, out);
    LLVMPositionBuilderAtEnd(b, in);
    LLVMValueRef old = LLVMBuildLoad2(b, LLVMTypeOf(x), p, "");
    LLVMSetAlignment(old, a->bytes);
    tag_memory(e, old, a->space);
    LLVMValueRef st = LLVMBuildStore(b, LLVMBuildSelect(b, mask, x, old, ""), p);
    LLVMSetAlignment(st, a->bytes);
    tag_memory(e, st, a->space);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, out);
    store_masked(e, a, x, p, first, lanes);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
}

static void store_contiguous(struct emit *e, const struct access *a, unsigned seg,
                             const LLVMValueRef *p, LLVMValueRef *v)
{
    bool blend = a->space == PTX_SPACE_SHARED && !e->alu.has_avx512 && !a->is_volatile;
    int lanes = 1 << seg;
    unsigned align = a->bytes * (unsigned)a->vec;
    LLVMValueRef m = mask_vector(e);
    for (int s = 0; s < nsegs(seg); s++) {
        check_pointer(e, a, p[s], seg, s);
        LLVMValueRef part[8];
        for (int k = 0; k < a->vec; k++)
            part[k] = seg == SEG_WARP ? v[k] : load_store_part(e, v[k], s << seg, lanes, 1);
        LLVMValueRef x = interleave(e, part, lanes, a->vec);
        if (m == NULL) {
            LLVMValueRef st = LLVMBuildStore(e->alu.b, x, p[s]);
            LLVMSetAlignment(st, align);
            LLVMSetVolatile(st, a->is_volatile);
            tag_memory(e, st, a->space);
        } else if (blend) {
            store_blended(e, a, x, p[s], s << seg, lanes);
        } else {
            store_masked(e, a, x, p[s], s << seg, lanes);
        }
    }
}

static void store_varying(struct emit *e, const struct access *a, LLVMValueRef *v)
{
    LLVMBuilderRef b = e->alu.b;
    struct likely l;
    if (piece_looked(e, a)) {
        piece_store_looking(e, a, v);
        return;
    }
    if (!apart_likely(e, a, &l)) {
        apart_scatter(e, a, &l.at, v);
        return;
    }
    LLVMBasicBlockRef yes = new_bb(e, "near"), no = new_bb(e, "far"), join = new_bb(e, "stored");
    branch_likely(e, l.near, yes, no);
    LLVMPositionBuilderAtEnd(b, yes);
    LLVMValueRef copy[8];
    memcpy(copy, v, sizeof(LLVMValueRef) * (size_t)a->vec);
    store_contiguous(e, a, l.seg, l.first, copy);
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, no);
    apart_scatter(e, a, &l.at, v);
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, join);
}

/* One element of what a store to one address writes. */
static LLVMValueRef stored(struct emit *e, const struct access *a, const struct ptx_operand *o)
{
    LLVMBuilderRef b = e->alu.b;
    struct shape sh = shape_operand(e->k, o);
    if (shape_uniform(&sh))
        return operand_scalar(e, o, a->type, SEG_WARP, 0);
    LLVMValueRef lane = c32(e, 31);
    if (e->mask != NULL) {
        LLVMValueRef args[2] = {e->mask, LLVMConstInt(e->i1, 1, false)};
        LLVMValueRef lz = intrinsic(e, "llvm.ctlz", &e->i32, 1, args, 2);
        lane = LLVMBuildSub(b, c32(e, 31), lz, "");
    }
    return LLVMBuildExtractElement(b, operand_vector(e, o, a->type), lane, "");
}

/* Lanes that store to one address: the highest active one wins (PTX leaves open which). */
static void store_uniform(struct emit *e, const struct access *a, const struct ptx_operand *data)
{
    LLVMBuilderRef b = e->alu.b;
    LLVMValueRef p = mem_pointer(e, a, SEG_WARP, 0);
    check_pointer(e, a, p, SEG_WARP, 0);
    p = guessed(e, a, p);
    if (load_store_together(a)) {
        LLVMValueRef all = LLVMGetPoison(LLVMVectorType(a->elem, (unsigned)a->vec));
        for (int k = 0; k < a->vec; k++)
            all = LLVMBuildInsertElement(b, all, stored(e, a, load_store_element(data, k)),
                                         c32(e, (uint64_t)k), "");
        LLVMValueRef st = LLVMBuildStore(b, LLVMBuildBitCast(b, all, whole_type(e, a), ""), p);
        LLVMSetAlignment(st, mem_due(a) < mem_natural(a) ? 1 : mem_natural(a));
        LLVMSetVolatile(st, true);
        tag_memory(e, st, a->space);
        return;
    }
    for (int k = 0; k < a->vec; k++) {
        LLVMValueRef v = stored(e, a, load_store_element(data, k));
        LLVMValueRef st = LLVMBuildStore(b, v, byte_offset(e, p, c64(e, (uint64_t)k * a->bytes)));
        LLVMSetAlignment(st, a->bytes);
        LLVMSetVolatile(st, a->is_volatile);
        tag_memory(e, st, a->space);
    }
}

static void store_vectors(struct emit *e, const struct access *a, LLVMValueRef *v)
{
    LLVMValueRef p[MAX_SEGS];
    if (contiguous(e, a, p))
        store_contiguous(e, a, a->shape.seg, p, v);
    else if (!window_store(e, a, v[0]))
        store_varying(e, a, v);
}

void store_lanes(struct emit *e, const struct ptx_instr *i, const struct ptx_operand *at,
                 LLVMValueRef *v)
{
    struct access a = load_store_access(e, i, at);
    check_access(e, a.at, a.space, mem_natural(&a), true);
    store_vectors(e, &a, v);
}

bool emit_store(struct emit *e, const struct ptx_instr *i)
{
    struct access a = load_store_access(e, i, &i->operands[0]);
    check_access(e, a.at, a.space, mem_natural(&a), true);
    const struct ptx_operand *data = &i->operands[1];
    if (ptx_has(i, PTX_M_release))
        LLVMBuildFence(e->alu.b, LLVMAtomicOrderingRelease, false, "");
    keep_in_place(e, &a);
    if (shape_uniform(&a.shape)) {
        store_uniform(e, &a, data);
        return true;
    }
    LLVMValueRef v[8];
    for (int k = 0; k < a.vec; k++)
        v[k] = operand_vector(e, load_store_element(data, k), a.type);
    store_vectors(e, &a, v);
    return true;
}
