/* access_told: what the helpers of checks are told of accesses.
 *
 * A call costs more than the access. Where the lanes' addresses follow from the first of each
 * segment, only these are told, so that a helper sees a range of bytes and not 32 addresses. And
 * the loads of an unrolled loop, which differ in a constant offset, are told of by one call. */
#include "compiler/codegen/memory/access_told.h"

#include <stdlib.h>

#include "compiler/codegen/instructions.h"
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/memory/defined.h"
#include "compiler/codegen/memory/memory.h"
#include "compiler/codegen/values.h"

enum { SEG_FEW = 3 /* lanes of a segment, as a power of two: fewer are many segments */ };

/* Of each instruction, for each who is told. */
enum { LOAD_UNKNOWN, LOAD_FIRST, LOAD_TOLD };
struct told_instrs {
    uint8_t *is[TOLD_KINDS];
    struct told *first[TOLD_KINDS]; /* of LOAD_FIRST */
};

struct told told_one(const struct ptx_operand *at, unsigned space, unsigned bytes)
{
    return (struct told){.at = *at, .space = space, .bytes = bytes, .count = 1};
}

/* ---- addresses ---- */

/* JIT_SHAPE_ bits of an access's lanes, 0: each lane's address is told. */
static uint32_t shape_of(struct codegen *cg, const struct ptx_operand *at, unsigned bytes)
{
    struct uniformity s = address_uniformity(cg->k, at);
    if (s.seg < SEG_FEW || (s.brk != 0 && !cg->in_converged_copy))
        return 0;
    if (s.stride == 0)
        return s.seg;
    return s.stride == (int64_t)bytes ? s.seg | JIT_SHAPE_NEXT : 0;
}

uint32_t told_shape(struct codegen *cg, const struct told *t)
{
    uint32_t shape = shape_of(cg, &t->at, t->bytes);
    return shape == 0
               ? 0
               : shape | (t->count - 1) << JIT_SHAPE_COUNT_SHIFT | t->step << JIT_SHAPE_STEP_SHIFT;
}

LLVMValueRef told_addresses(struct codegen *cg, const struct told *t)
{
    LLVMBuilderRef b = cg->alu.b;
    uint32_t shape = told_shape(cg, t), seg = shape & JIT_SHAPE_SEG;
    if (shape == 0) {
        helper_row_store(cg, 0, LLVMBuildFreeze(b, address_vector(cg, &t->at, t->space), ""));
        return c32(cg, 0);
    }
    for (int n = 0; n < nsegs(seg); n++) {
        LLVMValueRef first = mem_base(cg, &t->at, seg, n);
        if (t->space == PTX_SPACE_SHARED)
            first = LLVMBuildAdd(b, first, LLVMBuildPtrToInt(b, cg->block.shared, cg->i64, ""), "");
        LLVMBuildStore(b, LLVMBuildFreeze(b, first, ""),
                       byte_offset(cg, helper_rows(cg, 0), c64(cg, (uint64_t)n * 8)));
    }
    return c32(cg, shape);
}

/* ---- loads that are told of together ---- */

static struct told_instrs *instrs_of(struct codegen *cg)
{
    struct jkernel *k = cg->k;
    if (cg->told == NULL) {
        cg->told = arena_alloc(&k->arena, sizeof *cg->told);
        for (int n = 0; n < TOLD_KINDS; n++) {
            cg->told->is[n] = arena_alloc(&k->arena, (size_t)k->ninstrs);
            cg->told->first[n] =
                arena_alloc(&k->arena, (size_t)k->ninstrs * sizeof *cg->told->first[n]);
        }
    }
    return cg->told;
}

/* Instructions that only compute. */
static bool is_arithmetic(const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_add:
    case PTX_OP_sub:
    case PTX_OP_mul:
    case PTX_OP_mul24:
    case PTX_OP_mad:
    case PTX_OP_mad24:
    case PTX_OP_fma:
    case PTX_OP_neg:
    case PTX_OP_abs:
    case PTX_OP_min:
    case PTX_OP_max:
    case PTX_OP_mov:
    case PTX_OP_cvt:
    case PTX_OP_and:
    case PTX_OP_or:
    case PTX_OP_xor:
    case PTX_OP_not:
    case PTX_OP_shl:
    case PTX_OP_shr:
    case PTX_OP_setp:
    case PTX_OP_selp: return true;
    default: return false;
    }
}

static bool is_plain_load(const struct ptx_instr *i)
{
    return i->op == PTX_OP_ld && !ptx_has(i, PTX_M_volatile) && !ptx_has(i, PTX_M_relaxed) &&
           !ptx_has(i, PTX_M_acquire) && !ptx_has(i, PTX_M_mmio);
}

static unsigned bytes_of(const struct ptx_instr *i)
{
    unsigned elements = i->vec != 0 ? i->vec : 1;
    return ptx_type_bits((enum ptx_type)i->types[i->ntypes - 1]) / 8 * elements;
}

