/* touch: bytes that a grid touches, as sets of bits; see touch.h.
 *
 * Each thread that runs blocks of a grid has a set of its own, so that nothing is locked: a hash
 * table of pages, with a bit for each byte and each kind of access. Bits make reading and writing
 * the same bytes again and again cheap, and neighbours one range at the end. */
#include "exec/touch.h"

#include <pthread.h>
#include <stdlib.h>

#include "exec/internal.h"
#include "exec/lanes.h"

enum {
    PAGE_SHIFT = 12,
    PAGE_WORDS = 1 << (PAGE_SHIFT - 6),
    SITES = 1024, /* instructions that are distinguished; power of two */
    RECENT = 256  /* pages found without a search; power of two */
};

struct touch_page {
    uint64_t number; /* address >> PAGE_SHIFT */
    uint64_t bits[TOUCH_KINDS][PAGE_WORDS];
};

struct touch_set {
    struct touch_set *next; /* of the same run */
    const struct grid_worker *owner;
    struct touch_page **pages; /* by hash, NULL: free */
    uint32_t count, capacity;  /* a power of two */
    struct touch_page *recent[RECENT];
    struct touch_site sites[SITES]; /* by hash of pc; pc NULL: free */
};

static uint64_t hash_of(uint64_t n) { return (n * 0x9e3779b97f4a7c15u) >> 32; }

static void set_insert(struct touch_set *s, struct touch_page *p)
{
    uint32_t at = (uint32_t)hash_of(p->number) & (s->capacity - 1);
    while (s->pages[at] != NULL)
        at = (at + 1) & (s->capacity - 1);
    s->pages[at] = p;
    s->count++;
}

static void set_grow(struct touch_set *s)
{
    struct touch_page **old = s->pages;
    uint32_t capacity = s->capacity;
    s->capacity = capacity > 0 ? 2 * capacity : 64;
    s->pages = xcalloc(s->capacity, sizeof(struct touch_page *));
    s->count = 0;
    for (uint32_t i = 0; i < capacity; i++)
        if (old[i] != NULL)
            set_insert(s, old[i]);
    free(old);
}

static __attribute__((noinline)) struct touch_page *page_search(struct touch_set *s,
                                                                uint64_t number)
{
    if (2 * s->count >= s->capacity)
        set_grow(s);
    uint32_t at = (uint32_t)hash_of(number) & (s->capacity - 1);
    while (s->pages[at] != NULL && s->pages[at]->number != number)
        at = (at + 1) & (s->capacity - 1);
    struct touch_page *p = s->pages[at];
    if (p == NULL) {
        p = xcalloc(1, sizeof *p);
        p->number = number;
        s->pages[at] = p;
        s->count++;
    }
    s->recent[number % RECENT] = p;
    return p;
}

static inline struct touch_page *page_of(struct touch_set *s, uint64_t number)
{
    struct touch_page *p = s->recent[number % RECENT];
    return WEIR_LIKELY(p != NULL && p->number == number) ? p : page_search(s, number);
}

/* Bits [from, to) of a page, where from < to. */
static inline void set_bits(uint64_t *words, uint32_t from, uint32_t to)
{
    uint32_t first = from / 64, last = (to - 1) / 64;
    uint64_t head = ~(uint64_t)0 << from % 64, tail = ~(uint64_t)0 >> (63 - (to - 1) % 64);
    if (first == last) {
        words[first] |= head & tail;
        return;
    }
    words[first] |= head;
    for (uint32_t w = first + 1; w < last; w++)
        words[w] = ~(uint64_t)0;
    words[last] |= tail;
}

/* Forgets the bits of a page's bytes [from, to). */
static void clear_bits(uint64_t *words, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        words[i / 64] &= ~((uint64_t)1 << i % 64);
}

static inline void touch_range(struct touch_set *s, enum touch how, uint64_t low, uint64_t high)
{
    while (low < high) {
        uint64_t number = low >> PAGE_SHIFT, end = (number + 1) << PAGE_SHIFT;
        uint64_t stop = high < end ? high : end;
        set_bits(page_of(s, number)->bits[how], (uint32_t)(low - (number << PAGE_SHIFT)),
                 (uint32_t)(stop - (number << PAGE_SHIFT)));
        low = stop;
    }
}

