/* text: the parts of an event that are not made often. */
#include "timeline/text.h"

#include <stdarg.h>
#include <stdio.h>

const char text_pairs[201] = "00010203040506070809101112131415161718192021222324"
                             "25262728293031323334353637383940414243444546474849"
                             "50515253545556575859606162636465666768697071727374"
                             "75767778798081828384858687888990919293949596979899";

void add(struct event *e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(e->text + e->used, sizeof e->text - e->used, fmt, ap);
    va_end(ap);
    if (n > 0)
        e->used += (size_t)n;
}

void add_text(struct event *e, const char *text)
{
    size_t end = e->used + NAME_MAX_BYTES;
    for (; *text != '\0' && e->used < end; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            add(e, "\\%c", c);
        else if (c < ' ')
            add(e, "\\u%04x", c);
        else
            e->text[e->used++] = (char)c;
    }
    /* Not in the middle of a character. */
    while (*text != '\0' && e->used > 0 && ((unsigned char)*text & 0xc0) == 0x80)
        text--, e->used--;
    e->text[e->used] = '\0';
}
