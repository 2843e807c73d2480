/* S9.2, module device: graphs: order in random ones, branches side by side, loops, launches one
 * after the other, changes between launches, event nodes, faults. */
#include "common.h"

enum { MOST = 200 };

static struct grid_kernel count = KERNEL(count_block);
static struct grid_kernel spin = {.run = spin_block, .name = "spin", .can_suspend = true};

/* ---- random graphs ---- */

static _Atomic int tick;
static _Atomic int ran_at[MOST + 1]; /* when each node was last run */
static int runs;

static void note(uint32_t node) { atomic_store(&ran_at[node], atomic_fetch_add(&tick, 1) + 1); }

static uint32_t note_block(struct jit_block *b)
{
    uint32_t node;
    memcpy(&node, b->params, sizeof node);
    if (b->ctaid[0] == 0)
        note(node);
    return JIT_DONE;
}

static void note_call(void *user) { note((uint32_t)(uintptr_t)user); }

static struct grid_kernel note_kernel = KERNEL(note_block);

/* A graph of nodes that each depend on some of those before. */
static void random_graph(unsigned seed, uint32_t nodes, uint32_t density)
{
    static struct device_node n[MOST];
    static uint32_t deps[MOST][MOST], ids[MOST];
    struct device_graph *g;
    memset(n, 0, sizeof n);
    for (uint32_t i = 0; i < nodes; i++) {
        uint32_t kind = (uint32_t)rand_r(&seed) % 8, k = 0;
        ids[i] = i;
        n[i].id = i;
        for (uint32_t d = i > 20 ? i - 20 : 0; d < i; d++)
            if ((uint32_t)rand_r(&seed) % 100 < density)
                deps[i][k++] = d;
        n[i].deps = deps[i];
        n[i].dep_count = k;
        if (kind == 0) {
            n[i].kind = DEVICE_NODE_HOST;
            n[i].host.fn = note_call;
            n[i].host.user = (void *)(uintptr_t)i;
        } else if (kind == 1) {
            n[i].kind = DEVICE_NODE_CALL;
            n[i].call.fn = note_call;
            n[i].call.user = (void *)(uintptr_t)i;
        } else {
            n[i].kind = DEVICE_NODE_GRID;
            n[i].launch = (struct grid_launch){.kernel = &note_kernel,
                                               .grid = {kind == 2 ? 300 : 1, 1, 1},
                                               .block = {32, 1, 1},
                                               .params = &ids[i],
                                               .param_bytes = sizeof ids[i]};
        }
    }
    struct device_graph_spec spec = {n, nodes};
    CHECK_EQ_INT(device_graph_new(ctx, &spec, nodes, NULL, 0, NULL, NULL, &g), DEVICE_OK);
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    for (int launch = 0; launch < 20; launch++) {
        int before = atomic_load(&tick);
        CHECK_EQ_INT(device_graph_launch(g, s), DEVICE_OK);
        CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
        CHECK_EQ_INT(atomic_load(&tick) - before, nodes);
        bool fine = true;
        for (uint32_t i = 0; i < nodes; i++) {
            fine = fine && atomic_load(&ran_at[i]) > before;
            for (uint32_t d = 0; d < n[i].dep_count; d++)
                fine = fine && atomic_load(&ran_at[deps[i][d]]) < atomic_load(&ran_at[i]);
        }
        CHECK(fine);
        runs++;
    }
    device_graph_free(g);
    device_stream_free(s);
}

/* ---- helpers ---- */

static struct device_node grid_node(uint32_t id, struct grid_kernel *k, void *const *param,
                                    const uint32_t *deps, uint32_t dep_count)
{
    return (struct device_node){.kind = DEVICE_NODE_GRID,
                                .id = id,
                                .deps = deps,
                                .dep_count = dep_count,
                                .launch = {.kernel = k,
                                           .grid = {1, 1, 1},
                                           .block = {32, 1, 1},
                                           .params = param,
                                           .param_bytes = sizeof *param}};
}

static struct device_graph *build(const struct device_node *nodes, uint32_t graphs_count,
                                  uint32_t total, void (*released)(void *), void *user)
{
    struct device_graph *g = NULL;
    struct device_graph_spec spec = {nodes, graphs_count};
    CHECK_EQ_INT(device_graph_new(ctx, &spec, total, NULL, 0, released, user, &g), DEVICE_OK);
    return g;
}

