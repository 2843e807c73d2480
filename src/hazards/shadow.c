/* shadow: for each line of memory, the accesses that may still race with later ones; and what was
 * found.
 *
 * A warp mostly goes through a line lane by lane: then its access is one pattern, and so is what it
 * is compared with. A line with more patterns than PATTERNS is kept by word or byte (cells.c). */
#include <stdlib.h>
#include <string.h>

#include "hazards/internal.h"

enum { PATTERNS = 10, PAGE_SHIFT = 12, PAGE_LINES = (1 << PAGE_SHIFT) / LINE };

struct page {
    uint64_t number;
    struct line lines[PAGE_LINES];
};

/* ---- what was found ---- */

bool stamps_conflict(const struct stamp *old, const struct stamp *now, const struct hazard_block *b)
{
    uint32_t both = old->how & now->how, either = old->how | now->how;
    if ((either & STAMP_WRITE) == 0)
        return false;
    if ((both & STAMP_STRONG) == 0)
        return true;
    uint32_t scope = old->how >> STAMP_SCOPE_SHIFT, other = now->how >> STAMP_SCOPE_SHIFT;
    scope = scope < other ? scope : other;
    return old->block != b->number && scope == JIT_SCOPE_BLOCK;
}

bool stamp_seen_through(const struct stamp *old, const struct stamp *through)
{
    uint32_t atomic = STAMP_WRITE | STAMP_STRONG, exchange = atomic | STAMP_EXCHANGE;
    uint32_t scope = old->how >> STAMP_SCOPE_SHIFT, other = through->how >> STAMP_SCOPE_SHIFT;
    return (old->how & atomic) == atomic && (through->how & exchange) == exchange &&
           (old->block == through->block || (scope != JIT_SCOPE_BLOCK && other != JIT_SCOPE_BLOCK));
}

static const void *pc_of(const struct hazard_run *run, uint32_t site)
{
    return (const void *)(uintptr_t)(run->pc +
                                     (uint64_t)(int64_t)(int32_t)(site - (uint32_t)run->pc));
}

/* Whether the pair of instructions is found for the first time. */
static bool is_new(struct hazard_run *run, uint64_t pair)
{
    uint32_t at = (uint32_t)(pair * 0x9e3779b97f4a7c15u >> 54);
    for (uint32_t tries = 0; tries < WEIR_COUNT(run->seen); tries++, at++) {
        _Atomic uint64_t *slot = &run->seen[at % WEIR_COUNT(run->seen)];
        uint64_t there = atomic_load_explicit(slot, memory_order_relaxed);
        if (there == 0 && atomic_compare_exchange_strong(slot, &there, pair))
            return true;
        if (there == pair)
            return false;
    }
    return false;
}

static uint32_t how_of(const struct stamp *s, uint32_t warp)
{
    return ((s->how & STAMP_WRITE) != 0 ? JIT_ACCESS_WRITE : 0) |
           ((s->how & STAMP_STRONG) != 0 ? JIT_ACCESS_STRONG : 0) |
           (warp >= ASYNC_WARPS ? JIT_ACCESS_ASYNC : 0) |
           (uint32_t)(s->how >> STAMP_SCOPE_SHIFT) << JIT_ACCESS_SCOPE_SHIFT;
}

static struct hazard_side side_of(const struct hazard_run *run, const struct stamp *s,
                                  uint32_t lane)
{
    return (struct hazard_side){.pc = pc_of(run, s->site),
                                .how = how_of(s, s->warp),
                                .block = s->block,
                                .warp = s->warp % ASYNC_WARPS,
                                .lane = lane};
}

