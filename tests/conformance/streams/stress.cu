/* S2 to S7: eight host threads do random legal work in 64 streams and the default streams: kernels,
 * copies, sets, events, waits, host functions, streams destroyed with work pending. Everything that
 * is enqueued is done at once in a model in host memory, too, and what arrives is compared with it.
 * At the end nothing may be lost and nothing left.
 *
 *   stress [seconds] [seed]      default: 2 seconds, a fixed seed
 *
 * Threads own their streams and buffers, so that each knows what its buffers must hold; mailboxes
 * are shared by all and handed on by events. */
#include <dirent.h>
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

enum { THREADS = 8, OWN = 8, N = 1000, BYTES = N * 4, SLOTS = 32, MAILBOXES = 4 };

typedef std::vector<unsigned> Model; /* what a buffer holds when its stream has come so far */

__host__ __device__ static unsigned mixed(unsigned value, unsigned i, unsigned salt)
{
    return value * 2654435761u + i * 40503u + salt;
}

__global__ void mix(unsigned *buffer, int n, unsigned salt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        buffer[i] = mixed(buffer[i], (unsigned)i, salt);
}

__global__ void gate(volatile int *flag)
{
    while (*flag == 0)
        ;
}

/* ---- what is shared ---- */

/* A device buffer that any stream may use: in turn, by the event of the last use. */
struct Mailbox {
    std::mutex lock;
    unsigned *buffer;
    cudaEvent_t used;
    Model model;
};

/* Opens gates a little later, whatever the threads are doing. */
class Opener
{
  public:
    Opener() : thread([this] { run(); }) {}
    ~Opener()
    {
        quit = true;
        thread.join();
    }
    void open_later(volatile int *flag)
    {
        std::lock_guard<std::mutex> l(lock);
        flags.push_back(flag);
    }

  private:
    void run()
    {
        while (!quit) {
            std::this_thread::sleep_for(std::chrono::microseconds(300));
            std::lock_guard<std::mutex> l(lock);
            for (; !flags.empty(); flags.pop_front())
                __atomic_store_n(flags.front(), 1, __ATOMIC_RELEASE);
        }
    }
    std::mutex lock;
    std::deque<volatile int *> flags;
    std::atomic<bool> quit{false};
    std::thread thread;
};

static Mailbox mailboxes[MAILBOXES];
static std::unique_ptr<Opener> opener;
static std::atomic<long> calls_made, calls_expected; /* host functions */
static std::atomic<bool> stop;
static std::atomic<long> operations;

/* ---- a stream and its buffer ---- */

/* A copy on its way to page-locked memory, and what it must be. */
struct Arrival {
    const unsigned *slot;
    Model expected;
    std::atomic<bool> checked{false};
};

struct Lane {
    cudaStream_t stream = nullptr;
    bool mine = true;     /* made here, not one of the default ones */
    bool blocking = true; /* takes part in the default stream's order */
    unsigned *buffer = nullptr;
    unsigned *pinned = nullptr; /* SLOTS slots of BYTES, each used once between two waits */
    int *flags = nullptr;       /* likewise, for gates */
    int slot = 0;
    Model model;
    std::vector<std::unique_ptr<Arrival>> arrivals;
};

static void compare(const unsigned *got, const Model &expected)
{
    CHECK(memcmp(got, expected.data(), BYTES) == 0);
}

static void settle(Lane &lane)
{
    OK(cudaStreamSynchronize(lane.stream));
    for (auto &a : lane.arrivals)
        if (!a->checked)
            compare(a->slot, a->expected);
    lane.arrivals.clear();
    lane.slot = 0;
}

static int next_slot(Lane &lane)
{
    if (lane.slot == SLOTS)
        settle(lane);
    return lane.slot++;
}

static void CUDART_CB arrived(void *user)
{
    Arrival *a = (Arrival *)user;
    compare(a->slot, a->expected);
    a->checked = true;
    calls_made++;
}

static void CUDART_CB called_back(cudaStream_t, cudaError_t status, void *)
{
    CHECK_EQ_INT(status, cudaSuccess);
    calls_made++;
}

