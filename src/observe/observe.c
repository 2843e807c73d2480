/* observe: the list of observers, and the call that each thread is in; see observe.h. */
#include "observe/observe.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { OBSERVERS_MAX = 8 };

/* Entries are added and never removed, so that who reads them needs no lock. */
static const struct observe_hooks *_Atomic observers[OBSERVERS_MAX];
static _Atomic uint32_t observer_count;
static pthread_mutex_t observers_lock = PTHREAD_MUTEX_INITIALIZER;

/* The outermost call, and how many are inside each other. */
struct thread_call {
    struct observe_call call;
    uint32_t depth;
};
static WEIR_THREAD_FAST struct thread_call *call_of_thread;

bool observe_add(const struct observe_hooks *hooks)
{
    pthread_mutex_lock(&observers_lock);
    uint32_t n = atomic_load_explicit(&observer_count, memory_order_relaxed);
    bool fits = n < OBSERVERS_MAX;
    if (fits) {
        atomic_store_explicit(&observers[n], hooks, memory_order_relaxed);
        atomic_store_explicit(&observer_count, n + 1, memory_order_release);
        slow_path_set(SLOW_PATH_OBSERVED);
    }
    pthread_mutex_unlock(&observers_lock);
    return fits;
}

/* Calls the hook of each observer that has it. */
#define TELL(hook, ...)                                                                            \
    do {                                                                                           \
        uint32_t count = atomic_load_explicit(&observer_count, memory_order_acquire);              \
        for (uint32_t i = 0; i < count; i++) {                                                     \
            const struct observe_hooks *h =                                                        \
                atomic_load_explicit(&observers[i], memory_order_relaxed);                         \
            if (h->hook != NULL)                                                                   \
                h->hook(__VA_ARGS__);                                                              \
        }                                                                                          \
    } while (0)

void observe_stream_made(const struct observe_stream *s) { TELL(stream_made, s); }
void observe_stream_ended(uint64_t stream) { TELL(stream_ended, stream); }
void observe_named(enum observe_named what, uint64_t id, const char *name)
{
    TELL(named, what, id, name);
}
void observe_enqueued(const struct observe_work *w) { TELL(enqueued, w); }
void observe_begun(const struct observe_work *w) { TELL(begun, w); }
void observe_ended(const struct observe_id *id, enum observe_kind kind) { TELL(ended, id, kind); }
void observe_part_begun(const struct observe_id *id, enum observe_kind kind, const char *name)
{
    TELL(part_begun, id, kind, name);
}
void observe_part_ended(const struct observe_id *id) { TELL(part_ended, id); }
void observe_code_made(const struct observe_code *c) { TELL(code_made, c); }
void observe_accessed(const struct observe_accesses *a) { TELL(accessed, a); }
void observe_raced(const struct observe_race *r) { TELL(raced, r); }
void observe_found(const struct observe_found *f) { TELL(found, f); }
void observe_graph_node(const struct observe_node *n) { TELL(graph_node, n); }
void observe_graph_ended(uint64_t graph) { TELL(graph_ended, graph); }

void observe_memory_made(struct observe_memory *m)
{
    m->call = observe_call_now();
    TELL(memory_made, m);
}

void observe_memory_freed(struct observe_memory *m)
{
    m->call = observe_call_now();
    TELL(memory_freed, m);
}

void observe_memory_named(uint64_t address, const char *name) { TELL(memory_named, address, name); }

void observe_host_saw(struct observe_seen *s)
{
    s->call = observe_call_now();
    TELL(host_saw, s);
}

void observe_context_cleared(uint64_t context) { TELL(context_cleared, context); }
void observe_pool_size(uint64_t pool, uint64_t reserved) { TELL(pool_size, pool, reserved); }
void observe_range(const struct observe_range *r) { TELL(range, r); }
void observe_object_made(enum observe_object kind, const void *handle)
{
    TELL(object_made, kind, handle);
}
void observe_object_ended(const void *handle) { TELL(object_ended, handle); }
void observe_error_seen(int code) { TELL(error_seen, code); }
void observe_tolerated(const char *what) { TELL(tolerated, what); }
void observe_host_accesses(const struct observe_host_access *a) { TELL(host_accesses, a); }

/* ---- calls ---- */

static pthread_key_t call_key;
static pthread_once_t call_once = PTHREAD_ONCE_INIT;

static void call_free(void *call)
{
    call_of_thread = NULL;
    free(call);
}

static void make_call_key(void) { pthread_key_create(&call_key, call_free); }

/* Only a pointer is thread-local storage: of that a library that is opened late has little. */
static struct thread_call *call_record(void)
{
    if (call_of_thread == NULL) {
        pthread_once(&call_once, make_call_key);
        call_of_thread = xcalloc(1, sizeof *call_of_thread);
        pthread_setspecific(call_key, call_of_thread);
    }
    return call_of_thread;
}

void observe_call_begins(const char *name, const void *site)
{
    struct thread_call *t = call_record();
    if (t->depth++ > 0)
        return;
    t->call = (struct observe_call){.name = name, .site = site, .begun = clock_ns()};
    if (name != NULL)
        TELL(call_begun, &t->call);
}

void observe_call_ends(int error)
{
    struct thread_call *t = call_record();
    if (t->depth == 0 || --t->depth > 0)
        return;
    t->call.error = error;
    if (t->call.name != NULL)
        TELL(call_ended, &t->call);
}

struct observe_call observe_call_now(void)
{
    return call_of_thread != NULL && call_of_thread->depth > 0 ? call_of_thread->call
                                                               : (struct observe_call){0};
}

bool observe_is_runtime(const char *call)
{
    return strncmp(call + strspn(call, "_"), "cuda", 4) == 0;
}

bool observe_in_runtime(void)
{
    return call_of_thread != NULL && call_of_thread->depth > 0 &&
           call_of_thread->call.name != NULL && observe_is_runtime(call_of_thread->call.name);
}

uint64_t observe_serial(void)
{
    static _Atomic uint64_t last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}
