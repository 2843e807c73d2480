/* sync: order by what threads of the host use to wait for each other: mutexes, condition variables,
 * semaphores, barriers, joins.
 *
 * The threads of the host count as one (order.c), so all that matters is what passes between host
 * functions and this one. Whoever releases an object leaves with it what comes before; whoever
 * acquires it comes after that. A function that releases goes on in another part: what it does then
 * does not come before what the release orders. */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/thread_fast.h"
#include "races/internal.h"

enum { OBJECTS_MOST = 1 << 16, LASTS_NS = 2000000 };

/* What comes before an object's latest release: a table with open addressing. */
static struct {
    struct object {
        const void *address;
        struct vclock *before;
    } *items;
    uint32_t capacity, count; /* a power of two, or 0 */
    struct vclock *all;       /* of objects that are not kept singly any more */
} objects;

/* The host function that a thread is in. */
struct inside {
    struct moment *part;    /* the present one; NULL: the function is not known */
    struct vclock *release; /* of a release since the part began or touched memory, or NULL */
    struct observe_id id;
    uint64_t begun; /* clock_ns() */
    bool acquired;  /* it has waited, or might have, by a call, */
    bool released;  /* or told of itself by one */
    const struct handover *code;
    struct moment *whole;  /* has what it looks at; NULL: likewise */
    struct handed *handed; /* NULL: it cannot hand over by plain stores */
    uint64_t data;         /* of its stores: those that were of data */
    uint64_t followed;     /* the host's tick when it last came after what the host did */
};
static WEIR_THREAD_FAST struct inside *inside;

static atomic_bool functions; /* there may be one */

/* ---- objects ---- */

static struct object *slot_of(const void *address)
{
    uint64_t hash = (uint64_t)(uintptr_t)address * 0x9e3779b97f4a7c15u;
    uint32_t at = (uint32_t)(hash >> 32) & (objects.capacity - 1);
    while (objects.items[at].address != NULL && objects.items[at].address != address)
        at = (at + 1) & (objects.capacity - 1);
    return &objects.items[at];
}

/* More locks than can be kept: each counts as released with all of them. */
static void objects_collapse(void)
{
    for (uint32_t i = 0; i < objects.capacity; i++) {
        if (objects.items[i].address == NULL)
            continue;
        objects.all = vclock_join(objects.all, objects.items[i].before);
        vclock_unref(objects.items[i].before);
        objects.items[i] = (struct object){0};
    }
    objects.count = 0;
}

static void objects_grow(void)
{
    struct object *old = objects.items;
    uint32_t had = objects.capacity;
    objects.capacity = had > 0 ? 2 * had : 64;
    objects.items = xcalloc(objects.capacity, sizeof *objects.items);
    for (uint32_t i = 0; i < had; i++)
        if (old[i].address != NULL)
            *slot_of(old[i].address) = old[i];
    free(old);
}

static void object_released(const void *address, const struct vclock *before)
{
    if (before == NULL)
        return;
    if (objects.count >= OBJECTS_MOST)
        objects_collapse();
    if (2 * (objects.count + 1) > objects.capacity)
        objects_grow();
    struct object *o = slot_of(address);
    if (o->address == NULL) {
        o->address = address;
        objects.count++;
    }
    o->before = vclock_join(o->before, before);
}

/* ---- the calling thread ---- */

static void follow(const struct vclock *before)
{
    if (before == NULL)
        return;
    if (inside == NULL || inside->part == NULL) {
        if (order_host_joins(before))
            races_host_saw();
        return;
    }
    if (order_part_follows(&inside->part, before)) {
        vclock_unref(inside->release);
        inside->release = NULL;
        races_host_part(inside->part);
    }
}

/* All that the thread has done and what it comes after; a new reference. */
static struct vclock *known(void)
{
    if (inside == NULL || inside->part == NULL)
        return order_host_releases();
    if (inside->release == NULL) {
        inside->release = order_part_ends(&inside->part);
        races_host_part(inside->part);
    }
    return vclock_ref(inside->release);
}

