/* base: the implementation of base.h: see there for what each function promises. */
#include "base/base.h"
#include "base/alloc.h"
#include "base/slow_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct slow_path_word slow_path_word = {SLOW_PATH_NOT_READY};

bool diag_set(struct diag *d, int line, int column, const char *fmt, ...)
{
    if (d == NULL || d->text[0] != '\0')
        return false;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(d->text, sizeof d->text, fmt, ap);
    va_end(ap);
    d->line = line;
    d->column = column;
    return false;
}

char *xprintf(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *out = vxprintf(fmt, ap);
    va_end(ap);
    return out;
}

void *vec_grow(void *items, size_t *cap, size_t size)
{
    *cap = *cap ? *cap * 2 : 8;
    return xrealloc(items, *cap * size);
}

bool diag_set_memory(struct diag *d, const char *what)
{
    if (d != NULL && d->text[0] == '\0') {
        d->out_of_memory = true;
        diag_set(d, 0, 0, "%s: the host is out of memory", what);
    }
    return false;
}

/* ---- arena ---- */

/* Chunks of an arena: each twice as large as the last, so that what little there is in many arenas
 * (a module has one) takes little. */
enum { ARENA_FIRST = 4 * 1024 - 64, ARENA_CHUNK = 64 * 1024 - 64 };

void *arena_alloc(struct arena *a, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    struct arena_chunk *c = a->chunks;
    if (c == NULL || c->size - c->used < bytes) {
        size_t size = c == NULL ? ARENA_FIRST : 2 * c->size;
        size = size > ARENA_CHUNK ? ARENA_CHUNK : size;
        size = bytes > size ? bytes : size;
        c = xcalloc(1, sizeof *c + size);
        chunk_guard(c);
        c->size = size;
        c->next = a->chunks;
        a->chunks = c;
    }
    void *p = c->data + c->used;
    c->used += bytes;
    return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *p = arena_alloc(a, n + 1);
    memcpy(p, s, n);
    return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = vxprintf(fmt, ap);
    va_end(ap);
    char *p = arena_strndup(a, text, strlen(text));
    free(text);
    return p;
}

void arena_free(struct arena *a)
{
    for (struct arena_chunk *c = a->chunks, *next; c != NULL; c = next) {
        next = c->next;
        chunk_unguard(c);
        free(c);
    }
    a->chunks = NULL;
}

void *arena_grow(struct arena *a, void *items, size_t count, size_t *cap, size_t size)
{
    if (count < *cap)
        return items;
    size_t bigger = *cap ? *cap * 2 : 8;
    void *p = arena_alloc(a, bigger * size);
    if (count > 0)
        memcpy(p, items, count * size);
    *cap = bigger;
    return p;
}

/* Of the run-time library of sanitizers; absent elsewhere. */
extern void __lsan_register_root_region(const void *p, size_t bytes) __attribute__((weak));

void holds_pointers(const void *p, size_t bytes)
{
    if (__lsan_register_root_region != NULL)
        __lsan_register_root_region(p, bytes);
}

extern void __lsan_unregister_root_region(const void *p, size_t bytes) __attribute__((weak));

void holds_no_pointers(const void *p, size_t bytes)
{
    if (__lsan_unregister_root_region != NULL)
        __lsan_unregister_root_region(p, bytes);
}

/* ---- hash ---- */

