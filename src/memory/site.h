/* site: which call of the API memory was made or freed by. The layers above say which call a thread
 * is in; allocating and freeing record it with the allocation. A call is a return address and no
 * more: names and lines are looked up when a fault is told. */
#ifndef WEIR_MEMORY_SITE_H
#define WEIR_MEMORY_SITE_H

#include <stdint.h>

#include "base/base.h"

struct mem_site {
    const void *at;  /* the call returns to it; NULL: unknown */
    uint32_t call;   /* which function of the API, as the layers above count them; 0: unknown */
    uint64_t stream; /* id of the stream given to it; 0: none */
};

/* The call that the calling thread is in; all zero when it is in none. */
struct mem_site mem_site_now(void);
void mem_site_set(const struct mem_site *site);

/* Appends a call in words ("cudaMalloc at main.cu:31"). Called without locks, not in signal
 * handlers. */
typedef void (*mem_site_words_fn)(const struct mem_site *site, struct strbuf *out);
/* Once, before memory is opened; without one calls stay unnamed. */
void mem_site_set_words(mem_site_words_fn words);
bool mem_site_words(const struct mem_site *site, struct strbuf *out); /* false: nothing known */

#endif
