/* M3.1, module device: copies and fills of all shapes, between all kinds of memory, small and
 * shared by workers, and which of them wait (spec Y1 to Y3). */
#include "common.h"

static struct grid_kernel spin = KERNEL(spin_block);

static uint8_t *get(int device, enum mem_kind kind, uint64_t bytes)
{
    void *p = NULL;
    CHECK_EQ_INT(
        mem_alloc(
            &(struct mem_request){.device = device, .kind = kind, .bytes = bytes, .owner = ctx},
            &p),
        MEM_OK);
    return p;
}

static uint8_t pattern(uint64_t i) { return (uint8_t)(i * 2654435761u >> 13); }

static void shape(uint64_t width, uint64_t height, uint64_t depth, uint64_t pad)
{
    uint64_t src_pitch = width + pad, dst_pitch = width + 3 * pad;
    uint64_t src_slice = src_pitch * (height + (pad > 0)),
             dst_slice = dst_pitch * (height + pad % 2);
    uint64_t src_bytes = src_slice * depth, dst_bytes = dst_slice * depth;
    uint8_t *src = get(0, MEM_DEVICE, src_bytes), *dst = get(0, MEM_DEVICE, dst_bytes);
    for (uint64_t i = 0; i < src_bytes; i++)
        src[i] = pattern(i);
    struct device_set set = {.dst = dst, .width = dst_bytes, .element = 1, .value = 0xaa};
    struct device_copy copy = {.dst = dst,
                               .src = src,
                               .dst_pitch = dst_pitch,
                               .src_pitch = src_pitch,
                               .dst_slice = dst_slice,
                               .src_slice = src_slice,
                               .width = width,
                               .height = height,
                               .depth = depth};
    struct device_stream *s = device_stream_legacy(ctx);
    CHECK_EQ_INT(device_set(s, &set, false), DEVICE_OK);
    CHECK_EQ_INT(device_copy(s, &copy, DEVICE_COPY_ASYNC), DEVICE_OK);
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
    uint64_t bad = 0;
    for (uint64_t i = 0; i < dst_bytes; i++) {
        uint64_t z = i / dst_slice, y = i % dst_slice / dst_pitch, x = i % dst_slice % dst_pitch;
        bool inside = x < width && y < height;
        bad += dst[i] != (inside ? pattern(z * src_slice + y * src_pitch + x) : 0xaa);
    }
    CHECK_EQ_INT(bad, 0);
    mem_free(src, MEM_ANY);
    mem_free(dst, MEM_ANY);
}

static void fill(uint32_t element, uint64_t width, uint64_t height, uint64_t depth, uint64_t pad)
{
    uint64_t pitch = width * element + pad, slice = pitch * height + pad;
    uint8_t *p = get(0, MEM_DEVICE, slice * depth);
    memset(p, 0x55, slice * depth);
    uint32_t value = 0x81828384;
    struct device_set set = {.dst = p,
                             .pitch = pitch,
                             .slice = slice,
                             .width = width,
                             .height = height,
                             .depth = depth,
                             .element = element,
                             .value = value};
    CHECK_EQ_INT(device_set(device_stream_legacy(ctx), &set, false), DEVICE_OK);
    CHECK_EQ_INT(device_context_sync(ctx), DEVICE_OK);
    uint64_t bad = 0;
    for (uint64_t i = 0; i < slice * depth; i++) {
        uint64_t y = i % slice / pitch, x = i % slice % pitch;
        bool inside = y < height && x < width * element;
        bad += p[i] != (inside ? (uint8_t)(value >> (x % element * 8)) : 0x55);
    }
    CHECK_EQ_INT(bad, 0);
    mem_free(p, MEM_ANY);
}

/* Large fills go past the caches: all of it and no more, wherever it begins. */
static void past_caches(void)
{
    enum { AROUND = 64, LARGE = 64 << 20 };
    uint64_t bytes = LARGE + 12344;
    uint8_t *p = get(0, MEM_DEVICE, bytes + 2 * AROUND);
    struct device_stream *s = device_stream_legacy(ctx);
    uint32_t value = 0x91929394;
    const uint32_t shapes[][2] = {{1, 0}, {1, 5}, {2, 2}, {2, 1}, {4, 4}, {4, 3}}; /* element, at */
    for (size_t i = 0; i < WEIR_COUNT(shapes); i++) {
        uint32_t element = shapes[i][0];
        uint8_t *at = p + AROUND + shapes[i][1];
        memset(p, 0x55, bytes + 2 * AROUND);
        struct device_set set = {
            .dst = at, .width = bytes / element, .element = element, .value = value};
        CHECK_EQ_INT(device_set(s, &set, false), DEVICE_OK);
        CHECK_EQ_INT(device_context_sync(ctx), DEVICE_OK);
        uint64_t bad = 0;
        for (uint64_t k = 0; k < bytes; k++)
            bad += at[k] != (uint8_t)(value >> k % element * 8);
        for (uint8_t *q = p; q < at; q++)
            bad += *q != 0x55;
        for (uint8_t *q = at + bytes; q < p + bytes + 2 * AROUND; q++)
            bad += *q != 0x55;
        CHECK_EQ_INT(bad, 0);
    }
    mem_free(p, MEM_ANY);
}

