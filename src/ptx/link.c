/* link.c: ptx_link: which definition each name of several modules gets.
 *
 * A name that a module keeps to itself (no linkage) never meets another's. Among the others a
 * visible definition wins over weak and common ones, of which the first (of commons the largest)
 * wins; two visible ones are an error. What loses, and every extern, stands for the winner. */
#include "ptx/link.h"
#include "base/reserve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ranks ---- */

enum rank { REFERENCE, COMMON, WEAK, DEFINITION };

static enum rank link_rank(unsigned linkage, bool defined)
{
    if (!defined)
        return REFERENCE;
    return linkage == PTX_LINK_WEAK ? WEAK : linkage == PTX_LINK_COMMON ? COMMON : DEFINITION;
}

static enum rank var_rank(const struct ptx_var *v)
{
    return link_rank(v->linkage, v->linkage != PTX_LINK_EXTERN);
}

static enum rank func_rank(const struct ptx_func *f)
{
    return link_rank(f->linkage, f->has_body || f->alias_of != NULL);
}

/* Does the name reach other modules? A function without a body must come from somewhere. */
static bool var_is_shared(const struct ptx_var *v) { return v->linkage != PTX_LINK_LOCAL; }
static bool func_is_shared(const struct ptx_func *f)
{
    return f->linkage != PTX_LINK_LOCAL || func_rank(f) == REFERENCE;
}

/* clang gives a unit's static variable a visible name of its own, `<name>__static__<unit>`, but may
 * have referred to it by the plain name before: then the unit holds an extern of that name, too.
 * The variable such an extern stands for, or NULL. */
static const struct ptx_var *static_twin(const struct ptx_module *m, const struct ptx_var *v)
{
    size_t n = strlen(v->name);
    if (v->linkage != PTX_LINK_EXTERN)
        return NULL;
    for (int32_t k = 0; k < m->nvars; k++)
        if (m->vars[k]->linkage != PTX_LINK_EXTERN && strncmp(m->vars[k]->name, v->name, n) == 0 &&
            strncmp(m->vars[k]->name + n, "__static__", 10) == 0)
            return m->vars[k];
    return NULL;
}

/* ---- choosing ---- */

static bool vars_agree(struct ptx_linker *l, const struct ptx_var *a, const struct ptx_var *b)
{
    if (a->space != b->space)
        return diag_set(l->diag, 0, 0, "'%s' is in .%s in one module and in .%s in another",
                        a->name, ptx_space_name((enum ptx_space)a->space),
                        ptx_space_name((enum ptx_space)b->space));
    bool common = a->linkage == PTX_LINK_COMMON || b->linkage == PTX_LINK_COMMON;
    if (a->size != b->size && !a->unsized && !b->unsized && !common)
        return diag_set(l->diag, 0, 0, "'%s' has %llu bytes in one module and %llu in another",
                        a->name, (unsigned long long)a->size, (unsigned long long)b->size);
    return true;
}

static bool is_defined(const struct ptx_func *f) { return func_rank(f) != REFERENCE; }

/* Have parameters of two declarations one size? Where a kernel of another module is launched, clang
 * declares it as a function, whose integers have at least 32 bits. */
static bool params_agree(const struct ptx_func *a, const struct ptx_func *b, int32_t k)
{
    uint64_t of_a = a->params[k]->size, of_b = b->params[k]->size;
    return of_a == of_b || (a->is_entry && !b->is_entry && of_a < 4 && of_b == 4) ||
           (b->is_entry && !a->is_entry && of_b < 4 && of_a == 4);
}

/* A declaration may name another result than the definition (copy.c makes its calls fit), as GPUs'
 * linkers let it: nobody looks at a result of void, and a narrower one is a wider one's low part.
 */
static bool funcs_agree(struct ptx_linker *l, const struct ptx_func *a, const struct ptx_func *b)
{
    bool both = is_defined(a) && is_defined(b), same = a->nparams == b->nparams;
    for (int32_t k = 0; same && k < a->nparams; k++)
        same = params_agree(a, b, k);
    same = same && (!both || a->nrets == b->nrets);
    for (int32_t k = 0; both && same && k < a->nrets; k++)
        same = a->rets[k]->size == b->rets[k]->size;
    return same || diag_set(l->diag, 0, 0, "'%s' has different parameters in two modules", a->name);
}

static bool refuse_duplicate(struct ptx_linker *l, const char *name)
{
    return diag_set(l->diag, 0, 0, "'%s' is defined in two modules", name);
}

