/* host_sync: what the library that stands before a program's functions of pthreads, and those that
 * give memory back (tools/sync), tells the check for races, once the check has begun. */
#ifndef WEIR_RACES_HOST_SYNC_H
#define WEIR_RACES_HOST_SYNC_H

#include <stdbool.h>
#include <stdint.h>

enum host_sync {
    HOST_RELEASE, /* before a thread unlocks, signals or posts the object, or comes to a barrier */
    HOST_ACQUIRE, /* after it has locked it, or its wait for it is over */
    HOST_JOIN,    /* after it has waited for the end of another thread */
    HOST_PUBLISH  /* after it has done what is done once (pthread_once), as setting a promise is */
};

struct host_sync_listener {
    void (*synchronizes)(enum host_sync how, const void *object, bool own);
    /* Calls that return to this code are `own`: they are not the program's, unless a function of
     * the program ends with one. */
    const void *low, *high;
    /* Memory of the program's own is about to be given back by that call: only while *watching. */
    void (*releases)(const void *at, uint64_t bytes, const char *call, const void *caller,
                     bool own);
    const bool *watching;
};

/* What that library exports: from now on it tells the listener, which must stay valid. */
#define HOST_SYNC_LISTEN "weir_host_sync_listen"
typedef void host_sync_listen_fn(const struct host_sync_listener *listener);

#endif
