/* pool/location: where pools have their memory: on a device, on the host, or nowhere in particular
 * (managed). What may be asked for, which pool each location uses by default, who may reach it.
 *
 * Devices' own pools are pool.c's; the others are in the host's range of addresses. What which call
 * answers is a GPU's. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "driver/objects.h"
#include "pool/pool.h"

/* The pools of a location that is no device's own memory. */
struct location {
    CUmemAllocationType type;
    CUmemLocationType where;
    int id;                         /* of the device or the NUMA node, else 0 */
    CUmemoryPool standard, current; /* current NULL: the standard one */
    struct location *next;
};

static struct {
    pthread_mutex_t lock;
    struct location *all;
} locations = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- what there is ---- */

static bool is_device(int id) { return id >= 0 && id < driver_device_count(); }

static bool is_node(int id)
{
    char path[64];
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d", id);
    return id == 0 || (id > 0 && access(path, F_OK) == 0);
}

bool pool_is_devices(const CUmemPoolProps *p)
{
    return p->allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
           p->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
}

static bool is_hosts(const CUmemPoolProps *p)
{
    return p->allocType == CU_MEM_ALLOCATION_TYPE_PINNED && !pool_is_devices(p);
}

/* Whether memory of that type can be there. */
static bool exists(CUmemAllocationType type, const CUmemLocation *where)
{
    switch (where->type) {
    case CU_MEM_LOCATION_TYPE_NONE: return type == CU_MEM_ALLOCATION_TYPE_MANAGED;
    case CU_MEM_LOCATION_TYPE_DEVICE: return is_device(where->id);
    case CU_MEM_LOCATION_TYPE_HOST: return true;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: return is_node(where->id);
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return type == CU_MEM_ALLOCATION_TYPE_MANAGED;
    default: return false;
    }
}

/* Of handle types only descriptors exist, and only memory of one location can be given away. */
static CUresult check_handles(const CUmemPoolProps *p)
{
    if (p->handleTypes == CU_MEM_HANDLE_TYPE_NONE)
        return CUDA_SUCCESS;
    if (p->handleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "cuMemPoolCreate: of handle types only POSIX file descriptors exist");
    if (p->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED ||
        p->location.type == CU_MEM_LOCATION_TYPE_HOST)
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "cuMemPoolCreate: managed memory, and memory of the host without a "
                            "NUMA node, cannot be shared with other processes");
    return CUDA_SUCCESS;
}

CUresult pool_check_props(const CUmemPoolProps *p)
{
    static const unsigned char zero[sizeof p->reserved];
    bool managed = p->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED;
    if (managed && p->location.type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED, "cuMemPoolCreate: there is no such location");
    if ((!managed && p->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) ||
        !exists(p->allocType, &p->location) || memcmp(p->reserved, zero, sizeof zero) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (managed && p->maxSize > 0)
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "cuMemPoolCreate: a pool of managed memory has no size of its own");
    CU_TRY(check_handles(p));
    /* any memory would do for CU_MEM_POOL_CREATE_USAGE_HW_DECOMPRESS, which programs ask for whether
     * or not the device has the engine */
    struct pool_config config;
    uint64_t base, bytes;
    pool_configure(&config, p);
    return mem_range(config.device, &base, &bytes) && p->maxSize <= bytes
               ? CUDA_SUCCESS
               : CUDA_ERROR_OUT_OF_MEMORY;
}

void pool_configure(struct pool_config *out, const CUmemPoolProps *p)
{
    *out = (struct pool_config){
        .device = MEM_HOST,
        .kind = is_hosts(p) ? MEM_PINNED : MEM_MANAGED,
        .max_bytes = p->maxSize,
        .shared = p->handleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .devices = is_hosts(p) ? 0 : MEM_ALL_DEVICES,
    };
    if (pool_is_devices(p)) {
        out->device = device_ordinal(driver_device(p->location.id));
        out->kind = MEM_POOL;
        out->devices = (uint32_t)1 << out->device;
    }
}

/* ---- which pool a location uses ---- */

