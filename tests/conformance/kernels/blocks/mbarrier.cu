// SANITIZERS: barrier objects (src/exec/mbarrier.c)
/* K2: barrier objects (mbarrier): phases by state and by parity, drops, byte counts, and the copies
 * that tell them of their end (cp.async, cp.async.bulk, reductions). */
#include <cstdint>
#include <cstdio>
#include <vector>

#include "check.h"

enum { THREADS = 256 };

static int *device_out;
static std::vector<int> host_out(8192);

static void fetch()
{
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    cudaMemcpy(host_out.data(), device_out, host_out.size() * sizeof(int), cudaMemcpyDeviceToHost);
}

__device__ uint32_t shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ void init(uint32_t bar, unsigned count)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}

__device__ uint64_t arrive(uint32_t bar)
{
    uint64_t state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(bar) : "memory");
    return state;
}

__device__ bool test(uint32_t bar, uint64_t state)
{
    int ok;
    asm volatile(
        "{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
        : "=r"(ok)
        : "r"(bar), "l"(state)
        : "memory");
    return ok;
}

__device__ bool try_parity(uint32_t bar, unsigned parity)
{
    int ok;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2, 1000;"
                 " selp.b32 %0, 1, 0, p; }"
                 : "=r"(ok)
                 : "r"(bar), "r"(parity)
                 : "memory");
    return ok;
}

/* All threads meet twice a round, once by state and once by parity. */
__global__ void rounds(int *out, int n)
{
    __shared__ __align__(8) uint64_t object;
    __shared__ int data[THREADS];
    int t = threadIdx.x;
    uint32_t bar = shared_address(&object);
    if (t == 0)
        init(bar, blockDim.x);
    __syncthreads();
    for (int i = 0; i < n; i++) {
        data[t] = t * 10 + i;
        uint64_t state = arrive(bar);
        while (!test(bar, state))
            ;
        out[i * THREADS + t] = data[(t + 37) % THREADS];
        arrive(bar);
        while (!try_parity(bar, 1))
            ;
    }
}

static void test_rounds()
{
    rounds<<<1, THREADS>>>(device_out, 6);
    fetch();
    int bad = 0;
    for (int i = 0; i < 6; i++)
        for (int t = 0; t < THREADS; t++)
            bad += host_out[i * THREADS + t] != (t + 37) % THREADS * 10 + i;
    CHECK_EQ_INT(bad, 0);
}

/* One warp produces, the others consume, through two buffers. */
__global__ void pipeline(int *out, int n)
{
    __shared__ __align__(8) uint64_t objects[4]; /* full, full, empty, empty */
    __shared__ int buffer[2][32];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    uint32_t bar = shared_address(objects);
    if (t < 4)
        init(bar + 8 * t, t < 2 ? 32 : blockDim.x - 32);
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < n; i++) {
        int slot = i & 1, turn = i / 2 & 1;
        if (warp == 0) {
            while (!try_parity(bar + 16 + 8 * slot, turn ^ 1))
                ;
            buffer[slot][lane] = i * 100 + lane;
            arrive(bar + 8 * slot);
        } else {
            while (!try_parity(bar + 8 * slot, turn))
                ;
            sum += buffer[slot][(lane + warp) % 32];
            arrive(bar + 16 + 8 * slot);
        }
    }
    out[t] = sum;
}

static void test_pipeline()
{
    pipeline<<<1, THREADS>>>(device_out, 20);
    fetch();
    int bad = 0;
    for (int t = 32; t < THREADS; t++)
        bad += host_out[t] != 100 * 190 + 20 * ((t % 32 + t / 32) % 32);
    CHECK_EQ_INT(bad, 0);
}

