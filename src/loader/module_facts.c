/* jit_check and jit_kernel_info: what the compiler says about a module, remembered.
 *
 * A program that loads a module asks whether all of it can be compiled and what its kernels need,
 * before anything is compiled. The compiler knows, but loading it takes longer than such a program
 * may take to start; so the answers are kept in this process and in the disk cache. Only good news
 * is kept: a module that is refused is refused by the compiler itself each time, with its message.
 */
#include "loader/cache.h"
#include "loader/compiler_library.h"
#include "loader/key.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* One kernel's entry in a record. `known` is 0 where the compiler had no answer. */
struct fact {
    uint64_t known;
    struct jit_kernel_info info;
};

/* Everything known of one module: its kernels in the order of the module's list. */
struct facts {
    struct facts *next;
    struct hash128 key;
    uint32_t count;
    struct fact items[];
};

/* ptxas raises a maximum of registers below this one to it. */
enum { LEAST_MAXIMUM = 24 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct facts *all_facts; /* never shrinks: one small record per different module */

static bool is_kernel(const struct ptx_func *f) { return f->is_entry && f->has_body; }

static uint32_t count_kernels(const struct ptx_module *m)
{
    uint32_t n = 0;
    for (int32_t i = 0; i < m->nfuncs; i++)
        n += is_kernel(m->funcs[i]);
    return n;
}

static struct facts *facts_new(const struct hash128 *key, uint32_t count)
{
    struct facts *f = xcalloc(1, sizeof *f + count * sizeof f->items[0]);
    f->key = *key;
    f->count = count;
    return f;
}

/* From the disk cache; NULL when it is not there. */
static struct facts *facts_load(const struct ptx_module *m, const struct hash128 *key)
{
    void *data;
    size_t size;
    enum cache_result r = cache_load(CACHE_FACTS, key, &data, &size);
    if (r == CACHE_DAMAGED)
        stats_add(STAT_DAMAGED);
    if (r != CACHE_HIT)
        return NULL;
    struct facts *f = NULL;
    uint32_t count = count_kernels(m);
    if (size == sizeof(uint64_t) + count * sizeof(struct fact)) {
        f = facts_new(key, count);
        memcpy(f->items, (char *)data + sizeof(uint64_t), count * sizeof(struct fact));
    }
    free(data);
    return f;
}

static void facts_store(const struct facts *f)
{
    uint64_t count = f->count;
    struct cache_piece pieces[] = {{&count, sizeof count},
                                   {f->items, f->count * sizeof f->items[0]}};
    cache_store(CACHE_FACTS, &f->key, pieces, WEIR_COUNT(pieces));
}

/* From the compiler. */
struct ask {
    const struct ptx_module *m;
    const struct hash128 *key;
    struct diag *d;
    struct facts *result;
};

static void ask_compiler(void *arg)
{
    struct ask *a = arg;
    const struct jit_plugin *p = plugin_open(a->d);
    if (p == NULL || !p->check(a->m, a->d))
        return;
    struct facts *f = facts_new(a->key, count_kernels(a->m));
    uint32_t k = 0;
    for (int32_t i = 0; i < a->m->nfuncs; i++) {
        if (!is_kernel(a->m->funcs[i]))
            continue;
        f->items[k].known = p->kernel_info(a->m->funcs[i], &f->items[k].info, NULL);
        k++;
    }
    a->result = f;
}

static void facts_add_locked(struct facts *f)
{
    f->next = all_facts;
    all_facts = f;
}

/* What is known, in this process or on the disk. */
static const struct facts *facts_known_locked(const struct ptx_module *m, const struct hash128 *key)
{
    for (struct facts *f = all_facts; f != NULL; f = f->next)
        if (f->key.lo == key->lo && f->key.hi == key->hi)
            return f;
    struct facts *f = facts_load(m, key);
    if (f != NULL)
        facts_add_locked(f);
    return f;
}

static const struct facts *facts_ask_locked(const struct ptx_module *m, const struct hash128 *key,
                                            struct diag *d)
{
    struct ask a = {.m = m, .key = key, .d = d};
    plugin_call(ask_compiler, &a);
    if (a.result == NULL)
        return NULL;
    facts_store(a.result);
    facts_add_locked(a.result);
    return a.result;
}

static const struct facts *facts_get(const struct ptx_module *m, struct diag *d)
{
    struct hash128 key;
    key_of_facts(m, &key);
    pthread_mutex_lock(&lock);
    const struct facts *f = facts_known_locked(m, &key);
    if (f == NULL) {
        pthread_mutex_unlock(&lock); /* plugin_open waits for the dynamic linker */
        bool open = plugin_open(d) != NULL;
        pthread_mutex_lock(&lock);
        if (open && (f = facts_known_locked(m, &key)) == NULL)
            f = facts_ask_locked(m, &key, d);
    }
    pthread_mutex_unlock(&lock);
    return f;
}

bool jit_check(const struct ptx_module *m, struct diag *d)
{
    return facts_get(m, d) != NULL || diag_set(d, 0, 0, "the module cannot be compiled");
}

/* The kernel's entry, asked of the compiler directly where the record has no answer. */
struct ask_info {
    const struct ptx_func *entry;
    struct jit_kernel_info *info;
    struct diag *d;
    bool ok;
};
static void ask_info(void *arg)
{
    struct ask_info *a = arg;
    const struct jit_plugin *p = plugin_open(a->d);
    a->ok = p != NULL && p->kernel_info(a->entry, a->info, a->d);
}

/* The record is about the text, and whoever loads a module may set a maximum later. */
static void keep_to_maximum(const struct ptx_func *entry, struct jit_kernel_info *info)
{
    uint32_t most = entry->maxnreg < LEAST_MAXIMUM ? LEAST_MAXIMUM : entry->maxnreg;
    if (entry->maxnreg > 0 && info->num_regs > most)
        info->num_regs = most;
}

bool jit_kernel_info(const struct ptx_func *entry, struct jit_kernel_info *info, struct diag *d)
{
    const struct facts *f = is_kernel(entry) ? facts_get(entry->module, NULL) : NULL;
    uint32_t k = 0;
    for (int32_t i = 0; f != NULL && entry->module->funcs[i] != entry; i++)
        k += is_kernel(entry->module->funcs[i]);
    if (f != NULL && k < f->count && f->items[k].known) {
        *info = f->items[k].info;
        keep_to_maximum(entry, info);
        return true;
    }
    struct ask_info a = {.entry = entry, .info = info, .d = d};
    if (plugin_open(d) != NULL)
        plugin_call(ask_info, &a);
    if (a.ok)
        keep_to_maximum(entry, info);
    return a.ok;
}
