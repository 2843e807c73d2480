/* cdp_child: the records of launches by device code: free lists by size, and which of a
 * warp's launches share one. Workers that launch more than they run get theirs from workers that
 * run more than they launch, in lots. */
#include <stdlib.h>

#include "exec/internal.h"
#include "exec/threads.h"

enum {
    LOTS_KEPT = 8, /* lots of free children that a worker keeps, */
    LOTS_MAX = 64, /* and those that wait for any worker */
    LOT_LARGEST = 128
};

/* Of a size: bytes of parameters, and free children that change hands at once. */
static const struct {
    uint32_t bytes, lot;
} sizes[CDP_CHILD_SIZES] = {{CDP_CHILD_PARAMS, LOT_LARGEST}, {CDP_CHILD_WIDE, 16}};

/* Lots that wait. */
static struct {
    pthread_mutex_t lock;
    struct cdp_child *lots[LOTS_MAX]; /* linked */
    uint32_t count;
} spare[CDP_CHILD_SIZES] = {{.lock = PTHREAD_MUTEX_INITIALIZER},
                            {.lock = PTHREAD_MUTEX_INITIALIZER}};

static void free_list(struct cdp_child *c)
{
    for (struct cdp_child *next; c != NULL; c = next) {
        next = c->next;
        free(c);
    }
}

/* The worker has none of the size left. */
static void take_spare(struct grid_worker *w, int size)
{
    pthread_mutex_lock(&spare[size].lock);
    if (spare[size].count > 0) {
        w->cdp_children[size].free = spare[size].lots[--spare[size].count];
        w->cdp_children[size].count = sizes[size].lot;
    }
    pthread_mutex_unlock(&spare[size].lock);
}

/* Half of the worker's free children of the size go. */
static void give_spare(struct grid_worker *w, int size)
{
    struct cdp_free_list *list = &w->cdp_children[size];
    uint32_t lot = sizes[size].lot;
    while (list->count > lot * LOTS_KEPT / 2) {
        struct cdp_child *first = list->free, *last = first;
        for (uint32_t n = 1; n < lot; n++)
            last = last->next;
        list->free = last->next;
        list->count -= lot;
        last->next = NULL;
        pthread_mutex_lock(&spare[size].lock);
        bool kept = spare[size].count < LOTS_MAX;
        if (kept)
            spare[size].lots[spare[size].count++] = first;
        pthread_mutex_unlock(&spare[size].lock);
        if (!kept)
            free_list(first);
    }
}

/* A free record with space for so much. NULL: no memory. */
static struct cdp_child *take(struct grid_worker *w, uint32_t bytes)
{
    int size = 0;
    while (size < CDP_CHILD_SIZES && sizes[size].bytes < bytes)
        size++;
    if (size < CDP_CHILD_SIZES) {
        struct cdp_free_list *list = &w->cdp_children[size];
        if (list->free == NULL)
            take_spare(w, size);
        struct cdp_child *c = list->free;
        if (c != NULL) {
            list->free = c->next;
            list->count--;
            return c;
        }
    }
    uint32_t capacity = size < CDP_CHILD_SIZES ? sizes[size].bytes : (bytes + 63) / 64 * 64;
    struct cdp_child *c = capacity <= UINT16_MAX ? aligned_alloc(64, sizeof *c + capacity) : NULL;
    if (c != NULL)
        c->capacity = (uint16_t)capacity;
    return c;
}

struct cdp_child *cdp_child_new(struct grid_worker *w, struct grid_block *b, uint32_t thread,
                                uint32_t bytes)
{
    struct cdp_child *c = take(w, bytes);
    if (c == NULL)
        return NULL;
    c->next = NULL;
    c->before = NULL;
    c->told = NULL;
    c->parent = b->run;
    c->cdp = b->cdp;
    memcpy(c->block, b->jit.ctaid, sizeof c->block);
    c->thread = (uint16_t)thread;
    c->lanes = 0;
    c->work = CDP_WORK_GRID;
    c->tag = CDP_CHILD_TAG;
    return c;
}

void cdp_child_free(struct grid_worker *w, struct cdp_child *c)
{
    mem_forbid(c->params);
    threads_launch_over(c);
    c->tag = 0;
    for (int size = 0; size < CDP_CHILD_SIZES; size++) {
        if (c->capacity != sizes[size].bytes)
            continue;
        struct cdp_free_list *list = &w->cdp_children[size];
        c->next = list->free;
        list->free = c;
        if (++list->count == sizes[size].lot * LOTS_KEPT)
            give_spare(w, size);
        return;
    }
    free(c);
}

void cdp_child_free_records(struct grid_worker *w)
{
    for (int size = 0; size < CDP_CHILD_SIZES; size++)
        free_list(w->cdp_children[size].free);
}

void cdp_child_share(struct cdp_child *c, uint32_t lanes)
{
    c->lanes = lanes;
    atomic_store_explicit(&c->left, (uint8_t)(cdp_child_count(c) + 1), memory_order_relaxed);
}

uint32_t cdp_child_thread(const struct cdp_child *c, uint32_t index)
{
    uint32_t lanes = c->lanes;
    if (lanes == 0)
        return c->thread;
    for (; index > 0; index--)
        lanes &= lanes - 1;
    return c->thread + (uint32_t)__builtin_ctz(lanes);
}
