/* Reading what a text declares; see declared.h. */
#include "weircc/source/declared.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = CUDA_TEXT_NONE };

/* The text on the way through it. */
struct reader {
    const struct cuda_text *x;
    struct declared *d;
};

static bool is(const struct reader *r, int i, const char *text)
{
    return cuda_text_is(r->x, i, text);
}
static char one(const struct reader *r, int i) { return cuda_text_one(r->x, i); }
static int count(const struct reader *r) { return cuda_text_count(r->x); }

static bool is_one_of(const struct reader *r, int i, const char *const *words, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (is(r, i, words[k]))
            return true;
    return false;
}

int declared_skip_angles(const struct cuda_text *x, int i)
{
    int depth = 0;
    for (; i < cuda_text_count(x); i++) {
        char c = cuda_text_one(x, i);
        if (c == '(' || c == '[' || c == '{') {
            if (x->match[i] == NONE)
                return NONE;
            i = x->match[i];
            continue;
        }
        if (c == ';' || c == ')' || c == ']' || c == '}')
            return NONE;
        depth += c == '<';
        depth -= cuda_text_angles(x, i);
        if (depth <= 0)
            return depth == 0 ? i + 1 : NONE;
    }
    return NONE;
}

/* After the declaration that token i is in: its semicolon or its body. */
static int skip_declaration(const struct reader *r, int i)
{
    for (; i < count(r); i++) {
        char c = one(r, i);
        if (c == ';')
            return i + 1;
        if (c == '}')
            return i;
        if (r->x->match[i] != NONE && r->x->match[i] > i) {
            i = r->x->match[i];
            if (c == '{' && one(r, i + 1) != ';' && one(r, i + 1) != ',' && one(r, i + 1) != ')')
                return i + 1;
        }
    }
    return i;
}

/* ---- functions ---- */

static void read_word(void *self, int i)
{
    struct reader *r = ((void **)self)[0];
    cuda_text_add_side(r->x, i, ((void **)self)[1]);
}

static int read_attribute(struct reader *r, int i, struct cuda_sides *sides)
{
    void *self[] = {r, sides};
    return cuda_text_read_attribute(r->x, i, read_word, self) + 1;
}

/* After the initializers of members, from their colon on: at the body. */
static int skip_initializers(const struct reader *r, int i)
{
    while (i < count(r)) {
        for (i++; i < count(r) && one(r, i) != '(' && one(r, i) != '{' && one(r, i) != ';';) {
            int after = one(r, i) == '<' ? declared_skip_angles(r->x, i) : NONE;
            i = after != NONE ? after : i + 1;
        }
        if (one(r, i) == ';' || i >= count(r) || r->x->match[i] == NONE)
            return i;
        i = r->x->match[i] + 1;
        if (cuda_text_is_ellipsis(r->x, i))
            i += 3;
        if (one(r, i) != ',')
            return i;
    }
    return i;
}

/* Reads what follows the parameters. Returns what is after the declaration. */
static int read_end(struct reader *r, struct declared_function *f)
{
    int i = f->close + 1;
    f->end = NONE;
    while (i < count(r)) {
        char c = one(r, i);
        if (f->end == NONE && (c == ';' || c == '{' || c == ':' || c == '='))
            f->end = i;
        if (c == '{' || c == ';' || c == '}') {
            f->defined = c == '{';
            return c == '{' && r->x->match[i] != NONE ? r->x->match[i] + 1 : i + (c == ';');
        }
        if (is(r, i, "__attribute__"))
            i = read_attribute(r, i, &f->sides);
        else if (c == ':')
            i = skip_initializers(r, i);
        else
            i = (r->x->match[i] > i ? r->x->match[i] : i) + 1;
    }
    return i;
}

/* The first token of the classes and namespaces before the name. */
static int find_qualified(const struct reader *r, int name)
{
    while (is(r, name - 1, "::")) {
        int i = name - 2;
        if (i >= 0 && cuda_text_angles(r->x, i) > 0) {
            int angle = cuda_text_find_angle(r->x, i);
            if (angle == NONE)
                return name;
            i = angle - 1;
        }
        if (!cuda_text_is_name(r->x, i))
            return name;
        name = i;
        if (is(r, name - 1, "template"))
            name--;
    }
    return name;
}

