/* Const variables that host code names, in LLVM text; see kept_constants.h.
 *
 *     @_ZL1x = internal addrspace(4) constant i32 5, align 4
 *     @llvm.compiler.used = appending global [2 x ptr] [ptr addrspacecast (ptr addrspace(4) @_ZL1x
 *         to ptr), ptr @y], section "llvm.metadata" */
#include "weircc/device/llvm/kept_constants.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "weircc/objects/shadows.h"

static const char used[] = "@llvm.compiler.used = appending global [";
static const char internal[] = " = internal ", once[] = " = linkonce_odr ";

/* Characters of the name after the @ at p; those in quotes are none that a variable of C++ has. */
static size_t name_size(const char *p) { return strcspn(p + 1, "\" ,(){}[]\n"); }

/* What the host calls the variable whose name is at the @; NULL: it does not ask for it. */
static const char *asked_for(const struct strlist *names, const char *at)
{
    size_t n = name_size(at);
    for (size_t i = 0; n > 0 && i < names->count; i++)
        if (strncmp(names->items[i], at + 1, n) == 0 &&
            (names->items[i][n] == '\0' || text_starts(names->items[i] + n, SHADOW_SUFFIX)))
            return names->items[i];
    return NULL;
}

/* Whether the line defines a const variable that is there because of the option, or for this file
 * alone. */
static bool defines_constant(const char *line)
{
    const char *p = *line == '@' ? line + 1 + name_size(line) : "";
    if (!text_starts(p, internal) && !text_starts(p, once))
        return false;
    const char *constant = strstr(p, " constant "), *space = strstr(p, " addrspace(4) ");
    const char *end = p + strcspn(p, "\n");
    return constant != NULL && constant < end && space != NULL && space < constant;
}

/* The variables that are there for the option alone. */
static struct strlist find_constants(const char *llvm)
{
    struct strlist constants = {0};
    for (const char *line = llvm; *line != '\0'; line = text_next_line(line))
        if (defines_constant(line))
            list_add(&constants, "%.*s", (int)name_size(line), line + 1);
    return constants;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_one_of(const struct strlist *sorted, const char *at)
{
    char *name = xprintf("%.*s", (int)name_size(at), at + 1);
    bool found = sorted->count > 0 && bsearch(&name, sorted->items, sorted->count,
                                              sizeof *sorted->items, by_text) != NULL;
    free(name);
    return found;
}

/* Copies text with the names that the host has for variables. */
static void put_names(struct strbuf *out, const struct strlist *names, const char *p,
                      const char *end)
{
    for (const char *at; (at = memchr(p, '@', (size_t)(end - p))) != NULL;) {
        const char *name = asked_for(names, at);
        size_t n = name_size(at) + 1;
        sb_append(out, p, (size_t)(at - p));
        if (name != NULL)
            sb_printf(out, "@%s", name);
        else
            sb_append(out, at, n);
        p = at + n;
    }
    sb_append(out, p, (size_t)(end - p));
}

/* The list without what nobody asks for. */
static void put_used(struct strbuf *out, const struct strlist *names,
                     const struct strlist *constants, const char *line)
{
    const char *end = text_next_line(line), *p = strstr(line, "] ["), *last = p;
    struct strbuf list = {0};
    int count = 0;
    sb_append(&list, "", 0);
    for (p += strlen("] ["); *p != ']' && *p != '\n' && *p != '\0';) {
        size_t n = strcspn(p, ",]"); /* no item has either within */
        const char *at = memchr(p, '@', n);
        if (at == NULL || asked_for(names, at) != NULL || !is_one_of(constants, at)) {
            sb_printf(&list, "%s", count++ > 0 ? ", " : "");
            put_names(&list, names, p, p + n);
        }
        p += n;
        p += text_starts(p, ", ") ? 2 : 0;
        last = p;
    }
    if (count > 0)
        sb_printf(out, "%s%d x ptr] [%s%.*s", used, count, list.items, (int)(end - last), last);
    sb_free(&list);
}

/* A definition that the host asks for: with the linkage that lets it be found. */
static void put_definition(struct strbuf *out, const struct strlist *names, const char *line)
{
    const char *end = text_next_line(line), *p = line + 1 + name_size(line);
    bool file = text_starts(p, internal);
    sb_printf(out, "@%s = %s", asked_for(names, line), file ? "" : "weak_odr ");
    put_names(out, names, p + strlen(file ? internal : once), end);
}

/* Whether the text defines a variable of this name. */
static bool defines(const char *llvm, const char *name)
{
    char *definition = xprintf("\n@%s = ", name);
    bool found = strstr(llvm, definition) != NULL;
    free(definition);
    return found;
}

/* The names but for those with a suffix that clang has given variables already. */
static struct strlist names_to_give(const char *llvm, const struct strlist *names)
{
    struct strlist given = {0};
    for (size_t i = 0; i < names->count; i++)
        if (strstr(names->items[i], SHADOW_SUFFIX) == NULL || !defines(llvm, names->items[i]))
            list_add(&given, "%s", names->items[i]);
    return given;
}

static void free_list(struct strlist *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->items[i]);
    free(l->items);
}

void kept_constants_rewrite(const char *llvm, const struct strlist *names, struct strbuf *out)
{
    struct strlist given = names_to_give(llvm, names);
    struct strlist constants = find_constants(llvm);
    if (constants.count > 0)
        qsort(constants.items, constants.count, sizeof *constants.items, by_text);
    sb_append(out, "", 0);
    for (const char *line = llvm; *line != '\0'; line = text_next_line(line))
        if (text_starts(line, used))
            put_used(out, &given, &constants, line);
        else if (defines_constant(line) && asked_for(&given, line) != NULL)
            put_definition(out, &given, line);
        else
            put_names(out, &given, line, text_next_line(line));
    free_list(&constants);
    free_list(&given);
}
