/* pool: pools as handles, allocating and freeing. Each pool here is a pool of the driver's, too,
 * whose handle it has: the driver says which arguments are wrong, and serves what this layer does
 * not: streams that are captured, pools that other processes can import, memory of the host,
 * managed memory. */
#include <stdlib.h>
#include <string.h>

#include "gpu/internal.h"

struct pool_handle {
    CUmemoryPool handle;
    struct pool *pool;
    int device;
    uint32_t devices; /* whose kernels may touch its memory, a bit for each */
    struct pool_handle *next;
};

static struct {
    pthread_mutex_t lock;
    struct pool_handle *pools;
    struct pool_handle *spare; /* used again, never freed: threads may still look at one */
    struct pool *gone;         /* those calls may still look at, too */
    /* What a device allocates from: NULL: not known, &drivers: the driver does. */
    _Atomic(struct pool_handle *) current[MEM_MAX_DEVICES];
    int device_count;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct pool_handle drivers;

/* ---- handles ---- */

/* The lock is held. NULL: the driver serves it, or nobody. */
static struct pool_handle *look(CUmemoryPool h)
{
    struct pool_handle *p = all.pools;
    while (p != NULL && p->handle != h)
        p = p->next;
    return p;
}

/* The lock is held. */
static struct pool_handle *make(CUmemoryPool h, int device, uint64_t max_bytes)
{
    struct diag d = {0};
    struct pool_config config = {.device = device,
                                 .kind = MEM_POOL,
                                 .max_bytes = max_bytes,
                                 .devices = (uint32_t)1 << device};
    struct pool *made = pool_new(&config, &d);
    if (made == NULL)
        return NULL; /* then the driver's serves */
    struct pool_handle *p = all.spare;
    if (p != NULL)
        all.spare = p->next;
    else
        p = xmalloc(sizeof *p);
    *p = (struct pool_handle){h, made, device, config.devices, all.pools};
    all.pools = p;
    return p;
}

/* The lock is held. Default pools are there without having been made. */
static struct pool_handle *look_or_make_default(CUmemoryPool h)
{
    struct pool_handle *p = look(h);
    for (int i = 0; p == NULL && i < MEM_MAX_DEVICES && i < all.device_count; i++) {
        CUmemoryPool standard = NULL;
        if (driver.cuDeviceGetDefaultMemPool(&standard, i) == CUDA_SUCCESS && standard == h)
            p = make(h, i, 0);
    }
    return p;
}

static struct pool_handle *find(CUmemoryPool h)
{
    struct gpu_thread *t = gpu_thread();
    uint64_t now = atomic_load_explicit(&generation, memory_order_acquire);
    if (WEIR_LIKELY(t != NULL && t->pool == h && t->pool_generation == now))
        return t->pool_found;
    pthread_mutex_lock(&all.lock);
    struct pool_handle *p = look_or_make_default(h);
    pthread_mutex_unlock(&all.lock);
    if (p != NULL && t != NULL) {
        t->pool = h;
        t->pool_generation = now;
        t->pool_found = p;
    }
    return p;
}

static __attribute__((noinline)) struct pool_handle *find_current(int device)
{
    CUmemoryPool h = NULL;
    pthread_mutex_lock(&all.lock);
    struct pool_handle *p =
        driver.cuDeviceGetMemPool(&h, device) == CUDA_SUCCESS ? look_or_make_default(h) : NULL;
    atomic_store(&all.current[device], p != NULL ? p : &drivers);
    pthread_mutex_unlock(&all.lock);
    return p;
}

static inline struct pool_handle *current_pool(int device)
{
    struct pool_handle *p = atomic_load_explicit(&all.current[device], memory_order_acquire);
    if (WEIR_UNLIKELY(p == NULL))
        return find_current(device);
    return WEIR_LIKELY(p != &drivers) ? p : NULL;
}

static void forget_current(void)
{
    pthread_mutex_lock(&all.lock);
    for (int i = 0; i < MEM_MAX_DEVICES; i++)
        atomic_store(&all.current[i], NULL);
    pthread_mutex_unlock(&all.lock);
}

CUresult gpu_cuDeviceSetMemPool(CUdevice device, CUmemoryPool h)
{
    CUresult r = driver.cuDeviceSetMemPool(device, h);
    forget_current();
    return r;
}

CUresult gpu_cuMemSetMemPool(CUmemLocation *where, CUmemAllocationType type, CUmemoryPool h)
{
    CUresult r = driver.cuMemSetMemPool(where, type, h);
    forget_current();
    return r;
}

static bool is_served(const CUmemPoolProps *p)
{
    return p->allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
           p->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
           p->handleTypes == CU_MEM_HANDLE_TYPE_NONE && p->usage == 0 &&
           p->location.id < MEM_MAX_DEVICES;
}

/* The lock is held. The pool is the caller's to destroy without it; NULL: the driver served it. */
static struct pool *take_out(CUmemoryPool h)
{
    struct pool_handle **at = &all.pools, *p;
    while ((p = *at) != NULL && p->handle != h)
        at = &p->next;
    if (p == NULL)
        return NULL;
    *at = p->next;
    p->handle = NULL;
    p->next = all.spare;
    all.spare = p;
    atomic_fetch_add(&generation, 1);
    return p->pool;
}

/* Destroys a pool that is found no more. */
static void end(struct pool *p)
{
    forget_current();
    pool_destroy(p);
    pthread_mutex_lock(&all.lock);
    if (all.gone == NULL)
        all.gone = pool_take_gone();
    if (all.gone != NULL && calls_are_over(gpu_thread())) {
        pool_free_gone(all.gone);
        all.gone = NULL;
    }
    pthread_mutex_unlock(&all.lock);
}

CUresult gpu_cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props)
{
    CUresult r = driver.cuMemPoolCreate(out, props);
    if (r != CUDA_SUCCESS)
        return r;
    pthread_mutex_lock(&all.lock);
    /* A pool that ended without us, with its device's reset, had this handle before. */
    struct pool *old = take_out(*out);
    if (is_served(props))
        make(*out, props->location.id, props->maxSize);
    pthread_mutex_unlock(&all.lock);
    if (old != NULL)
        end(old);
    return r;
}

