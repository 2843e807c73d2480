/* share: giving memory to other processes and taking theirs.
 *
 * What is exported for the first time is copied to a file, which is then mapped over the very same
 * addresses: pointers stay, and whoever maps the file has the same pages. It is done in pieces, so
 * that at no time much of the memory exists twice. If the system has no memory left half-way, the
 * pieces done stay what they are, pages of a file that no one else knows. */
#include <string.h>
#include <sys/mman.h>

#include "memory/space.h"
#include "memory/view.h"

static const uint64_t PIECE = (uint64_t)64 << 20;

/* The pages that hold an allocation, which are shared as one. */
struct extent {
    uint64_t base, bytes;
    struct mem_file **file; /* where the allocator keeps it */
    uint64_t slots;         /* allocations it may hold */
    uint32_t slot;          /* which one is meant */
};

static struct extent extent_of(struct space *s, struct record *r)
{
    struct chunk *c = &s->chunks[(r->info.base - s->base) / SPACE_CHUNK];
    if (c->state != CHUNK_SLAB)
        return (struct extent){.base = r->info.base,
                               .bytes = r->open ? r->chunks * SPACE_CHUNK : r->span,
                               .file = &r->file,
                               .slots = 1};
    return (struct extent){.base = c->slab->base,
                           .bytes = SPACE_CHUNK,
                           .file = &c->slab->file,
                           .slots = c->slab->objects,
                           .slot = (uint32_t)(r - c->slab->records)};
}

/* Copies what a slab holds and maps the file without rights, then gives the objects theirs. */
static bool move_slab(struct slab *slab, struct mem_file *f)
{
    uint64_t used = slab->guarded ? slab->fresh : 1;
    uint64_t bytes = slab->guarded ? slab->stride - WEIR_PAGE : SPACE_CHUNK - WEIR_PAGE;
    for (uint64_t i = 0; i < used; i++)
        if (!file_fill(f, i * slab->stride, (void *)(slab->base + i * slab->stride), bytes))
            return false;
    if (file_map(f, (void *)slab->base, 0, SPACE_CHUNK, false) == NULL)
        return false;
    for (uint64_t i = 0; i < used; i++)
        space_set_access(slab->base + i * slab->stride, bytes, true);
    return true;
}

static bool move_large(const struct extent *g, struct mem_file *f)
{
    for (uint64_t at = 0; at < g->bytes; at += PIECE) {
        uint64_t n = g->bytes - at < PIECE ? g->bytes - at : PIECE;
        void *to = (void *)(g->base + at);
        if (!file_fill(f, at, to, n) || file_map(f, to, at, n, true) == NULL ||
            (mem_guarded() && !space_set_access((uint64_t)to, n, true)))
            return false;
    }
    return true;
}

/* Makes the extent's pages those of a file. The lock is held, and the thread is in the view. */
static bool make_shared(struct space *s, const struct extent *g)
{
    struct mem_file *f = file_new(FILE_ALLOCATION, s->device, g->bytes, g->slots);
    if (f == NULL)
        return false;
    struct chunk *c = &s->chunks[(g->base - s->base) / SPACE_CHUNK];
    bool moved = c->state == CHUNK_SLAB ? move_slab(c->slab, f) : move_large(g, f);
    if (!moved) {
        file_close(f);
        return false;
    }
    *g->file = f;
    return true;
}

bool mem_is_shared(const void *address)
{
    struct space *s = space_at((uint64_t)address);
    if (s == NULL)
        return false;
    pthread_mutex_lock(&s->lock);
    struct record *r = space_find(s, (uint64_t)address);
    bool shared = r != NULL && *extent_of(s, r).file != NULL;
    pthread_mutex_unlock(&s->lock);
    return shared;
}

