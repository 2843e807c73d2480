/* cdp_graph: graphs that device code launches.
 *
 * A launch of a graph from which others are launched has an **environment**, made at the first of
 * them. It counts what was launched below it (fire and forget) beside its own nodes; when all that
 * is over its tail launches run, one after the other, and only then is the graph's command
 * complete. Tail launches of a tail launch are put before those that are left, so a graph that
 * launches itself again and again needs no more memory each time. A sibling belongs to the
 * environment above, or, where there is none, to what completes the command.
 *
 * Each such graph is the first command of a stream of its own; a call after it counts it off. */
#include <stdlib.h>
#include <string.h>

#include "device/cdp.h"
#include "device/graph.h"
#include "exec/touch.h"
#include "weir/rt/error_codes.h"

struct graph_env {
    _Atomic uint64_t pending; /* the graph's own nodes; graphs below that are not complete */
    _Atomic uint64_t outer;   /* all of that; siblings, where no environment is above */
    pthread_mutex_t lock;     /* of the tails */
    struct {
        struct tail {
            struct device_graph *graph;
            struct observe_id by; /* for observers */
            uint32_t part;
        } *items; /* the next one last */
        size_t count, cap;
    } tails;
    struct graph_owner *owner; /* says which graph it is */
    struct command *caller;    /* the stream's command, once its nodes are over */
    struct graph_env *parent;  /* the environment above, or NULL */
    struct graph_env *tail_of; /* whose tail launch this is, or NULL */
    bool caller_over;          /* only tail launches are left */
};

/* The plan that a launch began with, of which the block's grid is a part; NULL: of none. */
static struct graph_plan *root_of(struct grid_run *run)
{
    struct command *c = command_of_run(run);
    while (c->kind == COMMAND_CDP)
        c = command_of_run(c->cdp.child->parent);
    if (c->kind != COMMAND_GRAPH)
        return NULL;
    struct graph_plan *plan = c->graph.plan;
    while (plan->caller->graph.plan != plan)
        plan = plan->caller->graph.plan;
    return plan;
}

static struct graph_env *env_of(struct graph_plan *plan)
{
    struct graph_env *env = atomic_load_explicit(&plan->env, memory_order_acquire);
    if (env != NULL)
        return env;
    struct graph_env *fresh = xcalloc(1, sizeof *fresh);
    atomic_init(&fresh->pending, 1);
    atomic_init(&fresh->outer, 1);
    pthread_mutex_init(&fresh->lock, NULL);
    fresh->owner = plan->owner_of_graph;
    fresh->parent = plan->caller->graph.parent;
    fresh->tail_of = plan->caller->graph.tail_of;
    if (atomic_compare_exchange_strong_explicit(&plan->env, &env, fresh, memory_order_acq_rel,
                                                memory_order_acquire))
        return fresh;
    pthread_mutex_destroy(&fresh->lock);
    free(fresh);
    return env;
}

static void env_free(struct graph_env *env)
{
    pthread_mutex_destroy(&env->lock);
    free(env->tails.items);
    free(env);
}

/* ---- ends ---- */

static void below_over(void *env);

/* Launches the graph; `over(user)` when it is complete. False: it cannot be launched. */
static bool start(const struct tail *what, enum observe_launched how, struct graph_env *parent,
                  struct graph_env *tail_of, void (*over)(void *), void *user)
{
    struct device_graph *g = what->graph;
    struct device_stream *s =
        stream_new(g->ctx, DEVICE_STREAM_NONBLOCKING, DEVICE_PRIORITY_LOWEST, STREAM_UNLISTED);
    if (observed())
        observed_launcher(&what->by, how, what->part);
    bool fine = graph_launch_below(g, s, parent, tail_of) == DEVICE_OK;
    if (observed())
        observed_launcher(NULL, OBSERVE_BY_HOST, 0);
    if (fine)
        device_call(s, over, user);
    stream_unref(s);
    return fine;
}

/* All is over: so is the command. */
static void env_over(struct graph_env *env)
{
    struct command *c = env->caller;
    struct device_stream *s = c->stream;
    env_free(env);
    if (stream_complete(s, c) != NULL)
        sched_push(s);
}

static void outer_over(void *user)
{
    struct graph_env *env = user;
    if (atomic_fetch_sub_explicit(&env->outer, 1, memory_order_acq_rel) == 1)
        env_over(env);
}

