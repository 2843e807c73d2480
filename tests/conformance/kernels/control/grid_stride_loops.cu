/* K2: loops that go through memory in steps of the whole grid, in whose iterations the warps of a
 * block may be interleaved: with barriers before, after and around them, with several ways back to
 * their start and out of them, for blocks whose last warp is not full; and what they are often for,
 * atomics on shared memory at places that come from bytes, from some bits, and from anywhere.
 * Without barriers the warps of several blocks may be. */
#include <cstdlib>
#include <cstring>
#include <vector>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

/* Counts of bytes, and sums of 64 bits of what is at them. */
__global__ void bytes(const unsigned char *in, unsigned *counts, unsigned long long *sums, int n)
{
    __shared__ unsigned count[256];
    __shared__ unsigned long long sum[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x)
        count[k] = 0, sum[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&count[in[i]], 1);
        atomicAdd(&sum[in[i]], (unsigned long long)i << 20);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 256; k += blockDim.x) {
        atomicAdd(&counts[k], count[k]);
        atomicAdd(&sums[k], sum[k]);
    }
}

enum {
    ADDS = 4096 + 16,
    XORS = 1024,
    MOST = 1024,
    FLOATS = 64,
    PLACES = ADDS + XORS + MOST + FLOATS
};

/* Indices of 12 bits, of 8 bits that are not adjacent, and of any value; operands that differ from
 * lane to lane. */
__global__ void places(const unsigned *in, const int *index, int *out, int n)
{
    __shared__ int adds[ADDS], xors[XORS], most[MOST];
    __shared__ float floats[FLOATS];
    for (int k = threadIdx.x; k < ADDS; k += blockDim.x)
        adds[k] = 0;
    for (int k = threadIdx.x; k < 1024; k += blockDim.x)
        xors[k] = most[k] = 0;
    for (int k = threadIdx.x; k < FLOATS; k += blockDim.x)
        floats[k] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned v = in[i];
        atomicAdd(&adds[(v & 4095) + 16], (int)i);
        atomicSub(&adds[v >> 20], 2);
        atomicXor(&xors[(v >> 13 & 255) * 4 + 3], (int)v);
        atomicMax(&most[index[i]], (int)(v >> 5));
        atomicAdd(&floats[v >> 26], (float)(v & 3));
    }
    __syncthreads();
    int *to = out + blockIdx.x * PLACES;
    for (int k = threadIdx.x; k < PLACES; k += blockDim.x)
        to[k] = k < ADDS                 ? adds[k]
                : k < ADDS + XORS        ? xors[k - ADDS]
                : k < ADDS + XORS + MOST ? most[k - ADDS - XORS]
                                         : (int)floats[k - ADDS - XORS - MOST];
}

/* A sum, and a tree after it. Threads beyond `width` leave before. */
__global__ void reduce(const int *in, int *out, int n)
{
    __shared__ int part[1024];
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        sum += in[i] ^ i;
    part[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = 512; half > 0; half /= 2) {
        if (threadIdx.x < half && threadIdx.x + half < blockDim.x)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = part[0];
}

/* No barriers; ways back from the middle, a way out, a loop within. */
__global__ void ways(const int *in, int *out, int n, int stop)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, seen = 0;
    if (i % 7 == 5)
        return;
    for (; i < n; i += gridDim.x * blockDim.x) {
        int v = in[i];
        if (v % 3 == 0)
            continue;
        if (v == stop)
            break;
        seen++;
        if (v % 5 == 0) {
            out[i] = -seen;
            continue;
        }
        for (int k = v & 7; k > 0; k--)
            v = v * 5 + k;
        out[i] = v + seen;
    }
}

/* No barriers, and no loop within: ways back from the middle and out, an index that wraps around on
 * its way if `base` is large, and what it is after the loop. */
