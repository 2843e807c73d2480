/* suballocated: whole chunks of a range for an allocator above this layer (the pools). The layer
 * accounts for addresses and capacity and asks the suballocator what is at an address; what is in
 * the chunks is its business.
 *
 * The backing is one of two: private anonymous memory, which gets huge pages, or a file in memory,
 * whose pages another process can map. A byte of such a chunk has the same offset in the file as in
 * the range, so an address is all that must be told to find it. */
#include <fcntl.h>
#include <sys/mman.h>

#include "memory/space.h"
#include "memory/view.h"

static const struct mem_suballocator *suballocator;

void mem_set_suballocator(const struct mem_suballocator *s) { suballocator = s; }

bool mem_range(int device, uint64_t *base, uint64_t *bytes)
{
    struct space *s = space_of(device);
    if (s == NULL)
        return false;
    *base = s->base;
    *bytes = s->size;
    return true;
}

static bool set_access(const struct space *s, uint64_t base, uint64_t bytes, uint32_t devices,
                       bool access)
{
    if (mem_guarded() && s->device >= 0)
        return view_set_access_of(devices, (void *)base, bytes, access);
    return mprotect((void *)base, bytes, access ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
}

/* Makes the chunks accessible for the devices, on pages of the system's or of the file. */
static bool back(struct space *s, uint64_t base, uint64_t bytes, int fd, uint32_t devices)
{
    if (fd >= 0 && mmap((void *)base, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, fd,
                        (off_t)(base - s->base)) == MAP_FAILED)
        return false;
    return set_access(s, base, bytes, devices, true);
}

/* The pages go back to the system, the addresses stay reserved. False: a file's pages are still
 * there.
 */
static bool unback(struct space *s, uint64_t base, uint64_t bytes, int fd)
{
    if (fd < 0) {
        madvise((void *)base, bytes, MADV_DONTNEED);
        set_access(s, base, bytes, 0, false);
        return true;
    }
    bool cleared = space_clear_mapping(base, bytes);
    fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(base - s->base),
              (off_t)bytes);
    return cleared;
}

static bool all_free(const struct space *s, uint64_t first, uint64_t n)
{
    if (first >= s->chunk_count || n > s->chunk_count - first)
        return false;
    for (uint64_t i = first; i < first + n; i++)
        if (s->chunks[i].state != CHUNK_FREE)
            return false;
    return true;
}

/* Chunks at `at`, if that is given and they are free there, else anywhere. */
static bool take_chunks(struct space *s, uint64_t n, uint64_t at, uint64_t *first)
{
    if (at == 0)
        return space_take_chunks(s, n, SPACE_CHUNK, first);
    *first = (at - s->base) / SPACE_CHUNK;
    if (!all_free(s, *first, n))
        return false;
    if (s->high < *first + n)
        s->high = *first + n;
    return true;
}

enum mem_status mem_chunks_take(int device, enum mem_kind kind, uint64_t bytes, uint64_t at, int fd,
                                uint32_t devices, uint64_t *base)
{
    struct space *s = space_of(device);
    if (s == NULL || bytes == 0 || bytes % SPACE_CHUNK != 0 ||
        (at != 0 && (!space_holds(s, at) || (at - s->base) % SPACE_CHUNK != 0)))
        return MEM_INVALID;
    enum mem_status status = MEM_OUT_OF_MEMORY;
    pthread_mutex_lock(&s->lock);
    uint64_t first;
    if (bytes <= s->capacity - s->used) {
        if (s->used + s->cached + bytes > s->capacity)
            space_trim(s, s->capacity - s->used - bytes);
        bool found = take_chunks(s, bytes / SPACE_CHUNK, at, &first);
        if (!found && at == 0) { /* the addresses may be held by the cache */
            space_trim(s, 0);
            found = take_chunks(s, bytes / SPACE_CHUNK, 0, &first);
        }
        if (found && back(s, s->base + first * SPACE_CHUNK, bytes, fd, devices)) {
            for (uint64_t i = 0; i < bytes / SPACE_CHUNK; i++)
                s->chunks[first + i] = (struct chunk){.state = CHUNK_SUBALLOCATED, .kind = kind};
            s->used += bytes;
            *base = s->base + first * SPACE_CHUNK;
            status = MEM_OK;
        }
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

void mem_chunks_allow(int device, uint64_t base, uint64_t bytes, uint32_t devices)
{
    struct space *s = space_of(device);
    if (!mem_guarded())
        return;
    pthread_mutex_lock(&s->lock);
    set_access(s, base, bytes, devices, true);
    pthread_mutex_unlock(&s->lock);
}

void mem_chunks_drop(int device, uint64_t base, uint64_t bytes, int fd)
{
    struct space *s = space_of(device);
    pthread_mutex_lock(&s->lock);
    bool cleared = unback(s, base, bytes, fd);
    space_leave_chunks(s, base, bytes / SPACE_CHUNK, cleared);
    s->used -= bytes;
    pthread_mutex_unlock(&s->lock);
}

bool space_suballocated(const struct space *s, uint64_t address)
{
    return suballocator != NULL &&
           s->chunks[(address - s->base) / SPACE_CHUNK].state == CHUNK_SUBALLOCATED;
}

uint32_t suballocated_devices(uint64_t address)
{
    return suballocator->devices((const void *)address);
}

bool suballocated_find(uint64_t address, struct mem_info *info)
{
    return suballocator->find((const void *)address, info);
}

static enum chunk_state chunk_state_of(struct space *s, uint64_t address)
{
    pthread_mutex_lock(&s->lock);
    enum chunk_state state = s->chunks[(address - s->base) / SPACE_CHUNK].state;
    pthread_mutex_unlock(&s->lock);
    return state;
}

/* Just before what is suballocated: its first allocation. Addresses in front of the space, too. */
static bool place_before(struct space *s, uint64_t address, struct mem_place *out)
{
    const uint64_t near = (uint64_t)1 << 20; /* as the allocators above look around */
    uint64_t index = address < s->base ? 0 : (address - s->base) / SPACE_CHUNK + 1;
    uint64_t next = s->base + index * SPACE_CHUNK;
    if (next - address > near || !space_holds(s, next) ||
        chunk_state_of(s, next) != CHUNK_SUBALLOCATED || !suballocator->place((void *)next, out) ||
        out->relation != MEM_INSIDE)
        return false;
    out->relation = MEM_BEFORE;
    out->distance = next - address;
    return true;
}

bool suballocated_place(struct space *s, uint64_t address, struct mem_place *out)
{
    if (suballocator == NULL)
        return false;
    if (!space_holds(s, address))
        return place_before(s, address, out);
    enum chunk_state state = chunk_state_of(s, address);
    if (state != CHUNK_SUBALLOCATED && state != CHUNK_FREE)
        return false;
    return suballocator->place((const void *)address, out) ||
           (state == CHUNK_FREE && place_before(s, address, out));
}
