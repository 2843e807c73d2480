/* Rewriting launches in device code; see launches.h. */
#include "weircc/source/launches.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "weircc/source/cuda_text.h"
#include "weircc/files/files.h"

bool launches_are_why(const char *messages)
{
    return strstr(messages, "error: reference to __global__ function '") != NULL ||
           strstr(messages, "reference to __host__ function '__cudaPushCallConfiguration'") !=
               NULL ||
           strstr(messages, "candidate function not viable: call to __global__ function from") !=
               NULL;
}

/* ---- the text ---- */

enum { NONE = CUDA_TEXT_NONE };

/* What is done to a token when it is written. */
enum mark {
    MARK_KEEP,
    MARK_GLOBAL, /* the attribute of kernels: replaced */
    MARK_BODY,   /* the brace that opens a kernel's body: followed by a statement */
};

struct launch {
    struct cuda_launch at;
    bool taken; /* on the host: in a function of the device alone */
};

/* A name that is declared as a parameter pack somewhere in the text. */
struct pack {
    int name;  /* token */
    bool type; /* of types, else of values */
};

struct rewriter {
    struct cuda_text x;
    enum launch_side side;
    int *at; /* of each token the number of the launch that begins with it, or NONE */
    uint8_t *marks;
    struct {
        struct launch *items;
        size_t count, cap;
    } launches;
    struct {
        struct pack *items;
        size_t count, cap;
    } packs;
    struct strbuf *out;
    int changes;
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
static bool is_ellipsis(const struct rewriter *r, int i) { return cuda_text_is_ellipsis(&r->x, i); }

/* ---- finding launches ---- */

static void find_launches(struct rewriter *r)
{
    for (int i = 0; i < count(r); i++) {
        struct launch l = {.taken = false};
        if (!is(r, i, "<<<") || !cuda_text_find_launch(&r->x, i, &l.at))
            continue;
        r->at[l.at.begin] = (int)r->launches.count;
        vec_push(&r->launches, l);
    }
}

/* ---- kernels and where code runs ---- */

/* A declaration whose attributes are read. */
struct reading {
    struct rewriter *r;
    struct cuda_sides *sides;
};

static void read_word(void *self, int i)
{
    struct reading *reading = self;
    cuda_text_add_side(&reading->r->x, i, reading->sides);
    if (is(reading->r, i, "global"))
        reading->r->marks[i] = MARK_GLOBAL;
}

/* Reads __attribute__((...)) at token i. Marks the attribute of kernels. Returns the last token. */
static int read_attribute(struct rewriter *r, int i, struct cuda_sides *s)
{
    struct reading reading = {r, s};
    return cuda_text_read_attribute(&r->x, i, read_word, &reading);
}

/* The brace that opens the body of the function declared around token i, NONE if it has none. */
static int find_body(const struct rewriter *r, int i)
{
    for (; i < count(r); i++) {
        char c = one(r, i);
        if (c == '{')
            return i;
        if (c == ';' || c == '}')
            return NONE;
        if (r->x.match[i] != NONE)
            i = r->x.match[i];
    }
    return NONE;
}

/* A function, or another pair of brackets, on the way through the text. */
struct scope {
    struct cuda_sides seen; /* attributes since the last end of a statement or body in it */
    bool device_only;       /* its code runs on the device and nowhere else */
};

struct scopes {
    struct scope *items;
    size_t count, cap;
};

/* Marks kernels, and the launches that are in functions of the device alone. */
static void read_functions(struct rewriter *r)
{
    struct scopes stack = {0};
    vec_push(&stack, (struct scope){0});
    size_t next = 0; /* launch, in the order of the text */
    for (int i = 0; i < count(r); i++) {
        struct scope *s = &stack.items[stack.count - 1];
        char c = one(r, i);
        if (is(r, i, "__attribute__")) {
            bool before = s->seen.global;
            i = read_attribute(r, i, &s->seen);
            int body = s->seen.global && !before ? find_body(r, i + 1) : NONE;
            if (body != NONE)
                r->marks[body] = MARK_BODY;
        } else if (next < r->launches.count && r->launches.items[next].at.open == i) {
            r->launches.items[next++].taken = s->device_only;
        } else if (c == '{' || c == '(') {
            struct scope inner = {.device_only =
                                      c == '{' ? cuda_text_is_device_only(&s->seen, s->device_only)
                                               : s->device_only};
            vec_push(&stack, inner);
        } else if ((c == '}' || c == ')') && stack.count > 1) {
            stack.count--;
            if (c == '}')
                stack.items[stack.count - 1].seen = (struct cuda_sides){0};
        } else if (c == ';') {
            s->seen = (struct cuda_sides){0};
        }
    }
    free(stack.items);
}

/* ---- parameter packs ---- */

/* A launch in a pattern that `...` expands must leave its packs where it is taken out. */

static bool same_word(const struct rewriter *r, int a, int b)
{
    return tok(r, a)->n == tok(r, b)->n && memcmp(tok(r, a)->p, tok(r, b)->p, tok(r, a)->n) == 0;
}

/* Whether `concept` introduces the word at token i. */
static bool is_concept(const struct rewriter *r, int i)
{
    for (int k = 1; k < i; k++)
        if (is(r, k - 1, "concept") && same_word(r, k, i))
            return true;
    return false;
}

static void find_packs(struct rewriter *r)
{
    for (int i = 1; i + 3 < count(r); i++) {
        if (!is_ellipsis(r, i) || !cuda_text_is_name(&r->x, i + 3) || is(r, i - 1, "sizeof"))
            continue;
        bool type = is(r, i - 1, "typename") || is(r, i - 1, "class") || is_concept(r, i - 1);
        struct pack p = {.name = i + 3, .type = type};
        vec_push(&r->packs, p);
    }
}

/* Whether a `...` within the launch expands what stands at token i. */
static bool is_expanded(const struct rewriter *r, const struct launch *l, int i)
{
    for (int k = i + 1; k <= l->at.last; k++) {
        char c = one(r, k);
        if (is_ellipsis(r, k))
            return true;
        if (c == '(' || c == '[' || c == '{') {
            k = r->x.match[k] != NONE ? r->x.match[k] : k;
        } else if (c == ',' || is(r, k, ">>>")) { /* on after the brackets around it */
            while (k < l->at.last && (r->x.match[k] == NONE || r->x.match[k] > k))
                k = r->x.match[k] != NONE ? r->x.match[k] + 1 : k + 1;
            k--;
        } else if (c == ')' && r->x.match[k] >= 3 && is_ellipsis(r, r->x.match[k] - 3)) {
            return true; /* sizeof...(pack) */
        }
    }
    return false;
}

/* Whether the launch may be part of a pattern that a `...` after it expands, or one before it that
 * folds. Lambdas in between are looked through. */
static bool is_in_pattern(const struct rewriter *r, const struct launch *l)
{
    for (int k = l->at.last + 1; k < count(r); k++) {
        if (is_ellipsis(r, k))
            return true;
        if (one(r, k) == '}' && one(r, k + 1) != '(' && one(r, k + 1) != ')' &&
            one(r, k + 1) != ',' && !is_ellipsis(r, k + 1))
            break;
        if (r->x.match[k] > k)
            k = r->x.match[k];
    }
    for (int k = l->at.begin - 1; k >= 0 && one(r, k) != ';' && one(r, k) != '{'; k--) {
        if (is_ellipsis(r, k))
            return true;
        if (r->x.match[k] != NONE && r->x.match[k] < k)
            k = r->x.match[k];
    }
    return false;
}

/* What a launch that is taken out leaves: an expression of no value with the same packs. */
static void write_packs(struct rewriter *r, const struct launch *l)
{
    for (size_t n = 0; n < r->packs.count && is_in_pattern(r, l); n++) {
        const struct pack *p = &r->packs.items[n];
        const struct token *name = tok(r, p->name);
        for (int i = l->at.begin; i <= l->at.last; i++) {
            if (!same_word(r, i, p->name) || is_expanded(r, l, i) || one(r, i - 1) == '.' ||
                is(r, i - 1, "->") || is(r, i - 1, "::"))
                continue;
            sb_printf(r->out, p->type ? "(void)sizeof(%.*s(*)()), " : "(void)(%.*s), ",
                      (int)name->n, name->p);
            break;
        }
    }
}

/* ---- writing ---- */

static void write_tokens(struct rewriter *r, int from, int to, bool first_blank);

/* Tokens [from, to) on one line. */
static void write_flat(struct rewriter *r, int from, int to)
{
    struct strbuf *out = r->out, text = {0};
    sb_append(&text, "", 0);
    r->out = &text;
    write_tokens(r, from, to, false);
    r->out = out;
    for (const char *p = text.items; *p != '\0'; p++) {
        if (*p == '\n' && p[1] == '#')
            p += 1 + strcspn(p + 1, "\n") - 1;
        else
            sb_append(out, *p == '\n' ? " " : p, 1);
    }
    sb_free(&text);
}

static void write_launch(struct rewriter *r, const struct launch *l)
{
    static const char prefix[] = LAUNCH_PREFIX;
    r->changes++;
    if (r->side == LAUNCH_HOST) {
        sb_append(r->out, "(", 1);
        write_packs(r, l);
        sb_append(r->out, "(void)0)", 8);
        cuda_text_write_lines(&r->x, l->at.begin + 1, l->at.last + 1, r->out);
        return;
    }
    r->at[l->at.begin] = NONE; /* the callee is written as it stands */
    sb_append(r->out, prefix, sizeof prefix - 1);
    write_flat(r, l->at.open + 1, l->at.close);
    sb_append(r->out, "), ", 3);
    write_tokens(r, l->at.begin, l->at.open, false);
    cuda_text_write_lines(&r->x, l->at.open, l->at.close + 1, r->out);
    write_tokens(r, l->at.close + 1, l->at.last + 1, true);
    static const char suffix[] = LAUNCH_SUFFIX;
    sb_append(r->out, suffix, sizeof suffix - 1);
}

/* The attributes of a kernel that device code may call. Nothing between functions may be inferred
 * or changed about it: every call is a launch, that to itself in the last statement, too. */
static const char kernel_attributes[] = LAUNCH_KERNEL_ATTRIBUTES;
static const char kernel_statement[] = " " LAUNCH_KERNEL_STATEMENT;

static void write_tokens(struct rewriter *r, int from, int to, bool first_blank)
{
    for (int i = from; i < to; i++) {
        if (i > from || first_blank)
            cuda_text_write_blank(&r->x, i, r->out);
        const struct launch *l = r->at[i] != NONE ? &r->launches.items[r->at[i]] : NULL;
        if (l != NULL && (r->side == LAUNCH_DEVICE || l->taken)) {
            write_launch(r, l);
            i = l->at.last;
        } else if (r->side == LAUNCH_DEVICE && r->marks[i] == MARK_GLOBAL) {
            sb_append(r->out, kernel_attributes, sizeof kernel_attributes - 1);
        } else {
            sb_append(r->out, tok(r, i)->p, tok(r, i)->n);
            if (r->side == LAUNCH_DEVICE && r->marks[i] == MARK_BODY)
                sb_append(r->out, kernel_statement, sizeof kernel_statement - 1);
        }
    }
}

int launches_rewrite(const char *text, enum launch_side side, struct strbuf *out)
{
    struct rewriter r = {.side = side, .out = out};
    sb_append(out, "", 0);
    cuda_text_read(&r.x, text);
    r.at = xmalloc((r.x.t.count + 1) * sizeof *r.at);
    r.marks = xcalloc(r.x.t.count + 1, 1);
    for (size_t i = 0; i < r.x.t.count; i++)
        r.at[i] = NONE;
    find_launches(&r);
    if (side == LAUNCH_HOST && r.launches.count > 0)
        find_packs(&r);
    read_functions(&r);
    write_tokens(&r, 0, count(&r), true);
    cuda_text_write_blank(&r.x, count(&r), out);
    if (side == LAUNCH_DEVICE)
        sb_printf(out, "\nstatic __attribute__((global, used)) void %s() {}\n",
                  LAUNCH_STATIC_KERNEL);
    cuda_text_free(&r.x);
    free(r.at);
    free(r.marks);
    free(r.launches.items);
    free(r.packs.items);
    return r.changes;
}

bool launches_rewrite_file(const char *path, enum launch_side side, struct diag *d)
{
    char *text = file_read(path, NULL, d);
    if (text == NULL)
        return false;
    struct strbuf out = {0};
    launches_rewrite(text, side, &out);
    free(text);
    bool ok = file_write(path, out.items, out.count, d);
    sb_free(&out);
    return ok;
}
