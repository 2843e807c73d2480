/* Making declarations and definitions agree; see declarations.h. */
#include "weircc/source/declarations.h"

#include <stdlib.h>
#include <string.h>

#include "weircc/source/cuda_text.h"
#include "weircc/source/declared.h"

enum { NONE = CUDA_TEXT_NONE };

bool declarations_are_why(const char *messages)
{
    return (strstr(messages, "error: out-of-line definition of '") != NULL &&
            strstr(messages, "does not match any declaration in '") != NULL) ||
           strstr(messages, "error: default arguments cannot be added to an out-of-line "
                            "definition of a member of a ") != NULL;
}

/* Something that is written before a token, or takes the place of tokens. */
struct edit {
    int at, to; /* the tokens that go: none where they are the same */
    char *text;
};

/* A declaration without a body, by its name. */
struct named {
    const struct token *name;
    size_t function; /* its number */
};

struct rewriter {
    struct cuda_text x;
    struct declared d;
    struct {
        struct named *items;
        size_t count, cap;
    } declarations; /* sorted */
    struct {
        struct edit *items;
        size_t count, cap;
    } edits;
};

static const struct token *tok(const struct rewriter *r, int i)
{
    return cuda_text_token(&r->x, i);
}
static char one(const struct rewriter *r, int i) { return cuda_text_one(&r->x, i); }
static bool is(const struct rewriter *r, int i, const char *text)
{
    return cuda_text_is(&r->x, i, text);
}

static bool same_token(const struct rewriter *r, int a, int b)
{
    return tok(r, a)->n == tok(r, b)->n && memcmp(tok(r, a)->p, tok(r, b)->p, tok(r, a)->n) == 0;
}

/* ---- parameters ---- */

/* Where a list of parameters or arguments has its next comma; `to` where it has none. */
static int find_comma(const struct rewriter *r, int i, int to)
{
    while (i < to && one(r, i) != ',') {
        int after = one(r, i) == '<' ? declared_skip_angles(&r->x, i) : NONE;
        if (after == NONE || after > to)
            after = (r->x.match[i] > i ? r->x.match[i] : i) + 1;
        i = after;
    }
    return i;
}

/* Where the default argument of the parameter in [i, to) begins, at its =; `to`: it has none. */
static int find_default(const struct rewriter *r, int i, int to)
{
    while (i < to && one(r, i) != '=') {
        int after = one(r, i) == '<' ? declared_skip_angles(&r->x, i) : NONE;
        if (after == NONE || after > to)
            after = (r->x.match[i] > i ? r->x.match[i] : i) + 1;
        i = after;
    }
    return i < to ? i : to;
}

/* Names of template parameters, in order: tokens, NONE for one without a name. */
struct names {
    int *items;
    size_t count, cap;
};

/* Adds those of heads, template <...> one after the other. Returns how many heads. */
static int add_names(const struct rewriter *r, int i, int to, struct names *names)
{
    int heads = 0;
    for (; i + 1 < to && is(r, i, "template"); heads++) {
        int end = declared_skip_angles(&r->x, i + 1);
        for (int p = i + 2; p < end - 1;) {
            int comma = find_comma(r, p, end - 1), last = find_default(r, p, comma) - 1;
            bool named = last > p && cuda_text_is_name(&r->x, last);
            vec_push(names, named ? last : NONE);
            p = comma + 1;
        }
        i = end;
    }
    return heads;
}

/* Those of the classes around a function, and its own. */
static int names_in_class(const struct rewriter *r, int scope, struct names *names)
{
    if (scope == NONE)
        return 0;
    const struct declared_scope *s = &r->d.scopes.items[scope];
    int heads = names_in_class(r, s->parent, names);
    return heads + (s->is_class ? add_names(r, s->heads, s->heads_end, names) : 0);
}

static int names_of(const struct rewriter *r, const struct declared_function *f,
                    struct names *names)
{
    int heads = names_in_class(r, f->scope, names);
    return heads + add_names(r, f->heads, f->heads_end, names);
}

