// K2: long stretches of arithmetic with many values at once give what a host computes: hashes and
// polynomials, in full and partial warps, across branches, barriers and overlapping loads and
// stores.
#include "check.h"

#include <string.h>

#include <vector>

static __host__ __device__ unsigned turn(unsigned v, int by) { return v >> by | v << (32 - by); }

// Thirty-two rounds over sixteen words, in the manner of a hash.
static __host__ __device__ void mix(unsigned *w, unsigned *s, unsigned lane)
{
#pragma unroll
    for (int r = 0; r < 32; r++) {
        unsigned a = w[(r + 1) % 16], b = w[(r + 14) % 16];
        w[r % 16] += (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[(r + 9) % 16] +
                     (turn(b, 17) ^ turn(b, 19) ^ b >> 10) + (lane ^ r);
        unsigned t = s[7] + (turn(s[4], 6) ^ turn(s[4], 11)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) +
                     w[r % 16] + (s[2] > s[3] ? s[1] : lane);
        for (int k = 7; k > 0; k--)
            s[k] = s[k - 1];
        s[4] += t;
        s[0] = t + (turn(s[0], 2) ^ turn(s[0], 13));
    }
}

// Eight polynomials side by side, with comparisons, conversions and doubles between.
static __host__ __device__ float curves(float x, int n)
{
    float y[8], sum = 0;
    for (int k = 0; k < 8; k++)
        y[k] = x + 0.125f * k;
#pragma unroll
    for (int r = 0; r < 12; r++)
        for (int k = 0; k < 8; k++) {
            float z = y[(k + 1) % 8];
            y[k] = fmaf(y[k], 0.5f, fminf(z * 0.25f, 1.5f)) + (z > y[k] ? 0.0625f : -0.03125f);
            if (k == 3)
                y[k] += (float)((double)z * 0.001);
        }
    for (int k = 0; k < 8; k++)
        sum += y[k] * (float)((n + k) % 5);
    return sum;
}

static __global__ void hash(const unsigned *in, unsigned *out, int n, int iterations)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned w[16], s[8];
    for (int k = 0; k < 8; k++)
        s[k] = 0x6a09e667u * (k + 1);
    for (int t = 0; t < iterations; t++) {
        for (int k = 0; k < 16; k++)
            w[k] = in[k * n + i] + t;
        mix(w, s, threadIdx.x % 32);
    }
    for (int k = 0; k < 8; k++)
        out[k * n + i] = s[k];
}

// Words are ordered so that what one step stores the next one's neighbours load.
static __global__ void chain(unsigned *words, int n)
{
    int i = threadIdx.x;
    for (int t = 0; t < 3; t++) {
        unsigned w[16], s[8];
        for (int k = 0; k < 16; k++)
            w[k] = words[(i + k) % n];
        for (int k = 0; k < 8; k++)
            s[k] = w[k] * 3;
        mix(w, s, i % 32);
        __syncthreads();
        words[i] = s[0] ^ s[7];
        __syncthreads();
    }
}

static __global__ void bend(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] > 0.25f)
        out[i] = curves(in[i], i);
    else if (i < n)
        out[i] = curves(-in[i], 2 * i);
}

static void hashes(int n, int iterations)
{
    std::vector<unsigned> in(16 * n), out(8 * n), want(8 * n);
    for (size_t k = 0; k < in.size(); k++)
        in[k] = (unsigned)k * 2654435761u ^ (unsigned)k << 7;
    unsigned *a, *b;
    CHECK(cudaMalloc(&a, in.size() * 4) == cudaSuccess);
    CHECK(cudaMalloc(&b, out.size() * 4) == cudaSuccess);
    CHECK(cudaMemcpy(a, in.data(), in.size() * 4, cudaMemcpyHostToDevice) == cudaSuccess);
    hash<<<(n + 95) / 96, 96>>>(a, b, n, iterations);
    CHECK(cudaMemcpy(out.data(), b, out.size() * 4, cudaMemcpyDeviceToHost) == cudaSuccess);
    for (int i = 0; i < n; i++) {
        unsigned w[16], s[8];
        for (int k = 0; k < 8; k++)
            s[k] = 0x6a09e667u * (k + 1);
        for (int t = 0; t < iterations; t++) {
            for (int k = 0; k < 16; k++)
                w[k] = in[k * n + i] + t;
            mix(w, s, i % 96 % 32);
        }
        for (int k = 0; k < 8; k++)
            want[k * n + i] = s[k];
    }
    CHECK(memcmp(out.data(), want.data(), out.size() * 4) == 0);
    CHECK(cudaFree(a) == cudaSuccess);
    CHECK(cudaFree(b) == cudaSuccess);
}

static void chains()
{
    const int n = 128;
    std::vector<unsigned> have(n), got(n);
    for (int k = 0; k < n; k++)
        have[k] = 0x9e3779b9u * (k + 3);
    unsigned *a;
    CHECK(cudaMalloc(&a, n * 4) == cudaSuccess);
    CHECK(cudaMemcpy(a, have.data(), n * 4, cudaMemcpyHostToDevice) == cudaSuccess);
    chain<<<1, n>>>(a, n);
    CHECK(cudaMemcpy(got.data(), a, n * 4, cudaMemcpyDeviceToHost) == cudaSuccess);
    for (int t = 0; t < 3; t++) {
        std::vector<unsigned> next(n);
        for (int i = 0; i < n; i++) {
            unsigned w[16], s[8];
            for (int k = 0; k < 16; k++)
                w[k] = have[(i + k) % n];
            for (int k = 0; k < 8; k++)
                s[k] = w[k] * 3;
            mix(w, s, i % 32);
            next[i] = s[0] ^ s[7];
        }
        have = next;
    }
    CHECK(have == got);
    CHECK(cudaFree(a) == cudaSuccess);
}

static void bends()
{
    const int n = 1000;
    std::vector<float> in(n), out(n);
    for (int k = 0; k < n; k++)
        in[k] = (float)(k * 37 % 101) / 101.0f;
    float *a, *b;
    CHECK(cudaMalloc(&a, n * 4) == cudaSuccess);
    CHECK(cudaMalloc(&b, n * 4) == cudaSuccess);
    CHECK(cudaMemcpy(a, in.data(), n * 4, cudaMemcpyHostToDevice) == cudaSuccess);
    bend<<<8, 128>>>(a, b, n);
    CHECK(cudaMemcpy(out.data(), b, n * 4, cudaMemcpyDeviceToHost) == cudaSuccess);
    int wrong = 0;
    for (int k = 0; k < n; k++) {
        float want = in[k] > 0.25f ? curves(in[k], k) : curves(-in[k], 2 * k);
        wrong += !(fabsf(out[k] - want) <= 1e-4f * (1 + fabsf(want))); // sums may be contracted
    }
    CHECK(wrong == 0);
    CHECK(cudaFree(a) == cudaSuccess);
    CHECK(cudaFree(b) == cudaSuccess);
}

int main()
{
    hashes(1000, 1);
    hashes(77, 5);
    chains();
    bends();
    return check_done();
}
