/* What the tests of the device layer share: opening, and kernels written in C. */
#ifndef WEIR_TEST_COMMON_H
#define WEIR_TEST_COMMON_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "device/device.h"
#include "memory/view.h"

static struct device_context *ctx;

/* Opens the devices and makes the context; ends the program when it cannot. */
static inline void begin(void)
{
    struct diag d = {0};
    setenv("WEIR_DEVICE_MEMORY", "512M", 0);
    if (!device_open(&d)) {
        printf("%s\n", d.text);
        exit(1);
    }
    ctx = device_context_new(device_get(0));
}

static inline int end(void)
{
    device_context_free(ctx);
    return check_done();
}

/* A launch of `blocks` blocks of 32 threads with one pointer as the parameter. */
static inline enum device_error launch(struct device_stream *s, struct grid_kernel *k,
                                       uint32_t blocks, const void *param)
{
    struct grid_launch l = {.kernel = k,
                            .grid = {blocks, 1, 1},
                            .block = {32, 1, 1},
                            .params = &param,
                            .param_bytes = sizeof param};
    return device_launch(s, &l);
}

/* The pointer parameter of a block. */
static inline void *param(const struct jit_block *b)
{
    void *p;
    memcpy(&p, b->params, sizeof p);
    return p;
}

static inline void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static inline uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Kernel: waits, as a spinning loop of compiled code does, until the int is not 0. */
static inline uint32_t spin_block(struct jit_block *b)
{
    const _Atomic int *flag = param(b);
    while (atomic_load(flag) == 0)
        if (--b->budget < 0)
            return JIT_SUSPENDED;
    return JIT_DONE;
}

/* Kernel: adds one to the int, once for each block. */
static inline uint32_t count_block(struct jit_block *b)
{
    atomic_fetch_add((_Atomic int *)param(b), 1);
    return JIT_DONE;
}

#define KERNEL(function) {.run = function, .name = #function}

#endif
