/* pool: the stream-ordered allocator. Memory is handed out and taken back in the order of streams,
 * mostly without asking anyone.
 *
 * A pool owns whole chunks of a device's address range (memory/memory.h) and cuts them into blocks
 * of whole granules. Each stream that uses a pool has a *shard* in it: the blocks that were freed
 * on that stream, and are therefore its to use again at once. An allocation looks in its shard
 * first, under a lock that no other stream's calls take. Only when that has nothing does it go over
 * the whole pool, by the rules of spec A7; only when that has nothing either, new chunks are taken.
 *
 * The layer knows nothing of streams but what it may ask by struct pool_order: a stream is a
 * pointer, a moment of it a timestamp and a count. Its chunks come by struct pool_source. Kernels,
 * contexts and the API are unknown here.
 *
 * Statistics are exact in the order of calls, their high-water marks too (see claim in internal.h).
 *
 * Every function may be called from any thread. */
#ifndef WEIR_POOL_POOL_H
#define WEIR_POOL_POOL_H

#include "base/base.h"
#include "memory/memory.h"

enum { POOL_GRANULE = 512 }; /* bytes: what sizes are rounded up to, and the alignment */

enum pool_status {
    POOL_OK = 0,
    POOL_INVALID, /* not the start of memory that a pool has handed out */
};

/* A moment of a stream: after all that is in it. */
struct pool_point {
    uint64_t timestamp; /* for order; more than 0, never less than the stream's timestamps before */
    uint64_t count;     /* passed when the stream's completed count has reached it */
};

/* What the allocator asks about streams, answered by the layer that has them. */
struct pool_order {
    struct pool_point (*mark)(void *stream);     /* its present moment */
    uint64_t (*completed)(void *stream);         /* counts up to this have passed */
    uint64_t (*proven)(void *stream);            /* timestamps below this: the host knows */
    uint64_t (*ordered)(void *stream, void *on); /* timestamps of `on` below this come before */
    /* Makes it so, for its later work. False: it cannot be. */
    bool (*wait)(void *stream, void *on, uint64_t count);
    void (*keep)(void *stream); /* it can be asked until it is released */
    void (*release)(void *stream);
    uint64_t (*id)(void *stream); /* its number, for people */
    size_t slot; /* where in a stream's memory a word for this layer is: an _Atomic(void *), NULL
                    at first */
    uint64_t (*observed_id)(void *stream); /* its number for observers; NULL: the same */
};
/* Once, before anything else. */
void pool_set_order(const struct pool_order *order);

/* Where chunks come from; what each function promises stands beside its namesake in
 * memory/memory.h. */
struct pool_source {
    bool (*range)(int device, uint64_t *base, uint64_t *bytes);
    /* owner: the same for all chunks that are taken for a pool, another for other pools'. */
    enum mem_status (*take)(int device, enum mem_kind kind, const void *owner, uint64_t bytes,
                            uint64_t at, int fd, uint32_t devices, uint64_t *base);
    void (*allow)(int device, uint64_t base, uint64_t bytes, uint32_t devices);
    void (*drop)(int device, uint64_t base, uint64_t bytes, int fd);
    void (*usage)(int device, uint64_t *free_bytes, uint64_t *total_bytes);
    /* Is told once who answers for addresses in the chunks; NULL: it does not ask. */
    void (*set_suballocator)(const struct mem_suballocator *s);
    /* For pools that other processes can map; NULL where there are none. */
    struct mem_file *(*file_new)(int device);
    void (*file_close)(struct mem_file *f);
};
/* Once, before the first pool. */
void pool_set_source(const struct pool_source *source);
/* The memory layer (memory_source.c). */
extern const struct pool_source pool_memory_source;

struct pool;

struct pool_config {
    int device;         /* whose memory; MEM_HOST: the host's */
    enum mem_kind kind; /* what its allocations are: MEM_POOL, MEM_PINNED or MEM_MANAGED */
    uint64_t max_bytes; /* of reserved memory; 0: what the device has */
    bool shared;        /* backed by a file in memory that other processes can map */
    uint32_t devices;   /* whose kernels may touch its memory, a bit for each; see pool_allow */
    void *user;         /* the caller's own, see pool_info */
};
/* NULL and a message when the system refuses. */
struct pool *pool_new(const struct pool_config *config, struct diag *d);
/* The handle is gone; the pool itself goes when all its memory is freed and the frees have passed.
 */
void pool_destroy(struct pool *p);
/* The pools that have gone since the last time: calls under way may still look at them. When none
 * of these is any more, they are freed. */
struct pool *pool_take_gone(void);
void pool_free_gone(struct pool *list);
/* Drops all memory of a device's pools, whatever is allocated; those that are destroyed end. No
 * work may be under way in it. */
void pool_clear_device(int device);

/* The stream's handle is gone: what was freed on it stays, by its last moments. Calls under way may
 * still use it. */
void pool_stream_ended(void *stream);
/* No call has the stream any more, nor will have: what the pools have of it goes as soon as nothing
 * is free there. Implies the former. */
void pool_stream_gone(void *stream);

/* The call that allocates or frees, for fault reports (see struct mem_site); all zero: not
 * known. Small enough to be passed in registers. */
struct pool_by {
    const void *at;
    uint64_t call;
};

