/* cooperative_groups/reduce.h: one value from every thread of a group, combined, given to all. */
#ifndef _COOPERATIVE_GROUPS_REDUCE_H_
#define _COOPERATIVE_GROUPS_REDUCE_H_

#include "cooperative_groups.h"

#if defined(__CUDA__) || defined(__CUDACC_RTC__)

/* if constexpr is understood in older dialects, too. */
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++17-extensions"
#endif

#include "cooperative_groups/details/operators.h"

namespace cooperative_groups
{
namespace __v1
{

namespace details
{

/* Integers of 32 bits have an instruction for the common operators (sm_80). */
template <typename T, typename Op> struct warp_instruction {
    static constexpr bool exists = false;
};
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define WEIR_CG_REDUX(type, op, function)                                                          \
    template <> struct warp_instruction<type, op<type>> {                                          \
        static constexpr bool exists = true;                                                       \
        WEIR_CG_STATIC type run(unsigned mask, type v) { return (type)function(mask, v); }         \
    };
WEIR_CG_REDUX(unsigned, plus, __reduce_add_sync)
WEIR_CG_REDUX(unsigned, less, __reduce_min_sync)
WEIR_CG_REDUX(unsigned, greater, __reduce_max_sync)
WEIR_CG_REDUX(unsigned, bit_and, __reduce_and_sync)
WEIR_CG_REDUX(unsigned, bit_or, __reduce_or_sync)
WEIR_CG_REDUX(unsigned, bit_xor, __reduce_xor_sync)
WEIR_CG_REDUX(int, plus, __reduce_add_sync)
WEIR_CG_REDUX(int, less, __reduce_min_sync)
WEIR_CG_REDUX(int, greater, __reduce_max_sync)
WEIR_CG_REDUX(int, bit_and, __reduce_and_sync)
WEIR_CG_REDUX(int, bit_or, __reduce_or_sync)
WEIR_CG_REDUX(int, bit_xor, __reduce_xor_sync)
#undef WEIR_CG_REDUX
#endif

/* A butterfly: after it every lane has the whole result, folded in the same order. */
template <unsigned Size, typename T, typename Op>
WEIR_CG T butterfly(unsigned mask, T value, const Op &op)
{
#pragma unroll
    for (unsigned step = Size / 2; step; step >>= 1)
        value = op(value, shuffle_words(value, [=](unsigned word) {
                       return __shfl_xor_sync(mask, word, (int)step, (int)Size);
                   }));
    return value;
}

template <unsigned Size, typename T, typename Op>
WEIR_CG T reduce_tile(const warp_tile<Size> &tile, T value, const Op &op)
{
    if constexpr (warp_instruction<T, Op>::exists)
        return warp_instruction<T, Op>::run(tile.lanes(), value);
    else
        return butterfly<Size>(tile.lanes(), value, op);
}
template <unsigned Size, typename T, typename Op>
WEIR_CG T reduce_tile(const block_tile<Size> &tile, T value, const Op &op)
{
    return tile.combine(reduce_tile(warp_tile<32>(0, 1), value, op), op);
}

template <typename T, typename Op>
WEIR_CG T reduce_lanes(const coalesced_group &group, T value, const Op &op)
{
    unsigned mask = group.get_mask();
    if constexpr (warp_instruction<T, Op>::exists)
        return warp_instruction<T, Op>::run(mask, value);
    if (mask == 0xffffffffu)
        return butterfly<32>(mask, value, op);
    unsigned rank = group.thread_rank(), size = group.size();
    for (unsigned step = 1; step < size; step <<= 1) {
        T other = group.shfl_down(value, step);
        if ((rank & (2 * step - 1)) == 0 && rank + step < size)
            value = op(value, other);
    }
    return group.shfl(value, 0);
}

} // namespace details

template <unsigned Size, typename Parent, typename T, typename Op>
WEIR_CG details::plain<T> reduce(const thread_block_tile<Size, Parent> &group, T &&value, Op &&op)
{
    using value_type = details::plain<T>;
    return details::reduce_tile(
        static_cast<const typename details::tile_of_size<Size>::type &>(group), (value_type)value,
        (const details::plain<Op> &)op);
}
template <typename T, typename Op>
WEIR_CG details::plain<T> reduce(const coalesced_group &group, T &&value, Op &&op)
{
    return details::reduce_lanes(group, (details::plain<T>)value, (const details::plain<Op> &)op);
}

namespace details
{
/* An atomic becomes op(atomic, value); gives what it was. */
template <typename Atomic, typename T, typename Op>
WEIR_CG T fold_into(Atomic &atomic, T value, const Op &op)
{
    auto old = atomic.load();
    while (!atomic.compare_exchange_weak(old, op(old, value)))
        ;
    return old;
}
} // namespace details

/* The group's reduction, stored to or combined with memory by one of its threads. It is done when
 * the call returns, so wait(group) has nothing to wait for but the group itself. */
template <typename Group, typename T, typename U, typename Op>
WEIR_CG void reduce_store_async(const Group &group, T *to, U &&value, Op &&op)
{
    auto all = reduce(group, (details::plain<U>)value, op);
    if (group.thread_rank() == 0)
        *to = (T)all;
}
/* `to` is a cuda::atomic. */
template <typename Group, typename Atomic, typename U, typename Op,
          typename = decltype(details::plain<Atomic>::is_always_lock_free)>
WEIR_CG void reduce_store_async(const Group &group, Atomic &to, U &&value, Op &&op)
{
    auto all = reduce(group, (details::plain<U>)value, op);
    if (group.thread_rank() == 0)
        to.store(all);
}
template <typename Group, typename Atomic, typename U, typename Op>
WEIR_CG void reduce_update_async(const Group &group, Atomic &to, U &&value, Op &&op)
{
    auto all = reduce(group, (details::plain<U>)value, op);
    if (group.thread_rank() == 0)
        details::fold_into(to, all, op);
}

} // namespace __v1
using namespace __v1;
} // namespace cooperative_groups

#ifdef __clang__
#pragma clang diagnostic pop
#endif

#endif
#endif
