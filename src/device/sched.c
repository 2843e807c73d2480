/* sched: the scheduler: worker threads, the ready queue, the runs that several threads share, and
 * waking.
 *
 * Waking costs the waker a system call and the work some microseconds, so it is done only when it
 * must be: not while a worker is still looking for work ("spinning"), and one at a time; whoever
 * finds work and sees more of it wakes the next. Where a run is long enough, each wakes some, so
 * that all are there after a few steps. A worker that stops looking says so (`spinning`,
 * `asleep`) before it looks once more; who enqueues puts the work in (`listed`, a shard's turn)
 * before it looks at these two. One of them sees the other, so no work is ever left with everyone
 * asleep.
 *
 * Who makes a stream ready takes no lock, unless a worker is to be woken: it goes into an inbox.
 * Streams that host threads launch into and wait for are left to them (left.c).
 *
 * Parked blocks (kernels that spin) are resumed in turn with other work. When nothing else is there
 * and they get nowhere for a while, workers give way to other threads, and later sleep in between:
 * what they wait for may be the host's to do. */
#include <sched.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/schedule.h"
#include "device/cdp.h"
#include "device/internal.h"

/* How long a worker looks before it sleeps; and after it has worked on a run with others, since
 * programs launch one grid after the other, and to wake them all takes longer than many a grid. Not
 * all of them do so: the program's thread needs a CPU, too. */
static const uint64_t SPIN_NS = 20000, SPIN_SHARED_NS = 100000;
enum { LOOKS = 32 }; /* between two looks at the clock, with a pause of the CPU each */
/* So many of these between two looks at what is left to host threads: about the time from a launch
 * to the wait for it. */
enum { LEFT_EACH = 2, LEFT_PIECES = 4 }; /* and pieces of work, of who has some all the time */
/* How often before it sleeps because others use all CPUs, its own, too. */
static const uint32_t USED_LOOKS = 64;
/* How long it sleeps then, at most. What is not begun by that time gets a worker even so: host
 * threads that launch and wait in turn may run all the time. */
static const uint64_t OVERDUE_NS = 5000000;
static const uint64_t PATIENCE_NS = 2000000; /* of parked blocks going nowhere, before sleeping */
static const uint64_t NAP_NS = 50000;        /* how long then */

/* A run is worth as many workers at a time as it is expected to take of this, up to a few: waking
 * one takes some 50 µs where CPUs sleep deeply, and the waker some 5. */
static const uint64_t HELPER_NS = 100000;
enum { HELPERS = 3 };

static const uint32_t STUCK_MAX = 2048; /* threads at most, with those started for stuck ones */
static const unsigned STUCK_US = 50;    /* how long a stuck thread sleeps before it looks again */

struct sched sched;

/* ---- sleeping workers ---- */

static void idle_remove(struct sleeper *s)
{
    if (s->prev != NULL)
        s->prev->next = s->next;
    else
        sched.idle = s->next;
    if (s->next != NULL)
        s->next->prev = s->prev;
    s->next = s->prev = NULL;
    atomic_fetch_sub(&sched.asleep, 1);
}

/* Takes as many workers to wake that so many look for work, if there are as many; linked by `next`.
 * The lock is held. They count as spinning from now on. */
static struct sleeper *idle_take(uint32_t wanted)
{
    struct sleeper *taken = NULL, *s;
    while ((s = sched.idle) != NULL && atomic_load(&sched.spinning) < wanted) {
        idle_remove(s);
        s->next = taken;
        taken = s;
        atomic_fetch_add(&sched.spinning, 1);
    }
    return taken;
}

/* Wakes those taken. They may be gone as soon as they know. */
static void wake_taken(struct sleeper *taken)
{
    for (struct sleeper *s = taken, *next; s != NULL; s = next) {
        next = s->next;
        atomic_store(&s->woken, 1);
        futex_wake(&s->woken, 1);
    }
}

/* How many workers to get at once for a run, by a thread that counts as running. */
static uint32_t helpers(struct command *c)
{
    uint32_t running = atomic_load_explicit(&sched.running, memory_order_relaxed);
    uint64_t idle = running < sched.workers ? sched.workers - running : 0;
    uint64_t n = grid_run_estimate(&c->run) / HELPER_NS;
    n = n < HELPERS ? n : HELPERS;
    n = n < idle ? n : idle;
    return n > 1 ? (uint32_t)n : 1;
}

