/* M5: SyncedMemory: what each call does in each state, counted: copies, sets, allocations, frees.
 *
 * The library's one source file is compiled in here, with each CUDA call that it makes going
 * through a counter, which can also make the call fail. So the same test runs over any CUDA:
 *   nvcc -I tests -Xcompiler -iquote,include tests/conformance/memory/syncedmem.c -o m5 && ./m5 */
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

/* ---- counting ---- */

/* What the library asked of CUDA. */
struct counts {
    int to_device, to_host; /* copies */
    int pushes;             /* asynchronous copies */
    int sets;
    int device_allocs, device_frees, host_allocs, host_frees;
};
static struct counts counts;
static int fail_in = -1; /* this many counted calls from now one fails; -1: none */
static int no_devices;   /* cudaGetDeviceCount says that there is none */

static int fails(void) { return fail_in >= 0 && fail_in-- == 0; }

static cudaError_t counted_count(int *count)
{
    *count = 0;
    return no_devices ? cudaErrorNoDevice : cudaGetDeviceCount(count);
}

static cudaError_t counted_memcpy(void *dst, const void *src, size_t n, enum cudaMemcpyKind kind)
{
    struct cudaPointerAttributes a = {0};
    if (fails())
        return cudaErrorInvalidValue;
    OK(cudaPointerGetAttributes(&a, dst));
    if (a.type == cudaMemoryTypeDevice || a.type == cudaMemoryTypeManaged)
        counts.to_device++;
    else
        counts.to_host++;
    return cudaMemcpy(dst, src, n, kind);
}

static cudaError_t counted_async(void *dst, const void *src, size_t n, enum cudaMemcpyKind kind,
                                 cudaStream_t stream)
{
    if (fails())
        return cudaErrorInvalidValue;
    counts.pushes++;
    return cudaMemcpyAsync(dst, src, n, kind, stream);
}

static cudaError_t counted_set(void *dst, int value, size_t n)
{
    if (fails())
        return cudaErrorInvalidValue;
    counts.sets++;
    return cudaMemset(dst, value, n);
}

static cudaError_t counted_malloc(void **out, size_t n)
{
    if (fails())
        return cudaErrorMemoryAllocation;
    counts.device_allocs++;
    return cudaMalloc(out, n);
}

static cudaError_t counted_malloc_host(void **out, size_t n)
{
    if (fails())
        return cudaErrorMemoryAllocation;
    counts.host_allocs++;
    return cudaMallocHost(out, n);
}

static cudaError_t counted_free(void *p)
{
    counts.device_frees++;
    return cudaFree(p);
}

static cudaError_t counted_free_host(void *p)
{
    counts.host_frees++;
    return cudaFreeHost(p);
}

#define cudaGetDeviceCount counted_count
#define cudaMemcpy         counted_memcpy
#define cudaMemcpyAsync    counted_async
#define cudaMemset         counted_set
#define cudaMalloc         counted_malloc
#define cudaMallocHost     counted_malloc_host
#define cudaFree           counted_free
#define cudaFreeHost       counted_free_host
#include "../../src/syncedmem/syncedmem.c"
#undef cudaGetDeviceCount
#undef cudaMemcpy
#undef cudaMemcpyAsync
#undef cudaMemset
#undef cudaMalloc
#undef cudaMallocHost
#undef cudaFree
#undef cudaFreeHost

/* ---- states and calls ---- */

enum { SIZE = 100 * 1000, OLD = 0x11, NEW = 0x22 };

enum call { CPU_DATA, GPU_DATA, MUTABLE_CPU, MUTABLE_GPU, SET_CPU, SET_GPU, PUSH, CALLS };
static const char *const call_names[CALLS] = {
    "cpu_data",     "gpu_data",     "mutable_cpu_data", "mutable_gpu_data",
    "set_cpu_data", "set_gpu_data", "async_gpu_push"};
static const char *const head_names[] = {"UNINITIALIZED", "HEAD_AT_CPU", "HEAD_AT_GPU", "SYNCED"};

static unsigned char *own_cpu; /* the test's memory, to be borrowed: full of NEW */
static void *own_gpu;
static cudaStream_t stream;

/* A buffer in the state, its contents OLD (zeros when uninitialized). Only the side that the state
 * needs has memory. */
