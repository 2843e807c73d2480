// CHECK: races
/* Grids whose blocks meet, clusters, barrier objects, asynchronous copies into shared memory. */
#include "races.h"

#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

__global__ void grid_barrier(int *p, int *result, bool repaired)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    p[i] = 1; // @1 kernel write
    if (repaired)
        cg::this_grid().sync();
    result[i] = p[63 - i]; // @2 kernel read
}
CASE(grid_without_its_barrier)
{
    void *args[] = {&d, &out, &repaired};
    DO(cudaLaunchCooperativeKernel((void *)grid_barrier, dim3(2), dim3(32), args, 0, 0));
}

__global__ void grid_rounds(int *p, int *q, bool repaired)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    for (int n = 0; n < 2; n++) {
        p[i] = q[63 - i]; // @3 kernel read
        cg::this_grid().sync();
        q[i] = p[i] + 1; // @4 kernel write
        if (repaired)
            cg::this_grid().sync();
    }
}
CASE(grid_without_its_second_barrier)
{
    void *args[] = {&d, &d2, &repaired};
    DO(cudaLaunchCooperativeKernel((void *)grid_rounds, dim3(2), dim3(32), args, 0, 0));
}

__global__ void __cluster_dims__(2, 1, 1) cluster_barrier(int *result, bool repaired)
{
    __shared__ int s[32];
    cg::cluster_group cluster = cg::this_cluster();
    s[threadIdx.x] = cluster.block_rank(); // @5 kernel write
    if (repaired)
        cluster.sync();
    int *there = cluster.map_shared_rank(s, 1 - cluster.block_rank());
    result[blockIdx.x * 32 + threadIdx.x] = there[threadIdx.x]; // @6 kernel read
    cluster.sync();
}
CASE(cluster_without_its_barrier) { cluster_barrier<<<2, 32>>>(out, repaired); }

__global__ void tile_of_a_warp(int *result, bool repaired)
{
    __shared__ int s[32];
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    s[threadIdx.x] = 1; // @7 kernel write
    if (repaired)
        tile.sync();
    result[threadIdx.x] = s[threadIdx.x / 16 * 16 + 15 - tile.thread_rank()]; // @8 kernel read
}
CASE(tile_without_its_barrier) { tile_of_a_warp<<<1, 32>>>(out, repaired); }

__global__ void barrier_object(int *result, bool repaired)
{
    using barrier_t = cuda::barrier<cuda::thread_scope_block>;
    __shared__ barrier_t bar;
    __shared__ int s[64];
    if (threadIdx.x == 0)
        init(&bar, 64);
    __syncthreads();
    s[threadIdx.x] = 1; // @9 kernel write
    auto token = bar.arrive();
    if (repaired)
        bar.wait(std::move(token));
    result[threadIdx.x] = s[63 - threadIdx.x]; // @10 kernel read
}
CASE(barrier_object_without_a_wait) { barrier_object<<<1, 64>>>(out, repaired); }

__global__ void asynchronous_copy(const int *from, int *result, bool repaired)
{
    __shared__ int s[32];
    __pipeline_memcpy_async(&s[threadIdx.x], &from[threadIdx.x], 4); // @11 kernel write
    __pipeline_commit();
    if (repaired)
        __pipeline_wait_prior(0);
    result[threadIdx.x] = s[threadIdx.x]; // @12 kernel read
}
CASE(asynchronous_copy_without_a_wait) { asynchronous_copy<<<1, 32>>>(d, out, repaired); }

/* The wait is each thread's own: others' copies need a barrier, too. */
__global__ void copies_of_others(const int *from, int *result, bool repaired)
{
    __shared__ int s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &from[threadIdx.x], 4); // @13 kernel write
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if (repaired)
        __syncthreads();
    result[threadIdx.x] = s[63 - threadIdx.x]; // @14 kernel read
}
CASE(asynchronous_copy_without_a_barrier) { copies_of_others<<<1, 64>>>(d, out, repaired); }

__global__ void coalesced(int *result, bool repaired)
{
    __shared__ int s[32];
    if (threadIdx.x < 8) {
        cg::coalesced_group g = cg::coalesced_threads();
        s[threadIdx.x] = 1; // @15 kernel write
        if (repaired)
            g.sync();
        result[threadIdx.x] = s[7 - threadIdx.x]; // @16 kernel read
    }
}
CASE(coalesced_threads_without_a_barrier) { coalesced<<<1, 32>>>(out, repaired); }

/* Copies of which a barrier object hears. */
__global__ void copies_and_a_barrier_object(const int *from, int *result, bool repaired)
{
    using barrier_t = cuda::barrier<cuda::thread_scope_block>;
    __shared__ barrier_t bar;
    __shared__ int s[64];
    if (threadIdx.x == 0)
        init(&bar, 64);
    __syncthreads();
    cuda::memcpy_async(&s[threadIdx.x], &from[threadIdx.x], sizeof(int), bar); // @17 kernel write
    if (repaired)
        bar.arrive_and_wait();
    result[threadIdx.x] = s[63 - threadIdx.x]; // @18 kernel read
}
CASE(memcpy_async_without_its_barrier) { copies_and_a_barrier_object<<<1, 64>>>(d, out, repaired); }

__global__ void bulk_copy(const int *from, int *result, bool repaired)
{
    __shared__ alignas(16) int s[64];
    __shared__ alignas(8) unsigned long long bar;
    unsigned to = (unsigned)__cvta_generic_to_shared(s), object = (unsigned)__cvta_generic_to_shared(&bar);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(object) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(object) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                     ::"r"(to), "l"(from), "r"(object) : "memory"); // @19? kernel write
    }
    __syncthreads();
    for (int over = !repaired; over == 0;)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.b32 %0, 1, 0, p; }"
                     : "=r"(over) : "r"(object) : "memory");
    result[threadIdx.x] = s[63 - threadIdx.x]; // @20? kernel read
}
CASE(bulk_copy_without_a_wait) { bulk_copy<<<1, 64>>>(d, out, repaired); }
