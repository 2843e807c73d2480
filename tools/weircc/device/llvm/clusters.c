/* Kernels' clusters, from LLVM's text into PTX; see clusters.h. */
#include "weircc/device/llvm/clusters.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool clusters_are_why(const char *messages)
{
    return strstr(messages, "undeclared identifier '" CLUSTERS_MARK "'") != NULL;
}

/* ---- what LLVM's text says ---- */

/* A kernel that has the attribute. */
struct clustered {
    char *name;
    uint32_t dims[3];
    bool found; /* in the PTX */
};

struct list {
    struct clustered *items;
    size_t count, cap;
};

/* One element of @llvm.global.annotations:
 *     { ptr, ptr, ptr, i32, ptr } { ptr @kernel, ptr @.str, ptr @.str1, i32 3, ptr @.args } */
struct annotation {
    char *function, *text, *file, *args; /* names; args: NULL when there are none */
};

static void annotation_free(struct annotation *a)
{
    free(a->function);
    free(a->text);
    free(a->file);
    free(a->args);
}

/* The next name in [*p, end), without its @ and quotes; *p is then after it. NULL: there is none.
 */
static char *next_name(const char **p, const char *end)
{
    const char *at = memchr(*p, '@', (size_t)(end - *p));
    if (at == NULL)
        return NULL;
    bool quoted = *++at == '"';
    at += quoted;
    size_t n = quoted ? strcspn(at, "\"") : strcspn(at, ", )}\n");
    *p = at + n;
    return xprintf("%.*s", (int)n, at);
}

/* What follows "@name = "; NULL when the text does not define it. */
static const char *definition(const char *llvm, const char *name)
{
    char *plain = xprintf("\n@%s = ", name), *quoted = xprintf("\n@\"%s\" = ", name);
    const char *at = strstr(llvm, plain);
    size_t n = strlen(plain);
    if (at == NULL) {
        at = strstr(llvm, quoted);
        n = strlen(quoted);
    }
    free(plain);
    free(quoted);
    return at != NULL ? at + n : NULL;
}

/* True when the global of this name is one of our annotations' strings. */
static bool is_ours(const char *llvm, const char *name)
{
    const char *at = definition(llvm, name);
    const char *want = "c\"" CLUSTERS_ANNOTATION "\\00\"";
    return at != NULL && memmem(at, strcspn(at, "\n"), want, strlen(want)) != NULL;
}

static bool bad(const struct annotation *a, const char *what, struct diag *d)
{
    return diag_set(d, 0, 0, "__cluster_dims__ of '%s': %s", a->function, what);
}

/* The sizes: "... constant { i32, i32, i64 } { i32 1, i32 4, i64 2 }, ..."; the first is the mark.
 */
static bool read_sizes(const char *llvm, const struct annotation *a, uint32_t dims[3],
                       struct diag *d)
{
    static const char values[] = "} { ";
    const char *at = a->args != NULL ? definition(llvm, a->args) : NULL;
    const char *p = at != NULL ? memmem(at, strcspn(at, "\n"), values, strlen(values)) : NULL;
    if (p == NULL)
        return bad(a, "its arguments cannot be read", d);
    p += strlen(values);
    dims[0] = dims[1] = dims[2] = 1;
    for (int i = 0;; i++) {
        char *end;
        if (i == 4)
            return bad(a, "more than three arguments", d);
        if (*p != 'i' || !isdigit((unsigned char)p[1]))
            return bad(a, "an argument is not an integer", d);
        p += strcspn(p, " ");
        long long value = strtoll(p, &end, 10);
        if (end == p || (*end != ',' && *end != ' '))
            return bad(a, "an argument is not an integer", d);
        if (value < 1 || value > INT32_MAX)
            return bad(a, "a cluster has at least one block in each direction", d);
        if (i > 0)
            dims[i - 1] = (uint32_t)value;
        if (*end == ' ')
            return true;
        p = end + strspn(end, ", ");
    }
}

/* Adds a kernel; the annotations of its declarations come once each, and must agree. */
static bool add(struct list *l, const struct annotation *a, const uint32_t dims[3], struct diag *d)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->items[i].name, a->function) == 0)
            return memcmp(l->items[i].dims, dims, sizeof l->items[i].dims) == 0 ||
                   bad(a, "its declarations disagree", d);
    struct clustered c = {.name = xstrdup(a->function), .dims = {dims[0], dims[1], dims[2]}};
    vec_push(l, c);
    return true;
}

/* Reads the kernels that are annotated. */
static bool read_kernels(const char *llvm, struct list *l, struct diag *d)
{
    static const char element[] = "{ ptr, ptr, ptr, i32, ptr } { ";
    const char *p = definition(llvm, "llvm.global.annotations");
    if (p == NULL)
        return true;
    const char *line_end = p + strcspn(p, "\n");
    bool ok = true;
    for (p = memmem(p, (size_t)(line_end - p), element, strlen(element)); ok && p != NULL;) {
        p += strlen(element);
        const char *next = memmem(p, (size_t)(line_end - p), element, strlen(element));
        const char *end = next != NULL ? next : line_end;
        struct annotation a = {.function = next_name(&p, end), .text = next_name(&p, end)};
        a.file = next_name(&p, end);
        a.args = next_name(&p, end);
        uint32_t dims[3];
        if (a.text != NULL && is_ours(llvm, a.text))
            ok = read_sizes(llvm, &a, dims, d) && add(l, &a, dims, d);
        annotation_free(&a);
        p = next;
    }
    return ok;
}

/* ---- PTX ---- */

/* The kernel that a line begins ("[.visible|.weak] .entry name("), NULL when it is none of them. */
static struct clustered *begun_by(struct list *l, const char *line)
{
    static const char entry[] = ".entry ";
    size_t n = strcspn(line, "\n");
    const char *at = *line == '.' ? memmem(line, n, entry, strlen(entry)) : NULL;
    if (at == NULL)
        return NULL;
    at += strlen(entry);
    n = strcspn(at, " (\n");
    for (size_t i = 0; i < l->count; i++)
        if (strlen(l->items[i].name) == n && strncmp(l->items[i].name, at, n) == 0)
            return &l->items[i];
    return NULL;
}

/* Copies the PTX; directives come before the line that begins a kernel's body. */
static void write_directives(const char *ptx, struct list *l, struct strbuf *out)
{
    struct clustered *now = NULL;
    for (const char *line = ptx, *next; *line != '\0'; line = next) {
        next = line + strcspn(line, "\n");
        next += *next == '\n';
        struct clustered *begun = begun_by(l, line);
        if (begun != NULL)
            now = begun;
        if (*line == ';') /* it was a declaration */
            now = NULL;
        if (now != NULL && *line == '{') {
            sb_printf(out, ".explicitcluster\n.reqnctapercluster %u, %u, %u\n", now->dims[0],
                      now->dims[1], now->dims[2]);
            now->found = true;
            now = NULL;
        }
        sb_append(out, line, (size_t)(next - line));
    }
}

bool clusters_finish(const char *ptx, const char *llvm, struct strbuf *out, struct diag *d)
{
    struct list l = {0};
    sb_append(out, "", 0);
    bool ok = read_kernels(llvm, &l, d);
    if (ok)
        write_directives(ptx, &l, out);
    for (size_t i = 0; i < l.count; i++) {
        if (ok && !l.items[i].found)
            ok = diag_set(d, 0, 0, "__cluster_dims__ of '%s', which is not a kernel",
                          l.items[i].name);
        free(l.items[i].name);
    }
    free(l.items);
    return ok;
}
