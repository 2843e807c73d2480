/* Module device: streams: order within one, overlap of two, the default stream's barriers, host
 * functions, calls, and streams that are freed with work in them. */
#include "common.h"

static struct grid_kernel spin = KERNEL(spin_block), count = KERNEL(count_block);

/* Kernel: appends its number to a log. */
static _Atomic int log_count;
static int log_items[100000];
struct entry {
    int value;
};
static uint32_t log_block(struct jit_block *b)
{
    log_items[atomic_fetch_add(&log_count, 1)] = (int)(intptr_t)param(b);
    return JIT_DONE;
}
static struct grid_kernel logger = KERNEL(log_block);

static void log_call(void *user)
{
    log_items[atomic_fetch_add(&log_count, 1)] = (int)(intptr_t)user;
}

static void log_host(void *user, enum device_error status)
{
    CHECK(device_in_host_function());
    CHECK_EQ_INT(status, DEVICE_OK);
    log_call(user);
}

static void order(void)
{
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    enum { N = 3000 };
    log_count = 0;
    for (int i = 0; i < N; i++) {
        void *user = (void *)(intptr_t)i;
        if (i % 50 == 7)
            CHECK_EQ_INT(device_host_function(s, log_host, user, NULL, false), DEVICE_OK);
        else if (i % 3 == 0)
            CHECK_EQ_INT(device_call(s, log_call, user), DEVICE_OK);
        else
            CHECK_EQ_INT(launch(s, &logger, 1, user), DEVICE_OK);
    }
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
    CHECK_EQ_INT(device_stream_query(s), DEVICE_OK);
    CHECK_EQ_INT(log_count, N);
    bool ordered = true;
    for (int i = 0; i < N; i++)
        ordered = ordered && log_items[i] == i;
    CHECK(ordered);
    device_stream_free(s);
}

static void grids(void)
{
    struct device_stream *s = device_stream_new(ctx, 0, 0);
    _Atomic int n = 0;
    uint32_t sizes[] = {1, 2, 3, 17, 1000, 100000};
    int sum = 0;
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < WEIR_COUNT(sizes); i++) {
            CHECK_EQ_INT(launch(s, &count, sizes[i], &n), DEVICE_OK);
            sum += (int)sizes[i];
        }
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
    CHECK_EQ_INT(n, sum);
    struct grid_launch bad = {.kernel = &count, .grid = {1, 0, 1}, .block = {32, 1, 1}};
    CHECK_EQ_INT(device_launch(s, &bad), DEVICE_INVALID_VALUE);
    bad = (struct grid_launch){.kernel = &count, .grid = {1, 1, 1}, .block = {1025, 1, 1}};
    CHECK_EQ_INT(device_launch(s, &bad), DEVICE_INVALID_VALUE);
    device_stream_free(s);
}

/* Kernel: marks its block and checks its indices. */
static uint32_t index_block(struct jit_block *b)
{
    _Atomic int *marks = param(b);
    uint32_t at = b->ctaid[0] + b->nctaid[0] * (b->ctaid[1] + b->nctaid[1] * b->ctaid[2]);
    atomic_fetch_add(&marks[at], 1);
    if (b->nthreads != 24 || b->nwarps != 1 || b->ntid[1] != 3 || b->smid >= b->nsmid ||
        b->total_shared != 300 || b->dynamic_shared != 200 || (uint64_t)b->shared % 128 != 0 ||
        (uint64_t)b->frame % 64 != 0 || b->pc[0] != 0 || b->state != 0 || b->local_stride != 48)
        atomic_fetch_add(&marks[at], 1000);
    memset(b->shared, 1, 300);
    memset(b->frame, 2, 100);
    memset(b->local, 3, 24 * 48);
    b->pc[0] = 5;
    b->state = 7;
    return JIT_DONE;
}

static void indices(void)
{
    static _Atomic int marks[7 * 5 * 3];
    struct grid_kernel k = {.run = index_block,
                            .name = "index",
                            .static_shared = 100,
                            .frame_bytes = 100,
                            .local_bytes = 48};
    const void *p = marks;
    struct grid_launch l = {.kernel = &k,
                            .grid = {7, 5, 3},
                            .block = {4, 3, 2},
                            .dynamic_shared = 200,
                            .params = &p,
                            .param_bytes = sizeof p};
    struct device_stream *s = device_stream_legacy(ctx);
    CHECK_EQ_INT(device_launch(s, &l), DEVICE_OK);
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
    for (size_t i = 0; i < WEIR_COUNT(marks); i++)
        CHECK_EQ_INT(marks[i], 1);
}

/* Kernel: its parameters are 1, 2, 3 …, many of them. */
static uint32_t params_block(struct jit_block *b)
{
    const int *p = (const int *)b->params;
    _Atomic int *out;
    memcpy(&out, p, sizeof out);
    int good = (uint64_t)p % 16 == 0;
    for (int i = 2; i < 1000; i++)
        good = good && p[i] == i;
    atomic_fetch_add(out, good);
    return JIT_DONE;
}

static void big_params(void)
{
    struct grid_kernel k = KERNEL(params_block);
    _Atomic int good = 0;
    int params[1000];
    _Atomic int *out = &good;
    for (int i = 0; i < 1000; i++)
        params[i] = i;
    memcpy(params, &out, sizeof out);
    struct grid_launch l = {.kernel = &k,
                            .grid = {4, 1, 1},
                            .block = {1, 1, 1},
                            .params = params,
                            .param_bytes = sizeof params};
    CHECK_EQ_INT(device_launch(device_stream_legacy(ctx), &l), DEVICE_OK);
    memset(params, 0, sizeof params);
    CHECK_EQ_INT(device_stream_sync(device_stream_legacy(ctx)), DEVICE_OK);
    CHECK_EQ_INT(good, 4);
}

