/* procaddress: functions by name. A plain name means the newest version that is no newer than the
 * CUDA version asked for; the versions are exported symbols of this library, found by its own
 * symbol table. Only plain names are names here, as on a GPU: cuMemAlloc is one, cuMemAlloc_v2 is
 * not.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"

/* One version of a call. */
struct call_version {
    const char *name, *symbol;
    int since; /* CUDA version that brought it */
    bool own;  /* its stream 0 is the calling thread's own */
};

/* All of them, sorted by name. */
static const struct call_version versions[] = {
#define ONLY(name, since)            {#name, #name, since, false},
#define VERSION(name, suffix, since) {#name, #name #suffix, since, false},
#define OWN(name, suffix, since)     {#name, #name #suffix, since, true},
#include "driver/names/procaddress.def"
#undef ONLY
#undef VERSION
#undef OWN
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

static int by_name(const void *name, const void *version)
{
    return strcmp(name, ((const struct call_version *)version)->name);
}

/* The first row of the name; NULL: there is none. */
static const struct call_version *procaddress_first(const char *name)
{
    const struct call_version *v =
        bsearch(name, versions, WEIR_COUNT(versions), sizeof *versions, by_name);
    while (v != NULL && v > versions && strcmp(v[-1].name, name) == 0)
        v--;
    return v;
}

/* A call that has versions for the thread's own default stream is looked for among those only, when
 * they are asked for. */
static const char *procaddress_symbol(const struct call_version *first, int version,
                                      bool per_thread)
{
    const char *symbol[2] = {NULL, NULL};
    bool has_own = false;
    for (const struct call_version *v = first;
         v < versions + WEIR_COUNT(versions) && strcmp(v->name, first->name) == 0; v++) {
        has_own |= v->own;
        if (v->since <= version)
            symbol[v->own] = v->symbol;
    }
    return symbol[per_thread && has_own];
}

/* A name that is not found is an answer like another: success, NULL and a status (asked of an
 * H200's driver 580). A version is one of the API that this driver has; less than 0 means the
 * newest. */
static CUresult procaddress_get(const char *name, void **out, int version, cuuint64_t flags,
                                CUdriverProcAddressQueryResult *status)
{
    if (name == NULL || out == NULL || version > CUDA_VERSION ||
        (flags & ~(cuuint64_t)(CU_GET_PROC_ADDRESS_LEGACY_STREAM |
                               CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    const struct call_version *first = procaddress_first(name);
    bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    const char *symbol =
        first != NULL ? procaddress_symbol(first, version < 0 ? CUDA_VERSION : version, per_thread)
                      : NULL;
    *out = symbol != NULL ? library_symbol(symbol) : NULL;
    if (status != NULL)
        *status = *out != NULL    ? CU_GET_PROC_ADDRESS_SUCCESS
                  : first != NULL ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                  : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
}

#undef cuGetProcAddress
WEIR_API CUresult cuGetProcAddress_v2(const char *name, void **out, int version, cuuint64_t flags,
                                      CUdriverProcAddressQueryResult *status)
{
    return procaddress_get(name, out, version, flags, status);
}

WEIR_API CUresult cuGetProcAddress_v2_ptsz(const char *name, void **out, int version,
                                           cuuint64_t flags,
                                           CUdriverProcAddressQueryResult *status);
WEIR_API CUresult cuGetProcAddress_v2_ptsz(const char *name, void **out, int version,
                                           cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
    if (flags == CU_GET_PROC_ADDRESS_DEFAULT)
        flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    return procaddress_get(name, out, version, flags, status);
}

/* CUDA 11's version, which has no status: a name that is not found is an error, and *out stays. */
WEIR_API CUresult cuGetProcAddress(const char *name, void **out, int version, cuuint64_t flags);
WEIR_API CUresult cuGetProcAddress(const char *name, void **out, int version, cuuint64_t flags)
{
    void *found = NULL;
    CU_TRY(procaddress_get(name, out != NULL ? &found : NULL, version, flags, NULL));
    if (found == NULL)
        return driver_error(CUDA_ERROR_NOT_FOUND,
                            "cuGetProcAddress: no %s in version %d of the API", name, version);
    *out = found;
    return CUDA_SUCCESS;
}
