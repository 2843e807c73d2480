/* K1.2, by the driver API: launches: shapes and sizes that do not fit, parameters in both forms,
 * attributes, cooperative grids, functions' attributes, occupancy. */
#include "common.h"

static CUmodule module;

static CUresult shaped(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                       unsigned by, unsigned bz, unsigned shared)
{
    return cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, NULL, NULL, NULL);
}

static void shapes(void)
{
    CUfunction f = kernel(module, "nothing"), small = kernel(module, "small");
    static const struct {
        unsigned g[3], b[3], shared;
        CUresult code;
    } cases[] = {
        {{1, 1, 1}, {1, 1, 1}, 0, CUDA_SUCCESS},
        {{1, 1, 1}, {1024, 1, 1}, 0, CUDA_SUCCESS},
        {{1, 1, 1}, {1, 1024, 1}, 0, CUDA_SUCCESS},
        {{1, 1, 1}, {4, 4, 64}, 0, CUDA_SUCCESS},
        {{3, 65535, 1}, {1, 1, 1}, 0, CUDA_SUCCESS},
        {{0, 1, 1}, {1, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
        {{1, 1, 1}, {0, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
        {{1, 1, 1}, {1025, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
        {{1, 1, 1}, {32, 33, 1}, 0, CUDA_ERROR_INVALID_VALUE},
        {{1, 1, 1}, {1, 1, 65}, 0, CUDA_ERROR_INVALID_VALUE},
        {{1, 65536, 1}, {1, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
        {{1, 1, 65536}, {1, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
        {{2147483648u, 1, 1}, {1, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
        {{1, 1, 1}, {1, 1, 1}, 49152, CUDA_SUCCESS},
        {{1, 1, 1}, {1, 1, 1}, 49153, CUDA_ERROR_INVALID_VALUE},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        CUresult r = shaped(f, cases[n].g[0], cases[n].g[1], cases[n].g[2], cases[n].b[0],
                            cases[n].b[1], cases[n].b[2], cases[n].shared);
        if (!check_count(r == cases[n].code))
            printf("shape %zu: %s, not %s\n", n, result_name(r), result_name(cases[n].code));
    }
    OK(shaped(small, 1, 1, 1, 64, 1, 1, 0));
    CHECK_CU(shaped(small, 1, 1, 1, 65, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(shaped(NULL, 1, 1, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxSynchronize());
}

static void shared_memory(void)
{
    CUfunction f = kernel(module, "shared");
    unsigned *out;
    int value;
    NEED(cuMemHostAlloc((void **)&out, 12, 0));
    void *params[] = {&out};
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 1000, NULL, params, NULL));
    OK(cuCtxSynchronize());
    CHECK(out[0] == 1000 && out[1] == 7 && out[2] == 8);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f));
    CHECK_EQ_INT(value, 1024);
    CHECK_CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 48129, NULL, params, NULL),
             CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200000));
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
    CHECK_EQ_INT(value, 200000);
    OK(cuLaunchKernel(f, 2, 1, 1, 1, 1, 1, 200000, NULL, params, NULL));
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(out[0], 200000);
    CHECK_CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 200001, NULL, params, NULL),
             CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448 - 1023),
             CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeHost(out));
}

/* Arrays in local memory that are accessed as vectors, wherever they are. */
static void local_vectors(void)
{
    CUfunction f = kernel(module, "local_vectors");
    float(*out)[6];
    NEED(cuMemHostAlloc((void **)&out, 64 * sizeof *out, 0));
    OK(launch(f, 1, 64, NULL, (void *[]){&out}));
    OK(cuCtxSynchronize());
    for (int n = 0; n < 64; n++) {
        /* the second vector covers none of the first, which ends at byte 32 */
        const int times[6] = {1, 2, 3, 4, 3, 4};
        for (int k = 0; k < 6; k++)
            CHECK(out[n][k] == (float)(n * times[k]));
    }
    OK(cuMemFreeHost(out));
}

static void parameters(void)
{
    CUfunction f = kernel(module, "mixed");
    unsigned *out, c[3] = {1, 2, 0x12345678};
    unsigned char a = 200;
    unsigned short b = 40000;
    size_t at, bytes;
    NEED(cuMemHostAlloc((void **)&out, 12, 0));
    void *params[] = {&a, &out, &b, c};
    OK(launch(f, 1, 1, NULL, params));
    OK(cuCtxSynchronize());
    CHECK(out[0] == 200 && out[1] == 40000 && out[2] == 0x12345678);

    static const size_t places[] = {0, 8, 16, 24}, sizes[] = {1, 8, 2, 12};
    for (size_t n = 0; n < 4; n++) {
        OK(cuFuncGetParamInfo(f, n, &at, &bytes));
        CHECK(at == places[n] && bytes == sizes[n]);
    }
    unsigned char packed[36] = {0};
    packed[0] = 9;
    memcpy(packed + 8, &out, 8);
    b = 1234;
    memcpy(packed + 16, &b, 2);
    memcpy(packed + 24, c, 12);
    size_t size = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    OK(cuCtxSynchronize());
    CHECK(out[0] == 9 && out[1] == 1234);
    CHECK_CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, extra), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    extra[0] = (void *)77;
    CHECK_CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeHost(out));
}

static void attributes(void)
{
    CUfunction f = kernel(module, "nothing");
    CUlaunchAttribute a = {0};
    CUlaunchConfig c = {1, 1, 1, 32, 1, 1, 0, NULL, &a, 1};
    static const struct {
        CUlaunchAttributeID id;
        unsigned x;
        CUresult code;
    } cases[] = {
        {CU_LAUNCH_ATTRIBUTE_IGNORE, 0, CUDA_SUCCESS},
        {CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1, CUDA_SUCCESS},
        {CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 1, CUDA_SUCCESS},
        {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 1, CUDA_SUCCESS},
        {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 2, CUDA_ERROR_INVALID_CLUSTER_SIZE},
        {CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, 0, CUDA_ERROR_NOT_SUPPORTED},
        {CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, 0, CUDA_ERROR_NOT_SUPPORTED},
        {CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, 1, CUDA_ERROR_NOT_SUPPORTED},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        memset(&a, 0, sizeof a);
        a.id = cases[n].id;
        if (a.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            a.value.clusterDim.x = cases[n].x;
            a.value.clusterDim.y = a.value.clusterDim.z = 1;
        } else {
            a.value.cooperative = (int)cases[n].x;
        }
        CUresult r = cuLaunchKernelEx(&c, f, NULL, NULL);
        if (!check_count(r == cases[n].code))
            printf("attribute %zu: %s, not %s\n", n, result_name(r), result_name(cases[n].code));
    }
    c.attrs = NULL;
    CHECK_CU(cuLaunchKernelEx(&c, f, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuLaunchKernelEx(NULL, f, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxSynchronize());
}

/* What fits on the device at once may be launched so, and nothing more. */
static void cooperative(void)
{
    CUfunction f = kernel(module, "nothing");
    int sms, each, supported;
    OK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 0));
    CHECK_EQ_INT(supported, 1);
    OK(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, f, 128, 0));
    unsigned most = (unsigned)(sms * each);
    OK(cuLaunchCooperativeKernel(f, most, 1, 1, 128, 1, 1, 0, NULL, NULL));
    CHECK_CU(cuLaunchCooperativeKernel(f, most + 1, 1, 1, 128, 1, 1, 0, NULL, NULL),
             CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    OK(cuCtxSynchronize());
}

static void occupancy(void)
{
    CUfunction f = kernel(module, "nothing"), small = kernel(module, "small");
    int blocks, threads, grid;
    size_t bytes;
    OK(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    CHECK_EQ_INT(threads, 1024);
    OK(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, small));
    CHECK_EQ_INT(threads, 64);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 1024, 0));
    CHECK_EQ_INT(blocks, 2);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 32, 0));
    CHECK_EQ_INT(blocks, 32);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 32, 100000));
    CHECK_EQ_INT(blocks, 2);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, small, 128, 0));
    CHECK_EQ_INT(blocks, 0);
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &threads, f, NULL, 0, 0));
    CHECK(threads == 1024 && grid >= 2);
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &threads, f, NULL, 0, 200));
    CHECK(threads <= 200 && threads > 0);
    OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 2, 128));
    CHECK_EQ_INT(bytes, 48 << 10); /* what it may be launched with, until it is let have more */
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200000));
    OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 2, 128));
    CHECK_EQ_INT(bytes, 233472 / 2 - 1024);
    CUfunctionLoadingState state;
    OK(cuFuncIsLoaded(&state, f));
    OK(cuFuncLoad(f));
    const char *name;
    OK(cuFuncGetName(&name, f));
    CHECK_STR(name, "nothing");
}

