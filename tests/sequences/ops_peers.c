/* Several devices: each thread has its home, and objects on one other device, whose steps these
 * are: copies between the two, waits across them, what is refused because it is of the wrong
 * device, peers, and pools that are opened to the home. With one device none of them does anything.
 *
 * Whether a device has access to another is the state of all threads; who looks at it or changes it
 * has the lock, and may wait for a gate that is closed: so no thread whose own gate is closed may
 * ask for it. All work on the other device is done when a step ends, so it needs no clock. */
#include <string.h>

#include "sequences.h"

static struct {
    pthread_mutex_t lock;
    bool open[MAX_DEVICES][MAX_DEVICES]; /* from the first to the second's memory */
} peers = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum {
    VALUE = cudaErrorInvalidValue,
    HANDLE = cudaErrorInvalidResourceHandle,
};

void peers_forgotten(struct thread *t, int device)
{
    for (int d = 0; d < settings.devices; d++) {
        if (d == device)
            continue;
        /* Whether the others keep theirs is not documented. */
        RT(cudaSuccess, cudaSetDevice(d));
        RT(ANY_CODE, cudaDeviceDisablePeerAccess(device));
        RT(cudaSuccess, cudaSetDevice(device));
        if (peers.open[device][d])
            RT(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(d));
        peers.open[device][d] = peers.open[d][device] = false;
    }
}

/* ---- objects there ---- */

static void arrive(struct thread *t)
{
    struct abroad *a = &t->abroad;
    struct cudaMemPoolProps props;
    CUcontext context = NULL;
    int device = -1;

    if (a->live || settings.devices < 2)
        return;
    a->device = (t->device + 1 + (int)below(t, (unsigned)settings.devices - 1)) % settings.devices;
    NOTE(a->device, 0, 0, 0);
    OK_RT(cudaSetDevice(a->device));
    OK_CU(cuCtxGetCurrent(&context));
    MUST(context == places[a->device].primary);
    OK_RT(cudaGetDevice(&device));
    MUST_EQ(device, a->device);
    OK_RT(cudaStreamCreateWithFlags(&a->s, below(t, 2)));
    OK_RT(cudaEventCreateWithFlags(&a->e, one_in(t, 2) ? 0 : cudaEventDisableTiming));
    OK_RT(cudaMalloc((void **)&a->p, ABROAD));
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = a->device;
    if (one_in(t, 2)) /* whichever device is current */
        OK_RT(cudaSetDevice(t->device));
    OK_RT(cudaMemPoolCreate(&a->pool, &props));
    OK_RT(cudaMallocFromPoolAsync((void **)&a->from, ABROAD, a->pool, a->s));
    OK_RT(cudaSetDevice(a->device));
    OK_RT(cudaMemsetAsync(a->p, 1, ABROAD, a->s));
    OK_RT(cudaMemsetAsync(a->from, 2, ABROAD, a->s));
    OK_RT(cudaSetDevice(t->device));
    OK_RT(cudaStreamSynchronize(a->s));
    memset(a->model, 1, ABROAD);
    memset(a->pooled, 2, ABROAD);
    a->open = false;
    a->live = true;
}

static void leave_now(struct thread *t)
{
    struct abroad *a = &t->abroad;
    bool there = one_in(t, 2); /* all can be destroyed from either device */

    if (there)
        OK_RT(cudaSetDevice(a->device));
    OK_RT(cudaFreeAsync(a->from, a->s));
    OK_RT(cudaStreamSynchronize(a->s));
    if (one_in(t, 2))
        OK_CU(cuMemPoolDestroy((CUmemoryPool)a->pool));
    else
        OK_RT(cudaMemPoolDestroy(a->pool));
    if (one_in(t, 2))
        OK_CU(cuMemFree((CUdeviceptr)a->p));
    else
        OK_RT(cudaFree(a->p));
    OK_RT(cudaEventDestroy(a->e));
    OK_RT(cudaStreamDestroy(a->s));
    if (there)
        OK_RT(cudaSetDevice(t->device));
    a->live = false;
}

