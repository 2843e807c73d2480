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

/* Whether the name that begins here, "ex2.approx.ftz.bf16", must have the modifier. */
static bool needs_flush(const char *p) { return strncmp(p, "ex2.", 4) == 0; }

void modifiers_rewrite(const char *ptx, struct strbuf *out)
{
    static const char modifier[] = ".ftz";
    sb_append(out, "", 0);
    for (const char *at; (at = strstr(ptx, modifier)) != NULL;) {
        const char *name = at;
        while (name > ptx && in_name(name[-1]))
            name--;
        bool drop = is_bfloat(name) && !needs_flush(name);
        size_t n = strlen(modifier);
        sb_append(out, ptx, (size_t)(at - ptx) + (drop ? 0 : n));
        ptx = at + n;
    }
    sb_append(out, ptx, strlen(ptx));
}

void stack_alignments_rewrite(const char *ptx, struct strbuf *out)
{
    static const char none[] = ", 0;";
    sb_append(out, "", 0);
    for (const char *at; (at = strstr(ptx, "alloca.u")) != NULL;) { /* alloca.u64 %rd2, %rd1, 0; */
        size_t n = strcspn(at, ";\n");
        bool drop = at[n] == ';' && n >= strlen(none) &&
                    memcmp(at + n + 1 - strlen(none), none, strlen(none)) == 0;
        sb_append(out, ptx, (size_t)(at - ptx) + n - (drop ? strlen(none) - 1 : 0));
        ptx = at + n;
    }
    sb_append(out, ptx, strlen(ptx));
}
