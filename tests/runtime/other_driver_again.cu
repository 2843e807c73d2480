// For other_driver.sh: allocates and frees memory of two sizes a hundred times each.
#include <cuda_runtime.h>

#include <cstdio>

int main()
{
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < 100 && error == cudaSuccess; i++) {
        char *p, *q;
        error = cudaMalloc(&p, 1 << 20);
        if (error == cudaSuccess)
            error = cudaMalloc(&q, 100 << 20);
        if (error == cudaSuccess)
            error = cudaFree(p);
        if (error == cudaSuccess)
            error = cudaFree(q);
    }
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