static bool choose_var(struct ptx_linker *l, struct ptx_symtab *names, struct ptx_var *v)
{
    struct ptx_sym *s = ptx_symtab_find(names, v->name, strlen(v->name), false);
    if (s == NULL) {
        ptx_symtab_add(names, v->name, strlen(v->name), SYM_VAR, 0)->var = v;
        return true;
    }
    if (s->kind != SYM_VAR)
        return diag_set(l->diag, 0, 0, "'%s' is a function in one module and a variable in another",
                        v->name);
    if (!vars_agree(l, s->var, v))
        return false;
    enum rank old = var_rank(s->var), new = var_rank(v);
    if (old == DEFINITION && new == DEFINITION)
        return refuse_duplicate(l, v->name);
    bool bigger = v->size > s->var->size || v->align > s->var->align;
    if (new > old || (new == old && (new == COMMON || new == REFERENCE) && bigger))
        s->var = v;
    return true;
}

static bool choose_func(struct ptx_linker *l, struct ptx_symtab *names, struct ptx_func *f)
{
    struct ptx_sym *s = ptx_symtab_find(names, f->name, strlen(f->name), false);
    if (s == NULL) {
        ptx_symtab_add(names, f->name, strlen(f->name), SYM_FUNC, 0)->func = f;
        return true;
    }
    if (s->kind != SYM_FUNC)
        return diag_set(l->diag, 0, 0, "'%s' is a variable in one module and a function in another",
                        f->name);
    if (!funcs_agree(l, s->func, f))
        return false;
    enum rank old = func_rank(s->func), new = func_rank(f);
    if (old == DEFINITION && new == DEFINITION)
        return refuse_duplicate(l, f->name);
    if (new > old)
        s->func = f;
    return true;
}

static bool choose(struct ptx_linker *l, struct ptx_symtab *names,
                   struct ptx_module *const *modules, int count)
{
    for (int n = 0; n < count; n++) {
        for (int32_t k = 0; k < modules[n]->nvars; k++)
            if (var_is_shared(modules[n]->vars[k]) &&
                static_twin(modules[n], modules[n]->vars[k]) == NULL &&
                !choose_var(l, names, modules[n]->vars[k]))
                return false;
        for (int32_t k = 0; k < modules[n]->nfuncs; k++)
            if (func_is_shared(modules[n]->funcs[k]) &&
                !choose_func(l, names, modules[n]->funcs[k]))
                return false;
    }
    for (size_t k = 0; k < names->count; k++) {
        const struct ptx_sym *s = &names->items[k];
        if (s->kind == SYM_VAR && var_rank(s->var) == REFERENCE &&
            s->var->space != PTX_SPACE_SHARED)
            return diag_set(l->diag, 0, 0, "'%s' is extern in every module and defined in none",
                            s->name);
    }
    return true;
}

/* ---- taking over ---- */

/* A private name that is taken already gets a number. `names` holds what is taken. */
static const char *private_name(struct ptx_linker *l, struct ptx_symtab *names, const char *name)
{
    const char *text = name;
    for (int k = 1; ptx_symtab_find(names, text, strlen(text), false) != NULL; k++)
        text = arena_printf(l->a, "%s$%d", name, k);
    ptx_symtab_add(names, text, strlen(text), SYM_NONE, 0);
    return text;
}

/* The winner of the input's name, or the input itself when its name is private. */
static const struct ptx_var *var_winner(const struct ptx_symtab *names, const struct ptx_module *m,
                                        const struct ptx_var *v)
{
    const struct ptx_var *twin = static_twin(m, v);
    if (twin != NULL)
        v = twin;
    return var_is_shared(v) ? ptx_symtab_find(names, v->name, strlen(v->name), false)->var : v;
}

static const struct ptx_func *func_winner(const struct ptx_symtab *names, const struct ptx_func *f)
{
    return func_is_shared(f) ? ptx_symtab_find(names, f->name, strlen(f->name), false)->func : f;
}

/* First all variables and functions, then (link_bodies) what refers to them. */
static void take_module(struct ptx_linker *l, struct ptx_symtab *names, const struct ptx_module *m)
{
    struct ptx_module *out = l->out;
    for (int32_t k = 0; k < m->nvars; k++)
        if (var_winner(names, m, m->vars[k]) == m->vars[k]) {
            struct ptx_var *v = ptx_copy_var(l, m->vars[k]);
            if (!var_is_shared(m->vars[k]))
                v->name = private_name(l, names, v->name);
            out->vars[out->nvars++] = v;
        }
    for (int32_t k = 0; k < m->nfuncs; k++)
        if (func_winner(names, m->funcs[k]) == m->funcs[k]) {
            struct ptx_func *f = ptx_copy_header(l, m->funcs[k]);
            if (!func_is_shared(m->funcs[k]))
                f->name = private_name(l, names, f->name);
            out->funcs[out->nfuncs++] = f;
        }
    for (int32_t k = 0; k < m->nfiles; k++)
        out->files[out->nfiles++] =
            m->files[k] != NULL ? arena_strndup(l->a, m->files[k], strlen(m->files[k])) : NULL;
    for (int32_t k = 0; k < m->nlocs; k++) {
        struct ptx_loc *loc = &out->locs[out->nlocs++];
        *loc = m->locs[k];
        loc->file += l->file_base;
        if (loc->inlined_at != 0)
            loc->inlined_at += l->loc_base;
    }
}