/* Appends tokens, those that name template parameters as their numbers. */
static void write_tokens(const struct rewriter *r, int i, int to, const struct names *names,
                         struct strbuf *out)
{
    for (; i < to; i++) {
        size_t k = 0;
        while (k < names->count && (names->items[k] == NONE || !same_token(r, names->items[k], i)))
            k++;
        if (k < names->count)
            sb_printf(out, "$%zu ", k);
        else
            sb_printf(out, "%.*s ", (int)tok(r, i)->n, tok(r, i)->p);
    }
}

/* Whether the word at token i, the last of a parameter, can be its name. */
static bool is_parameter_name(const struct rewriter *r, int begin, int i)
{
    static const char *const types[] = {"int",   "float",    "double", "char", "bool",
                                        "short", "unsigned", "long",   "void", "signed",
                                        "const", "volatile", "auto"};
    static const char *const incomplete[] = {"const", "volatile", "typename", "struct",
                                             "class", "::",       "unsigned"};
    for (size_t k = 0; k < WEIR_COUNT(types); k++)
        if (is(r, i, types[k]))
            return false;
    for (size_t k = 0; k < WEIR_COUNT(incomplete); k++)
        if (is(r, i - 1, incomplete[k]) && (i - 1 == begin || is(r, i - 1, "::")))
            return false;
    return i > begin && cuda_text_is_name(&r->x, i);
}

/* A function's parameters and what follows them, in a form in which names do not count; with its
 * template parameters' numbers. *parameters: how many. */
static char *signature_of(const struct rewriter *r, const struct declared_function *f, int *heads,
                          int *parameters)
{
    struct names names = {0};
    struct strbuf out = {0};
    *heads = names_of(r, f, &names);
    *parameters = 0;
    for (int p = f->open + 1; p < f->close; ++*parameters) {
        int comma = find_comma(r, p, f->close), end = find_default(r, p, comma);
        if (is_parameter_name(r, p, end - 1))
            end--;
        write_tokens(r, p, end, &names, &out);
        sb_printf(&out, ", ");
        p = comma + 1;
    }
    for (int i = f->close + 1; i < f->end; i++)
        if (is(r, i, "const") || is(r, i, "volatile") || one(r, i) == '&')
            write_tokens(r, i, i + 1, &names, &out);
    if (is(r, f->name, "operator")) { /* what it converts to, or its sign */
        sb_printf(&out, "operator ");
        write_tokens(r, f->name + 1, f->open, &names, &out);
    }
    free(names.items);
    sb_printf(&out, "%s", "");
    return out.items;
}

/* ---- which belong together ---- */

/* Appends the names of a qualified name without template arguments: "C::D". */
static void write_chain(const struct rewriter *r, const struct declared_function *f,
                        struct strbuf *out)
{
    for (int i = f->qualified; i < f->name;) {
        int after = one(r, i) == '<' ? declared_skip_angles(&r->x, i) : NONE;
        if (cuda_text_is_name(&r->x, i) && !is(r, i, "template"))
            sb_printf(out, "%s%.*s", out->count > 0 ? "::" : "", (int)tok(r, i)->n, tok(r, i)->p);
        i = after != NONE ? after : i + 1;
    }
}

/* Whether the class is what f, which is defined outside of it, is qualified by. */
static bool is_class_of(const struct rewriter *r, const struct declared_function *f, int scope)
{
    struct strbuf path = {0};
    declared_path(&r->d, &r->x, scope, &path);
    bool same = false;
    for (int around = f->scope; path.count > 0 && !same;) {
        struct strbuf name = {0};
        declared_path(&r->d, &r->x, around, &name);
        write_chain(r, f, &name);
        same = name.count == path.count && memcmp(name.items, path.items, name.count) == 0;
        sb_free(&name);
        if (around == NONE)
            break;
        around = r->d.scopes.items[around].parent;
    }
    sb_free(&path);
    return same;
}

