/* Variables from constant to global memory, in LLVM text; see constant_memory.h.
 *
 *     @x = internal addrspace(4) constant [2 x i32] [i32 1, i32 2], align 4
 *     ... ptr addrspacecast (ptr addrspace(4) @x to ptr) ...
 * becomes the same with addrspace(1). The front end refers to variables in this form alone, as
 * pointers of the language are generic; a variable with any other use stays where it is. */
#include "weircc/device/llvm/constant_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char space[] = "addrspace(4)";
static const char before_use[] = "addrspacecast (ptr addrspace(4) ", after_use[] = " to ptr)";
static const char annotations[] = "@llvm.global.annotations = ";

struct variable {
    const char *name; /* with @ and quotes */
    size_t size;
    bool stays;
    const char *debug; /* "!7": its node of debug data, or NULL */
    size_t debug_size;
};

struct variables {
    struct variable *items;
    size_t count, cap;
};

/* Characters of the name at the @. */
static size_t name_size(const char *at)
{
    if (at[1] == '"')
        return strcspn(at + 2, "\"\n") + 3;
    return strcspn(at, " ,(){}[]\n");
}

/* "addrspace(4)" in the line, when that defines a variable in constant memory; else NULL. */
static const char *definition_space(const char *line)
{
    if (*line != '@')
        return NULL;
    const char *p = line + name_size(line), *found = NULL;
    if (!text_starts(p, " = "))
        return NULL;
    for (p += strlen(" = "); *p != '\n' && *p != '\0'; p += strcspn(p, " \n"), p += *p == ' ') {
        if (text_starts(p, "global ") || text_starts(p, "constant "))
            return found;
        if (text_starts(p, "external ") || text_starts(p, "extern_weak ") ||
            text_starts(p, "alias "))
            return NULL;
        if (text_starts(p, space))
            found = p;
    }
    return NULL;
}

static struct variable *find(const struct variables *v, const char *name, size_t size)
{
    for (size_t i = 0; i < v->count; i++)
        if (v->items[i].size == size && memcmp(v->items[i].name, name, size) == 0)
            return &v->items[i];
    return NULL;
}

static void find_debug(struct variable *v, const char *line)
{
    static const char attachment[] = ", !dbg !";
    size_t n = strcspn(line, "\n");
    for (const char *p = line;
         (p = memmem(p, n - (size_t)(p - line), attachment, sizeof attachment - 1)) != NULL;) {
        p += strlen(", !dbg ");
        v->debug = p;
        v->debug_size = 1 + strspn(p + 1, "0123456789");
    }
}

static struct variables find_definitions(const char *llvm)
{
    struct variables v = {0};
    for (const char *line = llvm; *line != '\0'; line = text_next_line(line))
        if (definition_space(line) != NULL) {
            struct variable new = {.name = line, .size = name_size(line)};
            find_debug(&new, line);
            vec_push(&v, new);
        }
    return v;
}

/* The variable that is used at the @; its own definition is no use. NULL: none of them. */
static struct variable *used(const struct variables *v, const char *llvm, const char *at)
{
    bool defines = at == llvm || at[-1] == '\n';
    return defines ? NULL : find(v, at, name_size(at));
}

static bool is_plain_use(const char *llvm, const char *at)
{
    size_t n = strlen(before_use);
    return (size_t)(at - llvm) > n && memcmp(at - n, before_use, n) == 0 &&
           text_starts(at + name_size(at), after_use);
}

/* The next @ that begins a name; strings, which end with their line at the latest, are left out. */
static const char *next_name(const char *p, const char *end)
{
    bool quoted = false;
    for (; p < end; p++) {
        if (*p == '\n')
            quoted = false;
        else if (*p == '"')
            quoted = !quoted;
        else if (*p == '@' && !quoted)
            return p;
    }
    return NULL;
}

/* The line of annotations, or NULL. */
static const char *find_annotations(const char *llvm)
{
    const char *at = llvm;
    while ((at = strstr(at, annotations)) != NULL && at != llvm && at[-1] != '\n')
        at++;
    return at;
}

/* "ptr @.str.3": the string that holds our annotation; the caller frees it. NULL: there is none. */
static char *find_mark(const char *llvm)
{
    const char *at = strstr(llvm, " c\"" CONSTANT_ANNOTATION "\\00\"");
    while (at != NULL && at > llvm && at[-1] != '\n')
        at--;
    return at != NULL && *at == '@' ? xprintf(", ptr %.*s,", (int)name_size(at), at) : NULL;
}

