/* heap: the heap of malloc() and free() in kernels: a fixed piece of device memory, used by all
 * blocks at once.
 *
 * Pages of 4 KiB. A small size class takes runs of four pages and cuts them into equal objects; a
 * larger request takes pages of its own. All bookkeeping is outside the heap, where kernels cannot
 * write. Each class has its own lock, the page table another one. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "exec/internal.h"
#include "memory/memory.h"
#include "memory/view.h"

enum { RUN_PAGES = 4, RUN_BYTES = WEIR_PAGE * RUN_PAGES, CLASSES = 20, NONE = UINT16_MAX };

/* Object sizes; the last leaves five objects in a run. */
static const uint16_t class_bytes[CLASSES] = {16,  32,   48,   64,   80,   96,  112,
                                              128, 160,  192,  256,  320,  384, 512,
                                              640, 1024, 1360, 1632, 2336, 3264};

/* A run of pages cut into objects. */
struct run {
    uint32_t page; /* its first */
    uint16_t size_class, live, objects;
    uint16_t free_head;
    struct run *next, *prev;       /* runs of the class with free blocks */
    uint16_t link[RUN_BYTES / 16]; /* next free object; NONE ends; LIVE for those in use */
};

static const uint16_t LIVE = UINT16_MAX - 1;

enum page_state { PAGE_FREE, PAGE_RUN, PAGE_LARGE, PAGE_MIDDLE };
struct page {
    enum page_state state;
    uint32_t count;  /* pages of a PAGE_LARGE allocation, at its first; a PAGE_RUN's size class */
    struct run *run; /* of a PAGE_RUN: there while its class is locked */
};

struct heap {
    uint8_t *base;
    uint32_t pages_count, hint;
    uint8_t *given;       /* checked mode: 1 for each byte that malloc has given out; else NULL */
    pthread_mutex_t lock; /* of the page table */
    struct page *pages;
    struct {
        pthread_mutex_t lock; /* of the class's runs and their objects */
        struct run *partial;
    } classes[CLASSES];
};

struct heap *heap_new(int device, const void *owner, uint64_t bytes)
{
    void *base;
    bytes = (bytes + WEIR_PAGE - 1) / WEIR_PAGE * WEIR_PAGE;
    struct mem_request request = {
        .device = device, .kind = MEM_HEAP, .bytes = bytes, .owner = owner};
    if (bytes / WEIR_PAGE > UINT32_MAX || mem_alloc(&request, &base) != MEM_OK)
        return NULL;
    struct heap *h = xcalloc(1, sizeof *h);
    h->base = base;
    h->pages_count = (uint32_t)(bytes / WEIR_PAGE);
    h->pages = xcalloc(h->pages_count, sizeof *h->pages);
    h->given = mem_checked() ? calloc(bytes, 1) : NULL; /* without it, accesses are not looked at */
    pthread_mutex_init(&h->lock, NULL);
    for (int c = 0; c < CLASSES; c++)
        pthread_mutex_init(&h->classes[c].lock, NULL);
    return h;
}

void heap_free_all(struct heap *h, bool memory_too)
{
    for (uint32_t i = 0; i < h->pages_count; i++)
        if (h->pages[i].state == PAGE_RUN) {
            free(h->pages[i].run);
            i += RUN_PAGES - 1; /* its other pages */
        }
    if (memory_too)
        mem_free(h->base, MEM_HEAP);
    pthread_mutex_destroy(&h->lock);
    for (int c = 0; c < CLASSES; c++)
        pthread_mutex_destroy(&h->classes[c].lock);
    free(h->given);
    free(h->pages);
    free(h);
}

/* ---- pages ---- */

/* First run of free pages from the hint on, then from the start; UINT32_MAX when there is none. */
static uint32_t find_pages(struct heap *h, uint32_t count)
{
    for (int round = 0; round < 2; round++) {
        uint32_t found = 0;
        for (uint32_t i = round == 0 ? h->hint : 0; i < h->pages_count; i++) {
            found = h->pages[i].state == PAGE_FREE ? found + 1 : 0;
            if (found == count)
                return i + 1 - count;
        }
    }
    return UINT32_MAX;
}

