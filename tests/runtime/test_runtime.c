/* Module runtime: the runtime against a driver that writes down its calls: registration and lazy
 * loading, launches, last errors, which driver function a copy becomes, and what is refused before
 * the driver. */
#include <pthread.h>
#include <string.h>

#include "../../include/cuda_runtime_api.h"
#include "check.h"
#include "mock_driver.h"
#include "runtime/program/offload.h"
#include "runtime/program/registry.h"

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
                       size_t size, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext,
                              size_t size, int constant, int global);
char __cudaInitModule(void **handle);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                               size_t shared, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                                    size_t shared, cudaStream_t stream);
cudaError_t cudaMemcpy_ptds(void *dst, const void *src, size_t n, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync_ptsz(void *dst, const void *src, size_t n, enum cudaMemcpyKind kind,
                                 cudaStream_t stream);
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream);

#define LOG(expected) CHECK_STR(mock_take_log(), expected)
#define OK(call)      CHECK_EQ_INT(call, cudaSuccess)

static struct fat_wrapper wrapper(const void *image)
{
    return (struct fat_wrapper){FAT_WRAPPER_MAGIC, 1, image, NULL};
}

static void add_function(void **handle, const char *host, const char *name)
{
    __cudaRegisterFunction(handle, host, NULL, name, -1, NULL, NULL, NULL, NULL, NULL);
}

static const dim3 one = {1, 1, 1};

/* ---- registration ---- */

