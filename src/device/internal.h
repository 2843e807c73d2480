/* internal: what the files of the device layer share: streams, commands, contexts, the scheduler.
 *
 * Locks, outermost first: a stream's, a context's list, the scheduler's. Never two streams' at
 * once.
 *
 * Who may do what. A stream that has commands is active: exactly one party is responsible for its
 * first command at any time: the ready queue, a thread that runs the stream, the worker that will
 * end the last block of its grid, another stream on whose waiters' list the command is, or the
 * host-function thread. Only that party may use `current` and go on to the next command. */
#ifndef WEIR_DEVICE_INTERNAL_H
#define WEIR_DEVICE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/device.h"
#include "device/hold.h"
#include "device/shared_event.h"
#include "observe/observe.h"

enum {
    PRIORITIES = 1 - DEVICE_PRIORITY_HIGHEST, /* levels; level 0 is served first */
    INLINE_DEPS = 2,
    INLINE_PARAMS = 256,
    SLICE_NS = 500000, /* how long a thread works on one thing while others wait */
};

struct graph_node;

/* ---- commands ---- */

enum command_kind {
    COMMAND_NOTHING, /* waits for its dependencies */
    COMMAND_GRID,
    COMMAND_COPY,
    COMMAND_SET,
    COMMAND_HOST,
    COMMAND_CALL,
    COMMAND_STAMP,  /* writes an event's time */
    COMMAND_SIGNAL, /* completes a recording that other processes see */
    COMMAND_AWAIT,  /* waits for one of theirs */
    COMMAND_WRITE,
    COMMAND_WAIT_VALUE,
    COMMAND_CDP,   /* a grid launched by device code: in no stream of its own (cdp_queue.c) */
    COMMAND_GRAPH, /* runs segments of a graph (graph.h) */
};

/* "Command `count` of the stream is done." Holds a reference to the stream. */
struct dep {
    struct device_stream *stream;
    uint64_t count;
};

/* A copy with all cases folded away: rows of width bytes, cut into pieces. */
struct copy_args {
    char *dst;
    const char *src;
    uint64_t dst_pitch, src_pitch, dst_slice, src_slice;
    uint64_t width, height, depth;
    uint64_t segments;  /* pieces of a row, 1 if rows are short */
    uint64_t rows_each; /* rows of a piece, 1 if rows are cut */
    uint64_t pieces;
    bool streamed;    /* it is more than caches hold */
    void *staged;     /* to free when done, or NULL */
    bool source_read; /* when the call returns; from pageable memory */
};

struct set_args {
    char *dst;
    uint64_t pitch, slice;
    uint64_t width, height, depth; /* width in bytes */
    uint32_t element, value;
    uint64_t segments, rows_each, pieces;
    bool streamed; /* it is more than caches hold */
};

struct value_args {
    void *address;
    uint64_t value;
    uint32_t bytes, test;
};

/* Laid out by who writes what: enqueueing a kernel touches the first line, the launch at the start
 * of `run`, and the parameters. */
struct command {
    struct command *_Atomic next; /* in its stream, or in a free list */
    struct device_stream *stream;
    uint64_t count; /* its number in the stream */
    enum command_kind kind;
    uint32_t dep_count, dep_next; /* dependencies, and the first not known to be met */
    bool listed;                  /* under the scheduler's lock */
    bool published;               /* ever listed */
    bool told;                    /* observers know that it has begun */
    struct dep *deps;             /* few, or on the heap */
    struct command *waiter_next;  /* on the waiters' list of the stream waited for */
    void *params;                 /* of a grid, when they do not fit below */
    struct grid_run run;          /* grids, large copies and sets, waits for values */
    _Alignas(64) uint8_t inline_params[INLINE_PARAMS];
    struct dep few[INLINE_DEPS];
    struct command *job_next, *job_prev; /* while listed as a shared run */
    union {
        struct copy_args copy;
        struct set_args set;
        struct value_args value;
        struct {
            device_host_fn fn;
            void *user;
            const void *of; /* the program's function, which fn calls */
            bool always;
        } host;
        struct {
            void (*fn)(void *user);
            void *user;
        } call;
        struct {
            struct device_event *event;
            uint64_t recording;
        } stamp;
        struct {
            enum observe_kind kind;
            uint64_t event;
        } nothing; /* COMMAND_NOTHING: what observers are told that it is */
        struct {
            struct device_event *event; /* with a reference, which command_release drops */
            struct recording recording;
        } await; /* COMMAND_SIGNAL, COMMAND_AWAIT */
        struct {
            struct cdp_child *child;
            struct cdp_queue *queue; /* goes on when it is over; NULL: none */
            uint64_t number;         /* for observers */
        } cdp;
        struct {
            struct graph_plan *plan;  /* a stream's own command holds a reference */
            struct graph_slot *slots; /* of this launch's event nodes, or NULL */
            struct graph_lane *lane;  /* that it is part of; NULL: a stream's own command */
            uint32_t segment, at;     /* what it is at, in the plan and in the segment */
            bool started;             /* it has a segment */
            struct graph_env *parent, *tail_of; /* what device code has launched it in, or NULL */
        } graph;
    };
};

