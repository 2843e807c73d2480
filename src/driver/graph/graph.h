/* graph/graph: graphs of the driver: their objects, and what the files about them share.
 *
 *   graph.c        graphs, nodes and edges: making, cloning, asking, destroying
 *   locks.c        which threads are at a graph
 *   node.c         what nodes do: checking, keeping and showing parameters
 *   params.c       the calls that add, read and change nodes of one kind
 *   exec.c         graphs made executable: flattening into what the device layer runs, launching
 *   update.c       changes of executable graphs
 *   memory.c       allocations of graphs: addresses, nodes that allocate and free
 *   pages.c        what backs those addresses while executable graphs run
 *   dot.c          graphs as text
 *   user_object.c  objects that graphs keep
 *   stream/capture.c  streams whose work becomes nodes
 *
 * An executable graph holds a clone of the graph it was made of, its **shadow**: changes are made
 * there, checked by the same code as those of graphs, and handed down. Programs have no handle of
 * it: its objects are of kinds of their own, so that no stale handle of a graph or a node names
 * one.
 *
 * CUDA asks programs not to use one graph in two calls at once. Here each call is as if it were
 * alone: a tree of graphs has a lock (locks.c), and so has an executable graph with its shadow. A
 * thread takes them in this order: the captures' (stream/capture.h) or one executable graph's; one
 * tree's, or two by address; that of pages.c. With a tree's lock held nothing is waited for: no
 * context's end, no work, no call of the program's code. What one thread destroys while others use
 * it is freed when their calls are over (device/hold.h): a graph and its nodes are gone when its
 * own tag is wiped (graph_check, node_check). What is being made has no tag yet, so that nobody
 * finds it by a handle of what was there before. */
#ifndef WEIR_DRIVER_GRAPH_GRAPH_H
#define WEIR_DRIVER_GRAPH_GRAPH_H

#include "driver/objects.h"
#include "driver/retire.h"

enum {
    TAG_GRAPH = 0x57475248,
    TAG_NODE = 0x574e4f44,
    TAG_SHADOW = 0x57475348,
    TAG_SHADOW_NODE = 0x574e5348,
    TAG_GRAPH_EXEC = 0x57475845,
    TAG_USER_OBJECT = 0x57555345,
    TAG_GRAPH_MEMORY = 0x57474d45,
};

/* A kernel node: the launch, with parameters gathered into one buffer at their PTX offsets. */
struct kernel_node {
    CUfunction f;    /* may be gone, and its handle another's (kernel_live) */
    uint64_t number; /* of the function */
    uint32_t grid[3], block[3], shared;
    uint32_t cluster[3]; /* as asked for; 0: not */
    uint8_t *buffer;     /* the node's */
    void **pointers;     /* to each parameter in it; the node's */
    bool cooperative, prioritized;
    int priority;
    uint32_t hinted;              /* bit n: attribute n was set */
    CUkernelNodeAttrValue *hints; /* by attribute, to be told again; the node's, or NULL */
};

/* An allocation of a graph: addresses that stay as long as something names it, and the pages they
 * show, which a launch gets from the device's pool of graphs. Several allocations of one graph may
 * have the same addresses, one after the other. */
struct graph_memory {
    uint32_t tag;
    atomic_uint refs; /* nodes that name it, an allocation that lives, work that is under way */
    CUdevice device;
    bool managed;       /* the host may use it, too */
    void *base;         /* an alias (memory/memory.h), which has this as its user */
    uint64_t bytes;     /* of the first allocation here, the largest */
    atomic_bool inside; /* the graph that allocates it frees it: nobody else may */
    /* Changed under the lock of pages.c: */
    atomic_bool live;           /* allocated by a launch, and not freed since */
    void *block;                /* live: its pages, in the pool */
    const void *shown;          /* what of the pool it shows when all that is enqueued is done */
    struct device_stream *last; /* what may use it is over when this stream, which is kept, has */
    uint64_t last_count;        /* reached this count; NULL: nothing uses it */
    struct graph_memory *next_live, **at_live; /* in the list of live ones */
};

/* A node that allocates, or frees what a node of this or another graph has allocated. */
struct memory_node {
    struct graph_memory *memory;       /* holds a reference; NULL until a graph has the node */
    CUDA_MEM_ALLOC_NODE_PARAMS params; /* of an allocation; what it points to is the node's */
};