void sched_wake_one(void)
{
    /* A worker that stops looking now looks once more at what the caller has seen. */
    if (atomic_load(&sched.spinning) > 0 || atomic_load(&sched.asleep) == 0)
        return;
    pthread_mutex_lock(&sched.lock);
    struct sleeper *s = idle_take(1);
    pthread_mutex_unlock(&sched.lock);
    wake_taken(s);
}

/* As many threads execute something as there are CPUs for: host threads that wait work, too, and
 * one more would only take its CPU from one of these. Workers that have seen that may sleep though
 * there is work; so whoever stops running looks for more itself, or wakes another. */
static bool full(void) { return atomic_load(&sched.running) >= sched.workers; }

bool sched_unseen(void)
{
    return atomic_load(&sched.listed) > 0 || atomic_load(&sched.parking.count) > 0 ||
           (atomic_load(&sched.spinning) == 0 && left_shards() != 0);
}

/* The thread has counted as running and found nothing to run; it may go to sleep now. */
static void stop_running(void)
{
    atomic_fetch_sub(&sched.running, 1);
    if (atomic_load(&sched.asleep) > 0 && sched_unseen())
        sched_wake_one();
}

/* Counts the thread as running, unless there are as many as may be, or nothing is begun now. The
 * lock may be held. */
static bool begin_running(void)
{
    /* Counted before looking: who pauses looks at the count after having said so. */
    if (atomic_fetch_add(&sched.running, 1) < sched.workers && !sched_paused())
        return true;
    atomic_fetch_sub(&sched.running, 1);
    return false;
}

bool sched_begin(void) { return begin_running(); }

static bool anything(void)
{
    return atomic_load(&sched.listed) > 0 || atomic_load(&sched.parking.count) > 0 ||
           left_shards() != 0;
}

static bool anything_queued(void)
{
    return atomic_load_explicit(&sched.listed, memory_order_acquire) > 0;
}

/* ---- the ready queue ---- */

void sched_unready(struct device_stream *s)
{
    if (s->ready_prev != NULL)
        s->ready_prev->ready_next = s->ready_next;
    else
        sched.ready[s->level].head = s->ready_next;
    if (s->ready_next != NULL)
        s->ready_next->ready_prev = s->ready_prev;
    else
        sched.ready[s->level].tail = s->ready_prev;
    s->ready_next = s->ready_prev = NULL;
    atomic_store_explicit(&s->queued, QUEUED_NOT, memory_order_relaxed);
    atomic_fetch_sub(&sched.listed, 1);
}

static void ready_append(struct device_stream *s)
{
    s->ready_next = NULL;
    s->ready_prev = sched.ready[s->level].tail;
    if (s->ready_prev != NULL)
        s->ready_prev->ready_next = s;
    else
        sched.ready[s->level].head = s;
    sched.ready[s->level].tail = s;
    atomic_store_explicit(&s->queued, QUEUED_READY, memory_order_relaxed);
}

void sched_collect(void)
{
    if (atomic_load(&sched.inbox) == NULL) /* in order with fall_asleep's count of sleepers */
        return;
    struct device_stream *s = atomic_exchange(&sched.inbox, NULL), *oldest = NULL;
    for (struct device_stream *after; s != NULL; s = after) {
        after = s->ready_next;
        s->ready_next = oldest;
        oldest = s;
    }
    for (struct device_stream *after; oldest != NULL; oldest = after) {
        after = oldest->ready_next;
        ready_append(oldest);
    }
}

static void start_workers(void);

/* Others may run the stream, and end it, as soon as it is in. */
static void inbox_put(struct device_stream *s)
{
    struct device_stream *first = atomic_load_explicit(&sched.inbox, memory_order_relaxed);
    atomic_fetch_add(&sched.listed, 1); /* before anyone takes it out */
    do
        s->ready_next = first;
    while (!atomic_compare_exchange_weak(&sched.inbox, &first, s));
}

void sched_push(struct device_stream *s)
{
    static pthread_once_t started = PTHREAD_ONCE_INIT;
    pthread_once(&started, start_workers);
    atomic_store(&s->queued, QUEUED_COMING);
    bool host = atomic_load(&s->host_waiters) > 0; /* who sleeps has looked after having said so */
    if (host)
        stream_ref(s);
    if (atomic_load_explicit(&s->host_runs, memory_order_relaxed))
        left_put(s);
    else
        inbox_put(s);
    if (atomic_load(&sched.spinning) == 0) { /* likewise: fall_asleep */
        if (atomic_load(&sched.asleep) > 0)
            sched_wake_one();
        else if (host) /* no worker is free: a host thread that sleeps on the stream can run it */
            stream_wake(s);
    }
    if (host)
        stream_unref(s);
}

