/* Reading declarations; see declaration.h. */
#include "weircc/ccbin/declaration.h"

#include <string.h>

enum { NONE = CUDA_TEXT_NONE };

static bool is(const struct cuda_text *x, int i, const char *text)
{
    return cuda_text_is(x, i, text);
}

static bool is_one_of(const struct cuda_text *x, int i, const char *const *words, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (is(x, i, words[k]))
            return true;
    return false;
}

int declaration_close_angle(const struct cuda_text *x, int open)
{
    int depth = 0;
    for (int i = open; i < cuda_text_count(x); i++) {
        char c = cuda_text_one(x, i);
        if (c == ';' || c == ')' || c == ']' || c == '}')
            return NONE;
        if (c == '<')
            depth++;
        else if (x->match[i] != NONE)
            i = x->match[i];
        else if ((depth -= cuda_text_angles(x, i)) <= 0)
            return i;
    }
    return NONE;
}

/* Whether the parenthesis at token i belongs to a word of the language, not to a declarator. */
static bool is_specifier_group(const struct cuda_text *x, int i)
{
    static const char *const words[] = {"__attribute__", "alignas",    "decltype", "noexcept",
                                        "explicit",      "requires",   "throw",    "__typeof__",
                                        "typeof",        "__decltype", "_Alignas", "__extension__"};
    return is_one_of(x, i - 1, words, WEIR_COUNT(words));
}

/* Whether the = at token i begins an initializer: it is not part of ==, != or a name of an
 * operator. */
static bool is_initializer(const struct cuda_text *x, int i)
{
    const char *p = cuda_text_token(x, i)->p;
    return p[1] != '=' && strchr("=!+-*/%&|^", p[-1]) == NULL && !is(x, i - 1, "operator");
}

/* The brace of the body after the list of member initializers that token `colon` begins. */
static int body_after_members(const struct cuda_text *x, int colon)
{
    for (int i = colon + 1; i < cuda_text_count(x); i++) {
        char c = cuda_text_one(x, i);
        if (c == ';' || c == '}')
            return NONE;
        if (c == '<') {
            int close = declaration_close_angle(x, i);
            i = close != NONE ? close : i;
        } else if (c == '(' || c == '{') {
            i = x->match[i];
            if (i == NONE)
                return NONE;
            if (cuda_text_is_ellipsis(x, i + 1))
                i += 3;
            if (cuda_text_one(x, i + 1) == '{')
                return i + 1;
        }
    }
    return NONE;
}

/* What is read of a declarator so far. */
struct reading {
    const struct cuda_text *x;
    struct declaration d;
    bool trailing; /* there is -> after the parameters */
    bool over;
};

static void read_equals(struct reading *r, int i)
{
    static const char *const no_bodies[] = {"default", "delete", "0"};
    if (!is_initializer(r->x, i))
        return;
    if (!is_one_of(r->x, i + 1, no_bodies, WEIR_COUNT(no_bodies)) || r->d.params == NONE)
        r->d.function = false;
    r->over = true;
}

/* Returns the last token of what token i begins. */
static int read_group(struct reading *r, int i)
{
    const struct cuda_text *x = r->x;
    int last = x->match[i] != NONE ? x->match[i] : i;
    char c = cuda_text_one(x, i);
    if (c == '{') {
        r->d.body = r->d.function ? i : NONE;
        r->over = true;
    } else if (c == '(' && !r->d.function && !is_specifier_group(x, i)) {
        if (is(x, i - 1, "operator") && cuda_text_one(x, last + 1) == '(')
            i = last + 1;
        r->d.function = true;
        r->d.params = i;
        last = x->match[i] != NONE ? x->match[i] : i;
    }
    return last;
}

/* Reads from token `at` on to the body or the end. */
static void read_declarator(struct reading *r, int at)
{
    const struct cuda_text *x = r->x;
    for (int i = at; i < cuda_text_count(x) && !r->over; i++) {
        char c = cuda_text_one(x, i);
        if (c == ';' || c == '}' || c == ')' || c == ']' || (c == ',' && !r->d.function)) {
            return;
        } else if (c == '(' || c == '[' || c == '{') {
            i = read_group(r, i);
        } else if (c == '=') {
            read_equals(r, i);
        } else if (is(x, i, "->") && r->d.function) {
            r->trailing = true;
        } else if (c == ':') {
            r->d.body = r->d.function ? body_after_members(x, i) : NONE;
            return;
        } else if (c == '<' && cuda_text_is_name(x, i - 1) && (!r->d.function || r->trailing)) {
            int close = declaration_close_angle(x, i);
            i = close != NONE ? close : i;
        }
    }
}

/* Words before the name of what is declared that say nothing of a result. */
static bool is_plain_specifier(const struct cuda_text *x, int i)
{
    static const char *const words[] = {"inline", "__inline__", "__inline", "static",    "explicit",
                                        "extern", "constexpr",  "friend",   "virtual",   "void",
                                        "const",  "consteval",  "noexcept", "__restrict"};
    return is_one_of(x, i, words, WEIR_COUNT(words)) || cuda_text_one(x, i) == '~' ||
           *cuda_text_token(x, i)->p == '"';
}

/* Reads the words from `begin` to the name of a function, or to the end of a variable's name. */
static void read_specifiers(struct reading *r, int begin, int end)
{
    const struct cuda_text *x = r->x;
    int words = 0;
    bool more = false; /* a pointer, a reference or an operator */
    for (int i = begin; i < end; i++) {
        if (is(x, i, "template") && cuda_text_one(x, i + 1) == '<') {
            int close = declaration_close_angle(x, i + 1);
            i = close != NONE ? close : i;
            continue;
        }
        if (is(x, i, "__attribute__") || is(x, i, "requires"))
            continue;
        r->d.constant |= is(x, i, "constexpr") || is(x, i, "consteval");
        r->d.external |= is(x, i, "extern");
        r->d.deduced |= is(x, i, "auto") || (is(x, i, "decltype") && is(x, i + 2, "auto"));
        r->d.returns |= is(x, i, "operator") && i + 1 < end && cuda_text_is_name(x, i + 1);
        if (cuda_text_one(x, i) == '*' || cuda_text_one(x, i) == '&' || is(x, i, "operator"))
            more = true;
        else if (cuda_text_is_name(x, i) && !is_plain_specifier(x, i) && !is(x, i - 1, "::"))
            words++;
        if (cuda_text_one(x, i) == '<') {
            int close = declaration_close_angle(x, i);
            i = close != NONE && close < end ? close : i;
        } else if (x->match[i] != NONE && x->match[i] > i) {
            i = x->match[i];
        }
    }
    /* one word is the name itself */
    r->d.returns |= words > 1 || (words > 0 && more);
}

struct declaration declaration_read(const struct cuda_text *x, int begin, int at)
{
    struct reading r = {.x = x, .d = {.params = NONE, .body = NONE}};
    read_declarator(&r, at);
    int end = r.d.params;
    for (int i = at; end == NONE && i < cuda_text_count(x); i++) {
        char c = cuda_text_one(x, i);
        if (c == ';' || c == '=' || c == '{' || c == '}')
            end = i;
    }
    read_specifiers(&r, begin, end != NONE ? end : at);
    r.d.guide = r.trailing && !r.d.deduced;
    r.d.deduced = r.d.deduced && !r.trailing;
    return r.d;
}
