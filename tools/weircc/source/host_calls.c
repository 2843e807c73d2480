/* Functions of the host that __host__ __device__ functions call; see host_calls.h. */
#include "weircc/source/host_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "weircc/source/cuda_text.h"
#include "weircc/source/kernel_bodies.h"

enum { NONE = CUDA_TEXT_NONE };

/* ---- what clang says ---- */

static const char reference[] = "error: reference to __host__ function '";

/* Whether the line (which does not end with NUL) holds the words; NULL: not, else where. */
static const char *in_line(const char *line, const char *words)
{
    const char *at = strstr(line, words);
    return at != NULL && at < line + strcspn(line, "\n") ? at : NULL;
}

/* Whether the file has errors that nvcc says as well: code of the device alone calls functions of
 * the host, or a function throws. */
static bool refused_anyway(const char *messages)
{
    for (const char *p = messages; *p != '\0'; p = text_next_line(p))
        if (in_line(p, "call to __host__ function from __device__ function") != NULL ||
            in_line(p, "call to __host__ function from __global__ function") != NULL ||
            in_line(p, "error: cannot use 'throw' in ") != NULL ||
            (in_line(p, reference) != NULL && (in_line(p, "' in __device__ function") != NULL ||
                                               in_line(p, "' in __global__ function") != NULL)))
            return true;
    return false;
}

/* The name that a message is about, if it is about a call that is mended; the caller frees it. */
static char *called_name(const char *line)
{
    const char *name = in_line(line, reference);
    if (name == NULL)
        return NULL;
    name += sizeof reference - 1;
    const char *end = in_line(name, "' in __host__ __device__ function");
    return end == NULL || *name == '<' ? NULL : xprintf("%.*s", (int)(end - name), name);
}

/* The place that the notes after an error's first line say the function is declared at. */
static bool find_place(const char *error, const char *name, struct specifier_place *place)
{
    char *note = xprintf("note: '%s' declared here", name);
    bool found = false;
    for (const char *p = text_next_line(error); *p != '\0' && !found; p = text_next_line(p)) {
        if (in_line(p, ": error: ") != NULL || in_line(p, ": warning: ") != NULL)
            break;
        found = in_line(p, note) != NULL && specifier_place_read(p, place);
    }
    free(note);
    return found;
}

static bool add_name(struct strlist *names, const char *name)
{
    if (*name == '\0' ||
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                     "0123456789") != strlen(name) ||
        list_has(names, name))
        return false;
    list_add(names, "%s", name);
    return true;
}

static char *key_of(const struct specifier_place *place)
{
    return xprintf("%ld:%s:%s", place->line, place->word, place->file);
}

/* Constructors that must say how members begin, of which clang knows once they have a body: they
 * are left to clang's first message. */
static bool learn_constructors(const char *messages, struct host_calls *calls)
{
    bool more = false;
    for (const char *p = messages; *p != '\0'; p = text_next_line(p)) {
        struct specifier_place place = {0};
        if (in_line(p, "error: constructor for '") == NULL ||
            in_line(p, "' must explicitly initialize ") == NULL || !specifier_place_read(p, &place))
            continue;
        char *key = key_of(&place);
        for (size_t i = 0; i < calls->places.count && !list_has(&calls->left, key); i++) {
            char *known = key_of(&calls->places.items[i]);
            if (strcmp(known, key) == 0) {
                list_add(&calls->left, "%s", key);
                more = true;
            }
            free(known);
        }
        free(key);
        free(place.file);
        free(place.word);
    }
    return more;
}

/* Where the calls are. False: a call may be in a kernel. */
static bool learn_callers(const char *messages, struct host_calls *calls)
{
    for (const char *p = messages; *p != '\0'; p = text_next_line(p)) {
        struct specifier_place place = {0};
        char *name = called_name(p);
        bool known = name == NULL || specifier_place_read(p, &place);
        if (name != NULL && known)
            specifier_places_add(&calls->callers, &place);
        free(name);
        if (!known)
            return false;
    }
    return true;
}

bool host_calls_learn(const char *messages, struct host_calls *calls)
{
    bool more = learn_constructors(messages, calls);
    if (refused_anyway(messages))
        return false;
    if (calls->kernels && !learn_callers(messages, calls))
        return false;
    for (const char *p = messages; *p != '\0'; p = text_next_line(p)) {
        struct specifier_place place = {0};
        char *name = called_name(p);
        if (name == NULL)
            continue;
        if (!calls->all && strstr(messages, "too many errors emitted") != NULL) {
            free(name);
            calls->all = true;
            return true;
        }
        more |= find_place(p, name, &place) ? specifier_places_add(&calls->places, &place)
                                            : add_name(&calls->library, name);
        char *warning = xprintf("%.*swarning: calling a __host__ function ('%s') from a __host__ "
                                "__device__ function is not allowed\n",
                                (int)(in_line(p, reference) - p), p, name);
        if (!list_has(&calls->warnings, warning))
            list_add(&calls->warnings, "%s", warning);
        free(warning);
        free(name);
    }
    return more;
}

