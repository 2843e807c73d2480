/* S8, module exec: forward progress: kernels that spin, in any number, never stop other work (spec
 * S8), whatever the number of workers; blocks of cooperative launches wait for each other. */
#include "common.h"

static struct grid_kernel spin = KERNEL(spin_block), count = KERNEL(count_block);

static void released_in_any_order(void)
{
    enum { N = 256 };
    static _Atomic int flags[N];
    struct device_stream *s[N];
    int order[N];
    srand(7);
    for (int i = 0; i < N; i++) {
        order[i] = i;
        s[i] = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, -(i % 6));
        CHECK_EQ_INT(launch(s[i], &spin, 1, &flags[i]), DEVICE_OK);
    }
    for (int i = N - 1; i > 0; i--) {
        int k = rand() % (i + 1), t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
    /* Other work goes on. */
    struct device_stream *other = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    _Atomic int n = 0;
    launch(other, &count, 10000, &n);
    CHECK_EQ_INT(device_stream_sync(other), DEVICE_OK);
    CHECK_EQ_INT(n, 10000);
    for (int i = 0; i < N; i++) {
        CHECK_EQ_INT(device_stream_query(s[order[i]]), DEVICE_NOT_READY);
        flags[order[i]] = 1;
        CHECK_EQ_INT(device_stream_sync(s[order[i]]), DEVICE_OK);
    }
    for (int i = 0; i < N; i++)
        device_stream_free(s[i]);
    device_stream_free(other);
}

/* Kernel: waits for the host's word, then for the block before it, and keeps things in its memory.
 */
struct chain {
    _Atomic int go;
    _Atomic int done[100];
};
static uint32_t chain_block(struct jit_block *b)
{
    struct chain *c = param(b);
    uint32_t i = b->ctaid[0];
    if (b->pc[0] == 0) {
        memset(b->shared, (int)i, 1000);
        memset(b->frame, (int)i + 1, 64);
        memset(b->local, (int)i + 2, 32 * 16);
        b->pc[0] = 1;
    }
    while (c->go == 0 || (i + 1 < 100 && c->done[i + 1] == 0))
        if (--b->budget < 0)
            return JIT_SUSPENDED;
    for (int k = 0; k < 1000; k++)
        if (b->shared[k] != (uint8_t)i || b->frame[k % 64] != (uint8_t)(i + 1) ||
            b->local[k % 512] != (uint8_t)(i + 2))
            return JIT_DONE;
    c->done[i] = 1;
    return JIT_DONE;
}

/* Each block waits for the next one, which is handed out after it. */
static void chained(void)
{
    static struct chain c;
    struct grid_kernel k = {.run = chain_block,
                            .name = "chain",
                            .frame_bytes = 64,
                            .local_bytes = 16,
                            .static_shared = 1000,
                            .can_suspend = true};
    struct device_stream *s = device_stream_new(ctx, 0, 0);
    launch(s, &k, 100, &c);
    sleep_ms(5);
    CHECK_EQ_INT(device_stream_query(s), DEVICE_NOT_READY);
    c.go = 1;
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
    for (int i = 0; i < 100; i++)
        CHECK_EQ_INT(c.done[i], 1);
    device_stream_free(s);
}

/* More spinning blocks than a grid may have parked: the rest are handed out when they can be. */
static void more_than_resident(void)
{
    _Atomic int flag = 0, n = 0;
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0),
                         *t = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    launch(s, &spin, 5000, &flag);
    launch(s, &count, 1, &n);
    launch(t, &count, 1, &n);
    CHECK_EQ_INT(device_stream_sync(t), DEVICE_OK);
    CHECK_EQ_INT(n, 1);
    sleep_ms(5);
    flag = 1;
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
    CHECK_EQ_INT(n, 2);
    device_stream_free(s);
    device_stream_free(t);
}

