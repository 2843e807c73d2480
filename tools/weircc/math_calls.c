/* Mathematical functions of compilers; see math_calls.h. */
#include "math_calls.h"

#include <stdlib.h>
#include <string.h>

#include "files.h"

/* What there is: by LLVM's name of an intrinsic, or by the C library's. */
static const struct function {
    const char *name;
    bool intrinsic;
} functions[] = {{"acos", true},   {"asin", true},       {"atan", true},    {"cos", true},
                 {"cosh", true},   {"exp", true},        {"exp2", true},    {"exp10", true},
                 {"log", true},    {"log10", true},      {"log2", true},    {"pow", true},
                 {"sin", true},    {"sinh", true},       {"tan", true},     {"tanh", true},
                 {"acosh", false}, {"asinh", false},     {"atan2", false},  {"atanh", false},
                 {"cbrt", false},  {"erf", false},       {"erfc", false},   {"expm1", false},
                 {"fdim", false},  {"hypot", false},     {"lgamma", false}, {"log1p", false},
                 {"logb", false},  {"nextafter", false}, {"tgamma", false}, {"remainder", false}};

/* Each for float and double. */
enum { COUNT = 2 * WEIR_COUNT(functions) };

/* What the text says of the functions: indices are those of functions twice, floats the odd ones.
 */
struct known {
    bool declared[COUNT]; /* under the compiler's name */
    bool library[COUNT];  /* under that of the device library, declared or defined */
    bool remainders[2];   /* of doubles and floats were made calls */
};

/* The function whose name stands at p, after the @, up to the parenthesis; -1: none. */
static int find_function(const char *p, bool of_library)
{
    static const char ours[] = "__nv_", llvms[] = "llvm.";
    bool intrinsic = !of_library && strncmp(p, llvms, sizeof llvms - 1) == 0;
    if (of_library && strncmp(p, ours, sizeof ours - 1) != 0)
        return -1;
    p += of_library || intrinsic ? 5 : 0;
    for (size_t i = 0; i < WEIR_COUNT(functions); i++) {
        size_t n = strlen(functions[i].name);
        if (strncmp(p, functions[i].name, n) != 0 ||
            (!of_library && functions[i].intrinsic != intrinsic))
            continue;
        if (strncmp(p + n, intrinsic ? ".f64(" : "(", intrinsic ? 5 : 1) == 0)
            return (int)(2 * i);
        if (strncmp(p + n, intrinsic ? ".f32(" : "f(", intrinsic ? 5 : 2) == 0)
            return (int)(2 * i + 1);
    }
    return -1;
}

static const char *next_line(const char *p)
{
    p += strcspn(p, "\n");
    return p + (*p == '\n');
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
    bool any = strstr(llvm, "= frem ") != NULL, declares;
    for (const char *line = llvm; *line != '\0'; line = next_line(line)) {
        const char *name = name_on_line(line, &declares);
        int i = name != NULL && declares ? find_function(name, false) : -1;
        int of_library = name != NULL ? find_function(name, true) : -1;
        if (i >= 0)
            known->declared[i] = any = true;
        if (of_library >= 0)
            known->library[of_library] = true;
    }
    return any;
}

/* `%r = frem FLAGS T %a, %b`: the backend's code for it is not exact. */
static bool write_remainder(const char *line, size_t n, struct known *known, struct strbuf *out)
{
    static const char word[] = "= frem ";
    const char *at = strncmp(line, "  %", 3) == 0 ? strstr(line, word) : NULL;
    if (at == NULL || at >= line + n)
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
    known->remainders[is_float] = true;
    return true;
}

static int write_line(const char *line, size_t n, const struct known *known, struct strbuf *out)
{
    int changes = 0;
    const char *done = line;
    for (const char *p = line; (p = memchr(p, '@', (size_t)(line + n - p))) != NULL; p++) {
        int i = find_function(p + 1, false);
        if (i < 0 || !known->declared[i])
            continue;
        sb_append(out, done, (size_t)(p - done));
        sb_printf(out, "@__nv_%s%s", functions[i / 2].name, i % 2 != 0 ? "f" : "");
        done = p + strcspn(p, "(");
        changes++;
    }
    sb_append(out, done, (size_t)(line + n - done));
    return changes;
}

int math_calls_rewrite(const char *llvm, struct strbuf *out)
{
    struct known known = {0};
    int changes = 0;
    bool declares;
    sb_append(out, "", 0);
    if (!read_known(llvm, &known)) {
        sb_append(out, llvm, strlen(llvm));
        return 0;
    }
    for (const char *line = llvm, *next; *line != '\0'; line = next) {
        next = next_line(line);
        const char *name = name_on_line(line, &declares);
        int i = name != NULL && declares ? find_function(name, false) : -1;
        if (i >= 0 && known.library[i]) /* it is there already */
            continue;
        if (write_remainder(line, (size_t)(next - line), &known, out))
            changes++;
        else
            changes += write_line(line, (size_t)(next - line), &known, out);
    }
    for (int i = 0; i < 2; i++)
        if (known.remainders[i] && !known.library[COUNT - 2 + i] && !known.declared[COUNT - 2 + i])
            sb_printf(out, "declare %s @__nv_fmod%s(%s, %s)\n", i ? "float" : "double",
                      i ? "f" : "", i ? "float" : "double", i ? "float" : "double");
    return changes;
}

bool math_calls_found_library(const char *llvm)
{
    static const char *const names[] = {"fdim", "logb", "nextafter", "remainder"};
    for (size_t i = 0; i < WEIR_COUNT(names); i++) {
        char *one = xprintf("declare double @__nv_%s(", names[i]);
        char *other = xprintf("declare float @__nv_%sf(", names[i]);
        bool found = strstr(llvm, one) != NULL || strstr(llvm, other) != NULL;
        free(one);
        free(other);
        if (found)
            return true;
    }
    return false;
}

bool math_calls_rewrite_file(const char *path, struct diag *d)
{
    char *llvm = file_read(path, NULL, d);
    if (llvm == NULL)
        return false;
    struct strbuf out = {0};
    bool ok = math_calls_rewrite(llvm, &out) == 0 || file_write(path, out.items, out.count, d);
    sb_free(&out);
    free(llvm);
    return ok;
}
