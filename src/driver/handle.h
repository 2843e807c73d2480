/* handle: where the objects of the API's handles live.
 *
 * A handle is a pointer that programs may get wrong: never made, of another kind, destroyed, or
 * left over from before a device reset. All objects therefore are in one reserved range of
 * addresses that is never given back, in slabs that hold objects of one kind for ever. So whether
 * any bits are a live handle can be told without touching memory that is not ours, and a stale one
 * meets a wiped tag. Destroyed objects wait in a queue before their slot is used again, so that a
 * handle kept by mistake keeps being refused for a while.
 *
 * Every function may be called from any thread. */
#ifndef WEIR_DRIVER_HANDLE_H
#define WEIR_DRIVER_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

enum {
    HANDLE_SLAB = 1 << 16, /* bytes of a slab; slabs start at multiples of it within the range */
    HANDLE_ALIGN = 16,     /* of every object */
};

/* The range. Written under a lock of handle.c; read without. */
extern struct handle_range {
    uintptr_t base;          /* first slab; 0 before the first object */
    _Atomic uint64_t in_use; /* bytes from base on that are slabs */
} handle_range WEIR_OWN;

/* At the start of each slab; objects follow. */
struct handle_slab {
    uint32_t tag; /* kind of all its objects */
};

/* A new, zeroed object whose first field, a uint32_t, is the tag. Always the same size for one tag,
 * at most half a slab. NULL only where no slab is ready any more (handle_fill), which driver_ready
 * refuses calls before. */
void *handle_new(uint32_t tag, size_t bytes);
/* The same in two, for what a stale handle of another thread may find while it is made: without the
 * tag first, */
void *handle_begin(uint32_t tag, size_t bytes);
/* and live once its fields are set. */
static inline void handle_publish(void *object, uint32_t tag)
{
    atomic_store_explicit((_Atomic uint32_t *)object, tag, memory_order_release);
}

/* Makes slabs ready for when the system gives no memory. False: few are, and no more are to be had.
 */
bool handle_fill(void);

/* Wipes the tag; what the object owns is the caller's to free before. NULL is allowed. */
void handle_free(void *object);
/* The same in two. No call finds the object any more, though some may have before: hold_drain
 * (device/hold.h) waits for them. False: another thread has done so, and the object is its to free.
 */
bool handle_wipe(void *object);
/* Lets the object be used again, which was wiped or never published. */
void handle_recycle(void *object);

/* The tag of what once was an object; with it, all that was written before it was published. */
static inline uint32_t handle_tag(const void *h)
{
    return atomic_load_explicit((const _Atomic uint32_t *)h, memory_order_acquire);
}

/* Whether h, any bits, is a live object of that kind. */
static inline bool handle_live(const void *h, uint32_t tag)
{
    uintptr_t base = handle_range.base;
    uint64_t at = (uintptr_t)h - base;
    if (at >= atomic_load_explicit(&handle_range.in_use, memory_order_acquire) ||
        at % HANDLE_ALIGN != 0 || at % HANDLE_SLAB < HANDLE_ALIGN)
        return false;
    const struct handle_slab *slab =
        (const struct handle_slab *)(base + at / HANDLE_SLAB * HANDLE_SLAB);
    return slab->tag == tag && handle_tag(h) == tag;
}

#endif
