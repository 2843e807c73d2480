// What calls cost: one line per call, the best of several batches. Start-up is measured in children
// of this program: one with an empty kernel cache and three with what it has left, five times. With
// --process, once, and rows that both.cpp has are left out: it is for many processes.
#include "texture_loops.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

#include "../tests/on_weir.h"

static __global__ void empty() {}

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
    fprintf(stderr, "bench: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}
#define MUST(call) must((call), #call)

// The shortest time per call in µs over `batches` of `calls`; `after` ends a batch, untimed.
template <class Call, class After>
static double best(int batches, int calls, Call call, After after)
{
    double shortest = 1e30;
    for (int batch = 0; batch <= batches; batch++) { // the first warms up
        double start = now_us();
        for (int i = 0; i < calls; i++)
            call();
        double took = (now_us() - start) / calls;
        after();
        if (batch > 0)
            shortest = std::min(shortest, took);
    }
    return shortest;
}

static void row(const char *what, double value, const char *unit)
{
    int wide = 0; // bytes of UTF-8 that are no column of their own
    for (const char *c = what; *c; c++)
        wide += (*c & 0xc0) == 0x80;
    printf("| %-*s | %9.*f %-4s |\n", 50 + wide, what, value < 10 ? 3 : 2, value, unit);
    fflush(stdout);
}

static void nothing() {}
static void synchronize() { MUST(cudaDeviceSynchronize()); }

static void calls()
{
    cudaStream_t stream;
    cudaEvent_t event;
    MUST(cudaStreamCreate(&stream));
    MUST(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    row("launch of an empty kernel, without waiting",
        best(20, 500, [&] { empty<<<1, 32, 0, stream>>>(); }, synchronize), "µs");
    row("launch and cudaStreamSynchronize",
        best(
            20, 500,
            [&] {
                empty<<<1, 32, 0, stream>>>();
                MUST(cudaStreamSynchronize(stream));
            },
            nothing),
        "µs");
    row("cudaEventRecord",
        best(20, 500, [&] { MUST(cudaEventRecord(event, stream)); }, synchronize), "µs");
    row("cudaEventRecord and cudaEventSynchronize",
        best(
            20, 500,
            [&] {
                MUST(cudaEventRecord(event, stream));
                MUST(cudaEventSynchronize(event));
            },
            nothing),
        "µs");
    cudaEvent_t timed;
    MUST(cudaEventCreate(&timed));
    row("cudaEventRecord, with the time",
        best(20, 500, [&] { MUST(cudaEventRecord(timed, stream)); }, synchronize), "µs");
    MUST(cudaEventDestroy(timed));
    row("cudaEventCreate and cudaEventDestroy",
        best(
            20, 1000,
            [&] {
                cudaEvent_t e;
                MUST(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
                MUST(cudaEventDestroy(e));
            },
            nothing),
        "µs");
    row("cudaStreamCreate and cudaStreamDestroy",
        best(
            20, 200,
            [&] {
                cudaStream_t s;
                MUST(cudaStreamCreate(&s));
                MUST(cudaStreamDestroy(s));
            },
            nothing),
        "µs");
    row("cudaStreamQuery", best(20, 1000, [&] { MUST(cudaStreamQuery(stream)); }, nothing), "µs");
    void *p; // from now on the stream's order is looked at by the allocator
    MUST(cudaMallocAsync(&p, 1 << 20, stream));
    MUST(cudaFreeAsync(p, stream));
    row("cudaMallocAsync and cudaFreeAsync of 1 MiB",
        best(
            20, 500,
            [&] {
                MUST(cudaMallocAsync(&p, 1 << 20, stream));
                MUST(cudaFreeAsync(p, stream));
            },
            synchronize),
        "µs");
    row("cudaEventRecord where pools are used",
        best(20, 500, [&] { MUST(cudaEventRecord(event, stream)); }, synchronize), "µs");
    MUST(cudaEventDestroy(event));
    MUST(cudaStreamDestroy(stream));
}

// A chain of empty kernels, as one graph and as launches.
static void graphs()
{
    enum { KERNELS = 100 };
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    auto launches = [&] {
        for (int i = 0; i < KERNELS; i++)
            empty<<<1, 32, 0, stream>>>();
    };
    MUST(cudaStreamCreate(&stream));
    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launches();
    MUST(cudaStreamEndCapture(stream, &graph));
    MUST(cudaGraphInstantiate(&exec, graph, 0));
    row("100 empty kernels and cudaStreamSynchronize",
        best(20, 20, [&] { launches(), MUST(cudaStreamSynchronize(stream)); }, nothing), "µs");
    row("graph of 100 empty kernels, without waiting",
        best(20, 50, [&] { MUST(cudaGraphLaunch(exec, stream)); }, synchronize), "µs");
    row("graph of 100 empty kernels and synchronize",
        best(
            20, 50,
            [&] {
                MUST(cudaGraphLaunch(exec, stream));
                MUST(cudaStreamSynchronize(stream));
            },
            nothing),
        "µs");
    MUST(cudaGraphExecDestroy(exec));
    MUST(cudaGraphDestroy(graph));
    MUST(cudaStreamDestroy(stream));
}

typedef long long Pair __attribute__((vector_size(16)));

// Stores that go past the caches, so that nothing is fetched to be overwritten.
static void stream_bytes(char *to, const char *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += sizeof(Pair))
#ifdef __clang__
        __builtin_nontemporal_store(*(const Pair *)(from + i), (Pair *)(to + i));
#else
        *(Pair *)(to + i) = *(const Pair *)(from + i);
#endif
}

static void copy_bytes(char *to, const char *from, size_t bytes) { memcpy(to, from, bytes); }

// A part for each core, as a native program would copy. Bytes: a multiple of 64 KiB.
static void native_copy(void (*copy)(char *, const char *, size_t), char *to, const char *from,
                        size_t bytes)
{
    size_t cores = std::max(1u, std::thread::hardware_concurrency()), pages = bytes >> 12;
    std::vector<std::thread> threads;
    for (size_t i = 0; i < cores; i++) {
        size_t begin = pages * i / cores << 12, end = pages * (i + 1) / cores << 12;
        threads.emplace_back([=] { copy(to + begin, from + begin, end - begin); });
    }
    for (std::thread &t : threads)
        t.join();
}

// The rows of one copy: ours, and how it compares with the best native way over the same memory,
// in turn.
static void copy_rows(const char *what, char *to, const char *from, size_t bytes)
{
    bool reached = on_weir(); // by the host: a GPU's memory is not
    double ours = 1e30, native = 1e30;
    for (int round = 0; round < 8; round++) {
        double start = now_us();
        MUST(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
        synchronize();
        double end = now_us();
        ours = std::min(ours, end - start);
        if (!reached)
            continue;
        native_copy(round % 2 ? stream_bytes : copy_bytes, to, from, bytes);
        native = std::min(native, now_us() - end);
    }
    row(what, bytes / ours * 1e-3, "GB/s");
    if (reached)
        row((std::string(what) + ", of a native copy").c_str(), native / ours, "");
}

static void allocations()
{
    for (int mib : {1, 64}) {
        char what[64];
        snprintf(what, sizeof what, "cudaMalloc and cudaFree of %d MiB", mib);
        row(what,
            best(
                10, 50,
                [&] {
                    void *p;
                    MUST(cudaMalloc(&p, (size_t)mib << 20));
                    MUST(cudaFree(p));
                },
                nothing),
            "µs");
    }
}

static void copies(bool small_ones)
{
    const size_t small = 4096, large = (size_t)256 << 20;
    char *pageable = (char *)malloc(large), *pinned, *device[2];
    memset(pageable, 1, large);
    MUST(cudaMallocHost(&pinned, large));
    memset(pinned, 1, large);
    for (char *&d : device) {
        MUST(cudaMalloc(&d, large));
        MUST(cudaMemset(d, 0, large));
    }
    if (small_ones)
        row("copy of 4 KiB to the device and synchronize",
            best(
                20, 500,
                [&] {
                    MUST(cudaMemcpyAsync(device[0], pinned, small, cudaMemcpyHostToDevice));
                    MUST(cudaStreamSynchronize(0));
                },
                nothing),
            "µs");
    struct {
        const char *what;
        char *to, *from;
    } copies[] = {{"256 MiB, pageable to device", device[0], pageable},
                  {"256 MiB, pinned to device", device[0], pinned},
                  {"256 MiB, device to pinned", pinned, device[0]},
                  {"256 MiB, device to device", device[1], device[0]}};
    for (auto &c : copies)
        copy_rows(c.what, c.to, c.from, large);
    for (char *d : device)
        MUST(cudaFree(d));
    MUST(cudaFreeHost(pinned));
    free(pageable);
}

enum { TEXELS = 512, READERS = 256, READS = 2048 };

// One block, so one core: each thread reads along a line of its own, between the elements.
template <class T> static __global__ void read_texture(cudaTextureObject_t texture, float *out)
{
    float x = threadIdx.x * 1.3f, y = 0.7f, sum = 0;
    for (int i = 0; i < READS; i++) {
        T v = tex2D<T>(texture, x, y);
        sum += *reinterpret_cast<const float *>(&v);
        x += 0.21f;
        y += 0.17f;
    }
    out[threadIdx.x] = sum;
}

// The same by hand, in turn with nothing else: how much longer it takes. The sums are compared:
// ties are rounded another way there.
static void loop_row(const char *what, bool of_bytes, const char *texels, double us,
                     const float *ours)
{
    static float out[READERS];
    if (!texture_loop(of_bytes, texels, TEXELS, READERS, READS, out))
        return;
    for (int i = 0; i < READERS; i++)
        if (!(std::abs(out[i] - ours[i]) <= 1e-4f * std::abs(out[i]))) {
            fprintf(stderr, "bench: %s: %g, by hand %g\n", what, ours[i], out[i]);
            exit(1);
        }
    double native =
        best(10, 1, [&] { texture_loop(of_bytes, texels, TEXELS, READERS, READS, out); }, nothing);
    row((std::string(what) + ", of a loop by hand").c_str(), native / us, "");
}

template <class T>
static void texture(const char *what, const cudaChannelFormatDesc &format, int bytes,
                    cudaTextureReadMode mode, float *out)
{
    cudaArray_t array;
    cudaTextureObject_t object;
    cudaResourceDesc resource = {};
    cudaTextureDesc how = {};
    char *texels = (char *)calloc(TEXELS * TEXELS + 1, bytes + 3);
    unsigned random = 1;
    for (int i = 0; i < TEXELS * TEXELS * bytes; i++) {
        random = random * 1664525 + 1013904223;
        texels[i] = random >> 24;
        if (format.f == cudaChannelFormatKindFloat && i % 4 == 3)
            texels[i] = 0x3f; // floats around 1
    }
    MUST(cudaMallocArray(&array, &format, TEXELS, TEXELS));
    MUST(cudaMemcpy2DToArray(array, 0, 0, texels, TEXELS * bytes, TEXELS * bytes, TEXELS,
                             cudaMemcpyHostToDevice));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.filterMode = cudaFilterModeLinear;
    how.readMode = mode;
    MUST(cudaCreateTextureObject(&object, &resource, &how, nullptr));
    double us = best(
        10, 1,
        [&] {
            read_texture<T><<<1, READERS>>>(object, out);
            synchronize();
        },
        nothing);
    row(what, READERS * READS / us, "M/s");
    bool of_bytes = bytes == 1, of_floats = bytes == 4 && format.f == cudaChannelFormatKindFloat;
    if ((of_bytes || of_floats) && on_weir())
        loop_row(what, of_bytes, texels, us, out);
    MUST(cudaDestroyTextureObject(object));
    MUST(cudaFreeArray(array));
    free(texels);
}

static void textures()
{
    float *out;
    MUST(cudaMalloc(&out, READERS * sizeof *out));
    texture<float>("texture reads by a core, linear, float", cudaCreateChannelDesc<float>(), 4,
                   cudaReadModeElementType, out);
    texture<float>("texture reads by a core, linear, 8 bits",
                   cudaCreateChannelDesc<unsigned char>(), 1, cudaReadModeNormalizedFloat, out);
    texture<float4>("texture reads by a core, linear, 4 × 8 bits", cudaCreateChannelDesc<uchar4>(),
                    4, cudaReadModeNormalizedFloat, out);
    texture<float2>("texture reads by a core, linear, 2 × float", cudaCreateChannelDesc<float2>(),
                    8, cudaReadModeElementType, out);
    texture<float4>("texture reads by a core, linear, 4 × float", cudaCreateChannelDesc<float4>(),
                    16, cudaReadModeElementType, out);
    MUST(cudaFree(out));
}

// In a child: when the first call and the first launch were done.
static int first_calls()
{
    double at[2];
    int count;
    MUST(cudaGetDeviceCount(&count));
    MUST(cudaFree(nullptr));
    at[0] = now_us();
    empty<<<1, 32>>>();
    synchronize();
    at[1] = now_us();
    printf("%.3f %.3f\n", at[0], at[1]);
    return 0;
}

// Times from the start of a process to its first call's end, and of its first launch.
static void start(const char *program, double *first_call, double *first_launch)
{
    int ends[2];
    if (pipe(ends))
        exit(1);
    double begin = now_us(), at[2] = {0, 0};
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        execl(program, program, "--first-calls", (char *)nullptr);
        _exit(127);
    }
    close(ends[1]);
    FILE *out = fdopen(ends[0], "r");
    int status, found = fscanf(out, "%lf %lf", &at[0], &at[1]);
    fclose(out);
    waitpid(child, &status, 0);
    if (found != 2 || status) {
        fprintf(stderr, "bench: the child that measures start-up failed\n");
        exit(1);
    }
    *first_call = std::min(*first_call, (at[0] - begin) * 1e-3);
    *first_launch = std::min(*first_launch, (at[1] - at[0]) * 1e-3);
}

static void start_up(const char *program, int caches)
{
    double call = 1e30, cold = 1e30, cached = 1e30;
    for (int i = 0; i < caches; i++) {
        char cache[] = "/tmp/weir-bench-XXXXXX", remove[64];
        if (!mkdtemp(cache))
            exit(1);
        setenv("WEIR_CACHE_DIR", cache, 1);
        start(program, &call, &cold);
        for (int j = 0; j < 3; j++)
            start(program, &call, &cached);
        snprintf(remove, sizeof remove, "rm -r %s", cache);
        if (system(remove))
            exit(1);
    }
    row("process start to the first call's end", call, "ms");
    row("first launch, nothing cached", cold, "ms");
    row("first launch, cached on disk", cached, "ms");
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--first-calls"))
        return first_calls();
    printf("| %-50s | %13s  |\n| --- | ---: |\n", "call", "best");
    bool process = argc > 1 && !strcmp(argv[1], "--process");
    start_up("/proc/self/exe", process ? 1 : 5); // before this process has threads
    if (!process) {
        calls();
        graphs();
        allocations();
    }
    copies(!process);
    textures();
    return 0;
}
