/* observe: what happens in the process, told to whoever observes it. The timeline, the statistics
 * and the checks are observers. They know this header and nothing of each other; the layers that
 * call the hooks know nothing of them.
 *
 * An **observer** is a table of functions (struct observe_hooks), registered once with observe_add,
 * before the first device is opened. A hook that it does not want is NULL. While there is no
 * observer, the bit SLOW_PATH_OBSERVED is clear and nothing of this is called: a call site is
 * one line, `if (WEIR_UNLIKELY(slow_path(SLOW_PATH_OBSERVED) != 0)) observed_...(...)`.
 *
 * **Work** is whatever is enqueued in a stream. It is known by (stream, count), as the scheduler
 * counts: the commands of a stream are 1, 2, 3 … in the order in which they run, one after the
 * other. A node of a graph has the launch's stream and count and a number of its own. A grid that
 * a kernel has launched has no stream: its count is unique.
 *
 * **Order.** While there is an observer, nothing that makes order is optimised away: each recording
 * of an event, and each wait of a stream for one of another stream, is work of its own, and work
 * lists all that it waits for, complete or not. So work comes after
 *   - the work before it in its stream,
 *   - the work in `after`: what an event wait waits for, what the default stream's rule demands and
 *     what the stream was not known to follow before, the previous launch of the same graph,
 *   - what the host thread that enqueued it comes after.
 * A host thread comes after what host_saw tells of it. Nodes of a graph come after the nodes they
 * depend on and what the launch comes after; the launch ends after its nodes. Memory that is
 * allocated or freed in stream order is so at the present end of that stream.
 *
 * **When hooks are called.** `enqueued` is called while the stream is locked: for one stream in the
 * order of counts, by the host thread that enqueues, before the work begins. `begun` and `ended`
 * are called by the threads that run work. `part_begun` and `part_ended` enclose what one thread
 * does of it; they nest as calls do. Several threads may be in hooks at once. A hook must not call
 * the layers that call it, nor block for long; what it is given is valid until it returns, names of
 * kernels and calls as long as the process runs them. */
#ifndef WEIR_OBSERVE_OBSERVE_H
#define WEIR_OBSERVE_OBSERVE_H

#include "base/base.h"
#include "base/slow_path.h"
#include "base/thread_fast.h"

/* ---- work ---- */

struct observe_id {
    uint64_t stream; /* OBSERVE_CHILDREN: launched by a kernel */
    uint64_t count;
    uint32_t node; /* 0, or 1 + the number of a node of the graph that this launches */
};
#define OBSERVE_CHILDREN 0

enum observe_kind {
    OBSERVE_KERNEL,
    OBSERVE_COPY,
    OBSERVE_SET,
    OBSERVE_HOST,     /* a function of the program */
    OBSERVE_INTERNAL, /* a function of the driver */
    OBSERVE_GRAPH,    /* a launch of a graph */
    OBSERVE_RECORD,   /* of an event */
    OBSERVE_WAIT,    /* of the stream, for what is in `after`; begins when the stream comes to it */
    OBSERVE_FOREIGN, /* the same for an event of another process: `after` is empty */
    OBSERVE_WRITE_VALUE,
    OBSERVE_WAIT_VALUE,
    OBSERVE_EMPTY,  /* node: does nothing */
    OBSERVE_BRANCH, /* node: runs one of its bodies, or none, once or again and again */
    OBSERVE_KINDS
};

/* The call of the API that the calling thread is in, the outermost one. */
struct observe_call {
    const char *name; /* "cudaMemcpyAsync"; NULL: in none */
    const void *site; /* the address it returns to */
    uint64_t begun;   /* clock_ns() */
    int error;        /* when it has ended: what it returns */
};

enum observe_memory_kind {
    OBSERVE_PAGEABLE,
    OBSERVE_DEVICE_MEMORY,
    OBSERVE_MANAGED,
    OBSERVE_PINNED,     /* of the host, page-locked */
    OBSERVE_REGISTERED, /* the program's, page-locked later */
    OBSERVE_POOL,       /* in stream order */
    OBSERVE_MAPPED,     /* by virtual memory management, or of another process */
    OBSERVE_OTHER_MEMORY
};

