/* Y1 to Y4: which calls wait for a stream that is held, and that a source which may be used again
 * when the call is back really may.
 *
 * A stream is held by a kernel that spins, or by a host function, until it is released. Each cell
 * of the table is one call made while one stream is held: '.' it came back, 'W' it waited until
 * another thread released the stream. A cell that should wait is released after a few
 * milliseconds, one that should not only after half a minute, so that no answer depends on how
 * busy the machine is. With the argument "print" the table is found out and printed. */
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

/* ---- holding a stream ---- */

__global__ void spin(volatile int *flag)
{
    while (*flag == 0)
        ;
}
__global__ void nothing() {}

static std::atomic<int> host_flag;
static volatile int *flag; /* page-locked: what the kernel looks at */

static void CUDART_CB hold_host(void *)
{
    while (host_flag == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(200));
}

/* Releases after a while, unless someone else was first. */
class Watchdog
{
  public:
    Watchdog() : thread([this] { run(); }) {}
    ~Watchdog()
    {
        {
            std::lock_guard<std::mutex> l(lock);
            quit = true;
        }
        changed.notify_all();
        thread.join();
    }
    void arm(int ms)
    {
        std::lock_guard<std::mutex> l(lock);
        armed = true;
        barked = false;
        when = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
        changed.notify_all();
    }
    /* True when the watchdog had to release. */
    bool disarm()
    {
        std::lock_guard<std::mutex> l(lock);
        armed = false;
        return barked;
    }

  private:
    void run()
    {
        std::unique_lock<std::mutex> l(lock);
        while (!quit) {
            if (!armed) {
                changed.wait(l);
            } else if (std::chrono::steady_clock::now() >= when) {
                armed = false;
                barked = true;
                host_flag = 1;
                *flag = 1;
            } else {
                changed.wait_until(l, when);
            }
        }
    }
    std::mutex lock;
    std::condition_variable changed;
    bool armed = false, barked = false, quit = false;
    std::chrono::steady_clock::time_point when;
    std::thread thread; /* last: it uses the others */
};

static Watchdog *watchdog;
static cudaStream_t blocking, nonblocking, own_blocking, own_nonblocking;

static void hold(cudaStream_t s, bool by_kernel)
{
    host_flag = 0;
    *flag = 0;
    if (by_kernel)
        spin<<<1, 1, 0, s>>>(flag);
    else
        OK(cudaLaunchHostFunc(s, hold_host, nullptr));
    OK(cudaGetLastError());
    cudaStreamQuery(s); /* some drivers collect launches until asked */
}

static void release()
{
    host_flag = 1;
    *flag = 1;
    OK(cudaDeviceSynchronize());
}

/* ---- a call of the table ---- */

struct Call {
    std::string name;
    bool in_stream;               /* takes a stream */
    std::function<void()> before; /* nothing is held yet */
    std::function<cudaError_t(cudaStream_t s)> run;
    std::function<void()> back;  /* right after the call has come back */
    std::function<void()> after; /* all is done */
};

static bool printing, by_kernel;
static int patience = 30000;

/* One cell: '.', 'W', or 'E' for an error. */
static char cell(const Call &c, cudaStream_t in, cudaStream_t held, char expected)
{
    if (c.before)
        c.before();
    OK(cudaDeviceSynchronize());
    hold(held, by_kernel);
    watchdog->arm(printing ? 25 : expected == 'W' ? 4 : patience);
    cudaError_t error = c.run(in);
    bool waited = watchdog->disarm();
    if (waited && expected == '.')
        patience = 100; /* it has failed; go on quickly */
    if (c.back)
        c.back();
    release();
    if (c.after && error == cudaSuccess)
        c.after();
    if (error == cudaSuccess || error == cudaErrorNotReady)
        return waited ? 'W' : '.';
    if (printing)
        printf("    %s: %s\n", c.name.c_str(), cudaGetErrorName(error));
    cudaGetLastError();
    return 'E';
}

/* The columns: which stream is held, for a call without a stream or in the default stream, then in
 * a blocking stream, then in a non-blocking one. d: the default stream is held, b: another blocking
 * one, n: another non-blocking one, s: the stream of the call. */
