/* cooperative_groups/scan.h: running totals over a group, in the order of thread ranks. */
#ifndef _COOPERATIVE_GROUPS_SCAN_H_
#define _COOPERATIVE_GROUPS_SCAN_H_

#include "cooperative_groups/reduce.h"

#ifdef __CUDACC_RTC__ /* its operators need std::numeric_limits */
#error "this header is for weircc: give NVRTC the one of NVIDIA's toolkit"
#endif
#if defined(__CUDA__)

/* if constexpr is understood in older dialects, too. */
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++17-extensions"
#endif

#include <limits>

namespace cooperative_groups
{
namespace __v1
{

namespace details
{

/* What the first thread of an exclusive scan gets: the operator's neutral value. */
template <typename T, typename Op> struct neutral {
    WEIR_CG_STATIC T value() { return T(); }
};
template <typename T> struct neutral<T, less<T>> {
    WEIR_CG_STATIC T value() { return std::numeric_limits<T>::max(); }
};
template <typename T> struct neutral<T, greater<T>> {
    WEIR_CG_STATIC T value() { return std::numeric_limits<T>::lowest(); }
};
template <typename T> struct neutral<T, bit_and<T>> {
    WEIR_CG_STATIC T value() { return (T) ~(T)0; }
};

/* Running totals within any group of one warp, over its shfl_up. */
template <typename Group, typename T, typename Op>
WEIR_CG T scan_lanes(const Group &group, T value, const Op &op)
{
    unsigned rank = group.thread_rank(), size = group.size();
    for (unsigned step = 1; step < size; step <<= 1) {
        T before = group.shfl_up(value, step);
        if (rank >= step)
            value = op(before, value);
    }
    return value;
}

template <typename Group, typename T, typename Op>
WEIR_CG T inclusive(const Group &group, T value, const Op &op)
{
    return scan_lanes(group, value, op);
}
template <unsigned Size, typename T, typename Op>
WEIR_CG T inclusive(const block_tile<Size> &tile, T value, const Op &op)
{
    value = scan_lanes(warp_tile<32>(0, 1), value, op);
    T before = tile.combine_before(value, value, op);
    return tile.thread_rank() < 32 ? value : op(before, value);
}

template <typename Group, typename T, typename Op>
WEIR_CG T exclusive(const Group &group, T value, const Op &op)
{
    T before = group.shfl_up(scan_lanes(group, value, op), 1);
    return group.thread_rank() == 0 ? neutral<T, Op>::value() : before;
}
template <unsigned Size, typename T, typename Op>
WEIR_CG T exclusive(const block_tile<Size> &tile, T value, const Op &op)
{
    warp_tile<32> warp(0, 1);
    T total = scan_lanes(warp, value, op), inside = warp.shfl_up(total, 1);
    T before = tile.combine_before(total, neutral<T, Op>::value(), op);
    if (lane() == 0)
        return before;
    return tile.thread_rank() < 32 ? inside : op(before, inside);
}

/* The group as the class that has its operations. */
template <unsigned Size, typename Parent>
WEIR_CG const typename tile_of_size<Size>::type &base(const thread_block_tile<Size, Parent> &tile)
{
    return tile;
}
WEIR_CG const coalesced_group &base(const coalesced_group &group) { return group; }

} // namespace details

template <typename Group, typename T, typename Op>
WEIR_CG details::plain<T> inclusive_scan(const Group &group, T &&value, Op &&op)
{
    return details::inclusive(details::base(group), (details::plain<T>)value,
                              (const details::plain<Op> &)op);
}
template <typename Group, typename T>
WEIR_CG details::plain<T> inclusive_scan(const Group &group, T &&value)
{
    return inclusive_scan(group, value, plus<details::plain<T>>());
}
template <typename Group, typename T, typename Op>
WEIR_CG details::plain<T> exclusive_scan(const Group &group, T &&value, Op &&op)
{
    return details::exclusive(details::base(group), (details::plain<T>)value,
                              (const details::plain<Op> &)op);
}
template <typename Group, typename T>
WEIR_CG details::plain<T> exclusive_scan(const Group &group, T &&value)
{
    return exclusive_scan(group, value, plus<details::plain<T>>());
}

/* Scans that go on from a cuda::atomic's value, which becomes what the group has come to. */
namespace details
{
template <typename Group, typename Atomic, typename T, typename Op>
WEIR_CG T taken_before(const Group &group, Atomic &atomic, T value, const Op &op)
{
    T all = reduce(group, (T)value, op), before{};
    if (group.thread_rank() == 0)
        before = fold_into(atomic, all, op);
    return group.shfl(before, 0);
}
} // namespace details

template <typename Group, typename Atomic, typename T, typename Op>
WEIR_CG details::plain<T> inclusive_scan_update(const Group &group, Atomic &atomic, T &&value,
                                                Op &&op)
{
    using value_type = details::plain<T>;
    value_type mine = inclusive_scan(group, (value_type)value, op);
    return op(details::taken_before(group, atomic, (value_type)value, op), mine);
}
template <typename Group, typename Atomic, typename T>
WEIR_CG details::plain<T> inclusive_scan_update(const Group &group, Atomic &atomic, T &&value)
{
    return inclusive_scan_update(group, atomic, value, plus<details::plain<T>>());
}
template <typename Group, typename Atomic, typename T, typename Op>
WEIR_CG details::plain<T> exclusive_scan_update(const Group &group, Atomic &atomic, T &&value,
                                                Op &&op)
{
    using value_type = details::plain<T>;
    value_type mine = exclusive_scan(group, (value_type)value, op);
    return op(details::taken_before(group, atomic, (value_type)value, op), mine);
}
template <typename Group, typename Atomic, typename T>
WEIR_CG details::plain<T> exclusive_scan_update(const Group &group, Atomic &atomic, T &&value)
{
    return exclusive_scan_update(group, atomic, value, plus<details::plain<T>>());
}

} // namespace __v1
using namespace __v1;
} // namespace cooperative_groups

#ifdef __clang__
#pragma clang diagnostic pop
#endif

#endif
#endif
