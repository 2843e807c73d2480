/* library: device code that a program loads itself, in no particular context. Kernels taken from
 * them can be launched like any other. */
#include "runtime/internal.h"

static cudaError_t load_data(cudaLibrary_t *library, const void *code, enum cudaJitOption *jit,
                             void **jit_values, unsigned jit_count, enum cudaLibraryOption *options,
                             void **values, unsigned count)
{
    RT_CHECK(library != NULL && code != NULL, cudaErrorInvalidValue);
    RT_TRY(rt_init());
    CU_TRY(CU(cuLibraryLoadData, (CUlibrary *)library, code, (CUjit_option *)jit, jit_values,
              jit_count, (CUlibraryOption *)options, values, count));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                       enum cudaJitOption *jitOptions, void **jitOptionsValues,
                                       unsigned int numJitOptions,
                                       enum cudaLibraryOption *libraryOptions,
                                       void **libraryOptionValues, unsigned int numLibraryOptions)
{
    return done(load_data(library, code, jitOptions, jitOptionsValues, numJitOptions,
                          libraryOptions, libraryOptionValues, numLibraryOptions));
}

static cudaError_t load_file(cudaLibrary_t *library, const char *name, enum cudaJitOption *jit,
                             void **jit_values, unsigned jit_count, enum cudaLibraryOption *options,
                             void **values, unsigned count)
{
    RT_CHECK(library != NULL && name != NULL, cudaErrorInvalidValue);
    RT_TRY(rt_init());
    CU_TRY(CU(cuLibraryLoadFromFile, (CUlibrary *)library, name, (CUjit_option *)jit, jit_values,
              jit_count, (CUlibraryOption *)options, values, count));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName,
                                           enum cudaJitOption *jitOptions, void **jitOptionsValues,
                                           unsigned int numJitOptions,
                                           enum cudaLibraryOption *libraryOptions,
                                           void **libraryOptionValues,
                                           unsigned int numLibraryOptions)
{
    return done(load_file(library, fileName, jitOptions, jitOptionsValues, numJitOptions,
                          libraryOptions, libraryOptionValues, numLibraryOptions));
}

static cudaError_t unload(cudaLibrary_t library)
{
    RT_CHECK(library, cudaErrorInvalidResourceHandle);
    RT_TRY(rt_init());
    CU_TRY(CU(cuLibraryUnload, (CUlibrary)library));
    rt_library_forget((CUlibrary)library);
    return cudaSuccess;
}

PUBLIC cudaError_t cudaLibraryUnload(cudaLibrary_t library) { return done(unload(library)); }

static cudaError_t get_kernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
    RT_CHECK(kernel != NULL && name != NULL, cudaErrorInvalidValue);
    RT_CHECK(library, cudaErrorInvalidResourceHandle);
    RT_TRY(rt_init());
    CU_TRY(CU(cuLibraryGetKernel, (CUkernel *)kernel, (CUlibrary)library, name));
    return rt_function_adopt((CUkernel)*kernel, (CUlibrary)library);
}

PUBLIC cudaError_t cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library,
                                        const char *name)
{
    return done(get_kernel(pKernel, library, name));
}

static cudaError_t count_kernels(unsigned *count, cudaLibrary_t library)
{
    RT_CHECK(count, cudaErrorInvalidValue);
    RT_CHECK(library, cudaErrorInvalidResourceHandle);
    RT_TRY(rt_init());
    CU_TRY(CU(cuLibraryGetKernelCount, count, (CUlibrary)library));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib)
{
    return done(count_kernels(count, lib));
}

static cudaError_t enumerate(cudaKernel_t *kernels, unsigned n, cudaLibrary_t library)
{
    unsigned have;

    RT_CHECK(kernels != NULL || !n, cudaErrorInvalidValue);
    RT_TRY(count_kernels(&have, library));
    if (n == 0)
        return cudaSuccess;
    CU_TRY(CU(cuLibraryEnumerateKernels, (CUkernel *)kernels, n, (CUlibrary)library));
    for (unsigned i = 0; i < n && i < have; i++)
        RT_TRY(rt_function_adopt((CUkernel)kernels[i], (CUlibrary)library));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels,
                                               cudaLibrary_t lib)
{
    return done(enumerate(kernels, numKernels, lib));
}

static cudaError_t get_global(void **ptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
    RT_CHECK(name, cudaErrorInvalidValue);
    RT_CHECK(library, cudaErrorInvalidResourceHandle);
    RT_TRY(rt_context());
    CU_TRY(CU(cuLibraryGetGlobal, (CUdeviceptr *)ptr, bytes, (CUlibrary)library, name));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library,
                                        const char *name)
{
    return done(get_global(dptr, bytes, library, name));
}

static cudaError_t get_managed(void **ptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
    RT_CHECK(name, cudaErrorInvalidValue);
    RT_CHECK(library, cudaErrorInvalidResourceHandle);
    RT_TRY(rt_context());
    CU_TRY(CU(cuLibraryGetManaged, (CUdeviceptr *)ptr, bytes, (CUlibrary)library, name));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaLibraryGetManaged(void **dptr, size_t *bytes, cudaLibrary_t library,
                                         const char *name)
{
    return done(get_managed(dptr, bytes, library, name));
}

static cudaError_t get_unified(void **ptr, cudaLibrary_t library, const char *symbol)
{
    RT_CHECK(ptr != NULL && symbol != NULL, cudaErrorInvalidValue);
    RT_CHECK(library, cudaErrorInvalidResourceHandle);
    RT_TRY(rt_init());
    CU_TRY(CU(cuLibraryGetUnifiedFunction, ptr, (CUlibrary)library, symbol));
    return cudaSuccess;
}

PUBLIC cudaError_t cudaLibraryGetUnifiedFunction(void **fptr, cudaLibrary_t library,
                                                 const char *symbol)
{
    return done(get_unified(fptr, library, symbol));
}
