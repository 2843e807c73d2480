/* Extern variables of the device; see externs.h. */
#include "weircc/source/externs.h"

#include <stdlib.h>
#include <string.h>

#include "weircc/source/cuda_text.h"

enum { NONE = CUDA_TEXT_NONE };

/* A declaration of variables that are in the device's memory. */
struct variables {
    int begin, end;            /* its first token, its semicolon */
    int external;              /* the word extern, or NONE */
    bool linkage;              /* "C" follows it */
    bool device, shared, open; /* open: has an array without a first extent */
    bool initialized;
};

struct text {
    struct cuda_text x;
    struct variables *now; /* being read */
};

static bool is(const struct text *t, int i, const char *word)
{
    return cuda_text_is(&t->x, i, word);
}
static char one(const struct text *t, int i) { return cuda_text_one(&t->x, i); }

static void read_word(void *self, int i)
{
    struct text *t = self;
    t->now->device |= is(t, i, "device") || is(t, i, "constant");
    t->now->shared |= is(t, i, "shared");
}

/* Reads a declaration of variables from its first token on. False: it is something else. */
static bool read_variables(struct text *t, int begin, struct variables *v)
{
    *v = (struct variables){.begin = begin, .external = NONE};
    t->now = v;
    for (int i = begin; i < cuda_text_count(&t->x); i++) {
        char c = one(t, i);
        if (c == ';') {
            v->end = i;
            return v->device || v->shared;
        }
        if (is(t, i, "__attribute__")) {
            i = cuda_text_read_attribute(&t->x, i, read_word, t);
        } else if (is(t, i, "alignas") && t->x.match[i + 1] != NONE) {
            i = t->x.match[i + 1];
        } else if (is(t, i, "extern")) {
            v->external = i;
            v->linkage = i + 1 < cuda_text_count(&t->x) && *cuda_text_token(&t->x, i + 1)->p == '"';
        } else if (is(t, i, "typedef") || is(t, i, "using") || is(t, i, "static_assert")) {
            return false;
        } else if (c == '=' || c == '{') {
            v->initialized = true;
            if (!v->device && !v->shared)
                return false;
            i = t->x.match[i] > i ? t->x.match[i] : i;
        } else if (c == '(' && !v->initialized) {
            return false; /* a function, a statement */
        } else if (c == '[') {
            v->open |= one(t, i + 1) == ']' && one(t, i - 1) != ']';
            i = t->x.match[i] > i ? t->x.match[i] : i;
        } else if (t->x.match[i] != NONE) {
            if (t->x.match[i] < i)
                return false;
            i = t->x.match[i];
        }
    }
    return false;
}

/* Whether token i names a variable of the declaration: what follows ends a declarator. */
static bool is_variable(const struct text *t, const struct variables *v, int i)
{
    char next = one(t, i + 1);
    return i > v->begin && i < v->end && cuda_text_is_name(&t->x, i) &&
           (next == ';' || next == ',' || next == '[' || next == '=' || next == '{');
}

/* Whether a declaration may begin at token i. */
static bool may_begin(const struct text *t, int i)
{
    char before = one(t, i - 1);
    return i == 0 || before == ';' || before == '{' || before == '}' || before == ':';
}

/* ---- variables that are defined ---- */

/* Adds the names that a declaration has; false where one was known, or
   none is wanted. */
static bool add_names(const struct text *t, const struct variables *v, const struct strlist *wanted,
                      struct strlist *names)
{
    bool fresh = true, any = false;
    for (int i = v->begin; i < v->end; i++) {
        if (t->x.match[i] > i) {
            i = t->x.match[i];
        } else if (is_variable(t, v, i)) {
            const struct token *name = cuda_text_token(&t->x, i);
            char *copy = xprintf("%.*s", (int)name->n, name->p);
            fresh &= !list_has(names, copy);
            any |= list_has(wanted, copy);
            if (!list_has(names, copy))
                list_add(names, "%s", copy);
            free(copy);
        }
    }
    return fresh && any;
}

static void free_names(struct strlist *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
}

