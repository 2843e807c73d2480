/* Module device: order: what a stream comes after by events and by the default stream's rule, what
 * a synchronization proves, and that a mark counts all that comes before it. */
#include "common.h"

static struct grid_kernel spin = KERNEL(spin_block);
static int ended;
static struct device_stream *ended_last;
static bool ended_gone;

static void note_end(struct device_stream *s, bool gone)
{
    ended++;
    ended_last = s;
    ended_gone = gone;
}

static void nothing(void *user) {}

/* Whether what `on` was marked with comes before what is enqueued in `s` from now on. */
static bool after(struct device_stream *s, struct device_stream *on, struct device_point p)
{
    return p.timestamp < device_stream_ordered(s, on);
}

static bool proven(struct device_stream *s, struct device_point p)
{
    return p.timestamp < device_stream_proven(s);
}

static struct device_stream *nonblocking(void)
{
    return device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
}

static void by_events(void)
{
    struct device_stream *a = nonblocking(), *b = nonblocking(), *c = nonblocking();
    struct device_event *e = device_event_new(ctx, DEVICE_EVENT_NO_TIMING);
    struct device_point first = device_stream_mark(a);
    CHECK(first.timestamp > 0);
    CHECK(after(a, a, first));
    CHECK(!after(b, a, first));
    CHECK(device_event_record(e, a) == DEVICE_OK);
    struct device_point second = device_stream_mark(a);
    CHECK(device_stream_wait_event(b, e) == DEVICE_OK);
    CHECK(after(b, a, first));
    CHECK(!after(b, a, second)); /* it came after the recording */
    struct device_point mine = device_stream_mark(b);
    CHECK(device_event_record(e, b) == DEVICE_OK);
    CHECK(device_stream_wait_event(c, e) == DEVICE_OK);
    CHECK(after(c, b, mine));
    CHECK(after(c, a, first)); /* through b */
    CHECK(!after(c, a, second));
    CHECK(!proven(a, first));
    CHECK(device_stream_sync(c) == DEVICE_OK);
    CHECK(proven(a, first) && proven(b, mine)); /* what c came after */
    CHECK(!proven(a, second));
    CHECK(device_stream_query(a) == DEVICE_OK);
    CHECK(!proven(a, second)); /* looking is no synchronization */
    CHECK(device_context_sync(ctx) == DEVICE_OK);
    CHECK(proven(a, second));
    device_event_free(e);
    device_stream_free(a);
    device_stream_free(b);
    device_stream_free(c);
}

/* An event that is recorded again and again: each recording says what is so then. */
static void again(void)
{
    struct device_stream *a = nonblocking(), *b = nonblocking(), *c = nonblocking();
    struct device_event *e = device_event_new(ctx, DEVICE_EVENT_NO_TIMING);
    struct device_event *f = device_event_new(ctx, DEVICE_EVENT_NO_TIMING);
    struct device_point early = device_stream_mark(a), of_b = device_stream_mark(b);
    for (int i = 0; i < 3; i++)
        CHECK(device_event_record(e, a) == DEVICE_OK);
    struct device_point late = device_stream_mark(a);
    CHECK(device_stream_wait_event(c, e) == DEVICE_OK);
    CHECK(after(c, a, early) && !after(c, a, late));
    CHECK(device_event_record(e, a) == DEVICE_OK); /* nothing but a's own clock has moved */
    CHECK(!after(c, a, late));                     /* c waited for the recording before */
    CHECK(device_stream_wait_event(c, e) == DEVICE_OK);
    CHECK(after(c, a, late) && !after(c, b, of_b));
    CHECK(device_event_record(f, b) == DEVICE_OK);
    CHECK(device_stream_wait_event(a, f) == DEVICE_OK);
    CHECK(device_event_record(e, a) == DEVICE_OK); /* a comes after b now */
    CHECK(device_stream_wait_event(c, e) == DEVICE_OK);
    CHECK(after(c, b, of_b));
    /* To another stream and back, whose recordings say nothing of the first. */
    struct device_stream *d = nonblocking();
    late = device_stream_mark(a);
    CHECK(device_event_record(e, a) == DEVICE_OK);
    CHECK(device_event_record(e, d) == DEVICE_OK);
    CHECK(device_stream_wait_event(c, e) == DEVICE_OK);
    CHECK(!after(c, a, late));
    CHECK(device_event_record(e, a) == DEVICE_OK);
    CHECK(device_event_sync(e) == DEVICE_OK);
    CHECK(proven(a, late) && proven(b, of_b) && !after(c, a, late));
    device_event_free(e);
    device_event_free(f);
    device_stream_free(a);
    device_stream_free(b);
    device_stream_free(c);
    device_stream_free(d);
}

