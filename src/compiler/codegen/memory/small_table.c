/* small_table.c: loads by an index into a few elements, as permutations of a register.
 *
 * `table[x & 15]`, `before[warp][digit]`: where the instructions that make an index bound it, all
 * elements that any lane may load are one or two registers of the CPU. A load of these and a
 * permutation take a few cycles, a gather some twenty for as many lanes. What no lane loads is read
 * as well, so it must be accessible: of shared memory it is, on both sides; elsewhere a test at run
 * time tells that all lies in one page with an element of an active lane. */
#include "base/base.h"
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/values.h"

enum {
    MOST_INSTRUCTIONS = 1000, /* larger kernels are to become code that is small */
    BYTES = 4                 /* of an element */
};

/* `count` elements from p on, and which of them each lane loads: <32 x i32>, in the low bits. */
struct table {
    LLVMValueRef p, index; /* i64: an address, or an offset into shared memory */
    unsigned count;
};

static bool fits(const struct codegen *cg, const struct access *a)
{
    return cg->alu.has_avx2 && a->bytes == BYTES && a->vec == 1 && !a->is_volatile &&
           !a->windowed &&
           (a->space == PTX_SPACE_GLOBAL || a->space == PTX_SPACE_GENERIC ||
            a->space == PTX_SPACE_CONST || a->space == PTX_SPACE_SHARED) &&
           a->uniformity.seg == SEG_NONE && a->uniformity.hint_seg == SEG_NONE &&
           !cg->serialized->active && !cg->k->one_lane && cg->k->ninstrs < MOST_INSTRUCTIONS;
}

static bool find_table(struct codegen *cg, const struct access *a, struct table *t)
{
    LLVMBuilderRef b = cg->alu.b;
    struct lane_addresses w = {0};
    int64_t lo, hi, most = cg->alu.has_avx512 ? 32 : 16;
    if (!find_lane_index(cg, a, &w) || w.scale != BYTES || w.of->kind != PTX_OPR_REG ||
        !jit_range(cg->k, w.of->reg, &lo, &hi) || hi - lo >= most)
        return false;
    t->count = (unsigned)(hi - lo + 1);
    t->p = LLVMBuildAdd(b, w.base, c64(cg, (uint64_t)lo * BYTES), "");
    t->index = LLVMBuildSub(b, w.index, splat(cg, c32(cg, (uint64_t)lo), JIT_WARP), "");
    return true;
}

/* Lanes of a register of 32-bit elements. */
static unsigned register_lanes(const struct codegen *cg) { return cg->alu.has_avx512 ? 16 : 8; }

/* i1: is all of the table aligned, and accessible? */
static LLVMValueRef is_accessible(struct codegen *cg, const struct access *a, const struct table *t)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMValueRef low = LLVMBuildAnd(b, t->p, c64(cg, BYTES - 1), "");
    LLVMValueRef ok = LLVMBuildICmp(b, LLVMIntEQ, low, c64(cg, 0), "");
    if (cg->mask != NULL)
        ok = LLVMBuildAnd(b, ok, LLVMBuildICmp(b, LLVMIntNE, cg->mask, c32(cg, 0), ""), "");
    if (a->space == PTX_SPACE_SHARED)
        return ok;
    unsigned n = register_lanes(cg), bytes = (t->count + n - 1) / n * n * BYTES;
    LLVMValueRef in_page = LLVMBuildAnd(b, t->p, c64(cg, WEIR_PAGE - 1), "");
    LLVMValueRef fits = LLVMBuildICmp(b, LLVMIntULE, in_page, c64(cg, WEIR_PAGE - bytes), "");
    return LLVMBuildAnd(b, ok, fits, "");
}

static LLVMValueRef permuted(struct codegen *cg, const LLVMValueRef *part, unsigned parts,
                             LLVMValueRef by)
{
    LLVMBuilderRef b = cg->alu.b;
    if (cg->alu.has_avx512) {
        LLVMValueRef one[2] = {part[0], by}, two[3] = {part[0], by, part[1]};
        return parts == 1 ? intrinsic(cg, "llvm.x86.avx512.permvar.si.512", NULL, 0, one, 2)
                          : intrinsic(cg, "llvm.x86.avx512.vpermi2var.d.512", NULL, 0, two, 3);
    }
    LLVMValueRef v[2];
    for (unsigned n = 0; n < parts; n++) {
        LLVMValueRef args[2] = {part[n], by};
        v[n] = intrinsic(cg, "llvm.x86.avx2.permd", NULL, 0, args, 2);
    }
    if (parts == 1)
        return v[0];
    LLVMValueRef sign = LLVMBuildShl(b, by, splat(cg, c32(cg, 28), 8), "");
    sign = LLVMBuildICmp(b, LLVMIntSLT, sign, LLVMConstNull(LLVMTypeOf(sign)), "");
    return LLVMBuildSelect(b, sign, v[1], v[0], "");
}

static LLVMValueRef load(struct codegen *cg, const struct access *a, const struct table *t)
{
    LLVMBuilderRef b = cg->alu.b;
    unsigned n = register_lanes(cg), parts = (t->count + n - 1) / n, idx[JIT_WARP];
    LLVMValueRef part[2], out[JIT_WARP / 8];
    LLVMValueRef p = a->space == PTX_SPACE_SHARED ? byte_offset(cg, cg->block.shared, t->p)
                                                  : LLVMBuildIntToPtr(b, t->p, cg->ptr, "");
    for (unsigned k = 0; k < parts; k++) {
        LLVMValueRef at = byte_offset(cg, p, c64(cg, (uint64_t)k * n * BYTES));
        part[k] = LLVMBuildLoad2(b, LLVMVectorType(cg->i32, n), at, "");
        LLVMSetAlignment(part[k], BYTES);
        tag_memory(cg, part[k], a->space);
    }
    for (unsigned g = 0; g < JIT_WARP / n; g++) {
        for (unsigned l = 0; l < n; l++)
            idx[l] = g * n + l;
        out[g] = permuted(cg, part, parts, shuffle(cg, t->index, NULL, idx, n));
    }
    return LLVMBuildBitCast(b, join_vectors(cg, out, JIT_WARP / n),
                            LLVMVectorType(a->elem, JIT_WARP), "");
}

bool small_table_begin(struct codegen *cg, const struct access *a, struct small_table *s)
{
    struct table t;
    if (!fits(cg, a) || !find_table(cg, a, &t))
        return false;
    mask_vector(cg); /* computed here, so that both branches may use it */
    LLVMBasicBlockRef near = new_bb(cg, "table"), other = new_bb(cg, "no_table");
    s->join = new_bb(cg, "looked_up");
    branch_likely(cg, is_accessible(cg, a, &t), near, other);
    LLVMPositionBuilderAtEnd(cg->alu.b, near);
    s->v = load(cg, a, &t);
    s->from = LLVMGetInsertBlock(cg->alu.b);
    LLVMBuildBr(cg->alu.b, s->join);
    LLVMPositionBuilderAtEnd(cg->alu.b, other);
    return true;
}

LLVMValueRef small_table_end(struct codegen *cg, const struct small_table *s, LLVMValueRef v)
{
    LLVMBuilderRef b = cg->alu.b;
    LLVMBasicBlockRef from[2] = {s->from, LLVMGetInsertBlock(b)};
    LLVMBuildBr(b, s->join);
    LLVMPositionBuilderAtEnd(b, s->join);
    LLVMValueRef phi = LLVMBuildPhi(b, LLVMTypeOf(v), "");
    LLVMAddIncoming(phi, (LLVMValueRef[]){s->v, v}, from, 2);
    return phi;
}
