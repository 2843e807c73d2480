/* Module device: several devices and contexts: memory and faults of their own, events across; work
 * that needs two threads at the same time gets them. */
#include "common.h"

static struct grid_kernel spin = KERNEL(spin_block), count = KERNEL(count_block);

static uint32_t crash_block(struct jit_block *b)
{
    *(volatile int *)16 = 1;
    return JIT_DONE;
}
static struct grid_kernel crash = KERNEL(crash_block);

static void separate_memory(void)
{
    struct device_context *other = device_context_new(device_get(1));
    CHECK(device_get(2) == NULL && device_get(-1) == NULL);
    void *here = NULL, *there = NULL;
    struct mem_request r = {.device = 0, .kind = MEM_DEVICE, .bytes = 1000, .owner = ctx};
    mem_alloc(&r, &here);
    r.device = 1;
    r.owner = other;
    mem_alloc(&r, &there);
    int device = -5;
    mem_kind_of(there, &device);
    CHECK_EQ_INT(device, 1);
    struct device_copy copy = {.dst = there, .src = here, .width = 1000};
    struct mem_view outside =
        mem_view_enter(); /* where there are several, they are not the host's */
    memset(here, 5, 1000);
    CHECK_EQ_INT(device_copy(device_stream_legacy(ctx), &copy, DEVICE_COPY_ASYNC), DEVICE_OK);
    CHECK_EQ_INT(device_context_sync(ctx), DEVICE_OK);
    CHECK_EQ_INT(((char *)there)[999], 5);
    mem_view_leave(outside);
    /* The default streams of two contexts do not know each other; events join them. */
    _Atomic int flag = 0, n = 0;
    launch(device_stream_legacy(ctx), &spin, 1, &flag);
    launch(device_stream_legacy(other), &count, 1, &n);
    CHECK_EQ_INT(device_context_sync(other), DEVICE_OK);
    CHECK_EQ_INT(n, 1);
    struct device_event *e = device_event_new(ctx, 0);
    device_event_record(e, device_stream_legacy(ctx));
    device_stream_wait_event(device_stream_legacy(other), e);
    launch(device_stream_legacy(other), &count, 1, &n);
    sleep_ms(5);
    CHECK_EQ_INT(n, 1);
    flag = 1;
    CHECK_EQ_INT(device_context_sync(other), DEVICE_OK);
    CHECK_EQ_INT(n, 2);
    /* A fault stays in its context, and the wait on its event still ends. */
    flag = 0;
    launch(device_stream_legacy(other), &spin, 1, &flag);
    launch(device_stream_legacy(ctx), &crash, 1, NULL);
    device_event_record(e, device_stream_legacy(ctx));
    device_stream_wait_event(device_stream_legacy(other), e);
    CHECK_EQ_INT(device_context_sync(ctx), DEVICE_FAULT_ADDRESS);
    CHECK_EQ_INT(device_context_status(other), DEVICE_OK);
    flag = 1;
    CHECK_EQ_INT(device_context_sync(other), DEVICE_OK);
    device_event_free(e);
    device_context_reset(ctx);
    struct mem_info info;
    CHECK(!mem_find(here, &info));
    CHECK(mem_find(there, &info));
    device_context_free(other);
    CHECK(!mem_find(there, &info));
}

/* Kernel: two blocks that must run at the same time; gives up after two seconds. */
static uint32_t meet_block(struct jit_block *b)
{
    _Atomic int *met = param(b);
    uint64_t end = now_ns() + 2000000000;
    atomic_fetch_add(met, 1);
    while (atomic_load(met) < 2 && now_ns() < end)
        ;
    if (atomic_load(met) >= 2)
        atomic_fetch_add(met, 10);
    return JIT_DONE;
}
static struct grid_kernel meet = KERNEL(meet_block);

static void at_the_same_time(void)
{
    struct device_facts facts;
    device_facts(device_get(0), &facts);
    CHECK(facts.workers >= 1 && facts.cores >= 1 && facts.memory_bytes > 0 &&
          facts.name[0] != '\0');
    if (facts.workers < 2)
        return;
    _Atomic int met = 0;
    struct device_stream *a = device_stream_new(ctx, 0, 0), *b = device_stream_new(ctx, 0, 0);
    launch(a, &meet, 1, &met);
    launch(b, &meet, 1, &met);
    CHECK_EQ_INT(device_context_sync(ctx), DEVICE_OK);
    CHECK(met >= 2); /* together only if two threads were free */
    met = 0;
    launch(a, &meet, 2, &met); /* one grid */
    CHECK_EQ_INT(device_context_sync(ctx), DEVICE_OK);
    CHECK(met >= 2); /* blocks of one grid may, but need not, run at the same time */
    met = 0;
    launch(a, &meet, 2, &met); /* without a host thread that helps */
    for (int ms = 0; ms < 60000 && met < 2; ms++)
        sleep_ms(1);
    CHECK(met >= 2);
    CHECK_EQ_INT(device_context_sync(ctx), DEVICE_OK);
    device_stream_free(a);
    device_stream_free(b);
}

int main(void)
{
    setenv("WEIR_DEVICES", "2", 1);
    begin();
    CHECK_EQ_INT(device_count(), 2);
    separate_memory();
    at_the_same_time();
    return end();
}
