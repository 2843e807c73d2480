/* Rewriting casts in LLVM text; see casts.h. */
#include "casts.h"

#include <stdlib.h>
#include <string.h>

#include "files.h"

/* "  %12 = call i8 @llvm.fptoui.sat.i8.f32(float %11), !dbg !5", in pieces. */
struct cast {
    const char *line;
    int name;         /* characters of "  %12" */
    const char *call; /* "call ", from there on */
    bool is_signed;   /* fptosi */
    int bits;         /* of the result */
    const char *from; /* "float" */
    int from_size;
    const char *value; /* "%11" or a constant */
    int value_size;
    const char *rest; /* after the parenthesis, up to the end of the line */
    int rest_size;
};

/* Moves past the text; false when something else is there. */
static bool skip(const char **p, const char *text)
{
    size_t n = strlen(text);
    if (strncmp(*p, text, n) != 0)
        return false;
    *p += n;
    return true;
}

static int take_until(const char **p, char end, const char **begin)
{
    *begin = *p;
    while (**p != end && **p != '\n' && **p != '\0')
        ++*p;
    return (int)(*p - *begin);
}

/* The bits of "i8" and its kin; 0 for other types. */
static int take_integer(const char **p)
{
    static const struct {
        const char *name;
        int bits;
    } types[] = {{"i8 ", 8}, {"i16 ", 16}, {"i32 ", 32}, {"i64 ", 64}};
    for (size_t i = 0; i < WEIR_COUNT(types); i++)
        if (skip(p, types[i].name))
            return types[i].bits;
    return 0;
}

static bool read_cast(const char *line, struct cast *c)
{
    const char *p = line, *ignored;
    c->line = line;
    if (!skip(&p, "  %"))
        return false;
    take_until(&p, ' ', &ignored);
    c->name = (int)(p - line);
    if (!skip(&p, " = "))
        return false;
    skip(&p, "tail ");
    c->call = p;
    if (!skip(&p, "call ") || (c->bits = take_integer(&p)) == 0)
        return false;
    c->is_signed = strncmp(p, "@llvm.fptosi.sat.", 17) == 0;
    if (!c->is_signed && strncmp(p, "@llvm.fptoui.sat.", 17) != 0)
        return false;
    take_until(&p, '(', &ignored);
    if (!skip(&p, "("))
        return false;
    c->from_size = take_until(&p, ' ', &c->from);
    if (!skip(&p, " "))
        return false;
    c->value_size = take_until(&p, ')', &c->value);
    if (!skip(&p, ")"))
        return false;
    c->rest_size = take_until(&p, '\n', &c->rest);
    return true;
}

/* A cast to fewer than 32 bits: to 32 bits by a call to a new name, and what is left of that. LLVM
 * declares its own functions as they are called. */
static void put_narrow(struct strbuf *out, const struct cast *c)
{
    char kind = c->is_signed ? 's' : 'u';
    const char *suffix = strchr(strstr(c->call, ".sat.i"), 'i'); /* "i8.f32(" */
    const char *type = strchr(suffix, '.');
    int size = (int)strcspn(type, "(");
    /* "%12" is a number, which nothing may follow */
    sb_printf(out, "  %%weir.cast.%.*s = call i32 @llvm.fpto%ci.sat.i32%.*s(%.*s %.*s)%.*s\n",
              c->name - 3, c->line + 3, kind, size, type, c->from_size, c->from, c->value_size,
              c->value, c->rest_size, c->rest);
    sb_printf(out, "%.*s = trunc i32 %%weir.cast.%.*s to i%d%.*s\n", c->name, c->line, c->name - 3,
              c->line + 3, c->bits, c->rest_size, c->rest);
}

/* The instruction, for which the backend has one of PTX. A constant is worked out by the call. */
static bool put_instruction(struct strbuf *out, const struct cast *c)
{
    if (c->bits < 32 || c->value[0] != '%')
        return false;
    /* attributes and metadata of the call are none of an instruction's, but for the line */
    const char *line = strstr(c->rest, ", !dbg ");
    bool has_line = line != NULL && line < c->rest + c->rest_size;
    sb_printf(out, "%.*s = fpto%ci %.*s %.*s to i%d", c->name, c->line, c->is_signed ? 's' : 'u',
              c->from_size, c->from, c->value_size, c->value, c->bits);
    if (has_line)
        sb_append(out, line, strcspn(line + 2, ",\n") + 2);
    sb_append(out, "\n", 1);
    return true;
}

/* A table of virtual bases as an argument. */
static bool put_table(struct strbuf *out, const char *line, size_t n)
{
    static const char wrong[] = "bitcast (ptr ", to[] = " to ptr addrspace(1))";
    const char *at = strstr(line, wrong), *end = at != NULL ? strstr(at, to) : NULL;
    if (strncmp(line, "  ", 2) != 0 || end == NULL || end >= line + n)
        return false;
    sb_append(out, line, (size_t)(at - line));
    sb_printf(out, "addrspace");
    at += strlen("bit");
    sb_append(out, at, (size_t)(line + n - at));
    return true;
}

void casts_rewrite(const char *llvm, struct strbuf *out)
{
    sb_append(out, "", 0);
    for (const char *line = llvm; *line != '\0';) {
        size_t n = strcspn(line, "\n");
        n += line[n] == '\n';
        struct cast c;
        if (read_cast(line, &c) && c.bits < 32)
            put_narrow(out, &c);
        else if (!put_table(out, line, n))
            sb_append(out, line, n);
        line += n;
    }
}

void casts_lower(const char *llvm, struct strbuf *out)
{
    sb_append(out, "", 0);
    for (const char *line = llvm; *line != '\0';) {
        size_t n = strcspn(line, "\n");
        n += line[n] == '\n';
        struct cast c;
        if (!read_cast(line, &c) || !put_instruction(out, &c))
            sb_append(out, line, n);
        line += n;
    }
}

bool casts_found(const char *llvm)
{
    return strstr(llvm, "i32 @llvm.fpto") != NULL || strstr(llvm, "i64 @llvm.fpto") != NULL;
}

static bool change_file(const char *path, void (*change)(const char *, struct strbuf *),
                        struct diag *d)
{
    char *llvm = file_read(path, NULL, d);
    struct strbuf out = {0};
    if (llvm != NULL)
        change(llvm, &out);
    bool ok = llvm != NULL && file_write(path, out.items, out.count, d);
    sb_free(&out);
    free(llvm);
    return ok;
}

bool casts_rewrite_file(const char *path, struct diag *d)
{
    return change_file(path, casts_rewrite, d);
}

bool casts_lower_file(const char *path, struct diag *d)
{
    return change_file(path, casts_lower, d);
}
