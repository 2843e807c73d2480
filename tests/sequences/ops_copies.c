/* Copies and sets of each shape, through both APIs, in order and at once. */
#include <string.h>

#include "sequences.h"

static enum cudaMemcpyKind kind_of(struct thread *t, const struct buffer *d, const struct buffer *s)
{
    bool from_host = s->kind != MANAGED && on_host(s), to_host = d->kind != MANAGED && on_host(d);

    if (one_in(t, 2) || d->kind == MANAGED || s->kind == MANAGED)
        return cudaMemcpyDefault;
    return from_host ? (to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice)
                     : (to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice);
}

/* A divisor of n at random, so that n bytes are rows of that many. */
static size_t divisor(struct thread *t, size_t n)
{
    size_t d = 1 + below(t, 16);

    return n % d == 0 ? n / d : n;
}

static void set_driver(struct thread *t, CUdeviceptr p, const struct action *a, CUstream h)
{
    size_t width = divisor(t, a->n);

    switch (below(t, 4)) {
    case 0:
        if (p % 4 == 0 && a->n % 4 == 0) {
            OK_CU(cuMemsetD32Async(p, a->value * 0x01010101u, a->n / 4, h));
            break;
        }
        __attribute__((fallthrough));
    case 1:
        if (p % 2 == 0 && a->n % 2 == 0) {
            OK_CU(cuMemsetD16Async(p, (unsigned short)(a->value * 0x0101u), a->n / 2, h));
            break;
        }
        __attribute__((fallthrough));
    case 2: OK_CU(cuMemsetD8Async(p, (unsigned char)a->value, a->n, h)); break;
    default:
        OK_CU(cuMemsetD2D8Async(p, width, (unsigned char)a->value, width, a->n / width, h));
        break;
    }
}

static void set(struct thread *t, const struct action *a, int s)
{
    char *p = t->buffer[a->dst].p + a->to;
    cudaStream_t h = t->stream[s].h;
    size_t width = divisor(t, a->n);
    struct cudaPitchedPtr volume = {.ptr = p, .pitch = width, .xsize = width, .ysize = 1};
    bool now = s == LEGACY && t->gate == OPEN && one_in(t, 2);

    switch (below(t, 4)) {
    case 0:
        if (now)
            OK_RT(cudaMemset(p, (int)a->value, a->n));
        else
            OK_RT(cudaMemsetAsync(p, (int)a->value, a->n, h));
        break;
    case 1:
        if (now)
            OK_RT(cudaMemset2D(p, width, (int)a->value, width, a->n / width));
        else
            OK_RT(cudaMemset2DAsync(p, width, (int)a->value, width, a->n / width, h));
        break;
    case 2: {
        struct cudaExtent extent = {.width = width, .height = 1, .depth = a->n / width};
        if (now)
            OK_RT(cudaMemset3D(volume, (int)a->value, extent));
        else
            OK_RT(cudaMemset3DAsync(volume, (int)a->value, extent, h));
        break;
    }
    default: set_driver(t, (CUdeviceptr)p, a, (CUstream)h); break;
    }
}

static CUDA_MEMCPY3D rows_of(const struct action *a, char *to, char *from)
{
    CUDA_MEMCPY3D v;

    memset(&v, 0, sizeof v);
    v.srcMemoryType = v.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    v.srcDevice = (CUdeviceptr)from;
    v.dstDevice = (CUdeviceptr)to;
    v.srcPitch = a->pitch_from;
    v.dstPitch = a->pitch_to;
    v.srcHeight = v.dstHeight = a->rows;
    v.WidthInBytes = a->n;
    v.Height = a->rows;
    v.Depth = 1;
    return v;
}