class Worker
{
  public:
    explicit Worker(unsigned seed) : chance(seed)
    {
        for (int i = 0; i <= OWN; i++)
            open(lanes[i], i);
        OK(cudaEventCreate(&timed));
        OK(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming | cudaEventBlockingSync));
    }
    ~Worker()
    {
        for (Lane &lane : lanes) {
            settle(lane);
            std::vector<unsigned> last(N);
            OK(cudaMemcpy(last.data(), lane.buffer, BYTES, cudaMemcpyDeviceToHost));
            compare(last.data(), lane.model);
            if (lane.mine)
                OK(cudaStreamDestroy(lane.stream));
            OK(cudaFree(lane.buffer));
            OK(cudaFreeHost(lane.pinned));
            OK(cudaFreeHost(lane.flags));
        }
        OK(cudaEventDestroy(timed));
        OK(cudaEventDestroy(plain));
    }
    void step();

  private:
    unsigned pick(unsigned n) { return chance() % n; }
    void new_stream(Lane &lane);
    void open(Lane &lane, int i);
    void kernel(Lane &lane);
    void set(Lane &lane);
    void copy_in(Lane &lane, bool pageable);
    void copy_out(Lane &lane);
    void copy_over(Lane &from, Lane &to);
    void mailbox(Lane &lane);
    void hold(Lane &lane);
    void renew(Lane &lane);
    void ask(Lane &lane);
    void sync_copies(Lane &lane);

    std::mt19937 chance;
    Lane lanes[OWN + 1]; /* the last one is the thread's default stream */
    cudaEvent_t timed, plain;
};

void Worker::new_stream(Lane &lane)
{
    lane.blocking = pick(2) == 0;
    unsigned flags = lane.blocking ? cudaStreamDefault : cudaStreamNonBlocking;
    if (pick(3) == 0)
        OK(cudaStreamCreateWithPriority(&lane.stream, flags, -(int)pick(6)));
    else
        OK(cudaStreamCreateWithFlags(&lane.stream, flags));
}

void Worker::open(Lane &lane, int i)
{
    lane.mine = i < OWN;
    if (lane.mine)
        new_stream(lane);
    else
        lane.stream = cudaStreamPerThread;
    OK(cudaMalloc((void **)&lane.buffer, BYTES));
    OK(cudaMallocHost((void **)&lane.pinned, SLOTS * BYTES));
    OK(cudaMallocHost((void **)&lane.flags, SLOTS * sizeof *lane.flags));
    OK(cudaMemsetAsync(lane.buffer, 0, BYTES, lane.stream));
    lane.model.assign(N, 0);
}

/* In the lane's stream; or, for a blocking one, in the default stream, whose order with the lane's
 * work needs no event. */
void Worker::kernel(Lane &lane)
{
    unsigned salt = chance(), threads = 32u << pick(4);
    cudaStream_t s = lane.blocking && pick(8) == 0 ? cudaStreamLegacy : lane.stream;
    mix<<<(N + threads - 1) / threads, threads, 0, s>>>(lane.buffer, N, salt);
    OK(cudaGetLastError());
    for (unsigned i = 0; i < N; i++)
        lane.model[i] = mixed(lane.model[i], i, salt);
}

void Worker::set(Lane &lane)
{
    unsigned first = pick(N), count = pick(N - first + 1), value = pick(256);
    cudaStream_t s = lane.blocking && pick(8) == 0 ? cudaStreamLegacy : lane.stream;
    OK(cudaMemsetAsync(lane.buffer + first, (int)value, count * 4, s));
    std::fill_n(lane.model.begin() + first, count, value * 0x01010101u);
}

/* The pageable source is gone as soon as the call is back. */
void Worker::copy_in(Lane &lane, bool pageable)
{
    std::vector<unsigned> fresh(N);
    for (unsigned i = 0; i < N; i++)
        fresh[i] = mixed(i, i, chance());
    lane.model = fresh;
    unsigned *source = pageable ? fresh.data() : lane.pinned + next_slot(lane) * N;
    if (!pageable)
        memcpy(source, fresh.data(), BYTES);
    OK(cudaMemcpyAsync(lane.buffer, source, BYTES, cudaMemcpyHostToDevice, lane.stream));
    if (pageable)
        memset(source, 0xee, BYTES);
}