static struct touch_set *set_new(struct grid_run *run, struct grid_worker *w)
{
    struct touch_set *s = xcalloc(1, sizeof *s);
    s->owner = w;
    s->next = atomic_load_explicit(&run->touched, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&run->touched, &s->next, s))
        ;
    return s;
}

static inline struct touch_set *set_of(struct grid_run *run, struct grid_worker *w)
{
    struct touch_set *s = atomic_load_explicit(&run->touched, memory_order_acquire);
    while (s != NULL && s->owner != w)
        s = s->next;
    return WEIR_LIKELY(s != NULL) ? s : set_new(run, w);
}

/* When the table is full, instructions are distinguished no more. */
static void touch_site(struct touch_set *s, const struct jit_block *j, const void *pc,
                       enum touch how, uint64_t low, uint64_t high)
{
    uint32_t at = (uint32_t)hash_of((uint64_t)pc) & (SITES - 1);
    for (int tries = 0; tries < 16; tries++, at = (at + 1) & (SITES - 1)) {
        struct touch_site *t = &s->sites[at];
        if (t->pc == NULL) {
            *t = (struct touch_site){.pc = pc, .how = how, .low = low, .high = high};
            memcpy(t->block, j->ctaid, sizeof t->block);
            t->warp = j->warp;
            return;
        }
        if (t->pc == pc && t->how == how) {
            t->low = t->low < low ? t->low : low;
            t->high = t->high > high ? t->high : high;
            return;
        }
    }
}

static inline enum touch how_of(uint32_t what)
{
    return (what & JIT_CHECK_ATOMIC) != 0   ? TOUCH_ATOMIC
           : (what & JIT_CHECK_WRITES) != 0 ? TOUCH_WRITE
                                            : TOUCH_READ;
}

/* Memory of the block itself, which generic addresses may point to. */
static bool is_own(const struct jit_block *j, uint64_t at)
{
    const struct grid_block *b = j->grid;
    if (at - (uint64_t)b->memory < b->capacity ||
        at - (uint64_t)j->params < b->run->launch.param_bytes ||
        (b->run->workspace != NULL &&
         at - (uint64_t)b->run->workspace < (uint64_t)GRID_WORKSPACE_BYTES))
        return true;
    for (uint32_t r = 1; r <= j->cluster_size && r <= JIT_CLUSTER_MAX; r++)
        if (j->windows[r] != 0 && at - j->windows[r] < j->total_shared)
            return true;
    return false;
}

/* Neighbours, or lanes at one address. */
static void touch_runs(struct touch_set *s, const struct jit_block *j, uint32_t mask,
                       const uint64_t *first, uint32_t what, uint32_t shape, const void *pc)
{
    uint32_t bytes = what & JIT_CHECK_BYTES, pieces = JIT_SHAPE_COUNT(shape);
    struct lane_run runs[LANE_RUNS];
    uint64_t lowest = UINT64_MAX, highest = 0;
    int count = lane_runs(shape, mask, first, bytes, runs);
    for (int n = 0; n < count; n++) {
        uint64_t low, high, step = JIT_SHAPE_STEP(shape);
        bool whole = lane_run_range(&runs[n], shape, bytes, &low, &high);
        if ((what & JIT_CHECK_GENERIC) != 0 && is_own(j, low))
            continue;
        lowest = low < lowest ? low : lowest;
        for (uint32_t k = 0; k < pieces; k++, low += step, high += step) {
            if (whole) {
                touch_range(s, how_of(what), low, high);
                continue;
            }
            EACH_LANE(lane, runs[n].mask)
            touch_range(s, how_of(what), runs[n].origin + k * step + (uint64_t)lane * bytes,
                        runs[n].origin + k * step + (uint64_t)(lane + 1) * bytes);
        }
        highest = high - step > highest ? high - step : highest;
    }
    if (highest != 0)
        touch_site(s, j, pc, how_of(what), lowest, highest);
}

