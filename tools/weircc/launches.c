/* Rewriting launches in device code; see launches.h. */
#include "launches.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "tokens.h"

bool launches_are_why(const char *messages)
{
    return strstr(messages, "error: reference to __global__ function '") != NULL ||
           strstr(messages, "reference to __host__ function '__cudaPushCallConfiguration'") !=
               NULL ||
           strstr(messages, "candidate function not viable: call to __global__ function from") !=
               NULL;
}

/* ---- the text ---- */

enum { NONE = -1 };

/* What is done to a token when it is written. */
enum mark {
    MARK_KEEP,
    MARK_GLOBAL, /* the attribute of kernels: replaced */
    MARK_BODY,   /* the brace that opens a kernel's body: followed by a statement */
};

/* callee<<<configuration>>>(arguments): indices of tokens. */
struct launch {
    int begin;  /* first of the callee */
    int open;   /* <<< */
    int close;  /* >>>; the parenthesis of the arguments follows */
    int last;   /* the parenthesis that closes them */
    bool taken; /* on the host: in a function of the device alone */
};

/* A name that is declared as a parameter pack somewhere in the text. */
struct pack {
    int name;  /* token */
    bool type; /* of types, else of values */
};

struct rewriter {
    const char *text;
    enum launch_side side;
    struct tokens t;
    int *match; /* of each bracket the other one, NONE for all other tokens */
    int *at;    /* of each token the number of the launch that begins with it, or NONE */
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

static const struct token *tok(const struct rewriter *r, int i) { return &r->t.items[i]; }
static int count(const struct rewriter *r) { return (int)r->t.count; }
static bool is(const struct rewriter *r, int i, const char *text)
{
    return i >= 0 && i < count(r) && token_is(tok(r, i), text);
}

static char one(const struct rewriter *r, int i)
{
    return i >= 0 && i < count(r) && tok(r, i)->n == 1 ? *tok(r, i)->p : '\0';
}

static void match_brackets(struct rewriter *r)
{
    struct {
        int *items;
        size_t count, cap;
    } open = {0};
    for (int i = 0; i < count(r); i++) {
        char c = one(r, i);
        r->match[i] = NONE;
        if (c == '(' || c == '[' || c == '{') {
            vec_push(&open, i);
        } else if ((c == ')' || c == ']' || c == '}') && open.count > 0) {
            int partner = open.items[--open.count];
            r->match[i] = partner;
            r->match[partner] = i;
        }
    }
    free(open.items);
}

/* ---- finding launches ---- */

static bool is_one_of(const struct rewriter *r, int i, const char *const *words, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (is(r, i, words[k]))
            return true;
    return false;
}

/* A word that can be (the end of) an operand. */
static bool is_name(const struct rewriter *r, int i)
{
    static const char *const others[] = {"return", "else",     "do",       "case",      "goto",
                                         "throw",  "and",      "or",       "not",       "new",
                                         "delete", "sizeof",   "if",       "while",     "for",
                                         "switch", "co_await", "co_yield", "co_return", "operator"};
    return i >= 0 && token_is_word(*tok(r, i)->p) && !isdigit((unsigned char)*tok(r, i)->p) &&
           !is_one_of(r, i, others, WEIR_COUNT(others));
}

/* How many template argument lists the token could close. */
static int angles(const struct rewriter *r, int i)
{
    return *tok(r, i)->p == '>' && !is(r, i, ">=") ? (int)tok(r, i)->n : 0;
}

/* The < that belongs to the template argument list which ends at token i. */
static int find_angle(const struct rewriter *r, int i)
{
    int depth = 0;
    for (; i >= 0; i--) {
        char c = one(r, i);
        if (c == ')' || c == ']' || c == '}')
            i = r->match[i];
        else if (c == '(' || c == '[' || c == '{' || c == ';')
            return NONE;
        else if (c == '<' && --depth == 0)
            return i;
        else
            depth += angles(r, i);
    }
    return NONE;
}

/* Whether the group in parentheses that begins at i belongs to what stands before it: the
 * arguments of a call, an index. */
static bool is_applied(const struct rewriter *r, int i)
{
    static const char *const statements[] = {"if", "while", "for", "switch", "constexpr"};
    if (is_name(r, i - 1) || one(r, i - 1) == ']' || one(r, i - 1) == '>')
        return !is(r, i - 1, "constexpr");
    if (one(r, i - 1) != ')' || r->match[i - 1] == NONE)
        return false;
    return !is_one_of(r, r->match[i - 1] - 1, statements, WEIR_COUNT(statements));
}

/* The first token of the postfix expression that ends before token i, NONE if there is none. */
static int find_operand(const struct rewriter *r, int i)
{
    while (i > 0) {
        int j = i - 1;
        if (one(r, j) == ')' || one(r, j) == ']') {
            j = r->match[j];
            if (j == NONE)
                return NONE;
            if (!is_applied(r, j))
                return one(r, j) == '(' ? j : NONE;
            i = j;
            continue;
        }
        if (angles(r, j) > 0)
            j = find_angle(r, j) - 1;
        if (!is_name(r, j))
            return NONE;
        if (is(r, j - 1, "template"))
            j--;
        if (is(r, j - 1, "::") && !is_name(r, j - 2) && one(r, j - 2) != '>')
            return j - 1;
        if (is(r, j - 1, "::") || is(r, j - 1, "->") || one(r, j - 1) == '.')
            i = j - 1;
        else
            return j;
    }
    return NONE;
}

/* The >>> of the configuration that begins at token `open`: the last one before the statement ends
 * or another launch begins, since template arguments in the configuration may end in >>>, too. */
static int find_close(const struct rewriter *r, int open)
{
    int close = NONE;
    for (int i = open + 1; i < count(r); i++) {
        char c = one(r, i);
        if (c == ';' || c == ')' || c == ']' || c == '}' || is(r, i, "<<<"))
            break;
        if (is(r, i, ">>>") && one(r, i + 1) == '(')
            close = i;
        if (r->match[i] != NONE)
            i = r->match[i];
    }
    return close;
}

static void find_launches(struct rewriter *r)
{
    for (int i = 0; i < count(r); i++) {
        if (!is(r, i, "<<<"))
            continue;
        struct launch l = {.open = i, .begin = find_operand(r, i), .close = find_close(r, i)};
        if (l.begin == NONE || l.close == NONE || r->match[l.close + 1] == NONE)
            continue; /* clang says what is wrong with it */
        l.last = r->match[l.close + 1];
        r->at[l.begin] = (int)r->launches.count;
        vec_push(&r->launches, l);
    }
}

/* ---- kernels and where code runs ---- */

/* What the attributes of a declaration say. */
struct sides {
    bool host, device, global;
};

/* Reads __attribute__((...)) at token i. Marks the attribute of kernels. Returns the last token. */
static int read_attribute(struct rewriter *r, int i, struct sides *s)
{
    if (one(r, i + 1) != '(' || one(r, i + 2) != '(' || r->match[i + 1] == NONE ||
        r->match[i + 2] == NONE)
        return i;
    for (int k = i + 3; k < r->match[i + 2]; k++) {
        if (r->match[k] != NONE)
            k = r->match[k];
        s->host |= is(r, k, "host");
        s->device |= is(r, k, "device");
        if (is(r, k, "global")) {
            s->global = true;
            r->marks[k] = MARK_GLOBAL;
        }
    }
    return r->match[i + 1];
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
        if (r->match[i] != NONE)
            i = r->match[i];
    }
    return NONE;
}