/* The same in the legacy stream, whose moment is all blocking streams': they come and go. */
static void again_in_the_default_stream(void)
{
    struct device_stream *legacy = device_stream_legacy(ctx), *n = nonblocking();
    struct device_event *e = device_event_new(ctx, DEVICE_EVENT_NO_TIMING);
    CHECK(device_event_record(e, legacy) == DEVICE_OK);
    for (int i = 0; i < 20; i++) {
        struct device_stream *a = device_stream_new(ctx, 0, 0), *b = device_stream_new(ctx, 0, 0);
        struct device_point p = device_stream_mark(a), q = device_stream_mark(b);
        struct device_point r = device_stream_mark(legacy);
        if (i % 3 == 0)
            device_stream_free(b);
        CHECK(device_event_record(e, legacy) == DEVICE_OK);
        struct device_point later = device_stream_mark(a);
        CHECK(device_stream_wait_event(n, e) == DEVICE_OK);
        CHECK(after(n, a, p) && after(n, legacy, r) && !after(n, a, later));
        if (i % 3 != 0) {
            CHECK(after(n, b, q));
            device_stream_free(b);
        }
        CHECK(device_event_record(e, legacy) == DEVICE_OK);
        CHECK(device_event_record(e, a) == DEVICE_OK);
        CHECK(device_stream_wait_event(n, e) == DEVICE_OK);
        CHECK(after(n, a, later));
        CHECK(device_stream_sync(legacy) == DEVICE_OK);
        CHECK(proven(a, later));
        device_stream_free(a);
    }
    device_event_free(e);
    device_stream_free(n);
}

enum { THREADS = 4, ROUNDS = 400 };
static struct device_stream *own[THREADS];
static struct device_event *shared[THREADS];

/* Records, waits, marks and asks; what a stream comes after never becomes less. */
static void *mingle(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg, seed = me + 1;
    uint64_t known[THREADS] = {0};
    for (int i = 0; i < ROUNDS; i++) {
        unsigned other = (unsigned)rand_r(&seed) % THREADS;
        struct device_stream *s = rand_r(&seed) % 8 ? own[me] : device_stream_legacy(ctx);
        device_stream_mark(own[me]);
        CHECK(device_event_record(shared[rand_r(&seed) % 2 ? me : other], s) == DEVICE_OK);
        CHECK(device_stream_wait_event(own[me], shared[other]) == DEVICE_OK);
        if (i % 16 == 0)
            CHECK(device_stream_sync(own[me]) == DEVICE_OK);
        for (unsigned k = 0; k < THREADS; k++) {
            uint64_t now = device_stream_ordered(own[me], own[k]);
            CHECK(now >= known[k]);
            known[k] = now;
        }
    }
    return NULL;
}

static void threads(void)
{
    pthread_t all[THREADS];
    for (int i = 0; i < THREADS; i++) {
        own[i] = device_stream_new(ctx, i % 2 ? DEVICE_STREAM_NONBLOCKING : 0, 0);
        shared[i] = device_event_new(ctx, DEVICE_EVENT_NO_TIMING);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&all[i], NULL, mingle, (void *)(uintptr_t)i) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
    CHECK(device_context_sync(ctx) == DEVICE_OK);
    for (int i = 0; i < THREADS; i++) {
        device_event_free(shared[i]);
        device_stream_free(own[i]);
    }
}

/* Threads put work into the same streams, make these wait for each other and wait themselves: what
 * is called proven is done, and what a stream is said to come after is done when it is. */
