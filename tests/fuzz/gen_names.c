/* gen_names: gives each value of the generator's helper registers a register of its own.
 *
 * The generator computes addresses and the like in a few registers again and again. The compiler
 * has one uniformity for each register, so that all of these would be divergent;
 * real kernels, where nearly each value has its own register, are not like that. A helper is always
 * read after it has been written in the same stretch of code, so lines can be renamed one after the
 * other. */
#include "gen_state.h"

#include <ctype.h>
#include <string.h>

static const struct helper {
    const char *name, *type;
} helpers[] = {{"%t0", "b32"},     {"%t1", "b32"},       {"%t2", "b32"},    {"%at", "b64"},
               {"%at2", "b64"},    {"%pg", "pred"},      {"%nan0", "pred"}, {"%nan1", "pred"},
               {"%half0", "b16"},  {"%half1", "b16"},    {"%in", "b64"},    {"%out", "b64"},
               {"%thread", "b32"}, {"%global", "b32"},   {"%own0", "b32"},  {"%own1", "b32"},
               {"%mywork", "b64"}, {"%sgeneric", "b64"}, {"%fl32", "f32"},  {"%fl64", "f64"}};

enum { HELPERS = WEIR_COUNT(helpers) };

static int helper_of(const char *s, size_t n)
{
    for (int k = 0; k < HELPERS; k++)
        if (strlen(helpers[k].name) == n && !memcmp(helpers[k].name, s, n))
            return k;
    return -1;
}

static size_t word(const char *s)
{
    size_t n = 1;
    while (isalnum((unsigned char)s[n]))
        n++;
    return n;
}

/* Where the registers that the line writes end; the line's first operand begins at *begin. */
static const char *written(const char *line, const char **begin)
{
    static const char *const none[] = {"st.",          "red.",     "bra",  "bar.sync",
                                       "barrier.sync", "bar.warp", "call", "brx",
                                       "ret",          "exit",     "."};
    const char *s = line;
    if (*s == '@')
        s += strcspn(s, " ") + 1;
    *begin = s;
    for (size_t k = 0; k < WEIR_COUNT(none); k++)
        if (strncmp(s, none[k], strlen(none[k])) == 0)
            return s;
    s += strcspn(s, " \n");
    *begin = s;
    if (strncmp(s, " {", 2) == 0)
        return s + strcspn(s, "}\n");
    return s + strcspn(s, ",\n");
}

/* One line, without its end. Values that it writes are new ones, but not before it has read. */
static void rename_line(struct strbuf *out, const char *line, size_t n, int *values)
{
    const char *begin, *end = written(line, &begin), *last = line + n;
    int add[HELPERS] = {0};
    for (const char *s = line; s < last;) {
        size_t w = *s == '%' ? word(s) : 1;
        int k = *s == '%' ? helper_of(s, w) : -1;
        if (k < 0) {
            sb_append(out, s, w);
        } else {
            bool writes = s >= begin && s < end;
            add[k] |= writes;
            sb_printf(out, "%s_%d", helpers[k].name, writes ? values[k] : values[k] - 1);
        }
        s += w;
    }
    for (int k = 0; k < HELPERS; k++)
        values[k] += add[k];
}

/* Renames the body of a function and puts the declarations first. */
static const char *rename_body(struct strbuf *out, const char *s)
{
    struct strbuf body = {0};
    int values[HELPERS] = {0}, depth = 1;
    while (*s && depth > 0) {
        size_t n = strcspn(s, "\n");
        depth += n == 1 && *s == '{' ? 1 : n == 1 && *s == '}' ? -1 : 0;
        if (strncmp(s, ".reg", 4) == 0)
            sb_append(&body, s, n);
        else
            rename_line(&body, s, n, values);
        sb_append(&body, "\n", 1);
        s += n + (s[n] == '\n');
    }
    for (int k = 0; k < HELPERS; k++)
        if (values[k])
            sb_printf(out, ".reg .%s %s_<%d>;\n", helpers[k].type, helpers[k].name, values[k]);
    sb_append(out, body.items, body.count);
    sb_free(&body);
    return s;
}

void gen_names(const char *text, struct strbuf *out)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        sb_append(out, text, n + (text[n] == '\n'));
        bool opens = n == 1 && *text == '{';
        text += n + (text[n] == '\n');
        if (opens)
            text = rename_body(out, text);
    }
}
