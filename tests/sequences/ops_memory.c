/* Memory of each kind: allocated, described, written and read by the host, freed. */
#include <stdlib.h>
#include <string.h>

#include "sequences.h"

/* Bytes of a new buffer: mostly small, so that slabs and pieces are used; sometimes some chunks. */
static size_t any_size(struct thread *t)
{
    switch (below(t, 8)) {
    case 0: return 1 + below(t, 16);
    case 1: return 4096;
    case 2: return 4096 + below(t, STAGE - 4096);
    default: return 16 + below(t, 2000);
    }
}

static struct buffer *free_slot(struct thread *t)
{
    for (int i = 0; i < BUFFERS; i++)
        if (!t->buffer[i].live)
            return &t->buffer[i];
    return NULL;
}

void buffer_begins(struct thread *t, struct buffer *b)
{
    b->live = true;
    b->writer = -1;
    memset(b->read, 0, sizeof b->read);
    b->serial = ++t->serial;
    b->model = realloc(b->model, b->size);
    unsigned value = below(t, 256);
    memset(b->model, (int)value, b->size);
    if (on_host(b) && one_in(t, 2)) {
        memset(b->p, (int)value, b->size);
        return;
    }
    int s = t->gate == CLOSED ? own_stream(t) : any_stream(t);
    if (s < 0)
        s = PER_THREAD;
    NOTE(b - t->buffer, b->kind, b->size, s);
    OK_RT(cudaMemsetAsync(b->p, (int)value, b->size, t->stream[s].h));
    enqueued(t, s);
    accessed(t, s, b, true);
}

static void make_device(struct thread *t)
{
    struct buffer *b = free_slot(t);
    void *p = NULL;
    CUdeviceptr d = 0;

    if (b == NULL)
        return;
    size_t size = any_size(t), pitch = size;
    NOTE(size, 0, 0, 0);
    b->by_driver = one_in(t, 3);
    b->kind = one_in(t, 5) ? PITCHED : DEVICE;
    if (b->kind == PITCHED) {
        size_t width = 1 + below(t, 300), rows = 1 + below(t, 12);
        if (b->by_driver) {
            OK_CU(cuMemAllocPitch(&d, &pitch, width, rows, 4u << below(t, 3)));
            p = (void *)d;
        } else if (one_in(t, 2)) {
            struct cudaPitchedPtr volume;
            OK_RT(cudaMalloc3D(&volume, (struct cudaExtent){width, rows, 1}));
            p = volume.ptr;
            pitch = volume.pitch;
            MUST_EQ(volume.xsize, width);
            MUST_EQ(volume.ysize, rows);
        } else {
            OK_RT(cudaMallocPitch(&p, &pitch, width, rows));
        }
        MUST(pitch >= width && pitch % 32 == 0);
        size = pitch * (rows - 1) + width;
        if (size > STAGE)
            size = STAGE;
    } else if (b->by_driver) {
        OK_CU(cuMemAlloc(&d, size));
        p = (void *)d;
    } else {
        OK_RT(cudaMalloc(&p, size));
    }
    MUST(p != NULL && (uintptr_t)p % 256 == 0);
    b->p = p;
    b->size = size;
    b->pitch = pitch;
    buffer_begins(t, b);
}