enum { CROWD = 4, CROWD_ROUNDS = 1500, WORK_NS = 3000 };
static struct device_stream *crowd[CROWD];

static void work(void *user)
{
    uint64_t end = now_ns() + WORK_NS;
    while (now_ns() < end)
        ;
}

static void await_any(struct device_stream *s, struct device_event *e, unsigned how)
{
    if (how == 0)
        CHECK(device_context_sync(ctx) == DEVICE_OK);
    else if (how < 4)
        CHECK(device_event_sync(e) == DEVICE_OK);
    else
        CHECK(device_stream_sync(s) == DEVICE_OK);
}

static void *push(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg + 1;
    struct device_event *e = device_event_new(ctx, DEVICE_EVENT_NO_TIMING);
    bool fine = true;
    for (int i = 0; i < CROWD_ROUNDS; i++) {
        struct device_stream *s = crowd[rand_r(&seed) % CROWD], *t = crowd[rand_r(&seed) % CROWD];
        CHECK(device_call(s, work, NULL) == DEVICE_OK);
        struct device_point p = device_stream_mark(s);
        for (int look = 0; look < 20; look++)
            fine = fine && (!proven(s, p) || device_stream_completed(s) >= p.count);
        if (s != t && after(t, s, p)) {
            CHECK(device_call(t, nothing, NULL) == DEVICE_OK);
            CHECK(device_stream_sync(t) == DEVICE_OK);
            fine = fine && device_stream_completed(s) >= p.count;
        }
        CHECK(device_event_record(e, s) == DEVICE_OK);
        CHECK(device_stream_wait_event(t, e) == DEVICE_OK);
        if (rand_r(&seed) % 4 == 0)
            await_any(t, e, rand_r(&seed) % 16);
    }
    CHECK(fine);
    device_event_free(e);
    return NULL;
}

static void crowded(void)
{
    pthread_t all[CROWD];
    crowd[0] = device_stream_legacy(ctx);
    for (int i = 1; i < CROWD; i++)
        crowd[i] = device_stream_new(ctx, i % 2 ? 0 : DEVICE_STREAM_NONBLOCKING, 0);
    for (int round = 0; round < 2; round++) { /* with the default stream's rule and without */
        for (int i = 0; i < CROWD; i++)
            CHECK(pthread_create(&all[i], NULL, push, (void *)(uintptr_t)(8 * round + i)) == 0);
        for (int i = 0; i < CROWD; i++)
            pthread_join(all[i], NULL);
        CHECK(device_context_sync(ctx) == DEVICE_OK);
        for (int i = 0; i < CROWD; i++) {
            if (i > 0 || round > 0)
                device_stream_free(crowd[i]);
            crowd[i] = round == 0 ? nonblocking() : NULL;
        }
    }
}

/* One thread waits all the time, another makes the stream that is waited for come after work that
 * goes on: as long as it does, nobody has seen it pass. */
static struct {
    struct device_stream *waited; /* NULL: for all */
    _Atomic bool stop;
} waiter;

static void *keep_waiting(void *arg)
{
    while (!atomic_load(&waiter.stop))
        if (waiter.waited != NULL)
            device_stream_sync(waiter.waited);
        else
            device_context_sync(ctx);
    return arg;
}

static void waits_beside(struct device_stream *waited)
{
    enum { TIMES = 3000, LOOKS = 50 };
    struct device_stream *a = nonblocking();
    struct device_event *e = device_event_new(ctx, DEVICE_EVENT_NO_TIMING);
    pthread_t thread;
    int wrong = 0;
    waiter.waited = waited;
    atomic_store(&waiter.stop, false);
    CHECK(pthread_create(&thread, NULL, keep_waiting, NULL) == 0);
    for (int i = 0; i < TIMES; i++) {
        _Atomic int flag = 0;
        CHECK(launch(a, &spin, 1, (const void *)&flag) == DEVICE_OK);
        struct device_point p = device_stream_mark(a);
        if (waited != NULL) {
            CHECK(device_event_record(e, a) == DEVICE_OK);
            CHECK(device_stream_wait_event(waited, e) == DEVICE_OK);
        }
        for (int look = 0; look < LOOKS; look++)
            wrong += proven(a, p);
        atomic_store(&flag, 1);
        CHECK(device_stream_sync(a) == DEVICE_OK);
    }
    atomic_store(&waiter.stop, true);
    pthread_join(thread, NULL);
    CHECK_EQ_INT(wrong, 0);
    device_event_free(e);
    device_stream_free(a);
}

