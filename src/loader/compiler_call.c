/* Calls of the compiler's library, each on a stack of its own: see plugin_call in
 * compiler_library.h.
 *
 * When memory runs out inside LLVM, the call is abandoned there (compiler/out_of_memory.c). LLVM's
 * lists lead into that stack from then on, so its thread stays, and sleeps for ever. A lock that
 * LLVM held at that moment stays locked, and so does a variable that was being initialised. LLVM
 * takes few, so later calls mostly succeed. One that comes to such a lock would wait for ever: it
 * is found by its thread, which sleeps and uses no CPU time. Then no more calls are made. */
#include "loader/compiler_library.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/own_threads.h"

enum {
    STACK_BYTES = 64 << 20, /* LLVM recurses deeply on large kernels; only touched pages cost */
    LOOK_MS = 100,
};

unsigned plugin_patience_ms = 10000;

static _Thread_local bool stack_is_large;
static atomic_bool any_abandoned; /* any call, ever */
static atomic_bool lost;

void plugin_stack_is_large(void) { stack_is_large = true; }
bool plugin_abandoned_once(void) { return atomic_load(&any_abandoned); }

bool plugin_usable(struct diag *d)
{
    if (!atomic_load(&lost))
        return true;
    if (d != NULL && d->text[0] == '\0')
        d->out_of_memory = true;
    return diag_set(d, 0, 0,
                    "the kernel compiler cannot be used any more in this process: it ran out of "
                    "memory earlier");
}

struct stack_call {
    void (*call)(void *arg);
    void *arg;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pid_t id; /* the thread's; 0: it does not run yet */
    bool over, abandoned;
};

static void note_abandoned(void)
{
    if (plugin_abandoned())
        atomic_store(&any_abandoned, true);
}

static void *stack_thread(void *arg)
{
    struct stack_call *c = arg;
    pthread_mutex_lock(&c->mutex);
    c->id = (pid_t)syscall(SYS_gettid);
    pthread_mutex_unlock(&c->mutex);
    c->call(c->arg);
    note_abandoned();
    bool stays = plugin_abandoned();
    if (stays)
        own_thread_begins();
    pthread_mutex_lock(&c->mutex);
    c->abandoned = stays;
    c->over = true;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->mutex);
    while (stays)
        pause();
    return NULL;
}

/* Whether the thread sleeps, and the CPU time that it has used. */
static bool sleeps(pid_t id, unsigned long *used)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)id);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *name_end = strrchr(text, ')'); /* the name may hold anything */
    char state = 0;
    unsigned long user = 0, system = 0;
    if (name_end == NULL || sscanf(name_end, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                                   &state, &user, &system) != 3)
        return false;
    *used = user + system;
    return state == 'S';
}

/* Waits for the call to end. False: it waits for a lock that nobody gives back any more. */
static bool wait_for(struct stack_call *c)
{
    unsigned long used = 0, before = 0;
    unsigned idle_ms = 0;
    pthread_mutex_lock(&c->mutex);
    while (!c->over && idle_ms < plugin_patience_ms) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += LOOK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&c->changed, &c->mutex, &until) != ETIMEDOUT)
            continue;
        bool idle =
            atomic_load(&any_abandoned) && c->id != 0 && sleeps(c->id, &used) && used == before;
        idle_ms = idle ? idle_ms + LOOK_MS : 0;
        before = used;
    }
    bool over = c->over;
    pthread_mutex_unlock(&c->mutex);
    return over;
}

static bool start(struct stack_call *c, pthread_t *thread)
{
    pthread_condattr_t clock;
    pthread_attr_t attr;
    sigset_t all, before;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&c->changed, &clock);
    pthread_condattr_destroy(&clock);
    pthread_mutex_init(&c->mutex, NULL);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread inherits it */
    int failed = pthread_create(thread, &attr, stack_thread, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return failed == 0;
}

void plugin_call(void (*call)(void *arg), void *arg)
{
    struct stack_call c = {.call = call, .arg = arg};
    pthread_t thread;
    /* Where no thread is to be had, the stack at hand must do. */
    if (stack_is_large || !start(&c, &thread)) {
        call(arg);
        note_abandoned();
        if (!stack_is_large && plugin_abandoned())
            atomic_store(&lost, true); /* this stack is used again */
        return;
    }
    bool over = wait_for(&c);
    if (!over)
        atomic_store(&lost, true);
    if (over && !c.abandoned)
        pthread_join(thread, NULL);
    else
        pthread_detach(thread);
}