/* Addresses that a graph's nodes allocate, and the latest of those nodes. */
struct graph_address {
    struct graph_memory *memory;
    CUgraphNode freed; /* the node that frees it; NULL: none yet */
};

/* Of a graph with memory nodes, shared with its clones: it may be instantiated once at a time. */
struct graph_once {
    atomic_uint refs;
    atomic_bool instantiated;
};

struct conditional_node {
    struct graph_condition *condition;
    CUgraphConditionalNodeType type;
    unsigned size;
    CUgraph *bodies; /* the node's */
    CUcontext ctx;
};

/* What a node does. Kinds without parameters use none. */
struct node_params {
    CUgraphNodeType type;
    CUcontext ctx; /* whose device does it */
    union {
        struct kernel_node kernel;
        CUDA_MEMCPY3D copy;
        CUDA_MEMSET_NODE_PARAMS set;
        CUDA_HOST_NODE_PARAMS host;
        CUgraph child; /* the node's own */
        CUevent event;
        struct {
            CUstreamBatchMemOpParams *ops; /* the node's */
            unsigned count, flags;
        } batch;
        struct memory_node memory; /* of both kinds */
        struct conditional_node conditional;
    };
};

struct graph_edge {
    CUgraphNode node; /* the other end */
    CUgraphEdgeData data;
};

struct graph_edges {
    struct graph_edge *items;
    size_t count, cap;
};

struct CUgraphNode_st {
    uint32_t tag;
    CUgraph graph;   /* stays */
    uint64_t id;     /* of the process's nodes */
    uint64_t origin; /* the node this was cloned from, or 0 */
    struct graph_edges in, out;
    struct node_params p;
    /* While a graph is walked. */
    uint32_t mark, index;
    /* In an executable graph's shadow. */
    uint32_t first_id; /* of the device layer's nodes that do this one's work */
    bool disabled;
    struct retired end; /* once it is destroyed */
};

/* The word of a conditional handle. Handles are given to kernels, which write it. */
struct graph_condition {
    uint32_t value; /* first: the handle is its address */
    uint32_t default_value, flags;
    atomic_uint instances; /* executable graphs that have it */
    atomic_bool used;      /* a node has it */
    atomic_uint refs;      /* graphs and nodes that know it */
};

struct user_hold {
    CUuserObject object;
    unsigned count;
};

struct CUgraph_st {
    uint32_t tag;
    uint64_t id;
    _Atomic(CUgraphNode) owner; /* the node that this is child or body of; or NULL */
    pthread_mutex_t lock;       /* of it and all graphs within, where it has no owner (locks.c) */
    bool body;                  /* of a conditional node */
    bool capturing;             /* a capture writes it */
    struct {
        CUgraphNode *items;
        size_t count, cap;
    } nodes; /* in the order they were made */
    struct {
        struct user_hold *items;
        size_t count, cap;
    } objects;
    struct conditions {
        struct graph_condition **items;
        size_t count, cap;
    } conditions, former; /* former: of a shadow: those it had, which launches may still use */
    struct {
        struct graph_address *items;
        size_t count, cap;
    } addresses;             /* of its allocation nodes */
    struct graph_once *once; /* of a graph with memory nodes; else NULL */
    struct {
        struct graph_memory **items;
        size_t count, cap;
    } retired;          /* of a shadow: memory of nodes it had, which launches may still use */
    struct retired end; /* once it is destroyed */
};

/* Where an executable graph finds the shadow of a node, by the node's id. */
struct shadow_entry {
    uint64_t origin;
    CUgraphNode node;
};

struct CUgraphExec_st {
    uint32_t tag;
    pthread_mutex_t lock; /* of all that changes */
    CUcontext ctx;
    uint64_t ctx_id; /* of the context then: after a reset this is of no use any more */
    CUgraph shadow;  /* freed when the device layer is done with the graph */
    struct shadow_entry *entries; /* sorted */
    size_t entry_count;
    struct device_graph *device;
    struct exec_memory *memory; /* what a launch allocates and frees; NULL: nothing, for ever;
                                   changed under the lock of pages.c, too */
    uint64_t flags;
    _Atomic uint64_t kernels_as_of; /* modules_ended when all kernels were last seen to be loaded */
    struct retired end;             /* once it is destroyed */
};