void hash_init(struct hash128 *h)
{
    h->lo = 0x9e3779b97f4a7c15u;
    h->hi = 0xc2b2ae3d27d4eb4fu;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 u128;
    u128 p = (u128)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

void hash_add(struct hash128 *h, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    uint64_t length = bytes;
    do {
        uint64_t word[2] = {0, 0};
        size_t n = bytes < sizeof word ? bytes : sizeof word;
        memcpy(word, p, n);
        h->lo = mix(h->lo ^ word[0] ^ 0xa0761d6478bd642fu, h->hi ^ word[1] ^ 0xe7037ed1a0b428dbu);
        h->hi = mix(h->hi ^ word[0] ^ 0x8ebc6af09c88c6e3u, h->lo + word[1] + 0x589965cc75374cc3u);
        p += n;
        bytes -= n;
    } while (bytes > 0);
    h->lo ^= mix(h->lo ^ length, 0x1d8e4e27c47d124fu);
}

void hash_hex(const struct hash128 *h, char out[33])
{
    snprintf(out, 33, "%016llx%016llx", (unsigned long long)h->hi, (unsigned long long)h->lo);
}

/* ---- text ---- */

static void sb_reserve(struct strbuf *sb, size_t extra)
{
    if (sb->count + extra + 1 <= sb->cap)
        return;
    sb->cap = (sb->count + extra + 1) * 2;
    sb->items = xrealloc(sb->items, sb->cap);
}

void sb_append(struct strbuf *sb, const char *s, size_t n)
{
    sb_reserve(sb, n);
    if (n > 0) /* nothing may be nowhere */
        memcpy(sb->items + sb->count, s, n);
    sb->count += n;
    sb->items[sb->count] = '\0';
}

void sb_printf(struct strbuf *sb, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = vxprintf(fmt, ap);
    va_end(ap);
    sb_append(sb, text, strlen(text));
    free(text);
}

void sb_free(struct strbuf *sb)
{
    free(sb->items);
    *sb = (struct strbuf){0};
}

enum {
    FILE_MOST = 1 << 30,     /* bytes of a file that is read whole */
    ENDLESS_MOST = 64 << 20, /* of one that may have no end, as a device */
    SETTING_MOST = 16 << 20  /* of one that a setting names */
};

/* Some more of it; 0 at its end, -1 with errno. */
static ssize_t read_some(int fd, char *to, size_t bytes)
{
    ssize_t n;
    do
        n = read(fd, to, bytes);
    while (n < 0 && errno == EINTR);
    return n;
}

/* All of it, on the heap and closed by a NUL; NULL with errno. */
static char *read_all(int fd, size_t *size)
{
    struct stat s = {0};
    size_t used = 0, capacity = 4096, most = ENDLESS_MOST;
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode)) {
        most = FILE_MOST;
        if (s.st_size > 0)
            capacity = (size_t)s.st_size + 2;
    }
    char *text = NULL;
    ssize_t n = 1;
    while (n > 0) {
        char *more = capacity <= most ? realloc(text, capacity) : NULL;
        if (more == NULL) {
            errno = capacity <= most ? ENOMEM : EFBIG;
            n = -1;
            break;
        }
        text = more;
        while (used + 1 < capacity && (n = read_some(fd, text + used, capacity - used - 1)) > 0)
            used += (size_t)n;
        capacity *= 2;
    }
    if (n < 0) {
        int reason = errno;
        free(text);
        errno = reason;
        return NULL;
    }
    text[used] = '\0';
    *size = used;
    return text;
}

static char *refuse_file(const char *path, struct diag *d)
{
    if (d != NULL && errno == ENOMEM)
        d->out_of_memory = true;
    diag_set(d, 0, 0, "cannot read %s: %s", path, strerror(errno));
    return NULL;
}

/* Reads what is open, and closes it. */
static char *read_open(int fd, const char *path, size_t *size, struct diag *d)
{
    size_t bytes = 0;
    char *text = fd >= 0 ? read_all(fd, &bytes) : NULL;
    int reason = errno;
    if (fd >= 0)
        close(fd);
    errno = reason;
    if (text == NULL)
        return refuse_file(path, d);
    if (size != NULL)
        *size = bytes;
    return text;
}

char *file_read(const char *path, size_t *size, struct diag *d)
{
    return read_open(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), path, size, d);
}

char *file_read_setting(const char *path, struct diag *d)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &s) == 0 && !(S_ISREG(s.st_mode) && s.st_size <= SETTING_MOST)) {
        close(fd);
        diag_set(d, 0, 0, "cannot read %s: %s", path,
                 S_ISREG(s.st_mode) ? "it is larger than 16 MiB" : "it is no regular file");
        return NULL;
    }
    return read_open(fd, path, NULL, d);
}