static uint64_t differing(const uint8_t *p, uint64_t n, uint8_t value)
{
    uint64_t bad = 0;
    for (uint64_t i = 0; i < n; i++)
        bad += p[i] != value;
    return bad;
}

/* A source in pageable memory may be overwritten as soon as the call is back, even while the stream
 * is held up. */
static void pageable_source(uint64_t bytes)
{
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    uint8_t *src = malloc(bytes), *dst = get(0, MEM_DEVICE, bytes);
    memset(src, 7, bytes);
    _Atomic int flag = 0;
    launch(s, &spin, 1, &flag);
    struct device_copy copy = {.dst = dst, .src = src, .width = bytes};
    CHECK_EQ_INT(device_copy(s, &copy, DEVICE_COPY_ASYNC), DEVICE_OK);
    memset(src, 8, bytes);
    CHECK_EQ_INT(device_stream_query(s), DEVICE_NOT_READY);
    flag = 1;
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
    CHECK_EQ_INT(differing(dst, bytes, 7), 0);
    /* back to pageable memory: done at the return */
    copy = (struct device_copy){.dst = src, .src = dst, .width = bytes};
    CHECK_EQ_INT(device_copy(s, &copy, DEVICE_COPY_ASYNC), DEVICE_OK);
    CHECK_EQ_INT(device_stream_query(s), DEVICE_OK);
    CHECK_EQ_INT(differing(src, bytes, 7), 0);
    mem_free(dst, MEM_ANY);
    free(src);
    device_stream_free(s);
}

static void which_wait(void)
{
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    uint8_t *device = get(0, MEM_DEVICE, 4096), *pinned = get(MEM_HOST, MEM_PINNED, 4096);
    uint8_t *device2 = get(0, MEM_DEVICE, 4096);
    _Atomic int flag = 0;
    launch(s, &spin, 1, &flag);
    struct device_copy up = {.dst = device, .src = pinned, .width = 4096};
    struct device_copy down = {.dst = pinned, .src = device, .width = 4096};
    struct device_copy across = {.dst = device2, .src = device, .width = 4096};
    CHECK_EQ_INT(device_copy(s, &up, DEVICE_COPY_ASYNC), DEVICE_OK);
    CHECK_EQ_INT(device_copy(s, &down, DEVICE_COPY_ASYNC), DEVICE_OK);
    CHECK_EQ_INT(device_copy(s, &across, DEVICE_COPY_ASYNC), DEVICE_OK);
    CHECK_EQ_INT(device_copy(s, &across, DEVICE_COPY_SYNC), DEVICE_OK);
    struct device_set set = {.dst = device, .width = 1024, .element = 4, .value = 0x01010101};
    CHECK_EQ_INT(device_set(s, &set, true), DEVICE_OK);
    CHECK_EQ_INT(device_stream_query(s), DEVICE_NOT_READY);
    flag = 1;
    CHECK_EQ_INT(device_copy(s, &down, DEVICE_COPY_SYNC), DEVICE_OK);
    CHECK_EQ_INT(device_stream_query(s), DEVICE_OK);
    CHECK_EQ_INT(differing(pinned, 4096, 1), 0);
    set.dst = pinned;
    set.value = 0x02020202;
    CHECK_EQ_INT(device_set(s, &set, true), DEVICE_OK);
    CHECK_EQ_INT(differing(pinned, 4096, 2), 0);
    uint8_t here[100] = {0}, there[100];
    memset(there, 9, sizeof there);
    struct device_copy host = {.dst = here, .src = there, .width = 100};
    CHECK_EQ_INT(device_copy(s, &host, DEVICE_COPY_ASYNC), DEVICE_OK);
    CHECK_EQ_INT(differing(here, 100, 9), 0);
    host.width = 0;
    CHECK_EQ_INT(device_copy(s, &host, DEVICE_COPY_SYNC), DEVICE_OK);
    host.width = 1;
    host.src = NULL;
    CHECK_EQ_INT(device_copy(s, &host, DEVICE_COPY_SYNC), DEVICE_INVALID_VALUE);
    mem_free(device, MEM_ANY);
    mem_free(device2, MEM_ANY);
    mem_free(pinned, MEM_ANY);
    device_stream_free(s);
}

