/* shadow: for each line of memory, the accesses that may still race with later ones.
 *
 * A warp mostly goes through a line lane by lane: then its access is one pattern, and so is what it
 * is compared with. A line with more patterns than PATTERNS is kept by word or byte (cells.c). */
#include <stdlib.h>
#include <string.h>

#include "hazards/internal.h"

enum { PATTERNS = 10 };

void line_clear(struct line *l)
{
    if (l->cells != NULL)
        cells_free(l->cells);
    if (l->patterns != NULL && l->patterns != l->few)
        free(l->patterns);
    l->cells = NULL;
    l->patterns = NULL;
    l->count = l->capacity = 0;
    l->others = false;
}

/* Another block's, or another run's, accesses begin: the memory of patterns is kept. */
void line_renew(struct line *l, uint32_t generation)
{
    if (l->cells != NULL)
        line_clear(l);
    l->count = 0;
    l->others = false;
    l->generation = generation;
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
    if (s->block != b->number)
        return vector_has_block(b->after, s->block); /* its grid was over before this one */
    if (s->warp >= ASYNC_WARPS)
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
        bool covers = q->low <= p->low && q->high >= p->high && pattern_is_full(q);
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
    bool full = pattern_is_full(p);
    uint32_t kind = STAMP_WRITE | STAMP_STRONG;
    for (uint32_t i = 0; i < line->count;) {
        const struct pattern *q = &line->patterns[i];
        bool inside = q->low >= p->low && q->high <= p->high && (full || (q->mask & ~p->mask) == 0);
        if (!inside ||
            (!writes && ((q->s.how & kind) != (p->s.how & kind) || !plainly_before(b, q, p)))) {
            i++;
            continue;
        }
        if (writes && !full && !same_mapping(p, q)) {
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
        (void)cells_access(c, &none, &line->patterns[i], false);
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

/* The same instruction of the same lanes at the same time. */
bool pattern_same(const struct pattern *q, const struct pattern *p)
{
    return q->s.site == p->s.site && q->s.clock == p->s.clock && q->s.warp == p->s.warp &&
           q->s.block == p->s.block && q->mask == p->mask && q->shift == p->shift &&
           q->s.how == p->s.how && q->s.lane == p->s.lane && q->value == p->value &&
           (q->shift == SHIFT_ONE || q->origin == p->origin);
}

/* Whether a read of a loop goes on where one of its last turns ended: then that pattern becomes
 * longer. */
static bool lengthen(struct line *line, const struct pattern *p)
{
    for (uint32_t i = 0; i < line->count; i++) {
        struct pattern *q = &line->patterns[i];
        if (!pattern_same(q, p) || (q->high != p->low && q->low != p->high))
            continue;
        q->low = q->low < p->low ? q->low : p->low;
        q->high = q->high > p->high ? q->high : p->high;
        return true;
    }
    return false;
}

/* Enough reads like this one are known: if it reads what no live write is of, others need not be
 * looked at. */
static void enough(struct line *line, const struct looking *l, const struct pattern *p)
{
    if (l->epoch == 0 || (p->s.how & (STAMP_WRITE | STAMP_STRONG)) != 0)
        return;
    for (uint32_t i = 0; i < line->count; i++) {
        const struct pattern *q = &line->patterns[i];
        if (q->low < p->high && q->high > p->low &&
            (q->s.how & (STAMP_WRITE | STAMP_STRONG)) != 0 && !stamp_is_over(&q->s, l))
            return;
    }
    quiet_add(l->quiet, l->epoch, words_within(p->low, p->high));
}

/* A new pattern; false: there are too many. */
static bool append(struct line *line, const struct looking *l, const struct pattern *p)
{
    if (known_enough(line, p)) {
        enough(line, l, p);
        return true;
    }
    if (line->count == line->capacity && line->capacity < PATTERNS)
        grow(line);
    if (line->count == line->capacity)
        return false;
    line->patterns[line->count++] = *p;
    if ((p->s.how & (STAMP_WRITE | STAMP_STRONG)) == 0 && known_enough(line, p))
        enough(line, l, p);
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
    if (line->cells == NULL && append(line, l, p))
        return;
    if (line->cells == NULL)
        scatter(line, l, p);
    if (!cells_fit(line->cells, p))
        line->cells = cells_split(line->cells);
    (void)cells_access(line->cells, l, p, false);
}

/* True: the pattern is among the line's. */
static bool pattern_access(struct line *line, const struct looking *l, const struct pattern *p)
{
    for (uint32_t i = 0; i < line->count; i++) {
        const struct pattern *q = &line->patterns[i];
        if (q->low > p->low || q->high < p->high || !pattern_same(q, p))
            continue;
        if (is_atomic_write(&p->s)) { /* again, and after the others */
            remove_at(line, i);
            line->patterns[line->count++] = *p;
        }
        return true;
    }
    for (uint32_t i = 0; i < line->count; i++)
        look(l, line, i, p);
    if (line->count == PATTERNS && l->of != NULL)
        purge(line, l);
    replace(line, l->b, p);
    if (p->shift == SHIFT_ONE && (p->s.how & (STAMP_WRITE | STAMP_STRONG)) == 0 &&
        lengthen(line, p))
        return true;
    return append(line, l, p);
}

/* Where only the block itself accesses its shared memory, what is before the last barrier of all
 * counts no more. */
static void forget_before_barrier(struct line *line, const struct looking *l,
                                  const struct pattern *p)
{
    bool own = l->of == l->b && !l->b->shares;
    if (own && !line->others && line->latest < l->b->all) {
        if (line->cells != NULL && !pattern_is_single(p)) /* what cells have does no harm */
            line_clear(line);
        line->count = 0;
    }
    line->latest = l->b->clock;
    line->others = line->others || !own || l->warp >= ASYNC_WARPS;
}

void line_access(struct line *line, const struct looking *l, const struct pattern *p)
{
    if (l->exchanged) {
        line_exchanged(line, l, p);
        return;
    }
    bool writes = (p->s.how & (STAMP_WRITE | STAMP_STRONG)) != 0;
    if (writes)
        quiet_end(l->quiet, p->low, p->high);
    if (l->of != NULL)
        forget_before_barrier(line, l, p);
    if (line->cells == NULL) {
        if (pattern_access(line, l, p))
            return;
        scatter(line, l, p);
    }
    if (!cells_fit(line->cells, p))
        line->cells = cells_split(line->cells);
    uint32_t quiet = cells_access(line->cells, l, p, true);
    if (quiet != 0)
        quiet_add(l->quiet, l->epoch, quiet);
    if ((p->s.how & (STAMP_WRITE | STAMP_STRONG)) == STAMP_WRITE && p->low == 0 &&
        p->high == LINE && pattern_is_full(p)) { /* nothing else counts any more */
        line_clear(line);
        (void)pattern_access(line, l, p);
    }
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

void line_forget(struct line *line, struct hazard_block *b, quiet_words *quiet, uint32_t low,
                 uint32_t high)
{
    const struct looking l = {.b = b};
    quiet_end(quiet, low, high);
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
