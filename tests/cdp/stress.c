/* D4.1, D5.1: random trees of launches in all streams, with waits in divergent code; block shapes
 * that nobody has compiled; clusters. */
#include "common.h"

enum { DEPTH = 4, SYNC_DEPTH = 8, MOST = 30000 };

static CUmodule module;

static unsigned next(unsigned h)
{
    h = h * 1664525u + 1013904223u;
    return h ^ h >> 15;
}

/* Threads and waits that a node of one thread stands for, as the kernel does it. */
static void walk(unsigned depth, unsigned seed, unsigned block, unsigned thread, unsigned *threads,
                 unsigned *waits)
{
    if (++*threads > MOST || depth-- == 0)
        return;
    unsigned h = next(seed + 64 * block + thread), launches = h >> 28 & 3;
    for (; launches > 0; launches--) {
        h = next(h);
        unsigned blocks = (h >> 8 & 1) + 1, width = (h >> 12 & 1) * 5 + 1;
        for (unsigned b = 0; b < blocks; b++)
            for (unsigned t = 0; t < width; t++)
                walk(depth, h, b, t, threads, waits);
    }
    *waits += (h >> 24 & 3) == 0;
}

static void trees(void)
{
    unsigned *p = words(4), depth = DEPTH;
    void *own = NULL;
    CUfunction f = kernel(module, "node");
    OK(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, SYNC_DEPTH));
    unsigned long long total = 0;
    for (unsigned seed = 1; seed < 1000 && total < 300000; seed++) {
        unsigned threads = 0, waits = 0;
        for (unsigned b = 0; b < 2; b++)
            for (unsigned t = 0; t < 3; t++)
                walk(depth, seed, b, t, &threads, &waits);
        if (threads > MOST)
            continue;
        total += threads;
        void *params[] = {&p, &depth, &seed, &own};
        memset(p, 0, 16);
        OK(launch(f, 2, 3, NULL, params));
        OK(cuCtxSynchronize());
        CHECK_EQ_INT(p[0], threads);
        CHECK_EQ_INT(p[1], 0);
        CHECK_EQ_INT(p[2], waits);
    }
    CHECK(total > 100000);
    OK(cuMemFreeHost(p));
}

static void shapes(void)
{
    unsigned *p = words(4), sum = 0, blocks = 200;
    void *params[] = {&p};
    for (unsigned b = 0; b < blocks; b++)
        sum += 2 * (b % 11 + 1) * (b % 11 + 1);
    OK(launch(kernel(module, "shapes"), blocks, 1, NULL, params));
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(p[0], sum);
    OK(cuMemFreeHost(p));
}

static void clusters(void)
{
    unsigned *p = words(4);
    void *params[] = {&p};
    OK(launch(kernel(module, "pairs"), 2, 1, NULL, params));
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(p[1], 2 * 10 * 2); /* two launches of ten threads, each adds the cluster's size */
    CHECK_EQ_INT(p[2], 40);
    CHECK_EQ_INT(p[3], 40);
    OK(cuMemFreeHost(p));
}

int main(void)
{
    begin();
    module = load_file("stress.ptx");
    trees();
    shapes();
    clusters();
    return check_done();
}
