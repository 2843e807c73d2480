// SANITIZERS: the compiler on calls and warp operations (src/compiler)
/* K2: barriers, shared memory, votes, shuffles, matches, atomics, calls that cannot be inlined. */
#include <cstdio>
#include <cstring>
#include <vector>

#include "check.h"

static int *device_out;
static std::vector<int> host_out(4096);

static void fetch()
{
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    cudaMemcpy(host_out.data(), device_out, host_out.size() * sizeof(int), cudaMemcpyDeviceToHost);
}

/* A prefix sum: barriers in a loop, with threads that have left before. */
__global__ void scan(int *out, int n)
{
    __shared__ int s[2][256];
    int t = threadIdx.x, from = 0;
    if (t >= n)
        return;
    s[0][t] = t * 3 + 1;
    for (int d = 1; d < n; d *= 2) {
        __syncthreads();
        s[1 - from][t] = s[from][t] + (t >= d ? s[from][t - d] : 0);
        from = 1 - from;
    }
    out[t] = s[from][t];
}

static void test_scan()
{
    for (int n : {1, 31, 32, 33, 100, 256}) {
        scan<<<1, 256>>>(device_out, n);
        fetch();
        int sum = 0, bad = 0;
        for (int t = 0; t < n; t++) {
            sum += t * 3 + 1;
            bad += host_out[t] != sum;
        }
        CHECK_EQ_INT(bad, 0);
    }
}

/* Barriers under a condition that all of the block agree on, and barriers with votes. */
__global__ void votes(int *out, int limit)
{
    __shared__ int turn;
    int t = threadIdx.x;
    if (t == 0)
        turn = 0;
    __syncthreads();
    for (int i = 0; i < 4; i++) {
        if (limit > i) {
            int c = __syncthreads_count(t % (i + 2) == 0);
            int a = __syncthreads_and(t < 1000 - i);
            int o = __syncthreads_or(t == i * 50);
            if (t == 0)
                out[turn * 3] = c, out[turn * 3 + 1] = a, out[turn * 3 + 2] = o, turn++;
        }
        __syncthreads();
    }
}

static void test_votes()
{
    votes<<<1, 160>>>(device_out, 3);
    fetch();
    for (int i = 0; i < 3; i++) {
        CHECK_EQ_INT(host_out[i * 3], (160 + i + 1) / (i + 2));
        CHECK_EQ_INT(host_out[i * 3 + 1] != 0, 1);
        CHECK_EQ_INT(host_out[i * 3 + 2] != 0, 1);
    }
}

__global__ void lanes(int *out)
{
    int l = threadIdx.x & 31;
    int v = l * l;
    unsigned all = 0xffffffffu;
    int k = threadIdx.x * 16;
    out[k++] = __shfl_sync(all, v, 5);
    out[k++] = __shfl_sync(all, v, l ^ 3);
    out[k++] = __shfl_up_sync(all, v, 3);
    out[k++] = __shfl_down_sync(all, v, 7, 16);
    out[k++] = __shfl_xor_sync(all, v, 9);
    out[k++] = __shfl_sync(all, v, l + 1, 8);
    out[k++] = (int)__ballot_sync(all, l % 3 == 0);
    out[k++] = __all_sync(all, l < 32);
    out[k++] = __any_sync(all, l == 40);
    out[k++] = (int)__match_any_sync(all, l / 5);
    out[k++] = __reduce_add_sync(all, v);
    out[k++] = (int)__reduce_min_sync(all, (unsigned)(v + 4));
    if (l < 16) {
        out[k++] = (int)__activemask();
        out[k++] = __shfl_sync(0xffffu, v, 15 - l);
        out[k++] = (int)__ballot_sync(0xffffu, l & 1);
    } else {
        k += 3;
    }
    double d = __shfl_down_sync(all, l * 0.5, 4);
    out[k++] = (int)(d * 2);
}

