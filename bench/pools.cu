// What the stream-ordered allocator costs, beside the best of general allocators, and how much
// memory it takes for what programs use.
//
// The other allocators are measured in children of this program that have them instead of malloc;
// they are left out where they are not installed (make bench-deps).
#include <cuda_runtime.h>

#include "frames.h"
#include "traces.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>

static const size_t MIB = 1 << 20;
static const int MIXED = 1000; // live blocks

static double now_ns()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "bench: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}
#define MUST(call) must((call), #call)

// Memory of pools, each thread on a stream of its own.
struct Pool {
    cudaStream_t stream;
    Pool() { MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); }
    ~Pool() { cudaStreamDestroy(stream); }
    void *alloc(size_t bytes)
    {
        void *p = nullptr;
        MUST(cudaMallocAsync(&p, bytes, stream));
        return p;
    }
    void free(void *p) { MUST(cudaFreeAsync(p, stream)); }
};

struct Host {
    void *alloc(size_t bytes)
    {
        void *p = malloc(bytes);
        if (!p)
            exit(1);
        *(volatile char *)p = 1; // or the compiler sees that nothing is needed
        return p;
    }
    void free(void *p) { ::free(p); }
};

// The shortest mean over batches, in ns. They go on for some tenths of a second: a core that is
// shared with another program's thread (the machine's second thread of it) runs at half its speed,
// for milliseconds at a time.
template <class Body> static double best(int batches, int calls, Body body)
{
    double shortest = 1e30, end = now_ns() + 3e8;
    for (int batch = 0; batch <= batches || now_ns() < end; batch++) { // the first warms up
        double start = now_ns();
        for (int i = 0; i < calls; i++)
            body();
        double took = (now_ns() - start) / calls;
        if (batch > 0)
            shortest = std::min(shortest, took);
    }
    return shortest;
}

template <class Memory> static double pair_of(size_t bytes)
{
    Memory m;
    return best(30, 5000, [&] { m.free(m.alloc(bytes)); });
}

// Blocks of many sizes live at once; one of them is replaced by one of another size.
template <class Memory> static double mixed(bool any_size)
{
    Memory m;
    std::vector<void *> live(MIXED);
    uint64_t state = 88172645463325252u;
    auto random = [&] {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state;
    };
    std::vector<size_t> sizes(4096); // 512 bytes to 2 MiB, each power of two as likely
    for (size_t i = 0; i < sizes.size(); i++) {
        size_t low = (size_t)512 << (i % 12);
        sizes[i] = any_size ? low + random() % low : low + low / 4 * (random() % 4);
    }
    for (void *&p : live)
        p = m.alloc(sizes[random() % sizes.size()]);
    double ns = best(30, 20000, [&] {
        void *&p = live[random() % MIXED];
        m.free(p);
        p = m.alloc(sizes[random() % sizes.size()]);
    });
    for (void *p : live)
        m.free(p);
    return ns;
}

// The mean over the threads of what a pair costs each at best.
template <class Memory> static double threads(int count)
{
    std::vector<std::thread> all;
    std::vector<double> ns(count);
    std::atomic<int> ready(0);
    for (int i = 0; i < count; i++)
        all.emplace_back([&, i] {
            Memory m;
            m.free(m.alloc(MIB));
            for (ready++; ready < count;)
                std::this_thread::yield();
            ns[i] = best(40, 4000, [&] { m.free(m.alloc(MIB)); });
        });
    double sum = 0;
    for (int i = 0; i < count; i++) {
        all[i].join();
        sum += ns[i];
    }
    return sum / count;
}

static const char *const rows[] = {"pair of 512 B",
                                   "pair of 1 MiB",
                                   "pair of 64 MiB",
                                   "1,000 live blocks of 48 sizes",
                                   "1,000 live blocks of any size",
                                   "pair of 1 MiB, 1 thread",
                                   "2 threads",
                                   "4 threads",
                                   "8 threads",
                                   "16 threads"};
static const int ROWS = sizeof rows / sizeof *rows;

template <class Memory> static double measure(int row)
{
    switch (row) {
    case 0: return pair_of<Memory>(512);
    case 1: return pair_of<Memory>(MIB);
    case 2: return pair_of<Memory>(64 * MIB);
    case 3: return mixed<Memory>(false);
    case 4: return mixed<Memory>(true);
    default: return threads<Memory>(1 << (row - 5));
    }
}

