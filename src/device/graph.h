/* graph: graphs as the device runs them, shared by graph_plan.c (building, changing, launching) and
 * graph_run.c (running).
 *
 * A **plan** is what one launch runs: nodes with their parameters, put together to **segments**,
 * chains of nodes of which each has the next one as its only successor and is its only
 * predecessor. Only segments are counted and handed out; a graph that is one chain needs neither
 * counters nor locks.
 *
 * A **runner** is a command that works on a plan: the stream's own one, and those of **lanes**. A
 * lane is a stream on no list with one command; queueing it in the scheduler invites another
 * worker. A runner that ends a segment goes on with a successor that has become ready; others go on
 * the plan's ready list, and before a runner begins anything that may take long it sees to it that
 * a lane is queued while the list is not empty. So branches run side by side where that is worth
 * it, and a node that waits for ever holds up only what depends on it. A runner that finds no ready
 * segment leaves; the last one that leaves ends the plan: there is nothing left then, since what is
 * not done depends on something that is ready or running.
 *
 * The body of a branch is a plan of its own, run by a lane while the command that reached the
 * branch waits.
 *
 * A plan that a launch may still use is not changed: device_graph_change then goes on with a copy.
 * Launches of all of a graph's plans run one after the other, which is why a plan holds the state
 * of its run itself. */
#ifndef WEIR_DEVICE_GRAPH_H
#define WEIR_DEVICE_GRAPH_H

#include "device/internal.h"

/* A body of a branch, and what decides. */
struct graph_branch {
    const uint32_t *value;
    bool loop, number;
    struct graph_plan **bodies;
    uint32_t body_count;
};

struct graph_node {
    enum device_node_kind kind;
    bool disabled;
    int level;               /* of the scheduler; -1: the launching stream's */
    uint32_t id;             /* of all nodes of the graph */
    uint32_t slot;           /* of an event node: its index among them */
    struct graph_plan *plan; /* that it is in */
    union {
        struct grid_launch launch; /* its params are the node's */
        struct copy_args copy;
        struct set_args set;
        struct value_args word;
        struct {
            void (*fn)(void *user);
            void *user;
        } host, call;
        struct {
            struct device_event *event;  /* holds a reference */
            struct device_stream *clock; /* of a recording node: counts its recordings; likewise */
        } event;
        struct graph_branch branch;
    };
};

struct graph_segment {
    uint32_t first, count;     /* nodes */
    uint32_t next, next_count; /* its successors, in the plan's array of them */
    uint32_t before;           /* how many segments it follows */
};

/* An event node of one launch. */
struct graph_slot {
    struct device_event *event;   /* to record; NULL in a node that waits */
    struct device_stream *stream; /* the clock, or what is waited for; with a reference; or NULL */
    uint64_t recording, count;
};

struct graph_lane {
    struct device_stream *stream;
    struct command command;
    struct graph_lane *next; /* in the plan's list of free ones */
};

/* What all plans of a graph share. */
struct graph_owner {
    _Atomic uint32_t refs; /* the graph, and its plans */
    void (*released)(void *user);
    void *user;
    struct device_graph *graph; /* NULL once it is freed; under graph_plan.c's lock */
    void *handle;               /* by which the driver's callers know the graph */
    uint64_t number;            /* for observers; 0: there were none when it was made */
};

struct graph_plan {
    /* What it is: never changes while a launch may use it. */
    _Atomic uint32_t refs; /* the graph, and launches; a body is its branch's alone */
    struct device_context *ctx;
    struct graph_owner *owner_of_graph; /* of a graph's own plan, not of bodies */
    struct graph_node *nodes;           /* by segments */
    struct grid_prepared **prepared;    /* of each node that may be run in a batch; else NULL */
    struct grid_prepared *prepared_of;  /* of each node: what that points to */
    struct graph_segment *segments;
    uint32_t *nexts;
    uint32_t node_count, segment_count, next_count;
    uint32_t slot_count; /* event nodes */
    struct device_graph_reset *resets;
    uint32_t reset_count;
    uint32_t total;            /* nodes of the graph, those of bodies included */
    struct graph_node **by_id; /* all of them; of a graph's own plan */

    /* Its run. */
    struct command *caller;   /* the stream's command, or the one that reached the branch */
    struct graph_slot *slots; /* of this launch */
    _Atomic uint32_t *before; /* of each segment: predecessors that are not done */
    _Atomic uint32_t runners; /* working, or queued */
    int level;                /* of the stream launched in */
    pthread_mutex_t lock;     /* of all below */
    uint32_t *ready;          /* segments to be run, last in first out */
    _Atomic uint32_t ready_count;
    struct graph_lane *queued; /* invites another worker; or NULL */
    struct graph_lane *free;
    struct graph_env *_Atomic env; /* of this launch; NULL: its kernels have launched no graphs */
};

struct device_graph {
    struct device_context *ctx; /* holds a reference */
    pthread_mutex_t lock;       /* of all below */
    struct graph_plan *plan;
    struct device_stream *last; /* launched in last, with a reference; or NULL */
    uint64_t last_count;
};

void graph_plan_unref(struct graph_plan *plan);

/* The node that the command is at. */
struct graph_node *graph_node_at(const struct command *c);

/* As device_graph_launch, for a graph that device code launches: below an environment, or as a tail
 * launch of one. */
enum device_error graph_launch_below(struct device_graph *g, struct device_stream *s,
                                     struct graph_env *parent, struct graph_env *tail_of);
/* The graph's launch by this command need not be waited for by its next ones. */
void graph_forget_launch(struct graph_owner *owner, const struct command *c);

/* The nodes of a launch are over. True: so is its command. False: graphs launched by its kernels
 * are not, and whoever ends them ends it. (cdp_graph.c) */
bool graph_over(struct graph_plan *plan, struct command *caller);

#endif
