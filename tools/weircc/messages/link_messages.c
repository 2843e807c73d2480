/* The linker's messages about device code; see link_messages.h. */
#include "weircc/messages/link_messages.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"

static const char symbol_prefix[] = "__weir_device.";
static const char rewritten[] = ".rewritten.cu";

/* The length of a mangled name. */
static size_t name_length(const char *p)
{
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '$' || p[n] == '.')
        n++;
    return n;
}

/* The length without what clang adds to names of static symbols, so that files differ. */
static size_t source_length(const char *name, size_t n)
{
    static const char *const added[] = {"__intern__", "__static__"};
    for (size_t i = 0; i < WEIR_COUNT(added); i++) {
        const char *at = strstr(name, added[i]);
        if (at != NULL && at > name && at < name + n)
            return (size_t)(at - name);
    }
    return n;
}

/* Takes text back that is the last there. */
static void take_last(struct strbuf *out, const char *text)
{
    size_t n = strlen(text);
    if (out->count >= n && memcmp(out->items + out->count - n, text, n) == 0)
        out->count -= n;
}

/* Appends a name as the source has it. The quote before it is there already, and may be the word
 * "function" before that; what it is comes before the quote. */
static void append_symbol(struct strbuf *out, const char *name, size_t n)
{
    char *mangled = xprintf("%.*s", (int)source_length(name, n), name), *whole = demangle(mangled);
    char quote = '\0';
    if (out->count > 0 && strchr("`'\"", out->items[out->count - 1]) != NULL)
        quote = out->items[--out->count];
    take_last(out, "function ");
    sb_printf(out, "device %s ", strchr(whole, '(') != NULL ? "function" : "symbol");
    if (quote != '\0')
        sb_append(out, &quote, 1);
    sb_printf(out, "%s", whole);
    free(mangled);
    free(whole);
}

/* Takes back the number by which names of intermediate files differ: "x-2" of "x-2.rewritten.cu".
 */
static void take_number(struct strbuf *out)
{
    size_t n = out->count;
    while (n > 0 && isdigit((unsigned char)out->items[n - 1]))
        n--;
    if (n < out->count && n > 1 && out->items[n - 1] == '-')
        out->count = n - 1;
}

/* What the linker adds to an undefined symbol of the device, which is hidden. */
static bool is_repetition(const char *line, size_t n)
{
    char *text = xprintf("%.*s", (int)n, line);
    bool is = strstr(text, "hidden symbol") != NULL && strstr(text, symbol_prefix) != NULL &&
              strstr(text, "isn't defined") != NULL;
    free(text);
    return is;
}

static void append_line(const char *line, size_t n, struct strbuf *out)
{
    for (const char *p = line; p < line + n;) {
        if (strncmp(p, symbol_prefix, strlen(symbol_prefix)) == 0) {
            p += strlen(symbol_prefix);
            size_t length = name_length(p);
            append_symbol(out, p, length);
            p += length;
        } else if (strncmp(p, rewritten, strlen(rewritten)) == 0) {
            take_number(out);
            sb_printf(out, ".cu");
            p += strlen(rewritten);
        } else {
            sb_append(out, p++, 1);
        }
    }
}

void link_messages(const char *text, struct strbuf *out)
{
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        n += text[n] == '\n';
        if (!is_repetition(text, n))
            append_line(text, n, out);
        text += n;
    }
}
