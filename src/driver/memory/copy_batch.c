/* copy_batch: many copies in one call. They are enqueued one after the other, which is
 * one of the orders that the caller allows. */
#include "driver/objects.h"

/* A source that must be read before the call returns is: pageable memory is staged by the copy
 * itself, for the rest the stream is waited for. */
static CUresult settle(CUstream h, bool pt, bool during_call)
{
    CUcontext c;
    struct device_stream *s;
    CUresult r = driver_find_stream(h, pt, &s, &c);
    if (r != CUDA_SUCCESS || !during_call)
        return r;
    return driver_from_device(c, device_stream_sync(s));
}

static bool order_valid(CUmemcpySrcAccessOrder order, unsigned flags)
{
    return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY &&
           flags <= CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE;
}

/* Batches may not go into the legacy stream. */
static bool stream_valid(CUstream h, bool pt) { return h != CU_STREAM_LEGACY && (h != NULL || pt); }

/* `failed` is which copy was refused, where it was one of them. */
static CUresult batch(bool pt, CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                      CUmemcpyAttributes *attributes, size_t *first, size_t nattributes,
                      size_t *failed, CUstream h)
{
    *failed = SIZE_MAX;
    CUresult r = settle(h, pt, false);
    if (r != CUDA_SUCCESS)
        return r;
    if (dsts == NULL || srcs == NULL || sizes == NULL || count == 0 || attributes == NULL ||
        first == NULL || nattributes == 0 || nattributes > count || first[0] != 0 ||
        !stream_valid(h, pt))
        return CUDA_ERROR_INVALID_VALUE;
    bool during_call = false;
    for (size_t n = 0; n < nattributes; n++) {
        if (!order_valid(attributes[n].srcAccessOrder, attributes[n].flags) ||
            (n > 0 && (first[n] <= first[n - 1] || first[n] >= count)))
            return CUDA_ERROR_INVALID_VALUE;
        during_call |= attributes[n].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    }
    for (size_t n = 0; n < count; n++)
        if (dsts[n] == 0 || srcs[n] == 0 || sizes[n] == 0) {
            *failed = n;
            return CUDA_ERROR_INVALID_VALUE;
        }
    for (size_t n = 0; n < count; n++) {
        r = copy_linear(h, pt, DEVICE_COPY_ASYNC, (void *)(uintptr_t)dsts[n],
                        (void *)(uintptr_t)srcs[n], sizes[n]);
        if (r != CUDA_SUCCESS) {
            *failed = n;
            return r;
        }
    }
    return settle(h, pt, during_call);
}

static CUresult cuMemcpyBatchAsync_v2_impl(bool pt, CUdeviceptr *dsts, CUdeviceptr *srcs,
                                           size_t *sizes, size_t count,
                                           CUmemcpyAttributes *attributes, size_t *first,
                                           size_t nattributes, CUstream h)
{
    HOLD;
    size_t failed;
    return batch(pt, dsts, srcs, sizes, count, attributes, first, nattributes, &failed, h);
}
BOTH(cuMemcpyBatchAsync_v2,
     (CUdeviceptr * dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
      CUmemcpyAttributes *attributes, size_t *first, size_t nattributes, CUstream h),
     dsts, srcs, sizes, count, attributes, first, nattributes, h)

/* CUDA 12.8's version tells which copy failed; SIZE_MAX: it was not one of them. */
#undef cuMemcpyBatchAsync
static CUresult cuMemcpyBatchAsync_impl(bool pt, CUdeviceptr *dsts, CUdeviceptr *srcs,
                                        size_t *sizes, size_t count, CUmemcpyAttributes *attributes,
                                        size_t *first, size_t nattributes, size_t *failed,
                                        CUstream h)
{
    HOLD;
    size_t which;
    CUresult r = batch(pt, dsts, srcs, sizes, count, attributes, first, nattributes, &which, h);
    if (r != CUDA_SUCCESS && failed != NULL)
        *failed = which;
    return r;
}
BOTH(cuMemcpyBatchAsync,
     (CUdeviceptr * dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
      CUmemcpyAttributes *attributes, size_t *first, size_t nattributes, size_t *failed,
      CUstream h),
     dsts, srcs, sizes, count, attributes, first, nattributes, failed, h)

/* ---- boxes ---- */

/* Bytes of an element of the operand; 1 for memory, of which the copy's other side says more. */
static uint32_t copy_batch_element(const CUmemcpy3DOperand *o)
{
    return o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY ? o->op.array.array->element : 1;
}