/* ---- streams ---- */

/* Where an active stream waits for a thread that runs it. */
enum queued {
    QUEUED_NOT,    /* nowhere */
    QUEUED_COMING, /* about to be in the scheduler's inbox, or in it; set by who puts it there */
    QUEUED_READY,  /* in the ready queue; changed under the scheduler's lock, as are its neighbours
                      there */
    QUEUED_LEFT,   /* left to a host thread (left.c); changed under its shard's lock, likewise */
};

/* Three parts: what never changes; what enqueueing uses; what running uses. The latter two are on
 * cache lines of their own, since different threads are at them at the same time. */
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct device_stream {
    struct device_context *ctx; /* holds a reference */
    unsigned flags;
    int priority, level;
    uint64_t id;
    struct device_stream *next, *prev; /* on the context's list, under its lock */
    struct order_clock *clock;         /* see vector_clock.c */
    pthread_mutex_t vector_lock;       /* of the vector */
    struct vector_clock *vector;       /* the ticks it comes after (vector_clock.c), or NULL */
    _Atomic uint64_t vector_version;   /* another one each time the vector changes; 0: none */
    _Atomic uint64_t tick_of_legacy;   /* the legacy stream comes after its timestamps below this */
    _Atomic bool ended;                /* its handle is gone; calls under way may enqueue still */
    _Atomic(void *) slot;              /* the allocator's */

    _Alignas(128) pthread_mutex_t lock; /* of all in this part */
    struct command *head, *tail;        /* from the head to `current`: done, not yet recycled */
    struct command *free_commands;
    uint32_t free_count;
    bool active;                  /* has commands; then it holds a reference to itself */
    bool freed, unlisted;         /* no call has it any more; it is off the context's list */
    _Atomic uint64_t enqueued;    /* the stream's clock: commands enqueued */
    _Atomic uint64_t legacy_seen; /* this stream is ordered after that count of the legacy one */
    uint64_t seen_by_legacy;      /* and the legacy one after that count of this (its lock) */
    struct command *waiters;      /* commands of other streams that wait for counts of this one */
    _Atomic bool host_runs;       /* a host thread is likely to come and run what is enqueued */
    _Atomic uint64_t held_at;     /* wait_moment was in vain when so many were done, plus 1 */
    _Atomic uint32_t in_vain;     /* how often in a row, about: the next one is so much shorter */

    _Alignas(128) _Atomic uint64_t completed; /* commands done, in order */
    struct command *current;       /* the first command not done: belongs to who runs the stream */
    uint32_t unrecycled;           /* done commands before it; likewise */
    _Atomic bool has_waiters;      /* there may be some */
    _Atomic uint8_t queued;        /* enum queued */
    _Atomic uint32_t host_waiters; /* threads that sleep on `wake`, or are about to */
    _Atomic uint32_t wake;         /* futex */
    _Atomic uint32_t refs;         /* handle, being active, dependencies, events */
    struct device_stream *ready_next, *ready_prev;
};

static inline uint64_t stream_completed(struct device_stream *s)
{
    return atomic_load_explicit(&s->completed, memory_order_acquire);
}

static inline uint64_t stream_enqueued(struct device_stream *s)
{
    return atomic_load_explicit(&s->enqueued, memory_order_acquire);
}