/* Kernel: ten barriers over the whole grid. */
struct barrier {
    _Atomic uint32_t arrived;
    _Atomic int bad;
};
static uint32_t barrier_block(struct jit_block *b)
{
    struct barrier *g = param(b);
    uint32_t blocks = b->nctaid[0];
    for (;;) {
        if (b->state % 2 == 0) {
            uint32_t before = atomic_fetch_add(&g->arrived, 1);
            if (before / blocks != b->state / 2)
                atomic_fetch_add(&g->bad, 1);
            b->state++;
        }
        while (atomic_load(&g->arrived) < blocks * (b->state / 2 + 1))
            if (--b->budget < 0)
                return JIT_SUSPENDED;
        if (++b->state == 20)
            return JIT_DONE;
    }
}

static void cooperative(void)
{
    struct grid_kernel k = KERNEL(barrier_block);
    struct barrier g = {0};
    const void *p = &g;
    struct grid_launch l = {.kernel = &k,
                            .grid = {1000, 1, 1},
                            .block = {32, 1, 1},
                            .params = &p,
                            .param_bytes = sizeof p,
                            .cooperative = true};
    struct device_stream *s = device_stream_new(ctx, 0, 0);
    CHECK_EQ_INT(device_launch(s, &l), DEVICE_OK);
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
    CHECK_EQ_INT(g.arrived, 10000);
    CHECK_EQ_INT(g.bad, 0);
    device_stream_free(s);
}

/* Block 0 has its turns, of which the others wait for the last; how often these are called in vain
 * by the thread that block 0 is on. */
struct turns {
    _Atomic uint32_t thread;
    _Atomic int over, in_vain;
};
enum { TURNS = 4000 };
static uint32_t turns_block(struct jit_block *b)
{
    struct turns *t = param(b);
    if (b->ctaid[0] != 0) {
        if (t->over)
            return JIT_DONE;
        t->in_vain += b->smid == t->thread ? 1 : 0;
        return JIT_SUSPENDED;
    }
    t->thread = b->smid;
    if (++b->state < TURNS) {
        b->gave_way = 1;
        return JIT_SUSPENDED;
    }
    t->over = 1;
    return JIT_DONE;
}

/* A block of a cooperative grid that has turns left does not come after those that wait. */
static void turns_go_first(void)
{
    struct grid_kernel k = KERNEL(turns_block);
    struct turns t = {.thread = UINT32_MAX};
    const void *p = &t;
    struct grid_launch l = {.kernel = &k,
                            .grid = {8, 1, 1},
                            .block = {32, 1, 1},
                            .params = &p,
                            .param_bytes = sizeof p,
                            .cooperative = true};
    struct device_stream *s = device_stream_new(ctx, 0, 0);
    CHECK_EQ_INT(device_launch(s, &l), DEVICE_OK);
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
    CHECK_EQ_INT(t.over, 1);
    CHECK(t.in_vain < TURNS / 2);
    device_stream_free(s);
}

/* Two kernels that wait for each other alternately. */
struct ball {
    _Atomic int turn;
};
static uint32_t ping_block(struct jit_block *b)
{
    struct ball *ball = param(b);
    uint32_t me = b->ntid[1] - 1;
    while (b->state < 200) {
        while ((uint32_t)ball->turn % 2 != me)
            if (--b->budget < 0)
                return JIT_SUSPENDED;
        ball->turn++;
        b->state++;
    }
    return JIT_DONE;
}

static void ping_pong(void)
{
    struct grid_kernel k = KERNEL(ping_block);
    struct ball ball = {0};
    const void *p = &ball;
    struct device_stream *s[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct grid_launch l = {.kernel = &k,
                                .grid = {1, 1, 1},
                                .block = {1, 2 - i, 1},
                                .params = &p,
                                .param_bytes = sizeof p};
        s[i] = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
        device_launch(s[i], &l);
    }
    CHECK_EQ_INT(device_stream_sync(s[0]), DEVICE_OK);
    CHECK_EQ_INT(device_stream_sync(s[1]), DEVICE_OK);
    CHECK_EQ_INT(ball.turn, 400);
    device_stream_free(s[0]);
    device_stream_free(s[1]);
}

int main(void)
{
    begin();
    released_in_any_order();
    chained();
    more_than_resident();
    cooperative();
    turns_go_first();
    ping_pong();
    return end();
}
