/* What our headers of namespace cuda (the directory cccl) share: thread scopes, sizes with an
 * alignment. Not to be included where NVIDIA's libcu++ may be used instead of these. */
#ifndef WEIR_CUDA_COMMON_H
#define WEIR_CUDA_COMMON_H

#include "cuda_runtime.h"

#include "weir/copy_bytes.h"

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

/* Orders this thread's accesses before and after it for the threads of a scope. */
template <cuda::thread_scope Scope>
static __inline__ __attribute__((always_inline, nodebug, device)) void fence()
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
