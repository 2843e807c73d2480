/* cells: who accessed each word, or each byte, of a line whose accesses follow no pattern. */
#include <stdlib.h>
#include <string.h>

#include "hazards/internal.h"

enum { KEPT = 2 };

/* The accesses of a granule that may still race with later ones. */
struct cell {
    struct stamp write;        /* the last plain one, */
    uint32_t value;            /* and what it wrote */
    struct stamp reads[KEPT];  /* reads, */
    struct stamp strong[KEPT]; /* and strong writes, that nothing orders among each other; the
                                * latest is the last */
};

struct cells {
    uint32_t shift; /* 0: bytes; else words */
    struct cell items[];
};

struct cells *cells_new(bool bytes)
{
    uint32_t shift = bytes ? 0 : WORD_SHIFT;
    struct cells *c = xcalloc(1, sizeof *c + (LINE >> shift) * sizeof *c->items);
    c->shift = shift;
    return c;
}

void cells_free(struct cells *c) { free(c); }

bool cells_fit(const struct cells *c, const struct pattern *p)
{
    return c->shift == 0 || pattern_in_words(p);
}

struct cells *cells_split(struct cells *c)
{
    struct cells *bytes = cells_new(true);
    for (uint32_t i = 0; i < LINE; i++)
        bytes->items[i] = c->items[i >> c->shift];
    free(c);
    return bytes;
}

void cells_forget(struct cells *c, uint32_t low, uint32_t high)
{
    memset(&c->items[low >> c->shift], 0,
           ((high >> c->shift) - (low >> c->shift)) * sizeof *c->items);
}

static inline bool before(const struct looking *l, const struct stamp *old, uint32_t lane)
{
    return stamp_plainly_before(old, l, lane) ||
           threads_before(l->b, l->warp, lane, old->block, old->warp, old->lane, old->clock);
}

/* Whether the stamp can race with what the lane does now: it is one, and not plainly before. */
static inline bool may_race(const struct looking *l, const struct stamp *old, uint32_t lane)
{
    return (old->how & STAMP_USED) != 0 && !stamp_plainly_before(old, l, lane);
}

static void look(const struct looking *l, const struct stamp *old, const struct stamp *now,
                 uint32_t low, uint32_t high)
{
    if (stamps_conflict(old, now, l->b) && !before(l, old, now->lane))
        run_found(l, old, old->lane, now, now->lane, low, high);
}

/* Keeps `now` among the accesses of its kind: instead of one that comes before it, or of one that
 * tells less than it does. */
static void keep(const struct looking *l, struct stamp kept[KEPT], const struct stamp *now)
{
    for (int n = 0; n < KEPT; n++)
        if ((kept[n].how & STAMP_USED) == 0 || before(l, &kept[n], now->lane)) {
            kept[n] = *now;
            return;
        }
    bool same_block = kept[0].block == kept[1].block;
    if ((same_block && now->block != kept[0].block) ||
        (same_block && kept[0].warp == kept[1].warp && now->warp != kept[0].warp))
        kept[1] = *now;
}

/* Of strong writes the latest is kept whatever it tells, as `stamp_seen_through` asks for it. */
static void keep_strong(const struct looking *l, struct stamp kept[KEPT], const struct stamp *now)
{
    const struct stamp *first = &kept[0], *last = &kept[1];
    bool used = (first->how & STAMP_USED) != 0 && !before(l, first, now->lane);
    bool moves = (last->how & STAMP_USED) != 0 && !before(l, last, now->lane) &&
                 (!used || first->block == now->block) &&
                 (!used || last->block != now->block || first->warp == now->warp);
    if (moves)
        kept[0] = kept[1];
    kept[1] = *now;
}

/* Whether the lane comes after strong write `n` of the cell by an atomic function of its own. */
static bool seen_through(const struct looking *l, const struct stamp kept[KEPT], int n,
                         uint32_t lane)
{
    for (int k = n; k < KEPT; k++)
        if (stamp_seen_through(&kept[n], &kept[k]) && before(l, &kept[k], lane))
            return true;
    return false;
}

static bool is_live(const struct stamp *s, const struct looking *l)
{
    return (s->how & STAMP_USED) != 0 && !stamp_is_over(s, l);
}

/* Whether a read more would tell nothing: see known_enough (shadow.c). */
static bool is_quiet(const struct cell *c, const struct looking *l)
{
    const struct stamp *a = &c->reads[0], *b = &c->reads[1];
    if (is_live(&c->write, l) || is_live(&c->strong[0], l) || is_live(&c->strong[1], l) ||
        !is_live(a, l) || !is_live(b, l))
        return false;
    return a->block != b->block || (l->of != NULL && a->warp != b->warp);
}

