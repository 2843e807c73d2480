/* jitlink.h: types of libnvJitLink's functions, as programs compiled against the vendor's header
 * call them. */
#ifndef WEIR_JITLINK_H
#define WEIR_JITLINK_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    NVJITLINK_SUCCESS,
    NVJITLINK_ERROR_UNRECOGNIZED_OPTION,
    NVJITLINK_ERROR_MISSING_ARCH,
    NVJITLINK_ERROR_INVALID_INPUT,
    NVJITLINK_ERROR_PTX_COMPILE,
    NVJITLINK_ERROR_NVVM_COMPILE,
    NVJITLINK_ERROR_INTERNAL,
    NVJITLINK_ERROR_THREADPOOL,
    NVJITLINK_ERROR_UNRECOGNIZED_INPUT,
    NVJITLINK_ERROR_FINALIZE,
    NVJITLINK_ERROR_NULL_INPUT,
    NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS,
    NVJITLINK_ERROR_INCORRECT_INPUT_TYPE,
    NVJITLINK_ERROR_ARCH_MISMATCH,
    NVJITLINK_ERROR_OUTDATED_LIBRARY,
    NVJITLINK_ERROR_MISSING_FATBIN,
    NVJITLINK_ERROR_UNRECOGNIZED_ARCH,
    NVJITLINK_ERROR_UNSUPPORTED_ARCH,
    NVJITLINK_ERROR_LTO_NOT_ENABLED,
} nvJitLinkResult;

typedef enum {
    NVJITLINK_INPUT_NONE,
    NVJITLINK_INPUT_CUBIN,
    NVJITLINK_INPUT_PTX,
    NVJITLINK_INPUT_LTOIR,
    NVJITLINK_INPUT_FATBIN,
    NVJITLINK_INPUT_OBJECT,
    NVJITLINK_INPUT_LIBRARY,
    NVJITLINK_INPUT_INDEX,
    NVJITLINK_INPUT_ANY = 10,
} nvJitLinkInputType;

/* The functions, each as X(its name without the common part, version). */
#define JITLINK_FUNCTIONS(X, version)                                                              \
    X(Create, version)                                                                             \
    X(Destroy, version) X(AddData, version) X(AddFile, version) X(Complete, version)               \
        X(GetLinkedCubinSize, version) X(GetLinkedCubin, version) X(GetLinkedPtxSize, version)     \
            X(GetLinkedPtx, version) X(GetLinkedLTOIRSize, version) X(GetLinkedLTOIR, version)     \
                X(GetErrorLogSize, version) X(GetErrorLog, version) X(GetInfoLogSize, version)     \
                    X(GetInfoLog, version)

/* The names that the headers of a version call: __nvJitLinkCreate_12_4. */
#if JITLINK_MAJOR == 12
#define JITLINK_VERSIONS(X)                                                                        \
    X(12_0) X(12_1) X(12_2) X(12_3) X(12_4) X(12_5) X(12_6) X(12_7) X(12_8) X(12_9)
#else
#define JITLINK_VERSIONS(X) X(13_0) X(13_1) X(13_2) X(13_3) X(13_4)
#endif

#endif
