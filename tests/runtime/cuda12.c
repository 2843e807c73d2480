/* Module runtime: libcudart.so.12 with the types and functions of CUDA 12, as a program built for
 * it calls them. What is written beyond a type of that time would overwrite the guard after it. */
#include "../../src/runtime/cuda12/layouts.h"

#include <stdint.h>
#include <string.h>

#include "check.h"

#define OK(call) CHECK_EQ_INT(call, cudaSuccess)

/* Declared as in CUDA 12; a program's names for the later versions of a function are macros. */
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaGetDeviceProperties(void *prop, int device);
cudaError_t cudaGetDeviceProperties_v2(struct cuda12_properties *prop, int device);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device);
cudaError_t cudaChooseDevice(int *device, const struct cuda12_properties *prop);
cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaMallocManaged(void **p, size_t bytes, unsigned flags);
cudaError_t cudaFree(void *p);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaPointerGetAttributes(struct cuda12_pointer *attributes, const void *p);
cudaError_t cudaMemAdvise(const void *p, size_t bytes, enum cudaMemoryAdvise advice, int device);
cudaError_t cudaMemAdvise_v2(const void *p, size_t bytes, enum cudaMemoryAdvise advice,
                             struct cudaMemLocation location);
cudaError_t cudaMemPrefetchAsync(const void *p, size_t bytes, int device, cudaStream_t stream);
cudaError_t cudaMemcpyBatchAsync(void **to, void **from, size_t *bytes, size_t count,
                                 struct cudaMemcpyAttributes *attrs, size_t *attrs_idxs,
                                 size_t num_attrs, size_t *fail_idx, cudaStream_t stream);
cudaError_t cudaCreateTextureObject(cudaTextureObject_t *object, const struct cuda12_resource *r,
                                    const struct cudaTextureDesc *t, const struct cuda12_view *v);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object);
cudaError_t cudaGetTextureObjectResourceDesc(struct cuda12_resource *r, cudaTextureObject_t object);
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id);
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                        unsigned long long *id, cudaGraph_t *graph,
                                        const cudaGraphNode_t **dependencies, size_t *count);
cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                  const cudaGraphNode_t *dependencies, size_t count);
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                     const cudaGraphNode_t *to, size_t count);
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                              size_t *count);
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                         size_t *count);
cudaError_t cudaThreadSynchronize(void);
cudaError_t cudaLaunchCooperativeKernelMultiDevice(void *list, unsigned devices, unsigned flags);
cudaError_t cudaGetLastError(void);

enum { GUARD = 0x5a };

/* Whether all of the bytes are the guard's still. */
static int guarded(const void *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (((const unsigned char *)p)[i] != GUARD)
            return 0;
    return 1;
}

static void test_device(void)
{
    struct {
        struct cuda12_properties prop;
        char guard[512];
    } p;
    const size_t first = offsetof(struct cuda12_properties, hostRegisterSupported);
    int version = 0, value = 0, device = -1;
    OK(cudaRuntimeGetVersion(&version));
    CHECK_EQ_INT(version, 12090);
    memset(&p, GUARD, sizeof p);
    OK(cudaGetDeviceProperties_v2(&p.prop, 0));
    CHECK(guarded(p.guard, sizeof p.guard));
    CHECK_EQ_INT(p.prop.warpSize, 32);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    CHECK_EQ_INT(p.prop.multiProcessorCount, value);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrClockRate, 0));
    CHECK_EQ_INT(p.prop.clockRate, value);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMemoryPoolsSupported, 0));
    CHECK_EQ_INT(p.prop.memoryPoolsSupported, value);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
    CHECK_EQ_INT(p.prop.maxThreadsPerMultiProcessor, value);
    OK(cudaChooseDevice(&device, &p.prop));
    CHECK_EQ_INT(device, 0);
    memset(&p, GUARD, sizeof p);
    OK(cudaGetDeviceProperties(&p, 0));
    CHECK(guarded((char *)&p + first, sizeof p - first));
    CHECK_EQ_INT(p.prop.warpSize, 32);
    CHECK_EQ_INT(cudaGetDeviceProperties_v2(NULL, 0), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaGetDeviceProperties_v2(&p.prop, 99), cudaErrorInvalidDevice);
}