static void note_released(void *user) { atomic_store((_Atomic int *)user, 1); }

/* ---- cases ---- */

/* Eight branches that wait for each other through memory: all must be on their way at once. */
static void branches(void)
{
    enum { N = 8 };
    static _Atomic int flags[N], done;
    static _Atomic int released;
    void *at[N], *sum = &done;
    struct device_node n[N + 1];
    uint32_t all[N];
    for (uint32_t i = 0; i < N; i++) {
        all[i] = i;
        at[i] = &flags[i];
        n[i] = grid_node(i, &spin, &at[i], NULL, 0);
    }
    n[N] = grid_node(N, &count, &sum, all, N);
    struct device_graph *g = build(n, N + 1, N + 1, note_released, &released);
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    for (int launch = 0; launch < 3; launch++) {
        for (int i = 0; i < N; i++)
            atomic_store(&flags[i], 0);
        CHECK_EQ_INT(device_graph_launch(g, s), DEVICE_OK);
        for (int i = N - 1; i >= 0; i--) {
            sleep_ms(1);
            CHECK_EQ_INT(device_stream_query(s), DEVICE_NOT_READY);
            atomic_store(&flags[i], 1);
        }
        CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
        CHECK_EQ_INT(atomic_load(&done), launch + 1);
    }
    atomic_store(&flags[0], 0);
    CHECK_EQ_INT(device_graph_launch(g, s), DEVICE_OK);
    device_graph_free(g); /* while it runs */
    sleep_ms(1);
    CHECK_EQ_INT(atomic_load(&released), 0);
    atomic_store(&flags[0], 1);
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
    CHECK_EQ_INT(atomic_load(&done), 4);
    CHECK_EQ_INT(atomic_load(&released), 1);
    device_stream_free(s);
}

/* Launches of one graph in two streams: one after the other, each with its time's parameters. */
static void changes(void)
{
    static _Atomic int flag, a, b;
    void *at_flag = &flag, *at_a = &a, *at_b = &b;
    uint32_t first = 0;
    struct device_node n[2] = {grid_node(0, &spin, &at_flag, NULL, 0),
                               grid_node(1, &count, &at_a, &first, 1)};
    struct device_graph *g = build(n, 2, 2, NULL, NULL);
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    struct device_stream *t = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    CHECK_EQ_INT(device_graph_launch(g, s), DEVICE_OK);
    struct device_node change = grid_node(1, &count, &at_b, NULL, 0);
    CHECK_EQ_INT(device_graph_change(g, &change), DEVICE_OK);
    CHECK_EQ_INT(device_graph_launch(g, t), DEVICE_OK);
    CHECK_EQ_INT(device_graph_launch(g, t), DEVICE_OK);
    change.disabled = true;
    CHECK_EQ_INT(device_graph_change(g, &change), DEVICE_OK);
    CHECK_EQ_INT(device_graph_launch(g, s), DEVICE_OK);
    sleep_ms(2);
    CHECK_EQ_INT(device_stream_query(t), DEVICE_NOT_READY);
    atomic_store(&flag, 1);
    CHECK_EQ_INT(device_stream_sync(t), DEVICE_OK);
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
    CHECK_EQ_INT(atomic_load(&a), 1);
    CHECK_EQ_INT(atomic_load(&b), 2);
    change.kind = DEVICE_NODE_EMPTY;
    CHECK_EQ_INT(device_graph_change(g, &change), DEVICE_INVALID_VALUE);
    device_graph_free(g);
    device_stream_free(s);
    device_stream_free(t);
}

/* What a node of a chain should find, and what it found. */
struct expected {
    uint32_t blocks, threads;
    _Atomic uint32_t right, wrong; /* blocks */
};

static uint32_t look_block(struct jit_block *b)
{
    struct expected *e = param(b);
    bool right = b->nctaid[0] == e->blocks && b->ntid[0] == e->threads &&
                 b->nthreads == e->threads && b->nwarps == (e->threads + 31) / 32 &&
                 b->ctaid[0] < e->blocks;
    atomic_fetch_add(right ? &e->right : &e->wrong, 1);
    return JIT_DONE;
}
static struct grid_kernel look = KERNEL(look_block), look_too = {.run = look_block,
                                                                 .name = "look_too",
                                                                 .frame_bytes = 64,
                                                                 .static_shared = 128};

