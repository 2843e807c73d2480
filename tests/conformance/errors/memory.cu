/* E1: wrong arguments of the functions that allocate, free, register and describe memory, and of
 * those for managed memory. Copies and sets are in copies. */
#include "errors.h"

__device__ int variable[16];
static int not_a_variable;
static char text[8192];

static void *freed(bool host)
{
    void *p;
    if (host) {
        MUST(cudaMallocHost(&p, 4096));
        MUST(cudaFreeHost(p));
    } else {
        MUST(cudaMalloc(&p, 4096));
        MUST(cudaFree(p));
    }
    return p;
}

static void allocating()
{
    void *p;
    size_t pitch;
    cudaPitchedPtr volume;

    ROW("no pointer", cudaMalloc((void **)nullptr, 4), cudaErrorInvalidValue);
    ROW("size 0", cudaMalloc(&p, 0), cudaSuccess);
    ROW("more than there is", cudaMalloc(&p, (size_t)1 << 50), cudaErrorMemoryAllocation);
    ROW("half the address space", cudaMalloc(&p, ~(size_t)0 >> 1), cudaErrorMemoryAllocation);
    ROW("all of the address space", cudaMalloc(&p, ~(size_t)0), cudaErrorMemoryAllocation);
    ROW("no pointer", cudaMallocPitch((void **)nullptr, &pitch, 4, 4), cudaErrorInvalidValue);
    ROW("no pitch", cudaMallocPitch(&p, (size_t *)nullptr, 4, 4), cudaErrorInvalidValue);
    ROW("width 0", cudaMallocPitch(&p, &pitch, 0, 4), cudaSuccess);
    ROW("height 0", cudaMallocPitch(&p, &pitch, 4, 0), cudaSuccess);
    ROW("more than there is", cudaMallocPitch(&p, &pitch, 1 << 20, (size_t)1 << 30),
        cudaErrorMemoryAllocation);
    ROW("width over the limit", cudaMallocPitch(&p, &pitch, (size_t)1 << 32, 1), cudaSuccess);
    ROW("product wraps", cudaMallocPitch(&p, &pitch, 1 << 20, (size_t)1 << 45),
        cudaErrorInvalidValue);
    ROW("no pointer", cudaMalloc3D(nullptr, make_cudaExtent(4, 4, 4)), cudaErrorInvalidValue);
    ROW("width 0", cudaMalloc3D(&volume, make_cudaExtent(0, 4, 4)), cudaSuccess);
    ROW("depth 0", cudaMalloc3D(&volume, make_cudaExtent(4, 4, 0)), cudaSuccess);
    ROW("more than there is", cudaMalloc3D(&volume, make_cudaExtent(1 << 20, 1 << 20, 1 << 20)),
        cudaErrorMemoryAllocation);
    ROW_UNDEFINED("product wraps",
                  cudaMalloc3D(&volume, make_cudaExtent(16, (size_t)1 << 40, (size_t)1 << 40)),
                  cudaErrorMemoryAllocation);
    ROW("no pointer", cudaMallocHost((void **)nullptr, 4), cudaErrorInvalidValue);
    ROW("size 0", cudaMallocHost(&p, 0), cudaSuccess);
    ROW("more than there is", cudaMallocHost(&p, (size_t)1 << 50), cudaErrorMemoryAllocation);
    ROW("no pointer", cudaHostAlloc((void **)nullptr, 4, 0), cudaErrorInvalidValue);
    ROW("unknown flags", cudaHostAlloc(&p, 4, 0x100), cudaErrorInvalidValue);
    ROW("flag 8", cudaHostAlloc(&p, 4, 8), cudaErrorInvalidValue);
    ROW("size 0", cudaHostAlloc(&p, 0, 0), cudaSuccess);
    ROW("size 0, unknown flags", cudaHostAlloc(&p, 0, 0x100), cudaSuccess);
    ROW("no pointer", cudaMallocManaged((void **)nullptr, 4), cudaErrorInvalidValue);
    ROW("size 0", cudaMallocManaged(&p, 0), cudaSuccess);
    ROW("flags 0", cudaMallocManaged(&p, 4, 0), cudaErrorInvalidValue);
    ROW("single", cudaMallocManaged(&p, 4, cudaMemAttachSingle), cudaErrorInvalidValue);
    ROW("two flags", cudaMallocManaged(&p, 4, 3), cudaErrorInvalidValue);
    ROW("unknown flags", cudaMallocManaged(&p, 4, 8), cudaErrorInvalidValue);
    ROW("more than an address space", cudaMallocManaged(&p, (size_t)1 << 60),
        cudaErrorMemoryAllocation);
}

