/* The device code of the random sequences, and the handles by which C code names it. */
#include "sequences_device.h"

__device__ unsigned char symbol_bytes[16 * 1024];

/* Each byte becomes a function of itself and its place. */
__global__ void mix(unsigned char *p, unsigned n, unsigned value)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        p[i] = (unsigned char)(p[i] * 5 + value + i);
}

__global__ void copy(unsigned char *to, const unsigned char *from, unsigned n, unsigned value)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        to[i] = (unsigned char)(from[i] ^ value);
}

/* Waits for the host. */
__global__ void gate(volatile unsigned *flag, unsigned wanted)
{
    while (*flag < wanted)
        ;
}

__global__ void count(unsigned *counter) { atomicAdd(counter, 1u); }

__global__ void __launch_bounds__(64) small(unsigned char *p)
{
    if (p != nullptr && threadIdx.x == 0)
        *p = 0;
}

extern "C" const void *kernel_handle(int number)
{
    const void *handles[] = {(const void *)mix, (const void *)copy, (const void *)gate,
                             (const void *)count, (const void *)small};
    return handles[number];
}

extern "C" const void *symbol_handle(void) { return (const void *)symbol_bytes; }
