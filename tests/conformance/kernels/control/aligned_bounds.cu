/* K2: loops and conditions whose index begins at a multiple of a warp and whose bound is one, or is
 * not: counted from the thread's index, by the block's size, in steps of several elements, past the
 * greatest number. What each thread counts must be what the same source counts on the host. */
#include <cstdio>
#include <cstring>

#include "check.h"

#define BOTH __host__ __device__

enum { COUNTS = 16 };

/* `base` is not known where the kernel is compiled, but is a multiple of 64 times something. */
BOTH static void counts(unsigned *out, unsigned t, unsigned threads, unsigned base)
{
    unsigned start = base * 64 + t;
    for (unsigned i = t; i < 512; i += 128)
        out[0] += i;
    for (unsigned i = t; i < 500; i += 128)
        out[1] += i;
    for (int i = (int)t; i <= 383; i += 96)
        out[2] += (unsigned)i;
    for (unsigned i = 2 * t; i < 640; i += 256)
        out[3] += i;
    for (unsigned i = 3 * t; i < 768; i += 384)
        out[4] += i;
    for (unsigned i = t; i < 1024; i += threads)
        out[5] += i;
    for (unsigned i = start, n = 0; i + 256 > i && n < 5; i += 256, n++)
        out[6] += i;
    if (start < 0xffffffe0u)
        out[7] += 1;
    if (start > 0xffffffdfu)
        out[8] += 1;
    if ((int)start < 0)
        out[9] += 1;
    if ((int)start >= 96)
        out[10] += 1;
    if ((int)start > 127)
        out[11] += 1;
    if (start == 64 || start != base * 64 + 96)
        out[12] += 1;
    if (start + 64 > 128 - t)
        out[13] += 1;
    if (start + 4 * base < start + 128)
        out[14] += 1;
    if (start * 4 < 1024u && (unsigned long long)start * 65536 >= 64ull * 65536)
        out[15] += 1;
}

template <int THREADS> __global__ void run(unsigned *out, unsigned base)
{
    unsigned t = threadIdx.y * blockDim.x + threadIdx.x;
    counts(out + t * COUNTS, threadIdx.x + threadIdx.y * blockDim.x, THREADS, base);
}

template <int X, int Y> static void all_counts()
{
    unsigned *out;
    cudaMallocManaged(&out, X * Y * COUNTS * 4);
    for (unsigned base : {0u, 1u, 2u, 3u, 31u, 0x1ffffffu, 0x2000000u, 0x3fffffeu, 0x3ffffffu}) {
        cudaMemset(out, 0, X * Y * COUNTS * 4);
        run<X * Y><<<1, dim3(X, Y)>>>(out, base);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        int wrong = 0;
        for (unsigned t = 0; t < X * Y; t++) {
            unsigned want[COUNTS] = {};
            counts(want, t, X * Y, base);
            for (int c = 0; c < COUNTS; c++)
                if (want[c] != out[t * COUNTS + (unsigned)c] && wrong++ == 0)
                    printf("thread %u of %d×%d from %u: count %d is %u, not %u\n", t, X, Y, base, c,
                           out[t * COUNTS + (unsigned)c], want[c]);
        }
        CHECK_EQ_INT(wrong, 0);
    }
    cudaFree(out);
}

/* Sums of a tile that a block reads by such a loop, and a barrier after it. */
template <int THREADS, int TILE> __global__ void tile_sums(const int *in, int *out)
{
    __shared__ int tile[TILE];
    for (int i = threadIdx.x; i < TILE; i += THREADS)
        tile[i] = in[blockIdx.x * TILE + i];
    __syncthreads();
    int sum = 0;
    for (int i = threadIdx.x; i < TILE; i += THREADS)
        sum += tile[TILE - 1 - i] * (i + 1);
    out[blockIdx.x * THREADS + threadIdx.x] = sum;
}

template <int THREADS, int TILE> static void tiles()
{
    enum { BLOCKS = 3 };
    int *in, *out;
    cudaMallocManaged(&in, BLOCKS * TILE * sizeof *in);
    cudaMallocManaged(&out, BLOCKS * THREADS * sizeof *out);
    for (int i = 0; i < BLOCKS * TILE; i++)
        in[i] = i * 37 % 101;
    tile_sums<THREADS, TILE><<<BLOCKS, THREADS>>>(in, out);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    int wrong = 0;
    for (int t = 0; t < BLOCKS * THREADS; t++) {
        int sum = 0;
        for (int i = t % THREADS; i < TILE; i += THREADS)
            sum += in[t / THREADS * TILE + TILE - 1 - i] * (i + 1);
        wrong += sum != out[t];
    }
    CHECK_EQ_INT(wrong, 0);
    cudaFree(in);
    cudaFree(out);
}

int main()
{
    all_counts<128, 1>();
    all_counts<96, 1>();
    all_counts<50, 1>();
    all_counts<32, 4>();
    all_counts<16, 8>();
    tiles<128, 512>();
    tiles<128, 500>();
    tiles<96, 512>();
    tiles<48, 96>();
    return check_done();
}
