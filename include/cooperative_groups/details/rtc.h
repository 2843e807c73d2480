/* What headers for device code say otherwise to NVRTC than to clang. It is here since programs give
 * NVRTC cooperative_groups.h and this directory without the rest. */
#ifndef WEIR_RTC_H
#define WEIR_RTC_H

#ifdef __CUDACC_RTC__
#define WEIR_MEMCPY      memcpy
#define WEIR_NODEBUG     /* an attribute of clang's; with the comma after it */
#define WEIR_FORCEINLINE __inline__ __attribute__((always_inline))
#else
#define WEIR_MEMCPY  __builtin_memcpy
#define WEIR_NODEBUG nodebug,
#endif

#endif
