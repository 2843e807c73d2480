/* Random sequences of API calls, checked against a model of what they mean.
 *
 * Each host thread makes calls at random, legal and illegal, over objects that it owns, and keeps a
 * model of their state in plain C: which objects live, what every byte of memory holds once all
 * that was enqueued is done, what comes after what, its last error, its current context. The model
 * says what a call returns and what it finds. It follows CUDA's documentation and the codes in
 * tests/conformance/errors; it knows nothing of how a driver works.
 *
 * Order is known by vector clocks. Each stream has a tick for each thing enqueued in it; a stream's
 * clock says which ticks of the thread's other streams it comes after (by events, by the legacy
 * stream), the host's clock which ones are known to be done. What two accesses to a buffer need and
 * do not have, order() makes, by one of the documented means. The model claims less order than
 * there may be, never more.
 *
 * A sequence depends on the seed and the number of the thread alone, since a thread's model
 * contains nothing of other threads. What threads share is in shared.c and ops_peers.c, under
 * rules of their own.
 *
 * With several devices (WEIR_DEVICES) each thread has one of them for its home: its objects are
 * there, and it is current between steps. Some steps visit the others (ops_peers.c). */
#ifndef WEIR_TEST_SEQUENCES_H
#define WEIR_TEST_SEQUENCES_H

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sequences_device.h"

enum {
    MAX_THREADS = 16,
    STREAMS = 10, /* slots of a thread; the first two are the default streams */
    EVENTS = 10,  /* slots of a thread; the first is order()'s own */
    BUFFERS = 14, /* slots of a thread */
    GRAPHS = 4,   /* slots of a thread, of graphs and of executable graphs */
    NODES = 12,   /* of a graph at most */
    POOLS = 3,    /* slots of a thread */
    ARRAYS = 4,   /* slots of a thread */
    MAX_DEVICES = 16,
    RECENT = 4096, /* calls that are kept; a report shows settings.recent of them */
    STAGE = 16384, /* bytes of pageable memory on each side */
    SYMBOL = 1024, /* bytes of the symbol that are one thread's */
    ABROAD = 3000, /* bytes of each memory on other devices */
    LEGACY = 0,
    PER_THREAD = 1,
    LINK = 0, /* the event that order() uses */
};

/* ---- the model ---- */

struct clock {
    unsigned t[STREAMS];
};

struct stream {
    enum { STREAM_NONE, STREAM_LIVE, STREAM_DESTROYED } state; /* destroyed: work may be pending */
    cudaStream_t h;
    bool blocking; /* takes part in the legacy stream's order */
    unsigned flags;
    int priority;
    unsigned long long id; /* 0: not asked for yet */
    unsigned tick;         /* of what was enqueued last */
    struct clock seen;     /* what that comes after, itself included */
    bool held;             /* by the closed gate */
    bool capturing;        /* into the thread's capture */
    bool invalid;          /* that capture was invalidated */
    long served, called;   /* host functions: enqueued, called (atomic) */
};

struct event {
    bool live, recorded, held;
    cudaEvent_t h;
    unsigned flags;
    struct clock at;
};

enum buffer_kind {
    DEVICE,     /* cudaMalloc, cuMemAlloc */
    PITCHED,    /* cudaMallocPitch, cudaMalloc3D */
    PINNED,     /* cudaMallocHost */
    MAPPED,     /* cudaHostAlloc and cuMemHostAlloc with flags */
    REGISTERED, /* cudaHostRegister */
    MANAGED,    /* cudaMallocManaged */
    ORDERED,    /* cudaMallocAsync and its kin */
    VIRTUAL,    /* cuMemMap */
    IN_SYMBOL,  /* a part of a __device__ variable */
    BUFFER_KINDS
};

struct buffer {
    bool live;
    enum buffer_kind kind;
    bool by_driver;      /* allocated by the driver's API */
    unsigned flags;      /* of page-locked memory */
    char *p;             /* the address; for the device and, where it can, the host */
    void *own;           /* registered memory: what free takes */
    size_t size, mapped; /* of the content; of a mapping */
    size_t pitch;        /* PITCHED: of its rows */
    int pool;            /* ORDERED: slot, -1 for the device's */
    CUmemGenericAllocationHandle handle;
    unsigned serial;        /* a number of its own, which graphs remember */
    unsigned char *model;   /* what it holds once all that was enqueued is done */
    int writer;             /* stream slot of the last write, -1: none that is pending */
    unsigned written;       /* its tick */
    unsigned read[STREAMS]; /* ticks of the last reads */
};

/* What a kernel, copy or set does to buffers; nodes of graphs keep it. */
enum action_kind { NOTHING, MIX, COPY, SET, HOST };

struct action {
    enum action_kind kind;
    int dst, src; /* buffer slots */
    unsigned dst_serial, src_serial;
    size_t to, from, n; /* ranges */
    size_t pitch_to, pitch_from, rows;
    unsigned value;
};

struct pool {
    bool live;
    cudaMemPool_t h;
    unsigned long long threshold;
    int uses[3]; /* the three switches */
};

