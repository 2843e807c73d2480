/* Launches as nvcc's stubs make them. The program has no variables: a launch loads its module. */
// CHECK: leaks,calls
#include "checks.h"

extern "C" cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function);
extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                                          size_t shared, cudaStream_t stream);

__global__ void nothing() {}

CASE(module_of_the_program)
{
    cudaKernel_t kernel;
    DO(__cudaGetKernel(&kernel, (const void *)nothing));
    DO(__cudaLaunchKernel(kernel, 1, 32, nullptr, 0, 0));
    DO(cudaDeviceSynchronize());
}

CASE(never_ran)
{
    cudaKernel_t kernel;
    DO(__cudaGetKernel(&kernel, (const void *)nothing));
    __cudaLaunchKernel(kernel, 1, 4096, nullptr, 0, 0); // EXPECT a kernel never ran: its launch at \S*LINE failed with \d+ \(cudaErrorInvalid
}
