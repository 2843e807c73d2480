/* slow_path: the slow-path flags: conditions that every call must test and that hardly ever hold,
 * as bits of one word. Each layer sets its own bits; a call that finds the word 0 takes the fast
 * path at the cost of one load. A set bit says "perhaps": who finds it asks the layer that it
 * belongs to. */
#ifndef WEIR_BASE_SLOW_PATH_H
#define WEIR_BASE_SLOW_PATH_H

#include <stdatomic.h>

#include "base/base.h"

/* The comment names the layer that sets the bit. */
enum slow_path {
    SLOW_PATH_NOT_READY = 1 << 0,     /* driver: not initialised; set from the start */
    SLOW_PATH_FORKED = 1 << 1,        /* device: the process is a fork */
    SLOW_PATH_FAULT = 1 << 2,         /* exec: some context has had a fault */
    SLOW_PATH_HOST_FUNCTION = 1 << 3, /* device: a host function runs */
    SLOW_PATH_WATCHED = 1 << 4,       /* pool: someone watches pools */
    SLOW_PATH_PRINTED = 1 << 5,       /* exec: printed texts wait; a launch asks, other calls not */
    SLOW_PATH_MEMORY = 1 << 6,        /* base: the reserve of memory is not full */
    SLOW_PATH_OBSERVED = 1 << 7,      /* observe: there are observers */
    SLOW_PATH_CAPTURE = 1 << 8,       /* driver: captures that run are counted from this bit on */
};

/* Alone on its line of the cache: what is beside it would be written, and all calls read this. */
extern struct slow_path_word {
    _Alignas(64) _Atomic uint32_t bits;
} slow_path_word WEIR_OWN;

/* Which of these bits are set. Acquires, so that what was done before a bit changed is seen. */
static inline uint32_t slow_path(uint32_t bits)
{
    return atomic_load_explicit(&slow_path_word.bits, memory_order_acquire) & bits;
}

/* None is set, printing included. */
static inline bool fast_path_launch(void) { return WEIR_LIKELY(slow_path(~(uint32_t)0) == 0); }

/* None is set that all calls must ask about. */
static inline bool fast_path(void)
{
    return WEIR_LIKELY(slow_path(~(uint32_t)SLOW_PATH_PRINTED) == 0);
}

static inline void slow_path_set(enum slow_path bit)
{
    atomic_fetch_or(&slow_path_word.bits, (uint32_t)bit);
}

static inline void slow_path_clear(enum slow_path bit)
{
    atomic_fetch_and(&slow_path_word.bits, ~(uint32_t)bit);
}

#endif
