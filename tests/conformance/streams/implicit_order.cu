/* S3: who waits for whom: every kind of stream held, every kind of stream asked. The default stream
 * and blocking streams wait for each other both ways, per-thread default streams are blocking ones,
 * non-blocking streams take no part whatever their priority, and blocking streams do not wait for
 * each other. */
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__global__ void hold(volatile int *flag)
{
    while (*flag == 0)
        ;
}
__global__ void set(volatile int *p, int value) { *p = value; }
__global__ void copy(volatile int *to, volatile int *from) { *to = *from; }

static volatile int *flag, *data; /* page-locked */

/* A host thread that does what it is told: its per-thread stream is another one than main's. */
class Helper
{
  public:
    Helper() : thread([this] { run(); }) {}
    ~Helper()
    {
        call(nullptr);
        thread.join();
    }
    void call(std::function<void()> what)
    {
        std::unique_lock<std::mutex> l(lock);
        task = what;
        asked = true;
        changed.notify_all();
        changed.wait(l, [this] { return !asked; });
    }

  private:
    void run()
    {
        std::unique_lock<std::mutex> l(lock);
        for (bool go = true; go;) {
            changed.wait(l, [this] { return asked; });
            go = task != nullptr;
            if (go)
                task();
            asked = false;
            changed.notify_all();
        }
    }
    std::mutex lock;
    std::condition_variable changed;
    std::function<void()> task;
    bool asked = false;
    std::thread thread;
};

enum { LEGACY, BLOCKING, BLOCKING_HIGH, OWN, OWN_OF_OTHER, NON_BLOCKING, NON_BLOCKING_HIGH, KINDS };
static const char *const names[KINDS] = {"legacy",
                                         "blocking",
                                         "blocking, high priority",
                                         "per thread",
                                         "per thread of another",
                                         "non-blocking",
                                         "non-blocking, high priority"};
static Helper *helper;

/* Two streams of a kind where there can be two: one that is held, one that is asked. */
static cudaStream_t streams[KINDS][2];

static void in_thread_of(int kind, const std::function<void()> &what)
{
    if (kind == OWN_OF_OTHER)
        helper->call(what);
    else
        what();
}

static bool waits(int held, int asked)
{
    if (held >= NON_BLOCKING || asked >= NON_BLOCKING)
        return false;
    if (held == LEGACY || asked == LEGACY)
        return true;
    return held == asked && (held == OWN || held == OWN_OF_OTHER); /* the same stream */
}

static void try_pair(int held, int asked)
{
    cudaStream_t h = streams[held][0], a = streams[asked][1];
    data[0] = data[1] = 0;
    *flag = 0;
    in_thread_of(held, [&] {
        hold<<<1, 1, 0, h>>>(flag);
        set<<<1, 1, 0, h>>>(data, 1);
        OK(cudaGetLastError());
    });
    in_thread_of(asked, [&] {
        copy<<<1, 1, 0, a>>>(data + 1, data);
        OK(cudaGetLastError());
    });
    bool expected = waits(held, asked) || (held == LEGACY && asked == LEGACY);
    if (!expected) /* comes to its end while the other is held */
        in_thread_of(asked, [&] { OK(cudaStreamSynchronize(a)); });
    else
        in_thread_of(asked, [&] { CHECK_EQ_INT(cudaStreamQuery(a), cudaErrorNotReady); });
    *flag = 1;
    OK(cudaDeviceSynchronize());
    /* Who waited saw what the held stream did afterwards. */
    if (!check_count(data[1] == (expected ? 1 : 0)))
        printf("%s held: %s %s\n", names[held], names[asked],
               expected ? "did not wait" : "saw what came later");
}

