/* S1 to S6, by the driver API: streams, events, host functions, values in memory, per-thread
 * default streams, all with a kernel that spins until the host lets it go. */
#include "common.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

static CUmodule module;
static volatile unsigned *flag;

static void hold(CUstream s)
{
    *flag = 0;
    OK(launch(kernel(module, "spin"), 1, 32, s, (void *[]){&flag}));
}

static void release(void) { __atomic_store_n((unsigned *)flag, 1, __ATOMIC_RELEASE); }

static void order(void)
{
    CUstream a, b;
    CUevent e, f;
    float ms = -1;
    unsigned *word;
    NEED(cuMemHostAlloc((void **)&word, 4, 0));
    NEED(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    NEED(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    NEED(cuEventCreate(&e, CU_EVENT_DEFAULT));
    NEED(cuEventCreate(&f, CU_EVENT_DEFAULT));
    CHECK_CU(cuEventElapsedTime(&ms, e, f), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventQuery(e)); /* never recorded */
    OK(cuEventSynchronize(e));
    *word = 0;
    hold(a);
    OK(cuEventRecord(e, a));
    OK(cuStreamWaitEvent(b, e, 0));
    OK(launch(kernel(module, "count"), 1, 64, b, (void *[]){&word}));
    OK(cuEventRecord(f, b));
    CHECK_CU(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
    CHECK_CU(cuStreamQuery(b), CUDA_ERROR_NOT_READY);
    CHECK_CU(cuEventQuery(f), CUDA_ERROR_NOT_READY);
    CHECK_CU(cuEventElapsedTime(&ms, e, f), CUDA_ERROR_NOT_READY);
    usleep(20000);
    CHECK_EQ_INT(*word, 0);
    release();
    OK(cuStreamSynchronize(b));
    CHECK_EQ_INT(*word, 64);
    OK(cuEventElapsedTime(&ms, e, f));
    CHECK(ms >= 0);
    OK(cuStreamQuery(a));

    /* streams and events may go while there is work */
    *word = 0;
    hold(a);
    OK(launch(kernel(module, "count"), 1, 64, a, (void *[]){&word}));
    OK(cuEventRecord(e, a));
    OK(cuStreamWaitEvent(b, e, 0));
    OK(cuEventDestroy(e));
    OK(cuStreamDestroy(a));
    release();
    OK(cuStreamSynchronize(b));
    CHECK_EQ_INT(*word, 64);
    OK(cuEventDestroy(f));
    OK(cuStreamDestroy(b));
    OK(cuMemFreeHost(word));
}

static void facts(CUcontext ctx)
{
    CUstream s;
    int low, high, p;
    unsigned flags;
    unsigned long long one, two;
    CUcontext c;
    CUdevice d;
    CUstreamCaptureStatus capture;
    CUstreamAttrValue v = {0};
    OK(cuCtxGetStreamPriorityRange(&low, &high));
    CHECK(high < low);
    NEED(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, high - 7));
    OK(cuStreamGetPriority(s, &p));
    CHECK_EQ_INT(p, high);
    OK(cuStreamGetFlags(s, &flags));
    CHECK_EQ_INT(flags, CU_STREAM_NON_BLOCKING);
    OK(cuStreamGetId(s, &one));
    OK(cuStreamGetId(NULL, &two));
    CHECK(one != two);
    OK(cuStreamGetCtx(s, &c));
    CHECK(c == ctx);
    OK(cuStreamGetDevice(s, &d));
    CHECK_EQ_INT(d, 0);
    OK(cuStreamIsCapturing(s, &capture));
    CHECK_EQ_INT(capture, CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_PRIORITY, &v));
    CHECK_EQ_INT(v.priority, high);
    OK(cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
    CHECK_EQ_INT(v.syncPolicy, CU_SYNC_POLICY_AUTO);
    v.syncPolicy = CU_SYNC_POLICY_SPIN;
    OK(cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
    OK(cuStreamCopyAttributes(NULL, s));
    v.syncPolicy = 0;
    OK(cuStreamGetAttribute(NULL, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
    CHECK_EQ_INT(v.syncPolicy, CU_SYNC_POLICY_SPIN);
    OK(cuStreamDestroy(s));
}

/* ---- values ---- */

static void values(void)
{
    CUstream s;
    unsigned *w;
    NEED(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    NEED(cuMemHostAlloc((void **)&w, 64, 0));
    memset(w, 0, 64);
    CUdeviceptr p = (uintptr_t)w;
    OK(cuStreamWaitValue32(s, p, 5, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuStreamWriteValue32(s, p + 4, 77, 0));
    OK(cuStreamWriteValue64(s, p + 8, 0x100000002ull, 0));
    CHECK_CU(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    CHECK_EQ_INT(w[1], 0);
    __atomic_store_n(&w[0], 6, __ATOMIC_RELEASE);
    OK(cuStreamSynchronize(s));
    CHECK(w[1] == 77 && w[2] == 2 && w[3] == 1);

    CUstreamBatchMemOpParams ops[4] = {0};
    ops[0].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    ops[0].waitValue.address = p + 16;
    ops[0].waitValue.value = 8;
    ops[0].waitValue.flags = CU_STREAM_WAIT_VALUE_AND;
    ops[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    ops[1].writeValue.address = p + 24;
    ops[1].writeValue.value64 = 9;
    ops[2].operation = CU_STREAM_MEM_OP_BARRIER;
    ops[3].operation = (CUstreamBatchMemOpType)9;
    CHECK_CU(cuStreamBatchMemOp(s, 4, ops, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamQuery(s)); /* nothing of it was enqueued */
    OK(cuStreamBatchMemOp(s, 3, ops, 0));
    CHECK_CU(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    __atomic_store_n(&w[4], 12, __ATOMIC_RELEASE);
    OK(cuStreamSynchronize(s));
    CHECK_EQ_INT(w[6], 9);
    OK(cuStreamDestroy(s));
    OK(cuMemFreeHost(w));
}

/* ---- host functions ---- */

/* Read before the kernel ends that comes first; what that orders, sanitizers do not see. */
static _Atomic int calls;
static CUresult inside[4];
static CUresult told = CUDA_ERROR_UNKNOWN;

static void on_host(void *user)
{
    CUdeviceptr p;
    CUcontext c;
    inside[0] = cuMemAlloc(&p, 4);
    inside[1] = cuStreamSynchronize(NULL);
    inside[2] = cuDevicePrimaryCtxRetain(&c, 0);
    inside[3] = cuCtxSynchronize();
    calls += *(int *)user;
}

static void on_stream(CUstream s, CUresult status, void *user)
{
    (void)s;
    told = status;
    calls += *(int *)user;
}

static void host_functions(void)
{
    CUstream s;
    int three = 3, ten = 10;
    NEED(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    hold(s);
    OK(cuLaunchHostFunc(s, on_host, &three));
    OK(cuStreamAddCallback(s, on_stream, &ten, 0));
    usleep(10000);
    CHECK_EQ_INT(calls, 0);
    release();
    OK(cuStreamSynchronize(s));
    CHECK_EQ_INT(calls, 13);
    CHECK_EQ_INT(told, CUDA_SUCCESS);
    for (int n = 0; n < 4; n++)
        CHECK_CU(inside[n], CUDA_ERROR_NOT_PERMITTED);
    OK(cuStreamDestroy(s));
}

/* ---- default streams ---- */

/* The thread's own default stream does not wait for one that does not block; the legacy stream
 * waits for blocking ones. */
static void defaults(void)
{
    CUstream blocking;
    typedef CUresult (*query_fn)(CUstream);
    query_fn query_own = (query_fn)dlsym(RTLD_DEFAULT, "cuStreamQuery_ptsz");
    NEED(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    CHECK(query_own != NULL);
    hold(blocking);
    OK(launch(kernel(module, "nothing"), 1, 1, NULL, NULL)); /* in the legacy stream: waits */
    CHECK_CU(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    CHECK_CU(cuStreamQuery(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
    OK(query_own(NULL));
    OK(cuStreamQuery(CU_STREAM_PER_THREAD));
    release();
    OK(cuStreamSynchronize(NULL));
    OK(cuStreamDestroy(blocking));
}

/* A stream that joined a capture and is destroyed in it leaves its work there: it must be joined as
 * if the stream lived. */
static void destroyed_in_capture(bool join)
{
    CUstream origin, other;
    CUevent e;
    CUgraph graph = NULL;
    size_t nodes = 0;
    NEED(cuStreamCreate(&origin, CU_STREAM_NON_BLOCKING));
    NEED(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    NEED(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cuStreamBeginCapture(origin, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(e, origin));
    OK(cuStreamWaitEvent(other, e, 0));
    OK(launch(kernel(module, "nothing"), 1, 1, other, NULL));
    OK(cuEventRecord(e, other));
    OK(cuStreamDestroy(other));
    if (join)
        OK(cuStreamWaitEvent(origin, e, 0));
    CHECK_CU(cuStreamEndCapture(origin, &graph),
             join ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    CHECK((graph != NULL) == join);
    if (join) {
        OK(cuGraphGetNodes(graph, NULL, &nodes));
        CHECK_EQ_INT(nodes, 1);
        OK(cuGraphDestroy(graph));
    }
    OK(cuEventDestroy(e));
    OK(cuStreamDestroy(origin));
}

static void addresses(void)
{
    void *p, *own, *plain, *older;
    CUdriverProcAddressQueryResult status;
    OK(cuGetProcAddress("cuMemAlloc", &p, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    CHECK(p == (void *)cuMemAlloc && status == CU_GET_PROC_ADDRESS_SUCCESS);
    OK(cuGetProcAddress("cuStreamQuery", &plain, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT,
                        &status));
    OK(cuGetProcAddress("cuStreamQuery", &own, CUDA_VERSION,
                        CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
    CHECK(plain == (void *)cuStreamQuery && own != plain && own != NULL);
    OK(cuGetProcAddress("cuMemcpyHtoD", &p, CUDA_VERSION,
                        CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
    CHECK(p == dlsym(RTLD_DEFAULT, "cuMemcpyHtoD_v2_ptds"));
    OK(cuGetProcAddress("cuMemAdvise", &p, CUDA_VERSION, 0, &status));
    OK(cuGetProcAddress("cuMemAdvise", &older, 12000, 0, &status));
    CHECK(p != older);
    OK(cuGetProcAddress("cuMemAdvise", &p, 5000, 0, &status));
    CHECK(p == NULL && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    OK(cuGetProcAddress("cuNothing", &p, CUDA_VERSION, 0, &status));
    CHECK(p == NULL && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    OK(cuGetProcAddress("malloc", &p, CUDA_VERSION, 0, NULL));
    CHECK(p == NULL);
    CHECK_CU(cuGetProcAddress(NULL, &p, CUDA_VERSION, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuGetProcAddress("cuInit", &p, CUDA_VERSION, 4, NULL), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
    CUcontext c = begin();
    module = load();
    NEED(cuMemHostAlloc((void **)&flag, 4, 0));
    order();
    facts(c);
    values();
    host_functions();
    defaults();
    addresses();
    destroyed_in_capture(true);
    destroyed_in_capture(false);
    return check_done();
}
