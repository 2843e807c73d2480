/* threads: races within one grid, as the device tells of them: in words and as JSON, once for each
 * pair of places. */
#include <stdlib.h>
#include <string.h>

#include "races/internal.h"

struct thread_race {
    struct observe_race told;
    const char *kernels[2];           /* as people write them */
    struct finding_place places[2];   /* of the accesses, */
    struct finding_place launched[2]; /* and where kernels have launched the grids; file NULL: the
                                       * host has */
    bool grids;                       /* it is between two of them */
    struct finding_site site;         /* of the launch */
    struct observe_id id;             /* of the host's work that it is part of */
    struct allocation *memory;
};

static struct {
    struct thread_race *items;
    size_t count, cap;
} found;
static size_t written;

/* ---- finding ---- */

static bool same_place(const struct thread_race *a, int i, const struct thread_race *b, int k)
{
    const struct finding_place *x = &a->places[i], *y = &b->places[k];
    if (a->told.sides[i].how != b->told.sides[k].how || strcmp(a->kernels[i], b->kernels[k]) != 0)
        return false;
    if (x->file == NULL || y->file == NULL)
        return a->told.sides[i].pc == b->told.sides[k].pc;
    return x->line == y->line && strcmp(x->file, y->file) == 0;
}

static bool is_new(const struct thread_race *r)
{
    for (size_t i = 0; i < found.count; i++) {
        const struct thread_race *f = &found.items[i];
        if ((same_place(f, 0, r, 0) && same_place(f, 1, r, 1)) ||
            (same_place(f, 0, r, 1) && same_place(f, 1, r, 0)))
            return false;
    }
    return true;
}

void report_threads(const struct observe_race *r)
{
    struct thread_race f = {.told = *r};
    struct moment *m = order_find(&r->id);
    f.grids = r->missing == OBSERVE_PARENT_ORDER || r->missing == OBSERVE_CHILDREN_ORDER;
    for (int i = 0; i < 2; i++) {
        const struct observe_race_side *s = &r->sides[i];
        f.kernels[i] = races_names.demangle(s->name);
        races_names.kernel(s->kernel, s->pc, &f.places[i]);
        if (s->launcher != NULL)
            races_names.kernel(s->launcher, s->launched_at, &f.launched[i]);
        if (s->work != OBSERVE_KERNEL && s->launcher != NULL) { /* where it was asked for */
            f.kernels[i] = races_names.demangle(s->launcher_name);
            f.places[i] = f.launched[i];
            f.launched[i] = (struct finding_place){0};
        }
    }
    if (m != NULL) {
        f.site = m->site;
        f.id = m->id;
    }
    moment_unref(m);
    if (!is_new(&f))
        return;
    f.memory = r->shared ? NULL : report_allocation(r->low);
    vec_push(&found, f);
}

/* ---- words ---- */

static const char *how_word(enum observe_access how)
{
    return how == OBSERVE_READ ? "read" : how == OBSERVE_WRITE ? "write" : "atomic";
}

static const char *work_word(enum observe_kind work)
{
    return work == OBSERVE_COPY ? "copy" : work == OBSERVE_SET ? "set" : "kernel";
}

static void put_index(struct strbuf *sb, const char *what, const uint32_t at[3])
{
    sb_printf(sb, "%s (%u,%u,%u)", what, at[0], at[1], at[2]);
}

static void put_place(struct strbuf *sb, const struct thread_race *f, int i)
{
    if (f->places[i].file != NULL)
        finding_put_place(sb, &f->places[i]);
    else
        sb_printf(sb, i == 0 ? "the first" : "the second");
}

static void put_side(struct strbuf *sb, const struct thread_race *f, int i)
{
    const struct observe_race_side *s = &f->told.sides[i];
    if (s->work != OBSERVE_KERNEL) {
        sb_printf(sb, "%s by a %s of ", how_word(s->how), work_word(s->work));
        report_put_kernel(sb, f->kernels[i]);
        sb_printf(sb, " at ");
        finding_put_place(sb, &f->places[i]);
        return;
    }
    sb_printf(sb, "%s%s by ", s->how == OBSERVE_ATOMIC ? "atomic access" : how_word(s->how),
              s->copies ? " of an asynchronous copy" : "");
    if (f->grids) {
        report_put_kernel(sb, f->kernels[i]);
        sb_printf(sb, ", ");
    }
    put_index(sb, "block", s->block);
    put_index(sb, ", thread", s->thread);
    if (f->places[i].file != NULL) {
        sb_printf(sb, " at ");
        finding_put_place(sb, &f->places[i]);
    }
    if (f->grids && f->launched[i].file != NULL) {
        sb_printf(sb, ", launched at ");
        finding_put_place(sb, &f->launched[i]);
    }
}

