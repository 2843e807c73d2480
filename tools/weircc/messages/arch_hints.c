/* arch_hints: functions that exist from some architecture on, by name; see arch_hints.h. Headers
 * declare them there only, so clang knows nothing else to say than that there is no such name, or
 * no such overload. */
#include "weircc/messages/arch_hints.h"

#include <stdlib.h>
#include <string.h>

/* `*` stands for any letters. */
static const struct {
    const char *name;
    int needs;
    const char *of; /* which overloads; NULL: all */
} functions[] = {
    {"atomicAdd", 60, "of double"},
    {"atomicAdd", 90, "of float2 and float4"},
    {"atomicCAS", 70, "of 16 bits"},
    {"atomicCAS", 90, "of 16 bytes"},
    {"atomicExch", 90, "of 16 bytes"},
    {"atomic*_system", 60, NULL},
    {"atomic*_block", 60, NULL},
    {"__dp4a", 61, NULL},
    {"__dp2a_*", 61, NULL},
    {"__match_any_sync", 70, NULL},
    {"__match_all_sync", 70, NULL},
    {"__nanosleep", 70, NULL},
    {"__reduce_*", 80, NULL},
    {"__mbarrier_*", 80, NULL},
    {"__cluster*", 90, NULL},
    {"__isClusterShared", 90, NULL},
    {"__isCtaShared", 90, NULL},
    {"__threadfence_cluster", 90, NULL},
    {"cluster_group", 90, NULL},
    {"this_cluster", 90, NULL},
    {"dim_clusters", 90, NULL},
    {"cluster_index", 90, NULL},
};

static bool fits(const char *pattern, const char *name, size_t n)
{
    size_t before = strcspn(pattern, "*"), m = strlen(pattern);
    if (pattern[before] == '\0')
        return n == m && memcmp(name, pattern, n) == 0;
    size_t after = m - before - 1;
    return n >= before + after && memcmp(name, pattern, before) == 0 &&
           memcmp(name + n - after, pattern + before + 1, after) == 0;
}

static char *with_hint(const char *plain, const char *of, int needs, const struct arch *arch)
{
    return xprintf("%.*s (%s%sit needs -arch=sm_%d or newer; this is for %s)\n",
                   (int)strcspn(plain, "\n"), plain, of != NULL ? of : "", of != NULL ? " " : "",
                   needs, arch_name(arch));
}

/* "'__nvvm_x' needs target feature (sm_80|sm_86),(ptx70|...)" */
static char *hint_of_feature(const char *plain, const struct arch *arch)
{
    const char *at = strstr(plain, "needs target feature ");
    at = at != NULL ? strstr(at, "sm_") : NULL;
    int needs = at != NULL ? (int)strtol(at + 3, NULL, 10) : 0;
    return needs > arch->number ? with_hint(plain, NULL, needs, arch) : NULL;
}

char *arch_hint(const char *plain, const struct arch *arch)
{
    static const struct {
        const char *text;
        bool overload; /* the name is there, and not for these arguments */
    } kinds[] = {{"error: use of undeclared identifier '", false},
                 {"error: no member named '", false},
                 {"error: no type named '", false},
                 {"error: no matching function for call to '", true}};
    for (size_t k = 0; k < WEIR_COUNT(kinds); k++) {
        const char *at = strstr(plain, kinds[k].text);
        if (at == NULL)
            continue;
        const char *name = at + strlen(kinds[k].text);
        size_t n = strcspn(name, "'");
        for (size_t f = 0; f < WEIR_COUNT(functions); f++)
            if (functions[f].needs > arch->number &&
                (functions[f].of != NULL) == kinds[k].overload && fits(functions[f].name, name, n))
                return with_hint(plain, functions[f].of, functions[f].needs, arch);
    }
    return hint_of_feature(plain, arch);
}
