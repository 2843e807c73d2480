// A1, A11: what says that there are pools, what pointers to their memory say of themselves, and
// copies between devices by threads that have asked for no context.
// RUN own-pools: WEIR_POOLS=own
#include <cuda.h>
#include <cuda_runtime.h>

#include <thread>

#include "check.h"
#include "driver_knows.h"

#define OK(call) CHECK_EQ_INT(call, cudaSuccess)

static void questions()
{
    int version = 0, pools = 0, handles = 0;
    OK(cudaDriverGetVersion(&version));
    CHECK(version >= 11030); // since when the handle types can be asked for
    OK(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, 0));
    CHECK_EQ_INT(pools, 1);
    OK(cudaDeviceGetAttribute(&handles, cudaDevAttrMemoryPoolSupportedHandleTypes, 0));
    CHECK((handles & cudaMemHandleTypePosixFileDescriptor) != 0);
}

// All attributes at once, of the start and of the middle.
static void pointer(cudaMemPool_t pool, cudaStream_t s)
{
    const size_t BYTES = 5000;
    char *p = nullptr;
    OK(cudaMallocFromPoolAsync(&p, BYTES, pool, s));
    for (size_t offset = 0; offset < BYTES; offset += 4999) {
        CUcontext context = (CUcontext)&p;
        CUmemoryPool of = nullptr;
        CUdeviceptr start = 0;
        size_t size = 0;
        int ordinal = -1;
        unsigned type = 0, managed = 9;
        CUpointer_attribute which[] = {
            CU_POINTER_ATTRIBUTE_CONTEXT,          CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
            CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,   CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
            CU_POINTER_ATTRIBUTE_IS_MANAGED};
        void *out[] = {&context, &of, &ordinal, &type, &start, &size, &managed};
        CHECK_EQ_INT(cuPointerGetAttributes(7, which, out, (CUdeviceptr)p + offset), CUDA_SUCCESS);
        CHECK(context == nullptr); // it belongs to none
        CHECK(of == (CUmemoryPool)pool || !driver_knows());
        CHECK_EQ_INT(ordinal, 0);
        CHECK_EQ_INT(type, CU_MEMORYTYPE_DEVICE);
        CHECK_EQ_INT(managed, 0);
        CHECK((start == (CUdeviceptr)p && size == BYTES) || !driver_knows());
    }
    OK(cudaFreeAsync(p, s));
    cudaPointerAttributes a;
    OK(cudaPointerGetAttributes(&a, p)); // gone with the call, whatever still runs
    CHECK_EQ_INT(a.type, cudaMemoryTypeUnregistered);
}

// Its first call of all, on a stream that another thread has made.
static void copy_from_new_thread(cudaMemPool_t pool, cudaStream_t s)
{
    int *p = nullptr, *q = nullptr, value = 0;
    OK(cudaMallocFromPoolAsync(&p, sizeof *p, pool, s));
    OK(cudaMallocFromPoolAsync(&q, sizeof *q, pool, s));
    OK(cudaMemsetAsync(p, 3, sizeof *p, s));
    std::thread([&] { OK(cudaMemcpyPeerAsync(q, 0, p, 0, sizeof *q, s)); }).join();
    OK(cudaMemcpyAsync(&value, q, sizeof value, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    CHECK_EQ_INT(value, 0x03030303);
    std::thread([&] { // which device is current plays no part either
        OK(cudaFreeAsync(p, s));
        OK(cudaFreeAsync(q, s));
    })
        .join();
    OK(cudaStreamSynchronize(s));
}

int main()
{
    cudaMemPoolProps props = {};
    cudaMemPool_t pool, standard;
    cudaStream_t s;
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    questions();
    OK(cudaMemPoolCreate(&pool, &props));
    OK(cudaDeviceGetDefaultMemPool(&standard, 0));
    OK(cudaStreamCreate(&s));
    pointer(pool, s);
    pointer(standard, s);
    copy_from_new_thread(pool, s);
    OK(cudaStreamDestroy(s));
    OK(cudaMemPoolDestroy(pool));
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    return check_done();
}
