/* memory: allocation of all kinds and questions about addresses. */
#include <string.h>
#include <sys/mman.h>

#include "base/base.h"
#include "driver/error/checks.h"
#include "driver/error/site.h"
#include "driver/graph/graph.h"
#include "memory/view.h"
#include "pool/pool.h"

/* The current context, for a call that may wait for everything: captures may forbid it. */
static CUresult unsafe(CUcontext *c)
{
    CUresult r = driver_current(c);
    return r == CUDA_SUCCESS && WEIR_UNLIKELY(capture_running()) ? capture_unsafe() : r;
}

/* The same for a call that frees: no context need be current. */
static CUresult unsafe_freeing(void)
{
    CUresult r = driver_context_freeing(NULL);
    return r == CUDA_SUCCESS && WEIR_UNLIKELY(capture_running()) ? capture_unsafe() : r;
}

/* Waits for what may use the memory that is to be freed: for all work of the context that it was
 * made in, and of the current one. */
static CUresult wait_for_users(const struct mem_info *i)
{
    CUcontext current = driver_thread.current;
    if (current == NULL || i->owner != current->device) {
        CUcontext owner = driver_context_of(i->owner);
        if (owner != NULL)
            CU_TRY(context_wait(owner));
    }
    return current != NULL ? context_wait(current) : CUDA_SUCCESS;
}

enum mem_status memory_alloc(const struct mem_request *q, void **out)
{
    enum mem_status status = mem_alloc(q, out);
    if (status == MEM_OUT_OF_MEMORY && q->device >= 0 && pool_give_back(q->device))
        status = mem_alloc(q, out);
    return status;
}

static CUresult alloc_of_memory(CUcontext c, int device, enum mem_kind kind, uint64_t bytes,
                                uint32_t flags, void **out)
{
    struct mem_request q = {
        .device = device, .kind = kind, .bytes = bytes, .flags = flags, .owner = c->device};
    return driver_from_mem(memory_alloc(&q, out));
}

/* What a pointer was is gone when its allocation fails, whatever the reason: as on a GPU. */
WEIR_API CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
    HOLD;
    CALLED(cuMemAlloc);
    CUcontext c;
    void *p;
    CUresult r = unsafe(&c);
    if (out != NULL)
        *out = 0;
    if (r != CUDA_SUCCESS)
        return r;
    if (out == NULL || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    r = alloc_of_memory(c, c->memory, MEM_DEVICE, bytes, 0, &p);
    if (r == CUDA_SUCCESS)
        *out = (CUdeviceptr)(uintptr_t)p;
    return r;
}

/* The pitch is told even where there is no memory for the rows. */
WEIR_API CUresult cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width, size_t height,
                                     unsigned int element)
{
    HOLD;
    CALLED(cuMemAllocPitch);
    CU_TRY(driver_ready());
    if (out == NULL || pitch == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = 0;
    *pitch = 0;
    if (width == 0 || height == 0 || (element != 4 && element != 8 && element != 16) ||
        width > SIZE_MAX - MEM_ALIGNMENT)
        return CUDA_ERROR_INVALID_VALUE;
    *pitch = (width + MEM_ALIGNMENT - 1) / MEM_ALIGNMENT * MEM_ALIGNMENT;
    size_t bytes = *pitch * height; /* may wrap: to nothing, which is no size, or else too much */
    return bytes != 0 && height > SIZE_MAX / *pitch ? CUDA_ERROR_OUT_OF_MEMORY
                                                    : cuMemAlloc_v2(out, bytes);
}

CUmemoryPool pool_of_memory(const struct mem_info *i)
{
    bool may = i->kind == MEM_POOL || i->kind == MEM_PINNED || i->kind == MEM_MANAGED;
    return may && handle_live(i->user, TAG_POOL) ? i->user : NULL;
}

/* cuMemFree waits for the device, as on a GPU; NULL is nothing to free. */
WEIR_API CUresult cuMemFree_v2(CUdeviceptr at)
{
    HOLD;
    CALLED(cuMemFree);
    CUresult r = unsafe_freeing();
    if (r != CUDA_SUCCESS || at == 0)
        return r;
    /* Of memory of pools the program says that nothing uses it any more. */
    struct mem_site by = mem_site_now();
    if (pool_free_now((void *)(uintptr_t)at, (struct pool_by){by.at, by.call}) == POOL_OK)
        return CUDA_SUCCESS;
    if (graph_memory_free(at, NULL, &r))
        return r;
    bool imported = imported_free((void *)(uintptr_t)at);
    unsigned kinds = imported ? MEM_POOL | MEM_PINNED : MEM_DEVICE | MEM_MANAGED;
    struct mem_info info;
    if (!mem_find((void *)(uintptr_t)at, &info) || info.base != at || (info.kind & kinds) == 0) {
        check_invalid_free((void *)(uintptr_t)at);
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "cuMemFree: 0x%llx is not the start of an allocation of this kind",
                            (unsigned long long)at);
    }
    CU_TRY(wait_for_users(&info));
    return driver_from_mem(mem_free((void *)(uintptr_t)at, kinds));
}

