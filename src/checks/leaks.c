/* leaks: what the program made and is alive when it ends, by the call that made it.
 *
 * Objects count that a call of the program made: not the default pools, the modules that the
 * runtime loads for a program, or memory of their variables. What a fault has kept from being freed
 * is no leak, nor is code that a package has loaded at no known place: Python's keep their compiled
 * kernels to the end of the process. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "checks/checks.h"
#include "observe/observe.h"

/* Something that is alive. */
struct thing {
    uint64_t address; /* of memory; of an object its handle; 0: a free place in the table */
    uint64_t bytes;
    uint64_t number; /* in the order in which they were made */
    int device;
    const char *what;  /* "device memory", "stream" */
    bool memory, code; /* code: a module or a library */
    struct finding_site site;
};

static bool (*device_faulted)(int device);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct thing *items; /* by hash of address, found by steps of 1 */
    size_t count, cap;   /* cap: a power of two */
    uint64_t made;
} things;

/* Which device a context is of: stream_made tells. */
static struct {
    struct owner {
        uint64_t context;
        int device;
    } *items;
    size_t count, cap;
} owners;

/* ---- the table ---- */

static size_t place_of(uint64_t address)
{
    return (size_t)((address * 0x9e3779b97f4a7c15u) >> 20) & (things.cap - 1);
}

static struct thing *find(uint64_t address)
{
    if (things.cap == 0)
        return NULL;
    size_t at = place_of(address);
    while (things.items[at].address != 0 && things.items[at].address != address)
        at = (at + 1) & (things.cap - 1);
    return &things.items[at];
}

static void grow(void)
{
    struct thing *old = things.items;
    size_t cap = things.cap;
    things.cap = cap > 0 ? 2 * cap : 256;
    things.items = xcalloc(things.cap, sizeof *things.items);
    for (size_t i = 0; i < cap; i++)
        if (old[i].address != 0)
            *find(old[i].address) = old[i];
    free(old);
}

static void add(struct thing t)
{
    finding_site_here(&t.site);
    pthread_mutex_lock(&lock);
    if (2 * things.count >= things.cap)
        grow();
    struct thing *at = find(t.address);
    things.count += at->address == 0;
    t.number = ++things.made;
    *at = t;
    pthread_mutex_unlock(&lock);
}

/* The lock is held. What stands after it moves up, so that searches still find it. */
static void take_out(struct thing *t)
{
    size_t at = (size_t)(t - things.items), next = at;
    things.count--;
    for (;;) {
        things.items[at].address = 0;
        do {
            next = (next + 1) & (things.cap - 1);
            if (things.items[next].address == 0)
                return;
        } while (((next - place_of(things.items[next].address)) & (things.cap - 1)) <
                 ((next - at) & (things.cap - 1)));
        things.items[at] = things.items[next];
        at = next;
    }
}

static void end(uint64_t address)
{
    pthread_mutex_lock(&lock);
    struct thing *t = find(address);
    if (t != NULL && t->address != 0)
        take_out(t);
    pthread_mutex_unlock(&lock);
}

/* ---- hooks ---- */

static const char *memory_words(enum observe_memory_kind kind)
{
    switch (kind) {
    case OBSERVE_DEVICE_MEMORY: return "device memory";
    case OBSERVE_MANAGED: return "managed memory";
    case OBSERVE_PINNED: return "page-locked memory";
    case OBSERVE_REGISTERED: return "registered memory";
    case OBSERVE_POOL: return "stream-ordered memory";
    default: return NULL; /* others belong to objects, which are told of */
    }
}

static void on_memory_made(const struct observe_memory *m)
{
    const char *what = memory_words(m->kind);
    if (what == NULL || m->bytes == 0 || (m->kind == OBSERVE_POOL && m->pool == 0))
        return;
    add((struct thing){.address = m->address,
                       .bytes = m->bytes,
                       .device = m->device,
                       .what = what,
                       .memory = true});
}

static void on_memory_freed(const struct observe_memory *m) { end(m->address); }

static void on_object_made(enum observe_object kind, const void *handle)
{
    static const char *const words[] = {
        [OBSERVE_STREAM_OBJECT] = "stream",
        [OBSERVE_EVENT_OBJECT] = "event",
        [OBSERVE_GRAPH_OBJECT] = "graph",
        [OBSERVE_GRAPH_EXEC] = "executable graph",
        [OBSERVE_POOL_OBJECT] = "pool",
        [OBSERVE_ARRAY] = "array",
        [OBSERVE_MIPMAP] = "mipmapped array",
        [OBSERVE_MODULE] = "module",
        [OBSERVE_LIBRARY] = "library",
        [OBSERVE_TEXTURE] = "texture",
        [OBSERVE_SURFACE] = "surface",
        [OBSERVE_PHYSICAL] = "allocation",
        [OBSERVE_LINK] = "linker",
        [OBSERVE_CONTEXT_OBJECT] = "context",
        [OBSERVE_USER_OBJECT] = "user object",
    };
    add((struct thing){.address = (uint64_t)(uintptr_t)handle,
                       .device = -1,
                       .what = words[kind],
                       .code = kind == OBSERVE_MODULE || kind == OBSERVE_LIBRARY});
}

static void on_object_ended(const void *handle) { end((uint64_t)(uintptr_t)handle); }