// All rows of malloc's, measured with that library instead; empty if it is not to be had.
static std::vector<double> other(const char *library, const char *sign)
{
    std::vector<double> out;
    std::string command = std::string("LD_PRELOAD=") + library + " /proc/" +
                          std::to_string(getpid()) + "/exe --malloc " + sign + " 2>/dev/null";
    FILE *child = popen(command.c_str(), "r");
    double ns;
    while (child && fscanf(child, "%lf", &ns) == 1)
        out.push_back(ns);
    if (child && pclose(child) != 0)
        out.clear();
    return out;
}

static int malloc_rows(const char *sign)
{
    if (!dlsym(RTLD_DEFAULT, sign))
        return 1; // the loader has not found the library
    for (int row = 0; row < ROWS; row++)
        printf("%.2f\n", measure<Host>(row));
    return 0;
}

static void put(const std::vector<double> &column, int row)
{
    if ((int)column.size() == ROWS)
        printf(" %10.1f |", column[row]);
    else
        printf(" %10s |", "–");
}

static void calls()
{
    std::vector<double> mimalloc = other("libmimalloc.so.2", "mi_malloc");
    std::vector<double> jemalloc = other("libjemalloc.so.2", "mallctl");
    cudaMemPool_t pool;
    unsigned long long all = ~0ull;
    MUST(cudaDeviceGetDefaultMemPool(&pool, 0));
    MUST(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
    printf(
        "| allocate and free, ns | Weir | mimalloc | jemalloc |\n| --- | ---: | ---: | ---: |\n");
    for (int row = 0; row < ROWS; row++) {
        printf("| %-30s | %10.1f |", rows[row], measure<Pool>(row));
        put(mimalloc, row);
        put(jemalloc, row);
        printf("\n");
        fflush(stdout);
    }
}

// Reserved at most over used at most, through the API.
static double served(const Trace &t)
{
    cudaMemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool;
    cudaStream_t streams[2];
    cudaEvent_t event;
    unsigned long long all = ~0ull, used = 0, reserved = 0;
    MUST(cudaMemPoolCreate(&pool, &props));
    MUST(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
    MUST(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (cudaStream_t &s : streams)
        MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    std::vector<void *> at(t.ids);
    for (const Trace::Op &op : t.ops)
        if (op.kind == Trace::ALLOC) {
            MUST(cudaMallocFromPoolAsync(&at[op.id], op.bytes, pool, streams[op.stream]));
        } else if (op.kind == Trace::FREE) {
            MUST(cudaFreeAsync(at[op.id], streams[op.stream]));
            at[op.id] = nullptr;
        } else if (op.kind == Trace::ORDER) {
            MUST(cudaEventRecord(event, streams[op.id]));
            MUST(cudaStreamWaitEvent(streams[op.stream], event, 0));
        } else {
            MUST(cudaStreamSynchronize(streams[op.stream]));
        }
    MUST(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &used));
    MUST(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &reserved));
    for (void *p : at)
        if (p)
            MUST(cudaFreeAsync(p, streams[0]));
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemPoolDestroy(pool));
    return (double)reserved / used;
}

static void traces()
{
    struct {
        const char *name;
        Trace trace;
    } all[] = {{"training steps, sequences of many lengths", training(40)},
               {"inference server", serving(20000)},
               {"data frames: joins, group-bys, sorts", Frames(1, (size_t)6 << 30).queries(60)}};
    printf("\n| memory taken over memory used, at most | peak used | Weir | best fit | powers of "
           "two |\n"
           "| --- | ---: | ---: | ---: | ---: |\n");
    for (auto &t : all) {
        double peak = (double)t.trace.peak;
        printf("| %s | %.0f MiB | %.3f | %.3f | %.3f |\n", t.name, peak / MIB, served(t.trace),
               best_fit(t.trace) / peak, powers_of_two(t.trace) / peak);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[1], "--malloc"))
        return malloc_rows(argv[2]);
    if (argc < 2 || strcmp(argv[1], "--traces") != 0)
        calls();
    traces();
    return 0;
}
