/* float_sums: adds to memory what a call has collected of sums of floats (abi/kernel_abi.h).
 *
 * A sum of floats depends on its order, and a GPU's is a sequence of additions, each rounded. So
 * what lanes add is kept as it is, number by number, and added here: to copies of the elements, one
 * after the other, and then each element that has changed is exchanged for what memory had. That is
 * one of the sequences in which the additions could have come. Where an element has changed
 * meanwhile, its numbers are added anew.
 *
 * Two threads that add to the same elements would only undo each other's work. So where few run a
 * grid, one adds at a time, to all its pages. Many sort their numbers by parts of the pages first,
 * and one thread at a time adds to a part. What is right does not depend on that, as others may
 * change the same memory by other means. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "exec/internal.h"

enum {
    PAGE = JIT_SUM_WINDOW / JIT_SUM_PAGES,
    ELEMENTS = JIT_SUM_WINDOW / 4, /* and one for lanes that add nothing */
    RECORDS = 4096,
    ROUNDS = 4,
    AHEAD = 256, /* elements */
    RUN = 8,     /* lanes that are looked at together */
    FEW = 16,    /* numbers an element that are too few to gain by it; */
    PAUSE = 15,  /* then so many calls do without */
    KERNELS = 16,
    PATIENCE = 1 << 20, /* looks at whose turn it is */
    MANY = 4,           /* threads that sort by parts */
    PART = 1024 / 4,    /* elements of a part */
    PARTS = ELEMENTS / PART,
    ALL = PARTS,
    TURNS = 128,
};

/* Numbers by parts, in each in the order in which they came. */
struct sorted_sums {
    struct sum_number {
        float value;
        uint32_t place;
    } numbers[RECORDS * JIT_WARP];
    uint32_t end[PARTS + 1]; /* of each part; the last is of lanes that add nothing */
};

struct float_sums {
    struct jit_sum_record records[RECORDS];
    float sum[ELEMENTS + 1];
    uint32_t old[ELEMENTS];
    uint8_t todo[ELEMENTS + 1]; /* elements of which the numbers are to be added */
    uint32_t pages;             /* a bit for each that was touched */
    struct {
        uint64_t start;         /* the last call's pages */
        uint32_t pause;         /* calls that are to do without */
    } last[KERNELS];            /* by kernel */
    bool used;                  /* by a call */
    struct turn *turn;          /* that the thread has, or NULL */
    struct sorted_sums *sorted; /* or NULL */
};

/* Who adds now: to a part of memory, or to all pages of a call. */
static struct turn {
    _Alignas(64) struct grid_worker *_Atomic owner;
} turns[TURNS], whole_turn;

static bool try_turn(struct grid_worker *w, struct turn *t)
{
    struct grid_worker *none = NULL;
    if (atomic_load_explicit(&t->owner, memory_order_relaxed) != NULL ||
        !atomic_compare_exchange_strong_explicit(&t->owner, &none, w, memory_order_acquire,
                                                 memory_order_relaxed))
        return false;
    w->sums->turn = t;
    return true;
}

/* False after many tries: in a forked child the owner may be gone. */
static bool wait_a_little(unsigned *tries)
{
    if (++*tries % 64 == 63)
        sched_yield();
    else
        pause_cpu();
    return *tries < PATIENCE;
}

static void end_turn(struct grid_worker *w)
{
    if (w->sums->turn != NULL)
        atomic_store_explicit(&w->sums->turn->owner, NULL, memory_order_release);
    w->sums->turn = NULL;
}

void float_sums_abandon(struct grid_worker *w)
{
    if (w->sums == NULL)
        return;
    w->sums->used = false;
    end_turn(w);
}

void float_sums_free(struct grid_worker *w)
{
    if (w->sums != NULL)
        free(w->sums->sorted);
    free(w->sums);
    w->sums = NULL;
}

/* ---- one by one ---- */