static std::string row(const Call &c, const char *expected)
{
    struct {
        cudaStream_t in, held;
    } columns[] = {{0, 0},
                   {0, blocking},
                   {0, nonblocking},
                   {own_blocking, own_blocking},
                   {own_blocking, 0},
                   {own_blocking, blocking},
                   {own_blocking, nonblocking},
                   {own_nonblocking, own_nonblocking},
                   {own_nonblocking, 0},
                   {own_nonblocking, blocking},
                   {own_nonblocking, nonblocking}};
    std::string answer;
    size_t count = c.in_stream ? 11 : 3;
    for (size_t i = 0; i < count; i++) {
        if (i == 3 || i == 7)
            answer += ' ';
        char want = strlen(expected) > answer.size() ? expected[answer.size()] : '?';
        answer += cell(c, columns[i].in, columns[i].held, want);
    }
    return answer;
}

/* ---- memory ---- */

static const size_t most = (size_t)17 << 20;
enum { PAGEABLE, PINNED, MANAGED, DEVICE, KINDS };
static const char *const kind_names[KINDS] = {"pageable", "pinned", "managed", "device"};
static unsigned char *sources[KINDS], *targets[KINDS];
static std::vector<unsigned char> pattern, seen;
static unsigned round_number;

static void allocate()
{
    unsigned char **sides[] = {sources, targets};
    for (auto side : sides) {
        side[PAGEABLE] = (unsigned char *)malloc(most);
        OK(cudaMallocHost((void **)&side[PINNED], most));
        OK(cudaMallocManaged((void **)&side[MANAGED], most));
        OK(cudaMalloc((void **)&side[DEVICE], most));
        memset(side[PAGEABLE], 1, most);
    }
    pattern.resize(most);
    seen.resize(most);
}

static void give_back()
{
    unsigned char **sides[] = {sources, targets};
    for (auto side : sides) {
        free(side[PAGEABLE]);
        OK(cudaFreeHost(side[PINNED]));
        OK(cudaFree(side[MANAGED]));
        OK(cudaFree(side[DEVICE]));
    }
}

/* Fills the source with bytes that no round before had there. */
static void fill(int kind, size_t bytes)
{
    round_number++;
    for (size_t i = 0; i < bytes; i += 4) {
        unsigned v = (unsigned)i * 2654435761u + round_number * 40503u;
        memcpy(&pattern[i], &v, 4);
    }
    if (kind == DEVICE)
        OK(cudaMemcpy(sources[kind], pattern.data(), bytes, cudaMemcpyHostToDevice));
    else
        memcpy(sources[kind], pattern.data(), bytes);
}

static void compare(int kind, size_t bytes, const char *what)
{
    const unsigned char *got = targets[kind];
    if (kind == DEVICE) {
        OK(cudaMemcpy(seen.data(), got, bytes, cudaMemcpyDeviceToHost));
        got = seen.data();
    }
    if (!check_count(memcmp(got, pattern.data(), bytes) == 0))
        printf("%s: wrong bytes arrived\n", what);
}

/* ---- the calls ---- */

/* A copy; a pageable source is overwritten as soon as the call is back. `rows` > 1: as 2D. */
static Call copy(int from, int to, size_t bytes, bool async, cudaMemcpyKind how, size_t rows = 1)
{
    static const char *const hows[] = {"HtoH ", "HtoD ", "DtoH ", "DtoD ", ""};
    Call c;
    char size[32];
    snprintf(size, sizeof size, rows > 1 ? " %zu as 2D" : " %zu", bytes);
    c.name = std::string(async ? "cudaMemcpyAsync " : "cudaMemcpy ") + hows[how] +
             kind_names[from] + " " + kind_names[to] + size;
    c.in_stream = async;
    c.before = [=] { fill(from, bytes); };
    c.run = [=](cudaStream_t s) {
        size_t width = bytes / rows;
        if (rows > 1)
            return async ? cudaMemcpy2DAsync(targets[to], width, sources[from], width, width, rows,
                                             how, s)
                         : cudaMemcpy2D(targets[to], width, sources[from], width, width, rows, how);
        return async ? cudaMemcpyAsync(targets[to], sources[from], bytes, how, s)
                     : cudaMemcpy(targets[to], sources[from], bytes, how);
    };
    if (from == PAGEABLE)
        c.back = [=] { memset(sources[from], 0xee, bytes); };
    std::string name = c.name;
    c.after = [=] { compare(to, bytes, name.c_str()); };
    return c;
}