static enum hazard_advice advice_of(const struct looking *l, const struct stamp *old,
                                    const struct stamp *now)
{
    const struct hazard_block *b = l->b;
    bool same_block = old->block == b->number;
    if ((old->how & now->how & STAMP_STRONG) != 0)
        return HAZARD_SCOPE;
    if (same_block && (old->warp >= ASYNC_WARPS || now->warp >= ASYNC_WARPS))
        return HAZARD_ASYNC;
    if (same_block && old->warp == now->warp)
        return old->site == now->site && old->clock == now->clock ? HAZARD_SAME_INSTRUCTION
                                                                  : HAZARD_WARP;
    if (same_block)
        return HAZARD_BLOCK;
    return l->of != NULL ? HAZARD_CLUSTER : HAZARD_GRID;
}

void run_found(const struct looking *l, const struct stamp *old, uint32_t old_lane,
               const struct stamp *now, uint32_t lane, uint32_t low, uint32_t high)
{
    struct hazard_run *run = l->b->run;
    uint32_t a = old->site, b = now->site;
    if (!is_new(run, (uint64_t)(a < b ? a : b) << 32 | (a < b ? b : a)))
        return;
    struct hazard_found f = {.first = side_of(run, old, old_lane),
                             .second = side_of(run, now, lane),
                             .low = l->line + low,
                             .high = l->line + high,
                             .shared = l->of != NULL,
                             .shared_block = l->of != NULL ? l->of->number : 0,
                             .advice = advice_of(l, old, now)};
    pthread_mutex_lock(&run->lock);
    vec_push(&run->found, f);
    pthread_mutex_unlock(&run->lock);
}

/* ---- patterns ---- */

void line_clear(struct line *l)
{
    if (l->cells != NULL)
        cells_free(l->cells);
    if (l->patterns != NULL && l->patterns != l->few)
        free(l->patterns);
    l->cells = NULL;
    l->patterns = NULL;
    l->count = l->capacity = 0;
}

static bool is_atomic_write(const struct stamp *s)
{
    return (s->how & (STAMP_WRITE | STAMP_STRONG)) == (STAMP_WRITE | STAMP_STRONG);
}

static bool same_mapping(const struct pattern *a, const struct pattern *b)
{
    return a->shift == b->shift && a->shift != SHIFT_ONE && a->origin == b->origin;
}

/* Whether all that the earlier pattern did comes before what any lane of the later one does, as far
 * as that is plain. */
static bool plainly_before(const struct hazard_block *b, const struct pattern *old,
                           const struct pattern *now)
{
    const struct stamp *s = &old->s;
    if (s->block != b->number || s->warp >= ASYNC_WARPS)
        return false;
    if (s->clock < b->all)
        return true;
    if (s->warp != now->s.warp % ASYNC_WARPS)
        return false;
    if (s->clock < b->warps[s->warp].clock || same_mapping(old, now) ||
        ((s->how | now->s.how) & STAMP_MATRIX) != 0)
        return true;
    return old->shift == SHIFT_ONE && now->shift == SHIFT_ONE && s->lane == now->s.lane &&
           ((s->how | now->s.how) & STAMP_MANY) == 0;
}

/* The lanes that access a byte: several where all of them access the same ones. */
static uint32_t lanes_at(const struct pattern *p, uint32_t byte)
{
    if ((p->s.how & STAMP_MANY) != 0)
        return p->mask;
    uint32_t lane = pattern_lane(p, byte);
    return p->shift == SHIFT_ONE ? (uint32_t)1 << lane : p->mask & (uint32_t)1 << lane;
}

/* Looks for a lane of the earlier ones that nothing orders before a lane of the later ones. */
static bool find_lanes(const struct looking *l, const struct pattern *old, uint32_t olds,
                       uint32_t nows, uint32_t *first, uint32_t *second)
{
    for (uint32_t n = nows; n != 0; n &= n - 1)
        for (uint32_t o = olds; o != 0; o &= o - 1) {
            *first = (uint32_t)__builtin_ctz(o);
            *second = (uint32_t)__builtin_ctz(n);
            if (!threads_before(l->b, l->warp, *second, old->s.block, old->s.warp, *first,
                                old->s.clock))
                return true;
        }
    return false;
}

