/* Cooperative groups: the groups a launch has by itself - thread, block, cluster, grid - and the
 * type-erased thread_group that any of them converts to.
 *
 * A group object holds what names its members and nothing else; after inlining none of it is left
 * but the few instructions of each operation. */
#ifndef WEIR_CG_GROUPS_H
#define WEIR_CG_GROUPS_H

#include "cooperative_groups/details/rtc.h"

#define WEIR_CG        static __inline__ __attribute__((always_inline, WEIR_NODEBUG device))
#define WEIR_CGM       __inline__ __attribute__((always_inline, WEIR_NODEBUG device))
#define WEIR_CG_STATIC static __inline__ __attribute__((always_inline, WEIR_NODEBUG device))

namespace cooperative_groups
{
/* Where libcu++ declares the groups that its copies and barriers take. */
namespace __v1
{

namespace details
{

/* What a thread_group may stand for. */
enum class kind : unsigned char { coalesced, tile, block, cluster, grid };

/* ---- lanes ---- */

#ifdef __CUDACC_RTC__
WEIR_CG unsigned lane()
{
    unsigned n;
    asm("mov.u32 %0, %%laneid;" : "=r"(n));
    return n;
}
WEIR_CG unsigned lanes_below()
{
    unsigned mask;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
    return mask;
}
#else
WEIR_CG unsigned lane() { return __nvvm_read_ptx_sreg_laneid(); }
WEIR_CG unsigned lanes_below() { return __nvvm_read_ptx_sreg_lanemask_lt(); }
#endif

/* The lane that holds the n-th set bit (from 0) of mask; 32 when there is none. */
WEIR_CG unsigned nth_lane(unsigned mask, unsigned n)
{
    if (n >= (unsigned)__popc(mask))
        return 32;
    unsigned position = 0;
    for (unsigned width = 16; width; width >>= 1) {
        unsigned low = (unsigned)__popc(mask >> position & ((1u << width) - 1));
        if (n >= low) {
            n -= low;
            position += width;
        }
    }
    return position;
}

/* Bits of `lanes` gathered into the numbering of the group whose members are `mask`. */
WEIR_CG unsigned pack_lanes(unsigned mask, unsigned lanes)
{
    if (mask == 0xffffffffu)
        return lanes;
    unsigned packed = 0, rank = 0;
    for (; mask; mask &= mask - 1, rank++)
        packed |= (lanes >> (__ffs((int)mask) - 1) & 1u) << rank;
    return packed;
}

/* ---- a block's threads and a grid's ---- */

WEIR_CG unsigned block_thread_rank()
{
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
WEIR_CG unsigned block_threads() { return blockDim.x * blockDim.y * blockDim.z; }
WEIR_CG unsigned long long grid_block_rank()
{
    return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}
WEIR_CG unsigned long long grid_blocks()
{
    return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
}

/* The workspace of a cooperative launch; null for other launches. */
WEIR_CG unsigned *grid_barrier()
{
    unsigned high, low;
    asm("mov.u32 %0, %%envreg1;" : "=r"(high));
    asm("mov.u32 %0, %%envreg2;" : "=r"(low));
    unsigned long long workspace = (unsigned long long)high << 32 | low;
    return workspace ? (unsigned *)(workspace + 4) : nullptr;
}

/* Every block adds 1, block 0 as much as makes the sum of all 2^31: the top bit flips when the last
 * has come, and the word is ready for the next time. */
WEIR_CG unsigned grid_arrive(unsigned *barrier)
{
    unsigned old, amount = 1;
    if (grid_block_rank() == 0)
        amount = 0x80000000u - (unsigned)(grid_blocks() - 1);
    asm volatile("atom.add.release.gpu.u32 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(barrier), "r"(amount)
                 : "memory");
    return old;
}
WEIR_CG void grid_wait(unsigned *barrier, unsigned old)
{
    unsigned now;
    do {
        asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(barrier) : "memory");
    } while (((old ^ now) & 0x80000000u) == 0);
}
WEIR_CG void grid_sync()
{
    unsigned *barrier = grid_barrier();
    if (!barrier)
        __trap(); /* not launched as a cooperative kernel */
    __syncthreads();
    if (block_thread_rank() == 0) {
        /* the block's writes, seen by this thread through the block barrier, go out first */
        __threadfence();
        grid_wait(barrier, grid_arrive(barrier));
        __threadfence();
    }
    __syncthreads();
}

} // namespace details

/* ---- thread_group: any group, known at run time ---- */

class thread_group
{
  protected:
    details::kind kind_;
    unsigned mask_;      /* members as lanes of this warp: coalesced groups and tiles */
    unsigned meta_rank_; /* number of this group among its partition's */
    unsigned meta_size_; /* how many groups the partition has */

