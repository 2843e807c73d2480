/* A7.2: which memory an allocation gets: the three switches, ways of order, frees pending and
 * passed. The expected table is what an H100 does. */
#include "world.h"

enum { MIB = 1 << 20 };
enum way { NONE, EVENT, EVENT_BEFORE, THROUGH_THIRD, WAYS };

static void *alloc(struct pool *p, struct stream *s, uint64_t bytes)
{
    return pool_alloc(p, s, bytes, BY);
}

static void dispose(struct pool *p)
{
    for (int i = 0; i < WORLD_STREAMS; i++)
        world_sync(&world[i]);
    pool_destroy(p);
    pool_synchronized();
}

/* What the rules say: whether the freed memory is used again. */
static bool expected(int switches, enum way way, bool pending, bool full)
{
    bool ordered = way == EVENT || way == THROUGH_THIRD;
    return ((switches & 1) != 0 && ordered) || ((switches & 2) != 0 && !pending) ||
           ((switches & 4) != 0 && full);
}

static void one(int switches, enum way way, bool pending, bool full)
{
    struct pool *p = world_pool(full ? 64 * MIB : 0);
    struct stream *a = &world[0], *b = &world[1], *c = &world[2];
    struct event e, f;
    pool_set_threshold(p, UINT64_MAX);
    for (int i = 0; i < POOL_SWITCHES; i++)
        pool_set_switch(p, (enum pool_switch)i, (switches >> i & 1) != 0);
    void *first = alloc(p, a, 48 * MIB);
    CHECK(first != NULL);
    world_command(a, -1, 0);
    if (way == EVENT_BEFORE)
        world_record(&e, a);
    CHECK(world_free(first, a) == POOL_OK);
    if (way == EVENT || way == THROUGH_THIRD)
        world_record(&e, a);
    if (way == EVENT || way == EVENT_BEFORE)
        world_wait_event(b, &e);
    if (way == THROUGH_THIRD) {
        world_wait_event(c, &e);
        world_record(&f, c);
        world_wait_event(b, &f);
    }
    if (!pending)
        world_run(a, a->enqueued);
    void *second = alloc(p, b, 48 * MIB);
    bool same = second == first, want = expected(switches, way, pending, full);
    if (same != want || (second == NULL) != (full && !want))
        printf("switches %d, way %d, pending %d, full %d: %s\n", switches, way, pending, full,
               second == NULL ? "nothing"
               : same         ? "same"
                              : "other");
    CHECK_EQ_INT(same, want);
    CHECK_EQ_INT(second == NULL, full && !want);
    if (same && pending && way != EVENT && way != THROUGH_THIRD)
        CHECK(b->waits[0] >= a->enqueued); /* the allocator made it wait */
    if (second != NULL)
        CHECK(world_free(second, b) == POOL_OK);
    dispose(p);
}

static void synchronized(void)
{
    struct pool *p = world_pool(0);
    struct stream *a = &world[3], *b = &world[4], *c = &world[5];
    struct event e;
    pool_set_threshold(p, UINT64_MAX);
    for (int i = 0; i < POOL_SWITCHES; i++)
        pool_set_switch(p, (enum pool_switch)i, false);
    void *x = alloc(p, a, 8 * MIB);
    CHECK(world_free(x, a) == POOL_OK);
    void *y = alloc(p, b, 8 * MIB); /* passed, but nobody has seen it */
    CHECK(x != y);
    CHECK(world_free(y, b) == POOL_OK);
    world_record(&e, a);
    world_wait_event(c, &e);
    world_sync(c); /* shows what the event was after */
    CHECK(alloc(p, c, 8 * MIB) == x);
    CHECK(world_free(x, c) == POOL_OK);
    CHECK(pool_free_now(alloc(p, b, 8 * MIB), BY) == POOL_OK);
    CHECK(alloc(p, c, 8 * MIB) == x); /* its own first */
    CHECK(alloc(p, a, 8 * MIB) == y); /* freed for everyone */
    CHECK(world_free(y, a) == POOL_OK);
    CHECK(world_free(x, a) == POOL_OK);
    dispose(p);
}

/* Pieces of a stream grow together, and small ones do not keep the large from being whole again. */
static void joining(void)
{
    struct pool *p = world_pool(0);
    struct stream *a = &world[6];
    pool_set_threshold(p, UINT64_MAX);
    void *piece[64];
    for (int i = 0; i < 64; i++)
        piece[i] = alloc(p, a, MIB);
    struct pool_statistics before, after;
    pool_get_statistics(p, &before);
    for (int i = 0; i < 64; i++)
        CHECK(world_free(piece[i * 37 % 64], a) == POOL_OK);
    void *whole = alloc(p, a, 64 * MIB);
    pool_get_statistics(p, &after);
    CHECK_EQ_INT(after.reserved, before.reserved);
    CHECK(world_free(whole, a) == POOL_OK);
    dispose(p);
}