struct array {
    bool live;
    cudaArray_t h;
    size_t width, height, depth, element; /* element in bytes; width in elements */
    unsigned flags;
    bool set; /* its content is known */
    struct cudaChannelFormatDesc format;
    unsigned char *model;
};

struct node {
    cudaGraphNode_t h; /* of the graph, for its executable forms, too */
    enum cudaGraphNodeType type;
    struct action what;
    uint32_t after; /* bits of the nodes that it depends on */
    bool enabled;
};

struct graph {
    bool live, captured;
    cudaGraph_t h;
    int nodes;
    struct node node[NODES];
};

struct exec {
    bool live;
    cudaGraphExec_t h;
    int of; /* slot of the graph that it was made of, -1: gone or changed */
    unsigned launches;
    int made;        /* nodes it was made with */
    struct graph as; /* as instantiated and updated */
};

/* What a thread has on a device that is not its home. No work on it is pending between steps. */
struct abroad {
    bool live;
    int device;
    cudaStream_t s;
    cudaEvent_t e;
    unsigned char *p;                            /* device memory, ABROAD bytes */
    cudaMemPool_t pool;                          /* of that device */
    unsigned char *from;                         /* memory of the pool, ABROAD bytes */
    bool open;                                   /* the pool, to the home */
    unsigned char model[ABROAD], pooled[ABROAD]; /* what p and from hold */
};

/* A call as a report shows it. */
struct call {
    const char *op, *text; /* what was being done; the call's text */
    int line;
    int code;     /* what it returned, -1: not back yet */
    long note[4]; /* numbers that the op wants shown */
};

struct thread {
    int number;
    int device; /* its home: current between steps, where all its objects are */
    uint64_t seed, random;
    pthread_t id;
    _Atomic unsigned long calls; /* made so far */
    _Atomic unsigned long steps;
    const char *op;
    long note[4];
    struct call recent[RECENT];

    struct stream stream[STREAMS];
    struct event event[EVENTS];
    struct buffer buffer[BUFFERS];
    struct pool pool[POOLS];
    struct array array[ARRAYS];
    struct graph graph[GRAPHS];
    struct exec exec[GRAPHS];
    struct abroad abroad;
    struct clock done;       /* the host's */
    unsigned serial;         /* of the last buffer */
    int last_error;          /* the runtime's for this thread */
    unsigned char *stage[2]; /* pageable memory, STAGE bytes each */
    unsigned char *scratch;

    /* The gate: at most one, which holds a stream until it is opened. */
    enum { OPEN, CLOSED } gate;
    int gate_stream;
    unsigned gate_tick;
    int gate_left; /* steps until it is opened */
    int gate_kind;
    volatile unsigned *flag; /* page-locked */
    unsigned flag_wanted;

    CUcontext primary;
    long host_nodes, host_nodes_called; /* of graphs: launched, called (atomic) */
    unsigned counted;                   /* launches of the counting kernel */
};

/* What all threads know; written before they start. */
extern struct settings {
    int threads;
    uint64_t seed;
    unsigned long steps;
    bool own_pools; /* the runtime's (WEIR_POOLS=own): mapped memory, whose rules are others */
    bool ours;      /* the driver is this project's: calls that are undefined are made, too */
    bool verbose;
    bool collect;     /* tell calls that differ and go on */
    unsigned recent;  /* calls that a report shows */
    const char *only; /* families, with commas between; NULL: all */
    const void *symbol_handle;
    size_t symbol_size;
    int devices;
} settings;

/* What there is once for each device. */
struct place {
    unsigned *counter; /* device memory that the device's threads count in */
    char *symbol;      /* address of the symbol */
    unsigned long long expected_count;
    CUcontext primary;
};
extern struct place places[MAX_DEVICES];

extern struct thread threads[MAX_THREADS];

/* Creating and destroying handles and memory: shared. Using stale ones: alone, and only those that
 * are nobody's (stale_*). Without that, a handle destroyed by one thread might be another's next.
 */
extern pthread_rwlock_t handles;
extern int closed_gates; /* of all threads; atomic */

/* ---- calls and checks (report.c) ---- */

enum { READY_OR_NOT = -2, ANY_CODE = -3 }; /* expectations: either answer of a query; any code */

