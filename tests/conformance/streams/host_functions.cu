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

/* What a GPU refuses inside a host function and inside a callback. */
static void *device, *ordered;
static cudaStream_t own;  /* the stream that the functions are in */
static cudaEvent_t event; /* never recorded */
static void refused()
{
    void *p;
    size_t a, b;
    unsigned flags;
    cudaStream_t s;
    cudaEvent_t e;
    cudaPointerAttributes attributes;
    static const cudaError_t no = cudaErrorNotPermitted;
    CHECK_EQ_INT(cudaMalloc(&p, 100), no);
    CHECK_EQ_INT(cudaMallocHost(&p, 100), no);
    CHECK_EQ_INT(cudaMallocManaged(&p, 100), no);
    CHECK_EQ_INT(cudaMemGetInfo(&a, &b), no);
    CHECK_EQ_INT(cudaPointerGetAttributes(&attributes, device), no);
    CHECK_EQ_INT(cudaMemcpy(device, &a, 4, cudaMemcpyDefault), no);
    CHECK_EQ_INT(cudaMemcpyAsync(device, mapped, 4, cudaMemcpyDefault, 0), no);
    CHECK_EQ_INT(cudaMemset(device, 0, 4), no);
    CHECK_EQ_INT(cudaMemsetAsync(device, 0, 4, 0), no);
    CHECK_EQ_INT(cudaStreamCreate(&s), no);
    CHECK_EQ_INT(cudaStreamQuery(0), no);
    CHECK_EQ_INT(cudaStreamGetFlags(0, &flags), no);
    CHECK_EQ_INT(cudaEventCreate(&e), no);
    CHECK_EQ_INT(cudaLaunchHostFunc(0, call_api, nullptr), no);
    CHECK_EQ_INT(cudaDeviceSynchronize(), no);
    CHECK_EQ_INT(cudaStreamSynchronize(own), no);
    CHECK_EQ_INT(cudaStreamQuery(own), no);
    CHECK_EQ_INT(cudaMallocAsync(&p, 100, own), no);
    CHECK_EQ_INT(cudaFreeAsync(ordered, own), no);
    /* It may look at events. */
    float ms;
    OK(cudaEventQuery(event));
    OK(cudaEventSynchronize(event));
    CHECK_EQ_INT(cudaEventElapsedTime(&ms, event, event), cudaErrorInvalidResourceHandle);
    CHECK_EQ_INT(cudaDeviceSynchronize(), no);
    CHECK_EQ_INT(cudaPeekAtLastError(), no); /* kept for this thread only */
    CHECK_EQ_INT(cudaGetLastError(), no);
    calls++;
}
static void CUDART_CB refused_in_function(void *) { refused(); }
static void CUDART_CB refused_in_callback(cudaStream_t, cudaError_t, void *) { refused(); }
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
    OK(cudaGetLastError());
    OK(cudaMalloc(&device, 4));
    OK(cudaEventCreate(&event));
    OK(cudaMallocAsync(&ordered, 4, s));
    own = s;
    OK(cudaLaunchHostFunc(s, refused_in_function, nullptr));
    OK(cudaStreamAddCallback(s, refused_in_callback, nullptr, 0));
    OK(cudaStreamSynchronize(s));
    CHECK_EQ_INT(calls.load(), 5);
    OK(cudaEventDestroy(event));
    OK(cudaFree(device));
    OK(cudaFreeAsync(ordered, s));
    OK(cudaGetLastError());
    CHECK_EQ_INT(cudaStreamAddCallback(s, callback, nullptr, 1), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaStreamAddCallback(s, nullptr, nullptr, 0), cudaErrorInvalidValue);
    OK(cudaStreamDestroy(s));
    OK(cudaFreeHost(mapped));
    return check_done();
}
