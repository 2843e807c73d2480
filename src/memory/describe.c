/* describe: what an address is or was, in words, for the messages of faults. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "memory/space.h"
#include "memory/view.h"

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

static void append_size(struct strbuf *out, uint64_t bytes)
{
    char digits[32];
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)bytes);
    for (int i = 0; i < n; i++)
        sb_printf(out, "%s%c", i > 0 && (n - i) % 3 == 0 ? "," : "", digits[i]);
}

static void append_bytes(struct strbuf *out, uint64_t bytes)
{
    append_size(out, bytes);
    sb_printf(out, bytes == 1 ? " byte" : " bytes");
}

static void append_allocation(struct strbuf *out, const struct mem_info *info)
{
    sb_printf(out, "the ");
    append_size(out, info->size);
    if (info->kind == MEM_MODULE || info->kind == MEM_HEAP || info->kind == MEM_INTERNAL) {
        sb_printf(out, "-byte %s", mem_kind_name(info->kind));
        return;
    }
    uint64_t part = info->serial >> MEM_SERIAL_BITS;
    sb_printf(out, "-byte allocation #");
    if (part != 0)
        sb_printf(out, "%llu.", (unsigned long long)part);
    sb_printf(out, "%llu made by ", (unsigned long long)(info->serial - (part << MEM_SERIAL_BITS)));
    if (!mem_site_words(&info->made, out))
        sb_printf(out, "%s", mem_kind_name(info->kind));
}

static void append_vacant(struct strbuf *out, int device)
{
    if (device == MEM_MAPPINGS)
        sb_printf(out, "no memory: addresses for cuMemMap, with nothing mapped");
    else if (device == MEM_HOST)
        sb_printf(out, "no memory: a free address of the page-locked and managed range");
    else
        sb_printf(out, "no memory: a free address of device %d's range", device);
}

static void append_place(struct strbuf *out, const struct mem_place *p)
{
    switch (p->relation) {
    case MEM_INSIDE:
        sb_printf(out, "byte ");
        append_size(out, p->distance);
        sb_printf(out, " of ");
        append_allocation(out, &p->info);
        if (p->rights != MEM_READ_WRITE)
            sb_printf(out, p->rights == MEM_READ ? ", which may only be read"
                                                 : ", which no access was given to");
        break;
    case MEM_PAST:
        if (p->distance == 0)
            sb_printf(out, "just");
        else
            append_bytes(out, p->distance);
        sb_printf(out, " past ");
        append_allocation(out, &p->info);
        break;
    case MEM_BEFORE:
        append_bytes(out, p->distance);
        sb_printf(out, " before ");
        append_allocation(out, &p->info);
        break;
    case MEM_FREED:
        sb_printf(out, "byte ");
        append_size(out, p->distance);
        sb_printf(out, " of freed memory: ");
        append_allocation(out, &p->info);
        if (p->freed.call != 0) {
            sb_printf(out, ", freed by ");
            mem_site_words(&p->freed, out);
        }
        break;
    case MEM_VACANT: append_vacant(out, p->device); break;
    case MEM_NOWHERE: sb_printf(out, "no memory of any device"); break;
    }
}

/* Where an address in a range of ours is. The lock is held. */
static void place_in(struct space *s, uint64_t address, struct mem_place *p)
{
    const uint64_t near = (uint64_t)64 << 20; /* farther away no one overruns */
    bool holds = space_holds(s, address);     /* or it is in front */
    struct record *r = holds ? space_find(s, address) : NULL, *next;
    const struct freed_record *freed;
    p->device = s->device;
    p->relation = MEM_VACANT;
    if (r != NULL) {
        p->relation = MEM_INSIDE;
        p->info = r->info;
        p->rights = r->range != NULL ? (enum mem_rights)r->info.flags : MEM_READ_WRITE;
        p->distance = address - r->info.base;
        return;
    }
    if ((freed = space_find_freed(s, address)) != NULL) {
        p->relation = MEM_FREED;
        p->info = freed->info;
        p->freed = freed->freed;
        p->distance = address - freed->info.base;
        return;
    }
    uint64_t past = near, before = near;
    if (holds && (r = space_find_before(s, address)) != NULL)
        past = address - (r->info.base + r->info.size);
    if ((next = space_find_after(s, holds ? address : s->base - 1)) != NULL)
        before = next->info.base - address;
    if (past < near && past <= before) {
        p->relation = MEM_PAST;
        p->info = r->info;
        p->distance = past;
    } else if (before < near) {
        p->relation = MEM_BEFORE;
        p->info = next->info;
        p->distance = before;
    }
}

void mem_place_of(const void *address, struct mem_place *out)
{
    struct space *s = space_at((uint64_t)address);
    if (s == NULL)
        s = space_at((uint64_t)address + SPACE_FRONT);
    memset(out, 0, sizeof *out);
    out->device = MEM_HOST;
    out->rights = MEM_READ_WRITE;
    if (s != NULL) {
        out->device = s->device;
        if (suballocated_place(s, (uint64_t)address, out))
            return;
        pthread_mutex_lock(&s->lock);
        place_in(s, (uint64_t)address, out);
        pthread_mutex_unlock(&s->lock);
    } else if (registered_find((uint64_t)address, &out->info)) {
        out->relation = MEM_INSIDE;
        out->distance = (uint64_t)address - out->info.base;
    }
}

/* The call looks at mappings alone, and does nothing since Linux 2.6.19. */
bool mem_is_mapped(const void *address, uint64_t bytes)
{
    uint64_t into = (uint64_t)address & (WEIR_PAGE - 1);
    return msync((void *)((uint64_t)address - into), into + bytes, MS_ASYNC) == 0;
}

/* Of an address that is too low for memory. */
static void append_offset(struct strbuf *out, uint64_t offset)
{
    append_bytes(out, offset);
    sb_printf(out, " past a null pointer (a member or an element of what it should point to?)");
}

void mem_describe(const void *address, struct strbuf *out)
{
    struct mem_place p;
    mem_place_of(address, &p);
    if (p.relation == MEM_NOWHERE && address == NULL)
        sb_printf(out, "a null pointer");
    else if (p.relation == MEM_NOWHERE && (uint64_t)address < 65536)
        append_offset(out, (uint64_t)address);
    else if (p.relation == MEM_NOWHERE && mem_checked() && mem_is_mapped(address, 1))
        sb_printf(out,
                  "pageable memory of the host, which this device cannot reach (checked mode)");
    else
        append_place(out, &p);
}