static Call set(int kind, bool async)
{
    Call c;
    c.name = std::string(async ? "cudaMemsetAsync " : "cudaMemset ") + kind_names[kind];
    c.in_stream = async;
    c.run = [=](cudaStream_t s) {
        return async ? cudaMemsetAsync(targets[kind], 0x5a, 4096, s)
                     : cudaMemset(targets[kind], 0x5a, 4096);
    };
    c.after = [=] {
        memset(pattern.data(), 0x5a, 4096);
        compare(kind, 4096, "memset");
    };
    return c;
}

static Call simple(const char *name, bool in_stream, std::function<cudaError_t(cudaStream_t)> run,
                   std::function<void()> before = nullptr, std::function<void()> after = nullptr)
{
    Call c;
    c.name = name;
    c.in_stream = in_stream;
    c.run = run;
    c.before = before;
    c.after = after;
    return c;
}

__device__ int symbol[4096];

static std::vector<Call> copies()
{
    std::vector<Call> all;
    for (int async = 0; async < 2; async++)
        for (int from = 0; from < KINDS; from++)
            for (int to = 0; to < KINDS; to++) {
                all.push_back(copy(from, to, 4096, async, cudaMemcpyDefault));
                all.push_back(copy(from, to, 1 << 20, async, cudaMemcpyDefault));
            }
    for (int async = 0; async < 2; async++) {
        all.push_back(copy(PAGEABLE, DEVICE, 4096, async, cudaMemcpyHostToDevice));
        all.push_back(copy(PAGEABLE, DEVICE, 65536, async, cudaMemcpyHostToDevice));
        all.push_back(copy(PAGEABLE, DEVICE, 65536 + 4, async, cudaMemcpyHostToDevice));
        all.push_back(copy(PAGEABLE, DEVICE, most, async, cudaMemcpyHostToDevice));
        all.push_back(copy(PAGEABLE, MANAGED, 4096, async, cudaMemcpyHostToDevice));
        all.push_back(copy(MANAGED, PAGEABLE, 4096, async, cudaMemcpyDeviceToHost));
        all.push_back(copy(MANAGED, DEVICE, 4096, async, cudaMemcpyHostToDevice));
        all.push_back(copy(MANAGED, MANAGED, 4096, async, cudaMemcpyHostToHost));
        all.push_back(copy(MANAGED, MANAGED, 4096, async, cudaMemcpyDeviceToDevice));
        all.push_back(copy(DEVICE, MANAGED, 4096, async, cudaMemcpyDeviceToHost));
        all.push_back(copy(PAGEABLE, DEVICE, 4096, async, cudaMemcpyDefault, 16));
        all.push_back(copy(PINNED, DEVICE, 4096, async, cudaMemcpyDefault, 16));
        all.push_back(copy(DEVICE, PAGEABLE, 4096, async, cudaMemcpyDefault, 16));
        all.push_back(copy(DEVICE, PINNED, 4096, async, cudaMemcpyDefault, 16));
        all.push_back(copy(DEVICE, DEVICE, 4096, async, cudaMemcpyDefault, 16));
        all.push_back(copy(PAGEABLE, PINNED, 4096, async, cudaMemcpyDefault, 16));
        for (int kind = 0; kind < KINDS; kind++)
            all.push_back(set(kind, async));
    }
    static int host[4096];
    all.push_back(simple("cudaMemcpyToSymbol pageable", false, [](cudaStream_t) {
        return cudaMemcpyToSymbol(symbol, host, sizeof host);
    }));
    all.push_back(simple("cudaMemcpyToSymbolAsync pageable", true, [](cudaStream_t s) {
        return cudaMemcpyToSymbolAsync(symbol, host, sizeof host, 0, cudaMemcpyHostToDevice, s);
    }));
    all.push_back(simple("cudaMemcpyFromSymbol pageable", false, [](cudaStream_t) {
        return cudaMemcpyFromSymbol(host, symbol, sizeof host);
    }));
    all.push_back(simple("cudaMemcpyFromSymbol device", false, [](cudaStream_t) {
        return cudaMemcpyFromSymbol(targets[DEVICE], symbol, sizeof host, 0,
                                    cudaMemcpyDeviceToDevice);
    }));
    all.push_back(simple("cudaMemcpyPeer", false, [](cudaStream_t) {
        return cudaMemcpyPeer(targets[DEVICE], 0, sources[DEVICE], 0, 4096);
    }));
    all.push_back(simple("cudaMemcpyPeerAsync", true, [](cudaStream_t s) {
        return cudaMemcpyPeerAsync(targets[DEVICE], 0, sources[DEVICE], 0, 4096, s);
    }));
    return all;
}

