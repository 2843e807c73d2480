/* shared_permutation.c: accesses to shared memory whose pattern is known at compile time:
 * `part[2 * t - (t & 3)]`, a stride of two, a reversed row.
 *
 * The lanes of a warp then access a range of neighbours, permuted in the same way in every warp. To
 * load, the range is loaded as vectors and a constant shuffle takes the lanes' elements. To store,
 * it is loaded, the lanes' elements are inserted, and it is stored again, which is right since
 * one thread of the machine runs all of the block.
 *
 * Addresses are followed back to thread indices and constants, and computed for each thread
 * (thread_values.c). */
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/thread_values.h"
#include "compiler/codegen/values.h"

/* Which elements the warp's lanes access: first(w) + at[lane], first(w) = start + w * step
 * bytes. */
struct permutation {
    uint8_t at[JIT_WARP];
    unsigned elements; /* of the range, which is aligned to its size */
    uint64_t start, step;
};

/* Finds the offsets of the lanes of warp w in the smallest aligned range of so many elements;
 * false: they are not in one. */
static bool warp_offsets(const struct codegen *cg, const struct access *a, int32_t w,
                         unsigned elements, uint8_t *at, uint64_t *first)
{
    uint64_t bytes = (uint64_t)elements * a->bytes;
    for (unsigned lane = 0; lane < JIT_WARP; lane++) {
        uint64_t x;
        if (!thread_value(cg->k, a->at->reg, (uint32_t)w * JIT_WARP + lane, &x))
            return false;
        x += (uint64_t)a->at->offset;
        if (lane == 0)
            *first = x & ~(bytes - 1);
        if (x < *first || x - *first >= bytes || x % a->bytes != 0)
            return false;
        at[lane] = (uint8_t)((x - *first) / a->bytes);
    }
    return *first + bytes <= cg->k->shared_bytes;
}

static bool find_permutation(const struct codegen *cg, const struct access *a, unsigned elements,
                             struct permutation *win)
{
    uint8_t at[JIT_WARP];
    uint64_t first;
    win->elements = elements;
    win->step = 0;
    if (!warp_offsets(cg, a, 0, elements, win->at, &win->start))
        return false;
    for (int32_t w = 1; w < cg->k->nwarps; w++) {
        if (!warp_offsets(cg, a, w, elements, at, &first))
            return false;
        if (w == 1)
            win->step = first - win->start;
        for (unsigned lane = 0; lane < JIT_WARP; lane++)
            if (at[lane] != win->at[lane])
                return false;
        if (first != win->start + (uint64_t)w * win->step)
            return false;
    }
    return true;
}

/* Ranges of 64 elements before those of 32: accesses to one array should use the same. */
static bool permutation_of(const struct codegen *cg, const struct access *a,
                           struct permutation *win)
{
    const struct jkernel *k = cg->k;
    return a->space == PTX_SPACE_SHARED && a->vec == 1 && a->bytes == 4 && !a->is_volatile &&
           a->at->reg >= 0 && !cg->serialized->active && !cg->alu.has_avx512 && !k->is_function &&
           k->full_warps && k->opt->ntid[0] != 0 && k->ninstrs < 2000 &&
           (find_permutation(cg, a, 64, win) || find_permutation(cg, a, 32, win));
}

bool permutation_fits(struct codegen *cg, const struct access *a)
{
    struct permutation w;
    return permutation_of(cg, a, &w);
}

static LLVMValueRef window_pointer(struct codegen *cg, const struct permutation *w)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef at = LLVMBuildMul(b, LLVMBuildZExt(b, cg->w, cg->i64, ""), c64(cg, w->step), "");
    return byte_offset(cg, cg->block.shared, LLVMBuildAdd(b, at, c64(cg, w->start), ""));
}

static LLVMValueRef load_window(struct codegen *cg, const struct access *a,
                                const struct permutation *w, LLVMValueRef p)
{
    LLVMValueRef v = LLVMBuildLoad2(cg->alu.b, LLVMVectorType(a->elem, w->elements), p, "");
    LLVMSetAlignment(v, 64);
    tag_memory(cg, v, a->space);
    return v;
}

/* The lanes' elements of a range. */
static LLVMValueRef permute(struct codegen *cg, const struct permutation *w, LLVMValueRef v)
{
    LLVMValueRef idx[JIT_WARP];
    for (unsigned l = 0; l < JIT_WARP; l++)
        idx[l] = c32(cg, w->at[l]);
    return LLVMBuildShuffleVector(cg->alu.b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(idx, JIT_WARP), "");
}

bool permutation_load(struct codegen *cg, const struct access *a, LLVMValueRef *out)
{
    struct permutation w;
    if (!permutation_of(cg, a, &w))
        return false;
    *out = permute(cg, &w, load_window(cg, a, &w, window_pointer(cg, &w)));
    return true;
}

bool permutation_store(struct codegen *cg, const struct access *a, LLVMValueRef v)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef spread[64], merge[64], m = mask_vector(cg);
    struct permutation w;
    if (!permutation_of(cg, a, &w))
        return false;
    LLVMValueRef p = window_pointer(cg, &w), old = load_window(cg, a, &w, p);
    for (unsigned l = 0; m != NULL && l < JIT_WARP; l++)
        for (unsigned other = 0; other < l; other++)
            if (w.at[l] == w.at[other])
                return false; /* the order of those that are active decides */
    if (m != NULL)
        v = LLVMBuildSelect(b, m, v, permute(cg, &w, old), "");
    for (unsigned n = 0; n < w.elements; n++) {
        spread[n] = LLVMGetPoison(cg->i32);
        merge[n] = c32(cg, n);
    }
    for (unsigned l = 0; l < JIT_WARP; l++) {
        spread[w.at[l]] = c32(cg, l);
        merge[w.at[l]] = c32(cg, w.elements + w.at[l]);
    }
    v = LLVMBuildShuffleVector(b, v, LLVMGetPoison(LLVMTypeOf(v)),
                               LLVMConstVector(spread, w.elements), "");
    v = LLVMBuildShuffleVector(b, old, v, LLVMConstVector(merge, w.elements), "");
    LLVMValueRef st = LLVMBuildStore(b, v, p);
    LLVMSetAlignment(st, 64);
    tag_memory(cg, st, a->space);
    return true;
}
