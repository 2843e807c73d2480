/* internal: what the files of the race checker share. All of it is under one lock. */
#ifndef WEIR_RACES_INTERNAL_H
#define WEIR_RACES_INTERNAL_H

#include <pthread.h>

#include "base/thread_fast.h"
#include "findings/findings.h"
#include "observe/observe.h"
#include "races/races.h"

extern pthread_mutex_t races_lock;
extern struct races_names races_names;

/* The thread has the lock, or is about to have it or just had it. */
extern volatile WEIR_THREAD_FAST bool races_inside;

static inline void races_enter(void)
{
    races_inside = true;
    pthread_mutex_lock(&races_lock);
}

static inline void races_leave(void)
{
    pthread_mutex_unlock(&races_lock);
    races_inside = false;
}

/* ---- vector clocks (clock.c) ---- */

/* The latest position of each stream that something comes after. A **position** of a stream is its
 * count shifted for work; the numbers after it are moments at which memory is allocated or freed,
 * and those before it parts of a host function. Immutable and shared. NULL: nothing. */
enum { POSITION_SHIFT = 20, POSITION_POINTS = (1 << (POSITION_SHIFT - 1)) - 1 };

struct vclock {
    uint32_t refs, count;
    struct vclock_entry {
        uint64_t stream, position;
    } entries[];
};

struct vclock *vclock_ref(struct vclock *v);
void vclock_unref(struct vclock *v);
uint64_t vclock_get(const struct vclock *v, uint64_t stream); /* 0: none */
/* Both use up the reference to `v` and return one. */
struct vclock *vclock_join(struct vclock *v, const struct vclock *other);
struct vclock *vclock_raise(struct vclock *v, uint64_t stream, uint64_t position);

/* ---- executable graphs (graph.c) ---- */

struct graph;
struct graph *graph_ref(uint64_t number); /* made when it is first heard of */
void graph_unref(struct graph *g);
uint64_t graph_number(const struct graph *g);
/* The host launches it: which launch of its own is before that one; count 0: none. */
struct observe_id graph_launched(uint64_t number, const struct observe_id *now);
/* Whether the node comes after the other one. */
bool graph_comes_after(const struct graph *g, uint32_t node, uint32_t before);
void order_graph_node(const struct observe_node *n);
/* Calls each(...) for the graph's host functions. */
void graph_functions(const struct graph *g,
                     void (*each)(uint32_t node, const void *function, const void *argument,
                                  void *self),
                     void *self);
/* The bytes between which a copy reads or writes. */
struct shadow_range;
struct shadow_range copy_source(const struct observe_work *w);
struct shadow_range copy_target(const struct observe_work *w);
/* Calls each(...) for what the copies of a graph touch, both ends. */
void graph_copies(uint64_t graph, void (*each)(const struct shadow_range *r, void *self),
                  void *self);
void order_graph_ended(uint64_t graph);

/* ---- their launches (launch.c) ---- */

struct moment;
struct launch;
struct launch *launch_new(uint64_t graph);
/* A node of another launch has made it. */
/* ... in that part. */
void launch_is_of(struct launch *l, struct launch *by, uint32_t node, enum observe_launched how,
                  uint32_t part);
struct launch *launch_ref(struct launch *l);
void launch_unref(struct launch *l);
uint64_t launch_graph(const struct launch *l);
/* The host has made the launch: what its host functions will look at. */
void launch_looks(struct launch *l);
struct looks *launch_looks_of(struct launch *l, uint32_t node); /* it is the caller's */
/* The node records: waits know that by the name. It comes after that, which is used up. */
void launch_records(struct launch *l, uint32_t node, const struct observe_id *as, uint32_t part);
void launch_waits(struct launch *l, uint32_t node, struct vclock *waited);
/* Whether a node whose end an event node has recorded, or one after what one has waited for, orders
 * the two; whether a host node has waited for what the host did at `a`. */
bool launch_before(const struct moment *a, const struct moment *b);
bool launch_host_before(const struct moment *a, const struct moment *b);
/* The same of nodes of one launch of the host's and of what its kernels have launched. */
bool launch_orders(const struct moment *a, const struct moment *b);

