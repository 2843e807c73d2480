/* print: printf of kernels: CUDA's formatting of a packed argument buffer, and the ring that holds
 * the text until the host synchronizes.
 *
 * Kernels' texts are formatted at once, where their pointers are known to be valid, and each call's
 * text is one record of the ring, so that what is overwritten when the ring is full is whole calls,
 * the oldest first, as on a GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/internal.h"

/* ---- the ring ---- */

static void ring_put(struct fifo *f, const void *data, size_t n)
{
    size_t at = (f->head + f->used) % f->size, first = f->size - at < n ? f->size - at : n;
    memcpy(f->bytes + at, data, first);
    memcpy(f->bytes, (const uint8_t *)data + first, n - first);
    f->used += n;
}

static void ring_get(struct fifo *f, void *data, size_t n)
{
    size_t first = f->size - f->head < n ? f->size - f->head : n;
    if (data != NULL) {
        memcpy(data, f->bytes + f->head, first);
        memcpy((uint8_t *)data + first, f->bytes, n - first);
    }
    f->head = (f->head + n) % f->size;
    f->used -= n;
}

bool fifo_add(struct fifo *f, size_t limit, const char *text, size_t length)
{
    uint32_t n = (uint32_t)length;
    pthread_mutex_lock(&f->lock);
    if (f->bytes == NULL && limit > 0) {
        f->bytes = malloc(limit);
        f->size = limit;
        f->head = f->used = 0;
    }
    bool fine = f->bytes != NULL || limit == 0;
    if (f->bytes != NULL && n + sizeof n <= f->size) {
        while (f->size - f->used < n + sizeof n) {
            uint32_t oldest;
            ring_get(f, &oldest, sizeof oldest);
            ring_get(f, NULL, oldest);
        }
        ring_put(f, &n, sizeof n);
        ring_put(f, text, n);
    }
    pthread_mutex_unlock(&f->lock);
    return fine;
}

void fifo_flush(struct fifo *f, int to_stderr)
{
    FILE *out = to_stderr ? stderr : stdout;
    pthread_mutex_lock(&f->lock);
    char *text = f->used > 0 ? xmalloc(f->used) : NULL;
    size_t count = 0;
    while (f->used > 0) {
        uint32_t n;
        ring_get(f, &n, sizeof n);
        ring_get(f, text + count, n);
        count += n;
    }
    if (count > 0) {
        fwrite(text, 1, count, out);
        fflush(out);
    }
    pthread_mutex_unlock(&f->lock);
    free(text);
}

void fifo_free(struct fifo *f)
{
    pthread_mutex_lock(&f->lock); /* a thread that waited for other work may print what it left */
    free(f->bytes);
    f->bytes = NULL;
    f->size = f->head = f->used = 0;
    pthread_mutex_unlock(&f->lock);
}

/* ---- formatting ---- */

/* The arguments, packed at their natural alignment. */
struct packed {
    const uint8_t *bytes;
    size_t at;
    int used; /* arguments taken */
};

static const void *take(struct packed *p, size_t size)
{
    p->at = (p->at + size - 1) & ~(size - 1);
    const void *here = p->bytes + p->at;
    p->at += size;
    p->used++;
    return here;
}

static int32_t take_int(struct packed *p)
{
    int32_t v;
    memcpy(&v, take(p, sizeof v), sizeof v);
    return v;
}

static int64_t take_long(struct packed *p)
{
    int64_t v;
    memcpy(&v, take(p, sizeof v), sizeof v);
    return v;
}

static double take_double(struct packed *p)
{
    double v;
    memcpy(&v, take(p, sizeof v), sizeof v);
    return v;
}

/* One conversion: %[flags][width][.precision][size]letter. */
struct conversion {
    char flags[8];
    int width, precision; /* -1: none */
    int size;             /* -2 hh, -1 h, 0, 1 l, ll, j, z, t */
    char letter;          /* 0: the text ended, or it is none */
};

/* Wider than any text that fits the ring, unless a program makes that larger than four times. */
enum { WIDEST = 4 << 20 };

static int read_number(const char **s, struct packed *p)
{
    if (**s == '*') {
        (*s)++;
        int n = take_int(p); /* whatever a kernel has there */
        return n < -WIDEST ? -WIDEST : n > WIDEST ? WIDEST : n;
    }
    int n = 0;
    while (**s >= '0' && **s <= '9') {
        n = n < 100000 ? n * 10 + (**s - '0') : n; /* wider than any output is wide enough */
        (*s)++;
    }
    return n;
}

