/* order: what comes after what, from what the observed layers tell of streams, events, waits and
 * graphs. All threads of the host count as one that has done what they did in the order in which
 * they did it. What passes between them and host functions is in sync.c. */
#include <stdlib.h>
#include <string.h>

#include "races/internal.h"

struct stream {
    uint64_t id, context;
    int device;
    bool made; /* the former are known */
    bool blocking, legacy;
    uint64_t last;    /* count of the latest work */
    uint64_t points;  /* moments of memory since */
    struct vclock *v; /* what the latest work comes after, in other streams */
    struct history {
        struct past {
            uint64_t count; /* from this work on */
            struct vclock *v;
        } *items;
        size_t count, cap;
    } history;
};

static struct {
    struct stream **items;
    size_t count, cap;
} streams;

/* What the host has seen end. */
static struct vclock *host_clock;
static uint64_t host_tick = 1;
/* What it has done up to a tick is, in clocks, a position in a stream that is none. */
static const uint64_t HOST_STREAM = (uint64_t)1 << 61;

/* ---- streams ---- */

static struct stream *stream_of(uint64_t id)
{
    for (size_t i = streams.count; i > 0; i--)
        if (streams.items[i - 1]->id == id)
            return streams.items[i - 1];
    struct stream *s = xcalloc(1, sizeof *s);
    s->id = id;
    vec_push(&streams, s);
    return s;
}

void order_stream_made(const struct observe_stream *made)
{
    struct stream *s = stream_of(made->id);
    s->context = made->context;
    s->device = made->device;
    s->made = true;
    s->blocking = made->blocking;
    s->legacy = made->kind == OBSERVE_LEGACY;
}

bool order_one_of_devices(uint64_t stream, int *device)
{
    bool several = false;
    *device = stream_of(stream)->device;
    for (size_t i = 0; i < streams.count && !several; i++)
        several = streams.items[i]->made && streams.items[i]->device != *device;
    return several;
}

static struct vclock *past_of(const struct stream *s, uint64_t count)
{
    for (size_t i = s->history.count; i > 0; i--)
        if (s->history.items[i - 1].count <= count)
            return s->history.items[i - 1].v;
    return NULL;
}

/* Joins what comes before the position of the stream, itself included. */
static struct vclock *join_position(struct vclock *v, const struct stream *s, uint64_t position)
{
    v = vclock_join(v, past_of(s, position >> POSITION_SHIFT));
    return vclock_raise(v, s->id, position);
}

static uint64_t position_of(uint64_t count) { return count << POSITION_SHIFT; }

/* After all that is in the stream. */
static uint64_t present_of(const struct stream *s) { return position_of(s->last) + s->points; }

static struct vclock *join_present(struct vclock *v, const struct stream *s)
{
    v = vclock_join(v, s->v);
    return vclock_raise(v, s->id, present_of(s));
}

/* What something in the stream comes after from now on: besides what is in it, what the host has
 * seen, and the default stream's rule. */
static void stream_advance(struct stream *s)
{
    struct vclock *v = vclock_join(s->v, host_clock);
    for (size_t i = 0; s->blocking && i < streams.count; i++) {
        const struct stream *t = streams.items[i];
        if (t != s && t->blocking && t->context == s->context && (t->legacy || s->legacy) &&
            (t->last > 0 || t->v != NULL))
            v = join_present(v, t);
    }
    s->v = v;
}

static void stream_remember(struct stream *s)
{
    struct history *h = &s->history;
    if (h->count > 0 && h->items[h->count - 1].v == s->v)
        return;
    vec_push(h, (struct past){s->last, vclock_ref(s->v)});
}

/* What is before the count that the host has seen: nobody asks for that any more. */
static void stream_forget(struct stream *s, uint64_t count)
{
    struct history *h = &s->history;
    size_t drop = 0;
    while (drop + 1 < h->count && h->items[drop + 1].count <= count)
        vclock_unref(h->items[drop++].v);
    memmove(h->items, h->items + drop, (h->count - drop) * sizeof *h->items);
    h->count -= drop;
}

/* ---- moments ---- */

static uint32_t warps_kept; /* of all moments */