static void test_lanes()
{
    lanes<<<1, 64>>>(device_out);
    fetch();
    int bad = 0;
    for (int t = 0; t < 64; t++) {
        int l = t & 31, e[16], n = 0;
        auto sq = [](int x) { return x * x; };
        e[n++] = 25;
        e[n++] = sq(l ^ 3);
        e[n++] = l >= 3 ? sq(l - 3) : sq(l);
        e[n++] = (l & 15) + 7 < 16 ? sq(l + 7) : sq(l);
        e[n++] = sq(l ^ 9);
        e[n++] = sq((l & 24) | ((l + 1) & 7));
        unsigned b = 0, m = 0;
        int sum = 0;
        for (int i = 0; i < 32; i++) {
            b |= (i % 3 == 0) << i;
            m |= (unsigned)(i / 5 == l / 5) << i;
            sum += i * i;
        }
        e[n++] = (int)b;
        e[n++] = 1;
        e[n++] = 0;
        e[n++] = (int)m;
        e[n++] = sum;
        e[n++] = 4;
        e[n++] = 0xffff;
        e[n++] = sq(15 - l);
        e[n++] = 0xaaaa;
        e[n++] = l + 4 < 32 ? l + 4 : l;
        for (int i = 0; i < 16; i++) {
            if (l >= 16 && i >= 12 && i < 15)
                continue;
            int got = host_out[t * 16 + i];
            bool same = i == 7 || i == 8 ? !got == !e[i] : got == e[i];
            if (!same && bad++ == 0)
                printf("thread %d, value %d: %d, not %d\n", t, i, got, e[i]);
        }
    }
    CHECK_EQ_INT(bad, 0);
}

__global__ void atomics(int *out, float *f, double *d, unsigned long long *u)
{
    __shared__ int bins[8];
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 8)
        bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[t % 8], 1);
    atomicAdd(&out[0], t);
    atomicMax(&out[1], t ^ 0x155);
    atomicMin(&out[2], -t);
    atomicOr(&out[3], 1 << (t & 15));
    atomicXor(&out[4], t);
    int slot = atomicAdd(&out[5], 1);
    out[64 + slot] = 1;
    atomicInc((unsigned *)&out[6], 99);
    int seen = out[7], want;
    do {
        want = seen;
        seen = atomicCAS(&out[7], want, want + 2);
    } while (seen != want);
    atomicAdd(f, 0.5f);
    atomicAdd(d, 0.25);
    atomicAdd(u, 1ull << 33);
    __syncthreads();
    if (threadIdx.x < 8)
        atomicAdd(&out[8 + threadIdx.x], bins[threadIdx.x]);
}

static void test_atomics()
{
    const int n = 4 * 96;
    struct {
        float f;
        double d;
        unsigned long long u;
    } *m;
    cudaMallocManaged(&m, sizeof *m);
    m->f = 0, m->d = 0, m->u = 0;
    cudaMemset(device_out, 0, host_out.size() * sizeof(int));
    atomics<<<4, 96>>>(device_out, &m->f, &m->d, &m->u);
    fetch();
    int sum = 0, max = 0, bits = 0, x = 0;
    for (int t = 0; t < n; t++) {
        sum += t;
        max = (t ^ 0x155) > max ? t ^ 0x155 : max;
        bits |= 1 << (t & 15);
        x ^= t;
    }
    CHECK_EQ_INT(host_out[0], sum);
    CHECK_EQ_INT(host_out[1], max);
    CHECK_EQ_INT(host_out[2], -(n - 1));
    CHECK_EQ_INT(host_out[3], bits);
    CHECK_EQ_INT(host_out[4], x);
    CHECK_EQ_INT(host_out[5], n);
    int slots = 0;
    for (int t = 0; t < n; t++)
        slots += host_out[64 + t];
    CHECK_EQ_INT(slots, n);
    CHECK_EQ_INT(host_out[6], n % 100);
    CHECK_EQ_INT(host_out[7], 2 * n);
    for (int i = 0; i < 8; i++)
        CHECK_EQ_INT(host_out[8 + i], n / 8);
    CHECK(m->f == n * 0.5f);
    CHECK(m->d == n * 0.25);
    CHECK(m->u == (1ull << 33) * n);
    cudaFree(m);
}

