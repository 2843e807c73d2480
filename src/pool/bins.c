/* bins: a shard's free blocks: slots for sizes that come again, bins for all others.
 *
 * A freed block goes into the slot of its size as it is, and an allocation of that size takes it
 * from there: a pair of calls moves one pointer. Small sizes are rounded up to a class's, so that
 * each has a slot of its own; larger ones are exact and share slots. What is pushed out of its slot
 * by another size, or in the way of a larger request, is joined with its neighbours and goes into
 * the bins: 32 steps to a doubling, each a list, found by bit maps (two-level segregated fit). */
#include <string.h>

#include "pool/internal.h"

/* ---- spare blocks ---- */

struct block *spare_take(struct pool_shard *s)
{
    if (s->spare == NULL)
        s->spare = map_take_spares(s->map, 32);
    struct block *b = s->spare;
    if (b != NULL)
        s->spare = b->next;
    return b;
}

void spare_put(struct pool_shard *s, struct block *b)
{
    atomic_store_explicit(&b->word, BLOCK_NONE, memory_order_relaxed);
    b->next = s->spare;
    s->spare = b;
}

/* ---- bins ---- */

static uint64_t free_word(const struct pool_shard *s) { return s->id << 8 | BLOCK_FREE; }

static void link_block(struct pool_shard *s, struct block *b)
{
    unsigned c = class_of(get(&b->granules)), d = c / BIN_STEPS, n = c % BIN_STEPS;
    struct block **head = &s->bins.heads[d][n];
    b->prev = NULL;
    b->next = *head;
    if (*head != NULL)
        (*head)->prev = b;
    *head = b;
    s->bins.steps[d] |= (uint32_t)1 << n;
    s->bins.doublings |= (uint64_t)1 << d;
    atomic_store_explicit(&b->word, free_word(s), memory_order_release);
}

void bins_remove(struct pool_shard *s, struct block *b)
{
    unsigned c = class_of(get(&b->granules)), d = c / BIN_STEPS, n = c % BIN_STEPS;
    if (b->next != NULL)
        b->next->prev = b->prev;
    if (b->prev != NULL) {
        b->prev->next = b->next;
        return;
    }
    s->bins.heads[d][n] = b->next;
    if (b->next != NULL)
        return;
    s->bins.steps[d] &= ~((uint32_t)1 << n);
    if (s->bins.steps[d] == 0)
        s->bins.doublings &= ~((uint64_t)1 << d);
}

/* The later of both moments. */
static void join_points(struct block *b, const struct block *with)
{
    b->timestamp = b->timestamp > with->timestamp ? b->timestamp : with->timestamp;
    b->count = b->count > with->count ? b->count : with->count;
}

void bins_add(struct pool_shard *s, struct block *b)
{
    struct map *m = s->map;
    uint64_t first = get(&b->first), granules = get(&b->granules), mine = free_word(s);
    /* A neighbour whose word says that it is free here is what it says: this lock guards it. */
    struct block *after = map_edge(m, first + granules);
    if (after != NULL && get(&after->word) == mine && get(&after->first) == first + granules) {
        bins_remove(s, after);
        granules += get(&after->granules);
        join_points(b, after);
        spare_put(s, after);
    }
    struct block *before = first > 0 ? map_edge(m, first - 1) : NULL;
    if (before != NULL && get(&before->word) == mine &&
        get(&before->first) + get(&before->granules) == first) {
        bins_remove(s, before);
        first = get(&before->first);
        granules += get(&before->granules);
        join_points(b, before);
        spare_put(s, before);
    }
    set(&b->first, first);
    set(&b->granules, granules);
    map_set_edges(m, b);
    link_block(s, b);
}

/* The smallest of the first few blocks of a list that are large enough. */
static struct block *smallest(struct block *list, uint64_t granules)
{
    struct block *best = NULL;
    uint64_t size = UINT64_MAX;
    for (int looked = 0; list != NULL && looked < 4; list = list->next, looked++) {
        uint64_t n = get(&list->granules);
        if (n >= granules && n < size) {
            best = list;
            size = n;
        }
    }
    return best;
}

struct block *bins_fit(struct pool_shard *s, uint64_t granules)
{
    unsigned c = class_of(granules), d = c / BIN_STEPS, n = c % BIN_STEPS;
    struct block *b = smallest(s->bins.heads[d][n], granules);
    if (b != NULL)
        return b;
    /* The next bin that has any: all of its blocks are large enough. */
    uint32_t steps = n + 1 < BIN_STEPS ? s->bins.steps[d] & (~(uint32_t)0 << (n + 1)) : 0;
    if (steps == 0) {
        uint64_t doublings = s->bins.doublings & (~(uint64_t)0 << (d + 1));
        if (doublings == 0)
            return NULL;
        d = (unsigned)__builtin_ctzll(doublings);
        steps = s->bins.steps[d];
    }
    return s->bins.heads[d][__builtin_ctz(steps)];
}

