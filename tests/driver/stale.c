/* Handles that are none: never made, of another kind, destroyed, left over from before a reset.
 * Each is refused, never followed. */
#include "common.h"

static CUmodule module;
static CUfunction function;
static CUstream stream;
static CUevent event;
static CUarray array;

static void make(void)
{
    CUDA_ARRAY_DESCRIPTOR d = {16, 16, CU_AD_FORMAT_FLOAT, 1};
    module = load();
    function = kernel(module, "say");
    NEED(cuStreamCreate(&stream, 0));
    NEED(cuEventCreate(&event, 0));
    NEED(cuArrayCreate(&array, &d));
}

/* A graph that was to be uploaded in a stream that is none: no executable graph is handed out. */
static void upload_refused(void)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS p = {.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD,
                                       .hUploadStream = stream};
    CUgraph graph;
    CUgraphExec exec = NULL;
    NEED(cuGraphCreate(&graph, 0));
    CHECK_CU(cuGraphInstantiateWithParams(&exec, graph, &p), CUDA_ERROR_INVALID_HANDLE);
    CHECK(exec == NULL);
    CHECK_EQ_INT(p.result_out, CUDA_GRAPH_INSTANTIATE_ERROR);
    OK(cuGraphDestroy(graph));
}

static void all_refused(void)
{
    CUfunction f;
    CUdeviceptr at;
    CUDA_ARRAY_DESCRIPTOR d;
    size_t bytes;
    unsigned flags;
    CHECK_CU(cuModuleGetFunction(&f, module, "say"), CUDA_ERROR_INVALID_HANDLE);
    CHECK_CU(cuModuleGetGlobal(&at, &bytes, module, "x"), CUDA_ERROR_INVALID_HANDLE);
    CHECK_CU(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
    CHECK_CU(launch(function, 1, 1, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    CHECK_CU(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
    CHECK_CU(cuStreamGetFlags(stream, &flags), CUDA_ERROR_INVALID_HANDLE);
    CHECK_CU(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
    CHECK_CU(cuEventRecord(event, NULL), CUDA_ERROR_INVALID_HANDLE);
    CHECK_CU(cuEventSynchronize(event), CUDA_ERROR_INVALID_HANDLE);
    CHECK_CU(cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
    CHECK_CU(cuArrayGetDescriptor(&d, array), CUDA_ERROR_INVALID_HANDLE);
    CHECK_CU(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
    upload_refused();
}

/* Every handle set to the same bits. */
static void set_all(void *bits)
{
    module = bits;
    function = bits;
    stream = bits;
    event = bits;
    array = bits;
}

int main(void)
{
    CUcontext c = begin();
    char text[4096] = {0};
    make();
    NEED(cuDevicePrimaryCtxReset(0));
    NEED(cuCtxSetCurrent(c));
    all_refused();
    make();
    OK(cuStreamDestroy(stream));
    OK(cuEventDestroy(event));
    OK(cuArrayDestroy(array));
    OK(cuModuleUnload(module));
    all_refused();
    /* destroyed and then many new ones: still not the same handle */
    for (int n = 0; n < 32; n++)
        make();
    set_all(text);
    all_refused();
    set_all((void *)(uintptr_t)0x123450);
    all_refused();
    set_all((void *)~(uintptr_t)15);
    all_refused();
    set_all(c); /* a handle of another kind */
    all_refused();
    return check_done();
}