static void on_stream_made(const struct observe_stream *s)
{
    pthread_mutex_lock(&lock);
    vec_push(&owners, (struct owner){s->context, s->device});
    pthread_mutex_unlock(&lock);
}

static int device_of(uint64_t context)
{
    for (size_t i = 0; i < owners.count; i++)
        if (owners.items[i].context == context)
            return owners.items[i].device;
    return -1;
}

/* The device's memory is gone, and the host's that its context had. */
static void on_context_cleared(uint64_t context)
{
    pthread_mutex_lock(&lock);
    int device = device_of(context);
    for (size_t i = 0; i < things.cap;) {
        struct thing *t = &things.items[i];
        if (t->address != 0 && t->memory && (t->device == device || t->device < 0))
            take_out(t); /* another may be here now */
        else
            i++;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- telling ---- */

static int by_maker(const void *a, const void *b)
{
    const struct thing *x = a, *y = b;
    int site = memcmp(&x->site, &y->site, sizeof x->site);
    if (site == 0 && x->what != y->what)
        site = strcmp(x->what, y->what);
    return site != 0 ? site : x->number < y->number ? -1 : 1;
}

/* What one call has made. */
struct leak {
    const struct thing *first;
    uint64_t count, bytes;
};

static int by_number(const void *a, const void *b)
{
    const struct leak *x = a, *y = b;
    return x->first->number < y->first->number ? -1 : 1;
}

static void put_words(struct strbuf *sb, const struct leak *l)
{
    const char *what = l->first->what;
    bool vowel = strchr("aeiou", what[0]) != NULL;
    if (l->first->memory && l->count == 1)
        sb_printf(sb, "%llu bytes of %s", (unsigned long long)l->bytes, what);
    else if (l->first->memory)
        sb_printf(sb, "%llu bytes of %s in %llu allocations", (unsigned long long)l->bytes, what,
                  (unsigned long long)l->count);
    else if (l->count == 1)
        sb_printf(sb, "%s %s", vowel ? "an" : "a", what);
    else
        sb_printf(sb, "%llu %s", (unsigned long long)l->count,
                  strcmp(what, "library") == 0 ? "libraries" : what);
    if (!l->first->memory && l->count > 1 && strcmp(what, "library") != 0)
        sb_printf(sb, "s");
}

/* Whether a program's start has called it: the runtime's part of registration, which loads the
 * binaries of managed variables. */
static bool is_registration(const char *call)
{
    return call != NULL && (strncmp(call, "__cudaRegister", 14) == 0 ||
                            strncmp(call, "__cudaWeirRegister", 18) == 0);
}

static void tell(const struct leak *l)
{
    struct strbuf text = {0}, members = {0};
    struct finding_place place;
    const char *call;
    finding_resolve(&l->first->site, &place, &call, NULL);
    bool of_package =
        l->first->site.python != NULL || (place.file == NULL && place.function == NULL);
    if ((l->first->code && of_package) || is_registration(call))
        return;
    sb_printf(&text, "weir: leak: ");
    put_words(&text, l);
    sb_printf(&text, ", made at ");
    finding_put_place(&text, &place);
    finding_put_call(&text, call);
    sb_printf(&text, ", %s never %s\n", l->count == 1 || l->first->memory ? "was" : "were",
              l->first->memory ? "freed" : "destroyed");
    sb_printf(&members, "\"what\": \"leak\", \"of\": \"%s\", \"count\": %llu, \"bytes\": %llu",
              l->first->what, (unsigned long long)l->count, (unsigned long long)l->bytes);
    finding_put_json_place(&members, "made", &place);
    finding_put_json_call(&members, call);
    findings_tell("leaks", text.items, members.items);
    sb_free(&text);
    sb_free(&members);
}

/* All of one call are one leak; leaks in the order in which they began. */
static void leaks_end(void)
{
    pthread_mutex_lock(&lock);
    size_t count = 0, leaks = 0;
    struct thing *alive = xcalloc(things.count + 1, sizeof *alive);
    for (size_t i = 0; i < things.cap; i++)
        if (things.items[i].address != 0 && !device_faulted(things.items[i].device))
            alive[count++] = things.items[i];
    pthread_mutex_unlock(&lock);
    qsort(alive, count, sizeof *alive, by_maker);
    struct leak *all = xcalloc(count + 1, sizeof *all);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || alive[i].what != alive[i - 1].what ||
            memcmp(&alive[i].site, &alive[i - 1].site, sizeof alive[i].site) != 0)
            all[leaks++].first = &alive[i];
        all[leaks - 1].count++;
        all[leaks - 1].bytes += alive[i].bytes;
    }
    qsort(all, leaks, sizeof *all, by_number);
    for (size_t i = 0; i < leaks; i++)
        tell(&all[i]);
    free(all);
    free(alive);
}

static const struct observe_hooks hooks = {
    .stream_made = on_stream_made,
    .memory_made = on_memory_made,
    .memory_freed = on_memory_freed,
    .context_cleared = on_context_cleared,
    .object_made = on_object_made,
    .object_ended = on_object_ended,
};

bool leaks_open(bool (*faulted)(int device), struct diag *d)
{
    device_faulted = faulted;
    findings_at_end(leaks_end);
    return observe_add(&hooks) || diag_set(d, 0, 0, "the check for leaks cannot begin");
}
