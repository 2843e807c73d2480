// For other_driver.sh: a program that holds the runtime, and a library that is linked with the shared one
// (LIBRARY): both are to find the same driver.
#include <cuda_runtime.h>

#include <cstdio>

#ifdef LIBRARY
extern "C" int second()
{
    void *p;
    return cudaMalloc(&p, 64);
}
#else
extern "C" int second();

int main()
{
    void *p;
    int here = cudaMalloc(&p, 64), there = second();
    printf(here == 0 && there == 0 ? "right\n" : "wrong: %d and %d\n", here, there);
    return here != 0 || there != 0;
}
#endif
