/* reserve: the implementation of reserve.h, and what the functions of base.h that allocate do when
 * there is no memory. The reserve's blocks are ordinary ones of malloc, so that whoever got one
 * frees it like any other. */
#include "base/reserve.h"

#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/slow_path.h"
#include "base/thread_fast.h"

enum { RESERVE_ALIGN = 128 }; /* of its blocks: the most that anyone asks for */

struct spare {
    struct spare *next;
};

/* A call takes little: the names of a message, a command, a node, a list of the streams. */
static struct class
{
    size_t bytes;
    uint32_t wanted, count;
    struct spare *first;
} classes[] = {
    {256, 128, 0, NULL}, {1024, 128, 0, NULL},  {4096, 32, 0, NULL},
    {65536, 8, 0, NULL}, {1 << 20, 2, 0, NULL},
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool kept; /* this is a library, which must not end the process: reserve_fill was called */

bool reserve_fill(void)
{
    bool enough = true;
    pthread_mutex_lock(&lock);
    kept = true;
    slow_path_clear(SLOW_PATH_MEMORY);
    for (size_t i = 0; i < WEIR_COUNT(classes); i++) {
        struct class *c = &classes[i];
        struct spare *s = NULL;
        while (c->count < c->wanted && (s = aligned_alloc(RESERVE_ALIGN, c->bytes)) != NULL) {
            s->next = c->first;
            c->first = s;
            c->count++;
        }
        if (c->count < c->wanted) /* whoever comes next tries again */
            slow_path_set(SLOW_PATH_MEMORY);
        enough = enough && c->count >= c->wanted / 2;
    }
    pthread_mutex_unlock(&lock);
    return enough;
}

/* The smallest block that is large enough, or NULL. */
static void *reserve_take(size_t bytes)
{
    struct spare *s = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < WEIR_COUNT(classes) && s == NULL; i++) {
        struct class *c = &classes[i];
        if (c->bytes < bytes || c->first == NULL)
            continue;
        s = c->first;
        c->first = s->next;
        c->count--;
        slow_path_set(SLOW_PATH_MEMORY);
    }
    pthread_mutex_unlock(&lock);
    return s;
}

/* Sanitizers take long for large blocks: they note each byte, and keep the block for a while. */
static bool gives(size_t bytes)
{
    void *p;
    if (WEIR_SANITIZED) {
        p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return p != MAP_FAILED && munmap(p, bytes) == 0;
    }
    p = malloc(bytes);
    free(p);
    return p != NULL;
}

bool memory_likely(size_t bytes)
{
    enum { LITTLE = 65536 };
    return bytes <= LITTLE || gives(bytes);
}

/* ---- guards ---- */

static WEIR_THREAD_FAST struct memory_guard {
    jmp_buf back;
    struct arena_chunk *chunks; /* of arenas, made within it and not freed yet */
    struct memory_guard *outer;
} *guard;

bool memory_is_guarded(void) { return guard != NULL; }

void memory_escape(void)
{
    if (guard != NULL)
        longjmp(guard->back, 1);
}

bool memory_guarded(void (*call)(void *arg), void *arg)
{
    struct memory_guard mine = {.outer = guard};
    bool fine = setjmp(mine.back) == 0;
    if (fine) {
        guard = &mine;
        call(arg);
    }
    guard = mine.outer;
    for (struct arena_chunk *c = mine.chunks, *next; c != NULL; c = next) {
        next = c->guarded_next;
        if (fine) {
            c->guarded_link = NULL; /* it stays */
            c->guarded_next = NULL;
        } else {
            free(c);
        }
    }
    return fine;
}

void chunk_guard(struct arena_chunk *c)
{
    if (guard == NULL)
        return;
    c->guarded_next = guard->chunks;
    c->guarded_link = &guard->chunks;
    if (c->guarded_next != NULL)
        c->guarded_next->guarded_link = &c->guarded_next;
    guard->chunks = c;
}

void chunk_unguard(struct arena_chunk *c)
{
    if (c->guarded_link == NULL)
        return;
    *c->guarded_link = c->guarded_next;
    if (c->guarded_next != NULL)
        c->guarded_next->guarded_link = c->guarded_link;
}

/* ---- what does not fail ---- */

/* There is none to be had, not even of the reserve, which the driver sees to it does not happen.
 * Other threads may free some: it is waited for. */
static void *wait_for_memory(size_t bytes)
{
    static const struct timespec pause = {.tv_nsec = 10000000};
    fprintf(stderr, "weir: the host is out of memory: %zu bytes are not to be had\n", bytes);
    if (!kept)
        exit(1);
    for (int i = 0; i < 1000; i++) {
        void *p = aligned_alloc(RESERVE_ALIGN,
                                (bytes + RESERVE_ALIGN - 1) / RESERVE_ALIGN * RESERVE_ALIGN);
        if (p != NULL)
            return p;
        nanosleep(&pause, NULL);
    }
    fputs("weir: the host stays out of memory: the process ends\n", stderr);
    _exit(1);
}

static void *instead(size_t bytes)
{
    memory_escape();
    void *p = reserve_take(bytes);
    return p != NULL ? p : wait_for_memory(bytes);
}

void *xmalloc(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    return WEIR_LIKELY(p != NULL) ? p : instead(bytes);
}

void *xcalloc(size_t n, size_t bytes)
{
    void *p = calloc(n ? n : 1, bytes ? bytes : 1);
    if (WEIR_LIKELY(p != NULL))
        return p;
    size_t all = __builtin_mul_overflow(n, bytes, &all) ? SIZE_MAX / 2 : all;
    return memset(instead(all), 0, all);
}

void *xrealloc(void *p, size_t bytes)
{
    void *q = realloc(p, bytes ? bytes : 1);
    if (WEIR_LIKELY(q != NULL))
        return q;
    size_t had = p != NULL ? malloc_usable_size(p) : 0;
    q = instead(bytes);
    if (had > 0)
        memcpy(q, p, had < bytes ? had : bytes);
    free(p);
    return q;
}

void *xaligned_alloc(size_t align, size_t bytes)
{
    bytes = (bytes + align - 1) / align * align;
    void *p = aligned_alloc(align, bytes);
    return WEIR_LIKELY(p != NULL) ? p : instead(bytes);
}

char *xstrdup(const char *s)
{
    size_t bytes = strlen(s) + 1;
    return memcpy(xmalloc(bytes), s, bytes);
}

char *vxprintf(const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *out = xmalloc(n > 0 ? (size_t)n + 1 : 1);
    out[0] = '\0';
    if (n > 0)
        vsnprintf(out, (size_t)n + 1, fmt, again);
    va_end(again);
    return out;
}
