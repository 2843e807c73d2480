/* internal: what the files of libweir-sync.so share. */
#ifndef WEIR_SYNC_INTERNAL_H
#define WEIR_SYNC_INTERNAL_H

#include "races/host_sync.h"

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

extern const struct host_sync_listener *sync_listener; /* NULL: no check has begun */

/* The function of that name in the next library, found at the first call. */
typedef void (*sync_function)(void);
sync_function sync_need(sync_function *cache, const char *name);

#define NEXT(name)                                                                                 \
    static sync_function cache;                                                                    \
    __typeof__(&(name)) next = (__typeof__(&(name)))sync_need(&cache, #name)

#endif
