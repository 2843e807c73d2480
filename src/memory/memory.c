/* memory: the memory layer's front: the ranges of the devices and of the host, and the functions of
 * memory.h, each of which finds the range and leaves the rest to it. */
#include "memory/memory.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/env.h"
#include "memory/space.h"
#include "memory/view.h"

static struct {
    int devices; /* -1 until opened */
    struct space host;
    struct space mappings;
    struct space device[MEM_MAX_DEVICES];
    _Atomic uint64_t serial;
} memory = {.devices = -1};

/* The machine's memory, or what a container may use of it. */
static uint64_t machine_memory(void)
{
    uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    char *text = file_read("/sys/fs/cgroup/memory.max", NULL, NULL);
    if (text != NULL) {
        uint64_t limit = strtoull(text, NULL, 10); /* "max" reads as 0 */
        if (limit > 0 && limit < bytes)
            bytes = limit;
        free(text);
    }
    return bytes;
}

/* Address space that the process may still take, where that is limited (ulimit -v). */
static uint64_t address_space_left(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    char *text = file_read("/proc/self/statm", NULL, NULL);
    uint64_t used = text != NULL ? strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
    free(text);
    return used < limit.rlim_cur ? limit.rlim_cur - used : 0;
}

/* How much address space one range may take, so that all of them together leave most of the CPU's
 * to the program. */
static uint64_t most_address_space(int devices)
{
    return ((uint64_t)32 << 40) / ((uint64_t)devices + 2);
}

/* How much address space a range of that capacity takes: several times as much, because large
 * allocations are rounded to chunks; less where many devices would use up the CPU's. */
static uint64_t address_space(uint64_t capacity, int devices)
{
    uint64_t most = most_address_space(devices);
    uint64_t size = capacity < most ? capacity * 8 + ((uint64_t)16 << 30) : most;
    return size < most ? size : most;
}

/* It may be more than the machine has, of which only what is touched is taken, but not more than
 * there are addresses for. */
static bool check_capacity(uint64_t capacity, int devices, struct diag *d)
{
    const double tib = (double)((uint64_t)1 << 40);
    uint64_t most = most_address_space(devices);
    if (capacity < SPACE_CHUNK)
        return diag_set(d, 0, 0, "%llu bytes of device memory: at least 2 MiB are needed",
                        (unsigned long long)capacity);
    if (capacity <= most)
        return true;
    return diag_set(d, 0, 0,
                    "%.10g TiB of memory for each of %d devices (WEIR_DEVICE_MEMORY): there are "
                    "addresses for at most %.4g TiB",
                    (double)capacity / tib, devices, (double)most / tib);
}

/* Opens a range as large as wanted, or, where the process's address space is limited (ulimit -v),
 * as large as its share of half of what is left: the other half is for threads, compiled code, the
 * compiler and the program. */
static bool reserve(struct space *s, int device, uint64_t capacity, int devices, uint64_t left,
                    struct diag *d)
{
    const uint64_t least = (uint64_t)64 << 20;
    uint64_t share = left / 2 / ((uint64_t)devices + 2);
    for (uint64_t size = address_space(capacity, devices); size / 2 >= least; size /= 2)
        if (size <= share && space_open(s, device, capacity < size ? capacity : size, size, NULL))
            return true;
    return space_open(s, device, least, least, d);
}

bool mem_open(int devices, uint64_t capacity, struct diag *d)
{
    if (memory.devices >= 0)
        return true;
    if (devices < 0 || devices > MEM_MAX_DEVICES)
        return diag_set(d, 0, 0, "%d devices: at most %d are possible", devices, MEM_MAX_DEVICES);
    uint64_t machine = machine_memory();
    uint64_t share = machine / 2 / (uint64_t)(devices > 0 ? devices : 1);
    uint64_t most = most_address_space(devices);
    share = share < most ? share : most;
    if (capacity == 0 && !env_bytes(ENV_MEMORY, share, &capacity, d))
        return false;
    if (!check_capacity(capacity, devices, d))
        return false;
    uint64_t left = address_space_left();
    bool fine = reserve(&memory.host, MEM_HOST, machine, devices, left, d) &&
                reserve(&memory.mappings, MEM_MAPPINGS, machine, devices, left, d);
    for (int i = 0; i < devices && fine; i++)
        fine = reserve(&memory.device[i], i, capacity, devices, left, d);
    if (!fine) { /* the next call tries again */
        space_close(&memory.host);
        space_close(&memory.mappings);
        for (int i = 0; i < devices; i++)
            space_close(&memory.device[i]);
        return false;
    }
    memory.devices = devices;
    view_open(devices);
    return true;
}

