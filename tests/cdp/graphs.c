/* D4.3: graphs that kernels launch: fire and forget, tail launches, siblings, and by themselves. */
#include "common.h"

static const unsigned long long TAIL = 1ull << 56, FORGET = 2ull << 56, SIBLING = 3ull << 56;

static CUmodule module;
static unsigned *list, *codes;

/* What `launcher` launches, and how. */
struct launches {
    struct {
        CUgraphExec exec;
        unsigned long long stream;
    } items[8];
};

/* An executable graph: `what` noted by a kernel that launches `l` (or by `note`), then what + 1. */
static CUgraphExec make(unsigned what, const struct launches *l, unsigned long long flags)
{
    CUgraph g;
    CUgraphNode first, second;
    CUgraphExec e;
    unsigned after = what + 1;
    void *one[] = {&list, &what, (void *)&l, &codes}, *two[] = {&list, &after};
    CUDA_KERNEL_NODE_PARAMS p = {.func = kernel(module, l != NULL ? "launcher" : "note"),
                                 .gridDimX = 1,
                                 .gridDimY = 1,
                                 .gridDimZ = 1,
                                 .blockDimX = 1,
                                 .blockDimY = 1,
                                 .blockDimZ = 1,
                                 .kernelParams = one};
    NEED(cuGraphCreate(&g, 0));
    NEED(cuGraphAddKernelNode(&first, g, NULL, 0, &p));
    p.func = kernel(module, "note");
    p.kernelParams = two;
    NEED(cuGraphAddKernelNode(&second, g, &first, 1, &p));
    NEED(cuGraphInstantiate(&e, g, flags));
    OK(cuGraphDestroy(g));
    return e;
}

static CUgraphExec device(unsigned what, const struct launches *l)
{
    return make(what, l, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
}

static struct launches *launches(void)
{
    struct launches *l = (struct launches *)words(sizeof *l / 4);
    return l;
}

static void run(CUgraphExec e)
{
    memset(list, 0, 400);
    *codes = 0;
    OK(cuGraphLaunch(e, NULL));
    OK(cuGraphLaunch(e, NULL)); /* after all that the first one has led to */
    OK(cuCtxSynchronize());
}

static void expect(const unsigned *want, unsigned count)
{
    CHECK_EQ_INT(list[0], 2 * count);
    for (unsigned n = 0; n < 2 * count; n++)
        if (!check_count(list[1 + n] == want[n % count]))
            printf("%u is %u, not %u\n", n, list[1 + n], want[n % count]);
}

/* Tail launches follow the graph in order; those of a tail launch come before the next. */
static void tails(void)
{
    static const unsigned want[] = {10, 11, 20, 21, 30, 31, 40, 41};
    struct launches *a = launches(), *b = launches();
    CUgraphExec third = device(30, NULL), fourth = device(40, NULL);
    b->items[0].exec = third;
    b->items[0].stream = TAIL;
    CUgraphExec second = device(20, b);
    a->items[0].exec = second;
    a->items[1].exec = fourth;
    a->items[0].stream = a->items[1].stream = TAIL;
    CUgraphExec first = device(10, a);
    run(first);
    expect(want, 8);
    CHECK_EQ_INT(*codes, 0);
    OK(cuGraphExecDestroy(first));
    OK(cuGraphExecDestroy(second));
    OK(cuGraphExecDestroy(third));
    OK(cuGraphExecDestroy(fourth));
}

/* What is launched and forgotten is over before the tail launch, as is what that has led to. */
static void below(void)
{
    struct launches *a = launches(), *b = launches();
    CUgraphExec deep = device(30, NULL), tail = device(40, NULL), beside = device(50, NULL);
    b->items[0].exec = deep;
    b->items[0].stream = FORGET;
    CUgraphExec middle = device(20, b);
    a->items[0].exec = tail;
    a->items[0].stream = TAIL;
    a->items[1].exec = middle;
    a->items[1].stream = FORGET;
    a->items[2].exec = beside;
    a->items[2].stream = SIBLING;
    CUgraphExec first = device(10, a);
    run(first);
    CHECK_EQ_INT(list[0], 20);
    for (unsigned part = 0; part < 2; part++) {
        unsigned at[60] = {0};
        for (unsigned n = 0; n < 10; n++)
            at[list[1 + 10 * part + n] % 60] = n + 1;
        for (unsigned what = 10; what < 60; what += 10)
            CHECK(at[what] != 0 && at[what + 1] > at[what]);
        CHECK(at[40] > at[31] && at[40] > at[21] && at[40] > at[11]);
    }
    CHECK_EQ_INT(*codes, 0);
    OK(cuGraphExecDestroy(first));
    OK(cuGraphExecDestroy(middle));
    OK(cuGraphExecDestroy(deep));
    OK(cuGraphExecDestroy(tail));
    OK(cuGraphExecDestroy(beside));
}

/* A graph may be its own tail launch, as often as it likes, but nothing else. */
static void itself(void)
{
    unsigned *p = words(2), n = 3000;
    void *params[] = {&p};
    CUgraph g;
    CUgraphNode node;
    CUgraphExec e;
    CUDA_KERNEL_NODE_PARAMS k = {.func = kernel(module, "loop"),
                                 .gridDimX = 1,
                                 .gridDimY = 1,
                                 .gridDimZ = 1,
                                 .blockDimX = 1,
                                 .blockDimY = 1,
                                 .blockDimZ = 1,
                                 .kernelParams = params};
    NEED(cuGraphCreate(&g, 0));
    NEED(cuGraphAddKernelNode(&node, g, NULL, 0, &k));
    NEED(cuGraphInstantiate(&e, g, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH));
    p[0] = n;
    OK(cuGraphLaunch(e, NULL));
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(p[1], n);
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(g));

    struct launches *a = launches();
    CUgraphExec first = device(10, a), plain = make(20, NULL, 0);
    a->items[0].exec = first;
    a->items[0].stream = FORGET; /* it would wait for itself */
    a->items[1].exec = plain;    /* not made for device code */
    a->items[1].stream = TAIL;
    a->items[2].exec = first; /* no such stream */
    run(first);
    static const unsigned want[] = {10, 11};
    expect(want, 2);
    CHECK_EQ_INT(*codes, 6);
    unsigned what = 10;
    void *outside[] = {&list, &what, &a, &codes};
    a->items[0].exec = plain;
    a->items[1].exec = NULL;
    *codes = 0;
    OK(launch(kernel(module, "launcher"), 1, 1, NULL, outside)); /* in no graph */
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(*codes, 1);
    OK(cuGraphExecDestroy(first));
    OK(cuGraphExecDestroy(plain));
}

int main(void)
{
    begin();
    module = load_file("graphs.ptx");
    list = words(100);
    codes = words(1);
    tails();
    below();
    itself();
    return check_done();
}
