/* cooperative_groups/memcpy_async.h: a group copies into shared memory together.
 *
 * The copy is complete when the call returns; wait() adds the synchronization of the group, which
 * is what makes it seen by the others. */
#ifndef _COOPERATIVE_GROUPS_MEMCPY_ASYNC_H_
#define _COOPERATIVE_GROUPS_MEMCPY_ASYNC_H_

#include "cooperative_groups.h"

#if defined(__CUDA__)

namespace cuda
{
/* A byte count that is a multiple of Alignment, as are the addresses that go with it. */
template <size_t Alignment> struct aligned_size_t {
    static constexpr size_t align = Alignment;
    size_t value;
    __host__ __device__ constexpr aligned_size_t(size_t bytes) : value(bytes) {}
    __host__ __device__ constexpr operator size_t() const { return value; }
};
} // namespace cuda

namespace cooperative_groups
{

namespace details
{

/* Each thread copies every size-th unit. */
template <typename Unit, typename Group>
WEIR_CG void copy_units(const Group &group, void *to, const void *from, size_t bytes)
{
    size_t units = bytes / sizeof(Unit), size = group.size();
    for (size_t i = group.thread_rank(); i < units; i += size)
        ((Unit *)to)[i] = ((const Unit *)from)[i];
}
template <typename Group>
WEIR_CG void copy(const Group &group, void *to, const void *from, size_t bytes)
{
    size_t alignment = (size_t)to | (size_t)from | bytes;
    if ((alignment & 15) == 0)
        copy_units<uint4>(group, to, from, bytes);
    else if ((alignment & 7) == 0)
        copy_units<uint2>(group, to, from, bytes);
    else if ((alignment & 3) == 0)
        copy_units<unsigned>(group, to, from, bytes);
    else
        copy_units<unsigned char>(group, to, from, bytes);
}

} // namespace details

/* `bytes` bytes. */
template <typename Group, typename Element>
WEIR_CG void memcpy_async(const Group &group, Element *to, const Element *from, size_t bytes)
{
    details::copy(group, to, from, bytes);
}
template <typename Group, typename Element, size_t Alignment>
WEIR_CG void memcpy_async(const Group &group, Element *to, const Element *from,
                          const cuda::aligned_size_t<Alignment> &bytes)
{
    details::copy(group, to, from, (size_t)bytes);
}
template <typename Group>
WEIR_CG void memcpy_async(const Group &group, void *to, const void *from, size_t bytes)
{
    details::copy(group, to, from, bytes);
}
/* As many elements as both sides hold. */
template <typename Group, typename Element>
WEIR_CG void memcpy_async(const Group &group, Element *to, size_t to_count, const Element *from,
                          size_t from_count)
{
    size_t count = to_count < from_count ? to_count : from_count;
    details::copy(group, to, from, count * sizeof(Element));
}

/* All copies of the group, or all but the last `Stages`, are done and seen by every thread. */
template <typename Group> WEIR_CG void wait(const Group &group) { group.sync(); }
template <unsigned Stages, typename Group> WEIR_CG void wait_prior(const Group &group)
{
    group.sync();
}

} // namespace cooperative_groups

#endif
#endif
