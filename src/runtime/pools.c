/* pools: who serves stream-ordered memory, by the setting WEIR_POOLS: the runtime's own pools
 * (src/gpu) or the driver's. Weir's driver has the same allocator, which is nearer; on others the
 * runtime's own is taken where the driver can do what it needs. */
#include "thread.h"

#include <stdio.h>
#include <string.h>

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

void rt_choose_pools(void)
{
    const char *setting = env_get(ENV_POOLS);
    bool set = setting != NULL && *setting != '\0', own = set && strcmp(setting, "own") == 0;

    /* Weir's driver refuses it by itself. */
    if (set && !own && strcmp(setting, "driver") != 0 && !RT_HAS(weir_last_message))
        fprintf(stderr, "weir: WEIR_POOLS=%s: it must be own or driver\n", setting);
    if (own || (!set && !RT_HAS(weir_last_message)))
        open_pools(own);
}
