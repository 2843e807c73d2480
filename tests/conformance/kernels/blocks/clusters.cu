// SANITIZERS: clusters (src/exec/cluster.c)
/* K2: clusters of blocks: their registers, their barrier, shared memory of other blocks by every
 * kind of access, copies to many blocks; and what launches refuse. */
#include <cstdint>
#include <cstdio>
#include <vector>

#include "check.h"

static int *device_out;
static std::vector<int> host_out(16384);

static void fetch()
{
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    cudaMemcpy(host_out.data(), device_out, host_out.size() * sizeof(int), cudaMemcpyDeviceToHost);
}

__device__ uint32_t shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ uint32_t map(uint32_t address, unsigned rank)
{
    uint32_t r;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(address), "r"(rank));
    return r;
}

#define SREG(name)                                                                                 \
    ({                                                                                             \
        unsigned value_read;                                                                       \
        asm volatile("mov.u32 %0, %%" name ";" : "=r"(value_read));                                \
        value_read;                                                                                \
    })

template <class... P, class... A>
static cudaError_t launch(void (*kernel)(P...), dim3 grid, dim3 block, dim3 cluster, A... args)
{
    cudaLaunchConfig_t c = {};
    cudaLaunchAttribute a = {};
    c.gridDim = grid;
    c.blockDim = block;
    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim.x = cluster.x;
    a.val.clusterDim.y = cluster.y;
    a.val.clusterDim.z = cluster.z;
    c.attrs = &a;
    c.numAttrs = 1;
    return cudaLaunchKernelEx(&c, kernel, P(args)...);
}

/* Where every block of a 4x4x2 grid finds itself in clusters of 2x2x1. */
__global__ void registers(int *out)
{
    int block = (int)(blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
    int *o = out + 12 * block;
    o[0] = SREG("clusterid.x"), o[1] = SREG("clusterid.y"), o[2] = SREG("clusterid.z");
    o[3] = SREG("nclusterid.x"), o[4] = SREG("nclusterid.y"), o[5] = SREG("nclusterid.z");
    o[6] = SREG("cluster_ctaid.x"), o[7] = SREG("cluster_ctaid.y"), o[8] = SREG("cluster_nctaid.x");
    o[9] = SREG("cluster_ctarank"), o[10] = SREG("cluster_nctarank");
    asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.b32 %0, 1, 0, p; }"
                 : "=r"(o[11]));
}

static void test_registers()
{
    CHECK_EQ_INT(launch(registers, dim3(4, 4, 2), 1, dim3(2, 2, 1), device_out), cudaSuccess);
    fetch();
    for (int b = 0; b < 32; b++) {
        int x = b % 4, y = b / 4 % 4, z = b / 16;
        const int want[12] = {x / 2, y / 2, z, 2, 2, 2, x % 2, y % 2, 2, x % 2 + y % 2 * 2, 4, 1};
        CHECK(memcmp(want, &host_out[12 * b], sizeof want) == 0);
    }
    registers<<<dim3(4, 4, 2), 1>>>(device_out);
    fetch();
    const int alone[12] = {3, 3, 1, 4, 4, 2, 0, 0, 1, 0, 1, 0};
    CHECK(memcmp(alone, &host_out[12 * 31], sizeof alone) == 0);
}

/* Threads read their neighbours' memory, add to it, and store where others look. */
__global__ void neighbours(int *out)
{
    __shared__ int v[64], sum[64];
    __shared__ __align__(8) unsigned long long object;
    int t = threadIdx.x, rank = (int)SREG("cluster_ctarank"), n = (int)SREG("cluster_nctarank");
    int *o = out + (blockIdx.x * 64 + t) * 8;
    v[t] = rank * 1000 + t;
    sum[t] = 0;
    if (t == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(&object)), "r"(64)
                     : "memory");
    cluster_sync();
    unsigned far = map(shared_address(&v[t]), (unsigned)((rank + 1) % n));
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(o[0]) : "r"(far) : "memory");
    unsigned long long generic;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(generic) : "l"(&v[t]), "r"((rank + 2) % n));
    o[1] = *(int *)generic;
    asm volatile("getctarank.u64 %0, %1;" : "=r"(o[2]) : "l"(generic));
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(o[3]) : "r"(far));
    asm volatile("{ .reg .pred p; isspacep.shared::cluster p, %1; selp.b32 %0, 1, 0, p; }"
                 : "=r"(o[4])
                 : "l"(generic));
    asm volatile("{ .reg .pred p; isspacep.shared::cta p, %1; selp.b32 %0, 1, 0, p; }"
                 : "=r"(o[5])
                 : "l"(generic));
    for (int r = 0; r < n; r++) {
        unsigned at = map(shared_address(&sum[(t + r) % 64]), (unsigned)r);
        asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;" ::"r"(at),
                     "r"(rank + 1)
                     : "memory");
    }
    /* a store that tells the neighbour's object */
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 4;" ::"r"(shared_address(&object))
                 : "memory");
    cluster_sync();
    o[6] = sum[t];
    cluster_sync();
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(far),
        "r"(rank * 7 + t), "r"(map(shared_address(&object), (unsigned)((rank + 1) % n)))
        : "memory");
    int ok = 0;
    while (!ok)
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1],"
            " 0; selp.b32 %0, 1, 0, p; }"
            : "=r"(ok)
            : "r"(shared_address(&object))
            : "memory");
    o[7] = v[t];
    cluster_sync();
}

