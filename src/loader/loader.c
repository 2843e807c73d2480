/* loader: gets code for kernels (jit_get), each compiled once and mapped where it is wanted.
 *
 * Two levels. A *compilation* is code for a module's text, a kernel and options: its ELF object,
 * from the disk cache or the compiler; the first thread that wants one makes it, others wait, and
 * different ones are made in parallel. A *mapping* is a compilation's object in memory with its
 * names bound; since a module may be loaded twice, with its variables at different addresses, a
 * compilation may have several. Both live until the last jit_release. src/driver/module/variant.c
 * shows the records above them. */
#include "loader/loader.h"
#include "loader/bind.h"
#include "loader/cache.h"
#include "loader/compile_ahead.h"
#include "loader/compiler_library.h"
#include "loader/cpu.h"
#include "loader/debugger.h"
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
    struct mapping *next; /* of the same compilation */
    struct compilation *compilation;
    unsigned references;
    struct image image;
    struct debugger_entry *shown; /* to gdb, or NULL */
    uint64_t
        *bound; /* addresses of the compilation's undefined symbols, in the order of its wants */
};

enum compilation_state { COMPILATION_MAKING, COMPILATION_READY, COMPILATION_FAILED };

struct compilation {
    struct compilation *next; /* in its bucket */
    struct hash128 key;
    struct hash128 disk_key; /* the key of its record on disk if it is optimized; baseline code that
                                a launch got is there by `key` */
    enum compilation_state state;
    unsigned references; /* threads inside jit_get, and mappings */
    void *data;          /* the record: struct jit_meta, then the object */
    size_t size;
    struct jit_meta meta;
    struct elf_object object; /* borrows data */
    struct wants wants;
    struct mapping *mappings;
    struct diag failure;
    bool compiled; /* in this process */
};

enum { BUCKETS = 256 };
static struct compilation *buckets[BUCKETS];
static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* guards the links of all compilations and mappings */
static pthread_cond_t made =
    PTHREAD_COND_INITIALIZER; /* some compilation left COMPILATION_MAKING */

/* ---- compilations ---- */

static struct compilation **bucket_of(const struct hash128 *key)
{
    return &buckets[key->lo % BUCKETS];
}

static void compilation_free(struct compilation *c)
{
    wants_free(&c->wants);
    free(c->data);
    free(c);
}

static void compilation_release_locked(struct compilation *c)
{
    if (--c->references > 0)
        return;
    struct compilation **link = bucket_of(&c->key);
    while (*link != c)
        link = &(*link)->next;
    *link = c->next;
    compilation_free(c);
}

void compilation_release(struct compilation *c)
{
    pthread_mutex_lock(&lock);
    compilation_release_locked(c);
    pthread_mutex_unlock(&lock);
}

/* Takes over a record; false when it is not a proper object (then the record is still the
 * caller's). */
static bool compilation_adopt(struct compilation *c, void *data, size_t size, struct diag *d)
{
    if (size < sizeof c->meta)
        return diag_set(d, 0, 0, "compiled code is truncated");
    const char *object = (const char *)data + sizeof c->meta;
    if (!elf_open(&c->object, object, size - sizeof c->meta, d))
        return false;
    memcpy(&c->meta, data, sizeof c->meta);
    c->data = data;
    c->size = size;
    wants_find(&c->wants, &c->object);
    return true;
}

static bool compilation_from_disk(struct compilation *c, const struct hash128 *key)
{
    void *data;
    size_t size;
    enum cache_result r = cache_load(CACHE_CODE, key, &data, &size);
    if (r == CACHE_HIT && !compilation_adopt(c, data, size, NULL)) {
        free(data);
        r = CACHE_DAMAGED;
    }
    if (r != CACHE_MISS)
        stats_add(r == CACHE_HIT ? STAT_DISK : STAT_DAMAGED);
    return r == CACHE_HIT;
}

/* May a launch get baseline code or optimized code? */
static bool is_first(const struct jit_options *options)
{
    return options->tier == JIT_TIER_FIRST || options->tier == JIT_TIER_FIRST_OF_MANY;
}

/* Optimized code if there is any, or what an earlier launch of the same kind got. Who asks for
 * baseline code, to test it, gets what the compiler makes. */
static bool compilation_from_cache(struct compilation *c, const struct jit_options *options)
{
    return (options->tier != JIT_TIER_BASELINE && compilation_from_disk(c, &c->disk_key)) ||
           (is_first(options) && compilation_from_disk(c, &c->key));
}