enum mem_status mem_export(const void *address, struct share_handle *out)
{
    struct space *s = space_at((uint64_t)address);
    if (s == NULL)
        return MEM_INVALID;
    struct mem_view before = mem_view_enter(); /* it takes the lock, too; the system reads for us */
    pthread_mutex_lock(&s->lock);
    enum mem_status status = MEM_INVALID;
    struct record *r = space_find(s, (uint64_t)address);
    if (r != NULL && r->info.kind == MEM_DEVICE) {
        struct extent g = extent_of(s, r);
        status = *g.file != NULL || make_shared(s, &g) ? MEM_OK : MEM_OUT_OF_MEMORY;
        if (status == MEM_OK) {
            atomic_store(&(*g.file)->trailer->live[g.slot], r->info.serial);
            share_handle_make(out, *g.file, r->info.base - g.base, r->info.size, g.slot,
                              r->info.serial);
        }
    }
    pthread_mutex_unlock(&s->lock);
    mem_view_leave(before);
    return status;
}

/* ---- the other side ---- */

struct record *mapping_new(struct space *s, uint64_t bytes)
{
    uint64_t first, chunks = (bytes + WEIR_PAGE + SPACE_CHUNK - 1) / SPACE_CHUNK;
    if (!space_take_chunks(s, chunks, SPACE_CHUNK, &first))
        return NULL;
    struct record *r = space_new_record(s);
    r->info.base = s->base + first * SPACE_CHUNK;
    r->span = bytes;
    r->chunks = chunks;
    r->range = r;
    for (uint64_t i = 0; i < chunks; i++)
        s->chunks[first + i] =
            (struct chunk){.state = i == 0 ? CHUNK_LARGE : CHUNK_BODY, .record = r};
    return r;
}

void mapping_describe(struct record *r, const struct mem_info *like, uint64_t within,
                      uint64_t bytes)
{
    r->info = (struct mem_info){.kind = like->kind,
                                .device = like->device,
                                .flags = MEM_READ_WRITE,
                                .base = r->info.base + within,
                                .size = bytes,
                                .serial = memory_serial(),
                                .owner = like->owner,
                                .user = like->user,
                                .made = mem_site_now()};
}

enum mem_status mem_map_part(const struct mem_file *f, uint64_t offset, uint64_t bytes,
                             const struct mem_info *like, void **out)
{
    struct space *s = space_of(MEM_MAPPINGS);
    if (bytes == 0 || offset > f->bytes || bytes > f->bytes - offset)
        return MEM_INVALID;
    uint64_t within = offset % WEIR_PAGE; /* the mapping starts with a whole page */
    uint64_t whole = (within + bytes + WEIR_PAGE - 1) & ~(WEIR_PAGE - 1);
    pthread_mutex_lock(&s->lock);
    struct record *r = mapping_new(s, within + bytes);
    if (r != NULL && file_map(f, (void *)r->info.base, offset - within, whole, true) == NULL) {
        space_drop_chunks(s, r->info.base, r->chunks);
        space_drop_record(s, r);
        r = NULL;
    }
    if (r != NULL) {
        mapping_describe(r, like, within, bytes);
        *out = (void *)r->info.base;
    }
    pthread_mutex_unlock(&s->lock);
    return r != NULL ? MEM_OK : MEM_OUT_OF_MEMORY;
}

enum file_status mem_import(const struct share_handle *h, int device, const void *owner, void **out)
{
    struct mem_file *f;
    enum file_status status = file_open(h, &f);
    if (status != FILE_OK)
        return status;
    struct mem_info like = {.kind = MEM_IMPORTED, .device = device, .owner = owner};
    int maker = atomic_load(&f->trailer->device);
    if (maker >= 0 && space_of(maker) != NULL)
        like.device = maker; /* the same device, as both processes count them */
    if (mem_map_part(f, h->offset, h->bytes, &like, out) != MEM_OK)
        status = FILE_REFUSED;
    else if (observed())
        memory_tell_made(*out);
    file_close(f);
    return status;
}
