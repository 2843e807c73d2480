/* table_rows: finds addresses that step from row to row of a small table.
 *
 *   for (int w = 0; w < warp; w++) place += before[w][digit];
 *
 * Compilers keep the address of each thread's element, and add the length of a row to it in each
 * iteration (strength reduction): a vector of addresses of which nothing is known. Here it becomes
 * again what all lanes have in common, which steps, and the lane's index, which does not. It is
 * done where the index is bounded by a few elements: then a row is loaded once and permuted
 * (codegen/memory/small_table.c).
 *
 * The address has two definitions: a sum, of values with one definition each, and the step. Where
 * it is used, the last sum was made after the last of these values: whatever path leads from one of
 * them to the use passes the sum, which is on every path to the use and needs the value itself. So
 * the sum can be made anew at each use. The analyses begin anew with the instructions changed. */
#include "compiler/front/flatten.h"
#include "compiler/passes.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_INSTRS = 4000, /* of a kernel */
    MAX_ELEMENTS = 32, /* of a row */
    ELEMENT_BYTES = 4
};

struct search {
    struct jkernel *k;
    int32_t *number, *idom; /* per block: in reverse postorder, immediate dominator */
    int32_t *block;         /* per instruction, -1: it is in none */
    int32_t *other;         /* per register of two definitions: one of them, the first one found */
    int32_t *last;          /* and the other one */
    uint8_t *uses;          /* per register: is it used otherwise than by loads and its step? */
};

/* Is instruction x on every path to y, in front of it? */
static bool comes_before(const struct search *s, int32_t x, int32_t y)
{
    int32_t a = s->block[x], b = s->block[y];
    if (a < 0 || b < 0 || s->number[a] < 0 || s->number[b] < 0)
        return false;
    return a == b ? x < y : graph_dominates(s->idom, s->number, a, b);
}

/* Has a register one definition, which is on every path to instruction n? */
static bool is_single(const struct search *s, int32_t reg, int32_t n)
{
    const struct jreg *r = &s->k->regs[reg];
    return r->ndefs == 1 && r->def >= 0 && comes_before(s, r->def, n);
}

static const struct ptx_instr *single_definition(const struct search *s, int32_t reg, int32_t n)
{
    return is_single(s, reg, n) ? &s->k->instrs[s->k->regs[reg].def] : NULL;
}

static bool is_plain(const struct ptx_instr *i, enum ptx_op op, int noperands)
{
    return i->op == op && i->guard < 0 && i->noperands == noperands && jit_ndst(i) == 1 &&
           !ptx_has(i, PTX_M_cc);
}

static bool is_sum(const struct ptx_instr *i)
{
    return is_plain(i, PTX_OP_add, 3) && i->ntypes == 1 &&
           ptx_type_bits((enum ptx_type)i->types[0]) == 64 && !ptx_has(i, PTX_M_sat);
}

static bool is_immediate(const struct ptx_operand *o, uint64_t v)
{
    return o->kind == PTX_OPR_IMM && o->imm == v;
}

/* ---- the index ---- */

/* Is a register, read at instruction n, an index of few elements, widened and scaled? */
static bool find_index(const struct search *s, int32_t reg, int32_t n, struct jtable_row *row)
{
    const struct ptx_instr *i = single_definition(s, reg, n);
    int32_t index = -1, widened = -1;
    row->nchain = 0;
    if (i == NULL)
        return false;
    if (is_plain(i, PTX_OP_mul, 3) && ptx_has(i, PTX_M_wide) && i->types[0] == PTX_U32 &&
        is_immediate(&i->operands[2], ELEMENT_BYTES) && i->operands[1].kind == PTX_OPR_REG) {
        index = i->operands[1].reg;
        widened = s->k->regs[reg].def;
        row->chain[row->nchain++] = widened;
    } else if (is_plain(i, PTX_OP_shl, 3) && is_immediate(&i->operands[2], 2) &&
               i->types[0] == PTX_B64 && i->operands[1].kind == PTX_OPR_REG) {
        const struct ptx_instr *c = single_definition(s, i->operands[1].reg, s->k->regs[reg].def);
        if (c == NULL || !is_plain(c, PTX_OP_cvt, 2) || c->ntypes != 2 || c->types[0] != PTX_U64 ||
            c->types[1] != PTX_U32 || c->operands[1].kind != PTX_OPR_REG)
            return false;
        index = c->operands[1].reg;
        widened = s->k->regs[i->operands[1].reg].def;
        row->chain[row->nchain++] = widened;
        row->chain[row->nchain++] = s->k->regs[reg].def;
    }
    int64_t lo, hi;
    return index >= 0 && is_single(s, index, widened) && jit_range(s->k, index, &lo, &hi) &&
           hi - lo < MAX_ELEMENTS;
}

