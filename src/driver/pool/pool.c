/* pool: the stream-ordered allocator as the driver API has it: pools as handles, which pool a
 * device uses, allocating and freeing in streams. What is in a pool is the pool layer's
 * (pool/pool.h). */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "driver/error/checks.h"
#include "driver/error/site.h"
#include "driver/graph/graph.h"
#include "memory/view.h"
#include "pool/pool.h"

/* ---- what the pool layer asks of streams ---- */

static struct pool_point pool_mark(void *stream) { return stream_point(stream); }
static uint64_t pool_completed(void *stream) { return device_stream_completed(stream); }
static uint64_t pool_proven(void *stream) { return device_stream_proven(stream); }
static uint64_t pool_ordered(void *stream, void *on) { return device_stream_ordered(stream, on); }
static bool pool_wait(void *stream, void *on, uint64_t count)
{
    device_stream_wait_count(stream, on, count);
    return true;
}
static void pool_keep(void *stream) { device_stream_keep(stream); }
static void pool_release(void *stream) { device_stream_release(stream); }
static uint64_t pool_id(void *stream) { return device_stream_id(stream); }
static uint64_t pool_observed_id(void *stream) { return device_stream_observed_id(stream); }
static void stream_ended(struct device_stream *s, bool gone)
{
    if (gone)
        pool_stream_gone(s);
    else
        pool_stream_ended(s);
}

/* ---- handles ---- */

static struct {
    pthread_mutex_t lock; /* of the list and of making default pools */
    struct CUmemPoolHandle_st *pools;
    bool following;    /* the layers below know of each other */
    struct pool *gone; /* pools that had gone when a reset began; under the contexts' life lock */
    struct {
        _Atomic(CUmemoryPool) standard; /* the default pool; NULL: not made yet */
        _Atomic(CUmemoryPool) current;  /* NULL: the default one */
        _Atomic(struct pool *) graphs;  /* of executable graphs, without a handle; NULL: not yet */
    } device[MEM_MAX_DEVICES];          /* as the program counts them */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Has the layers below know of each other. The lock is held. */
static void follow(void)
{
    if (all.following)
        return;
    pool_set_order(&(struct pool_order){pool_mark, pool_completed, pool_proven, pool_ordered,
                                        pool_wait, pool_keep, pool_release, pool_id,
                                        device_stream_slot, pool_observed_id});
    pool_set_source(&pool_memory_source);
    device_follow_order(stream_ended);
    pool_report_begin();
    pool_trace_begin();
    all.following = true;
}

/* Makes a pool's object. The lock is held. */
static CUresult make_of_pool(CUmemoryPool *out, const CUmemPoolProps *props)
{
    follow();
    CUmemoryPool h = handle_new(TAG_POOL, sizeof *h);
    struct diag d = {0};
    struct pool_config config;
    pool_configure(&config, props);
    config.user = h;
    h->props = *props;
    h->ordinal = pool_is_devices(props) ? props->location.id : -1;
    h->pool = pool_new(&config, &d);
    if (h->pool == NULL) {
        handle_free(h);
        return driver_error(CUDA_ERROR_OUT_OF_MEMORY, "%s", d.text);
    }
    LIST_INSERT(all.pools, h);
    *out = h;
    return CUDA_SUCCESS;
}

CUresult pool_make(CUmemoryPool *out, const CUmemPoolProps *props)
{
    pthread_mutex_lock(&all.lock);
    CUresult r = make_of_pool(out, props);
    pthread_mutex_unlock(&all.lock);
    return r;
}

static CUresult make_standard(CUdevice dev, CUmemoryPool *out)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, dev}};
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&all.lock);
    *out = atomic_load(&all.device[dev].standard);
    if (*out == NULL)
        r = make_of_pool(out, &props);
    if (r == CUDA_SUCCESS)
        atomic_store(&all.device[dev].standard, *out);
    pthread_mutex_unlock(&all.lock);
    return r;
}