/* Reads what follows a '%'; returns where the text goes on. */
static const char *read_conversion(const char *s, struct packed *p, struct conversion *c)
{
    *c = (struct conversion){.width = -1, .precision = -1};
    size_t flags = 0;
    for (; *s != '\0' && strchr("-+ #0", *s) != NULL; s++)
        if (flags + 1 < sizeof c->flags && strchr(c->flags, *s) == NULL)
            c->flags[flags++] = *s;
    if (*s == '*' || (*s >= '1' && *s <= '9'))
        c->width = read_number(&s, p);
    if (c->width < -1) { /* a negative '*' is a '-' flag */
        c->width = -c->width;
        if (strchr(c->flags, '-') == NULL)
            c->flags[flags] = '-';
    }
    if (*s == '.') {
        s++;
        c->precision = read_number(&s, p);
        c->precision = c->precision < 0 ? -1 : c->precision;
    }
    for (; *s != '\0' && strchr("hlLjzt", *s) != NULL; s++)
        c->size = *s == 'h' ? c->size - 1 : 1;
    c->letter = *s;
    return *s == '\0' ? s : s + 1;
}

static void put_int(struct strbuf *out, const struct conversion *c, const char *format, int64_t v)
{
    if (c->size > 0)
        ;
    else if (c->letter == 'd' || c->letter == 'i')
        v = c->size == 0 ? (int32_t)v : c->size == -1 ? (int16_t)v : (int8_t)v;
    else
        v = c->size == 0 ? (uint32_t)v : c->size == -1 ? (uint16_t)v : (uint8_t)v;
    char text[32];
    snprintf(text, sizeof text, format, c->flags, c->letter);
    /* the format is put together here from known parts */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-nonliteral"
    sb_printf(out, text, c->width < 0 ? 0 : c->width, c->precision, (long long)v);
#pragma clang diagnostic pop
}

static void put_string(struct strbuf *out, const struct conversion *c, const char *text)
{
    if (text == NULL)
        text = "(null)";
    size_t n = c->precision >= 0 ? strnlen(text, (size_t)c->precision) : strlen(text);
    size_t pad = c->width > 0 && (size_t)c->width > n ? (size_t)c->width - n : 0;
    bool left = strchr(c->flags, '-') != NULL;
    if (pad > 0 && !left)
        sb_printf(out, "%*s", (int)pad, "");
    sb_append(out, text, n);
    if (pad > 0 && left)
        sb_printf(out, "%*s", (int)pad, "");
}

/* Puts one conversion; false when the letter is none. */
static bool put(struct strbuf *out, const struct conversion *c, struct packed *p)
{
    char text[32];
    int width = c->width < 0 ? 0 : c->width;
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-nonliteral"
    switch (c->letter) {
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X': put_int(out, c, "%%%s*.*ll%c", c->size > 0 ? take_long(p) : take_int(p)); return true;
    case 'c':
        snprintf(text, sizeof text, "%%%s*c", strchr(c->flags, '-') != NULL ? "-" : "");
        int character = take_int(p);
        if (character == 0) { /* printf's own text ends there */
            put_string(out, &(struct conversion){.width = width - 1, .precision = 0}, "");
            sb_append(out, "", 1);
        } else {
            sb_printf(out, text, width, character);
        }
        return true;
    case 'a':
    case 'A':
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
        snprintf(text, sizeof text, "%%%s*.*%c", c->flags, c->letter);
        sb_printf(out, text, width, c->precision, take_double(p));
        return true;
    case 'p':
        snprintf(text, sizeof text, "%%%s*p", strchr(c->flags, '-') != NULL ? "-" : "");
        sb_printf(out, text, width, (void *)take_long(p));
        return true;
    case 's': put_string(out, c, (const char *)take_long(p)); return true;
    default: return false;
    }
#pragma clang diagnostic pop
}

int print_format(struct strbuf *out, const char *format, const uint8_t *args)
{
    struct packed p = {.bytes = args};
    const char *s = format;
    while (*s != '\0') {
        const char *percent = strchr(s, '%');
        if (percent == NULL) {
            sb_append(out, s, strlen(s));
            break;
        }
        sb_append(out, s, (size_t)(percent - s));
        if (percent[1] == '%') {
            sb_append(out, "%", 1);
            s = percent + 2;
            continue;
        }
        struct conversion c;
        s = read_conversion(percent + 1, &p, &c);
        if (!put(out, &c, &p)) /* unknown: as it stands */
            sb_append(out, percent, (size_t)(s - percent));
    }
    return p.used;
}
