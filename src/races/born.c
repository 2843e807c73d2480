/* born: threads that host functions start come after them. How threads of the host order each other
 * is not seen otherwise; a callback that starts a thread, which goes on with the results, is a
 * common way to go on.
 *
 * Which threads there are is read when a function begins and when it ends: one that is new was
 * started meanwhile, and is taken for the function's. */
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/thread_fast.h"
#include "races/internal.h"

enum { KEPT = 64 }; /* functions */

struct tasks {
    int *items;
    size_t count, cap;
};

/* The latest functions, in a ring. */
static struct function {
    struct moment *moment; /* NULL: none */
    struct tasks before, after;
    bool ended;
} functions[KEPT];
static uint32_t begun;

static void read_tasks(struct tasks *t)
{
    DIR *d = opendir("/proc/self/task");
    t->count = 0;
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.')
            vec_push(t, atoi(e->d_name));
    if (d != NULL)
        closedir(d);
}

static bool has(const struct tasks *t, int task)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->items[i] == task)
            return true;
    return false;
}

void born_function_begins(struct moment *m)
{
    struct function *f = &functions[begun++ % KEPT];
    moment_unref(f->moment);
    f->moment = moment_ref(m);
    f->ended = false;
    read_tasks(&f->before);
}

void born_function_ends(void)
{
    struct function *f = &functions[(begun - 1) % KEPT];
    read_tasks(&f->after);
    f->ended = true;
}

void races_host_thread(void)
{
    static WEIR_THREAD_FAST bool looked; /* a thread is born once */
    if (looked)
        return;
    looked = true;
    int self = gettid();
    for (uint32_t i = 0; i < KEPT; i++) {
        const struct function *f = &functions[i];
        if (f->moment != NULL && f->before.count > 0 && !has(&f->before, self) &&
            (!f->ended || has(&f->after, self)))
            order_host_follows(f->moment);
    }
}