/* Records the block in the chunks that it reaches into. */
static void cover(struct map *m, const struct block *b)
{
    uint64_t first = get(&b->first), last = first + get(&b->granules) - 1;
    uint32_t n = block_number(m, b);
    for (uint64_t c = first / CHUNK_GRANULES + 1; c <= last / CHUNK_GRANULES; c++)
        atomic_store_explicit(&m->covers[c], n, memory_order_relaxed);
}

struct block *bins_cut(struct pool_shard *s, struct block *b, uint64_t granules)
{
    uint64_t size = get(&b->granules);
    if (size > granules) {
        struct block *rest = spare_take(s);
        if (rest == NULL) {
            link_block(s, b);
            return NULL;
        }
        set(&rest->first, get(&b->first) + granules);
        set(&rest->granules, size - granules);
        set(&rest->asked, 0);
        rest->timestamp = b->timestamp;
        rest->count = b->count;
        set(&b->granules, granules);
        map_set_edges(s->map, rest);
        map_set_edges(s->map, b);
        link_block(s, rest);
    }
    cover(s->map, b);
    return b;
}

/* Visits the blocks of one bin. */
static bool visit_bin(struct pool_shard *s, unsigned d, unsigned n, uint64_t granules,
                      bins_visitor *visit, void *self)
{
    for (struct block *b = s->bins.heads[d][n], *next; b != NULL; b = next) {
        next = b->next;
        if (get(&b->granules) >= granules && !visit(self, s, b))
            return false;
    }
    return true;
}

void bins_visit(struct pool_shard *s, uint64_t granules, bins_visitor *visit, void *self)
{
    unsigned c = class_of(granules), from = c / BIN_STEPS, step = c % BIN_STEPS;
    uint64_t doublings;
    uint32_t steps;
    for (unsigned d = from; (doublings = s->bins.doublings >> d) != 0; d++) {
        d += (unsigned)__builtin_ctzll(doublings);
        for (unsigned n = d == from ? step : 0;
             n < BIN_STEPS && (steps = s->bins.steps[d] >> n) != 0; n++) {
            n += (unsigned)__builtin_ctz(steps);
            if (!visit_bin(s, d, n, granules, visit, self))
                return;
        }
    }
}

void bins_visit_down(struct pool_shard *s, uint64_t granules, bins_visitor *visit, void *self)
{
    unsigned c = class_of(granules), to = c / BIN_STEPS, step = c % BIN_STEPS;
    for (unsigned d = BIN_DOUBLINGS; d-- > to;)
        for (unsigned n = BIN_STEPS; n-- > (d == to ? step : 0) && s->bins.steps[d] != 0;)
            if (!visit_bin(s, d, n, granules, visit, self))
                return;
}

/* ---- quick slots ---- */

void remember_freed(struct pool_shard *s, const struct block *b)
{
    s->recently_freed[s->freed_ever++ % FREED_KEPT] =
        (struct freed_block){.first = get(&b->first),
                             .asked = get(&b->asked),
                             .serial = b->serial,
                             .made = b->made,
                             .freed = {b->freed.at, (uint32_t)b->freed.call, s->stream_id}};
}

void slot_flush(struct pool_shard *s, struct quick_slot *slot)
{
    for (struct block *b = slot->head, *next; b != NULL; b = next) {
        next = b->next;
        remember_freed(s, b);
        s->quick_blocks--;
        bins_add(s, b);
    }
    slot->head = NULL;
}

/* Empties the slots from one up to another. */
static void flush(struct pool_shard *s, int from, int to)
{
    for (int i = from; i < to && s->quick_blocks > 0; i++)
        slot_flush(s, &s->quick[i]);
}

struct block *quick_join(struct pool_shard *s, uint64_t granules)
{
    flush(s, SMALL_CLASSES, QUICK_SLOTS);
    struct block *b = bins_fit(s, granules);
    for (int end = SMALL_CLASSES; end > 0 && b == NULL; end -= BIN_STEPS) {
        flush(s, end > BIN_STEPS ? end - BIN_STEPS : 0, end);
        b = bins_fit(s, granules);
    }
    return b;
}

void quick_flush(struct pool_shard *s)
{
    flush(s, SMALL_CLASSES, QUICK_SLOTS);
    flush(s, 0, SMALL_CLASSES);
}
