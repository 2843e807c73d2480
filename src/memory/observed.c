/* observed: tells observers (observe/observe.h) of memory that is made and freed. */
#include "memory/space.h"

static struct observe_memory observed_memory(const struct mem_info *i)
{
    static const struct {
        enum mem_kind kind;
        enum observe_memory_kind as;
    } kinds[] = {{MEM_DEVICE, OBSERVE_DEVICE_MEMORY}, {MEM_MANAGED, OBSERVE_MANAGED},
                 {MEM_PINNED, OBSERVE_PINNED},        {MEM_REGISTERED, OBSERVE_REGISTERED},
                 {MEM_MAPPED, OBSERVE_MAPPED},        {MEM_POOL, OBSERVE_POOL}};
    struct observe_memory m = {.kind = OBSERVE_OTHER_MEMORY,
                               .device = i->device,
                               .address = i->base,
                               .bytes = i->size,
                               .serial = i->serial};
    for (size_t n = 0; n < WEIR_COUNT(kinds); n++)
        if (i->kind == kinds[n].kind)
            m.kind = kinds[n].as;
    return m;
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
