/* Texts in asm statements; see asm_strings.h. */
#include "weircc/device/llvm/asm_strings.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { MOST_OPERANDS = 64 };

/* A part of the text. */
struct span {
    const char *at;
    size_t size;
};

/* An asm statement: asm "template", "constraints"(arguments). */
struct statement {
    struct span template, constraints, arguments;
    struct span texts[MOST_OPERANDS]; /* by number: what stands for the operand, as LLVM writes it;
                                         `at` NULL: it stays */
};

/* What is between the quotes that follow p; the quote after it. LLVM writes those within as \22. */
static const char *read_quoted(const char *p, struct span *inside)
{
    const char *open = strchr(p, '"'), *close = open != NULL ? strchr(open + 1, '"') : NULL;
    if (close != NULL)
        *inside = (struct span){open + 1, (size_t)(close - open - 1)};
    return close;
}

/* The length of the argument or constraint that begins at p. */
static size_t item_length(const char *p, const char *end)
{
    int depth = 0;
    bool quoted = false;
    const char *q = p;
    for (; q < end && (depth > 0 || quoted || *q != ','); q++) {
        quoted ^= *q == '"';
        depth += quoted ? 0 : (strchr("([{", *q) != NULL) - (strchr(")]}", *q) != NULL);
    }
    return (size_t)(q - p);
}

/* Reads the statement after the word asm. */
static bool read_statement(const char *p, const char *end, struct statement *s)
{
    *s = (struct statement){.template = {NULL, 0}};
    const char *q = read_quoted(p, &s->template);
    q = q != NULL && q < end ? read_quoted(q + 1, &s->constraints) : NULL;
    if (q == NULL || q >= end || q[1] != '(')
        return false;
    const char *from = q + 2;
    int depth = 1;
    for (q = from; q < end; q++) {
        depth += (*q == '(') - (*q == ')');
        if (depth == 0)
            break;
    }
    s->arguments = (struct span){from, (size_t)(q - from)};
    return q < end;
}

/* The characters of the variable that an argument names, as LLVM writes them, without the zero at
 * their end. `at` NULL: it has none. */
static struct span find_text(const char *llvm, const char *argument, size_t size)
{
    struct span text = {0};
    const char *name = memchr(argument, '@', size);
    size_t n = 1;
    if (name == NULL)
        return text;
    while (isalnum((unsigned char)name[n]) || strchr("_.$-", name[n]) != NULL)
        n++;
    for (const char *line = llvm; *line != '\0'; line = text_next_line(line)) {
        if (strncmp(line, name, n) != 0 || strncmp(line + n, " = ", 3) != 0)
            continue;
        size_t length = strcspn(line, "\n");
        const char *array = memmem(line, length, " x i8] c\"", 9);
        if (memmem(line, length, " x i8] zeroinitializer", 22) != NULL)
            return (struct span){line, 0}; /* "" */
        if (array == NULL || read_quoted(array, &text) == NULL)
            return (struct span){0};
        const char *zero = memmem(text.at, text.size, "\\00", 3);
        text.size = zero != NULL ? (size_t)(zero - text.at) : text.size;
        return text;
    }
    return text;
}

/* Finds the texts, and writes constraints and arguments without them. */
static bool take_texts(const char *llvm, struct statement *s, struct strbuf *constraints,
                       struct strbuf *arguments)
{
    const char *c = s->constraints.at, *c_end = c + s->constraints.size;
    const char *a = s->arguments.at, *a_end = a + s->arguments.size;
    bool any = false;
    for (int n = 0; c < c_end && n < MOST_OPERANDS; n++) {
        size_t size = item_length(c, c_end), length = 0;
        bool input = *c != '~' && (*c != '=' || (size > 1 && c[1] == '*'));
        struct span text = {0};
        if (input) {
            length = item_length(a, a_end);
            if (size == 1 && *c == 'X')
                text = find_text(llvm, a, length);
        }
        s->texts[n] = text;
        any |= text.at != NULL;
        sb_printf(constraints, "%s", n > 0 ? "," : "");
        sb_printf(constraints, "%.*s", (int)size, text.at != NULL ? "n" : c);
        if (input) {
            sb_printf(arguments, "%s", arguments->count > 0 ? "," : "");
            sb_printf(arguments, "%.*s", text.at != NULL ? 6 : (int)length,
                      text.at != NULL ? " i32 0" : a);
            a += length + (a + length < a_end);
        }
        c += size + (c + size < c_end);
    }
    return any;
}

/* Writes the template: a dollar in a text is two. */
static void write_template(const struct statement *s, struct strbuf *out)
{
    const char *end = s->template.at + s->template.size;
    for (const char *p = s->template.at; p < end;) {
        char *after = NULL;
        long n = p[0] == '$' && isdigit((unsigned char)p[1]) ? strtol(p + 1, &after, 10) : -1;
        if (p[0] == '$' && n < 0) { /* $$, ${0:x} */
            sb_append(out, p, 2);
            p += 2;
        } else if (n >= 0 && n < MOST_OPERANDS && s->texts[n].at != NULL) {
            for (size_t i = 0; i < s->texts[n].size; i++)
                sb_printf(out, "%s%c", s->texts[n].at[i] == '$' ? "$" : "", s->texts[n].at[i]);
            p = after;
        } else {
            sb_append(out, p++, 1);
        }
    }
}

/* Rewrites the statement on a line, if it has one with texts. */
static bool write_line(const char *llvm, const char *line, const char *end, struct strbuf *out)
{
    struct statement s;
    struct strbuf constraints = {0}, arguments = {0};
    const char *word = memmem(line, (size_t)(end - line), " asm ", 5);
    bool any = word != NULL && read_statement(word + 5, end, &s) &&
               take_texts(llvm, &s, &constraints, &arguments);
    if (any) {
        sb_append(out, line, (size_t)(s.template.at - line));
        write_template(&s, out);
        sb_printf(out, "\", \"%s\"(%s)", constraints.items, arguments.items);
        const char *rest = s.arguments.at + s.arguments.size + 1;
        sb_append(out, rest, (size_t)(end - rest));
    }
    sb_free(&constraints);
    sb_free(&arguments);
    return any;
}

void asm_strings_rewrite(const char *llvm, struct strbuf *out)
{
    sb_append(out, "", 0);
    for (const char *line = llvm, *next; *line != '\0'; line = next) {
        next = text_next_line(line);
        if (line[0] != ' ' || !write_line(llvm, line, next, out))
            sb_append(out, line, (size_t)(next - line));
    }
}
