/* stream_ops: what streams do besides commands: waiting for and writing values in memory,
 * and attributes. */
#include "driver/graph/graph.h"

/* ---- values in memory ---- */

/* The address must be memory that devices reach, of ours, and aligned. */
static CUresult check_word(CUdeviceptr at, unsigned bytes)
{
    if (at % bytes != 0 || mem_kind_of((void *)(uintptr_t)at, NULL) == MEM_PAGEABLE)
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "0x%llx: no aligned word of device, page-locked or managed memory",
                            (unsigned long long)at);
    return CUDA_SUCCESS;
}

static CUresult check_wait(CUdeviceptr at, unsigned bytes, unsigned flags)
{
    if (flags & CU_STREAM_WAIT_VALUE_FLUSH)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "CU_STREAM_WAIT_VALUE_FLUSH: there are no remote writes to flush");
    return flags > CU_STREAM_WAIT_VALUE_NOR ? CUDA_ERROR_INVALID_VALUE : check_word(at, bytes);
}

static CUresult check_write(CUdeviceptr at, unsigned bytes, unsigned flags)
{
    return flags > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER ? CUDA_ERROR_INVALID_VALUE
                                                           : check_word(at, bytes);
}

static CUresult stream_ops_wait(CUstream h, bool pt, CUdeviceptr at, unsigned bytes, uint64_t value,
                                unsigned flags)
{
    HOLD;
    static const enum device_value_test tests[] = {DEVICE_VALUE_GEQ, DEVICE_VALUE_EQ,
                                                   DEVICE_VALUE_AND, DEVICE_VALUE_NOR};
    CUcontext c;
    struct device_stream *s;
    CU_TRY(driver_find_stream(h, pt, &s, &c));
    CU_TRY(check_wait(at, bytes, flags));
    if (WEIR_UNLIKELY(capture_running())) {
        bool captured;
        CUstreamBatchMemOpParams op = {.waitValue = {bytes == 4 ? CU_STREAM_MEM_OP_WAIT_VALUE_32
                                                                : CU_STREAM_MEM_OP_WAIT_VALUE_64,
                                                     at,
                                                     {.value64 = value},
                                                     flags,
                                                     0}};
        CU_TRY(capture_batch(s, c, 1, &op, 0, &captured));
        if (captured)
            return CUDA_SUCCESS;
    }
    return driver_from_device(
        c, device_wait_value(s, (void *)(uintptr_t)at, bytes, value, tests[flags]));
}

static CUresult stream_ops_write(CUstream h, bool pt, CUdeviceptr at, unsigned bytes,
                                 uint64_t value, unsigned flags)
{
    HOLD;
    CUcontext c;
    struct device_stream *s;
    CU_TRY(driver_find_stream(h, pt, &s, &c));
    CU_TRY(check_write(at, bytes, flags));
    if (WEIR_UNLIKELY(capture_running())) {
        bool captured;
        CUstreamBatchMemOpParams op = {.writeValue = {bytes == 4 ? CU_STREAM_MEM_OP_WRITE_VALUE_32
                                                                 : CU_STREAM_MEM_OP_WRITE_VALUE_64,
                                                      at,
                                                      {.value64 = value},
                                                      flags,
                                                      0}};
        CU_TRY(capture_batch(s, c, 1, &op, 0, &captured));
        if (captured)
            return CUDA_SUCCESS;
    }
    return driver_from_device(c, device_write_value(s, (void *)(uintptr_t)at, bytes, value));
}

#define VALUE(bits)                                                                                \
    static CUresult cuStreamWaitValue##bits##_v2_impl(bool pt, CUstream h, CUdeviceptr at,         \
                                                      cuuint##bits##_t value, unsigned int flags)  \
    {                                                                                              \
        return stream_ops_wait(h, pt, at, (bits) / 8, value, flags);                               \
    }                                                                                              \
    static CUresult cuStreamWriteValue##bits##_v2_impl(bool pt, CUstream h, CUdeviceptr at,        \
                                                       cuuint##bits##_t value, unsigned int flags) \
    {                                                                                              \
        return stream_ops_write(h, pt, at, (bits) / 8, value, flags);                              \
    }
