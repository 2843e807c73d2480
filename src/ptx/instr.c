/* instr.c: one instruction: guard, name with its suffixes, operands. The name is looked up as a
 * whole: a module uses few different ones, so their suffixes are read and matched once each. */
#include "ptx/names.h"
#include "ptx/parse.h"

#include <string.h>

enum { OPINFO_SLOTS = 4096 }; /* a power of two; names beyond three quarters are not kept */

/* ---- names ---- */

static bool add_suffix(struct ptx_parser *p, struct ptx_instr *i, const struct ptx_token *at,
                       const char *s, size_t n)
{
    struct ptx_suffix x = ptx_suffix_find(s, n);
    unsigned k = i->nmods + i->ntypes + i->nspaces;
    bool fits = true;
    switch (x.kind) {
    case PTX_SUFFIX_MOD:
        if ((fits = i->nmods < PTX_MAX_MODS))
            i->mods[i->nmods++] = x.value;
        if (x.value == PTX_M_v2 || x.value == PTX_M_v4 || x.value == PTX_M_v8)
            i->vec = x.value == PTX_M_v2 ? 2 : x.value == PTX_M_v4 ? 4 : 8;
        break;
    case PTX_SUFFIX_TYPE:
        if ((fits = i->ntypes < PTX_MAX_TYPES))
            i->types[i->ntypes++] = (uint8_t)x.value;
        i->order |= UINT64_C(1) << 2 * k;
        break;
    case PTX_SUFFIX_SPACE:
        if ((fits = i->nspaces < WEIR_COUNT(i->spaces)))
            i->spaces[i->nspaces++] = (uint8_t)x.value;
        i->order |= UINT64_C(2) << 2 * k;
        break;
    default:
        return ptx_fail(p, at, "'%.*s': unknown modifier or type '.%.*s'", QUOTE(at),
                        (int)(n < 80 ? n : 80), s);
    }
    return fits || ptx_fail(p, at, "'%.*s': too many modifiers", QUOTE(at));
}

/* Names that were once without modifiers, and what the PTX ISA says they are on later devices
 * (notes on `mad`, `div`, `rcp` ...). Returns the token itself for all others. */
static struct ptx_token early_name(const struct ptx_parser *p, const struct ptx_token *t)
{
    struct old_name {
        const char *old, *now;
    };
    /* for targets before sm_20 */
    static const struct old_name names[] = {
        {"mad.f32", "fma.rn.ftz.f32"},       {"mad.sat.f32", "fma.rn.ftz.sat.f32"},
        {"div.f32", "div.approx.ftz.f32"},   {"rcp.f32", "rcp.approx.ftz.f32"},
        {"sqrt.f32", "sqrt.approx.ftz.f32"}, {"rsqrt.f32", "rsqrt.approx.ftz.f32"},
        {"sin.f32", "sin.approx.ftz.f32"},   {"cos.f32", "cos.approx.ftz.f32"},
        {"lg2.f32", "lg2.approx.ftz.f32"},   {"ex2.f32", "ex2.approx.ftz.f32"},
    };
    /* for sm_20 on, where versions before 3.2 do not ask for a rounding ("Errata" of `mad`) */
    static const struct old_name unrounded[] = {
        {"mad.f32", "mad.rn.f32"},
        {"mad.ftz.f32", "mad.rn.ftz.f32"},
        {"mad.sat.f32", "mad.rn.sat.f32"},
        {"mad.ftz.sat.f32", "mad.rn.ftz.sat.f32"},
    };
    const struct ptx_module *m = p->m;
    struct ptx_token now = *t;
    const struct old_name *table = names;
    size_t count = WEIR_COUNT(names);
    if (m->target_sm >= 20) {
        bool rounding_asked =
            m->version_major > 3 || (m->version_major == 3 && m->version_minor >= 2);
        table = unrounded;
        count = rounding_asked ? 0 : WEIR_COUNT(unrounded);
    }
    for (size_t k = 0; k < count; k++)
        if (ptx_is(t, table[k].old, strlen(table[k].old))) {
            now.s = table[k].now;
            now.n = (uint32_t)strlen(now.s);
        }
    return now;
}

/* A vector that is loaded or stored has 128 bits at most, or, in global memory from sm_100 on, 256
 * in parts of 32 or 64. */
static bool check_width(struct ptx_parser *p, const struct ptx_instr *i, const struct ptx_token *t)
{
    if ((i->op != PTX_OP_ld && i->op != PTX_OP_st) || i->ntypes == 0)
        return true;
    unsigned part = ptx_type_bits((enum ptx_type)i->types[0]), bits = i->vec * part;
    if (bits <= 128)
        return true;
    if (bits != 256 || part > 64)
        return ptx_fail(p, t, "'%.*s': a vector of %u bits is too wide", QUOTE(t), bits);
    if (i->nspaces > 0 && i->spaces[0] != PTX_SPACE_GLOBAL)
        return ptx_fail(p, t, "'%.*s': 256 bits can be accessed in global memory only", QUOTE(t));
    return p->m->target_sm >= 100 ||
           ptx_fail(p, t, "'%.*s' needs %s; this module's is sm_%d%.1s", QUOTE(t),
                    ptx_target_words(PTX_TARGET_100), p->m->target_sm, &p->m->target_suffix);
}

