/* Module observe: what observers are told: work with its order, once and in order; memory; what the
 * host comes after; nodes of graphs; calls. Kernels are plain C functions. */
#include "../device/common.h"

#include "observe/observe.h"

enum { MOST = 512 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct told {
    struct observe_work work;
    struct observe_id after[8];
    bool enqueued, begun, ended;
    uint32_t parts;
} told[MOST];
static uint32_t told_count;
static struct observe_stream streams[16];
static uint32_t stream_count;
static struct observe_node nodes[8];
static uint32_t node_count, wrong;
static struct observe_seen seen;
static struct observe_id seen_work[16];
static struct observe_memory made, freed;
static struct observe_call call_told;

static struct told *find(const struct observe_id *id)
{
    for (uint32_t i = 0; i < told_count; i++)
        if (told[i].work.id.stream == id->stream && told[i].work.id.count == id->count &&
            told[i].work.id.node == id->node)
            return &told[i];
    return NULL;
}

static struct told *add(const struct observe_work *w)
{
    struct told *t = &told[told_count < MOST - 1 ? told_count++ : MOST - 1];
    *t = (struct told){.work = *w};
    for (uint32_t i = 0; i < w->after_count && i < 8; i++)
        t->after[i] = w->after[i];
    return t;
}

static void stream_made(const struct observe_stream *s)
{
    pthread_mutex_lock(&lock);
    streams[stream_count++ % 16] = *s;
    pthread_mutex_unlock(&lock);
}

static void enqueued(const struct observe_work *w)
{
    pthread_mutex_lock(&lock);
    struct observe_id before = w->id;
    before.count--;
    wrong += before.count > 0 && find(&before) == NULL; /* in the order of counts */
    wrong += find(&w->id) != NULL;
    add(w)->enqueued = true;
    pthread_mutex_unlock(&lock);
}

static void begun(const struct observe_work *w)
{
    pthread_mutex_lock(&lock);
    struct told *t = find(&w->id);
    if (t == NULL && w->id.node != 0)
        t = add(w);
    wrong += t == NULL || t->begun;
    if (t != NULL)
        t->begun = true;
    pthread_mutex_unlock(&lock);
}

static void ended(const struct observe_id *id, enum observe_kind kind)
{
    pthread_mutex_lock(&lock);
    struct told *t = find(id);
    wrong += t == NULL || !t->begun || t->ended || t->work.kind != kind;
    if (t != NULL)
        t->ended = true;
    pthread_mutex_unlock(&lock);
}

static void part_begun(const struct observe_id *id, enum observe_kind kind, const char *name)
{
    pthread_mutex_lock(&lock);
    struct told *t = find(id);
    wrong += t == NULL || !t->begun || t->work.kind != kind || name == NULL;
    if (t != NULL)
        t->parts++;
    pthread_mutex_unlock(&lock);
}

static void graph_node(const struct observe_node *n)
{
    pthread_mutex_lock(&lock);
    nodes[node_count++ % 8] = *n;
    pthread_mutex_unlock(&lock);
}

static void memory_made(const struct observe_memory *m) { made = *m; }
static void memory_freed(const struct observe_memory *m) { freed = *m; }

static void host_saw(const struct observe_seen *s)
{
    pthread_mutex_lock(&lock);
    seen = *s;
    for (uint32_t i = 0; i < s->work_count && i < 16; i++)
        seen_work[i] = s->work[i];
    pthread_mutex_unlock(&lock);
}

static void call_ended(const struct observe_call *c) { call_told = *c; }

static const struct observe_hooks hooks = {.stream_made = stream_made,
                                           .enqueued = enqueued,
                                           .begun = begun,
                                           .ended = ended,
                                           .part_begun = part_begun,
                                           .graph_node = graph_node,
                                           .memory_made = memory_made,
                                           .memory_freed = memory_freed,
                                           .host_saw = host_saw,
                                           .call_ended = call_ended};

static struct grid_kernel count = KERNEL(count_block);
static struct grid_kernel spin = {.run = spin_block, .name = "spin", .can_suspend = true};

static struct told *last_of(const struct device_stream *s)
{
    struct told *last = NULL;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < told_count; i++)
        if (told[i].work.id.stream == device_stream_observed_id(s) && told[i].work.id.node == 0)
            last = &told[i];
    pthread_mutex_unlock(&lock);
    return last;
}