void weir_rt_touch(struct jit_block *j, uint32_t mask, const uint64_t *address, uint32_t what,
                   uint32_t shape)
{
    struct grid_block *b = j->grid;
    uint64_t bytes = what & JIT_CHECK_BYTES;
    enum touch how = how_of(what);
    if (mask == 0)
        return;
    struct touch_set *s = set_of(b->run, b->worker);
    if (shape != 0) {
        touch_runs(s, j, mask, address, what, shape, __builtin_return_address(0));
        return;
    }
    uint64_t low = 0, high = 0, lowest = UINT64_MAX, highest = 0;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        uint64_t at = address[__builtin_ctz(left)];
        if (at == high && low < high) { /* neighbours are one range */
            high += bytes;
            continue;
        }
        if (low <= at && at + bytes <= high)
            continue;
        if ((what & JIT_CHECK_GENERIC) != 0 && is_own(j, at))
            continue;
        if (low < high)
            touch_range(s, how, low, high);
        lowest = low < lowest && low < high ? low : lowest;
        highest = high > highest ? high : highest;
        low = at;
        high = at + bytes;
    }
    if (low == high)
        return;
    touch_range(s, how, low, high);
    lowest = low < lowest ? low : lowest;
    highest = high > highest ? high : highest;
    touch_site(s, j, __builtin_return_address(0), how, lowest, highest);
}

/* ---- memory that the grid has given back ---- */

/* It is left out at the end, whichever thread has touched it: the next to get it from the heap
 * comes after. What the grid has allocated again counts. */
struct touch_freed {
    pthread_mutex_t lock;
    struct touch_set set; /* bits of TOUCH_WRITE alone */
};

static struct touch_freed *freed_of(struct grid_run *run)
{
    struct touch_freed *f = atomic_load_explicit(&run->freed, memory_order_acquire);
    if (f != NULL)
        return f;
    struct touch_freed *made = xcalloc(1, sizeof *made);
    pthread_mutex_init(&made->lock, NULL);
    if (atomic_compare_exchange_strong(&run->freed, &f, made))
        return made;
    pthread_mutex_destroy(&made->lock);
    free(made);
    return f;
}

void touch_freed(struct grid_run *run, uint64_t low, uint64_t high)
{
    struct touch_freed *f = freed_of(run);
    pthread_mutex_lock(&f->lock);
    touch_range(&f->set, TOUCH_WRITE, low, high);
    pthread_mutex_unlock(&f->lock);
}

void touch_allocated(struct grid_run *run, uint64_t low, uint64_t high)
{
    struct touch_freed *f = atomic_load_explicit(&run->freed, memory_order_acquire);
    if (f == NULL)
        return;
    pthread_mutex_lock(&f->lock);
    while (low < high) {
        uint64_t number = low >> PAGE_SHIFT, start = number << PAGE_SHIFT;
        uint64_t end = start + (1 << PAGE_SHIFT), stop = high < end ? high : end;
        clear_bits(page_of(&f->set, number)->bits[TOUCH_WRITE], (uint32_t)(low - start),
                   (uint32_t)(stop - start));
        low = stop;
    }
    pthread_mutex_unlock(&f->lock);
}

/* ---- at the end ---- */

static void leave_out(struct touch_set *s, const struct touch_set *freed)
{
    for (uint32_t i = 0; i < freed->capacity; i++) {
        const struct touch_page *f = freed->pages[i];
        for (int how = 0; f != NULL && how < TOUCH_KINDS; how++)
            for (int w = 0; w < PAGE_WORDS; w++)
                page_of(s, f->number)->bits[how][w] &= ~f->bits[TOUCH_WRITE][w];
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

static void page_ranges(const struct touch_page *p, enum touch how,
                        void (*range)(void *self, enum touch how, uint64_t low, uint64_t high),
                        void *self)
{
    const uint64_t *words = p->bits[how];
    uint64_t base = p->number << PAGE_SHIFT, at = 0, end = (uint64_t)1 << PAGE_SHIFT;
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
        range(self, how, base + from, base + at);
    }
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
            page_ranges(s->pages[i], (enum touch)how, range, self);
    for (uint32_t i = 0; i < count; i++)
        free(s->pages[i]);
    free(s->pages);
}

void grid_touched(struct grid_run *run,
                  void (*range)(void *self, enum touch how, uint64_t low, uint64_t high),
                  void (*site)(void *self, const struct touch_site *site), void *self)
{
    struct touch_set *s = atomic_exchange(&run->touched, NULL);
    struct touch_freed *freed = atomic_exchange(&run->freed, NULL);
    for (struct touch_set *next; s != NULL; s = next) {
        next = s->next;
        for (int i = 0; i < SITES; i++)
            if (s->sites[i].pc != NULL)
                site(self, &s->sites[i]);
        if (freed != NULL)
            leave_out(s, &freed->set);
        set_tell(s, range, self);
        free(s);
    }
    freed_forget(freed);
}
