/* check.c: do the operands of an instruction fit one of its forms? The rules for registers are
 * those of the ISA's operand type checking: equal size, bits go with anything, integers with
 * integers, floats with the same float; loads, stores and conversions allow wider registers. */
#include "ptx/forms.h"
#include "ptx/names.h"
#include "ptx/parse.h"

#include <stdio.h>
#include <string.h>

/* ---- types ---- */

enum sort { BITS, INTEGER, FLOATING, PREDICATE };

static enum sort check_sort(enum ptx_type t)
{
    if (t == PTX_PRED)
        return PREDICATE;
    if ((t >= PTX_U8 && t <= PTX_S64) || (t >= PTX_U16X2 && t <= PTX_S8X4))
        return INTEGER;
    if (t == PTX_TF32) /* lives in .b32 registers */
        return BITS;
    return ptx_type_is_float(t) ? FLOATING : BITS;
}

bool ptx_compatible(enum ptx_type type, enum ptx_type reg, bool wider)
{
    unsigned want = ptx_type_bits(type), have = ptx_type_bits(reg);
    enum sort c = check_sort(type), r = check_sort(reg);
    if (c == PREDICATE || r == PREDICATE)
        return c == r;
    if (have != want && !(wider && have > want && r != FLOATING))
        return false;
    if (c == BITS || r == BITS)
        return true;
    if (c == FLOATING && r == FLOATING) /* .bf16 lives in .b16 registers, which are BITS */
        return type == reg;
    return c == r;
}

/* ---- one operand ---- */

/* What is checked: the instruction, the operand's position, and the message when it does not fit.
 */
struct check {
    struct ptx_parser *p;
    const struct ptx_instr *i;
    int nmem; /* memory operands seen before this one */
    char why[256];
};

static bool check_no(struct check *c, const char *what)
{
    snprintf(c->why, sizeof c->why, "%s", what);
    return false;
}

static bool reg_fits(struct check *c, const struct ptx_operand *o, enum ptx_type type, bool wider)
{
    const struct ptx_reg *r = &c->p->regs.items[o->reg];
    if (type == PTX_NONE && r->type != PTX_PRED)
        return true;
    if (type != PTX_NONE && ptx_compatible(type, (enum ptx_type)r->type, wider))
        return true;
    snprintf(c->why, sizeof c->why, "register %.60s is .%s, .%s is needed", r->name,
             ptx_type_name((enum ptx_type)r->type), type == PTX_NONE ? "b32" : ptx_type_name(type));
    return false;
}

static bool constant_fits(struct check *c, const struct ptx_operand *o, enum ptx_type type)
{
    if (o->kind == PTX_OPR_IMM)
        return check_sort(type) != FLOATING ||
               check_no(c, "a float constant is needed, not an integer");
    switch (type) {
    case PTX_NONE:
    case PTX_F32:
    case PTX_F64: return true;
    case PTX_B32:
        return o->select == PTX_FLOAT_F32 || check_no(c, "a .b32 constant is an integer or 0f…");
    case PTX_B64:
        return o->select == PTX_FLOAT_F64 || check_no(c, "a .b64 constant is an integer or 0d…");
    default: return check_no(c, "a float constant does not fit the type");
    }
}

/* Special registers are read whole, or their low bits. */
static bool sreg_fits(struct check *c, const struct ptx_operand *o, enum ptx_type type)
{
    unsigned bits = ptx_sreg_bits((enum ptx_sreg)o->sreg);
    if (bits == 1)
        return type == PTX_PRED || check_no(c, "this special register is a predicate");
    if (check_sort(type) == FLOATING || check_sort(type) == PREDICATE || ptx_type_bits(type) > bits)
        return check_no(c, "the special register does not fit the type");
    return true;
}

enum allow { WRITE = 1, CONSTANT = 2, WIDER = 4, SINK = 8, SPECIAL = 16 };

/* A register, constant … on its own (`neg` and `select` are the caller's matter). */
static bool check_scalar(struct check *c, const struct ptx_operand *o, enum ptx_type type,
                         int allow)
{
    switch (o->kind) {
    case PTX_OPR_REG: return reg_fits(c, o, type, (allow & WIDER) != 0);
    case PTX_OPR_IMM:
    case PTX_OPR_FIMM:
        if (allow & CONSTANT)
            return constant_fits(c, o, type);
        return check_no(c, "a register is needed, not a constant");
    case PTX_OPR_SINK: return (allow & SINK) != 0 || check_no(c, "'_' cannot stand here");
    case PTX_OPR_SREG:
        if (allow & SPECIAL)
            return sreg_fits(c, o, type);
        return check_no(c, "a special register can be read by mov and cvt only");
    case PTX_OPR_VEC: return check_no(c, "a single register or constant is needed, not {…}");
    case PTX_OPR_MEM:
    case PTX_OPR_TEXMEM: return check_no(c, "an address in brackets cannot stand here");
    default: return check_no(c, "a name of a variable or function cannot stand here");
    }
}

