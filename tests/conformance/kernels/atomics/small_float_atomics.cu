// FLAGS: -arch=sm_75
// RUN whole: WEIR_JIT=optimizing
/* K2: atomicAdd of half, bfloat16 and their pairs below the architectures that have instructions
 * for them: each element is added to atomically, and its neighbour is not touched. Pairs are
 * assigned from braces. What nvcc declares before the first line of a file is declared here, and
 * `register` is a word of the language. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "check.h"

enum { THREADS = 96, BLOCKS = 3 };

template <class T, class T2> __global__ void add(T *elements, T2 *pairs, T one, T two)
{
    register int at = threadIdx.x % 3;
    atomicAdd(&elements[at], at == 1 ? two : one);
    T2 v;
    v = {one, two};
    atomicAdd(&pairs[threadIdx.x & 1], v);
}

template <class T, class T2> static void sums(T one, T two)
{
    T *elements;
    T2 *pairs;
    CHECK_EQ_INT(cudaMallocManaged(&elements, 4 * sizeof *elements), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&pairs, 2 * sizeof *pairs), cudaSuccess);
    CHECK_EQ_INT(cudaMemset(elements, 0, 4 * sizeof *elements), cudaSuccess);
    CHECK_EQ_INT(cudaMemset(pairs, 0, 2 * sizeof *pairs), cudaSuccess);
    add<<<BLOCKS, THREADS>>>(elements, pairs, one, two);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < 4; i++)
        CHECK_EQ_INT((float)elements[i], (i == 3 ? 0 : i == 1 ? 2 : 1) * BLOCKS * THREADS / 3);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ_INT((float)pairs[i].x, BLOCKS * THREADS / 2);
        CHECK_EQ_INT((float)pairs[i].y, BLOCKS * THREADS);
    }
    pairs[0] = {two, one};
    pairs[1] = {};
    CHECK_EQ_INT((float)pairs[0].x, 2);
    CHECK_EQ_INT((float)pairs[1].y, 0);
    cudaFree(elements);
    cudaFree(pairs);
}

int main()
{
    register int begun = 0;
    time_t now = time(NULL);
    clock_t used = clock();
    CHECK(now > 0 && used >= 0 && begun == 0 && isdigit('7'));
    sums<__half, __half2>(__float2half(1), __float2half(2));
    /* multiples of a small power of two: sums of few bits are exact in 8 */
    sums<__nv_bfloat16, __nv_bfloat162>(__float2bfloat16(1), __float2bfloat16(2));
    return check_done();
}
