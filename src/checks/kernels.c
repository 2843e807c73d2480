/* kernels: what the checks of initialisation and of synchronization find in kernels, in words; and
 * which bytes copies, sets, allocations and frees make written or not. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/short_name.h"
#include "checks/checks.h"
#include "memory/defined.h"
#include "observe/observe.h"

static struct kernel_names kernel_names;

/* ---- telling ---- */

static void put_lanes(struct strbuf *sb, uint32_t lanes)
{
    int count = __builtin_popcount(lanes), first = __builtin_ctz(lanes);
    sb_printf(sb, "lane%s %d", count == 1 ? "" : "s", first);
    uint32_t run = lanes >> first;
    int length = run == 0xffffffffu ? 32 : __builtin_ctz(~run);
    if (count > 1 && length == count)
        sb_printf(sb, " to %d", first + count - 1);
    else if (count > 1)
        sb_printf(sb, " and %d more (0x%08x)", count - 1, lanes);
}

static void put_what(struct strbuf *sb, const struct observe_found *f)
{
    switch (f->kind) {
    case OBSERVE_UNWRITTEN:
        sb_printf(sb, "read of %u byte%s that nothing has written: ", f->bytes,
                  f->bytes == 1 ? "" : "s");
        if (f->shared) {
            sb_printf(sb, "byte %llu of the block's shared memory", (unsigned long long)f->address);
        } else {
            sb_printf(sb, "0x%llx is ", (unsigned long long)f->address);
            kernel_names.describe((const void *)(uintptr_t)f->address, sb);
        }
        break;
    case OBSERVE_DIVERGED_BARRIER:
        sb_printf(sb, "barrier that not all threads reach: ");
        put_lanes(sb, f->lanes);
        sb_printf(sb, " of the warp came to it together, and not ");
        put_lanes(sb, f->others);
        break;
    case OBSERVE_NOT_MEMBER:
        sb_printf(sb, "operation of a warp by a thread that its mask 0x%08x does not name",
                  f->others);
        break;
    case OBSERVE_MISSING_MEMBERS:
        sb_printf(sb, "operation of a warp whose mask names threads that are elsewhere: ");
        put_lanes(sb, f->others);
        break;
    case OBSERVE_NO_MEMBERS:
        sb_printf(sb,
                  "operation of a warp whose mask names threads that have ended or never were: ");
        put_lanes(sb, f->others);
        break;
    case OBSERVE_OTHER_BARRIER:
        sb_printf(sb,
                  "barrier at which some threads of the block wait, while others wait at another "
                  "one: thread (%u,%u,%u)",
                  f->other_thread[0], f->other_thread[1], f->other_thread[2]);
        break;
    default:
        sb_printf(sb, "barrier %u for %u threads, for which the first to come said %u", f->barrier,
                  f->count, f->first);
        break;
    }
}

static bool same_line(const struct finding_place *a, const struct finding_place *b)
{
    return a->line == b->line && strcmp(a->file, b->file) == 0;
}

/* Code for several warps may stand side by side, so that one instruction of the source is several.
 * What was told of the grid that is told of now: */
static struct {
    pthread_mutex_t lock;
    struct observe_id id;
    struct {
        struct told {
            enum observe_finding kind;
            struct finding_place place;
        } *items;
        size_t count, cap;
    } told;
} latest = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_new(const struct observe_found *f, const struct finding_place *place)
{
    bool known = false;
    pthread_mutex_lock(&latest.lock);
    if (latest.id.stream != f->id.stream || latest.id.count != f->id.count ||
        latest.id.node != f->id.node) {
        latest.id = f->id;
        latest.told.count = 0;
    }
    for (size_t i = 0; i < latest.told.count && !known; i++)
        known =
            latest.told.items[i].kind == f->kind && same_line(&latest.told.items[i].place, place);
    if (!known)
        vec_push(&latest.told, (struct told){f->kind, *place});
    pthread_mutex_unlock(&latest.lock);
    return !known;
}