WEIR_API CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned int flags)
{
    HOLD;
    CALLED(cuMemAllocManaged);
    CUcontext c;
    void *p;
    CUresult r = unsafe(&c);
    if (out != NULL)
        *out = 0;
    if (r != CUDA_SUCCESS)
        return r;
    if (out == NULL || bytes == 0 || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    r = alloc_of_memory(c, MEM_HOST, MEM_MANAGED, bytes, flags, &p);
    if (r != CUDA_SUCCESS)
        return r;
    managed_forget((uintptr_t)p, bytes);
    *out = (CUdeviceptr)(uintptr_t)p;
    return r;
}

/* ---- page-locked memory ---- */

WEIR_API CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned int flags)
{
    HOLD;
    CALLED(cuMemHostAlloc);
    CUcontext c;
    CU_TRY(unsafe(&c));
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = NULL;
    if ((flags & ~7u) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes == 0)
        return CUDA_SUCCESS;
    return alloc_of_memory(c, MEM_HOST, MEM_PINNED, bytes, flags, out);
}

WEIR_API CUresult cuMemAllocHost_v2(void **out, size_t bytes)
{
    HOLD;
    CALLED(cuMemAllocHost);
    return cuMemHostAlloc(out, bytes, 0);
}

WEIR_API CUresult cuMemFreeHost(void *p)
{
    HOLD;
    CALLED(cuMemFreeHost);
    CUresult r = unsafe_freeing();
    if (r != CUDA_SUCCESS || p == NULL)
        return r;
    struct mem_info info;
    if (!mem_find(p, &info) || info.kind != MEM_PINNED || pool_of_memory(&info) != NULL) {
        check_invalid_free(p);
        return CUDA_ERROR_INVALID_VALUE;
    }
    CU_TRY(wait_for_users(&info));
    return driver_from_mem(mem_free(p, MEM_PINNED));
}

/* Whether the process has memory at every page of the range. */
static bool mapped(void *p, size_t bytes)
{
    const uintptr_t first = (uintptr_t)p / WEIR_PAGE * WEIR_PAGE, end = (uintptr_t)p + bytes;
    return end > first && msync((void *)first, end - first, MS_ASYNC) == 0;
}

WEIR_API CUresult cuMemHostRegister_v2(void *p, size_t bytes, unsigned int flags)
{
    HOLD;
    CALLED(cuMemHostRegister);
    CUcontext c;
    CU_TRY(unsafe(&c));
    if (p == NULL || bytes == 0 || (flags & ~15u) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "CU_MEMHOSTREGISTER_IOMEMORY is not supported");
    if ((mem_kind_of(p, NULL) & ~MEM_REGISTERED) != 0 || mem_in_device_range(p))
        return CUDA_ERROR_INVALID_VALUE;
    if (!mapped(p, bytes))
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "cuMemHostRegister: not all of the %zu bytes at %p are mapped", bytes,
                            p);
    return driver_from_mem(mem_register(p, bytes, flags, c->device));
}

