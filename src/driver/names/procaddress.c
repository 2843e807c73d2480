/* procaddress: functions by name. A plain name means the newest version that the CUDA version
 * asked for knows; the versions are exported symbols of this library, found by its own symbol
 * table.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "driver/driver.h"

/* Names of which there is more than one version, each with the CUDA version that brought it, newest
 * first; names that are not here have one version only, as old as their name. */
static const struct {
    const char *name, *symbol;
    int since;
} versions[] = {
#define VERSION(name, suffix, since) {#name, #name suffix, since}
#include "driver/names/procaddress.def"
#undef VERSION
};

static void *library_symbol(const char *name)
{
    static void *self; /* set once to the same value by whoever is first */
    void *lib = __atomic_load_n(&self, __ATOMIC_ACQUIRE);
    if (lib == NULL) {
        Dl_info info;
        if (dladdr((void *)library_symbol, &info) == 0 || info.dli_fname == NULL)
            return NULL;
        lib = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        __atomic_store_n(&self, lib, __ATOMIC_RELEASE);
    }
    return lib != NULL ? dlsym(lib, name) : NULL;
}

/* The symbol, in its version for the thread's own default stream if that is wanted and exists. */
static void *procaddress_symbol(const char *name, bool per_thread)
{
    char own[128];
    static const char *const suffixes[] = {"_ptsz", "_ptds"};
    for (size_t n = 0; per_thread && n < WEIR_COUNT(suffixes); n++) {
        snprintf(own, sizeof own, "%s%s", name, suffixes[n]);
        void *p = library_symbol(own);
        if (p != NULL)
            return p;
    }
    return library_symbol(name);
}

static CUresult procaddress_find(const char *name, int version, bool per_thread, void **out,
                                 CUdriverProcAddressQueryResult *status)
{
    bool listed = false;
    *out = NULL;
    for (size_t n = 0; n < WEIR_COUNT(versions) && *out == NULL; n++)
        if (strcmp(versions[n].name, name) == 0) {
            listed = true;
            if (versions[n].since <= version)
                *out = procaddress_symbol(versions[n].symbol, per_thread);
        }
    if (!listed && strncmp(name, "cu", 2) == 0)
        *out = procaddress_symbol(name, per_thread);
    if (*out != NULL) {
        *status = CU_GET_PROC_ADDRESS_SUCCESS;
        return CUDA_SUCCESS;
    }
    *status =
        listed ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return driver_error(CUDA_ERROR_NOT_FOUND, "cuGetProcAddress: no %s in version %d of the API",
                        name, version);
}

static CUresult procaddress_get(const char *name, void **out, int version, cuuint64_t flags,
                                CUdriverProcAddressQueryResult *status, bool per_thread)
{
    CUdriverProcAddressQueryResult unused;
    if (name == NULL || out == NULL || version < 0 ||
        (flags & ~(cuuint64_t)(CU_GET_PROC_ADDRESS_LEGACY_STREAM |
                               CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)) != 0 ||
        flags ==
            (CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM))
        return CUDA_ERROR_INVALID_VALUE;
    if (flags != CU_GET_PROC_ADDRESS_DEFAULT)
        per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    return procaddress_find(name, version, per_thread, out, status != NULL ? status : &unused);
}

#undef cuGetProcAddress
WEIR_API CUresult cuGetProcAddress_v2(const char *name, void **out, int version, cuuint64_t flags,
                                      CUdriverProcAddressQueryResult *status)
{
    return procaddress_get(name, out, version, flags, status, false);
}

WEIR_API CUresult cuGetProcAddress_v2_ptsz(const char *name, void **out, int version,
                                           cuuint64_t flags,
                                           CUdriverProcAddressQueryResult *status);
WEIR_API CUresult cuGetProcAddress_v2_ptsz(const char *name, void **out, int version,
                                           cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
    return procaddress_get(name, out, version, flags, status, true);
}

/* CUDA 11's version. */
WEIR_API CUresult cuGetProcAddress(const char *name, void **out, int version, cuuint64_t flags);
WEIR_API CUresult cuGetProcAddress(const char *name, void **out, int version, cuuint64_t flags)
{
    return procaddress_get(name, out, version, flags, NULL, false);
}