static void on_found(const struct observe_found *f)
{
    struct strbuf text = {0}, members = {0}, what = {0};
    struct finding_place place = {0}, other_place = {0};
    bool init = f->kind == OBSERVE_UNWRITTEN, known;
    const char *name = kernel_names.demangle(f->name);
    known = kernel_names.place(f->kernel, f->pc, &place);
    if (known && !is_new(f, &place))
        return;
    put_what(&what, f);
    if (f->kind == OBSERVE_OTHER_BARRIER &&
        kernel_names.place(f->kernel, f->other_pc, &other_place)) {
        if (known && same_line(&place, &other_place)) { /* a compiler has made two of one */
            sb_free(&what);
            return;
        }
        sb_printf(&what, " at %s:%d", other_place.file, other_place.line);
    }
    sb_printf(&text, "weir: %s: in kernel ", init ? "uninitialised read" : "synchronization");
    short_name(&text, name);
    sb_printf(&text, ", block (%u,%u,%u), thread (%u,%u,%u)", f->block[0], f->block[1], f->block[2],
              f->thread[0], f->thread[1], f->thread[2]);
    if (known)
        sb_printf(&text, " at %s:%d", place.file, place.line);
    sb_printf(&text, ": %s\n", what.items);
    sb_printf(&members,
              "\"what\": \"%s\", \"kernel\": ", init ? "uninitialised read" : "synchronization");
    finding_put_string(&members, name);
    finding_put_json_place(&members, "source", &place);
    findings_tell(init ? "init" : "sync", text.items, members.items);
    sb_free(&text);
    sb_free(&members);
    sb_free(&what);
}

/* ---- what is written ---- */

static bool is_followed(const struct observe_memory *m)
{
    return m->kind == OBSERVE_DEVICE_MEMORY || (m->kind == OBSERVE_POOL && m->device >= 0);
}

/* Memory is new in the order of a stream: after so many of its works. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct position {
        uint64_t stream, enqueued, ended;
    } *items;
    size_t count, cap;
} positions;
static struct {
    struct fresh {
        uint64_t stream, count, address, bytes;
    } *items;
    size_t count, cap;
} pending;

/* The lock is held. */
static struct position *position_of(uint64_t stream)
{
    for (size_t i = 0; i < positions.count; i++)
        if (positions.items[i].stream == stream)
            return &positions.items[i];
    vec_push(&positions, (struct position){.stream = stream});
    return &positions.items[positions.count - 1];
}

/* Where copies, and graphs that may copy, were enqueued. */
static struct {
    struct enqueued {
        uint64_t stream, count;
        struct finding_site site;
    } *items;
    size_t count, cap;
} copies;

static void on_enqueued(const struct observe_work *w)
{
    struct enqueued e = {.stream = w->id.stream, .count = w->id.count};
    bool copies_may = w->kind == OBSERVE_COPY || w->kind == OBSERVE_GRAPH;
    if (copies_may)
        finding_site_here(&e.site);
    pthread_mutex_lock(&lock);
    position_of(w->id.stream)->enqueued = w->id.count;
    if (copies_may)
        vec_push(&copies, e);
    pthread_mutex_unlock(&lock);
}

