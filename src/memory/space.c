/* space: the allocator of one reserved range: see space.h for its shape.
 *
 * Address space is plenty (several times the device's memory), so ranges are placed by first fit
 * over chunks and never moved. What costs is the system: changing the rights of a range takes
 * several microseconds, touching fresh pages a fifth of the time of writing them. So freed memory
 * keeps its rights and pages and is handed out again as it is; the cache is bounded. */
#include "memory/space.h"
#include "base/round.h"
#include "memory/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Objects up to this size live in slabs. */
static const uint64_t SLAB_MAX = 256 * 1024;

/* ---- size classes ---- */

/* 512 to 4096 in steps of 512, then four classes for each doubling. */

static uint32_t class_of(uint64_t bytes)
{
    if (bytes <= 4096)
        return (uint32_t)((bytes + 511) / 512) - 1;
    uint32_t log = 63 - (uint32_t)__builtin_clzll(bytes - 1); /* 2^log < bytes <= 2^(log+1) */
    uint64_t quarter = (uint64_t)1 << (log - 2);
    uint64_t step = (bytes - ((uint64_t)1 << log) + quarter - 1) / quarter; /* 1..4 */
    return 7 + (log - 12) * 4 + (uint32_t)step;
}

static uint64_t class_bytes(uint32_t c)
{
    if (c < 8)
        return (uint64_t)(c + 1) * 512;
    uint32_t log = 12 + (c - 8) / 4, step = (c - 8) % 4 + 1;
    return ((uint64_t)1 << log) + step * ((uint64_t)1 << (log - 2));
}

/* ---- the system ---- */

