/* Streams for the tests of the pool layer: queues of commands that do nothing, run by hand, with
 * all that the layer may ask about them kept in the plainest way. */
#ifndef WORLD_H
#define WORLD_H

#include <stddef.h>
#include <stdlib.h>

#include "check.h"
#include "pool/pool.h"

enum { WORLD_STREAMS = 18, WORLD_QUEUE = 1 << 16 };

/* Nobody in particular. */
#define BY ((struct pool_by){NULL, 0})

struct stream {
    _Atomic(void *) slot;
    int number;
    bool alive;
    uint64_t enqueued, completed;  /* commands */
    uint64_t now, proven;          /* labels: the clock, and what the host knows of */
    uint64_t after[WORLD_STREAMS]; /* labels of others that it comes after */
    uint64_t waits[WORLD_STREAMS]; /* counts of others that its next commands wait for */
    struct {
        int on; /* -1: nothing */
        uint64_t count;
    } queue[WORLD_QUEUE]; /* what command number n waits for, at n modulo the size */
};

struct event {
    int stream; /* -1: not recorded */
    uint64_t count;
    uint64_t after[WORLD_STREAMS], waits[WORLD_STREAMS];
};

static struct stream world[WORLD_STREAMS];
static uint64_t world_internal; /* waits that the allocator enqueued */

static inline uint64_t world_max(uint64_t a, uint64_t b) { return a > b ? a : b; }

static inline void world_command(struct stream *s, int on, uint64_t count)
{
    s->enqueued++;
    s->queue[s->enqueued % WORLD_QUEUE].on = on;
    s->queue[s->enqueued % WORLD_QUEUE].count = count;
}

/* One command, if it may run. */
static inline bool world_step(struct stream *s)
{
    if (s->completed == s->enqueued)
        return false;
    int on = s->queue[(s->completed + 1) % WORLD_QUEUE].on;
    if (on >= 0 && world[on].completed < s->queue[(s->completed + 1) % WORLD_QUEUE].count)
        return false;
    s->completed++;
    return true;
}

static inline void world_run(struct stream *s, uint64_t count)
{
    while (s->completed < count)
        if (!world_step(s)) {
            int on = s->queue[(s->completed + 1) % WORLD_QUEUE].on;
            world_run(&world[on], s->queue[(s->completed + 1) % WORLD_QUEUE].count);
        }
}

static inline void world_depend(struct stream *s, int on, uint64_t count)
{
    if (world[on].completed < count)
        world_command(s, on, count);
    s->waits[on] = world_max(s->waits[on], count);
    for (int i = 0; i < WORLD_STREAMS; i++) /* at least what it waits for now: never less */
        s->waits[i] = world_max(s->waits[i], world[on].waits[i]);
}

static inline void world_record(struct event *e, struct stream *s)
{
    e->stream = s->number;
    e->count = s->enqueued;
    memcpy(e->after, s->after, sizeof e->after);
    memcpy(e->waits, s->waits, sizeof e->waits);
    e->after[s->number] = ++s->now;
    e->waits[s->number] = s->enqueued;
}

static inline void world_wait_event(struct stream *s, const struct event *e)
{
    if (e->stream < 0 || e->stream == s->number)
        return;
    if (world[e->stream].completed < e->count)
        world_command(s, e->stream, e->count);
    for (int i = 0; i < WORLD_STREAMS; i++) {
        s->after[i] = world_max(s->after[i], e->after[i]);
        s->waits[i] = world_max(s->waits[i], e->waits[i]);
    }
}

static inline void world_prove(const struct event *e)
{
    for (int i = 0; i < WORLD_STREAMS; i++)
        world[i].proven = world_max(world[i].proven, e->after[i]);
}

static inline void world_sync_event(const struct event *e)
{
    if (e->stream < 0)
        return;
    world_run(&world[e->stream], e->count);
    world_prove(e);
    pool_synchronized();
}

static inline void world_sync(struct stream *s)
{
    struct event e;
    world_record(&e, s);
    world_sync_event(&e);
}

/* ---- what the pool layer asks ---- */

static inline struct pool_point world_mark(void *stream)
{
    struct stream *s = stream;
    return (struct pool_point){s->now, s->enqueued};
}
static inline uint64_t world_completed(void *stream)
{
    return ((struct stream *)stream)->completed;
}
static inline uint64_t world_proven(void *stream) { return ((struct stream *)stream)->proven; }
static inline uint64_t world_ordered(void *stream, void *on)
{
    return ((struct stream *)stream)->after[((struct stream *)on)->number];
}
static inline bool world_wait(void *stream, void *on, uint64_t count)
{
    world_internal++;
    world_depend(stream, ((struct stream *)on)->number, count);
    return true;
}
static inline void world_keep(void *stream) {}
static inline uint64_t world_id(void *stream)
{
    return (uint64_t)((struct stream *)stream)->number;
}

/* Frees at the stream's present moment. */
static inline enum pool_status world_free(void *at, struct stream *s)
{
    return pool_free(at, s, world_mark(s), BY);
}

static inline void world_begin(uint64_t memory)
{
    static const struct pool_order order = {
        world_mark,    world_completed, world_proven,
        world_ordered, world_wait,      world_keep,
        world_keep,    world_id,        offsetof(struct stream, slot),
        NULL};
    struct diag d = {0};
    bool ok = mem_open(1, memory, &d);
    CHECK(ok);
    if (!ok) {
        printf("%s\n", d.text);
        exit(1);
    }
    for (int i = 0; i < WORLD_STREAMS; i++) {
        world[i].number = i;
        world[i].alive = true;
        world[i].now = world[i].proven = 1;
    }
    pool_set_order(&order);
    pool_set_source(&pool_memory_source);
}

static inline struct pool *world_pool(uint64_t max_bytes)
{
    struct diag d = {0};
    struct pool *p =
        pool_new(&(struct pool_config){.kind = MEM_POOL, .max_bytes = max_bytes, .devices = 1}, &d);
    CHECK(p != NULL);
    if (p == NULL) {
        printf("%s\n", d.text);
        exit(1);
    }
    return p;
}

#endif
