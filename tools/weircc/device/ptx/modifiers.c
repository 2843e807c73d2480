/* Instructions in forms that PTX does not have; see modifiers.h. */
#include "weircc/device/ptx/modifiers.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '.' || c == '_'; }

/* Whether the name that begins here, "fma.rn.ftz.bf16x2", is that of a bfloat16 instruction. */
static bool is_bfloat(const char *p)
{
    size_t n = 0;
    while (in_name(p[n]))
        n++;
    return memmem(p, n, ".bf16", 5) != NULL;
}

/* Appends what is before `at`, and the n bytes there unless they are to go; what follows. */
static const char *pass(struct strbuf *out, const char *ptx, const char *at, size_t n, bool drop)
{
    sb_append(out, ptx, (size_t)(at - ptx) + (drop ? 0 : n));
    return at + n;
}

static const char *drop_flushes(const char *ptx, const char *at, struct strbuf *out)
{
    const char *name = at;
    while (name > ptx && in_name(name[-1]))
        name--;
    return pass(out, ptx, at, strlen(".ftz"), is_bfloat(name));
}

/* `at`: the "alloca" of "alloca.u64 %rd2, %rd1, 0;". */
static const char *drop_alignment(const char *ptx, const char *at, struct strbuf *out)
{
    static const char none[] = ", 0";
    const char *end = strpbrk(at, ";\n");
    bool drop = end != NULL && *end == ';' && (size_t)(end - at) > strlen(none) &&
                memcmp(end - strlen(none), none, strlen(none)) == 0;
    return drop ? pass(out, ptx, end - strlen(none), strlen(none), true)
                : pass(out, ptx, at, 1, false);
}

void modifiers_rewrite(const char *ptx, struct strbuf *out)
{
    const char *flush = strstr(ptx, ".ftz"), *taken = strstr(ptx, "alloca.u");
    sb_append(out, "", 0);
    while (flush != NULL || taken != NULL) {
        bool first = taken == NULL || (flush != NULL && flush < taken);
        ptx = first ? drop_flushes(ptx, flush, out) : drop_alignment(ptx, taken, out);
        flush = flush != NULL && flush < ptx ? strstr(ptx, ".ftz") : flush;
        taken = taken != NULL && taken < ptx ? strstr(ptx, "alloca.u") : taken;
    }
    sb_append(out, ptx, strlen(ptx));
}
