/* pools: who serves stream-ordered memory, by the setting WEIR_POOLS: the runtime's own pools
 * (src/gpu) or the driver's. Weir's driver has the same allocator, which is nearer; on others the
 * runtime's own is taken where the driver can do what it needs. */
#include "runtime/thread.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/env.h"
#include "gpu/pools.h"

static void **thread_word(void)
{
    struct rt_thread *t = rt_thread();

    return t != NULL ? &t->pools : NULL;
}

static void open_pools(bool asked)
{
    struct gpu_driver d = {
#define GPU_DRIVER(name) .name = rt_driver.name,
#define GPU_BEFORE(name) .name = rt_driver.name,
#include "gpu/driver.def"
#undef GPU_DRIVER
#undef GPU_BEFORE
    };
    if (!gpu_pools_open(&d, thread_word)) {
        if (asked)
            fprintf(stderr, "weir: WEIR_POOLS=own: the driver lacks virtual memory management or "
                            "memory pools: its own pools are used\n");
        return;
    }
#define GPU_DRIVER(name)
#define GPU_BEFORE(name) __atomic_store_n(&rt_driver.name, d.name, __ATOMIC_RELEASE);
#include "gpu/driver.def"
#undef GPU_DRIVER
#undef GPU_BEFORE
}

/* What looks into the pools of Weir's driver, and would see nothing of the runtime's own; NULL:
 * nothing does. */
static const char *watcher(void)
{
    static const enum env_variable watchers[] = {ENV_CHECK, ENV_POOLS_FILE, ENV_POOLS_TRACE};

    if (!RT_HAS(weir_last_message))
        return NULL;
    for (size_t i = 0; i < WEIR_COUNT(watchers); i++) {
        const char *value = env_get(watchers[i]);
        if (value != NULL && *value != '\0' && strcmp(value, "off") != 0)
            return env_entry(watchers[i])->name;
    }
    return NULL;
}

/* Whether the runtime is to serve, if it can. */
static bool wants_own(const char *setting)
{
    return setting != NULL && *setting != '\0' ? strcmp(setting, "own") == 0
                                               : !RT_HAS(weir_last_message);
}

cudaError_t rt_prepare_pools(void)
{
    const char *setting = env_get(ENV_POOLS);
    bool own = wants_own(setting) && watcher() == NULL;

    if (!wants_own(setting) && setting != NULL && *setting != '\0' &&
        strcmp(setting, "driver") != 0) {
        fprintf(stderr, "weir: WEIR_POOLS=%s: must be \"own\" or \"driver\"\n", setting);
        return cudaErrorInitializationError;
    }
    if (own)
        gpu_pools_prepare();
    return cudaSuccess;
}

void rt_open_pools(void)
{
    const char *setting = env_get(ENV_POOLS);

    if (!wants_own(setting))
        return;
    if (watcher() == NULL)
        open_pools(setting != NULL && *setting != '\0');
    else
        fprintf(stderr, "weir: WEIR_POOLS=own: the driver's pools serve, since %s sees no others\n",
                watcher());
}
