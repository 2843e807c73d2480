/* unusual: what every call must ask about and what hardly ever is so, in one word. The rooms set
 * their bits; a call that finds the word 0 need not ask anyone. A bit says "perhaps": who finds it
 * set asks the room that it belongs to. */
#ifndef WEIR_UNUSUAL_H
#define WEIR_UNUSUAL_H

#include <stdatomic.h>

#include "base/base.h"

enum unusual {
    UNUSUAL_NOT_READY = 1 << 0,     /* driver: not initialised; set from the start */
    UNUSUAL_FORKED = 1 << 1,        /* device: the process is a fork */
    UNUSUAL_FAULT = 1 << 2,         /* grid: some context has had a fault */
    UNUSUAL_HOST_FUNCTION = 1 << 3, /* device: a host function runs */
    UNUSUAL_WATCHED = 1 << 4,       /* pool: someone watches pools */
    UNUSUAL_PRINTED = 1 << 5,       /* grid: printed texts wait; a launch asks, other calls not */
    UNUSUAL_CAPTURE = 1 << 8,       /* driver: captures that run are counted from this bit on */
};

/* Alone on its line of the cache: what lay beside it would be written, and all calls read this. */
extern struct unusual_word {
    _Alignas(64) _Atomic uint32_t bits;
} unusual_word WEIR_OWN;

/* Which of these bits are set. Acquires, so that what was done before a bit changed is seen. */
static inline uint32_t unusual(uint32_t bits)
{
    return atomic_load_explicit(&unusual_word.bits, memory_order_acquire) & bits;
}

/* None is, printing included. */
static inline bool all_usual(void) { return WEIR_LIKELY(unusual(~(uint32_t)0) == 0); }

/* None is that all calls must ask about. */
static inline bool usual(void) { return WEIR_LIKELY(unusual(~(uint32_t)UNUSUAL_PRINTED) == 0); }

static inline void unusual_set(enum unusual bit)
{
    atomic_fetch_or(&unusual_word.bits, (uint32_t)bit);
}

static inline void unusual_clear(enum unusual bit)
{
    atomic_fetch_and(&unusual_word.bits, ~(uint32_t)bit);
}

#endif