bool moment_warps_fit(uint32_t count)
{
    enum { MOST = 1 << 18 };
    bool fits = warps_kept + count <= MOST;
    warps_kept += fits ? count : 0;
    return fits;
}

struct moment *moment_ref(struct moment *m)
{
    m->refs++;
    return m;
}

void moment_unref(struct moment *m)
{
    if (m == NULL || --m->refs > 0)
        return;
    vclock_unref(m->after);
    launch_unref(m->launch);
    free(m->sites);
    warps_kept -= m->warps != NULL ? m->warps->count : 0;
    free(m->warps);
    free(m->looks);
    free(m);
}

static struct moment *moment_new(enum moment_kind kind)
{
    struct moment *m = xcalloc(1, sizeof *m);
    m->refs = 1;
    m->kind = kind;
    m->tick = host_tick++;
    return m;
}

/* A stream has waited for a value that a command has written. */
struct met {
    uint64_t stream, position;
    struct moment *after;
};
static struct {
    struct met *items;
    size_t count, cap;
} met;

static bool before_by_values(const struct moment *a, const struct moment *b)
{
    for (size_t i = 0; i < met.count; i++) {
        const struct met *w = &met.items[i];
        if (w->after == b || b->kind == MOMENT_HOST)
            continue;
        bool follows = w->stream == b->id.stream ? w->position <= b->position
                                                 : vclock_get(b->after, w->stream) >= w->position;
        if (!follows)
            continue;
        if (a == w->after || (w->after->id.stream == a->id.stream
                                  ? a->position <= w->after->position
                                  : vclock_get(w->after->after, a->id.stream) >= a->position))
            return true;
    }
    return false;
}

bool moment_before(const struct moment *a, const struct moment *b)
{
    if (a->kind == MOMENT_HOST || (a->kind == MOMENT_FREE && a->id.stream == 0))
        return a->tick < b->tick || vclock_get(b->after, HOST_STREAM) > a->tick ||
               launch_host_before(a, b);
    if (b->kind != MOMENT_HOST && a->id.stream == b->id.stream && b->id.stream != 0) {
        if (a->launch != NULL && b->launch != NULL && a->id.count == b->id.count)
            return launch_orders(a, b);
        return a->position < b->position;
    }
    return vclock_get(b->after, a->id.stream) >= a->position ||
           (a->launch != b->launch && launch_before(a, b)) || before_by_values(a, b) ||
           handed_before(a, b);
}

bool moment_seen(const struct moment *a)
{
    if (a->kind == MOMENT_HOST || a->id.stream == 0)
        return true;
    return vclock_get(host_clock, a->id.stream) >= a->position;
}

/* ---- work ---- */

static struct {
    struct moment **items;
    size_t count, cap;
} pending;

static struct {
    struct child {
        uint64_t number;
        struct moment *root;
    } *items;
    size_t count, cap;
} children;

static bool same_id(const struct observe_id *a, const struct observe_id *b)
{
    return a->stream == b->stream && a->count == b->count && a->node == b->node;
}

static struct moment *pending_find(const struct observe_id *id)
{
    for (size_t i = pending.count; i > 0; i--)
        if (same_id(&pending.items[i - 1]->as, id))
            return pending.items[i - 1];
    return NULL;
}

static bool accesses_memory(enum observe_kind kind)
{
    return kind == OBSERVE_KERNEL || kind == OBSERVE_COPY || kind == OBSERVE_SET ||
           kind == OBSERVE_HOST || kind == OBSERVE_WRITE_VALUE || kind == OBSERVE_WAIT_VALUE ||
           kind == OBSERVE_GRAPH;
}

static struct moment *moment_of_work(const struct observe_work *w)
{
    struct moment *m = moment_new(MOMENT_WORK);
    m->work = w->kind;
    m->id = m->as = w->id;
    m->position = position_of(w->id.count);
    m->name = w->name;
    if (w->kind == OBSERVE_KERNEL)
        m->kernel = w->kernel.kernel;
    if (w->kind == OBSERVE_HOST)
        m->function = w->host.function;
    if (w->kind == OBSERVE_WRITE_VALUE || w->kind == OBSERVE_WAIT_VALUE) {
        m->value.address = w->value.address;
        m->value.value = w->value.value;
        m->value.bytes = w->value.bytes;
        m->value.test = w->value.test;
    }
    vec_push(&pending, m);
    return moment_ref(m);
}

