/* released: memory of the program's own that it gives back (free, realloc, munmap) while work still
 * reads or writes it: copies of graphs and what goes through registered memory.
 *
 * tools/sync tells of it before it is done. What is under way there races with the call; then the
 * bytes are other memory. A graph that is launched may not have come to its copy: for that the call
 * counts as a write, which is before what is launched from then on. */
#include <stdatomic.h>
#include <time.h>

#include "races/internal.h"

bool races_watching;

void released_matters(void) { __atomic_store_n(&races_watching, true, __ATOMIC_RELAXED); }

void released(struct moment *m, uint64_t low, uint64_t high)
{
    shadow_look(m, ACCESS_FREE, low, high, held_race);
    shadow_forget(low, high);
    if (m->kind == MOMENT_HOST && order_graph_reaches(low, high))
        shadow_access(m, ACCESS_WRITE, low, high, held_race);
    races_host_gone(low, high);
}

/* Where the program has called it, of which a library may be between. */
static const void *called_at(const void *caller)
{
    const void *pc = races_names.program_pc(caller);
    return pc == caller ? (const char *)caller - 1 : pc;
}

static void look(uint64_t low, uint64_t high, const char *call, const void *caller, bool own)
{
    struct moment *function = races_host_function();
    if (function != NULL) {
        /* one that is `free` itself, or ends with it, has no frame of its own at the call */
        function->pc = own ? function->function : called_at(caller);
        released(function, low, high);
        return;
    }
    struct moment *m = order_host(called_at(caller));
    m->ends = call;
    released(m, low, high);
    moment_unref(m);
}

/* The caller may hold locks that whoever writes a report waits for, such as the loader's: this is
 * no call of CUDA. It gives up then, and the call is not looked at. */
static bool enter_in_time(void)
{
    enum { LONGEST_NS = 200000000 };
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LONGEST_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    races_inside = true;
    if (pthread_mutex_trylock(&races_lock) == 0 ||
        pthread_mutex_clocklock(&races_lock, CLOCK_MONOTONIC, &until) == 0)
        return true;
    races_inside = false;
    return false;
}

void races_host_releases(const void *at, uint64_t bytes, const char *call, const void *caller,
                         bool own)
{
    uint64_t low = (uint64_t)(uintptr_t)at, high = low + bytes;
    if (races_inside || (own && !sync_in_function()) || !enter_in_time())
        return;
    if (races_host_is_under_way(low, high) || order_graph_reaches(low, high))
        look(low, high, call, caller, own);
    else if (races_host_idle() && order_pending() == 0)
        __atomic_store_n(&races_watching, false, __ATOMIC_RELAXED);
    races_leave();
}
