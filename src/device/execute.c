/* execute: execution of commands. After a fault in the context nothing that touches memory is
 * executed any more: the queues drain. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/schedule.h"
#include "device/cdp.h"
#include "device/internal.h"

static const uint64_t SHARE_NS = COMMAND_SHORT_NS;
/* A grid expected to take less, on one thread, has no parts for threads to keep to. */
static const uint64_t DIVIDE_NS = 50000;
/* How long a grid that was expected to be short may take before others are called. */
static const uint64_t ALONE_NS = 20000;

struct command *command_of_run(struct grid_run *run)
{
    return (struct command *)((char *)run - offsetof(struct command, run));
}

void command_release(struct command *c)
{
    for (uint32_t i = 0; i < c->dep_count; i++)
        stream_unref(c->deps[i].stream);
    if (c->deps != c->few)
        free(c->deps);
    c->deps = c->few;
    c->dep_count = 0;
    if (c->kind == COMMAND_COPY)
        free(c->copy.staged);
    if (c->kind == COMMAND_GRID)
        free(c->params);
    if (c->kind == COMMAND_SIGNAL || c->kind == COMMAND_AWAIT)
        event_unref(c->await.event);
    if (c->kind == COMMAND_GRAPH)
        graph_release(c);
}

/* The calling thread has listed the run it is in (run_give_way). */
static _Thread_local bool listed_here;

/* Runs blocks of the run that was entered: in the order of the schedule, until other work may come
 * between; else until the time is up. */
static enum grid_progress run_some(struct grid_run *run, struct grid_worker *w, uint64_t until)
{
    if (!schedule_on())
        return grid_run_blocks(run, w, until);
    uint64_t next = atomic_load_explicit(&run->next, memory_order_relaxed);
    return grid_run_ordered(run, w, schedule_part(run->order, next, run->total));
}

/* The run of a command, whose identity is its stream's and its own number. */
static __attribute__((noinline)) bool run_ordered(struct command *c, struct grid_worker *w)
{
    struct grid_run *run = &c->run;
    run->order = schedule_mix(c->stream->id, c->count);
    if (c->kind == COMMAND_GRAPH)
        run->order = schedule_mix(run->order, schedule_mix(c->graph.segment, c->graph.at));
    grid_run_enter(run);
    if (run->total > 1)
        sched_list(c, SCHED_LIST);
    switch (run_some(run, w, 0)) {
    case GRID_COMPLETE:
        if (c->published)
            sched_unlist(c);
        return cdp_tails(c, w);
    case GRID_MORE:
        if (!c->published)
            sched_list(c, SCHED_LIST);
        return false;
    default: return false;
    }
}

/* Runs the prepared run, with others if it is worth it. True: complete. */
static bool run_shared(struct command *c, struct grid_worker *w)
{
    struct grid_run *run = &c->run;
    if (schedule_on())
        return run_ordered(c, w);
    uint64_t estimate = grid_run_estimate(run), until = UINT64_MAX;
    grid_run_enter(run);
    if (estimate > DIVIDE_NS)
        grid_run_divide(run);
    if (run->total > 1 && (estimate == 0 || estimate > SHARE_NS))
        sched_list(c, SCHED_OPEN);
    if (run->total > 1)
        until = clock_ns() + (c->published ? (uint64_t)SLICE_NS : ALONE_NS);
    bool published = c->published;
    listed_here = false;
    enum grid_progress progress = grid_run_blocks(run, w, until);
    published = published || listed_here;
    switch (progress) {
    case GRID_COMPLETE:
        if (published)
            sched_unlist(c);
        return cdp_tails(c, w);
    case GRID_MORE:
        /* Blocks that nobody can take keep it alive. */
        if (!published)
            sched_list(c, SCHED_WAKE);
        return false;
    default: return false;
    }
}

void run_give_way(struct grid_run *run)
{
    struct command *c = command_of_run(run);
    /* Nobody else is in it: this thread runs it alone. Children stay with their parent's thread. */
    if (c->kind == COMMAND_GRID && !c->published) {
        sched_list(c, SCHED_OPEN);
        listed_here = true;
    }
    sched_give_way();
}

void run_closed(struct grid_run *run) { sched_close(command_of_run(run)); }

bool run_wanted(struct grid_run *run)
{
    if (grid_run_exhausted(run)) /* which nobody has noticed yet, perhaps */
        sched_unlist(command_of_run(run));
    return sched_paused() || sched_busy() || left_shards() != 0 ||
           atomic_load(&sched.parking.count) > 0;
}

/* A run of our own: the pieces of a copy and the like. */
bool command_pieces(struct command *c, struct grid_worker *w, struct grid_kernel *k,
                    uint64_t pieces, const void *args)
{
    struct grid_launch launch = {
        .kernel = k, .grid = {(uint32_t)pieces, 1, 1}, .block = {1, 1, 1}, .params = args};
    grid_run_init(&c->run, &launch, c->stream->ctx->env, &sched.parking, sched.sharers);
    return run_shared(c, w);
}

