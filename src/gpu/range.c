/* range: memory for pools: one range of addresses for each device, in which physical memory is
 * mapped: a chunk by itself, or many at once where many are wanted. On an H200 memory of 32 MiB is
 * made and given up in 30 µs, mapped in less than one, opened to a device in 20 and unmapped in 15.
 * A mapping has one owner, and begins, ends and changes whose it is as a whole.
 *
 * What pools give back stays mapped, up to a share of the device's memory, and is taken first: a
 * pool that keeps nothing at synchronizations costs no driver calls at each. Where it is not in one
 * piece it is moved to other addresses. The driver gets it back when memory runs out. */
#include <stdlib.h>

#include "gpu/internal.h"

enum { CHUNK_FREE, CHUNK_TAKEN, CHUNK_KEPT };
enum { TIMES = 2 }; /* addresses, in terms of the device's memory: so that large pieces fit */
enum { MAPPING_MAX = 16 }; /* chunks of a mapping */
enum { KEPT_SHARE = 16 };  /* of the device's memory, this part may stay mapped for nobody */

struct mapping {
    uint32_t first, chunks, taken; /* chunks: the first one, how many, how many are taken */
    uint32_t devices;              /* whose kernels may touch it, a bit for each */
    const void *owner;             /* who took the last of it */
    CUmemGenericAllocationHandle memory;
    struct mapping *next, **link; /* of those of which nothing is taken; `next`, of spare ones */
};

