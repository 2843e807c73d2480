/* func.c: functions: headers, performance directives, bodies with their nested blocks and labels.
 */
#include "ptx/parse.h"

#include <stdlib.h>
#include <string.h>

/* ---- parameters ---- */

/* ( parameter, … ), at the opening parenthesis; may be empty. */
static bool func_params(struct ptx_parser *p, struct ptx_var ***vars, int32_t **regs,
                        int32_t *count)
{
    struct {
        struct ptx_var **items;
        size_t count, cap;
    } list = {0};
    struct {
        int32_t *items;
        size_t count, cap;
    } indices = {0};
    ptx_next(p);
    bool ok = true;
    while (ok && p->t.kind != ')') {
        int32_t reg;
        struct ptx_var *v = ptx_param(p, &reg);
        ok = v != NULL;
        if (ok) {
            v->index = (int32_t)list.count;
            vec_push(&list, v);
            vec_push(&indices, reg);
            if (!ptx_accept(p, ','))
                break;
        }
    }
    ok = ok && ptx_expect(p, ')', "')' after the parameters");
    if (ok && list.count > 0) {
        *vars = arena_alloc(p->a, list.count * sizeof **vars);
        memcpy(*vars, list.items, list.count * sizeof **vars);
        *regs = arena_alloc(p->a, indices.count * sizeof **regs);
        memcpy(*regs, indices.items, indices.count * sizeof **regs);
    }
    *count = ok ? (int32_t)list.count : 0;
    free(list.items);
    free(indices.items);
    return ok;
}

/* ---- performance directives ---- */

/* A number that is not 0 where `what` must be positive. */
static bool positive(struct ptx_parser *p, const struct ptx_token *what, uint32_t *out)
{
    uint64_t v;
    struct ptx_token at = p->t;
    if (!ptx_number(p, "a number", UINT32_MAX, &v))
        return false;
    *out = (uint32_t)v;
    return v > 0 || ptx_fail(p, &at, ".%.*s must be positive", QUOTE(what));
}

static bool triple(struct ptx_parser *p, const struct ptx_token *what, uint32_t out[3])
{
    bool cluster = TOKEN_IS(what, "reqnctapercluster"); /* which ptxas lets be 0 */
    out[0] = out[1] = out[2] = 1;
    int k = 0;
    do {
        uint64_t v = 0;
        if (k == 3)
            return ptx_expected(p, "at most three numbers");
        if (!(cluster ? ptx_number(p, "a number", UINT32_MAX, &v) : positive(p, what, &out[k])))
            return false;
        if (cluster)
            out[k] = (uint32_t)v;
        k++;
    } while (ptx_accept(p, ','));
    return true;
}

static bool single(struct ptx_parser *p, uint32_t *out)
{
    uint64_t v;
    if (!ptx_number(p, "a number", UINT32_MAX, &v))
        return false;
    *out = (uint32_t)v;
    return true;
}

/* The shape of blocks: what they are at most or what they are, not both. */
static bool block_shape(struct ptx_parser *p, const struct ptx_token *what, uint32_t out[3],
                        const uint32_t other[3])
{
    if (other[0] != 0)
        return ptx_fail(p, what, "a function has .maxntid or .reqntid, not both");
    return triple(p, what, out);
}

