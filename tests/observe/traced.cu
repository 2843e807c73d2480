// A program of everything that a timeline shows. `traced kill` ends itself by SIGKILL while it
// works; `traced storm N` makes N launches; `traced two` runs itself as a second process.
#include <cuda_runtime.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(call)                                                                                 \
    do {                                                                                           \
        cudaError_t error = (call);                                                                \
        if (error != cudaSuccess) {                                                                \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

__global__ void scale(float *v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        v[i] *= 2;
}
template <class T> __global__ void child(T *v) { v[threadIdx.x] += 1; }
__global__ void parent(int *v)
{
    child<int><<<1, 32>>>(v);
    child<int><<<1, 32>>>(v);
}
__global__ void empty() {}

// ---- NVTX, as its headers do it ----

typedef void (*nvtx_function)();
static int (*push)(const char *);
static int (*pop)();
static void (*mark)(const char *);
static nvtx_function *core[16];

static int table_of(int module, nvtx_function ***table, unsigned *count)
{
    if (module != 1)
        return 0;
    core[2] = (nvtx_function *)&mark, core[9] = (nvtx_function *)&push;
    core[11] = (nvtx_function *)&pop;
    static nvtx_function others;
    for (int i = 0; i < 16; i++)
        core[i] = core[i] ? core[i] : &others;
    *table = core, *count = 16;
    return 1;
}

static const void *tables(uint32_t id)
{
    static struct {
        size_t bytes;
        int (*table_of)(int, nvtx_function ***, unsigned *);
    } callbacks = {sizeof callbacks, table_of};
    return id == 1 ? &callbacks : nullptr;
}

static void load_nvtx()
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : nullptr;
    auto init = library
                    ? (int (*)(const void *(*)(uint32_t)))dlsym(library, "InitializeInjectionNvtx2")
                    : nullptr;
    if (init)
        init(tables);
}

static void CUDART_CB on_host(void *) { usleep(1000); }

static void everything()
{
    const int n = 1 << 16;
    float *d, *pinned, pageable[256] = {};
    int *v;
    cudaStream_t a, b;
    cudaEvent_t e, done;
    if (push)
        push("all \"of\" it");
    MUST(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    MUST(cudaEventCreate(&e));
    MUST(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    MUST(cudaMalloc(&d, n * sizeof *d));
    MUST(cudaMalloc(&v, 128));
    MUST(cudaMallocHost(&pinned, n * sizeof *d));
    MUST(cudaMemcpyAsync(d, pinned, n * sizeof *d, cudaMemcpyHostToDevice, a));
    scale<<<n / 256, 256, 0, a>>>(d, n);
    MUST(cudaEventRecord(e, a));
    MUST(cudaStreamWaitEvent(b, e, 0));
    scale<<<n / 256, 256, 0, b>>>(d, n);
    MUST(cudaLaunchHostFunc(b, on_host, nullptr));
    MUST(cudaMemsetAsync(d, 0, 4096, b));
    MUST(cudaEventRecord(done, b));
    MUST(cudaEventSynchronize(done));
    void *m;
    MUST(cudaMallocAsync(&m, 1 << 20, a));
    MUST(cudaFreeAsync(m, a));
    MUST(cudaMemcpy(pageable, d, sizeof pageable, cudaMemcpyDeviceToHost));
    if (mark)
        mark("half"), mark("caf\xe9 caf\xc3\xa9 \xed\xa0\x80"); /* Latin-1, UTF-8, none */
    MUST(cudaMemset(v, 0, 128));
    parent<<<1, 2>>>(v);
    MUST(cudaDeviceSynchronize());
    cudaGraph_t g;
    cudaGraphExec_t x;
    MUST(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    MUST(cudaEventRecord(e, a));
    MUST(cudaStreamWaitEvent(b, e, 0));
    scale<<<n / 256, 256, 0, a>>>(d, n);
    scale<<<n / 256, 256, 0, b>>>(d, n);
    MUST(cudaEventRecord(done, b));
    MUST(cudaStreamWaitEvent(a, done, 0));
    MUST(cudaStreamEndCapture(a, &g));
    MUST(cudaGraphInstantiate(&x, g, 0));
    for (int i = 0; i < 3; i++)
        MUST(cudaGraphLaunch(x, a));
    MUST(cudaStreamSynchronize(a));
    if (cudaMalloc(nullptr, 1) == cudaSuccess)
        exit(1);
    if (pop)
        pop();
    MUST(cudaFree(d));
}

/* A call of the driver API, by a name that is looked up. */
static void load_driver()
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY);
    auto init = library != nullptr ? (int (*)(unsigned))dlsym(library, "cuInit") : nullptr;
    if (init == nullptr || init(0) != 0)
        abort();
}

int main(int argc, char **argv)
{
    load_nvtx();
    load_driver();
    if (argc > 2 && strcmp(argv[1], "storm") == 0) {
        for (int i = 0; i < atoi(argv[2]); i++)
            empty<<<1, 32>>>();
        MUST(cudaDeviceSynchronize());
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "two") == 0) {
        char *other[] = {argv[0], nullptr};
        pid_t pid = fork();
        if (pid == 0) {
            execv(argv[0], other);
            _exit(1);
        }
        everything();
        int status = 1;
        waitpid(pid, &status, 0);
        return status;
    }
    everything();
    if (argc > 1 && strcmp(argv[1], "kill") == 0) {
        if (fork() == 0) {
            usleep(300000);
            kill(getppid(), SIGKILL);
            _exit(0);
        }
        for (;;)
            everything();
    }
    puts("traced");
    return 0;
}
