/* operand.c: the operands of instructions, as written. Whether they fit is check.c's matter. */
#include "ptx/names.h"
#include "ptx/parse.h"

#include <string.h>

/* A constant: kept in `select` until check.c has seen it: how a float was written. */
static bool constant(struct ptx_parser *p, struct ptx_operand *o)
{
    struct ptx_value v;
    if (!ptx_expr(p, &v))
        return false;
    if (v.is_float) {
        o->kind = PTX_OPR_FIMM;
        o->fimm = v.f;
        o->is_f32 = v.form == PTX_FLOAT_F32;
        o->select = v.form;
    } else {
        o->kind = PTX_OPR_IMM;
        o->imm = v.u;
    }
    return true;
}

static int operand_component(const struct ptx_token *t)
{
    static const char letters[] = "xyzwrgba";
    const char *at = t->n == 1 ? strchr(letters, t->s[0]) : NULL;
    return at != NULL ? (int)(at - letters) % 4 : -1;
}

/* .b0 .h1 .b3210 after a register of a video instruction */
static bool operand_select(struct ptx_parser *p, struct ptx_operand *o)
{
    struct ptx_token t = p->t;
    bool half = t.s[0] == 'h';
    unsigned most = half ? 2 : 4;
    if ((!half && t.s[0] != 'b') || t.n < 2 || t.n > 1 + most)
        return ptx_fail(p, &t, "unknown selection '.%.*s' of a register", QUOTE(&t));
    for (uint32_t k = 1; k < t.n; k++) {
        if (t.s[k] < '0' || t.s[k] > '7' || (half && t.s[k] > '3'))
            return ptx_fail(p, &t, "unknown selection '.%.*s' of a register", QUOTE(&t));
        o->imm = o->imm << 4 | (uint64_t)(t.s[k] - '0');
    }
    if (t.n == 2 && o->imm < most) {
        o->select = (uint8_t)((half ? 5 : 1) + o->imm);
        o->imm = 0;
    } else {
        o->select = half ? 8 : 7;
        o->component = (uint8_t)(t.n - 1);
    }
    ptx_next(p);
    return true;
}

/* At the token after a register's name. */
static bool operand_register(struct ptx_parser *p, struct ptx_operand *o, const struct ptx_sym *s,
                             int32_t index)
{
    o->kind = PTX_OPR_REG;
    o->reg = index;
    int parts = s->kind == SYM_REG ? s->count : 1;
    if (p->t.kind == T_DOT && parts > 1) {
        int k = operand_component(&p->t);
        if (k < 0 || k >= parts)
            return ptx_fail(p, &p->t, "'%.*s' has no component '.%.*s'", (int)s->length, s->name,
                            QUOTE(&p->t));
        o->reg += k;
        ptx_next(p);
        return true;
    }
    if (parts > 1) { /* the whole vector */
        o->kind = PTX_OPR_VEC;
        o->nitems = parts;
        o->items = arena_alloc(p->a, (size_t)parts * sizeof *o->items);
        for (int k = 0; k < parts; k++) {
            o->items[k].kind = PTX_OPR_REG;
            o->items[k].reg = index + k;
        }
        o->reg = -1;
        return true;
    }
    return p->t.kind != T_DOT || operand_select(p, o);
}

/* %name: a special register; the token is not consumed yet. False when there is none. */
static bool special(struct ptx_parser *p, struct ptx_operand *o, bool *found)
{
    unsigned number;
    struct ptx_token name = p->t;
    enum ptx_sreg sr =
        name.s[0] == '%' ? ptx_sreg_find(name.s + 1, name.n - 1, &number) : PTX_SR_COUNT;
    *found = sr != PTX_SR_COUNT && sr != PTX_SR_WARP_SZ;
    if (!*found)
        return true;
    ptx_next(p);
    o->kind = PTX_OPR_SREG;
    o->sreg = (uint16_t)sr;
    o->component = (uint8_t)number;
    if (!ptx_sreg_is_vector(sr))
        return true;
    if (p->t.kind == T_DOT) {
        int k = operand_component(&p->t);
        if (k < 0)
            return ptx_fail(p, &p->t, "'%.*s' has no component '.%.*s'", QUOTE(&name),
                            QUOTE(&p->t));
        o->component = (uint8_t)k;
        ptx_next(p);
        return true;
    }
    struct ptx_operand *items = arena_alloc(p->a, 4 * sizeof *items);
    for (int k = 0; k < 4; k++) {
        items[k] = *o;
        items[k].component = (uint8_t)k;
    }
    *o = (struct ptx_operand){.kind = PTX_OPR_VEC, .reg = -1, .nitems = 4, .items = items};
    return true;
}