static bool find_enqueued(const struct observe_id *id, struct finding_site *out)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < copies.count && !found; i++) {
        const struct enqueued *e = &copies.items[i];
        found = e->stream == id->stream && e->count == id->count;
        if (found)
            *out = e->site;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void on_ended(const struct observe_id *id, enum observe_kind kind)
{
    (void)kind;
    if (id->node != 0 || id->stream == OBSERVE_CHILDREN)
        return;
    pthread_mutex_lock(&lock);
    position_of(id->stream)->ended = id->count;
    size_t kept = 0;
    for (size_t i = 0; i < pending.count; i++) {
        const struct fresh f = pending.items[i];
        if (f.stream == id->stream && f.count <= id->count)
            defined_fresh(f.address, f.bytes);
        else
            pending.items[kept++] = f;
    }
    pending.count = kept;
    kept = 0;
    for (size_t i = 0; i < copies.count; i++)
        if (copies.items[i].stream != id->stream || copies.items[i].count > id->count)
            copies.items[kept++] = copies.items[i];
    copies.count = kept;
    pthread_mutex_unlock(&lock);
}

static void on_memory_made(const struct observe_memory *m)
{
    if (!is_followed(m))
        return;
    pthread_mutex_lock(&lock);
    const struct position *p = m->ordered ? position_of(m->stream) : NULL;
    if (p == NULL || p->ended >= p->enqueued)
        defined_fresh(m->address, m->bytes);
    else
        vec_push(&pending, (struct fresh){m->stream, p->enqueued, m->address, m->bytes});
    pthread_mutex_unlock(&lock);
}

static void on_memory_freed(const struct observe_memory *m)
{
    if (m->kind == OBSERVE_DEVICE_MEMORY) /* of pools: work in order before it may still use it */
        defined_gone(m->address, m->bytes);
}

/* Padding is copied with what is around it: a gap is told of from this many bytes on. */
enum { GAP = 16 };

static void tell_copy(const struct observe_work *w, uint64_t first, uint64_t missing,
                      uint64_t bytes)
{
    struct strbuf text = {0}, members = {0};
    sb_printf(&text,
              "weir: uninitialised copy: %llu of %llu bytes that a copy takes to the host were "
              "never written: 0x%llx is ",
              (unsigned long long)missing, (unsigned long long)bytes, (unsigned long long)first);
    kernel_names.describe((const void *)(uintptr_t)first, &text);
    sb_printf(&members, "\"what\": \"uninitialised copy\", \"bytes\": %llu, \"stream\": %llu",
              (unsigned long long)missing, (unsigned long long)w->id.stream);
    struct finding_site site;
    if (find_enqueued(&w->id, &site)) {
        struct finding_place place;
        const char *call;
        finding_resolve(&site, &place, &call, NULL);
        sb_printf(&text, "; the copy was enqueued at ");
        finding_put_place(&text, &place);
        finding_put_call(&text, call);
        finding_put_json_place(&members, "enqueued", &place);
        finding_put_json_call(&members, call);
    }
    sb_printf(&text, "\n");
    findings_tell("init", text.items, members.items);
    sb_free(&text);
    sb_free(&members);
}

static bool has_gap(uint64_t first, uint64_t end)
{
    uint64_t at, n = end - first < GAP ? end - first : GAP;
    return defined_missing(first, n, &at) == n;
}

static uint64_t at_least_one(uint64_t n) { return n > 0 ? n : 1; }

static void on_copy(const struct observe_work *w)
{
    uint64_t missing = 0, first = 0, rows = at_least_one(w->copy.height);
    bool gap = false;
    for (uint64_t z = 0; z < at_least_one(w->copy.depth); z++)
        for (uint64_t y = 0; y < rows; y++) {
            uint64_t from =
                (uint64_t)(uintptr_t)w->copy.src + z * w->copy.src_slice + y * w->copy.src_pitch;
            uint64_t to =
                (uint64_t)(uintptr_t)w->copy.dst + z * w->copy.dst_slice + y * w->copy.dst_pitch;
            uint64_t at, n = defined_missing(from, w->copy.width, &at);
            if (n > 0 && missing == 0)
                first = at;
            missing += n;
            gap = gap || (n > 0 && has_gap(at, from + w->copy.width));
            defined_copied(to, from, w->copy.width);
        }
    bool to_host = w->copy.to == OBSERVE_PAGEABLE || w->copy.to == OBSERVE_PINNED ||
                   w->copy.to == OBSERVE_REGISTERED;
    if (gap && to_host)
        tell_copy(w, first, missing, w->copy.width * rows * at_least_one(w->copy.depth));
}

static void on_begun(const struct observe_work *w)
{
    if (w->kind == OBSERVE_COPY)
        on_copy(w);
    if (w->kind == OBSERVE_WRITE_VALUE)
        defined_written((uint64_t)(uintptr_t)w->value.address, w->value.bytes);
    if (w->kind != OBSERVE_SET)
        return;
    for (uint64_t z = 0; z < at_least_one(w->set.depth); z++)
        for (uint64_t y = 0; y < at_least_one(w->set.height); y++)
            defined_written((uint64_t)(uintptr_t)w->set.dst + z * w->set.slice + y * w->set.pitch,
                            w->set.width);
}

static const struct observe_hooks hooks = {.found = on_found};
static const struct observe_hooks defined_hooks = {.enqueued = on_enqueued,
                                                   .begun = on_begun,
                                                   .ended = on_ended,
                                                   .memory_made = on_memory_made,
                                                   .memory_freed = on_memory_freed};

bool kernels_open(const struct kernel_names *names, bool defined, struct diag *d)
{
    kernel_names = *names;
    return (observe_add(&hooks) && (!defined || observe_add(&defined_hooks))) ||
           diag_set(d, 0, 0, "the checks of kernels cannot begin");
}