/* ---- the sum ---- */

/* May `or` stand for a sum: are the bits of y below those of x? */
static bool is_disjoint(const struct search *s, const struct ptx_operand *x,
                        const struct ptx_operand *y)
{
    int64_t lo, hi;
    struct uniformity u = operand_uniformity(s->k, x);
    return x->kind == PTX_OPR_REG && y->kind == PTX_OPR_REG && is_uniform(&u) && u.align < 32 &&
           jit_range(s->k, y->reg, &lo, &hi) && hi < (int64_t)1 << u.align;
}

static bool add_terms(const struct search *s, int32_t n, int depth, struct jtable_row *row,
                      bool *found)
{
    const struct ptx_instr *i = &s->k->instrs[n];
    const struct ptx_operand *o = i->operands;
    bool or = is_plain(i, PTX_OP_or, 3) && i->types[0] == PTX_B64;
    if (depth == 0 || (!is_sum(i) && !or) ||
        (or &&!is_disjoint(s, &o[1], &o[2]) && !is_disjoint(s, &o[2], &o[1])))
        return false;
    for (uint8_t t = 1; t < 3; t++) {
        struct uniformity u = operand_uniformity(s->k, &o[t]);
        bool reg = o[t].kind == PTX_OPR_REG;
        if (reg && (o[t].neg || !is_single(s, o[t].reg, n)))
            return false;
        if (is_uniform(&u)) {
            if (row->nterms == JTABLE_TERMS ||
                (!reg && o[t].kind != PTX_OPR_IMM && o[t].kind != PTX_OPR_SYM))
                return false;
            row->terms[row->nterms].instr = n;
            row->terms[row->nterms++].operand = t;
        } else if (reg && !*found && find_index(s, o[t].reg, n, row)) {
            *found = true;
        } else if (!reg || !add_terms(s, s->k->regs[o[t].reg].def, depth - 1, row, found)) {
            return false;
        }
    }
    return true;
}

/* ---- candidates ---- */

/* Is instruction n a sum of the register and what all lanes have in common? */
static bool is_step(const struct search *s, int32_t n, int32_t reg)
{
    const struct ptx_instr *i = &s->k->instrs[n];
    if (!is_sum(i) || i->operands[1].kind != PTX_OPR_REG || i->operands[1].reg != reg ||
        i->operands[1].neg || s->k->blocks[s->block[n]].loop < 0)
        return false;
    struct uniformity u = operand_uniformity(s->k, &i->operands[2]);
    return is_uniform(&u) && (i->operands[2].kind == PTX_OPR_IMM ||
                              (i->operands[2].kind == PTX_OPR_REG && !i->operands[2].neg));
}

static bool is_load(const struct ptx_instr *i)
{
    return i->op == PTX_OP_ld && i->guard < 0 && i->noperands == 2 && i->vec <= 1 &&
           i->operands[1].kind == PTX_OPR_MEM && i->ntypes > 0 &&
           ptx_type_bits((enum ptx_type)i->types[i->ntypes - 1]) == ELEMENT_BYTES * 8;
}

