/* K2: places in shared memory that follow from the thread's index alone: reversed, with a stride,
 * swizzled, in pairs, the same for several threads; by all threads and by some of them; in blocks
 * of one and of two dimensions. What the others have beside must stay as it is. */
#include <cstdio>

#include "check.h"

#define BOTH __host__ __device__

enum { THREADS = 128, PLACES = 512, WAYS = 9 };

/* Where thread t has its element. */
template <int WAY> BOTH static unsigned place(unsigned t)
{
    switch (WAY) {
    case 0: return 127 - t;
    case 1: return 2 * t;
    case 2: return 2 * t + 1;
    case 3: return 2 * t - (t & 3);
    case 4: return 2 * t - (t & 1) + 2;
    case 5: return t ^ (t >> 3 & 3);
    case 6: return (t & 31) * 16 + (t >> 5); /* too far from each other for one vector */
    case 7: return t & ~1u;                  /* two threads in one place */
    default: return (t * 5 & 31) + (t & ~31u) + 7;
    }
}

BOTH static bool takes_part(unsigned value, unsigned some)
{
    return some == 0 || value % some != 1;
}

template <class T, int WAY, int NEXT> __global__ void move(const T *in, T *out, unsigned some)
{
    __shared__ T part[PLACES];
    unsigned t = threadIdx.x + threadIdx.y * blockDim.x;
    for (unsigned k = t; k < PLACES; k += THREADS)
        part[k] = (T)k;
    __syncthreads();
    if (takes_part((unsigned)in[t], some))
        part[place<WAY>(t)] = in[WAY == 7 ? place<WAY>(t) : t];
    __syncthreads();
    T sum = part[place<NEXT>(t)];
    if (takes_part((unsigned)in[t + 1], some))
        sum += part[place<WAY>(t)] * 3;
    out[PLACES + t] = sum;
    __syncthreads();
    for (unsigned k = t; k < PLACES; k += THREADS)
        out[k] = part[k];
}

template <class T, int WAY, int NEXT> static void check(dim3 block)
{
    static T want[PLACES + THREADS];
    T *in, *out;
    cudaMallocManaged(&in, PLACES * sizeof(T));
    cudaMallocManaged(&out, (PLACES + THREADS) * sizeof(T));
    for (unsigned k = 0; k < PLACES; k++)
        in[k] = (T)(k * 2654435761u >> 20);
    for (unsigned some : {0u, 2u, 5u, 1u}) {
        move<T, WAY, NEXT><<<1, block>>>(in, out, some);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        for (unsigned k = 0; k < PLACES; k++)
            want[k] = (T)k;
        for (unsigned t = 0; t < THREADS; t++)
            if (takes_part((unsigned)in[t], some))
                want[place<WAY>(t)] = in[WAY == 7 ? place<WAY>(t) : t];
        int wrong = 0;
        for (unsigned t = 0; t < THREADS; t++) {
            T sum = want[place<NEXT>(t)];
            if (takes_part((unsigned)in[t + 1], some))
                sum += want[place<WAY>(t)] * 3;
            wrong += out[PLACES + t] != sum;
        }
        for (unsigned k = 0; k < PLACES; k++)
            wrong += out[k] != want[k];
        if (wrong != 0)
            printf("way %d and %d, %u bytes, some %u: %d wrong\n", WAY, NEXT, (unsigned)sizeof(T),
                   some, wrong);
        CHECK_EQ_INT(wrong, 0);
    }
    cudaFree(in);
    cudaFree(out);
}

template <class T> static void all(dim3 block)
{
    check<T, 0, 1>(block);
    check<T, 1, 2>(block);
    check<T, 2, 3>(block);
    check<T, 3, 4>(block);
    check<T, 4, 5>(block);
    check<T, 5, 6>(block);
    check<T, 6, 7>(block);
    check<T, 7, 8>(block);
    check<T, 8, 0>(block);
}

/* Fewer places than a window has, and the last ones. */
__global__ void at_the_end(int *out)
{
    __shared__ int part[66];
    unsigned t = threadIdx.x;
    part[t] = -(int)t;
    if (t < 2)
        part[64 + t] = 1000;
    __syncthreads();
    if (t < 33)
        part[2 * t + 1] += 7;
    __syncthreads();
    out[t] = part[65 - t];
    if (t < 2)
        out[64 + t] = part[1 - t];
}

int main()
{
    all<float>(THREADS);
    all<int>(dim3(16, 8));
    check<long long, 1, 3>(THREADS);
    check<unsigned short, 3, 0>(THREADS);
    int *out;
    cudaMallocManaged(&out, 66 * sizeof(int));
    at_the_end<<<1, 64>>>(out);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    for (int k = 0; k < 66; k++) {
        int at = 65 - k;
        CHECK_EQ_INT(out[k], (at < 64 ? -at : 1000) + (at % 2 != 0 ? 7 : 0));
    }
    return check_done();
}
