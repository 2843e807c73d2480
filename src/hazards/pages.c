/* pages: the lines of global memory that a run has accessed, by address; and pages that no run has.
 * Making them anew for each grid would cost more than many a grid does. */
#include <stdlib.h>

#include "hazards/internal.h"

static uint32_t slot_of(const struct pages *t, uint64_t number)
{
    return (uint32_t)(number * 0x9e3779b97f4a7c15u >> 32) & (t->capacity - 1);
}

static void pages_insert(struct pages *t, struct page *p)
{
    uint32_t at = slot_of(t, p->number);
    while (t->items[at] != NULL)
        at = (at + 1) & (t->capacity - 1);
    t->items[at] = p;
    t->count++;
}

static void page_free(struct page *p)
{
    for (uint32_t n = 0; n < PAGE_LINES; n++)
        line_clear(&p->lines[n]);
    free(p);
}

/* For so many pages; those of other runs than `generation` are given back, unless that is 0. */
static void pages_resize(struct pages *t, uint32_t capacity, uint32_t generation)
{
    struct page **old = t->items;
    uint32_t count = t->capacity;
    t->capacity = capacity;
    t->count = 0;
    t->items = xcalloc(t->capacity, sizeof(struct page *));
    for (uint32_t i = 0; i < count; i++) {
        if (old[i] == NULL)
            continue;
        if (generation != 0 && old[i]->generation != generation)
            page_free(old[i]);
        else
            pages_insert(t, old[i]);
    }
    free(old);
}

/* NULL: nothing was accessed there. */
struct page *page_find(struct hazard_run *run, uint64_t number)
{
    struct page *p = NULL;
    struct pages *t = run->pages;
    pthread_mutex_lock(&run->lock);
    if (t->capacity > 0) {
        uint32_t at = slot_of(t, number);
        while ((p = t->items[at]) != NULL && p->number != number)
            at = (at + 1) & (t->capacity - 1);
    }
    pthread_mutex_unlock(&run->lock);
    return p;
}

struct page *page_search(struct hazard_block *b, uint64_t number)
{
    struct hazard_run *run = b->run;
    struct pages *t = run->pages;
    pthread_mutex_lock(&run->lock);
    if (2 * t->count >= t->capacity)
        pages_resize(t, t->capacity > 0 ? 2 * t->capacity : 64, 0);
    uint32_t at = slot_of(t, number);
    while (t->items[at] != NULL && t->items[at]->number != number)
        at = (at + 1) & (t->capacity - 1);
    struct page *p = t->items[at];
    if (p == NULL) {
        p = xcalloc(1, sizeof *p);
        p->number = number;
        t->items[at] = p;
        t->count++;
    }
    if (p->generation != (uint32_t)run->serial) {
        p->generation = (uint32_t)run->serial;
        vec_push(&t->used, p);
    }
    pthread_mutex_unlock(&run->lock);
    b->recent[recent_of(number)] = p;
    return p;
}

static struct pages *idle; /* pages that no run has */
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;

struct pages *pages_take(void)
{
    pthread_mutex_lock(&idle_lock);
    struct pages *t = idle;
    if (t != NULL)
        idle = t->next;
    pthread_mutex_unlock(&idle_lock);
    if (t == NULL)
        t = xcalloc(1, sizeof *t);
    t->used.count = 0;
    return t;
}

/* Keeps them for the next run, unless they are many more than this one has used. */
void pages_give_back(struct pages *t, uint32_t generation)
{
    enum { SPARE = 1024 };
    if (t->count > 2 * t->used.count + SPARE)
        pages_resize(t, t->capacity, generation);
    pthread_mutex_lock(&idle_lock);
    t->next = idle;
    idle = t;
    pthread_mutex_unlock(&idle_lock);
}
