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
static const int kernel_line = 20;

__global__ void stop() { __trap(); }

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

static weir_fault story()
{
    weir_fault f;
    auto ask = asker();
    memset(&f, 0, sizeof f);
    f.bytes = sizeof f;
    if (ask)
        CHECK_EQ_INT(ask(&f), 1);
    return f;
}

static bool stories() { return asker() != nullptr; }

static void place(weir_place where, unsigned long long distance, size_t size)
{
    if (!stories())
        return;
    weir_fault f = story();
    CHECK_EQ_INT(f.kind, WEIR_FAULT_ADDRESS);
    CHECK_EQ_INT(f.code, cudaErrorIllegalAddress);
    CHECK_EQ_INT(f.frame_count, 1);
    CHECK_STR(f.frames[0].kernel, "store(int*, int)");
    CHECK_EQ_INT(f.frames[0].block[0], 3);
    CHECK_EQ_INT(f.frames[0].line, kernel_line);
    CHECK(ends_with(f.frames[0].file, "E3_stories.cu"));
    CHECK_EQ_INT(f.has_address, 1);
    CHECK_EQ_INT(f.place, where);
    CHECK_EQ_INT(f.distance, distance);
    CHECK_EQ_INT(f.allocation.size, size);
    if (size == 0)
        return;
    CHECK_STR(f.allocation.made.call, "cudaMalloc");
    CHECK(f.allocation.made.address != nullptr);
    if (f.allocation.made.file) { /* the system can read debug information */
        CHECK(ends_with(f.allocation.made.file, "E3_stories.cu"));
        CHECK_EQ_INT(f.allocation.made.line, made_line);
        CHECK(strstr(f.text, "made by cudaMalloc at ") != nullptr);
    }
    CHECK(strstr(f.text, "in kernel store(int*, int), block (3,0,0)") != nullptr);
}
#else
enum weir_place { WEIR_PLACE_NULL, WEIR_PLACE_PAST, WEIR_PLACE_BEFORE };
static void place(weir_place, unsigned long long, size_t) {}
static bool stories() { return false; }
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

    if (stories()) { /* how near an overrun is noticed differs on GPUs */
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

static void others()
{
    stop<<<1, 1>>>();
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
#if HAVE_STORIES
    if (stories()) {
        weir_fault f = story();
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
    others();
    return check_done();
}
