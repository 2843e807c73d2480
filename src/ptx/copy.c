/* copy.c: deep copies of variables and functions into another module's arena, with every reference
 * led through the linker's map. */
#include "ptx/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the map ---- */

static size_t copy_slot(const struct ptx_linker *l, const void *from)
{
    size_t h = ((size_t)from >> 4) * (size_t)0x9e3779b97f4a7c15u;
    for (h ^= h >> 29; l->moved[h & (l->cap - 1)].from != NULL; h++)
        if (l->moved[h & (l->cap - 1)].from == from)
            break;
    return h & (l->cap - 1);
}

void ptx_moved_put(struct ptx_linker *l, const void *from, void *to)
{
    if ((l->nmoved + 1) * 2 > l->cap) {
        struct ptx_moved *old = l->moved;
        size_t n = l->cap;
        l->cap = n ? n * 2 : 256;
        l->moved = xcalloc(l->cap, sizeof *l->moved);
        for (size_t i = 0; i < n; i++)
            if (old[i].from != NULL)
                l->moved[copy_slot(l, old[i].from)] = old[i];
        free(old);
    }
    struct ptx_moved *m = &l->moved[copy_slot(l, from)];
    l->nmoved += m->from == NULL;
    *m = (struct ptx_moved){from, to};
}

void *ptx_moved_get(const struct ptx_linker *l, const void *from)
{
    return from == NULL || l->cap == 0 ? NULL : l->moved[copy_slot(l, from)].to;
}

/* ---- pieces ---- */

static const char *copy_string(struct ptx_linker *l, const char *s)
{
    return s == NULL ? NULL : arena_strndup(l->a, s, strlen(s));
}

static void *copy_bytes(struct ptx_linker *l, const void *from, size_t n)
{
    return n == 0 || from == NULL ? NULL : memcpy(arena_alloc(l->a, n), from, n);
}

struct ptx_var *ptx_copy_var(struct ptx_linker *l, const struct ptx_var *v)
{
    struct ptx_var *to = copy_bytes(l, v, sizeof *v);
    to->name = copy_string(l, v->name);
    to->init = copy_bytes(l, v->init, v->init != NULL ? v->size : 0);
    to->relocs = NULL;
    to->nrelocs = 0;
    ptx_moved_put(l, v, to);
    return to;
}

void ptx_copy_relocs(struct ptx_linker *l, const struct ptx_var *v, struct ptx_var *to)
{
    to->relocs = copy_bytes(l, v->relocs, (size_t)v->nrelocs * sizeof *v->relocs);
    to->nrelocs = v->nrelocs;
    for (int32_t k = 0; k < to->nrelocs; k++) {
        to->relocs[k].var = ptx_moved_get(l, to->relocs[k].var);
        to->relocs[k].func = ptx_moved_get(l, to->relocs[k].func);
    }
}

static struct ptx_var **copy_vars(struct ptx_linker *l, struct ptx_var *const *vars, int32_t n,
                                  struct ptx_func *scope)
{
    struct ptx_var **out = copy_bytes(l, vars, (size_t)n * sizeof *vars);
    for (int32_t k = 0; k < n; k++) {
        out[k] = ptx_copy_var(l, vars[k]);
        out[k]->scope = scope;
    }
    return out;
}

struct ptx_func *ptx_copy_header(struct ptx_linker *l, const struct ptx_func *f)
{
    struct ptx_func *to = copy_bytes(l, f, sizeof *f);
    to->name = copy_string(l, f->name);
    to->module = l->out;
    to->params = copy_vars(l, f->params, f->nparams, to);
    to->rets = copy_vars(l, f->rets, f->nrets, to);
    to->param_regs = copy_bytes(l, f->param_regs, (size_t)f->nparams * sizeof *f->param_regs);
    to->ret_regs = copy_bytes(l, f->ret_regs, (size_t)f->nrets * sizeof *f->ret_regs);
    to->regs = copy_bytes(l, f->regs, (size_t)f->nregs * sizeof *f->regs);
    for (int32_t k = 0; k < f->nregs; k++)
        to->regs[k].name = copy_string(l, f->regs[k].name);
    to->vars = copy_vars(l, f->vars, f->nvars, to);
    to->instrs = NULL;
    to->alias_of = NULL;
    ptx_moved_put(l, f, to);
    return to;
}

static struct ptx_operand *copy_operands(struct ptx_linker *l, const struct ptx_operand *ops,
                                         int32_t n)
{
    struct ptx_operand *out = copy_bytes(l, ops, (size_t)n * sizeof *ops);
    for (int32_t k = 0; k < n; k++) {
        out[k].items = copy_operands(l, ops[k].items, ops[k].nitems);
        out[k].var = ptx_moved_get(l, ops[k].var);
        out[k].func = ptx_moved_get(l, ops[k].func);
    }
    return out;
}

