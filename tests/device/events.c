/* Module device: events: what a recording keeps, what a wait saw, times, events freed early. */
#include "common.h"

static struct grid_kernel spin = KERNEL(spin_block), count = KERNEL(count_block);

static void never_recorded(void)
{
    struct device_event *e = device_event_new(ctx, 0), *f = device_event_new(ctx, 0);
    float ms;
    CHECK_EQ_INT(device_event_query(e), DEVICE_OK);
    CHECK_EQ_INT(device_event_sync(e), DEVICE_OK);
    CHECK_EQ_INT(device_stream_wait_event(device_stream_legacy(ctx), e), DEVICE_OK);
    CHECK_EQ_INT(device_event_elapsed(e, f, &ms), DEVICE_NOT_RECORDED);
    device_event_free(e);
    device_event_free(f);
}

static void keeps_recording(unsigned flags)
{
    struct device_stream *a = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0),
                         *b = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    struct device_event *e = device_event_new(ctx, flags);
    _Atomic int one = 0, two = 0, n = 0;
    launch(a, &spin, 1, &one);
    device_event_record(e, a);
    device_stream_wait_event(b, e); /* sees the first recording */
    launch(b, &count, 1, &n);
    launch(a, &spin, 1, &two);
    device_event_record(e, a); /* the second */
    CHECK_EQ_INT(device_event_query(e), DEVICE_NOT_READY);
    sleep_ms(5);
    CHECK_EQ_INT(n, 0);
    one = 1;
    CHECK_EQ_INT(device_stream_sync(b), DEVICE_OK);
    CHECK_EQ_INT(n, 1);
    CHECK_EQ_INT(device_event_query(e), DEVICE_NOT_READY);
    two = 1;
    CHECK_EQ_INT(device_event_sync(e), DEVICE_OK);
    CHECK_EQ_INT(device_event_query(e), DEVICE_OK);
    /* Freed while a stream waits on it. */
    one = 0;
    launch(a, &spin, 1, &one);
    device_event_record(e, a);
    device_stream_wait_event(b, e);
    launch(b, &count, 1, &n);
    device_event_free(e);
    device_stream_free(a);
    sleep_ms(2);
    CHECK_EQ_INT(n, 1);
    one = 1;
    CHECK_EQ_INT(device_stream_sync(b), DEVICE_OK);
    CHECK_EQ_INT(n, 2);
    device_stream_free(b);
}

static _Atomic bool rested; /* whether nap may end */

/* Host function: takes 30 ms at least, from when it may end. */
static void nap(void *user, enum device_error status)
{
    while (!rested)
        sleep_ms(1);
    sleep_ms(30);
}

static void times(void)
{
    struct device_stream *s = device_stream_new(ctx, 0, 0);
    struct device_event *a = device_event_new(ctx, 0), *b = device_event_new(ctx, 0),
                        *untimed = device_event_new(ctx, DEVICE_EVENT_NO_TIMING);
    uint64_t begun = now_ns();
    float ms = -1;
    device_event_record(a, s);
    device_host_function(s, nap, NULL, NULL, false);
    device_event_record(b, s);
    device_event_record(untimed, s);
    CHECK_EQ_INT(device_event_elapsed(a, b, &ms), DEVICE_NOT_READY);
    rested = true;
    CHECK_EQ_INT(device_event_sync(b), DEVICE_OK);
    CHECK_EQ_INT(device_event_elapsed(a, b, &ms), DEVICE_OK);
    CHECK(ms >= 29 && ms <= (double)(now_ns() - begun) / 1e6 + 1); /* rounded to a float */
    CHECK_EQ_INT(device_event_elapsed(b, a, &ms), DEVICE_OK);
    CHECK(ms <= -29);
    CHECK_EQ_INT(device_event_elapsed(a, untimed, &ms), DEVICE_NOT_RECORDED);
    device_event_free(a);
    device_event_free(b);
    device_event_free(untimed);
    device_stream_free(s);
}

/* An event in the default stream comes after the blocking streams, though nothing is enqueued. */
static void in_default_stream(void)
{
    struct device_stream *a = device_stream_new(ctx, 0, 0);
    struct device_event *e = device_event_new(ctx, DEVICE_EVENT_NO_TIMING);
    _Atomic int flag = 0;
    launch(a, &spin, 1, &flag);
    device_event_record(e, device_stream_legacy(ctx));
    CHECK_EQ_INT(device_event_query(e), DEVICE_NOT_READY);
    flag = 1;
    CHECK_EQ_INT(device_event_sync(e), DEVICE_OK);
    flag = 0;
    launch(device_stream_legacy(ctx), &spin, 1, &flag);
    device_event_record(e, a);
    CHECK_EQ_INT(device_event_query(e), DEVICE_NOT_READY);
    flag = 1;
    CHECK_EQ_INT(device_event_sync(e), DEVICE_OK);
    device_event_free(e);
    device_stream_free(a);
}

/* A diamond and a ring of waits over many streams. */
static void many_waits(void)
{
    enum { N = 64 };
    struct device_stream *s[N];
    struct device_event *e[N];
    _Atomic int n = 0, flag = 0;
    for (int i = 0; i < N; i++) {
        s[i] = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, -(i % 6));
        e[i] = device_event_new(ctx, i % 2 ? DEVICE_EVENT_NO_TIMING : 0);
    }
    launch(s[0], &spin, 1, &flag);
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < N; i++) {
            device_event_record(e[i], s[i]);
            for (int k = 1; k < 9; k += 2)
                device_stream_wait_event(s[(i + k) % N], e[i]);
            launch(s[(i + 1) % N], &count, 1, &n);
        }
    sleep_ms(3);
    flag = 1;
    CHECK_EQ_INT(device_context_sync(ctx), DEVICE_OK);
    CHECK_EQ_INT(n, 20 * N);
    for (int i = 0; i < N; i++) {
        device_event_free(e[i]);
        device_stream_free(s[i]);
    }
}

int main(void)
{
    begin();
    never_recorded();
    keeps_recording(0);
    keeps_recording(DEVICE_EVENT_NO_TIMING);
    keeps_recording(DEVICE_EVENT_BLOCKING_SYNC);
    times();
    in_default_stream();
    many_waits();
    return end();
}
