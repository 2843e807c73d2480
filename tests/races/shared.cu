// CHECK: races
/* Shared memory of a block: barriers that are missing or in the wrong place, warps without
 * __syncwarp. */
#include "races.h"

__global__ void neighbour(int *result, bool repaired)
{
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x; // @1 kernel write
    if (repaired)
        __syncthreads();
    result[threadIdx.x] = s[(threadIdx.x + 32) % 64]; // @2 kernel read
}
CASE(read_without_a_barrier) { neighbour<<<1, 64>>>(out, repaired); }

__global__ void rounds(int *result, bool repaired)
{
    __shared__ int s[64];
    for (int n = 0; n < 3; n++) {
        s[threadIdx.x] = n; // @3 kernel write
        __syncthreads();
        result[threadIdx.x] = s[63 - threadIdx.x]; // @4 kernel read
        if (repaired)
            __syncthreads();
    }
}
CASE(loop_without_the_second_barrier) { rounds<<<1, 64>>>(out, repaired); }

__global__ void reduction(int *result, bool repaired)
{
    __shared__ int s[128];
    s[threadIdx.x] = 1;
    __syncthreads();
    for (int step = 64; step > 0; step /= 2) {
        if ((int)threadIdx.x < step)
            s[threadIdx.x] += s[threadIdx.x + step]; // @5 kernel write // @6 kernel read
        if (repaired || step > 64)
            __syncthreads();
    }
    if (threadIdx.x == 0)
        *result = s[0];
}
CASE(reduction_without_barriers) { reduction<<<1, 128>>>(out, repaired); }

__global__ void histogram(const int *from, int *result, bool repaired)
{
    __shared__ int bins[4];
    if (threadIdx.x < 4)
        bins[threadIdx.x] = 0;
    __syncthreads();
    int bin = from[threadIdx.x] & 3;
    if (repaired)
        atomicAdd(&bins[bin], 1);
    else
        bins[bin] = bins[bin] + 1; // @7 kernel write
    __syncthreads();
    if (threadIdx.x < 4)
        result[threadIdx.x] = bins[threadIdx.x];
}
CASE(histogram_without_atomics)
{
    histogram<<<1, 64>>>(d, out, repaired); // SAYS make it an atomic function, where each changes
}

__global__ void atomics_and_a_read(int *result, bool repaired)
{
    __shared__ int count;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    atomicAdd(&count, 1); // @8 kernel atomic
    if (repaired)
        __syncthreads();
    result[threadIdx.x] = count; // @9 kernel read
}
CASE(read_of_what_others_add_to) { atomics_and_a_read<<<1, 64>>>(out, repaired); }

__global__ void initialised_by_one(int *result, bool repaired)
{
    __shared__ int start;
    if (threadIdx.x == 0)
        start = 5; // @10 kernel write
    if (repaired)
        __syncthreads();
    result[threadIdx.x] = start + threadIdx.x; // @11 kernel read
}
CASE(read_of_what_one_thread_sets) { initialised_by_one<<<1, 64>>>(out, repaired); }

__global__ void dynamic(int *result, bool repaired)
{
    extern __shared__ int tile[];
    tile[threadIdx.x] = 1; // @12 kernel write
    if (repaired)
        __syncthreads();
    result[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x]; // @13 kernel read
}
CASE(dynamic_shared_memory) { dynamic<<<1, 96, 96 * sizeof(int)>>>(out, repaired); }

__global__ void bytes(int *result, int overlap)
{
    __shared__ char s[130];
    s[threadIdx.x] = 1; // @14 kernel write
    __syncthreads();
    if (threadIdx.x < 32)
        s[threadIdx.x] = 2; // @15 kernel write
    else
        s[threadIdx.x + 32 - overlap] = 3; // @16 kernel write
    __syncthreads();
    result[threadIdx.x] = s[threadIdx.x];
}
CASE(bytes_of_two_warps) { bytes<<<1, 64>>>(out, repaired ? 0 : 33); }

__global__ void within_a_warp(int *result, bool repaired)
{
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x; // @17 kernel write
    if (repaired)
        __syncwarp();
    result[threadIdx.x] = s[31 - threadIdx.x]; // @18 kernel read
}
CASE(warp_without_syncwarp)
{
    within_a_warp<<<1, 32>>>(out, repaired); // SAYS __syncwarp\) between .*, or all threads of the block \(__syncthreads\)
}

__global__ void warp_reduction(int *result, bool repaired)
{
    __shared__ int s[32];
    s[threadIdx.x] = 1;
    __syncwarp();
    for (int step = 16; step > 0; step /= 2) {
        int v = 0;
        if ((int)threadIdx.x < step)
            v = s[threadIdx.x + step]; // @19? kernel read
        if (repaired)
            __syncwarp();
        if ((int)threadIdx.x < step)
            s[threadIdx.x] += v; // @20 kernel write
        if (repaired)
            __syncwarp();
    }
    if (threadIdx.x == 0)
        *result = s[0];
}
CASE(warp_reduction_without_syncwarp) { warp_reduction<<<1, 32>>>(out, repaired); }