/* The handle is another's as soon as the driver has it back. */
CUresult gpu_cuMemPoolDestroy(CUmemoryPool h)
{
    pthread_mutex_lock(&all.lock);
    CUresult r = driver.cuMemPoolDestroy(h);
    struct pool *pool = r == CUDA_SUCCESS ? take_out(h) : NULL;
    pthread_mutex_unlock(&all.lock);
    if (pool != NULL)
        end(pool);
    else
        forget_current();
    return r;
}

bool pools_give_back(int device)
{
    bool given = pool_give_back(device);
    given |= kept_give_back(device);
    return range_give_back(device) || given;
}

/* ---- allocating ---- */

/* Whether the call is one of a captured stream, or of a device that has failed: then the driver
 * answers. */
static bool is_drivers(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return driver.cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static CUresult alloc_of_driver(CUdeviceptr *out, size_t bytes, CUmemoryPool h, CUstream stream)
{
    return h != NULL ? driver.cuMemAllocFromPoolAsync(out, bytes, h, stream)
                     : driver.cuMemAllocAsync(out, bytes, stream);
}

/* The pool has no more. If it is the device that has not, other pools give back what they hold
 * unused. Where the device has failed, or another thread has destroyed the pool meanwhile, the
 * driver says so. */
static CUresult no_bytes_left(CUdeviceptr *out, size_t bytes, struct pool_handle *p, CUmemoryPool h,
                              struct stream *s, struct pool_by by)
{
    void *at = NULL;
    if (is_drivers(s->handle) || (h != NULL && find(h) != p))
        return alloc_of_driver(out, bytes, h, s->handle);
    if (!kept_too_little(p->device, bytes) && pools_give_back(p->device))
        at = pool_alloc(p->pool, s, bytes, by);
    *out = (CUdeviceptr)(uintptr_t)at;
    return at != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

int gpu_weir_alloc_async(unsigned long long *out, size_t bytes, void *pool, void *stream,
                         enum weir_call call, const void *caller)
{
    IN_CALL;
    bool plain = out != NULL && bytes > 0;
    if (WEIR_UNLIKELY(atomic_load_explicit(&closer, memory_order_relaxed) > 0))
        plain = plain && !is_drivers(stream);
    struct stream *s = plain ? stream_find(in_call, stream) : NULL;
    struct pool_handle *p = NULL;
    if (WEIR_LIKELY(s != NULL))
        p = pool != NULL ? find(pool) : current_pool(s->context->device);
    if (WEIR_UNLIKELY(p == NULL))
        return (int)alloc_of_driver(out, bytes, pool, stream);
    struct pool_by by = {caller, call};
    void *at = pool_alloc(p->pool, s, bytes, by);
    *out = (CUdeviceptr)(uintptr_t)at;
    return WEIR_LIKELY(at != NULL) ? 0 : (int)no_bytes_left(out, bytes, p, pool, s, by);
}

/* ---- freeing ---- */

/* In a stream that is not known here: the memory is free when the stream has come so far. Host
 * functions may not call this: they would wait for themselves. */
static CUresult free_waiting(CUdeviceptr at, CUstream stream, struct pool_by by)
{
    const struct gpu_thread *t = gpu_thread();
    if (t != NULL && t->runs_host_functions)
        return CUDA_ERROR_NOT_PERMITTED;
    CUresult r = driver.cuStreamSynchronize(stream);
    if (r == CUDA_SUCCESS && pool_free_now((void *)(uintptr_t)at, by) != POOL_OK)
        r = CUDA_ERROR_INVALID_VALUE;
    return r;
}

static __attribute__((noinline)) CUresult free_any(CUdeviceptr at, CUstream stream,
                                                   struct stream *s, struct pool_by by)
{
    struct pool_info info;
    if (!range_holds(at) || is_drivers(stream))
        return driver.cuMemFreeAsync(at, stream);
    if (s == NULL && pool_find((void *)(uintptr_t)at, &info) && info.base == at)
        return free_waiting(at, stream, by);
    return CUDA_ERROR_INVALID_VALUE;
}

int gpu_weir_free_async(unsigned long long at, void *stream, enum weir_call call,
                        const void *caller)
{
    IN_CALL;
    struct pool_by by = {caller, call};
    bool plain = WEIR_LIKELY(atomic_load_explicit(&closer, memory_order_relaxed) == 0) ||
                 (range_holds(at) && !is_drivers(stream));
    struct stream *s = plain ? stream_find(in_call, stream) : NULL;
    if (WEIR_UNLIKELY(s == NULL))
        return (int)free_any(at, stream, s, by);
    if (WEIR_UNLIKELY(pool_free((void *)(uintptr_t)at, s, stream_mark(s), by) != POOL_OK))
        return (int)free_any(at, stream, s, by);
    if (WEIR_UNLIKELY(s->own || s->foreign))
        stream_leave_mark(s);
    return 0;
}

CUresult gpu_cuMemFree_v2(CUdeviceptr at)
{
    if (!range_holds(at))
        return kept_free(at);
    return pool_free_now((void *)(uintptr_t)at, (struct pool_by){0}) == POOL_OK
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

/* ---- the device's memory, and what is in it ---- */

/* Whether it may help to try again. */
static bool memory_came_back(CUresult r)
{
    struct context *c = r == CUDA_ERROR_OUT_OF_MEMORY ? context_current() : NULL;
    return c != NULL && pools_give_back(c->device);
}

#define ALLOCATION(name, parameters, ...)                                                          \
    CUresult gpu_##name parameters                                                                 \
    {                                                                                              \
        CUresult r = driver.name(__VA_ARGS__);                                                     \
        return WEIR_UNLIKELY(memory_came_back(r)) ? driver.name(__VA_ARGS__) : r;                  \
    }

ALLOCATION(cuMemAllocPitch_v2,
           (CUdeviceptr * out, size_t *pitch, size_t width, size_t height, unsigned element), out,
           pitch, width, height, element)
ALLOCATION(cuArray3DCreate_v2, (CUarray * out, const CUDA_ARRAY3D_DESCRIPTOR *d), out, d)
ALLOCATION(cuMipmappedArrayCreate,
           (CUmipmappedArray * out, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels), out, d,
           levels)

CUresult gpu_cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
    if (kept_alloc(out, bytes))
        return CUDA_SUCCESS;
    CUresult r = driver.cuMemAlloc_v2(out, bytes);
    struct context *c = r == CUDA_ERROR_OUT_OF_MEMORY ? context_current() : NULL;
    if (c != NULL && !kept_too_little(c->device, bytes) && memory_came_back(r))
        r = driver.cuMemAlloc_v2(out, bytes);
    if (r == CUDA_SUCCESS)
        kept_made(*out, bytes);
    return r;
}

CUresult gpu_cuMemGetInfo_v2(size_t *unused, size_t *total)
{
    CUresult r = driver.cuMemGetInfo_v2(unused, total);
    struct context *c = r == CUDA_SUCCESS ? context_current() : NULL;
    if (c != NULL)
        *unused += range_kept(c->device) + kept_bytes(c->device);
    return r;
}

/* The handle of a pool. */
static CUmemoryPool handle_of(const struct pool *pool)
{
    pthread_mutex_lock(&all.lock);
    struct pool_handle *p = all.pools;
    while (p != NULL && p->pool != pool)
        p = p->next;
    pthread_mutex_unlock(&all.lock);
    return p != NULL ? p->handle : NULL;
}

/* What the driver says of a chunk is right for an allocation in it but for these; where there is
 * none, nothing is. */
static void describe(CUpointer_attribute which, void *out, CUdeviceptr at,
                     const struct pool_info *info)
{
    switch (which) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        if (info == NULL)
            *(CUmemorytype *)out = (CUmemorytype)0;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)out = info != NULL ? at : 0; break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *)out = info != NULL ? info->base : 0;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)out = info != NULL ? info->size : 0; break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(CUmemoryPool *)out = info != NULL ? handle_of(info->pool) : NULL;
        break;
    default: break;
    }
}

