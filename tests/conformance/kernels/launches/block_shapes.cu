/* K1.3: the same kernel in blocks of many shapes, most of them small or of odd sizes: what indices
 * are made of thread indices by masks, shifts, divisions and remainders, and what is read at and
 * written to these places in shared and global memory, as the same source gives it on the host. */
#include <cstdio>
#include <cstring>

#include "check.h"

#define BOTH __host__ __device__

enum { PLACES = 14, TABLE = 4096, MOST = 256 };

struct thread {
    unsigned x, y, z, wide, high, linear, count;
};

/* Places below TABLE / 2 that depend on the thread in as many ways. */
BOTH static void places(const thread &t, unsigned *at)
{
    at[0] = t.x;
    at[1] = 2 * t.x - (t.x & 7);
    at[2] = t.x ^ 1;
    at[3] = t.x & 3;
    at[4] = t.y * t.wide + t.x;
    at[5] = (t.x + t.y) & 15;
    at[6] = t.wide - 1 - t.x;
    at[7] = t.x / 2 + t.z;
    at[8] = t.x % 5 * 2 + t.y % 3;
    at[9] = (t.linear & ~7u) | (7 - (t.linear & 7));
    at[10] = 2 * t.linear - (t.linear & 15);
    at[11] = t.x * t.high + t.y;
    at[12] = (t.x & 15) + (t.linear >> 4) * 17;
    at[13] = t.count - 1 - t.linear;
}

BOTH static unsigned table(unsigned k) { return k * 2654435761u; }

__global__ void all(const unsigned *in, unsigned *out)
{
    __shared__ unsigned part[TABLE], twice[2 * MOST];
    thread t = {threadIdx.x, threadIdx.y, threadIdx.z, blockDim.x, blockDim.y, 0, 0};
    t.linear = (t.z * t.high + t.y) * t.wide + t.x;
    t.count = t.wide * t.high * blockDim.z;
    for (unsigned k = t.linear; k < TABLE; k += t.count)
        part[k] = table(k);
    twice[t.linear] = twice[t.linear + t.count] = 0;
    __syncthreads();
    unsigned at[PLACES], *to = out + t.linear * (2 * PLACES + 2);
    places(t, at);
    for (int k = 0; k < PLACES; k++) {
        to[2 * k] = part[at[k] + t.wide];
        to[2 * k + 1] = in[at[k] + 3];
    }
    twice[2 * t.linear - (t.linear & 1)] = to[0]; /* 0 1 4 5 8 9 ... */
    __syncthreads();
    if (t.linear + 1 < t.count && (t.linear & 1) == 0) { /* neighbours change places */
        unsigned a = part[t.linear], b = part[t.linear + 1];
        part[t.linear] = b;
        part[t.linear + 1] = a;
    }
    __syncthreads();
    to[2 * PLACES] = twice[t.linear] ^ twice[t.linear + t.count];
    to[2 * PLACES + 1] = part[t.linear];
}

static void host(unsigned wide, unsigned high, unsigned deep, unsigned *out)
{
    static unsigned twice[2 * MOST];
    unsigned count = wide * high * deep;
    memset(twice, 0, sizeof twice);
    for (unsigned n = 0; n < count; n++) {
        thread t = {n % wide, n / wide % high, n / wide / high, wide, high, n, count};
        unsigned at[PLACES], *to = out + n * (2 * PLACES + 2);
        places(t, at);
        for (int k = 0; k < PLACES; k++) {
            to[2 * k] = table(at[k] + wide);
            to[2 * k + 1] = (at[k] + 3) ^ 0x5a5a;
        }
        twice[2 * n - (n & 1)] = to[0];
    }
    for (unsigned n = 0; n < count; n++) {
        unsigned *to = out + n * (2 * PLACES + 2), odd = n ^ 1;
        to[2 * PLACES] = twice[n] ^ twice[n + count];
        to[2 * PLACES + 1] = table(odd < count ? odd : n);
    }
}

int main()
{
    static const unsigned char shapes[][3] = {
        {2, 1, 1}, {4, 1, 1}, {8, 1, 1}, {12, 1, 1}, {16, 1, 1}, {31, 1, 1}, {40, 1, 1}, {2, 3, 1},
        {4, 5, 1}, {8, 2, 1}, {8, 3, 1}, {8, 1, 3},  {16, 3, 1}, {24, 2, 1}, {1, 33, 1}, {3, 4, 5}};
    enum { RESULTS = MOST * (2 * PLACES + 2) };
    static unsigned want[RESULTS];
    unsigned *in, *out;
    cudaMallocManaged(&in, TABLE * 4);
    cudaMallocManaged(&out, RESULTS * 4);
    for (unsigned k = 0; k < TABLE; k++)
        in[k] = k ^ 0x5a5a;
    for (auto &s : shapes) {
        memset(out, 0, RESULTS * 4);
        memset(want, 0, RESULTS * 4);
        host(s[0], s[1], s[2], want);
        all<<<1, dim3(s[0], s[1], s[2])>>>(in, out);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        int wrong = 0;
        for (int k = 0; k < RESULTS; k++)
            if (out[k] != want[k] && wrong++ == 0)
                printf("block %d x %d x %d: thread %d, result %d\n", s[0], s[1], s[2],
                       k / (2 * PLACES + 2), k % (2 * PLACES + 2));
        CHECK_EQ_INT(wrong, 0);
    }
    cudaFree(in);
    cudaFree(out);
    return check_done();
}
