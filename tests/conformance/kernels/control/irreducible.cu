// FLAGS: -Xptxas -O0
// GPU: NVIDIA's assembler gives other values with its optimizations on, as in the driver (see below)
/* K2: loops that are entered at several places (irreducible control flow), divergent, with
 * barriers, shuffles and votes after and inside of them, for which all threads must have come. What
 * a thread computes alone is the same source on the host; what the threads of a warp do together,
 * the host does for 32 threads in step.
 *
 * Nothing in it is undefined. On an H200 with nvcc 13.0 all of it passes with the assembler's
 * optimizations off, which is how the first line has it built. With them, `in_loop` of `crossed`
 * gives other values there, for sm_75, 80 and 90. What that assembler does was not looked at.
 */
#include <cstdlib>
#include <vector>

#include "check.h"

#define BOTH __host__ __device__
#define FUEL (fuel && --fuel)
#define ALL  0xffffffffu

/* ---- functions of one thread ---- */

/* Two jumps into a loop, one of them from a loop after it. */
BOTH static int into_inner(int tid, int a, int fuel)
{
    unsigned v = tid;
    if (!(a & 8))
        for (v = 1; v < (tid & 7) && FUEL; v += 2) {
        L1:;
            if (tid > 1 && FUEL)
                goto L1;
        }
    do {
        if (tid < 3 && FUEL)
            goto L1;
    } while (FUEL && v > 7);
    return v * 3 + fuel;
}

/* A loop that is entered at its beginning and at two places within. */
BOTH static int three_entries(int tid, int a, int fuel)
{
    unsigned v = tid ^ a;
    if (a & 1)
        goto second;
    if (a & 2)
        goto third;
    while (FUEL) {
        v = v * 5 + 1;
        if (v & 64)
            break;
    second:
        v += tid;
        if ((v & 12) == 12)
            continue;
    third:
        v ^= a >> 3;
        if ((v + fuel) % 7 == 3)
            goto second_out;
    }
    v += 1000;
second_out:
    return v + fuel;
}

/* An unrolled loop in the manner of Duff: each thread enters it elsewhere. */
BOTH static int duff(int tid, int a, int fuel)
{
    unsigned v = tid;
    int n = (a & 15) + 1, iterations = (n + 3) / 4;
    switch (n & 3) {
    case 0: do { v = v * 3 + a;
        case 3: v ^= n;
        case 2: v += 7;
        case 1: v = (v << 1 | (v >> 5 & 1)) + fuel;
        } while (--iterations > 0 && FUEL);
    }
    return v;
}

/* A loop around jumps between two loops, each into the other. */
BOTH static int crossed(int tid, int a, int fuel)
{
    unsigned v = a & 255;
    int i = 0;
    for (int round = 0; round < 3; round++) {
        for (i = 0; i < (a & 7); i++) {
            v += i;
        left:
            if ((v ^ (unsigned)tid) % 5 == 0 && FUEL)
                goto right;
        }
        for (i = 8; i > (tid & 3); i--) {
            v ^= i << 2;
        right:
            if ((v + a) % 3 == 1 && FUEL)
                goto left;
        }
    }
    return v * 64 + fuel;
}

/* States that lead to each other, begun at any of them. */
BOTH static int states(int tid, int a, int fuel)
{
    unsigned v = a >> 4;
    if (a & 4)
        goto one;
    if (a & 2)
        goto two;
    goto three;
one:
    v += 3;
    if (!FUEL)
        return v;
    if (v & 1)
        goto three;
two:
    v = v * 7 + tid;
    if (!FUEL)
        return v;
    if (v & 2)
        goto one;
three:
    v ^= v >> 3;
    if (!FUEL)
        return v;
    if (v & 4)
        goto two;
    if (v & 8)
        goto one;
    return v + fuel;
}

BOTH static int function(int which, int tid, int a, int fuel)
{
    switch (which) {
    case 0: return into_inner(tid, a, fuel);
    case 1: return three_entries(tid, a, fuel);
    case 2: return duff(tid, a, fuel);
    case 3: return crossed(tid, a, fuel);
    default: return states(tid, a, fuel);
    }
}
enum { MOST = 96 };

