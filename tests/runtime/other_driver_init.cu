// For other_driver.sh: a program of the driver API alone.
#include <cuda.h>

#include <cstdio>

int main()
{
    int error = cuInit(0);
    printf("cuInit: %d\n", error);
    return error != 0;
}