/* Small grids in a row are run in one go, and those alike share what was laid out; then some of
 * them become others. */
static void series(void)
{
    enum { NODES = 20, CHANGES = 60 };
    static struct expected e[NODES];
    struct device_node n[NODES];
    uint32_t before[NODES];
    void *at[NODES];
    unsigned seed = 1;
    for (uint32_t i = 0; i < NODES; i++) {
        at[i] = &e[i];
        e[i].blocks = 1;
        e[i].threads = 32;
        before[i] = i - 1;
        n[i] = grid_node(i, &look, &at[i], &before[i], i > 0);
    }
    struct device_graph *g = build(n, NODES, NODES, NULL, NULL);
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    for (int change = 0; change < CHANGES; change++) {
        for (int launches = 0; launches < 3; launches++)
            CHECK_EQ_INT(device_graph_launch(g, s), DEVICE_OK);
        CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
        for (uint32_t i = 0; i < NODES; i++) {
            CHECK_EQ_INT(atomic_exchange(&e[i].wrong, 0), 0);
            CHECK_EQ_INT(atomic_exchange(&e[i].right, 0), n[i].disabled ? 0 : 3 * e[i].blocks);
        }
        uint32_t i = (uint32_t)rand_r(&seed) % NODES;
        e[i].blocks = n[i].launch.grid[0] = 1 + (uint32_t)rand_r(&seed) % 2;
        e[i].threads = n[i].launch.block[0] = 16u << rand_r(&seed) % 3;
        n[i].launch.kernel = rand_r(&seed) % 2 ? &look : &look_too;
        n[i].disabled = rand_r(&seed) % 8 == 0;
        CHECK_EQ_INT(device_graph_change(g, &n[i]), DEVICE_OK);
    }
    device_graph_free(g);
    device_stream_free(s);
}

/* ---- branches of control ---- */

static uint32_t again;
static _Atomic int iterations, chosen;

static uint32_t turn_block(struct jit_block *b)
{
    __atomic_store_n(&again, atomic_fetch_add(&iterations, 1) + 1 < 1000, __ATOMIC_RELEASE);
    return JIT_DONE;
}
static struct grid_kernel turn = KERNEL(turn_block);

static void conditions(void)
{
    static _Atomic int after;
    void *at_iterations = &iterations, *at_chosen = &chosen, *at_after = &after;
    uint32_t zero = 0;
    struct device_node loop_body[3] = {grid_node(2, &count, &at_chosen, NULL, 0),
                                       grid_node(3, &count, &at_chosen, NULL, 0),
                                       grid_node(4, &turn, &at_iterations, NULL, 0)};
    struct device_graph_spec body = {loop_body, 3};
    struct device_node n[2] = {{.kind = DEVICE_NODE_BRANCH, .id = 0},
                               grid_node(1, &count, &at_after, &zero, 1)};
    n[0].branch.value = &again;
    n[0].branch.loop = true;
    n[0].branch.bodies = &body;
    n[0].branch.body_count = 1;
    struct device_graph_spec spec = {n, 2};
    struct device_graph_reset reset = {&again, 1};
    struct device_graph *g;
    CHECK_EQ_INT(device_graph_new(ctx, &spec, 5, &reset, 1, NULL, NULL, &g), DEVICE_OK);
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    CHECK_EQ_INT(device_graph_launch(g, s), DEVICE_OK);
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
    CHECK_EQ_INT(atomic_load(&iterations), 1000);
    CHECK_EQ_INT(atomic_load(&chosen), 2000);
    CHECK_EQ_INT(atomic_load(&after), 1);
    atomic_store(&iterations, 999);
    CHECK_EQ_INT(device_graph_launch(g, s), DEVICE_OK);
    CHECK_EQ_INT(device_graph_launch(g, s), DEVICE_OK); /* one turn each */
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
    CHECK_EQ_INT(atomic_load(&iterations), 1001);
    CHECK_EQ_INT(atomic_load(&after), 3);
    device_graph_free(g);
    device_stream_free(s);
}

/* ---- event nodes ---- */

