/* Module device: many host threads on many streams at once: launches, copies, events, waits,
 * synchronizations, streams made and freed, the default stream in between. */
#include "common.h"

enum { THREADS = 6, STREAMS = 8, STEPS = 1500 };

static struct grid_kernel count = KERNEL(count_block), spin = KERNEL(spin_block);
static _Atomic int counted, expected;
static struct device_stream *shared[STREAMS];

static void host_count(void *user, enum device_error status) { atomic_fetch_add(&counted, 1); }
static void call_count(void *user) { atomic_fetch_add(&counted, 1); }

static void step(unsigned *seed, struct device_stream **own, struct device_event *e,
                 uint8_t *memory)
{
    unsigned r = (unsigned)rand_r(seed);
    struct device_stream *s = r % 16 == 0  ? device_stream_legacy(ctx)
                              : r % 16 < 8 ? shared[r / 16 % STREAMS]
                                           : *own;
    uint8_t here[256];
    struct device_event *moved = device_event_new(ctx, r & 64 ? DEVICE_EVENT_NO_TIMING : 0);
    switch (r / 1024 % 14) {
    case 0:
    case 1:
    case 2: {
        uint32_t blocks = 1 + r / 65536 % 200;
        atomic_fetch_add(&expected, (int)blocks);
        CHECK_EQ_INT(launch(s, &count, blocks, &counted), DEVICE_OK);
        break;
    }
    case 3: CHECK_EQ_INT(device_event_record(e, s), DEVICE_OK); break;
    case 4: CHECK_EQ_INT(device_stream_wait_event(s, e), DEVICE_OK); break;
    case 5: CHECK_EQ_INT(device_event_sync(e), DEVICE_OK); break;
    case 6: CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK); break;
    case 7: device_stream_query(s); break;
    case 8:
        memset(here, (int)r, sizeof here);
        CHECK_EQ_INT(device_copy(*own,
                                 &(struct device_copy){.dst = memory, .src = here, .width = 256},
                                 r & 32 ? DEVICE_COPY_ASYNC : DEVICE_COPY_SYNC),
                     DEVICE_OK);
        CHECK_EQ_INT(device_copy(*own,
                                 &(struct device_copy){.dst = here, .src = memory, .width = 256},
                                 DEVICE_COPY_ASYNC),
                     DEVICE_OK);
        CHECK_EQ_INT(here[r % 256], (uint8_t)r);
        break;
    case 9:
        atomic_fetch_add(&expected, 1);
        CHECK_EQ_INT(device_host_function(s, host_count, NULL, NULL, false), DEVICE_OK);
        break;
    case 10:
        atomic_fetch_add(&expected, 1);
        CHECK_EQ_INT(device_call(s, call_count, NULL), DEVICE_OK);
        break;
    case 11:
        device_event_record(moved, *own);
        device_stream_free(*own);
        *own = device_stream_new(ctx, r / 65536 % 2, -(int)(r % 6));
        device_stream_wait_event(*own, moved);
        break;
    case 12:
        device_set(*own, &(struct device_set){.dst = memory + 4096, .width = 1 << 18, .element = 4},
                   false);
        break;
    case 13:
        if (r / 65536 % 20 == 0)
            CHECK_EQ_INT(device_context_sync(ctx), DEVICE_OK);
        break;
    }
    device_event_free(moved);
}

static void *thread_main(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    struct device_stream *own = device_stream_new(ctx, 0, 0);
    struct device_event *e = device_event_new(ctx, seed % 2 ? DEVICE_EVENT_NO_TIMING : 0);
    void *memory = NULL;
    mem_alloc(&(struct mem_request){.kind = MEM_DEVICE, .bytes = 4096 + (1 << 20), .owner = ctx},
              &memory);
    for (int i = 0; i < STEPS; i++)
        step(&seed, &own, e, memory);
    device_stream_sync(device_stream_per_thread(ctx));
    device_stream_free(own);
    device_event_free(e);
    return NULL;
}

int main(void)
{
    begin();
    static _Atomic int flag;
    struct device_stream *held = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    pthread_t threads[THREADS];
    for (int i = 0; i < STREAMS; i++)
        shared[i] = device_stream_new(ctx, i % 3 == 0, -(i % 6));
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, thread_main, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ_INT(device_context_sync(ctx), DEVICE_OK);
    CHECK_EQ_INT(counted, expected);
    /* A context freed with streams in it that wait for a kernel. */
    launch(held, &spin, 3, &flag);
    flag = 1;
    for (int i = 0; i < STREAMS; i++)
        device_stream_free(shared[i]);
    device_stream_free(held);
    return end();
}
