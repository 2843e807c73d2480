/* For other_driver.sh: what drivers of GPUs are not given. On Weir's it runs. */
#include <cstdio>

__managed__ int number = 3;
__device__ int *pointer = &number;
__global__ void write() { *pointer = 4; }

int main()
{
    write<<<1, 1>>>();
    return cudaDeviceSynchronize() != cudaSuccess || number != 4;
}