bool space_set_access(uint64_t base, uint64_t bytes, bool access)
{
    struct space *s = mem_guarded() ? space_at(base) : NULL;
    if (s != NULL && s->device >= 0)
        return view_set_access(s->device, (void *)base, bytes, access);
    return mprotect((void *)base, bytes, access ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
}

static void give_back(uint64_t base, uint64_t bytes)
{
    madvise((void *)base, bytes, MADV_DONTNEED);
}

bool space_clear_mapping(uint64_t base, uint64_t bytes)
{
    void *p = mmap((void *)base, bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (p ==
        MAP_FAILED) { /* no mapping left to split: at least nothing is reached there any more */
        space_set_access(base, bytes, false);
        return false;
    }
    madvise(p, bytes, MADV_HUGEPAGE);
    return true;
}

/* Takes rights and pages away. False: a file's pages are still there. */
static bool withdraw(uint64_t base, uint64_t bytes, struct mem_file *file)
{
    if (file != NULL) {
        bool cleared = space_clear_mapping(base, bytes);
        file_close(file);
        return cleared;
    }
    give_back(base, bytes);
    space_set_access(base, bytes, false);
    return true;
}

bool space_open(struct space *s, int device, uint64_t capacity, uint64_t size, struct diag *d)
{
    memset(s, 0, sizeof *s);
    s->device = device;
    s->capacity = capacity;
    s->cache_max = capacity / 4;
    s->size = round_up(size, SPACE_CHUNK);
    pthread_mutex_init(&s->lock, NULL);
    /* Aligned, and with a page without access before it: what runs off the front must fault, too.
     */
    uint64_t reserved = s->size + 2 * SPACE_CHUNK;
    char *p = mmap(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        if (d != NULL)
            d->out_of_memory = true;
        return diag_set(d, 0, 0, "cannot reserve %llu bytes of address space: %s",
                        (unsigned long long)s->size, strerror(errno));
    }
    s->mapping = p;
    s->mapped = reserved;
    s->base = round_up((uint64_t)p + SPACE_FRONT, SPACE_CHUNK);
    madvise((void *)s->base, s->size, MADV_HUGEPAGE); /* a wish: small pages work, too */
    s->chunk_count = s->size / SPACE_CHUNK;
    size_t table = s->chunk_count * sizeof *s->chunks;
    s->chunks = mmap(NULL, table, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (s->chunks == MAP_FAILED) {
        munmap(p, reserved);
        if (d != NULL)
            d->out_of_memory = true;
        return diag_set(d, 0, 0, "cannot map the table of device memory: %s", strerror(errno));
    }
    holds_pointers(s->chunks, table);
    return true;
}

void space_close(struct space *s)
{
    if (s->mapping == NULL)
        return;
    holds_no_pointers(s->chunks, s->chunk_count * sizeof *s->chunks);
    munmap(s->chunks, s->chunk_count * sizeof *s->chunks);
    munmap(s->mapping, s->mapped);
    pthread_mutex_destroy(&s->lock);
    s->mapping = NULL;
}

/* ---- chunks ---- */

bool space_take_chunks(struct space *s, uint64_t n, uint64_t align, uint64_t *first)
{
    /* From the hint on, then from the start. */
    for (int round = 0; round < 2; round++) {
        uint64_t run = 0;
        for (uint64_t i = round == 0 ? s->hint : 0; i < s->chunk_count; i++) {
            run = s->chunks[i].state == CHUNK_FREE ? run + 1 : 0;
            if (run < n || (s->base + (i + 1 - n) * SPACE_CHUNK) % align != 0)
                continue;
            *first = i + 1 - n;
            s->hint = i + 1;
            if (s->high < i + 1)
                s->high = i + 1;
            return true;
        }
    }
    return false;
}

void space_drop_chunks(struct space *s, uint64_t base, uint64_t n)
{
    uint64_t first = (base - s->base) / SPACE_CHUNK;
    memset(&s->chunks[first], 0, n * sizeof *s->chunks);
    if (first < s->hint && !mem_checked()) /* there, addresses are used again as late as can be */
        s->hint = first;
}

/* The owner of addresses that are not used again. */
static struct record retired;

void space_leave_chunks(struct space *s, uint64_t base, uint64_t n, bool cleared)
{
    if (cleared) {
        space_drop_chunks(s, base, n);
        return;
    }
    uint64_t first = (base - s->base) / SPACE_CHUNK;
    for (uint64_t i = 0; i < n; i++)
        s->chunks[first + i] = (struct chunk){.state = CHUNK_RESERVED, .record = &retired};
}

struct record *space_new_record(struct space *s)
{
    struct record *r = s->free_records;
    if (r != NULL) {
        s->free_records = r->next;
        memset(r, 0, sizeof *r);
        return r;
    }
    return xcalloc(1, sizeof *r);
}

void space_drop_record(struct space *s, struct record *r)
{
    r->next = s->free_records;
    s->free_records = r;
}

/* ---- large allocations ---- */

static uint32_t bin_of(uint64_t chunks)
{
    return chunks < SPACE_BINS ? (uint32_t)chunks - 1 : SPACE_BINS - 1;
}

static void cache_unlink(struct space *s, struct record *r)
{
    if (r->prev != NULL)
        r->prev->next = r->next;
    else
        s->bins[bin_of(r->chunks)] = r->next;
    if (r->next != NULL)
        r->next->prev = r->prev;
    if (r->older != NULL)
        r->older->newer = r->newer;
    else
        s->oldest = r->newer;
    if (r->newer != NULL)
        r->newer->older = r->older;
    else
        s->newest = r->older;
    s->cached -= r->span;
    r->next = r->prev = r->older = r->newer = NULL;
}

static void cache_add(struct space *s, struct record *r)
{
    struct record **bin = &s->bins[bin_of(r->chunks)];
    r->prev = NULL;
    r->next = *bin;
    if (*bin != NULL)
        (*bin)->prev = r;
    *bin = r;
    r->older = s->newest;
    r->newer = NULL;
    if (s->newest != NULL)
        s->newest->newer = r;
    else
        s->oldest = r;
    s->newest = r;
    s->cached += r->span;
}

/* Gives a large range's pages and addresses back. */
static void large_release(struct space *s, struct record *r)
{
    uint64_t bytes = r->open ? r->chunks * SPACE_CHUNK : r->span;
    bool cleared = withdraw(r->info.base, bytes, r->file);
    space_leave_chunks(s, r->info.base, r->chunks, cleared);
    s->guards -= !r->open;
    space_drop_record(s, r);
}

static void cache_trim(struct space *s, uint64_t keep)
{
    while (s->oldest != NULL && s->cached > keep) {
        struct record *r = s->oldest;
        cache_unlink(s, r);
        large_release(s, r);
    }
}

/* A cached range of that many chunks, best of the first few: one whose rights need no change. */
static struct record *cache_take(struct space *s, uint64_t chunks, uint64_t span)
{
    struct record *best = NULL;
    int looked = 0;
    for (struct record *r = s->bins[bin_of(chunks)]; r != NULL && looked < 16;
         r = r->next, looked++) {
        if (r->chunks != chunks)
            continue;
        if (best == NULL || r->span == span)
            best = r;
        if (r->span == span)
            break;
    }
    if (best == NULL)
        return NULL;
    cache_unlink(s, best);
    if (!best->open && best->span < span) {
        if (!space_set_access(best->info.base + best->span, span - best->span, true)) {
            large_release(s, best);
            return NULL;
        }
    } else if (!best->open && best->span > span) {
        give_back(best->info.base + span, best->span - span);
        space_set_access(best->info.base + span, best->span - span, false);
    }
    best->span = span;
    return best;
}

/* Chunks for an allocation: the cache may hold the last ones. */
static bool find_chunks(struct space *s, uint64_t n, uint64_t *first)
{
    if (space_take_chunks(s, n, SPACE_CHUNK, first))
        return true;
    cache_trim(s, 0);
    return space_take_chunks(s, n, SPACE_CHUNK, first);
}

static struct record *large_new(struct space *s, uint64_t chunks, uint64_t span)
{
    uint64_t first;
    if (!find_chunks(s, chunks, &first))
        return NULL;
    uint64_t base = s->base + first * SPACE_CHUNK;
    bool open = s->guards >= SPACE_GUARDS_MAX; /* neighbours then share one mapping */
    if (!space_set_access(base, open ? chunks * SPACE_CHUNK : span, true))
        return NULL;
    struct record *r = space_new_record(s);
    r->info.base = base;
    r->span = span;
    r->chunks = chunks;
    r->open = open;
    s->guards += !open;
    for (uint64_t i = 0; i < chunks; i++)
        s->chunks[first + i] =
            (struct chunk){.state = i == 0 ? CHUNK_LARGE : CHUNK_BODY, .record = r};
    return r;
}

static struct record *large_alloc(struct space *s, uint64_t bytes)
{
    uint64_t span = round_up(bytes, WEIR_PAGE);
    /* One page without access after it: none is needed in the range when it ends within a chunk.
     */
    uint64_t chunks = (span + WEIR_PAGE + SPACE_CHUNK - 1) / SPACE_CHUNK;
    if (span > s->capacity - s->used)
        return NULL;
    struct record *r = cache_take(s, chunks, span);
    if (r == NULL) {
        if (s->used + s->cached + span > s->capacity)
            cache_trim(s, s->capacity - s->used - span);
        r = large_new(s, chunks, span);
    }
    if (r != NULL)
        s->used += span;
    return r;
}

/* ---- slabs ---- */

static void partial_add(struct space *s, struct slab *slab)
{
    struct slab **list = &s->partial[slab->list];
    slab->prev = NULL;
    slab->next = *list;
    if (*list != NULL)
        (*list)->prev = slab;
    *list = slab;
}

static void partial_remove(struct space *s, struct slab *slab)
{
    if (slab->prev != NULL)
        slab->prev->next = slab->next;
    else
        s->partial[slab->list] = slab->next;
    if (slab->next != NULL)
        slab->next->prev = slab->prev;
    slab->next = slab->prev = NULL;
}

static bool slab_full(const struct slab *slab)
{
    return slab->free_head == UINT32_MAX && slab->fresh == slab->objects;
}

static struct slab *slab_new(struct space *s, uint32_t size_class, uint32_t list)
{
    uint64_t first, bytes = class_bytes(size_class);
    if (!find_chunks(s, 1, &first))
        return NULL;
    /* Whole pages get a page without access after them; smaller objects share pages. */
    bool guarded = bytes > 4096 && s->guards < SPACE_GUARDS_MAX;
    uint64_t stride = guarded ? round_up(bytes, WEIR_PAGE) + WEIR_PAGE : bytes;
    struct slab *slab = xcalloc(1, sizeof *slab);
    slab->base = s->base + first * SPACE_CHUNK;
    slab->stride = (uint32_t)stride;
    slab->objects = (uint32_t)((SPACE_CHUNK - WEIR_PAGE) / stride);
    slab->size_class = size_class;
    slab->list = list;
    slab->guarded = guarded;
    slab->free_head = UINT32_MAX;
    if (!guarded && !space_set_access(slab->base, SPACE_CHUNK - WEIR_PAGE, true)) {
        free(slab);
        return NULL;
    }
    s->guards += guarded ? slab->objects : 1;
    slab->records = xcalloc(slab->objects, sizeof *slab->records);
    s->chunks[first] = (struct chunk){.state = CHUNK_SLAB, .slab = slab};
    partial_add(s, slab);
    return slab;
}

static void slab_release(struct space *s, struct slab *slab)
{
    partial_remove(s, slab);
    bool cleared = withdraw(slab->base, SPACE_CHUNK, slab->file);
    s->guards -= slab->guarded ? slab->objects : 1;
    space_leave_chunks(s, slab->base, 1, cleared);
    free(slab->records);
    free(slab);
}

/* What other processes may be given has slabs of its own: what else is in a slab would be theirs to
 * see then, and would be moved when it is shared, whoever is at it. */
static struct record *slab_alloc(struct space *s, uint64_t bytes, enum mem_kind kind)
{
    uint32_t size_class = class_of(bytes);
    uint64_t rounded = class_bytes(size_class);
    if (rounded > s->capacity - s->used)
        return NULL;
    if (s->used + s->cached + rounded > s->capacity)
        cache_trim(s, s->capacity - s->used - rounded);
    uint32_t list = kind == MEM_DEVICE ? size_class : SPACE_CLASSES + size_class;
    struct slab *slab = s->partial[list];
    if (slab == NULL && (slab = slab_new(s, size_class, list)) == NULL)
        return NULL;
    uint32_t index = slab->free_head;
    /* In checked mode what was freed is used again as late as can be. */
    if (index != UINT32_MAX && !(mem_checked() && slab->fresh < slab->objects)) {
        slab->free_head = (uint32_t)slab->records[index].chunks;
    } else {
        index = slab->fresh;
        uint64_t base = slab->base + (uint64_t)index * slab->stride;
        if (slab->guarded && !space_set_access(base, slab->stride - WEIR_PAGE, true))
            return NULL;
        slab->fresh++;
    }
    slab->live++;
    if (slab_full(slab))
        partial_remove(s, slab);
    s->used += rounded;
    struct record *r = &slab->records[index];
    r->info.base = slab->base + (uint64_t)index * slab->stride;
    return r;
}

static void slab_free(struct space *s, struct slab *slab, struct record *r)
{
    bool was_full = slab_full(slab);
    r->chunks = slab->free_head;
    slab->free_head = (uint32_t)(r - slab->records);
    slab->live--;
    s->used -= class_bytes(slab->size_class);
    if (was_full)
        partial_add(s, slab);
    /* An empty slab stays while it is its class's only one: alternating alloc and free stay cheap.
     */
    if (slab->live == 0 && (slab->next != NULL || slab->prev != NULL))
        slab_release(s, slab);
}

/* Releases the slabs that were kept though empty. */
static void slabs_trim(struct space *s)
{
    for (uint32_t c = 0; c < SPACE_LISTS; c++)
        for (struct slab *slab = s->partial[c], *next; slab != NULL; slab = next) {
            next = slab->next;
            if (slab->live == 0)
                slab_release(s, slab);
        }
}

void space_trim(struct space *s, uint64_t keep)
{
    cache_trim(s, keep);
    if (keep == 0)
        slabs_trim(s);
}

/* ---- finding ---- */

static bool live(const struct record *r) { return r->info.kind != MEM_PAGEABLE; }

struct record *space_find(struct space *s, uint64_t address)
{
    struct chunk *c = &s->chunks[(address - s->base) / SPACE_CHUNK];
    struct record *r = NULL;
    if (c->state == CHUNK_SLAB) {
        uint64_t index = (address - c->slab->base) / c->slab->stride;
        r = index < c->slab->fresh ? &c->slab->records[index] : NULL;
    } else if (c->state == CHUNK_LARGE || c->state == CHUNK_BODY) {
        r = c->record;
    }
    return r != NULL && live(r) && address - r->info.base < r->info.size ? r : NULL;
}

struct record *space_find_before(struct space *s, uint64_t address)
{
    for (uint64_t i = (address - s->base) / SPACE_CHUNK + 1; i-- > 0;) {
        struct chunk *c = &s->chunks[i];
        if (c->state == CHUNK_LARGE && live(c->record))
            return c->record;
        if (c->state != CHUNK_SLAB || c->slab->fresh == 0)
            continue;
        uint64_t offset = address - c->slab->base;
        uint64_t k = offset / c->slab->stride < c->slab->fresh ? offset / c->slab->stride
                                                               : c->slab->fresh - 1;
        for (k++; k-- > 0;)
            if (live(&c->slab->records[k]))
                return &c->slab->records[k];
    }
    return NULL;
}

struct record *space_find_after(struct space *s, uint64_t address)
{
    const uint64_t near = 32; /* chunks */
    uint64_t first = address < s->base ? 0 : (address - s->base) / SPACE_CHUNK;
    for (uint64_t i = first; i < s->chunk_count && i < first + near; i++) {
        struct chunk *c = &s->chunks[i];
        if (c->state == CHUNK_LARGE && live(c->record) && c->record->info.base > address)
            return c->record;
        if (c->state != CHUNK_SLAB)
            continue;
        uint64_t k = address < c->slab->base ? 0 : (address - c->slab->base) / c->slab->stride;
        for (; k < c->slab->fresh; k++)
            if (live(&c->slab->records[k]) && c->slab->records[k].info.base > address)
                return &c->slab->records[k];
    }
    return NULL;
}

const struct freed_record *space_find_freed(const struct space *s, uint64_t address)
{
    uint64_t n = s->freed_count < SPACE_FREED ? s->freed_count : SPACE_FREED;
    for (uint64_t i = 1; i <= n; i++) {
        const struct freed_record *freed = &s->freed[(s->freed_count - i) % SPACE_FREED];
        if (address - freed->info.base < freed->info.size)
            return freed;
    }
    return NULL;
}

void space_visit(struct space *s, bool (*visit)(void *self, struct record *r), void *self)
{
    for (uint64_t i = 0; i < s->high; i++) {
        struct chunk c = s->chunks[i];
        if (c.state == CHUNK_LARGE && live(c.record) && !visit(self, c.record))
            return;
        /* The visitor may free the object it is shown, and with it the slab. */
        for (uint32_t k = 0; s->chunks[i].state == CHUNK_SLAB && k < s->chunks[i].slab->fresh; k++)
            if (live(&c.slab->records[k]) && !visit(self, &c.slab->records[k]))
                return;
    }
}

/* ---- alloc and free ---- */

/* Bytes to take for so many asked for. In checked mode what is small gets a margin after it, so
 * that what runs past does not land in the next one. */
static uint64_t with_margin(uint64_t bytes)
{
    const uint64_t least = 512, most = 16 * 1024;
    if (!mem_checked())
        return bytes;
    return bytes + (bytes < least ? least : bytes > most ? most : bytes);
}

enum mem_status space_alloc(struct space *s, const struct mem_request *request, uint64_t serial,
                            void **out)
{
    pthread_mutex_lock(&s->lock);
    uint64_t padded = with_margin(request->bytes);
    bool small = padded <= SLAB_MAX && request->align <= MEM_ALIGNMENT;
    struct record *r = NULL;
    if (request->bytes <= s->capacity)
        r = small ? slab_alloc(s, padded, request->kind) : large_alloc(s, request->bytes);
    if (r != NULL) {
        r->info = (struct mem_info){.kind = request->kind,
                                    .device = s->device,
                                    .flags = request->flags,
                                    .base = r->info.base,
                                    .size = request->bytes,
                                    .serial = serial,
                                    .owner = request->owner,
                                    .user = request->user,
                                    .made = mem_site_now()};
        *out = (void *)r->info.base;
    }
    pthread_mutex_unlock(&s->lock);
    return r != NULL ? MEM_OK : MEM_OUT_OF_MEMORY;
}

void space_remember(struct space *s, const struct record *r)
{
    s->freed[s->freed_count++ % SPACE_FREED] =
        (struct freed_record){.info = r->info, .freed = mem_site_now()};
}

/* Ends a live record. `keep`: its memory may wait in the cache, unless others may still have it. */
static void record_free(struct space *s, struct record *r, bool keep)
{
    if (r->range != NULL) {
        mapping_drop(s, r);
        return;
    }
    space_remember(s, r);
    mem_changed();
    r->info.kind = MEM_PAGEABLE;
    struct chunk *c = &s->chunks[(r->info.base - s->base) / SPACE_CHUNK];
    if (c->state == CHUNK_SLAB) {
        if (c->slab->file != NULL)
            atomic_store(&c->slab->file->trailer->live[r - c->slab->records], 0);
        slab_free(s, c->slab, r);
        return;
    }
    s->used -= r->span;
    if (!keep || r->file != NULL || r->span > s->cache_max || mem_checked()) {
        large_release(s, r);
        return;
    }
    cache_add(s, r);
    if (s->cached > s->cache_max)
        cache_trim(s, s->cache_max / 2);
}

enum mem_status space_free(struct space *s, uint64_t address, unsigned kinds)
{
    pthread_mutex_lock(&s->lock);
    struct record *r = space_find(s, address);
    bool ok = r != NULL && r->info.base == address && (r->info.kind & kinds) != 0;
    if (ok)
        record_free(s, r, true);
    pthread_mutex_unlock(&s->lock);
    return ok ? MEM_OK : MEM_INVALID;
}

struct free_owned {
    struct space *space;
    const void *owner;
};

static bool free_if_owned(void *self, struct record *r)
{
    struct free_owned *f = self;
    if (r->info.owner == f->owner)
        record_free(f->space, r, false);
    return true;
}

void space_free_owned(struct space *s, const void *owner)
{
    pthread_mutex_lock(&s->lock);
    space_visit(s, free_if_owned, &(struct free_owned){s, owner});
    space_trim(s, 0);
    pthread_mutex_unlock(&s->lock);
}
