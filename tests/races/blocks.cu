// CHECK: races
/* Global memory within one grid: threads and blocks without atomics, fences and flags, scopes. */
#include "races.h"

#include <cuda/atomic>

__global__ void one_word(int *p, bool repaired)
{
    if (repaired)
        atomicExch(p, (int)blockIdx.x);
    else
        *p = blockIdx.x; // @1 kernel write
}
CASE(blocks_write_one_word) { one_word<<<4, 1>>>(d, repaired); }

__global__ void count_up(int *p, bool repaired)
{
    if (repaired)
        atomicAdd(p, 1);
    else
        *p += 1; // @2 kernel write
}
CASE(blocks_count_without_atomics) { count_up<<<4, 32>>>(d, repaired); }

__global__ void stencil(int *p, bool repaired, const int *from)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int left = i > 0 ? (repaired ? from : p)[i - 1] : 0; // @3 kernel read
    p[i] = left + 1; // @4 kernel write
}
CASE(stencil_in_place) { stencil<<<4, 64>>>(d, repaired, d2); }

__global__ void halo(int *p, int extra)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    if ((int)threadIdx.x < 32 + extra)
        p[i] = blockIdx.x; // @5 kernel write
}
CASE(blocks_overlap_by_one) { halo<<<4, 64>>>(d, repaired ? 0 : 1); }

__global__ void mixed(int *p, int *result, bool repaired)
{
    if (repaired)
        result[blockIdx.x] = atomicAdd(p, 0);
    else
        result[blockIdx.x] = *p; // @6 kernel read
    atomicAdd(p, 1); // @7 kernel atomic
}
CASE(plain_reads_of_what_blocks_add_to) { mixed<<<4, 1>>>(d, out, repaired); }

/* Atomics at the scope of the block do not order blocks among themselves. */
__global__ void block_scope(int *p, bool repaired)
{
    if (repaired)
        atomicAdd(p, 1);
    else
        atomicAdd_block(p, 1); // @8 kernel atomic
}
CASE(atomics_of_block_scope) { block_scope<<<4, 32>>>(d, repaired); }

__global__ void scoped(int *p, bool repaired)
{
    cuda::atomic_ref<int, cuda::thread_scope_block> here(*p);
    cuda::atomic_ref<int, cuda::thread_scope_device> everywhere(*p);
    if (repaired)
        everywhere.fetch_add(1, cuda::memory_order_relaxed);
    else
        here.fetch_add(1, cuda::memory_order_relaxed); // @9 kernel atomic
}
CASE(atomic_ref_of_block_scope) { scoped<<<4, 32>>>(d, repaired); }

/* The last block sums what all have written: it must have a fence before it counts. */
__global__ void last_block(int *parts, int *count, int *result, bool repaired)
{
    parts[blockIdx.x] = 1; // @10 kernel write
    if (repaired)
        __threadfence();
    if (atomicAdd(count, 1) == (int)gridDim.x - 1) {
        if (repaired)
            __threadfence();
        int s = 0;
        for (unsigned i = 0; i < gridDim.x; i++)
            s += parts[i]; // @11 kernel read
        *result = s;
    }
}
CASE(last_block_without_fences) { last_block<<<4, 1>>>(d, d2, out, repaired); }

/* One thread counts, all threads of the last block read after a barrier: the fence after it may be
 * any reader's own, as it comes after what the counting thread has read. */
__global__ void last_block_barrier(int *parts, int *count, int *result, bool repaired)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = 1; // @24 kernel write
        __threadfence();
        last = atomicInc((unsigned *)count, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        if (repaired)
            __threadfence();
        result[threadIdx.x] = parts[(threadIdx.x + 1) % gridDim.x]; // @25 kernel read
    }
}
CASE(last_block_fence_after_a_barrier) { last_block_barrier<<<4, 64>>>(d, d2, out, repaired); }

/* The fence of one thread after the barrier orders those that meet it at another barrier. */
__global__ void last_block_two(int *parts, int *count, int *result, bool repaired)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = 1; // @26 kernel write
        __threadfence();
        last = atomicAdd(count, 1) == (int)gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        if (threadIdx.x == 32)
            __threadfence();
        if (repaired)
            __syncthreads();
        if (threadIdx.x != 32)
            result[threadIdx.x] = parts[(threadIdx.x + 1) % gridDim.x]; // @27 kernel read
    }
}
CASE(last_block_fence_of_one_thread) { last_block_two<<<4, 64>>>(d, d2, out, repaired); }

/* Whoever counts last has seen the others count, and may set the counter back without an atomic, as
 * may those that come after it by a barrier. */
__global__ void last_block_resets(unsigned *count, int *result, bool repaired)
{
    __shared__ bool last;
    if (!repaired && blockIdx.x == 1)
        *count = 0; // @32 kernel write
    if (threadIdx.x == 0)
        last = atomicInc(count, 2 * gridDim.x) == gridDim.x - 1; // @33 kernel atomic
    __syncthreads();
    if (last && repaired && threadIdx.x == 31)
        *count = 0;
}
CASE(last_block_resets_the_counter) { last_block_resets<<<8, 32>>>((unsigned *)d, out, repaired); }

