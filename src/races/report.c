/* report: what was found, in words and as JSON: once for each pair of places in the program. */
#include <stdlib.h>
#include <string.h>

#include "base/short_name.h"
#include "races/internal.h"

/* One side of a race. */
struct side {
    enum access how;
    enum moment_kind kind;
    enum observe_kind work;
    struct observe_id id;
    const char *name;            /* of a kernel, as people write it */
    struct finding_place source; /* of a kernel's instruction */
    const void *pc;              /* of the host's */
    const char *ends;            /* it gives memory back (struct moment) */
    struct finding_site site;
    struct moment *moment; /* until it is written; NULL: no kernel's */
    const void *launch;    /* which launch of a graph; compared only */
    bool later;            /* of a grid, after a launch by it */
    bool thread_known;
    uint32_t block[3], thread[3];
    /* Filled in when it is written. */
    struct finding_place call;
    const char *call_name;
};

struct finding {
    struct side sides[2];
    bool ordered; /* used after the free */
    uint64_t low, high;
    bool has_memory;
    struct allocation {
        struct observe_memory told;
        struct finding_site made;
        const char *variable; /* its name; NULL: it is none */
    } memory;
};

static struct {
    struct finding *items;
    size_t count, cap;
} found;
static size_t written;

static struct {
    uint64_t *items;
    size_t count, cap;
} seen;

/* ---- memory ---- */

/* By address, none beside another's bytes. */
static struct {
    struct allocation **items;
    size_t count, cap;
} allocations;