/* Memory, streams, events and the rest: what the calls get is kept in these. */
static void *memory;
static cudaStream_t stream;
static cudaEvent_t event;
static cudaArray_t array;

static void CUDART_CB no_work(void *) {}

static std::vector<Call> allocations()
{
    auto get = [] { OK(cudaMalloc(&memory, 1 << 20)); };
    auto drop = [] { OK(cudaFree(memory)); };
    auto get_host = [] { OK(cudaMallocHost(&memory, 1 << 20)); };
    auto drop_host = [] { OK(cudaFreeHost(memory)); };
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    std::vector<Call> all = {
        simple(
            "cudaMalloc", false, [](cudaStream_t) { return cudaMalloc(&memory, 1 << 20); }, nullptr,
            drop),
        simple(
            "cudaMalloc 256M", false, [](cudaStream_t) { return cudaMalloc(&memory, 256 << 20); },
            nullptr, drop),
        simple(
            "cudaFree", false, [](cudaStream_t) { return cudaFree(memory); }, get),
        simple("cudaFree nothing", false, [](cudaStream_t) { return cudaFree(nullptr); }),
        simple(
            "cudaMallocManaged", false,
            [](cudaStream_t) { return cudaMallocManaged(&memory, 1 << 20); }, nullptr, drop),
        simple(
            "cudaFree managed", false, [](cudaStream_t) { return cudaFree(memory); },
            [] { OK(cudaMallocManaged(&memory, 1 << 20)); }),
        simple(
            "cudaMallocHost", false, [](cudaStream_t) { return cudaMallocHost(&memory, 1 << 20); },
            nullptr, drop_host),
        simple(
            "cudaHostAlloc mapped", false,
            [](cudaStream_t) { return cudaHostAlloc(&memory, 1 << 20, cudaHostAllocMapped); },
            nullptr, drop_host),
        simple(
            "cudaFreeHost", false, [](cudaStream_t) { return cudaFreeHost(memory); }, get_host),
        simple(
            "cudaHostRegister", false,
            [](cudaStream_t) { return cudaHostRegister(sources[PAGEABLE], 1 << 20, 0); }, nullptr,
            [] { OK(cudaHostUnregister(sources[PAGEABLE])); }),
        simple(
            "cudaHostUnregister", false,
            [](cudaStream_t) { return cudaHostUnregister(sources[PAGEABLE]); },
            [] { OK(cudaHostRegister(sources[PAGEABLE], 1 << 20, 0)); }),
        simple(
            "cudaMallocArray", false,
            [=](cudaStream_t) { return cudaMallocArray(&array, &format, 64, 64); }, nullptr,
            [] { OK(cudaFreeArray(array)); }),
        simple(
            "cudaFreeArray", false, [](cudaStream_t) { return cudaFreeArray(array); },
            [=] { OK(cudaMallocArray(&array, &format, 64, 64)); }),
        simple("cudaMemGetInfo", false,
               [](cudaStream_t) {
                   size_t a, b;
                   return cudaMemGetInfo(&a, &b);
               }),
        simple("cudaPointerGetAttributes", false,
               [](cudaStream_t) {
                   cudaPointerAttributes a;
                   return cudaPointerGetAttributes(&a, targets[DEVICE]);
               }),
    };
    int pools = 0;
    OK(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, 0));
    if (pools) {
        std::vector<Call> more = {
            simple(
                "cudaMallocAsync", true,
                [](cudaStream_t s) { return cudaMallocAsync(&memory, 1 << 20, s); }, nullptr, drop),
            simple(
                "cudaFreeAsync", true, [](cudaStream_t s) { return cudaFreeAsync(memory, s); },
                [] { OK(cudaMallocAsync(&memory, 1 << 20, 0)); }),
            simple(
                "cudaFree stream-ordered", false, [](cudaStream_t) { return cudaFree(memory); },
                [] {
                    OK(cudaMallocAsync(&memory, 1 << 20, 0));
                    OK(cudaDeviceSynchronize());
                }),

        };
        all.insert(all.end(), more.begin(), more.end());
    }
    return all;
}