/* Takes a stream out of where it waits to be run, if it is there. */
static bool take_back(struct device_stream *s, bool to_run)
{
    uint8_t queued = atomic_load_explicit(&s->queued, memory_order_relaxed);
    if (queued == QUEUED_NOT)
        return false;
    bool taken = false;
    if (queued == QUEUED_LEFT) {
        if (sched_paused()) /* who pauses waits until nobody is counted */
            return false;
        /* Counted before looking: who pauses looks at the count after having said so. */
        atomic_fetch_add(&sched.running, 1);
        taken = !sched_paused() && left_remove(s);
        if (!taken || !to_run)
            stop_running();
        return taken;
    }
    pthread_mutex_lock(&sched.lock);
    sched_collect();
    taken =
        atomic_load_explicit(&s->queued, memory_order_relaxed) == QUEUED_READY && !sched_paused();
    if (taken) {
        sched_unready(s);
        if (to_run)
            atomic_fetch_add(&sched.running, 1);
    }
    pthread_mutex_unlock(&sched.lock);
    return taken;
}

bool sched_steal(struct device_stream *s) { return take_back(s, true); }
bool sched_withdraw(struct device_stream *s) { return take_back(s, false); }

/* ---- shared runs ---- */

void sched_list(struct command *c, enum sched_listing how)
{
    bool wake = how != SCHED_LIST;
    pthread_mutex_lock(&sched.lock);
    shared_add(c, how == SCHED_OPEN);
    struct sleeper *s = wake ? idle_take(helpers(c)) : NULL;
    pthread_mutex_unlock(&sched.lock);
    wake_taken(s);
}

void sched_give(struct cdp_queue *q)
{
    pthread_mutex_lock(&sched.lock);
    if (sched.given.tail != NULL)
        sched.given.tail->next = q;
    else
        sched.given.head = q;
    sched.given.tail = q;
    atomic_fetch_add_explicit(&sched.waiting_gifts, 1, memory_order_relaxed);
    atomic_fetch_add(&sched.listed, 1);
    struct sleeper *s = idle_take(1);
    pthread_mutex_unlock(&sched.lock);
    wake_taken(s);
}

struct cdp_queue *sched_take_given(void)
{
    struct cdp_queue *q = sched.given.head;
    if (q == NULL)
        return NULL;
    sched.given.head = q->next;
    if (sched.given.head == NULL)
        sched.given.tail = NULL;
    atomic_fetch_sub_explicit(&sched.waiting_gifts, 1, memory_order_relaxed);
    atomic_fetch_sub(&sched.listed, 1);
    return q;
}

struct command *sched_join(struct device_stream *s)
{
    if (atomic_load_explicit(&sched.listed, memory_order_relaxed) == 0)
        return NULL;
    struct command *found = NULL;
    pthread_mutex_lock(&sched.lock);
    if (!begin_running()) {
        pthread_mutex_unlock(&sched.lock);
        return NULL;
    }
    for (struct command *c = sched.jobs[s->level].head; c != NULL && found == NULL; c = c->job_next)
        if (c->stream == s && grid_run_open(&c->run) && grid_run_enter(&c->run))
            found = c;
    if (found == NULL)
        atomic_fetch_sub(&sched.running, 1);
    pthread_mutex_unlock(&sched.lock);
    return found;
}

/* ---- looking for work ---- */

static void stop_spinning(struct seeker *k)
{
    if (k->spinning)
        atomic_fetch_sub(&sched.spinning, 1);
    k->spinning = false;
}

/* Enters the open run, and counts as running, if that is all there is to do: threads that come at
 * once do not wait for each other at the lock. */
static struct command *join_open(struct seeker *k)
{
    if (atomic_load(&sched.open) == 0 || atomic_load(&sched.listed) != 1 || !begin_running())
        return NULL;
    struct command *c = shared_enter();
    if (c != NULL)
        stop_spinning(k);
    else
        stop_running();
    return c;
}

/* Gets others to help with the run that was entered. */
static void wake_helpers(struct command *c)
{
    if (atomic_load_explicit(&sched.asleep, memory_order_relaxed) == 0 || full())
        return;
    uint32_t wanted = helpers(c);
    if (atomic_load(&sched.spinning) >= wanted)
        return;
    pthread_mutex_lock(&sched.lock);
    struct sleeper *s = idle_take(wanted);
    pthread_mutex_unlock(&sched.lock);
    wake_taken(s);
}

