/* gpu: stream-ordered pools in the runtime, over a driver that need not be Weir's.
 *
 * The allocator is src/pool, the driver's pools play no part in it. Its memory is physical memory
 * of cuMemCreate, mapped chunk by chunk into one range of addresses for each device (range.c). Its
 * knowledge of order comes from the calls that the runtime makes: this layer stands before some
 * functions of the driver and keeps, for each stream, a vector of what it comes after (event.c,
 * stream.c). Whether a free has passed is known from what the host has waited for and from queries
 * that succeeded; where nothing of that tells, the stream is asked, and if it is busy an event of
 * the driver is recorded in it, for the next time (passed.c).
 *
 * Beside pools, it keeps memory of cudaMalloc that is freed and allocated again (kept.c), and makes
 * large copies of pageable memory (staging.c).
 *
 * Every pool of ours is also a pool of the driver's, whose handle it has, and the driver checks all
 * arguments: what is given to the driver API by hand works there, in the driver's pool.
 *
 * Every function may be called from any thread. */
#ifndef WEIR_GPU_POOLS_H
#define WEIR_GPU_POOLS_H

#include "../../include/cuda.h"
#include "../../include/weir/fault.h"
#include "base/base.h"

/* The driver's functions. */
struct gpu_driver {
#define GPU_DRIVER(name) __typeof__(&name) name;
#define GPU_BEFORE(name) __typeof__(&name) name;
#include "gpu/driver.def"
#undef GPU_DRIVER
#undef GPU_BEFORE
};

/* Where the calling thread keeps a pointer for this layer, NULL at first; NULL: it has no memory
 * for that. */
typedef void **(*gpu_thread_word)(void);

/* Once, before cuInit: what is asked of the system here takes it 15 ms in a process that has threads,
 * as it has when a driver has begun. Without it, each call costs a fence. */
void gpu_pools_prepare(void);
/* Once, after cuInit: keeps what *d has and puts the functions of this layer in their place. False:
 * the driver or its devices cannot do what is needed, and nothing is changed. */
bool gpu_pools_open(struct gpu_driver *d, gpu_thread_word word);
/* What is kept of a thread that ends, or of one of a library that is closed. */
void gpu_thread_ends(void *kept);

#endif