/* Allocates in the order of a stream. bytes > 0. NULL: the pool has reached its size, or the device
 * has no more. */
void *pool_alloc(struct pool *p, void *stream, uint64_t bytes, struct pool_by by);
/* The same with so many bytes after it that are nobody's. */
void *pool_alloc_spaced(struct pool *p, void *stream, uint64_t bytes, uint64_t space,
                        struct pool_by by);
/* Frees in the order of a stream, at its present moment. POOL_INVALID also when it is free already.
 */
enum pool_status pool_free(void *address, void *stream, struct pool_point now, struct pool_by by);
/* Frees memory that no work uses any more, for every stream at once. */
enum pool_status pool_free_now(void *address, struct pool_by by);

/* One allocation. */
struct pool_info {
    struct pool *pool;
    void *user; /* the pool's */
    int device;
    uint64_t base, size, serial; /* size: bytes asked for; serial: unique in the process */
    struct mem_site made;        /* by which call */
};
/* The live allocation that holds the address. Takes no lock. */
bool pool_find(const void *address, struct pool_info *info);

/* ---- physical memory ---- */

/* The host has synchronized: pools that hold more than their threshold give back what is free. */
void pool_synchronized(void);
/* Gives whole free chunks back to the system as long as `keep` bytes stay reserved, as far as the
 * host has synchronized with their frees. */
void pool_trim(struct pool *p, uint64_t keep);
/* Has all pools of a device give back what is free in them, whatever they should keep, as far as
 * the host has synchronized with the frees. False: that is nothing. */
bool pool_give_back(int device);
/* Changes whose kernels may touch the pool's memory, what it has and what it will have. Kernels
 * that run are not waited for. */
void pool_allow(struct pool *p, uint32_t devices);
/* The file of a shared pool, which holds each byte at its offset from the device's range; NULL
 * when it has none. */
struct mem_file *pool_file(const struct pool *p);

/* ---- switches and statistics ---- */

enum pool_switch { POOL_FOLLOW_EVENTS, POOL_OPPORTUNISTIC, POOL_INTERNAL, POOL_SWITCHES };
void pool_set_switch(struct pool *p, enum pool_switch which, bool on); /* all on at first */
bool pool_get_switch(const struct pool *p, enum pool_switch which);
void pool_set_threshold(struct pool *p, uint64_t bytes); /* 0 at first */
uint64_t pool_get_threshold(const struct pool *p);

/* How memory came to be used again. */
enum pool_rule {
    POOL_RULE_SAME_STREAM,
    POOL_RULE_SYNCHRONIZED, /* the host had seen the free pass, or freed without a stream */
    POOL_RULE_EVENT,
    POOL_RULE_OPPORTUNISTIC,
    POOL_RULE_INTERNAL,
    POOL_RULES
};

enum { POOL_SIZES = 40 }; /* classes of free blocks: up to 512 bytes, 1 KiB, 2 KiB … */

struct pool_statistics {
    uint64_t reserved, reserved_high, used, used_high; /* bytes */
    uint64_t max_bytes, threshold;
    uint64_t live;                     /* allocations */
    uint64_t free_blocks[POOL_SIZES];  /* free blocks by size */
    uint64_t free_bytes, largest_free; /* of all free blocks, of the largest */
    uint64_t reused[POOL_RULES];       /* allocations that used freed memory again, by rule */
    uint64_t gathered;                 /* free blocks moved between streams to be joined */
    uint64_t fresh;                    /* allocations from memory that was never used before */
    uint64_t taken, released;          /* bytes, from and to the system, over all time */
    uint64_t streams;                  /* shards */
};
void pool_get_statistics(struct pool *p, struct pool_statistics *out);
/* The four that programs ask for, and no more. */
void pool_get_usage(struct pool *p, struct pool_statistics *out);
/* The high-water marks fall to the present values. */
void pool_reset_used_high(struct pool *p);
void pool_reset_reserved_high(struct pool *p);

/* ---- what happens, as it happens ---- */

enum pool_event_kind {
    POOL_ALLOCATED,
    POOL_FREED,
    POOL_MAPPED,   /* chunks came from the system */
    POOL_UNMAPPED, /* and went back to it */
    POOL_TRIMMED,  /* pool_trim was called: down to `bytes` */
};

/* That an allocation's memory was never used before, instead of a rule. */
enum { POOL_FRESH = POOL_RULES };

struct pool_event {
    enum pool_event_kind kind;
    uint64_t pool;           /* its number: 1, 2, 3 … in the process */
    uint64_t address, bytes; /* of the allocation (as asked for) or of the chunks */
    bool has_stream;         /* allocated or freed in the order of a stream, */
    uint64_t stream;         /* whose number this is */
    enum pool_rule rule;     /* how an allocation came to its memory */
    uint64_t reserved;       /* chunks: bytes that the pool holds now */
};

/* From now on that is called for each event, in the order in which they happen to a stream; NULL:
 * nothing is. It is called with locks held and must not call this layer. */
typedef void pool_watcher(const struct pool_event *e);
void pool_watch(pool_watcher *watcher);

/* Visits the pools in order of age; those with a handle gone but memory left, too. */
void pool_visit(void (*visit)(void *self, struct pool *p, const struct pool_config *config,
                              bool destroyed),
                void *self);

#endif
