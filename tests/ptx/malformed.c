/* malformed: broken PTX never does harm. Each file is cut at its tokens, and its tokens and bytes
 * are changed at random (from a fixed seed, for a bounded time); what is refused must have a
 * message with a line, and what is still accepted must survive printing and parsing again. Worth
 * most in a sanitizer build. */
#include "check.h"
#include "compare.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_CUTS = 1200, MOST_MUTANTS = 4000 };
static const double seconds_per_file = 1;

/* Where the tokens of the text begin, the end last: coarse, but about as PTX sees them. */
struct tokens {
    size_t *items;
    size_t count, cap;
};

static uint64_t seed = 0x9e3779b97f4a7c15u;

static size_t below(size_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return n == 0 ? 0 : (size_t)(seed % n);
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%';
}

static struct tokens split(const char *text, size_t size)
{
    struct tokens t = {0};
    for (size_t i = 0; i < size;) {
        vec_push(&t, i);
        if (in_word(text[i]))
            while (i < size && in_word(text[i]))
                i++;
        else
            i++;
    }
    vec_push(&t, size);
    return t;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Parses; tells whether the outcome is in order. */
static bool try(const char *text, size_t size)
{
    struct diag d = {0}, again = {0};
    char why[256] = "";
    /* the text in a block of its own size: reading past it is caught */
    char *copy = xmalloc(size);
    memcpy(copy, text, size);
    struct ptx_module *m = ptx_parse(copy, size, &d);
    bool ok = m != NULL || (d.line > 0 && d.column > 0 && strncmp(d.text, "line ", 5) == 0);
    if (m != NULL) {
        struct strbuf sb = {0};
        ptx_print(m, &sb);
        struct ptx_module *b = ptx_parse(sb.items, sb.count, &again);
        ok = b != NULL && modules_equal(m, b, why, sizeof why);
        ptx_free(b);
        sb_free(&sb);
    }
    if (!ok)
        printf("%s%s%s\n--- input ---\n%.*s\n---\n", d.text, again.text, why, (int)size, text);
    free(copy);
    ptx_free(m);
    return ok;
}

static void cut(const char *text, const struct tokens *t)
{
    size_t step = t->count / MOST_CUTS + 1, failed = 0;
    for (size_t i = below(step); i < t->count && failed == 0; i += step)
        failed += !try(text, t->items[i]);
    CHECK_EQ_INT(failed, 0);
}

static void append(struct strbuf *sb, const char *text, const struct tokens *t, size_t i)
{
    if (i + 1 < t->count)
        sb_append(sb, text + t->items[i], t->items[i + 1] - t->items[i]);
}

static const char *const strange[] = {
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    ";",
    ":",
    "@",
    "!",
    "|",
    "<",
    ">",
    "=",
    "+",
    "-",
    "_",
    "%",
    ".",
    "..",
    "::",
    "0",
    "1",
    "-1",
    "4294967296",
    "18446744073709551615",
    "0x",
    "0f",
    "0d",
    "1.5",
    "0f7f800001",
    "%tid.x",
    "%tid",
    "WARP_SZ",
    "/*",
    "//",
    "\"",
    "\n",
    "#",
    ".reg",
    ".param",
    ".b32",
    ".pred",
    ".v4",
    ".global",
    ".shared",
    "bra",
    "call",
    "ret;",
    "mov.u32",
    "ld.global.u32",
    ".func f",
    ".entry k",
    "x:",
    "%r<4>",
    "generic(",
    ".align",
    ".align 0",
    "\xff",
    "\x01",
};

/* One token dropped, doubled, exchanged or replaced. */
static void mutate_token(struct strbuf *sb, const char *text, const struct tokens *t)
{
    size_t n = t->count - 1, at = below(n), other = below(n);
    unsigned how = (unsigned)below(6);
    for (size_t i = 0; i < n; i++) {
        if (i != at)
            append(sb, text, t, how == 3 && i == other ? at : i);
        else if (how == 1) {
            append(sb, text, t, i);
            append(sb, text, t, i);
        } else if (how == 2 || how == 3)
            append(sb, text, t, other);
        else if (how >= 4) {
            const char *s = strange[below(WEIR_COUNT(strange))];
            sb_append(sb, s, strlen(s));
            if (how == 5)
                append(sb, text, t, i);
        }
    }
}

static void mutate_byte(struct strbuf *sb, const char *text, size_t size)
{
    sb_append(sb, text, size);
    for (size_t k = 1 + below(3); k > 0; k--)
        sb->items[below(size)] = (char)below(256);
}

static void mutate(const char *text, size_t size, const struct tokens *t)
{
    double end = now() + seconds_per_file;
    size_t failed = 0;
    struct strbuf sb = {0};
    for (int i = 0; i < MOST_MUTANTS && failed == 0 && now() < end; i++) {
        sb.count = 0;
        if (below(4) == 0)
            mutate_byte(&sb, text, size);
        else
            mutate_token(&sb, text, t);
        failed += !try(sb.items, sb.count);
    }
    sb_free(&sb);
    CHECK_EQ_INT(failed, 0);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct diag d = {0};
        size_t size;
        if (strncmp(argv[i], "seed=", 5) == 0) {
            seed = strtoull(argv[i] + 5, NULL, 0) * 2 + 1;
            continue;
        }
        char *text = file_read(argv[i], &size, &d);
        CHECK(text != NULL);
        if (text == NULL)
            continue;
        struct tokens t = split(text, size);
        cut(text, &t);
        mutate(text, size, &t);
        free(t.items);
        free(text);
    }
    return check_done();
}
