// Kernels of libraries, beside the program's own, for debugger.sh.
#include <cstdio>

#include "cuda/include/library.h"

__global__ void own_kernel(int *out, int n)
{
    int inner = n * 3;
    out[threadIdx.x] += inner; // line 9
}

int main()
{
    int *d, values[32];
    if (cudaMalloc(&d, sizeof values) != cudaSuccess)
        return 1;
    library_kernel<<<1, 32>>>(d, 10);
    own_kernel<<<1, 32>>>(d, 10);
    if (cudaMemcpy(values, d, sizeof values, cudaMemcpyDeviceToHost) != cudaSuccess)
        return 1;
    printf("%d\n", values[3]);
    return cudaFree(d);
}
