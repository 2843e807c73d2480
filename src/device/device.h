/* device: streams, events, the commands in them, and the threads that run them. What the driver
 * is written against, together with memory/memory.h (allocation) and exec/grid.h (struct
 * grid_kernel, struct grid_launch, struct grid_fault).
 *
 * A device has contexts (its primary one and those of cuCtxCreate); a context has a legacy default
 * stream, other streams, events, limits, a printf buffer, a heap and, once a kernel went wrong, a
 * sticky fault.
 *
 * Every stream counts its commands. "Command n of stream s is done" is `completed >= n`; a record
 * of an event is such a pair, a wait on it a dependency on that pair. Streams are queues of
 * commands, and keep those that are done in a free list; a stream whose first command may run is in
 * the ready queue, from which workers, and host threads that wait, take it. Grids and large copies
 * are shared by several workers; blocks that spin are parked (exec/grid.h).
 *
 * Every function may be called from any number of threads. Nothing blocks unless it says so.
 * Handles are pointers; whether a pointer is a live handle is the driver's to check. */
#ifndef WEIR_DEVICE_DEVICE_H
#define WEIR_DEVICE_DEVICE_H

#include "base/base.h"
#include "base/slow_path.h"
#include "base/thread_fast.h"
#include "exec/grid.h"
#include "memory/memory.h"

struct device;
struct device_context;
struct device_stream;
struct device_event;

enum device_error {
    DEVICE_OK = 0,
    DEVICE_NOT_READY, /* query: work is left */
    DEVICE_OUT_OF_MEMORY,
    DEVICE_INVALID_VALUE,
    DEVICE_NOT_PERMITTED, /* a call from a host function that must not be made there */
    DEVICE_NOT_RECORDED,  /* elapsed time of an event without record or without timing */
    DEVICE_FORKED,        /* the process is a child of the one that opened the device */
    /* The sticky ones: what the context's first fault was. */
    DEVICE_FAULT_ADDRESS,
    DEVICE_FAULT_MISALIGNED,
    DEVICE_FAULT_ILLEGAL,
    DEVICE_FAULT_PC, /* a call through what points to no function */
    DEVICE_FAULT_TRAP,
    DEVICE_FAULT_ASSERT,
    DEVICE_FAULT_STACK,
    DEVICE_FAULT_HANDLE, /* device code used a stream or an event that is not its own */
    DEVICE_FAULT_MEMORY, /* no memory for a block's frame, shared and local memory */
};

/* ---- the machine ---- */

/* Opens everything: memory ranges, WEIR_DEVICES devices (default 1), WEIR_WORKERS worker threads
 * (default: the CPUs this process may use). Once per process; later calls return the first
 * one's result. Zero or nonsense in a variable is refused with a message. The threads start with
 * the first command. */
bool device_open(struct diag *d);
int device_count(void);
struct device *device_get(int ordinal); /* NULL when out of range */
int device_ordinal(const struct device *dev);

/* The process is a fork of the one that opened the devices: nothing works here. Cheap. */
static inline bool device_forked(void) { return WEIR_UNLIKELY(slow_path(SLOW_PATH_FORKED) != 0); }

/* From now on, calls that enqueue work wait a moment for it, if it can run: what checks have to
 * know of it is then known when the call returns. Programs cannot tell, but by time. Before
 * device_open. */
void device_set_eager(void);

/* Between these two no command of any stream executes: blocks that run end or are parked first, new
 * ones wait. For what changes memory under their feet; short. One at a time: a second pause waits
 * for the first one's end. Not from a host function. */
void device_pause(void);
void device_resume(void);

/* Facts of the machine, the same for each device unless said otherwise. */
struct device_facts {
    char name[128];        /* the CPU, e.g. "AMD EPYC 9B14" */
    uint32_t workers;      /* worker threads: the multiprocessors of the device */
    uint32_t cores;        /* CPUs this process may run on */
    uint32_t clock_khz;    /* highest known clock; 0 when the system does not tell */
    uint64_t memory_bytes; /* of this device: mem_usage's total */
    uint64_t host_memory_bytes;
    uint32_t l1d_bytes, l2_bytes, l3_bytes; /* per core / per core / shared; 0 when unknown */
    uint32_t cache_line;
    uint32_t simd_bits; /* 128, 256, 512 */
    uint32_t numa_nodes;
};
void device_facts(struct device *dev, struct device_facts *out);

/* ---- contexts ---- */

/* How host threads wait (cudaDeviceSchedule*). */
enum device_wait { DEVICE_WAIT_AUTO, DEVICE_WAIT_SPIN, DEVICE_WAIT_YIELD, DEVICE_WAIT_BLOCK };

/* Contexts are independent of each other. The driver makes the primary one like any other. */
struct device_context *device_context_new(struct device *dev);
/* Waits for all its work, frees its memory (everything in mem with owner == ctx), its streams and
 * events that are still there become invalid. */