/* A short copy or fill into a stream with nothing before it is made by the calling thread; one that
 * has to wait for another stream is not. */
static void short_ones(void)
{
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_BLOCKING, 0);
    struct device_stream *legacy = device_stream_legacy(ctx);
    uint8_t *device = get(0, MEM_DEVICE, 4096), *pinned = get(MEM_HOST, MEM_PINNED, 4096);
    struct device_copy up = {.dst = device, .src = pinned, .width = 4096};
    struct device_set set = {.dst = device, .width = 4096, .element = 1, .value = 4};
    int copied = 0, filled = 0;
    for (int i = 0; i < 100; i++) {
        memset(pinned, i, 4096);
        CHECK_EQ_INT(device_copy(s, &up, DEVICE_COPY_ASYNC), DEVICE_OK);
        copied += device_stream_query(s) == DEVICE_OK && differing(device, 4096, (uint8_t)i) == 0;
        CHECK_EQ_INT(device_set(s, &set, false), DEVICE_OK);
        filled += device_stream_query(s) == DEVICE_OK && differing(device, 4096, 4) == 0;
    }
    CHECK(copied > 50 && filled > 50); /* unless all workers were at work */
    _Atomic int flag = 0;
    launch(legacy, &spin, 1, &flag);
    CHECK_EQ_INT(device_copy(s, &up, DEVICE_COPY_ASYNC), DEVICE_OK);
    CHECK_EQ_INT(device_stream_query(s), DEVICE_NOT_READY);
    CHECK_EQ_INT(differing(device, 4096, 4), 0);
    flag = 1;
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
    CHECK_EQ_INT(differing(device, 4096, 99), 0);
    mem_free(device, MEM_ANY);
    mem_free(pinned, MEM_ANY);
    device_stream_free(s);
}

enum { PASSERS = 4, PASSES = 500 };

struct passer {
    struct device_stream *s;
    uint8_t *from, *to;
    uint64_t bad;
};

/* Passes numbers from one place to another by copies into a stream that other threads use, too. */
static void *pass(void *arg)
{
    struct passer *p = arg;
    struct device_copy one = {.dst = p->to, .src = p->from, .width = 64};
    struct device_copy two = {.dst = p->to + 64, .src = p->to, .width = 64};
    for (int i = 0; i < PASSES; i++) {
        memset(p->from, i, 64);
        device_copy(p->s, &one, DEVICE_COPY_ASYNC);
        device_copy(p->s, &two, DEVICE_COPY_ASYNC);
        device_stream_sync(p->s);
        p->bad += differing(p->to + 64, 64, (uint8_t)i);
    }
    return NULL;
}

static void many_threads(void)
{
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    uint8_t *device = get(0, MEM_DEVICE, 4096), *pinned = get(MEM_HOST, MEM_PINNED, 4096);
    struct passer passers[PASSERS];
    pthread_t threads[PASSERS];
    for (int i = 0; i < PASSERS; i++) {
        passers[i] = (struct passer){s, pinned + 256 * i, device + 256 * i, 0};
        pthread_create(&threads[i], NULL, pass, &passers[i]);
    }
    for (int i = 0; i < PASSERS; i++) {
        pthread_join(threads[i], NULL);
        CHECK_EQ_INT(passers[i].bad, 0);
    }
    mem_free(device, MEM_ANY);
    mem_free(pinned, MEM_ANY);
    device_stream_free(s);
}

int main(void)
{
    begin();
    uint64_t pads[] = {0, 1, 64};
    for (size_t i = 0; i < WEIR_COUNT(pads); i++) {
        shape(1, 1, 1, pads[i]);
        shape(100, 1, 1, pads[i]);
        shape(17, 9, 1, pads[i]);
        shape(33, 7, 5, pads[i]);
        shape(3000000, 1, 1, pads[i]);
        shape(1000, 3000, 1, pads[i]);
        shape(100, 300, 100, pads[i]);
        shape(1200001, 3, 2, pads[i]);
    }
    for (uint32_t element = 1; element <= 4; element *= 2) {
        fill(element, 1, 1, 1, 0);
        fill(element, 1001, 1, 1, 0);
        fill(element, 13, 7, 3, 8);
        fill(element, 3000001, 1, 1, 0);
        fill(element, 700, 900, 3, 4);
    }
    past_caches();
    struct device_set bad = {.dst = ctx, .width = 1, .element = 3};
    CHECK_EQ_INT(device_set(device_stream_legacy(ctx), &bad, false), DEVICE_INVALID_VALUE);
    pageable_source(1);
    pageable_source(5000);
    pageable_source(3000000);
    which_wait();
    short_ones();
    many_threads();
    return end();
}
