/* registered: ranges of the program's own memory that it has registered (cudaHostRegister) or that
 * are its managed variables: a sorted array, since there are few of them, they do not overlap, and
 * they are looked up far more often than changed. */
#include <stdlib.h>
#include <string.h>

#include "memory/space.h"
#include "memory/view.h"

static struct {
    pthread_rwlock_t lock;
    struct mem_info *items; /* by base */
    size_t count, cap;
} table = {.lock = PTHREAD_RWLOCK_INITIALIZER};

/* Index of the first range whose end is above the address. */
static size_t first_ending_above(uint64_t address)
{
    size_t low = 0, high = table.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (table.items[middle].base + table.items[middle].size > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

enum mem_status registered_add(enum mem_kind kind, uint64_t base, uint64_t bytes, uint32_t flags,
                               const void *owner, uint64_t serial)
{
    struct mem_info info = {.kind = kind,
                            .device = MEM_HOST,
                            .flags = flags,
                            .base = base,
                            .size = bytes,
                            .serial = serial,
                            .owner = owner,
                            .made = mem_site_now()};
    pthread_rwlock_wrlock(&table.lock);
    size_t at = first_ending_above(base);
    bool overlaps = at < table.count && table.items[at].base < base + bytes;
    if (!overlaps) {
        vec_push(&table, info);
        memmove(&table.items[at + 1], &table.items[at], (table.count - 1 - at) * sizeof info);
        table.items[at] = info;
    }
    pthread_rwlock_unlock(&table.lock);
    return overlaps ? MEM_ALREADY_REGISTERED : MEM_OK;
}

static void remove_at(size_t at)
{
    table.count--;
    memmove(&table.items[at], &table.items[at + 1], (table.count - at) * sizeof table.items[0]);
}

enum mem_status registered_remove(enum mem_kind kind, uint64_t base)
{
    pthread_rwlock_wrlock(&table.lock);
    size_t at = first_ending_above(base);
    bool found = at < table.count && table.items[at].base == base && table.items[at].kind == kind;
    if (found)
        remove_at(at);
    pthread_rwlock_unlock(&table.lock);
    mem_changed();
    return found ? MEM_OK : MEM_NOT_REGISTERED;
}

void registered_remove_owned(const void *owner)
{
    pthread_rwlock_wrlock(&table.lock);
    for (size_t i = table.count; i-- > 0;)
        if (table.items[i].owner == owner)
            remove_at(i);
    pthread_rwlock_unlock(&table.lock);
    mem_changed();
}

bool registered_find(uint64_t address, struct mem_info *info)
{
    pthread_rwlock_rdlock(&table.lock);
    size_t at = first_ending_above(address);
    bool found = at < table.count && table.items[at].base <= address;
    if (found)
        *info = table.items[at];
    pthread_rwlock_unlock(&table.lock);
    return found;
}

bool registered_next(uint64_t from, struct mem_info *info)
{
    pthread_rwlock_rdlock(&table.lock);
    size_t at = first_ending_above(from);
    if (at < table.count && table.items[at].base < from)
        at++;
    bool found = at < table.count;
    if (found)
        *info = table.items[at];
    pthread_rwlock_unlock(&table.lock);
    return found;
}