  public:
    WEIR_CGM thread_group(details::kind kind, unsigned mask = 0, unsigned meta_rank = 0,
                          unsigned meta_size = 1)
        : kind_(kind), mask_(mask), meta_rank_(meta_rank), meta_size_(meta_size)
    {
    }

    WEIR_CGM void sync() const
    {
        switch (kind_) {
        case details::kind::coalesced:
        case details::kind::tile: __syncwarp(mask_); break;
        case details::kind::block: __syncthreads(); break;
        case details::kind::grid: details::grid_sync(); break;
        case details::kind::cluster:
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
            __cluster_barrier_arrive();
            __cluster_barrier_wait();
#endif
            break;
        }
    }
    WEIR_CGM unsigned long long num_threads() const
    {
        switch (kind_) {
        case details::kind::block: return details::block_threads();
        case details::kind::grid: return details::grid_blocks() * details::block_threads();
        case details::kind::cluster:
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
            return (unsigned long long)__clusterSizeInBlocks() * details::block_threads();
#endif
        default: return (unsigned)__popc(mask_);
        }
    }
    WEIR_CGM unsigned long long size() const { return num_threads(); }
    WEIR_CGM unsigned long long thread_rank() const
    {
        switch (kind_) {
        case details::kind::block: return details::block_thread_rank();
        case details::kind::grid:
            return details::grid_block_rank() * details::block_threads() +
                   details::block_thread_rank();
        case details::kind::cluster:
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
            return (unsigned long long)__clusterRelativeBlockRank() * details::block_threads() +
                   details::block_thread_rank();
#endif
        default: return (unsigned)__popc(mask_ & details::lanes_below());
        }
    }
    WEIR_CGM bool is_valid() const
    {
        return kind_ != details::kind::grid || details::grid_barrier() != nullptr;
    }
    WEIR_CGM details::kind get_kind() const { return kind_; }
    WEIR_CGM unsigned get_mask() const { return mask_; }
};

/* ---- thread_block ---- */

class thread_block : public thread_group
{
  public:
    /* What barrier_arrive gives and barrier_wait takes. */
    struct arrival_token {
    };

    WEIR_CGM thread_block() : thread_group(details::kind::block) {}

    WEIR_CG_STATIC void sync() { __syncthreads(); }
    WEIR_CG_STATIC unsigned thread_rank() { return details::block_thread_rank(); }
    WEIR_CG_STATIC unsigned num_threads() { return details::block_threads(); }
    WEIR_CG_STATIC unsigned size() { return details::block_threads(); }
    WEIR_CG_STATIC dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    WEIR_CG_STATIC dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    WEIR_CG_STATIC dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
    WEIR_CG_STATIC dim3 dim_threads() { return group_dim(); }
    /* The whole synchronization happens in the wait, which no thread may leave out. */
    WEIR_CG_STATIC arrival_token barrier_arrive() { return {}; }
    WEIR_CG_STATIC void barrier_wait(arrival_token &&) { __syncthreads(); }
};

WEIR_CG thread_block this_thread_block() { return thread_block(); }

/* Memory that a program sets aside for groups of more than one warp. Ours need none of it. */
template <unsigned MaxBlockSize = 1024> struct block_tile_memory {
    char unused;
};
template <unsigned MaxBlockSize>
WEIR_CG thread_block this_thread_block(block_tile_memory<MaxBlockSize> &)
{
    return thread_block();
}

/* ---- cluster_group ---- */

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
class cluster_group : public thread_group
{
  public:
    struct arrival_token {
    };

    WEIR_CGM cluster_group() : thread_group(details::kind::cluster) {}