/* Recursion and function pointers, reached by some lanes only. */
__device__ int ackermann(int m, int n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ int twice(int x) { return 2 * x; }
__device__ int minus(int x) { return -x; }
__device__ int square(int x) { return x * x; }
typedef int (*unary)(int);
__device__ unary functions[3] = {twice, minus, square};

__global__ void calls(int *out, unary extra)
{
    int t = threadIdx.x;
    if (t % 4 != 1)
        out[t] = ackermann(t % 3, t % 5);
    else
        out[t] = -1;
    unary f = t % 7 == 6 ? extra : functions[t % 3];
    out[64 + t] = f(t);
}

__global__ void get_pointer(unary *out) { *out = square; }

static int ackermann_host(int m, int n)
{
    return m == 0 ? n + 1 : ackermann_host(m - 1, n == 0 ? 1 : ackermann_host(m, n - 1));
}

static void test_calls()
{
    unary *pointer, extra;
    cudaMalloc(&pointer, sizeof *pointer);
    get_pointer<<<1, 1>>>(pointer);
    cudaMemcpy(&extra, pointer, sizeof extra, cudaMemcpyDeviceToHost);
    cudaDeviceSetLimit(cudaLimitStackSize, 16384);
    calls<<<1, 60>>>(device_out, extra);
    fetch();
    int bad = 0;
    for (int t = 0; t < 60; t++) {
        bad += host_out[t] != (t % 4 != 1 ? ackermann_host(t % 3, t % 5) : -1);
        int f = t % 7 == 6 ? 2 : t % 3;
        bad += host_out[64 + t] != (f == 0 ? 2 * t : f == 1 ? -t : t * t);
    }
    CHECK_EQ_INT(bad, 0);
    cudaFree(pointer);
}

/* Barriers by number for part of the block: two producers' warps hand buffers to two consumers'. */
__device__ void wait_at(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ void arrive_at(int id, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__global__ void hand_over(int *out, int rounds)
{
    __shared__ int box[64];
    int t = threadIdx.x & 63;
    if (threadIdx.x < 64) {
        for (int i = 0; i < rounds; i++) {
            if (i > 0)
                wait_at(2, 128); /* empty again */
            box[t] = i * 100 + t;
            arrive_at(1, 128); /* full */
        }
    } else if (threadIdx.x < 128) {
        int sum = 0;
        for (int i = 0; i < rounds; i++) {
            wait_at(1, 128);
            sum += box[63 - t];
            if (i + 1 < rounds)
                arrive_at(2, 128);
        }
        out[t] = sum;
    } else {
        for (int i = 0; i < 3; i++)
            wait_at(5, 32); /* a warp alone */
        out[threadIdx.x] = 1;
    }
    __syncthreads();
    if (threadIdx.x == 0)
        out[200] = out[1] + out[130];
}

static void test_hand_over()
{
    const int rounds = 7;
    hand_over<<<1, 160>>>(device_out, rounds);
    fetch();
    int bad = 0;
    for (int t = 0; t < 64; t++)
        bad += host_out[t] != 100 * (rounds * (rounds - 1) / 2) + rounds * (63 - t);
    CHECK_EQ_INT(bad, 0);
    CHECK_EQ_INT(host_out[200], host_out[1] + 1);
}

/* S8: a block that spins on another stream's kernel, and on the host. */
__global__ void wait_for(volatile int *flag, int value)
{
    while (*flag != value)
        ;
    __syncthreads();
}
__global__ void set_flag(volatile int *flag, int value) { *flag = value; }

static void test_spin()
{
    enum { STREAMS = 12 };
    int *flags;
    cudaMallocManaged(&flags, sizeof(int) * (STREAMS + 1));
    memset(flags, 0, sizeof(int) * (STREAMS + 1));
    cudaStream_t s[STREAMS], free_stream;
    cudaStreamCreateWithFlags(&free_stream, cudaStreamNonBlocking);
    /* both kernels run once before any spins: loading code may wait for the device */
    set_flag<<<1, 1>>>(flags, 0);
    wait_for<<<1, 1>>>(flags, 0);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < STREAMS; i++) {
        cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking);
        wait_for<<<2, 64, 0, s[i]>>>(flags + i, 7);
    }
    set_flag<<<1, 1, 0, free_stream>>>(flags + STREAMS, 1);
    CHECK_EQ_INT(cudaStreamSynchronize(free_stream), cudaSuccess);
    CHECK_EQ_INT(cudaStreamQuery(s[3]), cudaErrorNotReady);
    for (int i = STREAMS - 1; i >= 0; i--) {
        if (i % 2)
            *(volatile int *)(flags + i) = 7;
        else
            set_flag<<<1, 1, 0, free_stream>>>(flags + i, 7);
        CHECK_EQ_INT(cudaStreamSynchronize(s[i]), cudaSuccess);
    }
    for (int i = 0; i < STREAMS; i++)
        cudaStreamDestroy(s[i]);
    cudaStreamDestroy(free_stream);
    cudaFree(flags);
}

/* Votes at barriers in which only part of the block takes part. */
__global__ void part_votes(int *out)
{
    int t = threadIdx.x, n, any, all;
    for (int i = 0; i < 3; i++) {
        if (t < 64) {
            asm volatile(
                "{ .reg .pred p; setp.lt.s32 p, %1, %2; barrier.cta.red.popc.u32 %0, 1, 64, p; }"
                : "=r"(n)
                : "r"(t), "r"(10 + i)
                : "memory");
            asm volatile(
                "{ .reg .pred p, q; setp.lt.s32 p, %1, %2; barrier.cta.red.and.pred q, 1, 64, p;"
                " selp.b32 %0, 1, 0, q; }"
                : "=r"(all)
                : "r"(t), "r"(62 + i)
                : "memory");
        } else {
            asm volatile("{ .reg .pred p; setp.lt.s32 p, %1, %2; bar.red.popc.u32 %0, 2, 96, !p; }"
                         : "=r"(n)
                         : "r"(t), "r"(70 + i)
                         : "memory");
            asm volatile("{ .reg .pred p, q; setp.eq.s32 p, %1, %2; bar.red.or.pred q, 2, 96, p;"
                         " selp.b32 %0, 1, 0, q; }"
                         : "=r"(any)
                         : "r"(t), "r"(158 + i)
                         : "memory");
        }
        out[i * 320 + t * 2] = n;
        out[i * 320 + t * 2 + 1] = t < 64 ? all : any;
        __syncthreads();
    }
}

/* The same, numbers and counts in registers; the first barrier's is used anew while warps of the
 * round before have not looked at their result. */
__global__ void part_votes_by_number(int *out, int first)
{
    int t = threadIdx.x, n, group = t / 64, number = first + group, count = group < 2 ? 64 : 32;
    for (int i = 0; i < 3; i++) {
        asm volatile("{ .reg .pred p; setp.lt.s32 p, %1, %2; barrier.red.popc.u32 %0, %3, %4, p; }"
                     : "=r"(n)
                     : "r"(t % 64), "r"(10 + i + group), "r"(number), "r"(count)
                     : "memory");
        out[i * 160 + t] = n;
    }
}

static void test_part_votes_by_number()
{
    part_votes_by_number<<<1, 160>>>(device_out, 5);
    fetch();
    int bad = 0;
    for (int i = 0; i < 3; i++)
        for (int t = 0; t < 160; t++)
            bad += host_out[i * 160 + t] != 10 + i + t / 64;
    CHECK_EQ_INT(bad, 0);
}

static void test_part_votes()
{
    part_votes<<<1, 160>>>(device_out);
    fetch();
    int bad = 0;
    for (int i = 0; i < 3; i++)
        for (int t = 0; t < 160; t++) {
            bad += host_out[i * 320 + t * 2] != (t < 64 ? 10 + i : 90 - i);
            bad += host_out[i * 320 + t * 2 + 1] != (t < 64 ? i == 2 : i < 2);
        }
    CHECK_EQ_INT(bad, 0);
}

/* A register that holds anything until the second warp writes it in a loop, as a block's prefix sum
 * by warps makes: it is used by that warp alone, with a value of each lane's own. */
__global__ void late_write(int *out)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, total = 1000;
    asm volatile("{ .reg .b32 seen, sum, n; .reg .pred second, more;\n"
                 "mov.b32 n, 0;\n"
                 "again: setp.eq.s32 second, %2, 1;\n"
                 "selp.b32 seen, %3, seen, second;\n"
                 "add.s32 sum, seen, %1;\n"
                 "selp.b32 %0, sum, %1, second;\n"
                 "add.s32 n, n, 1; setp.lt.s32 more, n, 3; @more bra again; }"
                 : "=r"(out[threadIdx.x])
                 : "r"(lane), "r"(warp), "r"(total));
}

static void test_late_write()
{
    late_write<<<1, 96>>>(device_out);
    fetch();
    for (int t = 0; t < 96; t++)
        CHECK_EQ_INT(host_out[t], t % 32 + (t / 32 == 1 ? 1000 : 0));
}

int main()
{
    CHECK_EQ_INT(cudaMalloc(&device_out, host_out.size() * sizeof(int)), cudaSuccess);
    test_scan();
    test_votes();
    test_part_votes();
    test_part_votes_by_number();
    test_lanes();
    test_atomics();
    test_calls();
    test_late_write();
    test_hand_over();
    test_spin();
    cudaFree(device_out);
    return check_done();
}
