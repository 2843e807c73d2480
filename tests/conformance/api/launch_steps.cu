// FLAGS: --legacy-api
/* K1: launches in steps (cudaConfigureCall, cudaSetupArgument, cudaLaunch): arguments at their
 * offsets, launches begun within launches, what is refused. */
#include <cuda_runtime.h>

#include <cstddef>

#include "check.h"

#define OK(call)          CHECK_EQ_INT(call, cudaSuccess)
#define ERROR(call, code) CHECK_EQ_INT(call, code)

struct pair {
    short a;
    double b;
};

__global__ void put(int *out, char c, struct pair p, float f)
{
    extern __shared__ int shared[];
    shared[threadIdx.x] = c;
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] =
        shared[threadIdx.x] + p.a + (int)p.b + (int)f + 10000 * blockIdx.y;
}

/* As the arguments of a kernel lie in memory. */
struct arguments {
    int *out;
    char c;
    struct pair p;
    float f;
};

static void set_arguments(int *out, float f)
{
    struct pair p = {10, 200.5};
    OK(cudaSetupArgument(out, offsetof(arguments, out)));
    OK(cudaSetupArgument((char)3, offsetof(arguments, c)));
    OK(cudaSetupArgument(p, offsetof(arguments, p)));
    OK(cudaSetupArgument(&f, sizeof f, offsetof(arguments, f)));
}

__global__ void none() {}

int main()
{
    int *out, *other, got[8];
    OK(cudaMalloc(&out, sizeof got));
    OK(cudaMalloc(&other, sizeof got));
    OK(cudaMemset(other, 0, sizeof got));
    ERROR(cudaLaunch(none), cudaErrorMissingConfiguration);
    ERROR(cudaSetupArgument(1, 0), cudaErrorMissingConfiguration);

    OK(cudaConfigureCall(dim3(2), dim3(4), 4 * sizeof(int)));
    set_arguments(out, 4000);
    /* one launch inside another's arguments */
    OK(cudaConfigureCall(dim3(1), dim3(8), 8 * sizeof(int), 0));
    set_arguments(other, 1000);
    OK(cudaLaunch(put));
    OK(cudaLaunch(put));
    OK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (int v : got)
        CHECK_EQ_INT(v, 4213);
    OK(cudaMemcpy(got, other, sizeof got, cudaMemcpyDeviceToHost));
    for (int v : got)
        CHECK_EQ_INT(v, 1213);

    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaConfigureCall(dim3(1), dim3(1), 0, s));
    OK(cudaLaunch(none));
    OK(cudaStreamSynchronize(s));
    OK(cudaStreamDestroy(s));

    OK(cudaConfigureCall(dim3(1), dim3(1)));
    ERROR(cudaSetupArgument(got, sizeof got, 4096), cudaErrorInvalidValue);
    ERROR(cudaSetupArgument(nullptr, 4, 0), cudaErrorInvalidValue);
    ERROR(cudaLaunch(main), cudaErrorInvalidResourceHandle);
    ERROR(cudaLaunch(none), cudaErrorMissingConfiguration); /* that one is used up */
    OK(cudaConfigureCall(dim3(1), dim3(2048)));
    ERROR(cudaLaunch(none), cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaFree(out));
    OK(cudaFree(other));
    return check_done();
}
