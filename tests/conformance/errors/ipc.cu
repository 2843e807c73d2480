/* E1: wrong arguments of what processes share by handles of 64 bytes. */
#include "errors.h"

static char not_a_handle[4096];

static cudaEvent_t destroyed_event()
{
    cudaEvent_t e;
    MUST(cudaEventCreateWithFlags(&e, cudaEventInterprocess | cudaEventDisableTiming));
    MUST(cudaEventDestroy(e));
    return e;
}

static void rows()
{
    cudaIpcMemHandle_t mem, mem0;
    cudaIpcEventHandle_t handle, handle0;
    cudaEvent_t shared, plain, e;
    void *p, *q, *h, *managed, *pooled;
    char host[64];

    memset(&mem, 0, sizeof mem);
    memset(&mem0, 0, sizeof mem0);
    memset(&handle, 0, sizeof handle);
    memset(&handle0, 0, sizeof handle0);
    MUST(cudaMalloc(&p, 4096));
    MUST(cudaMallocHost(&h, 4096));
    MUST(cudaMallocManaged(&managed, 4096));
    MUST(cudaMallocAsync(&pooled, 4096, 0));
    MUST(cudaEventCreateWithFlags(&shared, cudaEventInterprocess | cudaEventDisableTiming));
    MUST(cudaEventCreate(&plain));
    ROW_CRASH("no handle", cudaIpcGetMemHandle(nullptr, p), cudaErrorInvalidValue);
    ROW("nothing", cudaIpcGetMemHandle(&mem, nullptr), cudaErrorInvalidValue);
    ROW("stack", cudaIpcGetMemHandle(&mem, host), cudaErrorInvalidValue);
    ROW("page-locked", cudaIpcGetMemHandle(&mem, h), cudaErrorInvalidValue);
    ROW("managed", cudaIpcGetMemHandle(&mem, managed), cudaErrorInvalidValue);
    ROW("of a pool", cudaIpcGetMemHandle(&mem, pooled), cudaErrorInvalidValue);
    ROW("inside", cudaIpcGetMemHandle(&mem, (char *)p + 256), cudaSuccess);
    ROW("no pointer", cudaIpcOpenMemHandle(nullptr, mem, cudaIpcMemLazyEnablePeerAccess),
        cudaErrorInvalidValue);
    ROW("flags 0", cudaIpcOpenMemHandle(&q, mem, 0), cudaErrorInvalidValue);
    ROW("flags 2", cudaIpcOpenMemHandle(&q, mem, 2), cudaErrorInvalidValue);
    ROW("a handle of zeros", cudaIpcOpenMemHandle(&q, mem0, cudaIpcMemLazyEnablePeerAccess),
        cudaErrorInvalidValue);
    MUST(cudaIpcGetMemHandle(&mem, p));
    ROW("its own", cudaIpcOpenMemHandle(&q, mem, cudaIpcMemLazyEnablePeerAccess),
        cudaErrorDeviceUninitialized);
    ROW("nothing", cudaIpcCloseMemHandle(nullptr), cudaErrorInvalidValue);
    ROW("not opened", cudaIpcCloseMemHandle(p), cudaErrorInvalidValue);
    ROW("stack", cudaIpcCloseMemHandle(host), cudaErrorInvalidValue);
    ROW_CRASH("no handle", cudaIpcGetEventHandle(nullptr, shared), cudaErrorInvalidValue);
    ROW("no event", cudaIpcGetEventHandle(&handle, nullptr), cudaErrorInvalidValue);
    ROW("not interprocess", cudaIpcGetEventHandle(&handle, plain), cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("destroyed", cudaIpcGetEventHandle(&handle, destroyed_event()),
                  cudaErrorInvalidResourceHandle);
    ROW_UNDEFINED("no event", cudaIpcGetEventHandle(&handle, (cudaEvent_t)not_a_handle),
                  cudaErrorInvalidResourceHandle);
    ROW("no pointer", cudaIpcOpenEventHandle(nullptr, handle0), cudaErrorInvalidValue);
    ROW("a handle of zeros", cudaIpcOpenEventHandle(&e, handle0), cudaErrorMapBufferObjectFailed);
    MUST(cudaIpcGetEventHandle(&handle, shared));
    ROW("its own", cudaIpcOpenEventHandle(&e, handle), cudaErrorDeviceUninitialized);
}

ERROR_TABLE_MAIN(rows)
