/* Execution space specifiers that differ between declarations; see specifiers.h. */
#include "weircc/source/specifiers.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "weircc/source/tokens.h"

/* ---- what clang says ---- */

/* A message's first line: FILE:LINE:COLUMN: KIND: TEXT */
struct message {
    const char *file;
    int file_length;
    long line;
    const char *text; /* from the kind on */
};

/* A number at p and a colon after it; NULL: not so. */
static const char *read_number(const char *p, long *number)
{
    char *end;
    if (!isdigit((unsigned char)*p))
        return NULL;
    *number = strtol(p, &end, 10);
    return *end == ':' ? end + 1 : NULL;
}

static bool read_message(const char *p, struct message *m)
{
    long column;
    size_t n = strcspn(p, "\n");
    for (const char *colon = p; (colon = memchr(colon, ':', n - (size_t)(colon - p))) != NULL;
         colon++) {
        const char *next = read_number(colon + 1, &m->line);
        if (next == NULL || (next = read_number(next, &column)) == NULL)
            continue;
        m->file = p;
        m->file_length = (int)(colon - p);
        m->text = next + (*next == ' ');
        return true;
    }
    return false;
}

static bool begins(const char *p, const char *with) { return strncmp(p, with, strlen(with)) == 0; }

/* Whether a line (which does not end with NUL) holds the words. */
static bool line_says(const char *line, const char *words)
{
    const char *at = strstr(line, words);
    return at != NULL && at < line + strcspn(line, "\n");
}

/* The text of a line of an excerpt after its margin; NULL: it is none. */
static const char *after_margin(const char *p)
{
    p += strspn(p, " 0123456789");
    return *p == '|' ? p + 1 : NULL;
}

/* Which of the words `word` (n long) of the text this is that stands at `at`. */
static int ordinal_of(const char *text, const char *at, size_t n)
{
    int ordinal = 0;
    for (const char *p = text; p <= at; p += token_length(p))
        ordinal += token_length(p) == n && strncmp(p, at, n) == 0;
    return ordinal;
}

/* The place that a message names, by the line that it shows and the caret below. */
static bool read_place(const char *p, const struct message *m, struct specifier_place *place)
{
    const char *source = text_next_line(p);
    const char *caret = after_margin(text_next_line(source));
    source = after_margin(source);
    if (source == NULL || caret == NULL)
        return false;
    size_t column = strcspn(caret, "^\n");
    if (caret[column] != '^' || column >= strcspn(source, "\n") || !token_is_word(source[column]))
        return false;
    size_t n = token_length(source + column);
    place->file = xprintf("%.*s", m->file_length, m->file);
    place->line = m->line;
    place->word = xprintf("%.*s", (int)n, source + column);
    place->ordinal = ordinal_of(source, source + column, n);
    return true;
}

bool specifier_place_read(const char *message, struct specifier_place *place)
{
    struct message m;
    return read_message(message, &m) && read_place(message, &m, place);
}

static void free_place(struct specifier_place *place)
{
    free(place->file);
    free(place->word);
}

/* Adds it, unless it is known. */
static bool add_place(struct specifier_places *places, struct specifier_place *place, bool host)
{
    for (size_t i = 0; i < places->count; i++) {
        struct specifier_place *known = &places->items[i];
        if (known->line != place->line || known->ordinal != place->ordinal ||
            strcmp(known->word, place->word) != 0 || strcmp(known->file, place->file) != 0)
            continue;
        bool more = host && !known->host;
        known->host |= host;
        free_place(place);
        return more;
    }
    place->host = host;
    vec_push(places, *place);
    return true;
}

bool specifier_places_add(struct specifier_places *places, struct specifier_place *place)
{
    return add_place(places, place, false);
}

/* What a definition is refused for. */
enum refusal { OTHER, OVERLOADS, MATCHES_NONE, SPECIALIZES_NONE };

static enum refusal refusal_of(const char *text)
{
    if (begins(text, "error: out-of-line definition of '") &&
        line_says(text, "does not match any declaration"))
        return MATCHES_NONE;
    if (line_says(text, "' cannot overload __") &&
        line_says(text, "__host__ __device__ function") && !line_says(text, "__global__"))
        return OVERLOADS;
    if (begins(text, "error: no function template matches function template specialization '"))
        return SPECIALIZES_NONE;
    return OTHER;
}

/* What is said of the other place. */
static const char *note_of(enum refusal refusal)
{
    switch (refusal) {
    case OVERLOADS: return "note: previous declaration is here";
    case SPECIALIZES_NONE:
        return "note: candidate template ignored: target attributes do not match";
    default: return "note: member declaration nearly matches";
    }
}

