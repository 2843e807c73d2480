/* K2.7: minima and maxima of unsigned numbers are unsigned in every scope, in global and in shared
 * memory, and so is what they give back.
 */
// RUN baseline: WEIR_JIT=baseline
// RUN 256: WEIR_VECTORS=256
#include "check.h"

typedef unsigned long long u64;

enum { THREADS = 96, PLACES = 6 };

template <class T> __device__ void all(T *at, T v, int *wrong)
{
    T old[PLACES] = {atomicMin(&at[0], v), atomicMin_block(&at[1], v), atomicMin_system(&at[2], v),
                     atomicMax(&at[3], v), atomicMax_block(&at[4], v), atomicMax_system(&at[5], v)};
    for (int k = 0; k < PLACES; k++) /* what was there before is on the side where it began */
        if (k < 3 ? old[k] < at[k] : old[k] > at[k])
            atomicAdd(wrong, 1);
}

template <class T> __global__ void kernel(T *out, const T *in, int *wrong)
{
    __shared__ T at[PLACES];
    unsigned t = threadIdx.x;
    if (t < PLACES)
        at[t] = out[t];
    __syncthreads();
    all(at, in[t], wrong);
    all(out, in[t], wrong);
    __syncthreads();
    if (t < PLACES)
        out[PLACES + t] = at[t];
}

template <class T> static void test(T smallest, T largest)
{
    T *out, *in;
    int *wrong;
    CHECK(cudaMallocManaged(&out, 2 * PLACES * sizeof(T)) == cudaSuccess);
    CHECK(cudaMallocManaged(&in, THREADS * sizeof(T)) == cudaSuccess);
    CHECK(cudaMallocManaged(&wrong, sizeof(int)) == cudaSuccess);
    *wrong = 0;
    for (int k = 0; k < PLACES; k++)
        out[k] = k < 3 ? (T) ~(T)0 : (T)0;
    for (unsigned t = 0; t < THREADS; t++)
        in[t] = smallest + (largest - smallest) / (THREADS - 1) * ((t * 37) % THREADS);
    T most = in[0];
    for (unsigned t = 0; t < THREADS; t++)
        most = in[t] > most ? in[t] : most;
    kernel<T><<<1, THREADS>>>(out, in, wrong);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    for (int k = 0; k < 2 * PLACES; k++)
        CHECK(out[k] == (k % PLACES < 3 ? smallest : most));
    CHECK(*wrong == 0);
    cudaFree(out);
    cudaFree(in);
    cudaFree(wrong);
}

int main()
{
    test<unsigned>(0x7ffffff0u, 0x90000000u);
    test<unsigned>(5u, 0xfffffff0u);
    test<u64>(0x7ffffffffffffff0ull, 0x9000000000000000ull);
    test<u64>(5ull, 0xfffffffffffffff0ull);
    return check_done();
}
