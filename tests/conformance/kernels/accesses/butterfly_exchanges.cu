/* K2: exchanges between neighbours at fixed distances, as in a bitonic sort or a butterfly: each
 * pair's two threads have a distance of 1, 2, 4, 8 or 16, known when compiling and not, in shared
 * and global memory, with whole warps and with threads that stay away. */
#include <cstdio>
#include <vector>

#include "check.h"

enum { THREADS = 64, PART = 2 * THREADS };

template <class T> static __host__ __device__ void order(T &a, T &b, bool up)
{
    if ((a > b) == up) {
        T t = a;
        a = b;
        b = t;
    }
}

/* A part sorted, by steps that the compiler knows. */
template <class T> __global__ void sort_part(T *keys)
{
    __shared__ T part[PART];
    unsigned t = threadIdx.x, first = blockIdx.x * PART;
    part[t] = keys[first + t];
    part[t + THREADS] = keys[first + t + THREADS];
#pragma unroll
    for (unsigned size = 2; size <= PART; size *= 2)
#pragma unroll
        for (unsigned step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            unsigned at = 2 * t - (t & (step - 1));
            order(part[at], part[at + step], (at & size) == 0);
        }
    __syncthreads();
    keys[first + t] = part[t];
    keys[first + t + THREADS] = part[t + THREADS];
}

/* Sums of elements at a distance of STEP, of threads below n: each pair is written by one of them. */
template <class T, int STEP> __global__ void butterfly(T *v, T *w, unsigned n)
{
    unsigned t = blockIdx.x * THREADS + threadIdx.x, at = 2 * t - (t & (STEP - 1));
    if (t >= n)
        return;
    T a = v[at], b = v[at + STEP];
    w[at] = a + b;
    w[at + STEP] = a - b;
    v[at] = w[at] * 2;
    if (threadIdx.x % 3 == 0)
        v[at + STEP] = (T)t;
}

template <class T> static void sorts()
{
    std::vector<T> keys(8 * PART), got(keys.size());
    unsigned seed = 1;
    for (T &k : keys)
        k = (T)((seed = seed * 1664525u + 1013904223u) >> 17);
    T *d;
    CHECK_EQ_INT(cudaMalloc(&d, keys.size() * sizeof(T)), cudaSuccess);
    cudaMemcpy(d, keys.data(), keys.size() * sizeof(T), cudaMemcpyHostToDevice);
    sort_part<<<8, THREADS>>>(d);
    CHECK_EQ_INT(cudaMemcpy(got.data(), d, keys.size() * sizeof(T), cudaMemcpyDeviceToHost),
                 cudaSuccess);
    for (unsigned p = 0; p < 8; p++)
        for (unsigned size = 2; size <= PART; size *= 2)
            for (unsigned step = size / 2; step > 0; step /= 2)
                for (unsigned t = 0; t < THREADS; t++) {
                    unsigned at = 2 * t - (t & (step - 1));
                    order(keys[p * PART + at], keys[p * PART + at + step], (at & size) == 0);
                }
    CHECK(keys == got);
    cudaFree(d);
}

template <class T, int STEP> static void butterflies(unsigned n)
{
    const unsigned threads = 3 * THREADS;
    std::vector<T> v(2 * threads), w(2 * threads), got(2 * threads);
    for (unsigned i = 0; i < 2 * threads; i++)
        v[i] = (T)(i * 7 % 101);
    size_t bytes = v.size() * sizeof(T);
    T *dv, *dw;
    CHECK_EQ_INT(cudaMalloc(&dv, bytes), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc(&dw, bytes), cudaSuccess);
    cudaMemcpy(dv, v.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemset(dw, 0, bytes);
    butterfly<T, STEP><<<3, THREADS>>>(dv, dw, n);
    for (unsigned t = 0; t < threads && t < n; t++) {
        unsigned at = 2 * t - (t & (STEP - 1));
        T a = v[at], b = v[at + STEP];
        w[at] = a + b;
        w[at + STEP] = a - b;
        v[at] = w[at] * 2;
        if (t % THREADS % 3 == 0)
            v[at + STEP] = (T)t;
    }
    CHECK_EQ_INT(cudaMemcpy(got.data(), dv, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    CHECK(got == v);
    CHECK_EQ_INT(cudaMemcpy(got.data(), dw, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    CHECK(got == w);
    cudaFree(dv);
    cudaFree(dw);
}

template <class T> static void all()
{
    for (unsigned n : {3u * THREADS, 100u, 37u, 1u}) {
        butterflies<T, 1>(n);
        butterflies<T, 2>(n);
        butterflies<T, 4>(n);
        butterflies<T, 8>(n);
        butterflies<T, 16>(n);
    }
}

int main()
{
    sorts<unsigned>();
    sorts<float>();
    sorts<short>();
    all<int>();
    all<double>();
    all<unsigned char>();
    return check_done();
}
