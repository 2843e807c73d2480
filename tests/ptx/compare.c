/* compare.c: a structural comparison, so that the round trip through text is tested by something
 * that shares no code with the printer. */
#include "compare.h"

#include <stdio.h>
#include <string.h>

static bool differ(char *why, size_t size, const char *fmt, const char *name, int n)
{
    snprintf(why, size, fmt, name, n);
    return false;
}

static bool same_name(const char *a, const char *b)
{
    return (a == NULL) == (b == NULL) && (a == NULL || strcmp(a, b) == 0);
}

static bool same_var(const struct ptx_var *a, const struct ptx_var *b, bool named)
{
    if (a == NULL || b == NULL)
        return a == b;
    if ((named && !same_name(a->name, b->name)) || a->space != b->space || a->type != b->type ||
        a->vec != b->vec || a->linkage != b->linkage || a->managed != b->managed ||
        a->unsized != b->unsized || a->align != b->align || a->size != b->size ||
        a->nrelocs != b->nrelocs || a->ptr_space != b->ptr_space || a->ptr_align != b->ptr_align ||
        (named && a->index != b->index) || (a->init == NULL) != (b->init == NULL))
        return false;
    if (a->init != NULL && memcmp(a->init, b->init, a->size) != 0)
        return false;
    for (int i = 0; i < a->nrelocs; i++) {
        const struct ptx_reloc *r = &a->relocs[i], *s = &b->relocs[i];
        if (r->at != s->at || r->addend != s->addend || r->generic != s->generic ||
            r->bytes != s->bytes || r->shift != s->shift || (r->var == NULL) != (s->var == NULL) ||
            (r->func == NULL) != (s->func == NULL) ||
            (r->var != NULL && r->var->index != s->var->index) ||
            (r->func != NULL && !same_name(r->func->name, s->func->name)))
            return false;
    }
    return true;
}

static bool same_operands(const struct ptx_operand *a, const struct ptx_operand *b, int n)
{
    for (int i = 0; i < n; i++) {
        const struct ptx_operand *x = &a[i], *y = &b[i];
        if (x->kind != y->kind || x->neg != y->neg || x->is_f32 != y->is_f32 ||
            x->component != y->component || x->select != y->select || x->sreg != y->sreg ||
            x->reg != y->reg || x->target != y->target || x->nitems != y->nitems ||
            x->offset != y->offset || x->imm != y->imm ||
            memcmp(&x->fimm, &y->fimm, sizeof x->fimm) != 0)
            return false;
        if ((x->var == NULL) != (y->var == NULL) || (x->func == NULL) != (y->func == NULL))
            return false;
        if (x->var != NULL &&
            (!same_name(x->var->name, y->var->name) || x->var->index != y->var->index))
            return false;
        if (x->func != NULL && !same_name(x->func->name, y->func->name))
            return false;
        if (!same_operands(x->items, y->items, x->nitems))
            return false;
    }
    return true;
}

static bool same_params(struct ptx_var *const *a, struct ptx_var *const *b, int n, bool named)
{
    for (int i = 0; i < n; i++)
        if (!same_var(a[i], b[i], named))
            return false;
    return true;
}

static bool same_proto(const struct ptx_func *a, const struct ptx_func *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return a->nparams == b->nparams && a->nrets == b->nrets && a->noreturn == b->noreturn &&
           same_params(a->params, b->params, a->nparams, false) &&
           same_params(a->rets, b->rets, a->nrets, false);
}

static bool same_call(const struct ptx_call *a, const struct ptx_call *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    if ((a->func == NULL) != (b->func == NULL) || a->reg != b->reg || a->nrets != b->nrets ||
        a->nargs != b->nargs || a->ncandidates != b->ncandidates ||
        (a->func != NULL && !same_name(a->func->name, b->func->name)))
        return false;
    for (int i = 0; i < a->ncandidates; i++)
        if (!same_name(a->candidates[i]->name, b->candidates[i]->name))
            return false;
    return same_operands(a->rets, b->rets, a->nrets) && same_operands(a->args, b->args, a->nargs) &&
           same_proto(a->proto, b->proto);
}

static bool same_locs(const struct ptx_module *a, int32_t x, const struct ptx_module *b, int32_t y)
{
    while (x != 0 && y != 0) {
        const struct ptx_loc *p = &a->locs[x - 1], *q = &b->locs[y - 1];
        if (p->file != q->file || p->line != q->line || p->column != q->column)
            return false;
        x = p->inlined_at;
        y = q->inlined_at;
    }
    return x == y;
}

