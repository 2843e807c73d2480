/* S7.3: many host threads at once: loading and unloading modules, compiling the same kernel, making
 * contexts, streams and memory, adding to one link; each with its own current context and last
 * message. */
#include "common.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 8, ROUNDS = 20 };

static CUcontext primary;
static CUmodule module;

/* The same kernel in many shapes: compiled once each, whoever is first. */
static void *shapes(void *arg)
{
    unsigned *word;
    CUstream s;
    NEED(cuCtxSetCurrent(primary));
    NEED(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    NEED(cuMemHostAlloc((void **)&word, 4, 0));
    for (unsigned n = 1; n <= 4; n++) {
        *word = 0;
        OK(launch(kernel(module, "count"), 3, 32 * n, s, (void *[]){&word}));
        OK(cuStreamSynchronize(s));
        CHECK_EQ_INT(*word, 96 * n);
    }
    OK(cuMemFreeHost(word));
    OK(cuStreamDestroy(s));
    return arg;
}

static void *modules(void *arg)
{
    NEED(cuCtxSetCurrent(primary));
    for (int n = 0; n < ROUNDS; n++) {
        CUmodule m;
        CUdeviceptr p, at;
        size_t size;
        int value = 0;
        OK(cuModuleLoadData(&m, kernels));
        OK(cuModuleGetGlobal(&at, &size, m, "counter"));
        OK(cuMemcpyDtoH(&value, at, 4));
        CHECK_EQ_INT(value, 5);
        OK(cuMemAlloc(&p, 100 + (size_t)n));
        OK(launch(kernel(m, "count"), 2, 32, CU_STREAM_PER_THREAD, (void *[]){&at}));
        OK(cuMemFree(p));
        OK(cuModuleUnload(m)); /* waits for the launch */
    }
    return arg;
}

/* Contexts of their own; what one thread sees as current is its own affair. */
static void *contexts(void *arg)
{
    for (int n = 0; n < ROUNDS; n++) {
        CUcontext c, now;
        CUmodule m;
        CUevent e;
        OK(cuCtxCreate(&c, NULL, 0, 0));
        OK(cuModuleLoadData(&m, kernels));
        OK(cuEventCreate(&e, 0));
        OK(launch(kernel(m, "nothing"), 4, 32, NULL, NULL));
        OK(cuEventRecord(e, NULL));
        OK(cuCtxGetCurrent(&now));
        CHECK(now == c);
        OK(cuCtxPushCurrent(primary));
        CHECK_CU(cuEventRecord(e, NULL), CUDA_ERROR_INVALID_HANDLE); /* the other context's */
        OK(cuCtxPopCurrent(&now));
        CHECK(now == primary);
        OK(cuCtxDestroy(c));
        OK(cuCtxGetCurrent(&now));
        CHECK(now == NULL);
        CHECK_CU(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    }
    return arg;
}

static void *messages(void *arg)
{
    char name[32];
    NEED(cuCtxSetCurrent(primary));
    snprintf(name, sizeof name, "kernel_%d", (int)(size_t)arg);
    for (int n = 0; n < ROUNDS; n++) {
        CUfunction f;
        CHECK_CU(cuModuleGetFunction(&f, module, name), CUDA_ERROR_NOT_FOUND);
        CHECK(strstr(weir_last_message(), name) != NULL);
    }
    return arg;
}

static void run(void *(*body)(void *))
{
    pthread_t t[THREADS];
    for (size_t n = 0; n < THREADS; n++)
        pthread_create(&t[n], NULL, body, (void *)n);
    for (size_t n = 0; n < THREADS; n++)
        pthread_join(t[n], NULL);
}

/* One link, which some add to and one ends. */
static _Atomic(CUlinkState) shared_link;

static void *links(void *arg)
{
    static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                               ".visible .func f() { ret; }\n";
    NEED(cuCtxSetCurrent(primary));
    for (int n = 0; n < 10 * ROUNDS; n++) {
        CUlinkState s = shared_link, own;
        if (arg == NULL && n % 4 == 0) {
            NEED(cuLinkCreate(0, NULL, NULL, &own));
            s = atomic_exchange(&shared_link, own);
            OK(s == NULL ? CUDA_SUCCESS : cuLinkDestroy(s));
            continue;
        }
        CUresult r =
            cuLinkAddData(s, CU_JIT_INPUT_PTX, (void *)text, sizeof text, NULL, 0, NULL, NULL);
        CHECK(r == CUDA_SUCCESS || r == CUDA_ERROR_INVALID_HANDLE);
    }
    return arg;
}

/* Several at once, of each kind. */
static void *mixed(void *arg)
{
    static void *(*const bodies[])(void *) = {shapes, modules, contexts, messages};
    return bodies[(size_t)arg % 4](arg);
}

int main(void)
{
    primary = begin();
    module = load();
    run(shapes);
    run(modules);
    run(contexts);
    run(messages);
    run(mixed);
    run(links);
    OK(cuLinkDestroy(shared_link));
    OK(cuModuleUnload(module));
    OK(cuDevicePrimaryCtxRelease(0));
    return check_done();
}
