// FLAGS: -g -lineinfo
/* E3: what a fault has to tell: kernel, block, source line, address, what the address is or was,
 * and which call of the program made that. On a GPU only the codes are checked: it tells no more.
 * Needs -g and -lineinfo. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

#include "check.h"

#if defined(__has_include)
#if __has_include(<weir/fault.h>)
#include <weir/fault.h>
#define HAVE_STORIES 1
#endif
#endif

__global__ void store(int *p, int block)
{
    if (blockIdx.x == block)
        *p = 1; /* the line of this comment is kernel_line */
}
static const int kernel_line = 21;

__global__ void stop() { __trap(); }

/* Accesses that may be compiled to calls of functions without lines. */
__global__ void some_small(char *p, const unsigned short *from)
{
    if (threadIdx.x % 3 == 0)
        ((unsigned short *)p)[threadIdx.x] = 1; /* small_line */
}
__global__ void some_loaded(char *p, const unsigned short *from)
{
    if (threadIdx.x % 3 == 0)
        ((unsigned short *)from)[threadIdx.x] = ((volatile unsigned short *)p)[threadIdx.x];
}
__global__ void scattered(char *p, const unsigned short *from)
{
    ((float4 *)p)[from[threadIdx.x]] = make_float4(1, 2, 3, 4);
}
static const int small_line = 31, loaded_line = 36, scattered_line = 40;

/* Thread 5 is off by two, in accesses that are compiled in ways of their own. */
__device__ static char *off_by_two(char *p, int at) { return p + at + (threadIdx.x == 5 ? 2 : 0); }
__global__ void odd_word(char *p) { *(int *)off_by_two(p, 4 * threadIdx.x) = 1; }
__global__ void odd_vector(char *p)
{
    *(float4 *)off_by_two(p, 16 * threadIdx.x) = make_float4(1, 2, 3, 4);
}
__global__ void odd_atomic(char *p) { atomicAdd((int *)off_by_two(p, 4 * threadIdx.x), 1); }
/* All threads are: the first one is told of. */
__global__ void odd_index(char *p, const int *index)
{
    ((int *)(p + 2))[index[threadIdx.x] * 3] = 1;
}
__global__ void odd_line(char *p, int by)
{
    ((int4 *)(p + by))[threadIdx.x] = make_int4(1, 2, 3, 4);
}
__global__ void odd_rows(char *p, int by)
{
    __shared__ __align__(16) char tile[1024];
    unsigned a[4], at = (unsigned)__cvta_generic_to_shared(tile) + 16 * threadIdx.x;
    if (threadIdx.x == 5)
        at += by;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(at));
    *(unsigned *)p = a[0] + a[1] + a[2] + a[3];
}

static int made_line;

static int *make(size_t bytes)
{
    int *p = nullptr;
    made_line = __LINE__ + 1;
    CHECK_EQ_INT(cudaMalloc(&p, bytes), cudaSuccess);
    return p;
}

static bool ends_with(const char *text, const char *end)
{
    return text && strlen(text) >= strlen(end) && !strcmp(text + strlen(text) - strlen(end), end);
}

#if HAVE_STORIES
typedef int (*ask_fn)(weir_fault *);

static ask_fn asker()
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return driver ? (ask_fn)dlsym(driver, "weir_last_fault") : nullptr;
}

static weir_fault report()
{
    weir_fault f;
    auto ask = asker();
    memset(&f, 0, sizeof f);
    f.bytes = sizeof f;
    if (ask)
        CHECK_EQ_INT(ask(&f), 1);
    return f;
}

static bool reports() { return asker() != nullptr; }

/* Told of a misaligned access: its place in the allocation (-1: in none), and its thread (-1: one
 * of several). */
