/* What runs short for a while, or in one process: no code that stays wrong, no signal, no hang.
 * host_shortage files:  no descriptor is left when the compiler is to be opened; later there are
 * some host_shortage sizes:  memory that needs a file inside is refused where files must be small
 * host_shortage fork:   a forked child launches what another thread of its parent was loading */
#include <cstring>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "check.h"

#define NAMED(call) cudaGetErrorName(call)

static __global__ void add(int *p) { atomicAdd(p, 1); }
static __global__ void later(int *p) { atomicAdd(p, 10); }

static void files()
{
    rlimit few = {40, 40};
    int open_files[64], n = 0, *p;
    setrlimit(RLIMIT_NOFILE, &few);
    CHECK_STR(NAMED(cudaMallocManaged(&p, sizeof *p)), "cudaSuccess");
    *p = 0;
    while (n < 64 && (open_files[n] = open("/dev/null", O_RDONLY)) >= 0)
        n++;
    add<<<1, 32>>>(p);
    CHECK_STR(NAMED(cudaGetLastError()), "cudaErrorMemoryAllocation");
    while (n > 0)
        close(open_files[--n]);
    add<<<1, 32>>>(p);
    later<<<1, 32>>>(p);
    CHECK_STR(NAMED(cudaGetLastError()), "cudaSuccess");
    CHECK_STR(NAMED(cudaDeviceSynchronize()), "cudaSuccess");
    CHECK_EQ_INT(*p, 352);
}

static void sizes()
{
    rlimit small = {100 << 10, 100 << 10};
    void *p, *shared;
    cudaEvent_t event;
    cudaIpcMemHandle_t handle;
    cudaMemPool_t pool;
    cudaMemPoolProps want = {};
    CHECK_STR(NAMED(cudaMalloc(&p, 1 << 20)), "cudaSuccess");
    setrlimit(RLIMIT_FSIZE, &small);
    // each may fail: that this process goes on is what is asked
    cudaIpcGetMemHandle(&handle, p);
    want.allocType = cudaMemAllocationTypePinned;
    want.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    want.location.type = cudaMemLocationTypeDevice;
    if (cudaMemPoolCreate(&pool, &want) == cudaSuccess)
        CHECK_STR(NAMED(cudaMallocFromPoolAsync(&shared, 1 << 20, pool, nullptr)),
                  "cudaErrorMemoryAllocation");
    cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming);
    cudaGetLastError();
    CHECK_STR(NAMED(cudaMemset(p, 0, 1 << 20)), "cudaSuccess");
    CHECK_STR(NAMED(cudaDeviceSynchronize()), "cudaSuccess");
}

static bool ended_well(pid_t pid)
{
    int status = -1;
    return waitpid(pid, &status, 0) == pid && status == 0;
}

// Forks while another thread is in its first launch, or after it.
static int fork_after(unsigned microseconds)
{
    int *p;
    if (cudaMallocManaged(&p, sizeof *p) != cudaSuccess)
        return 1;
    std::thread other([=] { add<<<2, 64>>>(p); });
    usleep(microseconds);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(30);
        add<<<1, 1>>>(p);
        _exit(cudaGetLastError() == cudaSuccess); // no call works in a fork
    }
    bool well = ended_well(pid);
    other.join();
    return !well || cudaDeviceSynchronize() != cudaSuccess || *p != 128;
}

// Each moment in a process of its own: it has one first launch.
static void forks()
{
    for (unsigned n = 0; n < 24; n++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(fork_after(n * 100));
        CHECK(ended_well(pid));
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "files"))
        files();
    else if (!strcmp(what, "sizes"))
        sizes();
    else
        forks();
    return check_done();
}
