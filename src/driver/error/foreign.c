/* foreign: libraries that carry NVIDIA's own CUDA runtime, as the wheels of CuPy, Warp and PyTorch
 * do. That runtime asks a driver for tables of functions that are NVIDIA's alone, and works with no
 * other driver. cuGetExportTable refuses it, and knows who asked. The client then says no more than
 * that there is no device; so, where WEIR_LIBRARIES asks for it, the process tells at its end which
 * libraries these were. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "driver/driver.h"

/* Enough for any process: each entry is another library. */
enum { FOREIGN_MAX = 32 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *libraries[FOREIGN_MAX]; /* their paths, which live as long as the process */
static int count;

/* At the end of the process. */
static void tell(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count; i++)
        fprintf(stderr,
                "weir: %s carries NVIDIA's CUDA runtime, which takes no driver but NVIDIA's\n",
                libraries[i]);
    pthread_mutex_unlock(&lock);
    fputs("weir: link a program of nvcc's with -cudart shared instead, build a Python package from "
          "source against Weir's headers and libraries\n",
          stderr);
}

/* NVIDIA's compiler carries the runtime, too, but does without a device. */
static bool is_compiler(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strncmp(slash != NULL ? slash + 1 : path, "libnvrtc", 8) == 0;
}

/* Keeps the path of the library that `caller` is in, once. */
static const char *remember(const void *caller)
{
    Dl_info at;
    if (dladdr(caller, &at) == 0 || at.dli_fname == NULL || is_compiler(at.dli_fname))
        return NULL;
    const char *path = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count && path == NULL; i++)
        if (strcmp(libraries[i], at.dli_fname) == 0)
            path = libraries[i];
    if (path == NULL && count < FOREIGN_MAX && (path = strdup(at.dli_fname)) != NULL) {
        libraries[count++] = path;
        if (count == 1 && env_lists(ENV_LIBRARIES, "on"))
            atexit(tell);
    }
    pthread_mutex_unlock(&lock);
    return path;
}

WEIR_API CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
    if (table == NULL || id == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *table = NULL;
    const char *path = remember(__builtin_return_address(0));
    return driver_error(
        CUDA_ERROR_NOT_SUPPORTED,
        "cuGetExportTable is not supported: %s carries NVIDIA's CUDA runtime, which "
        "takes no driver but NVIDIA's; link Weir's libcudart instead",
        path != NULL ? path : "the caller");
}
