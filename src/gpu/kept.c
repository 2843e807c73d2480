/* kept: memory of cudaMalloc that the program has freed, kept for its next call of the same size. A
 * driver maps and unmaps memory in 20 to 100 µs; what is kept is found in less than one.
 *
 * Kept is what a program asks for again and again: an allocation of a size that had been freed when
 * it was made. The first time, memory goes back to the driver, and a kernel that touches it faults.
 *
 * What can be seen stays as the driver has it: an allocation is the driver's own, of the very size
 * that was asked for; a free waits for the context's work, as the driver's does; kept memory counts
 * as free, a pointer to it is one to nothing, and the driver gets it back when memory runs out. It
 * is kept only if the driver still has it under the number that it had when it was made: what the
 * program frees by the driver API is known by that. Nothing is kept while a stream is captured or
 * once a device has failed, nor what another process or another device may be using. */
#include <string.h>

#include "gpu/internal.h"

enum { KEPT_MAX = 64, KNOWN_MAX = 1 << 16 };
enum { SHARE = 64 };  /* of the device's memory may be kept */
enum { SIZES = 256 }; /* that are remembered */

enum state { LIVE, MOVING, KEPT };

struct allocation {
    struct node node; /* the key is the address */
    size_t bytes;
    unsigned long long id; /* the driver's number of it */
    struct context *context;
    enum state state;
    bool again; /* one of its size had been freed before */
};

static struct table known = {.bytes = sizeof(struct allocation)};

static struct {
    pthread_mutex_t lock;              /* of all this, and of the allocations */
    struct allocation *list[KEPT_MAX]; /* the latest last; kept_count are in it */
    size_t known;
    size_t freed[SIZES]; /* sizes, each in its place of a hash */
    uint64_t bytes[MEM_MAX_DEVICES], most[MEM_MAX_DEVICES];
    bool shared; /* other devices reach memory of this kind: none is kept any more */
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};
_Atomic size_t kept_count;

/* ---- under the lock ---- */

static CUdeviceptr address_of(const struct allocation *a)
{
    return (CUdeviceptr)(uintptr_t)atomic_load(&a->node.key);
}

static struct allocation *find(CUdeviceptr at)
{
    return (struct allocation *)table_find(&known, (void *)(uintptr_t)at);
}

/* Takes it out of the list: it is the caller's. */
static struct allocation *take(size_t i)
{
    struct allocation *a = kept.list[i];
    kept.bytes[a->context->device] -= a->bytes;
    kept_count--;
    memmove(&kept.list[i], &kept.list[i + 1], (kept_count - i) * sizeof(struct allocation *));
    a->state = MOVING;
    return a;
}

static void forget(struct allocation *a)
{
    for (size_t i = 0; i < kept_count && a->state == KEPT; i++)
        if (kept.list[i] == a)
            take(i);
    table_remove(&known, atomic_load(&a->node.key));
    table_spare(&known, &a->node);
    kept.known--;
}

/* Address of the oldest one, which is then known no more; 0: there is none. */
static CUdeviceptr drop_oldest(int device)
{
    for (size_t i = 0; i < kept_count; i++)
        if (kept.list[i]->context->device == device) {
            struct allocation *a = take(i);
            CUdeviceptr at = address_of(a);
            forget(a);
            return at;
        }
    return 0;
}

static size_t *place_of(size_t bytes)
{
    return &kept.freed[(uint64_t)bytes * 0x9e3779b97f4a7c15u >> 56];
}

/* ---- what the driver says ---- */

/* The number of the allocation at the address; 0: there is none. */
static unsigned long long number_of(CUdeviceptr at)
{
    unsigned long long id = 0;
    return driver.cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, at) == CUDA_SUCCESS
               ? id
               : 0;
}

/* Whether the current context works: the question is one that changes nothing. */
static bool is_healthy(void)
{
    CUfunc_cache unused;
    return driver.cuCtxGetCacheConfig(&unused) == CUDA_SUCCESS;
}

/* Bytes that may be kept of the device. */
static uint64_t most(int device)
{
    size_t total = 0;
    if (kept.most[device] == 0 && driver.cuDeviceTotalMem_v2(&total, device) == CUDA_SUCCESS)
        kept.most[device] = total / SHARE;
    return kept.most[device];
}

/* ---- allocating ---- */

static struct allocation *take_fitting(size_t bytes, const struct context *c)
{
    struct allocation *a = NULL;
    pthread_mutex_lock(&kept.lock);
    for (size_t i = kept_count; i-- > 0 && a == NULL;)
        if (kept.list[i]->bytes == bytes && kept.list[i]->context == c)
            a = take(i);
    pthread_mutex_unlock(&kept.lock);
    return a;
}

bool kept_alloc(CUdeviceptr *out, size_t bytes)
{
    struct context *c;
    struct allocation *a;
    if (kept_count == 0 || atomic_load(&closer) > 0 || (c = context_current()) == NULL)
        return false;
    bool good = false;
    while (!good && (a = take_fitting(bytes, c)) != NULL) {
        CUdeviceptr at = address_of(a);
        good = is_healthy() && number_of(at) == a->id;
        pthread_mutex_lock(&kept.lock);
        if (good) {
            a->state = LIVE;
            *out = at;
        } else {
            forget(a);
        }
        pthread_mutex_unlock(&kept.lock);
    }
    return good;
}