static void freeing()
{
    void *device, *host, *managed;

    MUST(cudaMalloc(&device, 4096));
    MUST(cudaMallocHost(&host, 4096));
    MUST(cudaMallocManaged(&managed, 4096));
    ROW("nothing", cudaFree(nullptr), cudaSuccess);
    ROW("inside", cudaFree((char *)device + 16), cudaErrorInvalidValue);
    ROW("freed", cudaFree(freed(false)), cudaErrorInvalidValue);
    ROW("stack", cudaFree(&device), cudaErrorInvalidValue);
    ROW("page-locked", cudaFree(host), cudaErrorInvalidValue);
    ROW("inside managed", cudaFree((char *)managed + 16), cudaErrorInvalidValue);
    ROW("no address", cudaFree((void *)16), cudaErrorInvalidValue);
    ROW("nothing", cudaFreeHost(nullptr), cudaSuccess);
    ROW("inside", cudaFreeHost((char *)host + 16), cudaErrorInvalidValue);
    ROW("freed", cudaFreeHost(freed(true)), cudaErrorInvalidValue);
    ROW("stack", cudaFreeHost(&device), cudaErrorInvalidValue);
    ROW("device memory", cudaFreeHost(device), cudaErrorInvalidValue);
    ROW("managed", cudaFreeHost(managed), cudaErrorInvalidValue);
}

static void registering()
{
    void *host, *device, *out;
    unsigned flags;
    char *page = (char *)aligned_alloc(4096, 16384);

    MUST(cudaMallocHost(&host, 4096));
    MUST(cudaMalloc(&device, 4096));
    MUST(cudaHostRegister(page, 8192, 0));
    ROW("nothing", cudaHostRegister(nullptr, 4, 0), cudaErrorInvalidValue);
    ROW("size 0", cudaHostRegister(text, 0, 0), cudaErrorInvalidValue);
    ROW("unknown flags", cudaHostRegister(text, 64, 0x100), cudaErrorInvalidValue);
    ROW("twice", cudaHostRegister(page, 8192, 0), cudaErrorHostMemoryAlreadyRegistered);
    ROW("overlapping", cudaHostRegister(page + 4096, 8192, 0),
        cudaErrorHostMemoryAlreadyRegistered);
    ROW("inside", cudaHostRegister(page + 4096, 64, 0), cudaErrorHostMemoryAlreadyRegistered);
    ROW("page-locked", cudaHostRegister(host, 64, 0), cudaErrorInvalidValue);
    ROW("device memory", cudaHostRegister(device, 64, 0), cudaErrorInvalidValue);
    ROW("no address", cudaHostRegister((void *)4096, 4096, 0), cudaErrorInvalidValue);
    ROW("wraps", cudaHostRegister(text, ~(size_t)0 - 4096, 0), cudaErrorInvalidValue);
    ROW("nothing", cudaHostUnregister(nullptr), cudaErrorInvalidValue);
    ROW("never registered", cudaHostUnregister(text), cudaErrorHostMemoryNotRegistered);
    ROW("inside", cudaHostUnregister(page + 64), cudaErrorInvalidValue);
    ROW("page-locked", cudaHostUnregister(host), cudaErrorInvalidValue);
    ROW("device memory", cudaHostUnregister(device), cudaErrorInvalidValue);
    ROW("registered", cudaFreeHost(page), cudaErrorInvalidValue);
    ROW("no answer", cudaHostGetDevicePointer((void **)nullptr, host, 0), cudaErrorInvalidValue);
    ROW("nothing", cudaHostGetDevicePointer(&out, nullptr, 0), cudaErrorInvalidValue);
    ROW("flags 1", cudaHostGetDevicePointer(&out, host, 1), cudaErrorInvalidValue);
    ROW("stack", cudaHostGetDevicePointer(&out, &out, 0), cudaErrorInvalidValue);
    ROW("device memory", cudaHostGetDevicePointer(&out, device, 0), cudaErrorInvalidValue);
    ROW("inside", cudaHostGetDevicePointer(&out, (char *)host + 16, 0), cudaSuccess);
    ROW("no answer", cudaHostGetFlags(nullptr, host), cudaErrorInvalidValue);
    ROW("nothing", cudaHostGetFlags(&flags, nullptr), cudaErrorInvalidValue);
    ROW("stack", cudaHostGetFlags(&flags, &out), cudaErrorInvalidValue);
    ROW("device memory", cudaHostGetFlags(&flags, device), cudaErrorInvalidValue);
    ROW("inside", cudaHostGetFlags(&flags, (char *)host + 16), cudaSuccess);
    ROW("registered", cudaHostGetFlags(&flags, page), cudaSuccess);
}