/* ---- the text ---- */

/* A declaration by its tokens. */
struct declared {
    int begin, name, end; /* end: the token after the declarator */
    int specifiers;       /* the first token that `inline` may stand before */
    bool is_inline;
};

/* The first token of the declaration in which token i is. */
static int find_begin(const struct cuda_text *x, int i)
{
    for (; i > 0; i--) {
        char before = cuda_text_one(x, i - 1);
        if (before != '\0' && strchr(";{}", before) != NULL)
            return i;
        if (before == ':' &&
            (cuda_text_is(x, i - 2, "public") || cuda_text_is(x, i - 2, "private") ||
             cuda_text_is(x, i - 2, "protected")))
            return i;
        if ((before == ')' || before == ']') && x->match[i - 1] != NONE)
            i = x->match[i - 1] + 1;
        else if (before == '(' || before == '[')
            return NONE;
    }
    return i;
}

/* After the list of template parameters that begins with the < at token i. */
static int skip_parameters(const struct cuda_text *x, int i)
{
    for (int depth = 0; i < cuda_text_count(x); i++) {
        if (x->match[i] > i)
            i = x->match[i];
        else if (cuda_text_one(x, i) == '<')
            depth++;
        else if ((depth -= cuda_text_angles(x, i)) <= 0)
            return i + 1;
    }
    return i;
}

static bool is_one_of(const struct cuda_text *x, int i, const char *const *words, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (cuda_text_is(x, i, words[k]))
            return true;
    return false;
}

/* Reads from the declaration's begin to its name. */
static bool read_specifiers(const struct cuda_text *x, struct declared *d)
{
    static const char *const refused[] = {"friend",   "constexpr", "consteval", "auto",
                                          "requires", "typedef",   "using",     "return",
                                          "new",      "throw",     "="};
    static const char *const inlines[] = {"inline", "__inline", "__inline__"};
    int i = d->begin;
    while (cuda_text_is(x, i, "template") && cuda_text_one(x, i + 1) == '<')
        i = skip_parameters(x, i + 1);
    if (cuda_text_is(x, i, "extern") && *cuda_text_token(x, i + 1)->p == '"')
        i += 2;
    while (cuda_text_one(x, i) == '[' && x->match[i] > i)
        i = x->match[i] + 1;
    d->specifiers = i;
    for (; i < d->name; i++) {
        if (is_one_of(x, i, refused, WEIR_COUNT(refused)))
            return false;
        d->is_inline |= is_one_of(x, i, inlines, WEIR_COUNT(inlines));
    }
    return i == d->name && !cuda_text_is(x, d->name - 1, "::") &&
           cuda_text_one(x, d->name - 1) != '~' && cuda_text_one(x, d->name - 1) != '.';
}

/* Reads from the name to what ends the declarator. */
static bool read_declarator(const struct cuda_text *x, struct declared *d)
{
    int i = d->name;
    bool is_operator = cuda_text_is(x, i, "operator");
    while (i < cuda_text_count(x) && cuda_text_one(x, i) != '(')
        if (i++ > d->name && !is_operator && cuda_text_one(x, i) != '(' &&
            cuda_text_one(x, d->name + 1) != '<')
            return false;
    if (is_operator && cuda_text_one(x, i + 1) == ')' && cuda_text_one(x, i + 2) == '(')
        i += 2;
    if (i >= cuda_text_count(x) || x->match[i] < i)
        return false;
    for (i = x->match[i] + 1; i < cuda_text_count(x); i++) {
        char c = cuda_text_one(x, i);
        d->end = i;
        if (c == ';' || c == '{' || c == ':' || (c == '=' && cuda_text_one(x, i + 1) == '0'))
            return true;
        if (c == '=' || c == ',' || c == '}' || cuda_text_is(x, i, "try"))
            return false;
        if (x->match[i] > i)
            i = x->match[i];
    }
    return false;
}

/* Reads the declaration of a function whose name is token i. */
static bool read_declared(const struct cuda_text *x, int i, struct declared *d)
{
    *d = (struct declared){.begin = find_begin(x, i), .name = i};
    return d->begin != NONE && d->begin <= i && read_specifiers(x, d) && read_declarator(x, d);
}

