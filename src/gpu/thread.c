/* thread: what a thread found last, and its default streams, which end with it. */
#include <stdlib.h>

#include "base/thread_fast.h"
#include "gpu/internal.h"

static WEIR_THREAD_FAST struct gpu_thread *gpu_thread_own;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_key;

/* The driver ends its default streams: what was freed on them stays, with the marks that were left
 * there. */
static void at_thread_end(void *state)
{
    struct gpu_thread *t = state;
    for (struct stream *s = t->own, *next; s != NULL; s = next) {
        next = s->next_own;
        stream_end(s);
    }
    gpu_thread_own = NULL;
    free(t);
}

static void prepare(void) { has_key = pthread_key_create(&key, at_thread_end) == 0; }

/* Threads that go on must not call a destructor that is no longer there. */
static __attribute__((destructor)) void at_close(void)
{
    if (has_key)
        pthread_key_delete(key);
    has_key = false;
}

static __attribute__((noinline)) struct gpu_thread *thread_new(void)
{
    struct gpu_thread *t = xcalloc(1, sizeof *t);
    pthread_once(&once, prepare);
    if (has_key)
        pthread_setspecific(key, t);
    gpu_thread_own = t;
    return t;
}

struct gpu_thread *gpu_thread(void)
{
    return WEIR_LIKELY(gpu_thread_own != NULL) ? gpu_thread_own : thread_new();
}
