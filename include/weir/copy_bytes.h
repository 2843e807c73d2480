/* Copies by one thread or by a group of them, in units as large as the addresses allow: what
 * memcpy_async of groups, barriers and pipelines is made of. */
#ifndef WEIR_COPY_BYTES_H
#define WEIR_COPY_BYTES_H

#include "cuda_runtime.h"

namespace weir
{

#if defined(__CUDA__)

/* Thread number `rank` of `size` copies every size-th unit. */
template <typename Unit>
static __inline__ __attribute__((always_inline, nodebug, device)) void
copy_units(void *to, const void *from, size_t bytes, size_t rank, size_t size)
{
    for (size_t i = rank; i < bytes / sizeof(Unit); i += size)
        ((Unit *)to)[i] = ((const Unit *)from)[i];
}
/* What pointers to T are aligned to at least, if known. */
template <typename T> struct type_alignment {
    static constexpr size_t value = alignof(T);
};
template <> struct type_alignment<void> {
    static constexpr size_t value = 1;
};
/* The same, copied by a size of type Size, which may promise more: cuda::aligned_size_t, ours and
 * libcu++'s alike, by its member `align`. */
template <typename T, typename Size> constexpr size_t alignment_by(long)
{
    return type_alignment<T>::value;
}
template <typename T, typename Size, size_t Promised = Size::align>
constexpr size_t alignment_by(int)
{
    return Promised > type_alignment<T>::value ? Promised : type_alignment<T>::value;
}
template <typename T, typename Size> struct known_alignment {
    static constexpr size_t value = alignment_by<T, Size>(0);
};
/* `Known`: what both sides are known to be aligned to, so that other copies need not be compiled.
 */
template <size_t Known = 1>
static __inline__ __attribute__((always_inline, nodebug, device)) void
copy_bytes(void *to, const void *from, size_t bytes, size_t rank, size_t size)
{
    size_t alignment = (((size_t)to | (size_t)from) & ~(Known - 1)) | bytes;
    if ((alignment & 15) == 0)
        copy_units<uint4>(to, from, bytes, rank, size);
    else if ((alignment & 7) == 0)
        copy_units<uint2>(to, from, bytes, rank, size);
    else if ((alignment & 3) == 0)
        copy_units<unsigned>(to, from, bytes, rank, size);
    else
        copy_units<unsigned char>(to, from, bytes, rank, size);
}

#endif

} // namespace weir

#endif