static void wrong_frees(void)
{
    struct pool *p = world_pool(0);
    struct stream *a = &world[7];
    char *x = alloc(p, a, 5000), local;
    CHECK(world_free(x + 512, a) == POOL_INVALID);
    CHECK(world_free(x + 1, a) == POOL_INVALID);
    CHECK(world_free(&local, a) == POOL_INVALID);
    CHECK(world_free(NULL, a) == POOL_INVALID);
    CHECK(world_free(x, a) == POOL_OK);
    CHECK(world_free(x, a) == POOL_INVALID);
    CHECK(pool_free_now(x, BY) == POOL_INVALID);
    dispose(p);
}

static void what_addresses_are(void)
{
    struct pool *p = world_pool(0);
    struct stream *a = &world[8];
    char *x = alloc(p, a, 5000), *y = alloc(p, a, 40 * MIB);
    struct pool_info info;
    CHECK(pool_find(x + 4999, &info) && info.base == (uint64_t)x && info.size == 5000);
    CHECK(!pool_find(x + 5000, &info));
    CHECK(pool_find(y + 39 * MIB, &info) && info.base == (uint64_t)y);
    struct mem_info mem;
    CHECK(mem_find(y + 7, &mem) && mem.kind == MEM_POOL && mem.base == (uint64_t)y);
    CHECK(mem_kind_of(y, NULL) == MEM_POOL);
    CHECK(mem_free(y, MEM_ANY) == MEM_INVALID); /* only its pool frees it */
    CHECK(world_free(x, a) == POOL_OK);
    struct mem_place at;
    mem_place_of(x + 5, &at);
    CHECK(at.relation == MEM_FREED && at.distance == 5 && at.info.size == 5000);
    CHECK_EQ_INT(at.freed.stream, 8);
    CHECK(world_free(y, a) == POOL_OK);
    dispose(p);
}

/* A pool whose handle is gone lives until its memory is freed and the frees have passed. */
static void destroyed(void)
{
    struct pool *p = world_pool(0);
    struct stream *a = &world[9];
    uint64_t before, after, total;
    mem_usage(0, &before, &total);
    char *x = alloc(p, a, MIB);
    pool_destroy(p);
    memset(x, 1, MIB);
    world_command(a, -1, 0);
    CHECK(world_free(x, a) == POOL_OK);
    mem_usage(0, &after, &total);
    CHECK(after < before);
    world_sync(a);
    mem_usage(0, &after, &total);
    CHECK_EQ_INT(after, before);
    /* A call that had found the pool before. */
    CHECK(alloc(p, &world[12], MIB) == NULL);
    CHECK(pool_alloc_spaced(p, &world[12], MIB, 512, BY) == NULL);
    pool_free_gone(pool_take_gone());
}

static void ended_streams(void)
{
    struct pool *p = world_pool(0);
    struct stream *a = &world[10], *b = &world[11];
    for (int i = 0; i < POOL_SWITCHES; i++)
        pool_set_switch(p, (enum pool_switch)i, false);
    void *x = alloc(p, a, 8 * MIB), *y = alloc(p, a, MIB);
    CHECK(world_free(x, a) == POOL_OK);
    pool_stream_ended(a); /* nobody can synchronize with it any more: passed is enough */
    CHECK(alloc(p, b, 8 * MIB) == x);
    struct pool_statistics f;
    pool_get_statistics(p, &f);
    CHECK_EQ_INT(f.used, 9 * MIB);
    CHECK_EQ_INT(f.live, 2);
    CHECK(world_free(x, b) == POOL_OK);
    CHECK(world_free(y, b) == POOL_OK);
    world_sync(b);
    pool_trim(p, 0);
    pool_get_statistics(p, &f);
    CHECK_EQ_INT(f.reserved, 0);
    CHECK_EQ_INT(f.streams, 2); /* a call under way may have the ended one's part, */
    pool_stream_gone(a);
    pool_trim(p, 0);
    pool_get_statistics(p, &f);
    CHECK_EQ_INT(f.streams, 1); /* now none has */
    dispose(p);
}

/* However many streams come and go, the pool does not keep them all. */
static void many_streams(void)
{
    struct pool *p = world_pool(0);
    struct pool_statistics f;
    pool_set_threshold(p, UINT64_MAX);
    for (int i = 0; i < 500; i++) {
        struct stream *a = &world[12];
        void *x = alloc(p, a, MIB), *y = alloc(p, a, 4 * MIB);
        CHECK(world_free(x, a) == POOL_OK);
        CHECK(world_free(y, a) == POOL_OK);
        pool_stream_gone(a); /* it is another one from now on */
    }
    pool_get_statistics(p, &f);
    CHECK(f.streams < 40);
    CHECK_EQ_INT(f.used, 0);
    CHECK(f.reserved <= 16 * MIB);
    dispose(p);
}

/* A request that cannot be met costs others nothing. */
static void too_much(void)
{
    struct pool *p = world_pool(0);
    struct stream *a = &world[13], *b = &world[14];
    struct pool_statistics before, after;
    pool_set_threshold(p, UINT64_MAX);
    CHECK(world_free(alloc(p, a, 100 * MIB), a) == POOL_OK);
    pool_get_statistics(p, &before);
    CHECK(alloc(p, b, (uint64_t)2048 * MIB) == NULL);
    CHECK(alloc(p, b, UINT64_MAX) == NULL);
    CHECK(alloc(p, b, UINT64_MAX / 2) == NULL);
    pool_get_statistics(p, &after);
    CHECK_EQ_INT(after.reserved, before.reserved);
    CHECK_EQ_INT(after.released, before.released);
    CHECK_EQ_INT(after.gathered, before.gathered);
    CHECK_EQ_INT(after.used_high, before.used_high);
    dispose(p);
}

