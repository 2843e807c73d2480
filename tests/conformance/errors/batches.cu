/* E1: wrong arguments of prefetches and discards in batches, and of asynchronous copies of arrays.
 */
#include "errors.h"

static char text[4096];
static const cudaMemcpyKind to_device = cudaMemcpyHostToDevice, to_host = cudaMemcpyDeviceToHost;

static void copies()
{
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    cudaArray_t a, null = nullptr;

    MUST(cudaMallocArray(&a, &desc, 64, 16));
    ROW("no array", cudaMemcpy2DToArrayAsync(null, 0, 0, text, 64, 64, 4, to_device),
        cudaErrorInvalidResourceHandle);
    ROW("no source", cudaMemcpy2DToArrayAsync(a, 0, 0, nullptr, 64, 64, 4, to_device),
        cudaErrorInvalidValue);
    ROW("pitch", cudaMemcpy2DToArrayAsync(a, 0, 0, text, 32, 64, 4, to_device),
        cudaErrorInvalidPitchValue);
    ROW("to host", cudaMemcpy2DToArrayAsync(a, 0, 0, text, 64, 64, 4, to_host),
        cudaErrorInvalidMemcpyDirection);
    ROW("past the rows", cudaMemcpy2DToArrayAsync(a, 0, 13, text, 64, 64, 4, to_device),
        cudaErrorInvalidValue);
    ROW("no array", cudaMemcpy2DFromArrayAsync(text, 64, null, 0, 0, 64, 4, to_host),
        cudaErrorInvalidResourceHandle);
    ROW("to device", cudaMemcpy2DFromArrayAsync(text, 64, a, 0, 0, 64, 4, to_device),
        cudaErrorInvalidMemcpyDirection);
    ROW("past the rows", cudaMemcpy2DFromArrayAsync(text, 64, a, 0, 13, 64, 4, to_host),
        cudaErrorInvalidValue);
    ROW("no array", cudaMemcpyToArrayAsync(null, 0, 0, text, 64, to_device),
        cudaErrorInvalidResourceHandle);
    ROW("no array", cudaMemcpyFromArrayAsync(text, null, 0, 0, 64, to_host),
        cudaErrorInvalidResourceHandle);
}

#if CUDART_VERSION >= 13000
static void batches()
{
    void *p, *device, *list[2], *wrong[2], *nulls[2] = {nullptr, nullptr};
    size_t sizes[2] = {4096, 4096}, zeros[2] = {0, 4096}, first[1] = {0}, late[1] = {1};
    cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
    cudaStream_t s;

    MUST(cudaStreamCreate(&s));
    MUST(cudaMallocManaged(&p, 65536));
    MUST(cudaMalloc(&device, 8192));
    list[0] = p;
    list[1] = (char *)p + 8192;
    wrong[0] = p;
    wrong[1] = device;
    ROW("fine", cudaMemPrefetchBatchAsync(list, sizes, 2, &here, first, 1, 0, s), cudaSuccess);
    ROW("no list", cudaMemPrefetchBatchAsync(nullptr, sizes, 2, &here, first, 1, 0, s),
        cudaErrorInvalidValue);
    ROW("no sizes", cudaMemPrefetchBatchAsync(list, nullptr, 2, &here, first, 1, 0, s),
        cudaErrorInvalidValue);
    ROW("none", cudaMemPrefetchBatchAsync(list, sizes, 0, &here, first, 1, 0, s),
        cudaErrorInvalidValue);
    ROW("no places", cudaMemPrefetchBatchAsync(list, sizes, 2, nullptr, first, 1, 0, s),
        cudaErrorInvalidValue);
    ROW("no place", cudaMemPrefetchBatchAsync(list, sizes, 2, &here, first, 0, 0, s),
        cudaErrorInvalidValue);
    ROW("more places than ranges", cudaMemPrefetchBatchAsync(list, sizes, 2, &here, first, 3, 0, s),
        cudaErrorInvalidValue);
    ROW("places start late", cudaMemPrefetchBatchAsync(list, sizes, 2, &here, late, 1, 0, s),
        cudaErrorInvalidValue);
    ROW("flags 1", cudaMemPrefetchBatchAsync(list, sizes, 2, &here, first, 1, 1, s),
        cudaErrorInvalidValue);
    ROW("size 0", cudaMemPrefetchBatchAsync(list, zeros, 2, &here, first, 1, 0, s),
        cudaErrorInvalidValue);
    ROW("nothing", cudaMemPrefetchBatchAsync(nulls, sizes, 2, &here, first, 1, 0, s),
        cudaErrorInvalidValue);
    ROW("device memory", cudaMemPrefetchBatchAsync(wrong, sizes, 2, &here, first, 1, 0, s),
        cudaErrorInvalidValue);
    ROW("fine", cudaMemDiscardBatchAsync(list, sizes, 2, 0, s), cudaSuccess);
    ROW("no list", cudaMemDiscardBatchAsync(nullptr, sizes, 2, 0, s), cudaErrorInvalidValue);
    ROW("none", cudaMemDiscardBatchAsync(list, sizes, 0, 0, s), cudaErrorInvalidValue);
    ROW("flags 1", cudaMemDiscardBatchAsync(list, sizes, 2, 1, s), cudaErrorInvalidValue);
    ROW("device memory", cudaMemDiscardBatchAsync(wrong, sizes, 2, 0, s), cudaErrorInvalidValue);
    ROW("fine", cudaMemDiscardAndPrefetchBatchAsync(list, sizes, 2, &here, first, 1, 0, s),
        cudaSuccess);
    ROW("no places", cudaMemDiscardAndPrefetchBatchAsync(list, sizes, 2, nullptr, first, 1, 0, s),
        cudaErrorInvalidValue);
    ROW("device memory",
        cudaMemDiscardAndPrefetchBatchAsync(wrong, sizes, 2, &here, first, 1, 0, s),
        cudaErrorInvalidValue);
}
#endif

static void rows()
{
    copies();
#if CUDART_VERSION >= 13000
    batches();
#endif
}

ERROR_TABLE_MAIN(rows)