static void by_the_default_stream(void)
{
    struct device_stream *a = device_stream_new(ctx, 0, 0), *b = device_stream_new(ctx, 0, 0);
    struct device_stream *n = nonblocking(), *legacy = device_stream_legacy(ctx);
    struct device_point p = device_stream_mark(a), q = device_stream_mark(legacy);
    CHECK(after(legacy, a, p));
    CHECK(after(b, legacy, q));
    CHECK(!after(b, a, p)); /* nothing of the legacy stream is between */
    CHECK(!after(n, a, p) && !after(n, legacy, q));
    CHECK(device_call(legacy, nothing, NULL) == DEVICE_OK);
    CHECK(after(b, a, p));
    CHECK(!after(n, a, p));
    CHECK(device_stream_sync(b) == DEVICE_OK);
    CHECK(!proven(a, p)); /* b itself waits for nothing */
    CHECK(device_stream_sync(legacy) == DEVICE_OK);
    CHECK(proven(a, p) && proven(legacy, q));
    device_stream_free(a);
    device_stream_free(b);
    device_stream_free(n);
}

/* A free in a stream that has no command yet of its own, while the legacy stream is at work. */
static void marks_count_everything(void)
{
    _Atomic int flag = 0;
    struct device_stream *a = device_stream_new(ctx, 0, 0), *legacy = device_stream_legacy(ctx);
    CHECK(launch(legacy, &spin, 1, (const void *)&flag) == DEVICE_OK);
    struct device_point p = device_stream_mark(a);
    CHECK(device_stream_completed(a) < p.count);
    atomic_store(&flag, 1);
    CHECK(device_stream_sync(a) == DEVICE_OK);
    CHECK(device_stream_completed(a) >= p.count);
    atomic_store(&flag, 0);
    CHECK(launch(a, &spin, 1, (const void *)&flag) == DEVICE_OK);
    p = device_stream_mark(legacy);
    CHECK(device_stream_completed(legacy) < p.count);
    atomic_store(&flag, 1);
    CHECK(device_context_sync(ctx) == DEVICE_OK);
    CHECK(device_stream_completed(legacy) >= p.count);
    device_stream_free(a);
}

static void inserted_waits(void)
{
    _Atomic int flag = 0;
    struct device_stream *a = nonblocking(), *b = nonblocking();
    CHECK(launch(a, &spin, 1, (const void *)&flag) == DEVICE_OK);
    struct device_point p = device_stream_mark(a);
    device_stream_wait_count(b, a, p.count);
    CHECK(device_stream_query(b) == DEVICE_NOT_READY);
    atomic_store(&flag, 1);
    CHECK(device_stream_sync(b) == DEVICE_OK);
    CHECK(device_stream_completed(a) >= p.count);
    device_stream_free(a);
    device_stream_free(b);
}

static void ends(void)
{
    struct device_stream *a = device_stream_keep(nonblocking());
    int before = ended;
    device_stream_end(a);
    CHECK_EQ_INT(ended, before + 1);
    CHECK(ended_last == a && !ended_gone);
    device_stream_free(a);
    CHECK_EQ_INT(ended, before + 2);
    CHECK(ended_last == a && ended_gone);
    CHECK_EQ_INT(device_stream_completed(a), 0); /* still there to be asked */
    device_stream_release(a);
}

int main(void)
{
    begin();
    device_follow_order(note_end);
    by_events();
    again();
    again_in_the_default_stream();
    by_the_default_stream();
    marks_count_everything();
    inserted_waits();
    threads();
    crowded();
    waits_beside(NULL);
    waits_beside(device_stream_legacy(ctx));
    struct device_stream *waited = nonblocking();
    waits_beside(waited);
    device_stream_free(waited);
    ends();
    return end();
}
