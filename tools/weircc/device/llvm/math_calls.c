/* Mathematical functions of compilers; see math_calls.h. */
#include "weircc/device/llvm/math_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "weircc/options/options.h"

/* What there is: by LLVM's name of an intrinsic, or by the C library's. */
static const struct function {
    const char *name;
    bool intrinsic;
    const char *library; /* the device library's name, if it is another */
} functions[] = {
    {"acos", true, NULL},
    {"asin", true, NULL},
    {"atan", true, NULL},
    {"cos", true, NULL},
    {"cosh", true, NULL},
    {"exp", true, NULL},
    {"exp2", true, NULL},
    {"exp10", true, NULL},
    {"llrint.i64", true, "llrint"},
    {"llround.i64", true, "llround"},
    {"log", true, NULL},
    {"log10", true, NULL},
    {"log2", true, NULL},
    {"lrint.i64", true, "llrint"},
    {"lround.i64", true, "llround"},
    {"pow", true, NULL},
    {"sin", true, NULL},
    {"sinh", true, NULL},
    {"tan", true, NULL},
    {"tanh", true, NULL},
    {"acosh", false, NULL},
    {"asinh", false, NULL},
    {"atan2", false, NULL},
    {"atanh", false, NULL},
    {"cbrt", false, NULL},
    {"erf", false, NULL},
    {"erfc", false, NULL},
    {"expm1", false, NULL},
    {"fdim", false, NULL},
    {"hypot", false, NULL},
    {"ilogb", false, NULL},
    {"lgamma", false, NULL},
    {"log1p", false, NULL},
    {"logb", false, NULL},
    {"modf", false, NULL},
    {"nextafter", false, NULL},
    {"remainder", false, NULL},
    {"remquo", false, NULL},
    {"scalbn", false, NULL},
    {"tgamma", false, NULL},
};

/* Each for float and double. */
enum { COUNT = 2 * WEIR_COUNT(functions) };

/* What the text says of the functions: indices are those of functions twice, floats the odd ones.
 */
struct known {
    bool declared[COUNT];   /* under the compiler's name */
    struct strlist library; /* of the device library, declared or defined */
};

/* The function whose name stands at p, after the @, up to the parenthesis; -1: none. */
static int find_function(const char *p)
{
    static const char llvms[] = "llvm.";
    bool intrinsic = strncmp(p, llvms, sizeof llvms - 1) == 0;
    p += intrinsic ? sizeof llvms - 1 : 0;
    for (size_t i = 0; i < WEIR_COUNT(functions); i++) {
        size_t n = strlen(functions[i].name);
        if (functions[i].intrinsic != intrinsic || strncmp(p, functions[i].name, n) != 0)
            continue;
        if (strncmp(p + n, intrinsic ? ".f64(" : "(", intrinsic ? 5 : 1) == 0)
            return (int)(2 * i);
        if (strncmp(p + n, intrinsic ? ".f32(" : "f(", intrinsic ? 5 : 2) == 0)
            return (int)(2 * i + 1);
    }
    return -1;
}

/* Its name in the device library. */
static char *library_name(int i)
{
    const struct function *f = &functions[i / 2];
    return xprintf("__nv_%s%s", f->library != NULL ? f->library : f->name, i % 2 != 0 ? "f" : "");
}

/* The name on a line that declares or defines a function, after its @; NULL: it does neither. */
static const char *name_on_line(const char *line, bool *declares)
{
    *declares = strncmp(line, "declare ", 8) == 0;
    if (!*declares && strncmp(line, "define ", 7) != 0)
        return NULL;
    const char *at = line + strcspn(line, "@\n");
    return *at == '@' ? at + 1 : NULL;
}

static bool read_known(const char *llvm, struct known *known)
{
    bool any = strstr(llvm, "= frem ") != NULL || strstr(llvm, " @scalbln") != NULL, declares;
    for (const char *line = llvm; *line != '\0'; line = text_next_line(line)) {
        const char *name = name_on_line(line, &declares);
        int i = name != NULL && declares ? find_function(name) : -1;
        if (i >= 0)
            known->declared[i] = any = true;
        if (name != NULL && strncmp(name, "__nv_", 5) == 0)
            list_add(&known->library, "%.*s", (int)strcspn(name, "("), name);
    }
    return any;
}

/* `%r = frem FLAGS T %a, %b`: the backend's code for it is not exact. */
static bool write_remainder(const char *line, size_t n, bool *remainders, struct strbuf *out)
{
    static const char word[] = "= frem ";
    const char *at = strncmp(line, "  %", 3) == 0 ? memmem(line, n, word, sizeof word - 1) : NULL;
    if (at == NULL)
        return false;
    const char *flags = at + sizeof word - 1, *type = flags;
    while (*type != '\n' && strncmp(type, "float ", 6) != 0 && strncmp(type, "double ", 7) != 0)
        type += strcspn(type, " \n") + (type[strcspn(type, " \n")] == ' ');
    bool is_float = *type == 'f';
    const char *a = type + (is_float ? 6 : 7), *comma = strchr(a, ',');
    if (*type == '\n' || comma == NULL || comma >= line + n)
        return false;
    const char *b = comma + 2, *rest = b + strcspn(b, ",\n");
    const char *t = is_float ? "float" : "double";
    sb_append(out, line, (size_t)(at - line));
    sb_printf(out, "= call %.*s%s @__nv_fmod%s(%s %.*s, %s %.*s)", (int)(type - flags), flags, t,
              is_float ? "f" : "", t, (int)(comma - a), a, t, (int)(rest - b), b);
    sb_append(out, rest, (size_t)(line + n - rest));
    remainders[is_float] = true;
    return true;
}