/* What a name that is no register stands for, as SYM or (in brackets) MEM. Steps over it. */
static bool operand_symbol(struct ptx_parser *p, struct ptx_operand *o, enum ptx_operand_kind kind)
{
    struct ptx_token name = p->t;
    const struct ptx_sym *s = ptx_symtab_find(&p->names, name.s, name.n, false);
    o->kind = (uint8_t)kind;
    if (s == NULL) {
        if (name.s[0] == '%')
            return ptx_fail(p, &name, "'%.*s' is not declared", QUOTE(&name));
        /* operands move: the instruction's final ones are known to ptx_instruction */
        o->target = (int32_t)p->unresolved.count + 1;
        vec_push(&p->unresolved, (struct ptx_ref){.kind = REF_OPERAND, .at = name});
    } else if (s->kind == SYM_VAR)
        o->var = s->var;
    else if (s->kind == SYM_FUNC && kind == PTX_OPR_SYM)
        o->func = s->func;
    else
        return ptx_fail(p, &name, "'%.*s' cannot be used here", QUOTE(&name));
    ptx_next(p);
    return true;
}

/* [+ n] [- n] after a name or register */
static bool operand_offset(struct ptx_parser *p, struct ptx_operand *o)
{
    return (p->t.kind != '+' && p->t.kind != '-') || ptx_int_expr(p, &o->offset);
}

/* name[3]: the third element's address. The mark in `select` lets check.c take it for [name+…]. */
static bool indexed(struct ptx_parser *p, struct ptx_operand *o)
{
    int64_t index = 0;
    struct ptx_token at = p->t;
    ptx_next(p);
    if (o->var == NULL)
        return ptx_fail(p, &at, "only a variable can be indexed");
    if (!ptx_int_expr(p, &index) || !ptx_expect(p, ']', "']'"))
        return false;
    int64_t bytes = ptx_type_bits((enum ptx_type)o->var->type) / 8;
    if (__builtin_mul_overflow(index, bytes * o->var->vec, &o->offset))
        return ptx_fail(p, &at, "the index is too large");
    o->select = 255;
    return true;
}

static bool operand_name(struct ptx_parser *p, struct ptx_operand *o)
{
    struct ptx_token t = p->t;
    const struct ptx_sym *s;
    if (TOKEN_IS(&t, "_")) {
        o->kind = PTX_OPR_SINK;
        ptx_next(p);
        return true;
    }
    int32_t reg = ptx_find_reg(p, t.s, t.n, &s);
    if (reg >= 0) {
        ptx_next(p);
        return operand_register(p, o, s, reg);
    }
    bool found;
    if (!special(p, o, &found))
        return false;
    if (found)
        return true;
    if (TOKEN_IS(&t, "WARP_SZ"))
        return constant(p, o);
    if (!operand_symbol(p, o, PTX_OPR_SYM))
        return false;
    return p->t.kind == '[' ? indexed(p, o) : operand_offset(p, o);
}

static bool vector_of_operand(struct ptx_parser *p, struct ptx_operand *o);

/* What may stand inside braces, or alone. */
static bool scalar_of_operand(struct ptx_parser *p, struct ptx_operand *o)
{
    struct ptx_token sign = p->t;
    o->reg = -1;
    if (sign.kind == '!' || sign.kind == '-') {
        struct ptx_lexer ahead = p->lx;
        struct ptx_token next = ptx_lexer_next(&ahead);
        if (next.kind == T_IDENT && !TOKEN_IS(&next, "WARP_SZ")) {
            ptx_next(p);
            o->neg = true;
            if (!operand_name(p, o))
                return false;
            return o->kind == PTX_OPR_REG ||
                   ptx_fail(p, &sign, "only a register can be negated here");
        }
    }
    return p->t.kind == T_IDENT ? operand_name(p, o) : constant(p, o);
}