static void test_memory(void)
{
    struct {
        struct cuda12_pointer attributes;
        char guard[128];
    } p;
    void *memory, *managed, *to[1], *from[1];
    size_t bytes = 64, zero = 0, fail = 7;
    struct cudaMemcpyAttributes attributes = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    struct cudaMemLocation device = {.type = cudaMemLocationTypeDevice};
    cudaStream_t stream;
    char host[64] = "twelve", back[64] = "";
    OK(cudaMalloc(&memory, 64));
    memset(&p, GUARD, sizeof p);
    OK(cudaPointerGetAttributes(&p.attributes, memory));
    CHECK(guarded(p.guard, sizeof p.guard));
    CHECK(p.attributes.type == cudaMemoryTypeDevice && p.attributes.devicePointer == memory);
    OK(cudaMemcpy(memory, host, 64, cudaMemcpyHostToDevice));
    OK(cudaStreamCreate(&stream));
    to[0] = back;
    from[0] = memory;
    OK(cudaMemcpyBatchAsync(to, from, &bytes, 1, &attributes, &zero, 1, &fail, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(strcmp(back, "twelve") == 0);
    CHECK_EQ_INT(cudaMemcpyBatchAsync(to, from, &bytes, 0, &attributes, &zero, 1, &fail, stream),
                 cudaErrorInvalidValue);
    CHECK(fail == SIZE_MAX);
    cudaGetLastError();

    OK(cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal));
    OK(cudaMemAdvise(managed, 4096, cudaMemAdviseSetPreferredLocation, 0));
    OK(cudaMemAdvise(managed, 4096, cudaMemAdviseSetAccessedBy, cudaCpuDeviceId));
    OK(cudaMemAdvise_v2(managed, 4096, cudaMemAdviseSetReadMostly, device));
    OK(cudaMemPrefetchAsync(managed, 4096, 0, stream));
    CHECK_EQ_INT(cudaMemPrefetchAsync(managed, 4096, 99, stream), cudaErrorInvalidDevice);
    OK(cudaThreadSynchronize());
    OK(cudaFree(managed));
    OK(cudaFree(memory));
    OK(cudaStreamDestroy(stream));
}

static void test_textures(void)
{
    struct {
        struct cuda12_resource resource;
        char guard[256];
    } r;
    /* what the program has after its description is not part of it */
    struct cudaResourceDesc full = {.resType = cudaResourceTypeLinear};
    struct cudaTextureDesc t = {.readMode = cudaReadModeElementType};
    cudaTextureObject_t object = 0;
    void *memory;
    OK(cudaMalloc(&memory, 1024));
    full.res.linear.devPtr = memory;
    full.res.linear.desc = (struct cudaChannelFormatDesc){32, 0, 0, 0, cudaChannelFormatKindFloat};
    full.res.linear.sizeInBytes = 1024;
    memset(&r, GUARD, sizeof r);
    memcpy(&r.resource, &full, sizeof r.resource);
    OK(cudaCreateTextureObject(&object, &r.resource, &t, NULL));
    memset(&r, GUARD, sizeof r);
    OK(cudaGetTextureObjectResourceDesc(&r.resource, object));
    CHECK(guarded(r.guard, sizeof r.guard));
    CHECK(memcmp(&r.resource.res, &full.res, sizeof(full.res.linear)) == 0);
    OK(cudaDestroyTextureObject(object));
    OK(cudaFree(memory));
}

static void test_graphs(void)
{
    cudaGraph_t graph, captured;
    cudaGraphNode_t nodes[2], from, to;
    const cudaGraphNode_t *dependencies;
    enum cudaStreamCaptureStatus status;
    unsigned long long id = 0, again = 1;
    size_t count = 1;
    cudaStream_t stream;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&nodes[0], graph, NULL, 0));
    OK(cudaGraphAddEmptyNode(&nodes[1], graph, NULL, 0));
    OK(cudaGraphAddDependencies(graph, &nodes[0], &nodes[1], 1));
    OK(cudaGraphGetEdges(graph, &from, &to, &count));
    CHECK(count == 1 && from == nodes[0] && to == nodes[1]);
    OK(cudaGraphNodeGetDependencies(nodes[1], &from, &count));
    CHECK(count == 1 && from == nodes[0]);
    OK(cudaGraphDestroy(graph));

    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(cudaStreamGetCaptureInfo(stream, &status, &id));
    CHECK(status == cudaStreamCaptureStatusActive);
    OK(cudaStreamGetCaptureInfo_v2(stream, &status, &again, &graph, &dependencies, &count));
    CHECK(again == id && count == 0);
    OK(cudaStreamEndCapture(stream, &captured));
    CHECK(captured == graph);
    OK(cudaGraphDestroy(captured));
    OK(cudaStreamDestroy(stream));
}

int main(void)
{
    test_device();
    test_memory();
    test_textures();
    test_graphs();
    CHECK_EQ_INT(cudaLaunchCooperativeKernelMultiDevice(NULL, 1, 0), cudaErrorNotSupported);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorNotSupported);
    return check_done();
}
