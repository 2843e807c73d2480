/* spinning_calls.c: calls of functions that may wait for other threads.
 *
 * A function that is not inlined runs on the machine's stack, so a warp in the middle of it has no
 * state that the block could keep while other warps run. Where such a function, or one that it
 * calls, may spin until another thread writes, the kernel calls it on a stack of its own
 * (exec/fiber.c), and the call may come back before the function has ended, at a poll. Here that
 * becomes a loop of the kernel:
 *
 *     again: call ...            (begins the function, or goes on in it)
 *            @unfinished bra again
 *
 * The predicate counts as polled memory, so the loop is one that waits like any other: its back
 * edge gets a poll (cfg.c), at which the warp suspends.
 *
 * In the other direction, a loop of the kernel may poll through a call. Results of a function that
 * polls count as polled memory, too.
 *
 * Where such a function waits at a barrier, the kernel and all of its functions run on fibers
 * (exec/warps.c). There functions have such loops as well, since lanes that diverge in them may
 * wait in different calls. */
#include <stdlib.h>

#include "compiler/front/flatten.h"

enum { CALLEE_POLLS = 1, CALLEE_LOOPS = 2, CALLEE_AWAITS = 4 /* arrivals at a barrier */ };

struct closure {
    const struct ptx_module *m;
    struct ptr_map seen; /* functions that have been looked at */
    bool exact;    /* of functions that a pointer may reach, those only whose address is taken */
    unsigned what; /* of the callees so far */
};

static void look_at_call(struct closure *c, const struct ptx_call *call);

/* Adds what the function and all that it may call do. */
static void look_at(struct closure *c, struct ptx_func *f)
{
    while (f->alias_of != NULL)
        f = f->alias_of;
    if (!f->has_body || f->is_entry || ptr_map_get(&c->seen, f) != NULL)
        return;
    ptr_map_put(&c->seen, f, f);
    for (int n = 0; n < f->ninstrs; n++) {
        const struct ptx_instr *i = &f->instrs[n];
        if (jit_is_polling_load(i))
            c->what |= CALLEE_POLLS;
        if (jit_awaits_arrivals(i))
            c->what |= CALLEE_AWAITS;
        if (i->op == PTX_OP_brx || (i->op == PTX_OP_bra && i->operands[0].target <= n))
            c->what |= CALLEE_LOOPS;
        if (i->op == PTX_OP_call)
            look_at_call(c, i->call);
    }
}

static void look_at_call(struct closure *c, const struct ptx_call *call)
{
    if (call->func != NULL) {
        look_at(c, call->func);
        return;
    }
    for (int n = 0; n < (call->proto != NULL ? c->m->nfuncs : call->ncandidates); n++) {
        struct ptx_func *f = call->proto != NULL ? c->m->funcs[n] : call->candidates[n];
        if (call->proto == NULL ||
            (jit_same_prototype(f, call->proto) && (!c->exact || jit_address_taken(c->m, f))))
            look_at(c, f);
    }
}

static unsigned find_what(const struct jkernel *k, const struct ptx_call *call, bool exact)
{
    struct closure c = {.m = k->entry->module, .exact = exact};
    look_at_call(&c, call);
    ptr_map_free(&c.seen);
    return c.what;
}

static unsigned callee_does(const struct jkernel *k, const struct ptx_call *call)
{
    unsigned what = find_what(k, call, false);
    if ((what & CALLEE_AWAITS) != 0 && (find_what(k, call, true) & CALLEE_AWAITS) == 0)
        what &= ~(unsigned)CALLEE_AWAITS;
    return what;
}

/* May a call with such a callee come back unfinished? */
static bool may_wait(const struct jkernel *k, unsigned what)
{
    bool spins = (what & CALLEE_POLLS) != 0 && (what & CALLEE_LOOPS) != 0;
    return k->fibers ? spins || (what & CALLEE_AWAITS) != 0 : spins && !k->is_function;
}

/* Is it a call of a function of the module that was not inlined? */
static bool stays(const struct ptx_instr *i)
{
    if (i->op != PTX_OP_call)
        return false;
    return i->call->func == NULL || (i->call->func->has_body && !i->call->func->is_entry);
}

static void push_loop(struct jkernel *k, const struct ptx_instr *call, int32_t target)
{
    int32_t unfinished = flat_reg(k, "unfinished", PTX_PRED);
    call->call->unfinished = 1 + unfinished;
    *flat_push(k) = *call;
    struct ptx_instr *i = flat_push(k);
    i->op = PTX_OP_bra;
    i->guard = unfinished;
    i->operands = arena_alloc(&k->arena, sizeof *i->operands);
    i->noperands = 1;
    i->operands[0] = (struct ptx_operand){.kind = PTX_OPR_LABEL, .reg = -1, .target = target};
    i->line = call->line;
    i->column = call->column;
    i->loc_file = call->loc_file;
    i->loc_line = call->loc_line;
}

void flat_spinning_calls(struct jkernel *k)
{
    if (!k->has_calls)
        return;
    struct rebuilt list = flat_rebuild(k);
    struct ptx_instr *old = list.old;
    for (size_t n = 0; n < list.count; n++) {
        list.moved[n] = (int32_t)k->ninstrs;
        unsigned does = stays(&old[n]) ? callee_does(k, old[n].call) : 0;
        k->polls_by_calls |= (does & CALLEE_POLLS) != 0;
        k->waits_in_calls |= (does & CALLEE_AWAITS) != 0;
        if (may_wait(k, does))
            push_loop(k, &old[n], (int32_t)n);
        else
            *flat_push(k) = old[n];
    }
    flat_rebuilt(k, &list);
}

void flat_each_callee(struct jkernel *k, void (*each)(struct jkernel *k, const struct ptx_func *f))
{
    const struct ptx_module *m = k->entry->module;
    struct closure c = {.m = m, .exact = true};
    for (size_t n = 0; n < k->ninstrs; n++)
        if (stays(&k->instrs[n]))
            look_at_call(&c, k->instrs[n].call);
    for (int n = 0; n < m->nfuncs; n++)
        if (ptr_map_get(&c.seen, m->funcs[n]) != NULL)
            each(k, m->funcs[n]);
    ptr_map_free(&c.seen);
}
