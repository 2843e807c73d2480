/* internal: what the files of the hazards layer share. */
#ifndef WEIR_HAZARDS_INTERNAL_H
#define WEIR_HAZARDS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "hazards/hazards.h"

enum {
    WARPS = 32,          /* of a block, at most */
    ALL_WARPS = 0xffff,  /* in a vector: every warp of the block, asynchronous copies left out */
    ASYNC_WARPS = WARPS, /* the copies of warp w count as accesses of warp ASYNC_WARPS + w */
    LINE = 128,          /* bytes */
    BARRIERS = 16,
    GROUPS = 16 /* of asynchronous copies that a thread can wait for one by one; a power of two */
};

/* ---- clock.c ---- */

/* What something comes after: accesses of lanes of a warp of a block, as far as they are stamped
 * with less than `clock`; and all of the blocks of grids that are over. Immutable and shared. NULL:
 * nothing. */
struct hazard_order {
    _Atomic uint32_t refs;
    uint32_t count, over_count;
    struct blocks_over {
        uint32_t first, end;
    } *over; /* after the entries, in order, none beside another */
    struct vector_entry {
        uint32_t block;
        uint16_t warp;
        uint32_t lanes; /* of ALL_WARPS: all */
        uint32_t clock;
    } entries[]; /* by block, warp, lanes; of no block that is over */
};

struct hazard_order *vector_ref(struct hazard_order *v);
void vector_unref(struct hazard_order *v);
struct hazard_order *vector_of(const struct vector_entry *entries, uint32_t count); /* in order */
struct hazard_order *vector_of_blocks(uint32_t first, uint32_t end); /* that are over */
/* Whether it has all that the block does. */
bool vector_has_block(const struct hazard_order *v, uint32_t block);
/* Uses up the reference to `v` and returns one. */
struct hazard_order *vector_join(struct hazard_order *v, const struct hazard_order *other);
bool vector_has(const struct hazard_order *v, uint32_t block, uint32_t warp, uint32_t lane,
                uint32_t clock);
/* Whether it has all lanes of `mask`. */
bool vector_has_lanes(const struct hazard_order *v, uint32_t block, uint32_t warp, uint32_t mask,
                      uint32_t clock);

/* Where something is released, acquired or waited for. */
enum { LEVELS = 3 }; /* block, cluster, grid */
struct sync {
    uint64_t key;
    struct sync *next;
    struct released { /* atomics: by level, and by block or cluster */
        uint32_t level, of;
        struct hazard_order *what;
    } *released;
    uint32_t released_count;
    struct hazard_order *now, *passed; /* objects: arrivals of this phase and of those before */
};
struct sync_table {
    struct sync **buckets;
    uint32_t capacity;
    _Atomic uint32_t count;
};
struct sync *sync_find(struct sync_table *t, uint64_t key, bool make); /* NULL: none */
void sync_table_free(struct sync_table *t);
/* Accesses of that scope release `what`, for those of the block, the cluster and the grid. */
void sync_release(struct sync *s, uint32_t level, const struct hazard_block *b,
                  struct hazard_order *const what[LEVELS]);

/* ---- threads (threads.c) ---- */

/* What single lanes know beyond their warp and block. */
struct lane_knowledge {
    struct hazard_order *after;            /* what it comes after */
    struct hazard_order *fenced[LEVELS];   /* what its last fence of that scope has released, */
    struct hazard_order *awaiting[LEVELS]; /* and what its next one will acquire */
};

struct async_state {
    uint32_t done[JIT_WARP];  /* copies stamped with less are over, for the lane that made them, */
    uint32_t warp[JIT_WARP];  /* for the warp, */
    uint32_t block[JIT_WARP]; /* for the block */
    uint32_t commits[JIT_WARP], commit[JIT_WARP][GROUPS];
};

struct warp_state {
    uint32_t clock;  /* all lanes' accesses stamped with less come before the warp's next ones */
    bool waits;      /* at the barrier of all warps */
    uint32_t awaits; /* lanes that wait for what the block has launched */
    bool knows;      /* a lane has knowledge of its own */
    struct lane_knowledge lanes[JIT_WARP];
    struct async_state *async; /* NULL: it has made no copies */
};

/* Of a line: words of which so many reads are known that one more tells nothing, as bits, and above
 * them the epoch (of the block or of the run) in which that holds. Read without the lock; beside
 * each other, so that many lines are looked at in little memory. */
typedef _Atomic uint64_t quiet_words;

struct line;
struct page;
enum { RECENT = 256, MEMOS = 16 /* powers of two */ };