/* A kernel for each, so that nothing but the function decides how it is compiled. */
template <int WHICH> __global__ void by_barrier(const int *m, int *o)
{
    __shared__ int sh[MOST];
    int t = threadIdx.x;
    sh[t] = -1;
    __syncthreads();
    sh[t] = function(WHICH, t, m[t], 40);
    __syncthreads();
    o[t] = sh[blockDim.x - 1 - t];
}

template <int WHICH> __global__ void by_warp_barrier(const int *m, int *o)
{
    __shared__ volatile int sh[MOST];
    int t = threadIdx.x;
    sh[t] = function(WHICH, t, m[t], 40);
    __syncwarp();
    o[t] = sh[t ^ 31];
}

template <int WHICH> __global__ void by_shuffle(const int *m, int *o)
{
    int t = threadIdx.x;
    int v = function(WHICH, t, m[t], 40);
    o[t] = __shfl_sync(ALL, v, 31 - (t & 31));
}

template <int WHICH> __global__ void by_vote(const int *m, int *o)
{
    int t = threadIdx.x;
    int v = function(WHICH, t, m[t], 40);
    o[t] = (int)__ballot_sync(ALL, v & 1);
}

/* Within a loop around it, in which the block's threads meet each time. */
template <int WHICH> __global__ void in_loop(const int *m, int *o)
{
    __shared__ int sh[MOST];
    int t = threadIdx.x;
    unsigned v = m[t];
    for (int round = 0; round < 3; round++) {
        sh[t] = function(WHICH, t, v & 0xffff, 40);
        __syncthreads();
        v = (unsigned)sh[blockDim.x - 1 - t] + __shfl_xor_sync(ALL, v, 1);
        __syncthreads();
    }
    o[t] = v;
}

typedef void kernel(const int *, int *);

/* What in_loop does, by the host. */
static void loop_on_host(int which, int n, const int *m, int *o)
{
    std::vector<int> v(m, m + n), sh(n), next(n);
    for (int round = 0; round < 3; round++) {
        for (int t = 0; t < n; t++)
            sh[t] = function(which, t, v[t] & 0xffff, 40);
        for (int t = 0; t < n; t++)
            next[t] = sh[n - 1 - t] + v[t ^ 1];
        v = next;
    }
    for (int t = 0; t < n; t++)
        o[t] = v[t];
}

static int *device_in, *device_out;

static void run(kernel *k, int n, const int *m, int *o)
{
    CHECK_EQ_INT(cudaMemcpy(device_in, m, sizeof(int) * n, cudaMemcpyHostToDevice), cudaSuccess);
    k<<<1, n>>>(device_in, device_out);
    CHECK_EQ_INT(cudaMemcpy(o, device_out, sizeof(int) * n, cudaMemcpyDeviceToHost), cudaSuccess);
}

template <int WHICH> static void check_function(int n, const int *m)
{
    int o[MOST], f[MOST];
    for (int t = 0; t < n; t++)
        f[t] = function(WHICH, t, m[t], 40);
    run(by_barrier<WHICH>, n, m, o);
    for (int t = 0; t < n; t++)
        CHECK_EQ_INT(o[t], f[n - 1 - t]);
    run(by_warp_barrier<WHICH>, n, m, o);
    for (int t = 0; t < n; t++)
        CHECK_EQ_INT(o[t], f[t ^ 31]);
    run(by_shuffle<WHICH>, n, m, o);
    for (int t = 0; t < n; t++)
        CHECK_EQ_INT(o[t], f[t ^ 31]);
    run(by_vote<WHICH>, n, m, o);
    for (int t = 0; t < n; t++) {
        unsigned votes = 0;
        for (int lane = 0; lane < 32; lane++)
            votes |= (unsigned)(f[(t & ~31) + lane] & 1) << lane;
        CHECK_EQ_INT(o[t], (int)votes);
    }
    run(in_loop<WHICH>, n, m, o);
    loop_on_host(WHICH, n, m, f);
    for (int t = 0; t < n; t++)
        CHECK_EQ_INT(o[t], f[t]);
}