static void misaligned_report(long long distance, int thread)
{
    if (!reports())
        return;
    weir_fault f = report();
    CHECK_EQ_INT(f.kind, WEIR_FAULT_MISALIGNED);
    CHECK_EQ_INT(f.has_address, 1);
    CHECK_EQ_INT(f.place == WEIR_PLACE_INSIDE, distance >= 0);
    CHECK(f.place != WEIR_PLACE_NULL);
    if (distance >= 0)
        CHECK_EQ_INT(f.distance, distance);
    CHECK(f.frames[0].line > 0);
    CHECK_EQ_INT(f.frames[0].thread_known, thread >= 0);
    if (thread >= 0)
        CHECK_EQ_INT(f.frames[0].thread[0], thread);
}

static void place(weir_place where, unsigned long long distance, size_t size)
{
    if (!reports())
        return;
    weir_fault f = report();
    CHECK_EQ_INT(f.kind, WEIR_FAULT_ADDRESS);
    CHECK_EQ_INT(f.code, cudaErrorIllegalAddress);
    CHECK_EQ_INT(f.frame_count, 1);
    CHECK_STR(f.frames[0].kernel, "store(int*, int)");
    CHECK_EQ_INT(f.frames[0].block[0], 3);
    CHECK_EQ_INT(f.frames[0].line, kernel_line);
    CHECK(ends_with(f.frames[0].file, "fault_reports.cu"));
    CHECK_EQ_INT(f.has_address, 1);
    CHECK_EQ_INT(f.place, where);
    CHECK_EQ_INT(f.distance, distance);
    CHECK_EQ_INT(f.allocation.size, size);
    if (size == 0)
        return;
    CHECK_STR(f.allocation.made.call, "cudaMalloc");
    CHECK(f.allocation.made.address != nullptr);
    if (f.allocation.made.file) { /* the system can read debug information */
        CHECK(ends_with(f.allocation.made.file, "fault_reports.cu"));
        CHECK_EQ_INT(f.allocation.made.line, made_line);
        CHECK(strstr(f.text, "made by cudaMalloc at ") != nullptr);
    }
    CHECK(strstr(f.text, "in kernel store(int*, int), block (3,0,0)") != nullptr);
}
#else
enum weir_place { WEIR_PLACE_NULL, WEIR_PLACE_PAST, WEIR_PLACE_BEFORE };
static void place(weir_place, unsigned long long, size_t) {}
static void misaligned_report(long long, int) {}
static bool reports() { return false; }
#endif

static void fault(int *p)
{
    store<<<8, 1>>>(p, 3);
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}

static void reset()
{
    cudaDeviceReset();
    cudaGetLastError();
    cudaError_t r = cudaDeviceSynchronize();
    if (r == cudaErrorDevicesUnavailable) { /* some GPUs do not come back within the process */
        printf("the device does not come back after a fault\n");
        exit(check_done());
    }
    CHECK_EQ_INT(r, cudaSuccess);
}

static void addresses()
{
    const size_t large = 1 << 20;
    int *p = make(large);

    if (reports()) { /* how near an overrun is noticed differs on GPUs */
        fault(p + large / 4 + 4);
        place(WEIR_PLACE_PAST, 16, large);
        reset();
        p = make(large);
        fault((int *)((char *)p - 4));
        place(WEIR_PLACE_BEFORE, 4, large);
        reset();
    }
    fault(nullptr);
    place(WEIR_PLACE_NULL, 0, 0);
    reset();
}

template <class Launch> static void misaligned(Launch launch, long long distance, int thread)
{
    char *p;
    CHECK_EQ_INT(cudaMalloc(&p, 4096), cudaSuccess);
    CHECK_EQ_INT(cudaMemset(p, 0, 4096), cudaSuccess);
    launch(p);
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaErrorMisalignedAddress);
    misaligned_report(distance, thread);
    reset();
}