static uint32_t take_pages(struct heap *h, uint32_t count, struct run *run)
{
    pthread_mutex_lock(&h->lock);
    uint32_t first = find_pages(h, count);
    for (uint32_t i = 0; first != UINT32_MAX && i < count; i++) {
        struct page *p = &h->pages[first + i];
        p->state = run != NULL ? PAGE_RUN : i == 0 ? PAGE_LARGE : PAGE_MIDDLE;
        p->count = run != NULL ? run->size_class : count;
        p->run = run;
    }
    if (first != UINT32_MAX)
        h->hint = first + count;
    pthread_mutex_unlock(&h->lock);
    return first;
}

/* The lock is held. */
static void drop_pages(struct heap *h, uint32_t first, uint32_t count)
{
    memset(&h->pages[first], 0, count * sizeof *h->pages);
    if (first < h->hint)
        h->hint = first;
}

/* ---- runs ---- */

static int class_of(uint64_t bytes)
{
    int c = 0;
    while (c < CLASSES && class_bytes[c] < bytes)
        c++;
    return c;
}

static struct run *run_new(struct heap *h, int c)
{
    struct run *r = xmalloc(sizeof *r);
    r->size_class = (uint16_t)c;
    r->live = 0;
    r->objects = RUN_BYTES / class_bytes[c];
    r->free_head = 0;
    r->next = r->prev = NULL;
    for (uint16_t i = 0; i < r->objects; i++)
        r->link[i] = i + 1 < r->objects ? i + 1 : NONE;
    r->page = take_pages(h, RUN_PAGES, r);
    if (r->page == UINT32_MAX) {
        free(r);
        return NULL;
    }
    return r;
}

static void list_add(struct run **list, struct run *r)
{
    r->prev = NULL;
    r->next = *list;
    if (*list != NULL)
        (*list)->prev = r;
    *list = r;
}

static void list_remove(struct run **list, struct run *r)
{
    if (r->prev != NULL)
        r->prev->next = r->next;
    else
        *list = r->next;
    if (r->next != NULL)
        r->next->prev = r->prev;
}

static void *small_alloc(struct heap *h, int c)
{
    pthread_mutex_lock(&h->classes[c].lock);
    struct run *r = h->classes[c].partial;
    if (r == NULL && (r = run_new(h, c)) != NULL)
        list_add(&h->classes[c].partial, r);
    uint8_t *p = NULL;
    if (r != NULL) {
        uint16_t object = r->free_head;
        r->free_head = r->link[object];
        r->link[object] = LIVE;
        r->live++;
        if (r->free_head == NONE)
            list_remove(&h->classes[c].partial, r);
        p = h->base + (uint64_t)r->page * WEIR_PAGE + (uint64_t)object * class_bytes[c];
    }
    pthread_mutex_unlock(&h->classes[c].lock);
    return p;
}

/* Checked mode: some bytes after each allocation are nobody's. */
enum { MARGIN = 16 };

static void mark(struct heap *h, uint64_t offset, uint64_t bytes, uint8_t given)
{
    if (h->given != NULL)
        memset(h->given + offset, given, bytes);
}

bool heap_checks(const struct heap *h, uint64_t address)
{
    return h->given != NULL && address - (uint64_t)h->base < (uint64_t)h->pages_count * WEIR_PAGE;
}

uint64_t heap_given(const struct heap *h, uint64_t address, uint64_t bytes)
{
    uint64_t n = 0, offset = address - (uint64_t)h->base;
    while (n < bytes && heap_checks(h, address + n) && h->given[offset + n] != 0)
        n++;
    return n;
}