/* ---- order (order.c) ---- */

enum moment_kind { MOMENT_WORK, MOMENT_ALLOCATION, MOMENT_FREE, MOMENT_HOST };

/* An instruction of a kernel, and which bytes it touched, as told by the hook `accessed`. */
struct moment_sites {
    uint32_t count;
    struct observe_access_site items[];
};

/* Its warps, likewise. */
struct moment_warps {
    uint32_t count;
    struct observe_warps items[];
};

/* Something that accesses memory, and what it comes after. */
struct moment {
    uint32_t refs;
    enum moment_kind kind;
    enum observe_kind work;
    struct observe_id id;
    struct observe_id as;  /* by what it is told of; other than id in graphs that kernels launch */
    uint64_t position;     /* in its stream; MOMENT_HOST: 0 */
    uint64_t tick;         /* of the host, when it enqueued or did it */
    struct vclock *after;  /* its own stream left out */
    bool waited;           /* a grid, maybe for what it has launched */
    uint32_t part;         /* of a host function, or of a grid (struct observe_accesses) */
    struct launch *launch; /* of a node of a graph */
    struct looks *looks;   /* of a host function, or NULL */
    const char *name;
    const void *kernel;
    const void *function;     /* of the host */
    const void *pc;           /* MOMENT_HOST: of the instruction */
    const char *ends;         /* MOMENT_HOST: the call that gives memory back, or SCOPE_ENDS */
    struct finding_site site; /* that enqueued it */
    struct moment_sites *sites;
    struct moment_warps *warps;
    struct { /* stream memory operations */
        const void *address;
        uint64_t value;
        uint32_t bytes, test;
    } value;
};

/* Whether so many warps more may be kept, and counts them: until their moment ends. */
bool moment_warps_fit(uint32_t count);
struct moment *moment_ref(struct moment *m);
void moment_unref(struct moment *m);
/* Whether `a` is over before `b` begins, by order that the program made. */
bool moment_before(const struct moment *a, const struct moment *b);
/* ... and before whatever the host does from now on. */
bool moment_seen(const struct moment *a);

void order_stream_made(const struct observe_stream *s);
/* The device that the stream is of, if there are streams of several. */
bool order_one_of_devices(uint64_t stream, int *device);
/* The moment of work that is enqueued; a new reference, NULL for what makes order only. */
struct moment *order_enqueued(const struct observe_work *w);
/* Of work that is under way: a node, or a grid that a kernel has launched counts as the work that
 * it belongs to. NULL: not known. A new reference. */
struct moment *order_find(const struct observe_id *id);
/* A node of a graph begins: its moment. */
struct moment *order_node(const struct observe_work *w);
/* A part of a grid that is later than launches by it: a new reference. */
struct moment *order_later_part(const struct moment *m, uint32_t part);
void order_child(const struct observe_id *child, const struct observe_id *parent);
/* Returns whether it was work that accesses memory. */
bool order_ended(const struct observe_id *id);
uint32_t order_pending(void); /* works that have not ended */
/* Whether a graph that is under way has a copy that touches some of it. */
bool order_graph_reaches(uint64_t low, uint64_t high);
struct moment *order_point(enum moment_kind kind, uint64_t stream, bool ordered);
struct moment *order_host(const void *pc);
/* What the host does from now on comes after the moment. */
void order_host_follows(const struct moment *m);
void order_host_saw(const struct observe_seen *s);
uint64_t order_tick(void); /* of the host, now */
/* Whether what comes after all that comes after what the host did at the moment. */
bool order_host_did(const struct vclock *after, const struct moment *m);
uint64_t order_end_of(const struct moment *m); /* the position at which all of the work is over */
/* The work has waited for that: it and what follows it in its stream comes after it. */
void order_work_follows(struct moment *m, const struct vclock *before);
/* Parts of a host function (sync.c). Its first one begins. */
void order_part_begins(struct moment *m);
/* The part is over, another takes its place: what comes after all that it did, a new reference. */
struct vclock *order_part_ends(struct moment **part);
/* The function and what follows it in its stream comes after that from now on: another part, unless
 * it did so before. */
