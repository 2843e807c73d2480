/* host: host functions: called in stream order on a thread of their own, so that one that blocks
 * holds no worker. One thread for all: they run one after the other. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

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

static void *host_main(void *unused)
{
    (void)unused;
    atomic_store(&host.thread, syscall(SYS_gettid));
    for (;;) {
        struct command *c = take();
        struct device_stream *s = c->stream;
        grid_flush(s->ctx->env);
        bool graph = c->kind == COMMAND_GRAPH;
        struct observed_part part = {.told = false};
        if (observed()) {
            if (!graph)
                observed_begin(c);
            part = observed_run_part_begin(c);
        }
        device_inside_host_function = true;
        slow_path_set(SLOW_PATH_HOST_FUNCTION);
        if (graph)
            graph_call_host(c);
        else
            c->host.fn(c->host.user, device_context_status(s->ctx));
        slow_path_clear(SLOW_PATH_HOST_FUNCTION);
        device_inside_host_function = false;
        if (part.told)
            observed_part_end(&part);
        if (command_end(c))
            sched_push(s);
        atomic_fetch_sub(&host.pending, 1);
    }
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
