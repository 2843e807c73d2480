/* E1: functions of the driver taken by name, called through the types of cudaTypedefs.h: each form
 * with the arguments its version had. */
#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include "check.h"

/* What a query by version gives, as the type given. */
template <typename F> static F form(const char *name, unsigned version)
{
    void *found = NULL;
    cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
    CHECK_EQ_INT(
        cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &status),
        cudaSuccess);
    CHECK_EQ_INT(status, cudaDriverEntryPointSuccess);
    CHECK(found != NULL);
    return (F)found;
}

int main(void)
{
    CHECK_EQ_INT(cudaFree(0), cudaSuccess);

    int version = 0, count = 0;
    CHECK_EQ_INT(form<PFN_cuDriverGetVersion_v2020>("cuDriverGetVersion", 12000)(&version), 0);
    CHECK(version >= 12000);
    CHECK_EQ_INT(form<PFN_cuDeviceGetCount_v2000>("cuDeviceGetCount", 12000)(&count), 0);
    CHECK(count >= 1);

    CUdeviceptr memory = 0, base = 0;
    size_t size = 0;
    CHECK_EQ_INT(form<PFN_cuMemAlloc_v3020>("cuMemAlloc", 12000)(&memory, 4096), 0);
    CHECK_EQ_INT(form<PFN_cuMemGetAddressRange_v3020>("cuMemGetAddressRange", 12000)(&base, &size,
                                                                                     memory + 100),
                 0);
    CHECK(base == memory);
    CHECK_EQ_INT(size, 4096);

    /* 8.0's form takes a device, not a place */
    CUdevice device = -1;
    CHECK_EQ_INT(form<PFN_cuCtxGetDevice_v2000>("cuCtxGetDevice", 12000)(&device), 0);
    CUdeviceptr managed = 0;
    CHECK_EQ_INT(form<PFN_cuMemAllocManaged_v6000>("cuMemAllocManaged",
                                                   12000)(&managed, 4096, CU_MEM_ATTACH_GLOBAL),
                 0);
    CHECK_EQ_INT(form<PFN_cuMemAdvise_v8000>("cuMemAdvise", 11000)(
                     managed, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, device),
                 0);

    CUcontext own = NULL, of_stream = NULL;
    CUstream stream = NULL;
    CHECK_EQ_INT(form<PFN_cuCtxGetCurrent_v4000>("cuCtxGetCurrent", 12000)(&own), 0);
    CHECK_EQ_INT(
        form<PFN_cuStreamCreate_v2000>("cuStreamCreate", 12000)(&stream, CU_STREAM_NON_BLOCKING),
        0);
    CHECK_EQ_INT(form<PFN_cuStreamGetCtx_v9020>("cuStreamGetCtx", 12000)(stream, &of_stream), 0);
    CHECK(own != NULL && of_stream == own);
    CHECK_EQ_INT(form<PFN_cuStreamDestroy_v4000>("cuStreamDestroy", 12000)(stream), 0);

    CHECK_EQ_INT(form<PFN_cuMemFree_v3020>("cuMemFree", 12000)(managed), 0);
    CHECK_EQ_INT(form<PFN_cuMemFree_v3020>("cuMemFree", 12000)(memory), 0);
    return check_done();
}