bool order_part_follows(struct moment **part, const struct vclock *before);
/* The moment, unless it is work under way, comes after that if it comes after m. */
void order_moment_follows(struct moment *p, const struct moment *m, const struct vclock *before);
/* Whether a wait that is not over, by a host function, a kernel or for a value, may yet order the
 * two. */
bool order_may_come(const struct moment *a, const struct moment *b);
/* What the host does from now on comes after that, too: whether it did not before; and all that it
 * has done and comes after, a new reference. */
bool order_host_joins(const struct vclock *before);
struct vclock *order_host_releases(void);
/* Stream memory operations: a wait that has ended comes after the write that it waited for. */
void order_value_written(struct moment *m);
/* The host reads a byte that such a write, which is over, may have written: it comes after that. */
bool order_value_read(uint64_t address);
void order_value_met(struct moment *m);

/* ---- who accessed what (shadow.c) ---- */

enum access {
    ACCESS_READ = 1,
    ACCESS_WRITE = 2,
    ACCESS_ATOMIC = 4,
    ACCESS_ALLOCATION = 8,
    ACCESS_FREE = 16
};

/* Registers an access; found(self, ...) is called for each earlier one that races with it. */
typedef void (*shadow_found)(struct moment *earlier, enum access how, struct moment *later,
                             enum access later_how, uint64_t low, uint64_t high);
void shadow_access(struct moment *m, enum access how, uint64_t low, uint64_t high,
                   shadow_found found);
/* The same of many ranges, in order and none beside another: of what lanes scatter. */
struct shadow_range {
    uint64_t low, high;
};
void shadow_access_all(struct moment *m, enum access how, const struct shadow_range *ranges,
                       size_t count, shadow_found found);
/* Looks without registering. */
void shadow_look(struct moment *m, enum access how, uint64_t low, uint64_t high,
                 shadow_found found);
/* Forgets what the host has seen end; only while nothing is under way. */
void shadow_trim(void);
/* Forgets all accesses of these bytes: they are other memory now. */
void shadow_forget(uint64_t low, uint64_t high);

/* ---- races that may yet be none (held.c) ---- */

/* To be called for each race that is found. */
void held_race(struct moment *earlier, enum access how, struct moment *later, enum access later_how,
               uint64_t low, uint64_t high);
/* What comes after m comes after that, too. */
void held_follow(const struct moment *m, const struct vclock *before);
/* A wait is over; or `all`: nothing comes any more. */
void held_look(bool all);

/* ---- the host's accesses (host.c) ---- */

bool races_host_open(void);
void races_host_memory(const struct observe_memory *m, bool made);
/* The work has accessed bytes that the host may access, too. */
void races_host_pending(struct moment *m, enum access how, uint64_t low, uint64_t high);
void races_host_saw(void);
void races_host_work_begins(void); /* device work: pages are opened */
void races_host_work_ended(void);
void races_host_opens(void);                         /* all pages, until work ends or begins */
bool races_host_shares(uint64_t low, uint64_t high); /* whether the host may access some of it */
/* A host function begins and ends, on this thread. */
void races_host_function_begins(struct moment *m);
void races_host_function_ends(void);
void races_host_part(struct moment *part); /* the function on this thread goes on in that part */

/* Until the host has seen the work end, it is watched when it accesses that memory of its own. */
void races_host_watch(uint64_t low, uint64_t high);

/* ---- memory of the program's own (pageable.c) ---- */

/* Whether these pages may lose their rights. */
bool pageable_may_close(uint64_t low, uint64_t high);
void pageable_changed(void); /* memory was given back */

/* Whether such work touches some of it. They are no memory of that kind any more. */
bool races_host_is_under_way(uint64_t low, uint64_t high);
void races_host_gone(uint64_t low, uint64_t high);
bool races_host_idle(void); /* no such work is under way */
/* The host function that runs on this thread; NULL: none. */
struct moment *races_host_function(void);

/* ---- memory of the program's own that ends (released.c) ---- */