/* A large grid in one dimension, and all of its blocks run. */
static void large(void)
{
    unsigned *word;
    NEED(cuMemHostAlloc((void **)&word, 4, 0));
    *word = 0;
    OK(launch(kernel(module, "count"), 100000, 1, NULL, (void *[]){&word}));
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(*word, 100000);
    OK(cuMemFreeHost(word));
}

/* More memory than a device has: for blocks it is refused when the module is loaded, for threads
 * when the kernel is launched. */
static void memory_beyond(void)
{
    static const struct {
        const char *space, *bytes;
        CUresult load, launch;
    } cases[] = {
        {"shared", "49153", CUDA_SUCCESS, CUDA_SUCCESS},
        {"shared", "232448", CUDA_SUCCESS, CUDA_SUCCESS},
        {"shared", "232449", CUDA_ERROR_INVALID_PTX, CUDA_SUCCESS},
        {"shared", "4294967304", CUDA_ERROR_INVALID_PTX, CUDA_SUCCESS},
        {"local", "523264", CUDA_SUCCESS, CUDA_SUCCESS},
        {"local", "523776", CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE},
        {"local", "100000000", CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE},
        {"local", "4294967312", CUDA_ERROR_INVALID_PTX, CUDA_SUCCESS},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        char text[400];
        CUmodule m;
        snprintf(text, sizeof text,
                 ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n"
                 ".reg .b32 %%r;\n.%s .align 4 .b8 s[%s];\nld.volatile.%s.u32 %%r, [s];\n"
                 "st.volatile.%s.u32 [s], %%r;\nret;\n}\n",
                 cases[n].space, cases[n].bytes, cases[n].space, cases[n].space);
        CHECK_CU(cuModuleLoadData(&m, text), cases[n].load);
        if (cases[n].load != CUDA_SUCCESS) {
            CHECK(strstr(weir_last_message(), "line 6") != NULL);
            continue;
        }
        CHECK_CU(shaped(kernel(m, "k"), 1, 1, 1, 32, 1, 1, 0), cases[n].launch);
        OK(cuCtxSynchronize());
        OK(cuModuleUnload(m));
    }
}

