/* launch FILE KERNEL THREADS: launches a kernel of a PTX file with two pointers to as many words,
 * and tells whether it copied the first ones to the second. */
#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>

static void need(CUresult r, const char *what)
{
    if (r == CUDA_SUCCESS)
        return;
    printf("%s: error %d\n", what, (int)r);
    exit(1);
}

int main(int argc, char **argv)
{
    unsigned threads = argc == 4 ? (unsigned)atoi(argv[3]) : 0, from[1024], to[1024] = {0};
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction f;
    CUdeviceptr a, b;
    if (threads < 1 || threads > 1024)
        return printf("usage: launch FILE KERNEL THREADS\n"), 2;
    for (unsigned n = 0; n < threads; n++)
        from[n] = n * 3 + 1;
    need(cuInit(0), "init");
    need(cuDeviceGet(&device, 0), "device");
    need(cuDevicePrimaryCtxRetain(&context, device), "context");
    need(cuCtxSetCurrent(context), "context");
    need(cuModuleLoad(&module, argv[1]), "load");
    need(cuModuleGetFunction(&f, module, argv[2]), "function");
    need(cuMemAlloc(&a, sizeof from), "alloc");
    need(cuMemAlloc(&b, sizeof to), "alloc");
    need(cuMemcpyHtoD(a, from, threads * 4), "copy");
    void *params[] = {&a, &b};
    need(cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, NULL, params, NULL), "launch");
    need(cuMemcpyDtoH(to, b, threads * 4), "copy");
    for (unsigned n = 0; n < threads; n++)
        if (to[n] != from[n])
            return printf("word %u: %u\n", n, to[n]), 1;
    printf("copied\n");
    return 0;
}
