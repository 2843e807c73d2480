/* alloc: what base.c and reserve.c share: arenas' chunks, which a guard frees, and formatted text.
 */
#ifndef WEIR_BASE_ALLOC_H
#define WEIR_BASE_ALLOC_H

#include "base/base.h"

struct arena_chunk {
    struct arena_chunk *next;
    struct arena_chunk *guarded_next, **guarded_link; /* in its guard's list; NULL: in none */
    size_t used, size;                                /* bytes of data[] */
    _Alignas(16) char data[];
};

/* Enters a new chunk into the list of the thread's guard, if there is one; takes it off. */
void chunk_guard(struct arena_chunk *c);
void chunk_unguard(struct arena_chunk *c);

char *vxprintf(const char *fmt, va_list ap);

#endif
