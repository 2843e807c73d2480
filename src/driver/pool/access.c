/* pool/access: who may reach the memory of a pool. Which requests are refused, and how, is a GPU's:
 * devices can be given access to pools of devices and of the host, and lose it again, but for the
 * owner; the host keeps its own; managed memory keeps what is set and is everyone's nonetheless. */
#include "driver/objects.h"
#include "pool/pool.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of changes */

static bool is_managed(CUmemoryPool h)
{
    return h->props.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED;
}

static bool is_host(CUmemLocationType where)
{
    return where == CU_MEM_LOCATION_TYPE_HOST || where == CU_MEM_LOCATION_TYPE_HOST_NUMA;
}

uint32_t pool_accessors(CUmemoryPool h)
{
    uint32_t devices = is_managed(h) ? MEM_ALL_DEVICES : 0;
    for (int i = 0; i < driver_device_count(); i++)
        if (i == h->ordinal || atomic_load(&h->access[i]) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            devices |= (uint32_t)1 << device_ordinal(driver_device(i));
    return devices;
}

/* What the host may be given: nothing of a device's, and of its own it loses nothing. */
static CUresult check_host(CUmemoryPool h, CUmemLocationType where, unsigned flags)
{
    bool all = flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (h->ordinal >= 0)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "cuMemPoolSetAccess: a device's memory is open to devices only");
    if (!is_host(where))
        return CUDA_ERROR_INVALID_VALUE;
    return is_managed(h) || all
               ? CUDA_SUCCESS
               : driver_error(CUDA_ERROR_NOT_SUPPORTED,
                              "cuMemPoolSetAccess: the host's access cannot be revoked");
}

static CUresult check_device(CUmemoryPool h, int device, unsigned flags)
{
    int can = 1;
    if (device < 0 || device >= driver_device_count())
        return CUDA_ERROR_INVALID_DEVICE;
    if (device == h->ordinal && flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return driver_error(CUDA_ERROR_INVALID_DEVICE,
                            "cuMemPoolSetAccess: the owner's access cannot be revoked");
    if (h->ordinal >= 0 && device != h->ordinal)
        cuDeviceCanAccessPeer(&can, device, h->ordinal);
    return can ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult access_check(CUmemoryPool h, const CUmemAccessDesc *d)
{
    if (d->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && d->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
        d->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return CUDA_ERROR_INVALID_VALUE;
    if (d->flags == CU_MEM_ACCESS_FLAGS_PROT_READ)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "cuMemPoolSetAccess: there is no access for reading only");
    return d->location.type == CU_MEM_LOCATION_TYPE_DEVICE
               ? check_device(h, d->location.id, d->flags)
               : check_host(h, d->location.type, d->flags);
}

/* Where the access of a location is kept. */
static _Atomic unsigned char *access_kept(CUmemoryPool h, const CUmemLocation *where)
{
    return where->type == CU_MEM_LOCATION_TYPE_DEVICE
               ? &h->access[where->id]
               : &h->host_access[where->type - CU_MEM_LOCATION_TYPE_HOST];
}

/* All of it or nothing. */
WEIR_API CUresult cuMemPoolSetAccess(CUmemoryPool h, const CUmemAccessDesc *map, size_t count)
{
    HOLD;
    CUresult r = driver_ready();
    if (r == CUDA_SUCCESS)
        r = pool_check(h);
    if (r != CUDA_SUCCESS)
        return r;
    if (map == NULL && count > 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if ((r = access_check(h, &map[i])) != CUDA_SUCCESS)
            return r;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++)
        atomic_store(access_kept(h, &map[i].location), (unsigned char)map[i].flags);
    if (h->pool != NULL)
        pool_allow(h->pool, pool_accessors(h));
    else
        imported_allow(h);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool h, CUmemLocation *where)
{
    HOLD;
    CU_TRY(driver_ready());
    CU_TRY(pool_check(h));
    if (flags == NULL || where == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    bool device = where->type == CU_MEM_LOCATION_TYPE_DEVICE;
    if (!device && !is_host(where->type))
        return CUDA_ERROR_INVALID_VALUE;
    if (device && (where->id < 0 || where->id >= driver_device_count()))
        return CUDA_ERROR_INVALID_VALUE;
    bool own = device ? where->id == h->ordinal : h->ordinal < 0 && !is_managed(h);
    *flags = own ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                 : (CUmemAccess_flags)atomic_load(access_kept(h, where));
    return CUDA_SUCCESS;
}
