/* K2.4: alloca beside functions that are recursive or called through pointers: what it takes stays
 * until its function returns, whatever is called meanwhile, each thread its own amount. */
#include "check.h"

enum { THREADS = 96, DEPTH = 5 };

/* Calls itself with memory of an amount of the thread's own, and looks whether it is as it was. */
__device__ __noinline__ int nested(int depth, int seed)
{
    int n = (seed * 7 + depth * 3) % 9 + 1;
    int local[3] = {seed, depth, n};
    int *taken = (int *)alloca(n * sizeof(int));
    for (int i = 0; i < n; i++)
        taken[i] = seed * 100 + depth * 10 + i;
    int wrong = 0;
    if (depth > 0)
        wrong = nested(depth - 1, seed + 1) +
                (seed % 3 == 0 ? nested(depth - 2 < 0 ? 0 : depth - 2, seed + 2) : 0);
    for (int i = 0; i < n; i++)
        wrong += taken[i] != seed * 100 + depth * 10 + i;
    return wrong + (local[seed % 3] != (seed % 3 == 0 ? seed : seed % 3 == 1 ? depth : n));
}

__global__ void recursive(int *wrong)
{
    int t = threadIdx.x, n = t % 5 + 1;
    int *taken = (int *)alloca(n * sizeof(int));
    for (int i = 0; i < n; i++)
        taken[i] = t + i;
    wrong[t] = nested(t % DEPTH, t);
    for (int i = 0; i < n; i++)
        wrong[t] += taken[i] != t + i;
    wrong[t] += nested(2, t + 1);
}

/* Functions by pointers, which get memory of their callers. */
__device__ __noinline__ int sum(const int *v, int n)
{
    int *copy = (int *)alloca((n + 1) * sizeof(int));
    int s = 0;
    for (int i = 0; i < n; i++)
        copy[i] = v[n - 1 - i];
    for (int i = 0; i < n; i++)
        s += copy[i];
    return s;
}
__device__ __noinline__ int most(const int *v, int n)
{
    int m = v[0];
    for (int i = 1; i < n; i++)
        m = v[i] > m ? v[i] : m;
    return m;
}
typedef int (*function)(const int *, int);
__device__ function functions[] = {sum, most};

__global__ void by_pointer(int *out)
{
    int t = threadIdx.x, n = t % 11 + 1;
    int *taken = (int *)alloca(n * sizeof(int));
    for (int i = 0; i < n; i++)
        taken[i] = t * i;
    out[t] = functions[t & 1](taken, n) * 2;
    out[t] += functions[(t >> 1) & 1](taken, n);
}

/* Where a function that calls itself waits at barriers, each warp has a stack of its own. */
__device__ __noinline__ int waits(int depth, int *shared)
{
    int n = threadIdx.x % 4 + 1;
    int *taken = (int *)alloca(n * sizeof(int));
    for (int i = 0; i < n; i++)
        taken[i] = depth * 1000 + threadIdx.x;
    shared[threadIdx.x] = taken[n - 1];
    __syncthreads();
    int other = shared[(threadIdx.x + 1) % THREADS];
    __syncthreads();
    int rest = depth > 0 ? waits(depth - 1, shared) : 0;
    return rest + (taken[n - 1] == depth * 1000 + (int)threadIdx.x) +
           (other == depth * 1000 + (int)(threadIdx.x + 1) % THREADS);
}

__global__ void with_barriers(int *out)
{
    __shared__ int shared[THREADS];
    out[threadIdx.x] = waits(3, shared);
}

/* More than there is. */
__global__ void too_deep(int *wrong) { wrong[threadIdx.x] = nested(100, threadIdx.x); }

int main()
{
    int *p, got[THREADS], values[11];
    cudaMalloc(&p, sizeof got);
    recursive<<<1, THREADS>>>(p);
    CHECK_EQ_INT(cudaMemcpy(got, p, sizeof got, cudaMemcpyDeviceToHost), cudaSuccess);
    for (int t = 0; t < THREADS; t++)
        CHECK_EQ_INT(got[t], 0);
    by_pointer<<<1, THREADS>>>(p);
    CHECK_EQ_INT(cudaMemcpy(got, p, sizeof got, cudaMemcpyDeviceToHost), cudaSuccess);
    for (int t = 0; t < THREADS; t++) {
        int n = t % 11 + 1, all = 0;
        for (int i = 0; i < n; i++)
            all += values[i] = t * i;
        int results[] = {all, values[n - 1]};
        CHECK_EQ_INT(got[t], results[t & 1] * 2 + results[(t >> 1) & 1]);
    }
    with_barriers<<<1, THREADS>>>(p);
    CHECK_EQ_INT(cudaMemcpy(got, p, sizeof got, cudaMemcpyDeviceToHost), cudaSuccess);
    for (int t = 0; t < THREADS; t++)
        CHECK_EQ_INT(got[t], 8);
    too_deep<<<1, THREADS>>>(p);
    CHECK(cudaDeviceSynchronize() != cudaSuccess);
    return check_done();
}
