// What calls cost in instructions of the calling thread. bench/counts.sh runs this under callgrind
// and divides; each count_* function makes CALLS calls. Times depend on what else a machine does,
// these counts nearly not.
//
// How many small kernels of a graph are run at a stretch depends on how long they take, and under
// callgrind they take long. So a node of a graph is counted by the CPU instead: --graph
// prints its instructions, or nothing where the system lets no one count.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int CALLS = 200, NODES = 100;

static __global__ void empty() {}
static __global__ void four(int *, const int *, long, float) {}

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "bench: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}
#define MUST(call) must((call), #call)

static cudaStream_t stream;
static cudaEvent_t event;
static cudaGraphExec_t graph;
static char *device, *pinned;

// Two functions that do the same: one to warm up, one that is counted.
#define PATH(name, ...)                                                                            \
    static __attribute__((noinline)) void warm_##name()                                            \
    {                                                                                              \
        for (int i = 0; i < CALLS; i++) {                                                          \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
    }                                                                                              \
    extern "C" __attribute__((noinline)) void count_##name()                                       \
    {                                                                                              \
        for (int i = 0; i < CALLS; i++) {                                                          \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
    }

PATH(launch, (empty<<<1, 32, 0, stream>>>()))
PATH(launch_with_four, (four<<<1, 32, 0, stream>>>((int *)device, (int *)device, 1, 2)))
PATH(launch_and_synchronize, (empty<<<1, 32, 0, stream>>>(), MUST(cudaStreamSynchronize(stream))))
PATH(record, MUST(cudaEventRecord(event, stream)))
PATH(record_and_synchronize,
     (MUST(cudaEventRecord(event, stream)), MUST(cudaEventSynchronize(event))))
PATH(record_with_pools, MUST(cudaEventRecord(event, stream)))
PATH(query, MUST(cudaStreamQuery(stream)))
PATH(malloc_and_free, void *p; MUST(cudaMalloc(&p, 1 << 20)); MUST(cudaFree(p)))
PATH(pool_pair, void *p; MUST(cudaMallocAsync(&p, 1 << 20, stream)); MUST(cudaFreeAsync(p, stream)))
PATH(copy_and_synchronize, MUST(cudaMemcpyAsync(device, pinned, 4096, cudaMemcpyDefault, stream));
     MUST(cudaStreamSynchronize(stream)))
PATH(graph_launch_and_synchronize, MUST(cudaGraphLaunch(graph, stream));
     MUST(cudaStreamSynchronize(stream)))

static void make_graph()
{
    cudaGraph_t g;
    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < NODES; i++)
        empty<<<1, 32, 0, stream>>>();
    MUST(cudaStreamEndCapture(stream, &g));
    MUST(cudaGraphInstantiate(&graph, g, 0));
}

// Instructions of this thread, the system's left out; -1: not to be had.
static int instructions_open()
{
    perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_HARDWARE;
    attr.config = PERF_COUNT_HW_INSTRUCTIONS;
    attr.exclude_kernel = attr.exclude_hv = 1;
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static uint64_t instructions(int counter)
{
    uint64_t n = 0;
    return read(counter, &n, sizeof n) == sizeof n ? n : 0;
}

static int native_graph()
{
    int counter = instructions_open();
    MUST(cudaStreamCreate(&stream));
    make_graph();
    warm_graph_launch_and_synchronize();
    uint64_t before = instructions(counter);
    count_graph_launch_and_synchronize();
    uint64_t after = instructions(counter);
    if (counter >= 0 && after > before)
        printf("%.0f\n", (double)(after - before) / CALLS / NODES);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--graph"))
        return native_graph();
    struct {
        void (*warm)(), (*count)();
    } paths[] = {
#define BOTH(name) {warm_##name, count_##name}
        BOTH(launch),
        BOTH(launch_with_four),
        BOTH(record),
        BOTH(launch_and_synchronize),
        BOTH(query),
        BOTH(record_and_synchronize),
        BOTH(malloc_and_free),
        BOTH(pool_pair),
        BOTH(record_with_pools),
        BOTH(copy_and_synchronize),
    };
    MUST(cudaStreamCreate(&stream));
    MUST(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    MUST(cudaMalloc(&device, 4096));
    MUST(cudaMallocHost(&pinned, 4096));
    for (auto &path : paths) {
        path.warm();
        MUST(cudaDeviceSynchronize());
        path.count();
        MUST(cudaDeviceSynchronize());
    }
    printf("%d\n", CALLS);
    return 0;
}
