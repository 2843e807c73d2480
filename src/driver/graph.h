/* graph.h: graphs of the driver: their objects, and what the files about them share.
 *
 *   graph.c        graphs, nodes and edges: making, cloning, asking, destroying
 *   graph_node.c   what nodes do: checking, keeping and showing parameters
 *   graph_params.c the calls that add, read and change nodes of one kind
 *   graph_exec.c   graphs made executable: flattening into what the device room runs, launching
 *   graph_update.c changes of executable graphs
 *   graph_dot.c    graphs as text
 *   user_object.c  objects that graphs keep
 *   capture.c      streams whose work becomes nodes
 *
 * An executable graph holds a clone of the graph it was made of, its **shadow**: changes are made
 * there, checked by the same code as those of graphs, and handed down. As on a GPU one graph must
 * not be used by two threads at once; captures are guarded, since their streams may be used from
 * several threads. */
#ifndef WEIR_DRIVER_GRAPH_H
#define WEIR_DRIVER_GRAPH_H

#include "driver/objects.h"

enum {
    TAG_GRAPH = 0x57475248,
    TAG_NODE = 0x574e4f44,
    TAG_GRAPH_EXEC = 0x57475845,
    TAG_USER_OBJECT = 0x57555345,
};

/* A kernel node: the launch, with parameters gathered into one buffer at their PTX offsets. */
struct kernel_node {
    CUfunction f;
    uint32_t grid[3], block[3], shared;
    uint32_t cluster[3]; /* as asked for; 0: not */
    uint8_t *buffer;     /* the node's */
    void **pointers;     /* to each parameter in it; the node's */
    bool cooperative, prioritized;
    int priority;
    uint32_t hinted;              /* bit n: attribute n was set */
    CUkernelNodeAttrValue *hints; /* by attribute, to be told again; the node's, or NULL */
};

struct memory_node {
    struct graph_memory *memory; /* of an allocation: shared by all clones of the node */
    CUDA_MEM_ALLOC_NODE_PARAMS params;
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
        struct memory_node alloc;
        CUdeviceptr freed;
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
    CUgraph graph;
    uint64_t id;     /* of the process's nodes */
    uint64_t origin; /* the node this was cloned from, or 0 */
    struct graph_edges in, out;
    struct node_params p;
    /* While a graph is walked. */
    uint32_t mark, place;
    /* In an executable graph's shadow. */
    uint32_t first_id; /* of the device room's nodes that do this one's work */
    bool disabled;
};

/* The word behind a conditional handle. Handles are given to kernels, which write it. */
struct graph_condition {
    uint32_t value; /* first: the handle is its address */
    uint32_t default_value, flags;
    bool instantiated; /* an executable graph has it */
    bool used;         /* a node has it */
    atomic_uint refs;  /* graphs that know it */
};

struct user_hold {
    CUuserObject object;
    unsigned count;
};

struct CUgraph_st {
    uint32_t tag;
    uint64_t id;
    CUgraphNode owner; /* the node that this is child or body of; or NULL */
    bool body;         /* of a conditional node */
    bool capturing;    /* a capture writes it */
    bool captured;     /* it is a capture's own, which frees it if that fails */
    struct {
        CUgraphNode *items;
        size_t count, cap;
    } nodes; /* in the order they were made */
    struct {
        struct user_hold *items;
        size_t count, cap;
    } objects;
    struct {
        struct graph_condition **items;
        size_t count, cap;
    } conditions;
    bool instantiated_memory; /* it has memory nodes and is instantiated */
};

/* Where an executable graph finds the shadow of a node, by the node's id. */
struct shadow_entry {
    uint64_t origin;
    CUgraphNode node;
};

struct CUgraphExec_st {
    uint32_t tag;
    CUcontext ctx;
    uint64_t ctx_id; /* of the context then: after a reset this is of no use any more */
    CUgraph shadow;  /* freed when the device room is done with the graph */
    struct shadow_entry *entries; /* sorted */
    size_t entry_count;
    struct device_graph *device;
    uint64_t flags;
};

/* ---- graph.c ---------------------------------------------------------------------------------
 */

CUresult graph_check(CUgraph g);
CUresult node_check(CUgraphNode n);
CUgraph graph_new(void);
/* Frees it with all it holds. */
void graph_free(CUgraph g);
/* Takes what params holds, also when it fails. */
CUresult graph_add(CUgraph g, const CUgraphNode *deps, const CUgraphEdgeData *data, size_t count,
                   struct node_params *params, CUgraphNode *out);
/* A graph like it; each node's origin is the one it is a clone of. */
CUresult graph_clone(CUgraph g, CUgraph *out);
/* Orders nodes so that each comes after those it depends on, the first made first; NULL when there
 * is a circle. To be freed. */
CUgraphNode *graph_order(CUgraph g);
/* Adds an edge, once. */
void graph_connect(CUgraphNode from, CUgraphNode to, const CUgraphEdgeData *data);
/* Whether the graph or one within it has a node of that kind. */
bool graph_has(CUgraph g, CUgraphNodeType type);

/* ---- user_object.c ---------------------------------------------------------------------------
 */

void user_object_hold(CUuserObject o, unsigned count);
void user_object_drop(CUuserObject o, unsigned count); /* may call the object's destructor */
void condition_hold(struct graph_condition *c);
void condition_drop(struct graph_condition *c);
/* The condition of that handle, of the graph or one that it is within; NULL: there is none. */
struct graph_condition *condition_find(CUgraph g, CUgraphConditionalHandle h);

/* ---- graph_node.c ----------------------------------------------------------------------------
 */

/* Make parameters of what programs say; checked. They hold copies of everything. */
CUresult params_kernel(const struct launch_request *q, struct node_params *out);
CUresult params_copy(const CUDA_MEMCPY3D *copy, CUcontext ctx, struct node_params *out);
CUresult params_set(const CUDA_MEMSET_NODE_PARAMS *set, CUcontext ctx, struct node_params *out);
CUresult params_set_node(const CUDA_MEMSET_NODE_PARAMS *set, CUcontext ctx,
                         struct node_params *out);
CUresult params_host(CUhostFn fn, void *user, struct node_params *out);
CUresult params_event(CUgraphNodeType type, CUevent e, struct node_params *out);
CUresult params_batch(CUcontext ctx, unsigned count, const CUstreamBatchMemOpParams *ops,
                      unsigned flags, struct node_params *out);
CUresult params_kernel_node(const CUDA_KERNEL_NODE_PARAMS *k, struct node_params *out);
/* Frees what parameters hold. */
void params_clear(struct node_params *p);
/* The same once more, for a clone. */
CUresult params_clone(const struct node_params *p, struct node_params *out);
/* From the description that holds any kind; conditional and memory nodes are filled in there. */
CUresult params_any(CUgraph g, CUgraphNodeParams *any, struct node_params *out);
/* A kernel node as a launch. */
void kernel_request(const struct kernel_node *k, struct launch_request *q);

/* ---- graph_exec.c ----------------------------------------------------------------------------
 */

CUresult exec_check(CUgraphExec e);
/* The shadow of a graph's node; NULL: the executable graph was not made of it. */
CUgraphNode exec_node(CUgraphExec e, CUgraphNode node);
/* A node as the device room's; `part` of those that become several. */
CUresult node_fill(CUgraphNode n, unsigned part, struct device_node *d);

/* ---- stream_ops.c ----------------------------------------------------------------------------
 */

/* Whether one of many memory operations is allowed. */
CUresult batch_check(const CUstreamBatchMemOpParams *p);

#endif
