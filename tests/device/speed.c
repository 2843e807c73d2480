/* Module device: the calls that programs make most, very often in a row. Prints what one costs,
 * which is not checked, since a machine that tests may be busy. Checks that nothing has failed. */
#include "common.h"

static uint32_t empty_block(struct jit_block *b) { return JIT_DONE; }
static struct grid_kernel empty = KERNEL(empty_block), spin = KERNEL(spin_block);

static void report(const char *what, uint64_t begin, int n)
{
    printf("%-28s %8.0f ns\n", what, (double)(now_ns() - begin) / n);
}

int main(void)
{
    begin();
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    struct device_event *timed = device_event_new(ctx, 0),
                        *untimed = device_event_new(ctx, DEVICE_EVENT_NO_TIMING);
    enum { N = 100000 };
    uint64_t t;
    for (int round = 0; round < 2; round++) {
        t = now_ns();
        for (int i = 0; i < N; i++) {
            launch(s, &empty, 1, NULL);
            device_stream_sync(s);
        }
        report("launch and synchronize", t, N);
    }
    _Atomic int flag = 0;
    launch(s, &spin, 1, &flag);
    for (int i = 0; i < 1000; i++)
        launch(s, &empty, 1, NULL);
    flag = 1;
    device_stream_sync(s);
    flag = 0;
    launch(s, &spin, 1, &flag);
    t = now_ns();
    for (int i = 0; i < 1000; i++)
        launch(s, &empty, 1, NULL);
    report("launch into a busy stream", t, 1000);
    t = now_ns();
    for (int i = 0; i < N; i++)
        device_event_record(untimed, s);
    report("record, busy, no timing", t, N);
    flag = 1;
    device_stream_sync(s);
    t = now_ns();
    for (int i = 0; i < N; i++)
        launch(s, &empty, 1, NULL);
    report("launch, free running", t, N);
    device_stream_sync(s);
    report("… with execution", t, N);
    t = now_ns();
    for (int i = 0; i < N; i++)
        device_stream_query(s);
    report("query a stream", t, N);
    t = now_ns();
    for (int i = 0; i < N; i++)
        device_event_record(timed, s);
    report("record, idle", t, N);
    t = now_ns();
    for (int i = 0; i < 2000; i++)
        launch(s, &empty, 1000, NULL);
    device_stream_sync(s);
    report("grid of 1000 empty blocks", t, 2000);
    uint8_t here[64] = {0};
    void *p = NULL;
    mem_alloc(&(struct mem_request){.kind = MEM_DEVICE, .bytes = 64 << 20, .owner = ctx}, &p);
    t = now_ns();
    for (int i = 0; i < N; i++)
        device_copy(s, &(struct device_copy){.dst = p, .src = here, .width = 64}, DEVICE_COPY_SYNC);
    report("copy of 64 bytes", t, N);
    struct device_copy large = {.dst = p, .src = (char *)p + (32 << 20), .width = 32 << 20};
    for (int round = 0; round < 2; round++) {
        t = now_ns();
        for (int i = 0; i < 5; i++)
            device_copy(s, &large, DEVICE_COPY_ASYNC);
        device_stream_sync(s);
        report("copy of 32 MiB", t, 5);
    }
    CHECK_EQ_INT(device_context_sync(ctx), DEVICE_OK);
    device_event_free(timed);
    device_event_free(untimed);
    device_stream_free(s);
    return end();
}