static void map_losers(struct ptx_linker *l, struct ptx_symtab *names, const struct ptx_module *m)
{
    for (int32_t k = 0; k < m->nvars; k++) {
        const struct ptx_var *winner = var_winner(names, m, m->vars[k]);
        if (winner != m->vars[k])
            ptx_moved_put(l, m->vars[k], ptx_moved_get(l, winner));
    }
    for (int32_t k = 0; k < m->nfuncs; k++) {
        const struct ptx_func *winner = func_winner(names, m->funcs[k]);
        if (winner != m->funcs[k])
            ptx_moved_put(l, m->funcs[k], ptx_moved_get(l, winner));
    }
}

static void link_bodies(struct ptx_linker *l, const struct ptx_symtab *names,
                        const struct ptx_module *m)
{
    for (int32_t k = 0; k < m->nvars; k++)
        if (var_winner(names, m, m->vars[k]) == m->vars[k])
            ptx_copy_relocs(l, m->vars[k], ptx_moved_get(l, m->vars[k]));
    for (int32_t k = 0; k < m->nfuncs; k++)
        if (func_winner(names, m->funcs[k]) == m->funcs[k])
            ptx_copy_body(l, m->funcs[k], ptx_moved_get(l, m->funcs[k]));
}

static void reserve(struct ptx_linker *l, struct ptx_module *const *modules, int count)
{
    struct ptx_module *out = l->out;
    size_t vars = 0, funcs = 0, files = 0, locs = 0;
    hash_init(&out->hash);
    for (int n = 0; n < count; n++) {
        const struct ptx_module *m = modules[n];
        vars += (size_t)m->nvars;
        funcs += (size_t)m->nfuncs;
        files += (size_t)m->nfiles;
        locs += (size_t)m->nlocs;
        hash_add(&out->hash, &m->hash, sizeof m->hash);
        if (m->version_major * 100 + m->version_minor >
            out->version_major * 100 + out->version_minor) {
            out->version_major = m->version_major;
            out->version_minor = m->version_minor;
        }
        if (m->target_sm > out->target_sm) {
            out->target_sm = m->target_sm;
            out->target_suffix = m->target_suffix;
        }
        out->debug |= m->debug;
    }
    out->address_bits = 64;
    out->vars = arena_alloc(l->a, (vars + 1) * sizeof *out->vars);
    out->funcs = arena_alloc(l->a, (funcs + 1) * sizeof *out->funcs);
    out->files = arena_alloc(l->a, (files + 1) * sizeof *out->files);
    out->locs = arena_alloc(l->a, (locs + 1) * sizeof *out->locs);
}

static void link_copy_all(struct ptx_linker *l, struct ptx_symtab *names,
                          struct ptx_module *const *modules, int count)
{
    /* shared names are all reserved by now, so that private ones step aside */
    for (int n = 0; n < count; n++) {
        l->file_base = l->out->nfiles;
        l->loc_base = l->out->nlocs;
        take_module(l, names, modules[n]);
    }
    for (int n = 0; n < count; n++)
        map_losers(l, names, modules[n]);
    l->file_base = l->loc_base = 0;
    for (int n = 0; n < count; n++) {
        link_bodies(l, names, modules[n]);
        l->file_base += modules[n]->nfiles;
        l->loc_base += modules[n]->nlocs;
    }
}

/* A call of ptx_link: what must be released when memory runs out in the middle. */
struct link_call {
    struct ptx_module *const *modules;
    int count;
    struct ptx_module *out;
    struct ptx_linker l;
    struct ptx_symtab names;
    bool ok;
};

static void link_modules(void *arg)
{
    struct link_call *c = arg;
    c->out = xcalloc(1, sizeof *c->out);
    c->l.out = c->out;
    c->l.a = &c->out->arena;
    if (!choose(&c->l, &c->names, c->modules, c->count))
        return;
    reserve(&c->l, c->modules, c->count);
    link_copy_all(&c->l, &c->names, c->modules, c->count);
    ptx_index(c->out);
    c->ok = true;
}

struct ptx_module *ptx_link(struct ptx_module *const *modules, int count, struct diag *d)
{
    struct link_call c = {.modules = modules, .count = count, .l = {.diag = d}};
    if (count <= 0) {
        diag_set(d, 0, 0, "nothing to link");
        return NULL;
    }
    if (!memory_guarded(link_modules, &c)) {
        if (c.out != NULL)
            c.out->arena = (struct arena){0}; /* freed already */
        diag_set_memory(d, "the modules cannot be linked");
    }
    ptx_symtab_free(&c.names);
    free(c.l.moved);
    if (c.ok)
        return c.out;
    if (c.out != NULL)
        ptx_free(c.out);
    return NULL;
}