static std::vector<Call> others()
{
    auto new_stream = [] { OK(cudaStreamCreate(&stream)); };
    auto new_event = [] { OK(cudaEventCreate(&event)); };
    auto drop_event = [] { OK(cudaEventDestroy(event)); };
    return {
        simple("launch", true,
               [](cudaStream_t s) {
                   nothing<<<1, 1, 0, s>>>();
                   return cudaGetLastError();
               }),
        simple("cudaLaunchHostFunc", true,
               [](cudaStream_t s) { return cudaLaunchHostFunc(s, no_work, nullptr); }),
        simple(
            "cudaStreamCreate", false, [](cudaStream_t) { return cudaStreamCreate(&stream); },
            nullptr, [] { OK(cudaStreamDestroy(stream)); }),
        simple(
            "cudaStreamDestroy", false, [](cudaStream_t) { return cudaStreamDestroy(stream); },
            new_stream),
        simple("cudaStreamQuery", true, [](cudaStream_t s) { return cudaStreamQuery(s); }),
        simple("cudaStreamSynchronize", true,
               [](cudaStream_t s) { return cudaStreamSynchronize(s); }),
        simple("cudaDeviceSynchronize", false,
               [](cudaStream_t) { return cudaDeviceSynchronize(); }),
        simple(
            "cudaEventCreate", false, [](cudaStream_t) { return cudaEventCreate(&event); }, nullptr,
            drop_event),
        simple(
            "cudaEventRecord", true, [](cudaStream_t s) { return cudaEventRecord(event, s); },
            new_event, drop_event),
        simple(
            "cudaEventQuery recorded", true,
            [](cudaStream_t s) {
                cudaError_t error = cudaEventRecord(event, s);
                return error != cudaSuccess ? error : cudaEventQuery(event);
            },
            new_event, drop_event),
        simple(
            "cudaEventSynchronize recorded", true,
            [](cudaStream_t s) {
                cudaError_t error = cudaEventRecord(event, s);
                return error != cudaSuccess ? error : cudaEventSynchronize(event);
            },
            new_event, drop_event),
        simple(
            "cudaEventDestroy recorded", true,
            [](cudaStream_t s) {
                cudaError_t error = cudaEventRecord(event, s);
                return error != cudaSuccess ? error : cudaEventDestroy(event);
            },
            new_event),
        simple(
            "cudaStreamWaitEvent", true,
            [](cudaStream_t s) {
                cudaError_t error = cudaEventRecord(event, s);
                return error != cudaSuccess ? error : cudaStreamWaitEvent(0, event, 0);
            },
            new_event, drop_event),
        simple("cudaFuncGetAttributes", false,
               [](cudaStream_t) {
                   cudaFuncAttributes a;
                   return cudaFuncGetAttributes(&a, nothing);
               }),
        simple("cudaDeviceSetLimit stack", false,
               [](cudaStream_t) {
                   static size_t size = 2048;
                   return cudaDeviceSetLimit(cudaLimitStackSize, size ^= 4096);
               }),
        simple("cudaDeviceSetCacheConfig", false,
               [](cudaStream_t) { return cudaDeviceSetCacheConfig(cudaFuncCachePreferNone); }),
    };
}

/* ---- the table ---- */

