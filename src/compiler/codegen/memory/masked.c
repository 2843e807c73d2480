/* masked.c: loads and stores of neighbouring lanes of which some are inactive, where the machine
 * has no instruction for that.
 *
 * x86 without AVX-512 masks elements of four and eight bytes alone, other machines none. LLVM makes
 * each such access a test and a branch for every element: a hundred instructions and thirty blocks,
 * ten thousand blocks in kernels that copy tiles of f16, where they took most of the compile time.
 * Functions of the module make these accesses instead. They exist once for each size and are fast
 * in the usual cases: all lanes active, or a vector that lies in one page. In kernels that are not
 * large, loads of a vector in one page are emitted inline; so are those of words there, for which
 * x86 has an instruction, since CPUs prefetch less for that. What inactive lanes load of smaller
 * elements may be anything: nothing reads it, and making it zeros would have what is loaded wait
 * for the mask. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/module_function.h"
#include "compiler/codegen/values.h"

enum { MAX_BYTES = 32 * JIT_WARP }; /* that a warp's lanes load at once */
/* Kernels of more instructions than these are to become code that is small. */
enum { MOST_INLINE = 1000 };

/* What a function moves: `lanes` times `vec` neighbouring elements. */
struct masked_access {
    LLVMTypeRef elem;
    unsigned bytes, vec, lanes; /* bytes of an element */
    LLVMTypeRef type;           /* all of them */
};

static struct masked_access masked_access_of(const struct access *a, int lanes)
{
    struct masked_access m = {
        .elem = a->elem, .bytes = a->bytes, .vec = (unsigned)a->vec, .lanes = (unsigned)lanes};
    m.type = LLVMVectorType(m.elem, m.vec * m.lanes);
    return m;
}

bool masked_native(const struct codegen *cg, unsigned bytes)
{
    return cg->alu.has_avx512 || (cg->alu.has_avx2 && bytes >= 4);
}

/* The lanes' bits of an i32 to a bit for each element. For bytes, each of the four bytes of bits is
 * brought to the eight lanes that it describes: no wider vector is made on the way. */
static LLVMValueRef element_mask(struct codegen *cg, const struct masked_access *m,
                                 LLVMValueRef bits)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef each[JIT_WARP];
    unsigned idx[JIT_WARP * 16];
    for (unsigned l = 0; l < m->lanes; l++) {
        each[l] = LLVMConstInt(cg->i8, 1u << l % 8, false);
        idx[l] = l / 8;
    }
    LLVMValueRef v = LLVMBuildBitCast(b, bits, LLVMVectorType(cg->i8, 4), "");
    v = LLVMBuildAnd(b, shuffle(cg, v, NULL, idx, m->lanes), LLVMConstVector(each, m->lanes), "");
    v = LLVMBuildICmp(b, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)), "");
    for (unsigned l = 0; l < m->lanes * m->vec; l++)
        idx[l] = l / m->vec;
    return m->vec == 1 ? v : shuffle(cg, v, NULL, idx, m->lanes * m->vec);
}

static LLVMValueRef all_lanes(struct codegen *cg, const struct masked_access *m)
{
    return c32(cg, m->lanes == JIT_WARP ? UINT32_MAX : (1u << m->lanes) - 1);
}

/* For each active lane: its elements from `from` to `to`. */
static void copy_lanes(struct codegen *cg, LLVMValueRef fn, const struct masked_access *m,
                       LLVMValueRef bits, LLVMValueRef from, LLVMValueRef to)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMTypeRef lane = LLVMVectorType(m->elem, m->vec);
    LLVMBasicBlockRef loop = append_bb(cg, fn, "lane"), done = append_bb(cg, fn, "lanes_done");
    struct lane_loop l = lane_loop_open(cg, bits, loop, done);
    LLVMValueRef at = LLVMBuildMul(b, LLVMBuildZExt(b, l.lane, cg->i64, ""),
                                   c64(cg, (uint64_t)m->vec * m->bytes), "");
    LLVMValueRef v = LLVMBuildLoad2(b, lane, byte_offset(cg, from, at), "");
    LLVMSetAlignment(v, m->bytes);
    LLVMSetAlignment(LLVMBuildStore(b, v, byte_offset(cg, to, at)), m->bytes);
    lane_loop_close(cg, &l);
}

