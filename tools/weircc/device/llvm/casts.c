/* Rewriting casts in LLVM text; see casts.h. */
#include "weircc/device/llvm/casts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "  %12 = call i8 @llvm.fptoui.sat.i8.f32(float %11), !dbg !5", in pieces. */
struct cast {
    const char *line;
    int name;         /* characters of "  %12" */
    const char *call; /* "call ", from there on */
    bool is_signed;   /* fptosi */
    bool own;         /* of a function that LLVM does not know */
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
    } types[] = {{"i8 ", 8}, {"i16 ", 16}, {"i32 ", 32}, {"i64 ", 64}, {"i128 ", 128}};
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
    c->own = skip(&p, "@weir.fpto");
    if (!c->own && !skip(&p, "@llvm.fpto"))
        return false;
    c->is_signed = *p == 's';
    if (!skip(&p, c->is_signed ? "si.sat." : "ui.sat."))
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

/* A cast whose NaN is not LLVM's: by a call to the function that LLVM does not know. */
static bool put_own(struct strbuf *out, const struct cast *c)
{
    if (strncmp(c->from, "double", 6) != 0 && c->bits < 64)
        return false;
    const char *name = strstr(c->call, "@llvm.") + strlen("@llvm");
    sb_append(out, c->line, (size_t)(name - strlen("@llvm") - c->line));
    sb_printf(out, "@weir%.*s\n", (int)(c->rest + c->rest_size - name), name);
    return true;
}

/* Writes a call of the device library's function for casts between 128 bits and double, e.g.
 * "call i128 @__weir_double_to_i128(double %1)". */
static void put_wide_call(struct strbuf *out, const char *name, int name_size, const char *function,
                          const char *value, int value_size, const char *rest, int rest_size)
{
    const char *result = strstr(function, "_to_") + strlen("_to_");
    bool gives_integer = strchr(result, '1') != NULL;
    bool takes_integer = !gives_integer;
    sb_printf(out, "%.*s = call %s @__weir_%s(%s %.*s)%.*s\n", name_size, name,
              gives_integer ? "i128" : result, function, takes_integer ? "i128" : "double",
              value_size, value, rest_size, rest);
}

/* A cast to 128 bits, of which the backend knows nothing. float is widened first, which is exact.
 */
static void put_to_wide(struct strbuf *out, const struct cast *c)
{
    const char *function = c->is_signed ? "double_to_i128" : "double_to_u128";
    if (c->from_size == 6 && strncmp(c->from, "double", 6) == 0) {
        put_wide_call(out, c->line, c->name, function, c->value, c->value_size, c->rest,
                      c->rest_size);
        return;
    }
    /* "%12" is a number, which nothing may follow */
    char *wide = xprintf("%%weir.cast.%.*s", c->name - 3, c->line + 3);
    sb_printf(out, "  %s = fpext %.*s %.*s to double\n", wide, c->from_size, c->from, c->value_size,
              c->value);
    put_wide_call(out, c->line, c->name, function, wide, (int)strlen(wide), c->rest, c->rest_size);
    free(wide);
}

/* "  %12 = sitofp i128 %11 to float, !dbg !5": a cast from 128 bits. */
static bool put_from_wide(struct strbuf *out, const char *line)
{
    const char *p = line, *value, *rest, *ignored;
    if (!skip(&p, "  %"))
        return false;
    take_until(&p, ' ', &ignored);
    int name = (int)(p - line);
    bool is_signed = strncmp(p, " = sitofp i128 ", 15) == 0;
    if (!skip(&p, " = sitofp i128 ") && !skip(&p, " = uitofp i128 "))
        return false;
    int value_size = take_until(&p, ' ', &value);
    bool is_float = strncmp(p, " to float", 9) == 0;
    if (!skip(&p, " to float") && !skip(&p, " to double"))
        return false;
    int rest_size = take_until(&p, '\n', &rest);
    static const char *const functions[] = {"u128_to_double", "u128_to_float", "i128_to_double",
                                            "i128_to_float"};
    put_wide_call(out, line, name, functions[is_signed * 2 + is_float], value, value_size, rest,
                  rest_size);
    return true;
}

static void put_wide_declarations(struct strbuf *out)
{
    for (const char *kind = "iu"; *kind != '\0'; kind++) {
        sb_printf(out, "\ndeclare i128 @__weir_double_to_%c128(double)\n", *kind);
        sb_printf(out, "declare float @__weir_%c128_to_float(i128)\n", *kind);
        sb_printf(out, "declare double @__weir_%c128_to_double(i128)\n", *kind);
    }
}

/* Their declarations, for LLVM to take out what is not used. */
static void put_declarations(struct strbuf *out)
{
    static const char *const types[] = {"half", "bfloat", "float", "double"};
    static const char *const names[] = {"f16", "bf16", "f32", "f64"};
    sb_printf(out, "\n");
    for (size_t i = 0; i < WEIR_COUNT(types); i++)
        for (int bits = 32; bits <= 64; bits += 32)
            for (const char *kind = "su"; *kind != '\0'; kind++)
                sb_printf(out,
                          "declare i%d @weir.fpto%ci.sat.i%d.%s(%s) nounwind willreturn "
                          "speculatable memory(none)\n",
                          bits, *kind, bits, names[i], types[i]);
}

