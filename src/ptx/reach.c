/* reach: the functions that a function comes with; see reach.h. */
#include "ptx/reach.h"

#include <stdlib.h>

static void reach_func(struct ptx_reach *r, const struct ptx_func *f)
{
    while (f != NULL && f->alias_of != NULL)
        f = f->alias_of;
    if (f == NULL || (!f->has_body && !r->all))
        return;
    for (size_t n = 0; n < r->funcs.count; n++)
        if (r->funcs.items[n] == f)
            return;
    vec_push(&r->funcs, f);
}

static void reach_var(struct ptx_reach *r, const struct ptx_var *v)
{
    if (v == NULL || (v->nrelocs == 0 && !r->all))
        return;
    for (size_t n = 0; n < r->vars.count; n++)
        if (r->vars.items[n] == v)
            return;
    vec_push(&r->vars, v);
}

static void reach_operands(struct ptx_reach *r, const struct ptx_operand *operands, int count)
{
    for (int n = 0; n < count; n++) {
        const struct ptx_operand *o = &operands[n];
        if (o->kind == PTX_OPR_SYM)
            reach_func(r, o->func);
        if (o->kind == PTX_OPR_SYM || o->kind == PTX_OPR_MEM)
            reach_var(r, o->var);
        reach_operands(r, o->items, o->nitems);
    }
}

static void reach_from(struct ptx_reach *r, const struct ptx_func *f)
{
    for (int n = 0; n < f->ninstrs; n++) {
        const struct ptx_instr *i = &f->instrs[n];
        reach_operands(r, i->operands, i->noperands);
        if (i->call == NULL)
            continue;
        reach_func(r, i->call->func);
        for (int c = 0; c < i->call->ncandidates; c++)
            reach_func(r, i->call->candidates[c]);
    }
}

void ptx_reach(struct ptx_reach *r, const struct ptx_func *f)
{
    size_t funcs = 0, vars = 0;
    reach_func(r, f);
    while (funcs < r->funcs.count || vars < r->vars.count) {
        if (funcs < r->funcs.count) {
            reach_from(r, r->funcs.items[funcs++]);
            continue;
        }
        const struct ptx_var *v = r->vars.items[vars++];
        for (int n = 0; n < v->nrelocs; n++) {
            reach_func(r, v->relocs[n].func);
            reach_var(r, v->relocs[n].var);
        }
    }
}

void ptx_reach_free(struct ptx_reach *r)
{
    free(r->funcs.items);
    free(r->vars.items);
}

int64_t ptx_reached_instructions(const struct ptx_func *f)
{
    struct ptx_reach r = {0};
    int64_t count = 0;
    ptx_reach(&r, f);
    for (size_t n = 0; n < r.funcs.count; n++)
        count += r.funcs.items[n]->ninstrs;
    ptx_reach_free(&r);
    return count;
}