/* ---- warp operations inside of the loop ---- */

/* Half of the lanes enter after what the others begin with; all of them shuffle in each turn. */
__global__ void shuffle_inside(const int *m, int *o)
{
    int t = threadIdx.x, a = m[t], v = t, i = 0;
    if (a & 1)
        goto middle;
    for (;;) {
        v = v * 3 + 1;
        if (a & 2)
            v ^= i;
    middle:
        v += __shfl_sync(ALL, v, (t + 1) & 31);
        if (++i == 6)
            break;
        v ^= a;
    }
    o[t] = v + (int)__ballot_sync(ALL, v & 2);
}

static void shuffle_inside_on_host(const int *m, int *o)
{
    unsigned v[32], was[32], votes = 0;
    for (int t = 0; t < 32; t++)
        v[t] = t;
    for (int i = 0; i < 6; i++) {
        for (int t = 0; t < 32; t++) {
            if (i == 0 && (m[t] & 1))
                continue;
            v[t] = v[t] * 3 + 1;
            if (m[t] & 2)
                v[t] ^= i;
        }
        memcpy(was, v, sizeof v);
        for (int t = 0; t < 32; t++)
            v[t] = (was[t] + was[(t + 1) & 31]) ^ (i < 5 ? m[t] : 0);
    }
    for (int t = 0; t < 32; t++)
        votes |= (v[t] >> 1 & 1) << t;
    for (int t = 0; t < 32; t++)
        o[t] = (int)(v[t] + votes);
}

/* The same with the block's barrier, entered at three places, each of which leads to it. */
__global__ void barrier_inside(const int *m, int *o)
{
    __shared__ int sh[64];
    int t = threadIdx.x, a = m[t], v = t, i = 0;
    if (a & 1)
        goto second;
    if (a & 2)
        goto third;
    for (;;) {
        v = v * 3 + 1;
        if (a & 4)
            goto third;
    second:
        v += 11;
    third:
        sh[t] = v;
        __syncthreads();
        v ^= sh[63 - t];
        __syncthreads();
        if (++i == 5)
            break;
        if ((v ^ a) & 8)
            goto second;
    }
    o[t] = v;
}

static void barrier_inside_on_host(const int *m, int *o)
{
    int v[64], sh[64], skip[64];
    for (int t = 0; t < 64; t++) {
        v[t] = t;
        skip[t] = m[t] & 1 ? 1 : m[t] & 2 ? 2 : 0;
    }
    for (int i = 0; i < 5; i++) {
        for (int t = 0; t < 64; t++) {
            if (skip[t] == 0) {
                v[t] = v[t] * 3 + 1;
                skip[t] = m[t] & 4 ? 2 : 1;
            }
            if (skip[t] == 1)
                v[t] += 11;
            sh[t] = v[t];
        }
        for (int t = 0; t < 64; t++) {
            v[t] ^= sh[63 - t];
            skip[t] = (v[t] ^ m[t]) & 8 ? 1 : 0;
        }
    }
    for (int t = 0; t < 64; t++)
        o[t] = v[t];
}

int main()
{
    int m[MOST], o[MOST], expected[MOST];
    CHECK_EQ_INT(cudaMalloc((void **)&device_in, sizeof m), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc((void **)&device_out, sizeof o), cudaSuccess);
    for (int round = 0; round < 20; round++) {
        for (int t = 0; t < MOST; t++)
            m[t] = rand() >> 4 & (round & 1 ? 0xffff : 0xff);
        for (int n = 32; n <= MOST; n += 64) {
            check_function<0>(n, m);
            check_function<1>(n, m);
            check_function<2>(n, m);
            check_function<3>(n, m);
            check_function<4>(n, m);
        }
        run(shuffle_inside, 32, m, o);
        shuffle_inside_on_host(m, expected);
        for (int t = 0; t < 32; t++)
            CHECK_EQ_INT(o[t], expected[t]);
        run(barrier_inside, 64, m, o);
        barrier_inside_on_host(m, expected);
        for (int t = 0; t < 64; t++)
            CHECK_EQ_INT(o[t], expected[t]);
    }
    return check_done();
}