/* The same where lines are kept by word: next to the counter is what the blocks write. */
__global__ void last_block_resets_one(unsigned *count, int *words, bool repaired)
{
    for (int i = threadIdx.x; i < 28; i += 3)
        words[4 + i] = 1;
    if (threadIdx.x == 0) {
        /* Not by the block's number: whichever it is may come last. */
        unsigned before = atomicAdd(count, 1); // @35 kernel atomic
        if (before == (repaired ? gridDim.x - 1 : 1))
            *count = 0; // @34 kernel write
    }
}
CASE(a_block_that_is_not_the_last_resets)
{
    last_block_resets_one<<<64, 3>>>((unsigned *)d, d, repaired);
}

/* A fence of the block orders no other block, wherever it stands. */
__global__ void last_block_scope(int *parts, int *count, int *result, bool repaired)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = 1; // @28 kernel write
        __threadfence();
        last = atomicAdd(count, 1) == (int)gridDim.x - 1;
    }
    __syncthreads();
    if (repaired)
        __threadfence();
    else
        __threadfence_block();
    if (last)
        result[threadIdx.x] = parts[(threadIdx.x + 1) % gridDim.x]; // @29 kernel read
}
CASE(last_block_fence_of_block_scope) { last_block_scope<<<4, 64>>>(d, d2, out, repaired); }

/* A lane counts, another lane of its warp reads. */
__global__ void last_warp(int *parts, int *count, int *result, bool repaired)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = 1; // @30 kernel write
        __threadfence();
        last = atomicAdd(count, 1) == (int)gridDim.x - 1;
    }
    __syncwarp();
    if (last && threadIdx.x == 7) {
        if (repaired)
            __threadfence();
        *result = parts[(blockIdx.x + 1) % gridDim.x]; // @31 kernel read
    }
}
CASE(last_warp_fence_after_syncwarp) { last_warp<<<4, 32>>>(d, d2, out, repaired); }

/* Release and acquire at the scope of the device, or of the block. */
template <cuda::thread_scope SCOPE> __device__ void hand_over(int *data, int *flag, int *result)
{
    cuda::atomic_ref<int, SCOPE> f(*flag);
    if (blockIdx.x == 0) {
        *data = 42; // @12 kernel write
        f.store(1, cuda::memory_order_release); // @12? kernel atomic
    } else {
        while (f.load(cuda::memory_order_acquire) == 0) // @13? kernel atomic
            ;
        *result = *data; // @13 kernel read
    }
}
__global__ void flag(int *data, int *flag, int *result, bool repaired)
{
    if (repaired)
        hand_over<cuda::thread_scope_device>(data, flag, result);
    else
        hand_over<cuda::thread_scope_block>(data, flag, result);
}
CASE(release_at_block_scope) { flag<<<2, 1>>>(d, d2, out, repaired); }

__global__ void relaxed_flag(int *data, int *flag, int *result, bool repaired)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
    if (blockIdx.x == 0) {
        *data = 42; // @14 kernel write
        if (repaired)
            f.store(1, cuda::memory_order_release);
        else
            f.store(1, cuda::memory_order_relaxed);
    } else {
        while (f.load(cuda::memory_order_acquire) == 0)
            ;
        *result = *data; // @15 kernel read
    }
}
CASE(relaxed_store_of_a_flag) { relaxed_flag<<<2, 1>>>(d, d2, out, repaired); }

__global__ void volatile_flag(int *data, int *flag, int *result, bool repaired)
{
    if (blockIdx.x == 0) {
        *data = 42; // @16 kernel write
        if (repaired)
            __threadfence();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0)
            ;
        if (repaired)
            __threadfence();
        *result = *data; // @17 kernel read
    }
}
CASE(flag_without_fences) { volatile_flag<<<2, 1>>>(d, d2, out, repaired); }

/* A barrier of the block orders its threads in global memory, too, and no other block's. */
__global__ void barrier_and_global(int *p, int *result, bool repaired)
{
    p[blockIdx.x * 64 + threadIdx.x] = 1; // @18 kernel write
    if (repaired)
        __syncthreads();
    result[blockIdx.x * 64 + threadIdx.x] = p[blockIdx.x * 64 + 63 - threadIdx.x]; // @19 kernel read
}
CASE(global_memory_of_a_block) { barrier_and_global<<<2, 64>>>(d, out, repaired); }

__global__ void barrier_is_no_grid_barrier(int *p, int *result, bool repaired)
{
    int i = blockIdx.x * 64 + threadIdx.x, there = repaired ? i : 127 - i;
    p[i] = 1; // @20 kernel write
    __syncthreads();
    result[i] = p[there]; // @21 kernel read
}
CASE(barrier_between_blocks) { barrier_is_no_grid_barrier<<<2, 64>>>(d, out, repaired); }

__device__ int variable;
__global__ void to_variable(bool repaired)
{
    if (!repaired || blockIdx.x == 0)
        variable = blockIdx.x; // @22 kernel write
}
CASE(variable_of_the_module)
{
    to_variable<<<2, 1>>>(repaired); // SAYS bytes 0 to 3 of the 4 bytes of variable variable
}

__global__ void lanes(int *p, bool repaired)
{
    p[repaired ? threadIdx.x : threadIdx.x / 2] = threadIdx.x; // @23 kernel write
}
CASE(lanes_write_one_word) { lanes<<<1, 32>>>(d, repaired); }
