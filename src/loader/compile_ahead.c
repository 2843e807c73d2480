/* compile_ahead: records of compilations besides their code (compile_ahead.h), and jit_launched. */
#include "loader/compile_ahead.h"

#include <stdlib.h>
#include <string.h>

#include "loader/cache.h"
#include "loader/key.h"

/* Reads a record of so many bytes at most. Returns how many it has; 0: there is none. */
static size_t load(enum cache_kind kind, const struct hash128 *key, void *to, size_t most)
{
    void *data;
    size_t size;
    if (cache_load(kind, key, &data, &size) != CACHE_HIT)
        return 0;
    if (size <= most)
        memcpy(to, data, size);
    free(data);
    return size <= most ? size : 0;
}

uint32_t attempt_load(const struct ptx_func *entry, const struct jit_options *options)
{
    struct hash128 key;
    uint32_t ms;
    key_of_attempt(entry, options, &key);
    return load(CACHE_ATTEMPT, &key, &ms, sizeof ms) == sizeof ms ? ms : 0;
}

void attempt_store(const struct ptx_func *entry, const struct jit_options *options, uint32_t ms)
{
    struct hash128 key;
    key_of_attempt(entry, options, &key);
    cache_store(CACHE_ATTEMPT, &key, &(struct cache_piece){&ms, sizeof ms}, 1);
}

int jit_launched(const struct ptx_func *entry, struct jit_options list[JIT_LAUNCHED])
{
    struct hash128 key;
    key_of_launches(entry, &key);
    size_t size = load(CACHE_LAUNCHES, &key, list, sizeof *list * JIT_LAUNCHED);
    return size % sizeof *list == 0 ? (int)(size / sizeof *list) : 0;
}

/* Two processes that do this at once may lose one of the two. */
void launch_note(const struct ptx_func *entry, const struct jit_options *options)
{
    struct jit_options list[JIT_LAUNCHED], own = *options;
    int n = jit_launched(entry, list);
    own.tier = JIT_TIER_OPTIMIZING;
    for (int k = 0; k < n; k++)
        if (memcmp(&list[k], &own, sizeof own) == 0)
            return;
    if (n == JIT_LAUNCHED)
        return;
    list[n++] = own;
    struct hash128 key;
    key_of_launches(entry, &key);
    cache_store(CACHE_LAUNCHES, &key, &(struct cache_piece){list, sizeof *list * (size_t)n}, 1);
}
