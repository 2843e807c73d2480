/* Stands before CCCL's file of this name. That one declares, with NDEBUG, __assert_fail as a function
 * of host and device, which nvcc lets stand beside glibc's. Here they are two functions, of which one
 * cannot be the other: the declaration gets a name of its own, and what calls __assert_fail means ours
 * (weir/device_system.h) and glibc's. */
#pragma GCC system_header

#if __has_include_next(<cuda/std/__cccl/assert.h>)
#if defined(NDEBUG) && defined(__CUDACC__)
#define __assert_fail weir_cccl_assert_fail
#include_next <cuda/std/__cccl/assert.h>
#undef __assert_fail
extern "C" void __assert_fail(const char *message, const char *file, unsigned line, const char *function) noexcept
    __attribute__((noreturn));
#else
#include_next <cuda/std/__cccl/assert.h>
#endif
#endif