/* At a directive between the parameters and the body. */
static bool performance(struct ptx_parser *p, struct ptx_func *f)
{
    struct ptx_token t = p->t;
    uint32_t ignored;
    ptx_next(p);
    if (TOKEN_IS(&t, "maxntid"))
        return block_shape(p, &t, f->maxntid, f->reqntid);
    if (TOKEN_IS(&t, "reqntid"))
        return block_shape(p, &t, f->reqntid, f->maxntid);
    if (TOKEN_IS(&t, "reqnctapercluster"))
        return triple(p, &t, f->reqnctapercluster);
    if (TOKEN_IS(&t, "minnctapersm"))
        return positive(p, &t, &f->minnctapersm);
    if (TOKEN_IS(&t, "maxnreg"))
        return positive(p, &t, &f->maxnreg);
    if (TOKEN_IS(&t, "maxclusterrank"))
        return single(p, &f->maxclusterrank);
    if (TOKEN_IS(&t, "explicitcluster") || TOKEN_IS(&t, "blocksareclusters"))
        return f->explicit_cluster = true;
    if (TOKEN_IS(&t, "noreturn"))
        return f->noreturn = true;
    if (TOKEN_IS(&t, "pragma"))
        return ptx_pragma(p, &f->pragmas);
    /* hints that change nothing here */
    if (TOKEN_IS(&t, "maxnctapersm") || TOKEN_IS(&t, "abi_preserve") ||
        TOKEN_IS(&t, "abi_preserve_control"))
        return single(p, &ignored);
    return ptx_fail(p, &t, "unknown directive '.%.*s' of a function", QUOTE(&t));
}

/* ---- labels ---- */

static bool func_label(struct ptx_parser *p, const struct ptx_token *name, struct ptx_sym **out,
                       enum ptx_sym_kind kind)
{
    const struct ptx_sym *old = ptx_symtab_find(&p->labels, name->s, name->n, false);
    if (old != NULL && old->depth == p->depth)
        return ptx_fail(p, name, "label '%.*s' is defined twice", QUOTE(name));
    *out = ptx_symtab_add(&p->labels, name->s, name->n, kind, p->depth);
    (*out)->index = (int32_t)p->instrs.count;
    return true;
}

bool ptx_label_ref(struct ptx_parser *p, int32_t *target)
{
    if (p->t.kind != T_IDENT)
        return ptx_expected(p, "a label");
    const struct ptx_sym *s = ptx_symtab_find(&p->labels, p->t.s, p->t.n, false);
    if (s != NULL && s->kind == SYM_LABEL && s->depth == p->depth)
        *target = s->index;
    else /* an inner block may still define it after this use */
        vec_push(&p->refs, (struct ptx_ref){.kind = REF_LABEL, .at = p->t, .target = target});
    ptx_next(p);
    return true;
}

/* The function of that name, now or when the module is read. */
static bool func_ref(struct ptx_parser *p, const struct ptx_token *name, struct ptx_func **slot)
{
    const struct ptx_sym *s = ptx_symtab_find(&p->names, name->s, name->n, false);
    if (s == NULL)
        vec_push(&p->unresolved, (struct ptx_ref){.kind = REF_FUNC, .at = *name, .func = slot});
    else if (s->kind == SYM_FUNC)
        *slot = s->func;
    else
        return ptx_fail(p, name, "'%.*s' is not a function", QUOTE(name));
    return true;
}

/* Gives a reference what its name stands for. */
static bool func_bind(struct ptx_parser *p, const struct ptx_ref *r, const struct ptx_sym *s)
{
    switch (r->kind) {
    case REF_LABEL:
        if (s->kind != SYM_LABEL)
            return ptx_fail(p, &r->at, "'%.*s' is not a label of an instruction", QUOTE(&r->at));
        *r->target = s->index;
        return true;
    case REF_TARGETS:
        if (s->kind != SYM_TARGETS)
            return ptx_fail(p, &r->at, "'%.*s' does not name .branchtargets", QUOTE(&r->at));
        p->instrs.items[r->instr].targets = s->targets;
        return true;
    default:
        if (s->kind == SYM_PROTO)
            r->call->proto = s->func;
        else if (s->kind == SYM_CALLEES) {
            r->call->candidates = s->callees->funcs;
            r->call->ncandidates = s->callees->count;
        } else
            return ptx_fail(p, &r->at, "'%.*s' names no .callprototype or .calltargets",
                            QUOTE(&r->at));
        return true;
    }
}

/* A call through a register may name, for the functions it can lead to, a variable that holds their
 * addresses. */
