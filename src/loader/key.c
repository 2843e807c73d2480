/* Keys and counters: see key.h. */
#include "loader/key.h"
#include "loader/compiler_library.h"
#include "loader/cpu.h"
#include "loader/loader.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* What is the same for every key of this process. */
static struct hash128 host_key;

static void make_host_key(void)
{
    const uint32_t versions[] = {JIT_PLUGIN_VERSION, JIT_ABI_VERSION, sizeof(struct jit_block),
                                 sizeof(struct jit_options), sizeof(struct jit_kernel_info)};
    hash_init(&host_key);
    hash_add(&host_key, versions, sizeof versions);
    cpu_hash(&host_key);
    plugin_hash(&host_key);
}

static void key_start(const struct ptx_module *m, const char *what, struct hash128 *key)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_host_key);
    *key = host_key;
    hash_add(key, what, strlen(what));
    hash_add(key, &m->hash, sizeof m->hash);
}

static void key_of_kernel(const struct ptx_func *entry, const char *what, struct hash128 *key)
{
    key_start(entry->module, what, key);
    hash_add(key, entry->name, strlen(entry->name));
}

void key_of_code(const struct ptx_func *entry, const struct jit_options *options,
                 struct hash128 *key)
{
    key_of_kernel(entry, "code", key);
    hash_add(key, options, sizeof *options);
}

void key_of_attempt(const struct ptx_func *entry, const struct jit_options *options,
                    struct hash128 *key)
{
    key_of_kernel(entry, "attempt", key);
    hash_add(key, options, sizeof *options);
}

void key_of_launches(const struct ptx_func *entry, struct hash128 *key)
{
    key_of_kernel(entry, "launches", key);
}

void key_of_facts(const struct ptx_module *m, struct hash128 *key) { key_start(m, "facts", key); }

static atomic_uint_fast64_t counters[STAT_COUNT];

void stats_add(enum stat which) { atomic_fetch_add(&counters[which], 1); }

void jit_get_stats(struct jit_stats *out)
{
    *out = (struct jit_stats){
        .disk_hits = atomic_load(&counters[STAT_DISK]),
        .compiled = atomic_load(&counters[STAT_COMPILED]),
        .damaged = atomic_load(&counters[STAT_DAMAGED]),
        .plugin_loaded = plugin_is_open(),
    };
}