void device_context_free(struct device_context *ctx);
/* cudaDeviceReset: the same, but the context stays, as new. The legacy and per-thread streams stay
 * valid; streams and events made by the program are the driver's to destroy before. */
void device_context_reset(struct device_context *ctx);

void device_context_set_wait(struct device_context *ctx, enum device_wait wait);
struct grid_env *device_context_env(struct device_context *ctx); /* limits, fault, printf */

/* DEVICE_OK, or the sticky fault, or DEVICE_FORKED. The driver asks it first in every call. Cheap.
 */
enum device_error device_context_trouble(struct device_context *ctx);
static inline enum device_error device_context_status(struct device_context *ctx)
{
    return WEIR_LIKELY(slow_path(SLOW_PATH_FAULT | SLOW_PATH_FORKED) == 0)
               ? DEVICE_OK
               : device_context_trouble(ctx);
}
/* The fault that caused it, with kernel, block, address and a text for people; NULL when there is
 * none.
 */
const struct grid_fault *device_context_fault(struct device_context *ctx);

/* Blocks until everything enqueued so far in all streams of the context is done; prints what
 * kernels printed. */
enum device_error device_context_sync(struct device_context *ctx);

/* ---- streams ---- */

enum { DEVICE_STREAM_BLOCKING = 0, DEVICE_STREAM_NONBLOCKING = 1 };
/* Lowest and highest priority; numbers outside are clamped. */
enum { DEVICE_PRIORITY_LOWEST = 0, DEVICE_PRIORITY_HIGHEST = -5 };

struct device_stream *device_stream_new(struct device_context *ctx, unsigned flags, int priority);
/* The stream's handle is gone, but calls under way may still use it: device_stream_free is to
 * follow. Returns at once; work that is queued still runs. */
void device_stream_end(struct device_stream *s);
/* No call has the stream any more. Ends it, unless it has ended. */
void device_stream_free(struct device_stream *s);

/* Handle 0 of the context, and the calling thread's own default stream (blocking with respect to
 * the legacy one; made at first use, freed with the thread or the context). */
struct device_stream *device_stream_legacy(struct device_context *ctx);
struct device_stream *device_stream_per_thread(struct device_context *ctx);

unsigned device_stream_flags(const struct device_stream *s);
int device_stream_priority(const struct device_stream *s);
uint64_t device_stream_id(const struct device_stream *s); /* unique in the process; legacy: 1,
                                                             per-thread: 2 + … */
uint64_t device_stream_observed_id(const struct device_stream *s); /* for observers: observe_id */
uint64_t device_event_observed_id(const struct device_event *e);   /* likewise; 0: none */

/* DEVICE_OK: all done; DEVICE_NOT_READY; or the sticky fault. The legacy stream includes what it
 * waits for. */
enum device_error device_stream_query(struct device_stream *s);
/* Blocks until all that is enqueued now is done (helping to run it); prints what kernels printed.
 */
enum device_error device_stream_sync(struct device_stream *s);

/* ---- events ---- */

enum {
    DEVICE_EVENT_TIMING = 0,
    DEVICE_EVENT_BLOCKING_SYNC = 1,
    DEVICE_EVENT_NO_TIMING = 2, /* the values of cudaEventDefault … */
    DEVICE_EVENT_INTERPROCESS = 4,
};
/* NULL: the system has no more of what interprocess events need (descriptors). */
struct device_event *device_event_new(struct device_context *ctx, unsigned flags);
/* An interprocess event of another process. */
enum file_status device_event_open(struct device_context *ctx, const struct share_handle *h,
                                   struct device_event **out);
/* A handle for other processes of an interprocess event, good until the event is freed. What a
 * process has recorded counts as complete when the process is gone. */
void device_event_export(const struct device_event *e, struct share_handle *out);
void device_event_free(struct device_event *e); /* returns at once; waits on it keep working */

bool device_event_recorded(struct device_event *e); /* ever */
/* Which recording the present one is, of those that only this process sees: 1, 2, 3 …; 0: none. */
uint64_t device_event_recording(struct device_event *e);
enum device_error device_event_record(struct device_event *e, struct device_stream *s);
enum device_error device_event_query(struct device_event *e); /* never recorded: DEVICE_OK */
enum device_error device_event_sync(struct device_event *e); /* blocks; never recorded: DEVICE_OK */
/* DEVICE_NOT_RECORDED, DEVICE_NOT_READY, or OK and milliseconds from a to b. */
enum device_error device_event_elapsed(struct device_event *a, struct device_event *b, float *ms);
/* The stream's later work waits for the recording that the event has now (any device, any context).
 * Never recorded: does nothing. */
enum device_error device_stream_wait_event(struct device_stream *s, struct device_event *e);

/* ---- order ---- */

