/* E1: the parameters that the tables by family leave alone: streams that are none, lists and counts
 * of libraries, occupancy with flags, entry points, batches, prefetches. */
#include "errors.h"

static char not_a_handle[4096], text[4096];
static int not_a_variable;
static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n.global .u32 number;\n"
                          ".visible .entry k() { ret; }\n";
__global__ void nothing(int *) {}
__device__ int variable[4];
static void CUDART_CB callback(cudaStream_t, cudaError_t, void *) {}

static cudaStream_t none() { return (cudaStream_t)not_a_handle; }

/* A handle of a stream that is none: refused here; what a GPU's driver says is left to chance. */
static void streams()
{
    const cudaMemcpyKind up = cudaMemcpyHostToDevice, down = cudaMemcpyDeviceToHost;
    int *p;
    void *args[] = {&p};
    cudaEvent_t e;
    cudaLaunchAttributeValue value;
    cudaMemcpy3DParms box;
    cudaMemcpy3DPeerParms peer;
    cudaGraph_t g;
    cudaGraphExec_t exec;
    cudaMemPool_t pool;
    cudaPitchedPtr pitched;

    MUST(cudaMalloc(&p, 4096));
    MUST(cudaEventCreate(&e));
    MUST(cudaGraphCreate(&g, 0));
    MUST(cudaGraphInstantiate(&exec, g, 0));
    MUST(cudaDeviceGetMemPool(&pool, 0));
    memset(&value, 0, sizeof value);
    memset(&box, 0, sizeof box);
    memset(&peer, 0, sizeof peer);
    pitched = make_cudaPitchedPtr(p, 16, 16, 4);
    box.srcPtr = box.dstPtr = peer.srcPtr = peer.dstPtr = pitched;
    box.extent = peer.extent = make_cudaExtent(16, 1, 1);
    box.kind = cudaMemcpyDefault;
#define NO_STREAM(call) ROW_UNDEFINED("no stream", call, cudaErrorInvalidResourceHandle)
    NO_STREAM(cudaMemcpyAsync(p, text, 4, up, none()));
    NO_STREAM(cudaMemcpy2DAsync(p, 16, text, 16, 16, 1, up, none()));
    NO_STREAM(cudaMemcpy3DAsync(&box, none()));
    NO_STREAM(cudaMemcpyPeerAsync(p, 0, p + 64, 0, 4, none()));
    NO_STREAM(cudaMemcpy3DPeerAsync(&peer, none()));
    NO_STREAM(cudaMemcpyToSymbolAsync(variable, text, 4, 0, up, none()));
    NO_STREAM(cudaMemcpyFromSymbolAsync(text, variable, 4, 0, down, none()));
    NO_STREAM(cudaMemsetAsync(p, 0, 4, none()));
    NO_STREAM(cudaMemset2DAsync(p, 16, 0, 16, 1, none()));
    NO_STREAM(cudaMemset3DAsync(pitched, 0, make_cudaExtent(16, 1, 1), none()));
    NO_STREAM(cudaLaunchKernel((const void *)nothing, dim3(1), dim3(1), args, 0, none()));
    NO_STREAM(
        cudaLaunchCooperativeKernel((const void *)nothing, dim3(1), dim3(1), args, 0, none()));
    NO_STREAM(cudaEventRecordWithFlags(e, none(), 0));
    NO_STREAM(cudaStreamAddCallback(none(), callback, nullptr, 0));
    NO_STREAM(cudaStreamGetAttribute(none(), cudaLaunchAttributeSynchronizationPolicy, &value));
    NO_STREAM(cudaStreamSetAttribute(none(), cudaLaunchAttributeSynchronizationPolicy, &value));
    NO_STREAM(cudaGraphUpload(exec, none()));
    NO_STREAM(cudaMallocFromPoolAsync(&p, 4, pool, none()));
}