/* A function whose parameters begin at `open`. Returns what is after it. */
static int read_function(struct reader *r, struct declared_function *f, int open)
{
    f->open = open;
    f->close = r->x->match[open];
    if (f->close == NONE)
        return skip_declaration(r, open);
    f->qualified = find_qualified(r, f->name);
    if (one(r, f->qualified - 1) == '~')
        return skip_declaration(r, open);
    int next = read_end(r, f);
    if (f->end != NONE)
        vec_push(&r->d->functions, *f);
    return next;
}

/* ---- scopes ---- */

static void read_scope(struct reader *r, int from, int to, int scope);

/* What stands before a declaration. Returns what is after it. */
static int read_heads(struct reader *r, int i, int *heads_end)
{
    while (is(r, i, "template") && one(r, i + 1) == '<') {
        int after = declared_skip_angles(r->x, i + 1);
        if (after == NONE)
            break;
        i = after;
    }
    *heads_end = i;
    while (one(r, i) == '[' && one(r, i + 1) == '[' && r->x->match[i] != NONE)
        i = r->x->match[i] + 1;
    return i;
}

/* Reads a class from its key word on. Returns the brace that opens its body; NONE: there is none.
 */
static int read_class_head(struct reader *r, int i, struct declared_scope *s)
{
    for (i++; i < count(r); i++) {
        char c = one(r, i);
        if (is(r, i, "__attribute__") || is(r, i, "alignas") || is(r, i, "__declspec") ||
            c == '[') {
            i = c == '[' ? i : i + 1;
            if (r->x->match[i] == NONE)
                return NONE;
            i = r->x->match[i];
        } else if (c == '<') {
            s->arguments = i;
            s->arguments_end = declared_skip_angles(r->x, i);
            if (s->arguments_end == NONE)
                return NONE;
            i = s->arguments_end - 1;
        } else if (c == ':') {
            break;
        } else if (c == '{') {
            return i;
        } else if (cuda_text_is_name(r->x, i)) {
            s->name = is(r, i, "final") ? s->name : i;
        } else if (!is(r, i, "::")) {
            return NONE;
        }
    }
    while (i < count(r) && one(r, i) != '{' && one(r, i) != ';') { /* bases */
        int after = one(r, i) == '<' ? declared_skip_angles(r->x, i) : NONE;
        if (after == NONE && (one(r, i) == '(' || one(r, i) == '[') && r->x->match[i] != NONE)
            after = r->x->match[i] + 1;
        i = after != NONE ? after : i + 1;
    }
    return one(r, i) == '{' ? i : NONE;
}

/* Reads what is within braces as a scope of its own, or as the one around. */
static int read_braces(struct reader *r, int brace, int scope)
{
    int end = r->x->match[brace];
    if (end == NONE)
        return brace + 1;
    read_scope(r, brace + 1, end, scope);
    return end + 1;
}

static int read_namespace(struct reader *r, int i, int scope)
{
    while (i < count(r) && one(r, i) != '{' && one(r, i) != ';' && one(r, i) != '=') {
        if (is(r, i, "__attribute__") && r->x->match[i + 1] != NONE)
            i = r->x->match[i + 1];
        else if (cuda_text_is_name(r->x, i) && !is(r, i, "namespace") && !is(r, i, "inline")) {
            vec_push(&r->d->scopes,
                     ((struct declared_scope){
                         .parent = scope, .name = i, .arguments = NONE, .arguments_end = NONE}));
            scope = (int)r->d->scopes.count - 1;
        }
        i++;
    }
    return one(r, i) == '{' ? read_braces(r, i, scope) : skip_declaration(r, i);
}

static int read_class(struct reader *r, int key, int heads, int heads_end, int scope)
{
    struct declared_scope s = {.parent = scope,
                               .name = NONE,
                               .is_class = true,
                               .heads = heads,
                               .heads_end = heads_end,
                               .arguments = NONE,
                               .arguments_end = NONE};
    int brace = read_class_head(r, key, &s);
    if (brace == NONE)
        return NONE;
    vec_push(&r->d->scopes, s);
    int after = read_braces(r, brace, (int)r->d->scopes.count - 1);
    return skip_declaration(r, after);
}

/* Whether the parenthesis at token i begins parameters of a function that is declared. */
static bool is_declarator(const struct reader *r, int i)
{
    return cuda_text_is_name(r->x, i - 1) || cuda_text_one(r->x, i - 1) == '>';
}

