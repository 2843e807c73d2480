/* host: host functions: called in stream order on a thread of their own, so that one that blocks
 * holds no worker. One thread for all: they run one after the other. A function that ends the
 * thread has ended, no more: another thread goes on. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own_threads.h"
#include "base/thread_fast.h"
#include "device/internal.h"

static struct {
    atomic_bool started;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct command *head,
        *tail; /* linked through waiter_next, which a running command does not need */
    _Atomic uint32_t pending; /* submitted and not over */
    _Atomic long thread;      /* its id, 0: it has not begun */
} host = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

WEIR_THREAD_FAST bool device_inside_host_function;

static struct command *take(void)
{
    pthread_mutex_lock(&host.lock);
    while (host.head == NULL)
        pthread_cond_wait(&host.more, &host.lock);
    struct command *c = host.head;
    host.head = c->waiter_next;
    pthread_mutex_unlock(&host.lock);
    return c;
}

/* One host function that runs. */
struct host_call {
    struct command *command;
    struct observed_part part;
};

static void call_begin(struct host_call *h, struct command *c)
{
    *h = (struct host_call){.command = c};
    if (observed()) {
        if (c->kind != COMMAND_GRAPH)
            observed_begin(c);
        h->part = observed_run_part_begin(c);
    }
    device_inside_host_function = true;
    slow_path_set(SLOW_PATH_HOST_FUNCTION);
}

static void call_end(struct host_call *h)
{
    struct device_stream *s = h->command->stream;
    slow_path_clear(SLOW_PATH_HOST_FUNCTION);
    device_inside_host_function = false;
    if (h->part.told)
        observed_part_end(&h->part);
    if (command_end(h->command))
        sched_push(s);
    atomic_fetch_sub(&host.pending, 1);
}

static void *host_main(void *unused);
static void host_serve(void);

/* The function has ended its thread (pthread_exit): it is over, and what comes after it is another
 * thread's; this one's where there is none to be had. */
static void call_left(void *call)
{
    call_end(call);
    if (thread_start(host_main, NULL, "weir-host"))
        own_thread_ends();
    else
        host_serve();
}

static void host_serve(void)
{
    for (;;) {
        struct command *c = take();
        struct host_call call;
        grid_flush(c->stream->ctx->env);
        call_begin(&call, c);
        pthread_cleanup_push(call_left, &call);
        if (c->kind == COMMAND_GRAPH)
            graph_call_host(c);
        else
            c->host.fn(c->host.user, device_context_status(c->stream->ctx));
        pthread_cleanup_pop(0);
        call_end(&call);
    }
}

static void *host_main(void *unused)
{
    (void)unused;
    atomic_store(&host.thread, syscall(SYS_gettid));
    host_serve();
    return NULL;
}

bool host_open(void) { return thread_start_once(&host.started, host_main, "weir-host"); }

void host_submit(struct command *c)
{
    c->waiter_next = NULL;
    atomic_fetch_add(&host.pending, 1);
    pthread_mutex_lock(&host.lock);
    if (host.head == NULL)
        host.head = c;
    else
        host.tail->waiter_next = c;
    host.tail = c;
    pthread_cond_signal(&host.more);
    pthread_mutex_unlock(&host.lock);
}

bool host_pending(void) { return atomic_load(&host.pending) > 0; }
long host_thread(void) { return atomic_load(&host.thread); }