/* A function, or another pair of brackets, on the way through the text. */
struct scope {
    struct sides seen; /* attributes since the last end of a statement or body in it */
    bool device_only;  /* its code runs on the device and nowhere else */
};

struct scopes {
    struct scope *items;
    size_t count, cap;
};

/* Whether code in the braces that now open runs on the device alone: as the attributes just seen
 * say, else as the code around them. */
static bool opens_device_only(const struct scope *around)
{
    const struct sides *s = &around->seen;
    if (s->global)
        return true;
    return s->host || s->device ? !s->host : around->device_only;
}

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
        } else if (next < r->launches.count && r->launches.items[next].open == i) {
            r->launches.items[next++].taken = s->device_only;
        } else if (c == '{' || c == '(') {
            struct scope inner = {.device_only = c == '{' ? opens_device_only(s) : s->device_only};
            vec_push(&stack, inner);
        } else if ((c == '}' || c == ')') && stack.count > 1) {
            stack.count--;
            if (c == '}')
                stack.items[stack.count - 1].seen = (struct sides){0};
        } else if (c == ';') {
            s->seen = (struct sides){0};
        }
    }
    free(stack.items);
}

/* ---- parameter packs ---- */

/* A launch in a pattern that `...` expands must leave its packs where it is taken out. */

static bool is_ellipsis(const struct rewriter *r, int i)
{
    return one(r, i) == '.' && one(r, i + 1) == '.' && one(r, i + 2) == '.';
}

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
        if (!is_ellipsis(r, i) || !is_name(r, i + 3) || is(r, i - 1, "sizeof"))
            continue;
        bool type = is(r, i - 1, "typename") || is(r, i - 1, "class") || is_concept(r, i - 1);
        struct pack p = {.name = i + 3, .type = type};
        vec_push(&r->packs, p);
    }
}

