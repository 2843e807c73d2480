/* shared_permutation.c: accesses to shared memory whose pattern is known at compile time:
 * `part[2 * t - (t & 3)]`, a stride of two, a reversed row.
 *
 * The lanes of a warp then access a range of neighbours, permuted in the same way in every warp. To
 * load, the range is loaded as vectors and a constant shuffle takes the lanes' elements. To store,
 * it is loaded, the lanes' elements are inserted, and it is stored again, which is right since
 * one thread of the machine runs all of the block.
 *
 * Addresses are followed back to thread indices and constants, and computed for each thread. */
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/memory/access.h"
#include "compiler/codegen/values.h"

/* How many operations are followed for an address. */
enum { STEPS = 48 };

struct eval {
    const struct jkernel *k;
    uint32_t thread; /* in the block */
    int left;        /* steps */
};

static bool eval_register(struct eval *v, int32_t reg, uint64_t *out);

static uint64_t cut(uint64_t x, unsigned bits) { return bits >= 64 ? x : x & ((1ull << bits) - 1); }

static uint64_t extend(uint64_t x, unsigned bits, bool is_signed)
{
    if (bits >= 64)
        return x;
    return is_signed ? (uint64_t)((int64_t)(x << (64 - bits)) >> (64 - bits)) : cut(x, bits);
}

static bool eval_operand(struct eval *v, const struct ptx_operand *o, uint64_t *out)
{
    const uint32_t *n = v->k->opt->ntid;
    switch (o->kind) {
    case PTX_OPR_IMM: *out = o->imm; return true;
    case PTX_OPR_REG: return !o->neg && eval_register(v, o->reg, out);
    case PTX_OPR_SYM: {
        int64_t at = o->var != NULL ? jkernel_shared_offset(v->k, o->var) : -1;
        *out = (uint64_t)(at + o->offset);
        return at >= 0 && o->var->space == PTX_SPACE_SHARED;
    }
    case PTX_OPR_SREG:
        if (o->sreg == PTX_SR_laneid)
            *out = v->thread % JIT_WARP;
        else if (o->sreg == PTX_SR_tid && o->component < 3)
            *out = o->component == 0   ? v->thread % n[0]
                   : o->component == 1 ? v->thread / n[0] % n[1]
                                       : v->thread / n[0] / n[1];
        else
            return false;
        return true;
    default: return false;
    }
}

/* The value that thread v->thread has in a register that is written once; false: it depends on more
 * than the thread's index. */
static bool eval_register(struct eval *v, int32_t reg, uint64_t *out)
{
    const struct jreg *r = &v->k->regs[reg];
    if (r->ndefs != 1 || r->def < 0 || v->left-- <= 0)
        return false;
    const struct ptx_instr *i = &v->k->instrs[r->def];
    unsigned t = i->ntypes > 0 ? i->types[i->ntypes - 1] : PTX_NONE;
    unsigned bits = ptx_type_bits((enum ptx_type)t), width = ptx_type_bits((enum ptx_type)r->type);
    bool is_signed = ptx_type_is_signed((enum ptx_type)t), wide = ptx_has(i, PTX_M_wide);
    uint64_t s[3] = {0};
    if (ptx_type_is_float((enum ptx_type)t) || (bits != 32 && bits != 64) || i->noperands > 4 ||
        i->operands[0].kind != PTX_OPR_REG || ptx_has(i, PTX_M_cc) || ptx_has(i, PTX_M_sat) ||
        ptx_has(i, PTX_M_hi))
        return false;
    switch (i->op) {
    case PTX_OP_mov:
    case PTX_OP_cvt:
    case PTX_OP_add:
    case PTX_OP_sub:
    case PTX_OP_mul:
    case PTX_OP_mad:
    case PTX_OP_shl:
    case PTX_OP_shr:
    case PTX_OP_and:
    case PTX_OP_or:
    case PTX_OP_xor: break;
    default: return false;
    }
    for (int n = 1; n < i->noperands; n++) {
        if (!eval_operand(v, &i->operands[n], &s[n - 1]))
            return false;
        bool addend = n == 3 && wide; /* of mad.wide */
        s[n - 1] = extend(s[n - 1], addend ? 2 * bits : bits, is_signed);
    }
    if ((i->op == PTX_OP_shl || i->op == PTX_OP_shr) && s[1] >= bits)
        return false;
    switch (i->op) {
    case PTX_OP_add: s[0] += s[1]; break;
    case PTX_OP_sub: s[0] -= s[1]; break;
    case PTX_OP_mul: s[0] *= s[1]; break;
    case PTX_OP_mad: s[0] = s[0] * s[1] + s[2]; break;
    case PTX_OP_shl: s[0] <<= s[1]; break;
    case PTX_OP_shr: s[0] = is_signed ? (uint64_t)((int64_t)s[0] >> s[1]) : s[0] >> s[1]; break;
    case PTX_OP_and: s[0] &= s[1]; break;
    case PTX_OP_or: s[0] |= s[1]; break;
    case PTX_OP_xor: s[0] ^= s[1]; break;
    case PTX_OP_cvt: /* from types[1]; the destination's own width is cut to below */
        bits = ptx_type_bits((enum ptx_type)i->types[0]);
        if (bits != 32 && bits != 64)
            return false;
        break;
    default: break;
    }
    *out = cut(s[0], wide ? 2 * bits : bits);
    return width >= (wide ? 2 * bits : bits);
}

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
        struct eval v = {.k = cg->k, .thread = (uint32_t)w * JIT_WARP + lane, .left = STEPS};
        uint64_t x;
        if (!eval_register(&v, a->at->reg, &x))
            return false;
        x = extend(x, ptx_type_bits((enum ptx_type)cg->k->regs[a->at->reg].type), false) +
            (uint64_t)a->at->offset;
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
