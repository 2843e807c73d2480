/* touch_sets: what touch.c and touch_end.c share: the sets of bits of a grid's threads. */
#ifndef WEIR_EXEC_TOUCH_SETS_H
#define WEIR_EXEC_TOUCH_SETS_H

#include <pthread.h>

#include "exec/internal.h"
#include "exec/touch.h"

enum {
    PAGE_SHIFT = 12,
    PAGE_WORDS = 1 << (PAGE_SHIFT - 6),
    SITES = 1024,        /* instructions that are distinguished; power of two */
    RECENT = 256,        /* pages found without a search; power of two */
    IDLE_SETS = 16,      /* kept for later grids, */
    IDLE_PAGES = 4096,   /* with so many pages each, at most, */
    IDLE_REGIONS = 4096, /* and words for so many regions */
    TIERS = 2,
    RANGES_MAX = 64 /* of memory that has words */
};

#define REGION ((uint64_t)1 << JIT_TOUCH_REGION_SHIFT)
enum { REGION_WORDS = 1 << (JIT_TOUCH_REGION_SHIFT - JIT_TOUCH_WORD_SHIFT - 6) };

/* What regions are, beside JIT_TOUCH_MARKED: in the list. */
enum { LISTED = 2 };

/* Addresses that have words: of all devices and of the host, as far as one range of addresses can
 * hold them.
 */
struct touch_reach {
    uint64_t base, regions; /* the range that all are in; 0 regions: none have */
    uint64_t low[RANGES_MAX], high[RANGES_MAX];
    uint32_t count;
};
extern struct touch_reach touch_reach;

struct touch_page {
    uint64_t number;         /* address >> PAGE_SHIFT */
    struct touch_page *next; /* while it is free */
    uint64_t bits[TOUCH_KINDS][PAGE_WORDS];
};

struct touch_set {
    struct jit_touched told[TIERS];
    struct jit_touched_slot slots[JIT_TOUCH_SLOTS];
    uint16_t slot_sites[JIT_TOUCH_SLOTS]; /* of slots in use; SITES: it is unknown */
    uint8_t *regions;                     /* NULL: there is no memory for it */
    struct {
        uint32_t *items;
        size_t count, cap;
    } listed;               /* regions that have words, by number */
    struct touch_set *next; /* of the same run, or idle */
    uint32_t part;          /* of the run: what it has touched since so many launches */
    const struct grid_worker *owner;
    struct touch_page **pages; /* by hash, NULL: free */
    uint32_t count, capacity;  /* a power of two */
    struct touch_page *free;
    uint32_t free_count;
    struct touch_page *recent[RECENT];
    uint16_t used[SITES]; /* of the sites */
    uint32_t used_count;
    struct touch_site sites[SITES]; /* by hash of pc; pc NULL: free */
};

/* Bytes that a grid has given back to the heap. */
struct touch_freed {
    pthread_mutex_t lock;
    struct touch_set set; /* bits of TOUCH_WRITE alone */
};

struct touch_page *touch_page_of(struct touch_set *s, uint64_t number);
void touch_region_list(struct touch_set *s, uint64_t region);
void touch_set_give_back(struct touch_set *s);
/* What is in the slots is the sites'. */
void touch_slots_end(struct touch_set *s);
/* Moves the words of one set to another. */
void touch_words_move(struct touch_set *to, struct touch_set *from);

static inline uint64_t *region_words(const struct touch_set *s, uint32_t region, uint32_t kind)
{
    return (uint64_t *)(void *)s->told[0].bits[kind] + (uint64_t)region * REGION_WORDS;
}

#endif
