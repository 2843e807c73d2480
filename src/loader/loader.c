/* jit_get and its kin: code for kernels, each compiled once and mapped where it is wanted.
 *
 * Two levels. A *unit* is one compilation (module text, kernel, options): its ELF object, from the
 * disk cache or the compiler; the first thread that wants one makes it, others wait, and different
 * units are made in parallel. A *mapping* is a unit's object in memory with its names bound; since
 * a module may be loaded twice, with its variables at different addresses, a unit may have several.
 * Both live until the last jit_release. */
#include "loader/loader.h"
#include "loader/bind.h"
#include "loader/cache.h"
#include "loader/compiler_library.h"
#include "loader/cpu.h"
#include "loader/image.h"
#include "loader/key.h"
#include "loader/lines.h"
#include "loader/progress.h"
#include "loader/tier_up.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct mapping {
    struct jit_code code; /* first: what callers see */
    struct mapping *next; /* of the same unit */
    struct unit *unit;
    unsigned references;
    struct image image;
    uint64_t *bound; /* addresses of the unit's undefined symbols, in the order of unit->wants */
};

enum unit_state { UNIT_MAKING, UNIT_READY, UNIT_FAILED };

struct unit {
    struct unit *next; /* in its bucket */
    struct hash128 key;
    struct hash128
        kept; /* the key of its record on disk: JIT_TIER_FIRST is JIT_TIER_OPTIMIZING there */
    enum unit_state state;
    unsigned references; /* threads inside jit_get, and mappings */
    void *data;          /* the record: struct jit_meta, then the object */
    size_t size;
    struct jit_meta meta;
    struct elf_object object; /* borrows data */
    struct wants wants;
    struct mapping *mappings;
    struct diag failure;
};

enum { BUCKETS = 256 };
static struct unit *buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all units' and mappings' links */
static pthread_cond_t made = PTHREAD_COND_INITIALIZER;   /* some unit left UNIT_MAKING */

/* ---- units ---- */

static struct unit **bucket_of(const struct hash128 *key) { return &buckets[key->lo % BUCKETS]; }

static void unit_free(struct unit *u)
{
    wants_free(&u->wants);
    free(u->data);
    free(u);
}

static void unit_release_locked(struct unit *u)
{
    if (--u->references > 0)
        return;
    struct unit **link = bucket_of(&u->key);
    while (*link != u)
        link = &(*link)->next;
    *link = u->next;
    unit_free(u);
}

void unit_release(struct unit *u)
{
    pthread_mutex_lock(&lock);
    unit_release_locked(u);
    pthread_mutex_unlock(&lock);
}

/* Takes over a record; false when it is not a proper object (then the record is still the
 * caller's). */
static bool unit_adopt(struct unit *u, void *data, size_t size, struct diag *d)
{
    if (size < sizeof u->meta)
        return diag_set(d, 0, 0, "compiled code is truncated");
    const char *object = (const char *)data + sizeof u->meta;
    if (!elf_open(&u->object, object, size - sizeof u->meta, d))
        return false;
    memcpy(&u->meta, data, sizeof u->meta);
    u->data = data;
    u->size = size;
    wants_find(&u->wants, &u->object);
    return true;
}

static bool unit_from_disk(struct unit *u)
{
    void *data;
    size_t size;
    enum cache_result r = cache_load(CACHE_CODE, &u->kept, &data, &size);
    if (r == CACHE_HIT && !unit_adopt(u, data, size, NULL)) {
        free(data);
        r = CACHE_DAMAGED;
    }
    if (r != CACHE_MISS)
        stats_add(r == CACHE_HIT ? STAT_DISK : STAT_DAMAGED);
    return r == CACHE_HIT;
}

/* One call of the compiler, for plugin_call. */
struct compilation {
    const struct ptx_func *entry;
    const struct jit_options *options;
    struct jit_object object;
    struct diag *d;
    bool ok;
};

static void compile(void *arg)
{
    struct compilation *c = arg;
    const struct jit_plugin *p = plugin_open(c->d);
    c->ok = p != NULL && p->compile(c->entry, c->options, &c->object, c->d);
}

