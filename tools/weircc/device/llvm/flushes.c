/* Functions that flush subnormal numbers; see flushes.h. */
#include "weircc/device/llvm/flushes.h"

#include <string.h>

#include "base/text.h"

/* Those in which a GPU's code with -ftz=true differs from its code without. What is not here gives
 * no subnormal number and the same for one as for 0, or does not flush (remainderf, frexpf). */
static const struct function {
    const char *name;
    int args; /* floats */
    bool to_integer;
} functions[] = {
    {"asinf", 1, false},   {"asinhf", 1, false}, {"atanf", 1, false},  {"atanhf", 1, false},
    {"cbrtf", 1, false},   {"erff", 1, false},   {"erfcf", 1, false},  {"exp10f", 1, false},
    {"exp2f", 1, false},   {"expf", 1, false},   {"expm1f", 1, false}, {"j1f", 1, false},
    {"lgammaf", 1, false}, {"log10f", 1, false}, {"log1pf", 1, false}, {"log2f", 1, false},
    {"logf", 1, false},    {"logbf", 1, false},  {"rcbrtf", 1, false}, {"sinf", 1, false},
    {"sinhf", 1, false},   {"sinpif", 1, false}, {"tanf", 1, false},   {"tanhf", 1, false},
    {"tgammaf", 1, false}, {"y0f", 1, false},    {"y1f", 1, false},    {"ilogbf", 1, true},
    {"atan2f", 2, false},  {"powf", 2, false},   {"hypotf", 2, false}, {"fmodf", 2, false},
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

/* Writes the value `to`: `from`, or 0 of its sign. Nothing of LLVM's folds that sum. */
static void write_flush(struct strbuf *out, const char *to, const char *from)
{
    sb_printf(out,
              "  %s = call float asm \"add.rn.ftz.f32 $0, $1, 0f80000000;\", \"=f,f\"(float %s)\n",
              to, from);
}

static void define(struct strbuf *out, const struct function *f)
{
    const char *type = f->to_integer ? "i32" : "float";
    bool two = f->args == 2;
    sb_printf(out, "define internal %s %s%s(float %%a%s) alwaysinline nounwind {\n", type, flushing,
              f->name, two ? ", float %b" : "");
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