static uint32_t step_of(const struct pattern *p)
{
    return p->shift == SHIFT_ONE ? LINE : 1u << p->shift;
}

/* Those of `lanes` that access bytes [low, high) after atomic functions of their own which came
 * after pattern `i`, or are it. */
static uint32_t seen_through(const struct looking *l, const struct line *line, uint32_t i,
                             uint32_t low, uint32_t high, uint32_t lanes)
{
    uint32_t seen = 0;
    for (uint32_t k = i; k < line->count; k++) {
        const struct pattern *q = &line->patterns[k];
        if (q->low > low || q->high < high || !stamp_seen_through(&line->patterns[i].s, &q->s))
            continue;
        uint32_t by = lanes_at(q, low);
        for (uint32_t n = lanes & ~seen; n != 0; n &= n - 1)
            for (uint32_t o = by; o != 0; o &= o - 1)
                if (threads_before(l->b, l->warp, (uint32_t)__builtin_ctz(n), q->s.block, q->s.warp,
                                   (uint32_t)__builtin_ctz(o), q->s.clock)) {
                    seen |= n & -n;
                    break;
                }
    }
    return seen;
}

static void look(const struct looking *l, const struct line *line, uint32_t i,
                 const struct pattern *now)
{
    const struct pattern *old = &line->patterns[i];
    uint32_t low = old->low > now->low ? old->low : now->low;
    uint32_t high = old->high < now->high ? old->high : now->high;
    if (low >= high || !stamps_conflict(&old->s, &now->s, l->b) || plainly_before(l->b, old, now))
        return;
    if ((old->s.how & now->s.how & STAMP_VALUE) != 0 && old->value == now->value &&
        ((old->s.how | now->s.how) & STAMP_STRONG) == 0)
        return;
    uint32_t step = step_of(old) < step_of(now) ? step_of(old) : step_of(now), first, second;
    for (uint32_t at = low; at < high; at += step) {
        uint32_t olds = lanes_at(old, at), nows = lanes_at(now, at);
        if (is_atomic_write(&old->s) && find_lanes(l, old, olds, nows, &first, &second))
            nows &= ~seen_through(l, line, i, at, at + step < high ? at + step : high, nows);
        if (olds == 0 || nows == 0 || !find_lanes(l, old, olds, nows, &first, &second))
            continue;
        uint32_t end = at + step < high ? at + step : high;
        run_found(l, &old->s, first, &now->s, second, at, end);
        return;
    }
}

static void remove_at(struct line *line, uint32_t i)
{
    line->count--; /* in the order in which they were made */
    memmove(&line->patterns[i], &line->patterns[i + 1], (line->count - i) * sizeof *line->patterns);
}

/* Whether the line knows enough of accesses like this one: two of other blocks or warps, that
 * nothing orders, which any later access that races with this one races with, too. Of atomic writes
 * the latest is one of the two, in place of the earlier. */
static bool known_enough(struct line *line, const struct pattern *p)
{
    const struct pattern *other = NULL;
    bool atomic = is_atomic_write(&p->s);
    uint32_t kind = STAMP_WRITE | STAMP_STRONG;
    for (uint32_t i = 0; i < line->count; i++) {
        const struct pattern *q = &line->patterns[i];
        bool covers = q->low <= p->low && q->high >= p->high &&
                      ((q->shift == SHIFT_ONE) || (q->mask == 0xffffffffu));
        if (!covers || (q->s.how & kind) != (p->s.how & kind) ||
            q->s.how >> STAMP_SCOPE_SHIFT != p->s.how >> STAMP_SCOPE_SHIFT ||
            (atomic && (q->low != p->low || q->high != p->high || q->mask != p->mask)))
            continue;
        bool blocks = other != NULL && other->s.block != q->s.block;
        bool warps = other != NULL && other->s.block == p->s.block && other->s.warp != q->s.warp &&
                     other->s.clock == p->s.clock && q->s.clock == p->s.clock;
        if (blocks || warps) {
            if (atomic) {
                bool later = blocks ? q->s.block == p->s.block : q->s.warp == p->s.warp;
                remove_at(line, later ? i : (uint32_t)(other - line->patterns));
                line->patterns[line->count++] = *p;
            }
            return true;
        }
        if (other == NULL || other->s.block == p->s.block)
            other = q;
    }
    return false;
}