/* The first that ends after the address. */
static size_t allocations_from(uint64_t address)
{
    size_t low = 0, high = allocations.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct observe_memory *t = &allocations.items[middle]->told;
        if (t->address + t->bytes <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void report_memory(const struct observe_memory *m, bool made)
{
    if (!made || m->bytes == 0) /* it stays to be named until its addresses are others' */
        return;
    struct allocation *a = xcalloc(1, sizeof *a);
    a->told = *m;
    finding_site_here(&a->made);
    size_t first = allocations_from(m->address), end = first;
    for (; end < allocations.count && allocations.items[end]->told.address < m->address + m->bytes;
         end++)
        free(allocations.items[end]);
    size_t after = allocations.count - end;
    if (end == first) /* one more */
        vec_push(&allocations, NULL);
    memmove(allocations.items + first + 1, allocations.items + end,
            after * sizeof(struct allocation *));
    allocations.items[first] = a;
    allocations.count = first + 1 + after;
}

void report_named(uint64_t address, const char *name)
{
    size_t at = allocations_from(address);
    if (at < allocations.count && allocations.items[at]->told.address == address)
        allocations.items[at]->variable = races_names.demangle(name);
}

static const struct allocation *allocation_of(uint64_t address)
{
    size_t at = allocations_from(address);
    return at < allocations.count && allocations.items[at]->told.address <= address
               ? allocations.items[at]
               : NULL;
}

struct allocation *report_allocation(uint64_t address)
{
    const struct allocation *a = allocation_of(address);
    struct allocation *copy = a != NULL ? xmalloc(sizeof *copy) : NULL;
    if (copy != NULL)
        *copy = *a;
    return copy;
}

/* ---- finding ---- */

static enum observe_access told_as(enum access how)
{
    return how == ACCESS_READ ? OBSERVE_READ : how == ACCESS_WRITE ? OBSERVE_WRITE : OBSERVE_ATOMIC;
}

/* The instruction that most likely touched the byte: of those that touched bytes around it, the one
 * that touched the fewest. */
static const struct observe_access_site *instruction_of(const struct moment *m, enum access how,
                                                        uint64_t at)
{
    const struct observe_access_site *best = NULL;
    for (uint32_t i = 0; m->sites != NULL && i < m->sites->count; i++) {
        const struct observe_access_site *s = &m->sites->items[i];
        if (s->how == told_as(how) && at >= s->low && at < s->high &&
            (best == NULL || s->high - s->low < best->high - best->low))
            best = s;
    }
    return best;
}

/* The warps that touched the byte; *which: the one of them. NULL: not known. */
static const struct observe_warps *warps_of(const struct moment *m, enum access how, uint64_t at,
                                            uint64_t *which)
{
    for (uint32_t i = 0; m->warps != NULL && i < m->warps->count; i++) {
        const struct observe_warps *w = &m->warps->items[i];
        uint64_t n = at >= w->low && w->count > 1 ? (at - w->low) / w->step : 0;
        n = n < w->count ? n : w->count - 1;
        if (w->how == told_as(how) && at >= w->low + n * w->step && at < w->high + n * w->step) {
            *which = n;
            return w;
        }
    }
    return NULL;
}

static void set_index(uint32_t out[3], uint64_t number, const uint32_t shape[3])
{
    out[0] = (uint32_t)(number % shape[0]);
    out[1] = (uint32_t)(number / shape[0] % shape[1]);
    out[2] = (uint32_t)(number / shape[0] / shape[1]);
}

/* Names the thread, and its instruction. What a kernel and those that it has launched did last is
 * told when all of them have ended, so this is when the side is written. */
static void find_thread(struct side *s, uint64_t at)
{
    enum { WARP = 32, ONE_LANE = 31 };
    uint64_t which;
    const struct observe_warps *w = warps_of(s->moment, s->how, at, &which);
    if (w == NULL)
        return;
    uint64_t lane = w->shift == ONE_LANE ? w->lane : (at - w->origin - which * w->step) >> w->shift;
    uint32_t threads = w->block[0] * w->block[1] * w->block[2], warps = (threads + WARP - 1) / WARP;
    uint64_t number = w->number + which * w->number_step;
    uint64_t thread = number % warps * WARP + lane;
    if (lane >= WARP || (w->mask >> lane & 1) == 0 || thread >= threads)
        return;
    set_index(s->block, number / warps, w->grid);
    set_index(s->thread, thread, w->block);
    s->name = races_names.demangle(w->name);
    races_names.kernel(w->kernel, w->pc, &s->source);
    s->thread_known = true;
}

static struct side side_of(const struct moment *m, enum access how, uint64_t at)
{
    struct side s = {
        .how = how, .kind = m->kind, .work = m->work, .id = m->id, .pc = m->pc, .site = m->site};
    s.ends = m->ends;
    s.launch = m->launch;
    s.later = m->work == OBSERVE_KERNEL && m->part > 0;
    if (m->kind != MOMENT_WORK || m->work != OBSERVE_KERNEL)
        return s;
    s.moment = moment_ref((struct moment *)m);
    s.name = races_names.demangle(m->name);
    const struct observe_access_site *i = instruction_of(m, how, at);
    if (i != NULL && m->kernel != NULL) {
        s.pc = i->pc;
        races_names.kernel(m->kernel, i->pc, &s.source);
    }
    return s;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
    return h;
}

static uint64_t hash_of(const struct side *s)
{
    uint64_t h = mix((uint64_t)s->kind, s->how);
    for (int i = 0; i < FINDING_FRAMES; i++)
        h = mix(h, (uint64_t)(uintptr_t)s->site.frames[i]);
    return mix(mix(h, (uint64_t)(uintptr_t)s->pc), s->id.node);
}

static bool is_new(const struct finding *f)
{
    uint64_t a = hash_of(&f->sides[0]), b = hash_of(&f->sides[1]);
    uint64_t h = a < b ? mix(a, b) : mix(b, a);
    for (size_t i = 0; i < seen.count; i++)
        if (seen.items[i] == h)
            return false;
    vec_push(&seen, h);
    return true;
}

/* The same two pieces of work race in one way, however many bytes and instructions. */
static bool same_pair(const struct finding *f)
{
    if (found.count == 0)
        return false;
    const struct finding *l = &found.items[found.count - 1];
    for (int i = 0; i < 2; i++)
        if (f->sides[i].id.stream == 0 || l->sides[i].id.stream != f->sides[i].id.stream ||
            l->sides[i].id.count != f->sides[i].id.count ||
            l->sides[i].id.node != f->sides[i].id.node || l->sides[i].kind != f->sides[i].kind)
            return false;
    return true;
}

static void forget_moments(struct finding *f)
{
    for (int i = 0; i < 2; i++) {
        moment_unref(f->sides[i].moment);
        f->sides[i].moment = NULL;
    }
}

void report_race(struct moment *earlier, enum access how, struct moment *later,
                 enum access later_how, uint64_t low, uint64_t high)
{
    struct finding f = {.low = low, .high = high, .ordered = moment_before(earlier, later)};
    f.sides[0].id = earlier->id;
    f.sides[0].kind = earlier->kind;
    f.sides[1].id = later->id;
    f.sides[1].kind = later->kind;
    if (same_pair(&f))
        return;
    f.sides[0] = side_of(earlier, how, low);
    f.sides[1] = side_of(later, later_how, low);
    if (!is_new(&f)) {
        forget_moments(&f);
        return;
    }
    const struct allocation *a = allocation_of(low);
    f.has_memory = a != NULL;
    if (a != NULL)
        f.memory = *a;
    vec_push(&found, f);
}

/* ---- words ---- */

static const char *how_word(enum access how)
{
    switch (how) {
    case ACCESS_READ: return "read";
    case ACCESS_WRITE: return "write";
    case ACCESS_ATOMIC: return "atomic";
    case ACCESS_ALLOCATION: return "allocate";
    default: return "free";
    }
}

static const char *kind_word(const struct side *s)
{
    if (s->kind == MOMENT_ALLOCATION)
        return "allocation";
    if (s->kind == MOMENT_FREE)
        return "free";
    if (s->kind == MOMENT_HOST)
        return "host";
    switch (s->work) {
    case OBSERVE_KERNEL: return "kernel";
    case OBSERVE_COPY: return "copy";
    case OBSERVE_SET: return "set";
    case OBSERVE_HOST: return "function";
    default: return "value";
    }
}

void report_put_stream(struct strbuf *sb, uint64_t stream)
{
    int device;
    if ((uint32_t)stream == 1 && stream >> 32 != 0 && order_one_of_devices(stream, &device))
        sb_printf(sb, "the legacy default stream of device %d", device);
    else if ((uint32_t)stream == 1 && stream >> 32 != 0)
        sb_printf(sb, "the legacy default stream");
    else
        sb_printf(sb, "stream %llu", (unsigned long long)stream);
}

void report_put_kernel(struct strbuf *sb, const char *name)
{
    sb_printf(sb, "kernel ");
    short_name(sb, name);
}

/* The end of a function, whose variables go. */
static bool is_scope(const struct side *s)
{
    return s->ends != NULL && strcmp(s->ends, SCOPE_ENDS) == 0;
}

static void append_side(struct strbuf *sb, const struct side *s)
{
    switch (s->kind) {
    case MOMENT_HOST:
        if (is_scope(s))
            sb_printf(sb, "end of the function that it is local to, which returned to ");
        else
            sb_printf(sb, "%s by the host at ", s->ends != NULL ? "free" : how_word(s->how));
        finding_put_place(sb, &s->source);
        finding_put_call(sb, is_scope(s) ? NULL : s->ends);
        return;
    case MOMENT_ALLOCATION: sb_printf(sb, "allocation"); break;
    case MOMENT_FREE: sb_printf(sb, "free"); break;
    default:
        sb_printf(sb, "%s by ", s->how == ACCESS_ATOMIC ? "atomic access" : how_word(s->how));
        if (s->work == OBSERVE_KERNEL)
            report_put_kernel(sb, s->name);
        else if (s->work == OBSERVE_HOST)
            sb_printf(sb, "a host function");
        else
            sb_printf(sb, "a %s",
                      s->work == OBSERVE_SET    ? "set"
                      : s->work == OBSERVE_COPY ? "copy"
                                                : "write of a value");
        if (s->thread_known)
            sb_printf(sb, ", block (%u,%u,%u), thread (%u,%u,%u)", s->block[0], s->block[1],
                      s->block[2], s->thread[0], s->thread[1], s->thread[2]);
        if (s->source.file != NULL) {
            sb_printf(sb, " at ");
            finding_put_place(sb, &s->source);
        }
        sb_printf(sb, ", enqueued");
    }
    sb_printf(sb, " at ");
    finding_put_place(sb, &s->call);
    finding_put_call(sb, s->call_name);
    if (s->id.stream != 0) {
        sb_printf(sb, " in ");
        report_put_stream(sb, s->id.stream);
    }
    if (s->id.node != 0)
        sb_printf(sb, ", node %u of the graph", s->id.node);
}

void report_put_range(struct strbuf *sb, uint64_t low, uint64_t high)
{
    if (high - low == 1)
        sb_printf(sb, "byte %llu", (unsigned long long)low);
    else
        sb_printf(sb, "bytes %llu to %llu", (unsigned long long)low, (unsigned long long)high - 1);
}

void report_put_memory(struct strbuf *sb, const struct allocation *a, uint64_t low, uint64_t high)
{
    struct finding_place place;
    const char *call;
    if (a == NULL) {
        sb_printf(sb, "at 0x%llx, %llu bytes", (unsigned long long)low,
                  (unsigned long long)(high - low));
        return;
    }
    const struct observe_memory *m = &a->told;
    report_put_range(sb, low - m->address, high - m->address);
    sb_printf(sb, " of the %llu bytes", (unsigned long long)m->bytes);
    if (a->variable != NULL) {
        sb_printf(sb, " of variable %s", a->variable);
        return;
    }
    finding_resolve(&a->made, &place, &call, NULL);
    sb_printf(sb, " allocated at ");
    finding_put_place(sb, &place);
    finding_put_call(sb, call);
}

/* Of two that are in one launch of the host's, but not in one of a graph. */
static void append_tail_advice(struct strbuf *sb, const struct side *a, const struct side *b)
{
    const struct side *later = a->later ? a : b->later ? b : NULL;
    sb_printf(sb,
              "launch one's graph, from the other's, as a tail launch (cudaStreamGraphTailLaunch)");
    if (later == NULL)
        return;
    sb_printf(sb, ", or do what is at ");
    finding_put_place(sb, &later->source);
    sb_printf(sb, " before the launch");
}

/* What would have ordered the two. */
static void append_advice(struct strbuf *sb, const struct finding *f)
{
    const struct side *a = &f->sides[0], *b = &f->sides[1];
    if (f->ordered) {
        sb_printf(sb, is_scope(a) ? "use memory that lives longer than the function"
                                  : "free the memory after its last use");
        return;
    }
    if (a->id.node != 0 && b->id.node != 0 && a->id.stream == b->id.stream &&
        a->id.count == b->id.count) {
        if (a->launch != b->launch) {
            append_tail_advice(sb, a, b);
            return;
        }
        sb_printf(sb, "add an edge from node %u of the graph to node %u, or the other way round",
                  a->id.node, b->id.node);
        return;
    }
    if (a->kind == MOMENT_HOST || b->kind == MOMENT_HOST || a->id.stream == 0 ||
        b->id.stream == 0) {
        const struct side *work = a->id.stream != 0 ? a : b;
        sb_printf(sb, "wait for ");
        report_put_stream(sb, work->id.stream);
        sb_printf(sb, " (cudaStreamSynchronize, or cudaEventSynchronize with an event recorded "
                      "after ");
        finding_put_place(sb, &work->call);
        const struct side *host = work == a ? b : a;
        if (is_scope(host)) {
            sb_printf(sb, ") before the function returns, or use memory that lives longer");
            return;
        }
        sb_printf(sb, ") before the host goes on to ");
        finding_put_place(sb, host->kind == MOMENT_HOST ? &host->source : &host->call);
        return;
    }
    if (a->kind == MOMENT_FREE) { /* what uses the memory must come first */
        const struct side *use = b;
        b = a;
        a = use;
    }
    sb_printf(sb, "record an event in ");
    report_put_stream(sb, a->id.stream);
    sb_printf(sb, " after ");
    finding_put_place(sb, &a->call);
    sb_printf(sb, " and let ");
    report_put_stream(sb, b->id.stream);
    sb_printf(sb, " wait for it (cudaStreamWaitEvent) before ");
    finding_put_place(sb, &b->call);
}

static void append_text(struct strbuf *sb, const struct finding *f)
{
    sb_printf(sb, "weir: %s: ", f->ordered ? "use after free" : "race");
    report_put_memory(sb, f->has_memory ? &f->memory : NULL, f->low, f->high);
    sb_printf(sb, "\n  first:  ");
    append_side(sb, &f->sides[0]);
    sb_printf(sb, "\n  second: ");
    append_side(sb, &f->sides[1]);
    sb_printf(sb, f->ordered ? "\n  order:  " : "\n  nothing orders the two; to order them: ");
    append_advice(sb, f);
    sb_printf(sb, "\n");
}

/* ---- JSON ---- */

static void append_json_side(struct strbuf *sb, const struct side *s)
{
    sb_printf(sb, "{\"kind\": \"%s\", \"access\": \"%s\"", kind_word(s),
              s->ends != NULL ? "free" : how_word(s->how));
    if (s->id.stream != 0)
        sb_printf(sb, ", \"stream\": %llu", (unsigned long long)s->id.stream);
    if (s->id.node != 0)
        sb_printf(sb, ", \"node\": %u", s->id.node);
    if (s->name != NULL) {
        sb_printf(sb, ", \"kernel\": ");
        finding_put_string(sb, s->name);
    }
    if (s->thread_known)
        sb_printf(sb, ", \"block\": [%u, %u, %u], \"thread\": [%u, %u, %u]", s->block[0],
                  s->block[1], s->block[2], s->thread[0], s->thread[1], s->thread[2]);
    finding_put_json_place(sb, "source", &s->source);
    finding_put_json_place(sb, "enqueued", &s->call);
    finding_put_json_call(sb, s->call_name);
    sb_printf(sb, "}");
}

void report_put_json_memory(struct strbuf *sb, const struct allocation *a, uint64_t low)
{
    struct finding_place place;
    const char *call;
    finding_resolve(&a->made, &place, &call, NULL);
    sb_printf(sb, ", \"allocation\": {\"bytes\": %llu, \"offset\": %llu",
              (unsigned long long)a->told.bytes, (unsigned long long)(low - a->told.address));
    if (a->variable != NULL) {
        sb_printf(sb, ", \"variable\": ");
        finding_put_string(sb, a->variable);
    } else {
        finding_put_json_place(sb, "made", &place);
    }
    sb_printf(sb, "}");
}

static void append_json(struct strbuf *sb, const struct finding *f)
{
    sb_printf(sb, "\"what\": \"%s\", \"address\": \"0x%llx\", \"bytes\": %llu, \"sides\": [",
              f->ordered ? "use after free" : "race", (unsigned long long)f->low,
              (unsigned long long)(f->high - f->low));
    append_json_side(sb, &f->sides[0]);
    sb_printf(sb, ", ");
    append_json_side(sb, &f->sides[1]);
    sb_printf(sb, "]");
    if (f->has_memory)
        report_put_json_memory(sb, &f->memory, f->low);
}

/* ---- writing ---- */

static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

/* Takes the next finding that is not written. */
static bool next_finding(struct finding *f)
{
    races_enter();
    bool more = written < found.count;
    if (more) {
        *f = found.items[written++];
        for (int i = 0; i < 2; i++)
            if (f->sides[i].moment != NULL)
                find_thread(&f->sides[i], f->low);
        forget_moments(f);
    }
    races_leave();
    return more;
}

void report_flush(void)
{
    struct finding f;
    report_threads_flush();
    if (written == found.count)
        return;
    pthread_mutex_lock(&writing);
    while (next_finding(&f)) {
        struct strbuf text = {0}, members = {0};
        for (int i = 0; i < 2; i++) {
            struct side *s = &f.sides[i];
            if (s->kind == MOMENT_HOST || (s->kind == MOMENT_WORK && s->work == OBSERVE_HOST))
                races_names.host((const char *)s->pc + 1, &s->source); /* no call */
            if (s->kind != MOMENT_HOST)
                finding_resolve(&s->site, &s->call, &s->call_name, NULL);
        }
        append_text(&text, &f);
        append_json(&members, &f);
        findings_tell("races", text.items, members.items);
        sb_free(&text);
        sb_free(&members);
    }
    pthread_mutex_unlock(&writing);
}