/* .v2 .v4: as many items as that; a lone register in braces is the register. */
static bool check_vector(struct check *c, struct ptx_operand *o, enum ptx_type type, int allow)
{
    if (o->kind == PTX_OPR_VEC && o->nitems == 1 && c->i->vec == 1) {
        struct ptx_operand item = o->items[0];
        *o = item;
    }
    if (c->i->vec == 1)
        return check_scalar(c, o, type, allow);
    if (o->kind != PTX_OPR_VEC)
        return check_no(c, "a vector {…} is needed");
    if (o->nitems != c->i->vec) {
        snprintf(c->why, sizeof c->why, "the vector has %d items, the instruction says .v%d",
                 o->nitems, c->i->vec);
        return false;
    }
    for (int k = 0; k < o->nitems; k++)
        if (o->items[k].neg || !check_scalar(c, &o->items[k], type, allow))
            return o->items[k].neg ? check_no(c, "nothing can be negated in a vector") : false;
    return true;
}

/* A fragment: any number of registers, all of the type if there is one. */
static bool fragment(struct check *c, const struct ptx_operand *o, enum ptx_type type, int allow)
{
    if (o->kind != PTX_OPR_VEC)
        return check_scalar(c, o, type, allow);
    for (int k = 0; k < o->nitems; k++)
        if (o->items[k].neg || !check_scalar(c, &o->items[k], type, allow))
            return o->items[k].neg ? check_no(c, "nothing can be negated in a vector") : false;
    return true;
}

/* mov's {a, b}: equal parts that together are as wide as the type. */
static bool check_pack(struct check *c, const struct ptx_operand *o, enum ptx_type type, bool write)
{
    if (o->kind != PTX_OPR_VEC)
        return check_no(c, "a vector {…} is needed");
    unsigned bits = ptx_type_bits(type);
    if (o->nitems < 2 || o->nitems > 8 || bits % (unsigned)o->nitems != 0)
        return check_no(c, "the vector does not divide the type");
    bits /= (unsigned)o->nitems;
    for (int k = 0; k < o->nitems; k++) {
        const struct ptx_operand *item = &o->items[k];
        if (item->kind == PTX_OPR_SINK && write)
            continue;
        if (item->kind == PTX_OPR_IMM && !write)
            continue;
        if (item->kind == PTX_OPR_FIMM && !write && item->select == PTX_FLOAT_F32 && bits == 32)
            continue;
        if (item->kind != PTX_OPR_REG || item->neg || item->select != 0)
            return check_no(c, "only registers and integers can be packed");
        enum ptx_type t = (enum ptx_type)c->p->regs.items[item->reg].type;
        if (ptx_type_bits(t) != bits || t == PTX_PRED)
            return check_no(c, "the items of the vector do not add up to the type");
    }
    return true;
}

/* A symbol not declared yet has target set and is taken on trust. */
static bool check_address(struct check *c, const struct ptx_operand *o, enum ptx_type type)
{
    unsigned bits = ptx_type_bits(type);
    if (check_sort(type) == FLOATING || bits < 32)
        return check_no(c, "an address does not fit the type");
    bool narrow =
        o->var != NULL && (o->var->space == PTX_SPACE_SHARED || o->var->space == PTX_SPACE_LOCAL ||
                           o->var->space == PTX_SPACE_PARAM || o->var->space == PTX_SPACE_CONST);
    if (bits == 32 && !narrow)
        return check_no(c, "this address has 64 bits");
    return true;
}

static bool spaces_match(unsigned var, unsigned instr)
{
    if (instr == PTX_SPACE_SHARED_CLUSTER)
        return var == PTX_SPACE_SHARED;
    return instr == PTX_SPACE_NONE || var == instr;
}