/* The new access takes the place of earlier ones that need not be kept any more. True: it is
 * kept. */
static bool replace(struct line *line, const struct hazard_block *b, const struct pattern *p)
{
    bool writes = (p->s.how & (STAMP_WRITE | STAMP_STRONG)) == STAMP_WRITE;
    uint32_t kind = STAMP_WRITE | STAMP_STRONG;
    for (uint32_t i = 0; i < line->count;) {
        const struct pattern *q = &line->patterns[i];
        bool inside = q->low >= p->low && q->high <= p->high &&
                      (p->shift == SHIFT_ONE || (q->mask & ~p->mask) == 0);
        if (!inside ||
            (!writes && ((q->s.how & kind) != (p->s.how & kind) || !plainly_before(b, q, p)))) {
            i++;
            continue;
        }
        if (writes && p->shift != SHIFT_ONE && !same_mapping(p, q) && p->mask != 0xffffffffu) {
            i++; /* what inactive lanes leave out stays */
            continue;
        }
        remove_at(line, i);
    }
    return false;
}

static void grow(struct line *line)
{
    uint32_t capacity = line->capacity == 0 ? WEIR_COUNT(line->few) : PATTERNS;
    if (line->patterns == NULL) {
        line->patterns = line->few;
    } else {
        struct pattern *more = xmalloc(capacity * sizeof *more);
        memcpy(more, line->patterns, line->count * sizeof *more);
        line->patterns = more;
    }
    line->capacity = (uint8_t)capacity;
}

/* From patterns to cells. */
static void scatter(struct line *line, const struct looking *l, const struct pattern *p)
{
    bool words = pattern_in_words(p);
    for (uint32_t i = 0; i < line->count; i++)
        words = words && pattern_in_words(&line->patterns[i]);
    struct cells *c = cells_new(!words);
    struct looking none = *l;
    none.values = NULL;
    for (uint32_t i = 0; i < line->count; i++) {
        none.warp = line->patterns[i].s.warp;
        cells_access(c, &none, &line->patterns[i], false);
    }
    line_clear(line);
    line->cells = c;
}

/* Accesses before the last barrier of all are forgotten where nobody else can make any. */
static void purge(struct line *line, const struct looking *l)
{
    for (uint32_t i = 0; i < line->count;) {
        const struct stamp *s = &line->patterns[i].s;
        if (s->block == l->b->number && s->clock < l->b->all && s->warp < ASYNC_WARPS)
            remove_at(line, i);
        else
            i++;
    }
}

/* A new pattern; false: there are too many. */
static bool append(struct line *line, const struct pattern *p)
{
    if (known_enough(line, p))
        return true;
    if (line->count == line->capacity && line->capacity < PATTERNS)
        grow(line);
    if (line->count == line->capacity)
        return false;
    line->patterns[line->count++] = *p;
    return true;
}

/* Atomic functions are done: they are the latest from now on. */
static void line_exchanged(struct line *line, const struct looking *l, const struct pattern *p)
{
    for (uint32_t i = line->cells == NULL ? line->count : 0; i-- > 0;) {
        const struct pattern *q = &line->patterns[i];
        if (is_atomic_write(&q->s) && q->s.block == p->s.block && q->s.warp == p->s.warp &&
            q->s.lane == p->s.lane && q->mask == p->mask && q->low == p->low && q->high == p->high)
            remove_at(line, i);
    }
    if (line->cells == NULL && append(line, p))
        return;
    if (line->cells == NULL)
        scatter(line, l, p);
    if (!cells_fit(line->cells, p))
        line->cells = cells_split(line->cells);
    cells_access(line->cells, l, p, false);
}

