/* K1: structures of 512 bytes to 4 KB by value: as arguments of kernels and of functions, as
 * results, copied, swapped, changed in places known and unknown at compile time, by all lanes or
 * some. The host does the same with the same code. */
#include <stdlib.h>

#include "check.h"

enum { N = 96 };

#define CUDA(call) CHECK_EQ_INT((call), cudaSuccess)

template <int WORDS> struct big {
    unsigned v[WORDS];
};

struct mixed { /* words of all sizes */
    double d[8];
    unsigned char c[13];
    short s[11];
    float2 p[30];
    unsigned long long q[20];
    int last;
};

template <int W> __host__ __device__ __noinline__ unsigned at(big<W> b, int i)
{
    return b.v[i % W];
}

template <int W> __host__ __device__ __noinline__ unsigned ends(big<W> b)
{
    return b.v[0] * 3 + b.v[W / 2 + 1] * 5 + b.v[W - 1];
}

template <int W> __host__ __device__ __noinline__ big<W> changed(big<W> b, int i)
{
    b.v[i % W] += 17;
    return b;
}

template <int W> __host__ __device__ __noinline__ big<W> fixed(big<W> b)
{
    b.v[5] ^= 99;
    b.v[W - 3] *= 3;
    return b;
}

/* Hand over and return both; the copies must not run into each other. */
template <int W> __host__ __device__ __noinline__ void swap(big<W> *a, big<W> *b)
{
    big<W> t = *a;
    *a = *b;
    *b = t;
}

/* Moved by a word within itself, which is no copy of the old one. */
template <int W> __host__ __device__ __noinline__ big<W> moved(big<W> b)
{
#pragma unroll
    for (int n = 1; n < 40; n++)
        b.v[n] = b.v[n - 1] + (n == 20);
    return b;
}

template <int W> __host__ __device__ unsigned all(const unsigned *in, int t, big<W> given)
{
    big<W> b, c;
#pragma unroll 1
    for (int i = 0; i < W; i++)
        b.v[i] = in[(t * 7 + i) % N] + i;
    c = changed(b, t);
    if (t % 3 == 1) /* some lanes alone */
        c = fixed(c);
    swap(&b, &c);
    unsigned sum = at(b, t * 11) + 31 * at(c, t * 5 + 1) + 7 * ends(b) + ends(c);
    c = moved(b);
    sum = sum * 13 + ends(c) + at(c, 39) + at(c, 38) + at(c, t);
    given.v[t % W] += t;
    b = given;
    b.v[1] = c.v[2];
    given.v[2] = 1;
    sum = sum * 5 + at(b, t) + at(b, 1) + at(b, 2) + at(given, 2) + at(given, t * 3);
    for (int n = 0; n < t % 4; n++) /* as often as each lane likes */
        b = changed(b, n * t);
    return sum + at(b, t * 2) + ends(b);
}

/* The same in short, for the compiler's sake. */
template <int W> __host__ __device__ unsigned few(const unsigned *in, int t, big<W> given)
{
    big<W> b = changed(given, (in[t] & 4095) + t);
    return at(b, t * 3) + 5 * at(b, (in[t] & 4095) + t) + at(given, (in[t] & 4095) + t);
}

template <int W> __global__ void run(const unsigned *in, unsigned *out, big<W> given)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if constexpr (W > 200)
        out[t] = few<W>(in, t, given);
    else
        out[t] = all<W>(in, t, given);
}

__host__ __device__ __noinline__ mixed stir(mixed m, int i)
{
    m.d[i % 8] += 0.5;
    m.c[i % 13]++;
    m.s[10]--;
    m.p[i % 30].y *= 2;
    m.q[19] += i;
    return m;
}

__host__ __device__ __noinline__ double drain(mixed m)
{
    double sum = m.last;
    for (int i = 0; i < 30; i++)
        sum +=
            m.p[i].x - m.p[i].y + m.d[i % 8] + m.c[i % 13] * 2 + m.s[i % 11] + (double)m.q[i % 20];
    return sum;
}

__host__ __device__ double all_mixed(int t, mixed given)
{
    mixed m = stir(given, t), o;
    if (t & 1)
        o = stir(m, t + 3);
    else
        o = given;
    given.last++;
    return drain(m) + 3 * drain(o) + 7 * drain(given);
}

__global__ void run_mixed(double *out, mixed given)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = all_mixed(t, given);
}

template <int W> static void test(void)
{
    unsigned in[N], got[N], *dev_in, *dev_out;
    big<W> given;
    for (int n = 0; n < N; n++)
        in[n] = (unsigned)n * 2654435761u;
    for (int n = 0; n < W; n++)
        given.v[n] = (unsigned)n * n + 3;
    CUDA(cudaMalloc(&dev_in, sizeof in));
    CUDA(cudaMalloc(&dev_out, sizeof got));
    CUDA(cudaMemcpy(dev_in, in, sizeof in, cudaMemcpyHostToDevice));
    run<W><<<2, N / 2>>>(dev_in, dev_out, given);
    CUDA(cudaMemcpy(got, dev_out, sizeof got, cudaMemcpyDeviceToHost));
    int bad = 0;
    for (int t = 0; t < N; t++)
        if constexpr (W > 200)
            bad += got[t] != few<W>(in, t, given);
        else
            bad += got[t] != all<W>(in, t, given);
    CHECK_EQ_INT(bad, 0);
    CUDA(cudaFree(dev_in));
    CUDA(cudaFree(dev_out));
}

static void test_mixed(void)
{
    mixed given = {};
    double got[N], *dev;
    for (int n = 0; n < 30; n++) {
        given.d[n % 8] = n * 0.25;
        given.c[n % 13] = (unsigned char)(n * 7);
        given.s[n % 11] = (short)(n * -300);
        given.p[n] = make_float2((float)n, 0.5f * n);
        given.q[n % 20] = (unsigned long long)n << 20;
    }
    given.last = -4;
    CUDA(cudaMalloc(&dev, sizeof got));
    run_mixed<<<2, N / 2>>>(dev, given);
    CUDA(cudaMemcpy(got, dev, sizeof got, cudaMemcpyDeviceToHost));
    int bad = 0;
    for (int t = 0; t < N; t++)
        bad += got[t] != all_mixed(t, given);
    CHECK_EQ_INT(bad, 0);
    CUDA(cudaFree(dev));
}

int main(void)
{
    test<128>();
    test<256>();
    test<1000>(); /* with the rest, the 4 KB that a kernel is given at most */
    test_mixed();
    return check_done();
}