template <class I>
__global__ void steps(const int *in, int *out, unsigned long long *sums, I base, I n, int stop)
{
    I i = base + (I)(blockIdx.x * blockDim.x + threadIdx.x);
    if ((i - base) % 11 == 3)
        return;
    for (; (I)(i - base) < n; i += gridDim.x * blockDim.x) {
        int v = in[(I)(i - base)];
        if (v % 3 == 0)
            continue;
        if (v == stop)
            break;
        out[(I)(i - base)] = v * 3 + (int)blockIdx.x;
        atomicAdd(&sums[v & 15], 1ull);
    }
    atomicAdd(&sums[16], (unsigned long long)(I)(i - base));
}

/* Inside of a loop that the block does together, with numbers that are the same for all of it and
 * change before, in and after the inner loop. */
__global__ void around(const int *in, int *out, int n, int rounds)
{
    __shared__ int total;
    int factor = 3, shift = 1;
    for (int r = 0; r < rounds; r++) {
        if (threadIdx.x == 0)
            total = 0;
        __syncthreads();
        factor = factor * 5 + r;
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n >> shift;
             i += gridDim.x * blockDim.x)
            if ((in[i] + r) % 4 != 0)
                atomicAdd(&total, in[i] * factor);
        factor ^= n + r;
        shift = 3 - shift;
        __syncthreads();
        if (threadIdx.x == 0)
            out[blockIdx.x * rounds + r] = total + factor;
        __syncthreads();
    }
}

/* ---- the same on the host ---- */

static std::vector<unsigned char> byte;
static std::vector<unsigned> word;
static std::vector<int> index_of, number;

static void make(int n)
{
    unsigned seed = 12345;
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        byte.push_back((unsigned char)((seed >> 24) * (seed >> 16 & 255) >> 8));
        word.push_back(seed ^ seed >> 7);
        index_of.push_back((int)(seed >> 9 & 1023));
        number.push_back((int)(seed >> 12));
    }
}

template <typename T> static T *there(const std::vector<T> &v)
{
    T *p = nullptr;
    OK(cudaMalloc(&p, v.size() * sizeof(T)));
    OK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}

/* What a kernel left at p is what is wanted. */
template <typename T> static void compare(const char *what, T *p, const std::vector<T> &want)
{
    std::vector<T> got(want.size());
    OK(cudaMemcpy(got.data(), p, got.size() * sizeof(T), cudaMemcpyDeviceToHost));
    size_t wrong = 0;
    for (size_t k = 0; k < got.size(); k++)
        wrong += got[k] != want[k];
    if (wrong > 0)
        printf("%s: %zu wrong\n", what, wrong);
    CHECK_EQ_INT(wrong, 0);
    OK(cudaFree(p));
}

static void test_bytes(int n, int grid, int block)
{
    unsigned char *in = there(byte);
    std::vector<unsigned> counts(256);
    std::vector<unsigned long long> sums(256);
    unsigned *c = there(counts);
    unsigned long long *s = there(sums);
    bytes<<<grid, block>>>(in, c, s, n);
    for (int i = 0; i < n; i++) {
        counts[byte[i]]++;
        sums[byte[i]] += (unsigned long long)i << 20;
    }
    compare("counts", c, counts);
    compare("sums", s, sums);
    OK(cudaFree(in));
}

static void test_places(int n, int grid, int block)
{
    unsigned *in = there(word);
    int *index = there(index_of);
    std::vector<int> want((size_t)grid * PLACES);
    int *out = there(want);
    places<<<grid, block>>>(in, index, out, n);
    for (int i = 0; i < n; i++) {
        int *adds = &want[(size_t)(i / block % grid) * PLACES], *xors = adds + ADDS;
        int *most = xors + XORS, *floats = most + MOST, v5 = (int)(word[i] >> 5);
        unsigned v = word[i];
        adds[(v & 4095) + 16] += i;
        adds[v >> 20] -= 2;
        xors[(v >> 13 & 255) * 4 + 3] ^= (int)v;
        most[index_of[i]] = v5 > most[index_of[i]] ? v5 : most[index_of[i]];
        floats[v >> 26] += (int)(v & 3);
    }
    compare("places", out, want);
    OK(cudaFree(in));
    OK(cudaFree(index));
}