static struct syncedmem *in_state(enum syncedmem_head state)
{
    struct syncedmem *mem = NULL;
    void *data;
    const void *look;
    OK(syncedmem_create(&mem, SIZE, SYNCEDMEM_DEFAULT));
    if (state == SYNCEDMEM_HEAD_AT_CPU || state == SYNCEDMEM_SYNCED) {
        OK(syncedmem_mutable_cpu_data(mem, &data));
        memset(data, OLD, SIZE);
    }
    if (state == SYNCEDMEM_SYNCED)
        OK(syncedmem_gpu_data(mem, &look));
    if (state == SYNCEDMEM_HEAD_AT_GPU) {
        OK(syncedmem_mutable_gpu_data(mem, &data));
        OK(cudaMemset(data, OLD, SIZE));
    }
    CHECK_EQ_INT(syncedmem_head(mem), state);
    return mem;
}

/* Makes the call; *data is what it gave. */
static cudaError_t make(struct syncedmem *mem, enum call call, const void **data)
{
    switch (call) {
    case CPU_DATA: return syncedmem_cpu_data(mem, data);
    case GPU_DATA: return syncedmem_gpu_data(mem, data);
    case MUTABLE_CPU: return syncedmem_mutable_cpu_data(mem, (void **)data);
    case MUTABLE_GPU: return syncedmem_mutable_gpu_data(mem, (void **)data);
    case SET_CPU: return syncedmem_set_cpu_data(mem, own_cpu);
    case SET_GPU: return syncedmem_set_gpu_data(mem, own_gpu);
    default: return syncedmem_async_gpu_push(mem, stream);
    }
}

/* Whether the bytes at a pointer of either kind all have the value. */
static int holds(const void *data, int value)
{
    unsigned char *bytes = malloc(SIZE);
    int good = cudaMemcpy(bytes, data, SIZE, cudaMemcpyDefault) == cudaSuccess;
    for (int i = 0; i < SIZE; i++)
        good = good && bytes[i] == value;
    free(bytes);
    return good;
}

/* Both sides of a buffer, asked for by its own functions. */
static void check_contents(struct syncedmem *mem, int value)
{
    const void *data;
    OK(syncedmem_cpu_data(mem, &data));
    CHECK(holds(data, value));
    OK(syncedmem_gpu_data(mem, &data));
    CHECK(holds(data, value));
}

/* ---- the table of docs/syncedmem.md ---- */

struct row {
    enum syncedmem_head from;
    enum call call;
    enum syncedmem_head to; /* the same as from, and an error, for a push that must not be */
    struct counts counts;
};
#define TO_DEVICE  .to_device = 1
#define TO_HOST    .to_host = 1
#define NEW_DEVICE .device_allocs = 1
#define NEW_HOST   .host_allocs = 1

