/* parse.c: ptx_parse and the directives of module scope. */
#include "ptx/parse.h"
#include "base/reserve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages ---- */

bool ptx_fail(struct ptx_parser *p, const struct ptx_token *at, const char *fmt, ...)
{
    char text[900];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return diag_set(p->diag, at->line, at->column, "line %d, column %d: %s", at->line, at->column,
                    text);
}

bool ptx_expected(struct ptx_parser *p, const char *what)
{
    if (p->t.kind == T_END)
        return ptx_fail(p, &p->t, "expected %s, but the text ends here", what);
    if (p->t.kind == T_DOT)
        return ptx_fail(p, &p->t, "expected %s before '.%.*s'", what, QUOTE(&p->t));
    return ptx_fail(p, &p->t, "expected %s before '%.*s'", what, QUOTE(&p->t));
}

bool ptx_expect(struct ptx_parser *p, int kind, const char *what)
{
    if (p->t.kind != kind)
        return ptx_expected(p, what);
    ptx_next(p);
    return true;
}

bool ptx_number(struct ptx_parser *p, const char *what, uint64_t max, uint64_t *value)
{
    if (p->t.kind != T_INT)
        return ptx_expected(p, what);
    if (p->t.u > max)
        return ptx_fail(p, &p->t, "%s is too large: %.*s", what, QUOTE(&p->t));
    *value = p->t.u;
    ptx_next(p);
    return true;
}

/* ---- header ---- */

/* .version major.minor: two integers joined by a dot, which the lexer took for a float. */
static bool parse_version(struct ptx_parser *p)
{
    struct ptx_token t = p->t;
    int major = 0, minor = 0, used = 0;
    char text[16] = {0};
    if (t.kind == T_FLOAT && t.form == PTX_FLOAT_DECIMAL && t.n < sizeof text)
        memcpy(text, t.s, t.n);
    if (sscanf(text, "%2d.%2d%n", &major, &minor, &used) != 2 || used != (int)t.n)
        return ptx_expected(p, "a version such as 8.8 after .version");
    if (major < 1 || major > 9)
        return ptx_fail(p, &t, "PTX ISA version %d.%d is not supported", major, minor);
    p->m->version_major = major;
    p->m->version_minor = minor;
    ptx_next(p);
    return true;
}

static bool target_name(struct ptx_parser *p)
{
    struct ptx_token t = p->t;
    static const char *const modes[] = {"texmode_unified", "texmode_independent", "map_f64_to_f32"};
    if (t.kind != T_IDENT)
        return ptx_expected(p, "a target such as sm_90");
    ptx_next(p);
    if (TOKEN_IS(&t, "debug"))
        return p->m->debug = true;
    for (size_t i = 0; i < WEIR_COUNT(modes); i++)
        if (ptx_is(&t, modes[i], strlen(modes[i])))
            return true;
    int sm = 0, used = 0;
    char text[16] = {0}, suffix = 0;
    if (t.n < sizeof text)
        memcpy(text, t.s, t.n);
    int n = sscanf(text, "sm_%3d%n%c", &sm, &used, &suffix);
    if (n < 1 || (n == 2 && suffix != 'a' && suffix != 'f') || (int)t.n != used + (n == 2))
        return ptx_fail(p, &t, "unknown target '%.*s'", QUOTE(&t));
    if (sm > 121)
        return ptx_fail(p, &t, "target %.*s is newer than sm_121a, the newest that is supported",
                        QUOTE(&t));
    p->m->target_sm = sm;
    p->m->target_suffix = suffix;
    return true;
}

static bool parse_target(struct ptx_parser *p)
{
    do {
        if (!target_name(p))
            return false;
    } while (ptx_accept(p, ','));
    return true;
}

static bool address_size(struct ptx_parser *p)
{
    struct ptx_token at = p->t;
    uint64_t bits = 0;
    if (!ptx_number(p, "an address size", 64, &bits))
        return false;
    if (bits != 64)
        return ptx_fail(p, &at, "only 64-bit addresses are supported (.address_size %llu)",
                        (unsigned long long)bits);
    return true;
}

