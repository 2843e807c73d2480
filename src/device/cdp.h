/* cdp: dynamic parallelism in the device layer: what cdp_queue.c and cdp_streams.c offer to the
 * other files here. exec/cdp.h has the whole path of a launch. */
#ifndef WEIR_DEVICE_CDP_H
#define WEIR_DEVICE_CDP_H

#include "device/cdp_api.h"
#include "device/internal.h"

void cdp_open(void); /* once, with the device */

/* The command's run is complete. Runs its tail launches; true: they are over, too, and so is the
 * command. False: whoever ends them ends it. */
bool cdp_tails(struct command *c, struct grid_worker *w);

/* The command of a child is over: it is counted off, and its queue goes on, at cdp_settle. */
void cdp_child_over(struct command *c, struct grid_worker *w);

/* Runs a queue that is the caller's. */
void cdp_run_queue(struct cdp_queue *q, struct grid_worker *w);

/* Does what this thread has to do, outside of all blocks. */
void cdp_settle(struct grid_worker *w);

/* ---- streams and events of device code (cdp_streams.c) ---- */

/* The queue of a stream that the grid has made, NULL: the handle is none. */
struct cdp_queue *cdp_stream_queue(const struct grid_run *run, uint64_t stream);
/* Checked mode: the block may not use the stream, which another block or grid made; says why. */
bool cdp_misuses(struct grid_block *b, uint64_t stream, struct strbuf *why);
/* An event is reached in q: the queues that waited for it, linked by `next`, are the caller's to
 * run.
 */
struct cdp_queue *cdp_record(const struct cdp_child *c, const struct cdp_queue *q);
/* Whether the event waited for is reached. If not, the queue is no longer the caller's. */
bool cdp_wait(const struct cdp_child *c, struct cdp_queue *q);
/* The grid is complete: its streams and events end. */
void cdp_handles_free(struct grid_run *run);

#endif
