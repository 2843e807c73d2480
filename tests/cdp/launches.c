/* D1, D2, D6: launches from device code: the forms in which compilers write them, order, depth,
 * errors, tail launches, waiting. */
#include "common.h"

static CUmodule module;

/* *p of `called`, launched by `blocks` blocks of `threads` threads. */
static unsigned called(unsigned blocks, unsigned threads, unsigned times, unsigned child_blocks,
                       unsigned child_threads, unsigned long long stream)
{
    unsigned *p = words(2);
    void *params[] = {&p, &times, &child_blocks, &child_threads, &stream};
    OK(launch(kernel(module, "called"), blocks, threads, NULL, params));
    OK(cuCtxSynchronize());
    unsigned sum = *p;
    OK(cuMemFreeHost(p));
    return sum;
}

static void forms(void)
{
    CHECK_EQ_INT(called(1, 1, 1, 1, 1, 0), 1);
    CHECK_EQ_INT(called(3, 33, 2, 2, 5, 0), 3 * 33 * 2 * 2 * 5);
    CHECK_EQ_INT(called(2, 64, 3, 1, 40, 4), 2 * 64 * 3 * 40);
    CHECK_EQ_INT(called(2, 16, 3, 3, 7, 3), 2 * 16 * 3 * 3 * 7);
    unsigned *p = words(2), blocks = 3, threads = 17;
    unsigned long long stream = 0;
    void *params[] = {&p, &blocks, &threads, &stream};
    for (stream = 0; stream <= 4; stream += stream == 0 ? 3 : 1) {
        p[0] = 0;
        OK(launch(kernel(module, "buffered"), 2, 48, NULL, params));
        OK(cuCtxSynchronize());
        CHECK_EQ_INT(p[0], 2 * 48 * 3 * 17);
        CHECK_EQ_INT(p[1], 0);
    }
    p[0] = 0;
    OK(launch(kernel(module, "first"), 1, 2, NULL, params));
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(p[0], 2 * 6 * 40);
    CHECK_EQ_INT(p[1], 0);
    OK(cuMemFreeHost(p));
}

/* Buffers are launched by other threads than got them, and once. */
static void buffers(void)
{
    static const unsigned want[] = {4, 0, 1, 1, 1};
    unsigned *p = words(8);
    void *params[] = {&p};
    OK(launch(kernel(module, "odd_buffer"), 1, 64, NULL, params));
    OK(cuCtxSynchronize());
    for (unsigned n = 0; n < 5; n++)
        CHECK_EQ_INT(p[n], want[n]);
    OK(cuMemFreeHost(p));
    /* those that are not launched end with their blocks: sanitizers see what is left */
    OK(launch(kernel(module, "drop_buffers"), 50, 100, NULL, NULL));
    OK(cuCtxSynchronize());
}

static void depth(void)
{
    unsigned *p = words(2), levels = 24;
    void *params[] = {&p, &levels};
    OK(launch(kernel(module, "deeper"), 1, 1, NULL, params));
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(p[0], 25);
    CHECK_EQ_INT(p[1], 0);
    levels = 1500;
    p[0] = 0;
    OK(launch(kernel(module, "deeper"), 1, 1, NULL, params));
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(p[0], 1501);
    CHECK_EQ_INT(p[1], 0);
    levels = 3000;
    p[0] = 0;
    OK(launch(kernel(module, "deeper"), 1, 1, NULL, params));
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(p[0], 2049);
    CHECK_EQ_INT(p[1], 69); /* cudaErrorLaunchPendingCountExceeded, as on an H100 */
    levels = 30;
    p[0] = p[1] = 0;
    OK(launch(kernel(module, "first_deeper"), 1, 1, NULL, params));
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(p[0], 25);
    CHECK_EQ_INT(p[1], 65); /* cudaErrorLaunchMaxDepthExceeded */
    OK(cuMemFreeHost(p));
}

static void errors(void)
{
    static const struct {
        unsigned blocks, threads;
        unsigned long long bytes;
    } cases[] = {{1, 1025, 0}, {0, 1, 0}, {1, 0, 0}, {1, 1, 49153}};
    unsigned *p = words(3);
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        unsigned blocks = cases[n].blocks, threads = cases[n].threads;
        unsigned long long bytes = cases[n].bytes;
        void *params[] = {&p, &blocks, &threads, &bytes};
        OK(launch(kernel(module, "wrong"), 1, 1, NULL, params));
        OK(cuCtxSynchronize());
        CHECK_EQ_INT(p[0], 9); /* cudaErrorInvalidConfiguration */
        CHECK_EQ_INT(p[1], 9);
        CHECK_EQ_INT(p[2], 0);
    }
    OK(cuMemFreeHost(p));
}

static void order(void)
{
    unsigned *list = words(65);
    unsigned long long stream = 0;
    void *params[] = {&list, &stream};
    OK(launch(kernel(module, "in_order"), 1, 64, NULL, params));
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(list[0], 64);
    for (unsigned n = 0; n < 64; n++)
        CHECK_EQ_INT(list[1 + n], n);
    OK(cuMemFreeHost(list));
}

static void tails(void)
{
    unsigned *list = words(65), base = 0;
    void *params[] = {&list, &base};
    OK(launch(kernel(module, "tail_first"), 1, 1, NULL, params));
    OK(cuCtxSynchronize());
    static const unsigned want[] = {5, 1, 2, 101, 102, 3};
    for (unsigned n = 0; n < 6; n++)
        CHECK_EQ_INT(list[n], want[n]);
    OK(cuMemFreeHost(list));
}

static void waiting(void)
{
    enum { THREADS = 96, ROUNDS = 5, BLOCKS = 7 };
    unsigned *out = words(THREADS), *sums = words(THREADS), rounds = ROUNDS;
    void *params[] = {&out, &sums, &rounds};
    OK(launch(kernel(module, "waits"), 1, THREADS, NULL, params));
    OK(cuCtxSynchronize());
    for (unsigned t = 0; t < THREADS; t++) {
        unsigned sum = THREADS;
        for (unsigned r = 1; r <= ROUNDS; r++)
            sum += t % 2 != 0 ? 32 * r : 0;
        CHECK_EQ_INT(out[t], t % 2 != 0 ? 32 * ROUNDS : 0);
        CHECK_EQ_INT(sums[t], sum);
    }
    OK(launch(kernel(module, "waits"), BLOCKS, THREADS, NULL, params));
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(out[1], 32 * ROUNDS * (BLOCKS + 1));
    OK(cuMemFreeHost(out));
    OK(cuMemFreeHost(sums));
}

static void tree(void)
{
    unsigned *p = words(2), depth = 5;
    void *params[] = {&p, &depth};
    OK(launch(kernel(module, "tree"), 1, 1, NULL, params));
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(p[0], 32);
    CHECK_EQ_INT(p[1], 68); /* cudaErrorSyncDepthExceeded: two levels may wait */
    OK(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 12));
    p[0] = p[1] = 0;
    depth = 12;
    OK(launch(kernel(module, "tree"), 1, 1, NULL, params));
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(p[0], 4096);
    CHECK_EQ_INT(p[1], 0);
    OK(cuMemFreeHost(p));
}

int main(void)
{
    begin();
    module = load_file("launches.ptx");
    forms();
    buffers();
    depth();
    errors();
    order();
    tails();
    waiting();
    tree();
    return check_done();
}
