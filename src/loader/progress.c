/* progress: a thread for the time of a compilation that says what takes so long. Most
 * compilations are over before it has anything to say, and where no terminal watches there is no
 * thread. */
#include "loader/progress.h"

#include "loader/cache.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

unsigned watch_patience_ms = 1000;

static void *watch_main(void *arg)
{
    struct watch *w = arg;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += watch_patience_ms / 1000;
    until.tv_nsec += (long)(watch_patience_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&w->lock);
    int result = 0;
    while (!w->over && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&w->ended, &w->lock, &until);
    bool over = w->over;
    pthread_mutex_unlock(&w->lock);
    if (!over)
        notice_say("compiling kernel %s for the first time ...", w->kernel);
    return NULL;
}

void watch_begin(struct watch *w, const char *kernel)
{
    *w = (struct watch){.kernel = kernel};
    if (!isatty(STDERR_FILENO))
        return;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->ended, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&w->lock, NULL);
    sigset_t all, old; /* the program's signals are for the program's threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    w->watched = pthread_create(&w->thread, NULL, watch_main, w) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
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