uint32_t cells_access(struct cells *c, const struct looking *l, const struct pattern *p, bool looks)
{
    uint32_t step = 1u << c->shift, quiet = 0;
    for (uint32_t at = p->low; at < p->high; at += step) {
        struct cell *cell = &c->items[at >> c->shift];
        struct stamp now = p->s;
        uint32_t lane = pattern_lane(p, at);
        if (p->shift != SHIFT_ONE && !pattern_active(p, lane))
            continue;
        now.lane = (uint8_t)lane;
        uint32_t value = p->value;
        if (l->values != NULL && (now.how & STAMP_WRITE) != 0) {
            value = (uint32_t)l->values[lane];
            now.how |= STAMP_VALUE;
        }
        bool same = (now.how & cell->write.how & STAMP_VALUE) != 0 && cell->value == value;
        if (looks && !(same && (now.how & STAMP_STRONG) == 0) && may_race(l, &cell->write, lane))
            look(l, &cell->write, &now, at, at + step);
        for (int n = 0; looks && n < KEPT; n++) {
            if (may_race(l, &cell->reads[n], lane))
                look(l, &cell->reads[n], &now, at, at + step);
            if (may_race(l, &cell->strong[n], lane) && !seen_through(l, cell->strong, n, lane))
                look(l, &cell->strong[n], &now, at, at + step);
        }
        if ((now.how & STAMP_WRITE) == 0) {
            keep(l, cell->reads, &now);
            if (c->shift == WORD_SHIFT && (now.how & STAMP_STRONG) == 0 && l->epoch != 0 &&
                is_quiet(cell, l))
                quiet |= (uint32_t)1 << (at >> WORD_SHIFT);
        } else if ((now.how & STAMP_STRONG) != 0) {
            keep_strong(l, cell->strong, &now);
        } else {
            *cell = (struct cell){.write = now, .value = value};
        }
    }
    return quiet;
}

static inline void put(struct stamp *to, struct packed_stamp s) { memcpy(to, &s, sizeof *to); }

/* Whether nothing that is stamped so counts for the lane. */
static inline bool is_own(const struct stamp *s, const struct looking *l, uint32_t lane)
{
    return (s->how & STAMP_USED) == 0 || stamp_plainly_before(s, l, lane);
}

static inline bool is_gone(const struct stamp *s, const struct looking *l)
{
    return (s->how & STAMP_USED) == 0 || stamp_is_over(s, l);
}

static inline bool is_lanes_own(const struct cell *c, const struct looking *l, uint32_t lane)
{
    return is_own(&c->write, l, lane) && is_own(&c->reads[0], l, lane) &&
           is_gone(&c->reads[1], l) && is_gone(&c->strong[0], l) && is_gone(&c->strong[1], l);
}

bool cells_access_own(struct cells *c, const struct looking *l, struct packed_stamp s,
                      uint32_t lane, uint32_t low, uint32_t bytes)
{
    uint32_t first = low >> c->shift, last = (low + bytes) >> c->shift;
    if (c->shift != 0 && ((low | bytes) & ((1u << WORD_SHIFT) - 1)) != 0)
        return false;
    for (uint32_t i = first; i < last; i++)
        if (!is_lanes_own(&c->items[i], l, lane))
            return false;
    bool writes = (s.second >> 24 & STAMP_WRITE) != 0;
    s = packed_add(s, lane, writes && l->values != NULL ? STAMP_VALUE : 0);
    for (uint32_t i = first; i < last; i++) {
        struct cell *cell = &c->items[i];
        if (!writes) {
            put(&cell->reads[0], s);
            continue;
        }
        put(&cell->write, s);
        cell->value = l->values != NULL ? (uint32_t)l->values[lane] : 0;
        cell->reads[0].how = cell->reads[1].how = cell->strong[0].how = cell->strong[1].how = 0;
    }
    return true;
}

static bool same_access(const struct stamp *a, const struct stamp *b)
{
    return a->site == b->site && a->block == b->block && a->warp == b->warp && a->lane == b->lane &&
           a->how == b->how;
}

/* The stamp of number n of a cell: the write, reads, strong writes. */
static const struct stamp *stamp_at(const struct cell *cell, int n)
{
    return n == 0 ? &cell->write : n <= KEPT ? &cell->reads[n - 1] : &cell->strong[n - 1 - KEPT];
}

void cells_each(const struct cells *c, uint64_t line,
                void (*each)(void *self, uint64_t line, const struct pattern *p), void *self)
{
    for (int n = 0; n < 1 + 2 * KEPT; n++) {
        struct pattern p = {.shift = SHIFT_ONE};
        for (uint32_t i = 0; i < (uint32_t)LINE >> c->shift; i++) {
            const struct stamp *s = stamp_at(&c->items[i], n);
            uint32_t low = i << c->shift, high = low + (1u << c->shift);
            if (p.high == low && p.high > 0 && same_access(&p.s, s)) {
                p.high = (uint8_t)high;
                continue;
            }
            if (p.high > 0)
                each(self, line, &p);
            p.high = 0;
            if ((s->how & STAMP_USED) != 0)
                p = (struct pattern){.s = *s,
                                     .mask = (uint32_t)1 << s->lane % JIT_WARP,
                                     .low = (uint8_t)low,
                                     .high = (uint8_t)high,
                                     .shift = SHIFT_ONE};
        }
        if (p.high > 0)
            each(self, line, &p);
    }
}