static uint64_t size_of(const struct masked_access *m)
{
    return (uint64_t)m->bytes * m->vec * m->lanes;
}

/* Do all elements lie in one page? */
static LLVMValueRef in_one_page(struct codegen *cg, const struct masked_access *m, LLVMValueRef p)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef in_page =
        LLVMBuildAnd(b, LLVMBuildPtrToInt(b, p, cg->i64, ""), c64(cg, WEIR_PAGE - 1), "");
    return LLVMBuildICmp(b, LLVMIntULE, in_page, c64(cg, WEIR_PAGE - size_of(m)), "");
}

/* Are there active lanes, and do all elements lie in one page? Then all can be read. */
static LLVMValueRef readable(struct codegen *cg, const struct masked_access *m, LLVMValueRef p,
                             LLVMValueRef bits)
{
    LLVMValueRef some = LLVMBuildICmp(cg->alu.b, LLVMIntNE, bits, c32(cg, 0), "");
    return LLVMBuildAnd(cg->alu.b, in_one_page(cg, m, p), some, "");
}

static LLVMValueRef load_all(struct codegen *cg, const struct masked_access *m, LLVMValueRef p)
{
    LLVMValueRef load = LLVMBuildLoad2(cg->alu.b, m->type, p, "");
    LLVMSetAlignment(load, m->bytes);
    return load;
}

/* The function (pointer, lanes, slot), which leaves what it loads in the slot: inactive lanes'
 * bytes are loaded, too, where that cannot fault, and ignored. */
static void load_body(struct codegen *cg, LLVMValueRef fn, const void *arg)
{
    const struct masked_access *m = arg;
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef p = LLVMGetParam(fn, 0), bits = LLVMGetParam(fn, 1), slot = LLVMGetParam(fn, 2);
    LLVMBasicBlockRef full_bb = append_bb(cg, fn, "full"), lanes_bb = append_bb(cg, fn, "lanes"),
                      done = append_bb(cg, fn, "done");
    LLVMValueRef zero = LLVMConstNull(m->type);
    LLVMValueRef all = LLVMBuildICmp(b, LLVMIntEQ, bits, all_lanes(cg, m), "");
    LLVMBuildCondBr(b, LLVMBuildOr(b, all, readable(cg, m, p, bits), ""), full_bb, lanes_bb);

    LLVMPositionBuilderAtEnd(b, full_bb);
    LLVMSetAlignment(LLVMBuildStore(b, load_all(cg, m, p), slot), 64);
    LLVMBuildBr(b, done);

    LLVMPositionBuilderAtEnd(b, lanes_bb);
    LLVMSetAlignment(LLVMBuildStore(b, zero, slot), 64);
    copy_lanes(cg, fn, m, bits, p, slot);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
}

/* The function (pointer, lanes, slot), which stores what is in the slot. */
static void store_body(struct codegen *cg, LLVMValueRef fn, const void *arg)
{
    const struct masked_access *m = arg;
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef p = LLVMGetParam(fn, 0), bits = LLVMGetParam(fn, 1), slot = LLVMGetParam(fn, 2);
    LLVMBasicBlockRef full_bb = append_bb(cg, fn, "full"), lanes_bb = append_bb(cg, fn, "lanes"),
                      done = append_bb(cg, fn, "done");
    LLVMValueRef all = LLVMBuildICmp(b, LLVMIntEQ, bits, all_lanes(cg, m), "");
    LLVMBuildCondBr(b, all, full_bb, lanes_bb);
    LLVMPositionBuilderAtEnd(b, full_bb);
    LLVMValueRef v = LLVMBuildLoad2(b, m->type, slot, "");
    LLVMSetAlignment(v, 64);
    LLVMSetAlignment(LLVMBuildStore(b, v, p), m->bytes);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, lanes_bb);
    copy_lanes(cg, fn, m, bits, slot, p);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
}

