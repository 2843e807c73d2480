/* told: who has accessed global memory last, for those who look for races with other work: of each
 * line what is kept of it when the grid is over. Accesses of warps that go through memory one after
 * the other are told of as one. */
#include <stdlib.h>

#include "hazards/internal.h"

enum { OPEN = 16 /* that may go on; a power of two */ };

struct telling {
    const struct hazard_run *run;
    void (*each)(void *self, const struct hazard_warps *w);
    void *self;
    uint64_t left; /* that may still be told */
    struct hazard_warps open[OPEN];
    uint32_t latest; /* of the open ones */
};

static void close_one(struct telling *t, struct hazard_warps *w)
{
    if (w->count == 0)
        return;
    if (t->left > 0) {
        t->left--;
        t->each(t->self, w);
    }
    w->count = 0;
}

/* By the same instruction, and of the same form. */
static bool is_like(const struct hazard_warps *a, const struct hazard_warps *b)
{
    return a->pc == b->pc && a->how == b->how && a->grid == b->grid && a->shift == b->shift &&
           a->mask == b->mask;
}

/* The part that the next line has of the last warp's access. */
static bool goes_on(struct hazard_warps *w, const struct hazard_warps *part)
{
    uint64_t last = w->count - 1;
    uint64_t high = w->high + last * w->step;
    if (part->low != high || part->number != w->number + last * w->number_step ||
        part->origin != w->origin + last * w->step || w->shift == SHIFT_ONE)
        return false;
    if (w->count == 1)
        w->high = part->high;
    /* later ones are as long as the first: what is longer is found in the next line's part, too */
    return w->count == 1 || part->high - (w->low + last * w->step) <= w->high - w->low;
}

/* The access of the next warp. */
static bool follows(struct hazard_warps *w, const struct hazard_warps *next)
{
    if (w->count == 1) {
        w->step = next->low - w->low;
        w->number_step = next->number - w->number;
    }
    if (next->low != w->low + w->count * w->step || w->step == 0 ||
        next->number != w->number + w->count * w->number_step ||
        (w->shift != SHIFT_ONE && next->origin != w->origin + w->count * w->step) ||
        next->high - next->low > w->high - w->low)
        return false;
    w->count++;
    return true;
}

static void tell(struct telling *t, const struct hazard_warps *w)
{
    for (uint32_t n = 0; n < OPEN; n++) {
        struct hazard_warps *o = &t->open[(t->latest - n) % OPEN];
        if (o->count == 0 || !is_like(o, w))
            continue;
        if (goes_on(o, w) || follows(o, w))
            return;
    }
    struct hazard_warps *o = &t->open[++t->latest % OPEN];
    close_one(t, o);
    *o = *w;
}

static void tell_pattern(void *self, uint64_t line, const struct pattern *p)
{
    struct telling *t = self;
    struct hazard_side s = run_side(t->run, &p->s, p->s.lane);
    const struct hazard_launch *l = s.grid;
    uint32_t warps = (l->block[0] * l->block[1] * l->block[2] + JIT_WARP - 1) / JIT_WARP;
    struct hazard_warps w = {.grid = l,
                             .pc = s.pc,
                             .how = s.how,
                             .low = line + p->low,
                             .high = line + p->high,
                             .shift = p->shift,
                             .lane = p->s.lane,
                             .mask = p->mask,
                             .number = (uint64_t)s.block * warps + s.warp,
                             .count = 1};
    if (p->shift != SHIFT_ONE) {
        w.origin = line + (uint64_t)(int64_t)p->origin;
        if (pattern_is_full(p)) /* the lanes of other lines are told of with them */
            w.mask = UINT32_MAX;
    }
    tell(t, &w);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = (*(struct page *const *)a)->number, y = (*(struct page *const *)b)->number;
    return (x > y) - (x < y);
}

static void tell_page(struct telling *t, const struct page *p)
{
    for (uint32_t n = 0; n < PAGE_LINES; n++) {
        const struct line *line = &p->lines[n];
        uint64_t at = (p->number << PAGE_SHIFT) + (uint64_t)n * LINE;
        if (line->generation != (uint32_t)t->run->serial)
            continue;
        if (line->cells != NULL)
            cells_each(line->cells, at, tell_pattern, t);
        for (uint32_t i = 0; line->cells == NULL && i < line->count; i++)
            tell_pattern(t, at, &line->patterns[i]);
    }
}

void hazard_grid_accesses(const struct hazard_grid *g, uint64_t most,
                          void (*each)(void *self, const struct hazard_warps *w), void *self)
{
    struct telling *t = xcalloc(1, sizeof *t);
    struct pages *pages = g->run->pages;
    t->run = g->run;
    t->each = each;
    t->self = self;
    t->left = most;
    if (pages->used.count > 0)
        qsort(pages->used.items, pages->used.count, sizeof(struct page *), by_number);
    for (size_t i = 0; i < pages->used.count && t->left > 0; i++)
        tell_page(t, pages->used.items[i]);
    for (uint32_t n = 0; n < OPEN; n++)
        close_one(t, &t->open[n]);
    free(t);
}