static void asking()
{
    void *p;
    size_t bytes;
    cudaPointerAttributes attributes;

    ROW("no answer", cudaPointerGetAttributes(nullptr, text), cudaErrorInvalidValue);
    ROW("nothing", cudaPointerGetAttributes(&attributes, nullptr), cudaSuccess);
    ROW("stack", cudaPointerGetAttributes(&attributes, &p), cudaSuccess);
    ROW("freed", cudaPointerGetAttributes(&attributes, freed(false)), cudaSuccess);
    ROW("no answers", cudaMemGetInfo(nullptr, nullptr), cudaSuccess);
    ROW("no free", cudaMemGetInfo(nullptr, &bytes), cudaSuccess);
    ROW_CRASH("no answer", cudaGetSymbolAddress((void **)nullptr, variable), cudaErrorInvalidValue);
    ROW("nothing", cudaGetSymbolAddress(&p, (const void *)nullptr), cudaErrorInvalidSymbol);
    ROW("no symbol", cudaGetSymbolAddress(&p, (const void *)&not_a_variable),
        cudaErrorInvalidSymbol);
    ROW("inside", cudaGetSymbolAddress(&p, (const void *)(variable + 1)), cudaErrorInvalidSymbol);
    ROW_CRASH("no answer", cudaGetSymbolSize(nullptr, variable), cudaErrorInvalidValue);
    ROW("nothing", cudaGetSymbolSize(&bytes, (const void *)nullptr), cudaErrorInvalidSymbol);
    ROW("no symbol", cudaGetSymbolSize(&bytes, (const void *)&not_a_variable),
        cudaErrorInvalidSymbol);
}