/* Splits `ld.global.f32`; `.` separates, `::` does not. */
static bool read_name(struct ptx_parser *p, struct ptx_opinfo *info,
                      const struct ptx_token *written)
{
    const struct ptx_token name = early_name(p, written), *t = &name;
    const char *s = t->s, *end = t->s + t->n;
    const char *dot = memchr(s, '.', t->n);
    size_t n = (size_t)((dot != NULL ? dot : end) - s);
    enum ptx_op op = ptx_op_find(s, n);
    struct ptx_instr *shape = &info->shape;
    if (op == PTX_OP_COUNT) {
        if (ptx_op_refused(s, n))
            return ptx_fail(p, t, "instruction '%.*s' is not supported", (int)n, s);
        return ptx_fail(p, t, "unknown instruction '%.*s'", (int)(n < 80 ? n : 80), s);
    }
    shape->op = (uint16_t)op;
    shape->vec = 1;
    while (dot != NULL) {
        s = dot + 1;
        dot = memchr(s, '.', (size_t)(end - s));
        if (!add_suffix(p, shape, t, s, (size_t)((dot != NULL ? dot : end) - s)))
            return false;
    }
    int count;
    const struct ptx_form *f = ptx_forms(op, &count), *elsewhere = NULL;
    for (int k = 0; k < count && info->nforms < WEIR_COUNT(info->forms); k++) {
        if (!ptx_form_fits(&f[k], shape))
            continue;
        if (ptx_target_has(f[k].target, p->m->target_sm, p->m->target_suffix))
            info->forms[info->nforms++] = &f[k];
        else
            elsewhere = &f[k];
    }
    if (info->nforms == 0 && elsewhere != NULL)
        return ptx_fail(p, t, "'%.*s' needs %s; this module's is sm_%d%.1s", QUOTE(t),
                        ptx_target_words(elsewhere->target), p->m->target_sm, &p->m->target_suffix);
    if (info->nforms == 0) {
        char why[512];
        ptx_form_explain(shape, t->s, t->n, why, sizeof why);
        return ptx_fail(p, t, "%s", why);
    }
    return check_width(p, shape, t);
}

static const struct ptx_opinfo *instr_opinfo(struct ptx_parser *p, const struct ptx_token *t)
{
    uint32_t h = 2166136261u;
    for (uint32_t k = 0; k < t->n; k++)
        h = (h ^ (unsigned char)t->s[k]) * 16777619u;
    h ^= h >> 15;
    if (p->opinfo == NULL)
        p->opinfo = xcalloc(OPINFO_SLOTS, sizeof(struct ptx_opinfo *));
    size_t slot = h & (OPINFO_SLOTS - 1);
    for (; p->opinfo[slot] != NULL; slot = (slot + 1) & (OPINFO_SLOTS - 1)) {
        struct ptx_opinfo *o = p->opinfo[slot];
        if (o->hash == h && o->length == t->n && memcmp(o->text, t->s, t->n) == 0)
            return o;
    }
    struct ptx_opinfo *info = arena_alloc(p->a, sizeof *info);
    info->text = t->s;
    info->length = t->n;
    info->hash = h;
    if (!read_name(p, info, t))
        return NULL;
    if (p->nopinfo < OPINFO_SLOTS / 4 * 3) {
        p->opinfo[slot] = info;
        p->nopinfo++;
    }
    return info;
}

/* The whole name, also when blanks stand before its dots. */
static void whole_name(struct ptx_parser *p, struct ptx_token *t)
{
    *t = p->t;
    ptx_lexer_opcode(&p->lx, t);
    ptx_next(p);
    if (p->t.kind != T_DOT)
        return;
    char *text = arena_strndup(p->a, t->s, t->n);
    int parts = 0;
    while (p->t.kind == T_DOT && parts++ < PTX_MAX_MODS + PTX_MAX_TYPES + 2) {
        text = arena_printf(p->a, "%s.%.*s", text, QUOTE(&p->t));
        ptx_next(p);
    }
    t->s = text;
    t->n = (uint32_t)strlen(text);
}

/* ---- operands ---- */

