/* jitlink.h: the names under which libnvJitLink's functions are exported, so that programs compiled
 * against the vendor's headers find them. */
#ifndef WEIR_JITLINK_H
#define WEIR_JITLINK_H

#include "nvJitLink.h"

/* The functions, each as X(its name without the common part, version). */
#define JITLINK_FUNCTIONS(X, version)                                                              \
    X(Create, version)                                                                             \
    X(Destroy, version)                                                                            \
    X(AddData, version) X(AddFile, version) X(Complete, version) X(GetLinkedCubinSize, version)    \
        X(GetLinkedCubin, version) X(GetLinkedPtxSize, version) X(GetLinkedPtx, version)           \
            X(GetLinkedLTOIRSize, version) X(GetLinkedLTOIR, version) X(GetErrorLogSize, version)  \
                X(GetErrorLog, version) X(GetInfoLogSize, version) X(GetInfoLog, version)

/* The names that the headers of a version call: __nvJitLinkCreate_12_4. */
#if JITLINK_MAJOR == 12
#define JITLINK_VERSIONS(X)                                                                        \
    X(12_0) X(12_1) X(12_2) X(12_3) X(12_4) X(12_5) X(12_6) X(12_7) X(12_8) X(12_9)
#else
#define JITLINK_VERSIONS(X) X(13_0) X(13_1) X(13_2) X(13_3) X(13_4)
#endif

#endif
