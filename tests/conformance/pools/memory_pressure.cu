// A5: a pool keeps most of the device's memory, all of it unused: who needs memory gets it, as far
// as the host has synchronized with the frees, whatever the pool should keep.
// RUN own-pools: WEIR_POOLS=own
#include <cuda.h>
#include <cuda_runtime.h>

#include "check.h"
#include "driver_knows.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

static size_t most; // of the device's memory: there is not twice as much
static volatile int *flag;

__global__ void spin(volatile int *p)
{
    while (*p == 0) {
    }
}

static cudaMemPool_t new_pool()
{
    cudaMemPoolProps props = {};
    cudaMemPool_t pool = nullptr;
    unsigned long long all = ~0ull;
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    OK(cudaMemPoolCreate(&pool, &props));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
    return pool;
}

static unsigned long long reserved(cudaMemPool_t pool)
{
    unsigned long long value = 0;
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &value));
    return value;
}

enum Who { MALLOC, OTHER_POOL, PHYSICAL, WHOS };

// Takes the memory and gives it back.
static bool takes(Who who, cudaMemPool_t other, cudaStream_t s)
{
    const size_t granule = 2 << 20;
    void *p = nullptr;
    CUmemGenericAllocationHandle h;
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    switch (who) {
    case MALLOC:
        if (cudaMalloc(&p, most) != cudaSuccess)
            return false;
        OK(cudaFree(p));
        return true;
    case OTHER_POOL:
        if (cudaMallocFromPoolAsync(&p, most, other, s) != cudaSuccess)
            return false;
        OK(cudaFreeAsync(p, s));
        return true;
    default:
        if (cuMemCreate(&h, most / granule * granule, &prop, 0) != CUDA_SUCCESS)
            return false;
        CHECK_EQ_INT(cuMemRelease(h), CUDA_SUCCESS);
        return true;
    }
}

static void one(Who who, bool synchronized, cudaStream_t s)
{
    cudaMemPool_t pool = new_pool(), other = new_pool();
    void *p;
    OK(cudaMallocFromPoolAsync(&p, most, pool, s));
    if (!synchronized) { // what may be in use is not given away
        *flag = 0;
        spin<<<1, 1, 0, s>>>((int *)flag);
    }
    OK(cudaFreeAsync(p, s));
    if (synchronized)
        OK(cudaStreamSynchronize(s));
    CHECK(reserved(pool) >= most);
    CHECK_EQ_INT(takes(who, other, s), synchronized);
    CHECK_EQ_INT(reserved(pool) < most, synchronized);
    *flag = 1;
    cudaGetLastError();
    OK(cudaDeviceSynchronize());
    OK(cudaMemPoolDestroy(pool));
    OK(cudaMemPoolDestroy(other));
    OK(cudaDeviceSynchronize());
}

int main()
{
    cudaStream_t s;
    size_t unused, total;
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaMallocHost((void **)&flag, sizeof *flag));
    OK(cudaMemGetInfo(&unused, &total));
    most = unused / 10 * 7;
    for (int who = 0; who < WHOS; who++)
        if (who != PHYSICAL || driver_knows())
            one((Who)who, true, s);
    one(OTHER_POOL, false, s); // the others may wait for the kernel
    return check_done();
}