struct grid_kernel; /* exec/grid.h */

enum observe_launched { OBSERVE_BY_HOST, OBSERVE_BELOW, OBSERVE_SIBLING, OBSERVE_TAIL };

struct observe_work {
    struct observe_id id;
    enum observe_kind kind;
    const char *name; /* of a kernel (as in PTX), or what it is: "memcpy", "host function" … */
    int device;
    uint64_t context;         /* 1, 2, 3 … in the process */
    struct observe_id parent; /* the grid that launched it; count 0: none */
    uint64_t root;            /* the stream of the host's work that it is part of */
    /* In `enqueued`, of a graph that a kernel launches: the node that does, and how. */
    struct observe_id launcher;
    enum observe_launched launched;
    uint32_t launched_in;           /* the part of it that the launch ends (observe_accesses) */
    const struct observe_id *after; /* see above; of nodes, only what an event wait waits for */
    uint32_t after_count;
    struct observe_call call; /* that enqueued it; only in `enqueued` */
    union {
        struct {
            const struct grid_kernel *kernel;
            uint32_t grid[3], block[3], cluster[3];
            uint32_t static_shared, dynamic_shared, param_bytes;
            const void *params; /* at PTX offsets */
            bool cooperative;
        } kernel;
        struct { /* rows of width bytes; pitches where there are several */
            const void *src;
            void *dst;
            uint64_t width, height, depth;
            uint64_t src_pitch, src_slice, dst_pitch, dst_slice;
            bool staged; /* src was read by the call that enqueued it: it is pageable memory */
            enum observe_memory_kind from, to; /* in `begun` */
        } copy;
        struct {
            void *dst;
            uint64_t width, height, depth; /* width in bytes */
            uint64_t pitch, slice;
            uint32_t element, value;
        } set;
        struct {
            const void *function; /* NULL: not known */
            const void *argument; /* of functions of the program */
        } host;
        uint64_t graph; /* 1, 2, 3 …: of observe_node */
        struct {
            uint64_t number;      /* of records and waits: 1, 2, 3 …; 0: a wait for no event */
            struct observe_id as; /* of a record that is a node: its name in `after` of waits */
            bool shared;          /* of a record: other processes may wait for it */
        } event;
        struct {
            void *address;
            uint64_t value;
            uint32_t bytes;
            uint32_t test; /* of waits: enum device_value_test */
        } value;
    };
};

/* Code for a kernel and a shape of blocks is there: from the cache, or compiled. Its first launch,
 * on this thread, waited for it. */
struct observe_code {
    const struct grid_kernel *kernel;
    const char *name;
    uint32_t block[3];
    uint32_t registers;    /* of a thread, as cudaFuncGetAttributes says */
    uint64_t begun, ended; /* clock_ns() */
};

enum observe_access { OBSERVE_READ, OBSERVE_WRITE, OBSERVE_ATOMIC };

/* What a grid has touched: ranges of bytes, by address for each kind of access and thread that ran
 * blocks; and which instructions touched something in between, with the first warp that did. */
struct observe_accesses {
    struct observe_id id;
    /* Parts are told one after the other. What is in this one was later than so many launches of
     * graphs by the grid; nobody knows whether it was earlier than the next. */
    uint32_t part;
    const struct observe_bytes {
        enum observe_access how;
        uint64_t low, high;
    } *ranges;
    uint32_t range_count;
    const struct observe_access_site {
        const void *pc;
        enum observe_access how;
        bool writes, system; /* it is atomic for the host's threads, too */
        uint64_t low, high;
        uint32_t block[3], warp;
    } *sites;
    uint32_t site_count;
    /* `count` warps of a grid, one after the other: the first has touched [low, high), each next
     * one what is `step` bytes after. */
    const struct observe_warps {
        const struct grid_kernel *kernel;
        const char *name;
        const void *pc;
        enum observe_access how;
        uint64_t low, high;
        /* A byte's lane is its distance from the origin of the warp, shifted; at shift 31, `lane`.
         */
        uint64_t origin;
        uint32_t shift, lane, mask;
        uint64_t number, number_step; /* of warps, through all blocks */
        uint64_t count, step;
        uint32_t grid[3], block[3]; /* the grid's shape */
    } *warps;
    uint32_t warp_count;
};

