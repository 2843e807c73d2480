/* whole_blocks: blocks none of whose threads a guard sends away have code of their own.
 *
 * Kernels often begin with `if (x >= width || y >= height) return;`. For all blocks of a grid but
 * those at its edges that is true of no thread, but it keeps warps from being known to take the
 * same path: those of a block cannot share the rows of memory that a loop reads
 * (warp_interleaving.c). So a predicate of the block tells whether all its threads stay, the guards
 * are passed by where it holds, and unswitching.c writes what follows for either outcome.
 *
 * A guard is a comparison of an index along x, y or z (%ctaid * %ntid + %tid, or a minimum or
 * maximum of such) with a value that the block has in common. Indices grow with the thread, so a
 * comparison that holds for the first and for the last thread of the block holds for those between:
 * both are computed. They do not wrap around: grids have 65535 blocks at most in y and z, and in x
 * as many as grid_small says, which allows for what programs add to an index. */
#include <stdlib.h>

#include "compiler/arithmetic/arithmetic.h"
#include "compiler/front/flatten.h"

enum { MOST_GUARDS = 4, MOST_DEPTH = 12, MOST_SEEN = 60 };

/* What may be added to an index: as often as MOST_DEPTH, it is less than JIT_GRID_MARGIN. */
enum { MOST_OFFSET = 1 << 14 };

struct whole {
    struct jkernel *k;
    int32_t *ndefs, *def;
    uint8_t *is_target;
    const struct ptx_instr *old; /* the list as it was */
    int32_t guards[MOST_GUARDS], nguards;
    bool last;    /* the block's last thread is looked at, else its first */
    int32_t seen; /* instructions that make the values in common */
    int32_t all;  /* the predicate; -1 at first */
};

static const struct ptx_instr *def_of(const struct whole *w, const struct ptx_operand *o)
{
    bool one = o->kind == PTX_OPR_REG && !o->neg && w->ndefs[o->reg] == 1;
    const struct ptx_instr *i = one ? &w->old[w->def[o->reg]] : NULL;
    return i != NULL && i->guard < 0 && i->noperands > 0 && i->operands[0].kind == PTX_OPR_REG
               ? i
               : NULL;
}

/* ---- what the values are ---- */

/* One value for the block, computed from parameters and numbers of blocks. */
static bool is_common(struct whole *w, const struct ptx_operand *o, int depth)
{
    struct diag ignored = {0};
    if (o->kind == PTX_OPR_IMM)
        return true;
    if (o->kind == PTX_OPR_SREG)
        return o->sreg == PTX_SR_ctaid || o->sreg == PTX_SR_nctaid || o->sreg == PTX_SR_ntid;
    const struct ptx_instr *i = def_of(w, o);
    if (i == NULL || depth == MOST_DEPTH || ++w->seen > MOST_SEEN)
        return false;
    if (i->op == PTX_OP_ld)
        return i->nspaces > 0 && i->spaces[0] == PTX_SPACE_PARAM && i->noperands == 2 &&
               i->operands[1].reg < 0;
    if (i->op == PTX_OP_call || (i->op != PTX_OP_mov && !alu_supported(i, &ignored)) ||
        jit_ndst(i) != 1)
        return false;
    for (int s = 1; s < i->noperands; s++)
        if (!is_common(w, &i->operands[s], depth + 1))
            return false;
    return true;
}

static bool is_special(const struct whole *w, const struct ptx_operand *o, unsigned sreg, int d)
{
    for (int n = 0; n < MOST_DEPTH && o->kind == PTX_OPR_REG; n++) {
        const struct ptx_instr *i = def_of(w, o);
        if (i == NULL || i->op != PTX_OP_mov || i->noperands != 2)
            return false;
        o = &i->operands[1];
    }
    return o->kind == PTX_OPR_SREG && o->sreg == sreg && o->component == d;
}

static bool is_width(const struct whole *w, const struct ptx_operand *o, int d)
{
    for (int n = 0; n < MOST_DEPTH && o->kind == PTX_OPR_REG; n++) {
        const struct ptx_instr *i = def_of(w, o);
        if (i == NULL || i->op != PTX_OP_mov || i->noperands != 2)
            return false;
        o = &i->operands[1];
    }
    return o->kind == PTX_OPR_IMM
               ? o->imm == w->k->opt->ntid[d]
               : o->kind == PTX_OPR_SREG && o->sreg == PTX_SR_ntid && o->component == d;
}