/* Whether there can be pools there by default. */
static CUresult check_location(const void *out, const CUmemLocation *where,
                               CUmemAllocationType type)
{
    CU_TRY(driver_ready());
    if (out == NULL || where == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (where->type > CU_MEM_LOCATION_TYPE_HOST_NUMA)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "no pools belong to the thread's own NUMA node as such");
    return (type == CU_MEM_ALLOCATION_TYPE_PINNED || type == CU_MEM_ALLOCATION_TYPE_MANAGED) &&
                   exists(type, where)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

static bool is_own(const CUmemLocation *where, CUmemAllocationType type)
{
    return type == CU_MEM_ALLOCATION_TYPE_PINNED && where->type == CU_MEM_LOCATION_TYPE_DEVICE;
}

/* The location, made when there is none. The lock is held. */
static struct location *location_find(const CUmemLocation *where, CUmemAllocationType type)
{
    bool numbered =
        where->type == CU_MEM_LOCATION_TYPE_DEVICE || where->type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
    int id = numbered ? where->id : 0;
    struct location *p = locations.all;
    while (p != NULL && (p->type != type || p->where != where->type || p->id != id))
        p = p->next;
    if (p == NULL) {
        p = xcalloc(1, sizeof *p);
        *p = (struct location){.type = type, .where = where->type, .id = id, .next = locations.all};
        locations.all = p;
    }
    return p;
}

/* The lock is held. */
static CUresult location_standard(struct location *p, CUmemoryPool *out)
{
    CUmemPoolProps props = {.allocType = p->type, .location = {p->where, p->id}};
    CUresult r = p->standard == NULL ? pool_make(&p->standard, &props) : CUDA_SUCCESS;
    *out = p->standard;
    return r;
}

WEIR_API CUresult cuMemGetDefaultMemPool(CUmemoryPool *out, CUmemLocation *where,
                                         CUmemAllocationType type)
{
    HOLD;
    CU_TRY(check_location(out, where, type));
    if (is_own(where, type))
        return cuDeviceGetDefaultMemPool(out, where->id);
    pthread_mutex_lock(&locations.lock);
    CUresult r = location_standard(location_find(where, type), out);
    pthread_mutex_unlock(&locations.lock);
    return r;
}

WEIR_API CUresult cuMemGetMemPool(CUmemoryPool *out, CUmemLocation *where, CUmemAllocationType type)
{
    HOLD;
    CUresult r = check_location(out, where, type);
    if (r != CUDA_SUCCESS)
        return r;
    if (is_own(where, type))
        return cuDeviceGetMemPool(out, where->id);
    pthread_mutex_lock(&locations.lock);
    struct location *p = location_find(where, type);
    *out = p->current;
    if (p->current == NULL)
        r = location_standard(p, out);
    pthread_mutex_unlock(&locations.lock);
    return r;
}

/* The pool must be of that type and location. */
WEIR_API CUresult cuMemSetMemPool(CUmemLocation *where, CUmemAllocationType type, CUmemoryPool h)
{
    HOLD;
    CU_TRY(check_location(h, where, type));
    CU_TRY(pool_check_own(h));
    const CUmemPoolProps *p = &h->props;
    if (p->allocType != type || p->location.type != where->type ||
        (where->type != CU_MEM_LOCATION_TYPE_NONE && where->type != CU_MEM_LOCATION_TYPE_HOST &&
         p->location.id != where->id))
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "cuMemSetMemPool: the pool's memory is of another kind or location");
    if (is_own(where, type))
        return cuDeviceSetMemPool(where->id, h);
    pthread_mutex_lock(&locations.lock);
    location_find(where, type)->current = h;
    pthread_mutex_unlock(&locations.lock);
    return CUDA_SUCCESS;
}

bool pool_location_ends(CUmemoryPool h)
{
    bool may = true;
    pthread_mutex_lock(&locations.lock);
    for (struct location *p = locations.all; p != NULL && may; p = p->next) {
        may = p->standard != h;
        if (p->current == h && may)
            p->current = NULL;
    }
    pthread_mutex_unlock(&locations.lock);
    return may;
}
