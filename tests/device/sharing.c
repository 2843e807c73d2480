/* Module device: how the blocks of a grid are shared by threads: each runs once, whoever runs it;
 * no more threads run than there are workers, host threads that wait among them; and what one of
 * them leaves undone another one does. */
#include <unistd.h>

#include "common.h"
#include "exec/run.h"

enum { WORKERS = 4, MOST = 5000 };

static _Atomic uint32_t runs[MOST];
static _Atomic int inside, most;

static void busy(uint64_t ns)
{
    for (uint64_t end = now_ns() + ns; now_ns() < end;)
        continue;
}

/* Kernel: counts that the block ran; the first ones take longer. */
static uint32_t once_block(struct jit_block *b)
{
    atomic_fetch_add(&runs[b->ctaid[0]], 1);
    busy(b->ctaid[0] < 10 ? 20000 : 500);
    return JIT_DONE;
}

/* Kernel: how many threads are in it. */
static uint32_t crowd_block(struct jit_block *b)
{
    int now = atomic_fetch_add(&inside, 1) + 1, seen = atomic_load(&most);
    while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now))
        continue;
    usleep(200);
    atomic_fetch_sub(&inside, 1);
    return JIT_DONE;
}

/* Kernel: block 700 writes to the parameter, which nobody may. */
static uint32_t fault_block(struct jit_block *b)
{
    busy(500);
    if (b->ctaid[0] == 700 && param(b) != NULL)
        *(volatile int *)param(b) = 1;
    return JIT_DONE;
}

static struct grid_kernel once = KERNEL(once_block), crowd = KERNEL(crowd_block),
                          fault = KERNEL(fault_block), count = KERNEL(count_block);

/* The first launch learns how long a block takes; the later ones are divided among the threads. */
static void each_once(struct device_stream *s)
{
    const uint32_t sizes[] = {MOST, 1, 7, 8, 9, 63, 500, 501, 4999};
    for (size_t i = 0; i < WEIR_COUNT(sizes); i++)
        for (int round = 0; round < 5; round++) {
            for (int k = 0; k < MOST; k++)
                atomic_store(&runs[k], 0);
            CHECK_EQ_INT(launch(s, &once, sizes[i], NULL), DEVICE_OK);
            CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
            int wrong = 0;
            for (uint32_t k = 0; k < MOST; k++)
                wrong += atomic_load(&runs[k]) != (k < sizes[i]);
            CHECK_EQ_INT(wrong, 0);
        }
}

static void no_crowd(struct device_stream *s)
{
    for (int round = 0; round < 20; round++) {
        CHECK_EQ_INT(launch(s, &crowd, 3 * WORKERS, NULL), DEVICE_OK);
        CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
    }
    CHECK(atomic_load(&most) > 0 && atomic_load(&most) <= WORKERS);
}

/* Host threads that launch and wait all the time leave a worker for what nobody waits for. */
static atomic_bool stop;
static void *loop(void *arg)
{
    struct device_stream *s = arg;
    while (!atomic_load(&stop))
        if (launch(s, &crowd, 1, NULL) != DEVICE_OK || device_stream_sync(s) != DEVICE_OK)
            break;
    return NULL;
}

static void nobody_waits(struct device_stream *s)
{
    enum { THREADS = 3 * WORKERS };
    pthread_t threads[THREADS];
    struct device_stream *streams[THREADS];
    for (int i = 0; i < THREADS; i++) {
        streams[i] = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
        pthread_create(&threads[i], NULL, loop, streams[i]);
    }
    _Atomic int counted = 0;
    for (int round = 1; round <= 20; round++) {
        CHECK_EQ_INT(launch(s, &count, 1, &counted), DEVICE_OK);
        /* busy machines take seconds */
        for (int i = 0; i < 60000 && atomic_load(&counted) < round; i++)
            sleep_ms(1);
        CHECK_EQ_INT(atomic_load(&counted), round);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        device_stream_free(streams[i]);
    }
}

static void faults(struct device_stream *s)
{
    CHECK_EQ_INT(launch(s, &fault, 1000, NULL), DEVICE_OK);
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
    CHECK_EQ_INT(launch(s, &fault, 1000, (void *)16), DEVICE_OK);
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_FAULT_ADDRESS);
}

/* How long a block takes is known soon after a first one that took very long, does not change much
 * by one during which the thread was interrupted, and follows blocks that do take longer. */
static void learns(void)
{
    struct grid_kernel k = KERNEL(count_block);
    run_learn(&k, 300000);
    CHECK_EQ_INT(k.block_ns, 300000);
    for (int i = 0; i < 12; i++)
        run_learn(&k, 300);
    CHECK(k.block_ns >= 300 && k.block_ns < 500);
    run_learn(&k, 4000000);
    CHECK(k.block_ns < 1000);
    for (int i = 0; i < 60; i++)
        run_learn(&k, 50000);
    CHECK(k.block_ns > 30000 && k.block_ns <= 50000);
}

int main(void)
{
    char workers[8];
    snprintf(workers, sizeof workers, "%d", WORKERS);
    setenv("WEIR_WORKERS", workers, 1);
    setenv("WEIR_FAULTS", "off", 1);
    begin();
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    each_once(s);
    no_crowd(s);
    nobody_waits(s);
    faults(s);
    learns();
    device_stream_free(s);
    return end();
}