static bool bind_table(struct ptx_parser *p, const struct ptx_ref *r)
{
    const struct ptx_sym *s = ptx_symtab_find(&p->names, r->at.s, r->at.n, false);
    if (r->kind != REF_PROTO || s == NULL || s->kind != SYM_VAR || s->var->nrelocs == 0)
        return ptx_fail(p, &r->at, "label '%.*s' is not defined", QUOTE(&r->at));
    struct ptx_call *c = r->call;
    c->candidates = arena_alloc(p->a, (size_t)s->var->nrelocs * sizeof(struct ptx_func *));
    for (int32_t k = 0; k < s->var->nrelocs; k++) {
        struct ptx_func *f = s->var->relocs[k].func;
        if (f == NULL)
            return ptx_fail(p, &r->at, "'%.*s' holds more than functions known so far",
                            QUOTE(&r->at));
        c->candidates[c->ncandidates++] = f;
    }
    return true;
}

/* At the end of a block: what it defines is bound, the rest is the outer block's matter. */
static bool resolve_block(struct ptx_parser *p)
{
    size_t kept = p->blocks[p->depth].refs;
    for (size_t i = kept; i < p->refs.count; i++) {
        struct ptx_ref *r = &p->refs.items[i];
        const struct ptx_sym *s = ptx_symtab_find(&p->labels, r->at.s, r->at.n, false);
        if (s != NULL && s->depth == p->depth) {
            if (!func_bind(p, r, s))
                return false;
        } else if (p->depth == 1) {
            if (!bind_table(p, r))
                return false;
        } else
            p->refs.items[kept++] = *r;
    }
    p->refs.count = kept;
    return true;
}

/* ---- blocks ---- */

static bool open_block(struct ptx_parser *p)
{
    if (p->depth >= LIMIT_NESTING)
        return ptx_fail(p, &p->t, "blocks nested deeper than %d", LIMIT_NESTING);
    p->depth++;
    p->blocks[p->depth].names = p->names.count;
    p->blocks[p->depth].labels = p->labels.count;
    p->blocks[p->depth].refs = p->refs.count;
    return true;
}

static bool close_block(struct ptx_parser *p)
{
    if (!resolve_block(p))
        return false;
    ptx_symtab_cut(&p->names, p->blocks[p->depth].names);
    ptx_symtab_cut(&p->labels, p->blocks[p->depth].labels);
    p->depth--;
    return true;
}

struct name_list {
    struct ptx_token *items;
    size_t count, cap;
};

/* a, b, c; — the caller frees the list. */
static bool func_names(struct ptx_parser *p, struct name_list *list)
{
    do {
        if (p->t.kind != T_IDENT)
            return ptx_expected(p, "a name");
        vec_push(list, p->t);
        ptx_next(p);
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ';', "';'");
}

/* .branchtargets a, b; — after the directive. The name may be missing: then nobody uses the list.
 */
static bool branch_targets(struct ptx_parser *p, const struct ptx_token *name)
{
    struct name_list list = {0};
    struct ptx_sym *s;
    bool ok = func_names(p, &list) && (name == NULL || func_label(p, name, &s, SYM_TARGETS));
    if (ok) {
        struct ptx_targets *targets = arena_alloc(p->a, sizeof *targets);
        targets->count = (int32_t)list.count;
        targets->index = arena_alloc(p->a, list.count * sizeof *targets->index);
        for (size_t i = 0; i < list.count; i++)
            vec_push(&p->refs, (struct ptx_ref){.kind = REF_LABEL,
                                                .at = list.items[i],
                                                .target = &targets->index[i]});
        if (name != NULL)
            s->targets = targets;
    }
    free(list.items);
    return ok;
}

/* .calltargets f, g; */
static bool call_targets(struct ptx_parser *p, const struct ptx_token *name)
{
    struct name_list list = {0};
    struct ptx_sym *s;
    bool ok = func_names(p, &list) && (name == NULL || func_label(p, name, &s, SYM_CALLEES));
    if (ok) {
        struct ptx_callees *callees = arena_alloc(p->a, sizeof *callees);
        callees->count = (int32_t)list.count;
        callees->funcs = arena_alloc(p->a, list.count * sizeof(struct ptx_func *));
        if (name != NULL)
            s->callees = callees;
        for (size_t i = 0; i < list.count && ok; i++)
            ok = func_ref(p, &list.items[i], &callees->funcs[i]);
    }
    free(list.items);
    return ok;
}

