/* await: stream waits for recordings of other processes: a thread sleeps for all of them, so that
 * none holds a worker. It sleeps on the futexes of the events and on a word of its own that rings
 * when a wait is added; where the system cannot wait for several words, it looks at short
 * intervals. Now and then it asks which of the other processes are still there. */
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/internal.h"

enum { WORDS_MAX = 128 }; /* the system's limit */

static const uint64_t REAP_NS = 50000000; /* how often to ask who is alive */
static const uint64_t NAP_NS = 200000;    /* between looks, where there are no words to sleep on */

static struct {
    atomic_bool started;
    pthread_mutex_t lock;
    struct command *added; /* linked through waiter_next, which a running command does not need */
    _Atomic uint32_t bell; /* futex */
} await = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool over(const struct command *c, bool reap)
{
    struct shared_event *e = event_shared(c->await.event);
    return shared_event_done(e, c->await.recording) ||
           (reap && shared_event_reap(e, c->await.recording)) ||
           device_context_status(c->stream->ctx) != DEVICE_OK;
}

static void complete(struct command *c)
{
    struct device_stream *s = c->stream;
    if (stream_complete(s, c) != NULL)
        sched_push(s);
}

/* What the words were before the waits were looked at. */
struct words {
    struct futex_waitv items[WORDS_MAX];
    uint32_t count;
    bool all; /* every wait has its word */
};

static void add_word(struct words *w, _Atomic uint32_t *word, uint32_t flags)
{
    w->items[w->count++] = (struct futex_waitv){
        .val = atomic_load(word), .uaddr = (uint64_t)(uintptr_t)word, .flags = FUTEX_32 | flags};
}

static void collect(struct words *w, const struct command *list)
{
    w->count = 0;
    add_word(w, &await.bell, FUTEX_PRIVATE_FLAG);
    for (; list != NULL && w->count < WORDS_MAX; list = list->waiter_next)
        add_word(w, shared_event_word(event_shared(list->await.event)), 0);
    w->all = list == NULL;
}

/* Sleeps until one of the words changes, or for a while. */
static void sleep_on(struct words *w, bool waiting)
{
    uint64_t until = clock_ns() + (w->all ? REAP_NS : NAP_NS);
    struct timespec t = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    long r = syscall(SYS_futex_waitv, w->items, w->count, 0, waiting ? &t : NULL, CLOCK_MONOTONIC);
    if (r >= 0 || errno != ENOSYS)
        return;
    if (waiting)
        usleep((useconds_t)(NAP_NS / 1000));
    else
        futex_wait(&await.bell, (uint32_t)w->items[0].val, 0);
}

static struct command *take_added(struct command *list)
{
    pthread_mutex_lock(&await.lock);
    while (await.added != NULL) {
        struct command *c = await.added;
        await.added = c->waiter_next;
        c->waiter_next = list;
        list = c;
    }
    pthread_mutex_unlock(&await.lock);
    return list;
}

static void *await_main(void *unused)
{
    (void)unused;
    struct command *list = NULL;
    struct words words;
    uint64_t reaped = 0;
    for (;;) {
        list = take_added(list);
        collect(&words, list);
        bool reap = clock_ns() - reaped >= REAP_NS, any = false;
        if (reap)
            reaped = clock_ns();
        for (struct command **at = &list, *c; (c = *at) != NULL;) {
            if (!over(c, reap)) {
                at = &c->waiter_next;
                continue;
            }
            *at = c->waiter_next;
            complete(c);
            any = true;
        }
        if (!any)
            sleep_on(&words, list != NULL);
    }
    return NULL;
}

bool await_open(void) { return thread_start_once(&await.started, await_main, "weir-await"); }

bool await_begin(struct command *c)
{
    if (over(c, false))
        return true;
    pthread_mutex_lock(&await.lock);
    c->waiter_next = await.added;
    await.added = c;
    pthread_mutex_unlock(&await.lock);
    atomic_fetch_add(&await.bell, 1);
    futex_wake(&await.bell, 1);
    return false;
}