void peers_end(struct thread *t)
{
    if (t->abroad.live)
        leave_now(t);
}

static void leave(struct thread *t)
{
    if (t->abroad.live && one_in(t, 3))
        leave_now(t);
}

static void describe(struct thread *t)
{
    struct abroad *a = &t->abroad;
    struct cudaPointerAttributes attributes;
    int device = -1;
    CUcontext context = NULL;

    if (!a->live)
        return;
    switch (below(t, 5)) {
    case 0:
        OK_RT(cudaStreamGetDevice(a->s, &device));
        MUST_EQ(device, a->device);
        break;
    case 1:
        OK_CU(cuStreamGetCtx((CUstream)a->s, &context));
        MUST(context == places[a->device].primary);
        break;
    case 2:
        pthread_mutex_lock(&peers.lock);
        OK_RT(cudaPointerGetAttributes(&attributes, a->p));
        MUST_EQ(attributes.device, a->device);
        MUST_EQ(attributes.type, cudaMemoryTypeDevice);
        MUST(attributes.devicePointer == (peers.open[t->device][a->device] ? a->p : NULL));
        pthread_mutex_unlock(&peers.lock);
        break;
    case 3:
        OK_CU(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                    (CUdeviceptr)a->from));
        MUST_EQ(device, a->device);
        break;
    default:
        OK_CU(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, (CUdeviceptr)a->p));
        MUST(context == places[a->device].primary);
    }
}

/* ---- work on both ---- */

static void check_abroad(struct thread *t, const unsigned char *p, const unsigned char *model)
{
    int device = t->abroad.device;

    memset(t->scratch, 0xee, ABROAD);
    OK_RT(cudaSetDevice(device));
    OK_RT(cudaMemcpy(t->scratch, p, ABROAD, cudaMemcpyDeviceToHost));
    OK_RT(cudaSetDevice(t->device));
    for (int i = 0; i < ABROAD; i++)
        if (t->scratch[i] != model[i])
            fail(t, "memory of device %d holds %d at %d, not %d", device, t->scratch[i], i,
                 model[i]);
}

static void check(struct thread *t)
{
    struct abroad *a = &t->abroad;

    if (!a->live)
        return;
    check_abroad(t, a->p, a->model);
    check_abroad(t, a->from, a->pooled);
}

/* A copy that names both devices, by each of its calls. */
static void copy_named(struct thread *t, char *to, int on, const char *from, int of, size_t n,
                       cudaStream_t h)
{
    CUcontext there = places[on].primary, here = places[of].primary;

    switch (below(t, 4)) {
    case 0: OK_CU(cuMemcpyPeerAsync((CUdeviceptr)to, there, (CUdeviceptr)from, here, n, h)); break;
    case 1: {
        struct cudaMemcpy3DPeerParms v;
        memset(&v, 0, sizeof v);
        v.srcPtr = (struct cudaPitchedPtr){(void *)from, n, n, 1};
        v.dstPtr = (struct cudaPitchedPtr){to, n, n, 1};
        v.srcDevice = of;
        v.dstDevice = on;
        v.extent = (struct cudaExtent){n, 1, 1};
        OK_RT(cudaMemcpy3DPeerAsync(&v, h));
        break;
    }
    default: OK_RT(cudaMemcpyPeerAsync(to, on, from, of, n, h)); break;
    }
}

/* From a buffer at home in a stream of home to the memory there, by a kernel there, and back to
 * another buffer: each after what is before, by events. */