    WEIR_CG_STATIC void sync()
    {
        __cluster_barrier_arrive();
        __cluster_barrier_wait();
    }
    WEIR_CG_STATIC arrival_token barrier_arrive()
    {
        __cluster_barrier_arrive();
        return {};
    }
    WEIR_CG_STATIC void barrier_wait() { __cluster_barrier_wait(); }
    WEIR_CG_STATIC void barrier_wait(arrival_token &&) { __cluster_barrier_wait(); }
    WEIR_CG_STATIC unsigned query_shared_rank(const void *p)
    {
        return __cluster_query_shared_rank(p);
    }
    template <typename T> WEIR_CG_STATIC T *map_shared_rank(T *p, int rank)
    {
        return (T *)__cluster_map_shared_rank(p, (unsigned)rank);
    }
    WEIR_CG_STATIC dim3 block_index() { return __clusterRelativeBlockIdx(); }
    WEIR_CG_STATIC unsigned block_rank() { return __clusterRelativeBlockRank(); }
    WEIR_CG_STATIC dim3 dim_blocks() { return __clusterDim(); }
    WEIR_CG_STATIC unsigned num_blocks() { return __clusterSizeInBlocks(); }
    WEIR_CG_STATIC dim3 thread_index()
    {
        dim3 b = block_index();
        return dim3(b.x * blockDim.x + threadIdx.x, b.y * blockDim.y + threadIdx.y,
                    b.z * blockDim.z + threadIdx.z);
    }
    WEIR_CG_STATIC unsigned thread_rank()
    {
        return block_rank() * details::block_threads() + details::block_thread_rank();
    }
    WEIR_CG_STATIC dim3 dim_threads()
    {
        dim3 b = dim_blocks();
        return dim3(b.x * blockDim.x, b.y * blockDim.y, b.z * blockDim.z);
    }
    WEIR_CG_STATIC unsigned num_threads() { return num_blocks() * details::block_threads(); }
    WEIR_CG_STATIC unsigned size() { return num_threads(); }
};

WEIR_CG cluster_group this_cluster() { return cluster_group(); }
#endif

/* ---- grid_group ---- */

class grid_group : public thread_group
{
  public:
    /* The barrier word as it was at arrival. */
    struct arrival_token {
        unsigned old;
    };

    WEIR_CGM grid_group() : thread_group(details::kind::grid) {}

    WEIR_CG_STATIC bool is_valid() { return details::grid_barrier() != nullptr; }
    WEIR_CG_STATIC void sync() { details::grid_sync(); }
    WEIR_CG_STATIC arrival_token barrier_arrive()
    {
        arrival_token token = {0};
        unsigned *barrier = details::grid_barrier();
        if (!barrier)
            __trap();
        __syncthreads();
        if (details::block_thread_rank() == 0) {
            __threadfence();
            token.old = details::grid_arrive(barrier);
        }
        return token;
    }
    WEIR_CG_STATIC void barrier_wait(arrival_token &&token)
    {
        if (details::block_thread_rank() == 0) {
            details::grid_wait(details::grid_barrier(), token.old);
            __threadfence();
        }
        __syncthreads();
    }

    WEIR_CG_STATIC unsigned long long num_threads()
    {
        return details::grid_blocks() * details::block_threads();
    }
    WEIR_CG_STATIC unsigned long long size() { return num_threads(); }
    WEIR_CG_STATIC unsigned long long thread_rank()
    {
        return details::grid_block_rank() * details::block_threads() + details::block_thread_rank();
    }
    WEIR_CG_STATIC dim3 thread_index()
    {
        return dim3(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y,
                    blockIdx.z * blockDim.z + threadIdx.z);
    }
    WEIR_CG_STATIC dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
    WEIR_CG_STATIC dim3 dim_blocks() { return group_dim(); }
    WEIR_CG_STATIC unsigned long long num_blocks() { return details::grid_blocks(); }
    WEIR_CG_STATIC dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    WEIR_CG_STATIC unsigned long long block_rank() { return details::grid_block_rank(); }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    WEIR_CG_STATIC dim3 dim_clusters() { return __clusterGridDimInClusters(); }
    WEIR_CG_STATIC unsigned long long num_clusters()
    {
        dim3 d = dim_clusters();
        return (unsigned long long)d.x * d.y * d.z;
    }
    WEIR_CG_STATIC dim3 cluster_index() { return __clusterIdx(); }
    WEIR_CG_STATIC unsigned long long cluster_rank()
    {
        dim3 d = dim_clusters(), i = cluster_index();
        return ((unsigned long long)i.z * d.y + i.y) * d.x + i.x;
    }
#endif
};

WEIR_CG grid_group this_grid() { return grid_group(); }

/* ---- the same as free functions ---- */

template <typename Group> WEIR_CG void sync(const Group &group) { group.sync(); }
template <typename Group>
WEIR_CG auto thread_rank(const Group &group) -> decltype(group.thread_rank())
{
    return group.thread_rank();
}
template <typename Group> WEIR_CG auto group_size(const Group &group) -> decltype(group.size())
{
    return group.size();
}

} // namespace __v1
using namespace __v1;
} // namespace cooperative_groups

#endif
