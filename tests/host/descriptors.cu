/* Descriptors of the host: the program's standard streams are closed when the device opens, or it
 * closes all descriptors that it does not know and opens files of its own. What it writes must
 * reach neither the device's memory nor a trace, and what the device writes must not reach the
 * program's files.
 *
 *   descriptors closed             without standard streams: status 0, or what is wrong as the
 * status descriptors reopened FILE      closes all but the standard streams, then writes FILE */
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

enum { N = 1 << 16 };

__global__ void fill(int *p) { p[blockIdx.x * blockDim.x + threadIdx.x] = 42; }

/* Work that opens whatever the device opens: shared memory, a pool, an export, a kernel. */
static int *work()
{
    int *p, *q;
    cudaIpcMemHandle_t handle;
    if (cudaMalloc(&p, N * sizeof *p) != cudaSuccess ||
        cudaIpcGetMemHandle(&handle, p) != cudaSuccess ||
        cudaMallocAsync(&q, N * sizeof *q, 0) != cudaSuccess)
        return nullptr;
    fill<<<N / 256, 256>>>(p);
    fill<<<N / 256, 256>>>(q);
    return cudaDeviceSynchronize() == cudaSuccess ? p : nullptr;
}

static int values_differ(const int *p)
{
    static int values[N];
    if (cudaMemcpy(values, p, sizeof values, cudaMemcpyDeviceToHost) != cudaSuccess)
        return 3;
    for (int value : values)
        if (value != 42)
            return 4;
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "closed") == 0) {
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        int *p = work();
        for (int fd = 0; fd < 3; fd++)
            if (fcntl(fd, F_GETFD) >= 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
                return 2; /* a file that is only read may be open for a moment */
        for (int k = 0; k < 100; k++)
            fprintf(k % 2 ? stderr : stdout, "words for nobody\n");
        fflush(stdout);
        return p == nullptr ? 1 : values_differ(p);
    }
    if (argc == 3 && strcmp(argv[1], "reopened") == 0) {
        int *p = work();
        for (int fd = 3; fd < 200; fd++)
            close(fd);
        for (int fd = 3; fd < 200; fd++) { /* every number is the program's */
            int file = open(argv[2], O_RDWR | O_CREAT | O_APPEND, 0600);
            if (file < 0)
                return 5;
        }
        for (int k = 0; k < 2000; k++)
            fill<<<N / 256, 256>>>(p);
        cudaDeviceSynchronize();
        return p == nullptr ? 1 : values_differ(p);
    }
    return 64;
}
