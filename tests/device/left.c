/* Module device: streams that are left to host threads (left.c). A thread that launches and waits
 * is likely to do so again, so workers leave it what it launches; all the same a launch that nobody
 * waits for is run, soon: where all workers sleep, where they always have other work, where other
 * host threads launch and wait all the time, and whoever waits in the end. */
#include <unistd.h>

#include "common.h"

enum { THREADS = 16, ROUNDS = 60, STEPS = 1500, LONGEST_S = 20 };

static struct grid_kernel count = KERNEL(count_block), spin = KERNEL(spin_block);

/* Leaves the stream to this thread from now on. */
static void launch_and_wait(struct device_stream *s, _Atomic int *n)
{
    CHECK_EQ_INT(launch(s, &count, 1, n), DEVICE_OK);
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
}

/* Without a wait for it. */
static bool becomes(_Atomic int *n, int value)
{
    uint64_t end = now_ns() + LONGEST_S * 1000000000ull;
    while (atomic_load(n) != value && now_ns() < end)
        usleep(20);
    return atomic_load(n) == value;
}

/* All sleep: some rounds begin long after the last, some at once. */
static void test_asleep(void)
{
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    _Atomic int n = 0;
    for (int round = 0; round < ROUNDS; round++) {
        launch_and_wait(s, &n);
        if (round % 3 == 0)
            sleep_ms(2);
        CHECK_EQ_INT(launch(s, &count, 1, &n), DEVICE_OK);
        CHECK(becomes(&n, 2 * round + 2));
    }
    device_stream_free(s);
}

static _Atomic bool ends;

/* Launches that never end, for workers: of several blocks each, in two streams. */
static void *busy_main(void *arg)
{
    struct device_stream *s[2];
    _Atomic int *n = arg;
    for (int k = 0; k < 2; k++)
        s[k] = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    while (!atomic_load(&ends)) {
        for (int k = 0; k < 50; k++)
            CHECK_EQ_INT(launch(s[k % 2], &count, 1 + (uint32_t)k, n), DEVICE_OK);
        while (device_stream_query(s[0]) != DEVICE_OK && !atomic_load(&ends))
            usleep(1);
    }
    for (int k = 0; k < 2; k++) {
        CHECK_EQ_INT(device_stream_sync(s[k]), DEVICE_OK);
        device_stream_free(s[k]);
    }
    return NULL;
}

static void *pairs_main(void *arg)
{
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    while (!atomic_load(&ends))
        launch_and_wait(s, arg);
    device_stream_free(s);
    return NULL;
}

/* Beside others that keep workers, or each other, at work. */
static void test_beside(void *(*others)(void *), int threads, int rounds)
{
    pthread_t thread[THREADS];
    _Atomic int theirs = 0, n = 0;
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    atomic_store(&ends, false);
    for (int t = 0; t < threads; t++)
        pthread_create(&thread[t], NULL, others, &theirs);
    for (int round = 0; round < rounds; round++) {
        launch_and_wait(s, &n);
        CHECK_EQ_INT(launch(s, &count, 1, &n), DEVICE_OK);
        CHECK(becomes(&n, 2 * round + 2));
    }
    atomic_store(&ends, true);
    for (int t = 0; t < threads; t++)
        pthread_join(thread[t], NULL);
    device_stream_free(s);
}

/* While a kernel spins until it is done. */
static void test_beside_spinning(void)
{
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    struct device_stream *spins = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    for (int round = 0; round < ROUNDS; round++) {
        _Atomic int n = 0, flag = 0;
        launch_and_wait(s, &n);
        CHECK_EQ_INT(launch(spins, &spin, 4, &flag), DEVICE_OK);
        CHECK_EQ_INT(launch(s, &count, 1, &n), DEVICE_OK);
        CHECK(becomes(&n, 2));
        atomic_store(&flag, 1);
        CHECK_EQ_INT(device_stream_sync(spins), DEVICE_OK);
    }
    device_stream_free(s);
    device_stream_free(spins);
}

/* Streams that some threads launch into and others wait for, several launches at a time or one. */
static struct device_stream *common[THREADS];
static _Atomic int counted, expected;

static void *mixed_main(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    struct device_stream *own = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    for (int step = 0; step < STEPS; step++) {
        unsigned r = (unsigned)rand_r(&seed);
        struct device_stream *s = r % 4 == 0 ? common[r / 4 % THREADS] : own;
        int launches = r / 256 % 8 == 0 ? 3 : 1;
        for (int k = 0; k < launches; k++) {
            atomic_fetch_add(&expected, 1);
            CHECK_EQ_INT(launch(s, &count, 1, &counted), DEVICE_OK);
        }
        if (r / 4096 % 8 != 0)
            CHECK_EQ_INT(device_stream_sync(r / 65536 % 8 == 0 ? common[r % THREADS] : s),
                         DEVICE_OK);
        if (r / 2048 % 256 == 0) { /* with something left in it */
            atomic_fetch_add(&expected, 1);
            CHECK_EQ_INT(launch(own, &count, 1, &counted), DEVICE_OK);
            device_stream_free(own);
            own = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
        }
    }
    device_stream_free(own);
    return NULL;
}

static void test_mixed(void)
{
    pthread_t thread[THREADS];
    for (int t = 0; t < THREADS; t++)
        common[t] = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    for (int t = 0; t < THREADS; t++)
        pthread_create(&thread[t], NULL, mixed_main, (void *)(uintptr_t)(t + 1));
    for (int t = 0; t < THREADS; t++)
        pthread_join(thread[t], NULL);
    CHECK(becomes(&counted, atomic_load(&expected)));
    for (int t = 0; t < THREADS; t++)
        device_stream_free(common[t]);
}

int main(void)
{
    begin();
    test_asleep();
    test_beside(busy_main, 2, ROUNDS);
    test_beside(pairs_main, THREADS, ROUNDS / 4); /* each waits for CPUs that they use */
    test_beside_spinning();
    test_mixed();
    return end();
}
