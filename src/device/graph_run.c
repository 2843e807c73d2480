/* graph_run: running plans of graphs: runners, lanes, nodes. See graph.h. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/schedule.h"
#include "device/cdp.h"
#include "device/graph.h"

enum {
    SHORT_COPY = 16384, /* bytes */
};
/* How long small grids may take before the runner looks up. */
static const uint64_t BATCH_NS = 4000;
/* How long one runner works alone while segments are ready. */
static const uint64_t ALONE_NS = 6000;

/* ---- lanes ---- */

/* A lane for a runner. The plan is locked, or nobody else is at it. */
static struct graph_lane *lane_take(struct graph_plan *plan)
{
    struct graph_lane *lane = plan->free;
    if (lane != NULL) {
        plan->free = lane->next;
    } else {
        lane = xaligned_alloc(_Alignof(struct graph_lane), sizeof *lane);
        lane->stream = stream_new(plan->ctx, DEVICE_STREAM_NONBLOCKING, 0, STREAM_UNLISTED);
        lane->stream->current = &lane->command;
    }
    struct command *c = &lane->command;
    atomic_init(&c->next, NULL);
    c->stream = lane->stream;
    c->count = 0;
    c->kind = COMMAND_GRAPH;
    c->deps = c->few;
    c->dep_count = c->dep_next = 0;
    c->listed = c->published = c->told = false;
    c->graph.plan = plan;
    c->graph.slots = plan->slots;
    c->graph.lane = lane;
    c->graph.started = false;
    lane->stream->level = plan->level;
    return lane;
}

static void lane_give(struct graph_plan *plan, struct graph_lane *lane)
{
    lane->next = plan->free;
    plan->free = lane;
}