/* Whether they load alike but for the offset, and people are told the same of both. */
static bool alike(const struct ptx_instr *a, const struct ptx_instr *b)
{
    const struct ptx_operand *x = &a->operands[1], *y = &b->operands[1];
    return is_plain_load(b) && b->guard < 0 && mem_space(a) == mem_space(b) && a->vec == b->vec &&
           bytes_of(a) == bytes_of(b) && x->kind == y->kind && x->reg == y->reg &&
           x->var == y->var && a->loc_file == b->loc_file && a->loc_line == b->loc_line &&
           a->loc_inlined_at == b->loc_inlined_at;
}

static bool redefines(const struct ptx_instr *i, int32_t reg)
{
    struct jroles roles;
    jit_roles(i, &roles);
    for (int n = 0; n < roles.ndef; n++)
        if (roles.def[n] == reg)
            return true;
    return false;
}

/* Loads of the rest of a block that are like its first one. */
struct likes {
    int32_t index[JIT_SHAPE_COUNT_MAX]; /* of the instruction */
    int64_t offset[JIT_SHAPE_COUNT_MAX];
    int count;
};

static int32_t end_of_block(const struct jkernel *k, int32_t index)
{
    for (int32_t b = 0; b < k->nblocks; b++)
        if (index >= k->blocks[b].first && index < k->blocks[b].first + k->blocks[b].count)
            return k->blocks[b].first + k->blocks[b].count;
    return index + 1;
}

static void find_likes(struct codegen *cg, int32_t first, enum told_to whom, struct likes *l)
{
    const struct jkernel *k = cg->k;
    const struct ptx_instr *i = &k->instrs[first];
    int32_t end = end_of_block(k, first);
    l->count = 0;
    for (int32_t n = first; n < end && l->count < JIT_SHAPE_COUNT_MAX; n++) {
        const struct ptx_instr *o = &k->instrs[n];
        if (!is_plain_load(o) && !is_arithmetic(o))
            return;
        if (o->op == PTX_OP_ld && alike(i, o) && cg->told->is[whom][n] == LOAD_UNKNOWN &&
            (whom != TOLD_DEFINED || !defined_is_copied(cg, o))) {
            l->index[l->count] = n;
            l->offset[l->count++] = o->operands[1].offset;
        }
        if (redefines(o, i->operands[1].reg))
            return;
    }
}

/* The offsets from the first load's on that follow each other by `step`: how many. */
static uint32_t steps_from(const struct likes *l, int64_t step, int64_t *last)
{
    uint32_t count = 0;
    int64_t next = l->offset[0];
    for (bool found = true; found; count += found) {
        found = false;
        for (int n = 0; n < l->count && !found; n++)
            found = l->offset[n] == next;
        next += found ? step : 0;
    }
    *last = next;
    return count;
}

/* The step between offsets by which the most follow from the first. */
static int64_t best_step(const struct likes *l, uint32_t *count)
{
    int64_t best = 0, last;
    *count = 1;
    for (int n = 1; n < l->count && n <= 4; n++) {
        int64_t step = l->offset[n] - l->offset[0];
        if (step <= 0 || step > (int64_t)JIT_SHAPE_STEP_MAX)
            continue;
        uint32_t found = steps_from(l, step, &last);
        if (found > *count) {
            *count = found;
            best = step;
        }
    }
    return best;
}

static void tell_together(struct codegen *cg, const struct likes *l, enum told_to whom,
                          struct told *t)
{
    uint32_t count;
    int64_t step = best_step(l, &count);
    for (int n = 1; n < l->count; n++) {
        int64_t from = l->offset[n] - l->offset[0];
        if (from == 0 || (step > 0 && from > 0 && from % step == 0 && from / step < (int64_t)count))
            cg->told->is[whom][l->index[n]] = LOAD_TOLD;
    }
    bool same = (shape_of(cg, &t->at, t->bytes) & JIT_SHAPE_NEXT) == 0;
    if (same && step == (int64_t)t->bytes) {
        t->bytes *= count; /* one range */
        return;
    }
    t->count = count;
    t->step = (uint32_t)step;
}

bool told_loads(struct codegen *cg, const struct ptx_instr *i, struct told *t, enum told_to whom)
{
    struct jkernel *k = cg->k;
    int64_t index = i - k->instrs;
    if (index < 0 || index >= (int64_t)k->ninstrs || !is_plain_load(i) || i->guard >= 0 ||
        shape_of(cg, &t->at, t->bytes) == 0 || (whom == TOLD_DEFINED && defined_is_copied(cg, i)))
        return true;
    struct told_instrs *told = instrs_of(cg);
    uint8_t *is = &told->is[whom][index];
    if (*is == LOAD_UNKNOWN) {
        struct likes l;
        find_likes(cg, (int32_t)index, whom, &l);
        *is = LOAD_FIRST;
        if (l.count > 1)
            tell_together(cg, &l, whom, t);
        told->first[whom][index] = *t;
    } else if (*is == LOAD_FIRST) { /* in another copy of the block */
        *t = told->first[whom][index];
    }
    return *is == LOAD_FIRST;
}
