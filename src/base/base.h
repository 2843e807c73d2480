/* base: the few things every layer needs and no library gives in C: an arena, string slices,
 * a diagnostic that is returned instead of printed, and a 128-bit content hash.
 *
 * Nothing here knows about CUDA. Nothing here prints. */
#ifndef WEIR_BASE_BASE_H
#define WEIR_BASE_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEIR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
/* Whether a sanitizer that follows threads and memory is built in: 1 or 0. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEIR_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WEIR_SANITIZED 1
#endif
#endif
#ifndef WEIR_SANITIZED
#define WEIR_SANITIZED 0
#endif

#define WEIR_LIKELY(x)   __builtin_expect(!!(x), 1)
#define WEIR_UNLIKELY(x) __builtin_expect(!!(x), 0)
/* Of a variable that is declared here, is of another file of the same library, and is looked at all
 * the time: its address is known, and not looked up first. */
#define WEIR_OWN          __attribute__((visibility("hidden")))
#define WEIR_COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { WEIR_PAGE = 4096 }; /* bytes of a page of memory */

/* ---- diagnostics ---- */

/* What went wrong, for people. Functions that can fail take one (NULL is allowed), fill it and
 * return false or NULL. The first message wins: later ones are consequences. */
struct diag {
    char text[1024];    /* one or more lines, no trailing newline; empty while nothing is wrong */
    int line, column;   /* position in the input (1-based), 0 when there is none */
    bool out_of_memory; /* that is what is wrong */
};

/* Formats the message if none is there yet. Always returns false, so `return diag_set(...)`. */
bool diag_set(struct diag *d, int line, int column, const char *fmt, ...) WEIR_PRINTF(4, 5);
/* The same where memory, threads or descriptors have run out; `what` could not be done. */
bool diag_set_memory(struct diag *d, const char *what);

/* ---- arena ---- */

/* Memory that lives and dies together. Not safe for two threads at once. */
struct arena {
    struct arena_chunk *chunks; /* newest first */
};

/* Zeroed memory, 16-byte aligned; never NULL (as xmalloc). */
void *arena_alloc(struct arena *a, size_t bytes);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) WEIR_PRINTF(2, 3);
void arena_free(struct arena *a); /* frees everything; the arena is empty and usable again */

/* Grows `*items` (of `size` bytes each, `*cap` allocated, `count` used) so that one more fits. */
void *arena_grow(struct arena *a, void *items, size_t count, size_t *cap, size_t size);

/* ---- growing arrays on the heap ---- */

/* Appends to a heap vector {T *items; size_t count, cap;}. */
#define vec_push(v, ...)                                                                           \
    do {                                                                                           \
        if ((v)->count == (v)->cap)                                                                \
            (v)->items = vec_grow((v)->items, &(v)->cap, sizeof *(v)->items);                      \
        (v)->items[(v)->count++] = (__VA_ARGS__);                                                  \
    } while (0)
void *vec_grow(void *items, size_t *cap, size_t size);

/* The malloc family, never NULL: where the host has no memory left they draw on the reserve, or
 * leave what the thread is at (reserve.h). For little memory; what a program may ask for in any
 * size is asked for by functions that can fail. */
void *xmalloc(size_t bytes);
void *xaligned_alloc(size_t align, size_t bytes); /* align: at most 128 */
void *xcalloc(size_t n, size_t bytes);
void *xrealloc(void *p, size_t bytes);
char *xstrdup(const char *s);
char *xprintf(const char *fmt, ...) WEIR_PRINTF(1, 2);

/* Says, in builds that search for leaks, that mapped memory holds pointers: what only it points to
 * is in use, which the search would not see by itself. */
void holds_pointers(const void *p, size_t bytes);
void holds_no_pointers(const void *p, size_t bytes); /* any more */

/* ---- hash ---- */

/* 128-bit hash of content, for cache keys (not for security). Feed with hash_add, in order. */
struct hash128 {
    uint64_t lo, hi;
};
void hash_init(struct hash128 *h);
void hash_add(struct hash128 *h, const void *data, size_t bytes);
void hash_hex(const struct hash128 *h, char out[33]);

/* ---- text buffer ---- */

/* A growing NUL-terminated string. Start with {0}; release with sb_free. */
struct strbuf {
    char *items;
    size_t count, cap; /* count excludes the NUL */
};
void sb_printf(struct strbuf *sb, const char *fmt, ...) WEIR_PRINTF(2, 3);
void sb_append(struct strbuf *sb, const char *s, size_t n);
void sb_free(struct strbuf *sb);

/* Whole file into a heap buffer with a NUL after it; NULL (and the message) when it cannot,
 * or has more than a gigabyte. */
char *file_read(const char *path, size_t *size, struct diag *d);
/* The same for a file that a setting names: it must be a regular one, so that it can neither be
 * waited for nor be without end. */
char *file_read_setting(const char *path, struct diag *d);

#endif