static void test_neighbours()
{
    for (int n : {1, 2, 4, 8}) {
        CHECK_EQ_INT(launch(neighbours, 16, 64, n, device_out), cudaSuccess);
        fetch();
        int bad = 0;
        for (int b = 0; b < 16; b++)
            for (int t = 0; t < 64; t++) {
                int r = b % n;
                const int *o = &host_out[(b * 64 + t) * 8];
                const int want[8] = {(r + 1) % n * 1000 + t,
                                     (r + 2) % n * 1000 + t,
                                     (r + 2) % n,
                                     (r + 1) % n,
                                     1,
                                     (r + 2) % n == r,
                                     n * (n + 1) / 2,
                                     (r + n - 1) % n * 7 + t};
                bad += memcmp(o, want, sizeof want) != 0;
            }
        CHECK_EQ_INT(bad, 0);
    }
}

/* Many phases, with threads that end early, and a copy that all blocks get. */
__global__ void phases(int *out, const int *in)
{
    __shared__ __align__(16) int data[64];
    __shared__ __align__(8) unsigned long long object;
    unsigned rank = SREG("cluster_ctarank"), bar = shared_address(&object);
    int t = threadIdx.x;
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 256;" ::"r"(bar) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_sync();
    if (rank == 1 && t == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                     ".multicast::cluster [%0], [%1], 256, [%2], %3;" ::"r"(shared_address(data)),
                     "l"(in), "r"(bar), "h"((short)0xd)
                     : "memory");
    if (rank != 1) {
        int ok = 0;
        while (!ok)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0;"
                         " selp.b32 %0, 1, 0, p; }"
                         : "=r"(ok)
                         : "r"(bar)
                         : "memory");
        if (t < 64)
            out[blockIdx.x * 64 + t] = data[t];
    }
    if (t >= 64)
        return;
    for (int i = 0; i < 5; i++) {
        asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
        asm volatile("barrier.cluster.wait;" ::: "memory");
    }
}

static void test_phases()
{
    std::vector<int> in(64);
    int *from;
    for (int i = 0; i < 64; i++)
        in[i] = i * i;
    CHECK_EQ_INT(cudaMalloc(&from, 256), cudaSuccess);
    cudaMemcpy(from, in.data(), 256, cudaMemcpyHostToDevice);
    CHECK_EQ_INT(launch(phases, 40, 96, 4, device_out, from), cudaSuccess);
    fetch();
    int bad = 0;
    for (int b = 0; b < 40; b++)
        for (int t = 0; t < 64 && b % 4 != 1; t++)
            bad += host_out[b * 64 + t] != t * t;
    CHECK_EQ_INT(bad, 0);
    cudaFree(from);
}

static void test_limits()
{
    cudaLaunchConfig_t c = {};
    cudaLaunchAttribute a = {};
    int n = 0, supported = 0;
    CHECK_EQ_INT(cudaDeviceGetAttribute(&supported, cudaDevAttrClusterLaunch, 0), cudaSuccess);
    CHECK_EQ_INT(supported, 1);
    c.gridDim = 16;
    c.blockDim = 64;
    CHECK_EQ_INT(cudaOccupancyMaxPotentialClusterSize(&n, registers, &c), cudaSuccess);
    CHECK_EQ_INT(n, 8);
    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim.x = 4;
    a.val.clusterDim.y = a.val.clusterDim.z = 1;
    c.attrs = &a;
    c.numAttrs = 1;
    CHECK_EQ_INT(cudaOccupancyMaxActiveClusters(&n, registers, &c), cudaSuccess);
    CHECK(n > 0);
    static const struct {
        unsigned grid, x, y;
        int non_portable;
        cudaError_t code;
    } cases[] = {{16, 8, 1, 0, cudaSuccess},
                 {16, 16, 1, 0, cudaErrorInvalidClusterSize},
                 {16, 16, 1, 1, cudaSuccess},
                 {32, 32, 1, 1, cudaErrorInvalidClusterSize},
                 {15, 4, 1, 0, cudaErrorInvalidClusterSize},
                 {15, 3, 1, 0, cudaSuccess},
                 {16, 2, 2, 0, cudaErrorInvalidClusterSize},
                 {16, 4, 0, 0, cudaErrorInvalidClusterSize}};
    for (auto &l : cases) {
        cudaFuncSetAttribute(registers, cudaFuncAttributeNonPortableClusterSizeAllowed,
                             l.non_portable);
        CHECK_EQ_INT(launch(registers, l.grid, 64, dim3(l.x, l.y, 1), device_out), l.code);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        cudaGetLastError();
    }
}

int main()
{
    CHECK_EQ_INT(cudaMalloc(&device_out, host_out.size() * sizeof(int)), cudaSuccess);
    test_registers();
    test_neighbours();
    test_phases();
    test_limits();
    cudaFree(device_out);
    return check_done();
}