/* Of graphs that kernels launch, and what belongs to them. */
static bool is_unlisted(uint64_t stream) { return stream >> 63 != 0; }

/* Work of a launch that the host has made, wherever it is told of. */
static struct moment *moment_of_launch(const struct observe_work *w, const struct moment *of)
{
    struct moment *m = moment_of_work(w);
    m->id.stream = of->id.stream;
    m->id.count = of->id.count;
    m->position = position_of(of->id.count);
    m->after = vclock_ref(of->after);
    m->site = of->site;
    m->tick = of->tick;
    return m;
}

/* A graph that a kernel launches. */
static struct moment *order_launched(const struct observe_work *w)
{
    struct observe_id whole = w->launcher;
    whole.node = 0;
    const struct moment *of = w->kind == OBSERVE_GRAPH ? pending_find(&whole) : NULL;
    if (of == NULL || of->launch == NULL)
        return NULL;
    struct moment *m = moment_of_launch(w, of);
    m->launch = launch_new(w->graph);
    launch_is_of(m->launch, of->launch, w->launcher.node, w->launched, w->launched_in);
    return m;
}

/* Records that other processes may wait for and tell this one of, by a pipe, say: what is seen of
 * them by the host here is not known, so it is when they are complete. */
static struct {
    struct observe_id *items;
    size_t count, cap;
} shared_records;

static void shared_record_ended(const struct observe_id *id)
{
    for (size_t i = 0; i < shared_records.count; i++)
        if (same_id(&shared_records.items[i], id)) {
            host_clock = join_position(host_clock, stream_of(id->stream), position_of(id->count));
            shared_records.items[i] = shared_records.items[--shared_records.count];
            return;
        }
}

/* The host has seen what another process's event comes after: maybe all that has ended here. */
static void host_saw_foreign(void)
{
    for (size_t i = 0; i < streams.count; i++) {
        const struct stream *s = streams.items[i];
        uint64_t ended = s->last;
        for (size_t k = 0; k < pending.count; k++)
            if (pending.items[k]->id.stream == s->id && pending.items[k]->id.count <= ended)
                ended = pending.items[k]->id.count - 1;
        if (ended > 0)
            host_clock =
                join_position(host_clock, s, ended == s->last ? present_of(s) : position_of(ended));
    }
}

void order_host_follows(const struct moment *m)
{
    host_clock = vclock_join(host_clock, m->after);
    host_clock = vclock_raise(host_clock, m->id.stream, order_end_of(m));
}

uint64_t order_tick(void) { return host_tick; }

bool order_host_did(const struct vclock *after, const struct moment *m)
{
    return vclock_get(after, HOST_STREAM) > m->tick;
}

uint64_t order_end_of(const struct moment *m) { return position_of(m->id.count); }

struct moment *order_enqueued(const struct observe_work *w)
{
    if (is_unlisted(w->id.stream))
        return order_launched(w);
    races_host_thread();
    struct stream *s = stream_of(w->id.stream);
    if (w->kind == OBSERVE_RECORD && w->event.shared)
        vec_push(&shared_records, w->id);
    stream_advance(s);
    for (uint32_t i = 0; i < w->after_count; i++)
        s->v = join_position(s->v, stream_of(w->after[i].stream), position_of(w->after[i].count));
    /* What another process's event comes after is not known: it may be anything of ours. */
    for (size_t i = 0; w->kind == OBSERVE_FOREIGN && i < streams.count; i++)
        if (streams.items[i] != s)
            s->v = join_present(s->v, streams.items[i]);
    if (w->kind == OBSERVE_HOST || w->kind == OBSERVE_GRAPH)
        sync_functions_come();
    if (w->kind == OBSERVE_GRAPH) { /* what was before may be over, and then it is not told */
        struct observe_id before = graph_launched(w->graph, &w->id);
        if (before.count != 0)
            s->v = join_position(s->v, stream_of(before.stream), position_of(before.count));
    }
    s->last = w->id.count;
    s->points = 0;
    stream_remember(s);
    if (!accesses_memory(w->kind))
        return NULL;
    struct moment *m = moment_of_work(w);
    m->after = vclock_ref(s->v);
    finding_site_here(&m->site);
    if (w->kind == OBSERVE_HOST)
        m->looks = looks_begin(w->host.function, w->host.argument);
    if (w->kind == OBSERVE_GRAPH) {
        m->launch = launch_new(w->graph);
        launch_looks(m->launch);
    }
    return m;
}

