/* space: one reserved address range and the allocator in it. Internal to the memory layer.
 *
 * The range is cut into chunks of 2 MiB. A chunk is free, or part of a large allocation (which
 * starts at a chunk and owns whole ones), or a slab of objects of one size class. What follows an
 * allocation up to its end of chunk or slot has no access rights, as long as the system's limit on
 * the number of mappings allows. Freed large ranges wait in a cache, freed objects in their slab.
 */
#ifndef WEIR_MEMORY_SPACE_H
#define WEIR_MEMORY_SPACE_H

#include <pthread.h>

#include "base/base.h"
#include "memory/file.h"
#include "memory/memory.h"
#include "observe/observe.h"

#define SPACE_CHUNK ((uint64_t)2 << 20)

enum {
    SPACE_CLASSES = 40,              /* upper bound of size classes */
    SPACE_LISTS = 2 * SPACE_CLASSES, /* of slabs: of cudaMalloc's memory, of all else */
    SPACE_BINS = 64,             /* cached ranges by chunks; the last bin holds all larger ones */
    SPACE_FRONT = WEIR_PAGE,     /* bytes before the range that are kept without access */
    SPACE_FREED = 256,           /* freed allocations remembered */
    SPACE_GUARDS_MAX = 24 * 1024 /* of the 65530 mappings that a process usually may have */
};

/* One allocation, live or cached. */
struct record {
    struct mem_info info;  /* kind MEM_PAGEABLE: not live */
    uint64_t span;         /* accessible bytes from base on, whole pages (large only) */
    uint64_t chunks;       /* owned (large); next free object (in a slab) */
    bool open;             /* large: accessible to the end of its chunks, for want of mappings */
    struct mem_file *file; /* large: its pages, once they are shared; NULL: private memory */
    struct record *range;  /* a mapping's: the reservation that holds it (virtual.c) */
    uint32_t devices;      /* and whose kernels may touch it; 0: everyone's */
    struct record *next, *prev;   /* in its bin while cached; next also links free records */
    struct record *older, *newer; /* in the cache's order of arrival */
};

struct slab {
    uint64_t base;   /* of the chunk */
    uint32_t stride; /* bytes from object to object, guard included */
    uint32_t objects, live;
    uint32_t fresh; /* objects from this index on were never used */
    uint32_t size_class;
    uint32_t list;            /* of space.partial */
    bool guarded;             /* objects are made accessible one by one */
    uint32_t free_head;       /* first freed object, UINT32_MAX when none */
    struct slab *next, *prev; /* slabs of the class with free objects */
    struct mem_file *file;    /* the chunk's pages, once one of its objects is shared */
    struct record *records;   /* one for each object; chunks holds the next free index */
};

enum chunk_state {
    CHUNK_FREE,
    CHUNK_LARGE,        /* an allocation or a mapping starts here */
    CHUNK_BODY,         /* and goes on here */
    CHUNK_SLAB,         /* objects of one size class */
    CHUNK_SUBALLOCATED, /* an allocator above hands out what is in it */
    CHUNK_RESERVED,     /* addresses of a reservation, without memory */
};
struct chunk {
    enum chunk_state state;
    union {
        struct record *record; /* the owner: live or cached; the reservation's, never live */
        struct slab *slab;
        enum mem_kind kind; /* of what is suballocated */
    };
};

/* A freed allocation. */
struct freed_record {
    struct mem_info info;
    struct mem_site freed;
};

struct space {
    int device;
    uint64_t base, size;   /* the range, chunk aligned */
    void *mapping;         /* what holds it; NULL: not open */
    uint64_t mapped;       /* bytes of that */
    uint64_t capacity;     /* bytes that may be in use */
    uint64_t used, cached; /* bytes live (rounded) / kept for reuse */
    uint64_t cache_max;
    uint32_t guards;      /* mappings spent on guards */
    pthread_mutex_t lock; /* guards everything here */
    struct chunk *chunks;
    uint64_t chunk_count, hint, high; /* where to search first; chunks ever used are below high */
    struct slab *partial[SPACE_LISTS];
    struct record *bins[SPACE_BINS];
    struct record *oldest, *newest; /* the cache */
    struct record *free_records;
    struct freed_record freed[SPACE_FREED];
    uint64_t freed_count; /* how many there ever were */
};

