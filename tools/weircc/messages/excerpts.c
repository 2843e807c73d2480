/* Showing the user's own lines; see excerpts.h. */
#include "weircc/messages/excerpts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weircc/source/launches.h"
#include "weircc/source/tokens.h"

enum { LINES_BELOW = 30 }; /* a launch of many lines is one line for clang: so far down is looked */

char *excerpts_plain(const char *text, size_t n)
{
    struct strbuf sb = {0};
    sb_append(&sb, "", 0);
    for (size_t i = 0; i < n; i++) {
        if (text[i] != '\033') {
            sb_append(&sb, text + i, 1);
            continue;
        }
        while (i < n && !isalpha((unsigned char)text[i]))
            i++;
    }
    return sb.items;
}

/* file:line:column: */
struct location {
    char *file;
    long line, column; /* from 1 */
    size_t at, length; /* of ":line:column:" in the text */
};

static bool find_location(const char *text, size_t n, struct location *p)
{
    for (size_t i = 1; i + 3 < n; i++) {
        char *end, *last;
        if (text[i] != ':' || !isdigit((unsigned char)text[i + 1]))
            continue;
        p->line = strtol(text + i + 1, &end, 10);
        if (*end != ':' || !isdigit((unsigned char)end[1]))
            continue;
        p->column = strtol(end + 1, &last, 10);
        if (*last != ':')
            continue;
        size_t from = 0;
        while (text[from] == '\033')
            from += strcspn(text + from, "m") + 1;
        p->file = xprintf("%.*s", (int)(i - from), text + from);
        p->at = i;
        p->length = (size_t)(last + 1 - (text + i));
        return true;
    }
    return false;
}

/* Every `what` in the text becomes blanks. */
static void blank_out(char *text, const char *what)
{
    for (char *at = text; (at = strstr(at, what)) != NULL;)
        memset(at, ' ', strlen(what));
}

/* The position of the n-th (from 0) `token` of `length` characters in the line, or NULL. Words are
 * found as words. */
static const char *find_token(const char *line, size_t line_length, const char *token,
                              size_t length, int n)
{
    bool word = token_is_word(*token);
    for (const char *p = line; p + length <= line + line_length; p++) {
        if (memcmp(p, token, length) != 0)
            continue;
        if (word && ((p > line && token_is_word(p[-1])) ||
                     (p + length < line + line_length && token_is_word(p[length]))))
            continue;
        if (n-- == 0)
            return p;
    }
    return NULL;
}

static int count_tokens(const char *line, size_t line_length, const char *token, size_t length)
{
    int n = 0;
    while (find_token(line, line_length, token, length, n) != NULL)
        n++;
    return n;
}

/* The beginning of a line (from 1) of the text, or NULL. */
static const char *line_of(const char *text, long line)
{
    while (text != NULL && --line > 0) {
        text = strchr(text, '\n');
        text += text != NULL;
    }
    return text != NULL && *text != '\0' ? text : NULL;
}

/* What clang points at, in the user's file: changes the location. `shown` is clang's line. False:
 * it is not there. */
static bool look_up(struct location *p, const char *shown, const char *source)
{
    char *text = xstrdup(shown);
    size_t at = (size_t)p->column - 1, length;
    if (at >= strlen(text)) {
        free(text);
        return false;
    }
    const char *token = text + at;
    char *launch = strstr(text, LAUNCH_PREFIX);
    int n;
    bool in_launch = false;
    for (; launch != NULL && launch <= text + at; launch = strstr(launch + 1, LAUNCH_PREFIX))
        in_launch = in_launch || text + at < launch + strlen(LAUNCH_PREFIX);
    if (in_launch) { /* the configuration as a whole */
        n = count_tokens(text, at, LAUNCH_PREFIX, strlen(LAUNCH_PREFIX));
        token = "<<<";
        length = 3;
    } else {
        blank_out(text, LAUNCH_PREFIX);
        blank_out(text, LAUNCH_KERNEL_ATTRIBUTES);
        blank_out(text, LAUNCH_KERNEL_STATEMENT);
        length = token_is_word(*token) ? token_length(token) : 1;
        n = count_tokens(text, at, token, length);
    }
    const char *line = line_of(source, p->line), *found = NULL;
    for (int below = 0; line != NULL && found == NULL && below < LINES_BELOW; below++) {
        size_t line_length = strcspn(line, "\n");
        found = *token != ' ' ? find_token(line, line_length, token, length, n) : NULL;
        if (found != NULL) {
            p->line += below;
            p->column = found - line + 1;
        }
        n -= count_tokens(line, line_length, token, length);
        if (found == NULL && memchr(line, ';', line_length) != NULL)
            break; /* the launch ends here: it is written in a macro */
        line = line[line_length] != '\0' ? line + line_length + 1 : NULL;
    }
    free(text);
    return found != NULL;
}

