/* touch_end: what the sets of touch.c hold, when a grid has ended: its ranges of bytes and its
 * instructions, part by part. */
#include <stdlib.h>

#include "exec/touch_sets.h"

void touch_slots_end(struct touch_set *s)
{
    for (uint32_t n = 0; n < JIT_TOUCH_SLOTS; n++) {
        const struct jit_touched_slot *from = &s->slots[n];
        if (from->high == 0 || s->slot_sites[n] >= SITES)
            continue;
        struct touch_site *t = &s->sites[s->slot_sites[n]];
        t->low = t->low < from->low ? t->low : from->low;
        t->high = t->high > from->high ? t->high : from->high;
    }
}

/* What both have words for is told by one, so that blocks of both that alternate are one range. */
void touch_words_move(struct touch_set *to, struct touch_set *from)
{
    if (to->regions == NULL)
        return;
    for (size_t i = 0; i < from->listed.count; i++) {
        uint32_t region = from->listed.items[i];
        touch_region_list(to, region);
        for (uint32_t k = 0; k < JIT_TOUCH_KINDS; k++) {
            uint64_t *x = region_words(to, region, k), *y = region_words(from, region, k);
            for (uint32_t w = 0; w < REGION_WORDS; w++)
                if (y[w] != 0) {
                    x[w] |= y[w];
                    y[w] = 0;
                }
        }
    }
}

static void leave_out_words(struct touch_set *s, const struct touch_page *freed)
{
    uint64_t at = (freed->number << PAGE_SHIFT) - touch_reach.base;
    if (s->regions == NULL || at / REGION >= touch_reach.regions)
        return;
    for (uint32_t k = 0; k < JIT_TOUCH_KINDS; k++) {
        uint64_t *words =
            (uint64_t *)(void *)s->told[0].bits[k] + (at >> JIT_TOUCH_WORD_SHIFT) / 64;
        for (uint32_t byte = 0; byte < 1 << PAGE_SHIFT; byte += 4) { /* memory is given in words */
            uint32_t word = byte >> JIT_TOUCH_WORD_SHIFT;
            if ((freed->bits[TOUCH_WRITE][byte / 64] >> byte % 64 & 1) != 0 &&
                (words[word / 64] >> word % 64 & 1) != 0)
                words[word / 64] &= ~((uint64_t)1 << word % 64);
        }
    }
}

static void leave_out(struct touch_set *s, const struct touch_set *freed)
{
    for (uint32_t i = 0; i < freed->capacity; i++)
        if (freed->pages[i] != NULL)
            leave_out_words(s, freed->pages[i]);
    for (uint32_t i = 0; i < freed->capacity; i++) {
        const struct touch_page *f = freed->pages[i];
        for (int how = 0; f != NULL && how < TOUCH_KINDS; how++)
            for (int w = 0; w < PAGE_WORDS; w++)
                touch_page_of(s, f->number)->bits[how][w] &= ~f->bits[TOUCH_WRITE][w];
    }
}

static void freed_forget(struct touch_freed *f)
{
    for (uint32_t i = 0; f != NULL && i < f->set.capacity; i++)
        free(f->set.pages[i]);
    if (f == NULL)
        return;
    free(f->set.pages);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

/* Tells of the ranges of bits that are set, each of them `unit` bytes, the first at `base`. */
static void bit_ranges(const uint64_t *words, uint64_t count, uint64_t base, uint64_t unit,
                       enum touch how,
                       void (*range)(void *self, enum touch how, uint64_t low, uint64_t high),
                       void *self)
{
    uint64_t at = 0, end = count * 64;
    while (at < end) {
        uint64_t rest = words[at / 64] >> at % 64;
        if (rest == 0) {
            at = (at / 64 + 1) * 64;
            continue;
        }
        at += (uint64_t)__builtin_ctzll(rest);
        uint64_t from = at;
        while (at < end) {
            uint64_t gap = ~words[at / 64] >> at % 64;
            if (gap != 0) {
                at += (uint64_t)__builtin_ctzll(gap);
                break;
            }
            at = (at / 64 + 1) * 64;
        }
        range(self, how, base + from * unit, base + at * unit);
    }
}

static int by_region(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = (*(struct touch_page *const *)a)->number;
    uint64_t y = (*(struct touch_page *const *)b)->number;
    return (x > y) - (x < y);
}

static void set_tell(struct touch_set *s,
                     void (*range)(void *self, enum touch how, uint64_t low, uint64_t high),
                     void *self)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->capacity; i++)
        if (s->pages[i] != NULL)
            s->pages[count++] = s->pages[i];
    if (count > 0)
        qsort(s->pages, count, sizeof(struct touch_page *), by_number);
    for (int how = 0; how < TOUCH_KINDS; how++)
        for (uint32_t i = 0; i < count; i++)
            bit_ranges(s->pages[i]->bits[how], PAGE_WORDS, s->pages[i]->number << PAGE_SHIFT, 1,
                       (enum touch)how, range, self);
    for (uint32_t i = count; i < s->capacity && count > 0; i++)
        s->pages[i] = NULL; /* the others stand in order now, and not by hash */
    if (s->listed.count > 1)
        qsort(s->listed.items, s->listed.count, sizeof *s->listed.items, by_region);
    for (int how = 0; how < TOUCH_KINDS; how++)
        for (size_t i = 0; i < s->listed.count; i++)
            bit_ranges(region_words(s, s->listed.items[i], (uint32_t)how), REGION_WORDS,
                       touch_reach.base + s->listed.items[i] * REGION,
                       (uint64_t)1 << JIT_TOUCH_WORD_SHIFT, (enum touch)how, range, self);
}

void grid_touched(struct grid_run *run, uint32_t part,
                  void (*range)(void *self, enum touch how, uint64_t low, uint64_t high),
                  void (*site)(void *self, const struct touch_site *site), void *self)
{
    struct touch_set *s = atomic_exchange(&run->touched, NULL), *others = NULL;
    struct touch_freed *freed = atomic_load(&run->freed);
    for (struct touch_set *next; s != NULL; s = next) {
        next = s->next;
        if (s->part != part) {
            s->next = others;
            others = s;
            continue;
        }
        touch_slots_end(s);
        for (uint32_t n = 0; n < s->used_count; n++)
            site(self, &s->sites[s->used[n]]);
        if (next != NULL && next->part == part)
            touch_words_move(next, s);
        if (freed != NULL)
            leave_out(s, &freed->set);
        set_tell(s, range, self);
        touch_set_give_back(s);
    }
    atomic_store(&run->touched, others);
    if (others == NULL)
        freed_forget(atomic_exchange(&run->freed, NULL));
}