struct space *space_of(int device)
{
    if (device == MEM_HOST && memory.devices >= 0)
        return &memory.host;
    if (device == MEM_MAPPINGS && memory.devices >= 0)
        return &memory.mappings;
    return device >= 0 && device < memory.devices ? &memory.device[device] : NULL;
}

struct space *space_at(uint64_t address)
{
    for (int i = MEM_MAPPINGS; i < memory.devices; i++)
        if (memory.devices >= 0 && space_holds(space_of(i), address))
            return space_of(i);
    return NULL;
}

uint64_t memory_serial(void) { return atomic_fetch_add(&memory.serial, 1) + 1; }

enum mem_status mem_alloc(const struct mem_request *request, void **out)
{
    struct space *s = space_of(request->device);
    bool host_kind = (request->kind & MEM_ON_HOST) != 0;
    if (s == NULL || request->bytes == 0 || request->kind == MEM_PAGEABLE ||
        request->kind == MEM_REGISTERED || request->device == MEM_MAPPINGS ||
        host_kind != (request->device == MEM_HOST) || request->align > SPACE_CHUNK ||
        (request->align & (request->align - 1)) != 0)
        return MEM_INVALID;
    enum mem_status status = space_alloc(s, request, memory_serial(), out);
    if (observed() && status == MEM_OK)
        memory_tell_made(*out);
    return status;
}

enum mem_status mem_free(void *base, unsigned kinds)
{
    struct space *s = space_at((uint64_t)base);
    if (observed())
        memory_tell_freed(base, kinds);
    return s != NULL ? space_free(s, (uint64_t)base, kinds) : MEM_INVALID;
}

enum mem_status mem_retire(void *base, unsigned kinds)
{
    struct space *s = space_at((uint64_t)base);
    if (s == NULL)
        return MEM_INVALID;
    pthread_mutex_lock(&s->lock);
    struct record *r = space_find(s, (uint64_t)base);
    bool found = r != NULL && r->info.base == (uint64_t)base && (r->info.kind & kinds) != 0;
    if (found)
        r->info.kind = MEM_INTERNAL;
    pthread_mutex_unlock(&s->lock);
    return found ? MEM_OK : MEM_INVALID;
}

void mem_free_owned(int device, const void *owner)
{
    struct space *s = space_of(device);
    if (s == NULL)
        return;
    if (device == MEM_HOST)
        registered_remove_owned(owner);
    space_free_owned(s, owner);
    if (device >= 0) /* what it has opened of other processes' memory */
        space_free_owned(&memory.mappings, owner);
}

enum mem_status mem_register(void *base, uint64_t bytes, uint32_t flags, const void *owner)
{
    uint64_t first = (uint64_t)base;
    if (base == NULL || bytes == 0 || first + bytes < first)
        return MEM_INVALID;
    if (space_at(first) != NULL || space_at(first + bytes - 1) != NULL)
        return MEM_ALREADY_REGISTERED;
    enum mem_status status =
        registered_add(MEM_REGISTERED, first, bytes, flags, owner, memory_serial());
    if (observed() && status == MEM_OK)
        memory_tell_made(base);
    return status;
}

enum mem_status mem_unregister(void *base)
{
    if (observed())
        memory_tell_freed(base, MEM_REGISTERED);
    return registered_remove(MEM_REGISTERED, (uint64_t)base);
}

enum mem_status mem_adopt(void *base, uint64_t bytes)
{
    enum mem_status status =
        registered_add(MEM_MANAGED, (uint64_t)base, bytes, 0, NULL, memory_serial());
    if (observed() && status == MEM_OK)
        memory_tell_made(base);
    return status;
}

enum mem_status mem_disown(void *base)
{
    if (observed())
        memory_tell_freed(base, MEM_MANAGED);
    return registered_remove(MEM_MANAGED, (uint64_t)base);
}

