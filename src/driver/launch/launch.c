/* launch: kernels and host functions go into streams. */
#include <stdlib.h>
#include <string.h>

#include "driver/objects.h"

CUresult launch_function(CUfunction h, CUcontext c, CUfunction *out)
{
    if (WEIR_LIKELY(handle_live(h, TAG_FUNCTION))) {
        *out = h;
        return CUDA_SUCCESS;
    }
    return kernel_to_function((CUkernel)h, c, out);
}

/* A cooperative grid must fit on the device all at once: by threads, as the occupancy calls say. */
static bool fits(const struct launch_request *q)
{
    uint64_t blocks = (uint64_t)q->grid[0] * q->grid[1] * q->grid[2];
    struct device_facts facts;
    device_facts(driver_device(q->f->module->ctx->ordinal), &facts);
    return blocks <=
           (uint64_t)facts.workers *
               function_blocks_per_sm(q->f, q->block[0] * q->block[1] * q->block[2], q->shared);
}

static const uint32_t block_max[3] = {1024, 1024, 64};
static const uint32_t grid_max[3] = {2147483647, 65535, 65535};

/* Whether 1 <= n <= most. */
static bool within(uint32_t n, uint32_t most) { return n - 1 < most; }

/* Whether plain launches of the shape are allowed, asked of every launch; launch_check says why
 * not. */
static inline bool launch_allowed(const struct launch_request *q)
{
    const struct CUfunc_st *f = q->f;
    uint64_t shared = (uint64_t)f->info.static_shared + q->shared;
    return within(q->block[0], block_max[0]) && within(q->block[1], block_max[1]) &&
           within(q->block[2], block_max[2]) && within(q->grid[0], grid_max[0]) &&
           within(q->grid[1], grid_max[1]) && within(q->grid[2], grid_max[2]) &&
           q->block[0] * q->block[1] * q->block[2] <= f->info.max_threads &&
           shared <= SHARED_DEFAULT_MAX && !q->cooperative;
}

CUresult launch_check(const struct launch_request *q)
{
    uint64_t threads = 1;
    for (int n = 0; n < 3; n++) {
        if (q->block[n] == 0 || q->block[n] > block_max[n] || q->grid[n] == 0 ||
            q->grid[n] > grid_max[n])
            return driver_error(CUDA_ERROR_INVALID_VALUE,
                                "%s: a grid of %ux%ux%u blocks of %ux%ux%u threads is beyond the "
                                "device's limits",
                                q->f->func->name, q->grid[0], q->grid[1], q->grid[2], q->block[0],
                                q->block[1], q->block[2]);
        threads *= q->block[n];
    }
    if (threads > 1024)
        return driver_error(CUDA_ERROR_INVALID_VALUE, "%s: %llu threads in a block; 1024 at most",
                            q->f->func->name, (unsigned long long)threads);
    if (threads > q->f->info.max_threads)
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "%s: %llu threads in a block; the kernel was compiled for %u at most",
                            q->f->func->name, (unsigned long long)threads, q->f->info.max_threads);
    uint64_t shared = q->f->info.static_shared + q->shared;
    uint64_t allowed = SHARED_DEFAULT_MAX;
    if (q->f->max_dynamic_shared + q->f->info.static_shared > allowed)
        allowed = q->f->max_dynamic_shared + q->f->info.static_shared;
    if (shared > allowed) /* of a cooperative grid not one block fits */
        return driver_error(q->cooperative ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
                                           : CUDA_ERROR_INVALID_VALUE,
                            "%s: %llu bytes of shared memory; %llu allowed (more with "
                            "cudaFuncSetAttribute, up to %d)",
                            q->f->func->name, (unsigned long long)shared,
                            (unsigned long long)allowed, (int)device_limits()->shared_optin_max);
    if (q->cooperative && !fits(q))
        return driver_error(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
                            "%s: a cooperative grid of %ux%ux%u blocks does not fit on the device",
                            q->f->func->name, q->grid[0], q->grid[1], q->grid[2]);
    return CUDA_SUCCESS;
}

CUresult launch_shape_check(CUfunction f, const uint32_t grid[3], const uint32_t block[3],
                            uint32_t shared)
{
    struct launch_request q = {.f = f, .shared = shared};
    memcpy(q.grid, grid, sizeof q.grid);
    memcpy(q.block, block, sizeof q.block);
    return launch_check(&q);
}

