/* Names that are used as nvcc takes them; see uses.h. */
#include "weircc/source/uses.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "weircc/source/tokens.h"

/* ---- builtin variables ---- */

/* The conversion by which the variable of this name is a value; NULL: it is another name. */
static const char *conversion_of(const char *name, size_t n)
{
    static const struct {
        const char *name, *conversion;
    } variables[] = {
        {"threadIdx", ".operator ::uint3()"},
        {"blockIdx", ".operator ::uint3()"},
        {"blockDim", ".operator ::dim3()"},
        {"gridDim", ".operator ::dim3()"},
    };
    for (size_t i = 0; i < WEIR_COUNT(variables); i++)
        if (strlen(variables[i].name) == n && strncmp(variables[i].name, name, n) == 0)
            return variables[i].conversion;
    return NULL;
}

/* Whether a value may stand after the text up to p, which begins at `begin`: not a member, not a
 * variable of that name that is declared. */
static bool value_may_follow(const char *begin, const char *p)
{
    static const char *const words[] = {"return", "case", "throw", "co_return", "co_yield", "else"};
    while (p > begin && isspace((unsigned char)p[-1]))
        p--;
    if (p == begin)
        return true;
    if (p[-1] == ':' && p - begin > 2 && p[-2] == ':')
        return !token_is_word(p[-3]) && p[-3] != '>';
    if (!token_is_word(p[-1]))
        return p[-1] != '.' && p[-1] != '&' && p[-1] != '*' && p[-1] != '>';
    const char *word = p;
    while (word > begin && token_is_word(word[-1]))
        word--;
    for (size_t i = 0; i < WEIR_COUNT(words); i++)
        if (strlen(words[i]) == (size_t)(p - word) &&
            strncmp(words[i], word, strlen(words[i])) == 0)
            return true;
    return false;
}

/* Whether what follows a name leaves it a value as a whole. */
static bool is_whole(const char *p)
{
    p += strspn(p, " \t\n");
    return strchr(".([{", *p) == NULL && !(*p == '-' && p[1] == '>') && !(*p == '=' && p[1] != '=');
}

/* Whether a builtin variable stands at p as a value; the text before it begins at `begin`. */
static const char *value_at(const char *begin, const char *p)
{
    size_t n = token_length(p);
    const char *conversion = conversion_of(p, n);
    return conversion != NULL && value_may_follow(begin, p) && is_whole(p + n) ? conversion : NULL;
}

/* ---- messages ---- */

/* A message: FILE:LINE:COLUMN: KIND: TEXT, and what it shows. */
struct message {
    const char *file;
    int length;       /* of that name */
    long line;        /* in it */
    const char *kind; /* from there on */
};

static bool read_message(const char *p, struct message *m)
{
    static const char *const kinds[] = {": error: ", ": warning: ", ": note: "};
    size_t n = strcspn(p, "\n");
    for (size_t i = 0; i < WEIR_COUNT(kinds); i++) {
        const char *at = strstr(p, kinds[i]), *q = at;
        if (at == NULL || at >= p + n)
            continue;
        for (int number = 0; number < 2; number++) {
            const char *digits = q;
            while (q > p && isdigit((unsigned char)q[-1]))
                q--;
            if (q == digits || q <= p + 1 || q[-1] != ':')
                return false;
            m->line = strtol(q, NULL, 10);
            q--;
        }
        *m = (struct message){.file = p, .length = (int)(q - p), .line = m->line, .kind = at + 2};
        return true;
    }
    return false;
}

static bool add_line(struct strlist *places, const struct message *m, long line)
{
    char *place = xprintf("%ld:%.*s", line, m->length, m->file);
    bool added = !list_has(places, place);
    if (added)
        list_add(places, "%s", place);
    free(place);
    return added;
}

/* Whether a line of source, which ends as such, has a builtin variable as a value. */
static bool line_has_value(const char *line)
{
    for (const char *p = line; *p != '\0' && *p != '\n'; p += token_length(p))
        if (value_at(line, p) != NULL)
            return true;
    return false;
}