/* ---- locks.c ---- */

/* Whether it lives now, and so does what it is in. */
CUresult graph_check(CUgraph g);
CUresult node_check(CUgraphNode n);
CUresult exec_check(CUgraphExec e);
/* The locks that a call has: of the trees of one graph or of two. */
struct graph_locks {
    CUgraph roots[2];
};
#define GRAPH_LOCKS struct graph_locks locked __attribute__((cleanup(graph_unlock))) = {0}
/* Each locks only what lives, and says so; until graph_unlock or the end of the function. */
CUresult graph_lock(CUgraph g, struct graph_locks *l);
CUresult graph_lock_two(CUgraph g, CUgraph other, struct graph_locks *l);
CUresult node_lock(CUgraphNode n, struct graph_locks *l);
void graph_unlock(struct graph_locks *l);
/* What calls about nodes of one kind begin with: a live node of that kind, and a driver. */
CUresult node_lock_type(CUgraphNode n, CUgraphNodeType type, struct graph_locks *l);
/* Likewise for an executable graph. */
#define EXEC_LOCK CUgraphExec locked_exec __attribute__((cleanup(exec_unlock))) = NULL
CUresult exec_lock(CUgraphExec e, CUgraphExec *locked);
void exec_unlock(CUgraphExec *locked);

/* ---- graph.c ---- */

CUgraph graph_begin(uint32_t tag); /* TAG_GRAPH or TAG_SHADOW; to be published */
/* From now on the program's calls find it. */
void graph_publish(CUgraph g);
/* Frees it with all it holds. No call has it. */
void graph_free(CUgraph g);
/* Whether the program can see that the graph is freed: it holds objects of the program's, or
 * memory. */
bool graph_seen_to_go(CUgraph g);
/* `free` is called with `end` when no call of another thread has the graph any more, or what was
 * made of it, whose handle is wiped: now, where that is `seen`, else when several such can be freed
 * together. No lock is held. */
void graph_retire(bool seen, struct retired *end, void (*free)(struct retired *end));
/* The same for a graph that is wiped here, or has never been published. */
void graph_discard(CUgraph g);
/* Whether a capture writes the graph or one within it. */
bool graph_capturing(CUgraph g);
/* Whether a node of that type can depend on these, which are to be the graph's. */
CUresult graph_check_deps(CUgraph g, const CUgraphNode *deps, const CUgraphEdgeData *data,
                          size_t count, CUgraphNodeType type);
/* Takes what params holds, also when it fails. */
CUresult graph_add(CUgraph g, const CUgraphNode *deps, const CUgraphEdgeData *data, size_t count,
                   struct node_params *params, CUgraphNode *out);
/* The same for a graph that is not locked yet; `at`, where it is not NULL, gets the address of an
 * allocation. */
CUresult graph_insert(CUgraph g, const CUgraphNode *deps, const CUgraphEdgeData *data, size_t count,
                      struct node_params *params, CUgraphNode *out, CUdeviceptr *at);
/* A graph like it, of that tag, to be published; each node's origin is the one it is a clone of. */
CUresult graph_clone(CUgraph g, uint32_t tag, CUgraph *out);
/* Orders nodes so that each comes after those it depends on, the first made first; NULL when there
 * is a circle. To be freed. */
CUgraphNode *graph_order(CUgraph g);
/* Adds an edge, once. */
void graph_connect(CUgraphNode from, CUgraphNode to, const CUgraphEdgeData *data);
/* Whether the graph or one within it has a node of that kind. */
bool graph_has(CUgraph g, CUgraphNodeType type);

/* ---- user_object.c ---- */

void user_object_hold(CUuserObject o, unsigned count);
void user_object_drop(CUuserObject o, unsigned count); /* may call the object's destructor */
void condition_hold(struct graph_condition *c);
void condition_drop(struct graph_condition *c);
/* The condition of that handle, of the graph or one that it is within; NULL: there is none. */
struct graph_condition *condition_find(CUgraph g, CUgraphConditionalHandle h);

/* ---- node.c ---- */

/* Make parameters of what programs say; checked. They hold copies of everything. */
CUresult params_kernel(const struct launch_request *q, struct node_params *out);
CUresult params_copy(const CUDA_MEMCPY3D *copy, CUcontext ctx, struct node_params *out);
CUresult params_set(const CUDA_MEMSET_NODE_PARAMS *set, CUcontext ctx, struct node_params *out);
CUresult params_set_node(const CUDA_MEMSET_NODE_PARAMS *set, CUcontext ctx,
                         struct node_params *out);