/* From then on it matters which memory the program gives back. */
void released_matters(void);
/* The host ends the memory at that moment. */
void released(struct moment *m, uint64_t low, uint64_t high);

/* ---- local variables (scopes.c) ---- */

#define SCOPE_ENDS "return"

/* Work that touches these bytes is enqueued, or, by the number of a graph, is a node of that. */
void scopes_note(const struct shadow_range *r, uint64_t graph);
/* The host launches the graph. */
void scopes_launched(uint64_t graph);
/* Functions had returned whose variables a copy was launched for, which may crash the program. */
bool scopes_are_stale(void);
void scopes_graph_ended(uint64_t graph);
/* Looks which functions of the calling thread have returned. */
void scopes_look(void);
void scopes_forget(void); /* nothing is under way */

/* ---- what threads of the host synchronize by (sync.c) ---- */

void sync_functions_come(void); /* host functions will run */
/* Of the calling thread; `m`: NULL: the function is not known. */
void sync_function_begins(const struct observe_id *id, struct moment *m);
void sync_function_ends(const struct observe_id *id);
void sync_function_touches(const void *pc); /* memory of devices, by that instruction */

void sync_function_runs(void); /* from now on it is the program's code */
bool sync_in_function(void);   /* such code runs on this thread */

/* ---- what host functions hand over without calls (handover.c) ---- */

/* What the code of a function has by which the program may learn that it has run, or it of what the
 * program has done. */
enum { HANDOVER_STORES = 64 };
struct handover {
    bool atomic; /* atomic instructions */
    bool polls;  /* a loop that looks at the same memory again and again */
    uint8_t store_count;
    const uint8_t *stores[HANDOVER_STORES]; /* plain ones to what is not on the stack */
};
const struct handover *handover_of(const void *function); /* NULL: nothing is known */
/* Adds what a function's code, from `low` to `high`, has besides atomic instructions (code.c). */
void code_look(const uint8_t *low, const uint8_t *high, struct handover *out);

/* Where a function's code ends, `most` bytes from its begin at most; its begin: it is no code. */
const uint8_t *handover_end(const void *function, uint32_t most);

/* ---- what they look at (looks.c) ---- */

/* The values now of what the function, which is enqueued, will look at; NULL: there is nothing. */
struct looks *looks_begin(const void *function, const void *argument);
bool looks_changed(const struct looks *l);

/* ---- what they may hand over by plain stores (handed.c) ---- */

struct handed *handed_begins(struct moment *m);
/* The function ends. `over`: what the program did since it began comes after it. h is gone. */
void handed_ends(struct handed *h, bool over);
/* Whether a function that runs may yet order the two; whether one that is over does. */
bool handed_may_come(const struct moment *a, const struct moment *b);
bool handed_before(const struct moment *a, const struct moment *b);

/* ---- threads that host functions start (born.c) ---- */

void born_function_begins(struct moment *m);
void born_function_ends(void);
/* The calling thread does something: if a host function has started it, the host comes after that
 * one. */
void races_host_thread(void);

/* ---- reports (report.c) ---- */

void report_memory(const struct observe_memory *m, bool made);
void report_named(uint64_t address, const char *name); /* it is a variable */
void report_race(struct moment *earlier, enum access how, struct moment *later,
                 enum access later_how, uint64_t low, uint64_t high);
/* "kernel NAME", in a message. */
void report_put_kernel(struct strbuf *sb, const char *name);
/* The bytes as people know them: of an allocation, if they are in one. */
void report_put_range(struct strbuf *sb, uint64_t low, uint64_t high); /* "bytes 4 to 7" */
struct allocation *report_allocation(uint64_t address); /* a copy, to be freed; NULL: in none */
void report_put_memory(struct strbuf *sb, const struct allocation *a, uint64_t low, uint64_t high);
void report_put_json_memory(struct strbuf *sb, const struct allocation *a, uint64_t low);
void report_put_stream(struct strbuf *sb, uint64_t stream);
/* Races within one grid (threads.c). */
void report_threads(const struct observe_race *r);
void report_threads_flush(void);
/* Writes what was found and not yet written. Takes the lock; not in signal handlers. */
void report_flush(void);

#endif
