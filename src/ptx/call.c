/* call.c: the operands of call, in all its forms: call f; call f, (args); call (rets), f, (args);
 * and through a register, with the prototype or the list of callees last. */
#include "ptx/parse.h"

#include <stdlib.h>
#include <string.h>

/* ( a, b, … ), at the parenthesis; may be empty. */
static bool call_list(struct ptx_parser *p, struct ptx_instr *i, bool rets,
                      struct ptx_operand **out, int32_t *count)
{
    struct {
        struct ptx_operand *items;
        size_t count, cap;
    } list = {0};
    bool ok = true;
    ptx_next(p);
    while (ok && p->t.kind != ')') {
        struct ptx_token at = p->t;
        struct ptx_operand o;
        ok = ptx_operand_parse(p, i, &o);
        bool param = ok && o.kind == PTX_OPR_SYM && o.offset == 0 && o.select == 0 &&
                     o.var != NULL && o.var->space == PTX_SPACE_PARAM;
        bool reg = ok && o.kind == PTX_OPR_REG && !o.neg && o.select == 0;
        bool constant = ok && (o.kind == PTX_OPR_IMM || o.kind == PTX_OPR_FIMM);
        if (ok && !param && !reg && !(rets ? o.kind == PTX_OPR_SINK : constant))
            ok = ptx_fail(p, &at, "'%.*s' cannot be %s of a call", QUOTE(&at),
                          rets ? "a return value" : "an argument");
        if (!ok)
            break;
        o.select = 0; /* how a float was written: no matter here */
        vec_push(&list, o);
        if (!ptx_accept(p, ','))
            break;
    }
    ok = ok && ptx_expect(p, ')', "')'");
    if (ok && list.count > 0) {
        *out = arena_alloc(p->a, list.count * sizeof **out);
        memcpy(*out, list.items, list.count * sizeof **out);
        *count = (int32_t)list.count;
    }
    free(list.items);
    return ok;
}

/* The function, or the register with its address. */
static bool call_target(struct ptx_parser *p, struct ptx_call *c)
{
    struct ptx_token name = p->t;
    const struct ptx_sym *s;
    if (name.kind != T_IDENT)
        return ptx_expected(p, "the function to call");
    c->reg = ptx_find_reg(p, name.s, name.n, &s);
    ptx_next(p);
    if (c->reg >= 0) {
        if (!ptx_compatible(PTX_B64, (enum ptx_type)p->regs.items[c->reg].type, false))
            return ptx_fail(p, &name, "'%.*s' does not hold 64 bits: not a function's address",
                            QUOTE(&name));
        return true;
    }
    s = ptx_symtab_find(&p->names, name.s, name.n, false);
    if (s == NULL)
        vec_push(&p->unresolved, (struct ptx_ref){.kind = REF_CALL, .at = name, .call = c});
    else if (s->kind == SYM_FUNC)
        c->func = s->func;
    else
        return ptx_fail(p, &name, "'%.*s' is not a function", QUOTE(&name));
    return true;
}

/* The name of a .callprototype or .calltargets, last in an indirect call. */
static bool prototype(struct ptx_parser *p, struct ptx_call *c)
{
    if (p->t.kind != T_IDENT)
        return ptx_expected(p, "the name of a .callprototype or .calltargets");
    vec_push(&p->refs, (struct ptx_ref){.kind = REF_PROTO, .at = p->t, .call = c});
    ptx_next(p);
    return true;
}

bool ptx_call_operands(struct ptx_parser *p, struct ptx_instr *i)
{
    struct ptx_call *c = arena_alloc(p->a, sizeof *c);
    struct ptx_token at = p->t;
    bool named = false;
    i->call = c;
    if (p->t.kind == '(' &&
        !(call_list(p, i, true, &c->rets, &c->nrets) && ptx_expect(p, ',', "','")))
        return false;
    if (!call_target(p, c))
        return false;
    if (ptx_accept(p, ',')) {
        if (p->t.kind == '(') {
            if (!call_list(p, i, false, &c->args, &c->nargs))
                return false;
            if (ptx_accept(p, ','))
                named = true;
        } else
            named = true;
        if (named && c->reg < 0)
            return ptx_fail(p, &p->t, "only an indirect call names a prototype");
        if (named && !prototype(p, c))
            return false;
    }
    if (c->reg >= 0 && !named)
        return ptx_fail(p, &at, "an indirect call needs a .callprototype or .calltargets");
    return true;
}
