/* kernels: findings of some kernels only. The setting is a list with commas between: `+=NAME` and
 * `+~TEXT` for kernels that are wanted (by name, or by a part of it), `-=NAME` and `-~TEXT` for
 * those that are not. */
#include <stdlib.h>
#include <string.h>

#include "findings/internal.h"

/* Whether a kernel is the one that a word names: as in PTX, as people write it, or without its
 * parameters. */
static bool is_kernel(const char *kernel, size_t length, char how, const char *word)
{
    char *name = xprintf("%.*s", (int)length, kernel);
    bool found;
    if (how == '~')
        found = strstr(name, word) != NULL;
    else
        found = strcmp(name, word) == 0 || strcmp(name, findings_options.demangle(word)) == 0 ||
                (strncmp(name, word, strlen(word)) == 0 &&
                 (name[strlen(word)] == '(' || name[strlen(word)] == '<'));
    free(name);
    return found;
}

/* Whether the list leaves this kernel in. */
static bool is_wanted(const char *kernel, size_t length, const char *list)
{
    bool only = false, in = false, out = false;
    char *words = xstrdup(list), *rest = words, *word;
    while ((word = strsep(&rest, ",")) != NULL) {
        if (strlen(word) < 3)
            continue;
        bool is = is_kernel(kernel, length, word[1], word + 2);
        only |= word[0] == '+';
        in |= word[0] == '+' && is;
        out |= word[0] == '-' && is;
    }
    free(words);
    return !out && (in || !only);
}

bool kernels_list_valid(const char *list, struct diag *d)
{
    if (list == NULL || *list == '\0')
        return true;
    for (const char *word = list;; word++) {
        size_t length = strcspn(word, ",");
        if (length < 3 || strchr("+-", word[0]) == NULL || strchr("=~", word[1]) == NULL)
            return diag_set(d, 0, 0,
                            "WEIR_CHECK_KERNELS=%s: must be +=NAME, +~PART, -=NAME or -~PART, or "
                            "several with commas between",
                            list);
        word += length;
        if (*word == '\0')
            return true;
    }
}

/* The next kernel's name among the members at *at, and its length; NULL: there is none. */
static const char *next_kernel(const char **at, size_t *length)
{
    static const char key[] = "\"kernel\": \"";
    const char *name = strstr(*at, key);
    if (name == NULL)
        return NULL;
    name += strlen(key);
    *length = strcspn(name, "\"");
    *at = name + *length;
    return name;
}

bool kernels_wanted(const char *members)
{
    const char *list = findings_options.kernels, *at = members, *name;
    bool any = false, wanted = false;
    size_t length;
    if (list == NULL || *list == '\0')
        return true;
    while ((name = next_kernel(&at, &length)) != NULL) { /* a race may be of two */
        any = true;
        wanted |= is_wanted(name, length, list);
    }
    return !any || wanted;
}

bool kernels_suppressed(const char *check, const char *members)
{
    const char *at = members, *name;
    size_t length;
    bool found = false;
    while (!found && (name = next_kernel(&at, &length)) != NULL) {
        char *words = xprintf("kernel %.*s", (int)length, name);
        found = suppress_has(check, words);
        free(words);
    }
    return found;
}
