/* user_object: objects of the program's that live as long as anyone, graphs included, holds them;
 * and the words of conditional handles, which live the same way. */
#include <stdlib.h>

#include "driver/graph/graph.h"

struct CUuserObject_st {
    uint32_t tag;
    atomic_uint refs;
    CUhostFn destroy;
    void *ptr;
};

static CUresult user_object_check(CUuserObject o, unsigned count)
{
    CU_TRY(driver_initialized());
    return handle_live(o, TAG_USER_OBJECT) && count > 0 && count <= INT32_MAX
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

void user_object_hold(CUuserObject o, unsigned count) { atomic_fetch_add(&o->refs, count); }

/* The same for one of which the caller has no reference: false where it has ended. */
static bool user_object_try_hold(CUuserObject o, unsigned count)
{
    unsigned refs = atomic_load(&o->refs);
    while (refs != 0)
        if (atomic_compare_exchange_weak(&o->refs, &refs, refs + count))
            return true;
    return false;
}

static void user_object_end(CUuserObject o)
{
    o->destroy(o->ptr);
    handle_free(o);
}

void user_object_drop(CUuserObject o, unsigned count)
{
    if (atomic_fetch_sub(&o->refs, count) == count)
        user_object_end(o);
}

WEIR_API CUresult cuUserObjectCreate(CUuserObject *out, void *ptr, CUhostFn destroy, unsigned count,
                                     unsigned flags)
{
    HOLD;
    CU_TRY(driver_ready());
    if (out == NULL || destroy == NULL || count == 0 || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return CUDA_ERROR_INVALID_VALUE;
    CUuserObject o = handle_begin(TAG_USER_OBJECT, sizeof *o);
    atomic_init(&o->refs, count);
    o->destroy = destroy;
    o->ptr = ptr;
    handle_publish(o, TAG_USER_OBJECT);
    if (observed())
        observe_object_made(OBSERVE_USER_OBJECT, o);
    *out = o;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuUserObjectRetain(CUuserObject o, unsigned count)
{
    HOLD;
    CU_TRY(user_object_check(o, count));
    return user_object_try_hold(o, count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

WEIR_API CUresult cuUserObjectRelease(CUuserObject o, unsigned count)
{
    HOLD;
    CU_TRY(user_object_check(o, count));
    unsigned refs = atomic_load(&o->refs);
    do {
        if (refs < count)
            return CUDA_ERROR_INVALID_VALUE;
    } while (!atomic_compare_exchange_weak(&o->refs, &refs, refs - count));
    if (refs == count)
        user_object_end(o);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuGraphRetainUserObject(CUgraph g, CUuserObject o, unsigned count, unsigned flags)
{
    HOLD;
    GRAPH_LOCKS;
    CU_TRY(user_object_check(o, count));
    CU_TRY(graph_lock(g, &locked));
    if ((flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if ((flags & CU_GRAPH_USER_OBJECT_MOVE) == 0 && !user_object_try_hold(o, count))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t n = 0; n < g->objects.count; n++)
        if (g->objects.items[n].object == o) {
            g->objects.items[n].count += count;
            return CUDA_SUCCESS;
        }
    struct user_hold hold = {o, count};
    vec_push(&g->objects, hold);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuGraphReleaseUserObject(CUgraph g, CUuserObject o, unsigned count)
{
    HOLD;
    GRAPH_LOCKS;
    CU_TRY(user_object_check(o, count));
    CU_TRY(graph_lock(g, &locked));
    for (size_t n = 0; n < g->objects.count; n++) {
        struct user_hold *hold = &g->objects.items[n];
        if (hold->object != o || hold->count < count)
            continue;
        hold->count -= count;
        if (hold->count == 0)
            *hold = g->objects.items[--g->objects.count];
        graph_unlock(&locked); /* the object's end is the program's code */
        user_object_drop(o, count);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- conditional handles ---- */

void condition_hold(struct graph_condition *c) { atomic_fetch_add(&c->refs, 1); }

void condition_drop(struct graph_condition *c)
{
    if (atomic_fetch_sub(&c->refs, 1) == 1)
        free(c);
}

WEIR_API CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *out, CUgraph g,
                                                 CUcontext ctx, unsigned default_value,
                                                 unsigned flags)
{
    HOLD;
    GRAPH_LOCKS;
    if (!handle_live(ctx, TAG_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    CU_TRY(driver_context(ctx));
    CU_TRY(graph_lock(g, &locked));
    if (out == NULL || (flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct graph_condition *c = xcalloc(1, sizeof *c);
    c->default_value = c->value = default_value;
    c->flags = flags;
    atomic_init(&c->refs, 1);
    vec_push(&g->conditions, c);
    *out = (CUgraphConditionalHandle)(uintptr_t)c;
    return CUDA_SUCCESS;
}

struct graph_condition *condition_find(CUgraph g, CUgraphConditionalHandle h)
{
    CUgraphNode owner;
    for (; g != NULL; owner = g->owner, g = owner != NULL ? owner->graph : NULL)
        for (size_t n = 0; n < g->conditions.count; n++)
            if ((CUgraphConditionalHandle)(uintptr_t)g->conditions.items[n] == h)
                return g->conditions.items[n];
    return NULL;
}