void line_access(struct line *line, const struct looking *l, const struct pattern *p)
{
    if (l->exchanged) {
        line_exchanged(line, l, p);
        return;
    }
    if (line->cells == NULL) {
        for (uint32_t i = 0; i < line->count; i++) {
            const struct pattern *q = &line->patterns[i];
            if (q->s.site == p->s.site && q->s.clock == p->s.clock && q->s.warp == p->s.warp &&
                q->s.block == p->s.block && q->low == p->low && q->high == p->high &&
                q->mask == p->mask && q->origin == p->origin && q->shift == p->shift &&
                q->s.how == p->s.how && q->s.lane == p->s.lane && q->value == p->value) {
                if (is_atomic_write(&p->s)) { /* again, and after the others */
                    remove_at(line, i);
                    line->patterns[line->count++] = *p;
                }
                return;
            }
        }
        for (uint32_t i = 0; i < line->count; i++)
            look(l, line, i, p);
        if (line->count == PATTERNS && l->of != NULL)
            purge(line, l);
        replace(line, l->b, p);
        if (append(line, p))
            return;
        scatter(line, l, p);
    }
    if (!cells_fit(line->cells, p))
        line->cells = cells_split(line->cells);
    cells_access(line->cells, l, p, true);
}

/* What is left of pattern `i` outside [low, high), which it overlaps; false: there is no place for
 * both ends. */
static bool cut(struct line *line, uint32_t i, uint32_t low, uint32_t high)
{
    struct pattern *p = &line->patterns[i];
    if (p->low >= low) {
        p->low = (uint8_t)high;
        return true;
    }
    if (p->high <= high) {
        p->high = (uint8_t)low;
        return true;
    }
    if (line->count == line->capacity && line->capacity < PATTERNS)
        grow(line);
    if (line->count == line->capacity)
        return false;
    struct pattern *first = &line->patterns[i], *rest = &line->patterns[line->count++];
    *rest = *first;
    first->high = (uint8_t)low;
    rest->low = (uint8_t)high;
    return true;
}

/* Forgets bytes [low, high) of the line. */
static void line_forget(struct line *line, struct hazard_block *b, uint32_t low, uint32_t high)
{
    const struct looking l = {.b = b};
    if (low == 0 && high == LINE) {
        line_clear(line);
        return;
    }
    for (uint32_t i = 0; line->cells == NULL && i < line->count;) {
        const struct pattern *p = &line->patterns[i];
        if (p->high <= low || p->low >= high)
            i++;
        else if (p->low >= low && p->high <= high)
            remove_at(line, i);
        else if (!cut(line, i, low, high))
            scatter(line, &l, &line->patterns[i]);
        else
            i++;
    }
    if (line->cells != NULL)
        cells_forget(line->cells, low, high);
}

/* ---- lines ---- */

static struct line *shared_line(struct hazard_block *of, uint64_t number)
{
    if (number >= of->line_count)
        return NULL; /* it faults */
    struct line *l = &of->lines[number];
    if (l->generation != of->generation) {
        line_clear(l);
        l->generation = of->generation;
    }
    return l;
}

static uint32_t slot_of(const struct hazard_run *run, uint64_t number)
{
    return (uint32_t)(number * 0x9e3779b97f4a7c15u >> 32) & (run->page_capacity - 1);
}

static void pages_grow(struct hazard_run *run)
{
    struct page **old = run->pages;
    uint32_t capacity = run->page_capacity;
    run->page_capacity = capacity > 0 ? 2 * capacity : 64;
    run->pages = xcalloc(run->page_capacity, sizeof(struct page *));
    for (uint32_t i = 0; i < capacity; i++) {
        if (old[i] == NULL)
            continue;
        uint32_t at = slot_of(run, old[i]->number);
        while (run->pages[at] != NULL)
            at = (at + 1) & (run->page_capacity - 1);
        run->pages[at] = old[i];
    }
    free(old);
}