/* ---- debug directives ---- */

/* .file index "name" [, timestamp, size] */
static bool parse_file(struct ptx_parser *p)
{
    uint64_t index = 0, ignored;
    if (!ptx_number(p, "a file number", LIMIT_FILES, &index))
        return false;
    if (p->t.kind != T_STRING)
        return ptx_expected(p, "a file name");
    while (p->files.count <= index)
        vec_push(&p->files, NULL);
    p->files.items[index] = arena_strndup(p->a, p->t.s, p->t.n);
    ptx_next(p);
    while (ptx_accept(p, ','))
        if (!ptx_number(p, "a number", UINT64_MAX, &ignored))
            return false;
    return true;
}

/* The record of the last .loc at this position: where it was itself inlined (index+1), or 0. */
static struct ptx_loc *parse_inlined(struct ptx_parser *p, const struct ptx_loc *at)
{
    if (p->inlined_cap == 0)
        return NULL;
    size_t h = ((size_t)at->file * 31 + (size_t)at->line) * 0x9e3779b1u + (size_t)at->column * 97;
    for (h ^= h >> 13;; h++) {
        struct ptx_loc *l = &p->inlined[h & (p->inlined_cap - 1)];
        if (l->line == 0 || (l->file == at->file && l->line == at->line && l->column == at->column))
            return l;
    }
}

static void remember_inlined(struct ptx_parser *p, const struct ptx_loc *loc)
{
    if (loc->line == 0)
        return; /* line 0 marks a free slot, and names no line */
    if ((p->ninlined + 1) * 2 > p->inlined_cap) {
        struct ptx_loc *old = p->inlined;
        size_t n = p->inlined_cap;
        p->inlined_cap = n ? n * 2 : 64;
        p->inlined = xcalloc(p->inlined_cap, sizeof *p->inlined);
        for (size_t i = 0; i < n; i++)
            if (old[i].line != 0)
                *parse_inlined(p, &old[i]) = old[i];
        free(old);
    }
    struct ptx_loc *slot = parse_inlined(p, loc);
    p->ninlined += slot->line == 0;
    *slot = *loc;
}

static bool parse_position(struct ptx_parser *p, struct ptx_loc *loc)
{
    uint64_t file, line, column;
    if (!ptx_number(p, "a file number", LIMIT_FILES, &file) ||
        !ptx_number(p, "a line number", INT32_MAX, &line) ||
        !ptx_number(p, "a column number", INT32_MAX, &column))
        return false;
    *loc = (struct ptx_loc){(int32_t)file, (int32_t)line, (int32_t)column, 0};
    return true;
}

/* .loc file line column [, function_name label[+n]] [, inlined_at file line column] */
bool ptx_loc_directive(struct ptx_parser *p)
{
    struct ptx_loc loc, at;
    if (!parse_position(p, &loc))
        return false;
    while (ptx_accept(p, ',')) {
        struct ptx_token word = p->t;
        if (word.kind != T_IDENT)
            return ptx_expected(p, "function_name or inlined_at");
        ptx_next(p);
        if (TOKEN_IS(&word, "function_name")) {
            int64_t offset;
            if (p->t.kind != T_IDENT && p->t.kind != T_DOT)
                return ptx_expected(p, "a label");
            ptx_next(p);
            if (ptx_accept(p, '+') && !ptx_int_expr(p, &offset))
                return false;
        } else if (TOKEN_IS(&word, "inlined_at")) {
            if (!parse_position(p, &at))
                return false;
            const struct ptx_loc *outer = parse_inlined(p, &at);
            at.inlined_at = outer != NULL && outer->line != 0 ? outer->inlined_at : 0;
            if (p->locs.count == 0 ||
                memcmp(&p->locs.items[p->locs.count - 1], &at, sizeof at) != 0)
                vec_push(&p->locs, at);
            loc.inlined_at = (int32_t)p->locs.count;
        } else
            return ptx_fail(p, &word, "unknown attribute '%.*s' of .loc", QUOTE(&word));
    }
    remember_inlined(p, &loc);
    p->loc = loc;
    return true;
}

