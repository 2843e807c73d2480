/* E1.3: the runtime API from plain C: names and texts of codes, and a round trip through the
 * device.
 */
#include <cuda_runtime_api.h>
#include <string.h>

#include "check.h"

static const struct {
    cudaError_t code;
    const char *name, *text;
} samples[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

int main(void)
{
    struct cudaDeviceProp prop;
    int in[100], out[100];
    void *p;

    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        CHECK_STR(cudaGetErrorName(samples[i].code), samples[i].name);
        CHECK_STR(cudaGetErrorString(samples[i].code), samples[i].text);
    }
    CHECK_STR(cudaGetErrorName((cudaError_t)11), "unrecognized error code");
    CHECK_STR(cudaGetErrorString((cudaError_t)-1), "unrecognized error code");
    for (int i = 0; i < 100; i++)
        in[i] = i * i;
    CHECK_EQ_INT(cudaGetDeviceProperties(&prop, 0), cudaSuccess);
    CHECK_EQ_INT(sizeof prop, 1008);
    CHECK_EQ_INT(cudaMalloc(&p, sizeof in), cudaSuccess);
    CHECK_EQ_INT(cudaMemcpy(p, in, sizeof in, cudaMemcpyHostToDevice), cudaSuccess);
    CHECK_EQ_INT(cudaMemcpy(out, p, sizeof out, cudaMemcpyDeviceToHost), cudaSuccess);
    CHECK(memcmp(in, out, sizeof in) == 0);
    CHECK_EQ_INT(cudaFree(p), cudaSuccess);
    return check_done();
}
