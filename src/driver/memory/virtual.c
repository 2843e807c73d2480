/* virtual: cuMemAddressReserve, cuMemCreate, cuMemMap and their kin: addresses without memory, and
 * memory without addresses.
 *
 * Memory without addresses is a file in memory (memory/file.h), so that any process that is given
 * its descriptor maps the same pages. It lives while it has handles or mappings. Rights are those
 * of the CPU's page tables: what no device was given access to faults when it is touched.
 * They hold for the process, so that a device has access wherever another one has; each device's
 * own is kept to answer cuMemGetAccess. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/descriptor.h"
#include "driver/objects.h"
#include "pool/pool.h"

/* What a CUmemGenericAllocationHandle stands for. */
struct physical {
    uint32_t tag;
    uint32_t handles;  /* as cuMemRelease counts; 0: no longer a handle, */
    uint32_t mappings; /* but still mapped */
    struct mem_file *file;
    CUmemAllocationProp prop;
    int charged; /* device of the lower layers whose memory it takes; -1: another process's does */
};

/* One mapping: what the memory layer keeps for us with it. */
struct mapping {
    struct physical *memory;
    uint8_t access[MEM_MAX_DEVICES]; /* enum mem_rights, by the program's number of the device */
};

/* Of counts and mappings. The memory layer's lock is taken inside it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct physical *physical_of(CUmemGenericAllocationHandle h)
{
    struct physical *p = (struct physical *)(uintptr_t)h;
    return handle_live(p, TAG_PHYSICAL) && p->handles > 0 ? p : NULL;
}

static CUmemGenericAllocationHandle handle_of(struct physical *p)
{
    return (CUmemGenericAllocationHandle)(uintptr_t)p;
}

/* Frees the memory if nothing holds it any more. Locked. */
static void settle(struct physical *p)
{
    if (p->handles > 0 || p->mappings > 0)
        return;
    if (p->charged >= 0)
        mem_uncharge(p->charged, p->file->bytes);
    file_close(p->file);
    handle_free(p);
}

static void *virtual_pointer(CUdeviceptr at) { return (void *)(uintptr_t)at; }

/* ---- memory ---- */

