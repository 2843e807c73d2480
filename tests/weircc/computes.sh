# For tests of programs that compute one value: main.h has MAIN(kernel), and `computes VALUE OPTIONS...` builds and
# runs a.cu. Sourced after lib.sh.
cat >main.h <<'END'
#include <cstdio>
#define MAIN(kernel)                                                                              \
    int main()                                                                                    \
    {                                                                                             \
        int *p;                                                                                   \
        cudaMallocManaged(&p, 64);                                                                \
        *p = 41;                                                                                  \
        kernel<<<1, 1, 64>>>(p);                                                                  \
        cudaDeviceSynchronize();                                                                  \
        printf("is %d, %s\n", *p, cudaGetErrorName(cudaGetLastError()));                          \
        return 0;                                                                                 \
    }
END
computes() { # computes VALUE OPTIONS...
    value=$1
    shift
    run weircc a.cu -o program "$@"
    ok
    run ./program
    ok
    says "is $value, cudaSuccess"
}
