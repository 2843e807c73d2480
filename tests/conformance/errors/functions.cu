/* E1: wrong arguments of launches, of what is asked and set of kernels, of occupancy and of
 * libraries. */
#include <cuda.h>

#include "errors.h"

__global__ void nothing(int *) {}
__global__ void __launch_bounds__(64) small(int *) {}
__global__ void uses_shared(int *p)
{
    __shared__ int s[8192];
    s[threadIdx.x] = p ? *p : 0;
    __syncthreads();
    if (p)
        *p = s[threadIdx.x ^ 1];
}
static int not_a_kernel;
static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .global .align 4 .b32 number = 5;\n"
                          ".visible .entry k(.param .u64 p, .param .u32 n) { ret; }\n";

static void launching()
{
    int *p = nullptr;
    void *args[] = {&p};
    const void *f = (const void *)nothing, *none = &not_a_kernel;
    cudaLaunchConfig_t c;
    cudaLaunchAttribute a[2];

    ROW("fine", cudaLaunchKernel(f, dim3(1), dim3(1), args, 0, 0), cudaSuccess);
    ROW("nothing", cudaLaunchKernel((const void *)nullptr, dim3(1), dim3(1), args, 0, 0),
        cudaErrorInvalidDeviceFunction);
    ROW("no kernel", cudaLaunchKernel(none, dim3(1), dim3(1), args, 0, 0),
        cudaErrorInvalidResourceHandle);
    ROW_CRASH("no arguments", cudaLaunchKernel(f, dim3(1), dim3(1), nullptr, 0, 0),
              cudaErrorInvalidValue);
    ROW("grid 0", cudaLaunchKernel(f, dim3(0), dim3(1), args, 0, 0), cudaErrorInvalidValue);
    ROW("grid y 0", cudaLaunchKernel(f, dim3(1, 0), dim3(1), args, 0, 0), cudaErrorInvalidValue);
    ROW("grid x too large", cudaLaunchKernel(f, dim3(0x80000000u), dim3(1), args, 0, 0),
        cudaErrorInvalidValue);
    ROW("grid y too large", cudaLaunchKernel(f, dim3(1, 65536), dim3(1), args, 0, 0),
        cudaErrorInvalidValue);
    ROW("grid z too large", cudaLaunchKernel(f, dim3(1, 1, 65536), dim3(1), args, 0, 0),
        cudaErrorInvalidValue);
    ROW("block 0", cudaLaunchKernel(f, dim3(1), dim3(0), args, 0, 0), cudaErrorInvalidValue);
    ROW("block 1025", cudaLaunchKernel(f, dim3(1), dim3(1025), args, 0, 0), cudaErrorInvalidValue);
    ROW("block 32x33", cudaLaunchKernel(f, dim3(1), dim3(32, 33), args, 0, 0),
        cudaErrorInvalidValue);
    ROW("block z 65", cudaLaunchKernel(f, dim3(1), dim3(1, 1, 65), args, 0, 0),
        cudaErrorInvalidValue);
    ROW("over its launch bounds",
        cudaLaunchKernel((const void *)small, dim3(1), dim3(65), args, 0, 0),
        cudaErrorInvalidValue);
    ROW("shared 48K", cudaLaunchKernel(f, dim3(1), dim3(1), args, 48 << 10, 0), cudaSuccess);
    ROW("shared over 48K", cudaLaunchKernel(f, dim3(1), dim3(1), args, (48 << 10) + 1, 0),
        cudaErrorInvalidValue);
    ROW_UNDEFINED("shared over 4G",
                  cudaLaunchKernel(f, dim3(1), dim3(1), args, ((size_t)1 << 32) + 16, 0),
                  cudaErrorInvalidValue);
    ROW("shared over 48K with its own",
        cudaLaunchKernel((const void *)uses_shared, dim3(1), dim3(1), args, (16 << 10) + 1, 0),
        cudaErrorInvalidValue);
    ROW("fine", cudaLaunchCooperativeKernel(f, dim3(1), dim3(1), args, 0, 0), cudaSuccess);
    ROW("no kernel", cudaLaunchCooperativeKernel(none, dim3(1), dim3(1), args, 0, 0),
        cudaErrorInvalidResourceHandle);
    ROW("nothing", cudaLaunchCooperativeKernel((const void *)nullptr, dim3(1), dim3(1), args, 0, 0),
        cudaErrorInvalidDeviceFunction);
    ROW("block 0", cudaLaunchCooperativeKernel(f, dim3(1), dim3(0), args, 0, 0),
        cudaErrorInvalidValue);
    ROW("too many blocks", cudaLaunchCooperativeKernel(f, dim3(1 << 20), dim3(1), args, 0, 0),
        cudaErrorCooperativeLaunchTooLarge);
    memset(&c, 0, sizeof c);
    memset(a, 0, sizeof a);
    c.gridDim = dim3(1);
    c.blockDim = dim3(1);
    ROW("fine", cudaLaunchKernelExC(&c, f, args), cudaSuccess);
    ROW_CRASH("no configuration", cudaLaunchKernelExC(nullptr, f, args), cudaErrorInvalidValue);
    ROW("nothing", cudaLaunchKernelExC(&c, (const void *)nullptr, args),
        cudaErrorInvalidDeviceFunction);
    ROW("no kernel", cudaLaunchKernelExC(&c, none, args), cudaErrorInvalidResourceHandle);
    c.numAttrs = 1;
    ROW("no attributes", cudaLaunchKernelExC(&c, f, args), cudaErrorInvalidValue);
    c.attrs = a;
    a[0].id = (cudaLaunchAttributeID)99;
    ROW("unknown attribute", cudaLaunchKernelExC(&c, f, args), cudaErrorInvalidValue);
    a[0].id = cudaLaunchAttributeIgnore;
    ROW("ignored attribute", cudaLaunchKernelExC(&c, f, args), cudaSuccess);
    a[0].id = cudaLaunchAttributePriority;
    a[0].val.priority = 1000;
    ROW("priority out of range", cudaLaunchKernelExC(&c, f, args), cudaSuccess);
    c.numAttrs = 0;
    c.blockDim = dim3(2000);
    ROW("block 2000", cudaLaunchKernelExC(&c, f, args), cudaErrorInvalidValue);
}