static inline struct device_stream *stream_ref(struct device_stream *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}
void stream_unref(struct device_stream *s);

/* The id of one that is on no list: work in it belongs to a command of another stream. */
#define STREAM_UNLISTED UINT64_MAX
struct device_stream *stream_new(struct device_context *ctx, unsigned flags, int priority,
                                 uint64_t id);

/* Takes a command node to fill; the stream is locked until stream_enqueue. */
struct command *stream_begin(struct device_stream *s, enum command_kind kind);
/* Gives up after stream_begin. */
void stream_cancel(struct device_stream *s, struct command *c);
/* Adds a dependency to a command that is being filled (dropped when met already). */
void command_depend(struct command *c, struct device_stream *on, uint64_t count);
/* Enqueues the filled command, unlocks, and sees to it that it runs; returns its number. */
uint64_t stream_enqueue(struct device_stream *s, struct command *c);
/* The same of a command that is over sooner than another thread would begin it: the calling thread
 * runs it where nothing is before it. */
uint64_t stream_enqueue_short(struct device_stream *s, struct command *c);

/* The same while there are observers, of a command with nothing to do but to be told of and,
 * perhaps, to take a time. *done: nothing is before it, so that it is complete, and was not
 * executed. */
uint64_t stream_enqueue_nothing(struct device_stream *s, struct command *c, bool *done);
/* Enqueues a command that only waits for that count of another stream; by which event, for
 * observers, 0: by none. */
void stream_enqueue_wait(struct device_stream *s, struct device_stream *on, uint64_t count,
                         uint64_t event);

/* Whether all dependencies of the stream's first command are met; if not, it is on a waiters' list
 * and no longer the caller's. */
bool command_ready(struct command *c);

/* Ends the finished first command. Returns the next one, which is the caller's to run, or
 * NULL: then the stream may be gone. */
struct command *stream_complete(struct device_stream *s, struct command *c);

/* Says that the count is reached, to all who wait. The stream is not locked and stays alive. */
void stream_announce(struct device_stream *s, uint64_t count);

/* Wakes host threads that sleep on the stream. */
void stream_wake(struct device_stream *s);

/* Whether nothing is left to do, including, for the legacy stream, in those it waits for. */
bool stream_idle(struct device_stream *s);

/* Runs the active stream whose first command is the caller's, up to command `stop`. Afterwards it
 * is someone else's. */
void stream_run(struct device_stream *s, struct grid_worker *w, uint64_t stop);

/* ---- order (vector_clock.c) ---- */

struct order_clock *order_clock_new(void);
void order_clock_free(struct order_clock *c);
/* A snapshot of what this moment of the stream comes after, itself included: to be carried by an
 * event. Uses up the reference to an earlier one, or NULL, that the event had. Returns a reference;
 * NULL: it comes after nothing. */
struct vector_clock *order_snapshot(struct device_stream *s, struct vector_clock *old);
/* What a host that waits for the stream from now on will have seen pass: of the default stream's
 * rule only what the stream itself waits for. */
struct order_awaited {
    struct order_clock *clock;  /* of the stream, which must stay alive, */
    uint64_t now;               /* and the tick; 0: none was taken */
    struct vector_clock *after; /* with a reference, or NULL */
};
void order_await(struct order_awaited *a, struct device_stream *s);
/* It has waited. */
void order_seen(const struct order_awaited *a);
/* Of all these streams. A new reference; NULL: nothing. */
struct vector_clock *order_snapshot_all(struct device_stream *const *streams, size_t count);
struct vector_clock *vector_clock_ref(struct vector_clock *v); /* NULL is fine, here and below */
void vector_clock_unref(struct vector_clock *v);
/* The stream comes after the vector, from now on. */
void order_wait(struct device_stream *s, const struct vector_clock *v);
/* Sees to it that the stream's count stands for all that comes before this moment: a stream of the
 * default stream's rule may have to wait for others by its next command only. */
void stream_settle(struct device_stream *s);
/* The legacy stream, which begins a command, comes after this blocking stream's present moment. */
void order_legacy_follows(struct device_stream *b);
/* The host has waited for all that the vector comes after; uses up the reference. */
void order_prove(struct vector_clock *v);
/* The stream's handle is gone, or the stream itself, too. No lock is held. */
void order_stream_ends(struct device_stream *s, bool gone);
bool order_followed(void);