static bool find_row(const struct search *s, int32_t reg, struct jtable_row *row)
{
    const struct jkernel *k = s->k;
    const struct jreg *r = &k->regs[reg];
    if (r->ndefs != 2 || s->other[reg] < 0 || s->last[reg] < 0 || s->uses[reg] ||
        ptx_type_bits((enum ptx_type)r->type) != 64 || r->uniformity.seg != SEG_NONE)
        return false;
    bool swapped = is_step(s, s->other[reg], reg);
    *row = (struct jtable_row){.reg = reg,
                               .init = swapped ? s->last[reg] : s->other[reg],
                               .step = swapped ? s->other[reg] : s->last[reg]};
    bool found = false;
    if (!is_step(s, row->step, reg) || !comes_before(s, row->init, row->step) ||
        !add_terms(s, row->init, 4, row, &found) || !found)
        return false;
    for (size_t n = 0; n < k->ninstrs; n++)
        if (is_load(&k->instrs[n]) && k->instrs[n].operands[1].reg == reg &&
            !comes_before(s, row->init, (int32_t)n))
            return false;
    return true;
}

/* Finds the definitions of registers, and those that are used otherwise than by loads. */
static void survey(struct search *s)
{
    const struct jkernel *k = s->k;
    for (size_t r = 0; r < k->nregs; r++)
        s->other[r] = s->last[r] = -1;
    for (size_t n = 0; n < k->ninstrs; n++)
        s->block[n] = -1;
    for (int32_t b = 0; b < k->nblocks; b++) {
        const struct jblock *blk = &k->blocks[b];
        if (blk->cond >= 0)
            s->uses[blk->cond] = 1;
        for (int32_t n = blk->first; n <= blk->first + blk->count; n++) {
            bool inside = n < blk->first + blk->count;
            const struct ptx_instr *i = inside ? &k->instrs[n] : blk->term_instr;
            struct jroles r;
            if (i == NULL)
                continue;
            jit_roles(i, &r);
            for (int d = 0; d < r.ndef; d++) {
                int32_t *at = s->other[r.def[d]] < 0 ? &s->other[r.def[d]] : &s->last[r.def[d]];
                *at = inside ? n : -1;
            }
            bool load = inside && is_load(i);
            for (int u = 0; u < r.nuse; u++)
                s->uses[r.use[u]] |= !load && !jit_writes(i, r.use[u]);
            if (inside)
                s->block[n] = b;
        }
    }
}

static void search_rows(struct search *s)
{
    struct jkernel *k = s->k;
    struct jtable_rows *t = &k->table_rows;
    struct jtable_row row;
    survey(s);
    for (size_t r = 0; r < k->nregs; r++) {
        if (!find_row(s, (int32_t)r, &row))
            continue;
        if (t->count == t->cap) {
            t->cap = t->cap * 2 + 8;
            t->items = xrealloc(t->items, sizeof *t->items * t->cap);
        }
        t->items[t->count++] = row;
    }
}

bool jit_find_table_rows(struct jkernel *k)
{
    if (k->table_rows.searched || k->nregs == 0 || k->fibers || k->one_lane ||
        k->opt->checked != 0 || k->ninstrs > MAX_INSTRS ||
        (k->entry->pragmas & PTX_PRAGMA_DIVERGENT) != 0)
        return false;
    k->table_rows.searched = true;
    struct search s = {.k = k};
    s.number = xcalloc((size_t)k->nblocks, sizeof *s.number);
    s.idom = xcalloc((size_t)k->nblocks, sizeof *s.idom);
    s.block = xcalloc(k->ninstrs + 1, sizeof *s.block);
    s.other = xcalloc(k->nregs + 1, sizeof *s.other);
    s.last = xcalloc(k->nregs + 1, sizeof *s.last);
    s.uses = xcalloc(k->nregs + 1, 1);
    int32_t *order = xcalloc((size_t)k->nblocks, sizeof *order);
    int32_t reached = graph_reverse_postorder(&k->graph, 0, order, s.number);
    graph_dominators(&k->graph, order, s.number, reached, s.idom);
    search_rows(&s);
    free(order);
    free(s.number);
    free(s.idom);
    free(s.block);
    free(s.other);
    free(s.last);
    free(s.uses);
    return k->table_rows.count > 0;
}