static void make_host(struct thread *t)
{
    struct buffer *b = free_slot(t);
    void *p = NULL;

    if (b == NULL)
        return;
    b->size = any_size(t);
    b->flags = cudaHostAllocDefault;
    b->kind = (enum buffer_kind)(PINNED + below(t, 4));
    b->by_driver = one_in(t, 3);
    NOTE(b->size, b->kind, 0, 0);
    switch (b->kind) {
    case PINNED:
        if (b->by_driver)
            OK_CU(cuMemAllocHost(&p, b->size));
        else
            OK_RT(cudaMallocHost(&p, b->size));
        break;
    case MAPPED:
        b->flags = below(t, 8); /* portable, mapped, write-combined */
        if (b->by_driver)
            OK_CU(cuMemHostAlloc(&p, b->size, b->flags));
        else
            OK_RT(cudaHostAlloc(&p, b->size, b->flags));
        break;
    case REGISTERED:
        b->own = p = aligned_alloc(4096, (b->size + 4095) / 4096 * 4096);
        b->flags = below(t, 4);
        if (b->by_driver)
            OK_CU(cuMemHostRegister(p, b->size, b->flags));
        else
            OK_RT(cudaHostRegister(p, b->size, b->flags));
        break;
    default:
        b->kind = MANAGED;
        if (b->by_driver) {
            CUdeviceptr d;
            OK_CU(cuMemAllocManaged(&d, b->size, CU_MEM_ATTACH_GLOBAL));
            p = (void *)d;
        } else {
            OK_RT(cudaMallocManaged(&p, b->size,
                                    one_in(t, 2) ? cudaMemAttachGlobal : cudaMemAttachHost));
            /* Memory that is the host's alone is of no use to us: give it to everyone. */
            OK_RT(cudaStreamAttachMemAsync(t->stream[PER_THREAD].h, p, 0, cudaMemAttachGlobal));
            OK_RT(cudaStreamSynchronize(t->stream[PER_THREAD].h));
            stream_done(t, PER_THREAD);
        }
    }
    MUST(p != NULL);
    b->p = p;
    buffer_begins(t, b);
}

static void make_in_symbol(struct thread *t)
{
    for (int i = 0; i < BUFFERS; i++)
        if (t->buffer[i].live && t->buffer[i].kind == IN_SYMBOL)
            return;
    struct buffer *b = free_slot(t);
    if (b == NULL)
        return;
    b->kind = IN_SYMBOL;
    b->size = SYMBOL;
    b->p = places[t->device].symbol + (size_t)t->number * SYMBOL;
    buffer_begins(t, b);
}

static void make_ordered(struct thread *t)
{
    struct buffer *b = free_slot(t);
    int s = any_stream(t), k = (int)below(t, POOLS);
    void *p = NULL;

    if (b == NULL)
        return;
    b->kind = ORDERED;
    b->size = any_size(t);
    b->pool = -1;
    NOTE(b->size, s, k, 0);
    switch (below(t, 4)) {
    case 0: {
        CUdeviceptr d;
        OK_CU(cuMemAllocAsync(&d, b->size, (CUstream)t->stream[s].h));
        p = (void *)d;
        break;
    }
    case 1:
        if (t->pool[k].live) {
            OK_RT(cudaMallocFromPoolAsync(&p, b->size, t->pool[k].h, t->stream[s].h));
            b->pool = k;
            break;
        }
        __attribute__((fallthrough));
    default: OK_RT(cudaMallocAsync(&p, b->size, t->stream[s].h)); break;
    }
    MUST(p != NULL && (uintptr_t)p % 256 == 0);
    b->p = p;
    enqueued_alone(t, s);
    memset(b->read, 0, sizeof b->read);
    b->live = true;
    b->serial = ++t->serial;
    b->model = realloc(b->model, b->size);
    unsigned value = below(t, 256);
    memset(b->model, (int)value, b->size);
    OK_RT(cudaMemsetAsync(b->p, (int)value, b->size, t->stream[s].h));
    enqueued(t, s);
    accessed(t, s, b, true);
}

static void free_host(struct thread *t, struct buffer *b)
{
    bool driver = one_in(t, 2); /* either API frees what the other allocated */

    if (b->kind == REGISTERED) {
        if (driver)
            OK_CU(cuMemHostUnregister(b->p));
        else
            OK_RT(cudaHostUnregister(b->p));
        free(b->own);
    } else if (driver) {
        OK_CU(cuMemFreeHost(b->p));
    } else {
        OK_RT(cudaFreeHost(b->p));
    }
}