CUresult pool_standard(CUdevice dev, CUmemoryPool *out)
{
    *out = atomic_load_explicit(&all.device[dev].standard, memory_order_acquire);
    return WEIR_LIKELY(*out != NULL) ? CUDA_SUCCESS : make_standard(dev, out);
}

CUmemoryPool pool_standard_if_made(CUdevice dev)
{
    return atomic_load_explicit(&all.device[dev].standard, memory_order_acquire);
}

struct pool *pool_of_graphs_if_made(CUdevice dev)
{
    return atomic_load_explicit(&all.device[dev].graphs, memory_order_acquire);
}

/* Its memory is a file, which many addresses can show; it keeps what it has until it is trimmed. */
CUresult pool_of_graphs(CUdevice dev, struct pool **out)
{
    struct diag d = {0};
    struct pool_config config;
    pool_configure(&config, &(CUmemPoolProps){.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                              .location = {CU_MEM_LOCATION_TYPE_DEVICE, dev}});
    config.shared = true;
    pthread_mutex_lock(&all.lock);
    follow();
    *out = atomic_load(&all.device[dev].graphs);
    if (*out == NULL && (*out = pool_new(&config, &d)) != NULL) {
        pool_set_threshold(*out, UINT64_MAX);
        atomic_store(&all.device[dev].graphs, *out);
    }
    pthread_mutex_unlock(&all.lock);
    return *out != NULL ? CUDA_SUCCESS : driver_error(CUDA_ERROR_OUT_OF_MEMORY, "%s", d.text);
}

static inline CUmemoryPool pool_current_if_made(CUdevice dev)
{
    CUmemoryPool h = atomic_load_explicit(&all.device[dev].current, memory_order_acquire);
    return h != NULL ? h : pool_standard_if_made(dev);
}

static CUresult pool_current(CUdevice dev, CUmemoryPool *out)
{
    *out = pool_current_if_made(dev);
    return WEIR_LIKELY(*out != NULL) ? CUDA_SUCCESS : pool_standard(dev, out);
}