/* `(…) name (…)` of a .callprototype, after the directive, up to the `;`. */
static struct ptx_func *parse_prototype(struct ptx_parser *p)
{
    struct ptx_func *f = arena_alloc(p->a, sizeof *f), *outer = p->f;
    f->name = "_";
    f->module = p->m;
    f->line = p->t.line;
    p->f = f;
    /* names of parameters are private to the prototype; register parameters stay in the outer
     * function's list, which harms nobody */
    size_t nregs = p->regs.count;
    bool ok = open_block(p);
    bool cdp_names = p->cdp_names;
    if (ok && p->t.kind == '(')
        ok = func_params(p, &f->rets, &f->ret_regs, &f->nrets);
    ok = ok && ptx_expect(p, T_IDENT, "'_'");
    if (ok && p->t.kind == '(')
        ok = func_params(p, &f->params, &f->param_regs, &f->nparams);
    while (ok && p->t.kind == T_DOT)
        ok = performance(p, f);
    ok = ok && close_block(p);
    p->cdp_names = cdp_names || p->regs.count > nregs;
    p->f = outer;
    return ok ? f : NULL;
}

static bool call_prototype(struct ptx_parser *p, const struct ptx_token *name)
{
    struct ptx_func *f = parse_prototype(p);
    if (f == NULL)
        return false;
    struct ptx_sym *s;
    if (name != NULL && !func_label(p, name, &s, SYM_PROTO))
        return false;
    if (name != NULL)
        s->func = f;
    return ptx_expect(p, ';', "';'");
}

static bool body_directive(struct ptx_parser *p, const struct ptx_token *label)
{
    struct ptx_token t = p->t;
    if (ptx_decl_start(&t))
        return ptx_declaration(p, PTX_LINK_LOCAL);
    ptx_next(p);
    if (TOKEN_IS(&t, "loc"))
        return ptx_loc_directive(p);
    if (TOKEN_IS(&t, "pragma"))
        return ptx_pragma(p, &p->f->pragmas);
    if (TOKEN_IS(&t, "branchtargets"))
        return branch_targets(p, label);
    if (TOKEN_IS(&t, "calltargets"))
        return call_targets(p, label);
    if (TOKEN_IS(&t, "callprototype"))
        return call_prototype(p, label);
    return ptx_fail(p, &t, "unknown directive '.%.*s' in a function", QUOTE(&t));
}

static bool is_list_directive(const struct ptx_token *t)
{
    return t->kind == T_DOT && (TOKEN_IS(t, "branchtargets") || TOKEN_IS(t, "calltargets") ||
                                TOKEN_IS(t, "callprototype"));
}

static bool body_statement(struct ptx_parser *p)
{
    if (p->t.kind == T_IDENT && ptx_lexer_at_colon(&p->lx)) {
        struct ptx_token name = p->t;
        struct ptx_sym *s;
        ptx_next(p);
        ptx_next(p);
        if (is_list_directive(&p->t)) /* the label names the list, not an instruction */
            return body_directive(p, &name);
        return func_label(p, &name, &s, SYM_LABEL);
    }
    switch (p->t.kind) {
    case '{':
        if (!open_block(p))
            return false;
        ptx_next(p);
        return true;
    case '}': ptx_next(p); return close_block(p);
    case ';': ptx_next(p); return true;
    case T_DOT: return body_directive(p, NULL);
    case T_IDENT:
    case '@': return ptx_instruction(p);
    default: return ptx_expected(p, "an instruction");
    }
}

/* ---- the end of a function ---- */

static void *to_arena(struct ptx_parser *p, const void *items, size_t bytes)
{
    return bytes == 0 ? NULL : memcpy(arena_alloc(p->a, bytes), items, bytes);
}