/* `waited`: someone waits for it, and may be told why. */
static bool unit_from_compiler(struct unit *u, const struct ptx_func *entry,
                               const struct jit_options *options, bool waited, struct diag *d)
{
    struct compilation c = {.entry = entry, .options = options, .d = d};
    struct watch w = {0};
    if (waited)
        watch_begin(&w, entry->name);
    plugin_call(compile, &c);
    watch_end(&w);
    if (!c.ok)
        return diag_set(d, 0, 0, "kernel %s cannot be compiled", entry->name);
    stats_add(STAT_COMPILED);
    size_t size = sizeof c.object.meta + c.object.size;
    char *record = xmalloc(size);
    memcpy(record, &c.object.meta, sizeof c.object.meta);
    memcpy(record + sizeof c.object.meta, c.object.data, c.object.size);
    free(c.object.data);
    if (!unit_adopt(u, record, size, d)) {
        free(record);
        return false;
    }
    struct cache_piece piece = {record, size};
    if ((u->meta.flags & JIT_CODE_BASELINE) == 0)
        cache_store(CACHE_CODE, &u->kept, &piece, 1);
    return true;
}

static struct unit *unit_find_locked(const struct hash128 *key)
{
    struct unit *u = *bucket_of(key);
    while (u != NULL && (u->key.lo != key->lo || u->key.hi != key->hi))
        u = u->next;
    return u;
}

struct unit *unit_get(const struct ptx_func *entry, const struct jit_options *options, bool waited,
                      struct diag *d)
{
    struct hash128 key, best;
    struct jit_options optimised = *options;
    optimised.tier = JIT_TIER_OPTIMIZING;
    key_of_code(entry, options, &key);
    key_of_code(entry, &optimised, &best);
    pthread_mutex_lock(&lock);
    struct unit *u = unit_find_locked(&best);
    if (options->tier == JIT_TIER_BASELINE || u == NULL || u->state != UNIT_READY)
        u = unit_find_locked(&key);
    if (u != NULL) {
        u->references++;
        while (u->state == UNIT_MAKING)
            pthread_cond_wait(&made, &lock);
        stats_add(STAT_MEMORY);
    } else {
        u = xcalloc(1, sizeof *u);
        u->key = key;
        u->kept = best;
        u->references = 1;
        u->next = *bucket_of(&key);
        *bucket_of(&key) = u;
        pthread_mutex_unlock(&lock);
        bool ok = (options->tier != JIT_TIER_BASELINE && unit_from_disk(u)) ||
                  unit_from_compiler(u, entry, options, waited, &u->failure);
        pthread_mutex_lock(&lock);
        u->state = ok ? UNIT_READY : UNIT_FAILED;
        pthread_cond_broadcast(&made);
    }
    if (u->state == UNIT_FAILED) {
        diag_set(d, u->failure.line, u->failure.column, "%s", u->failure.text);
        unit_release_locked(u);
        u = NULL;
    }
    pthread_mutex_unlock(&lock);
    return u;
}

/* ---- mappings ---- */

static void mapping_free(struct mapping *m)
{
    lines_free(m->code.lines);
    image_unload(&m->image);
    free(m->bound);
    free(m);
}

/* Maps the unit's object with these addresses. Takes over `bound`. */
static struct mapping *mapping_new(struct unit *u, uint64_t *bound, struct diag *d)
{
    struct mapping *m = xcalloc(1, sizeof *m);
    m->unit = u;
    m->bound = bound;
    uint64_t *undefined = xcalloc(u->object.nsymbols, sizeof *undefined);
    for (uint32_t k = 0; k < u->wants.count; k++)
        undefined[u->wants.symbols[k]] = bound[k];
    bool ok = image_load(&m->image, &u->object, undefined, d);
    free(undefined);
    uint64_t run = ok ? image_find(&m->image, &u->object, JIT_ENTRY_SYMBOL) : 0;
    if (ok && run == 0)
        diag_set(d, 0, 0, "compiled code does not define %s", JIT_ENTRY_SYMBOL);
    if (run == 0) {
        mapping_free(m);
        return NULL;
    }
    m->code = (struct jit_code){
        .run = (jit_block_fn)(uintptr_t)run,
        .frame_bytes = u->meta.frame_bytes,
        .pc_count = u->meta.pc_count,
        .local_bytes = u->meta.local_bytes,
        .can_suspend = u->meta.can_suspend,
        .flags = u->meta.flags,
        .text = m->image.text,
        .text_bytes = m->image.text_bytes,
        .lines = lines_new(&u->object, &m->image),
    };
    return m;
}

