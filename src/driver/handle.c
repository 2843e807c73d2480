/* handle: slabs of objects by kind, in one range that stays; see handle.h. */
#include "driver/handle.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/base.h"

enum {
    KINDS = 32,      /* different tags there may be */
    QUARANTINE = 64, /* destroyed objects of a kind that wait before one is used again */
};
static uint64_t reserved = (uint64_t)64 << 30;            /* addresses, not memory */
static const uint64_t reserved_least = (uint64_t)1 << 20; /* where addresses are few */

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

static struct kind *kind_of(uint32_t tag, size_t bytes)
{
    struct kind *k = kinds;
    while (k->tag != 0 && k->tag != tag)
        if (++k == kinds + KINDS)
            abort(); /* more kinds than were counted on: ours to correct */
    if (k->tag == 0) {
        k->tag = tag;
        k->stride = (uint32_t)((bytes + HANDLE_ALIGN - 1) / HANDLE_ALIGN * HANDLE_ALIGN);
        if (k->stride < sizeof(struct dead))
            k->stride = sizeof(struct dead);
        if (k->stride > HANDLE_SLAB / 2)
            abort();
    }
    return k;
}

/* As much of the range as the system lets us have: less under a limit (ulimit -v) or valgrind. */
static uintptr_t reserve(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0) /* most of what is there is for others */
        while (reserved / 2 >= reserved_least && reserved > limit.rlim_cur / 32)
            reserved /= 2;
    for (; reserved >= reserved_least; reserved /= 2) {
        void *p =
            mmap(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p != MAP_FAILED)
            return (uintptr_t)p;
    }
    abort();
}

static void new_slab(struct kind *k)
{
    if (handle_range.base == 0)
        handle_range.base = reserve();
    uint64_t used = atomic_load_explicit(&handle_range.in_use, memory_order_relaxed);
    char *slab = (char *)handle_range.base + used;
    if (used + HANDLE_SLAB > reserved || mprotect(slab, HANDLE_SLAB, PROT_READ | PROT_WRITE) != 0)
        abort();
    holds_pointers(slab, HANDLE_SLAB);
    ((struct handle_slab *)slab)->tag = k->tag;
    k->fresh = slab + HANDLE_ALIGN;
    k->end = slab + HANDLE_SLAB;
    atomic_store_explicit(&handle_range.in_use, used + HANDLE_SLAB, memory_order_release);
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

void *handle_new(uint32_t tag, size_t bytes)
{
    char *p;
    pthread_mutex_lock(&lock);
    struct kind *k = kind_of(tag, bytes);
    if (k->dead > QUARANTINE) {
        p = take_dead(k);
    } else {
        if (k->fresh == NULL || (size_t)(k->end - k->fresh) < k->stride)
            new_slab(k);
        p = k->fresh;
        k->fresh += k->stride;
    }
    pthread_mutex_unlock(&lock);
    memset(p + sizeof tag, 0, bytes - sizeof tag);
    atomic_store_explicit((_Atomic uint32_t *)(void *)p, tag, memory_order_release);
    return p;
}

void handle_free(void *object)
{
    if (object == NULL)
        return;
    struct dead *d = object;
    uint32_t tag = atomic_exchange((_Atomic uint32_t *)object, 0);
    if (tag == 0)
        return; /* two threads destroy it at once */
    pthread_mutex_lock(&lock);
    struct kind *k = kind_of(tag, sizeof *d);
    d->next = NULL;
    if (k->last != NULL)
        k->last->next = d;
    else
        k->first = d;
    k->last = d;
    k->dead++;
    pthread_mutex_unlock(&lock);
}
