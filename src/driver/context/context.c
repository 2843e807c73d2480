/* context: the primary context of each device, others, and which one a host thread uses. */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/own_threads.h"
#include "base/stack.h"
#include "driver/driver.h"
#include "driver/error/fault.h"
#include "driver/error/site.h"
#include "driver/objects.h"

enum { STACK_DEPTH = 16 };

static CUcontext primary[MEM_MAX_DEVICES];
static pthread_once_t primary_once = PTHREAD_ONCE_INIT;
/* Held while a primary context is made and while any context ends or is reset. Nobody who waits for
 * it holds anything (device/hold.h): who has it may wait for all that do. */
static pthread_mutex_t life_lock = PTHREAD_MUTEX_INITIALIZER;

/* Current contexts of a host thread, innermost last. On the heap, until the thread ends: static
 * thread-local storage, which libraries that are opened late share, must stay small. */
struct context_stack {
    int count;
    CUcontext items[STACK_DEPTH];
};
static WEIR_THREAD_FAST struct context_stack *own_stack; /* NULL: empty */
static pthread_key_t stack_key;
static pthread_once_t stack_once = PTHREAD_ONCE_INIT;
WEIR_THREAD_FAST struct driver_thread driver_thread;

/* To be called after each change of the stack. */
static void changed(const struct context_stack *s)
{
    driver_thread.current = s->count > 0 ? s->items[s->count - 1] : NULL;
    driver_thread.plain = NULL;
}

static void stack_free(void *stack)
{
    own_stack = NULL;
    driver_thread = (struct driver_thread){0};
    free(stack);
    own_threads_program_thread_ends();
}

static void make_stack_key(void) { pthread_key_create(&stack_key, stack_free); }

/* NULL when there is no memory for it. */
static struct context_stack *stack_of_thread(void)
{
    if (own_stack == NULL) {
        pthread_once(&stack_once, make_stack_key);
        own_stack = calloc(1, sizeof *own_stack);
        if (own_stack != NULL)
            pthread_setspecific(stack_key, own_stack);
    }
    return own_stack;
}

/* All contexts there ever were: objects stay when contexts go, since any thread may have one as its
 * current context. */
static struct {
    pthread_mutex_t lock;
    CUcontext newest;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static CUcontext new_context(int ordinal)
{
    CUcontext c = handle_new(TAG_CONTEXT, sizeof *c);
    pthread_mutex_lock(&all.lock);
    c->older = all.newest;
    all.newest = c;
    pthread_mutex_unlock(&all.lock);
    c->ordinal = ordinal;
    c->fetch_granularity = 64;
    c->memory = device_ordinal(driver_device(ordinal));
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->fault_lock, NULL);
    return c;
}

static void primaries(void)
{
    for (int n = 0; n < driver_device_count(); n++) {
        primary[n] = new_context(n);
        primary[n]->primary = true;
    }
}

CUcontext driver_primary(int ordinal)
{
    pthread_once(&primary_once, primaries);
    return primary[ordinal];
}

bool driver_faulted(int ordinal)
{
    bool found = false;
    pthread_mutex_lock(&all.lock);
    for (CUcontext c = all.newest; c != NULL && !found; c = c->older)
        found = c->device != NULL && (ordinal < 0 || c->memory == ordinal) &&
                device_context_trouble(c->device) != DEVICE_OK;
    pthread_mutex_unlock(&all.lock);
    return found;
}

CUcontext driver_context_of(const void *owner)
{
    pthread_mutex_lock(&all.lock);
    CUcontext c = all.newest;
    while (c != NULL && (c->device == NULL || c->device != owner))
        c = c->older;
    pthread_mutex_unlock(&all.lock);
    return c;
}

/* ---- errors ---- */

