/* handle: slabs of objects by kind, in one range that stays; see handle.h. */
#include "driver/handle.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/base.h"
#include "base/slow_path.h"
#include "observe/observe.h"

enum {
    KINDS = 32,      /* different tags there may be */
    QUARANTINE = 64, /* destroyed objects of a kind that wait before one is used again */
    SPARE = 32,      /* slabs made ready for when the system lets us have none: one for each kind */
};
static const uint64_t reserved_most = (uint64_t)64 << 30; /* addresses, not memory */
static const uint64_t reserved_least = (uint64_t)4 << 20; /* where addresses are few */
static uint64_t reserved;

struct handle_range handle_range;

/* A destroyed object: the tag stays 0. */
struct dead {
    uint32_t wiped;
    struct dead *next;
};

struct kind {
    uint32_t tag; /* 0: none yet */
    uint32_t stride;
    char *fresh, *end;         /* never used objects of the newest slab */
    struct dead *first, *last; /* destroyed, oldest first */
    uint32_t dead;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* kinds, growing the range */
static struct kind kinds[KINDS];
static struct {
    char *first;
    uint32_t count;
} spare; /* slabs in a row, whichever kind needs one */

static struct kind *kind_of(uint32_t tag, size_t bytes)
{
    struct kind *k = kinds;
    while (k->tag != 0 && k->tag != tag) {
        k++;
        assert(k < kinds + KINDS);
    }
    if (k->tag == 0) {
        k->tag = tag;
        k->stride = (uint32_t)((bytes + HANDLE_ALIGN - 1) / HANDLE_ALIGN * HANDLE_ALIGN);
        if (k->stride < sizeof(struct dead))
            k->stride = sizeof(struct dead);
        assert(k->stride <= HANDLE_SLAB / 2);
    }
    return k;
}

/* As much of the range as the system lets us have: less under a limit (ulimit -v) or valgrind. */
static uintptr_t reserve(void)
{
    struct rlimit limit;
    reserved = reserved_most;
    if (getrlimit(RLIMIT_AS, &limit) == 0) /* most of what is there is for others */
        while (reserved / 2 >= reserved_least && reserved > limit.rlim_cur / 32)
            reserved /= 2;
    for (; reserved >= reserved_least; reserved /= 2) {
        void *p =
            mmap(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p != MAP_FAILED)
            return (uintptr_t)p;
    }
    return 0;
}

/* The next part of the range, of so many slabs, made usable; NULL when the system does not. */
static char *next_slabs(uint32_t count)
{
    if (handle_range.base == 0)
        handle_range.base = reserve();
    uint64_t used = atomic_load_explicit(&handle_range.in_use, memory_order_relaxed);
    uint64_t bytes = (uint64_t)count * HANDLE_SLAB;
    char *slab = (char *)handle_range.base + used;
    if (handle_range.base == 0 || used + bytes > reserved ||
        mprotect(slab, bytes, PROT_READ | PROT_WRITE) != 0)
        return NULL;
    holds_pointers(slab, bytes);
    atomic_store_explicit(&handle_range.in_use, used + bytes, memory_order_release);
    return slab;
}

bool handle_fill(void)
{
    pthread_mutex_lock(&lock);
    if (spare.count < SPARE / 2) { /* slabs that are left are forgotten: addresses, not memory */
        char *first = next_slabs(SPARE);
        if (first != NULL) {
            spare.first = first;
            spare.count = SPARE;
        }
    }
    bool enough = spare.count >= SPARE / 2;
    if (!enough) /* whoever comes next tries again */
        slow_path_set(SLOW_PATH_MEMORY);
    pthread_mutex_unlock(&lock);
    return enough;
}

/* False: there is none to be had. */
static bool new_slab(struct kind *k)
{
    char *slab = next_slabs(1);
    if (slab == NULL) {
        if (spare.count == 0)
            return false;
        slab = spare.first;
        spare.first += HANDLE_SLAB;
        spare.count--;
        slow_path_set(SLOW_PATH_MEMORY);
    }
    ((struct handle_slab *)slab)->tag = k->tag;
    k->fresh = slab + HANDLE_ALIGN;
    k->end = slab + HANDLE_SLAB;
    return true;
}

static void *take_dead(struct kind *k)
{
    struct dead *d = k->first;
    k->first = d->next;
    if (k->first == NULL)
        k->last = NULL;
    k->dead--;
    return d;
}

void *handle_begin(uint32_t tag, size_t bytes)
{
    char *p;
    pthread_mutex_lock(&lock);
    struct kind *k = kind_of(tag, bytes);
    if (k->dead > QUARANTINE) {
        p = take_dead(k);
    } else {
        bool fits = k->fresh != NULL && (size_t)(k->end - k->fresh) >= k->stride;
        p = fits || new_slab(k) ? k->fresh : k->first != NULL ? take_dead(k) : NULL;
        if (p != NULL && p == k->fresh)
            k->fresh += k->stride;
    }
    pthread_mutex_unlock(&lock);
    if (p == NULL)
        return NULL;
    memset(p + sizeof tag, 0, bytes - sizeof tag);
    return p;
}

void *handle_new(uint32_t tag, size_t bytes)
{
    void *object = handle_begin(tag, bytes);
    if (object != NULL)
        handle_publish(object, tag);
    return object;
}

bool handle_wipe(void *object)
{
    if (atomic_exchange((_Atomic uint32_t *)object, 0) == 0)
        return false; /* two threads destroy it at once */
    if (observed())
        observe_object_ended(object);
    return true;
}

static uint32_t kind_at(const void *object)
{
    uint64_t at = (uintptr_t)object - handle_range.base;
    return ((const struct handle_slab *)(handle_range.base + at / HANDLE_SLAB * HANDLE_SLAB))->tag;
}

void handle_recycle(void *object)
{
    struct dead *d = object;
    pthread_mutex_lock(&lock);
    struct kind *k = kind_of(kind_at(object), sizeof *d);
    d->next = NULL;
    if (k->last != NULL)
        k->last->next = d;
    else
        k->first = d;
    k->last = d;
    k->dead++;
    pthread_mutex_unlock(&lock);
}

void handle_free(void *object)
{
    if (object != NULL && handle_wipe(object))
        handle_recycle(object);
}
