// S7.8: a program that ends while a kernel is compiled in the background: exit_compiling MODE. Its
// status is its own, whatever way it ends, and code that others wait for is never lost.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ftw.h>
#include <signal.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

// Large enough that it takes a while to optimize, and of many shapes of code.
template <int VALUES, int SALT> __global__ void work(float *p, int n)
{
    float v[VALUES];
    int at = threadIdx.x;
#pragma unroll
    for (int i = 0; i < VALUES; i++)
        v[i] = p[(at * (i + SALT)) % n];
#pragma unroll
    for (int i = 0; i < VALUES; i++) {
        float x = v[i] * v[(i * 7 + SALT) % VALUES] + v[(i + 1) % VALUES];
        if (x > (float)i)
            x = sqrtf(x) + (float)(at & i);
        else if (n & (1 << (i % 20)))
            x = x / (v[(i + 3) % VALUES] + 2.0f);
        v[i] = x;
    }
#pragma unroll
    for (int i = 0; i < VALUES; i++)
        p[(at + i * SALT) % n] = v[i];
}

static int files;
static int count(const char *, const struct stat *, int type, struct FTW *)
{
    files += type == FTW_F;
    return 0;
}
static int cached()
{
    files = 0;
    nftw(getenv("WEIR_CACHE_DIR"), count, 8, 0);
    return files;
}

// The first kernel is small. When it has been optimized in the background, which the cache shows,
// what the compiler makes at its first use is there, and the others are next.
static void use(bool wait)
{
    float *p;
    if (cudaMalloc(&p, 4096) != cudaSuccess)
        _exit(20);
    work<4, 3><<<1, 32>>>(p, 1024);
    if (cudaDeviceSynchronize() != cudaSuccess)
        _exit(21);
    int before = cached();
    for (int i = 0; i < 2000 && cached() == before; i++)
        usleep(10000);
    work<12, 5><<<1, 64>>>(p, 1024);
    work<8, 11><<<2, 32>>>(p, 1024);
    if (wait && cudaDeviceSynchronize() != cudaSuccess)
        _exit(22);
}

// The child goes on with none of it, and leaves as it is told.
static int in_child()
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        exit(5);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5
               ? 3
               : 23;
}

int main(int argc, char **argv)
{
    const char *mode = argc == 2 ? argv[1] : "";
    use(strcmp(mode, "at-once") != 0);
    if (strcmp(mode, "exit") == 0)
        exit(3);
    if (strcmp(mode, "_exit") == 0)
        _exit(3);
    if (strcmp(mode, "quick_exit") == 0)
        quick_exit(3);
    if (strcmp(mode, "fork") == 0)
        return in_child();
    if (strcmp(mode, "signal") == 0)
        raise(SIGTERM);
    if (strcmp(mode, "thread") == 0) { // exit() by another thread than the one that launched
        std::thread([] { exit(3); }).join();
    }
    return 3; // "return", "at-once": nothing has been waited for
}
