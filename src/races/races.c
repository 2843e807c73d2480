/* races: the observer: what work, memory and the host do becomes moments and accesses. */
#include <stdlib.h>
#include <string.h>

#include "races/internal.h"

pthread_mutex_t races_lock = PTHREAD_MUTEX_INITIALIZER;
volatile WEIR_THREAD_FAST bool races_inside;
struct races_names races_names;

static void accessed(struct moment *m, enum access how, uint64_t low, uint64_t high)
{
    shadow_access(m, how, low, high, held_race);
    races_host_pending(m, how, low, high);
}

static void looked(struct moment *m, enum access how, uint64_t low, uint64_t high)
{
    shadow_look(m, how, low, high, held_race);
}

/* ---- copies and sets ---- */

static void box(void (*each)(struct moment *, enum access, uint64_t, uint64_t), struct moment *m,
                enum access how, const void *start, uint64_t width, uint64_t height, uint64_t depth,
                uint64_t pitch, uint64_t slice)
{
    uint64_t at = (uint64_t)(uintptr_t)start;
    height = height > 0 ? height : 1;
    depth = depth > 0 ? depth : 1;
    if (pitch == width && height > 1) { /* rows without gaps are one */
        width *= height;
        height = 1;
    }
    if (height == 1 && depth > 1 && slice == width) {
        width *= depth;
        depth = 1;
    }
    for (uint64_t z = 0; z < depth; z++)
        for (uint64_t y = 0; y < height; y++)
            each(m, how, at + z * slice + y * pitch, at + z * slice + y * pitch + width);
}

static struct shadow_range copy_range(const struct observe_work *w, const void *at, uint64_t pitch,
                                      uint64_t slice)
{
    uint64_t height = w->copy.height > 0 ? w->copy.height - 1 : 0;
    uint64_t depth = w->copy.depth > 0 ? w->copy.depth - 1 : 0;
    uint64_t low = (uint64_t)(uintptr_t)at;
    return (struct shadow_range){low, low + depth * slice + height * pitch + w->copy.width};
}

struct shadow_range copy_source(const struct observe_work *w)
{
    return copy_range(w, w->copy.src, w->copy.src_pitch, w->copy.src_slice);
}

struct shadow_range copy_target(const struct observe_work *w)
{
    return copy_range(w, w->copy.dst, w->copy.dst_pitch, w->copy.dst_slice);
}

/* The call that enqueues such a copy reads its source, and is done with it when it returns. */
static void call_reads(const struct observe_work *w)
{
    struct moment *m = order_host((const char *)w->call.site - 1);
    box(looked, m, ACCESS_READ, w->copy.src, w->copy.width, w->copy.height, w->copy.depth,
        w->copy.src_pitch, w->copy.src_slice);
    moment_unref(m);
}

/* Nodes of graphs copy from and to pageable memory when they run; other copies, before the call
 * returns. */
static void watch_pageable(const struct observe_work *w)
{
    struct shadow_range from = copy_source(w), to = copy_target(w);
    if (w->copy.from == OBSERVE_PAGEABLE)
        races_host_watch(from.low, from.high);
    if (w->copy.to == OBSERVE_PAGEABLE)
        races_host_watch(to.low, to.high);
}

static void work_accesses(struct moment *m, const struct observe_work *w)
{
    switch (w->kind) {
    case OBSERVE_COPY:
        if (w->id.node != 0 && !w->copy.staged)
            watch_pageable(w);
        if (w->copy.staged)
            call_reads(w);
        else
            box(accessed, m, ACCESS_READ, w->copy.src, w->copy.width, w->copy.height, w->copy.depth,
                w->copy.src_pitch, w->copy.src_slice);
        box(accessed, m, ACCESS_WRITE, w->copy.dst, w->copy.width, w->copy.height, w->copy.depth,
            w->copy.dst_pitch, w->copy.dst_slice);
        break;
    case OBSERVE_SET:
        box(accessed, m, ACCESS_WRITE, w->set.dst, w->set.width, w->set.height, w->set.depth,
            w->set.pitch, w->set.slice);
        break;
    case OBSERVE_WRITE_VALUE:
        order_value_written(m);
        accessed(m, ACCESS_ATOMIC, (uint64_t)(uintptr_t)w->value.address,
                 (uint64_t)(uintptr_t)w->value.address + w->value.bytes);
        break;
    default: break;
    }
}