static struct range {
    pthread_mutex_t lock;
    uint64_t base;
    _Atomic uint64_t chunks; /* 0: not reserved yet; set last */
    uint8_t *states;         /* of each chunk, */
    struct mapping **in;     /* and what maps it, unless it is free */
    struct mapping *spare;
    struct mapping *idle[MAPPING_MAX + 1]; /* of so many chunks, of which none is taken */
    uint64_t high;                         /* chunks from here on were never mapped */
    uint64_t total;                        /* bytes of the device's memory */
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
    r->in = calloc(chunks, sizeof *r->in);
    if (r->states == NULL || r->in == NULL)
        return false;
    pthread_mutex_init(&r->lock, NULL);
    r->base = base;
    r->total = total;
    r->kept_max = total / KEPT_SHARE / MEM_CHUNK * MEM_CHUNK;
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

static struct mapping *mapping_new(struct range *r)
{
    struct mapping *m = r->spare;
    if (m != NULL)
        r->spare = m->next;
    else
        m = xmalloc(sizeof *m);
    return m;
}

static void idle_begins(struct range *r, struct mapping *m)
{
    m->link = &r->idle[m->chunks];
    m->next = *m->link;
    if (m->next != NULL)
        m->next->link = &m->next;
    *m->link = m;
}

static void idle_ends(struct mapping *m)
{
    *m->link = m->next;
    if (m->next != NULL)
        m->next->link = m->link;
}

/* A kept chunk is somebody's now. */
static void take_chunk(struct range *r, uint64_t c, const void *owner)
{
    struct mapping *m = r->in[c];
    if (m->taken++ == 0)
        idle_ends(m);
    m->owner = owner;
    r->states[c] = CHUNK_TAKEN;
    r->kept -= MEM_CHUNK;
}

static void keep_chunk(struct range *r, uint64_t c)
{
    struct mapping *m = r->in[c];
    r->states[c] = CHUNK_KEPT;
    r->kept += MEM_CHUNK;
    if (--m->taken == 0)
        idle_begins(r, m);
}

/* Takes the memory of a mapping out of the addresses where it is. */
static void unmap(struct range *r, struct mapping *m)
{
    driver.cuMemUnmap(address_of(r, m->first), m->chunks * (uint64_t)MEM_CHUNK);
    for (uint64_t c = m->first; c < (uint64_t)m->first + m->chunks; c++)
        r->states[c] = CHUNK_FREE;
    r->kept -= m->chunks * (uint64_t)MEM_CHUNK;
    idle_ends(m);
    m->devices = 0;
}

static void mapping_free(struct range *r, struct mapping *m)
{
    driver.cuMemRelease(m->memory);
    m->next = r->spare;
    r->spare = m;
}

/* Memory of n chunks that is mapped nowhere: what is kept elsewhere costs less than new. */
static struct mapping *memory_of(struct range *r, int device, uint64_t n)
{
    struct mapping *m = r->idle[n];
    if (m != NULL) {
        unmap(r, m);
        return m;
    }
    CUmemAllocationProp p = property(device);
    CUmemGenericAllocationHandle memory;
    if (driver.cuMemCreate(&memory, n * MEM_CHUNK, &p, 0) != CUDA_SUCCESS)
        return NULL;
    m = mapping_new(r);
    *m = (struct mapping){.chunks = (uint32_t)n, .memory = memory};
    return m;
}

/* Maps n free chunks at once. They are kept. */
static bool map(struct range *r, int device, uint64_t first, uint64_t n)
{
    struct mapping *m = memory_of(r, device, n);
    if (m == NULL)
        return false;
    if (driver.cuMemMap(address_of(r, first), n * MEM_CHUNK, 0, m->memory, 0) != CUDA_SUCCESS) {
        mapping_free(r, m);
        return false;
    }
    m->first = (uint32_t)first;
    for (uint64_t c = first; c < first + n; c++) {
        r->in[c] = m;
        r->states[c] = CHUNK_KEPT;
    }
    idle_begins(r, m);
    r->kept += n * MEM_CHUNK;
    r->high = first + n > r->high ? first + n : r->high;
    return true;
}

static uint64_t end_of(const struct mapping *m) { return (uint64_t)m->first + m->chunks; }

/* Where the mappings end that come one after the other from that chunk on, as far as `end`, and may
 * be touched by the same devices. */
static uint64_t end_of_same(const struct range *r, uint64_t first, uint64_t end)
{
    uint64_t c = end_of(r->in[first]);
    while (c < end && r->in[c]->devices == r->in[first]->devices)
        c = end_of(r->in[c]);
    return c;
}

/* Lets these devices' kernels, and no others, touch what is mapped there: one call for many
 * mappings, since each costs as much as mapping does. */
static bool allow(struct range *r, uint64_t first, uint64_t end, uint32_t devices)
{
    CUmemAccessDesc d[MEM_MAX_DEVICES];
    size_t count = 0;
    uint32_t was = r->in[first]->devices;
    for (int i = 0; i < MEM_MAX_DEVICES; i++)
        if ((was ^ devices) >> i & 1)
            d[count++] =
                (CUmemAccessDesc){.location = {CU_MEM_LOCATION_TYPE_DEVICE, i},
                                  .flags = devices >> i & 1 ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                            : CU_MEM_ACCESS_FLAGS_PROT_NONE};
    if (count > 0 && driver.cuMemSetAccess(address_of(r, first), (end - first) * MEM_CHUNK, d,
                                           count) != CUDA_SUCCESS)
        return false;
    for (uint64_t c = first; c < end; c = end_of(r->in[c]))
        r->in[c]->devices = devices;
    return true;
}

/* The same for all mappings that have some of these chunks. */
static bool allow_all(struct range *r, uint64_t first, uint64_t end, uint32_t devices)
{
    bool good = true;
    for (uint64_t c = r->in[first]->first, next; c < end && good; c = next) {
        next = end_of_same(r, c, end);
        good = r->in[c]->devices == devices || allow(r, c, next, devices);
    }
    return good;
}

/* ---- which chunks ---- */

/* Whether the chunk can be the owner's: what is mapped together with another's cannot. */
static bool can_take(const struct range *r, uint64_t chunk, const void *owner)
{
    const struct mapping *m = r->in[chunk];
    return r->states[chunk] == CHUNK_FREE ||
           (r->states[chunk] == CHUNK_KEPT && (m->taken == 0 || m->owner == owner));
}

static bool can_take_all(const struct range *r, uint64_t first, uint64_t n, const void *owner)
{
    if (first + n > r->chunks)
        return false;
    for (uint64_t c = first; c < first + n; c++)
        if (!can_take(r, c, owner))
            return false;
    return true;
}

/* The first run of n chunks that can be taken; of mapped ones alone, if so wanted. */
static bool find_run(const struct range *r, uint64_t n, bool mapped, const void *owner,
                     uint64_t *first)
{
    uint64_t length = 0;
    for (uint64_t c = 0; c < r->high; c++) {
        bool good = can_take(r, c, owner) && !(mapped && r->states[c] == CHUNK_FREE);
        length = good ? length + 1 : 0;
        *first = c + 1 - length;
        if (length == n)
            return true;
    }
    *first = r->high - length; /* nobody has what comes */
    return !mapped && *first + n <= r->chunks;
}

/* Gives back what nothing is taken of among these chunks, as long as more is kept than that. */
static bool give_back(struct range *r, uint64_t first, uint64_t end, uint64_t keep)
{
    bool any = false;
    for (uint64_t c = first; c < end && r->kept > keep; c++)
        if (r->states[c] == CHUNK_KEPT && r->in[c]->taken == 0) {
            struct mapping *m = r->in[c];
            unmap(r, m);
            mapping_free(r, m);
            any = true;
        }
    return any;
}

/* Takes the free chunks from there on, as many as one mapping has, as far as `end`; returns how
 * many, 0: there is no memory. */
static uint64_t map_some(struct range *r, int device, uint64_t first, uint64_t end,
                         const void *owner)
{
    uint64_t n = 0;
    while (n < MAPPING_MAX && first + n < end && r->states[first + n] == CHUNK_FREE)
        n++;
    if (!map(r, device, first, n))
        return 0;
    for (uint64_t c = first; c < first + n; c++)
        take_chunk(r, c, owner);
    return n;
}

/* Takes a run, and maps what is not mapped of it in as few pieces as can be. What is mapped comes
 * first, so that it stays where it is. */
static bool take_run(struct range *r, int device, uint64_t first, uint64_t n, const void *owner,
                     uint32_t devices)
{
    uint64_t end = first + n;
    bool mapped = true;
    for (uint64_t c = first; c < end; c++)
        if (r->states[c] == CHUNK_KEPT)
            take_chunk(r, c, owner);
    for (uint64_t c = first, some; c < end && mapped; c += some) {
        some = r->states[c] == CHUNK_FREE ? map_some(r, device, c, end, owner) : 1;
        mapped = some > 0;
    }
    mapped = mapped && allow_all(r, first, end, devices);
    for (uint64_t c = first; c < end && !mapped; c++)
        if (r->states[c] == CHUNK_TAKEN)
            keep_chunk(r, c);
    return mapped;
}

/* ---- as src/pool asks ---- */

static enum mem_status range_take(int device, enum mem_kind kind, const void *owner, uint64_t bytes,
                                  uint64_t at, int fd, uint32_t devices, uint64_t *base)
{
    struct range *r = &ranges[device];
    uint64_t n = bytes / MEM_CHUNK, first = (at - r->base) / MEM_CHUNK;
    pthread_mutex_lock(&r->lock);
    bool found = at != 0 ? can_take_all(r, first, n, owner)
                         : (r->kept >= bytes && find_run(r, n, true, owner, &first)) ||
                               find_run(r, n, false, owner, &first);
    bool ok = found && take_run(r, device, first, n, owner, devices);
    /* What is kept elsewhere is memory, too. */
    if (found && !ok && give_back(r, 0, r->high, 0))
        ok = take_run(r, device, first, n, owner, devices);
    pthread_mutex_unlock(&r->lock);
    *base = address_of(r, first);
    return ok ? MEM_OK : MEM_OUT_OF_MEMORY;
}

static void range_drop(int device, uint64_t base, uint64_t bytes, int fd)
{
    struct range *r = &ranges[device];
    uint64_t first = (base - r->base) / MEM_CHUNK, end = first + bytes / MEM_CHUNK;
    pthread_mutex_lock(&r->lock);
    for (uint64_t c = first; c < end; c++)
        keep_chunk(r, c);
    give_back(r, first, end, r->kept_max);
    pthread_mutex_unlock(&r->lock);
}

static void range_allow(int device, uint64_t base, uint64_t bytes, uint32_t devices)
{
    struct range *r = &ranges[device];
    uint64_t first = (base - r->base) / MEM_CHUNK, end = first + bytes / MEM_CHUNK;
    pthread_mutex_lock(&r->lock);
    allow_all(r, first, end, devices);
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
    bool any = give_back(r, 0, r->high, 0);
    pthread_mutex_unlock(&r->lock);
    return any;
}