/* Locks the scheduler to take something off the lists; false: as many threads are about to as there
 * are entries. All that look see a new entry at once, and would wait for each other in vain; who
 * takes one and sees more wakes another thread. */
static bool lock_to_pick(void)
{
    uint32_t listed = (uint32_t)atomic_load_explicit(&sched.listed, memory_order_relaxed);
    if (atomic_load_explicit(&sched.picking, memory_order_relaxed) >= listed) {
        pause_cpu();
        return false;
    }
    atomic_fetch_add_explicit(&sched.picking, 1, memory_order_relaxed);
    pthread_mutex_lock(&sched.lock);
    return true;
}

static void unlock_picked(void)
{
    pthread_mutex_unlock(&sched.lock);
    atomic_fetch_sub_explicit(&sched.picking, 1, memory_order_relaxed);
}

/* A stream that was left to host threads, of these shards. */
static struct device_stream *pick_left(struct seeker *k, uint32_t *late, bool overdue)
{
    bool counted = begin_running();
    if (!counted) {
        if (!overdue)
            return NULL;
        atomic_fetch_add(&sched.running, 1); /* before looking, as in begin_running */
        if (sched_paused()) {
            stop_running();
            return NULL;
        }
    }
    struct device_stream *s = left_take(late);
    if (s == NULL) {
        stop_running();
        return NULL;
    }
    stop_spinning(k);
    if (sched_unseen()) /* more of it, perhaps */
        sched_wake_one();
    return s;
}

/* A stream to run, a command to share, or a queue. Wakes another worker when there is more. */
static bool pick(struct seeker *k, struct device_stream **s, struct command **c,
                 struct cdp_queue **q)
{
    *s = NULL;
    *c = NULL;
    *q = NULL;
    /* Parked blocks may wait for what is left, and workers that resume them never rest. */
    bool parked = atomic_load_explicit(&sched.parking.count, memory_order_relaxed) > 0;
    uint32_t late = parked ? left_shards() : k->late;
    k->late = 0;
    bool overdue = k->overdue;
    k->overdue = false;
    if ((late == 0 && !anything_queued()) || sched_paused() || (full() && !overdue))
        return false;
    if (late != 0 && (*s = pick_left(k, &late, overdue)) != NULL) {
        if (overdue) { /* so are the others */
            k->late = late;
            k->overdue = late != 0;
        }
        return true;
    }
    if (!anything_queued())
        return false;
    struct sleeper *sleeper = NULL;
    *c = join_open(k);
    if (*c != NULL) {
        wake_helpers(*c);
        return true;
    }
    if (!lock_to_pick())
        return false;
    bool counted = begin_running();
    if (!counted && (!overdue || sched_paused())) {
        unlock_picked();
        return false;
    }
    if (!counted)
        atomic_fetch_add(&sched.running, 1);
    sched_collect();
    /* What kernels have launched comes before new work: it is what they wait for. */
    *q = sched_take_given();
    for (uint32_t level = 0; level < PRIORITIES && *q == NULL && *s == NULL && *c == NULL;
         level++) {
        bool job_first = (k->turn & 2) != 0;
        if (job_first && counted)
            *c = shared_pick(level);
        if (*c == NULL && (*s = sched.ready[level].head) != NULL)
            sched_unready(*s);
        if (*c == NULL && *s == NULL && !job_first && counted)
            *c = shared_pick(level);
    }
    bool found = *s != NULL || *c != NULL || *q != NULL;
    if (found) {
        stop_spinning(k);
        if (!full() && (atomic_load(&sched.listed) > 0 || left_shards() != 0))
            sleeper = idle_take(*c != NULL ? helpers(*c) : 1);
    } else {
        atomic_fetch_sub(&sched.running, 1);
    }
    unlock_picked();
    wake_taken(sleeper);
    return found;
}