/* Whether the arguments of a class, where it is a specialization, are those that f names. */
static bool has_arguments_of(const struct rewriter *r, const struct declared_function *f, int scope)
{
    const struct declared_scope *s = &r->d.scopes.items[scope];
    int end = f->name - 1, begin = f->name - 2; /* the last >, before :: */
    if (s->arguments == NONE)
        return true;
    begin = begin >= 0 && cuda_text_angles(&r->x, begin) > 0 ? cuda_text_find_angle(&r->x, begin)
                                                             : NONE;
    if (begin == NONE)
        return false;
    struct names of_class = {0}, of_function = {0};
    struct strbuf a = {0}, b = {0};
    names_in_class(r, scope, &of_class);
    names_of(r, f, &of_function);
    write_tokens(r, s->arguments, s->arguments_end, &of_class, &a);
    write_tokens(r, begin, end, &of_function, &b);
    bool same = a.count == b.count && memcmp(a.items, b.items, a.count) == 0;
    sb_free(&a);
    sb_free(&b);
    free(of_class.items);
    free(of_function.items);
    return same;
}

static int compare_names(const struct token *a, const struct token *b)
{
    int order = memcmp(a->p, b->p, a->n < b->n ? a->n : b->n);
    return order != 0 ? order : (a->n > b->n) - (a->n < b->n);
}

static int compare_named(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int order = compare_names(x->name, y->name);
    return order != 0 ? order : (x->function > y->function) - (x->function < y->function);
}

static void sort_declarations(struct rewriter *r)
{
    for (size_t i = 0; i < r->d.functions.count; i++) {
        const struct declared_function *f = &r->d.functions.items[i];
        if (!f->defined && f->qualified == f->name)
            vec_push(&r->declarations, ((struct named){tok(r, f->name), i}));
    }
    if (r->declarations.count > 0)
        qsort(r->declarations.items, r->declarations.count, sizeof *r->declarations.items,
              compare_named);
}