static void events(void)
{
    static _Atomic int flag, done;
    void *at_flag = &flag, *at_done = &done;
    uint32_t zero = 0, one = 1;
    struct device_event *e = device_event_new(ctx, DEVICE_EVENT_TIMING);
    struct device_node n[3] = {grid_node(0, &spin, &at_flag, NULL, 0),
                               {.kind = DEVICE_NODE_RECORD, .id = 1, .deps = &zero, .dep_count = 1},
                               grid_node(2, &count, &at_done, &one, 1)};
    n[1].event = e;
    struct device_graph *g = build(n, 3, 3, NULL, NULL);
    struct device_node m[2] = {{.kind = DEVICE_NODE_WAIT, .id = 0},
                               grid_node(1, &count, &at_done, &zero, 1)};
    m[0].event = e;
    struct device_graph *h = build(m, 2, 2, NULL, NULL);
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    struct device_stream *t = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    for (int launch = 1; launch <= 3; launch++) {
        atomic_store(&flag, 0);
        CHECK_EQ_INT(device_graph_launch(g, s), DEVICE_OK);
        CHECK_EQ_INT(device_event_query(e), DEVICE_NOT_READY);
        CHECK_EQ_INT(device_graph_launch(h, t), DEVICE_OK);
        sleep_ms(1);
        CHECK_EQ_INT(device_stream_query(t), DEVICE_NOT_READY);
        atomic_store(&flag, 1);
        CHECK_EQ_INT(device_event_sync(e), DEVICE_OK);
        CHECK_EQ_INT(device_stream_sync(t), DEVICE_OK);
        CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
        CHECK_EQ_INT(atomic_load(&done), 2 * launch);
        float ms = 1;
        CHECK_EQ_INT(device_event_elapsed(e, e, &ms), DEVICE_OK);
        CHECK(ms == 0);
    }
    device_event_free(e);
    device_graph_free(g);
    device_graph_free(h);
    device_stream_free(s);
    device_stream_free(t);
}

/* ---- many at once, and a fault ---- */

static struct device_graph *shared[3];

static void *many(void *unused)
{
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    for (int i = 0; i < 200; i++) {
        CHECK_EQ_INT(device_graph_launch(shared[i % 3], s), DEVICE_OK);
        if (i % 16 == 0)
            CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
    }
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
    device_stream_free(s);
    return unused;
}

static void threads(void)
{
    enum { N = 12, THREADS = 4 };
    static _Atomic int sum;
    void *at = &sum;
    struct device_node n[N];
    uint32_t zero = 0;
    for (uint32_t i = 0; i < N; i++)
        n[i] = grid_node(i, &count, &at, &zero, i > 0);
    for (int i = 0; i < 3; i++)
        shared[i] = build(n, N, N, NULL, NULL);
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, many, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    CHECK_EQ_INT(atomic_load(&sum), THREADS * 200 * N);
    for (int i = 0; i < 3; i++)
        device_graph_free(shared[i]);
}

static uint32_t wild_block(struct jit_block *b)
{
    *(volatile int *)16 = 1; // NOLINT: that is the point
    return JIT_DONE;
}
static struct grid_kernel wild = KERNEL(wild_block);

static void faults(void)
{
    static _Atomic int before, after;
    void *at_before = &before, *at_after = &after, *none = NULL;
    uint32_t zero = 0, one = 1;
    struct device_node n[3] = {grid_node(0, &count, &at_before, NULL, 0),
                               grid_node(1, &wild, &none, &zero, 1),
                               grid_node(2, &count, &at_after, &one, 1)};
    struct device_graph *g = build(n, 3, 3, NULL, NULL);
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    CHECK_EQ_INT(device_graph_launch(g, s), DEVICE_OK);
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_FAULT_ADDRESS);
    CHECK_EQ_INT(device_graph_launch(g, s), DEVICE_FAULT_ADDRESS);
    CHECK_EQ_INT(atomic_load(&before), 1);
    CHECK_EQ_INT(atomic_load(&after), 0);
    device_context_reset(ctx);
    n[1].disabled = true;
    CHECK_EQ_INT(device_graph_change(g, &n[1]), DEVICE_OK);
    CHECK_EQ_INT(device_graph_launch(g, s), DEVICE_OK);
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
    CHECK_EQ_INT(atomic_load(&after), 1);
    device_graph_free(g);
    device_stream_free(s);
}

int main(void)
{
    begin();
    for (unsigned seed = 0; seed < 30; seed++)
        random_graph(seed + 1, 1 + seed * 6, 1 + seed % 10 * 5);
    branches();
    changes();
    series();
    conditions();
    events();
    threads();
    faults();
    return end();
}