/* As an H100 answers (driver API 13.0), held by a kernel and by a host function alike. */
struct Expected {
    const char *name, *cells;
};
static const Expected table[] = {
    {"cudaMemcpy pageable pageable 4096", "WW."},
    {"cudaMemcpy pageable pageable 1048576", "WW."},
    {"cudaMemcpy pageable pinned 4096", "WW."},
    {"cudaMemcpy pageable pinned 1048576", "WW."},
    {"cudaMemcpy pageable managed 4096", "WW."},
    {"cudaMemcpy pageable managed 1048576", "WW."},
    {"cudaMemcpy pageable device 4096", "WW."},
    {"cudaMemcpy pageable device 1048576", "WW."},
    {"cudaMemcpy pinned pageable 4096", "WW."},
    {"cudaMemcpy pinned pageable 1048576", "WW."},
    {"cudaMemcpy pinned pinned 4096", "WW."},
    {"cudaMemcpy pinned pinned 1048576", "WW."},
    {"cudaMemcpy pinned managed 4096", "WW."},
    {"cudaMemcpy pinned managed 1048576", "WW."},
    {"cudaMemcpy pinned device 4096", "WW."},
    {"cudaMemcpy pinned device 1048576", "WW."},
    {"cudaMemcpy managed pageable 4096", "WW."},
    {"cudaMemcpy managed pageable 1048576", "WW."},
    {"cudaMemcpy managed pinned 4096", "WW."},
    {"cudaMemcpy managed pinned 1048576", "WW."},
    {"cudaMemcpy managed managed 4096", "WW."},
    {"cudaMemcpy managed managed 1048576", "WW."},
    {"cudaMemcpy managed device 4096", "WW."},
    {"cudaMemcpy managed device 1048576", "WW."},
    {"cudaMemcpy device pageable 4096", "WW."},
    {"cudaMemcpy device pageable 1048576", "WW."},
    {"cudaMemcpy device pinned 4096", "WW."},
    {"cudaMemcpy device pinned 1048576", "WW."},
    {"cudaMemcpy device managed 4096", "WW."},
    {"cudaMemcpy device managed 1048576", "WW."},
    {"cudaMemcpy device device 4096", "..."},
    {"cudaMemcpy device device 1048576", "..."},
    {"cudaMemcpyAsync pageable pageable 4096", "WW. WW.. W..."},
    {"cudaMemcpyAsync pageable pageable 1048576", "WW. WW.. W..."},
    {"cudaMemcpyAsync pageable pinned 4096", "WW. WW.. W..."},
    {"cudaMemcpyAsync pageable pinned 1048576", "WW. WW.. W..."},
    {"cudaMemcpyAsync pageable managed 4096", "... .... ...."},
    {"cudaMemcpyAsync pageable managed 1048576", "... .... ...."},
    {"cudaMemcpyAsync pageable device 4096", "... .... ...."},
    {"cudaMemcpyAsync pageable device 1048576", "... .... ...."},
    {"cudaMemcpyAsync pinned pageable 4096", "WW. WW.. W..."},
    {"cudaMemcpyAsync pinned pageable 1048576", "WW. WW.. W..."},
    {"cudaMemcpyAsync pinned pinned 4096", "WW. WW.. W..."},
    {"cudaMemcpyAsync pinned pinned 1048576", "WW. WW.. W..."},
    {"cudaMemcpyAsync pinned managed 4096", "... .... ...."},
    {"cudaMemcpyAsync pinned managed 1048576", "... .... ...."},
    {"cudaMemcpyAsync pinned device 4096", "... .... ...."},
    {"cudaMemcpyAsync pinned device 1048576", "... .... ...."},
    {"cudaMemcpyAsync managed pageable 4096", "WW. WW.. W..."},
    {"cudaMemcpyAsync managed pageable 1048576", "WW. WW.. W..."},
    {"cudaMemcpyAsync managed pinned 4096", "... .... ...."},
    {"cudaMemcpyAsync managed pinned 1048576", "... .... ...."},
    {"cudaMemcpyAsync managed managed 4096", "... .... ...."},
    {"cudaMemcpyAsync managed managed 1048576", "... .... ...."},
    {"cudaMemcpyAsync managed device 4096", "... .... ...."},
    {"cudaMemcpyAsync managed device 1048576", "... .... ...."},
    {"cudaMemcpyAsync device pageable 4096", "WW. WW.. W..."},
    {"cudaMemcpyAsync device pageable 1048576", "WW. WW.. W..."},
    {"cudaMemcpyAsync device pinned 4096", "... .... ...."},
    {"cudaMemcpyAsync device pinned 1048576", "... .... ...."},
    {"cudaMemcpyAsync device managed 4096", "... .... ...."},
    {"cudaMemcpyAsync device managed 1048576", "... .... ...."},
    {"cudaMemcpyAsync device device 4096", "... .... ...."},
    {"cudaMemcpyAsync device device 1048576", "... .... ...."},
    {"cudaMemcpy HtoD pageable device 4096", "WW."},
    {"cudaMemcpy HtoD pageable device 65536", "WW."},
    {"cudaMemcpy HtoD pageable device 65540", "WW."},
    {"cudaMemcpy HtoD pageable device 17825792", "WW."},
    {"cudaMemcpy HtoD pageable managed 4096", "WW."},
    {"cudaMemcpy DtoH managed pageable 4096", "WW."},
    {"cudaMemcpy HtoD managed device 4096", "WW."},
    {"cudaMemcpy HtoH managed managed 4096", "WW."},
    {"cudaMemcpy DtoD managed managed 4096", "WW."},
    {"cudaMemcpy DtoH device managed 4096", "WW."},
    {"cudaMemcpy pageable device 4096 as 2D", "WW."},
    {"cudaMemcpy pinned device 4096 as 2D", "WW."},
    {"cudaMemcpy device pageable 4096 as 2D", "WW."},
    {"cudaMemcpy device pinned 4096 as 2D", "WW."},
    {"cudaMemcpy device device 4096 as 2D", "..."},
    {"cudaMemcpy pageable pinned 4096 as 2D", "WW."},
    {"cudaMemset pageable", "EEE"},
    {"cudaMemset pinned", "WW."},
    {"cudaMemset managed", "WW."},
    {"cudaMemset device", "..."},
    {"cudaMemcpyAsync HtoD pageable device 4096", "... .... ...."},
    {"cudaMemcpyAsync HtoD pageable device 65536", "... .... ...."},
    {"cudaMemcpyAsync HtoD pageable device 65540", "... .... ...."},
    {"cudaMemcpyAsync HtoD pageable device 17825792", "WW. WW.. W..."},
    {"cudaMemcpyAsync HtoD pageable managed 4096", "... .... ...."},
    {"cudaMemcpyAsync DtoH managed pageable 4096", "WW. WW.. W..."},
    {"cudaMemcpyAsync HtoD managed device 4096", "WW. W... W..."},
    {"cudaMemcpyAsync HtoH managed managed 4096", "WW. WW.. W..."},
    {"cudaMemcpyAsync DtoD managed managed 4096", "... .... ...."},
    {"cudaMemcpyAsync DtoH device managed 4096", "WW. WW.. W..."},
    {"cudaMemcpyAsync pageable device 4096 as 2D", "... .... ...."},
    {"cudaMemcpyAsync pinned device 4096 as 2D", "... .... ...."},
    {"cudaMemcpyAsync device pageable 4096 as 2D", "WW. WW.. W..."},
    {"cudaMemcpyAsync device pinned 4096 as 2D", "... .... ...."},
    {"cudaMemcpyAsync device device 4096 as 2D", "... .... ...."},
    {"cudaMemcpyAsync pageable pinned 4096 as 2D", "WW. WW.. W..."},
    {"cudaMemsetAsync pageable", "EEE EEEE EEEE"},
    {"cudaMemsetAsync pinned", "... .... ...."},
    {"cudaMemsetAsync managed", "... .... ...."},
    {"cudaMemsetAsync device", "... .... ...."},
    {"cudaMemcpyToSymbol pageable", "WW."},
    {"cudaMemcpyToSymbolAsync pageable", "... .... ...."},
    {"cudaMemcpyFromSymbol pageable", "WW."},
    {"cudaMemcpyFromSymbol device", "..."},
    {"cudaMemcpyPeer", "..."},
    {"cudaMemcpyPeerAsync", "... .... ...."},
    {"cudaMalloc", "..."},
    {"cudaMalloc 256M", "..."},
    {"cudaFree", "WWW"},
    {"cudaFree nothing", "..."},
    {"cudaMallocManaged", "..."},
    {"cudaFree managed", "WWW"},
    {"cudaMallocHost", "..."},
    {"cudaHostAlloc mapped", "..."},
    {"cudaFreeHost", "WWW"},
    {"cudaHostRegister", "..."},
    {"cudaHostUnregister", "WWW"},
    {"cudaMallocAsync", "... .... ...."},
    {"cudaFreeAsync", "... .... ...."},
    {"cudaFree stream-ordered", "..."},
    {"cudaMallocArray", "..."},
    {"cudaFreeArray", "WWW"},
    {"cudaMemGetInfo", "..."},
    {"cudaPointerGetAttributes", "..."},
    {"launch", "... .... ...."},
    {"cudaLaunchHostFunc", "... .... ...."},
    {"cudaStreamCreate", "..."},
    {"cudaStreamDestroy", "..."},
    {"cudaStreamQuery", "... .... ...."},
    {"cudaStreamSynchronize", "WW. W... W..."},
    {"cudaDeviceSynchronize", "WWW"},
    {"cudaEventCreate", "..."},
    {"cudaEventRecord", "... .... ...."},
    {"cudaEventQuery recorded", "... .... ...."},
    {"cudaEventSynchronize recorded", "WW. WW.. W..."},
    {"cudaEventDestroy recorded", "... .... ...."},
    {"cudaStreamWaitEvent", "... .... ...."},
    {"cudaFuncGetAttributes", "..."},
    {"cudaDeviceSetLimit stack", "WWW"},
    {"cudaDeviceSetCacheConfig", "..."},
};