static bool is_word(const struct ptx_instr *i)
{
    return i->ntypes == 1 &&
           (i->types[0] == PTX_U32 || i->types[0] == PTX_S32 || i->types[0] == PTX_B32);
}

/* The first index of a block along d: %ctaid * %ntid. */
static bool is_first(const struct whole *w, const struct ptx_operand *o, int d)
{
    const struct ptx_instr *i = def_of(w, o);
    if (i == NULL || !is_word(i) || i->noperands != 3)
        return false;
    const struct ptx_operand *a = &i->operands[1], *b = &i->operands[2];
    if (i->op == PTX_OP_shl)
        return is_special(w, a, PTX_SR_ctaid, d) && b->kind == PTX_OPR_IMM && b->imm < 32 &&
               (uint32_t)1 << b->imm == w->k->opt->ntid[d];
    return i->op == PTX_OP_mul && ptx_has(i, PTX_M_lo) &&
           ((is_special(w, a, PTX_SR_ctaid, d) && is_width(w, b, d)) ||
            (is_special(w, b, PTX_SR_ctaid, d) && is_width(w, a, d)));
}

static bool is_index_along(const struct whole *w, const struct ptx_instr *i, int d)
{
    const struct ptx_operand *a = &i->operands[1], *b = &i->operands[2], *c = &i->operands[3];
    if (!is_word(i))
        return false;
    if (i->op == PTX_OP_mad)
        return i->noperands == 4 && ptx_has(i, PTX_M_lo) && !ptx_has(i, PTX_M_cc) &&
               is_special(w, c, PTX_SR_tid, d) &&
               ((is_special(w, a, PTX_SR_ctaid, d) && is_width(w, b, d)) ||
                (is_special(w, b, PTX_SR_ctaid, d) && is_width(w, a, d)));
    bool sum = (i->op == PTX_OP_add && i->nmods == 0) || i->op == PTX_OP_or;
    /* The bits of `or` are not in both where widths are powers of two. */
    uint32_t width = w->k->opt->ntid[d];
    return sum && i->noperands == 3 && (i->op == PTX_OP_add || (width & (width - 1)) == 0) &&
           ((is_first(w, a, d) && is_special(w, b, PTX_SR_tid, d)) ||
            (is_first(w, b, d) && is_special(w, a, PTX_SR_tid, d)));
}

/* Is it a register and a small number? What is added to indices does not make them wrap around:
 * where grid_small holds, these are that much smaller. */
static bool is_offset(const struct ptx_instr *i, bool *negative)
{
    if (i->op != PTX_OP_add || i->nmods != 0 || i->noperands != 3 || !is_word(i) ||
        i->operands[1].kind != PTX_OPR_REG || i->operands[2].kind != PTX_OPR_IMM)
        return false;
    int32_t by = (int32_t)i->operands[2].imm;
    *negative |= by < 0;
    return by >= -MOST_OFFSET && by <= MOST_OFFSET;
}

/* A number, to INT32_MAX, that grows, or stays, with each index of the thread; *negative: it may be
 * less than 0. */
static bool grows(const struct whole *w, const struct ptx_operand *o, int depth, bool *negative)
{
    const struct ptx_instr *i = def_of(w, o);
    if (i == NULL || depth == MOST_DEPTH)
        return false;
    for (int d = 0; d < 3; d++)
        if (is_index_along(w, i, d))
            return true;
    switch (i->op) {
    case PTX_OP_mov:
        return i->noperands == 2 && is_word(i) && i->operands[1].kind == PTX_OPR_REG &&
               grows(w, &i->operands[1], depth + 1, negative);
    case PTX_OP_add:
        return is_offset(i, negative) && grows(w, &i->operands[1], depth + 1, negative);
    case PTX_OP_cvt: /* to 64 bits */
        return i->ntypes == 2 && i->nmods == 0 && i->noperands == 2 &&
               (i->types[0] == PTX_U64 || i->types[0] == PTX_S64) &&
               (i->types[1] == PTX_U32 || i->types[1] == PTX_S32) &&
               grows(w, &i->operands[1], depth + 1, negative) &&
               (!*negative || (i->types[0] == PTX_S64 && i->types[1] == PTX_S32));
    case PTX_OP_min:
    case PTX_OP_max:
        return is_word(i) && i->nmods == 0 && i->noperands == 3 &&
               grows(w, &i->operands[1], depth + 1, negative) &&
               grows(w, &i->operands[2], depth + 1, negative) &&
               (!*negative || i->types[0] == PTX_S32);
    default: return false;
    }
}

