/* turns: device work in an order on purpose (base/schedule.h), one piece after the other.
 *
 * While a schedule is set, workers take no work by themselves. A host thread that waits picks one
 * piece of all that could run (the next command of a stream, blocks of a grid that was interrupted,
 * a parked block), the one that the schedule says, runs it, and picks the next, until what it waits
 * for is done; the rest stays undone. So what is done when follows from the calls that the program
 * makes, not from time. A call that enqueues work, and one that asks whether work is done, run some
 * if the schedule says so.
 *
 * One thread runs work at a time: the one whose **turn** it is. There is one worker, for programs
 * that wait without a call (for a flag in mapped memory, for what a host function tells another
 * thread): it runs work when all threads of the program sleep, or after a while in which the
 * program has made no call. Only then does the order depend on time. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/schedule.h"
#include "base/stack.h"
#include "device/cdp.h"
#include "device/internal.h"

enum {
    LOOK_US = 2000,   /* how often the worker looks whether it is needed */
    NAP_US = 50,      /* of a thread that waits for what others do */
    ASLEEP_LOOKS = 3, /* a thread that sleeps so often sleeps */
    PATIENCE = 100,   /* looks, in which a program that runs has made no call */
    FAVOUR_EACH = 64, /* pieces, after which a waiting thread's own stream comes first once */
    AT_ONCE = 16,     /* pieces that a call which enqueues work may run */
    HOST_LONGEST_US = 2000000
};

static struct {
    pthread_mutex_t lock; /* who holds it has the turn */
    _Atomic(struct grid_worker *) holder;
    uint64_t pieces; /* run so far */
    _Atomic uint64_t calls;
    _Atomic uint32_t waiting; /* host threads in turns_wait */
} turns = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- choosing ---- */

/* What could run next. */
struct piece {
    struct device_stream *stream;
    struct command *shared;
    struct cdp_queue *queue;
    uint64_t lateness;
};

static bool is_better(const struct piece *best, uint64_t lateness)
{
    return (best->stream == NULL && best->shared == NULL) || lateness < best->lateness;
}

static void choose_stream(struct piece *best, uint32_t level, const struct device_stream *favoured)
{
    uint64_t place = 0;
    for (struct device_stream *s = sched.ready[level].head; s != NULL; s = s->ready_next) {
        const struct command *c = s->current;
        uint64_t lateness = schedule_lateness(s->id, c->count, (uint32_t)c->kind);
        if (s->id == STREAM_UNLISTED) /* parts of graphs have no other identity than their place */
            lateness = schedule_lateness(STREAM_UNLISTED, ++place, (uint32_t)c->kind);
        if (s == favoured)
            lateness = 0;
        if (is_better(best, lateness))
            *best = (struct piece){.stream = s, .lateness = lateness};
    }
}

/* Runs that were interrupted; takes those off that have no blocks left to hand out. */
static void choose_shared(struct piece *best, uint32_t level, const struct device_stream *favoured)
{
    for (struct command *c = sched.jobs[level].head, *next; c != NULL; c = next) {
        next = c->job_next;
        if (grid_run_exhausted(&c->run)) {
            sched_drop(c);
            continue;
        }
        uint64_t done = atomic_load_explicit(&c->run.next, memory_order_relaxed);
        uint64_t lateness =
            schedule_lateness(c->stream->id, schedule_mix(c->count, done), (uint32_t)c->kind);
        if (c->stream == favoured)
            lateness = 0;
        if (grid_run_open(&c->run) && is_better(best, lateness))
            *best = (struct piece){.shared = c, .lateness = lateness};
    }
}

/* The scheduler is locked. In the fixed order, the level that is served first comes first. */
static void choose(struct piece *best, const struct device_stream *favoured)
{
    bool fixed = schedule_now.mode == SCHEDULE_FIXED;
    for (uint32_t level = 0; level < PRIORITIES; level++) {
        choose_shared(best, level, favoured);
        choose_stream(best, level, favoured);
        if (fixed && (best->stream != NULL || best->shared != NULL))
            return;
    }
}