static const struct row table[] = {
    {SYNCEDMEM_UNINITIALIZED, CPU_DATA, SYNCEDMEM_HEAD_AT_CPU, {NEW_HOST}},
    {SYNCEDMEM_UNINITIALIZED, GPU_DATA, SYNCEDMEM_HEAD_AT_GPU, {NEW_DEVICE, .sets = 1}},
    {SYNCEDMEM_UNINITIALIZED, MUTABLE_CPU, SYNCEDMEM_HEAD_AT_CPU, {NEW_HOST}},
    {SYNCEDMEM_UNINITIALIZED, MUTABLE_GPU, SYNCEDMEM_HEAD_AT_GPU, {NEW_DEVICE, .sets = 1}},
    {SYNCEDMEM_UNINITIALIZED, SET_CPU, SYNCEDMEM_HEAD_AT_CPU, {0}},
    {SYNCEDMEM_UNINITIALIZED, SET_GPU, SYNCEDMEM_HEAD_AT_GPU, {0}},
    {SYNCEDMEM_UNINITIALIZED, PUSH, SYNCEDMEM_UNINITIALIZED, {0}},

    {SYNCEDMEM_HEAD_AT_CPU, CPU_DATA, SYNCEDMEM_HEAD_AT_CPU, {0}},
    {SYNCEDMEM_HEAD_AT_CPU, GPU_DATA, SYNCEDMEM_SYNCED, {NEW_DEVICE, TO_DEVICE}},
    {SYNCEDMEM_HEAD_AT_CPU, MUTABLE_CPU, SYNCEDMEM_HEAD_AT_CPU, {0}},
    {SYNCEDMEM_HEAD_AT_CPU, MUTABLE_GPU, SYNCEDMEM_HEAD_AT_GPU, {NEW_DEVICE, TO_DEVICE}},
    {SYNCEDMEM_HEAD_AT_CPU, SET_CPU, SYNCEDMEM_HEAD_AT_CPU, {.host_frees = 1}},
    {SYNCEDMEM_HEAD_AT_CPU, SET_GPU, SYNCEDMEM_HEAD_AT_GPU, {0}},
    {SYNCEDMEM_HEAD_AT_CPU, PUSH, SYNCEDMEM_SYNCED, {NEW_DEVICE, .pushes = 1}},

    {SYNCEDMEM_HEAD_AT_GPU, CPU_DATA, SYNCEDMEM_SYNCED, {NEW_HOST, TO_HOST}},
    {SYNCEDMEM_HEAD_AT_GPU, GPU_DATA, SYNCEDMEM_HEAD_AT_GPU, {0}},
    {SYNCEDMEM_HEAD_AT_GPU, MUTABLE_CPU, SYNCEDMEM_HEAD_AT_CPU, {NEW_HOST, TO_HOST}},
    {SYNCEDMEM_HEAD_AT_GPU, MUTABLE_GPU, SYNCEDMEM_HEAD_AT_GPU, {0}},
    {SYNCEDMEM_HEAD_AT_GPU, SET_CPU, SYNCEDMEM_HEAD_AT_CPU, {0}},
    {SYNCEDMEM_HEAD_AT_GPU, SET_GPU, SYNCEDMEM_HEAD_AT_GPU, {.device_frees = 1}},
    {SYNCEDMEM_HEAD_AT_GPU, PUSH, SYNCEDMEM_HEAD_AT_GPU, {0}},

    {SYNCEDMEM_SYNCED, CPU_DATA, SYNCEDMEM_SYNCED, {0}},
    {SYNCEDMEM_SYNCED, GPU_DATA, SYNCEDMEM_SYNCED, {0}},
    {SYNCEDMEM_SYNCED, MUTABLE_CPU, SYNCEDMEM_HEAD_AT_CPU, {0}},
    {SYNCEDMEM_SYNCED, MUTABLE_GPU, SYNCEDMEM_HEAD_AT_GPU, {0}},
    {SYNCEDMEM_SYNCED, SET_CPU, SYNCEDMEM_HEAD_AT_CPU, {.host_frees = 1}},
    {SYNCEDMEM_SYNCED, SET_GPU, SYNCEDMEM_HEAD_AT_GPU, {.device_frees = 1}},
    {SYNCEDMEM_SYNCED, PUSH, SYNCEDMEM_SYNCED, {0}},
};

static void try_row(const struct row *r)
{
    struct syncedmem *mem = in_state(r->from);
    const void *data = NULL;
    int refused = r->call == PUSH && r->from != SYNCEDMEM_HEAD_AT_CPU;
    int borrowed = r->call == SET_CPU || r->call == SET_GPU;
    int before = r->from == SYNCEDMEM_UNINITIALIZED ? 0 : OLD;

    counts = (struct counts){0};
    cudaError_t error = make(mem, r->call, &data);
    struct counts made = counts;
    CHECK_EQ_INT(error, refused ? cudaErrorInvalidValue : cudaSuccess);
    CHECK_EQ_INT(syncedmem_head(mem), r->to);
    if (!check_count(memcmp(&made, &r->counts, sizeof made) == 0))
        printf("%s in %s: copies %d %d, pushes %d, sets %d, device memory +%d -%d, host +%d -%d\n",
               call_names[r->call], head_names[r->from], made.to_device, made.to_host, made.pushes,
               made.sets, made.device_allocs, made.device_frees, made.host_allocs, made.host_frees);
    if (data != NULL)
        CHECK(holds(data, before));
    OK(cudaStreamSynchronize(stream));
    check_contents(mem, borrowed ? NEW : before);
    OK(syncedmem_destroy(mem));
    /* What was borrowed is still there, for the next row too. */
    memset(own_cpu, NEW, SIZE);
    OK(cudaMemset(own_gpu, NEW, SIZE));
}

