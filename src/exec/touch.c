/* touch: bytes that a grid touches, as sets of bits; see touch.h.
 *
 * Each thread that runs blocks of a grid has a set of its own, so that nothing is locked. Bits make
 * reading and writing the same bytes again and again cheap, and neighbours one range at the end.
 * There are two sets of them: one for each word of the memory of devices and of the host's that
 * they share, at a fixed distance, which compiled code writes by itself (abi/kernel_abi.h); and a
 * hash table of pages with a bit for each byte, for all that it leaves to the helper here. */
#include "exec/touch.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "exec/cdp.h"
#include "exec/internal.h"
#include "exec/lanes.h"
#include "exec/threads.h"
#include "exec/touch_sets.h"

struct touch_reach touch_reach;
static pthread_once_t reach_once = PTHREAD_ONCE_INIT;

static bool on;

void touch_tell(void) { on = true; }
bool touch_is_told(void) { return on; }

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

static struct touch_page *page_new(struct touch_set *s)
{
    struct touch_page *p = s->free;
    if (p == NULL)
        return xcalloc(1, sizeof *p);
    s->free = p->next;
    s->free_count--;
    memset(p, 0, sizeof *p);
    return p;
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
        p = page_new(s);
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

struct touch_page *touch_page_of(struct touch_set *s, uint64_t number)
{
    return page_of(s, number);
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

static inline void touch_bytes(struct touch_set *s, enum touch how, uint64_t low, uint64_t high)
{
    while (low < high) {
        uint64_t number = low >> PAGE_SHIFT, end = (number + 1) << PAGE_SHIFT;
        uint64_t stop = high < end ? high : end;
        set_bits(page_of(s, number)->bits[how], (uint32_t)(low - (number << PAGE_SHIFT)),
                 (uint32_t)(stop - (number << PAGE_SHIFT)));
        low = stop;
    }
}

/* ---- words ---- */

/* Regions below it have words of so many bytes of each kind. */
static uint64_t words_bytes(void)
{
    return (touch_reach.regions + 1) * REGION_WORDS * sizeof(uint64_t);
}

static void reach_add(uint64_t base, uint64_t bytes)
{
    if (bytes == 0 || touch_reach.count == RANGES_MAX)
        return;
    touch_reach.low[touch_reach.count] = base;
    touch_reach.high[touch_reach.count++] = base + bytes;
}

static void reach_open(void)
{
    enum { DEVICES = 32, LARGEST_SHIFT = 43 };
    uint64_t base, bytes, low = UINT64_MAX, high = 0;
    if (mem_range(MEM_HOST, &base, &bytes))
        reach_add(base, bytes);
    for (int d = 0; d < DEVICES && mem_range(d, &base, &bytes); d++)
        reach_add(base, bytes);
    for (uint32_t n = 0; n < touch_reach.count; n++) {
        low = touch_reach.low[n] < low ? touch_reach.low[n] : low;
        high = touch_reach.high[n] > high ? touch_reach.high[n] : high;
    }
    if (touch_reach.count == 0 || high - low > (uint64_t)1 << LARGEST_SHIFT)
        return;
    touch_reach.base = low & ~(REGION - 1);
    touch_reach.regions = (high - touch_reach.base + REGION - 1) / REGION;
}

static void words_open(struct touch_set *s)
{
    static const uint8_t none; /* of a set without words: its one region is not marked */
    pthread_once(&reach_once, reach_open);
    uint64_t each = words_bytes(), all = JIT_TOUCH_KINDS * each + touch_reach.regions + 1;
    void *p = MAP_FAILED;
    if (touch_reach.regions > 0)
        p = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                 0);
    struct jit_touched *t = &s->told[0];
    *t = (struct jit_touched){.base = touch_reach.base, .regions = &none};
    if (p != MAP_FAILED) {
        for (uint32_t k = 0; k < JIT_TOUCH_KINDS; k++)
            t->bits[k] = (uint8_t *)p + k * each;
        s->regions = (uint8_t *)p + JIT_TOUCH_KINDS * each;
        t->regions = s->regions;
        t->last = touch_reach.regions;
    }
    s->told[1] = *t;
    for (uint32_t n = 0; n < TIERS; n++)
        s->told[n].slots = s->slots + n * (JIT_TOUCH_SLOTS / TIERS);
}

static void words_close(struct touch_set *s)
{
    if (s->regions != NULL)
        munmap(s->told[0].bits[0], JIT_TOUCH_KINDS * words_bytes() + touch_reach.regions + 1);
}

void touch_region_list(struct touch_set *s, uint64_t region)
{
    if (region >= touch_reach.regions || (s->regions[region] & LISTED) != 0)
        return;
    s->regions[region] |= LISTED;
    vec_push(&s->listed, (uint32_t)region);
}

/* From now on compiled code writes words for accesses that begin in the region of the address. */
static void region_mark(struct touch_set *s, uint64_t address)
{
    uint64_t region = (address - touch_reach.base) / REGION;
    if (s->regions == NULL || region >= touch_reach.regions ||
        (s->regions[region] & JIT_TOUCH_MARKED) != 0)
        return;
    for (uint32_t n = 0; n < touch_reach.count; n++)
        if (address >= touch_reach.low[n] && address < touch_reach.high[n]) {
            touch_region_list(s, region);
            touch_region_list(s, region + 1); /* they may end there */
            s->regions[region] |= JIT_TOUCH_MARKED;
            return;
        }
}

/* Whether the region of the address is marked now. */
static inline bool region_has(struct touch_set *s, uint64_t address)
{
    uint64_t region = (address - touch_reach.base) / REGION;
    if (s->regions == NULL || region >= touch_reach.regions)
        return false;
    if (WEIR_UNLIKELY((s->regions[region] & JIT_TOUCH_MARKED) == 0))
        region_mark(s, address);
    return (s->regions[region] & JIT_TOUCH_MARKED) != 0;
}

static inline void touch_range(struct touch_set *s, enum touch how, uint64_t low, uint64_t high)
{
    if (WEIR_UNLIKELY(((low | high) & 3) != 0)) {
        touch_bytes(s, how, low, high);
        return;
    }
    while (low < high) {
        uint64_t region = (low - touch_reach.base) / REGION,
                 start = touch_reach.base + region * REGION;
        uint64_t end = (low & ~(REGION - 1)) + REGION, stop = high < end ? high : end;
        if (WEIR_LIKELY(region_has(s, low)))
            set_bits(region_words(s, (uint32_t)region, how),
                     (uint32_t)(low - start) >> JIT_TOUCH_WORD_SHIFT,
                     (uint32_t)(stop - start) >> JIT_TOUCH_WORD_SHIFT);
        else
            touch_bytes(s, how, low, stop);
        low = stop;
    }
}

static void words_clear(struct touch_set *s)
{
    bool many = s->listed.count > IDLE_REGIONS;
    for (size_t i = 0; i < s->listed.count; i++) {
        uint32_t region = s->listed.items[i];
        s->regions[region] = 0;
        for (uint32_t k = 0; k < JIT_TOUCH_KINDS && !many; k++) {
            uint64_t *words = region_words(s, region, k), any = 0;
            for (uint32_t w = 0; w < REGION_WORDS; w++) /* what is all zero stays untouched */
                any |= words[w];
            if (any != 0)
                memset(words, 0, REGION_WORDS * sizeof *words);
        }
    }
    if (many)
        madvise(s->told[0].bits[0], JIT_TOUCH_KINDS * words_bytes(), MADV_DONTNEED);
    s->listed.count = 0;
}

/* ---- sets ---- */

static struct touch_set *idle; /* of no run */
static uint32_t idle_count;
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;

static struct touch_set *set_new(struct grid_run *run, const struct grid_worker *w)
{
    pthread_mutex_lock(&idle_lock);
    struct touch_set *s = idle;
    if (s != NULL) {
        idle = s->next;
        idle_count--;
    }
    pthread_mutex_unlock(&idle_lock);
    if (s == NULL) {
        s = xcalloc(1, sizeof *s);
        words_open(s);
    }
    s->owner = w;
    pthread_mutex_lock(&idle_lock);
    s->next = atomic_load_explicit(&run->touched, memory_order_relaxed);
    if (s->next == NULL) /* the run's first */
        atomic_store_explicit(&run->touched_parts, 0, memory_order_relaxed);
    s->part = atomic_load_explicit(&run->touched_parts, memory_order_relaxed);
    atomic_store_explicit(&run->touched, s, memory_order_release);
    pthread_mutex_unlock(&idle_lock);
    return s;
}

/* As it was when it was made, but for the memory that it has. */
static void set_clear(struct touch_set *s)
{
    memset(s->slots, 0, sizeof s->slots);
    memset(s->recent, 0, sizeof s->recent);
    for (uint32_t n = 0; n < s->used_count; n++)
        s->sites[s->used[n]].pc = NULL;
    s->used_count = 0;
    for (uint32_t i = 0; i < s->capacity && s->count > 0; i++) {
        struct touch_page *p = s->pages[i];
        if (p == NULL)
            continue;
        s->pages[i] = NULL;
        s->count--;
        if (s->free_count >= IDLE_PAGES) {
            free(p);
            continue;
        }
        p->next = s->free;
        s->free = p;
        s->free_count++;
    }
    words_clear(s);
}

static void set_free(struct touch_set *s)
{
    for (uint32_t i = 0; i < s->capacity; i++)
        free(s->pages[i]);
    for (struct touch_page *next; s->free != NULL; s->free = next) {
        next = s->free->next;
        free(s->free);
    }
    words_close(s);
    free(s->listed.items);
    free(s->pages);
    free(s);
}

void touch_set_give_back(struct touch_set *s)
{
    set_clear(s);
    pthread_mutex_lock(&idle_lock);
    bool keep = idle_count < IDLE_SETS;
    if (keep) {
        s->next = idle;
        idle = s;
        idle_count++;
    }
    pthread_mutex_unlock(&idle_lock);
    if (!keep)
        set_free(s);
}

static inline struct touch_set *set_of(struct grid_run *run, const struct grid_worker *w)
{
    struct touch_set *s = atomic_load_explicit(&run->touched, memory_order_acquire);
    while (s != NULL && s->owner != w)
        s = s->next;
    return WEIR_LIKELY(s != NULL) ? s : set_new(run, w);
}

/* ---- parts ---- */

/* A copy of what the set has is the present part's, and it goes on with the next. Compiled code
 * that runs keeps it. */
static void set_divide(struct grid_run *run, struct touch_set *s, uint32_t part)
{
    struct touch_set *was = set_new(run, NULL);
    was->part = part; /* without words it cannot be told from what comes */
    if (was->regions == NULL)
        return;
    was->part = s->part;
    s->part = part;
    touch_slots_end(s);
    memset(s->slots, 0, sizeof s->slots);
    memcpy(was->sites, s->sites, sizeof s->sites);
    memcpy(was->used, s->used, sizeof s->used);
    was->used_count = s->used_count;
    for (uint32_t n = 0; n < s->used_count; n++)
        s->sites[s->used[n]].pc = NULL;
    s->used_count = 0;
    touch_words_move(was, s);
    struct touch_page **pages = was->pages;
    uint32_t capacity = was->capacity;
    was->pages = s->pages;
    was->capacity = s->capacity;
    was->count = s->count;
    s->pages = pages;
    s->capacity = capacity;
    s->count = 0;
    memset(s->recent, 0, sizeof s->recent);
}

/* ---- what instructions touch ---- */

static inline enum touch how_of(uint32_t what)
{
    return (what & JIT_CHECK_ATOMIC) != 0   ? TOUCH_ATOMIC
           : (what & JIT_CHECK_WRITES) != 0 ? TOUCH_WRITE
                                            : TOUCH_READ;
}

/* The instruction has touched something between the ends. Returns its number; SITES: the table is
 * full, and instructions are distinguished no more. */
static uint32_t touch_site(struct touch_set *s, const struct jit_block *j, const void *pc,
                           uint32_t what, uint64_t low, uint64_t high)
{
    uint32_t at = (uint32_t)hash_of((uint64_t)pc) & (SITES - 1);
    enum touch how = how_of(what);
    for (int tries = 0; tries < 16; tries++, at = (at + 1) & (SITES - 1)) {
        struct touch_site *t = &s->sites[at];
        if (t->pc == NULL) {
            *t = (struct touch_site){.pc = pc,
                                     .how = how,
                                     .writes = (what & JIT_CHECK_WRITES) != 0,
                                     .system = (what & JIT_CHECK_SYSTEM) != 0,
                                     .low = low,
                                     .high = high};
            memcpy(t->block, j->ctaid, sizeof t->block);
            t->warp = j->warp;
            s->used[s->used_count++] = (uint16_t)at;
            return at;
        }
        if (t->pc == pc && t->how == how) {
            t->low = t->low < low ? t->low : low;
            t->high = t->high > high ? t->high : high;
            return at;
        }
    }
    return SITES;
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

/* Compiled code goes on by itself with an instruction that has a slot. */
static void slot_begin(struct touch_set *s, uint32_t slot, uint32_t site, uint64_t low,
                       uint64_t high)
{
    struct jit_touched_slot *t = &s->slots[slot];
    if (t->high == 0)
        *t = (struct jit_touched_slot){low, high};
    s->slot_sites[slot] = (uint16_t)site;
}

/* Neighbours, or lanes at one address. */
static void touch_runs(struct touch_set *s, const struct jit_block *j, uint32_t mask,
                       const uint64_t *first, uint32_t what, uint32_t shape, uint32_t slot,
                       const void *pc)
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
    if (highest == 0)
        return;
    uint32_t site = touch_site(s, j, pc, what, lowest, highest);
    if (slot != JIT_TOUCH_NO_SLOT)
        slot_begin(s, slot, site, lowest, highest);
}

struct jit_touched *weir_rt_touched(const struct jit_block *j, uint32_t first)
{
    const struct grid_block *b = j->grid;
    struct touch_set *s = set_of(b->run, b->worker);
    uint32_t part = atomic_load_explicit(&b->run->touched_parts, memory_order_relaxed);
    if (WEIR_UNLIKELY(s->part != part))
        set_divide(b->run, s, part);
    return &s->told[first != 0];
}

uint32_t touch_launches(struct jit_block *j)
{
    const struct grid_block *b = j->grid;
    uint32_t _Atomic *parts = &b->run->touched_parts;
    if (!on)
        return TOUCH_PARTS;
    struct touch_set *s = set_of(b->run, b->worker);
    uint32_t before = atomic_load_explicit(parts, memory_order_relaxed);
    do {
        if (before + 1 >= TOUCH_PARTS)
            return TOUCH_PARTS;
    } while (!atomic_compare_exchange_weak(parts, &before, before + 1));
    set_divide(b->run, s, before + 1);
    return before;
}

void weir_rt_touch(struct jit_block *j, uint32_t mask, const uint64_t *address, uint32_t what,
                   uint32_t shape, uint32_t slot)
{
    struct grid_block *b = j->grid;
    uint64_t bytes = what & JIT_CHECK_BYTES;
    enum touch how = how_of(what);
    if (mask == 0)
        return;
    struct touch_set *s = set_of(b->run, b->worker);
    if (shape != 0) {
        touch_runs(s, j, mask, address, what, shape, slot, __builtin_return_address(0));
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
    (void)touch_site(s, j, __builtin_return_address(0), what, lowest, highest);
}

/* ---- kernels of ours ---- */

void touch_block(struct jit_block *j, const void *at, uint64_t bytes, bool writes,
                 const uint32_t *value)
{
    struct grid_block *b = j->grid;
    const struct cdp_child *child = b->run->origin;
    const void *pc = child != NULL && child->told != NULL ? child->told->pc : NULL;
    uint64_t low = (uint64_t)at, high = low + bytes;
    enum touch how = writes ? TOUCH_WRITE : TOUCH_READ;
    if (bytes == 0)
        return;
    struct touch_set *s = set_of(b->run, b->worker);
    touch_range(s, how, low, high);
    if (pc != NULL)
        (void)touch_site(s, j, pc, writes ? JIT_CHECK_WRITES : 0, low, high);
    if (threads_are_compared())
        threads_block(b, low, bytes, writes, value, pc);
}

/* ---- memory that the grid has given back ---- */

/* It is left out at the end, whichever thread has touched it: the next to get it from the heap
 * comes after. What the grid has allocated again counts. */
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
    touch_bytes(&f->set, TOUCH_WRITE, low, high);
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