static bool check_memory(struct check *c, struct ptx_operand *o)
{
    if (o->kind == PTX_OPR_SYM && o->select == 255) { /* name[3] */
        o->kind = PTX_OPR_MEM;
        o->select = 0;
    }
    if (o->kind != PTX_OPR_MEM)
        return check_no(c, "an address in brackets is needed");
    const struct ptx_instr *i = c->i;
    unsigned space = PTX_SPACE_NONE;
    if (c->nmem < i->nspaces && (i->nspaces == 2 || c->nmem == 0))
        space = i->spaces[c->nmem];
    if (o->var != NULL && !spaces_match(o->var->space, space)) {
        snprintf(c->why, sizeof c->why, "'%.60s' is in .%s, the instruction says .%s", o->var->name,
                 ptx_space_name((enum ptx_space)o->var->space),
                 ptx_space_name((enum ptx_space)space));
        return false;
    }
    if (o->reg < 0)
        return true;
    enum ptx_type t = (enum ptx_type)c->p->regs.items[o->reg].type;
    unsigned bits = ptx_type_bits(t);
    bool window = space == PTX_SPACE_SHARED || space == PTX_SPACE_SHARED_CLUSTER ||
                  space == PTX_SPACE_LOCAL || space == PTX_SPACE_PARAM ||
                  space == PTX_SPACE_CONST || (space == PTX_SPACE_NONE && i->nspaces > 0);
    if (check_sort(t) == FLOATING || check_sort(t) == PREDICATE)
        return check_no(c, "the address register must be an integer");
    if (bits != 64 && !(window && bits == 32))
        return check_no(c, window ? "the address register must have 32 or 64 bits"
                                  : "the address register must have 64 bits");
    return true;
}

static bool check_texture(struct check *c, const struct ptx_operand *o)
{
    if (o->kind != PTX_OPR_TEXMEM)
        return check_no(c, "[texture or surface, {coordinates}] is needed");
    const struct ptx_operand *handle = &o->items[0], *where = &o->items[o->nitems - 1];
    if (handle->kind == PTX_OPR_REG && !reg_fits(c, handle, PTX_B64, false))
        return false;
    if (o->nitems == 3 && o->items[1].kind == PTX_OPR_REG &&
        !reg_fits(c, &o->items[1], PTX_B64, false))
        return false;
    if (where->kind == PTX_OPR_VEC && where->nitems != 1 && where->nitems != 2 &&
        where->nitems != 4 && where->nitems != 3 && where->nitems != 5)
        return check_no(c, "a wrong number of coordinates");
    return fragment(c, where, PTX_NONE, CONSTANT);
}

static bool check_handle(struct check *c, const struct ptx_operand *o)
{
    if (o->kind != PTX_OPR_MEM || o->offset != 0)
        return check_no(c, "[texture or surface] is needed");
    return o->reg < 0 || reg_fits(c, o, PTX_B64, false);
}

static bool predicate(struct check *c, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPR_IMM)
        return true;
    if (o->kind != PTX_OPR_REG)
        return check_no(c, "a predicate is needed");
    return reg_fits(c, o, PTX_PRED, false);
}

static bool check_source(struct check *c, struct ptx_operand *o, enum ptx_type type, char kind)
{
    if (o->kind == PTX_OPR_SYM)
        return check_address(c, o, type);
    return check_scalar(c, o, type, kind == 'x' ? CONSTANT | SPECIAL : 0);
}

static bool immediate(struct check *c, const struct ptx_operand *o)
{
    return o->kind == PTX_OPR_IMM || check_no(c, "an integer constant is needed");
}