/* A read of shared memory that told nothing, and would tell nothing again. */
struct memo {
    const void *pc;
    uint64_t low, high, step;
    uint32_t count, epoch, writes;
};

/* Where a page is among the recent ones: arrays that are multiples of RECENT pages from each other
 * are mostly accessed together. */
static inline uint32_t recent_of(uint64_t page)
{
    return (uint32_t)(page ^ page >> 8 ^ page >> 16) % RECENT;
}

/* A grid of a run. What of it others come after is under the run's lock. */
struct hazard_grid {
    struct hazard_run *run;
    struct hazard_grid *parent; /* NULL: the host has launched it */
    uint32_t first, blocks;     /* numbers of its blocks in the run */
    struct hazard_order *after; /* what all of them come after */
    struct hazard_order *ended; /* what it has launched and is over */
};

/* What is known of a grid as long as the run lasts. */
struct grid_record {
    uint32_t first;  /* number of its first block */
    uint32_t parent; /* the record of the grid that has launched it; NO_PARENT */
    struct hazard_launch launch;
};
enum { NO_PARENT = UINT32_MAX };

struct hazard_block {
    struct hazard_run *run;
    struct hazard_grid *grid;
    uint64_t serial; /* the run's */
    uint32_t number, cluster, nwarps, nthreads;
    uint32_t clock; /* of accesses now; from 1 */
    uint32_t all;   /* the block's accesses stamped with less come before all of its next ones */
    bool waits;     /* a warp waits at the barrier of all */
    bool awaits;    /* lanes wait for what the block has launched */
    bool knows;     /* a lane has knowledge of its own */
    bool async;     /* there are asynchronous copies */
    bool shares;    /* other blocks have accessed its shared memory */
    uint32_t epoch; /* of its shared memory: other after everything that may order its threads */
    struct hazard_order *after;          /* what the whole block comes after, beyond itself */
    struct hazard_order *fenced[LEVELS]; /* by fences before the last barrier of all */
    /* What threads have read before the last barrier of all, and a fence of any thread will
     * acquire; and whether one has since. */
    struct hazard_order *awaiting[LEVELS];
    bool acquired[LEVELS];
    struct warp_state *warps;
    uint32_t grid_phase; /* of the grid's barrier, when one of its threads arrived there */
    struct hazard_order *arrived[BARRIERS]; /* by those that have gone on */
    struct sync_table syncs;                /* in its shared memory */
    uint64_t shared;                        /* where its shared memory is, */
    struct line *lines;                     /* and its lines, */
    quiet_words *quiet;                     /* and of each what is quiet */
    uint32_t line_count, line_capacity, generation;
    uint32_t writes; /* of its shared memory so far */
    struct memo memos[MEMOS];
    struct page *recent[RECENT];
};

/* What the lanes' accesses so far, and all that they come after, are as a vector. */
struct hazard_order *threads_release(struct hazard_block *b, uint32_t warp, uint32_t mask);
void threads_acquire(struct hazard_block *b, uint32_t warp, uint32_t mask,
                     const struct hazard_order *what);
/* A strong write by a lane. */
void threads_write(struct hazard_block *b, struct hazard_block *of, uint32_t warp, uint32_t lane,
                   uint64_t address, uint32_t how);
/* A warp is heard of: if it has waited at the barrier of all warps, all have come. */
void threads_pass(struct hazard_block *b, uint32_t warp);
static inline void threads_heard(struct hazard_block *b, uint32_t warp)
{
    if (WEIR_UNLIKELY(b->waits) && b->warps[warp].waits)
        threads_pass(b, warp);
}
/* Whether an access stamped so comes before what the lane does now, in cases that are not plain. */
bool threads_before(const struct hazard_block *b, uint32_t warp, uint32_t lane, uint32_t block,
                    uint32_t old_warp, uint32_t old_lane, uint32_t clock);

/* ---- shadow.c, cells.c ---- */