/* Several rows. */
static void copy_rows(struct thread *t, const struct action *a, int s)
{
    struct buffer *d = &t->buffer[a->dst], *b = &t->buffer[a->src];
    char *to = d->p + a->to, *from = b->p + a->from;
    cudaStream_t h = t->stream[s].h;
    bool now = s == LEGACY && t->gate == OPEN && one_in(t, 2);
    enum cudaMemcpyKind kind = kind_of(t, d, b);

    switch (below(t, 4)) {
    case 0: {
        struct cudaMemcpy3DParms v;
        memset(&v, 0, sizeof v);
        v.srcPtr = (struct cudaPitchedPtr){from, a->pitch_from, a->n, a->rows};
        v.dstPtr = (struct cudaPitchedPtr){to, a->pitch_to, a->n, a->rows};
        v.extent = (struct cudaExtent){a->n, a->rows, 1};
        v.kind = kind;
        if (now)
            OK_RT(cudaMemcpy3D(&v));
        else
            OK_RT(cudaMemcpy3DAsync(&v, h));
        break;
    }
    case 1: {
        CUDA_MEMCPY3D v = rows_of(a, to, from);
        if (now)
            OK_CU(cuMemcpy3D(&v));
        else
            OK_CU(cuMemcpy3DAsync(&v, (CUstream)h));
        break;
    }
    case 2: {
        CUDA_MEMCPY2D v;
        memset(&v, 0, sizeof v);
        v.srcMemoryType = v.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
        v.srcDevice = (CUdeviceptr)from;
        v.dstDevice = (CUdeviceptr)to;
        v.srcPitch = a->pitch_from;
        v.dstPitch = a->pitch_to;
        v.WidthInBytes = a->n;
        v.Height = a->rows;
        if (now)
            OK_CU(one_in(t, 2) ? cuMemcpy2DUnaligned(&v) : cuMemcpy2D(&v));
        else
            OK_CU(cuMemcpy2DAsync(&v, (CUstream)h));
        break;
    }
    default:
        if (now)
            OK_RT(cudaMemcpy2D(to, a->pitch_to, from, a->pitch_from, a->n, a->rows, kind));
        else
            OK_RT(cudaMemcpy2DAsync(to, a->pitch_to, from, a->pitch_from, a->n, a->rows, kind, h));
        break;
    }
}

static void copy_line(struct thread *t, const struct action *a, int s)
{
    struct buffer *d = &t->buffer[a->dst], *b = &t->buffer[a->src];
    char *to = d->p + a->to, *from = b->p + a->from;
    cudaStream_t h = t->stream[s].h;
    enum cudaMemcpyKind kind = kind_of(t, d, b);

    if (s == LEGACY && t->gate == OPEN && one_in(t, 2)) {
        switch (below(t, 3)) {
        case 0: OK_CU(cuMemcpy((CUdeviceptr)to, (CUdeviceptr)from, a->n)); break;
        case 1:
            if (!on_host(d) && !on_host(b)) {
                if (one_in(t, 2))
                    OK_RT(cudaMemcpyPeer(to, t->device, from, t->device, a->n));
                else
                    OK_CU(cuMemcpyDtoD((CUdeviceptr)to, (CUdeviceptr)from, a->n));
                break;
            }
            __attribute__((fallthrough));
        default: OK_RT(cudaMemcpy(to, from, a->n, kind)); break;
        }
        return;
    }
    switch (below(t, 6)) {
    case 0: OK_CU(cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, a->n, (CUstream)h)); break;
    case 1:
        if (!on_host(d) && !on_host(b)) {
            if (one_in(t, 2))
                OK_CU(cuMemcpyDtoDAsync((CUdeviceptr)to, (CUdeviceptr)from, a->n, (CUstream)h));
            else
                OK_RT(cudaMemcpyPeerAsync(to, t->device, from, t->device, a->n, h));
            break;
        }
        __attribute__((fallthrough));
    case 2:
        if (s > PER_THREAD) {
            struct cudaMemcpyAttributes how;
            void *dsts[1] = {to};
            const void *srcs[1] = {from};
            size_t sizes[1] = {a->n}, first[1] = {0};
            memset(&how, 0, sizeof how);
            how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
            OK_RT(cudaMemcpyBatchAsync(dsts, srcs, sizes, 1, &how, first, 1, h));
            break;
        }
        __attribute__((fallthrough));
    default: OK_RT(cudaMemcpyAsync(to, from, a->n, kind, h)); break;
    }
}

