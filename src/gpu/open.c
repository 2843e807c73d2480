/* open: puts this layer before the driver. */
#include "gpu/internal.h"

struct gpu_driver driver;
_Atomic bool following;

void gpu_pools_prepare(void) { calls_open(); }

bool gpu_pools_open(struct gpu_driver *d, gpu_thread_word word)
{
    int count = 0;
    driver = *d;
    thread_word = word;
    if (driver.cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0 || !pools_begin(count))
        return false;
#define GPU_DRIVER(name)
#define GPU_BEFORE(name) d->name = gpu_##name;
#include "gpu/driver.def"
#undef GPU_DRIVER
#undef GPU_BEFORE
    return true;
}
