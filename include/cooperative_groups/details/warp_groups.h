/* Cooperative groups within one warp: thread_block_tile of up to 32 threads, coalesced_group, and
 * how groups are split into them. */
#ifndef WEIR_CG_WARP_GROUPS_H
#define WEIR_CG_WARP_GROUPS_H

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

/* Any trivially copyable value, moved between lanes one 32-bit word at a time; `move` shuffles one
 * word. */
template <typename T, typename Move> WEIR_CG T shuffle_words(const T &value, Move move)
{
    static_assert(sizeof(T) <= 32, "shuffles move values of at most 32 bytes");
    constexpr unsigned words = (sizeof(T) + 3) / 4;
    unsigned word[words] = {};
    WEIR_MEMCPY(word, &value, sizeof(T));
#pragma unroll
    for (unsigned i = 0; i < words; i++)
        word[i] = move(word[i]);
    T result;
    WEIR_MEMCPY(&result, word, sizeof(T));
    return result;
}
template <typename T> struct remove_const_reference {
    using type = T;
};
template <typename T> struct remove_const_reference<const T> : remove_const_reference<T> {
};
template <typename T> struct remove_const_reference<T &> : remove_const_reference<T> {
};
template <typename T> struct remove_const_reference<T &&> : remove_const_reference<T> {
};
template <typename T> using plain = typename remove_const_reference<T>::type;

/* __match_any_sync of values of any size up to 8 bytes. */
template <typename T> WEIR_CG unsigned match_lanes(unsigned mask, const T &value)
{
    static_assert(sizeof(T) <= 8, "match compares values of at most 8 bytes");
    unsigned long long bits = 0;
    WEIR_MEMCPY(&bits, &value, sizeof(T));
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
    if (sizeof(T) <= 4)
        return __match_any_sync(mask, (unsigned)bits);
    return __match_any_sync(mask, bits);
#else
    /* Lanes with the leader's value form one group; go on with the others. */
    unsigned rest = mask, mine = 0, self = 1u << lane();
    while (rest) {
        int leader = __ffs((int)rest) - 1;
        unsigned long long theirs = __shfl_sync(mask, bits, leader);
        unsigned same = __ballot_sync(mask, bits == theirs) & rest;
        if (same & self)
            mine = same;
        rest &= ~same;
    }
    return mine;
#endif
}

} // namespace details

/* ---- coalesced_group: some lanes of one warp ---- */

class coalesced_group : public thread_group
{
  public:
    WEIR_CGM explicit coalesced_group(unsigned mask, unsigned meta_rank = 0, unsigned meta_size = 1)
        : thread_group(details::kind::coalesced, mask, meta_rank, meta_size)
    {
    }

    WEIR_CGM void sync() const { __syncwarp(mask_); }
    WEIR_CGM unsigned num_threads() const { return (unsigned)__popc(mask_); }
    WEIR_CGM unsigned size() const { return num_threads(); }
    WEIR_CGM unsigned thread_rank() const
    {
        return (unsigned)__popc(mask_ & details::lanes_below());
    }
    WEIR_CGM unsigned meta_group_rank() const { return meta_rank_; }
    WEIR_CGM unsigned meta_group_size() const { return meta_size_; }

    template <typename T> WEIR_CGM details::plain<T> shfl(T &&value, unsigned rank) const
    {
        unsigned mask = mask_;
        unsigned from = mask == 0xffffffffu ? rank : details::nth_lane(mask, rank % num_threads());
        return details::shuffle_words((details::plain<T>)value, [=](unsigned word) {
            return __shfl_sync(mask, word, (int)from);
        });
    }
    template <typename T> WEIR_CGM details::plain<T> shfl_down(T &&value, unsigned delta) const
    {
        unsigned mask = mask_, from = details::nth_lane(mask, thread_rank() + delta);
        from = from == 32 ? details::lane() : from;
        return details::shuffle_words((details::plain<T>)value, [=](unsigned word) {
            return __shfl_sync(mask, word, (int)from);
        });
    }
    template <typename T> WEIR_CGM details::plain<T> shfl_up(T &&value, unsigned delta) const
    {
        unsigned mask = mask_, rank = thread_rank();
        unsigned from = delta > rank ? details::lane() : details::nth_lane(mask, rank - delta);
        return details::shuffle_words((details::plain<T>)value, [=](unsigned word) {
            return __shfl_sync(mask, word, (int)from);
        });
    }
    WEIR_CGM int any(int predicate) const { return __ballot_sync(mask_, predicate) != 0; }
    WEIR_CGM int all(int predicate) const { return __ballot_sync(mask_, predicate) == mask_; }
    WEIR_CGM unsigned ballot(int predicate) const
    {
        return details::pack_lanes(mask_, __ballot_sync(mask_, predicate));
    }
    template <typename T> WEIR_CGM unsigned match_any(T &&value) const
    {
        return details::pack_lanes(mask_, details::match_lanes(mask_, (details::plain<T>)value));
    }
    template <typename T> WEIR_CGM unsigned match_all(T &&value, int &all_equal) const
    {
        unsigned same = details::match_lanes(mask_, (details::plain<T>)value);
        all_equal = same == mask_;
        return all_equal ? details::pack_lanes(mask_, mask_) : 0u;
    }
};

