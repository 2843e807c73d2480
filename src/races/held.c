/* held: races that may yet turn out to be none. A stream may stand at a host function or a kernel
 * that waits for the program, or at a wait for a value, while copies after it are enqueued, and so
 * compared, already. What such a wait comes after is known when it is over: until then the race is
 * held. */
#include <stdlib.h>

#include "races/internal.h"

enum { HELD_MOST = 1 << 16, LATEST = 256 };

static struct {
    struct held {
        struct moment *earlier, *later;
        enum access how, later_how;
        const void *pc, *later_pc;
        uint64_t low, high;
    } *items;
    size_t count, cap;
} held;

/* Of the same pieces of work, or of later accesses by the same instruction of the host, which come
 * after whatever this one does. */
static bool is_held(const struct held *h)
{
    for (size_t i = held.count; i > 0 && held.count - i < LATEST; i--) {
        const struct held *o = &held.items[i - 1];
        if (o->earlier == h->earlier && o->how == h->how && o->later_how == h->later_how &&
            o->pc == h->pc && o->later_pc == h->later_pc &&
            (o->later == h->later || h->later->kind == MOMENT_HOST))
            return true;
    }
    return false;
}

void held_race(struct moment *earlier, enum access how, struct moment *later, enum access later_how,
               uint64_t low, uint64_t high)
{
    struct held h = {earlier, later, how, later_how, earlier->pc, later->pc, low, high};
    if (held.count >= HELD_MOST || !order_may_come(earlier, later)) {
        report_race(earlier, how, later, later_how, low, high);
        return;
    }
    if (is_held(&h))
        return;
    moment_ref(earlier);
    moment_ref(later);
    vec_push(&held, h);
}

void held_follow(const struct moment *m, const struct vclock *before)
{
    for (size_t i = 0; i < held.count; i++) {
        if (held.items[i].earlier->kind != MOMENT_HOST)
            order_moment_follows(held.items[i].earlier, m, before);
        if (held.items[i].later->kind != MOMENT_HOST)
            order_moment_follows(held.items[i].later, m, before);
    }
}

/* Whether it is told, now that all waits are over that could have ordered it. */
static bool races(const struct held *h)
{
    bool before = moment_before(h->earlier, h->later);
    return (h->how == ACCESS_FREE && before) || (!before && !moment_before(h->later, h->earlier));
}

void held_look(bool all)
{
    size_t kept = 0, had = held.count;
    for (size_t i = 0; i < had; i++) {
        struct held h = held.items[i];
        if (!all && order_may_come(h.earlier, h.later)) {
            held.items[kept++] = h;
            continue;
        }
        h.earlier->pc = h.pc;
        h.later->pc = h.later_pc;
        if (races(&h))
            report_race(h.earlier, h.how, h.later, h.later_how, h.low, h.high);
        moment_unref(h.earlier);
        moment_unref(h.later);
    }
    held.count = kept;
}