struct moment *order_node(const struct observe_work *w)
{
    struct observe_id whole = w->id;
    whole.node = 0;
    struct moment *of = pending_find(&whole);
    if (of == NULL || of->launch == NULL)
        return NULL;
    if (w->kind == OBSERVE_RECORD && w->event.as.count != 0) {
        struct stream *s = stream_of(w->event.as.stream);
        s->v = vclock_join(s->v, of->after);
        s->last = w->event.as.count;
        stream_remember(s);
        launch_records(of->launch, w->id.node, &w->event.as, 0);
    }
    if (w->kind == OBSERVE_WAIT && w->after_count > 0)
        launch_waits(
            of->launch, w->id.node,
            join_position(NULL, stream_of(w->after[0].stream), position_of(w->after[0].count)));
    if (!accesses_memory(w->kind))
        return NULL;
    struct moment *m = moment_of_launch(w, of);
    m->launch = launch_ref(of->launch);
    if (w->kind == OBSERVE_HOST)
        m->looks = launch_looks_of(of->launch, w->id.node);
    return m;
}

static struct moment *child_root(uint64_t number)
{
    for (size_t i = children.count; i > 0; i--)
        if (children.items[i - 1].number == number)
            return children.items[i - 1].root;
    return NULL;
}

struct moment *order_find(const struct observe_id *id)
{
    struct moment *m = id->stream == OBSERVE_CHILDREN ? child_root(id->count) : pending_find(id);
    return m != NULL ? moment_ref(m) : NULL;
}

void order_child(const struct observe_id *child, const struct observe_id *parent)
{
    struct moment *root = order_find(parent);
    if (root != NULL)
        vec_push(&children, (struct child){child->count, root});
}

bool order_ended(const struct observe_id *id)
{
    if (id->stream == OBSERVE_CHILDREN) {
        for (size_t i = children.count; i > 0; i--)
            if (children.items[i - 1].number == id->count) {
                moment_unref(children.items[i - 1].root);
                children.items[i - 1] = children.items[--children.count];
                return true;
            }
        return false;
    }
    shared_record_ended(id);
    for (size_t i = pending.count; i > 0; i--)
        if (same_id(&pending.items[i - 1]->as, id)) {
            struct moment *m = pending.items[i - 1];
            memmove(&pending.items[i - 1], &pending.items[i],
                    (pending.count - i) * sizeof *pending.items);
            pending.count--;
            moment_unref(m);
            return true;
        }
    return false;
}

static void reaches(const struct shadow_range *r, void *self)
{
    struct shadow_range *asked = self; /* high 0: it is found */
    if (r->low < asked->high && r->high > asked->low)
        asked->high = 0;
}

bool order_graph_reaches(uint64_t low, uint64_t high)
{
    struct shadow_range asked = {low, high};
    for (size_t i = 0; i < pending.count && asked.high != 0; i++)
        if (pending.items[i]->work == OBSERVE_GRAPH && pending.items[i]->launch != NULL)
            graph_copies(launch_graph(pending.items[i]->launch), reaches, &asked);
    return asked.high == 0;
}

uint32_t order_pending(void) { return (uint32_t)(pending.count + children.count); }

struct moment *order_point(enum moment_kind kind, uint64_t stream, bool ordered)
{
    races_host_thread();
    struct moment *m = moment_new(kind);
    finding_site_here(&m->site);
    if (!ordered) {
        m->after = vclock_ref(host_clock);
        return m;
    }
    struct stream *s = stream_of(stream);
    stream_advance(s);
    stream_remember(s);
    m->id = (struct observe_id){.stream = stream, .count = s->last};
    s->points += s->points < POSITION_POINTS ? 1 : 0;
    m->position = present_of(s);
    m->after = vclock_ref(s->v);
    return m;
}

struct moment *order_host(const void *pc)
{
    races_host_thread();
    struct moment *m = moment_new(MOMENT_HOST);
    m->pc = pc;
    m->after = vclock_ref(host_clock);
    return m;
}