CUresult gpu_cuPointerGetAttributes(unsigned count, CUpointer_attribute *which, void **out,
                                    CUdeviceptr at)
{
    struct pool_info info;
    CUresult r = driver.cuPointerGetAttributes(count, which, out, at);
    if (r != CUDA_SUCCESS || !(range_holds(at) || kept_holds(at)))
        return r;
    bool live = range_holds(at) && pool_find((void *)(uintptr_t)at, &info);
    for (unsigned i = 0; i < count; i++)
        describe(which[i], out[i], at, live ? &info : NULL);
    return r;
}

/* ---- attributes: the driver's pool has them as well ---- */

CUresult gpu_cuMemPoolTrimTo(CUmemoryPool h, size_t keep)
{
    IN_CALL;
    CUresult r = driver.cuMemPoolTrimTo(h, keep);
    struct pool_handle *p = r == CUDA_SUCCESS ? find(h) : NULL;
    if (p != NULL) {
        pool_trim(p->pool, keep);
        range_give_back(p->device);
    }
    return r;
}

static bool switch_of(CUmemPool_attribute which, enum pool_switch *out)
{
    switch (which) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: *out = POOL_FOLLOW_EVENTS; return true;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: *out = POOL_OPPORTUNISTIC; return true;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: *out = POOL_INTERNAL; return true;
    default: return false;
    }
}

