/* A6, E4.1: a look inside pools: statistics by the API, for other processes, and in a file at the
 * end; access; pools of devices that are not there. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "weir/pools.h"

enum { MIB = 1 << 20 };

static CUmemoryPool new_pool(void)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemoryPool pool;
    NEED(cuMemPoolCreate(&pool, &props));
    return pool;
}

static void statistics(CUmemoryPool pool, CUstream a, CUstream b)
{
    CUdeviceptr p[8], q;
    struct weir_pool_figures f;
    unsigned long long sum = 0;
    for (int i = 0; i < 8; i++)
        OK(cuMemAllocFromPoolAsync(&p[i], MIB, pool, a));
    for (int i = 0; i < 8; i += 2)
        OK(cuMemFreeAsync(p[i], a));
    OK(cuMemAllocFromPoolAsync(&p[0], MIB, pool, a)); /* its own */
    OK(cuStreamSynchronize(a));
    OK(cuMemAllocFromPoolAsync(&q, MIB, pool, b)); /* now anyone's */
    CHECK_EQ_INT(weir_pool_get_figures(pool, &f), 0);
    CHECK_EQ_INT(f.used, 6 * MIB);
    CHECK_EQ_INT(f.used_high, 8 * MIB);
    CHECK_EQ_INT(f.allocations, 6);
    CHECK_EQ_INT(f.fresh, 8);
    CHECK_EQ_INT(f.reused[WEIR_POOL_SAME_STREAM], 1);
    CHECK_EQ_INT(f.reused[WEIR_POOL_SYNCHRONIZED], 1);
    CHECK_EQ_INT(f.streams, 2);
    CHECK_EQ_INT(f.reserved + f.released, f.taken);
    CHECK(f.free_bytes + f.used <= f.reserved && f.largest_free <= f.free_bytes);
    for (int i = 0; i < WEIR_POOL_SIZES; i++)
        sum += f.free_blocks[i];
    CHECK((sum > 0) == (f.free_bytes > 0));
    CHECK_EQ_INT(weir_pool_get_figures(NULL, &f), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_INT(weir_pool_get_figures(pool, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void words(void)
{
    char text[4096], small[10];
    size_t length = weir_pools_report(text, sizeof text);
    CHECK(length < sizeof text && strlen(text) == length);
    CHECK(strstr(text, "used 6.0 MiB in 6 allocations (high 8.0 MiB), 2 streams") != NULL);
    CHECK_EQ_INT(weir_pools_report(small, sizeof small), length);
    CHECK_EQ_INT(strlen(small), sizeof small - 1);
    CHECK_EQ_INT(weir_pools_report(NULL, 0), length);
}

/* Another process asks, by this one's number. */
static void asked(void)
{
    const char *tool = getenv("WEIR_TEST_TOOL");
    char command[1024], text[4096] = "";
    if (tool == NULL)
        return;
    snprintf(command, sizeof command, "'%s' info --pools %d", tool, (int)getpid());
    FILE *out = popen(command, "r");
    CHECK(out != NULL);
    if (out == NULL)
        return;
    size_t n = fread(text, 1, sizeof text - 1, out);
    text[n] = '\0';
    CHECK_EQ_INT(pclose(out), 0);
    CHECK(strstr(text, "used 6.0 MiB in 6 allocations") != NULL);
}

static void access_of(CUmemoryPool pool)
{
    CUmemAccessDesc d = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemAccess_flags flags;
    OK(cuMemPoolSetAccess(pool, &d, 1));
    OK(cuMemPoolGetAccess(&flags, pool, &d.location));
    CHECK_EQ_INT(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE; /* the owner's cannot be taken away */
    CHECK(cuMemPoolSetAccess(pool, &d, 1) != CUDA_SUCCESS);
    d.location.id = 99;
    CHECK_CU(cuMemPoolSetAccess(pool, &d, 1), CUDA_ERROR_INVALID_DEVICE);
}

/* A pool of another process's, here of this one's own, has no statistics here. */
static void imported(void)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    const CUmemAllocationHandleType kind = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemoryPool made, other;
    struct weir_pool_figures f;
    int fd;
    OK(cuMemPoolCreate(&made, &props));
    OK(cuMemPoolExportToShareableHandle(&fd, made, kind, 0));
    OK(cuMemPoolImportFromShareableHandle(&other, (void *)(intptr_t)fd, kind, 0));
    CHECK_EQ_INT(weir_pool_get_figures(made, &f), 0);
    CHECK_EQ_INT(weir_pool_get_figures(other, &f), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolDestroy(other));
    OK(cuMemPoolDestroy(made));
    close(fd);
}

/* Children end while other threads allocate: each ends at once, and what is written as it happens
 * (see driver.pools.trace) is written once. */
static struct {
    CUcontext ctx;
    CUmemoryPool pool;
    atomic_bool stop;
} busy;

static void *keep_busy(void *arg)
{
    CUstream s;
    CUdeviceptr p;
    OK(cuCtxSetCurrent(busy.ctx));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    while (!atomic_load(&busy.stop)) {
        for (size_t i = 0; i < 8; i++) {
            OK(cuMemAllocFromPoolAsync(&p, 512 << i, busy.pool, s));
            OK(cuMemFreeAsync(p, s));
        }
        OK(cuStreamSynchronize(s));
        usleep(100);
    }
    OK(cuStreamDestroy(s));
    return arg;
}

/* Asked when LeakSanitizer looks for leaks. A forked child has none of the threads that own things,
 * and would find those lost. */
static bool in_child;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return in_child; }

static void forked(CUmemoryPool pool)
{
    pthread_t threads[2];
    busy.pool = pool;
    OK(cuCtxGetCurrent(&busy.ctx));
    for (int i = 0; i < 2; i++)
        CHECK_EQ_INT(pthread_create(&threads[i], NULL, keep_busy, NULL), 0);
    for (int i = 0; i < 10; i++) {
        int status = -1;
        pid_t pid = fork();
        if (pid == 0) {
            CUdeviceptr p;
            in_child = true;
            exit(cuMemAllocAsync(&p, MIB, NULL) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 3);
        }
        CHECK_EQ_INT(waitpid(pid, &status, 0), pid);
        CHECK_EQ_INT(status, 0);
    }
    atomic_store(&busy.stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

/* A reset ends the memory of the device's pools, of those whose handle is gone, too. */
static void reset(void)
{
    CUmemoryPool pool = new_pool();
    CUdeviceptr p;
    char text[4096];
    OK(cuMemAllocFromPoolAsync(&p, MIB, pool, NULL));
    OK(cuMemPoolDestroy(pool));
    weir_pools_report(text, sizeof text);
    CHECK(strstr(text, "destroyed with memory outstanding") != NULL);
    OK(cuDevicePrimaryCtxReset(0));
    weir_pools_report(text, sizeof text);
    CHECK(strstr(text, "destroyed with memory outstanding") == NULL);
    CHECK_CU(cuMemFreeAsync(p, NULL), CUDA_ERROR_INVALID_VALUE);
}

/* The attributes say that the host has pools, and it has: memory of them is the host's own, and a
 * device's once it was given access. */
static void of_the_host(CUstream s)
{
    static const struct {
        CUdevice_attribute attribute;
        CUmemLocationType where;
    } kinds[] = {
        {CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED, CU_MEM_LOCATION_TYPE_HOST},
        {CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED, CU_MEM_LOCATION_TYPE_HOST_NUMA},
    };
    for (size_t n = 0; n < sizeof kinds / sizeof *kinds; n++) {
        int supported = 0;
        CUmemoryPool pool;
        CUdeviceptr at = 0;
        CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = kinds[n].where}};
        CUmemAccessDesc device = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        OK(cuDeviceGetAttribute(&supported, kinds[n].attribute, 0));
        CHECK_EQ_INT(supported, 1);
        NEED(cuMemPoolCreate(&pool, &props));
        OK(cuMemPoolSetAccess(pool, &device, 1));
        NEED(cuMemAllocFromPoolAsync(&at, 64, pool, s));
        OK(cuStreamSynchronize(s));
        memset((void *)(uintptr_t)at, 7, 64);
        OK(cuMemsetD8Async(at, 9, 32, s));
        OK(cuStreamSynchronize(s));
        CHECK(*(unsigned char *)(uintptr_t)at == 9 && *(unsigned char *)(uintptr_t)(at + 63) == 7);
        OK(cuMemFreeAsync(at, s));
        OK(cuStreamSynchronize(s));
        OK(cuMemPoolDestroy(pool));
    }
}

int main(void)
{
    CUstream a, b;
    begin();
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    CUmemoryPool pool = new_pool();
    unsigned long long all = ~0ull;
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
    statistics(pool, a, b);
    of_the_host(a);
    words();
    asked();
    access_of(pool);
    imported();
    forked(pool);
    reset();
    return check_done();
}