static void asking()
{
    const void *f = (const void *)nothing, *none = &not_a_kernel, *null = nullptr;
    cudaFuncAttributes attributes;
    const char *name;
    size_t offset, size;
    cudaFunction_t function;
    cudaKernel_t kernel;

    ROW("no answer", cudaFuncGetAttributes(nullptr, f), cudaErrorInvalidValue);
    ROW("nothing", cudaFuncGetAttributes(&attributes, null), cudaErrorInvalidDeviceFunction);
    ROW("no kernel", cudaFuncGetAttributes(&attributes, none), cudaErrorInvalidResourceHandle);
    ROW("unknown", cudaFuncSetAttribute(f, (cudaFuncAttribute)99, 1), cudaErrorInvalidValue);
    ROW("attribute 0", cudaFuncSetAttribute(f, (cudaFuncAttribute)0, 1), cudaErrorInvalidValue);
    ROW("attribute -1", cudaFuncSetAttribute(f, (cudaFuncAttribute)-1, 1), cudaErrorInvalidValue);
    ROW("shared too large",
        cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 30),
        cudaErrorInvalidValue);
    ROW("shared -1", cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, -1),
        cudaErrorInvalidValue);
    ROW("carveout 101",
        cudaFuncSetAttribute(f, cudaFuncAttributePreferredSharedMemoryCarveout, 101),
        cudaErrorInvalidValue);
    ROW("carveout -2", cudaFuncSetAttribute(f, cudaFuncAttributePreferredSharedMemoryCarveout, -2),
        cudaErrorInvalidValue);
    ROW("carveout -1", cudaFuncSetAttribute(f, cudaFuncAttributePreferredSharedMemoryCarveout, -1),
        cudaSuccess);
    ROW("carveout 50", cudaFuncSetAttribute(f, cudaFuncAttributePreferredSharedMemoryCarveout, 50),
        cudaSuccess);
    ROW("nothing", cudaFuncSetAttribute(null, cudaFuncAttributePreferredSharedMemoryCarveout, 50),
        cudaErrorInvalidDeviceFunction);
    ROW("no kernel", cudaFuncSetAttribute(none, cudaFuncAttributePreferredSharedMemoryCarveout, 50),
        cudaErrorInvalidResourceHandle);
    ROW("unknown", cudaFuncSetCacheConfig(f, (cudaFuncCache)9), cudaErrorInvalidValue);
    ROW("nothing", cudaFuncSetCacheConfig(null, cudaFuncCachePreferL1),
        cudaErrorInvalidDeviceFunction);
    ROW("no kernel", cudaFuncSetCacheConfig(none, cudaFuncCachePreferL1),
        cudaErrorInvalidResourceHandle);
    ROW("unknown", cudaFuncSetSharedMemConfig(f, (cudaSharedMemConfig)9), cudaErrorInvalidValue);
    ROW("nothing", cudaFuncSetSharedMemConfig(null, cudaSharedMemBankSizeDefault),
        cudaErrorInvalidDeviceFunction);
    ROW("no answer", cudaFuncGetName(nullptr, f), cudaErrorInvalidValue);
    ROW("nothing", cudaFuncGetName(&name, null), cudaErrorInvalidDeviceFunction);
    ROW("no kernel", cudaFuncGetName(&name, none), cudaErrorInvalidResourceHandle);
    ROW("nothing", cudaFuncGetParamInfo(null, 0, &offset, &size), cudaErrorInvalidDeviceFunction);
    ROW("index past the last", cudaFuncGetParamInfo(f, 1, &offset, &size), cudaErrorInvalidValue);
    ROW("no offset", cudaFuncGetParamInfo(f, 0, nullptr, &size), cudaErrorInvalidValue);
    ROW("no size", cudaFuncGetParamInfo(f, 0, &offset, nullptr), cudaSuccess);
    ROW("no answer", cudaGetFuncBySymbol(nullptr, f), cudaSuccess);
    ROW("nothing", cudaGetFuncBySymbol(&function, null), cudaErrorInvalidDeviceFunction);
    ROW("no kernel", cudaGetFuncBySymbol(&function, none), cudaErrorInvalidDeviceFunction);
    ROW("no answer", cudaGetKernel((cudaKernel_t *)nullptr, f), cudaErrorInvalidValue);
    ROW("nothing", cudaGetKernel(&kernel, null), cudaErrorInvalidDeviceFunction);
    ROW("no kernel", cudaGetKernel(&kernel, none), cudaErrorInvalidDeviceFunction);
}

