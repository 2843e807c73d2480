// Pools under the allocations of data frames (frames.h): what allocating costs each of several
// threads that work in one pool, and how much memory the pool takes for what they use.
//
//   frames [RUNTIME'S NAME] [THREADS...]
//
// `calls` has allocations, frees and the order between streams alone; `work` has a kernel on the
// first bytes of each block, too, so that the device works later than the host asks, as it does in
// programs.
#include <cuda_runtime.h>

#include "frames.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <time.h>

static const size_t GIB = (size_t)1 << 30;
static const int QUERIES = 40;

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
    fprintf(stderr, "frames: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}
#define MUST(call) must((call), #call)

static __global__ void touch(unsigned char *p, size_t bytes)
{
    for (size_t i = threadIdx.x; i < bytes; i += blockDim.x)
        p[i] = (unsigned char)i;
}

struct Worker {
    Trace trace;
    cudaStream_t streams[2];
    cudaEvent_t event;
    std::vector<void *> at;
    size_t pairs = 0;

    explicit Worker(Trace t) : trace(std::move(t)), at(trace.ids)
    {
        for (cudaStream_t &s : streams)
            MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
        MUST(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        for (const Trace::Op &op : trace.ops)
            pairs += op.kind == Trace::ALLOC;
    }

    void run(bool works)
    {
        for (const Trace::Op &op : trace.ops)
            switch (op.kind) {
            case Trace::ALLOC:
                MUST(cudaMallocAsync(&at[op.id], op.bytes, streams[op.stream]));
                if (works)
                    touch<<<1, 128, 0, streams[op.stream]>>>((unsigned char *)at[op.id],
                                                             std::min<size_t>(op.bytes, 4096));
                break;
            case Trace::FREE: MUST(cudaFreeAsync(at[op.id], streams[op.stream])); break;
            case Trace::ORDER:
                MUST(cudaEventRecord(event, streams[op.id]));
                MUST(cudaStreamWaitEvent(streams[op.stream], event, 0));
                break;
            case Trace::WAIT: MUST(cudaStreamSynchronize(streams[op.stream])); break;
            }
        for (cudaStream_t s : streams)
            MUST(cudaStreamSynchronize(s));
    }
};

// µs for each pair of a thread's, all of them at once; the shortest of some rounds.
static double together(std::vector<Worker> &workers, size_t count, bool works)
{
    double shortest = 1e30;
    for (int round = 0; round < 3; round++) { // the first warms up
        std::atomic<size_t> ready(0);
        std::vector<double> took(count);
        std::vector<std::thread> threads;
        for (size_t i = 0; i < count; i++)
            threads.emplace_back([&, i] {
                for (ready++; ready < count;)
                    std::this_thread::yield();
                double start = now_us();
                workers[i].run(works);
                took[i] = (now_us() - start) / (double)workers[i].pairs;
            });
        double sum = 0;
        for (size_t i = 0; i < count; i++) {
            threads[i].join();
            sum += took[i];
        }
        if (round > 0)
            shortest = std::min(shortest, sum / (double)count);
    }
    return shortest;
}

// Reserved at most over used at most since the last call.
static double taken(cudaMemPool_t pool)
{
    unsigned long long used = 0, reserved = 0, zero = 0;
    MUST(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &used));
    MUST(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &reserved));
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemPoolTrimTo(pool, 0));
    MUST(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
    MUST(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &zero));
    return used > 0 ? (double)reserved / (double)used : 0;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "this runtime";
    std::vector<size_t> counts;
    for (int i = 2; i < argc; i++)
        counts.push_back((size_t)atoi(argv[i]));
    if (counts.empty())
        counts = {1, 4, 16};
    size_t free_bytes = 0, total = 0, most = *std::max_element(counts.begin(), counts.end());
    MUST(cudaMemGetInfo(&free_bytes, &total));
    size_t each = std::min<size_t>(6 * GIB, free_bytes * 3 / 4 / most);
    std::vector<Worker> workers;
    for (size_t i = 0; i < most; i++)
        workers.emplace_back(Frames(i + 1, each).queries(QUERIES));
    cudaMemPool_t pool;
    MUST(cudaDeviceGetDefaultMemPool(&pool, 0));
    for (unsigned long long threshold : {~0ull, 0ull}) {
        MUST(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
        for (size_t count : counts) {
            taken(pool);
            double calls = together(workers, count, false), over = taken(pool);
            double work = together(workers, count, true), over_work = taken(pool);
            printf("| %-14s | %-9s | %2zu | %9.3f | %9.3f | %6.3f | %6.3f |\n", name,
                   threshold != 0 ? "all" : "0", count, calls, work, over, over_work);
            fflush(stdout);
        }
    }
    return 0;
}
