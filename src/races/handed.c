/* handed: order by flags that host functions set without a call or an instruction that tells.
 *
 * A plain store may be a flag (release order, volatile) or data. Stores to memory of devices are
 * seen, and are data; what is left when the function ends may have been a flag, if it has told of
 * itself in no other way: then what the program did since the function began comes after it. Until
 * it ends nobody knows, and what it would order is held. */
#include <stdlib.h>

#include "races/internal.h"

enum { LATEST = 8 };

/* A function that runs, or has handed over. */
struct handed {
    struct moment *m;     /* NULL: it is over */
    uint64_t begun, over; /* ticks of the host */
    struct vclock *clock; /* it, and what it comes after */
};

static struct {
    struct handed **items;
    size_t count, cap;
} running;
static struct handed latest[LATEST]; /* a ring; clock NULL: none */
static uint32_t ended;

struct handed *handed_begins(struct moment *m)
{
    struct handed *h = xcalloc(1, sizeof *h);
    h->m = moment_ref(m);
    h->begun = order_tick();
    vec_push(&running, h);
    return h;
}

static bool is_part_of(const struct moment *a, const struct handed *h)
{
    return a->id.stream == h->m->id.stream && a->id.count == h->m->id.count &&
           a->id.node == h->m->id.node;
}

bool handed_may_come(const struct moment *a, const struct moment *b)
{
    for (size_t i = 0; i < running.count; i++) {
        const struct handed *h = running.items[i];
        if (b->tick >= h->begun && (is_part_of(a, h) || moment_before(a, h->m)))
            return true;
    }
    return false;
}

bool handed_before(const struct moment *a, const struct moment *b)
{
    for (uint32_t i = 0; i < LATEST && i < ended; i++) {
        const struct handed *h = &latest[i];
        if (b->tick >= h->begun && b->tick < h->over &&
            vclock_get(h->clock, a->id.stream) >= a->position)
            return true;
    }
    return false;
}

void handed_ends(struct handed *h, bool over)
{
    for (size_t i = 0; i < running.count; i++)
        if (running.items[i] == h)
            running.items[i] = running.items[--running.count];
    if (over) {
        struct handed *slot = &latest[ended++ % LATEST];
        vclock_unref(slot->clock);
        order_host_follows(h->m);
        *slot = (struct handed){.begun = h->begun, .over = order_tick()};
        slot->clock = vclock_raise(vclock_ref(h->m->after), h->m->id.stream, order_end_of(h->m));
    }
    moment_unref(h->m);
    free(h);
}
