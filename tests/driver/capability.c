/* E1, by the driver API: a device of an earlier compute capability (WEIR_COMPUTE_CAPABILITY=8.6):
 * its limits in attributes, functions and occupancy; code for newer GPUs and clusters are refused.
 */
#include "common.h"

static const char empty_kernel[] = ".version 8.0\n.target %s\n.address_size 64\n"
                                   ".visible .entry k()\n{\n    ret;\n}\n";

static int attribute(CUdevice_attribute which)
{
    int value = -1;
    CHECK_CU(cuDeviceGetAttribute(&value, which, 0), CUDA_SUCCESS);
    return value;
}

static void attributes(void)
{
    int major, minor;
    CHECK_CU(cuDeviceComputeCapability(&major, &minor, 0), CUDA_SUCCESS);
    CHECK_EQ_INT(major * 10 + minor, 86);
    CHECK_EQ_INT(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 8);
    CHECK_EQ_INT(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), 6);
    CHECK_EQ_INT(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR), 1536);
    CHECK_EQ_INT(attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR), 16);
    CHECK_EQ_INT(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), 99 << 10);
    CHECK_EQ_INT(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR), 100 << 10);
    CHECK_EQ_INT(attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH), 0);
    CHECK_EQ_INT(attribute(CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED), 0);
    CHECK_EQ_INT(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32);
}

static CUresult load_for(CUmodule *module, const char *target)
{
    char text[sizeof empty_kernel + 16];
    snprintf(text, sizeof text, empty_kernel, target);
    return cuModuleLoadData(module, text);
}

static void modules(void)
{
    CUmodule module;
    CUfunction f;
    int blocks;
    CHECK(load_for(&module, "sm_90") != CUDA_SUCCESS);
    CHECK(strstr(weir_last_message(), "PTX for sm_90; this device is sm_86") != NULL);
    CHECK_CU(load_for(&module, "sm_86"), CUDA_SUCCESS);
    CHECK_CU(cuModuleGetFunction(&f, module, "k"), CUDA_SUCCESS);
    CHECK_CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 1024, 0), CUDA_SUCCESS);
    CHECK_EQ_INT(blocks, 1);
    CHECK_CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 32, 0), CUDA_SUCCESS);
    CHECK_EQ_INT(blocks, 16);
    CUfunction_attribute shared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    CHECK_CU(cuFuncSetAttribute(f, shared, 99 << 10), CUDA_SUCCESS);
    CHECK_CU(cuFuncSetAttribute(f, shared, (99 << 10) + 1), CUDA_ERROR_INVALID_VALUE);
    CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                 .value.clusterDim = {2, 1, 1}};
    CUlaunchConfig c = {.gridDimX = 2,
                        .gridDimY = 1,
                        .gridDimZ = 1,
                        .blockDimX = 32,
                        .blockDimY = 1,
                        .blockDimZ = 1,
                        .attrs = &cluster,
                        .numAttrs = 1};
    CHECK_CU(cuLaunchKernelEx(&c, f, NULL, NULL), CUDA_ERROR_NOT_SUPPORTED);
    c.numAttrs = 0;
    CHECK_CU(cuLaunchKernelEx(&c, f, NULL, NULL), CUDA_SUCCESS);
    CHECK_CU(cuCtxSynchronize(), CUDA_SUCCESS);
    CHECK_CU(cuModuleUnload(module), CUDA_SUCCESS);
}

int main(void)
{
    CUcontext context;
    CHECK_CU(cuInit(0), CUDA_SUCCESS);
    attributes();
    CHECK_CU(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    CHECK_CU(cuCtxSetCurrent(context), CUDA_SUCCESS);
    modules();
    CHECK_CU(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    return check_done();
}
