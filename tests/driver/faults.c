/* E2: faults in kernels: their codes, that they stick to the context, that a reset heals, and that
 * objects can be destroyed meanwhile. */
#include "common.h"

static CUmodule module;

/* The launch succeeds, synchronizing reports, so does everything after it. */
static void expect(const char *name, void **params, CUresult code, const char *words)
{
    CUdeviceptr p;
    OK(launch(kernel(module, name), 1, 1, NULL, params));
    CHECK_CU(cuCtxSynchronize(), code);
    if (!check_count(words == NULL || strstr(weir_last_message(), words) != NULL))
        printf("%s: the message is \"%s\", without \"%s\"\n", name, weir_last_message(), words);
    CHECK_CU(cuModuleGetFunction(&(CUfunction){NULL}, module, "absent"), code);
    CHECK(strstr(weir_last_message(), name) != NULL);
    CHECK_CU(cuMemAlloc(&p, 100), code);
    CHECK_CU(cuStreamSynchronize(NULL), code);
    CHECK_CU(cuStreamQuery(NULL), code);
    CHECK_CU(cuCtxSynchronize(), code);
    CHECK_CU(cuModuleUnload(module), code); /* nothing is freed but by a reset, as on a GPU */
    OK(cuDevicePrimaryCtxReset(0));
    OK(cuCtxSynchronize());
    module = load();
}

static void kinds(void)
{
    CUdeviceptr p = 0, ok;
    unsigned one = 1;
    void *params[] = {&p, &one};
    expect("store", params, CUDA_ERROR_ILLEGAL_ADDRESS, "store");
    NEED(cuMemAlloc(&ok, 4 << 20));
    p = ok + (4 << 20) + 16;
    expect("store", params, CUDA_ERROR_ILLEGAL_ADDRESS,
           "16 bytes past the 4,194,304-byte allocation #");
    expect("stop", NULL, CUDA_ERROR_LAUNCH_FAILED, "stop");
    expect("insist", NULL, CUDA_ERROR_ASSERT, NULL);
}

static void CUDA_CB never(void *called) { *(int *)called = 1; }

/* What was launched after a fault is not run, nor are host functions, nor is anything of them kept;
 * what was there before the fault stays readable only after a reset, as new. */
static void after_fault(void)
{
    CUdeviceptr zero = 0;
    unsigned *word, one = 1;
    CUstream s;
    void *bad[] = {&zero, &one};
    NEED(cuMemHostAlloc((void **)&word, 4, 0));
    *word = 0;
    void *good[] = {&word, &one};
    int called = 0;
    NEED(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CUfunction f = kernel(module, "store");
    OK(launch(f, 1, 1, s, bad));
    CUresult r = launch(f, 1, 1, s, good);
    CHECK(r == CUDA_SUCCESS || r == CUDA_ERROR_ILLEGAL_ADDRESS);
    r = cuLaunchHostFunc(s, never, &called);
    CHECK(r == CUDA_SUCCESS || r == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK_CU(cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK_EQ_INT(*word, 0);
    CHECK_EQ_INT(called, 0);
    CHECK_CU(cuStreamDestroy(s), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuDevicePrimaryCtxReset(0));
    module = load();
}

/* Another context does not know of it. */
static void other_context(CUcontext primary)
{
    CUcontext own;
    CUmodule m;
    NEED(cuCtxCreate(&own, NULL, 0, 0));
    NEED(cuModuleLoadData(&m, kernels));
    OK(launch(kernel(m, "stop"), 1, 1, NULL, NULL));
    CHECK_CU(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    NEED(cuCtxSetCurrent(primary));
    OK(cuCtxSynchronize());
    OK(launch(kernel(module, "nothing"), 1, 1, NULL, NULL));
    OK(cuCtxSynchronize());
    OK(cuCtxDestroy(own));
    CHECK_CU(cuCtxDestroy(own), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(launch(kernel(module, "nothing"), 1, 1, NULL, NULL));
    OK(cuCtxSynchronize());
}

/* Many faults at once in many streams: one is told, nothing hangs. */
static void many(void)
{
    CUstream s[8];
    CUdeviceptr zero = 0;
    unsigned one = 1;
    void *bad[] = {&zero, &one};
    for (int n = 0; n < 8; n++)
        NEED(cuStreamCreate(&s[n], CU_STREAM_NON_BLOCKING));
    CUfunction f = kernel(module, "store");
    for (int n = 0; n < 8; n++) {
        CUresult r = launch(f, 64, 64, s[n], bad);
        CHECK(r == CUDA_SUCCESS || r == CUDA_ERROR_ILLEGAL_ADDRESS);
    }
    CHECK_CU(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuDevicePrimaryCtxReset(0));
    CHECK_CU(cuStreamSynchronize(NULL), CUDA_SUCCESS);
    module = load();
}

int main(void)
{
    CUcontext c = begin();
    module = load();
    kinds();
    after_fault();
    other_context(c);
    many();
    return check_done();
}