static bool check_operand(struct check *c, const struct ptx_form_operand *fo, struct ptx_operand *o)
{
    enum ptx_type type = (enum ptx_type)(fo->index >= 0 ? c->i->types[fo->index] : fo->type);
    if (fo->wide)
        type = ptx_type_widened(type);
    bool video = fo->kind == 'y' || fo->kind == 'Y' || fo->kind == 'n';
    if (o->neg && fo->kind != 'p' && fo->kind != 'n' &&
        !(fo->kind == 'y' && c->i->op == PTX_OP_vmad))
        return check_no(c, "this operand cannot be negated");
    if (o->kind == PTX_OPR_REG && o->select != 0 && !video)
        return check_no(c, "only video instructions select parts of a register");
    switch (fo->kind) {
    case 'd': return check_scalar(c, o, type, WRITE);
    case 'D': return check_scalar(c, o, type, WRITE | SINK);
    case 'e': return check_scalar(c, o, type, WRITE | WIDER);
    case 's':
    case 'n':
    case 'y': return check_scalar(c, o, type, CONSTANT);
    case 'Y':
    case 'r': return check_scalar(c, o, type, 0);
    case 'S': return check_scalar(c, o, type, CONSTANT | WIDER);
    case 'c': return check_scalar(c, o, type, CONSTANT | WIDER | SPECIAL);
    case 'v': return check_vector(c, o, type, WRITE | WIDER | SINK);
    case 'V': return check_vector(c, o, type, CONSTANT | WIDER);
    case 'W': return check_vector(c, o, type, CONSTANT | SPECIAL);
    case 'g': return fragment(c, o, type, WRITE);
    case 'o':
        if (o->kind == PTX_OPR_REG)
            o->is_f32 = c->p->regs.items[o->reg].type == PTX_F32;
        return fragment(c, o, type, CONSTANT);
    case 'G': return fragment(c, o, type, CONSTANT);
    case 'k': return check_pack(c, o, type, true);
    case 'K': return check_pack(c, o, type, false);
    case 'x':
    case 'z': return check_source(c, o, type, fo->kind);
    case 'p': return predicate(c, o);
    case 'q':
        return o->kind == PTX_OPR_SINK || (o->kind == PTX_OPR_REG && predicate(c, o)) ||
               check_no(c, "a predicate register is needed");
    case 'm': return check_memory(c, o);
    case 't': return check_texture(c, o);
    case 'h': return check_handle(c, o);
    case 'i': return immediate(c, o);
    default: return check_no(c, "this operand cannot stand here");
    }
}

/* ---- one form ---- */

/* Gives how many operands fitted, or -1 when all did. A wrong number of operands gives `count`. */
static int check_form(struct check *c, const struct ptx_form *f, struct ptx_operand *ops, int n,
                      bool *count)
{
    int spare = n - f->required, k = 0;
    *count = false;
    c->nmem = 0;
    for (int q = 0; q < f->noperands; q++) {
        const struct ptx_form_operand *fo = &f->operands[q];
        if (fo->bar && !fo->optional && !c->i->pair)
            return *count = true, k;
        if (fo->optional) {
            if (spare <= 0 || (fo->bar && !c->i->pair))
                continue;
            spare--;
        }
        if (k >= n)
            return *count = true, k;
        if (!check_operand(c, fo, &ops[k]))
            return k;
        c->nmem += ops[k].kind == PTX_OPR_MEM || ops[k].kind == PTX_OPR_TEXMEM;
        k++;
    }
    if (k < n)
        return *count = true, k;
    return -1;
}

static bool has_bar(const struct ptx_form *f) { return f->noperands > 1 && f->operands[1].bar; }

static void settle(struct ptx_operand *ops, int n)
{
    for (int k = 0; k < n; k++) {
        if (ops[k].kind == PTX_OPR_FIMM || ops[k].kind == PTX_OPR_SYM)
            ops[k].select = 0;
        for (int q = 0; q < ops[k].nitems; q++) {
            struct ptx_operand *item = &ops[k].items[q];
            if (item->kind == PTX_OPR_FIMM || item->kind == PTX_OPR_SYM)
                item->select = 0;
            if (item->kind == PTX_OPR_VEC)
                settle(item, 1);
        }
    }
}

bool ptx_check(struct ptx_parser *p, const struct ptx_opinfo *info, struct ptx_instr *i,
               struct ptx_operand *ops, const struct ptx_token *at)
{
    struct check c = {.p = p, .i = i};
    char best[256] = "";
    int farthest = -1, n = i->noperands;
    bool counts = true; /* every form wants another number of operands */
    for (int k = 0; k < info->nforms; k++) {
        bool count;
        if (i->pair && !has_bar(info->forms[k])) {
            snprintf(best, sizeof best, "the instruction has no second destination after '|'");
            counts = false;
            continue;
        }
        int fitted = check_form(&c, info->forms[k], ops, n, &count);
        if (fitted < 0) {
            settle(ops, n);
            return true;
        }
        if (count)
            continue;
        counts = false;
        /* among equals the form that also takes {…} knows more about a {…} */
        bool vague = fitted == farthest && strstr(best, ": a single register") != NULL;
        if (fitted > farthest || vague) {
            farthest = fitted;
            snprintf(best, sizeof best, "operand %d: %s", fitted + 1, c.why);
        }
    }
    if (counts)
        return ptx_fail(p, at, "'%.*s': wrong number of operands (%d)", QUOTE(at), n);
    return ptx_fail(p, at, "'%.*s': %s", QUOTE(at), best);
}