static void test_lazy_loading(void)
{
    static struct fat_wrapper w;
    static char host, missing, variable, array[64];
    void **handle, *address;
    int argument = 42;
    void *args[] = {&argument};
    size_t size;

    w = wrapper("image kern var");
    handle = __cudaRegisterFatBinary(&w);
    add_function(handle, &host, "kern");
    add_function(handle, &missing, "nothere");
    __cudaRegisterVar(handle, &variable, NULL, "var", 0, 64, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    OK(cudaFree(NULL));
    LOG("cuMemFree_v2(0) "); /* and nothing is loaded */
    OK(cudaLaunchKernel(&host, (dim3){2, 3, 4}, (dim3){5, 6, 7}, args, 8, (cudaStream_t)0x100));
    LOG("load(image kern var) launch(kern 2,3,4 5,6,7 8 0x100 42) ");
    OK(cudaLaunchKernel(&host, one, one, args, 0, 0));
    LOG("launch(kern 1,1,1 1,1,1 0 (nil) 42) ");
    CHECK_EQ_INT(cudaLaunchKernel(&missing, one, one, args, 0, 0), cudaErrorInvalidDeviceFunction);
    CHECK_EQ_INT(cudaLaunchKernel(&argument, one, one, args, 0, 0), cudaErrorInvalidResourceHandle);
    CHECK_EQ_INT(cudaLaunchKernel(NULL, one, one, args, 0, 0), cudaErrorInvalidDeviceFunction);
    OK(cudaGetSymbolAddress(&address, &variable));
    CHECK_EQ_INT((size_t)address, 0x5000);
    OK(cudaGetSymbolSize(&size, &variable));
    CHECK_EQ_INT(size, 64);
    CHECK_EQ_INT(cudaGetSymbolSize(&size, &argument), cudaErrorInvalidSymbol);
    LOG("");
    OK(cudaMemcpyToSymbol(&variable, array, 32, 32, cudaMemcpyHostToDevice));
    mock_take_log();
    CHECK_EQ_INT(cudaMemcpyToSymbol(&variable, array, 33, 32, cudaMemcpyHostToDevice),
                 cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaMemcpyToSymbol(&variable, array, 1, 0, cudaMemcpyDeviceToHost),
                 cudaErrorInvalidMemcpyDirection);
    CHECK_EQ_INT(cudaMemcpyFromSymbol(array, &variable, 1, 0, cudaMemcpyHostToDevice),
                 cudaErrorInvalidMemcpyDirection);
    /* Each device has its own copy of the module; a reset forgets it. */
    OK(cudaSetDevice(1));
    OK(cudaLaunchKernel(&host, one, one, args, 0, 0));
    LOG("load(image kern var) launch(kern 1,1,1 1,1,1 0 (nil) 42) ");
    OK(cudaSetDevice(0));
    OK(cudaLaunchKernel(&host, one, one, args, 0, 0));
    LOG("launch(kern 1,1,1 1,1,1 0 (nil) 42) ");
    OK(cudaDeviceReset());
    OK(cudaLaunchKernel(&host, one, one, args, 0, 0));
    LOG("cuDevicePrimaryCtxReset_v2(0) cuCtxSynchronize() load(image kern var) launch(kern 1,1,1 "
        "1,1,1 0 (nil) 42) ");
    __cudaUnregisterFatBinary(handle);
    LOG("unload(image kern var) ");
    CHECK_EQ_INT(cudaLaunchKernel(&host, one, one, args, 0, 0), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
}

static void test_loading_fails(void)
{
    static struct fat_wrapper w, bad;
    static char host, other;
    void **handle;

    w = wrapper("broken kern");
    handle = __cudaRegisterFatBinary(&w);
    add_function(handle, &host, "kern");
    mock_fail("cuModuleLoadDataEx", CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK_EQ_INT(cudaLaunchKernel(&host, one, one, NULL, 0, 0), cudaErrorNoKernelImageForDevice);
    CHECK_EQ_INT(cudaPeekAtLastError(), cudaErrorNoKernelImageForDevice);
    mock_take_log();
    /* Not tried again: the same code, no second compilation. */
    CHECK_EQ_INT(cudaLaunchKernel(&host, one, one, NULL, 0, 0), cudaErrorNoKernelImageForDevice);
    LOG("");
    __cudaUnregisterFatBinary(handle);
    bad = (struct fat_wrapper){0x12345678, 1, "x", NULL};
    handle = __cudaRegisterFatBinary(&bad);
    add_function(handle, &other, "x");
    CHECK_EQ_INT(cudaLaunchKernel(&other, one, one, NULL, 0, 0), cudaErrorInvalidKernelImage);
    __cudaUnregisterFatBinary(handle);
    LOG("");
    cudaGetLastError();
}

/* Pieces of relocatable code, as nvcc's wrappers of version 2 and as weircc's start-up object. */
struct piece {
    struct fat_header head;
    char body[24];
};
static const struct piece pieces[2] = {{{FAT_MAGIC, 1, 16, 24}, "first kern "},
                                       {{FAT_MAGIC, 1, 16, 24}, "second var"}};

static void test_relocatable(void)
{
    static const void *list[] = {&pieces[0], &pieces[1], NULL};
    static struct fat_wrapper w;
    static char host, stub, variable, constant;
    static const struct offload_entry entries[] = {
        {&stub, "kern", 0, 0, 0},
        {&variable, "var", 64, 0, 0},
        {&constant, "second", 64, OFFLOAD_CONSTANT, 0},
    };
    void **handle, *address;

    w = (struct fat_wrapper){FAT_WRAPPER_MAGIC, 2, "unused", list};
    handle = __cudaRegisterFatBinary(&w);
    add_function(handle, &host, "kern");
    __cudaRegisterFatBinaryEnd(handle);
    LOG("");
    OK(cudaLaunchKernel(&host, one, one, NULL, 0, 0));
    LOG("load(first kern second var) launch(kern 1,1,1 1,1,1 0 (nil)) ");
    __cudaUnregisterFatBinary(handle);
    mock_take_log();

    /* LLVM aligns entries to one byte, and so may the linker. */
    static struct __attribute__((packed)) {
        char before;
        struct offload_entry entries[3];
    } linked;
    memcpy(linked.entries, entries, sizeof entries);
    __cudaWeirRegisterOffload(pieces, pieces + 2, linked.entries, linked.entries + 3);
    OK(cudaLaunchKernel(&stub, one, one, NULL, 0, 0));
    LOG("load(first kern second var) launch(kern 1,1,1 1,1,1 0 (nil)) ");
    OK(cudaGetSymbolAddress(&address, &variable));
    OK(cudaGetSymbolAddress(&address, &constant));
    __cudaWeirUnregisterOffload(pieces);
    mock_take_log();
    CHECK_EQ_INT(cudaLaunchKernel(&stub, one, one, NULL, 0, 0), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
}

static void test_managed(void)
{
    static struct fat_wrapper w, n;
    static int section[4];
    static void *pointer;
    void **handle, **nvcc, *address;

    /* clang's way: bound to the host's address, loaded at registration. */
    __cudaWeirRegisterManaged(section, section + 4);
    w = wrapper("managed image");
    handle = __cudaRegisterFatBinary(&w);
    __cudaRegisterVar(handle, (char *)&section[1], NULL, "managed", 0, 4, 0, 0);
    LOG("");
    __cudaRegisterFatBinaryEnd(handle);
    LOG("load(managed image bind managed) ");
    __cudaUnregisterFatBinary(handle);
    /* nvcc's way: the program's pointer is set when it first asks. */
    n = wrapper("nvcc managed");
    nvcc = __cudaRegisterFatBinary(&n);
    __cudaRegisterManagedVar(nvcc, &pointer, NULL, "managed", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(nvcc);
    mock_take_log();
    CHECK(__cudaInitModule(nvcc));
    LOG("load(nvcc managed) ");
    CHECK_EQ_INT((size_t)pointer, 0x5000);
    /* its name in the program means its memory */
    CHECK_EQ_INT(cudaGetSymbolAddress(&address, pointer), cudaSuccess);
    CHECK(address == pointer);
    CHECK_EQ_INT(cudaGetSymbolAddress(&address, (char *)pointer + 1), cudaErrorInvalidSymbol);
    __cudaUnregisterFatBinary(nvcc);
    mock_take_log();
}

/* Look-ups while other threads' libraries come and go. */
static void *look_up(void *host)
{
    cudaKernel_t kernel;

    for (int i = 0; i < 20000; i++)
        if (cudaGetKernel(&kernel, host) != cudaSuccess)
            return host;
    return NULL;
}

/* A library that was closed, and another in its place. */
static void test_managed_again(void)
{
    static int place[8];
    const char *begin, *end;

    __cudaWeirRegisterManaged(place, place + 8);
    __cudaWeirRegisterManaged(place + 2, place + 4);
    CHECK(rt_managed_section(place + 3, &begin, &end));
    CHECK(begin == (char *)(place + 2) && end == (char *)(place + 4));
    CHECK(!rt_in_managed_section(place) && !rt_in_managed_section(place + 5));
}

static void test_concurrent(void)
{
    static struct fat_wrapper w;
    static char host, others[1000];
    pthread_t threads[4];
    void **handle, **second, *failed;

    w = wrapper("kern");
    handle = __cudaRegisterFatBinary(&w);
    add_function(handle, &host, "kern");
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, look_up, &host);
    for (int round = 0; round < 20; round++) {
        second = __cudaRegisterFatBinary(&w);
        for (int i = 0; i < 1000; i++)
            add_function(second, &others[i], "kern");
        __cudaUnregisterFatBinary(second);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &failed);
        CHECK(failed == NULL);
    }
    __cudaUnregisterFatBinary(handle);
    mock_take_log();
}

/* ---- launches ---- */

static void test_launches(void)
{
    static struct fat_wrapper w;
    static char host;
    void **handle;
    cudaKernel_t kernel;
    cudaStream_t stream;
    dim3 grid, block;
    size_t shared;

    w = wrapper("kern");
    handle = __cudaRegisterFatBinary(&w);
    add_function(handle, &host, "kern");
    OK(__cudaGetKernel(&kernel, &host));
    LOG("");
    OK(__cudaLaunchKernel(kernel, one, one, NULL, 0, 0));
    LOG("load(kern) launch(kern 1,1,1 1,1,1 0 (nil)) ");
    OK(__cudaLaunchKernel_ptsz(kernel, one, one, NULL, 0, 0));
    LOG("launch(kern 1,1,1 1,1,1 0 0x2) ");
    OK(__cudaLaunchKernel_ptsz(kernel, one, one, NULL, 0, cudaStreamLegacy));
    LOG("launch(kern 1,1,1 1,1,1 0 0x1) ");
    /* A shape that no device has. */
    CHECK_EQ_INT(cudaLaunchKernel(&host, (dim3){0, 1, 1}, one, NULL, 0, 0), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaLaunchKernel(&host, one, (dim3){1025, 1, 1}, NULL, 0, 0),
                 cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaLaunchKernel(&host, one, (dim3){64, 64, 1}, NULL, 0, 0),
                 cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaLaunchKernel(&host, (dim3){1, 65536, 1}, one, NULL, 0, 0),
                 cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaLaunchKernel(&host, one, one, NULL, (size_t)1 << 33, 0),
                 cudaErrorInvalidValue);
    LOG("");
    /* Configurations nest: arguments of a launch may launch. */
    CHECK_EQ_INT(__cudaPushCallConfiguration((dim3){2, 1, 1}, one, 3, (cudaStream_t)4), 0);
    CHECK_EQ_INT(__cudaPushCallConfiguration((dim3){9, 1, 1}, one, 0, 0), 0);
    OK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    CHECK_EQ_INT(grid.x, 9);
    OK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    CHECK(grid.x == 2 && shared == 3 && stream == (cudaStream_t)4);
    CHECK_EQ_INT(__cudaPopCallConfiguration(&grid, &block, &shared, &stream),
                 cudaErrorMissingConfiguration);
    __cudaUnregisterFatBinary(handle);
    mock_take_log();
    cudaGetLastError();
}

/* ---- errors ---- */

static void *other_thread(void *unused)
{
    (void)unused;
    CHECK_EQ_INT(cudaPeekAtLastError(), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc(NULL, 4), cudaErrorInvalidValue);
    return NULL;
}

static void test_errors(void)
{
    pthread_t thread;
    void *ptr;

    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    mock_fail("cuMemAlloc_v2", CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_EQ_INT(cudaMalloc(&ptr, 4), cudaErrorMemoryAllocation);
    OK(cudaMalloc(&ptr, 4)); /* success does not clear */
    CHECK_EQ_INT(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
    pthread_create(&thread, NULL, other_thread, NULL);
    pthread_join(thread, NULL);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorMemoryAllocation);
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    mock_fail("cuStreamQuery", CUDA_ERROR_NOT_READY);
    CHECK_EQ_INT(cudaStreamQuery(0), cudaErrorNotReady);
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    mock_fail("cuMemAlloc_v2", (CUresult)12345);
    CHECK_EQ_INT(cudaMalloc(&ptr, 4), cudaErrorUnknown);
    cudaGetLastError();
    /* What this driver lacks, and what this runtime refuses. */
    CHECK_EQ_INT(cudaDeviceSetLimit(cudaLimitStackSize, 1), cudaErrorCallRequiresNewerDriver);
    CHECK_EQ_INT(cudaImportExternalMemory(NULL, NULL), cudaErrorNotSupported);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorNotSupported);
    CHECK_STR(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress");
    CHECK_STR(cudaGetErrorString(cudaErrorIllegalAddress),
              "an illegal memory access was encountered");
    CHECK_STR(cudaGetErrorString(cudaSuccess), "no error");
    CHECK_STR(cudaGetErrorName((cudaError_t)11), "unrecognized error code");
    CHECK_EQ_INT(cudaSetDevice(2), cudaErrorInvalidDevice);
    CHECK_EQ_INT(cudaSetDevice(-1), cudaErrorInvalidDevice);
    CHECK_EQ_INT(cudaStreamDestroy(0), cudaErrorInvalidResourceHandle);
    CHECK_EQ_INT(cudaEventRecord(NULL, 0), cudaErrorInvalidResourceHandle);
    CHECK_EQ_INT(cudaEventQuery(NULL), cudaErrorInvalidResourceHandle);
    mock_take_log();
    cudaGetLastError();
}

/* ---- copies and sets ---- */

static void test_copies(void)
{
    void *const a = (void *)0x10, *const b = (void *)0x20;

    OK(cudaMemcpy(a, b, 4, cudaMemcpyHostToDevice));
    LOG("cuMemcpyHtoD_v2(10, 0x20, 4) ");
    OK(cudaMemcpy(a, b, 4, cudaMemcpyDeviceToHost));
    LOG("cuMemcpyDtoH_v2(0x10, 20, 4) ");
    OK(cudaMemcpy(a, b, 4, cudaMemcpyDeviceToDevice));
    LOG("cuMemcpyDtoD_v2(10, 20, 4) ");
    OK(cudaMemcpy(a, b, 4, cudaMemcpyDefault));
    LOG("cuMemcpy(10, 20, 4) ");
    OK(cudaMemcpyAsync(a, b, 4, cudaMemcpyHostToDevice, 0));
    LOG("cuMemcpyHtoDAsync_v2(10, 0x20, 4, (nil)) ");
    OK(cudaMemcpyAsync_ptsz(a, b, 4, cudaMemcpyDeviceToHost, 0));
    LOG("cuMemcpyDtoHAsync_v2(0x10, 20, 4, 0x2) ");
    OK(cudaMemcpy_ptds(a, b, 4, cudaMemcpyHostToDevice));
    LOG("cuMemcpyHtoDAsync_v2(10, 0x20, 4, 0x2) cuStreamSynchronize(0x2) ");
    OK(cudaMemcpy_ptds(a, b, 4, cudaMemcpyDeviceToDevice));
    LOG("cuMemcpyDtoDAsync_v2(10, 20, 4, 0x2) ");
    OK(cudaStreamSynchronize_ptsz(0));
    LOG("cuStreamSynchronize(0x2) ");
    OK(cudaMemcpy(NULL, NULL, 0, cudaMemcpyHostToDevice));
    CHECK_EQ_INT(cudaMemcpy(a, NULL, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaMemcpy(a, b, 4, (enum cudaMemcpyKind)5), cudaErrorInvalidMemcpyDirection);
    CHECK_EQ_INT(cudaMemcpy(a, b, 4, (enum cudaMemcpyKind) - 1), cudaErrorInvalidMemcpyDirection);
    CHECK_EQ_INT(cudaMemcpy2D(a, 3, b, 8, 4, 2, cudaMemcpyHostToDevice),
                 cudaErrorInvalidPitchValue);
    LOG("");
    OK(cudaMemcpy2D(a, 16, b, 8, 4, 2, cudaMemcpyHostToDevice));
    LOG("box(4 x 2 x 1, 1+0,0,0/8 -> 2+0,0,0/16) ");
    OK(cudaMemset(a, 0x1ff, 4));
    LOG("cuMemsetD8_v2(10, 255, 4) ");
    OK(cudaMemset3D((struct cudaPitchedPtr){a, 16, 16, 4}, 1, (struct cudaExtent){8, 4, 3}));
    LOG("cuMemsetD2D8_v2(10, 16, 1, 8, 12) ");
    OK(cudaMemset3D((struct cudaPitchedPtr){a, 16, 16, 4}, 1, (struct cudaExtent){8, 2, 2}));
    LOG("cuMemsetD2D8_v2(10, 16, 1, 8, 2) cuMemsetD2D8_v2(50, 16, 1, 8, 2) ");
    cudaGetLastError();
}

static void test_array_copies(void)
{
    const cudaArray_t array = (cudaArray_t)0x77;
    void *const host = (void *)0x20;
    struct cudaMemcpy3DParms p = {
        .srcPtr = {host, 32, 8, 4},
        .dstArray = array,
        .dstPos = {1, 2, 0},
        .extent = {3, 2, 1},
        .kind = cudaMemcpyHostToDevice,
    };

    /* Extents and array positions count elements. */
    OK(cudaMemcpy3D(&p));
    LOG("box(12 x 2 x 1, 1+0,0,0/32 -> 3+4,2,0/0) ");
    p.kind = cudaMemcpyDeviceToHost;
    CHECK_EQ_INT(cudaMemcpy3D(&p), cudaErrorInvalidValue);
    p.kind = cudaMemcpyHostToDevice;
    p.srcArray = array;
    CHECK_EQ_INT(cudaMemcpy3D(&p), cudaErrorInvalidValue);
    LOG("");
    /* A run of bytes from the middle of a row: its rest, whole rows, the beginning of the last. */
    OK(cudaMemcpyToArray(array, 8, 0, host, 24 + 32 + 4, cudaMemcpyHostToDevice));
    LOG("box(24 x 1 x 1, 1+0,0,0/24 -> 3+8,0,0/0) box(32 x 1 x 1, 1+0,0,0/32 -> 3+0,1,0/0) "
        "box(4 x 1 x 1, 1+0,0,0/4 -> 3+0,2,0/0) ");
    cudaGetLastError();
}

int main(void)
{
    test_lazy_loading();
    test_loading_fails();
    test_relocatable();
    test_managed();
    test_managed_again();
    test_concurrent();
    test_launches();
    test_errors();
    test_copies();
    test_array_copies();
    return check_done();
}
