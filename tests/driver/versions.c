/* E1: every version of every call, by its symbol and by cuGetProcAddress, and what the old versions
 * do. */
#include "common.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

/* The calls as they were declared then, by the symbols' own names. */
typedef unsigned int address_32;
#define OLD(symbol, ...) ((CUresult(*)(__VA_ARGS__))dlsym(RTLD_DEFAULT, symbol))

/* ---- by name ---- */

static const struct {
    const char *name, *symbol;
    int since;
    bool own;
} rows[] = {
#define ONLY(name, since)            {#name, #name, since, false},
#define VERSION(name, suffix, since) {#name, #name #suffix, since, false},
#define OWN(name, suffix, since)     {#name, #name #suffix, since, true},
#include "driver/names/procaddress.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

/* What the rule gives: the newest that is not newer than asked for, among those of the thread's own
 * stream if there are any and they are asked for. */
static const char *expected(const char *name, int version, bool own)
{
    const char *found = NULL;
    bool any_own = false;
    int newest = 0;
    for (int n = 0; n < ROWS; n++)
        any_own |= rows[n].own && strcmp(rows[n].name, name) == 0;
    for (int n = 0; n < ROWS; n++)
        if (strcmp(rows[n].name, name) == 0 && rows[n].own == (own && any_own) &&
            rows[n].since <= version && rows[n].since > newest) {
            newest = rows[n].since;
            found = rows[n].symbol;
        }
    return found;
}

static void ask(const char *name, int version, cuuint64_t flags)
{
    void *p = (void *)&p;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    const char *symbol =
        expected(name, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    CUresult r = cuGetProcAddress(name, &p, version, flags, &status);
    void *wanted = symbol != NULL ? dlsym(RTLD_DEFAULT, symbol) : NULL;
    if (!check_count(p == wanted && (symbol == NULL) == (p == NULL) && r == CUDA_SUCCESS &&
                     status == (p != NULL ? CU_GET_PROC_ADDRESS_SUCCESS
                                          : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT)))
        printf("%s of %d, flags %d: %p, not %p (%s), status %d, %s\n", name, version, (int)flags, p,
               wanted, symbol, (int)status, result_name(r));
}

static void by_name(void)
{
    for (int n = 0; n < ROWS; n++)
        for (cuuint64_t flags = 0; flags <= 2; flags++) {
            ask(rows[n].name, rows[n].since, flags);
            ask(rows[n].name, rows[n].since - 1, flags);
            ask(rows[n].name, CUDA_VERSION, flags);
        }
    void *p;
    CUdriverProcAddressQueryResult status;
    OK(cuGetProcAddress("cuMemAlloc_v2", &p, CUDA_VERSION, 0, &status));
    CHECK(p == NULL && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    CHECK_CU(cuGetProcAddress("cuInit", &p, CUDA_VERSION + 10, 0, &status),
             CUDA_ERROR_INVALID_VALUE);
    /* OpenGL's are in a header of their own: there, and refused when they are called */
    OK(cuGetProcAddress("cuGraphicsGLRegisterBuffer", &p, 3000, 0, &status));
    CHECK(p != NULL &&
          ((CUresult(*)(void **, unsigned, unsigned))p)(NULL, 0, 0) == CUDA_ERROR_NOT_SUPPORTED);
    OK(cuGetProcAddress("cuCtxGetDevice", &p, 13000, 0, &status));
    CHECK(p == dlsym(RTLD_DEFAULT, "cuCtxGetDevice_v2"));
    OK(cuGetProcAddress("cuStreamWaitValue32", &p, 11060, 0, &status));
    CHECK(p == dlsym(RTLD_DEFAULT, "cuStreamWaitValue32"));
    OK(cuGetProcAddress("cuGraphInstantiate", &p, 12000, 0, &status));
    CHECK(p == dlsym(RTLD_DEFAULT, "cuGraphInstantiate_v2"));
    OK(cuGetProcAddress("cuStreamQuery", &p, 6050, 2, &status));
    CHECK(p == NULL && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

/* Versions and flags out of their range, as an H200's driver of CUDA 13.0 answered. */
static void odd_questions(void)
{
    static const struct {
        const char *name;
        int version;
        cuuint64_t flags;
        const char *symbol; /* NULL: none */
        CUdriverProcAddressQueryResult status;
    } answers[] = {
        {"cuMemAlloc", -1, 0, "cuMemAlloc_v2", CU_GET_PROC_ADDRESS_SUCCESS},
        {"cuStreamSynchronize", -1, 2, "cuStreamSynchronize_ptsz", CU_GET_PROC_ADDRESS_SUCCESS},
        {"cuMemAlloc_v2", -1, 0, NULL, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND},
        {"cuInit", 0, 0, NULL, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT},
        {"", 12000, 0, NULL, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND},
        {"cuStreamSynchronize", 12000, 3, "cuStreamSynchronize_ptsz", CU_GET_PROC_ADDRESS_SUCCESS},
        {"cuStreamSynchronize", 6050, 3, NULL, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT},
        {"cuMemAlloc", 2000, 3, "cuMemAlloc", CU_GET_PROC_ADDRESS_SUCCESS},
    };
    for (size_t n = 0; n < sizeof answers / sizeof *answers; n++) {
        void *p = (void *)&p;
        CUdriverProcAddressQueryResult status = 99;
        OK(cuGetProcAddress(answers[n].name, &p, answers[n].version, answers[n].flags, &status));
        CHECK(p == (answers[n].symbol != NULL ? dlsym(RTLD_DEFAULT, answers[n].symbol) : NULL));
        CHECK(status == answers[n].status);
        OK(cuGetProcAddress(answers[n].name, &p, answers[n].version, answers[n].flags, NULL));
    }
    for (cuuint64_t flags = 4; flags != 0; flags <<= 1) {
        void *p = (void *)&p;
        CHECK_CU(cuGetProcAddress("cuInit", &p, 12000, flags, NULL), CUDA_ERROR_INVALID_VALUE);
        CHECK(p == (void *)&p);
    }
}

/* The version without a status fails where there is nothing to find, and leaves the answer. */
static void without_status(void)
{
    CUresult (*ask_first)(const char *, void **, int, cuuint64_t) =
        dlsym(RTLD_DEFAULT, "cuGetProcAddress");
    void *p = (void *)&p;
    CHECK_CU(ask_first("cuNothing", &p, 12000, 0), CUDA_ERROR_NOT_FOUND);
    CHECK_CU(ask_first("cuInit", &p, 1000, 0), CUDA_ERROR_NOT_FOUND);
    CHECK_CU(ask_first("cuInit", &p, 14000, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(ask_first("cuInit", &p, 12000, 4), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(ask_first("cuInit", NULL, 12000, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(ask_first(NULL, &p, 12000, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK(p == (void *)&p);
    OK(ask_first("cuInit", &p, -1, 0));
    CHECK(p == dlsym(RTLD_DEFAULT, "cuInit"));
}

/* ---- addresses of 32 bits ---- */

struct copy_2d_32 {
    unsigned int src_x, src_y;
    CUmemorytype src_type;
    const void *src_host;
    address_32 src_device;
    CUarray src_array;
    unsigned int src_pitch, dst_x, dst_y;
    CUmemorytype dst_type;
    void *dst_host;
    address_32 dst_device;
    CUarray dst_array;
    unsigned int dst_pitch, width, height;
};

struct copy_3d_32 {
    unsigned int src_x, src_y, src_z, src_lod;
    CUmemorytype src_type;
    const void *src_host;
    address_32 src_device;
    CUarray src_array;
    void *reserved0;
    unsigned int src_pitch, src_height, dst_x, dst_y, dst_z, dst_lod;
    CUmemorytype dst_type;
    void *dst_host;
    address_32 dst_device;
    CUarray dst_array;
    void *reserved1;
    unsigned int dst_pitch, dst_height, width, height, depth;
};

struct array_32 {
    unsigned int width, height;
    CUarray_format format;
    unsigned int channels;
};

struct array_3d_32 {
    unsigned int width, height, depth;
    CUarray_format format;
    unsigned int channels, flags;
};

/* Device memory is higher: said so, and nothing stays allocated. */
static void too_high(CUmodule module)
{
    address_32 at = 1;
    unsigned int pitch = 1, bytes = 0;
    size_t before, after, total;
    OK(cuMemGetInfo(&before, &total));
    CHECK_CU(OLD("cuMemAlloc", address_32 *, unsigned int)(&at, 4096), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(at == 1 && strstr(weir_last_message(), "32 bits") != NULL);
    CHECK_CU(OLD("cuMemAllocPitch", address_32 *, unsigned int *, unsigned int, unsigned int,
                 unsigned int)(&at, &pitch, 100, 10, 4),
             CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemGetInfo(&after, &total));
    CHECK_EQ_INT(before, after);
    CHECK_CU(OLD("cuModuleGetGlobal", address_32 *, unsigned int *, CUmodule,
                 const char *)(&at, &bytes, module, "counter"),
             CUDA_ERROR_INVALID_VALUE);
    OK(OLD("cuModuleGetGlobal", address_32 *, unsigned int *, CUmodule,
           const char *)(NULL, &bytes, module, "counter"));
    CHECK_EQ_INT(bytes, 4);
    CHECK_CU(OLD("cuMemAlloc", address_32 *, unsigned int)(NULL, 4096), CUDA_ERROR_INVALID_VALUE);
}

static void sizes(void)
{
    size_t free_bytes, total;
    unsigned int free_32 = 0, total_32 = 0, all_32 = 0;
    OK(cuMemGetInfo(&free_bytes, &total));
    OK(OLD("cuMemGetInfo", unsigned int *, unsigned int *)(&free_32, &total_32));
    CHECK_EQ_INT(total_32, total > UINT32_MAX ? UINT32_MAX : total);
    OK(OLD("cuDeviceTotalMem", unsigned int *, CUdevice)(&all_32, 0));
    CHECK_EQ_INT(all_32, total_32);
    CHECK_CU(OLD("cuDeviceTotalMem", unsigned int *, CUdevice)(NULL, 0), CUDA_ERROR_INVALID_VALUE);
}

static void copies_32(address_32 at, unsigned char *low)
{
    unsigned char host[64], back[64];
    for (int n = 0; n < 64; n++)
        host[n] = (unsigned char)(n + 1);
    OK(OLD("cuMemcpyHtoD", address_32, const void *, unsigned int)(at, host, 64));
    OK(OLD("cuMemcpyDtoD", address_32, address_32, unsigned int)(at + 64, at, 64));
    OK(OLD("cuMemcpyDtoH", void *, address_32, unsigned int)(back, at + 64, 64));
    CHECK(memcmp(host, back, 64) == 0 && memcmp(low, host, 64) == 0);
    OK(OLD("cuMemsetD8", address_32, unsigned char, unsigned int)(at, 7, 4));
    OK(OLD("cuMemsetD16", address_32, unsigned short, unsigned int)(at + 4, 0x0809, 2));
    OK(OLD("cuMemsetD32", address_32, unsigned int, unsigned int)(at + 8, 0x0a0b0c0d, 1));
    OK(OLD("cuMemsetD2D8", address_32, unsigned int, unsigned char, unsigned int,
           unsigned int)(at + 16, 8, 1, 2, 2));
    CHECK(memcmp(low, "\7\7\7\7\x9\x8\x9\x8\xd\xc\xb\xa", 12) == 0);
    CHECK(low[16] == 1 && low[17] == 1 && low[18] == 19 && low[24] == 1);

    struct copy_2d_32 c = {.src_type = CU_MEMORYTYPE_HOST,
                           .src_host = host,
                           .src_pitch = 8,
                           .dst_type = CU_MEMORYTYPE_DEVICE,
                           .dst_device = at,
                           .dst_pitch = 16,
                           .width = 8,
                           .height = 4};
    OK(OLD("cuMemcpy2D", const struct copy_2d_32 *)(&c));
    CHECK(memcmp(low + 16, host + 8, 8) == 0 && memcmp(low + 48, host + 24, 8) == 0);
    struct copy_3d_32 b = {.src_type = CU_MEMORYTYPE_DEVICE,
                           .src_device = at,
                           .src_pitch = 16,
                           .src_height = 2,
                           .dst_type = CU_MEMORYTYPE_HOST,
                           .dst_host = back,
                           .dst_pitch = 8,
                           .dst_height = 2,
                           .width = 8,
                           .height = 2,
                           .depth = 2};
    memset(back, 0, sizeof back);
    OK(OLD("cuMemcpy3D", const struct copy_3d_32 *)(&b));
    CHECK(memcmp(back, host, 32) == 0);
    CHECK_CU(OLD("cuMemcpy2D", const struct copy_2d_32 *)(NULL), CUDA_ERROR_INVALID_VALUE);
    OK(OLD("cuMemcpy3DAsync", const struct copy_3d_32 *, CUstream)(&b, NULL));
    OK(cuStreamSynchronize(NULL));
}

static void arrays_32(address_32 at)
{
    CUarray a;
    struct array_32 d = {16, 4, CU_AD_FORMAT_UNSIGNED_INT8, 1}, told;
    OK(OLD("cuArrayCreate", CUarray *, const struct array_32 *)(&a, &d));
    OK(OLD("cuArrayGetDescriptor", struct array_32 *, CUarray)(&told, a));
    CHECK(memcmp(&d, &told, sizeof d) == 0);
    char back[16] = "";
    OK(OLD("cuMemcpyHtoA", CUarray, unsigned int, const void *,
           unsigned int)(a, 0, "0123456789abcde", 16));
    OK(OLD("cuMemcpyAtoD", address_32, CUarray, unsigned int, unsigned int)(at, a, 4, 8));
    OK(OLD("cuMemcpyDtoH", void *, address_32, unsigned int)(back, at, 8));
    CHECK_STR(back, "456789ab");
    OK(OLD("cuMemcpyAtoH", void *, CUarray, unsigned int, unsigned int)(back, a, 0, 4));
    CHECK(memcmp(back, "0123", 4) == 0);
    OK(cuArrayDestroy(a));
    struct array_3d_32 box = {8, 4, 2, CU_AD_FORMAT_FLOAT, 2, 0}, told_box;
    OK(OLD("cuArray3DCreate", CUarray *, const struct array_3d_32 *)(&a, &box));
    OK(OLD("cuArray3DGetDescriptor", struct array_3d_32 *, CUarray)(&told_box, a));
    CHECK(memcmp(&box, &told_box, sizeof box) == 0);
    OK(cuArrayDestroy(a));
    CUtexref t;
    unsigned int offset = 1;
    address_32 bound = 0;
    OK(cuTexRefCreate(&t));
    OK(cuTexRefSetFormat(t, CU_AD_FORMAT_UNSIGNED_INT32, 1));
    OK(OLD("cuTexRefSetAddress", unsigned int *, CUtexref, address_32, unsigned int)(&offset, t, at,
                                                                                     256));
    OK(OLD("cuTexRefGetAddress", address_32 *, CUtexref)(&bound, t));
    CHECK(offset == 0 && bound == at);
    OK(cuTexRefDestroy(t));
}

/* What can be reached by 32 bits works with these calls: memory that the program placed itself. */
static void narrow(void)
{
    void *low =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (low == MAP_FAILED)
        return;
    address_32 at = 0, base = 0;
    unsigned int bytes = 0;
    NEED(OLD("cuMemHostRegister", void *, size_t, unsigned int)(low, 4096,
                                                                CU_MEMHOSTREGISTER_DEVICEMAP));
    OK(OLD("cuMemHostGetDevicePointer", address_32 *, void *, unsigned int)(&at, low, 0));
    CHECK_EQ_INT(at, (uintptr_t)low);
    OK(OLD("cuMemGetAddressRange", address_32 *, unsigned int *, address_32)(&base, &bytes,
                                                                             at + 9));
    CHECK(base == at && bytes == 4096);
    copies_32(at, low);
    arrays_32(at);
    OK(cuMemHostUnregister(low));
    munmap(low, 4096);
    void *high;
    OK(OLD("cuMemAllocHost", void **, unsigned int)(&high, 64));
    CHECK_CU(OLD("cuMemHostGetDevicePointer", address_32 *, void *, unsigned int)(&at, high, 0),
             (uintptr_t)high > UINT32_MAX ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
    OK(cuMemFreeHost(high));
}

/* ---- launches in steps ---- */

static void steps(CUmodule module)
{
    CUdeviceptr word;
    unsigned value = 0;
    CUfunction f = kernel(module, "count");
    CUstream s;
    OK(cuStreamCreate(&s, 0));
    OK(cuMemAlloc(&word, 4));
    OK(cuMemsetD32(word, 0, 1));
    CHECK_CU(cuLaunch(f), CUDA_ERROR_INVALID_VALUE); /* of which block? */
    OK(cuFuncSetBlockShape(f, 8, 4, 2));
    OK(cuFuncSetSharedSize(f, 128));
    OK(cuParamSetSize(f, 8));
    OK(cuParamSetv(f, 0, &word, sizeof word));
    OK(cuLaunch(f));
    OK(cuLaunchGrid(f, 3, 2));
    OK(cuLaunchGridAsync(f, 2, 1, s));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(&value, word, 4));
    CHECK_EQ_INT(value, 64 * (1 + 6 + 2));
    CHECK_CU(cuLaunchGrid(f, 0, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuFuncSetBlockShape(f, 0, 1, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuParamSetv(f, 4090, &word, 8), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuParamSetv(f, -4, &word, 8), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuParamSetSize(f, 5000), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncSetSharedSize(f, 1 << 20));
    CHECK_CU(cuLaunch(f), CUDA_ERROR_INVALID_VALUE);
    f = kernel(module, "store");
    OK(cuFuncSetBlockShape(f, 1, 1, 1));
    OK(cuParamSetSize(f, 12));
    OK(cuParamSetv(f, 0, &word, sizeof word));
    OK(cuParamSeti(f, 8, 17));
    OK(cuLaunch(f));
    OK(cuMemcpyDtoH(&value, word, 4));
    CHECK_EQ_INT(value, 17);
    OK(cuParamSetf(f, 8, 1.0f));
    OK(cuLaunch(f));
    OK(cuMemcpyDtoH(&value, word, 4));
    CHECK_EQ_INT(value, 0x3f800000);
    OK(cuMemFree(word));
    OK(cuStreamDestroy(s));
}

/* ---- contexts ---- */

static void contexts(CUcontext primary)
{
    CUcontext c = NULL, same = NULL, now = NULL;
    unsigned int version = 0;
    OK(OLD("cuCtxCreate", CUcontext *, unsigned int, CUdevice)(&c, 0, 0));
    OK(cuCtxGetApiVersion(c, &version));
    CHECK_EQ_INT(version, 3010);
    OK(cuCtxGetApiVersion(primary, &version));
    CHECK_EQ_INT(version, 3020);
    CHECK_CU(cuCtxAttach(&same, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxAttach(&same, 0));
    CHECK(same == c);
    CHECK_CU(OLD("cuCtxDestroy", CUcontext)(c), CUDA_ERROR_INVALID_CONTEXT);
    CHECK_CU(cuCtxDetach(primary), CUDA_ERROR_INVALID_CONTEXT); /* it is not current */
    OK(cuCtxDetach(c));
    OK(cuCtxGetCurrent(&now));
    CHECK(now == c);
    OK(cuCtxDetach(c));
    OK(cuCtxGetCurrent(&now));
    CHECK(now == primary);
    CHECK(cuCtxDetach(c) != CUDA_SUCCESS);
    OK(OLD("cuCtxCreate", CUcontext *, unsigned int, CUdevice)(&c, 0, 0));
    OK(OLD("cuCtxDestroy", CUcontext)(c));
    CHECK_CU(OLD("cuDevicePrimaryCtxSetFlags", CUdevice, unsigned int)(0, CU_CTX_SCHED_YIELD),
             CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE);
    OK(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_AUTO));
}

/* ---- graphs ---- */

static void graphs(CUmodule module)
{
    CUgraph g;
    CUgraphNode a, b, culprit = (CUgraphNode)1, list[4];
    CUgraphExec e;
    CUgraphExecUpdateResult update = CU_GRAPH_EXEC_UPDATE_ERROR;
    CUdeviceptr word;
    char log[64] = "x";
    size_t count = 2;
    unsigned value = 0;
    OK(cuMemAlloc(&word, 4));
    OK(cuMemsetD32(word, 0, 1));
    OK(cuGraphCreate(&g, 0));
    CUDA_KERNEL_NODE_PARAMS_v1 p = {.func = kernel(module, "count"),
                                    .gridDimX = 1,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = 32,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .kernelParams = (void *[]){&word}},
                               told;
    OK(OLD("cuGraphAddKernelNode", CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
           const CUDA_KERNEL_NODE_PARAMS_v1 *)(&a, g, NULL, 0, &p));
    memset(&told, 0, sizeof told);
    OK(OLD("cuGraphKernelNodeGetParams", CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v1 *)(a, &told));
    CHECK(told.func == p.func && told.blockDimX == 32);
    p.blockDimX = 64;
    OK(OLD("cuGraphKernelNodeSetParams", CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1 *)(a, &p));
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    OK(OLD("cuGraphAddNode", CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
           CUgraphNodeParams *)(&b, g, NULL, 0, &any));
    OK(OLD("cuGraphAddDependencies", CUgraph, const CUgraphNode *, const CUgraphNode *,
           size_t)(g, &a, &b, 1));
    OK(OLD("cuGraphGetEdges", CUgraph, CUgraphNode *, CUgraphNode *, size_t *)(g, list, list + 2,
                                                                               &count));
    CHECK(count == 1 && list[0] == a && list[2] == b);
    count = 2;
    OK(OLD("cuGraphNodeGetDependencies", CUgraphNode, CUgraphNode *, size_t *)(b, list, &count));
    CHECK(count == 1 && list[0] == a);
    count = 2;
    OK(OLD("cuGraphNodeGetDependentNodes", CUgraphNode, CUgraphNode *, size_t *)(a, list, &count));
    CHECK(count == 1 && list[0] == b);
    OK(OLD("cuGraphRemoveDependencies", CUgraph, const CUgraphNode *, const CUgraphNode *,
           size_t)(g, &a, &b, 1));
    OK(OLD("cuGraphInstantiate", CUgraphExec *, CUgraph, CUgraphNode *, char *,
           size_t)(&e, g, &culprit, log, sizeof log));
    CHECK(culprit == NULL && log[0] == '\0');
    OK(cuGraphLaunch(e, NULL));
    p.blockDimX = 16;
    OK(OLD("cuGraphExecKernelNodeSetParams", CUgraphExec, CUgraphNode,
           const CUDA_KERNEL_NODE_PARAMS_v1 *)(e, a, &p));
    OK(cuGraphLaunch(e, NULL));
    OK(OLD("cuGraphExecUpdate", CUgraphExec, CUgraph, CUgraphNode *,
           CUgraphExecUpdateResult *)(e, g, &culprit, &update));
    CHECK(update == CU_GRAPH_EXEC_UPDATE_SUCCESS && culprit == NULL);
    OK(cuGraphLaunch(e, NULL));
    OK(cuMemcpyDtoH(&value, word, 4));
    CHECK_EQ_INT(value, 64 + 16 + 64);
    OK(OLD("cuGraphAddDependencies", CUgraph, const CUgraphNode *, const CUgraphNode *,
           size_t)(g, &a, &b, 1));
    CHECK_CU(OLD("cuGraphExecUpdate", CUgraphExec, CUgraph, CUgraphNode *,
                 CUgraphExecUpdateResult *)(e, g, &culprit, &update),
             CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK(update != CU_GRAPH_EXEC_UPDATE_SUCCESS);
    OK(cuGraphExecDestroy(e));
    CHECK(OLD("cuGraphInstantiate_v2", CUgraphExec *, CUgraph, CUgraphNode *, char *,
              size_t)(NULL, g, &culprit, log, 8) != CUDA_SUCCESS);
    CHECK(log[0] != '\0' && strlen(log) < 8);
    OK(cuGraphDestroy(g));
    OK(cuMemFree(word));
}

/* ---- streams ---- */

static void captures(void)
{
    CUstream s;
    CUgraph g, end;
    CUgraphNode node;
    const CUgraphNode *nodes = NULL;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0, id_2 = 0;
    size_t count = 9;
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(OLD("cuStreamBeginCapture", CUstream)(s));
    OK(OLD("cuStreamGetCaptureInfo", CUstream, CUstreamCaptureStatus *, cuuint64_t *)(s, &status,
                                                                                      &id));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id != 0);
    OK(OLD("cuStreamGetCaptureInfo_v2", CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
           const CUgraphNode **, size_t *)(s, &status, &id_2, &g, &nodes, &count));
    CHECK(id_2 == id && count == 0);
    OK(cuGraphAddEmptyNode(&node, g, NULL, 0));
    OK(OLD("cuStreamUpdateCaptureDependencies", CUstream, CUgraphNode *, size_t,
           unsigned int)(s, &node, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    OK(OLD("cuStreamGetCaptureInfo_v2_ptsz", CUstream, CUstreamCaptureStatus *, cuuint64_t *,
           CUgraph *, const CUgraphNode **, size_t *)(s, &status, &id_2, &g, &nodes, &count));
    CHECK(count == 1 && nodes[0] == node);
    OK(cuStreamEndCapture(s, &end));
    CHECK(end == g);
    OK(cuGraphDestroy(g));
    OK(cuStreamDestroy(s));
}

static void values(void)
{
    CUdeviceptr words;
    cuuint64_t value = 0;
    OK(cuMemAlloc(&words, 16));
    OK(cuMemsetD32(words, 0, 4));
    OK(OLD("cuStreamWriteValue32", CUstream, CUdeviceptr, cuuint32_t, unsigned int)(NULL, words, 5,
                                                                                    0));
    OK(OLD("cuStreamWaitValue32", CUstream, CUdeviceptr, cuuint32_t, unsigned int)(NULL, words, 5,
                                                                                   0));
    OK(OLD("cuStreamWriteValue64_ptsz", CUstream, CUdeviceptr, cuuint64_t,
           unsigned int)(NULL, words + 8, 1ull << 40, 0));
    OK(OLD("cuStreamWaitValue64_ptsz", CUstream, CUdeviceptr, cuuint64_t,
           unsigned int)(NULL, words + 8, 1ull << 40, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(&value, words + 8, 8));
    CHECK(value == 1ull << 40);
    CUstreamBatchMemOpParams op = {
        .writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = words, .value = 9}};
    OK(OLD("cuStreamBatchMemOp", CUstream, unsigned int, CUstreamBatchMemOpParams *,
           unsigned int)(NULL, 1, &op, 0));
    OK(cuMemcpyDtoH(&value, words, 8));
    CHECK_EQ_INT((unsigned)value, 9);
    OK(cuMemFree(words));
}

/* ---- batches of copies that tell which failed ---- */

typedef CUresult (*batch_call)(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *,
                               size_t *, size_t, size_t *, CUstream);

static void batches(void)
{
    batch_call batch = (batch_call)dlsym(RTLD_DEFAULT, "cuMemcpyBatchAsync");
    CUstream s;
    CUdeviceptr words, to[2], from[2];
    size_t sizes_of[2] = {8, 8}, first = 0, failed = 7;
    CUmemcpyAttributes how = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    cuuint64_t host[2] = {1, 2}, back[2] = {0, 0};
    OK(cuStreamCreate(&s, 0));
    OK(cuMemAlloc(&words, 16));
    for (int n = 0; n < 2; n++) {
        to[n] = words + 8 * (unsigned)n;
        from[n] = (CUdeviceptr)(uintptr_t)&host[n];
    }
    OK(batch(to, from, sizes_of, 2, &how, &first, 1, &failed, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH(back, words, 16));
    CHECK(back[0] == 1 && back[1] == 2);
    to[1] = 0;
    CHECK_CU(batch(to, from, sizes_of, 2, &how, &first, 1, &failed, s), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_INT(failed, 1);
    to[1] = words + 12; /* beyond the end */
    sizes_of[1] = 1 << 24;
    failed = 7;
    CHECK_CU(batch(to, from, sizes_of, 2, &how, &first, 1, &failed, s), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_INT(failed, 1);
    CHECK_CU(batch(to, from, sizes_of, 0, &how, &first, 1, &failed, s), CUDA_ERROR_INVALID_VALUE);
    CHECK(failed == SIZE_MAX);

    CUDA_MEMCPY3D_BATCH_OP ops[2] = {
        {.src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = from[1]}},
         .dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = words}},
         .extent = {8, 1, 1},
         .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM}};
    ops[1] = ops[0];
    ops[1].extent.width = 0;
    CHECK_CU(OLD("cuMemcpy3DBatchAsync", size_t, CUDA_MEMCPY3D_BATCH_OP *, size_t *,
                 unsigned long long, CUstream)(2, ops, &failed, 0, s),
             CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_INT(failed, 1);
    OK(OLD("cuMemcpy3DBatchAsync", size_t, CUDA_MEMCPY3D_BATCH_OP *, size_t *, unsigned long long,
           CUstream)(1, ops, &failed, 0, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH(back, words, 8));
    CHECK_EQ_INT(back[0], 2);
    OK(cuMemFree(words));
    OK(cuStreamDestroy(s));
}

/* ---- what is refused ---- */

static void refused(void)
{
    CHECK_CU(OLD("cuProfilerInitialize", const char *, const char *, int)("a", "b", 0),
             CUDA_ERROR_NOT_SUPPORTED);
    CHECK(strstr(weir_last_message(), "cuProfilerInitialize") != NULL);
    CHECK_CU(
        OLD("cuLaunchCooperativeKernelMultiDevice", void *, unsigned int, unsigned int)(NULL, 0, 0),
        CUDA_ERROR_NOT_SUPPORTED);
    CHECK(strstr(weir_last_message(), "cuLaunchCooperativeKernelMultiDevice") != NULL);
}

int main(void)
{
    CUcontext c = begin();
    CUmodule module = load();
    by_name();
    odd_questions();
    without_status();
    too_high(module);
    sizes();
    narrow();
    steps(module);
    contexts(c);
    graphs(module);
    captures();
    values();
    batches();
    refused();
    return check_done();
}