static bool orders(const struct ptx_instr *i)
{
    static const uint16_t orders[] = {PTX_M_lt, PTX_M_le, PTX_M_gt, PTX_M_ge,
                                      PTX_M_lo, PTX_M_ls, PTX_M_hi, PTX_M_hs};
    unsigned t = i->types[0];
    bool whole = t == PTX_S32 || t == PTX_U32 || t == PTX_S64 || t == PTX_U64;
    for (size_t n = 0; n < WEIR_COUNT(orders); n++)
        if (i->nmods == 1 && i->mods[0] == orders[n])
            return i->op == PTX_OP_setp && i->ntypes == 1 && whole && i->noperands == 3;
    return false;
}

/* May it be told of the block whether the predicate is `want` for all its threads? */
static bool is_told(struct whole *w, const struct ptx_operand *pred, bool want, int depth)
{
    const struct ptx_instr *i = def_of(w, pred);
    if (i == NULL || depth == MOST_DEPTH)
        return false;
    if (i->op == (want ? PTX_OP_and : PTX_OP_or) && i->ntypes == 1 && i->types[0] == PTX_PRED)
        return is_told(w, &i->operands[1], want, depth + 1) &&
               is_told(w, &i->operands[2], want, depth + 1);
    if (i->op == PTX_OP_not && i->ntypes == 1 && i->types[0] == PTX_PRED)
        return is_told(w, &i->operands[1], !want, depth + 1);
    if (!orders(i))
        return false;
    const struct ptx_operand *a = &i->operands[1], *b = &i->operands[2];
    bool negative = false;
    return ((grows(w, a, 0, &negative) && is_common(w, b, 0)) ||
            (is_common(w, a, 0) && grows(w, b, 0, &negative))) &&
           (!negative || i->types[0] == PTX_S32 || i->types[0] == PTX_S64);
}

/* ---- the guards ---- */

static bool ends(const struct whole *w, int32_t n)
{
    const struct jkernel *k = w->k;
    for (int jumps = 0; jumps < 4 && n < (int32_t)k->ninstrs; jumps++) {
        const struct ptx_instr *i = &k->instrs[n];
        if (i->op != PTX_OP_bra || i->guard >= 0)
            return i->op == PTX_OP_exit && i->guard < 0 && i->noperands == 0;
        n = i->operands[0].target;
    }
    return false;
}

/* Those that the kernel begins with; what a thread does up to there, it does in any case. */
static void find_guards(struct whole *w)
{
    const struct jkernel *k = w->k;
    for (int32_t n = 0; n < (int32_t)k->ninstrs && w->nguards < MOST_GUARDS; n++) {
        const struct ptx_instr *i = &k->instrs[n];
        if (w->is_target[n])
            return;
        bool leaves = i->guard >= 0 && ((i->op == PTX_OP_exit && i->noperands == 0) ||
                                        (i->op == PTX_OP_bra && ends(w, i->operands[0].target)));
        struct ptx_operand pred = flat_reg_operand(i->guard);
        if (leaves && is_told(w, &pred, i->guard_neg, 0))
            w->guards[w->nguards++] = n;
        else if (i->op == PTX_OP_bra || i->op == PTX_OP_exit)
            return;
    }
}

/* ---- the predicate ---- */

static struct ptx_operand number(uint64_t n)
{
    return (struct ptx_operand){.kind = PTX_OPR_IMM, .reg = -1, .imm = n};
}

/* The value for the thread that is looked at, by instructions of its own. */
static struct ptx_operand push_value(struct whole *w, const struct ptx_operand *o)
{
    struct jkernel *k = w->k;
    if (o->kind == PTX_OPR_SREG && o->sreg == PTX_SR_tid)
        return number(w->last ? k->opt->ntid[o->component] - 1 : 0);
    const struct ptx_instr *i = def_of(w, o);
    if (i == NULL)
        return *o;
    struct ptx_instr copy = *i;
    copy.operands = arena_alloc(&k->arena, sizeof *copy.operands * copy.noperands);
    for (int s = 1; s < i->noperands; s++)
        copy.operands[s] = push_value(w, &i->operands[s]);
    const struct jreg from = k->regs[o->reg];
    copy.operands[0] = flat_reg_operand(flat_reg(k, from.name, from.type));
    *flat_push(k) = copy;
    return copy.operands[0];
}

