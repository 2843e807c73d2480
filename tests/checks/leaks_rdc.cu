/* What the start of a program with relocatable code makes: nothing that the program could give back. */
// CHECK: leaks
// FLAGS: -rdc=true
#include "checks.h"

__managed__ int managed_variable[100];

__global__ void touch()
{
    managed_variable[threadIdx.x] = 1;
}

CASE(managed_variables)
{
    touch<<<1, 32>>>();
    DO(cudaDeviceSynchronize());
}