void Worker::copy_out(Lane &lane)
{
    int slot = next_slot(lane);
    lane.arrivals.emplace_back(new Arrival);
    Arrival *a = lane.arrivals.back().get();
    a->slot = lane.pinned + slot * N;
    a->expected = lane.model;
    OK(cudaMemcpyAsync(lane.pinned + slot * N, lane.buffer, BYTES, cudaMemcpyDeviceToHost,
                       lane.stream));
    switch (pick(4)) {
    case 0:
        calls_expected++;
        OK(cudaLaunchHostFunc(lane.stream, arrived, a));
        break;
    case 1:
        calls_expected++;
        OK(cudaStreamAddCallback(lane.stream, called_back, nullptr, 0));
        break;
    default: break;
    }
}

void Worker::copy_over(Lane &from, Lane &to)
{
    if (&from == &to)
        return;
    cudaEvent_t e = pick(2) ? timed : plain;
    OK(cudaEventRecord(e, from.stream));
    OK(cudaStreamWaitEvent(to.stream, e, 0));
    OK(cudaMemcpyAsync(to.buffer, from.buffer, BYTES, cudaMemcpyDeviceToDevice, to.stream));
    OK(cudaEventRecord(e, to.stream));
    OK(cudaStreamWaitEvent(from.stream, e, 0));
    to.model = from.model;
}

void Worker::mailbox(Lane &lane)
{
    Mailbox &m = mailboxes[pick(MAILBOXES)];
    std::lock_guard<std::mutex> l(m.lock);
    OK(cudaStreamWaitEvent(lane.stream, m.used, 0));
    if (pick(2)) {
        OK(cudaMemcpyAsync(m.buffer, lane.buffer, BYTES, cudaMemcpyDefault, lane.stream));
        m.model = lane.model;
    } else {
        OK(cudaMemcpyAsync(lane.buffer, m.buffer, BYTES, cudaMemcpyDefault, lane.stream));
        lane.model = m.model;
    }
    OK(cudaEventRecord(m.used, lane.stream));
}

void Worker::hold(Lane &lane)
{
    int *flag = lane.flags + next_slot(lane);
    __atomic_store_n(flag, 0, __ATOMIC_RELAXED); /* the kernel that saw the last value is over */
    gate<<<1, 1 + pick(64), 0, lane.stream>>>(flag);
    OK(cudaGetLastError());
    opener->open_later(flag);
}

/* The old stream's work goes on; the new stream waits for it. */
void Worker::renew(Lane &lane)
{
    if (!lane.mine)
        return;
    if (lane.slot > SLOTS / 2) /* flags and slots must not be used again too soon */
        settle(lane);
    cudaStream_t old = lane.stream;
    cudaEvent_t e;
    OK(cudaEventCreateWithFlags(&e, pick(2) ? cudaEventDisableTiming : cudaEventDefault));
    OK(cudaEventRecord(e, old));
    OK(cudaStreamDestroy(old));
    new_stream(lane);
    OK(cudaStreamWaitEvent(lane.stream, e, 0));
    OK(cudaEventDestroy(e));
}

void Worker::ask(Lane &lane)
{
    cudaError_t error = cudaStreamQuery(lane.stream);
    CHECK(error == cudaSuccess || error == cudaErrorNotReady);
    OK(cudaEventRecord(timed, lane.stream));
    if (pick(2))
        OK(cudaEventSynchronize(timed));
    error = cudaEventQuery(timed);
    CHECK(error == cudaSuccess || error == cudaErrorNotReady);
}

/* The calls without a stream, in the default stream's order. */
void Worker::sync_copies(Lane &lane)
{
    std::vector<unsigned> here(N);
    if (!lane.blocking)
        OK(cudaStreamSynchronize(lane.stream));
    OK(cudaMemcpy(here.data(), lane.buffer, BYTES, cudaMemcpyDeviceToHost));
    compare(here.data(), lane.model);
    for (unsigned i = 0; i < N; i++)
        here[i] = lane.model[i] = mixed(here[i], i, 7);
    OK(cudaMemcpy(lane.buffer, here.data(), BYTES, cudaMemcpyHostToDevice));
    if (!lane.blocking)
        OK(cudaStreamSynchronize(cudaStreamLegacy));
}