/* For an allocator that hands memory from stream to stream: it takes timestamps of the moments at
 * which memory was freed, and asks later what is ordered after them and what has passed. */

/* A moment of a stream, after all that is in it. */
struct device_point {
    uint64_t timestamp; /* for questions of order; more than 0 */
    uint64_t count;     /* passed when the stream's completed count has reached it */
};

/* From now on order is followed. `end` is told of each stream whose handle goes and, when no call
 * has it any more, again; the stream itself stays while it is kept. */
void device_follow_order(void (*end)(struct device_stream *s, bool gone));
/* The present moment of the stream. A few loads; now and then it enqueues a command. */
struct device_point device_stream_mark(struct device_stream *s);
uint64_t device_stream_completed(struct device_stream *s);
/* Timestamps of the stream below this have passed, and a synchronization of the host has shown it.
 */
uint64_t device_stream_proven(struct device_stream *s);
/* What is enqueued in `s` from now on comes after the timestamps of `on` below this: by events
 * waited for, whatever number of streams they went through, and by the default stream's rule. */
uint64_t device_stream_ordered(struct device_stream *s, struct device_stream *on);
/* The stream's later work waits for that count of the other. */
void device_stream_wait_count(struct device_stream *s, struct device_stream *on, uint64_t count);
/* The stream's later work waits for all that the next command of the other, of any context, would
 * come after: for a legacy stream, what is in its context's blocking streams, too. */
void device_stream_wait_stream(struct device_stream *s, struct device_stream *on);
/* The stream can be asked until it is released, also when its handle is gone. */
struct device_stream *device_stream_keep(struct device_stream *s);
void device_stream_release(struct device_stream *s);
/* Where in a stream a word of the allocator's is: an _Atomic(void *), NULL at first. */
extern const size_t device_stream_slot;

/* ---- commands ---- */

/* Launches a kernel; parameters are copied. The driver has checked sizes against its limits; what
 * is checked here: no dimension 0, threads <= 1024, kernel present. Asynchronous. */
enum device_error device_launch(struct device_stream *s, const struct grid_launch *launch);
/* The same for who has checked all that, and has just seen fast_path_launch(). */
enum device_error device_launch_checked(struct device_stream *s, const struct grid_launch *launch);

/* One box of bytes, rows of pitches. 1D: height = depth = 1 (0 counts as 1). */
struct device_copy {
    void *dst;
    const void *src;
    uint64_t dst_pitch, src_pitch; /* bytes from row to row; unused when height is 1 */
    uint64_t dst_slice, src_slice; /* bytes from slice to slice; unused when depth is 1 */
    uint64_t width, height, depth; /* bytes, rows, slices; width 0: nothing is done */
    bool src_host, dst_host; /* the caller says that this side is the host's: it counts as pageable
                                even if it is managed memory */
};
enum device_copy_mode {
    DEVICE_COPY_ASYNC,  /* cudaMemcpy*Async: spec Y2. A pageable source is staged or copied before
                           the return; to pageable memory, and host to host: done at the return */
    DEVICE_COPY_SYNC,   /* cudaMemcpy*: spec Y1. Waits for the stream and the copy unless both
                           sides are device memory */
    DEVICE_COPY_QUEUED, /* always only enqueued, nothing staged: the caller owns both sides until
                           it is done (graphs, tests) */
};
/* Direction is told from the addresses (memory/memory.h). Overlapping copies are undefined, not
 * unsafe. */
enum device_error device_copy(struct device_stream *s, const struct device_copy *copy,
                              enum device_copy_mode mode);

/* Sets rows of elements. element: 1, 2 or 4 bytes; dst aligned to it. */
struct device_set {
    void *dst;
    uint64_t pitch;         /* bytes from row to row; unused when height is 1 */
    uint64_t slice;         /* bytes from slice to slice; unused when depth is 1 */
    uint64_t width;         /* elements */
    uint64_t height, depth; /* 0 counts as 1 */
    uint32_t element, value;
};
/* Asynchronous; with `wait` (cudaMemset without Async) it blocks when dst is page-locked or managed
 * memory. */
enum device_error device_set(struct device_stream *s, const struct device_set *set, bool wait);

/* Runs fn on the host-function thread in stream order; the stream goes on after it has returned.
 * It may block; `of` is the program's function that it calls, with the pointer that `user` begins
 * with, if neither is NULL. After a fault fn is not called,
 * unless `always`, then with the error (this is cudaStreamAddCallback). Calls into the API from it:
 * see device_in_host_function. */
typedef void (*device_host_fn)(void *user, enum device_error status);
enum device_error device_host_function(struct device_stream *s, device_host_fn fn, void *user,
                                       const void *of, bool always);
