/* Reading CUDA C++ by its tokens; see cuda_text.h. */
#include "weircc/source/cuda_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const struct token *cuda_text_token(const struct cuda_text *x, int i) { return &x->t.items[i]; }
int cuda_text_count(const struct cuda_text *x) { return (int)x->t.count; }
bool cuda_text_is(const struct cuda_text *x, int i, const char *text)
{
    return i >= 0 && i < cuda_text_count(x) && token_is(cuda_text_token(x, i), text);
}

char cuda_text_one(const struct cuda_text *x, int i)
{
    return i >= 0 && i < cuda_text_count(x) && cuda_text_token(x, i)->n == 1
               ? *cuda_text_token(x, i)->p
               : '\0';
}

static void match_brackets(struct cuda_text *x)
{
    struct {
        int *items;
        size_t count, cap;
    } open = {0};
    for (int i = 0; i < cuda_text_count(x); i++) {
        char c = cuda_text_one(x, i);
        x->match[i] = CUDA_TEXT_NONE;
        if (c == '(' || c == '[' || c == '{') {
            vec_push(&open, i);
        } else if ((c == ')' || c == ']' || c == '}') && open.count > 0) {
            int partner = open.items[--open.count];
            x->match[i] = partner;
            x->match[partner] = i;
        }
    }
    free(open.items);
}

/* ---- finding launches ---- */

static bool is_one_of(const struct cuda_text *x, int i, const char *const *words, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (cuda_text_is(x, i, words[k]))
            return true;
    return false;
}

bool cuda_text_is_name(const struct cuda_text *x, int i)
{
    static const char *const others[] = {"return", "else",     "do",       "case",      "goto",
                                         "throw",  "and",      "or",       "not",       "new",
                                         "delete", "sizeof",   "if",       "while",     "for",
                                         "switch", "co_await", "co_yield", "co_return", "operator"};
    return i >= 0 && token_is_word(*cuda_text_token(x, i)->p) &&
           !isdigit((unsigned char)*cuda_text_token(x, i)->p) &&
           !is_one_of(x, i, others, WEIR_COUNT(others));
}

int cuda_text_angles(const struct cuda_text *x, int i)
{
    return *cuda_text_token(x, i)->p == '>' && !cuda_text_is(x, i, ">=")
               ? (int)cuda_text_token(x, i)->n
               : 0;
}

int cuda_text_find_angle(const struct cuda_text *x, int i)
{
    int depth = 0;
    for (; i >= 0; i--) {
        char c = cuda_text_one(x, i);
        if (c == ')' || c == ']' || c == '}')
            i = x->match[i];
        else if (c == '(' || c == '[' || c == '{' || c == ';')
            return CUDA_TEXT_NONE;
        else if (c == '<' && --depth == 0)
            return i;
        else
            depth += cuda_text_angles(x, i);
    }
    return CUDA_TEXT_NONE;
}

/* Whether the group in parentheses that begins at i belongs to what stands before it: the
 * arguments of a call, an index. */
static bool is_applied(const struct cuda_text *x, int i)
{
    static const char *const statements[] = {"if", "while", "for", "switch", "constexpr"};
    if (cuda_text_is_name(x, i - 1) || cuda_text_one(x, i - 1) == ']' ||
        cuda_text_one(x, i - 1) == '>')
        return !cuda_text_is(x, i - 1, "constexpr");
    if (cuda_text_one(x, i - 1) != ')' || x->match[i - 1] == CUDA_TEXT_NONE)
        return false;
    return !is_one_of(x, x->match[i - 1] - 1, statements, WEIR_COUNT(statements));
}

int cuda_text_find_operand(const struct cuda_text *x, int i)
{
    while (i > 0) {
        int j = i - 1;
        if (cuda_text_one(x, j) == ')' || cuda_text_one(x, j) == ']') {
            j = x->match[j];
            if (j == CUDA_TEXT_NONE)
                return CUDA_TEXT_NONE;
            if (!is_applied(x, j))
                return cuda_text_one(x, j) == '(' ? j : CUDA_TEXT_NONE;
            i = j;
            continue;
        }
        if (cuda_text_angles(x, j) > 0)
            j = cuda_text_find_angle(x, j) - 1;
        if (!cuda_text_is_name(x, j))
            return CUDA_TEXT_NONE;
        if (cuda_text_is(x, j - 1, "template"))
            j--;
        if (cuda_text_is(x, j - 1, "::") && !cuda_text_is_name(x, j - 2) &&
            cuda_text_one(x, j - 2) != '>')
            return j - 1;
        if (cuda_text_is(x, j - 1, "::") || cuda_text_is(x, j - 1, "->") ||
            cuda_text_one(x, j - 1) == '.')
            i = j - 1;
        else
            return j;
    }
    return CUDA_TEXT_NONE;
}