WEIR_API CUresult cuMemHostUnregister(void *p)
{
    HOLD;
    CALLED(cuMemHostUnregister);
    CU_TRY(unsafe_freeing());
    if (p == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct mem_info i;
    bool found = mem_find(p, &i);
    if (found && (i.kind != MEM_REGISTERED || i.base != (uintptr_t)p))
        return CUDA_ERROR_INVALID_VALUE;
    if (found)
        CU_TRY(wait_for_users(&i)); /* copies may be at it */
    return driver_from_mem(mem_unregister(p));
}

WEIR_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *p, unsigned int flags)
{
    HOLD;
    CUcontext c;
    CU_TRY(driver_current(&c));
    if (out == NULL || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    *out = 0;
    struct mem_info info;
    if (!mem_find(p, &info) || (info.kind & MEM_ON_HOST) == 0 || pool_of_memory(&info) != NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUdeviceptr)(uintptr_t)p;
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuMemHostGetFlags(unsigned int *flags, void *p)
{
    HOLD;
    CUcontext c;
    struct mem_info info;
    CU_TRY(driver_current(&c));
    if (flags == NULL || !mem_find(p, &info) || !(info.kind & (MEM_PINNED | MEM_REGISTERED)) ||
        pool_of_memory(&info) != NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = (info.flags & 7u) | CU_MEMHOSTALLOC_DEVICEMAP; /* all of it is mapped here */
    return CUDA_SUCCESS;
}

/* ---- questions ---- */

WEIR_API CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    HOLD;
    CUcontext c;
    CU_TRY(driver_current(&c));
    uint64_t f, t;
    mem_usage(c->memory, &f, &t);
    if (free_bytes != NULL)
        *free_bytes = f;
    if (total != NULL)
        *total = t;
    return CUDA_SUCCESS;
}

/* The allocation that the program may be told of. */
static bool memory_find(CUdeviceptr at, struct mem_info *info)
{
    return mem_find((void *)(uintptr_t)at, info) && !graph_memory_hides(info);
}

WEIR_API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr at)
{
    HOLD;
    CUcontext c;
    struct mem_info info;
    CU_TRY(driver_current(&c));
    if (!memory_find(at, &info))
        return CUDA_ERROR_NOT_FOUND;
    if (base != NULL)
        *base = info.base;
    if (bytes != NULL)
        *bytes = info.size;
    return CUDA_SUCCESS;
}

/* The device of an address: for memory of the host that of the context that asked for it. */
static int memory_ordinal(const struct mem_info *i)
{
    if (i->device >= 0)
        return driver_device_number(i->device);
    CUmemoryPool pool = pool_of_memory(i);
    if (pool != NULL)
        return pool->props.location.type == CU_MEM_LOCATION_TYPE_DEVICE ? pool->props.location.id
                                                                        : 0;
    CUcontext c = driver_context_of(i->owner);
    return c != NULL ? c->ordinal : 0;
}

bool driver_sees(CUcontext c, const void *address)
{
    uint32_t peers = grid_env_peers(device_context_env(c->device));
    return !mem_foreign(c->memory, peers, (uint64_t)address);
}

/* Whether memory is of a kind that a decompression engine can use, which is asked of devices
 * without one, too: that of cudaMalloc, and of pools of a device that were made for it. */
static bool may_be_decompressed_into(const struct mem_info *i)
{
    CUmemoryPool pool = pool_of_memory(i);
    if (pool == NULL)
        return i->kind == MEM_DEVICE;
    return pool->props.location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
           (pool->props.usage & CU_MEM_POOL_CREATE_USAGE_HW_DECOMPRESS) != 0;
}

/* One attribute of an address into `out`, whose type the attribute fixes. */
static CUresult pointer_attribute(void *out, CUpointer_attribute which, const struct mem_info *i,
                                  CUdeviceptr at)
{
    uint64_t base = i->base, size = i->size;
    bool device = (i->kind & MEM_ON_DEVICE) != 0, managed = i->kind == MEM_MANAGED;
    CUcontext c;
    switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)out = driver_context_of(i->owner); /* pools have none */
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)out = device || managed ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)out = 0;
        CU_TRY(driver_current_any(&c));
        if (!driver_sees(c, (void *)(uintptr_t)at))
            return CUDA_ERROR_INVALID_VALUE;
        *(CUdeviceptr *)out = at;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *(void **)out = device ? NULL : (void *)(uintptr_t)at;
        return device ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: *(unsigned *)out = 0; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)out = i->serial;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned *)out = managed; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)out = memory_ordinal(i); return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(unsigned *)out = i->kind == MEM_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        mem_reservation((void *)(uintptr_t)at, &base, &size);
        *(CUdeviceptr *)out = base;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: /* of what is mapped: the reservation's */
        mem_reservation((void *)(uintptr_t)at, &base, &size);
        *(size_t *)out = size;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED: *(unsigned *)out = 1; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *(unsigned long long *)out = pool_of_memory(i) != NULL
                                         ? (unsigned)pool_of_memory(i)->props.handleTypes
                                         : virtual_handle_types(i);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: *(unsigned *)out = 0; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *(int *)out = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(CUmemoryPool *)out = pool_of_memory(i);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        *(bool *)out = may_be_decompressed_into(i);
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_NOT_SUPPORTED;
    }
}

