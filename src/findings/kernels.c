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

bool kernels_wanted(const char *members)
{
    static const char key[] = "\"kernel\": \"";
    const char *list = findings_options.kernels, *at = members;
    bool any = false, wanted = false;
    if (list == NULL || *list == '\0')
        return true;
    while ((at = strstr(at, key)) != NULL) { /* a race may be of two */
        at += strlen(key);
        size_t length = strcspn(at, "\"");
        any = true;
        wanted |= is_wanted(at, length, list);
    }
    return !any || wanted;
}
