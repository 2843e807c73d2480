/* timeline_read: a trace of weir run --trace in memory. */
#ifndef WEIR_TOOL_TIMELINE_READ_H
#define WEIR_TOOL_TIMELINE_READ_H

#include "base/base.h"

struct slice {
    char *name, *category;
    double at, us; /* µs */
};

struct track {
    uint64_t pid, tid, order;
    char *name;
    struct slice *slices; /* sorted: those that contain others come before them */
    size_t count, cap;
    double y; /* the picture's */
};

struct process {
    uint64_t pid, order;
    char *name;
    bool device; /* its tracks are streams */
};

struct arrow {
    uint64_t id, from_pid, from_tid, to_pid, to_tid;
    double begin, end;
};

struct trace {
    struct track *tracks; /* in the order of the trace */
    size_t track_count, track_cap;
    struct process *processes;
    size_t process_count, process_cap;
    struct arrow *arrows; /* with both ends */
    size_t arrow_count, arrow_cap;
    double first, last;           /* µs: of all events, */
    double first_work, last_work; /* and of kernels, copies and sets; 0: there are none */
};

/* False and a message when the file cannot be read, or is no trace of ours. */
bool trace_read(const char *path, struct trace *out, struct diag *d);
void trace_free(struct trace *t);
struct track *trace_track(const struct trace *t, uint64_t pid, uint64_t tid); /* NULL: none */

#endif