WEIR_API CUresult cuPointerGetAttribute(void *out, CUpointer_attribute which, CUdeviceptr at)
{
    HOLD;
    struct mem_info info;
    CU_TRY(driver_permitted());
    if (out == NULL || !memory_find(at, &info))
        return CUDA_ERROR_INVALID_VALUE;
    return pointer_attribute(out, which, &info, at);
}

/* Whether kernels may use memory that is not CUDA's. */
static bool kernels_reach(CUdeviceptr at)
{
    const void *address = (void *)(uintptr_t)at;
    return at != 0 && !mem_checked() && !mem_in_device_range(address) &&
           mem_kind_of(address, NULL) == MEM_PAGEABLE;
}

/* All at once: for pageable memory everything reads as zero, without an error, but for the address
 * by which kernels reach it, on a device that does (CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS).
 * Threads without a context may ask, as cuda.core and MPI libraries do. */
WEIR_API CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *which, void **out,
                                         CUdeviceptr at)
{
    HOLD;
    struct mem_info info;
    CUresult r = CUDA_SUCCESS;
    CU_TRY(driver_permitted());
    if (which == NULL || out == NULL || count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    bool found = memory_find(at, &info);
    for (unsigned n = 0; n < count; n++) {
        if (out[n] == NULL)
            return CUDA_ERROR_INVALID_VALUE;
        if (found) {
            r = pointer_attribute(out[n], which[n], &info, at);
            if (r != CUDA_SUCCESS && which[n] != CU_POINTER_ATTRIBUTE_HOST_POINTER &&
                which[n] != CU_POINTER_ATTRIBUTE_DEVICE_POINTER)
                return r;
            continue;
        }
        switch (which[n]) {
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)out[n] = -2; break;
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            *(CUdeviceptr *)out[n] = kernels_reach(at) ? at : 0;
            break;
        case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: *(bool *)out[n] = false; break;
        case CU_POINTER_ATTRIBUTE_CONTEXT:
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: memset(out[n], 0, 8); break;
        default: memset(out[n], 0, 4); break;
        }
    }
    return CUDA_SUCCESS;
}

/* SYNC_MEMOPS is the one that can be set on a GPU. */
WEIR_API CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute which,
                                        CUdeviceptr at)
{
    HOLD;
    struct mem_info info;
    CU_TRY(driver_ready());
    CU_TRY(driver_permitted());
    if (value == NULL || !memory_find(at, &info))
        return CUDA_ERROR_INVALID_VALUE;
    if (which != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return CUDA_ERROR_INVALID_VALUE;
    return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                        "CU_POINTER_ATTRIBUTE_SYNC_MEMOPS is not supported");
}