void kept_made(CUdeviceptr at, size_t bytes)
{
    struct context *c = context_current();
    unsigned long long id = c != NULL ? number_of(at) : 0;
    pthread_mutex_lock(&kept.lock);
    struct allocation *a = find(at);
    bool moving = a != NULL && a->state == MOVING; /* another thread finds out that it is gone */
    if (a != NULL && !moving)                      /* the program has freed it by the driver API */
        forget(a);
    if (id != 0 && !moving && !kept.shared && kept.known < KNOWN_MAX) {
        a = (struct allocation *)table_take(&known);
        a->bytes = bytes;
        a->id = id;
        a->context = c;
        a->again = *place_of(bytes) == bytes;
        table_put(&known, &a->node, (void *)(uintptr_t)at);
        kept.known++;
    }
    pthread_mutex_unlock(&kept.lock);
}

/* ---- freeing ---- */

/* Frees what is more than may be kept, if `bytes` come to it. */
static void free_oldest(int device, uint64_t bytes)
{
    CUdeviceptr at;
    do {
        pthread_mutex_lock(&kept.lock);
        bool more = kept_count == KEPT_MAX || kept.bytes[device] + bytes > most(device);
        at = more ? drop_oldest(device) : 0;
        pthread_mutex_unlock(&kept.lock);
        if (at != 0)
            driver.cuMemFree_v2(at);
    } while (at != 0);
}

static bool may_keep(const struct allocation *a)
{
    return a->again && !kept.shared && atomic_load(&closer) == 0 &&
           a->context == context_current() && !atomic_load(&a->context->gone) &&
           a->bytes <= most(a->context->device);
}

/* All that may be using it has come to its end, and the driver has it still. */
static bool is_unused(const struct allocation *a, CUdeviceptr at)
{
    return driver.cuCtxSynchronize() == CUDA_SUCCESS && number_of(at) == a->id;
}

CUresult kept_free(CUdeviceptr at)
{
    pthread_mutex_lock(&kept.lock);
    struct allocation *a = find(at);
    enum state was = a != NULL ? a->state : LIVE;
    bool keep = a != NULL && was == LIVE && may_keep(a);
    if (a != NULL && was == LIVE)
        *place_of(a->bytes) = a->bytes;
    if (keep)
        a->state = MOVING;
    else if (a != NULL && was == LIVE)
        forget(a);
    pthread_mutex_unlock(&kept.lock);
    if (was != LIVE)
        return CUDA_ERROR_INVALID_VALUE;
    if (!keep)
        return driver.cuMemFree_v2(at);
    int device = a->context->device;
    keep = is_unused(a, at);
    if (keep)
        free_oldest(device, a->bytes);
    pthread_mutex_lock(&kept.lock);
    keep = keep && kept_count < KEPT_MAX;
    if (keep) {
        a->state = KEPT;
        kept.bytes[device] += a->bytes;
        kept.list[kept_count++] = a;
    } else {
        forget(a);
    }
    pthread_mutex_unlock(&kept.lock);
    return keep ? CUDA_SUCCESS : driver.cuMemFree_v2(at);
}

/* ---- what is kept ---- */

uint64_t kept_bytes(int device)
{
    pthread_mutex_lock(&kept.lock);
    uint64_t bytes = kept.bytes[device];
    pthread_mutex_unlock(&kept.lock);
    return bytes;
}

bool kept_holds_any(CUdeviceptr at)
{
    bool holds = false;
    pthread_mutex_lock(&kept.lock);
    for (size_t i = 0; i < kept_count && !holds; i++)
        holds = at - address_of(kept.list[i]) < kept.list[i]->bytes;
    pthread_mutex_unlock(&kept.lock);
    return holds;
}

bool kept_give_back(int device)
{
    bool any = false;
    CUdeviceptr at;
    do {
        pthread_mutex_lock(&kept.lock);
        at = drop_oldest(device);
        pthread_mutex_unlock(&kept.lock);
        if (at != 0)
            any |= driver.cuMemFree_v2(at) == CUDA_SUCCESS;
    } while (at != 0);
    return any;
}

bool kept_too_little(int device, uint64_t bytes)
{
    pthread_mutex_lock(&kept.lock);
    bool too_little = kept.most[device] != 0 && bytes / SHARE > kept.most[device];
    pthread_mutex_unlock(&kept.lock);
    return too_little;
}

void kept_forget(int device)
{
    pthread_mutex_lock(&kept.lock);
    while (drop_oldest(device) != 0)
        ;
    pthread_mutex_unlock(&kept.lock);
}

/* ---- what others may be using ---- */

CUresult gpu_cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    pthread_mutex_lock(&kept.lock);
    kept.shared = true;
    pthread_mutex_unlock(&kept.lock);
    for (int i = 0; i < MEM_MAX_DEVICES; i++)
        kept_give_back(i);
    return driver.cuCtxEnablePeerAccess(peer, flags);
}

CUresult gpu_cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr at)
{
    pthread_mutex_lock(&kept.lock);
    struct allocation *a = find(at);
    bool live = a == NULL || a->state == LIVE;
    if (a != NULL && live)
        forget(a);
    pthread_mutex_unlock(&kept.lock);
    return live ? driver.cuIpcGetMemHandle(out, at) : CUDA_ERROR_INVALID_VALUE;
}