/* ---- executing (execute.c) ---- */

/* Does a prepared piece of work of the command's, shared with other workers if it is worth it.
 * True: it is done; false: others will end it, and the command may be gone. */
bool command_grid(struct command *c, struct grid_worker *w, const struct grid_launch *launch);
bool command_pieces(struct command *c, struct grid_worker *w, struct grid_kernel *k,
                    uint64_t pieces, const void *args);
/* A grid expected to take less (ns) is not worth another worker. */
enum { COMMAND_SHORT_NS = 4000 };

/* Does the command. True: it is done. False: others will end it and see to the stream. */
bool command_execute(struct command *c, struct grid_worker *w);
/* Joins a listed run that was entered; sees to the stream if that was the end of it. */
void command_share(struct command *c, struct grid_worker *w, uint64_t until, uint64_t stop);
/* What the command was at has ended elsewhere. True: its stream, which is the caller's, goes on. */
bool command_end(struct command *c);
/* The run is complete: ends the command and goes on with its stream, up to command `stop`. */
void command_run_complete(struct command *c, struct grid_worker *w, uint64_t stop);
/* The command that a run belongs to. */
struct command *command_of_run(struct grid_run *run);
/* Runs the prepared run of a child. True: it is over, tail launches included. */
bool command_run_cdp(struct command *c, struct grid_worker *w);
/* Called by a block of the run that waits where it cannot be parked: lets others have the run's
 * other blocks, and everything else (grid_parking.give_way). */
void run_give_way(struct grid_run *run);
/* Whether other work waits for a thread (grid_parking.wanted). */
bool run_wanted(struct grid_run *run);
/* No block of a run is to be handed out (grid_parking.closed). */
void run_closed(struct grid_run *run);
/* Frees what the command owns, dependencies too. */
void command_release(struct command *c);

void copy_args_make(struct copy_args *args, const struct device_copy *copy);
void set_args_make(struct set_args *args, const struct device_set *set);
void copy_all(void *args); /* struct copy_args */
void set_all(void *args);  /* struct set_args */
extern struct grid_kernel copy_kernel, set_kernel, wait_value_kernel;
/* The same for kernels' copies and fills, where what they access is told (exec/touch.h) or what is
 * written is kept (memory/defined.h). */
extern struct grid_kernel copy_told_kernel, set_told_kernel;
void value_write(const struct value_args *args);

/* Makes `clock` the stream of a new recording that is complete when its next count is, and comes
 * after what is in `s` now; returns the recording. The clock is no stream that runs: event_reach
 * advances it. */
uint64_t event_promise(struct device_event *e, struct device_stream *s, struct device_stream *clock,
                       uint64_t *count);
void event_reach(struct device_event *e, struct device_stream *clock, uint64_t recording,
                 uint64_t count);
void event_ref(struct device_event *e);
void event_unref(struct device_event *e);
/* The recording's stream, count and what it comes after, with references; NULL when there is none.
 */
struct device_stream *event_recording(struct device_event *e, uint64_t *count,
                                      struct vector_clock **after);

/* Writes the time of a recording, if the event has not been recorded again, and drops the
 * reference. (event.c) */
void event_stamp(struct device_event *e, uint64_t recording, uint64_t now);

/* What other processes know of an interprocess event. (event.c) */
struct shared_event *event_shared(const struct device_event *e);

/* ---- observers (observed.c); called only while there are any ---- */

void observed_stream_made(const struct device_stream *s, bool per_thread);
/* The filled command is enqueued; its stream is locked. */
void observed_enqueue(const struct command *c);
/* The node of a graph that the run is of, or of which it is launched. */
struct observe_id observed_node_of(struct grid_run *run);
/* Until the next call, graphs that this thread enqueues are launched by that node; NULL: by none.
 */
