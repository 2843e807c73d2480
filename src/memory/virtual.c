/* virtual: addresses without pages: reservations, and mappings of files in them.
 *
 * All of it happens in a range of its own. A reservation is a record that is never live and owns
 * chunks; a mapping takes chunks of it over with a live record, and gives them back. What another
 * process shares is a mapping that is its own reservation (share.c). */
#include <sys/mman.h>

#include "memory/space.h"
#include "memory/view.h"

static uint64_t index_of(const struct space *s, uint64_t address)
{
    return (address - s->base) / SPACE_CHUNK;
}

static bool aligned(uint64_t n) { return n % SPACE_CHUNK == 0; }

static void own(struct space *s, uint64_t base, uint64_t chunks, struct record *r,
                enum chunk_state first, enum chunk_state rest)
{
    for (uint64_t i = 0; i < chunks; i++)
        s->chunks[index_of(s, base) + i] =
            (struct chunk){.state = i == 0 ? first : rest, .record = r};
}

/* Whether these chunks are free; then they count as used. */
static bool take_at(struct space *s, uint64_t base, uint64_t chunks)
{
    if (!aligned(base) || !space_holds(s, base) || base - s->base + chunks * SPACE_CHUNK > s->size)
        return false;
    uint64_t first = index_of(s, base);
    for (uint64_t i = 0; i < chunks; i++)
        if (s->chunks[first + i].state != CHUNK_FREE)
            return false;
    if (s->high < first + chunks)
        s->high = first + chunks;
    return true;
}

enum mem_status mem_reserve(uint64_t bytes, uint64_t align, uint64_t hint, void **out)
{
    struct space *s = space_of(MEM_MAPPINGS);
    if (bytes == 0 || !aligned(bytes) || !aligned(hint) || (align & (align - 1)) != 0)
        return MEM_INVALID;
    if (bytes > s->size || align > s->size)
        return MEM_OUT_OF_MEMORY;
    uint64_t first, chunks = bytes / SPACE_CHUNK, base = hint;
    pthread_mutex_lock(&s->lock);
    bool found = hint != 0 && take_at(s, hint, chunks);
    if (!found && space_take_chunks(s, chunks, align > SPACE_CHUNK ? align : SPACE_CHUNK, &first)) {
        found = true;
        base = s->base + first * SPACE_CHUNK;
    }
    if (found) {
        struct record *r = space_new_record(s);
        r->info.base = base;
        r->chunks = chunks;
        own(s, base, chunks, r, CHUNK_RESERVED, CHUNK_RESERVED);
        *out = (void *)base;
    }
    pthread_mutex_unlock(&s->lock);
    return found ? MEM_OK : MEM_OUT_OF_MEMORY;
}

/* Whether the range is addresses of one reservation without a mapping; which one. */
static struct record *reserved(struct space *s, uint64_t at, uint64_t bytes)
{
    if (bytes == 0 || !aligned(at) || !aligned(bytes) || !space_holds(s, at) ||
        bytes > s->size - (at - s->base))
        return NULL;
    struct chunk *c = &s->chunks[index_of(s, at)];
    for (uint64_t i = 0; i < bytes / SPACE_CHUNK; i++)
        if (c[i].state != CHUNK_RESERVED || c[i].record != c->record)
            return NULL;
    return c->record;
}

enum mem_status mem_unreserve(void *base, uint64_t bytes)
{
    struct space *s = space_of(MEM_MAPPINGS);
    pthread_mutex_lock(&s->lock);
    struct record *r = reserved(s, (uint64_t)base, bytes);
    bool whole = r != NULL && r->info.base == (uint64_t)base && r->chunks * SPACE_CHUNK == bytes;
    if (whole) {
        space_drop_chunks(s, (uint64_t)base, r->chunks);
        space_drop_record(s, r);
    }
    pthread_mutex_unlock(&s->lock);
    return whole ? MEM_OK : MEM_INVALID;
}

enum mem_status mem_map(void *at, uint64_t bytes, const struct mem_file *file, uint64_t offset,
                        int device, void *user)
{
    struct space *s = space_of(MEM_MAPPINGS);
    if (!aligned(offset) || offset > file->bytes || bytes > file->bytes - offset)
        return MEM_INVALID;
    pthread_mutex_lock(&s->lock);
    struct record *range = reserved(s, (uint64_t)at, bytes);
    enum mem_status status = range == NULL ? MEM_INVALID : MEM_OK;
    if (status == MEM_OK && file_map(file, at, offset, bytes, false) == NULL)
        status = MEM_OUT_OF_MEMORY;
    if (status == MEM_OK) {
        struct record *r = space_new_record(s);
        r->info = (struct mem_info){.kind = MEM_MAPPED,
                                    .device = device,
                                    .base = (uint64_t)at,
                                    .size = bytes,
                                    .serial = memory_serial(),
                                    .user = user,
                                    .made = mem_site_now()};
        r->span = bytes;
        r->chunks = bytes / SPACE_CHUNK;
        r->range = range;
        own(s, (uint64_t)at, r->chunks, r, CHUNK_LARGE, CHUNK_BODY);
    }
    pthread_mutex_unlock(&s->lock);
    if (observed() && status == MEM_OK)
        memory_tell_made(at);
    return status;
}

