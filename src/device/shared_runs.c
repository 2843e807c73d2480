/* shared_runs: the runs that several threads share: those that have blocks or pieces to hand out
 * are listed, and threads that find nothing else to do enter them.
 *
 * As a rule one run is all there is, and all threads see it at the same time. They would wait for
 * each other at the scheduler's lock, so one of the listed runs is open: a word has its address and
 * how often threads may enter. The run counts all of these as threads inside from the start, so
 * that it is there for whoever has changed the word, and that is all that entering takes. Who
 * leaves a run that has no block to hand out closes it, from inside, and gives back what nobody
 * used. */
#include "device/cdp.h"
#include "device/internal.h"

static void job_remove(struct command *c)
{
    uint32_t level = (uint32_t)c->stream->level;
    if (c->job_prev != NULL)
        c->job_prev->job_next = c->job_next;
    else
        sched.jobs[level].head = c->job_next;
    if (c->job_next != NULL)
        c->job_next->job_prev = c->job_prev;
    else
        sched.jobs[level].tail = c->job_prev;
}

static void job_append(struct command *c)
{
    uint32_t level = (uint32_t)c->stream->level;
    c->job_next = NULL;
    c->job_prev = sched.jobs[level].tail;
    if (c->job_prev != NULL)
        c->job_prev->job_next = c;
    else
        sched.jobs[level].head = c;
    sched.jobs[level].tail = c;
}

/* The word that says which run is open, and how often threads may enter it: in the upper 16 bits.
 * Who has none left takes runs from the list. */
static const uint64_t OPEN_TICKET = 1ull << 48, OPEN_TICKETS = 60000;

static struct command *open_run(uint64_t open)
{
    return (struct command *)(uintptr_t)(open & (OPEN_TICKET - 1));
}

static bool is_open(const struct command *c) { return open_run(atomic_load(&sched.open)) == c; }

/* Gives back what nobody has entered with. Some thread is inside, so that these are not the last
 * that the run counts. The lock is held. */
static void close_run(struct command *c)
{
    uint64_t open = atomic_exchange(&sched.open, 0);
    grid_run_leave(&c->run, open / OPEN_TICKET);
}

/* The lock is held. */
static void open_for_all(struct command *c)
{
    if (atomic_load_explicit(&sched.open, memory_order_relaxed) != 0 ||
        grid_run_exhausted(&c->run) || (uintptr_t)c >= OPEN_TICKET)
        return;
    grid_run_hold(&c->run, OPEN_TICKETS);
    atomic_store(&sched.open, (uintptr_t)c | OPEN_TICKETS * OPEN_TICKET);
}

void sched_drop(struct command *c)
{
    job_remove(c);
    if (is_open(c))
        close_run(c);
    c->listed = false;
    atomic_fetch_sub(&sched.listed, 1);
}

void sched_unlist(struct command *c)
{
    pthread_mutex_lock(&sched.lock);
    if (c->listed)
        sched_drop(c);
    pthread_mutex_unlock(&sched.lock);
}

void sched_close(struct command *c)
{
    if (!is_open(c))
        return;
    pthread_mutex_lock(&sched.lock);
    if (is_open(c) && grid_run_exhausted(&c->run))
        sched_drop(c);
    else if (is_open(c)) /* blocks that are parked must go on first */
        close_run(c);
    pthread_mutex_unlock(&sched.lock);
}

struct command *shared_pick(uint32_t level)
{
    for (struct command *c = sched.jobs[level].head, *next; c != NULL; c = next) {
        next = c->job_next;
        bool exhausted = grid_run_exhausted(&c->run);
        if (exhausted && !is_open(c)) {
            sched_drop(c);
        } else if (exhausted && grid_run_enter(&c->run)) {
            sched_drop(c);
            return c; /* for the thread to leave it, perhaps as the last */
        } else if (grid_run_open(&c->run) && grid_run_enter(&c->run)) {
            job_remove(c);
            job_append(c);
            return c;
        }
    }
    return NULL;
}

struct command *shared_enter(void)
{
    uint64_t open = atomic_load(&sched.open);
    while (open >= OPEN_TICKET)
        if (atomic_compare_exchange_weak(&sched.open, &open, open - OPEN_TICKET))
            return open_run(open);
    return NULL;
}

void shared_add(struct command *c, bool open)
{
    c->listed = c->published = true;
    job_append(c);
    if (open)
        open_for_all(c);
    atomic_fetch_add(&sched.listed, 1);
}