/* The token that begins at p. */
static int token_at(const struct cuda_text *x, const char *p)
{
    int low = 0, high = cuda_text_count(x);
    while (low < high) {
        int middle = (low + high) / 2;
        if (cuda_text_token(x, middle)->p < p)
            low = middle + 1;
        else
            high = middle;
    }
    return low < cuda_text_count(x) && cuda_text_token(x, low)->p == p ? low : NONE;
}

/* Where a function of the C library is declared. */
static bool find_library(const struct cuda_text *x, const char *name, struct declared *d)
{
    for (int i = 1; i < cuda_text_count(x); i++)
        if (cuda_text_is(x, i, name) && cuda_text_one(x, i + 1) == '(' && read_declared(x, i, d) &&
            cuda_text_is(x, d->begin, "extern") && cuda_text_one(x, d->end) == ';')
            return true;
    return false;
}

struct declarations {
    struct declared *items; /* in the order of the text, each once */
    size_t count, cap;
};

/* Adds it in its place, unless it is there. */
static void add(struct declarations *all, const struct declared *d)
{
    size_t at = all->count;
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].begin == d->begin)
            return;
    vec_push(all, *d);
    for (; at > 0 && all->items[at - 1].begin > d->begin; at--)
        all->items[at] = all->items[at - 1];
    all->items[at] = *d;
}

/* The overload for the device, on one line. That of a virtual function is not virtual: the device's
 * table has no function of the host, nor has a derived class one that overrides it for the device.
 */
static void write_overload(const struct cuda_text *x, const struct declared *d, struct strbuf *out)
{
    static const char *const left_out[] = {"virtual", "override", "final"};
    for (int i = d->begin; i < d->end; i++) {
        const struct token *t = cuda_text_token(x, i);
        if (is_one_of(x, i, left_out, WEIR_COUNT(left_out)))
            continue;
        if (i == d->specifiers && !d->is_inline)
            sb_printf(out, "inline ");
        if (i == d->name)
            sb_printf(out, "__attribute__((device, noinline)) ");
        sb_append(out, t->p, t->n);
        /* operators of two characters are two tokens here */
        const char *after = t->p + t->n;
        if (i + 1 < d->end && cuda_text_token(x, i + 1)->p != after)
            sb_append(out, " ", 1);
    }
    sb_printf(out, " { ::__weir_host_called(__PRETTY_FUNCTION__, __builtin_FILE(), "
                   "__builtin_LINE()); } ");
}

/* Whether one of the calls is in a kernel, or nobody knows. */
static bool kernels_call(const struct cuda_text *x, const char *text,
                         const struct host_calls *calls)
{
    for (size_t i = 0; calls->kernels && i < calls->callers.count; i++) {
        const char *p = specifier_place_find(text, &calls->callers.items[i]);
        int token = p != NULL ? token_at(x, p) : NONE;
        if (token == NONE || kernel_bodies_hold(x, token))
            return true;
    }
    return false;
}

int host_calls_write(const char *text, const struct host_calls *calls, struct strbuf *out)
{
    static const char ending[] =
        "__attribute__((device, noreturn, unused)) static void __weir_host_called("
        "const char *function, const char *file, unsigned line) { "
        "extern __attribute__((device)) void __weir_host_call_failed(const char *, const char *, "
        "unsigned, const char *, unsigned long) asm(\"__assertfail\"); "
        "__weir_host_call_failed(\"device code calls a __host__ function\", file, line, function, "
        "1); __builtin_trap(); }\n";
    struct cuda_text x;
    struct declarations all = {0};
    struct declared d;
    cuda_text_read(&x, text);
    bool refused = kernels_call(&x, text, calls);
    for (size_t i = 0; !refused && i < calls->places.count; i++) {
        char *key = key_of(&calls->places.items[i]);
        const char *p = list_has(&calls->left, key)
                            ? NULL
                            : specifier_place_find(text, &calls->places.items[i]);
        int name = p != NULL ? token_at(&x, p) : NONE;
        free(key);
        if (name != NONE && read_declared(&x, name, &d))
            add(&all, &d);
    }
    for (size_t i = 0; !refused && i < calls->library.count; i++)
        if (find_library(&x, calls->library.items[i], &d))
            add(&all, &d);
    if (all.count > 0)
        sb_printf(out, "%s", ending);
    const char *done = text;
    for (size_t i = 0; i < all.count; i++) {
        const char *begin = cuda_text_token(&x, all.items[i].begin)->p;
        sb_append(out, done, (size_t)(begin - done));
        write_overload(&x, &all.items[i], out);
        done = begin;
    }
    sb_append(out, done, strlen(done));
    cuda_text_free(&x);
    int count = (int)all.count;
    free(all.items);
    return count;
}
