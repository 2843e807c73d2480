/* Rewriting the host half of CUDA files; see host_text.h. */
#include "weircc/ccbin/host_text.h"

#include <stdlib.h>
#include <string.h>

#include "weircc/ccbin/declaration.h"
#include "weircc/ccbin/parameters.h"
#include "weircc/source/cuda_text.h"
#include "weircc/files/files.h"

enum { NONE = CUDA_TEXT_NONE };

/* A pair of brackets on the way through the text, or all of it. */
struct scope {
    int begin;               /* of the statement or declaration that is being read */
    struct cuda_sides seen;  /* attributes in it so far */
    struct declaration what; /* if it has any */
    bool declared;           /* it has: `what` holds */
};

struct rewriter {
    struct cuda_text x;
    char **before;  /* of each token what is written before it, or NULL */
    char **instead; /* of each token what is written in its place, or NULL */
    int *resume;    /* of each token the one after those that are left out from here, NONE: none */
    struct {
        struct scope *items;
        size_t count, cap;
    } scopes;
    struct diag *d;
    bool ok;
};

static const struct token *tok(const struct rewriter *r, int i)
{
    return cuda_text_token(&r->x, i);
}
static int count(const struct rewriter *r) { return cuda_text_count(&r->x); }
static bool is(const struct rewriter *r, int i, const char *text)
{
    return cuda_text_is(&r->x, i, text);
}
static char one(const struct rewriter *r, int i) { return cuda_text_one(&r->x, i); }
static struct scope *current(struct rewriter *r) { return &r->scopes.items[r->scopes.count - 1]; }

/* Adds to what is written before token i. */
static void put_before(struct rewriter *r, int i, const char *text)
{
    char *old = r->before[i];
    r->before[i] = old != NULL ? xprintf("%s%s", old, text) : xstrdup(text);
    free(old);
}

static void put_instead(struct rewriter *r, int i, const char *text)
{
    free(r->instead[i]);
    r->instead[i] = xstrdup(text);
}

/* ---- attributes ---- */

/* What attributes of CUDA are for a compiler that does not know them: kernels and variables are
 * kept though no host code uses them, and nobody is told that a function has no use. host_records.h
 * knows variables of the device by their visibility, which nothing else has. */
static void replace_attribute(struct rewriter *r, int i, const struct declaration *what)
{
    static const char *const words[] = {"host",     "device",        "global",  "shared",
                                        "constant", "launch_bounds", "managed", "nv_weak"};
    bool found = false;
    for (size_t k = 0; k < WEIR_COUNT(words); k++)
        found = found || is(r, i, words[k]);
    if (!found)
        return;
    bool variable = !what->function && !what->external && !what->constant;
    bool shadow = variable && (is(r, i, "device") || is(r, i, "constant"));
    put_instead(r, i,
                shadow               ? "used, visibility(\"internal\")"
                : is(r, i, "global") ? "used"
                                     : "unused");
    if (one(r, i + 1) == '(' && r->x.match[i + 1] != NONE)
        r->resume[i + 1] = r->x.match[i + 1] + 1;
}

struct words {
    struct rewriter *r;
    struct cuda_sides sides; /* what the attribute says */
    bool cuda;               /* it has one of CUDA's words */
};

static void read_word(void *self, int i)
{
    static const char *const others[] = {"shared", "constant", "launch_bounds", "managed"};
    struct words *w = self;
    cuda_text_add_side(&w->r->x, i, &w->sides);
    w->cuda |= w->sides.host || w->sides.device || w->sides.global;
    for (size_t k = 0; k < WEIR_COUNT(others); k++)
        w->cuda |= is(w->r, i, others[k]);
}

struct replacing {
    struct rewriter *r;
    const struct declaration *what;
};

static void replace_word(void *self, int i)
{
    struct replacing *p = self;
    replace_attribute(p->r, i, p->what);
}

/* Whether the attribute at token i belongs to a lambda: what introduces it stands before. */
static bool is_of_lambda(const struct rewriter *r, int i)
{
    int before = i - 1;
    while (one(r, before) == ')' && r->x.match[before] != NONE &&
           is(r, r->x.match[before] - 1, "__attribute__"))
        before = r->x.match[before] - 2;
    if (one(r, before) == ')' && r->x.match[before] != NONE) /* [](int x) __device__ { ... } */
        before = r->x.match[before] - 1;
    if (one(r, before) == '>')
        before = cuda_text_find_angle(&r->x, before) - 1;
    if (one(r, before) != ']' || r->x.match[before] == NONE)
        return false;
    int open = r->x.match[before];
    return !cuda_text_is_name(&r->x, open - 1) && one(r, open - 1) != ']' &&
           one(r, open - 1) != ')' && one(r, open + 1) != '[';
}

