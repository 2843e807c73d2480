// FLAGS: -rdc=true -lcudadevrt
/* D8: launches as a compiler writes them: a parameter buffer is asked for, filled with the
 * arguments, each at its natural alignment, and handed over with the launch ("CUDA C++ Programming
 * Guide", device-side launch from PTX). */
#include <string.h>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__device__ int results[64];
static int got[64];

static void finish()
{
    static const int zeros[64] = {};
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpyFromSymbol(got, results, sizeof results));
    OK(cudaMemcpyToSymbol(results, zeros, sizeof results));
}

struct pair {
    int a;
    double b;
};
__global__ void child(char c, pair p, short s, int at)
{
    atomicAdd(&results[at], c == 'c' && p.a == 5 && p.b == 2.5 && s == -7);
    atomicAdd(&results[at + 1], (int)(gridDim.x * 100 + blockDim.x * 10 + blockDim.y));
}
/* The arguments where the kernel expects them. */
struct arguments {
    char c;
    pair p;
    short s;
    int at;
};
__global__ void no_arguments() { atomicAdd(&results[0], 1); }

__global__ void parent(bool dynamic)
{
    void *kernel = (void *)child;
    arguments *a =
        (arguments *)cudaGetParameterBufferV2(kernel, dim3(2), dim3(4, 2), dynamic ? 512u : 0u);
    if (a == NULL) {
        results[10] = 1;
        return;
    }
    a->c = 'c';
    a->p.a = 5;
    a->p.b = 2.5;
    a->s = -7;
    a->at = 0;
    results[12] = cudaLaunchDeviceV2(a, dynamic ? cudaStreamFireAndForget : (cudaStream_t)0);
}
/* A launch that cannot be fails when the buffer is asked for, or when it is launched. */
__global__ void wrong()
{
    void *buffer = cudaGetParameterBufferV2((void *)no_arguments, dim3(1), dim3(5000), 0);
    results[1] = buffer != NULL ? cudaLaunchDeviceV2(buffer, 0) : cudaGetLastError();
}
__global__ void from_table()
{
    void (*table[2])() = {no_arguments, no_arguments};
    void *buffer =
        cudaGetParameterBufferV2((void *)table[threadIdx.x % 2], dim3(threadIdx.x + 1), dim3(1), 0);
    if (buffer != NULL)
        cudaLaunchDeviceV2(buffer, 0);
}

int main()
{
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        parent<<<1, 1>>>(dynamic);
        finish();
        CHECK_EQ_INT(got[0], 2 * 8);
        CHECK_EQ_INT(got[1], 2 * 8 * 242);
        CHECK_EQ_INT(got[10], 0);
        CHECK_EQ_INT(got[12], cudaSuccess);
    }
    wrong<<<1, 1>>>();
    finish();
    CHECK_EQ_INT(got[0], 0);
    CHECK(got[1] != cudaSuccess);
    from_table<<<1, 8>>>();
    finish();
    CHECK_EQ_INT(got[0], 36);
    return check_done();
}
