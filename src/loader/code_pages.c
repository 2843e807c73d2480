/* Memory for code: pages handed out from large reserved ranges (see image.h). */
#include "loader/image.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Address space of one range. Reserving costs nothing; pages are taken when they are used. */
enum { RANGE_BYTES = 128 << 20 };

struct range {
    struct range *next;
    uint8_t *base;
    size_t pages, used;
    size_t hint;    /* no free page lies before this one */
    uint8_t *taken; /* per page */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *ranges;

size_t code_page(void)
{
    static atomic_size_t page;
    size_t known = atomic_load_explicit(&page, memory_order_relaxed);
    if (known == 0) {
        known = (size_t)sysconf(_SC_PAGESIZE);
        atomic_store_explicit(&page, known, memory_order_relaxed);
    }
    return known;
}

/* Address space for that many pages; NULL: there is not so much. */
static void *map_free(size_t pages)
{
    void *base = mmap(NULL, pages * code_page(), PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return base != MAP_FAILED ? base : NULL;
}

static struct range *range_new(size_t pages, struct diag *d)
{
    size_t wanted = RANGE_BYTES / code_page();
    wanted = wanted < pages ? pages : wanted;
    void *base = map_free(wanted);
    if (base == NULL && wanted > pages) /* the address space may be limited */
        base = map_free(wanted = pages);
    if (base == NULL) {
        diag_set_memory(d, "no address space for compiled code");
        return NULL;
    }
    pages = wanted;
    struct range *r = xcalloc(1, sizeof *r);
    r->base = base;
    r->pages = pages;
    r->taken = xcalloc(pages, 1);
    r->next = ranges;
    ranges = r;
    return r;
}

/* First run of `pages` free pages; r->pages when there is none. */
static size_t range_find(struct range *r, size_t pages)
{
    if (r->pages - r->used < pages)
        return r->pages;
    while (r->hint < r->pages && r->taken[r->hint])
        r->hint++;
    size_t run = 0;
    for (size_t i = r->hint; i < r->pages; i++) {
        run = r->taken[i] ? 0 : run + 1;
        if (run == pages)
            return i + 1 - pages;
    }
    return r->pages;
}

static uint8_t *alloc_locked(size_t pages, struct diag *d)
{
    struct range *r = ranges;
    size_t first = 0;
    for (; r != NULL; r = r->next) {
        first = range_find(r, pages);
        if (first < r->pages)
            break;
    }
    if (r == NULL) {
        r = range_new(pages, d);
        first = 0;
    }
    if (r == NULL)
        return NULL;
    uint8_t *at = r->base + first * code_page();
    if (mprotect(at, pages * code_page(), PROT_READ | PROT_WRITE) != 0) {
        diag_set_memory(d, "no memory for compiled code");
        return NULL;
    }
    memset(r->taken + first, 1, pages);
    r->used += pages;
    return at;
}

uint8_t *code_alloc(size_t bytes, struct diag *d)
{
    pthread_mutex_lock(&lock);
    uint8_t *at = alloc_locked(bytes / code_page(), d);
    pthread_mutex_unlock(&lock);
    return at;
}

void code_free(uint8_t *pages, size_t bytes)
{
    pthread_mutex_lock(&lock);
    struct range *r = ranges;
    while (r != NULL && !(pages >= r->base && pages < r->base + r->pages * code_page()))
        r = r->next;
    if (r != NULL) {
        size_t first = (size_t)(pages - r->base) / code_page();
        size_t count = bytes / code_page();
        /* A fresh mapping drops contents and access in one step. Should it fail (out of mappings),
         * the pages stay taken: a leak is better than stale code under new. */
        if (mmap(pages, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
                 -1, 0) != MAP_FAILED) {
            memset(r->taken + first, 0, count);
            r->used -= count;
            if (first < r->hint)
                r->hint = first;
        }
    }
    pthread_mutex_unlock(&lock);
}
