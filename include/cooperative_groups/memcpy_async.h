/* cooperative_groups/memcpy_async.h: a group copies into shared memory together.
 *
 * The copy is complete when the call returns; wait() adds the synchronization of the group, which
 * is what makes it seen by the others. */
#ifndef _COOPERATIVE_GROUPS_MEMCPY_ASYNC_H_
#define _COOPERATIVE_GROUPS_MEMCPY_ASYNC_H_

#include "cooperative_groups.h"

#ifdef __CUDACC_RTC__ /* its copies need libcu++ */
#error "this header is for weircc: give NVRTC the one of NVIDIA's toolkit"
#endif
#if defined(__CUDA__)

/* cuda::aligned_size_t is ours, unless NVIDIA's libcu++ comes first on the search path: then it is
 * that library's, which the program includes. */
#include <cuda/std/cstddef>
#ifdef WEIR_CUDA_STD_CSTDDEF
#include "weir/cuda_common.h"
#endif
#include "weir/copy_bytes.h"

namespace cooperative_groups
{
namespace __v1
{

namespace details
{
template <size_t Known = 1, typename Group>
WEIR_CG void copy(const Group &group, void *to, const void *from, size_t bytes)
{
    weir::copy_bytes<Known>(to, from, bytes, (size_t)group.thread_rank(), (size_t)group.size());
}
} // namespace details

/* `bytes` bytes. */
template <typename Group, typename Element>
WEIR_CG void memcpy_async(const Group &group, Element *to, const Element *from, size_t bytes)
{
    details::copy(group, to, from, bytes);
}
/* A cuda::aligned_size_t<A>. */
template <typename Group, typename Element, typename Size, size_t Alignment = Size::align>
WEIR_CG void memcpy_async(const Group &group, Element *to, const Element *from, const Size &bytes)
{
    details::copy<weir::known_alignment<Element, Size>::value>(group, to, from, (size_t)bytes);
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

} // namespace __v1
using namespace __v1;
} // namespace cooperative_groups

#endif
#endif
