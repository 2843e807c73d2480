/* set: memory sets: rows, rectangles and boxes of one byte value. */
#include "runtime/internal.h"

/* Waits after a synchronous set in the thread's own stream: page-locked and managed memory are
 * waited for (spec Y3). */
static cudaError_t settle(const void *ptr, cudaStream_t stream)
{
    CUmemorytype type = CU_MEMORYTYPE_DEVICE;
    unsigned managed = 0;

    CU_TRY(CU(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)ptr));
    CU_TRY(CU(cuPointerGetAttribute, &managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, (CUdeviceptr)ptr));
    if (type == CU_MEMORYTYPE_HOST || managed)
        CU_TRY(CU(cuStreamSynchronize, stream));
    return cudaSuccess;
}

static cudaError_t set_1d(void *ptr, int value, size_t count, cudaStream_t stream,
                          enum rt_wait wait)
{
    unsigned char byte = (unsigned char)value;

    RT_TRY(rt_context());
    if (count == 0)
        return cudaSuccess;
    RT_CHECK(ptr, cudaErrorInvalidValue);
    if (wait == RT_SYNC && stream == NULL) {
        CU_TRY(CU(cuMemsetD8_v2, (CUdeviceptr)ptr, byte, count));
        return cudaSuccess;
    }
    CU_TRY(CU(cuMemsetD8Async, (CUdeviceptr)ptr, byte, count, stream));
    return wait == RT_SYNC ? settle(ptr, stream) : cudaSuccess;
}

static cudaError_t set_2d(void *ptr, size_t pitch, int value, size_t width, size_t height,
                          cudaStream_t stream, enum rt_wait wait)
{
    unsigned char byte = (unsigned char)value;

    RT_TRY(rt_context());
    if (width == 0 || height == 0)
        return cudaSuccess;
    RT_CHECK(ptr, cudaErrorInvalidValue);
    RT_CHECK(height == 1 || width <= pitch, cudaErrorInvalidValue);
    if (wait == RT_SYNC && stream == NULL) {
        CU_TRY(CU(cuMemsetD2D8_v2, (CUdeviceptr)ptr, pitch, byte, width, height));
        return cudaSuccess;
    }
    CU_TRY(CU(cuMemsetD2D8Async, (CUdeviceptr)ptr, pitch, byte, width, height, stream));
    return wait == RT_SYNC ? settle(ptr, stream) : cudaSuccess;
}

static cudaError_t set_3d(struct cudaPitchedPtr p, int value, struct cudaExtent extent,
                          cudaStream_t stream, enum rt_wait wait)
{
    size_t rows;

    RT_CHECK(extent.depth == 0 || extent.height <= p.ysize, cudaErrorInvalidValue);
    RT_CHECK(!__builtin_mul_overflow(extent.height, extent.depth, &rows), cudaErrorInvalidValue);
    if (extent.height == p.ysize) /* the slices are one rectangle */
        return set_2d(p.ptr, p.pitch, value, extent.width, rows, stream, wait);
    for (size_t z = 0; z < extent.depth; z++)
        RT_TRY(set_2d((char *)p.ptr + z * p.ysize * p.pitch, p.pitch, value, extent.width,
                      extent.height, stream, wait));
    return cudaSuccess;
}

DEFAULT_STREAM_API(cudaMemset, (void *devPtr, int value, size_t count),
                   set_1d(devPtr, value, count, stream, RT_SYNC))
STREAM_API(cudaMemsetAsync, (void *devPtr, int value, size_t count, cudaStream_t stream),
           set_1d(devPtr, value, count, stream, RT_ASYNC))
DEFAULT_STREAM_API(cudaMemset2D,
                   (void *devPtr, size_t pitch, int value, size_t width, size_t height),
                   set_2d(devPtr, pitch, value, width, height, stream, RT_SYNC))
STREAM_API(cudaMemset2DAsync,
           (void *devPtr, size_t pitch, int value, size_t width, size_t height,
            cudaStream_t stream),
           set_2d(devPtr, pitch, value, width, height, stream, RT_ASYNC))
DEFAULT_STREAM_API(cudaMemset3D,
                   (struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent),
                   set_3d(pitchedDevPtr, value, extent, stream, RT_SYNC))
STREAM_API(cudaMemset3DAsync,
           (struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent,
            cudaStream_t stream),
           set_3d(pitchedDevPtr, value, extent, stream, RT_ASYNC))