bool command_grid(struct command *c, struct grid_worker *w, const struct grid_launch *launch)
{
    struct grid_env *env = c->stream->ctx->env;
    if (!grid_run_init(&c->run, launch, env, &sched.parking, sched.sharers)) {
        grid_raise(env, GRID_FAULT_MEMORY, launch->kernel->name);
        return true;
    }
    bool over = run_shared(c, w);
    cdp_settle(w);
    return over;
}

bool command_run_cdp(struct command *c, struct grid_worker *w)
{
    uint64_t estimate = grid_run_estimate(&c->run);
    if (c->run.total == 1 || (estimate != 0 && estimate <= SHARE_NS))
        return grid_run_alone(&c->run, w) == GRID_COMPLETE && cdp_tails(c, w);
    /* To the end, before new work: what is pending must stay bounded. */
    grid_run_enter(&c->run);
    sched_list(c, SCHED_OPEN);
    enum grid_progress progress = schedule_on() ? grid_run_ordered(&c->run, w, UINT64_MAX)
                                                : grid_run_blocks(&c->run, w, UINT64_MAX);
    if (progress != GRID_COMPLETE)
        return false;
    sched_unlist(c);
    return cdp_tails(c, w);
}

static void write_value(void *args) { value_write(args); }

/* Commands that a faulted context does not execute. */
static bool touches_memory(const struct command *c)
{
    switch (c->kind) {
    case COMMAND_NOTHING:
    case COMMAND_CALL:
    case COMMAND_SIGNAL:
    case COMMAND_AWAIT:
    case COMMAND_GRAPH: /* it looks at each node */
    case COMMAND_STAMP: return false;
    case COMMAND_HOST: return !c->host.always;
    default: return true;
    }
}

static bool execute(struct command *c, struct grid_worker *w)
{
    struct grid_env *env = c->stream->ctx->env;
    if (grid_faulted(env) != GRID_FAULT_NONE && touches_memory(c))
        return true;
    switch (c->kind) {
    case COMMAND_NOTHING: return true;
    case COMMAND_GRID: return command_grid(c, w, &c->run.launch);
    case COMMAND_COPY:
        if (c->copy.pieces > 1)
            return command_pieces(c, w, &copy_kernel, c->copy.pieces, &c->copy);
        grid_protected(env, w, "memcpy", copy_all, &c->copy);
        return true;
    case COMMAND_SET:
        if (c->set.pieces > 1)
            return command_pieces(c, w, &set_kernel, c->set.pieces, &c->set);
        grid_protected(env, w, "memset", set_all, &c->set);
        return true;
    case COMMAND_WRITE:
        grid_protected(env, w, "write of a value", write_value, &c->value);
        return true;
    case COMMAND_WAIT_VALUE: return command_pieces(c, w, &wait_value_kernel, 1, &c->value);
    case COMMAND_CALL: c->call.fn(c->call.user); return true;
    case COMMAND_STAMP: event_stamp(c->stamp.event, c->stamp.recording, clock_ns()); return true;
    case COMMAND_SIGNAL:
        shared_event_complete(event_shared(c->await.event), c->await.recording);
        return true;
    case COMMAND_AWAIT: return await_begin(c);
    case COMMAND_HOST: host_submit(c); return false;
    case COMMAND_CDP: break; /* never in a stream */
    case COMMAND_GRAPH: return graph_execute(c, w);
    }
    return true;
}

static __attribute__((noinline)) bool execute_observed(struct command *c, struct grid_worker *w)
{
    struct observed_part part = {.told = false};
    if (c->kind != COMMAND_HOST) { /* its thread says when it begins */
        observed_begin(c);
        part = observed_part_begin(c);
    }
    bool done = execute(c, w);
    if (part.told)
        observed_part_end(&part);
    return done;
}

bool command_execute(struct command *c, struct grid_worker *w)
{
    return observed() ? execute_observed(c, w) : execute(c, w);
}

bool command_end(struct command *c)
{
    if (c->kind != COMMAND_GRAPH)
        return stream_complete(c->stream, c) != NULL;
    graph_node_done(c);
    return true;
}

void command_run_complete(struct command *c, struct grid_worker *w, uint64_t stop)
{
    struct device_stream *s = c->stream;
    if (c->published)
        sched_unlist(c);
    if (cdp_tails(c, w)) {
        if (c->kind == COMMAND_CDP)
            cdp_child_over(c, w);
        else if (command_end(c))
            stream_run(s, w, stop);
    }
    cdp_settle(w);
}

void command_share(struct command *c, struct grid_worker *w, uint64_t until, uint64_t stop)
{
    struct observed_part part = {.told = false};
    if (observed())
        part = observed_run_part_begin(c);
    bool complete = run_some(&c->run, w, until) == GRID_COMPLETE;
    if (part.told)
        observed_part_end(&part);
    if (complete)
        command_run_complete(c, w, stop);
}
