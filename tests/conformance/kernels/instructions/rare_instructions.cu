// FLAGS: -arch=sm_90a
// SANITIZERS: helpers of compiled code (src/exec/helpers.c)
/* K2: instructions that programs hardly ever have: reductions in another block's shared memory that
 * tell a barrier object of their bytes, uniform loads of 128 bits, approximations of two halves at a
 * time, discarded lines, register budgets, breakpoints. */
#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "check.h"

#define OK(call) CHECK_EQ_INT((call), cudaSuccess)

/* ---- red.async ---- */

enum { SENDERS = 32, WORDS = 16 };

__device__ uint32_t shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ uint32_t map(uint32_t address, unsigned rank)
{
    uint32_t r;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(address), "r"(rank));
    return r;
}

__device__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

#define REDUCE(op, kind, word, value)                                                              \
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." op      \
                 " [%0], %1, [%2];" ::"r"(map(shared_address(&words[word]), 0)),                   \
                 kind(value), "r"(bar)                                                             \
                 : "memory")

/* Block 1 reduces into block 0's words; block 0 waits for the bytes alone. */
__global__ void reduce(uint64_t *out)
{
    __shared__ __align__(8) uint64_t words[WORDS], barrier;
    unsigned rank, t = threadIdx.x;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (t < WORDS)
        words[t] = t == 2 || t == 8 ? 0xffffffffu : 0;
    if (rank == 0 && t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(
                         shared_address(&barrier)),
                     "r"(SENDERS * (10 * 4 + 2 * 8))
                     : "memory");
    }
    cluster_sync();
    if (rank == 1) {
        uint32_t bar = map(shared_address(&barrier), 0);
        REDUCE("inc.u32", "r", 0, 1000u);
        REDUCE("dec.u32", "r", 1, 5u);
        REDUCE("min.u32", "r", 2, 100 + t);
        REDUCE("max.u32", "r", 3, 3 * t);
        REDUCE("min.s32", "r", 4, 7 - (int)t);
        REDUCE("max.s32", "r", 5, (int)t - 40);
        REDUCE("add.u32", "r", 6, t);
        REDUCE("add.s32", "r", 7, -(int)t);
        REDUCE("and.b32", "r", 8, ~(1u << t / 2));
        REDUCE("or.b32", "r", 9, 1u << t / 3);
        REDUCE("add.u64", "l", 10, (uint64_t)t << 40);
        REDUCE("add.s64", "l", 11, -(int64_t)t * 0x100000000);
    } else {
        uint32_t done = 0;
        while (!done)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 "
                         "p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done)
                         : "r"(shared_address(&barrier))
                         : "memory");
        if (t < WORDS)
            out[t] = words[t];
    }
    cluster_sync();
}

static void check_reductions()
{
    uint64_t *out, got[WORDS];
    OK(cudaMalloc(&out, sizeof got));
    cudaLaunchConfig_t how = {};
    cudaLaunchAttribute cluster = {};
    how.gridDim = 2;
    how.blockDim = SENDERS;
    how.attrs = &cluster;
    how.numAttrs = 1;
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = 2;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    OK(cudaLaunchKernelEx(&how, reduce, out));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    uint32_t down = 0; /* 0, then 5, 4 ... 0, 5 ... */
    for (int t = 0; t < SENDERS; t++)
        down = down == 0 || down > 5 ? 5 : down - 1;
    CHECK_EQ_INT(got[0], 32);
    CHECK_EQ_INT(got[1], down);
    CHECK_EQ_INT(got[2], 100);
    CHECK_EQ_INT(got[3], 3 * 31);
    CHECK_EQ_INT((int32_t)got[4], 7 - 31);
    CHECK_EQ_INT((int32_t)got[5], 0);
    CHECK_EQ_INT(got[6], 31 * 16);
    CHECK_EQ_INT((int32_t)got[7], -31 * 16);
    CHECK_EQ_INT(got[8], 0xffff0000u);
    CHECK_EQ_INT(got[9], 0x7ffu);
    CHECK_EQ_INT(got[10], 31ull * 16 << 40);
    CHECK_EQ_INT(got[11], -(31ll * 16 * 0x100000000));
    OK(cudaFree(out));
}

/* ---- loads ---- */

__global__ void load_uniform(const ulonglong2 *in, ulonglong2 *out)
{
    ulonglong2 v, w;
    asm volatile("{ .reg .b128 q; ldu.global.b128 q, [%2]; mov.b128 {%0, %1}, q; }"
                 : "=l"(v.x), "=l"(v.y)
                 : "l"(in));
    asm volatile("{ .reg .b128 q; ldu.b128 q, [%2]; mov.b128 {%0, %1}, q; }"
                 : "=l"(w.x), "=l"(w.y)
                 : "l"(in + threadIdx.x));
    out[threadIdx.x] = v;
    out[32 + threadIdx.x] = w;
}

