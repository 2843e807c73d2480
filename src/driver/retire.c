/* retire: what is destroyed often is freed some at a time; see retire.h. */
#include "driver/retire.h"

#include <pthread.h>
#include <stddef.h>

#include "device/hold.h"

enum { TOGETHER = 32 };

static struct {
    pthread_mutex_t lock;
    struct retired *first;
    unsigned count, sweep_at;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .sweep_at = TOGETHER};

void retire_sweep(void)
{
    pthread_mutex_lock(&all.lock);
    struct retired *taken = all.first;
    unsigned count = all.count;
    all.first = NULL;
    all.count = 0;
    pthread_mutex_unlock(&all.lock);
    if (taken == NULL)
        return;
    bool over = hold_drained();
    if (over)
        for (struct retired *r = taken, *next; r != NULL; r = next) {
            next = r->next;
            r->free(r);
        }
    pthread_mutex_lock(&all.lock);
    if (!over) {
        struct retired **end = &taken;
        while (*end != NULL)
            end = &(*end)->next;
        *end = all.first;
        all.first = taken;
        all.count += count;
    }
    all.sweep_at = all.count + TOGETHER;
    pthread_mutex_unlock(&all.lock);
}

void retire(struct retired *r)
{
    pthread_mutex_lock(&all.lock);
    r->next = all.first;
    all.first = r;
    bool sweep = ++all.count >= all.sweep_at;
    pthread_mutex_unlock(&all.lock);
    if (sweep)
        retire_sweep();
}