static void copies()
{
    const cudaMemcpyKind up = cudaMemcpyHostToDevice, down = cudaMemcpyDeviceToHost;
    cudaStream_t s;
    char *p;
    int n;

    MUST(cudaGetDeviceCount(&n));
    MUST(cudaMalloc(&p, 4096));
    MUST(cudaStreamCreate(&s));
    ROW("no target", cudaMemcpy2DAsync(nullptr, 16, text, 16, 16, 2, up, s), cudaErrorInvalidValue);
    ROW("source pitch", cudaMemcpy2DAsync(p, 16, text, 8, 16, 2, up, s),
        cudaErrorInvalidPitchValue);
    ROW("one row, source pitch", cudaMemcpy2DAsync(p, 16, text, 8, 16, 1, up, s),
        cudaErrorInvalidValue);
    ROW("one row, target pitch", cudaMemcpy2D(p, 8, text, 16, 16, 1, up), cudaErrorInvalidValue);
    ROW("no rows, target pitch", cudaMemcpy2D(p, 8, text, 16, 16, 0, up), cudaSuccess);
    ROW("width 0", cudaMemcpy2DAsync(p, 16, text, 16, 0, 2, up, s), cudaSuccess);
    ROW("past the end", cudaMemcpy2DAsync(p, 16, text, 16, 16, 257, up, s), cudaErrorInvalidValue);
    ROW("no such device", cudaMemcpyPeerAsync(p, 0, p + 64, n, 4, s), cudaErrorInvalidDevice);
    ROW("past the end", cudaMemcpyPeerAsync(p, 0, p + 64, 0, 4096, s), cudaErrorInvalidValue);
    ROW("no source", cudaMemcpyToSymbolAsync(variable, nullptr, 4, 0, up, s),
        cudaErrorInvalidValue);
    ROW("offset past the end", cudaMemcpyToSymbolAsync(variable, text, 4, 16, up, s),
        cudaErrorInvalidValue);
    ROW("no target", cudaMemcpyFromSymbolAsync(nullptr, variable, 4, 0, down, s),
        cudaErrorInvalidValue);
    ROW("past the end", cudaMemcpyFromSymbolAsync(text, variable, 17, 0, down, s),
        cudaErrorInvalidValue);
    ROW("offset past the end", cudaMemcpyFromSymbolAsync(text, variable, 4, 16, down, s),
        cudaErrorInvalidValue);
}

static void launches()
{
    int *p = nullptr, blocks;
    void *args[] = {&p};
    const void *f = (const void *)nothing;
    cudaLaunchConfig_t config;
    int clusters;

    memset(&config, 0, sizeof config);
    config.gridDim = config.blockDim = dim3(1);
    ROW("no arguments", cudaLaunchCooperativeKernel(f, dim3(1), dim3(1), nullptr, 0, 0),
        cudaErrorInvalidValue);
    ROW("too much shared memory",
        cudaLaunchCooperativeKernel(f, dim3(1), dim3(1), args, 48 * 1024 + 1, 0),
        cudaErrorCooperativeLaunchTooLarge);
    ROW("no arguments", cudaLaunchKernelExC(&config, f, nullptr), cudaErrorInvalidValue);
#define OCCUPANCY(what, code, ...)                                                                 \
    ROW(what, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(__VA_ARGS__), code)
    OCCUPANCY("no answer", cudaErrorInvalidValue, nullptr, f, 32, 0, 0);
    OCCUPANCY("nothing", cudaErrorInvalidDeviceFunction, &blocks, (const void *)nullptr, 32, 0, 0);
    OCCUPANCY("not a kernel", cudaErrorInvalidResourceHandle, &blocks,
              (const void *)&not_a_variable, 32, 0, 0);
    OCCUPANCY("no threads", cudaErrorInvalidValue, &blocks, f, 0, 0, 0);
    OCCUPANCY("1 MiB of shared memory", cudaSuccess, &blocks, f, 32, 1 << 20, 0);
    OCCUPANCY("flags 2", cudaErrorInvalidValue, &blocks, f, 32, 0, 2);
    OCCUPANCY("no caching override", cudaSuccess, &blocks, f, 32, 0, 1);
    ROW("nothing", cudaOccupancyMaxActiveClusters(&clusters, (const void *)nullptr, &config),
        cudaErrorInvalidDeviceFunction);
}