static void free_ordered(struct thread *t, struct buffer *b)
{
    int s = any_stream(t);

    if (!may_access(t, s, b, true))
        return;
    NOTE(b - t->buffer, s, 0, 0);
    if (one_in(t, 3))
        OK_CU(cuMemFreeAsync((CUdeviceptr)b->p, (CUstream)t->stream[s].h));
    else
        OK_RT(cudaFreeAsync(b->p, t->stream[s].h));
    enqueued_alone(t, s);
    b->live = false;
}

void free_buffer(struct thread *t, struct buffer *b)
{
    NOTE(b - t->buffer, b->kind, b->size, 0);
    switch (b->kind) {
    case PINNED:
    case MAPPED:
    case REGISTERED:
        if (!host_may_access(t, b, true))
            return;
        free_host(t, b);
        break;
    case IN_SYMBOL:
        if (!host_may_access(t, b, true))
            return;
        break;
    case VIRTUAL: {
        if (!host_may_access(t, b, true))
            return;
        OK_CU(cuMemUnmap((CUdeviceptr)b->p, b->mapped));
        OK_CU(cuMemRelease(b->handle));
        OK_CU(cuMemAddressFree((CUdeviceptr)b->p, b->mapped));
        break;
    }
    case ORDERED:
    case DEVICE:
        if (b->kind == ORDERED ? !one_in(t, 8) : one_in(t, 8)) {
            free_ordered(t, b);
            return;
        }
        if (b->kind == ORDERED && !host_may_access(t, b, true)) /* no implicit wait there */
            return;
        __attribute__((fallthrough));
    default: /* waits for all work that may use it */
        if (one_in(t, 3))
            OK_CU(cuMemFree((CUdeviceptr)b->p));
        else
            OK_RT(cudaFree(b->p));
    }
    b->live = false;
}

static void free_any(struct thread *t)
{
    int live = 0, b = any_buffer(t);

    for (int i = 0; i < BUFFERS; i++)
        live += t->buffer[i].live;
    if (b >= 0 && live > BUFFERS / 2)
        free_buffer(t, &t->buffer[b]);
}

static void host_writes(struct thread *t)
{
    int k = any_buffer(t);

    if (k < 0 || !on_host(&t->buffer[k]) || !host_may_access(t, &t->buffer[k], true))
        return;
    struct buffer *b = &t->buffer[k];
    size_t at = below(t, (unsigned)b->size), n = 1 + below(t, (unsigned)(b->size - at));
    for (size_t i = 0; i < n; i++)
        b->model[at + i] = (unsigned char)chance(t);
    memcpy(b->p + at, b->model + at, n);
    b->writer = -1;
    memset(b->read, 0, sizeof b->read);
}

static void check_any(struct thread *t)
{
    int b = any_buffer(t);

    if (b >= 0)
        check_buffer(t, &t->buffer[b]);
}

static enum cudaMemoryType type_of(const struct buffer *b)
{
    return b->kind == MANAGED ? cudaMemoryTypeManaged
           : on_host(b)       ? cudaMemoryTypeHost
                              : cudaMemoryTypeDevice;
}

static void asks_runtime(struct thread *t, struct buffer *b, size_t at)
{
    struct cudaPointerAttributes a;

    OK_RT(cudaPointerGetAttributes(&a, b->p + at));
    MUST_EQ(a.type, type_of(b));
    MUST_EQ(a.device, t->device);
    MUST(a.devicePointer == b->p + at);
    MUST(a.hostPointer == (on_host(b) ? b->p + at : NULL));
}

