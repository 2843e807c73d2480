// CHECK: races
/* Memory that kernels allocate and free: a free comes before the allocation that gets the memory
 * again, and counts as a write. */
#include "races.h"

/* Blocks use the same memory one after the other, or at once. */
__global__ void shared_by_block(int *result, bool repaired)
{
    __shared__ int *p;
    int i = threadIdx.x, last = blockDim.x - 1;
    for (int round = 0; round < 3; round++) {
        if (i == 0)
            p = new int[blockDim.x];
        __syncthreads();
        p[i] = i; // @1 kernel write
        if (repaired)
            __syncthreads();
        result[blockIdx.x * blockDim.x + i] = p[last - i]; // @2 kernel read
        __syncthreads();
        if (i == 0)
            delete[] p;
        __syncthreads();
    }
}
CASE(allocated_by_one_thread_for_its_block) { shared_by_block<<<4, 64>>>(out, repaired); }

/* Objects of all sizes lie beside each other, in lines that several threads share. */
__global__ void sizes(int *p, bool repaired)
{
    int words = 3 + (int)(threadIdx.x % 7) * 4, sum = 0;
    for (int round = 0; round < 4; round++) {
        int *mine = (int *)malloc(words * sizeof(int));
        for (int i = 0; i < words; i++)
            mine[i] = (int)threadIdx.x * i + round;
        for (int i = 0; i < words; i++)
            sum += mine[i];
        free(mine);
    }
    p[repaired ? threadIdx.x + blockIdx.x * blockDim.x : threadIdx.x] = sum + (int)blockIdx.x; // @3 kernel write
}
CASE(each_thread_its_own) { sizes<<<4, 64>>>(d, repaired); }

/* Accesses as whole quads: all lanes' objects are one range of bytes, which is given back in pieces. */
__global__ void quads(int *p, bool repaired)
{
    int sum = 0;
    for (int round = 0; round < 4; round++) {
        int4 *mine = new int4;
        *mine = make_int4(round, (int)threadIdx.x, round, (int)threadIdx.x);
        sum += mine->x + mine->y;
        if ((threadIdx.x + round) % 3 != 0)
            delete mine;
    }
    p[repaired ? threadIdx.x + blockIdx.x * blockDim.x : threadIdx.x] = sum + (int)blockIdx.x; // @4 kernel write
}
CASE(objects_of_a_warp_in_one_line) { quads<<<4, 64>>>(d, repaired); }

/* Freed while others may still read it. */
__global__ void freed(int *result, bool repaired)
{
    __shared__ int *p;
    if (threadIdx.x == 0) {
        p = (int *)malloc(256 * sizeof(int));
        for (int i = 0; i < 256; i++)
            p[i] = i;
    }
    __syncthreads();
    result[threadIdx.x] = p[threadIdx.x]; // @5 kernel read
    if (repaired)
        __syncthreads();
    if (threadIdx.x == 0)
        free(p); // @6 kernel write
}
CASE(freed_while_others_read) { freed<<<1, 64>>>(out, repaired); }

/* Grids of two streams get the same memory, one thread frees what all have used. */
__global__ void used(int *result)
{
    __shared__ int *p;
    if (threadIdx.x == 0)
        p = new int[64];
    __syncthreads();
    p[threadIdx.x] = (int)threadIdx.x;
    __syncthreads();
    int seen = p[63 - threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 63)
        delete[] p;
    result[threadIdx.x] = seen; // @7 kernel write
}
CASE(heap_of_two_streams)
{
    used<<<1, 64, 0, a>>>(d);
    used<<<1, 64, 0, b>>>(repaired ? d + 64 : d);
}