CUresult pool_check(CUmemoryPool h)
{
    return handle_live(h, TAG_POOL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult pool_check_own(CUmemoryPool h)
{
    if (WEIR_LIKELY(handle_live(h, TAG_POOL) && h->pool != NULL))
        return CUDA_SUCCESS;
    return pool_check(h) == CUDA_SUCCESS
               ? driver_error(
                     CUDA_ERROR_INVALID_VALUE,
                     "an imported pool gives no memory out, and has no policies and statistics")
               : CUDA_ERROR_INVALID_VALUE;
}

/* The handle of a pool that was imported before. The lock is held. */
static CUmemoryPool find_imported(uint64_t file)
{
    for (CUmemoryPool h = all.pools; h != NULL; h = h->next)
        if (h->imported != NULL && h->imported->trailer->id == file)
            return h;
    return NULL;
}

CUmemoryPool pool_adopt(struct mem_file *f, CUdevice dev)
{
    pthread_mutex_lock(&all.lock);
    CUmemoryPool h = find_imported(f->trailer->id);
    if (h != NULL) {
        file_close(f);
    } else {
        h = handle_new(TAG_POOL, sizeof *h);
        h->imported = f;
        h->ordinal = dev;
        h->props = (CUmemPoolProps){.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                    .location = {CU_MEM_LOCATION_TYPE_DEVICE, dev}};
        if (dev < 0)
            h->props.location = (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
        LIST_INSERT(all.pools, h);
        if (observed())
            observe_object_made(OBSERVE_POOL_OBJECT, h);
    }
    h->imports++;
    pthread_mutex_unlock(&all.lock);
    return h;
}

/* Takes a wiped handle off the list. The lock is held. */
static void pool_unlist(CUmemoryPool h)
{
    LIST_REMOVE(h);
    CUmemoryPool current = h;
    if (h->ordinal >= 0)
        atomic_compare_exchange_strong(&all.device[h->ordinal].current, &current, NULL);
}

/* Ends a handle that no call has; the pool lives on while its memory does. */
static void pool_end(CUmemoryPool h)
{
    if (h->pool != NULL)
        pool_destroy(h->pool);
    else
        file_close(h->imported); /* what is mapped of it stays */
    handle_recycle(h);
}

void pools_wipe(CUdevice dev)
{
    all.gone = pool_take_gone();
    pthread_mutex_lock(&all.lock);
    CUmemoryPool standard = atomic_load(&all.device[dev].standard);
    for (CUmemoryPool h = all.pools; h != NULL; h = h->next)
        if (h->ordinal == dev && h != standard)
            handle_wipe(h);
    pthread_mutex_unlock(&all.lock);
}

void pools_reset(CUdevice dev)
{
    pool_free_gone(all.gone);
    graph_memory_reset(dev);
    pthread_mutex_lock(&all.lock);
    pool_clear_device(device_ordinal(driver_device(dev)));
    CUmemoryPool standard = atomic_load(&all.device[dev].standard);
    atomic_store(&all.device[dev].current, NULL);
    for (CUmemoryPool h = all.pools, next; h != NULL; h = next) {
        next = h->next;
        if (h->ordinal != dev)
            continue;
        if (h->imported != NULL)
            imported_clear(h);
        if (h == standard || handle_tag(h) != 0)
            continue; /* made since */
        pool_unlist(h);
        pool_end(h);
    }
    if (standard != NULL) {
        pool_set_threshold(standard->pool, 0);
        for (int i = 0; i < POOL_SWITCHES; i++)
            pool_set_switch(standard->pool, (enum pool_switch)i, true);
        memset(standard->access, 0, sizeof standard->access);
        pool_allow(standard->pool, pool_accessors(standard));
    }
    pthread_mutex_unlock(&all.lock);
}

/* ---- creating and destroying ---- */

WEIR_API CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props)
{
    HOLD;
    CU_TRY(driver_ready());
    if (out == NULL || props == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = pool_check_props(props);
    if (r == CUDA_SUCCESS)
        r = pool_make(out, props);
    if (r == CUDA_SUCCESS && observed())
        observe_object_made(OBSERVE_POOL_OBJECT, *out);
    return r;
}

WEIR_API CUresult cuMemPoolDestroy(CUmemoryPool h)
{
    HOLD;
    CU_TRY(driver_initialized());
    CU_TRY(pool_check(h));
    if (h->ordinal >= 0 ? h == atomic_load(&all.device[h->ordinal].standard)
                        : !pool_location_ends(h))
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "cuMemPoolDestroy: a default pool cannot be destroyed");
    if (h->imported != NULL && imported_any(h))
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "cuMemPoolDestroy: memory of the imported pool is not freed yet");
    pthread_mutex_lock(&all.lock);
    bool live = handle_live(h, TAG_POOL), ends = false;
    if (live && (h->imported == NULL || --h->imports == 0))
        ends = handle_wipe(h);
    if (ends)
        pool_unlist(h);
    pthread_mutex_unlock(&all.lock);
    if (ends) {
        struct pool *gone = pool_take_gone(); /* others, of earlier */
        hold_drain();
        pool_free_gone(gone);
        pool_end(h);
    }
    return live ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- which pool a device uses ---- */

WEIR_API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice dev)
{
    HOLD;
    CUresult r = device_check(dev);
    if (r == CUDA_SUCCESS && out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return r == CUDA_SUCCESS ? pool_standard(dev, out) : r;
}

WEIR_API CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice dev)
{
    HOLD;
    CUresult r = device_check(dev);
    if (r == CUDA_SUCCESS && out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return r == CUDA_SUCCESS ? pool_current(dev, out) : r;
}

WEIR_API CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool h)
{
    HOLD;
    CU_TRY(device_check(dev));
    CU_TRY(pool_check_own(h));
    if (h->ordinal < 0 && h->props.location.type == CU_MEM_LOCATION_TYPE_DEVICE)
        return cuMemSetMemPool(&(CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, dev},
                               h->props.allocType, h); /* the one for managed memory */
    if (h->ordinal != dev)
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "cuDeviceSetMemPool: the pool is not of this device");
    atomic_store(&all.device[dev].current, h);
    return CUDA_SUCCESS;
}