static void libraries()
{
    cudaLibrary_t lib, out, null = (cudaLibrary_t) nullptr;
    cudaKernel_t list[4];
    void *p;
    size_t bytes;

    MUST(cudaLibraryLoadData(&lib, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    ROW("nothing", cudaLibraryEnumerateKernels(list, 4, null), cudaErrorInvalidResourceHandle);
    ROW("no name", cudaLibraryGetManaged(&p, &bytes, lib, nullptr), cudaErrorInvalidValue);
    ROW("nothing", cudaLibraryGetManaged(&p, &bytes, null, "number"),
        cudaErrorInvalidResourceHandle);
    ROW("no answers", cudaLibraryGetManaged(nullptr, nullptr, lib, "number"),
        cudaErrorInvalidValue);
    ROW("no name", cudaLibraryGetUnifiedFunction(&p, lib, nullptr), cudaErrorInvalidValue);
    ROW("nothing", cudaLibraryGetUnifiedFunction(&p, null, "none"), cudaErrorInvalidResourceHandle);
    ROW("no answer", cudaLibraryGetUnifiedFunction(nullptr, lib, "none"), cudaErrorInvalidValue);
    ROW_UNDEFINED("no library", cudaLibraryUnload((cudaLibrary_t)not_a_handle),
                  cudaErrorInvalidResourceHandle);
    ROW("no options",
        cudaLibraryLoadFromFile(&out, "/none.ptx", nullptr, nullptr, 1, nullptr, nullptr, 0),
        cudaErrorInvalidValue);
    ROW_CRASH("no library options",
              cudaLibraryLoadFromFile(&out, "/none.ptx", nullptr, nullptr, 0, nullptr, nullptr, 1),
              cudaErrorFileNotFound);
}

static void graphs()
{
    const cudaMemcpyKind any = cudaMemcpyDefault, unknown = (cudaMemcpyKind)9;
    cudaGraph_t g;
    cudaGraphNode_t n, node, list[2], to[2];
    cudaGraphExec_t exec;
    int *p, *h;
    size_t count;

    MUST(cudaMalloc(&p, 4096));
    MUST(cudaMallocHost(&h, 4096));
    MUST(cudaGraphCreate(&g, 0));
    MUST(cudaGraphAddMemcpyNode1D(&node, g, nullptr, 0, p, h, 4, any));
    MUST(cudaGraphInstantiate(&exec, g, 0));
    ROW("unknown direction", cudaGraphExecMemcpyNodeSetParams1D(exec, node, p, h, 4, unknown),
        cudaErrorInvalidMemcpyDirection);
    ROW("no source",
        cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, node, variable, nullptr, 4, 0, any),
        cudaErrorInvalidValue);
    ROW("offset past the end",
        cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, node, variable, h, 4, 16, any),
        cudaErrorInvalidValue);
    ROW("wrong direction",
        cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, node, variable, h, 4, 0,
                                                 cudaMemcpyDeviceToHost),
        cudaErrorInvalidMemcpyDirection);
    ROW("no target",
        cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, node, nullptr, variable, 4, 0, any),
        cudaErrorInvalidValue);
    ROW("offset past the end",
        cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, node, h, variable, 4, 16, any),
        cudaErrorInvalidValue);
    ROW("wrong direction",
        cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, node, h, variable, 4, 0,
                                                   cudaMemcpyHostToDevice),
        cudaErrorInvalidMemcpyDirection);
    ROW("no list", cudaGraphAddMemcpyNodeToSymbol(&n, g, nullptr, 1, variable, h, 4, 0, any),
        cudaErrorInvalidValue);
    ROW("no list", cudaGraphAddMemcpyNodeFromSymbol(&n, g, nullptr, 1, h, variable, 4, 0, any),
        cudaErrorInvalidValue);
    count = 2;
    ROW("the count alone", cudaGraphGetNodes(g, nullptr, &count), cudaSuccess);
    ROW("the count alone", cudaGraphGetRootNodes(g, nullptr, &count), cudaSuccess);
    count = 2;
    ROW("one list", cudaGraphGetEdges(g, nullptr, to, nullptr, &count), cudaErrorInvalidValue);
    ROW("the count alone", cudaGraphNodeGetDependencies(node, nullptr, nullptr, &count),
        cudaSuccess);
    ROW("the count alone", cudaGraphNodeGetDependentNodes(node, nullptr, nullptr, &count),
        cudaSuccess);
    (void)list;
}