/* The threads of this warp that are here together now. */
WEIR_CG coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

/* ---- thread_block_tile: 2^n threads in a row ---- */

template <unsigned Size, typename Parent = void> class thread_block_tile;

namespace details
{

template <unsigned Size> class warp_tile : public thread_group
{
    static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0,
                  "a tile's size is a power of two");

  public:
    WEIR_CGM warp_tile(unsigned meta_rank, unsigned meta_size)
        : thread_group(kind::tile, lanes(), meta_rank, meta_size)
    {
    }

    WEIR_CG_STATIC unsigned lanes()
    {
        if constexpr (Size == 32)
            return 0xffffffffu;
        return (unsigned)((1ull << Size) - 1) << (lane() & ~(Size - 1));
    }
    WEIR_CGM void sync() const { __syncwarp(lanes()); }
    static constexpr __host__ __device__ unsigned num_threads() { return Size; }
    static constexpr __host__ __device__ unsigned size() { return Size; }
    WEIR_CG_STATIC unsigned thread_rank() { return lane() & (Size - 1); }
    WEIR_CGM unsigned meta_group_rank() const { return meta_rank_; }
    WEIR_CGM unsigned meta_group_size() const { return meta_size_; }

    template <typename T> WEIR_CGM plain<T> shfl(T &&value, int rank) const
    {
        return shuffle_words((plain<T>)value, [=](unsigned word) {
            return __shfl_sync(lanes(), word, rank, (int)Size);
        });
    }
    template <typename T> WEIR_CGM plain<T> shfl_down(T &&value, unsigned delta) const
    {
        return shuffle_words((plain<T>)value, [=](unsigned word) {
            return __shfl_down_sync(lanes(), word, delta, (int)Size);
        });
    }
    template <typename T> WEIR_CGM plain<T> shfl_up(T &&value, unsigned delta) const
    {
        return shuffle_words((plain<T>)value, [=](unsigned word) {
            return __shfl_up_sync(lanes(), word, delta, (int)Size);
        });
    }
    template <typename T> WEIR_CGM plain<T> shfl_xor(T &&value, unsigned mask) const
    {
        return shuffle_words((plain<T>)value, [=](unsigned word) {
            return __shfl_xor_sync(lanes(), word, (int)mask, (int)Size);
        });
    }
    WEIR_CGM int any(int predicate) const { return __ballot_sync(lanes(), predicate) != 0; }
    WEIR_CGM int all(int predicate) const { return __ballot_sync(lanes(), predicate) == lanes(); }
    WEIR_CGM unsigned ballot(int predicate) const
    {
        return rebase(__ballot_sync(lanes(), predicate));
    }
    template <typename T> WEIR_CGM unsigned match_any(T &&value) const
    {
        return rebase(match_lanes(lanes(), (plain<T>)value));
    }
    template <typename T> WEIR_CGM unsigned match_all(T &&value, int &all_equal) const
    {
        unsigned same = match_lanes(lanes(), (plain<T>)value);
        all_equal = same == lanes();
        return all_equal ? rebase(same) : 0u;
    }

    /* A tile is also a coalesced group, when one is asked for. */
    WEIR_CGM operator coalesced_group() const
    {
        return coalesced_group(lanes(), meta_rank_, meta_size_);
    }

  private:
    WEIR_CG_STATIC unsigned rebase(unsigned warp_lanes)
    {
        return warp_lanes >> (lane() & ~(Size - 1)) & (unsigned)((1ull << Size) - 1);
    }
};

template <unsigned Size> class block_tile; /* cooperative_groups/details/block_tile.h: more than one warp */
template <unsigned Size, bool OneWarp = (Size <= 32)> struct tile_of_size {
    using type = warp_tile<Size>;
};
template <unsigned Size> struct tile_of_size<Size, false> {
    using type = block_tile<Size>;
};

} // namespace details

template <unsigned Size>
class thread_block_tile<Size, void> : public details::tile_of_size<Size>::type
{
  public:
    WEIR_CGM thread_block_tile(unsigned meta_rank, unsigned meta_size)
        : details::tile_of_size<Size>::type(meta_rank, meta_size)
    {
    }
};

/* The parent is part of the type only. */
template <unsigned Size, typename Parent>
class thread_block_tile : public thread_block_tile<Size, void>
{
  public:
    WEIR_CGM thread_block_tile(unsigned meta_rank, unsigned meta_size)
        : thread_block_tile<Size, void>(meta_rank, meta_size)
    {
    }
};

WEIR_CG thread_block_tile<1> this_thread() { return thread_block_tile<1>(0, 1); }

} // namespace __v1
using namespace __v1;
} // namespace cooperative_groups

#ifdef __clang__
#pragma clang diagnostic pop
#endif

#endif
