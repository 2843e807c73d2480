// A7: host threads with streams of their own share a pool: blocks are filled by kernels, checked
// and freed on the same stream or, after an event, on another one; streams come and go, or all
// threads use the same ones. No two allocations may ever hold the same bytes, with space in the
// pool and with too little.
// RUN own-pools: WEIR_POOLS=own
#include <cuda_runtime.h>

#include <cstring>
#include <thread>
#include <vector>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

static const int THREADS = 4, STREAMS = 4, OPERATIONS = 3000;

static __global__ void fill(unsigned *p, int n, unsigned value)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        p[i] = value + i;
}

static __global__ void compare(const unsigned *p, int n, unsigned value, int *wrong)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (p[i] != value + i)
            atomicAdd(wrong, 1);
}

struct Block {
    unsigned *p;
    int n;
    unsigned value;
    int stream; // that made it
};

// `common`: streams that all threads use; NULL: own ones.
static void work(int id, cudaMemPool_t pool, bool tight, cudaStream_t *common, int *wrong)
{
    unsigned long long state = 88172645463325252ull * (id + 1);
    auto random = [&] {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state;
    };
    cudaStream_t streams[STREAMS];
    cudaEvent_t e;
    std::vector<Block> live;
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    for (int i = 0; i < STREAMS; i++)
        if (common)
            streams[i] = common[i];
        else
            OK(cudaStreamCreateWithFlags(&streams[i],
                                         random() % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
    for (int i = 0; i < OPERATIONS; i++) {
        int at = random() % STREAMS, to = random() % STREAMS;
        if (live.size() < 20 && random() % 2) {
            int n = 1 + random() % (random() % 16 == 0 ? 1000000 : 30000);
            void *p;
            cudaError_t error =
                cudaMallocFromPoolAsync(&p, n * sizeof(unsigned), pool, streams[at]);
            if (tight && error == cudaErrorMemoryAllocation)
                continue;
            CHECK_STR(cudaGetErrorName(error), "cudaSuccess");
            live.push_back({(unsigned *)p, n, (unsigned)random(), at});
            fill<<<4, 128, 0, streams[at]>>>(live.back().p, n, live.back().value);
        } else if (!live.empty()) {
            Block &b = live[random() % live.size()];
            if (random() % 2 || to == b.stream) {
                to = b.stream;
            } else {
                OK(cudaEventRecord(e, streams[b.stream]));
                OK(cudaStreamWaitEvent(streams[to], e, 0));
            }
            compare<<<4, 128, 0, streams[to]>>>(b.p, b.n, b.value, wrong);
            if (common && random() % 4 == 0) { // while others put work into it
                OK(cudaStreamSynchronize(streams[to]));
                OK(random() % 2 ? cudaFree(b.p) : cudaFreeAsync(b.p, streams[at]));
            } else {
                OK(cudaFreeAsync(b.p, streams[to]));
            }
            b = live.back();
            live.pop_back();
        }
        if (random() % 100 == 0)
            OK(cudaStreamSynchronize(streams[at]));
        bool used = common != nullptr;
        for (const Block &b : live)
            used |= b.stream == at;
        if (!used && random() % 50 == 0) {
            OK(cudaStreamDestroy(streams[at]));
            OK(cudaStreamCreate(&streams[at]));
        }
    }
    for (const Block &b : live)
        OK(cudaFreeAsync(b.p, streams[b.stream]));
    for (cudaStream_t s : streams)
        if (!common)
            OK(cudaStreamDestroy(s));
    OK(cudaEventDestroy(e));
}

static void share(bool tight, cudaStream_t *common)
{
    cudaMemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.maxSize = tight ? 64 << 20 : 0;
    cudaMemPool_t pool;
    unsigned long long keep = tight ? ~0ull : 8 << 20, used = 1;
    int *wrong, found = -1;
    OK(cudaMemPoolCreate(&pool, &props));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    OK(cudaMalloc(&wrong, sizeof *wrong));
    OK(cudaMemset(wrong, 0, sizeof *wrong));
    OK(cudaDeviceSynchronize());
    std::vector<std::thread> threads;
    for (int i = 0; i < THREADS; i++)
        threads.emplace_back(work, i + tight * THREADS, pool, tight, common, wrong);
    for (std::thread &t : threads)
        t.join();
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(&found, wrong, sizeof found, cudaMemcpyDeviceToHost));
    CHECK_EQ_INT(found, 0);
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    if (!common) // where threads share streams an H100 sometimes goes on counting what is free
        CHECK_EQ_INT(used, 0);
    OK(cudaMemPoolDestroy(pool));
    OK(cudaFree(wrong));
}

int main()
{
    cudaStream_t common[STREAMS];
    for (cudaStream_t &s : common)
        OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    share(false, nullptr);
    share(true, nullptr);
    share(false, common);
    share(true, common);
    for (cudaStream_t &s : common)
        OK(cudaStreamDestroy(s));
    return check_done();
}
