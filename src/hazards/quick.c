/* quick: accesses of whole warps that need no look at others.
 *
 * Mostly a warp is the first to access a line since a barrier or since the grid began, or does
 * again what it did before, or is the second to read what another has read alike. Each is told by a
 * few comparisons, and then either nothing is kept or one pattern more. */
#include "hazards/internal.h"

/* The line, locked if others may access it; NULL: none, or it has cells. */
static struct line *take_line(const struct looking *l, uint64_t number)
{
    struct line *line;
    if (l->of == NULL) {
        line = global_line(l->b, number);
        line_lock(line);
        if (line->generation != (uint32_t)l->b->serial)
            line_renew(line, (uint32_t)l->b->serial);
        if (WEIR_LIKELY(line->cells == NULL))
            return line;
        line_unlock(line);
        return NULL;
    }
    if (l->of != l->b || l->b->shares || number >= l->of->line_count)
        return NULL;
    line = &l->of->lines[number];
    if (line->generation != l->of->generation)
        line_renew(line, l->of->generation);
    if (line->cells != NULL || line->others)
        return NULL;
    if (line->latest < l->b->all) /* before the last barrier of all */
        line->count = 0;
    line->latest = l->b->clock;
    return line;
}

static void give_line(const struct looking *l, struct line *line)
{
    if (l->of == NULL)
        line_unlock(line);
}

static bool is_plain_read(const struct pattern *p)
{
    return (p->s.how & (STAMP_WRITE | STAMP_STRONG | STAMP_MATRIX)) == 0 && p->s.warp < ASYNC_WARPS;
}

/* Whether two reads access the same bytes by the same lanes. */
static bool is_alike(const struct pattern *q, const struct pattern *p)
{
    return q->low == p->low && q->high == p->high && q->mask == p->mask && q->shift == p->shift &&
           q->s.how >> STAMP_SCOPE_SHIFT == p->s.how >> STAMP_SCOPE_SHIFT &&
           (q->shift == SHIFT_ONE ? q->s.lane == p->s.lane : q->origin == p->origin);
}

/* The second reader of the same bytes, in another block, or in another warp at the same time: the
 * two are all that a line keeps of readers (known_enough, shadow.c). */
static bool is_second(const struct line *line, const struct pattern *p)
{
    const struct pattern *q = &line->patterns[0];
    if (line->count != 1 || !is_plain_read(q) || !is_plain_read(p) || !is_alike(q, p))
        return false;
    return q->s.block != p->s.block || (q->s.warp != p->s.warp && q->s.clock == p->s.clock);
}

static void keep(struct line *line, const struct pattern *p)
{
    if (line->patterns == NULL) {
        line->patterns = line->few;
        line->capacity = (uint8_t)WEIR_COUNT(line->few);
    }
    line->patterns[line->count++] = *p;
}

static bool known(const struct line *line, const struct pattern *p)
{
    for (uint32_t i = 0; i < line->count; i++) {
        const struct pattern *q = &line->patterns[i];
        if (q->low <= p->low && q->high >= p->high && pattern_same(q, p))
            return true;
    }
    return false;
}

static bool access_line(struct line *line, const struct looking *l, const struct pattern *p)
{
    if (line->count == 0) {
        keep(line, p);
        return true;
    }
    if (known(line, p))
        return true;
    if (!is_second(line, p))
        return false;
    keep(line, p);
    if (l->epoch != 0)
        quiet_add(line, l, words_within(p->low, p->high));
    return true;
}

bool quick_access(struct looking *l, const struct stamp *s, uint32_t mask, bool next, uint64_t low,
                  uint64_t high)
{
    uint32_t from = (uint32_t)low & (LINE - 1), bytes = (uint32_t)(high - low);
    bool writes = (s->how & STAMP_WRITE) != 0, several = (mask & (mask - 1)) != 0;
    if (from + bytes > LINE)
        return false;
    struct line *line = take_line(l, low / LINE);
    if (line == NULL)
        return false;
    struct pattern p = {.s = *s,
                        .mask = mask,
                        .low = (uint8_t)from,
                        .high = (uint8_t)(from + bytes),
                        .shift = SHIFT_ONE};
    p.s.lane = (uint8_t)__builtin_ctz(mask);
    if (next) {
        p.shift = (uint8_t)__builtin_ctz(bytes / JIT_WARP);
        p.origin = (int16_t)from;
    } else if (several) {
        p.s.how |= STAMP_MANY;
    }
    if (writes) {
        quiet_end(line, p.low, p.high);
        if (l->of != NULL)
            l->of->writes++;
        if (l->values != NULL && one_value(l->values, mask)) {
            p.value = (uint32_t)l->values[0];
            p.s.how |= STAMP_VALUE;
        }
    }
    bool done = access_line(line, l, &p);
    give_line(l, line);
    return done;
}
