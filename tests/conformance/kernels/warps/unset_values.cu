/* K2: lanes may pass values that they have not set to a shuffle that reads another lane's: one lane
 * adds for all of its warp and the others get its result, as in warp-aggregated atomics. */
#include <cstdio>

#include "check.h"

template <class T> __device__ T from_lane(T value, int lane)
{
    return __shfl_sync(__activemask(), value, lane);
}

template <class F> __device__ int by_one_lane(F f, unsigned leader)
{
    int result;
    if (threadIdx.x % 32 == leader)
        result = f();
    return from_lane(result, (int)leader);
}

__global__ void count(int *counter, int *places)
{
    if (threadIdx.x % 3 == 0)
        return;
    unsigned lanes = __activemask();
    int first = by_one_lane([&] { return atomicAdd(counter, __popc(lanes)); }, __ffs(lanes) - 1);
    places[threadIdx.x] = first + __popc(lanes & ((1u << threadIdx.x % 32) - 1));
}

int main()
{
    enum { THREADS = 96 };
    int *counter;
    CHECK_EQ_INT(cudaMallocManaged(&counter, (1 + THREADS) * sizeof(int)), cudaSuccess);
    *counter = 0;
    count<<<1, THREADS>>>(counter, counter + 1);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ_INT(*counter, THREADS / 3 * 2);
    int seen[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        if (i % 3 != 0)
            seen[counter[1 + i] % THREADS]++;
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ_INT(seen[i], i < THREADS / 3 * 2);
    cudaFree(counter);
    return check_done();
}
