/* managed: advice and prefetches for managed memory. Host and devices share one memory here, so
 * that no page ever moves and all advice is followed by doing nothing; what was advised is kept,
 * page by page, because programs may ask for it again. A prefetch has its place in the order of its
 * stream nevertheless: who waits for it has waited for what came before it. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "driver/objects.h"
#include "memory/view.h"

/* What was said of pages. Zero: nothing. */
struct advice {
    bool read_mostly;
    uint32_t accessed_by; /* bit n: device n; bit 31: the host */
    CUmemLocation preferred, prefetched;
};
#define ACCESSED_BY_HOST (1u << 31)

struct range {
    uint64_t begin, end; /* page by page */
    struct advice advice;
};

/* Disjoint ranges in address order; pages in none of them have heard nothing. */
static struct {
    pthread_mutex_t lock;
    struct range *items;
    size_t count, cap;
} advised = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void managed_insert(size_t at, struct range r)
{
    vec_push(&advised, r);
    memmove(&advised.items[at + 1], &advised.items[at],
            (advised.count - 1 - at) * sizeof *advised.items);
    advised.items[at] = r;
}

/* Index of the first range that ends after the address. */
static size_t first_after(uint64_t address)
{
    size_t n = 0;
    while (n < advised.count && advised.items[n].end <= address)
        n++;
    return n;
}

/* Makes the address a border, if it is inside a range. */
static void managed_split(uint64_t at)
{
    size_t n = first_after(at);
    if (n == advised.count || advised.items[n].begin >= at)
        return;
    struct range front = advised.items[n];
    front.end = at;
    advised.items[n].begin = at;
    managed_insert(n, front);
}

void managed_forget(uint64_t base, uint64_t bytes)
{
    uint64_t end = (base + bytes + WEIR_PAGE - 1) / WEIR_PAGE * WEIR_PAGE;
    base = base / WEIR_PAGE * WEIR_PAGE;
    pthread_mutex_lock(&advised.lock);
    managed_split(base);
    managed_split(end);
    size_t from = first_after(base), to = from;
    while (to < advised.count && advised.items[to].begin < end)
        to++;
    if (to > from)
        memmove(&advised.items[from], &advised.items[to],
                (advised.count - to) * sizeof *advised.items);
    advised.count -= to - from;
    pthread_mutex_unlock(&advised.lock);
}

/* Calls `change` for the advice of all pages of begin..end, which are made ranges if need be. */
static void managed_change(uint64_t begin, uint64_t end,
                           void (*change)(struct advice *a, const void *arg), const void *arg)
{
    begin = begin / WEIR_PAGE * WEIR_PAGE;
    end = (end + WEIR_PAGE - 1) / WEIR_PAGE * WEIR_PAGE;
    pthread_mutex_lock(&advised.lock);
    managed_split(begin);
    managed_split(end);
    for (size_t n = first_after(begin); begin < end; n++) {
        if (n == advised.count || advised.items[n].begin > begin) {
            uint64_t to =
                n == advised.count || advised.items[n].begin > end ? end : advised.items[n].begin;
            managed_insert(n, (struct range){.begin = begin, .end = to});
        }
        change(&advised.items[n].advice, arg);
        begin = advised.items[n].end;
    }
    pthread_mutex_unlock(&advised.lock);
}

/* ---- arguments ---- */

/* A range of managed memory, or of pageable memory, which devices reach just so. `*managed` tells
 * which. */
static CUresult check_range(CUdeviceptr at, size_t bytes, bool *managed)
{
    struct mem_info i;
    if (at == 0 || bytes == 0 || at + bytes < at)
        return CUDA_ERROR_INVALID_VALUE;
    *managed = false;
    if (!mem_find((void *)(uintptr_t)at, &i))
        return mem_checked() || mem_in_range((void *)(uintptr_t)at) ? CUDA_ERROR_INVALID_VALUE
                                                                    : CUDA_SUCCESS;
    *managed = i.kind == MEM_MANAGED;
    if (!*managed || bytes > i.base + i.size - at)
        return driver_error(CUDA_ERROR_INVALID_VALUE,
                            "%zu bytes at 0x%llx are no range of managed memory", bytes,
                            (unsigned long long)at);
    return CUDA_SUCCESS;
}