static bool same_instr(const struct ptx_func *f, const struct ptx_instr *a,
                       const struct ptx_func *g, const struct ptx_instr *b)
{
    if (a->op != b->op || a->ntypes != b->ntypes || a->nmods != b->nmods ||
        a->nspaces != b->nspaces || a->vec != b->vec || a->guard != b->guard ||
        a->guard_neg != b->guard_neg || a->pair != b->pair || a->order != b->order ||
        a->noperands != b->noperands || a->loc_file != b->loc_file || a->loc_line != b->loc_line ||
        a->loc_column != b->loc_column)
        return false;
    if (memcmp(a->types, b->types, sizeof a->types) != 0 ||
        memcmp(a->spaces, b->spaces, sizeof a->spaces) != 0 ||
        memcmp(a->mods, b->mods, sizeof a->mods) != 0)
        return false;
    if ((a->targets == NULL) != (b->targets == NULL))
        return false;
    if (a->targets != NULL && (a->targets->count != b->targets->count ||
                               memcmp(a->targets->index, b->targets->index,
                                      (size_t)a->targets->count * sizeof *a->targets->index) != 0))
        return false;
    return same_operands(a->operands, b->operands, a->noperands) && same_call(a->call, b->call) &&
           same_locs(f->module, a->loc_inlined_at, g->module, b->loc_inlined_at);
}

static bool same_func(const struct ptx_func *a, const struct ptx_func *b, char *why, size_t size)
{
    if (!same_name(a->name, b->name) || a->is_entry != b->is_entry || a->has_body != b->has_body ||
        a->noreturn != b->noreturn || a->linkage != b->linkage || a->nparams != b->nparams ||
        a->nrets != b->nrets || a->minnctapersm != b->minnctapersm || a->maxnreg != b->maxnreg ||
        a->maxclusterrank != b->maxclusterrank || a->explicit_cluster != b->explicit_cluster ||
        memcmp(a->maxntid, b->maxntid, sizeof a->maxntid) != 0 ||
        memcmp(a->reqntid, b->reqntid, sizeof a->reqntid) != 0 ||
        memcmp(a->reqnctapercluster, b->reqnctapercluster, sizeof a->reqnctapercluster) != 0 ||
        (a->alias_of == NULL) != (b->alias_of == NULL))
        return differ(why, size, "header of %s", a->name, 0);
    if (!same_params(a->params, b->params, a->nparams, true) ||
        !same_params(a->rets, b->rets, a->nrets, true))
        return differ(why, size, "parameters of %s", a->name, 0);
    if (a->nregs != b->nregs || a->nvars != b->nvars || a->ninstrs != b->ninstrs)
        return differ(why, size, "counts of %s", a->name, 0);
    for (int i = 0; i < a->nregs; i++)
        if (!same_name(a->regs[i].name, b->regs[i].name) || a->regs[i].type != b->regs[i].type ||
            a->regs[i].vec != b->regs[i].vec)
            return differ(why, size, "%s: register %d", a->name, i);
    for (int i = 0; i < a->nvars; i++)
        if (!same_var(a->vars[i], b->vars[i], true))
            return differ(why, size, "%s: variable %d", a->name, i);
    for (int i = 0; i < a->ninstrs; i++)
        if (!same_instr(a, &a->instrs[i], b, &b->instrs[i]))
            return differ(why, size, "%s: instruction %d", a->name, i);
    return true;
}

bool modules_equal(const struct ptx_module *a, const struct ptx_module *b, char *why, size_t size)
{
    if (a->version_major != b->version_major || a->version_minor != b->version_minor ||
        a->target_sm != b->target_sm || a->target_suffix != b->target_suffix ||
        a->debug != b->debug || a->nvars != b->nvars || a->nfuncs != b->nfuncs ||
        a->nfiles != b->nfiles)
        return differ(why, size, "%s differs (%d)", "the module's header", 0);
    for (int i = 0; i < a->nfiles; i++)
        if (!same_name(a->files[i], b->files[i]))
            return differ(why, size, "%s %d", "file", i);
    for (int i = 0; i < a->nvars; i++)
        if (!same_var(a->vars[i], b->vars[i], true))
            return differ(why, size, "variable %s (%d)", a->vars[i]->name, i);
    for (int i = 0; i < a->nfuncs; i++)
        if (!same_func(a->funcs[i], b->funcs[i], why, size))
            return false;
    return true;
}
