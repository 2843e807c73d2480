/* E2: a fault in a kernel is a code at the next synchronization, not a crash; it stays until the
 * device is reset, and then everything works again. */
#include <cassert>
#include <cstdlib>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__global__ void store(int *p, int value) { *p = value; }
__global__ void store_misaligned(char *p) { *(int *)(p + 1) = 1; }
/* A null pointer that the compiler knows to be one. */
__global__ void store_null_after(int *p)
{
    int *none = nullptr;
    p[1] = 1;
    if (p[0] == 0)
        *none = 5;
}
__global__ void load_null(int *p)
{
    int *none = nullptr;
    p[0] = *none;
}
__global__ void store_null_in_ptx(int *p)
{
    if (p[0] == 0)
        asm("{ .reg .u64 none; mov.u64 none, 0; st.global.u32 [none], 5; }" ::: "memory");
}
__global__ void trap() { __trap(); }
__global__ void call_no_function(void **table) { ((void (*)())table[0])(); }
__global__ void assert_positive(int x) { assert(x > 0); }

/* nvcc makes a trap of an access that it knows to be of no address. */
#ifdef __clang__
static const cudaError_t known_null = cudaErrorIllegalAddress;
#else
static const cudaError_t known_null = cudaErrorLaunchFailure;
#endif

template <typename Launch> static void faults(Launch launch, cudaError_t expected)
{
    int *p, value = 0;

    launch();
    OK(cudaGetLastError());
    CHECK_STR(cudaGetErrorName(cudaDeviceSynchronize()), cudaGetErrorName(expected));
    /* It sticks to every call that touches the device. */
    CHECK_STR(cudaGetErrorName(cudaDeviceSynchronize()), cudaGetErrorName(expected));
    CHECK_STR(cudaGetErrorName(cudaMalloc(&p, 4)), cudaGetErrorName(expected));
    CHECK_STR(cudaGetErrorName(cudaStreamSynchronize(0)), cudaGetErrorName(expected));
    cudaGetLastError();
    OK(cudaDeviceReset());
    OK(cudaGetLastError());
    if (cudaDeviceSynchronize() == cudaErrorDevicesUnavailable) { /* as on some GPUs */
        printf("the device does not come back after a fault\n");
        CHECK_STR(cudaGetErrorName(cudaMallocAsync(&p, 4, 0)), "cudaErrorDevicesUnavailable");
        exit(check_done());
    }
    OK(cudaMalloc(&p, sizeof *p));
    store<<<1, 1>>>(p, 42);
    OK(cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost));
    CHECK_EQ_INT(value, 42);
    OK(cudaFree(p));
}

int main()
{
    char *p;

    OK(cudaMalloc(&p, 64));
    faults([] { store<<<1, 1>>>((int *)16, 1); }, cudaErrorIllegalAddress);
    OK(cudaMalloc(&p, 64));
    OK(cudaMemset(p, 0, 64));
    faults([p] { store_null_after<<<1, 1>>>((int *)p); }, known_null);
    OK(cudaMalloc(&p, 64));
    faults([p] { load_null<<<1, 1>>>((int *)p); }, known_null);
    OK(cudaMalloc(&p, 64));
    OK(cudaMemset(p, 0, 64));
    faults([p] { store_null_in_ptx<<<1, 1>>>((int *)p); }, cudaErrorIllegalAddress);
    OK(cudaMalloc(&p, 64));
    faults([p] { store_misaligned<<<1, 1>>>(p); }, cudaErrorMisalignedAddress);
    OK(cudaMalloc(&p, 64));
    OK(cudaMemset(p, 0x5a, 64));
    faults([p] { call_no_function<<<1, 1>>>((void **)p); }, cudaErrorInvalidPc);
    faults([] { trap<<<1, 1>>>(); }, cudaErrorLaunchFailure);
    faults([] { assert_positive<<<1, 32>>>(-1); }, cudaErrorAssert);
    return check_done();
}