/* A stream that waits does not hold the others. */
static void overlap(void)
{
    struct device_stream *a = device_stream_new(ctx, 0, 0), *b = device_stream_new(ctx, 0, 0);
    _Atomic int flag = 0, n = 0;
    launch(a, &spin, 1, &flag);
    launch(a, &count, 1, &n);
    launch(b, &count, 1, &n);
    CHECK_EQ_INT(device_stream_sync(b), DEVICE_OK);
    CHECK_EQ_INT(n, 1);
    CHECK_EQ_INT(device_stream_query(a), DEVICE_NOT_READY);
    flag = 1;
    CHECK_EQ_INT(device_stream_sync(a), DEVICE_OK);
    CHECK_EQ_INT(n, 2);
    device_stream_free(a);
    device_stream_free(b);
}

static void default_stream(void)
{
    struct device_stream *legacy = device_stream_legacy(ctx);
    struct device_stream *a = device_stream_new(ctx, 0, 0), *b = device_stream_new(ctx, 0, 0),
                         *free_one = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    _Atomic int flag = 0, n = 0;
    launch(a, &spin, 1, &flag);
    launch(legacy, &count, 1, &n); /* waits for a */
    launch(b, &count, 1, &n);      /* waits for legacy */
    launch(free_one, &count, 1, &n);
    CHECK_EQ_INT(device_stream_sync(free_one), DEVICE_OK);
    sleep_ms(20);
    CHECK_EQ_INT(n, 1);
    CHECK_EQ_INT(device_stream_query(legacy), DEVICE_NOT_READY);
    CHECK_EQ_INT(device_stream_query(b), DEVICE_NOT_READY);
    flag = 1;
    CHECK_EQ_INT(device_stream_sync(b), DEVICE_OK);
    CHECK_EQ_INT(n, 3);
    /* The default stream's synchronization covers the blocking ones. */
    flag = 0;
    launch(a, &spin, 1, &flag);
    CHECK_EQ_INT(device_stream_query(legacy), DEVICE_NOT_READY);
    flag = 1;
    CHECK_EQ_INT(device_stream_sync(legacy), DEVICE_OK);
    CHECK_EQ_INT(device_stream_query(a), DEVICE_OK);
    /* The thread's own stream is a blocking one. */
    struct device_stream *own = device_stream_per_thread(ctx);
    CHECK(own == device_stream_per_thread(ctx));
    flag = 0;
    n = 0;
    launch(own, &spin, 1, &flag);
    launch(legacy, &count, 1, &n);
    sleep_ms(10);
    CHECK_EQ_INT(n, 0);
    flag = 1;
    CHECK_EQ_INT(device_context_sync(ctx), DEVICE_OK);
    CHECK_EQ_INT(n, 1);
    device_stream_free(a);
    device_stream_free(b);
    device_stream_free(free_one);
}

static void freed_with_work(void)
{
    _Atomic int flag = 0, n = 0;
    for (int i = 0; i < 20; i++) {
        struct device_stream *s = device_stream_new(ctx, 0, -i);
        launch(s, &spin, 1, &flag);
        launch(s, &count, 1, &n);
        device_stream_free(s);
    }
    launch(device_stream_legacy(ctx), &count, 1, &n);
    sleep_ms(5);
    CHECK_EQ_INT(n, 0);
    flag = 1;
    CHECK_EQ_INT(device_stream_sync(device_stream_legacy(ctx)), DEVICE_OK);
    CHECK_EQ_INT(n, 21);
}

static _Atomic int gate;
static void wait_gate(void *user, enum device_error status)
{
    CHECK(slow_path(SLOW_PATH_HOST_FUNCTION) != 0);
    CHECK_EQ_INT(device_stream_sync(device_stream_legacy(ctx)), DEVICE_NOT_PERMITTED);
    while (gate == 0)
        sleep_ms(1);
}

/* A host function that blocks holds no worker. */
static void blocking_host_function(void)
{
    struct device_stream *a = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0),
                         *b = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    _Atomic int n = 0;
    device_host_function(a, wait_gate, NULL, NULL, false);
    launch(a, &count, 1, &n);
    launch(b, &count, 1000, &n);
    CHECK_EQ_INT(device_stream_sync(b), DEVICE_OK);
    CHECK_EQ_INT(n, 1000);
    gate = 1;
    CHECK_EQ_INT(device_stream_sync(a), DEVICE_OK);
    CHECK_EQ_INT(n, 1001);
    CHECK_EQ_INT(slow_path(SLOW_PATH_HOST_FUNCTION), 0); /* calls are short again */
    device_stream_free(a);
    device_stream_free(b);
}

static void values(void)
{
    struct device_stream *a = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0),
                         *b = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    static uint32_t word;
    _Atomic int n = 0;
    CHECK_EQ_INT(device_wait_value(a, &word, 4, 5, DEVICE_VALUE_GEQ), DEVICE_OK);
    launch(a, &count, 1, &n);
    sleep_ms(5);
    CHECK_EQ_INT(n, 0);
    CHECK_EQ_INT(device_write_value(b, &word, 4, 6), DEVICE_OK);
    CHECK_EQ_INT(device_stream_sync(a), DEVICE_OK);
    CHECK_EQ_INT(n, 1);
    CHECK_EQ_INT(device_wait_value(a, (char *)&word + 1, 4, 5, DEVICE_VALUE_GEQ),
                 DEVICE_INVALID_VALUE);
    device_stream_sync(b);
    device_stream_free(a);
    device_stream_free(b);
}

int main(void)
{
    begin();
    order();
    grids();
    indices();
    big_params();
    overlap();
    default_stream();
    freed_with_work();
    blocking_host_function();
    values();
    return end();
}
