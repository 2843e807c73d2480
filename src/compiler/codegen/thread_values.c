/* thread_values.c: values that follow from the thread's index and constants alone.
 *
 * Tiles that a block fills by one index are addressed by quotients of it: `tile[k / 34][k % 34]`
 * for `k = threadIdx.y * 32 + threadIdx.x`. Rows end within the warps, so that the quotients are
 * vectors, of some twenty instructions each and, without AVX-512, four times as many. But they are
 * the same in every block. So they are computed where the kernel is compiled, for each thread, and
 * loaded from a table. Whatever is made of them by a few operations is computed as elsewhere. */
#include "compiler/codegen/thread_values.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "compiler/codegen/control/control.h"
#include "compiler/codegen/instructions.h"
#include "compiler/codegen/values.h"

enum {
    STEPS = 48,               /* operations that are followed for a value */
    MOST_INSTRUCTIONS = 2000, /* of a kernel */
    MOST_THREADS = 1024,
    LONG = 10,  /* vector instructions for eight lanes of a product's upper half */
    WORTH = 10, /* as many are worth a load */
    ALIGN = 64  /* bytes */
};

/* ---- values ---- */

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

static bool is_known_width(unsigned bits) { return bits == 16 || bits == 32 || bits == 64; }

static bool can_eval(const struct ptx_instr *i, unsigned type, unsigned bits)
{
    if (ptx_type_is_float((enum ptx_type)type) || !is_known_width(bits) || i->noperands < 2 ||
        i->noperands > 4 || i->operands[0].kind != PTX_OPR_REG || i->guard >= 0 ||
        ptx_has(i, PTX_M_cc) || ptx_has(i, PTX_M_sat))
        return false;
    switch (i->op) {
    case PTX_OP_mul: return !ptx_has(i, PTX_M_hi) || bits <= 32;
    case PTX_OP_cvt: return is_known_width(ptx_type_bits((enum ptx_type)i->types[0]));
    case PTX_OP_mov:
    case PTX_OP_add:
    case PTX_OP_sub:
    case PTX_OP_mad:
    case PTX_OP_shl:
    case PTX_OP_shr:
    case PTX_OP_and:
    case PTX_OP_or:
    case PTX_OP_xor: return !ptx_has(i, PTX_M_hi);
    default: return false;
    }
}

/* What an instruction makes of its operands, which are extended to 64 bits. */
static uint64_t result(const struct ptx_instr *i, const uint64_t *s, unsigned bits, bool is_signed)
{
    switch (i->op) {
    case PTX_OP_add: return s[0] + s[1];
    case PTX_OP_sub: return s[0] - s[1];
    case PTX_OP_mul: {
        uint64_t product = s[0] * s[1];
        if (!ptx_has(i, PTX_M_hi))
            return product;
        return is_signed ? (uint64_t)((int64_t)product >> bits) : product >> bits;
    }
    case PTX_OP_mad: return s[0] * s[1] + s[2];
    case PTX_OP_shl: return s[1] < bits ? s[0] << s[1] : 0; /* all bits are shifted out */
    case PTX_OP_shr:
        if (s[1] >= bits)
            return is_signed && (int64_t)s[0] < 0 ? UINT64_MAX : 0;
        return is_signed ? (uint64_t)((int64_t)s[0] >> s[1]) : s[0] >> s[1];
    case PTX_OP_and: return s[0] & s[1];
    case PTX_OP_or: return s[0] | s[1];
    case PTX_OP_xor: return s[0] ^ s[1];
    default: return s[0];
    }
}

/* Whether it can be told does not depend on the thread. */
static bool eval_register(struct eval *v, int32_t reg, uint64_t *out)
{
    const struct jreg *r = &v->k->regs[reg];
    if (r->ndefs != 1 || r->def < 0 || v->left-- <= 0)
        return false;
    const struct ptx_instr *i = &v->k->instrs[r->def];
    unsigned t = i->ntypes > 0 ? i->types[i->ntypes - 1] : PTX_NONE; /* of what is read */
    unsigned bits = ptx_type_bits((enum ptx_type)t), width = ptx_type_bits((enum ptx_type)r->type);
    bool is_signed = ptx_type_is_signed((enum ptx_type)t), wide = ptx_has(i, PTX_M_wide);
    bool shifts = i->op == PTX_OP_shl || i->op == PTX_OP_shr;
    uint64_t s[3] = {0};
    if (!can_eval(i, t, bits))
        return false;
    for (int n = 1; n < i->noperands; n++) {
        if (!eval_operand(v, &i->operands[n], &s[n - 1]))
            return false;
        unsigned read = n == 3 && wide ? 2 * bits : shifts && n == 2 ? 32 : bits;
        s[n - 1] = extend(s[n - 1], read, is_signed && !(shifts && n == 2));
    }
    unsigned made = wide                  ? 2 * bits
                    : i->op == PTX_OP_cvt ? ptx_type_bits((enum ptx_type)i->types[0])
                                          : bits;
    *out = cut(result(i, s, bits, is_signed), made);
    return width >= made;
}

