/* shared_inside.c: accesses of neighbours that are known to stay within shared memory.
 *
 * Where an address follows from the thread's index and constants alone (thread_values.c), it is
 * known of each thread of the block. If all of them are within what each launch has, or so near
 * that there is memory (JIT_SHARED_SIDES), no access there can fault, whichever lanes are active:
 * the index of the warp need not be stored for it (llvm/shared_reload.c), inactive lanes' elements
 * may be loaded, and no test is needed before these are stored back. Where lanes may be inactive
 * its pointer is made of the warp's index, so that it is right in a warp of which no lane has
 * computed the address. */
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/thread_values.h"
#include "compiler/codegen/values.h"
#include "compiler/llvm/llvm_passes.h"

enum {
    MOST_INSTRUCTIONS = 2000, /* of a kernel */
    SPARE = 16 /* bytes on each side that an access may reach beyond its elements: words around
                  smaller ones */
};

/* What a thread has in the address; false: it is not known, or it is far from any shared memory. */
static bool address_of_thread(const struct jkernel *k, const struct ptx_operand *at,
                              uint32_t thread, int64_t *out)
{
    uint64_t x = 0;
    int64_t start = at->reg < 0 && at->var != NULL ? jkernel_shared_offset(k, at->var) : -1;
    if (at->reg >= 0 ? !thread_value(k, at->reg, thread, &x) : start < 0)
        return false;
    x += at->reg < 0 ? (uint64_t)start : 0;
    if (x > INT32_MAX || at->offset < INT32_MIN || at->offset > INT32_MAX)
        return false;
    *out = (int64_t)x + at->offset;
    return true;
}

/* Segment s of warp w: where it begins; false: not all of its lanes are inside. */
static bool segment_inside(const struct jkernel *k, const struct ptx_operand *at,
                           const struct uniformity *u, int32_t w, int s, uint64_t bytes,
                           int64_t *first)
{
    uint32_t lanes = 1u << u->seg, thread = (uint32_t)w * JIT_WARP + (uint32_t)s * lanes;
    int64_t last, below = SPARE - JIT_SHARED_SIDES,
                  above = (int64_t)k->shared_bytes + JIT_SHARED_SIDES - SPARE;
    return address_of_thread(k, at, thread, first) &&
           address_of_thread(k, at, thread + lanes - 1, &last) &&
           last - *first == u->stride * (int64_t)(lanes - 1) && *first >= below && last >= below &&
           *first <= above - (int64_t)bytes && last <= above - (int64_t)bytes;
}

static bool is_inside(const struct jkernel *k, const struct ptx_operand *at, uint64_t bytes,
                      struct shared_inside *in)
{
    struct uniformity u;
    if (at->kind != PTX_OPR_MEM || k->opt->checked != 0 || k->is_function || k->one_lane ||
        k->fibers || !k->full_warps || k->opt->ntid[0] == 0 || k->ninstrs > MOST_INSTRUCTIONS)
        return false;
    u = address_uniformity(k, at);
    if (u.seg == SEG_NONE || u.brk != 0 || u.stride < INT32_MIN || u.stride > INT32_MAX)
        return false;
    for (int s = 0; s < nsegs(u.seg); s++) {
        in->step[s] = 0;
        for (int32_t w = 0; w < k->nwarps; w++) {
            int64_t first;
            if (!segment_inside(k, at, &u, w, s, bytes, &first))
                return false;
            if (w == 0)
                in->first[s] = first;
            if (w == 1)
                in->step[s] = first - in->first[s];
            if (first != in->first[s] + w * in->step[s])
                return false;
        }
        uint64_t low = (uint64_t)in->first[s] | (uint64_t)in->step[s] | (uint64_t)u.stride;
        if ((low & (bytes - 1)) != 0)
            return false; /* not aligned */
    }
    return true;
}

void shared_inside_find(const struct codegen *cg, struct access *a)
{
    a->inside = a->space == PTX_SPACE_SHARED && !a->is_volatile && !cg->serialized->active &&
                is_inside(cg->k, a->at, mem_natural(a), &a->at_shared);
}

LLVMValueRef shared_inside_pointer(struct codegen *cg, const struct access *a, int s)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef at = LLVMBuildMul(b, LLVMBuildZExt(b, cg->w, cg->i64, ""),
                                   c64(cg, (uint64_t)a->at_shared.step[s]), "");
    LLVMValueRef p = byte_offset(cg, cg->block.shared, at);
    return byte_offset(cg, p, c64(cg, (uint64_t)a->at_shared.first[s]));
}

void tag_access(struct codegen *cg, const struct access *a, LLVMValueRef v)
{
    tag_memory(cg, v, a->space);
    if (a->inside)
        inside_mark(v);
}
