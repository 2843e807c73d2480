/* resident: blocks of a cooperative grid, which wait for each other again and again.
 *
 * Each of them is saved when it arrives at the grid's barrier, and goes on after the last one has.
 * All do it at once, so they would meet at the lock of the parking. Instead a thread keeps the
 * blocks that it has begun, whose data is in its cache, in a list of its own. It looks at the word
 * of the grid's barrier, and lets them go on when that has flipped since they came to wait. Threads
 * that have nothing to do take blocks that could go on from others, which may have lost their CPU.
 * A block may wait for something else as well: so those for which the word has not flipped go on
 * now and then, too, and without a pause where it has not flipped for long.
 *
 * All count at the word as they arrive, and take its line from each other. So a thread adds what
 * its blocks have to add all at once, when none of them goes on before the barrier flips.
 *
 * Blocks that go through memory in steps of the grid take turns: they come back before they wait
 * for anything (jit_block.gave_way), and go on when all others have had theirs. What they read lies
 * side by side, or is the same. They are in a list of their own: a block that has turns left does
 * not come after those that wait for it at the barrier.
 *
 * Where nothing happens for a while, the thread parks its blocks and looks for other work. Whoever
 * resumes the first of them takes those that were kept together with it. */
#include <sched.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/schedule.h"
#include "exec/run.h"

/* Of nothing that happens, before the thread takes what others keep, before it gives its CPU to
 * others, and before it leaves. */
static const uint64_t STEAL_NS = 12000, YIELD_NS = 15000, IDLE_NS = 100000;
/* Between looks whether other work waits, once a thread's time is up. */
static const uint64_t WANTED_NS = 100000;
/* Before it takes blocks of which each only has its turn: they are not left alone, and what they go
 * through is in the cache of the thread that keeps them. */
static const uint64_t STEAL_TURN_NS = 50000;
/* Since the barrier flipped, before blocks are taken to wait for something else, and how often
 * one of them goes on then while others have their turns. */
static const uint64_t OTHERWISE_NS = 1000000;
enum { OTHERWISE_EACH = 16 };
enum { MOST_SHARES = 2 /* of the blocks that a thread keeps, where it had to take some */ };
/* Pauses of the CPU between looks at the barrier, for each thread: all that look take its line from
 * those that arrive. */
enum { PAUSES_MOST = 4 };

struct queue {
    struct grid_block *head, *tail; /* by `next` */
};

/* What a thread keeps, in an array with an element for each. */
struct kept {
    _Alignas(64) pthread_mutex_t lock;
    struct queue waiting, turns;    /* blocks that wait, and those that gave way alone */
    _Atomic uint32_t count, turned; /* of both, and of the latter */
    _Atomic uint32_t phase;         /* of the oldest one that waits */
};

/* A thread in such a grid. On its stack. */
struct residents {
    struct grid_run *run;
    struct residents *outer; /* of a grid that launched this one on the same thread */
    struct kept *own;
    uint32_t phase;   /* of the grid's barrier, in which the block waits that runs now */
    uint64_t ended;   /* blocks that have, or never will run */
    uint32_t pauses;  /* before the next look at the barrier */
    uint32_t steps;   /* since blocks seem to wait for something else */
    uint64_t flipped; /* when the barrier was last seen to flip, 0: not yet, */
    uint32_t seen;    /* and its phase then */
    uint32_t *word;   /* of the barrier, to which nothing of this was added yet, */
    uint32_t arrived; /* by blocks of this thread; their sum is not 0 before the last one arrives */
    bool in_turns;    /* the last block gave way to others, which go through memory beside it */
    bool moved;       /* a block has ended, or waits at another point */
    bool lost;        /* there was trouble: no further block is begun */
};

/* ---- the grid ---- */

void *resident_workspace(const struct grid_run *run)
{
    size_t bytes = GRID_WORKSPACE_BYTES + run->workers * sizeof(struct kept);
    void *p = aligned_alloc(_Alignof(struct kept), bytes);
    if (p != NULL)
        memset(p, 0, bytes); /* which is what unlocked mutexes are */
    return p;
}