/* The unit's mapping with these addresses, with one more reference; NULL when there is none. */
static struct mapping *mapping_find_locked(struct unit *u, const uint64_t *bound)
{
    size_t bytes = u->wants.count * sizeof *bound;
    for (struct mapping *m = u->mappings; m != NULL; m = m->next)
        if (bytes == 0 || memcmp(m->bound, bound, bytes) == 0) {
            m->references++;
            return m;
        }
    return NULL;
}

/* Adds a new mapping, unless another thread was faster: then that one is taken. */
static struct mapping *mapping_add(struct unit *u, struct mapping *fresh)
{
    pthread_mutex_lock(&lock);
    struct mapping *m = mapping_find_locked(u, fresh->bound);
    if (m == NULL) {
        m = fresh;
        m->references = 1;
        m->next = u->mappings;
        u->mappings = m;
        u->references++;
    }
    pthread_mutex_unlock(&lock);
    if (m != fresh)
        mapping_free(fresh);
    return m;
}

static struct mapping *mapping_get(struct unit *u, const struct ptx_module *module,
                                   const struct jit_resolver *resolver, struct diag *d)
{
    uint64_t *bound = xcalloc(u->wants.count, sizeof *bound);
    if (!bind_wants(&u->wants, &u->object, module, resolver, bound, d)) {
        free(bound);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    struct mapping *m = mapping_find_locked(u, bound);
    pthread_mutex_unlock(&lock);
    if (m != NULL) {
        free(bound);
        return m;
    }
    struct mapping *fresh = mapping_new(u, bound, d);
    return fresh ? mapping_add(u, fresh) : NULL;
}

/* ---- public ---- */

struct jit_code *jit_get(const struct ptx_func *entry, const struct jit_options *options,
                         const struct jit_resolver *resolver, struct diag *d)
{
    struct unit *u = unit_get(entry, options, true, d);
    if (u == NULL)
        return NULL;
    struct mapping *m = mapping_get(u, entry->module, resolver, d);
    unit_release(u);
    if (m == NULL)
        diag_set(d, 0, 0, "kernel %s cannot be loaded", entry->name);
    return m ? &m->code : NULL;
}

void jit_release(struct jit_code *code)
{
    if (code == NULL)
        return;
    struct mapping *m = (struct mapping *)code;
    pthread_mutex_lock(&lock);
    bool last = --m->references == 0;
    if (last) {
        struct mapping **link = &m->unit->mappings;
        while (*link != m)
            link = &(*link)->next;
        *link = m->next;
    }
    pthread_mutex_unlock(&lock);
    if (!last)
        return;
    struct unit *u = m->unit;
    mapping_free(m); /* before the unit: its lines read the unit's object */
    unit_release(u);
}

bool jit_find_line(const struct jit_code *code, const void *address, const char **file, int *line)
{
    const uint8_t *at = address;
    if (code->lines == NULL || at < code->text || at >= code->text + code->text_bytes)
        return false;
    return lines_find(code->lines, (uint64_t)(uintptr_t)at, file, line);
}

/* One call of the compiler's dump, for plugin_call. */
struct dumping {
    const struct ptx_func *entry;
    const struct jit_options *options;
    unsigned stages;
    struct strbuf *out;
    struct diag *d;
    bool ok;
};

static void dump(void *arg)
{
    struct dumping *c = arg;
    const struct jit_plugin *p = plugin_open(c->d);
    c->ok = p != NULL && p->dump(c->entry, c->options, c->stages, c->out, c->d);
}

bool jit_dump(const struct ptx_func *entry, const struct jit_options *options, unsigned stages,
              struct strbuf *out, struct diag *d)
{
    struct dumping c = {entry, options, stages, out, d, false};
    plugin_call(dump, &c);
    return c.ok;
}

const char *jit_cpu(void) { return cpu_description(); }

const char *jit_cache_dir(void) { return cache_dir(); }

/* The compiler's words, for plugin_call. */
struct target_call {
    struct diag *d;
    const char *text;
};

static void ask_target(void *arg)
{
    struct target_call *c = arg;
    const struct jit_plugin *p = plugin_open(c->d);
    c->text = p ? p->cpu() : NULL;
}

const char *jit_target(struct diag *d)
{
    struct target_call c = {.d = d};
    plugin_call(ask_target, &c);
    return c.text;
}