/* ---- allocating and freeing ---- */

/* In a captured stream it is a node that allocates. A function of its own, because this is rare. */
static __attribute__((noinline)) CUresult alloc_captured(CUdeviceptr *out, size_t bytes,
                                                         CUmemoryPool h, struct device_stream *s,
                                                         CUcontext c, struct pool_by by,
                                                         bool *captured)
{
    if (h != NULL && pool_check_own(h) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_VALUE;
    CUmemoryPool from = h != NULL ? h : pool_current_if_made(c->ordinal);
    bool managed = from != NULL && from->props.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED;
    bool plain =
        from == NULL || managed ||
        (pool_is_devices(&from->props) && from->props.handleTypes == CU_MEM_HANDLE_TYPE_NONE);
    bool placed = from != NULL && from->props.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemPoolProps props = {
        .allocType = managed ? CU_MEM_ALLOCATION_TYPE_MANAGED : CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {CU_MEM_LOCATION_TYPE_DEVICE, placed ? from->props.location.id : c->ordinal}};
    struct mem_site site = {.at = by.at, .call = by.call, .stream = device_stream_id(s)};
    mem_site_set(&site);
    CUresult r = capture_alloc(s, c, plain ? &props : NULL, bytes, out, captured);
    mem_site_set(&(struct mem_site){0});
    return r;
}

/* The pool has no more. If it is the device that has not, other pools give back what they hold
 * unused, as on a GPU. */
static __attribute__((noinline)) CUresult no_bytes_left(CUdeviceptr *out, size_t bytes,
                                                        CUmemoryPool h, struct device_stream *s,
                                                        struct pool_by by)
{
    uint64_t unused, total;
    int device = h->ordinal >= 0 ? device_ordinal(driver_device(h->ordinal)) : MEM_HOST;
    mem_usage(device, &unused, &total);
    if (bytes > unused && bytes <= total && pool_give_back(device))
        *out = (CUdeviceptr)(uintptr_t)pool_alloc(h->pool, s, bytes, by);
    return *out != 0 ? CUDA_SUCCESS
                     : driver_error(CUDA_ERROR_OUT_OF_MEMORY,
                                    "the pool has no %zu bytes left, nor has the device", bytes);
}

/* In every case. */
static __attribute__((noinline)) CUresult alloc_any(CUdeviceptr *out, size_t bytes, CUmemoryPool h,
                                                    CUstream stream, struct pool_by by)
{
    CUcontext c;
    struct device_stream *s;
    bool captured = false;
    CUresult r = driver_find_stream(stream, false, &s, &c);
    if (WEIR_UNLIKELY(r != CUDA_SUCCESS))
        return r;
    if (WEIR_UNLIKELY(out == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    if (WEIR_UNLIKELY(capture_running())) {
        *out = 0; /* what it was is gone, whatever comes of the call */
        CU_TRY(alloc_captured(out, bytes, h, s, c, by, &captured));
        if (captured)
            return CUDA_SUCCESS;
    }
    *out = 0;
    r = h != NULL ? pool_check_own(h) : pool_current(c->ordinal, &h);
    if (WEIR_UNLIKELY(r != CUDA_SUCCESS))
        return r;
    if (WEIR_UNLIKELY(bytes == 0)) /* no bytes are no memory, and nothing is wrong with that */
        return CUDA_SUCCESS;
    /* In checked mode an overrun by less than a granule meets no neighbour. */
    void *at = mem_checked() ? pool_alloc_spaced(h->pool, s, bytes, POOL_GRANULE, by)
                             : pool_alloc(h->pool, s, bytes, by);
    *out = (CUdeviceptr)(uintptr_t)at;
    return WEIR_LIKELY(at != NULL) ? CUDA_SUCCESS : no_bytes_left(out, bytes, h, s, by);
}

/* From that pool, or the current one of the stream's device when it is NULL. */
static inline CUresult alloc_of_pool(CUdeviceptr *out, size_t bytes, CUmemoryPool h,
                                     CUstream stream, struct pool_by by)
{
    HOLD;
    if (WEIR_UNLIKELY(out == NULL || bytes == 0 || !driver_plain(stream)))
        return alloc_any(out, bytes, h, stream, by);
    CUmemoryPool from = h != NULL ? h : pool_current_if_made(stream->ctx->ordinal);
    if (WEIR_UNLIKELY(h != NULL ? !handle_live(h, TAG_POOL) || h->pool == NULL : from == NULL))
        return alloc_any(out, bytes, h, stream, by);
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)pool_alloc(from->pool, stream->device, bytes, by);
    *out = at;
    return WEIR_LIKELY(at != 0) ? CUDA_SUCCESS
                                : no_bytes_left(out, bytes, from, stream->device, by);
}

static inline struct pool_by called_by(enum weir_call call, const void *caller)
{
    call_take_announced(&call, &caller);
    return (struct pool_by){call_place(caller), call};
}

/* Handle 0 by its name, so that the functions below have few enough arguments for registers. */
static inline CUstream named(bool pt, CUstream stream)
{
    return stream == NULL && pt ? CU_STREAM_PER_THREAD : stream;
}

/* Inlined, so that the address they return to is the caller's. */
#define ENTRY        static inline __attribute__((always_inline)) CUresult
#define CALLER(name) called_by(WEIR_CALL_##name, __builtin_return_address(0))

ENTRY cuMemAllocAsync_impl(bool pt, CUdeviceptr *out, size_t bytes, CUstream stream)
{
    return alloc_of_pool(out, bytes, NULL, named(pt, stream), CALLER(cuMemAllocAsync));
}
BOTH(cuMemAllocAsync, (CUdeviceptr * out, size_t bytes, CUstream s), out, bytes, s)

ENTRY cuMemAllocFromPoolAsync_impl(bool pt, CUdeviceptr *out, size_t bytes, CUmemoryPool h,
                                   CUstream stream)
{
    if (h == NULL) {
        if (out != NULL)
            *out = 0;
        return CUDA_ERROR_INVALID_VALUE;
    }
    return alloc_of_pool(out, bytes, h, named(pt, stream), CALLER(cuMemAllocFromPoolAsync));
}
BOTH(cuMemAllocFromPoolAsync, (CUdeviceptr * out, size_t bytes, CUmemoryPool h, CUstream s), out,
     bytes, h, s)

static void free_retired(void *base) { mem_free(base, MEM_INTERNAL); }

/* What is not a pool's. */
static __attribute__((noinline)) CUresult free_other(CUdeviceptr at, struct device_stream *s,
                                                     CUcontext c)
{
    void *p = (void *)(uintptr_t)at;
    CUresult r;
    struct mem_info info;
    if (at == 0)
        return CUDA_SUCCESS;
    if (graph_memory_free(at, s, &r))
        return r;
    if (mem_find(p, &info) && info.kind == MEM_MANAGED && info.base == at)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "cuMemFreeAsync: managed memory is not freed in stream order");
    bool imported = imported_free(p);
    /* What cuMemAlloc made may be freed in stream order, too. */
    if (mem_retire(p, imported ? MEM_POOL | MEM_PINNED : MEM_DEVICE) == MEM_OK)
        return driver_from_device(c, device_call(s, free_retired, p));
    check_invalid_free(p);
    return driver_error(CUDA_ERROR_INVALID_VALUE,
                        "cuMemFreeAsync: 0x%llx is not the start of memory of cuMemAllocAsync or "
                        "cuMemAlloc, or is freed already",
                        (unsigned long long)at);
}

static __attribute__((noinline)) CUresult free_any(CUdeviceptr at, CUstream stream,
                                                   struct pool_by by)
{
    CUcontext c;
    struct device_stream *s;
    bool captured;
    CUresult r = driver_find_stream(stream, false, &s, &c);
    if (WEIR_UNLIKELY(r != CUDA_SUCCESS))
        return r;
    if (WEIR_UNLIKELY(capture_running())) {
        CU_TRY(capture_free(s, c, at, &captured));
        if (captured)
            return CUDA_SUCCESS;
    }
    struct pool_point now = stream_point(s);
    return WEIR_LIKELY(pool_free((void *)(uintptr_t)at, s, now, by) == POOL_OK)
               ? CUDA_SUCCESS
               : free_other(at, s, c);
}

static inline CUresult free_of_pool(CUdeviceptr at, CUstream stream, struct pool_by by)
{
    HOLD;
    if (WEIR_UNLIKELY(!driver_plain(stream)))
        return free_any(at, stream, by);
    struct pool_point now = stream_point(stream->device);
    return WEIR_LIKELY(pool_free((void *)(uintptr_t)at, stream->device, now, by) == POOL_OK)
               ? CUDA_SUCCESS
               : free_other(at, stream->device, stream->ctx);
}

ENTRY cuMemFreeAsync_impl(bool pt, CUdeviceptr at, CUstream stream)
{
    return free_of_pool(at, named(pt, stream), CALLER(cuMemFreeAsync));
}
BOTH(cuMemFreeAsync, (CUdeviceptr at, CUstream s), at, s)

/* The same for a runtime, whose call is told at once. */
WEIR_API int weir_alloc_async(unsigned long long *out, size_t bytes, void *pool, void *stream,
                              enum weir_call call, const void *caller)
{
    return alloc_of_pool(out, bytes, pool, stream, (struct pool_by){call_place(caller), call});
}

WEIR_API int weir_free_async(unsigned long long at, void *stream, enum weir_call call,
                             const void *caller)
{
    return free_of_pool(at, stream, (struct pool_by){call_place(caller), call});
}

/* ---- attributes ---- */

WEIR_API CUresult cuMemPoolTrimTo(CUmemoryPool h, size_t keep)
{
    HOLD;
    CUresult r = driver_ready();
    if (r == CUDA_SUCCESS)
        r = pool_check_own(h);
    if (r == CUDA_SUCCESS)
        pool_trim(h->pool, keep);
    return r;
}

static const enum pool_switch switches[] = {
    [CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = POOL_FOLLOW_EVENTS,
    [CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC] = POOL_OPPORTUNISTIC,
    [CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES] = POOL_INTERNAL,
};

WEIR_API CUresult cuMemPoolSetAttribute(CUmemoryPool h, CUmemPool_attribute which, void *value)
{
    HOLD;
    CU_TRY(driver_ready());
    CU_TRY(pool_check_own(h));
    if (value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    switch (which) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        pool_set_switch(h->pool, switches[which], *(int *)value != 0);
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        pool_set_threshold(h->pool, *(cuuint64_t *)value);
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        if (*(cuuint64_t *)value != 0) /* a mark can only be reset */
            return CUDA_ERROR_INVALID_VALUE;
        if (which == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
            pool_reset_used_high(h->pool);
        else
            pool_reset_reserved_high(h->pool);
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

WEIR_API CUresult cuMemPoolGetAttribute(CUmemoryPool h, CUmemPool_attribute which, void *value)
{
    HOLD;
    CU_TRY(driver_ready());
    CU_TRY(pool_check_own(h));
    if (value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct pool_statistics f;
    pool_get_usage(h->pool, &f);
    switch (which) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        *(int *)value = pool_get_switch(h->pool, switches[which]);
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        *(cuuint64_t *)value = pool_get_threshold(h->pool);
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: *(cuuint64_t *)value = f.reserved; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: *(cuuint64_t *)value = f.reserved_high; break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *(cuuint64_t *)value = f.used; break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *(cuuint64_t *)value = f.used_high; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}
