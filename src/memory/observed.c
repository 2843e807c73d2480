/* observed: tells observers (observe/observe.h) of memory that is made and freed. */
#include "memory/space.h"

enum observe_memory_kind mem_observed_kind(enum mem_kind kind)
{
    switch (kind) {
    case MEM_PAGEABLE: return OBSERVE_PAGEABLE;
    case MEM_DEVICE: return OBSERVE_DEVICE_MEMORY;
    case MEM_MANAGED: return OBSERVE_MANAGED;
    case MEM_PINNED: return OBSERVE_PINNED;
    case MEM_REGISTERED: return OBSERVE_REGISTERED;
    case MEM_POOL: return OBSERVE_POOL;
    case MEM_MAPPED:
    case MEM_IMPORTED: return OBSERVE_MAPPED;
    default: return OBSERVE_OTHER_MEMORY;
    }
}

static struct observe_memory observed_memory(const struct mem_info *i)
{
    return (struct observe_memory){.kind = mem_observed_kind(i->kind),
                                   .device = i->device,
                                   .address = i->base,
                                   .bytes = i->size,
                                   .serial = i->serial};
}

void memory_tell_made(const void *base)
{
    struct mem_info info;
    if (mem_find(base, &info)) {
        struct observe_memory m = observed_memory(&info);
        observe_memory_made(&m);
    }
}

void memory_tell_freed(const void *base, unsigned kinds)
{
    struct mem_info info;
    if (mem_find(base, &info) && info.base == (uint64_t)base && (info.kind & kinds) != 0) {
        struct observe_memory m = observed_memory(&info);
        observe_memory_freed(&m);
    }
}

void memory_tell_dropped(const struct record *r)
{
    struct observe_memory m = observed_memory(&r->info);
    observe_memory_freed(&m);
}
