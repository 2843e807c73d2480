/* nvrtc.h: types of libnvrtc's functions, as programs compiled against the vendor's header call
 * them. */
#ifndef WEIR_NVRTC_H
#define WEIR_NVRTC_H

#include <stddef.h>

#define NVRTC_API __attribute__((visibility("default")))

typedef enum {
    NVRTC_SUCCESS = 0,
    NVRTC_ERROR_OUT_OF_MEMORY = 1,
    NVRTC_ERROR_INVALID_INPUT = 3,
    NVRTC_ERROR_COMPILATION = 6,
    NVRTC_ERROR_INTERNAL_ERROR = 11,
} nvrtcResult;

typedef struct _nvrtcProgram *nvrtcProgram;

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
