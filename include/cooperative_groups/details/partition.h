/* Cooperative groups: splitting a group - into tiles, by label, by predicate - and choosing one
 * thread of it. */
#ifndef WEIR_CG_PARTITION_H
#define WEIR_CG_PARTITION_H

/* if constexpr is understood in older dialects, too. */
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++17-extensions"
#endif

namespace cooperative_groups
{
namespace __v1
{

/* ---- tiles of a size known at compile time ---- */

template <unsigned Size>
WEIR_CG thread_block_tile<Size, thread_block> tiled_partition(const thread_block &)
{
    unsigned tiles = (details::block_threads() + Size - 1) / Size;
    if constexpr (Size > 32)
        details::block_tile<Size>::prepare(tiles);
    return thread_block_tile<Size, thread_block>(details::block_thread_rank() / Size, tiles);
}
template <unsigned Size, unsigned ParentSize, typename Grandparent>
WEIR_CG thread_block_tile<Size, thread_block_tile<ParentSize, Grandparent>>
tiled_partition(const thread_block_tile<ParentSize, Grandparent> &parent)
{
    static_assert(Size <= ParentSize, "a tile is no larger than what it is cut from");
    static_assert(Size <= 32, "tiles of several warps are cut from the block");
    return thread_block_tile<Size, thread_block_tile<ParentSize, Grandparent>>(
        parent.thread_rank() / Size, ParentSize / Size);
}
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
template <unsigned Size>
WEIR_CG thread_block_tile<Size, cluster_group> tiled_partition(const cluster_group &g)
{
    return thread_block_tile<Size, cluster_group>(g.thread_rank() / Size,
                                                  (g.num_threads() + Size - 1) / Size);
}
#endif

namespace details
{
/* A type that a call must give: it is deduced from no argument. */
template <typename T> struct given {
    typedef T type;
};
} // namespace details

/* The group that is cut, named: tiled_partition<16, thread_block>(block). */
template <unsigned Size, typename Parent>
WEIR_CG thread_block_tile<Size, Parent>
tiled_partition(const typename details::given<Parent>::type &parent)
{
    return tiled_partition<Size>(parent);
}

/* ---- tiles of a size known at run time ---- */

namespace details
{
WEIR_CG coalesced_group run_of_lanes(unsigned mask, unsigned rank, unsigned size)
{
    unsigned first = rank / size * size, members = 0;
    for (unsigned n = first; n < first + size; n++) {
        unsigned from = nth_lane(mask, n);
        if (from < 32)
            members |= 1u << from;
    }
    unsigned total = (unsigned)__popc(mask);
    return coalesced_group(members, rank / size, (total + size - 1) / size);
}
} // namespace details

WEIR_CG thread_group tiled_partition(const thread_block &, unsigned size)
{
    unsigned rank = details::block_thread_rank(), total = details::block_threads();
    unsigned base = rank - details::lane(); /* the warp's first thread */
    unsigned lanes = total - base < 32 ? (1u << (total - base)) - 1 : 0xffffffffu;
    unsigned first = details::lane() / size * size;
    unsigned mask = (size >= 32 ? 0xffffffffu : ((1u << size) - 1) << first) & lanes;
    return thread_group(details::kind::tile, mask, rank / size, (total + size - 1) / size);
}
WEIR_CG coalesced_group tiled_partition(const coalesced_group &g, unsigned size)
{
    return details::run_of_lanes(g.get_mask(), g.thread_rank(), size);
}
WEIR_CG thread_group tiled_partition(const thread_group &g, unsigned size)
{
    if (g.get_kind() == details::kind::block)
        return tiled_partition(thread_block(), size);
    return details::run_of_lanes(g.get_mask(), (unsigned)g.thread_rank(), size);
}

/* ---- by a value ---- */

namespace details
{
/* Groups are numbered by their first lanes. */
WEIR_CG coalesced_group labelled(unsigned mask, unsigned same)
{
    unsigned leaders = __ballot_sync(mask, lane() == (unsigned)__ffs((int)same) - 1);
    unsigned leader = (unsigned)__ffs((int)same) - 1;
    return coalesced_group(same, (unsigned)__popc(leaders & ((1u << leader) - 1)),
                           (unsigned)__popc(leaders));
}
} // namespace details

template <typename Label>
WEIR_CG coalesced_group labeled_partition(const coalesced_group &g, Label label)
{
    return details::labelled(g.get_mask(), details::match_lanes(g.get_mask(), label));
}
template <unsigned Size, typename Parent, typename Label>
WEIR_CG coalesced_group labeled_partition(const thread_block_tile<Size, Parent> &g, Label label)
{
    static_assert(Size <= 32, "labels are compared within a warp");
    return details::labelled(g.get_mask(), details::match_lanes(g.get_mask(), label));
}

namespace details
{
WEIR_CG coalesced_group halved(unsigned mask, bool predicate)
{
    unsigned yes = __ballot_sync(mask, predicate);
    return coalesced_group(predicate ? yes : mask & ~yes, predicate ? 1 : 0, 2);
}
} // namespace details

WEIR_CG coalesced_group binary_partition(const coalesced_group &g, bool predicate)
{
    return details::halved(g.get_mask(), predicate);
}
template <unsigned Size, typename Parent>
WEIR_CG coalesced_group binary_partition(const thread_block_tile<Size, Parent> &g, bool predicate)
{
    static_assert(Size <= 32, "predicates are compared within a warp");
    return details::halved(g.get_mask(), predicate);
}

/* ---- one thread for all ---- */

/* Calls f(args...) in one thread of the group. */
template <typename Group, typename F, typename... Args>
WEIR_CG void invoke_one(const Group &group, F &&f, Args &&...args)
{
    if (group.thread_rank() == 0)
        f(static_cast<Args &&>(args)...);
}
/* The same, and every thread gets the result; for groups within a warp. */
template <typename Group, typename F, typename... Args>
WEIR_CG auto invoke_one_broadcast(const Group &group, F &&f, Args &&...args)
    -> details::plain<decltype(f(static_cast<Args &&>(args)...))>
{
    details::plain<decltype(f(static_cast<Args &&>(args)...))> result;
    if (group.thread_rank() == 0)
        result = f(static_cast<Args &&>(args)...);
    return group.shfl(result, 0);
}

} // namespace __v1
using namespace __v1;
} // namespace cooperative_groups

#ifdef __clang__
#pragma clang diagnostic pop
#endif

#endif