void observed_launcher(const struct observe_id *node, enum observe_launched how, uint32_t part);
/* A command, a child, or the node that a graph's command is at, begins and ends. */
void observed_begin(struct command *c); /* again: nothing */
void observed_end(const struct command *c);
void observed_node_begin(const struct command *c, const struct graph_node *n);
void observed_node_end(const struct command *c, const struct graph_node *n);
/* What one thread does of it. The command may be gone when the part ends. */
struct observed_part {
    struct observe_id id;
    bool told;
};
struct observed_part observed_part_begin(const struct command *c);
/* The same of what a run is of: the command, or the node that a graph's command is at. */
struct observed_part observed_run_part_begin(const struct command *c);
void observed_part_end(const struct observed_part *p);
void observed_graph(uint64_t graph, const struct device_graph_spec *spec);
void observed_graph_change(uint64_t graph, const struct device_node *node);
/* The host comes after a count of a stream. */
/* The host has seen the event, which another process has recorded. */
void observed_foreign(uint64_t event, uint64_t begun);
void observed_host(enum observe_host_wait how, const struct device_stream *s, uint64_t count,
                   uint64_t event, uint64_t begun);
/* The same of several. */
struct observed_host {
    struct observe_id *work;
    uint32_t count;
    uint64_t begun;
};
void observed_host_begin(struct observed_host *h, struct device_stream *const *streams,
                         const uint64_t *counts, size_t count);
/* Of the stream as it is now; of the legacy stream, and all blocking ones. */
void observed_sync_begin(struct observed_host *h, struct device_stream *s);
/* It has waited, or seen that there is nothing to wait for. The caller frees h->work. */
void observed_host_end(const struct observed_host *h, enum observe_host_wait how,
                       const struct device_stream *s);

/* ---- waits for other processes (await.c) ---- */

/* Starts the thread, if it does not run yet. False: the system lets us have none. To be called, and
 * successful, before the first wait is enqueued. */
bool await_open(void);
/* True: it is over already; else the thread ends it when it is. */
bool await_begin(struct command *c);
/* ---- graphs (graph.h) ---- */

/* Runs a graph, or what this command has of it, as far as it goes. True: the command is done. */
bool graph_execute(struct command *c, struct grid_worker *w);
/* The node that the command is at was ended by someone else. */
void graph_node_done(struct command *c);
/* Calls the host function of the node that the command is at. */
void graph_call_host(const struct command *c);
/* Drops what a stream's own command holds. */
void graph_release(struct command *c);

/* ---- host functions (host.c) ---- */

/* Starts the thread, if it does not run yet. False: the system lets us have none. To be called, and
 * successful, before the first host function is enqueued. */
bool host_open(void);
void host_submit(struct command *c); /* the thread completes it */
/* Whether one that was submitted has not ended; the thread's id, 0: it has not begun. */
bool host_pending(void);
long host_thread(void);

/* ---- contexts ---- */

struct device {
    int ordinal;
};

struct device_context {
    struct device *dev;
    uint64_t id;
    _Atomic uint32_t refs; /* the handle and each stream */
    struct grid_env *env;
    _Atomic int wait; /* enum device_wait */
    struct device_stream *legacy;
    pthread_mutex_t lock;          /* of the list */
    struct device_stream *streams; /* all but the legacy one */
    _Atomic uint32_t blocking;     /* how many of them are blocking */
};

struct device_context *context_ref(struct device_context *ctx); /* returns it */
void context_unref(struct device_context *ctx);
/* Takes a stream off the list, once. */
void context_unlist(struct device_stream *s);
/* References to all streams, the legacy one first, for the caller to drop and free. */
struct device_stream **context_streams(struct device_context *ctx, size_t *count);

enum device_error error_of(enum grid_fault_kind kind);

/* ---- streams left to host threads (left.c) ---- */

enum { LEFT_SHARDS = 32 };

void left_open(void);
/* Leaves a ready stream to the host threads that are likely to come for it. */
void left_put(struct device_stream *s);
/* Takes it back, if it is there still. */
bool left_remove(struct device_stream *s);
/* Which shards have streams, as a mask. */
uint32_t left_shards(void);
/* Those whose oldest stream has not changed since `seen` was filled; fills it. */
uint32_t left_since(uint32_t *seen);
/* Takes the oldest stream of one of these shards, for a worker to run, and those shards out of the
 * mask where it looked; NULL: there is none. */
struct device_stream *left_take(uint32_t *shards);

/* ---- the scheduler ---- */

/* A worker asleep. */
struct sleeper {
    struct sleeper *next, *prev;
    _Atomic uint32_t woken;
};

