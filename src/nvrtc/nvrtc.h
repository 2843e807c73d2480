/* nvrtc.h: libnvrtc's functions by how they come to the vendor's library. What programs see of them
 * is include/nvrtc.h; the functions of other versions, which that one lacks, are here. */
#ifndef WEIR_NVRTC_H
#define WEIR_NVRTC_H

#include <nvrtc.h>
#include <stddef.h>

#define NVRTC_API __attribute__((visibility("default")))

/* Functions that go to the vendor's library as they come, each as X(name, parameters, arguments).
 */
#define NVRTC_FORWARDED(X)                                                                         \
    X(nvrtcVersion, (int *major, int *minor), (major, minor))                                      \
    X(nvrtcGetNumSupportedArchs, (int *count), (count))                                            \
    X(nvrtcGetSupportedArchs, (int *archs), (archs))                                               \
    X(nvrtcCreateProgram,                                                                          \
      (nvrtcProgram * program, const char *source, const char *name, int count,                    \
       const char *const *headers, const char *const *names),                                      \
      (program, source, name, count, headers, names))                                              \
    X(nvrtcGetPTXSize, (nvrtcProgram program, size_t *size), (program, size))                      \
    X(nvrtcGetPTX, (nvrtcProgram program, char *out), (program, out))                              \
    X(nvrtcGetLTOIRSize, (nvrtcProgram program, size_t *size), (program, size))                    \
    X(nvrtcGetLTOIR, (nvrtcProgram program, char *out), (program, out))                            \
    X(nvrtcGetNVVMSize, (nvrtcProgram program, size_t *size), (program, size))                     \
    X(nvrtcGetNVVM, (nvrtcProgram program, char *out), (program, out))                             \
    X(nvrtcGetTileIRSize, (nvrtcProgram program, size_t *size), (program, size))                   \
    X(nvrtcGetTileIR, (nvrtcProgram program, char *out), (program, out))                           \
    X(nvrtcGetOptiXIRSize, (nvrtcProgram program, size_t *size), (program, size))                  \
    X(nvrtcGetOptiXIR, (nvrtcProgram program, char *out), (program, out))                          \
    X(nvrtcGetProgramLogSize, (nvrtcProgram program, size_t *size), (program, size))               \
    X(nvrtcGetProgramLog, (nvrtcProgram program, char *out), (program, out))                       \
    X(nvrtcAddNameExpression, (nvrtcProgram program, const char *name), (program, name))           \
    X(nvrtcGetLoweredName, (nvrtcProgram program, const char *name, const char **lowered),         \
      (program, name, lowered))                                                                    \
    X(nvrtcGetPCHHeapSize, (size_t *size), (size))                                                 \
    X(nvrtcSetPCHHeapSize, (size_t size), (size))                                                  \
    X(nvrtcGetPCHCreateStatus, (nvrtcProgram program), (program))                                  \
    X(nvrtcGetPCHHeapSizeRequired, (nvrtcProgram program, size_t *size), (program, size))          \
    X(nvrtcSetFlowCallback,                                                                        \
      (nvrtcProgram program, int (*callback)(void *, void *), void *payload),                      \
      (program, callback, payload))

#define NVRTC_DECLARE(name, parameters, arguments) NVRTC_API nvrtcResult name parameters;
NVRTC_FORWARDED(NVRTC_DECLARE)

/* The others. */
NVRTC_API nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count,
                                          const char *const *options);
NVRTC_API nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size);
NVRTC_API nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *out);
NVRTC_API nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program);
NVRTC_API const char *nvrtcGetErrorString(nvrtcResult result);

#endif