static LLVMValueRef masked_slot(struct codegen *cg)
{
    LLVMTypeRef type = LLVMArrayType2(cg->i8, MAX_BYTES);
    return shared_slot(cg, SLOT_MASKED, type, 64, "masked");
}

/* The active ones among the access's lanes, which begin with `first`. */
static LLVMValueRef active_lanes(struct codegen *cg, const struct masked_access *m, int first)
{
    LLVMValueRef bits = LLVMBuildLShr(cg->alu.b, mask_bits(cg), c32(cg, (uint64_t)first), "");
    return LLVMBuildAnd(cg->alu.b, bits, all_lanes(cg, m), "");
}

LLVMValueRef masked_elements(struct codegen *cg, const struct access *a, int first, int lanes)
{
    struct masked_access m = masked_access_of(a, lanes);
    return element_mask(cg, &m, active_lanes(cg, &m, first));
}

static void masked_call(struct codegen *cg, struct masked_access *m, bool load, LLVMValueRef p,
                        LLVMValueRef bits)
{
    char name[48];
    snprintf(name, sizeof name, "weir_masked_%s_%ux%ux%u", load ? "load" : "store", m->lanes,
             m->vec, m->bytes);
    LLVMTypeRef params[3] = {cg->ptr, cg->i32, cg->ptr};
    LLVMValueRef fn = module_function(cg, name, params, 3, load ? load_body : store_body, m);
    LLVMValueRef args[3] = {p, bits, masked_slot(cg)};
    LLVMBuildCall2(cg->alu.b, LLVMGlobalGetValueType(fn), fn, args, 3, "");
}

static LLVMValueRef load_by_call(struct codegen *cg, struct masked_access *m, LLVMValueRef p,
                                 LLVMValueRef bits)
{
    masked_call(cg, m, true, p, bits);
    LLVMValueRef v = LLVMBuildLoad2(cg->alu.b, m->type, masked_slot(cg), "");
    LLVMSetAlignment(v, 64);
    return v;
}

LLVMValueRef masked_load(struct codegen *cg, const struct access *a, LLVMValueRef p, int first,
                         int lanes)
{
    LLVMBuilderRef b = cg->alu.b;
    struct masked_access m = masked_access_of(a, lanes);
    LLVMValueRef bits = active_lanes(cg, &m, first), v[2];
    if (cg->k->ninstrs > MOST_INLINE || a->is_volatile)
        return load_by_call(cg, &m, p, bits);
    LLVMBasicBlockRef near = new_bb(cg, "in_page"), far = new_bb(cg, "by_lanes"),
                      join = new_bb(cg, "masked");
    LLVMValueRef whole = p, ok;
    if (cg->serialized->executes != NULL && size_of(&m) <= SAFE_BYTES) {
        /* often there is no active lane, which is not to be a branch: zeros are loaded */
        LLVMValueRef some = LLVMBuildICmp(b, LLVMIntNE, bits, c32(cg, 0), "");
        whole = LLVMBuildSelect(b, some, p, cg->safe_opaque, "");
        ok = in_one_page(cg, &m, whole);
    } else {
        ok = readable(cg, &m, p, bits);
    }
    branch_likely(cg, ok, near, far);
    LLVMPositionBuilderAtEnd(b, near);
    v[0] = load_all(cg, &m, whole);
    tag_memory(cg, v[0], a->space);
    near = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, far);
    v[1] = load_by_call(cg, &m, p, bits);
    far = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, join);
    LLVMValueRef out = LLVMBuildPhi(b, m.type, "");
    LLVMAddIncoming(out, v, (LLVMBasicBlockRef[]){near, far}, 2);
    return out;
}

