/* E1: functions that CUDA had under other names until version 13, which programs still call: they
 * do what the functions of now do. A toolkit of version 13 or later may have them no more. */
#include "check.h"

#if defined(__has_include)
#if __has_include(<weir/older_api.h>)
#define HAVE_OLDER 1
#endif
#endif
#if CUDART_VERSION < 13000
#define HAVE_OLDER 1
#endif

#if HAVE_OLDER
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

__global__ void slow(int *p)
{
    long long start = clock64();
    while (clock64() - start < 1000000)
        ;
    *p = 42;
}

static void names()
{
    int *p;
    size_t before, after;
    enum cudaFuncCache cache;
    CHECK_EQ_INT(cudaMallocManaged(&p, sizeof *p), cudaSuccess);
    *p = 0;
    slow<<<1, 1>>>(p);
    CHECK_EQ_INT(cudaThreadSynchronize(), cudaSuccess);
    CHECK_EQ_INT(*p, 42);

    CHECK_EQ_INT(cudaThreadGetLimit(&before, cudaLimitPrintfFifoSize), cudaSuccess);
    CHECK_EQ_INT(cudaThreadSetLimit(cudaLimitPrintfFifoSize, 2 * before), cudaSuccess);
    CHECK_EQ_INT(cudaDeviceGetLimit(&after, cudaLimitPrintfFifoSize), cudaSuccess);
    CHECK(after >= 2 * before);
    CHECK_EQ_INT(cudaThreadGetLimit(nullptr, cudaLimitPrintfFifoSize), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidValue);

    CHECK_EQ_INT(cudaThreadSetCacheConfig(cudaFuncCachePreferShared), cudaSuccess);
    CHECK_EQ_INT(cudaThreadGetCacheConfig(&cache), cudaSuccess);
    CHECK_EQ_INT(cudaThreadExit(), cudaSuccess);
    CHECK(cudaFree(p) != cudaSuccess); /* went with everything else */
}
#else
static void names() { printf("this toolkit has the newer names only\n"); }
#endif

int main()
{
    names();
    return check_done();
}