/* Who accessed, when, how. */
struct stamp {
    uint32_t block, clock;
    uint16_t warp;
    uint8_t lane, how; /* STAMP_ bits; 0: none */
    uint32_t site;     /* the lower half of the instruction's address */
};
/* The same in two registers: what was just written field by field is slow to read as a whole. */
struct packed_stamp {
    uint64_t first, second;
};
static inline struct packed_stamp stamp_pack(uint32_t block, uint32_t clock, uint32_t warp,
                                             uint32_t how, uint32_t site)
{
    return (struct packed_stamp){block | (uint64_t)clock << 32,
                                 warp | how << 24 | (uint64_t)site << 32};
}
static inline struct packed_stamp packed_add(struct packed_stamp s, uint32_t lane, uint32_t how)
{
    s.second |= lane << 16 | (uint64_t)how << 24;
    return s;
}
static inline struct stamp stamp_unpack(struct packed_stamp s)
{
    struct stamp out;
    memcpy(&out, &s, sizeof out);
    return out;
}
enum {
    STAMP_USED = 1,
    STAMP_WRITE = 2,
    STAMP_STRONG = 4,
    STAMP_VALUE = 8,    /* plain writes: the value is known; */
    STAMP_EXCHANGE = 8, /* strong ones: it has seen the writes before it */
    STAMP_MANY = 16,    /* several lanes of the warp: the same bytes */
    STAMP_MATRIX = 32   /* all lanes together */
};
enum { STAMP_SCOPE_SHIFT = 6 };

/* A warp's access of bytes [low, high) of a line: byte x by lane (x - origin) >> shift, if that is
 * in `mask`, or, where shift is SHIFT_ONE, by the stamp's lane. */
enum { SHIFT_ONE = 31 };
struct pattern {
    struct stamp s;
    uint32_t mask, value;
    int16_t origin;
    uint8_t low, high, shift, none[3];
};

struct line {
    uint32_t generation; /* of the block whose shared memory it is, or of the run */
    _Atomic uint8_t lock;
    uint8_t count, capacity;
    bool others;     /* in shared memory: an asynchronous copy or another block has accessed it; */
    uint32_t latest; /* the clock of its last access */
    struct cells *cells;      /* NULL: patterns */
    struct pattern *patterns; /* few, or on the heap */
    struct pattern few[2];
};

/* One access while it is looked at. */
struct looking {
    struct hazard_block *b, *of; /* as in hazard_access */
    uint64_t base;               /* what addresses are counted from */
    uint32_t warp;               /* of the stamp */
    const void *pc;
    uint64_t line; /* address or offset */
    quiet_words *quiet;
    const uint64_t *values;
    bool exchanged; /* is told again, as done */
    uint32_t epoch; /* of the memory; 0: nothing is quiet there */
};

static inline bool pattern_active(const struct pattern *p, uint32_t lane)
{
    return (p->mask >> lane & 1) != 0;
}
static inline uint32_t pattern_lane(const struct pattern *p, uint32_t byte)
{
    return p->shift == SHIFT_ONE ? p->s.lane : (uint32_t)((int)byte - p->origin) >> p->shift;
}

/* One lane's: where such come, cells will be needed soon. */
static inline bool pattern_is_single(const struct pattern *p)
{
    return p->shift == SHIFT_ONE && (p->s.how & STAMP_MANY) == 0;
}

enum { WORD_SHIFT = 2 };
/* Whether each word is accessed by one lane as a whole, or not at all. */
static inline bool pattern_in_words(const struct pattern *p)
{
    return ((p->low | p->high) & ((1 << WORD_SHIFT) - 1)) == 0 &&
           (p->shift == SHIFT_ONE || (p->shift >= WORD_SHIFT && (p->origin & 3) == 0));
}

/* Whether all bytes between its ends are accessed. */
static inline bool pattern_is_full(const struct pattern *p)
{
    return p->shift == SHIFT_ONE ||
           (uint32_t)__builtin_popcount(p->mask) << p->shift == (uint32_t)(p->high - p->low);
}

/* Whether an access can race with nothing any more: in shared memory that only its own block
 * accesses, and before the last barrier of all. */
static inline bool stamp_is_over(const struct stamp *s, const struct looking *l)
{
    return l->of == l->b && !l->b->shares && s->clock < l->b->all && s->block == l->b->number &&
           s->warp < ASYNC_WARPS;
}

/* Whether what is stamped so comes before what the lane does now, where that is plain. */
static inline bool stamp_plainly_before(const struct stamp *s, const struct looking *l,
                                        uint32_t lane)
{
    return s->block == l->b->number && s->warp < ASYNC_WARPS &&
           (s->clock < l->b->all || (s->lane == lane && s->warp == l->warp % ASYNC_WARPS));
}

/* Words that have a byte of [low, high) of a line; those that are within. */
static inline uint32_t words_at(uint32_t low, uint32_t high)
{
    return 0xffffffffu << (low >> WORD_SHIFT) & 0xffffffffu >> (31 - ((high - 1) >> WORD_SHIFT));
}
static inline uint32_t words_within(uint32_t low, uint32_t high)
{
    low = (low + 3) & ~3u;
    high &= ~3u;
    return low < high ? words_at(low, high) : 0;
}