static void finish(struct ptx_parser *p)
{
    struct ptx_func *f = p->f;
    f->regs = to_arena(p, p->regs.items, p->regs.count * sizeof *p->regs.items);
    f->nregs = (int32_t)p->regs.count;
    f->vars = to_arena(p, p->fvars.items, p->fvars.count * sizeof *p->fvars.items);
    f->nvars = (int32_t)p->fvars.count;
    f->instrs = to_arena(p, p->instrs.items, p->instrs.count * sizeof *p->instrs.items);
    f->ninstrs = (int32_t)p->instrs.count;
    if (p->cdp_names)
        vec_push(&p->crowded, f);
}

static bool func_body(struct ptx_parser *p)
{
    ptx_next(p);
    while (p->depth > 0) {
        if (p->t.kind == T_END)
            return ptx_fail(p, &p->t, "the body of '%s' does not end", p->f->name);
        if (!body_statement(p))
            return false;
    }
    finish(p);
    return true;
}

/* ---- headers ---- */

/* The function of that name: a new one, or one declared before. */
static struct ptx_func *named(struct ptx_parser *p, const struct ptx_token *name, bool is_entry)
{
    const struct ptx_sym *s = ptx_symtab_find(&p->names, name->s, name->n, false);
    if (s != NULL && s->kind != SYM_FUNC) {
        ptx_fail(p, name, "'%.*s' is declared twice", QUOTE(name));
        return NULL;
    }
    if (s != NULL && s->func->is_entry != is_entry) {
        ptx_fail(p, name, "'%.*s' was declared as %s on line %d", QUOTE(name),
                 is_entry ? "a .func" : "an .entry", s->func->line);
        return NULL;
    }
    if (s != NULL)
        return s->func;
    struct ptx_func *f = arena_alloc(p->a, sizeof *f);
    f->name = arena_strndup(p->a, name->s, name->n);
    f->is_entry = is_entry;
    f->module = p->m;
    f->line = name->line;
    struct ptx_sym *added = ptx_symtab_add(&p->names, name->s, name->n, SYM_FUNC, 0);
    added->func = f;
    vec_push(&p->funcs, f);
    return f;
}

static bool entry_params_valid(struct ptx_parser *p, const struct ptx_func *f,
                               const struct ptx_token *name)
{
    uint64_t end = 0;
    for (int32_t k = 0; k < f->nparams; k++) {
        const struct ptx_var *v = f->params[k];
        if (v->space != PTX_SPACE_PARAM)
            return ptx_fail(p, name, "'%.*s': an entry's parameters are in .param", QUOTE(name));
        uint64_t align = v->align > 0 ? v->align : 1;
        end = (end + align - 1) / align * align + v->size;
        if (end > LIMIT_ENTRY_BYTES)
            return ptx_fail(p, name, "'%.*s': an entry's parameters take more than %d bytes",
                            QUOTE(name), LIMIT_ENTRY_BYTES);
    }
    return true;
}

/* What this declaration says, read into a scratch function: an older one may be defined already. */
static bool header(struct ptx_parser *p, struct ptx_func *scratch, struct ptx_token *name,
                   bool is_entry)
{
    if (p->t.kind == T_DOT && TOKEN_IS(&p->t, "attribute")) { /* .attribute(.unified(a, b)) */
        for (int depth = 0; p->t.kind != T_END && p->t.kind != T_ERROR;) {
            ptx_next(p);
            depth += p->t.kind == '(';
            depth -= p->t.kind == ')';
            if (depth == 0)
                break;
        }
        if (!ptx_expect(p, ')', "')'"))
            return false;
    }
    if (p->t.kind == T_DOT && TOKEN_IS(&p->t, "noreturn")) {
        scratch->noreturn = true;
        ptx_next(p);
    }
    if (p->t.kind == '(' &&
        (is_entry || !func_params(p, &scratch->rets, &scratch->ret_regs, &scratch->nrets)))
        return ptx_expected(p, "a function name");
    *name = p->t;
    if (name->kind != T_IDENT)
        return ptx_expected(p, "a function name");
    ptx_next(p);
    if (p->t.kind == '(' &&
        !func_params(p, &scratch->params, &scratch->param_regs, &scratch->nparams))
        return false;
    if (is_entry && !entry_params_valid(p, scratch, name))
        return false;
    while (p->t.kind == T_DOT)
        if (!performance(p, scratch))
            return false;
    return true;
}

