/* Cutting preprocessed text into tokens; see tokens.h. */
#include "weircc/source/tokens.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool token_is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

bool token_is(const struct token *t, const char *text)
{
    return strncmp(t->p, text, t->n) == 0 && text[t->n] == '\0';
}

/* The length of a quoted literal at p, quotes included. */
static size_t literal_length(const char *p)
{
    size_t n = 1;
    while (p[n] != '\0' && p[n] != p[0] && p[n] != '\n')
        n += p[n] == '\\' && p[n + 1] != '\0' ? 2 : 1;
    return n + (p[n] == p[0]);
}

/* The length of R"delimiter(...)delimiter", from the quote on. */
static size_t raw_length(const char *quote)
{
    const char *open = strchr(quote, '(');
    if (open == NULL)
        return literal_length(quote);
    char *end = xprintf(")%.*s\"", (int)(open - quote - 1), quote + 1);
    const char *at = strstr(open, end);
    size_t n = at != NULL ? (size_t)(at - quote) + strlen(end) : strlen(quote);
    free(end);
    return n;
}

size_t token_length(const char *p)
{
    size_t n = 0;
    if (isdigit((unsigned char)*p)) { /* 1'000 is a number, not a character */
        while (token_is_word(p[n]) || p[n] == '.' || (p[n] == '\'' && token_is_word(p[n + 1])))
            n++;
        return n;
    }
    if (*p == '"' || *p == '\'')
        return literal_length(p);
    if (!token_is_word(*p))
        return 1;
    while (token_is_word(p[n]))
        n++;
    if (p[n] == '"' && p[n - 1] == 'R' && n <= 3)
        return n + raw_length(p + n);
    return n;
}

/* The length of the operator at p that is longer than one character and that launches need told
 * from others, else 0. */
static size_t operator_length(const char *p)
{
    static const char *const operators[] = {"<<<", ">>>", "<<", ">>", "->", "::", "<=", ">="};
    for (size_t i = 0; i < WEIR_COUNT(operators); i++)
        if (strncmp(p, operators[i], strlen(operators[i])) == 0)
            return strlen(operators[i]);
    return 0;
}

void tokens_read(struct tokens *out, const char *text)
{
    bool line_start = true;
    const char *p = text;
    while (*p != '\0') {
        if (*p == '\n') {
            line_start = true;
            p++;
        } else if (isspace((unsigned char)*p)) {
            p++;
        } else if (*p == '#' && line_start) {
            p += strcspn(p, "\n");
        } else {
            size_t n = operator_length(p);
            struct token t = {p, n > 0 ? n : token_length(p)};
            vec_push(out, t);
            p += t.n;
            line_start = false;
        }
    }
    out->end = p;
}
