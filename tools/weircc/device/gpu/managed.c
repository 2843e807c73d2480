/* Managed variables reached through pointers: in PTX as clang writes it: an instruction is a line;
 * see form.h.
 *
 *     ld.global.u32 %r1, [x+4];
 * becomes
 *     {
 *     .reg .b64 %weir_m0;
 *     ld.global.b64 %weir_m0, [__weir_managed_x];
 *     ld.global.u32 %r1, [%weir_m0+4];
 *     }
 * The address of such a variable in the initial value of another cannot be known before the program
 * runs: there stands a name instead that no module defines, so that the load fails and says why. */
#include "weircc/device/gpu/form.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char no_address[] = "address_of_a_managed_variable_in_an_initial_value";

static const char used_outside[] = "__clang_gpu_used_external";

/* The names of managed variables, in the order of LLVM's text. */
struct names {
    char **items;
    size_t count, cap;
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

static struct names managed_names(const char *llvm)
{
    static const char section[] = ", section \"weir_managed\"";
    struct names names = {0};
    for (const char *line = llvm; *line != '\0';) {
        size_t n = strcspn(line, "\n");
        if (*line == '@' && memmem(line, n, section, sizeof section - 1) != NULL)
            vec_push(&names, xprintf("%.*s", (int)strcspn(line + 1, " "), line + 1));
        line += n + (line[n] == '\n');
    }
    return names;
}

/* The name in the list that is the word at p, of n characters; NULL: none. */
static const char *find_name(const struct names *names, const char *p, size_t n)
{
    for (size_t i = 0; i < names->count; i++)
        if (strlen(names->items[i]) == n && memcmp(names->items[i], p, n) == 0)
            return names->items[i];
    return NULL;
}

/* The next managed variable in [p, end); its length is its name's. */
static const char *next_use(const struct names *names, const char *p, const char *end,
                            const char **name)
{
    while (p < end) {
        const char *word = p;
        while (p < end && is_word(*p))
            p++;
        if (p > word && (*name = find_name(names, word, (size_t)(p - word))) != NULL)
            return word;
        p += p == word;
    }
    return NULL;
}

static bool begins(const char *line, const char *word)
{
    line += strspn(line, " \t");
    return strncmp(line, word, strlen(word)) == 0;
}

/* A variable of the module: what the line declares comes last before '=', ';' or '['. */
static const char *declared_name(const char *line, const char *end, size_t *n)
{
    const char *stop = line;
    while (stop < end && strchr("=;[", *stop) == NULL)
        stop++;
    while (stop > line && isspace((unsigned char)stop[-1]))
        stop--;
    const char *p = stop;
    while (p > line && is_word(p[-1]))
        p--;
    *n = (size_t)(stop - p);
    return p;
}

static bool is_variable(const char *line)
{
    static const char *const words[] = {
        ".visible .global", ".weak .global", ".extern .global", ".global",
        ".visible .const",  ".weak .const",  ".const"};
    for (size_t i = 0; i < WEIR_COUNT(words); i++)
        if (begins(line, words[i]))
            return true;
    return false;
}

static void copy_variable(const struct names *names, const char *line, const char *end,
                          bool *refused, struct strbuf *out)
{
    size_t n;
    const char *declared = declared_name(line, end, &n), *name, *use;
    const char *at = declared + n;
    if (n == sizeof used_outside - 1 && memcmp(declared, used_outside, n) == 0)
        return; /* a list of clang's own, which has done its work */
    if (!*refused && next_use(names, at, end, &name) != NULL) {
        sb_printf(out, ".extern .global .align 1 .b8 %s[1];\n", no_address);
        *refused = true;
    }
    sb_append(out, line, (size_t)(at - line));
    while ((use = next_use(names, at, end, &name)) != NULL) {
        sb_append(out, at, (size_t)(use - at));
        sb_printf(out, "%s", no_address);
        at = use + strlen(name);
    }
    sb_append(out, at, (size_t)(end - at));
    if ((name = find_name(names, declared, n)) == NULL)
        return;
    const char *linkage = begins(line, ".extern")    ? ".extern "
                          : begins(line, ".visible") ? ".visible "
                          : begins(line, ".weak")    ? ".weak "
                                                     : "";
    sb_printf(out, "%s.global .align 8 .u64 %s%s;\n", linkage, GPU_MANAGED_PREFIX, name);
}

/* An instruction that names managed variables. */
static void copy_instruction(const struct names *names, const char *line, const char *end,
                             struct strbuf *out)
{
    const char *name, *use, *at = line;
    int count = 0;
    struct strbuf text = {0};
    sb_printf(out, "\t{\n");
    sb_append(&text, "", 0);
    while ((use = next_use(names, at, end, &name)) != NULL) {
        const char *after = use + strlen(name);
        bool address = use > line && use[-1] == '[';
        sb_printf(out, "\t.reg .b64 %%weir_m%d;\n\tld.global.b64 %%weir_m%d, [%s%s];\n", count,
                  count, GPU_MANAGED_PREFIX, name);
        sb_append(&text, at, (size_t)(use - at));
        sb_printf(&text, "%%weir_m%d", count);
        if (!address && *after == '+') {
            size_t n = 1 + strspn(after + 1, "0123456789");
            sb_printf(out, "\tadd.s64 %%weir_m%d, %%weir_m%d, %.*s;\n", count, count, (int)n - 1,
                      after + 1);
            after += n;
        }
        at = after;
        count++;
    }
    sb_append(out, text.items, text.count);
    sb_append(out, at, (size_t)(end - at));
    sb_printf(out, "\t}\n");
    sb_free(&text);
}

void gpu_form_ptx(const char *ptx, const char *llvm, struct strbuf *out)
{
    struct names names = managed_names(llvm);
    bool refused = false;
    sb_append(out, "", 0);
    for (const char *line = ptx; *line != '\0';) {
        const char *end = line + strcspn(line, "\n"), *name;
        end += *end == '\n';
        if (is_variable(line))
            copy_variable(&names, line, end, &refused, out);
        else if (*line == '\t' && !begins(line, ".") && !begins(line, "//") &&
                 next_use(&names, line, end, &name) != NULL)
            copy_instruction(&names, line, end, out);
        else
            sb_append(out, line, (size_t)(end - line));
        line = end;
    }
    for (size_t i = 0; i < names.count; i++)
        free(names.items[i]);
    free(names.items);
}