/* Whether accesses of these kinds race if nothing orders them. */
static inline bool stamps_conflict(const struct stamp *old, const struct stamp *now,
                                   const struct hazard_block *b)
{
    uint32_t both = old->how & now->how, either = old->how | now->how;
    if ((either & STAMP_WRITE) == 0)
        return false;
    if ((both & STAMP_STRONG) == 0)
        return true;
    uint32_t scope = old->how >> STAMP_SCOPE_SHIFT, other = now->how >> STAMP_SCOPE_SHIFT;
    scope = scope < other ? scope : other;
    return old->block != b->number && scope == JIT_SCOPE_BLOCK;
}
/* Atomic accesses of the same bytes have one order. So a thread that accesses them plainly after an
 * atomic function of its own comes after all atomic writes before that one, without a fence.
 * Whether `through`, which came after `old` or is it, is such a function. */
static inline bool stamp_seen_through(const struct stamp *old, const struct stamp *through)
{
    uint32_t atomic = STAMP_WRITE | STAMP_STRONG, exchange = atomic | STAMP_EXCHANGE;
    uint32_t scope = old->how >> STAMP_SCOPE_SHIFT, other = through->how >> STAMP_SCOPE_SHIFT;
    return (old->how & atomic) == atomic && (through->how & exchange) == exchange &&
           (old->block == through->block || (scope != JIT_SCOPE_BLOCK && other != JIT_SCOPE_BLOCK));
}
void run_found(const struct looking *l, const struct stamp *old, uint32_t old_lane,
               const struct stamp *now, uint32_t lane, uint32_t low, uint32_t high);

/* Lines whose bytes are accessed in no pattern. */
struct cells *cells_new(bool bytes);
void cells_free(struct cells *c);
/* False: it must be by byte first. */
bool cells_fit(const struct cells *c, const struct pattern *p);
struct cells *cells_split(struct cells *c);
/* Forgets bytes [low, high): multiples of a word. */
void cells_forget(struct cells *c, uint32_t low, uint32_t high);
/* Gives the words of which enough reads are known now. */
uint32_t cells_access(struct cells *c, const struct looking *l, const struct pattern *p, bool look);

/* The same for a plain access by one lane, where all that is kept of these bytes is its own or
 * comes before the last barrier of all. False: it is looked at as others are. `values`: NULL: not
 * known.
 */
bool cells_access_own(struct cells *c, const struct looking *l, struct packed_stamp s,
                      uint32_t lane, uint32_t low, uint32_t bytes);

/* Calls each(self, line, pattern) for each access that is kept, of neighbouring granules at once.
 */
void cells_each(const struct cells *c, uint64_t line,
                void (*each)(void *self, uint64_t line, const struct pattern *p), void *self);

/* More words of the line are quiet; fewer are. */
static inline void quiet_add(quiet_words *quiet, uint32_t epoch, uint32_t words)
{
    uint64_t q = atomic_load_explicit(quiet, memory_order_relaxed);
    if (q >> 32 != epoch)
        q = (uint64_t)epoch << 32;
    atomic_store_explicit(quiet, q | words, memory_order_relaxed);
}

static inline void quiet_end(quiet_words *quiet, uint32_t low, uint32_t high)
{
    uint64_t q = atomic_load_explicit(quiet, memory_order_relaxed);
    if ((uint32_t)q != 0)
        atomic_store_explicit(quiet, q & ~(uint64_t)words_at(low, high), memory_order_relaxed);
}

void line_clear(struct line *l);
/* Another block's, or another run's, accesses begin: the memory of patterns is kept. */
void line_renew(struct line *l, uint32_t generation);
/* The same instruction of the same lanes at the same time. */
bool pattern_same(const struct pattern *q, const struct pattern *p);
/* Whether all lanes of `mask` write the same number. */
static inline bool one_value(const uint64_t *values, uint32_t mask)
{
    uint64_t first = values[__builtin_ctz(mask)], differ = 0;
    if ((mask & (mask - 1)) == 0)
        return true;
    if (values[31 - __builtin_clz(mask)] != first)
        return false;
    if (mask == 0xffffffffu) {
        for (uint32_t lane = 0; lane < JIT_WARP; lane++)
            differ |= values[lane] ^ first;
        return differ == 0;
    }
    for (uint32_t lane = 0; lane < JIT_WARP; lane++)
        differ |= (mask >> lane & 1) != 0 ? values[lane] ^ first : 0;
    return differ == 0;
}

