/* Functions of the runtime API that CUDA 13 has no more and that many programs still call, each one
 * as the documentation of their last version describes it: another name of a function that there
 * is. They are declared here as such names, so that the library exports what CUDA 13's does, and so
 * that a program which defines the old name as the new one for itself may do so. Compiles as C and
 * C++. */
#ifndef WEIR_OLDER_API_H
#define WEIR_OLDER_API_H

#if defined(WEIR_LEGACY_API)
#define WEIR_NOW(name) __asm__(name)
#else
#define WEIR_NOW(name) __asm__(name) __attribute__((deprecated(name " has replaced it")))
#endif

#if defined(__cplusplus)
extern "C" {
#endif

/* Waits until the device has done all that it was told to. */
cudaError_t cudaThreadSynchronize(void) WEIR_NOW("cudaDeviceSynchronize");

/* Destroys all that the process has on the current device. */
cudaError_t cudaThreadExit(void) WEIR_NOW("cudaDeviceReset");

/* Limits and preferences of the current device. */
cudaError_t cudaThreadSetLimit(enum cudaLimit limit, size_t value) WEIR_NOW("cudaDeviceSetLimit");
cudaError_t cudaThreadGetLimit(size_t *pValue, enum cudaLimit limit) WEIR_NOW("cudaDeviceGetLimit");
cudaError_t cudaThreadSetCacheConfig(enum cudaFuncCache config)
    WEIR_NOW("cudaDeviceSetCacheConfig");
cudaError_t cudaThreadGetCacheConfig(enum cudaFuncCache *pConfig)
    WEIR_NOW("cudaDeviceGetCacheConfig");

#if defined(__cplusplus)
}
#endif

#undef WEIR_NOW
#endif