static CUresult check_location(const CUmemLocation *l)
{
    switch (l->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return device_check(l->id) == CUDA_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: {
        struct device_facts f;
        device_facts(driver_device(0), &f);
        return l->id >= 0 && (uint32_t)l->id < (f.numa_nodes ? f.numa_nodes : 1)
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
    }
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* ---- advice ---- */

struct request {
    CUmem_advise advice;
    CUmemLocation location;
};

static uint32_t accessor(const CUmemLocation *l)
{
    return l->type == CU_MEM_LOCATION_TYPE_DEVICE ? 1u << l->id : ACCESSED_BY_HOST;
}

static void advise(struct advice *a, const void *arg)
{
    const struct request *q = arg;
    switch (q->advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY: a->read_mostly = true; break;
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY: a->read_mostly = false; break;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION: a->preferred = q->location; break;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: a->preferred = (CUmemLocation){0}; break;
    case CU_MEM_ADVISE_SET_ACCESSED_BY: a->accessed_by |= accessor(&q->location); break;
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY: a->accessed_by &= ~accessor(&q->location); break;
    }
}

WEIR_API CUresult cuMemAdvise_v2(CUdeviceptr at, size_t bytes, CUmem_advise advice,
                                 CUmemLocation location)
{
    HOLD;
    CUcontext c;
    bool managed;
    CU_TRY(driver_current(&c));
    if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
        return CUDA_ERROR_INVALID_VALUE;
    bool local = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
                 advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
                 advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    CUresult r = check_range(at, bytes, &managed);
    if (r == CUDA_SUCCESS && local && check_location(&location) != CUDA_SUCCESS)
        r = CUDA_ERROR_INVALID_VALUE; /* a missing device too, unlike for prefetches */
    struct mem_info i;
    if (r == CUDA_SUCCESS && managed && mem_find((void *)(uintptr_t)at, &i) &&
        pool_of_memory(&i) != NULL)
        return driver_error(CUDA_ERROR_NOT_SUPPORTED,
                            "cuMemAdvise: memory of pools takes no advice");
    if (r == CUDA_SUCCESS && managed)
        managed_change(at, at + bytes, advise, &(struct request){advice, location});
    return r;
}

static void set_prefetched(struct advice *a, const void *arg)
{
    a->prefetched = *(CUmemLocation *)arg;
}

static CUresult prefetch_range(CUdeviceptr at, size_t bytes, CUmemLocation location)
{
    bool managed;
    CUresult r = check_range(at, bytes, &managed);
    if (r == CUDA_SUCCESS)
        r = check_location(&location);
    if (r == CUDA_SUCCESS && managed)
        managed_change(at, at + bytes, set_prefetched, &location);
    return r;
}

/* A stream for work of which there is no kind of node. */
struct place {
    struct device_stream *stream;
    CUcontext ctx;
};

static CUresult place_find(CUstream h, bool per_thread, struct place *p)
{
    CUresult r = driver_find_stream(h, per_thread, &p->stream, &p->ctx);
    if (r == CUDA_SUCCESS && WEIR_UNLIKELY(capture_running()))
        r = capture_forbid(p->stream, p->ctx);
    return r;
}

static void do_nothing(void *user) { (void)user; }

/* Enqueues work that has nothing to do but comes after what was enqueued before. */
static CUresult place_take(const struct place *p)
{
    return driver_from_device(p->ctx, device_call(p->stream, do_nothing, NULL));
}

static CUresult cuMemPrefetchAsync_v2_impl(bool pt, CUdeviceptr at, size_t bytes,
                                           CUmemLocation location, unsigned int flags,
                                           CUstream stream)
{
    HOLD;
    struct place place;
    CU_TRY(place_find(stream, pt, &place));
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(prefetch_range(at, bytes, location));
    return place_take(&place);
}
BOTH(cuMemPrefetchAsync_v2,
     (CUdeviceptr at, size_t bytes, CUmemLocation location, unsigned int flags, CUstream stream),
     at, bytes, location, flags, stream)

/* ---- many ranges at once ---- */

/* Location k holds from range first[k] on; `locations` NULL: the ranges are only checked. */
static CUresult managed_batch(CUstream stream, bool pt, CUdeviceptr *at, size_t *bytes,
                              size_t count, CUmemLocation *locations, size_t *first,
                              size_t nlocations, unsigned long long flags)
{
    struct place place;
    CUresult r = CUDA_SUCCESS;
    CU_TRY(place_find(stream, pt, &place));
    if (at == NULL || bytes == NULL || count == 0 || flags != 0 ||
        (locations != NULL &&
         (first == NULL || nlocations == 0 || nlocations > count || first[0] != 0)))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 1; locations != NULL && k < nlocations; k++)
        if (first[k] <= first[k - 1] || first[k] >= count)
            return CUDA_ERROR_INVALID_VALUE;
    size_t k = 0;
    for (size_t n = 0; n < count && r == CUDA_SUCCESS; n++) {
        bool managed;
        if (locations == NULL) {
            r = check_range(at[n], bytes[n], &managed);
            continue;
        }
        k += k + 1 < nlocations && first[k + 1] == n;
        r = prefetch_range(at[n], bytes[n], locations[k]);
    }
    return r == CUDA_SUCCESS ? place_take(&place) : r;
}

#define BATCH                                                                                      \
    CUdeviceptr *at, size_t *bytes, size_t count, CUmemLocation *locations, size_t *first,         \
        size_t nlocations, unsigned long long flags, CUstream stream

static CUresult cuMemPrefetchBatchAsync_impl(bool pt, BATCH)
{
    HOLD;
    if (locations == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return managed_batch(stream, pt, at, bytes, count, locations, first, nlocations, flags);
}
BOTH(cuMemPrefetchBatchAsync, (BATCH), at, bytes, count, locations, first, nlocations, flags,
     stream)

/* Contents that may be dropped need not be: discarding keeps them. */
static CUresult cuMemDiscardAndPrefetchBatchAsync_impl(bool pt, BATCH)
{
    return cuMemPrefetchBatchAsync_impl(pt, at, bytes, count, locations, first, nlocations, flags,
                                        stream);
}
BOTH(cuMemDiscardAndPrefetchBatchAsync, (BATCH), at, bytes, count, locations, first, nlocations,
     flags, stream)

static CUresult cuMemDiscardBatchAsync_impl(bool pt, CUdeviceptr *at, size_t *bytes, size_t count,
                                            unsigned long long flags, CUstream stream)
{
    HOLD;
    return managed_batch(stream, pt, at, bytes, count, NULL, NULL, 0, flags);
}
BOTH(cuMemDiscardBatchAsync,
     (CUdeviceptr * at, size_t *bytes, size_t count, unsigned long long flags, CUstream stream), at,
     bytes, count, flags, stream)

/* ---- the versions before CUDA 12.2: a device, or CU_DEVICE_CPU ---- */

static CUmemLocation location_of(CUdevice dev)
{
    return dev == CU_DEVICE_CPU ? (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, 0}
                                : (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, dev};
}

#undef cuMemAdvise
WEIR_API CUresult cuMemAdvise(CUdeviceptr at, size_t bytes, CUmem_advise advice, CUdevice dev);
WEIR_API CUresult cuMemAdvise(CUdeviceptr at, size_t bytes, CUmem_advise advice, CUdevice dev)
{
    HOLD;
    return cuMemAdvise_v2(at, bytes, advice, location_of(dev));
}

#undef cuMemPrefetchAsync
static CUresult cuMemPrefetchAsync_impl(bool pt, CUdeviceptr at, size_t bytes, CUdevice dev,
                                        CUstream stream)
{
    return cuMemPrefetchAsync_v2_impl(pt, at, bytes, location_of(dev), 0, stream);
}
BOTH(cuMemPrefetchAsync, (CUdeviceptr at, size_t bytes, CUdevice dev, CUstream stream), at, bytes,
     dev, stream)

/* ---- questions ---- */

static bool same_location(const CUmemLocation *a, const CUmemLocation *b)
{
    return a->type == b->type && a->id == b->id;
}

/* What holds for every page of the range: a location that is not everywhere the same is none. */
static struct advice managed_common(uint64_t begin, uint64_t end)
{
    static const struct advice nothing;
    struct advice all = nothing;
    bool first = true;
    begin = begin / WEIR_PAGE * WEIR_PAGE;
    end = (end + WEIR_PAGE - 1) / WEIR_PAGE * WEIR_PAGE;
    pthread_mutex_lock(&advised.lock);
    for (size_t n = first_after(begin); begin < end; first = false) {
        bool heard = n < advised.count && advised.items[n].begin <= begin;
        const struct advice *a = heard ? &advised.items[n].advice : &nothing;
        if (first)
            all = *a;
        all.read_mostly &= a->read_mostly;
        all.accessed_by &= a->accessed_by;
        if (!same_location(&all.preferred, &a->preferred))
            all.preferred = (CUmemLocation){0};
        if (!same_location(&all.prefetched, &a->prefetched))
            all.prefetched = (CUmemLocation){0};
        if (heard)
            begin = advised.items[n++].end;
        else
            begin = n < advised.count ? advised.items[n].begin : end;
    }
    pthread_mutex_unlock(&advised.lock);
    return all;
}

/* A location as the older calls name it. */
static int location_number(const CUmemLocation *l)
{
    switch (l->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: return l->id;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return CU_DEVICE_CPU;
    default: return CU_DEVICE_INVALID;
    }
}

static void accessors(const struct advice *a, int *out, size_t count)
{
    size_t used = 0;
    if (used < count && (a->accessed_by & ACCESSED_BY_HOST))
        out[used++] = CU_DEVICE_CPU;
    for (int n = 0; n < MEM_MAX_DEVICES; n++)
        if (used < count && (a->accessed_by & 1u << n))
            out[used++] = n;
    while (used < count)
        out[used++] = CU_DEVICE_INVALID;
}

static CUresult tell(const struct advice *a, CUmem_range_attribute which, void *out, size_t bytes)
{
    if (out == NULL || (which == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY ? bytes == 0 || bytes % 4 != 0
                                                                    : bytes != sizeof(int)))
        return CUDA_ERROR_INVALID_VALUE;
    int *p = out;
    switch (which) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: *p = a->read_mostly; break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION: *p = location_number(&a->preferred); break;
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY: accessors(a, p, bytes / 4); break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION: *p = location_number(&a->prefetched); break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE: *p = (int)a->preferred.type; break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID: *p = a->preferred.id; break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE: *p = (int)a->prefetched.type; break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID: *p = a->prefetched.id; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

WEIR_API CUresult cuMemRangeGetAttributes(void **out, size_t *bytes, CUmem_range_attribute *which,
                                          size_t count, CUdeviceptr at, size_t range)
{
    HOLD;
    CUcontext c;
    bool managed;
    CU_TRY(driver_current(&c));
    if (out == NULL || bytes == NULL || which == NULL || count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = check_range(at, range, &managed);
    if (r != CUDA_SUCCESS)
        return r;
    struct advice a = {0};
    if (managed)
        a = managed_common(at, at + range);
    for (size_t n = 0; n < count && r == CUDA_SUCCESS; n++)
        r = tell(&a, which[n], out[n], bytes[n]);
    return r;
}

WEIR_API CUresult cuMemRangeGetAttribute(void *out, size_t bytes, CUmem_range_attribute which,
                                         CUdeviceptr at, size_t range)
{
    HOLD;
    return cuMemRangeGetAttributes(&out, &bytes, &which, 1, at, range);
}

/* ---- who may use it ---- */

/* Host and devices may use all managed memory at any time here, whatever stream it is attached to.
 */
static CUresult cuStreamAttachMemAsync_impl(bool pt, CUstream stream, CUdeviceptr at, size_t bytes,
                                            unsigned int flags)
{
    HOLD;
    struct place place;
    struct mem_info i;
    CU_TRY(place_find(stream, pt, &place));
    bool own = stream != NULL && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
    if ((flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
         flags != CU_MEM_ATTACH_SINGLE) ||
        (flags == CU_MEM_ATTACH_SINGLE && !own) || at == 0)
        return CUDA_ERROR_INVALID_VALUE;
    bool fine;
    if (!mem_find((void *)(uintptr_t)at, &i)) /* pageable: a range with an end */
        fine = !mem_in_range((void *)(uintptr_t)at) && bytes != 0;
    else
        fine = i.kind == MEM_MANAGED && pool_of_memory(&i) == NULL && i.base == at &&
               (bytes == 0 || bytes == i.size);
    return fine ? place_take(&place) : CUDA_ERROR_INVALID_VALUE;
}
BOTH(cuStreamAttachMemAsync, (CUstream stream, CUdeviceptr at, size_t bytes, unsigned int flags),
     stream, at, bytes, flags)