/* A number as LLVM writes it: in decimal, or as the bits of a double, a half or a bfloat. False: it
 * is something else. */
static bool read_number(const char *text, double *d)
{
    char *end;
    if (strncmp(text, "0x", 2) != 0) {
        *d = strtod(text, &end);
        return end != text && *end == '\0';
    }
    char kind = text[2];
    const char *digits = text + (kind == 'H' || kind == 'R' ? 3 : 2);
    uint64_t bits = strtoull(digits, &end, 16);
    if (kind == 'H')
        *d = (double)__builtin_bit_cast(_Float16, (uint16_t)bits);
    else if (kind == 'R')
        *d = (double)__builtin_bit_cast(float, (uint32_t)bits << 16);
    else
        *d = __builtin_bit_cast(double, bits);
    return end != digits && *end == '\0';
}

/* What PTX's instruction gives for a constant, of which one that is anything is 0. False: it is an
 * expression. */
static bool constant_result(const struct cast *c, uint64_t *result)
{
    char text[64];
    double d = 0;
    if (c->value_size >= (int)sizeof text)
        return false;
    memcpy(text, c->value, (size_t)c->value_size);
    text[c->value_size] = '\0';
    bool any = strcmp(text, "undef") == 0 || strcmp(text, "poison") == 0;
    if (!any && !read_number(text, &d))
        return false;
    double limit = ldexp(1, c->bits - (c->is_signed ? 1 : 0)), least = c->is_signed ? -limit : 0;
    uint64_t high = (uint64_t)1 << (c->bits - 1);
    if (isnan(d))
        *result = c->own ? high : 0;
    else if (d >= limit)
        *result = c->is_signed ? high - 1 : UINT64_MAX >> (64 - c->bits);
    else if (d <= least)
        *result = c->is_signed ? high : 0;
    else
        *result = c->is_signed ? (uint64_t)(int64_t)d : (uint64_t)d;
    if (c->bits == 32)
        *result &= UINT32_MAX;
    return true;
}

/* The instruction, for which the backend has one of PTX; of a constant the result. */
static bool put_instruction(struct strbuf *out, const struct cast *c)
{
    uint64_t result;
    if (c->bits < 32)
        return false;
    if (c->value[0] != '%' && constant_result(c, &result)) {
        sb_printf(out, "%.*s = add i%d 0, %llu\n", c->name, c->line, c->bits,
                  (unsigned long long)result);
        return true;
    }
    /* attributes and metadata of the call are none of an instruction's, but for the line */
    const char *line = memmem(c->rest, (size_t)c->rest_size, ", !dbg ", 7);
    sb_printf(out, "%.*s = fpto%ci %.*s %.*s to i%d", c->name, c->line, c->is_signed ? 's' : 'u',
              c->from_size, c->from, c->value_size, c->value, c->bits);
    if (line != NULL)
        sb_append(out, line, strcspn(line + 2, ",\n") + 2);
    sb_append(out, "\n", 1);
    return true;
}

/* A table of virtual bases as an argument. */
static bool put_table(struct strbuf *out, const char *line, size_t n)
{
    static const char wrong[] = "bitcast (ptr ", to[] = " to ptr addrspace(1))";
    if (strncmp(line, "  ", 2) != 0)
        return false;
    const char *at = memmem(line, n, wrong, strlen(wrong));
    if (at == NULL || memmem(at, (size_t)(line + n - at), to, strlen(to)) == NULL)
        return false;
    sb_append(out, line, (size_t)(at - line));
    sb_printf(out, "addrspace");
    at += strlen("bit");
    sb_append(out, at, (size_t)(line + n - at));
    return true;
}

void casts_rewrite(const char *llvm, struct strbuf *out)
{
    bool own = false, wide = false;
    sb_append(out, "", 0);
    for (const char *line = llvm; *line != '\0';) {
        size_t n = strcspn(line, "\n");
        n += line[n] == '\n';
        struct cast c;
        if (read_cast(line, &c) && c.bits < 32)
            put_narrow(out, &c);
        else if (read_cast(line, &c) && c.bits == 128) {
            put_to_wide(out, &c);
            wide = true;
        } else if (put_from_wide(out, line))
            wide = true;
        else if (read_cast(line, &c) && put_own(out, &c))
            own = true;
        else if (!put_table(out, line, n))
            sb_append(out, line, n);
        line += n;
    }
    if (own)
        put_declarations(out);
    if (wide)
        put_wide_declarations(out);
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
    return strstr(llvm, "i32 @llvm.fpto") != NULL || strstr(llvm, "i64 @llvm.fpto") != NULL ||
           strstr(llvm, "@weir.fpto") != NULL;
}

bool casts_found_wide(const char *llvm)
{
    return strstr(llvm, "declare i128 @__weir_double_to_") != NULL;
}