/* Memory of the host that CUDA does not know can be set only by devices that reach it. */
static bool reaches_pageable;

static const char *expected_of(const std::string &name)
{
    if (reaches_pageable && name == "cudaMemset pageable")
        return "...";
    if (reaches_pageable && name == "cudaMemsetAsync pageable")
        return "... .... ....";
    for (const Expected &e : table)
        if (name == e.name)
            return e.cells;
    return "";
}

static void try_all(const std::vector<Call> &calls)
{
    for (const Call &c : calls) {
        const char *expected = expected_of(c.name);
        std::string answer = row(c, expected);
        if (printing)
            printf("    {\"%s\", \"%s\"},\n", c.name.c_str(), answer.c_str());
        else if (!check_count(answer == expected))
            printf("%s: \"%s\", expected \"%s\"\n", c.name.c_str(), answer.c_str(), expected);
    }
    fflush(stdout);
}

/* Everything that a first use may do happens here. */
static void warm_up(const std::vector<Call> &calls)
{
    for (const Call &c : calls) {
        if (c.before)
            c.before();
        if (c.run(0) == cudaSuccess && c.after) {
            OK(cudaDeviceSynchronize());
            c.after();
        }
        cudaGetLastError();
    }
    OK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
    printing = argc > 1 && strcmp(argv[1], "print") == 0;
    OK(cudaMallocHost((void **)&flag, sizeof *flag));
    *flag = 1;
    int pageable = 0;
    OK(cudaDeviceGetAttribute(&pageable, cudaDevAttrPageableMemoryAccess, 0));
    reaches_pageable = pageable != 0;
    OK(cudaStreamCreate(&blocking));
    OK(cudaStreamCreate(&own_blocking));
    OK(cudaStreamCreateWithFlags(&nonblocking, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&own_nonblocking, cudaStreamNonBlocking));
    allocate();
    spin<<<1, 1>>>(flag);
    hold(0, true);
    release();
    hold(0, false);
    release();
    watchdog = new Watchdog;
    std::vector<Call> groups[] = {copies(), allocations(), others()};
    for (const auto &g : groups)
        warm_up(g);
    for (int way = 0; way < 2; way++) {
        by_kernel = way == 0;
        if (printing)
            printf("held by a %s\n", by_kernel ? "kernel" : "host function");
        for (const auto &g : groups)
            try_all(g);
    }
    delete watchdog;
    give_back();
    OK(cudaStreamDestroy(blocking));
    OK(cudaStreamDestroy(own_blocking));
    OK(cudaStreamDestroy(nonblocking));
    OK(cudaStreamDestroy(own_nonblocking));
    OK(cudaFreeHost((void *)flag));
    return check_done();
}