/* NULL: nothing was accessed there. */
static struct page *page_find(struct hazard_run *run, uint64_t number)
{
    struct page *p = NULL;
    pthread_mutex_lock(&run->lock);
    if (run->page_capacity > 0) {
        uint32_t at = slot_of(run, number);
        while ((p = run->pages[at]) != NULL && p->number != number)
            at = (at + 1) & (run->page_capacity - 1);
    }
    pthread_mutex_unlock(&run->lock);
    return p;
}

static __attribute__((noinline)) struct page *page_search(struct hazard_block *b, uint64_t number)
{
    struct hazard_run *run = b->run;
    pthread_mutex_lock(&run->lock);
    if (2 * run->page_count >= run->page_capacity)
        pages_grow(run);
    uint32_t at = slot_of(run, number);
    while (run->pages[at] != NULL && run->pages[at]->number != number)
        at = (at + 1) & (run->page_capacity - 1);
    struct page *p = run->pages[at];
    if (p == NULL) {
        p = run->pages[at] = xcalloc(1, sizeof *p);
        p->number = number;
        run->page_count++;
    }
    pthread_mutex_unlock(&run->lock);
    b->recent[number % RECENT] = p;
    return p;
}

static inline struct line *global_line(struct hazard_block *b, uint64_t number)
{
    uint64_t page = number / PAGE_LINES;
    struct page *p = b->recent[page % RECENT];
    if (WEIR_UNLIKELY(p == NULL || p->number != page))
        p = page_search(b, page);
    return &p->lines[number % PAGE_LINES];
}

static void line_lock(struct line *l)
{
    while (atomic_exchange_explicit(&l->lock, 1, memory_order_acquire) != 0)
        while (atomic_load_explicit(&l->lock, memory_order_relaxed) != 0)
            ;
}

static void line_unlock(struct line *l)
{
    atomic_store_explicit(&l->lock, 0, memory_order_release);
}

static void page_forget(struct page *p, struct hazard_block *b, uint64_t low, uint64_t high)
{
    for (uint64_t at = low & ~(uint64_t)(LINE - 1); at < high; at += LINE) {
        struct line *line = &p->lines[at / LINE % PAGE_LINES];
        line_lock(line);
        line_forget(line, b, low > at ? (uint32_t)(low - at) : 0,
                    high < at + LINE ? (uint32_t)(high - at) : LINE);
        line_unlock(line);
    }
}

void hazard_allocated(struct hazard_block *b, uint64_t low, uint64_t high)
{
    while (low < high) {
        uint64_t number = low >> PAGE_SHIFT, end = (number + 1) << PAGE_SHIFT;
        uint64_t stop = high < end ? high : end;
        struct page *p = page_find(b->run, number);
        if (p != NULL)
            page_forget(p, b, low, stop);
        low = stop;
    }
}

/* ---- accesses ---- */

/* Lanes of an instruction that access memory one after the other, or all the same: bytes [low,
 * high). */
struct run_of_lanes {
    uint64_t low, high;
    uint64_t origin; /* of lane 0 */
    struct pattern p;
};

static void access_lines(struct looking *l, const struct run_of_lanes *r)
{
    for (uint64_t at = r->low & ~(uint64_t)(LINE - 1); at < r->high; at += LINE) {
        struct line *line =
            l->of != NULL ? shared_line(l->of, at / LINE) : global_line(l->b, at / LINE);
        struct pattern p = r->p;
        if (line == NULL)
            return;
        p.low = (uint8_t)(r->low > at ? r->low - at : 0);
        p.high = (uint8_t)(r->high < at + LINE ? r->high - at : LINE);
        if (p.shift != SHIFT_ONE) {
            int first, last; /* lanes elsewhere are not this line's */
            p.origin = (int16_t)(int64_t)(r->origin - at);
            first = (p.low - p.origin) >> p.shift;
            last = (p.high - 1 - p.origin) >> p.shift;
            p.mask &= (0xffffffffu << first) & (0xffffffffu >> (31 - last));
        }
        l->line = at;
        if (l->of == NULL)
            line_lock(line);
        line_access(line, l, &p);
        if (l->of == NULL)
            line_unlock(line);
    }
}

