/* memory_source: chunks of the memory layer, for the pools of the driver. */
#include "memory/file.h"
#include "pool/pool.h"

/* As large as the device's range, for the bytes to have the same offsets as there. */
static struct mem_file *new_file(int device)
{
    uint64_t base, bytes;
    return mem_range(device, &base, &bytes) ? file_new(FILE_POOL, device, bytes, 1) : NULL;
}

const struct pool_source pool_memory_source = {
    .range = mem_range,
    .take = mem_chunks_take,
    .allow = mem_chunks_allow,
    .drop = mem_chunks_drop,
    .usage = mem_usage,
    .set_suballocator = mem_set_suballocator,
    .file_new = new_file,
    .file_close = file_close,
};
