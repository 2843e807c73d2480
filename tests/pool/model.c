/* A6.1, A7.4: the allocator against a simple reference of its rules: random calls on 16 streams.
 * For each answer the reference says whether it is legal: whether each granule was free, and by
 * which moment of which stream; statistics are counted; every byte that is allocated is checked
 * when it is freed.
 *
 *   model [operations] [seed]     100,000 operations, unless told otherwise; `make model`: 10
 * million
 */
#include "world.h"

enum { STREAMS = 16, LIVE = 600, EVENTS = 32, GRANULES = 1 << 20, KIB = 1 << 10, MIB = 1 << 20 };

/* The reference: what is known of each granule of the range's first part. */
static struct {
    int live;   /* allocation that holds it, or -1 */
    int stream; /* that it was freed on; -1: for everyone; -2: never used */
    uint64_t timestamp, count;
    uint64_t changes; /* how often memory had changed hands otherwise by then */
} granule[GRANULES];

static struct {
    uint64_t *at; /* NULL: none */
    uint64_t bytes, seed;
} live[LIVE];

static struct event events[EVENTS];
static struct pool *pool;
static uint64_t base, used, used_high, max_bytes;
static bool switches[POOL_SWITCHES];
static uint64_t by_rule[POOL_RULES], failed;

static uint64_t random_state;
static uint64_t rnd(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static uint64_t pattern(uint64_t seed, uint64_t i) { return (seed + i) * 0x9e3779b97f4a7c15u; }

static void fill(int n)
{
    uint64_t *p = live[n].at, words = live[n].bytes / 8;
    for (uint64_t i = 0; i < words; i++)
        p[i] = pattern(live[n].seed, i);
    for (uint64_t i = words * 8; i < live[n].bytes; i++)
        ((uint8_t *)p)[i] = (uint8_t)live[n].seed;
}

static bool intact(int n)
{
    uint64_t *p = live[n].at, words = live[n].bytes / 8;
    for (uint64_t i = 0; i < words; i++)
        if (p[i] != pattern(live[n].seed, i))
            return false;
    for (uint64_t i = words * 8; i < live[n].bytes; i++)
        if (((uint8_t *)p)[i] != (uint8_t)live[n].seed)
            return false;
    return true;
}

/* Whether stream s may use what was freed at that granule. */
static bool legal(int s, uint64_t g, uint64_t internal_before, uint64_t changes)
{
    int t = granule[g].stream;
    if (granule[g].live >= 0)
        return false;
    if (t < 0 || t == s)
        return true;
    bool passed = world[t].completed >= granule[g].count;
    bool safe = passed || world[s].waits[t] >= granule[g].count;
    if (!safe)
        return false;
    if (granule[g].timestamp < world[t].proven)
        return true;
    if (switches[POOL_FOLLOW_EVENTS] && granule[g].timestamp < world[s].after[t])
        return true;
    if (switches[POOL_OPPORTUNISTIC] && passed)
        return true;
    if (switches[POOL_INTERNAL] && world_internal != internal_before)
        return true;
    /* It went to the system meanwhile; or another stream gathered it by the rules to make one piece
     * of many, and what s comes after is that stream. */
    return changes != granule[g].changes;
}

static void check_figures(void)
{
    struct pool_statistics f;
    pool_get_usage(pool, &f);
    CHECK_EQ_INT(f.used, used);
    CHECK_EQ_INT(f.used_high, used_high);
    CHECK(f.reserved >= used && (max_bytes == 0 || f.reserved <= max_bytes));
    CHECK(f.reserved_high >= f.reserved);
}

static uint64_t changes_now(void)
{
    struct pool_statistics f;
    pool_get_statistics(pool, &f);
    return f.released + f.gathered;
}

static uint64_t random_size(void)
{
    uint64_t top = (uint64_t)512 << (rnd() % 12);
    return 1 + rnd() % (rnd() % 64 == 0 ? 4 * MIB : top);
}

/* How many granules a request takes: up to 2 MiB, sizes come in steps of a 32nd of the power of two
 * that is not larger. */
static uint64_t taken(uint64_t bytes)
{
    uint64_t granules = (bytes + POOL_GRANULE - 1) / POOL_GRANULE, power = 1;
    if (granules > 2 * MIB / POOL_GRANULE)
        return granules;
    while (power * 2 <= granules)
        power *= 2;
    uint64_t step = power > 32 ? power / 32 : 1;
    return (granules + step - 1) / step * step;
}

static void allocate(int n, int s)
{
    uint64_t bytes = random_size(), internal = world_internal, changes = changes_now();
    void *at = pool_alloc(pool, &world[s], bytes, BY);
    if (at == NULL) {
        CHECK(max_bytes > 0);
        failed++;
        return;
    }
    CHECK((uint64_t)at % POOL_GRANULE == base % POOL_GRANULE);
    bool went = changes_now() != changes; /* given back and taken again within the call */
    uint64_t first = ((uint64_t)at - base) / POOL_GRANULE;
    uint64_t end = first + taken(bytes);
    CHECK(end <= GRANULES);
    if (end > GRANULES)
        exit(check_done());
    bool fine = true;
    for (uint64_t g = first; g < end; g++) {
        fine &= legal(s, g, internal, went ? UINT64_MAX : changes);
        granule[g].live = n;
    }
    CHECK(fine);
    if (!fine)
        exit(check_done());
    live[n].at = at;
    live[n].bytes = bytes;
    live[n].seed = rnd();
    used += bytes;
    used_high = world_max(used_high, used);
    fill(n);
    world_command(&world[s], -1, 0); /* a kernel that uses it */
}

static void release(int n, int s)
{
    CHECK(intact(n));
    uint64_t *at = live[n].at, changes = changes_now();
    uint64_t first = ((uint64_t)at - base) / POOL_GRANULE;
    uint64_t end = first + taken(live[n].bytes);
    bool for_all = rnd() % 32 == 0;
    for (uint64_t g = first; g < end; g++) {
        granule[g].live = -1;
        granule[g].stream = for_all ? -1 : s;
        granule[g].timestamp = world[s].now;
        granule[g].count = world[s].enqueued;
        granule[g].changes = changes;
    }
    CHECK((for_all ? pool_free_now(at, BY) : world_free(at, &world[s])) == POOL_OK);
    used -= live[n].bytes;
    if (rnd() % 64 == 0)
        CHECK(world_free(at, &world[s]) == POOL_INVALID);
    live[n].at = NULL;
}

/* Makes what s uses next come after what holds the allocation: as a program must before freeing. */
static void one(uint64_t step)
{
    int s = (int)(rnd() % STREAMS), n = (int)(rnd() % LIVE), e = (int)(rnd() % EVENTS);
    switch (rnd() % 32) {
    case 0:
    case 1: world_record(&events[e], &world[s]); break;
    case 2:
    case 3:
        if (rnd() % 2 == 0)
            world_record(&events[e], &world[rnd() % STREAMS]);
        world_wait_event(&world[s], &events[e]);
        break;
    case 4:
        if (rnd() % 8 == 0)
            world_sync(&world[s]);
        break;
    case 5:
        if (rnd() % 8 == 0)
            world_sync_event(&events[e]);
        break;
    case 6:
    case 7:
    case 8:
        for (int i = 0; i < 8; i++)
            world_step(&world[rnd() % STREAMS]);
        break;
    case 9:
        if (rnd() % 64 == 0) {
            int which = (int)(rnd() % POOL_SWITCHES);
            switches[which] = rnd() % 3 != 0;
            pool_set_switch(pool, (enum pool_switch)which, switches[which]);
        }
        break;
    case 10:
        if (rnd() % 256 == 0)
            pool_set_threshold(pool, rnd() % 2 ? UINT64_MAX : rnd() % (32 * MIB));
        if (rnd() % 256 == 0)
            pool_trim(pool, rnd() % (32 * MIB));
        if (rnd() % 512 == 0) {
            pool_reset_used_high(pool);
            used_high = used;
        }
        break;
    default:
        if (live[n].at != NULL)
            release(n, s);
        else
            allocate(n, s);
    }
    for (int i = 0; i < STREAMS; i++) /* queues stay short */
        if (world[i].enqueued - world[i].completed > WORLD_QUEUE / 2)
            world_run(&world[i], world[i].enqueued);
    if (step % 64 == 0)
        check_figures();
}

static void run(uint64_t operations, uint64_t max)
{
    uint64_t bytes;
    struct pool_statistics f;
    max_bytes = max;
    pool = world_pool(max);
    CHECK(mem_range(0, &base, &bytes));
    used = used_high = 0;
    for (int i = 0; i < EVENTS; i++)
        events[i].stream = -1;
    for (int i = 0; i < POOL_SWITCHES; i++)
        switches[i] = true;
    for (uint64_t i = 0; i < GRANULES; i++)
        granule[i] = (__typeof__(granule[0])){.live = -1, .stream = -2};
    for (uint64_t i = 0; i < operations; i++)
        one(i);
    for (int n = 0; n < LIVE; n++)
        if (live[n].at != NULL)
            release(n, n % STREAMS);
    check_figures();
    pool_get_statistics(pool, &f);
    CHECK_EQ_INT(f.live, 0);
    for (int i = 0; i < POOL_RULES; i++)
        by_rule[i] += f.reused[i];
    for (int i = 0; i < STREAMS; i++)
        world_sync(&world[i]);
    pool_trim(pool, 0);
    pool_get_statistics(pool, &f);
    CHECK_EQ_INT(f.reserved, 0);
    pool_destroy(pool);
}

int main(int argc, char **argv)
{
    uint64_t operations = argc > 1 ? strtoull(argv[1], NULL, 0) : 100000;
    random_state = argc > 2 ? strtoull(argv[2], NULL, 0) : 88172645463325252u;
    world_begin((uint64_t)1 << 30);
    run(operations / 2, 0);
    run(operations / 2, 32 * MIB); /* too little: memory must be waited for */
    printf("reused: same stream %llu, synchronized %llu, event %llu, opportunistic %llu, internal "
           "%llu; refused %llu\n",
           (unsigned long long)by_rule[0], (unsigned long long)by_rule[1],
           (unsigned long long)by_rule[2], (unsigned long long)by_rule[3],
           (unsigned long long)by_rule[4], (unsigned long long)failed);
    for (int i = 0; i < POOL_RULES; i++) /* each of them was at work */
        CHECK(by_rule[i] > 0);
    return check_done();
}