/* What is marked stays: "{ ptr addrspacecast (ptr addrspace(4) @x to ptr), ptr @.str, ... }". */
static void keep_marked(struct variables *v, const char *llvm)
{
    char *mark = find_mark(llvm);
    const char *line = mark != NULL ? find_annotations(llvm) : NULL;
    const char *end = line != NULL ? line + strcspn(line, "\n") : NULL;
    const char *at = line != NULL ? line + 1 : NULL;
    for (; at != NULL && (at = next_name(at, end)) != NULL; at += name_size(at)) {
        struct variable *x = find(v, at, name_size(at));
        if (x != NULL && is_plain_use(llvm, at) &&
            text_starts(at + name_size(at) + strlen(after_use), mark))
            x->stays = true;
    }
    free(mark);
}

static void keep_used_otherwise(struct variables *v, const char *llvm)
{
    const char *end = llvm + strlen(llvm);
    for (const char *at = llvm; (at = next_name(at, end)) != NULL; at += name_size(at)) {
        struct variable *x = used(v, llvm, at);
        if (x != NULL && !is_plain_use(llvm, at))
            x->stays = true;
    }
}

static bool any_moves(const struct variables *v)
{
    for (size_t i = 0; i < v->count; i++)
        if (!v->items[i].stays)
            return true;
    return false;
}

static void put_global(struct strbuf *out, const char **from, const char *at)
{
    sb_append(out, *from, (size_t)(at - *from));
    sb_printf(out, "addrspace(1)");
    *from = at + strlen(space);
}

/* A variable's node of debug data, which names the memory it is in unless that is global. */
static void put_debug(struct strbuf *out, const struct variables *v, const char **from,
                      const char *line)
{
    static const char where[] = "!DIExpression(DW_OP_constu, 4, DW_OP_swap, DW_OP_xderef)";
    size_t n = strcspn(line, "\n"), name = strcspn(line, " \n");
    const char *at = memmem(line, n, where, sizeof where - 1);
    for (size_t i = 0; at != NULL && i < v->count; i++) {
        const struct variable *x = &v->items[i];
        if (x->stays || x->debug == NULL || x->debug_size != name ||
            memcmp(x->debug, line, name) != 0)
            continue;
        sb_append(out, *from, (size_t)(at - *from));
        sb_printf(out, "!DIExpression()");
        *from = at + strlen(where);
        return;
    }
}

static void put_line(struct strbuf *out, const struct variables *v, const char *line)
{
    const char *end = text_next_line(line), *from = line, *at = definition_space(line);
    const struct variable *own = at != NULL ? find(v, line, name_size(line)) : NULL;
    if (own != NULL && !own->stays)
        put_global(out, &from, at);
    if (memmem(line, (size_t)(end - line), before_use, sizeof before_use - 1) != NULL)
        for (at = line; (at = next_name(at, end)) != NULL; at += name_size(at)) {
            const struct variable *x = used(v, line, at);
            if (x != NULL && !x->stays)
                put_global(out, &from, at - strlen(space) - 1);
        }
    if (*line == '!')
        put_debug(out, v, &from, line);
    sb_append(out, from, (size_t)(end - from));
}

/* The line of annotations without ours, which would keep variables that nothing else uses:
 *
 *     @llvm.global.annotations = appending global [2 x TYPE] [TYPE { ... }, TYPE { ... }], section
 */
static void put_annotations(struct strbuf *out, const struct variables *v, const char *llvm,
                            const char *line)
{
    const char *end = text_next_line(line), *type = strchr(line, '{'), *first = strstr(type, "] [");
    char *mark = find_mark(llvm);
    struct strbuf kept = {0}, text = {0};
    int count = 0;
    size_t n = (size_t)(first - type); /* of "{ ptr, ptr, ptr, i32, ptr }" */
    const char *p = first + strlen("] [");
    while (strncmp(p, type, n) == 0) {
        const char *after = p + n;
        after += strcspn(after, "}\n") + 1;
        if (mark == NULL || memmem(p, (size_t)(after - p), mark, strlen(mark)) == NULL)
            sb_printf(&kept, "%s%.*s", count++ > 0 ? ", " : "", (int)(after - p), p);
        p = after + (text_starts(after, ", ") ? 2 : 0);
    }
    if (count > 0) {
        sb_printf(&text, "%sappending global [%d x %.*s] [%s%.*s", annotations, count, (int)n, type,
                  kept.items, (int)(end - p), p);
        put_line(out, v, text.items);
    }
    sb_free(&kept);
    sb_free(&text);
    free(mark);
}

void constant_memory_rewrite(const char *llvm, struct strbuf *out)
{
    struct variables v = find_definitions(llvm);
    keep_marked(&v, llvm);
    if (any_moves(&v))
        keep_used_otherwise(&v, llvm);
    const char *annotated = find_annotations(llvm);
    if (annotated == NULL && !any_moves(&v))
        sb_append(out, llvm, strlen(llvm));
    else
        for (const char *line = llvm; *line != '\0'; line = text_next_line(line))
            if (line == annotated)
                put_annotations(out, &v, llvm, line);
            else
                put_line(out, &v, line);
    free(v.items);
}
