/* What the rows of calls.def are about: a handle or an address of every kind, made anew for each
 * row, since many rows end what they are given; and places for what calls give. */
#ifndef WEIR_TEST_CONTEXT_HANDLES_H
#define WEIR_TEST_CONTEXT_HANDLES_H

#include <cuda.h>
#include <cudaProfiler.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct handles {
    CUcontext mine; /* whose they all are */
    CUstream s, s2, cap, capturing;
    CUevent e, e2, ipc;
    CUmodule m;
    CUfunction f;
    CUlibrary lib;
    CUkernel k;
    CUlinkState l, l2;
    CUdeviceptr mem, mem2, managed, async, pooled, shared_pooled, reserved, mapped;
    CUmemoryPool pool, shared_pool;
    CUmemGenericAllocationHandle phys;
    void *host, *registered;
    CUarray a;
    CUmipmappedArray mm;
    CUtexObject t;
    CUsurfObject surf;
    CUtexref ref;
    CUgraph g, g2;
    CUgraphNode kn, cn, sn, hn, en;
    CUgraphExec x;
    CUuserObject object;
    /* What describes them. */
    void *params[1];
    CUlaunchConfig config;
    CUstreamBatchMemOpParams memop;
    CUDA_MEMCPY2D two;
    CUDA_MEMCPY3D three;
    CUDA_MEMCPY3D_PEER peer;
    CUDA_RESOURCE_DESC resource;
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUDA_MEMSET_NODE_PARAMS set;
    CUDA_MEM_ALLOC_NODE_PARAMS alloc;
    CUDA_BATCH_MEM_OP_NODE_PARAMS batch;
    CUDA_GRAPH_INSTANTIATE_PARAMS instantiate;
};

/* Of the other context. */
static CUstream other_stream;
static CUfunction other_function;

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .u32 variable;\n"
    ".visible .entry one(.param .u64 p)\n{\nret;\n}\n"
    ".visible .entry stop()\n{\ntrap; ret;\n}\n";

/* Places for what calls give. */
static int i, one = 1;
static unsigned u;
static unsigned long long id;
static float ms;
static size_t size;
static void *v, *v2 = &u;
static const char *name;
static CUdeviceptr p;
static CUdevice dev;
static CUcontext c;
static CUstream s;
static CUevent e;
static CUmodule m;
static CUfunction f;
static CUlibrary lib;
static CUkernel k;
static CUlinkState l;
static CUarray a;
static CUmipmappedArray mm;
static CUtexObject t;
static CUsurfObject surf;
static CUtexref ref;
static CUgraph g;
static CUgraphNode node;
static const CUgraphNode *deps;
static CUgraphExec x;
static CUmemoryPool pool;
static CUmemGenericAllocationHandle phys;
static CUuserObject object;
static CUstreamAttrValue attribute, policy = {.syncPolicy = CU_SYNC_POLICY_AUTO};
static CUlaunchAttributeValue launch_attribute;
static CUstreamCaptureStatus capturing;
static CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
static CUmoduleLoadingMode loading;
static CUfunctionLoadingState loaded;
static CUfunc_cache cache;
static CUexecAffinityParam affinity;
static CUipcEventHandle event_handle;
static CUipcMemHandle mem_handle;
static CUmemAccess_flags access_flags;
static CUmemAllocationProp props;
static CUDA_ARRAY_DESCRIPTOR array_desc_out;
static CUDA_ARRAY3D_DESCRIPTOR array3d_desc_out;
static CUDA_ARRAY_SPARSE_PROPERTIES sparse;
static CUDA_RESOURCE_DESC resource_out;
static CUDA_TEXTURE_DESC sampling_out;
static CUDA_RESOURCE_VIEW_DESC view_out;
static CUDA_KERNEL_NODE_PARAMS kernel_out;
static CUDA_MEMCPY3D three_out;
static CUDA_MEMSET_NODE_PARAMS set_out;
static CUDA_HOST_NODE_PARAMS host_out;
static CUgraphNodeType node_type;
static CUgraphConditionalHandle conditional;
static CUgraphExecUpdateResultInfo update;
static cuuint64_t flags;
static CUpointer_attribute pointer_attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;

