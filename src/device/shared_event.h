/* shared_event: what processes that share an event know of it. Internal to the device layer.
 *
 * The state is in a file in memory (memory/file.h) that each of them maps. A recording takes a
 * number, 1, 2, 3 …, and a slot among those still pending; the event remembers its latest one. So
 * recordings of several processes and streams may complete in any order, and each wait ends with
 * the recording that it saw.
 *
 * There are no locks: a process may be killed between any two instructions. What a dead process has
 * left pending is completed by whoever notices: its work will never end, and nobody waits for ever.
 */
#ifndef WEIR_DEVICE_SHARED_EVENT_H
#define WEIR_DEVICE_SHARED_EVENT_H

#include "memory/file.h"

struct shared_event; /* one process's view */

/* One recording. */
struct recording {
    uint64_t number; /* 0: none */
    uint32_t slot;
};

struct shared_event *shared_event_new(int device); /* NULL: the system has no more */
enum file_status shared_event_open(const struct share_handle *h, struct shared_event **out);
void shared_event_close(struct shared_event *e);
void shared_event_handle(const struct shared_event *e, struct share_handle *out);

/* Begins a recording that nobody sees yet; false: too many are pending. */
bool shared_event_begin(struct shared_event *e, struct recording *out);
/* Makes it the event's latest, unless a later one is that already. */
void shared_event_publish(struct shared_event *e, struct recording r);
/* Ends it and wakes who waits, in all processes. */
void shared_event_complete(struct shared_event *e, struct recording r);

/* The latest recording; number 0 when there is none. */
struct recording shared_event_latest(const struct shared_event *e);
bool shared_event_done(const struct shared_event *e, struct recording r);
/* Completes it if the process that made it is gone. Costs some system calls. */
bool shared_event_reap(struct shared_event *e, struct recording r);

/* Blocks the calling thread until it is done. */
void shared_event_wait(struct shared_event *e, struct recording r);

/* A futex that all processes share; it changes after each completion. */
_Atomic uint32_t *shared_event_word(struct shared_event *e);

#endif