static void occupancy()
{
    const void *f = (const void *)nothing, *none = &not_a_kernel, *null = nullptr;
    int blocks;
    size_t bytes;
    cudaLaunchConfig_t c;

    memset(&c, 0, sizeof c);
    c.gridDim = dim3(1);
    c.blockDim = dim3(32);
    ROW("no answer", cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, f, 32, 0),
        cudaErrorInvalidValue);
    ROW("nothing", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, null, 32, 0),
        cudaErrorInvalidDeviceFunction);
    ROW("no kernel", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, none, 32, 0),
        cudaErrorInvalidResourceHandle);
    ROW("block 0", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 0, 0),
        cudaErrorInvalidValue);
    ROW("block -1", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, -1, 0),
        cudaErrorInvalidValue);
    ROW("block 4096", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 4096, 0),
        cudaSuccess);
    ROW("shared too large",
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 32, (size_t)1 << 40),
        cudaSuccess);
    ROW("unknown flags",
        cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, f, 32, 0, 8),
        cudaErrorInvalidValue);
    ROW_CRASH("no answer", cudaOccupancyAvailableDynamicSMemPerBlock(nullptr, f, 1, 32),
              cudaErrorInvalidValue);
    ROW("nothing", cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, null, 1, 32),
        cudaErrorInvalidDeviceFunction);
    ROW("blocks 0", cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 0, 32),
        cudaErrorInvalidValue);
    ROW("block 0", cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 1, 0),
        cudaErrorInvalidValue);
    ROW("too many blocks", cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 1000, 32),
        cudaErrorInvalidValue);
    ROW("no answer", cudaOccupancyMaxPotentialClusterSize(nullptr, f, &c), cudaErrorInvalidValue);
    ROW_CRASH("no configuration", cudaOccupancyMaxPotentialClusterSize(&blocks, f, nullptr),
              cudaErrorInvalidValue);
    ROW("nothing", cudaOccupancyMaxPotentialClusterSize(&blocks, null, &c),
        cudaErrorInvalidDeviceFunction);
    ROW("no answer", cudaOccupancyMaxActiveClusters(nullptr, f, &c), cudaErrorInvalidValue);
    ROW_CRASH("no configuration", cudaOccupancyMaxActiveClusters(&blocks, f, nullptr),
              cudaErrorInvalidValue);
}