CUresult params_host_node(const CUDA_HOST_NODE_PARAMS *host, struct node_params *out);
CUresult params_batch_node(const CUDA_BATCH_MEM_OP_NODE_PARAMS *b, struct node_params *out);
CUresult params_host(CUhostFn fn, void *user, struct node_params *out);
CUresult params_event(CUgraphNodeType type, CUevent e, struct node_params *out);
CUresult params_batch(CUcontext ctx, unsigned count, const CUstreamBatchMemOpParams *ops,
                      unsigned flags, struct node_params *out);
CUresult params_kernel_node(const CUDA_KERNEL_NODE_PARAMS *k, struct node_params *out);
/* Frees what parameters hold. */
void params_clear(struct node_params *p);
/* The same once more, for a clone; graphs within are of that tag. */
CUresult params_clone(const struct node_params *p, uint32_t tag, struct node_params *out);
/* From the description that holds any kind; conditional and memory nodes are filled in there. For
 * a graph within, the locks of both graphs are held; for a conditional node, that of the one. */
CUresult params_any(CUgraph g, CUgraphNodeParams *any, struct node_params *out);
/* A kernel node as a launch. */
void kernel_request(const struct kernel_node *k, struct launch_request *q);
/* Success while the node's function is loaded. */
CUresult kernel_live(const struct kernel_node *k);

/* ---- exec.c ---- */

/* The shadow of a graph's node; NULL: the executable graph was not made of it. */
CUgraphNode exec_node(CUgraphExec e, CUgraphNode node);
/* A node as the device layer's; `part` of those that become several. */
CUresult node_fill(CUgraphNode n, unsigned part, struct device_node *d);

/* ---- memory.c ---- */

/* A node that allocates, checked but without addresses: graph_add gives it some. */
CUresult params_alloc(const CUDA_MEM_ALLOC_NODE_PARAMS *alloc, struct node_params *out);
/* A node that frees what starts at the address. */
CUresult params_free(CUdeviceptr at, struct node_params *out);
/* Copies and drops what the parameters of a memory node hold. */
void memory_clone(const struct memory_node *from, struct memory_node *to);
void memory_clear(struct memory_node *m);
/* A memory node is about to be added after `deps`: gives it addresses, or says why it cannot free
 * there. Then: it has been added. */
CUresult memory_claim(CUgraph g, const CUgraphNode *deps, size_t count, struct node_params *p);
void memory_added(CUgraphNode n);
static inline bool is_memory_node(CUgraphNodeType type)
{
    return type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}
/* Whether the graph, or one within it, has memory nodes and is instantiated; says that it is. */
bool memory_instantiated(CUgraph g);
void memory_set_instantiated(CUgraph g, bool instantiated);
/* The shadow has become one of that graph, which counts as instantiated now. */
void memory_follow(CUgraph shadow, CUgraph g);
void once_hold(struct graph_once *once);
void once_drop(struct graph_once *once);
void memory_hold(struct graph_memory *m);
void memory_drop(void *memory); /* for device_call, too */

/* ---- pages.c ---- */

/* What launches of a graph allocate and free; NULL when it has no memory nodes. */
CUresult exec_memory_new(CUgraph shadow, struct exec_memory **out);
void exec_memory_free(struct exec_memory *m);
/* The shadow's memory nodes are others now. What they were for launches that still run stays. */
CUresult exec_memory_renew(CUgraphExec e);
void exec_memory_retire(CUgraph shadow, struct graph_memory *m);
/* Launches an executable graph with memory nodes. */
CUresult exec_memory_launch(CUgraphExec e, struct device_stream *s);
/* Whether that is the start of an allocation of a graph; then it is freed, in the order of the
 * stream or, if that is NULL, at once, and *r says what came of it. */
bool graph_memory_free(CUdeviceptr at, struct device_stream *s, CUresult *r);
/* The device begins anew: nothing is allocated. */
void graph_memory_reset(CUdevice device);

/* ---- stream/stream_ops.c ---- */

/* Whether one of many memory operations is allowed. */
CUresult batch_check(const CUstreamBatchMemOpParams *p);

#endif