void call_begin(struct thread *t, const char *text, int line);
int call_end_runtime(struct thread *t, int code, int wanted);
int call_end_driver(struct thread *t, int code, int wanted);
/* Prints the message, the seed and the last calls, and ends the process. */
_Noreturn void fail(struct thread *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void print_recent(struct thread *t);

/* A call of the runtime or the driver and the code that it is to return, which is the value. */
#define RT(wanted, call)                                                                           \
    (call_begin(t, #call, __LINE__), call_end_runtime(t, (int)(call), (int)(wanted)))
#define CU(wanted, call)                                                                           \
    (call_begin(t, #call, __LINE__), call_end_driver(t, (int)(call), (int)(wanted)))
#define OK_RT(call) RT(cudaSuccess, call)
#define OK_CU(call) CU(CUDA_SUCCESS, call)
#define NOTE(a, b, c, d)                                                                           \
    (t->note[0] = (long)(a), t->note[1] = (long)(b), t->note[2] = (long)(c), t->note[3] = (long)(d))
/* Something that must hold. */
#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond))                                                                               \
            fail(t, "%s:%d: not so: %s", __FILE__, __LINE__, #cond);                               \
    } while (0)
#define MUST_EQ(a, b)                                                                              \
    do {                                                                                           \
        long long must_a = (long long)(a), must_b = (long long)(b);                                \
        if (must_a != must_b)                                                                      \
            fail(t, "%s:%d: %s is %lld, %s is %lld", __FILE__, __LINE__, #a, must_a, #b, must_b);  \
    } while (0)

/* ---- chance ---- */

static inline uint32_t chance(struct thread *t)
{
    t->random ^= t->random >> 12;
    t->random ^= t->random << 25;
    t->random ^= t->random >> 27;
    return (uint32_t)((t->random * 0x2545f4914f6cdd1dull) >> 32);
}
/* 0 .. n - 1 */
static inline unsigned below(struct thread *t, unsigned n) { return chance(t) % n; }
static inline bool one_in(struct thread *t, unsigned n) { return below(t, n) == 0; }

/* ---- order (model.c) ---- */

/* A live stream that is not capturing, at random. */
int any_stream(struct thread *t);
/* The same, none of the default ones; -1 when there is none. */
int own_stream(struct thread *t);
/* A live event slot but LINK; -1. */
int any_event(struct thread *t);
/* A new tick of stream s, after what the rules say. */
void enqueued(struct thread *t, int s);
/* The same for what may not take part in the legacy stream's order (allocations and frees). */
void enqueued_alone(struct thread *t, int s);
/* A new tick for a wait: in other streams than the legacy one it may be nothing at all, if its
 * event is complete (an H200's answer). */
void waited(struct thread *t, int s);
/* Stream s comes after what the clock says. */
void joins(struct thread *t, int s, const struct clock *c);
/* The host knows that this is done, or all that is in the stream, or everything. */
void host_joins(struct thread *t, const struct clock *c);
void stream_done(struct thread *t, int s);
void all_done(struct thread *t);
/* Whether all of stream s is known to be done. */
bool idle(const struct thread *t, int s);
/* Makes stream s come after that tick of stream r. False when that cannot be now (a closed gate).
 */
bool order(struct thread *t, int s, int r, unsigned tick);
/* Makes an access of stream s to the buffer legal. */
bool may_access(struct thread *t, int s, struct buffer *b, bool write);
void accessed(struct thread *t, int s, struct buffer *b, bool write);
/* The same for the host: waits for what is pending. */
bool host_may_access(struct thread *t, struct buffer *b, bool write);
/* A wait of the host for everything, in one of its forms. */
void wait_for_all(struct thread *t);
/* Opens the gate. */
void open_gate(struct thread *t);

/* ---- actions (actions.c) ---- */

/* An action at random over live buffers, host functions among them if wanted. */
bool any_action(struct thread *t, struct action *a, bool host);
/* Does it to the model. */
void act(struct thread *t, const struct action *a);
/* Makes it legal in stream s; afterwards accessed. */
bool action_may(struct thread *t, int s, const struct action *a);
void action_done(struct thread *t, int s, const struct action *a);
/* Whether the buffers are those that it was made for. */
bool action_valid(const struct thread *t, const struct action *a);
/* Compares a buffer with the model. */
void check_buffer(struct thread *t, struct buffer *b);
void free_buffer(struct thread *t, struct buffer *b);
/* New memory of a known kind, address and size gets its first content. */
void buffer_begins(struct thread *t, struct buffer *b);
int any_buffer(struct thread *t);
bool on_host(const struct buffer *b);

/* ---- device code ---- */

/* The text of a module with a kernel and a variable. */
extern const char module_text[];

/* ---- operations ---- */

struct op {
    const char *family, *name;
    void (*run)(struct thread *t);
    unsigned weight;
    bool waits; /* may wait for the device, so not while the gate is closed */
};

extern const struct op ops_memory[], ops_copies[], ops_streams[], ops_launches[], ops_errors[],
    ops_pools[], ops_devices[], ops_graphs[], ops_capture[], ops_arrays[], ops_modules[],
    ops_contexts[], ops_shared[], ops_peers[], ops_faults[];

/* All that was known of the access of that device, and to it, is void: it was reset, and is
 * current. (ops_peers.c) */
void peers_forgotten(struct thread *t, int device);
/* Makes the thread's first objects; destroys all it has. */
void thread_begins(struct thread *t);
void thread_ends(struct thread *t);
/* Ends what families keep (each in its file). */
void pools_end(struct thread *t);
void arrays_end(struct thread *t);
void graphs_end(struct thread *t);
void peers_end(struct thread *t);
/* Between rounds: resets of a device (resets.c). */
void resets(struct thread *t);
/* A step of a round whose threads use any handles, and what is done after it (storm.c). */
void storm_step(struct thread *t);
void storm_ends(struct thread *t);
/* What all threads of the current device share; false: there is no device for it. */
bool shared_begins(int device);
/* What there is once for that device, which becomes the current one (main.c). */
bool place_begins(int device);

#endif
