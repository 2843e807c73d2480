/* The checked macro of the field: every CUDA call goes through it, and one that fails is reported
 * by file, line, call, code and text before the program ends. */
#ifndef EXAMPLES_CHECK_H
#define EXAMPLES_CHECK_H

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t check_error = (call);                                                          \
        if (check_error != cudaSuccess) {                                                          \
            fprintf(stderr, "%s:%d: %s: %s (%s)\n", __FILE__, __LINE__, #call,                     \
                    cudaGetErrorName(check_error), cudaGetErrorString(check_error));               \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

/* A launch reports what is wrong with it by cudaGetLastError. */
#define CHECK_LAUNCH() CHECK(cudaGetLastError())

#endif
