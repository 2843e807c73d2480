/* E1.4: handles that are none: never made, of another kind, destroyed, left over from before a
 * reset. Each is refused, never followed. */
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

/* Many texture objects, destroyed in an order of their own; numbers next to them are none. */
static void textures(void)
{
    enum { COUNT = 3000, STEP = 7 }; /* which share no factor */
    static CUtexObject made[COUNT];
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_LINEAR}, seen;
    CUDA_TEXTURE_DESC sampling = {.flags = CU_TRSF_READ_AS_INTEGER};
    CUdeviceptr p;
    NEED(cuMemAlloc(&p, COUNT * 4));
    resource.res.linear.devPtr = p;
    resource.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT32;
    resource.res.linear.numChannels = 1;
    for (int n = 0; n < COUNT; n++) {
        resource.res.linear.sizeInBytes = (size_t)(n + 1) * 4;
        NEED(cuTexObjectCreate(&made[n], &resource, &sampling, NULL));
    }
    for (int n = 0, at = 0; n < COUNT; n++, at = (at + STEP) % COUNT) {
        OK(cuTexObjectGetResourceDesc(&seen, made[at]));
        CHECK_EQ_INT(seen.res.linear.sizeInBytes, (at + 1) * 4);
        CHECK_CU(cuTexObjectDestroy(made[at] + 8), CUDA_ERROR_INVALID_VALUE);
        CHECK_CU(cuSurfObjectDestroy(made[at]), CUDA_ERROR_INVALID_VALUE);
        OK(cuTexObjectDestroy(made[at]));
        CHECK_CU(cuTexObjectGetResourceDesc(&seen, made[at]), CUDA_ERROR_INVALID_VALUE);
        CHECK_CU(cuTexObjectDestroy(made[at]), CUDA_ERROR_INVALID_VALUE);
    }
    CHECK_CU(cuTexObjectDestroy(~0ull), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuTexObjectDestroy((CUtexObject)(uintptr_t)&resource), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(p));
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
    textures();
    return check_done();
}
