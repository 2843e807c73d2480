// Whether the driver API, asked about stream-ordered memory, knows of it: it does not where the
// runtime's own pools serve (WEIR_POOLS=own, docs/gpu.md).
#ifndef DRIVER_KNOWS_H
#define DRIVER_KNOWS_H

#include <cuda.h>
#include <cuda_runtime.h>

static inline bool driver_knows(void)
{
    cudaMemPoolProps props = {};
    cudaMemPool_t pool = nullptr;
    void *p = nullptr;
    cuuint64_t used = 0;
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    if (cudaMemPoolCreate(&pool, &props) != cudaSuccess)
        return true;
    if (cudaMallocFromPoolAsync(&p, 512, pool, cudaStreamPerThread) == cudaSuccess) {
        cuMemPoolGetAttribute((CUmemoryPool)pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used);
        cudaFreeAsync(p, cudaStreamPerThread);
        cudaStreamSynchronize(cudaStreamPerThread);
    }
    cudaMemPoolDestroy(pool);
    return used != 0;
}

#endif