static void asks_driver(struct thread *t, struct buffer *b, size_t at)
{
    CUdeviceptr p = (CUdeviceptr)b->p + at, base = 0;
    unsigned type = 0, managed = 9;
    size_t size = 0;

    OK_CU(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    MUST_EQ(type, b->kind != MANAGED && on_host(b) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    OK_CU(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p));
    MUST_EQ(managed & 255, b->kind == MANAGED);
    if (b->kind == IN_SYMBOL || b->kind == REGISTERED)
        return;
#ifdef BY_RUNTIME_H /* of the runtime's pools the driver knows mappings alone */
    if (b->kind == ORDERED)
        return;
#endif
    OK_CU(cuMemGetAddressRange(&base, &size, p));
    MUST(base == (CUdeviceptr)b->p && size >= b->size);
    base = 0;
    OK_CU(cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p));
    MUST(base == (CUdeviceptr)b->p);
}

static void asks_of_host(struct thread *t, struct buffer *b, size_t at)
{
    void *d = NULL;
    unsigned flags = 0;

    OK_RT(cudaHostGetDevicePointer(&d, b->p + at, 0));
    MUST(d == b->p + at);
    OK_RT(cudaHostGetFlags(&flags, b->p + at));
    if (b->kind != REGISTERED)
        MUST_EQ(flags & b->flags, b->flags);
}

static void ask(struct thread *t)
{
    int k = any_buffer(t);

    if (k < 0)
        return;
    struct buffer *b = &t->buffer[k];
    size_t at = one_in(t, 2) ? 0 : below(t, (unsigned)b->size);
    NOTE(k, b->kind, at, 0);
    if (b->kind != MANAGED && on_host(b) && one_in(t, 2))
        asks_of_host(t, b, at);
    else if (one_in(t, 2))
        asks_runtime(t, b, at);
    else
        asks_driver(t, b, at);
}

static void advise(struct thread *t)
{
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = t->device};
    int k = any_buffer(t), s = any_stream(t), answer = -5;

    if (k < 0 || t->buffer[k].kind != MANAGED)
        return;
    struct buffer *b = &t->buffer[k];
    NOTE(k, b->size, s, 0);
    switch (below(t, 3)) {
    case 0:
        if (!may_access(t, s, b, true))
            return;
        OK_RT(cudaMemPrefetchAsync(b->p, b->size, here, 0, t->stream[s].h));
        enqueued(t, s);
        accessed(t, s, b, true);
        break;
    case 1:
        OK_RT(cudaMemAdvise(b->p, b->size, cudaMemAdviseSetReadMostly, here));
        OK_RT(cudaMemRangeGetAttribute(&answer, sizeof answer, cudaMemRangeAttributeReadMostly,
                                       b->p, b->size));
        MUST_EQ(answer, 1);
        OK_RT(cudaMemAdvise(b->p, b->size, cudaMemAdviseUnsetReadMostly, here));
        break;
    default:
        OK_RT(cudaMemAdvise(b->p, b->size, cudaMemAdviseSetPreferredLocation, here));
        OK_RT(cudaMemRangeGetAttribute(&answer, sizeof answer,
                                       cudaMemRangeAttributePreferredLocation, b->p, b->size));
        MUST_EQ(answer, t->device);
    }
}

static void info(struct thread *t)
{
    size_t free_bytes = 0, total = 0;

    if (one_in(t, 2))
        OK_RT(cudaMemGetInfo(&free_bytes, &total));
    else
        OK_CU(cuMemGetInfo(&free_bytes, &total));
    MUST(free_bytes > 0 && free_bytes <= total);
}

const struct op ops_memory[] = {
    {"memory", "make device", make_device, 12, true},
    {"memory", "make host", make_host, 8, true},
    {"memory", "make in symbol", make_in_symbol, 4, true},
    {"pools", "allocate in order", make_ordered, 10, false},
    {"memory", "free", free_any, 24, true},
    {"memory", "host writes", host_writes, 10, true},
    {"memory", "check content", check_any, 20, true},
    {"memory", "pointer attributes", ask, 20, false},
    {"memory", "advise", advise, 4, true},
    {"memory", "memory info", info, 2, false},
    {NULL, NULL, NULL, 0, false},
};