/* Whether the work lists that it comes after the other. */
static bool after(const struct told *t, const struct told *other)
{
    for (uint32_t i = 0; i < t->work.after_count && i < 8; i++)
        if (t->after[i].stream == other->work.id.stream &&
            t->after[i].count >= other->work.id.count)
            return true;
    return false;
}

static void test_kernels(struct device_stream *s)
{
    _Atomic int n = 0;
    observe_call_begins("cudaLaunchKernel", &n);
    observe_call_begins("cuLaunchKernel", NULL); /* inside the other */
    launch(s, &count, 1000, &n);
    observe_call_ends(1);
    observe_call_ends(7);
    CHECK(call_told.error == 7 && strcmp(call_told.name, "cudaLaunchKernel") == 0);
    struct told *t = last_of(s);
    CHECK(t->enqueued && t->work.kind == OBSERVE_KERNEL && t->work.kernel.grid[0] == 1000 &&
          t->work.kernel.block[0] == 32 && t->work.kernel.kernel == &count &&
          strcmp(t->work.name, "count_block") == 0);
    CHECK(t->work.call.site == &n && strcmp(t->work.call.name, "cudaLaunchKernel") == 0);
    device_stream_sync(s);
    CHECK(t->begun && t->ended && t->parts >= 1 && atomic_load(&n) == 1000);
    CHECK(seen.how == OBSERVE_STREAM && seen.work_count == 1 && seen.begun > 0 &&
          seen_work[0].count == t->work.id.count && seen_work[0].stream == t->work.id.stream);
    CHECK(seen.call.name == NULL);
}

/* A wait is told whether it was necessary or not, and which recording it was for. */
static void test_events(struct device_stream *a, struct device_stream *b, bool pending)
{
    _Atomic int go = !pending, n = 0;
    struct device_event *e = device_event_new(ctx, DEVICE_EVENT_NO_TIMING);
    launch(a, &spin, 1, &go);
    if (!pending)
        device_stream_sync(a);
    device_event_record(e, a);
    struct told *record = last_of(a);
    CHECK(record->work.kind == OBSERVE_RECORD && record->work.event.number > 0);
    device_stream_wait_event(b, e);
    struct told *wait = last_of(b);
    CHECK(wait->work.kind == OBSERVE_WAIT && after(wait, record) &&
          wait->work.event.number == record->work.event.number);
    launch(b, &count, 1, &n);
    atomic_store(&go, 1);
    device_event_sync(e);
    CHECK(seen.how == OBSERVE_EVENT && seen_work[0].count == record->work.id.count);
    CHECK(device_event_query(e) == DEVICE_OK && seen.how == OBSERVE_EVENT_QUERY && seen.begun == 0);
    device_stream_sync(b);
    device_event_free(e);
}

/* The default stream's rule, also where all is complete. */
static void test_default_stream(struct device_stream *blocking)
{
    struct device_stream *legacy = device_stream_legacy(ctx);
    _Atomic int n = 0;
    launch(blocking, &count, 1, &n);
    struct told *first = last_of(blocking);
    device_stream_sync(blocking);
    launch(legacy, &count, 1, &n);
    struct told *second = last_of(legacy);
    CHECK(after(second, first));
    device_stream_sync(legacy);
    CHECK(seen.work_count >= 2); /* the blocking stream, too */
    launch(blocking, &count, 1, &n);
    CHECK(after(last_of(blocking), second));
    CHECK(device_context_sync(ctx) == DEVICE_OK && seen.how == OBSERVE_CONTEXT);
    CHECK(device_stream_query(blocking) == DEVICE_OK && seen.how == OBSERVE_STREAM_QUERY);
}

static void test_copies(struct device_stream *s)
{
    void *d;
    char from[4096] = {1};
    struct mem_request q = {.device = 0, .kind = MEM_DEVICE, .bytes = 4096, .owner = ctx};
    CHECK(mem_alloc(&q, &d) == MEM_OK);
    CHECK(made.kind == OBSERVE_DEVICE_MEMORY && made.address == (uint64_t)d && made.bytes == 4096);
    struct device_copy c = {.dst = d, .src = from, .width = 4096};
    device_copy(s, &c, DEVICE_COPY_SYNC);
    struct told *t = last_of(s);
    CHECK(t->work.kind == OBSERVE_COPY && t->work.copy.dst == d && t->work.copy.width == 4096 &&
          t->ended);
    CHECK(seen.how == OBSERVE_TRANSFER && seen_work[0].count == t->work.id.count);
    device_set(s, &(struct device_set){.dst = d, .width = 1024, .element = 4, .value = 3}, false);
    CHECK(last_of(s)->work.kind == OBSERVE_SET && last_of(s)->work.set.width == 4096);
    device_stream_sync(s);
    CHECK(mem_free(d, MEM_DEVICE) == MEM_OK && freed.address == (uint64_t)d);
}