void masked_store(struct codegen *cg, const struct access *a, LLVMValueRef v, LLVMValueRef p,
                  int first, int lanes)
{
    struct masked_access m = masked_access_of(a, lanes);
    LLVMSetAlignment(LLVMBuildStore(cg->alu.b, v, masked_slot(cg)), 64);
    masked_call(cg, &m, false, p, active_lanes(cg, &m, first));
}

/* ---- machines whose masked loads are not prefetched ---- */

bool masked_load_pays_whole(const struct codegen *cg, const struct access *a)
{
    return cg->mask != NULL && masked_native(cg, a->bytes) && !cg->alu.has_avx512 &&
           a->space != PTX_SPACE_SHARED && a->space != PTX_SPACE_LOCAL && !a->is_volatile &&
           cg->k->ninstrs <= MOST_INLINE;
}

/* i1: each segment of `size` bytes lies in one page, and can be read. Those without an active lane
 * are made to point to memory that can. */
static LLVMValueRef segments_readable(struct codegen *cg, unsigned seg, uint64_t size,
                                      LLVMValueRef *p)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef crossed = NULL, readable = NULL;
    for (int s = 0; s < nsegs(seg); s++) {
        LLVMValueRef active = mem_segment_active(cg, seg, s);
        if (size <= SAFE_BYTES)
            p[s] = LLVMBuildSelect(b, active, p[s], cg->safe, "");
        else
            readable = readable == NULL ? active : LLVMBuildAnd(b, readable, active, "");
        LLVMValueRef from = LLVMBuildPtrToInt(b, p[s], cg->i64, "");
        LLVMValueRef last = LLVMBuildAdd(b, from, c64(cg, size - 1), "");
        LLVMValueRef differ = LLVMBuildXor(b, from, last, "");
        crossed = crossed == NULL ? differ : LLVMBuildOr(b, crossed, differ, "");
    }
    LLVMValueRef within = LLVMBuildICmp(b, LLVMIntULT, crossed, c64(cg, WEIR_PAGE), "");
    return readable == NULL ? within : LLVMBuildAnd(b, within, readable, "");
}

void masked_load_whole(struct codegen *cg, const struct access *a, unsigned seg,
                       const LLVMValueRef *p, const LLVMValueRef *mask, LLVMValueRef *out)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned align = a->bytes * (unsigned)a->vec;
    LLVMTypeRef t = LLVMVectorType(a->elem, (unsigned)a->vec << seg);
    LLVMValueRef whole[MAX_SEGS], v[2][MAX_SEGS];
    LLVMBasicBlockRef near = new_bb(cg, "in_page"), far = new_bb(cg, "by_mask"),
                      join = new_bb(cg, "masked");
    memcpy(whole, p, (size_t)nsegs(seg) * sizeof *p);
    branch_likely(cg, segments_readable(cg, seg, (uint64_t)align << seg, whole), near, far);
    LLVMPositionBuilderAtEnd(b, near);
    for (int s = 0; s < nsegs(seg); s++) {
        LLVMValueRef load = LLVMBuildLoad2(b, t, whole[s], "");
        LLVMSetAlignment(load, align);
        tag_memory(cg, load, a->space);
        v[0][s] = LLVMBuildSelect(b, mask[s], load, LLVMConstNull(t), "");
    }
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, far);
    for (int s = 0; s < nsegs(seg); s++) {
        LLVMValueRef args[4] = {p[s], c32(cg, align), mask[s], LLVMConstNull(t)};
        v[1][s] = intrinsic(cg, "llvm.masked.load", (LLVMTypeRef[]){t, cg->ptr}, 2, args, 4);
        tag_memory(cg, v[1][s], a->space);
    }
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, join);
    for (int s = 0; s < nsegs(seg); s++) {
        out[s] = LLVMBuildPhi(b, t, "");
        LLVMAddIncoming(out[s], (LLVMValueRef[]){v[0][s], v[1][s]},
                        (LLVMBasicBlockRef[]){near, far}, 2);
    }
}
