/* reserve: what the base layer asks for memory, for the copy of it that the runtime has: from the
 * system, without a reserve, and without the thread-local words of base/reserve.c, for which a
 * process that opens the runtime many times has no space. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base.h"

/* Little is asked for, in places where nothing could be undone any more. */
static void *some(void *p, size_t bytes)
{
    if (WEIR_LIKELY(p != NULL))
        return p;
    fprintf(stderr, "weir: the host is out of memory: %zu bytes are not to be had\n", bytes);
    exit(1);
}

void *xmalloc(size_t bytes) { return some(malloc(bytes > 0 ? bytes : 1), bytes); }

void *xcalloc(size_t n, size_t bytes) { return some(calloc(n > 0 ? n : 1, bytes), n * bytes); }

void *xrealloc(void *p, size_t bytes) { return some(realloc(p, bytes > 0 ? bytes : 1), bytes); }

void *xaligned_alloc(size_t align, size_t bytes)
{
    return some(aligned_alloc(align, (bytes + align - 1) / align * align), bytes);
}

char *vxprintf(const char *fmt, va_list ap)
{
    char *out = NULL;
    int n = vasprintf(&out, fmt, ap);
    return some(n >= 0 ? out : NULL, 0);
}

/* Nothing is left half done here. */
void chunk_guard(struct arena_chunk *c) {}
void chunk_unguard(struct arena_chunk *c) {}
