/* pool/ipc: pools of other processes. A pool made for it has its memory in a file (memory/file.h);
 * the descriptor makes the pool known to another process, 64 bytes each of its allocations. An
 * imported pool is a handle without an allocator: what is imported from it is mapped piece by
 * piece.
 *
 * The rules are CUDA's: the process that imports frees first; an imported pool gives no memory out
 * and has neither policies nor statistics. */
#include <fcntl.h>
#include <string.h>

#include "base/descriptor.h"
#include "driver/objects.h"

_Static_assert(sizeof(CUmemPoolPtrExportData) == sizeof(struct share_handle),
               "the size of handles");

/* ---- giving ---- */

WEIR_API CUresult cuMemPoolExportToShareableHandle(void *out, CUmemoryPool h,
                                                   CUmemAllocationHandleType type,
                                                   unsigned long long flags)
{
    HOLD;
    CU_TRY(driver_ready());
    CU_TRY(pool_check(h));
    if (out == NULL || flags != 0 || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_INVALID_VALUE;
    struct mem_file *f = h->pool != NULL ? pool_file(h->pool) : NULL;
    if (f == NULL)
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "cuMemPoolExportToShareableHandle: the pool was not created with "
                            "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR");
    int fd = descriptor_copy(f->fd);
    if (fd < 0)
        return driver_error(CUDA_ERROR_OUT_OF_MEMORY,
                            "cuMemPoolExportToShareableHandle: no descriptor is left");
    memcpy(out, &fd, sizeof fd);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *out, CUdeviceptr at)
{
    HOLD;
    struct pool_info info;
    uint64_t base, bytes;
    CU_TRY(driver_ready());
    if (out == NULL || !pool_find((void *)(uintptr_t)at, &info) || info.base != at ||
        pool_file(info.pool) == NULL || !mem_range(info.device, &base, &bytes))
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "cuMemPoolExportPointer: 0x%llx is not the start of memory of a "
                            "pool that other processes can import",
                            (unsigned long long)at);
    struct share_handle h;
    share_handle_make(&h, pool_file(info.pool), info.base - base, info.size, 0, info.serial);
    memcpy(out, &h, sizeof h);
    return CUDA_SUCCESS;
}

/* ---- taking ---- */

/* The descriptor stays the caller's. The same pool is the same handle, which counts. */
WEIR_API CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *out, void *os_handle,
                                                     CUmemAllocationHandleType type,
                                                     unsigned long long flags)
{
    HOLD;
    CU_TRY(driver_ready());
    if (out == NULL || os_handle == NULL || flags != 0 ||
        type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_INVALID_VALUE;
    struct mem_file *f = file_from_descriptor((int)(intptr_t)os_handle, FILE_POOL);
    if (f == NULL)
        return driver_error(
            CUDA_ERROR_UNKNOWN,
            "cuMemPoolImportFromShareableHandle: descriptor %d is not one of a pool",
            (int)(intptr_t)os_handle);
    CUdevice device = f->trailer->device >= 0 ? driver_device_number(f->trailer->device) : -1;
    *out = pool_adopt(f, device >= 0 || f->trailer->device < 0 ? device : 0);
    return CUDA_SUCCESS;
}

/* What is imported, each piece once however often it is asked for. */
struct import {
    CUmemoryPool pool;
    uint64_t file, offset, serial; /* what: the file's id, the offset, its number there */
    void *base;                    /* where */
};

static struct {
    pthread_mutex_t lock;
    struct import *items;
    size_t count, cap;
} imports = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Maps what the handle names, or finds it mapped. The lock is held. */
static CUresult ipc_import(CUmemoryPool h, const struct share_handle *s, void **out)
{
    for (size_t i = 0; i < imports.count; i++) {
        struct import *m = &imports.items[i];
        if (m->pool == h && m->file == s->id && m->offset == s->offset && m->serial == s->serial) {
            *out = m->base;
            return CUDA_SUCCESS;
        }
    }
    bool host = h->ordinal < 0;
    struct mem_info like = {.kind = host ? MEM_PINNED : MEM_POOL,
                            .device = host ? MEM_HOST : device_ordinal(driver_device(h->ordinal)),
                            .user = h};
    CUresult r = driver_from_mem(mem_map_part(h->imported, s->offset, s->bytes, &like, out));
    if (r == CUDA_SUCCESS) {
        if (!host)
            mem_map_allow(*out, pool_accessors(h));
        vec_push(&imports, (struct import){h, s->id, s->offset, s->serial, *out});
    }
    return r;
}

/* The pointer is freed by cuMemFreeAsync or cuMemFree, once. */
WEIR_API CUresult cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool h,
                                         CUmemPoolPtrExportData *data)
{
    HOLD;
    struct share_handle s;
    void *p;
    CU_TRY(driver_ready());
    CU_TRY(pool_check(h));
    if (out == NULL || data == NULL || h->imported == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    enum file_status status = share_handle_read(&s, data, FILE_POOL);
    if ((status != FILE_OK && status != FILE_OWN) || s.id != h->imported->trailer->id)
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "cuMemPoolImportPointer: these bytes name no memory of this pool");
    pthread_mutex_lock(&imports.lock);
    CUresult r = ipc_import(h, &s, &p);
    pthread_mutex_unlock(&imports.lock);
    if (r == CUDA_SUCCESS)
        *out = (CUdeviceptr)(uintptr_t)p;
    return r;
}

/* ---- the end ---- */

bool imported_free(const void *base)
{
    bool found = false;
    pthread_mutex_lock(&imports.lock);
    for (size_t i = 0; i < imports.count && !found; i++) {
        found = imports.items[i].base == base;
        if (found)
            imports.items[i] = imports.items[--imports.count];
    }
    pthread_mutex_unlock(&imports.lock);
    return found;
}

bool imported_any(CUmemoryPool h)
{
    bool any = false;
    pthread_mutex_lock(&imports.lock);
    for (size_t i = 0; i < imports.count && !any; i++)
        any = imports.items[i].pool == h;
    pthread_mutex_unlock(&imports.lock);
    return any;
}

void imported_allow(CUmemoryPool h)
{
    pthread_mutex_lock(&imports.lock);
    for (size_t i = 0; i < imports.count; i++)
        if (imports.items[i].pool == h && h->ordinal >= 0)
            mem_map_allow(imports.items[i].base, pool_accessors(h));
    pthread_mutex_unlock(&imports.lock);
}

void imported_clear(CUmemoryPool h)
{
    pthread_mutex_lock(&imports.lock);
    for (size_t i = imports.count; i-- > 0;)
        if (imports.items[i].pool == h) {
            mem_free(imports.items[i].base, MEM_POOL | MEM_PINNED);
            imports.items[i] = imports.items[--imports.count];
        }
    pthread_mutex_unlock(&imports.lock);
}