CUresult gpu_cuMemPoolSetAttribute(CUmemoryPool h, CUmemPool_attribute which, void *value)
{
    IN_CALL;
    CUresult r = driver.cuMemPoolSetAttribute(h, which, value);
    struct pool_handle *p = r == CUDA_SUCCESS ? find(h) : NULL;
    enum pool_switch s;
    if (p == NULL)
        return r;
    if (switch_of(which, &s))
        pool_set_switch(p->pool, s, *(int *)value != 0);
    else if (which == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        pool_set_threshold(p->pool, *(cuuint64_t *)value);
    else if (which == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
        pool_reset_reserved_high(p->pool);
    else if (which == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        pool_reset_used_high(p->pool);
    return r;
}

/* What the driver has in its pool of the handle, by captures or by calls of its own API, comes to
 * what is in ours. */
CUresult gpu_cuMemPoolGetAttribute(CUmemoryPool h, CUmemPool_attribute which, void *value)
{
    IN_CALL;
    CUresult r = driver.cuMemPoolGetAttribute(h, which, value);
    struct pool_handle *p = r == CUDA_SUCCESS ? find(h) : NULL;
    struct pool_statistics f;
    if (p == NULL)
        return r;
    pool_get_usage(p->pool, &f);
    switch (which) {
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: *(cuuint64_t *)value += f.reserved; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: *(cuuint64_t *)value += f.reserved_high; break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *(cuuint64_t *)value += f.used; break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *(cuuint64_t *)value += f.used_high; break;
    default: break;
    }
    return r;
}

CUresult gpu_cuMemPoolSetAccess(CUmemoryPool h, const CUmemAccessDesc *map, size_t count)
{
    IN_CALL;
    CUresult r = driver.cuMemPoolSetAccess(h, map, count);
    struct pool_handle *p = r == CUDA_SUCCESS ? find(h) : NULL;
    if (p == NULL)
        return r;
    pthread_mutex_lock(&all.lock);
    for (size_t i = 0; i < count; i++) {
        if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || map[i].location.id < 0 ||
            map[i].location.id >= MEM_MAX_DEVICES)
            continue;
        uint32_t bit = (uint32_t)1 << map[i].location.id;
        p->devices =
            map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE ? p->devices | bit : p->devices & ~bit;
    }
    pool_allow(p->pool, p->devices);
    pthread_mutex_unlock(&all.lock);
    return r;
}

/* ---- a reset ---- */

/* What the driver's pool has been set to is what ours is. The lock is held. */
static void follow_driver(struct pool_handle *p)
{
    static const CUmemPool_attribute switches[] = {
        CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
        CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES};
    cuuint64_t threshold = 0;
    enum pool_switch s;
    for (size_t i = 0; i < WEIR_COUNT(switches); i++) {
        int on = 1;
        if (driver.cuMemPoolGetAttribute(p->handle, switches[i], &on) == CUDA_SUCCESS &&
            switch_of(switches[i], &s))
            pool_set_switch(p->pool, s, on != 0);
    }
    if (driver.cuMemPoolGetAttribute(p->handle, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold) ==
        CUDA_SUCCESS)
        pool_set_threshold(p->pool, threshold);
    p->devices = 0;
    for (int i = 0; i < all.device_count && i < MEM_MAX_DEVICES; i++) {
        CUmemLocation where = {CU_MEM_LOCATION_TYPE_DEVICE, i};
        CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
        driver.cuMemPoolGetAccess(&flags, p->handle, &where);
        if (i == p->device || flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            p->devices |= (uint32_t)1 << i;
    }
    pool_allow(p->pool, p->devices);
}

/* Of pools that the program has made it is not known whether the driver still has them. */
void pools_forget(int device)
{
    CUmemoryPool standard = NULL;
    pool_clear_device(device);
    forget_current();
    range_give_back(device);
    kept_forget(device);
    pthread_mutex_lock(&all.lock);
    struct pool_handle *p = NULL;
    if (driver.cuDeviceGetDefaultMemPool(&standard, device) == CUDA_SUCCESS)
        p = look(standard);
    if (p != NULL)
        follow_driver(p);
    pthread_mutex_unlock(&all.lock);
}

/* ---- the beginning ---- */

bool pools_begin(int device_count)
{
    for (int i = 0; i < device_count && i < MEM_MAX_DEVICES; i++)
        if (!range_possible(i))
            return false;
    all.device_count = device_count;
    pool_set_order(&stream_order);
    pool_set_source(&range_source);
    return true;
}
