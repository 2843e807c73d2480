/* wait: a host thread that waits, works: it runs what it waits for itself, as long as it finds any
 * of it ready, then looks for a moment, then sleeps. */
#include <sched.h>

#include "base/clock.h"
#include "base/schedule.h"
#include "base/stack.h"
#include "device/internal.h"

static const uint64_t LOOK_NS = 20000;        /* before sleeping */
static const uint64_t LONGEST_NS = 150000000; /* of a moment, */
enum { HALVINGS = 5 };                        /* that become of it, */
static const uint64_t NAP_NS = 200000;        /* and how often it is looked at after a while */

/* Others may be needed for what this thread leaves undone: it may go to sleep, or away, while a
 * block that it has parked could go on. */
static void leave(void)
{
    if (atomic_load(&sched.asleep) > 0 && sched_unseen())
        sched_wake_one();
}

static void hand_over(void)
{
    atomic_fetch_sub(&sched.running, 1);
    leave();
}

/* Does a piece of the work waited for; false when none is to be had. */
static bool help(struct device_stream *s, uint64_t count, struct grid_worker *w, struct seeker *k)
{
    if (sched_steal(s)) {
        stream_run(s, w, count);
        hand_over();
        return true;
    }
    /* More threads than CPUs would only get in each other's way. */
    if (atomic_load_explicit(&sched.running, memory_order_relaxed) >= sched.workers)
        return false;
    struct command *c = sched_join(s);
    if (c != NULL) {
        command_share(c, w, clock_ns() + SLICE_NS, count);
        hand_over();
        return true;
    }
    if (k == NULL)
        return false;
    enum sched_result r = sched_work(w, k);
    if (r != SCHED_NOTHING)
        leave();
    return r == SCHED_DONE;
}

struct grid_worker *sched_worker(void)
{
    static _Atomic uint32_t helpers;
    struct grid_worker *w = worker_of_thread();
    return w != NULL ? w : grid_worker_self(atomic_fetch_add(&helpers, 1) % sched.sharers);
}

void run_short(struct device_stream *s, uint64_t count)
{
    if (!sched_begin()) {
        sched_push(s);
        return;
    }
    struct grid_worker *w = sched_worker();
    grid_signals_enter(w);
    stream_run(s, w, count);
    grid_signals_leave(w);
    hand_over();
}

static bool reached(struct device_stream *s, uint64_t count)
{
    return stream_completed(s) >= count;
}

/* Looks for a while; true when there is something new. */
static bool look(struct device_stream *s, uint64_t count, enum device_wait mode)
{
    uint64_t end = mode == DEVICE_WAIT_BLOCK ? 0 : clock_ns() + LOOK_NS;
    do {
        for (int i = 0; i < 32; i++) {
            if (reached(s, count) || atomic_load_explicit(&s->queued, memory_order_relaxed))
                return true;
            pause_cpu();
        }
        if (mode == DEVICE_WAIT_YIELD)
            sched_yield();
    } while (mode == DEVICE_WAIT_SPIN || clock_ns() < end);
    return false;
}

static void sleep_on(struct device_stream *s, uint64_t count, uint64_t longest_ns)
{
    atomic_fetch_add_explicit(&s->host_waiters, 1, memory_order_seq_cst);
    uint32_t seen = atomic_load_explicit(&s->wake, memory_order_seq_cst);
    if (atomic_load_explicit(&s->completed, memory_order_seq_cst) < count &&
        !atomic_load_explicit(&s->queued, memory_order_seq_cst))
        futex_wait(&s->wake, seen, longest_ns);
    atomic_fetch_sub_explicit(&s->host_waiters, 1, memory_order_seq_cst);
}

void wait_count(struct device_stream *s, uint64_t count, bool any)
{
    if (!reached(s, count))
        wait_count_by(s, count, any,
                      (enum device_wait)atomic_load_explicit(&s->ctx->wait, memory_order_relaxed));
}

/* What a host thread waits for, and how. It runs blocks, whose code may need more of a stack than
 * the thread has left. */
struct host_wait {
    struct device_stream *stream;
    uint64_t count;
    uint64_t idle_ns; /* of wait_moment */
    bool spins, any;  /* of wait_moment; of wait_count_by, as is mode */
    enum device_wait mode;
    struct grid_worker *worker;
};

static void wait_moment_here(void *arg)
{
    const struct host_wait *h = arg;
    struct device_stream *s = h->stream;
    uint32_t in_vain = atomic_load(&s->in_vain);
    uint64_t begun = 0, advanced = 0, longest = LONGEST_NS >> in_vain;
    bool spins = h->spins;
    while (!reached(s, h->count)) {
        if (help(s, h->count, h->worker, NULL))
            continue;
        uint64_t now = clock_ns();
        begun = begun == 0 ? now : begun;
        spins = spins || atomic_load(&sched.parking.count) > 0;
        if (advanced == 0 || (!spins && atomic_load(&sched.running) > 0))
            advanced = now;
        if (now - advanced >= h->idle_ns || now - begun >= longest) {
            atomic_store(&s->held_at, stream_completed(s) + 1);
            atomic_store(&s->in_vain, in_vain < HALVINGS ? in_vain + 1 : HALVINGS);
            return;
        }
        if (now - begun < NAP_NS)
            look(s, h->count, DEVICE_WAIT_YIELD);
        else
            sleep_on(s, h->count, NAP_NS);
    }
    if (begun != 0 && in_vain > 0) /* it was worth it */
        atomic_store(&s->in_vain, in_vain - 1);
}

void wait_moment(struct device_stream *s, uint64_t count, uint64_t idle_ns, bool spins)
{
    if (schedule_on()) {
        turns_wait(s, count, LONGEST_NS);
        return;
    }
    struct host_wait h = {
        .stream = s, .count = count, .idle_ns = idle_ns, .spins = spins, .worker = sched_worker()};
    if (atomic_load(&s->held_at) == stream_completed(s) + 1)
        return; /* it is held, and has not moved since the last time */
    grid_signals_enter(h.worker);
    stack_call(wait_moment_here, &h);
    grid_signals_leave(h.worker);
}

static void wait_here(void *arg)
{
    const struct host_wait *h = arg;
    struct device_stream *s = h->stream;
    struct seeker k = {0};
    while (!reached(s, h->count))
        if (!help(s, h->count, h->worker, h->any ? &k : NULL) && !look(s, h->count, h->mode))
            sleep_on(s, h->count, 0);
}

static void wait_working(struct device_stream *s, uint64_t count, bool any, enum device_wait mode)
{
    struct host_wait h = {
        .stream = s, .count = count, .any = any, .mode = mode, .worker = sched_worker()};
    atomic_store_explicit(&s->host_runs, true, memory_order_relaxed);
    grid_signals_enter(h.worker);
    stack_call(wait_here, &h);
    grid_signals_leave(h.worker);
}

void wait_count_by(struct device_stream *s, uint64_t count, bool any, enum device_wait mode)
{
    stream_ref(s);
    uint32_t calls = hold_pause();
    if (schedule_on())
        turns_wait(s, count, 0);
    else
        wait_working(s, count, any, mode);
    hold_resume(calls);
    stream_unref(s);
}
