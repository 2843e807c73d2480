/* stream: streams as handles; events are in event.c. */
#include <stdlib.h>

#include "base/list.h"
#include "driver/objects.h"

CUresult driver_stream_special(CUstream h, bool per_thread, struct device_stream **s,
                               CUcontext *ctx)
{
    if (h == NULL)
        h = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    if (h != CU_STREAM_LEGACY && h != CU_STREAM_PER_THREAD)
        return driver_no_handle();
    CU_TRY(driver_current(ctx));
    *s = h == CU_STREAM_LEGACY ? device_stream_legacy((*ctx)->device)
                               : device_stream_per_thread((*ctx)->device);
    return CUDA_SUCCESS;
}

__attribute__((noinline)) CUresult driver_find_stream_asked(CUstream h, bool per_thread,
                                                            struct device_stream **s,
                                                            CUcontext *ctx)
{
    return driver_find_stream(h, per_thread, s, ctx);
}

WEIR_API CUresult cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority)
{
    HOLD;
    CUcontext c;
    CU_TRY(driver_current(&c));
    if (out == NULL || (flags & ~1u) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUstream s = handle_begin(TAG_STREAM, sizeof *s);
    s->ctx = c;
    s->device = device_stream_new(c->device, flags, priority);
    if (s->device == NULL) {
        handle_recycle(s);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&c->lock);
    LIST_INSERT(c->streams, s);
    handle_publish(s, TAG_STREAM);
    pthread_mutex_unlock(&c->lock);
    *out = s;
    if (observed())
        observe_object_made(OBSERVE_STREAM_OBJECT, s);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuStreamCreate(CUstream *out, unsigned int flags)
{
    HOLD;
    return cuStreamCreateWithPriority(out, flags, 0);
}

static void stream_free(struct retired *r)
{
    CUstream s = (CUstream)(void *)((char *)r - offsetof(struct CUstream_st, retired));
    if (WEIR_UNLIKELY(capture_running()))
        capture_forget_stream(s->device); /* of a call that was under way */
    device_stream_free(s->device);
    handle_recycle(s);
}

void stream_end(CUstream s)
{
    if (WEIR_UNLIKELY(capture_running()))
        capture_forget_stream(s->device);
    device_stream_end(s->device);
    s->retired.free = stream_free;
    retire(&s->retired);
}

WEIR_API CUresult cuStreamDestroy_v2(CUstream s)
{
    HOLD;
    CUcontext c;
    CU_TRY(HANDLE_CONTEXT_FREEING(s, TAG_STREAM, &c));
    if (!handle_wipe(s))
        return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&c->lock);
    LIST_REMOVE(s);
    pthread_mutex_unlock(&c->lock);
    stream_end(s);
    pool_synchronized(); /* nobody can synchronize with it any more */
    return CUDA_SUCCESS;
}

static CUresult cuStreamSynchronize_impl(bool pt, CUstream h)
{
    HOLD;
    CUcontext c;
    struct device_stream *s;
    CU_TRY(stream_find(h, pt, &s, &c));
    if (WEIR_UNLIKELY(capture_running()))
        CU_TRY(capture_wait(s, c));
    CUresult r = driver_from_device(c, device_stream_sync(s));
    pool_synchronized();
    return r;
}
BOTH(cuStreamSynchronize, (CUstream h), h)

static CUresult cuStreamQuery_impl(bool pt, CUstream h)
{
    HOLD;
    CUcontext c;
    struct device_stream *s;
    CUresult r = stream_find(h, pt, &s, &c);
    if (r == CUDA_SUCCESS && WEIR_UNLIKELY(capture_running()))
        r = capture_wait(s, c);
    return r != CUDA_SUCCESS ? r : driver_from_device(c, device_stream_query(s));
}
BOTH(cuStreamQuery, (CUstream h), h)

static CUresult cuStreamGetPriority_impl(bool pt, CUstream h, int *priority)
{
    HOLD;
    CUcontext c;
    struct device_stream *s;
    CU_TRY(stream_find(h, pt, &s, &c));
    if (priority == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *priority = device_stream_priority(s);
    return CUDA_SUCCESS;
}
BOTH(cuStreamGetPriority, (CUstream h, int *priority), h, priority)

static CUresult cuStreamGetFlags_impl(bool pt, CUstream h, unsigned int *flags)
{
    HOLD;
    CUcontext c;
    struct device_stream *s;
    if (flags == NULL)
        return CUDA_ERROR_INVALID_VALUE; /* of any stream, as a GPU's driver says */
    CU_TRY(stream_find(h, pt, &s, &c));
    if (WEIR_UNLIKELY(capture_running()))
        CU_TRY(capture_forbid(s, c));
    *flags = device_stream_flags(s);
    return CUDA_SUCCESS;
}
BOTH(cuStreamGetFlags, (CUstream h, unsigned int *flags), h, flags)

static CUresult cuStreamGetId_impl(bool pt, CUstream h, unsigned long long *id)
{
    HOLD;
    CUcontext c;
    struct device_stream *s;
    CU_TRY(stream_find(h, pt, &s, &c));
    if (WEIR_UNLIKELY(capture_running()))
        CU_TRY(capture_forbid(s, c));
    if (id == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *id = device_stream_id(s);
    return CUDA_SUCCESS;
}
BOTH(cuStreamGetId, (CUstream h, unsigned long long *id), h, id)

static CUresult cuStreamGetCtx_impl(bool pt, CUstream h, CUcontext *out)
{
    HOLD;
    CUcontext c;
    struct device_stream *s;
    CU_TRY(stream_find(h, pt, &s, &c));
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = c;
    return CUDA_SUCCESS;
}
BOTH(cuStreamGetCtx, (CUstream h, CUcontext *out), h, out)

static CUresult cuStreamGetDevice_impl(bool pt, CUstream h, CUdevice *out)
{
    HOLD;
    CUcontext c;
    CUresult r = cuStreamGetCtx_impl(pt, h, &c);
    if (r == CUDA_SUCCESS && out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *out = c->ordinal;
    return r;
}
BOTH(cuStreamGetDevice, (CUstream h, CUdevice *out), h, out)
