/* Rewriting casts in LLVM text; see casts.h. */
#include "casts.h"

#include <stdlib.h>
#include <string.h>

#include "files.h"

/* "  %12 = call i8 @llvm.fptoui.sat.i8.f32(float %11), !dbg !5", in pieces. */
struct cast {
    const char *line;
    int name;         /* characters of "  %12" */
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
    if (!skip(&p, " = call ") || (c->bits = take_integer(&p)) == 0)
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

/* How the name of the intrinsic ends for the type. */
static const char *suffix_of(const struct cast *c)
{
    static const struct {
        const char *type, *suffix;
    } types[] = {{"float", "f32"}, {"double", "f64"}, {"half", "f16"}, {"bfloat", "bf16"}};
    for (size_t i = 0; i < WEIR_COUNT(types); i++)
        if (strlen(types[i].type) == (size_t)c->from_size &&
            strncmp(c->from, types[i].type, (size_t)c->from_size) == 0)
            return types[i].suffix;
    return NULL;
}

/* The conversion to that many bits, to a new name that ends with `ending`. */
static void put_conversion(struct strbuf *out, const struct cast *c, int bits, const char *ending)
{
    char kind = c->is_signed ? 's' : 'u';
    sb_printf(out, "%.*s%s = ", c->name, c->line, ending);
    if (c->value[0] == '%')
        sb_printf(out, "fpto%ci %.*s %.*s to i%d", kind, c->from_size, c->from, c->value_size,
                  c->value, bits);
    else
        sb_printf(out, "call i%d @llvm.fpto%ci.sat.i%d.%s(%.*s %.*s)", bits, kind, bits,
                  suffix_of(c), c->from_size, c->from, c->value_size, c->value);
    sb_printf(out, "%.*s\n", c->rest_size, c->rest);
}

static void put_cast(struct strbuf *out, const struct cast *c)
{
    if (c->bits >= 32) {
        put_conversion(out, c, c->bits, "");
        return;
    }
    /* "%12" is a number, which nothing may follow */
    struct cast wide = *c;
    char *name = xprintf("  %%weir.cast.%.*s", c->name - 3, c->line + 3);
    wide.line = name;
    wide.name = (int)strlen(name);
    put_conversion(out, &wide, 32, "");
    sb_printf(out, "%.*s = trunc i32 %s to i%d%.*s\n", c->name, c->line, name + 2, c->bits,
              c->rest_size, c->rest);
    free(name);
}

void casts_rewrite(const char *llvm, struct strbuf *out)
{
    sb_append(out, "", 0);
    for (const char *line = llvm; *line != '\0';) {
        size_t n = strcspn(line, "\n");
        n += line[n] == '\n';
        struct cast c;
        if (read_cast(line, &c) && suffix_of(&c) != NULL)
            put_cast(out, &c);
        else
            sb_append(out, line, n);
        line += n;
    }
}

bool casts_rewrite_file(const char *path, struct diag *d)
{
    char *llvm = file_read(path, NULL, d);
    struct strbuf out = {0};
    if (llvm != NULL)
        casts_rewrite(llvm, &out);
    bool ok = llvm != NULL && file_write(path, out.items, out.count, d);
    sb_free(&out);
    free(llvm);
    return ok;
}