/* ---- the instructions ---- */

/* sum = x + y, at the place of `at` in the source. */
static void push_sum(struct jkernel *k, const struct ptx_instr *at, int32_t sum,
                     struct ptx_operand x, struct ptx_operand y)
{
    struct ptx_instr *i = flat_push(k);
    struct ptx_operand *o = arena_alloc(&k->arena, 3 * sizeof *o);
    o[0] = flat_reg_operand(sum);
    o[1] = x;
    o[2] = y;
    i->op = PTX_OP_add;
    i->ntypes = 1;
    i->types[0] = PTX_S64;
    i->operands = o;
    i->noperands = 3;
    i->line = at->line;
    i->column = at->column;
}

/* After the first sum: what all lanes have in common. */
static void push_common(struct jkernel *k, const struct ptx_instr *old,
                        const struct jtable_row *row, int32_t common)
{
    const struct ptx_instr *at = &old[row->init];
    struct ptx_operand zero = {.kind = PTX_OPR_IMM, .reg = -1};
    for (int t = 0; t < row->nterms; t++) {
        const struct jtable_term *term = &row->terms[t];
        push_sum(k, at, common, old[term->instr].operands[term->operand],
                 t == 0 ? zero : flat_reg_operand(common));
    }
    if (row->nterms == 0)
        push_sum(k, at, common, zero, zero);
}

/* Before a load: the lane's address, as the sum of both. The load. */
static void push_load(struct jkernel *k, const struct ptx_instr *old, const struct ptx_instr *load,
                      const struct jtable_row *row, int32_t common)
{
    int32_t made = -1;
    for (int c = 0; c < row->nchain; c++) {
        const struct ptx_instr *from = &old[row->chain[c]];
        struct ptx_instr i = *from;
        struct ptx_operand *o = arena_alloc(&k->arena, sizeof *o * (size_t)from->noperands);
        memcpy(o, from->operands, sizeof *o * (size_t)from->noperands);
        if (made >= 0)
            o[1].reg = made;
        made = flat_reg(k, "", PTX_B64);
        o[0].reg = made;
        i.operands = o;
        *flat_push(k) = i;
    }
    int32_t at = flat_reg(k, "", PTX_B64);
    push_sum(k, load, at, flat_reg_operand(common), flat_reg_operand(made));
    struct ptx_instr i = *load;
    struct ptx_operand *o = arena_alloc(&k->arena, 2 * sizeof *o);
    o[0] = load->operands[0];
    o[1] = load->operands[1];
    o[1].reg = at;
    i.operands = o;
    *flat_push(k) = i;
}

void jit_apply_table_rows(struct jkernel *k)
{
    const struct jtable_rows *t = &k->table_rows;
    if (t->count == 0)
        return;
    int32_t *common = xcalloc(t->count, sizeof *common);
    for (size_t r = 0; r < t->count; r++)
        common[r] = flat_reg(k, "", PTX_B64);
    struct rebuilt list = flat_rebuild(k);
    for (size_t n = 0; n < list.count; n++) {
        const struct ptx_instr *i = &list.old[n];
        size_t of = 0;
        list.moved[n] = (int32_t)k->ninstrs;
        while (of < t->count && t->items[of].init != (int32_t)n &&
               t->items[of].step != (int32_t)n &&
               !(is_load(i) && i->operands[1].reg == t->items[of].reg))
            of++;
        const struct jtable_row *row = of < t->count ? &t->items[of] : NULL;
        if (row == NULL)
            *flat_push(k) = *i;
        else if (row->init == (int32_t)n)
            push_common(k, list.old, row, common[of]);
        else if (row->step == (int32_t)n)
            push_sum(k, i, common[of], flat_reg_operand(common[of]), i->operands[2]);
        else
            push_load(k, list.old, i, row, common[of]);
    }
    flat_rebuilt(k, &list);
    free(common);
}