#if CUDART_VERSION >= 13000
static void managed()
{
    void *p, *device;
    int n = 0, value, wide[4];
    cudaMemLocation here = {cudaMemLocationTypeDevice, 0}, far = {cudaMemLocationTypeDevice, 99},
                    cpu = {cudaMemLocationTypeHost, 0}, none = {(cudaMemLocationType)77, 0},
                    node = {cudaMemLocationTypeHostNuma, 9999};
    cudaMemRangeAttribute preferred = cudaMemRangeAttributePreferredLocation;
    void *datas[] = {&value};
    size_t sizes[] = {4};

    MUST(cudaGetDeviceCount(&n));
    MUST(cudaMallocManaged(&p, 65536));
    MUST(cudaMalloc(&device, 4096));
    ROW("nothing", cudaMemPrefetchAsync(nullptr, 4, here, 0), cudaErrorInvalidValue);
    ROW("count 0", cudaMemPrefetchAsync(p, 0, here, 0), cudaErrorInvalidValue);
    ROW("past the end", cudaMemPrefetchAsync(p, 65537, here, 0), cudaErrorInvalidValue);
    ROW("flags 1", cudaMemPrefetchAsync(p, 64, here, 1), cudaErrorInvalidValue);
    ROW("no such device", cudaMemPrefetchAsync(p, 64, far, 0), cudaErrorInvalidDevice);
    ROW("no such place", cudaMemPrefetchAsync(p, 64, none, 0), cudaErrorInvalidValue);
    ROW("no such node", cudaMemPrefetchAsync(p, 64, node, 0), cudaErrorInvalidValue);
    ROW("device memory", cudaMemPrefetchAsync(device, 64, here, 0), cudaErrorInvalidValue);
    ROW("to the host", cudaMemPrefetchAsync(p, 64, cpu, 0), cudaSuccess);
    ROW("nothing", cudaMemAdvise(nullptr, 4, cudaMemAdviseSetReadMostly, here),
        cudaErrorInvalidValue);
    ROW("count 0", cudaMemAdvise(p, 0, cudaMemAdviseSetReadMostly, here), cudaErrorInvalidValue);
    ROW("past the end", cudaMemAdvise(p, 65537, cudaMemAdviseSetReadMostly, here),
        cudaErrorInvalidValue);
    ROW("unknown advice", cudaMemAdvise(p, 64, (cudaMemoryAdvise)77, here), cudaErrorInvalidValue);
    ROW("advice 0", cudaMemAdvise(p, 64, (cudaMemoryAdvise)0, here), cudaErrorInvalidValue);
    ROW("no such device", cudaMemAdvise(p, 64, cudaMemAdviseSetPreferredLocation, far),
        cudaErrorInvalidValue);
    ROW("no such place", cudaMemAdvise(p, 64, cudaMemAdviseSetPreferredLocation, none),
        cudaErrorInvalidValue);
    ROW("no such device, unused", cudaMemAdvise(p, 64, cudaMemAdviseSetReadMostly, far),
        cudaSuccess);
    ROW("device memory", cudaMemAdvise(device, 64, cudaMemAdviseSetReadMostly, here),
        cudaErrorInvalidValue);
    ROW("no answer", cudaMemRangeGetAttribute(nullptr, 4, preferred, p, 64), cudaErrorInvalidValue);
    ROW("nothing", cudaMemRangeGetAttribute(&value, 4, preferred, nullptr, 64),
        cudaErrorInvalidValue);
    ROW("count 0", cudaMemRangeGetAttribute(&value, 4, preferred, p, 0), cudaErrorInvalidValue);
    ROW("past the end", cudaMemRangeGetAttribute(&value, 4, preferred, p, 65537),
        cudaErrorInvalidValue);
    ROW("size 3", cudaMemRangeGetAttribute(&value, 3, preferred, p, 64), cudaErrorInvalidValue);
    ROW("size 8", cudaMemRangeGetAttribute(wide, 8, preferred, p, 64), cudaErrorInvalidValue);
    ROW("list of size 6", cudaMemRangeGetAttribute(wide, 6, cudaMemRangeAttributeAccessedBy, p, 64),
        cudaErrorInvalidValue);
    ROW("unknown", cudaMemRangeGetAttribute(&value, 4, (cudaMemRangeAttribute)77, p, 64),
        cudaErrorInvalidValue);
    ROW("device memory", cudaMemRangeGetAttribute(&value, 4, preferred, device, 64),
        cudaErrorInvalidValue);
    ROW("fine", cudaMemRangeGetAttribute(&value, 4, preferred, p, 64), cudaSuccess);
    ROW("no answers", cudaMemRangeGetAttributes(nullptr, sizes, &preferred, 1, p, 64),
        cudaErrorInvalidValue);
    ROW("no sizes", cudaMemRangeGetAttributes(datas, nullptr, &preferred, 1, p, 64),
        cudaErrorInvalidValue);
    ROW("no names", cudaMemRangeGetAttributes(datas, sizes, nullptr, 1, p, 64),
        cudaErrorInvalidValue);
    ROW("none", cudaMemRangeGetAttributes(datas, sizes, &preferred, 0, p, 64),
        cudaErrorInvalidValue);
    ROW("fine", cudaMemRangeGetAttributes(datas, sizes, &preferred, 1, p, 64), cudaSuccess);
}
#endif

static void rows()
{
    allocating();
    freeing();
    registering();
    asking();
#if CUDART_VERSION >= 13000
    managed();
#endif
}

ERROR_TABLE_MAIN(rows)
