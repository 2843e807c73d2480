/* pool_ipc: pools of other processes. A pool made for it has its memory in a file (memory/file.h);
 * the descriptor makes the pool known to another process, 64 bytes each of its allocations. An
 * imported pool is a handle without an allocator: what is imported from it is mapped piece by
 * piece.
 *
 * The rules are CUDA's: the process that imports frees first; an imported pool gives no memory out
 * and gives none back; its figures are those of what has been imported. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "driver/objects.h"

_Static_assert(sizeof(CUmemPoolPtrExportData) == sizeof(struct share_handle),
               "the size of handles");

/* ---- giving -------------------------------------------------------------------------------------
 */

WEIR_API CUresult cuMemPoolExportToShareableHandle(void *out, CUmemoryPool h,
                                                   CUmemAllocationHandleType type,
                                                   unsigned long long flags)
{
    CUresult r = driver_ready();
    if (r == CUDA_SUCCESS)
        r = pool_check(h);
    if (r != CUDA_SUCCESS)
        return r;
    if (out == NULL || flags != 0 || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_INVALID_VALUE;
    struct mem_file *f = h->pool != NULL ? pool_file(h->pool) : NULL;
    if (f == NULL)
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "cuMemPoolExportToShareableHandle: the pool was not created with "
                            "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR");
    int fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return driver_error(CUDA_ERROR_OUT_OF_MEMORY,
                            "cuMemPoolExportToShareableHandle: no descriptor is left");
    memcpy(out, &fd, sizeof fd);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *out, CUdeviceptr at)
{
    struct pool_info info;
    uint64_t base, bytes;
    CUresult r = driver_ready();
    if (r != CUDA_SUCCESS)
        return r;
    if (out == NULL || !pool_find((void *)(uintptr_t)at, &info) || pool_file(info.pool) == NULL ||
        !mem_range(info.device, &base, &bytes))
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "cuMemPoolExportPointer: 0x%llx is no memory of a pool that other "
                            "processes can import",
                            (unsigned long long)at);
    struct share_handle h;
    share_handle_make(&h, pool_file(info.pool), info.base - base, info.size, 0, info.serial);
    memcpy(out, &h, sizeof h);
    return CUDA_SUCCESS;
}

/* ---- taking -------------------------------------------------------------------------------------
 */

/* The descriptor stays the caller's. */
WEIR_API CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *out, void *os_handle,
                                                     CUmemAllocationHandleType type,
                                                     unsigned long long flags)
{
    CUresult r = driver_ready();
    if (r != CUDA_SUCCESS)
        return r;
    if (out == NULL || flags != 0 || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_INVALID_VALUE;
    struct mem_file *f = file_from_descriptor((int)(intptr_t)os_handle, FILE_POOL);
    if (f == NULL)
        return driver_error(
            CUDA_ERROR_INVALID_VALUE,
            "cuMemPoolImportFromShareableHandle: descriptor %d is not one of a pool",
            (int)(intptr_t)os_handle);
    CUdevice device = driver_device_number(f->note->device);
    *out = pool_adopt(f, device >= 0 ? device : 0);
    return CUDA_SUCCESS;
}

/* The pointer is freed by cuMemFreeAsync or cuMemFree, once. */
WEIR_API CUresult cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool h,
                                         CUmemPoolPtrExportData *data)
{
    struct share_handle s;
    void *p;
    CUresult r = driver_ready();
    if (r == CUDA_SUCCESS)
        r = pool_check(h);
    if (r != CUDA_SUCCESS)
        return r;
    if (out == NULL || data == NULL || h->imported == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    enum file_status status = share_handle_read(&s, data, FILE_POOL);
    if ((status != FILE_OK && status != FILE_OWN) || s.id != h->imported->note->id)
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "cuMemPoolImportPointer: these bytes name no memory of this pool");
    struct mem_info like = {
        .kind = MEM_POOL, .device = device_ordinal(driver_device(h->ordinal)), .user = h};
    r = driver_from_mem(mem_map_part(h->imported, s.offset, s.bytes, &like, &p));
    if (r == CUDA_SUCCESS) {
        *out = (CUdeviceptr)(uintptr_t)p;
        imported_grown(h);
    }
    return r;
}

/* ---- figures ------------------------------------------------------------------------------------
 */

struct sum {
    CUmemoryPool pool;
    uint64_t used, reserved; /* bytes of its allocations, and of their pages */
};

static bool add_(void *self, const struct mem_info *i)
{
    struct sum *s = self;
    if (i->kind == MEM_POOL && i->user == s->pool) {
        s->used += i->size;
        s->reserved += (i->size + 4095) / 4096 * 4096;
    }
    return true;
}

static struct sum sum_of_(CUmemoryPool h)
{
    struct sum s = {.pool = h};
    mem_visit(MEM_MAPPINGS, add_, &s);
    return s;
}

static void raise_(_Atomic uint64_t *mark, uint64_t to)
{
    uint64_t seen = atomic_load(mark);
    while (seen < to && !atomic_compare_exchange_weak(mark, &seen, to))
        ;
}

void imported_grown(CUmemoryPool h)
{
    struct sum s = sum_of_(h);
    raise_(&h->used_high, s.used);
    raise_(&h->reserved_high, s.reserved);
}

CUresult imported_get(CUmemoryPool h, CUmemPool_attribute which, void *value)
{
    struct sum s = sum_of_(h);
    switch (which) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: *(int *)value = 0; break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: *(cuuint64_t *)value = 0; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: *(cuuint64_t *)value = s.reserved; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: *(cuuint64_t *)value = h->reserved_high; break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *(cuuint64_t *)value = s.used; break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *(cuuint64_t *)value = h->used_high; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult imported_set(CUmemoryPool h, CUmemPool_attribute which, const void *value)
{
    struct sum s = sum_of_(h);
    switch (which) {
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        if (*(const cuuint64_t *)value != 0)
            return CUDA_ERROR_INVALID_VALUE;
        if (which == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
            atomic_store(&h->used_high, s.used);
        else
            atomic_store(&h->reserved_high, s.reserved);
        return CUDA_SUCCESS;
    default:
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "cuMemPoolSetAttribute: an imported pool has no policies");
    }
}

/* ---- the end ------------------------------------------------------------------------------------
 */

struct pointers {
    CUmemoryPool pool;
    void **items;
    size_t count, cap;
};

static bool note_(void *self, const struct mem_info *i)
{
    struct pointers *v = self;
    if (i->kind == MEM_POOL && i->user == v->pool)
        vec_push(v, (void *)(uintptr_t)i->base);
    return true;
}

void imported_clear(CUmemoryPool h)
{
    struct pointers v = {.pool = h};
    mem_visit(MEM_MAPPINGS, note_, &v);
    for (size_t i = 0; i < v.count; i++)
        mem_free(v.items[i], MEM_POOL);
    free(v.items);
}