/* One call of the compiler, for plugin_call. */
struct compile_call {
    const struct ptx_func *entry;
    const struct jit_options *options;
    struct jit_object object;
    struct diag *d;
    bool ok;
};

static void compile(void *arg)
{
    struct compile_call *c = arg;
    const struct jit_plugin *p = plugin_open(c->d);
    c->ok = p != NULL && p->compile(c->entry, c->options, &c->object, c->d);
}

/* `waited`: someone waits for it, and may be told why. */
static bool compilation_from_compiler(struct compilation *c, const struct ptx_func *entry,
                                      const struct jit_options *options, bool waited,
                                      struct diag *d)
{
    struct compile_call call = {.entry = entry, .options = options, .d = d};
    struct watch w = {0};
    if (waited)
        watch_begin(&w, entry, options->tier);
    if (plugin_open(d) != NULL)
        plugin_call(compile, &call);
    watch_end(&w);
    if (!call.ok)
        return plugin_usable(d) &&
               diag_set(d, 0, 0, "kernel %s cannot be compiled", notice_name(entry->name));
    stats_add(STAT_COMPILED);
    c->compiled = true;
    size_t size = sizeof call.object.meta + call.object.size;
    char *record = xmalloc(size);
    memcpy(record, &call.object.meta, sizeof call.object.meta);
    memcpy(record + sizeof call.object.meta, call.object.data, call.object.size);
    free(call.object.data);
    if (!compilation_adopt(c, record, size, d)) {
        free(record);
        return false;
    }
    struct cache_piece piece = {record, size};
    bool baseline = (c->meta.flags & JIT_CODE_BASELINE) != 0;
    if (!baseline || is_first(options))
        cache_store(CACHE_CODE, baseline ? &c->key : &c->disk_key, &piece, 1);
    return true;
}

static struct compilation *compilation_find_locked(const struct hash128 *key)
{
    struct compilation *c = *bucket_of(key);
    while (c != NULL && (c->key.lo != key->lo || c->key.hi != key->hi))
        c = c->next;
    return c;
}

struct compilation *compilation_get(const struct ptx_func *entry, const struct jit_options *options,
                                    bool waited, struct diag *d)
{
    struct hash128 key, optimized_key;
    struct jit_options optimized = *options;
    optimized.tier = JIT_TIER_OPTIMIZING;
    key_of_code(entry, options, &key);
    key_of_code(entry, &optimized, &optimized_key);
    pthread_mutex_lock(&lock);
    struct compilation *c = compilation_find_locked(&optimized_key);
    if (options->tier == JIT_TIER_BASELINE || c == NULL || c->state != COMPILATION_READY)
        c = compilation_find_locked(&key);
    if (c != NULL) {
        c->references++;
        while (c->state == COMPILATION_MAKING)
            pthread_cond_wait(&made, &lock);
    } else {
        c = xcalloc(1, sizeof *c);
        c->key = key;
        c->disk_key = optimized_key;
        c->references = 1;
        c->next = *bucket_of(&key);
        *bucket_of(&key) = c;
        pthread_mutex_unlock(&lock);
        bool ok = compilation_from_cache(c, options) ||
                  compilation_from_compiler(c, entry, options, waited, &c->failure);
        pthread_mutex_lock(&lock);
        c->state = ok ? COMPILATION_READY : COMPILATION_FAILED;
        pthread_cond_broadcast(&made);
    }
    if (c->state == COMPILATION_FAILED) {
        if (d != NULL && d->text[0] == '\0')
            *d = c->failure;
        compilation_release_locked(c);
        c = NULL;
    }
    pthread_mutex_unlock(&lock);
    return c;
}

/* ---- mappings ---- */

static void mapping_free(struct mapping *m)
{
    debugger_remove(m->shown);
    lines_free(m->code.lines);
    image_unload(&m->image);
    free(m->bound);
    free(m);
}