/* Whether all lanes of `mask` write the same number. */
static bool one_value(const uint64_t *values, uint32_t mask)
{
    uint64_t first = values[__builtin_ctz(mask)], differ = 0;
    for (uint32_t lane = 0; lane < JIT_WARP; lane++)
        differ |= (mask >> lane & 1) != 0 ? values[lane] ^ first : 0;
    return differ == 0;
}

static void access_run(struct looking *l, struct run_of_lanes *r, const struct stamp *s)
{
    r->p.s = *s;
    r->p.s.lane = (uint8_t)__builtin_ctz(r->p.mask);
    bool several = (r->p.mask & (r->p.mask - 1)) != 0;
    bool writes = (s->how & (STAMP_WRITE | STAMP_STRONG)) == STAMP_WRITE;
    if (r->p.shift == SHIFT_ONE && several)
        r->p.s.how |= STAMP_MANY;
    if (!several) {
        r->p.shift = SHIFT_ONE;
    }
    if (writes && l->values != NULL && one_value(l->values, r->p.mask)) {
        r->p.value = (uint32_t)l->values[r->p.s.lane];
        r->p.s.how |= STAMP_VALUE;
    }
    access_lines(l, r);
}

/* Lanes that write the same bytes in one instruction: found at once, unless they write the same. */
static void same_instruction(struct looking *l, const struct run_of_lanes *r, const struct stamp *s,
                             uint32_t bytes)
{
    uint32_t mask = r->p.mask, first = (uint32_t)__builtin_ctz(mask);
    if ((s->how & (STAMP_WRITE | STAMP_STRONG | STAMP_MATRIX)) != STAMP_WRITE ||
        (mask & (mask - 1)) == 0 || l->values == NULL || one_value(l->values, mask))
        return;
    uint32_t second = first;
    for (uint32_t left = mask; left != 0 && second == first; left &= left - 1)
        if (l->values[__builtin_ctz(left)] != l->values[first])
            second = (uint32_t)__builtin_ctz(left);
    struct stamp old = *s;
    l->line = r->low;
    run_found(l, &old, first, s, second, 0, bytes);
}

static void access_lanes(struct looking *l, uint32_t mask, const uint64_t *address, uint32_t bytes,
                         const struct stamp *s)
{
    bool power = (bytes & (bytes - 1)) == 0 && bytes <= 32;
    uint32_t shift = (uint32_t)__builtin_ctz(bytes);
    for (uint32_t left = mask; left != 0;) {
        uint32_t first = (uint32_t)__builtin_ctz(left), taken = (uint32_t)1 << first;
        uint32_t last = first, rest = left & (left - 1);
        uint64_t base = address[first] - l->base;
        bool same = false, next = false;
        for (; rest != 0; rest &= rest - 1) {
            uint32_t lane = (uint32_t)__builtin_ctz(rest);
            if (!next && address[lane] - l->base == base)
                same = true;
            else if (!same && power &&
                     address[lane] - l->base == base + ((uint64_t)(lane - first) << shift))
                next = true;
            else
                break;
            taken |= (uint32_t)1 << lane;
            last = lane;
        }
        struct run_of_lanes r = {
            .low = base,
            .high = base + bytes + (next ? (uint64_t)(last - first) * bytes : 0),
            .origin = base - (uint64_t)first * bytes,
            .p = {.mask = taken, .shift = (uint8_t)(next ? shift : SHIFT_ONE)}};
        if (same)
            same_instruction(l, &r, s, bytes);
        access_run(l, &r, s);
        left &= ~taken;
    }
}