bool specifiers_learn(const char *messages, struct specifier_places *places)
{
    bool more = false, pending = false;
    enum refusal refusal = OTHER;
    struct specifier_place definition = {0};
    for (const char *p = messages; *p != '\0'; p = text_next_line(p)) {
        struct message m;
        struct specifier_place declaration = {0};
        if (!read_message(p, &m))
            continue;
        if (begins(m.text, "error: ") || begins(m.text, "warning: ")) {
            if (pending)
                free_place(&definition);
            refusal = refusal_of(m.text);
            pending = refusal != OTHER && read_place(p, &m, &definition);
            continue;
        }
        if (refusal == OTHER || !begins(m.text, note_of(refusal)) ||
            !read_place(p, &m, &declaration))
            continue;
        bool host = refusal != MATCHES_NONE, known = true;
        if (pending)
            known = !add_place(places, &definition, host);
        /* what a specialization may lack has the template, unless that did not help */
        if (refusal == SPECIALIZES_NONE && !known)
            free_place(&declaration);
        else
            known &= !add_place(places, &declaration, host);
        more |= !known;
        pending = false;
    }
    if (pending)
        free_place(&definition);
    return more;
}

/* ---- the text ---- */

bool specifier_marker_read(const char *p, struct strbuf *file, long *line)
{
    char *end;
    if (p[0] != '#' || p[1] != ' ' || !isdigit((unsigned char)p[2]))
        return false;
    *line = strtol(p + 2, &end, 10);
    if (end[0] != ' ' || end[1] != '"')
        return false;
    file->count = 0;
    for (const char *c = end + 2; *c != '"' && *c != '\n' && *c != '\0'; c++) {
        c += *c == '\\' && c[1] != '\0';
        sb_append(file, c, 1);
    }
    return true;
}

/* The place's name in its line, of n characters; NULL: it is not there. */
static const char *find_word(const char *line, size_t n, const struct specifier_place *place)
{
    size_t length = strlen(place->word);
    int ordinal = 0;
    for (const char *p = line; p < line + n; p += token_length(p))
        if (token_length(p) == length && strncmp(p, place->word, length) == 0 &&
            ++ordinal == place->ordinal)
            return p;
    return NULL;
}

const char *specifier_place_find(const char *text, const struct specifier_place *place)
{
    struct strbuf file = {0};
    const char *found = NULL;
    long number = 0;
    for (const char *p = text; *p != '\0' && found == NULL;) {
        size_t n = strcspn(p, "\n");
        n += p[n] == '\n';
        if (!specifier_marker_read(p, &file, &number)) {
            if (number == place->line && file.count > 0 && strcmp(file.items, place->file) == 0)
                found = find_word(p, n, place);
            number++;
        }
        p += n;
    }
    sb_free(&file);
    return found;
}

static const char *back_over_blanks(const char *begin, const char *p)
{
    while (p > begin && isspace((unsigned char)p[-1]))
        p--;
    return p;
}

/* Before the classes and namespaces that stand before a name (`n::C<T>::`). */
static const char *before_scopes(const char *begin, const char *name)
{
    for (;;) {
        const char *p = back_over_blanks(begin, name);
        if (p - begin < 3 || p[-1] != ':' || p[-2] != ':')
            return name;
        p = back_over_blanks(begin, p - 2);
        if (p > begin && p[-1] == '>') {
            int depth = 0;
            do {
                p--;
                depth += *p == '>' ? 1 : *p == '<' ? -1 : 0;
            } while (p > begin && depth > 0);
            p = back_over_blanks(begin, p);
        }
        if (p == begin || !token_is_word(p[-1]))
            return name;
        while (p > begin && token_is_word(p[-1]))
            p--;
        name = p;
    }
}

/* Writes one line, of n characters, with the specifiers of its places. */
static int write_line(const char *line, size_t n, const struct specifier_places *places,
                      const char *file, long number, struct strbuf *out)
{
    static const char device[] = "__attribute__((device)) ";
    static const char both[] = "__attribute__((host)) __attribute__((device)) ";
    int written = 0;
    size_t done = 0;
    while (done < n) { /* from left to right, the places in no order */
        const char *at = NULL;
        bool host = false;
        for (size_t i = 0; i < places->count; i++) {
            const struct specifier_place *place = &places->items[i];
            if (place->line != number || strcmp(place->file, file) != 0)
                continue;
            const char *word = find_word(line, n, place);
            if (word == NULL || word < line + done)
                continue;
            const char *begin = before_scopes(line, word);
            if (begin < line + done || (at != NULL && begin >= at))
                continue;
            at = begin;
            host = place->host;
        }
        if (at == NULL)
            break;
        sb_append(out, line + done, (size_t)(at - line) - done);
        sb_printf(out, "%s%c", host ? both : device, *at);
        done = (size_t)(at - line) + 1;
        written++;
    }
    sb_append(out, line + done, n - done);
    return written;
}

int specifiers_write(const char *text, const struct specifier_places *places, struct strbuf *out)
{
    struct strbuf file = {0};
    long number = 0;
    int written = 0;
    for (const char *p = text; *p != '\0';) {
        size_t n = strcspn(p, "\n");
        n += p[n] == '\n';
        if (specifier_marker_read(p, &file, &number)) {
            sb_append(out, p, n);
        } else {
            written += write_line(p, n, places, file.count > 0 ? file.items : "", number, out);
            number++;
        }
        p += n;
    }
    sb_free(&file);
    return written;
}