static void check_loads()
{
    ulonglong2 *in, *out;
    OK(cudaMallocManaged(&in, 32 * sizeof *in));
    OK(cudaMallocManaged(&out, 64 * sizeof *out));
    for (unsigned i = 0; i < 32; i++)
        in[i] = {i * 0x0123456789abcdefull, ~i * 0x1000000010001ull};
    load_uniform<<<1, 32>>>(in, out);
    OK(cudaDeviceSynchronize());
    int wrong = 0;
    for (unsigned i = 0; i < 32; i++) {
        wrong += out[i].x != in[0].x || out[i].y != in[0].y;
        wrong += out[32 + i].x != in[i].x || out[32 + i].y != in[i].y;
    }
    CHECK_EQ_INT(wrong, 0);
    OK(cudaFree(in));
    OK(cudaFree(out));
}

/* ---- vectors of reductions, by generic addresses ---- */

__global__ void reduce_vectors(float *sums, unsigned *halves)
{
    float old[2];
    unsigned t = threadIdx.x, one = 0x3c003c00; /* two halves */
    asm volatile("red.add.v2.f32 [%0], {%1, %2};" ::"l"(sums), "f"((float)t), "f"(1.0f) : "memory");
    asm volatile("atom.add.v2.f32 {%0, %1}, [%2], {%3, %4};"
                 : "=f"(old[0]), "=f"(old[1])
                 : "l"(sums + 2), "f"(1.0f), "f"(2.0f)
                 : "memory");
    sums[4 + t] = old[1];
    asm volatile("red.add.noftz.v2.f16x2 [%0], {%1, %2};" ::"l"(halves), "r"(one), "r"(one << 16)
                 : "memory");
}

static void check_vectors()
{
    float *sums;
    unsigned *halves;
    OK(cudaMallocManaged(&sums, 64 * sizeof *sums));
    OK(cudaMallocManaged(&halves, 16));
    memset(sums, 0, 64 * sizeof *sums);
    halves[0] = halves[1] = 0;
    reduce_vectors<<<1, 32>>>(sums, halves);
    OK(cudaDeviceSynchronize());
    CHECK(sums[0] == 496 && sums[1] == 32 && sums[2] == 32 && sums[3] == 64);
    CHECK_EQ_INT(halves[0], 0x50005000); /* 32 and 32 */
    CHECK_EQ_INT(halves[1], 0x50000000);
    float seen = 0;
    for (int t = 0; t < 32; t++)
        seen += sums[4 + t];
    CHECK(seen == 2 * 496);
    OK(cudaFree(sums));
    OK(cudaFree(halves));
}

/* ---- kinds of references ---- */

static const char references[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".global .texref t;\n.global .surfref s;\n"
    ".visible .entry kinds(.param .u64 out)\n{\n"
    ".reg .b64 %d<4>;\n.reg .pred %p<6>;\n.reg .b32 %r<6>;\n"
    "ld.param.u64 %d0, [out];\nmov.u64 %d1, t;\nmov.u64 %d2, s;\n"
    "istypep.texref %p0, %d1;\nselp.u32 %r0, 1, 0, %p0;\nst.global.u32 [%d0], %r0;\n"
    "istypep.surfref %p1, %d1;\nselp.u32 %r1, 1, 0, %p1;\nst.global.u32 [%d0+4], %r1;\n"
    "istypep.texref %p2, %d2;\nselp.u32 %r2, 1, 0, %p2;\nst.global.u32 [%d0+8], %r2;\n"
    "istypep.surfref %p3, %d2;\nselp.u32 %r3, 1, 0, %p3;\nst.global.u32 [%d0+12], %r3;\n"
    "istypep.samplerref %p4, %d1;\nselp.u32 %r4, 1, 0, %p4;\nst.global.u32 [%d0+16], %r4;\n"
    "ret;\n}\n";

static void check_kinds()
{
    CUmodule module;
    CUfunction kinds;
    int *out;
    OK(cudaMallocManaged(&out, 32));
    memset(out, 0x55, 32);
    CHECK_EQ_INT(cuModuleLoadData(&module, references), CUDA_SUCCESS);
    CHECK_EQ_INT(cuModuleGetFunction(&kinds, module, "kinds"), CUDA_SUCCESS);
    void *args[] = {&out};
    CHECK_EQ_INT(cuLaunchKernel(kinds, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL), CUDA_SUCCESS);
    OK(cudaDeviceSynchronize());
    CHECK(out[0] == 1 && out[1] == 0 && out[2] == 0 && out[3] == 1 && out[4] == 0);
    CHECK_EQ_INT(cuModuleUnload(module), CUDA_SUCCESS);
    OK(cudaFree(out));
}

/* ---- two halves at a time ---- */

enum { PAIRS = 4 };

/* out[0]: of both halves together; out[1]: of one after the other */
__global__ void approximate(unsigned (*out)[65536][2])
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, both = i | (i * 40503u & 0xffff) << 16;
    unsigned short part[2] = {(unsigned short)both, (unsigned short)(both >> 16)};
    unsigned short one[2];
#define PAIR(n, name, pair, half)                                                                  \
    asm(name "." pair " %0, %1;" : "=r"(out[n][i][0]) : "r"(both));                                \
    for (int k = 0; k < 2; k++)                                                                    \
        asm(name "." half " %0, %1;" : "=h"(one[k]) : "h"(part[k]));                               \
    out[n][i][1] = one[0] | (unsigned)one[1] << 16;
    PAIR(0, "ex2.approx", "f16x2", "f16")
    PAIR(1, "ex2.approx.ftz", "bf16x2", "bf16")
    PAIR(2, "tanh.approx", "f16x2", "f16")
    PAIR(3, "tanh.approx", "bf16x2", "bf16")
#undef PAIR
}