VALUE(32)
VALUE(64)
BOTH(cuStreamWaitValue32_v2, (CUstream h, CUdeviceptr at, cuuint32_t v, unsigned int flags), h, at,
     v, flags)
BOTH(cuStreamWaitValue64_v2, (CUstream h, CUdeviceptr at, cuuint64_t v, unsigned int flags), h, at,
     v, flags)
BOTH(cuStreamWriteValue32_v2, (CUstream h, CUdeviceptr at, cuuint32_t v, unsigned int flags), h, at,
     v, flags)
BOTH(cuStreamWriteValue64_v2, (CUstream h, CUdeviceptr at, cuuint64_t v, unsigned int flags), h, at,
     v, flags)

/* ---- many of them ---- */

CUresult batch_check(const CUstreamBatchMemOpParams *p)
{
    switch (p->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        return check_wait(p->waitValue.address, 4, p->waitValue.flags);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return check_wait(p->waitValue.address, 8, p->waitValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        return check_write(p->writeValue.address, 4, p->writeValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return check_write(p->writeValue.address, 8, p->writeValue.flags);
    case CU_STREAM_MEM_OP_BARRIER:
        return p->memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        return driver_error(CUDA_ERROR_NOT_SUPPORTED, "there are no remote writes to flush");
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult do_op(CUstream h, bool pt, const CUstreamBatchMemOpParams *p)
{
    switch (p->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        return stream_ops_wait(h, pt, p->waitValue.address, 4, p->waitValue.value,
                               p->waitValue.flags);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return stream_ops_wait(h, pt, p->waitValue.address, 8, p->waitValue.value64,
                               p->waitValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        return stream_ops_write(h, pt, p->writeValue.address, 4, p->writeValue.value,
                                p->writeValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return stream_ops_write(h, pt, p->writeValue.address, 8, p->writeValue.value64,
                                p->writeValue.flags);
    default: return CUDA_SUCCESS; /* a barrier: every command of a stream is one already */
    }
}

/* All are checked before the first is done. */
static CUresult cuStreamBatchMemOp_v2_impl(bool pt, CUstream h, unsigned int count,
                                           CUstreamBatchMemOpParams *params, unsigned int flags)
{
    HOLD;
    enum { MOST = 256 };
    CUcontext c;
    struct device_stream *s;
    CUresult r = driver_find_stream(h, pt, &s, &c);
    if (r != CUDA_SUCCESS)
        return r;
    if (flags != 0 || count > MOST || (count > 0 && params == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned n = 0; n < count && r == CUDA_SUCCESS; n++)
        r = batch_check(&params[n]);
    if (r == CUDA_SUCCESS && WEIR_UNLIKELY(capture_running())) {
        bool captured;
        CU_TRY(capture_batch(s, c, count, params, flags, &captured));
        if (captured)
            return CUDA_SUCCESS;
    }
    for (unsigned n = 0; n < count && r == CUDA_SUCCESS; n++)
        r = do_op(h, pt, &params[n]);
    return r;
}
BOTH(cuStreamBatchMemOp_v2,
     (CUstream h, unsigned int count, CUstreamBatchMemOpParams *params, unsigned int flags), h,
     count, params, flags)

/* ---- attributes: hints, kept to be told again ---- */

static CUresult stream_ops_attributes(CUstream h, bool pt, struct stream_attributes **out)
{
    CUcontext c;
    struct device_stream *s;
    CU_TRY(driver_find_stream(h, pt, &s, &c));
    if (h == NULL || h == CU_STREAM_LEGACY || h == CU_STREAM_PER_THREAD)
        *out = &c->attributes[h == CU_STREAM_PER_THREAD || (h == NULL && pt)];
    else
        *out = &h->attributes;
    return CUDA_SUCCESS;
}

static CUresult cuStreamGetAttribute_impl(bool pt, CUstream h, CUstreamAttrID which,
                                          CUstreamAttrValue *out)
{
    HOLD;
    CUcontext c;
    struct device_stream *s;
    struct stream_attributes *a;
    CU_TRY(driver_find_stream(h, pt, &s, &c));
    CU_TRY(stream_ops_attributes(h, pt, &a));
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    switch (which) {
    case CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW: out->accessPolicyWindow = a->window; break;
    case CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        out->syncPolicy = a->policy ? a->policy : CU_SYNC_POLICY_AUTO;
        break;
    case CU_STREAM_ATTRIBUTE_PRIORITY: out->priority = device_stream_priority(s); break;
    case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: out->memSyncDomainMap = a->domains; break;
    case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN: out->memSyncDomain = a->domain; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}
BOTH(cuStreamGetAttribute, (CUstream h, CUstreamAttrID which, CUstreamAttrValue *out), h, which,
     out)

static CUresult cuStreamSetAttribute_impl(bool pt, CUstream h, CUstreamAttrID which,
                                          const CUstreamAttrValue *v)
{
    HOLD;
    struct stream_attributes *a;
    CUstreamAttrValue now;
    CUresult r = stream_ops_attributes(h, pt, &a);
    if (r != CUDA_SUCCESS)
        return r;
    if (v == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    switch (which) {
    case CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        /* the largest window (CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE) is 0 */
        if (v->accessPolicyWindow.num_bytes > 0 || v->accessPolicyWindow.hitRatio < 0 ||
            v->accessPolicyWindow.hitRatio > 1)
            return CUDA_ERROR_INVALID_VALUE;
        a->window = v->accessPolicyWindow;
        return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        if (v->syncPolicy < CU_SYNC_POLICY_AUTO || v->syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC)
            return CUDA_ERROR_INVALID_VALUE;
        a->policy = v->syncPolicy;
        return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_PRIORITY:
        r = cuStreamGetAttribute_impl(pt, h, which, &now);
        if (r != CUDA_SUCCESS || now.priority == v->priority)
            return r;
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "the priority of a stream is that of its creation");
    case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        if (v->memSyncDomainMap.default_ != 0 || v->memSyncDomainMap.remote != 0)
            return CUDA_ERROR_INVALID_VALUE; /* there is one domain */
        return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN:
        if ((unsigned)v->memSyncDomain > CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE)
            return CUDA_ERROR_INVALID_VALUE;
        a->domain = v->memSyncDomain;
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}
BOTH(cuStreamSetAttribute, (CUstream h, CUstreamAttrID which, const CUstreamAttrValue *v), h, which,
     v)

static CUresult cuStreamCopyAttributes_impl(bool pt, CUstream to, CUstream from)
{
    HOLD;
    struct stream_attributes *a, *b;
    CUresult r = stream_ops_attributes(to, pt, &a);
    if (r == CUDA_SUCCESS)
        r = stream_ops_attributes(from, pt, &b);
    if (r == CUDA_SUCCESS)
        *a = *b;
    return r;
}
BOTH(cuStreamCopyAttributes, (CUstream to, CUstream from), to, from)

/* ---- contexts ---- */

static CUresult cuStreamGetCtx_v2_impl(bool pt, CUstream h, CUcontext *out, CUgreenCtx *green)
{
    HOLD;
    CUcontext c;
    struct device_stream *s;
    CU_TRY(driver_find_stream(h, pt, &s, &c));
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = c;
    if (green != NULL)
        *green = NULL;
    return CUDA_SUCCESS;
}
BOTH(cuStreamGetCtx_v2, (CUstream h, CUcontext *out, CUgreenCtx *green), h, out, green)