CUresult driver_from_device_error(CUcontext ctx, enum device_error e)
{
    if (e >= DEVICE_FAULT_ADDRESS && ctx != NULL)
        fault_tell(ctx);
    switch (e) {
    case DEVICE_OK: return CUDA_SUCCESS;
    case DEVICE_NOT_READY: return CUDA_ERROR_NOT_READY;
    case DEVICE_OUT_OF_MEMORY: return CUDA_ERROR_OUT_OF_MEMORY;
    case DEVICE_INVALID_VALUE: return CUDA_ERROR_INVALID_VALUE;
    case DEVICE_NOT_PERMITTED: return CUDA_ERROR_NOT_PERMITTED;
    case DEVICE_NOT_RECORDED: return CUDA_ERROR_INVALID_HANDLE;
    case DEVICE_FORKED: return CUDA_ERROR_NOT_INITIALIZED;
    case DEVICE_FAULT_ADDRESS: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case DEVICE_FAULT_MISALIGNED: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case DEVICE_FAULT_ILLEGAL: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case DEVICE_FAULT_PC: return CUDA_ERROR_INVALID_PC;
    case DEVICE_FAULT_ASSERT: return CUDA_ERROR_ASSERT;
    case DEVICE_FAULT_STACK: return CUDA_ERROR_HARDWARE_STACK_ERROR;
    case DEVICE_FAULT_HANDLE: return CUDA_ERROR_INVALID_HANDLE;
    case DEVICE_FAULT_MEMORY: return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    default: return CUDA_ERROR_LAUNCH_FAILED;
    }
}

/* ---- the current context ---- */