bool space_open(struct space *s, int device, uint64_t capacity, uint64_t size, struct diag *d);
void space_close(struct space *s); /* nothing of it was used */
enum mem_status space_alloc(struct space *s, const struct mem_request *request, uint64_t serial,
                            void **out);
enum mem_status space_free(struct space *s, uint64_t address, unsigned kinds);
void space_free_owned(struct space *s, const void *owner);
void space_trim(struct space *s, uint64_t keep);

static inline bool space_holds(const struct space *s, uint64_t address)
{
    return address - s->base < s->size;
}

/* The live record that holds the address, NULL when none. The lock is held. */
struct record *space_find(struct space *s, uint64_t address);

/* The live record with the highest base below or at the address, NULL when none. */
struct record *space_find_before(struct space *s, uint64_t address);

/* The live record with the lowest base above the address, NULL when there is none near. */
struct record *space_find_after(struct space *s, uint64_t address);

/* The newest freed allocation that held the address. */
const struct freed_record *space_find_freed(const struct space *s, uint64_t address);

/* Calls visit for every live record in address order until it returns false. The lock is held. */
void space_visit(struct space *s, bool (*visit)(void *self, struct record *r), void *self);

/* For the other files of the layer; the lock is held. */
/* The first free run of n chunks whose address is a multiple of `align` bytes. */
bool space_take_chunks(struct space *s, uint64_t n, uint64_t align, uint64_t *first);
void space_drop_chunks(struct space *s, uint64_t base, uint64_t n);
struct record *space_new_record(struct space *s);
void space_drop_record(struct space *s, struct record *r);
void space_remember(struct space *s, const struct record *r); /* remembers what was here */
/* Gives the pages of a range rights, or takes them. */
bool space_set_access(uint64_t base, uint64_t bytes, bool access);
/* Replaces shared pages by private memory without rights. */
bool space_clear_mapping(uint64_t base, uint64_t bytes);
/* Gives addresses back whose pages are cleared; those that could not be are not used again: what
 * was there would be the next owner's. */
void space_leave_chunks(struct space *s, uint64_t base, uint64_t n, bool cleared);

/* Ends a mapping: its addresses are the reservation's again, or free if it has none of its own.
 * (virtual.c) */
void mapping_drop(struct space *s, struct record *r);
/* A record with addresses for that many bytes and a page without access after them, NULL when
 * there are none left. The lock is held. (share.c) */
struct record *mapping_new(struct space *s, uint64_t bytes);
/* What was just made is `bytes` of memory like another, from byte `within` of its addresses on.
 * (share.c) */
void mapping_describe(struct record *r, const struct mem_info *like, uint64_t within,
                      uint64_t bytes);

/* ---- registered ranges (registered.c) ---- */

enum mem_status registered_add(enum mem_kind kind, uint64_t base, uint64_t bytes, uint32_t flags,
                               const void *owner, uint64_t serial);
enum mem_status registered_remove(enum mem_kind kind, uint64_t base);
void registered_remove_owned(const void *owner);
bool registered_find(uint64_t address, struct mem_info *info);
/* The registered range with the highest base at or above `from`; false at the end. */
bool registered_next(uint64_t from, struct mem_info *info);

/* ---- suballocated chunks (suballocated.c) ---- */

/* Whether the address is in a suballocated chunk, of which the suballocator knows more. The lock is
 * held. */
bool space_suballocated(const struct space *s, uint64_t address);
bool suballocated_find(uint64_t address, struct mem_info *info);
uint32_t suballocated_devices(uint64_t address); /* that may touch it */
/* Takes the lock itself. False: nothing is known of the address there. */
bool suballocated_place(struct space *s, uint64_t address, struct mem_place *out);

/* ---- the ranges (memory.c) ---- */

/* The next serial number. */
uint64_t memory_serial(void);
/* The range of a device, MEM_HOST or MEM_MAPPINGS; NULL before mem_open or out of range. */
struct space *space_of(int device);
/* The range that holds the address; NULL when it is none of ours. */
struct space *space_at(uint64_t address);

/* Tell observers of an allocation: when it is made, and before it is freed, since its address may
 * be another's right after. (observed.c) */
void memory_tell_made(const void *base);
void memory_tell_freed(const void *base, unsigned kinds);
void memory_tell_dropped(const struct record *r);

#endif
