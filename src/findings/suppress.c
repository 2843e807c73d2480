/* suppress: a file that says which findings are to be left out.
 *
 * A line is `CHECK:PATTERN`: findings of that check (`*`: of any) in whose text the pattern occurs.
 * `*` in a pattern stands for anything within a line. Lines that begin with `#` are comments. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "findings/findings.h"

static struct {
    struct suppression {
        char *check, *pattern;
    } *items;
    size_t count, cap;
} suppressions;

static bool is_check(const char *name)
{
    static const char *const names[] = {"*", "memory", "races", "init", "sync", "leaks", "calls"};
    for (size_t i = 0; i < WEIR_COUNT(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* `what` with the fields' ends cut off; the line is the caller's to change. */
static bool add_line(char *line, const char *path, int number, struct diag *d)
{
    line[strcspn(line, "\r")] = '\0';
    line += strspn(line, " \t");
    if (*line == '\0' || *line == '#')
        return true;
    char *colon = strchr(line, ':');
    if (colon == NULL || colon == line || colon[1] == '\0')
        return diag_set(d, number, 0,
                        "%s:%d: a suppression is CHECK:PATTERN, as \"leaks:cudaMalloc\"", path,
                        number);
    *colon = '\0';
    if (!is_check(line))
        return diag_set(
            d, number, 0,
            "%s:%d: there is no check \"%s\": memory, races, init, sync, leaks, calls, or "
            "* for any",
            path, number, line);
    vec_push(&suppressions, (struct suppression){xstrdup(line), xprintf("*%s*", colon + 1)});
    return true;
}

bool suppress_read(const char *path, struct diag *d)
{
    char *text = file_read_setting(path, d), *next = text;
    bool ok = text != NULL;
    for (int number = 1; ok && next != NULL; number++) {
        char *line = next;
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        ok = add_line(line, path, number, d);
    }
    free(text);
    return ok;
}

/* Brackets and the like, which kernels' names are full of, stand for themselves. */
static bool occurs(const char *pattern, const char *line)
{
    struct strbuf plain = {0};
    for (; *pattern != '\0'; pattern++)
        sb_printf(&plain, strchr("?[]\\", *pattern) != NULL ? "\\%c" : "%c", *pattern);
    bool found = fnmatch(plain.items, line, 0) == 0;
    sb_free(&plain);
    return found;
}

bool suppress_has(const char *check, const char *text)
{
    bool found = false;
    if (suppressions.count == 0)
        return false;
    char *copy = xstrdup(text), *rest = copy;
    for (char *line; !found && (line = strsep(&rest, "\n")) != NULL;)
        for (size_t i = 0; i < suppressions.count && !found; i++) {
            const struct suppression *s = &suppressions.items[i];
            found = (strcmp(s->check, "*") == 0 || strcmp(s->check, check) == 0) &&
                    occurs(s->pattern, line);
        }
    free(copy);
    return found;
}