/* As NVIDIA's compiler does, pragmas that mean nothing here are passed over. */
bool ptx_pragma(struct ptx_parser *p, uint8_t *pragmas)
{
    do {
        if (p->t.kind != T_STRING)
            return ptx_expected(p, "a string after .pragma");
        for (int n = 0; n < PTX_NPRAGMAS && pragmas != NULL; n++)
            if (ptx_is(&p->t, ptx_pragma_name(n), strlen(ptx_pragma_name(n))))
                *pragmas |= (uint8_t)(1 << n);
        ptx_next(p);
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ';', "';'");
}

static bool parse_pragma(struct ptx_parser *p) { return ptx_pragma(p, NULL); }

/* ---- module scope ---- */

/* .alias name, target; */
static bool parse_alias(struct ptx_parser *p)
{
    struct ptx_token name = p->t;
    if (name.kind != T_IDENT)
        return ptx_expected(p, "a function name");
    const struct ptx_sym *s = ptx_symtab_find(&p->names, name.s, name.n, false);
    if (s == NULL || s->kind != SYM_FUNC)
        return ptx_fail(p, &name, ".alias: '%.*s' is not a declared function", QUOTE(&name));
    if (s->func->has_body || s->func->alias_of != NULL)
        return ptx_fail(p, &name, ".alias: '%.*s' is defined already", QUOTE(&name));
    struct ptx_func *f = s->func;
    ptx_next(p);
    if (!ptx_expect(p, ',', "','") || p->t.kind != T_IDENT)
        return ptx_expected(p, "the function that the alias stands for");
    struct ptx_token target = p->t;
    s = ptx_symtab_find(&p->names, target.s, target.n, false);
    if (s == NULL || s->kind != SYM_FUNC || !s->func->has_body)
        return ptx_fail(p, &target, ".alias: '%.*s' is not a defined function", QUOTE(&target));
    if (s->func->nparams != f->nparams || s->func->nrets != f->nrets)
        return ptx_fail(p, &target, ".alias: '%s' and '%s' take different parameters", f->name,
                        s->func->name);
    f->alias_of = s->func;
    ptx_next(p);
    return ptx_expect(p, ';', "';'");
}

static bool parse_linkage(const struct ptx_token *t, enum ptx_linkage *linkage)
{
    static const struct {
        const char *name;
        enum ptx_linkage linkage;
    } words[] = {{"extern", PTX_LINK_EXTERN},
                 {"visible", PTX_LINK_VISIBLE},
                 {"weak", PTX_LINK_WEAK},
                 {"common", PTX_LINK_COMMON}};
    for (size_t i = 0; i < WEIR_COUNT(words); i++)
        if (ptx_is(t, words[i].name, strlen(words[i].name))) {
            *linkage = words[i].linkage;
            return true;
        }
    return false;
}

static bool declaration(struct ptx_parser *p)
{
    enum ptx_linkage linkage = PTX_LINK_LOCAL, more;
    while (p->t.kind == T_DOT && parse_linkage(&p->t, &more)) {
        if (linkage != PTX_LINK_LOCAL)
            return ptx_fail(p, &p->t, "two linkage directives: .%.*s comes second", QUOTE(&p->t));
        linkage = more;
        ptx_next(p);
    }
    if (p->t.kind != T_DOT)
        return ptx_expected(p, "a function or a variable");
    bool entry = TOKEN_IS(&p->t, "entry");
    if (entry || TOKEN_IS(&p->t, "func")) {
        ptx_next(p);
        return ptx_function(p, linkage, entry);
    }
    if (ptx_decl_start(&p->t))
        return ptx_declaration(p, linkage);
    return ptx_fail(p, &p->t, "unknown directive '.%.*s'", QUOTE(&p->t));
}