static void devices()
{
    int n, value;
    void *f;
    cudaDriverEntryPointQueryResult found;

    MUST(cudaGetDeviceCount(&n));
    ROW("no such source", cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, n, 0),
        cudaErrorInvalidDevice);
    ROW("banks of 16 bytes", cudaDeviceSetSharedMemConfig((cudaSharedMemConfig)16),
        cudaErrorInvalidValue);
    ROW("banks of 4 bytes", cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeFourByte),
        cudaSuccess);
    ROW_CRASH("no name", cudaGetDriverEntryPoint(nullptr, &f, 0, &found), cudaErrorInvalidValue);
    ROW_CRASH("no answer", cudaGetDriverEntryPoint("cuInit", nullptr, 0, &found),
              cudaErrorInvalidValue);
    ROW("unknown flags", cudaGetDriverEntryPoint("cuInit", &f, 64, &found), cudaErrorInvalidValue);
    ROW("no such function", cudaGetDriverEntryPoint("cuNone", &f, 0, &found), cudaSuccess);
    ROW("no place for the state", cudaGetDriverEntryPoint("cuInit", &f, 0, nullptr), cudaSuccess);
}

static void arrays()
{
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>(),
                          odd = {3, 0, 0, 0, cudaChannelFormatKindFloat};
    cudaArray_t a, plane;
    cudaTextureObject_t no_texture = 0;
    cudaResourceViewDesc view;

    MUST(cudaMallocArray(&a, &desc, 16, 16));
    cudaArrayMemoryRequirements needs;
    cudaArraySparseProperties tiles;
    int n;
    MUST(cudaGetDeviceCount(&n));
    ROW("no pointer", cudaArrayGetMemoryRequirements(nullptr, a, 0), cudaErrorInvalidValue);
    ROW("no array", cudaArrayGetMemoryRequirements(&needs, (cudaArray_t) nullptr, 0),
        cudaErrorInvalidValue);
    ROW("ordinal past the last", cudaArrayGetMemoryRequirements(&needs, a, n),
        cudaErrorInvalidValue);
    ROW("not deferred", cudaArrayGetMemoryRequirements(&needs, a, 0), cudaErrorInvalidValue);
    ROW("no pointer", cudaArrayGetSparseProperties(nullptr, a), cudaErrorInvalidValue);
    ROW("no array", cudaArrayGetSparseProperties(&tiles, (cudaArray_t) nullptr),
        cudaErrorInvalidValue);
    ROW("not sparse", cudaArrayGetSparseProperties(&tiles, a), cudaErrorInvalidValue);
    ROW("plane 1 of one", cudaArrayGetPlane(&plane, a, 1), cudaErrorInvalidValue);
    ROW("no format", cudaMalloc3DArray(&a, nullptr, make_cudaExtent(4, 4, 4)),
        cudaErrorInvalidValue);
    ROW("3 bits", cudaMalloc3DArray(&a, &odd, make_cudaExtent(4, 4, 4)),
        cudaErrorInvalidChannelDescriptor);
    ROW("no texture", cudaGetTextureObjectResourceViewDesc(&view, no_texture),
        cudaErrorInvalidValue);
}