void line_access(struct line *line, const struct looking *l, const struct pattern *p);
/* Forgets bytes [low, high) of the line. */
void line_forget(struct line *line, struct hazard_block *b, quiet_words *quiet, uint32_t low,
                 uint32_t high);

/* Lines of global memory. They outlive the run, so that the next one finds them. */
struct pages {
    struct pages *next;  /* of those that no run has */
    struct page **items; /* by hash */
    uint32_t count, capacity;
    struct {
        struct page **items;
        size_t count, cap;
    } used; /* by this run */
};

enum { PAGE_SHIFT = 12, PAGE_LINES = (1 << PAGE_SHIFT) / LINE };
struct page {
    uint64_t number;
    uint32_t generation; /* of the last run that accessed it */
    quiet_words quiet[PAGE_LINES];
    struct line lines[PAGE_LINES];
};

struct pages *pages_take(void);
void pages_give_back(struct pages *t, uint32_t generation);
/* NULL: nothing was accessed there. */
struct page *page_find(struct hazard_run *run, uint64_t number);
/* Finds or makes it, and puts it among the block's recent ones. */
struct page *page_search(struct hazard_block *b, uint64_t number);

static inline struct line *global_line(struct hazard_block *b, uint64_t number, quiet_words **quiet)
{
    uint64_t page = number / PAGE_LINES;
    struct page *p = b->recent[recent_of(page)];
    if (WEIR_UNLIKELY(p == NULL || p->number != page))
        p = page_search(b, page);
    *quiet = &p->quiet[number % PAGE_LINES];
    return &p->lines[number % PAGE_LINES];
}

static inline void line_lock(struct line *l)
{
    while (atomic_exchange_explicit(&l->lock, 1, memory_order_acquire) != 0)
        while (atomic_load_explicit(&l->lock, memory_order_relaxed) != 0)
            ;
}

static inline void line_unlock(struct line *l)
{
    atomic_store_explicit(&l->lock, 0, memory_order_release);
}

/* ---- quick.c ---- */

/* What most accesses are: all lanes in one line, one after the other or reading the same, where
 * nothing that counts was before, or only what is like it. False: it is looked at as others are. */
static inline bool quick_fits(uint32_t mask, bool next, uint32_t how)
{
    uint32_t bytes = how & JIT_ACCESS_BYTES;
    if ((how & (JIT_ACCESS_STRONG | JIT_ACCESS_ASYNC | JIT_ACCESS_MATRIX)) != 0)
        return false;
    return next ? mask == 0xffffffffu && bytes <= LINE / JIT_WARP
                : (how & JIT_ACCESS_WRITE) == 0 && mask != 0;
}
/* Of bytes [low, high). `s`: its stamp without the lane. */
bool quick_access(struct looking *l, struct packed_stamp s, uint32_t mask, bool next, uint64_t low,
                  uint64_t high);

/* In shared memory that only the block accesses: lanes that plainly access bytes that nobody else
 * does now, as counters of their own. Returns the other lanes. */
uint32_t quick_own(struct looking *l, uint32_t mask, const uint64_t *address, uint32_t bytes,
                   struct packed_stamp s);

/* An epoch that no run has had. */
uint32_t run_next_epoch(void);

/* As struct hazard_found, with blocks by their numbers in the run. */
struct pair_found {
    struct stamp sides[2];
    uint32_t lanes[2];
    uint64_t low, high;
    bool shared;
    uint32_t shared_block;
    enum hazard_advice advice;
};

/* A grid and all that its kernels launch. */
struct hazard_run {
    uint64_t serial; /* that no other run has */
    uint64_t pc;     /* of some instruction: sites are near it */
    pthread_mutex_t lock;
    struct sync_table syncs;                     /* of its global memory */
    struct hazard_order *grid_now, *grid_passed; /* its own barrier: this phase, those before */
    uint64_t grid_arrived;
    _Atomic uint32_t grid_phase; /* from 1 */
    struct pages *pages;         /* its own while it lasts */
    _Atomic uint32_t epoch;      /* of global memory: other after what may order blocks */
    _Atomic uint64_t seen[1024]; /* pairs of instructions that were found; 0: free */
    struct {
        struct pair_found *items;
        size_t count, cap;
    } found;
    struct {
        struct grid_record *items;
        size_t count, cap;
    } grids;         /* in the order of their numbers */
    uint64_t blocks; /* of all of them */
};

/* What a stamp is to others. */
struct hazard_side run_side(const struct hazard_run *run, const struct stamp *s, uint32_t lane);

#endif
