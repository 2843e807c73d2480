/* S6: functions of the host in a stream's order; what they may not do. */
#include <atomic>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__global__ void set(int *p, int value) { *p = value; }

static int *mapped;
static int seen[4];
static std::atomic<int> calls;
static cudaError_t inside;

static void CUDART_CB look(void *user) { seen[calls++] = *mapped * 10 + (int)(size_t)user; }
static void CUDART_CB call_api(void *) { inside = cudaStreamSynchronize(0); }
static void CUDART_CB callback(cudaStream_t stream, cudaError_t status, void *user)
{
    CHECK_EQ_INT(status, cudaSuccess);
    CHECK(stream == *(cudaStream_t *)user);
    seen[calls++] = *mapped * 10 + 9;
}

int main()
{
    cudaStream_t s;

    OK(cudaStreamCreate(&s));
    OK(cudaMallocHost(&mapped, sizeof *mapped));
    set<<<1, 1, 0, s>>>(mapped, 1);
    OK(cudaLaunchHostFunc(s, look, (void *)1));
    set<<<1, 1, 0, s>>>(mapped, 2);
    OK(cudaLaunchHostFunc(s, look, (void *)2));
    set<<<1, 1, 0, s>>>(mapped, 3);
    OK(cudaStreamAddCallback(s, callback, &s, 0));
    OK(cudaStreamSynchronize(s));
    CHECK_EQ_INT(calls.load(), 3);
    CHECK_EQ_INT(seen[0], 11);
    CHECK_EQ_INT(seen[1], 22);
    CHECK_EQ_INT(seen[2], 39);
    OK(cudaLaunchHostFunc(s, call_api, nullptr));
    OK(cudaStreamSynchronize(s));
    CHECK_STR(cudaGetErrorName(inside), "cudaErrorNotPermitted");
    CHECK_EQ_INT(cudaStreamAddCallback(s, callback, nullptr, 1), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaStreamAddCallback(s, nullptr, nullptr, 0), cudaErrorInvalidValue);
    OK(cudaStreamDestroy(s));
    OK(cudaFreeHost(mapped));
    return check_done();
}