/* Both sides stand in one line, as of a loop, or where each thread changes a value. */
static bool one_line(const struct thread_race *f)
{
    const struct finding_place *a = &f->places[0], *b = &f->places[1];
    return a->file != NULL && b->file != NULL && a->line == b->line &&
           strcmp(a->file, b->file) == 0;
}

static void put_between(struct strbuf *sb, const struct thread_race *f)
{
    if (one_line(f)) {
        sb_printf(sb, " between one time and the next that they come to ");
        put_place(sb, f, 0);
        return;
    }
    sb_printf(sb, " between ");
    put_place(sb, f, 0);
    sb_printf(sb, " and ");
    put_place(sb, f, 1);
}

static void put_atomic(struct strbuf *sb, const struct thread_race *f)
{
    if (one_line(f))
        sb_printf(sb, "; or make it an atomic function, where each changes the same value");
}

static void put_advice(struct strbuf *sb, const struct thread_race *f)
{
    switch (f->told.missing) {
    case OBSERVE_SAME_INSTRUCTION:
        sb_printf(sb, "lanes of one warp write different values there in one instruction: let one "
                      "of them write, or make it an atomic function");
        return;
    case OBSERVE_WARP_BARRIER:
        sb_printf(sb, "let the lanes of the warp meet (__syncwarp)");
        put_between(sb, f);
        sb_printf(sb,
                  ", or all threads of the block (__syncthreads) where other warps use it, too");
        put_atomic(sb, f);
        return;
    case OBSERVE_BLOCK_BARRIER:
        sb_printf(sb, "let all threads of the block pass a barrier (__syncthreads)");
        put_between(sb, f);
        put_atomic(sb, f);
        return;
    case OBSERVE_CLUSTER_BARRIER:
        sb_printf(sb, "let all threads of the cluster pass its barrier (cluster.sync())");
        put_between(sb, f);
        put_atomic(sb, f);
        return;
    case OBSERVE_GRID_ORDER:
        sb_printf(sb, "blocks of a grid run in any order: make both sides atomic, hand over by an "
                      "atomic with __threadfence() on both sides, let a cooperative grid meet "
                      "(grid.sync()), or make it two kernels");
        return;
    case OBSERVE_PARENT_ORDER:
        sb_printf(sb,
                  "what a kernel launches runs beside it from the launch on: let it do what the "
                  "other reads before the launch, in the thread that launches or ordered before "
                  "it, and what uses the results of the other be a tail launch "
                  "(cudaStreamTailLaunch)");
        return;
    case OBSERVE_CHILDREN_ORDER:
        sb_printf(sb, "launch both into one stream of the device, let one stream wait for an event "
                      "recorded in the other (cudaStreamWaitEvent), or make the later one a tail "
                      "launch (cudaStreamTailLaunch)");
        return;
    case OBSERVE_WIDER_SCOPE:
        sb_printf(sb, "both are atomic, but for threads of their own block only: use the scope of "
                      "the device (atomicAdd, not atomicAdd_block; cuda::thread_scope_device)");
        return;
    case OBSERVE_COPY_WAIT:
        sb_printf(sb, "let the thread that copies wait for its copy "
                      "(__pipeline_wait_prior, cp.async.wait_group), and others meet it at a "
                      "barrier after that,");
        put_between(sb, f);
        return;
    }
}

static void put_memory(struct strbuf *sb, const struct thread_race *f)
{
    const struct observe_race *r = &f->told;
    if (!r->shared) {
        report_put_memory(sb, f->memory, r->low, r->high);
        return;
    }
    report_put_range(sb, r->low, r->high);
    sb_printf(sb, " of the shared memory of ");
    put_index(sb, "block", r->shared_block);
}