/* The lines with such values that an error and its notes show. Where a macro holds one, the message
 * alone says so. */
static bool learn_values(const char *messages, struct strlist *places)
{
    static const char type[] = "__cuda_builtin_";
    struct message m = {0};
    bool added = false, error = false;
    for (const char *p = messages; *p != '\0'; p = text_next_line(p)) {
        struct message next = {0};
        if (read_message(p, &next)) {
            m = next;
            error = strncmp(m.kind, "error", 5) == 0 || (error && strncmp(m.kind, "note", 4) == 0);
            const char *at = strstr(p, type);
            if (error && at != NULL && at < p + strcspn(p, "\n"))
                added |= add_line(places, &m, m.line);
            continue;
        }
        char *bar;
        long line = strtol(p, &bar, 10); /* "   12 | text" */
        if (error && line > 0 && strncmp(bar, " |", 2) == 0 && line_has_value(bar + 2))
            added |= add_line(places, &m, line);
    }
    return added;
}

/* The places of messages that say this. */
static bool learn_places(const char *messages, const char *said, struct specifier_places *places)
{
    bool added = false;
    for (const char *p = messages; *p != '\0'; p = text_next_line(p)) {
        struct specifier_place place = {0};
        const char *at = strstr(p, said);
        if (at != NULL && at < p + strcspn(p, "\n") && specifier_place_read(p, &place))
            added |= specifier_places_add(places, &place);
    }
    return added;
}

bool uses_learn(const char *messages, struct use_places *places)
{
    bool added = learn_values(messages, &places->values);
    added |= learn_places(messages, "error: explicit qualification required to use member '",
                          &places->members);
    added |= learn_places(messages, "error: missing 'typename' prior to dependent type name '",
                          &places->types);
    return added;
}

/* ---- the text ---- */

/* Copies a line of n characters with its values converted. */
static int write_values(const char *line, size_t n, struct strbuf *out)
{
    int changes = 0;
    for (const char *p = line; p < line + n;) {
        size_t length = token_length(p);
        const char *conversion = value_at(line, p);
        sb_append(out, p, length);
        if (conversion != NULL) {
            sb_printf(out, "%s", conversion);
            changes++;
        }
        p += length;
    }
    return changes;
}

static int write_lines(const char *text, const struct strlist *places, struct strbuf *out)
{
    struct strbuf file = {0};
    long number = 0;
    int changes = 0;
    for (const char *p = text; *p != '\0';) {
        size_t n = strcspn(p, "\n");
        n += p[n] == '\n';
        if (specifier_marker_read(p, &file, &number)) {
            sb_append(out, p, n);
            p += n;
            continue;
        }
        char *place = xprintf("%ld:%s", number++, file.count > 0 ? file.items : "");
        if (list_has(places, place))
            changes += write_values(p, n, out);
        else
            sb_append(out, p, n);
        free(place);
        p += n;
    }
    sb_free(&file);
    return changes;
}

/* Writes the word at each place. */
static int write_word(struct strbuf *text, const struct specifier_places *places, const char *word)
{
    int changes = 0;
    for (size_t i = 0; i < places->count; i++) {
        struct strbuf written = {0};
        const char *at = specifier_place_find(text->items, &places->items[i]);
        if (at == NULL)
            continue;
        sb_append(&written, text->items, (size_t)(at - text->items));
        sb_printf(&written, "%s%s", word, at);
        sb_free(text);
        *text = written;
        changes++;
    }
    return changes;
}

int uses_write(const char *text, const struct use_places *places, struct strbuf *out)
{
    int changes = 0;
    sb_append(out, "", 0);
    if (places->values.count > 0)
        changes += write_lines(text, &places->values, out);
    else
        sb_append(out, text, strlen(text));
    changes += write_word(out, &places->members, "this->");
    changes += write_word(out, &places->types, "typename ");
    return changes;
}