/* Reads __attribute__((...)) at token i. Returns the last token. */
static int read_attribute(struct rewriter *r, int i)
{
    struct words w = {.r = r};
    int last = cuda_text_read_attribute(&r->x, i, read_word, &w);
    if (!w.cuda)
        return last;
    if (is_of_lambda(r, i)) {
        r->resume[i] = last + 1;
        return last;
    }
    struct scope *s = current(r);
    if (!s->declared) {
        s->what = declaration_read(&r->x, s->begin, i);
        s->declared = true;
    }
    s->seen.host |= w.sides.host;
    s->seen.device |= w.sides.device;
    s->seen.global |= w.sides.global;
    if (s->what.guide) {
        r->resume[i] = last + 1;
        return last;
    }
    struct replacing p = {r, &s->what};
    cuda_text_read_attribute(&r->x, i, replace_word, &p);
    return last;
}

/* ---- bodies ---- */

/* Leaves the text out between the brace of a body and the other one. */
static void empty_body(struct rewriter *r, int body, const char *text)
{
    int close = r->x.match[body];
    if (close > body + 1)
        r->resume[body + 1] = close;
    put_before(r, close, text);
}

static void write_stub(struct rewriter *r, const struct declaration *what)
{
    struct parameters p;
    struct strbuf addresses = {0}, sizes = {0};
    parameters_read(&p, &r->x, what->params);
    if (p.unclear != NONE) {
        r->ok = diag_set(r->d, 0, 0,
                         "--host-frontend=ccbin needs a name for each parameter of a kernel whose "
                         "type is written around its name: a pointer to a function, an array");
        free(p.items);
        return;
    }
    for (size_t i = 0; i < p.count; i++) {
        char *name = p.items[i].name != NONE ? xprintf("%.*s", (int)tok(r, p.items[i].name)->n,
                                                       tok(r, p.items[i].name)->p)
                                             : xprintf("__weir_parameter_%zu", i);
        if (p.items[i].name == NONE) {
            char *inserted = xprintf(" %s", name);
            put_before(r, p.items[i].end, inserted);
            free(inserted);
        }
        const char *each = p.items[i].pack ? "..." : "";
        sb_printf(&addresses, "(void *)__builtin_addressof(%s)%s, ", name, each);
        sb_printf(&sizes, "sizeof(%s)%s, ", name, each);
        free(name);
    }
    sb_append(&addresses, "", 0);
    sb_append(&sizes, "", 0);
    char *stub =
        xprintf("static __attribute__((used)) unsigned long " HOST_TEXT_KEY "[] = {1, %s}; "
                "void *__weir_arguments[] = {%snullptr}; "
                "::__weir_launch_stub(" HOST_TEXT_KEY ", __weir_arguments); ",
                sizes.items, addresses.items);
    empty_body(r, what->body, stub);
    free(stub);
    sb_free(&addresses);
    sb_free(&sizes);
    free(p.items);
}

/* Reads the body that begins at token i. Returns the token after which to go on. */
static int read_body(struct rewriter *r, int i)
{
    struct scope *s = current(r);
    const struct declaration what = s->what;
    bool kernel = s->seen.global;
    bool device_only = cuda_text_is_device_only(&s->seen, false);
    if (r->x.match[i] == NONE || !device_only || (!kernel && (what.deduced || what.constant)))
        return i - 1;
    if (kernel)
        write_stub(r, &what);
    else
        empty_body(r, i, what.returns ? "__builtin_trap(); " : "");
    *s = (struct scope){.begin = r->x.match[i] + 1};
    return r->x.match[i];
}

/* ---- launches ---- */

/* Tokens [from, to) on one line. */
static char *flat(const struct rewriter *r, int from, int to)
{
    struct strbuf text = {0};
    sb_append(&text, "", 0);
    for (int i = from; i < to; i++)
        sb_printf(&text, "%s%.*s",
                  i > from && tok(r, i)->p > tok(r, i - 1)->p + tok(r, i - 1)->n ? " " : "",
                  (int)tok(r, i)->n, tok(r, i)->p);
    return text.items;
}