/* Two accesses by threads of one grid, or of it and grids that its kernels launch, that nothing
 * orders (hazards/hazards.h). */
enum observe_missing {
    OBSERVE_SAME_INSTRUCTION, /* lanes of a warp write different values at once */
    OBSERVE_WARP_BARRIER,     /* what would have ordered the two */
    OBSERVE_BLOCK_BARRIER,
    OBSERVE_CLUSTER_BARRIER,
    OBSERVE_GRID_ORDER,
    OBSERVE_PARENT_ORDER,   /* of a grid and one that it has launched */
    OBSERVE_CHILDREN_ORDER, /* of grids that kernels have launched */
    OBSERVE_WIDER_SCOPE,    /* both are atomic, for their own block */
    OBSERVE_COPY_WAIT,      /* asynchronous copies */
};
struct observe_race {
    struct observe_id id;
    struct observe_race_side {
        const struct grid_kernel *kernel;
        const char *name;                   /* of the kernel */
        const struct grid_kernel *launcher; /* that has launched it, NULL: the host; */
        const char *launcher_name;
        const void *launched_at; /* and where in it */
        const void *pc;
        enum observe_access how;
        enum observe_kind work; /* OBSERVE_KERNEL, or a copy or a set that the launcher asked for */
        bool copies;            /* an asynchronous copy of the thread's */
        uint32_t block[3], thread[3];
    } sides[2];
    uint64_t low, high; /* addresses, or offsets into the shared memory of: */
    bool shared;
    uint32_t shared_block[3];
    enum observe_missing missing;
};

/* What the checks of initialisation and synchronization find in a kernel; as in exec/found.h. */
enum observe_finding {
    OBSERVE_UNWRITTEN,
    OBSERVE_DIVERGED_BARRIER,
    OBSERVE_NOT_MEMBER,
    OBSERVE_MISSING_MEMBERS,
    OBSERVE_NO_MEMBERS,
    OBSERVE_OTHER_COUNT,
    OBSERVE_OTHER_BARRIER
};
struct observe_found {
    struct observe_id id;
    const struct grid_kernel *kernel;
    const char *name; /* of the kernel */
    const void *pc, *other_pc;
    enum observe_finding kind;
    uint32_t block[3], thread[3], other_thread[3]; /* the latter: at other_pc */
    uint64_t address;                              /* in shared memory its offset */
    uint32_t bytes;
    bool shared;
    uint32_t lanes, others;
    uint32_t barrier, count, first;
};

/* A node of an executable graph, told when the graph is made (after the nodes that it depends on)
 * and again, with `changed`, when its parameters change; later launches have the new ones. */
struct observe_node {
    uint64_t graph;
    uint32_t node;         /* as in observe_id, from 1 */
    uint32_t branch, body; /* the branch whose body of that number it is in; 0: in none */
    const uint32_t *after; /* nodes that it depends on, of the same body */
    uint32_t after_count;
    bool changed, disabled;
    struct observe_work work; /* what it does; id, device and context are not set */
};

/* ---- what is there ---- */

enum observe_stream_kind { OBSERVE_LEGACY, OBSERVE_PER_THREAD, OBSERVE_CREATED };

struct observe_stream {
    uint64_t id; /* as in observe_id */
    uint64_t context;
    int device;
    enum observe_stream_kind kind;
    bool blocking; /* the default stream's rule holds for it */
    int priority;
};

