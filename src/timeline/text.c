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

/* How many bytes the character of UTF-8 has that begins there; 0: none does, or it is one that
 * UTF-8 does not write so (too long, half a surrogate pair, past the last character). */
static size_t character_bytes(const unsigned char *p)
{
    if (p[0] < 0x80)
        return 1;
    size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool too_long = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool surrogate = p[0] == 0xed && p[1] >= 0xa0, past = p[0] == 0xf4 && p[1] >= 0x90;
    return too_long || surrogate || past ? 0 : n;
}

/* Names come from programs, so they may be anything; a file of JSON is UTF-8. */
void add_text(struct event *e, const char *text)
{
    size_t end = e->used + NAME_MAX_BYTES;
    const unsigned char *p = (const unsigned char *)text;
    for (size_t n; *p != '\0' && e->used < end; p += n > 0 ? n : 1) {
        n = character_bytes(p);
        if (e->used + n > end)
            break;
        if (n == 0)
            add(e, "\\ufffd");
        else if (*p == '"' || *p == '\\')
            add(e, "\\%c", *p);
        else if (*p < ' ')
            add(e, "\\u%04x", *p);
        else
            for (size_t i = 0; i < n; i++)
                e->text[e->used++] = (char)p[i];
    }
    e->text[e->used] = '\0';
}