static void round_trip(struct thread *t)
{
    struct abroad *a = &t->abroad;
    int s = any_stream(t), k = any_buffer(t), back = any_buffer(t), r = any_stream(t);

    if (!a->live || k < 0 || on_host(&t->buffer[k]) || on_host(&t->buffer[back]))
        return;
    struct buffer *b = &t->buffer[k], *c = &t->buffer[back];
    size_t n = b->size < ABROAD ? b->size : ABROAD, m = c->size < n ? c->size : n;
    unsigned size = (unsigned)n, value = below(t, 256);
    void *args[] = {&a->p, &size, &value};
    NOTE(k, back, s, r);
    if (!may_access(t, s, b, false))
        return;
    copy_named(t, (char *)a->p, a->device, b->p, t->device, n, t->stream[s].h);
    enqueued(t, s);
    accessed(t, s, b, false);
    memcpy(a->model, b->model, n);
    OK_RT(cudaEventRecord(t->event[LINK].h, t->stream[s].h));
    enqueued(t, s);
    struct clock at = t->stream[s].seen;
    OK_RT(cudaStreamWaitEvent(a->s, t->event[LINK].h, 0)); /* while the home is current */
    OK_RT(cudaSetDevice(a->device));
    OK_RT(cudaLaunchKernel(kernel_handle(KERNEL_MIX), (dim3){2, 1, 1}, (dim3){64, 1, 1}, args, 0,
                           a->s));
    for (size_t i = 0; i < n; i++)
        a->model[i] = (unsigned char)(a->model[i] * 5 + value + i);
    OK_RT(cudaEventRecord(a->e, a->s));
    if (one_in(t, 2)) /* the other's event, in a stream of home */
        OK_CU(cuStreamWaitEvent((CUstream)t->stream[r].h, (CUevent)a->e, 0));
    OK_RT(cudaSetDevice(t->device));
    OK_RT(cudaStreamWaitEvent(t->stream[r].h, a->e, 0));
    joins(t, r, &at);
    waited(t, r);
    if (may_access(t, r, c, true)) {
        copy_named(t, c->p, t->device, (char *)a->p, a->device, m, t->stream[r].h);
        enqueued(t, r);
        accessed(t, r, c, true);
        memcpy(c->model, a->model, m);
        struct clock then = t->stream[r].seen;
        OK_RT(cudaStreamSynchronize(t->stream[r].h));
        host_joins(t, &then);
    }
    OK_RT(cudaEventSynchronize(a->e));
    OK_RT(cudaStreamSynchronize(a->s));
    host_joins(t, &at);
}

/* ---- what is of the wrong device ---- */

static void wrong_device(struct thread *t)
{
    struct abroad *a = &t->abroad;
    int s = own_stream(t), e = any_event(t);
    float ms;
    bool there = one_in(t, 2);

    if (!a->live)
        return;
    cudaStream_t h = t->stream[s < 0 ? PER_THREAD : s].h;
    cudaEvent_t v = t->event[e < 0 ? LINK : e].h;
    cudaFunction_t function;
    unsigned char *p = NULL;
    unsigned n = 0;
    void *args[] = {&p, &n, &n};
    NOTE(there, s, e, 0);
    OK_RT(cudaGetFuncBySymbol(&function, kernel_handle(KERNEL_MIX)));
    if (s < 0)
        there = false;
    if (there)
        OK_RT(cudaSetDevice(a->device));
    switch (below(t, 10)) {
    case 0: RT(HANDLE, cudaEventRecord(v, a->s)); break;
    case 1: RT(HANDLE, cudaEventRecord(a->e, h)); break;
    case 2: CU(CUDA_ERROR_INVALID_HANDLE, cuEventRecord((CUevent)v, (CUstream)a->s)); break;
    case 3: CU(CUDA_ERROR_INVALID_HANDLE, cuEventRecord((CUevent)a->e, (CUstream)h)); break;
    case 4: RT(HANDLE, cudaEventElapsedTime(&ms, v, a->e)); break;
    case 5: /* a function of home */
        CU(CUDA_ERROR_INVALID_HANDLE,
           cuLaunchKernel((CUfunction)function, 1, 1, 1, 32, 1, 1, 0, (CUstream)a->s, args, NULL));
        break;
    case 6: OK_RT(cudaStreamQuery(a->s)); break;
    case 7: OK_RT(cudaStreamSynchronize(a->s)); break;
    case 8: OK_RT(cudaEventQuery(a->e)); break;
    default: OK_RT(cudaStreamWaitEvent(a->s, a->e, 0)); break;
    }
    if (there)
        OK_RT(cudaSetDevice(t->device));
}