static bool statement(struct ptx_parser *p)
{
    static const struct {
        const char *name;
        bool (*read)(struct ptx_parser *p);
    } directives[] = {{"version", parse_version},     {"target", parse_target},
                      {"address_size", address_size}, {"file", parse_file},
                      {"section", ptx_section},       {"loc", ptx_loc_directive},
                      {"pragma", parse_pragma},       {"alias", parse_alias}};
    if (p->t.kind == '@') { /* @@DWARF: debug data of very old PTX */
        ptx_lexer_skip_line(&p->lx);
        ptx_next(p);
        return true;
    }
    if (p->t.kind != T_DOT)
        return ptx_accept(p, ';') || ptx_expected(p, "a directive");
    for (size_t i = 0; i < WEIR_COUNT(directives); i++)
        if (ptx_is(&p->t, directives[i].name, strlen(directives[i].name))) {
            ptx_next(p);
            return directives[i].read(p);
        }
    return declaration(p);
}

/* ---- the end of the module ---- */

static bool resolve(struct ptx_parser *p, const struct ptx_ref *r)
{
    const struct ptx_sym *s = ptx_symtab_find(&p->names, r->at.s, r->at.n, false);
    if (s == NULL || (s->kind != SYM_FUNC && s->kind != SYM_VAR))
        return ptx_fail(p, &r->at, "'%.*s' is not declared", QUOTE(&r->at));
    bool is_func = s->kind == SYM_FUNC;
    if (!is_func && (r->kind == REF_CALL || r->kind == REF_FUNC))
        return ptx_fail(p, &r->at, "'%.*s' is not a function", QUOTE(&r->at));
    switch (r->kind) {
    case REF_OPERAND:
        if (is_func && r->operand->kind == PTX_OPR_MEM)
            return ptx_fail(p, &r->at, "'%.*s' is a function, not a variable", QUOTE(&r->at));
        if (is_func)
            r->operand->func = s->func;
        else
            r->operand->var = s->var;
        break;
    case REF_CALL: r->call->func = s->func; break;
    case REF_FUNC: *r->func = s->func; break;
    default:
        if (is_func)
            r->reloc.var->relocs[r->reloc.index].func = s->func;
        else
            r->reloc.var->relocs[r->reloc.index].var = s->var;
        break;
    }
    return true;
}

/* Whether an argument has the size of its parameter, as far as it has one (a constant and _ have
 * none). Compilers pass integers of less than 32 bits as such, which kernels declare as they are;
 * linked code may take a result into a variable for a larger one (copy.c).
 */
static bool argument_fits(const struct ptx_operand *o, const struct ptx_var *param,
                          const struct ptx_func *f, bool to_kernel, bool result)
{
    if (o->kind == PTX_OPR_SYM && o->var != NULL)
        return param->unsized || o->var->size == param->size ||
               (result && o->var->size > param->size) ||
               (to_kernel && o->var->size == 4 && param->size < 4);
    if (o->kind == PTX_OPR_REG)
        return (ptx_type_bits((enum ptx_type)f->regs[o->reg].type) + 7) / 8 <= param->size;
    return true;
}

static bool check_list(struct ptx_parser *p, const struct ptx_func *f, const struct ptx_instr *i,
                       const struct ptx_func *callee, bool rets)
{
    struct ptx_token at = {.line = i->line, .column = i->column};
    const struct ptx_operand *ops = rets ? i->call->rets : i->call->args;
    struct ptx_var *const *params = rets ? callee->rets : callee->params;
    int n = rets ? i->call->nrets : i->call->nargs;
    int want = rets ? callee->nrets : callee->nparams;
    bool open = want > 0 && params[want - 1]->unsized; /* .param .b8 x[]: the rest, if any */
    if (open ? n < want - 1 : n != want)
        return ptx_fail(p, &at, "call of '%s' gives %d %s, it has %d", callee->name, n,
                        rets ? "return values" : "arguments", want);
    for (int k = 0; k < n && k < want; k++)
        if (!argument_fits(&ops[k], params[k], f, callee->is_entry, rets))
            return ptx_fail(p, &at, "call of '%s': %s %d differs in size from the declaration",
                            callee->name, rets ? "return value" : "argument", k + 1);
    return true;
}

