/* The words that CUDA C++ adds to the language, as clang must hear them when it compiles CUDA.
 *
 * host_defines.h, which also plain C and C++ include, has the common ones; here are those that
 * depend on the pass, and those that only kernels use. */
#ifndef WEIR_KEYWORDS_H
#define WEIR_KEYWORDS_H

/* A managed variable is an ordinary device variable for the device. On the host its shadow is in
 * a section of its own (bounded by __start_weir_managed and __stop_weir_managed), by which the
 * runtime tells it from other variables and gives it memory that both sides reach. For the device,
 * weircc sees by the section which variables are such. */
#ifdef __CUDA__
#define __managed__ __attribute__((device, section("weir_managed")))
#endif

#include "host_defines.h"

/* Functions of these headers that become a part of their caller: what is told of an instruction in
 * them names the line of the program that calls them. (clang 19 does not write into PTX where code
 * was inlined.) */
#define WEIR_FORCEINLINE __inline__ __attribute__((always_inline, nodebug))

/* The size of a kernel's clusters. clang has no such attribute, but it checks and evaluates the
 * arguments of an annotation, from which weircc writes the directives into the PTX. For the device,
 * the first one is a name that only weircc defines. */
#ifndef __cluster_dims__
#ifdef __CUDA_ARCH__
#define __cluster_dims__(...)                                                                      \
    __attribute__((annotate("weir.cluster_dims", __cluster_dims_needs_weircc__, __VA_ARGS__)))
#else
#define __cluster_dims__(...) __attribute__((annotate("weir.cluster_dims", __VA_ARGS__)))
#endif
#endif

/* Launches that count clusters instead of blocks: not supported, and said by this name. */
#ifndef __block_size__
#define __block_size__(...)                                                                        \
    __attribute__((annotate("weir.block_size", __block_size_is_not_supported__)))
#endif

/* A hint for a GPU's register allocator. */
#ifndef __maxnreg__
#define __maxnreg__(...)
#endif
#ifndef __nv_pure__
#define __nv_pure__ __attribute__((pure))
#endif
#ifndef __specialization_static
#define __specialization_static static
#endif
#ifndef __device_builtin_texture_type__
#define __device_builtin_texture_type__
#endif
#ifndef __device_builtin_surface_type__
#define __device_builtin_surface_type__
#endif

#endif