/* The >>> of the configuration that begins at token `open`: the last one before the statement ends
 * or another launch begins, since template arguments in the configuration may end in >>>, too. */
static int find_close(const struct cuda_text *x, int open)
{
    int close = CUDA_TEXT_NONE;
    for (int i = open + 1; i < cuda_text_count(x); i++) {
        char c = cuda_text_one(x, i);
        if (c == ';' || c == ')' || c == ']' || c == '}' || cuda_text_is(x, i, "<<<"))
            break;
        if (cuda_text_is(x, i, ">>>") && cuda_text_one(x, i + 1) == '(')
            close = i;
        if (x->match[i] != CUDA_TEXT_NONE)
            i = x->match[i];
    }
    return close;
}

bool cuda_text_find_launch(const struct cuda_text *x, int open, struct cuda_launch *l)
{
    *l = (struct cuda_launch){
        .open = open, .begin = cuda_text_find_operand(x, open), .close = find_close(x, open)};
    if (l->begin == CUDA_TEXT_NONE || l->close == CUDA_TEXT_NONE ||
        x->match[l->close + 1] == CUDA_TEXT_NONE)
        return false;
    l->last = x->match[l->close + 1];
    return true;
}

bool cuda_text_is_ellipsis(const struct cuda_text *x, int i)
{
    return cuda_text_one(x, i) == '.' && cuda_text_one(x, i + 1) == '.' &&
           cuda_text_one(x, i + 2) == '.';
}

/* ---- attributes ---- */

int cuda_text_read_attribute(const struct cuda_text *x, int i, void (*word)(void *self, int token),
                             void *self)
{
    if (cuda_text_one(x, i + 1) != '(' || cuda_text_one(x, i + 2) != '(' ||
        x->match[i + 1] == CUDA_TEXT_NONE || x->match[i + 2] == CUDA_TEXT_NONE)
        return i;
    for (int k = i + 3; k < x->match[i + 2]; k++) {
        if (x->match[k] != CUDA_TEXT_NONE)
            k = x->match[k];
        else
            word(self, k);
    }
    return x->match[i + 1];
}

void cuda_text_add_side(const struct cuda_text *x, int i, struct cuda_sides *s)
{
    s->host |= cuda_text_is(x, i, "host");
    s->device |= cuda_text_is(x, i, "device");
    s->global |= cuda_text_is(x, i, "global");
}

bool cuda_text_is_device_only(const struct cuda_sides *s, bool around)
{
    if (s->global)
        return true;
    return s->host || s->device ? !s->host : around;
}

/* ---- white space ---- */

void cuda_text_write_blank(const struct cuda_text *x, int i, struct strbuf *out)
{
    const struct token *t = x->t.items;
    const char *from = i > 0 ? t[i - 1].p + t[i - 1].n : x->text;
    sb_append(out, from, (size_t)((i < cuda_text_count(x) ? t[i].p : x->t.end) - from));
}

void cuda_text_write_lines(const struct cuda_text *x, int from, int to, struct strbuf *out)
{
    const struct token *t = x->t.items;
    for (int i = from; i < to; i++) {
        const char *begin = t[i - 1].p + t[i - 1].n;
        if (memchr(begin, '\n', (size_t)(t[i].p - begin)) != NULL)
            cuda_text_write_blank(x, i, out);
    }
}

void cuda_text_write_places(const struct cuda_text *x, int from, int to, struct strbuf *out)
{
    struct strbuf lines = {0};
    sb_append(&lines, "", 0);
    cuda_text_write_lines(x, from, to, &lines);
    for (const char *p = lines.items; *p != '\0';) {
        size_t n = strcspn(p, "\n");
        bool pragma = strncmp(p, "#pragma", 7) == 0;
        sb_append(out, p, pragma ? 0 : n);
        p += n;
        if (*p == '\n')
            sb_append(out, p++, 1);
    }
    sb_free(&lines);
}

/* ---- the whole ---- */

void cuda_text_read(struct cuda_text *x, const char *text)
{
    *x = (struct cuda_text){.text = text};
    tokens_read(&x->t, text);
    x->match = xmalloc((x->t.count + 1) * sizeof *x->match);
    match_brackets(x);
}

void cuda_text_free(struct cuda_text *x)
{
    free(x->t.items);
    free(x->match);
}
