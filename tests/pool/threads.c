/* S7.3, module pool: many threads at once, each on a stream of its own and now and then freeing
 * what others made, in one pool and in pools that come and go. */
#include <pthread.h>
#include <sched.h>

#include "world.h"

enum { THREADS = 8, ROUNDS = 20000, SHARED = 64, KIB = 1 << 10 };

static struct pool *pool;
static _Atomic(uint64_t *) handed_over[SHARED]; /* blocks for others to free */

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* What is in the world of one thread is touched by its own calls only, but for what the layer asks
 * on behalf of other streams: so nothing here ever changes but the words that are atomic. */
static struct pool_point mark(void *stream) { return (struct pool_point){1, 1}; }
static uint64_t one(void *stream) { return 1; }
static uint64_t ordered(void *stream, void *on) { return 1; }
static bool wait_for(void *stream, void *on, uint64_t count) { return true; }
static uint64_t passed(void *stream) { return 1; }

static void *work(void *arg)
{
    struct stream *s = arg;
    uint64_t state = 88172645463325252u * (uint64_t)(s->number + 1);
    uint64_t *mine[16] = {NULL};
    for (int i = 0; i < ROUNDS; i++) {
        int n = (int)(next(&state) % 16);
        if (mine[n] != NULL) {
            CHECK(*mine[n] == (uint64_t)mine[n]);
            if (next(&state) % 4 == 0) { /* another thread shall free it */
                uint64_t *other = atomic_exchange(&handed_over[next(&state) % SHARED], mine[n]);
                mine[n] = other;
            }
            if (mine[n] != NULL) {
                CHECK(*mine[n] == (uint64_t)mine[n]);
                CHECK((next(&state) % 8 == 0 ? pool_free_now(mine[n], BY)
                                             : world_free(mine[n], s)) == POOL_OK);
            }
            mine[n] = NULL;
        } else {
            uint64_t bytes = 8 + next(&state) % (next(&state) % 16 == 0 ? 3000 * KIB : 20 * KIB);
            mine[n] = pool_alloc(pool, s, bytes, BY);
            CHECK(mine[n] != NULL);
            *mine[n] = (uint64_t)mine[n];
        }
        if (next(&state) % 256 == 0)
            pool_synchronized();
        if (next(&state) % 256 == 0) {
            struct pool_statistics f;
            pool_get_statistics(pool, &f);
            CHECK(f.used <= f.used_high && f.used <= f.reserved);
        }
        if (next(&state) % 256 == 0) { /* a pool of the thread's own */
            struct pool *own = world_pool(0);
            void *at = pool_alloc(own, s, 100 * KIB, BY);
            CHECK(at != NULL);
            pool_destroy(own);
            CHECK(world_free(at, s) == POOL_OK);
        }
    }
    for (int n = 0; n < 16; n++)
        if (mine[n] != NULL)
            CHECK(world_free(mine[n], s) == POOL_OK);
    return NULL;
}

/* A pool that one thread destroys while others allocate from it: they get memory of it, or nothing,
 * never another pool's. */
enum { DESTROYED = 1500, USERS = 4 };
static struct pool *_Atomic passing;

static void *use_passing(void *arg)
{
    struct stream *s = arg;
    for (struct pool *p; (p = atomic_load(&passing)) != NULL;) {
        uint64_t *at = pool_alloc(p, s, 1000 * KIB, BY);
        struct pool_info of;
        if (at == NULL)
            continue;
        CHECK(pool_find(at, &of) && of.pool == p);
        CHECK(world_free(at, s) == POOL_OK);
    }
    return NULL;
}

static void destroy_under_calls(void)
{
    pthread_t threads[USERS];
    atomic_store(&passing, world_pool(0));
    for (int i = 0; i < USERS; i++)
        pthread_create(&threads[i], NULL, use_passing, &world[i]);
    for (int i = 0; i < DESTROYED; i++) {
        struct pool *old = atomic_exchange(&passing, world_pool(0));
        if (i % 2 == 0)
            sched_yield();
        pool_destroy(old);
    }
    struct pool *last = atomic_exchange(&passing, NULL);
    for (int i = 0; i < USERS; i++)
        pthread_join(threads[i], NULL);
    pool_destroy(last);
    pool_synchronized();
    pool_free_gone(pool_take_gone());
}

int main(void)
{
    world_begin((uint64_t)1 << 30);
    pool_set_order(&(struct pool_order){mark, passed, one, ordered, wait_for, world_keep,
                                        world_keep, world_id, offsetof(struct stream, slot), NULL});
    pool = world_pool(0);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &world[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < SHARED; i++) {
        uint64_t *left = atomic_load(&handed_over[i]);
        if (left != NULL)
            CHECK(pool_free_now(left, BY) == POOL_OK);
    }
    struct pool_statistics f;
    pool_get_statistics(pool, &f);
    CHECK_EQ_INT(f.used, 0);
    CHECK_EQ_INT(f.live, 0);
    pool_destroy(pool);
    destroy_under_calls();
    return check_done();
}