/* Holes do not make a pool grow, also where what it gives back for new memory is what that was to
 * prolong. */
static void holes(void)
{
    static const uint64_t sizes[] = {100 * MIB, 90 * MIB, 100 * MIB, 120 * MIB};
    struct pool *p = world_pool(0);
    struct stream *a = &world[15];
    struct pool_statistics f;
    void *x[4];
    pool_set_threshold(p, UINT64_MAX);
    for (int i = 0; i < 4; i++)
        x[i] = alloc(p, a, sizes[i]);
    CHECK(world_free(x[1], a) == POOL_OK);
    CHECK(world_free(x[3], a) == POOL_OK);
    world_sync(a);
    CHECK(alloc(p, a, 250 * MIB) != NULL);
    pool_get_statistics(p, &f);
    CHECK_EQ_INT(f.used, 450 * MIB);
    CHECK(f.reserved <= 450 / 8 * 9 * MIB + 16 * MIB);
    CHECK(f.reserved_high <= 450 / 8 * 9 * MIB + 16 * MIB);
    dispose(p);
}

/* ---- what is told ---- */

static struct pool_event told[32];
static unsigned told_count;

static void rules_listen(const struct pool_event *e)
{
    if (told_count < WEIR_COUNT(told))
        told[told_count++] = *e;
}

static const struct pool_event *next_told(enum pool_event_kind kind)
{
    static unsigned seen;
    CHECK(seen < told_count);
    if (seen == told_count)
        return &told[0];
    CHECK_EQ_INT(told[seen].kind, kind);
    return &told[seen++];
}

static void check_told(enum pool_event_kind kind, const void *at, uint64_t bytes,
                       const struct stream *s, int rule)
{
    const struct pool_event *e = next_told(kind);
    CHECK(e->address == (uint64_t)at && e->bytes == bytes);
    CHECK(e->has_stream == (s != NULL) && (s == NULL || e->stream == world_id((void *)s)));
    if (kind == POOL_ALLOCATED)
        CHECK_EQ_INT(e->rule, rule);
}

static void events(void)
{
    struct pool *p = world_pool(0);
    struct stream *a = &world[1], *b = &world[2];
    struct event e;
    pool_set_threshold(p, UINT64_MAX);
    pool_watch(rules_listen);
    void *x = alloc(p, a, 10 * MIB - 100);
    CHECK_EQ_INT(next_told(POOL_MAPPED)->reserved, 10 * MIB);
    check_told(POOL_ALLOCATED, x, 10 * MIB - 100, a, POOL_FRESH);
    CHECK(world_free(x, a) == POOL_OK);
    check_told(POOL_FREED, x, 10 * MIB - 100, a, 0);
    x = alloc(p, a, 10 * MIB);
    check_told(POOL_ALLOCATED, x, 10 * MIB, a, POOL_RULE_SAME_STREAM);
    world_command(a, -1, 0);
    CHECK(world_free(x, a) == POOL_OK);
    check_told(POOL_FREED, x, 10 * MIB, a, 0);
    world_record(&e, a);
    world_wait_event(b, &e);
    x = alloc(p, b, 10 * MIB);
    check_told(POOL_ALLOCATED, x, 10 * MIB, b, POOL_RULE_EVENT);
    CHECK(pool_free_now(x, BY) == POOL_OK);
    check_told(POOL_FREED, x, 10 * MIB, NULL, 0);
    x = alloc(p, a, 10 * MIB);
    check_told(POOL_ALLOCATED, x, 10 * MIB, a, POOL_RULE_SYNCHRONIZED);
    CHECK(pool_free_now(x, BY) == POOL_OK);
    check_told(POOL_FREED, x, 10 * MIB, NULL, 0);
    pool_trim(p, 0);
    CHECK_EQ_INT(next_told(POOL_TRIMMED)->bytes, 0);
    const struct pool_event *gone = next_told(POOL_UNMAPPED);
    CHECK(gone->address == (uint64_t)x && gone->bytes == 10 * MIB && gone->reserved == 0);
    pool_watch(NULL);
    unsigned count = told_count;
    CHECK(world_free(alloc(p, a, 512), a) == POOL_OK);
    CHECK_EQ_INT(told_count, count);
    dispose(p);
}

int main(void)
{
    world_begin((uint64_t)1 << 30);
    for (int switches = 0; switches < 8; switches++)
        for (int way = 0; way < WAYS; way++)
            for (int pending = 0; pending < 2; pending++)
                for (int full = 0; full < 2; full++)
                    one(switches, (enum way)way, pending, full);
    synchronized();
    joining();
    wrong_frees();
    what_addresses_are();
    destroyed();
    ended_streams();
    many_streams();
    too_much();
    holes();
    events();
    return check_done();
}