static int write_line(const char *line, size_t n, const struct known *known, struct strbuf *out)
{
    int changes = 0;
    const char *done = line;
    for (const char *p = line; (p = memchr(p, '@', (size_t)(line + n - p))) != NULL; p++) {
        int i = find_function(p + 1);
        if (i < 0 || !known->declared[i])
            continue;
        char *name = library_name(i);
        sb_append(out, done, (size_t)(p - done));
        sb_printf(out, "@%s", name);
        free(name);
        done = p + strcspn(p, "(");
        changes++;
    }
    sb_append(out, done, (size_t)(line + n - done));
    return changes;
}

/* Whether a declaration is one too many once the function has its new name; else it is noted. */
static bool is_there(struct known *known, int i)
{
    char *name = library_name(i);
    bool there = list_has(&known->library, name);
    if (!there)
        list_add(&known->library, "%s", name);
    free(name);
    return there;
}

static void declare_remainder(struct known *known, const char *type, const char *name,
                              struct strbuf *out)
{
    if (!list_has(&known->library, name))
        sb_printf(out, "declare %s @%s(%s, %s)\n", type, name, type, type);
}

/* scalbln, of a long, of which the device library has the form of an int alone. */
static bool is_scalbln(const char *name, bool declares, bool *found)
{
    bool is_double = strncmp(name, "scalbln(", 8) == 0,
         is_float = strncmp(name, "scalblnf(", 9) == 0;
    if (!declares || (!is_double && !is_float))
        return false;
    found[is_float] = true;
    return true;
}

static void define_scalbln(struct known *known, bool is_float, struct strbuf *out)
{
    const char *t = is_float ? "float" : "double", *f = is_float ? "f" : "";
    char *name = xprintf("__nv_scalbn%s", f);
    sb_printf(
        out,
        "define internal %s @scalbln%s(%s %%0, i64 %%1) {\n"
        "  %%3 = icmp slt i64 %%1, 99999\n  %%4 = select i1 %%3, i64 %%1, i64 99999\n"
        "  %%5 = icmp sgt i64 %%4, -99999\n  %%6 = select i1 %%5, i64 %%4, i64 -99999\n"
        "  %%7 = trunc i64 %%6 to i32\n  %%8 = call %s @%s(%s %%0, i32 %%7)\n  ret %s %%8\n}\n",
        t, f, t, t, name, t, t);
    if (!list_has(&known->library, name))
        sb_printf(out, "declare %s @%s(%s, i32)\n", t, name, t);
    free(name);
}

int math_calls_rewrite(const char *llvm, struct strbuf *out)
{
    struct known known = {0};
    bool declares, remainders[2] = {false, false}, scalbln[2] = {false, false};
    int changes = 0;
    sb_append(out, "", 0);
    bool any = read_known(llvm, &known);
    for (const char *line = llvm, *next; *line != '\0'; line = next) {
        next = text_next_line(line);
        size_t n = (size_t)(next - line);
        const char *name = any ? name_on_line(line, &declares) : NULL;
        int i = name != NULL && declares ? find_function(name) : -1;
        if ((i >= 0 && is_there(&known, i)) ||
            (name != NULL && is_scalbln(name, declares, scalbln)))
            continue;
        if (any && write_remainder(line, n, remainders, out))
            changes++;
        else
            changes += write_line(line, n, &known, out);
    }
    changes += scalbln[0] + scalbln[1];
    if (remainders[0])
        declare_remainder(&known, "double", "__nv_fmod", out);
    if (remainders[1])
        declare_remainder(&known, "float", "__nv_fmodf", out);
    for (int i = 0; i < 2; i++)
        if (scalbln[i])
            define_scalbln(&known, i == 1, out);
    for (size_t i = 0; i < known.library.count; i++)
        free(known.library.items[i]);
    free(known.library.items);
    return changes;
}

bool math_calls_found_library(const char *llvm)
{
    static const char *const names[] = {"fdim", "ilogb",     "llrint",    "llround", "logb",
                                        "modf", "nextafter", "remainder", "remquo",  "scalbn"};
    bool declares;
    for (const char *line = llvm; *line != '\0'; line = text_next_line(line)) {
        const char *name = name_on_line(line, &declares);
        if (name == NULL || !declares || strncmp(name, "__nv_", 5) != 0)
            continue;
        for (size_t i = 0; i < WEIR_COUNT(names); i++) {
            size_t n = strlen(names[i]);
            if (strncmp(name + 5, names[i], n) == 0 && strchr("f(", name[5 + n]) != NULL)
                return true;
        }
    }
    return false;
}
