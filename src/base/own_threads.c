/* Our threads and the program's. The system does not tell when the last thread but ours has ended:
 * from the first moment that this can be so, the list of threads is looked at. */
#include "base/own_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 20 };

WEIR_THREAD_FAST bool own_thread_here;
static atomic_uint ours; /* threads */
static pthread_once_t watch_once = PTHREAD_ONCE_INIT, fork_once = PTHREAD_ONCE_INIT;

/* The child has none of them. */
static void in_child(void) { atomic_store(&ours, own_thread_here); }
static void prepare(void) { pthread_atfork(NULL, NULL, in_child); }

void own_thread_begins(void)
{
    pthread_once(&fork_once, prepare);
    own_thread_here = true;
    atomic_fetch_add(&ours, 1);
}

void own_thread_ends(void) { atomic_fetch_sub(&ours, 1); }

/* Whether the main thread has ended; the process is still there for the others. */
static bool main_has_ended(void)
{
    char text[512];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *name_end = strrchr(text, ')'); /* the name of the program may hold anything */
    return name_end != NULL && name_end[1] == ' ' && name_end[2] == 'Z';
}

/* Threads of the process, the main one included. 0: unknown. */
static unsigned count_threads(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.';
    if (d != NULL)
        closedir(d);
    return n;
}

static void *watch(void *unused)
{
    static const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};
    (void)unused;
    own_thread_begins();
    for (;;) {
        nanosleep(&pause, NULL);
        /* Ours, this one included, and what is left of the main thread. */
        if (main_has_ended() && count_threads() == atomic_load(&ours) + 1)
            exit(0);
    }
    return NULL;
}

static void start_watch(void)
{
    sigset_t all, old;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (pthread_create(&thread, NULL, watch, NULL) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void own_threads_program_thread_ends(void)
{
    if (own_thread_here)
        return;
    if (syscall(SYS_gettid) == getpid() || main_has_ended())
        pthread_once(&watch_once, start_watch);
}