/* Calls are checked once everything is declared. */
static bool check_calls(struct ptx_parser *p)
{
    for (size_t k = 0; k < p->funcs.count; k++) {
        const struct ptx_func *f = p->funcs.items[k];
        for (int n = 0; n < f->ninstrs; n++) {
            const struct ptx_call *c = f->instrs[n].call;
            const struct ptx_func *callee = c == NULL ? NULL : c->func != NULL ? c->func : c->proto;
            if (c != NULL && callee == NULL && c->ncandidates > 0)
                callee = c->candidates[0];
            if (callee != NULL && (!check_list(p, f, &f->instrs[n], callee, false) ||
                                   !check_list(p, f, &f->instrs[n], callee, true)))
                return false;
        }
    }
    return true;
}

#define TO_ARENA(p, list, field, number)                                                           \
    do {                                                                                           \
        if ((p)->list.count > 0) {                                                                 \
            (p)->m->field = arena_alloc((p)->a, (p)->list.count * sizeof *(p)->list.items);        \
            memcpy((p)->m->field, (p)->list.items, (p)->list.count * sizeof *(p)->list.items);     \
        }                                                                                          \
        (p)->m->number = (int32_t)(p)->list.count;                                                 \
    } while (0)

static bool parse_module(struct ptx_parser *p)
{
    ptx_next(p);
    if (p->t.kind != T_DOT || !TOKEN_IS(&p->t, "version"))
        return ptx_expected(p, ".version at the start of the module");
    while (p->t.kind != T_END)
        if (!statement(p))
            return false;
    if (p->m->target_sm == 0)
        return ptx_fail(p, &p->t, "the module has no .target");
    for (size_t i = 0; i < p->unresolved.count; i++)
        if (!resolve(p, &p->unresolved.items[i]))
            return false;
    if (!check_calls(p))
        return false;
    for (size_t i = 0; i < p->crowded.count; i++)
        ptx_make_unique(p, p->crowded.items[i]);
    TO_ARENA(p, vars, vars, nvars);
    TO_ARENA(p, funcs, funcs, nfuncs);
    TO_ARENA(p, files, files, nfiles);
    p->m->debug_info = p->debug_info;
    p->m->debug_abbrev = p->debug_abbrev;
    TO_ARENA(p, locs, locs, nlocs);
    ptx_index(p->m);
    return true;
}

static void parse_release(struct ptx_parser *p)
{
    ptx_symtab_free(&p->names);
    ptx_symtab_free(&p->labels);
    free(p->unresolved.items);
    free(p->refs.items);
    free(p->vars.items);
    free(p->funcs.items);
    free(p->files.items);
    free(p->locs.items);
    free(p->regs.items);
    free(p->fvars.items);
    free(p->instrs.items);
    free(p->crowded.items);
    free(p->opinfo);
    free(p->inlined);
}

/* A call of ptx_parse: what must be released when memory runs out in the middle. */
struct parse_call {
    const char *text;
    size_t size;
    struct diag local;
    struct ptx_module *m;
    struct ptx_parser *p;
    bool ok;
};

static void parse_text(void *arg)
{
    struct parse_call *c = arg;
    struct ptx_module *m = c->m = xcalloc(1, sizeof *m);
    struct ptx_parser *p = c->p = xcalloc(1, sizeof *p);
    m->address_bits = 64;
    p->m = m;
    p->a = &m->arena;
    p->diag = &c->local;
    ptx_lexer_init(&p->lx, c->text, c->size, &c->local);
    hash_init(&m->hash);
    hash_add(&m->hash, p->lx.p, (size_t)(p->lx.end - p->lx.p));
    c->ok = parse_module(p) && c->local.text[0] == '\0';
}

struct ptx_module *ptx_parse(const char *text, size_t size, struct diag *d)
{
    struct parse_call c = {.text = text, .size = size};
    if (!memory_guarded(parse_text, &c)) {
        if (c.m != NULL)
            c.m->arena = (struct arena){0}; /* freed already */
        c.local = (struct diag){0};
        diag_set_memory(&c.local, "the PTX cannot be read");
    }
    if (c.p != NULL)
        parse_release(c.p);
    free(c.p);
    if (c.ok)
        return c.m;
    if (d != NULL && d->text[0] == '\0')
        *d = c.local;
    if (c.m != NULL)
        ptx_free(c.m);
    return NULL;
}