/* Maps the compilation's object with these addresses. Takes over `bound`. */
static struct mapping *mapping_new(struct compilation *c, uint64_t *bound, struct diag *d)
{
    struct mapping *m = xcalloc(1, sizeof *m);
    m->compilation = c;
    m->bound = bound;
    uint64_t *undefined = xcalloc(c->object.nsymbols, sizeof *undefined);
    for (uint32_t k = 0; k < c->wants.count; k++)
        undefined[c->wants.symbols[k]] = bound[k];
    bool ok = image_load(&m->image, &c->object, undefined, d);
    free(undefined);
    uint64_t run = ok ? image_find(&m->image, &c->object, JIT_ENTRY_SYMBOL) : 0;
    if (ok && run == 0)
        diag_set(d, 0, 0, "compiled code does not define %s", JIT_ENTRY_SYMBOL);
    if (run == 0) {
        mapping_free(m);
        return NULL;
    }
    m->code = (struct jit_code){
        .run = (jit_block_fn)(uintptr_t)run,
        .frame_bytes = c->meta.frame_bytes,
        .pc_count = c->meta.pc_count,
        .local_bytes = c->meta.local_bytes,
        .can_suspend = c->meta.can_suspend,
        .flags = c->meta.flags,
        .stack_bytes = c->meta.stack_bytes,
        .text = m->image.text,
        .text_bytes = m->image.text_bytes,
        .lines = lines_new(&c->object, &m->image),
    };
    return m;
}

/* The compilation's mapping with these addresses, with one more reference; NULL when there is none.
 */
static struct mapping *mapping_find_locked(struct compilation *c, const uint64_t *bound)
{
    size_t bytes = c->wants.count * sizeof *bound;
    for (struct mapping *m = c->mappings; m != NULL; m = m->next)
        if (bytes == 0 || memcmp(m->bound, bound, bytes) == 0) {
            m->references++;
            return m;
        }
    return NULL;
}

/* Adds a new mapping, unless another thread was faster: then that one is taken. */
static struct mapping *mapping_add(struct compilation *c, struct mapping *fresh)
{
    pthread_mutex_lock(&lock);
    struct mapping *m = mapping_find_locked(c, fresh->bound);
    if (m == NULL) {
        m = fresh;
        m->references = 1;
        m->next = c->mappings;
        c->mappings = m;
        c->references++;
    }
    pthread_mutex_unlock(&lock);
    if (m != fresh) {
        mapping_free(fresh);
        return m;
    }
    m->shown = debugger_add(&c->object, &m->image);
    return m;
}

static struct mapping *mapping_get(struct compilation *c, const struct ptx_module *module,
                                   const struct jit_resolver *resolver, struct diag *d)
{
    uint64_t *bound = xcalloc(c->wants.count, sizeof *bound);
    if (!bind_wants(&c->wants, &c->object, module, resolver, bound, d)) {
        free(bound);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    struct mapping *m = mapping_find_locked(c, bound);
    pthread_mutex_unlock(&lock);
    if (m != NULL) {
        free(bound);
        return m;
    }
    struct mapping *fresh = mapping_new(c, bound, d);
    return fresh != NULL ? mapping_add(c, fresh) : NULL;
}

/* ---- public ---- */

struct jit_code *jit_get(const struct ptx_func *entry, const struct jit_options *options,
                         const struct jit_resolver *resolver, struct diag *d)
{
    struct compilation *c = compilation_get(entry, options, true, d);
    if (c == NULL)
        return NULL;
    if (c->compiled)
        launch_note(entry, options);
    struct mapping *m = mapping_get(c, entry->module, resolver, d);
    compilation_release(c);
    if (m == NULL)
        diag_set(d, 0, 0, "kernel %s cannot be loaded", notice_name(entry->name));
    return m != NULL ? &m->code : NULL;
}

bool jit_compile_ahead(const struct ptx_func *entry, const struct jit_options *options, bool *found,
                       struct diag *d)
{
    struct jit_options optimizing = *options;
    optimizing.tier = JIT_TIER_OPTIMIZING;
    struct compilation *c = compilation_get(entry, &optimizing, true, d);
    if (c == NULL)
        return false;
    *found = !c->compiled;
    compilation_release(c);
    return true;
}

void jit_release(struct jit_code *code)
{
    if (code == NULL)
        return;
    struct mapping *m = (struct mapping *)code;
    pthread_mutex_lock(&lock);
    bool last = --m->references == 0;
    if (last) {
        struct mapping **link = &m->compilation->mappings;
        while (*link != m)
            link = &(*link)->next;
        *link = m->next;
    }
    pthread_mutex_unlock(&lock);
    if (!last)
        return;
    struct compilation *c = m->compilation;
    mapping_free(m); /* before the compilation: its lines read that object */
    compilation_release(c);
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
    if (plugin_open(d) != NULL)
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
    c->text = p != NULL ? p->cpu() : NULL;
}

const char *jit_target(struct diag *d)
{
    struct target_call c = {.d = d};
    if (plugin_open(d) != NULL)
        plugin_call(ask_target, &c);
    return c.text;
}
