/* What an address is or was, in words, for the messages of faults. */
#include <string.h>

#include "memory/space.h"

const char *mem_kind_name(enum mem_kind kind)
{
    switch (kind) {
    case MEM_DEVICE: return "cudaMalloc";
    case MEM_ARRAY: return "cudaMallocArray";
    case MEM_MODULE: return "module variable";
    case MEM_HEAP: return "malloc() heap of kernels";
    case MEM_POOL: return "cudaMallocAsync";
    case MEM_INTERNAL: return "internal";
    case MEM_MAPPED: return "cuMemMap";
    case MEM_IMPORTED: return "another process's, by cudaIpcOpenMemHandle";
    case MEM_PINNED: return "cudaMallocHost";
    case MEM_REGISTERED: return "cudaHostRegister";
    case MEM_MANAGED: return "cudaMallocManaged";
    default: return "pageable memory";
    }
}

static void append_allocation(struct strbuf *out, const struct mem_info *info)
{
    sb_printf(out, "the %llu-byte allocation #%llu (%s)", (unsigned long long)info->size,
              (unsigned long long)info->serial, mem_kind_name(info->kind));
}

static void append_where(struct strbuf *out, int device)
{
    if (device == MEM_MAPPINGS)
        sb_printf(out, "no memory: addresses for cuMemMap, with nothing mapped");
    else if (device == MEM_HOST)
        sb_printf(out, "no memory: a free address of the page-locked and managed range");
    else
        sb_printf(out, "no memory: a free address of device %d's range", device);
}

/* An address in a range of ours. The lock is held. */
static void describe_in(struct space *s, uint64_t address, struct strbuf *out)
{
    const uint64_t near = (uint64_t)64 << 20; /* farther away no one overruns */
    struct record *r = space_find(s, address);
    if (r != NULL) {
        sb_printf(out, "byte %llu of ", (unsigned long long)(address - r->info.base));
        append_allocation(out, &r->info);
        if (r->range != NULL && r->rights != MEM_READ_WRITE)
            sb_printf(out, r->rights == MEM_READ ? ", which may only be read"
                                                 : ", which no access was given to");
        return;
    }
    const struct mem_info *grave = space_find_grave(s, address);
    if (grave != NULL) {
        sb_printf(out, "byte %llu of freed memory: ", (unsigned long long)(address - grave->base));
        append_allocation(out, grave);
        return;
    }
    r = space_find_before(s, address);
    if (r != NULL && address - (r->info.base + r->info.size) < near) {
        sb_printf(out, "%llu bytes past ",
                  (unsigned long long)(address - (r->info.base + r->info.size)));
        append_allocation(out, &r->info);
        return;
    }
    append_where(out, s->device);
}

void mem_describe(const void *address, struct strbuf *out)
{
    struct space *s = space_at((uint64_t)address);
    struct mem_info info;
    if (s != NULL) {
        pthread_mutex_lock(&s->lock);
        describe_in(s, (uint64_t)address, out);
        pthread_mutex_unlock(&s->lock);
    } else if (registered_find((uint64_t)address, &info)) {
        sb_printf(out, "byte %llu of ", (unsigned long long)((uint64_t)address - info.base));
        append_allocation(out, &info);
    } else if ((uint64_t)address < 65536) {
        sb_printf(out, "a null pointer");
    } else {
        sb_printf(out, "no memory of any device");
    }
}
