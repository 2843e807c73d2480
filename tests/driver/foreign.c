/* E1, by the driver API: a caller of cuGetExportTable carries NVIDIA's runtime: it is refused with
 * a message that names it; and a module that is not loaded. foreign.sh checks what the process
 * tells at its end. */
#include <cuda.h>
#include <string.h>

#include "check.h"
#include "weir/weir.h"

int main(void)
{
    static const CUuuid id = {{1, 2, 3}};
    const void *table = &id;
    CHECK(cuGetExportTable(NULL, &id) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuGetExportTable(&table, NULL) == CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 2; i++) {
        CHECK(cuGetExportTable(&table, &id) == CUDA_ERROR_NOT_SUPPORTED);
        CHECK(table == NULL);
        CHECK(strstr(weir_last_message(), "carries NVIDIA's CUDA runtime") != NULL);
    }
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CHECK(cuInit(0) == CUDA_SUCCESS);
    CHECK(cuDeviceGet(&device, 0) == CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS);
    CHECK(cuCtxSetCurrent(context) == CUDA_SUCCESS);
    for (int i = 0; i < 2; i++)
        CHECK(cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n.address_size 64\n"
                                        ".visible .entry k() { frobnicate.u32 %r1; }") ==
              CUDA_ERROR_INVALID_PTX);
    return check_done();
}