/* Takes what runs next off the lists; the caller counts as running then. */
static bool take(struct piece *p, const struct device_stream *favoured)
{
    *p = (struct piece){0};
    pthread_mutex_lock(&sched.lock);
    sched_collect();
    if (!sched_paused()) {
        p->queue = sched_take_given();
        if (p->queue == NULL)
            choose(p, favoured);
    }
    if (p->stream != NULL)
        sched_unready(p->stream);
    if (p->shared != NULL && !grid_run_enter(&p->shared->run))
        p->shared = NULL;
    bool found = p->queue != NULL || p->stream != NULL || p->shared != NULL;
    if (found)
        atomic_fetch_add(&sched.running, 1);
    pthread_mutex_unlock(&sched.lock);
    return found;
}

/* ---- running ---- */

static enum sched_result resume_parked(struct grid_worker *w)
{
    bool progress;
    struct grid_run *complete;
    if (atomic_load(&sched.parking.count) == 0)
        return SCHED_NOTHING;
    atomic_fetch_add(&sched.running, 1);
    if (sched_paused()) {
        atomic_fetch_sub(&sched.running, 1);
        return SCHED_NOTHING;
    }
    bool any = grid_resume(&sched.parking, w, 0, &progress, &complete);
    if (complete != NULL)
        command_run_complete(command_of_run(complete), w, 0);
    atomic_fetch_sub(&sched.running, 1);
    return !any ? SCHED_NOTHING : progress ? SCHED_DONE : SCHED_NO_PROGRESS;
}

static bool run_piece(struct grid_worker *w, const struct device_stream *favoured)
{
    struct piece p;
    if (!take(&p, favoured))
        return false;
    if (p.stream != NULL)
        stream_run(p.stream, w, p.stream->current->count);
    else if (p.shared != NULL)
        command_share(p.shared, w, UINT64_MAX, 0);
    else
        cdp_run_queue(p.queue, w);
    cdp_settle(w);
    atomic_fetch_sub(&sched.running, 1);
    return true;
}

/* ---- sleeping threads ---- */

/* The state of a thread as the system tells it: 'R' runs or would, 'S' sleeps. */
static char state_of(const char *task)
{
    char path[64], text[128];
    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", task);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection): the turn is held while work runs
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end != NULL && name_end[1] == ' ' ? name_end[2] : '?';
}

/* Whether all threads but the calling one sleep. */
static bool others_sleep(void)
{
    long self = syscall(SYS_gettid);
    bool sleep = true;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d != NULL && sleep && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.' && atol(e->d_name) != self)
            sleep = state_of(e->d_name) == 'S';
    if (d != NULL)
        closedir(d);
    return sleep;
}

/* A host function that was handed over runs to its end before anything else does, unless it waits
 * for something itself. */
static void let_host_functions_end(void)
{
    char task[24];
    unsigned asleep = 0;
    for (unsigned waited = 0; host_pending() && waited < HOST_LONGEST_US; waited += NAP_US) {
        usleep(NAP_US);
        if (waited % (20 * NAP_US) != 0 || host_thread() == 0)
            continue;
        snprintf(task, sizeof task, "%ld", host_thread());
        asleep = state_of(task) == 'S' ? asleep + 1 : 0;
        if (asleep > ASLEEP_LOOKS)
            return;
    }
}

/* ---- turns ---- */

static void turn_begin(struct grid_worker *w)
{
    pthread_mutex_lock(&turns.lock);
    atomic_store(&turns.holder, w);
}

static void turn_end(void)
{
    atomic_store(&turns.holder, NULL);
    pthread_mutex_unlock(&turns.lock);
}

uint64_t turns_pieces(void) { return turns.pieces; }

bool turns_release(void)
{
    if (atomic_load(&turns.holder) != sched_worker())
        return false;
    turn_end();
    return true;
}

void turns_regain(void) { turn_begin(sched_worker()); }

