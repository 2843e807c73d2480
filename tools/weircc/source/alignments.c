/* Alignments that clang cannot compile; see alignments.h. */
#include "weircc/source/alignments.h"

#include <stdlib.h>
#include <string.h>

#include "weircc/source/cuda_text.h"

bool alignments_are_why(const char *messages)
{
    return strstr(messages, "PLEASE submit a bug report to ") != NULL;
}

/* The commas between the parenthesis at token `open` and its partner: how many, and the first. */
static int count_commas(const struct cuda_text *x, int open, int *first)
{
    int count = 0;
    for (int i = open + 1; i < x->match[open]; i++) {
        if (x->match[i] > i)
            i = x->match[i];
        else if (cuda_text_one(x, i) == ',' && count++ == 0)
            *first = i;
    }
    return count;
}

static const char *after(const struct cuda_text *x, int i)
{
    const struct token *t = cuda_text_token(x, i);
    return t->p + t->n;
}

static const char builtin[] = "__builtin_assume_aligned";
static const char pointer_alone[] = "__weir_pointer_alone";
static const char pointer_function[] =
    "template <typename... T> __attribute__((host)) __attribute__((device)) inline constexpr void "
    "*__weir_pointer_alone(const void *p, T...) { return const_cast<void *>(p); }\n";

/* Whether something is called between two tokens. */
static bool calls(const struct cuda_text *x, int from, int to)
{
    for (int i = from; i < to; i++)
        if (cuda_text_one(x, i) == '(')
            return true;
    return false;
}

static int rewrite(const char *text, bool all, struct strbuf *out)
{
    struct cuda_text x;
    const char *done = text;
    int changes = 0;
    cuda_text_read(&x, text);
    sb_append(out, "", 0);
    sb_printf(out, "%s", pointer_function);
    for (int i = 0; i + 1 < cuda_text_count(&x); i++) {
        int open = i + 1, comma = 0;
        if (!cuda_text_is(&x, i, builtin) || cuda_text_one(&x, open) != '(' || x.match[open] < open)
            continue;
        int commas = count_commas(&x, open, &comma);
        if (commas == 1 && !all && !calls(&x, comma, x.match[open]))
            continue;
        if (commas == 1) {
            const char *end = cuda_text_token(&x, x.match[open])->p;
            sb_append(out, done, (size_t)(after(&x, comma) - done));
            sb_printf(out, " sizeof(char[");
            sb_append(out, after(&x, comma), (size_t)(end - after(&x, comma)));
            sb_printf(out, "])");
            done = end;
        } else if (all) {
            sb_append(out, done, (size_t)(cuda_text_token(&x, i)->p - done));
            sb_printf(out, "%s", pointer_alone);
            done = after(&x, i);
        } else {
            continue;
        }
        changes++;
    }
    sb_printf(out, "%s", done);
    cuda_text_free(&x);
    return changes;
}

int alignments_write(const char *text, struct strbuf *out) { return rewrite(text, true, out); }

int alignments_write_calls(const char *text, struct strbuf *out)
{
    if (strstr(text, builtin) == NULL) {
        sb_append(out, text, strlen(text));
        return 0;
    }
    return rewrite(text, false, out);
}