static uint8_t stamp_how(uint32_t how)
{
    return (uint8_t)(STAMP_USED | ((how & JIT_ACCESS_WRITE) != 0 ? STAMP_WRITE : 0) |
                     ((how & JIT_ACCESS_STRONG) != 0 ? STAMP_STRONG : 0) |
                     ((how & JIT_ACCESS_MATRIX) != 0 ? STAMP_MATRIX : 0) |
                     ((how & JIT_ACCESS_EXCHANGE) != 0 ? STAMP_EXCHANGE : 0) |
                     (JIT_ACCESS_SCOPE(how) & 3) << STAMP_SCOPE_SHIFT);
}

void hazard_access(struct hazard_block *b, struct hazard_block *of, uint32_t warp, uint32_t mask,
                   const uint64_t address[JIT_WARP], uint32_t how, const uint64_t *values,
                   const void *pc)
{
    threads_heard(b, warp);
    if (b->run->pc == 0)
        b->run->pc = (uint64_t)(uintptr_t)pc;
    uint32_t as = warp + ((how & JIT_ACCESS_ASYNC) != 0 ? ASYNC_WARPS : 0);
    struct looking l = {.b = b,
                        .of = of,
                        .base = of != NULL ? of->shared : 0,
                        .warp = as,
                        .pc = pc,
                        .values = values};
    struct stamp s = {.block = b->number,
                      .clock = b->clock,
                      .warp = (uint16_t)as,
                      .how = stamp_how(how),
                      .site = (uint32_t)(uintptr_t)pc};
    access_lanes(&l, mask, address, how & JIT_ACCESS_BYTES, &s);
    if ((how & (JIT_ACCESS_WRITE | JIT_ACCESS_STRONG)) != (JIT_ACCESS_WRITE | JIT_ACCESS_STRONG))
        return;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        threads_write(b, of, warp, lane, address[lane], how);
    }
}

void hazard_exchanged(struct hazard_block *b, struct hazard_block *of, uint32_t warp, uint32_t mask,
                      const uint64_t address[JIT_WARP], uint32_t how, const void *pc)
{
    /* Releases have raised the clock, once a lane. */
    uint32_t told = (how & JIT_ACCESS_RELEASE) != 0 ? (uint32_t)__builtin_popcount(mask) : 0;
    struct looking l = {.b = b,
                        .of = of,
                        .base = of != NULL ? of->shared : 0,
                        .warp = warp,
                        .pc = pc,
                        .exchanged = true};
    struct stamp s = {.block = b->number,
                      .clock = b->clock - told,
                      .warp = (uint16_t)warp,
                      .how = stamp_how(how),
                      .site = (uint32_t)(uintptr_t)pc};
    access_lanes(&l, mask, address, how & JIT_ACCESS_BYTES, &s);
}

/* ---- runs ---- */

struct hazard_run *hazard_run_new(void)
{
    static _Atomic uint64_t last;
    struct hazard_run *run = xcalloc(1, sizeof *run);
    run->serial = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    pthread_mutex_init(&run->lock, NULL);
    atomic_init(&run->grid_phase, 1);
    return run;
}

void hazard_run_end(struct hazard_run *run,
                    void (*found)(void *self, const struct hazard_found *found), void *self)
{
    for (size_t i = 0; i < run->found.count; i++)
        found(self, &run->found.items[i]);
    for (uint32_t i = 0; i < run->page_capacity; i++) {
        for (uint32_t n = 0; run->pages[i] != NULL && n < PAGE_LINES; n++)
            line_clear(&run->pages[i]->lines[n]);
        free(run->pages[i]);
    }
    free(run->pages);
    free(run->found.items);
    sync_table_free(&run->syncs);
    vector_unref(run->grid_now);
    vector_unref(run->grid_passed);
    pthread_mutex_destroy(&run->lock);
    free(run);
}