CUresult launch_gather(const struct launch_request *q, uint8_t *buffer, uint32_t *bytes)
{
    CUfunction f = q->f;
    *bytes = (uint32_t)f->info.param_bytes;
    if (*bytes == 0)
        return CUDA_SUCCESS;
    if (*bytes > LAUNCH_PARAM_BYTES)
        return CUDA_ERROR_INVALID_VALUE;
    if (q->params != NULL) {
        if (q->extra != NULL)
            return CUDA_ERROR_INVALID_VALUE;
        for (int n = 0; n < f->func->nparams; n++) {
            if (q->params[n] == NULL)
                return CUDA_ERROR_INVALID_VALUE;
            memcpy(buffer + f->param_offsets[n], q->params[n], f->param_sizes[n]);
        }
        return CUDA_SUCCESS;
    }
    if (q->extra == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const void *from = NULL;
    size_t size = 0;
    for (void **e = q->extra; *e != CU_LAUNCH_PARAM_END; e += 2) {
        if (*e == CU_LAUNCH_PARAM_BUFFER_POINTER)
            from = e[1];
        else if (*e == CU_LAUNCH_PARAM_BUFFER_SIZE)
            size = *(size_t *)e[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (from == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    memset(buffer, 0, *bytes);
    memcpy(buffer, from, size < *bytes ? size : *bytes);
    return CUDA_SUCCESS;
}

/* The code that was compiled last, which mostly is all there is, when it is for that shape. */
static inline struct variant *latest(CUfunction f, const uint32_t block[3], bool grid_small,
                                     uint32_t joined)
{
    struct variant *v = atomic_load_explicit(&f->variants, memory_order_acquire);
    return v != NULL && v->ntid[0] == block[0] && v->ntid[1] == block[1] &&
                   v->ntid[2] == block[2] && v->grid_small == grid_small && v->joined == joined
               ? v
               : NULL;
}

/* Whatever there is to ask before a launch. */
static __attribute__((noinline)) CUresult launch_find(struct launch_request *q,
                                                      struct device_stream **s, CUcontext *ctx)
{
    CU_TRY(driver_find_stream(q->stream, q->per_thread, s, ctx));
    return launch_function(q->f, *ctx, &q->f);
}

static CUresult launch_request(struct launch_request *q)
{
    HOLD;
    CUcontext ctx;
    struct device_stream *s;
    CUresult r = CUDA_SUCCESS;
    /* The one look of a launch at what hardly ever is so. */
    bool plain = fast_path_launch() && driver_last_stream(q->stream) &&
                 WEIR_LIKELY(handle_live(q->f, TAG_FUNCTION));
    if (WEIR_LIKELY(plain)) {
        ctx = q->stream->ctx;
        s = q->stream->device;
    } else if ((r = launch_find(q, &s, &ctx)) != CUDA_SUCCESS) {
        return r;
    }
    if (q->f->module->ctx != ctx)
        return driver_error(CUDA_ERROR_INVALID_HANDLE,
                            "%s: the kernel and the stream belong to "
                            "different contexts",
                            q->f->func->name);
    if (!plain && capture_running()) {
        bool captured;
        CU_TRY(capture_kernel(s, ctx, q, &captured));
        if (captured)
            return CUDA_SUCCESS;
    }
    if (!WEIR_LIKELY(launch_allowed(q)))
        r = launch_check(q);
    if (r == CUDA_SUCCESS && !WEIR_LIKELY(cluster_none(q->f, q->cluster)))
        r = cluster_resolve(q->f, q->grid, q->cluster);
    if (r != CUDA_SUCCESS)
        return r;
    uint8_t small[4096], *buffer = small;
    if (q->f->info.param_bytes > sizeof small)
        buffer = xmalloc(q->f->info.param_bytes);
    struct grid_launch l = {
        .dynamic_shared = q->shared, .params = buffer, .cooperative = q->cooperative};
    struct variant *v = NULL;
    r = launch_gather(q, buffer, &l.param_bytes);
    bool small_grid = grid_is_small(q->grid, q->block);
    uint32_t joined = 1;
    if (q->f->join_least != 0 && !q->cooperative && q->cluster[0] == 0)
        joined = blocks_joined(q->f, q->grid, q->block);
    if (r == CUDA_SUCCESS && (v = latest(q->f, q->block, small_grid, joined)) == NULL)
        r = function_variant(q->f, q->block, q->grid, joined, &v);
    if (r == CUDA_SUCCESS) {
        l.kernel = &v->kernel;
        memcpy(l.grid, q->grid, sizeof l.grid);
        memcpy(l.block, q->block, sizeof l.block);
        memcpy(l.cluster, q->cluster, sizeof l.cluster);
        enum device_error e =
            WEIR_LIKELY(plain) ? device_launch_checked(s, &l) : device_launch(s, &l);
        r = WEIR_LIKELY(e == DEVICE_OK) ? CUDA_SUCCESS : driver_from_device(ctx, e);
    }
    if (buffer != small)
        free(buffer);
    return r;
}

static CUresult launch_plain(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                             unsigned by, unsigned bz, unsigned shared, CUstream stream,
                             void **params, void **extra, bool per_thread, bool cooperative)
{
    struct launch_request q = {.f = f,
                               .grid = {gx, gy, gz},
                               .block = {bx, by, bz},
                               .shared = shared,
                               .stream = stream,
                               .per_thread = per_thread,
                               .cooperative = cooperative,
                               .params = params,
                               .extra = extra};
    return launch_request(&q);
}

#define LAUNCH_ARGS                                                                                \
    unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,           \
        unsigned int bz, unsigned int shared, CUstream stream, void **params

WEIR_API CUresult cuLaunchKernel(CUfunction f, LAUNCH_ARGS, void **extra)
{
    return launch_plain(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra, false, false);
}

WEIR_API CUresult cuLaunchKernel_ptsz(CUfunction f, LAUNCH_ARGS, void **extra)
{
    return launch_plain(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra, true, false);
}

WEIR_API CUresult cuLaunchCooperativeKernel(CUfunction f, LAUNCH_ARGS)
{
    return launch_plain(f, gx, gy, gz, bx, by, bz, shared, stream, params, NULL, false, true);
}

WEIR_API CUresult cuLaunchCooperativeKernel_ptsz(CUfunction f, LAUNCH_ARGS)
{
    return launch_plain(f, gx, gy, gz, bx, by, bz, shared, stream, params, NULL, true, true);
}

CUresult launch_attribute(struct launch_request *q, const CUlaunchAttribute *a)
{
    switch (a->id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        q->cooperative = a->value.cooperative != 0;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: /* of a node; in a stream its own priority counts */
        q->prioritized = true;
        q->priority = a->value.priority;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: /* permits overlap, asks for none */
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        q->cluster[0] = a->value.clusterDim.x;
        q->cluster[1] = a->value.clusterDim.y;
        q->cluster[2] = a->value.clusterDim.z;
        return CUDA_SUCCESS;
    default:
        return driver_error((unsigned)a->id <= CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING
                                ? CUDA_ERROR_NOT_SUPPORTED
                                : CUDA_ERROR_INVALID_VALUE,
                            "launch attribute %d is not supported", (int)a->id);
    }
}

static CUresult launch_ex(const CUlaunchConfig *c, CUfunction f, void **params, void **extra,
                          bool per_thread)
{
    if (c == NULL || (c->numAttrs > 0 && c->attrs == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    struct launch_request q = {.f = f,
                               .grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
                               .block = {c->blockDimX, c->blockDimY, c->blockDimZ},
                               .shared = c->sharedMemBytes,
                               .stream = c->hStream,
                               .per_thread = per_thread,
                               .params = params,
                               .extra = extra};
    for (unsigned n = 0; n < c->numAttrs; n++) {
        CU_TRY(launch_attribute(&q, &c->attrs[n]));
    }
    return launch_request(&q);
}

WEIR_API CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params,
                                   void **extra)
{
    return launch_ex(config, f, params, extra, false);
}

WEIR_API CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **params,
                                        void **extra)
{
    return launch_ex(config, f, params, extra, true);
}

/* ---- host functions ---- */

struct host_call {
    void *user; /* first: device_host_function */
    CUhostFn fn;
    CUstreamCallback callback;
    CUstream stream;
    CUcontext ctx;
};

static void run_host(void *p, enum device_error status)
{
    struct host_call h = *(struct host_call *)p;
    free(p);
    if (h.callback == NULL && status != DEVICE_OK)
        return; /* only callbacks are told of faults */
    if (h.fn != NULL)
        h.fn(h.user);
    else
        h.callback(h.stream, driver_from_device(h.ctx, status), h.user);
}

static CUresult host_function(CUstream stream, bool per_thread, CUhostFn fn,
                              CUstreamCallback callback, void *user)
{
    CUcontext ctx;
    struct device_stream *s;
    CUresult r = driver_find_stream(stream, per_thread, &s, &ctx);
    if (r != CUDA_SUCCESS)
        return r;
    if (fn == NULL && callback == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (WEIR_UNLIKELY(capture_running())) {
        bool captured;
        r = callback != NULL ? capture_forbid(s, ctx) : capture_host(s, ctx, fn, user, &captured);
        if (r != CUDA_SUCCESS || (callback == NULL && captured))
            return r;
    }
    if (callback == NULL)
        CU_TRY(driver_from_device(ctx, device_context_status(ctx->device)));
    struct host_call *h = xmalloc(sizeof *h);
    *h = (struct host_call){user, fn, callback, stream, ctx};
    /* Always run, so that h is freed. */
    enum device_error e = device_host_function(
        s, run_host, h,
        callback != NULL ? (const void *)(uintptr_t)callback : (const void *)(uintptr_t)fn, true);
    if (e != DEVICE_OK)
        free(h);
    return driver_from_device(ctx, e);
}

WEIR_API CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *user)
{
    HOLD;
    return host_function(stream, false, fn, NULL, user);
}

WEIR_API CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn fn, void *user)
{
    HOLD;
    return host_function(stream, true, fn, NULL, user);
}

WEIR_API CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback fn, void *user,
                                      unsigned int flags)
{
    HOLD;
    return flags != 0 ? CUDA_ERROR_INVALID_VALUE : host_function(stream, false, NULL, fn, user);
}

WEIR_API CUresult cuStreamAddCallback_ptsz(CUstream stream, CUstreamCallback fn, void *user,
                                           unsigned int flags)
{
    HOLD;
    return flags != 0 ? CUDA_ERROR_INVALID_VALUE : host_function(stream, true, NULL, fn, user);
}