/* Parts on cache lines of their own: lists and their lock; what workers without work look at all
 * the time; what each thread changes that begins or ends something; what changes when workers come
 * and go. */
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct sched {
    uint32_t workers;
    uint32_t sharers; /* threads that may work on one run: all workers, or one (turns.c) */
    pthread_mutex_t lock;
    struct {
        struct device_stream *head, *tail;
    } ready[PRIORITIES];
    struct {
        struct command *head, *tail;
    } jobs[PRIORITIES]; /* shared runs with blocks to hand out */
    struct {
        struct cdp_queue *head, *tail;
    } given;                        /* queues of launches by device code that any worker may run, */
    _Atomic uint32_t waiting_gifts; /* and how many they are; changed under the lock */
    struct sleeper *idle;           /* workers asleep */
    struct grid_parking parking;

    _Alignas(64) _Atomic uint64_t listed; /* entries in all of these lists, and in the inbox */

    /* Streams that have become ready, the last first, linked by ready_next: who has the lock moves
     * them to the ready queue (sched_collect). Who puts one in takes no lock. */
    _Alignas(64) struct device_stream *_Atomic inbox;

    /* One of the listed runs that threads may enter without the lock, and how often they may
     * (shared_runs.c). 0: none. Opened and closed under the lock. */
    _Alignas(64) _Atomic uint64_t open;

    _Alignas(64) _Atomic uint32_t picking; /* threads that are about to take from the lists */

    _Alignas(64) _Atomic uint32_t running; /* threads that execute something */

    _Alignas(64) _Atomic uint32_t spinning; /* workers that look for work without sleeping */

    /* Those change rarely, and are read by all that begin to run something. */
    _Alignas(64) _Atomic uint32_t threads; /* workers, those started instead of others too */
    _Atomic uint32_t stuck;                /* threads in sched_give_way */
    _Atomic uint32_t asleep;               /* workers in `idle`; changed under the lock */
    _Atomic bool paused;                   /* nothing is begun (device_pause); set under the lock */
};
extern WEIR_OWN struct sched sched;

void sched_open(uint32_t workers);
/* Sees to it that there is a worker: without one, work that no host thread waits for would never be
 * done. False: the system lets us have none. */
bool sched_ready(void);
static inline bool sched_paused(void) { return atomic_load(&sched.paused); }
/* Puts an active stream into the ready queue and wakes who is needed. */
void sched_push(struct device_stream *s);
/* Takes it back, if it is there still; the caller counts as running then. */
bool sched_steal(struct device_stream *s);
/* Takes it back for nobody to run. */
bool sched_withdraw(struct device_stream *s);
/* Lists a run for others to join / takes it off. */
enum sched_listing {
    SCHED_LIST,
    SCHED_WAKE, /* and gets someone to help; */
    SCHED_OPEN, /* and lets threads enter it without the lock: the caller is inside */
};
void sched_list(struct command *c, enum sched_listing how);
void sched_unlist(struct command *c);
/* Of the listed runs (shared_runs.c). The scheduler is locked: adds one; `open`: threads may enter
 * it without the lock, and the caller is inside. The first one of the level that has a block to
 * hand out now, entered and moved to the end; takes those off that have none left. NULL: there is
 * none.
 */
void shared_add(struct command *c, bool open);
struct command *shared_pick(uint32_t level);
/* Not locked: enters the run that is open, if one is. */
struct command *shared_enter(void);
/* Has no more threads enter it without the lock, and takes it off where all blocks are handed out.
 * The caller is inside. */
void sched_close(struct command *c);
/* The scheduler is locked: moves what is in the inbox to the ready queue; takes a stream out of
 * that, a run off the list, the oldest queue given, or NULL. */
void sched_collect(void);
void sched_unready(struct device_stream *s);
void sched_drop(struct command *c);
struct cdp_queue *sched_take_given(void);
/* Puts a queue of launches up for others to run. */
void sched_give(struct cdp_queue *q);
/* Enters the listed run that is the stream's first command, and counts the caller as running; NULL
 * when there is none to enter. */