/* The calling thread is inside a host function: the API must refuse with NotPermitted. */
extern WEIR_THREAD_FAST bool device_inside_host_function;
static inline bool device_in_host_function(void)
{
    return WEIR_UNLIKELY(slow_path(SLOW_PATH_HOST_FUNCTION) != 0) && device_inside_host_function;
}

/* Runs fn(user) on a worker in stream order: for the driver's own work (returning pool memory,
 * dropping references). It must be short, not block, not call device_*; it runs after faults, too.
 * A host thread that waits may be the one that runs it: hold no lock over a wait that fn takes. */
enum device_error device_call(struct device_stream *s, void (*fn)(void *user), void *user);

/* Waits in stream order until (*address - value >= 0 | == | and | nor) holds, and writes it:
 * cuStreamWaitValue / WriteValue. bytes 4 or 8. Parked, not spinning on a worker. */
enum device_value_test { DEVICE_VALUE_GEQ, DEVICE_VALUE_EQ, DEVICE_VALUE_AND, DEVICE_VALUE_NOR };
enum device_error device_wait_value(struct device_stream *s, const void *address, unsigned bytes,
                                    uint64_t value, enum device_value_test test);
enum device_error device_write_value(struct device_stream *s, void *address, unsigned bytes,
                                     uint64_t value);

/* ---- graphs ---- */

/* A graph made ready to run: its order is worked out once, a launch is one command. Launches of one
 * graph run one after the other, in whichever streams they are. */
struct device_graph;

enum device_node_kind {
    DEVICE_NODE_EMPTY,
    DEVICE_NODE_GRID,
    DEVICE_NODE_COPY, /* like DEVICE_COPY_QUEUED */
    DEVICE_NODE_SET,
    DEVICE_NODE_HOST,
    DEVICE_NODE_CALL, /* like device_call: runs after faults, too */
    DEVICE_NODE_WRITE_VALUE,
    DEVICE_NODE_WAIT_VALUE,
    DEVICE_NODE_RECORD, /* the event counts as recorded, and pending, from the launch on */
    DEVICE_NODE_WAIT,   /* for the recording that the event has at the launch */
    DEVICE_NODE_BRANCH, /* runs one of its bodies, or none, once or again and again */
};

struct device_graph_spec;

/* One node, for building and for changing. Everything is copied, but events are kept. */
struct device_node {
    enum device_node_kind kind;
    uint32_t id;          /* of all nodes of the graph and its bodies: 0, 1, 2 …, each once */
    bool disabled;        /* does nothing; what depends on it runs */
    int priority;         /* of the work, like a stream's; only with `prioritized` */
    bool prioritized;     /* else that of the stream launched in */
    const uint32_t *deps; /* indices, in the array, of nodes before this one that it waits for */
    uint32_t dep_count;
    union {
        struct grid_launch launch;
        struct device_copy copy;
        struct device_set set;
        struct {
            void *address;
            uint64_t value;
            uint32_t bytes;
            enum device_value_test test; /* of waits */
        } word;
        struct {
            void (*fn)(void *user);
            void *user;
        } host, call;
        struct device_event *event;
        struct {
            const uint32_t *value; /* what decides, read when the node is reached */
            bool loop;             /* body 0 while the value is not 0 */
            bool number;           /* the body of that number; else 0 if not 0, 1 if 0 */
            const struct device_graph_spec *bodies;
            uint32_t body_count;
        } branch;
    };
};

/* Nodes, each after those it depends on. */
struct device_graph_spec {
    const struct device_node *nodes;
    uint32_t count;
};

/* A word that gets a value at the start of every launch. */
struct device_graph_reset {
    uint32_t *word;
    uint32_t value;
};

/* Builds a graph of `total` nodes, those of all bodies included. When neither the graph nor a
 * launch of it is left, released(user) is called, on any thread, if it is not NULL. */
enum device_error device_graph_new(struct device_context *ctx, const struct device_graph_spec *spec,
                                   uint32_t total, const struct device_graph_reset *resets,
                                   uint32_t reset_count, void (*released)(void *user), void *user,
                                   struct device_graph **out);
/* Returns at once; launches still run. */
void device_graph_free(struct device_graph *g);
/* Gives the node of the same id and kind new parameters, for later launches; a branch keeps its
 * bodies. */
enum device_error device_graph_change(struct device_graph *g, const struct device_node *node);
/* Other words get values at the start of later launches. */
enum device_error device_graph_set_resets(struct device_graph *g,
                                          const struct device_graph_reset *resets, uint32_t count);
/* Whether no launch of it is under way, of what it was before a change neither. */
bool device_graph_idle(const struct device_graph *g);
/* The object by which callers know the graph: what cdp_graph_current gives its kernels. Before
 * its first launch. */
void device_graph_set_handle(struct device_graph *g, void *handle);
/* Asynchronous. Parameters are those the graph has now. */
enum device_error device_graph_launch(struct device_graph *g, struct device_stream *s);

#endif
