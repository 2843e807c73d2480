/* release: stands between a program and the functions by which it gives memory back, so that the
 * check for races sees that a copy is still under way there. As in sync.c, it tells of that once
 * the check has begun, and only while there is such work (host_sync.h).
 *
 * The loader and dlsym themselves free memory: what comes while the next function is looked for is
 * kept. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "internal.h"

static const struct host_sync_listener *watching(void)
{
    const struct host_sync_listener *l = __atomic_load_n(&sync_listener, __ATOMIC_ACQUIRE);
    return l != NULL && __atomic_load_n(l->watching, __ATOMIC_RELAXED) ? l : NULL;
}

static void tell(const struct host_sync_listener *l, const void *at, size_t bytes, const char *call,
                 const void *caller)
{
    int before = errno;
    bool own = (uintptr_t)caller - (uintptr_t)l->low < (uintptr_t)l->high - (uintptr_t)l->low;
    l->releases(at, bytes, call, caller, own);
    errno = before;
}

/* ---- blocks of malloc ---- */

static struct {
    void (*free)(void *);
    void *(*realloc)(void *, size_t);
    size_t (*size)(void *); /* NULL: the program has an allocator that cannot tell */
    bool found;
} heap;
static bool finding; /* before there is a second thread */

static bool same_library(const void *a, const void *b)
{
    Dl_info of_a, of_b;
    return dladdr(a, &of_a) != 0 && dladdr(b, &of_b) != 0 && of_a.dli_fbase == of_b.dli_fbase;
}

static void find_next(void)
{
    finding = true;
    *(void **)&heap.free = dlsym(RTLD_NEXT, "free");
    *(void **)&heap.realloc = dlsym(RTLD_NEXT, "realloc");
    void *size = dlsym(RTLD_NEXT, "malloc_usable_size");
    if (size != NULL && same_library(size, *(void **)&heap.free))
        *(void **)&heap.size = size;
    __atomic_store_n(&heap.found, true, __ATOMIC_RELEASE);
    finding = false;
}

static bool found(void)
{
    if (__atomic_load_n(&heap.found, __ATOMIC_ACQUIRE))
        return true;
    if (finding)
        return false;
    find_next();
    return true;
}

__attribute__((constructor)) static void begin(void) { found(); }

static void tell_block(void *p, const char *call, const void *caller)
{
    const struct host_sync_listener *l = watching();
    if (l != NULL && p != NULL)
        tell(l, p, heap.size != NULL ? heap.size(p) : 1, call, caller);
}

EXPORT void free(void *p)
{
    if (!found())
        return;
    tell_block(p, "free", CALLER);
    heap.free(p);
}

/* What is at the old place ends, wherever the new one is. */
EXPORT void *realloc(void *p, size_t bytes)
{
    if (!found())
        return NULL;
    tell_block(p, "realloc", CALLER);
    return heap.realloc(p, bytes);
}

/* ---- pages ---- */

EXPORT int munmap(void *at, size_t bytes)
{
    NEXT(munmap);
    const struct host_sync_listener *l = watching();
    if (l != NULL)
        tell(l, at, bytes, "munmap", CALLER);
    return next(at, bytes);
}