int externs_write_variables(const char *text, const struct strlist *names, struct strbuf *out)
{
    struct text t = {0};
    struct strlist defined = {0};
    struct variables v;
    int changes = 0;
    cuda_text_read(&t.x, text);
    for (int i = 0; i < cuda_text_count(&t.x); i++)
        if (may_begin(&t, i) && read_variables(&t, i, &v) && v.device &&
            (v.external == NONE || v.initialized))
            add_names(&t, &v, names, &defined);
    const char *done = text;
    for (int i = 0; i < cuda_text_count(&t.x); i++) {
        if (!may_begin(&t, i) || !read_variables(&t, i, &v) || !v.device || v.shared ||
            v.external == NONE || v.initialized || v.open || !add_names(&t, &v, names, &defined))
            continue;
        const struct token *word = cuda_text_token(&t.x, v.external);
        const struct token *last = cuda_text_token(&t.x, v.end);
        sb_append(out, done, (size_t)(word->p - done));
        if (v.linkage) { /* only in braces it defines something */
            const struct token *next = cuda_text_token(&t.x, v.external + 2);
            sb_printf(out, "%.*s{ ", (int)(next->p - word->p), word->p);
            sb_append(out, next->p, (size_t)(last->p + last->n - next->p));
            sb_printf(out, " }");
            done = last->p + last->n;
        } else {
            done = word->p + word->n;
        }
        i = v.end;
        changes++;
    }
    sb_append(out, done, strlen(done));
    free_names(&defined);
    cuda_text_free(&t.x);
    return changes;
}

/* ---- dynamic shared memory ---- */

/* Whether the brace at token i opens the body of a function, or is in one. */
static bool opens_body(const struct text *t, int i)
{
    static const char *const words[] = {"const", "noexcept", "override", "final", "mutable"};
    for (size_t k = 0; k < WEIR_COUNT(words); k++)
        if (is(t, i - 1, words[k]))
            return true;
    return one(t, i - 1) == ')';
}

/* Writes the declaration with arrays that have no first extent. */
static void write_arrays(const struct text *t, const struct variables *v, struct strbuf *out)
{
    struct strbuf references = {0};
    for (int i = v->begin; i <= v->end; i++) {
        const struct token *token = cuda_text_token(&t->x, i);
        bool variable = is_variable(t, v, i), array = variable && one(t, i + 1) == '[';
        if (i > v->begin)
            cuda_text_write_blank(&t->x, i, out);
        if (variable && !array) {
            sb_printf(out, "__weir_dynamic_%.*s[]", (int)token->n, token->p);
            sb_printf(&references, " auto &%.*s = __weir_dynamic_%.*s[0];", (int)token->n, token->p,
                      (int)token->n, token->p);
        } else {
            sb_append(out, token->p, token->n);
        }
        if (array) {
            sb_printf(out, "[]");
            i = t->x.match[i + 1] > i ? t->x.match[i + 1] : i;
        }
    }
    sb_append(out, references.items, references.count);
    sb_free(&references);
}

/* Whether every variable that the declaration has is an array. */
static bool is_array(const struct text *t, const struct variables *v)
{
    for (int i = v->begin; i < v->end; i++) {
        if (t->x.match[i] > i)
            i = t->x.match[i];
        else if (is_variable(t, v, i) && one(t, i + 1) != '[')
            return false;
    }
    return true;
}

int externs_write_shared(const char *text, struct strbuf *out)
{
    struct text t = {0};
    struct variables v;
    int changes = 0;
    int body = NONE; /* where the body that token i is in ends */
    cuda_text_read(&t.x, text);
    const char *done = text;
    for (int i = 0; i < cuda_text_count(&t.x); i++) {
        body = i >= body ? NONE : body;
        if (body == NONE && one(&t, i) == '{' && opens_body(&t, i))
            body = t.x.match[i];
        if (!may_begin(&t, i) || !read_variables(&t, i, &v) || !v.shared || v.external == NONE ||
            v.initialized || v.open || (body == NONE && !is_array(&t, &v)))
            continue;
        const struct token *first = cuda_text_token(&t.x, i), *last = cuda_text_token(&t.x, v.end);
        sb_append(out, done, (size_t)(first->p - done));
        write_arrays(&t, &v, out);
        done = last->p + last->n;
        i = v.end;
        changes++;
    }
    sb_append(out, done, strlen(done));
    cuda_text_free(&t.x);
    return changes;
}
