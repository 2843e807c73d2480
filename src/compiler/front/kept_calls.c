/* kept_calls: which functions of a kernel that would be too large stay calls.
 *
 * All calls are inlined, so a function that is called from many places is there as many times as
 * there are ways to it: ten functions of ten calls each would be ten thousand million. Where a
 * kernel comes to more than LARGEST instructions, the function whose copies are most of it is
 * compiled once and called, as recursive functions are, and so on with the next until the rest is
 * small.
 *
 * Functions that wait at barriers are inlined still: kernels whose functions do that run on fibers,
 * which costs far more. So are all where there is alloca, of which frames say nothing. */
#include "compiler/front/flatten.h"
#include "compiler/passes.h"

#include <stdlib.h>

#include "base/round.h"

enum { LARGEST = 12000 };

/* A function that the root reaches by calls, and the root itself. */
struct reached {
    const struct ptx_func *func;
    uint64_t size;   /* instructions, with all that is inlined */
    uint64_t copies; /* of it, in what is compiled */
    bool waits;      /* at a barrier, by itself or by what it calls */
    bool kept;
};

/* Functions, each after those that it calls. Calls of recursive functions stay anyway, so that one
 * of a function that has begun counts as an instruction. */
struct call_graph {
    struct reached *items;
    size_t count, cap;
    struct ptr_map place; /* function -> 1 + its place; `begun` while its calls are followed */
};
static const uintptr_t begun = UINTPTR_MAX;

static const struct ptx_func *called(const struct ptx_instr *i)
{
    const struct ptx_func *f = i->op == PTX_OP_call ? i->call->func : NULL;
    while (f != NULL && f->alias_of != NULL)
        f = f->alias_of;
    return f != NULL && f->has_body && !f->is_entry ? f : NULL;
}

/* The function that the instruction calls; NULL: it is no such call, or one that stays anyway. */
static struct reached *callee(const struct call_graph *g, const struct ptx_instr *i,
                              const struct reached *caller)
{
    const struct ptx_func *f = called(i);
    uintptr_t at = f != NULL ? (uintptr_t)ptr_map_get(&g->place, f) : 0;
    struct reached *r = at != 0 ? &g->items[at - 1] : NULL;
    return r != NULL && r < caller ? r : NULL; /* those that it comes before call it */
}

static void follow(struct call_graph *g, const struct ptx_func *f)
{
    ptr_map_put(&g->place, f, (void *)begun);
    bool waits = false;
    for (int n = 0; n < f->ninstrs; n++) {
        const struct ptx_func *to = called(&f->instrs[n]);
        if (to != NULL && ptr_map_get(&g->place, to) == NULL)
            follow(g, to);
        uintptr_t at = to != NULL ? (uintptr_t)ptr_map_get(&g->place, to) : 0;
        waits |= jit_awaits_arrivals(&f->instrs[n]);
        waits |= at != 0 && at != begun && g->items[at - 1].waits;
    }
    vec_push(g, ((struct reached){.func = f, .waits = waits}));
    ptr_map_put(&g->place, f, (void *)(uintptr_t)g->count);
}

static uint64_t plus(uint64_t a, uint64_t b) { return a + b < a ? UINT64_MAX : a + b; }

static uint64_t times(uint64_t a, uint64_t b)
{
    return a != 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

/* Sizes and copies as the functions stand now. Returns how much is compiled. */
static uint64_t measure(struct call_graph *g)
{
    for (size_t k = 0; k < g->count; k++) {
        struct reached *r = &g->items[k];
        const struct ptx_func *f = r->func;
        r->size = r->copies = 0;
        for (int n = 0; n < f->ninstrs; n++) {
            const struct reached *c = callee(g, &f->instrs[n], r);
            r->size = plus(r->size, c != NULL && !c->kept ? c->size : 1);
        }
    }
    uint64_t all = 0;
    for (size_t k = g->count; k-- > 0;) {
        struct reached *r = &g->items[k];
        if (r->kept || k + 1 == g->count) {
            r->copies = 1;
            all = plus(all, r->size);
        }
        for (int n = 0; n < r->func->ninstrs; n++) {
            struct reached *c = callee(g, &r->func->instrs[n], r);
            if (c != NULL && !c->kept)
                c->copies = plus(c->copies, r->copies);
        }
    }
    return all;
}

/* The function whose copies but one are most; NULL: none is there twice. */
static struct reached *most_copied(const struct call_graph *g)
{
    struct reached *best = NULL;
    uint64_t most = 0;
    for (size_t k = 0; k + 1 < g->count; k++) {
        struct reached *r = &g->items[k];
        uint64_t gain = r->kept || r->waits || r->copies < 2 ? 0 : times(r->copies - 1, r->size);
        if (gain > most) {
            most = gain;
            best = r;
        }
    }
    return best;
}

void flat_keep_calls(const struct ptx_func *root, struct ptr_map *kept)
{
    struct call_graph g = {0};
    struct reached *next;
    follow(&g, root);
    while (measure(&g) > LARGEST && (next = most_copied(&g)) != NULL)
        next->kept = true;
    for (size_t k = 0; k < g.count; k++)
        if (g.items[k].kept)
            ptr_map_put(kept, g.items[k].func, (void *)g.items[k].func);
    ptr_map_free(&g.place);
    free(g.items);
}

/* Functions whose frames are counted. */
struct framed {
    const struct ptx_func **items;
    size_t count, cap;
};

static void add_called(struct framed *list, const struct jkernel *k)
{
    for (size_t n = 0; n < k->ninstrs; n++) {
        const struct ptx_func *f = called(&k->instrs[n]);
        size_t at = 0;
        while (f != NULL && at < list->count && list->items[at] != f)
            at++;
        if (f != NULL && at == list->count)
            vec_push(list, f);
    }
}

bool flat_count_frames(struct jkernel *k)
{
    struct framed list = {0};
    bool ok = true;
    k->kept_bytes = 0;
    add_called(&list, k);
    for (size_t n = 0; ok && n < list.count; n++) {
        struct jkernel f = {.entry = list.items[n],
                            .opt = k->opt,
                            .diag = k->diag,
                            .is_function = true,
                            .fibers = k->fibers};
        ok = flat_once(&f);
        k->kept_bytes = plus(k->kept_bytes, round_up(f.local_bytes, k->local_align));
        add_called(&list, &f);
        jkernel_free(&f);
    }
    free(list.items);
    return ok;
}