/* The parenthesis of the parameters of the operator whose word is token i; NONE: it is no function.
 */
static int find_operator_parameters(const struct reader *r, int i)
{
    int k = i + 1;
    if (one(r, k) == '(' && one(r, k + 1) == ')')
        k += 2;
    while (k < count(r) && one(r, k) != '(' && one(r, k) != ';' && one(r, k) != '{')
        k++;
    return one(r, k) == '(' ? k : NONE;
}

/* Reads one declaration in a scope. Returns what is after it. */
static int read_declaration(struct reader *r, int i, int scope)
{
    static const char *const skipped[] = {"using",         "typedef", "friend",  "enum",
                                          "static_assert", "asm",     "__asm__", "concept"};
    static const char *const applied[] = {"decltype", "alignas",  "__declspec",
                                          "explicit", "noexcept", "__typeof__"};
    static const char *const keys[] = {"struct", "class", "union"};
    struct declared_function f = {.scope = scope, .heads = i};
    i = read_heads(r, i, &f.heads_end);
    f.begin = i;
    if (is(r, i, "inline") && is(r, i + 1, "namespace"))
        i++;
    if (is(r, i, "namespace"))
        return read_namespace(r, i, scope);
    if (is(r, i, "extern") && *cuda_text_token(r->x, i + 1 < count(r) ? i + 1 : i)->p == '"' &&
        one(r, i + 2) == '{')
        return read_braces(r, i + 2, scope);
    while (i < count(r)) {
        char c = one(r, i);
        if (is_one_of(r, i, skipped, WEIR_COUNT(skipped)) || is(r, i, "requires") ||
            is(r, i, "template") || c == '=' || c == '{' || c == ';' || c == '}')
            return skip_declaration(r, i);
        int after = NONE;
        if (is_one_of(r, i, keys, WEIR_COUNT(keys)))
            after = read_class(r, i, f.heads, f.heads_end, scope);
        if (after != NONE)
            return after;
        if (is(r, i, "__attribute__")) {
            i = read_attribute(r, i, &f.sides);
        } else if (is_one_of(r, i, applied, WEIR_COUNT(applied)) && one(r, i + 1) == '(' &&
                   r->x->match[i + 1] != NONE) {
            i = r->x->match[i + 1] + 1;
        } else if (is(r, i, "operator")) {
            int open = find_operator_parameters(r, i);
            f.name = i;
            return open != NONE ? read_function(r, &f, open) : skip_declaration(r, i);
        } else if (c == '(') {
            if (!is_declarator(r, i) || f.name == 0)
                return skip_declaration(r, i);
            return read_function(r, &f, i);
        } else if (c == '<') {
            after = declared_skip_angles(r->x, i);
            if (after == NONE)
                return skip_declaration(r, i);
            i = after;
        } else {
            f.name = cuda_text_is_name(r->x, i) ? i : f.name;
            i = (r->x->match[i] > i ? r->x->match[i] : i) + 1;
        }
    }
    return i;
}

static void read_scope(struct reader *r, int from, int to, int scope)
{
    static const char *const labels[] = {"public", "private", "protected"};
    for (int i = from; i < to;) {
        int next;
        if (is_one_of(r, i, labels, WEIR_COUNT(labels)) && one(r, i + 1) == ':')
            next = i + 2;
        else
            next = one(r, i) == ';' || one(r, i) == '}' ? i + 1 : read_declaration(r, i, scope);
        i = next > i ? next : i + 1;
    }
}

void declared_read(struct declared *d, const struct cuda_text *x)
{
    struct reader r = {x, d};
    *d = (struct declared){0};
    read_scope(&r, 0, cuda_text_count(x), NONE);
}

void declared_free(struct declared *d)
{
    free(d->scopes.items);
    free(d->functions.items);
}

void declared_path(const struct declared *d, const struct cuda_text *x, int scope,
                   struct strbuf *out)
{
    if (scope == NONE)
        return;
    const struct declared_scope *s = &d->scopes.items[scope];
    declared_path(d, x, s->parent, out);
    if (s->name != NONE)
        sb_printf(out, "%s%.*s", out->count > 0 ? "::" : "", (int)cuda_text_token(x, s->name)->n,
                  cuda_text_token(x, s->name)->p);
}