/* "  12 | text": where the text begins, NULL when the line is no excerpt with a number. */
static const char *excerpt_text(const char *line)
{
    const char *p = line + strspn(line, " ");
    if (!isdigit((unsigned char)*p))
        return NULL;
    p += strspn(p, "0123456789");
    return strncmp(p, " | ", 3) == 0 ? p + 3 : NULL;
}

static bool is_changed(const char *text)
{
    return strstr(text, LAUNCH_PREFIX) != NULL || strstr(text, LAUNCH_KERNEL_ATTRIBUTES) != NULL ||
           strstr(text, LAUNCH_KERNEL_STATEMENT) != NULL;
}

/* Appends the message line `head` and the excerpt below it as the user wrote it. */
static void write_restored(struct strbuf *out, const char *head, size_t n, struct location *p,
                           const char *shown)
{
    struct diag ignored;
    char *source = file_read(p->file, NULL, &ignored);
    bool found = source != NULL && look_up(p, shown, source);
    const char *line = source != NULL ? line_of(source, p->line) : NULL;
    if (!found) /* the statement, then */
        p->column = line != NULL ? (long)strspn(line, " \t") + 1 : 1;
    sb_append(out, head, p->at);
    sb_printf(out, ":%ld:%ld:", p->line, p->column);
    sb_append(out, head + p->at + p->length, n - p->at - p->length);
    if (line != NULL)
        sb_printf(out, "%5ld | %.*s\n", p->line, (int)strcspn(line, "\n"), line);
    if (line != NULL) {
        sb_printf(out, "      | ");
        for (long c = 1; c < p->column; c++)
            sb_append(out, line[c - 1] == '\t' ? "\t" : " ", 1);
        sb_append(out, "^\n", 2);
    }
    free(source);
}

/* Whether what stands below a message is not the user's line. */
static bool is_rewritten(const char *shown, const struct location *p)
{
    struct diag ignored;
    char *source = file_read(p->file, NULL, &ignored);
    const char *line = source != NULL ? line_of(source, p->line) : NULL;
    size_t n = strlen(shown);
    bool differs = line != NULL && (strcspn(line, "\n") != n || strncmp(line, shown, n) != 0);
    free(source);
    return differs;
}

static void restore(struct strbuf *message, bool mended)
{
    if (message->count == 0)
        return;
    struct strbuf out = {0};
    sb_append(message, "", 0);
    for (const char *line = message->items, *next; *line != '\0'; line = next) {
        size_t n = strcspn(line, "\n");
        n += line[n] == '\n';
        next = line + n;
        struct location p = {0};
        char *below = excerpts_plain(next, strcspn(next, "\n"));
        const char *shown = excerpt_text(below);
        if (shown != NULL && (mended || is_changed(shown)) && find_location(line, n, &p) &&
            (is_changed(shown) || (strtol(below, NULL, 10) == p.line && is_rewritten(shown, &p)))) {
            write_restored(&out, line, n, &p, shown);
            /* the excerpt and what points into it are said */
            next += strcspn(next, "\n");
            next += *next == '\n';
            while (strncmp(next, "      | ", 8) == 0 || strncmp(next, "\033[0;1;32m", 9) == 0) {
                next += strcspn(next, "\n");
                next += *next == '\n';
            }
        } else {
            sb_append(&out, line, n);
        }
        free(p.file);
        free(below);
    }
    sb_free(message);
    *message = out;
}

void excerpts_restore(struct strbuf *message) { restore(message, false); }

void excerpts_restore_mended(struct strbuf *message) { restore(message, true); }
