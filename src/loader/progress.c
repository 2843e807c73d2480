/* progress: a thread for the time of a compilation that says what takes so long. Most
 * compilations are over before it has anything to say. */
#include "loader/progress.h"

#include "abi/compile.h"
#include "base/clock.h"
#include "loader/cache.h"
#include "ptx/reach.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

unsigned watch_patience_ms = 1000, watch_log_ms = 5000;

enum { LONGEST_SILENCE_MS = 60000, STACK_BYTES = 2 << 20 };

/* Waits until so many milliseconds have passed since `start` (clock_ns); true when the compilation
 * is over. */
static bool over_at(struct watch *w, uint64_t start, unsigned ms)
{
    const uint64_t end = start + (uint64_t)ms * 1000000;
    struct timespec until = {(time_t)(end / 1000000000), (long)(end % 1000000000)};
    pthread_mutex_lock(&w->lock);
    int result = 0;
    while (!w->over && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&w->ended, &w->lock, &until);
    bool over = w->over;
    pthread_mutex_unlock(&w->lock);
    return over;
}

static const char *tier_name(uint32_t tier)
{
    return tier == JIT_TIER_OPTIMIZING ? "optimizing tier"
           : tier == JIT_TIER_BASELINE ? "baseline tier"
                                       : "baseline tier if it is large";
}

long long watch_size(const struct ptx_func *entry)
{
    return (long long)ptx_reached_instructions(entry);
}

static void *watch_main(void *arg)
{
    struct watch *w = arg;
    const uint64_t start = clock_ns();
    if (isatty(STDERR_FILENO)) {
        if (over_at(w, start, watch_patience_ms))
            return NULL;
        notice_say("compiling kernel %s for the first time ...", notice_name(w->entry->name));
    }
    unsigned ms = watch_log_ms;
    while (!over_at(w, start, ms)) {
        notice_say("compiling kernel %s (%lld instructions, %s) since %.0f s",
                   notice_name(w->entry->name), watch_size(w->entry), tier_name(w->tier),
                   ms / 1000.0);
        ms += ms < LONGEST_SILENCE_MS ? ms : LONGEST_SILENCE_MS;
    }
    return NULL;
}

void watch_begin(struct watch *w, const struct ptx_func *entry, uint32_t tier)
{
    *w = (struct watch){.entry = entry, .tier = tier};
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->ended, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&w->lock, NULL);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    sigset_t all, old; /* the program's signals are for the program's threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    w->watched = pthread_create(&w->thread, &small, watch_main, w) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&small);
}

void watch_end(struct watch *w)
{
    if (!w->watched)
        return;
    pthread_mutex_lock(&w->lock);
    w->over = true;
    pthread_cond_signal(&w->ended);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->ended);
    pthread_mutex_destroy(&w->lock);
}
