/* accesses: from what compiled code tells of an instruction to the lines of memory (shadow.c): the
 * lanes' addresses as patterns, cut at the ends of lines. Reads that tell nothing are left out. */
#include "hazards/internal.h"

/* ---- the lines of memory ---- */

static struct line *shared_line(struct hazard_block *of, uint64_t number, const struct pattern *p)
{
    if (number >= of->line_count)
        return NULL; /* it faults */
    struct line *l = &of->lines[number];
    if (l->generation == of->generation)
        return l;
    struct cells *c = pattern_is_single(p) ? l->cells : NULL;
    if (c != NULL) {
        cells_forget(c, 0, LINE);
        l->cells = NULL;
    }
    line_renew(l, of->generation);
    l->cells = c;
    return l;
}

static void page_forget(struct page *p, struct hazard_block *b, uint64_t low, uint64_t high)
{
    for (uint64_t at = low & ~(uint64_t)(LINE - 1); at < high; at += LINE) {
        struct line *line = &p->lines[at / LINE % PAGE_LINES];
        line_lock(line);
        if (line->generation != (uint32_t)b->serial)
            line_renew(line, (uint32_t)b->serial);
        line_forget(line, b, &p->quiet[at / LINE % PAGE_LINES], low > at ? (uint32_t)(low - at) : 0,
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

/* Puts the pattern, whose bytes are known, among the accesses of the line at `at`. */
static void access_line(struct looking *l, uint64_t at, const struct pattern *p)
{
    struct line *line =
        l->of != NULL ? shared_line(l->of, at / LINE, p) : global_line(l->b, at / LINE, &l->quiet);
    if (line == NULL)
        return;
    if (l->of != NULL)
        l->quiet = &l->of->quiet[at / LINE];
    l->line = at;
    if (l->of != NULL) {
        line_access(line, l, p);
        return;
    }
    line_lock(line);
    if (line->generation != (uint32_t)l->b->serial)
        line_renew(line, (uint32_t)l->b->serial);
    line_access(line, l, p);
    line_unlock(line);
}

/* Counts a write; keeps the value of a plain one, where all lanes write the same. */
static void note_write(struct looking *l, struct pattern *p)
{
    uint32_t how = p->s.how & (STAMP_WRITE | STAMP_STRONG);
    if (l->of != NULL && how != 0)
        l->of->writes++;
    if (how == STAMP_WRITE && l->values != NULL && one_value(l->values, p->mask)) {
        p->value = (uint32_t)l->values[p->s.lane];
        p->s.how |= STAMP_VALUE;
    }
}

static void access_run(struct looking *l, const struct run_of_lanes *r, const struct stamp *s)
{
    struct pattern whole = r->p;
    bool several = (whole.mask & (whole.mask - 1)) != 0;
    whole.s = *s;
    whole.s.lane = (uint8_t)__builtin_ctz(whole.mask);
    if (whole.shift == SHIFT_ONE && several)
        whole.s.how |= STAMP_MANY;
    if (!several)
        whole.shift = SHIFT_ONE;
    note_write(l, &whole);
    for (uint64_t at = r->low & ~(uint64_t)(LINE - 1); at < r->high; at += LINE) {
        struct pattern p = whole;
        p.low = (uint8_t)(r->low > at ? r->low - at : 0);
        p.high = (uint8_t)(r->high < at + LINE ? r->high - at : LINE);
        if (p.shift != SHIFT_ONE) {
            int first, last; /* lanes elsewhere are not this line's */
            p.origin = (int16_t)(int64_t)(r->origin - at);
            first = (p.low - p.origin) >> p.shift;
            last = (p.high - 1 - p.origin) >> p.shift;
            p.mask &= (0xffffffffu << first) & (0xffffffffu >> (31 - last));
        }
        access_line(l, at, &p);
    }
}

/* One lane's access within a line. */
static void access_one(struct looking *l, uint32_t lane, uint64_t at, uint32_t bytes,
                       const struct stamp *s)
{
    uint32_t low = (uint32_t)at & (LINE - 1);
    struct pattern p = {.s = *s,
                        .mask = (uint32_t)1 << lane,
                        .low = (uint8_t)low,
                        .high = (uint8_t)(low + bytes),
                        .shift = SHIFT_ONE};
    p.s.lane = (uint8_t)lane;
    note_write(l, &p);
    access_line(l, at & ~(uint64_t)(LINE - 1), &p);
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

/* Whether a read of bytes [low, high) tells nothing. */
static inline bool is_quiet(struct hazard_block *b, const struct hazard_block *of, uint32_t epoch,
                            uint64_t low, uint64_t high)
{
    for (uint64_t at = low & ~(uint64_t)(LINE - 1); at < high; at += LINE) {
        uint64_t number = at / LINE, page = number / PAGE_LINES;
        const struct page *p = of == NULL ? b->recent[recent_of(page)] : NULL;
        if (of == NULL ? p == NULL || p->number != page : number >= of->line_count)
            return false;
        const quiet_words *quiet = of == NULL ? &p->quiet[number % PAGE_LINES] : &of->quiet[number];
        uint64_t q = atomic_load_explicit(quiet, memory_order_relaxed);
        uint32_t words = words_at(low > at ? (uint32_t)(low - at) : 0,
                                  high < at + LINE ? (uint32_t)(high - at) : LINE);
        if (q >> 32 != epoch || (words & ~(uint32_t)q) != 0)
            return false;
    }
    return true;
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
        if ((s->how & (STAMP_WRITE | STAMP_STRONG | STAMP_MATRIX)) == 0 && l->epoch != 0 &&
            l->warp < ASYNC_WARPS && !next && is_quiet(l->b, l->of, l->epoch, base, base + bytes)) {
            left &= ~taken;
            continue;
        }
        left &= ~taken;
        if ((taken & (taken - 1)) == 0 && (base & (LINE - 1)) + bytes <= LINE) {
            access_one(l, first, base, bytes, s);
            continue;
        }
        struct run_of_lanes r = {
            .low = base,
            .high = base + bytes + (next ? (uint64_t)(last - first) * bytes : 0),
            .origin = base - (uint64_t)first * bytes,
            .p = {.mask = taken, .shift = (uint8_t)(next ? shift : SHIFT_ONE)}};
        if (same)
            same_instruction(l, &r, s, bytes);
        access_run(l, &r, s);
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

/* Of the memory that is accessed. */
static uint32_t epoch_of(struct hazard_block *b, struct hazard_block *of)
{
    if (of == NULL)
        return atomic_load_explicit(&b->run->epoch, memory_order_relaxed);
    if (of != b)
        of->shares = true;
    return of->shares ? 0 : b->epoch;
}

/* Returns the stamp, without a lane. */
static inline struct packed_stamp look_begin(struct looking *l, struct hazard_block *b,
                                             struct hazard_block *of, uint32_t warp, uint32_t how,
                                             const uint64_t *values, const void *pc)
{
    uint32_t as = warp + ((how & JIT_ACCESS_ASYNC) != 0 ? ASYNC_WARPS : 0);
    if (b->run->pc == 0)
        b->run->pc = (uint64_t)(uintptr_t)pc;
    *l = (struct looking){.b = b,
                          .of = of,
                          .base = of != NULL ? of->shared : 0,
                          .warp = as,
                          .pc = pc,
                          .values = values,
                          .epoch = epoch_of(b, of)};
    return stamp_pack(b->number, b->clock, as, stamp_how(how), (uint32_t)(uintptr_t)pc);
}

/* The same for `count` reads, each `step` bytes after the one before. */
static inline bool are_quiet(struct hazard_block *b, const struct hazard_block *of, uint32_t epoch,
                             const struct run_of_lanes *r, uint32_t count, uint64_t step)
{
    uint64_t at = r->low & ~(uint64_t)(LINE - 1), lines = step / LINE;
    if (of == NULL || step % LINE != 0 || r->high > at + LINE ||
        at / LINE + (count - 1) * lines >= of->line_count) {
        for (uint32_t n = 0; n < count; n++)
            if (!is_quiet(b, of, epoch, r->low + n * step, r->high + n * step))
                return false;
        return true;
    }
    uint64_t words = words_at((uint32_t)(r->low - at), (uint32_t)(r->high - at));
    uint64_t wanted = (uint64_t)epoch << 32 | words, which = 0xffffffff00000000u | words,
             differ = 0;
    const quiet_words *quiet = &of->quiet[at / LINE];
    for (uint32_t n = 0; n < count; n++, quiet += lines)
        differ |= (atomic_load_explicit(quiet, memory_order_relaxed) ^ wanted) & which;
    return differ == 0;
}

/* Whether reads by an instruction tell nothing. All warps mostly read the same tile: then the
 * answer is known from the last one, unless something was written since. */
static inline bool tells_nothing(struct hazard_block *b, struct hazard_block *of, uint32_t epoch,
                                 const struct run_of_lanes *r, uint32_t count, uint64_t step,
                                 const void *pc)
{
    struct memo *m = &b->memos[(uintptr_t)pc / 8 % MEMOS];
    if (of == b && m->pc == pc && m->epoch == epoch && m->writes == b->writes && m->low == r->low &&
        m->high == r->high && m->count == count && m->step == step)
        return true;
    if (!are_quiet(b, of, epoch, r, count, step))
        return false;
    if (of == b)
        *m = (struct memo){pc, r->low, r->high, step, count, epoch, b->writes};
    return true;
}

enum { NOT_QUIET = JIT_ACCESS_WRITE | JIT_ACCESS_STRONG | JIT_ACCESS_ASYNC | JIT_ACCESS_MATRIX };

void hazard_access_run(struct hazard_block *b, struct hazard_block *of, uint32_t warp,
                       uint32_t mask, uint64_t origin, bool next, uint32_t count, uint64_t step,
                       uint32_t how, const uint64_t *values, const void *pc)
{
    threads_heard(b, warp);
    uint32_t bytes = how & JIT_ACCESS_BYTES, first = (uint32_t)__builtin_ctz(mask);
    uint32_t last = 31 - (uint32_t)__builtin_clz(mask), epoch = epoch_of(b, of);
    struct run_of_lanes r = {.origin = origin - (of != NULL ? of->shared : 0)};
    r.low = r.origin + (next ? (uint64_t)first * bytes : 0);
    r.high = next ? r.origin + (uint64_t)(last + 1) * bytes : r.low + bytes;
    if (!next && step == bytes &&
        (how & NOT_QUIET) == 0) { /* all read the same, and what follows */
        r.high = r.low + count * step;
        count = 1;
    }
    if ((how & NOT_QUIET) == 0 && epoch != 0 && tells_nothing(b, of, epoch, &r, count, step, pc))
        return;
    struct looking l;
    bool same = !next && (mask & (mask - 1)) != 0;
    struct packed_stamp packed = look_begin(&l, b, of, warp, how, values, pc);
    bool quick = quick_fits(mask, next, how);
    for (; count > 0; count--, r.low += step, r.high += step, r.origin += step) {
        if (quick && quick_access(&l, packed, mask, next, r.low, r.high))
            continue;
        struct stamp s = stamp_unpack(packed);
        r.p = (struct pattern){
            .mask = mask, .shift = (uint8_t)(next ? (uint32_t)__builtin_ctz(bytes) : SHIFT_ONE)};
        if (same)
            same_instruction(&l, &r, &s, bytes);
        access_run(&l, &r, &s);
    }
}

enum { NOT_PLAIN = JIT_ACCESS_STRONG | JIT_ACCESS_ASYNC | JIT_ACCESS_MATRIX };

void hazard_access(struct hazard_block *b, struct hazard_block *of, uint32_t warp, uint32_t mask,
                   const uint64_t address[JIT_WARP], uint32_t how, const uint64_t *values,
                   const void *pc)
{
    threads_heard(b, warp);
    struct looking l;
    struct packed_stamp packed = look_begin(&l, b, of, warp, how, values, pc);
    uint32_t left = mask;
    if (of == b && !b->shares && (how & NOT_PLAIN) == 0)
        left = quick_own(&l, mask, address, how & JIT_ACCESS_BYTES, packed);
    struct stamp s = stamp_unpack(packed);
    access_lanes(&l, left, address, how & JIT_ACCESS_BYTES, &s);
    if ((how & (JIT_ACCESS_WRITE | JIT_ACCESS_STRONG)) != (JIT_ACCESS_WRITE | JIT_ACCESS_STRONG))
        return;
    for (left = mask; left != 0; left &= left - 1) {
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
