/* retire: freeing what is destroyed often without waiting for calls of other threads.
 *
 * Streams, events and graphs are destroyed too often for a hold_drain each (device/hold.h). What is
 * retired has been wiped, so that no call finds it any more; once some have come together, and no
 * call is under way that may have found them before, they are freed. */
#ifndef WEIR_DRIVER_RETIRE_H
#define WEIR_DRIVER_RETIRE_H

/* Embedded in what is retired. */
struct retired {
    struct retired *next;
    void (*free)(struct retired *self);
};

/* r->free is called, by this thread or another, when no call has it any more. */
void retire(struct retired *r);
/* Frees what was retired now, as far as that can be. */
void retire_sweep(void);

#endif