static _Atomic int called;
static void host_fn(void *user, enum device_error status)
{
    (void)user;
    (void)status;
    atomic_fetch_add(&called, 1);
}
static void host_node(void *user)
{
    (void)user;
    atomic_fetch_add(&called, 1);
}

static void test_host(struct device_stream *s)
{
    device_host_function(s, host_fn, NULL, (void *)host_fn, false);
    struct told *t = last_of(s);
    CHECK(t->work.kind == OBSERVE_HOST && t->work.host.function == (void *)host_fn);
    device_stream_sync(s);
    CHECK(t->begun && t->ended && t->parts == 1);
}

static void test_graph(struct device_stream *s)
{
    _Atomic int n = 0;
    void *param_of = (void *)&n;
    uint32_t deps[] = {0, 1};
    struct grid_launch l = {.kernel = &count,
                            .grid = {4, 1, 1},
                            .block = {32, 1, 1},
                            .params = &param_of,
                            .param_bytes = sizeof param_of};
    struct device_node n3[] = {
        {.kind = DEVICE_NODE_GRID, .id = 0, .launch = l},
        {.kind = DEVICE_NODE_GRID, .id = 1, .launch = l},
        {.kind = DEVICE_NODE_HOST, .id = 2, .deps = deps, .dep_count = 2, .host.fn = host_node}};
    struct device_graph_spec spec = {n3, 3};
    struct device_graph *g;
    CHECK(device_graph_new(ctx, &spec, 3, NULL, 0, NULL, NULL, &g) == DEVICE_OK);
    CHECK(node_count == 3 && nodes[0].work.kind == OBSERVE_KERNEL && nodes[2].after_count == 2 &&
          nodes[2].node == 3 && nodes[2].work.kind == OBSERVE_HOST);
    for (int i = 0; i < 3; i++) {
        device_graph_launch(g, s);
        struct told *t = last_of(s);
        CHECK(t->work.kind == OBSERVE_GRAPH && t->work.graph == nodes[0].graph);
        device_stream_sync(s);
        CHECK(t->begun && t->ended);
        for (uint32_t k = 1; k <= 3; k++) {
            struct observe_id id = t->work.id;
            id.node = k;
            CHECK(find(&id) != NULL && find(&id)->ended && find(&id)->parts >= 1);
        }
    }
    CHECK(atomic_load(&n) == 24);
    device_graph_free(g);
}

/* Many streams and threads at once: each work once, begun and ended. */
static void *storm(void *unused)
{
    (void)unused;
    _Atomic int n = 0;
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    for (int i = 0; i < 50; i++)
        launch(s, &count, 1 + (uint32_t)i, &n);
    device_stream_sync(s);
    device_stream_free(s);
    return NULL;
}

static void test_threads(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, storm, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < told_count; i++)
        CHECK(told[i].begun && told[i].ended);
    pthread_mutex_unlock(&lock);
}

int main(void)
{
    CHECK(!observed());
    CHECK(observe_add(&hooks) && observed());
    begin();
    struct device_stream *a = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    struct device_stream *b = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    struct device_stream *blocking = device_stream_new(ctx, DEVICE_STREAM_BLOCKING, 0);
    CHECK(stream_count == 4 && streams[0].kind == OBSERVE_LEGACY && !streams[1].blocking &&
          streams[3].blocking && streams[3].id == device_stream_observed_id(blocking));
    test_kernels(a);
    test_events(a, b, true);
    test_events(a, b, false);
    test_default_stream(blocking);
    test_copies(a);
    test_host(a);
    test_graph(b);
    test_threads();
    CHECK(wrong == 0);
    device_stream_free(a);
    device_stream_free(b);
    device_stream_free(blocking);
    return end();
}
