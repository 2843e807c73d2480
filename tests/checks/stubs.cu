/* Launches as nvcc's stubs make them. The program has no variables: a launch loads its module. */
// CHECK: leaks,calls
#include "checks.h"

extern "C" cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function);
extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                                          size_t shared, cudaStream_t stream);

__global__ void nothing() {}

/* What nvcc makes of a kernel `other(int)` that is launched: a stub with the kernel's name as the
 * linker has it, and a function of the kernel's name around it, both with lines of the kernel. */
#define STUBS(name, mangled, inlining)                                                              \
    inlining static void __device_stub__##mangled(int)                                             \
    {                                                                                              \
        cudaKernel_t kernel;                                                                       \
        DO(__cudaGetKernel(&kernel, (const void *)nothing));                                       \
        __cudaLaunchKernel(kernel, 1, 4096, nullptr, 0, 0);                                        \
    }                                                                                              \
    inlining void name(int n) { __device_stub__##mangled(n); }
STUBS(other, Z5otheri, __attribute__((noinline)))
STUBS(inlined, Z7inlinedi, inline __attribute__((always_inline)))
STUBS(stub_inlined_, Z12stub_inlinedi, inline __attribute__((always_inline)))
__attribute__((noinline)) void stub_inlined(int n) { __device_stub__Z12stub_inlinedi(n); }

/* nvcc 13's stubs call the runtime by a function of a header; a compiler inlines that into the stub, and
 * the function around the stub where it is called. */
__attribute__((noinline)) static cudaError_t __cudaLaunchKernel_helper(cudaKernel_t kernel)
{
    return __cudaLaunchKernel(kernel, 1, 4096, nullptr, 0, 0);
}
__attribute__((noinline)) static void __device_stub__Z9by_helperi(int)
{
    cudaKernel_t kernel;
    DO(__cudaGetKernel(&kernel, (const void *)nothing));
    __cudaLaunchKernel_helper(kernel);
}
__attribute__((noinline)) void by_helper(int n) { __device_stub__Z9by_helperi(n); }
__attribute__((noinline)) static void __device_stub__Z14around_inlinedi(int)
{
    cudaKernel_t kernel;
    DO(__cudaGetKernel(&kernel, (const void *)nothing));
    __cudaLaunchKernel(kernel, 1, 4096, nullptr, 0, 0);
}
__attribute__((always_inline)) inline void around_inlined(int n)
{
    __device_stub__Z14around_inlinedi(n);
}

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

CASE(stubs_of_nvcc)
{
    other(1); // EXPECT kernel other\(int\) never ran: its launch at \S*LINE failed with \d+ \(cudaErrorInvalid
}

CASE(stubs_of_nvcc_inlined)
{
    inlined(1); // EXPECT kernel inlined\(int\) never ran: its launch at \S*LINE failed
}

CASE(stub_of_nvcc_inlined)
{
    stub_inlined(1); // EXPECT kernel stub_inlined\(int\) never ran: its launch at \S*LINE failed
}

CASE(stub_of_nvcc_with_a_helper)
{
    by_helper(1); // EXPECT kernel by_helper\(int\) never ran: its launch at \S*LINE failed
}

CASE(stub_in_a_function_that_is_inlined)
{
    around_inlined(1); // EXPECT kernel around_inlined\(int\) never ran: its launch at \S*LINE failed
}
