/* Lines of #pragma unroll; see unrolls.h. */
#include "weircc/source/unrolls.h"

#include <ctype.h>
#include <string.h>

#include "weircc/source/tokens.h"

bool unrolls_are_why(const char *messages)
{
    static const char *const said[] = {
        "expected a for, while, or do-while loop to follow '#pragma unroll'",
        "expected a for, while, or do-while loop to follow '#pragma nounroll'",
        "error: duplicate directives '#pragma ",
        "error: incompatible directives '#pragma ",
        "; must be positive",
        "' is too large",
        "error: expected statement", /* the last line of a block */
        "error: expected unqualified-id",
    };
    for (size_t i = 0; i < WEIR_COUNT(said); i++)
        if (strstr(messages, said[i]) != NULL)
            return true;
    return false;
}

/* What follows the word of such a line; NULL: it is another. */
static const char *after_word(const char *line)
{
    static const char *const words[] = {"unroll", "nounroll"};
    if (strncmp(line, "#pragma", 7) != 0)
        return NULL;
    line += 7;
    line += strspn(line, " \t");
    for (size_t i = 0; i < WEIR_COUNT(words); i++) {
        size_t n = strlen(words[i]);
        if (strncmp(line, words[i], n) == 0 && token_length(line) == n)
            return line + n;
    }
    return NULL;
}

/* Whether a loop follows a line before the next such line does. */
static bool is_before_loop(const char *p)
{
    static const char *const loops[] = {"for", "while", "do"};
    for (;;) {
        while (isspace((unsigned char)*p))
            p++;
        if (*p != '#')
            break;
        if (after_word(p) != NULL)
            return false;
        p += strcspn(p, "\n");
    }
    size_t n = token_length(p);
    for (size_t i = 0; i < WEIR_COUNT(loops); i++)
        if (n == strlen(loops[i]) && strncmp(p, loops[i], n) == 0)
            return true;
    return p[0] == '[' && p[1] == '['; /* attributes of one */
}

/* The line with a number that clang takes, whatever it is. */
static int write_number(const char *line, size_t n, const char *number, struct strbuf *out)
{
    const char *end = line + n;
    while (end > number && isspace((unsigned char)end[-1]))
        end--;
    number += strspn(number, " \t");
    if (number >= end || memchr(number, ';', (size_t)(end - number)) != NULL) {
        sb_append(out, line, n);
        return 0;
    }
    int length = (int)(end - number);
    sb_append(out, line, (size_t)(number - line));
    sb_printf(out, "((%.*s) > 0 && (%.*s) < 0x7fffffff ? (%.*s) : 1)\n", length, number, length,
              number, length, number);
    return 1;
}

int unrolls_write(const char *text, struct strbuf *out)
{
    int changes = 0;
    sb_append(out, "", 0);
    for (const char *p = text; *p != '\0';) {
        size_t n = strcspn(p, "\n");
        n += p[n] == '\n';
        const char *number = after_word(p);
        if (number == NULL) {
            sb_append(out, p, n);
        } else if (!is_before_loop(p + n)) {
            sb_printf(out, "\n");
            changes++;
        } else {
            changes += write_number(p, n, number, out);
        }
        p += n;
    }
    return changes;
}