/* A new predicate of one or two. */
static int32_t push_logic(struct whole *w, enum ptx_op op, int32_t a, int32_t b)
{
    struct jkernel *k = w->k;
    int32_t reg = flat_reg(k, "all", PTX_PRED);
    struct ptx_instr *i = flat_push(k);
    i->op = (uint16_t)op;
    i->types[i->ntypes++] = PTX_PRED;
    i->noperands = op == PTX_OP_not ? 2 : 3;
    i->operands = arena_alloc(&k->arena, sizeof *i->operands * i->noperands);
    i->operands[0] = flat_reg_operand(reg);
    i->operands[1] = flat_reg_operand(a);
    if (op != PTX_OP_not)
        i->operands[2] = flat_reg_operand(b);
    return reg;
}

/* Adds to `all` that the predicate is `want` for the thread that is looked at. */
static void push_test(struct whole *w, const struct ptx_operand *pred, bool want)
{
    const struct ptx_instr *i = def_of(w, pred);
    if (i->op == PTX_OP_not) {
        push_test(w, &i->operands[1], !want);
        return;
    }
    if (i->op != PTX_OP_setp) {
        push_test(w, &i->operands[1], want);
        push_test(w, &i->operands[2], want);
        return;
    }
    int32_t holds = push_value(w, pred).reg;
    if (!want)
        holds = push_logic(w, PTX_OP_not, holds, -1);
    w->all = w->all < 0 ? holds : push_logic(w, PTX_OP_and, w->all, holds);
}

static void push_all(struct whole *w)
{
    for (int last = 0; last < 2; last++)
        for (int g = 0; g < w->nguards; g++) {
            const struct ptx_instr *i = &w->old[w->guards[g]];
            struct ptx_operand pred = flat_reg_operand(i->guard);
            w->last = last != 0;
            push_test(w, &pred, i->guard_neg);
        }
}

/* Puts the predicate in front of the first guard, and branches around each where it holds. Returns
 * where the first of these is. */
static int32_t rewrite(struct whole *w)
{
    struct jkernel *k = w->k;
    int32_t first = -1, g = 0;
    struct rebuilt list = flat_rebuild(k);
    for (size_t n = 0; n < list.count; n++) {
        list.moved[n] = (int32_t)k->ninstrs;
        if (g < w->nguards && (int32_t)n == w->guards[g]) {
            if (g++ == 0) {
                push_all(w);
                first = (int32_t)k->ninstrs;
            }
            flat_push_branch(k, &list.old[n], w->all, false, (int32_t)n + 1);
        }
        *flat_push(k) = list.old[n];
    }
    flat_rebuilt(k, &list);
    return first;
}

void flat_whole_blocks(struct jkernel *k)
{
    k->has_whole = false;
    if (!k->whole_blocks || k->opt->ntid[0] == 0 || !k->opt->grid_small)
        return;
    struct whole w = {.k = k,
                      .old = k->instrs,
                      .all = -1,
                      .ndefs = xcalloc(k->nregs + 1, sizeof *w.ndefs),
                      .def = xcalloc(k->nregs + 1, sizeof *w.def),
                      .is_target = xcalloc(k->ninstrs + 1, 1)};
    for (int32_t n = 0; n < (int32_t)k->ninstrs; n++) {
        struct jroles r;
        jit_roles(&k->instrs[n], &r);
        for (int d = 0; d < r.ndef; d++) {
            w.ndefs[r.def[d]]++;
            w.def[r.def[d]] = n;
        }
        if (k->instrs[n].op == PTX_OP_bra)
            w.is_target[k->instrs[n].operands[0].target] = 1;
    }
    find_guards(&w);
    if (w.nguards > 0)
        k->has_whole = flat_unswitch_at(k, rewrite(&w));
    free(w.ndefs);
    free(w.def);
    free(w.is_target);
}
