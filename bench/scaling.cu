// How work grows faster with workers: bench/scaling.sh runs this once for each number of workers.
// Each line is "what|value|unit", the best of several runs.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <time.h>
#include <vector>

#include "harness.h"

namespace matmul
{
#include "kernels/matmul/kernel.cu"
}
namespace nbody_pairs
{
#include "kernels/nbody/kernel.cu"
}
namespace options
{
#include "kernels/black_scholes/kernel.cu"
}

// The harness would be told of the kernels; nobody asks here.
extern "C" void bench_register_kernel(const char *, int, const void *) {}

static __global__ void empty() {}

// One block of one warp, some 20 µs for 4000 steps.
static __global__ void small(float *to, int steps)
{
    float x = threadIdx.x;
    for (int i = 0; i < steps; i++)
        x = x * 1.0001f + 0.5f;
    to[threadIdx.x] = x;
}

static double now_ms()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "bench: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}
#define MUST(call) must((call), #call)

// Shortest time in ms of at least three rounds after one to warm up, to the end of the
// synchronization. Short work gets more of them, as a moment in which nothing else runs is rarer
// for many workers than for one.
template <class Work> static double best(Work work)
{
    double shortest = 1e30, spent = 0;
    for (int i = 0; i <= 3 || spent < 300; i++) {
        double start = now_ms();
        work();
        MUST(cudaDeviceSynchronize());
        double took = now_ms() - start;
        if (i > 0) {
            shortest = std::min(shortest, took);
            spent += took;
        }
    }
    return shortest;
}

static void row(const char *what, double value, const char *unit)
{
    printf("%s|%.3f|%s\n", what, value, unit);
    fflush(stdout);
}

// Arithmetic in registers alone, split among plain threads: what the machine's cores give at most,
// whose clock may fall and whose cores may be halves of one when all are busy.
static void machine()
{
    const char *asked = getenv("WEIR_WORKERS");
    const int threads = asked ? std::max(atoi(asked), 1) : 1;
    const long steps = 400'000'000 / threads;
    auto work = [steps] {
        typedef float Vector __attribute__((vector_size(16)));
        Vector sum[8] = {};
        for (long i = 0; i < steps; i += 8)
            for (Vector &s : sum) {
                s = s * 1.0001f + 0.5f;
                asm volatile("" : "+x"(s)); // a step is a step
            }
    };
    double shortest = 1e30;
    for (int round = 0; round < 4; round++) {
        double start = now_ms();
        std::vector<std::thread> others;
        for (int i = 1; i < threads; i++)
            others.emplace_back(work);
        work();
        for (std::thread &t : others)
            t.join();
        shortest = std::min(shortest, now_ms() - start);
    }
    row("the machine: arithmetic of threads", shortest, "ms");
}

static float *floats(size_t count, float value)
{
    float *device, *host = (float *)malloc(count * sizeof(float));
    for (size_t i = 0; i < count; i++)
        host[i] = value + (float)(i % 1000) * 1e-3f;
    MUST(cudaMalloc(&device, count * sizeof(float)));
    MUST(cudaMemcpy(device, host, count * sizeof(float), cudaMemcpyDefault));
    free(host);
    return device;
}

static void kernels()
{
    const int n = 2048, count = 4 << 20;
    float *a = floats(n * n, 0), *b = floats(n * n, 0), *c = floats(n * n, 0);
    row("matmul 2048², 32×32 shared tiles",
        best([&] { matmul::matmul_32<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(a, b, c, n); }), "ms");
    for (int bodies : {16384, 65536}) { // 64 blocks and 256: the last one to end counts
        char what[64];
        snprintf(what, sizeof what, "nbody, %d bodies, all pairs", bodies);
        row(what, best([&] {
                nbody_pairs::nbody<<<bodies / nbody_pairs::TILE, nbody_pairs::TILE>>>(
                    (const float4 *)a, (float4 *)c, 0.01f, bodies);
            }),
            "ms");
    }
    float *price = floats(count, 20), *strike = floats(count, 25), *years = floats(count, 1);
    float *call = floats(count, 0), *put = floats(count, 0);
    row("Black-Scholes, 4 Mi options", best([&] {
            options::black_scholes<<<count / 256, 256>>>(price, strike, years, call, put, 0.02f,
                                                         0.3f, count);
        }),
        "ms");
    for (float *p : {a, b, c, price, strike, years, call, put})
        MUST(cudaFree(p));
}