static enum sched_result resume(struct grid_worker *w, struct seeker *k)
{
    bool progress;
    struct grid_run *complete;
    if (atomic_load_explicit(&sched.parking.count, memory_order_acquire) == 0)
        return SCHED_NOTHING;
    /* Counted before looking: who pauses looks at the count after having said so. */
    atomic_fetch_add(&sched.running, 1);
    if (sched_paused()) {
        atomic_fetch_sub(&sched.running, 1);
        return SCHED_NOTHING;
    }
    stop_spinning(k);
    grid_signals_enter(w);
    bool any = grid_resume(&sched.parking, w, clock_ns() + SLICE_NS, &progress, &complete);
    if (complete != NULL)
        command_run_complete(command_of_run(complete), w, UINT64_MAX);
    if (!any) {
        stop_running();
        return SCHED_NOTHING;
    }
    atomic_fetch_sub(&sched.running, 1);
    if (progress && atomic_load_explicit(&sched.parking.count, memory_order_relaxed) > 1 &&
        atomic_load(&sched.running) + 1 < sched.workers)
        sched_wake_one();
    return progress ? SCHED_DONE : SCHED_NO_PROGRESS;
}

enum sched_result sched_work(struct grid_worker *w, struct seeker *k)
{
    struct device_stream *s;
    struct command *c;
    struct cdp_queue *q;
    bool resume_first = (k->turn++ & 1) != 0;
    if (resume_first) {
        enum sched_result r = resume(w, k);
        if (r != SCHED_NOTHING)
            return r;
    }
    if (pick(k, &s, &c, &q)) {
        k->shared = c != NULL;
        grid_signals_enter(w);
        if (s != NULL)
            stream_run(s, w, UINT64_MAX);
        else if (c != NULL)
            command_share(c, w, clock_ns() + SLICE_NS, UINT64_MAX);
        else
            cdp_run_queue(q, w);
        cdp_settle(w);
        atomic_fetch_sub(&sched.running, 1);
        if (k->turn % LEFT_PIECES == 0) /* it may have no time to rest */
            k->late |= left_since(k->seen);
        return SCHED_DONE;
    }
    return resume_first ? SCHED_NOTHING : resume(w, k);
}

/* ---- pausing ---- */

static pthread_mutex_t pause_lock = PTHREAD_MUTEX_INITIALIZER; /* held from pause to resume */

void device_pause(void)
{
    pthread_mutex_lock(&pause_lock);
    pthread_mutex_lock(&sched.lock);
    atomic_store(&sched.paused, true);
    pthread_mutex_unlock(&sched.lock);
    while (atomic_load(&sched.running) > 0)
        usleep(20);
}

void device_resume(void)
{
    pthread_mutex_lock(&sched.lock);
    atomic_store(&sched.paused, false);
    pthread_mutex_unlock(&sched.lock);
    pthread_mutex_unlock(&pause_lock);
    if (anything())
        sched_wake_one();
}

/* ---- workers ---- */

/* Whether there is work that is not parked. The lock is held. */
static bool work_listed(void)
{
    sched_collect();
    if (sched.given.head != NULL || left_shards() != 0)
        return true;
    for (uint32_t level = 0; level < PRIORITIES; level++) {
        if (sched.ready[level].head != NULL)
            return true;
        for (struct command *c = sched.jobs[level].head; c != NULL; c = c->job_next)
            if (grid_run_open(&c->run))
                return true;
    }
    return false;
}

/* Sleeps until woken or the time is up (0: no limit); does not if there is work and `always` is not
 * set. Spinning afterwards, unless it did not sleep. */
static void fall_asleep(struct seeker *k, uint64_t timeout, bool always)
{
    struct sleeper me = {0};
    pthread_mutex_lock(&sched.lock);
    stop_spinning(k);
    atomic_fetch_add(&sched.asleep, 1); /* before looking: see stop_running */
    bool parked = !always && atomic_load(&sched.parking.count) > 0;
    if (parked || (!full() && (work_listed() || (!always && anything())))) {
        atomic_fetch_sub(&sched.asleep, 1);
        pthread_mutex_unlock(&sched.lock);
        return;
    }
    me.next = sched.idle;
    if (me.next != NULL)
        me.next->prev = &me;
    sched.idle = &me;
    pthread_mutex_unlock(&sched.lock);
    while (atomic_load(&me.woken) == 0) {
        futex_wait(&me.woken, 0, timeout);
        if (timeout == 0)
            continue;
        pthread_mutex_lock(&sched.lock);
        bool listed = sched.idle == &me || me.prev != NULL;
        if (listed)
            idle_remove(&me);
        pthread_mutex_unlock(&sched.lock);
        if (listed)
            return;
    }
    k->spinning = true; /* counted by who woke us */
}

/* Who stops running wakes a worker, which may find all places taken again each time. */
static bool is_overdue(const struct seeker *k)
{
    return k->full_since != 0 && clock_ns() - k->full_since >= OVERDUE_NS;
}