static bool same_shape(struct ptx_parser *p, const struct ptx_func *old, const struct ptx_func *new,
                       const struct ptx_token *name)
{
    bool same = old->nparams == new->nparams && old->nrets == new->nrets;
    for (int32_t k = 0; same && k < old->nparams; k++)
        same = old->params[k]->size == new->params[k]->size;
    for (int32_t k = 0; same && k < old->nrets; k++)
        same = old->rets[k]->size == new->rets[k]->size;
    if (!same)
        return ptx_fail(p, name, "'%.*s' was declared with other parameters on line %d",
                        QUOTE(name), old->line);
    return true;
}

/* Takes over what the header said, which also the body refers to. */
static bool adopt(struct ptx_parser *p, struct ptx_func *f, const struct ptx_func *scratch,
                  const struct ptx_token *name, enum ptx_linkage linkage, bool is_new)
{
    if (!is_new && !same_shape(p, f, scratch, name))
        return false;
    bool body = p->t.kind == '{';
    if (body && (f->has_body || f->alias_of != NULL))
        return ptx_fail(p, name, "function '%s' is defined twice", f->name);
    if (body && linkage == PTX_LINK_EXTERN)
        return ptx_fail(p, name, "extern function '%s' has a body", f->name);
    if (is_new || body) {
        struct ptx_func kept = *f;
        *f = *scratch;
        f->name = kept.name;
        f->is_entry = kept.is_entry;
        f->module = p->m;
        f->line = name->line;
        f->noreturn |= kept.noreturn;
        bool keep = linkage == PTX_LINK_LOCAL && !is_new && kept.linkage != PTX_LINK_EXTERN;
        f->linkage = keep ? kept.linkage : (uint8_t)linkage;
        for (int32_t k = 0; k < f->nparams; k++)
            f->params[k]->scope = f;
        for (int32_t k = 0; k < f->nrets; k++)
            f->rets[k]->scope = f;
    }
    f->has_body |= body;
    return true;
}

bool ptx_function(struct ptx_parser *p, enum ptx_linkage linkage, bool is_entry)
{
    struct ptx_func scratch = {0};
    struct ptx_token name = p->t;
    size_t names = p->names.count;
    p->f = &scratch;
    p->regs.count = p->fvars.count = p->instrs.count = p->refs.count = 0;
    p->cdp_names = p->single_regs = false;
    if (p->ninlined > 0)
        memset(p->inlined, 0, p->inlined_cap * sizeof *p->inlined);
    p->ninlined = 0;
    p->loc = (struct ptx_loc){0};
    if (!open_block(p) || !header(p, &scratch, &name, is_entry))
        return false;
    /* the function's own name belongs to the module, below its parameters' names */
    size_t nparams = p->names.count - names;
    struct ptx_sym *own = nparams == 0 ? NULL : xmalloc(nparams * sizeof *own);
    if (own != NULL)
        memcpy(own, p->names.items + names, nparams * sizeof *own);
    ptx_symtab_cut(&p->names, names);
    size_t before = p->funcs.count;
    struct ptx_func *f = named(p, &name, is_entry);
    p->blocks[p->depth].names = p->names.count;
    for (size_t i = 0; own != NULL && i < nparams && f != NULL; i++) {
        struct ptx_sym *s = ptx_symtab_add(&p->names, own[i].name, own[i].length,
                                           (enum ptx_sym_kind)own[i].kind, own[i].depth);
        s->index = own[i].index;
        s->count = own[i].count;
        s->var = own[i].var;
    }
    free(own);
    if (f == NULL || !adopt(p, f, &scratch, &name, linkage, p->funcs.count > before))
        return false;
    p->f = f;
    bool ok;
    if (p->t.kind == '{')
        ok = func_body(p);
    else {
        ok = ptx_expect(p, ';', "';' or a body") && close_block(p);
        if (ok && !f->has_body)
            finish(p);
    }
    p->f = NULL;
    return ok;
}