/* All of a context, streams that were destroyed before included. */
static void saw_context(uint64_t context)
{
    for (size_t i = 0; i < streams.count; i++) {
        const struct stream *s = streams.items[i];
        if (s->context == context && (s->last > 0 || s->points > 0))
            host_clock = join_present(host_clock, s);
    }
}

void order_host_saw(const struct observe_seen *seen)
{
    if (seen->how == OBSERVE_FOREIGN_EVENT)
        host_saw_foreign();
    bool all = seen->how == OBSERVE_STREAM || seen->how == OBSERVE_CONTEXT ||
               seen->how == OBSERVE_STREAM_QUERY;
    for (uint32_t i = 0; i < seen->work_count; i++) {
        struct stream *s = stream_of(seen->work[i].stream);
        uint64_t count = seen->work[i].count;
        host_clock = join_position(host_clock, s,
                                   all && count == s->last ? present_of(s) : position_of(count));
        stream_forget(s, count);
        if (seen->how == OBSERVE_CONTEXT && i == 0)
            saw_context(s->context);
    }
}

/* ---- parts of host functions ---- */

/* In the numbers before the function's own, which its end has. */
static uint64_t first_part(const struct moment *m)
{
    return position_of(m->id.count) - POSITION_POINTS;
}

void order_part_begins(struct moment *m)
{
    if (m->launch == NULL)
        m->position = first_part(m);
}

/* A new reference. */
static struct moment *part_after(const struct moment *part)
{
    struct moment *next = xmalloc(sizeof *next);
    *next = *part;
    next->refs = 1;
    next->part++;
    if (next->launch != NULL)
        launch_ref(next->launch);
    else if (next->position + 1 < position_of(next->id.count))
        next->position++;
    vclock_ref(next->after);
    next->sites = NULL;
    next->warps = NULL;
    next->looks = NULL;
    return next;
}

struct moment *order_later_part(const struct moment *m, uint32_t part)
{
    struct moment *later = part_after(m);
    later->position = m->position;
    later->part = part;
    return later;
}

struct vclock *order_part_ends(struct moment **part)
{
    static uint64_t releases; /* of nodes: each is a record of an event that has no other name */
    struct moment *m = *part;
    struct vclock *v = vclock_ref(m->after);
    if (m->launch == NULL) {
        v = vclock_raise(v, m->id.stream, m->position);
    } else {
        struct observe_id as = {(uint64_t)1 << 62 | launch_graph(m->launch) << 24 | m->id.node,
                                ++releases, 0};
        launch_records(m->launch, m->id.node, &as, m->part);
        v = vclock_raise(v, m->id.stream, first_part(m));
        v = vclock_raise(v, as.stream, position_of(as.count));
    }
    *part = part_after(m);
    moment_unref(m);
    return v;
}

/* What comes after the position, of another stream, comes after this, too. */
static void others_follow(uint64_t stream, uint64_t position, const struct vclock *before)
{
    for (size_t i = 0; i < streams.count; i++) {
        struct stream *s = streams.items[i];
        if (vclock_get(s->v, stream) >= position)
            s->v = vclock_join(s->v, before);
        for (size_t k = 0; k < s->history.count; k++) {
            struct past *p = &s->history.items[k];
            if (vclock_get(p->v, stream) >= position)
                p->v = vclock_join(p->v, before);
        }
    }
}

/* What is in the stream from that count on comes after this, too. */
static void stream_follows(struct stream *s, uint64_t count, const struct vclock *before)
{
    struct history *h = &s->history;
    size_t at = h->count;
    others_follow(s->id, position_of(count), before);
    while (at > 0 && h->items[at - 1].count >= count)
        at--;
    if (at == h->count || h->items[at].count > count) {
        struct vclock *v = at > 0 ? vclock_ref(h->items[at - 1].v) : NULL;
        vec_push(h, (struct past){0});
        memmove(h->items + at + 1, h->items + at, (h->count - 1 - at) * sizeof *h->items);
        h->items[at] = (struct past){count, v};
    }
    for (; at < h->count; at++)
        h->items[at].v = vclock_join(h->items[at].v, before);
    s->v = vclock_join(s->v, before);
}