static void batches()
{
    char *p;
    void *list[2];
    size_t sizes[2] = {4096, 4096}, zeros[2] = {0, 4096}, first[1] = {0}, late[1] = {1};
    cudaMemLocation here;
    cudaStream_t s;
    int answer;
    void *answers[1] = {&answer};
    size_t answer_sizes[1] = {sizeof answer};
    cudaMemRangeAttribute which[1] = {cudaMemRangeAttributeReadMostly};

    memset(&here, 0, sizeof here);
    here.type = cudaMemLocationTypeDevice;
    MUST(cudaStreamCreate(&s));
    MUST(cudaMallocManaged(&p, 8192));
    list[0] = p;
    list[1] = p + 4096;
    ROW("no memory", cudaMemRangeGetAttributes(answers, answer_sizes, which, 1, nullptr, 4096),
        cudaErrorInvalidValue);
    ROW("size 0", cudaMemRangeGetAttributes(answers, answer_sizes, which, 1, p, 0),
        cudaErrorInvalidValue);
#if CUDART_VERSION >= 13000
    ROW_UNDEFINED("no stream", cudaMemPrefetchAsync(p, 4096, here, 0, none()),
                  cudaErrorInvalidResourceHandle);
    ROW("stream 0", cudaMemPrefetchBatchAsync(list, sizes, 2, &here, first, 1, 0, 0),
        cudaErrorInvalidValue);
    ROW("legacy stream",
        cudaMemPrefetchBatchAsync(list, sizes, 2, &here, first, 1, 0, cudaStreamLegacy),
        cudaErrorInvalidValue);
    ROW("per-thread stream",
        cudaMemPrefetchBatchAsync(list, sizes, 2, &here, first, 1, 0, cudaStreamPerThread),
        cudaSuccess);
    ROW("stream 0", cudaMemDiscardBatchAsync(list, sizes, 2, 0, 0), cudaErrorInvalidValue);
    ROW("no sizes", cudaMemDiscardBatchAsync(list, nullptr, 2, 0, s), cudaErrorInvalidValue);
    ROW("size 0", cudaMemDiscardBatchAsync(list, zeros, 2, 0, s), cudaErrorInvalidValue);
#define DISCARD(what, code, ...) ROW(what, cudaMemDiscardAndPrefetchBatchAsync(__VA_ARGS__), code)
    DISCARD("fine", cudaSuccess, list, sizes, 2, &here, first, 1, 0, s);
    DISCARD("no sizes", cudaErrorInvalidValue, list, nullptr, 2, &here, first, 1, 0, s);
    DISCARD("none", cudaErrorInvalidValue, list, sizes, 0, &here, first, 1, 0, s);
    DISCARD("places start late", cudaErrorInvalidValue, list, sizes, 2, &here, late, 1, 0, s);
    DISCARD("no place", cudaErrorInvalidValue, list, sizes, 2, &here, first, 0, 0, s);
    DISCARD("flags 1", cudaErrorInvalidValue, list, sizes, 2, &here, first, 1, 1, s);
    DISCARD("stream 0", cudaErrorInvalidValue, list, sizes, 2, &here, first, 1, 0, 0);
    cudaMemcpy3DBatchOp op;
    memset(&op, 0, sizeof op);
    op.src.type = op.dst.type = cudaMemcpyOperandTypePointer;
    op.src.op.ptr.ptr = p;
    op.dst.op.ptr.ptr = p + 4096;
    op.extent = make_cudaExtent(16, 1, 1);
    op.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    ROW("fine", cudaMemcpy3DBatchAsync(1, &op, 0, s), cudaSuccess);
    ROW("flags 1", cudaMemcpy3DBatchAsync(1, &op, 1, s), cudaErrorInvalidValue);
    ROW("stream 0", cudaMemcpy3DBatchAsync(1, &op, 0, 0), cudaErrorInvalidValue);
#else
    (void)s, (void)list, (void)sizes, (void)zeros, (void)first, (void)late;
#endif
}

static void rows()
{
    streams();
    copies();
    launches();
    libraries();
    graphs();
    devices();
    arrays();
    batches();
}

ERROR_TABLE_MAIN(rows)