struct observe_memory {
    enum observe_memory_kind kind;
    int device; /* negative: the host's */
    uint64_t address, bytes;
    uint64_t serial; /* of the allocation, 1, 2, 3 …; 0: not known */
    bool ordered;    /* in the order of a stream: */
    uint64_t stream; /* this one */
    uint64_t pool;   /* 1, 2, 3 …; 0: of none */
    int rule;        /* how a pool came to it: enum pool_rule */
    struct observe_call call;
};

/* What a handle of the API stands for, besides memory, made by a call of the program. */
enum observe_object {
    OBSERVE_STREAM_OBJECT,
    OBSERVE_EVENT_OBJECT,
    OBSERVE_GRAPH_OBJECT,
    OBSERVE_GRAPH_EXEC,
    OBSERVE_POOL_OBJECT,
    OBSERVE_ARRAY,
    OBSERVE_MIPMAP, /* a mipmapped array with its levels */
    OBSERVE_MODULE,
    OBSERVE_LIBRARY,
    OBSERVE_TEXTURE,
    OBSERVE_SURFACE,
    OBSERVE_PHYSICAL, /* memory of cuMemCreate */
    OBSERVE_LINK,
    OBSERVE_CONTEXT_OBJECT,
    OBSERVE_USER_OBJECT
};

/* ---- the host ---- */

enum observe_host_wait {
    OBSERVE_STREAM,       /* cudaStreamSynchronize */
    OBSERVE_EVENT,        /* cudaEventSynchronize */
    OBSERVE_CONTEXT,      /* cudaDeviceSynchronize, and what includes one, as cudaFree */
    OBSERVE_TRANSFER,     /* a copy or a set that waits for its end */
    OBSERVE_STREAM_QUERY, /* one that succeeded */
    OBSERVE_EVENT_QUERY,
    OBSERVE_FOREIGN_EVENT /* it was recorded by another process: what it comes after is not known */
};

/* From now on the calling host thread comes after this work, which is complete. */
struct observe_seen {
    enum observe_host_wait how;
    const struct observe_id *work; /* count 0: nothing was ever in that stream */
    uint32_t work_count;
    uint64_t stream, event; /* that was asked for; 0: none */
    uint64_t begun;         /* clock_ns() when it began to wait; 0: it did not */
    struct observe_call call;
};

/* A library that the program calls (MPI) reads or writes memory of devices, or that the host shares
 * with them. */
struct observe_host_access {
    uint64_t address, bytes;
    bool write;
    const void *site; /* where its call returns to */
};

enum observe_range_kind { OBSERVE_PUSH, OBSERVE_POP, OBSERVE_START, OBSERVE_STOP, OBSERVE_MARK };

/* Ranges and marks of NVTX. */
struct observe_range {
    enum observe_range_kind kind;
    const char *name;   /* of pushes, starts and marks */
    const char *domain; /* NULL: the default one */
    uint64_t id;        /* of starts and stops */
    uint32_t color;     /* ARGB; 0: none */
};

enum observe_named { OBSERVE_NAMED_STREAM, OBSERVE_NAMED_EVENT, OBSERVE_NAMED_THREAD };

/* ---- the table ---- */

struct observe_hooks {
    void (*stream_made)(const struct observe_stream *s);
    void (*stream_ended)(uint64_t stream); /* its handle is gone; work in it still runs */
    /* id: of a stream or an event as above; of a thread what gettid() says. */
    void (*named)(enum observe_named what, uint64_t id, const char *name);

    void (*enqueued)(const struct observe_work *w);
    void (*begun)(
        const struct observe_work *w); /* also of nodes and of grids launched by kernels */
    void (*ended)(const struct observe_id *id, enum observe_kind kind);
    void (*part_begun)(const struct observe_id *id, enum observe_kind kind, const char *name);
    void (*part_ended)(const struct observe_id *id);