/* The barrier of the default stream stands between all blocking streams. */
static void through_the_default_stream()
{
    cudaStream_t a = streams[BLOCKING][0], b = streams[BLOCKING][1], late;
    data[0] = data[1] = data[2] = 0;
    *flag = 0;
    hold<<<1, 1, 0, a>>>(flag);
    set<<<1, 1, 0, a>>>(data, 5);
    copy<<<1, 1>>>(data + 1, data);
    copy<<<1, 1, 0, b>>>(data + 2, data + 1); /* a, the default stream, b */
    OK(cudaStreamCreate(&late));
    CHECK_EQ_INT(cudaStreamQuery(b), cudaErrorNotReady);
    OK(cudaStreamQuery(late)); /* nothing is in it */
    OK(cudaStreamQuery(streams[NON_BLOCKING][0]));
    copy<<<1, 1, 0, late>>>(data + 3, data + 1);
    CHECK_EQ_INT(cudaStreamQuery(late), cudaErrorNotReady);
    *flag = 1;
    OK(cudaStreamSynchronize(b));
    CHECK_EQ_INT(data[2], 5);
    OK(cudaStreamSynchronize(late));
    CHECK_EQ_INT(data[3], 5);
    OK(cudaStreamDestroy(late));
}

/* An event of the default stream, and one waited for in it, take part in its order. */
static void events_of_the_default_stream()
{
    cudaEvent_t e;
    cudaStream_t a = streams[BLOCKING][0], n = streams[NON_BLOCKING][0];
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    data[0] = data[1] = 0;
    *flag = 0;
    hold<<<1, 1, 0, a>>>(flag);
    set<<<1, 1, 0, a>>>(data, 6);
    OK(cudaEventRecord(e, 0)); /* after a's work */
    OK(cudaStreamWaitEvent(n, e, 0));
    copy<<<1, 1, 0, n>>>(data + 1, data);
    CHECK_EQ_INT(cudaEventQuery(e), cudaErrorNotReady);
    CHECK_EQ_INT(cudaStreamQuery(n), cudaErrorNotReady);
    *flag = 1;
    OK(cudaStreamSynchronize(n));
    CHECK_EQ_INT(data[1], 6);
    /* The default stream waits for a non-blocking one when it is told to, and all blocking ones
     * with it. */
    *flag = 0;
    hold<<<1, 1, 0, n>>>(flag);
    set<<<1, 1, 0, n>>>(data, 7);
    OK(cudaEventRecord(e, n));
    OK(cudaStreamWaitEvent(0, e, 0));
    copy<<<1, 1, 0, a>>>(data + 1, data);
    CHECK_EQ_INT(cudaStreamQuery(a), cudaErrorNotReady);
    *flag = 1;
    OK(cudaStreamSynchronize(a));
    CHECK_EQ_INT(data[1], 7);
    OK(cudaEventDestroy(e));
}

int main()
{
    int least, greatest;
    helper = new Helper;
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); /* GPUs put streams into few queues */
    OK(cudaMallocHost((void **)&flag, sizeof *flag));
    OK(cudaMallocHost((void **)&data, 4 * sizeof *data));
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    for (int i = 0; i < 2; i++) {
        streams[LEGACY][i] = i == 0 ? (cudaStream_t)0 : cudaStreamLegacy;
        streams[OWN][i] = streams[OWN_OF_OTHER][i] = cudaStreamPerThread;
        OK(cudaStreamCreate(&streams[BLOCKING][i]));
        OK(cudaStreamCreateWithPriority(&streams[BLOCKING_HIGH][i], cudaStreamDefault, greatest));
        OK(cudaStreamCreateWithFlags(&streams[NON_BLOCKING][i], cudaStreamNonBlocking));
        OK(cudaStreamCreateWithPriority(&streams[NON_BLOCKING_HIGH][i], cudaStreamNonBlocking,
                                        greatest));
    }
    *flag = 1;
    hold<<<1, 1>>>(flag);
    set<<<1, 1>>>(data, 0);
    copy<<<1, 1>>>(data + 1, data);
    OK(cudaDeviceSynchronize());
    for (int held = 0; held < KINDS; held++)
        for (int asked = 0; asked < KINDS; asked++)
            try_pair(held, asked);
    through_the_default_stream();
    events_of_the_default_stream();
    for (int i = 0; i < 2; i++)
        for (int kind : {BLOCKING, BLOCKING_HIGH, NON_BLOCKING, NON_BLOCKING_HIGH})
            OK(cudaStreamDestroy(streams[kind][i]));
    delete helper;
    OK(cudaFreeHost((void *)flag));
    OK(cudaFreeHost((void *)data));
    return check_done();
}