/* ---- hooks ---- */

static void on_stream_made(const struct observe_stream *s)
{
    races_enter();
    order_stream_made(s);
    races_leave();
}

/* Copies that may yet touch variables of functions of the calling thread. */
static void note_scopes(const struct observe_work *w)
{
    if (w->kind == OBSERVE_GRAPH && w->launcher.count == 0) {
        released_matters();
        scopes_launched(w->graph);
    }
    if (w->kind != OBSERVE_COPY || w->id.node != 0)
        return;
    struct shadow_range from = copy_source(w), to = copy_target(w);
    if (!w->copy.staged)
        scopes_note(&from, 0);
    scopes_note(&to, 0);
}

static void on_enqueued(const struct observe_work *w)
{
    races_enter();
    scopes_look();
    note_scopes(w);
    struct moment *m = order_enqueued(w);
    if (m != NULL)
        work_accesses(m, w);
    moment_unref(m);
    races_leave();
}

/* Kinds that touch the program's memory while they are under way. Functions of the driver do not;
 * one may end what the host waits for before it is over itself. */
static bool runs_on_device(enum observe_kind kind)
{
    return kind == OBSERVE_KERNEL || kind == OBSERVE_COPY || kind == OBSERVE_SET ||
           kind == OBSERVE_WRITE_VALUE;
}

static void on_begun(const struct observe_work *w)
{
    races_enter();
    if (w->parent.count != 0)
        order_child(&w->id, &w->parent);
    if (w->id.node != 0) {
        struct moment *m = order_node(w);
        if (m != NULL)
            work_accesses(m, w);
        moment_unref(m);
    }
    if (runs_on_device(w->kind))
        races_host_work_begins();
    bool crashes = w->kind == OBSERVE_COPY && scopes_are_stale();
    races_leave();
    if (crashes)
        report_flush();
}

static void on_ended(const struct observe_id *id, enum observe_kind kind)
{
    races_enter();
    if (kind == OBSERVE_WAIT_VALUE) {
        struct moment *m = order_find(id);
        if (m != NULL)
            order_value_met(m);
        moment_unref(m);
    }
    order_ended(id);
    if (kind == OBSERVE_WAIT_VALUE || kind == OBSERVE_HOST || kind == OBSERVE_KERNEL ||
        kind == OBSERVE_GRAPH)
        held_look(false);
    if (runs_on_device(kind))
        races_host_work_ended();
    races_leave();
}

/* A host function runs in one part, on the thread that tells of it. */
static void on_part_begun(const struct observe_id *id, enum observe_kind kind, const char *name)
{
    (void)name;
    if (kind != OBSERVE_HOST)
        return;
    races_enter();
    struct moment *m = order_find(id);
    sync_function_begins(id, m);
    races_host_function_begins(m);
    const struct handover *code = m != NULL ? handover_of(m->function) : NULL;
    if (code != NULL && code->atomic) {
        order_host_follows(m); /* from when it is told, which is some time from now on */
        races_host_saw();
    }
    sync_function_runs();
    races_leave();
}

static void on_part_ended(const struct observe_id *id)
{
    races_enter();
    sync_function_ends(id);
    races_host_function_ends();
    races_leave();
}

static enum access access_of(enum observe_access how)
{
    return how == OBSERVE_READ ? ACCESS_READ : how == OBSERVE_WRITE ? ACCESS_WRITE : ACCESS_ATOMIC;
}