bool mem_find(const void *address, struct mem_info *info)
{
    struct space *s = space_at((uint64_t)address);
    memset(info, 0, sizeof *info);
    info->device = MEM_HOST;
    if (s == NULL)
        return registered_find((uint64_t)address, info);
    pthread_mutex_lock(&s->lock);
    struct record *r = space_find(s, (uint64_t)address);
    if (r != NULL)
        *info = r->info;
    bool owned = r == NULL && space_suballocated(s, (uint64_t)address);
    pthread_mutex_unlock(&s->lock);
    return r != NULL || (owned && suballocated_find((uint64_t)address, info));
}

enum mem_kind mem_kind_of(const void *address, int *device)
{
    struct mem_info info = {.device = MEM_HOST};
    struct space *s = space_at((uint64_t)address);
    if (s == NULL) {
        mem_find(address, &info);
    } else {
        pthread_mutex_lock(&s->lock);
        struct record *r = space_find(s, (uint64_t)address);
        if (r != NULL)
            info = r->info;
        else if (space_suballocated(s, (uint64_t)address))
            info = (struct mem_info){
                .kind = s->chunks[((uint64_t)address - s->base) / SPACE_CHUNK].kind,
                .device = s->device};
        pthread_mutex_unlock(&s->lock);
    }
    if (device != NULL)
        *device = info.device;
    return info.kind;
}

bool mem_in_device_range(const void *address)
{
    struct space *s = space_at((uint64_t)address);
    return s != NULL && s->device != MEM_HOST;
}

bool mem_in_range(const void *address) { return space_at((uint64_t)address) != NULL; }

bool mem_reaches(const void *address, uint64_t bytes, enum mem_rights rights)
{
    struct mem_info i;
    uint64_t at = (uint64_t)address;
    if (!mem_find(address, &i))
        return !mem_in_device_range(address);
    do {
        uint64_t here = i.base + i.size - at;
        if (i.kind != MEM_MAPPED)
            return bytes <= here;
        if ((i.flags & rights) != rights)
            return false;
        if (bytes <= here)
            return true;
        at += here;
        bytes -= here;
    } while (mem_find((void *)at, &i));
    return false;
}

void mem_usage(int device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    struct space *s = space_of(device);
    *free_bytes = *total_bytes = 0;
    if (s == NULL)
        return;
    pthread_mutex_lock(&s->lock);
    *total_bytes = s->capacity;
    *free_bytes = s->capacity - s->used;
    pthread_mutex_unlock(&s->lock);
}

enum mem_status mem_charge(int device, uint64_t bytes)
{
    struct space *s = space_of(device);
    if (s == NULL)
        return MEM_INVALID;
    pthread_mutex_lock(&s->lock);
    bool fits = bytes <= s->capacity && s->used <= s->capacity - bytes;
    if (fits) {
        if (s->used + s->cached + bytes > s->capacity)
            space_trim(s, s->capacity - s->used - bytes);
        s->used += bytes;
    }
    pthread_mutex_unlock(&s->lock);
    return fits ? MEM_OK : MEM_OUT_OF_MEMORY;
}

void mem_uncharge(int device, uint64_t bytes)
{
    struct space *s = space_of(device);
    pthread_mutex_lock(&s->lock);
    s->used -= bytes;
    pthread_mutex_unlock(&s->lock);
}

struct visitor {
    bool (*visit)(void *self, const struct mem_info *info);
    void *self;
};

static bool visit_record(void *self, struct record *r)
{
    struct visitor *v = self;
    return v->visit(v->self, &r->info);
}

void mem_visit(int device, bool (*visit)(void *self, const struct mem_info *info), void *self)
{
    struct space *s = space_of(device);
    if (s == NULL)
        return;
    pthread_mutex_lock(&s->lock);
    space_visit(s, visit_record, &(struct visitor){visit, self});
    pthread_mutex_unlock(&s->lock);
    struct mem_info info;
    uint64_t from = 0;
    while (device == MEM_HOST && registered_next(from, &info)) {
        if (!visit(self, &info))
            return;
        from = info.base + info.size;
    }
}
