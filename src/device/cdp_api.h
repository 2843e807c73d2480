/* cdp_api: streams, events, copies and graphs of device code, for the driver's helpers. Handles are
 * those of the grid that the block belongs to, or the NULL stream; all functions return 0 or a code
 * of cudaError_t and are called by the thread that runs the block, between grid_helper_begin and
 * grid_helper_end. */
#ifndef WEIR_DEVICE_CDP_API_H
#define WEIR_DEVICE_CDP_API_H

#include "device/device.h"
#include "exec/cdp.h"

/* The handle; `of_block`: it is the block's alone, not all the grid's. */
uint64_t cdp_stream_create(struct jit_block *j, bool of_block);
uint64_t cdp_event_create(struct jit_block *j, bool of_block);
int cdp_stream_destroy(struct jit_block *j, uint32_t lane, uint64_t stream); /* at its grid's end */
int cdp_event_destroy(struct jit_block *j, uint32_t lane, uint64_t event);
int cdp_event_record(struct jit_block *j, uint32_t lane, uint64_t event, uint64_t stream);
/* An event never recorded: nothing is waited for. */
int cdp_stream_wait_event(struct jit_block *j, uint32_t lane, uint64_t stream, uint64_t event);
/* Addresses in the block's own shared and local memory are refused. */
int cdp_copy(struct jit_block *j, uint32_t lane, const struct device_copy *copy, uint64_t stream);
/* Launches a graph from a kernel of a graph; from another kernel cudaErrorInvalidValue. */
enum cdp_graph {
    CDP_GRAPH_TAIL,   /* when the kernel's graph is over */
    CDP_GRAPH_BELOW,  /* fire and forget: the kernel's graph is over when this is */
    CDP_GRAPH_SIBLING /* beside the kernel's graph */
};
int cdp_graph_launch(struct jit_block *j, struct device_graph *g, enum cdp_graph how);
/* The handle of the graph that the grid is a node of, NULL: of none. */
void *cdp_graph_current(struct grid_run *run);
int cdp_set(struct jit_block *j, uint32_t lane, const struct device_set *set, uint64_t stream);

#endif