CUresult context_check(CUcontext ctx)
{
    /* A current context was live once, and objects of contexts stay. */
    if (WEIR_UNLIKELY(ctx != driver_thread.current || ctx == NULL) &&
        !handle_live(ctx, TAG_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    return context_live(ctx) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/* Whether the context has not been reset nor destroyed since it had that number. */
static bool same(CUcontext c, uint64_t id) { return context_live(c) && atomic_load(&c->id) == id; }

CUresult context_wait(CUcontext c)
{
    if (!context_live(c))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    uint64_t id = atomic_load(&c->id);
    enum device_error e = device_context_sync(c->device);
    return same(c, id) ? driver_from_device(c, e) : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult driver_permitted(void)
{
    CU_TRY(driver_initialized());
    return device_in_host_function() ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

CUresult driver_current_any(CUcontext *ctx)
{
    CU_TRY(driver_permitted());
    CUcontext c = *ctx = driver_thread.current;
    return context_check(c);
}

/* Whether it is live and has no fault. */
static CUresult sound(CUcontext c)
{
    CU_TRY(context_check(c));
    return driver_from_device(c, device_context_status(c->device));
}

CUresult driver_current_asked(CUcontext *ctx)
{
    CU_TRY(driver_ready());
    CU_TRY(driver_current_any(ctx));
    return sound(*ctx);
}

CUresult driver_context_freeing_asked(CUcontext owner)
{
    CUcontext current = driver_thread.current;
    CU_TRY(driver_permitted());
    if (current != NULL)
        CU_TRY(sound(current));
    return owner != NULL && owner != current ? sound(owner) : CUDA_SUCCESS;
}

CUresult driver_context_asked(CUcontext owner)
{
    CU_TRY(driver_ready());
    return driver_context_freeing_asked(owner);
}

CUresult driver_no_handle(void)
{
    CUresult r = driver_context_freeing(NULL);
    return r != CUDA_SUCCESS ? r : CUDA_ERROR_INVALID_HANDLE;
}

WEIR_API CUresult cuCtxGetCurrent(CUcontext *out)
{
    HOLD;
    CU_TRY(driver_ready());
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = driver_thread.current;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuCtxSetCurrent(CUcontext ctx)
{
    HOLD;
    CU_TRY(driver_ready());
    struct context_stack *s = stack_of_thread();
    if (s == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (ctx == NULL) {
        s->count -= s->count > 0;
        changed(s);
        return CUDA_SUCCESS;
    }
    if (!handle_live(ctx, TAG_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (s->count == 0)
        s->count = 1;
    s->items[s->count - 1] = ctx;
    changed(s);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
    HOLD;
    CU_TRY(driver_ready());
    if (ctx == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (!handle_live(ctx, TAG_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    struct context_stack *s = stack_of_thread();
    if (s == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (s->count == STACK_DEPTH)
        return CUDA_ERROR_INVALID_VALUE;
    s->items[s->count++] = ctx;
    changed(s);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuCtxPopCurrent_v2(CUcontext *out)
{
    HOLD;
    CU_TRY(driver_ready());
    struct context_stack *s = own_stack;
    if (s == NULL || s->count == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    s->count--;
    if (out != NULL)
        *out = s->items[s->count];
    changed(s);
    return CUDA_SUCCESS;
}

/* ---- life ---- */

static _Atomic uint64_t context_ids;

bool context_flags_valid(unsigned flags)
{
    unsigned how = flags & CU_CTX_SCHED_MASK;
    return (flags & ~(unsigned)CU_CTX_FLAGS_MASK) == 0 && how <= CU_CTX_SCHED_BLOCKING_SYNC &&
           how != (CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD);
}

static enum device_wait wait_of(unsigned flags)
{
    switch (flags & CU_CTX_SCHED_MASK) {
    case CU_CTX_SCHED_SPIN: return DEVICE_WAIT_SPIN;
    case CU_CTX_SCHED_YIELD: return DEVICE_WAIT_YIELD;
    case CU_CTX_SCHED_BLOCKING_SYNC: return DEVICE_WAIT_BLOCK;
    default: return DEVICE_WAIT_AUTO;
    }
}

void context_set_flags(CUcontext c, unsigned flags)
{
    c->flags = flags;
    if (c->device != NULL)
        device_context_set_wait(c->device, wait_of(flags));
}

static void open_device(void *context)
{
    CUcontext c = context;
    c->device = device_context_new(driver_device(c->ordinal));
}

static bool activate(CUcontext c)
{
    if (c->device == NULL) {
        stack_call(open_device, c);
        if (c->device == NULL)
            return false;
        device_context_set_wait(c->device, wait_of(c->flags));
        atomic_store(&c->id, atomic_fetch_add(&context_ids, 1) + 1);
        atomic_store(&c->live, true);
    }
    return c->device != NULL;
}

/* What a context had when it ended: wiped, on no list of the context's any more. */
struct ended {
    CUmodule modules;
    CUarray arrays;
    CUmipmappedArray mipmaps;
    CUstream streams;
    CUevent events;
};

/* What another thread has wiped is left to it. */
#define TAKE(from, to, wipe)                                                                       \
    for (__typeof__(from) item = (from), after; item != NULL; item = after) {                      \
        after = item->next;                                                                        \
        if (wipe(item)) {                                                                          \
            LIST_REMOVE(item);                                                                     \
            LIST_INSERT(to, item);                                                                 \
        }                                                                                          \
    }

static void take_objects(CUcontext c, struct ended *e)
{
    pthread_mutex_lock(&c->lock);
    TAKE(c->modules, e->modules, module_wipe)
    TAKE(c->arrays, e->arrays, handle_wipe)
    TAKE(c->mipmaps, e->mipmaps, mipmap_wipe)
    TAKE(c->streams, e->streams, handle_wipe)
    TAKE(c->events, e->events, handle_wipe)
    pthread_mutex_unlock(&c->lock);
}

/* Nothing uses them any more. Their memory is the context's. */
static void free_taken(struct ended *e)
{
    for (CUmodule m = e->modules, next; m != NULL; m = next) {
        next = m->next;
        module_free(m, true);
    }
    for (CUarray a = e->arrays, next; a != NULL; a = next) {
        next = a->next;
        array_free(a, true);
    }
    for (CUmipmappedArray m = e->mipmaps, next; m != NULL; m = next) {
        next = m->next;
        mipmap_free(m, true);
    }
    for (CUstream s = e->streams, next; s != NULL; s = next) {
        next = s->next;
        stream_end(s);
    }
    for (CUevent v = e->events, next; v != NULL; v = next) {
        next = v->next;
        event_end(v);
    }
    retire_sweep();
}

static void device_gone(CUcontext c)
{
    struct device_context *device = c->device;
    pthread_mutex_lock(&all.lock); /* driver_faulted looks at it */
    c->device = NULL;
    pthread_mutex_unlock(&all.lock);
    device_context_free(device);
}

/* Frees all objects of the context; with `keep` the context goes on as new (device reset). From the
 * first step on calls are refused; those that were under way end before anything is freed, and what
 * they have still enqueued. The life lock is held, and the thread holds nothing. */
static void free_objects(CUcontext c, bool keep)
{
    struct ended e = {0};
    driver_from_device(c,
                       device_context_sync(c->device)); /* a fault is told while lines are known */
    atomic_store(&c->live, false);
    atomic_store(&c->id, atomic_fetch_add(&context_ids, 1) + 1);
    take_objects(c, &e);
    if (c->primary)
        pools_wipe(c->ordinal);
    hold_drain();
    take_objects(c, &e); /* what those calls have made */
    driver_from_device(c, device_context_sync(c->device));
    textures_destroy(c);
    free_taken(&e);
    if (c->primary)
        pools_reset(c->ordinal);
    if (keep)
        device_context_reset(c->device);
    else
        device_gone(c);
    atomic_store(&c->peers, 0);
    if (keep)
        grid_env_set_peers(device_context_env(c->device), 0);
    fault_forget(c);
    atomic_store(&c->id, atomic_fetch_add(&context_ids, 1) + 1); /* who saw the last one failed */
    atomic_store(&c->live, keep);
}

void contexts_await_ends(void)
{
    uint32_t calls = hold_pause();
    pthread_mutex_lock(&life_lock);
    pthread_mutex_unlock(&life_lock);
    hold_resume(calls);
}

bool context_settle(CUcontext c)
{
    uint64_t id = atomic_load(&c->id);
    if (context_live(c)) {
        hold_drain();
        if (same(c, id))
            driver_from_device(c, device_context_sync(c->device)); /* tells a fault while it can */
    }
    if (same(c, id))
        return true;
    contexts_await_ends(); /* who ends it waits for what runs, and frees its memory */
    return false;
}

/* A device's primary context, with the lock of all primary ones held. Not for host functions: a
 * reset waits for them, holding it. */
static CUresult lock_primary(CUdevice dev, CUcontext *c)
{
    CU_TRY(device_check(dev));
    if (device_in_host_function())
        return CUDA_ERROR_NOT_PERMITTED;
    *c = driver_primary(dev);
    pthread_mutex_lock(&life_lock);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev)
{
    CUcontext c;
    if (ctx == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(lock_primary(dev, &c));
    bool ok = activate(c);
    if (ok)
        atomic_fetch_add(&c->retains, 1);
    pthread_mutex_unlock(&life_lock);
    *ctx = c;
    return ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

WEIR_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    CUcontext c;
    CUresult r = lock_primary(dev, &c);
    if (r != CUDA_SUCCESS)
        return r;
    if (atomic_load(&c->retains) == 0)
        r = CUDA_ERROR_INVALID_CONTEXT;
    else if (atomic_fetch_sub(&c->retains, 1) == 1 && c->device != NULL)
        free_objects(c, false);
    pthread_mutex_unlock(&life_lock);
    return r;
}

WEIR_API CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    CUcontext c;
    CU_TRY(lock_primary(dev, &c));
    CALLED(cuDevicePrimaryCtxReset);
    if (c->device != NULL)
        free_objects(c, true);
    pthread_mutex_unlock(&life_lock);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    CUcontext c;
    if (!context_flags_valid(flags))
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(lock_primary(dev, &c));
    context_set_flags(c, flags);
    pthread_mutex_unlock(&life_lock);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    CU_TRY(device_check(dev));
    if (flags == NULL || active == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = driver_primary(dev)->flags;
    *active = driver_primary(dev)->device != NULL;
    return CUDA_SUCCESS;
}

/* CUDA 13's version; the parameters ask for execution affinity, which is refused when given. */
WEIR_API CUresult cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params, unsigned int flags,
                                 CUdevice dev)
{
    CU_TRY(driver_ready());
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (dev < 0 || dev >= driver_device_count())
        return CUDA_ERROR_INVALID_DEVICE;
    if (params != NULL && params->numExecAffinityParams > 0)
        return driver_error(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
                            "cuCtxCreate: execution affinity is not supported");
    if (!context_flags_valid(flags))
        return CUDA_ERROR_INVALID_VALUE;
    if (device_in_host_function())
        return CUDA_ERROR_NOT_PERMITTED;
    struct context_stack *s = stack_of_thread();
    if (s == NULL || s->count == STACK_DEPTH)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUcontext c = new_context(dev);
    c->flags = flags;
    if (!activate(c))
        return CUDA_ERROR_OUT_OF_MEMORY;
    s->items[s->count++] = c;
    changed(s);
    if (observed())
        observe_object_made(OBSERVE_CONTEXT_OBJECT, c);
    *out = c;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice dev)
{
    return cuCtxCreate_v4(out, NULL, flags, dev);
}

WEIR_API CUresult cuCtxDestroy_v2(CUcontext ctx)
{
    CU_TRY(driver_initialized());
    if (ctx == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (!handle_live(ctx, TAG_CONTEXT) || ctx->primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!context_live(ctx))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (device_in_host_function())
        return CUDA_ERROR_NOT_PERMITTED;
    struct context_stack *s = own_stack;
    for (int n = s != NULL ? s->count - 1 : -1; n >= 0; n--)
        if (s->items[n] == ctx)
            memmove(&s->items[n], &s->items[n + 1], sizeof(CUcontext) * (size_t)(--s->count - n));
    if (s != NULL)
        changed(s);
    CALLED(cuCtxDestroy);
    pthread_mutex_lock(&life_lock);
    bool live = context_live(ctx); /* no other thread destroys it, too */
    if (live && observed())
        observe_object_ended(ctx);
    if (live) /* the object stays: other threads may have it as their current context */
        free_objects(ctx, false);
    pthread_mutex_unlock(&life_lock);
    return live ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/* CUDA 11.4's version. */
WEIR_API CUresult cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *affinity, int count,
                                 unsigned int flags, CUdevice dev);
WEIR_API CUresult cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *affinity, int count,
                                 unsigned int flags, CUdevice dev)
{
    CUctxCreateParams params = {.execAffinityParams = affinity, .numExecAffinityParams = count};
    return cuCtxCreate_v4(out, &params, flags, dev);
}

/* ---- questions ---- */

/* The current context, for what it tells even when it is destroyed, as on a GPU. */
static CUresult current_whatever(CUcontext *c)
{
    CU_TRY(driver_permitted());
    *c = driver_thread.current;
    return *c != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* A context that the caller names. */
static CUresult named(CUcontext ctx, CUcontext *out)
{
    CU_TRY(driver_permitted());
    *out = ctx;
    return context_check(ctx);
}

WEIR_API CUresult cuCtxGetDevice(CUdevice *dev)
{
    HOLD;
    CUcontext c;
    CU_TRY(current_whatever(&c));
    if (dev == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *dev = c->ordinal;
    return CUDA_SUCCESS;
}

/* Of a context that need not be current; NULL: the current one. */
WEIR_API CUresult cuCtxGetDevice_v2(CUdevice *dev, CUcontext ctx)
{
    HOLD;
    CUcontext c;
    if (ctx == NULL)
        return cuCtxGetDevice(dev);
    CU_TRY(named(ctx, &c));
    if (dev == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *dev = c->ordinal;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
    HOLD;
    CUcontext c;
    CUresult r = ctx == NULL ? driver_current_any(&c) : named(ctx, &c);
    if (r == CUDA_SUCCESS && WEIR_UNLIKELY(capture_running())) {
        r = capture_unsafe();
        if (r == CUDA_SUCCESS)
            r = capture_forbid_all(c);
    }
    if (r != CUDA_SUCCESS)
        return r;
    r = context_wait(c);
    pool_synchronized();
    return r;
}

WEIR_API CUresult cuCtxSynchronize(void) { return cuCtxSynchronize_v2(NULL); }

WEIR_API CUresult cuCtxGetFlags(unsigned int *flags)
{
    HOLD;
    CUcontext c;
    CU_TRY(current_whatever(&c));
    if (flags == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = c->flags;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
    HOLD;
    CU_TRY(driver_ready());
    if (ctx == NULL)
        CU_TRY(driver_current(&ctx));
    if (context_check(ctx) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_CONTEXT; /* a destroyed one, too, as on a GPU */
    if (version == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *version = ctx->api_version != 0 ? ctx->api_version : 3020;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    HOLD;
    CUcontext c;
    CU_TRY(driver_current(&c));
    if (least != NULL)
        *least = DEVICE_PRIORITY_LOWEST;
    if (greatest != NULL)
        *greatest = DEVICE_PRIORITY_HIGHEST;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuCtxGetCacheConfig(CUfunc_cache *config)
{
    HOLD;
    CUcontext c;
    CU_TRY(driver_current(&c));
    if (config == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *config = c->cache_config;
    return CUDA_SUCCESS;
}

/* A preference: there is one cache here, so keeping it in mind is all that can be done. */
WEIR_API CUresult cuCtxSetCacheConfig(CUfunc_cache config)
{
    HOLD;
    CUcontext c;
    CU_TRY(driver_current(&c));
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return CUDA_ERROR_INVALID_VALUE;
    c->cache_config = config;
    return CUDA_SUCCESS;
}

static bool env_limit(CUlimit limit, enum grid_limit *out)
{
    switch (limit) {
    case CU_LIMIT_STACK_SIZE: *out = GRID_LIMIT_STACK; return true;
    case CU_LIMIT_PRINTF_FIFO_SIZE: *out = GRID_LIMIT_PRINTF; return true;
    case CU_LIMIT_MALLOC_HEAP_SIZE: *out = GRID_LIMIT_HEAP; return true;
    case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH: *out = GRID_LIMIT_SYNC_DEPTH; return true;
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT: *out = GRID_LIMIT_PENDING; return true;
    default: return false;
    }
}

/* Limits of caches that are not here: kept or refused as a GPU with a cache of its own would. */
static bool cache_limit(CUcontext c, CUlimit limit, size_t **kept)
{
    *kept = limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY ? &c->fetch_granularity : NULL;
    return *kept != NULL || limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE;
}

WEIR_API CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
    HOLD;
    CUcontext c;
    size_t *kept;
    enum grid_limit which;
    CU_TRY(driver_current(&c));
    if (value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if ((unsigned)limit >= CU_LIMIT_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    if (cache_limit(c, limit, &kept)) {
        *value = kept != NULL ? *kept : 0;
        return CUDA_SUCCESS;
    }
    if (!env_limit(limit, &which))
        return driver_error(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit %d is not supported", (int)limit);
    *value = grid_limit_get(device_context_env(c->device), which);
    return CUDA_SUCCESS;
}

/* What memory does not suffice for is lowered, as on GPUs; how much of its memory an H100 lets the
 * heap have is about as much. */
static size_t cut_limit(CUcontext c, enum grid_limit which, size_t value)
{
    static const size_t printf_least = (size_t)512 << 10, printf_most = (size_t)2 << 30;
    uint64_t unused, total;
    switch (which) {
    case GRID_LIMIT_PRINTF:
        return value < printf_least ? printf_least : value > printf_most ? printf_most : value;
    case GRID_LIMIT_HEAP:
        mem_usage(c->memory, &unused, &total);
        return value > total / 4 ? total / 4 : value;
    default: return value;
    }
}

WEIR_API CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
    HOLD;
    CUcontext c;
    size_t *kept;
    enum grid_limit which;
    CU_TRY(driver_current(&c));
    CU_TRY(capture_unsafe());
    if ((unsigned)limit >= CU_LIMIT_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    if (cache_limit(c, limit, &kept)) {
        if (value > (kept != NULL ? 128 : 0)) /* bytes of a line; of what may be set aside */
            return CUDA_ERROR_INVALID_VALUE;
        if (kept != NULL)
            *kept = value;
        return CUDA_SUCCESS;
    }
    if (!env_limit(limit, &which))
        return driver_error(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit %d is not supported", (int)limit);
    if (which == GRID_LIMIT_STACK) /* as GPUs do: kernels that run have the old one */
        CU_TRY(context_wait(c));
    value = cut_limit(c, which, value);
    return grid_limit_set(device_context_env(c->device), which, value) ? CUDA_SUCCESS
                                                                       : CUDA_ERROR_INVALID_VALUE;
}