/* Whether a `...` within the launch expands what stands at token i. */
static bool is_expanded(const struct rewriter *r, const struct launch *l, int i)
{
    for (int k = i + 1; k <= l->last; k++) {
        char c = one(r, k);
        if (is_ellipsis(r, k))
            return true;
        if (c == '(' || c == '[' || c == '{') {
            k = r->match[k] != NONE ? r->match[k] : k;
        } else if (c == ',' || is(r, k, ">>>")) { /* on after the brackets around it */
            while (k < l->last && (r->match[k] == NONE || r->match[k] > k))
                k = r->match[k] != NONE ? r->match[k] + 1 : k + 1;
            k--;
        } else if (c == ')' && r->match[k] >= 3 && is_ellipsis(r, r->match[k] - 3)) {
            return true; /* sizeof...(pack) */
        }
    }
    return false;
}

/* Whether the launch may be part of a pattern that a `...` after it expands, or one before it that
 * folds. Lambdas in between are looked through. */
static bool is_in_pattern(const struct rewriter *r, const struct launch *l)
{
    for (int k = l->last + 1; k < count(r); k++) {
        if (is_ellipsis(r, k))
            return true;
        if (one(r, k) == '}' && one(r, k + 1) != '(' && one(r, k + 1) != ')' &&
            one(r, k + 1) != ',' && !is_ellipsis(r, k + 1))
            break;
        if (r->match[k] > k)
            k = r->match[k];
    }
    for (int k = l->begin - 1; k >= 0 && one(r, k) != ';' && one(r, k) != '{'; k--) {
        if (is_ellipsis(r, k))
            return true;
        if (r->match[k] != NONE && r->match[k] < k)
            k = r->match[k];
    }
    return false;
}

/* What a launch that is taken out leaves: an expression of no value with the same packs. */
static void write_packs(struct rewriter *r, const struct launch *l)
{
    for (size_t n = 0; n < r->packs.count && is_in_pattern(r, l); n++) {
        const struct pack *p = &r->packs.items[n];
        const struct token *name = tok(r, p->name);
        for (int i = l->begin; i <= l->last; i++) {
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

/* The white space before token i, line markers included. */
static void write_blank(const struct rewriter *r, int i, struct strbuf *out)
{
    const char *from = i > 0 ? tok(r, i - 1)->p + tok(r, i - 1)->n : r->text;
    sb_append(out, from, (size_t)((i < count(r) ? tok(r, i)->p : r->t.end) - from));
}

/* Line ends and markers before the tokens in [from, to): they hold the text's lines in place when
 * the tokens go elsewhere. */
static void write_lines(const struct rewriter *r, int from, int to)
{
    for (int i = from; i < to; i++) {
        const char *begin = tok(r, i - 1)->p + tok(r, i - 1)->n;
        if (memchr(begin, '\n', (size_t)(tok(r, i)->p - begin)) != NULL)
            write_blank(r, i, r->out);
    }
}

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
        write_lines(r, l->begin + 1, l->last + 1);
        return;
    }
    r->at[l->begin] = NONE; /* the callee is written as it stands */
    sb_append(r->out, prefix, sizeof prefix - 1);
    write_flat(r, l->open + 1, l->close);
    sb_append(r->out, "), ", 3);
    write_tokens(r, l->begin, l->open, false);
    write_lines(r, l->open, l->close + 1);
    write_tokens(r, l->close + 1, l->last + 1, true);
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
            write_blank(r, i, r->out);
        const struct launch *l = r->at[i] != NONE ? &r->launches.items[r->at[i]] : NULL;
        if (l != NULL && (r->side == LAUNCH_DEVICE || l->taken)) {
            write_launch(r, l);
            i = l->last;
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
    struct rewriter r = {.text = text, .side = side, .out = out};
    sb_append(out, "", 0);
    tokens_read(&r.t, text);
    r.match = xmalloc((r.t.count + 1) * sizeof *r.match);
    r.at = xmalloc((r.t.count + 1) * sizeof *r.at);
    r.marks = xcalloc(r.t.count + 1, 1);
    for (size_t i = 0; i < r.t.count; i++)
        r.at[i] = NONE;
    match_brackets(&r);
    find_launches(&r);
    if (side == LAUNCH_HOST && r.launches.count > 0)
        find_packs(&r);
    read_functions(&r);
    write_tokens(&r, 0, count(&r), true);
    write_blank(&r, count(&r), out);
    if (side == LAUNCH_DEVICE)
        sb_printf(out, "\nstatic __attribute__((global, used)) void %s() {}\n",
                  LAUNCH_STATIC_KERNEL);
    free(r.t.items);
    free(r.match);
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