static void check_approximations()
{
    unsigned(*out)[65536][2];
    OK(cudaMallocManaged(&out, PAIRS * sizeof *out));
    approximate<<<256, 256>>>(out);
    OK(cudaDeviceSynchronize());
    for (int n = 0; n < PAIRS; n++) {
        int wrong = 0;
        for (int i = 0; i < 65536; i++)
            for (int k = 0; k < 32; k += 16) {
                unsigned inf = n % 2 ? 0x7f80 : 0x7c00;
                unsigned got = out[n][i][0] >> k & 0xffff, want = out[n][i][1] >> k & 0xffff;
                bool nans = (got & 0x7fff) > inf && (want & 0x7fff) > inf;
                wrong += got != want && !nans;
            }
        CHECK_EQ_INT(wrong, 0);
    }
    OK(cudaFree(out));
}

/* ---- what has no result ---- */

/* Lines that are discarded hold anything until they are written; their neighbours keep what they
 * hold. */
__global__ void discard(unsigned *lines)
{
    if (threadIdx.x == 0)
        asm volatile("discard.global.L2 [%0], 128;" ::"l"(lines + 32) : "memory");
    if (threadIdx.x == 1)
        asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(lines) : "memory");
    __syncwarp();
    lines[32 + threadIdx.x] = 7 * threadIdx.x;
}

static void check_discards()
{
    unsigned *lines, got[96];
    OK(cudaMalloc(&lines, sizeof got));
    OK(cudaMemset(lines, 0x11, sizeof got));
    discard<<<1, 32>>>(lines);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(got, lines, sizeof got, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (unsigned i = 0; i < 96; i++)
        wrong += got[i] != (i / 32 == 1 ? 7 * (i % 32) : 0x11111111u);
    CHECK_EQ_INT(wrong, 0);
    OK(cudaFree(lines));
}

/* Registers keep their values. */
__global__ void __launch_bounds__(128, 1) budget(const int *in, int *out)
{
    int v[8], sum = 0;
    for (int i = 0; i < 8; i++)
        v[i] = in[threadIdx.x + i];
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;" ::: "memory");
    for (int i = 0; i < 8; i++)
        sum += v[i] * in[i];
    asm volatile("setmaxnreg.inc.sync.aligned.u32 64;" ::: "memory");
    out[threadIdx.x] = sum + v[7];
}

static void check_budgets()
{
    int *in, *out;
    OK(cudaMallocManaged(&in, 256 * sizeof *in));
    OK(cudaMallocManaged(&out, 128 * sizeof *out));
    for (int i = 0; i < 256; i++)
        in[i] = i * i;
    budget<<<1, 128>>>(in, out);
    OK(cudaDeviceSynchronize());
    int wrong = 0;
    for (int t = 0; t < 128; t++) {
        int want = in[t + 7];
        for (int i = 0; i < 8; i++)
            want += in[t + i] * in[i];
        wrong += out[t] != want;
    }
    CHECK_EQ_INT(wrong, 0);
    OK(cudaFree(in));
    OK(cudaFree(out));
}

__global__ void stop(volatile int *out, int who)
{
    if ((int)threadIdx.x == who)
        asm volatile("brkpt;");
    out[threadIdx.x] = 1;
}

/* Where no lane comes by, a breakpoint is nothing; where one does and there is no debugger, the
 * kernel fails. The latter is the end of the context. */
static void check_breakpoints()
{
    int *out;
    OK(cudaMallocManaged(&out, 32 * sizeof *out));
    stop<<<1, 32>>>(out, 99);
    OK(cudaDeviceSynchronize());
    CHECK_EQ_INT(out[31], 1);
    stop<<<1, 32>>>(out, 3);
    CHECK(cudaDeviceSynchronize() != cudaSuccess);
}

int main()
{
    check_reductions();
    check_loads();
    check_vectors();
    check_kinds();
    check_approximations();
    check_discards();
    check_budgets();
    check_breakpoints();
    return check_done();
}
