// S7.8: a program that ends while a kernel is compiled in the background: exit_compiling MODE, or
// while the compiler is loaded for that: exit_compiling opening MICROSECONDS. Its status is its
// own, whatever way it ends, and code that others wait for is never lost.
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

// Launches one kernel. Where the cache has what its first launch needs, which "fill" leaves there,
// the compiler is loaded in the background alone.
static void launch()
{
    float *p;
    if (cudaMalloc(&p, 4096) != cudaSuccess)
        _exit(20);
    work<150, 11><<<2, 32>>>(p, 1024);
    if (cudaDeviceSynchronize() != cudaSuccess)
        _exit(21);
}

static bool is_mapped(const char *library)
{
    char line[1024];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL)
        found = strstr(line, library) != NULL;
    if (maps != NULL)
        fclose(maps);
    return found;
}

// Returns so long after the compiler's library has been mapped; its constructors come then. Its end
// does not wait for the kernel, since there is no cache any more that it could be kept in.
static int while_opening(unsigned microseconds)
{
    launch();
    char away[4096];
    snprintf(away, sizeof away, "%s.away", getenv("WEIR_CACHE_DIR"));
    if (rename(getenv("WEIR_CACHE_DIR"), away) != 0)
        _exit(24);
    for (int i = 0; i < 20000 && !is_mapped("libweir-jit"); i++)
        usleep(500);
    if (!is_mapped("libweir-jit"))
        _exit(25);
    usleep(microseconds);
    return 3;
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
    const char *mode = argc >= 2 ? argv[1] : "";
    if (strcmp(mode, "opening") == 0 && argc == 3)
        return while_opening((unsigned)atoi(argv[2]));
    if (strcmp(mode, "fill") == 0) {
        launch();
        _exit(3);
    }
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