/* Keeps the instructions, so that lines can be told. */
static void keep_sites(struct moment *m, const struct observe_accesses *a)
{
    uint32_t had = m->sites != NULL ? m->sites->count : 0;
    m->sites =
        xrealloc(m->sites, sizeof *m->sites + (had + a->site_count) * sizeof *m->sites->items);
    memcpy(m->sites->items + had, a->sites, a->site_count * sizeof *a->sites);
    m->sites->count = had + a->site_count;
}

static void keep_warps(struct moment *m, const struct observe_accesses *a)
{
    uint32_t had = m->warps != NULL ? m->warps->count : 0;
    if (a->warp_count == 0 || !moment_warps_fit(a->warp_count))
        return;
    m->warps =
        xrealloc(m->warps, sizeof *m->warps + (had + a->warp_count) * sizeof *m->warps->items);
    memcpy(m->warps->items + had, a->warps, a->warp_count * sizeof *a->warps);
    m->warps->count = had + a->warp_count;
}

/* Whether a kernel has written memory that the host reaches so that the host may know by it what
 * the kernel has done; or read it so that it may know what the host has. When the one looked at
 * what the other had written is not seen: it counts as if that was when the kernel ended. */
static bool uses_flag(const struct observe_accesses *a, bool writes)
{
    for (uint32_t i = 0; i < a->site_count; i++) {
        const struct observe_access_site *s = &a->sites[i];
        if (s->system && s->writes == writes && races_host_shares(s->low, s->high))
            return true;
    }
    return false;
}

static int by_low(const void *a, const void *b)
{
    uint64_t x = ((const struct shadow_range *)a)->low, y = ((const struct shadow_range *)b)->low;
    return (x > y) - (x < y);
}

/* All accesses of a kind, in order. */
static void accessed_all(struct moment *m, const struct observe_accesses *a,
                         enum observe_access how)
{
    struct shadow_range *all = xmalloc((a->range_count + 1) * sizeof *all);
    size_t count = 0, kept = 0;
    bool sorted = true;
    for (uint32_t i = 0; i < a->range_count; i++) {
        if (a->ranges[i].how != how)
            continue;
        all[count] = (struct shadow_range){a->ranges[i].low, a->ranges[i].high};
        sorted = sorted && (count == 0 || all[count - 1].low <= all[count].low);
        count++;
    }
    if (!sorted)
        qsort(all, count, sizeof *all, by_low);
    for (size_t i = 0; i < count; i++) { /* several threads may have run blocks that meet */
        if (kept > 0 && all[kept - 1].high >= all[i].low)
            all[kept - 1].high =
                all[kept - 1].high > all[i].high ? all[kept - 1].high : all[i].high;
        else
            all[kept++] = all[i];
    }
    shadow_access_all(m, access_of(how), all, kept, held_race);
    for (size_t i = 0; i < kept; i++)
        races_host_pending(m, access_of(how), all[i].low, all[i].high);
    free(all);
}

/* Whether one may have seen by an atomic access that what the grid has launched is over. */
static bool may_have_waited(const struct observe_accesses *a)
{
    for (uint32_t i = 0; i < a->site_count; i++)
        if (a->sites[i].how == OBSERVE_ATOMIC)
            return true;
    return false;
}

/* What is told of: the work, or a part of it that is later than a launch. A new reference. */
static struct moment *part_of(const struct observe_accesses *a)
{
    struct moment *m = order_find(&a->id);
    if (m == NULL || a->part == 0 || m->waited)
        return m;
    m->waited = may_have_waited(a);
    if (m->waited)
        return m;
    struct moment *part = order_later_part(m, a->part);
    if (m->warps != NULL) { /* they are of the whole, and told first */
        struct observe_accesses whole = {.warps = m->warps->items, .warp_count = m->warps->count};
        keep_warps(part, &whole);
    }
    moment_unref(m);
    return part;
}

