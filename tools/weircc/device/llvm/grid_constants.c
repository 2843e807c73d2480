/* Annotations of parameters into metadata, in LLVM text; see grid_constants.h. */
#include "weircc/device/llvm/grid_constants.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct rewriting {
    const char *llvm;
    struct strbuf *out;
    struct strbuf names;  /* of the strings with our annotation: " @.str, @.str.3, " */
    struct strbuf list;   /* of metadata nodes to add to !nvvm.annotations: ", !7, !9" */
    struct strbuf nodes;  /* what they are */
    const char *function; /* the line that defines the current function, */
    struct strbuf which;  /* and which of its parameters have the attribute: "i32 1, i32 3" */
    long next_node;
};

static const char *find_in_line(const char *line, const char *what)
{
    return memmem(line, strcspn(line, "\n"), what, strlen(what));
}

/* The strings that hold our annotation: "@.str = ... c"weir.grid_constant\00", ...". */
static void find_names(struct rewriting *r)
{
    static const char text[] = " c\"" GRID_CONSTANT_ANNOTATION "\\00\"";
    for (const char *at = r->llvm; (at = strstr(at, text)) != NULL; at += sizeof text) {
        const char *line = at;
        while (line > r->llvm && line[-1] != '\n')
            line--;
        if (*line == '@')
            sb_printf(&r->names, " %.*s,", (int)strcspn(line, " \n"), line);
    }
}

/* One more than the number of any metadata node. */
static long first_free_node(const char *llvm)
{
    long most = -1;
    for (const char *at = llvm; (at = strstr(at, "\n!")) != NULL; at += 2)
        if (isdigit((unsigned char)at[2])) {
            long n = strtol(at + 2, NULL, 10);
            most = n > most ? n : most;
        }
    return most + 1;
}

/* The end of the parameter that begins at p: its comma, or the parenthesis after the last. */
static const char *parameter_end(const char *p)
{
    int depth = 0;
    bool quoted = false;
    for (; *p != '\n' && *p != '\0'; p++) {
        quoted ^= *p == '"';
        if (quoted)
            continue;
        if (depth == 0 && (*p == ',' || *p == ')'))
            break;
        depth += (*p == '(' || *p == '{' || *p == '[' || *p == '<');
        depth -= (*p == ')' || *p == '}' || *p == ']' || *p == '>');
    }
    return p;
}

/* The function's name, with @ and quotes, in the line that defines it; *size gets its length. */
static const char *function_name(const char *line, size_t *size)
{
    const char *at = memchr(line, '@', strcspn(line, "\n"));
    if (at == NULL)
        return NULL;
    const char *end = at[1] == '"' ? memchr(at + 2, '"', strcspn(at + 2, "\n")) : NULL;
    *size = end != NULL ? (size_t)(end + 1 - at) : strcspn(at, "(\n");
    return at;
}

/* The place of the parameter of that name among those that are handed over in memory, from 1; 0: it
 * is none. */
static int place_of(const char *line, const char *name, size_t size)
{
    size_t n = 0;
    const char *p = function_name(line, &n);
    if (p == NULL || p[n] != '(')
        return 0;
    p += n + 1;
    for (int place = 1; *p != '\n' && *p != '\0' && *p != ')'; place++) {
        const char *end = parameter_end(p);
        if ((size_t)(end - p) > size + 1 && memcmp(end - size, name, size) == 0 &&
            end[-(ptrdiff_t)size - 1] == ' ')
            return memmem(p, (size_t)(end - p), "byval(", 6) != NULL ? place : 0;
        p = end + (*end == ',');
    }
    return 0;
}

/* Whether the line is our annotation of a value; the value's parameter is noted then. */
static bool take_annotation(struct rewriting *r, const char *line)
{
    const char *at = find_in_line(line, "@llvm.var.annotation.");
    const char *value = at != NULL ? find_in_line(at, "(ptr %") : NULL;
    if (value == NULL || r->names.count == 0)
        return false;
    value += strlen("(ptr ");
    size_t size = strcspn(value, ",\n");
    if (!text_starts(value + size, ", ptr @"))
        return false;
    const char *name = value + size + strlen(", ptr ");
    char *wanted = xprintf(" %.*s,", (int)strcspn(name, ",\n"), name);
    bool ours = strstr(r->names.items, wanted) != NULL;
    free(wanted);
    int place = ours && r->function != NULL ? place_of(r->function, value, size) : 0;
    if (place > 0)
        sb_printf(&r->which, "%si32 %d", r->which.count > 0 ? ", " : "", place);
    return ours;
}

static void end_function(struct rewriting *r)
{
    size_t n = 0;
    const char *name = r->which.count > 0 ? function_name(r->function, &n) : NULL;
    if (name != NULL) {
        sb_printf(&r->list, ", !%ld", r->next_node);
        sb_printf(&r->nodes, "!%ld = !{ptr %.*s, !\"grid_constant\", !%ld}\n!%ld = !{%s}\n",
                  r->next_node, (int)n, name, r->next_node + 1, r->next_node + 1, r->which.items);
        r->next_node += 2;
    }
    r->which.count = 0;
    r->function = NULL;
}

static void put_line(struct rewriting *r, const char *line, size_t n)
{
    static const char annotations[] = "!nvvm.annotations = !{";
    if (text_starts(line, "define "))
        r->function = line;
    if (take_annotation(r, line))
        return;
    if (*line == '}' && r->function != NULL)
        end_function(r);
    const char *end = text_starts(line, annotations) ? memchr(line, '}', n) : NULL;
    if (end == NULL || r->list.count == 0) {
        sb_append(r->out, line, n);
        return;
    }
    const char *begin = line + strlen(annotations);
    const char *list = r->list.items + (end == begin ? strlen(", ") : 0);
    sb_printf(r->out, "%.*s%s}\n", (int)(end - line), line, list);
}

void grid_constants_rewrite(const char *llvm, struct strbuf *out)
{
    if (strstr(llvm, GRID_CONSTANT_ANNOTATION) == NULL) {
        sb_append(out, llvm, strlen(llvm));
        return;
    }
    struct rewriting r = {.llvm = llvm, .out = out, .next_node = first_free_node(llvm)};
    sb_append(out, "", 0);
    find_names(&r);
    for (const char *line = llvm; *line != '\0';) {
        size_t n = strcspn(line, "\n");
        n += line[n] == '\n';
        put_line(&r, line, n);
        line += n;
    }
    if (r.nodes.count > 0)
        sb_append(out, r.nodes.items, r.nodes.count);
    sb_free(&r.names);
    sb_free(&r.list);
    sb_free(&r.nodes);
    sb_free(&r.which);
}

/* The key of such an entry, and one that LLVM does not know. */
static const char entry_key[] = "!\"grid_constant\"", other_key[] = "!\"weir.copied\"";

bool grid_constants_found(const char *llvm) { return strstr(llvm, entry_key) != NULL; }

void grid_constants_drop(const char *llvm, struct strbuf *out)
{
    sb_append(out, "", 0);
    for (const char *at; (at = strstr(llvm, entry_key)) != NULL; llvm = at + strlen(entry_key))
        sb_printf(out, "%.*s%s", (int)(at - llvm), llvm, other_key);
    sb_printf(out, "%s", llvm);
}