static uint32_t flushed(uint32_t bits)
{
    return (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits;
}

static uint32_t add_bits(uint32_t a, uint32_t b)
{
    float x, y;
    a = flushed(a);
    b = flushed(b);
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x += y;
    memcpy(&a, &x, sizeof a);
    return flushed(a);
}

/* Adds `count` numbers to the element, as one exchange. */
static void add_some(uint32_t *to, const float *value, int count)
{
    uint32_t old = __atomic_load_n(to, __ATOMIC_RELAXED), sum;
    do {
        sum = old;
        for (int n = 0; n < count; n++) {
            uint32_t x;
            memcpy(&x, &value[n], sizeof x);
            sum = add_bits(sum, x);
        }
    } while (
        !__atomic_compare_exchange_n(to, &old, sum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/* Adds the numbers of the elements in `todo`; NULL: of all. */
static void add_each(struct float_sums *f, const struct jit_float_sums *s, const uint8_t *todo)
{
    for (uint32_t n = 0; n < s->count; n++) {
        const struct jit_sum_record *r = &f->records[n];
        for (int l = 0, count; l < JIT_WARP; l += count) {
            uint32_t place = r->place[l] / 4u;
            for (count = 1; l + count < JIT_WARP && r->place[l + count] == r->place[l];)
                count++;
            if (place < ELEMENTS && (todo == NULL || todo[place]))
                add_some((uint32_t *)s->start + place, &r->value[l], count);
        }
    }
}

/* ---- many at a time ---- */

/* May a sum with these bits be a subnormal? (codegen/memory/atomic_groups.c) */
static bool is_small(uint32_t bits) { return (bits & 0x7fffffff) - 1 < ((127u - 102) << 23) - 1; }

/* Copies the elements. False: one is so small that sums may be subnormal. */
static bool copy_elements(struct float_sums *f, uint64_t start, uint64_t from, uint64_t to)
{
    bool small = false;
    for (uint64_t at = from; at < to; at++) {
        f->old[at] = __atomic_load_n((uint32_t *)start + at, __ATOMIC_RELAXED);
        small |= is_small(f->old[at]);
    }
    memcpy(&f->sum[from], &f->old[from], (to - from) * 4);
    return !small;
}

static float *sum_at(struct float_sums *f, uint32_t place)
{
    return (float *)((char *)f->sum + place);
}

/* Adds the numbers of RUN lanes. Where all go to one place, as they often do, the sum stays in a
 * register: a load waits for the store before it. */
static inline void add_run(struct float_sums *f, const float *value, const uint16_t *place)
{
    uint64_t places[RUN / 4];
    memcpy(places, place, sizeof places);
    if (places[0] == place[0] * 0x0001000100010001u && places[1] == places[0]) {
        float x = *sum_at(f, place[0]);
        for (int n = 0; n < RUN; n++)
            x = x + value[n];
        *sum_at(f, place[0]) = x;
        return;
    }
    for (int n = 0; n < RUN; n++) {
        float *to = sum_at(f, place[n]);
        *to = *to + value[n];
    }
}

static void add_records(struct float_sums *f, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++) {
        const struct jit_sum_record *r = &f->records[n];
        for (int l = 0; l < JIT_WARP; l += RUN)
            add_run(f, &r->value[l], &r->place[l]);
    }
}

/* Exchanges element `at` for its sum; false: it has changed. */
static bool exchange_one(struct float_sums *f, uint64_t start, uint64_t at)
{
    uint32_t old = f->old[at], sum;
    memcpy(&sum, &f->sum[at], sizeof sum);
    return __atomic_compare_exchange_n((uint32_t *)start + at, &old, sum, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

/* Exchanges the elements in `todo` that have a sum of their own; those that have changed stay
 * there. How many there were, and in *left how many stay. Both ends are even. */
static uint64_t exchange(struct float_sums *f, uint64_t start, uint64_t from, uint64_t to,
                         uint64_t *left)
{
    uint64_t changed = 0;
    *left = 0;
    for (uint64_t at = from; at < to; at += 2) {
        uint64_t old, sum;
        uint16_t todo;
        if (at % 16 == 0) /* which other cores may have */
            __builtin_prefetch((uint32_t *)start + at + AHEAD, 1);
        memcpy(&old, &f->old[at], sizeof old);
        memcpy(&sum, &f->sum[at], sizeof sum);
        memcpy(&todo, &f->todo[at], sizeof todo);
        if (old == sum || todo == 0) {
            f->todo[at] = f->todo[at + 1] = 0; /* additions that changed nothing are done, too */
            continue;
        }
        changed += 2;
        if (todo == 0x101 &&
            __atomic_compare_exchange_n((uint64_t *)((uint32_t *)start + at), &old, sum, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            f->todo[at] = f->todo[at + 1] = 0;
            continue;
        }
        for (uint64_t e = at; e < at + 2; e++) {
            if (f->todo[e] && (memcmp(&f->old[e], &f->sum[e], 4) == 0 || exchange_one(f, start, e)))
                f->todo[e] = 0;
            *left += f->todo[e];
        }
    }
    return changed;
}

/* Adds numbers of a part, as add_run does. */
static inline void add_sorted(struct float_sums *f, const struct sum_number *n, uint32_t count)
{
    uint32_t at = 0;
    for (uint32_t differs; at + RUN <= count; at += RUN) {
        differs = 0;
        for (int l = 1; l < RUN; l++)
            differs |= n[at + l].place ^ n[at].place;
        float *to = sum_at(f, n[at].place), x = *to;
        if (differs == 0) {
            for (int l = 0; l < RUN; l++)
                x = x + n[at + l].value;
            *to = x;
            continue;
        }
        for (int l = 0; l < RUN; l++) {
            to = sum_at(f, n[at + l].place);
            *to = *to + n[at + l].value;
        }
    }
    for (; at < count; at++) {
        float *to = sum_at(f, n[at].place);
        *to = *to + n[at].value;
    }
}

static uint32_t first_of(const struct sorted_sums *o, uint32_t part)
{
    return part == 0 ? 0 : o->end[part - 1];
}

static void add_part_of(struct float_sums *f, uint32_t part)
{
    const struct sorted_sums *o = f->sorted;
    uint32_t first = first_of(o, part);
    add_sorted(f, &o->numbers[first], o->end[part] - first);
}

/* Adds the numbers of a part, or ALL, to the elements from `from` to `to`. How many have changed.
 */
static uint64_t add_to_elements(struct float_sums *f, const struct jit_float_sums *s, uint32_t part,
                                uint64_t from, uint64_t to)
{
    uint64_t left = 1, changed = 0;
    memset(&f->todo[from], 1, to - from);
    for (int round = 0; round < ROUNDS && left > 0; round++) {
        if (!copy_elements(f, s->start, from, to))
            break;
        if (part == ALL)
            add_records(f, s->count);
        else
            add_part_of(f, part);
        uint64_t here = exchange(f, s->start, from, to, &left);
        changed = round == 0 ? here : changed;
    }
    if (left > 0) {
        add_each(f, s, f->todo);
        memset(&f->todo[from], 0, to - from);
    }
    return changed;
}

/* In turn with other threads: to all pages at once. */
static uint64_t add_pages(struct grid_worker *w, const struct jit_float_sums *s)
{
    for (unsigned tries = 0; !try_turn(w, &whole_turn) && wait_a_little(&tries);) {
    }
    uint64_t changed = add_to_elements(w->sums, s, ALL, 0, s->size / 4);
    end_turn(w);
    return changed;
}

/* ---- by parts ---- */

static inline uint32_t part_of(uint32_t place) { return place / (PART * 4); }

/* Whether the numbers of RUN lanes are of one part, as they often are. */
static inline bool of_one_part(const uint16_t *place)
{
    const uint64_t each = 0x0001000100010001u, part = (UINT16_MAX & ~(PART * 4 - 1)) * each;
    uint64_t places[RUN / 4], one = place[0] * each;
    memcpy(places, place, sizeof places);
    return (((places[0] ^ one) | (places[1] ^ one)) & part) == 0;
}

/* Where the numbers of each part are to begin. Neighbouring lanes count by themselves, as an
 * increment waits for the one before it. */
static void count_parts(const struct jit_sum_record *r, uint32_t count, uint32_t *begin)
{
    enum { COUNTS = 4 };
    uint32_t counts[PARTS + 1][COUNTS] = {0}, at = 0;
    for (uint32_t n = 0; n < count; n++)
        for (int l = 0; l < JIT_WARP; l += RUN) {
            const uint16_t *place = &r[n].place[l];
            if (of_one_part(place))
                counts[part_of(place[0])][0] += RUN;
            else
                for (int k = 0; k < RUN; k++)
                    counts[part_of(place[k])][k % COUNTS]++;
        }
    for (uint32_t part = 0; part <= PARTS; part++) {
        begin[part] = at;
        for (int k = 0; k < COUNTS; k++)
            at += counts[part][k];
    }
}

static void sort_by_parts(struct sorted_sums *o, const struct jit_sum_record *r, uint32_t count)
{
    uint32_t *end = o->end; /* so far */
    count_parts(r, count, end);
    for (uint32_t n = 0; n < count; n++)
        for (int l = 0; l < JIT_WARP; l += RUN) {
            const uint16_t *place = &r[n].place[l];
            const float *value = &r[n].value[l];
            if (of_one_part(place)) {
                struct sum_number *to = &o->numbers[end[part_of(place[0])]];
                end[part_of(place[0])] += RUN;
                for (int k = 0; k < RUN; k++)
                    to[k] = (struct sum_number){value[k], place[k]};
            } else {
                for (int k = 0; k < RUN; k++)
                    o->numbers[end[part_of(place[k])]++] = (struct sum_number){value[k], place[k]};
            }
        }
}

/* Part by part, those first to which no other thread adds. */
static uint64_t add_parts(struct grid_worker *w, const struct jit_float_sums *s)
{
    struct float_sums *f = w->sums;
    uint32_t left = 0;
    uint64_t changed = 0;
    bool patient = true;
    sort_by_parts(f->sorted, f->records, s->count);
    for (uint32_t part = 0; part < PARTS; part++)
        left |= (uint32_t)(first_of(f->sorted, part) < f->sorted->end[part]) << part;
    for (unsigned tries = 0; left != 0; patient = wait_a_little(&tries)) {
        for (uint32_t n = 0; n < PARTS; n++) {
            uint32_t part = (n + w->smid * (PARTS / 8)) % PARTS;
            struct turn *t = &turns[(s->start / (PART * 4) + part) % TURNS];
            if ((left >> part & 1) == 0 || (!try_turn(w, t) && patient))
                continue;
            changed += add_to_elements(f, s, part, part * PART, (part + 1) * PART);
            end_turn(w);
            left &= ~(1u << part);
            tries = 0;
        }
    }
    return changed;
}

/* Whether many threads run the grid, so that numbers are sorted. */
static bool sorts(struct float_sums *f, const struct jit_block *j)
{
    if (((const struct grid_block *)j->grid)->run->workers < MANY)
        return false;
    if (f->sorted == NULL)
        f->sorted = malloc(sizeof *f->sorted);
    return f->sorted != NULL;
}

/* ---- helpers ---- */

/* Which of f->last is the kernel's. */
static uint64_t slot_of(const struct jit_block *j)
{
    uint64_t kernel = (uint64_t)((const struct grid_block *)j->grid)->run->launch.kernel;
    return (kernel >> 4 ^ kernel >> 12) % KERNELS;
}

/* Adds the records to memory. False: they were too few to gain by it. */
static bool add_all(struct grid_worker *w, const struct jit_block *j, struct jit_float_sums *s)
{
    struct float_sums *f = w->sums;
    uint64_t numbers = (uint64_t)s->count * JIT_WARP, changed = numbers;
    memset(f->todo, 0, sizeof f->todo); /* a fault may have left some */
    bool many = sorts(f, j);            /* where adding to memory takes long */
    if (numbers < (many ? s->size / 4 : s->size))
        add_each(f, s, NULL);
    else if (many)
        changed = add_parts(w, s);
    else
        changed = add_pages(w, s);
    s->count = 0;
    return numbers > 0 && numbers >= changed * FEW;
}

void weir_rt_sums_add(struct jit_block *j, struct jit_float_sums *s, uint32_t keep)
{
    struct grid_worker *w = ((struct grid_block *)j->grid)->worker;
    uint64_t begin = clock_ns();
    bool gained = add_all(w, j, s);
    w->summed_ns += clock_ns() - begin;
    if (keep)
        return;
    /* Few numbers for each element, and other elements than the call before: so it may go on. */
    uint64_t slot = slot_of(j);
    if (!gained && s->start != w->sums->last[slot].start)
        w->sums->last[slot].pause = PAUSE;
    w->sums->last[slot].start = s->start;
    s->size = 0;
    w->sums->pages = 0;
    w->sums->used = false;
}

/* Touches the elements of the lanes, which faults where they cannot be written; the lowest and the
 * highest address. */
static void touch_lanes(uint32_t mask, const uint64_t *address, uint64_t *low, uint64_t *high)
{
    *low = UINT64_MAX;
    *high = 0;
    for (; mask != 0; mask &= mask - 1) {
        uint64_t at = address[__builtin_ctz(mask)];
        __atomic_fetch_or((uint32_t *)at, 0, __ATOMIC_RELAXED);
        *low = at < *low ? at : *low;
        *high = at > *high ? at : *high;
    }
}

/* Whether a call that collects nothing yet may begin to. */
static bool may_begin(const struct jit_block *j, struct grid_worker *w)
{
    if (w->sums == NULL)
        w->sums = calloc(1, sizeof *w->sums);
    if (w->sums == NULL || w->sums->used)
        return false;
    uint32_t *pause = &w->sums->last[slot_of(j)].pause;
    if (*pause == 0)
        return true;
    --*pause;
    return false;
}

void weir_rt_sums_admit(struct jit_block *j, struct jit_float_sums *s, uint32_t mask,
                        const uint64_t *address)
{
    struct grid_worker *w = ((struct grid_block *)j->grid)->worker;
    if (s->size == 0 && !may_begin(j, w)) {
        s->tries = 0;
        return;
    }
    struct float_sums *f = w->sums;
    uint64_t low, high;
    touch_lanes(mask, address, &low, &high);
    low &= ~(uint64_t)(PAGE - 1);
    uint64_t start = s->size != 0 && s->start < low ? s->start : low;
    if (high - start >= JIT_SUM_WINDOW || (s->size != 0 && s->start - start >= JIT_SUM_WINDOW)) {
        if (s->size != 0) /* elsewhere: what was collected is added, and that is all */
            weir_rt_sums_add(j, s, false);
        s->tries = 0;
        return;
    }
    if (s->size == 0) {
        f->pages = 0;
    } else if (start != s->start) {
        add_all(w, j, s);
        f->pages <<= (s->start - start) / PAGE;
    }
    f->pages &= (1u << JIT_SUM_PAGES) - 1;
    for (uint32_t left = mask; left != 0; left &= left - 1)
        f->pages |= 1u << (address[__builtin_ctz(left)] - start) / PAGE;
    f->used = true;
    s->start = start;
    s->records = (uint64_t)f->records;
    s->capacity = RECORDS;
    s->size = (uint64_t)__builtin_ctz(~f->pages) * PAGE;
}
