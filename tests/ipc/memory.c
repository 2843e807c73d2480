/* A9.4: plain device memory in another process: handles that are no longer good or never were,
 * exporting while kernels run, what freeing and resetting leave. The other program is its argument.
 */
#include <dirent.h>
#include <pthread.h>

#include "ipc/ipc.h"

static struct control *control;
static int control_fd;
static const char *other;
static CUfunction store_kernel, spin_kernel;

static int open_files(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

/* A kernel that waits for the host does not hold an export up, and finds its memory moved. */
static void exports_while_kernels_run(void)
{
    CUdeviceptr flag, memory;
    CUstream s, t;
    CUipcMemHandle h;
    unsigned one = 1;
    OK(cuMemAlloc(&flag, 4 << 20));
    OK(cuMemAlloc(&memory, 64));
    OK(cuMemsetD32(flag, 0, 1));
    OK(cuMemsetD32(memory, 5, 16));
    OK(cuCtxSynchronize());
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    OK(launch(spin_kernel, 4, 32, s, (void *[]){&flag}));
    for (unsigned i = 0; i < 200; i++)
        OK(store(store_kernel, memory + 4, i, t));
    OK(cuIpcGetMemHandle(&h, flag));
    OK(cuIpcGetMemHandle(&h, memory));
    for (unsigned i = 0; i < 200; i++)
        OK(store(store_kernel, memory + 8, i, t));
    OK(cuStreamSynchronize(t));
    CHECK_EQ_INT(read_u32(memory), 5);
    CHECK_EQ_INT(read_u32(memory + 4), 199);
    CHECK_EQ_INT(read_u32(memory + 8), 199);
    CHECK_CU(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    OK(cuMemcpyHtoDAsync(flag, &one, 4, t));
    OK(cuStreamSynchronize(s));
    OK(cuMemFree(flag));
    OK(cuMemFree(memory));
    OK(cuStreamDestroy(s));
    OK(cuStreamDestroy(t));
}

/* Threads that keep kernels running while the memory under them is moved. */
enum { COUNTERS = 6, LAUNCHES = 300 };

struct counting {
    CUcontext ctx;
    CUfunction f;
    CUdeviceptr p;
    int exports;
};

static void *count_up(void *arg)
{
    struct counting *c = arg;
    CUstream s;
    CUipcMemHandle h;
    OK(cuCtxSetCurrent(c->ctx));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < LAUNCHES; i++) {
        OK(launch(c->f, 4, 32, s, (void *[]){&c->p}));
        if (i == c->exports)
            OK(cuIpcGetMemHandle(&h, c->p));
    }
    OK(cuStreamSynchronize(s));
    CHECK_EQ_INT(read_u32(c->p), LAUNCHES * 4 * 32);
    OK(cuStreamDestroy(s));
    return NULL;
}

static void exports_while_threads_launch(CUfunction count)
{
    static const size_t sizes[COUNTERS] = {4, 4, 600, 5000, 200000, 3 << 20};
    struct counting c[COUNTERS];
    pthread_t threads[COUNTERS];
    for (int i = 0; i < COUNTERS; i++) {
        c[i] = (struct counting){.f = count, .exports = 50 + 20 * i};
        OK(cuCtxGetCurrent(&c[i].ctx));
        OK(cuMemAlloc(&c[i].p, sizes[i]));
        OK(cuMemsetD32(c[i].p, 0, 1));
    }
    OK(cuCtxSynchronize());
    for (int i = 0; i < COUNTERS; i++)
        CHECK_EQ_INT(pthread_create(&threads[i], NULL, count_up, &c[i]), 0);
    for (int i = 0; i < COUNTERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < COUNTERS; i++)
        OK(cuMemFree(c[i].p));
}

static CUresult try_open(const CUipcMemHandle *h)
{
    CUdeviceptr p;
    CUresult r = open_mem(&p, h);
    if (r == CUDA_SUCCESS)
        OK(cuIpcCloseMemHandle(p));
    return r;
}

/* Each kind of handle has 64 bytes, and none is good as one of another kind. */
static void of_other_kinds(void)
{
    CUevent e;
    CUmemoryPool pool = shared_pool();
    CUdeviceptr p;
    CUipcEventHandle event;
    CUmemPoolPtrExportData data, other_data;
    CUipcMemHandle mem;
    OK(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    OK(cuIpcGetEventHandle(&event, e));
    OK(cuMemAllocFromPoolAsync(&p, 64, pool, NULL));
    OK(cuMemPoolExportPointer(&data, p));
    memcpy(&mem, &event, sizeof mem);
    CHECK_CU(try_open(&mem), CUDA_ERROR_INVALID_VALUE);
    memcpy(&mem, &data, sizeof mem);
    CHECK_CU(try_open(&mem), CUDA_ERROR_INVALID_VALUE);
    CUevent opened;
    memcpy(&event, &control->mem[0], sizeof event);
    CHECK_CU(cuIpcOpenEventHandle(&opened, event), CUDA_ERROR_MAP_FAILED);
    memcpy(&event, &data, sizeof event);
    CHECK_CU(cuIpcOpenEventHandle(&opened, event), CUDA_ERROR_MAP_FAILED);
    CUmemoryPool imported;
    CUdeviceptr q;
    int fd;
    OK(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(import_pool(&imported, fd));
    memcpy(&other_data, &control->mem[0], sizeof other_data);
    CHECK_CU(cuMemPoolImportPointer(&q, imported, &other_data), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolImportPointer(&q, imported, &data));
    OK(cuMemFree(q));
    OK(cuMemPoolDestroy(imported));
    OK(cuMemFree(p));
    OK(cuMemPoolDestroy(pool));
    OK(cuEventDestroy(e));
    close(fd);
}

static void bad_handles(void)
{
    control->turn = 0;
    pid_t pid = start_process(other, "keep", control_fd);
    CHECK(await_turn(&control->turn, 1));
    OK(try_open(&control->mem[0]));
    for (size_t i = 0; i < sizeof(CUipcMemHandle); i++) {
        CUipcMemHandle bad = control->mem[0];
        bad.reserved[i] ^= 0x10;
        CHECK_CU(try_open(&bad), CUDA_ERROR_INVALID_VALUE);
    }
    of_other_kinds();
    CUdeviceptr p, again;
    OK(open_mem(&p, &control->mem[0]));
    CHECK_EQ_INT(read_u32(p), 77);
    unsigned legacy = 1;
    OK(cuPointerGetAttribute(&legacy, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, p));
    CHECK_EQ_INT(legacy, 0);
    CUipcMemHandle h;
    CHECK_CU(cuIpcGetMemHandle(&h, p), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);

    /* The process dies: what is mapped stays, the handle is worth nothing. */
    kill(pid, SIGKILL);
    CHECK_EQ_INT(end_of(pid), 1000 + SIGKILL);
    CHECK_EQ_INT(read_u32(p), 77);
    OK(store(store_kernel, p, 78, NULL));
    CHECK_EQ_INT(read_u32(p), 78);
    OK(open_mem(&again, &control->mem[0])); /* it is open here still */
    CHECK(again == p);
    OK(cuIpcCloseMemHandle(again));
    OK(cuIpcCloseMemHandle(p));
    CHECK_CU(cuIpcCloseMemHandle(p), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(try_open(&control->mem[0]), CUDA_ERROR_INVALID_HANDLE);
    CHECK_CU(cuMemcpyDtoH(&legacy, p, 4), CUDA_ERROR_INVALID_VALUE); /* nothing is left there */
    OK(cuDevicePrimaryCtxReset(0));
}

/* A reset ends what was opened. */
static void resets(void)
{
    control->turn = 0;
    pid_t pid = start_process(other, "keep", control_fd);
    CHECK(await_turn(&control->turn, 1));
    CUdeviceptr p;
    OK(open_mem(&p, &control->mem[0]));
    OK(cuDevicePrimaryCtxReset(0));
    CHECK_CU(cuIpcCloseMemHandle(p), CUDA_ERROR_INVALID_VALUE);
    OK(open_mem(&p, &control->mem[0]));
    CHECK_EQ_INT(read_u32(p), 77);
    OK(cuIpcCloseMemHandle(p));
    kill(pid, SIGKILL);
    end_of(pid);
}

/* Freed memory takes its file with it, and its addresses are of use again. */
static void leaves_nothing(void)
{
    static const size_t sizes[] = {16, 600, 5000, 70000, 300000, 3 << 20};
    int before = open_files();
    size_t free_before, free_after, total;
    OK(cuMemGetInfo(&free_before, &total));
    for (int round = 0; round < 3; round++) {
        CUdeviceptr p[6];
        CUipcMemHandle h;
        for (int i = 0; i < 6; i++) {
            OK(cuMemAlloc(&p[i], sizes[i]));
            OK(cuMemsetD8(p[i], (unsigned char)i, sizes[i]));
            OK(cuIpcGetMemHandle(&h, p[i]));
            unsigned char last = 99;
            OK(cuMemcpyDtoH(&last, p[i] + sizes[i] - 1, 1));
            CHECK_EQ_INT(last, i);
        }
        for (int i = 0; i < 6; i++)
            OK(cuMemFree(p[i]));
    }
    OK(cuMemGetInfo(&free_after, &total));
    CHECK_EQ_INT(free_before, free_after);
    OK(cuDevicePrimaryCtxReset(0));
    CHECK(open_files() <= before);
}

/* Descriptors of physical memory: what can be imported and what not, and that nothing is leaked. */
static void descriptors(void)
{
    const size_t granule = 2 << 20;
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemAccessDesc both = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle h, t;
    CUdeviceptr a, b;
    int fd, files = open_files();
    size_t free_before, free_now, total, reserved;
    OK(cuMemGetInfo(&free_before, &total));
    OK(cuMemCreate(&h, granule, &prop, 0));
    OK(cuMemGetInfo(&free_now, &total));
    CHECK_EQ_INT(free_before - free_now, granule);
    OK(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemImportFromShareableHandle(&t, (void *)(intptr_t)fd,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CHECK(t != h);
    close(fd);
    OK(cuMemGetAllocationPropertiesFromHandle(&prop, t));
    CHECK_EQ_INT(prop.requestedHandleTypes, 0);
    CHECK_CU(cuMemExportToShareableHandle(&fd, t, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
             CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAddressReserve(&a, 2 * granule, 0, 0, 0));
    OK(cuMemMap(a, granule, 0, h, 0));
    OK(cuMemMap(a + granule, granule, 0, t, 0));
    OK(cuMemSetAccess(a, 2 * granule, &both, 1));
    write_u32(a + 8, 99);
    CHECK_EQ_INT(read_u32(a + granule + 8), 99);
    OK(cuPointerGetAttribute(&reserved, CU_POINTER_ATTRIBUTE_RANGE_SIZE, a + granule));
    CHECK_EQ_INT(reserved, 2 * granule);
    OK(cuMemRelease(h));
    OK(cuMemRelease(t));
    CHECK_CU(cuMemRelease(h), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuMemRelease(12345), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuMemMap(a, granule, 0, h, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuDevicePrimaryCtxReset(0)); /* mappings are no context's */
    CHECK_EQ_INT(read_u32(a + granule + 8), 99);
    OK(cuMemUnmap(a, 2 * granule));
    OK(cuMemAddressReserve(&b, granule, 8 * granule, 0, 0));
    CHECK_EQ_INT(b % (8 * granule), 0);
    OK(cuMemAddressFree(b, granule));
    OK(cuMemAddressFree(a, 2 * granule));
    OK(cuMemGetInfo(&free_now, &total));
    CHECK_EQ_INT(free_before, free_now);
    CHECK(open_files() <= files);

    int pipes[2];
    CHECK_EQ_INT(pipe(pipes), 0);
    CHECK_CU(cuMemImportFromShareableHandle(&t, (void *)(intptr_t)pipes[0],
                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
             CUDA_ERROR_UNKNOWN);
    CHECK_CU(cuMemImportFromShareableHandle(&t, (void *)(intptr_t)control_fd,
                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
             CUDA_ERROR_UNKNOWN);
    close(pipes[0]);
    close(pipes[1]);
}

/* Imported pools: what they are not, how often things are imported, and what a reset leaves.
 * Importing one's own pool is of no use, but shows it. */
static void imported_pools(void)
{
    CUmemoryPool pool = shared_pool(), in, again, of = NULL;
    CUdeviceptr p, q, t;
    CUmemPoolPtrExportData data;
    CUcontext c = (CUcontext)&p;
    int fd, files = open_files();
    cuuint64_t value = 0;
    OK(cuMemAllocFromPoolAsync(&p, 10000, pool, NULL));
    OK(cuMemPoolExportPointer(&data, p));
    CHECK_CU(cuMemPoolExportPointer(&data, p + 8), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(import_pool(&in, fd));
    OK(import_pool(&again, fd));
    CHECK(again == in && in != pool);
    OK(cuMemPoolDestroy(again));
    CHECK_CU(import_pool(&of, control_fd), CUDA_ERROR_UNKNOWN);
    CHECK_CU(import_pool(&of, 0), CUDA_ERROR_INVALID_VALUE);
    close(fd);
    OK(cuMemPoolImportPointer(&q, in, &data));
    CHECK(q != p);
    CHECK_CU(cuMemPoolImportPointer(&t, pool, &data), CUDA_ERROR_INVALID_VALUE);
    OK(store(store_kernel, p + 4, 17, NULL));
    CHECK_EQ_INT(read_u32(q + 4), 17);
    OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, q));
    CHECK(of == in);
    OK(cuPointerGetAttribute(&c, CU_POINTER_ATTRIBUTE_CONTEXT, q));
    CHECK(c == NULL);
    CHECK_CU(cuMemPoolExportPointer(&data, q), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuMemAllocFromPoolAsync(&t, 64, in, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuDeviceSetMemPool(0, in), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuMemPoolTrimTo(in, 0), CUDA_ERROR_INVALID_VALUE);
    for (int which = CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES;
         which <= CU_MEMPOOL_ATTR_USED_MEM_HIGH; which++) {
        CHECK_CU(cuMemPoolGetAttribute(in, (CUmemPool_attribute)which, &value),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_CU(cuMemPoolSetAttribute(in, (CUmemPool_attribute)which, &value),
                 CUDA_ERROR_INVALID_VALUE);
    }
    CHECK_CU(cuMemFree(q + 4), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolImportPointer(&t, in, &data)); /* the same, and one free ends it */
    CHECK(t == q);
    CHECK_CU(cuMemPoolDestroy(in), CUDA_ERROR_INVALID_VALUE); /* while it is there */
    OK(cuMemFreeAsync(q, NULL));
    CHECK_CU(cuMemFreeAsync(q, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuMemFree(q), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(read_u32(p + 4), 17);
    OK(cuMemPoolExportPointer(&data, p));
    OK(cuMemPoolImportPointer(&q, in, &data));
    OK(cuDevicePrimaryCtxReset(0)); /* ends pools and what was imported */
    CHECK_CU(cuMemPoolTrimTo(in, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuMemFree(q), CUDA_ERROR_INVALID_VALUE);
    CHECK(open_files() <= files);
}

int main(int argc, char **argv)
{
    other = argc > 1 ? argv[1] : "";
    control = shared_new(sizeof *control, &control_fd);
    begin();
    CUmodule m = load();
    store_kernel = kernel(m, "store");
    spin_kernel = kernel(m, "spin");
    exports_while_kernels_run();
    exports_while_threads_launch(kernel(m, "count"));
    bad_handles(); /* ends with a reset: */
    store_kernel = kernel(load(), "store");
    resets();
    leaves_nothing();
    descriptors();
    store_kernel = kernel(load(), "store");
    imported_pools();
    return check_done();
}