/* Sees to it that another worker comes while there are ready segments. */
static void invite(struct graph_plan *plan)
{
    if (atomic_load_explicit(&plan->ready_count, memory_order_relaxed) == 0)
        return;
    struct graph_lane *lane = NULL;
    pthread_mutex_lock(&plan->lock);
    if (plan->queued == NULL &&
        atomic_load_explicit(&plan->ready_count, memory_order_relaxed) > 0) {
        plan->queued = lane = lane_take(plan);
        atomic_fetch_add_explicit(&plan->runners, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&plan->lock);
    if (lane != NULL)
        sched_push(lane->stream);
}

/* ---- segments ---- */

static void start_segment(struct command *c, uint32_t segment)
{
    c->graph.segment = segment;
    c->graph.at = 0;
    c->graph.started = true;
}

/* Of a ready segment: the largest goes first. */
static uint64_t segment_key(const struct graph_plan *plan, uint32_t i)
{
    uint64_t of = schedule_mix(plan->segment_count, plan->ready[i]);
    return schedule_which(SCHEDULE_SEGMENT, of, UINT64_MAX);
}

/* Puts the segment that the schedule takes next at the end of so many ready ones. */
static void choose_ready(struct graph_plan *plan, uint32_t n)
{
    uint32_t best = n - 1;
    for (uint32_t i = 0; i < n; i++)
        if (segment_key(plan, i) > segment_key(plan, best))
            best = i;
    uint32_t segment = plan->ready[best];
    plan->ready[best] = plan->ready[n - 1];
    plan->ready[n - 1] = segment;
}

/* The plan is locked. */
static bool take_ready(struct graph_plan *plan, struct command *c)
{
    uint32_t n = atomic_load_explicit(&plan->ready_count, memory_order_relaxed);
    if (n == 0)
        return false;
    if (schedule_on())
        choose_ready(plan, n);
    start_segment(c, plan->ready[n - 1]);
    atomic_store_explicit(&plan->ready_count, n - 1, memory_order_relaxed);
    return true;
}

static void put_ready(struct graph_plan *plan, uint32_t segment)
{
    pthread_mutex_lock(&plan->lock);
    uint32_t n = atomic_load_explicit(&plan->ready_count, memory_order_relaxed);
    plan->ready[n] = segment;
    atomic_store_explicit(&plan->ready_count, n + 1, memory_order_relaxed);
    pthread_mutex_unlock(&plan->lock);
}

/* What a runner finds out when it has nothing to go on with. */
enum leaving { GO_ON, LEFT, LEFT_LAST };

/* Gives the runner a ready segment, or takes it out of the plan. */
static enum leaving leave(struct graph_plan *plan, struct command *c)
{
    uint32_t leaving = 1;
    pthread_mutex_lock(&plan->lock);
    if (take_ready(plan, c)) {
        pthread_mutex_unlock(&plan->lock);
        return GO_ON;
    }
    struct graph_lane *idle = plan->queued;
    if (idle != NULL && sched_withdraw(idle->stream)) { /* nothing left to invite anyone for */
        plan->queued = NULL;
        lane_give(plan, idle);
        leaving++;
    }
    if (c->graph.lane != NULL)
        lane_give(plan, c->graph.lane);
    pthread_mutex_unlock(&plan->lock);
    return atomic_fetch_sub_explicit(&plan->runners, leaving, memory_order_acq_rel) == leaving
               ? LEFT_LAST
               : LEFT;
}

/* The runner's segment is done: gives it another, or takes it out of the plan. */
static enum leaving segment_done(struct graph_plan *plan, struct command *c)
{
    const struct graph_segment *s = &plan->segments[c->graph.segment];
    bool found = false;
    for (uint32_t i = 0; i < s->next_count; i++) {
        uint32_t next = plan->nexts[s->next + i];
        if (atomic_fetch_sub_explicit(&plan->before[next], 1, memory_order_acq_rel) != 1)
            continue;
        if (!found)
            start_segment(c, next);
        else
            put_ready(plan, next);
        found = true;
    }
    return found ? GO_ON : leave(plan, c);
}

/* Begins a plan with the runner at one of its first segments. False: there is nothing to do. */
static bool plan_begin(struct graph_plan *plan, struct command *caller, struct command *runner)
{
    plan->caller = caller;
    plan->queued = NULL;
    if (plan->segment_count == 0)
        return false;
    atomic_store_explicit(&plan->runners, 1, memory_order_relaxed);
    atomic_store_explicit(&plan->ready_count, 0, memory_order_relaxed);
    if (plan->segment_count == 1) {
        start_segment(runner, 0);
        return true;
    }
    uint32_t ready = 0; /* nobody else is at the plan yet */
    for (uint32_t i = plan->segment_count; i-- > 0;) {
        uint32_t before = plan->segments[i].before;
        atomic_store_explicit(&plan->before[i], before, memory_order_relaxed);
        if (before == 0)
            plan->ready[ready++] = i;
    }
    pthread_mutex_lock(&plan->lock);
    atomic_store_explicit(&plan->ready_count, ready, memory_order_relaxed);
    bool found = take_ready(plan, runner);
    pthread_mutex_unlock(&plan->lock);
    return found;
}

/* ---- nodes ---- */

/* Whether the node is over in a moment and cannot be waiting for anything. */
static bool is_short(const struct graph_node *n)
{
    switch (n->kind) {
    case DEVICE_NODE_GRID: {
        const struct grid_launch *l = &n->launch;
        uint64_t one = atomic_load_explicit(&l->kernel->block_ns, memory_order_relaxed);
        return one > 0 && !l->kernel->can_suspend && !l->cooperative &&
               one * l->grid[0] * l->grid[1] * l->grid[2] <= COMMAND_SHORT_NS;
    }
    case DEVICE_NODE_COPY: return n->copy.width * n->copy.height * n->copy.depth <= SHORT_COPY;
    case DEVICE_NODE_SET: return n->set.width * n->set.height * n->set.depth <= SHORT_COPY;
    case DEVICE_NODE_WAIT_VALUE:
    case DEVICE_NODE_WAIT:
    case DEVICE_NODE_HOST:
    case DEVICE_NODE_BRANCH: return false;
    default: return true;
    }
}

enum step {
    STEP_DONE,
    STEP_AWAY, /* others go on with the command: it may be gone */
    STEP_BODY, /* a body is to be run */
};

static enum step step_of(bool done) { return done ? STEP_DONE : STEP_AWAY; }

static enum step run_grid(struct command *c, struct graph_node *n, struct grid_worker *w,
                          bool short_node)
{
    struct grid_env *env = c->stream->ctx->env;
    c->published = false;
    if (!short_node)
        return step_of(command_grid(c, w, &n->launch));
    if (!grid_run_init(&c->run, &n->launch, env, &sched.parking, sched.sharers)) {
        grid_raise(env, GRID_FAULT_MEMORY, n->launch.kernel->name);
        return STEP_DONE;
    }
    bool over = grid_run_alone(&c->run, w) == GRID_COMPLETE && cdp_tails(c, w);
    cdp_settle(w);
    return step_of(over);
}

static void write_word(void *plan) { value_write(plan); }

static enum step run_wait(struct command *c, const struct graph_node *n)
{
    const struct graph_slot *slot = &c->graph.slots[n->slot];
    if (n->disabled || slot->stream == NULL || stream_completed(slot->stream) >= slot->count)
        return STEP_DONE;
    c->few[0] = (struct dep){stream_ref(slot->stream), slot->count};
    c->dep_count = 1;
    c->dep_next = 0;
    c->graph.at++; /* whoever is woken goes on after this node */
    if (!command_ready(c))
        return STEP_AWAY;
    c->graph.at--;
    return STEP_DONE;
}

static enum step run_node_itself(struct command *c, struct graph_node *n, struct grid_worker *w,
                                 bool short_node)
{
    struct grid_env *env = c->stream->ctx->env;
    bool skip = n->disabled || grid_faulted(env) != GRID_FAULT_NONE;
    switch (n->kind) {
    case DEVICE_NODE_EMPTY: return STEP_DONE;
    case DEVICE_NODE_CALL:
        if (!n->disabled)
            n->call.fn(n->call.user);
        return STEP_DONE;
    case DEVICE_NODE_RECORD: {
        const struct graph_slot *slot = &c->graph.slots[n->slot];
        if (slot->event != NULL)
            event_reach(slot->event, slot->stream, slot->recording, slot->count);
        return STEP_DONE;
    }
    case DEVICE_NODE_WAIT: return run_wait(c, n);
    default: break;
    }
    if (skip)
        return STEP_DONE;
    switch (n->kind) {
    case DEVICE_NODE_GRID: return run_grid(c, n, w, short_node);
    case DEVICE_NODE_COPY:
        c->published = false;
        if (n->copy.pieces > 1)
            return step_of(command_pieces(c, w, &copy_kernel, n->copy.pieces, &n->copy));
        grid_protected(env, w, "memcpy", copy_all, &n->copy);
        return STEP_DONE;
    case DEVICE_NODE_SET:
        c->published = false;
        if (n->set.pieces > 1)
            return step_of(command_pieces(c, w, &set_kernel, n->set.pieces, &n->set));
        grid_protected(env, w, "memset", set_all, &n->set);
        return STEP_DONE;
    case DEVICE_NODE_WRITE_VALUE:
        grid_protected(env, w, "write of a value", write_word, &n->word);
        return STEP_DONE;
    case DEVICE_NODE_WAIT_VALUE:
        c->published = false;
        return step_of(command_pieces(c, w, &wait_value_kernel, 1, &n->word));
    case DEVICE_NODE_HOST: host_submit(c); return STEP_AWAY;
    case DEVICE_NODE_BRANCH: return STEP_BODY;
    default: return STEP_DONE;
    }
}

/* The same, told to observers. A node that waits for an event is told of when it is reached, since
 * the thread that ends the wait goes on after it. */
static __attribute__((noinline)) enum step
run_node_observed(struct command *c, struct graph_node *n, struct grid_worker *w, bool short_node)
{
    bool waits = n->kind == DEVICE_NODE_WAIT || n->kind == DEVICE_NODE_BRANCH;
    observed_node_begin(c, n);
    if (waits)
        observed_node_end(c, n);
    struct observed_part part = {.told = false};
    if (!waits && n->kind != DEVICE_NODE_HOST)
        part = observed_run_part_begin(c);
    enum step step = run_node_itself(c, n, w, short_node);
    if (part.told)
        observed_part_end(&part);
    if (step == STEP_DONE && !waits)
        observed_node_end(c, n);
    return step;
}

static enum step run_node(struct command *c, struct graph_node *n, struct grid_worker *w,
                          bool short_node)
{
    return observed() ? run_node_observed(c, n, w, short_node)
                      : run_node_itself(c, n, w, short_node);
}

struct graph_node *graph_node_at(const struct command *c)
{
    const struct graph_plan *plan = c->graph.plan;
    return &plan->nodes[plan->segments[c->graph.segment].first + c->graph.at];
}

void graph_node_done(struct command *c)
{
    if (observed())
        observed_node_end(c, graph_node_at(c));
    c->graph.at++;
}

void graph_call_host(const struct command *c)
{
    const struct graph_node *n = graph_node_at(c);
    n->host.fn(n->host.user);
}

/* ---- runners ---- */

enum outcome { RUN_AWAY, RUN_BODY, RUN_ENDED };

/* Gives way to other work when the thread has been at this for long, or where the schedule says so.
 * True: given away. */
static bool yield_to_others(struct command *c, uint64_t *end)
{
    if (!sched_wanted(c->graph.at))
        return false;
    if (schedule_on()) {
        /* Of the piece of work, too: what gives way must not do so for ever. */
        uint64_t of = schedule_mix(schedule_mix(c->graph.segment, c->graph.at), turns_pieces());
        bool yields = schedule_which(SCHEDULE_GRAPH, of, 3) == 2;
        if (yields)
            sched_push(c->stream);
        return yields;
    }
    uint64_t now = clock_ns();
    if (*end == 0)
        *end = now + SLICE_NS;
    if (now < *end)
        return false;
    sched_push(c->stream);
    return true;
}

/* Runs small grids from the present node on, as many as there are and may be run without looking
 * up. STEP_DONE: the present node is the next to be run, in whatever way. */
static enum step run_batch(struct command *c, const struct graph_segment *s, struct grid_worker *w)
{
    struct grid_env *env = c->stream->ctx->env;
    if (grid_faulted(env) != GRID_FAULT_NONE || schedule_on() ||
        observed()) /* observers are told of each node */
        return STEP_DONE;
    c->published = false;
    switch (grid_run_batch(&c->run, w, c->graph.plan->prepared + s->first, &c->graph.at, s->count,
                           BATCH_NS, env, &sched.parking, sched.sharers)) {
    case GRID_MORE: return STEP_DONE;
    case GRID_HANDED: cdp_settle(w); return STEP_AWAY;
    case GRID_COMPLETE: break;
    }
    bool over = cdp_tails(c, w);
    cdp_settle(w);
    c->graph.at += over;
    return step_of(over);
}

/* Works on the plan of the runner: until it is away, at a branch, or the last to leave. */
static enum outcome run_segments(struct command *c, struct grid_worker *w, uint64_t *end)
{
    struct graph_plan *plan = c->graph.plan;
    enum { LOOK_EACH = 8 }; /* looking at the clock costs as much as a small grid */
    uint64_t begun = 0;
    uint32_t rounds = 0;
    for (;;) {
        const struct graph_segment *s = &plan->segments[c->graph.segment];
        while (c->graph.at < s->count) {
            if (yield_to_others(c, end))
                return RUN_AWAY;
            if (plan->prepared[s->first + c->graph.at] != NULL) {
                uint32_t at = c->graph.at;
                if (run_batch(c, s, w) == STEP_AWAY)
                    return RUN_AWAY;
                if (c->graph.at != at)
                    continue;
            }
            struct graph_node *n = &plan->nodes[s->first + c->graph.at];
            bool short_node = is_short(n);
            if (!short_node && plan->segment_count > 1)
                invite(plan);
            if (n->level >= 0 && c->graph.lane != NULL)
                c->stream->level = n->level;
            enum step step = run_node(c, n, w, short_node);
            if (step == STEP_AWAY)
                return RUN_AWAY;
            if (step == STEP_BODY)
                return RUN_BODY;
            c->graph.at++;
        }
        if (plan->segment_count == 1) {
            if (c->graph.lane != NULL)
                lane_give(plan, c->graph.lane);
            return RUN_ENDED;
        }
        enum leaving l = segment_done(plan, c);
        if (l != GO_ON)
            return l == LEFT_LAST ? RUN_ENDED : RUN_AWAY;
        if (++rounds % LOOK_EACH == 0 &&
            atomic_load_explicit(&plan->ready_count, memory_order_relaxed) > 0) {
            uint64_t now = clock_ns();
            if (begun == 0)
                begun = now;
            else if (now - begun > ALONE_NS)
                invite(plan);
        }
    }
}

/* The body that the branch takes now, or NULL. */
static struct graph_plan *choose(const struct graph_plan *plan, const struct graph_branch *b)
{
    if (grid_faulted(plan->ctx->env) != GRID_FAULT_NONE)
        return NULL;
    uint32_t value = __atomic_load_n(b->value, __ATOMIC_ACQUIRE);
    uint32_t which = b->number ? value : value != 0 ? 0 : 1;
    if (b->loop && value == 0)
        return NULL;
    return which < b->body_count ? b->bodies[which] : NULL;
}

/* The runner that goes on at a branch that c has reached: of the body, or c after the branch. */
static struct command *enter_branch(struct command *c)
{
    struct graph_plan *plan = c->graph.plan;
    const struct graph_branch *b = &graph_node_at(c)->branch;
    struct graph_plan *body = choose(plan, b);
    if (body == NULL || body->segment_count == 0) {
        c->graph.at++; /* a loop without a body could not end: it is not begun */
        return c;
    }
    body->level = plan->level;
    body->slots = NULL;
    struct command *runner = &lane_take(body)->command;
    plan_begin(body, c, runner);
    return runner;
}

/* The first time that the command of a stream or a lane is run. False: there is nothing for it. */
static bool begin(struct command *c)
{
    struct graph_plan *plan = c->graph.plan;
    if (c->graph.lane == NULL) {
        plan->slots = c->graph.slots;
        plan->level = c->stream->level;
        for (uint32_t i = 0; i < plan->reset_count; i++)
            __atomic_store_n(plan->resets[i].word, plan->resets[i].value, __ATOMIC_RELEASE);
        return plan_begin(plan, c, c);
    }
    pthread_mutex_lock(&plan->lock);
    plan->queued = NULL;
    bool found = take_ready(plan, c);
    pthread_mutex_unlock(&plan->lock);
    return found;
}

/* What is left of an event that was waited for. */
static void forget_waits(struct command *c)
{
    for (uint32_t i = 0; i < c->dep_count; i++)
        stream_unref(c->deps[i].stream);
    if (c->deps != c->few)
        free(c->deps);
    c->deps = c->few;
    c->dep_count = c->dep_next = 0;
}

bool graph_execute(struct command *entry, struct grid_worker *w)
{
    struct command *c = entry;
    enum outcome o;
    uint64_t end = 0; /* when to give way */
    forget_waits(c);
    bool found = c->graph.started || begin(c);
    for (;;) {
        struct graph_plan *plan = c->graph.plan;
        if (found) {
            o = run_segments(c, w, &end);
        } else if (c->graph.lane == NULL) {
            return true; /* an empty graph */
        } else {
            enum leaving l = leave(plan, c);
            if (l == GO_ON) {
                found = true;
                continue;
            }
            o = l == LEFT_LAST ? RUN_ENDED : RUN_AWAY;
        }
        found = true;
        if (o == RUN_AWAY)
            return false;
        if (o == RUN_BODY) {
            c = enter_branch(c);
            continue;
        }
        struct command *caller = plan->caller;
        if (caller->graph.plan != plan) { /* a body has ended: its branch goes on */
            c = caller;
            if (!graph_node_at(c)->branch.loop)
                c->graph.at++;
            continue;
        }
        if (!graph_over(plan, caller))
            return false;
        if (caller == entry)
            return true;
        struct device_stream *s = caller->stream; /* a complete command may be another's already */
        if (stream_complete(s, caller) != NULL)
            stream_run(s, w, schedule_on() ? 0 : UINT64_MAX);
        return false;
    }
}