void mapping_drop(struct space *s, struct record *r)
{
    uint64_t base = r->info.base & ~(WEIR_PAGE - 1);
    space_remember(s, r);
    mem_changed();
    r->info.kind = MEM_PAGEABLE;
    bool cleared = space_clear_mapping(base, r->chunks * SPACE_CHUNK);
    if (r->range == r)
        space_leave_chunks(s, base, r->chunks, cleared);
    else
        own(s, base, r->chunks, r->range, CHUNK_RESERVED, CHUNK_RESERVED);
    space_drop_record(s, r);
}

/* Whether every mapping that the range touches is in it as a whole, and all of it is reserved. */
static bool whole_mappings(struct space *s, uint64_t at, uint64_t bytes)
{
    if (bytes == 0 || !aligned(at) || !aligned(bytes) || !space_holds(s, at) ||
        bytes > s->size - (at - s->base))
        return false;
    for (uint64_t end = at + bytes; at < end;) {
        struct chunk *c = &s->chunks[index_of(s, at)];
        bool mapped = c->state == CHUNK_LARGE && c->record->info.kind == MEM_MAPPED;
        if ((!mapped && c->state != CHUNK_RESERVED) || (mapped && c->record->span > end - at))
            return false;
        at += mapped ? c->record->span : SPACE_CHUNK;
    }
    return true;
}

static bool mapped_at(struct space *s, uint64_t at)
{
    return s->chunks[index_of(s, at)].state != CHUNK_RESERVED;
}

/* The first mapping at or above the address and below the end; NULL when there is none. */
static struct record *next_mapping(struct space *s, uint64_t *at, uint64_t end)
{
    while (*at < end && !mapped_at(s, *at))
        *at += SPACE_CHUNK;
    struct record *r = *at < end ? s->chunks[index_of(s, *at)].record : NULL;
    *at += r != NULL ? r->span : 0;
    return r;
}

enum mem_status mem_unmap(void *base, uint64_t bytes, void (*dropped)(void *user))
{
    struct space *s = space_of(MEM_MAPPINGS);
    uint64_t at = (uint64_t)base, end = at + bytes;
    pthread_mutex_lock(&s->lock);
    bool fits = whole_mappings(s, at, bytes);
    for (struct record *r; fits && (r = next_mapping(s, &at, end)) != NULL;) {
        void *user = r->info.user;
        if (observed())
            memory_tell_dropped(r);
        mapping_drop(s, r);
        dropped(user);
    }
    pthread_mutex_unlock(&s->lock);
    return fits ? MEM_OK : MEM_INVALID;
}

/* Gives a mapping its rights; false when the system has no mappings left. */
static bool protect(struct record *r, enum mem_rights rights, uint32_t devices)
{
    static const int protection[] = {[MEM_NO_ACCESS] = PROT_NONE,
                                     [MEM_READ] = PROT_READ,
                                     [MEM_READ_WRITE] = PROT_READ | PROT_WRITE};
    void *base = (void *)(r->info.base & ~(WEIR_PAGE - 1));
    uint64_t whole = (r->info.base % WEIR_PAGE + r->span + WEIR_PAGE - 1) & ~(WEIR_PAGE - 1);
    if (!view_set_rights_of(devices, base, whole, protection[rights]))
        return false;
    r->info.flags = rights;
    r->devices = devices;
    mem_changed();
    return true;
}

enum mem_status mem_set_rights(void *base, uint64_t bytes,
                               enum mem_rights (*decide)(void *user, void *arg, uint32_t *devices),
                               void *arg)
{
    struct space *s = space_of(MEM_MAPPINGS);
    uint64_t at = (uint64_t)base, end = at + bytes;
    pthread_mutex_lock(&s->lock);
    bool fits = whole_mappings(s, at, bytes) && mapped_at(s, at) && mapped_at(s, end - 1);
    enum mem_status status = fits ? MEM_OK : MEM_INVALID;
    for (struct record *r; status == MEM_OK && (r = next_mapping(s, &at, end)) != NULL;) {
        uint32_t devices = 0;
        enum mem_rights rights = decide(r->info.user, arg, &devices);
        if (!protect(r, rights, devices))
            status = MEM_OUT_OF_MEMORY;
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

void mem_map_allow(const void *base, uint32_t devices)
{
    struct space *s = space_of(MEM_MAPPINGS);
    pthread_mutex_lock(&s->lock);
    struct record *r = space_find(s, (uint64_t)base);
    if (r != NULL)
        protect(r, MEM_READ_WRITE, devices);
    pthread_mutex_unlock(&s->lock);
}

bool mem_reservation(const void *at, uint64_t *base, uint64_t *bytes)
{
    struct space *s = space_of(MEM_MAPPINGS);
    if (s == NULL || !space_holds(s, (uint64_t)at))
        return false;
    pthread_mutex_lock(&s->lock);
    struct record *r = space_find(s, (uint64_t)at);
    bool found = r != NULL && r->range != r;
    if (found) {
        *base = r->range->info.base;
        *bytes = r->range->chunks * SPACE_CHUNK;
    }
    pthread_mutex_unlock(&s->lock);
    return found;
}