/* The first declaration of that name, or where it would be. */
static size_t find_named(const struct rewriter *r, const struct token *name)
{
    size_t low = 0, high = r->declarations.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare_names(r->declarations.items[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether `declaration`, of the same name, could be that of the function f. */
static bool may_declare(const struct rewriter *r, const struct declared_function *f,
                        const struct declared_function *declaration)
{
    if (f->qualified == f->name)
        return declaration->scope == f->scope;
    return declaration->scope != NONE && r->d.scopes.items[declaration->scope].is_class &&
           is_class_of(r, f, declaration->scope) && has_arguments_of(r, f, declaration->scope);
}

/* The declaration of a function that is defined: the one with the same parameters, or the only one
 * with as many. NULL: there is none. */
static struct declared_function *find_declaration(const struct rewriter *r,
                                                  const struct declared_function *f)
{
    int heads, parameters, others, count;
    char *signature = signature_of(r, f, &heads, &parameters);
    struct declared_function *found = NULL, *likely = NULL;
    int n = 0;
    for (size_t i = find_named(r, tok(r, f->name));
         i < r->declarations.count && found == NULL &&
         compare_names(r->declarations.items[i].name, tok(r, f->name)) == 0;
         i++) {
        struct declared_function *declaration =
            &r->d.functions.items[r->declarations.items[i].function];
        if (!may_declare(r, f, declaration))
            continue;
        char *other = signature_of(r, declaration, &others, &count);
        if (heads == others && strcmp(signature, other) == 0)
            found = declaration;
        if (heads == others && parameters == count) {
            likely = declaration;
            n++;
        }
        free(other);
    }
    free(signature);
    return found != NULL ? found : n == 1 && f->qualified != f->name ? likely : NULL;
}

/* ---- specifiers ---- */

static void add_edit(struct rewriter *r, int at, int to, char *text)
{
    vec_push(&r->edits, ((struct edit){at, to, text}));
}

static void add_sides(struct rewriter *r, const struct declared_function *f,
                      const struct cuda_sides *wanted)
{
    if (f->sides.host == wanted->host && f->sides.device == wanted->device)
        return;
    const char *host = wanted->host && !f->sides.host ? "__attribute__((host)) " : "";
    const char *device = wanted->device && !f->sides.device ? "__attribute__((device)) " : "";
    add_edit(r, f->begin, f->begin, xprintf("%s%s", host, device));
}

/* Whether clang says of neither place that they differ: of members that are no templates it does.
 */
static bool is_untold(const struct rewriter *r, const struct declared_function *f)
{
    struct names names = {0};
    int heads = add_names(r, f->heads, f->heads_end, &names);
    free(names.items);
    return f->qualified == f->name || heads > 0;
}

static void unite_sides(struct rewriter *r, struct declared_function *f,
                        struct declared_function *declaration)
{
    struct cuda_sides both = {.host = f->sides.host || declaration->sides.host,
                              .device = f->sides.device || declaration->sides.device};
    bool outside = f->qualified == f->name;
    if (!both.device || f->sides.global || declaration->sides.global || !is_untold(r, f))
        return;
    if (outside && (f->sides.device || f->sides.host))
        return; /* clang takes that */
    add_sides(r, f, &both);
    add_sides(r, declaration, &both);
    f->sides = declaration->sides = both;
}

/* ---- default arguments ---- */

/* The text of tokens in one line, in which f's template parameters have the names that the
 * declaration gives them. */
static char *text_of(const struct rewriter *r, int i, int to, const struct names *from,
                     const struct names *names)
{
    struct strbuf out = {0};
    sb_printf(&out, " ");
    for (; i < to; i++) {
        const struct token *t = tok(r, i);
        for (size_t k = 0; k < from->count && k < names->count; k++)
            if (from->items[k] != NONE && names->items[k] != NONE &&
                same_token(r, from->items[k], i))
                t = tok(r, names->items[k]);
        bool blank = i + 1 < to && tok(r, i)->p + tok(r, i)->n != tok(r, i + 1)->p;
        sb_printf(&out, "%.*s%s", (int)t->n, t->p, blank ? " " : "");
    }
    return out.items;
}

/* Gives the declaration of a class template's member the default arguments of its definition. */
static void move_defaults(struct rewriter *r, const struct declared_function *f,
                          const struct declared_function *declaration)
{
    struct names from = {0}, names = {0};
    if (f->qualified == f->name)
        return;
    names_of(r, f, &from);
    names_of(r, declaration, &names);
    int p = f->open + 1, q = declaration->open + 1;
    while (p < f->close && q < declaration->close) {
        int comma = find_comma(r, p, f->close), begin = find_default(r, p, comma);
        int other = find_comma(r, q, declaration->close);
        if (begin < comma && find_default(r, q, other) == other) {
            add_edit(r, other, other, text_of(r, begin, comma, &from, &names));
            add_edit(r, begin, comma, xstrdup(""));
        }
        p = comma + 1;
        q = other + 1;
    }
    free(from.items);
    free(names.items);
}

/* ---- the text ---- */

static int compare_edits(const void *a, const void *b)
{
    const struct edit *x = a, *y = b;
    return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : (x->to > y->to) - (x->to < y->to);
}

static void write_text(struct rewriter *r, const char *text, struct strbuf *out)
{
    const char *done = text;
    if (r->edits.count > 0)
        qsort(r->edits.items, r->edits.count, sizeof *r->edits.items, compare_edits);
    for (size_t i = 0; i < r->edits.count; i++) {
        struct edit *e = &r->edits.items[i];
        sb_append(out, done, (size_t)(tok(r, e->at)->p - done));
        sb_printf(out, "%s", e->text);
        done = tok(r, e->at)->p;
        if (e->to > e->at) {
            cuda_text_write_lines(&r->x, e->at, e->to, out);
            done = tok(r, e->to)->p;
        }
        free(e->text);
    }
    sb_append(out, done, strlen(done));
}

int declarations_write(const char *text, struct strbuf *out)
{
    struct rewriter r = {0};
    cuda_text_read(&r.x, text);
    declared_read(&r.d, &r.x);
    sort_declarations(&r);
    for (size_t i = 0; i < r.d.functions.count; i++) {
        struct declared_function *f = &r.d.functions.items[i];
        if (!f->defined)
            continue;
        struct declared_function *declaration = find_declaration(&r, f);
        if (declaration == NULL)
            continue;
        unite_sides(&r, f, declaration);
        move_defaults(&r, f, declaration);
    }
    int changes = (int)r.edits.count;
    write_text(&r, text, out);
    free(r.edits.items);
    free(r.declarations.items);
    declared_free(&r.d);
    cuda_text_free(&r.x);
    return changes;
}