/* The graph's next tail launch; false: there is none left. */
static bool next_tail(struct graph_env *env, struct tail *out)
{
    pthread_mutex_lock(&env->lock);
    bool more = env->tails.count > 0;
    if (more)
        *out = env->tails.items[--env->tails.count];
    pthread_mutex_unlock(&env->lock);
    return more;
}

/* The list is kept in reverse. */
static void add_tails(struct graph_env *env, const struct tail *items, size_t count)
{
    for (size_t n = 0; n < count; n++)
        vec_push(&env->tails, items[n]);
}

/* Tail launches come in the order in which they were asked for: the list is reversed once. */
static void reverse_tails(struct graph_env *env)
{
    for (size_t a = 0, b = env->tails.count; a + 1 < b; a++, b--) {
        struct tail t = env->tails.items[a];
        env->tails.items[a] = env->tails.items[b - 1];
        env->tails.items[b - 1] = t;
    }
}

/* Nothing of the graph is left but its tail launches. */
static void run_tails(struct graph_env *env)
{
    for (struct tail t; next_tail(env, &t);) {
        atomic_store_explicit(&env->pending, 1, memory_order_relaxed);
        if (start(&t, OBSERVE_TAIL, env->parent, env, below_over, env))
            return;
    }
    outer_over(env);
}

static void below_over(void *user)
{
    struct graph_env *env = user;
    if (atomic_fetch_sub_explicit(&env->pending, 1, memory_order_acq_rel) != 1)
        return;
    if (env->caller_over) {
        run_tails(env);
        return;
    }
    env->caller_over = true;
    reverse_tails(env);
    struct graph_env *first = env->tail_of;
    if (first == NULL) {
        run_tails(env);
        return;
    }
    pthread_mutex_lock(&first->lock);
    add_tails(first, env->tails.items, env->tails.count);
    pthread_mutex_unlock(&first->lock);
    env_over(env);
}

bool graph_over(struct graph_plan *plan, struct command *caller)
{
    struct graph_env *env = atomic_exchange_explicit(&plan->env, NULL, memory_order_acq_rel);
    if (env == NULL)
        return true;
    env->caller = caller;
    graph_forget_launch(plan->owner_of_graph, caller); /* it may be launched again below */
    below_over(env);
    return false;
}

/* ---- what device code calls ---- */

/* Would the launch wait for itself? */
static bool runs_above(const struct graph_env *env, struct device_graph *g)
{
    pthread_mutex_lock(&g->lock); /* the host may be about to change it: then its plan is another */
    const struct graph_owner *owner = g->plan->owner_of_graph;
    pthread_mutex_unlock(&g->lock);
    for (; env != NULL; env = env->parent)
        if (env->owner == owner)
            return true;
    return false;
}

/* Not of a grid that one has launched. */
static bool is_of_node(const struct jit_block *j)
{
    return command_of_run(grid_run_of_block(j->grid))->kind != COMMAND_CDP;
}

int cdp_graph_launch(struct jit_block *j, struct device_graph *g, enum cdp_graph how)
{
    struct graph_plan *plan = root_of(grid_run_of_block(j->grid));
    if (plan == NULL || g->ctx != plan->ctx)
        return cudaErrorInvalidValue;
    struct graph_env *env = env_of(plan);
    struct tail t = {.graph = g};
    if (observed()) {
        t.by = observed_node_of(grid_run_of_block(j->grid));
        t.part = how != CDP_GRAPH_TAIL && is_of_node(j) ? touch_launches(j) : TOUCH_PARTS;
    }
    if (how == CDP_GRAPH_TAIL) {
        pthread_mutex_lock(&env->lock);
        vec_push(&env->tails, t);
        pthread_mutex_unlock(&env->lock);
        return 0;
    }
    if (runs_above(env, g))
        return cudaErrorInvalidValue;
    struct graph_env *root = env->tail_of != NULL ? env->tail_of : env;
    struct graph_env *above = how == CDP_GRAPH_BELOW ? env : env->parent;
    struct graph_env *counted = above != NULL ? above : root;
    _Atomic uint64_t *count = above != NULL ? &above->pending : &root->outer;
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
    if (start(&t, how == CDP_GRAPH_BELOW ? OBSERVE_BELOW : OBSERVE_SIBLING, above, NULL,
              above != NULL ? below_over : outer_over, counted))
        return 0;
    atomic_fetch_sub_explicit(count, 1, memory_order_relaxed); /* the caller holds it, too */
    return cudaErrorInvalidValue;
}

void *cdp_graph_current(struct grid_run *run)
{
    struct graph_plan *plan = root_of(run);
    return plan != NULL ? plan->owner_of_graph->handle : NULL;
}
