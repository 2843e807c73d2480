/* Constant expressions that clang refuses; see constexprs.h. */
#include "weircc/source/constexprs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "weircc/source/tokens.h"

/* ---- messages ---- */

/* The place of the message in which p lies, "FILE:LINE:COLUMN: error: ...". */
static bool add_place(struct strlist *places, const char *messages, const char *p)
{
    while (p > messages && p[-1] != '\n')
        p--;
    const char *colon = strchr(p, ':');
    if (colon == NULL || !isdigit((unsigned char)colon[1]))
        return false;
    char *place = xprintf("%ld:%.*s", strtol(colon + 1, NULL, 10), (int)(colon - p), p);
    bool added = !list_has(places, place);
    if (added)
        list_add(places, "%s", place);
    free(place);
    return added;
}

static bool add_places(struct strlist *places, const char *messages, const char *words)
{
    bool added = false;
    for (const char *p = messages; (p = strstr(p, words)) != NULL; p += strlen(words))
        added |= add_place(places, messages, p);
    return added;
}

bool constexprs_learn(const char *messages, struct constexpr_places *places)
{
    static const char named[] = "error: use 'template' keyword to treat '";
    bool added = add_places(&places->variables, messages,
                            " cannot be defined in a constexpr function before C++23");
    added |= add_places(&places->conditions, messages,
                        "error: constexpr if condition is not a constant expression");
    bool operators = !places->operators &&
                     strstr(messages, "error: reference to non-static member function must be "
                                      "called") != NULL;
    places->operators |= operators;
    added |= operators;
    for (const char *p = messages; (p = strstr(p, named)) != NULL;) {
        p += strlen(named);
        char *name = xprintf("%.*s", (int)token_length(p), p);
        if (!list_has(&places->types, name)) {
            list_add(&places->types, "%s", name);
            added = true;
        }
        free(name);
    }
    return added;
}

/* ---- the text ---- */

/* What becomes of a token: NULL: itself. */
struct mending {
    struct tokens tokens;
    const char **instead;
    int changes;
};

/* Whether the line marker at p, `# LINE "FILE"`, is of this file; *line is its number. */
static bool marker_of(const char *p, const char *file, long *line)
{
    char *end;
    *line = strtol(p + 1, &end, 10);
    size_t n = strlen(file);
    return strncmp(end, " \"", 2) == 0 && strncmp(end + 2, file, n) == 0 && end[2 + n] == '"';
}

/* The first token of the place, or SIZE_MAX. */
static size_t find_place(const struct tokens *t, const char *text, const char *place)
{
    char *file;
    long wanted = strtol(place, &file, 10), line = 0;
    bool here = false;
    for (const char *p = text; *p != '\0'; p += strcspn(p, "\n"), p += *p == '\n') {
        if (*p == '#' && p[1] == ' ') {
            here = marker_of(p, file + 1, &line);
            continue;
        }
        if (here && line++ == wanted)
            for (size_t n = 0; n < t->count; n++)
                if (t->items[n].p >= p)
                    return n;
    }
    return SIZE_MAX;
}

static bool at(const struct mending *m, size_t n, const char *word)
{
    return n < m->tokens.count && token_is(&m->tokens.items[n], word);
}

/* Whether a function's head, up to its body before token `end`, follows the word at n. */
static bool heads_function(const struct mending *m, size_t n, size_t end)
{
    int depth = 0;
    for (size_t k = n + 1; k < end; k++) {
        depth += at(m, k, "(") ? 1 : at(m, k, ")") ? -1 : 0;
        if (depth == 0 && (at(m, k, ";") || at(m, k, "=")))
            return false;
        if (depth == 0 && at(m, k, "{"))
            return true;
    }
    return false;
}

/* The function around token n is not constexpr. */
static void not_constexpr(struct mending *m, size_t n)
{
    int depth = 0;
    bool outside = false;
    for (size_t k = n; k-- > 0;) {
        if (at(m, k, "}")) {
            depth++;
        } else if (at(m, k, "{")) {
            outside |= depth == 0;
            depth -= depth > 0;
        } else if (outside && depth == 0 && at(m, k, "constexpr") &&
                   (k == 0 || !at(m, k - 1, "if")) && heads_function(m, k, n)) {
            m->changes += m->instead[k] == NULL;
            m->instead[k] = "";
            return;
        }
    }
}