/* Do as many threads run or look for work as there are CPUs? */
static bool crowded(void)
{
    return atomic_load(&sched.running) + atomic_load(&sched.spinning) >= sched.workers;
}

/* Nothing to do: looks for a while, then sleeps. */
static void rest(struct seeker *k)
{
    if (sched_paused()) {
        sched_yield();
        return;
    }
    if (!k->spinning) {
        k->spinning = true;
        atomic_fetch_add(&sched.spinning, 1);
    }
    uint64_t end = clock_ns() + SPIN_NS;
    bool longer = k->shared;
    uint32_t used = 0;
    left_since(k->seen);
    for (uint32_t round = 1; used < USED_LOOKS; round++) {
        for (int i = 0; i < LOOKS; i++) {
            /* How many run is looked at only then: who runs writes it all the time. */
            bool queued = k->late != 0 || anything_queued();
            used = queued && full() ? used + 1 : 0;
            if ((queued && used == 0) || atomic_load(&sched.parking.count) > 0) {
                k->overdue = is_overdue(k);
                return;
            }
            pause_cpu();
        }
        if (round % LEFT_EACH == 0)
            k->late = left_since(k->seen);
        if (clock_ns() < end)
            continue;
        if (!longer || crowded())
            break;
        longer = false;
        end += SPIN_SHARED_NS - SPIN_NS;
    }
    if (used == 0)
        k->full_since = 0;
    else if (k->full_since == 0)
        k->full_since = clock_ns();
    fall_asleep(k, used > 0 ? OVERDUE_NS : 0, false);
    k->overdue = is_overdue(k);
    if (k->overdue)
        k->late = left_since(k->seen);
}

static void *worker_main(void *arg)
{
    struct grid_worker *w = grid_worker_self((uint32_t)(uintptr_t)arg);
    struct seeker k = {0};
    uint64_t progress = clock_ns();
    for (;;) {
        enum sched_result r = sched_work(w, &k);
        if (r == SCHED_NOTHING) {
            rest(&k);
        } else if (r == SCHED_NO_PROGRESS) {
            /* One look at each parked block is a round. */
            if (++k.no_progress <= atomic_load_explicit(&sched.parking.count, memory_order_relaxed))
                continue;
            k.no_progress = 0;
            if (clock_ns() - progress < PATIENCE_NS)
                sched_yield();
            else
                fall_asleep(&k, NAP_NS, true);
            continue;
        }
        k.no_progress = 0;
        k.full_since = 0;
        progress = clock_ns();
    }
    return NULL;
}

static bool start_worker(void)
{
    uint32_t number = atomic_fetch_add(&sched.threads, 1) % sched.sharers;
    if (thread_start(schedule_on() ? turns_main : worker_main, (void *)(uintptr_t)number,
                     "weir-worker"))
        return true;
    atomic_fetch_sub(&sched.threads, 1);
    return false;
}

bool sched_ready(void) { return atomic_load(&sched.threads) > 0 || start_worker(); }

static void start_workers(void)
{
    while (atomic_load(&sched.threads) < sched.sharers)
        if (!start_worker())
            break; /* fewer then: one there is, and host threads that wait work, too */
}

/* Threads that wait and cannot do anything else must not be all there are: a worker is woken or
 * started for each of them, up to a limit that no sane program comes near. */
void sched_give_way(void)
{
    uint32_t stuck = atomic_fetch_add(&sched.stuck, 1) + 1;
    atomic_fetch_sub(&sched.running, 1);
    uint32_t threads = atomic_load(&sched.threads);
    bool turn = schedule_on() && turns_release();
    if (threads < sched.sharers + stuck && threads < STUCK_MAX)
        start_worker();
    else if (anything())
        sched_wake_one();
    usleep(STUCK_US);
    atomic_fetch_add(&sched.running, 1);
    while (sched_paused()) {
        atomic_fetch_sub(&sched.running, 1);
        usleep(STUCK_US);
        atomic_fetch_add(&sched.running, 1);
    }
    atomic_fetch_sub(&sched.stuck, 1);
    if (turn)
        turns_regain();
}

void sched_open(uint32_t workers)
{
    sched.workers = workers;
    sched.sharers = schedule_on() ? 1 : workers;
    mutex_init(&sched.lock);
    left_open();
    grid_parking_init(&sched.parking);
    cdp_open();
    sched.parking.give_way = run_give_way;
    sched.parking.wanted = run_wanted;
    sched.parking.closed = run_closed;
}