static void *alloc(struct heap *h, uint64_t bytes)
{
    int c = class_of(bytes);
    if (c < CLASSES)
        return small_alloc(h, c);
    uint32_t first = take_pages(h, (uint32_t)((bytes + WEIR_PAGE - 1) / WEIR_PAGE), NULL);
    return first != UINT32_MAX ? h->base + (uint64_t)first * WEIR_PAGE : NULL;
}

void *heap_alloc(struct heap *h, uint64_t bytes)
{
    if (bytes == 0 || bytes > (uint64_t)h->pages_count * WEIR_PAGE)
        return NULL;
    uint8_t *p = alloc(h, bytes + (h->given != NULL ? MARGIN : 0));
    if (p != NULL)
        mark(h, (uint64_t)(p - h->base), bytes, 1);
    return p;
}

/* Ends an object of the run, whose class is locked; false: there is none at that address. */
static bool run_free(struct heap *h, struct run *r, uint64_t offset)
{
    int c = r->size_class;
    uint64_t inside = offset - (uint64_t)r->page * WEIR_PAGE, object = inside / class_bytes[c];
    if (inside % class_bytes[c] != 0 || object >= r->objects || r->link[object] != LIVE)
        return false;
    mark(h, offset, class_bytes[c], 0);
    if (r->free_head == NONE)
        list_add(&h->classes[c].partial, r);
    r->link[object] = r->free_head;
    r->free_head = (uint16_t)object;
    /* An empty run goes back unless it is the class's only one with free blocks. */
    if (--r->live == 0 && (r->next != NULL || r->prev != NULL)) {
        list_remove(&h->classes[c].partial, r);
        pthread_mutex_lock(&h->lock);
        drop_pages(h, r->page, RUN_PAGES);
        pthread_mutex_unlock(&h->lock);
        free(r);
    }
    return true;
}

static struct page page_at(struct heap *h, uint64_t offset)
{
    pthread_mutex_lock(&h->lock);
    struct page page = h->pages[offset / WEIR_PAGE];
    pthread_mutex_unlock(&h->lock);
    return page;
}

/* `page`: what was there a moment ago. A kernel may free an object twice at the same time, and with
 * it the run: what is there is looked at again with the class locked. */
static bool small_free(struct heap *h, const struct page *page, uint64_t offset)
{
    pthread_mutex_lock(&h->classes[page->count].lock);
    struct page now = page_at(h, offset);
    bool fine = now.state == PAGE_RUN && now.run == page->run && now.count == page->count &&
                run_free(h, now.run, offset);
    pthread_mutex_unlock(&h->classes[page->count].lock);
    return fine;
}

/* An allocation of pages of its own; false: none starts there. */
static bool large_free(struct heap *h, uint64_t offset)
{
    pthread_mutex_lock(&h->lock);
    const struct page *page = &h->pages[offset / WEIR_PAGE];
    bool fine = page->state == PAGE_LARGE && offset % WEIR_PAGE == 0;
    if (fine)
        mark(h, offset, (uint64_t)page->count * WEIR_PAGE, 0);
    if (fine)
        drop_pages(h, (uint32_t)(offset / WEIR_PAGE), page->count);
    pthread_mutex_unlock(&h->lock);
    return fine;
}

bool heap_free(struct heap *h, void *p)
{
    uint64_t offset = (uint64_t)p - (uint64_t)h->base;
    if (offset >= (uint64_t)h->pages_count * WEIR_PAGE)
        return false;
    struct page page = page_at(h, offset);
    return page.state == PAGE_RUN ? small_free(h, &page, offset) : large_free(h, offset);
}

uint64_t heap_size(struct heap *h, const void *p)
{
    uint64_t offset = (uint64_t)p - (uint64_t)h->base;
    if (offset >= (uint64_t)h->pages_count * WEIR_PAGE)
        return 0;
    struct page page = page_at(h, offset);
    if (page.state == PAGE_LARGE)
        return offset % WEIR_PAGE == 0 ? (uint64_t)page.count * WEIR_PAGE : 0;
    return page.state == PAGE_RUN ? class_bytes[page.count] : 0;
}
