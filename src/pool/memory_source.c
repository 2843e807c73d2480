/* memory_source: chunks of the memory layer, for the pools of the driver. */
#include "memory/file.h"
#include "pool/pool.h"

/* As large as the device's range, for the bytes to have the same offsets as there. */
static struct mem_file *new_file(int device)
{
    uint64_t base, bytes;
    return mem_range(device, &base, &bytes) ? file_new(FILE_POOL, device, bytes, 1) : NULL;
}

static enum mem_status take(int device, enum mem_kind kind, const void *owner, uint64_t bytes,
                            uint64_t at, int fd, uint32_t devices, uint64_t *base)
{
    return mem_chunks_take(device, kind, bytes, at, fd, devices, base);
}

const struct pool_source pool_memory_source = {
    .range = mem_range,
    .take = take,
    .allow = mem_chunks_allow,
    .drop = mem_chunks_drop,
    .usage = mem_usage,
    .set_suballocator = mem_set_suballocator,
    .file_new = new_file,
    .file_close = file_close,
};
