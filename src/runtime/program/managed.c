/* managed: __managed__ variables. Code compiled by clang keeps them in a section of the program,
 * whose bounds it tells before anything is registered; kernels use the same memory (on the driver
 * of a GPU by way of pointers, see gpu.h). Their initial values are in the device code, so binaries
 * that have such variables are loaded as soon as they are registered: the host may read a managed
 * variable before it calls anything. */
#include "runtime/program/offload.h"
#include "runtime/program/registry.h"

#include <stdlib.h>

static struct section {
    const char *begin, *end;
    struct section *next;
} *sections;
static pthread_rwlock_t sections_lock = PTHREAD_RWLOCK_INITIALIZER;

bool rt_managed_section(const void *host, const char **begin, const char **end)
{
    bool inside = false;

    pthread_rwlock_rdlock(&sections_lock);
    for (struct section *s = sections; s != NULL && !inside; s = s->next) {
        inside = (const char *)host >= s->begin && (const char *)host < s->end;
        if (inside) {
            *begin = s->begin;
            *end = s->end;
        }
    }
    pthread_rwlock_unlock(&sections_lock);
    return inside;
}

bool rt_in_managed_section(const void *host)
{
    const char *begin, *end;

    return rt_managed_section(host, &begin, &end);
}

/* Takes out sections that lie where another one is now: their library was closed. The lock is held.
 */
static void drop_overlapping(const char *begin, const char *end)
{
    for (struct section **at = &sections, *s; (s = *at) != NULL;)
        if (s->begin < end && begin < s->end) {
            *at = s->next;
            rt_record_free(s);
        } else
            at = &s->next;
}

/* False when it was known. */
static bool add_section(const char *begin, const char *end)
{
    struct section *s;

    pthread_rwlock_wrlock(&sections_lock);
    for (s = sections; s != NULL && (s->begin != begin || s->end != end); s = s->next)
        ;
    if (s != NULL) {
        pthread_rwlock_unlock(&sections_lock);
        return false;
    }
    drop_overlapping(begin, end);
    s = rt_record_new(sizeof *s);
    if (s != NULL) {
        *s = (struct section){begin, end, sections};
        sections = s;
    }
    pthread_rwlock_unlock(&sections_lock);
    return s != NULL;
}

/* The library is closed. */
static RT_LAST void at_close(void)
{
    if (rt_exiting())
        return;
    for (struct section *s = sections, *next; s != NULL; s = next) {
        next = s->next;
        rt_record_free(s);
    }
    sections = NULL;
}

/* Variables that were registered before their section was known. */
static void adopt(const char *begin, const char *end)
{
    rt_registry_lock();
    for (struct rt_binary *b = rt_binaries(); b != NULL; b = b->next)
        for (struct rt_variable *v = b->variables; v != NULL; v = v->next)
            if ((const char *)v->host >= begin && (const char *)v->host < end && !v->pointer) {
                v->kind = RT_MANAGED;
                b->managed = true;
            }
    rt_registry_unlock();
}

PUBLIC void __cudaWeirRegisterManaged(const void *begin, const void *end)
{
    if (begin != end && add_section(begin, end))
        adopt(begin, end);
}

void rt_managed_load(struct rt_binary *b)
{
    CUmodule module;

    /* A failure shows at the first use of anything in the binary. */
    if (b != NULL && b->managed && rt_context() == cudaSuccess)
        rt_binary_module(b, &module);
}
