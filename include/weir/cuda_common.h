/* What the headers of namespace cuda share: thread scopes, sizes with an alignment, copies by one
 * thread or a group. */
#ifndef WEIR_CUDA_COMMON_H
#define WEIR_CUDA_COMMON_H

#include "cuda_runtime.h"

namespace cuda
{

/* Among which threads an operation is seen. */
enum thread_scope {
    thread_scope_system,
    thread_scope_device,
    thread_scope_block,
    thread_scope_thread = 10
};

/* A byte count that is a multiple of Alignment, as are the addresses that go with it. */
template <size_t Alignment> struct aligned_size_t {
    static constexpr size_t align = Alignment;
    size_t value;
    __host__ __device__ explicit constexpr aligned_size_t(size_t bytes) : value(bytes) {}
    __host__ __device__ constexpr operator size_t() const { return value; }
};

} // namespace cuda

namespace weir
{

#if defined(__CUDA__)

/* Thread number `rank` of `size` copies every size-th unit. */
template <typename Unit>
static __inline__ __attribute__((always_inline, device)) void
copy_units(void *to, const void *from, size_t bytes, size_t rank, size_t size)
{
    for (size_t i = rank; i < bytes / sizeof(Unit); i += size)
        ((Unit *)to)[i] = ((const Unit *)from)[i];
}
/* What pointers to T, copied by a size of this type, are aligned to at least. */
template <typename T, typename Size> struct known_alignment {
    static constexpr size_t value = alignof(T);
};
template <typename T, size_t Alignment> struct known_alignment<T, cuda::aligned_size_t<Alignment>> {
    static constexpr size_t value = Alignment > alignof(T) ? Alignment : alignof(T);
};
template <typename Size> struct known_alignment<void, Size> {
    static constexpr size_t value = 1;
};
template <size_t Alignment> struct known_alignment<void, cuda::aligned_size_t<Alignment>> {
    static constexpr size_t value = Alignment;
};
/* `Known`: what both sides are known to be aligned to, so that other copies need not be compiled.
 */
template <size_t Known = 1>
static __inline__ __attribute__((always_inline, device)) void
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

/* Orders this thread's accesses before and after it for the threads of a scope. */
template <cuda::thread_scope Scope>
static __inline__ __attribute__((always_inline, device)) void fence()
{
    if (Scope == cuda::thread_scope_system)
        __threadfence_system();
    else if (Scope == cuda::thread_scope_device)
        __threadfence();
    else if (Scope == cuda::thread_scope_block)
        __threadfence_block();
}

#endif

} // namespace weir

#endif