static void on_accessed(const struct observe_accesses *a)
{
    races_enter();
    struct moment *m = part_of(a);
    if (m != NULL) {
        keep_sites(m, a);
        keep_warps(m, a);
        if (uses_flag(a, false)) {
            struct vclock *before = order_host_releases();
            order_work_follows(m, before);
            vclock_unref(before);
        }
    }
    for (int how = OBSERVE_READ; m != NULL && how <= OBSERVE_ATOMIC; how++)
        accessed_all(m, a, (enum observe_access)how);
    if (m != NULL && uses_flag(a, true)) {
        order_host_follows(m);
        races_host_saw();
    }
    moment_unref(m);
    races_leave();
}

static void on_raced(const struct observe_race *r)
{
    races_enter();
    report_threads(r);
    races_leave();
}

static void on_memory(const struct observe_memory *told, bool made)
{
    uint64_t low = told->address, high = low + told->bytes;
    races_enter();
    scopes_look();
    races_host_memory(told, made);
    report_memory(told, made);
    if (told->kind == OBSERVE_POOL && told->pool != 0) { /* 0: addresses of a graph's memory */
        enum moment_kind kind = made ? MOMENT_ALLOCATION : MOMENT_FREE;
        struct moment *m = order_point(kind, told->stream, told->ordered);
        shadow_access(m, made ? ACCESS_ALLOCATION : ACCESS_FREE, low, high, held_race);
        moment_unref(m);
    } else if (told->kind != OBSERVE_REGISTERED) {
        shadow_forget(low, high);
    }
    races_leave();
}

static void on_memory_made(const struct observe_memory *m) { on_memory(m, true); }
static void on_memory_freed(const struct observe_memory *m) { on_memory(m, false); }

static void on_memory_named(uint64_t address, const char *name)
{
    races_enter();
    report_named(address, name);
    races_leave();
}

static void on_context_cleared(uint64_t context)
{
    (void)context;
    races_enter();
    shadow_forget(0, UINT64_MAX);
    races_leave();
}

static void on_graph_node(const struct observe_node *n)
{
    races_enter();
    order_graph_node(n);
    races_leave();
}

static void on_graph_ended(uint64_t graph)
{
    races_enter();
    order_graph_ended(graph);
    races_leave();
}

static void on_host_saw(const struct observe_seen *s)
{
    races_enter();
    scopes_look();
    order_host_saw(s);
    races_host_saw();
    if (order_pending() == 0)
        shadow_trim();
    races_leave();
    report_flush();
}

/* Its own instructions need not raise signals: pages are open until the next work ends. */
static void on_host_accesses(const struct observe_host_access *a)
{
    races_enter();
    struct moment *m = order_host((const char *)a->site - 1);
    looked(m, a->write ? ACCESS_WRITE : ACCESS_READ, a->address, a->address + a->bytes);
    moment_unref(m);
    races_host_opens();
    races_leave();
}

static const struct observe_hooks hooks = {
    .stream_made = on_stream_made,
    .enqueued = on_enqueued,
    .begun = on_begun,
    .ended = on_ended,
    .part_begun = on_part_begun,
    .part_ended = on_part_ended,
    .accessed = on_accessed,
    .raced = on_raced,
    .graph_node = on_graph_node,
    .graph_ended = on_graph_ended,
    .memory_made = on_memory_made,
    .memory_freed = on_memory_freed,
    .memory_named = on_memory_named,
    .context_cleared = on_context_cleared,
    .host_saw = on_host_saw,
    .host_accesses = on_host_accesses,
};

static void at_end(void)
{
    races_enter();
    held_look(true);
    races_leave();
    report_flush();
}

bool races_open(const struct races_names *names, struct diag *d)
{
    races_names = *names;
    findings_at_end(at_end);
    if (!races_host_open() || !observe_add(&hooks))
        return diag_set(d, 0, 0, "the check for races cannot begin");
    return true;
}