struct turn {
    struct grid_worker *worker;
    const struct device_stream *favoured;
    enum sched_result result;
};

static void run_here(void *arg)
{
    struct turn *t = arg;
    if (turns.pieces++ % 2 != 0)
        t->result = resume_parked(t->worker);
    if (t->result == SCHED_NOTHING && run_piece(t->worker, t->favoured))
        t->result = SCHED_DONE;
    if (t->result == SCHED_NOTHING)
        t->result = resume_parked(t->worker);
}

/* Runs one piece. Parked blocks, which may wait for any other, take every second turn. */
static enum sched_result run_one(struct grid_worker *w, const struct device_stream *favoured)
{
    struct turn t = {.worker = w, .favoured = favoured, .result = SCHED_NOTHING};
    if (atomic_load(&turns.holder) == w)
        return SCHED_NOTHING; /* in the middle of another */
    turn_begin(w);
    stack_call(run_here, &t);
    let_host_functions_end();
    turn_end();
    return t.result;
}

static bool reached(struct device_stream *s, uint64_t count)
{
    return stream_completed(s) >= count;
}

void turns_wait(struct device_stream *s, uint64_t count, uint64_t longest_ns)
{
    struct grid_worker *w = sched_worker();
    uint64_t end = longest_ns != 0 ? clock_ns() + longest_ns : 0;
    atomic_fetch_add(&turns.calls, 1);
    atomic_fetch_add(&turns.waiting, 1);
    grid_signals_enter(w);
    for (uint64_t n = 1; !reached(s, count) && (end == 0 || clock_ns() < end); n++)
        if (run_one(w, n % FAVOUR_EACH == 0 ? s : NULL) != SCHED_DONE)
            usleep(NAP_US); /* others do what it waits for */
    grid_signals_leave(w);
    atomic_fetch_sub(&turns.waiting, 1);
}

void turns_enqueued(struct device_stream *s, uint64_t count)
{
    struct grid_worker *w = sched_worker();
    atomic_fetch_add(&turns.calls, 1);
    if (!schedule_at_once(s->id, count))
        return;
    grid_signals_enter(w);
    for (int n = 0; n < AT_ONCE && !reached(s, count); n++)
        if (run_one(w, s) != SCHED_DONE)
            break;
    grid_signals_leave(w);
}

void turns_asked(struct device_stream *s)
{
    struct grid_worker *w = sched_worker();
    uint64_t calls = atomic_fetch_add(&turns.calls, 1);
    /* The fixed order goes on each time, as does every second question on the average. */
    if (schedule_which(SCHEDULE_QUERY, schedule_mix(s->id, calls), 2) != 0)
        return;
    grid_signals_enter(w);
    run_one(w, NULL);
    grid_signals_leave(w);
}

/* ---- the worker ---- */

static bool anything(void)
{
    return atomic_load(&sched.listed) > 0 || atomic_load(&sched.parking.count) > 0;
}

void *turns_main(void *number)
{
    struct grid_worker *w = grid_worker_self((uint32_t)(uintptr_t)number);
    uint64_t seen = 0;
    unsigned looks = 0, asleep = 0;
    bool needed = false;
    for (;;) {
        uint64_t calls = atomic_load(&turns.calls);
        bool stuck = atomic_load(&sched.stuck) > 0;
        if (!anything() || calls != seen || (atomic_load(&turns.waiting) > 0 && !stuck)) {
            seen = calls;
            looks = asleep = 0;
            needed = false;
        }
        if (stuck || needed) {
            grid_signals_enter(w);
            enum sched_result r = run_one(w, NULL);
            if (r != SCHED_DONE)
                usleep(NAP_US);
            continue;
        }
        usleep(LOOK_US);
        if (!anything() || atomic_load(&turns.waiting) > 0)
            continue;
        asleep = others_sleep() ? asleep + 1 : 0;
        needed = asleep > ASLEEP_LOOKS || ++looks > PATIENCE;
    }
    return NULL;
}