/* What was written on one side is what the other side sees, there and back. */
static void contents_travel(void)
{
    struct syncedmem *mem = in_state(SYNCEDMEM_HEAD_AT_CPU);
    void *data;
    check_contents(mem, OLD);
    OK(syncedmem_mutable_gpu_data(mem, &data));
    OK(cudaMemset(data, NEW, SIZE));
    counts = (struct counts){0};
    check_contents(mem, NEW);
    check_contents(mem, NEW);
    CHECK_EQ_INT(counts.to_host, 1);
    CHECK_EQ_INT(counts.to_device, 0);
    OK(syncedmem_mutable_cpu_data(mem, &data));
    memset(data, 3, SIZE);
    check_contents(mem, 3);
    CHECK_EQ_INT(counts.to_host, 1);
    CHECK_EQ_INT(counts.to_device, 1);
    CHECK_EQ_INT(counts.host_allocs + counts.device_allocs, 0);
    OK(syncedmem_destroy(mem));
}

/* ---- memory of one's own and borrowed memory ---- */

static void borrowed_sides(void)
{
    struct syncedmem *mem = NULL;
    const void *data;
    OK(syncedmem_create(&mem, SIZE, SYNCEDMEM_DEFAULT));
    counts = (struct counts){0};
    OK(syncedmem_set_cpu_data(mem, own_cpu));
    OK(syncedmem_set_gpu_data(mem, own_gpu));
    OK(cudaMemset(own_gpu, 7, SIZE));
    OK(syncedmem_cpu_data(mem, &data)); /* brings the borrowed side up to date */
    CHECK(data == own_cpu && own_cpu[0] == 7 && own_cpu[SIZE - 1] == 7);
    OK(syncedmem_gpu_data(mem, &data));
    CHECK(data == own_gpu);
    OK(syncedmem_set_cpu_data(mem, own_cpu)); /* the same again: the newest now */
    CHECK_EQ_INT(syncedmem_head(mem), SYNCEDMEM_HEAD_AT_CPU);
    OK(syncedmem_destroy(mem));
    CHECK_EQ_INT(counts.host_allocs + counts.device_allocs, 0);
    CHECK_EQ_INT(counts.host_frees + counts.device_frees, 0);
    memset(own_cpu, NEW, SIZE);
    OK(cudaMemset(own_gpu, NEW, SIZE));

    mem = in_state(SYNCEDMEM_SYNCED);
    OK(syncedmem_cpu_data(mem, &data));
    OK(syncedmem_set_cpu_data(mem, (void *)data)); /* its own: stays its own */
    OK(syncedmem_set_cpu_data(mem, own_cpu));
    check_contents(mem, NEW);
    counts = (struct counts){0};
    OK(syncedmem_destroy(mem));
    CHECK_EQ_INT(counts.host_frees, 0);
    CHECK_EQ_INT(counts.device_frees, 1);
}

/* What kind of memory the host's side is. */
static void kinds_of_memory(void)
{
    struct syncedmem *mem;
    struct cudaPointerAttributes a;
    const void *data;
    for (unsigned flags = 0; flags < 2; flags++) {
        OK(syncedmem_create(&mem, SIZE, flags));
        OK(syncedmem_cpu_data(mem, &data));
        OK(cudaPointerGetAttributes(&a, data));
        CHECK_EQ_INT(a.type, flags == 0 ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered);
        check_contents(mem, 0);
        OK(syncedmem_destroy(mem));
    }
    OK(syncedmem_create(&mem, 0, SYNCEDMEM_DEFAULT));
    CHECK_EQ_INT(syncedmem_size(mem), 0);
    OK(syncedmem_cpu_data(mem, &data));
    CHECK(data != NULL);
    OK(syncedmem_gpu_data(mem, &data));
    CHECK(data != NULL);
    OK(syncedmem_destroy(mem));
}

static void without_a_device(void)
{
    struct syncedmem *mem;
    const void *data;
    no_devices = 1;
    OK(syncedmem_create(&mem, SIZE, SYNCEDMEM_DEFAULT));
    no_devices = 0;
    OK(cudaPeekAtLastError());
    CHECK_EQ_INT(syncedmem_device(mem), -1);
    counts = (struct counts){0};
    OK(syncedmem_cpu_data(mem, &data));
    CHECK_EQ_INT(((const char *)data)[SIZE - 1], 0);
    CHECK_EQ_INT(syncedmem_gpu_data(mem, &data), cudaErrorNoDevice);
    CHECK_EQ_INT(syncedmem_head(mem), SYNCEDMEM_HEAD_AT_CPU);
    CHECK_EQ_INT(counts.host_allocs, 0);
    OK(syncedmem_destroy(mem));
}

/* ---- what goes wrong ---- */

