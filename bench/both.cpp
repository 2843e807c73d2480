// What calls cost through two runtimes in one process, over one driver and one context:
//   both OURS.so THEIRS.so OURS.rows THEIRS.rows
// Batches of each row go to the two in turn, so that what differs between processes, and from one
// second to the next, does not count. A row is the median of its batches, in the form of
// bench/api.cu, appended to each file.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <string>
#include <time.h>
#include <vector>

static double now_us()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "bench: %s: error %d\n", what, (int)error);
    exit(1);
}
#define MUST(call) must((call), #call)

static const char empty_kernel[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                                   ".visible .entry empty()\n{\n ret;\n}\n";

// The functions of one runtime, and what is made by them.
#define FUNCTIONS(F)                                                                               \
    F(cudaLibraryLoadData)                                                                         \
    F(cudaLibraryGetKernel)                                                                        \
    F(cudaLaunchKernel)                                                                            \
    F(cudaStreamCreate)                                                                            \
    F(cudaStreamDestroy)                                                                           \
    F(cudaStreamSynchronize)                                                                       \
    F(cudaStreamQuery)                                                                             \
    F(cudaStreamBeginCapture)                                                                      \
    F(cudaStreamEndCapture)                                                                        \
    F(cudaEventCreateWithFlags)                                                                    \
    F(cudaEventDestroy)                                                                            \
    F(cudaEventRecord)                                                                             \
    F(cudaEventSynchronize)                                                                        \
    F(cudaGraphInstantiate)                                                                        \
    F(cudaGraphLaunch)                                                                             \
    F(cudaMallocAsync)                                                                             \
    F(cudaFreeAsync)                                                                               \
    F(cudaMalloc)                                                                                  \
    F(cudaFree)                                                                                    \
    F(cudaMallocHost)                                                                              \
    F(cudaMemcpyAsync)                                                                             \
    F(cudaDeviceSynchronize)

struct Runtime {
#define MEMBER(name) decltype(&::name) p_##name;
    FUNCTIONS(MEMBER)
#undef MEMBER
    FILE *rows;
    cudaStream_t stream;
    cudaEvent_t event, timed;
    cudaKernel_t kernel;
    cudaGraphExec_t exec;
    char *device, *pinned;

    Runtime(const char *library, const char *file) : rows(fopen(file, "a"))
    {
        void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        if (!handle || !rows) {
            fprintf(stderr, "bench: %s\n", handle ? file : dlerror());
            exit(1);
        }
#define FIND(name)                                                                                 \
    if (!(p_##name = (decltype(&::name))dlsym(handle, #name))) {                                   \
        fprintf(stderr, "bench: %s lacks %s\n", library, #name);                                   \
        exit(1);                                                                                   \
    }
        FUNCTIONS(FIND)
#undef FIND
    }

    void launch() { MUST(p_cudaLaunchKernel(kernel, dim3(1), dim3(32), nullptr, 0, stream)); }

    void launches()
    {
        for (int i = 0; i < 100; i++)
            launch();
    }

    void make()
    {
        cudaLibrary_t library;
        cudaGraph_t graph;
        MUST(p_cudaLibraryLoadData(&library, empty_kernel, nullptr, nullptr, 0, nullptr, nullptr,
                                   0));
        MUST(p_cudaLibraryGetKernel(&kernel, library, "empty"));
        MUST(p_cudaStreamCreate(&stream));
        MUST(p_cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        MUST(p_cudaEventCreateWithFlags(&timed, 0));
        MUST(p_cudaMalloc((void **)&device, 4096));
        MUST(p_cudaMallocHost((void **)&pinned, 4096));
        launch();
        MUST(p_cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        launches();
        MUST(p_cudaStreamEndCapture(stream, &graph));
        MUST(p_cudaGraphInstantiate(&exec, graph, 0));
        MUST(p_cudaDeviceSynchronize());
    }

    void synchronize() { MUST(p_cudaStreamSynchronize(stream)); }
    void record() { MUST(p_cudaEventRecord(event, stream)); }
    void make_event()
    {
        cudaEvent_t e;
        MUST(p_cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
        MUST(p_cudaEventDestroy(e));
    }
    void make_stream()
    {
        cudaStream_t s;
        MUST(p_cudaStreamCreate(&s));
        MUST(p_cudaStreamDestroy(s));
    }
    void allocate_in_order()
    {
        void *p;
        MUST(p_cudaMallocAsync(&p, 1 << 20, stream));
        MUST(p_cudaFreeAsync(p, stream));
    }
    void allocate(size_t bytes)
    {
        void *p;
        MUST(p_cudaMalloc(&p, bytes));
        MUST(p_cudaFree(p));
    }
    void copy()
    {
        MUST(p_cudaMemcpyAsync(device, pinned, 4096, cudaMemcpyHostToDevice, nullptr));
        MUST(p_cudaStreamSynchronize(nullptr));
    }
};

enum { BATCHES = 41 };

static void row(Runtime **both, const char *what, int calls,
                const std::function<void(Runtime &)> &call)
{
    std::vector<double> took[2];
    for (int batch = -2; batch < 2 * BATCHES; batch++) { // the first two warm up
        int which = (batch & 1) ^ (batch >> 1 & 1);      // each is first in turn
        Runtime &r = *both[which];
        double start = now_us();
        for (int i = 0; i < calls; i++)
            call(r);
        double each = (now_us() - start) / calls;
        MUST(r.p_cudaDeviceSynchronize());
        if (batch >= 0)
            took[which].push_back(each);
    }
    for (int i = 0; i < 2; i++) {
        std::sort(took[i].begin(), took[i].end());
        fprintf(both[i]->rows, "| %-50s | %9.4f µs   |\n", what, took[i][took[i].size() / 2]);
    }
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "bench: both OURS.so THEIRS.so OURS.rows THEIRS.rows\n");
        return 2;
    }
    Runtime ours(argv[1], argv[3]), theirs(argv[2], argv[4]), *both[] = {&ours, &theirs};
    for (Runtime *r : both)
        r->make();
    row(both, "launch of an empty kernel, without waiting", 200, [](Runtime &r) { r.launch(); });
    row(both, "launch and cudaStreamSynchronize", 100,
        [](Runtime &r) { r.launch(), r.synchronize(); });
    row(both, "cudaEventRecord", 200, [](Runtime &r) { r.record(); });
    row(both, "cudaEventRecord and cudaEventSynchronize", 200,
        [](Runtime &r) { r.record(), MUST(r.p_cudaEventSynchronize(r.event)); });
    row(both, "cudaEventRecord, with the time", 200,
        [](Runtime &r) { MUST(r.p_cudaEventRecord(r.timed, r.stream)); });
    row(both, "cudaEventCreate and cudaEventDestroy", 500, [](Runtime &r) { r.make_event(); });
    row(both, "cudaStreamCreate and cudaStreamDestroy", 100, [](Runtime &r) { r.make_stream(); });
    row(both, "cudaStreamQuery", 500, [](Runtime &r) { MUST(r.p_cudaStreamQuery(r.stream)); });
    row(both, "100 empty kernels and cudaStreamSynchronize", 5,
        [](Runtime &r) { r.launches(), r.synchronize(); });
    row(both, "graph of 100 empty kernels, without waiting", 10,
        [](Runtime &r) { MUST(r.p_cudaGraphLaunch(r.exec, r.stream)); });
    row(both, "graph of 100 empty kernels and synchronize", 10,
        [](Runtime &r) { MUST(r.p_cudaGraphLaunch(r.exec, r.stream)), r.synchronize(); });
    row(both, "copy of 4 KiB to the device and synchronize", 100, [](Runtime &r) { r.copy(); });
    row(both, "cudaMalloc and cudaFree of 1 MiB", 20, [](Runtime &r) { r.allocate(1 << 20); });
    row(both, "cudaMalloc and cudaFree of 64 MiB", 20, [](Runtime &r) { r.allocate(64 << 20); });
    // From now on the streams' order is looked at by the allocator.
    row(both, "cudaMallocAsync and cudaFreeAsync of 1 MiB", 200,
        [](Runtime &r) { r.allocate_in_order(); });
    row(both, "cudaEventRecord where pools are used", 200, [](Runtime &r) { r.record(); });
    row(both, "launch where pools are used", 200, [](Runtime &r) { r.launch(); });
    for (Runtime *r : both)
        fclose(r->rows);
    return 0;
}