/* `bra label` and `brx.idx index, list`. */
static bool instr_branch(struct ptx_parser *p, struct ptx_instr *i)
{
    bool table = i->op == PTX_OP_brx;
    i->noperands = 1;
    i->operands = arena_alloc(p->a, sizeof *i->operands);
    if (!table) {
        i->operands->kind = PTX_OPR_LABEL;
        i->operands->reg = -1;
        return ptx_label_ref(p, &i->operands->target);
    }
    struct ptx_token at = p->t;
    if (!ptx_operand_parse(p, i, i->operands))
        return false;
    const struct ptx_operand *o = i->operands;
    if (o->neg || o->select != 0 ||
        (o->kind != PTX_OPR_IMM &&
         (o->kind != PTX_OPR_REG ||
          !ptx_compatible(PTX_U32, (enum ptx_type)p->regs.items[o->reg].type, false))))
        return ptx_fail(p, &at, "'brx.idx': the index must be a 32-bit integer register");
    if (!ptx_expect(p, ',', "','"))
        return false;
    if (p->t.kind != T_IDENT)
        return ptx_expected(p, "the name of a .branchtargets list");
    vec_push(&p->refs,
             (struct ptx_ref){.kind = REF_TARGETS, .at = p->t, .instr = (int32_t)p->instrs.count});
    ptx_next(p);
    return true;
}

/* Names that were not known yet are bound at the end of the module: to the operand's final
 * position.
 */
static void move_operands(struct ptx_parser *p, struct ptx_instr *i, const struct ptx_operand *ops,
                          int n)
{
    if (n == 0)
        return;
    i->noperands = (uint16_t)n;
    i->operands = arena_alloc(p->a, (size_t)n * sizeof *i->operands);
    memcpy(i->operands, ops, (size_t)n * sizeof *ops);
    for (int k = 0; k < n; k++)
        if (ops[k].target > 0) {
            p->unresolved.items[ops[k].target - 1].operand = &i->operands[k];
            i->operands[k].target = 0;
        }
}

static bool instr_operands(struct ptx_parser *p, const struct ptx_opinfo *info, struct ptx_instr *i,
                           const struct ptx_token *at)
{
    struct ptx_operand ops[LIMIT_OPERANDS];
    int n = 0;
    while (p->t.kind != ';') {
        if (n == LIMIT_OPERANDS)
            return ptx_fail(p, &p->t, "'%.*s' has too many operands", QUOTE(at));
        if (!ptx_operand_parse(p, i, &ops[n++]))
            return false;
        if (n == 1 && ptx_accept(p, '|'))
            i->pair = true;
        else if (!ptx_accept(p, ','))
            break;
        else if (p->t.kind == ';')
            return ptx_expected(p, "an operand");
    }
    if (p->t.kind != ';')
        return ptx_expected(p, "',' or ';'");
    i->noperands = (uint16_t)n;
    if (!ptx_check(p, info, i, ops, at))
        return false;
    move_operands(p, i, ops, n);
    return true;
}

/* @p or @!p */
static bool instr_guard(struct ptx_parser *p, struct ptx_instr *i)
{
    const struct ptx_sym *s;
    i->guard_neg = ptx_accept(p, '!');
    struct ptx_token t = p->t;
    if (t.kind != T_IDENT)
        return ptx_expected(p, "a predicate");
    i->guard = ptx_find_reg(p, t.s, t.n, &s);
    if (i->guard < 0)
        return ptx_fail(p, &t, "'%.*s' is not declared", QUOTE(&t));
    if (p->regs.items[i->guard].type != PTX_PRED)
        return ptx_fail(p, &t, "'%.*s' is not a predicate", QUOTE(&t));
    ptx_next(p);
    return true;
}

bool ptx_instruction(struct ptx_parser *p)
{
    struct ptx_instr guard = {.guard = -1};
    struct ptx_token name;
    if (ptx_accept(p, '@') && !instr_guard(p, &guard))
        return false;
    if (p->t.kind != T_IDENT)
        return ptx_expected(p, "an instruction");
    if (p->instrs.count >= INT32_MAX - 1)
        return ptx_fail(p, &p->t, "the function is too long");
    whole_name(p, &name);
    const struct ptx_opinfo *info = instr_opinfo(p, &name);
    if (info == NULL)
        return false;
    struct ptx_instr i = info->shape;
    i.guard = guard.guard;
    i.guard_neg = guard.guard_neg;
    i.line = name.line;
    i.column = name.column;
    i.loc_file = p->loc.file;
    i.loc_line = p->loc.line;
    i.loc_column = p->loc.column;
    i.loc_inlined_at = p->loc.inlined_at;
    bool ok = i.op == PTX_OP_call                          ? ptx_call_operands(p, &i)
              : (i.op == PTX_OP_bra || i.op == PTX_OP_brx) ? instr_branch(p, &i)
                                                           : instr_operands(p, info, &i, &name);
    if (!ok || !ptx_expect(p, ';', "';'"))
        return false;
    vec_push(&p->instrs, i);
    return true;
}
