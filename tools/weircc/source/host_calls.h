/* host_calls: functions of the host that __host__ __device__ functions call.
 *
 * nvcc warns and builds, since such a call is often one that a kernel never comes to (`exit(1)`
 * where something is wrong); clang refuses it. In the device pass's preprocessed text the function
 * that is called gets an overload for the device, before its declaration, which clang prefers in
 * device code: it ends the kernel like a failed assertion, with the function's name. The host pass
 * has none of it.
 *
 * clang lets code of the device alone call such an overload, too, so nothing is mended in a file
 * where that calls functions of the host, which nvcc refuses as well. Where kernels launch kernels,
 * clang does not tell them from __host__ __device__ functions (launches.h): there the text says
 * whether the call is in a kernel, and nothing is mended where it does not.
 *
 * Left as they are: destructors, friends, types that only the body tells. */
#ifndef WEIRCC_SOURCE_HOST_CALLS_H
#define WEIRCC_SOURCE_HOST_CALLS_H

#include "base/base.h"
#include "weircc/options/options.h"
#include "weircc/source/specifiers.h"

struct host_calls {
    struct specifier_places places;  /* where the functions are declared */
    struct specifier_places callers; /* where they are called, if kernels are in doubt */
    struct strlist library;          /* names of those of C, whose places clang does not tell */
    struct strlist left;             /* places where a constructor has to initialize members */
    struct strlist warnings;         /* about the calls */
    bool kernels;                    /* clang takes kernels for __host__ __device__ functions */
    bool all;                        /* clang is asked for all its messages before any is mended */
};

/* Adds what clang's messages (not coloured) say. True when there was something new. */
bool host_calls_learn(const char *messages, struct host_calls *calls);

/* Writes the overloads into preprocessed text; appends the result. Returns how many. */
int host_calls_write(const char *text, const struct host_calls *calls, struct strbuf *out);

#endif
