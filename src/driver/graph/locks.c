/* graph/locks: which threads are at a graph.
 *
 * A graph, its child graphs and the bodies of its conditional nodes are one tree, and have one
 * lock: that of the graph that no other holds. A graph may become part of another tree while a
 * thread waits for its lock; the thread then goes on to the other tree's. Objects of handles stay
 * memory, and what a call has found is not freed before it ends (device/hold.h), so that a lock can
 * be waited for whatever becomes of its graph. */
#include "driver/graph/graph.h"

static CUgraph root_of(CUgraph g)
{
    for (CUgraphNode owner; (owner = atomic_load(&g->owner)) != NULL;)
        g = owner->graph;
    return g;
}

CUresult graph_check(CUgraph g)
{
    if (!handle_live(g, TAG_GRAPH))
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNode owner = atomic_load(&g->owner);
    return owner == NULL ? CUDA_SUCCESS : node_check(owner);
}

CUresult node_check(CUgraphNode n)
{
    return handle_live(n, TAG_NODE) ? graph_check(n->graph) : CUDA_ERROR_INVALID_VALUE;
}

void graph_unlock(struct graph_locks *l)
{
    for (int n = 1; n >= 0; n--)
        if (l->roots[n] != NULL)
            pthread_mutex_unlock(&l->roots[n]->lock);
    l->roots[0] = l->roots[1] = NULL;
}

CUresult graph_lock_two(CUgraph g, CUgraph other, struct graph_locks *l)
{
    CU_TRY(graph_check(g));
    CU_TRY(graph_check(other));
    for (;;) {
        CUgraph a = root_of(g), b = root_of(other);
        bool swap = (uintptr_t)b < (uintptr_t)a;
        l->roots[0] = swap ? b : a; /* in this order always */
        l->roots[1] = a == b ? NULL : swap ? a : b;
        pthread_mutex_lock(&l->roots[0]->lock);
        if (l->roots[1] != NULL)
            pthread_mutex_lock(&l->roots[1]->lock);
        if (root_of(g) == a && root_of(other) == b)
            break;
        graph_unlock(l);
    }
    CUresult r = graph_check(g);
    if (r == CUDA_SUCCESS)
        r = graph_check(other);
    if (r != CUDA_SUCCESS)
        graph_unlock(l);
    return r;
}

CUresult graph_lock(CUgraph g, struct graph_locks *l) { return graph_lock_two(g, g, l); }

CUresult node_lock(CUgraphNode n, struct graph_locks *l)
{
    CU_TRY(node_check(n));
    CU_TRY(graph_lock(n->graph, l));
    CUresult r = node_check(n);
    if (r != CUDA_SUCCESS)
        graph_unlock(l);
    return r;
}

CUresult node_lock_type(CUgraphNode n, CUgraphNodeType type, struct graph_locks *l)
{
    CU_TRY(driver_ready());
    CU_TRY(node_lock(n, l));
    if (n->p.type == type)
        return CUDA_SUCCESS;
    graph_unlock(l);
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- executable graphs ---- */

CUresult exec_check(CUgraphExec e)
{
    if (!handle_live(e, TAG_GRAPH_EXEC))
        return CUDA_ERROR_INVALID_VALUE;
    return e->ctx_id == e->ctx->id ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

void exec_unlock(CUgraphExec *locked)
{
    if (*locked != NULL)
        pthread_mutex_unlock(&(*locked)->lock);
    *locked = NULL;
}

CUresult exec_lock(CUgraphExec e, CUgraphExec *locked)
{
    CU_TRY(exec_check(e));
    pthread_mutex_lock(&e->lock);
    *locked = e;
    CUresult r = exec_check(e);
    if (r != CUDA_SUCCESS)
        exec_unlock(locked);
    return r;
}