static bool vector_of_operand(struct ptx_parser *p, struct ptx_operand *o)
{
    struct ptx_operand items[LIMIT_VECTOR];
    int n = 0;
    struct ptx_token at = p->t;
    ptx_next(p);
    do {
        if (n == LIMIT_VECTOR)
            return ptx_fail(p, &at, "more than %d items in braces", LIMIT_VECTOR);
        items[n] = (struct ptx_operand){0};
        struct ptx_token item = p->t;
        if (!scalar_of_operand(p, &items[n]))
            return false;
        if (items[n].kind == PTX_OPR_VEC || items[n].kind == PTX_OPR_SYM)
            return ptx_fail(p, &item, "'%.*s' cannot stand in braces", QUOTE(&item));
        n++;
    } while (ptx_accept(p, ','));
    o->kind = PTX_OPR_VEC;
    o->reg = -1;
    o->nitems = n;
    o->items = arena_alloc(p->a, (size_t)n * sizeof *o->items);
    memcpy(o->items, items, (size_t)n * sizeof *o->items);
    return ptx_expect(p, '}', "'}'");
}

/* [handle, sampler, coordinates]: after the handle, at the first comma. */
static bool operand_texture(struct ptx_parser *p, struct ptx_operand *o)
{
    struct ptx_operand items[3] = {*o};
    int n = 1;
    if (o->offset != 0 || (o->reg < 0 && o->var == NULL && o->target == 0))
        return ptx_fail(p, &p->t, "a texture, surface or tensor map is needed before the comma");
    items[0].kind = o->reg >= 0 ? PTX_OPR_REG : PTX_OPR_SYM;
    while (ptx_accept(p, ',')) {
        if (n == 3)
            return ptx_expected(p, "']'");
        items[n].reg = -1;
        struct ptx_token at = p->t;
        if (!(p->t.kind == '{' ? vector_of_operand(p, &items[n]) : scalar_of_operand(p, &items[n])))
            return false;
        if (n == 2 && items[1].kind != PTX_OPR_REG && items[1].kind != PTX_OPR_SYM)
            return ptx_fail(p, &at, "a sampler is needed before the coordinates");
        n++;
    }
    *o = (struct ptx_operand){.kind = PTX_OPR_TEXMEM, .reg = -1, .nitems = n};
    o->items = arena_alloc(p->a, (size_t)n * sizeof *o->items);
    for (int k = 0; k < n; k++) {
        if (items[k].kind == PTX_OPR_SYM && items[k].var == NULL && items[k].func == NULL) {
            /* not declared yet: the name is bound at the end, and the items stay where they are */
            p->unresolved.items[items[k].target - 1].operand = &o->items[k];
            items[k].target = 0;
        }
        if (k == n - 1 && items[k].kind == PTX_OPR_SYM)
            return ptx_fail(p, &p->t, "the coordinates cannot be a variable");
        o->items[k] = items[k];
    }
    return true;
}

/* [base + offset] */
static bool operand_memory(struct ptx_parser *p, struct ptx_instr *i, struct ptx_operand *o)
{
    ptx_next(p);
    o->kind = PTX_OPR_MEM;
    o->reg = -1;
    struct ptx_token t = p->t;
    if (t.kind == T_IDENT && !TOKEN_IS(&t, "WARP_SZ")) {
        const struct ptx_sym *s;
        int32_t reg = ptx_find_reg(p, t.s, t.n, &s);
        if (reg >= 0) {
            ptx_next(p);
            if (!operand_register(p, o, s, reg))
                return false;
            if (o->kind != PTX_OPR_REG || o->select != 0)
                return ptx_fail(p, &t, "'%.*s' cannot be an address", QUOTE(&t));
            o->kind = PTX_OPR_MEM;
        } else if (!operand_symbol(p, o, PTX_OPR_MEM))
            return false;
        if (!operand_offset(p, o))
            return false;
    } else if (!ptx_int_expr(p, &o->offset))
        return false;
    if (p->t.kind == ',' && !operand_texture(p, o))
        return false;
    if (!ptx_expect(p, ']', "']'"))
        return false;
    if (p->t.kind == T_DOT && TOKEN_IS(&p->t, "unified")) {
        if (i->op != PTX_OP_ld || i->nmods == PTX_MAX_MODS || ptx_has(i, PTX_M_unified))
            return ptx_fail(p, &p->t, "'.unified' does not belong here");
        i->mods[i->nmods++] = PTX_M_unified;
        ptx_next(p);
    }
    return true;
}

bool ptx_operand_parse(struct ptx_parser *p, struct ptx_instr *i, struct ptx_operand *o)
{
    *o = (struct ptx_operand){.reg = -1};
    if (p->t.kind == '[')
        return operand_memory(p, i, o);
    return p->t.kind == '{' ? vector_of_operand(p, o) : scalar_of_operand(p, o);
}