/* Whether memory of this kind exists here. */
static CUresult check_prop(const CUmemAllocationProp *prop)
{
    if (prop == NULL || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    switch (prop->location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: break;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "cuMemCreate: memory of the host is not supported");
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    if (prop->location.id < 0 || prop->location.id >= driver_device_count())
        return CUDA_ERROR_INVALID_DEVICE;
    if ((prop->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0)
        return driver_error(
            CUDA_ERROR_NOT_SUPPORTED,
            "cuMemCreate: the only handles for other processes are file descriptors");
    if (prop->allocFlags.compressionType != CU_MEM_ALLOCATION_COMP_NONE &&
        prop->allocFlags.compressionType != CU_MEM_ALLOCATION_COMP_GENERIC)
        return CUDA_ERROR_INVALID_VALUE;
    if (prop->allocFlags.usage != 0)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED, "cuMemCreate: usage %#x is not supported",
                            prop->allocFlags.usage);
    return CUDA_SUCCESS;
}

/* The same for all kinds of memory, those included that cannot be had. */
WEIR_API CUresult cuMemGetAllocationGranularity(size_t *out, const CUmemAllocationProp *prop,
                                                CUmemAllocationGranularity_flags option)
{
    HOLD;
    CU_TRY(driver_ready());
    if (out == NULL || prop == NULL || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
        return CUDA_ERROR_INVALID_VALUE;
    *out = MEM_GRANULE;
    return CUDA_SUCCESS;
}

static struct physical *virtual_make(struct mem_file *f, const CUmemAllocationProp *prop,
                                     int charged)
{
    struct physical *p = handle_new(TAG_PHYSICAL, sizeof *p);
    p->handles = 1;
    p->file = f;
    p->prop = *prop;
    p->charged = charged;
    if (observed())
        observe_object_made(OBSERVE_PHYSICAL, p);
    return p;
}

WEIR_API CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t size,
                              const CUmemAllocationProp *prop, unsigned long long flags)
{
    HOLD;
    CU_TRY(driver_ready());
    CU_TRY(out == NULL || flags != 0 ? CUDA_ERROR_INVALID_VALUE : check_prop(prop));
    if (size == 0 || size % MEM_GRANULE != 0)
        return CUDA_ERROR_INVALID_VALUE;
    int device = device_ordinal(driver_device(prop->location.id));
    enum mem_status charged = mem_charge(device, size);
    if (charged == MEM_OUT_OF_MEMORY && pool_give_back(device))
        charged = mem_charge(device, size);
    CU_TRY(driver_from_mem(charged));
    struct mem_file *f = file_new(FILE_BLOCK, device, size, 1);
    if (f == NULL) {
        mem_uncharge(device, size);
        return driver_error(CUDA_ERROR_OUT_OF_MEMORY, "cuMemCreate: no descriptor is left");
    }
    struct physical *p = virtual_make(f, prop, device);
    p->prop.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_NONE; /* a wish; none is done */
    *out = handle_of(p);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuMemRelease(CUmemGenericAllocationHandle h)
{
    HOLD;
    CU_TRY(driver_initialized());
    pthread_mutex_lock(&lock);
    struct physical *p = physical_of(h);
    if (p != NULL) {
        p->handles--;
        settle(p);
    }
    pthread_mutex_unlock(&lock);
    return p != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The mapping at an address, and how many bytes it has; NULL when there is none. */
static struct mapping *mapping_at(const void *at, struct mem_info *info)
{
    return mem_find(at, info) && info->kind == MEM_MAPPED ? info->user : NULL;
}

WEIR_API CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *at)
{
    HOLD;
    struct mem_info info;
    CU_TRY(driver_ready());
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct mapping *m = mapping_at(at, &info);
    if (m != NULL) {
        m->memory->handles++;
        *out = handle_of(m->memory);
    }
    pthread_mutex_unlock(&lock);
    return m != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

WEIR_API CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *out,
                                                         CUmemGenericAllocationHandle h)
{
    HOLD;
    CU_TRY(driver_ready());
    pthread_mutex_lock(&lock);
    struct physical *p = physical_of(h);
    if (p != NULL && out != NULL)
        *out = p->prop;
    pthread_mutex_unlock(&lock);
    return p != NULL && out != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- other processes ---- */

/* The descriptor is the caller's to close. */
WEIR_API CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle h,
                                               CUmemAllocationHandleType type,
                                               unsigned long long flags)
{
    HOLD;
    CUresult r = driver_ready();
    if (r != CUDA_SUCCESS)
        return r;
    if (out == NULL || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct physical *p = physical_of(h);
    int fd = -1;
    if (p == NULL || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        (p->prop.requestedHandleTypes & type) == 0)
        r = CUDA_ERROR_INVALID_VALUE;
    else if ((fd = descriptor_copy(p->file->fd)) < 0)
        r = driver_error(CUDA_ERROR_OUT_OF_MEMORY,
                         "cuMemExportToShareableHandle: no descriptor is left");
    pthread_mutex_unlock(&lock);
    if (r == CUDA_SUCCESS)
        memcpy(out, &fd, sizeof fd);
    return r;
}

WEIR_API CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out, void *os_handle,
                                                 CUmemAllocationHandleType type)
{
    HOLD;
    CU_TRY(driver_ready());
    if (out == NULL || os_handle == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "cuMemImportFromShareableHandle: only file descriptors are supported");
    struct mem_file *f = file_from_descriptor((int)(intptr_t)os_handle, FILE_BLOCK);
    if (f == NULL || f->bytes % MEM_GRANULE != 0) {
        if (f != NULL)
            file_close(f);
        return driver_error(CUDA_ERROR_UNKNOWN,
                            "cuMemImportFromShareableHandle: descriptor "
                            "%d is not one of memory of cuMemCreate",
                            (int)(intptr_t)os_handle);
    }
    CUdevice device = driver_device_number(f->trailer->device);
    CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED, /* no handle types: it is not exported again */
        .location = {CU_MEM_LOCATION_TYPE_DEVICE, device >= 0 ? device : 0}};
    *out = handle_of(virtual_make(f, &prop, -1));
    return CUDA_SUCCESS;
}

/* ---- addresses ---- */

WEIR_API CUresult cuMemAddressReserve(CUdeviceptr *out, size_t size, size_t alignment,
                                      CUdeviceptr at, unsigned long long flags)
{
    HOLD;
    CU_TRY(driver_ready());
    void *p;
    if (out == NULL || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = driver_from_mem(mem_reserve(size, alignment, at, &p));
    if (r == CUDA_SUCCESS)
        *out = (CUdeviceptr)(uintptr_t)p;
    return r;
}

WEIR_API CUresult cuMemAddressFree(CUdeviceptr at, size_t size)
{
    HOLD;
    CUresult r = driver_initialized();
    return r != CUDA_SUCCESS ? r : driver_from_mem(mem_unreserve(virtual_pointer(at), size));
}

WEIR_API CUresult cuMemMap(CUdeviceptr at, size_t size, size_t offset,
                           CUmemGenericAllocationHandle h, unsigned long long flags)
{
    HOLD;
    CUresult r = driver_ready();
    if (r != CUDA_SUCCESS)
        return r;
    pthread_mutex_lock(&lock);
    struct physical *p = physical_of(h);
    if (p == NULL || flags != 0 || size == 0 || at % MEM_GRANULE != 0) {
        r = CUDA_ERROR_INVALID_VALUE;
    } else if (size != p->file->bytes || offset != 0) {
        r = driver_error(CUDA_ERROR_NOT_SUPPORTED, "cuMemMap: only the whole of it can be mapped");
    } else {
        struct mapping *m = xcalloc(1, sizeof *m);
        m->memory = p;
        int device = device_ordinal(driver_device(p->prop.location.id));
        r = driver_from_mem(mem_map(virtual_pointer(at), size, p->file, offset, device, m));
        p->mappings += r == CUDA_SUCCESS;
        if (r != CUDA_SUCCESS)
            free(m);
    }
    pthread_mutex_unlock(&lock);
    return r;
}

static void unmapped(void *user)
{
    struct mapping *m = user;
    m->memory->mappings--;
    settle(m->memory);
    free(m);
}

/* What still runs and uses the addresses faults, as on a GPU. */
WEIR_API CUresult cuMemUnmap(CUdeviceptr at, size_t size)
{
    HOLD;
    CU_TRY(driver_initialized());
    pthread_mutex_lock(&lock);
    CUresult r = driver_from_mem(mem_unmap(virtual_pointer(at), size, unmapped));
    pthread_mutex_unlock(&lock);
    return r;
}

/* ---- rights ---- */

struct wanted {
    const CUmemAccessDesc *items;
    size_t count;
};

/* Keeps what each device gets, and says what the CPU must allow for all of them. */
static enum mem_rights virtual_give(void *user, void *arg, uint32_t *devices)
{
    struct mapping *m = user;
    const struct wanted *w = arg;
    unsigned all = 0;
    for (size_t i = 0; i < w->count; i++)
        m->access[w->items[i].location.id] = (uint8_t)w->items[i].flags;
    for (int d = 0; d < driver_device_count(); d++) {
        all |= m->access[d];
        if (m->access[d] != 0)
            *devices |= (uint32_t)1 << device_ordinal(driver_device(d));
    }
    return (enum mem_rights)all;
}

WEIR_API CUresult cuMemSetAccess(CUdeviceptr at, size_t size, const CUmemAccessDesc *desc,
                                 size_t count)
{
    HOLD;
    CU_TRY(driver_ready());
    if (desc == NULL || count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        if (desc[i].location.type == CU_MEM_LOCATION_TYPE_HOST ||
            desc[i].location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA)
            return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                                "cuMemSetAccess: the host cannot be given access by itself");
        if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || desc[i].location.id < 0 ||
            desc[i].location.id >= driver_device_count() ||
            (desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
             desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
             desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
            return CUDA_ERROR_INVALID_VALUE;
    }
    struct wanted w = {desc, count};
    pthread_mutex_lock(&lock);
    CUresult r = driver_from_mem(mem_set_rights(virtual_pointer(at), size, virtual_give, &w));
    pthread_mutex_unlock(&lock);
    return r;
}

WEIR_API CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                                 CUdeviceptr at)
{
    HOLD;
    CU_TRY(driver_ready());
    if (flags == NULL || location == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    bool host = location->type != CU_MEM_LOCATION_TYPE_DEVICE;
    if (!host && (location->id < 0 || location->id >= driver_device_count()))
        return CUDA_ERROR_INVALID_DEVICE;
    struct mem_info info;
    pthread_mutex_lock(&lock);
    struct mapping *m = mapping_at(virtual_pointer(at), &info);
    if (m != NULL)
        *flags = host ? info.flags : m->access[location->id];
    pthread_mutex_unlock(&lock);
    return m != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

unsigned virtual_handle_types(const struct mem_info *i)
{
    pthread_mutex_lock(&lock);
    struct mem_info now;
    struct mapping *m = mapping_at((const void *)(uintptr_t)i->base, &now);
    unsigned types = m != NULL ? (unsigned)m->memory->prop.requestedHandleTypes : 0;
    pthread_mutex_unlock(&lock);
    return types;
}