void Worker::step()
{
    Lane &lane = lanes[pick(OWN + 1)];
    switch (pick(40)) {
    case 0: settle(lane); break;
    case 1:
    case 2: renew(lane); break;
    case 3: ask(lane); break;
    case 4:
    case 5: hold(lane); break;
    case 6: sync_copies(lane); break;
    case 7:
        if (pick(20) == 0)
            OK(cudaDeviceSynchronize());
        break;
    case 8: {
        void *memory;
        OK(cudaMalloc(&memory, 1 + pick(100000)));
        if (pick(4) == 0)
            OK(cudaMemsetAsync(memory, 1, 1, lane.stream));
        OK(cudaFree(memory)); /* waits for the device */
        break;
    }
    case 9:
    case 10:
    case 11: mailbox(lane); break;
    case 12:
    case 13:
    case 14: copy_over(lane, lanes[pick(OWN + 1)]); break;
    case 15:
    case 16:
    case 17: set(lane); break;
    case 18:
    case 19: copy_in(lane, true); break;
    case 20:
    case 21: copy_in(lane, false); break;
    case 22:
    case 23:
    case 24:
    case 25: copy_out(lane); break;
    default: kernel(lane); break;
    }
    operations++;
}

/* ---- rounds, and what they leave ---- */

static void round_of_work(double seconds, unsigned seed)
{
    for (Mailbox &m : mailboxes) {
        OK(cudaMalloc((void **)&m.buffer, BYTES));
        OK(cudaMemset(m.buffer, 0, BYTES));
        OK(cudaEventCreateWithFlags(&m.used, cudaEventDisableTiming));
        m.model.assign(N, 0);
    }
    OK(cudaDeviceSynchronize());
    stop = false;
    opener.reset(new Opener);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < THREADS; t++)
        threads.emplace_back([=] {
            Worker worker(seed * THREADS + t);
            while (!stop && checks_failed == 0)
                worker.step();
        });
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    stop = true;
    for (auto &t : threads)
        t.join();
    OK(cudaDeviceSynchronize());
    opener.reset();
    for (Mailbox &m : mailboxes) {
        OK(cudaFree(m.buffer));
        OK(cudaEventDestroy(m.used));
    }
}

static int entries(const char *directory)
{
    int count = 0;
    DIR *d = opendir(directory);
    while (d != nullptr && readdir(d) != nullptr)
        count++;
    if (d != nullptr)
        closedir(d);
    return count;
}

/* Resident memory of the process in KiB. */
static long resident()
{
    long kib = 0;
    char line[200];
    FILE *f = fopen("/proc/self/status", "r");
    while (f != nullptr && fgets(line, sizeof line, f) != nullptr)
        if (sscanf(line, "VmRSS: %ld", &kib) == 1)
            break;
    if (f != nullptr)
        fclose(f);
    return kib;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 2;
    unsigned seed = argc > 2 ? (unsigned)atol(argv[2]) : 1;
    /* Other drivers keep threads, files and memory of their own. */
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY);
    bool weir = driver != nullptr && dlsym(driver, "weir_last_message") != nullptr;
    size_t free_before, free_after, total;

    round_of_work(seconds / 4, seed); /* what is made once is made here */
    OK(cudaMemGetInfo(&free_before, &total));
    int files = entries("/proc/self/fd"), tasks = entries("/proc/self/task");
    long memory = resident();
    operations = 0;
    round_of_work(seconds, seed + 1);
    CHECK_EQ_INT(calls_made.load(), calls_expected.load());
    OK(cudaMemGetInfo(&free_after, &total));
    printf("%ld operations, %ld host functions, resident %ld KiB more\n", operations.load(),
           calls_made.load(), resident() - memory);
    if (weir) {
        CHECK_EQ_INT(free_after, free_before);
        CHECK_EQ_INT(entries("/proc/self/fd"), files);
        CHECK(entries("/proc/self/task") <= tasks);
        if (dlsym(RTLD_DEFAULT, "__asan_init") == nullptr) /* keeps what was freed for a while */
            CHECK(resident() - memory < 64 << 10);
    }
    return check_done();
}