static void misaligned_all()
{
    misaligned([](char *p) { odd_word<<<1, 32>>>(p); }, 22, 5);
    misaligned([](char *p) { odd_vector<<<1, 32>>>(p); }, 82, 5);
    misaligned([](char *p) { odd_atomic<<<1, 32>>>(p); }, 22, 5);
    misaligned([](char *p) { odd_index<<<1, 32>>>(p, (int *)(p + 1024)); }, 2, -1);
    misaligned([](char *p) { odd_line<<<1, 32>>>(p, 8); }, 8, -1);
    misaligned([](char *p) { odd_rows<<<1, 32>>>(p, 4); }, -1, 5);
}

/* The line of an access that a function makes. */
static void line(void (*kernel)(char *, const unsigned short *), int expected)
{
    unsigned short *p;
    CHECK_EQ_INT(cudaMalloc(&p, 4096), cudaSuccess);
    CHECK_EQ_INT(cudaMemset(p, 0, 4096), cudaSuccess);
    kernel<<<1, 32>>>((char *)nullptr + 64, p);
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
#if HAVE_STORIES
    if (reports())
        CHECK_EQ_INT(report().frames[0].line, expected);
#endif
    reset();
}

/* Thread 5 is off by two in the memory of its block: there is no allocation to name.
 */
__global__ void odd_shared(int *out)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = tile[threadIdx.x + 32] = (int)threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = *(volatile int *)off_by_two((char *)tile, 4 * threadIdx.x);
}

/* What the text of the report says of the address. */
static void shared_report(void (*launch)(int *), const char *words)
{
    int *p;
    CHECK_EQ_INT(cudaMalloc(&p, 4096), cudaSuccess);
    launch(p);
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaErrorMisalignedAddress);
#if HAVE_STORIES
    if (reports()) {
        CHECK(strstr(report().text, words) != nullptr);
        CHECK(strstr(report().text, "no memory") == nullptr);
    }
#endif
    reset();
}

static void shared_memory()
{
    shared_report([](int *p) { odd_shared<<<1, 32>>>(p); },
                  "byte 22 of the block's 256 bytes of shared memory");
}

/* Sums that a call of several blocks collects fault in the block that makes them. */
__global__ void count(const int *index, int *counts, int wild)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&counts[t == 9000 ? wild : index[t] & 15], 1);
}

static void collected_sums()
{
    const int blocks = 128, large = 1 << 21;
    int *index, *counts = make(large);
    counts += large / 4 - 16;
    CHECK_EQ_INT(cudaMalloc(&index, blocks * 256 * sizeof *index), cudaSuccess);
    CHECK_EQ_INT(cudaMemset(index, 0, blocks * 256 * sizeof *index), cudaSuccess);
    for (int n = 0; n < 20; n++)
        count<<<blocks, 256>>>(index, counts, 3);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    count<<<blocks, 256>>>(index, counts, 40);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
#if HAVE_STORIES
    if (reports()) {
        CHECK_EQ_INT(report().frames[0].block[0], 9000 / 256);
        CHECK_EQ_INT(report().distance, 24 * sizeof *counts);
    }
#endif
    reset();
}

static void lines()
{
    line(some_small, small_line);
    line(some_loaded, loaded_line);
    line(scattered, scattered_line);
}

static void others()
{
    stop<<<1, 1>>>();
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
#if HAVE_STORIES
    if (reports()) {
        weir_fault f = report();
        CHECK_EQ_INT(f.kind, WEIR_FAULT_TRAP);
        CHECK_EQ_INT(f.has_address, 0);
        CHECK_STR(f.frames[0].kernel, "stop()");
        /* a shorter struct of an older program is filled as far as it goes */
        weir_fault old;
        memset(&old, 0x55, sizeof old);
        old.bytes = offsetof(weir_fault, device);
        auto ask = asker();
        CHECK_EQ_INT(ask(&old), 1);
        CHECK_EQ_INT(old.code, cudaErrorLaunchFailure);
        CHECK_EQ_INT(old.device, 0x55555555);
    }
#endif
    reset();
}

int main()
{
    addresses();
    misaligned_all();
    shared_memory();
    lines();
    collected_sums();
    others();
    return check_done();
}