struct command *sched_join(struct device_stream *s);
/* Gets a worker to look for work if none does and one is asleep. */
void sched_wake_one(void);
/* Whether there is something that nobody is looking for, perhaps. */
bool sched_unseen(void);
/* Counts the calling thread as running; false: it may not run anything now. */
bool sched_begin(void);
/* The calling thread cannot leave what it executes and waits for a moment; another thread, a new
 * one if need be, works instead of it. */
void sched_give_way(void);
/* What a thread that looks for work remembers. */
struct seeker {
    uint32_t turn;              /* so that kinds of work alternate */
    bool spinning;              /* counted in sched.spinning */
    bool shared;                /* the last piece of work was a run that others worked on, too */
    uint32_t late;              /* the shards whose stream no host thread has come for (left.c) */
    uint32_t seen[LEFT_SHARDS]; /* their turns when they were last looked at */
    bool overdue;         /* takes what no other thread has begun, though as many run as may */
    uint64_t full_since;  /* ns: since then there was work, and as many ran as may; 0: not so */
    uint32_t no_progress; /* resumed blocks in a row that got nowhere */
};
enum sched_result {
    SCHED_NOTHING,     /* there is no work */
    SCHED_NO_PROGRESS, /* a parked block was looked at; it still waits */
    SCHED_DONE,
};
/* Does one piece of any work. */
enum sched_result sched_work(struct grid_worker *w, struct seeker *k);
/* Whether something else waits for a thread. */
static inline bool sched_busy(void)
{
    return atomic_load_explicit(&sched.listed, memory_order_relaxed) > 0;
}
/* The same by who has run n pieces of one thing; each eighth time it looks, too, at what is left to
 * host threads, which may not come. */
static inline bool sched_wanted(uint32_t n)
{
    return sched_busy() || (n % 8 == 7 && left_shards() != 0);
}
/* A lock that is held for a few instructions only: who finds it taken looks again before sleeping.
 */
void mutex_init(pthread_mutex_t *lock);
/* Starts a detached thread of ours, which the program's signals do not reach. */
bool thread_start(void *(*main)(void *), void *arg, const char *name);
/* The same for one that there is once, unless *started. False: the system lets us have none. */
bool thread_start_once(atomic_bool *started, void *(*main)(void *), const char *name);

void futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns); /* 0: for ever */
void futex_wake(_Atomic uint32_t *word, int count);

/* ---- orders on purpose (turns.c); called only while there is a schedule ---- */

/* Runs work, whichever the schedule says, until the stream's count is reached or the time is up (0:
 * no limit). */
void turns_wait(struct device_stream *s, uint64_t count, uint64_t longest_ns);
/* A call has enqueued a command, or has found that work in the stream is not done. No lock is held.
 */
void turns_enqueued(struct device_stream *s, uint64_t count);
void turns_asked(struct device_stream *s);
/* A thread in the middle of a piece of work lets others run; false: it is in none. */
bool turns_release(void);
void turns_regain(void);
/* Pieces of work run so far, that which runs included. */
uint64_t turns_pieces(void);
/* The main function of workers. */
void *turns_main(void *number);

/* ---- waiting (wait.c) ---- */

/* The calling thread's worker. */
struct grid_worker *sched_worker(void);

/* Blocks the host thread until the stream's count is reached, helping. `any`: help with any work.
 * Gives up what the thread's call holds (hold.h): the caller has references to all that it uses
 * afterwards. */
void wait_count(struct device_stream *s, uint64_t count, bool any);
/* Waits for what can run now: until nothing has been under way for `idle_ns`, as when the work
 * waits for this thread, and 150 ms at most; half of it, and so on, in a stream where that was in
 * vain before. `spins`: it may wait for memory that others write, so
 * that what is under way may be in vain. */
void wait_moment(struct device_stream *s, uint64_t count, uint64_t idle_ns, bool spins);
/* Runs the stream, which is ready and in no queue, up to that command; by another thread if as many
 * run as may. */
void run_short(struct device_stream *s, uint64_t count);
/* Once, when the schedule is known. */
void commands_open(void);
/* A call has enqueued work that accesses memory (device_set_eager). No lock is held. */
void work_enqueued(struct device_stream *s, uint64_t count);
/* The same in a way of its own, whatever the context's. */
void wait_count_by(struct device_stream *s, uint64_t count, bool any, enum device_wait mode);

#endif