static void launches()
{
    const int calls = 500;
    double enqueued = 1e30, waited = 1e30;
    cudaStream_t stream;
    MUST(cudaStreamCreate(&stream));
    for (int round = 0; round < 40; round++) {
        double start = now_ms();
        for (int i = 0; i < calls; i++)
            empty<<<1, 32, 0, stream>>>();
        enqueued = std::min(enqueued, (now_ms() - start) / calls);
        MUST(cudaDeviceSynchronize());
        start = now_ms();
        for (int i = 0; i < calls; i++) {
            empty<<<1, 32, 0, stream>>>();
            MUST(cudaStreamSynchronize(stream));
        }
        waited = std::min(waited, (now_ms() - start) / calls);
    }
    row("launch of an empty kernel", enqueued * 1e3, "µs");
    row("launch and cudaStreamSynchronize", waited * 1e3, "µs");
    MUST(cudaStreamDestroy(stream));
}

// Host threads that launch an empty kernel and wait for it, again and again, each in a stream of its
// own: what they have in common is the scheduler alone.
static void host_threads()
{
    const int most = 16, calls = 20000;
    cudaStream_t stream[most];
    for (cudaStream_t &s : stream)
        MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (int count = 1; count <= most; count *= 2) {
        double shortest = 1e30;
        for (int round = 0; round < 6; round++) {
            std::vector<std::thread> threads;
            double start = now_ms();
            for (int t = 0; t < count; t++)
                threads.emplace_back([&, t] {
                    for (int i = 0; i < calls; i++) {
                        empty<<<1, 32, 0, stream[t]>>>();
                        MUST(cudaStreamSynchronize(stream[t]));
                    }
                });
            for (std::thread &t : threads)
                t.join();
            shortest = std::min(shortest, now_ms() - start);
        }
        char what[64];
        snprintf(what, sizeof what, "launch and wait, %d host thread%s", count, count > 1 ? "s" : "");
        row(what, count * calls / shortest, "k/s");
    }
    for (cudaStream_t s : stream)
        MUST(cudaStreamDestroy(s));
}

static void streams()
{
    const int most = 64, each = 400;
    static cudaStream_t stream[most];
    float *to = floats(most * 32, 0);
    for (cudaStream_t &s : stream)
        MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    auto enqueue = [&](int count, int steps) {
        for (int i = 0; i < each; i++)
            for (int s = 0; s < count; s++)
                small<<<1, 32, 0, stream[s]>>>(to + s * 32, steps);
    };
    char what[64];
    for (int count = 1; count <= 16; count *= 2) {
        double ms = best([&] { enqueue(count, 4000); });
        snprintf(what, sizeof what, "small kernels in %d stream%s", count, count > 1 ? "s" : "");
        row(what, each * count / ms, "k/s");
    }
    // Where a kernel takes less than a look at a lock that others want. The worst round, too: there may be
    // several rates.
    for (int steps : {80, 800}) {
        double least = 1e30, most_ms = 0;
        for (int round = 0; round < 30; round++) {
            double start = now_ms();
            enqueue(most, steps);
            MUST(cudaDeviceSynchronize());
            double took = now_ms() - start;
            least = std::min(least, took);
            most_ms = std::max(most_ms, round > 0 ? took : 0);
        }
        snprintf(what, sizeof what, "kernels of %s µs in 64 streams", steps == 80 ? "0.4" : "4");
        row(what, each * most / least, "k/s");
        snprintf(what, sizeof what, "kernels of %s µs, slowest round", steps == 80 ? "0.4" : "4");
        row(what, each * most / most_ms, "k/s");
    }
    MUST(cudaFree(to));
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        machine();
        kernels();
    } else if (strcmp(argv[1], "--launches") != 0) {
        fprintf(stderr, "usage: weir-bench-scaling [--launches]\n");
        return 2;
    }
    launches();
    host_threads();
    streams();
    return 0;
}
