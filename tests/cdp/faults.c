/* D3.4, D7.2, E3.3: faults of children reach the host, with the chain of launches; what a child
 * cannot use is caught at its launch; after a reset all is as new. */
#include "common.h"

static CUmodule module;

static void expect(const char *name, void **params, const char *const *words)
{
    module = load_file("launches.ptx");
    OK(launch(kernel(module, name), 3, 1, NULL, params));
    CHECK_CU(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    for (; *words != NULL; words++)
        if (!check_count(strstr(weir_last_message(), *words) != NULL))
            printf("%s: the message is \"%s\", without \"%s\"\n", name, weir_last_message(),
                   *words);
    OK(cuDevicePrimaryCtxReset(0)); /* the module goes with the context */
}

static void chain(void)
{
    unsigned long long p = 16;
    unsigned copy = 0;
    void *params[] = {&p, &copy};
    expect(
        "above", params,
        (const char *const[]){
            "kernel bad_store, block (1,0,0), ",
            "launched by kernel between, block (0,0,0), thread (1,1,0); launched by kernel above",
            NULL});
    copy = 1;
    expect("above", params,
           (const char *const[]){"in a memset", "launched by kernel above, block (", NULL});
}

static void own_memory(void)
{
    unsigned which = 0;
    void *params[] = {&which};
    expect("own_memory", params,
           (const char *const[]){"argument 1 of the launch of kernel count points to local memory",
                                 "in kernel own_memory", NULL});
    which = 1;
    expect("own_memory", params,
           (const char *const[]){"argument 1 of the launch of kernel count points to shared memory",
                                 NULL});
    expect("own_buffer", NULL,
           (const char *const[]){"argument 1 of the launch of kernel count points to local memory",
                                 "in kernel own_buffer", NULL});
}

/* Blocks of the same shape launch and wait as if nothing had been. */
static void again(void **params, const unsigned *tree)
{
    module = load_file("launches.ptx");
    OK(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 8));
    OK(launch(kernel(module, "tree"), 2, 1, NULL, params));
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(tree[0], 2 * 64);
    CHECK_EQ_INT(tree[1], 0);
    OK(cuModuleUnload(module));
}

/* Children that were launched before the fault, and parents that wait for them, end. */
static void after(void)
{
    unsigned long long p = 16, stream = 0;
    unsigned times = 300, one = 1, depth = 6;
    unsigned *tree = words(2);
    void *called[] = {&p, &times, &one, &one, &stream}, *waiting[] = {&tree, &depth};
    for (stream = 0; stream < 5; stream += stream == 0 ? 3 : 1) {
        module = load_file("launches.ptx");
        OK(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 8));
        OK(launch(kernel(module, "tree"), 2, 1, NULL, waiting));
        CUresult r = launch(kernel(module, "called"), 4, 96, NULL, called);
        CHECK(r == CUDA_SUCCESS || r == CUDA_ERROR_ILLEGAL_ADDRESS);
        CHECK_CU(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
        OK(cuDevicePrimaryCtxReset(0));
        tree = words(2);
        again(waiting, tree);
        memset(tree, 0, 8);
    }
}

int main(void)
{
    begin();
    chain();
    own_memory();
    after();
    return check_done();
}