static void put_text(struct strbuf *sb, const struct thread_race *f,
                     const struct finding_place *call, const char *name)
{
    sb_printf(sb, "weir: race: ");
    put_memory(sb, f);
    sb_printf(sb, f->grids ? ", between grids that kernels launch" : ", within ");
    if (!f->grids)
        report_put_kernel(sb, f->kernels[0]);
    sb_printf(sb, "\n  first:  ");
    put_side(sb, f, 0);
    sb_printf(sb, "\n  second: ");
    put_side(sb, f, 1);
    sb_printf(sb, "\n  launch: enqueued at ");
    finding_put_place(sb, call);
    finding_put_call(sb, name);
    if (f->id.stream != 0) {
        sb_printf(sb, " in ");
        report_put_stream(sb, f->id.stream);
    }
    sb_printf(sb, "\n  nothing orders the two; to order them: ");
    put_advice(sb, f);
    sb_printf(sb, "\n");
}

/* ---- JSON ---- */

static void put_json_index(struct strbuf *sb, const char *name, const uint32_t at[3])
{
    sb_printf(sb, ", \"%s\": [%u, %u, %u]", name, at[0], at[1], at[2]);
}

static void put_json_side(struct strbuf *sb, const struct thread_race *f, int i,
                          const struct finding_place *call, const char *name)
{
    const struct observe_race_side *s = &f->told.sides[i];
    sb_printf(sb, "{\"kind\": \"%s\", \"access\": \"%s\"", work_word(s->work), how_word(s->how));
    if (s->copies)
        sb_printf(sb, ", \"asynchronous\": true");
    if (f->id.stream != 0)
        sb_printf(sb, ", \"stream\": %llu", (unsigned long long)f->id.stream);
    sb_printf(sb, ", \"kernel\": ");
    finding_put_string(sb, f->kernels[i]);
    if (s->work == OBSERVE_KERNEL) {
        put_json_index(sb, "block", s->block);
        put_json_index(sb, "thread", s->thread);
    }
    finding_put_json_place(sb, "source", &f->places[i]);
    if (f->launched[i].file != NULL)
        finding_put_json_place(sb, "launched", &f->launched[i]);
    finding_put_json_place(sb, "enqueued", call);
    finding_put_json_call(sb, name);
    sb_printf(sb, "}");
}

static void put_json(struct strbuf *sb, const struct thread_race *f,
                     const struct finding_place *call, const char *name)
{
    const struct observe_race *r = &f->told;
    sb_printf(sb,
              "\"what\": \"race\", \"within\": \"%s\", \"%s\": ", f->grids ? "launches" : "grid",
              r->shared ? "offset" : "address");
    if (r->shared)
        sb_printf(sb, "%llu", (unsigned long long)r->low);
    else
        sb_printf(sb, "\"0x%llx\"", (unsigned long long)r->low);
    sb_printf(sb, ", \"bytes\": %llu, \"memory\": \"%s\", \"sides\": [",
              (unsigned long long)(r->high - r->low), r->shared ? "shared" : "global");
    put_json_side(sb, f, 0, call, name);
    sb_printf(sb, ", ");
    put_json_side(sb, f, 1, call, name);
    sb_printf(sb, "]");
    if (f->memory != NULL)
        report_put_json_memory(sb, f->memory, r->low);
}

/* ---- writing ---- */

static bool next(struct thread_race *f)
{
    races_enter();
    bool more = written < found.count;
    if (more)
        *f = found.items[written++];
    races_leave();
    return more;
}

void report_threads_flush(void)
{
    static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
    struct thread_race f;
    if (written == found.count)
        return;
    pthread_mutex_lock(&writing);
    while (next(&f)) {
        struct strbuf text = {0}, members = {0};
        struct finding_place call;
        const char *name;
        finding_resolve(&f.site, &call, &name, NULL);
        put_text(&text, &f, &call, name);
        put_json(&members, &f, &call, name);
        findings_tell("races", text.items, members.items);
        sb_free(&text);
        sb_free(&members);
        free(f.memory);
    }
    pthread_mutex_unlock(&writing);
}