void sync_functions_come(void) { atomic_store_explicit(&functions, true, memory_order_relaxed); }

void sync_function_begins(const struct observe_id *id, struct moment *m)
{
    if (inside != NULL)
        return;
    inside = xcalloc(1, sizeof *inside);
    inside->id = *id;
    if (m != NULL) {
        order_part_begins(m);
        inside->part = moment_ref(m);
        inside->whole = moment_ref(m);
        inside->code = handover_of(m->function);
        if (inside->code != NULL && inside->code->store_count > 0 && !inside->code->atomic)
            inside->handed = handed_begins(m);
    }
}

void sync_function_runs(void)
{
    if (inside != NULL)
        inside->begun = clock_ns();
}

bool sync_in_function(void) { return inside != NULL && inside->begun != 0; }

/* It comes after what the program did until now. */
static void follow_host(void)
{
    if (inside->followed == order_tick())
        return;
    struct vclock *before = order_host_releases();
    follow(before);
    vclock_unref(before);
    inside->followed = order_tick();
}

static bool looked(void)
{
    return !inside->acquired && inside->whole != NULL && looks_changed(inside->whole->looks);
}

static bool polls(void) { return !inside->acquired && inside->code != NULL && inside->code->polls; }

/* One that lasts, and calls nothing to wait by, may wait for an atomic variable; so may one that
 * has a loop for it. What follows it comes after what the program did until it ended. */
static void may_have_waited(void)
{
    bool lasted = inside->begun != 0 && clock_ns() - inside->begun >= LASTS_NS;
    if (polls() || looked() || (lasted && !inside->acquired))
        follow_host();
}

/* Whether one of its stores may have been a flag. */
static bool may_have_set_a_flag(void)
{
    uint32_t count = inside->code->store_count;
    uint64_t all = count >= 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
    return !inside->released && inside->data != all;
}

void sync_function_ends(const struct observe_id *id)
{
    if (inside == NULL || id->stream != inside->id.stream || id->count != inside->id.count ||
        id->node != inside->id.node)
        return;
    if (inside->part != NULL)
        may_have_waited();
    if (inside->handed != NULL) {
        handed_ends(inside->handed, may_have_set_a_flag());
        races_host_saw();
    }
    moment_unref(inside->part);
    moment_unref(inside->whole);
    vclock_unref(inside->release);
    free(inside);
    inside = NULL;
}

void sync_function_touches(const void *pc)
{
    if (inside == NULL)
        return;
    vclock_unref(inside->release);
    inside->release = NULL;
    for (uint32_t i = 0; inside->code != NULL && i < inside->code->store_count; i++)
        if (inside->code->stores[i] == pc)
            inside->data |= (uint64_t)1 << i;
    if (inside->part != NULL && (polls() || looked()))
        follow_host();
}

void races_host_sync(enum host_sync how, const void *object, bool own)
{
    if (!atomic_load_explicit(&functions, memory_order_relaxed))
        return;
    /* A host function that ends with such a call returns from it to whoever has called the
     * function. */
    if (own && inside == NULL)
        return;
    /* A signal may have come while this thread had the lock: handlers may post semaphores. */
    if (races_inside)
        return;
    races_enter();
    struct vclock *before = NULL;
    bool function = inside != NULL && inside->part != NULL;
    if (!function)
        races_host_thread();
    if (inside != NULL && how != HOST_RELEASE)
        inside->acquired = true;
    if (inside != NULL && (how == HOST_RELEASE || how == HOST_PUBLISH))
        inside->released = true;
    switch (how) {
    case HOST_RELEASE:
        before = known();
        object_released(object, before);
        break;
    case HOST_ACQUIRE:
        follow(objects.all);
        if (objects.count > 0)
            follow(slot_of(object)->before);
        break;
    case HOST_JOIN:
        if (function)
            follow(before = order_host_releases());
        break;
    case HOST_PUBLISH: /* who has seen it is not known */
        if (function && order_host_joins(before = known()))
            races_host_saw();
        break;
    default: break;
    }
    vclock_unref(before);
    races_leave();
}