bool thread_value(const struct jkernel *k, int32_t reg, uint32_t thread, uint64_t *out)
{
    struct eval v = {.k = k, .thread = thread, .left = STEPS};
    return eval_register(&v, reg, out);
}

/* ---- tables ---- */

/* Is a register such a vector, of elements that tables are made of? */
static bool is_candidate(const struct jkernel *k, int32_t reg)
{
    unsigned bits = ptx_type_bits((enum ptx_type)k->regs[reg].type);
    uint64_t any;
    return k->regs[reg].type != PTX_PRED && (bits == 16 || bits == 32) &&
           k->regs[reg].uniformity.seg == SEG_NONE && thread_value(k, reg, 0, &any);
}

/* How many instructions compute eight lanes of a register, but what comes from affine values. */
static int cost(const struct jkernel *k, int32_t reg, int *left)
{
    const struct jreg *r = &k->regs[reg];
    if (r->uniformity.seg != SEG_NONE || r->ndefs != 1 || r->def < 0 || --*left <= 0)
        return 0;
    const struct ptx_instr *i = &k->instrs[r->def];
    unsigned bits = i->ntypes > 0 ? ptx_type_bits((enum ptx_type)i->types[0]) : 0;
    int own = ptx_has(i, PTX_M_hi) || (ptx_has(i, PTX_M_wide) && bits == 32) ? LONG
              : i->op == PTX_OP_mul || i->op == PTX_OP_mad                   ? 2
                                                                             : 1;
    own = bits == 64 ? 2 * own : own;
    for (int n = 1; n < i->noperands; n++)
        if (i->operands[n].kind == PTX_OPR_REG)
            own += cost(k, i->operands[n].reg, left);
    return own;
}

/* Is a register read by what is not in a table itself? */
static bool is_read_elsewhere(const struct jkernel *k, int32_t reg)
{
    for (int32_t n = 0; n < (int32_t)k->ninstrs; n++) {
        struct jroles roles;
        jit_roles(&k->instrs[n], &roles);
        for (int u = 0; u < roles.nuse; u++)
            if (roles.use[u] == reg && (roles.ndef != 1 || !is_candidate(k, roles.def[0])))
                return true;
    }
    return false;
}

bool thread_table_fits(const struct codegen *cg, const struct ptx_instr *i)
{
    const struct jkernel *k = cg->k;
    int left = STEPS;
    return i->operands[0].kind == PTX_OPR_REG && !cg->serialized->active && !k->one_lane &&
           !k->is_function && k->full_warps && k->opt->ntid[0] != 0 &&
           k->ninstrs < MOST_INSTRUCTIONS && k->nwarps * JIT_WARP <= MOST_THREADS &&
           is_candidate(k, i->operands[0].reg) && cost(k, i->operands[0].reg, &left) >= WORTH &&
           is_read_elsewhere(k, i->operands[0].reg);
}

/* The table of a register, made when it is first asked for. */
static LLVMValueRef table_of(struct codegen *cg, int32_t reg, LLVMTypeRef element)
{
    char name[32];
    snprintf(name, sizeof name, "threads.%" PRId32, reg);
    LLVMValueRef table = LLVMGetNamedGlobal(cg->alu.module, name), each[MOST_THREADS];
    if (table != NULL)
        return table;
    unsigned threads = (unsigned)cg->k->nwarps * JIT_WARP;
    for (uint32_t t = 0; t < threads; t++) {
        uint64_t v = 0;
        thread_value(cg->k, reg, t, &v);
        each[t] = LLVMConstInt(element, v, false);
    }
    LLVMValueRef values = LLVMConstArray(element, each, threads);
    table = LLVMAddGlobal(cg->alu.module, LLVMTypeOf(values), name);
    LLVMSetInitializer(table, values);
    LLVMSetGlobalConstant(table, true);
    LLVMSetLinkage(table, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(table, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(table, ALIGN);
    return table;
}

bool emit_thread_table(struct codegen *cg, const struct ptx_instr *i)
{
    LLVMBuilderRef b = cg->alu.b;
    int32_t reg = i->operands[0].reg;
    unsigned bits = ptx_type_bits((enum ptx_type)cg->k->regs[reg].type);
    LLVMTypeRef element = LLVMIntTypeInContext(cg->alu.ctx, bits);
    LLVMValueRef warp = LLVMBuildZExt(b, cg->w, cg->i64, "");
    LLVMValueRef at = LLVMBuildMul(b, warp, c64(cg, JIT_WARP * bits / 8), "");
    LLVMValueRef v = LLVMBuildLoad2(b, LLVMVectorType(element, JIT_WARP),
                                    byte_offset(cg, table_of(cg, reg, element), at), "");
    LLVMSetAlignment(v, ALIGN);
    write_vector(cg, reg, v, jit_bits_type(bits));
    return true;
}
