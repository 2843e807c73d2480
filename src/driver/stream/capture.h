/* stream/capture: captures, for the two files about them: capture.c (who is captured, what that
 * forbids, beginning and ending) and capture_nodes.c (what becomes nodes). One lock guards all of
 * it. */
#ifndef WEIR_DRIVER_STREAM_CAPTURE_H
#define WEIR_DRIVER_STREAM_CAPTURE_H

#include "driver/graph/graph.h"

extern pthread_mutex_t capture_lock;

/* What the next node of a stream depends on. */
struct points {
    struct graph_edge *items;
    size_t count, cap;
};

/* A capture that has begun and not ended. */
struct capture {
    uint64_t id;
    CUstreamCaptureMode mode;
    pthread_t thread; /* that began it */
    CUgraph graph;    /* lives as long as this (graph_capturing) */
    bool foreign;     /* the graph is the program's (cuStreamBeginCaptureToGraph) */
    bool invalid;
    struct device_stream *origin;
    struct points left; /* what streams in it ended with that were destroyed since */
    struct capture *next;
};

/* A stream in it. */
struct captured {
    struct device_stream *stream;
    CUcontext ctx;
    struct capture *capture;
    struct points points;
    /* As the program was told them: good until the next call. */
    CUgraphNode *told_nodes;
    CUgraphEdgeData *told_edges;
    struct captured *next;
};

/* The captured stream that a call's work belongs to, *out NULL when it is not captured. Errors:
 * work there is forbidden. The lock is held. */
CUresult capture_enter(struct device_stream *s, CUcontext ctx, struct captured **out);
/* Adds a node after what the stream has so far. Takes the parameters. `at` gets the address of an
 * allocation. The lock is held. */
CUresult capture_add(struct captured *c, struct node_params *p, CUdeviceptr *at);

#endif