static void follows_work(struct moment *p, const struct moment *m, const struct vclock *before)
{
    uint64_t end = position_of(m->id.count);
    if (p->id.stream == m->id.stream ? p->position > end || p->id.count > m->id.count
                                     : vclock_get(p->after, m->id.stream) >= end)
        p->after = vclock_join(p->after, before);
}

void order_moment_follows(struct moment *p, const struct moment *m, const struct vclock *before)
{
    if (pending_find(&p->as) != p)
        follows_work(p, m, before);
}

static void others_follow_work(const struct moment *m, const struct vclock *before)
{

    if (m->launch != NULL)
        launch_waits(m->launch, m->id.node, vclock_join(NULL, before));
    stream_follows(stream_of(m->id.stream), m->id.count, before);
    for (size_t i = 0; i < pending.count; i++)
        follows_work(pending.items[i], m, before);
}

bool order_part_follows(struct moment **part, const struct vclock *before)
{
    struct vclock *had = (*part)->after, *after = vclock_join(vclock_ref(had), before);
    if (after == had) {
        vclock_unref(after);
        return false;
    }
    struct moment *m = *part;
    *part = part_after(m);
    vclock_unref((*part)->after);
    (*part)->after = after;
    others_follow_work(m, before);
    moment_unref(m);
    return true;
}

void order_work_follows(struct moment *m, const struct vclock *before)
{
    m->after = vclock_join(m->after, before);
    held_follow(m, before);
    others_follow_work(m, before);
}

bool order_may_come(const struct moment *a, const struct moment *b)
{
    for (size_t i = 0; i < pending.count; i++) {
        const struct moment *p = pending.items[i];
        bool may_wait = p->work == OBSERVE_HOST || p->work == OBSERVE_WAIT_VALUE ||
                        p->work == OBSERVE_KERNEL || /* for a flag of the host's */
                        p->work == OBSERVE_GRAPH;
        if (may_wait && p != a && p != b && (moment_before(p, a) || moment_before(p, b)))
            return true;
    }
    return handed_may_come(a, b);
}

bool order_host_joins(const struct vclock *before)
{
    const struct vclock *had = host_clock;
    host_clock = vclock_join(host_clock, before);
    return host_clock != had;
}

struct vclock *order_host_releases(void)
{
    return vclock_raise(vclock_ref(host_clock), HOST_STREAM, ++host_tick);
}

/* ---- values in memory ---- */

static struct {
    struct written {
        struct moment *by;
    } *items;
    size_t count, cap;
} written;

void order_value_written(struct moment *m) { vec_push(&written, (struct written){moment_ref(m)}); }

bool order_value_read(uint64_t address)
{
    bool follows = false;
    for (size_t i = 0; i < written.count; i++) {
        struct moment *m = written.items[i].by;
        uint64_t low = (uint64_t)(uintptr_t)m->value.address;
        if (address < low || address >= low + m->value.bytes || moment_seen(m) ||
            pending_find(&m->as) != NULL)
            continue;
        order_host_follows(m);
        follows = true;
    }
    return follows;
}

static bool satisfies(uint64_t now, const struct moment *wait)
{
    uint32_t unused = 64 - 8 * wait->value.bytes;
    uint64_t value = wait->value.value << unused;
    now <<= unused;
    switch (wait->value.test) { /* enum device_value_test */
    case 0: return (int64_t)(now - value) >= 0;
    case 1: return now == value;
    case 2: return (now & value) != 0;
    default: return ~(now | value) >> unused != 0;
    }
}

/* It comes after the first write with which the wait could have ended. */
void order_value_met(struct moment *m)
{
    struct moment *by = NULL;
    for (size_t i = 0; i < written.count; i++) {
        struct moment *w = written.items[i].by;
        if (w->value.address != m->value.address)
            continue;
        if (!satisfies(w->value.value, m))
            by = NULL;
        else if (by == NULL)
            by = w;
    }
    if (by == NULL)
        return;
    vec_push(&met, (struct met){m->id.stream, m->position, moment_ref(by)});
    struct stream *s = stream_of(m->id.stream);
    struct vclock *v = vclock_join(s->v, by->after);
    s->v = by->id.stream != s->id ? vclock_raise(v, by->id.stream, by->position) : v;
    stream_remember(s);
}