/* Sets and plain copies reach the other device's memory if the device has access. */
static void sets_and_copies(struct thread *t)
{
    struct abroad *a = &t->abroad;
    int value = (int)below(t, 256);

    if (!a->live)
        return;
    pthread_mutex_lock(&peers.lock);
    bool open = peers.open[t->device][a->device];
    NOTE(open, a->open, a->device, 0);
    switch (below(t, 6)) {
    case 0:
        RT(open ? (int)cudaSuccess : (int)VALUE,
           cudaMemsetAsync(a->p, value, ABROAD, t->stream[PER_THREAD].h));
        if (open)
            memset(a->model, value, ABROAD);
        break;
    case 1:
        RT(a->open ? (int)cudaSuccess : (int)VALUE,
           cudaMemsetAsync(a->from, value, ABROAD, t->stream[PER_THREAD].h));
        if (a->open)
            memset(a->pooled, value, ABROAD);
        break;
    case 2: /* in a stream of the other device */
        OK_RT(cudaMemsetAsync(a->p, value, ABROAD, a->s));
        memset(a->model, value, ABROAD);
        OK_RT(cudaStreamSynchronize(a->s));
        break;
    case 3:
        OK_RT(cudaMemcpy(t->scratch, a->p, ABROAD, cudaMemcpyDefault));
        MUST(memcmp(t->scratch, a->model, ABROAD) == 0);
        break;
    case 4:
        RT(a->open              ? (int)cudaSuccess
           : settings.own_pools ? (int)ANY_CODE
                                : (int)VALUE,
           cudaMemcpy(t->scratch, a->from, ABROAD, cudaMemcpyDeviceToHost));
        if (a->open)
            MUST(memcmp(t->scratch, a->pooled, ABROAD) == 0);
        break;
    default: /* names both devices: needs no access */
        OK_RT(cudaMemcpyPeer(a->p, a->device, a->from, a->device, ABROAD));
        memcpy(a->model, a->pooled, ABROAD);
    }
    enqueued_alone(t, PER_THREAD);
    OK_RT(cudaStreamSynchronize(t->stream[PER_THREAD].h));
    stream_done(t, PER_THREAD);
    OK_RT(cudaDeviceSynchronize());
    pthread_mutex_unlock(&peers.lock);
}

/* A kernel at home works on the other's memory, where it may. */
static void reach(struct thread *t)
{
    struct abroad *a = &t->abroad;

    if (!a->live)
        return;
    pthread_mutex_lock(&peers.lock);
    bool pool = one_in(t, 2);
    if (pool ? a->open : peers.open[t->device][a->device]) {
        unsigned char *p = pool ? a->from : a->p, *model = pool ? a->pooled : a->model;
        unsigned n = ABROAD, value = below(t, 256);
        void *args[] = {&p, &n, &value};
        OK_RT(cudaLaunchKernel(kernel_handle(KERNEL_MIX), (dim3){2, 1, 1}, (dim3){64, 1, 1}, args,
                               0, t->stream[PER_THREAD].h));
        enqueued(t, PER_THREAD);
        for (unsigned i = 0; i < n; i++)
            model[i] = (unsigned char)(model[i] * 5 + value + i);
        OK_RT(cudaStreamSynchronize(t->stream[PER_THREAD].h));
        stream_done(t, PER_THREAD);
    }
    pthread_mutex_unlock(&peers.lock);
}

/* ---- who has access ---- */