/* What a single thread sees of an object that expects three arrivals, then two. */
__global__ void phases(int *out)
{
    __shared__ __align__(8) uint64_t object;
    uint32_t bar = shared_address(&object);
    unsigned pending;
    uint64_t state, first;
    int n = 0;
    init(bar, 3);
    first = arrive(bar);
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(first));
    out[n++] = (int)pending; /* 3 */
    out[n++] = test(bar, first);
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], 1;"
                 : "=l"(state)
                 : "r"(bar)
                 : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
    out[n++] = (int)pending; /* 2 */
    asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(state) : "r"(bar) : "memory");
    out[n++] = test(bar, first);   /* 1 */
    out[n++] = try_parity(bar, 0); /* 1 */
    out[n++] = try_parity(bar, 1); /* 0 */
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 64;" ::"r"(bar) : "memory");
    asm volatile("mbarrier.arrive.noComplete.release.cta.b64 %0, [%1], 1;"
                 : "=l"(state)
                 : "l"(&object)
                 : "memory");
    arrive(bar);                   /* only two are expected now, but bytes are missing */
    out[n++] = try_parity(bar, 1); /* 0 */
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 64;" ::"r"(bar)
                 : "memory");
    out[n++] = try_parity(bar, 1); /* 1 */
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], 16;" ::"r"(bar)
                 : "memory");
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0], 1;" ::"r"(bar) : "memory");
    out[n++] = try_parity(bar, 0); /* 0 */
    asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], 16;" ::"r"(bar)
                 : "memory");
    out[n++] = try_parity(bar, 0); /* 1 */
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(bar) : "memory");
}

static void test_phases()
{
    static const int want[] = {3, 0, 2, 1, 1, 0, 0, 1, 0, 1};
    phases<<<1, 1>>>(device_out);
    fetch();
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        if (!check_count(host_out[i] == want[i]))
            printf("phases: answer %zu is %d, not %d\n", i, host_out[i], want[i]);
}

/* Copies: by every thread with cp.async, in bulk there and back, and a reduction. */
__global__ void copies(const int *in, int *out)
{
    __shared__ __align__(16) int buffer[THREADS * 4];
    __shared__ __align__(8) uint64_t objects[2];
    int t = threadIdx.x;
    uint32_t bar = shared_address(objects), data = shared_address(buffer);
    if (t == 0) {
        init(bar, THREADS);
        init(bar + 8, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(data + 16 * t), "l"(in + 4 * t)
                 : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(bar) : "memory");
    while (!try_parity(bar, 0))
        ;
    out[t] = buffer[(4 * t + 7) % (4 * THREADS)];
    __syncthreads();
    if (t == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar + 8), "r"(1024)
                     : "memory");
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
            "%2, [%3];" ::"r"(data),
            "l"(in + 256), "r"(1024), "r"(bar + 8)
            : "memory");
    }
    while (!try_parity(bar + 8, 0))
        ;
    buffer[t] *= 2;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        asm volatile(
            "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + 1024),
            "r"(data), "r"(1024)
            : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        asm volatile(
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;" ::"l"(
                out + 1024),
            "r"(data), "r"(512)
            : "memory");
        asm volatile(
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32 [%0], [%1], %2;" ::"l"(
                out + 1024 + 128),
            "r"(data), "r"(512)
            : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}

static void test_copies()
{
    std::vector<int> in(THREADS * 4);
    int *from;
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (int)(i * 7 + 3);
    CHECK_EQ_INT(cudaMalloc(&from, in.size() * sizeof(int)), cudaSuccess);
    cudaMemcpy(from, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice);
    copies<<<1, THREADS>>>(from, device_out);
    fetch();
    int bad = 0, bulk = 0;
    for (int t = 0; t < THREADS; t++) {
        bad += host_out[t] != in[(4 * t + 7) % (4 * THREADS)];
        bulk += host_out[1024 + t] != in[256 + t] * 2 * (t < 128 ? 2 : 1);
    }
    CHECK_EQ_INT(bad, 0);
    CHECK_EQ_INT(bulk, 0);
    cudaFree(from);
}

int main()
{
    CHECK_EQ_INT(cudaMalloc(&device_out, host_out.size() * sizeof(int)), cudaSuccess);
    test_rounds();
    test_pipeline();
    test_phases();
    test_copies();
    cudaFree(device_out);
    return check_done();
}
