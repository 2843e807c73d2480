/* Functions that a module uses and nothing defines. */
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "ptx/ptx.h"
#include "ptx/reach.h"

bool ptx_device_supplies(const char *name)
{
    static const char *const exact[] = {"vprintf",      "malloc", "free",
                                        "__assertfail", "memcpy", "memset"};
    static const char *const prefixes[] = {"__nv_", "cuda", "__cuda", "_cuda", "weir_", "__weir_"};
    for (size_t i = 0; i < WEIR_COUNT(exact); i++)
        if (strcmp(name, exact[i]) == 0)
            return true;
    for (size_t i = 0; i < WEIR_COUNT(prefixes); i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

bool ptx_is_undefined(const struct ptx_func *f)
{
    return !f->has_body && f->alias_of == NULL && !f->is_entry && !ptx_device_supplies(f->name);
}

static bool has_undefined(const struct ptx_module *m)
{
    for (int32_t n = 0; n < m->nfuncs; n++)
        if (ptx_is_undefined(m->funcs[n]))
            return true;
    return false;
}

/* The first such function that a kernel reaches; NULL: none. */
static const struct ptx_func *find_undefined(const struct ptx_func *entry)
{
    struct ptx_reach reached = {.all = true};
    const struct ptx_func *found = NULL;
    ptx_reach(&reached, entry);
    for (size_t n = 0; n < reached.funcs.count && found == NULL; n++)
        if (ptx_is_undefined(reached.funcs.items[n]))
            found = reached.funcs.items[n];
    ptx_reach_free(&reached);
    return found;
}

bool ptx_check_defined(const struct ptx_module *m, struct diag *d)
{
    for (int32_t n = 0; has_undefined(m) && n < m->nfuncs; n++) {
        const struct ptx_func *entry = m->funcs[n];
        if (!entry->is_entry || !entry->has_body)
            continue;
        const struct ptx_func *f = find_undefined(entry);
        if (f == NULL)
            continue;
        char *function = demangle(f->name), *kernel = demangle(entry->name);
        diag_set(d, 0, 0, "Undefined reference to '%s' in kernel '%s'", function, kernel);
        free(function);
        free(kernel);
        return false;
    }
    return true;
}
