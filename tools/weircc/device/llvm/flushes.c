/* Functions that flush subnormal numbers; see flushes.h. */
#include "weircc/device/llvm/flushes.h"

#include <string.h>

#include "base/text.h"

/* Writes the value `to`: `from`, or 0 of its sign. Nothing of LLVM's folds that sum. */
static void write_flush(struct strbuf *out, const char *to, const char *from)
{
    sb_printf(out,
              "  %s = call float asm \"add.rn.ftz.f32 $0, $1, 0f80000000;\", \"=f,f\"(float %s)\n",
              to, from);
}

/* The next number skips those below the least normal one. */
static void write_next(struct strbuf *out)
{
    write_flush(out, "%x", "%a");
    write_flush(out, "%y", "%b");
    sb_printf(out, "  %%n = call float @__nv_nextafterf(float %%x, float %%y) nounwind willreturn "
                   "memory(none)\n");
    write_flush(out, "%f", "%n");
    sb_printf(out, "  %%zero = fcmp oeq float %%x, 0.0\n  %%away = fcmp one float %%y, 0.0\n"
                   "  %%least = and i1 %%zero, %%away\n  %%bits = bitcast float %%y to i32\n"
                   "  %%sign = and i32 %%bits, -2147483648\n"
                   "  %%normal = or i32 %%sign, 8388608\n"
                   "  %%m = bitcast i32 %%normal to float\n"
                   "  %%r = select i1 %%least, float %%m, float %%f\n  ret float %%r\n}\n");
}

/* Nothing is flushed; LLVM's code for it would flush. */
static void write_sign(struct strbuf *out)
{
    sb_printf(out, "  %%r = call float asm \"copysign.f32 $0, $1, $2;\", \"=f,f,f\"(float %%b, "
                   "float %%a)\n  ret float %%r\n}\n");
}

/* Those in which a GPU's code with -ftz=true differs from its code without. What is not here gives
 * no subnormal number and the same for one as for 0, or does not flush (remainderf, frexpf). */
static const struct function {
    const char *name;
    int args; /* floats */
    bool to_integer;
    void (*body)(struct strbuf *out); /* NULL: what goes in and what comes out is flushed */
} functions[] = {
    {"asinf", 1, false, NULL},
    {"asinhf", 1, false, NULL},
    {"atanf", 1, false, NULL},
    {"atanhf", 1, false, NULL},
    {"cbrtf", 1, false, NULL},
    {"erff", 1, false, NULL},
    {"erfcf", 1, false, NULL},
    {"exp10f", 1, false, NULL},
    {"exp2f", 1, false, NULL},
    {"expf", 1, false, NULL},
    {"expm1f", 1, false, NULL},
    {"j1f", 1, false, NULL},
    {"lgammaf", 1, false, NULL},
    {"log10f", 1, false, NULL},
    {"log1pf", 1, false, NULL},
    {"log2f", 1, false, NULL},
    {"logf", 1, false, NULL},
    {"logbf", 1, false, NULL},
    {"rcbrtf", 1, false, NULL},
    {"sinf", 1, false, NULL},
    {"sinhf", 1, false, NULL},
    {"sinpif", 1, false, NULL},
    {"tanf", 1, false, NULL},
    {"tanhf", 1, false, NULL},
    {"tgammaf", 1, false, NULL},
    {"y0f", 1, false, NULL},
    {"y1f", 1, false, NULL},
    {"ilogbf", 1, true, NULL},
    {"atan2f", 2, false, NULL},
    {"powf", 2, false, NULL},
    {"hypotf", 2, false, NULL},
    {"fmodf", 2, false, NULL},
    {"nextafterf", 2, false, write_next},
    {"copysignf", 2, false, write_sign},
};

static const char library[] = "@__nv_", flushing[] = "@__weir_flush_";

/* The function whose name follows at p, up to the parenthesis; -1: none. */
static int find_function(const char *p)
{
    for (size_t i = 0; i < WEIR_COUNT(functions); i++) {
        size_t n = strlen(functions[i].name);
        if (strncmp(p, functions[i].name, n) == 0 && p[n] == '(')
            return (int)i;
    }
    return -1;
}

static void define(struct strbuf *out, const struct function *f)
{
    const char *type = f->to_integer ? "i32" : "float";
    bool two = f->args == 2;
    sb_printf(out, "define internal %s %s%s(float %%a%s) alwaysinline nounwind {\n", type, flushing,
              f->name, two ? ", float %b" : "");
    if (f->body != NULL) {
        f->body(out);
        return;
    }
    write_flush(out, "%x", "%a");
    if (two)
        write_flush(out, "%y", "%b");
    sb_printf(out, "  %%v = call %s %s%s(float %%x%s) nounwind willreturn memory(none)\n", type,
              library, f->name, two ? ", float %y" : "");
    if (!f->to_integer)
        write_flush(out, "%r", "%v");
    sb_printf(out, "  ret %s %s\n}\n", type, f->to_integer ? "%v" : "%r");
}

void flushes_rewrite(const char *llvm, struct strbuf *out)
{
    bool called[WEIR_COUNT(functions)] = {false};
    const size_t length = sizeof library - 1;
    sb_append(out, "", 0);
    for (const char *line = llvm, *next; *line != '\0'; line = next) {
        next = text_next_line(line);
        const char *at = memmem(line, (size_t)(next - line), library, length);
        bool calls = at != NULL && line[0] == ' ';
        int i = calls ? find_function(at + length) : -1;
        if (i >= 0) {
            called[i] = true;
            sb_append(out, line, (size_t)(at - line));
            sb_printf(out, "%s", flushing);
            line = at + length;
        }
        sb_append(out, line, (size_t)(next - line));
    }
    for (size_t i = 0; i < WEIR_COUNT(functions); i++)
        if (called[i])
            define(out, &functions[i]);
}
