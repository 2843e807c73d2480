/* Names that --legacy-api brings, by what clang says where they are missed; see legacy_hints.h. */
#include "weircc/messages/legacy_hints.h"

#include <string.h>

#include "base/base.h"

/* Functions that take other arguments since CUDA 13. */
static const char *const functions[] = {
    "cudaMemAdvise",
    "cudaMemPrefetchAsync",
    "cudaGraphAddDependencies",
    "cudaGraphRemoveDependencies",
    "cudaGraphGetEdges",
    "cudaGraphNodeGetDependencies",
    "cudaGraphNodeGetDependentNodes",
    "cudaGraphAddNode",
    "cudaStreamGetCaptureInfo",
    "cudaStreamUpdateCaptureDependencies",
};

/* Fields of cudaDeviceProp that it has no more. */
static const char *const fields[] = {
    "clockRate",
    "deviceOverlap",
    "kernelExecTimeoutEnabled",
    "computeMode",
    "memoryClockRate",
    "maxTexture1DLinear",
    "singleToDoublePrecisionPerfRatio",
    "cooperativeMultiDeviceLaunch",
};

/* Whether the message says `before`, one of the names, and `after`. */
static bool says(const char *plain, const char *before, const char *const *names, size_t count,
                 const char *after)
{
    const char *at = strstr(plain, before);
    for (size_t i = 0; at != NULL && i < count; i++) {
        const char *name = at + strlen(before);
        size_t n = strlen(names[i]);
        if (strncmp(name, names[i], n) == 0 && strncmp(name + n, after, strlen(after)) == 0)
            return true;
    }
    return false;
}

char *legacy_hint(const char *plain)
{
    int n = (int)strcspn(plain, "\n");
    if (says(plain, "error: no matching function for call to '", functions, WEIR_COUNT(functions),
             "'"))
        return xprintf("%.*s (with the parameters of CUDA 12 it is there by --legacy-api)\n", n,
                       plain);
    if (says(plain, "error: no member named '", fields, WEIR_COUNT(fields),
             "' in 'cudaDeviceProp'"))
        return xprintf("%.*s (CUDA 13 has it no more; it is there by --legacy-api)\n", n, plain);
    return NULL;
}