static void libraries()
{
    cudaLibrary_t lib, out, none = (cudaLibrary_t) nullptr;
    cudaKernel_t kernel = nullptr, list[4];
    void *p;
    size_t bytes;
    unsigned count;

    MUST(cudaLibraryLoadData(&lib, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    MUST(cudaLibraryGetKernel(&kernel, lib, "k"));
    ROW("no answer", cudaLibraryLoadData(nullptr, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0),
        cudaErrorInvalidValue);
    ROW("no code", cudaLibraryLoadData(&out, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0),
        cudaErrorInvalidValue);
    ROW_UNDEFINED(
        "no PTX",
        cudaLibraryLoadData(&out, "hello, world", nullptr, nullptr, 0, nullptr, nullptr, 0),
        cudaErrorInvalidPtx);
    ROW_UNDEFINED("empty text",
                  cudaLibraryLoadData(&out, "", nullptr, nullptr, 0, nullptr, nullptr, 0),
                  cudaErrorInvalidPtx);
    ROW_UNDEFINED("wrong PTX",
                  cudaLibraryLoadData(&out, ".version 7.0\n.target sm_70\nxyzzy\n", nullptr,
                                      nullptr, 0, nullptr, nullptr, 0),
                  cudaErrorInvalidPtx);
    ROW("no options", cudaLibraryLoadData(&out, ptx, nullptr, nullptr, 1, nullptr, nullptr, 0),
        cudaErrorInvalidValue);
    ROW_CRASH("no library options",
              cudaLibraryLoadData(&out, ptx, nullptr, nullptr, 0, nullptr, nullptr, 1),
              cudaErrorInvalidValue);
    ROW("no answer",
        cudaLibraryLoadFromFile(nullptr, "none", nullptr, nullptr, 0, nullptr, nullptr, 0),
        cudaErrorInvalidValue);
    ROW("no name", cudaLibraryLoadFromFile(&out, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0),
        cudaErrorInvalidValue);
    ROW("no such file",
        cudaLibraryLoadFromFile(&out, "/none.ptx", nullptr, nullptr, 0, nullptr, nullptr, 0),
        cudaErrorFileNotFound);
    ROW("nothing", cudaLibraryUnload(none), cudaErrorInvalidResourceHandle);
    ROW("no answer", cudaLibraryGetKernel(nullptr, lib, "k"), cudaErrorInvalidValue);
    ROW("no name", cudaLibraryGetKernel(&kernel, lib, nullptr), cudaErrorInvalidValue);
    ROW("no such kernel", cudaLibraryGetKernel(&kernel, lib, "none"), cudaErrorSymbolNotFound);
    ROW("nothing", cudaLibraryGetKernel(&kernel, none, "k"), cudaErrorInvalidResourceHandle);
    ROW("no name", cudaLibraryGetGlobal(&p, &bytes, lib, nullptr), cudaErrorInvalidValue);
    ROW("no answers", cudaLibraryGetGlobal(nullptr, nullptr, lib, "number"), cudaErrorInvalidValue);
    ROW("no such variable", cudaLibraryGetGlobal(&p, &bytes, lib, "none"), cudaErrorSymbolNotFound);
    ROW("nothing", cudaLibraryGetGlobal(&p, &bytes, none, "number"),
        cudaErrorInvalidResourceHandle);
    ROW("not managed", cudaLibraryGetManaged(&p, &bytes, lib, "number"), cudaErrorSymbolNotFound);
    ROW("no such symbol", cudaLibraryGetUnifiedFunction(&p, lib, "none"), cudaErrorInvalidValue);
    ROW("no answer", cudaLibraryGetKernelCount(nullptr, lib), cudaErrorInvalidValue);
    ROW("nothing", cudaLibraryGetKernelCount(&count, none), cudaErrorInvalidResourceHandle);
    ROW("no answer", cudaLibraryEnumerateKernels(nullptr, 1, lib), cudaErrorInvalidValue);
    ROW("none wanted", cudaLibraryEnumerateKernels(list, 0, lib), cudaSuccess);
    ROW("more than there are", cudaLibraryEnumerateKernels(list, 4, lib), cudaSuccess);
    ROW("no such device",
        cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 50,
                                        99),
        cudaErrorInvalidDevice);
    ROW("unknown", cudaKernelSetAttributeForDevice(kernel, (cudaFuncAttribute)99, 50, 0),
        cudaErrorInvalidValue);
    ROW("nothing",
        cudaKernelSetAttributeForDevice(nullptr, cudaFuncAttributePreferredSharedMemoryCarveout, 50,
                                        0),
        cudaErrorInvalidResourceHandle);
}

static void rows()
{
    launching();
    asking();
    occupancy();
    libraries();
}

ERROR_TABLE_MAIN(rows)