/* What calls are given. */
static char buffer[16384] __attribute__((aligned(4096)));
static size_t zero, four = 4, page = 4096, two_mib = 2 << 20;
static CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, NULL, NULL, 0};
static CUmemLocation on_device = {.type = CU_MEM_LOCATION_TYPE_DEVICE};
static CUmemcpyAttributes copy_attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
static CUmemPoolProps pool_props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
static CUmemAllocationProp physical = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .requestedHandleTypes =
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                       .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
static CUmemAccessDesc device_access = {{.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                        CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
static CUDA_ARRAY_DESCRIPTOR array_desc = {16, 4, CU_AD_FORMAT_FLOAT, 1};
static CUDA_ARRAY3D_DESCRIPTOR array3d_desc = {
    16, 16, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST};
static CUDA_TEXTURE_DESC sampling;
static void on_host(void *user) { (void)user; }
static void called_back(CUstream stream, CUresult r, void *user)
{
    (void)stream;
    (void)r;
    (void)user;
}
static CUDA_HOST_NODE_PARAMS host_node = {on_host, NULL};

/* What a row needs must be there, or the row makes no sense. */
#define MADE(call)                                                                                 \
    do {                                                                                           \
        CUresult result = (call);                                                                  \
        if (result != CUDA_SUCCESS) {                                                              \
            fprintf(stderr, "%s: %d, for %s\n", #call, (int)result, text);                         \
            fflush(stderr);                                                                        \
            _exit(1); /* the row has no answer, and fails */                                       \
        }                                                                                          \
    } while (0)

/* Whether the row names what is to be made. */
static int uses(const char *text, const char *member)
{
    size_t length = strlen(member);
    for (const char *at = strstr(text, member); at != NULL; at = strstr(at + 1, member))
        if (strchr(",); ", at[length]) != NULL)
            return 1;
    return 0;
}
#define USES(member) uses(text, "h->" #member)

static void make_memory(struct handles *h, const char *text)
{
    MADE(cuMemAlloc(&h->mem, 4096));
    MADE(cuMemAlloc(&h->mem2, 4096));
    if (USES(managed))
        MADE(cuMemAllocManaged(&h->managed, 4096, CU_MEM_ATTACH_GLOBAL));
    if (USES(host))
        MADE(cuMemHostAlloc(&h->host, 4096, 0));
    if (USES(registered)) {
        h->registered = aligned_alloc(4096, 4096);
        MADE(cuMemHostRegister(h->registered, 4096, 0));
    }
    if (USES(async))
        MADE(cuMemAllocAsync(&h->async, 4096, h->s));
    if (USES(pool) || USES(pooled)) {
        MADE(cuMemPoolCreate(&h->pool, &pool_props));
        MADE(cuMemAllocFromPoolAsync(&h->pooled, 64, h->pool, h->s));
    }
    if (USES(shared_pool) || USES(shared_pooled)) {
        CUmemPoolProps shared = pool_props;
        shared.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        MADE(cuMemPoolCreate(&h->shared_pool, &shared));
        MADE(cuMemAllocFromPoolAsync(&h->shared_pooled, 64, h->shared_pool, h->s));
    }
    if (USES(reserved))
        MADE(cuMemAddressReserve(&h->reserved, two_mib, 0, 0, 0));
    if (USES(phys) || USES(mapped))
        MADE(cuMemCreate(&h->phys, two_mib, &physical, 0));
    if (USES(mapped)) {
        MADE(cuMemAddressReserve(&h->mapped, two_mib, 0, 0, 0));
        MADE(cuMemMap(h->mapped, two_mib, 0, h->phys, 0));
        MADE(cuMemSetAccess(h->mapped, two_mib, &device_access, 1));
    }
    MADE(cuStreamSynchronize(h->s));
}

static void describe(struct handles *h)
{
    h->params[0] = &h->mem;
    h->config = config;
    h->config.hStream = h->s;
    h->memop.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    h->memop.writeValue.address = h->mem;
    h->two = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                             .srcDevice = h->mem2,
                             .srcPitch = 8,
                             .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                             .dstDevice = h->mem,
                             .dstPitch = 8,
                             .WidthInBytes = 4,
                             .Height = 2};
    h->three = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                               .srcDevice = h->mem2,
                               .srcPitch = 8,
                               .srcHeight = 2,
                               .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                               .dstDevice = h->mem,
                               .dstPitch = 8,
                               .dstHeight = 2,
                               .WidthInBytes = 4,
                               .Height = 2,
                               .Depth = 1};
    h->peer = (CUDA_MEMCPY3D_PEER){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                   .srcDevice = h->mem2,
                                   .srcContext = h->mine,
                                   .srcPitch = 8,
                                   .srcHeight = 2,
                                   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                   .dstDevice = h->mem,
                                   .dstContext = h->mine,
                                   .dstPitch = 8,
                                   .dstHeight = 2,
                                   .WidthInBytes = 4,
                                   .Height = 2,
                                   .Depth = 1};
    h->set = (CUDA_MEMSET_NODE_PARAMS){
        .dst = h->mem, .pitch = 8, .value = 0, .elementSize = 4, .width = 1, .height = 1};
    h->alloc = (CUDA_MEM_ALLOC_NODE_PARAMS){.poolProps = pool_props, .bytesize = 64};
    h->batch = (CUDA_BATCH_MEM_OP_NODE_PARAMS){h->mine, 1, &h->memop, 0};
    h->instantiate.hUploadStream = h->s;
    h->instantiate.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
}

static void make_code(struct handles *h, const char *text)
{
    MADE(cuModuleLoadData(&h->m, ptx));
    MADE(cuModuleGetFunction(&h->f, h->m, "one"));
    h->kernel = (CUDA_KERNEL_NODE_PARAMS){.func = h->f,
                                          .gridDimX = 1,
                                          .gridDimY = 1,
                                          .gridDimZ = 1,
                                          .blockDimX = 1,
                                          .blockDimY = 1,
                                          .blockDimZ = 1,
                                          .kernelParams = h->params};
    if (USES(lib) || USES(k)) {
        MADE(cuLibraryLoadData(&h->lib, ptx, NULL, NULL, 0, NULL, NULL, 0));
        MADE(cuLibraryGetKernel(&h->k, h->lib, "one"));
    }
    if (USES(l) || USES(l2)) {
        MADE(cuLinkCreate(0, NULL, NULL, &h->l));
        MADE(cuLinkCreate(0, NULL, NULL, &h->l2));
        MADE(cuLinkAddData(h->l2, CU_JIT_INPUT_PTX, (void *)ptx, sizeof ptx, "x", 0, NULL, NULL));
    }
}

static void make_arrays(struct handles *h, const char *text)
{
    MADE(cuArray3DCreate(&h->a, &array3d_desc));
    if (USES(mm))
        MADE(cuMipmappedArrayCreate(&h->mm, &array3d_desc, 2));
    h->resource.resType = CU_RESOURCE_TYPE_ARRAY;
    h->resource.res.array.hArray = h->a;
    if (USES(t))
        MADE(cuTexObjectCreate(&h->t, &h->resource, &sampling, NULL));
    if (USES(surf))
        MADE(cuSurfObjectCreate(&h->surf, &h->resource));
    if (USES(ref))
        MADE(cuTexRefCreate(&h->ref));
}

static void make_graphs(struct handles *h, const char *text)
{
    MADE(cuGraphCreate(&h->g, 0));
    MADE(cuGraphCreate(&h->g2, 0));
    MADE(cuGraphAddKernelNode(&h->kn, h->g, NULL, 0, &h->kernel));
    MADE(cuGraphAddMemcpyNode(&h->cn, h->g, NULL, 0, &h->three, h->mine));
    MADE(cuGraphAddMemsetNode(&h->sn, h->g, NULL, 0, &h->set, h->mine));
    MADE(cuGraphAddHostNode(&h->hn, h->g, NULL, 0, &host_node));
    MADE(cuGraphAddEventRecordNode(&h->en, h->g, NULL, 0, h->e));
    if (USES(x))
        MADE(cuGraphInstantiate(&h->x, h->g, 0));
}

/* For the call of that text, in the current context. */
static void make_handles(struct handles *h, const char *text)
{
    MADE(cuCtxGetCurrent(&h->mine));
    MADE(cuStreamCreate(&h->s, 0));
    MADE(cuStreamCreate(&h->s2, 0));
    MADE(cuEventCreate(&h->e, 0));
    MADE(cuEventCreate(&h->e2, 0));
    MADE(cuEventRecord(h->e, h->s));
    MADE(cuEventRecord(h->e2, h->s));
    make_memory(h, text);
    describe(h);
    int graph = strncmp(text, "cuGraph", 7) == 0 || USES(g);
    if (graph || USES(f) || USES(m) || USES(lib) || USES(k) || USES(l) || USES(l2))
        make_code(h, text);
    if (USES(a) || USES(mm) || USES(t) || USES(surf) || USES(ref) || USES(resource))
        make_arrays(h, text);
    if (graph)
        make_graphs(h, text);
    if (USES(object))
        MADE(cuUserObjectCreate(&h->object, buffer, on_host, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    if (USES(ipc))
        MADE(cuEventCreate(&h->ipc, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    if (USES(cap))
        MADE(cuStreamCreate(&h->cap, CU_STREAM_NON_BLOCKING));
    if (USES(capturing)) {
        MADE(cuStreamCreate(&h->capturing, CU_STREAM_NON_BLOCKING));
        MADE(cuStreamBeginCapture(h->capturing, CU_STREAM_CAPTURE_MODE_RELAXED));
    }
}

#endif