bool resident_grid(const struct grid_run *run)
{
    return run->workspace != NULL && !cluster_used(run) && !schedule_on();
}

static struct kept *kept_of(const struct grid_run *run, uint32_t thread)
{
    return (struct kept *)((uint8_t *)run->workspace + GRID_WORKSPACE_BYTES) +
           thread % run->workers;
}

uint64_t resident_share(const struct grid_run *run)
{
    return (run->total + run->workers - 1) / run->workers;
}

/* Our header and NVIDIA's use one of the first two words for the barrier, whose top bit flips. */
static uint32_t phase_of(const struct grid_run *run)
{
    const uint64_t *words = run->workspace;
    uint64_t both = __atomic_load_n(words, __ATOMIC_ACQUIRE);
    return (uint32_t)(both >> 63 << 1 | (both >> 31 & 1));
}

/* ---- lists ---- */

static void append(struct queue *q, struct grid_block *b)
{
    b->next = NULL;
    if (q->head == NULL)
        q->head = b;
    else
        q->tail->next = b;
    q->tail = b;
}

static void add(struct kept *k, struct grid_block *b)
{
    bool turn = b->phase == TURN_PHASE;
    pthread_mutex_lock(&k->lock);
    append(turn ? &k->turns : &k->waiting, b);
    atomic_fetch_add_explicit(&k->count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&k->turned, turn, memory_order_relaxed);
    atomic_store_explicit(&k->phase, k->waiting.head != NULL ? k->waiting.head->phase : 0,
                          memory_order_relaxed);
    pthread_mutex_unlock(&k->lock);
}

/* Has it blocks that have their turn, */
static bool has_turns(struct kept *k)
{
    return atomic_load_explicit(&k->turned, memory_order_relaxed) > 0;
}

/* and blocks that wait in another phase? */
static bool ready(struct kept *k, uint32_t phase)
{
    return atomic_load_explicit(&k->count, memory_order_relaxed) >
               atomic_load_explicit(&k->turned, memory_order_relaxed) &&
           atomic_load_explicit(&k->phase, memory_order_relaxed) != phase;
}

/* Takes the oldest block: of those that wait, or of those that have their turn, and of the others
 * if there is none. The list is locked, and is not afterwards. */
static struct grid_block *take_locked(struct kept *k, bool turn)
{
    struct queue *q = turn ? &k->turns : &k->waiting, *other = turn ? &k->waiting : &k->turns;
    q = q->head != NULL ? q : other;
    struct grid_block *b = q->head;
    if (b != NULL) {
        q->head = b->next;
        atomic_fetch_sub_explicit(&k->count, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&k->turned, q == &k->turns, memory_order_relaxed);
        if (k->waiting.head != NULL)
            atomic_store_explicit(&k->phase, k->waiting.head->phase, memory_order_relaxed);
    }
    pthread_mutex_unlock(&k->lock);
    return b;
}

static struct grid_block *take(struct kept *k, bool turn)
{
    pthread_mutex_lock(&k->lock);
    return take_locked(k, turn);
}

/* Takes a block that can go on. Those that came to wait, and need not any more, are first: then all
 * go through memory beside each other. */
static struct grid_block *take_ready(struct kept *k, uint32_t phase)
{
    if (ready(k, phase))
        return take(k, false);
    return has_turns(k) ? take(k, true) : NULL;
}

static uint64_t count(const struct residents *r)
{
    return atomic_load_explicit(&r->own->count, memory_order_relaxed);
}

bool resident_keeps(const struct grid_worker *w, const struct grid_run *run)
{
    return w->residents != NULL && w->residents->run == run;
}

bool resident_keep(struct grid_worker *w, struct grid_block *b)
{
    struct residents *r = w->residents;
    b->phase = UNKNOWN_PHASE;
    if (!resident_keeps(w, b->run) || b->jit.waiting != 0)
        return false;
    b->home = w->smid;
    r->in_turns = b->jit.gave_way != 0;
    if (r->in_turns)
        b->phase = TURN_PHASE;
    else if (r->phase == phase_of(b->run))
        b->phase = r->phase;
    if (count(r) >= MOST_SHARES * resident_share(r->run))
        return false;
    add(r->own, b);
    return true;
}

