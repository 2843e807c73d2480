/* quick: accesses of whole warps that need no look at others.
 *
 * Mostly a warp is the first to access a line since a barrier or since the grid began, or does
 * again what it did before, or is the second to read what another has read alike. Each is told by a
 * few comparisons, and then either nothing is kept or one pattern more. The pattern is made in
 * registers. */
#include <string.h>

#include "hazards/internal.h"

/* A pattern, as the registers that it is. */
struct packed_pattern {
    struct packed_stamp s;
    uint64_t lanes, where; /* mask and value; origin, low, high and shift */
};
_Static_assert(sizeof(struct packed_pattern) == sizeof(struct pattern),
               "one is copied to the other");
enum { LOW_AT = 16, HIGH_AT = 24, SHIFT_AT = 32, HOW_AT = 24 };
static const uint64_t WHERE_ENDS = (uint64_t)0xffff << LOW_AT;

static inline struct packed_pattern pack(const struct pattern *p)
{
    struct packed_pattern out;
    memcpy(&out, p, sizeof out);
    return out;
}

static inline uint8_t low_of(const struct packed_pattern *p)
{
    return (uint8_t)(p->where >> LOW_AT);
}
static inline uint8_t high_of(const struct packed_pattern *p)
{
    return (uint8_t)(p->where >> HIGH_AT);
}
static inline uint32_t how_of(const struct packed_pattern *p)
{
    return (uint8_t)(p->s.second >> HOW_AT);
}
static inline uint16_t warp_of(const struct packed_pattern *p) { return (uint16_t)p->s.second; }

/* The line, locked if others may access it; NULL: none, or it has cells. */
static inline struct line *take_line(struct looking *l, uint64_t number)
{
    struct line *line;
    if (l->of == NULL) {
        line = global_line(l->b, number, &l->quiet);
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
    l->quiet = &l->of->quiet[number];
    if (line->generation != l->of->generation)
        line_renew(line, l->of->generation);
    if (line->cells != NULL || line->others)
        return NULL;
    if (line->latest < l->b->all) /* before the last barrier of all */
        line->count = 0;
    line->latest = l->b->clock;
    return line;
}

static inline void give_line(const struct looking *l, struct line *line)
{
    if (l->of == NULL)
        line_unlock(line);
}

static inline bool is_plain_read(const struct packed_pattern *p)
{
    return (how_of(p) & (STAMP_WRITE | STAMP_STRONG | STAMP_MATRIX)) == 0 &&
           warp_of(p) < ASYNC_WARPS;
}

/* Whether two reads access the same bytes by the same lanes. */
static inline bool is_alike(const struct packed_pattern *q, const struct packed_pattern *p)
{
    uint64_t stamps = q->s.second ^ p->s.second;
    return q->where == p->where && (uint32_t)q->lanes == (uint32_t)p->lanes &&
           (stamps >> (HOW_AT + STAMP_SCOPE_SHIFT) & 3) == 0 &&
           (q->where >> SHIFT_AT != SHIFT_ONE || (stamps >> 16 & 0xff) == 0);
}

/* The second reader of the same bytes, in another block, or in another warp at the same time: the
 * two are all that a line keeps of readers (known_enough, shadow.c). */
static inline bool is_second(const struct line *line, const struct packed_pattern *p)
{
    if (line->count != 1)
        return false;
    struct packed_pattern q = pack(&line->patterns[0]);
    if (!is_plain_read(&q) || !is_plain_read(p) || !is_alike(&q, p))
        return false;
    return (uint32_t)q.s.first != (uint32_t)p->s.first ||
           (warp_of(&q) != warp_of(p) && q.s.first == p->s.first);
}

static inline void keep(struct line *line, const struct packed_pattern *p)
{
    if (line->patterns == NULL) {
        line->patterns = line->few;
        line->capacity = (uint8_t)WEIR_COUNT(line->few);
    }
    memcpy(&line->patterns[line->count++], p, sizeof *p);
}

static inline bool known(const struct line *line, const struct packed_pattern *p)
{
    for (uint32_t i = 0; i < line->count; i++) {
        struct packed_pattern q = pack(&line->patterns[i]);
        if (q.s.first == p->s.first && q.s.second == p->s.second && q.lanes == p->lanes &&
            ((q.where ^ p->where) & ~WHERE_ENDS) == 0 && low_of(&q) <= low_of(p) &&
            high_of(&q) >= high_of(p))
            return true;
    }
    return false;
}

static inline bool access_line(struct line *line, const struct looking *l,
                               const struct packed_pattern *p)
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
        quiet_add(l->quiet, l->epoch, words_within(low_of(p), high_of(p)));
    return true;
}

bool quick_access(struct looking *l, struct packed_stamp s, uint32_t mask, bool next, uint64_t low,
                  uint64_t high)
{
    uint32_t from = (uint32_t)low & (LINE - 1), bytes = (uint32_t)(high - low);
    bool writes = (s.second >> HOW_AT & STAMP_WRITE) != 0, several = (mask & (mask - 1)) != 0;
    if (from + bytes > LINE)
        return false;
    struct line *line = take_line(l, low / LINE);
    if (line == NULL)
        return false;
    struct packed_pattern p = {
        packed_add(s, (uint32_t)__builtin_ctz(mask), !next && several ? STAMP_MANY : 0), mask,
        (uint64_t)from << LOW_AT | (uint64_t)(from + bytes) << HIGH_AT};
    p.where |= next ? from | (uint64_t)__builtin_ctz(bytes / JIT_WARP) << SHIFT_AT
                    : (uint64_t)SHIFT_ONE << SHIFT_AT;
    if (writes) {
        quiet_end(l->quiet, from, from + bytes);
        if (l->of != NULL)
            l->of->writes++;
        if (l->values != NULL && one_value(l->values, mask)) {
            p.lanes |= l->values[0] << 32;
            p.s = packed_add(p.s, 0, STAMP_VALUE);
        }
    }
    bool done = access_line(line, l, &p);
    give_line(l, line);
    return done;
}

uint32_t quick_own(struct looking *l, uint32_t mask, const uint64_t *address, uint32_t bytes,
                   struct packed_stamp s)
{
    struct hazard_block *of = l->of;
    bool writes = (s.second >> 24 & STAMP_WRITE) != 0;
    uint32_t left = mask;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        uint64_t at = address[lane] - l->base, number = at / LINE;
        uint32_t low = (uint32_t)at & (LINE - 1);
        if (number >= of->line_count || low + bytes > LINE)
            continue;
        struct line *line = &of->lines[number];
        if (line->cells == NULL || line->generation != of->generation || line->others ||
            !cells_access_own(line->cells, l, s, lane, low, bytes))
            continue;
        line->latest = l->b->clock;
        if (writes) {
            quiet_end(&of->quiet[number], low, low + bytes);
            of->writes++;
        }
        left &= ~((uint32_t)1 << lane);
    }
    return left;
}
