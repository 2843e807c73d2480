/* Cooperative groups: tiles of 64 to 1024 threads, more than one warp of a block.
 *
 * They meet at a named barrier of their own and exchange values through shared memory, which is
 * allocated in a kernel that uses such a tile and in no other. */
#ifndef WEIR_CG_BLOCK_TILE_H
#define WEIR_CG_BLOCK_TILE_H

/* if constexpr is understood in older dialects, too. */
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++17-extensions"
#endif

namespace cooperative_groups
{
namespace __v1
{

namespace details
{

/* One slot of 32 bytes per warp of the block. */
struct block_tile_slot {
    unsigned long long bytes[4];
};
WEIR_CG block_tile_slot *block_tile_slots()
{
    static __shared__ block_tile_slot slots[32];
    return slots;
}
/* PTX has sixteen named barriers and the first is the block's own, so the sixteenth tile of a block
 * (they are then of two warps) meets at this counter of arrivals, which starts at 0. */
WEIR_CG unsigned *sixteenth_tile_arrivals()
{
    static __shared__ unsigned arrivals;
    return &arrivals;
}
WEIR_CG void sixteenth_tile_sync()
{
    __syncwarp();
    if (lane() == 0) {
        __threadfence_block();
        unsigned *arrivals = sixteenth_tile_arrivals();
        unsigned before = atomicAdd(arrivals, 1u);
        if ((before & 1) == 0)
            while (*(volatile unsigned *)arrivals == before + 1) {
            }
        __threadfence_block();
    }
    __syncwarp();
}

template <unsigned Size> class block_tile : public thread_group
{
    static_assert(Size >= 64 && Size <= 1024 && (Size & (Size - 1)) == 0,
                  "a tile's size is a power of two, at most a block's");

  public:
    WEIR_CGM block_tile(unsigned meta_rank, unsigned meta_size)
        : thread_group(kind::block, 0, meta_rank, meta_size)
    {
    }

    WEIR_CGM void sync() const
    {
        if (meta_size_ == 1)
            __syncthreads();
        else if (meta_rank_ == 15)
            sixteenth_tile_sync();
        else
            __barrier_sync_count(meta_rank_ + 1, Size);
    }
    /* Called by all threads of the block before any tile is used. */
    WEIR_CG_STATIC void prepare(unsigned tiles)
    {
        if (tiles != 16)
            return;
        if (block_thread_rank() == 0)
            *sixteenth_tile_arrivals() = 0;
        __syncthreads();
    }
    static constexpr __host__ __device__ unsigned num_threads() { return Size; }
    static constexpr __host__ __device__ unsigned size() { return Size; }
    WEIR_CG_STATIC unsigned thread_rank() { return block_thread_rank() & (Size - 1); }
    WEIR_CGM unsigned meta_group_rank() const { return meta_rank_; }
    WEIR_CGM unsigned meta_group_size() const { return meta_size_; }

    template <typename T> WEIR_CGM plain<T> shfl(T &&value, unsigned rank) const
    {
        static_assert(sizeof(plain<T>) <= 32, "shuffles move values of at most 32 bytes");
        block_tile_slot *slot = &block_tile_slots()[meta_rank_ * (Size / 32)];
        if (thread_rank() == rank)
            WEIR_MEMCPY(slot, &value, sizeof(plain<T>));
        sync();
        plain<T> result;
        WEIR_MEMCPY(&result, slot, sizeof(result));
        sync();
        return result;
    }
    WEIR_CGM int any(int predicate) const
    {
        return combine(__ballot_sync(0xffffffffu, predicate) != 0,
                       [](int a, int b) { return a | b; });
    }
    WEIR_CGM int all(int predicate) const
    {
        return combine(__ballot_sync(0xffffffffu, predicate) == 0xffffffffu,
                       [](int a, int b) { return a & b; });
    }

    /* One value per warp (the same in all its lanes) folded over the tile's warps, in their order.
     */
    template <typename T, typename Op> WEIR_CGM T combine(T value, Op op) const
    {
        static_assert(sizeof(T) <= 32,
                      "groups of several warps combine values of at most 32 bytes");
        block_tile_slot *slots = &block_tile_slots()[meta_rank_ * (Size / 32)];
        if (lane() == 0)
            WEIR_MEMCPY(&slots[thread_rank() / 32], &value, sizeof(T));
        sync();
        T result;
        WEIR_MEMCPY(&result, &slots[0], sizeof(T));
        for (unsigned warp = 1; warp < Size / 32; warp++) {
            T other;
            WEIR_MEMCPY(&other, &slots[warp], sizeof(T));
            result = op(result, other);
        }
        sync();
        return result;
    }
    /* The fold over the warps before this one; `first` is what the first warp gets. */
    template <typename T, typename Op> WEIR_CGM T combine_before(T value, T first, Op op) const
    {
        block_tile_slot *slots = &block_tile_slots()[meta_rank_ * (Size / 32)];
        unsigned mine = thread_rank() / 32;
        if (lane() == 31)
            WEIR_MEMCPY(&slots[mine], &value, sizeof(T));
        sync();
        T result = first;
        for (unsigned warp = 0; warp < mine; warp++) {
            T other;
            WEIR_MEMCPY(&other, &slots[warp], sizeof(T));
            result = warp ? op(result, other) : other;
        }
        sync();
        return result;
    }
};

} // namespace details

} // namespace __v1
using namespace __v1;
} // namespace cooperative_groups

#ifdef __clang__
#pragma clang diagnostic pop
#endif

#endif