static void change_peers(struct thread *t)
{
    int other = (int)below(t, (unsigned)settings.devices);
    bool on = one_in(t, 2), driver = one_in(t, 3), own = other == t->device;
    int wanted;

    pthread_mutex_lock(&peers.lock);
    bool *open = &peers.open[t->device][other];
    NOTE(other, *open, on, driver);
    if (on) {
        wanted = own     ? cudaErrorPeerAccessUnsupported
                 : *open ? cudaErrorPeerAccessAlreadyEnabled
                         : cudaSuccess;
        if (driver)
            CU(wanted, cuCtxEnablePeerAccess(places[other].primary, 0));
        else
            RT(wanted, cudaDeviceEnablePeerAccess(other, 0));
        *open = *open || !own;
    } else {
        wanted = *open ? cudaSuccess : cudaErrorPeerAccessNotEnabled;
        if (driver)
            CU(wanted, cuCtxDisablePeerAccess(places[other].primary));
        else
            RT(wanted, cudaDeviceDisablePeerAccess(other));
        *open = false;
    }
    pthread_mutex_unlock(&peers.lock);
}

static void ask_peers(struct thread *t)
{
    int a = (int)below(t, (unsigned)settings.devices), n = settings.devices,
        b = (int)below(t, (unsigned)settings.devices), can = -1;

    NOTE(a, b, 0, 0);
    switch (below(t, 8)) {
    case 0:
        OK_RT(cudaDeviceCanAccessPeer(&can, a, b));
        MUST_EQ(can, a != b);
        break;
    case 1:
        OK_CU(cuDeviceCanAccessPeer(&can, a, b));
        MUST_EQ(can, a != b);
        break;
    case 2:
        RT(a == b ? (int)cudaErrorInvalidDevice : (int)cudaSuccess,
           cudaDeviceGetP2PAttribute(&can, cudaDevP2PAttrAccessSupported, a, b));
        if (a != b)
            MUST_EQ(can, 1);
        break;
    case 3: RT(cudaErrorInvalidDevice, cudaDeviceCanAccessPeer(&can, a, n)); break;
    case 4: RT(VALUE, cudaDeviceEnablePeerAccess(b, 1)); break;
    case 5: RT(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(n, 0)); break;
    case 6: RT(cudaErrorInvalidDevice, cudaDeviceDisablePeerAccess(n)); break;
    default: RT(cudaErrorInvalidDevice, cudaMemcpyPeer(t->stage[0], n, t->stage[1], a, 4)); break;
    }
}

static void change_pool(struct thread *t)
{
    struct abroad *a = &t->abroad;
    struct cudaMemAccessDesc access;
    enum cudaMemAccessFlags flags = cudaMemAccessFlagsProtRead;

    if (!a->live)
        return;
    memset(&access, 0, sizeof access);
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = t->device;
    if (one_in(t, 2)) {
        a->open = !a->open;
        access.flags = a->open ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
        OK_RT(cudaMemPoolSetAccess(a->pool, &access, 1));
    } else if (one_in(t, 3)) {
        access.location.id = settings.devices;
        access.flags = cudaMemAccessFlagsProtReadWrite;
        RT(cudaErrorInvalidDevice, cudaMemPoolSetAccess(a->pool, &access, 1));
        access.location.id = t->device;
    }
    OK_RT(cudaMemPoolGetAccess(&flags, a->pool, &access.location));
    MUST_EQ(flags, a->open ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone);
}

const struct op ops_peers[] = {
    {"peers", "arrive", arrive, 4, true},
    {"peers", "leave", leave, 2, true},
    {"peers", "describe abroad", describe, 4, true},
    {"peers", "check abroad", check, 4, true},
    {"peers", "round trip", round_trip, 10, true},
    {"peers", "wrong device", wrong_device, 8, true},
    {"peers", "sets and copies abroad", sets_and_copies, 6, true},
    {"peers", "reach", reach, 4, true},
    {"peers", "change peers", change_peers, 4, true},
    {"peers", "ask peers", ask_peers, 4, false},
    {"peers", "change pool's access", change_pool, 3, true},
    {NULL, NULL, NULL, 0, false},
};