static void action_of(struct thread *t, enum action_kind kind)
{
    struct action a;

    if (!any_action(t, &a, false))
        return;
    for (int tries = 0; a.kind != kind && tries < 8; tries++)
        if (!any_action(t, &a, false))
            return;
    if (a.kind != kind)
        return;
    int s = any_stream(t);
    /* Copies between two places of the host are synchronous. */
    if (t->gate == CLOSED &&
        (s == LEGACY || (kind == COPY && on_host(&t->buffer[a.dst]) && on_host(&t->buffer[a.src]))))
        return;
    if (!action_may(t, s, &a))
        return;
    NOTE(a.dst, a.src, a.n, s);
    if (kind == SET)
        set(t, &a, s);
    else if (a.rows > 1)
        copy_rows(t, &a, s);
    else
        copy_line(t, &a, s);
    enqueued(t, s);
    action_done(t, s, &a);
    act(t, &a);
}

static void sets(struct thread *t) { action_of(t, SET); }
static void copies(struct thread *t) { action_of(t, COPY); }

/* From pageable memory, which is the caller's again when the call returns. */
static void upload(struct thread *t)
{
    int k = any_buffer(t), s = any_stream(t);

    if (k < 0)
        return;
    struct buffer *b = &t->buffer[k];
    size_t at = below(t, (unsigned)b->size), n = 1 + below(t, (unsigned)(b->size - at));
    unsigned char *from = t->stage[below(t, 2)];
    bool now = one_in(t, 2);
    if (now)
        s = LEGACY;
    if (!may_access(t, s, b, true))
        return;
    uint32_t salt = chance(t);
    for (size_t i = 0; i < n; i++)
        from[i] = (unsigned char)((salt >> (i & 15)) + i);
    cudaStream_t h = t->stream[s].h;
    NOTE(k, at, n, s);
    if (b->kind == IN_SYMBOL && one_in(t, 2)) {
        size_t offset = (size_t)(b->p - places[t->device].symbol) + at;
        if (now)
            OK_RT(cudaMemcpyToSymbol(settings.symbol_handle, from, n, offset,
                                     cudaMemcpyHostToDevice));
        else
            OK_RT(cudaMemcpyToSymbolAsync(settings.symbol_handle, from, n, offset,
                                          cudaMemcpyHostToDevice, h));
    } else if (one_in(t, 3)) {
        if (now)
            OK_CU(cuMemcpyHtoD((CUdeviceptr)(b->p + at), from, n));
        else
            OK_CU(cuMemcpyHtoDAsync((CUdeviceptr)(b->p + at), from, n, (CUstream)h));
    } else if (now) {
        OK_RT(cudaMemcpy(b->p + at, from, n, cudaMemcpyDefault));
    } else {
        OK_RT(cudaMemcpyAsync(b->p + at, from, n, cudaMemcpyDefault, h));
    }
    memcpy(b->model + at, from, n);
    memset(from, 0x5a, n);
    enqueued(t, s);
    accessed(t, s, b, true);
}

/* To pageable memory: done when the call returns. */
static void download(struct thread *t)
{
    int k = any_buffer(t), s = any_stream(t);

    if (k < 0)
        return;
    struct buffer *b = &t->buffer[k];
    size_t at = below(t, (unsigned)b->size), n = 1 + below(t, (unsigned)(b->size - at));
    unsigned char *to = t->stage[below(t, 2)];
    if (!may_access(t, s, b, false))
        return;
    memset(to, 0xa5, n);
    cudaStream_t h = t->stream[s].h;
    NOTE(k, at, n, s);
    if (b->kind == IN_SYMBOL && one_in(t, 2))
        OK_RT(cudaMemcpyFromSymbolAsync(to, settings.symbol_handle, n,
                                        (size_t)(b->p - places[t->device].symbol) + at,
                                        cudaMemcpyDeviceToHost, h));
    else if (one_in(t, 3))
        OK_CU(cuMemcpyDtoHAsync(to, (CUdeviceptr)(b->p + at), n, (CUstream)h));
    else
        OK_RT(cudaMemcpyAsync(to, b->p + at, n, cudaMemcpyDefault, h));
    enqueued(t, s);
    stream_done(t, s);
    for (size_t i = 0; i < n; i++)
        if (to[i] != b->model[at + i])
            fail(t, "byte %zu of buffer %d (kind %d) is %d, not %d", at + i, k, (int)b->kind, to[i],
                 b->model[at + i]);
}

const struct op ops_copies[] = {
    {"copies", "set", sets, 40, false},     {"copies", "copy", copies, 40, false},
    {"copies", "upload", upload, 25, true}, {"copies", "download", download, 25, true},
    {NULL, NULL, NULL, 0, false},
};
