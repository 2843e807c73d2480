// RUN workers-1: WEIR_WORKERS=1
// RUN workers-2: WEIR_WORKERS=2
/* S8: a kernel that waits for a clock keeps nothing from running: what another stream has to do is
 * done meanwhile, however few the cores. */
#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__device__ unsigned long long nanoseconds()
{
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

__global__ void wait_by_timer(unsigned long long ns, unsigned long long *waited)
{
    unsigned long long begin = nanoseconds(), now = begin;
    while (now - begin < ns)
        now = nanoseconds();
    *waited = now - begin;
}

__device__ __noinline__ void wait_ticks(long long ticks)
{
    long long begin = clock64();
    while (clock64() - begin < ticks)
        ;
}

__global__ void wait_by_clock(long long ticks, unsigned long long *waited)
{
    unsigned long long begin = nanoseconds();
    wait_ticks(ticks);
    *waited = nanoseconds() - begin;
}

__global__ void set(volatile int *flag) { *flag = 1; }

static volatile int *flag;
static unsigned long long *waited;

/* Whether the other stream's kernel was seen to be done while this one still waited. A machine that
 * is busy with other things may sleep through one attempt. */
template <typename Launch> static bool others_run(int streams, Launch launch)
{
    cudaStream_t holds[16], other;
    bool seen = false;

    for (int i = 0; i < streams; i++)
        OK(cudaStreamCreateWithFlags(&holds[i], cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    for (int attempt = 0; attempt < 5 && !seen; attempt++) {
        *flag = 0;
        for (int i = 0; i < streams; i++)
            launch(holds[i], &waited[i]);
        set<<<1, 1, 0, other>>>(flag);
        while (*flag == 0)
            ;
        seen = true;
        for (int i = 0; i < streams; i++)
            seen = seen && cudaStreamQuery(holds[i]) == cudaErrorNotReady;
        OK(cudaDeviceSynchronize());
    }
    for (int i = 0; i < streams; i++)
        OK(cudaStreamDestroy(holds[i]));
    OK(cudaStreamDestroy(other));
    return seen;
}

int main()
{
    const unsigned long long ns = 300000000;
    int khz = 0;

    OK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
    OK(cudaMallocHost((void **)&flag, sizeof *flag));
    OK(cudaMallocHost((void **)&waited, 16 * sizeof *waited));
    set<<<1, 1>>>(flag); /* compiled before anything is held */
    wait_by_timer<<<1, 1>>>(1, waited);
    wait_by_clock<<<1, 1>>>(1, waited);
    OK(cudaDeviceSynchronize());
    CHECK(others_run(
        1, [=](cudaStream_t s, unsigned long long *w) { wait_by_timer<<<1, 1, 0, s>>>(ns, w); }));
    CHECK(waited[0] >= ns);
    CHECK(others_run(
        16, [=](cudaStream_t s, unsigned long long *w) { wait_by_timer<<<1, 32, 0, s>>>(ns, w); }));
    for (int i = 0; i < 16; i++)
        CHECK(waited[i] >= ns);
    CHECK(others_run(8, [=](cudaStream_t s, unsigned long long *w) {
        wait_by_clock<<<1, 1, 0, s>>>((long long)khz * 300, w);
    }));
    return check_done();
}