/* Elements of a row, and beyond any: bytes of so many do not wrap. */
static const size_t ROW_MAX = (size_t)1 << 40;

static CUresult check_operand(const CUmemcpy3DOperand *o)
{
    if (o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
        return o->op.array.offset.x > ROW_MAX ? CUDA_ERROR_INVALID_VALUE
                                              : array_check(o->op.array.array);
    return o->type == CU_MEMCPY_OPERAND_TYPE_POINTER && o->op.ptr.ptr != 0 &&
                   o->op.ptr.rowLength <= ROW_MAX
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

static struct copy_side copy_batch_side(const CUmemcpy3DOperand *o, uint32_t element)
{
    if (o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
        return (struct copy_side){.type = CU_MEMORYTYPE_ARRAY,
                                  .array = o->op.array.array,
                                  .x = o->op.array.offset.x * element,
                                  .y = o->op.array.offset.y,
                                  .z = o->op.array.offset.z};
    return (struct copy_side){.type = CU_MEMORYTYPE_UNIFIED,
                              .device = o->op.ptr.ptr,
                              .pitch = o->op.ptr.rowLength * element,
                              .height = o->op.ptr.layerHeight};
}

static CUresult check_op(const CUDA_MEMCPY3D_BATCH_OP *op)
{
    if (!order_valid(op->srcAccessOrder, op->flags) || op->extent.width == 0 ||
        op->extent.height == 0 || op->extent.depth == 0 || op->extent.width > ROW_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(check_operand(&op->src));
    CU_TRY(check_operand(&op->dst));
    uint32_t a = copy_batch_element(&op->src), b = copy_batch_element(&op->dst);
    bool both = op->src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY && op->dst.type == op->src.type;
    return both && a != b ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult copy_op(bool pt, const CUDA_MEMCPY3D_BATCH_OP *op, CUstream h)
{
    uint32_t a = copy_batch_element(&op->src), b = copy_batch_element(&op->dst),
             element = a > b ? a : b;
    struct copy_side src = copy_batch_side(&op->src, element),
                     dst = copy_batch_side(&op->dst, element);
    return copy_box(h, pt, DEVICE_COPY_ASYNC, &src, &dst, op->extent.width * element,
                    op->extent.height, op->extent.depth);
}

static CUresult batch_3d(bool pt, size_t count, CUDA_MEMCPY3D_BATCH_OP *ops,
                         unsigned long long flags, size_t *failed, CUstream h)
{
    *failed = SIZE_MAX;
    CUresult r = settle(h, pt, false);
    if (r != CUDA_SUCCESS)
        return r;
    if (count == 0 || ops == NULL || flags != 0 || !stream_valid(h, pt))
        return CUDA_ERROR_INVALID_VALUE;
    bool during_call = false;
    for (size_t n = 0; n < count; n++) {
        r = check_op(&ops[n]);
        if (r != CUDA_SUCCESS) {
            *failed = n;
            return r;
        }
        during_call |= ops[n].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    }
    for (size_t n = 0; n < count; n++) {
        r = copy_op(pt, &ops[n], h);
        if (r != CUDA_SUCCESS) {
            *failed = n;
            return r;
        }
    }
    return settle(h, pt, during_call);
}

static CUresult cuMemcpy3DBatchAsync_v2_impl(bool pt, size_t count, CUDA_MEMCPY3D_BATCH_OP *ops,
                                             unsigned long long flags, CUstream h)
{
    HOLD;
    size_t failed;
    return batch_3d(pt, count, ops, flags, &failed, h);
}
BOTH(cuMemcpy3DBatchAsync_v2,
     (size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, unsigned long long flags, CUstream h), count, ops,
     flags, h)

#undef cuMemcpy3DBatchAsync
static CUresult cuMemcpy3DBatchAsync_impl(bool pt, size_t count, CUDA_MEMCPY3D_BATCH_OP *ops,
                                          size_t *failed, unsigned long long flags, CUstream h)
{
    HOLD;
    size_t which;
    CUresult r = batch_3d(pt, count, ops, flags, &which, h);
    if (r != CUDA_SUCCESS && failed != NULL)
        *failed = which;
    return r;
}
BOTH(cuMemcpy3DBatchAsync,
     (size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *failed, unsigned long long flags,
      CUstream h),
     count, ops, failed, flags, h)
