/* Barriers and operations of warps that not all come to. */
// CHECK: sync
#include "checks.h"

__global__ void right(int *out)
{
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    int v = __shfl_down_sync(0xffffffff, s[63 - threadIdx.x], 1);
    if (threadIdx.x % 2 == 0)
        v += __shfl_xor_sync(0x55555555, v, 2);
    __syncwarp();
    v += __reduce_add_sync(0xffffffff, 1);
    if (threadIdx.x < 32)
        v += __ballot_sync(__activemask(), v > 3);
    __syncthreads();
    out[threadIdx.x] = v;
}

/* Between barriers is nothing that needs to know which warp runs, but the check. */
__global__ void odd(int *out)
{
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    int v = s[0] + s[1];
    __syncthreads();
    s[threadIdx.x] = v;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}

__global__ void diverged(int *out)
{
    if (threadIdx.x < 16)
        __syncthreads(); // of barrier_in_a_branch
    else
        out[threadIdx.x] = 1;
    out[threadIdx.x] = 2;
}

__global__ void not_member(int *out)
{
    out[threadIdx.x] = __shfl_sync(0x0000ffff, threadIdx.x, 0); // of mask_without_the_thread
}

__global__ void elsewhere(int *out)
{
    if (threadIdx.x < 8)
        out[threadIdx.x] = __ballot_sync(0x0000ffff, 1); // of mask_of_threads_elsewhere
    else if (threadIdx.x < 16)
        out[threadIdx.x] = __ballot_sync(0x0000ffff, threadIdx.x == 9); // the other one
}

__global__ void ended(int *out)
{
    if (threadIdx.x >= 8)
        return;
    __syncwarp(0x00000fff); // of mask_of_threads_that_ended
    out[threadIdx.x] = 1;
}

__global__ void counts(int *out)
{
    if (threadIdx.x < 32)
        asm volatile("bar.arrive 3, 96;" ::: "memory");
    else
        asm volatile("bar.sync 3, 64;" ::: "memory"); // of other_counts
    out[threadIdx.x] = 1;
}

__global__ void named(int *out)
{
    if (threadIdx.x < 32)
        asm volatile("bar.arrive 3, 64;" ::: "memory");
    else
        asm volatile("bar.sync 3, 64;" ::: "memory");
    out[threadIdx.x] = 1;
}

__global__ void early(int *out)
{
    if (threadIdx.x >= 40)
        return;
    out[threadIdx.x] = __shfl_sync(0xffffffff, threadIdx.x, 0);
}

/* Warps of one block at two barriers: on each GPU so far it goes on, and no rule says that it
 * must. */
__global__ void two_places(int *out)
{
    if (threadIdx.x < 32) {
        out[threadIdx.x] = 1;
        __syncthreads(); // of barriers_of_two_branches
    } else {
        out[threadIdx.x] = 2;
        __syncthreads(); // the other one
    }
    out[threadIdx.x] += out[63 - threadIdx.x];
}

/* Here a loop of some warps is longer: the last of them wait with those that have left it. */
__global__ void longer(int *out)
{
    int rounds = threadIdx.x < 32 ? 3 : 2;
    for (int i = 0; i < rounds; i++) {
        out[threadIdx.x] = i;
        __syncthreads(); // of loop_of_some_warps
    }
    if (threadIdx.x >= 32)
        __syncthreads(); // after it
    out[threadIdx.x] += 1;
}

/* All warps come to the same ones: in a loop, by a choice of the whole block; and a barrier that is
 * not aligned may be any. */
__global__ void same_places(int *out, int which)
{
    __shared__ int s;
    for (int i = 0; i < 5; i++) {
        if (threadIdx.x == 0)
            s = i;
        __syncthreads();
        if (s % 2 == which)
            __syncthreads();
        else
            out[threadIdx.x] = s;
        __syncthreads();
    }
    if (threadIdx.x < 32)
        asm volatile("barrier.sync 0;" ::: "memory");
    else
        asm volatile("barrier.sync 0;" ::: "memory");
    out[threadIdx.x] = 1;
}

static int *out()
{
    int *p;
    DO(cudaMalloc(&p, 64 * sizeof *p));
    return p;
}

CASE(all_come)
{
    right<<<2, 64>>>(out());
    named<<<2, 64>>>(out());
    odd<<<1, 33>>>(out());
    DO(cudaDeviceSynchronize());
}

CASE(early_return)
{
    early<<<1, 48>>>(out()); // the mask of all names whoever is there
    DO(cudaDeviceSynchronize());
}

CASE(barrier_in_a_branch)
{
    diverged<<<1, 32>>>(out()); // EXPECT synchronization: in kernel diverged\(int\*\), block \(0,0,0\), thread \(0,0,0\) at \S*sync.cu:37: barrier that not all threads reach: lanes 0 to 15 of the warp came to it together, and not lanes 16 to 31
    DO(cudaDeviceSynchronize());
}

CASE(mask_without_the_thread)
{
    not_member<<<1, 32>>>(out()); // EXPECT synchronization: in kernel not_member.*thread \(16,0,0\) at \S*sync.cu:45: operation of a warp by a thread that its mask 0x0000ffff does not name
    DO(cudaDeviceSynchronize());
}

CASE(mask_of_threads_elsewhere)
{
    elsewhere<<<1, 32>>>(out()); // EXPECT synchronization: in kernel elsewhere.* at \S*sync.cu:5[13]: operation of a warp whose mask names threads that are elsewhere: lanes (0 to 7|8 to 15)
    /* The other ones come when the first are gone: */ // EXPECT synchronization: in kernel elsewhere.* at \S*sync.cu:5[13]: operation of a warp whose mask names threads that have ended or never were: lanes (0 to 7|8 to 15)
    DO(cudaDeviceSynchronize());
}

CASE(mask_of_threads_that_ended)
{
    ended<<<1, 32>>>(out()); // EXPECT synchronization: in kernel ended.*: operation of a warp whose mask names threads that have ended or never were: lanes 8 to 11
    DO(cudaDeviceSynchronize());
}

CASE(other_counts)
{
    counts<<<1, 64>>>(out()); // EXPECT synchronization: in kernel counts.* at \S*sync.cu:\d+: barrier 3 for (64|96) threads, for which the first to come said (96|64)
    DO(cudaDeviceSynchronize());
}

CASE(barriers_of_two_branches)
{
    two_places<<<2, 64>>>(out()); // EXPECT synchronization: in kernel two_places.*, block \([01],0,0\), thread \(0,0,0\) at \S*sync.cu:95: barrier at which some threads of the block wait, while others wait at another one: thread \(32,0,0\) at \S*sync.cu:98
    DO(cudaDeviceSynchronize());
}

CASE(loop_of_some_warps)
{
    longer<<<1, 64>>>(out()); // EXPECT synchronization: in kernel longer.* at \S*sync.cu:109: barrier at which some threads of the block wait, while others wait at another one: thread \(32,0,0\) at \S*sync.cu:112
    DO(cudaDeviceSynchronize());
}

CASE(same_barriers)
{
    same_places<<<3, 64>>>(out(), 1);
    DO(cudaDeviceSynchronize());
}
