/* Const variables of the device that host code names; see named_constants.h. */
#include "weircc/driver/named_constants.h"

#include <stdlib.h>
#include <string.h>

#include "weircc/device/llvm/kept_constants.h"
#include "weircc/files/files.h"
#include "weircc/objects/shadows.h"
#include "weircc/source/tokens.h"

/* Whether the name stands in PTX, as no part of another. */
static bool has_name(const char *ptx, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = ptx; (p = strstr(p, name)) != NULL; p += n)
        if (p > ptx && !token_is_word(p[-1]) && !token_is_word(p[n]))
            return true;
    return false;
}

bool named_constants_find(struct compilation *c, const char *ptx, const char *object)
{
    struct driver *dr = c->dr;
    struct strlist names = {0};
    if (dr->work.dryrun || dr->build.host_frontend != HOST_CLANG)
        return false;
    char *text = file_read(ptx, NULL, &dr->diag);
    bool more = false;
    if (text != NULL)
        shadows_find(object, &names);
    for (size_t i = 0; i < names.count; i++)
        more |= !has_name(text, names.items[i]) && !list_has(&c->constants, names.items[i]);
    /* the option has clang write some that are in PTX without it for their file alone */
    if (more)
        c->constants = names;
    free(text);
    return more;
}

int named_constants_keep(struct compilation *c, const char *llvm)
{
    struct driver *dr = c->dr;
    struct strbuf out = {0};
    if (c->constants.count == 0 || dr->work.dryrun)
        return 0;
    char *text = file_read(llvm, NULL, &dr->diag);
    if (text != NULL)
        kept_constants_rewrite(text, &c->constants, &out);
    bool ok = text != NULL && file_write(llvm, out.items, out.count, &dr->diag);
    sb_free(&out);
    free(text);
    return ok ? 0 : 1;
}
