/* scenarios (E2.5): what programs do with a device, one kind of work after the other. Each returns the
 * first code that is not success, and lets go of what it has made; what it computes is checked
 * where all calls succeeded. Each is run in a context of its own. */
#include "scenarios.h"

#include "inject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weir/weir.h"

#define TRY(call)                                                                                  \
    do {                                                                                           \
        CUresult try_result = (call);                                                              \
        if (try_result != CUDA_SUCCESS)                                                            \
            return failed_at(#call, try_result);                                                   \
    } while (0)

/* The call that failed first, for messages. */
static CUresult failed_at(const char *call, CUresult r)
{
    fprintf(stderr, "%s: code %d: %s\n", call, (int)r, weir_last_message());
    return r;
}

static const char program[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".extern .func __weir_launch_configure(.param .b32 gx, .param .b32 gy, .param .b32 gz,\n"
    ".param .b32 bx, .param .b32 by, .param .b32 bz, .param .b64 bytes, .param .b64 stream);\n"
    /* *p += v, by every thread */
    ".visible .entry count(.param .u64 p, .param .u32 v)\n{\n.reg .b64 %d; .reg .b32 %r<3>;\n"
    "ld.param.u64 %d, [p]; ld.param.u32 %r1, [v]; atom.global.add.u32 %r2, [%d], %r1; ret;\n}\n"
    /* every thread launches count<<<2, 8>>>(p, 1) three times */
    ".visible .entry parent(.param .u64 p)\n{\n.reg .b64 %d; .reg .b32 %r<3>; .reg .pred %q;\n"
    "ld.param.u64 %d, [p]; mov.u32 %r1, 3;\nAGAIN: setp.eq.u32 %q, %r1, 0; @%q bra DONE;\n"
    "{ .param .b32 gx; .param .b32 gy; .param .b32 gz; .param .b32 bx; .param .b32 by;\n"
    ".param .b32 bz; .param .b64 s; .param .b64 t; st.param.b32 [gx], 2; st.param.b32 [gy], 1;\n"
    "st.param.b32 [gz], 1; st.param.b32 [bx], 8; st.param.b32 [by], 1; st.param.b32 [bz], 1;\n"
    "st.param.b64 [s], 0; st.param.b64 [t], 0;\n"
    "call.uni __weir_launch_configure, (gx, gy, gz, bx, by, bz, s, t); }\n"
    "{ .param .b64 a; .param .b32 v; st.param.b64 [a], %d; st.param.b32 [v], 1;\n"
    "call.uni count, (a, v); }\nsub.u32 %r1, %r1, 1; bra AGAIN;\nDONE: ret;\n}\n"
    /* out[x] = what the texture has at x */
    ".visible .entry fetch(.param .u64 t, .param .u64 out)\n{\n"
    ".reg .b64 %d<4>; .reg .b32 %r<6>; .reg .f32 %f<5>;\n"
    "ld.param.u64 %d1, [t]; ld.param.u64 %d2, [out]; mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f1, "
    "%r1;\n"
    "add.f32 %f1, %f1, 0f3F000000;\n"
    "tex.1d.v4.f32.f32 {%f2, %f3, %f4, %f1}, [%d1, {%f1}];\n"
    "mul.wide.u32 %d3, %r1, 4; add.s64 %d2, %d2, %d3; st.global.f32 [%d2], %f2; ret;\n}\n"
    /* a tree of sums, with barriers */
    ".visible .entry sum(.param .u64 p, .param .u64 out)\n{\n"
    ".reg .b64 %d<5>; .reg .b32 %r<7>; .reg .pred %q; .shared .align 4 .b8 s[1024];\n"
    "ld.param.u64 %d1, [p]; ld.param.u64 %d2, [out]; mov.u32 %r1, %tid.x;\n"
    "mul.wide.u32 %d3, %r1, 4; add.s64 %d4, %d1, %d3; ld.global.u32 %r2, [%d4];\n"
    "shl.b32 %r3, %r1, 2; mov.u32 %r4, s; add.u32 %r3, %r3, %r4; st.shared.u32 [%r3], %r2;\n"
    "mov.u32 %r5, 128;\nAGAIN: bar.sync 0; setp.ge.u32 %q, %r1, %r5; @%q bra SKIP;\n"
    "shl.b32 %r6, %r5, 2; add.u32 %r6, %r6, %r3; ld.shared.u32 %r2, [%r6];\n"
    "ld.shared.u32 %r6, [%r3]; add.u32 %r2, %r2, %r6; st.shared.u32 [%r3], %r2;\n"
    "SKIP: shr.u32 %r5, %r5, 1; setp.ne.u32 %q, %r5, 0; @%q bra AGAIN;\n"
    "setp.ne.u32 %q, %r1, 0; @%q bra DONE; ld.shared.u32 %r2, [s]; st.global.u32 [%d2], %r2;\n"
    "DONE: ret;\n}\n";

bool scenario_wrong;

static void must_be(unsigned got, unsigned wanted, const char *what)
{
    if (got == wanted)
        return;
    printf("%s: %u, not %u\n", what, got, wanted);
    scenario_wrong = true;
}

static CUresult launch(CUmodule m, const char *name, unsigned blocks, unsigned threads, CUstream s,
                       void **params)
{
    CUfunction f;
    TRY(cuModuleGetFunction(&f, m, name));
    return cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, s, params, NULL);
}

/* ---- launches, copies, streams, events ---- */

static CUresult launches(CUmodule m)
{
    enum { N = 256 };
    CUdeviceptr a, sum;
    unsigned host[N], total = 0;
    CUstream s[2] = {NULL, NULL};
    CUevent e = NULL;
    for (unsigned i = 0; i < N; i++)
        host[i] = i;
    TRY(cuMemAlloc(&a, sizeof host));
    TRY(cuMemAlloc(&sum, sizeof total));
    TRY(cuStreamCreate(&s[0], CU_STREAM_NON_BLOCKING));
    TRY(cuStreamCreate(&s[1], CU_STREAM_DEFAULT));
    TRY(cuEventCreate(&e, CU_EVENT_DEFAULT));
    TRY(cuMemcpyHtoDAsync(a, host, sizeof host, s[0]));
    TRY(launch(m, "sum", 1, N, s[0], (void *[]){&a, &sum}));
    TRY(cuEventRecord(e, s[0]));
    TRY(cuStreamWaitEvent(s[1], e, 0));
    TRY(launch(m, "count", 4, 64, s[1], (void *[]){&sum, &(unsigned){1}}));
    TRY(cuStreamSynchronize(s[1]));
    TRY(cuMemcpyDtoH(&total, sum, sizeof total));
    must_be(total, N * (N - 1) / 2 + 256, "launches");
    TRY(cuMemFree(a));
    TRY(cuMemFree(sum));
    TRY(cuEventDestroy(e));
    TRY(cuStreamDestroy(s[0]));
    return cuStreamDestroy(s[1]);
}

static void CUDA_CB add_one(void *counter) { ++*(unsigned *)counter; }

static CUresult host_functions(CUmodule m)
{
    static unsigned calls;
    CUstream s;
    (void)m;
    calls = 0;
    TRY(cuStreamCreate(&s, CU_STREAM_DEFAULT));
    TRY(cuLaunchHostFunc(s, add_one, &calls));
    TRY(cuLaunchHostFunc(s, add_one, &calls));
    TRY(cuCtxSynchronize());
    must_be(calls, 2, "host functions");
    return cuStreamDestroy(s);
}

/* ---- the stream-ordered allocator ---- */

static CUresult pools(CUmodule m)
{
    enum { N = 8 };
    CUstream s[2];
    CUdeviceptr p[N];
    CUmemoryPool pool;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    TRY(cuMemPoolCreate(&pool, &props));
    for (int i = 0; i < 2; i++)
        TRY(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < N; i++)
        TRY(i % 2 ? cuMemAllocAsync(&p[i], 1000u << i, s[i / 4])
                  : cuMemAllocFromPoolAsync(&p[i], 1000u << i, pool, s[i / 4]));
    for (int i = 0; i < N; i++)
        TRY(launch(m, "count", 1, 32, s[i / 4], (void *[]){&p[i], &(unsigned){1}}));
    for (int i = 0; i < N; i++)
        TRY(cuMemFreeAsync(p[i], s[i / 4]));
    for (int i = 0; i < 2; i++)
        TRY(cuStreamSynchronize(s[i]));
    TRY(cuMemPoolTrimTo(pool, 0));
    for (int i = 0; i < 2; i++)
        TRY(cuStreamDestroy(s[i]));
    return cuMemPoolDestroy(pool);
}

/* ---- graphs ---- */

static CUresult graph_run(CUmodule m, CUgraph g, CUdeviceptr p, unsigned *calls)
{
    CUfunction f;
    CUcontext c;
    CUgraphNode set, kernel[2], host;
    CUgraphExec e;
    unsigned one = 1, value = 0;
    CUDA_MEMSET_NODE_PARAMS clear = {.dst = p, .elementSize = 4, .width = 1, .height = 1};
    TRY(cuCtxGetCurrent(&c));
    TRY(cuModuleGetFunction(&f, m, "count"));
    CUDA_KERNEL_NODE_PARAMS k = {.func = f,
                                 .gridDimX = 2,
                                 .gridDimY = 1,
                                 .gridDimZ = 1,
                                 .blockDimX = 32,
                                 .blockDimY = 1,
                                 .blockDimZ = 1,
                                 .kernelParams = (void *[]){&p, &one}};
    CUDA_HOST_NODE_PARAMS h = {.fn = add_one, .userData = calls};
    TRY(cuGraphAddMemsetNode(&set, g, NULL, 0, &clear, c));
    for (int i = 0; i < 2; i++)
        TRY(cuGraphAddKernelNode(&kernel[i], g, &set, 1, &k));
    TRY(cuGraphAddHostNode(&host, g, kernel, 2, &h));
    TRY(cuGraphInstantiate(&e, g, 0));
    for (int i = 0; i < 3; i++)
        TRY(cuGraphLaunch(e, NULL));
    TRY(cuCtxSynchronize());
    TRY(cuMemcpyDtoH(&value, p, sizeof value));
    must_be(value, 128, "a graph's kernels");
    must_be(*calls, 3, "a graph's host function");
    return cuGraphExecDestroy(e);
}

static CUresult graphs(CUmodule m)
{
    static unsigned calls;
    CUgraph g, captured;
    CUdeviceptr p;
    CUstream s;
    CUgraphExec e;
    calls = 0;
    TRY(cuMemAlloc(&p, 4));
    TRY(cuGraphCreate(&g, 0));
    TRY(graph_run(m, g, p, &calls));
    TRY(cuGraphDestroy(g));
    TRY(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    TRY(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CUresult r = launch(m, "count", 1, 32, s, (void *[]){&p, &(unsigned){1}});
    CUresult ended = cuStreamEndCapture(s, &captured);
    TRY(r);
    TRY(ended);
    TRY(cuGraphInstantiate(&e, captured, 0));
    TRY(cuGraphLaunch(e, s));
    TRY(cuStreamSynchronize(s));
    TRY(cuGraphExecDestroy(e));
    TRY(cuGraphDestroy(captured));
    TRY(cuStreamDestroy(s));
    return cuMemFree(p);
}

/* ---- launches by device code ---- */

static CUresult nested(CUmodule m)
{
    CUdeviceptr p;
    unsigned value;
    TRY(cuMemAlloc(&p, 4));
    TRY(cuMemsetD32(p, 0, 1));
    TRY(launch(m, "parent", 2, 16, NULL, (void *[]){&p}));
    TRY(cuCtxSynchronize());
    TRY(cuMemcpyDtoH(&value, p, sizeof value));
    if (inject_failed() == 0) /* else device code got an error, which it does not ask for */
        must_be(value, 2 * 16 * 3 * 16, "launches by device code");
    return cuMemFree(p);
}

/* ---- textures ---- */

static CUresult textures(CUmodule m)
{
    enum { N = 32 };
    CUarray array;
    CUtexObject t;
    CUdeviceptr out;
    float values[N], got[N];
    for (int i = 0; i < N; i++)
        values[i] = (float)i;
    CUDA_ARRAY_DESCRIPTOR shape = {.Width = N, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    TRY(cuArrayCreate(&array, &shape));
    TRY(cuMemcpyHtoA(array, 0, values, sizeof values));
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUDA_TEXTURE_DESC sampling = {.filterMode = CU_TR_FILTER_MODE_POINT};
    resource.res.array.hArray = array;
    TRY(cuTexObjectCreate(&t, &resource, &sampling, NULL));
    TRY(cuMemAlloc(&out, sizeof got));
    TRY(launch(m, "fetch", 1, N, NULL, (void *[]){&t, &out}));
    TRY(cuMemcpyDtoH(got, out, sizeof got));
    must_be((unsigned)got[7], 7, "a texture");
    TRY(cuMemFree(out));
    TRY(cuTexObjectDestroy(t));
    return cuArrayDestroy(array);
}

/* ---- what other processes may open ---- */

static CUresult shared(CUmodule m)
{
    CUdeviceptr p, at;
    CUipcMemHandle memory;
    CUipcEventHandle event;
    CUevent e;
    CUmemGenericAllocationHandle physical;
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemAccessDesc access = {.location = prop.location,
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    size_t bytes = 2 << 20;
    int fd;
    TRY(cuMemAlloc(&p, 4 << 20));
    TRY(cuIpcGetMemHandle(&memory, p));
    TRY(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    TRY(cuIpcGetEventHandle(&event, e));
    TRY(launch(m, "count", 1, 32, NULL, (void *[]){&p, &(unsigned){1}}));
    TRY(cuEventRecord(e, NULL));
    TRY(cuEventSynchronize(e));
    TRY(cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    TRY(cuMemCreate(&physical, bytes, &prop, 0));
    TRY(cuMemExportToShareableHandle(&fd, physical, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    close(fd);
    TRY(cuMemAddressReserve(&at, bytes, 0, 0, 0));
    TRY(cuMemMap(at, bytes, 0, physical, 0));
    TRY(cuMemSetAccess(at, bytes, &access, 1));
    TRY(cuMemsetD32(at, 0, 1));
    TRY(launch(m, "count", 1, 32, NULL, (void *[]){&at, &(unsigned){1}}));
    TRY(cuCtxSynchronize());
    TRY(cuMemUnmap(at, bytes));
    TRY(cuMemAddressFree(at, bytes));
    TRY(cuMemRelease(physical));
    TRY(cuEventDestroy(e));
    return cuMemFree(p);
}

/* ---- modules that are linked, and libraries ---- */

static CUresult modules(CUmodule m)
{
    CUlinkState link;
    void *image;
    size_t size;
    CUmodule linked;
    CUlibrary library;
    CUkernel kernel;
    CUfunction f;
    (void)m;
    TRY(cuLinkCreate(0, NULL, NULL, &link));
    CUresult r = cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)program, sizeof program, "program",
                               0, NULL, NULL);
    r = r == CUDA_SUCCESS ? cuLinkComplete(link, &image, &size) : r;
    r = r == CUDA_SUCCESS ? cuModuleLoadData(&linked, image) : r;
    TRY(cuLinkDestroy(link));
    TRY(r);
    TRY(cuModuleUnload(linked));
    TRY(cuLibraryLoadData(&library, program, NULL, NULL, 0, NULL, NULL, 0));
    TRY(cuLibraryGetKernel(&kernel, library, "count"));
    TRY(cuKernelGetFunction(&f, kernel));
    return cuLibraryUnload(library);
}

static const struct {
    const char *name;
    CUresult (*run)(CUmodule m);
} scenarios[] = {
    {"launches", launches}, {"host", host_functions}, {"pools", pools},   {"graphs", graphs},
    {"nested", nested},     {"textures", textures},   {"shared", shared}, {"modules", modules},
};

const char *scenario_name(int n)
{
    return n >= 0 && n < (int)(sizeof scenarios / sizeof *scenarios) ? scenarios[n].name : NULL;
}

CUresult scenario_run(int n)
{
    CUcontext c;
    CUdevice device;
    CUmodule m;
    TRY(cuInit(0));
    TRY(cuDeviceGet(&device, 0));
    TRY(cuCtxCreate(&c, NULL, 0, device));
    CUresult r = cuModuleLoadData(&m, program);
    if (r == CUDA_SUCCESS)
        r = scenarios[n].run(m);
    CUresult ended = cuCtxDestroy(c);
    return r != CUDA_SUCCESS ? r : ended;
}
