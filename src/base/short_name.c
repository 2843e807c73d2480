/* short_name: long C++ names made short; see short_name.h. */
#include "base/short_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char dots[] = "...";
enum { DOTS = sizeof dots - 1, WORTH = 16 }; /* fewer characters beside dots say nothing */

/* What stands between a bracket and the one that closes it. */
struct group {
    size_t begin, end; /* in the text, without the brackets */
    int depth;
};

struct groups {
    struct group *items;
    size_t count, cap;
};

/* The length of `operator<`, `operator()` and the like at p, whose brackets are no group; of `->`,
 * too. Else 0. */
static size_t no_bracket(const char *p, bool after_word)
{
    static const char *const operators[] = {"<=>", "<<=", ">>=", "->*", "<<", ">>",
                                            "<=",  ">=",  "->",  "()",  "<",  ">"};
    const size_t n = strlen("operator");
    if (strncmp(p, "->", 2) == 0)
        return 2;
    for (size_t i = 0; !after_word && strncmp(p, "operator", n) == 0 && i < WEIR_COUNT(operators);
         i++)
        if (strncmp(p + n, operators[i], strlen(operators[i])) == 0)
            return n + strlen(operators[i]);
    return 0;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The groups of the text that hold more than dots would take. */
static void find_groups(const char *text, struct groups *out)
{
    struct groups open = {0};
    out->count = 0;
    for (const char *p = text; *p != '\0'; p++) {
        size_t skip = no_bracket(p, p > text && is_word(p[-1]));
        if (skip > 0) {
            p += skip - 1;
            continue;
        }
        if (*p == '<' || *p == '(')
            vec_push(&open,
                     (struct group){.begin = (size_t)(p - text) + 1, .depth = (int)open.count});
        if (*p != '>' && *p != ')')
            continue;
        char opening = *p == '>' ? '<' : '(';
        /* a comparison among the arguments stands in parentheses, which end it */
        while (opening == '(' && open.count > 0 &&
               text[open.items[open.count - 1].begin - 1] != opening)
            open.count--;
        if (open.count == 0 || text[open.items[open.count - 1].begin - 1] != opening)
            continue;
        struct group g = open.items[--open.count];
        g.end = (size_t)(p - text);
        if (g.end - g.begin > DOTS)
            vec_push(out, g);
    }
    free(open.items);
}

/* Replaces what is between by dots. */
static void leave_out(char *text, size_t begin, size_t end)
{
    memcpy(text + begin, dots, DOTS);
    memmove(text + begin + DOTS, text + end, strlen(text + end) + 1);
}

/* Leaves out all groups of that depth, which are in the order of the text. */
static void leave_out_depth(char *text, const struct groups *g, int depth)
{
    size_t to = 0, from = 0, length = strlen(text);
    for (size_t i = 0; i < g->count; i++) {
        const struct group *at = &g->items[i];
        if (at->depth != depth)
            continue;
        memmove(text + to, text + from, at->begin - from);
        to += at->begin - from;
        memcpy(text + to, dots, DOTS);
        to += DOTS;
        from = at->end;
    }
    memmove(text + to, text + from, length - from + 1);
}

/* Leaves out the middle of what is between, which is longer than that by much, so that as much
 * stays as may: two thirds of it are the beginning. */
static void leave_out_middle(char *text, size_t begin, size_t end, size_t excess)
{
    size_t stays = end - begin - excess - DOTS, first = stays - stays / 3;
    leave_out(text, begin + first, end - (stays - first));
}

/* Leaves out what must be of the groups of that depth: the longest ones first. */
static void leave_out_longest(char *text, struct groups *g, int depth)
{
    for (size_t length; (length = strlen(text)) > SHORT_NAME_MAX; find_groups(text, g)) {
        size_t excess = length - SHORT_NAME_MAX;
        const struct group *longest = NULL;
        for (size_t i = 0; i < g->count; i++)
            if (g->items[i].depth == depth &&
                (longest == NULL ||
                 g->items[i].end - g->items[i].begin > longest->end - longest->begin))
                longest = &g->items[i];
        if (longest == NULL)
            return;
        if (longest->end - longest->begin >= excess + DOTS + WORTH)
            leave_out_middle(text, longest->begin, longest->end, excess);
        else
            leave_out(text, longest->begin, longest->end);
    }
}

static size_t saved_by(const struct groups *g, int depth)
{
    size_t saved = 0;
    for (size_t i = 0; i < g->count; i++)
        if (g->items[i].depth == depth)
            saved += g->items[i].end - g->items[i].begin - DOTS;
    return saved;
}

char *short_name_of(const char *name)
{
    char *text = xprintf("%s", name);
    struct groups g = {0};
    while (strlen(text) > SHORT_NAME_MAX) {
        int deepest = -1;
        find_groups(text, &g);
        for (size_t i = 0; i < g.count; i++)
            deepest = g.items[i].depth > deepest ? g.items[i].depth : deepest;
        if (deepest < 0) {
            leave_out_middle(text, 0, strlen(text), strlen(text) - SHORT_NAME_MAX);
        } else if (strlen(text) - saved_by(&g, deepest) > SHORT_NAME_MAX) {
            leave_out_depth(text, &g, deepest);
        } else {
            leave_out_longest(text, &g, deepest);
        }
    }
    free(g.items);
    return text;
}

void short_name(struct strbuf *out, const char *name)
{
    char *text = short_name_of(name);
    sb_append(out, text, strlen(text));
    free(text);
}