/* ---- arriving ---- */

/* Adds to the barrier what its own blocks have to add. False: nothing. */
static bool flush_arrivals(struct residents *r)
{
    if (r->arrived == 0)
        return false;
    __atomic_fetch_add(r->word, r->arrived, __ATOMIC_SEQ_CST);
    r->arrived = 0;
    return true;
}

/* Until then nobody sees the barrier flip, so that the word's top bit is what it is when this is
 * added; more of the old value than that bit is no use to anyone. */
uint32_t weir_rt_grid_arrive(struct jit_block *j, uint32_t *word, uint32_t n)
{
    const struct grid_block *b = j->grid;
    struct residents *r = resident_keeps(b->worker, b->run) ? b->worker->residents : NULL;
    if (r == NULL || r->run->workers == 1)
        return __atomic_fetch_add(word, n, __ATOMIC_SEQ_CST);
    if (r->word != word)
        flush_arrivals(r);
    uint32_t old = __atomic_load_n(word, __ATOMIC_ACQUIRE) + r->arrived;
    r->word = word;
    r->arrived += n;
    return old;
}

/* ---- running ---- */

/* A block that goes on may arrive at the barrier once more, and the barrier flip again meanwhile:
 * the phase in which it waits is known only after it went on a second time, mostly in vain. */
static void go_on(struct residents *r, struct grid_worker *w, struct grid_block *b)
{
    struct outcome o = {.before = unit_position(b)};
    r->phase = b->phase >= UNKNOWN_PHASE ? phase_of(r->run) : UNKNOWN_PHASE;
    w->current = b;
    block_resume(w, &o);
    r->ended += o.parked == 0 ? 1 : 0;
    r->moved = r->moved || o.moved || o.parked == 0;
    r->lost = r->lost || o.trouble;
}

/* Begins a block, if one is left. */
static bool begin_one(struct residents *r, struct grid_worker *w)
{
    if (grid_run_exhausted(r->run))
        return false;
    uint64_t at = atomic_fetch_add_explicit(&r->run->next, 1, memory_order_relaxed);
    if (at >= r->run->total)
        return false;
    struct outcome o = {0};
    r->phase = UNKNOWN_PHASE;
    run_chunk(r->run, w, at, 1, &o);
    r->ended += 1 - o.parked;
    r->moved = true;
    r->lost = r->lost || o.trouble;
    return true;
}

/* A block that can go on, of the grid's that are parked. */
static struct grid_block *take_parked(struct residents *r, uint32_t phase)
{
    struct grid_block *b = parking_take_of(r->run->parking, r->run, phase);
    if (b != NULL)
        atomic_fetch_sub_explicit(&r->run->parked, 1, memory_order_relaxed);
    return b;
}

/* A block that another thread keeps and has not let go on though it could. */
static struct grid_block *steal(struct residents *r, const struct grid_worker *w, uint32_t phase,
                                uint64_t idle)
{
    struct grid_block *b = NULL;
    for (uint32_t n = 1; n < r->run->workers && b == NULL; n++) {
        struct kept *k = kept_of(r->run, w->smid + n);
        bool turn = !ready(k, phase);
        if ((!turn || (has_turns(k) && idle > STEAL_TURN_NS)) &&
            pthread_mutex_trylock(&k->lock) == 0)
            b = take_locked(k, turn);
    }
    return b;
}

/* Runs a block, or looks at the barrier for a moment if none can be run. idle: nothing has happened
 * for so many ns; otherwise: the blocks seem to wait for something else. */