/* In the condition that begins on the line of token n, members are named by their class. */
static void name_by_class(struct mending *m, size_t n)
{
    while (n < m->tokens.count && !at(m, n, ";") && !at(m, n, "{") &&
           !(at(m, n, "constexpr") && at(m, n + 1, "(")))
        n++;
    if (!at(m, n, "constexpr"))
        return;
    int depth = 0;
    for (n++; n < m->tokens.count; n++) {
        depth += at(m, n, "(") ? 1 : at(m, n, ")") ? -1 : 0;
        if (depth == 0)
            return;
        if (at(m, n, "this") && at(m, n + 1, "->") && !at(m, n + 3, "(") && m->instead[n] == NULL) {
            m->instead[n] = "decltype(__weir_class(this))::type";
            m->instead[n + 1] = "::";
            m->changes++;
        }
    }
}

/* Whether a name at n, after ::, is of a type that begins with the word typename. */
static bool is_typename(const struct mending *m, size_t n)
{
    while (n >= 3 && at(m, n - 1, "::")) {
        n -= 2;
        int depth = 0;
        do {
            depth += at(m, n, ">") ? 1 : at(m, n, ">>") ? 2 : at(m, n, "<") ? -1 : 0;
        } while (depth > 0 && n-- > 0);
        if (at(m, n, "<") && n > 0)
            n--;
        n -= n > 0 && at(m, n - 1, "template");
        if (n > 0 && at(m, n - 1, "typename"))
            return true;
    }
    return false;
}

static void write_templates(struct mending *m, const struct strlist *types)
{
    for (size_t n = 2; n + 1 < m->tokens.count && types->count > 0; n++) {
        if (!at(m, n - 1, "::") || !at(m, n + 1, "<"))
            continue;
        for (size_t k = 0; k < types->count; k++)
            if (at(m, n, types->items[k]) && is_typename(m, n)) {
                m->instead[n - 1] = ":: template ";
                m->changes++;
            }
    }
}

/* `x.operator()<T>(y)` of a dependent x. */
static void write_operators(struct mending *m)
{
    for (size_t n = 1; n + 3 < m->tokens.count; n++)
        if ((at(m, n - 1, ".") || at(m, n - 1, "->")) && at(m, n, "operator") &&
            at(m, n + 1, "(") && at(m, n + 2, ")") && at(m, n + 3, "<")) {
            m->instead[n] = "template operator";
            m->changes++;
        }
}

static const char class_of[] =
    "template <typename T> struct __weir_class_of { typedef T type; }; template <typename T> "
    "__attribute__((host)) __attribute__((device)) __weir_class_of<T> __weir_class(const volatile "
    "T "
    "*);\n";

int constexprs_write(const char *text, const struct constexpr_places *places, struct strbuf *out)
{
    struct mending m = {0};
    tokens_read(&m.tokens, text);
    m.instead = xcalloc(m.tokens.count + 1, sizeof *m.instead);
    for (size_t n = 0; n < places->variables.count; n++) {
        size_t k = find_place(&m.tokens, text, places->variables.items[n]);
        if (k != SIZE_MAX)
            not_constexpr(&m, k);
    }
    for (size_t n = 0; n < places->conditions.count; n++) {
        size_t k = find_place(&m.tokens, text, places->conditions.items[n]);
        if (k != SIZE_MAX)
            name_by_class(&m, k);
    }
    write_templates(&m, &places->types);
    if (places->operators)
        write_operators(&m);
    sb_append(out, "", 0);
    if (places->conditions.count > 0)
        sb_printf(out, "%s", class_of);
    const char *p = text;
    for (size_t n = 0; n < m.tokens.count; n++) {
        const struct token *t = &m.tokens.items[n];
        if (m.instead[n] == NULL)
            continue;
        sb_append(out, p, (size_t)(t->p - p));
        sb_printf(out, "%s", m.instead[n]);
        p = t->p + t->n;
    }
    sb_printf(out, "%s", p);
    free(m.instead);
    free(m.tokens.items);
    return m.changes;
}
