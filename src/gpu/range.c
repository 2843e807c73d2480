/* range: memory for pools: one range of addresses for each device, in which chunks of physical
 * memory are mapped, each by itself, since a mapping ends as a whole.
 *
 * What pools give back stays mapped, up to a share of the device's memory, and is taken first: a
 * pool that keeps nothing at synchronizations costs no driver calls at each. The driver gets it
 * back when memory runs out. */
#include <stdlib.h>

#include "gpu/internal.h"

enum { CHUNK_FREE, CHUNK_TAKEN, CHUNK_KEPT };
enum { TIMES = 2 }; /* addresses, in terms of the device's memory: so that large pieces fit */

static struct range {
    pthread_mutex_t lock;
    uint64_t base;
    _Atomic uint64_t chunks; /* 0: not reserved yet; set last */
    uint8_t *states;         /* of each chunk, */
    uint32_t *devices;       /* and for whose kernels it is mapped, a bit for each */
    uint64_t high;           /* chunks from here on were never mapped */
    uint64_t total;          /* bytes of the device's memory */
    uint64_t kept, kept_max;
} ranges[MEM_MAX_DEVICES];

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static CUmemAllocationProp property(int device)
{
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
}

bool range_possible(int device)
{
    CUmemAllocationProp p = property(device);
    size_t granularity = 0;
    int supported = 0, pools = 0;
    return driver.cuDeviceGetAttribute(&supported,
                                       CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                                       device) == CUDA_SUCCESS &&
           driver.cuDeviceGetAttribute(&pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
                                       device) == CUDA_SUCCESS &&
           supported && pools &&
           driver.cuMemGetAllocationGranularity(&granularity, &p,
                                                CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_SUCCESS &&
           granularity > 0 && MEM_CHUNK % granularity == 0;
}

/* The lock of opening is held. */
static bool reserve(struct range *r, int device)
{
    size_t total = 0;
    CUdeviceptr base = 0;
    if (driver.cuDeviceTotalMem_v2(&total, device) != CUDA_SUCCESS)
        return false;
    uint64_t chunks = TIMES * (total / MEM_CHUNK);
    if (driver.cuMemAddressReserve(&base, chunks * MEM_CHUNK, MEM_CHUNK, 0, 0) != CUDA_SUCCESS)
        return false;
    r->states = calloc(chunks, sizeof *r->states);
    r->devices = calloc(chunks, sizeof *r->devices);
    if (r->states == NULL || r->devices == NULL)
        return false;
    pthread_mutex_init(&r->lock, NULL);
    r->base = base;
    r->total = total;
    r->kept_max = total / 64 / MEM_CHUNK * MEM_CHUNK;
    r->chunks = chunks;
    return true;
}

static bool range_of(int device, uint64_t *base, uint64_t *bytes)
{
    if (device < 0 || device >= MEM_MAX_DEVICES)
        return false;
    struct range *r = &ranges[device];
    pthread_mutex_lock(&opening);
    bool ok = r->chunks > 0 || reserve(r, device);
    pthread_mutex_unlock(&opening);
    *base = r->base;
    *bytes = r->chunks * MEM_CHUNK;
    return ok;
}

bool range_holds(uint64_t address)
{
    for (int i = 0; i < MEM_MAX_DEVICES; i++)
        if (ranges[i].chunks > 0 && address - ranges[i].base < ranges[i].chunks * MEM_CHUNK)
            return true;
    return false;
}

/* ---- mapping; the range's lock is held ---- */

static uint64_t address_of(const struct range *r, uint64_t chunk)
{
    return r->base + chunk * MEM_CHUNK;
}

static bool map_chunk(struct range *r, int device, uint64_t chunk)
{
    CUmemAllocationProp p = property(device);
    CUmemGenericAllocationHandle h;
    if (driver.cuMemCreate(&h, MEM_CHUNK, &p, 0) != CUDA_SUCCESS)
        return false;
    CUresult mapped = driver.cuMemMap(address_of(r, chunk), MEM_CHUNK, 0, h, 0);
    driver.cuMemRelease(h); /* the mapping keeps it */
    if (mapped == CUDA_SUCCESS)
        r->devices[chunk] = 0;
    return mapped == CUDA_SUCCESS;
}

static void unmap_chunk(struct range *r, uint64_t chunk)
{
    driver.cuMemUnmap(address_of(r, chunk), MEM_CHUNK);
    if (r->states[chunk] == CHUNK_KEPT)
        r->kept -= MEM_CHUNK;
    r->states[chunk] = CHUNK_FREE;
}

/* Lets these devices' kernels, and no others, touch mapped chunks that have one set now. */
static bool allow_run(struct range *r, uint64_t first, uint64_t n, uint32_t devices)
{
    CUmemAccessDesc d[MEM_MAX_DEVICES];
    size_t count = 0;
    uint32_t before = r->devices[first];
    for (int i = 0; i < MEM_MAX_DEVICES; i++)
        if ((before ^ devices) >> i & 1)
            d[count++] =
                (CUmemAccessDesc){.location = {CU_MEM_LOCATION_TYPE_DEVICE, i},
                                  .flags = devices >> i & 1 ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                            : CU_MEM_ACCESS_FLAGS_PROT_NONE};
    if (count > 0 &&
        driver.cuMemSetAccess(address_of(r, first), n * MEM_CHUNK, d, count) != CUDA_SUCCESS)
        return false;
    for (uint64_t c = first; c < first + n; c++)
        r->devices[c] = devices;
    return true;
}

static bool allow(struct range *r, uint64_t first, uint64_t n, uint32_t devices)
{
    for (uint64_t c = first, k; c < first + n; c += k) {
        k = 1;
        while (c + k < first + n && r->devices[c + k] == r->devices[c])
            k++;
        if (!allow_run(r, c, k, devices))
            return false;
    }
    return true;
}

/* ---- which chunks ---- */

static bool all_untaken(const struct range *r, uint64_t first, uint64_t n)
{
    if (first + n > r->chunks)
        return false;
    for (uint64_t c = first; c < first + n; c++)
        if (r->states[c] == CHUNK_TAKEN)
            return false;
    return true;
}

/* The first run of n chunks that nobody has; of kept ones alone, if so wanted. */
static bool find_run(const struct range *r, uint64_t n, bool kept, uint64_t *first)
{
    uint64_t end = kept ? r->high : r->chunks, length = 0;
    for (uint64_t c = 0; c < end && length < n; c++) {
        bool good = kept ? r->states[c] == CHUNK_KEPT : r->states[c] != CHUNK_TAKEN;
        length = good ? length + 1 : 0;
        *first = c + 1 - n;
        if (c >= r->high && !kept) { /* nobody has what comes */
            *first = c + 1 - length;
            return *first + n <= r->chunks;
        }
    }
    return length == n;
}

/* Maps what is not mapped of the run; false, and nothing of it, when there is no memory. */
static bool map_run(struct range *r, int device, uint64_t first, uint64_t n)
{
    uint64_t end = first;
    while (end < first + n && (r->states[end] == CHUNK_KEPT || map_chunk(r, device, end)))
        end++;
    if (end == first + n)
        return true;
    for (uint64_t c = first; c < end; c++)
        if (r->states[c] == CHUNK_FREE)
            unmap_chunk(r, c);
    return false;
}

static bool give_back(struct range *r)
{
    bool any = false;
    for (uint64_t c = 0; c < r->high && r->kept > 0; c++)
        if (r->states[c] == CHUNK_KEPT) {
            unmap_chunk(r, c);
            any = true;
        }
    return any;
}

static bool take_run(struct range *r, int device, uint64_t first, uint64_t n, uint32_t devices)
{
    if (!map_run(r, device, first, n)) {
        /* What is kept elsewhere is memory, too. */
        if (!give_back(r) || !map_run(r, device, first, n))
            return false;
    }
    r->high = first + n > r->high ? first + n : r->high;
    if (!allow(r, first, n, devices)) {
        for (uint64_t c = first; c < first + n; c++)
            unmap_chunk(r, c);
        return false;
    }
    for (uint64_t c = first; c < first + n; c++) {
        if (r->states[c] == CHUNK_KEPT)
            r->kept -= MEM_CHUNK;
        r->states[c] = CHUNK_TAKEN;
    }
    return true;
}

/* ---- as src/pool asks ---- */

static enum mem_status range_take(int device, enum mem_kind kind, uint64_t bytes, uint64_t at,
                                  int fd, uint32_t devices, uint64_t *base)
{
    struct range *r = &ranges[device];
    uint64_t n = bytes / MEM_CHUNK, first = (at - r->base) / MEM_CHUNK;
    pthread_mutex_lock(&r->lock);
    bool found = at != 0 ? all_untaken(r, first, n)
                         : (r->kept >= bytes && find_run(r, n, true, &first)) ||
                               find_run(r, n, false, &first);
    bool ok = found && take_run(r, device, first, n, devices);
    pthread_mutex_unlock(&r->lock);
    *base = address_of(r, first);
    return ok ? MEM_OK : MEM_OUT_OF_MEMORY;
}

static void range_drop(int device, uint64_t base, uint64_t bytes, int fd)
{
    struct range *r = &ranges[device];
    uint64_t first = (base - r->base) / MEM_CHUNK, end = first + bytes / MEM_CHUNK;
    pthread_mutex_lock(&r->lock);
    for (uint64_t c = first; c < end; c++) {
        if (r->kept + MEM_CHUNK > r->kept_max) {
            unmap_chunk(r, c);
            continue;
        }
        r->states[c] = CHUNK_KEPT;
        r->kept += MEM_CHUNK;
    }
    pthread_mutex_unlock(&r->lock);
}

static void range_allow(int device, uint64_t base, uint64_t bytes, uint32_t devices)
{
    struct range *r = &ranges[device];
    pthread_mutex_lock(&r->lock);
    allow(r, (base - r->base) / MEM_CHUNK, bytes / MEM_CHUNK, devices);
    pthread_mutex_unlock(&r->lock);
}

static void range_usage(int device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    *total_bytes = ranges[device].total;
    *free_bytes = range_kept(device); /* as much as is known without asking */
}

const struct pool_source range_source = {
    .range = range_of,
    .take = range_take,
    .allow = range_allow,
    .drop = range_drop,
    .usage = range_usage,
};

/* ---- what is kept ---- */

uint64_t range_kept(int device)
{
    struct range *r = &ranges[device];
    if (r->chunks == 0)
        return 0;
    pthread_mutex_lock(&r->lock);
    uint64_t kept = r->kept;
    pthread_mutex_unlock(&r->lock);
    return kept;
}

bool range_give_back(int device)
{
    struct range *r = &ranges[device];
    if (r->chunks == 0)
        return false;
    pthread_mutex_lock(&r->lock);
    bool any = give_back(r);
    pthread_mutex_unlock(&r->lock);
    return any;
}