static void rewrite_launch(struct rewriter *r, int open)
{
    struct cuda_launch l;
    if (!cuda_text_find_launch(&r->x, open, &l))
        return;
    char *configuration = flat(r, l.open + 1, l.close);
    char *begin = xprintf("(::__cudaPushCallConfiguration(%s) ? (void)0 : ", configuration);
    put_before(r, l.begin, begin);
    r->resume[l.open] = l.close + 1;
    put_instead(r, l.last, "))");
    free(begin);
    free(configuration);
}

/* ---- the text ---- */

static void next_statement(struct rewriter *r, int i) { *current(r) = (struct scope){.begin = i}; }

/* Whether the brace at token i is one before a body: of a member's initializer, say. */
static bool is_before_body(struct rewriter *r, int i)
{
    const struct scope *s = current(r);
    return s->declared && s->what.body > i;
}

static bool is_access(const struct rewriter *r, int i)
{
    return is(r, i, "public") || is(r, i, "private") || is(r, i, "protected");
}

static void read_text(struct rewriter *r)
{
    vec_push(&r->scopes, (struct scope){0});
    for (int i = 0; i < count(r) && r->ok; i++) {
        struct scope *s = current(r);
        char c = one(r, i);
        if (is(r, i, "__attribute__")) {
            i = read_attribute(r, i);
        } else if (c == '{' && s->declared && s->what.body == i &&
                   read_body(r, i) == r->x.match[i]) {
            i = r->x.match[i];
        } else if (c == '{' || c == '(') {
            vec_push(&r->scopes, (struct scope){.begin = i + 1});
        } else if ((c == '}' || c == ')') && r->scopes.count > 1) {
            r->scopes.count--;
            if (c == '}' && !is_before_body(r, i))
                next_statement(r, i + 1);
        } else if (c == ';' || (c == ':' && is_access(r, i - 1))) {
            next_statement(r, i + 1);
        } else if (is(r, i, "<<<")) {
            rewrite_launch(r, i);
        }
    }
}

static void write_text(const struct rewriter *r, struct strbuf *out)
{
    for (int i = 0; i < count(r); i++) {
        if (r->resume[i] != NONE && r->resume[i] == r->x.match[i > 0 ? i - 1 : 0])
            cuda_text_write_places(&r->x, i, i + 1, out); /* all between two braces is left out */
        else
            cuda_text_write_blank(&r->x, i, out);
        if (r->before[i] != NULL)
            sb_append(out, r->before[i], strlen(r->before[i]));
        if (r->resume[i] != NONE) {
            cuda_text_write_places(&r->x, i + 1, r->resume[i], out);
            i = r->resume[i] - 1;
        } else if (r->instead[i] != NULL) {
            sb_append(out, r->instead[i], strlen(r->instead[i]));
        } else {
            sb_append(out, tok(r, i)->p, tok(r, i)->n);
        }
    }
    cuda_text_write_blank(&r->x, count(r), out);
}

bool host_text_rewrite(const char *text, struct strbuf *out, struct diag *d)
{
    struct rewriter r = {.d = d, .ok = true};
    cuda_text_read(&r.x, text);
    size_t n = r.x.t.count + 1;
    r.before = xcalloc(n, sizeof *r.before);
    r.instead = xcalloc(n, sizeof *r.instead);
    r.resume = xmalloc(n * sizeof *r.resume);
    for (size_t i = 0; i < n; i++)
        r.resume[i] = NONE;
    read_text(&r);
    sb_append(out, "", 0);
    if (r.ok)
        write_text(&r, out);
    for (size_t i = 0; i < n; i++) {
        free(r.before[i]);
        free(r.instead[i]);
    }
    free(r.before);
    free(r.instead);
    free(r.resume);
    free(r.scopes.items);
    cuda_text_free(&r.x);
    return r.ok;
}

bool host_text_rewrite_file(const char *input, const char *output, struct diag *d)
{
    char *text = file_read(input, NULL, d);
    if (text == NULL)
        return false;
    struct strbuf out = {0};
    bool ok = host_text_rewrite(text, &out, d) && file_write(output, out.items, out.count, d);
    sb_free(&out);
    free(text);
    return ok;
}