/* A barrier of the warp does not order other warps. */
__global__ void warp_barrier_for_a_block(int *result, bool repaired)
{
    __shared__ int s[64];
    s[threadIdx.x] = 1; // @21 kernel write
    if (repaired)
        __syncthreads();
    else
        __syncwarp();
    result[threadIdx.x] = s[63 - threadIdx.x]; // @22 kernel read
}
CASE(syncwarp_for_a_block) { warp_barrier_for_a_block<<<1, 64>>>(out, repaired); }

/* Nor does a fence order anything by itself. */
__global__ void fenced(int *result, bool repaired)
{
    __shared__ int s[64];
    s[threadIdx.x] = 1; // @23 kernel write
    __threadfence_block();
    if (repaired)
        __syncthreads();
    result[threadIdx.x] = s[63 - threadIdx.x]; // @24 kernel read
}
CASE(fence_for_a_barrier) { fenced<<<1, 64>>>(out, repaired); }

/* Half of the block meets at a barrier of its own. */
__global__ void named(int *result, bool repaired)
{
    __shared__ int s[128];
    s[threadIdx.x] = 1; // @25 kernel write
    if (repaired)
        asm volatile("bar.sync 0;" ::: "memory");
    else
        asm volatile("bar.sync %0, 64;" ::"r"(1 + (int)threadIdx.x / 64) : "memory");
    result[threadIdx.x] = s[127 - threadIdx.x]; // @26 kernel read
}
CASE(barriers_of_halves) { named<<<1, 128>>>(out, repaired); }

__global__ void counted(int *result, bool repaired)
{
    __shared__ int s[64];
    s[threadIdx.x] = 1; // @27 kernel write
    int n = repaired ? __syncthreads_count(threadIdx.x & 1) : 1;
    result[threadIdx.x] = n + s[63 - threadIdx.x]; // @28 kernel read
}
CASE(barrier_that_counts) { counted<<<1, 64>>>(out, repaired); }

__global__ void transposed(const int *from, int *result, bool repaired)
{
    __shared__ int tile[16][17];
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    tile[y][x] = from[threadIdx.x]; // @29 kernel write
    if (repaired)
        __syncthreads();
    result[threadIdx.x] = tile[x][y]; // @30 kernel read
}
CASE(transposed_tile) { transposed<<<1, 256>>>(d, out, repaired); }

__global__ void vectors(int *result, bool repaired)
{
    __shared__ int4 s[64];
    s[threadIdx.x] = make_int4(1, 2, 3, 4); // @31 kernel write
    if (repaired)
        __syncthreads();
    result[threadIdx.x] = s[(threadIdx.x + 33) % 64].z; // @32 kernel read
}
CASE(vector_accesses) { vectors<<<1, 64>>>(out, repaired); }

/* Loads of one line that follow each other are told of by one call: each of them counts. */
__global__ void unrolled(int *result, bool repaired)
{
    __shared__ int tile[4][32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, sum = 0;
    tile[warp][lane] = lane;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 4; k++)
        sum += tile[k][lane]; // @33 kernel read
    if (repaired)
        __syncthreads();
    if (warp == 1)
        tile[3][lane] = sum; // @34 kernel write
    __syncthreads();
    result[threadIdx.x] = tile[warp][lane];
}
CASE(unrolled_reads_of_a_tile) { unrolled<<<1, 128>>>(out, repaired); }

/* Words of a row that all lanes read, of which another warp writes the last. */
__global__ void broadcast(int *result, bool repaired)
{
    __shared__ int row[8];
    int sum = 0;
    if (threadIdx.x < 8)
        row[threadIdx.x] = threadIdx.x;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; k++)
        sum += row[k]; // @35 kernel read
    if (repaired)
        __syncthreads();
    if (threadIdx.x == 40)
        row[7] = sum; // @36 kernel write
    result[threadIdx.x] = sum;
}
CASE(unrolled_reads_of_a_row) { broadcast<<<1, 64>>>(out, repaired); }

/* What so many warps have read that one more tells nothing is still looked at when it is written. */
__global__ void read_by_all(int *result, bool repaired)
{
    __shared__ int s[32];
    int sum = 0;
    if (threadIdx.x < 32)
        s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    for (int turn = 0; turn < 4; turn++)
        sum += s[(threadIdx.x + turn) % 32]; // @37 kernel read
    if (repaired)
        __syncthreads();
    if (threadIdx.x == 200)
        s[5] = sum; // @38 kernel write
    result[threadIdx.x] = sum;
}
CASE(written_after_all_have_read) { read_by_all<<<1, 256>>>(out, repaired); }