static void step(struct residents *r, struct grid_worker *w, uint64_t idle, bool otherwise)
{
    uint32_t phase = phase_of(r->run);
    if (r->in_turns && count(r) < resident_share(r->run) && begin_one(r, w))
        return;
    bool anyway = otherwise && ++r->steps % OTHERWISE_EACH == 0;
    struct grid_block *b = anyway ? take(r->own, false) : take_ready(r->own, phase);
    if (b == NULL && flush_arrivals(r))
        return;
    if (b == NULL)
        b = take_parked(r, phase);
    if (b == NULL && idle > STEAL_NS)
        b = steal(r, w, phase, idle);
    if (b != NULL) {
        r->moved = !anyway && b->phase != UNKNOWN_PHASE;
        go_on(r, w, b);
        return;
    }
    if (count(r) < resident_share(r->run) && begin_one(r, w))
        return;
    if (!otherwise) {
        for (uint32_t n = 0; n < r->pauses; n++)
            pause_cpu();
        if (r->pauses < PAUSES_MOST * r->run->workers)
            r->pauses *= 2;
        if (idle < YIELD_NS || phase_of(r->run) != phase)
            return;
    }
    b = take_parked(r, NO_PHASE);
    if (b == NULL)
        b = take(r->own, false);
    if (b != NULL)
        go_on(r, w, b);
    if (!r->moved && idle > YIELD_NS)
        sched_yield();
}

/* A fault: none of them goes on. */
static void give_up(struct residents *r, struct grid_worker *w)
{
    r->ended += run_abandon(r->run);
    while ((w->current = take(r->own, false)) != NULL) {
        block_give_up(w);
        r->ended++;
    }
}

/* The time is up: does anything else wait for the thread? Blocks that are parked and taken again
 * are late at the barrier, and those of other threads wait for them. */
static bool wanted(const struct residents *r)
{
    struct grid_parking *p = r->run->parking;
    return p->wanted == NULL || p->wanted(r->run);
}

/* Runs blocks of the grid until nothing happens any more, or the time is up and other work waits.
 * True: something has happened. */
static bool run_residents(struct residents *r, struct grid_worker *w, uint64_t until)
{
    uint64_t now = clock_ns(), last = now;
    bool progress = false;
    for (;;) {
        if (now >= until) {
            if (wanted(r))
                break;
            until = now + WANTED_NS;
        }
        if (r->lost || grid_faulted(r->run->env) != GRID_FAULT_NONE) {
            give_up(r, w);
            return true;
        }
        r->moved = false;
        uint32_t arrived = r->arrived;
        step(r, w, now - last, now - r->flipped > OTHERWISE_NS);
        if (r->arrived == arrived) /* it may wait for what those do who have arrived */
            flush_arrivals(r);
        now = clock_ns();
        uint32_t phase = phase_of(r->run);
        if (phase != r->seen) {
            r->seen = phase;
            r->flipped = now;
        }
        if (r->moved) {
            progress = true;
            last = now;
            r->pauses = 1;
        } else if (now - last > IDLE_NS && !begin_one(r, w)) {
            break; /* others should have begun what is left, but had no time */
        }
    }
    return progress;
}

/* What is left is parked, for any thread. */
static void park_all(struct residents *r)
{
    for (struct grid_block *b; (b = take(r->own, false)) != NULL;) {
        atomic_fetch_add_explicit(&r->run->parked, 1, memory_order_relaxed);
        parking_add(r->run->parking, b);
    }
}

void resident_hand_over(struct grid_worker *w)
{
    for (struct residents *r = w->residents; r != NULL; r = r->outer) {
        flush_arrivals(r);
        park_all(r);
    }
}

bool resident_run(struct grid_run *run, struct grid_worker *w, struct grid_block *first,
                  uint64_t until, uint64_t *ended)
{
    struct residents r = {
        .run = run, .own = kept_of(run, w->smid), .outer = w->residents, .pauses = 1};
    r.seen = phase_of(run);
    w->residents = &r;
    /* Whether the barrier has flipped since they were parked is not known. */
    for (struct grid_block *b = first, *next; b != NULL; b = next) {
        next = b->next;
        b->phase = UNKNOWN_PHASE;
        add(r.own, b);
    }
    bool progress = run_residents(&r, w, until);
    flush_arrivals(&r);
    w->residents = r.outer;
    park_all(&r);
    *ended = r.ended;
    return progress;
}
