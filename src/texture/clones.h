/* clones: functions that work on rows of 32 lanes are compiled for several generations of CPUs and
 * picked when the library is loaded. */
#ifndef WEIR_TEXTURE_CLONES_H
#define WEIR_TEXTURE_CLONES_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define TEXTURE_SANITIZED 1 /* picking runs before a sanitizer is ready */
#endif
#endif

#if defined(__x86_64__) && !defined(TEXTURE_SANITIZED)
#define WARP_CLONES __attribute__((target_clones("avx512bw", "avx2", "default")))
#else
#define WARP_CLONES
#endif

/* Into each of the clones. */
#define WARP_INLINE static inline __attribute__((always_inline))

#endif