static struct ptx_call *copy_call(struct ptx_linker *l, const struct ptx_call *c)
{
    struct ptx_call *out = copy_bytes(l, c, sizeof *c);
    out->func = ptx_moved_get(l, c->func);
    out->rets = copy_operands(l, c->rets, c->nrets);
    out->args = copy_operands(l, c->args, c->nargs);
    if (c->proto != NULL) {
        out->proto = ptx_moved_get(l, c->proto);
        if (out->proto == NULL)
            out->proto = ptx_copy_header(l, c->proto);
    }
    out->candidates = copy_bytes(l, c->candidates, (size_t)c->ncandidates * sizeof *c->candidates);
    for (int32_t k = 0; k < c->ncandidates; k++)
        out->candidates[k] = ptx_moved_get(l, c->candidates[k]);
    return out;
}

/* A place for a result that a call does not take. */
static struct ptx_operand unused_result(struct ptx_linker *l, struct ptx_func *caller,
                                        const struct ptx_var *formal)
{
    char name[48];
    struct ptx_var *v = arena_alloc(l->a, sizeof *v);
    struct ptx_var **vars = arena_alloc(l->a, (size_t)(caller->nvars + 1) * sizeof *vars);
    snprintf(name, sizeof name, "unused_result_%d", (int)caller->nvars);
    *v = (struct ptx_var){.name = copy_string(l, name),
                          .type = formal->type,
                          .space = PTX_SPACE_PARAM,
                          .vec = 1,
                          .linkage = PTX_LINK_LOCAL,
                          .size = formal->size,
                          .align = formal->align,
                          .scope = caller,
                          .index = caller->nvars};
    for (int32_t n = 0; n < caller->nvars; n++)
        vars[n] = caller->vars[n];
    vars[caller->nvars++] = v;
    caller->vars = vars;
    return (struct ptx_operand){.kind = PTX_OPR_SYM, .reg = -1, .var = v};
}

/* A call by a declaration with another result than the definition has: it takes what the definition
 * gives, into a variable that is as large as that; what is not given has no value. */
static void match_results(struct ptx_linker *l, struct ptx_func *caller, struct ptx_call *c)
{
    const struct ptx_func *to = c->func;
    if (to == NULL)
        return;
    if (c->nrets > to->nrets)
        c->nrets = to->nrets;
    for (int32_t k = 0; k < c->nrets; k++) {
        struct ptx_var *v = c->rets[k].kind == PTX_OPR_SYM ? c->rets[k].var : NULL;
        if (v == NULL || v->size >= to->rets[k]->size)
            continue;
        v->size = to->rets[k]->size;
        v->align = to->rets[k]->align;
        v->type = to->rets[k]->type;
    }
    if (c->nrets == to->nrets)
        return;
    struct ptx_operand *rets = arena_alloc(l->a, (size_t)to->nrets * sizeof *rets);
    for (int32_t k = 0; k < to->nrets; k++)
        rets[k] = k < c->nrets ? c->rets[k] : unused_result(l, caller, to->rets[k]);
    c->rets = rets;
    c->nrets = to->nrets;
}

static struct ptx_targets *copy_targets(struct ptx_linker *l, const struct ptx_targets *t)
{
    struct ptx_targets *out = copy_bytes(l, t, sizeof *t);
    out->index = copy_bytes(l, t->index, (size_t)t->count * sizeof *t->index);
    return out;
}

void ptx_copy_body(struct ptx_linker *l, const struct ptx_func *f, struct ptx_func *to)
{
    for (int32_t k = 0; k < f->nvars; k++)
        ptx_copy_relocs(l, f->vars[k], to->vars[k]);
    to->instrs = copy_bytes(l, f->instrs, (size_t)f->ninstrs * sizeof *f->instrs);
    for (int32_t n = 0; n < f->ninstrs; n++) {
        struct ptx_instr *i = &to->instrs[n];
        i->operands = copy_operands(l, i->operands, i->noperands);
        if (i->call != NULL)
            match_results(l, to, i->call = copy_call(l, i->call));
        if (i->targets != NULL)
            i->targets = copy_targets(l, i->targets);
        if (i->loc_file != 0 || i->loc_line != 0)
            i->loc_file += l->file_base;
        if (i->loc_inlined_at != 0)
            i->loc_inlined_at += l->loc_base;
    }
    to->alias_of = ptx_moved_get(l, f->alias_of);
}