static void test_reduce(int n, int grid, int block)
{
    int *in = there(number);
    std::vector<int> want(grid);
    int *out = there(want);
    reduce<<<grid, block>>>(in, out, n);
    for (int i = 0; i < n; i++)
        want[i / block % grid] =
            (int)((unsigned)want[i / block % grid] + (unsigned)(number[i] ^ i));
    compare("reduce", out, want);
    OK(cudaFree(in));
}

static void test_ways(int n, int grid, int block)
{
    int *in = there(number);
    std::vector<int> want(n);
    int *out = there(want), stop = number[n / 2], threads = grid * block;
    ways<<<grid, block>>>(in, out, n, stop);
    for (int t = 0; t < threads; t++) {
        int seen = 0;
        for (int i = t; t % 7 != 5 && i < n; i += threads) {
            int v = number[i];
            if (v % 3 == 0)
                continue;
            if (v == stop)
                break;
            seen++;
            unsigned u = (unsigned)v;
            for (int k = v % 5 == 0 ? 0 : v & 7; k > 0; k--)
                u = u * 5 + (unsigned)k;
            want[i] = v % 5 == 0 ? -seen : (int)(u + (unsigned)seen);
        }
    }
    compare("ways", out, want);
    OK(cudaFree(in));
}

template <class I> static void test_steps(int n, int grid, int block, I base)
{
    int *in = there(number), stop = number[n / 3], threads = grid * block;
    std::vector<int> want(n);
    std::vector<unsigned long long> sums(17);
    for (int t = 0; t < threads; t++) {
        int i = t;
        if (t % 11 == 3)
            continue;
        for (; i < n; i += threads) {
            if (number[i] % 3 == 0)
                continue;
            if (number[i] == stop)
                break;
            want[i] = number[i] * 3 + t / block;
            sums[number[i] & 15]++;
        }
        sums[16] += (unsigned long long)i;
    }
    for (int launch = 0; launch < 3; launch++) { /* later ones run more blocks at a time */
        std::vector<int> none(n);
        std::vector<unsigned long long> zero(17);
        int *out = there(none);
        unsigned long long *s = there(zero);
        steps<I><<<grid, block>>>(in, out, s, base, (I)n, stop);
        compare("steps", out, want);
        compare("sums of steps", s, sums);
    }
    OK(cudaFree(in));
}

static void test_around(int n, int grid, int block)
{
    enum { ROUNDS = 5 };
    int *in = there(number);
    std::vector<int> want((size_t)grid * ROUNDS);
    int *out = there(want);
    around<<<grid, block>>>(in, out, n, ROUNDS);
    unsigned factor = 3;
    for (int r = 0, shift = 1; r < ROUNDS; r++, shift = 3 - shift) {
        std::vector<unsigned> total(grid);
        factor = factor * 5 + (unsigned)r;
        for (int i = 0; i < n >> shift; i++)
            if ((number[i] + r) % 4 != 0)
                total[i / block % grid] += (unsigned)number[i] * factor;
        factor ^= (unsigned)(n + r);
        for (int b = 0; b < grid; b++)
            want[(size_t)b * ROUNDS + r] = (int)(total[b] + factor);
    }
    compare("around", out, want);
    OK(cudaFree(in));
}

int main()
{
    static const int shapes[][3] = {
        {49999, 3, 256}, {20011, 2, 96}, {5000, 4, 33}, {40000, 2, 1024}};
    static const int many[][3] = {
        {50000, 70, 64}, {49999, 33, 256}, {30001, 129, 33}, {3000, 64, 96}};
    make(50000);
    for (const int *s : shapes) {
        test_bytes(s[0], s[1], s[2]);
        test_places(s[0], s[1], s[2]);
        test_reduce(s[0], s[1], s[2]);
        test_ways(s[0], s[1], s[2]);
        test_around(s[0], s[1], s[2]);
    }
    for (const int *s : many) {
        test_steps<int>(s[0], s[1], s[2], 0);
        test_steps<unsigned>(s[0], s[1], s[2], 0xffffff00u);
        test_steps<unsigned long long>(s[0], s[1], s[2], 5);
        test_steps<unsigned long long>(s[0], s[1], s[2], 0xffffffffffffff07ull);
    }
    return check_done();
}