static void wrong_arguments(void)
{
    struct syncedmem *mem = NULL;
    const void *data = NULL;
    void *writable = NULL;
    int on_stack;
    CHECK_EQ_INT(syncedmem_create(NULL, SIZE, 0), cudaErrorInvalidValue);
    CHECK_EQ_INT(syncedmem_create(&mem, SIZE, 2), cudaErrorInvalidValue);
    CHECK(mem == NULL);
    OK(syncedmem_destroy(NULL));
    CHECK_EQ_INT(syncedmem_cpu_data(NULL, &data), cudaErrorInvalidValue);
    CHECK_EQ_INT(syncedmem_gpu_data(NULL, &data), cudaErrorInvalidValue);
    CHECK_EQ_INT(syncedmem_async_gpu_push(NULL, 0), cudaErrorInvalidValue);
    OK(syncedmem_create(&mem, SIZE, 0));
    CHECK_EQ_INT(syncedmem_cpu_data(mem, NULL), cudaErrorInvalidValue);
    CHECK_EQ_INT(syncedmem_gpu_data(mem, NULL), cudaErrorInvalidValue);
    CHECK_EQ_INT(syncedmem_mutable_cpu_data(mem, NULL), cudaErrorInvalidValue);
    CHECK_EQ_INT(syncedmem_mutable_gpu_data(mem, NULL), cudaErrorInvalidValue);
    CHECK_EQ_INT(syncedmem_mutable_cpu_data(NULL, &writable), cudaErrorInvalidValue);
    CHECK_EQ_INT(syncedmem_mutable_gpu_data(NULL, &writable), cudaErrorInvalidValue);
    CHECK_EQ_INT(syncedmem_set_cpu_data(mem, NULL), cudaErrorInvalidValue);
    CHECK_EQ_INT(syncedmem_set_gpu_data(mem, NULL), cudaErrorInvalidValue);
    CHECK_EQ_INT(syncedmem_set_gpu_data(mem, &on_stack), cudaErrorInvalidValue);
    CHECK_EQ_INT(syncedmem_head(mem), SYNCEDMEM_UNINITIALIZED);
    OK(syncedmem_destroy(mem));
}

/* Each call in each state with each of its CUDA calls failing once: an error, nothing changed, and
 * the same call made again does its work. */
static void failures(void)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct row *r = &table[i];
        for (int n = 0; n < 3; n++) {
            struct syncedmem *mem = in_state(r->from);
            const void *data = NULL;
            fail_in = n;
            cudaError_t error = make(mem, r->call, &data);
            int failed = fail_in < 0;
            fail_in = -1;
            if (failed) {
                CHECK(error != cudaSuccess && data == NULL);
                CHECK_EQ_INT(syncedmem_head(mem), r->from);
                OK(make(mem, r->call, &data));
            }
            CHECK_EQ_INT(syncedmem_head(mem), r->to);
            OK(cudaStreamSynchronize(stream));
            OK(syncedmem_destroy(mem));
        }
    }
}

/* The buffer stays on its device whatever is current. */
static void devices(void)
{
    int count = 0, current = -1;
    struct syncedmem *mem;
    struct cudaPointerAttributes a;
    const void *data;
    OK(cudaGetDeviceCount(&count));
    OK(cudaSetDevice(count - 1));
    OK(syncedmem_create(&mem, SIZE, 0));
    OK(cudaSetDevice(0));
    CHECK_EQ_INT(syncedmem_device(mem), count - 1);
    check_contents(mem, 0);
    OK(syncedmem_gpu_data(mem, &data));
    OK(cudaPointerGetAttributes(&a, data));
    CHECK_EQ_INT(a.device, count - 1);
    OK(cudaGetDevice(&current));
    CHECK_EQ_INT(current, 0);
    OK(syncedmem_set_gpu_data(mem, own_gpu)); /* of device 0 */
    CHECK_EQ_INT(syncedmem_device(mem), 0);
    check_contents(mem, NEW);
    OK(syncedmem_destroy(mem));
}

int main(void)
{
    own_cpu = malloc(SIZE);
    memset(own_cpu, NEW, SIZE);
    OK(cudaMalloc(&own_gpu, SIZE));
    OK(cudaMemset(own_gpu, NEW, SIZE));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        try_row(&table[i]);
    contents_travel();
    borrowed_sides();
    kinds_of_memory();
    without_a_device();
    wrong_arguments();
    failures();
    devices();
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(own_gpu));
    free(own_cpu);
    OK(cudaPeekAtLastError());
    return check_done();
}