    void (*code_made)(const struct observe_code *c);
    /* Which memory a grid has touched, before its end is told; only of kernels that are compiled to
     * tell (exec/touch.h). */
    void (*accessed)(const struct observe_accesses *a);
    /* Likewise; once for each pair of instructions of a grid. */
    void (*raced)(const struct observe_race *r);

    /* Before the grid's end is told; once for each instruction of a grid. */
    void (*found)(const struct observe_found *f);

    void (*graph_node)(const struct observe_node *n);
    void (*graph_ended)(uint64_t graph); /* launches may still run */

    void (*memory_made)(const struct observe_memory *m);
    void (*memory_freed)(const struct observe_memory *m); /* bytes 0: not known */
    /* That memory, told of as made, is a variable of a module: its name, as in PTX. */
    void (*memory_named)(uint64_t address, const char *name);
    void (*context_cleared)(uint64_t context); /* nothing runs in it, all its memory is freed */
    void (*pool_size)(uint64_t pool, uint64_t reserved); /* bytes that it holds now */

    void (*object_made)(enum observe_object kind, const void *handle);
    void (*object_ended)(const void *handle); /* maybe of one that was never told of */

    void (*host_saw)(const struct observe_seen *s);
    void (*host_accesses)(const struct observe_host_access *a);
    void (*call_begun)(const struct observe_call *c);
    void (*call_ended)(const struct observe_call *c);
    /* The program has asked what went wrong and got this code, or for the words of this code. */
    void (*error_seen)(int code);
    /* The call that the thread is in is done as asked, though a GPU may refuse it: why. */
    void (*tolerated)(const char *what);
    void (*range)(const struct observe_range *r);
};

/* Registers an observer, for the rest of the process. Before the first device is opened. False:
 * there are too many. */
bool observe_add(const struct observe_hooks *hooks);

/* Whether anyone observes. */
static inline bool observed(void) { return WEIR_UNLIKELY(slow_path(SLOW_PATH_OBSERVED) != 0); }

/* ---- for the layers that tell ---- */

/* One function for each hook, which calls that of all observers. */
void observe_stream_made(const struct observe_stream *s);
void observe_stream_ended(uint64_t stream);
void observe_named(enum observe_named what, uint64_t id, const char *name);
void observe_enqueued(const struct observe_work *w);
void observe_begun(const struct observe_work *w);
void observe_ended(const struct observe_id *id, enum observe_kind kind);
void observe_part_begun(const struct observe_id *id, enum observe_kind kind, const char *name);
void observe_part_ended(const struct observe_id *id);
void observe_code_made(const struct observe_code *c);
void observe_accessed(const struct observe_accesses *a);
void observe_raced(const struct observe_race *r);
void observe_found(const struct observe_found *f);
void observe_graph_node(const struct observe_node *n);
void observe_graph_ended(uint64_t graph);
/* These three fill in the call. */
void observe_memory_made(struct observe_memory *m);
void observe_memory_freed(struct observe_memory *m);
void observe_host_saw(struct observe_seen *s);
void observe_host_accesses(const struct observe_host_access *a);
void observe_memory_named(uint64_t address, const char *name);
void observe_context_cleared(uint64_t context);
void observe_pool_size(uint64_t pool, uint64_t reserved);
void observe_range(const struct observe_range *r);
void observe_object_made(enum observe_object kind, const void *handle);
void observe_object_ended(const void *handle);
void observe_error_seen(int code);
void observe_tolerated(const char *what);

/* A call of the API begins and ends, on this thread. Calls inside calls are counted and not told;
 * without a name it is not told itself. */
void observe_call_begins(const char *name, const void *site);
void observe_call_ends(int error);
struct observe_call observe_call_now(void);
/* Whether a call of that name is the runtime API's: "cudaMalloc", and "__cudaLaunchKernel", which
 * nvcc's programs call. */
bool observe_is_runtime(const char *call);
/* Whether the calling thread is in such a call. */
bool observe_in_runtime(void);

/* A number that no other of the process has, from 1: for graphs, events and children. */
uint64_t observe_serial(void);

#endif
