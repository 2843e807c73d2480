/* text: what readers of text, line by line, have in common. */
#ifndef WEIR_TEXT_H
#define WEIR_TEXT_H

#include <stdbool.h>
#include <string.h>

static inline bool text_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* After the end of the line that p is in; the NUL after the last. */
static inline const char *text_next_line(const char *p)
{
    p += strcspn(p, "\n");
    return p + (*p == '\n');
}

#endif
