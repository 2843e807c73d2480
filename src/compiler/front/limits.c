/* limits: how much memory a kernel may declare for itself. A GPU's assembler and driver refuse what
 * no multiprocessor has; so is it here, before anything is computed with such sizes. */
#include "compiler/passes.h"

/* In the order of their offsets, the first variable that does not end within the limit; NULL and
 * the line of the function when it is none of them (arguments that lie in memory). */
static bool too_large(const struct jkernel *k, const char *space, uint64_t bytes, uint64_t limit,
                      const struct jvar *list, size_t count)
{
    const struct ptx_var *at = NULL;
    for (size_t n = 0; n < count && at == NULL; n++)
        if (!list[n].var->unsized && list[n].var->line > 0 &&
            list[n].offset + list[n].var->size > limit)
            at = list[n].var;
    int line = at != NULL ? at->line : k->entry->line;
    return diag_set(k->diag, line, 0,
                    "%s %s has %llu bytes of .%s variables, more than the %llu that there are "
                    "(%s%sline %d of its PTX)",
                    k->is_function ? "the function" : "the kernel", k->entry->name,
                    (unsigned long long)bytes, space, (unsigned long long)limit,
                    at != NULL ? at->name : "", at != NULL ? ", " : "", line);
}

bool pass_limits(const struct jkernel *k)
{
    if (!k->entry->is_entry || k->shared_bytes <= JIT_STATIC_SHARED_MAX)
        return k->local_bytes <= JIT_LOCAL_MAX ||
               too_large(k, "local", k->local_bytes, JIT_LOCAL_MAX, k->locals, k->nlocals);
    return too_large(k, "shared", k->shared_bytes, JIT_STATIC_SHARED_MAX, k->shared, k->nshared);
}