/* Blocks of exactly the shape that the kernel demands. */
static void demanded_shape(void)
{
    static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                               ".visible .entry k() .reqntid 8, 4\n{\nret;\n}\n"
                               ".visible .entry l() .reqntid 2048\n{\nret;\n}\n";
    CUmodule m;
    NEED(cuModuleLoadData(&m, text));
    CUfunction k = kernel(m, "k");
    OK(shaped(k, 1, 1, 1, 8, 4, 1, 0));
    CHECK_CU(shaped(k, 1, 1, 1, 8, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(shaped(k, 1, 1, 1, 4, 8, 1, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(shaped(kernel(m, "l"), 1, 1, 1, 32, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxSynchronize());
    OK(cuModuleUnload(m));
}

/* What a kernel, or a function that it calls, declares in shared memory counts though nothing uses
 * it; what the module and functions that are not called declare does not. Sizes from ptxas of CUDA
 * 13. */
static void declared_shared(void)
{
    static const char text[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".shared .align 4 .b8 used[64];\n.shared .align 4 .b8 unused[128];\n"
        ".func declares() { .shared .align 4 .b8 m[1000]; ret; }\n"
        ".func not_called() { .shared .align 4 .b8 m[300000]; ret; }\n"
        ".func again() { .shared .align 4 .b8 m[500]; { call again, (); } ret; }\n"
        ".visible .entry a() { { call declares, (); } { call declares, (); } ret; }\n"
        ".visible .entry b() { .shared .b8 m[10]; .shared .align 16 .b8 n[20]; ret; }\n"
        ".visible .entry c() { .shared .align 4 .b8 m[100]; .reg .b32 %r;\n"
        "  mov.u32 %r, 0; st.shared.u32 [used], %r; ret; }\n"
        ".visible .entry d() { .shared .align 4 .b8 m[100]; { .shared .align 4 .b8 n[16]; } ret; "
        "}\n"
        ".visible .entry e() { { call again, (); } ret; }\n"
        ".visible .entry f() { ret; }\n";
    static const struct {
        const char *name;
        int bytes;
    } cases[] = {{"a", 1000}, {"b", 36}, {"c", 164}, {"d", 116}, {"e", 500}, {"f", 0}};
    CUmodule m;
    NEED(cuModuleLoadData(&m, text));
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        int bytes = -1;
        OK(cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                              kernel(m, cases[n].name)));
        CHECK_EQ_INT(bytes, cases[n].bytes);
    }
    OK(cuModuleUnload(m));
}

int main(void)
{
    begin();
    module = load();
    shapes();
    shared_memory();
    local_vectors();
    parameters();
    attributes();
    cooperative();
    occupancy();
    large();
    memory_beyond();
    demanded_shape();
    declared_shared();
    OK(cuModuleUnload(module));
    return check_done();
}
