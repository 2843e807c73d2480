/* text: an event of a trace in the making. Most of it is text that is known and numbers, for
 * which printf takes too long. */
#ifndef WEIR_TIMELINE_TEXT_H
#define WEIR_TIMELINE_TEXT_H

#include <string.h>

#include "timeline/internal.h"

/* Begins with `used` alone set: the rest is written before it is read. */
struct event {
    size_t used;
    char text[FILE_EVENT_MAX];
};

/* Appends as printf does. */
void add(struct event *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends what stands inside a JSON string, cut if it is long, and a NUL that does not count. */
enum { NAME_MAX_BYTES = 400 };
void add_text(struct event *e, const char *text);

#define LIT(e, text) lit((e), (text), sizeof(text) - 1)
static inline void lit(struct event *e, const char *text, size_t n)
{
    memcpy(e->text + e->used, text, n);
    e->used += n;
}

/* Text that add_text has made, or that needs no care. */
static inline void add_made(struct event *e, const char *text) { lit(e, text, strlen(text)); }

/* "00" to "99" */
extern const char text_pairs[201];

/* Decimal. */
static inline void number(struct event *e, uint64_t n)
{
    char digits[20];
    size_t at = sizeof digits;
    while (n >= 100) {
        at -= 2;
        memcpy(digits + at, text_pairs + n % 100 * 2, 2);
        n /= 100;
    }
    if (n >= 10) {
        at -= 2;
        memcpy(digits + at, text_pairs + n * 2, 2);
    } else {
        digits[--at] = (char)('0' + n);
    }
    lit(e, digits + at, sizeof digits - at);
}

/* Nanoseconds as microseconds: three decimals. */
static inline void micros(struct event *e, uint64_t ns)
{
    unsigned part = (unsigned)(ns % 1000);
    char decimals[4] = {'.', (char)('0' + part / 100)};
    memcpy(decimals + 2, text_pairs + part % 100 * 2, 2);
    number(e, ns / 1000);
    lit(e, decimals, sizeof decimals);
}

#endif
