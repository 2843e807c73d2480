// FLAGS: -g -lineinfo
// E3: a kernel that uses memory in stream order after it was freed and given back: the fault is an
// error, and where Weir tells what the address was, it names the calls and the stream.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

static __global__ void touch(volatile char *p) { *p = 1; }

int main()
{
    cudaStream_t s;
    char *p, *earlier;
    // the runtime's own pools, which it has on a GPU, keep some memory mapped that they have given back
    setenv("WEIR_POOLS", "driver", 1);
    OK(cudaMallocAsync(&earlier, 1000, 0)); // of another stream: each counts for itself
    OK(cudaStreamCreate(&s));
    OK(cudaMallocAsync(&p, 64 << 20, s));
    touch<<<1, 1, 0, s>>>(p + (32 << 20));
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s)); // the threshold is 0: the pages are the system's again
    touch<<<1, 1, 0, s>>>(p + (32 << 20));
    CHECK_STR(cudaGetErrorName(cudaStreamSynchronize(s)), "cudaErrorIllegalAddress");
    auto message = (const char *(*)())dlsym(RTLD_DEFAULT, "weir_last_message");
    if (message) {
        const char *text = message();
        bool told = strstr(text, "freed memory") && strstr(text, "67,108,864-byte allocation #") && strstr(text, ".1 made") &&
                    strstr(text, "cudaMallocAsync at ") &&
                    strstr(text, "freed by cudaFreeAsync at ");
        CHECK(told);
        if (!told)
            printf("%s\n", text);
    }
    return check_done();
}
