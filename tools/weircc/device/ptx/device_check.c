/* Looking for mistakes in PTX; see device_check.h. */
#include "weircc/device/ptx/device_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "ptx/reach.h"

/* What static shared memory of a kernel may take; dynamic shared memory may be larger. */
enum { STATIC_SHARED_MAX = 48 << 10 };

/* What the .const variables of a module may take. */
enum { CONSTANT_MAX = 64 << 10 };

/* ---- what the parser refuses ---- */

/* The beginning of a line (from 1). */
static const char *line_at(const char *text, int line)
{
    while (--line > 0 && *text != '\0') {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return text;
}

/* The last line that holds `what`, between the text's beginning and `end`; NULL: there is none. A
 * function that ends before is another's. */
static const char *last_before(const char *text, const char *end, const char *what)
{
    const char *found = NULL;
    for (const char *p = text; p < end; p += strcspn(p, "\n") + 1) {
        size_t n = strcspn(p, "\n");
        const char *at = memmem(p, n, what, strlen(what));
        if (*p == '}')
            found = NULL;
        else if (at != NULL)
            found = at;
        if (p[n] == '\0')
            break;
    }
    return found;
}

/* The file of a number, as .file directives name it; the caller frees it. NULL: it is not told. */
static char *file_of(const char *ptx, int number)
{
    char *directive = xprintf(".file\t%d ", number);
    const char *at = strstr(ptx, directive);
    size_t n = strlen(directive);
    free(directive);
    at = at != NULL ? at + n : NULL;
    if (at == NULL || *at != '"')
        return NULL;
    const char *end = at + 1 + strcspn(at + 1, "\"\n");
    if (end[0] == '"' && end[1] == ' ' && end[2] == '"') /* a directory and a name */
        return xprintf("%.*s/%.*s", (int)(end - at - 1), at + 1, (int)strcspn(end + 3, "\"\n"),
                       end + 3);
    return xprintf("%.*s", (int)(end - at - 1), at + 1);
}

/* The name as the source was given, where it is that file. */
static char *name_of(char *file, const char *source)
{
    char *a = realpath(file, NULL), *b = realpath(source, NULL);
    bool same = a != NULL && b != NULL && strcmp(a, b) == 0;
    free(a);
    free(b);
    if (!same)
        return file;
    free(file);
    return xstrdup(source);
}

/* "a.cu:3:5", or "a.cu" where no line is known; the caller frees it. */
static char *place_of(const char *with_lines, const char *source)
{
    struct diag d = {0};
    int file, line, column;
    struct ptx_module *m =
        with_lines != NULL ? ptx_parse(with_lines, strlen(with_lines), &d) : NULL;
    const char *loc = with_lines != NULL && m == NULL
                          ? last_before(with_lines, line_at(with_lines, d.line), ".loc\t")
                          : NULL;
    ptx_free(m);
    if (loc == NULL || sscanf(loc, ".loc\t%d %d %d", &file, &line, &column) != 3 || line == 0)
        return xstrdup(source);
    char *name = file_of(with_lines, file);
    name = name_of(name != NULL ? name : xstrdup(source), source);
    char *place = xprintf("%s:%d:%d", name, line, column > 0 ? column : 1);
    free(name);
    return place;
}

/* "k(int *)": the function that a line of PTX is in; NULL: none. The caller frees it. */
static char *function_at(const char *ptx, int line)
{
    static const char *const begins[] = {"-- Begin function ", ".entry "};
    for (size_t i = 0; i < WEIR_COUNT(begins); i++) {
        const char *at = last_before(ptx, line_at(ptx, line), begins[i]);
        if (at == NULL)
            continue;
        at += strlen(begins[i]);
        char *symbol = xprintf("%.*s", (int)strcspn(at, "( \n"), at), *name = demangle(symbol);
        free(symbol);
        return name;
    }
    return NULL;
}

/* What is wrong, without the line that the message begins with. */
static const char *without_line(const char *text)
{
    const char *after = strstr(text, ": ");
    return strncmp(text, "line ", 5) == 0 && after != NULL ? after + 2 : text;
}

static void report_refused(const char *ptx, const char *with_lines, const char *source,
                           const struct diag *why, struct strbuf *messages)
{
    char *place = place_of(with_lines, source), *function = function_at(ptx, why->line);
    const char *text = without_line(why->text);
    sb_printf(messages, "%s: error: in the PTX of %s%s%s: %s (line %d of what -ptx writes)\n",
              place, function != NULL ? "'" : "", function != NULL ? function : "this file",
              function != NULL ? "'" : "", text, why->line);
    free(place);
    free(function);
}

/* ---- what kernels use ---- */

/* clang gives a static variable a name of its own, <name>__static__<file>, and may have referred to
 * it by the plain name before. */
static bool has_static_twin(const struct ptx_module *m, const char *name)
{
    size_t n = strlen(name);
    for (int32_t i = 0; i < m->nvars; i++)
        if (strncmp(m->vars[i]->name, name, n) == 0 &&
            strncmp(m->vars[i]->name + n, "__static__", 10) == 0)
            return true;
    return false;
}

static bool is_undefined_variable(const struct ptx_module *m, const struct ptx_var *v)
{
    return v->linkage == PTX_LINK_EXTERN &&
           (v->space == PTX_SPACE_GLOBAL || v->space == PTX_SPACE_CONST) &&
           !has_static_twin(m, v->name);
}

/* Whether anything could be said of some kernel: most modules need no more than this. */
static bool is_suspect(const struct ptx_module *m, bool relocatable)
{
    uint64_t shared = 0;
    for (int32_t n = 0; n < m->nvars; n++) {
        const struct ptx_var *v = m->vars[n];
        shared += v->space == PTX_SPACE_SHARED && !v->unsized ? v->size + v->align : 0;
        if (!relocatable && is_undefined_variable(m, v))
            return true;
    }
    for (int32_t n = 0; n < m->nfuncs; n++) {
        const struct ptx_func *f = m->funcs[n];
        if (!relocatable && ptx_is_undefined(f))
            return true;
        for (int32_t k = 0; k < f->nvars; k++)
            shared +=
                f->vars[k]->space == PTX_SPACE_SHARED ? f->vars[k]->size + f->vars[k]->align : 0;
    }
    return shared > STATIC_SHARED_MAX;
}

static uint64_t add_shared(uint64_t bytes, const struct ptx_var *v)
{
    if (v->space != PTX_SPACE_SHARED || v->unsized || v->linkage == PTX_LINK_EXTERN)
        return bytes;
    uint64_t align = v->align > 0 ? v->align : 1;
    return (bytes + align - 1) / align * align + v->size;
}

static uint64_t static_shared(const struct ptx_reach *r)
{
    uint64_t bytes = 0;
    for (size_t n = 0; n < r->vars.count; n++)
        if (r->vars.items[n]->scope == NULL)
            bytes = add_shared(bytes, r->vars.items[n]);
    for (size_t n = 0; n < r->funcs.count; n++)
        for (int32_t k = 0; k < r->funcs.items[n]->nvars; k++)
            bytes = add_shared(bytes, r->funcs.items[n]->vars[k]);
    return bytes;
}

/* What has been said, each once. */
struct report {
    const char *source;
    bool relocatable;
    int errors;
    struct strbuf *messages;
    struct device_findings *found;
    struct {
        const void **items;
        size_t count, cap;
    } told;
};

static bool is_new(struct report *r, const void *what)
{
    for (size_t n = 0; n < r->told.count; n++)
        if (r->told.items[n] == what)
            return false;
    vec_push(&r->told, what);
    return true;
}

static void check_kernel(struct report *r, const struct ptx_func *entry)
{
    struct ptx_reach reached = {.all = true};
    ptx_reach(&reached, entry);
    char *kernel = demangle(entry->name);
    uint64_t shared = static_shared(&reached);
    if (shared > STATIC_SHARED_MAX) {
        sb_printf(r->messages,
                  "%s: error: kernel '%s' has %llu bytes (0x%llx) of static shared memory, and "
                  "there may be 49152 (0xc000): more must be dynamic (extern __shared__)\n",
                  r->source, kernel, (unsigned long long)shared, (unsigned long long)shared);
        r->errors++;
    }
    for (size_t n = 0; !r->relocatable && n < reached.funcs.count; n++) {
        const struct ptx_func *f = reached.funcs.items[n];
        if (!ptx_is_undefined(f) || !is_new(r, f))
            continue;
        char *name = demangle(f->name);
        sb_printf(r->messages,
                  "%s: error: the device function '%s', which kernel '%s' uses, is not defined in "
                  "this file (-rdc=true links those of other files)\n",
                  r->source, name, kernel);
        free(name);
        r->errors++;
        r->found->functions = true;
    }
    for (size_t n = 0; !r->relocatable && n < reached.vars.count; n++) {
        const struct ptx_var *v = reached.vars.items[n];
        if (!is_undefined_variable(entry->module, v) || !is_new(r, v))
            continue;
        char *name = demangle(v->name);
        sb_printf(r->messages,
                  "%s: warning: the device variable '%s', which kernel '%s' uses, is extern and "
                  "not defined in this file, whose device code cannot be loaded so (-rdc=true "
                  "links those of other files)\n",
                  r->source, name, kernel);
        sb_printf(&r->found->definitions,
                  "%s: warning: the device variable '%s', which kernel '%s' uses, is extern: "
                  "without -rdc=true that is taken for its definition\n",
                  r->source, name, kernel);
        const char *last = strrchr(name, ':');
        list_add(&r->found->variables, "%s", last != NULL ? last + 1 : name);
        free(name);
    }
    free(kernel);
    ptx_reach_free(&reached);
}

/* A module's constant memory is all its kernels', whichever use it. */
static void check_constants(struct report *r, const struct ptx_module *m)
{
    uint64_t bytes = 0;
    for (int32_t n = 0; n < m->nvars; n++) {
        const struct ptx_var *v = m->vars[n];
        uint64_t align = v->align > 0 ? v->align : 1;
        if (v->space == PTX_SPACE_CONST && !v->unsized && v->linkage != PTX_LINK_EXTERN)
            bytes = (bytes + align - 1) / align * align + v->size;
    }
    if (bytes <= CONSTANT_MAX)
        return;
    sb_printf(r->messages,
              "%s: error: the __constant__ variables of this file have %llu bytes (0x%llx), and "
              "there may be 65536 (0x10000)\n",
              r->source, (unsigned long long)bytes, (unsigned long long)bytes);
    r->errors++;
}

/* Whether PTX is refused for what the device does not do, or for want of memory: that is said when
 * it is loaded. */
static bool is_of_the_device(const struct diag *why)
{
    return strstr(why->text, "supported") != NULL || why->out_of_memory;
}

bool device_check_file(const char *ptx, const char *source, struct strbuf *messages)
{
    struct diag why = {0};
    struct ptx_module *m = ptx_parse(ptx, strlen(ptx), &why);
    bool fine = m != NULL || is_of_the_device(&why);
    ptx_free(m);
    if (!fine)
        sb_printf(messages, "%s:%d: error: %s\n", source, why.line, without_line(why.text));
    return fine;
}

bool device_check(const char *ptx, const char *with_lines, const char *source, bool relocatable,
                  struct strbuf *messages, struct device_findings *found)
{
    struct diag why = {0};
    struct report r = {
        .source = source, .relocatable = relocatable, .messages = messages, .found = found};
    struct ptx_module *m = ptx_parse(ptx, strlen(ptx), &why);
    *found = (struct device_findings){0};
    if (m == NULL) {
        if (is_of_the_device(&why))
            return true;
        found->needs_lines = true;
        report_refused(ptx, with_lines, source, &why, messages);
        return false;
    }
    check_constants(&r, m);
    bool suspect = is_suspect(m, relocatable);
    for (int32_t n = 0; suspect && n < m->nfuncs; n++)
        if (m->funcs[n]->is_entry && m->funcs[n]->has_body)
            check_kernel(&r, m->funcs[n]);
    free(r.told.items);
    ptx_free(m);
    return r.errors == 0;
}
