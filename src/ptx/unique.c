/* unique.c: inner blocks may reuse names, also those of the module. So that a function can be
 * printed without blocks, everything in it gets a name of its own once the module is read. */
#include "ptx/parse.h"

#include <string.h>

/* A name like `base` that nobody in the function has yet, and nobody in the module; the symbol of
 * `base` counts the attempts. */
static const char *unique_fresh(struct ptx_parser *p, struct ptx_symtab *used, const char *base,
                                size_t n)
{
    struct ptx_sym *s = ptx_symtab_find(used, base, n, false);
    if (s == NULL) {
        s = ptx_symtab_add(used, base, n, SYM_VAR, 1);
        if (ptx_symtab_find(&p->names, base, n, false) == NULL)
            return base;
    }
    for (;;) {
        const char *text = arena_printf(p->a, "%.*s$%d", (int)n, base, (int)++s->index);
        size_t length = strlen(text);
        if (ptx_symtab_find(used, text, length, false) == NULL &&
            ptx_symtab_find(&p->names, text, length, false) == NULL) {
            ptx_symtab_add(used, text, length, SYM_VAR, 1);
            return text;
        }
    }
}

static void use_params(struct ptx_symtab *used, struct ptx_var *const *params, const int32_t *regs,
                       int32_t count)
{
    for (int32_t k = 0; k < count; k++)
        if (regs[k] < 0)
            ptx_symtab_add(used, params[k]->name, strlen(params[k]->name), SYM_VAR, 1);
}

bool ptx_func_has_param(const struct ptx_func *f, int32_t reg)
{
    for (int32_t k = 0; k < f->nparams; k++)
        if (f->param_regs[k] == reg)
            return true;
    for (int32_t k = 0; k < f->nrets; k++)
        if (f->ret_regs[k] == reg)
            return true;
    return false;
}

void ptx_make_unique(struct ptx_parser *p, struct ptx_func *f)
{
    struct ptx_symtab used = {0};
    use_params(&used, f->params, f->param_regs, f->nparams);
    use_params(&used, f->rets, f->ret_regs, f->nrets);
    const char *base = "", *old = "";
    for (int32_t i = 0; i < f->nregs; i++) {
        const char *name = f->regs[i].name, *dot = strchr(name, '.');
        size_t n = dot != NULL ? (size_t)(dot - name) : strlen(name);
        if (ptx_func_has_param(f, i)) { /* keeps its name, which the header tells, too */
            ptx_symtab_add(&used, name, n, SYM_VAR, 1);
            continue;
        }
        if (dot == NULL || dot[1] == 'x') { /* the parts of a vector follow its .x */
            old = name;
            base = unique_fresh(p, &used, name, n);
        }
        if (base != old)
            f->regs[i].name = dot != NULL ? arena_printf(p->a, "%s%s", base, dot) : base;
    }
    for (int32_t i = 0; i < f->nvars; i++) {
        const char *name = f->vars[i]->name;
        f->vars[i]->name = unique_fresh(p, &used, name, strlen(name));
    }
    ptx_symtab_free(&used);
}
