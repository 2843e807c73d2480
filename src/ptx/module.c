/* module.c: what a finished module offers: lookups by name, and its end. */
#include "ptx/symtab.h"

#include <stdlib.h>
#include <string.h>

void ptx_index(struct ptx_module *m)
{
    m->names = xcalloc(1, sizeof *m->names);
    for (int32_t i = 0; i < m->nvars; i++) {
        m->vars[i]->index = i;
        ptx_symtab_add(m->names, m->vars[i]->name, strlen(m->vars[i]->name), SYM_VAR, 0)->var =
            m->vars[i];
    }
    for (int32_t i = 0; i < m->nfuncs; i++)
        ptx_symtab_add(m->names, m->funcs[i]->name, strlen(m->funcs[i]->name), SYM_FUNC, 0)->func =
            m->funcs[i];
}

static const struct ptx_sym *module_find(const struct ptx_module *m, const char *name)
{
    return m->names != NULL ? ptx_symtab_find(m->names, name, strlen(name), false) : NULL;
}

void ptx_limit_registers(struct ptx_module *m, uint32_t most)
{
    for (int32_t n = 0; most > 0 && n < m->nfuncs; n++) {
        struct ptx_func *f = m->funcs[n];
        if (f->is_entry && f->has_body && (f->maxnreg | f->maxntid[0] | f->reqntid[0]) == 0)
            f->maxnreg = most;
    }
}

struct ptx_func *ptx_find_func(const struct ptx_module *m, const char *name)
{
    const struct ptx_sym *s = module_find(m, name);
    return s != NULL && s->kind == SYM_FUNC ? s->func : NULL;
}

struct ptx_var *ptx_find_var(const struct ptx_module *m, const char *name)
{
    const struct ptx_sym *s = module_find(m, name);
    return s != NULL && s->kind == SYM_VAR ? s->var : NULL;
}

void ptx_keep(struct ptx_module *m) { __atomic_fetch_add(&m->keepers, 1, __ATOMIC_RELAXED); }

void ptx_free(struct ptx_module *m)
{
    if (m == NULL || __atomic_fetch_sub(&m->keepers, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (m->names != NULL)
        ptx_symtab_free(m->names);
    free(m->names);
    arena_free(&m->arena);
    free(m);
}
